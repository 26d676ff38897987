#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the SM, or its administrator, does to groups: broadcast groups of another
# scope, senders that keep groups, another SM that asks nobody to register
# again, refusals and what is said of them.
#
#	node1 (SM)   node2 (another SM)   node3
#	  |            |                    |
#	+-+------------+--------------------+-+
#	|               switch                |
#	+-------------------------------------+

# mlx4 and mlx5 do not tell of another SM if nothing else changes.
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

MGID=$(mgid4 239.50.0.1)
LAX=

CASES=(
	"missing U16,U58,A14 without a broadcast group there is no carrier, and a single line has the reason"
	"first_tries U16 the first tries are tenths of a second apart, then increasingly rare, and two nodes are out of step"
	"rests U16 tries become rare, but not rarer than documented"
	"made U16,U22,A13 all interfaces come up when the administrator makes the broadcast group"
	"unmade U16,U20 the carrier goes down if a new SM has no broadcast group"
	"made_by_member U16,U22,U52 a broadcast group made by another member brings a router up at once by a report, other nodes soon"
	"silent_sm U54,A14 an SM that takes over without a request to reregister knows all members soon"
	"silent_sender U50,A26 senders have the MLIDs of an SM that takes over without a request to reregister"
	"silent_unmade U16,U20 the carrier goes down if an SM without a request to reregister has no broadcast group"
	"same_mlids U51,A26 groups keep their MLIDs when the SM is restarted"
	"grace U51 multicast to a group unknown to the new SM uses the broadcast group for 2 s"
	"restart U51,U53 multicast uses the broadcast group after a restart of the SM until the switches know the group again"
	"other_mlids U51,A26 a group with another MLID from the SM is accepted: multicast uses the MLID, and arrives"
	"many_left U56,F31 two hundred groups left at once are left at the SA by a single request each, within seconds"
	"misfit:q:Q_Key U55,U58 a listener does not join a group with another Q_Key than the link's, and logs it"
	"misfit:m:MTU U55,U58 a listener does not join a group with a smaller MTU than the link's, and logs it"
	"misfit:g:MTU U55,U58 a listener does not join a group with a greater MTU than the link's, and logs it"
	"misfit:s:SL U55,U58 a listener does not join a group with another SL than the link's, and logs it"
	"misfit:h:hop U55,U58 a listener does not join a group with another hop limit than the link's, and logs it"
	"misfit:p:P_Key U55,U58 a listener does not join a group with another P_Key than the link's, and logs it"
	"misfit_sender:q U55,A35 a sender does not send to a group with another Q_Key, and the drop is counted"
	"misfit_sender:m U55 a sender does not send to a group with a smaller MTU"
	"misfit_sender:p U55 a sender does not send to a group with another P_Key"
	"foreign_sl F21,U13 a sender uses the SL of a group with another SL, and a listener receives it"
	"silent_tries U20 queries to a silent SA are repeated, one after the other"
	"silent_sa U20,U58 a silent SA gets few queries at a time, and at most 16 frames wait for a group"
	"well_known A6,A26 a group made by the administrator stays without listeners, and its sender stays a member"
	"too_fast U20,U58 a join that the SA refuses for another reason than the values of the link is logged, and repeated once at once, then with pauses"
	"scope_given:5 U15,U8 a broadcast group of a given scope 5 is joined"
	"scope_given:e U15,U8 a broadcast group of a given scope 14 is joined"
)

NEEDS=(
	[missing]=setup
	[silent_sender]=silent_sm
)

setup()
{
	LAX=
	SETUP_MARK=$KLOG_MARK
	fabric_load 3
	partitions "Default=0x7fff : ALL=full;"
	opensm_start
	driver_load
	nodes_up
}

diagnose()
{
	sa_records 1 -g
	dmesg | grep -i 'multicast' | tail -n 10
}

# without_group: no broadcast group, and no carrier
without_group()
{
	partitions "Default=0x7fff : ALL=full;"
	if sa_group_exists "$BROADCAST_MGID"; then
		LAX=
		opensm_kill
		opensm_start
	fi
	slowwait 15 all_down || fail "carrier without a group"
}

# with_group: one, with all of us in it
with_group()
{
	if ! sa_group_exists "$BROADCAST_MGID"; then
		partitions "Default=0x7fff, ipoib : ALL=full;"
		opensm_kill
		opensm_start
	fi
	check "members" slowwait 20 members_known 1 2 3
	check "carrier" wait_carrier
}

