#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Multicast routing: an interface with IFF_ALLMULTI receives all groups of its
# link, those that come later included, and none of another link.
#
#	node1 (sender)   node2 (router)   node3 (listener)
#	  |                 |                |
#	+-+-----------------+----------------+-+
#	|               switch                 |
#	+--------------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

ROUTERS4=$(mgid4 224.0.0.2)
ROUTERS6=$(mgid6 2)

CASES=(
	"lists U57,A25,B44 all groups of the link are joined as NonMember"
	"foreign U57,A25 groups of another scope, signature or partition are not joined"
	"receives:239.40.0.1 U57 frames to an IPv4 group that the router has not joined reach it"
	"receives:ff05-4001 U57 frames to an IPv6 group that the router has not joined reach it"
	"reports:1 U49,U57 the router receives IGMP and MLD reports of other nodes by the broadcast group"
	"reports:2 U49,U57 the router receives IGMP and MLD reports of other nodes by the all-routers groups"
	"appears:239.40.1.1 U57,A25,A26 a new IPv4 group is joined when it appears, without polling"
	"disappears:239.40.1.1 U57,A26 an IPv4 group is left when it is deleted"
	"appears:ff05-4011 U57,A25,A26 a new IPv6 group is joined when it appears, without polling"
	"disappears:ff05-4011 U57,A26 an IPv6 group is left when it is deleted"
	"not_kept:239.40.2.1 U57,A33 the router keeps no IPv4 group alive"
	"not_kept:ff05-4021 U57,A33 the router keeps no IPv6 group alive"
	"remade:239.40.8.1 U57,A26,F44 an IPv4 group made anew with the same MLID is joined again, and received"
	"remade:ff05-4081 U57,A26,F44 an IPv6 group made anew with the same MLID is joined again, and received"
	"listens:239.40.3.1 A27,A3 the router is a full member of an IPv4 group that it listens to, and NonMember afterwards"
	"listens:ff05-4031 A27,A3 the router is a full member of an IPv6 group that it listens to, and NonMember afterwards"
	"promisc U57,B44 IFF_PROMISC joins all groups as IFF_ALLMULTI does"
	"list_refused U57,U58 a list of groups that the HCA refuses to request is requested again, and the failure logged once"
	"new_sm U57 no list is requested before the broadcast group is joined; after a restart of the SM all groups are joined again"
	"flag_goes U57,A33 without the flag only groups with a listener stay"
	"routed U57 smcroute routes from the fabric to a veth and back, for a listener that comes and goes"
)
NEEDS=(
	[disappears:239.40.1.1]=appears:239.40.1.1
	[disappears:ff05-4011]=appears:ff05-4011
)

setup()
{
	# for groups that are not like the link's
	OPENSM_CONF="ipoib_mcgroup_creation_validation FALSE"
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	routes 2 || ktap_bail "no subscription"
}

diagnose()
{
	cat "$(mcg_file 2)"
	sa_records 1 -g
}

# Every group of our link is joined by node 2, somehow
joins_all()
{
	local mgid

	for mgid in $(sa_mgids | grep -E '^ff12:[46]01b:ffff:'); do
		sa_is_member 2 "$mgid" || { echo "not $mgid"; return 1; }
	done
}

lists()
{
	routes_no_more 2
	check "nothing routed" slowwait 10 no_routes 2
	group_join 3 239.40.0.9
	check "a group" slowwait 5 sa_is_full_member 3 "$(mgid4 239.40.0.9)"
	check "subscribed" routes 2
	check "all groups" slowwait 20 joins_all
	check_eq "JoinState" "$(sa_join_state 2 "$(mgid4 239.40.0.9)")" 0x2
	check_eq "of its own" "$(sa_join_state 2 "$(mgid4 224.0.0.1)")" 0x1
	group_leave
}

# none_joined MGID...: by node 2
none_joined()
{
	local mgid

	for mgid; do
		sa_is_no_member 2 "$mgid" || { echo "node 2 is in $mgid"; return 1; }
	done
}

# Told of by a report, and then listed
foreign()
{
	local head mgids=()

	for head in ff15401bffff ff12a01bffff ff12401b8001; do
		check "made" group_create 3 "${head}0000000000000f280a01" 00000b1b 84 00000000
		mgids+=("${head:0:4}:${head:4:4}:${head:8}::f28:a01")
	done
	check "there are such groups" sa_group_exists "${mgids[0]}"
	check "left alone" stays 1000 none_joined "${mgids[@]}"
	routes_no_more 2
	check "nothing routed" slowwait 10 no_routes 2
	node_ip 2 link set ib0 allmulticast on
	check "all groups of the link" slowwait 20 joins_all
	check "left alone" none_joined "${mgids[@]}"
}

# heard NODE COUNT COMMAND...: it makes that many frames from a group arrive there
heard()
{
	local node=$1 count=$2 before

	shift 2
	before=$(counter "$node" multicast)
	"$@"
	busywait 2000 counter_is "$node" multicast -ge $((before + count))
}

