#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A request that is refused leaves UD, and one that is lost, duplicated or delayed
# is made good.
#
#	node1 <== RC ==> node2		messages are lost and doubled on their way
#	  |                |
#	+-+----------------+-+
#	|       switch       |
#	+--------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CASES=(
	"refused C11,C35 packets to a peer that refuses connections go over UD without loss"
	"refused_backoff C35 a peer that refuses gets no request with every packet, and pauses between requests become longer"
	"refused_later C35 a peer that refuses gets another request after a while"
	"silent C30,C35 packets to a peer that does not answer requests go over UD"
	"silent_long C34,C35 packets too long for UD to a silent peer get the path MTU, after a delay"
	"silent_bound C35 at most 32 packets wait for a peer, further packets are counted"
	"lost_messages C12 lost messages of the CM are sent again"
	"lost_message_long C12,C34 packets too long for UD arrive after a lost CM message, without duplicates"
	"lost_message_order C12,C34 packets that waited for a connection arrive in order"
	"doubled_data:rc C33 duplicated packets are delivered once"
	"delayed_data:rc C33 RC waits for delayed packets, TCP goes on"
	"doubled_data:uc C8 UC: TCP goes on with duplicated packets"
	"delayed_data:uc C8 UC: TCP goes on with delayed packets"
	"doubled_messages C14 duplicated CM messages make no second connection"
	"short_message C35 a message too short for a header is counted, and has no other effect"
	"long_message C26,C35 a message longer than the receives closes the connection, the next connection works"
	"overlong F52 a message reported as longer than its receive is counted, and has no other effect"
	"stalled C33 a peer that stops reading stalls no other peer, with any number of waiting packets"
	"stalled_ends C33 the connection of a stalled peer is closed within seconds"
	"stalled_back C33 a stalled peer that reads again gets another connection"
	"stalled_later C33 a peer that stops reading after a pause loses its connection soon, too"
	"stalled_order C33 packets waiting for a closed connection go over UD in order"
	"failed_sends B19 a failed send on a connection counts as an error, and not as sent"
	"post:50 C33,B19 a packet that the HCA refuses to send on a connection counts as dropped, and the connection is replaced"
	"post:8000 C33,B19 a refused packet that is not copied counts as dropped, and the connection is replaced"
	"post_message:grant C34,C35 a REP that the HCA refuses to send counts as a refusal at once, and packets too long for UD are answered"
	"distrusted C33 while packets on connections to a peer are lost, a connection requested by the peer carries no packets, either"
	"last_wqe:late C33,F27 a QP stays until a late LAST_WQE_REACHED event"
	"last_wqe:lost C33,F27 a QP without a LAST_WQE_REACHED event stays for half a minute; its receive is replaced"
	"removed C19 removal of an HCA closes its connections"
	"removed_silent C19 removal of an HCA does not wait for answers of peers"
	"removed_held C19,C33 removal of an HCA waits a second, not half a minute, for a receive that does not come back"
	"silent_bound_all C35,F38 at most 512 packets wait for 16 requests to silent peers on one port"
	"silent_port C35,F38,F71 at most 16 requests to peers on one port are pending, and a peer on another port gets a connection at once"
	"many_qpns C35 16 QPNs of one port are remembered without connections, and a peer on the port keeps its connection"
)

NEEDS=(
	[refused_backoff]=refused
	[refused_later]=refused_backoff
	[stalled_ends]=stalled
	[stalled_back]=stalled_ends
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected rc 1 2 3 || ktap_bail "no connected mode"
}

diagnose()
{
	cm_diagnose 1 2
}

# Node 3 takes no requests, but node 1 believes that it does.
refuse()
{
	set_mode 3 datagram
	set_transport 3 none || return 1
	node_ip 1 neigh replace "$(ip4 3)" dev ib0 \
		lladdr "80:$(lladdr 3 | cut -c 3- | sed 's/../&:/g; s/:$//')"
}

refused()
{
	check "node 3" refuse
	check "ping" ping_lossless 1 "$(ip4 3)" 20
	# a request that is only late is given up after longer than that
	check "refusal is known" within 1000 peer_state_is 1 3 refused
	check_eq "connections" "$(conn_count 1 3)" 0
}

