#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The P_Key table of a running port changes: its P_Key loses the full member's bit,
# goes, comes back, moves to another index. The interface follows by itself.
#
#	node1 (SM)    node2      node3		P_Key tables: at index 0
#	  |             |          |		Some, then Default and Else, as
#	+-+-------------+----------+-+		OpenSM sees fit. Some and Else have
#	|           switch           |		a broadcast group.
#	+----------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"limited U9 a port that loses full membership still reaches the full members, and logs it once"
	"limited_pair U9 a limited member does not reach another limited member"
	"full_again U9 full membership is back, and all nodes are reached"
	"gone U21,A16,B43 without a P_Key at index 0 there is no carrier, and the log has the reason"
	"back U21,A16,B29 the interface comes up at once when the P_Key is back"
	"gone_up U21,A16,B43,B14 the driver loads without a P_Key, and refuses a child of an interface without a P_Key"
	"elsewhere U21,A16,B43 with index 0 empty there is no carrier though the P_Key is at another index, and the log has the reason"
	"elsewhere_back U21,A16,B29 the interface comes up at once when the P_Key is at index 0 again"
	"scope_meanwhile U8,U15 a scope set while there is no P_Key is also the scope of the groups"
	"moved A16,U21,B29 when another P_Key takes the place at index 0, the link is the link of that P_Key"
	"moved_back A16,U21 the former link is back when its P_Key is back at index 0"
	"flips U17,B29 P_Keys that change places repeatedly leave a member of the last partition"
	"sa_key U52,U48 the P_Key for messages to the SA may move, too"
)

NEEDS=(
	[limited_pair]=limited
	[full_again]=limited_pair
	[back]=gone
	[elsewhere_back]=elsewhere
	[moved_back]=moved
)

# some MEMBERS: what the administrator wants
some()
{
	partitions "Default=0x7fff : ALL=limited, SELF=full;" \
		"Some=0x1234, indx0, ipoib : $1;" "Else=0x0777, ipoib : ALL=full;"
}

# member NODE full|limited
member()
{
	echo "0x$(port_guid "$1")=$2"
}

setup()
{
	fabric_load 3
	some ALL=full
	opensm_start
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 2 3 || ktap_bail "no ping"
}

diagnose()
{
	local node

	for node in 1 2 3; do
		note "node $node: $(in_node "$node" cat /sys/class/net/ib0/pkey), table:" \
			"$(pkey_at "$node" 0) $(pkey_at "$node" 1) $(pkey_at "$node" 2)"
	done
	dmesg | tail -n 10
}

pkey_is()
{
	[ "$(pkey_at "$1" "$2")" = "$3" ]
}

# pkey_index NODE PKEY: where the table has it
pkey_index()
{
	local i

	for ((i = 0; i < 32; i++)); do
		pkey_is "$1" "$i" "$2" || continue
		echo "$i"
		return
	done
	return 1
}

forget_neighbours()
{
	local node

	for node; do
		node_ip "$node" neigh flush dev ib0
	done
}

# sends_with NODE PKEY: all that its interface sends. Another node answers to that.
sends_with()
{
	capture_start "pkey$2"
	check "ping" ping_lossless "$1" "$(ip4 1)" 5
	in_node "$1" udp_group send ib0 255.255.255.255 9 32 3
	capture_stop
	check "P_Key" frames_all pkey "$2" op=64 dqp!=000000 dqp!=000001 dqp!=fefefe \
		"slid=$(lid_hex "$1")"
}

limited()
{
	local before

	before=$(lladdr_broadcast 2)
	some "$(member 1 full), $(member 2 limited), $(member 3 full)"
	opensm_reread
	check "the SM has done it" slowwait 10 pkey_is 2 0 0x1234
	check "carrier" stays 1000 has_carrier 2
	forget_neighbours 1 2 3
	check "node 1" wait_ping 2 1
	check "node 3" wait_ping 3 2
	sends_with 2 1234
	check_eq "P_Key of the link" "$(in_node 2 cat /sys/class/net/ib0/pkey)" 0x9234
	check_eq "broadcast address" "$(lladdr_broadcast 2)" "$before"
	check_eq "lines of the log" "$(klog | grep -c 'limited member of partition 0x1234')" 1
}

limited_pair()
{
	some "$(member 1 full), $(member 2 limited), $(member 3 limited)"
	opensm_reread
	check "the SM has done it" slowwait 10 pkey_is 3 0 0x1234
	forget_neighbours 2 3
	check "node 1" wait_ping 3 1
	check "IPv4" unanswered 2 "$(ip4 3)"
	check "IPv6" unanswered 3 "$(ip6 2)"
	check "carrier" has_carrier 3
}

full_again()
{
	some ALL=full
	opensm_reread
	check "the SM has done it" slowwait 10 pkey_is 2 0 0x9234
	check "carrier" stays 1000 has_carrier 2
	check "ping" wait_ping 2 3
	sends_with 2 9234
}

gone()
{
	check "take it" pkeys_set 2 0=0
	check "no carrier" slowwait 5 no_carrier 2
	check "and stays so" stays 2000 no_carrier 2
	check "nodes 1 and 3 go on" wait_ping 1 3
	check "node 2 is unreachable" unanswered 1 "$(ip4 2)"
	check_eq "lines of the log" "$(klog | grep -c 'no valid key at index 0')" 1
}

back()
{
	check "give it back" pkeys_set 2 0=0x9234
	check "carrier" within 8000 has_carrier 2
	check "ping" wait_ping 1 2
	check "ping" wait_ping 3 2
}

