#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# TSO where the HCA has none: the driver cuts large packets of TCP and UDP into segments,
# which are octet by octet those of the kernel.
#
#	 node1     node2 <===== TCP =====> node3
#	OpenSM    driver cuts up             |
#	   |         |                       |
#	+--+---------+-----------------------+-+
#	|               switch                 |
#	+--------------------------------------+

: "${HCA:=mthca}"
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

# Octets of a transfer
OCTETS=2000000
# TCP port that raw packets come from
RAW_PORT=7100

CASES=(
	"offered B23 TSO with checksums is offered for IPv4 and IPv6 on an HCA without TSO, for packets of at most 33 segments"
	"same:ipv4:full B23 A large IPv4 packet of 20 segments equals the kernel's segmentation"
	"same:ipv4:odd B23 A large IPv4 packet with segments of odd length equals the kernel's segmentation"
	"same:ipv4:options B23 A large IPv4 packet with IP and TCP options, and a last segment of 1 octet, equals the kernel's segmentation"
	"same:ipv4:flags B23 A large IPv4 packet with CWR, URG, PSH and FIN equals the kernel's segmentation"
	"same:ipv4:two B23 A large IPv4 packet of two segments equals the kernel's segmentation"
	"same:ipv6:full B23 A large IPv6 packet of 20 segments equals the kernel's segmentation"
	"same:ipv6:odd B23 A large IPv6 packet with segments of odd length equals the kernel's segmentation"
	"same:ipv6:options B23 A large IPv6 packet with an extension header and TCP options equals the kernel's segmentation"
	"same:ipv6:flags B23 A large IPv6 packet with CWR, URG, PSH and FIN equals the kernel's segmentation"
	"udp:4 B23 A large UDP packet over IPv4 equals the kernel's segmentation, and arrives as datagrams"
	"udp:6 B23 A large UDP packet over IPv6 equals the kernel's segmentation, and arrives as datagrams"
	"udp_group B23 A large UDP packet to a group is left to the stack, and arrives"
	"waited B23 Two large packets of 15 and 20 segments that waited for a path leave whole"
	"many B23 A packet of more segments than the driver makes is left to the stack, and is the same"
	"counted B23 Packets and octets are counted as they are on the wire"
	"stream:4 B23 An IPv4 stream leaves in large packets with right checksums, and arrives"
	"stream:6 B23 An IPv6 stream leaves in large packets with right checksums, and arrives"
	"switched B23 Without TSO, or checksums, the stack segments, and checksums are right"
	"sendfile B23 A file sent without a copy arrives with right checksums"
	"full B23 Large packets sent faster than the link wait without drops"
	"failed B23 Failed segments are counted, and the interface recovers"
	"down B23 The interface goes down and up under a stream"
	"connected B23 TSO is off in connected mode, and comes back with datagram mode"
	"sum_start F74 A local user may start a checksum anywhere in a frame: the frame is sent, without a log message"
	"dma B23 The HCA reports no DMA fault in all cases"
)
NEEDS=([same]=offered [many]=offered [udp]=offered [waited]=offered
	[udp_group]=offered [counted]=offered [stream]=offered [switched]=offered
	[sendfile]=offered [full]=offered [failed]=offered [down]=offered [connected]=offered)

setup()
{
	fabric_up 3
}

diagnose()
{
	note "$(in_node 2 ethtool -S ib0 | tr -s ' \n' ' ')"
	note "$(klog | tail -n 10)"
}

feature_is()
{
	[[ $(feature 2 "$1") == "$2"* ]]
}

offered()
{
	check "ping" wait_ping 2 3
	check "TSO" feature_is tx-tcp-segmentation on
	check "TSO6" feature_is tx-tcp6-segmentation on
	check "checksums" feature_is tx-checksum-ip-generic on
	check "UDP" feature_is tx-udp-segmentation on
	# a quarter of the ring and one, see many
	check_eq "segments of a packet" "$(node_ip 2 -d -o link show dev ib0 |
		sed -n 's/.* tso_max_segs \([0-9]*\) .*/\1/p')" 33
}