missing()
{
	check "no carrier" stays 1500 no_carrier 3
	# since the driver was loaded, but not what other tests did before
	check_eq "lines that say why" \
		"$(KLOG_MARK=$SETUP_MARK klog | grep -c "failed for $(mgid_full "$BROADCAST_MGID"),.*there is no such group")" 3
}

# retry_in NODE: milliseconds until it asks for the broadcast group again
retry_in()
{
	mcg "$1" "$BROADCAST_MGID" retry_ms
}

# retries_late NODE MS: not before that
retries_late()
{
	local ms

	ms=$(retry_in "$1")
	[ -n "$ms" ] && [ "$ms" -gt "$2" ]
}

# asked NODE CONDITION...: when it has asked for the broadcast group, in milliseconds; a
# question that is repeated counts once
asked()
{
	frames -f mad.tid -f t mad.class=03 mad.attr=0038 "mc.mgid=$BROADCAST_MGID" \
		"slid=$(lid_hex "$1")" "${@:2}" | awk '!seen[$1]++ { printf "%.0f\n", $2 * 1000 }'
}

# pauses: between the times of standard input
pauses()
{
	awk 'NR > 1 { print $1 - last } { last = $1 }'
}

# enough COUNT COMMAND...: so many lines
enough()
{
	[ "$("${@:2}" | wc -l)" -ge "$1" ]
}

# growing NODE: it has tried seven times at least, and the last three pauses are all longer
# than the first three, by half. A busy machine may add to any of them.
growing()
{
	asked "$1" mad.method=02 | pauses | awk '
		{ pause[NR] = $1 }
		NR <= 3 && $1 > most { most = $1 }
		END {
			for (i = NR - 2; i <= NR; i++)
				if (pause[i] < most * 1.5)
					exit 1
			exit NR < 6
		}'
}

# least_of "NUMBER...": the least of them
least_of()
{
	xargs -n 1 <<< "$1" | sort -n | head -n 1
}

# Pauses of 0.1, 0.2, 0.4, 0.8 s, each up to half as much longer.
first_tries()
{
	local two three

	without_group
	node_ip 2 link set ib0 down
	node_ip 3 link set ib0 down
	capture_start first_tries
	node_ip 2 link set ib0 up
	node_ip 3 link set ib0 up
	check "node 2 tries more and more rarely" slowwait 20 growing 2
	check "node 3 tries more and more rarely" slowwait 20 growing 3
	capture_stop
	two=$(asked 2 mad.method=02 | pauses | tr '\n' ' ')
	three=$(asked 3 mad.method=02 | pauses | tr '\n' ' ')
	note "pauses of node 2: $two; of node 3: $three"
	check_num "least pause" "$(least_of "$two")" -le $((200 + $(scaled 100)))
	check_num "least pause" "$(least_of "$three")" -le $((200 + $(scaled 100)))
	[ "$two" != "$three" ] || fail "in step"
}

# Every 8 s, and up to half as much again
rests()
{
	without_group
	check "seconds between tries" slowwait 40 retries_late 3 6000
	check_num "milliseconds to the next" "$(retry_in 3)" -le 12000
}

made()
{
	local start

	without_group
	partitions "Default=0x7fff, ipoib : ALL=full;"
	opensm_reread
	slowwait 10 sa_group_exists "$BROADCAST_MGID" || fail "the SM does not make it"
	start=$(now_ms)
	check "carrier" wait_carrier
	note "$(($(now_ms) - start)) ms from the group to the carriers"
	check_num "milliseconds" $(($(now_ms) - start)) -le 20000
	check "ping" wait_ping 2 3
}

all_down()
{
	no_carrier 1 && no_carrier 2 && no_carrier 3
}

unmade()
{
	with_group
	partitions "Default=0x7fff : ALL=full;"
	opensm_kill
	opensm_start
	check "no carrier" within 20000 all_down
	check "no group" sa_group_gone "$BROADCAST_MGID"
}