gone_up()
{
	local out

	driver_unload
	check "take it" pkeys_set 2 0=0
	check "none" slowwait 5 pkey_is 2 0 0x0000
	driver_load
	nodes_up
	check "a message" busywait 5000 klog_has 'ib0: waiting for a P_Key'
	check "no carrier" no_carrier 2
	out=$(node_ip 2 link add link ib0 name c0 type ipoib 2>&1) && fail "a child is made"
	check "why" grep -q 'the parent has no P_Key yet' <<< "$out"
	check "give it" pkeys_set 2 0=0x9234
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2
	check "ping" wait_ping 2 3
}

elsewhere()
{
	check "move it" pkeys_set 2 0=0 20=0x9234
	check "no carrier" slowwait 5 no_carrier 2
	check "and stays so" stays 1000 no_carrier 2
	check "it is in the table" pkey_is 2 20 0x9234
	check "node 2 is unreachable" unanswered 1 "$(ip4 2)"
	check_eq "lines of the log" "$(klog | grep -c 'no valid key at index 0')" 1
}

elsewhere_back()
{
	check "move it back" pkeys_set 2 0=0x9234 20=0
	check "carrier" within 8000 has_carrier 2
	check "ping" wait_ping 1 2
}

# link_scope NODE SCOPE: gives it to the link
link_scope()
{
	node_ip "$1" link set ib0 broadcast \
		"00:ff:ff:ff:ff:1$2:40:1b:92:34:00:00:00:00:00:00:ff:ff:ff:ff"
}

# all_hosts_scope NODE SCOPE: the stack has 224.0.0.1 in that scope
all_hosts_scope()
{
	in_node "$1" grep -q "ib0 .* 00ffffffff1${2}401b9234000000000000""00000001\$" \
		/proc/net/dev_mcast
}

# OpenSM makes no group of scope 5: the stack's list has to do.
scope_meanwhile()
{
	check "take the P_Key" pkeys_set 2 0=0
	check "no carrier" slowwait 5 no_carrier 2
	check "give a scope" link_scope 2 5
	check_not "a group of that scope" all_hosts_scope 2 5
	check "give the P_Key back" pkeys_set 2 0=0x9234
	check "the group is of that scope" slowwait 5 all_hosts_scope 2 5
	check "give the former scope" link_scope 2 2
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
}

# on_link NODE PKEY: the interface is on that partition's link
on_link()
{
	check "carrier" slowwait 5 has_carrier "$1"
	check_eq "P_Key of node $1" "$(in_node "$1" cat /sys/class/net/ib0/pkey)" "0x$2"
	check_eq "broadcast address of node $1" "$(lladdr_broadcast "$1")" \
		"00ffffffff12401b${2}0000000000""00ffffffff"
	check "member" slowwait 5 sa_is_full_member "$1" "ff12:401b:$2::ffff:ffff"
}

link_is()
{
	[ "$(in_node "$1" cat /sys/class/net/ib0/pkey)" = "0x$2" ] && has_carrier "$1"
}

# swap NODE: what is at index 0, and the other of Some and Else
swap()
{
	local now other=0x8777 i

	now=$(pkey_at "$1" 0)
	[ "$now" = 0x9234 ] || other=0x9234
	i=$(pkey_index "$1" "$other") || return 1
	pkeys_set "$1" "0=$other" "$i=$now"
}

# moves_to PKEY: nodes 2 and 3, which then hear each other
moves_to()
{
	local node

	for node in 2 3; do
		check "swap" swap "$node"
	done
	for node in 2 3; do
		check "follows" within 20000 link_is "$node" "$1"
		on_link "$node" "$1"
	done
	forget_neighbours 1 2 3
	check "ping" wait_ping 2 3
}

moved()
{
	moves_to 8777
	check "node 1 is on another link" unanswered 2 "$(ip4 1)"
}

moved_back()
{
	moves_to 9234
	check "ping" wait_ping 2 1
}

# What the driver does about one change is under way when the next one comes.
flips()
{
	local i n

	i=$(pkey_index 2 0x8777) || fail "no 0x8777"
	for ((n = 0; n < 10; n++)); do
		pkeys_set 2 0=0x8777 "$i=0x9234"
		pkeys_set 2 0=0x9234 "$i=0x8777"
	done > /dev/null
	check "the table" pkey_is 2 0 0x9234
	check "follows" slowwait 10 link_is 2 9234
	on_link 2 9234
	check "stays there" stays 2000 sa_is_full_member 2 "$(mgid4 255.255.255.255 9234)"
	check "ping" wait_ping 2 3
}

# Questions, answers and reports have node 2's 0x7fff.
sa_key()
{
	local mgid i

	i=$(pkey_index 2 0x7fff) || fail "no 0x7fff"
	check "subscribed" routes 2
	check "move" pkeys_set 2 "$i=0" 20=0x7fff
	check "subscribed" slowwait 10 subscribed 2
	check "reports" slowwait 10 report_comes
	mgid=$(mgid4 239.60.0.2 9234)
	group_join 2 239.60.0.2
	check "joins" slowwait 5 sa_is_full_member 2 "$mgid"
	group_leave
	check "leaves" slowwait 5 sa_is_no_member 2 "$mgid"
	forget_neighbours 2
	check "paths" wait_ping 2 3
	check "move back" pkeys_set 2 "$i=0x7fff" 20=0
	check "reports" slowwait 10 report_comes
	routes_no_more 2
}

# A group on the link comes and goes, and node 2 is told.
report_comes()
{
	local before

	before=$(xstat 2 sa_reports)
	group_join 3 239.60.0.1
	within 1500 xstat_is 2 sa_reports -gt "$before" || before=none
	group_leave
	[ "$before" != none ]
}

ktap_main "$@"
