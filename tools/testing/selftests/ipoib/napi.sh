#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Queues, NAPI instances and page pools are shown by the family netdev of generic netlink, and what
# the kernel does with NAPI has an effect: threads, busy polling, deferred interrupts, RPS.
#
#	 node1          node2		mlx5, whose interrupts are counted, and which
#	   |            OpenSM		reports completions as late as it is told
#	   |              |
#	 +-+--------------+-+
#	 |      switch      |
#	 +------------------+

# shellcheck disable=SC2034 # for lib_softib.sh
HCA=mlx5
. "$(dirname "$0")/lib.sh"

CASES=(
	"queues - the queue of each direction has its NAPI instance"
	"queues_down - the queues have no NAPI instance while the interface is down, and have it again after up"
	"queues_child - the queues of a child have NAPI instances"
	"pool - the page pool of receives belongs to the interface and the NAPI instance of the queue"
	"pool_down - the page pool is removed when the interface goes down"
	"statistics - packets and octets of the queues are equal to ip -s link"
	"statistics_queue - packets and octets of a single queue in each direction are equal to ip -s link"
	"statistics_queues - each of several send queues has its own statistics, and the interface has their sums"
	"statistics_csum - packets with a checksum verified by the HCA are counted"
	"statistics_gso - segmented packets and their segments are counted"
	"statistics_stop - stops and wake-ups of the send queue are counted"
	"idle - handlers of the queues end when there are no more completions"
	"threaded - NAPI runs in threads"
	"busy_poll - a socket polls for itself"
	"deferred - interrupts are deferred while packets come"
	"rps - received packets are steered to a CPU"
)

setup()
{
	fabric_load 2
	opensm_start 2
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	wait_ping 1 2 || ktap_bail "no ping"
}

TRACING=/sys/kernel/tracing/instances/ipoib-napi

teardown()
{
	[ ! -d "$TRACING" ] || rmdir "$TRACING"
}

# genl COMMAND [DEV]: of node 1
genl()
{
	in_node 1 python3 "$LIB_DIR/netdev_genl.py" "$1" "${2:-ib0}"
}

# values COMMAND WORD KEY [DEV]: those of KEY in the lines that have WORD
values()
{
	genl "$1" "${4:-ib0}" | grep -w -e "$2" | tr ' ' '\n' | sed -n "s/^$3=//p"
}

# has_family: the kernel has what is asked for
has_family()
{
	local status=0

	genl queue-get > /dev/null || status=$?
	[ "$status" -eq 4 ] || return 0
	check_skip "the kernel has no family netdev with queues"
	return 1
}

# linked DEV: each of its queues has a NAPI instance, and not the same
linked()
{
	local rx tx

	check_eq "queues of $1" "$(genl queue-get "$1" | wc -l)" 2
	rx=$(values queue-get type=0 napi-id "$1")
	tx=$(values queue-get type=1 napi-id "$1")
	check_num "that of receives" "${rx:-0}" -gt 0
	check_num "that of sends" "${tx:-0}" -gt 0
	check_num "they differ" "${rx:-0}" -ne "${tx:-0}"
	check "listed" grep -qw "id=$rx" <<< "$(genl napi-get "$1")"
	check "listed" grep -qw "id=$tx" <<< "$(genl napi-get "$1")"
}

queues()
{
	has_family || return
	linked ib0
}

queues_down()
{
	has_family || return
	node_ip 1 link set ib0 down
	check_eq "queues with one" "$(genl queue-get | grep -c napi-id)" 0
	node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	linked ib0
}

queues_child()
{
	has_family || return
	check "made" node_ip 1 link add link ib0 name twin type ipoib
	node_ip 1 link set twin up
	linked twin
	check "away" node_ip 1 link del twin
}

pool()
{
	has_family || return
	check_eq "its NAPI instance" "$(values page-pool-get napi-id napi-id)" \
		"$(values queue-get type=0 napi-id)"
	check_num "pages" "$(values page-pool-get napi-id inflight)" -gt 0
}

