#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA devices are given to network namespaces, and their interfaces with them.
#
#	node1        node2          node3
#	 ib0       ib0 softib1    ib0 softib2	softib0, OpenSM: initial namespace
#	  |             |              |		P_Key 0x8001 for all beside
#	+-+-------------+--------------+-+	the default one
#	|             switch             |
#	+--------------------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"given B16,F73 the interface of a given device is in its namespace"
	"hidden B16,F73 no other namespace has the device or its interface"
	"works B16,F73 nodes with own devices reach each other, and a node without"
	"children B16,F73 a child is in its parent's namespace by sysfs, and by rtnetlink in the requested namespace"
	"cm B39 the RDMA CM finds interface and device of its namespace"
	"used B16,B39 a device moves while a program has a connection"
	"again B16,F73 a namespace ends under traffic, and its device moves to another namespace, three times"
	"roce B14,B16 an interface on a RoCE port moves with the device, and no interface is made on the remaining port"
	"unload B16,F73 the driver can be unloaded and loaded while devices are in namespaces"
	"hotplug A8,B16,F73 a device removed from its namespace comes back in the initial namespace"
	"gone A8,B16,F73 the HCAs' driver is unloaded while devices are in namespaces"
)

# Port GUIDs by node, as a link-layer address ends with them
declare -A GUID

setup()
{
	local node

	modprobe rdma_ucm || ktap_bail "no rdma_ucm"
	fabric_load 3
	busywait 10000 rdma system set netns exclusive || ktap_bail "no exclusive mode"
	partitions "Default=0x7fff, ipoib: ALL=full;" "Blue=0x8001, ipoib: ALL=full;"
	subnet_start
	driver_load
	nodes_up 1
	wait_carrier 1 || ktap_bail "no carrier"
	doubt 1
	for node in 2 3; do
		GUID[$node]=$(port_guid "$node" | sed 's/../&:/g; s/:$//')
		ip netns add "node$node"
		NODES_UP+=("$node")
		give 0 "$node" "$node" || ktap_bail "cannot give the device of node $node"
		settle "$node" || ktap_bail "no interface of node $node"
	done
}

# Other tests have shared mode. It comes back only when the last namespace has gone.
teardown()
{
	busywait 10000 rdma system set netns shared
}

diagnose()
{
	local node

	for node in 0 1 2 3; do
		note "namespace $node: $(in_ns "$node" rdma dev show 2>&1 | cut -d : -f 2 | xargs)," \
			"$(in_ns "$node" ip -br link show 2>&1 | awk '{ print $1 }' | xargs)"
	done
}

# in_ns NODE COMMAND...: in the namespace of the node; 0 is the initial one
in_ns()
{
	if [ "$1" = 0 ]; then
		"${@:2}"
	else
		in_node "$@"
	fi
}

# sees_hca NS NODE: the namespace has the device of the node
sees_hca()
{
	in_ns "$1" rdma dev show | grep -qw "$(ibdev "$2")"
}

# link_of NS NODE: names of interfaces there that are made of the device of the node
link_of()
{
	in_ns "$1" ip -o link show |
		sed -n "s/^[0-9]*: \([^:@]*\): .*link\/infiniband [0-9a-f:]*:${GUID[$2]} brd .*/\1/p" | grep .
}

no_link()
{
	! node_ip "$1" link show dev "$2" > /dev/null 2>&1
}

# give FROM TO NODE: the device of the node, from one namespace to another
give()
{
	in_ns "$1" rdma dev set "$(ibdev "$3")" netns "node$2"
}

# made_in NODE: where the interface of a device that this namespace has is made. The kernel's driver
# made it in the initial one before 6.16.
made_in()
{
	local major minor

	IFS=. read -r major minor _ <<< "$(uname -r)"
	if ! is_stock || [ $((major * 1000 + ${minor%%[!0-9]*})) -ge 6016 ]; then
		echo "$1"
	else
		echo 0
	fi
}

# settle NODE: the interface of the device that its namespace has is made; it is up as ib0 there
settle()
{
	local node=$1 at dev

	at=$(made_in "$node")
	dev=$(busywait 5000 link_of "$at" "$node") ||
		{ fail "no interface of node $node in namespace $at"; return 1; }
	if [ "$at" = 0 ]; then
		check_not "in the namespace of the device" link_of "$node" "$node" || return
		check "moved" ip link set dev "$dev" netns "node$node" name ib0 || return
	else
		check_not "in the initial namespace" link_of 0 "$node" || return
		check_eq "name" "$dev" ib0 || return
	fi
	node_config "$node"
	doubt "$node"
	check "carrier" wait_carrier "$node"
}

# taken_back NODE: the namespace ends, and all that it had is in the initial one
taken_back()
{
	local dev

	ip netns del "node$1"
	check "device" slowwait 10 sees_hca 0 "$1" || return
	dev=$(busywait 5000 link_of 0 "$1") || { fail "no interface"; return 1; }
	[[ $dev == ib+([0-9]) ]] || { fail "interfaces: $dev"; return 1; }
	ip netns add "node$1"
}

given()
{
	taken_back 2 || return
	check "others go on" wait_ping 1 3
	check "given" give 0 2 2
	settle 2
	check "ping" wait_ping 1 2 30
}

