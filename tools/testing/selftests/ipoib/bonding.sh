#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two interfaces of a node are a bond in active-backup mode, whose link-layer address is
# that of the one in use: peers go over to the other one and back.
#
#	node1          bond0 of node2
#	  |            ib0        ib1, which was node3's
#	  |             |          |
#	+-+-------------+----------+-+
#	|           switch           |
#	+----------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CASES=(
	"works B40 the bond is reached over IPv4 and IPv6"
	"groups B40,U54 a group that is joined on the bond is joined by the interface in use"
	"over:datagram B40 loss of the link moves the bond to the other interface, and peers follow"
	"back:datagram B40 loss of the other link moves the bond back"
	"silent:datagram B40 peers find the moved bond soon without an announcement"
	"over:connected B40 connected mode: loss of the link moves the bond to the other interface"
	"back:connected B40 connected mode: loss of the other link moves the bond back"
	"silent:connected B40 connected mode: peers find the moved bond without an announcement"
	"refused B40 a bridge, a VLAN and a macvlan refuse the interface, as they need Ethernet"
	"netpoll F54 netconsole refuses the interface, as sending would deadlock"
	"unload A8,B40 the driver can be unloaded under a bond, which is removed with the driver"
)

setup()
{
	modprobe bonding max_bonds=0 || ktap_bail "no bonding module"
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 1 3 || ktap_bail "no ping"
	bond_up || ktap_bail "no bond"
}

bond_up()
{
	node_ip 3 link set ib0 down
	node_ip 3 link set ib0 name ib1
	node_ip 3 link set ib1 netns node2
	node_ip 2 link set ib0 down
	node_ip 2 addr flush dev ib0
	node_ip 2 link add bond0 type bond mode active-backup miimon 50 fail_over_mac active &&
		node_ip 2 link set ib0 master bond0 &&
		node_ip 2 link set ib1 master bond0 || return 1
	node_ip 2 link set bond0 up
	node_ip 2 addr add "$(ip4 2)/16" brd + dev bond0
	node_ip 2 addr add "$(ip6 2)/64" dev bond0 nodad
	slowwait 10 one_in_use
}

diagnose()
{
	note "$(in_node 2 cat /proc/net/bonding/bond0)"
	note "$(node_ip 2 -d addr)"
	note "$(node_ip 1 neigh)"
	note "$(node_ip 2 maddr)"
	note "$(grep -A12 'ff1[0-9]:601b' /sys/kernel/debug/ipoib/*_mcg)"
}

# in_use INTERFACE: of the bond, and its address is the bond's
in_use()
{
	[ "$(in_node 2 cat /sys/class/net/bond0/bonding/active_slave)" = "$1" ] &&
		[ "$(in_node 2 cat /sys/class/net/bond0/address)" = "$(in_node 2 cat "/sys/class/net/$1/address")" ]
}

one_in_use()
{
	in_use ib0 || in_use ib1
}

works()
{
	check "ib0 first" in_node 2 sh -c 'echo ib0 > /sys/class/net/bond0/bonding/active_slave'
	check "in use" slowwait 5 in_use ib0
	check "IPv4" slowwait 10 ping_ok 1 "$(ip4 2)"
	check "IPv6" slowwait 10 ping_ok 1 "$(ip6 2)"
	check "back" ping_lossless 2 "$(ip4 1)" 20 -s 1900
	check "back" ping_lossless 2 "$(ip6 1)" 20
}

groups()
{
	spawn 2 udp_group join bond0 239.60.0.1 > "$TESTDIR/join" &
	BACKGROUND+=($!)
	check "joined by node 2's port" slowwait 5 is_member 2 "$(mgid4 239.60.0.1)"
	check "not by node 3's" no_member 3 "$(mgid4 239.60.0.1)"
	group_leave "${BACKGROUND[-1]}"
}

# answered_within MS: all of both families
answered_within()
{
	local ms=$1

	check "IPv4" within "$ms" ping_ok 1 "$(ip4 2)"
	check "IPv6" within "$ms" ping_ok 1 "$(ip6 2)"
	check "back" ping_lossless 2 "$(ip4 1)" 10
}

