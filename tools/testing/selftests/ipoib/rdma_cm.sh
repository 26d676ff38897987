#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The RDMA CM's own programs find their way by the addresses of our interfaces, and of
# others that a node is reached at.
#
#	 node1          node2
#	OpenSM            |		P_Key 0x8001 for both beside the default one
#	   |              |
#	+--+--------------+--+
#	|       switch       |
#	+--------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_sm.sh
. "$LIB_DIR/lib_sm.sh"

CASES=(
	"own:rping:4 B39 rping over IPv4, with checked contents"
	"own:rping:6 B39 rping over IPv6, with checked contents"
	"own:ucmatose:4 B39 ucmatose over IPv4"
	"own:udaddy:4 B39 udaddy: datagrams, SIDR"
	"own:cmtime:4 B39 cmtime: many connections"
	"mckey B39 mckey: a group of the RDMA CM, made like the driver's broadcast group"
	"connected B39 rping works in connected mode"
	"lo B39 a node is found by an address of lo"
	"dummy B39 a node is found by an address of a dummy"
	"vrf B39 a node is found by an address of a VRF with the interface"
	"bond B39 a node is found by an address of a bond above the interface"
	"child B39 a child is found in its partition"
	"twins:c1 B39 the interface with the address is found among two of a partition: the first"
	"twins:c2 B39 the interface with the address is found among two of a partition: the second"
	"twins_lo B39 an address of neither interface is found on neither"
)

setup()
{
	modprobe rdma_ucm || ktap_bail "no rdma_ucm"
	fabric_load 2
	partitions "Default=0x7fff, ipoib: ALL=full;" "Blue=0x8001, ipoib: ALL=full;"
	opensm_start
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	wait_ping 1 2 || ktap_bail "no ping"
}

diagnose()
{
	note "server: $(tail -n 3 "$TESTDIR/server" 2> /dev/null)"
	note "client: $(tail -n 3 "$TESTDIR/client" 2> /dev/null)"
	note "node 1: $(node_ip 1 -br addr show | xargs)"
	note "node 2: $(node_ip 2 -br addr show | xargs)"
}

# client PROGRAM ADDRESS: of node 2, once
client()
{
	case $1 in
	rping)	in_node 2 timeout 60 rping -c -C 5 -V -a "$2" ;;
	cmtime)	in_node 2 timeout 60 cmtime -c 10 -s "$2" ;;
	*)	in_node 2 timeout 60 "$1" -C 5 -s "$2" ;;
	esac > "$TESTDIR/client" 2>&1
}

# server PROGRAM [FAMILY]: of node 1, at all its addresses, and until it is stopped
server()
{
	local any=0.0.0.0

	[ "${2:-4}" = 4 ] || any=::
	case $1 in
	rping)	background 1 timeout 180 rping -s -C 5 -V -a "$any" ;;
	cmtime)	background 1 timeout 180 cmtime -c 10 -b "$any" ;;
	*)	background 1 timeout 180 "$1" -C 5 -b "$any" ;;
	esac > "$TESTDIR/server" 2>&1
}

# listens: the server has said nothing so far, but the kernel knows
listens()
{
	in_node 1 rdma res show cm_id | grep -q 'state LISTEN'
}

# reached PROGRAM ADDRESS [FAMILY]
reached()
{
	server "$1" "${3:-4}"
	check "listens" slowwait 10 listens
	check "$1 to $2" client "$1" "$2"
	background_stop
}

own()
{
	reached "$1" "$("ip$2" 1)" "$2"
}

mckey()
{
	background 1 timeout 180 mckey -b "$(ip4 1)" -m 239.7.7.7 -C 5 > "$TESTDIR/server" 2>&1
	check "member" slowwait 20 sa_is_full_member 1 "$(mckey_mgid)"
	check "sent" in_node 2 timeout 30 mckey -s -b "$(ip4 2)" -m 239.7.7.7 -C 5
	check "received" slowwait 20 grep -q 'test complete' "$TESTDIR/server"
	background_stop
}

# It has a signature of its own instead of that of IPv4.
mckey_mgid()
{
	mgid4 239.7.7.7 | sed 's/:401b:/:4001:/'
}

