#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What only an interface on RoCE has: MTU, GIDs and memberships are the Ethernet's,
# and the Ethernet is not to be trusted.
#
#	  ib0    ib0    ib0
#	   |      |      |
#	 rxe1   rxe2   rxe3		on Ethernet ports roc1, roc2, roc3
#	+--+------+------+--+
#	|       bridge      |  <-- frames of our own
#	+-------------------+

FABRIC=rxe
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

GROUP=239.23.23.23

CASES=(
	"tshark_reads U3,U37,U40 tshark decodes the frames with the expected P_Key, QPs and Q_Key"
	"small_mtu:message - an Ethernet MTU of 1500 gives an MTU of 1020 and a message with the reason"
	"small_mtu:ipv4 U1 IPv4 works with an MTU of 1020"
	"small_mtu:ipv6 - IPv6 is refused with a message at an MTU of 1020"
	"small_mtu:grows - the MTU grows with the Ethernet MTU, and IPv6 works"
	"low_mtu:gone B31 an Ethernet MTU below 1280 has no IPv6: no carrier, and a message with the reason"
	"low_mtu:back U54 GID and all memberships come back when the Ethernet MTU grows"
	"low_mtu:flap U54 a short time below 1280 costs no membership"
	"port_down B31 Ethernet port down takes the carrier down, up brings it back"
	"no_address - without the port's link-local address there is no carrier, and a message has the reason"
	"global - a global address is not used, even without another address"
	"announced U46,U47 the link-layer address changes with the port's address, and peers that send no query learn it at once"
	"gid_changes U46,U47,B28,B46 the link-layer address changes with the port's address, not earlier, and peers find it"
	"cached U51 fifty echoes to a known node send no path query"
	"neighbour_lost - a neighbour that stops answering is resolved anew"
	"family - a GID of the other family is not on the link"
	"path_follows - the next frame uses a new MAC address of a neighbour, also after a change back"
	"vlan:own - an interface on a VLAN is a separate link"
	"vlan:longer F49 longer frames of the untagged link do no harm to a VLAN interface with a smaller MTU"
	"vlan:down B31 the interface survives its VLAN being down, and a message has the reason for the missing carrier"
	"vlan:deleted A8 the interface is deleted with its VLAN, and can be made on another VLAN"
	"vlan:mtu - a VLAN with a smaller MTU than its port's has a smaller IPoIB MTU, and a message has the reason"
	"vlan:apart - the VLAN interface drops frames of the untagged link, and the untagged interface drops frames of the VLAN"
	"vlan:tagged - frames of a VLAN interface have the tag"
	"member:broadcast U54 the Ethernet port joins the multicast address of the broadcast group"
	"member:joined U54 joining a group joins its multicast address on the Ethernet port"
	"member:counted U56 the multicast address of a group that a socket has joined, too, stays until both have left"
	"member:down U56 down leaves all multicast addresses, up joins them again"
	"snooping U54 multicast arrives through a switch that snoops"
	"scope:5 U4,U8,U15 nodes with broadcast addresses of scope 5 are a separate link"
	"scope:2 U4,U8,U15 nodes are back on the link of scope 2"
	"privileged U60,U61 an unprivileged program cannot have the link's Q_Key"
	"spoofed:good U40 a forged frame with right values is delivered: the control for the forged frames below"
	"spoofed:qkey=0x0b1b U40,U61 a forged frame with another Q_Key is dropped"
	"spoofed:pkey=0x1234 U41 a forged frame with another P_Key is dropped"
	"spoofed:icrc=bad - a forged frame with a bad CRC is dropped"
	"flood:sgid - frames of ten thousand GIDs do no harm"
	"flood:arp - ARP requests of two thousand nodes that do not exist do no harm"
	"port_deleted A8 deletion of an Ethernet port under traffic deletes the interface"
	"unload A8 unloading the driver leaves all multicast addresses"
)

