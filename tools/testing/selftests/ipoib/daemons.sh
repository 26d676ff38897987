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
	"networkd:datagram B47 systemd-networkd gives the interface its address"
	"networkd:child B47 systemd-networkd makes a child by Kind=ipoib, in connected mode"
	"name:link B47 udev gives the interface the name and MTU of a .link file, found by its GUID"
	"name:rule B47 udev names the interface by a rule, as in 70-persistent-ipoib.rules"
	"nm:datagram B47 NetworkManager gives the interface its address"
	"nm:connected B47 NetworkManager sets connected mode with MTU 65520, which survives down and up"
	"nm:child B47 NetworkManager makes a child by p-key and parent"
	"netplan B47 netplan has NetworkManager set mode, MTU and address"
	"ifupdown B47 ifupdown sets mode, MTU and address, and makes and removes a child"
	"dhcp B47 systemd-networkd gets an IPv4 and an IPv6 address from dnsmasq"
	"radvd B47 the kernel takes a prefix that radvd advertises"
	"keepalived F72 a peer follows an IPv6 address that keepalived has moved at once"
	"chrony - chronyd synchronises by the kernel's receive time stamps"
	"ibacm B47 ibacm finds the SA's path to an IP address"
	"modules B1,B47 udev's list of modules for InfiniBand makes systemd load the driver"
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

# ---- the boxes ----

# box_start: with node 1's ib0 as it is after boot
box_start()
{
	node_ip 1 link set ib0 down
	node_ip 1 addr flush dev ib0
	in_node 1 sh -c 'echo datagram > /sys/class/net/ib0/mode'
	box_of 1
}

# box_of NODE: as the box, with its interfaces as they are
box_of()
{
	spawn "$1" sh -c 'mount -t tmpfs -o mode=755 run /run && cp -a /etc /run/etc && mount --bind /run/etc /etc &&
		mkdir -p /run/systemd /run/network /run/lock && mkdir -m 750 /run/chrony &&
		tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id &&
		echo ready && exec sleep infinity' \
		> "$TESTDIR/box" &
	BOX=$!
	BACKGROUND+=("$BOX")
	background_ready "$TESTDIR/box" || fail "no box"
}

# box_by_hand: the box, with an interface that was set up before
box_by_hand()
{
	box_start
	node_ip 1 link set ib0 up
	node_ip 1 addr add "$(ip4 1)/16" dev ib0
	slowwait 10 ping_ok 1 "$(ip4 2)" || fail "no ping"
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

name()
{
	local address where=/etc/systemd/network file=70-ib.link

	address=$(in_node 1 cat /sys/class/net/ib0/address)
	box_start
	case $1 in
	link)	in_box mkdir -p "$where" ;;
	rule)	where=/etc/udev/rules.d file=70-persistent-ipoib.rules ;;
	esac
	sed "s/80:.*:f2/$address/; s/00:02:c9.*:f2/${address: -23}/" "$EXAMPLES/udev/$file" > "$TESTDIR/$file"
	in_box cp "$TESTDIR/$file" "$where/"
	udev_start
	check "name" slowwait 10 has_interface fabric0
	[ "$1" != link ] || check "MTU" slowwait 10 mtu_is fabric0 1500
	node_ip 1 link set fabric0 down
	node_ip 1 link set fabric0 name ib0 mtu 2044
	box_end
}

has_interface()
{
	node_ip 1 link show dev "$1" > /dev/null
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

neighbour_is()
{
	node_ip 1 neigh show "$1" dev ib0 | grep -q "lladdr $2 "
}

# Node 1 has seen the address at another node.
keepalived()
{
	local vip=fd09::7777 there

	there=$(lladdr 2 | sed 's/../&:/g; s/:$//')
	box_by_hand
	node_ip 1 addr add fd09::1/64 dev ib0 nodad
	node_ip 1 neigh replace "$vip" dev ib0 nud reachable lladdr "${there%??}77"
	background 2 keepalived -n -l -P -f "$EXAMPLES/keepalived/keepalived.conf" \
		-p "$TESTDIR/keepalived.pid" -r "$TESTDIR/vrrp.pid" > "$TESTDIR/keepalived.log" 2>&1
	check "address" slowwait 30 node_ip_has 2 "$vip"
	check "node 1 follows" within 5000 neighbour_is "$vip" "$there"
	check "ping" ping_ok 1 "$vip"
	background_stop
	node_ip 1 neigh flush dev ib0
}

node_ip_has()
{
	node_ip "$1" -6 -o addr show dev ib0 | grep -q "$2"
}

chrony()
{
	box_of 2
	box_daemon server chronyd -x -d -u root -f "$EXAMPLES/chrony/server.conf"
	box_by_hand
	box_daemon chronyd chronyd -x -d -u root -f "$EXAMPLES/chrony/client.conf"
	check "follows" slowwait 60 chrony_says tracking "Reference ID .*(10.9.0.2)"
	check "received" chrony_says "ntpdata 10.9.0.2" "RX timestamping *: Kernel"
	[ "$RET" -eq 0 ] || note "$(tail -n 8 "$TESTDIR/chronyd.log" "$TESTDIR/server.log")"
	box_end
}

# chrony_says COMMAND PATTERN
chrony_says()
{
	# shellcheck disable=SC2086 # words
	in_box chronyc -n $1 | grep "$2"
}

# It takes the addresses, partitions and GIDs of the interfaces from sysfs. With -v the path is
# compared with the one that the SA gives.
ibacm()
{
	box_of 2
	box_daemon ibacm2 ibacm -P
	box_by_hand
	box_daemon ibacm1 ibacm -P
	check "path" slowwait 60 ibacm_resolves
	[ "$RET" -eq 0 ] || note "$(in_box ib_acme -f i -s "$(ip4 1)" -d "$(ip4 2)" -v; tail -n 20 "$TESTDIR"/ibacm*.log;
		in_box cat /var/log/ibacm.log)"
	box_end
}

ibacm_resolves()
{
	in_box ib_acme -f i -s "$(ip4 1)" -d "$(ip4 2)" -v > "$TESTDIR/acme" 2>&1 &&
		grep -q "path verification: success\|SA verification: success" "$TESTDIR/acme"
}

# rdma-load-modules@infiniband.service of rdma-core, which a rule of udev starts, runs this.
modules()
{
	local list=/etc/rdma/modules/infiniband.conf

	driver_unload
	check_not "unloaded" test -e /sys/module/ib_ipoib
	check "loads" /lib/systemd/systemd-modules-load "$list"
	check "loaded" test -e /sys/module/ib_ipoib
	interfaces_add
	nodes_up
	check "ping" wait_ping 1 2
}

ktap_main "$@"