# refused_times COUNT: node 1's requests to node 3, as it sends
refused_times()
{
	ping_ok 1 "$(ip4 3)"
	[ "$(peer_failures 1 3)" -ge "$1" ]
}

# The fourth pause is one of four seconds, later ones are longer.
refused_backoff()
{
	local before start times

	before=$(cm_stat 1 cm_requests)
	check "ping" ping_lossless 1 "$(ip4 3)" 100
	check_num "requests for 100 packets" $(($(cm_stat 1 cm_requests) - before)) -le 6
	times=$(($(peer_failures 1 3) + 1))
	[ "$times" -ge 4 ] || times=4
	check "refused again" slowwait 40 refused_times "$times"
	start=$(now_ms)
	check "once more" slowwait 40 refused_times $((times + 1))
	check_num "milliseconds between them" $(($(now_ms) - start)) -ge 3000
}

refused_later()
{
	check "transport" set_transport 3 rc
	check "connection" slowwait 40 connect_try 1 3
	node_ip 1 neigh del "$(ip4 3)" dev ib0
	check "mode" set_mode 3 connected
}

silent()
{
	all_apart || fail "connections stay"
	knob_set 2 drop_next_mad 4
	check "ping" ping_lossless 1 "$(ip4 2)" 50
	knob_set 2 drop_next_mad 0
	check "one connection" slowwait 15 settled
}

# silence_begin: node 2's CM says nothing from now on, and node 1 has no connection to it
silence_begin()
{
	all_apart || fail "connections stay"
	knob_set 2 drop_every_mad 1
}

# What was learned of routes is forgotten.
silence_end()
{
	knob_set 2 drop_every_mad 0
	node_ip 1 route flush cache
	node_ip 2 route flush cache
	check "one connection" slowwait 20 settled_after_ping
}

# too_long_is_answered [NODE]: what it sends to node 2
too_long_is_answered()
{
	in_node "${1:-1}" ping -n -c 1 -W 1 -M 'do' -s 4000 "$(ip4 2)" 2>&1 | grep -qi 'mtu *[=:] *2044'
}

silent_long()
{
	local answered start

	silence_begin
	answered=$(cm_stat 1 tx_too_long_answered)
	start=$(now_ms)
	check "what UD takes" within 7000 too_long_is_answered
	note "answered after $(($(now_ms) - start)) ms"
	check_num "milliseconds" $(($(now_ms) - start)) -ge 3000
	check_num "answers" $(($(cm_stat 1 tx_too_long_answered) - answered)) -ge 1
	# the answers have to wait for that, too
	check "in fragments" slowwait 5 ping_ok 1 "$(ip4 2)" -s 4000
	check "in fragments" ping_lossless 1 "$(ip4 2)" 5 -s 4000
	silence_end
}

# 2100 octets are more than UD takes. Each waits for a second and a half, so that a machine
# that is slow for a while has to send them again.
silent_bound()
{
	local full long start i

	for ((i = 0; i < 5; i++)); do
		[ "$i" -eq 0 ] || silence_end
		silence_begin
		full=$(cm_stat 1 tx_drop_queue_full)
		long=$(cm_stat 1 tx_drop_flushed)
		start=$(now_ms)
		datagrams "$(ip4 2)" 2100 25 2
		[ $(($(now_ms) - start)) -ge 1200 ] || break
	done
	check_num "dropped at once" $(($(cm_stat 1 tx_drop_queue_full) - full)) -eq 18
	check "the others later" busywait 4000 cm_stat_is 1 tx_drop_flushed -eq $((long + 32))
	silence_end
}

lost_messages()
{
	local n

	for n in 1 2; do
		all_apart || fail "connections stay"
		knob_set 1 drop_next_mad "$n"
		knob_set 2 drop_next_mad "$n"
		check "ping" ping_lossless 1 "$(ip4 2)" 5
		check "one connection" slowwait 15 settled
		knob_set 1 drop_next_mad 0
		knob_set 2 drop_next_mad 0
	done
}

# requests_tapped: what tcpdump has seen of them, by their number
requests_tapped()
{
	sed -n 's/.*echo request.* seq \([0-9]*\).*/\1/p' "$TESTDIR/taps" | sort
}