pool_down()
{
	has_family || return
	node_ip 1 link set ib0 down
	check_eq "pools but for those of packets in sockets" \
		"$(genl page-pool-get | grep -cv detach-time)" 0
	node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check_eq "pools" "$(genl page-pool-get | grep -cv detach-time)" 1
}

# between KEY COUNTER COMMAND WORD: it is what ip -s link has
between()
{
	local before value

	before=$(counter 1 "$2")
	value=$(values "$3" "$4" "$1")
	check_num "$1" "${value:-0}" -ge "$before"
	check_num "$1" "${value:-0}" -le "$(counter 1 "$2")"
}

statistics()
{
	has_family || return
	check "pings" ping_lossless 1 "$(ip4 2)" 20
	check_num "packets" "$(counter 1 rx_packets)" -ge 20
	between rx-packets rx_packets qstats-get ifindex
	between rx-bytes rx_bytes qstats-get ifindex
	between tx-packets tx_packets qstats-get ifindex
	between tx-bytes tx_bytes qstats-get ifindex
	check_eq "no failed allocation" "$(values qstats-get ifindex rx-alloc-fail)" 0
}

statistics_queue()
{
	has_family || return
	check_eq "queues" "$(genl qstats-queues | wc -l)" 2
	between rx-packets rx_packets qstats-queues type=0
	between rx-bytes rx_bytes qstats-queues type=0
	between tx-packets tx_packets qstats-queues type=1
	between tx-bytes tx_bytes qstats-queues type=1
}

# pings_of_queue QUEUE: 20 of four queues, which that one sends
pings_of_queue()
{
	only_queue 1 4 "$1"
	check "pings" ping_lossless 1 "$(ip4 2)" 20
	check_num "packets of queue $1" \
		"$(values qstats-queues type=1 tx-packets | sed -n "$(($1 + 1))p")" -ge 20
	between tx-packets tx_packets qstats-get ifindex
	between tx-bytes tx_bytes qstats-get ifindex
}

statistics_queues()
{
	has_family || return
	check "4 queues" in_node 1 ethtool -L ib0 tx 4
	check_eq "queues" "$(values qstats-queues type=1 id | xargs)" "0 1 2 3"
	pings_of_queue 3
	pings_of_queue 1
	check "1 queue" in_node 1 ethtool -L ib0 tx 1
	check_eq "queues" "$(values qstats-queues type=1 id | xargs)" 0
	between tx-packets tx_packets qstats-get ifindex
	between tx-bytes tx_bytes qstats-get ifindex
}

# stream COMMAND...: TCP between the nodes
stream()
{
	local result

	result=$(iperf "$@" -n 2M) || fail "iperf3: $result"
}

statistics_csum()
{
	local before

	has_family || return
	before=$(values qstats-get ifindex rx-csum-unnecessary)
	stream 2 1
	check_num "packets" "$(values qstats-get ifindex rx-csum-unnecessary)" -gt \
		$((before + 20))
	check "off" in_node 1 ethtool -K ib0 rx-checksum off
	before=$(values qstats-get ifindex rx-csum-unnecessary)
	stream 2 1
	check_eq "without the offload" "$(values qstats-get ifindex rx-csum-unnecessary)" "$before"
	check "on" in_node 1 ethtool -K ib0 rx-checksum on
}

# gso KEY: that counter
gso()
{
	values qstats-get ifindex "tx-hw-gso-$1"
}

statistics_gso()
{
	local packets bytes wire_packets wire_bytes

	has_family || return
	packets=$(gso packets) bytes=$(gso bytes)
	wire_packets=$(gso wire-packets) wire_bytes=$(gso wire-bytes)
	stream 1 2
	packets=$(($(gso packets) - packets)) bytes=$(($(gso bytes) - bytes))
	wire_packets=$(($(gso wire-packets) - wire_packets))
	wire_bytes=$(($(gso wire-bytes) - wire_bytes))
	note "$packets of $bytes octets became $wire_packets of $wire_bytes"
	check_num "packets" "$packets" -gt 0
	check_num "segments" "$wire_packets" -ge $((2 * packets))
	check_num "octets" "$bytes" -gt $((2000 * packets))
	# 56 octets of headers at least more for each segment but the first
	check_num "octets of segments" "$wire_bytes" -ge \
		$((bytes + 44 * (wire_packets - packets)))
	check_num "no longer than the MTU" "$wire_bytes" -le $((2048 * wire_packets))
}

