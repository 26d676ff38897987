#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections end with their interface, or when nobody uses them, and are made
# between HCAs that differ.
#
#	node1 <== RC ==> node2
#	  |                |
#	+-+----------------+-+
#	|       switch       |
#	+--------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"ifdown C19 down closes the connection with a DREQ, up makes it anew"
	"withdrawn C19 down before the answer withdraws the request at once, and its peer has no connection"
	"idle C20 an unused connection closes"
	"neighbour C20 an unused connection closes with its neighbour, a connection in use stays"
	"confirmed C4,C35 a connection of a peer whose path was unknown carries packets once the path is known, and no other is requested"
	"short C19,C33 one short frame in eight completes, and a connection with uncompleted last frames is neither stuck nor slow to close"
	"short_refused C19 a connection whose QP refuses sends when stopped closes at once"
	"returned C35,F4 a closed connection returns its place in the port's quota"
	"memory C13,C20 one receive is posted for each idle connection, and a margin; no receive without connections"
	"counted B19 octets on connections are counted with the encapsulation header, at both ends"
	"burst F67 packets beyond the ring of a connection wait without loss"
	"burst_again F67 many bursts in turn lose no packet, with more packets in sum than may wait at once"
	"smaller C25,C26,C27,C28 a peer with a smaller Receive MTU announces it, and gets no longer packets"
	"smaller_grants C27,C28 a node with a smaller Receive MTU announces it in its REP"
	"pieces C13,C25,C26 receives of six pages are a page and two pieces of four pages, and hold the longest packet that is announced"
	"no_srq C13 connections work on an HCA without shared receive queues"
	"short_srq C13,C26 connections have own receives on an HCA whose shared receive queues take a single page"
	"silent F61 a connection with its own receives closes if its QP fails without an event"
)

NEEDS=([smaller_grants]=smaller)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected rc 1 2 || ktap_bail "no connected mode"
	connect 1 2 || ktap_bail "no connection"
}

diagnose()
{
	cm_diagnose 1 2
}

no_peers()
{
	cm_view "$1" | grep -qx 'peers: 0'
}

ifdown()
{
	capture_start ifdown
	check "down" node_ip 1 link set ib0 down
	check "node 2 knows" busywait 5000 conn_count_is 2 1 0
	check "node 1 holds none" slowwait 10 all_gone 1
	check "nor a peer" slowwait 10 no_peers 1
	capture_stop
	check_num "DREQ" "$(cm_messages "$CM_DREQ" -f n | wc -l)" -ge 1
	check "up" node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check "connection" connect 1 2
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	check_not "a failure to listen" klog_has 'cannot listen'
}

# The answer is on its way for longer than a request waits before it is repeated.
withdrawn()
{
	all_apart || fail "connections stay"
	cm_delay 2 3000
	capture_start withdrawn
	background 1 ping -n -q "$(ip4 2)" > /dev/null
	check "a request" busywait 5000 peer_state_is 1 2 connecting
	check "down" node_ip 1 link set ib0 down
	check "node 1 holds none" within 2500 all_gone 1
	capture_stop
	check_eq "reason" "$(cm_from 1 "$CM_REJ" cm.reason)" 4
	group_leave "${BACKGROUND[-1]}"
	cm_delay 2 0
	check "node 2 holds none" slowwait 15 all_gone 2
	check "up" node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check "connection" connect 1 2
}

idle()
{
	local param=/sys/module/ib_ipoib/parameters/cm_idle_seconds

	check "connection" connect 1 2
	echo 2 > "$param"
	check "node 1 has none" slowwait 30 all_gone 1
	check "node 2 has none" slowwait 30 all_gone 2
	echo 120 > "$param"
	check_num "counted" "$(($(cm_stat 1 cm_reaped) + $(cm_stat 2 cm_reaped)))" -ge 1
	check "and comes back" connect 1 2
}

# forgotten NODE PEER: node NODE has no such peer any more
forgotten()
{
	cm_view "$1" | grep -q '^peers: ' && peer_state_is "$1" "$2" ""
}

neighbour()
{
	local before

	check "connection" connect 1 2
	background 1 ping -n -q -i 0.1 "$(ip4 2)" > /dev/null
	before=$(cm_stat 1 cm_requests)
	node_ip 1 neigh flush dev ib0
	check "one in use stays" stays 1000 conn_count_is 1 2 1
	check_eq "requests for another one" "$(cm_stat 1 cm_requests)" "$before"
	group_leave "${BACKGROUND[-1]}"
	check "not used" slowwait 30 unused_for 1 2 '[6-9]'
	before=$(cm_stat 1 cm_reaped)
	node_ip 1 neigh flush dev ib0
	check "ended" within 20000 conn_count_is 1 2 0
	check_eq "counted" "$(cm_stat 1 cm_reaped)" $((before + 1))
	check "its peer is forgotten" slowwait 20 forgotten 1 2
	check "and comes back" connect 1 2
}