NEEDS=(
	[vlan:longer]=vlan:own
	[vlan:down]=vlan:own
	[vlan:deleted]=vlan:down
	[vlan:mtu]=vlan:own
	[vlan:apart]=vlan:own
	[vlan:tagged]=vlan:own
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 2 3 || ktap_bail "no ping"
}

# tshark_sent NODE DGID: what tshark says of the frames from that node to there, but for
# the markers of the capture: P_Key, QP and Q_Key. Its versions differ in how they write
# a number.
tshark_sent()
{
	local pkey qpn qkey src dst

	tshark_rows infiniband.bth.opcode=100 infiniband.bth.p_key infiniband.bth.destqp \
		infiniband.deth.q_key ipv6.src ipv6.dst |
		while read -r pkey qpn qkey src dst; do
			[ "$src $dst" = "$(port_gid "$1") $2" ] && [ $((qpn)) -ne $((0xfefefe)) ] &&
				printf '%d %06x %#x\n' "$pkey" "$qpn" "$qkey"
		done | sort -u
}

tshark_reads()
{
	capture_start tshark
	check "ping" ping_lossless 1 "$(ip4 2)" 3
	in_node 1 udp_group send ib0 255.255.255.255 9 32 3
	capture_stop
	# the outer IPv6 header
	TSHARK_OCCURRENCE=f
	check "tshark" tshark_read infiniband.bth.opcode infiniband.bth.p_key infiniband.bth.destqp \
		infiniband.deth.q_key ipv6.src ipv6.dst _ws.malformed
	check_eq "malformed frames" "$(tshark_rows infiniband.bth.opcode=100 _ws.malformed | sort -u)" -
	check_eq "unicast from node 1 to node 2" "$(tshark_sent 1 "$(port_gid 2)")" \
		"65535 $(lladdr_qpn 2) $(group_field qkey)"
	check_eq "broadcast of node 1" "$(tshark_sent 1 "$BROADCAST_MGID")" \
		"65535 ffffff $(group_field qkey)"
	check "hop limit of broadcasts" frames_all hop "$(group_field HopLimit)" \
		"dgid=$BROADCAST_MGID" dport=9
}

small_mtu()
{
	case $1 in
	message)
		group_mtu_set 1024
		check "MTU of node 1" slowwait 5 mtu_is 1 1020
		check "MTU of node 2" slowwait 5 mtu_is 2 1020
		check "a message" busywait 3000 klog_has 'ib0: MTU 1020, .*roc1 has MTU 1500'
		SMALL_LOG=$KLOG_MARK
		;;
	ipv4)
		check "ping" slowwait 5 ping_ok 1 "$(ip4 2)"
		check "max" ping_lossless 1 "$(ip4 2)" 5 -M 'do' -s $((1020 - 28))
		check_not "max + 1" ping_ok 1 "$(ip4 2)" -M 'do' -s $((1020 - 27))
		check "fragments" ping_lossless 1 "$(ip4 2)" 3 -M dont -s 4000
		;;
	ipv6)
		KLOG_MARK=$SMALL_LOG
		check_not "an address" node_ip 1 addr replace "$(ip6 1)/64" dev ib0
		check "ping" unanswered 1 "$(ip6 2)"
		check "a message" klog_has 'ib0: MTU 1020 .*IPv6'
		;;
	grows)
		group_mtu_set 2048
		check "MTU of node 1" slowwait 5 mtu_is 1 2044
		check "MTU of node 2" slowwait 5 mtu_is 2 2044
		for node in 1 2 3; do
			check "address" node_ip "$node" addr replace "$(ip6 "$node")/64" dev ib0 nodad
		done
		check "ping" wait_ping 1 2
		;;
	esac
}

# in_groups NODE: it listens to broadcast, and to what low_mtu has it listen to
in_groups()
{
	is_member "$1" "$BROADCAST_MGID" && is_member "$1" "$(mgid4 "$GROUP")"
}

