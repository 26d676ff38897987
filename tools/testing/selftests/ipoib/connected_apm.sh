#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where ports have several LIDs a connection has a second way, goes over to it when
# its own is cut, and lives on.
#
#	node1 <========= RC =========> node2
#	  |  LID a --------------- LID b |
#	  |  LID a+1 ----------- LID b+1 |
#	+-+------------------------------+-+
#	|              switch              |
#	+----------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CASES=(
	"offer:1 C37 a request has an alternate path, by the other LIDs of both ports"
	"offer:2 C37 so has one of the other node"
	"cut C37 its way is cut under pings: it goes over to the other, and nothing is lost"
	"back C37 then it has a second way again: cut under TCP, it goes back"
	"refused C37 a peer that does not take the alternate path is connected to all the same"
	"rejected C37,C35 a peer that refuses a request with one is asked without it"
	"own C37,C35,F17 a path that the HCA itself refuses with one is asked for without it"
	"one_lid C37 where ports have one LID there is no alternate path, and none is asked for"
)

apm_up()
{
	rm -f "$TESTDIR"/sm1/guid2lid
	OPENSM_CONF="lmc $1"
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
}

setup()
{
	apm_up 1
	check_eq "LMC" "$(port_attr 1 lid_mask_count)" 1
}

diagnose()
{
	cm_diagnose 1 2
}

# alt_lid NODE: its other LID
alt_lid()
{
	printf '%04x\n' $(($(port_lid "$1") ^ 1))
}

# cut_lid LID: frames to it are lost; 0: none are
cut_lid()
{
	echo "$1" > "$DEBUGFS/cut_lid" || fail "no knob cut_lid"
}

# asks NODE: it asks the other, who is in datagram mode, for a connection
asks()
{
	local other=$((3 - $1))

	check "node $other" in_mode datagram rc "$other"
	check "node $1" in_mode connected rc "$1"
	check "connection" connect "$1" "$other"
}

# The first time the answer of the SA may come too late.
offer()
{
	local other=$((3 - $1))

	capture_start "first$1"
	asks "$1"
	capture_stop
	note "of the first request: $(cm_from "$1" "$CM_REQ" cm.altdlid)"
	capture_start "offer$1"
	asks "$1"
	capture_stop
	check "from" frames_all cm.altslid "$(alt_lid "$1")" "mad.attr=$CM_REQ" "$(from "$1")"
	check "to" frames_all cm.altdlid "$(alt_lid "$other")" "mad.attr=$CM_REQ" "$(from "$1")"
	check "taken" frames_all cm.failover 0 "mad.attr=$CM_REP" "$(from "$other")"
	check "ready" grep -q 'migration=ready' <<< "$(conns "$1" "$other")"
	check "node $other ready" grep -q 'migration=ready' <<< "$(conns "$other" "$1")"
}

# same: QPNs of both ends, and how many connections were ever asked for
same()
{
	local node

	for node in 1 2; do
		conns "$node" | grep -o 'qp=0x[0-9a-f]*'
		cm_stat "$node" cm_requests
	done
}

both_migrated()
{
	cm_stat_is 1 cm_migrated -ge "$1" && cm_stat_is 2 cm_migrated -ge "$1"
}

both_ready()
{
	local node

	for node in 1 2; do
		grep -q 'migration=ready' <<< "$(conns "$node" $((3 - node)))" || return 1
	done
}

one_connection()
{
	asks 1
	check "node 2" set_mode 2 connected
	check "pings" ping_lossless 1 "$(ip4 2)" 10
	check "one connection" slowwait 10 conn_count_is 1 2 1
	both_ready || fail "not ready"
}

cut()
{
	local before sent

	one_connection
	before=$(same)
	capture_start cut
	sent=$(cm_stat 1 cm_tx_packets)
	background 1 ping -n -c 300 -i 0.01 -w 20 "$(ip4 2)" > "$TESTDIR/pings"
	check "pings" busywait 10000 cm_stat_is 1 cm_tx_packets -gt $((sent + 50))
	cut_lid "$(port_lid 2)"
	check "over to the other way" slowwait 10 both_migrated 1
	wait "${BACKGROUND[-1]}" || fail "pings: $(tail -n 3 "$TESTDIR/pings")"
	cut_lid 0
	capture_stop
	check "none is lost" ping_complete 300 < "$TESTDIR/pings"
	check_eq "the connection is the same" "$(same)" "$before"
	check "shown" grep -q "dlid=0x$(alt_lid 2)" <<< "$(conns 1 2)"
	check "by that way" frame_seen op=04 mig=1 "slid=$(alt_lid 1)" "dlid=$(alt_lid 2)" icmp.type=8
	check "back by that way" frame_seen op=04 mig=1 "slid=$(alt_lid 2)" "dlid=$(alt_lid 1)" icmp.type=0
	check_eq "errors" "$(cm_stat 1 cm_errors)$(cm_stat 2 cm_errors)" 00
}

