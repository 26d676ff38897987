#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything that can happen at once does, and the interfaces work after it.
# Whatever the kernel says meanwhile is a failure; this is the test to run on
# kernels that look for races.
#
#	node1 <=====> node2 <=====> node3	ping, UDP, TCP, multicast
#	  |             |             |
#	+-+-------------+-------------+-+	while settings change, interfaces
#	|          the fabric           |	go down and up, move, are read,
#	+-------------------------------+	links flap, the SM comes and goes

. "$(dirname "$0")/lib.sh"

# How long each storm lasts. Kernels that look at everything need more of it.
case ${IPOIB_KERNEL:-stock} in
stock) STORM_MS=5000 ;;
*) STORM_MS=20000 ;;
esac
# Actors end by themselves; this many seconds later one hangs.
STORM_GRACE=60

CASES=(
	"traffic F31 all kinds of traffic in both directions"
	"readers F31 while statistics and files are read"
	"settings B5,F31 while MTU and mode are set"
	"groups U54,F31 while groups are joined, left and sent to"
	"updown U17,F31 while an interface goes down and up"
	"netns B16,F31 while an interface moves between network namespaces"
	"flaps U17,F31 while links flap"
	"sm U17,U54,F31 while the subnet manager comes and goes"
	"all U17,F31 all of this at once"
	"unload A8 and unloading in the midst of it"
)

declare -A ACTORS=()

setup()
{
	fabric_up 3
	# where node 2's interface goes for a moment
	ip netns add node92
	NODES_UP+=(92)
	check_pairs || ktap_bail "no ping"
}

# What every node knows of the others, if a case failed.
diagnose()
{
	local node

	for node in 1 2 3; do
		note "node $node: $(node_ip "$node" -o link show dev ib0)"
		note "$(node_ip "$node" neigh show dev ib0)"
	done
	# shellcheck disable=SC2046 # names without spaces
	note "$(tail -n 100 /sys/kernel/debug/ipoib/* $(fabric_files) 2>&1 | grep -v ' 0$')"
}

# ---- actors: each does one thing again and again until the storm is over ----

# act NAME COMMAND...: in the background; TESTDIR/act.NAME counts what succeeded. What was
# kept from it by the others, or by a slow machine, succeeds when the storm is over.
act()
{
	local name=$1 end=$STORM_END done=0 grace=$((STORM_GRACE * 500 * SLOW))

	shift
	(
		while [ "$(now_ms)" -lt "$end" ] ||
			{ [ "$done" -eq 0 ] && [ "$(now_ms)" -lt $((end + grace)) ]; }; do
			if "$@"; then
				done=$((done + 1))
			else
				nap 0.1
			fi
		done
		echo "$done" > "$TESTDIR/act.$name"
	) > /dev/null 2>&1 &
	ACTORS[$name]=$!
}

act_ping()
{
	in_node "$1" ping -n -q -f -w 1 -s "$3" "$2"
}

act_udp()
{
	in_node "$1" timeout 2 udp_group send ib0 "$2" 9 1000 100 500
}

# act_tcp FROM TO: with a server of its own, for one whose client was cut off may wait long
act_tcp()
{
	local port=$((5300 + RANDOM % 1000)) server status

	in_node "$2" timeout $((6 * SLOW)) iperf3 -s -1 -p "$port" &
	server=$!
	nap "0.$((2 * SLOW))"
	in_node "$1" timeout $((4 * SLOW)) iperf3 -c "$(ip4 "$2")" -p "$port" -t 1
	status=$?
	kill "$server"
	wait "$server"
	return "$status"
}