# taps PORT: lengths of what node 2 sends from or to it, as the driver gets it, into $TAPS
taps()
{
	TAPS=$TESTDIR/taps
	# Not in the list that transfer ends
	spawn 2 "$LIB_DIR/segments.py" taps "$1" > "$TAPS" &
	TAP=$!
	busywait 60000 grep -q ready "$TAPS" || fail "no tap"
}

taps_end()
{
	kill "$TAP"
	wait "$TAP" 2> /dev/null
}

# longer_than N: how many of those there are
longer_than()
{
	awk -v n="$1" '$1 + 0 > n' "$TAPS" | wc -l
}

# tapped N: packets of so many octets have been seen
tapped()
{
	[ "$(awk '{ sum += $1 } END { print sum + 0 }' "$TAPS")" -ge "$1" ]
}

# ip_hex FAMILY OPTIONS: an IP header, the lengths and sums of which raw_frame fills in. Its
# destination is none of node 3's: there is no answer.
ip_hex()
{
	case $1:$2 in
	ipv4:no) echo 45020000fffe400040060000 0a090002 0a094d4d ;;
	ipv4:yes) echo 48020000fffe400040060000 0a090002 0a094d4d 010101010101010101010100 ;;
	ipv6:no) echo 6020000000000640 ;;
	ipv6:yes) echo 6020000000003c40 ;;
	esac | tr -d ' \n'
	[ "$1" = ipv6 ] || return 0
	printf 'fd09%024x%04x' 0 2
	printf 'fd09%024x%04x' 0 $((0x4d4d))
	[ "$2" = no ] || printf '0600010400000000'
}

# tcp_hex OPTIONS FLAGS: the same of TCP, close to the end of the sequence numbers
tcp_hex()
{
	printf '%04x%04xfffff000%08x' "$RAW_PORT" 7101 1
	if [ "$1" = yes ]; then
		printf '80%s01f5000000030101080a0000000100000002' "$2"
	else
		printf '50%s01f500000003' "$2"
	fi
}

# super_send NAME FAMILY OPTIONS FLAGS PAYLOAD SIZE: node 2 sends one large packet; what
# of it is on the wire gets into the file NAME
super_send()
{
	local type=0x800

	[ "$2" = ipv4 ] || type=0x86dd
	capture_start "$1"
	check "send" in_node 2 raw_frame vnet ib0 "$(lladdr 3)" "$type" \
		"$(ip_hex "$2" "$3")$(tcp_hex "$3" "$4")" "$5" "$6"
	capture_stop
	"$LIB_DIR/segments.py" wire "$CAPTURE" "$RAW_PORT" > "$TESTDIR/$1.hex"
}

# compare LARGE SEGMENTS ARG...: so many large packets reach the driver with TSO on, and
# none with TSO off; on the wire there are as many segments, and the same ones
compare()
{
	local large=$1 segments=$2

	shift 2
	check "ping" wait_ping 2 3
	taps "$RAW_PORT"
	super_send on "$@"
	busywait 60000 tapped "$4" || fail "it did not reach the driver"
	check_eq "large packets" "$(longer_than "$(link_mtu 2)")" "$large"
	taps_end
	check "off" in_node 2 ethtool -K ib0 tso off
	taps "$RAW_PORT"
	super_send off "$@"
	busywait 60000 tapped "$4" || fail "they did not reach the driver"
	check_eq "large packets with TSO off" "$(longer_than "$(link_mtu 2)")" 0
	taps_end
	check "on" in_node 2 ethtool -K ib0 tso on
	check_eq "segments" "$(wc -l < "$TESTDIR/off.hex")" "$segments"
	cmp "$TESTDIR/on.hex" "$TESTDIR/off.hex" || fail "segments differ: $(diff \
		"$TESTDIR/on.hex" "$TESTDIR/off.hex" | cut -c 1-200 | head -n 2)"
}

same()
{
	case $2 in
	full) compare 1 20 "$1" no 10 39000 1950 ;;
	odd) compare 1 12 "$1" no 18 8888 777 ;;
	options) compare 1 6 "$1" yes 10 7241 1448 ;;
	flags) compare 1 5 "$1" no b9 7000 1448 ;;
	two) compare 1 2 "$1" no 10 2500 1448 ;;
	esac
}

