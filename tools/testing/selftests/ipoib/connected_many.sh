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
# PEERS is how many they are: tools/testing/check --env PEERS=1900 connected_many.sh

# What is counted here is the memory of the driver, not that of bounce buffers.
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

PEERS=${PEERS:-500}
# Requests at a time
BATCH=$((64 / SLOW))
# The QPNs made up
FIRST=$((0x100000))
LAST=$((0x300000))
IDLE=$((0x200000))
SILENT=$((0x280000))
# Of all that a connection needs, the software HCA's share included
MOST_BYTES=65536
PARAM=/sys/module/ib_ipoib/parameters

CASES=(
	"spread - receives of two peers complete on two CQs, each with its own handler"
	"full C11,C16,C35 a request beyond the limit is refused with \"no resources\" and private data"
	"full_ud C11,C30,C35 a refused peer is served over UD, both ways, without loss"
	"full_own C11,C34,C35 a node at the limit requests no connections, and packets too long for UD are answered at once"
	"room C13,C20 a node at the limit refuses requests until unused connections close"
	"room_real C20,C35 a refused peer gets a connection when unused connections have closed"
	"many C13,C35 five hundred idle peers have connections"
	"many_cost C13,C35 each of many connections costs little memory"
	"many_others C35 many connections do not affect other peers"
	"idle C20 unused connections close, and return their memory"
	"backlog F67 at most 4096 frames of an interface wait for space on connections, further frames are counted"
	"backlog_others F67 a full backlog does not affect other peers, and empties in the end"
	"backlog_again F67 after a full backlog as many frames may wait again"
	"down C19 an interface with many connections goes down at once, and no connection is left"
	"comeback C14,C33,F36 clients that die within messages on all receives and come back have traffic within 10 s"
)

NEEDS=(
	[full_ud]=full
	[full_own]=full_ud
	[room]=full_own
	[room_real]=room
	[many_cost]=many
	[many_others]=many_cost
	[idle]=many_others
	[backlog_others]=backlog
)

setup()
{
	fabric_load 3
	subnet_start
	# All that are made up are on one port, which may have a quarter of the receives.
	driver_load recv_queue_size=$((4 * PEERS + 256))
	nodes_up
	wait_carrier || ktap_bail "no carrier on some node"
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 3 2 || ktap_bail "no ping"
	in_mode connected rc 1 2 3 || ktap_bail "no connected mode"
	connect 3 2 || ktap_bail "no connection"
	node_ip 2 neigh flush dev ib0
}

TRACING=/sys/kernel/tracing/instances/ipoib-many

teardown()
{
	[ ! -d "$TRACING" ] || rmdir "$TRACING"
}

# rx_queue PEER: number of the receive queue of node 2's connection to that node
rx_queue()
{
	conns 2 "$1" | sed -n 's/.* rx=//p'
}

# handlers LEAST: how many NAPI instances of interfaces have received so many packets
handlers()
{
	awk -v least="$1" '
		/napi_poll: .* for device ib0 / {
			for (i = 1; i < NF; i++) {
				if ($i == "struct")
					napi = $(i + 1)
				if ($i == "work")
					work[napi] += $(i + 1)
			}
		}
		END { for (napi in work) n += work[napi] >= least; print n + 0 }' "$TRACING/trace"
}

is_single()
{
	[ "$(awk '/^connections:/ { print $2 }' <<< "$(cm_view 2)")" = 1 ]
}

# node 1's connection ends: the freed one counts no more
disconnect()
{
	set_mode 1 datagram
	check "one connection" slowwait 20 is_single
	set_mode 1 connected
}

# has_single NODE: node 2, of their connections; requests may have crossed
has_single()
{
	[ "$(conns 2 "$1" | wc -l)" -eq 1 ]
}

