#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Errors of an HCA that stop its queues: the interface recovers by itself. An HCA whose
# firmware hangs delays it no longer than it has to.
#
#	node1 (receives fail)   node2
#	  |                       |
#	+-+-----------------------+-+
#	|          switch           |
#	+---------------------------+

. "$(dirname "$0")/lib.sh"

ENOUGH=1000000
ETIMEDOUT=110

CASES=(
	"recv_error F7,B38 a receive that fails stops the QP: it is restarted"
	"recv_error_rest F7 nothing polls for it afterwards"
	"recv_errors F7 many failing receives under traffic, both nodes"
	"hangs F51 a change of the QP that times out is not tried again while the interface goes down; it goes up when the HCA responds"
)

setup()
{
	fabric_up 2
}

# fail_receives NODE N: and see to it that they fail
fail_receives()
{
	knob_set "$1" fail_recv "$2"
	ping_ok $((3 - $1)) "$(ip4 "$1")"
	check "receives have failed" busywait 5000 knob_is "$1" fail_recv 0
}

recv_error()
{
	fail_receives 1 1
	check "node 1 is reached again" within 10000 ping_ok 2 "$(ip4 1)"
	check "over IPv6, too" within 10000 ping_ok 2 "$(ip6 1)"
}

recv_error_rest()
{
	local before

	fail_receives 1 1
	before=$(net_rx)
	# All this second the QP, if nothing restarts it, flushes what it is given.
	nap 1
	note "$(($(net_rx) - before)) receive softirqs in a second"
	check_num "receive softirqs" $(($(net_rx) - before)) -lt 500
	check "node 1 is reached again" within 10000 ping_ok 2 "$(ip4 1)"
}

recv_errors()
{
	local node round

	background 1 ping -q -i 0.01 "$(ip4 2)" > /dev/null 2>&1
	for round in 1 2 3 4 5; do
		for node in 1 2; do
			knob_set "$node" fail_recv 3
			check "round $round, node $node: receives have failed" \
				busywait 5000 knob_is "$node" fail_recv 0
			check "round $round, node $node: reached again" \
				within 10000 ping_ok $((3 - node)) "$(ip4 "$node")"
		done
	done
	background_stop
}

# Each command takes a minute where firmware hangs: here they are counted.
hangs()
{
	local start refused

	knob_set 1 refuse_error "$ETIMEDOUT"
	knob_set 1 fail_modify "$ENOUGH"
	start=$(now_ms)
	check "down" node_ip 1 link set ib0 down
	refused=$((ENOUGH - $(knob_get 1 fail_modify)))
	note "$refused changes refused, down after $(($(now_ms) - start)) ms"
	check_num "milliseconds" $(($(now_ms) - start)) -lt $((5000 * SLOW))
	# to the error state, and to RESET
	check_num "changes refused" "$refused" -ge 1
	check_num "changes refused" "$refused" -le 2
	check_not "up" node_ip 1 link set ib0 up
	knob_set 1 fail_modify 0
	knob_set 1 refuse_error 0
	check "up" node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check "ping" wait_ping 1 2
}

ktap_main "$@"
