#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections are limited in number and cost little while nobody uses them.
#
#	made-up peers at node1's HCA ----> node2 <== RC ==> node3
#	node1                                |                |
#	+-+----------------------------------+----------------+-+
#	|                        switch                         |
#	+-------------------------------------------------------+
#
# The peers that are made up have node 1's GID and QPNs that nobody has. They ask for
# a connection and say that they are ready when it has been granted, and that is all.
# PEERS is how many they are: tools/testing/check --env PEERS=5000 connected_many.sh

# What is counted here is the memory of the driver, not that of bounce buffers.
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

PEERS=${PEERS:-500}
# Requests at a time: each has to have its RTU within six seconds of its REP
BATCH=$((64 / SLOW))
# The QPNs made up
FIRST=$((0x100000))
LAST=$((0x300000))
LRU_OLD=$((0x200000))
LRU_NEW=$((0x200100))
LRU_MORE=$((0x200200))
# Of all that a connection needs, the software HCA's share included
MOST_BYTES=65536
PARAM=/sys/module/ib_ipoib/parameters

CASES=(
	"full C11,C16,C35 beyond the limit a request is refused with \"no resources\" and private data"
	"full_ud C11,C30,C35 that peer is served over UD, both ways, and loses nothing"
	"full_own C11,C35 nor does the node ask for connections of its own"
	"lru C13,C20 at the limit the connections longest not used make room"
	"lru_real C20,C35 then the peer that was refused has one, too"
	"many C13,C35 five hundred idle peers have connections"
	"many_cost C13,C35 each costs little memory"
	"many_others C35 other peers do not notice"
	"idle C20 connections that nobody uses end, and their memory is given back"
	"down C19 an interface with many goes down at once, and none is left"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 3 2 || ktap_bail "no ping"
	# All that are made up are on one port.
	echo 20000 > "$PARAM/cm_max_per_port"
	in_mode connected rc 1 2 3 || ktap_bail "no connected mode"
	connect 3 2 || ktap_bail "no connection"
	node_ip 2 neigh flush dev ib0
}

diagnose()
{
	note "$(cm_view 2 | head -n 30)"
	note "$(in_node 2 ethtool -S ib0 | grep -v ': 0$' | tr -s ' \n' ' ')"
}

limit()
{
	echo "$1" > "$PARAM/cm_max_connections"
}

# total: node 2's connections, those that close included
total()
{
	cm_view 2 | sed -n 's/^connections: //p'
}

# made_up FIRST COUNT: of those peers, how many have a connection
made_up()
{
	cm_view 2 | awk -v first="$(printf '0x%06x' "$1")" -v end="$(printf '0x%06x' $(($1 + $2)))" '
		/^peer:/ { on = $2 >= first && $2 < end }
		/connection: established/ && on { n++ }
		END { print n + 0 }'
}

made_up_are()
{
	[ "$(made_up "$1" "$2")" -eq "$3" ]
}

# The REPs that node 2 has sent into the capture: its communication ID, and that of
# who asked
reps()
{
	cm_messages "$CM_REP" "slid=$(lid_hex 2)" -f cm.comm -f cm.remote | sort -u
}

granted()
{
	[ "$(reps | wc -l)" -ge "$1" ]
}

# make_up FIRST COUNT: so many peers, with QPNs from there on
make_up()
{
	local first args

	printf -v first '%06x' "$1"
	args=("comm=$first" "private=00${first}00010000")
	capture_start "peers$first"
	"$LIB_DIR/cm_forge.py" req "count=$2" "${args[@]}" "qpn=$first" \
		wait=15 retries=f "sid=0100000000$(lladdr_qpn 2)" \
		"slid=$(lid_hex 1)" "dlid=$(lid_hex 2)" \
		"sgid=$(port_gid_hex 1)" "dgid=$(port_gid_hex 2)" > "$TESTDIR/reqs"
	to_qp1 < "$TESTDIR/reqs"
	busywait 20000 granted "$2" || fail "$(reps | wc -l) of $2 requests were granted"
	reps | "$LIB_DIR/cm_forge.py" rtu "${args[@]}" > "$TESTDIR/rtus"
	to_qp1 < "$TESTDIR/rtus"
	busywait 20000 made_up_are "$1" "$2" "$2" || fail "$(made_up "$1" "$2") of $2 are established"
	capture_stop
	rm "$CAPTURE"
}

# Node 3 uses its connection all the time.
full()
{
	limit 1
	background 3 ping -n -q -i 0.2 "$(ip4 2)" > /dev/null
	capture_start full
	BEFORE=$(cm_stat 2 cm_rejected)
	check "node 1 is refused" slowwait 10 asked_and_refused
	capture_stop
	check_num "counted" "$(cm_stat 2 cm_rejected)" -gt "$BEFORE"
	check_eq "reasons" "$(cm_messages "$CM_REJ" "$(from 2)" -f cm.reason | sort -u)" 3
	check_eq "private data" "$(cm_messages "$CM_REJ" "$(from 2)" -f cm.private | sort -u)" "$(private_data 2 65524)"
	check_eq "grants" "$(cm_messages "$CM_REP" "$(from 2)" "$(to 1)" -f n)" ""
	check_eq "node 3's connection" "$(conn_count 2 3)" 1
}

asked_and_refused()
{
	ping_ok 1 "$(ip4 2)"
	peer_state_is 1 2 refused
}