tapped()
{
	[ "$(requests_tapped | wc -l)" -ge "$1" ]
}

# Node 2's first answer is lost, so all three wait for the next.
lost_message_long()
{
	local long

	all_apart || fail "connections stay"
	background 1 tcpdump -i ib0 -n -l --immediate-mode icmp > "$TESTDIR/taps" 2> "$TESTDIR/taps.err"
	check "tcpdump" busywait 10000 grep -q listening "$TESTDIR/taps.err"
	long=$(cm_stat 1 tx_drop_too_long)
	knob_set 2 drop_next_mad 1
	check "ping" ping_lossless 1 "$(ip4 2)" 3 -M 'do' -s 4000 -i 0.1
	knob_set 2 drop_next_mad 0
	check "requests seen" busywait 3000 tapped 3
	background_stop
	check_eq "seen twice" "$(requests_tapped | uniq -d)" ""
	check_eq "too long" "$(cm_stat 1 tx_drop_too_long)" "$long"
	check "one connection" slowwait 15 settled
}

# numbers CONDITION...: of the datagrams to port 9, without those that RC has sent again
numbers()
{
	frames dport=9 "$@" -f number | awk '!seen[$1]++' | xargs
}

# 2100 octets are more than UD takes.
lost_message_order()
{
	all_apart || fail "connections stay"
	capture_start order
	knob_set 2 drop_next_mad 1
	datagrams "$(ip4 2)" 2100 20 1
	busywait 5000 frame_seen dport=9 number=19
	knob_set 2 drop_next_mad 0
	capture_stop
	check_eq "sent" "$(numbers)" "$(seq 0 19 | xargs)"
	check "one connection" slowwait 15 settled
}

# same_begin TRANSPORT: nodes 1 and 2 have a connection, which is to stay
same_begin()
{
	check "mode" in_mode connected "$1" 1 2
	check "connection" connect 1 2
	check "connection" connect 2 1
	check "one connection" slowwait 15 settled
	SAME="$(cm_stat 1 cm_requests) $(cm_stat 2 cm_requests) $(cm_stat 1 cm_errors) $(cm_stat 2 cm_errors)"
}

same_end()
{
	check "nothing lost afterwards" ping_lossless 1 "$(ip4 2)" 10
	check_eq "requests and errors" \
		"$(cm_stat 1 cm_requests) $(cm_stat 2 cm_requests) $(cm_stat 1 cm_errors) $(cm_stat 2 cm_errors)" "$SAME"
}

# knobs NAME VALUE: of nodes 1 and 2
knobs()
{
	knob_set 1 "$1" "$2"
	knob_set 2 "$1" "$2"
}

# UC does not tell a packet that comes twice from another one.
doubled_data()
{
	local out twice

	same_begin "$1"
	knobs dup_every_rc 2
	out=$(in_node 1 ping -n -c 30 -i 0.01 -w $((10 * SLOW)) "$(ip4 2)" 2>&1)
	check "ping" ping_complete 30 <<< "$out"
	twice=$(grep -c 'DUP!' <<< "$out")
	if [ "$1" = rc ]; then
		check_eq "twice" "$twice" 0
	else
		check_num "twice" "$twice" -ge 5
	fi
	tcp_stream 1 2 ip4 -t 1
	knobs dup_every_rc 0
	same_end
	[ "$1" = rc ] || check "back" in_mode connected rc 1 2
}

# RC sends again what was not answered within 67 ms.
delayed_data()
{
	same_begin "$1"
	knobs delay_ms_rc 5
	tcp_stream 1 2 ip4 -t 1
	knobs delay_ms_rc 50
	check "ping" ping_lossless 1 "$(ip4 2)" 10 -s 5000
	knobs delay_ms_rc 0
	check "late ones come" slowwait 5 ping_lossless 1 "$(ip4 2)" 5
	same_end
	[ "$1" = rc ] || check "back" in_mode connected rc 1 2
}