# udp_send NAME ADDRESS: ten datagrams of 1200 octets and one of 7, in one packet
udp_send()
{
	capture_start "$1"
	check "send" in_node 2 "$LIB_DIR/segments.py" udp "$RAW_PORT" "$2" 1200 12007
	busywait 60000 lines_are "$TESTDIR/got" "$3" || fail "$(wc -l < "$TESTDIR/got") datagrams"
	capture_stop
	"$LIB_DIR/segments.py" wire "$CAPTURE" "$RAW_PORT" > "$TESTDIR/$1.hex"
}

lines_are()
{
	[ "$(wc -l < "$1")" -ge "$2" ]
}

udp()
{
	local to

	to=$("ip$1" 3)
	check "ping" slowwait 10 ping_ok 2 "$to"
	background 3 "$LIB_DIR/segments.py" udp_get "$RAW_PORT" "$to" > "$TESTDIR/got"
	busywait 60000 grep -q ready "$TESTDIR/got" || fail "no receiver"
	taps "$RAW_PORT"
	udp_send on "$to" 12
	check_eq "large packets" "$(longer_than "$(link_mtu 2)")" 1
	taps_end
	check "off" in_node 2 ethtool -K ib0 tx-udp-segmentation off
	taps "$RAW_PORT"
	udp_send off "$to" 23
	check_eq "large packets without" "$(longer_than "$(link_mtu 2)")" 0
	taps_end
	check "on" in_node 2 ethtool -K ib0 tx-udp-segmentation on
	background_stop
	check_eq "datagrams" "$(sed -n 2,12p "$TESTDIR/got" | cut -d ' ' -f 1 | sort -n | uniq -c |
		tr -s ' \n' ' ')" " 1 7 10 1200 "
	check_eq "what arrived" "$(sed -n 2,12p "$TESTDIR/got")" "$(sed -n 13,23p "$TESTDIR/got")"
	check_eq "segments" "$(wc -l < "$TESTDIR/on.hex")" 11
	cmp "$TESTDIR/on.hex" "$TESTDIR/off.hex" || fail "segments differ: $(diff \
		"$TESTDIR/on.hex" "$TESTDIR/off.hex" | cut -c 1-200 | head -n 2)"
}

udp_group()
{
	local group=239.1.2.3

	check "route" node_ip 2 route replace "$group" dev ib0
	background 3 python3 -c '
import socket, struct, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], int(sys.argv[3])))
sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
		socket.inet_aton(sys.argv[1]) + socket.inet_aton(sys.argv[2]))
print("ready", flush=True)
while True:
	print(len(sock.recv(1 << 16)), flush=True)
' "$group" "$(ip4 3)" "$RAW_PORT" > "$TESTDIR/got"
	busywait 60000 grep -q ready "$TESTDIR/got" || fail "no receiver"
	taps "$RAW_PORT"
	check "datagrams" slowwait 10 group_send_until 11
	check_eq "large packets" "$(longer_than "$(link_mtu 2)")" 0
	taps_end
	background_stop
	node_ip 2 route del "$group" dev ib0
}

# group_send_until N: datagrams arrive as soon as the way to the group is made
group_send_until()
{
	in_node 2 "$LIB_DIR/segments.py" udp "$RAW_PORT" 239.1.2.3 1200 12007
	busywait 1000 lines_are "$TESTDIR/got" $((1 + $1))
}

many()
{
	compare 0 80 ipv4 no 10 40000 500
}

counted()
{
	local packets bytes on_wire

	check "ping" wait_ping 2 3
	packets=$(counter 2 tx_packets)
	bytes=$(counter 2 tx_bytes)
	super_send counted ipv4 no 10 39000 1950
	packets=$(($(counter 2 tx_packets) - packets))
	bytes=$(($(counter 2 tx_bytes) - bytes))
	# Some neighbour discovery may be among them
	check_num "packets" "$packets" -ge 20
	check_num "packets" "$packets" -le 25
	on_wire=$(($(tr -d '\n' < "$TESTDIR/counted.hex" | wc -c) / 2))
	check_eq "octets on the wire" "$on_wire" $((39000 + 20 * 44))
	check_num "octets" "$bytes" -ge "$on_wire"
	check_num "octets" "$bytes" -le $((on_wire + 1000))
}