# queue_stops: how often it was
queue_stops()
{
	values qstats-get ifindex tx-stop
}

stops_more_than()
{
	[ "$(queue_stops)" -gt "$1" ]
}

wakes_as_often()
{
	[ "$(values qstats-get ifindex tx-wake)" -ge "$(queue_stops)" ]
}

# limit_octets LEAST: of what is under way, which would stop the stack before the ring is full. Some
# kernels have no such limit.
limit_octets()
{
	local file=queues/tx-0/byte_queue_limits/limit_min

	in_node 1 test ! -e "/sys/class/net/ib0/$file" || check "limit" set_file "$file" "$1"
}

# by_queues NAME: sum of that counter of ethtool -S of all send queues
by_queues()
{
	in_node 1 ethtool -S ib0 | awk -v name="$1" '
		$1 ~ "^tx[0-9]+_" name ":$" { sum += $2 }
		END { print sum + 0 }'
}

# of_interface NAME: that counter of ethtool -S
of_interface()
{
	in_node 1 ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

statistics_stop()
{
	local before

	has_family || return
	limit_octets 100000000
	check "pings" ping_lossless 1 "$(ip4 2)" 50
	check "as often before" slowwait 10 wakes_as_often
	before=$(queue_stops)
	knob_set 1 hold_cq 1
	in_node 1 python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
	for _ in range(400):
		sock.sendto(bytes(32), socket.MSG_DONTWAIT, (sys.argv[1], 7009))
' "$(ip4 2)" 2> /dev/null
	check "stopped" slowwait 5 stops_more_than "$before"
	knob_set 1 hold_cq 0
	check "woken" slowwait 10 wakes_as_often
	limit_octets 0
	check "ping" wait_ping 1 2
	check_eq "stops by queue" "$(by_queues stopped)" "$(of_interface tx_queue_stopped)"
	check_eq "wake-ups by queue" "$(by_queues woken)" "$(of_interface tx_queue_woken)"
}

# softirq_time: of all handlers, NAPI's among them, in 10 ms
softirq_time()
{
	awk '$1 == "cpu" { print $8 }' /proc/stat
}

# A handler that schedules itself takes a CPU.
idle()
{
	local before

	check "ping" wait_ping 1 2
	before=$(softirq_time)
	nap 1
	check_num "time in a second" $(($(softirq_time) - before)) -lt 60
}

# napi_threads: those of interfaces named ib0
napi_threads()
{
	ps -eo pid=,comm= | awk '$2 ~ /^napi\/ib0-/ { print $1 }'
}

# thread_runs: how often they have run
thread_runs()
{
	local pid

	for pid in $(napi_threads); do
		cat "/proc/$pid/status"
	done | awk '/ctxt_switches/ { sum += $2 } END { print sum + 0 }'
}

# set_file NAME VALUE: of the interface of node 1
set_file()
{
	# shellcheck disable=SC2016 # for that shell
	in_node 1 sh -c 'echo "$1" > "/sys/class/net/ib0/$0"' "$@"
}

threaded()
{
	local before

	check "on" set_file threaded 1
	check_num "threads" "$(napi_threads | wc -l)" -ge 2
	before=$(thread_runs)
	check "pings" ping_lossless 1 "$(ip4 2)" 50
	check_num "their runs" $(($(thread_runs) - before)) -ge 50
	tcp_stream 2 1 ip4
	check "off" set_file threaded 0
	before=$(thread_runs)
	check "pings" ping_lossless 1 "$(ip4 2)" 50
	check_num "runs without" $(($(thread_runs) - before)) -lt 50
}

# late MICROSECONDS: node 1 hears of receives so much later, or as usual
late()
{
	if [ "$1" -gt 0 ]; then
		in_node 1 ethtool -C ib0 adaptive-rx off
		in_node 1 ethtool -C ib0 rx-usecs "$1" rx-frames 1000
	else
		in_node 1 ethtool -C ib0 rx-usecs 0 rx-frames 0
		in_node 1 ethtool -C ib0 adaptive-rx on
	fi
}

# The HCA reports a receive after 20 ms, before which only a socket that polls has it.
busy_poll()
{
	local log=$TESTDIR/echo got

	background 2 python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
	sock.bind((sys.argv[1], 7010))
	print("ready", flush=True)
	while True:
		data, peer = sock.recvfrom(100)
		sock.sendto(data, peer)
' "$(ip4 2)" > "$log"
	check "a server" background_ready "$log"
	late 20000
	got=$(in_node 1 timeout $((20 * SLOW)) python3 -c '
import socket, struct, sys

SO_BUSY_POLL = 46

def polled():
	with open("/proc/self/net/netstat", encoding="ascii") as file:
		lines = [line.split() for line in file if line.startswith("TcpExt:")]
	return int(dict(zip(*lines))["BusyPollRxPackets"])

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
	sock.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL, int(sys.argv[2]))
	sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 5, 0))
	sock.connect((sys.argv[1], 7010))
	before = polled()
	for i in range(20):
		sock.send(bytes([i]))
		if sock.recv(100) != bytes([i]):
			sys.exit("another answer")
	print(polled() - before)