doubled_messages()
{
	local node

	all_apart || fail "connections stay"
	for node in 1 2; do
		knob_set "$node" dup_every_mad 1
	done
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	check "one connection" slowwait 15 settled
	for node in 1 2; do
		knob_set "$node" dup_every_mad 0
	done
	check "ping" ping_lossless 1 "$(ip4 2)" 20
}

short_message()
{
	local requests short

	check "connection" connect 1 2
	requests=$(cm_stat 1 cm_requests)$(cm_stat 2 cm_requests)
	short=$(cm_stat 2 rx_drop_short)
	knob_set 1 cut_next 3
	ping_ok 1 "$(ip4 2)" -c 3 -i 0.1
	check "counted" busywait 3000 cm_stat_is 2 rx_drop_short -eq $((short + 3))
	knob_set 1 cut_next 0
	check "ping" ping_lossless 1 "$(ip4 2)" 20 -s 60000
	check_eq "further requests" "$(cm_stat 1 cm_requests)$(cm_stat 2 cm_requests)" "$requests"
}

long_message()
{
	local errors

	check "connection" connect 1 2
	errors=$(cm_stat 2 rx_completion_errors)
	knob_set 2 long_next 1
	ping_ok 1 "$(ip4 2)"
	check "counted" busywait 3000 cm_stat_is 2 rx_completion_errors -gt "$errors"
	knob_set 2 long_next 0
	check "one connection" slowwait 15 settled_after_ping
	check "ping" ping_lossless 1 "$(ip4 2)" 20 -s 60000
}

overlong()
{
	local requests short

	check "connection" connect 1 2
	check "one connection" slowwait 15 settled
	requests=$(cm_stat 1 cm_requests)$(cm_stat 2 cm_requests)
	short=$(cm_stat 2 rx_drop_short)
	knob_set 2 overlong_rc 3
	ping_ok 1 "$(ip4 2)" -c 3 -i 0.1
	check "counted" busywait 3000 cm_stat_is 2 rx_drop_short -eq $((short + 3))
	check "used up" knob_is 2 overlong_rc 0
	check "ping" ping_lossless 1 "$(ip4 2)" 20 -s 60000
	check_eq "further requests" "$(cm_stat 1 cm_requests)$(cm_stat 2 cm_requests)" "$requests"
}

settled_after_ping()
{
	ping_ok 1 "$(ip4 2)"
	settled
}

# datagrams ADDRESS OCTETS COUNT TIMES: so many each time, from a socket of its own, for
# what one has sent and is still there is bounded
datagrams()
{
	local i

	for ((i = 0; i < $4; i++)); do
		in_node 1 udp_group send ib0 "$1" 9 "$2" "$3" || return 1
	done
}

# stall: node 2 finds no receive, and says so for ever
stall()
{
	check "connection" connect 1 2
	check "connection" connect 1 3
	ERRORS=$(cm_stat 1 cm_errors)
	FLUSHED=$(cm_stat 1 tx_drop_flushed)
	OLD=$(conns 1 2 | grep -o 'qp=0x[0-9a-f]*')
	knob_set 2 rnr_next 1000000
	STALLED=$(now_ms)
	datagrams "$(ip4 2)" 100 200 3
}

# stalled_is: how that connection is: full, gone, or what it is like
stalled_is()
{
	local view

	view=$(conns 1 2)
	case $view in
	*"used=32 waiting=256"*) echo full ;;
	*"$OLD"*) echo "$view" ;;
	*) echo gone ;;
	esac
}

stalled_full()
{
	[ "$(stalled_is)" = full ]
}

# It is given up after three seconds, which may be over before a slow machine has looked.
stalled()
{
	local full is i

	for ((i = 0; i < 5; i++)); do
		[ "$i" -eq 0 ] || stalled_back
		full=$(cm_stat 1 tx_drop_cm_queue_full)
		stall
		within 1000 stalled_full
		is=$(stalled_is)
		check "the other peer" ping_lossless 1 "$(ip4 3)" 20
		is+=", $(stalled_is)"
		[[ $is == *gone* ]] || break
	done
	check_eq "before and after" "$is" "full, full"
	check "nor do long packets" ping_lossless 1 "$(ip4 3)" 3 -s 20000
	check_num "dropped, and counted" $(($(cm_stat 1 tx_drop_cm_queue_full) - full)) -ge 100
}

