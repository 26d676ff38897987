# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Cases of connected_rc.sh and connected_uc.sh, which are the same for both
# transports.

start()
{
	local node

	check "datagram mode" in_mode datagram "$1" 1 2
	capture_start start
	check "mode and transport" in_mode connected "$1" 1 2
	for node in 1 2; do
		check_eq "mode" "$(net_file "$node" mode)" connected
		check_eq "MTU" "$(link_mtu "$node")" 65520
	done
	check "connection" connect 1 2
	check "connection back" connect 2 1
	capture_stop
}

flags()
{
	check_eq "flags" "$(lladdr 1 | cut -c 1-2)" "$1"
	check_eq "GID" "$(lladdr 1 | cut -c 9-)" "$(port_gid_hex 1)"
}

# both_forget NODE: the addresses of neighbours. A peer that knows one might just now probe
# it, and the node would learn the peer's address from the question and ask none.
both_forget()
{
	node_ip $((3 - $1)) neigh flush dev ib0
	node_ip "$1" neigh flush dev ib0
}

# answers FLAGS: to ARP and to Neighbour Solicitations, of both nodes
answers()
{
	local own node

	capture_start answers
	for node in 1 2; do
		both_forget "$node"
		check "ping" slowwait 5 ping_ok "$node" "$(ip4 $((3 - node)))"
		both_forget "$node"
		check "ping" slowwait 5 ping_ok "$node" "$(ip6 $((3 - node)))"
	done
	capture_stop
	for node in 1 2; do
		own=$1$(lladdr_qpn "$node")$(port_gid_hex "$node")
		check "ARP replies of node $node" frames_all arp.sha "$own" "$(from "$node")" arp.op=2
		check "whom they go to" frames_to $((3 - node)) "$(from "$node")" arp.op=2
		check "advertisements of node $node" frames_all nd.opthex "0000$own" "$(from "$node")" \
			icmp6.type=136 "nd.target=$(ip6 "$node")" nd.opt=2
		check "whom they go to" frames_to $((3 - node)) "$(from "$node")" \
			icmp6.type=136 "nd.target=$(ip6 "$node")" nd.opt=2
	done
}

# messages SERVICE: what start captured. Each node may have asked first, or both.
messages()
{
	local node grants asked=0

	for node in 1 2; do
		[ -z "$(cm_from "$node" "$CM_REQ" cm.private)" ] || asked=$((asked + 1))
		check "service ID of node $node" only "0100000000$(lladdr_qpn $((3 - node)))" cm_from "$node" "$CM_REQ" cm.sid
		check "service type of node $node" only "$1" cm_from "$node" "$CM_REQ" cm.service
		check "REQ of node $node" only "$(private_data "$node" 65524)" cm_from "$node" "$CM_REQ" cm.private
		check "REP of node $node" only "$(private_data "$node" 65524)" cm_from "$node" "$CM_REP" cm.private
		check "RTU of node $node" only "$(private_data "$node" 65524)" cm_from "$node" "$CM_RTU" cm.private
		check "REJ of node $node" only "$(private_data "$node" 65524)" cm_from "$node" "$CM_REJ" cm.private
	done
	check_num "nodes that asked" "$asked" -ge 1
	# Of requests that cross late each is granted, and the second grant refused.
	grants=$(cm_messages "$CM_REP" -f "$FROM_KEY" | sort -u | wc -l)
	check_num "grants" "$grants" -ge 1
	check_num "grants" "$grants" -le "$asked"
	check_num "confirmations" "$(cm_messages "$CM_RTU" -f "$FROM_KEY" | sort -u | wc -l)" -eq 1
	check "refusals, if requests crossed" only 28 cm_messages "$CM_REJ" -f cm.reason
}

# only WORD COMMAND...: prints that and nothing else, or nothing
only()
{
	local out

	out=$("${@:2}" | sort -u)
	[ -z "$out" ] || [ "$out" = "$1" ] && return
	echo "got $out, wanted $1"
	return 1
}

