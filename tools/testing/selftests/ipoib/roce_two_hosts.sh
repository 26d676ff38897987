#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two machines with an Ethernet cable between them: IPoIB over soft-RoCE as its
# users have it. Run by tools/testing/vm/pair, through vm/guest-pair.
#
#	   guest 1                  guest 2
#	     ib0                      ib0
#	     rxe1                     rxe2
#	     roc1 ------------------- roc2	(virtio-net)

FABRIC=pair
. "$(dirname "$0")/lib.sh"
# shellcheck source=iperf_cases.sh
. "$LIB_DIR/iperf_cases.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CASES=(
	"carrier U16,U17 both interfaces have carrier"
	"lossless:4 U1 200 IPv4 echoes lose none"
	"lossless:6 U1 200 IPv6 echoes lose none"
	"large U1,U29 echoes of the full MTU, and of five fragments, lose none"
	"multicast:4 U2,U54 IPv4 multicast arrives"
	"multicast:6 U2,U54 IPv6 multicast arrives"
	"broadcast U7 broadcast arrives"
	"tcp:1:2:ip4 U1 TCP over IPv4, node 1 to node 2"
	"tcp:2:1:ip6 U1 TCP over IPv6, node 2 to node 1"
	"udp:1:2:ip4 U1 UDP over IPv4, node 1 to node 2"
	"connected C1,C2 long packets use a connection in connected mode, both ways"
	"on_the_wire U37,U40,A9 all frames have the expected Q_Key, P_Key, GIDs and MAC addresses"
	"other_down U17 there is no answer while the other port is down"
	"other_up U17 there is an answer when the other port is up again"
	"reloaded U46,U47 the other side is reached after it loaded its driver anew"
	"mapped:gid - without IPv6 on the Ethernet the GIDs are IPv4-mapped"
	"mapped:ping U1 ping works with IPv4-mapped GIDs, over IPv4 and IPv6"
	"mapped:multicast U2,U54 multicast works with IPv4-mapped GIDs"
	"mapped:connected C1,C2 connected mode works with IPv4-mapped GIDs"
	"mapped:igmp U54,U56 the Ethernet ports join the IPv4 multicast addresses of groups"
	"mapped:moved U46,U47 the GID changes with the IPv4 address of the port, and not earlier"
	"mapped:routed - a GID behind a router is not on the link"
	"mapped:family - a GID of the other family is not on the link"
	"mapped:back U46,U47 the GIDs are link-local again with IPv6"
	"low_mtu:gid - the GIDs are IPv4-mapped on an Ethernet MTU below 1280, which has no IPv6"
	"low_mtu:ping U1 IPv4 and multicast work on an Ethernet MTU below 1280"
	"low_mtu:back U46,U47,U54 GIDs and memberships are as before when the Ethernet MTU grows"
)

setup()
{
	fabric_up 2
	doubt 1
	doubt 2
	wait_ping 1 2 || ktap_bail "no ping"
}

carrier()
{
	check "carrier" wait_carrier 1 2
	check_eq "MTU of node 1" "$(link_mtu 1)" 2044
	check_eq "MTU of node 2" "$(link_mtu 2)" 2044
	check_eq "GID of node 2" "$(lladdr 2 | cut -c 9-)" "$(port_gid_hex 2)"
}

lossless()
{
	check "ping" ping_lossless 1 "$("ip$1" 2)" 200
	check "ping" ping_lossless 2 "$("ip$1" 1)" 20
}

large()
{
	check "full" ping_lossless 1 "$(ip4 2)" 20 -M 'do' -s 2016
	check "full" ping_lossless 2 "$(ip6 1)" 20 -M 'do' -s 1996
	check "fragments" ping_lossless 1 "$(ip4 2)" 10 -M dont -s 10000
}

multicast()
{
	local group=239.30.30.30

	[ "$1" = 4 ] || group=ff05::3030
	udp_listen 2 "$group" 7000 5 20000
	in_node 1 udp_group send ib0 "$group" 7000 100 20 100000
	wait "$LISTENER" || fail "node 2 got $(received 2) of 5"
}

