#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The HCA's own net device for IPoIB (struct rdma_netdev). RDMA_NETDEV of the environment is its
# style: hfi1, or another that softib has.
#
#	 node1     node2     node3
#	OpenSM   HCAs with a net device of their own
#	   |         |         |
#	+--+---------+---------+--+
#	|          switch         |
#	+-------------------------+

: "${RDMA_NETDEV:=hfi1}"

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_rn.sh
. "$LIB_DIR/lib_rn.sh"

GROUP=239.9.9.9
PARAMETER=/sys/module/ib_ipoib/parameters/ipoib_enhanced
OCTETS=1000000

CASES=(
	"uses B25 Frames leave by the HCA's own net device, which is logged"
	"address B25,U36 Frames have the QPN of the address, on any queue"
	"longest B25 The longest packet of the link arrives, and no longer packet is sent"
	"groups B25 Groups are reached, and their frames received once"
	"waits B25,B36 Frames waiting for a path are sent in order, by their queues"
	"doorbell B25 A frame is not held back until the next frame"
	"full B25 A full queue is stopped, and goes on"
	"stream:4 B25 A stream of TCP runs over IPv4"
	"stream:6 B25 A stream of TCP runs over IPv6"
	"counted B25 Sends and receives of the net device are in the statistics of the interface"
	"down B25,U46 The address stays and traffic works after a down"
	"link B25 The address stays and traffic works after a link down"
	"restart B25,F7 The address stays and traffic works after a restart of the QP that failed first, with groups left meanwhile"
	"channels B25 ethtool -L reduces the queues in use"
	"mode B25 Connected mode works beside the net device, and datagram mode after it"
	"child B25 A child reaches another child, and the parent goes on"
	"moves B25 The interface works in another network namespace"
	"plugged B25 A removed HCA leaves no object behind, and an added HCA is used"
	"falls_back B25 The interface uses verbs if the HCA cannot make the net device, which is logged"
	"off B25 The interface uses verbs with ipoib_enhanced=0"
	"unload B25 The module can be unloaded and loaded again"
)

setup()
{
	fabric_up 3
	wait_ping 2 3 || ktap_bail "no ping"
}

diagnose()
{
	note "$(in_node 2 ethtool -S ib0 | tr -s ' \n' ' ')"
	note "$(grep hca "$DEBUGFS/$(ibdev 2)/counters" | xargs)"
	note "$(klog | tail -n 10)"
}

uses()
{
	check "ping" rn_used wait_ping 2 3
	is_stock || check "said" grep -q "sends by the HCA's own net device" <<< "$(dmesg)"
}

address()
{
	capture_start address
	node_ip 2 neigh flush dev ib0
	check "send" flows 32 2
	check "ping" wait_ping 2 3
	busywait 5000 frame_seen dport=7131 number=1
	capture_stop
	check_eq "QPs" "$(frames -f sqp "$(from 2)" ip.proto=17 ip.len=128 | sort -u)" "$(lladdr_qpn 2)"
	# The peer may resolve the address first, so this may be a reply.
	check_eq "QPs of ARP" "$(frames -f sqp "$(from 2)" type=0806 | sort -u)" "$(lladdr_qpn 2)"
}

longest()
{
	local mtu

	mtu=$(link_mtu 2)
	check "whole" rn_used ping_once 2 "$(ip4 3)" -M "do" -s $((mtu - 28))
	capture_start longer
	in_node 2 raw_frame send ib0 "$(lladdr 3)" 0x88b5 "$(zeros $((2 * mtu + 2)))"
	check "in fragments" ping_once 2 "$(ip4 3)" -s $((3 * mtu))
	capture_stop
	check_eq "longer frames" "$(frame_count type=88b5)" 0
}

groups()
{
	group_join 3 "$GROUP"
	udp_to 2 "$GROUP" 9 1
	check "member" slowwait 5 is_sender 2 "$(mgid4 "$GROUP")"
	udp_listen 3 "$GROUP" 9 100 20000
	check "send" rn_used in_node 2 udp_group send ib0 "$GROUP" 9 100 100 1000
	wait "$LISTENER"
	check "all arrive" test $? -eq 0
	group_leave
	check "broadcast" rn_used in_node 2 udp_group send ib0 255.255.255.255 9 32 3
}

waits()
{
	flows_wait
	check_eq "datagrams" "$(frame_count "$(from 2)" ip.proto=17 ip.len=128)" 24
}

# The stack cuts it up, and hands the pieces over with the word that more follow
SEND_SEGMENTS='
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, 103, 500)  # UDP_SEGMENT
sender.sendto(bytes(500 * 10), (sys.argv[1], 9))
'

doorbell()
{
	local bells sends

	bells=$(rn_count 2 netdev_doorbells)
	sends=$(rn_count 2 netdev_sends)
	check "send" rn_used in_node 2 python3 -c "$SEND_SEGMENTS" "$(ip4 3)"
	check_eq "frames that rang" $(($(rn_count 2 netdev_doorbells) - bells)) \
		$(($(rn_count 2 netdev_sends) - sends))
}

full()
{
	check "ping" wait_ping 2 3
	knob_set 2 hold_cq 1
	background 2 udp_group send ib0 "$(ip4 3)" 9 100 2000 0 > /dev/null
	nap 0.5
	check_not "ping while it is full" ping_ok 2 "$(ip4 3)"
	knob_set 2 hold_cq 0
	check "ping" wait_ping 2 3
	background_stop
	check "stream" transfer 2 3 "$(ip4 3)"
}

