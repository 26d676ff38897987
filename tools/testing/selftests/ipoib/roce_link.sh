#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An interface on a RoCE port is made by hand, on an Ethernet port or a VLAN, and goes with
# that or with the RDMA device.
#
#	  ib0    ib0    ib0		ip link add link rocK type ipoib
#	   |      |      |
#	 roc1   roc2   roc3
#	+--+------+------+--+
#	|       bridge      |
#	+-------------------+

FABRIC=rxe
. "$(dirname "$0")/lib.sh"

CASES=(
	"default_none B1 no RoCE port has an interface by default"
	"made B14 an interface can be made on an Ethernet port, has the given name and shows the port"
	"second B14 a second interface on the same port is refused with a message"
	"no_port B14 an interface without a RoCE port is refused with a message"
	"pkey B14 a P_Key other than 0xffff is refused with a message"
	"child B14 a child is refused with a message"
	"functions B26 virtual functions can be neither set nor shown"
	"deleted B14 ip link del deletes the interface"
	"attributes B14 mode, umcast and MTU can be set at creation"
	"other_netns B16 an interface can be made in another namespace"
	"not_for_others U60 an unprivileged user can make no interface"
	"user_ns U60 root of a user namespace can make no interface, even on its own VLAN"
	"port_down - an interface made while the Ethernet port is down has carrier when the port is up"
	"vlan_down B14 an interface can be made on a VLAN that is down"
	"under_traffic A8 deletion of an interface under traffic leaves the other interfaces"
	"vlan_deleted A8 deletion of a VLAN deletes its interface, and no other"
	"vlan_moved A8 a VLAN that moves to another namespace loses its interface, and no other"
	"device_removed A8 removal of an RDMA device removes its interface, a new device has no interface"
	"unload A8 the module can be unloaded with interfaces"
	"old_parameter B1 the parameter roce of former versions is logged and has no effect"
)

NEEDS=(
	[second]=made
	[child]=made
	[functions]=made
	[deleted]=made
	[vlan_moved]=vlan_deleted
)

# The driver without interfaces
setup()
{
	fabric_load 3
	quiet_ipv6
	modprobe ib_ipoib || ktap_bail "cannot load ib_ipoib"
}

# interfaces: how many there are in the initial namespace
interfaces()
{
	ip -br link show type ipoib | wc -l
}

interfaces_are()
{
	[ "$(interfaces)" = "$1" ]
}

# add ARG...: of ip link add
add()
{
	ip link add "$@" 2> "$TESTDIR/error"
}

# refused TEXT ARG...: with that message; a kernel before 6.2 has a fixed text
refused()
{
	local text=$1 before

	shift
	before=$(interfaces)
	! add "$@" || { echo "$* was made"; return 1; }
	grep "$text" "$TESTDIR/error" || { cat "$TESTDIR/error"; return 1; }
	interfaces_are "$before"
}

default_none()
{
	check "no interface" stays 1000 interfaces_are 0
}

made()
{
	check "made" add link roc1 name one type ipoib
	check "shows the port" grep -q ' one@roc1: ' <<< "$(ip -o link show dev one)"
	check_eq "link" "$(< /sys/class/net/one/iflink)" "$(< /sys/class/net/roc1/ifindex)"
	check "details" grep -q 'ipoib pkey *0xffff mode *datagram' <<< "$(ip -d link show dev one)"
	check_eq "MTU before it is up" "$(< /sys/class/net/one/mtu)" 2044
	check "up" ip link set one up
	check "carrier" slowwait 10 grep -q 1 /sys/class/net/one/carrier
	check_eq "MTU" "$(< /sys/class/net/one/mtu)" 2044
	check "no other" interfaces_are 1
}

second()
{
	check "message" refused "there is an IPoIB interface on" link roc1 name x type ipoib
}

no_port()
{
	ip link add nothing type dummy
	check "dummy" refused "no RoCE port has a GID of" link nothing name x type ipoib
	ip link del nothing
	check "lo" refused "no RoCE port has a GID of" link lo name x type ipoib
	check "without a link" refused "no parent" name x type ipoib
}

pkey()
{
	check "0x8001" refused "no P_Key but 0xffff" link roc2 name x type ipoib pkey 0x8001
	check "0xffff" add link roc2 name x type ipoib pkey 0xffff
	ip link del x
}

functions()
{
	check "state" grep "not supported" <<< "$(ip link set one vf 0 state enable 2>&1)"
	check "GUID" grep "not supported" \
		<<< "$(ip link set one vf 0 node_guid 00:11:22:33:44:55:66:77 2>&1)"
	check_not "shown" grep '^ *vf [0-9]' <<< "$(ip -d link show dev one)"
}

child()
{
	check "message" refused "no partitions" link one name x type ipoib pkey 0x8001
}

deleted()
{
	check "del" ip link del one
	check "gone" interfaces_are 0
	check "another one" add link roc1 name one type ipoib
	check "del" ip link del one
}

