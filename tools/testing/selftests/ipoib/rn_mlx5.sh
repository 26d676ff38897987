#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The HCA's own net device for IPoIB in the style of mlx5: it has the QP of the address, and
# operations of its own for ethtool, time stamps and MTU. rn.sh has what holds for all styles.
#
#	 node1     node2     node3
#	OpenSM   HCAs with a net device of their own
#	   |         |         |
#	+--+---------+---------+--+
#	|          switch         |
#	+-------------------------+

RDMA_NETDEV=mlx5

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_rn.sh
. "$LIB_DIR/lib_rn.sh"

CASES=(
	"qpn B25,U36 The QP of the address is the QP of the net device, and there is no other QP"
	"stays B25,U46 The address stays after a down"
	"connections B25,C21 Connections are made with the QPN of the net device"
	"counters B25 ethtool -S has the counters of the net device, followed by the counters of the interface"
	"settings B25 ethtool -i, -g and -l show the properties of the net device, and -G and -C, which it lacks, are refused"
	"stamps B25 Received frames have time stamps of the HCA on request"
	"mtu_mode B25 The MTU of connected mode or of the administrator changes no buffer of the net device"
	"mtu_link B25,U28 The MTU of the link changes the buffers of the net device once, and the longest packet arrives"
	"qkey B25,U40 A Q_Key that the net device does not receive with is logged, and only that"
	"queue_timeout B25 After a transmit timeout the interface has a carrier, and sends"
)

setup()
{
	group_wish mtu=4
	fabric_up 3 mtu=4096
	wait_ping 2 3 || ktap_bail "no ping"
}

diagnose()
{
	note "$(node_ip 2 link show dev ib0 | xargs)"
	note "$(grep hca "$DEBUGFS/$(ibdev 2)/counters" | xargs)"
	note "$(klog | tail -n 10)"
}

qpn()
{
	local qps

	qps=$(rdma res show qp link "$(ibdev 2)/1" | sed -n 's/.* lqpn \([0-9]*\) .*type UD .*/\1/p')
	check_eq "UD QPs" "$qps" "$((0x$(lladdr_qpn 2)))"
	check "ping" rn_used wait_ping 2 3
}

stays()
{
	local before

	before=$(lladdr 2)
	check "down" node_ip 2 link set ib0 down
	check_eq "address" "$(lladdr 2)" "$before"
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check_eq "address" "$(lladdr 2)" "$before"
	check "ping" rn_used wait_ping 2 3
}

connections()
{
	local node

	for node in 2 3; do
		check "connected" set_mode "$node" connected
	done
	check "long ping" slowwait 10 ping_ok 2 "$(ip4 3)" -M "do" -s 60000
	check "and back" slowwait 10 ping_ok 3 "$(ip4 2)" -M "do" -s 60000
	check "RC" grep -q 'type RC' <(rdma res show qp link "$(ibdev 2)/1")
	for node in 2 3; do
		check "datagram" set_mode "$node" datagram
	done
	check "ping" rn_used wait_ping 2 3
}

counters()
{
	local names

	names=$(in_node 2 ethtool -S ib0 | sed -n 's/^ *\([^ ]*\): .*/\1/p')
	check_eq "first" "${names%%$'\n'*}" rx0_packets
	check_eq "of the net device" "$(grep -c '^[rt]x[0-9]_' <<< "$names")" 12
	check_eq "of the interface" "$(sed -n 13,14p <<< "$names" | xargs)" "rx_packets tx_packets"
	check_num "sent" "$(xstat 2 tx_packets)" -gt 0
	check_num "by a queue" $(($(xstat 2 tx0_packets))) -gt 0
	check_eq "dropped without a path" "$(grep -cx tx_drop_no_path <<< "$names")" 1
}

settings()
{
	check "driver" grep -q 'softib\[ib_ipoib\]' <(in_node 2 ethtool -i ib0)
	check_eq "rings" "$(in_node 2 ethtool -g ib0 | sed -n 's/^[RT]X:[\t ]*//p' | xargs)" "512 64 512 64"
	check_eq "queues" "$(in_node 2 ethtool -l ib0 | sed -n 's/^Combined:[\t ]*//p' | xargs)" "4 4"
	check_not "other sizes" in_node 2 ethtool -G ib0 rx 64
	check "speed" grep -q 'Speed: [0-9]*Mb/s' <(in_node 2 ethtool ib0)
	check_not "moderation" in_node 2 ethtool -C ib0 rx-usecs 10
}