pings()
{
	local size pause

	for size in 10 1400 2016 5000 65000; do
		# ping's socket has room for one long answer that is not read yet.
		pause=0.01
		[ "$size" -lt 10000 ] || pause=0.2
		check "IPv4, $size" ping_lossless 1 "$(ip4 2)" 10 -M 'do' -s "$size" -i "$pause"
		check "IPv6, $size" ping_lossless 2 "$(ip6 1)" 10 -M 'do' -s "$size" -i "$pause"
	done
}

# echoes_on TYPE OPCODE: how many of the first five were sent by that. While a late answer is
# awaited ping sends more.
echoes_on()
{
	frames -f icmp.seq "icmp.type=$1" "op=$2" | awk '$1 <= 5' | sort -u | wc -l
}

# on_wire FIRST: opcodes are FIRST to FIRST + 4
on_wire()
{
	local only

	only=$(printf '%02x' $(($1 + 4)))
	capture_start wire
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	check "ping6" ping_lossless 2 "$(ip6 1)" 5
	in_node 1 arping -c 1 -I ib0 "$(ip4 2)" > /dev/null
	node_ip 1 neigh flush dev ib0
	check "ping6" ping_lossless 1 "$(ip6 2)" 2
	capture_stop
	check_num "echoes on the connection" "$(echoes_on 8 "$only")" -eq 5
	check_num "answers on the connection" "$(echoes_on 0 "$only")" -eq 5
	check_eq "echoes over UD" "$(frames -f n op=64 icmp.type=8)" ""
	check_num "ARP over UD" "$(frame_count op=64 type=0806)" -ge 2
	check_eq "ARP on the connection" "$(frames -f n op!=64 type=0806)" ""
	check_num "NS over UD" "$(frame_count op=64 icmp6.type=135)" -ge 1
	check_num "NA over UD" "$(frame_count op=64 icmp6.type=136)" -ge 1
	check_eq "ND on the connection" "$(frames -f n op!=64 icmp6.type=135; frames -f n op!=64 icmp6.type=136)" ""
}

# reserved FIRST: of packets in one frame, and of the first frame of longer ones
reserved()
{
	capture_start reserved
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	check "ping6" ping_lossless 2 "$(ip6 1)" 5
	check "long" ping_lossless 1 "$(ip4 2)" 3 -s 9000 -i 0.1
	capture_stop
	check_num "in one frame" "$(frame_count type=0800 "op=$(printf '%02x' $(($1 + 4)))")" -ge 10
	check_num "IPv6" "$(frame_count type=86dd "op=$(printf '%02x' $(($1 + 4)))")" -ge 10
	check_num "first of several" "$(frame_count type=0800 "op=$(printf '%02x' "$1")")" -ge 6
	check "in one frame" frames_all reserved 0000 "op=$(printf '%02x' $(($1 + 4)))"
	check "first of several" frames_all reserved 0000 "op=$(printf '%02x' "$1")"
}

one_connection()
{
	local before

	check "connection" connect 1 2
	before=$(cm_stat 1 cm_requests)
	node_ip 2 addr add 10.9.1.2/16 dev ib0
	check "second address" slowwait 5 ping_ok 1 10.9.1.2
	check "second address" ping_lossless 1 10.9.1.2 5
	node_ip 2 addr del 10.9.1.2/16 dev ib0
	check_eq "further requests" "$(cm_stat 1 cm_requests)" "$before"
	check_eq "connections of node 1" "$(conn_count 1 2)" 1
	check_eq "connections of node 2" "$(conn_count 2 1)" 1
	check "used both ways" grep -q ' both ' <<< "$(conns 2 1)"
	check_eq "UD QPs of node 1" "$(rdma res show qp link "$(ibdev 1)/1" | grep -c 'type UD')" "${IPOIB_TXQS:-1}"
	check_eq "QPs of node 1" "$(rdma res show qp link "$(ibdev 1)/1" | grep -cE 'type (RC|UC)')" 1
}

