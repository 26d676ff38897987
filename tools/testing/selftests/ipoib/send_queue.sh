#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A send queue that fills up, as it does where sends take time and completions come late:
# it stops and goes on, nothing is lost that was taken, and one that stands still is
# started anew.
#
#	 node1     node2 ======> node3
#	OpenSM    sends take       |
#	   |      time             |
#	+--+--------+--------------+-+
#	|           switch           |
#	+----------------------------+

: "${HCA:=mlx5}"
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

OCTETS=1000000

CASES=(
	"slow B37 A stream arrives whole with sends of 3 ms each"
	"full B37 Datagrams sent faster than the link wait, and all arrive in order"
	"held B37 The queue stops while completions are held back, and goes on with them"
	"down B37 An interface with a stalled queue goes down and comes up"
	"handles U13 An address handle stays until its sends have left"
	"removed B37 An HCA with a stalled queue is removed, and another HCA is added"
	"interrupts - Few of many short datagrams are reported as sent by an interrupt"
	"queue_timeout B37 A queue stalled for long is logged, and restarted"
)

setup()
{
	fabric_up 3
}

diagnose()
{
	note "$(in_node 2 ethtool -S ib0 | tr -s ' \n' ' ')"
	note "$(node_ip 2 -s link show dev ib0 2>&1 | tr -s ' \n' ' ')"
	note "$(klog | tail -n 10)"
}

# hca_count NODE NAME: counter of its HCA
hca_count()
{
	knob_get "$1" counters | sed -n "s/^hca\.$2 //p"
}

tx_drops()
{
	in_node 2 ethtool -S ib0 | awk '/tx_drop_/ { sum += $2 } END { print sum + 0 }'
}

slow()
{
	local drops

	drops=$(tx_drops)
	knob_set 2 latency_us 3000
	transfer 2 3 "$(ip4 3)"
	knob_set 2 latency_us 0
	check_eq "drops" "$(tx_drops)" "$drops"
}

# numbers N: node 2 sends N numbered datagrams to node 3 as fast as it can, waiting when
# there is no room. Prints how many arrive, and whether in order
numbers()
{
	local got=$TESTDIR/numbers

	background 3 timeout $((60 * SLOW)) python3 -c '
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, 33, 16 << 20) # SO_RCVBUFFORCE
sock.bind((sys.argv[1], 7001))
print("listening", flush=True)
last, n, order = -1, 0, "in order"
while True:
	number = int(sock.recv(2048).split(b" ")[0])
	if number < 0:
		break
	if number <= last:
		order = "out of order"
	last, n = number, n + 1
print(n, order, flush=True)
' "$(ip4 3)" > "$got"
	busywait 10000 grep -q listening "$got" || fail "no listener"
	in_node 2 timeout $((60 * SLOW)) python3 -c '
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer = (sys.argv[1], 7001)
for number in [*range(int(sys.argv[2])), -1]:
	sock.sendto(b"%d " % number + bytes(1000), peer)
' "$(ip4 3)" "$1" || fail "the sender failed"
	busywait $((30000 * SLOW)) grep -q order "$got" || fail "the last did not arrive"
	sed -n '/order/p' "$got"
	background_stop
}

# A queueing discipline that drops nothing for having waited long, as fq_codel does after
# 100 ms of more than 5 ms.
full()
{
	local drops

	check "qdisc" in_node 2 tc qdisc replace dev ib0 root pfifo limit 1000
	check "ping" wait_ping 2 3
	drops=$(tx_drops)
	knob_set 2 latency_us 20000
	check_eq "arrived" "$(numbers 1500)" "1500 in order"
	knob_set 2 latency_us 0
	in_node 2 tc qdisc del dev ib0 root
	check_eq "drops" "$(tx_drops)" "$drops"
}

# flood [DEV]: more datagrams of node 2 than the ring, by sockets that have room for them
flood()
{
	background 2 timeout $((60 * SLOW)) python3 -c '
import select, socket, sys
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(16)]
while True:
	for sock in select.select([], socks, [])[1]:
		sock.sendto(bytes(1000), (sys.argv[1], 7002))