low_mtu()
{
	local dev

	dev=$(eth 2)
	case $1 in
	gone)
		group_join 2 "$GROUP"
		check "member" slowwait 5 in_groups 2
		check "MTU" ip link set "$dev" mtu 1200
		check "carrier goes" slowwait 5 no_carrier 2
		check "a message" busywait 3000 klog_has 'waiting for a GID: roc2 has IPv6 disabled'
		check "node 1 keeps its own" has_carrier 1
		;;
	back) check "MTU" ip link set "$dev" mtu 2200 ;;
	flap) check "MTU" ip -batch - <<< "link set $dev mtu 1200"$'\n'"link set $dev mtu 2200" ;;
	esac
	[ "$1" != gone ] || return
	check "GID" slowwait 5 lladdr_ends 2 "$(port_gid_hex 2)"
	check "carrier" wait_carrier 2
	check "members" slowwait 5 in_groups 2
	check "MTU" slowwait 5 mtu_is 2 2044
	node_ip 2 addr replace "$(ip6 2)/64" dev ib0 nodad
	check "ping" wait_ping 1 2
	check "ping" wait_ping 2 3
	[ "$1" != flap ] || group_leave
}

port_down()
{
	ip link set "$(eth 2)" down
	check "carrier goes" slowwait 5 no_carrier 2
	check "a message" busywait 3000 klog_has 'ib0: waiting for a GID: roc2 is down'
	check "node 1 keeps its own" has_carrier 1
	check "answer" unanswered 1 "$(ip4 2)"
	ip link set "$(eth 2)" up
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
	check "ping" wait_ping 2 3
}

# The table of the port still has the GID, which alone is of no use.
no_address()
{
	ip addr del "$(port_gid 2)/64" dev "$(eth 2)"
	check "carrier goes" slowwait 5 no_carrier 2
	check "a message" busywait 3000 klog_has 'ib0: waiting for a GID: roc2 has no IPv6 link-local'
	ip addr add "$(port_gid 2)/64" dev "$(eth 2)" nodad
	check "carrier" wait_carrier 2
	check_num "messages" "$(klog | grep -c 'waiting for a GID')" -eq 1
	check "ping" wait_ping 1 2
}

global()
{
	local before

	before=$(lladdr 2)
	ip addr add 2001:db8::4391/64 dev "$(eth 2)" nodad
	check "in the table" slowwait 5 gid_there 2 2001:0db8
	check "not used" stays 500 lladdr_is 2 "$before"
	ip addr del "$(port_gid 2)/64" dev "$(eth 2)"
	check "carrier goes" slowwait 5 no_carrier 2
	check "a message" busywait 3000 klog_has 'roc2 has no IPv6 link-local'
	check "no carrier" stays 500 no_carrier 2
	ip addr add "$(port_gid 2)/64" dev "$(eth 2)" nodad
	check "carrier" wait_carrier 2
	check "the address" lladdr_is 2 "$before"
	ip addr del 2001:db8::4391/64 dev "$(eth 2)"
	check "ping" wait_ping 1 2
}

lladdr_is_not()
{
	[ "$(lladdr "$1")" != "$2" ]
}

# neighbour NODE ADDRESS: the link-layer address that it has for that
neighbour()
{
	node_ip "$1" neigh show to "$2" dev ib0 | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p' | tr -d :
}

neighbour_is()
{
	local got

	got=$(neighbour "$1" "$2")
	[ "$got" = "$3" ] && return
	echo "node $1 has ${got:-nothing} for $2, not $3"
	return 1
}

# announces NODE: node 1, which sends nothing to it, knows its present address
announces()
{
	local address

	for address in "$(ip4 "$1")" "$(ip6 "$1")"; do
		check "$address" within 10000 neighbour_is 1 "$address" "$(lladdr "$1")"
	done
}