made_by_member()
{
	local start

	without_group
	check "subscribed" routes 3
	check "no try soon" slowwait 40 retries_late 3 7000
	check "make it" group_create 1 ff12401bffff000000000000ffffffff 00000b1b 84 00000000
	start=$(now_ms)
	check "carrier" within 6000 has_carrier 3
	note "$(($(now_ms) - start)) ms to the carrier"
	check "all" wait_carrier
	routes_no_more 3
	check "ping" wait_ping 2 3
	partitions "Default=0x7fff, ipoib : ALL=full;"
	opensm_reread
}

# members_known NODE...: the SM on node 2 has them in the broadcast group
members_known()
{
	local node

	for node; do
		sa_is_full_member "$node" "$BROADCAST_MGID" || { echo "not node $node"; return 1; }
	done
}

silent_sm()
{
	with_group
	group_join 3 239.50.0.3
	check "a listener" slowwait 5 sa_is_full_member 3 "$(mgid4 239.50.0.3)"
	udp_to 1 239.50.0.3 7201 3
	OPENSM_CONF="no_clients_rereg TRUE"
	opensm_kill 1
	opensm_start 2
	check "all are members" within 20000 members_known 1 2 3
	check "of the group" within 20000 sa_is_full_member 3 "$(mgid4 239.50.0.3)"
	check "ping" wait_ping 1 3
}

# sends_by NODE MGID MLID: a frame to 239.58.0.1 has it look for the group, if that was missing
sends_by()
{
	udp_to "$1" 239.58.0.1 7303 1
	mlid_is "$@"
}

# A group that was missing at the last question is looked for with a frame.
sends_again()
{
	udp_to 1 239.50.0.3 7201 1
	join_state_is 1 "$1" 0x4
}

silent_sender()
{
	local mgid

	mgid=$(mgid4 239.50.0.3)
	check "sender" within 20000 sends_again "$mgid"
	check_eq "MLID" "$(($(mcg 1 "$mgid" mlid)))" "$(($(sa_field "$mgid" mlid)))"
	udp_listen 3 239.50.0.3 7202 5 20000
	udp_to 1 239.50.0.3 7202 5
	wait "$LISTENER" || fail "node 3 got $(received 3) of 5"
	group_leave
	OPENSM_CONF=
	opensm_kill 2
	opensm_start 1
	check "all are members" slowwait 15 members_known 1 2 3
}

# It is not joined, but told that we are a member.
silent_unmade()
{
	with_group
	partitions "Default=0x7fff : ALL=full;"
	OPENSM_CONF="no_clients_rereg TRUE"
	opensm_kill 1
	opensm_start 2
	check "no carrier" within 20000 all_down
	partitions "Default=0x7fff, ipoib : ALL=full;"
	OPENSM_CONF=
	opensm_kill 2
	opensm_start 1
	check "all are members" slowwait 20 members_known 1 2 3
	check "carrier" wait_carrier
	check "ping" wait_ping 2 3
}

# mlids MGID...: those that the SA has
mlids()
{
	local mgid

	for mgid; do
		echo "$mgid $(($(sa_field "$mgid" mlid)))"
	done
}

# members NODE MGID...
members()
{
	local node=$1 mgid

	shift
	for mgid; do
		sa_is_full_member "$node" "$mgid" || { echo "node $node not in $mgid"; return 1; }
	done
}

# The nodes come back in any order, so it would be by chance.
same_mlids()
{
	local i before groups=() mgids=()

	with_group
	for i in 1 2 3 4 5 6 7 8; do
		groups+=("239.51.0.$i")
		mgids+=("$(mgid4 "239.51.0.$i")")
	done
	group_join 3 "${groups[@]:0:4}"
	group_join 2 "${groups[@]:4:4}"
	check "members" slowwait 10 members 3 "${mgids[@]:0:4}"
	check "members" slowwait 10 members 2 "${mgids[@]:4:4}"
	before=$(mlids "${mgids[@]}")
	opensm_kill
	opensm_start
	check "members again" within 20000 members 3 "${mgids[@]:0:4}"
	check "members again" within 20000 members 2 "${mgids[@]:4:4}"
	check_eq "MLIDs" "$(mlids "${mgids[@]}")" "$before"
	group_leave "${BACKGROUND[-2]}"
	group_leave
}

# udp_count NODE COLUMN: of the line Udp of /proc/net/snmp
udp_count()
{
	# shellcheck disable=SC2016 # awk's
	in_node "$1" awk -v column="$2" '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $column }' \
		/proc/net/snmp
}

