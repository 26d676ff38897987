#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The subnet manager stops, dies, restarts or hands over; the interfaces keep
# what they have and find again what the new one does not know.
#
#	node1 (SM)   node2 (standby SM)   node3   node4
#	  |            |                    |       |
#	+-+------------+--------------------+-------+-+
#	|                  switch                     |
#	+---------------------------------------------+

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mcast.sh"

MGID=$(mgid4 239.3.3.3)

CASES=(
	"known_paths U51 nodes that know each other still communicate with the SM dead"
	"dead U51 nodes that know each other communicate without loss for as long as the SM is dead"
	"new_peer U35 an unknown node cannot be resolved with the SM dead, and does no harm"
	"dead_join U51 a node that comes up with the SM dead logs that the SA does not answer, not a refusal"
	"restart U17,U54,B29 a restarted SM finds all members again"
	"resolved U35 the unknown node is reached after a restart of the SM"
	"no_loss U51,B30 a restart of the SM loses no packet between nodes that know each other"
	"storm U51 an SM that dies repeatedly before it answers costs no carrier and no packet"
	"no_leave A3,F31 a restarted SM gets no leaves of groups that it has no record of"
	"missing U48,U51 after a restart of the SM a sender asks for a missing group with its next frame, not before"
	"failover U17,U54,B29 the standby takes over with all members when the master dies"
	"new_lids U35,U39 nodes reach each other again after a change of LIDs"
)

setup()
{
	fabric_up 4
	group_join 3 239.3.3.3
	wait_ping 1 3 || ktap_bail "no ping"
	slowwait 5 sa_is_full_member 3 "$MGID" || ktap_bail "no member"
}

known_paths()
{
	opensm_kill
	check "ping" ping_lossless 1 "$(ip4 3)" 100
	check "ping" ping_lossless 3 "$(ip6 1)" 100
}

# ping_for SECONDS FROM ADDRESS: ten times a second
ping_for()
{
	ping_lossless "$2" "$3" $(($1 * 10)) -i 0.1 -w $(($1 * 2 + 10 * SLOW))
}

# SM_DEAD: seconds, more of them in runs by hand
dead()
{
	local other

	opensm_kill
	ping_for "${SM_DEAD:-10}" 3 "$(ip6 1)" > "$TESTDIR/dead" &
	other=$!
	check "IPv4" ping_for "${SM_DEAD:-10}" 1 "$(ip4 3)"
	wait "$other" || fail "IPv6: $(tail -n 3 "$TESTDIR/dead")"
}

# Nodes 3 and 4 have never spoken with each other.
new_peer()
{
	opensm_kill
	node_ip 3 neigh flush dev ib0
	node_ip 4 neigh flush dev ib0
	check "IPv4" unanswered 3 "$(ip4 4)"
	check "IPv6" unanswered 4 "$(ip6 3)"
	check "the others go on" ping_lossless 1 "$(ip4 3)" 20
}

# The kernel of the SM's node answers that it does not know the method.
dead_join()
{
	opensm_kill
	klog_mark dead_join
	node_ip 4 link set ib0 down
	node_ip 4 link set ib0 up
	check "message" slowwait 20 klog_has "ib0: multicast join failed for .*: the SA does not answer"
	check_not "refusal" klog_has "the SA refuses"
}

all_members()
{
	local node

	for node in 1 2 3 4; do
		sa_is_full_member "$node" "$BROADCAST_MGID" || return 1
	done
	sa_is_full_member 3 "$MGID"
}

restart()
{
	opensm_kill
	opensm_start
	check "all are members again" within 20000 all_members
	check "carrier" wait_carrier
}

resolved()
{
	check "ping" wait_ping 3 4
}

no_loss()
{
	local out=$TESTDIR/ping ping

	ip netns exec node1 ping -n -i 0.02 -c 250 -w 30 "$(ip4 3)" > "$out" &
	ping=$!
	opensm_stop
	opensm_start
	wait "$ping"
	check "no loss" ping_complete 250 < "$out" || note "$(tail -n 3 "$out")"
	check "all are members again" within 20000 all_members
}

carrier_losses()
{
	local node

	for node in 1 2 3 4; do
		in_node "$node" cat /sys/class/net/ib0/carrier_down_count
	done | xargs
}