stalled_ends()
{
	check "counted" within 20000 cm_stat_is 1 cm_errors -gt "$ERRORS"
	note "ended after $(($(now_ms) - STALLED)) ms"
	check "ended" not_listed "$OLD"
	check_eq "what waited goes over UD" "$(cm_stat 1 tx_drop_flushed)" "$FLUSHED"
}

not_listed()
{
	! conns 1 | grep -q "$1"
}

on_connection()
{
	local before

	before=$(cm_stat 1 cm_tx_packets)
	ping_ok 1 "$(ip4 2)" || return 1
	[ "$(cm_stat 1 cm_tx_packets)" -gt "$before" ]
}

stalled_back()
{
	knob_set 2 rnr_next 0
	check "back again" slowwait 20 on_connection
	check "nothing lost" ping_lossless 1 "$(ip4 2)" 10 -s 5000
	check "one connection" slowwait 15 settled
}

# Sends are not watched while there is none; the first one has that begin again, not after
# ten seconds.
stalled_later()
{
	local errors start

	check "connection" connect 1 2
	check "nothing is sent for a while" slowwait 30 unused_for 1 2 '[5-9]'
	errors=$(cm_stat 1 cm_errors)
	knob_set 2 rnr_next 1000000
	start=$(now_ms)
	datagrams "$(ip4 2)" 100 1 1
	check "given up" within 5000 cm_stat_is 1 cm_errors -gt "$errors"
	note "after $(($(now_ms) - start)) ms"
	knob_set 2 rnr_next 0
	check "back again" slowwait 20 on_connection
	check "one connection" slowwait 15 settled
}

# The QP has 32 sends, some of which may be of before.
stalled_order()
{
	local errors first

	check "connection" connect 1 2
	errors=$(cm_stat 1 cm_errors)
	capture_start stalled
	knob_set 2 rnr_next 1000000
	datagrams "$(ip4 2)" 100 100 1
	check "given up" within 6000 cm_stat_is 1 cm_errors -gt "$errors"
	busywait 5000 frame_seen op=64 dport=9 number=99
	capture_stop
	first=$(numbers op=64)
	first=${first%% *}
	check_num "the first over UD" "${first:-99}" -le 32
	check_eq "over UD" "$(numbers op=64)" "$(seq "${first:-0}" 99 | xargs)"
	knob_set 2 rnr_next 0
	check "back again" slowwait 20 on_connection
	check "one connection" slowwait 15 settled
}

# post OCTETS
post()
{
	local errors dropped

	permanent 1 2
	check "connection" connect 1 2
	errors=$(cm_stat 1 cm_errors)
	dropped=$(cm_stat 1 tx_drop_post)
	knob_set 1 fail_post_rc 1
	datagrams "$(ip4 2)" "$1" 1 1
	check "refused" busywait 2000 knob_is 1 fail_post_rc 0
	check_eq "dropped" $(($(cm_stat 1 tx_drop_post) - dropped)) 1
	check "closed" busywait 5000 cm_stat_is 1 cm_errors -gt "$errors"
	check "back again" slowwait 20 on_connection
	check "one connection" slowwait 15 settled
	node_ip 1 neigh del "$(ip4 2)" dev ib0
}

# Node 2 knows the path, so the refusal is of the first message of its QP 1
post_message()
{
	check "nothing is left" in_mode connected rc 1 2 3
	permanent 3 2
	permanent 2 3
	check "path" in_node 3 raw_frame send ib0 "$(lladdr 2)" 0x88b5 cafe
	nap 0.5
	# it would request one itself
	in_node 2 sysctl -qw net.ipv4.icmp_echo_ignore_all=1
	knob_set 2 fail_post_mad 1
	check "what UD takes" too_long_is_answered 3
	check "refused" busywait 3000 knob_is 2 fail_post_mad 0
	# a REQ that is not answered is repeated for 4.6 s
	check "its end" within 2500 all_gone 3
	in_node 2 sysctl -qw net.ipv4.icmp_echo_ignore_all=0
	check "connection" slowwait 30 connect_try 3 2
	check "one connection" slowwait 15 conn_count_is 2 3 1
	node_ip 3 route flush cache
	check "nothing is left" in_mode connected rc 2 3
	node_ip 3 neigh del "$(ip4 2)" dev ib0
	node_ip 2 neigh del "$(ip4 3)" dev ib0
}

