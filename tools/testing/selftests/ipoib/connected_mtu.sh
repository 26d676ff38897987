#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is too long for a destination is answered by ICMP at once, the mode leaves
# the administrator his MTU, and a peer without connections is served over UD.
#
#	node1 <== RC ==> node2		node3 offers no connections
#	  |                |              |
#	+-+----------------+--------------+-+
#	|              switch               |
#	+-----------------------------------+

: "${HCA:=mlx5}"
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

# How often the mode changes under TCP: tools/testing/check --env MODE_SWITCHES=500
# --limit 2000 connected_mtu.sh
MODE_SWITCHES=${MODE_SWITCHES:-10}
declare -A FLIP_MS=()

CASES=(
	"words B5 mode accepts its two words, with or without a newline"
	"words_wrong B5 mode refuses any other word"
	"netlink B14 ip link sets and shows the mode"
	"mtu_follows B6,B33,C24 the MTU follows the mode"
	"mtu_before B6,B33 an MTU set in datagram mode stays in connected mode, and is logged"
	"mtu_stays B6,B33 an MTU set in connected mode comes back with connected mode"
	"warned B6,B33 the log warns that multicast has a smaller MTU than connections"
	"mode_refused B14 ip link reports why connected mode is refused, and the mode stays"
	"mode_vetoed B5,B6 the mode stays if a notifier refuses its MTU"
	"mtu_least C23 an MTU below the minimum of IP is refused in both modes"
	"transports C8 cm_transport accepts its five words"
	"transports_wrong C8,C9 cm_transport refuses any other word, and \"none\" in connected mode"
	"ud_peer:4 C9,C11,C30,C34 IPv4: a peer that offers no transport is reached over UD"
	"ud_peer:6 C9,C11,C30,C34 IPv6: a peer that offers no transport is reached over UD"
	"pmtu4 C34 IPv4: a packet too long for a UD peer gets an ICMP error, and the route has the path MTU"
	"pmtu6 C34 IPv6: a packet too long for a UD peer gets an ICMP error, and the route has the path MTU"
	"pmtu_counted C34 ICMP errors and dropped packets are counted"
	"pmtu_others C28,C34 the other peer still gets 65520 octets while a sender ignores the ICMP errors"
	"tcp_ud_peer C34 TCP to a UD peer flows"
	"group_long C31 a broadcast too long for UD is dropped and counted"
	"switching B5,B6 the mode changes again and again under TCP, which goes on each time"
	"switch_time B5,B6 a change of the mode takes less than a second"
	"passing:cq F70,F87 a failed CQ of connections is replaced, and no sender gets the MTU of datagrams meanwhile"
	"passing:transport F68 no sender gets the MTU of datagrams during a change of transports at either end"
)

NEEDS=([switch_time]=switching)

setup()
{
	FLIP_MS=()
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	set_transport 3 none || ktap_bail "no cm_transport"
}

diagnose()
{
	cm_diagnose 1
}

# in_datagram, in_connected: where cases begin; nodes 1 and 2
in_datagram()
{
	local node

	for node in 1 2; do
		set_mode "$node" datagram || fail "node $node: no datagram mode"
	done
}

in_connected()
{
	local node

	for node in 1 2; do
		set_mode "$node" connected || fail "node $node: no connected mode"
	done
}

words()
{
	local file=/sys/class/net/ib0/mode

	in_datagram
	check "connected" in_node 1 sh -c "echo connected > $file"
	check_eq "reads" "$(net_file 1 mode)" connected
	check "again" in_node 1 sh -c "echo connected > $file"
	check "datagram, no newline" in_node 1 sh -c "printf datagram > $file"
	check_eq "reads" "$(net_file 1 mode)" datagram
	check "connected, no newline" in_node 1 sh -c "printf connected > $file"
	check_eq "reads" "$(net_file 1 mode)" connected
	check "back" set_mode 1 datagram
}

# warnings TEXT: how often the log has it
warnings()
{
	klog | grep -c "ib0: $1"
}

warned()
{
	local mode='enabling connected mode will cause multicast packet drops'
	local mtu='mtu > 2044 will cause multicast packet drops\.'

	in_datagram
	check "mode" set_mode 1 connected
	check_eq "of the mode" "$(warnings "$mode")" 1
	check_eq "of its MTU" "$(warnings "$mtu")" 0
	check "longer" node_ip 1 link set ib0 mtu 2045
	check_eq "of the MTU" "$(warnings "$mtu")" 1
	check "not longer" node_ip 1 link set ib0 mtu 2044
	check_eq "of an MTU that all take" "$(warnings "$mtu")" 1
	check "mode" set_mode 1 datagram
	check "mode" set_mode 1 connected
	check_eq "of the mode with that MTU" "$(warnings "$mode")" 1
	check "back" node_ip 1 link set ib0 mtu 65520
	check "back" set_mode 1 datagram
}

