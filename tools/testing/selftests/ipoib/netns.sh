#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An interface moves between network namespaces and works in each, and is not
# lost with one.
#
#	node1 ib0     node2 ib0 -> other -> initial namespace
#	  |             |
#	+-+-------------+-+
#	|     switch      |
#	+-----------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"move B16 an interface moved to another namespace keeps its address and works there"
	"separate B16 the former namespace no longer has a moved interface"
	"move_up B16 an interface moves while traffic runs"
	"ns_deleted B16 an interface returns to the initial namespace when its namespace is deleted"
	"unload B16 unloading removes the interfaces from all namespaces"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	# namespaces of cases have node numbers, so that they are cleaned up
	ip netns add node92
	NODES_UP+=(92)
}

configure()
{
	node_ip "$1" addr replace "$(ip4 "$2")/16" brd + dev ib0
	node_ip "$1" addr replace "$(ip6 "$2")/64" dev ib0 nodad
	node_ip "$1" link set lo up
	node_ip "$1" link set ib0 up
}

move()
{
	local before

	before=$(lladdr 2)
	check "move" node_ip 2 link set ib0 netns node92
	configure 92 2
	check "carrier" wait_carrier 92
	check_eq "address" "$(lladdr 92)" "$before"
	check "ping" wait_ping 1 2
	check "in the other direction" ping_once 92 "$(ip4 1)"
}

separate()
{
	check_not "ib0 in the old one" node_ip 2 link show dev ib0
	check_eq "addresses in the old one" "$(node_ip 2 -o addr show scope global)" ""
}

move_up()
{
	background 1 ping -q -i 0.01 "$(ip4 2)" > /dev/null
	check "move" node_ip 92 link set ib0 netns node2
	configure 2 2
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
	background_stop
}

in_initial()
{
	netdev "$1" > /dev/null
}

ns_deleted()
{
	local dev

	ip netns del node3
	check "back" slowwait 5 in_initial 3
	dev=$(netdev 3) || return
	check "node 1 and 2 go on" wait_ping 1 2
	ip netns add node3
	ip link set dev "$dev" netns node3 name ib0
	configure 3 3
	check "ping" wait_ping 1 3
}

unload()
{
	check "unload" driver_unload
	check_not "ib0 of node 1" node_ip 1 link show dev ib0
	check_not "ib0 of node 2" node_ip 2 link show dev ib0
}

ktap_main "$@"