via_broadcast()
{
	[ "$(xstat "$1" tx_via_broadcast)" -ge "$2" ]
}

# arrives NODE COUNT: more datagrams have come than COUNT
arrives()
{
	[ "$(udp_count "$1" 2)" -gt "$2" ]
}

# Its listener may only be late. A datagram each 10 ms: 200, or nearly.
grace()
{
	local before

	with_group
	udp_listen 3 239.52.0.2 7300 60000 600000
	check "a listener" slowwait 5 sa_is_full_member 3 "$(mgid4 239.52.0.2)"
	udp_to 2 239.52.0.2 7301 3
	check "a sender" slowwait 5 mcg_is 2 "$(mgid4 239.52.0.2)" state member
	background 2 udp_group send ib0 239.52.0.2 7300 100 60000 10000
	opensm_kill
	kill "$LISTENER" 2> /dev/null
	wait "$LISTENER"
	before=$(xstat 2 tx_via_broadcast)
	opensm_start
	check "the group is missing" slowwait 8 mcg_is 2 "$(mgid4 239.52.0.2)" state absent
	check "by the broadcast group" busywait 5000 via_broadcast 2 $((before + 100))
	background_stop
}

# What is lost is for the SM to answer for: it empties the switches' tables at first, the
# broadcast group's, too. So there is no more than a limit that is easy to keep: two seconds
# of a datagram each 10 ms. The sender goes on until the SM has done its work.
restart()
{
	local before sender sent got

	with_group
	got=$(udp_count 3 2)
	# it stays until it is killed
	udp_listen 3 239.52.0.1 7300 60000 600000
	check "a listener" slowwait 5 sa_is_full_member 3 "$(mgid4 239.52.0.1)"
	udp_to 2 239.52.0.1 7301 3
	check "a sender" slowwait 5 mcg_is 2 "$(mgid4 239.52.0.1)" state member
	before=$(xstat 2 tx_via_broadcast)
	sent=$(udp_count 2 5)
	background 2 udp_group send ib0 239.52.0.1 7300 100 60000 10000
	sender=${BACKGROUND[-1]}
	opensm_kill
	opensm_start
	check "by the broadcast group" slowwait 8 via_broadcast 2 $((before + 5))
	check "member again" slowwait 5 mcg_is 2 "$(mgid4 239.52.0.1)" state member
	check "arrives again" slowwait 5 arrives 3 "$(udp_count 3 2)"
	kill "$sender" 2> /dev/null
	wait "$sender"
	sent=$(($(udp_count 2 5) - sent))
	check "by its own tree again" slowwait 5 by_own_tree 2 239.52.0.1
	got=$(($(udp_count 3 2) - got))
	kill "$LISTENER" 2> /dev/null
	wait "$LISTENER"
	note "node 3 got $got of $sent"
	check_num "datagrams lost" $((sent - got)) -le 200
}

# crowd COUNT: as many groups of the administrator, which an SM gives the first MLIDs
crowd()
{
	local i lines=()

	for ((i = 1; i <= $1; i++)); do
		printf -v "lines[$i]" 'mgid=ff12:401b::f39:%x,mtu=4,rate=3' "$i"
	done
	partitions "Default=0x7fff, ipoib :" "${lines[@]}" "ALL=full;"
}

mlid_is()
{
	[ "$(($(mcg "$1" "$2" mlid)))" -eq "$(($3))" ]
}

# The nodes ask for the MLIDs that they know; these are taken.
other_mlids()
{
	local mgid was now

	with_group
	mgid=$(mgid4 239.58.0.1)
	group_join 3 239.58.0.1
	check "a listener" slowwait 5 sa_is_full_member 3 "$mgid"
	udp_to 2 239.58.0.1 7301 3
	check "a sender" slowwait 5 mcg_is 2 "$mgid" state member
	was=$(sa_field "$mgid" mlid)
	crowd $((was - 0xc000))
	opensm_kill
	opensm_start
	check "member again" within 20000 sa_is_full_member 3 "$mgid"
	now=$(sa_field "$mgid" mlid)
	note "MLID was $was, is $now"
	check_num "MLID" $((now)) -ne $((was))
	check "the listener's" within 20000 mlid_is 3 "$mgid" "$now"
	check "the sender's" within 20000 sends_by 2 "$mgid" "$now"
	check "by its own tree" slowwait 10 by_own_tree 2 239.58.0.1
	udp_listen 3 239.58.0.1 7302 10 20000
	capture_start other_mlids
	udp_to 2 239.58.0.1 7302 10
	wait "$LISTENER" || fail "node 3 got $(received 3) of 10"
	capture_stop
	check_eq "group and MLID" "$(frames -f dgid -f dlid dport=7302 | sort -u)" \
		"$mgid $(printf '%04x' "$((now))")"
	group_leave
	partitions "Default=0x7fff, ipoib : ALL=full;"
}