words_wrong()
{
	local word

	in_datagram
	for word in "" connecte connected2 Connected 1 rc; do
		check_not "'$word'" set_mode 1 "$word"
	done
	check_eq "reads" "$(net_file 1 mode)" datagram
}

netlink()
{
	in_datagram
	check "connected" node_ip 1 link set ib0 type ipoib mode connected
	check_eq "sysfs" "$(net_file 1 mode)" connected
	check "ip shows it" grep -q 'mode connected' <<< "$(node_ip 1 -d link show dev ib0)"
	check "datagram" node_ip 1 link set ib0 type ipoib mode datagram
	check "ip shows it" grep -q 'mode datagram' <<< "$(node_ip 1 -d link show dev ib0)"
}

mtu_follows()
{
	in_datagram
	check "connected" set_mode 1 connected
	check_eq "MTU" "$(link_mtu 1)" 65520
	check "datagram" set_mode 1 datagram
	check_eq "MTU" "$(link_mtu 1)" 2044
}

mtu_stays()
{
	in_datagram
	check "connected" set_mode 1 connected
	check "set" node_ip 1 link set ib0 mtu 9000
	check "datagram" set_mode 1 datagram
	check_eq "MTU" "$(link_mtu 1)" 2044
	check "connected" set_mode 1 connected
	check_eq "MTU" "$(link_mtu 1)" 9000
	check "largest" node_ip 1 link set ib0 mtu 65520
	check_not "too large" node_ip 1 link set ib0 mtu 65521
	check "datagram" set_mode 1 datagram
	check_not "too large for datagram mode" node_ip 1 link set ib0 mtu 9000
}

mtu_before()
{
	in_datagram
	check "set" node_ip 1 link set ib0 mtu 1500
	check "connected" set_mode 1 connected
	check_eq "MTU" "$(link_mtu 1)" 1500
	check "a message" grep -q 'MTU stays 1500 as it was set; connected mode takes up to 65520' <<< "$(klog)"
	check "1500" ping_once 1 "$(ip4 2)" -s 1472 -M 'do'
	check_not "1501" ping_ok 1 "$(ip4 2)" -s 1473 -M 'do'
	check "datagram" set_mode 1 datagram
	check_eq "MTU" "$(link_mtu 1)" 1500
	check "all that the port can do" node_ip 1 link set ib0 mtu 2044
	check "connected" set_mode 1 connected
	check_eq "MTU" "$(link_mtu 1)" 2044
	check "all there is" node_ip 1 link set ib0 mtu 65520
	check "datagram" set_mode 1 datagram
	check_eq "MTU" "$(link_mtu 1)" 2044
}

# unchanged NODE: it is in datagram mode
unchanged()
{
	check_eq "mode" "$(net_file "$1" mode)" datagram
	check "ip shows it" grep -q 'mode datagram' <<< "$(node_ip "$1" -d link show dev ib0)"
	check_eq "MTU" "$(link_mtu "$1")" 2044
}

# Node 3 offers no transport.
mode_refused()
{
	local before out

	before=$(lladdr 3)
	out=$(node_ip 3 link set ib0 type ipoib mode connected umcast 1 2>&1) && fail "accepted"
	check "why" grep -q 'no connected mode on this port' <<< "$out"
	unchanged 3
	check_eq "address" "$(lladdr 3)" "$before"
	check_eq "umcast" "$(net_file 3 umcast)" 0
	check "ping" ping_once 1 "$(ip4 3)"
}

# A team has its ports keep their MTU.
mode_vetoed()
{
	local out

	node_ip 2 link add team0 type team || { check_skip "the kernel has no team"; return; }
	check "down" node_ip 2 link set ib0 down
	check "a port of it" node_ip 2 link set ib0 master team0
	check_not "sysfs" set_mode 2 connected
	out=$(node_ip 2 link set ib0 type ipoib mode connected 2>&1) && fail "accepted"
	check "why" grep -q 'the MTU of the mode was refused' <<< "$out"
	unchanged 2
	check "no port" node_ip 2 link set ib0 nomaster
	node_ip 2 link del team0
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check "connected" set_mode 2 connected
	check_eq "MTU" "$(link_mtu 2)" 65520
	check "datagram" set_mode 2 datagram
	check "ping" slowwait 5 ping_ok 1 "$(ip4 2)"
}

