#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Nodes invent neighbours as fast as they can; the others do not notice. The SA is
# slow, as it is in a large fabric.
#
#	node1 (SM)   node2 (victim)   node3, 6-12 (hostile)   node4 (peer)   node5 (peer)
#	  |            |                |                       |              |
#	+-+------------+----------------+-----------------------+--------------+-+
#	|                               switch                                   |
#	+------------------------------------------------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"flood:limited F12 few of the neighbours that a node invents reach the stack"
	"flood:peer F12 an unknown peer reaches the victim during the attack"
	"flood:own F12 the victim reaches an unknown peer during the attack"
	"flood:rate F12 a peer gets at least half of its answers"
	"flood:nd F12 Neighbour Discovery is limited in the same way as ARP"
	"flood:options F12,F37 Neighbour Discovery is limited also with the neighbour in a second option behind the sender"
	"flood:legitimate F12 ARP and ND that name their own sender are not limited"
	"flood:many F12 peers reach the victim, and the victim peers, while eight ports attack together"
	"groups:arp F69,F12 ARP that names a group is dropped, and no frame goes to that group"
	"groups:nd F69,F12 Neighbour Discovery that names a group is dropped, and no frame goes to that group"
	"own:limited F12 at most 4096 frames of an interface wait for paths, further frames are counted"
	"own:gone F12 no frame is left when the paths are given up"
	"own:down F12 no frame is left when the interface goes down, and it finds paths again when up"
)

NEEDS=(
	[flood:peer]=flood:limited
	[flood:own]=flood:peer
	[flood:rate]=flood:own
	[own:gone]=own:limited
)

setup()
{
	fabric_up 12
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

# waiting: frames that wait for a path or a group, on all interfaces
waiting()
{
	cat /sys/kernel/debug/ipoib/*_{path,mcg} 2> /dev/null |
		awk '$1 == "queuelen:" { sum += $2 } END { print sum + 0 }'
}

# flood_from NODE RATE SECONDS ADDRESS [OWN]: see neigh_flood.py. With OWN there is a GRH,
# which shows where the frames come from. Sets ATTACK to what sends.
flood_from()
{
	ud_to 2
	[ $# -lt 5 ] || UD_TO+=(-g "$(port_gid 2)")
	"$LIB_DIR/neigh_flood.py" "${@:2}" |
		ud_verbs "$(ibdev "$1")" "${UD_TO[@]}" -q "$QPN" -Q "$QKEY" -d - > /dev/null 2>&1 &
	ATTACK=$!
	BACKGROUND+=("$ATTACK")
}

# attack ADDRESS [OWN]: 1000 a second from node 3, for as long as this lasts
attack()
{
	knob_set 2 delay_ms_mad 200
	flood_from 3 1000 600 "$@"
}

drops_are()
{
	xstat_is 2 rx_drop_neigh_rate "$@"
}

# limited ADDRESS [OWN]: of what an attack sends a burst gets through, and 16 a second
limited()
{
	local before queries start

	before=$(xstat 2 rx_drop_neigh_rate)
	queries=$(xstat 2 path_queries)
	start=$(now_ms)
	attack "$@"
	check "dropped" slowwait 20 drops_are -ge $((before + 1000))
	note "$(waiting) frames wait, $(($(xstat 2 path_queries) - queries)) queries"
	check_num "frames that wait" "$(waiting)" -le 128
	check_num "queries" $(($(xstat 2 path_queries) - queries)) -le \
		$((64 + 16 * ($(now_ms) - start + 2000) / 1000))
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

	before=$(xstat 2 rx_drop_neigh_rate)
	kill -CONT "$ATTACK"
	check "the attack goes on" busywait 5000 drops_are -gt "$before"
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
	local before received node

	case $1 in
	limited) limited "$(ip4 2)" ;;
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
		limited "$(ip6 2)"
		background_stop
		knob_set 2 delay_ms_mad 0
		check "ping" slowwait 10 ping_ok 4 "$(ip4 2)"
		;;
	options)
		limited "$(ip6 2)" "$(port_gid_hex 3)"
		background_stop
		knob_set 2 delay_ms_mad 0
		;;
	legitimate)
		before=$(xstat 2 rx_drop_neigh_rate)
		received=$(counter 2 rx_packets)
		flood_from 4 500 2 "$(ip4 2)" "$(port_gid_hex 4)"
		wait "$ATTACK"
		check_num "received" $(($(counter 2 rx_packets) - received)) -ge 900
		check_eq "dropped" "$(xstat 2 rx_drop_neigh_rate)" "$before"
		;;
	many)
		before=$(xstat 2 rx_drop_neigh_rate)
		knob_set 2 delay_ms_mad 50
		for node in 3 6 7 8 9 10 11 12; do
			flood_from "$node" 100 600 "$(ip4 2)"
		done
		check "dropped" slowwait 20 drops_are -ge $((before + 1000))
		forget 2 4
		forget 2 5
		check "ping" within 10000 ping_ok 4 "$(ip4 2)"
		check "ping" within 10000 ping_ok 2 "$(ip4 5)"
		note "$(waiting) frames wait"
		check_num "frames that wait" "$(waiting)" -le 1024
		background_stop
		knob_set 2 delay_ms_mad 0
		;;
	esac
}

# groups_of NODE: how many it knows
groups_of()
{
	grep -c '^GID:' "$(mcg_file "$1")"
}

# Fewer than there are tokens
groups()
{
	local before known address

	address=$(ip4 2)
	[ "$1" = arp ] || address=$(ip6 2)
	before=$(xstat 2 rx_drop_neigh_rate)
	known=$(groups_of 2)
	flood_from 3 50 1 "$address" ff12401bffff0000
	wait "$ATTACK"
	check "dropped" within 1000 drops_are -ge $((before + 20))
	check_num "groups" "$(groups_of 2)" -le "$known"
	check "ping" ping_ok 4 "$(ip4 2)"
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
	down)
		knob_set 1 delay_ms_mad 500
		in_node 1 "$LIB_DIR/gid_flood.py" ib0 0 1000 || fail "cannot send"
		check_num "frames that wait" "$(waiting)" -gt 100
		check "down" node_ip 1 link set ib0 down
		knob_set 1 delay_ms_mad 0
		check "none" slowwait 20 waiting_is -eq 0
		check "up" node_ip 1 link set ib0 up
		check "carrier" wait_carrier 1
		check "ping" slowwait 20 ping_ok 1 "$(ip4 4)"
		;;
	esac
}

ktap_main "$@"