# stamps_set FILTER: of what node 2 receives; 0 none, 1 all
stamps_set()
{
	in_node 2 python3 -c '
import ctypes, fcntl, socket, struct, sys
SIOCSHWTSTAMP = 0x89b0
config = ctypes.create_string_buffer(struct.pack("3i", 0, 0, int(sys.argv[1])))
request = struct.pack("16sP16x", b"ib0", ctypes.addressof(config))
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), SIOCSHWTSTAMP, request)
' "$1"
}

# stamp: node 2 receives a datagram; prints the seconds of the HCA in its time stamp
stamp()
{
	in_node 2 timeout $((20 * SLOW)) python3 -c '
import socket, struct
SO_TIMESTAMPING, RX_HARDWARE, RAW_HARDWARE = 37, 4, 64
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, RX_HARDWARE | RAW_HARDWARE)
sock.bind(("", 7300))
stamps = [struct.unpack("6q", data)[4] for _, kind, data in sock.recvmsg(1000, 1000)[1]
	  if kind == SO_TIMESTAMPING]
print(*stamps or [0])
' &
	in_node 3 udp_group send ib0 "$(ip4 2)" 7300 100 $((50 * SLOW)) 100000
	wait $!
}

stamps()
{
	check "ping" wait_ping 3 2
	check_eq "none" "$(stamp)" 0
	check "set" stamps_set 1
	check_num "a time" "$(stamp)" -gt 0
	check "off" stamps_set 0
	check_eq "none" "$(stamp)" 0
}

mtu_mode()
{
	local before

	before=$(rn_count 2 netdev_mtus)
	check "connected" set_mode 2 connected
	check_eq "MTU" "$(link_mtu 2)" 65520
	check "broadcast" rn_used in_node 2 udp_group send ib0 255.255.255.255 9 32 3
	check "datagram" set_mode 2 datagram
	check "less" node_ip 2 link set ib0 mtu 1500
	check_eq "MTU" "$(link_mtu 2)" 1500
	check "down" node_ip 2 link set ib0 down
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check "more" node_ip 2 link set ib0 mtu 4092
	check_eq "changes" "$(rn_count 2 netdev_mtus)" "$before"
	check "ping" wait_ping 2 3
}

mtu_link()
{
	local before node

	before=$(rn_count 2 netdev_mtus)
	group_mtu_set 4096
	for node in 2 3; do
		check "MTU of node $node" slowwait 15 mtu_is "$node" 4092
	done
	check "longest" slowwait 10 ping_ok 2 "$(ip4 3)" -M "do" -s 4064
	check_eq "changes" "$(rn_count 2 netdev_mtus)" $((before + 1))
	group_mtu_set 2048
	for node in 2 3; do
		check "MTU of node $node" slowwait 15 mtu_is "$node" 2044
	done
	check "longest" slowwait 10 ping_ok 2 "$(ip4 3)" -M "do" -s 2016
	check_eq "changes" "$(rn_count 2 netdev_mtus)" $((before + 2))
}

# qkey_logged QKEY: that of the link
qkey_logged()
{
	klog_has "receives with the Q_Key 0xb1b only, the link has 0x$1"
}

# Frames arrive once all have the old Q_Key again.
qkey()
{
	new_sm "Default=0x7fff, ipoib, mtu=4, Q_Key=0x00004321 : ALL=full;"
	check "another" slowwait 15 qkey_logged 4321
	new_sm "Default=0x7fff, ipoib, mtu=4 : ALL=full;"
	check "carrier" wait_carrier
	check "ping" rn_used wait_ping 2 3
	check_not "its own" qkey_logged b1b
}

# The name is one that klog-allow knows: the stack reports a queue that stands still with a stack.
renamed()
{
	node_ip 2 link set "$1" down
	node_ip 2 link set "$1" name "$2"
	node_ip 2 link set "$2" up
}

queue_timeout()
{
	klog_mark queue_timeout
	renamed ib0 stalls0
	check "carrier" slowwait 20 has_carrier 2 stalls0
	check "ping" slowwait 10 in_node 2 ping -n -c 1 -W 1 "$(ip4 3)"
	knob_set 2 hold_cq 1
	background 2 timeout $((60 * SLOW)) python3 -c '
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
	sock.sendto(bytes(1000), (sys.argv[1], 7002))
' "$(ip4 3)"
	check "message" slowwait 60 klog_has "transmit timeout"
	background_stop
	knob_set 2 hold_cq 0
	check "carrier" slowwait 20 has_carrier 2 stalls0
	check "ping" slowwait 20 in_node 2 ping -n -c 1 -W 1 "$(ip4 3)"
	renamed stalls0 ib0
	check "carrier" wait_carrier 2
	check "ping" rn_used wait_ping 2 3
}

ktap_main "$@"
