#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What comes from outside is believed only as far as it has been checked: forged
# messages of the CM are refused, counted, and leave nothing behind.
#
#	ud_verbs, any message to QP 1 ----> node2 <== RC ==> node3
#	node1                                |                 |
#	+-+----------------------------------+-----------------+-+
#	|                        switch                          |
#	+--------------------------------------------------------+

# What is counted here is the memory of the driver, not that of bounce buffers.
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

COMM=4096

CASES=(
	"reserved:00 C12,C29 a well-formed request is granted"
	"reserved:ff C29,C36 a request with other bits in the reserved octet is granted"
	"alternate C37 a request with an alternate path is granted without the alternate path"
	"limited U9,C35 a request of a limited member of the partition is granted"
	"reads F86 a request for more RDMA reads than the HCA supports is granted"
	"linux_sid C21 a request to the service ID of Linux is granted"
	"huge C26,C28 a Receive MTU of 4 GB is limited, and does no harm"
	"bad:private=0000424200000000 F22,C16,C26,C35 a Receive MTU of 0 is refused"
	"bad:private=000042420000000a F22,C16,C23,C26 a Receive MTU of 10 is refused"
	"bad:private=0000000000010000 F22,C16,C15,C35 a QPN of 0 is refused"
	"bad:private=00ffffff00010000 F22,C16,C15,C35 the QPN of a group is refused"
	"bad:private=ff00000000010000 F22,C29 a QPN of 0 is refused also with other bits in the reserved octet"
	"partition C35,F31,F33 a request for a partition that the port is not in reaches the CM of the port, and is not granted"
	"bad:pkey=8001 F22,C16,A18,C35,U41 a request for a partition of the port but not of the interface is refused"
	"beside C30,C8 UC is granted where both transports are offered and RC is preferred"
	"bad:service=1 F22,C16,C8,C35 UC is refused if only RC is offered"
	"bad:sgid=own F22,C16,C35 a request with the interface's own GID is refused"
	"bad:sgid=ff12401bffff00000000000000000001 F22,C16,C35 a request with the GID of a group is refused"
	"sidr:01 F2 SIDR_REQs to the service ID of the RFC are refused and leave no object behind"
	"sidr:10 F2 SIDR_REQs to the service ID of Linux are refused and leave no object behind"
	"sidr_user F2 a SIDR_REQ of an unprivileged user is refused and leaves no object behind"
	"peer_address F23,C38 the peer's address is the QPN of the private data at the GID of the request"
	"victim C35 a request in the name of a peer leaves that peer's connection alone"
	"leads_elsewhere C35,F43 a request that leads to another port than its sender's is refused"
	"late_request C14,C17 a request after a granted own request is granted as a second connection"
	"imposter_late C35 a foreign request in a peer's name does not prevent the node's own connection to the peer"
	"imposter_ready C35 a connection requested in a peer's name carries no packets"
	"stale C14,C35 a connection that the CM closes for a rebooted peer is closed in the driver, too"
	"second C14,F47 a second connection of a peer replaces the first, which closes when unused"
	"second_early C14 a second connection replaces the first also before the first is ready"
	"two_in_use C14,F47 two connections in use stay"
	"invented:arp F12,F37 few of the neighbours that a peer invents on its connection reach the stack, and other peers keep their rate"
	"invented:nd F12,F37 Neighbour Discovery on a connection is limited in the same way"
	"claimed F62 ARP with the GID of its connection, which only the request claims, is limited"
	"group_address F69 ARP with a group's address for a peer does not change the way to the peer"
	"rejected C19,F89 a connection closed by REJ keeps its QP as long as a connection closed by DREQ"
	"bare_request C14,F5 a second request alone does not close a connection"
	"other_port C14,F5 another port does not close a connection to a peer whose path is not known"
	"rtu:none C15,C29 an RTU without private data is counted, and the connection used one way"
	"rtu:wrong C15 an RTU with another QPN is counted, and the connection used one way"
	"rtu_reserved F22,C29 an RTU with other bits in the reserved octet works like an RTU without"
	"flood C13,C35 a flood of requests is bounded"
	"flood_ends C13,C35 a flood of requests leaves no object behind"
	"port_flood C35,F4 a peer keeps its connection and its rate while a port floods with requests"
	"port_flood_new C35,F4 a new peer gets a connection while a port floods with requests"
	"port_share C35,F4 a port has at most its quota of connections"
	"half C33,F3,F36 unfinished messages on all connections of a port stall no other peer"
	"dreq_storm C35 a storm of DREQs closes no connection"
	"dreq_known C35 DREQs for a connection close the connection once, and it is made anew"
	"stale_request C14,C35 a request refused as stale is repeated with another QPN, once"
	"service_ids C21 a peer that knows no service ID gets requests for the RFC's and for Linux' in turn"
	"wrong_reply C15,C35 a REP with another QPN than the request's is refused"
	"reply_reserved F22,C29 a REP with other bits in the reserved octet is accepted"
	"own_replaces C14 an own connection replaces a one-way connection of the peer, which closes when unused"
	"patience C35 an MRA for hours extends the wait by seconds"
	"late_ready C12 a request whose peer repeats a lost RTU after 8.6 s is granted for one direction as long, if data comes"
	"longest_times C35 a request with the longest times and without an RTU holds no object for long"
	"slow_qp C12,C35 other requests are answered while QPs take half a second to make"
	"slow_qp_closed C16 a request closed before its QP is made is refused, with private data"
	"afterwards C35 traffic goes on after all attacks"
)

NEEDS=(
	[flood_ends]=flood
)

setup()
{
	partitions "Default=0x7fff, ipoib : ALL=full;" "Blue=0x0001 : ALL=full;"
	fabric_up 3
	wait_ping 2 3 || ktap_bail "no ping"
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected rc 2 3 || ktap_bail "no connected mode"
	connect 2 3 || ktap_bail "no connection"
}

