#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The counters of the interface say what happened, packet by packet.
#
#	node1 -- a known number of packets --> node2
#	  |                                      |
#	+-+--------------------------------------+-+
#	|                switch                    |
#	+------------------------------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"packets:4 B19 each IPv4 packet counts once at both ends"
	"packets:6 B19 each IPv6 packet counts once at both ends"
	"bytes B19 octets are counted in both directions, packet by packet"
	"multicast B19 received multicast is counted as multicast"
	"failed_send B19,B38 a failed send is counted as an error, and logged, and the QP is not reset"
	"via_ethtool B19 ethtool -S has the same numbers"
	"queues:each B19 each transmit queue counts its own packets"
	"queues:sum B19 the counters of the interface are the sums of the queues"
	"survive B19 counters survive down and up"
)

setup()
{
	local node

	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	# no ARP, no ND: nothing but what the cases send
	for node in 1 2; do
		node_ip "$node" neigh replace "$(ip4 $((3 - node)))" nud permanent dev ib0 \
			lladdr "$(lladdr $((3 - node)) | sed 's/../&:/g; s/:$//')"
		node_ip "$node" neigh replace "$(ip6 $((3 - node)))" nud permanent dev ib0 \
			lladdr "$(lladdr $((3 - node)) | sed 's/../&:/g; s/:$//')"
	done
	slowwait 20 quiet 1500 || ktap_bail "the interfaces are never quiet"
}

all_counters()
{
	local node

	for node in 1 2; do
		in_node "$node" sh -c 'cd /sys/class/net/ib0/statistics && cat rx_packets \
			tx_packets rx_bytes tx_bytes multicast tx_errors tx_dropped'
	done | tr '\n' ' '
}

# quiet MS: nothing is sent or received for that long
quiet()
{
	local now

	now=$(all_counters)
	stays "$1" counters_are "$now"
}

counters_are()
{
	[ "$(all_counters)" = "$1" ]
}

# snapshot NAME of both nodes' counters; delta NODE COUNTER since
declare -A BEFORE

snapshot()
{
	local node name

	slowwait 10 quiet 300 > /dev/null
	for node in 1 2; do
		for name in rx_packets tx_packets rx_bytes tx_bytes multicast tx_errors rx_dropped tx_dropped; do
			BEFORE[$node.$name]=$(counter "$node" "$name")
		done
	done
}

delta()
{
	echo $(($(counter "$1" "$2") - BEFORE[$1.$2]))
}

delta_is()
{
	[ "$(delta "$1" "$2")" -eq "$3" ]
}

check_delta()
{
	busywait 2000 delta_is "$@"
	check_eq "$2 of node $1" "$(delta "$1" "$2")" "$3"
}

# ping_ten ADDRESS [ARG...]: ten echoes and, without a deadline, no eleventh. Whether all are
# answered is for the counters to say.
ping_ten()
{
	in_node 1 ping -n -q -c 10 -i 0.1 -W 10 "${@:2}" "$1" > /dev/null
}

packets()
{
	local node name

	snapshot
	check "ping" ping_ten "$("ip$1" 2)"
	for node in 1 2; do
		for name in rx_packets tx_packets; do
			check_delta "$node" "$name" 10
		done
		for name in tx_errors rx_dropped tx_dropped multicast; do
			check_delta "$node" "$name" 0
		done
	done
}

# Octets of a packet are those of IP, with or without the 4 of the IPoIB header:
# drivers differ, and the stock one by direction. Each counts all packets alike.
bytes()
{
	local len=$((1000 + 28)) node name

	snapshot
	check "ping" ping_ten "$(ip4 2)" -s 1000
	busywait 2000 delta_is 1 rx_packets 10
	for node in 1 2; do
		for name in tx_bytes rx_bytes; do
			case $(delta "$node" "$name") in
			$((10 * len)) | $((10 * (len + 4)))) ;;
			*) fail "$name of node $node: $(delta "$node" "$name") for 10 of $len octets" ;;
			esac
		done
	done
	check_eq "sent by both" "$(delta 1 tx_bytes)" "$(delta 2 tx_bytes)"
	check_eq "received by both" "$(delta 1 rx_bytes)" "$(delta 2 rx_bytes)"
}

