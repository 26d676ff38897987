#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two nodes in connected mode carry unicast IP on one reliable connection, and all
# else over UD, with the messages that RFC 4755 asks for.
#
#	node1 <== RC ==> node2
#	  |                |
#	+-+----------------+-+
#	|       switch       |
#	+--------------------+

: "${HCA:=mlx5}"
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=cm_cases.sh
. "$LIB_DIR/cm_cases.sh"

CASES=(
	"start:rc B5,C1 two nodes go into connected mode, reliable"
	"messages:0 C12,C15,C21,C26,C29,C36 REQ, REP and RTU are as sections 3.2, 3.5 and 6 have them"
	"flags:80 C7,U36 the flags of the address are RC only"
	"answers:80 C10 replies to ARP and ND have the responder's own flags and QPN, and go to the requester"
	"pings C1,C2 echoes of all sizes lose nothing, both ways and both families"
	"on_wire:0 C4,C6,C22,C31,C32 echoes use the connection, ARP and ND use UD"
	"reserved_flags C7 reserved bits in the flags of a peer's address are ignored: its connection is the same"
	"reserved_ignored C22 a non-zero reserved field of a frame on a connection is ignored"
	"reserved:0 F22,C22 the reserved field of frames sent on a connection is zero"
	"one_connection C4,C5,C13,C14 all IP addresses of a peer share a single connection for both directions"
	"multicast C3,C31 broadcast goes over UD"
	"stream:1:2:ip4 C1 TCP over IPv4, node 1 to node 2"
	"stream:2:1:ip6 C1 TCP over IPv6, node 2 to node 1"
	"other_types C22 frames of other EtherTypes than IP go over UD"
	"unicast_ns C32 unicast Neighbour Solicitations and their answers go over UD"
	"extended_ns C22,C32 Neighbour Solicitations behind an extension header go over UD, unlike other ICMPv6"
	"from_datagram:ip4 C30 a node in datagram mode accepts IPv4 packets on a connection"
	"from_datagram:ip6 C30 a node in datagram mode accepts IPv6 packets on a connection"
	"lossy C33 loss of one packet in fifty closes no connection and costs little time"
	"rnr C33 a peer without receives for a while closes no connection"
	"burst C33 after a burst that used half of the receives as many receives are posted again"
	"ud_error B38,F7,C1,F48 a failed UD QP is reset, and no connection, group or path ends"
	"latency C12 a connection is made within a few milliseconds"
)

NEEDS=([messages:0]=start:rc)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected rc 1 2 || ktap_bail "no connected mode"
}

diagnose()
{
	cm_diagnose 1 2
}

multicast()
{
	broadcasts_over_ud 1
}

lossy()
{
	local node

	same_connection_begin
	for node in 1 2; do
		knob_set "$node" drop_every_rc 50
	done
	takes_less "longest echo" 300 longest_echo 200 -s 1000
	for node in 1 2; do
		knob_set "$node" drop_every_rc 0
	done
	check_num "losses" "$(($(drops 1 fault) + $(drops 2 fault)))" -gt 2
	same_connection_end
}

reserved_flags()
{
	local before addr

	check "connection" connect 1 2
	check "one connection" slowwait 15 settled
	same_connection_begin
	addr=$(lladdr 2)
	node_ip 1 neigh replace "$(ip4 2)" dev ib0 nud permanent \
		lladdr "$(sed 's/../&:/g; s/:$//' <<< "bf${addr:2}")"
	before=$(cm_stat 1 cm_tx_packets)
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	check_num "on the connection" $(($(cm_stat 1 cm_tx_packets) - before)) -ge 5
	node_ip 1 neigh del "$(ip4 2)" dev ib0
	same_connection_end
}

