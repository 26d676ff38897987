#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A port that monitors a group, or routes multicast, subscribes to the SA's reports of groups that
# come and go, answers them, does so anew with each new SM, and ends it with the last such group.
# What is forged or malformed is counted and ignored.
#
#	node1 (SM)    node2      node3
#	  |             |          |
#	+-+-------------+----------+-+
#	|           switch           |
#	+----------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

TRACING=/sys/kernel/tracing

CASES=(
	"listens U52 a node that listens, and its stack, which reports and solicits, subscribe to no traps"
	"subscribes U52,U53,A6 a sender to a group without listeners subscribes to traps 66 and 67 within 20 s"
	"ends U52 the subscription ends 20 s after the last group without listeners"
	"answers U52 a report takes effect and is answered"
	"elsewhere:lid U52 a report from QP 1 of another LID is counted and ignored"
	"elsewhere:qp U52 a report from the LID of the SM, but not from QP 1, is counted and ignored"
	"too_short U52 a truncated report from QP 1 of the SM's port is counted and ignored"
	"malformed:modifier:00000001 U52 a malformed report of the SM is ignored: attribute modifier"
	"malformed:status:0100 U52 a malformed report of the SM is ignored: status"
	"malformed:attribute:0003 U52 a malformed report of the SM is ignored: attribute"
	"malformed:rmpp:000100000000000000000000 U52 a malformed report of the SM is ignored: segment of a longer message"
	"malformed:type:04000004 U52 a malformed report of the SM is ignored: type of a vendor"
	"malformed:type:84000001 U52 a malformed report of the SM is ignored: producer"
	"malformed:trap:0099 U52 a malformed report of the SM is ignored: trap number"
	"malformed:trap:0040 U52 a malformed report of the SM is ignored: trap number of a port, without a subscription"
	"malformed:gid:fe800000000000000000000000000099 U52 a malformed report of the SM is ignored: a group with the GID of a port"
	"not_ours:class:04 U52 a MAD of another class is ignored"
	"not_ours:version:01 U52 a MAD of another version is ignored"
	"not_ours:method:0a U52 a MAD of another method is ignored"
	"repeated U52 a repeated report takes effect once, and is answered twice; a report with another TID is another report"
	"unasked:81:0038 U52 an answer without a request has no effect: a record"
	"unasked:81:0003 U52 an answer without a request has no effect: a subscription"
	"unasked:86:0002 U52 an answer without a request has no effect: an answer to a report"
	"afterwards U52,U53 a report takes effect after all malformed reports"
	"down U52,U57 the subscription of a router ends with the interface"
	"up U52 the subscription of a router comes back with the interface"
	"lost U52 a subscription that does not reach the SM is requested again"
	"refused U52,U58 a refusal of the SM, or silence, does not end the subscription; the refusal is logged once"
	"post:subscription U52 a subscription that the HCA refuses to send is requested again"
	"post:response U52 an answer to a report that the HCA refuses to send leaves no object behind"
	"no_handle U52 a subscription is made later if the HCA first refuses the address handle of the SA"
	"new_sm U52 a node subscribes again to a restarted SM"
	"changing U52 a subscription requested from an SM before another SM took over is requested again, though it was granted"
	"sm_dead U52 down takes less than a second with a dead SM, and up works when the SM is back"
	"no_port U35 a hundred frames to a port unknown to the SA cost a few queries"
	"three_tries U35 a neighbour stays while two queries for its path fail, and is resolved anew after the third"
	"no_group U51 a hundred frames to a group that does not exist cost a few queries"
	"down_asking - an interface goes down while the SA is asked about a group, and comes up"
	"twin_down - an interface gets the answer of the SA while another interface of its port goes down"
	"traced B21 each state of a group is traced, and debugfs has the lines of the kernel's driver"
	"taken U52,U53,A26 a port whose reports another agent receives logs it once, and works without reports"
	"taken_router U57,A25 a router without reports finds new and deleted groups by lists"
	"given_back U52 a node subscribes when the reports are free again"
	"flood U52 more than 300 reports in a minute end the subscription, and senders still find listeners"
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

# Router solicitations begin when the interface has come up, and are never answered.
listens()
{
	local dropped

	dropped=$(xstat 3 tx_drop_no_listener)
	in_node 3 sysctl -qw net.ipv6.conf.ib0.accept_ra=1 net.ipv6.conf.ib0.router_solicitations=-1
	node_ip 3 link set ib0 down
	node_ip 3 link set ib0 up
	check "carrier" wait_carrier 3
	group_join 3 239.30.2.2 ff05::3022
	# what had been made would end 20 s after its reason
	nap 22
	check "nothing" unsubscribed 3
	group_leave
	check_num "solicitations" $(($(xstat 3 tx_drop_no_listener) - dropped)) -ge 3
	in_node 3 sysctl -qw net.ipv6.conf.ib0.router_solicitations=0
	check "node 1" unsubscribed 1
	check "node 2" unsubscribed 2
}

# sends_without_end NODE GROUP: each half second
sends_without_end()
{
	background "$1" udp_group send ib0 "$2" 6991 100 1000000 500000
}

subscribes()
{
	local mgid

	mgid=$(mgid4 239.30.2.1)
	sends_without_end 2 239.30.2.1
	nap 4
	check "not at once" unsubscribed 2
	check "subscribed" within 20000 subscribed 2
	check "no listener" busywait 3000 mcg_is 2 "$mgid" state absent
	group_join 3 239.30.2.1
	check "a listener" within 3000 mcg_is 2 "$mgid" join_state 4
	group_leave
	check "none" within 8000 mcg_is 2 "$mgid" state absent
	background_stop
}

ends()
{
	sends_without_end 2 239.30.2.1
	check "subscribed" slowwait 30 subscribed 2
	background_stop
	nap 10
	check "still subscribed" subscribed 2
	check "ended" within 25000 unsubscribed 2
}

# Reports of the SA to node 2 and its answers, by method
answers()
{
	local before

	check "subscribed" routes 2
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

# ignored COMMAND...: what it sends to node 2, a subscriber, is counted as bad, and not acted on
ignored()
{
	local bad good

	bad=$(xstat 2 sa_reports_bad)
	good=$(xstat 2 sa_reports)
	"$@"
	check "counted" busywait 3000 xstat_is 2 sa_reports_bad -gt "$bad"
	check_eq "counted" "$(xstat 2 sa_reports_bad)" $((bad + 1))
	check_eq "acted on" "$(xstat 2 sa_reports)" "$good"
}

# from_qp HEX: from node 1, where the SM is, but from a QP of a program
from_qp()
{
	ud_verbs "$(ibdev 1)" -l "$(port_lid 2)" -q 1 -Q 0x80010000 -d "$1" || fail "cannot send"
}

elsewhere()
{
	local data

	check "subscribed" routes 2
	data=$(report)
	case $1 in
	lid) ignored mad_send 3 2 1 0 "$data" ;;
	qp) ignored from_qp "$data" ;;
	esac
}