# requested_of NODE PEER: there is a connection that the peer has requested
requested_of()
{
	conns "$1" "$2" | grep -q 'established .* passive both'
}

# The first check of a connection, 3 s after it was made, compares it with the path record; the next
# is 10 s later.
first_check_over()
{
	local idle

	idle=$(conns "$1" "$2" | sed -n 's/.* idle=\([0-9]*\)s .*/\1/p')
	[ "${idle:-0}" -ge 4 ]
}

# A datagram that is received has no answer, so node 1 asks for no path before it sends one.
confirmed()
{
	local before

	check "no connection" in_mode connected rc 1 2
	check "down" node_ip 1 link set ib0 down
	check "up" node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check "neighbour" permanent 1 2
	check "neighbour" permanent 2 1
	udp_listen 1 "$(ip4 1)" 9 1 20000
	check "node 2 sends" in_node 2 udp_group send ib0 "$(ip4 1)" 9 100 1
	wait "$LISTENER" || fail "node 1 receives nothing"
	check "its connection" busywait 5000 requested_of 1 2
	check "its first check" slowwait 10 first_check_over 1 2
	check "no path" has_no_path 1 2
	check "not in use" peer_state_is 1 2 idle
	# A path record without a frame to the peer: the GID with another QPN
	check "neighbour" node_ip 1 neigh replace "$(ip4 77)" dev ib0 nud permanent \
		lladdr "$(sed 's/^......../00424242/; s/../&:/g; s/:$//' <<< "$(lladdr 2)")"
	check "node 1 sends" in_node 1 udp_group send ib0 "$(ip4 77)" 9 100 1
	check "a path" busywait 5000 has_path 1 2
	check "not in use" peer_state_is 1 2 idle
	before=$(cm_stat 1 cm_requests)
	check "node 1 sends" in_node 1 udp_group send ib0 "$(ip4 2)" 9 100 1
	check "in use" busywait 5000 peer_state_is 1 2 up
	check "that connection" requested_of 1 2
	check_eq "requests of node 1" "$(cm_stat 1 cm_requests)" "$before"
	node_ip 1 neigh del "$(ip4 77)" dev ib0
	node_ip 1 neigh del "$(ip4 2)" dev ib0
	node_ip 2 neigh del "$(ip4 1)" dev ib0
	check "connection" connect 1 2
}

# uncompleted COUNT: sends of node 1 to node 2 that have not completed
uncompleted()
{
	conns 1 2 | grep -q "used=$1 "
}

# ping_until_uncompleted COUNT: with eight pings one of them completes, and all before it
ping_until_uncompleted()
{
	local i

	for i in {1..9}; do
		! uncompleted "$1" || return 0
		ping_ok 1 "$(ip4 2)"
	done
	return 1
}

# How long a connection takes to end is measured five times, as a machine may be slow for a while.
# An HCA has a second to give back sends that will not complete.
short()
{
	local before begin best=15000 i took

	check "connection" connect 1 2
	check "one connection" slowwait 15 conn_count_is 1 2 1
	check "one that completes" ping_until_uncompleted 0
	check "some that do not" ping_until_uncompleted '[1-7]'
	check "one that completes, again" ping_until_uncompleted 0
	check "some that do not, again" ping_until_uncompleted '[1-7]'
	before=$(cm_stat 1 cm_requests)
	check "the connection stays" stays 7000 conn_count_is 1 2 1
	check "still not" uncompleted '[1-7]'
	check_eq "requests for another one" "$(cm_stat 1 cm_requests)" "$before"
	for i in {1..5}; do
		check "some that do not" ping_until_uncompleted '[1-7]'
		begin=$(now_ms)
		check "node 1 closes it" set_mode 1 datagram
		check "node 1 holds none" within 15000 all_gone 1
		took=$(($(now_ms) - begin))
		note "$took ms"
		[ "$took" -ge "$best" ] || best=$took
		check "node 1" set_mode 1 connected
		check "connection" connect 1 2
	done
	check_num "milliseconds" "$best" -lt $((900 * SLOW))
}

