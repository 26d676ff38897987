#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every frame on the wire has the headers RFC 4391 asks for. One capture, from
# the loading of the driver to the last packet, is read twice: by tshark and by
# ibdump. The group has values of its own, so that none is right by default.
#
#	node1 -- ping, broadcast, multicast --> node2, node3
#	  |                                        |
#	+-+----------------------------------------+-+
#	|           switch, every frame captured     |
#	+--------------------------------------------+

. "$(dirname "$0")/lib.sh"

QKEY=0x5a5a0b1b
SL=2

CASES=(
	"opcode U1,A9 all IPoIB frames are UD sends"
	"encap U23,U25 each payload starts with its EtherType, one of the sent EtherTypes"
	"reserved U24,U62 the reserved field is zero in every frame"
	"pkey U9,U41,A15 all frames carry the P_Key of the link, bit 15 set"
	"qkey:multicast U40,A35 multicast carries the broadcast group's Q_Key"
	"qkey:unicast U40,A15,A35 unicast carries the broadcast group's Q_Key"
	"sl:multicast U13 multicast has the broadcast group's SL"
	"sl:unicast U42,A38 unicast has the SL of the path"
	"multicast_grh U12,U27 multicast has a GRH with the group's TClass, FlowLabel and HopLimit"
	"multicast_dest U2,U27 multicast goes to QP 0xffffff and the group's MLID, or its equivalent on RoCE"
	"dest_qp U37 unicast goes to the QPN of the receiver's address"
	"source_qp U37 all frames come from the QPN of the sender's address"
	"unicast_lid U35,A34 unicast goes to the LID, or the MAC address, of the receiver's port"
	"path_first U35,U39,A34 a PathRecord query precedes the first unicast frame"
	"arp_request U44,U19 ARP requests: hardware type 32, length 20, to the broadcast-GID"
	"arp_reply U37,U44 ARP replies: unicast to the QPN that asked"
	"ns U45 neighbour solicitations: option of length 3 with two zero octets first"
	"na U45 neighbour advertisements: option of length 3 with two zero octets first"
	"limited_broadcast U7 255.255.255.255 goes to the broadcast-GID"
	"directed_broadcast U19 the subnet's broadcast goes to the broadcast-GID"
	"multicast4 U4,U5,U6 224.0.0.1 goes to ff12:401b:ffff::1"
	"multicast6 U4,U5,U6 ff02::1 goes to ff12:601b:ffff::1"
	"tshark_reads U3 tshark reads the capture without malformed frames"
	"tshark_arp U3,U44 tshark decodes the ARP exchange"
	"tshark_nd U3,U45 tshark decodes the ND exchange"
	"tshark_ip U3,U25 tshark decodes the IPv4 and the IPv6 echoes"
	"tshark_ib U3,U40 tshark sees the same InfiniBand headers"
	"no_address - a packet socket that sends without an address gets an error"
	"tap U25,U26 tcpdump records the sent and received frames of an interface, and tshark decodes them"
)
# tshark reads the capture once.
NEEDS=([tshark_arp]=tshark_reads [tshark_nd]=tshark_arp [tshark_ip]=tshark_nd [tshark_ib]=tshark_ip)

setup()
{
	group_wish "Q_Key=$QKEY" "sl=$SL" TClass=3 FlowLabel=5
	fabric_load 3
	subnet_start
	capture_start all
	# QPs that come and go, so that the nodes' QPNs are not all the same
	ud_to 1
	ud_send 2 "${UD_TO[@]}" -q 0xfefefe -Q 1 -d fefe
	ud_send 3 "${UD_TO[@]}" -q 0xfefefe -Q 1 -d fefe -n 2
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	wait_ping 1 2 || ktap_bail "no answer from node 2"
	in_node 2 ping -n -c 2 -i 0.2 10.9.0.1 > /dev/null
	in_node 1 udp_group send ib0 255.255.255.255 9 32 3
	in_node 1 udp_group send ib0 10.9.255.255 10 32 3
	in_node 1 udp_group send ib0 224.0.0.1 11 32 5 50000
	in_node 1 udp_group send ib0 ff02::1 12 32 5 50000
	slowwait 5 frame_seen dport=11 && slowwait 5 frame_seen dport=12
	capture_stop
}

# What IPoIB sent and nothing else: no MADs, and no marker of ours.
ipoib()
{
	"$1" "${@:2}" op=64 dqp!=000000 dqp!=000001 dqp!=fefefe
}

ipoib_all()
{
	check "$1 in $*" frames_all "${@:2}" op=64 dqp!=000000 dqp!=000001 dqp!=fefefe
}

group_value()
{
	printf '%d\n' "$(group_field "$1")"
}

opcode()
{
	check_num "IPoIB frames" "$(ipoib frame_count)" -gt 20
	check_eq "frames to a data QP that are no UD send" \
		"$(frames -f op op!=64 | sort -u)" ""
}