# Nothing that node 2 sends on connections arrives, so it acknowledges nothing.
failed_sends()
{
	local errors packets

	check "connection" connect 1 2
	errors=$(cm_stat 1 tx_completion_errors)
	packets=$(counter 1 tx_packets)
	knob_set 2 drop_every_rc 1
	datagrams "$(ip4 2)" 100 20 1
	check "errors" slowwait 10 cm_stat_is 1 tx_completion_errors -ge $((errors + 20))
	knob_set 2 drop_every_rc 0
	# a neighbour may have been asked for
	check_num "sent" $(($(counter 1 tx_packets) - packets)) -le 5
	check "one connection" slowwait 15 settled_after_ping
}

# unanswered COUNT: of node 1 to node 2
unanswered()
{
	in_node 1 ping -n -q -c "$1" -i 0.1 -W 0.1 "$(ip4 2)" > /dev/null
	true
}

# The fourth pause is one of four seconds.
fails_again()
{
	unanswered 1
	[ "$(peer_failures 1 2)" -ge 4 ] && peer_state_is 1 2 refused
}

failures_are()
{
	[ "$(peer_failures 1 2)" -eq "$1" ]
}

requested_by_peer()
{
	conns 1 2 | grep -q "established .* passive"
}

# All that node 1 sends on connections is lost. Nothing that node 2 sends shows that one works:
# it answers nothing.
distrusted()
{
	local before

	check "nothing is left" in_mode connected rc 1 2 3
	check "neighbour" permanent 1 2
	check "neighbour" permanent 2 1
	in_node 2 sysctl -qw net.ipv4.icmp_echo_ignore_all=1
	knob_set 1 drop_every_rc 1
	check "fails again and again" slowwait 60 fails_again
	before=$(cm_stat 1 cm_tx_packets)
	check "node 2 sends" in_node 2 udp_group send ib0 "$(ip4 1)" 9 100 1
	check "it requests one" within 2000 requested_by_peer
	unanswered 5
	check_eq "sent on it" "$(cm_stat 1 cm_tx_packets)" "$before"
	check "the pause is not over" peer_state_is 1 2 refused
	knob_set 1 drop_every_rc 0
	in_node 2 sysctl -qw net.ipv4.icmp_echo_ignore_all=0
	node_ip 1 neigh del "$(ip4 2)" dev ib0
	node_ip 2 neigh del "$(ip4 1)" dev ib0
	check "back again" slowwait 20 on_connection
	check "one connection" slowwait 15 settled
	check "earlier failures do not count" busywait 5000 failures_are 0
}

# The GID of an HCA that is gone is not known any more, so its connection is told by its QP.
connections_are()
{
	cm_view "$1" | grep -qx "connections: $2"
}

receives_lost()
{
	cm_view "$1" | sed -n 's/^receives_lost: //p'
}

# last_wqe HOW: of the HCA of node 2. The connection ends within a message, so it holds a
# receive that only the event gives back.
last_wqe()
{
	local begin before took

	check "no connection" in_mode connected rc 1 2 3
	check "nothing is left" slowwait 40 all_gone 2
	check "a peer that stays" connect 3 2
	check "one that leaves" connect 1 2
	check "two connections" slowwait 10 connections_are 2 2
	# what earlier connections had posted beyond what these need is used up
	check "messages" ping_lossless 3 "$(ip4 2)" 256
	before=$(receives 2)
	knob_set 2 half_lid "$(port_lid 1)"
	if [ "$1" = late ]; then
		knob_set 2 last_wqe_ms 3000
	else
		knob_set 2 lose_last_wqe 1
	fi
	begin=$(now_ms)
	check "mode" set_mode 1 datagram
	check "the other peer loses nothing" ping_lossless 3 "$(ip4 2)" 20
	check "it ends" slowwait 45 connections_are 2 1
	took=$(($(now_ms) - begin))
	note "$took ms"
	if [ "$1" = late ]; then
		check_num "not before the event" "$took" -ge 3000
		check_num "but with it" "$took" -lt 20000
		check_eq "lost receives" "$(receives_lost 2)" 0
	else
		check_num "not at once" "$took" -ge 30000
		check_eq "lost receives" "$(receives_lost 2)" 1
		check_num "receives for one less" "$(receives 2)" -ge $((before - 1))
	fi
	knob_set 2 last_wqe_ms 0
	check "still nothing lost" ping_lossless 3 "$(ip4 2)" 20 -s 20000
	check "mode" set_mode 1 connected
	check "a connection again" connect 1 2
}

