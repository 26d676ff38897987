#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# TSO: a HCA that cuts large TCP packets into segments does so in datagram mode, what
# arrives is what was sent, and counters count what is on the wire.
#
#	 node1     node2 <===== TCP =====> node3
#	OpenSM    cuts up,                   |
#	   |      as mlx5                    |
#	+--+--------+------------------------+-+
#	|              switch                  |
#	+--------------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

# Octets of a transfer
OCTETS=3000000

CASES=(
	"offered:0:driver B23 The driver segments on an HCA without TSO"
	"offered:3:driver B23 The driver segments on an HCA that claims checksums and computes none"
	"offered:2:hca B23 The HCA segments if it accepts large sends on any QP"
	"offered:1:hca B23 The HCA segments if it accepts large sends on QPs with IPOIB_UD_LSO only"
	"cut B23 A stream leaves in large sends, and arrives unchanged"
	"wire B23 Segments on the wire are at most as long as the MTU, and have right checksums and lengths"
	"counted B23 Packets and octets are counted as they are on the wire"
	"lossy B23 A stream arrives also with each 40th datagram lost"
	"mtu B23 Segments follow an MTU of the interface that is smaller than the link's"
	"ipv6:arrives B23 IPv6, which the HCA does not segment, arrives"
	"ipv6:cut B23 The driver segments IPv6 with right checksums"
	"udp:cut B23 The driver segments UDP over IPv4 and IPv6 with right checksums"
	"switched B23 ethtool switches TSO off and on"
	"connected B23 TSO is off in connected mode, packets are sent whole, and the setting is kept"
	"failed B23 Failed large sends are counted, and the interface recovers"
	"wrong_sum B23 A datagram with a wrong checksum is dropped by the stack, though the HCA computes checksums"
)
NEEDS=([cut]=offered:1 [wire]=offered:1 [counted]=offered:1 [lossy]=offered:1 [mtu]=offered:1
	[ipv6]=offered:1 [udp]=offered:1 [switched]=offered:1 [connected]=offered:1 [failed]=offered:1)

setup()
{
	fabric_up 3
}

diagnose()
{
	note "$(in_node 2 ethtool -S ib0 | tr -s ' \n' ' ')"
	note "$(klog | tail -n 10)"
}

feature_is()
{
	[[ $(feature "$1" "$2") == "$3"* ]]
}

# Large sends that the HCA of a node has cut up
large_sends()
{
	knob_get "$1" counters | sed -n 's/^hca\.lso //p'
}

# cut_up OP N: a transfer from node 2 to 3 makes so many large sends
cut_up()
{
	local before

	before=$(large_sends 2)
	transfer 2 3 "${3:-$(ip4 3)}"
	check_num "large sends" $(($(large_sends 2) - before)) "$1" "$2"
}

offered()
{
	local hca=off

	[ "$2" = driver ] || hca=on
	hca_remove 2
	knob_set 2 csum "$1"
	hca_add 2
	busywait 10000 netdev 2 > /dev/null || { fail "no interface"; return; }
	nodes_up 2
	check "carrier" wait_carrier 2
	feature_is 2 tx-tcp-segmentation on ||
		fail "tx-tcp-segmentation is $(feature 2 tx-tcp-segmentation)"
	feature_is 2 tx-checksum-ipv4 "$hca" ||
		fail "tx-checksum-ipv4 is $(feature 2 tx-checksum-ipv4)"
	check "ping" slowwait 10 ping_ok 2 "$(ip4 3)"
	check "stream" transfer 2 3 "$(ip4 3)"
}

cut()
{
	# Without TSO there would be one send for each 2000 octets.
	cut_up -gt 20
}

wire()
{
	local args=("${TSHARK_ARGS[@]}") got

	capture_start segments
	transfer 2 3 "$(ip4 3)"
	capture_stop
	TSHARK_ARGS+=(-o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE)
	check "tshark" tshark_read tcp.len tcp.checksum.status ip.checksum.status ip.len tcp.dstport
	TSHARK_ARGS=("${args[@]}")
	# Status 1 is good
	got=$(tshark_rows tcp.dstport=7000 tcp.checksum.status | sort | uniq -c | tr -s ' \n' ' ')
	[[ $got =~ ^\ [0-9]+\ 1\ $ ]] || fail "TCP checksums (count, status): $got"
	got=$(tshark_rows tcp.dstport=7000 ip.checksum.status | sort | uniq -c | tr -s ' \n' ' ')
	[[ $got =~ ^\ [0-9]+\ 1\ $ ]] || fail "IP checksums (count, status): $got"
	got=$(tshark_rows tcp.dstport=7000 ip.len | sort -n | tail -n 1)
	check_num "longest packet" "$got" -le "$(link_mtu 2)"
}

counted()
{
	local mtu before_packets before_bytes packets bytes

	mtu=$(link_mtu 2)
	before_packets=$(counter 2 tx_packets)
	before_bytes=$(counter 2 tx_bytes)
	transfer 2 3 "$(ip4 3)"
	packets=$(($(counter 2 tx_packets) - before_packets))
	bytes=$(($(counter 2 tx_bytes) - before_bytes))
	check_num "packets" "$packets" -ge $((OCTETS / mtu))
	check_num "packets" "$packets" -le $((2 * OCTETS / mtu))
	# Each has headers of 4, 20 and 32 octets.
	check_num "octets" "$bytes" -ge $((OCTETS + 56 * OCTETS / mtu))
	check_num "octets" "$bytes" -le $((OCTETS + OCTETS / 10))
}

lossy()
{
	knob_set 2 drop_every_ud 40
	cut_up -gt 20
	knob_set 2 drop_every_ud 0
}

