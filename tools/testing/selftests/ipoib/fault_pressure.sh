#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Short of memory all the time, while traffic runs and everything comes and goes,
# the driver neither crashes nor hangs nor leaks, and works once there is memory.
#
#	node1 (SM) <== traffic ==> node2
#	  |                          |	interfaces, links, HCAs, groups and
#	+-+--------------------------+-+	the module come and go; each
#	|            switch            |	40th allocation fails
#	+------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_fault.sh
. "$LIB_DIR/lib_fault.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

# One in so many allocations in or below the driver fails.
EVERY=40
SECONDS_UNDER=20

CASES=(
	"comes_and_goes - interfaces, links, HCAs and groups under traffic, short of memory"
	"pieces C25 connections without memory in pieces of several pages receive into single pages"
	"unload A8 the module unloaded under traffic, short of memory, three times"
	"afterwards - all functions work with memory again"
)

setup()
{
	have_faults && fault_init
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
}

pressure_on()
{
	local kind

	fault_module_moved
	for kind in "${FAULT_KINDS[@]}"; do
		fault_arm "$kind" "%$EVERY" module
	done
}

# pressure_off: and count what has failed
pressure_off()
{
	local kind times

	for kind in "${FAULT_KINDS[@]}"; do
		read -r times < "$(fault_dir "$kind")/times"
		FAILED[$kind]=$((${FAILED[$kind]:-0} + 1000000 - times))
	done
	fault_disarm
}

declare -A FAILED

failed_note()
{
	note "failed: ${FAILED[failslab]:-0} objects, ${FAILED[fail_page_alloc]:-0} pages"
	check_num "allocations that failed" $((${FAILED[failslab]:-0} + ${FAILED[fail_page_alloc]:-0})) -gt 10
	FAILED=()
}

# What is refused for lack of memory is not an error here.
try()
{
	"$@" > /dev/null 2>&1 || TRIES_FAILED=$((TRIES_FAILED + 1))
}

traffic()
{
	background 1 ping -q -i 0.01 "$(ip4 2)" > /dev/null 2>&1
	background 2 ping -q -i 0.01 "$(ip6 1)" > /dev/null 2>&1
	background 2 ping -q -i 0.01 -s 1800 "$(ip4 1)" > /dev/null 2>&1
	background 1 udp_group send ib0 239.1.1.1 9 500 1000000 20000 > /dev/null 2>&1
}

# node_try NODE: its interface, as it may have come, into its namespace
node_try()
{
	local dev

	dev=$(netdev "$1") && try ip link set dev "$dev" netns "node$1" name ib0
	try node_ip "$1" addr add "$(ip4 "$1")/16" brd + dev ib0
	try node_ip "$1" addr add "$(ip6 "$1")/64" dev ib0 nodad
	try node_ip "$1" link set ib0 up
}

op_ifdown()
{
	try node_ip 2 link set ib0 down
	try node_ip 2 link set ib0 up
}

op_sender()
{
	try node_ip 1 link set ib0 down
	try node_ip 1 link set ib0 up
}

op_link()
{
	link_down 2
	link_up 2
}

op_plug()
{
	try hca_out
	try hca_in
	node_try 2
}

op_groups()
{
	try in_node 2 timeout 0.3 udp_group join ib0 239.2.$((RANDOM % 4)).{1..20}
}

op_mtu()
{
	try node_ip 2 link set ib0 mtu $((1000 + RANDOM % 1000))
}

hca_out()
{
	ibdev 2 > "$DEBUGFS/remove"
}

hca_in()
{
	ibdev 2 > "$DEBUGFS/add"
}

comes_and_goes()
{
	local ops=(ifdown sender link plug groups mtu) end done=()

	faults_or_skip || return
	TRIES_FAILED=0
	RANDOM=${SEED:=$$}
	note "SEED=$SEED"
	traffic
	pressure_on
	end=$((SECONDS + SECONDS_UNDER))
	while [ "$SECONDS" -lt "$end" ]; do
		done+=("${ops[RANDOM % ${#ops[@]}]}")
		"op_${done[-1]}"
	done
	pressure_off
	background_stop
	note "$TRIES_FAILED failed of: ${done[*]}"
	failed_note
	restored
}

# What was refused is asked for again, with memory.
restored()
{
	local node

	module_gone ib_ipoib && driver_load
	[ -e "/sys/class/infiniband/$(ibdev 2)" ] || hca_add 2
	for node in 1 2; do
		if ! node_ip "$node" link show dev ib0 > /dev/null 2>&1 &&
		   ! netdev "$node" > /dev/null; then
			note "node $node has no interface: its HCA is plugged in anew"
			driver_unload
			driver_load
		fi
	done
	node_try 1
	node_try 2
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2 30
}

# What the driver allocates fails if it is four pages or more.
pieces()
{
	local min_order

	faults_or_skip || return
	min_order=$(fault_dir fail_page_alloc)/min-order
	in_mode connected rc 1 2 || fail "no connected mode"
	fault_module_moved
	echo 2 > "$min_order"
	fault_arm fail_page_alloc %1 module
	check "connection" connect 1 2
	check "ping" ping_lossless 1 "$(ip4 2)" 20 -s 60000
	check "ping back" ping_lossless 2 "$(ip6 1)" 20 -s 60000
	pressure_off
	echo 0 > "$min_order"
	check_num "allocations that failed" "${FAILED[fail_page_alloc]:-0}" -gt 10
	FAILED=()
	check "ping" ping_lossless 1 "$(ip4 2)" 200 -s 60000
	in_mode datagram rc 1 2 || fail "no datagram mode"
}

unload()
{
	local i

	faults_or_skip || return
	for ((i = 0; i < 3; i++)); do
		traffic
		check "traffic runs" busywait 20000 counter_is 2 rx_packets -gt 20
		pressure_on
		check "rmmod" rmmod ib_ipoib
		pressure_off
		background_stop
		check "gone" module_gone ib_ipoib
		restored
	done
	failed_note
}

afterwards()
{
	faults_or_skip || return
	check "ping" ping_lossless 1 "$(ip4 2)" 20
	check "ping" ping_lossless 2 "$(ip6 1)" 20
	group_join 2 239.1.1.1
	check "member" slowwait 10 is_member 2 "$(mgid4 239.1.1.1)"
	check "groups" wait_ping 2 1
	group_leave
}

lib_exit_faults()
{
	fault_disarm
	lib_exit
}
trap lib_exit_faults EXIT

ktap_main "$@"