# unanswered HEX: from QP 1 of the SM's own port
unanswered()
{
	check_not "answered" mad_send 1 2 1 300 "$1"
}

# All that a report says is there, but not the whole MAD.
too_short()
{
	check "subscribed" routes 2
	knob_set 1 short_next_mad 1
	ignored unanswered "$(report)"
	check_eq "still to be cut" "$(< "$DEBUGFS/$(ibdev 1)/short_next_mad")" 0
}

malformed()
{
	check "subscribed" routes 2
	ignored unanswered "$(report "$1:$2")"
}

# then_bad HEX: it, and a bad one that tells that it has arrived
then_bad()
{
	mad_send 1 2 1 0 "$1"
	mad_send 1 2 1 0 "$(report trap:0099)"
}

not_ours()
{
	check "subscribed" routes 2
	ignored then_bad "$(report "$1:$2")"
}

repeated()
{
	local good data

	check "subscribed" routes 2
	good=$(xstat 2 sa_reports)
	data=$(report)
	check "both answered" mad_send 1 2 1 10000 "$data" "$data"
	check "acted on" busywait 1000 xstat_is 2 sa_reports -gt "$good"
	check_eq "acted on" "$(xstat 2 sa_reports)" $((good + 1))
	# the other half of the TID is that of who sends
	check "all answered" mad_send 1 2 1 10000 "$data" "$(report tid:0000000012345679)" \
		"$(report tid:0000000012345679)"
	check "acted on" busywait 1000 xstat_is 2 sa_reports -gt $((good + 2))
	check_eq "acted on" "$(xstat 2 sa_reports)" $((good + 3))
}