multicast()
{
	group_join 2 239.8.8.8
	slowwait 5 is_member 2 "$(mgid4 239.8.8.8)"
	in_node 1 udp_group send ib0 239.8.8.8 9 100 1
	slowwait 10 quiet 500 > /dev/null
	in_node 1 udp_group send ib0 239.8.8.8 9 100 3 100000
	snapshot
	in_node 1 udp_group send ib0 239.8.8.8 9 100 10
	check_delta 1 tx_packets 10
	check_delta 2 rx_packets 10
	check_delta 2 multicast 10
	group_leave
}

# logged_sends: status of each failed send in the log
logged_sends()
{
	klog | sed -n 's/.*failed send event (status=\([0-9]*\),.*/\1/p' | xargs
}

# 2 is IB_WC_LOC_QP_OP_ERR, as softib has it.
failed_send()
{
	klog_mark failed_send
	snapshot
	knob_set 1 fail_send 1
	ping_ok 1 "$(ip4 2)" && fail "the knob had no effect"
	check_delta 1 tx_errors 1
	check_eq "in the log" "$(logged_sends)" 2
	check "the queue goes on" within 8000 ping_ok 1 "$(ip4 2)"
	check_eq "resets of the QP" "$(klog | grep -c 'resetting it')" 0
}

ethtool_counter()
{
	in_node 1 ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# ethtool_counter_is NAME VALUE
ethtool_counter_is()
{
	[ "$(ethtool_counter "$1")" -eq "$2" ]
}

# The two are read one after the other: they agree once nothing came in between.
# To the driver's drops the core adds its own.
ethtool_agrees()
{
	local op=-eq

	[[ $1 == *_dropped ]] && op=-le
	test "$(ethtool_counter "$1")" "$op" "$(counter 1 "$1")"
}

via_ethtool()
{
	local name

	for name in rx_packets tx_packets rx_bytes tx_bytes tx_errors rx_dropped tx_dropped multicast; do
		check "$name" busywait 5000 ethtool_agrees "$name"
	done
}

# queue_sum NAME: of the transmit queues of node 1
queue_sum()
{
	in_node 1 ethtool -S ib0 | awk -v name="$1" '
		$1 ~ "^tx[0-9]+_" name ":$" { sum += $2 }
		END { print sum + 0 }'
}

queues_each()
{
	local queue before

	check_eq "last" "$(in_node 1 ethtool -S ib0 | sed -n '$s/^ *\(.*\): .*/\1/p')" tx7_woken
	check "4 queues" in_node 1 ethtool -L ib0 tx 4
	for queue in 3 1 0; do
		only_queue 1 4 "$queue"
		slowwait 10 quiet 300 > /dev/null
		before=$(ethtool_counter "tx${queue}_packets")
		check "ping" ping_ten "$(ip4 2)"
		check_eq "packets of queue $queue" \
			$(($(ethtool_counter "tx${queue}_packets") - before)) 10
	done
	check "1 queue" in_node 1 ethtool -L ib0 tx 1
}

queues_sum()
{
	local names=(packets bytes errors stopped woken)
	local totals=(tx_packets tx_bytes tx_errors tx_queue_stopped tx_queue_woken)
	local i before

	check "2 queues" in_node 1 ethtool -L ib0 tx 2
	only_queue 1 2 1
	before=$(ethtool_counter tx1_errors)
	knob_set 1 fail_send 1
	ping_ok 1 "$(ip4 2)" && fail "the knob had no effect"
	check "errors of queue 1" busywait 2000 ethtool_counter_is tx1_errors $((before + 1))
	check "it goes on" within 8000 ping_ok 1 "$(ip4 2)"
	check "1 queue" in_node 1 ethtool -L ib0 tx 1
	check "ping" ping_ten "$(ip4 2)"
	slowwait 10 quiet 300 > /dev/null
	for i in "${!names[@]}"; do
		check_eq "${names[i]}" "$(queue_sum "${names[i]}")" "$(ethtool_counter "${totals[i]}")"
	done
}

# queues each | sum
queues()
{
	"queues_$1"
}

survive()
{
	local sent got

	sent=$(counter 1 tx_packets)
	got=$(counter 1 rx_packets)
	node_ip 1 link set ib0 down
	node_ip 1 link set ib0 up
	check_num "tx_packets" "$(counter 1 tx_packets)" -ge "$sent"
	check_num "rx_packets" "$(counter 1 rx_packets)" -ge "$got"
}

ktap_main "$@"