encap()
{
	check_eq "EtherTypes" "$(ipoib frames -f type | sort -u | tr '\n' ' ')" "0800 0806 86dd "
}

reserved()
{
	ipoib_all "reserved" reserved 0000
}

pkey()
{
	ipoib_all "P_Key" pkey ffff
}

qkey()
{
	local dest='dqp!=ffffff'

	[ "$1" = multicast ] && dest=dqp=ffffff
	check "the group's Q_Key" group_wished qkey "$QKEY"
	ipoib_all "Q_Key" qkey "$(printf %08x "$(group_value qkey)")" "$dest"
}

sl()
{
	local dest='dqp!=ffffff'

	[ "$1" = multicast ] && dest=dqp=ffffff
	check "the group's SL" group_wished SL "$SL"
	ipoib_all "SL" sl "$SL" "$dest"
}

multicast_grh()
{
	ipoib_all "GRH" grh 1 dqp=ffffff
	ipoib_all "TClass" tclass "$(group_value TClass)" dqp=ffffff
	ipoib_all "FlowLabel" flow "$(group_value FlowLabel)" dqp=ffffff
	ipoib_all "HopLimit" hop "$(group_value HopLimit)" dqp=ffffff
	ipoib_all "SGID" sgid "$(port_gid 1)" dqp=ffffff "$(from 1)"
}

multicast_dest()
{
	local dest

	dest=$(to_group "$BROADCAST_MGID")
	ipoib_all "MLID" "${dest%%=*}" "${dest#*=}" "dgid=$BROADCAST_MGID"
	ipoib_all "QP" dqp ffffff "dgid=$BROADCAST_MGID"
	check_eq "unicast QPs with a multicast LID" \
		"$(ipoib frames -f "${dest%%=*}" dqp!=ffffff | grep -c '^[c-f3]')" 0
}

dest_qp()
{
	local node

	for node in 1 2; do
		ipoib_all "QP of node $node" dqp "$(lladdr_qpn "$node")" "$(to "$node")"
	done
}

source_qp()
{
	local node

	for node in 1 2; do
		ipoib_all "QP of node $node" sqp "$(lladdr_qpn "$node")" "$(from "$node")"
	done
}

unicast_lid()
{
	local node dest

	for node in 1 2; do
		dest=$(to "$node")
		ipoib_all "address" "${dest%%=*}" "${dest#*=}" "dqp=$(lladdr_qpn "$node")" 'slid!=0000'
	done
}

path_first()
{
	local asked sent

	asked=$(frames -f n mad.class=03 mad.attr=0035 "$(from 1)" \
		"pr.dgid=$(port_gid 2)" | head -n 1)
	sent=$(ipoib frames -f n "$(from 1)" "$(to 2)" | head -n 1)
	check_num "a query" "$asked" -gt 0
	check_num "first unicast frame after it" "$sent" -gt "$asked"
}

arp_request()
{
	ipoib_all "hardware type" arp.htype 32 arp.op=1
	ipoib_all "protocol type" arp.ptype 0800 arp.op=1
	ipoib_all "hardware length" arp.hlen 20 arp.op=1
	ipoib_all "sender" arp.sha "$(lladdr 1)" arp.op=1 "$(from 1)"
	check "one to the broadcast-GID" ipoib frame_seen arp.op=1 "dgid=$BROADCAST_MGID" \
		arp.tpa=10.9.0.2
}

arp_reply()
{
	ipoib_all "hardware type" arp.htype 32 arp.op=2
	ipoib_all "hardware length" arp.hlen 20 arp.op=2
	ipoib_all "sender" arp.sha "$(lladdr 2)" arp.op=2 "$(from 2)"
	ipoib_all "target" arp.tha "$(lladdr 1)" arp.op=2 "$(from 2)" arp.tpa=10.9.0.1
	ipoib_all "QP" dqp "$(lladdr_qpn 1)" arp.op=2 "$(from 2)" arp.tpa=10.9.0.1
}

# option type, then: length 3, two zero octets, the address
nd()
{
	local type=$1 opt=$2 node=$3

	ipoib_all "option" nd.opt "$opt" "icmp6.type=$type" "$(from "$node")"
	ipoib_all "length" nd.optlen 3 "icmp6.type=$type" "$(from "$node")"
	ipoib_all "address" nd.opthex "0000$(lladdr "$node")" "icmp6.type=$type" \
		"$(from "$node")"
}

ns()
{
	nd 135 1 1
}

na()
{
	nd 136 2 2
}

limited_broadcast()
{
	ipoib_all "DGID" dgid "$BROADCAST_MGID" ip.dst=255.255.255.255 dport=9
}

