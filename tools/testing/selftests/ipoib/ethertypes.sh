#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Any EtherType travels in the IPoIB encapsulation, both ways, unicast, broadcast
# and multicast; packet sockets see what it is.
#
#	node1 <-- AF_PACKET frames --> node2
#	  |                              |
#	+-+------------------------------+-+
#	|             switch               |
#	+----------------------------------+

. "$(dirname "$0")/lib.sh"

HELLO=68656c6c6f2c20776f726c64

CASES=(
	"unicast:1:2:0x88b5 U26 an experimental EtherType travels unicast, node 1 to node 2"
	"unicast:2:1:0x88b5 U26 an experimental EtherType travels unicast, node 2 to node 1"
	"broadcast:0x88b5 U26 an experimental EtherType travels broadcast to all nodes"
	"unicast:1:2:0x8035 U25,A36 RARP travels unicast"
	"broadcast:0x8035 U25,A36 RARP travels broadcast"
	"unicast:1:2:0x88ca U26 TIPC's EtherType travels"
	"unicast:1:2:0x0801 U26 an unassigned EtherType travels"
	"port_of_source A37 a packet socket gets the GUID of the source port of a frame"
	"on_the_wire U23,U24,U26 the encapsulation header is EtherType and zero"
	"counted U26 the frames are counted as sent, not as dropped"
	"wrong_node U37 a node that is not addressed gets no frame"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no answer from node 2"
	wait_ping 1 3 || ktap_bail "no answer from node 3"
}

unicast()
{
	local from=$1 to=$2 type=$3

	listen "$to" "$type" 3 20000
	check "send" in_node "$from" raw_frame send ib0 "$(lladdr "$to")" "$type" "$HELLO" 3
	wait "$LISTENER" || fail "not all of 3 frames came: $(received "$to")"
	check_eq "what came" "$(received "$to" | sed 's/ addr=.* data=/ data=/; s/ halen=[0-9]*//' | sort -u)" \
		"proto=${type#0x} pkttype=0 hatype=32 len=12 data=$HELLO"
}

broadcast()
{
	local type=$1 two

	listen 2 "$type" 3 20000
	two=$LISTENER
	listen 3 "$type" 3 20000
	check "send" in_node 1 raw_frame send ib0 "$(lladdr_broadcast 1)" "$type" "$HELLO" 3
	wait "$LISTENER" || fail "not all of 3 frames came to node 3"
	wait "$two" || fail "not all of 3 frames came to node 2"
	check_eq "pkttype" "$(received 2 | word pkttype)" 1
}

# Of a broadcast, which has a GRH. No more than 8 octets: that is the room there is.
port_of_source()
{
	listen 2 0x8035 3 20000
	check "send" in_node 1 raw_frame send ib0 "$(lladdr_broadcast 1)" 0x8035 "$HELLO" 3
	wait "$LISTENER" || fail "not all of 3 frames came: $(received 2)"
	check_eq "length" "$(received 2 | word halen)" 8
	check_eq "source" "$(received 2 | word addr)" "$(lladdr 1 | cut -c 25-)"
}

on_the_wire()
{
	capture_start types
	in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x88b5 "$HELLO"
	capture_stop
	# a neighbour that is probed at this moment is asked, and answers, by unicast ARP
	check "header" frames_all data "88b50000$HELLO" "$(from 1)" "$(to 2)" op=64 \
		dqp!=000000 dqp!=000001 type=88b5
}

counted()
{
	local sent dropped

	sent=$(counter 1 tx_packets)
	dropped=$(counter 1 tx_dropped)
	in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x88b5 "$HELLO" 10
	check "sent" busywait 2000 counter_is 1 tx_packets -ge $((sent + 10))
	check_eq "dropped" "$(counter 1 tx_dropped)" "$dropped"
}

# with an EtherType that every driver sends, so that it is the fabric and the
# address that keep it from node 3
wrong_node()
{
	local two

	listen 2 0x8035 5 20000
	two=$LISTENER
	listen_marker 3 0x8035
	in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x8035 "$HELLO" 5
	in_node 1 raw_frame send ib0 "$(lladdr 3)" 0x8035 "$MARK"
	first_is_marker 3
	wait "$two" || fail "node 2 did not get its own"
}

ktap_main "$@"