connected()
{
	in_mode connected rc 1 2
	check "connection" connect 1 2
	reached rping "$(ip4 1)"
	in_mode datagram rc 1 2
}

lo()
{
	node_ip 1 addr add 10.66.0.1/32 dev lo
	node_ip 2 route add 10.66.0.1 dev ib0
	reached rping 10.66.0.1
	reached udaddy 10.66.0.1
	node_ip 2 route del 10.66.0.1
	node_ip 1 addr del 10.66.0.1/32 dev lo
}

dummy()
{
	node_ip 1 link add d0 up type dummy
	node_ip 1 addr add 10.66.0.2/32 dev d0
	node_ip 2 route add 10.66.0.2 dev ib0
	reached rping 10.66.0.2
	node_ip 2 route del 10.66.0.2
	node_ip 1 link del d0
}

# What listens to any address of the node takes requests of its VRFs, too.
vrf()
{
	in_node 1 sysctl -qw net.ipv4.tcp_l3mdev_accept=1
	node_ip 1 link add red up type vrf table 77
	node_ip 1 link set ib0 master red
	node_ip 1 addr add 10.66.0.3/32 dev red
	node_ip 2 route add 10.66.0.3 dev ib0
	check "ping" slowwait 10 in_node 2 ping -n -c 1 -W 1 10.66.0.3
	reached rping 10.66.0.3
	node_ip 2 route del 10.66.0.3
	node_ip 1 link set ib0 nomaster
	node_ip 1 link del red
	node_ip 1 addr replace "$(ip6 1)/64" dev ib0 nodad
	check "ping" wait_ping 1 2
}

bond()
{
	hosts modprobe bonding max_bonds=0
	node_ip 1 link set ib0 down
	node_ip 1 link add bond0 type bond mode active-backup miimon 100 fail_over_mac 1
	node_ip 1 link set ib0 master bond0
	node_ip 1 addr add 10.66.1.1/24 dev bond0
	node_ip 1 link set bond0 up
	node_ip 2 addr add 10.66.1.2/24 dev ib0
	check "ping" slowwait 10 in_node 2 ping -n -c 1 -W 1 10.66.1.1
	reached rping 10.66.1.1
	node_ip 2 addr del 10.66.1.2/24 dev ib0
	node_ip 1 link set ib0 nomaster
	node_ip 1 link del bond0
	node_ip 1 link set ib0 up
	check "ping" wait_ping 1 2
}

# children NAME NUMBER: of both nodes, in partition 0x8001
children()
{
	local node

	for node in 1 2; do
		node_ip "$node" link add link ib0 name "$1" type ipoib pkey 0x8001
		node_ip "$node" addr add "10.66.$2.$node/24" dev "$1"
		node_ip "$node" link set "$1" up
	done
	check "ping" slowwait 10 in_node 2 ping -n -c 1 -W 1 "10.66.$2.1"
}

no_children()
{
	local node name

	for name; do
		for node in 1 2; do
			node_ip "$node" link del "$name"
		done
	done
}

child()
{
	children c1 2
	reached rping 10.66.2.1
	reached udaddy 10.66.2.1
	no_children c1
}

# Each answers ARP for its own addresses only, or the other one's neighbour entry is found.
twins()
{
	in_node 1 sysctl -qw net.ipv4.conf.all.arp_ignore=1
	children c1 2
	children c2 3
	case $1 in
	c1)	reached rping 10.66.2.1 ;;
	c2)	reached rping 10.66.3.1 ;;
	esac
	no_children c1 c2
	in_node 1 sysctl -qw net.ipv4.conf.all.arp_ignore=0
}

twins_lo()
{
	local child

	children c1 2
	children c2 3
	node_ip 1 addr add 10.66.0.4/32 dev lo
	server rping
	check "listens" slowwait 10 listens
	for child in c1 c2; do
		node_ip 2 route replace 10.66.0.4 dev "$child"
		check_not "rping to 10.66.0.4 over $child" client rping 10.66.0.4
	done
	background_stop
	node_ip 2 route del 10.66.0.4
	node_ip 1 addr del 10.66.0.4/32 dev lo
	no_children c1 c2
}

ktap_main "$@"
