#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What arrives need not come from a well-behaved driver: odd frames are delivered
# where the RFC wants it, dropped and counted where not, and never do harm.
#
#	ud_verbs, any frame          ----> node2
#	node1                               |
#	+-+---------------------------------+-+
#	|               switch                |
#	+-------------------------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"plain U25,U26 a frame of another implementation is delivered"
	"reserved:0001 U24,U62 a frame with the reserved field 0x0001 is delivered"
	"reserved:ffff U24,U62 a frame with the reserved field 0xffff is delivered"
	"grh U27 a unicast frame with a GRH is delivered"
	"multicast:1 U27,A19 a multicast frame with a GRH to the broadcast group is delivered as broadcast"
	"multicast:2 U27,A19 a multicast frame with a GRH to a joined group is delivered as multicast"
	"reserved_ip U24 an IPv4 packet under a non-zero reserved field is answered"
	"wrong_qkey U40,F33 a frame with another Q_Key is not delivered"
	"short:0 U23,F33 a message without any octet is dropped"
	"short:1 U23,F33 a message of 1 octet is dropped"
	"short:3 U23,F31,F33 a message of 3 octets, shorter than the header, is dropped"
	"header_only U23 a message of the 4 octets of the header does no harm"
	"short_counted U23 messages dropped as too short are counted"
	"garbage U23 random payload under known EtherTypes does no harm"
	"longest U28 the longest message of the link's MTU is delivered"
	"too_long U28,F31 a longer message, within the MTU of the port, is not truncated and does not stop reception"
	"flood U23 five hundred bad frames do not exhaust the receive ring"
	"odd_flags U36,U62 a neighbour with all flag bits set in its address is reached"
	"odd_flags_arp U36,U62,F31 a neighbour's address in ARP is accepted with all its flag bits"
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	QKEY=$(group_field qkey)
	QPN=0x$(lladdr_qpn 2)
}

# to_node2 HEX [ARG...]: the message, to node 2's UD QP
to_node2()
{
	local data=$1

	shift
	ud_to 2
	ud_send 1 "${UD_TO[@]}" -q "$QPN" -Q "$QKEY" -d "$data" "$@"
}

# sent_is_received COMMAND...: exactly the payload "cafe01", once
sent_is_received()
{
	listen 2 0x88b5 1 20000
	check "send" "$@"
	wait "$LISTENER" || fail "not delivered"
	check_eq "data" "$(received 2 | word data)" cafe01
}

plain()
{
	sent_is_received to_node2 88b50000cafe01
}

reserved()
{
	sent_is_received to_node2 "88b5$1cafe01"
}

grh()
{
	sent_is_received to_node2 88b50000cafe01 -g "$(port_gid 2)"
}

# multicast PKTTYPE: as packet(7) numbers them
multicast()
{
	local mgid=$BROADCAST_MGID

	[ "$1" -eq 1 ] || mgid=$(mgid4 224.0.0.1)
	ud_to_group "$mgid"
	sent_is_received ud_send 1 "${UD_TO[@]}" -q 0xffffff -Q "$QKEY" \
		-d 88b50000cafe01
	check_eq "pkttype" "$(received 2 | word pkttype)" "$1"
}

# An echo request of node 1, made here: what node 2 says to it is for the stack
# of node 1, where a packet socket sees it.
reserved_ip()
{
	local packet=4500002000004000400126c90a0900010a090002
	local icmp=08005a6100000001deadbeef

	listen 1 0x0800 1 20000
	check "send" to_node2 "0800ffff$packet$icmp"
	wait "$LISTENER" || fail "no answer"
	check "the answer" grep -q 'data=4500.*0000....00000001deadbeef' <<< "$(received 1)"
}

# not_delivered COMMAND...: what it sends, while a marker that goes the same way after it is
not_delivered()
{
	listen_marker 2 0x88b5
	check "send" "$@"
	check "send the marker" to_node2 "88b50000$MARK"
	first_is_marker 2
	check "node 2 is well" ping_lossless 1 "$(ip4 2)" 5
}

wrong_qkey()
{
	local before

	before=$(drops 2 qkey)
	not_delivered to_node2 88b50000cafe01 -Q $((QKEY ^ 1))
	check_eq "the port's Q_Key violations" $(($(drops 2 qkey) - before)) 1
}

