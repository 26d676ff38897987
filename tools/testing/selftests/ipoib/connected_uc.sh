#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two nodes in connected mode carry unicast IP on one unreliable connection, as
# they do on a reliable one, and choose between the two.
#
#	node1 <== UC ==> node2
#	  |                |
#	+-+----------------+-+
#	|       switch       |
#	+--------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=cm_cases.sh
. "$LIB_DIR/cm_cases.sh"

CASES=(
	"start:uc B5,C8 two nodes go into connected mode, unreliable"
	"messages:1 C12,C15,C21,C26,C29,C36 REQ, REP and RTU of an unreliable connection"
	"flags:40 C7,C8 the flags of the address are UC only"
	"answers:40 C10 replies to ARP and ND have the responder's own flags and QPN, and go to the requester"
	"pings C1,C8 echoes of all sizes lose nothing, both ways and both families"
	"on_wire:32 C4,C6,C31,C32 echoes use the connection, ARP and ND use UD"
	"reserved:32 F22,C22 the reserved field of frames sent on a connection is zero"
	"one_connection C4,C5,C8 a pair has one connection for both directions"
	"stream:1:2:ip4 C8 TCP over IPv4, node 1 to node 2"
	"stream:2:1:ip6 C8 TCP over IPv6, node 2 to node 1"
	"from_datagram:ip4 C8,C30 a node in datagram mode accepts IPv4 packets on an unreliable connection"
	"from_datagram:ip6 C8,C30 a node in datagram mode accepts IPv6 packets on an unreliable connection"
	"datagram_stream:1:2:ip6 C8,C30 TCP flows from a node in connected mode to a node in datagram mode"
	"datagram_stream:2:1:ip6 C8,C30 TCP flows from a node in datagram mode to a node in connected mode"
	"lossy_uc C8 a lost message is lost whole, and the connection goes on"
	"answered C8 a connection with answers lasts longer than the silence that ends one"
	"black_hole C8 all packets go over UD if connections lose all packets without an error"
	"later C8,F17 a node that offers UC later has all receives posted with the next connection"
	"both C8,C11 a node that offers both transports gets the transport of its peer"
)

NEEDS=([messages:1]=start:uc)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected uc 1 2 || ktap_bail "no connected mode"
}

diagnose()
{
	cm_diagnose 1 2
}

# With a deadline ping waits for late answers; those to the first 100 count.
lossy_uc()
{
	local out

	knob_set 1 drop_every_rc 10
	out=$(in_node 1 ping -n -c 100 -i 0.01 -w 20 -s 1000 "$(ip4 2)" |
		sed -n 's/.*icmp_seq=\([0-9]*\) .*/\1/p' | sort -nu | awk '$1 <= 100' | wc -l)
	knob_set 1 drop_every_rc 0
	check_eq "answers to 100" "$out" 90
	check "nothing lost afterwards" ping_lossless 1 "$(ip4 2)" 20
	check_eq "connections" "$(conn_count 1 2)" 1
}

given_up()
{
	ping_ok 1 "$(ip4 2)"
	peer_state_is 1 2 refused
}

# 40 s; the silence is 30 s.
answered()
{
	local errors

	check "mode" in_mode connected uc 1 2
	check "connection" connect 1 2
	errors=$(cm_stat 1 cm_errors)
	check "ping" in_node 1 ping -n -q -c 80 -i 0.5 "$(ip4 2)"
	check_eq "failed connections" "$(cm_stat 1 cm_errors)" "$errors"
	check_eq "connections" "$(conn_count 1 2)" 1
}

# What node 1 sends on connections is lost; node 2 asks for none. Half a minute for the
# first, less for the next.
black_hole()
{
	check "no connection" in_mode connected uc 1 2
	check "node 2 asks for none" set_mode 2 datagram
	check "connection" connect 1 2
	knob_set 1 drop_every_rc 1
	check "ping" unanswered 1 "$(ip4 2)"
	check "given up" slowwait 90 given_up
	knob_set 1 drop_every_rc 0
	check "ping" ping_once 1 "$(ip4 2)"
}

# Its shared receive queue is there already: it is given back ten seconds after the last
# connection.
later()
{
	check "RC only" in_mode connected rc 1 2
	check "no receive" slowwait 20 receives_are 2 -eq 0
	check "connection" connect 1 2
	check_num "receives" "$(receives 2)" -lt 256
	check "RC and UC" set_transport 2 rc,uc
	check "connection" connect 1 2
	check "receives" busywait 5000 receives_are 2 -eq 256
}

both()
{
	check "both" in_mode connected rc,uc 1
	check "UC only" in_mode connected uc 2
	check_eq "flags" "$(lladdr 1 | cut -c 1-2)$(lladdr 2 | cut -c 1-2)" c040
	check "connection" connect 1 2
	check "it is UC" grep -q ' uc ' <<< "$(conns 1 2)"
	check "UC preferred" in_mode connected uc,rc 1 2
	check "connection" connect 1 2
	check "it is UC" grep -q ' uc ' <<< "$(conns 1 2)"
	check "RC preferred" in_mode connected rc,uc 1 2
	check "connection" connect 1 2
	check "it is RC" grep -q ' rc ' <<< "$(conns 1 2)"
}

ktap_main "$@"