announced()
{
	local before address

	before=$(lladdr 2)
	check "ping" wait_ping 1 2
	for address in "$(ip4 2)" "$(ip6 2)"; do
		check "$address is known" neighbour_is 1 "$address" "$before"
		# and is not doubted for half a minute
		node_ip 1 neigh change "$address" dev ib0 nud reachable
	done
	capture_start announced
	ip addr add fe80::4391/64 dev "$(eth 2)" nodad
	ip addr del "$(port_gid 2)/64" dev "$(eth 2)"
	check "a new address" slowwait 5 lladdr_is_not 2 "$before"
	announces 2
	ip addr add "$(port_gid 2)/64" dev "$(eth 2)" nodad
	ip addr del fe80::4391/64 dev "$(eth 2)"
	check "the old address" slowwait 5 lladdr_is 2 "$before"
	announces 2
	capture_stop
	check_eq "what node 1 has asked" "$(frames arp.op=1 "arp.tpa=$(ip4 2)" "arp.spa=$(ip4 1)")" ""
	check "ping" wait_ping 1 2
}

lladdr_is()
{
	[ "$(lladdr "$1")" = "$2" ]
}

gid_changes()
{
	local before

	before=$(lladdr 2)
	doubt 1
	check "ping" wait_ping 1 2
	ip addr add fe80::4391/64 dev "$(eth 2)" nodad
	check "in the table" slowwait 5 gid_there 2 fe80:.*:4391
	check "the one in use is kept" stays 500 lladdr_is 2 "$before"
	ip addr del "$(port_gid 2)/64" dev "$(eth 2)"
	check "a new address" slowwait 5 lladdr_is_not 2 "$before"
	check "that of the port" lladdr_ends 2 fe800000000000000000000000004391
	check "carrier" wait_carrier 2
	check "ping by the new one" wait_ping 1 2 30
	check "back" ip addr add "$(port_gid 2)/64" dev "$(eth 2)" nodad
	ip addr del fe80::4391/64 dev "$(eth 2)"
	check "the old address" slowwait 5 lladdr_ends 2 "$(port_gid_hex 2)"
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2 30
}

# dmac FROM TO: of the driver's path, if it has one
dmac()
{
	awk -v gid="$(mgid_full "$(port_gid "$2")")" '
		$1 == "GID:" { on = $2 == gid }
		on && $1 == "DMAC:" { print $2 }' "$(path_file "$1")"
}

# sends_to MAC: node 1 does what is for node 2, once a frame has made it look
sends_to()
{
	local got

	ping_ok 1 "$(ip4 2)"
	got=$(dmac 1 2)
	[ "$got" = "$1" ] && return
	echo "node 1 sends to ${got:-nobody}, not $1"
	return 1
}

# The Ethernet port's neighbour is changed as by an ARP or ND message of the peer's.
path_follows()
{
	local entry other=52:54:00:09:77:77

	entry=("$(port_gid 2)" dev "$(eth 1)")
	check "ping" wait_ping 1 2
	check_eq "MAC address" "$(dmac 1 2)" "$(eth_mac 2)"
	ip neigh replace "${entry[@]}" lladdr "$other" nud permanent
	check "another" within 5000 sends_to "$other"
	check "answer" unanswered 1 "$(ip4 2)"
	ip neigh replace "${entry[@]}" lladdr "$(eth_mac 2)" nud reachable
	check "the old one" within 5000 sends_to "$(eth_mac 2)"
	check "ping" wait_ping 1 2
}

# What is known is forgotten at first, so that the trace is seen to show a query.
cached()
{
	local gid

	gid=$(port_gid_hex 2)
	paths_trace
	node_ip 1 link set ib0 down
	node_ip 1 link set ib0 up
	node_ip 1 addr replace "$(ip6 1)/64" dev ib0 nodad
	check "ping" wait_ping 1 2
	check_num "queries at first" "$(path_events "$gid" query)" -ge 1
	: > "$TRACING/trace"
	check "ping" ping_lossless 1 "$(ip4 2)" 50
	check_eq "queries" "$(path_events "$gid" query)" 0
	paths_untrace
	check_eq "MAC address" "$(dmac 1 2)" "$(eth_mac 2)"
}