diagnose()
{
	cm_diagnose 2
}

# The port that forges, and where the limits are set
FORGER=1
PARAM=/sys/module/ib_ipoib/parameters

# request [KEY=VALUE]...: into $TESTDIR/forged, a REQ of node 1 to node 2, but for what is said
# otherwise; sgid=own is node 2's. Each has a communication ID of its own, so check cannot
# call this.
request()
{
	local word words=()

	COMM=$((COMM + 4096))
	for word; do
		[ "$word" != sgid=own ] || word=sgid=$(port_gid_hex 2)
		words+=("$word")
	done
	"$LIB_DIR/cm_forge.py" req "comm=$(printf %x "$COMM")" \
		"sid=0100000000$(lladdr_qpn 2)" "qpn=$(printf %x "$COMM")" \
		"slid=$(lid_hex "$FORGER")" "dlid=$(lid_hex 2)" \
		"sgid=$(port_gid_hex "$FORGER")" "dgid=$(port_gid_hex 2)" \
		"private=0000424200010000" "${words[@]}" > "$TESTDIR/forged"
}

# forge [KEY=VALUE]...: and send it
forge()
{
	request "$@"
	to_qp1 "$FORGER" < "$TESTDIR/forged" || fail "cannot send"
}

# answers ATTR: of those messages, how many node 2 has sent into the capture
answers()
{
	cm_messages "$1" "$(from 2)" -f n | wc -l
}

# forged CASE [KEY=VALUE]...
forged()
{
	capture_start "$1"
	forge "${@:2}"
	busywait 3000 answered
	capture_stop
}

answered()
{
	[ $(($(answers "$CM_REP") + $(answers "$CM_REJ"))) -gt 0 ]
}

reserved()
{
	forged "reserved$1" "private=${1}00424200010000"
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check_eq "REJ" "$(answers "$CM_REJ")" 0
}

limited()
{
	forged limited pkey=7fff
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check_eq "REJ" "$(answers "$CM_REJ")" 0
}

reads()
{
	forged reads reads=ff
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check_eq "REJ" "$(answers "$CM_REJ")" 0
}

alternate()
{
	forged alternate "altslid=$(lid_hex "$FORGER")" "altdlid=$(lid_hex 2)"
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check "not supported" frames_all cm.failover 1 "mad.attr=$CM_REP" "$(from 2)"
}

linux_sid()
{
	forged linux_sid "sid=1000000000$(lladdr_qpn 2)"
	check_num "REP" "$(answers "$CM_REP")" -ge 1
}

huge()
{
	forged huge private=00004242ffffffff
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check_not "believed" grep -q 'mtu=42' <<< "$(conns 2)"
}

beside()
{
	check "both" set_transport 2 rc,uc
	forged beside service=1
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check_eq "REJ" "$(answers "$CM_REJ")" 0
	check "RC" set_transport 2 rc
}

# Each refusal has private data, of its own.
bad()
{
	local before

	before=$(cm_stat 2 cm_rejected)
	forged "bad.${1//[^a-z0-9]/}" "$1"
	check_num "REJ" "$(answers "$CM_REJ")" -ge 1
	check_eq "private data of the REJ" \
		"$(cm_messages "$CM_REJ" "$(from 2)" -f cm.private | sort -u)" "$(private_data 2 65524)"
	check_eq "REP" "$(answers "$CM_REP")" 0
	check_num "counted" "$(cm_stat 2 cm_rejected)" -gt "$before"
}

# sidr_answers STATUS: SIDR_REPs of node 2 in the capture
sidr_answers()
{
	cm_messages "$CM_SIDR_REP" "$(from 2)" "cm.status=$1" -f cm.comm | sort -u | wc -l
}

sidr_answered()
{
	[ "$(sidr_answers 2)" -ge "$1" ]
}

# sidr_send FIRST_OCTET COUNT: SIDR_REQs of node 1 to node 2, each with an ID of its own,
# 250 at a time, for which QP 1 has receives, so that none is lost
sidr_send()
{
	local i before

	before=$(cm_stat 2 cm_sidr_rejected)
	for ((i = 250; i <= $2; i += 250)); do
		COMM=$((COMM + 4096))
		"$LIB_DIR/cm_forge.py" sidr count=250 "comm=$(printf %x "$COMM")" \
			"sid=${1}00000000$(lladdr_qpn 2)" | to_qp1 || fail "cannot send"
		busywait 5000 cm_stat_is 2 cm_sidr_rejected -ge $((before + i)) || return
	done
}