# Of the four, two are node 2's, and one is that of each peer.
spread()
{
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	mkdir -p "$TRACING"
	check "a single one of node 3" slowwait 15 has_single 3
	check "connection" connect 1 2
	check "a single one" slowwait 15 has_single 1
	check_eq "queues" "$( (rx_queue 1; rx_queue 3) | sort | xargs)" "0 1"
	echo 1 > "$TRACING/events/napi/napi_poll/enable"
	check "pings" ping_lossless 1 "$(ip4 2)" 100
	check "pings" ping_lossless 3 "$(ip4 2)" 100
	echo 0 > "$TRACING/events/napi/napi_poll/enable"
	check_eq "handlers" "$(handlers 80)" 4
	disconnect
	check "connection" connect 1 2
	check "a single one" slowwait 15 has_single 1
	check_eq "queues after the end of one" "$( (rx_queue 1; rx_queue 3) | sort | xargs)" "0 1"
	disconnect
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

# peers FIRST COUNT [NODE]: so many that are made up, with QPNs from there on
peers()
{
	make_up "$@"
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

# The first packet after the pause, which is half a second, is one that UD does not take.
full_own()
{
	check "none closes" slowwait 20 is_single
	node_ip 2 route flush cache
	nap 1
	check "what UD takes" grep -qi 'mtu *[=:] *2044' \
		<(in_node 2 ping -n -c 1 -W 1 -M 'do' -s 4000 "$(ip4 1)" 2>&1)
	check_eq "connections of node 2 to node 1" "$(conns 2 1)" ""
	check_eq "all connections of node 2" "$(total)" 1
	check_eq "failures of node 1" "$(peer_failures 2 1)" 0
}

# answers NODE ARG...: as ping_lossless, but what it prints is short
answers()
{
	local out

	out=$(ping_lossless "$@") && return
	sed -n 's/.*icmp_seq=\([0-9]*\).* time=\(.*\) ms/\1:\2/p' <<< "$out" | tr '\n' ' '
	return 1
}

# refused_again BEFORE: node 1, which has been refused as often
refused_again()
{
	ping_ok 1 "$(ip4 2)"
	cm_stat_is 2 cm_rejected -gt "$1"
}

# Half of the connections are of each port. Node 3 uses its connection all the time. The peers that
# are made up have requested theirs, which end after four times as long as those of node 2.
room()
{
	local reaped

	limit 20
	peers "$IDLE" 10
	peers $((IDLE + 0x100)) 9 3
	check_eq "connections" "$(total)" 20
	reaped=$(cm_stat 2 cm_reaped)
	check "node 1 is refused" slowwait 60 refused_again "$(cm_stat 2 cm_rejected)"
	check_eq "closed" $(($(cm_stat 2 cm_reaped) - reaped)) 0
	check_eq "connections" "$(total)" 20
	echo 3 > "$PARAM/cm_idle_seconds"
	check "those that are not used end" slowwait 60 made_up_are "$IDLE" 512 0
	echo 120 > "$PARAM/cm_idle_seconds"
	check_eq "node 3's" "$(conn_count 2 3)" 1
}

room_real()
{
	check "connection" slowwait 60 connect_try 1 2
	check "ping" answers 1 "$(ip4 2)" 20 -s 3000
	check_eq "node 3's" "$(conn_count 2 3)" 1
	check_num "all" "$(total)" -le 20
	background_stop
}

# all_peers FIRST: PEERS of them
all_peers()
{
	local batch have=0

	while [ "$have" -lt "$PEERS" ] && [ "$RET" -eq 0 ]; do
		batch=$((PEERS - have < BATCH ? PEERS - have : BATCH))
		peers $(($1 + have)) "$batch"
		have=$((have + batch))
	done
}

many()
{
	limit 12000
	MEMORY=$(kernel_kb)
	HELD=$(held)
	all_peers "$FIRST"
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

# held: QPs that node 2's HCA has, then connections that the driver has
held()
{
	sed -n "s|^$(ibdev 2)/1:.* \([0-9]*\) QPs.*|\1|p" "$DEBUGFS/summary"
	cm_view 2 | sed -n 's/^connections: //p'
}

# given_back: there are no more of each than before
given_back()
{
	paste <(held) <(echo "$HELD") | awk '$1 > $2 { more = 1 } END { exit !NR || more }'
}

# Those that were asked for stay four times as long as this.
idle()
{
	echo 1 > "$PARAM/cm_idle_seconds"
	check "none is left" slowwait 120 all_gone 2
	echo 120 > "$PARAM/cm_idle_seconds"
	check_num "counted" "$(cm_stat 2 cm_reaped)" -ge "$PEERS"
	check "QPs, connections" slowwait 30 given_back
	note "held before and now: $(xargs <<< "$HELD"); $(held | xargs)"
	note "of $COST kB $(($(kernel_kb) - MEMORY)) are left"
	check "connection" connect 3 2
	check "ping" ping_lossless 3 "$(ip4 2)" 10
}

# waiting: frames of node 2 that wait for room on connections
waiting()
{
	cm_view 2 | grep -o 'waiting=[0-9]*' | awk -F = '{ sum += $2 } END { print sum + 0 }'
}

waiting_is()
{
	[ "$(waiting)" -eq "$1" ]
}

# The QPs of these peers do not exist, so what is sent to them is never acknowledged: 32 frames
# each are in the ring, and 256 wait.
backlog()
{
	local before waiting

	limit 12000
	peers "$SILENT" 20
	before=$(cm_stat 2 tx_drop_cm_queue_full)
	in_node 2 "$LIB_DIR/gid_flood.py" ib0 "$SILENT" 20 "$(port_gid_hex 1)" 300 || fail "cannot send"
	waiting=$(waiting)
	note "$waiting frames wait, $(made_up "$SILENT" 20) connections are left"
	check_num "frames that wait" "$waiting" -le 4096
	check_num "dropped" $(($(cm_stat 2 tx_drop_cm_queue_full) - before)) -ge 1000
}

backlog_others()
{
	check "ping" ping_lossless 3 "$(ip4 2)" 20 -s 20000
	check "ping" ping_lossless 2 "$(ip4 3)" 20 -s 20000
	check "none waits" slowwait 60 waiting_is 0
}

# By other peers: those are not asked again at once.
backlog_again()
{
	peers $((SILENT + 0x1000)) 20
	in_node 2 "$LIB_DIR/gid_flood.py" ib0 $((SILENT + 0x1000)) 20 "$(port_gid_hex 1)" 300 ||
		fail "cannot send"
	check_num "frames that wait" "$(waiting)" -ge 1000
	check "none waits" slowwait 60 waiting_is 0
}

down()
{
	local begin ms

	all_peers "$LAST"
	check_eq "connections" "$(made_up "$LAST" "$PEERS")" "$PEERS"
	begin=$(now_ms)
	check "down" node_ip 2 link set ib0 down
	ms=$(($(now_ms) - begin))
	note "$PEERS connections: $ms ms"
	# one after the other would take minutes
	check_num "milliseconds" "$ms" -lt $((10000 * SLOW))
	check "none is left" slowwait 60 all_gone 2
	note "nothing is left after $(($(now_ms) - begin)) ms"
}

# Two on each of nine ports, and 16 receives
CLIENTS=(1 4 5 6 7 8 9 10 11)

# clients COMM: each of them has connections, by new QPs
clients()
{
	local node

	for node in "${CLIENTS[@]}"; do
		make_up $((FIRST + 16 * node)) 2 "$node" $(($1 + 16 * node)) || return
		capture_stop
		rm "$CAPTURE"
	done
}

long_ping()
{
	ping_ok "$1" "$(ip4 "$2")" -M 'do' -s 20000
}

# A new connection of a client takes the place of its old one, which gives back its receive.
# Nothing arrives on the old ones, and nothing is sent on them.
comeback()
{
	local node

	fabric_down > /dev/null 2>&1
	fabric_load 11
	subnet_start
	driver_load recv_queue_size=16
	nodes_up 1 2 3
	check "carrier" wait_carrier
	check "connected mode" in_mode connected rc 2 3
	check "connection" connect 3 2
	clients "$FIRST"
	check "connections" busywait 5000 made_up_are "$FIRST" 1024 18
	for node in "${CLIENTS[@]}"; do
		knob_set 2 half_lid "$(port_lid "$node")"
	done
	check "all receives are held" unanswered 3 "$(ip4 2)" -M 'do' -s 20000
	clients "$LAST"
	check "traffic" within 10000 long_ping 3 2
	check "nothing lost" ping_lossless 3 "$(ip4 2)" 20 -s 20000
	check "the old ones end" slowwait 10 established_are 19
	check_eq "connections of the clients" "$(made_up "$FIRST" 1024)" 18
}

# established_are COUNT: so many connections of node 2
established_are()
{
	[ "$(conn_count 2)" -eq "$1" ]
}

ktap_main "$@"