neighbour_lost()
{
	local gid entry

	gid=$(port_gid_hex 2)
	entry=("$(port_gid 2)" dev "$(eth 1)")
	ip neigh replace "${entry[@]}" lladdr "$(eth_mac 2)" nud reachable
	check "ping" wait_ping 1 2
	paths_trace
	check "ping" ping_once 1 "$(ip4 2)"
	check_eq "queries while it is there" "$(path_events "$gid" query)" 0
	check "lost" ip neigh change "${entry[@]}" nud failed
	check "ping" slowwait 5 ping_ok 1 "$(ip4 2)"
	check "a query" busywait 3000 path_event "$gid" "query status=0"
	check "it is found" busywait 3000 path_event "$gid" "answer status=0"
	paths_untrace
}

family()
{
	no_way 00000000000000000000ffff0a090002 97
	check "ping" wait_ping 1 2
}

# apart FROM TO: what FROM broadcasts gets to TO's port, and no further
apart()
{
	local before

	before=$(xstat "$2" rx_drop_other_vlan)
	listen "$2" 0x88b5 1 2000
	in_node "$1" raw_frame send ib0 "$(lladdr_broadcast "$1")" 0x88b5 cafe 3
	! wait "$LISTENER" || fail "node $2 got a frame of node $1: $(received "$2")"
	check_num "frames that node $2 dropped" $(($(xstat "$2" rx_drop_other_vlan) - before)) -ge 3
}

longer_dropped()
{
	[ $(($(xstat 92 rx_drop_other_vlan) - before)) -ge 40 ]
}

# Interfaces on VLAN 100 of nodes 1 and 2, in namespaces 91 and 92.
vlan()
{
	local node before errors

	case $1 in
	own)
		vlan_up 1
		vlan_up 2
		check "carrier" wait_carrier 91 92
		check "ping" slowwait 5 ping_ok 91 10.8.0.2
		check "the untagged link lives" wait_ping 1 2
		;;
	longer)
		ip link set v2 mtu 1500
		check "MTU" slowwait 5 mtu_is 92 1020
		# New receives are as long as it takes now.
		check "down" node_ip 92 link set ib0 down
		check "up" node_ip 92 link set ib0 up
		check "carrier" wait_carrier 92
		before=$(xstat 92 rx_drop_other_vlan) errors=$(xstat 92 rx_completion_errors)
		# Soft-RoCE itself drops what is too long for a receive. Other frames are fewer.
		in_node 1 raw_frame send ib0 "$(lladdr_broadcast 1)" 0x88b5 \
			"$(printf '%03800d' 0)" 50
		check "frames that node 92 dropped" busywait 3000 longer_dropped
		check_eq "receives that failed" "$(xstat 92 rx_completion_errors)" "$errors"
		check_not "the QP is reset" klog_has 'resetting it'
		ip link set v2 mtu 2200
		check "MTU" slowwait 5 mtu_is 92 2044
		check "ping" slowwait 5 ping_ok 91 10.8.0.2
		;;
	down)
		ip link set v2 down
		check "carrier goes" slowwait 5 no_carrier 92
		check "a message" busywait 3000 klog_has 'waiting for a GID: v2 is down'
		ip link set v2 up
		check "carrier" wait_carrier 92
		check "ping" slowwait 5 ping_ok 91 10.8.0.2
		;;
	deleted)
		ip link del v2
		check "gone" no_interface 92
		vlan_add 2
		vlan_interface 2
		check "carrier" wait_carrier 92
		node_ip 91 neigh flush dev ib0
		check "ping" slowwait 5 ping_ok 91 10.8.0.2
		;;
	mtu)
		for node in 1 2; do
			ip link set "v$node" mtu 1500
		done
		check "MTU" slowwait 5 mtu_is 91 1020
		check "MTU" slowwait 5 mtu_is 92 1020
		check "a message" busywait 3000 klog_has 'ib0: MTU 1020, as v1 has MTU 1500'
		check "max" ping_lossless 91 10.8.0.2 5 -M 'do' -s $((1020 - 28))
		check_not "max + 1" ping_ok 91 10.8.0.2 -M 'do' -s $((1020 - 27))
		check_eq "MTU of the untagged link" "$(link_mtu 1)" 2044
		for node in 1 2; do
			ip link set "v$node" mtu 2200
		done
		check "MTU" slowwait 5 mtu_is 91 2044
		check "MTU" slowwait 5 mtu_is 92 2044
		check "ping" ping_lossless 91 10.8.0.2 5 -M 'do' -s $((2044 - 28))
		;;
	apart)
		apart 1 92
		apart 91 2
		;;
	tagged)
		capture_tagged
		check "frames with the tag" frame_seen vlan=100 icmp.type=8 ip.dst=10.8.0.2
		check_eq "VLANs of its frames" "$(frames -f vlan ip.dst=10.8.0.2 | sort -u)" 100
		check_eq "VLANs of the others" "$(frames -f vlan ip.dst=10.9.0.2 | sort -u)" -
		ip link del v1
		ip link del v2
		check "gone" no_interface 91
		;;
	esac
}

