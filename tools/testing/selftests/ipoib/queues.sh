#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Several transmit queues: each has a QP, a ring and a CQ of its own. The first has the QP of
# the address.
#
#	 node1     node2 ======> node3
#	OpenSM    four queues      |
#	   |         |             |
#	+--+---------+-------------+-+
#	|           switch           |
#	+----------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

OCTETS=1000000
GROUP=239.7.7.7

CASES=(
	"default - A single transmit queue of eight is used, and the address stays with more queues"
	"spread - Datagrams of many sockets leave by as many QPs as there are queues"
	"cpus - Each CPU has its own queues by XPS, which only ethtool -L renews"
	"by_xps - All frames except groups and ARP leave by the queue of XPS"
	"first B42 Groups and ARP leave by the QP of the address with several queues, and the own echo is recognised"
	"order B36 Frames that wait for a path leave by their queues, in order"
	"change - A change of the number loses nothing on the first queue, and streams go on"
	"stopped - QPs of unused queues do not run"
	"down - All queues work after the interface was down, and after ethtool -G"
	"recovers B38 A failed send stops a single QP, which sends again"
	"refused - More than eight queues and zero queues are refused"
	"refused_hca - A queue whose QP the HCA does not start is refused, and the others send and receive"
)

setup()
{
	fabric_up 3
}

diagnose()
{
	note "$(in_node 2 ethtool -S ib0 | tr -s ' \n' ' ')"
	note "$(in_node 2 ethtool -l ib0 2>&1 | tr -s ' \n' ' ')"
	note "$(klog | tail -n 10)"
}

# channels: RX and TX at most, and now
channels()
{
	in_node 2 ethtool -l ib0 | sed -n 's/^[RT]X:[\t ]*//p' | xargs
}

# queues N: flows of one process go by all of them, without XPS
queues()
{
	local queue

	check "$1 queues" in_node 2 ethtool -L ib0 tx "$1"
	for ((queue = 0; queue < $1; queue++)); do
		xps 2 "$queue" 0
	done
}

