#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# P_Key, Q_Key, SL and scope of the link are what the subnet manager says, and
# when it says otherwise the link follows.
#
#	node1 ----- node2		the SM is restarted with other
#	  |           |			partitions for each fixture; the
#	+-+-----------+-+		driver stays loaded but where the
#	|    switch     |		P_Key changes
#	+---------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"values:0x00000b1b:0 U13,U18,U40 the SM's defaults: Q_Key 0xb1b, SL 0"
	"values:0x80005a5a:0 U10,U18,U40,U61 a controlled Q_Key, given while the driver runs"
	"values:0x00001234:3 U13,U18,U40,U42 another Q_Key and SL 3, given while the driver runs"
	"qkey_refused U40 a Q_Key that the HCA refuses is tried again"
	"groups_follow U40,U55 a group joined earlier gets the new values, too"
	"path_mtu U28 a path with a smaller MTU than the link is logged once"
	"other_subnet A12 a packet to another subnet has a GRH with the whole GID, and goes to the router"
	"scope U4,U8,U15,A2 an interface with a broadcast address of scope 5 joins the broadcast group of scope 5"
	"pkey U9,U41,A16,A17 the interface uses the P_Key at index 0, bit 15 set"
	"pkey_isolates A1,A18 a node of another partition receives no frame"
)

setup()
{
	# without QoS all SLs are 0
	OPENSM_CONF="qos TRUE
prefix_routes_file $TESTDIR/prefix-routes"
	# to any other subnet by the first router: node 3
	echo "* *" > "$TESTDIR/prefix-routes"
	partitions "Default=0x7fff, ipoib : ALL=full;"
	fabric_up 3 router=2
	group_join 1 239.9.9.9
}

rejoined()
{
	sa_is_full_member 1 "$1" && sa_is_full_member 2 "$1"
}

# values QKEY SL
values()
{
	local qkey=$1 sl=$2 start

	new_sm "Default=0x7fff, ipoib, Q_Key=$qkey, sl=$sl : ALL=full;"
	check "rejoined" slowwait 15 rejoined "$BROADCAST_MGID"
	check "carrier" wait_carrier
	check_eq "the SM's Q_Key" "$(($(sa_field "$BROADCAST_MGID" qkey)))" $((qkey))
	for node in 1 2; do
		node_ip "$node" neigh flush dev ib0
	done
	start=$(now_ms)
	check "IPv4" slowwait 10 ping_ok 1 "$(ip4 2)"
	check "IPv6" slowwait 10 ping_ok 1 "$(ip6 2)"
	note "to an answer over both: $(($(now_ms) - start)) ms"
	capture_start "values$sl"
	# the other node may take the new values a moment later
	check "unicast" slowwait 10 ping_lossless 1 "$(ip4 2)" 5
	in_node 1 udp_group send ib0 255.255.255.255 9 32 3
	capture_stop
	check "Q_Key" frames_all qkey "${qkey#0x}" op=64 type!=fefe sport!=- dqp!=000000 \
		dqp!=000001 dqp!=fefefe
	check "SL" frames_all sl "$sl" op=64 dqp!=000000 dqp!=000001 dqp!=fefefe
	check "multicast was among them" frame_seen dqp=ffffff dport=9
	check "unicast was among them" frame_seen icmp.type=8
}

# modify_states 128: a change that is none of the QP's state
qkey_refused()
{
	knob_set 2 modify_states 128
	knob_set 2 fail_modify 1
	new_sm "Default=0x7fff, ipoib, Q_Key=0x00004321 : ALL=full;"
	check "refused" slowwait 15 knob_is 2 fail_modify 0
	check "a message" busywait 3000 klog_has "join failed for $(mgid_full "$BROADCAST_MGID"),.*the HCA refuses"
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2
	check "and back" wait_ping 2 1
	knob_set 2 modify_states 0
}

groups_follow()
{
	local mgid

	mgid=$(mgid4 239.9.9.9)
	check "the group is joined anew" slowwait 15 sa_is_full_member 1 "$mgid"
	check_eq "Q_Key" "$(sa_field "$mgid" qkey)" "$(sa_field "$BROADCAST_MGID" qkey)"
	check_eq "SL" "$(sa_field "$mgid" SL)" "$(sa_field "$BROADCAST_MGID" SL)"
}

# path_told NODE: that the path of node 1 there takes 1020
path_told()
{
	ping_ok 1 "$(ip4 "$1")"
	klog | grep -q "path to $(mgid_full "$(port_gid "$1")") has MTU 1020 (the link 2044)"
}