capture_tagged()
{
	capture_vlans
	check "ping" ping_lossless 91 10.8.0.2 3
	check "ping" ping_lossless 1 "$(ip4 2)" 3
	capture_stop
}

# users NODE MGID: of the address on the Ethernet port
users()
{
	awk -v dev="$(eth "$1")" -v group="$(mgid_hex "$2")" \
		'$2 == dev && $3 == group { print $4 }' /proc/net/igmp6
}

users_are()
{
	[ "$(users "$1" "$2")" = "$3" ]
}

member()
{
	local mgid group=239.20.20.20

	mgid=$(mgid4 "$group")
	case $1 in
	broadcast)
		check "member" is_member 1 "$BROADCAST_MGID"
		check "MAC address" grep -qi '33:33:ff:ff:ff:ff' <<< "$(ip maddr show dev "$(eth 1)")"
		;;
	joined)
		check "not yet" no_member 2 "$mgid"
		group_join 2 "$group"
		check "member" slowwait 5 is_member 2 "$mgid"
		check "the other one is not" no_member 3 "$mgid"
		group_leave
		check "left" slowwait 5 no_member 2 "$mgid"
		;;
	counted)
		udp_group join "$(eth 2)" "$mgid" > "$TESTDIR/own" &
		BACKGROUND+=($!)
		check "a socket of the port's own" busywait 5000 users_are 2 "$mgid" 1
		group_join 2 "$group"
		check "and the group" slowwait 5 users_are 2 "$mgid" 2
		group_leave
		check "left once" slowwait 5 users_are 2 "$mgid" 1
		background_stop
		check "left by all" slowwait 5 no_member 2 "$mgid"
		;;
	down)
		group_join 2 "$group"
		check "member" slowwait 5 is_member 2 "$mgid"
		node_ip 2 link set ib0 down
		check "left" slowwait 5 no_member 2 "$mgid"
		check "left broadcast" slowwait 5 no_member 2 "$BROADCAST_MGID"
		node_ip 2 link set ib0 up
		check "member" slowwait 5 is_member 2 "$mgid"
		check "member of broadcast" slowwait 5 is_member 2 "$BROADCAST_MGID"
		group_leave
		;;
	esac
}