hidden()
{
	local ns node

	for node in 2 3; do
		check "device of node $node" sees_hca "$node" "$node"
		check "interface of node $node" link_of "$node" "$node"
		for ns in 0 1 $((5 - node)); do
			check_not "device of node $node in namespace $ns" sees_hca "$ns" "$node"
			check_not "interface of node $node in namespace $ns" link_of "$ns" "$node"
		done
	done
}

works()
{
	check "ping" wait_ping 1 2
	check "ping" wait_ping 2 3
	check "ping" wait_ping 3 1
}

children()
{
	check "sysfs" in_node 2 sh -c 'echo 0x8001 > /sys/class/net/ib0/create_child'
	check_not "in the initial namespace" ip link show dev ib0.8001
	check "rtnetlink" node_ip 3 link add link ib0 name blue type ipoib pkey 0x8001
	check "of node 3, in node 1" node_ip 3 link add link ib0 name far netns node1 type ipoib pkey 0x8001
	check "of node 3, not in node 3" no_link 3 far
	child_up 2 ib0.8001
	child_up 3 blue
	child_up 1 far
	check "ping" slowwait 10 in_node 2 ping -n -c 1 -W 1 10.66.1.3
	check "ping" slowwait 10 in_node 1 ping -n -c 1 -W 1 10.66.1.2
	check "deleted" node_ip 1 link del far
	check "deleted" node_ip 3 link del blue
	check "deleted" in_node 2 sh -c 'echo 0x8001 > /sys/class/net/ib0/delete_child'
	check "gone" busywait 5000 no_link 2 ib0.8001
}

child_up()
{
	check "$2" node_ip "$1" addr add "10.66.1.$1/24" dev "$2"
	check "$2" node_ip "$1" link set "$2" up
}

cm()
{
	background 3 timeout 180 rping -s -C 3 -V -a "$(ip4 3)" > /dev/null 2>&1
	check "rping" slowwait 10 in_node 2 timeout 30 rping -c -C 3 -V -a "$(ip4 3)"
	background_stop
}

listens()
{
	in_node "$1" rdma res show cm_id | grep -q 'state LISTEN'
}

is_connected()
{
	in_node "$1" rdma res show qp | grep -q 'type RC state RTS'
}

# The program keeps the queues that it has mapped, which nothing fills any more.
used()
{
	local at

	background 3 timeout 180 rping -s -a "$(ip4 3)" > /dev/null 2>&1
	check "listens" slowwait 10 listens 3
	background 2 timeout 180 rping -c -a "$(ip4 3)" > /dev/null 2>&1
	check "connection" slowwait 10 is_connected 2
	check "moves on" give 2 1 2
	check "device" sees_hca 1 2
	at=$(made_in 1)
	check "interface" busywait 5000 link_of "$at" 2
	# the name is free in the other namespaces
	[ "$at" = 0 ] || check_eq "name" "$(link_of 1 2)" ib1
	check_not "interface in the old one" link_of 2 2
	background_stop
	check "moves back" give 1 2 2
	settle 2
	check "ping" wait_ping 1 2 30
	check "ping" wait_ping 2 3 30
}

again()
{
	local i

	background 3 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	for ((i = 0; i < 3; i++)); do
		taken_back 2 || return
		check "given" give 0 2 2
		settle 2 || return
	done
	background_stop
	check "ping" wait_ping 3 2 30
}

# soft-RoCE of older kernels stays where it is.
roce()
{
	local ns=0

	modprobe rdma_rxe || { fail "no rdma_rxe"; return; }
	ip link add roc1 up type veth peer name port1
	ip link set port1 up
	check "device" rdma link add rxe0 type rxe netdev roc1
	check "interface" ip link add link roc1 name on1 type ipoib
	if rdma dev set rxe0 netns node2 2> /dev/null; then
		ns=2
		check_not "interface of the device that has moved" ip link show dev on1
		check_not "made on the port that has no device" ip link add link roc1 name on1 type ipoib
	else
		note "rdma_rxe of this kernel cannot be moved"
		check "interface" ip link show dev on1
	fi
	check "device" in_ns "$ns" rdma link delete rxe0
	check_not "interface of the device that has gone" ip link show dev on1
	ip link del roc1
	check "ping" wait_ping 1 2
}

unload()
{
	check "unload" driver_unload
	check_not "interface of node 2" link_of 2 2
	check_not "interface of node 3" link_of 3 3
	check "device of node 2" sees_hca 2 2
	driver_load
	nodes_up 1
	settle 2
	settle 3
	check "ping" wait_ping 1 2 30
	check "ping" wait_ping 2 3 30
}

hotplug()
{
	hca_remove 2
	check "interface" slowwait 5 no_interface 2
	check_not "device" sees_hca 2 2
	hca_add 2
	check "device again" sees_hca 0 2
	check "interface again" busywait 5000 link_of 0 2
	check "port" slowwait 20 port_is_active 2
	check "given" give 0 2 2
	settle 2
	check "ping" wait_ping 1 2 30
}

gone()
{
	opensm_stop_all
	check "unload" modprobe -r softib
	check "interface of node 2" no_interface 2
	check "interface of node 3" no_interface 3
	check "driver" driver_unload
}

ktap_main "$@"