# IPv4 needs 68, IPv6 1280, below which it leaves the interface alone.
mtu_least()
{
	local mode

	for mode in connected datagram; do
		check "$mode" set_mode 1 "$mode"
		check_not "0, $mode" node_ip 1 link set ib0 mtu 0
		check_not "67, $mode" node_ip 1 link set ib0 mtu 67
	done
	check "connected" set_mode 1 connected
	check "1280" node_ip 1 link set ib0 mtu 1280
	check "IPv4 of 1280" ping_once 1 "$(ip4 2)" -s 1252 -M 'do'
	check "IPv6 of 1280" ping_once 1 "$(ip6 2)" -s 1232 -M 'do'
	check_not "1281" ping_ok 1 "$(ip4 2)" -s 1253 -M 'do'
	check "back" node_ip 1 link set ib0 mtu 65520
	check "datagram" set_mode 1 datagram
	check_eq "MTU" "$(link_mtu 1)" 2044
}

transports()
{
	local word

	in_datagram
	for word in none rc uc rc,uc uc,rc; do
		check "$word" set_transport 1 "$word"
		check_eq "reads" "$(net_file 1 cm_transport)" "$word"
	done
	check "rc" set_transport 1 rc
}

transports_wrong()
{
	local word

	for word in "" ud rc,rc RC; do
		check_not "'$word'" set_transport 1 "$word"
	done
	check "connected" set_mode 1 connected
	check_not "none" set_transport 1 none
	check_eq "flags" "$(lladdr 1 | cut -c 1-2)" 80
	check_not "connected without transports" set_mode 3 connected
	check_eq "mode" "$(net_file 3 mode)" datagram
	check_eq "MTU" "$(link_mtu 3)" 2044
}

ud_peer()
{
	in_connected
	check_eq "flags" "$(lladdr 3 | cut -c 1-2)" 00
	check "ping" ping_lossless 1 "$("ip$1" 3)" 10
	check "ping back" ping_lossless 3 "$("ip$1" 1)" 10
	check_eq "connections" "$(conn_count 1 3)" 0
}

# pmtu FAMILY: of the route to node 3
pmtu()
{
	in_node 1 ip "-$1" route get "$("ip$1" 3)" | grep -o 'mtu [0-9]*'
}

# too_long FAMILY: what ping says of a packet that node 3 does not take
too_long()
{
	in_node 1 ping -n -c 2 -i 0.2 -W 1 -M 'do' -s 4000 "$("ip$1" 3)" 2>&1
}

# forget_pmtu: what was learned of routes
forget_pmtu()
{
	in_node 1 ip -4 route flush cache
	in_node 1 ip -6 route flush cache
}

pmtu4()
{
	in_connected
	forget_pmtu
	check "ping is told" grep -qi 'frag needed\|message too long' <<< "$(too_long 4)"
	check_eq "route" "$(pmtu 4)" "mtu 2044"
	check "in fragments" ping_lossless 1 "$(ip4 3)" 5 -s 4000
}

pmtu6()
{
	in_connected
	forget_pmtu
	check "ping is told" grep -qi 'too big\|message too long' <<< "$(too_long 6)"
	check_eq "route" "$(pmtu 6)" "mtu 2044"
	check "in fragments" ping_lossless 1 "$(ip6 3)" 5 -s 4000
}

pmtu_counted()
{
	local answers drops family

	in_connected
	forget_pmtu
	answers=$(cm_stat 1 tx_too_long_answered)
	drops=$(cm_stat 1 tx_drop_too_long)
	for family in 4 6; do
		check "told" grep -qi 'frag needed\|too big\|message too long' <<< "$(too_long "$family")"
	done
	check_num "answers" $(($(cm_stat 1 tx_too_long_answered) - answers)) -ge 2
	check_num "drops" $(($(cm_stat 1 tx_drop_too_long) - drops)) -ge 2
}

# A route with a locked MTU learns nothing.
pmtu_others()
{
	local drops

	in_connected
	check "connection" connect 1 2
	check "known by IPv6" slowwait 5 ping_ok 1 "$(ip6 2)"
	drops=$(cm_stat 1 tx_drop_too_long)
	node_ip 1 route add "$(ip4 3)/32" dev ib0 mtu lock 65520
	background 1 udp_group send ib0 "$(ip4 3)" 9 4000 40000 250
	check "dropped" busywait 5000 cm_stat_is 1 tx_drop_too_long -gt $((drops + 1000))
	check "65520" ping_lossless 1 "$(ip4 2)" 5 -M 'do' -s 65492
	check "65520, IPv6" ping_lossless 1 "$(ip6 2)" 5 -M 'do' -s 65472
	background_stop
	node_ip 1 route del "$(ip4 3)/32" dev ib0
}