# A querier that the bridge itself is; it asks by an address of its own.
snoops()
{
	ip -n switch link set br0 type bridge mcast_snooping "$1" mcast_querier "$1" \
		mcast_query_interval 200 mcast_query_response_interval 50 \
		mcast_startup_query_interval 50
}

bridge_knows()
{
	ip netns exec switch bridge mdb show | grep -q "port$1 grp $2"
}

# rejoin NODE: leave all groups, and report them anew; down takes the IPv6 address
rejoin()
{
	node_ip "$1" link set ib0 down
	check "node $1 has left" slowwait 5 no_member "$1" "$BROADCAST_MGID"
	node_ip "$1" link set ib0 up
	node_ip "$1" addr replace "$(ip6 "$1")/64" dev ib0 nodad
	check "node $1 is in the broadcast group" slowwait 5 is_member "$1" "$BROADCAST_MGID"
}

# A join is reported at once: that the bridge knows of it does not hang on answers to
# its own queries, which do not always come within twenty seconds.
snooping()
{
	local mgid node

	in_switch sysctl -qw net.ipv6.conf.br0.accept_dad=0 net.ipv6.conf.br0.disable_ipv6=0
	check "snooping on" snoops 1
	for node in 1 2 3; do
		rejoin "$node"
	done
	group_join 2 239.21.21.21
	mgid=$(mgid4 239.21.21.21)
	check "the bridge knows the member" within 20000 bridge_knows 2 "$mgid"
	check_not "and nobody else" bridge_knows 3 "$mgid"
	check "it knows those of the broadcast group" within 20000 bridge_knows 3 "$BROADCAST_MGID"
	node_ip 1 neigh flush dev ib0
	check "ARP and ND come through" wait_ping 1 2
	udp_listen 2 239.21.21.21 7000 5 20000
	in_node 1 udp_group send ib0 239.21.21.21 7000 100 5 10000
	wait "$LISTENER" || fail "node 2 got $(received 2) of 5"
	check "who only sends is no member" no_member 1 "$mgid"
	group_leave
	snoops 0
	in_switch sysctl -qw net.ipv6.conf.br0.disable_ipv6=1
}

# scope_set NODE SCOPE: down takes the IPv6 address
scope_set()
{
	node_ip "$1" link set ib0 down
	node_ip "$1" link set ib0 broadcast \
		"00:ff:ff:ff:ff:1$2:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff" || fail "node $1"
	node_ip "$1" link set ib0 up
	node_ip "$1" addr replace "$(ip6 "$1")/64" dev ib0 nodad
	check "carrier" wait_carrier "$1"
	check "member" slowwait 5 is_member "$1" "ff1$2:401b:ffff::ffff:ffff"
}

scope()
{
	local group=239.24.24.24 other=$((7 - $1))

	scope_set 1 "$1"
	scope_set 2 "$1"
	group_join 2 "$group"
	check "member" slowwait 5 is_member 2 "$(mgid4 "$group" ffff "$1")"
	check "of no other scope" slowwait 5 no_member 2 "$(mgid4 "$group" ffff "$other")"
	check "of no other scope" slowwait 5 no_member 2 "ff1$other:401b:ffff::ffff:ffff"
	group_leave
	node_ip 1 neigh flush dev ib0
	check "ping" wait_ping 1 2
	case $1 in
	5) check_not "node 3 on its own link" ping_ok 1 "$(ip4 3)" ;;
	2) check "ping" wait_ping 1 3 ;;
	esac
}

# ud_nobody QKEY: one without privileges sends node 2 a frame that nobody takes
ud_nobody()
{
	ud_to 2
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
		ud_verbs "$(ibdev 1)" "${UD_TO[@]}" -q 0xfefefe -d fefe -Q "$1" 2>&1
}

privileged()
{
	local qkey

	qkey=$(group_field qkey)
	ud_to 2
	check "root" ud_send 1 "${UD_TO[@]}" -q 0xfefefe -d fefe -Q "$qkey"
	check "nobody, with another one" ud_nobody $((qkey & 0x7fffffff))
	check_eq "nobody" "$(ud_nobody "$qkey")" "ud_verbs: INIT: Operation not permitted"
}