# Each identifier that is kept takes more than half a kilobyte, each time. What else the
# kernel does may have its caches grow, but not each time.
sidr()
{
	local before grown=()

	capture_start "sidr$1"
	sidr_send "$1" 250
	check "refused" busywait 5000 sidr_answered 250
	capture_stop
	while [ ${#grown[@]} -lt 4 ] && [ "$RET" -eq 0 ]; do
		before=$(kernel_kb)
		sidr_send "$1" 2000 || fail "not all are counted"
		grown+=($(($(kernel_kb) - before)))
		[ "${grown[-1]}" -ge 700 ] || break
	done
	note "kernel memory: ${grown[*]} kB"
	check_num "kB for 2000 requests" "${grown[*]: -1}" -lt 700
}

# ucma is for any user; its service ID may be any.
sidr_user()
{
	local before

	modprobe rdma_ucm || fail "no rdma_ucm"
	before=$(cm_stat 2 cm_sidr_rejected)
	check_eq "answer" "$(timeout $((10 * SLOW)) setpriv --reuid 65534 --regid 65534 --clear-groups \
		sidr_user "$(port_gid 1)" "$(port_gid 2)" "0x0100000000$(lladdr_qpn 2)")" \
		"RDMA_CM_EVENT_UNREACHABLE 2"
	check_num "counted" "$(cm_stat 2 cm_sidr_rejected)" -gt "$before"
	modprobe -r rdma_ucm
}

# requests_heard: that have come to the CM of node 2's port
requests_heard()
{
	host 2 cat "/sys/class/infiniband/$(ibdev 2)/ports/1/cm_rx_msgs/req"
}

requests_heard_are()
{
	test "$(requests_heard)" "$@"
}

# The kernel's CM does that by itself, and does not always say so. A request that is
# granted ends the wait.
partition()
{
	local before asked

	before=$(requests_heard)
	capture_start partition
	forge pkey=8123
	asked=$(printf '%08x' "$COMM")
	check "the CM has it" busywait 3000 requests_heard_are -gt "$before"
	forge
	check "the next is granted" busywait 3000 frame_seen "mad.attr=$CM_REP" "$(from 2)" \
		"cm.remote=$(printf '%08x' "$COMM")"
	capture_stop
	check_eq "REP" "$(cm_messages "$CM_REP" "$(from 2)" "cm.remote=$asked" -f n)" ""
}

# peer_gid QPN: of node 2's peer with that QPN
peer_gid()
{
	cm_view 2 | awk -v qpn="0x$1" '$1 == "peer:" && $2 == qpn { print $3 }'
}

# The QP of the request has another number.
peer_address()
{
	peer_connects address 00c1c1 0000c1c100010000
	check "the connection" busywait 3000 conns_of_are 00c1c1 "established passive both"
	capture_stop
	check_eq "GID of the peer" "$(peer_gid 00c1c1 | tr -d :)" "$(port_gid_hex 1)"
	check_eq "peers with the number of its QP" "$(peer_gid "$(printf '%06x' "$COMM")")" ""
	peer_leaves 00c1c1
}

# The path record may be out of date, so it is granted, one way.
victim()
{
	local bad before old

	check "connection" connect 2 3
	old=$(conns 2 3 | grep -o 'qp=0x[0-9a-f]*')
	before=$(cm_stat 3 cm_requests)$(cm_stat 2 cm_requests)
	bad=$(cm_stat 2 cm_bad_private_data)
	forged victim "sgid=$(port_gid_hex 3)" "private=00$(lladdr_qpn 3)00010000" retries=f
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check_num "counted" "$(cm_stat 2 cm_bad_private_data)" -gt "$bad"
	check "one way" grep -q '^ *accepting rc passive one ' <<< "$(conns 2 3)"
	check "ping" ping_lossless 2 "$(ip4 3)" 10
	check "the same connection" listed "$old"
	check_eq "further requests" "$(cm_stat 3 cm_requests)$(cm_stat 2 cm_requests)" "$before"
}

# The LID in the request is that of node 3.
# none_accepting NODE: it repeats no REP
none_accepting()
{
	! conns "$1" | grep -q '^ *accepting '
}

leads_elsewhere()
{
	local before

	check "no REP of before" slowwait 15 none_accepting 2
	before=$(cm_stat 2 cm_bad_private_data)
	forged leads_elsewhere "slid=$(lid_hex 3)"
	check_eq "REJ" "$(cm_messages "$CM_REJ" "$(from 2)" -f cm.reason | sort -u)" 13
	check_eq "REP" "$(answers "$CM_REP")" 0
	check_num "counted" "$(cm_stat 2 cm_bad_private_data)" -gt "$before"
}

# Node 1 grants what node 2 has requested.
late_request()
{
	check "no connection" in_mode connected rc 1 2
	check "node 1 asks for none" set_mode 1 datagram
	check "connection" connect 2 1
	forged late_request "private=00$(lladdr_qpn 1)00010000" retries=f
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	check_eq "REJ" "$(answers "$CM_REJ")" 0
	check "beside it" grep -q ' passive both ' <<< "$(conns 2 1)"
	check "ping" ping_lossless 2 "$(ip4 1)" 10
	check_num "on the own one" "$(conns 2 1 | grep -c ' established rc active both ')" -eq 1
}

# By node 1 in the name of node 3. Sets IMPOSTER.
imposter()
{
	IMPOSTER=("sgid=$(port_gid_hex 3)" retries=f "private=00$(lladdr_qpn 3)00010000")
}

# Node 3 is in datagram mode, for its own request would help. The CM waits for the RTU.
imposter_late()
{
	local before

	check "no connection" in_mode connected rc 2 3
	check "node 3 asks for none" set_mode 3 datagram
	imposter
	forged late "${IMPOSTER[@]}"
	check_num "REP" "$(answers "$CM_REP")" -ge 1
	before=$(cm_stat 2 cm_requests)
	check "ping" slowwait 5 ping_ok 2 "$(ip4 3)"
	check "asks" busywait 3000 cm_stat_is 2 cm_requests -gt "$before"
	check "connection" connect 2 3
}

# As good as any other, but for where it comes from. What would be sent on it comes
# to a QP that node 3 has not.
imposter_ready()
{
	local before

	check "no connection" in_mode connected rc 2 3
	before=$(cm_stat 2 cm_accepted)
	imposter
	capture_start ready
	request "${IMPOSTER[@]}"
	ready_at_once 1 "comm=$(printf %x "$COMM")" count=1 "${IMPOSTER[-1]}"
	check "ready" busywait 5000 cm_stat_is 2 cm_accepted -gt "$before"
	capture_stop
	check "ping" ping_lossless 2 "$(ip4 3)" 10
	check "connection" connect 2 3
	check "nothing is left of it" in_mode connected rc 2 3
}

# conns_of QPN: node 2's connections that are not closing, to the peer of that QPN
conns_of()
{
	cm_view 2 | awk -v qpn="0x$1" '/^peer:/ { on = $2 == qpn } /connection:/ && on { print $2, $4, $5 }'
}

# conn_of QPN: there are such
conn_of()
{
	conns_of "$1" | grep .
}

conns_of_are()
{
	[ "$(conns_of "$1")" = "$2" ]
}

# peer_connects NAME QPN PRIVATE_DATA [KEY=VALUE]...: node 1, as that peer, asks for a
# connection, and says that it is ready with that private data, into a capture that goes on.
# Sets REP to the communication ID of the answer, REP_QPN to its QPN.
peer_connects()
{
	capture_start "$1"
	request "private=00${2}00010000" retries=f "${@:4}"
	ready_at_once "$FORGER" "comm=$(printf %x "$COMM")" count=1 "private=$3"
	read -r REP REP_QPN <<< "$(busywait 3000 granted_now)"
	[ -n "$REP" ] || fail "not granted"
}

granted_now()
{
	cm_messages "$CM_REP" "$(from 2)" "cm.remote=$(printf '%08x' "$COMM")" -f cm.comm -f cm.qpn |
		sort -u | grep .
}

# peer_leaves QPN: it says good-bye, and nothing is left
peer_leaves()
{
	"$LIB_DIR/cm_forge.py" dreq "comm=$(printf %x "$COMM")" "remote=$REP" "qpn=$REP_QPN" | to_qp1
	check "gone" busywait 3000 conns_of_are "$1" ""
}

# second_of QPN: the same peer asks by another communication ID and QPN, and is ready
second_of()
{
	local before

	before=$(cm_stat 2 cm_accepted)
	peer_connects "second.$1" "$1" "00${1}00010000"
	check "the second" busywait 3000 cm_stat_is 2 cm_accepted -gt "$before"
}

# two_of QPN: that peer has two connections. Sets FIRST to the communication ID of the one.
two_of()
{
	peer_connects "first.$1" "$1" "00${1}00010000"
	check "the first" busywait 3000 conns_of_are "$1" "established passive both"
	capture_stop
	FIRST=$REP
	second_of "$1"
	check "two connections" conns_of_are "$1" $'established passive both\nestablished passive both'
}

second()
{
	two_of 00a1a1
	check "one connection" slowwait 15 conns_of_are 00a1a1 "established passive both"
	check "the first is ended" busywait 3000 frame_seen "mad.attr=$CM_DREQ" "cm.comm=$FIRST" "$(from 2)"
	capture_stop
	peer_leaves 00a1a1
}

# The first is given up after 6 s, which may be over before a slow machine has looked.
second_early()
{
	local first i

	for ((i = 0; i < 5; i++)); do
		forge private=0000a2a200010000 retries=f
		first=$(within 3000 conn_of 00a2a2)
		[ -z "$first" ] || break
	done
	check_eq "the first" "$first" "accepting passive both"
	second_of 00a2a2
	check "one connection" slowwait 15 conns_of_are 00a2a2 "established passive both"
	capture_stop
	peer_leaves 00a2a2
}

# used_twice QPN: a message comes on each of node 1's connections, two of which are of that peer
used_twice()
{
	knob_set 2 half_lid "$(port_lid 1)"
	knob_set 2 end_lid "$(port_lid 1)"
	conns_of_are "$1" $'established passive both\nestablished passive both'
}

two_in_use()
{
	two_of 00a3a3
	capture_stop
	check "both stay" stays 12000 used_twice 00a3a3
	check "not used, one ends" slowwait 15 conns_of_are 00a3a3 "established passive both"
	peer_leaves 00a3a3
}

# As a user of the peer's host may do it: a request whose RTU has no private data.
# invent RATE SECONDS ADDRESS: node 1 does on its connection to QPN REP_QPN of node 2. Sets ATTACK.
invent()
{
	ud_to 2
	"$LIB_DIR/neigh_flood.py" "$@" |
		ud_verbs "$(ibdev 1)" "${UD_TO[@]}" -U -q "0x$REP_QPN" -d - > /dev/null 2>&1 &
	ATTACK=$!
}

invented_begins()
{
	local dropped

	dropped=$(cm_stat 2 rx_drop_neigh_rate)
	invent 1000 600 "$ADDRESS"
	check "dropped" busywait 10000 cm_stat_is 2 rx_drop_neigh_rate -gt $((dropped + 150))
}

invented_ends()
{
	kill "$ATTACK"
	wait "$ATTACK"
}

# invented arp|nd: a burst of 64 goes to the stack, and 16 a second
invented()
{
	local dropped received start

	ADDRESS=$(ip4 2)
	[ "$1" = arp ] || ADDRESS=$(ip6 2)
	check "UC, too" in_mode connected rc,uc 2 3
	check "connection" connect 3 2
	peer_connects "invented.$1" 00d3d3 0000d3d300010000 service=1
	check "the connection" busywait 3000 conns_of_are 00d3d3 "established passive both"
	capture_stop
	dropped=$(cm_stat 2 rx_drop_neigh_rate)
	received=$(cm_stat 2 cm_rx_packets)
	start=$(now_ms)
	invent 500 2 "$ADDRESS"
	wait "$ATTACK"
	dropped=$(($(cm_stat 2 rx_drop_neigh_rate) - dropped))
	received=$(($(cm_stat 2 cm_rx_packets) - received))
	check_num "dropped" "$dropped" -ge 500
	check_num "to the stack" "$received" -le $((64 + 16 * ($(now_ms) - start + 2000) / 1000))
	in_turn rate invented_begins invented_ends
	check_num "rate" "$WITH" -ge $((WITHOUT / 2))
	peer_leaves 00d3d3
	check "RC" in_mode connected rc 2 3
	check "connection" connect 2 3
}

# No port has the GID that the request and each frame name.
claimed()
{
	local dropped gid=fe800000000000000000000000c1c2c3

	check "UC, too" in_mode connected rc,uc 2 3
	peer_connects claimed 00d4d4 0000d4d400010000 service=1 "sgid=$gid"
	check "the connection" busywait 3000 conns_of_are 00d4d4 "established passive both"
	capture_stop
	dropped=$(cm_stat 2 rx_drop_neigh_rate)
	invent 500 2 "$(ip4 2)" "$gid"
	wait "$ATTACK"
	check_num "dropped" $(($(cm_stat 2 rx_drop_neigh_rate) - dropped)) -ge 500
	peer_leaves 00d4d4
	check "RC" in_mode connected rc 2 3
	check "connection" connect 2 3
}

# From another port, over UD, while packets of 60,000 octets go to node 3
group_address()
{
	local dropped

	check "connection" connect 2 3
	check "no MTU yet" no_pmtu 2 3
	dropped=$(cm_stat 2 rx_drop_neigh_rate)
	background 2 ping -n -q -i 0.05 -s 60000 -M 'do' "$(ip4 3)" > /dev/null
	ud_to 2
	"$LIB_DIR/neigh_flood.py" 20 2 "$(ip4 2)" ff12401bffff0000 "$(ip4 3)" |
		ud_verbs "$(ibdev 1)" "${UD_TO[@]}" -q "0x$(lladdr_qpn 2)" -Q "$(group_field qkey)" \
			-d - > /dev/null 2>&1 || fail "cannot send"
	check "dropped" within 1000 cm_stat_is 2 rx_drop_neigh_rate -ge $((dropped + 15))
	check "no MTU of datagrams" no_pmtu 2 3
	check_eq "neighbour" "$(node_ip 2 neigh show "$(ip4 3)" dev ib0 | grep -o '00:ff:ff:ff:ff')" ""
	background_stop
	check "ping" ping_lossless 2 "$(ip4 3)" 5 -s 60000
}

has_qp()
{
	rdma res show qp link "$(ibdev 2)/1" lqpn "$((0x$1))" | grep -q 'type RC'
}

lacks_qp()
{
	! has_qp "$1"
}

rejected()
{
	peer_connects rejected 00d5d5 0000d5d500010000 ack=15
	check "the connection" busywait 3000 conns_of_are 00d5d5 "established passive both"
	capture_stop
	echo "$REP $(printf %x "$COMM")" | "$LIB_DIR/cm_forge.py" rej reason=1c message=1 | to_qp1
	check "ended" busywait 3000 conns_of_are 00d5d5 ""
	check "its QP is there" stays 500 has_qp "$REP_QPN"
	check "and goes" slowwait 10 lacks_qp "$REP_QPN"
}

bare_request()
{
	local comm first

	peer_connects bare_first 00c1c1 0000c1c100010000
	check "the first" busywait 3000 conns_of_are 00c1c1 "established passive both"
	capture_stop
	first="$REP $REP_QPN" comm=$COMM
	peer_connects bare_second 00c1c1 ""
	check "ready" busywait 3000 has_conn_of 00c1c1 "established passive one"
	check "beside it, used or not" stays 9000 has_conn_of 00c1c1 "established passive both"
	check_not "the first is ended" frame_seen "mad.attr=$CM_DREQ" "cm.comm=${first% *}" "$(from 2)"
	capture_stop
	"$LIB_DIR/cm_forge.py" dreq "comm=$(printf %x "$COMM")" "remote=$REP" "qpn=$REP_QPN" | to_qp1
	check "the second leaves" busywait 3000 conns_of_are 00c1c1 "established passive both"
	COMM=$comm
	read -r REP REP_QPN <<< "$first"
	peer_leaves 00c1c1
}

has_conn_of()
{
	conns_of "$1" | grep -qx "$2"
}

# A GID that no port has, so there is no path to it. Node 3 has all that it takes, but for
# the LID.
other_port()
{
	local first gid=fe800000000000000000000000c1c2c3 comm

	peer_connects other_first 00c2c2 0000c2c200010000 "sgid=$gid"
	check "the first" busywait 3000 conns_of_are 00c2c2 "established passive both"
	capture_stop
	first="$REP $REP_QPN" comm=$COMM
	FORGER=3
	peer_connects other_second 00c2c2 0000c2c200010000 "sgid=$gid"
	check "beside it" busywait 3000 conns_of_are 00c2c2 \
		$'established passive both\nestablished passive both'
	capture_stop
	"$LIB_DIR/cm_forge.py" dreq "comm=$(printf %x "$COMM")" "remote=$REP" "qpn=$REP_QPN" | to_qp1 3
	FORGER=1
	check "the second leaves" busywait 3000 conns_of_are 00c2c2 "established passive both"
	COMM=$comm
	read -r REP REP_QPN <<< "$first"
	peer_leaves 00c2c2
}

rtu()
{
	local before private=

	[ "$1" = none ] || private=0000424300010000
	before=$(cm_stat 2 cm_bad_private_data)
	peer_connects "rtu$1" 00b1b1 "$private"
	check "one way only" busywait 3000 conns_of_are 00b1b1 "established passive one"
	capture_stop
	check_num "counted" $(($(cm_stat 2 cm_bad_private_data) - before)) -eq 1
	peer_leaves 00b1b1
}

rtu_reserved()
{
	local before

	before=$(cm_stat 2 cm_bad_private_data)
	peer_connects rtu_reserved 00b2b2 ff00b2b200010000
	check "both ways" busywait 3000 conns_of_are 00b2b2 "established passive both"
	capture_stop
	check_eq "counted" "$(cm_stat 2 cm_bad_private_data)" "$before"
	peer_leaves 00b2b2
}

not_listed()
{
	! conns 2 3 | grep -q "$1"
}

# A REQ by node 1, with the QPN of node 3's connection and node 3's GUID
stale()
{
	local old

	check "connection" connect 2 3
	old=$(conns 2 3 | grep -o 'qp=0x[0-9a-f]*')
	capture_start stale
	forge "qpn=$(conns 3 2 | sed -n 's/.* qp=0x\([0-9a-f]*\).*/\1/p')" \
		"guid=$(host 3 cat "/sys/class/infiniband/$(ibdev 3)/node_guid" | tr -d :)"
	check "REJ, stale" busywait 3000 frame_seen "mad.attr=$CM_REJ" cm.reason=10 "$(from 2)"
	capture_stop
	check "node 2 ends it" slowwait 5 not_listed "$old"
	check "another" connect 2 3
	check "ping" ping_lossless 2 "$(ip4 3)" 20
}

# More than may wait for their RTU at a time, of one port
flood()
{
	local before

	before=$(cm_stat 2 cm_rejected)
	forge count=400 private=0005000000010000
	check "some are refused" slowwait 10 cm_stat_is 2 cm_rejected -gt "$before"
	check_num "without RTU" "$(cm_view 2 | grep -c 'connection: accepting')" -le 20
	check_num "connections" "$(cm_view 2 | sed -n 's/^connections: //p')" -le 100
	check "the peer" ping_lossless 2 "$(ip4 3)" 20
}

few_left()
{
	[ "$(cm_view 2 | sed -n 's/^connections: //p')" -le 2 ]
}

# What is known of nodes 1 and 3, to which packets went, may stay.
flood_ends()
{
	check "gone" slowwait 30 few_left
	check_num "peers" "$(cm_view 2 | sed -n 's/^peers: //p')" -le 4
}

# flood_on: node 1 asks for 300 connections each second, and is never ready
flood_on()
{
	forge count=300 private=0005000000010000 retries=f
	touch "$TESTDIR/flooding"
	while [ -e "$TESTDIR/flooding" ]; do
		to_qp1 < "$TESTDIR/forged"
		nap 1
	done &
	FLOOD=$!
}

flood_off()
{
	rm -f "$TESTDIR/flooding"
	wait "$FLOOD"
}

# flood_begins: and some are refused
flood_begins()
{
	local rejected

	rejected=$(cm_stat 2 cm_rejected)
	flood_on
	check "flooded" busywait 10000 cm_stat_is 2 cm_rejected -gt $((rejected + 150))
}

# rate: packets that node 3 has answered by node 2 in a second
rate()
{
	in_node 3 ping -n -q -i 0.01 -w 1 -s 4000 "$(ip4 2)" | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

# listed QP: whether node 2 has this connection to node 3
listed()
{
	conns 2 3 | grep -q "$1"
}

port_flood()
{
	local old

	check "connection" connect 3 2
	old=$(conns 2 3 | grep -o 'qp=0x[0-9a-f]*')
	in_turn rate flood_begins flood_off
	check_num "rate" "$WITH" -ge $((WITHOUT / 2))
	check "the same connection" listed "$old"
}

# Node 2 takes requests, and makes none: in datagram mode.
port_flood_new()
{
	check "no connection" in_mode connected rc 2 3
	check "node 2 asks for none" set_mode 2 datagram
	flood_begins
	check "connection" within 10000 connect_try 3 2
	flood_off
	check "that node 3 has made" conn_count_is 2 3 1
	check "mode" set_mode 2 connected
}

# replied COUNT FILTER...: so many of its requests are granted or refused
replied()
{
	[ "$(frames mad.class=07 "${@:2}" -f cm.remote | sort -u | wc -l)" -ge "$1" ]
}

# take NAME COUNT QPN [KEY=VALUE]...: node 1, as peers of QPNs from there on, asks for so
# many, and is ready for those that it gets
take()
{
	capture_start "$1"
	request "count=$2" "private=00${3}00010000" "qpn=$3" retries=f wait=15 "${@:4}"
	ready_at_once 1 "comm=$(printf %x "$COMM")" "count=$2" "private=00${3}00010000"
	within 20000 replied "$2" "$(from 2)" "$(to 1)" || note "not all of $2 requests were answered"
	capture_stop
}

# taken: connections that node 1's made-up peers have
taken()
{
	cm_view 2 | awk '
		/^peer:/ { on = $2 >= "0x060000" && $2 < "0x0a0000" }
		/connection: established/ && on { n++ }
		END { print n + 0 }'
}

taken_are()
{
	test "$(taken)" "$1" "$2"
}

# Half of 32, which is less than a quarter of the receives.
port_share()
{
	local full i

	check "no connection" in_mode connected rc 2 3
	check "nothing is left" slowwait 20 all_gone 2
	echo 32 > "$PARAM/cm_max_connections"
	full=$(cm_stat 2 cm_rejected_port_full)
	for i in 06 07 08; do
		take "share$i" 20 "${i}0000"
	done
	check "connections" busywait 5000 taken_are -eq 16
	check_num "refused, and counted" "$(cm_stat 2 cm_rejected_port_full)" -gt "$full"
	echo 12000 > "$PARAM/cm_max_connections"
}

# take_all COUNT: so many, 16 at a time, and there are no others
take_all()
{
	local end=$(($(now_ms) + 60000 * SLOW)) qpn=$((0x070000)) had n

	check "no connection" in_mode connected rc 2 3
	check "nothing is left" slowwait 30 all_gone 2
	while had=$(taken) && [ "$had" -lt "$1" ] && [ "$(now_ms)" -lt "$end" ]; do
		n=$(($1 - had < 16 ? $1 - had : 16))
		take "all$qpn" "$n" "$(printf %06x "$qpn")"
		within 3000 taken_are -ge $((had + n))
		qpn=$((qpn + 16))
	done
	check "connections" taken_are -ge "$1"
}

# half_messages TIMES: one on each connection of node 1 to node 2, as long as there are
# receives, and again when there may be more
half_messages()
{
	local i

	for ((i = 0; i < $1; i++)); do
		knob_set 2 half_lid "$(port_lid 1)"
		nap 0.1
	done
}

# A quarter of 256 receives. So many more are posted as there are connections, and a margin.
half()
{
	take_all 64
	half_messages 5
	check "connection" slowwait 5 connect_try 3 2
	check "nothing lost" ping_lossless 3 "$(ip4 2)" 100 -s 20000
	check_num "connections with half a message" "$(taken)" -eq 64
	check_num "receives" "$(receives 2)" -ge 73
}

dreq_storm()
{
	local before

	check "connection" connect 2 3
	check "one connection" slowwait 15 known_settled
	before=$(cm_stat 2 cm_requests)$(cm_stat 3 cm_requests)
	"$LIB_DIR/cm_forge.py" dreq count=1000 comm=1 remote=1 qpn=1 > "$TESTDIR/dreqs"
	check "send" to_qp1 < "$TESTDIR/dreqs"
	check "ping" ping_lossless 2 "$(ip4 3)" 20
	check_eq "requests" "$(cm_stat 2 cm_requests)$(cm_stat 3 cm_requests)" "$before"
}

# Sets KNOWN: a DREQ to node 2, with all that its connection to node 3 goes by
known_dreq()
{
	local comm remote qpn

	check "no connection" in_mode connected rc 2 3
	capture_start known
	check "connection" connect 2 3
	check "one connection" slowwait 15 known_settled
	capture_stop
	qpn=$(conns 2 3 | sed -n 's/.* qp=0x\([0-9a-f]*\).*/\1/p')
	read -r comm remote <<< "$(cm_messages "$CM_REP" "$(from 2)" -f cm.remote -f cm.comm)"
	[ -n "$comm" ] || read -r comm remote <<< "$(cm_messages "$CM_REP" "$(from 3)" -f cm.comm -f cm.remote)"
	KNOWN=$("$LIB_DIR/cm_forge.py" dreq "comm=$comm" "remote=$remote" "qpn=$qpn")
	OLD=qp=0x$qpn
}

known_settled()
{
	ping_ok 2 "$(ip4 3)"
	[ "$(conns 2 3 | wc -l)" -eq 1 ] && [ "$(conns 3 2 | wc -l)" -eq 1 ] &&
		conn_count_is 2 3 1 && conn_count_is 3 2 1
}

only_one()
{
	grep -qx 'connections: 1' <<< "$(cm_view 3)"
}

dreq_known()
{
	local before

	known_dreq
	before=$(($(cm_stat 2 cm_requests) + $(cm_stat 3 cm_requests)))
	yes "$KNOWN" | head -n 300 > "$TESTDIR/dreqs"
	check "send" to_qp1 < "$TESTDIR/dreqs"
	check "it ends" slowwait 5 not_listed "$OLD"
	check "another" slowwait 15 known_settled
	check "ping" ping_lossless 2 "$(ip4 3)" 20 -s 5000
	before=$(($(cm_stat 2 cm_requests) + $(cm_stat 3 cm_requests) - before))
	check_num "requests" "$before" -ge 1
	check_num "requests" "$before" -le 3
	check "nothing else is left" slowwait 10 only_one
}

# send_nobody ADDRESS QPN: node 2 sends to that QPN of node 3's HCA
send_nobody()
{
	node_ip 2 neigh replace "$1" dev ib0 \
		lladdr "$(sed 's/../&:/g; s/:$//' <<< "80$2$(port_gid_hex 3)")"
	in_node 2 bash -c "echo > /dev/udp/$1/9"
}

# ask_nobody QPN KIND [KEY=VALUE]...: node 2 asks for a connection to that QPN, which node
# 3's HCA has not, and gets such answers of node 1
ask_nobody()
{
	knob_set 3 drop_every_mad 1
	capture_start "nobody$1"
	answer_at_once "$@"
	send_nobody 10.9.9.9 "$1"
	check "asks" busywait 5000 asked_some "$1"
}

asked_nothing_more()
{
	capture_stop
	knob_set 3 drop_every_mad 0
	node_ip 2 neigh del 10.9.9.9 dev ib0
}

# requests QPN FIELD: of the different requests for it, in their order
requests()
{
	cm_messages "$CM_REQ" "cm.sid=0100000000$1" -f "$2" | uniq
}

asked()
{
	[ "$(requests "$1" cm.comm | wc -l)" -eq "$2" ]
}

asked_some()
{
	[ -n "$(requests "$1" cm.comm)" ]
}

stale_request()
{
	local before

	before=$(cm_stat 2 cm_refused)
	ask_nobody 424242 rej reason=a
	check "asks again" busywait 2000 asked 424242 2
	check_eq "QPNs" "$(requests 424242 cm.qpn | sort -u | wc -l)" 2
	check "refused" busywait 2000 cm_stat_is 2 cm_refused -gt "$before"
	# what is asked for after that, of another one, is the end of the wait
	send_nobody 10.9.9.8 424243
	check "asks another" busywait 5000 asked_some 424243
	check "asks no more" asked 424242 2
	node_ip 2 neigh del 10.9.9.8 dev ib0
	asked_nothing_more
}

# sids QPN: the service IDs of the requests for it, in their order
sids()
{
	cm_messages "$CM_REQ" "$(from 2)" -f cm.sid | grep "$1\$" | tr '\n' ' '
}

sids_are()
{
	[[ $(sids "$1") == "$2"* ]]
}

# The CM of node 3 refuses, as no listener has that number. A peer pauses after two.
service_ids()
{
	local both='0100000000424545 1000000000424545 '

	capture_start service_ids
	send_nobody 10.9.9.9 424545
	check "both" busywait 3000 sids_are 424545 "$both"
	nap 1
	send_nobody 10.9.9.9 424545
	check "both again" busywait 3000 sids_are 424545 "$both$both"
	capture_stop
	node_ip 2 neigh del 10.9.9.9 dev ib0
}

wrong_reply()
{
	local before

	before=$(cm_stat 2 cm_bad_private_data)
	ask_nobody 424343 rep qpn=4243 private=0000434300010000
	check "refused" busywait 5000 frame_seen "mad.attr=$CM_REJ" cm.reason=28 "$(from 2)"
	check_num "counted" "$(cm_stat 2 cm_bad_private_data)" -gt "$before"
	check_eq "RTU" "$(cm_messages "$CM_RTU" "$(from 2)" -f n)" ""
	asked_nothing_more
}

# The QPN is the one that was asked; the rest of its word is not looked at.
reply_reserved()
{
	local before

	before=$(cm_stat 2 cm_bad_private_data)
	ask_nobody 424545 rep qpn=4245 private=ff42454500010000
	check "confirmed" busywait 5000 frame_seen "mad.attr=$CM_RTU" "$(from 2)"
	check_eq "counted" "$(cm_stat 2 cm_bad_private_data)" "$before"
	check_eq "refused" "$(cm_messages "$CM_REJ" "$(from 2)" -f n)" ""
	"$LIB_DIR/cm_forge.py" dreq comm=77 "remote=$(requests 424545 cm.comm | tail -n 1)" \
		"qpn=$(requests 424545 cm.qpn | tail -n 1)" | to_qp1
	check "ended" busywait 5000 conns_of_are 424545 ""
	asked_nothing_more
}

# The peer has a QPN that node 3's HCA has not. Its first connection is one-way, as its RTU has no
# private data, so node 2 asks for one to send on.
own_replaces()
{
	FORGER=3
	peer_connects own_replaces 424646 ""
	FORGER=1
	check "the first" busywait 3000 conns_of_are 424646 "established passive one"
	capture_stop
	ask_nobody 424646 rep qpn=4246 private=0042464600010000
	check "both" busywait 5000 conns_of_are 424646 \
		$'established passive one\nestablished active both'
	check "the first ends" slowwait 15 conns_of_are 424646 "established active both"
	"$LIB_DIR/cm_forge.py" dreq comm=77 "remote=$(requests 424646 cm.comm | tail -n 1)" \
		"qpn=$(requests 424646 cm.qpn | tail -n 1)" | to_qp1
	check "ended" busywait 5000 conns_of_are 424646 ""
	asked_nothing_more
}

patience()
{
	local before

	before=$(cm_stat 2 cm_refused)
	ask_nobody 424444 mra wait=1f
	check "given up" slowwait 15 cm_stat_is 2 cm_refused -gt "$before"
	# a slow kernel's answer may come after one more
	check_num "repetitions" "$(cm_messages "$CM_REQ" cm.sid=0100000000424444 -f n | wc -l)" -le $((3 + SLOW))
	asked_nothing_more
}

# Invented peers of node 3 are not forgotten yet.
up_again()
{
	ping_ok 2 "$(ip4 3)"
	[[ $(conns 2 3) == *established* ]]
}

# held: connections of node 2, with those that close
held()
{
	cm_view 2 | sed -n 's/^connections: //p'
}

held_are()
{
	[ "$(held)" = "$1" ]
}

# sends_one_way QPN: a message comes on each of node 1's connections
sends_one_way()
{
	knob_set 2 half_lid "$(port_lid 1)"
	knob_set 2 end_lid "$(port_lid 1)"
	conns_of_are "$1" "established passive one"
}

# The RTU that node 1 sends at first is lost.
late_ready()
{
	local private=private=0000d3d300010000

	capture_start late_ready
	forge "$private" wait=15 retries=f
	read -r REP REP_QPN <<< "$(busywait 3000 granted_now)"
	check "one way" slowwait 15 sends_one_way 00d3d3
	capture_stop
	echo "$REP $(printf '%08x' "$COMM")" |
		"$LIB_DIR/cm_forge.py" rtu "comm=$(printf %x "$COMM")" count=1 "$private" | to_qp1
	check "both ways" busywait 5000 conns_of_are 00d3d3 "established passive both"
	peer_leaves 00d3d3
}

# The CM repeats its REP for hours if it is not stopped, and the connection lasts as long.
longest_times()
{
	local before

	before=$(held)
	forge private=0000d1d100010000 wait=1f retries=f
	check "granted" busywait 3000 held_are $((before + 1))
	check "nothing is left" within 15000 held_are "$before"
}

# One after the other they would take four seconds. The last request is refused.
slow_qp()
{
	knob_set 2 make_qp_ms 500
	request private=0000424200000000
	cp "$TESTDIR/forged" "$TESTDIR/bad"
	request count=8 qpn=0e0000 private=000e000000010000 retries=f
	capture_start slow_qp
	cat "$TESTDIR/forged" "$TESTDIR/bad" | to_qp1 "$FORGER" || fail "cannot send"
	check "granted" busywait 10000 granted 8
	capture_stop
	knob_set 2 make_qp_ms 0
	check_eq "the first answer" "$(frames mad.class=07 "$(from 2)" "$(to 1)" -f mad.attr |
		grep -m 1 -e "$CM_REP" -e "$CM_REJ")" "$CM_REJ"
	check_num "milliseconds" "$(grants_time)" -lt 3500
}

# The identifier would be refused without private data when the CM destroys it.
slow_qp_closed()
{
	local to

	knob_set 2 make_qp_ms 3000
	capture_start slow_qp_closed
	forge private=0000d2d200010000 retries=f
	check "to be granted" busywait 2000 conns_of_are 00d2d2 "accepting passive both"
	knob_set 2 make_qp_ms 0
	to=cm.remote=$(printf '%08x' "$COMM")
	check "all are closed" set_transport 2 rc,uc
	check "REJ" busywait 5000 frame_seen "mad.attr=$CM_REJ" "$(from 2)" "$to"
	capture_stop
	check_eq "private data of the REJ" \
		"$(cm_messages "$CM_REJ" "$(from 2)" "$to" -f cm.private | sort -u)" "$(private_data 2 65524)"
	check_eq "REP" "$(cm_messages "$CM_REP" "$(from 2)" "$to" -f n)" ""
	check "RC" set_transport 2 rc
}

# A peer that was refused asks again after a minute at most (IPOIB_BACKOFF_MAX).
afterwards()
{
	check "connection" slowwait 70 up_again
	check "ping" ping_lossless 2 "$(ip4 3)" 50 -s 60000
	check_eq "connections to node 3" "$(conn_count 2 3)" 1
	check "link still up" has_carrier 2
}

ktap_main "$@"