receives()
{
	local group mgid

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	group_join 3 "$group"
	check "router's state" slowwait 5 join_state_is 2 "$mgid" 0x2
	udp_to 1 "$group" 7100 1
	busywait 3000 mcg_is 1 "$mgid" state member
	check "by its own tree" slowwait 5 by_own_tree 1 "$group"
	capture_start receives
	check "frames" heard 2 10 udp_to 1 "$group" 7100 10
	capture_stop
	check_eq "group" "$(frames -f dgid dport=7100 | sort -u)" "$mgid"
	group_leave
}

# reports_heard N: node 2 was handed the reports on the groups 239.40.7.N and ff05::407N
reports_heard()
{
	received 2 | grep "proto=0800 .*data=4.\{47\}22.\{6\}.*ef28070$1" &&
		received 2 | grep "proto=86dd .*data=6.\{95\}8f.*ff050\{24\}407$1"
}

# reports_by MGID4 MGID6 N: they were sent to these groups
reports_by()
{
	local from

	from=$(from 3)
	frame_seen "$from" "dgid=$1" igmp.type=34 "igmp.group=239.40.7.$3" &&
		frame_seen "$from" "dgid=$2" icmp6.type=143 "mld.group=ff05::407$3"
}

# routers_appear: node 1 is one, node 2 hears what is for it, and node 3 knows
routers_appear()
{
	group_join 1 224.0.0.2 ff02::2
	check "router's state" slowwait 5 join_state_is 2 "$ROUTERS4" 0x2
	check "of IPv6, too" slowwait 5 join_state_is 2 "$ROUTERS6" 0x2
	# it looks each four seconds
	check "node 3 knows" slowwait 10 xstat_grows 3 tx_via_all_routers 239.40.7.9
	check "of IPv6, too" slowwait 10 xstat_grows 3 tx_via_all_routers ff05::4079
}

# reports N
reports()
{
	local by=("$BROADCAST_MGID" "$BROADCAST_MGID") router=

	check "no all-routers group" sa_group_gone "$ROUTERS4"
	check "nor of IPv6" sa_group_gone "$ROUTERS6"
	if [ "$1" -eq 2 ]; then
		routers_appear
		router=$JOINER
		by=("$ROUTERS4" "$ROUTERS6")
	fi
	capture_start reports
	listen 2 3 1000 90000
	group_join 3 "239.40.7.$1" "ff05::407$1"
	check "node 2 hears them" busywait 5000 reports_heard "$1"
	check "sent as they should be" busywait 3000 reports_by "${by[@]}" "$1"
	capture_stop
	group_leave "$LISTENER"
	group_leave
	[ -z "$router" ] || group_leave "$router"
	check "no routers are left" slowwait 5 sa_group_gone "$ROUTERS6"
}

appears()
{
	local mgid

	mgid=$(mgid_of "$1")
	capture_start appears
	group_join 3 "$(group_of "$1")"
	check "joined" busywait 2000 mcg_is 2 "$mgid" join_state 2
	capture_stop
	check_eq "lists asked for" "$(frame_count mad.class=03 mad.method=12 "$(from 2)")" 0
}

disappears()
{
	group_leave
	check "given up" within 8000 mcg_absent 2 "$(mgid_of "$1")"
}

not_kept()
{
	local mgid

	mgid=$(mgid_of "$1")
	group_join 3 "$(group_of "$1")"
	check "joined" slowwait 5 join_state_is 2 "$mgid" 0x2
	group_leave
	check "gone" slowwait 5 sa_group_gone "$mgid"
}

remade()
{
	local mgid hex

	mgid=$(mgid_of "$1")
	hex=$(mgid_full "$mgid" | tr -d :)
	check "made" group_create 3 "$hex" 00000b1b 84 00000000
	check "router's state" slowwait 5 join_state_is 2 "$mgid" 0x2
	group_remade 2 "$mgid"
	check "router's state again" busywait 20000 join_state_is 2 "$mgid" 0x2
	check "by its own tree" slowwait 5 by_own_tree 1 "$(group_of "$1")"
	check "frames" heard 2 10 udp_to 1 "$(group_of "$1")" 7102 10
	check "deleted" group_delete 3 "$hex"
	check "given up" within 8000 mcg_absent 2 "$mgid"
}

listens()
{
	local group mgid other

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	group_join 3 "$group"
	other=$JOINER
	check "router" slowwait 5 join_state_is 2 "$mgid" 0x2
	group_join 2 "$group"
	check "listener" slowwait 5 join_state_is 2 "$mgid" 0x1
	group_leave
	check "router again" slowwait 5 join_state_is 2 "$mgid" 0x2
	group_leave "$other"
}

promisc()
{
	node_ip 2 link set ib0 allmulticast off
	check "nothing routed" slowwait 10 no_routes 2
	node_ip 2 link set ib0 promisc on
	check "all groups" slowwait 20 joins_all
	node_ip 2 link set ib0 allmulticast on
	node_ip 2 link set ib0 promisc off
}

no_routes()
{
	! grep -q 'users: .*r' "$(mcg_file "$1")"
}