# A leave that is repeated has the same TID.
many_left()
{
	local i groups=() n

	with_group
	for ((i = 0; i < 200; i++)); do
		groups+=("239.53.0.$i")
	done
	in_node 3 sysctl -q net.ipv4.igmp_max_memberships=300
	group_join 3 "${groups[@]}"
	check "joined" slowwait 60 mgids_of_53 200
	capture_start many_left
	group_leave
	check "left" slowwait 60 mgids_of_53 0
	capture_stop
	n=$(leaves_of_53 | wc -l)
	note "$n messages, $(frame_count mad.class=03 mad.method=02 "slid=$(lid_hex 3)") joins between them"
	check_eq "leaves" "$(leaves_of_53 | sort -u | wc -l)" 200
	check_eq "groups" "$(leaves_of_53 | cut -d ' ' -f 1 | sort -u | wc -l)" 200
	check_num "milliseconds from the first to the last" "$(leaving_took)" -le $((4000 * SLOW))
	check_eq "JoinStates" "$(frames -f mc.mgid -f mc.join mad.class=03 mad.method=15 "slid=$(lid_hex 3)" |
		sed -n 's/^ff12:401b:ffff::f35:.* //p' | sort -u)" 1
}

# leaves_of_53: MGID and TID of each leave that node 3 has sent for one of those
leaves_of_53()
{
	frames -f mc.mgid -f mad.tid mad.class=03 mad.method=15 "slid=$(lid_hex 3)" |
		grep '^ff12:401b:ffff::f35:'
}

leaving_took()
{
	frames -f t -f mc.mgid mad.class=03 mad.method=15 "slid=$(lid_hex 3)" |
		awk '/ ff12:401b:ffff::f35:/ { last = $1; if (!first) first = $1 }
			END { printf "%d\n", (last - first) * 1000 }'
}

mgids_of_53()
{
	[ "$(sa_mgids | grep -c '^ff12:401b:ffff::f35:')" -eq "$1" ]
}

pkey_is_there()
{
	grep -qx "$2" "/sys/class/infiniband/$(ibdev "$1")/ports/1/pkeys/"*
}

# lax_sm: an SA that makes groups as they are asked for, and a second P_Key
lax_sm()
{
	[ -z "$LAX" ] || return 0
	LAX=y
	partitions "Default=0x7fff, ipoib : ALL=full;" "Some=0x1234 : ALL=full;"
	OPENSM_CONF="ipoib_mcgroup_creation_validation FALSE"
	opensm_kill
	opensm_start
	OPENSM_CONF=
	check "members" slowwait 15 members_known 1 2 3
	check "P_Key" slowwait 10 pkey_is_there 1 0x9234
}

# misfit_made WHAT: node 1 makes such a group. Sets GROUP and MGID
misfit_made()
{
	local qkey=00000b1b mtu=84 sl_hop=00000000 pkey=ffff n

	case $1 in
	q) n=1 qkey=00000b1c ;;
	m) n=2 mtu=83 ;;
	g) n=6 mtu=85 ;;
	s) n=3 sl_hop=10000000 ;;
	h) n=4 sl_hop=00000007 ;;
	p) n=5 pkey=9234 ;;
	esac
	lax_sm
	GROUP=239.56.0.$n
	MGID=$(mgid4 "$GROUP")
	sa_group_exists "$MGID" || check "made" group_create 1 \
		ff12401bffff0000000000000f38000"$n" "$qkey" "$mtu" "$sl_hop" "$pkey"
}

# misfit WHAT TEXT
misfit()
{
	local GROUP MGID

	misfit_made "$1"
	klog_mark misfit
	group_join 3 "$GROUP"
	check "refused" slowwait 5 mcg_is 3 "$MGID" state backoff
	check "no member" stays 1500 sa_is_no_member 3 "$MGID"
	check_eq "lines of the log" \
		"$(klog | grep -cE "failed for $(mgid_full "$MGID"),.*has (not the|another) $2")" 1
	group_leave
}