# An echo request from 10.9.0.1 to 10.9.0.2, by a packet socket: the driver makes no header
reserved_ignored()
{
	local packet=4500002000004000400126c90a0900010a090002
	local icmp=08005a6100000001deadbeef before

	check "connection" connect 1 2
	same_connection_begin
	before=$(cm_stat 2 cm_rx_packets)
	listen 1 0x0800 1 20000
	capture_start received
	check "send" in_node 1 python3 -c '
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("ib0", 0x0800))
s.send(bytes.fromhex(sys.argv[1]))' "$(lladdr 2)0800ffff$packet$icmp"
	wait "$LISTENER" || fail "no answer"
	capture_stop
	check "the answer" grep -q 'data=4500.*0000....00000001deadbeef' <<< "$(received 1)"
	check_num "by the connection" $(($(cm_stat 2 cm_rx_packets) - before)) -ge 1
	check "reserved" frames_all reserved ffff icmp.type=8 op=04
	same_connection_end
}

# Twenty times 1.28 ms
rnr()
{
	local before

	check "connection" connect 1 2
	same_connection_begin
	before=$(drops 2 no_rwqe)
	takes_less "longest echo" 300 longest_rnr
	check_num "no receive" $(($(drops 2 no_rwqe) - before)) -ge 20
	knob_set 2 rnr_next 0
	same_connection_end
}

# Node 2 sees twenty messages at once. What traffic before had it post is given back ten
# seconds after the last connection.
burst()
{
	check "no connection" all_apart
	check "no receive" slowwait 20 receives_are 2 -eq 0
	check "connection" connect 1 2
	check "one connection" slowwait 15 settled
	check_num "receives" "$(receives 2)" -le 11
	knob_set 2 hold_cq 1
	in_node 1 ping -n -q -c 20 -i 0.01 -W 1 "$(ip4 2)" > /dev/null
	knob_set 2 hold_cq 0
	check "receives" busywait 3000 receives_are 2 -ge 17
	check "nothing lost" ping_lossless 1 "$(ip4 2)" 20
}

# What node 2 has asked for: connections, memberships, path records
asked()
{
	local name

	for name in cm_requests mcast_joins path_queries; do
		cm_stat 2 "$name"
	done
}

# A broadcast of node 1, with which a receive of node 2 fails, then another that arrives
ud_error()
{
	local before

	check "connection" connect 1 2
	check "one connection" slowwait 15 settled
	same_connection_begin
	before=$(asked)
	knob_set 2 fail_recv 1
	node_ip 1 neigh flush dev ib0
	ping_ok 1 "$(ip4 2)"
	check "a receive has failed" busywait 5000 knob_is 2 fail_recv 0
	check "node 2 is found again" within 10000 ping_ok 1 "$(ip4 2)"
	check_eq "what node 2 has asked for" "$(asked | xargs)" "$(xargs <<< "$before")"
	same_connection_end
}

# longest_echo COUNT [ARG...]: sets TOOK, of those on the connection
longest_echo()
{
	TOOK=$(ping_longest 1 "$(ip4 2)" "$@") || fail "echoes are lost"
}

longest_rnr()
{
	knob_set 2 rnr_next 20
	longest_echo 20
}

# ten_setups: TOOK, the median
ten_setups()
{
	local i times middle

	capture_start latency
	for ((i = 0; i < 10; i++)); do
		check "none" set_mode 1 datagram
		check "connected" set_mode 1 connected
		check "connection" connect 1 2
	done
	capture_stop
	times=$(setup_times)
	middle=$(median <<< "$times")
	TOOK=$((${middle:-0} / 1000))
	note "from REQ to RTU, microseconds: $(sort -n <<< "$times" | tr '\n' ' ')"
	check_num "connections" "$(wc -l <<< "$times")" -eq 10
}

# Both ends are ours. Node 2 asks for none: nothing crosses.
latency()
{
	check "node 2 asks for none" set_mode 2 datagram
	takes_less "from REQ to RTU" 25 ten_setups
	check "node 2 back" set_mode 2 connected
}

same_connection_begin()
{
	REQUESTS=$(cm_stat 1 cm_requests)$(cm_stat 2 cm_requests)
}

same_connection_end()
{
	check_eq "the connection is the same" "$(cm_stat 1 cm_requests)$(cm_stat 2 cm_requests)" "$REQUESTS"
	check_eq "errors" "$(cm_stat 1 cm_errors)" 0
}

ktap_main "$@"