' "$(ip4 3)"
	busywait 10000 queue_stands "${1:-ib0}" || fail "the queue does not stop"
}

# stand_still: hold completions of node 2 back, and send until its queue stops
stand_still()
{
	check "ping" wait_ping 2 3
	knob_set 2 hold_cq 1
	flood
}

# Frames wait in the queueing discipline, which has them only if the queue is stopped
queue_stands()
{
	in_node 2 tc -s qdisc show dev "${1:-ib0}" | grep -q 'backlog [1-9]'
}

queue_is_empty()
{
	! queue_stands
}

let_go()
{
	background_stop
	knob_set 2 hold_cq 0
}

held()
{
	stand_still
	let_go
	check "the queue goes on" within 8000 queue_is_empty
	check "ping" wait_ping 2 3
	transfer 2 3 "$(ip4 3)"
}

down()
{
	stand_still
	check "down" node_ip 2 link set ib0 down
	let_go
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check "ping" wait_ping 2 3
}

# After a restart of the SM each path has a new handle. The HCA has 16 sends to make then.
handles()
{
	local before ahs

	check "ping" wait_ping 2 3
	ahs=$(ahs 2)
	knob_set 2 latency_us 50000
	background 2 ping -n -q -i 0.003 -s 1000 "$(ip4 3)" > /dev/null
	for _ in 1 2 3; do
		before=$(xstat 2 path_queries)
		opensm_kill
		opensm_start
		check "a new record" slowwait 20 xstat_is 2 path_queries -gt "$before"
	done
	check "the old ones go" slowwait 20 ahs_are 2 -le "$ahs"
	knob_set 2 latency_us 0
	background_stop
	check "ping" wait_ping 2 3
}

removed()
{
	stand_still
	hca_remove 2
	let_go
	hca_add 2
	busywait 10000 netdev 2 > /dev/null || { fail "no interface"; return; }
	nodes_up 2
	check "carrier" wait_carrier 2
	check "ping" wait_ping 2 3
	check_eq "DMA faults" "$(hca_count 2 dma_faults)" 0
}

# short_sends COUNT: node 2 sends so many datagrams that are copied, one in 2 ms
short_sends()
{
	udp_to 2 "$(ip4 3)" 9 "$1" 2000
}

# The byte queue limit, which has a send reported when it is reached, adapts to the first ones.
interrupts()
{
	local before

	check "ping" wait_ping 2 3
	short_sends 100
	before=$(hca_count 2 interrupts)
	short_sends 200
	check_num "interrupts" $(($(hca_count 2 interrupts) - before)) -lt 100
}

said_to()
{
	klog | grep -q "transmit timeout"
}

# klog-allow knows the name, for the stack reports a queue that stands still with a stack.
timeout_begin()
{
	node_ip 2 link set ib0 down
	node_ip 2 link set ib0 name "$1"
	node_ip 2 link set "$1" up
}

timeout_end()
{
	node_ip 2 link set stalls0 down
	node_ip 2 link set stalls0 name ib0
	node_ip 2 link set ib0 up
	wait_carrier 2
}

# A restart begins with a move of the QP to IB_QPS_ERR, which is refused once.
queue_timeout()
{
	klog_mark timeout
	timeout_begin stalls0
	check "carrier" slowwait 20 has_carrier 2 stalls0
	check "ping" slowwait 10 in_node 2 ping -c 1 -W 1 "$(ip4 3)" > /dev/null
	knob_set 2 modify_states 64
	knob_set 2 fail_modify 1
	knob_set 2 hold_cq 1
	flood stalls0
	check "message" slowwait 40 said_to
	is_stock || check "its queue" busywait 1000 klog_has "queue stopped [01], tx_head"
	check "restarted" busywait 5000 knob_is 2 fail_modify 0
	knob_set 2 modify_states 0
	background_stop
	knob_set 2 hold_cq 0
	check "ping" slowwait 20 in_node 2 ping -c 1 -W 1 "$(ip4 3)" > /dev/null
	check "as before" timeout_end
	check "ping" wait_ping 2 3
}

ktap_main "$@"
