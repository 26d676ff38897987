#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What others, and programs here, can make an interface on RoCE keep is limited.
#
#	17000 nodes that do not exist <---- node1
#	                                      |
#	                                    node2 <== RC ==> node3
#	                                      |                |
#	                                   +--+----------------+--+
#	                                   |        bridge        |
#	                                   +----------------------+

FABRIC=rxe
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

PARAM=/sys/module/ib_ipoib/parameters
# Of an interface
PATHS=16384
FLOOD=0

CASES=(
	"paths:limited B34 an interface has at most 16384 paths; beyond that the longest waiting paths are replaced, and their frames are counted"
	"paths:known B34 the limit of paths does not affect known nodes"
	"paths:room B34 unresolved paths are replaced by other paths"
	"paths:found F66,B34 idle resolved paths are replaced by other paths"
	"paths:gone B34 down removes all paths"
	"limit:default B2 a node has 128 connections by default"
	"limit:clamped B2 a limit out of range, 0 to 16384, is the nearest value in range; text that is no number is refused"
	"limit:none B2,C11 a limit below 0 allows no connection, and UD loses no packet"
	"limit:refused C11,C16,C35 a request beyond the limit is refused with \"no resources\""
	"limit:ud C11,C30 a refused peer is served over UD, both ways, without loss"
	"limit:own C11,C35 a node at the limit requests no connection"
	"limit:room C20,C35 a refused peer gets a connection when an unused connection has closed"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 3 2 || ktap_bail "no ping"
}

# flood COUNT: so many frames of node 1, each to a GID of its own
flood()
{
	in_node 1 "$LIB_DIR/gid_flood.py" ib0 "$FLOOD" "$1" || fail "cannot send"
	FLOOD=$((FLOOD + $1))
}

# exist FIRST COUNT: nodes with the GIDs of flood() are there, with the MAC of node 2
exist()
{
	local i mac

	mac=$(eth_mac 2)
	for ((i = $1; i < $1 + $2; i++)); do
		printf 'neigh replace fe80::4391:%x:%x dev roc1 lladdr %s nud permanent\n' \
			$((i >> 16)) $((i & 0xffff)) "$mac"
	done | ip -batch -
}

found_are()
{
	[ "$(grep -c 'complete:    yes' "$(path_file 1)")" -ge "$1" ]
}

# path_count NODE: those it has, or looks for
path_count()
{
	grep -c GID: "$(path_file "$1")"
}

# newcomer GID: it gets a place. Each of its frames has some of the paths looked at,
# all of them have all.
newcomer()
{
	in_node 1 raw_frame send ib0 "00004391$1" 0x88b5 cafe 300
	grep -q "$(sed 's/..../&:/g; s/:$//' <<< "$1")" "$(path_file 1)"
}

# dropped NODE: frames for which there was no path, or no room to wait for one
dropped()
{
	echo $(($(xstat "$1" tx_drop_no_path) + $(xstat "$1" tx_drop_queue_full)))
}

dropped_are()
{
	test "$(dropped "$1")" "${@:2}"
}

paths()
{
	local start dropped i

	case $1 in
	limited)
		dropped=$(dropped 1)
		start=$(now_ms)
		flood "$PATHS"
		note "$PATHS frames: $(($(now_ms) - start)) ms"
		check_num "paths" "$(path_count 1)" -ge $((PATHS - 10))
		flood 1000
		check_eq "paths" "$(path_count 1)" "$PATHS"
		# some at once, the others when they have waited for a second
		check "all frames count" slowwait 20 dropped_are 1 -ge $((dropped + PATHS + 1000))
		;;
	known)
		check "ping" ping_lossless 1 "$(ip4 2)" 20
		check "ping" ping_lossless 2 "$(ip6 1)" 20
		check_eq "paths" "$(path_count 1)" "$PATHS"
		;;
	room)
		start=$(now_ms)
		check "a place" slowwait 30 newcomer fe8000000000000000009999000000ab
		note "$(($(now_ms) - start)) ms"
		check_eq "paths" "$(path_count 1)" "$PATHS"
		;;
	found)
		node_ip 1 link set ib0 down
		node_ip 1 link set ib0 up
		check "carrier" wait_carrier 1
		exist "$FLOOD" "$PATHS"
		start=$(now_ms)
		for ((i = 512; i <= PATHS && RET == 0; i += 512)); do
			flood 512
			check "found" slowwait 20 found_are "$i"
		done
		note "found after $(($(now_ms) - start)) ms"
		check "a place" slowwait 30 newcomer fe8000000000000000009999000000ac
		# none has been used for so long
		nap 6
		# the first has the place of the one before, which was not found
		check "at once" within 2000 newcomer fe8000000000000000009999000000ad
		check "one more" within 1000 newcomer fe8000000000000000009999000000ae
		check "beside it" grep -q '9999:0000:00ad' "$(path_file 1)"
		check_eq "paths" "$(path_count 1)" "$PATHS"
		;;
	gone)
		start=$(now_ms)
		node_ip 1 link set ib0 down
		note "$(($(now_ms) - start)) ms"
		check_eq "paths" "$(path_count 1)" 0
		node_ip 1 link set ib0 up
		node_ip 1 addr replace "$(ip6 1)/64" dev ib0 nodad
		check "ping" wait_ping 1 2
		check "ping" wait_ping 1 3
		;;
	esac
}

