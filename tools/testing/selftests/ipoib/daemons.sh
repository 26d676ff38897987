#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What people configure interfaces with: each of these programs, as its package has it, with
# a profile of Documentation/examples.
#
#	 a box: /run, /etc and /sys of its own
#	+-------------------------------+
#	| the program		node1	|	node2
#	|			  |	|	  |	what the case has set up by hand
#	+-------------------------|-----+	  |
#				+-+---------------+-+
#				|      switch       |
#				+-------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"networkd:datagram - systemd-networkd gives the interface its address"
	"networkd:child - and makes a child by Kind=ipoib, in connected mode"
	"nm:datagram - NetworkManager gives the interface its address"
	"nm:connected - and connected mode with MTU 65520, which stays over down and up"
	"nm:child - and makes a child by p-key and parent"
	"netplan - netplan has NetworkManager set mode, MTU and address"
	"ifupdown - ifupdown sets mode, MTU and address, and makes a child and takes it away"
	"dhcp - systemd-networkd gets an IPv4 and an IPv6 address from dnsmasq"
	"radvd - the kernel takes a prefix that radvd advertises"
)

EXAMPLES=$LIB_DIR/../../../../Documentation/examples

setup()
{
	fabric_load 2
	partitions "Default=0x7fff, ipoib : ALL=full;" "Blue=0x0001, ipoib : ALL=full;"
	opensm_start
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	wait_ping 1 2 || ktap_bail "no ping"
	blue_by_hand || ktap_bail "no child of node 2"
}

blue_by_hand()
{
	node_ip 2 link add link ib0 name blue type ipoib pkey 0x8001 mode connected &&
		node_ip 2 addr add 10.8.0.2/24 dev blue &&
		node_ip 2 link set blue up
}

# ---- the box ----

# box_start: with node 1's ib0 as it is after boot
box_start()
{
	node_ip 1 link set ib0 down
	node_ip 1 addr flush dev ib0
	in_node 1 sh -c 'echo datagram > /sys/class/net/ib0/mode'
	spawn 1 sh -c 'mount -t tmpfs -o mode=755 run /run && cp -a /etc /run/etc && mount --bind /run/etc /etc &&
		mkdir -p /run/systemd /run/network /run/lock &&
		tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id &&
		echo ready && exec sleep infinity' \
		> "$TESTDIR/box" &
	BOX=$!
	BACKGROUND+=("$BOX")
	background_ready "$TESTDIR/box" || fail "no box"
}

in_box()
{
	nsenter -t "$BOX" -m -n -- "$@"
}

# box_run COMMAND...: in the background
box_run()
{
	exec nsenter -t "$BOX" -m -n -- "$@"
}

# box_daemon NAME COMMAND...: in the background, with its log
box_daemon()
{
	box_run "${@:2}" > "$TESTDIR/$1.log" 2>&1 &
	BACKGROUND+=($!)
}

box_end()
{
	background_stop
	node_ip 1 link del ib0.8001 2> /dev/null
	node_ip 1 link set ib0 down
	node_ip 1 addr flush dev ib0
}

udev_start()
{
	box_daemon udevd /lib/systemd/systemd-udevd
	busywait 10000 in_box test -e /run/udev/control || fail "no udevd"
	in_box udevadm trigger --settle --subsystem-match=net --action=add
}

has_address()
{
	node_ip 1 -br addr show dev "$1" | grep -qw "$2"
}

mode_is()
{
	[ "$(in_node 1 cat "/sys/class/net/$1/mode")" = "$2" ]
}

mtu_is()
{
	[ "$(in_node 1 cat "/sys/class/net/$1/mtu")" = "$2" ]
}

# ---- the programs ----

# networkd_start PROFILE...
networkd_start()
{
	local profile

	box_start
	in_box mkdir -p /etc/systemd/network
	for profile; do
		in_box cp "$EXAMPLES/networkd/$profile" /etc/systemd/network/
	done
	udev_start
	box_daemon networkd /lib/systemd/systemd-networkd
}

networkd()
{
	case $1 in
	datagram)
		networkd_start ib0.network
		check "address" slowwait 20 has_address ib0 10.9.0.1/16
		check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
		;;
	child)
		networkd_start ib0-parent.network ib0.8001.netdev ib0.8001.network
		check "address" slowwait 20 has_address ib0.8001 10.8.0.1/24
		check "mode" mode_is ib0.8001 connected
		check "MTU" slowwait 10 mtu_is ib0.8001 65520
		check "ping" slowwait 10 ping_ok 1 10.8.0.2
		check "the parent's, too" slowwait 10 ping_ok 1 "$(ip4 2)"
		;;
	esac
	note "$(tail -n 5 "$TESTDIR/networkd.log")"
	box_end
}