# own_tid: of a question that node 2 asks the SA about a group that there is not
own_tid()
{
	capture_start own_tid
	udp_to 2 "$1" 6999 1
	check "nobody listens" busywait 3000 mcg_is 2 "$(mgid4 "$1")" state absent
	capture_stop
	OWN_TID=$(frames -f mad.tid mad.class=03 mad.method=01 mad.attr=0038 "slid=$(lid_hex 2)" | tail -n 1)
	[ -n "$OWN_TID" ] || fail "no question"
}

# One with the TID of a question that has been answered, and one with the next.
answer_twice()
{
	local next

	printf -v next '%s%08x' "${OWN_TID:0:8}" $(((0x${OWN_TID:8} + 1) & 0xffffffff))
	mad_send 1 2 1 0 "$(report "$@" tid:"$OWN_TID")" "$(report "$@" tid:"$next")" "$(report trap:0099)"
}

unasked()
{
	local group=239.30.1.$((0x$1 + 0x$2))

	check "subscribed" routes 2
	own_tid "$group"
	ignored answer_twice "method:$1" "attribute:$2"
	check "still subscribed" subscribed 2
	check "nobody listens" mcg_is 2 "$(mgid4 "$group")" state absent
}

# Node 2 sends to nobody, and to a listener as soon as it is told.
afterwards()
{
	local mgid good

	check "subscribed" routes 2
	mgid=$(mgid4 239.30.0.2)
	udp_to 2 239.30.0.2 6999 1
	check "nobody listens" busywait 3000 mcg_is 2 "$mgid" state absent
	good=$(xstat 2 sa_reports)
	group_join 3 239.30.0.2
	check "told" busywait 5000 xstat_is 2 sa_reports -gt "$good"
	check "joined" busywait 5000 mcg_is 2 "$mgid" state member
	group_leave
	check "ping" wait_ping 3 2
}

down()
{
	check "subscribed" routes 2
	node_ip 2 link set ib0 down
	check "ended" slowwait 5 unsubscribed 2
}

up()
{
	node_ip 2 link set ib0 up
	check "again" routes 2
	wait_carrier 2 || fail "no carrier"
}

inform_tids()
{
	frames -f mad.tid mad.class=03 mad.method=02 mad.attr=0003 "slid=$(lid_hex 2)" | uniq
}

lost()
{
	local before

	check "subscribed" routes 2
	node_ip 2 link set ib0 down
	check "ended" slowwait 5 unsubscribed 2
	before=$(drops 2 fault)
	capture_start lost
	knob_set 2 drop_next_mad 8
	node_ip 2 link set ib0 up
	check "subscribed" slowwait 15 subscribed 2
	capture_stop
	check_eq "lost" $(($(drops 2 fault) - before)) 8
	check_num "questions" "$(inform_tids | sort -u | wc -l)" -gt 2
	check "carrier" wait_carrier 2
}

# deny: the next question for a subscription, in the name of an SM that is stopped
deny()
{
	local tid file=$TESTDIR/denied

	capture_sync
	tid=$(inform_tids | tail -n 1)
	[ -n "$tid" ] && [ "$tid" != "$(cat "$file" 2> /dev/null)" ] || return 1
	echo "$tid" > "$file"
	mad_send 1 2 1 0 "$(report method:81 status:0700 attribute:0003 "tid:$tid")"
}

# refusals N: so many are in the log
refusals()
{
	[ "$(klog | grep -c 'the SA refuses a subscription')" -eq "$1" ]
}

# refuse_next: the question that comes next. Half a second is less than it may take to find
# one in the capture and answer it, so its number is guessed: the next one.
refuse_next()
{
	local tid i

	capture_sync
	tid=$(inform_tids | tail -n 1)
	[ -n "$tid" ] || return 1
	tid=$(printf '%016x' $((0x$tid + 1)))
	for ((i = 0; i < 10; i++)); do
		mad_send 1 2 1 0 "$(report method:81 status:0700 attribute:0003 "tid:$tid")"
		! within 100 refusals 1 || return 0
	done
	return 1
}

refused()
{
	check "subscribed" routes 2
	node_ip 2 link set ib0 down
	check "ended" slowwait 5 unsubscribed 2
	klog_mark refused
	kill -STOP "${OPENSM_PID[1]}"
	capture_start refused
	node_ip 2 link set ib0 up
	check "refuse, and told" slowwait 20 refuse_next
	check "asked again, refuse" slowwait 20 deny
	check "asked again" slowwait 20 deny
	capture_stop
	kill -CONT "${OPENSM_PID[1]}"
	check "subscribed" slowwait 30 subscribed 2
	check "told once" refusals 1
	check "carrier" wait_carrier 2
}

