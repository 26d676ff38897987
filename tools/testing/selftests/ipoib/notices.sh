#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The port subscribes to the SA's reports of ports and groups that come and go,
# answers them, does so anew with each new SM, and ends it with the last
# interface. What is forged or malformed is counted and ignored.
#
#	node1 (SM)    node2      node3
#	  |             |          |
#	+-+-------------+----------+-+
#	|           switch           |
#	+----------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"subscribes U52,A6 each port subscribes to traps 64 to 67"
	"answers U52 a report is acted on and answered"
	"forged U52 a report from elsewhere is counted and ignored"
	"nonsense U52 so is one that makes no sense"
	"down U52 the subscription ends with the interface"
	"up U52 and comes back with it"
	"new_sm U52 a restarted SM is subscribed to again"
	"sm_dead U52 with a dead SM down takes less than a second, and up works when it is back"
	"port_gone A34 a port out of service is no path any more"
	"port_back A34 one in service is found at once"
	"taken U52,U53 a port whose reports somebody else takes says so once, and works without"
)

setup()
{
	fabric_up 3
	wait_ping 2 3 || ktap_bail "no ping"
}

diagnose()
{
	sa_records 1 -I
	dmesg | tail -n 20
}

subscribes()
{
	local node

	for node in 1 2 3; do
		check "node $node" slowwait 10 subscribed "$node"
	done
}

# Reports of the SA to node 2 and its answers, by method
answers()
{
	local before

	before=$(xstat 2 sa_reports)
	capture_start answers
	group_join 3 239.30.0.1
	check "a report" busywait 5000 xstat_is 2 sa_reports -gt "$before"
	group_leave
	check "another" busywait 5000 xstat_is 2 sa_reports -gt $((before + 1))
	capture_stop
	check_num "reports" "$(frame_count mad.class=03 mad.method=06 "dlid=$(lid_hex 2)")" -ge 2
	check_eq "TIDs answered" \
		"$(frames -f mad.tid mad.class=03 mad.method=86 "slid=$(lid_hex 2)" | sort -u)" \
		"$(frames -f mad.tid mad.class=03 mad.method=06 "dlid=$(lid_hex 2)" | sort -u)"
	check_eq "none bad" "$(xstat 2 sa_reports_bad)" 0
}

zeros()
{
	printf '%0*d' $(($1 * 2)) 0
}

# report METHOD_TRAP...: a report in hex: TRAP (4 digits), GID (32 digits)
report()
{
	echo "01030206""00000000""0000000012345678""0002""0000""00000000$(zeros 12)$(zeros 20)84000004${1}0001""0000$(zeros 6)$2$(zeros 32)$(zeros 16)$(zeros 120)"
}

# forge NODE HEX: from another node's QP to QP1 of that node
forge()
{
	ud_verbs "$(ibdev 3)" -l "$(port_lid "$1")" -q 1 -Q 0x80010000 -d "$2" ||
		fail "cannot send"
}

forged()
{
	local bad good

	bad=$(xstat 2 sa_reports_bad)
	good=$(xstat 2 sa_reports)
	forge 2 "$(report 0042 ff12401bffff000000000000ef1e0001)"
	check "counted" busywait 3000 xstat_is 2 sa_reports_bad -gt "$bad"
	check_eq "acted on" "$(xstat 2 sa_reports)" "$good"
}

nonsense()
{
	local bad

	bad=$(xstat 2 sa_reports_bad)
	forge 2 "$(report 0099 "$(zeros 16)")"
	check "no such trap" busywait 3000 xstat_is 2 sa_reports_bad -gt "$bad"
	check "still works" wait_ping 3 2
}

down()
{
	check "subscribed" slowwait 10 subscribed 2
	node_ip 2 link set ib0 down
	check "ended" slowwait 5 unsubscribed 2
}

up()
{
	node_ip 2 link set ib0 up
	check "again" slowwait 10 subscribed 2
	wait_carrier 2 || fail "no carrier"
}

new_sm()
{
	opensm_kill
	opensm_start
	check "node 2" slowwait 10 subscribed 2
	check "node 3" slowwait 10 subscribed 3
}

sm_dead()
{
	local start ms

	opensm_kill
	start=$(now_ms)
	node_ip 2 link set ib0 down
	ms=$(($(now_ms) - start))
	check_num "milliseconds for down" "$ms" -lt "$(scaled 1000)"
	node_ip 2 link set ib0 up
	opensm_start
	check "carrier" wait_carrier 2
	check "subscribed" slowwait 20 subscribed 2
	check "ping" wait_ping 2 3
}

path_known()
{
	grep -q "$(port_gid_full "$2")" "$(mcg_file "$1" | sed 's/_mcg$/_path/')"
}

port_gid_full()
{
	mgid_full "$(port_gid "$1")"
}

port_gone()
{
	check "ping" wait_ping 2 3
	check "a path" path_known 2 3
	link_down 3
	check "no path" slowwait 10 no_path 2 3
}

no_path()
{
	! path_known "$@"
}

port_back()
{
	link_up 3
	check "carrier" wait_carrier 3
	check "ping" wait_ping 2 3 20
}


umad_file()
{
	local dir

	for dir in /sys/class/infiniband_mad/umad*; do
		[ "$(cat "$dir/ibdev")" = "$(ibdev "$1")" ] || continue
		echo "/dev/infiniband/${dir##*/}"
		return
	done
}

# They are free a moment after the subscription has ended.
take_reports()
{
	local file=$TESTDIR/taker

	umad_take "$(umad_file "$1")" > "$file" 2>&1 &
	echo $! > "$file.pid"
	busywait 500 grep -q ready "$file"
}

taken()
{
	node_ip 2 link set ib0 down
	check "ended" slowwait 5 unsubscribed 2
	check "somebody else takes them" slowwait 5 take_reports 2
	klog_mark taken
	node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check "no listener" xstat_grows 2 tx_via_broadcast 239.30.9.1
	group_join 3 239.30.9.1
	check "a listener is found by sending" slowwait 5 sends_to 2 239.30.9.1
	check_eq "lines of the log" "$(klog | grep -c 'somebody else on this port')" 1
	kill "$(cat "$TESTDIR/taker.pid")"
	check "and when they are free again, subscribed" slowwait 30 subscribed 2
}

# xstat_grows NODE NAME GROUP: a datagram makes it grow
xstat_grows()
{
	local before

	before=$(xstat "$1" "$2")
	udp_to "$1" "$3" 6998 2
	busywait 1000 xstat_is "$1" "$2" -gt "$before"
}

# sends_to NODE GROUP: and is a member then
sends_to()
{
	udp_to "$1" "$2" 6997 1
	mcg_is "$1" "$(mgid4 "$2")" state member
}

ktap_main "$@"