# right_sums PORT: tshark finds no wrong checksum in what is captured from that port
right_sums()
{
	local args=("${TSHARK_ARGS[@]}") got

	TSHARK_ARGS+=(-o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE)
	check "tshark" tshark_read tcp.len tcp.checksum.status tcp.dstport
	TSHARK_ARGS=("${args[@]}")
	# Status 1 is good
	got=$(tshark_rows "tcp.dstport=$1" tcp.checksum.status | sort | uniq -c | tr -s ' \n' ' ')
	[[ $got =~ ^\ [0-9]+\ 1\ $ ]] || fail "TCP checksums (count, status): $got"
}

# transfer_as OP N ADDRESS: node 2 sends so many large packets of a stream
transfer_as()
{
	taps 7000
	transfer 2 3 "$3"
	busywait 60000 tapped "$OCTETS" || fail "the tap has not seen all"
	taps_end
	check_num "large packets" "$(longer_than "$(link_mtu 2)")" "$1" "$2"
}

stream()
{
	check "ping" wait_ping 2 3
	capture_start stream
	transfer_as -gt 20 "$("ip$1" 3)"
	capture_stop
	right_sums 7000
}

switched()
{
	check "ping" wait_ping 2 3
	check "TSO off" in_node 2 ethtool -K ib0 tso off
	check "TSO6" feature_is tx-tcp6-segmentation off
	capture_start tso_off
	transfer_as -eq 0 "$(ip4 3)"
	capture_stop
	right_sums 7000
	check "TSO on" in_node 2 ethtool -K ib0 tso on
	check "checksums off" in_node 2 ethtool -K ib0 tx off
	check "TSO off without" feature_is tx-tcp-segmentation off
	capture_start tx_off
	transfer_as -eq 0 "$(ip4 3)"
	capture_stop
	right_sums 7000
	check "checksums on" in_node 2 ethtool -K ib0 tx on tso on
	transfer_as -gt 20 "$(ip4 3)"
}

# What is sent from the page cache may change until it has left: no sum of the driver's
# while it cuts up.
sendfile()
{
	local got=$TESTDIR/received digest

	check "ping" wait_ping 2 3
	head -c "$OCTETS" /dev/urandom > "$TESTDIR/file"
	background 3 python3 -c '
import hashlib, socket, sys
listener = socket.create_server((sys.argv[1], 7000))
print("listening", flush=True)
peer, _ = listener.accept()
digest = hashlib.sha256()
while data := peer.recv(65536):
	digest.update(data)
print(digest.hexdigest(), flush=True)
' "$(ip4 3)" > "$got"
	busywait 10000 grep -q listening "$got" || fail "no listener"
	capture_start sendfile
	digest=$(in_node 2 timeout $((60 * SLOW)) "$LIB_DIR/segments.py" sendfile "$(ip4 3)" \
		"$TESTDIR/file") || fail "the sender failed"
	busywait $((60000 * SLOW)) grep -q "^$digest$" "$got" || fail "what arrived is not what was sent"
	capture_stop
	background_stop
	right_sums 7000
}

tx_drops()
{
	in_node 2 ethtool -S ib0 | awk '/tx_drop_/ { sum += $2 } END { print sum + 0 }'
}

# A send takes 200 ms, and the limit of octets under way is raised: the ring has room for six of
# 40 packets, and the rest waits in the queueing discipline.
full()
{
	local bql=/sys/class/net/ib0/queues/tx-0/byte_queue_limits/limit_min
	local drops packets sender

	in_node 2 test -e "$bql" || { check_skip "the kernel has no byte queue limits"; return; }
	check "qdisc" in_node 2 tc qdisc replace dev ib0 root pfifo limit 1000
	check "ping" wait_ping 2 3
	drops=$(tx_drops)
	packets=$(counter 2 tx_packets)
	check "octets under way" in_node 2 sh -c "echo 2000000 > $bql"
	knob_set 2 latency_us 200000
	for sender in 1 2 3 4; do
		background 2 raw_frame vnet ib0 "$(lladdr 3)" 0x800 \
			"$(ip_hex ipv4 no)$(tcp_hex no 10)" 39000 1950 10 || fail "sender $sender"
	done
	busywait 60000 counter_is 2 tx_packets -ge $((packets + 800)) ||
		fail "$(($(counter 2 tx_packets) - packets)) packets were sent"
	knob_set 2 latency_us 0
	background_stop
	in_node 2 sh -c "echo 0 > $bql"
	in_node 2 tc qdisc del dev ib0 root
	check_eq "drops" "$(tx_drops)" "$drops"
}