removed()
{
	local old

	check "connection" connect 1 2
	old=$(conns 1 2 | grep -o 'qp=0x[0-9a-f]*')
	check_eq "connections" "$(wc -w <<< "$old")" 1
	hca_remove 2
	check "node 1 gives up" slowwait 20 given_up "$old"
	plug 2
}

# plug NODE: an HCA is there again, in datagram mode
plug()
{
	hca_add "$1"
	wait_ports_active
	node_move "$1"
	node_config "$1"
	check "carrier" wait_carrier "$1"
	node_ip 1 neigh flush dev ib0
	check "ping" slowwait 20 ping_ok 1 "$(ip4 "$1")"
}

# An HCA that is pulled out sends nothing any more, so no DREQ is answered. The CM repeats it for
# two seconds.
removed_silent()
{
	local begin took

	check "mode" in_mode connected rc 2 3
	check "connection" connect 2 3
	begin=$(now_ms)
	hca_remove 3
	took=$(($(now_ms) - begin))
	note "$took ms"
	check_num "milliseconds" "$took" -lt $((1700 * SLOW))
	plug 3
	check "mode" set_mode 3 connected
}

# As last_wqe:lost.
removed_held()
{
	local begin took

	check "no connection" in_mode connected rc 1 2 3
	check "nothing is left" slowwait 40 all_gone 3
	check "connection" connect 1 3
	check "one connection" slowwait 10 connections_are 3 1
	knob_set 3 half_lid "$(port_lid 1)"
	knob_set 3 lose_last_wqe 1
	begin=$(now_ms)
	hca_remove 3
	took=$(($(now_ms) - begin))
	note "$took ms"
	check_num "not at once" "$took" -ge 1000
	check_num "but soon" "$took" -lt 20000
	check "it was lost" knob_is 3 lose_last_wqe 0
	plug 3
	check "mode" set_mode 3 connected
}

given_up()
{
	ping_ok 1 "$(ip4 2)"
	not_listed "$1"
}

# By one process: all is over before the first have waited for long. It prints how many
# milliseconds it has taken.
TO_ALL='
import socket, time
start = time.monotonic()
for i in range(1, 25):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(40):
        sender.sendto(bytes(2100), (f"10.9.8.{i}", 9))
print(int((time.monotonic() - start) * 1000))
'

# no_requests: node 1 has none under way
no_requests()
{
	! cm_view 1 | grep -q 'connection: connecting'
}

# 24 peers that node 2's HCA has not, each with 8 more than may wait for it: 32 for each, so 384 for
# twelve, 512 for 16. They are remembered for a while, with node 2's GID, so only the likes of them
# come after this. The last ones get no request, and no frame for them waits.
silent_bound_all()
{
	local full gid long i try ms

	silence_begin
	gid=$(port_gid_hex 2 | sed 's/../:&/g')
	for ((try = 0; try < 5; try++)); do
		check "no requests" slowwait 15 no_requests
		full=$(cm_stat 1 tx_drop_queue_full)
		long=$(cm_stat 1 tx_drop_flushed)
		for ((i = 1; i <= 24; i++)); do
			printf 'neigh replace 10.9.8.%d dev ib0 lladdr 80:ab:%02x:%02x%s\n' "$i" "$try" "$i" "$gid"
		done | host 1 -i ip -n node1 -batch -
		ms=$(in_node 1 python3 -c "$TO_ALL") || fail "cannot send"
		full=$(($(cm_stat 1 tx_drop_queue_full) - full))
		check "those that waited later" busywait 60000 cm_stat_is 1 tx_drop_flushed -ge $((long + 384 + 8 * 40))
		note "dropped at once: $full, sent in $ms ms"
		[ "${ms:-0}" -ge 1200 ] || break
	done
	check_num "dropped at once" "$full" -ge $((12 * 8))
	check_num "dropped at once" "$full" -le $((16 * 8))
	for ((i = 1; i <= 24; i++)); do
		echo "neigh del 10.9.8.$i dev ib0"
	done | host 1 -i ip -n node1 -batch -
	knob_set 2 drop_every_mad 0
	node_ip 1 route flush cache
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
}