# post KIND: node 2's HCA refuses to send what its QP 1 is given
post()
{
	check "subscribed" routes 2
	case $1 in
	subscription)
		node_ip 2 link set ib0 down
		check "ended" slowwait 5 unsubscribed 2
		node_ip 2 link set ib0 allmulticast off
		node_ip 2 link set ib0 up
		check "its own groups" slowwait 20 sa_is_full_member 2 "$(mgid6 "$(solicited 2)")"
		# the list of groups, and both traps
		knob_set 2 fail_post_mad 3
		check "subscribed" routes 2
		check_eq "to be refused" "$(knob_get 2 fail_post_mad)" 0
		check "carrier" wait_carrier 2
		;;
	response)
		knob_set 2 fail_post_mad 1
		check_not "answered" mad_send 1 2 1 1000 "$(report tid:0000000012345681)"
		check_eq "to be refused" "$(knob_get 2 fail_post_mad)" 0
		check "the next is" mad_send 1 2 1 10000 "$(report tid:0000000012345682)"
		;;
	esac
}

# One is made when the driver is loaded, and another one when the interface comes up.
no_handle()
{
	driver_unload
	knob_set 2 fail_ah 3
	driver_load
	check "refused" busywait 5000 knob_is 2 fail_ah 0
	knob_set 2 fail_ah 1
	nodes_up
	check "carrier" wait_carrier
	check "refused" busywait 5000 knob_is 2 fail_ah 0
	check "subscribed" routes 2
	check "ping" wait_ping 2 3
}

new_sm()
{
	check "subscribed" routes 2
	opensm_kill
	opensm_start
	check "again" within 20000 subscribed 2
}

# reregister NODE: as a new SM demands it. From node 3; SubnetTimeOut is OpenSM's
reregister()
{
	port_info_set 3 "$1" 51 92
}

# asked_for TRAP: TIDs of the questions of node 2 for that subscription
asked_for()
{
	frames -f mad.tid mad.class=03 mad.method=02 mad.attr=0003 "inform.trap=$1" "$(from 2)" |
		sort -u
}

# asked_times COUNT TRAP: so many, at least
asked_times()
{
	[ "$(asked_for "$2" | wc -l)" -ge "$1" ]
}

# The SM answers the first question when node 2 knows that there was a change. If node 2 should
# not know it yet, or asks no more, it asks again all the same.
changing()
{
	check "subscribed" routes 2
	capture_start changing
	kill -STOP "${OPENSM_PID[1]}"
	check "a change" reregister 2
	check "asks" busywait 5000 asked_times 1 66
	check "another one" reregister 2
	nap 0.1
	kill -CONT "${OPENSM_PID[1]}"
	check "asks again" busywait 10000 asked_times 2 66
	capture_stop
	check "subscribed" slowwait 20 subscribed 2
	check "ping" wait_ping 2 3
}

# down_dead: TOOK, of a subscriber whose SM has died
down_dead()
{
	local start

	if [ -z "${OPENSM_PID[1]:-}" ]; then
		opensm_start
		node_ip 2 link set ib0 up
	fi
	check "subscribed" routes 2
	opensm_kill
	start=$(now_ms)
	node_ip 2 link set ib0 down
	TOOK=$(($(now_ms) - start))
}

sm_dead()
{
	takes_less "down" 1000 down_dead
	node_ip 2 link set ib0 up
	opensm_start
	check "carrier" wait_carrier 2
	check "subscribed" slowwait 20 subscribed 2
	check "ping" wait_ping 2 3
	routes_no_more 2
}

# asks NODE ATTRIBUTE: how often it has asked the SA for such, in the capture
asks()
{
	frame_count mad.class=03 "mad.attr=$2" mad.method!=86 "slid=$(lid_hex "$1")"
}

# A path that was not found is looked for after 0.1, 0.2, 0.4 s and so on.
no_port()
{
	local before

	before=$(xstat 2 path_failures)
	node_ip 2 neigh replace 10.9.0.88 dev ib0 nud permanent \
		lladdr 80:00:00:48:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:de:ad
	capture_start no_port
	udp_to 2 10.9.0.88 6995 100 15000
	capture_stop
	check_num "questions" "$(asks 2 0035)" -ge 2
	check_num "questions" "$(asks 2 0035)" -le $((8 + 2 * (SLOW - 1)))
	check "counted" busywait 3000 xstat_is 2 path_failures -gt "$before"
	node_ip 2 neigh del 10.9.0.88 dev ib0
}