tcp_ud_peer()
{
	local result

	in_connected
	result=$(iperf 1 3 -t 2) || { fail "iperf3: $result"; return; }
	note "Mb/s: $result"
	check_rate "${result% *}" 10
}

group_long()
{
	local before

	in_connected
	before=$(cm_stat 1 tx_drop_too_long)
	in_node 1 udp_group send ib0 255.255.255.255 9 3000 1
	check "drops" busywait 3000 cm_stat_is 1 tx_drop_too_long -gt "$before"
}

# received_frames: sets HEARD to how many frames node 2 has got
received_frames()
{
	# shellcheck disable=SC2016 # for that shell
	ask 2 'read -r n < /sys/class/net/ib0/statistics/rx_packets; echo $n'
}

got_more()
{
	received_frames
	[ "$HEARD" -gt "$1" ]
}

# None that node 1 has asked for
none_active()
{
	! conns 1 2 | grep -q ' active '
}

# flip MODE: TCP goes on after it. Adds the time that it has taken to FLIP_MS[MODE].
flip()
{
	local start ms

	start=${EPOCHREALTIME/./}
	ask 1 "echo $1 > /sys/class/net/ib0/mode && echo good"
	check_eq "$1" "$HEARD" good || return
	ms=$(((${EPOCHREALTIME/./} - start) / 1000))
	FLIP_MS[$1]+="$ms "
	if [ "$1" = datagram ]; then
		check "none of its own" slowwait 5 none_active
	else
		check "connection" busywait 10000 peer_state_is 1 2 up
	fi
	received_frames
	check "TCP after $1" slowwait 20 got_more $((HEARD + 10))
}

switching()
{
	local client i mode

	in_connected
	shell_start 1
	shell_start 2
	background 2 sh -c 'exec iperf3 -s -1 > /dev/null'
	check "server" busywait 5000 iperf_listens 2
	background 1 iperf3 -c "$(ip4 2)" -t $((60 + 30 * MODE_SWITCHES)) > "$TESTDIR/switching" 2>&1
	client=$!
	check "TCP runs" slowwait 10 cm_stat_is 1 cm_tx_packets -gt 100
	for ((i = 1; i <= MODE_SWITCHES && !RET; i++)); do
		mode=datagram
		[ $((i % 2)) -eq 1 ] || mode=connected
		flip "$mode"
	done
	check "the same TCP connection" kill -0 "$client"
	[ "$RET" -eq 0 ] || note "switch $((i - 1)); $(tail -n 3 "$TESTDIR/switching")"
	shells_stop
	check "connected" set_mode 1 connected
	check "connection" connect 1 2
	check "ping" ping_lossless 1 "$(ip4 2)" 20
	check "one connection" slowwait 10 conn_count_is 1 2 1
}

# The median: one may be that of a moment in which the machine is slow.
switch_time()
{
	local mode middle

	for mode in datagram connected; do
		middle=$(tr ' ' '\n' <<< "${FLIP_MS[$mode]% }" | median)
		note "switches to $mode mode: ${FLIP_MS[$mode]}ms"
		check_num "milliseconds to $mode mode" "$middle" -lt "$(scaled 1000)"
	done
}

# Sends of node 2 are under way then.
cq_fails()
{
	knob_set 1 delay_ms_rc 200
	nap 0.5
	knob_set 2 cq_error 1
	check "closed" slowwait 5 klog_has 'a queue of all connections has failed'
	knob_set 1 delay_ms_rc 0
}

transports_change()
{
	local word node

	for word in rc,uc rc uc,rc rc,uc rc uc,rc rc; do
		for node in 1 2; do
			check "node $node: $word" set_transport "$node" "$word"
			nap 0.3
		done
	done
}

# passing WHAT: while packets that no datagram takes go both ways
passing()
{
	local start

	in_connected
	forget_pmtu
	in_node 2 ip route flush cache
	check "connection" connect 1 2
	background 1 ping -n -q -i 0.02 -s 20000 -M 'do' "$(ip4 2)" > /dev/null
	background 2 ping -n -q -i 0.02 -s 20000 -M 'do' "$(ip4 1)" > /dev/null
	start=$(now_ms)
	case $1 in
	cq) cq_fails ;;
	transport) transports_change ;;
	esac
	check "long ones" slowwait 15 ping_ok 1 "$(ip4 2)" -s 20000 -M 'do'
	# not when what is lost has been waited for, half a minute
	check_num "milliseconds" $(($(now_ms) - start)) -lt $((20000 * SLOW))
	check "and back" slowwait 5 ping_ok 2 "$(ip4 1)" -s 20000 -M 'do'
	check "no MTU of datagrams at node 1" no_pmtu 1 2
	check "nor at node 2" no_pmtu 2 1
	background_stop
}

ktap_main "$@"