short_refused()
{
	check "connection" connect 1 2
	check "one that completes" ping_until_uncompleted 0
	check "some that do not" ping_until_uncompleted '[1-7]'
	knob_set 1 fail_error_send 1
	check "node 1 closes it" set_mode 1 datagram
	check "node 1 holds none" within 15000 all_gone 1
	check "a send was refused" knob_is 1 fail_error_send 0
	check "node 1" set_mode 1 connected
	check "connection" connect 1 2
}

# A port may have two, half of all: crossing ones, or one that closes.
returned()
{
	local i param=/sys/module/ib_ipoib/parameters/cm_max_connections

	echo 4 > "$param"
	for i in {1..6}; do
		check "nothing is left" in_mode connected rc 1 2
		check "connection $i" connect 1 2 || break
	done
	echo 12000 > "$param"
}

# posted COUNT: nodes 1 and 2 have so many receives. What is above that, as requests may
# have crossed, goes with what comes.
posted()
{
	ping_ok 1 "$(ip4 2)"
	receives_are 1 -eq "$1" && receives_are 2 -eq "$1"
}

# A receive of 65520 octets takes a page and four pieces of four: two nodes that wait have 1.2 MB
# of them. Over soft-RoCE a connection has 16 receives of its own.
memory()
{
	local before few=9

	[ "$FABRIC" = softib ] || few=16

	check "no connection" all_apart
	check "node 1 has no receive" slowwait 20 receives_are 1 -eq 0
	check "node 2 has no receive" slowwait 20 receives_are 2 -eq 0
	before=$(available_kb)
	check "connection" connect 1 2
	check "ping" ping_lossless 1 "$(ip4 2)" 5 -s 60000
	note "kB less: $((before - $(available_kb)))"
	check "receives" slowwait 10 posted "$few"
	check_eq "pages" $(($(receive_pages 1) + $(receive_pages 2))) $((2 * few * 17))
	tcp_stream 1 2 ip4 -P 8
	note "kB less: $((before - $(available_kb)))"
	check "no connection" all_apart
	check "node 1 has no receive" slowwait 20 receives_are 1 -eq 0
	check "node 2 has no receive" slowwait 20 receives_are 2 -eq 0
	check "connection" connect 1 2
}

# replug NODE SGE: its HCA comes back with receives of so many SGEs
replug()
{
	knob_set "$1" srq_sge "$2"
	hca_remove "$1"
	hca_add "$1"
	wait_ports_active
	node_move "$1"
	node_config "$1"
	wait_carrier "$1" || fail "no carrier"
	node_ip $((3 - $1)) neigh flush dev ib0
	set_mode "$1" connected || fail "no connected mode"
	wait_ping 1 2 || fail "no ping"
}

# Two SGEs: two pages.
# Whatever else goes from node 1 to node 2 meanwhile counts at both, too.
counted()
{
	local sent received

	check "connection" connect 1 2
	sent=$(counter 1 tx_bytes)
	received=$(counter 2 rx_bytes)
	check "ping" ping_lossless 1 "$(ip4 2)" 100 -s 1000
	sent=$(($(counter 1 tx_bytes) - sent))
	received=$(($(counter 2 rx_bytes) - received))
	check_num "octets sent" "$sent" -ge $((100 * 1032))
	check_num "octets sent" "$sent" -lt $((100 * 1036))
	check_num "octets received" "$received" -ge $((100 * 1032))
	check_num "octets received" "$received" -lt $((100 * 1036))
}

# 32 are in the ring while each takes 5 ms. No ping: it has no room for as many answers.
burst()
{
	local before

	check "connection" connect 1 2
	before=$(cm_stat 2 cm_rx_packets)
	knob_set 2 delay_ms_rc 5
	check "node 1 sends" in_node 1 udp_group send ib0 "$(ip4 2)" 9 500 100 0
	check "node 2 receives" slowwait 10 cm_stat_is 2 cm_rx_packets -eq $((before + 100))
	check "none waits" none_waits
	knob_set 2 delay_ms_rc 0
}

none_waits()
{
	! cm_view 1 | grep -q 'waiting=[1-9]'
}

# 4096 may wait; 32 of each burst are in the ring, and some leave while it lasts.
burst_again()
{
	local before i

	check "connection" connect 1 2
	before=$(cm_stat 1 tx_drop_cm_queue_full)
	knob_set 2 delay_ms_rc 20
	for ((i = 0; i < 25; i++)); do
		in_node 1 udp_group send ib0 "$(ip4 2)" 9 500 250 0 || fail "cannot send"
		check "none waits" slowwait 10 none_waits
	done
	knob_set 2 delay_ms_rc 0
	check_eq "dropped" "$(cm_stat 1 tx_drop_cm_queue_full)" "$before"
	check "ping" ping_lossless 1 "$(ip4 2)" 20
}