short()
{
	local data=88b500

	not_delivered to_node2 "${data:0:$((2 * $1))}"
}

header_only()
{
	check "send" to_node2 88b50000
	check "send" to_node2 08000000
	check "send" to_node2 86dd0000
	check "send" to_node2 08060000
	check "node 2 is well" ping_lossless 1 "$(ip4 2)" 5 -i 0.3
}

# all counters of something wrong with what was received
rx_bad()
{
	echo $(($(counter 2 rx_errors) + $(counter 2 rx_dropped)))
}

rx_bad_is()
{
	test "$(rx_bad)" "$@"
}

short_counted()
{
	local before packets

	before=$(rx_bad)
	packets=$(counter 2 rx_packets)
	check "send" to_node2 8888 -n 7
	check "errors" busywait 2000 rx_bad_is -eq $((before + 7))
	# the stack of another node may have sent one meanwhile, but not seven
	check_num "packets" "$(counter 2 rx_packets)" -lt $((packets + 7))
}

garbage()
{
	local type

	for type in 0800 0806 86dd 8035; do
		check "send" to_node2 "${type}0000ffffffffffffffffffffffffffffffffffffffffff" -n 5
		check "send" to_node2 "${type}000045" -n 5
	done
	check "node 2 is well" ping_lossless 1 "$(ip4 2)" 5
	check "and in IPv6" ping_lossless 1 "$(ip6 2)" 5
}

# of_octets N: a message of so many
of_octets()
{
	printf '88b50000%0*d' $((($1 - 4) * 2)) 0
}

longest()
{
	listen 2 0x88b5 1 20000
	check "2048 octets" to_node2 "$(of_octets 2048)"
	wait "$LISTENER" || fail "not delivered"
	check_eq "length" "$(received 2 | word len)" 2044
}

# The group's MTU is 2048, the links' 4096. What is longer than the group's may be dropped,
# but not cut, and what comes after it arrives.
too_long()
{
	local octets

	for octets in 2049 4096; do
		listen_marker 2 0x88b5
		check "$octets octets" to_node2 "$(of_octets "$octets")"
		check "send the marker" to_node2 "88b50000$MARK"
		wait "$LISTENER" || { fail "node 2 does not get the marker"; return; }
		grep -q "data=$MARK" <<< "$(received 2)" ||
			check_eq "length" "$(received 2 | word len)" $((octets - 4))
		check "node 2 is well" ping_lossless 1 "$(ip4 2)" 5
	done
}

flood()
{
	check "send" to_node2 88 -n 500
	check "send" to_node2 88b50000 -n 500
	check "node 2 is well" ping_lossless 1 "$(ip4 2)" 20
}

# the address of node 2 with all bits set that a receiver has to ignore
odd_address()
{
	echo "3f$(lladdr 2 | cut -c 3-)"
}

odd_flags()
{
	node_ip 1 neigh replace "$(ip4 2)" lladdr "$(odd_address | sed 's/../&:/g; s/:$//')" \
		dev ib0 nud permanent
	check "ping" slowwait 5 ping_ok 1 "$(ip4 2)"
	node_ip 1 neigh del "$(ip4 2)" dev ib0
}

odd_flags_arp()
{
	local sha

	sha=$(odd_address)
	node_ip 1 neigh flush dev ib0
	check "an entry" slowwait 5 ping_ok 1 "$(ip4 2)"
	# a reply that nobody asked for updates an entry that there is, but none that has
	# been updated within this time
	in_node 1 sh -c 'echo 0 > /proc/sys/net/ipv4/neigh/ib0/locktime'
	ud_to 1
	check "send" ud_send 2 "${UD_TO[@]}" -q "0x$(lladdr_qpn 1)" -Q "$QKEY" \
		-d "080600000020080014040002${sha}0a090002$(lladdr 1)0a090001"
	check "the neighbour's address" busywait 3000 neighbour_has "$sha"
	check "ping" slowwait 5 ping_ok 1 "$(ip4 2)"
	in_node 1 sh -c 'echo 100 > /proc/sys/net/ipv4/neigh/ib0/locktime'
}

# neighbour_has HEX: it is what node 1 has for node 2
neighbour_has()
{
	local entry

	entry=$(node_ip 1 neigh show "$(ip4 2)" dev ib0)
	echo "$entry"
	[[ ${entry//:/} == *"lladdr $1 "* ]]
}

ktap_main "$@"
