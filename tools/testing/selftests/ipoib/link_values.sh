#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What frames, questions and new groups take from the link they take from its records:
# here no value of the broadcast group is what it would be by default. And messages of
# Neighbour Discovery that other tests do not have.
#
#	node1, node2			GUIDs without the u bit; the broadcast group has
#	  |      |	node3		scope 5, so a hop limit of 255, SL 2, TClass 3 and
#	+-+------+-+  (router)		FlowLabel 5, and a rate that the paths do not have
#	|  switch  +----+
#	+----------+

# mlx4 and mlx5 do not tell of another SM if nothing else changes.
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

SCOPE=5
SL=2
TCLASS=3
FLOW=5
QKEY=0x5a5a0b1b
LINK_MGID=$(mgid4 255.255.255.255 ffff $SCOPE)

CASES=(
	"record F22,U12,U55 the broadcast group has its own SL, TClass, FlowLabel and HopLimit"
	"path_asked F22,U12 a path query has the TClass of the broadcast group, and is for one path"
	"rate:multicast F22,U43 multicast is sent with the rate of the group in the address handle"
	"rate:unicast F22,U43 unicast is sent with the rate of the path in the address handle"
	"new_group:239.60.0.1 F22,U55,A15 an IPv4 group made by the driver has all values of the broadcast group"
	"new_group:ff05-6001 F22,U55,A15 an IPv6 group made by the driver has all values of the broadcast group"
	"own_groups:239.60.0.2:239.60.0.3 F22,A11 two IPv4 groups have two MGIDs and two MLIDs"
	"own_groups:ff05-6002:ff05-6003 F22,A11 two IPv6 groups have two MGIDs and two MLIDs"
	"foreign_listener:ff12401bffff F22,U8 an address of another scope in the stack's list is not joined"
	"foreign_listener:ff15401b8001 F22,U8 an address of another partition in the stack's list is not joined"
	"between_subnets F22,F23,U12,U63 the GRH of unicast to another subnet has TClass, FlowLabel and HopLimit of the path"
	"linklocal F22,U33 the u bit, clear in the port's EUI-64, is set in the link-local address"
	"linklocal_works F22,U33 the link-local address with the u bit answers"
	"solicit F23,U64 router solicitations: option of length 3 with two zero octets first"
	"advert F23,U64 the address in a router advertisement is read behind two zero octets"
	"redirect F23,U64 redirects: the target's address behind two zero octets"
	"renewed:2:7:9:5a5a0b1b U12,U18,F45 the group values follow a new SM with another TClass and FlowLabel, without a request to reregister"
	"renewed:1:7:9:5a5a0b1c U18,U40,F45 the group values follow a new SM with another Q_Key, without a request to reregister"
)

NEEDS=([renewed:1:7:9:5a5a0b1c]=renewed:2:7:9:5a5a0b1b)

setup()
{
	# without QoS all SLs are 0
	OPENSM_CONF="qos TRUE
prefix_routes_file $TESTDIR/prefix-routes"
	# to any other subnet by the first router: node 3
	echo "* *" > "$TESTDIR/prefix-routes"
	link_group "$TCLASS" "$FLOW" "$QKEY"
	fabric_load 3 router=2 guid_base=0x0050530000000000
	subnet_start
	capture_start all
	driver_load
	nodes_up_in "$SCOPE"
	wait_carrier || ktap_bail "no carrier"
	# IPv6 needs groups that the driver makes: a case
	slowwait 10 ping_ok 1 "$(ip4 2)" || ktap_bail "no ping"
}

# link_group TCLASS FLOWLABEL QKEY: the broadcast group of the next SM
link_group()
{
	partitions "Default=0x7fff :" \
		"mgid=ff1$SCOPE:401b::ffff:ffff,mtu=4,rate=3,scope=$SCOPE,sl=$SL,Q_Key=$3,TClass=$1,FlowLabel=$2" \
		"ALL=full;"
}

diagnose()
{
	sa_records 1 -g
}

