#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver can be unloaded at any time, in less than a second, whatever is
# running and whether or not there is a subnet manager. (A second of a quiet
# machine: see scaled.)
#
#	node1 <== traffic ==> node2
#	  |                     |	rmmod in the midst of it
#	+-+---------------------+-+
#	|         switch          |
#	+-------------------------+

. "$(dirname "$0")/lib.sh"

LIMIT=1000

CASES=(
	"idle U60,A8 unload takes less than $LIMIT ms"
	"reload U46,U47 the driver works at once when loaded again"
	"under_traffic A8 unload works under TCP, UDP, ping and multicast traffic"
	"after_traffic A8 the driver works when loaded again after traffic"
	"while_joining A14 the driver is loaded and unloaded at once, five times"
	"no_sm A14 the driver can be unloaded without any subnet manager"
	"sm_dead A8 the driver can be unloaded with the subnet manager dead"
	"sm_dead_joining U54 the driver can be unloaded with joins pending at a dead subnet manager"
	"sm_dead_asking U20 the driver can be unloaded with path queries pending at a dead subnet manager"
	"sm_dead_softib A8 an HCA can be removed with the subnet manager dead, its interface at once"
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
}

# unload: TOOK
unload()
{
	local start

	start=$(now_ms)
	check "rmmod" rmmod ib_ipoib
	TOOK=$(($(now_ms) - start))
	check "gone" module_gone ib_ipoib
}

# unload_after COMMAND...: which loads it anew as it is here
unload_after()
{
	! module_gone ib_ipoib || "$@"
	unload
}

# unload_timed COMMAND...
unload_timed()
{
	takes_less "rmmod" "$LIMIT" unload_after "$@"
}

load()
{
	driver_load
	nodes_up
}

back()
{
	driver_load
	nodes_up
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2
}

idle()
{
	unload_timed back
}

reload()
{
	back
}

traffic()
{
	background 2 iperf3 -s > /dev/null 2>&1
	busywait 5000 iperf_listens 2
	background 1 iperf3 -c "$(ip4 2)" -t 60 > /dev/null 2>&1
	background 1 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	background 2 ping -q -f "$(ip6 1)" > /dev/null 2>&1
	group_join 2 239.1.1.1
	background 1 udp_group send ib0 239.1.1.1 9 500 1000000 1000 > /dev/null 2>&1
}

unload_busy()
{
	local before

	! module_gone ib_ipoib || back
	before=$(counter 2 rx_packets)
	traffic
	check "traffic runs" busywait 10000 counter_is 2 rx_packets -gt $((before + 500))
	unload
	background_stop
}

# All tries have to be clean. The traffic competes with rmmod for the two CPUs of an
# emulator.
under_traffic()
{
	takes_less "rmmod" "$LIMIT" unload_busy
}

after_traffic()
{
	back
}

while_joining()
{
	local i

	for ((i = 0; i < 5; i++)); do
		check "unload" driver_unload
		load
	done
	unload_timed load
	back
}

no_sm()
{
	unload
	opensm_stop
	unload_timed load
	opensm_start
	back
}

# sm_dies: when all is up
sm_dies()
{
	if module_gone ib_ipoib; then
		opensm_start
		back
	fi
	opensm_kill
}

sm_dead()
{
	sm_dies
	unload_timed sm_dies
	opensm_start
	back
}

unload_joining()
{
	sm_dies
	group_join 1 239.1.1.{1..20}
	in_node 1 udp_group send ib0 239.2.2.2 9 100 3
	unload
	background_stop
}

sm_dead_joining()
{
	takes_less "rmmod" "$LIMIT" unload_joining
	opensm_start
	back
}

unload_asking()
{
	sm_dies
	in_node 1 "$LIB_DIR/gid_flood.py" ib0 0 100 || fail "cannot send"
	unload
}

sm_dead_asking()
{
	takes_less "rmmod" "$LIMIT" unload_asking
	opensm_start
	back
}

# The interface is the driver's to remove. After it ib_core waits for the leaves
# that it still owes a subnet manager who is not there, a quarter of a minute for
# each HCA; they go one after the other, the last one first. So ten seconds are at once.
sm_dead_softib()
{
	local start rmmod

	opensm_kill
	start=$(now_ms)
	rmmod softib &
	rmmod=$!
	check "the interface goes" within 10000 no_interface 2
	note "the first interface took $(($(now_ms) - start)) ms"
	wait "$rmmod" || fail "rmmod failed"
	note "rmmod softib took $(($(now_ms) - start)) ms"
	check "gone" module_gone softib
	driver_unload
	FABRIC_N=0
}

ktap_main "$@"
