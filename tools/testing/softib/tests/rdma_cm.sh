#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma_cm's own programs and connected-mode IPoIB, the heaviest users of RC,
# between two nodes of the fabric, also while it loses messages.
#
#	     node1          node2
#	      ib0            ib0		connected mode, MTU 65520
#	    softib0 --------softib1

TESTS_DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
# shellcheck source=../../selftests/ipoib/lib.sh
. "$TESTS_DIR/../../selftests/ipoib/lib.sh"

# shellcheck disable=SC2034 # for ktap_main
CASES=(
	"cm_pair:rping:-C:20:-V V rping, contents checked"
	"cm_pair:ucmatose:-C:20 V ucmatose"
	"cm_pair:udaddy:-C:20 V udaddy"
)

# The fabric is judged by connected mode of the kernel's driver. Ours has tests of its
# own, connected_*.sh.
is_stock && CASES+=(
	"connected_ping V ping in connected mode, IPv4 and IPv6, full size"
	"connected_tcp:-4 V iperf3 in connected mode, IPv4, both ways"
	"connected_tcp:-6 V iperf3 in connected mode, IPv6, both ways"
	"connected_lossy V iperf3 in connected mode while messages and answers are lost"
	"connected_flap V the link goes down and up in connected mode"
	"connected_remove V an HCA is removed under load, and plugged in again"
)

setup()
{
	trap fabric_down EXIT
	modprobe rdma_ucm || ktap_bail "no rdma_ucm"
	fabric_up 2
}

# cm_pair PROGRAM ARG...: server in node 1, client in node 2
cm_pair()
{
	local prog=$1 server_args=() client_args=() server

	shift
	case $prog in
	rping)
		server_args=(-s -a "$(ip4 1)")
		client_args=(-c -a "$(ip4 1)")
		;;
	*)
		server_args=(-b "$(ip4 1)")
		client_args=(-s "$(ip4 1)")
		;;
	esac
	in_node 1 timeout 120 "$prog" "$@" "${server_args[@]}" \
		> "$TESTDIR/cm_server" 2>&1 &
	server=$!
	# It has no way to say that it listens: ask until it answers.
	slowwait 30 in_node 2 timeout 20 "$prog" "$@" "${client_args[@]}" \
		> "$TESTDIR/cm_client" 2>&1 ||
		fail "client: $(tail -n 3 "$TESTDIR/cm_client")"
	wait "$server" || fail "server: $(tail -n 3 "$TESTDIR/cm_server")"
}

connected()
{
	local node

	for node in 1 2; do
		in_node $node sh -c 'echo connected > /sys/class/net/ib0/mode' ||
			fail "no connected mode"
		node_ip $node link set ib0 mtu 65520 || fail "no MTU of 65520"
	done
}

connected_ping()
{
	connected
	check "ping" in_node 1 ping -n -c 5 -i 0.2 -s 65000 "$(ip4 2)"
	check "ping6" in_node 2 ping -n -c 5 -i 0.2 -s 65000 "$(ip6 1)"
}

iperf_listens()
{
	in_node 1 ss -Hltn 'sport = :5201' | grep -q .
}

# iperf ARG...: prints the received rate in Mbit/s
iperf()
{
	in_node 1 iperf3 -s -1 > /dev/null &
	busywait 10000 iperf_listens || { echo 0; return; }
	in_node 2 timeout 60 iperf3 "$@" -t 3 -J > "$TESTDIR/iperf.json" ||
		note "iperf3: $(tail -n 3 "$TESTDIR/iperf.json")"
	wait $!
	python3 - "$TESTDIR/iperf.json" <<-'END'
		import json, sys
		end = json.load(open(sys.argv[1]))["end"]
		print(int(end["sum_received"]["bits_per_second"] / 1e6))
	END
}

connected_tcp()
{
	local addr rate reverse

	addr=$(ip4 1)
	[ "$1" = -4 ] || addr=$(ip6 1)
	for reverse in "" -R; do
		rate=$(iperf -c "$addr" ${reverse:+"$reverse"})
		note "${1} ${reverse:-forward}: $rate Mbit/s"
		check_num "rate in Mbit/s" "$rate" -gt 10
	done
}

connected_lossy()
{
	local node before rate

	before=$(drops 1 fault)
	for node in 1 2; do
		knob_set $node drop_every_rc 50
	done
	rate=$(iperf -c "$(ip4 1)")
	for node in 1 2; do
		knob_set $node drop_every_rc 0
	done
	note "with losses: $rate Mbit/s"
	check_num "rate in Mbit/s" "$rate" -gt 0
	check_num "losses" "$(drops 1 fault)" -gt "$before"
	slowwait 20 ping_ok 1 "$(ip4 2)" || fail "no ping afterwards"
}

connected_flap()
{
	link_down 2
	busywait 10000 no_carrier 2 || fail "the carrier stays"
	link_up 2
	wait_carrier || fail "no carrier"
	slowwait 60 ping_ok 1 "$(ip4 2)" || fail "no ping afterwards"
	slowwait 20 ping_ok 2 "$(ip6 1)" || fail "no ping6 afterwards"
}

connected_remove()
{
	local start

	in_node 1 timeout 60 ping -q -n -f -s 30000 "$(ip4 2)" > "$TESTDIR/flood" &
	slowwait 10 ping_ok 1 "$(ip4 2)" || fail "no ping beforehand"
	start=$(now_ms)
	hca_remove 2
	note "removal: $(($(now_ms) - start)) ms"
	kill -INT $!
	wait $!
	hca_add 2
	wait_ports_active
	node_move 2
	node_config 2
	wait_carrier 2 || fail "no carrier"
	# It has other addresses now, and it is not the driver that is judged.
	node_ip 1 neigh flush dev ib0
	slowwait 60 ping_ok 1 "$(ip4 2)" || fail "no ping afterwards"
}

ktap_main "$@"