mtu()
{
	local mtu

	mtu=$(link_mtu 2)
	check "smaller MTU" node_ip 2 link set ib0 mtu 1500
	cut_up -gt 20
	check "MTU" node_ip 2 link set ib0 mtu "$mtu"
}

# driver_cuts: large packets that driver or HCA of node 2 have cut up
driver_cuts()
{
	cm_stat 2 tx_gso_packets
}

# ipv6 arrives | cut
ipv6()
{
	local args=("${TSHARK_ARGS[@]}") before got

	if [ "$1" = arrives ]; then
		cut_up -eq 0 "$(ip6 3)"
		return
	fi
	check "offered" feature_is 2 tx-tcp6-segmentation on
	check "with checksums" feature_is 2 tx-checksum-ipv6 on
	before=$(driver_cuts)
	capture_start ipv6
	cut_up -eq 0 "$(ip6 3)"
	capture_stop
	check_num "large packets" $(($(driver_cuts) - before)) -gt 20
	TSHARK_ARGS+=(-o tcp.check_checksum:TRUE)
	check "tshark" tshark_read tcp.len tcp.checksum.status ipv6.plen tcp.dstport
	TSHARK_ARGS=("${args[@]}")
	# Status 1 is good
	got=$(tshark_rows tcp.dstport=7000 tcp.checksum.status | sort | uniq -c | tr -s ' \n' ' ')
	[[ $got =~ ^\ [0-9]+\ 1\ $ ]] || fail "TCP checksums (count, status): $got"
	got=$(tshark_rows tcp.dstport=7000 ipv6.plen | sort -n | tail -n 1)
	check_num "longest packet" $((got + 40)) -le "$(link_mtu 2)"
}

# datagrams_are FILE N
datagrams_are()
{
	[ "$(wc -l < "$1")" -ge "$2" ]
}

# Eleven datagrams of a packet
udp()
{
	local family to before got=$TESTDIR/udp

	check "offered" feature_is 2 tx-udp-segmentation on
	for family in ip4 ip6; do
		to=$("$family" 3)
		check "ping" slowwait 10 ping_ok 2 "$to"
		background 3 "$LIB_DIR/segments.py" udp_get 7100 "$to" > "$got"
		busywait 60000 grep -q ready "$got" || fail "no receiver"
		before=$(driver_cuts)
		check "send" in_node 2 "$LIB_DIR/segments.py" udp 7100 "$to" 1200 12007
		busywait 60000 datagrams_are "$got" 12 || fail "$(wc -l < "$got") datagrams"
		background_stop
		check_eq "datagrams" "$(awk 'NR > 1 { print $1 }' "$got" | sort -n | uniq -c |
			tr -s ' \n' ' ')" " 1 7 10 1200 "
		check_eq "large packets of $family" $(($(driver_cuts) - before)) 1
	done
}

switched()
{
	check "off" in_node 2 ethtool -K ib0 tso off
	cut_up -eq 0
	check "on" in_node 2 ethtool -K ib0 tso on
	cut_up -gt 20
}

connected()
{
	check "connected mode" set_mode 2 connected
	check "off" feature_is 2 tcp-segmentation-offload off
	is_stock || check "checksums of IPv6 off" feature_is 2 tx-checksum-ipv6 off
	cut_up -eq 0
	check "datagram mode" set_mode 2 datagram
	check "on" feature_is 2 tcp-segmentation-offload on
	cut_up -gt 20
}

failed()
{
	knob_set 2 fail_send 3
	transfer 2 3 "$(ip4 3)"
	check_eq "failed sends left" "$(knob_get 2 fail_send)" 0
	check "errors" counter_is 2 tx_errors -gt 0
	check "ping" slowwait 10 ping_ok 2 "$(ip4 3)"
}

# udp_field NODE NAME: of /proc/net/snmp
udp_field()
{
	# shellcheck disable=SC2016 # of awk
	in_node "$1" awk -v name="$2" '/^Udp:/ && !n { for (i = 2; i <= NF; i++) if ($i == name) n = i; next }
		/^Udp:/ { print $n }' /proc/net/snmp
}

wrong_sums_are()
{
	[ "$(udp_field 2 InCsumErrors)" -ge "$1" ]
}

# Twelve octets of UDP to port 9 of node 2, whose HCA computes sums.
wrong_sum()
{
	local before ip

	offered 1 hca
	check "it does" feature_is 2 rx-checksumming on
	background 2 socat -u UDP4-RECV:9 "OPEN:$TESTDIR/wrong_sum,creat"
	before=$(udp_field 2 InCsumErrors)
	ip=$(ip_udp_hex "$(ip4 3)" "$(ip4 2)")
	check "send" in_node 3 raw_frame send ib0 "$(lladdr 2)" 0x800 "${ip}ffff00000000" 5
	check "dropped" within 3000 wrong_sums_are $((before + 5))
	check_eq "received" "$(cat "$TESTDIR/wrong_sum" 2> /dev/null)" ""
	background_stop
}

# ip_udp_hex FROM TO: the headers of IPv4 and UDP of a datagram of four octets but for the sum of UDP
ip_udp_hex()
{
	python3 -c '
import socket, struct, sys
ip = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 32, 1, 0, 64, 17, 0,
                           socket.inet_aton(sys.argv[1]), socket.inet_aton(sys.argv[2])))
total = sum(struct.unpack(">10H", ip))
struct.pack_into(">H", ip, 10, ~(total + (total >> 16)) & 0xffff)
print((bytes(ip) + struct.pack(">HHH", 4391, 9, 12)).hex())' "$@"
}

ktap_main "$@"
