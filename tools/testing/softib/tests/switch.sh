#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# UD, and forwarding by the switch: datagrams arrive where they should, as they
# should and nowhere else, each of them accounted for; the fault knobs do what
# they say. Datagrams by datagram.c; groups by IPoIB's own, of any driver.
#
#	   node1   node2   node3
#	    ib0     ib0     ib0
#	  softib0 softib1 softib2
#	     |       |       |
#	   +-+-------+-------+-+
#	   |      switch       |
#	   +-------------------+

TESTS_DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
# shellcheck source=../../selftests/ipoib/lib.sh
. "$TESTS_DIR/../../selftests/ipoib/lib.sh"

# shellcheck disable=SC2034 # for ktap_main
CASES=(
	"datagram:unicast V a datagram arrives, with its addresses"
	"datagram:immediate V immediate data without a payload arrives"
	"datagram:grh V a GRH is in the first 40 bytes; a foreign GID is dropped"
	"counted:gid V a datagram with a foreign GID is counted"
	"datagram:qkey V a wrong Q_Key is dropped"
	"counted:qkey V a datagram with a wrong Q_Key is counted"
	"datagram:controlled_qkey V a controlled Q_Key is replaced by the Q_Key of the sending QP"
	"datagram:no_qp V a datagram to a QP that does not exist is dropped"
	"counted:no_qp V a datagram to a QP that does not exist is counted"
	"datagram:no_route V an unassigned LID is not routed"
	"counted_switch:no_route V the switch counts a datagram to an unassigned LID"
	"datagram:mtu V a datagram of the MTU passes, one more octet stops the send queue only"
	"datagram:too_long V a datagram too long for the buffer is dropped, the next datagram arrives"
	"counted:too_long V a datagram too long for the buffer is counted"
	"datagram:no_buffer V a datagram without a buffer is dropped, datagrams with a buffer arrive"
	"counted:no_rwqe V a datagram without a buffer is counted"
	"datagram:itself V a QP sends to itself"
	"datagram:own_copy V attached QPs of the sender get a copy, ports outside the group get no copy"
	"members V frames of a group go to the ports that joined, and to no other port"
	"drop_next V drop_next_ud drops the next N datagrams"
	"drop_egress V drop_egress drops all sent datagrams, and no other frame"
	"dup V dup_every_ud duplicates datagrams"
	"delay V delay_ms_ud delays datagrams, in order"
	"short_mad V short_next_mad truncates the next N MADs to QP 1, and no others"
	"mcast_limit V mcast_limit limits the groups of an HCA"
)

setup()
{
	fabric_up 3
	cc -O1 -Wall -o "$TESTDIR/datagram" "$TESTS_DIR/datagram.c" -libverbs ||
		ktap_bail "cannot compile datagram.c"
	slowwait 20 ping_ok 1 "$(ip4 2)" || ktap_bail "no ping"
}

datagram()
{
	check "$1" timeout 60 "$TESTDIR/datagram" "$(ibdev 1)" "$(ibdev 2)" "$1"
}

# counter_of NODE NAME
counter_of()
{
	sed -n "s/^port1\\.$2 //p" "$DEBUGFS/$(ibdev "$1")/counters"
}

counted()
{
	check_num "drops of $1" "$(counter_of 2 "drop.$1")" -gt 0
}

counted_switch()
{
	check_num "drops of $1" "$(counter_of 1 "switch_drop.$1")" -gt 0
}

