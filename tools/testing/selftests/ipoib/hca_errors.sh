#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Errors of an HCA that stop its queues, and work that it refuses: the interface recovers by
# itself. An HCA whose firmware hangs delays it no longer than it has to.
#
#	node1 (receives fail)   node2
#	  |                       |
#	+-+-----------------------+-+
#	|          switch           |
#	+---------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

ENOUGH=1000000
ETIMEDOUT=110
# Bits of modify_states
declare -A TO=([init]=2 [rtr]=4 [rts]=8 [err]=64)
# IB_EVENT_
QP_FATAL=1
COMM_EST=4

CASES=(
	"recv_error F7,B38 a failed receive stops the QP, which is restarted"
	"recv_error_rest F7 a QP in error is not polled endlessly"
	"recv_errors F7 both nodes survive many failed receives under traffic"
	"hangs F51 a QP transition that times out is not retried while the interface goes down; the interface goes up when the HCA responds"
	"hangs_resize F51,B18 queues keep their sizes if the HCA does not flush its work requests; they are restarted when the HCA responds"
	"hangs_gone F51 a hung QP does not prevent unloading of the driver"
	"start:init F51 a failed transition of the QP to INIT leaves the interface down, which goes up later"
	"start:rtr F51 a failed transition of the QP to RTR leaves the interface down, which goes up later"
	"start:rts F51 a failed transition of the QP to RTS leaves the interface down, which goes up later"
	"post_receives F7 receives refused by the HCA, all of them, are posted a little later"
	"post:1 F7,B38 a datagram refused by the HCA counts as dropped and not as sent, and the QP is restarted at once"
	"post:10 F7,B38 ten datagrams refused by the HCA in one post count as dropped, and the QP is restarted at once"
	"post_path U35 a path query refused by the HCA counts as failed, and is repeated"
	"event:fatal F7,B38 a fatal error event restarts the QP"
	"event:other F7 no other event restarts the QP"
)

setup()
{
	fabric_up 2
}

# fail_receives NODE N: and see to it that they fail
fail_receives()
{
	knob_set "$1" fail_recv "$2"
	ping_ok $((3 - $1)) "$(ip4 "$1")"
	check "receives have failed" busywait 5000 knob_is "$1" fail_recv 0
}

recv_error()
{
	fail_receives 1 1
	check "node 1 is reached again" within 10000 ping_ok 2 "$(ip4 1)"
	check "over IPv6, too" within 10000 ping_ok 2 "$(ip6 1)"
}

recv_error_rest()
{
	local before

	fail_receives 1 1
	before=$(net_rx)
	# All this second the QP, if nothing restarts it, flushes what it is given.
	nap 1
	note "$(($(net_rx) - before)) receive softirqs in a second"
	check_num "receive softirqs" $(($(net_rx) - before)) -lt 500
	check "node 1 is reached again" within 10000 ping_ok 2 "$(ip4 1)"
}

recv_errors()
{
	local node round

	background 1 ping -q -i 0.01 "$(ip4 2)" > /dev/null 2>&1
	for round in 1 2 3 4 5; do
		for node in 1 2; do
			knob_set "$node" fail_recv 3
			check "round $round, node $node: receives have failed" \
				busywait 5000 knob_is "$node" fail_recv 0
			check "round $round, node $node: reached again" \
				within 10000 ping_ok $((3 - node)) "$(ip4 "$node")"
		done
	done
	background_stop
}

# Each command takes a minute where firmware hangs: here they are counted.
hangs()
{
	local start refused

	knob_set 1 refuse_error "$ETIMEDOUT"
	knob_set 1 fail_modify "$ENOUGH"
	start=$(now_ms)
	check "down" node_ip 1 link set ib0 down
	refused=$((ENOUGH - $(knob_get 1 fail_modify)))
	note "$refused changes refused, down after $(($(now_ms) - start)) ms"
	check_num "milliseconds" $(($(now_ms) - start)) -lt $((5000 * SLOW))
	# to the error state, and to RESET
	check_num "changes refused" "$refused" -ge 1
	check_num "changes refused" "$refused" -le 2
	check_not "up" node_ip 1 link set ib0 up
	knob_set 1 fail_modify 0
	knob_set 1 refuse_error 0
	check "up" node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check "ping" wait_ping 1 2
}

# hang, respond: node 1's HCA changes no QP
hang()
{
	knob_set 1 refuse_error "$ETIMEDOUT"
	knob_set 1 fail_modify "$ENOUGH"
}

respond()
{
	knob_set 1 fail_modify 0
	knob_set 1 refuse_error 0
}

# sends: how many node 1 may have posted
sends()
{
	in_node 1 ethtool -g ib0 | awk '/Current/ { on = 1 } on && $1 == "TX:" { print $2 }'
}

