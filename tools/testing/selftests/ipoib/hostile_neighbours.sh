#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One node invents neighbours as fast as it can; the others do not notice. The SA is
# slow, as it is in a large fabric.
#
#	node1 (SM)   node2 (victim)   node3 (hostile)   node4 (peer)   node5 (peer)
#	  |            |                |                 |              |
#	+-+------------+----------------+-----------------+--------------+-+
#	|                            switch                                |
#	+------------------------------------------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"flood:limited F12 few of the frames to neighbours that one node invents wait for paths"
	"flood:peer F12 a peer that the victim does not know yet reaches it during the attack"
	"flood:own F12 and the victim a peer that it does not know yet"
	"flood:rate F12 a peer gets no less than half of its answers"
	"flood:nd F12 Neighbour Discovery is limited in the same way"
	"own:limited F12 no more than 4096 frames of an interface wait for paths, the others are counted"
	"own:gone F12 none is left when they are given up"
)

NEEDS=(
	[flood:peer]=flood:limited
	[flood:own]=flood:peer
	[flood:rate]=flood:own
	[own:gone]=own:limited
)

setup()
{
	fabric_up 5
	wait_ping 4 2 || ktap_bail "no ping"
	QKEY=$(group_field qkey)
	QPN=0x$(lladdr_qpn 2)
}

diagnose()
{
	note "$(in_node 2 ethtool -S ib0 | grep -v ': 0$' | tr -s ' \n' ' ')"
	note "waiting: $(waiting)"
	note "node 5: $(in_node 5 ethtool -S ib0 | grep -v ': 0$' | tr -s ' \n' ' ')"
	note "node 5: $(node_ip 5 neigh show dev ib0 | tr '\n' ';')"
	note "node 2: $(node_ip 2 neigh show dev ib0 | grep -v 10.9.9.9 | tr '\n' ';')"
}

# waiting: frames that wait for something, on all interfaces
waiting()
{
	awk '/waiting frames/ { print $1 - $2 }' /sys/kernel/debug/ipoib/objects
}

# attack ADDRESS: 1000 a second, for as long as this lasts
attack()
{
	ud_to 2
	knob_set 2 delay_ms_mad 200
	"$LIB_DIR/neigh_flood.py" 1000 600 "$1" |
		ud_verbs "$(ibdev 3)" "${UD_TO[@]}" -q "$QPN" -Q "$QKEY" -d - > /dev/null 2>&1 &
	ATTACK=$!
	BACKGROUND+=("$ATTACK")
}

# attack_rests: and what it has made wait is gone
attack_rests()
{
	kill -STOP "$ATTACK"
	within 3000 waiting_is -eq 0
}

attack_goes_on()
{
	local before

	before=$(xstat 2 tx_drop_source_limit)
	kill -CONT "$ATTACK"
	check "the attack goes on" busywait 5000 xstat_is 2 tx_drop_source_limit -gt "$before"
}

queries_are()
{
	xstat_is 2 path_queries "$@"
}

# answers: how many echoes of node 4 are answered in a second
answers()
{
	in_node 4 ping -n -q -i 0.02 -w 1 "$(ip4 2)" | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

# Forgotten as if it had never been there, the neighbour's entry first.
forget()
{
	node_ip "$1" neigh flush dev ib0
	node_ip "$2" neigh flush dev ib0
}

flood()
{
	local before

	case $1 in
	limited)
		before=$(xstat 2 path_queries)
		attack "$(ip4 2)"
		check "the attack works" slowwait 20 queries_are -ge $((before + 300))
		note "$(waiting) frames wait"
		check_num "frames that wait" "$(waiting)" -le 256
		check_num "dropped" "$(xstat 2 tx_drop_source_limit)" -gt 0
		;;
	peer)
		check "ping" within 10000 ping_ok 5 "$(ip4 2)"
		;;
	own)
		check "ping" within 10000 ping_ok 2 "$(ip4 1)"
		;;
	rate)
		attack_rests
		in_turn answers attack_goes_on attack_rests
		check_num "answers" $((WITH * 2)) -ge "$WITHOUT"
		kill -CONT "$ATTACK"
		background_stop
		;;
	nd)
		before=$(xstat 2 tx_drop_source_limit)
		attack "$(ip6 2)"
		check "dropped" slowwait 20 xstat_is 2 tx_drop_source_limit -gt "$before"
		check_num "frames that wait" "$(waiting)" -le 256
		background_stop
		knob_set 2 delay_ms_mad 0
		check "ping" slowwait 10 ping_ok 4 "$(ip4 2)"
		;;
	esac
}

waiting_is()
{
	test "$(waiting)" "$@"
}

own()
{
	case $1 in
	limited)
		check "none" slowwait 20 waiting_is -eq 0
		knob_set 1 delay_ms_mad 500
		in_node 1 "$LIB_DIR/gid_flood.py" ib0 0 8000 || fail "cannot send"
		note "$(waiting) frames wait"
		check_num "frames that wait" "$(waiting)" -le 4200
		check_num "dropped" "$(xstat 1 tx_drop_queue_full)" -gt 0
		;;
	gone)
		knob_set 1 delay_ms_mad 0
		check "none" slowwait 60 waiting_is -eq 0
		check "ping" slowwait 20 ping_ok 1 "$(ip4 4)"
		;;
	esac
}

ktap_main "$@"