# Where there is no SM any more, the kernel of its node says that it knows no such question.
storm()
{
	local out=$TESTDIR/ping before ping joins last i

	before=$(carrier_losses)
	capture_start storm
	ip netns exec node1 ping -n -i 0.02 "$(ip4 3)" > "$out" &
	ping=$!
	for ((i = 0; i < 5; i++)); do
		# the kernel of the SM's node answers this join: its status is 0x000c
		opensm_kill
		joins=$(xstat 2 mcast_joins)
		group_join 2 "239.3.4.$i"
		check "asked" busywait 5000 xstat_is 2 mcast_joins -gt "$joins"
		group_leave
		opensm_start
		# and this one dies while it is asked who is a member of the broadcast group
		opensm_kill
		opensm_start
		check "all are members again" within 20000 all_members
	done
	last=$(answered_up_to "$out")
	check "answers still come" busywait 5000 answered_beyond "$out" "$last"
	last=$(answered_up_to "$out")
	kill -INT "$ping"
	wait "$ping"
	capture_stop
	check_eq "losses of the carrier" "$(carrier_losses)" "$before"
	check "no packet is lost" no_gap "$out" "$last" || note "$(tail -n 3 "$out")"
	check_num "questions to nobody" "$(frames -f mad.status mad.class=03 mad.attr=0038 mad.status=000c | wc -l)" -gt 0
}

# answered_up_to FILE: number of the last request to which ping has an answer
answered_up_to()
{
	sed -n 's/.* icmp_seq=\([0-9]*\) .*/\1/p' "$1" | tail -n 1
}

answered_beyond()
{
	[ "$(answered_up_to "$1")" -gt "${2:-0}" ]
}

# no_gap FILE LAST: ping had all requests answered up to that one. Others were on their way
# when it was ended.
no_gap()
{
	[ "${2:-0}" -ge 100 ] && ping_complete "$2" < "$1"
}

no_leave()
{
	capture_start no_leave
	opensm_kill
	opensm_start
	check "all are members again" within 20000 all_members
	capture_stop
	# A sender may happen to have been idle for long enough.
	check_eq "leaves" "$(frames -f mc.join mad.class=03 mad.method=15 | grep -cvx 4)" 0
	check_eq "refused ones" "$(grep -c "$INVALID_DELETE" "$TESTDIR/sm1/opensm.log")" 0
	# and this OpenSM does say so of one that it has not heard of
	check "leave a group that node 2 is not in" group_delete 2 "ff12401bffff000000000000""0f030303"
	check "it says so" slowwait 5 grep -q "$INVALID_DELETE" "$TESTDIR/sm1/opensm.log"
}

missing()
{
	local mgid

	mgid=$(mgid4 239.3.3.9)
	udp_to 1 239.3.3.9 7300 1
	check "no group" busywait 5000 mcg_is 1 "$mgid" state absent
	capture_start missing
	opensm_kill
	opensm_start
	check "all are members again" within 20000 all_members
	nap 1
	capture_sync
	check_eq "requests" "$(frame_count mad.class=03 "mc.mgid=$mgid")" 0
	udp_to 1 239.3.3.9 7300 1
	check "a join" busywait 3000 frame_seen mad.class=03 "mc.mgid=$mgid"
	capture_stop
}

INVALID_DELETE='ERR 1B25\|[Ii]nvalid delete request'

master_is()
{
	local line

	line=$(timeout 5 sminfo -C "$(ibdev 3)" -P 1 2>&1)
	[[ $line == *"sm lid $(port_lid "$1") "*MASTER* ]]
}

failover()
{
	# of equal priority: the lower GUID is master
	OPENSM_CONF=$'sminfo_polling_timeout 1000\npolling_retry_number 2'
	opensm_spawn 2
	OPENSM_CONF=
	check "node 1 is master" slowwait 10 master_is 1
	check "node 2 waits" slowwait 15 grep -q STANDBY "$TESTDIR/sm2/opensm.log"
	opensm_kill 1
	check "node 2 is master" slowwait 60 master_is 2
	check "all are members" within 20000 all_members
	check "ping" wait_ping 1 3
	check "ping" wait_ping 4 3
	opensm_kill 2
}

new_lids()
{
	local before

	before=$(port_lid 3)
	# each SM has a cache of its own: this one starts from nothing
	rm -rf "$TESTDIR"/sm*
	opensm_start 4 -r
	note "LID of node 3 was $before, is $(port_lid 3)"
	check "carrier" wait_carrier
	check "ping" wait_ping 1 3
	check "ping" wait_ping 3 4
	check "ping" wait_ping 2 1
}

ktap_main "$@"
