#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The reference run of connected mode: what the stock driver does on this fabric,
# and so what the fabric is known to carry.
#
#	node1 <== RC ==> node2		node3 stays in datagram mode
#	  |                |              |
#	+-+----------------+--------------+-+
#	|              switch               |
#	+-----------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=iperf_cases.sh
. "$LIB_DIR/iperf_cases.sh"

CASES=(
	"mode B5,B6,C2 two nodes go into connected mode, MTU 65520"
	"address C7,U36 the flags of the address are RC only, and the rest is unchanged"
	"ping4 C1,C4 IPv4 echoes lose nothing"
	"ping6 C1,C4 IPv6 echoes lose nothing"
	"large C25 echoes of 60000 octets pass unfragmented"
	"on_rc C4,C6 unicast goes over RC, ARP over UD"
	"multicast C3,C31 broadcast goes over UD"
	"datagram_peer C30,C34 a node in datagram mode is reached"
	"${IPERF_CASES[@]}"
	"back B5,B6 two nodes go back to datagram mode"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
}

set_mode()
{
	in_node "$1" sh -c "echo $2 > /sys/class/net/ib0/mode"
}

mode()
{
	local node

	for node in 1 2; do
		check "node $node" set_mode "$node" connected
		check "MTU" node_ip "$node" link set ib0 mtu 65520
		check_eq "mode" "$(in_node "$node" cat /sys/class/net/ib0/mode)" connected
	done
	check "carrier" wait_carrier
}

address()
{
	check_eq "flags" "$(lladdr 1 | cut -c 1-2)" 80
	check_eq "GID" "$(lladdr 1 | cut -c 9-)" "$(port_gid_hex 1)"
}

ping4()
{
	check "ping" wait_ping 1 2
	check "ping" ping_lossless 1 "$(ip4 2)" 50
}

ping6()
{
	check "ping" wait_ping 2 1
	check "ping" ping_lossless 2 "$(ip6 1)" 50
}

large()
{
	check "IPv4" ping_lossless 1 "$(ip4 2)" 10 -M 'do' -s 60000
	check "IPv6" ping_lossless 1 "$(ip6 2)" 10 -M 'do' -s 60000
}

on_rc()
{
	capture_start rc
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	in_node 1 arping -c 1 -I ib0 "$(ip4 2)" > /dev/null
	capture_stop
	check_num "RC sends" "$(frames -f op op!=64 | grep -cE '^0[0-4]$')" -ge 10
	check_eq "echoes over UD" "$(frames -f n icmp.type=8)" ""
}

multicast()
{
	broadcasts_over_ud 1
}

datagram_peer()
{
	check "ping" wait_ping 1 3
	check "ping" ping_lossless 1 "$(ip4 3)" 10
	check "large, in fragments" slowwait 10 ping_ok 1 "$(ip4 3)" -s 5000
}

back()
{
	local node

	for node in 1 2; do
		check "node $node" set_mode "$node" datagram
		check_eq "MTU" "$(link_mtu "$node")" 2044
	done
	check "ping" wait_ping 1 2
}

ktap_main "$@"
