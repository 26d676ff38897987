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
stock) STORM_MS=5000 STORM_MORE=120000 ;;
*) STORM_MS=20000 STORM_MORE=240000 ;;
esac
# It lasts by so much longer, at most, until each actor has succeeded so often in it.
SUCCESSES=1
# Then those that keep others from it rest, for so many seconds at first, and twice as many
# each time.
REST_FIRST=$((3 + SLOW))

CASES=(
	"traffic F31 all kinds of traffic run in both directions"
	"readers F31 traffic runs while statistics and files are read"
	"settings B5,F31 traffic runs while MTU and mode are set"
	"groups U54,F31 traffic runs while groups are joined, left and sent to"
	"updown U17,F31 traffic runs while an interface goes down and up"
	"netns B16,F31 traffic runs while an interface moves between network namespaces"
	"flaps U17,F31 traffic runs while links flap"
	"children B9,B14,F31 traffic runs while children are made and deleted"
	"sm U17,U54,F31 traffic runs while the subnet manager comes and goes"
	"all U17,F31 traffic runs while all of these changes happen at once"
	"unload A8 the driver can be unloaded during all of these changes"
)

declare -A ACTORS=()

setup()
{
	# for children, where there is a subnet manager
	partitions "Default=0x7fff, ipoib : ALL=full;" "Blue=0x0001, ipoib : ALL=full;" \
		"Green=0x0002, ipoib : ALL=full;"
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

# act NAME COMMAND...: in the background; TESTDIR/act.NAME counts what succeeded before the
# storm was over
act()
{
	local name=$1 n=0

	shift
	echo 0 > "$TESTDIR/act.$name"
	while [ -e "$TESTDIR/storm" ]; do
		"$@" || { nap 0.1; continue; }
		[ -e "$TESTDIR/storm" ] || break
		n=$((n + 1))
		echo "$n" > "$TESTDIR/act.$name"
		[ -z "${RESTS:-}" ] || rest [ -e "$TESTDIR/storm" ]
	done > /dev/null 2>&1 &
	ACTORS[$name]=$!
}

# disturb NAME COMMAND...: the same of one that keeps others from what they do
disturb()
{
	RESTS=1 act "$@"
}

# rest COMMAND...: if the storm lasts only for others to succeed, and while that is true
rest()
{
	local end

	now
	end=$((NOW + REST * 1000))
	[ "$NOW" -lt "$STORM_END" ] || REST=$((REST * 2))
	while [ "$NOW" -ge "$STORM_END" ] && [ "$NOW" -lt "$end" ] && "$@"; do
		nap 0.2
		now
	done
}

act_ping()
{
	in_node "$1" ping -n -q -f -w 1 -s "$3" "$2"
}

act_udp()
{
	in_node "$1" timeout $((5 * SLOW)) udp_group send ib0 "$2" 9 1000 100 500
}

# act_tcp FROM TO: with a server of its own, for one whose client was cut off may wait long
act_tcp()
{
	local port=$((5300 + RANDOM % 1000)) server status

	in_node "$2" timeout $((20 * SLOW)) iperf3 -s -1 -p "$port" &
	server=$!
	within 3000 in_node "$2" grep -qi "$(printf ':%04X .* 0A ' "$port")" /proc/net/tcp6
	in_node "$1" timeout $((10 * SLOW)) iperf3 -c "$(ip4 "$2")" -p "$port" -t 1
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
	local joined pid answer

	exec {joined}< <(spawn "$1" udp_group join ib0 "239.$2.1".{1..9} "ff05::$2")
	pid=$!
	read -r -t 10 -u "$joined" answer
	nap 0.3
	kill "$pid"
	exec {joined}<&-
	[ "$answer" = ready ]
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
	within 10000 port_is_active "$1"
}

# act_child NODE: one made by rtnetlink. One that is left, as the parent was elsewhere, goes
# at first.
act_child()
{
	node_ip "$1" link del child
	node_ip "$1" link add link ib0 name child type ipoib pkey 0x8001 &&
		node_ip "$1" link set child up && node_ip "$1" link del child
}

child_file_gone()
{
	in_node "$1" sh -c 'echo 0x8002 > /sys/class/net/ib0/delete_child'
}

# act_child_file NODE: one made by sysfs
act_child_file()
{
	child_file_gone "$1"
	in_node "$1" sh -c 'cd /sys/class/net/ib0 && echo 0x8002 > create_child &&
		ip link set ib0.8002 up && echo 0x8002 > delete_child'
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
	now
	STORM_END=$((NOW + STORM_MS))
	STORM_LAST=$((STORM_END + STORM_MORE))
	REST=$REST_FIRST
	ACTORS=()
	rm -f "$TESTDIR"/act.*
	touch "$TESTDIR/storm"
}

# successes NAME: sets SUCCEEDED to those of that actor so far
successes()
{
	read -r SUCCEEDED < "$TESTDIR/act.$1" || SUCCEEDED=0
}

all_have_succeeded()
{
	local name

	for name in "${!ACTORS[@]}"; do
		successes "$name"
		[ "$SUCCEEDED" -ge "$SUCCESSES" ] || return 1
	done
}

storm_lasts()
{
	now
	[ "$NOW" -lt "$STORM_END" ] || { [ "$NOW" -lt "$STORM_LAST" ] && ! all_have_succeeded; }
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

# storm_end: all actors end, and each has succeeded in the midst of it. After a storm that
# was of no use others do not last so long.
storm_end()
{
	local name

	while storm_lasts; do
		nap 0.2
	done
	all_have_succeeded || STORM_MORE=$STORM_MS
	note "the storm has lasted for $((NOW - STORM_END + STORM_MS)) ms"
	rm "$TESTDIR/storm"
	check "all actors end" slowwait 60 actors_ended
	background_stop
	for name in "${!ACTORS[@]}"; do
		kill "${ACTORS[$name]}" 2> /dev/null
		successes "$name"
		note "$name: $SUCCEEDED"
		check_num "what $name did in the storm" "$SUCCEEDED" -ge "$SUCCESSES"
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
		node_ip "$node" link del child
		child_file_gone "$node"
		check "node $node is configured" node_config_again "$node" "$node"
	done 2> /dev/null
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
	disturb mode act_mode 2
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
	disturb updown act_updown 2
	act join act_join 2 8
	act send act_send 2 8
	act mtu act_mtu 2
	storm_end
}

netns()
{
	storm_begin
	act_traffic
	disturb move act_move
	act read act_read 2
	act join act_join 3 9
	act send act_send 3 9
	storm_end
}

flaps()
{
	storm_begin
	act_traffic
	disturb link2 act_link 2
	disturb link3 act_link 3
	act join act_join 2 10
	storm_end
}

children()
{
	storm_begin
	act_traffic
	act child1 act_child 1
	act child2 act_child 2
	act file2 act_child_file 2
	act read2 act_read 2
	disturb updown act_updown 2
	storm_end
}

# The subnet manager is this shell's child, so this is no actor.
sm_comes_and_goes()
{
	local times=0

	while storm_lasts || [ "$times" -lt "$SUCCESSES" ]; do
		opensm_kill
		opensm_start
		times=$((times + 1))
		rest storm_lasts
	done
	note "subnet managers: $times"
}

sm()
{
	storm_begin
	act_traffic
	act join act_join 2 11
	act send act_send 3 11
	disturb updown act_updown 3
	sm_comes_and_goes
	storm_end
}

act_all()
{
	act_traffic
	act read1 act_read 1
	act mtu act_mtu 1
	disturb mode act_mode 3
	act join2 act_join 2 12
	act join3 act_join 3 12
	act send1 act_send 1 12
	act send3 act_send 3 12
	act child1 act_child 1
	act file3 act_child_file 3
	disturb updown act_updown 1
	disturb move act_move
	disturb link act_link 3
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
	# an actor that has a file of it open just then holds the module
	check "unload" slowwait 20 driver_unload
	check "gone" module_gone ib_ipoib
	while [ "$(now_ms)" -lt "$STORM_END" ]; do
		nap 0.1
	done
	rm "$TESTDIR/storm"
	check "all actors end" slowwait 60 actors_ended
	background_stop
	driver_load
	nodes_up 1 2 3
	check "carrier" wait_carrier 1 2 3
	check_pairs
}

ktap_main "$@"