# to_port NET COUNT [OCTETS]: one packet of node 1 to each of the first addresses of NET
to_port()
{
	in_node 1 python3 -c '
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(1, int(sys.argv[2]) + 1):
    sender.sendto(bytes(int(sys.argv[3])), (f"{sys.argv[1]}.{i}", 9))
' "$1" "$2" "${3:-100}" || fail "cannot send"
}

# neighbours_add NET COUNT QPN: these addresses are at QPNs of node 2 that it has not
neighbours_add()
{
	local gid i

	gid=$(port_gid_hex 2 | sed 's/../:&/g')
	for ((i = 1; i <= $2; i++)); do
		printf 'neigh replace %s.%d dev ib0 lladdr 80:%s:00:%02x%s\n' "$1" "$i" "$3" "$i" "$gid"
	done | host 1 -i ip -n node1 -batch -
}

# neighbours_del NET COUNT
neighbours_del()
{
	local i

	for ((i = 1; i <= $2; i++)); do
		echo "neigh del $1.$i dev ib0"
	done | host 1 -i ip -n node1 -batch -
}

# not_asked_are ARG...: how many of node 1's peers in silent_port are not asked, and
# have not failed
not_asked_are()
{
	test "$(cm_view 1 | awk '
		/^peer:/ { on = $2 >= "0xac0000" && $2 <= "0xac00ff" }
		/state:/ { on = on && $2 == "idle" }
		/failures: 0/ && on { n++ }
		END { print n + 0 }')" "$@"
}

# As silent_bound_all, but each is sent one packet, for which it is asked for a connection.
silent_port()
{
	local before

	silence_begin
	check "none to node 3" in_mode connected rc 3
	neighbours_add 10.9.7 64 ac
	check "no requests" slowwait 15 no_requests
	before=$(cm_stat 1 cm_requests)
	to_port 10.9.7 64
	# of which 16 are remembered
	check "no request to the others" busywait 3000 not_asked_are -ge 16
	check_num "requests" $(($(cm_stat 1 cm_requests) - before)) -le 16
	check_num "requests" $(($(cm_stat 1 cm_requests) - before)) -ge 1
	to_port 10.9.7 64 20000
	check_eq "routes with the MTU of datagrams" \
		"$(in_node 1 ip -4 route show cache | grep -c '^10\.9\.7\..* mtu')" 0
	check "another peer" within 1000 connect_try 1 3
	neighbours_del 10.9.7 64
	knob_set 2 drop_every_mad 0
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
}

# peers NODE
peers()
{
	cm_view "$1" | sed -n 's/^peers: //p'
}

peers_are()
{
	test "$(peers "$1")" "$2" "$3"
}

# The peer among others with its GID
connected_beside()
{
	ping_ok 1 "$(ip4 2)" && [ "$(conn_count 1 2)" -ge 1 ]
}

# Node 2 refuses all of them. They are forgotten with the neighbours of the stack.
many_qpns()
{
	local before

	check "connection" slowwait 15 connected_beside
	check "no requests" slowwait 15 no_requests
	before=$(peers 1)
	neighbours_add 10.9.6 200 ad
	to_port 10.9.6 200
	check "no requests" slowwait 15 no_requests
	check "some are remembered" peers_are 1 -ge 16
	# and those that were asked when the last one came, node 3, and what has a connection
	check "not all" peers_are 1 -le 36
	check "connection" connected_beside
	check "ping" ping_lossless 1 "$(ip4 2)" 5
	neighbours_del 10.9.6 200
	check "forgotten" slowwait 15 peers_are 1 -le $((before + 2))
	check "connection" connected_beside
}

ktap_main "$@"