directed_broadcast()
{
	ipoib_all "DGID" dgid "$BROADCAST_MGID" ip.dst=10.9.255.255 dport=10
}

multicast4()
{
	ipoib_all "DGID" dgid ff12:401b:ffff::1 ip.dst=224.0.0.1 dport=11
}

multicast6()
{
	ipoib_all "DGID" dgid ff12:601b:ffff::1 ip6.dst=ff02::1 dport=12
}

tshark_has()
{
	local want=$1 rows

	rows=$(tshark_rows "${@:2}")
	grep -qxF -e "$want" <<< "$rows" && return
	fail "no '$want' among $(sort -u <<< "$rows" | tr '\n' ';' | head -c 600)"
}

tshark_reads()
{
	check "tshark" tshark_read arp.opcode arp.hw.type arp.hw.size arp.src.hw \
		arp.dst.proto_ipv4 icmpv6.type icmpv6.nd.ns.target_address \
		icmpv6.nd.na.target_address icmpv6.opt.length icmp.type ip.src ip.dst \
		ipv6.src ipv6.dst infiniband.lrh.lnh infiniband.lrh.sl infiniband.bth.p_key \
		infiniband.bth.destqp infiniband.bth.opcode infiniband.deth.q_key \
		infiniband.grh.dgid _ws.malformed
	check_eq "malformed frames" "$(tshark_rows infiniband.bth.opcode=100 _ws.malformed |
		sort -u)" -
}

tshark_arp()
{
	tshark_has "32 20 $(lladdr 1) 10.9.0.2" arp.opcode=1 \
		arp.hw.type arp.hw.size arp.src.hw arp.dst.proto_ipv4
	tshark_has "32 20 $(lladdr 2) 10.9.0.1" arp.opcode=2 \
		arp.hw.type arp.hw.size arp.src.hw arp.dst.proto_ipv4
}

tshark_nd()
{
	tshark_has "fd09::2 3" icmpv6.type=135 icmpv6.nd.ns.target_address icmpv6.opt.length
	tshark_has "fd09::2 3" icmpv6.type=136 icmpv6.nd.na.target_address icmpv6.opt.length
}

tshark_ip()
{
	tshark_has "10.9.0.1 10.9.0.2" icmp.type=8 ip.src ip.dst
	tshark_has "10.9.0.2 10.9.0.1" icmp.type=0 ip.src ip.dst
	tshark_has "fd09::1 fd09::2" icmpv6.type=128 ipv6.src ipv6.dst
	tshark_has "fd09::2 fd09::1" icmpv6.type=129 ipv6.src ipv6.dst
}

# versions of tshark differ in how they write a number
tshark_ib()
{
	local lnh sl pkey qpn qkey

	read -r lnh sl pkey qpn qkey < <(tshark_rows arp.opcode=1 infiniband.lrh.lnh \
		infiniband.lrh.sl infiniband.bth.p_key infiniband.bth.destqp \
		infiniband.deth.q_key)
	check_eq "LNH" $((lnh)) 3
	check_eq "SL" $((sl)) "$SL"
	check_eq "P_Key" $((pkey)) 65535
	check_eq "QP" $((qpn)) $((0xffffff))
	check_eq "Q_Key" $((qkey)) "$(group_value qkey)"
	tshark_has "$BROADCAST_MGID" arp.opcode=1 infiniband.grh.dgid
}

# tap_has FILTER: of tshark
tap_has()
{
	tshark -r "$TESTDIR/tap.pcap" -Y "$1" 2> /dev/null | grep -q .
}

SEND_NOWHERE='
import errno, socket, sys
sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
sock.bind(("ib0", 0x88b5))
try:
    sock.send(bytes(100))
except OSError as error:
    sys.exit(error.errno != errno.EINVAL)
sys.exit("it is sent")
'

no_address()
{
	check "invalid" in_node 2 python3 -c "$SEND_NOWHERE"
}

tap()
{
	local file=$TESTDIR/tap.pcap filter

	background 2 tcpdump -i ib0 -U --immediate-mode -w "$file" 2> "$file.err"
	check "tcpdump" busywait 10000 grep -q listening "$file.err"
	node_ip 2 neigh flush dev ib0
	check "IPv4" ping_once 2 "$(ip4 1)"
	check "IPv6" ping_once 2 "$(ip6 1)"
	check "the last one is written" busywait 5000 tap_has "icmpv6.type == 129"
	background_stop
	note "$(tcpdump -r "$file" -c 1 2>&1 | head -n 1)"
	for filter in "arp.opcode == 1" "arp.opcode == 2" "icmp.type == 8" "icmp.type == 0" \
		      "icmpv6.type == 128" "icmpv6.type == 135" "icmpv6.type == 136"; do
		check "$filter" tap_has "$filter"
	done
	check_not "malformed" tap_has _ws.malformed
}

ktap_main "$@"
