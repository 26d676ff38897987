# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# What bench-guest, bench-count and bench-multicast share: two modules in the same form, in
# an order that is by chance, and streams between nodes 1 and 2. They set driver, pair and
# raw, and for streams seconds and mtu.

modules=/lib/modules/$(uname -r)
declare -A MODULE

# Both as the same kind of file: not packed, without signature and debugging information,
# which a kernel would have to read and check in the time that is measured.
modules_prepare()
{
	local driver file

	MODULE[stock]=$(find "$modules/kernel/drivers/infiniband/ulp/ipoib/" -name 'ib_ipoib.ko*')
	MODULE[ours]=$modules/updates/ib_ipoib.ko
	for driver in stock ours; do
		file=$TESTDIR/$driver.ko
		case ${MODULE[$driver]} in
		*.xz) xz -dc "${MODULE[$driver]}" ;;
		*.zst) zstd -qdc "${MODULE[$driver]}" ;;
		*) cat "${MODULE[$driver]}" ;;
		esac > "$file.all"
		# what is behind the ELF file goes as well: the signature
		objcopy --strip-debug "$file.all" "$file" || ktap_bail "cannot strip ${MODULE[$driver]}"
		! grep -q 'Module signature appended' "$file" || ktap_bail "$file has a signature"
		rm "$file.all"
		MODULE[$driver]=$file
	done
}

driver_load()
{
	insmod "${MODULE[$driver]}" || ktap_bail "cannot load ${MODULE[$driver]}"
}

result()
{
	echo "run $pair $driver $1 $2" | tee -a "$raw"
}

# order: who comes first. Of two pairs one has it the other way round.
LAST_ORDER=
order()
{
	case $LAST_ORDER in
	"")
		ORDER=(stock ours)
		((RANDOM & 1)) || ORDER=(ours stock)
		LAST_ORDER=${ORDER[*]}
		;;
	*)
		ORDER=(ours stock)
		[ "$LAST_ORDER" = "ours stock" ] && ORDER=(stock ours)
		LAST_ORDER=
		;;
	esac
}

