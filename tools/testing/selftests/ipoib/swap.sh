#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ib-ipoib-swap puts this driver in place of the kernel's own, and back: the interfaces
# keep what they have. No namespaces: it is about those of a machine.
#
#	ib0   ib1 (connected)		P_Keys 0xffff and 0x8001; a child of each kind
#	 |     |
#	+-+-----+-+
#	| switch  |
#	+---------+

. "$(dirname "$0")/lib.sh"

SWAP=$LIB_DIR/../../../install/ib-ipoib-swap

CASES=(
	"nothing B1 --to stock loads the kernel's driver with no driver loaded"
	"says - --check reports that the kernel's own driver is loaded"
	"swap_to:ours B1 the driver of the repository replaces the kernel's, and interfaces keep names, addresses, routes, modes, MTUs, sysctls and children"
	"twice - a driver that is loaded already stays, and its interfaces, too"
	"swap_to:stock B1 the kernel's driver replaces the driver of the repository, and interfaces keep their settings"
	"returns B1 the former driver comes back with all settings if the driver of the repository cannot be loaded"
	"refused - an interface in another namespace prevents the swap, except with --force"
)

NEEDS=(
	[says]=nothing
	[swap_to:ours]=says
	[twice]=swap_to:ours
	[swap_to:stock]=twice
	[returns]=swap_to:stock
	[refused]=returns
)

setup()
{
	quiet_ipv6
	fabric_load 2
	partitions "Default=0x7fff, ipoib : ALL=full;" "Blue=0x0001, ipoib : ALL=full;"
	opensm_start
}

diagnose()
{
	ip -br addr
	cat "$TESTDIR"/before "$TESTDIR"/after "$TESTDIR"/swap 2> /dev/null
	dmesg | tail -n 5
}

# swap OPTION...: what it says is in $TESTDIR/swap
swap()
{
	"$SWAP" "$@" > "$TESTDIR/swap" 2>&1
}

# loaded ours|stock: which one it is, by a parameter that only one has
loaded()
{
	local kind=stock

	[ ! -e /sys/module/ib_ipoib/parameters/cm_idle_seconds ] || kind=ours
	[ -e /sys/module/ib_ipoib ] && [ "$kind" = "$1" ]
}

all_have_carrier()
{
	local dev

	for dev in ib0 ib1 ib0.8001; do
		[ "$(cat /sys/class/net/"$dev"/carrier)" = 1 ] || return 1
	done
}

nothing()
{
	check "swap" swap --to stock || return
	check "loaded" loaded stock
	check "interfaces" busywait 5000 test -e /sys/class/net/ib1 || return
	configure
	check "carrier" busywait 20000 all_have_carrier
}

# What an administrator may have set
configure()
{
	echo 0x8001 > /sys/class/net/ib0/create_child
	echo connected > /sys/class/net/ib1/mode
	ip link set ib1 mtu 9000 txqueuelen 300
	ip link set ib0 mtu 1800
	sysctl -qw net.ipv4.conf.ib0.rp_filter=2 net.ipv4.neigh.ib1.base_reachable_time_ms=77000 \
		net.ipv6.conf.ib0.accept_ra=0
	ip -batch - <<-END
		link set ib0 up
		link set ib1 up
		link set ib0.8001 up
		addr add 10.9.0.1/24 brd + dev ib0
		addr add 10.9.9.1/24 dev ib0 label ib0:one
		addr add 10.9.10.1 peer 10.9.10.2/32 dev ib0
		addr add 10.9.1.1/24 dev ib1 valid_lft 3000 preferred_lft 2000
		addr add 10.9.2.1/24 dev ib0.8001
		addr add fd09::1/64 dev ib0 nodad
		route add 203.0.113.0/24 via 10.9.0.77 dev ib0 metric 7
		route add 203.0.113.0/24 via 10.9.1.77 dev ib1 metric 9
		route add 198.51.100.0/24 dev ib0.8001 src 10.9.2.1 table 77
		route add fd99::/32 via fd09::77 dev ib0 metric 5
	END
}

# state: all that has to be the same. Not that of an address with a limited life, by the
# second, nor the link-layer addresses, which have another QPN.
state()
{
	local dev

	for dev in ib0 ib1 ib0.8001; do
		echo "$dev $(cat "/sys/class/net/$dev/"{mode,mtu,umcast,tx_queue_len,pkey} | tr '\n' ' ')"
		ip -o addr show dev "$dev" | sed -e 's/^[0-9]*: //' -e 's/_lft [0-9]*sec/_lft N/g' |
			tr -s ' ' | sort
		ip -4 route show table all dev "$dev" | tr -s ' ' | sort
		ip -6 route show table all dev "$dev" | grep -v "^multicast" | tr -s ' ' | sort
	done
	sysctl net.ipv4.conf.ib0.rp_filter net.ipv4.neigh.ib1.base_reachable_time_ms \
		net.ipv6.conf.ib0.accept_ra
	cat /sys/class/net/ib0.8001/parent
}

# same_after COMMAND...: and the state is what it was
same_after()
{
	state > "$TESTDIR/before"
	"$@"
	busywait 5000 state_is_back
}

state_is_back()
{
	state > "$TESTDIR/after"
	diff "$TESTDIR/before" "$TESTDIR/after"
}

says()
{
	swap --check || fail "no check"
	check "says so" grep -q "kernel's own ib_ipoib is loaded" "$TESTDIR/swap"
}

# swap_to ours|stock: the state stays, and the time without carrier is said
swap_to()
{
	check "state" same_after swap --to "$1"
	check "loaded" loaded "$1"
	check "carrier" all_have_carrier
	note "$(tr '\n' ';' < "$TESTDIR/swap")"
	check_eq "times" "$(grep -c '^ib.*: no carrier for [0-9.]* s$' "$TESTDIR/swap")" 3
}

twice()
{
	local index

	index=$(cat /sys/class/net/ib0/ifindex)
	check "swap" swap --to ours
	check "says so" grep -q 'loaded already' "$TESTDIR/swap"
	check_eq "interface" "$(cat /sys/class/net/ib0/ifindex)" "$index"
}

# This driver does not take that; the other one has no such parameter.
returns()
{
	state > "$TESTDIR/before"
	mkdir -p /run/modprobe.d
	echo "options ib_ipoib cm_max_connections=none" > /run/modprobe.d/swap.conf
	check_not "swap" swap --to ours
	rm /run/modprobe.d/swap.conf
	check "says so" grep -q 'the former driver is back' "$TESTDIR/swap"
	check "loaded" loaded stock
	check "state" busywait 5000 state_is_back
	check "carrier" busywait 20000 all_have_carrier
}

refused()
{
	ip netns add elsewhere
	ip link set ib1 netns elsewhere
	check_not "swap" swap --to ours
	check "says so" grep -q 'in other network namespaces' "$TESTDIR/swap"
	check "loaded" loaded stock
	ip netns del elsewhere
	check "with --force" swap --to ours --force
	check "loaded" loaded ours
}

ktap_main "$@"