# bond_mode MODE: of all that there is, with a connection if it is connected
bond_mode()
{
	local dev

	[ "$(in_node 2 cat /sys/class/net/ib0/mode)" != "$1" ] || return 0
	set_mode 1 "$1"
	for dev in ib0 ib1; do
		in_node 2 sh -c "echo $1 > /sys/class/net/$dev/mode" || fail "mode of $dev"
	done
}

over()
{
	bond_mode "$1"
	check "before" slowwait 10 ping_ok 1 "$(ip4 2)"
	link_down 2
	check "the other one" slowwait 5 in_use ib1
	answered_within 5000
	connected_if "$1"
}

connected_if()
{
	[ "$1" = connected ] || return 0
	check "a connection" slowwait 10 connected_to_bond
}

# with the address that the bond has
connected_to_bond()
{
	ping_ok 1 "$(ip4 2)"
	cm_view 1 | awk -v qpn="0x$(in_node 2 cat /sys/class/net/bond0/address | tr -d : | cut -c 3-8)" '
		/^peer:/ { on = $2 == qpn }
		/connection: established/ && on { found = 1 }
		END { exit !found }'
}

back()
{
	link_up 2
	check "carrier" slowwait 10 in_node 2 grep -q 1 /sys/class/net/ib0/carrier
	link_down 3
	check "the first one" slowwait 5 in_use ib0
	answered_within 5000
	connected_if "$1"
	link_up 3
	check "carrier" slowwait 10 in_node 2 grep -q 1 /sys/class/net/ib1/carrier
}

# What tells peers is lost. The stack would believe in the old address for up to 53 s, but
# nothing leads there.
silent()
{
	check "before" slowwait 10 ping_ok 1 "$(ip4 2)"
	check "before" slowwait 10 ping_ok 1 "$(ip6 2)"
	knob_set 3 drop_every_ud 1
	link_down 2
	check "the other one" slowwait 5 in_use ib1
	check_not "told" within 1000 ping_ok 1 "$(ip4 2)"
	knob_set 3 drop_every_ud 0
	check "IPv4" within 15000 ping_ok 1 "$(ip4 2)"
	check "IPv6" within 30000 ping_ok 1 "$(ip6 2)"
	connected_if "$1"
	link_up 2
	check "carrier" slowwait 10 in_node 2 grep -q 1 /sys/class/net/ib0/carrier
	in_node 2 sh -c 'echo ib0 > /sys/class/net/bond0/bonding/active_slave'
	check "as before" slowwait 5 in_use ib0
	check "and reached" slowwait 5 ping_ok 1 "$(ip4 2)"
}

refused()
{
	node_ip 1 link add br0 type bridge
	check_not "bridge" node_ip 1 link set ib0 master br0
	check_not "VLAN" node_ip 1 link add link ib0 name ib0.7 type vlan id 7
	check_not "macvlan" node_ip 1 link add link ib0 name mac0 type macvlan
	node_ip 1 link del br0
	check "still works" ping_once 1 "$(ip4 2)"
}

# netconsole looks for the interface in the namespace of the process that enables it.
netpoll()
{
	local target=/sys/kernel/config/netconsole/ipoib

	modprobe -q netconsole || { check_skip "the kernel has no netconsole"; return; }
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	check "target" mkdir "$target"
	check "interface" tee "$target/dev_name" <<< ib0
	check "address" tee "$target/remote_ip" <<< "$(ip4 2)"
	check_not "enabled" nsenter --net=/run/netns/node1 tee "$target/enabled" <<< 1
	check "netpoll refuses it" klog_has "ib0 doesn't support polling"
	rmdir "$target"
	modprobe -r netconsole
	check "still works" ping_once 1 "$(ip4 2)"
}

# A bond that is not of Ethernet goes with its last interface: so says bonding.
unload()
{
	background 1 ping -q -i 0.01 "$(ip4 2)" > /dev/null
	check "unload" driver_unload
	background_stop
	check_not "the bond" node_ip 2 link show dev bond0
}

ktap_main "$@"