# A file may go while it is read, with its interface; not all of them, each time.
act_read()
{
	local dir=/sys/class/net/ib0 file

	for file in /sys/kernel/debug/ipoib/* $(fabric_files); do
		[ ! -r "$file" ] || cat "$file"
	done
	# shellcheck disable=SC2016 # for that shell
	in_node "$1" bash -c 'cat $0/statistics/* $0/{address,carrier,mtu,mode,pkey,operstate} &&
		cat /proc/net/{dev,dev_mcast,igmp,igmp6,arp} &&
		ethtool -S ib0 && ethtool -i ib0 && ethtool ib0 &&
		ip -s -d link show ib0 && ip -s neigh' "$dir"
}

act_mtu()
{
	node_ip "$1" link set ib0 mtu 1280 && node_ip "$1" link set ib0 mtu 2044
}

act_mode()
{
	# shellcheck disable=SC2016 # for that shell
	in_node "$1" bash -c 'cd /sys/class/net/ib0 && for mode in connected datagram; do
			echo $mode > mode || exit
		done' &&
		node_ip "$1" link set ib0 allmulticast on &&
		node_ip "$1" link set ib0 allmulticast off
}

# act_join NODE NET: ten groups for a moment
act_join()
{
	in_node "$1" timeout 0.3 udp_group join ib0 "239.$2.1".{1..9} "ff05::$2"
	[ $? -eq 124 ]
}

act_send()
{
	local i

	for i in 1 5 9; do
		in_node "$1" udp_group send ib0 "239.$2.1.$i" 9 500 20 1000 || return
	done
}

act_updown()
{
	node_ip "$1" link set ib0 down && node_config_again "$1" "$1"
}

act_move()
{
	node_ip 2 link set ib0 netns node92 && node_config_again 92 2 &&
		node_ip 92 link set ib0 netns node2 && node_config_again 2 2
}

act_link()
{
	link_down "$1"
	link_up "$1"
	slowwait 5 port_is_active "$1"
}

# node_config_again NODE AS: the interface in node NODE is up, with AS's addresses
node_config_again()
{
	node_ip "$1" addr replace "$(ip4 "$2")/16" brd + dev ib0 &&
		node_ip "$1" addr replace "$(ip6 "$2")/64" dev ib0 nodad &&
		node_ip "$1" link set ib0 up
}

# ---- storms ----

storm_begin()
{
	STORM_END=$(($(now_ms) + STORM_MS))
	ACTORS=()
	rm -f "$TESTDIR"/act.*
}

act_traffic()
{
	act ping12 act_ping 1 "$(ip4 2)" 56
	act ping21 act_ping 2 "$(ip6 1)" 1400
	act udp act_udp 3 "$(ip4 2)"
	act tcp act_tcp 1 2
}

actors_ended()
{
	local name

	for name in "${!ACTORS[@]}"; do
		! kill -0 "${ACTORS[$name]}" 2> /dev/null || return 1
	done
}

# storm_end: all actors have ended, and each has succeeded at least once
storm_end()
{
	local name left

	left=$(((STORM_END - $(now_ms)) / 1000 + STORM_GRACE))
	check "all actors end" slowwait "$left" actors_ended
	background_stop
	for name in "${!ACTORS[@]}"; do
		kill "${ACTORS[$name]}" 2> /dev/null
		note "$name: $(cat "$TESTDIR/act.$name" 2>&1)"
		check_num "what $name did" "$(cat "$TESTDIR/act.$name")" -ge 1
	done
	restored
}

check_pairs()
{
	check "ping" wait_ping 1 2 20 && check "ping" wait_ping 2 3 20 &&
		check "ping" wait_ping 3 1 20
}

# Everything is as it was, and works.
restored()
{
	local node

	for node in 1 2 3; do
		check "node $node is configured" node_config_again "$node" "$node"
	done
	check "carrier" wait_carrier 1 2 3
	check_pairs
}

traffic()
{
	storm_begin
	act_traffic
	storm_end
}

readers()
{
	storm_begin
	act_traffic
	act read1 act_read 1
	act read2 act_read 2
	storm_end
}

settings()
{
	storm_begin
	act_traffic
	act mtu act_mtu 2
	act mode act_mode 2
	act read act_read 2
	storm_end
}

groups()
{
	storm_begin
	act_traffic
	act join2 act_join 2 7
	act join3 act_join 3 7
	act send1 act_send 1 7
	act send3 act_send 3 7
	storm_end
}

updown()
{
	storm_begin
	act_traffic
	act updown act_updown 2
	act join act_join 2 8
	act send act_send 2 8
	act mtu act_mtu 2
	storm_end
}

netns()
{
	storm_begin
	act_traffic
	act move act_move
	act read act_read 2
	act join act_join 3 9
	act send act_send 3 9
	storm_end
}

flaps()
{
	storm_begin
	act_traffic
	act link2 act_link 2
	act link3 act_link 3
	act join act_join 2 10
	storm_end
}

# The subnet manager is this shell's child, so this is no actor.
sm_comes_and_goes()
{
	local times=0

	while [ "$(now_ms)" -lt "$STORM_END" ]; do
		opensm_kill
		opensm_start
		times=$((times + 1))
	done
	note "subnet managers: $times"
	check_num "subnet managers" "$times" -ge 1
}

sm()
{
	storm_begin
	act_traffic
	act join act_join 2 11
	act send act_send 3 11
	act updown act_updown 3
	sm_comes_and_goes
	storm_end
}

act_all()
{
	act_traffic
	act read1 act_read 1
	act mtu act_mtu 1
	act mode act_mode 3
	act join2 act_join 2 12
	act join3 act_join 3 12
	act send1 act_send 1 12
	act send3 act_send 3 12
	act updown act_updown 1
	act move act_move
	act link act_link 3
}

all()
{
	storm_begin
	act_all
	sm_comes_and_goes
	storm_end
}

unload()
{
	storm_begin
	act_all
	check "traffic runs" busywait 10000 counter_is 1 rx_packets -gt 0
	# half of the storm goes before it, half has no driver
	while [ "$(now_ms)" -lt $((STORM_END - STORM_MS / 2)) ]; do
		nap 0.1
	done
	check "unload" driver_unload
	check "gone" module_gone ib_ipoib
	slowwait "$STORM_GRACE" actors_ended || fail "not all actors end"
	background_stop
	driver_load
	nodes_up 1 2 3
	check "carrier" wait_carrier 1 2 3
	check_pairs
}

ktap_main "$@"