# Node 3 has no link then, of course, but the others know it still.
path_mtu()
{
	check "ping" wait_ping 1 3
	klog_mark path_mtu
	knob_set 3 mtu_cap 3
	new_sm "Default=0x7fff, ipoib : ALL=full;"
	check "told" slowwait 15 path_told 3
	in_node 1 ping -n -q -c 20 -i 0.05 "$(ip4 3)" > /dev/null
	# node 2 may have looked for it, too
	check_num "lines of the log" "$(klog | grep -c 'path to .* has MTU')" -le 2
	knob_set 3 mtu_cap 0
	new_sm "Default=0x7fff, ipoib : ALL=full;"
	check "carrier" wait_carrier
	check "ping" wait_ping 1 3
}

# A neighbour there is one that ARP has found by a link over several subnets.
other_subnet()
{
	local lladdr

	# in groups of two digits, without the last colon
	lladdr=$(sed 's/../&:/g; s/:$//' <<< "80$(lladdr_qpn 3)fec00000000000070000000000000099")
	node_ip 1 neigh replace 10.9.0.77 lladdr "$lladdr" dev ib0 nud permanent
	capture_start other_subnet
	check "in the subnet" ping_lossless 1 "$(ip4 2)" 5
	in_node 1 udp_group send ib0 10.9.0.77 7500 32 10 20000
	check "sent" busywait 5000 frame_seen dport=7500
	capture_stop
	check_eq "GRH, DGID, hop limit, DLID" \
		"$(frames -f grh -f dgid -f hop -f dlid dport=7500 | sort -u)" \
		"1 fec0:0:0:7::99 255 $(lid_hex 3)"
	check "without a GRH in the subnet" frames_all grh 0 icmp.type=8
	node_ip 1 neigh del 10.9.0.77 dev ib0
}

joins_of()
{
	frames -f mc.mgid mad.class=03 mad.method=02 mad.attr=0038 "slid=$(lid_hex "$1")" |
		sort -u
}

joined_mgid()
{
	grep -qx "$2" <<< "$(joins_of "$1")"
}

# The scope is that of the interface's broadcast address (U15: where it is not
# found by search, it is set there). OpenSM makes no group of scope 5, so what
# is asked of it has to do.
scope()
{
	node_ip 2 link set ib0 down
	check "broadcast address" broadcast_scope 2 5
	capture_start scope
	node_ip 2 link set ib0 up
	check "a join of the broadcast-GID of scope 5" slowwait 10 joined_mgid 2 \
		ff15:401b:ffff::ffff:ffff
	check_eq "joins of another scope" "$(joins_of 2 | grep -v '^ff15:')" ""
	check "no carrier without such a group" stays 1000 no_carrier 2
	capture_stop
	node_ip 2 link set ib0 down
	broadcast_scope 2 2
	node_ip 2 link set ib0 up
	check "back in scope 2" wait_carrier 2
	check "ping" wait_ping 1 2
}

pkey()
{
	new_sm "Default=0x7fff : ALL=limited, SELF=full;" \
		"Some=0x1234, indx0, ipoib : 0x$(port_guid 1)=full, 0x$(port_guid 2)=full;" \
		"Else=0x0777, indx0, ipoib : 0x$(port_guid 3)=full;"
	driver_unload
	driver_load
	nodes_up
	check "carrier" wait_carrier
	check_eq "node 1" "$(in_node 1 cat /sys/class/net/ib0/pkey)" 0x9234
	check_eq "node 3" "$(in_node 3 cat /sys/class/net/ib0/pkey)" 0x8777
	check_eq "broadcast address" "$(lladdr_broadcast 1)" 00ffffffff12401b9234000000000000ffffffff
	check "member" sa_is_full_member 1 ff12:401b:9234::ffff:ffff
	check "ping" wait_ping 1 2
	capture_start pkey
	# the other node may take the new values a moment later
	check "unicast" slowwait 10 ping_lossless 1 "$(ip4 2)" 5
	in_node 1 udp_group send ib0 255.255.255.255 9 32 3
	capture_stop
	check "P_Key" frames_all pkey 9234 op=64 dqp!=000000 dqp!=000001 dqp!=fefefe \
		"slid=$(lid_hex 1)"
}

pkey_isolates()
{
	check "IPv4" unanswered 1 "$(ip4 3)"
	check "IPv6" unanswered 3 "$(ip6 1)"
	# no frame of node 1 can be a marker here
	listen 3 0x88b5 1 1500
	in_node 1 raw_frame send ib0 "$(lladdr_broadcast 1)" 0x88b5 cafe 5
	in_node 1 raw_frame send ib0 "$(lladdr 3)" 0x88b5 cafe 5
	wait "$LISTENER" && fail "node 3 heard $(received 3)"
}

ktap_main "$@"
