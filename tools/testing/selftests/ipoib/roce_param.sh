#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A RoCE port gets an interface if the module's parameter says so, and only then.
#
#	 ib0?   ib0?   ib0?
#	   |      |      |
#	 rxe1   rxe2   rxe3
#	+--+------+------+--+
#	|       bridge      |
#	+-------------------+

FABRIC=rxe
. "$(dirname "$0")/lib.sh"

PARAM=/sys/module/ib_ipoib/parameters/roce

CASES=(
	"default_none B1 without the parameter no RoCE port has an interface"
	"pattern:rxe1:1 B1 a name selects that device"
	"pattern:rxe[23]:23 B1 a pattern selects those it fits"
	"pattern:rxe3,rxe1:13 B1 a list selects each"
	"pattern:*:123 B1 * selects all"
	"pattern:none*: B1 what fits none selects none"
	"bad_values - a bad value is refused with a message, and nothing changes"
	"not_for_others U60 nobody but root may change it"
	"under_traffic A8 what is no longer selected goes under traffic, the others stay"
	"new_device A8 a device that comes later gets its interface"
	"renamed - so does one that is renamed, by its new name"
)

# The driver is loaded as a case wants it.
setup()
{
	fabric_load 3
}

interfaces()
{
	local node

	for node in 1 2 3; do
		! netdev "$node" > /dev/null || echo -n "$node"
	done
}

interfaces_are()
{
	[ "$(interfaces)" = "$1" ]
}

# select_ports PATTERNS
select_ports()
{
	echo "$1" > "$PARAM"
}

default_none()
{
	modprobe ib_ipoib || ktap_bail "cannot load ib_ipoib"
	check "no interface" stays 1000 interfaces_are ""
	check_eq "parameter" "$(< "$PARAM")" ""
}

pattern()
{
	check "write" select_ports "$1"
	check_eq "read back" "$(< "$PARAM")" "$1"
	check "interfaces" busywait 3000 interfaces_are "$2"
	check "no others" stays 300 interfaces_are "$2"
}

# names COUNT LENGTH: so many of them, each with a comma behind it
names()
{
	local i

	for ((i = 0; i < $1; i++)); do
		printf '%0*d,' "$2" "$i"
	done
}

# No more than 64 patterns are taken, nor than 1024 characters with echo's newline.
bad_values()
{
	local value

	check "64 patterns" select_ports "$(names 63 2)rxe2"
	check "1024 characters" select_ports "$(names 19 52)00000000000,rxe2"
	select_ports 'rxe2'
	check "interface" busywait 3000 interfaces_are 2
	for value in ',' 'rxe1,' ',rxe1' 'rxe1 rxe2' rxe1@0 rxe1@4095 rxe1@x @5 \
		"$(printf '%0100d' 0)" "$(names 64 2)rxe2" "$(names 19 52)000000000000,rxe2"; do
		check_not "'$value'" select_ports "$value" 2> /dev/null
		check_eq "after '$value'" "$(< "$PARAM")" rxe2
		check "after '$value'" interfaces_are 2
	done
	check "a message" grep -q 'ipoib.*roce' <<< "$(klog)"
	driver_unload
	check_not "the module with a bad value" modprobe ib_ipoib roce=, 2> /dev/null
	check "not loaded" module_gone ib_ipoib
	check "with a good one" modprobe ib_ipoib roce=rxe2
	check "interface" busywait 3000 interfaces_are 2
}

not_for_others()
{
	check_eq "mode" "$(stat -c %a "$PARAM")" 644
	check_not "nobody writes" setpriv --reuid 65534 --clear-groups --inh-caps=-all \
		sh -c "echo '*' > $PARAM" 2> /dev/null
	check "nothing came of it" stays 300 interfaces_are 2
}

# All three in their namespaces, whatever is there now. What they knew of each other
# is forgotten: a new interface has another address.
all_up()
{
	local node

	select_ports '*'
	for node in 1 2 3; do
		no_interface "$node" || continue
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
	select_ports ''
	all_up
	background 1 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	background 2 ping -q -f "$(ip6 1)" > /dev/null 2>&1
	background 3 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	check "write" select_ports 'rxe[23]'
	check "node 1's goes" slowwait 5 no_interface 1
	check "the others speak" ping_lossless 3 "$(ip4 2)" 20
	background_stop
	all_up
}

new_device()
{
	hca_remove 3
	check "gone" slowwait 5 no_interface 3
	hca_add 3
	check "back" busywait 3000 netdev 3
	all_up
}

renamed()
{
	select_ports 'rxe[12],other'
	check "gone" slowwait 5 no_interface 3
	rdma dev set rxe3 name other
	check "an interface of that name's" busywait 3000 other_netdev
	rdma dev set other name rxe3
	check "gone again" busywait 3000 interfaces_are ""
	all_up
}

other_netdev()
{
	ip -o link show | grep -q link/infiniband
}

ktap_main "$@"
