#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ports get other LIDs while they are in use.
#
#	node1 <== RC ==> node2    node3 (sees no event)
#	  |                |        |
#	+-+----------------+--------+-+
#	|           switch            |
#	+-----------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

LMC=0
# An IPv4 packet of a protocol for experiments to an address that nobody has
NO_ANSWER=450000140000000001fd00000a0900020a094d4d

CASES=(
	"unnoticed F9,B29,B35 a neighbour's new LID without a report is learned when the stack finds the neighbour unreachable"
	"young F9 a path record younger than 5 s stays when the stack finds the neighbour unreachable"
	"subscribed_again U52 a port with a new LID, without any other event, subscribes to reports again"
	"record F8,F39,B29,B35 connections use the new path record after all LIDs have changed"
	"record_silent F8,B35 a connection is requested by the old path record if the SA does not answer"
	"lmc F4,B29 connections count for their ports after the ports got more LIDs, the first as before"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 3 2 || ktap_bail "no ping"
}

diagnose()
{
	local node

	for node in 1 2 3; do
		note "node $node: LID $(port_lid $node), path queries $(xstat $node path_queries)"
	done
	cm_diagnose 1
}

# sm_with LID...: the SM dies, and the next one, on the same node, gives these to the nodes,
# with LMC bits
sm_with()
{
	local dir=$TESTDIR/sm1 node=0 lid

	opensm_kill 1
	rm -rf "$dir"
	mkdir -p "$dir"
	for lid; do
		node=$((node + 1))
		printf '0x%s 0x%04x 0x%04x\n\n' "$(port_guid "$node")" "$lid" \
			$((lid + (1 << LMC) - 1))
	done > "$dir/guid2lid"
	OPENSM_CONF="honor_guid2lid_file TRUE"$'\n'"no_clients_rereg ${NO_REREG:-FALSE}"$'\n'"lmc $LMC"
	opensm_start 1
	OPENSM_CONF=
	node=0
	for lid; do
		node=$((node + 1))
		check_eq "LID of node $node" "$(port_lid "$node")" "$lid"
	done
}

# The SM keeps its LID, and nobody is asked to register again: node 3 sees no event.
unnoticed()
{
	local queries

	doubt 3
	check "ping" wait_ping 3 2
	# The new SM does not know the group that node 2 would ask for node 3 in, and node 3
	# does not know that. It may never ask itself, if it believes node 2 to be reachable.
	node_ip 2 neigh replace "$(ip6 3)" dev ib0 nud permanent \
		lladdr "$(sed 's/../&:/g; s/:$//' <<< "$(lladdr 3)")"
	NO_REREG=TRUE sm_with "$(port_lid 1)" 77 "$(port_lid 3)"
	queries=$(xstat 3 path_queries)
	check "ping" slowwait 40 ping_ok 3 "$(ip4 2)"
	# The new SM may have given the MLID that solicitations go to to another group. Such a
	# membership is rechecked every minute at the latest.
	check "and IPv6" slowwait 75 ping_ok 3 "$(ip6 2)"
	check_num "queries" $(($(xstat 3 path_queries) - queries)) -le 10
	node_ip 2 neigh del "$(ip6 3)" dev ib0
}

# sent COUNT: as many frames of NO_ANSWER have left node 2
sent()
{
	[ "$(frame_count "$(from 2)" ip.dst=10.9.77.77)" -ge "$1" ]
}