# The first datagram waits, and may be sent to all if the answer takes long.
# refused_sender GROUP MGID: without reports of the SA a frame 2 s later shows the reason
refused_sender()
{
	udp_to 2 "$1" 7206 1
	mcg_is 2 "$2" state backoff
}

misfit_sender()
{
	local GROUP MGID before

	misfit_made "$1"
	check "refused" slowwait 5 refused_sender "$GROUP" "$MGID"
	before=$(xstat 2 tx_drop_group_failed)
	capture_start misfit_sender
	udp_to 2 "$GROUP" 7207 10
	capture_stop
	check_num "dropped" $(($(xstat 2 tx_drop_group_failed) - before)) -ge 10
	check_eq "sent" "$(frame_count dport=7207)" 0
	check "no sender" sa_is_no_member 2 "$MGID"
}

# Who sends has no say in it: with another SL the switches might have no VL for it.
foreign_sl()
{
	local GROUP MGID

	misfit_made s
	udp_to 2 "$GROUP" 7208 1
	check "a sender" slowwait 5 mcg_is 2 "$MGID" state member
	capture_start foreign_sl
	check "by its own tree" slowwait 5 by_own_tree 2 "$GROUP"
	udp_to 2 "$GROUP" 7209 10
	capture_stop
	check_num "sent" "$(frame_count dport=7209 "dgid=$MGID")" -eq 10
	check "SL" frames_all sl 1 dport=7209
}

# at_least MILLISECONDS TIME...: all of them
at_least()
{
	local ms

	for ms in "${@:2}"; do
		[ "$ms" -ge "$1" ] || return 1
	done
}

# ib_sa repeats a join for three seconds. After that there is a pause of 0.1 s or more.
silent_tries()
{
	local pauses

	with_group
	node_ip 3 link set ib0 down
	check "no member" slowwait 5 sa_is_no_member 3 "$BROADCAST_MGID"
	capture_start silent_tries
	kill -STOP "${OPENSM_PID[1]}"
	node_ip 3 link set ib0 up
	check "tries" slowwait 25 enough 4 asked 3 mad.method!=15
	check "the next is visible" slowwait 10 retries_late 3 50
	capture_stop
	kill -CONT "${OPENSM_PID[1]}"
	mapfile -t pauses < <(asked 3 mad.method!=15 | pauses)
	note "intervals: ${pauses[*]}"
	check "each" at_least 3000 "${pauses[@]}"
	check "member again" slowwait 15 members_known 3
}

# silent_lines: groups whose join has failed as the SA does not answer, one for each line
silent_lines()
{
	klog | grep 'the SA does not answer' | grep -o 'failed for [0-9a-f:]*:0f36:[0-9a-f]*,'
}

# questions: TIDs of the joins that node 3 has sent
questions()
{
	frames -f mad.tid mad.class=03 mad.method=02 "slid=$(lid_hex 3)" | sort -u
}

# all_but_16_dropped: of a hundred frames of node 2 to another group. Frames wait for 0.1 s, in which
# a machine that is slow for a while may not have sent them.
all_but_16_dropped()
{
	local i full dropped=0

	for ((i = 2; i <= 6 && dropped < 84; i++)); do
		full=$(xstat 2 tx_drop_queue_full)
		udp_to 2 "239.54.1.$i" 7205 100 0
		dropped=$(($(xstat 2 tx_drop_queue_full) - full))
	done
	[ "$dropped" -ge 84 ] || { echo "$dropped are dropped"; return 1; }
}

