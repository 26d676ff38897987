#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The interface is up only while its port is a full member of the broadcast
# group, whose existence is the administrator's business and not the driver's.
#
#	node1  node2  node3
#	  |      |      |		the SM and its partitions come and
#	+-+------+------+-+		change as the cases want it
#	|      switch     |
#	+-----------------+

. "$(dirname "$0")/lib.sh"

WITHOUT="Default=0x7fff : ALL=full;"
WITH="Default=0x7fff, ipoib : ALL=full;"
LARGER="Default=0x7fff, ipoib, mtu=5 : ALL=full;"

CASES=(
	"no_sm U16,A14 without a subnet manager the interfaces are there and have no carrier"
	"no_group U16,U22,A13 without a broadcast group there is no carrier, and the driver does not make the group"
	"group_made U16,U20 creation of the broadcast group brings the carrier"
	"full_member U17,A14 every port is a full member of the broadcast group"
	"one_member_leaves U17,A3 down leaves the group, and the other members stay"
	"join_mad U17,U54 the join on the wire asks for JoinState 1 with the port's own GID and P_Key"
	"mtu_too_big:refused U11,U20,A14 a port with a smaller MTU than the group's stays out"
	"mtu_too_big:logged U58 a port with a smaller MTU than the group's is logged"
	"mtu_too_big:recovers U20 a port joins once the MTU of the group fits"
	"admitted F22,U11 a port with a smaller MTU stays out also if the SM grants the join"
	"rate_too_big U20,U43 a port slower than the group's rate stays out"
	"group_lost U17,U20,B31 a running port that a new subnet manager does not admit loses the carrier"
	"pkey_removed U21,A16 without its P_Key in the port's table the interface does not run"
	"pkey_readded U21 with the P_Key back it runs again"
)

NEEDS=(
	[no_sm]=setup
	[mtu_too_big:logged]=mtu_too_big:refused
	[mtu_too_big:recovers]=mtu_too_big:logged
	[pkey_readded]=pkey_removed
)

setup()
{
	fabric_load 3 mtu=2048
	capture_start join
	driver_load
	nodes_up
}

all_down()
{
	no_carrier 1 && no_carrier 2 && no_carrier 3
}

no_sm()
{
	check "no carrier for 2 s" stays 2000 all_down
	check "ping" unanswered 1 10.9.0.2
}

no_group()
{
	partitions "$WITHOUT"
	opensm_start
	check "no carrier for 3 s" stays 3000 all_down
	check_eq "groups of IPoIB" "$(sa_mgids | grep -E ':[46]01b:')" ""
}

# in_group: there is an SM with the broadcast group, and all are in it
in_group()
{
	if [ -z "${OPENSM_PID[1]:-}" ] || [ "$(< "$TESTDIR/partitions.conf")" != "$WITH" ]; then
		new_sm "$WITH"
	fi
	wait_carrier || fail "no carrier"
}

group_made()
{
	[ -n "${OPENSM_PID[1]:-}" ] || new_sm "$WITHOUT"
	partitions "$WITH"
	opensm_reread
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2
}

full_member()
{
	local node

	in_group
	for node in 1 2 3; do
		check_eq "JoinState of node $node" "$(sa_join_state "$node" "$BROADCAST_MGID")" 0x1
	done
}

one_member_leaves()
{
	in_group
	node_ip 3 link set ib0 down
	check "node 3 is no member" slowwait 5 sa_is_no_member 3 "$BROADCAST_MGID"
	check "node 2 still is" sa_is_full_member 2 "$BROADCAST_MGID"
	node_ip 3 link set ib0 up
	check "carrier" wait_carrier 3
	check "node 3 is a member again" sa_is_full_member 3 "$BROADCAST_MGID"
}

join_mad()
{
	local node

	in_group
	capture_sync
	for node in 1 2 3; do
		check "a join of node $node" frame_seen mad.class=03 mad.method=02 mad.attr=0038 \
			"mc.mgid=$BROADCAST_MGID" mc.join=1 mc.pkey=ffff \
			"mc.portgid=$(port_gid "$node")"
		check_eq "other JoinStates" "$(frames -f mc.join mad.method=02 mad.attr=0038 \
			"mc.mgid=$BROADCAST_MGID" mc.join!=1)" ""
	done
}

# fresh_start PARTITION...: and the driver loaded after it
fresh_start()
{
	driver_unload
	new_sm "$@"
	driver_load
	nodes_up
}