hangs_resize()
{
	local before

	before=$(sends)
	hang
	check_not "fewer" in_node 1 ethtool -G ib0 tx $((before / 2)) 2> /dev/null
	check_eq "sends" "$(sends)" "$before"
	respond
	check "node 1 is reached again" within 15000 ping_ok 2 "$(ip4 1)"
	check "fewer" in_node 1 ethtool -G ib0 tx $((before / 2))
	check "as before" in_node 1 ethtool -G ib0 tx "$before"
	check "ping" wait_ping 1 2
}

hangs_gone()
{
	hang
	check "unload" driver_unload
	respond
	check_eq "pools but for those of packets in sockets" \
		"$(in_node 1 python3 "$LIB_DIR/netdev_genl.py" page-pool-get lo | grep -cv detach-time)" 0
	driver_load
	nodes_up
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2
}

# start STATE: the change of the QP that fails
start()
{
	node_ip 1 link set ib0 down
	knob_set 1 modify_states "${TO[$1]}"
	knob_set 1 fail_modify 1
	check_not "up" node_ip 1 link set ib0 up 2> /dev/null
	check_eq "changes to be refused" "$(knob_get 1 fail_modify)" 0
	knob_set 1 modify_states 0
	check "up" node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check "ping" wait_ping 1 2
}

# Those of the start, and of two tries after it
post_receives()
{
	node_ip 1 link set ib0 down
	knob_set 1 fail_post_recv 41
	check "up" node_ip 1 link set ib0 up
	check "refused" busywait 5000 knob_is 1 fail_post_recv 0
	check "carrier" wait_carrier 1
	check "ping" wait_ping 2 1
}

# restart_awaited: node 1's QP will not go to the error state at once, which a restart begins with
restart_awaited()
{
	knob_set 1 modify_states "${TO[err]}"
	knob_set 1 fail_modify 1
}

restarted()
{
	knob_is 1 fail_modify 0
}

# One frame, which the driver cuts up
SEND_SEGMENTS='
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, 103, 500)  # UDP_SEGMENT
sender.sendto(bytes(500 * int(sys.argv[2])), (sys.argv[1], 9))
'

# Others may send a frame meanwhile.
post()
{
	local sent dropped

	permanent 1 2
	check "ping" slowwait 5 ping_ok 1 "$(ip4 2)"
	sent=$(counter 1 tx_packets)
	dropped=$(xstat 1 tx_drop_post)
	restart_awaited
	knob_set 1 fail_post_ud 1
	check "send" in_node 1 python3 -c "$SEND_SEGMENTS" "$(ip4 2)" "$1"
	check "refused" busywait 3000 knob_is 1 fail_post_ud 0
	check "restarted" busywait 3000 restarted
	check_eq "dropped" $(($(xstat 1 tx_drop_post) - dropped)) "$1"
	[ "$1" -eq 1 ] || check_num "sent" $(($(counter 1 tx_packets) - sent)) -lt 8
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	check "many" ping_lossless 1 "$(ip4 2)" 100
	check_eq "sends not completed" "$(klog | grep -c 'timing out')" 0
	knob_set 1 modify_states 0
	node_ip 1 neigh del "$(ip4 2)" dev ib0
}

# path_refused: node 2 asks for the path to node 1 and cannot. What it asks when it has just come
# up may be refused in its place.
path_refused()
{
	local before

	node_ip 2 link set ib0 down
	node_ip 2 link set ib0 up
	wait_carrier 2 || return
	permanent 2 1
	before=$(xstat 2 path_failures)
	knob_set 2 fail_post_mad 1
	in_node 2 udp_group send ib0 "$(ip4 1)" 9 100 1
	busywait 2000 knob_is 2 fail_post_mad 0 && xstat_is 2 path_failures -gt "$before"
}

post_path()
{
	check "refused" slowwait 30 path_refused
	check "asked again" slowwait 15 ping_ok 2 "$(ip4 1)"
	check "down" node_ip 2 link set ib0 down
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	node_ip 2 neigh del "$(ip4 1)" dev ib0
	check "ping" wait_ping 1 2
}

event()
{
	restart_awaited
	case $1 in
	fatal)
		knob_set 1 qp_event "$QP_FATAL"
		check "restarted" busywait 3000 restarted
		;;
	other)
		knob_set 1 qp_event "$COMM_EST"
		check_not "restarted" within 1000 restarted
		knob_set 1 fail_modify 0
		;;
	esac
	check "a message" klog_has 'ib0: QP event'
	knob_set 1 modify_states 0
	check "carrier" wait_carrier 1
	check "ping" wait_ping 1 2
}

ktap_main "$@"