smaller()
{
	capture_start smaller
	replug 2 2
	check "connection" connect 1 2
	capture_stop
	check_eq "what node 2 says" "$({ cm_from 2 "$CM_REQ" cm.private; cm_from 2 "$CM_REP" cm.private; } |
		sort -u)" "$(private_data 2 8192)"
	check "node 1 knows" grep -q 'mtu=8188' <<< "$(conns 1 2)"
	check "node 2 knows" grep -q 'mtu=8188' <<< "$(conns 2 1)"
	check "8188" ping_lossless 1 "$(ip4 2)" 5 -M 'do' -s 8160
	check_not "8189" ping_ok 1 "$(ip4 2)" -M 'do' -s 8161
	check_eq "route" "$(in_node 1 ip -4 route get "$(ip4 2)" | grep -o 'mtu [0-9]*')" "mtu 8188"
	# Each end learns from the first packet that is too long.
	check "in fragments" slowwait 5 ping_ok 1 "$(ip4 2)" -s 20000
	check "in fragments" ping_lossless 1 "$(ip4 2)" 5 -s 20000
	check "back, in fragments" slowwait 5 ping_ok 2 "$(ip6 1)" -s 20000
	check "back, in fragments" ping_lossless 2 "$(ip6 1)" 5 -s 20000
}

# Node 2 has two pages still, and requests none.
smaller_grants()
{
	check "none" in_mode datagram rc 1 2
	check "node 1 requests" set_mode 1 connected
	capture_start smaller_grants
	check "connection" connect 1 2
	capture_stop
	check_eq "requests of node 2" "$(cm_from 2 "$CM_REQ" cm.private)" ""
	check "what it grants" only_private "$(private_data 2 8192)"
	check "node 1 keeps to it" grep -q 'mtu=8188' <<< "$(conns 1 2)"
	check "8188" ping_lossless 1 "$(ip4 2)" 5 -M 'do' -s 8160
	check "node 2" set_mode 2 connected
}

only_private()
{
	[ "$(cm_from 2 "$CM_REP" cm.private | sort -u)" = "$1" ]
}

# pages_each NODE: of a receive of the shared receive queue
pages_each()
{
	cm_view "$1" | awk '
		/^receives:/ { n = $2 }
		/^receives_lost:/ { n += $2 }
		/^receive_pages:/ { print n ? $2 / n : 0 }'
}

pieces()
{
	replug 2 6
	check "connection" connect 1 2
	check "node 1 knows" grep -q 'mtu=24572' <<< "$(conns 1 2)"
	check_eq "pages of a receive" "$(pages_each 2)" 9
	check "24572" ping_lossless 1 "$(ip4 2)" 20 -M 'do' -s 24544
	check "5000" ping_lossless 1 "$(ip4 2)" 20 -M 'do' -s 5000
	replug 2 32
	check "connection" connect 1 2
}

no_srq()
{
	replug 2 0
	check "connection" connect 1 2
	check_num "receives" "$(receives 2)" -eq 16
	check "ping" ping_lossless 1 "$(ip4 2)" 20 -s 60000
	check "ping back" ping_lossless 2 "$(ip6 1)" 20 -s 60000
	tcp_stream 1 2 ip4
	check_eq "connections" "$(conn_count 1 2)" 1
	replug 2 32
	check "connection" connect 1 2
}

# A message of 4 KB would be the longest by a shared receive queue.
short_srq()
{
	replug 2 1
	check "connection" connect 1 2
	check_num "receives" "$(receives 2)" -eq 16
	check "node 1 knows" grep -q 'mtu=65520' <<< "$(conns 1 2)"
	check "ping" ping_lossless 1 "$(ip4 2)" 20 -s 60000
	replug 2 32
	check "connection" connect 1 2
}

# Node 2 ends it itself. Node 1 gives up some seconds later, and node 2 has no error then.
silent()
{
	local errors

	replug 2 0
	check "connection" connect 1 2
	errors=$(cm_stat 2 cm_errors)
	knob_set 2 silent_next 1
	in_node 1 ping -n -q -c 1 -W 1 "$(ip4 2)" > /dev/null
	check_eq "requests to come" "$(knob_get 2 silent_next)" 0
	check "ended" slowwait 5 cm_stat_is 2 cm_errors -gt "$errors"
	check "connection" connect 1 2
	replug 2 32
	check "connection" connect 1 2
}

ktap_main "$@"