# link_field KEY: of the broadcast group, as a number
link_field()
{
	echo $(($(sa_field "$LINK_MGID" "$1")))
}

record()
{
	check_eq "SL" "$(link_field SL)" "$SL"
	check_eq "TClass" "$(link_field TClass)" "$TCLASS"
	check_eq "FlowLabel" "$(link_field FlowLabel)" "$FLOW"
	check_num "HopLimit" "$(link_field HopLimit)" -gt 0
	in_node 1 udp_group send ib0 255.255.255.255 7401 32 3
	capture_sync
	check_eq "TClass, FlowLabel, HopLimit of frames" \
		"$(frames -f tclass -f flow -f hop dport=7401 | sort -u)" \
		"$((TCLASS)) $((FLOW)) $(link_field HopLimit)"
}

path_asked()
{
	local query=(mad.class=03 mad.attr=0035 'mad.method!=81' 'mad.method!=92' "$(from 1)")

	capture_sync
	check "TClass" frames_all pr.tclass "$TCLASS" "${query[@]}"
	check "paths" frames_all pr.numb 1 "${query[@]}"
}

# rates NODE KIND: codes of the rates that datagrams of that kind were sent with
rates()
{
	sed -n "s/^port1\.tx_rate\.$2\.\([0-9]*\) .*/\1/p" "$DEBUGFS/$(ibdev "$1")/counters"
}

# rate KIND: the SA's account of the path is that of another program
rate()
{
	local group path

	# the upper two bits are a selector
	group=$(($(link_field rate) & 63))
	path=$(sa_records 1 PR --slid "$(port_lid 1)" --dlid "$(port_lid 2)" | word rate)
	path=$((${path%%[^0-9xa-fA-F]*} & 63))
	note "rate of the group $group, of the path $path"
	[ "$group" -ne "$path" ] || fail "the fixture has one rate for both"
	if [ "$1" = multicast ]; then
		check_eq "rates" "$(rates 1 multicast)" "$group"
	else
		# the marker of captures is sent without one
		check_eq "rates" "$(rates 1 unicast | grep -vx 0)" "$path"
	fi
}