broadcast()
{
	listen 2 0x88b5 3 20000
	check "send" in_node 1 raw_frame send ib0 "$(lladdr_broadcast 1)" 0x88b5 cafe 3
	wait "$LISTENER" || fail "node 2 got $(received 2)"
	check_eq "pkttype" "$(received 2 | word pkttype)" 1
}

connected_up()
{
	ping_ok 1 "$(ip4 2)" && [ "$(conn_count 1)" -eq 1 ]
}

connected()
{
	local node

	for node in 1 2; do
		check "connected" set_mode "$node" connected
	done
	check "connection" slowwait 15 connected_up
	check_eq "connections of node 2" "$(conn_count 2)" 1
	check "IPv4" ping_lossless 1 "$(ip4 2)" 20 -M 'do' -s 60000 -i 0.1
	check "IPv6" ping_lossless 2 "$(ip6 1)" 20 -M 'do' -s 60000 -i 0.1
	check_eq "errors" "$(cm_stat 1 cm_errors)" 0
	for node in 1 2; do
		check "datagram" set_mode "$node" datagram
	done
	check "ping" wait_ping 1 2
}

on_the_wire()
{
	capture_start wire
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	check "ping" ping_lossless 2 "$(ip6 1)" 5
	capture_stop
	check "Q_Key" frames_all qkey "$(printf %08x "$(group_field qkey)")" op=64 dqp!=fefefe
	check "P_Key" frames_all pkey ffff op=64
	check "GID" frames_all sgid "$(port_gid 1)" "$(from 1)" op=64
	check "GID" frames_all dgid "$(port_gid 2)" "$(to 2)" op=64
	check "QP" frames_all dqp "$(lladdr_qpn 2)" "$(to 2)" op=64 dqp!=fefefe
	check_num "echoes" "$(frame_count icmp.type=8 "$(from 1)" "$(to 2)")" -ge 5
}

other_down()
{
	link_down 2
	check "carrier of node 2 goes" slowwait 5 no_carrier 2
	check "answer" unanswered 1 "$(ip4 2)"
}

other_up()
{
	link_up 2
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
	check "ping" wait_ping 2 1
}

reloaded()
{
	local start

	check "unload" host 2 modprobe -r ib_ipoib
	check "answer" unanswered 1 "$(ip4 2)"
	check "load" host 2 modprobe ib_ipoib
	interface_add 2
	nodes_up 2
	check "carrier" wait_carrier 2
	doubt 2
	start=$(now_ms)
	check "ping" wait_ping 1 2 30
	note "loaded to ping: $(($(now_ms) - start)) ms"
	check "ping" wait_ping 2 1 30
	note "and the other way: $(($(now_ms) - start)) ms"
}

# ethernet_mtu MTU: of both
ethernet_mtu()
{
	host 1 ip link set roc1 mtu "$1"
	host 2 ip link set roc2 mtu "$1"
}

low_mtu()
{
	local node

	case $1 in
	gid)
		ethernet_mtu 1200
		check "node 1's" slowwait 10 lladdr_ends 1 ffff0a080001
		check "node 2's" slowwait 10 lladdr_ends 2 ffff0a080002
		check "carrier" wait_carrier 1 2
		check "MTU" slowwait 5 mtu_is 1 1020
		;;
	ping)
		check "ping" slowwait 30 ping_ok 1 "$(ip4 2)"
		check "ping" slowwait 30 ping_ok 2 "$(ip4 1)"
		check "lossless" ping_lossless 1 "$(ip4 2)" 20 -M 'do' -s $((1020 - 28))
		multicast 4
		check "node 2 is member" igmp_member 2
		;;
	back)
		ethernet_mtu 2200
		for node in 1 2; do
			check "GID" slowwait 10 lladdr_ends "$node" "$(port_gid_hex "$node")"
			check "carrier" wait_carrier "$node"
			check "member" slowwait 5 is_member "$node" "$BROADCAST_MGID"
			check "no member" slowwait 5 igmp_no_member "$node"
			check "MTU" slowwait 5 mtu_is "$node" 2044
			node_ip "$node" addr replace "$(ip6 "$node")/64" dev ib0 nodad
		done
		check "ping" wait_ping 1 2 30
		check "ping" wait_ping 2 1 30
		multicast 4
		;;
	esac
}