mtu_too_big()
{
	local line

	case $1 in
	refused)
		fresh_start "$LARGER"
		check "no carrier for 3 s" stays 3000 all_down
		note "the group: $(sa_group "$BROADCAST_MGID")"
		REFUSED_LOG=$(klog)
		;;
	logged)
		line='ib0.*join.*the MTU of the group is too big for the port'
		is_stock && line='ib0.*join'
		check "a line of the log" grep -q "$line" <<< "$REFUSED_LOG"
		;;
	recovers)
		new_sm "$WITH"
		check "carrier" wait_carrier
		check "ping" wait_ping 1 2
		;;
	esac
}

# given_back NODE: it has left the broadcast group since frame AFTER
given_back()
{
	local last

	last=$(frames -f n mad.class=03 mad.method=15 mad.attr=0038 "mc.mgid=$BROADCAST_MGID" \
		"mc.portgid=$(port_gid "$1")" | tail -n 1)
	[ "${last:-0}" -gt "$AFTER" ]
}

# admit NODE: as from the SA, its joins since frame AFTER are granted as they come, for ib_sa
# waits for an answer for three seconds only: with an MTU of 4096, Q_Key 0xb1b, MLID 0xc000
# and a rate of 10 Gb/s. This ends with $TESTDIR/admits.
admit()
{
	local record n tid

	record=$MGID_HEX$(port_gid_hex "$1")00000b1bc0008500ffff83920000000021000000
	touch "$TESTDIR/admits"
	frames -f n -f mad.tid -F "$CAPTURE_PID" mad.class=03 mad.method=02 mad.attr=0038 \
		"mc.mgid=$BROADCAST_MGID" "mc.portgid=$(port_gid "$1")" |
		while read -r n tid && { [ "$n" -le "$AFTER" ] || [ -e "$TESTDIR/admits" ]; }; do
			[ "$n" -le "$AFTER" ] || sa_answer "$1" "$tid" 0038 "$record"
		done &
	FOLLOWERS+=($!)
}

# OpenSM lets no port in that cannot do the MTU. Here it is held, and the join granted.
admitted()
{
	local AFTER MGID_HEX

	in_group
	node_ip 3 link set ib0 down
	check "node 3 is no member" slowwait 5 sa_is_no_member 3 "$BROADCAST_MGID"
	capture_sync
	AFTER=$(frames -f n | tail -n 1)
	MGID_HEX=$(lladdr_broadcast 3)
	MGID_HEX=${MGID_HEX:8}
	klog_mark admitted
	kill -STOP "${OPENSM_PID[1]}"
	node_ip 3 link set ib0 up
	admit 3
	check "a membership that is given back" slowwait 10 given_back 3
	rm "$TESTDIR/admits"
	check "no carrier" no_carrier 3
	check "a line of the log" busywait 3000 refused_for_mtu
	kill -CONT "${OPENSM_PID[1]}"
	check "carrier" wait_carrier 3
}

refused_for_mtu()
{
	klog | grep -q 'ib0.*join.*the MTU of the group is too big for the port'
}

# 300 Gb/s, more than any port here has
FASTER="Default=0x7fff, ipoib, rate=18 : ALL=full;"

rate_too_big()
{
	fresh_start "$FASTER"
	check "no carrier for 3 s" stays 3000 all_down
	note "the group: $(sa_group "$BROADCAST_MGID")"
	new_sm "$WITH"
	check "carrier" wait_carrier
}

group_lost()
{
	in_group
	new_sm "$LARGER"
	check "carrier goes" within 20000 all_down
	new_sm "$WITH"
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2
}

in_partition()
{
	echo "Default=0x7fff : ALL=limited, SELF=full;"
	echo "Some=0x1234, indx0, ipoib : $1;"
}

pkey_removed()
{
	fresh_start "$(in_partition ALL=full)"
	check "carrier with P_Key 0x9234" wait_carrier
	check_eq "P_Key" "$(in_node 2 cat /sys/class/net/ib0/pkey)" 0x9234
	check "ping" wait_ping 1 2
	partitions "$(in_partition "0x$(port_guid 1)=full, 0x$(port_guid 3)=full")"
	opensm_reread
	check "node 2 stops" within 20000 no_carrier 2
	check "and stays so" stays 2000 no_carrier 2
	check "node 1 and 3 go on" wait_ping 1 3
	check "node 2 is unreachable" unanswered 1 "$(ip4 2)"
}

pkey_readded()
{
	partitions "$(in_partition ALL=full)"
	opensm_reread
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
}

ktap_main "$@"
