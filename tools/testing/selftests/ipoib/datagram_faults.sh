#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A receive that fails, and a restart of the QP, cost what is on its way and no more.
#
#	node1 ---- frames ----> node2		its receives fail
#	  |                       |
#	+-+-----------------------+-+
#	|          switch           |
#	+---------------------------+

: "${HCA:=mlx5}"
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"receive:back F7 the interface receives again within a second after a failed receive"
	"receive:counted F7 a failed receive is counted and logged"
	"receive:idle F7 a QP in error that cannot be restarted yet gets no receives posted repeatedly"
	"receive:after F7 a QP in error is restarted as soon as possible"
	"receive:storm F7 ten failed receives in turn do no harm"
	"overlong F52 a datagram reported as longer than its receive is counted, and has no other effect"
	"own_frames F17 own multicast frames are recognised by their GID after a change of the port's LID"
	"waiting_order B36 frames waiting for a path leave in order"
	"queued F11 frames queued during a restart of the QP are sent without a later frame"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 1 3 || ktap_bail "no ping"
	QKEY=$(group_field qkey)
	QPN=0x$(lladdr_qpn 2)
	BROADCAST=$(lladdr_broadcast 2)
}

diagnose()
{
	note "$(in_node 2 ethtool -S ib0 | grep -v ': 0$' | tr -s ' \n' ' ')"
	note "$(klog | tail -n 8)"
}

# fail_receive: the next datagram for node 2, which is one of ours, meets a receive that
# fails. The knob is down when it has.
fail_receive()
{
	knob_set 2 fail_recv 1
	ud_to 2
	check "send" ud_send 1 "${UD_TO[@]}" -q "$QPN" -Q "$QKEY" -d 88b50000cafe01
	check "it failed" busywait 2000 knob_is 2 fail_recv 0
}

# knob_is NODE NAME VALUE
knob_is()
{
	[ "$(< "$DEBUGFS/$(ibdev "$1")/$2")" = "$3" ]
}

# rtnl_take, rtnl_give: nobody else gets RTNL in between
rtnl_take()
{
	local log=$TESTDIR/rtnl

	: > "$log"
	spawn 3 hold rtnl ib0 > "$log" 2>&1 &
	HOLDER=$!
	busywait 5000 grep -q held "$log" || fail "RTNL is not held: $(< "$log")"
}

rtnl_give()
{
	kill "$HOLDER"
	wait "$HOLDER" 2> /dev/null
}

quick_ping()
{
	in_node 1 ping -n -c 1 -W 0.2 -I ib0 "$(ip4 2)" > /dev/null 2>&1
}

# reached_again: after a receive that failed, TOOK
reached_again()
{
	local start

	fail_receive
	start=$(now_ms)
	check "ping" busywait 10000 quick_ping
	TOOK=$(($(now_ms) - start))
}

receive()
{
	local before i

	case $1 in
	back) takes_less "from the failure to an echo" 1000 reached_again ;;
	counted)
		before=$(xstat 2 rx_completion_errors)
		fail_receive
		check "counted" busywait 3000 xstat_is 2 rx_completion_errors -eq $((before + 1))
		check_num "lines" "$(klog | grep -c 'failed recv event (status=4')" -eq 1
		check "ping" slowwait 10 quick_ping
		;;
	idle)
		rtnl_take
		fail_receive
		before=$(net_rx)
		nap 1
		note "$(($(net_rx) - before)) receive softirqs in a second"
		check_num "receive softirqs" $(($(net_rx) - before)) -lt 200
		;;
	after)
		rtnl_give
		check "ping" slowwait 10 quick_ping
		;;
	storm)
		for ((i = 0; i < 10; i++)); do
			fail_receive
		done
		check "ping" slowwait 10 quick_ping
		check "ping" ping_lossless 1 "$(ip4 2)" 50
		;;
	esac
}

overlong()
{
	local before

	before=$(xstat 2 rx_drop_short)
	knob_set 2 overlong_ud 3
	in_node 1 udp_group send ib0 "$(ip4 2)" 9 100 3
	check "counted" busywait 3000 xstat_is 2 rx_drop_short -eq $((before + 3))
	check "used up" knob_is 2 overlong_ud 0
	check "ping" ping_lossless 1 "$(ip4 2)" 50
}

lid_is()
{
	[ "$(port_lid "$1")" -eq "$2" ]
}