attributes()
{
	check "made" add link roc1 name one mtu 1500 type ipoib mode connected umcast 1
	check_eq "mode" "$(< /sys/class/net/one/mode)" connected
	check_eq "umcast" "$(< /sys/class/net/one/umcast)" 1
	check_eq "MTU" "$(< /sys/class/net/one/mtu)" 1500
	check "del" ip link del one
	check "too long" refused "above the one that the port can do" \
		link roc1 name one mtu 9000 type ipoib
}

other_netns()
{
	ip netns add node91
	NODES_UP+=(91)
	check "made" add link roc1 name ib0 netns node91 type ipoib
	check_eq "none here" "$(interfaces)" 0
	check_eq "link" "$(in_node 91 cat /sys/class/net/ib0/iflink)" "$(< /sys/class/net/roc1/ifindex)"
	check "in another namespace" grep -q link-netns <<< "$(node_ip 91 link show dev ib0)"
	check "up" node_ip 91 link set ib0 up
	check "carrier" wait_carrier 91
	check "message" refused "there is an IPoIB interface on" link roc1 name x type ipoib
	check "del" node_ip 91 link del ib0
}

not_for_others()
{
	check_not "nobody" setpriv --reuid 65534 --clear-groups --inh-caps=-all \
		ip link add link roc1 name x type ipoib 2> /dev/null
	check "nothing came of it" interfaces_are 0
}

# in_its_netns PID: it has another network namespace than this shell
in_its_netns()
{
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# add_in_user_ns PID ARG...
add_in_user_ns()
{
	nsenter -t "$1" -U -n --preserve-credentials ip link add "${@:2}" 2> "$TESTDIR/error"
}

user_ns()
{
	local pid

	unshare -Urn sleep 1000 &
	pid=$!
	BACKGROUND+=("$pid")
	check "a namespace" busywait 5000 in_its_netns "$pid"
	ip link add link roc1 name v9 type vlan id 9
	check "given" ip link set v9 netns "$pid"
	check_not "made" add_in_user_ns "$pid" link v9 name x type ipoib
	check "message" grep "not permitted in the namespace of the RDMA device" "$TESTDIR/error"
	background_stop
}

port_down()
{
	ip link set roc1 down
	check "made" add link roc1 name one type ipoib
	check "up" ip link set one up
	check "a message" busywait 3000 klog_has 'one: waiting for a GID: roc1 is down'
	check_eq "carrier" "$(< /sys/class/net/one/carrier)" 0
	ip link set roc1 up
	check "carrier" slowwait 10 grep -q 1 /sys/class/net/one/carrier
	check "del" ip link del one
}

vlan_down()
{
	ip link add link roc1 name v1 type vlan id 100
	check "made" add link v1 name one type ipoib
	check "del" ip link del one
	ip link del v1
}

# all_up: those that are missing are made. What they knew of each other is forgotten: a new
# interface has another address.
all_up()
{
	local node

	for node in 1 2 3; do
		no_interface "$node" || continue
		netdev "$node" > /dev/null || interface_add "$node"
		nodes_up "$node"
	done
	check "carrier" wait_carrier 1 2 3
	for node in 1 2 3; do
		node_ip "$node" neigh flush dev ib0
	done
	check "ping" wait_ping 1 2
	check "ping" wait_ping 2 3
}

under_traffic()
{
	all_up
	background 1 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	background 2 ping -q -f "$(ip6 1)" > /dev/null 2>&1
	background 3 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	check "del" node_ip 1 link del ib0
	check "gone" no_interface 1
	check "the others speak" ping_lossless 3 "$(ip4 2)" 20
	background_stop
	all_up
}

vlan_deleted()
{
	all_up
	vlan_up 1
	vlan_up 2
	check "carrier" wait_carrier 91 92
	check "ping" slowwait 5 ping_ok 91 10.8.0.2
	background 91 ping -q -f 10.8.0.2 > /dev/null 2>&1
	check "del" ip link del v1
	check "gone" no_interface 91
	background_stop
	check "the other one stays" has_carrier 92
	check "and the untagged ones" wait_ping 1 2
}

vlan_moved()
{
	check "move" ip link set v2 netns node91
	check "gone" slowwait 5 no_interface 92
	node_ip 91 link del v2
	check "the untagged one stays" wait_ping 1 2
}

device_removed()
{
	all_up
	background 1 ping -q -f "$(ip4 3)" > /dev/null 2>&1
	background 3 ping -q -f "$(ip6 1)" > /dev/null 2>&1
	check "remove" rdma link delete rxe3
	check "gone" slowwait 5 no_interface 3
	background_stop
	check "refused" refused "no RoCE port has a GID of" link roc3 name x type ipoib
	check "a new device" rdma link add rxe3 type rxe netdev roc3
	check "has none" stays 500 interfaces_are 0
	all_up
}

unload()
{
	all_up
	background 1 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	check "unload" driver_unload
	background_stop
	check "gone" no_interface 1
}

old_parameter()
{
	module_gone ib_ipoib || driver_unload
	check "load" modprobe ib_ipoib 'roce=rxe*'
	check "logged" klog_has "unknown parameter 'roce' ignored"
	check "no interface" stays 500 interfaces_are 0
}

ktap_main "$@"