# xps_masks QUEUES: the processors of each, masks in decimal
xps_masks()
{
	local queue mask

	for ((queue = 0; queue < $1; queue++)); do
		mask=$(in_node 2 cat "/sys/class/net/ib0/queues/tx-$queue/xps_cpus")
		echo $((16#${mask//,/}))
	done | xargs
}

# xps_expected QUEUES: the same, of CPU c on queue c % QUEUES, and c % CPUs where there are fewer
xps_expected()
{
	local queue cpu mask shares

	shares=$(($(nproc) < $1 ? $(nproc) : $1))
	for ((queue = 0; queue < $1; queue++)); do
		mask=0
		for ((cpu = queue % shares; cpu < $(nproc); cpu += shares)); do
			mask=$((mask | 1 << cpu))
		done
		echo "$mask"
	done | xargs
}

# running: QPs of node 2 that send
running()
{
	rdma res show qp link "$(ibdev 2)/1" | grep -c 'type UD state RTS'
}

# qpns PORT CONDITION...: numbers of the QPs that sent those frames, each once
qpns()
{
	frames -f sqp "$@" | sort -u | xargs
}

default()
{
	local address

	address=$(lladdr 2)
	check_eq "at most, and now" "$(channels)" "1 8 1 1"
	queues 4
	check_eq "at most, and now" "$(channels)" "1 8 1 4"
	check_eq "address" "$(lladdr 2)" "$address"
	check "ping" wait_ping 2 3
}

spread()
{
	queues 4
	check "ping" wait_ping 2 3
	capture_start spread
	check "send" flows 32 2
	busywait 5000 frame_seen dport=7131 number=1
	capture_stop
	check_num "QPs" "$(qpns "$(from 2)" ip.proto=17 | wc -w)" -eq 4
	check_num "datagrams" "$(frame_count "$(from 2)" ip.proto=17 ip.len=128)" -eq 64
}

cpus()
{
	local n

	# No number is that of before, for which nothing would change
	for n in 2 4 1 2; do
		check "$n queues" in_node 2 ethtool -L ib0 tx "$n"
		check_eq "CPUs of $n queues" "$(xps_masks "$n")" "$(xps_expected "$n")"
	done
	xps 2 1 0
	check "down" node_ip 2 link set ib0 down
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check_eq "of the administrator" "$(xps_masks 2 | cut -d ' ' -f 2)" 0
	check "3 queues" in_node 2 ethtool -L ib0 tx 3
	check_eq "CPUs of 3 queues" "$(xps_masks 3)" "$(xps_expected 3)"
	check "ping" wait_ping 2 3
}

by_xps()
{
	local qpn

	queues 4
	qpn=$(lladdr_qpn 2)
	check "ping" wait_ping 2 3
	xps 2 3 "$(all_cpus)"
	capture_start xps
	check "send" flows 32 1
	busywait 5000 frame_seen dport=7131
	capture_stop
	xps 2 3 0
	check_num "QPs" "$(qpns "$(from 2)" ip.proto=17 | wc -w)" -eq 1
	check_num "not that of the address" "$(qpns "$(from 2)" ip.proto=17)" -ne "$qpn"
}

# XPS would have all by another queue.
first()
{
	local qpn echoes

	queues 4
	xps 2 3 "$(all_cpus)"
	qpn=$(lladdr_qpn 2)
	echoes=$(xstat 2 rx_own_echo)
	node_ip 2 neigh flush dev ib0
	capture_start first
	check "send" udp_to 2 "$GROUP" 9 20
	check "ping" wait_ping 2 3
	# the answer to ARP is for one address
	node_ip 3 neigh flush dev ib0
	check "ping" wait_ping 3 2
	capture_stop
	xps 2 3 0
	check_eq "QPs of groups" "$(qpns "$(from 2)" dport=9)" "$qpn"
	check_eq "QPs of ARP requests" "$(qpns "$(from 2)" arp.op=1)" "$qpn"
	check_eq "QPs of ARP replies" "$(qpns "$(from 2)" arp.op=2)" "$qpn"
	check_num "own echoes" $(($(xstat 2 rx_own_echo) - echoes)) -ge 20
}

order()
{
	queues 4
	flows_wait
	check_num "QPs" "$(qpns "$(from 2)" ip.proto=17 | wc -w)" -ge 2
	node_ip 2 neigh del "$(ip4 3)" dev ib0
	check "ping" wait_ping 2 3
}

# change_queues: while something is sent
change_queues()
{
	local n

	for n in 4 1 8 2 1 3; do
		queues "$n"
		nap 0.3
	done
}

change()
{
	group_join 3 "$GROUP"
	udp_to 2 "$GROUP" 9 1
	check "member" slowwait 5 is_sender 2 "$(mgid4 "$GROUP")"
	udp_listen 3 "$GROUP" 9 1000 20000
	background 2 udp_group send ib0 "$GROUP" 9 100 1000 4000 > /dev/null
	change_queues
	wait "$LISTENER"
	check "all arrive" test $? -eq 0
	background_stop
	group_leave
	background 2 ping -q -i 0.02 "$(ip4 3)" > "$TESTDIR/change_ping"
	transfer 2 3 "$(ip4 3)" &
	change_queues
	wait $!
	check "the stream ends" test $? -eq 0
	background_stop
	check "ping" wait_ping 2 3
}

stopped()
{
	queues 4
	check_eq "of four" "$(running)" 4
	queues 2
	check_eq "of two" "$(running)" 2
	queues 1
	check_eq "of one" "$(running)" 1
}

# all_queues_send
all_queues_send()
{
	capture_start all
	check "send" flows 32 1
	busywait 5000 frame_seen dport=7131
	capture_stop
	check_num "QPs" "$(qpns "$(from 2)" ip.proto=17 | wc -w)" -eq 4
	check_num "datagrams" "$(frame_count "$(from 2)" ip.proto=17 ip.len=128)" -eq 32
}

down()
{
	queues 4
	check "down" node_ip 2 link set ib0 down
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check "ping" wait_ping 2 3
	all_queues_send
	check "rings" in_node 2 ethtool -G ib0 tx 64
	check "ping" wait_ping 2 3
	all_queues_send
	check "rings" in_node 2 ethtool -G ib0 tx 128
	check "down" node_ip 2 link set ib0 down
	queues 2
	queues 4
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	check "ping" wait_ping 2 3
	all_queues_send
}

recovers()
{
	local failed

	queues 4
	check "ping" wait_ping 2 3
	failed=$(xstat 2 tx_completion_errors)
	xps 2 3 "$(all_cpus)"
	knob_set 2 fail_send 1
	check "send" flows 8 1
	check "a send has failed" busywait 5000 knob_is 2 fail_send 0
	xps 2 3 0
	check "and is counted" busywait 5000 xstat_is 2 tx_completion_errors -gt "$failed"
	check "ping" wait_ping 2 3
	all_queues_send
}

refused()
{
	check_not "nine" in_node 2 ethtool -L ib0 tx 9
	check_not "none" in_node 2 ethtool -L ib0 tx 0
	check_not "two that receive" in_node 2 ethtool -L ib0 rx 2
	check "ping" wait_ping 2 3
	queues 1
}

# modify_states 4: the change to RTR
refused_hca()
{
	queues 1
	check "ping" wait_ping 2 3
	knob_set 2 modify_states 4
	knob_set 2 fail_modify 1
	check_not "two" in_node 2 ethtool -L ib0 tx 2 2> /dev/null
	check_eq "changes to be refused" "$(knob_get 2 fail_modify)" 0
	knob_set 2 modify_states 0
	check_eq "at most, and now" "$(channels)" "1 8 1 1"
	check_eq "QPs that run" "$(running)" 1
	check "ping" ping_lossless 2 "$(ip4 3)" 20
	queues 2
	check_eq "QPs that run" "$(running)" 2
	check "ping" wait_ping 2 3
	queues 1
}

ktap_main "$@"