' "$(ip4 2)" 200000)
	check_num "polled by the socket" "${got:-0}" -ge 10
	late 0
	background_stop
}

interrupts()
{
	knob_get 1 counters | sed -n 's/^hca\.interrupts //p'
}

# interrupts_of_pings: how many there are for 50 answers, one in 10 ms
interrupts_of_pings()
{
	local before

	before=$(interrupts)
	ping_lossless 1 "$(ip4 2)" 50 || fail "lost answers"
	PINGED=$(($(interrupts) - before))
}

deferred()
{
	in_node 1 ethtool -C ib0 adaptive-rx off
	interrupts_of_pings
	check_num "interrupts" "$PINGED" -ge 40
	# polled each 2 ms, until 200 times in turn nothing was found
	check "how often" set_file napi_defer_hard_irqs 200
	check "how long" set_file gro_flush_timeout 2000000
	interrupts_of_pings
	check_num "interrupts when deferred" "$PINGED" -lt 20
	check "back" set_file napi_defer_hard_irqs 0
	check "back" set_file gro_flush_timeout 0
	interrupts_of_pings
	check_num "interrupts later" "$PINGED" -ge 40
	in_node 1 ethtool -C ib0 adaptive-rx on
}

# backlog_polls: how often the queue of a CPU was polled, which is no device's, for 20 pings
backlog_polls()
{
	echo > "$TRACING/trace"
	ping_lossless 1 "$(ip4 2)" 20 || fail "lost answers"
	grep -c 'napi_poll: .*(no_device)' "$TRACING/trace"
}

rps()
{
	in_node 1 test -e /sys/class/net/ib0/queues/rx-0/rps_cpus ||
		{ check_skip "the kernel has no RPS"; return; }
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	mkdir -p "$TRACING"
	echo 1 > "$TRACING/events/napi/napi_poll/enable"
	check_num "without" "$(backlog_polls)" -lt 10
	check "set" set_file queues/rx-0/rps_cpus 1
	check_num "with" "$(backlog_polls)" -ge 15
	check "back" set_file queues/rx-0/rps_cpus 0
	echo 0 > "$TRACING/events/napi/napi_poll/enable"
	rmdir "$TRACING"
	tcp_stream 1 2 ip4
}

ktap_main "$@"
