#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A multicast address of the stack is a full member join of its MGID: the group
# is made like the broadcast group, carries the traffic, and goes with the last
# member.
#
#	node1 (sender)   node2, node3 (receivers)   node4 (hears nothing)
#	  |                 |      |                  |
#	+-+-----------------+------+------------------+-+
#	|                    switch                     |
#	+-----------------------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

GROUP4=239.1.2.3
MGID4=$(mgid4 $GROUP4)
GROUP6=ff05::1234
MGID6=$(mgid6 1234)
TRACING=/sys/kernel/tracing/instances/ipoib-join

CASES=(
	"own_groups U54,A23 all-hosts, all-nodes and the solicited-node groups are joined"
	"join:4 U54,A23,A27 joining an IPv4 group makes its MGID and a full member of the port"
	"join:6 U54,A23,A27 joining an IPv6 group makes its MGID and a full member of the port"
	"join_state:4 U54,A23 the join of an IPv4 group has JoinState 1"
	"join_state:6 U54,A23 the join of an IPv6 group has JoinState 1"
	"like_broadcast:4 U55,A15 the IPv4 group has P_Key, Q_Key, SL, MTU and the rest of the broadcast group"
	"like_broadcast:6 U55,A15 the IPv6 group has P_Key, Q_Key, SL, MTU and the rest of the broadcast group"
	"t_flag U4,U8,A2 every IPoIB MGID is transient and of the broadcast-GID's scope"
	"own_mlid A11 different IP groups have different MGIDs and MLIDs"
	"deliver:4 U2,U54 a datagram to the IPv4 group reaches both members"
	"deliver:6 U2,U54 a datagram to the IPv6 group reaches both members"
	"not_joined U2,U54 a node that has not joined receives no datagram"
	"no_echo B42 a sending member receives its own datagram once, by its own stack"
	"cached U51 fifty packets to a known group and a known node cost no SA query"
	"leave_one U56,A5 when a member of two leaves, the other member stays and receives"
	"leave:4 U56,A5,A24 the IPv4 group is deleted when the last member leaves"
	"leave:6 U56,A5,A24 the IPv6 group is deleted when the last member leaves"
	"rejoin U54,U56 twenty quick joins and leaves end in the last state"
	"churn U54 a program that joins and leaves a group over and over delays no other join"
	"down U56 down leaves all groups"
	"up U54 up joins all groups anew"
	"broadcast_only A20,U19,A28 IPv4 and broadcasts work with space for the broadcast group only"
	"limit U58,U59,A28 a group beyond the limit of the HCA is logged, and harms no other group"
)

NEEDS=(
	[up]=down
)

setup()
{
	fabric_up 4
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 1 3 || ktap_bail "no ping"
}

own_groups()
{
	local mgid

	for mgid in ff12:401b:ffff::1 ff12:601b:ffff::1 "ff12:601b:ffff::$(solicited 2)"; do
		check "$mgid" slowwait 5 is_member 2 "$mgid"
	done
	check_not "full member of somebody else's" is_member 1 "ff12:601b:ffff::$(solicited 2)"
}

# values GROUP and MGID of a family
family()
{
	if [ "$1" = 4 ]; then
		GROUP=$GROUP4 MGID=$MGID4
	else
		GROUP=$GROUP6 MGID=$MGID6
	fi
}

declare -A MEMBER

join()
{
	family "$1"
	check "no such group yet" group_gone "$MGID"
	group_join 2 "$GROUP"
	MEMBER[2.$1]=$JOINER
	check "node 2 is a full member" slowwait 5 is_member 2 "$MGID"
	check "node 1 is none" no_member 1 "$MGID"
	group_join 3 "$GROUP"
	MEMBER[3.$1]=$JOINER
	check "node 3 is one, too" slowwait 5 is_member 3 "$MGID"
}

# joined FAMILY: nodes 2 and 3 are members, since an earlier case or now
joined()
{
	family "$1"
	is_member 2 "$MGID" || join "$1"
}

join_state()
{
	joined "$1"
	check_eq "JoinState" "$(sa_join_state 2 "$MGID")" 0x1
}