stream()
{
	local before

	before=$(cm_stat "$1" cm_tx_packets)
	tcp_stream "$1" "$2" "$3"
	check_num "frames on the connection" $(($(cm_stat "$1" cm_tx_packets) - before)) -gt $((100 / SLOW))
	check_eq "still one connection" "$(conn_count 1 2)" 1
}

# What is not IP goes over UD, whatever connection there is.
other_types()
{
	check "connection" connect 1 2
	capture_start types
	listen 2 0x88b5 3 20000
	check "send" in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x88b5 0123456789ab 3
	wait "$LISTENER" || fail "not all of 3 frames came"
	capture_stop
	check_num "over UD" "$(frame_count type=88b5 op=64 "$(from 1)")" -eq 3
	check_eq "on the connection" "$(frames -f n type=88b5 op!=64)" ""
}

# A neighbour that is doubted is asked by unicast, after a second.
unicast_ns()
{
	local delay=/proc/sys/net/ipv6/neigh/ib0/delay_first_probe_time

	check "connection" connect 1 2
	check "ping" ping_once 1 "$(ip6 2)"
	in_node 1 sh -c "echo 1 > $delay"
	capture_start ns
	check "doubt" node_ip 1 neigh change "$(ip6 2)" dev ib0 nud stale
	in_node 1 bash -c "echo > /dev/udp/$(ip6 2)/9"
	check "NS by unicast" slowwait 6 frame_seen op=64 icmp6.type=135 "$(from 1)" "$(to 2)"
	check "NA" busywait 2000 frame_seen op=64 icmp6.type=136 "$(from 2)" "$(to 1)"
	capture_stop
	in_node 1 sh -c "echo 5 > $delay"
	check_eq "ND on the connection" "$(frames -f n op!=64 icmp6.type=135; frames -f n op!=64 icmp6.type=136)" ""
}

# options_before TYPE: an ICMPv6 message of node 1 to node 2 behind hop-by-hop options, in hex
options_before()
{
	printf '60000000 002000ff fd09%028x fd09%028x 3a00010400000000 %02x00000000000000 fd09%028x\n' 1 2 "$1" 2 | tr -d ' '
}

# Types 135 and 128
extended_ns()
{
	check "connection" connect 1 2
	capture_start extended
	check "NS" in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x86dd "$(options_before 135)" 3
	capture_stop
	check_num "NS over UD" "$(frame_count type=86dd op=64 "$(from 1)" "$(to 2)")" -ge 3
	check_eq "NS on the connection" "$(frames -f n type=86dd op=04 "$(from 1)")" ""
	capture_start extended_echo
	check "echo" in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x86dd "$(options_before 128)" 3
	capture_stop
	check_num "echo on the connection" "$(frame_count type=86dd op=04 "$(from 1)")" -eq 3
}

# datagram_begin: node 2 is in datagram mode, and node 1 has a connection to it
datagram_begin()
{
	check "node 2" set_mode 2 datagram
	check "connection" connect 1 2
	BEFORE=$(cm_stat 2 cm_rx_packets)
	UD_ONLY=$(cm_stat 2 cm_tx_packets)
}

# datagram_end FRAMES: at least so many came on the connection, and none went
datagram_end()
{
	check_num "frames on the connection" $(($(cm_stat 2 cm_rx_packets) - BEFORE)) -ge "$1"
	check_eq "from node 2" "$(cm_stat 2 cm_tx_packets)" "$UD_ONLY"
	check "node 2 back" set_mode 2 connected
	check "connection" connect 1 2
}

# from_datagram FAMILY
from_datagram()
{
	datagram_begin
	check "ping" ping_lossless 1 "$("$1" 2)" 10
	check "large" ping_lossless 1 "$("$1" 2)" 5 -s 1900 -M 'do'
	check "ping back" ping_lossless 2 "$("$1" 1)" 5 -s 1900 -M 'do'
	datagram_end 20
}

# datagram_stream FROM TO FAMILY: TCP, and node 2 is in datagram mode
datagram_stream()
{
	datagram_begin
	tcp_stream "$1" "$2" "$3"
	datagram_end 20
}