# by_hand [KEY=VALUE]...: to node 2's QP, as from node 1's port
by_hand()
{
	ip netns exec switch "$LIB_DIR/roce_frame.py" br0 smac="$(eth_mac 1)" dmac="$(eth_mac 2)" \
		sgid="$(port_gid 1)" dgid="$(port_gid 2)" qkey="$(group_field qkey)" \
		dqp="0x$(lladdr_qpn 2)" sqp="0x$(lladdr_qpn 1)" "$@"
}

# The first frame that is delivered is a good one sent after the bad one.
spoofed()
{
	local counter=${1%%=*} before=0

	[[ $counter != [pq]key ]] || before=$(drops 2 "$counter")
	listen 2 0x88b5 1 20000
	[ "$1" = good ] || check "send" by_hand data=88b50000cafe07 "$1"
	check "send" by_hand data=88b50000cafe08
	wait "$LISTENER" || fail "the good one was not delivered"
	check_eq "data" "$(received 2 | word data)" cafe08
	[[ $counter != [pq]key ]] || check_eq "counted" $(($(drops 2 "$counter") - before)) 1
}

# paths NODE: how many the driver has, or looks for
paths()
{
	grep -c GID: "$(path_file "$1")"
}

well()
{
	check "node 2 is well" slowwait 5 ping_lossless 1 "$(ip4 2)" 20
	check "and in IPv6" slowwait 5 ping_lossless 1 "$(ip6 2)" 20
}

# paths_sought: the most that were looked for at a time
paths_sought()
{
	awk '/ipoib_path: .* query status=0$/ && ++n > max { max = n }
		/ipoib_path: .* answer status=/ { n-- }
		END { print max + 0 }' "$TRACING/trace"
}

# Nothing of a frame makes a path: node 2 knows its peers already.
flood_sgid()
{
	local before packets

	check "ping" wait_ping 1 2
	check "ping" wait_ping 3 2
	before=$(paths 2)
	packets=$(counter 2 rx_packets)
	check "send" by_hand data=88b50000cafe08 vary=sgid count=10000
	well
	check_num "received" $(($(counter 2 rx_packets) - packets)) -ge 1000
	check_eq "paths" "$(paths 2)" "$before"
}

# Requests to node 2, the sender to be filled in, until they come so fast that many are looked
# for. An answer is traced a moment after it has made room for another question, so there
# may seem to be a few more than 128.
flood_arp()
{
	local arp="080600000020080014040001" most i

	arp+="00001234$(printf '%040d' 0)$(printf '%040d' 0)0a090002"
	for ((i = 0; i < 5; i++)); do
		paths_trace
		check "send" by_hand data="$arp" vary=arp first=$((i * 2000)) count=2000
		well
		paths_traced 0
		most=$(paths_sought)
		paths_untrace
		[ "$most" -lt 100 ] || break
	done
	check_num "paths looked for at a time" "$most" -ge 100
	check_num "paths looked for at a time" "$most" -le 140
}

flood()
{
	"flood_$1"
}

port_deleted()
{
	background 1 ping -q -f "$(ip4 3)" > /dev/null 2>&1
	background 3 ping -q -f "$(ip6 1)" > /dev/null 2>&1
	ip link del "$(eth 3)"
	check "the interface goes" slowwait 5 no_interface 3
	background_stop
	check "the others live" wait_ping 1 2
}

unload()
{
	group_join 2 239.22.22.22
	check "member" slowwait 5 is_member 2 "$(mgid4 239.22.22.22)"
	check "unload" driver_unload
	check_eq "groups of IPoIB on the Ethernet" "$(grep -E 'ff1.[46]01b' /proc/net/igmp6)" ""
}

ktap_main "$@"