back()
{
	local before counts rate pid

	check "a second way again" slowwait 20 both_ready
	check "pings" ping_lossless 1 "$(ip4 2)" 10
	before=$(same)
	counts=$(cm_stat 1 cm_tx_packets)
	iperf 1 2 -t 6 > "$TESTDIR/stream" & pid=$!
	check "stream" busywait 10000 cm_stat_is 1 cm_tx_packets -gt $((counts + 100))
	cut_lid $((16#$(alt_lid 2)))
	check "over to the first way" slowwait 10 both_migrated 2
	wait "$pid" || fail "stream: $(< "$TESTDIR/stream")"
	cut_lid 0
	read -r rate _ < "$TESTDIR/stream"
	note "Mb/s: $rate"
	check_rate "$rate" 10
	check_eq "the connection is the same" "$(same)" "$before"
	check "shown" grep -q "dlid=0x$(lid_hex 2)" <<< "$(conns 1 2)"
}

# The QP of node 2 cannot be made, once. Node 1 remembers, so this comes after what needs
# its offers.
rejected()
{
	check "node 2" in_mode datagram rc 2
	check "node 1" in_mode connected rc 1
	capture_start rejected
	knob_set 2 fail_modify 1
	check "connection" connect 1 2
	capture_stop
	check_eq "requests with and without" "$(cm_from 1 "$CM_REQ" cm.altdlid | tr '\n' ' ')" "0000 $(alt_lid 2) "
	check "without" grep -q 'migration=off' <<< "$(conns 1 2)"
	check "pings" ping_lossless 1 "$(ip4 2)" 10
}

# Node 2 has another HCA, which cannot migrate.
refused()
{
	knob_set 2 no_apm 1
	hca_remove 2
	hca_add 2
	wait_ports_active
	node_move 2
	node_config 2
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
	offer_refused
	knob_set 2 no_apm 0
}

offered()
{
	frames_all cm.altdlid "$(alt_lid 2)" "mad.attr=$CM_REQ" "$(from 1)"
}

offer_refused()
{
	local i

	# A request does not wait long for the SA to tell an alternate path.
	for i in 1 2 3 4 5; do
		capture_start "refused$i"
		asks 1
		capture_stop
		offered > /dev/null && break
	done
	check "offered" offered
	check "refused" frames_all cm.failover 1 "mad.attr=$CM_REP" "$(from 2)"
	check "not ready" grep -q 'migration=off' <<< "$(conns 1 2)"
	check "node 2 not ready" grep -q 'migration=off' <<< "$(conns 2 1)"
	check "pings" ping_lossless 1 "$(ip4 2)" 20
	check "node 2 asks" asks 2
	check "not ready" grep -q 'migration=off' <<< "$(conns 2 1)"
}

# Node 1's QP does not get ready to receive when the answer comes.
own()
{
	fabric_down
	apm_up 1
	asks 1
	check "node 2" in_mode datagram rc 2
	check "node 1" in_mode connected rc 1
	capture_start own
	cm_delay 2 1000
	ping_ok 1 "$(ip4 2)"
	check "asked" busywait 5000 frame_seen "mad.attr=$CM_REQ" "$(from 1)"
	knob_set 1 fail_modify 1
	check "refused" busywait 10000 knob_is 1 fail_modify 0
	cm_delay 2 0
	check "connection" connect 1 2
	capture_stop
	check_eq "requests with and without" "$(cm_from 1 "$CM_REQ" cm.altdlid | tr '\n' ' ')" "0000 $(alt_lid 2) "
	check "without" grep -q 'migration=off' <<< "$(conns 1 2)"
	check "pings" ping_lossless 1 "$(ip4 2)" 10
}

one_lid()
{
	fabric_down
	apm_up 0
	capture_start one_lid
	asks 1
	asks 2
	capture_stop
	check "no alternate path" frames_all cm.altdlid 0000 "mad.attr=$CM_REQ"
	check_eq "questions for LIDs" "$(frames -f pr.dlid mad.attr=0035 mad.method=01 pr.dlid!=0000)" ""
	check "off" grep -q 'migration=off' <<< "$(conns 2 1)"
	check_eq "migrations" "$(cm_stat 1 cm_migrated)$(cm_stat 2 cm_migrated)" 00
}

ktap_main "$@"