like_broadcast()
{
	local key

	joined "$1"
	for key in qkey mtu TClass pkey SL FlowLabel HopLimit rate; do
		check_eq "$key" "$(sa_field "$MGID" "$key")" "$(sa_field "$BROADCAST_MGID" "$key")"
	done
}

t_flag()
{
	check_eq "other groups" "$(sa_mgids | grep -E ':[46]01b:' | grep -v '^ff12:')" ""
	check_num "groups" "$(sa_mgids | grep -cE '^ff12:[46]01b:')" -ge 5
}

own_mlid()
{
	local mlid4 mlid6

	joined 4
	joined 6
	mlid4=$(sa_field "$MGID4" mlid)
	mlid6=$(sa_field "$MGID6" mlid)
	check_num "MLID" "$((mlid4))" -gt $((0xc000))
	[ "$mlid4" != "$mlid6" ] || fail "both have MLID $mlid4"
}

# deliver FAMILY: a first packet may come before the switch knows the tree, so
# the count is of those after one arrived.
deliver()
{
	local two

	joined "$1"
	warm_up "$GROUP" || return
	udp_listen 2 "$GROUP" 7000 20 20000
	two=$LISTENER
	udp_listen 3 "$GROUP" 7000 20 20000
	in_node 1 udp_group send ib0 "$GROUP" 7000 100 20 10000
	wait "$LISTENER" || fail "node 3 got $(received 3) of 20"
	wait "$two" || fail "node 2 got $(received 2) of 20"
}

# warm_up GROUP: until node 3 receives a datagram. The statistic of received multicast would not
# do: mlx5's net device has none.
warm_up()
{
	local end=$(($(now_ms) + 30000))

	while [ "$(now_ms)" -lt "$end" ]; do
		udp_listen 3 "$1" 6999 1 300
		in_node 1 udp_group send ib0 "$1" 6999 100 1
		wait "$LISTENER" && return 0
	done
	fail "nothing to $1 arrives"
	return 1
}

not_joined()
{
	joined 4
	warm_up "$GROUP4"
	listen_marker 4 0x0800
	in_node 1 udp_group send ib0 "$GROUP4" 7000 100 20
	in_node 1 raw_frame send ib0 "$(lladdr 4)" 0x0800 "$MARK"
	first_is_marker 4
}

# IPv6, as IPv4 drops by itself what has come with an own source address.
no_echo()
{
	joined 6
	udp_listen 2 "$GROUP6" 7001 1000 60000
	in_node 2 udp_group send ib0 "$GROUP6" 7001 100 5 20000
	# from node 1: the stack's own copy would be there before what comes by the fabric
	udp_mark 1 "$GROUP6" 7001
	wait "$LISTENER"
	check_eq "copies of 5 datagrams" "$(received 2)" 5
}

cached()
{
	joined 4
	warm_up "$GROUP"
	capture_start cached
	in_node 1 udp_group send ib0 "$GROUP" 7002 100 50
	in_node 1 ping -n -q -c 50 -i 0.01 "$(ip4 2)" > /dev/null
	capture_stop
	check_num "datagrams" "$(frame_count dport=7002)" -eq 50
	check_num "echoes" "$(frame_count icmp.type=8)" -eq 50
	check_eq "questions to the SA" "$(frames mad.class=03)" ""
}

leave_one()
{
	joined 4
	group_leave "${MEMBER[3.4]}"
	check "node 3 has left" slowwait 5 no_member 3 "$MGID"
	check "node 2 has not" is_member 2 "$MGID"
	udp_listen 2 "$GROUP" 7003 5 20000
	in_node 1 udp_group send ib0 "$GROUP" 7003 100 10 20000
	wait "$LISTENER" || fail "node 2 got $(received 2) of 5"
}

leave()
{
	local node

	joined "$1"
	for node in 2 3; do
		kill -0 "${MEMBER[$node.$1]}" 2> /dev/null && group_leave "${MEMBER[$node.$1]}"
	done
	check "node 2 has left" slowwait 5 no_member 2 "$MGID"
	check "node 3 has left" slowwait 5 no_member 3 "$MGID"
	check "the group has gone" slowwait 5 group_gone "$MGID"
}