# Sixteen questions at a time and one for the broadcast group; the next sixteen when these
# have waited for three seconds in vain, which a slow machine may be still within.
silent_sa()
{
	local full lines n ms

	with_group
	full=$(xstat 2 tx_drop_queue_full)
	in_node 3 sysctl -q net.ipv4.igmp_max_memberships=300
	klog_mark silent_sa
	kill -STOP "${OPENSM_PID[1]}"
	capture_start silent_sa
	ms=$(now_ms)
	group_join 3 239.54.0.{1..60}
	udp_to 2 239.54.1.1 7205 100 0
	check "asks" slowwait 3 enough 16 questions
	# what is not asked cannot be seen: the limit below counts the time
	capture_stop
	ms=$(($(now_ms) - ms))
	check_num "dropped" $(($(xstat 2 tx_drop_queue_full) - full)) -ge 20
	check "16 frames wait" all_but_16_dropped
	n=$(questions | wc -l)
	note "$n questions in $ms ms"
	check_num "questions" "$n" -ge 16
	check_num "questions" "$n" -le $((34 + 33 * (ms / 3000)))
	# the next ones, too, have waited in vain when there are so many
	check "groups given up" slowwait 20 enough 33 silent_lines
	lines=$(silent_lines)
	n=$(grep -c . <<< "$lines")
	note "$n lines of the log"
	check_num "lines of the log" "$n" -ge 1
	check_eq "groups they are for" "$(sort -u <<< "$lines" | wc -l)" "$n"
	kill -CONT "${OPENSM_PID[1]}"
	check "joined" slowwait 30 members 3 "$(mgid4 239.54.0.1)" "$(mgid4 239.54.0.60)"
	group_leave
}

# The SA reports such a group as deleted, though it is still there.
well_known()
{
	local mgid reads

	mgid=$(mgid4 239.55.0.1)
	LAX=
	partitions "Default=0x7fff, ipoib :" "mgid=ff12:401b::f37:1,mtu=4,rate=3" "ALL=full;"
	opensm_kill
	opensm_start
	check "members" slowwait 15 members_known 1 2 3
	monitors 2
	group_join 3 239.55.0.1
	check "a listener" slowwait 5 sa_is_full_member 3 "$mgid"
	udp_to 2 239.55.0.1 7203 3
	check "a sender" busywait 5000 mcg_is 2 "$mgid" join_state 4
	reads=$(xstat 2 mcast_record_reads)
	group_leave
	check "reported, and read" busywait 5000 xstat_is 2 mcast_record_reads -gt "$reads"
	check "still a sender" stays 1000 mcg_is 2 "$mgid" join_state 4
	monitors_stop
}

# set_of MGID: TIDs of the joins of node 3
set_of()
{
	frames -f mad.tid mad.class=03 mad.method=02 mad.attr=0038 "mc.mgid=$1" "slid=$(lid_hex 3)" |
		sort -u
}

# width_is NODE 1|2: the next training of the link gives it that width, one lane or four
width_is()
{
	ibportstate -C "$(ibdev "$1")" -D 0 1 width "$2" && link_down "$1" &&
		slowwait 5 no_carrier "$1" && link_up "$1" && wait_carrier "$1"
}

# A group of 40 Gb/s, and a link of 25
too_fast()
{
	local mgid

	lax_sm
	mgid=$(mgid4 239.57.0.1)
	check "made" group_create 1 ff12401bffff0000000000000f390001 00000b1b 84 00000000 ffff 87
	check "one lane" width_is 3 1
	klog_mark too_fast
	capture_start too_fast
	group_join 3 239.57.0.1
	check "refused" slowwait 5 mcg_is 3 "$mgid" state backoff
	capture_stop
	check "a message" klog_has "failed for $(mgid_full "$mgid"),.*the SA refuses"
	check_num "joins" "$(set_of "$mgid" | wc -l)" -ge 2
	check_num "joins" "$(set_of "$mgid" | wc -l)" -le $((4 + 4 * SLOW))
	check "no member" sa_is_no_member 3 "$mgid"
	group_leave
	check "four lanes" width_is 3 2
}

# driver_again SCOPE: with a partition whose group has that
driver_again()
{
	local scope=$1

	driver_unload
	# OpenSM knows scopes of single groups only; it puts the P_Key into the MGID
	partitions "Default=0x7fff :" "mgid=ff1$scope:401b::ffff:ffff,mtu=4,rate=3,scope=0x$scope" "ALL=full;"
	opensm_kill
	opensm_start
	driver_load
	nodes_up_in "$scope"
}

scope_works()
{
	local scope=$1

	check "carrier" wait_carrier
	check "ping" wait_ping 2 3
	check "broadcast group" sa_is_full_member 3 "$(mgid4 255.255.255.255 ffff "$scope")"
	check "others follow" slowwait 10 sa_is_full_member 3 "$(mgid4 224.0.0.1 ffff "$scope")"
}

scope_given()
{
	driver_again "$1"
	scope_works "$1"
}

ktap_main "$@"