stream()
{
	tcp_stream 2 3 "ip$1"
	tcp_stream 3 2 "ip$1"
}

counted()
{
	local rx tx

	check "ping" wait_ping 2 3
	rx=$(counter 2 rx_packets)
	tx=$(counter 2 tx_packets)
	check "pings" rn_used ping_lossless 2 "$(ip4 3)" 50
	check_num "sent" $(($(counter 2 tx_packets) - tx)) -ge 50
	check_num "and no more than twice" $(($(counter 2 tx_packets) - tx)) -lt 100
	check_num "received" $(($(counter 2 rx_packets) - rx)) -ge 50
	check_num "and no more than twice" $(($(counter 2 rx_packets) - rx)) -lt 100
	check_num "in ethtool" "$(xstat 2 tx_packets)" -ge "$tx"
}

down()
{
	local before

	before=$(lladdr 2)
	check "down" node_ip 2 link set ib0 down
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check_eq "address" "$(lladdr 2)" "$before"
	check "ping" rn_used wait_ping 2 3
}

link()
{
	link_down 2
	check "no carrier" slowwait 10 no_carrier 2
	link_up 2
	check "carrier" wait_carrier 2
	check "ping" rn_used wait_ping 2 3
}

# The QP is in the RESET state when the interface goes down for that, and leaves its groups.
restart()
{
	[ "$RDMA_NETDEV" = hfi1 ] || { check_skip "the QP is the HCA's"; return; }
	knob_set 2 modify_states 2
	knob_set 2 fail_modify 5
	in_node 2 ethtool -G ib0 rx 64
	check "refused" busywait 10000 knob_is 2 fail_modify 0
	knob_set 2 modify_states 0
	check "carrier" wait_carrier 2
	check "ping" rn_used wait_ping 2 3
}

channels()
{
	local what=tx

	[ "$RDMA_NETDEV" = hfi1 ] || what=combined
	check "two" in_node 2 ethtool -L ib0 "$what" 2
	check "ping" rn_used wait_ping 2 3
	capture_start channels
	check "send" flows 32 1
	busywait 5000 frame_seen dport=7131
	capture_stop
	check_num "datagrams" "$(frame_count "$(from 2)" ip.proto=17 ip.len=128)" -eq 32
	check_not "none" in_node 2 ethtool -L ib0 "$what" 0
	check "all" in_node 2 ethtool -L ib0 "$what" 4
	check "ping" rn_used wait_ping 2 3
}

mode()
{
	local node

	for node in 2 3; do
		check "connected" set_mode "$node" connected
	done
	check_eq "MTU" "$(link_mtu 2)" 65520
	check "long ping" slowwait 10 ping_ok 2 "$(ip4 3)" -M "do" -s 60000
	check "broadcast" rn_used in_node 2 udp_group send ib0 255.255.255.255 9 32 3
	for node in 2 3; do
		check "datagram" set_mode "$node" datagram
	done
	check "ping" rn_used wait_ping 2 3
	check "longest" ping_once 2 "$(ip4 3)" -M "do" -s $(($(link_mtu 2) - 28))
}

child()
{
	local node

	for node in 2 3; do
		check "made" node_ip "$node" link add link ib0 name ib0.c type ipoib
		check "address" node_ip "$node" address add "10.10.0.$node/16" dev ib0.c
		check "up" node_ip "$node" link set ib0.c up
	done
	check "carrier" slowwait 20 has_carrier 2 ib0.c
	check "ping" slowwait 10 in_node 2 ping -n -c 1 -W 1 10.10.0.3
	check "parent" rn_used wait_ping 2 3
	for node in 2 3; do
		check "deleted" node_ip "$node" link delete ib0.c
	done
	check "parent" rn_used wait_ping 2 3
}

moves()
{
	ip netns add elsewhere || fail "no namespace"
	check "moved" node_ip 2 link set ib0 netns elsewhere
	check "address" ip -n elsewhere address add 10.9.0.20/16 dev ib0
	check "up" ip -n elsewhere link set ib0 up
	check "ping" rn_used slowwait 20 ip netns exec elsewhere ping -n -c 1 -W 1 "$(ip4 3)"
	check "moved back" ip -n elsewhere link set ib0 netns node2
	ip netns del elsewhere
	node_config 2
	check "carrier" wait_carrier 2
	check "ping" wait_ping 2 3
}

plugged()
{
	replug 2
	check "ping" rn_used wait_ping 2 3
	check_not "left behind" klog_has "leaked"
}

falls_back()
{
	knob_set 2 fail_netdev 1
	replug 2
	check_eq "used up" "$(knob_get 2 fail_netdev)" 0
	check "said" klog_has "no interface by the HCA's own net device: -12, using verbs"
	check "ping over verbs" rn_idle wait_ping 2 3
	replug 2
	check "ping" rn_used wait_ping 2 3
}

off()
{
	echo 0 > "$PARAMETER" || fail "cannot be changed"
	replug 2
	check "ping over verbs" rn_idle wait_ping 2 3
	echo 1 > "$PARAMETER"
	replug 2
	check "ping" rn_used wait_ping 2 3
}

unload()
{
	check "unload" driver_unload
	nodes_down
	driver_load
	nodes_up
	check "carrier" wait_carrier
	check "ping" rn_used wait_ping 2 3
}

ktap_main "$@"