asked_and_refused()
{
	ping_ok 1 "$(ip4 2)"
	peer_state_is 1 2 refused
}

# limited_to N: the driver loaded anew, with so many connections, and node 3 has one
# that it uses all the time
limited_to()
{
	driver_unload
	driver_load max_nonsrq_conn_qp="$1"
	nodes_up
	wait_carrier || fail "no carrier"
	check "connected" in_mode connected rc 1 2 3
	# Before node 1 sends anything: it would have the connection.
	check "connection" connect 3 2
	background 3 ping -n -q -i 0.2 "$(ip4 2)" > /dev/null
}

# clamped_to GIVEN VALUE: the parameter's; no driver is loaded before and after
clamped_to()
{
	check "$1 is taken" modprobe ib_ipoib max_nonsrq_conn_qp="$1"
	check_eq "limit of $1" "$(< "$PARAM/max_nonsrq_conn_qp")" "$2"
	driver_unload
}

limit()
{
	local before

	case $1 in
	default) check_eq "limit" "$(< "$PARAM/max_nonsrq_conn_qp")" 128 ;;
	clamped)
		driver_unload
		clamped_to -2147483648 0
		clamped_to 0 0
		clamped_to 16384 16384
		clamped_to 2147483647 16384
		check_not "no number" modprobe ib_ipoib max_nonsrq_conn_qp=1x
		check_not "no int" modprobe ib_ipoib max_nonsrq_conn_qp=2147483648
		driver_load
		nodes_up
		;;
	none)
		driver_unload
		driver_load max_nonsrq_conn_qp=-1
		nodes_up
		wait_carrier || fail "no carrier"
		check "connected" in_mode connected rc 1 2
		check "ping" ping_lossless 1 "$(ip4 2)" 20
		check "ping back" ping_lossless 2 "$(ip6 1)" 20
		check_eq "connections of node 1" "$(conn_count 1)" 0
		check_eq "connections of node 2" "$(conn_count 2)" 0
		;;
	refused)
		limited_to 1
		before=$(cm_stat 2 cm_rejected)
		capture_start refused
		check "node 1 is refused" slowwait 10 asked_and_refused
		capture_stop
		check_num "counted" "$(cm_stat 2 cm_rejected)" -gt "$before"
		check_eq "reasons" "$(cm_from 2 "$CM_REJ" cm.reason)" 3
		check_eq "private data" "$(cm_from 2 "$CM_REJ" cm.private)" "$(private_data 2 65524)"
		check_eq "grants" "$(cm_messages "$CM_REP" "$(from 2)" "$(to 1)" -f n)" ""
		check_eq "node 3's connection" "$(conn_count 2 3)" 1
		;;
	ud)
		check "ping" ping_lossless 1 "$(ip4 2)" 50
		check "ping back" ping_lossless 2 "$(ip6 1)" 50
		check "in fragments" slowwait 5 ping_ok 1 "$(ip4 2)" -s 8000
		check "in fragments" ping_lossless 1 "$(ip4 2)" 10 -s 8000
		check_eq "connections of node 1" "$(conn_count 1)" 0
		;;
	own)
		check_eq "connections of node 2 to node 1" "$(conns 2 1)" ""
		check_eq "all of node 2" "$(cm_view 2 | sed -n 's/^connections: //p')" 1
		;;
	room)
		background_stop
		echo 1 > "$PARAM/cm_idle_seconds"
		check "not used" slowwait 30 all_gone 2
		echo 120 > "$PARAM/cm_idle_seconds"
		# and forget that it was refused
		check "connected" in_mode connected rc 1
		check "connection" connect 1 2
		check_eq "all of node 2" "$(cm_view 2 | sed -n 's/^connections: //p')" 1
		check "ping" ping_lossless 1 "$(ip4 2)" 10 -s 3000
		;;
	esac
}

ktap_main "$@"