rejoin()
{
	local i

	for ((i = 0; i < 20; i++)); do
		group_join 4 239.4.4.4
		[ "$i" -eq 19 ] || group_leave
	done
	check "member at last" slowwait 10 is_member 4 "$(mgid4 239.4.4.4)"
	group_leave
	check "gone" slowwait 10 no_member 4 "$(mgid4 239.4.4.4)"
}

# If each change put off the reading of the list to the next tick, it would be read five times a
# second.
churn()
{
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	mkdir -p "$TRACING"
	background 3 udp_group churn ib0 239.1.2.9
	echo 1 > "$TRACING/events/workqueue/workqueue_execute_start/enable"
	nap 2
	echo 0 > "$TRACING/events/workqueue/workqueue_execute_start/enable"
	check_num "readings of the list in 2 s" \
		"$(grep -c 'function ipoib_mcast_interest_work' "$TRACING/trace")" -ge 40
	rmdir "$TRACING"
	group_join 3 239.1.2.8
	check "a member" slowwait 5 sa_is_full_member 3 "$(mgid4 239.1.2.8)"
	group_leave
	background_stop
	check "the group is left" slowwait 5 group_gone "$(mgid4 239.1.2.9)"
}

down()
{
	group_join 3 239.5.5.5
	check "joined" slowwait 5 is_member 3 "$(mgid4 239.5.5.5)"
	node_ip 3 link set ib0 down
	check "left" slowwait 5 no_member 3 "$(mgid4 239.5.5.5)"
	check "left the broadcast group" slowwait 5 no_member 3 "$BROADCAST_MGID"
}

up()
{
	node_ip 3 link set ib0 up
	check "carrier" wait_carrier 3
	check "joined" slowwait 5 is_member 3 "$(mgid4 239.5.5.5)"
	group_leave
}

# What is sent by groups that node 4 has no room for does not reach it: so it has been
# IPv4 over the broadcast group alone.
broadcast_only()
{
	node_ip 4 link set ib0 down
	check "left" slowwait 5 no_member 4 "$BROADCAST_MGID"
	knob_set 4 mcast_limit 1
	node_ip 4 link set ib0 up
	check "carrier" wait_carrier 4
	check "no room for others" slowwait 10 klog_has 'ib0.*\(multicast\|join\|attach\|group\)'
	node_ip 1 neigh flush dev ib0
	node_ip 4 neigh flush dev ib0
	check "node 1 finds it" slowwait 5 ping_ok 1 "$(ip4 4)"
	node_ip 2 neigh flush dev ib0
	check "it finds node 2" slowwait 5 ping_ok 4 "$(ip4 2)"
	udp_listen 4 0.0.0.0 7400 3 20000
	in_node 1 udp_group send ib0 255.255.255.255 7400 32 3
	wait "$LISTENER" || fail "node 4 got $(received 4) of 3 broadcasts"
	udp_listen 1 0.0.0.0 7401 3 20000
	in_node 4 udp_group send ib0 10.9.255.255 7401 32 3
	wait "$LISTENER" || fail "node 1 got $(received 1) of 3 broadcasts"
	knob_set 4 mcast_limit 100000
	node_ip 4 link set ib0 down
	node_ip 4 link set ib0 up
	check "carrier" wait_carrier 4
	check "IPv6 again" slowwait 10 ping_ok 1 "$(ip6 4)"
}

limit()
{
	local line

	line="failed for $(mgid_full "$(mgid4 239.6.6.6)"),.*the HCA refuses"
	! is_stock || line='ib0.*\(multicast\|join\|attach\|group\)'
	# never below what there is, so 0 means no more
	knob_set 4 mcast_limit 0
	klog_mark limit
	group_join 4 239.6.6.6
	check "a line of the log" slowwait 10 klog_has "$line"
	check "ping" wait_ping 1 4
	knob_set 4 mcast_limit 100000
	group_leave
	group_join 4 239.7.7.7
	check "with room again the next one succeeds" slowwait 20 is_member 4 "$(mgid4 239.7.7.7)"
	group_leave
}

ktap_main "$@"