nm_start()
{
	box_start
	in_box sh -c 'printf "[main]\nauth-polkit=false\nplugins=keyfile\n" > /etc/NetworkManager/NetworkManager.conf
		mkdir -p /run/dbus /run/NetworkManager'
	udev_start
	box_daemon dbus dbus-daemon --system --nofork --nopidfile
	busywait 10000 in_box test -S /run/dbus/system_bus_socket || fail "no bus"
	box_daemon nm NetworkManager --no-daemon
	slowwait 30 nm_runs || fail "no NetworkManager"
}

nm_runs()
{
	in_box nmcli -t -f RUNNING general > /dev/null 2>&1
}

# nm_up PROFILE
nm_up()
{
	in_box install -m 600 "$EXAMPLES/NetworkManager/$1.nmconnection" /etc/NetworkManager/system-connections/
	in_box nmcli connection load "/etc/NetworkManager/system-connections/$1.nmconnection" &&
		in_box nmcli --wait 30 connection up "$1"
}

nm()
{
	nm_start
	case $1 in
	datagram)
		check "up" nm_up ib0
		check "address" slowwait 10 has_address ib0 10.9.0.1/16
		check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
		;;
	connected)
		check "up" nm_up ib0-connected
		check "mode" mode_is ib0 connected
		check "MTU" slowwait 10 mtu_is ib0 65520
		check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
		check "down" in_box nmcli connection down ib0-connected
		check "up" in_box nmcli --wait 30 connection up ib0-connected
		check "mode" mode_is ib0 connected
		check "MTU" slowwait 10 mtu_is ib0 65520
		;;
	child)
		check "up" nm_up ib0
		check "up" nm_up ib0.8001
		check "mode" mode_is ib0.8001 connected
		check "ping" slowwait 10 ping_ok 1 10.8.0.2
		check "down" in_box nmcli connection down ib0.8001
		check "away" in_box nmcli connection delete ib0.8001
		;;
	esac
	[ "$RET" -eq 0 ] || note "$(tail -n 12 "$TESTDIR/nm.log")"
	box_end
}

netplan()
{
	nm_start
	in_box install -m 600 -D "$EXAMPLES/netplan/ib0.yaml" /etc/netplan/ib0.yaml
	check "generate" in_box netplan generate
	check "reload" in_box nmcli connection reload
	check "up" in_box nmcli --wait 30 connection up netplan-ib0
	check "mode" mode_is ib0 connected
	check "MTU" slowwait 10 mtu_is ib0 65520
	check "address" slowwait 10 has_address ib0 10.9.0.1/16
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	[ "$RET" -eq 0 ] || note "$(tail -n 12 "$TESTDIR/nm.log")"
	box_end
}

ifupdown()
{
	box_start
	in_box cp "$EXAMPLES/ifupdown/interfaces" /etc/network/interfaces
	check "up" in_box ifup ib0
	check "mode" mode_is ib0 connected
	check "MTU" mtu_is ib0 65520
	check "address" has_address ib0 10.9.0.1/16
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	check "child up" in_box ifup blue
	check "ping" slowwait 10 ping_ok 1 10.8.0.2
	check "child down" in_box ifdown blue
	check_not "it is there" node_ip 1 link show dev blue
	check "down" in_box ifdown ib0
	check_not "address" has_address ib0 10.9.0.1/16
	box_end
}

dhcp()
{
	background 2 dnsmasq --keep-in-foreground --conf-file="$EXAMPLES/dnsmasq/dnsmasq.conf" \
		--dhcp-leasefile="$TESTDIR/leases" --log-dhcp --log-facility="$TESTDIR/dnsmasq.log" \
		--user=root --pid-file
	networkd_start ib0-dhcp.network
	check "IPv4 address" slowwait 30 has_prefix 10.9.7.
	check "IPv6 address" slowwait 30 has_prefix fd09::7:
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	note "$(cat "$TESTDIR/leases")"
	[ "$RET" -eq 0 ] || note "$(tail -n 12 "$TESTDIR/networkd.log" "$TESTDIR/dnsmasq.log")"
	box_end
}

has_prefix()
{
	node_ip 1 -br addr show dev ib0 | grep -q " $1"
}

radvd()
{
	in_node 2 sysctl -q net.ipv6.conf.ib0.forwarding=1
	in_node 1 sysctl -q net.ipv6.conf.ib0.accept_ra=1
	background 2 radvd -n -C "$EXAMPLES/radvd/radvd.conf" -p "$TESTDIR/radvd.pid" -m stderr
	node_ip 1 link set ib0 up
	check "address" slowwait 30 has_prefix fd0a::
	background_stop
}

ktap_main "$@"