failed()
{
	check "ping" wait_ping 2 3
	knob_set 2 fail_send 3
	transfer 2 3 "$(ip4 3)"
	check_eq "failed sends left" "$(knob_get 2 fail_send)" 0
	check "errors" counter_is 2 tx_errors -gt 0
	check "ping" wait_ping 2 3
}

down()
{
	check "ping" wait_ping 2 3
	background 3 timeout $((120 * SLOW)) python3 -c '
import socket, sys
listener = socket.create_server((sys.argv[1], 7003))
peer, _ = listener.accept()
while peer.recv(65536):
	pass
' "$(ip4 3)"
	background 2 timeout $((120 * SLOW)) python3 -c '
import socket, sys, time
for _ in range(100):
	try:
		peer = socket.create_connection((sys.argv[1], 7003))
		break
	except OSError:
		time.sleep(.1)
while True:
	peer.sendall(bytes(1 << 20))
' "$(ip4 3)"
	for _ in 1 2 3; do
		# There is traffic: it goes down within it.
		busywait 60000 sends_much || fail "no stream"
		check "down" node_ip 2 link set ib0 down
		check "up" node_ip 2 link set ib0 up
		check "carrier" wait_carrier 2
	done
	background_stop
	check "ping" wait_ping 2 3
	transfer 2 3 "$(ip4 3)"
}

# Some hundred segments within the time that it takes to look
sends_much()
{
	local before

	before=$(counter 2 tx_packets)
	nap 0.2
	[ $(($(counter 2 tx_packets) - before)) -gt 100 ]
}

connected()
{
	check "connected mode" set_mode 2 connected
	check "TSO" feature_is tx-tcp-segmentation off
	check "TSO6" feature_is tx-tcp6-segmentation off
	check "checksums" feature_is tx-checksum-ip-generic off
	transfer 2 3 "$(ip4 3)"
	check "datagram mode" set_mode 2 datagram
	check "TSO" feature_is tx-tcp-segmentation on
	check "TSO6" feature_is tx-tcp6-segmentation on
	transfer_as -gt 20 "$(ip4 3)"
}

# The part of a frame that the checksum begins in is not on the wire.
sum_start()
{
	local before start

	check "ping" wait_ping 2 3
	before=$(counter 2 tx_packets)
	# This is the first of four frames.
	! in_node 2 raw_frame sum ib0 "$(lladdr 3)" 0 2>&1 | grep -q "Address family not supported" ||
		{ check_skip "the kernel has no AF_XDP"; return; }
	for start in 0 18 40; do
		check "send" in_node 2 raw_frame sum ib0 "$(lladdr 3)" "$start"
	done
	check "sent" within 1000 counter_is 2 tx_packets -ge $((before + 4))
	check_eq "log" "$(klog | grep -c 'skb_headlen\|skb_checksum_help')" 0
}

dma()
{
	check_eq "DMA faults" "$(knob_get 2 counters | sed -n 's/^hca\.dma_faults //p')" 0
}

# The driver posts up to 33 segments at once.
SEND_TWO='
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT
for segments in (15, 20):
    sender.sendto(bytes(100 * segments), (sys.argv[1], 9))
'

segments_seen()
{
	[ "$(frame_count op=64 dport=9)" -ge "$1" ]
}

# An answer after a second is none, and a machine may be slow for a while.
waited()
{
	local i waiting

	for ((i = 0; i < 5; i++)); do
		paths_forget
		capture_start waited
		knob_set 2 delay_ms_mad 500
		check "send" in_node 2 python3 -c "$SEND_TWO" "$(ip4 3)"
		waiting=$(waiting_for_path 2)
		busywait 5000 segments_seen 35
		knob_set 2 delay_ms_mad 0
		capture_stop
		[ "$waiting" -ne 2 ] || break
	done
	check_eq "that waited" "$waiting" 2
	check_eq "segments" "$(frame_count op=64 dport=9)" 35
	node_ip 2 neigh del "$(ip4 3)" dev ib0
	check "ping" wait_ping 2 3
}

ktap_main "$@"