# given_up: node 2 has no link-layer address for 10.9.0.89
given_up()
{
	! node_ip 2 neigh show 10.9.0.89 dev ib0 | grep lladdr
}

# Ten datagrams in 0.1 s, in which an address is asked for once or twice; each time another one.
three_tries()
{
	local i asked shown

	for ((i = 1; i <= 5; i++)); do
		node_ip 2 neigh replace 10.9.0.89 dev ib0 nud reachable \
			lladdr "80:00:00:48:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:be:0$i"
		capture_start three_tries
		udp_to 2 10.9.0.89 6995 10 10000
		shown=$(node_ip 2 neigh show 10.9.0.89 dev ib0)
		capture_stop
		asked=$(frames -f mad.tid mad.class=03 mad.method=01 mad.attr=0035 "$(from 2)" \
			"pr.dgid=fe80::be0$i" | sort -u | wc -l)
		[ "$asked" -ge 3 ] || break
	done
	check_num "questions" "$asked" -ge 1
	check "the neighbour stays" grep lladdr <<< "$shown"
	udp_to 2 10.9.0.89 6995 100 15000
	check "and is given up" busywait 3000 given_up
	node_ip 2 neigh del 10.9.0.89 dev ib0
}

# The group, and the all-routers group: each is a join that is refused, and the reading of
# the record, which says why.
no_group()
{
	monitors 2
	capture_start no_group
	udp_to 2 239.30.0.4 6999 100 10000
	capture_stop
	check_num "questions" "$(asks 2 0038)" -ge 1
	check_num "questions" "$(asks 2 0038)" -le 4
	monitors_stop
}

# asks_slowly GROUP: node 2 asks the SA about that group, which is missing, after a join that was
# refused; each takes 0.5 s
asks_slowly()
{
	check "subscribed" routes 2
	knob_set 2 delay_ms_mad 500
	udp_to 2 "$1" 6999 1
	check "asking" busywait 5000 mcg_is 2 "$(mgid4 "$1")" state asking
}

down_asking()
{
	asks_slowly 239.30.0.6
	check "down" node_ip 2 link set ib0 down
	knob_set 2 delay_ms_mad 0
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	routes_no_more 2
	check "ping" wait_ping 2 3
}

# An answer after a second is none, and a machine may be slow for a while.
twin_down()
{
	local i failures failed

	check "another interface" node_ip 2 link add link ib0 name twin type ipoib
	for ((i = 1; i <= 5; i++)); do
		check "up" node_ip 2 link set twin up
		check "carrier" slowwait 10 has_carrier 2 twin
		failures=$(xstat 2 mcast_failures)
		asks_slowly "239.30.7.$i"
		check "down" node_ip 2 link set twin down
		check "no such group" busywait 5000 mcg_is 2 "$(mgid4 "239.30.7.$i")" state absent
		failed=$(($(xstat 2 mcast_failures) - failures))
		knob_set 2 delay_ms_mad 0
		[ "$failed" -ne 0 ] || break
	done
	check_eq "questions without an answer" "$failed" 0
	node_ip 2 link del twin
	routes_no_more 2
}

# mcast_trace MGID: the states it has been in
mcast_trace()
{
	sed -n "s/.* ib0 $(mgid_full "$1") \(.*\) status=.*/\1/p" "$TRACING/trace"
}

traced()
{
	local mgid

	mgid=$(mgid4 239.30.0.5)
	: > "$TRACING/trace"
	echo 1 > "$TRACING/events/ipoib/ipoib_mcast/enable" || fail "no trace of groups"
	group_join 2 239.30.0.5
	check "joined" busywait 5000 mcg_is 2 "$mgid" state member
	check_num "created" "$(mcg 2 "$mgid" created)" -gt 0
	check "frames that wait" mcg_is 2 "$mgid" queuelen 0
	check "complete" mcg_is 2 "$mgid" complete yes
	check "send only" mcg_is 2 "$mgid" send_only no
	group_leave
	check "left" busywait 5000 mcg_absent 2 "$mgid"
	echo 0 > "$TRACING/events/ipoib/ipoib_mcast/enable"
	check_eq "states" "$(mcast_trace "$mgid" | tr '\n' ' ')" "joining member idle "
}