# ping_count NODE ADDR COUNT: how many were answered
ping_count()
{
	in_node "$1" ping -q -n -i 0.2 -W 2 -c "$3" "$2" |
		sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

members()
{
	local before2 before3 group=239.1.2.3

	group_join 2 $group || fail "node 2 cannot join"
	slowwait 10 sa_is_full_member 2 "$(mgid4 $group)" || fail "not joined"
	# The sender's join, and the tree with it, takes a moment.
	in_node 1 ping -q -I ib0 -c 3 -i 0.5 -W 1 $group > /dev/null
	capture_start members
	before2=$(counter_of 2 rx_mcast)
	before3=$(counter_of 3 rx_mcast)
	in_node 1 ping -q -I ib0 -c 20 -i 0.05 -W 1 $group > /dev/null
	check_num "at the member" $(($(counter_of 2 rx_mcast) - before2)) -ge 20
	before3=$(($(counter_of 3 rx_mcast) - before3))
	capture_stop
	check_num "frames to the group" "$(frame_count "dgid=$(mgid4 $group)")" -ge 20
	# nothing but what the nodes have for another group
	check_num "elsewhere" "$before3" -le \
		"$(frames -f dgid "dgid!=$(mgid4 $group)" | grep -c '^ff')"
	group_leave
}

drop_next()
{
	local before

	before=$(counter_of 1 drop.fault)
	knob_set 1 drop_next_ud 3
	check_eq "answers to 8" "$(ping_count 1 "$(ip4 2)" 8)" 5
	check_eq "counted" $(($(counter_of 1 drop.fault) - before)) 3
	check_eq "the knob is used up" \
		"$(< "$DEBUGFS/$(ibdev 1)/drop_next_ud")" 0
}

drop_egress()
{
	local before sent

	before=$(counter_of 1 drop.fault)
	sent=$(counter 1 tx_packets)
	knob_set 1 drop_egress 1
	check_eq "answers to 5" "$(ping_count 1 "$(ip4 2)" 5)" 0
	check_num "sent" $(($(counter 1 tx_packets) - sent)) -ge 5
	check_num "counted" $(($(counter_of 1 drop.fault) - before)) -ge 5
	check "no MAD is" timeout 20 sminfo -C "$(ibdev 1)"
	knob_set 1 drop_egress 0
	check "ping" wait_ping 1 2
}

dup()
{
	local out

	knob_set 1 dup_every_ud 1
	out=$(in_node 1 ping -q -n -i 0.2 -c 5 "$(ip4 2)")
	knob_set 1 dup_every_ud 0
	check "duplicates" grep -q '+[4-9] duplicates' <<< "$out"
}

delay()
{
	local out min

	knob_set 1 delay_ms_ud 200
	out=$(in_node 1 ping -n -i 0.02 -c 20 "$(ip4 2)")
	knob_set 1 delay_ms_ud 0
	min=$(sed -n 's/^rtt[^=]*= \([0-9]*\).*/\1/p' <<< "$out")
	check_num "ms at least" "$min" -ge 196
	check_eq "order" "$(sed -n 's/.*icmp_seq=\([0-9]*\) .*/\1/p' <<< "$out" |
		sort -nc 2>&1)" ""
}

# Requests of a class that nobody serves, SNMP tunnelling; on the wire a MAD has 32 octets more
short_mad()
{
	local mad=0108010100000000000000000000000

	knob_set 1 short_next_mad 2
	capture_start short_mad
	# SubnGet(NodeInfo)
	check "to QP 0" mad_send 1 2 0 10000 "01010101$(zeros 4)$(zeros 8)0011"
	check "to QP 1" mad_send 1 2 1 0 "${mad}1" "${mad}2" "${mad}3"
	capture_stop
	check "to QP 0" frames_all pktlen 288 mad.class=01 mad.attr=0011 "slid=$(lid_hex 1)" "dlid=$(lid_hex 2)"
	check_eq "to QP 1" "$(frames -f pktlen mad.class=08 "slid=$(lid_hex 1)")" "168
168
288"
}

mcast_limit()
{
	local knob

	knob=$(< "$DEBUGFS/$(ibdev 3)/mcast_limit")
	knob_set 3 mcast_limit 1
	group_join 3 239.9.9.9
	check "no more groups" stays 2000 is_limited
	group_leave
	knob_set 3 mcast_limit "$knob"
	group_join 3 239.9.9.10
	check "again" slowwait 40 sa_is_full_member 3 "$(mgid4 239.9.9.10)"
	group_leave
}

groups()
{
	sed -n "s/^softib$(($1 - 1))\\/1:.* \\([0-9]*\\) groups.*/\\1/p" \
		"$DEBUGFS/summary"
}

is_limited()
{
	[ "$(groups 3)" -le "${LIMIT:=$(groups 3)}" ]
}

ktap_main "$@"