# ethernet_ipv6 0|1: on the Ethernet ports of both
ethernet_ipv6()
{
	host 1 sysctl -qw net.ipv6.conf.roc1.disable_ipv6=$((1 - $1))
	host 2 sysctl -qw net.ipv6.conf.roc2.disable_ipv6=$((1 - $1))
}

mapped()
{
	case $1 in
	gid)
		host 1 ip addr add 10.8.0.1/24 dev roc1
		host 2 ip addr add 10.8.0.2/24 dev roc2
		ethernet_ipv6 0
		check "node 1's" slowwait 10 lladdr_ends 1 ffff0a080001
		check "node 2's" slowwait 10 lladdr_ends 2 ffff0a080002
		;;
	ping)
		check "carrier" wait_carrier 1 2
		check "ping" wait_ping 1 2 30
		check "ping" wait_ping 2 1 30
		check "lossless" ping_lossless 1 "$(ip4 2)" 20
		;;
	multicast)
		multicast 4
		multicast 6
		;;
	connected) connected ;;
	igmp)
		check "node 2 is member" igmp_member 2
		node_ip 2 link set ib0 down
		check "node 2 has left" slowwait 5 igmp_no_member 2
		node_ip 2 link set ib0 up
		check "node 2 is member" slowwait 5 igmp_member 2
		;;
	moved)
		moved_to 3/25 2/24
		moved_to 2/24 3/25
		;;
	routed) routed ;;
	family) no_way "$(port_gid_hex 2)" 97 ;;
	back)
		ethernet_ipv6 1
		check "node 1's" slowwait 10 lladdr_ends 1 "$(port_gid_hex 1)"
		check "node 2's" slowwait 10 lladdr_ends 2 "$(port_gid_hex 2)"
		check "carrier" wait_carrier 1 2
		check "ping" wait_ping 1 2 30
		;;
	esac
}

# moved_to NEW OLD: node 2's port has 10.8.0.NEW in place of 10.8.0.OLD
moved_to()
{
	local before

	before=$(lladdr 2 | tail -c 9)
	host 2 ip addr add "10.8.0.$1" dev roc2
	check "in the table" slowwait 5 gid_there 2 "ffff:0a08:000${1%/*}"
	check "the one in use is kept" stays 500 lladdr_ends 2 "$before"
	host 2 ip addr del "10.8.0.$2" dev roc2
	check "a new one" slowwait 10 lladdr_ends 2 "ffff0a08000${1%/*}"
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2 30
	check "ping" wait_ping 2 1 30
}

# Guest 2 would be the router. An echo to it is the last frame of the capture.
routed()
{
	host 1 ip route add 10.7.0.0/24 via 10.8.0.2 dev roc1
	check "there is a route" ip route get 10.7.0.5
	capture_start routed
	no_way 00000000000000000000ffff0a070005 101
	check "ping" ping_once 1 "$(ip4 2)"
	busywait 5000 frame_seen icmp.type=8 "ip.dst=$(ip4 2)" || fail "no echo captured"
	capture_kill
	check_eq "frames to it" "$(frames -f n ip.dst=10.9.0.77)" ""
	host 1 ip route del 10.7.0.0/24 via 10.8.0.2 dev roc1
}

# The one IPv4 group of all groups, 239.255.67.145, on the Ethernet port.
igmp_member()
{
	host "$1" ip -4 maddr show dev "$(eth "$1")" | grep -q 239.255.67.145
}

igmp_no_member()
{
	! igmp_member "$1"
}

ktap_main "$@"