# routes_nothing: the SA has node 2 as NonMember of no group
routes_nothing()
{
	local mgid

	for mgid in $(sa_mgids | grep -E '^ff12:[46]01b:ffff:'); do
		! join_state_is 2 "$mgid" 0x2 || return 1
	done
}

# The subscription stays meanwhile, so the list is what node 2 asks for.
list_refused()
{
	check "subscribed" routes 2
	node_ip 2 link set ib0 allmulticast off
	check "nothing routed" slowwait 10 no_routes 2
	check "and the SA knows" slowwait 10 routes_nothing
	klog_mark list_refused
	knob_set 2 fail_post_mad 3
	node_ip 2 link set ib0 allmulticast on
	check "refused" slowwait 15 knob_is 2 fail_post_mad 0
	check "all groups" slowwait 20 joins_all
	check_eq "lines of the log" "$(klog | grep -c 'cannot list the multicast groups to route')" 1
}

# lists_none: node 2 has requested no list of groups
lists_none()
{
	! frame_seen mad.class=03 mad.method=12 "$(from 2)"
}

new_sm()
{
	group_join 3 239.40.4.1
	check "before" slowwait 5 join_state_is 2 "$(mgid4 239.40.4.1)" 0x2
	opensm_kill
	capture_start new_sm
	check "down" node_ip 2 link set ib0 down
	check "up" node_ip 2 link set ib0 up
	check "no list" stays 2000 lists_none
	capture_stop
	opensm_start
	check "node 3" within 20000 sa_is_full_member 3 "$(mgid4 239.40.4.1)"
	check "router" within 20000 join_state_is 2 "$(mgid4 239.40.4.1)" 0x2
	check "all groups" within 20000 joins_all
	group_leave
}

flag_goes()
{
	group_join 3 239.40.5.1
	check "before" slowwait 5 join_state_is 2 "$(mgid4 239.40.5.1)" 0x2
	node_ip 2 link set ib0 allmulticast off
	check "driver" slowwait 5 no_routes 2
	check "SA" slowwait 5 sa_is_no_member 2 "$(mgid4 239.40.5.1)"
	check "what it listens to" sa_is_full_member 2 "$(mgid4 224.0.0.1)"
	group_leave
	check "subscribed" routes 2
}

# node 2 --- veth --- a namespace "beyond"
routed()
{
	command -v smcrouted > /dev/null || { check_skip "no smcroute"; return; }
	routes_no_more 2
	check "nothing routed" slowwait 10 no_routes 2
	ip netns add beyond
	ip -n node2 link add v0 type veth peer name v0 netns beyond
	node_ip 2 addr add 198.51.100.1/24 dev v0
	node_ip 2 link set v0 up
	ip -n beyond addr add 198.51.100.2/24 dev v0
	ip -n beyond link set lo up
	ip -n beyond link set v0 up
	ip -n beyond route add default via 198.51.100.1
	in_node 2 sysctl -q net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.ib0.rp_filter=0
	printf '%s\n' "mgroup from ib0 group 239.40.6.1" "mroute from ib0 group 239.40.6.1 to v0" \
		"mroute from v0 group 239.40.6.2 to ib0" > "$TESTDIR/smcroute.conf"
	background 2 smcrouted -n -f "$TESTDIR/smcroute.conf" -P "$TESTDIR/smc.pid" -u "$TESTDIR/smc.sock"
	check "the flag" slowwait 10 grep -q 'users: .*r' "$(mcg_file 2)"
	ip netns exec beyond udp_group recv v0 239.40.6.1 7101 5 20000 > "$TESTDIR/beyond" &
	LISTENER=$!
	busywait 3000 grep -q ready "$TESTDIR/beyond"
	in_node 1 udp_group send ib0 239.40.6.1 7101 100 10 100000
	wait "$LISTENER" || fail "beyond got $(sed 1d "$TESTDIR/beyond") of 5"
	udp_listen 3 239.40.6.2 7102 5 20000
	ip netns exec beyond udp_group send v0 239.40.6.2 7102 100 20 100000
	wait "$LISTENER" || fail "node 3 got $(received 3) of 5"
	comes_and_goes
	ip netns del beyond
}

# Without a listener what is routed goes by the broadcast group: another router may want it.
comes_and_goes()
{
	local mgid sender

	mgid=$(mgid4 239.40.6.2)
	check "no listener" slowwait 5 mcg_is 2 "$mgid" state absent
	capture_start routed
	ip netns exec beyond udp_group send v0 239.40.6.2 7103 100 40 100000 &
	sender=$!
	check "by the broadcast group" busywait 3000 frame_seen dport=7103 "dgid=$BROADCAST_MGID"
	group_join 3 239.40.6.2
	wait "$sender"
	capture_stop
	check_eq "groups" "$(frames -f dgid dport=7103 | uniq)" "$BROADCAST_MGID
$mgid"
	group_leave
	check "gone" slowwait 5 sa_group_gone "$mgid"
	check "and known to be" within 8000 mcg_is 2 "$mgid" state absent
}

ktap_main "$@"
