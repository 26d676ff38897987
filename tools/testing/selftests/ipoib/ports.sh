#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An HCA with two ports has two interfaces, and what happens to one port is not the other's.
#
#	   node1             node2
#	 ib0   ib1         ib0   ib1		port 1: fd09::K, port 2: fd0a::K,
#	  |     |           |     |		all four on one link
#	+-+-----+-----------+-----+-+
#	|          switch           |
#	+---------------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"names B12 dev_port and dev_id are the number of the port minus 1"
	"child B12 dev_port and dev_id of a child of the second port are 0"
	"address B12 each interface has the GID of its port"
	"reach B12 both interfaces are reached, each by its own port"
	"link_of_port:1 B29,B31 link down of port 1 takes the carrier of its interface down, the other interface keeps its carrier"
	"link_of_port:2 B29,B31 link down of port 2 takes the carrier of its interface down, the other interface keeps its carrier"
	"others:1 B29 events of port 1 make the interface of port 2 join no group again"
	"others:2 B29 events of port 2 make the interface of port 1 join no group again"
	"functions B26 virtual functions are set at the port of the interface"
	"gone A8 the HCA takes both interfaces along, and brings both back"
)

setup()
{
	fabric_load 2 ports=2 vfs=1
	subnet_start
	driver_load
	nodes_up
	second_up 1
	second_up 2
	all_up || ktap_bail "no carrier"
}

# port_netdev NODE: the interface of port 2 where this runs
port_netdev()
{
	local path

	for path in /sys/class/net/*/device/infiniband/"$(ibdev "$1")"; do
		[ -e "$path" ] || return 1
		path=${path%/device/*}
		[ "$(< "$path/dev_port")" = 1 ] || continue
		echo "${path##*/}"
		return 0
	done
	return 1
}

# second_up NODE: that of port 2, as ib1
second_up()
{
	local dev

	dev=$(busywait 5000 port_netdev "$1") || ktap_bail "node $1 has no second interface"
	ip link set dev "$dev" netns "node$1" name ib1 || ktap_bail "cannot move $dev"
	node_ip "$1" addr add "fd0a::$1/64" dev ib1 nodad
	node_ip "$1" link set ib1 up
}

all_up()
{
	local node dev

	for node in 1 2; do
		for dev in ib0 ib1; do
			slowwait 20 has_carrier "$node" "$dev" || return 1
		done
	done
}

# attribute NODE DEV NAME
attribute()
{
	in_node "$1" cat "/sys/class/net/$2/$3"
}

names()
{
	check_eq "dev_port of ib0" "$(attribute 2 ib0 dev_port)" 0
	check_eq "dev_port of ib1" "$(attribute 2 ib1 dev_port)" 1
	check_eq "dev_id of ib0" "$(($(attribute 2 ib0 dev_id)))" 0
	check_eq "dev_id of ib1" "$(($(attribute 2 ib1 dev_id)))" 1
}

child()
{
	check "made" node_ip 2 link add link ib1 name twin type ipoib
	check_eq "dev_port" "$(attribute 2 twin dev_port)" 0
	check_eq "dev_id" "$(($(attribute 2 twin dev_id)))" 0
	check_eq "GID" "$(lladdr 2 twin | cut -c 9-)" "$(lladdr 2 ib1 | cut -c 9-)"
	check "away" node_ip 2 link del twin
}

# gid_of NODE PORT
gid_of()
{
	tr -d : < "/sys/class/infiniband/$(ibdev "$1")/ports/$2/gids/0"
}

address()
{
	check_eq "ib0" "$(lladdr 2 ib0 | cut -c 9-)" "$(gid_of 2 1)"
	check_eq "ib1" "$(lladdr 2 ib1 | cut -c 9-)" "$(gid_of 2 2)"
	check_num "they differ" "$((16#$(gid_of 2 1 | cut -c 17-) - 16#$(gid_of 2 2 | cut -c 17-)))" -ne 0
}

# By IPv6: in IPv4 each interface answers for the addresses of the other, too.
reach()
{
	check "ib0" slowwait 10 in_node 1 ping -n -c 1 -W 1 -I ib0 fd09::2
	check "ib1" slowwait 10 in_node 1 ping -n -c 1 -W 1 -I ib1 fd0a::2
	check_eq "neighbour of ib0" "$(neighbour_of ib0 fd09::2)" "$(lladdr 2 ib0)"
	check_eq "neighbour of ib1" "$(neighbour_of ib1 fd0a::2)" "$(lladdr 2 ib1)"
}

# neighbour_of DEV ADDRESS: its link-layer address, known to node 1
neighbour_of()
{
	node_ip 1 neigh show "$2" dev "$1" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p' | tr -d :
}

# cable PORT up|down: of node 2
cable()
{
	local -A file=([1]=link [2]=link2)

	knob_set 2 "${file[$1]}" "$2"
}

# changes DEV: how often the carrier of node 2 came and went
changes()
{
	attribute 2 "$1" carrier_changes
}

link_of_port()
{
	local own=ib$(($1 - 1)) other=ib$((2 - $1)) before

	before=$(changes "$other")
	cable "$1" down
	check "no carrier" slowwait 10 no_carrier 2 "$own"
	check "carrier of the other" has_carrier 2 "$other"
	check "ping of the other" slowwait 10 in_node 1 ping -n -c 1 -W 1 -I "$other" \
		"$([ "$other" = ib0 ] && echo fd09::2 || echo fd0a::2)"
	cable "$1" up
	check "carrier is back" slowwait 20 has_carrier 2 "$own"
	check_eq "changes of the other" "$(changes "$other")" "$before"
}

# joins DEV: how many it has asked for
joins()
{
	in_node 2 ethtool -S "$1" | sed -n 's/^ *mcast_joins: //p'
}

joins_more_than()
{
	[ "$(joins "$1")" -gt "$2" ]
}

# joins_rest: neither interface has joined for two seconds
joins_rest()
{
	local before

	before="$(joins ib0) $(joins ib1)"
	nap 2
	[ "$(joins ib0) $(joins ib1)" = "$before" ]
}

others()
{
	local own=ib$(($1 - 1)) other=ib$((2 - $1)) before mine

	check "no joins" slowwait 20 joins_rest
	before=$(joins "$other")
	mine=$(joins "$own")
	cable "$1" down
	check "no carrier" slowwait 10 no_carrier 2 "$own"
	cable "$1" up
	check "carrier is back" slowwait 20 has_carrier 2 "$own"
	is_stock && return
	check "its own joins" slowwait 10 joins_more_than "$own" "$mine"
	check_eq "joins of the other" "$(joins "$other")" "$before"
}

functions()
{
	check "set" node_ip 2 link set ib1 vf 0 node_guid 00:11:22:33:44:55:66:77
	check "of port 2" grep -q 'NODE_GUID 00:11:22:33:44:55:66:77' <<< \
		"$(node_ip 2 -d link show dev ib1)"
	check "not of port 1" grep -q 'NODE_GUID 00:00:00:00:00:00:00:00' <<< \
		"$(node_ip 2 -d link show dev ib0)"
}

gone()
{
	hca_remove 2
	check_not "the first" node_ip 2 link show dev ib0
	check_not "the second" node_ip 2 link show dev ib1
	hca_add 2
	nodes_up 2
	second_up 2
	check "carrier" all_up
	reach
}

ktap_main "$@"