new_group()
{
	local mgid key

	mgid=$(mgid_of "$1")
	mgid=ff1$SCOPE${mgid#ff12}
	group_join 2 "$(group_of "$1")"
	check "a member" slowwait 5 sa_is_full_member 2 "$mgid"
	for key in qkey mtu TClass pkey SL FlowLabel HopLimit rate; do
		check_eq "$key" "$(sa_field "$mgid" "$key")" "$(sa_field "$LINK_MGID" "$key")"
	done
	group_leave
}

# own_groups GROUP GROUP
own_groups()
{
	local group mgid mlids=()

	group_join 2 "$(group_of "$1")" "$(group_of "$2")"
	for group; do
		mgid=$(mgid_of "$group")
		mgid=ff1$SCOPE${mgid#ff12}
		check "a member of $mgid" slowwait 5 sa_is_full_member 2 "$mgid"
		mlids+=("$(sa_field "$mgid" mlid)")
	done
	check_num "MLID" "$((mlids[0]))" -ge $((0xc000))
	check_num "the other" "$((mlids[1]))" -ge $((0xc000))
	[ $((mlids[0])) -ne $((mlids[1])) ] || fail "both have MLID ${mlids[0]}"
	group_leave
}

# foreign_listener HEAD: an MGID that begins with these 12 digits is not of the link
foreign_listener()
{
	local foreign=${1}0000000000000f3c0b0b own=ff1${SCOPE}401bffff0000000000000f3c${1:8:4} listener

	spawn 2 "$LIB_DIR/packet_group.py" ib0 "$foreign" "$own" > "$TESTDIR/listener.$1" &
	listener=$!
	BACKGROUND+=("$listener")
	# the first use of Python is slow
	check "in the list" slowwait 20 grep -qs ready "$TESTDIR/listener.$1"
	check "listed" in_node 2 grep -q "$foreign" /proc/net/dev_mcast
	check "one of the link is joined" slowwait 5 sa_is_full_member 2 "ff1$SCOPE:401b:ffff::f3c:${1:8:4}"
	check "the other is no group here" mcg_absent 2 "${1:0:4}:${1:4:4}:${1:8}::f3c:b0b"
	check "nor at the SA" sa_group_gone "${1:0:4}:${1:4:4}:${1:8}::f3c:b0b"
	kill "$listener"
}

# A neighbour there is one that ARP has found by a link over several subnets. OpenSM
# answers for its router with TClass and FlowLabel 0: it is held, and answered for.
REMOTE=fec00000000000070000000000000099

# The path by the router, with FlowLabel 0x12345, hop limit 63 and TClass 0x21.
path_record()
{
	echo "$(zeros 8)$REMOTE$(port_gid_hex 2)$(lid_hex 3)$(lid_hex 2)0123453f2180ffff000${SL}84839200"
}

REMOTE_ASKED=(mad.class=03 mad.attr=0035 mad.method=01 pr.dgid=fec0:0:0:7::99)

# remote_answered RECORD: each question for the path is answered as it comes, by node 1, for
# ib_sa waits for 1.1 s
remote_answered()
{
	local file lid tid

	file=$(umad_file 1)
	lid=$(port_lid 2)
	frames -f mad.tid -F "$CAPTURE_PID" "${REMOTE_ASKED[@]}" "$(from 2)" |
		while read -r tid; do
			umad_send "$file" "$lid" 1 0 "0103028100000000${tid}0035$1"
		done &
	FOLLOWERS+=($!)
}

# remote_reached: a try
remote_reached()
{
	in_node 2 udp_group send ib0 10.9.0.77 7500 32 1
	within 1000 frame_seen dport=7500
}

between_subnets()
{
	remote_answered "$(zeros 38)$(path_record)"
	kill -STOP "${OPENSM_PID[1]}"
	node_ip 2 neigh replace 10.9.0.77 dev ib0 nud permanent \
		lladdr "$(sed 's/../&:/g; s/:$//' <<< "80$(lladdr_qpn 3)$REMOTE")"
	check "sent" slowwait 30 remote_reached
	kill -CONT "${OPENSM_PID[1]}"
	capture_sync
	check "TClass that is asked for" frames_all pr.tclass "$TCLASS" "${REMOTE_ASKED[@]}"
	check_eq "TClass, FlowLabel and HopLimit" \
		"$(frames -f tclass -f flow -f hop dport=7500 | sort -u)" "$((0x21)) $((0x12345)) 63"
	check "by the router" frames_to 3 dport=7500
	node_ip 2 neigh del 10.9.0.77 dev ib0
}

# The EUI-64, whose u bit is clear, with it
want_linklocal()
{
	local guid

	guid=$(port_guid "$1")
	[ $((16#${guid:0:4} & 0x200)) -eq 0 ] || echo "the u bit is set in $guid"
	printf 'fe80::%x:%x:%x:%x/64\n' $((16#${guid:0:4} + 0x200)) \
		"0x${guid:4:4}" "0x${guid:8:4}" "0x${guid:12:4}"
}

linklocal()
{
	local node

	for node in 1 2; do
		check_eq "node $node" "$(node_ip "$node" -o -6 addr show dev ib0 scope link |
			awk '{ print $4 }')" "$(want_linklocal "$node")"
	done
}

linklocal_works()
{
	local addr

	addr=$(want_linklocal 2)
	check "ping" slowwait 10 ping_ok 1 "${addr%/64}"
}

# sysctls of IPv6 for the interface of a node
ipv6_set()
{
	in_node "$1" sysctl -qw "${@:2}"
}

# A router listens to ff02::2: without one there is no such group to send to.
solicit()
{
	ipv6_set 3 net.ipv6.conf.all.forwarding=1
	check "a router" slowwait 5 sa_is_full_member 3 "ff1$SCOPE:601b:ffff::2"
	ipv6_set 2 net.ipv6.conf.ib0.router_solicitations=1 \
		net.ipv6.conf.ib0.router_solicitation_delay=0
	node_ip 2 link set ib0 down
	node_ip 2 link set ib0 up
	check "sent" slowwait 10 frame_seen icmp6.type=133 nd.opt=1 "$(from 2)"
	check "length" frames_all nd.optlen 3 icmp6.type=133 nd.opt=1
	check "address" frames_all nd.opthex "0000$(lladdr 2)" icmp6.type=133 nd.opt=1 "$(from 2)"
	ipv6_set 2 net.ipv6.conf.ib0.router_solicitations=0
	ipv6_set 3 net.ipv6.conf.all.forwarding=0
	check "carrier" wait_carrier 2
}

# What a daemon on node 3 sends; no daemon knows InfiniBand.
ADVERT='
import socket, struct, sys
sock = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("ib0"))
head = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 600, 0, 0)
sock.sendto(head + bytes((1, 3, 0, 0)) + bytes.fromhex(sys.argv[1]), ("ff02::1", 0))
'

# lladdr_of NODE ADDRESS: the link-layer address of that neighbour
lladdr_of()
{
	node_ip "$1" neigh show to "$2" dev ib0 | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p' | tr -d :
}

lladdr_of_is()
{
	[ "$(lladdr_of "$1" "$2")" = "$3" ]
}

# By an address that is not node 3's own, so that nothing else can have told it.
advert()
{
	local router addr

	router=$(want_linklocal 3)
	router=${router%/64}
	addr=00abcdef$(port_gid_hex 3)
	ipv6_set 2 net.ipv6.conf.ib0.accept_ra=1
	check "send" in_node 3 python3 -c "$ADVERT" "$addr"
	check "believed" busywait 5000 lladdr_of_is 2 "$router" "$addr"
	node_ip 2 -6 route flush proto ra
	node_ip 2 neigh flush dev ib0
}

redirects()
{
	ping_ok 1 fd0a::2
	frame_seen icmp6.type=137 nd.opt=2 "$(from 3)"
}

# Node 3 is the router that node 1 has for node 2, which is on the same link.
redirect()
{
	ipv6_set 3 net.ipv6.conf.all.forwarding=1
	node_ip 3 addr add fd0a::3/64 dev ib0 nodad
	node_ip 2 addr add fd0a::2/64 dev ib0 nodad
	node_ip 1 route add fd0a::/64 via "$(ip6 3)" dev ib0
	check "sent" slowwait 10 redirects
	capture_sync
	check "target" frames_all nd.target fd0a::2 icmp6.type=137 nd.opt=2
	check "length" frames_all nd.optlen 3 icmp6.type=137 nd.opt=2
	check "address" frames_all nd.opthex "0000$(lladdr 2)" icmp6.type=137 nd.opt=2
	ipv6_set 3 net.ipv6.conf.all.forwarding=0
}

# broadcast_by TCLASS FLOWLABEL QKEY: an ARP request of node 3 is sent with these
broadcast_by()
{
	local got

	node_ip 3 neigh flush dev ib0
	capture_start renewed
	ping_ok 3 "$(ip4 2)"
	capture_stop
	got=$(frames -f tclass -f flow -f qkey type=0806 "$(from 3)" "dgid=$LINK_MGID" | sort -u)
	[ "$got" = "$1 $2 $3" ] && return
	echo "got $got"
	return 1
}

# renewed NODE TCLASS FLOWLABEL QKEY: that of the SM
renewed()
{
	OPENSM_CONF=${OPENSM_CONF%no_clients*}$'\nno_clients_rereg TRUE'
	link_group "$2" "$3" "0x$4"
	opensm_kill $((3 - $1))
	opensm_start "$1"
	check "TClass, FlowLabel and Q_Key" slowwait 30 broadcast_by "$2" "$3" "$4"
	check "ping" wait_ping 3 2
	check "and IPv6" slowwait 10 ping_ok 3 "$(ip6 2)"
}

ktap_main "$@"