# They are free a moment after the subscription has ended.
take_reports()
{
	local file=$TESTDIR/taker

	# The one that was started may still be on its way.
	if ! kill -0 "$(cat "$file.pid" 2> /dev/null)" 2> /dev/null; then
		umad_take "$(umad_file "$1")" > "$file" 2>&1 &
		echo $! > "$file.pid"
	fi
	grep -q ready "$file"
}

taken()
{
	node_ip 2 link set ib0 down
	check "ended" slowwait 5 unsubscribed 2
	check "somebody else takes them" slowwait 5 take_reports 2
	klog_mark taken
	node_ip 2 link set ib0 up
	node_ip 2 link set ib0 allmulticast on
	check "carrier" wait_carrier 2
	check "told" slowwait 5 klog_has 'another program on this port'
	routes_no_more 2
	check "no listener" slowwait 3 xstat_grows 2 tx_via_broadcast 239.30.9.1
	group_join 3 239.30.9.1
	check "a listener is found by sending" slowwait 15 sends_to 2 239.30.9.1
	check_eq "lines of the log" "$(klog | grep -c 'another program on this port')" 1
	remade 239.30.9.1 239.30.9.2
	background 2 udp_group send ib0 239.30.9.1 6996 100 100 1000000
	check "its MLID" slowwait 20 mlid_is_right 2 "$(mgid4 239.30.9.1)"
	group_leave "${BACKGROUND[-1]}"
	group_leave "${BACKGROUND[-2]}"
	group_leave "${BACKGROUND[-3]}"
}

# Each ten seconds, and half as much
taken_router()
{
	group_join 3 239.30.9.3
	check "a group" slowwait 5 sa_is_full_member 3 "$(mgid4 239.30.9.3)"
	node_ip 2 link set ib0 allmulticast on
	check "joined" slowwait 5 mcg_is 2 "$(mgid4 239.30.9.3)" join_state 2
	group_leave
	group_join 3 239.30.9.4
	check "one that has come" within 20000 mcg_is 2 "$(mgid4 239.30.9.4)" join_state 2
	check "one that has gone" within 20000 mcg_absent 2 "$(mgid4 239.30.9.3)"
	node_ip 2 link set ib0 allmulticast off
	group_leave
}

given_back()
{
	kill "$(cat "$TESTDIR/taker.pid")"
	check "subscribed" routes 2
	routes_no_more 2
}

# The SM's own node sends them, each the same: what they cost counts, not what they report.
flood()
{
	local data tid reports=()

	check "subscribed" routes 3
	data=$(report tid:00000000deadbeef)
	while [ ${#reports[@]} -lt 310 ]; do
		# umad takes no two of one number at a time
		printf -v tid '%08x' $((0x56780000 + ${#reports[@]}))
		reports+=("${data/deadbeef/$tid}")
	done
	check "sent" mad_send 1 3 1 0 "${reports[@]}"
	check "ended" slowwait 10 unsubscribed 3
	check "and stays so" stays 3000 unsubscribed 3
	routes_no_more 3
	check "no listener" slowwait 3 xstat_grows 3 tx_via_broadcast 239.30.2.3
	group_join 2 239.30.2.3
	check "a listener is found by sending" slowwait 8 sends_to 3 239.30.2.3
	group_leave
}

# remade GROUP OTHER: the listener leaves, OTHER gets its MLID, and it has another one
remade()
{
	local mgid was

	mgid=$(mgid4 "$1")
	was=$(sa_field "$mgid" mlid)
	group_leave
	check "gone" slowwait 5 sa_group_gone "$mgid"
	group_join 3 "$2"
	check "the other" slowwait 5 sa_group_exists "$(mgid4 "$2")"
	group_join 1 "$1"
	check "made anew" slowwait 5 sa_group_exists "$mgid"
	[ "$(sa_field "$mgid" mlid)" != "$was" ] || fail "it still has $was"
}

# mlid_is_right NODE MGID: the driver's is the SA's
mlid_is_right()
{
	[ "$(($(mcg "$1" "$2" mlid)))" -eq "$(($(sa_field "$2" mlid)))" ]
}

# sends_to NODE GROUP: and is a member then
sends_to()
{
	udp_to "$1" "$2" 6997 1
	mcg_is "$1" "$(mgid4 "$2")" state member
}

ktap_main "$@"