# A slow machine may take five seconds between the answer of the SA and the event.
young()
{
	local i start took

	for ((i = 0; i < 5; i++)); do
		paths_forget
		capture_start young
		start=$(now_ms)
		check "send" in_node 2 raw_frame send ib0 "$(lladdr 3)" 0x800 "$NO_ANSWER"
		check "a path" busywait 3000 sent 1
		check "unreachable" node_ip 2 neigh change "$(ip4 3)" dev ib0 nud failed
		took=$(($(now_ms) - start))
		check "send" in_node 2 raw_frame send ib0 "$(lladdr 3)" 0x800 "$NO_ANSWER"
		check "by the same path" busywait 3000 sent 2
		capture_stop
		node_ip 2 neigh del "$(ip4 3)" dev ib0
		[ "$took" -ge 4500 ] || break
	done
	# Repeats of a question have its TID. A frame of the stack may have led to the first one before.
	check_num "questions for the path" "$(frames -f mad.tid mad.class=03 mad.method=01 mad.attr=0035 \
		"$(from 2)" "pr.dgid=$(port_gid 3)" | sort -u | wc -l)" -le 1
	check "ping" wait_ping 2 3
}

subscribed_again()
{
	check "node 2 subscribes" routes 2
	NO_REREG=TRUE sm_with "$(port_lid 1)" 66 "$(port_lid 3)"
	check "node 2 has subscribed" slowwait 15 subscribed 2
	routes_no_more 2
}

# The answers of the SA come late, so that frames are there before them.
record()
{
	check "connected" in_mode connected rc 1 2
	check "connection" connect 1 2
	background 1 ping -n -q -i 0.05 "$(ip4 2)" > /dev/null
	capture_start record
	knob_set 1 delay_ms_mad 150
	sm_with "$(port_lid 1)" 88 "$(port_lid 3)"
	check "connection" slowwait 20 conn_count_is 1 2 1
	OLD=none
	check "the port that it counts for" leads_to "0x$(lid_hex 2)"
	knob_set 1 delay_ms_mad 0
	background_stop
	capture_stop
	check_num "requests" "$(cm_messages "$CM_REQ" -f n | wc -l)" -gt 0
	check_eq "remote LIDs in requests to node 2" \
		"$(cm_messages "$CM_REQ" "$(from 1)" -f cm.dlid | sort -u)" "$(lid_hex 2)"
	check_eq "local LIDs in requests of node 2" \
		"$(cm_messages "$CM_REQ" "$(from 2)" -f cm.slid | sort -u | grep -v "$(lid_hex 2)")" ""
}

# reregister NODE: as a new SM demands it, so its path records are stale. From node 3
reregister()
{
	port_info_set 3 "$1" 51 92
}

# A single datagram, so a single connection is requested: the wait for the record ends a second
# after it.
record_silent()
{
	check "neighbour" permanent 1 2
	check "neighbour" permanent 2 1
	check "ping" ping_once 2 "$(ip4 1)"
	kill -STOP "${OPENSM_PID[1]}"
	check "stale" reregister 2
	for _ in 1 2 3; do
		check "no connection" in_mode connected rc 1 2
		check "send" in_node 2 raw_frame send ib0 "$(lladdr 1)" 0x800 "$NO_ANSWER"
		check "connection" within 4000 conn_count_is 2 1 1
	done
	kill -CONT "${OPENSM_PID[1]}"
	check "carrier" wait_carrier 2
	node_ip 1 neigh del "$(ip4 2)" dev ib0
	node_ip 2 neigh del "$(ip4 1)" dev ib0
	check "ping" wait_ping 1 2
}

# leads_to LID: a connection of node 1 to node 2, one that is not $OLD
leads_to()
{
	conns 1 2 | grep established | grep -v "$OLD" | grep -q "dlid=$1 "
}

lmc()
{
	sm_with 16 18 20
	check "connected" in_mode connected rc 1 2
	OLD=none
	check "connection" connect 1 2
	check "where to" leads_to 0x0012
	OLD=$(conns 1 2 | grep -o 'qp=0x[0-9a-f]*')
	LMC=1 sm_with 16 18 20
	check "connection" slowwait 20 connect_try 1 2
	check "another one, and where to" slowwait 20 leads_to 0x0012
	check "ping" ping_lossless 1 "$(ip4 2)" 20
	check "ping back" ping_lossless 2 "$(ip6 1)" 20
	check "others" slowwait 10 ping_ok 3 "$(ip4 2)"
}

ktap_main "$@"