full_ud()
{
	check "ping" ping_lossless 1 "$(ip4 2)" 50
	check "ping back" ping_lossless 2 "$(ip6 1)" 50
	check "in fragments" slowwait 5 ping_ok 1 "$(ip4 2)" -s 8000
	check "in fragments" ping_lossless 1 "$(ip4 2)" 10 -s 8000
	check_eq "connections of node 1" "$(conn_count 1)" 0
}

full_own()
{
	check_eq "connections of node 2 to node 1" "$(conns 2 1)" ""
	check_eq "all connections of node 2" "$(total)" 1
}

# idle_for FIRST COUNT SECONDS: none of those has been used for so long
idle_for()
{
	cm_view 2 | awk -v first="$(printf '0x%06x' "$1")" -v end="$(printf '0x%06x' $(($1 + $2)))" -v least="$3" '
		/^peer:/ { on = $2 >= first && $2 < end }
		/connection:/ && on {
			match($0, /idle=[0-9]+/)
			if (substr($0, RSTART + 5, RLENGTH - 5) + 0 < least)
				exit 1
		}'
}

# answers NODE ARG...: as ping_lossless, but what it prints is short
answers()
{
	local out

	out=$(ping_lossless "$@") && return
	sed -n 's/.*icmp_seq=\([0-9]*\).* time=\(.*\) ms/\1:\2/p' <<< "$out" | tr '\n' ' '
	return 1
}

# 20 is the limit, with two more while others close.
lru()
{
	local before

	limit 20
	make_up "$LRU_OLD" 10
	check "not used for a while" slowwait 30 idle_for "$LRU_OLD" 10 6
	make_up "$LRU_NEW" 9
	check_eq "connections" "$(total)" 20
	before=$(cm_stat 2 cm_reaped)
	make_up "$LRU_MORE" 2
	check_eq "closed to make room" $(($(cm_stat 2 cm_reaped) - before)) 2
	check_eq "of the old ones there are" "$(made_up "$LRU_OLD" 10)" 8
	check_eq "of the others" "$(made_up "$LRU_NEW" 9)" 9
	check_eq "node 3's" "$(conn_count 2 3)" 1
	check "no more than the limit" slowwait 20 total_is 20
}

total_is()
{
	[ "$(total)" -eq "$1" ]
}

lru_real()
{
	check "connection" slowwait 60 connect_try 1 2
	check "ping" answers 1 "$(ip4 2)" 20 -s 3000
	check_eq "node 3's" "$(conn_count 2 3)" 1
	check_num "all" "$(total)" -le 22
	background_stop
}

# make_up_all FIRST: PEERS of them
make_up_all()
{
	local batch have=0

	while [ "$have" -lt "$PEERS" ] && [ "$RET" -eq 0 ]; do
		batch=$((PEERS - have < BATCH ? PEERS - have : BATCH))
		make_up $(($1 + have)) "$batch"
		have=$((have + batch))
	done
}

many()
{
	limit 12000
	MEMORY=$(kernel_kb)
	make_up_all "$FIRST"
	COST=$(($(kernel_kb) - MEMORY))
	check_eq "connections" "$(made_up "$FIRST" "$PEERS")" "$PEERS"
	check_num "QPs" "$(rdma res show qp link "$(ibdev 2)/1" | grep -c 'type RC')" -ge "$PEERS"
}

many_cost()
{
	local each=$((COST * 1024 / PEERS))

	[ "$(made_up "$FIRST" "$PEERS")" -eq "$PEERS" ] || { fail "there are not $PEERS"; return; }
	note "$PEERS idle connections take $COST kB: $each octets each, the HCA's included"
	note "of these the driver's own: $(cm_view 2 | sed -n 's/^bytes_per_connection: //p')"
	note "10000 would take $((each * 10000 / 1000000)) MB (extrapolated)"
	check_num "octets each" "$each" -lt "$MOST_BYTES"
}

many_others()
{
	check "ping" ping_lossless 3 "$(ip4 2)" 50 -s 20000
	check "ping" ping_lossless 1 "$(ip4 3)" 50
	check_eq "node 3's" "$(conn_count 2 3)" 1
	check_eq "still" "$(made_up "$FIRST" "$PEERS")" "$PEERS"
}

# Those that were asked for stay four times as long as this.
given_back()
{
	[ $(($(kernel_kb) - MEMORY)) -lt $((COST / 4 + 1000)) ]
}

idle()
{
	local left

	echo 1 > "$PARAM/cm_idle_seconds"
	check "none is left" slowwait 120 all_gone 2
	echo 120 > "$PARAM/cm_idle_seconds"
	check_num "counted" "$(cm_stat 2 cm_reaped)" -ge "$PEERS"
	# QPs are freed after RCU's grace periods
	slowwait 30 given_back || true
	left=$(($(kernel_kb) - MEMORY))
	note "of $COST kB $left are left"
	check_num "kB that are left" "$left" -lt $((COST / 4 + 1000))
	check "connection" connect 3 2
	check "ping" ping_lossless 3 "$(ip4 2)" 10
}

down()
{
	local ms

	make_up_all "$LAST"
	check_eq "connections" "$(made_up "$LAST" "$PEERS")" "$PEERS"
	ms=$(now_ms)
	check "down" node_ip 2 link set ib0 down
	ms=$(($(now_ms) - ms))
	note "$PEERS connections: $ms ms"
	# one after the other would take minutes
	check_num "milliseconds" "$ms" -lt $((10000 * SLOW))
	check "none is left" slowwait 60 all_gone 2
}

ktap_main "$@"