# The driver reads the LID under RTNL. What node 1 sends comes after what node 2 has sent
# to itself, if that is handed up.
own_frames()
{
	local was

	was=$(port_lid 2)
	rtnl_take
	# no switch routes to it
	port_info_set 1 2 16 "$(printf '%04x' $((was + 64)))"
	check "another LID" busywait 2000 lid_is 2 $((was + 64))
	listen 2 0x88b6 1 20000
	check "send" in_node 2 raw_frame send ib0 "$BROADCAST" 0x88b6 0badf00d 3
	check "send" in_node 1 raw_frame send ib0 "$BROADCAST" 0x88b6 cafe0001
	wait "$LISTENER" || fail "nothing is received"
	check_eq "the first frame" "$(received 2 | word data)" cafe0001
	rtnl_give
	opensm_reread
	check "its LID again" slowwait 20 lid_is 2 "$was"
	check "ping" wait_ping 1 2 20
}

# An answer after a second is none, and a machine may be slow for a while.
waiting_order()
{
	local i waited

	for ((i = 0; i < 5; i++)); do
		paths_forget
		capture_start waiting
		knob_set 2 delay_ms_mad 500
		check "send" udp_to 2 "$(ip4 3)" 9 20 0
		waited=$(waiting_for_path 2)
		busywait 5000 frame_seen dport=9 number=19
		knob_set 2 delay_ms_mad 0
		capture_stop
		[ "$waited" -ne 20 ] || break
	done
	check_eq "that waited" "$waited" 20
	check_eq "sent" "$(udp_frames 9 -f number | xargs)" "$(seq 0 19 | xargs)"
	node_ip 2 neigh del "$(ip4 3)" dev ib0
	check "ping" wait_ping 2 3
}

# Waits until the QP's way down has begun, and sends within it.
SEND_WHILE_DOWN='
import socket, sys, time
knob, addr = sys.argv[1:]
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 10
print("ready", flush=True)
while True:
    with open(knob) as file:
        if 0 < int(file.read()) < 9:
            break
    if time.monotonic() > end:
        sys.exit("no restart")
    time.sleep(0.001)
for _ in range(5):
    sender.sendto(bytes(100), (addr, 9))
'

# Frames in the queueing discipline of node 1
backlog()
{
	in_node 1 tc -s qdisc show dev ib0 root | sed -n 's/.*backlog [^ ]* \([0-9]*\)p.*/\1/p'
}

backlog_is()
{
	[ "$(backlog)" -eq "$1" ]
}

# quiet NODE: it sends nothing by itself
quiet()
{
	echo 1 | in_node "$1" tee /proc/sys/net/ipv6/conf/ib0/disable_ipv6 > /dev/null
	node_ip "$1" neigh change "$(ip4 $((3 - $1)))" dev ib0 nud permanent
}

# link_event: the stack processes changes of the carrier once a second at most. After this
# one it does not see that the carrier of ib0 is off for a moment, which would have it
# empty the queueing discipline.
link_event()
{
	ip link set dev dummy_carrier carrier off
	ip link set dev dummy_carrier carrier on
}

# A restart whose way down takes a while, as the HCA refuses nine times
restart_with_queue()
{
	local sender

	: > "$TESTDIR/sender"
	knob_set 1 fail_modify 9
	nsenter --net=/run/netns/node1 python3 -c "$SEND_WHILE_DOWN" \
		"$DEBUGFS/$(ibdev 1)/fail_modify" "$(ip4 2)" > "$TESTDIR/sender" &
	sender=$!
	busywait 5000 grep -q ready "$TESTDIR/sender" || fail "no sender"
	link_event
	knob_set 1 fail_recv 1
	in_node 2 raw_frame send ib0 "$(lladdr 1)" 0x88b5 cafe || fail "cannot send"
	wait "$sender" || fail "nothing is sent while the QP is down"
	check "restarted" busywait 5000 knob_is 1 fail_modify 0
	check "carrier" wait_carrier 1
}

# The last case: nodes 1 and 2 are without IPv6 after it.
queued()
{
	local round before arrived=0

	ip link add dummy_carrier type dummy || fail "no dummy"
	ip link set dev dummy_carrier up
	in_node 1 tc qdisc replace dev ib0 root pfifo
	check "ping" slowwait 5 ping_ok 1 "$(ip4 2)"
	quiet 1
	quiet 2
	for ((round = 0; round < 4; round++)); do
		before=$(counter 2 rx_packets)
		restart_with_queue
		check "round $round: the queue is empty" within 8000 backlog_is 0
		arrived=$((arrived + $(counter 2 rx_packets) - before))
		check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	done
	note "$arrived of $((5 * round)) frames have arrived"
	check_num "frames that have arrived" "$arrived" -ge 5
	ip link del dummy_carrier
}

ktap_main "$@"