# knobs_set NODE [KNOB VALUE]...
knobs_set()
{
	local node=$1

	shift
	while [ $# -gt 1 ]; do
		knob_set "$node" "$1" "$2"
		shift 2
	done
}

# fabric NODES [KNOB VALUE]...: of softib
fabric()
{
	local code=4 nodes=$1 node

	[ "$mtu" != 4092 ] || code=5
	partitions "Default=0x7fff, ipoib, mtu=$code : ALL=full;"
	fabric_load "$nodes" mtu=4096
	shift
	for ((node = 1; $# && node <= nodes; node++)); do
		hca_remove "$node"
		knobs_set "$node" "$@"
		hca_add "$node"
	done
	opensm_start
}

driver_remove()
{
	rmmod ib_ipoib || ktap_bail "cannot unload $driver"
}

# latency [FIGURE]: the mean of the middle half, for ping gives whole microseconds
latency()
{
	local out

	out=$(in_node 1 ping -n -c 400 -i 0.005 -w 60 "$(ip4 2)") || { echo "ping: $out"; return 1; }
	result "${1:-ping_us}" "$(sed -n 's/.* time=\([0-9.]*\) ms.*/\1/p' <<< "$out" | sort -n |
		awk '{ t[NR] = $1 }
			END {
				for (i = int(NR / 4) + 1; i <= NR - int(NR / 4); i++)
					sum += t[i]
				printf "%.1f\n", sum * 1000 / (NR - 2 * int(NR / 4))
			}')"
}

# turns [FIGURE]: the mean of 4000 round trips, each begun when the last one has ended
turns()
{
	local out

	out=$(in_node 1 ping -A -q -n -c 4000 -w 60 "$(ip4 2)") || { echo "ping: $out"; return 1; }
	result "${1:-turn_us}" "$(sed -n 's|^rtt [^=]*= [0-9.]*/\([0-9.]*\)/.*|\1|p' <<< "$out" |
		awk '{ print $1 * 1000 }')"
}

# stream ARG...: an iperf3 client on node 1, its JSON in $TESTDIR/iperf.json; over IPv6 if that is
# the family
stream()
{
	local server

	ip netns exec node2 iperf3 -s -1 > /dev/null 2>&1 &
	server=$!
	busywait 5000 iperf_listens 2
	timeout $((seconds + 30)) ip netns exec node1 \
		iperf3 -J -c "$("${family:-ip4}" 2)" -t "$seconds" "$@" > "$TESTDIR/iperf.json" || {
		echo "iperf3 $*: $(head -c 400 "$TESTDIR/iperf.json")"
		kill $server
		return 1
	}
	wait $server
}

# tcp [FIGURE]
tcp()
{
	stream || return 1
	result "${1:-tcp_mbps}" "$("$here/bench-report" --iperf tcp "$TESTDIR/iperf.json")"
}

# gso: the sender goes on for longer than the receiver measures
gso()
{
	local receiver out=$TESTDIR/gso

	ip netns exec node2 timeout 60 "$here/bench-gso" --receive 5400 "$seconds" > "$out" &
	receiver=$!
	busywait 5000 udp_listens 2 5400
	ip netns exec node1 timeout 60 "$here/bench-gso" --send "$(ip4 2)" 5400 "$((seconds + 1))"
	wait $receiver || { echo "bench-gso: $(head -c 400 "$out")"; return 1; }
	result gso_mbps "$(cat "$out")"
}

# udp_listens NODE PORT
udp_listens()
{
	ip netns exec "node$1" ss -Hlun "sport = :$2" | grep -q .
}

udp()
{
	local sent got

	stream -u -b 0 -l 64 || return 1
	read -r sent got < <("$here/bench-report" --iperf udp "$TESTDIR/iperf.json")
	result udp64_sent_pps "$sent"
	result udp64_received_pps "$got"
}

# all_in MODE: with all nodes
all_in()
{
	local node

	for node in "${NODES_UP[@]}"; do
		set_mode "$node" "$1" || { echo "no mode $1"; return 1; }
	done
}

# ---- groups: node 2 joins and leaves "groups" of them ----

# Messages of class SubnAdm between node 2 and the SA in the capture, for each group
sa_messages()
{
	local n

	n=$(($(frame_count mad.class=03 "slid=$(lid_hex 2)") +
		$(frame_count mad.class=03 "dlid=$(lid_hex 2)")))
	awk "BEGIN { printf \"%.2f\n\", $n / $groups }"
}

# shellcheck disable=SC2317 # slowwait calls it
mgids_are()
{
	test "$(sa_mgids | wc -l)" "$1" "$2"
}

# join_times KEY=VALUE...: of messages about groups of groups_join, in seconds
join_times()
{
	frames -f t -f mc.mgid mad.class=03 mad.attr=0038 "$@" | sed -n 's/ .*::f6e:.*//p'
}

# From the first request to the last answer: how often the list is read does not count.
groups_join()
{
	local i list=() base begin end

	for ((i = 0; i < groups; i++)); do
		list+=("239.110.$((i >> 8 & 255)).$((i & 255))")
	done
	in_node 2 sysctl -q "net.ipv4.igmp_max_memberships=$((groups + 20))"
	base=$(sa_mgids | wc -l)
	capture_start join
	group_join 2 "${list[@]}"
	slowwait 120 mgids_are -ge $((base + groups)) || ktap_bail "not all groups"
	capture_stop
	begin=$(join_times "slid=$(lid_hex 2)" | head -n 1)
	end=$(join_times mad.method=81 "dlid=$(lid_hex 2)" | tail -n 1)
	result groups_join_ms "$(awk "BEGIN { printf \"%d\\n\", ($end - $begin) * 1000 }")"
	result groups_join_mads "$(sa_messages)"
}

# report ARG...: bench-report's, with what is known of the machine
report()
{
	local name machine=()

	machine=("accelerator=$(grep -q 'model name.*TCG' /proc/cpuinfo && echo tcg || echo kvm)")
	for name in commit qemu host_cpu date load; do
		name=BENCH_$name
		machine+=("${name#BENCH_}=${!name:-}")
	done
	"$here/bench-report" "${machine[@]/#/--machine=}" --suite "${IPOIB_SUITE:-}" \
		--json "$IPOIB_OUT/bench.json" "$@" "$raw" | tee "$IPOIB_OUT/bench.txt"
	return "${PIPESTATUS[0]}"
}
