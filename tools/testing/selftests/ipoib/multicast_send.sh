#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who sends to a group joins it as SendOnlyNonMember if it exists, never makes it,
# and sends to the routers of the link, or to all, as long as nobody listens.
#
#	node1 (sender)   node2, node3 (listeners)   node4 (hears nothing)
#	  |                 |      |                  |
#	+-+-----------------+------+------------------+-+
#	|                    switch                     |
#	+-----------------------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

ROUTERS4=$(mgid4 224.0.0.2)
ROUTERS6=$(mgid6 2)

CASES=(
	"state:239.20.0.1 U48,U50,A21,B45 a sender to an IPv4 group with a listener is SendOnlyNonMember"
	"state:ff05-2001 U48,U50,A21,B45 a sender to an IPv6 group with a listener is SendOnlyNonMember"
	"no_create:239.20.1.1 U48,A4 sending to an IPv4 group without listeners makes no group"
	"no_create:ff05-2011 U48,A4 sending to an IPv6 group without listeners makes no group"
	"rarely:239.20.1.4 U48 a sender asks for a missing group once in two seconds, whatever it sends"
	"to_broadcast:239.20.1.2 U49,A22 IPv4 multicast goes to the broadcast group without a router on the link"
	"to_broadcast:ff0e-2012 U49,A22 IPv6 multicast goes to the broadcast group without a router on the link"
	"to_routers:239.20.1.3 U49,A22 IPv4 multicast goes to the all-routers group with a router on the link"
	"to_routers:ff0e-2013 U49,A22 IPv6 multicast goes to the all-routers group with a router on the link"
	"to_routers:ff03-2014 U49,A22 IPv6 multicast of scope 3 goes to the all-routers group with a router on the link"
	"to_routers:ff04-2015 U49,A22 IPv6 multicast of scope 4 goes to the all-routers group with a router on the link"
	"link_local:224.0.0.77 U49 a datagram to a link-local IPv4 group without listeners is not sent, and counted"
	"link_local:ff02-2077 U49 a datagram to a link-local IPv6 group without listeners is not sent, and counted"
	"elsewhere:ff15401bffff00000000000001010101 F20,U8 a frame to a group of another scope is not sent, joins no group, and is counted"
	"elsewhere:ff12401b800100000000000001010102 F20,U8 a frame to a group of another partition is not sent, joins no group, and is counted"
	"elsewhere:ff124242ffff00000000000001010103 F20,U5 a frame to a group that is neither IPv4 nor IPv6 is not sent, joins no group, and is counted"
	"elsewhere:ff02401bffff00000000000001010104 F20,U4 a frame to a group that is not transient is not sent, joins no group, and is counted"
	"pkey_zero F72 P_Key 0 in the address of a group stands for the P_Key of the link"
	"by_ip:4 F72 an IPv4 packet to a group's address without listeners goes to the group of its IP address"
	"by_ip:6 F72 an IPv6 packet to a group's address without listeners goes to the group of its IP address"
	"by_ip_none F72,U49 a packet to a group's address is not sent if the group of its IP address has no listeners, either"
	"heard_elsewhere F20,U4,U5,U8 a listener does not join groups of another link, either"
	"reports U49,U57 IGMP and MLD reports are sent without a listener"
	"router_alert U49 MLD messages are the only ICMPv6 with a hop-by-hop header that is sent without a listener"
	"appears:239.20.2.1 U53,A6 a new listener gets the IPv4 multicast that went to all nodes, on its own multicast tree"
	"appears:ff05-2021 U53,A6 a new listener gets the IPv6 multicast that went to all nodes, on its own multicast tree"
	"disappears:239.20.3.1 A6,A32 the sender's state and the IPv4 group are deleted with the last listener"
	"disappears:ff05-2031 A6,A32 the sender's state and the IPv6 group are deleted with the last listener"
	"other_mlid:239.20.4.1:239.20.4.2 A26 the sender uses the other MLID of an IPv4 group made anew"
	"other_mlid:ff05-2041:ff05-2042 A26 the sender uses the other MLID of an IPv6 group made anew"
	"remade:239.20.5.1 U50,A26,F44 the sender joins an IPv4 group made anew with the same MLID again"
	"remade:ff05-2051 U50,A26,F44 the sender joins an IPv6 group made anew with the same MLID again"
	"remade_mlid:239.20.5.8:239.20.5.9 U50,A26 frames to a group made anew with another MLID use the broadcast group before the new multicast tree"
	"remade_refused U50,A26 the sender keeps its membership of a group made anew if the HCA refuses to send the query"
	"remade_local:239.20.5.3 U50,U13 the sender uses the other SL of a group made anew, also if the HCA first refuses the address handle"
	"remade_misfit:239.20.5.4 U55,A35 the sender stops sending to a group made anew with another Q_Key"
	"deleted_joining U50,A26 a sender that receives a report of the group's deletion during the join queries once more"
	"unasked U50,A26 a sender sends the SA no message about a group between two frames"
	"asked U50,A26 a sender without reports asks the SA about a group that it sends to"
	"first_packet:4:40 U50 the first packet to an IPv4 group with a listener arrives 39 times of 40"
	"first_packet:6:20 U50 the first packet to an IPv6 group with a listener arrives 19 times of 20"
	"order:239.22.0.1 U50 IPv4 datagrams sent during the join arrive once, in order and without delay"
	"order:ff05-2201 U50 IPv6 datagrams sent during the join arrive once, in order and without delay"
	"to_full:239.23.0.1 U54,A3 a sender to an IPv4 group becomes a listener without a pause in its sends"
	"from_full:239.23.0.1 A3,A31 a listener of an IPv4 group becomes a sender again without a pause in its sends"
	"to_full:ff05-2301 U54,A3 a sender to an IPv6 group becomes a listener without a pause in its sends"
	"from_full:ff05-2301 A3,A31 a listener of an IPv6 group becomes a sender again without a pause in its sends"
	"tshark_reads U48,U50,A21,A35 tshark decodes the join as SendOnlyNonMember, and MGID, MLID and Q_Key of the frames"
	"umcast:239.25.0.1:239.25.0.2 B8 umcast leaves an IPv4 group that user space has joined on the port to user space"
	"umcast:ff05-2501:ff05-2502 B8 umcast leaves an IPv6 group that user space has joined on the port to user space"
)

NEEDS=(
	[from_full:239.23.0.1]=to_full:239.23.0.1
	[from_full:ff05-2301]=to_full:ff05-2301
)

setup()
{
	# for groups that are not like the link's
	OPENSM_CONF="ipoib_mcgroup_creation_validation FALSE"
	fabric_up 4
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 1 3 || ktap_bail "no ping"
}

# sa_knows MGID: hex digits. The SA has that group, and node 1 is in it
sa_knows()
{
	sa_is_member 1 "$(sed 's/..../&:/g; s/:$//' <<< "$1")"
}

# Node 2 makes the group, so that it could be joined. The frame after it shows that
# nothing is still to come.
elsewhere()
{
	local dropped joins pkey=ffff

	[[ $1 != ????????8001* ]] || pkey=8001
	group_create 2 "$1" 00000b1b 84 00000000 "$pkey" || note "there is no such group"
	dropped=$(xstat 1 tx_drop_other_link)
	joins=$(xstat 1 mcast_joins)
	capture_start elsewhere
	check "send" in_node 1 raw_frame send ib0 "00ffffff$1" 0x88b5 cafe 3
	check "the broadcast group" in_node 1 raw_frame send ib0 "$(lladdr_broadcast 1)" 0x88b5 cafe
	capture_stop
	check_eq "frames" "$(frame_count op=64 "$(from 1)" "dgid=$(mgid_short "$1")")" 0
	check_eq "joins" "$(xstat 1 mcast_joins)" "$joins"
	check_eq "dropped" "$(xstat 1 tx_drop_other_link)" $((dropped + 3))
	check_not "a member" sa_knows "$1"
	check_eq "known to the driver" "$(grep -c "$(sed 's/..../&:/g; s/:$//' <<< "$1")" "$(mcg_file 1)")" 0
}

# to_mgid MGID PROTO HEX: three frames of node 1
to_mgid()
{
	capture_start to_mgid
	check "send" in_node 1 raw_frame send ib0 "00ffffff$1" "$2" "$3" 3
	check "the broadcast group" in_node 1 raw_frame send ib0 "$(lladdr_broadcast 1)" 0x88b5 cafe
	capture_stop
}

went_to()
{
	check_eq "frames to $1" "$(frame_count op=64 "$(from 1)" "dgid=$1" "$2")" "$3"
}

pkey_zero()
{
	to_mgid ff12401b000000000000000000000001 0x88b5 cafe
	went_to ff12:401b:ffff::1 type=88b5 3
}

# An address that no group of IP has, as keepalived sends to
by_ip()
{
	if [ "$1" = 4 ]; then
		to_mgid ff12401b00000000000000000fffff01 0x800 "$(ip4_hex e0000001)"
		went_to ff12:401b:ffff::1 ip.dst=224.0.0.1 3
	else
		to_mgid ff12601b000000000000fffffffffff1 0x86dd "$(ip6_hex ff020000000000000000000000000001)"
		went_to ff12:601b:ffff::1 ip6.dst=ff02::1 3
	fi
}

by_ip_none()
{
	local dropped

	dropped=$(xstat 1 tx_drop_no_listener)
	to_mgid ff12601b000000000000fffffffffff2 0x86dd "$(ip6_hex ff020000000000000000000000004399)"
	check "dropped" within 3000 xstat_is 1 tx_drop_no_listener -eq $((dropped + 3))
}

# ip4_hex DESTINATION, ip6_hex DESTINATION: a datagram that has no more than its header
ip4_hex()
{
	printf '4500001400000000013b00000a090001%s' "$1"
}

ip6_hex()
{
	printf '6000000000003b01fd090000000000000000000000000001%s' "$1"
}

# mgid_short HEX: as inet_ntop writes it
mgid_short()
{
	python3 -c 'import socket, sys; print(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(sys.argv[1])))' "$1"
}

# A packet socket listens to link-layer addresses as they are. The last of them is one of
# the link: when that has been joined the others have been looked at.
heard_elsewhere()
{
	local mgid last=ff12401bffff00000000000001010105 log=$TESTDIR/packet

	background 1 "$LIB_DIR/packet_group.py" ib0 ff15401bffff00000000000001010101 \
		ff12401b800100000000000001010102 ff124242ffff00000000000001010103 \
		ff02401bffff00000000000001010104 "$last" > "$log"
	background_ready "$log" || fail "not ready"
	check "that of the link" slowwait 5 sa_knows "$last"
	for mgid in ff15401bffff00000000000001010101 ff12401b800100000000000001010102 \
		ff124242ffff00000000000001010103 ff02401bffff00000000000001010104; do
		check_not "joined" sa_knows "$mgid"
		check_eq "known to the driver" \
			"$(grep -c "$(sed 's/..../&:/g; s/:$//' <<< "$mgid")" "$(mcg_file 1)")" 0
	done
	background_stop
}

diagnose()
{
	cat "$(mcg_file 1)"
	sa_records 1 -g
}

state()
{
	local group mgid

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	group_join 2 "$group"
	check "a listener" slowwait 5 sa_is_full_member 2 "$mgid"
	udp_to 1 "$group" 7000 1
	check "driver's state" busywait 5000 mcg_is 1 "$mgid" state member
	check_eq "JoinState" "$(sa_join_state 1 "$mgid")" 0x4
	check_eq "and in debugfs" "$(mcg 1 "$mgid" join_state)" 4
	check_eq "send only" "$(mcg 1 "$mgid" send_only)" yes
	group_leave
}

no_create()
{
	local mgid

	mgid=$(mgid_of "$1")
	udp_to 1 "$(group_of "$1")" 7001 5
	check "driver's state" busywait 5000 mcg_is 1 "$mgid" state absent
	udp_to 1 "$(group_of "$1")" 7001 5
	check "no group" sa_group_gone "$mgid"
}

to_broadcast()
{
	local before

	check "no routers" sa_group_gone "$ROUTERS4"
	before=$(xstat 1 tx_via_broadcast)
	capture_start broadcast
	udp_to 1 "$(group_of "$1")" 7002 10
	capture_stop
	check_eq "groups it was sent to" "$(frames -f dgid dport=7002 | sort -u)" "$BROADCAST_MGID"
	check_eq "datagrams" "$(frame_count dport=7002)" 10
	check_num "counted" "$(xstat 1 tx_via_broadcast)" -ge $((before + 10))
}

to_routers()
{
	local group mgid routers=224.0.0.2 rmgid=$ROUTERS4

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	[[ $1 != *-* ]] || routers=ff02::2 rmgid=$ROUTERS6
	monitors 1
	group_join 3 "$routers"
	check "a router" slowwait 5 sa_is_full_member 3 "$rmgid"
	udp_to 1 "$group" 7003 5
	check "the driver knows" busywait 5000 mcg_is 1 "$rmgid" state member
	# the tree of the routers is used when it has settled
	slowwait 3 xstat_grows 1 tx_via_all_routers "$group"
	capture_start routers
	udp_to 1 "$group" 7004 10
	capture_stop
	check_eq "groups it was sent to" "$(frames -f dgid dport=7004 | sort -u)" "$rmgid"
	check_eq "datagrams" "$(frame_count dport=7004)" 10
	check "no such group" sa_group_gone "$mgid"
	group_leave
	check "the routers are gone" within 8000 mcg_is 1 "$rmgid" state absent
}

link_local()
{
	local group mgid before

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	udp_to 1 "$group" 7005 1
	check "driver's state" busywait 5000 mcg_is 1 "$mgid" state absent
	before=$(xstat 1 tx_drop_no_listener)
	capture_start local
	udp_to 1 "$group" 7005 10
	check "dropped and counted" busywait 3000 xstat_is 1 tx_drop_no_listener -ge $((before + 10))
	capture_stop
	check_eq "sent" "$(frame_count dport=7005)" 0
	check "no group" sa_group_gone "$mgid"
}

# 224.0.0.22 and ff02::16 are where reports go; nobody here is a member
reports()
{
	check "no listener" sa_group_gone "$(mgid4 224.0.0.22)"
	check "nor of MLD's" sa_group_gone "$(mgid6 16)"
	capture_start reports
	group_join 1 239.20.9.9 ff05::2099
	check "both reports" busywait 5000 reports_seen
	group_leave
	capture_stop
}

reports_seen()
{
	local where=("$(from 1)" "dgid=$BROADCAST_MGID")

	frame_seen "${where[@]}" igmp.type=34 igmp.group=239.20.9.9 &&
		frame_seen "${where[@]}" icmp6.type=143 mld.group=ff05::2099
}

# An ICMPv6 message of each type to the group, behind a hop-by-hop header with a router alert
SEND_ALERTS='
import socket, sys
sock = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
sock.setsockopt(socket.IPPROTO_IPV6, 54, bytes([0, 0, 5, 2, 0, 0, 1, 0]))
for number in sys.argv[2:]:
    sock.sendto(bytes([int(number)]) + bytes(23),
                (sys.argv[1], 0, 0, socket.if_nametoindex("ib0")))
'

router_alert()
{
	local before

	udp_to 1 ff02::2078 7005 1
	check "driver's state" busywait 5000 mcg_is 1 "$(mgid6 2078)" state absent
	before=$(xstat 1 tx_drop_no_listener)
	capture_start alerts
	check "send" in_node 1 python3 -c "$SEND_ALERTS" ff02::2078 128 129 130 131 132 133 142 144
	check "dropped and counted" busywait 3000 xstat_is 1 tx_drop_no_listener -ge $((before + 5))
	capture_stop
	check_eq "sent" "$(frames "$(from 1)" ip6.dst=ff02::2078 -f icmp6.type -f dgid)" \
		"$(printf "%d $BROADCAST_MGID\n" 130 131 132)"
}

# in_order PORT: the capture has all datagrams to it from number 0 on, once each
in_order()
{
	udp_frames "$1" -f number | awk '$1 != NR - 1 { exit 1 } END { if (!NR) exit 1 }'
}

appears()
{
	local group mgid sender

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	monitors 1
	capture_start appears
	background 1 udp_group send ib0 "$group" 7006 100 60000 10000
	sender=${BACKGROUND[-1]}
	check "sent to all" busywait 5000 frame_seen dport=7006 dgid="$BROADCAST_MGID"
	group_join 3 "$group"
	udp_listen 2 "$group" 7006 50 20000
	check "sent to the group" busywait 5000 frame_seen dport=7006 dgid="$mgid"
	check_eq "JoinState" "$(sa_join_state 1 "$mgid")" 0x4
	wait "$LISTENER" || fail "node 2 got $(received 2) of 50"
	group_leave "$sender"
	group_leave
	capture_stop
	check "in order and once" in_order 7006
}

disappears()
{
	local group mgid

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	monitors 1
	group_join 2 "$group"
	check "a listener" slowwait 5 sa_is_full_member 2 "$mgid"
	udp_to 1 "$group" 7007 5
	check "member" busywait 5000 mcg_is 1 "$mgid" state member
	group_leave
	check "no group" slowwait 5 sa_group_gone "$mgid"
	check "driver's state" within 8000 mcg_is 1 "$mgid" state absent
	check_eq "MLID" "$(($(mcg 1 "$mgid" mlid)))" 0
}

# other_mlid GROUP OTHER: which takes its MLID
other_mlid()
{
	local group mgid first second other

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	monitors 1
	group_join 2 "$group"
	check "a listener" slowwait 5 sa_is_full_member 2 "$mgid"
	udp_to 1 "$group" 7008 5
	check "member" busywait 5000 mcg_is 1 "$mgid" state member
	first=$(sa_field "$mgid" mlid)
	group_leave
	check "no group" slowwait 5 sa_group_gone "$mgid"
	group_join 3 "$(group_of "$2")"
	other=$JOINER
	check "another group" slowwait 5 sa_is_full_member 3 "$(mgid_of "$2")"
	group_join 2 "$group"
	check "a listener again" slowwait 5 sa_is_full_member 2 "$mgid"
	second=$(sa_field "$mgid" mlid)
	[ "$first" != "$second" ] || fail "the MLID has not changed: $first"
	check "member again" within 8000 mcg_is 1 "$mgid" state member
	check_eq "MLID" "$(($(mcg 1 "$mgid" mlid)))" "$((second))"
	check "by its own tree" slowwait 5 by_own_tree 1 "$group"
	capture_start mlid
	udp_to 1 "$group" 7009 5
	capture_stop
	check_eq "DLID" "$(frames -f dlid dport=7009 | sort -u)" "${second#0x}"
	group_leave "$other"
	group_leave
}

remade()
{
	local mgid hex

	mgid=$(mgid_of "$1")
	hex=$(mgid_full "$mgid" | tr -d :)
	monitors 2
	check "made" group_create 3 "$hex" 00000b1b 84 00000000
	udp_to 2 "$(group_of "$1")" 7011 1
	check "a sender" busywait 5000 join_state_is 2 "$mgid" 0x4
	group_remade 2 "$mgid"
	check "a sender again" busywait 20000 join_state_is 2 "$mgid" 0x4
	check "driver's state" busywait 5000 mcg_is 2 "$mgid" state member
	check "deleted" group_delete 3 "$hex"
	check "given up" within 8000 mcg_is 2 "$mgid" state absent
}

# remade_begin GROUP: node 2 sends to one that node 3 has made, and subscribes. Sets MGID and HEX
remade_begin()
{
	MGID=$(mgid_of "$1")
	HEX=$(mgid_full "$MGID" | tr -d :)
	monitors 2
	check "made" group_create 3 "$HEX" 00000b1b 84 00000000
	udp_to 2 "$1" 7011 1
	check "a sender" busywait 5000 join_state_is 2 "$MGID" 0x4
	check "driver's state" busywait 5000 mcg_is 2 "$MGID" state member
}

# dgid_after_tree MGID MLID: where the first frame went after the last one by that tree
dgid_after_tree()
{
	udp_frames 7015 -f dgid -f dlid | awk -v tree="$1 ${2#0x}" '
		$0 == tree { next_is = ""; left = 1; next }
		left { next_is = $1; left = 0 }
		END { print next_is }'
}

# remade_mlid GROUP OTHER: which takes its MLID. What node 2 asks the SA, it asks after that.
remade_mlid()
{
	local MGID HEX other first sender

	other=$(mgid_full "$(mgid_of "$2")" | tr -d :)
	remade_begin "$1"
	first=$(sa_field "$MGID" mlid)
	check "by its own tree" slowwait 5 by_own_tree 2 "$1"
	capture_start remade_mlid
	background 2 udp_group send ib0 "$1" 7015 100 60000 10000
	sender=${BACKGROUND[-1]}
	check "by the first tree" busywait 5000 frame_seen dport=7015 "dlid=${first#0x}"
	knob_set 2 delay_ms_mad 1000
	check "deleted" group_delete 3 "$HEX"
	check "another group" group_create 3 "$other" 00000b1b 84 00000000
	check "made anew" group_create 3 "$HEX" 00000b1b 84 00000000
	check "by another tree" slowwait 10 frame_seen dport=7015 "dgid=$MGID" "dlid!=${first#0x}"
	knob_set 2 delay_ms_mad 0
	group_leave "$sender"
	capture_stop
	check_eq "after the first tree" "$(dgid_after_tree "$MGID" "$first")" "$BROADCAST_MGID"
	check "deleted" group_delete 3 "$HEX"
	check "deleted" group_delete 3 "$other"
}

# The answers to both reports are refused, and the questions that follow. Without an answer the SA
# repeats the reports, for less than 5 s; after that only the pause of the driver leads to a question.
remade_refused()
{
	local MGID HEX

	remade_begin 239.20.5.2
	knob_set 2 fail_post_mad 1000
	group_remade 2 "$MGID"
	nap 5
	check_num "refused" "$(knob_get 2 fail_post_mad)" -lt 998
	knob_set 2 fail_post_mad 0
	check "a sender again" busywait 20000 join_state_is 2 "$MGID" 0x4
	check "driver's state" busywait 5000 mcg_is 2 "$MGID" state member
	check "deleted" group_delete 3 "$HEX"
}

# sends_by_sl NODE GROUP MGID SL
sends_by_sl()
{
	capture_start by_sl
	udp_to "$1" "$2" 7012 1
	capture_stop
	frame_seen "dgid=$3" "sl=$4" dport=7012
}

remade_local()
{
	local MGID HEX

	remade_begin "$1"
	klog_mark remade_local
	knob_set 2 fail_ah 1000
	group_remade 2 "$MGID" 00000b1b 10000000
	check "a message" busywait 10000 klog_has "renewal failed for $(mgid_full "$MGID"),.*the HCA refuses"
	# as above
	nap 5
	knob_set 2 fail_ah 0
	check "a sender again" busywait 20000 join_state_is 2 "$MGID" 0x4
	check "asked again" slowwait 20 sends_by_sl 2 "$1" "$MGID" 1
	capture_start remade_local
	udp_to 2 "$1" 7012 5
	capture_stop
	check "SL" frames_all sl 1 dport=7012
	check "deleted" group_delete 3 "$HEX"
}

remade_misfit()
{
	local MGID HEX

	remade_begin "$1"
	klog_mark remade_misfit
	group_remade 2 "$MGID" 00000b1c
	check "given up" slowwait 10 mcg_is 2 "$MGID" state backoff
	check "a message" klog_has "failed for $(mgid_full "$MGID"),.*has not the Q_Key"
	check "no sender" slowwait 5 sa_is_no_member 2 "$MGID"
	check "deleted" group_delete 3 "$HEX"
}

# asked_for MGID: how often node 2 has asked to join it
asked_for()
{
	frames -f mad.tid mad.class=03 mad.method=02 mad.attr=0038 "mc.mgid=$1" "$(from 2)" |
		sort -u | wc -l
}

asked_again()
{
	[ "$(asked_for "$1")" -ge 2 ]
}

# The join leaves node 2 after the report has come.
deleted_joining()
{
	local mgid hex

	mgid=$(mgid4 239.20.5.7)
	hex=$(mgid_full "$mgid" | tr -d :)
	monitors 2
	check "made" group_create 3 "$hex" 00000b1b 84 00000000
	capture_start deleted_joining
	knob_set 2 delay_ms_mad 1500
	udp_to 2 239.20.5.7 7014 1
	check "joining" busywait 1000 mcg_is 2 "$mgid" state joining
	mad_send 1 2 1 0 "$(report trap:0043 "gid:$hex" tid:0000000012345683)"
	check "a sender" busywait 5000 join_state_is 2 "$mgid" 0x4
	knob_set 2 delay_ms_mad 0
	check "asked again" busywait 5000 asked_again "$mgid"
	check "driver's state" busywait 5000 mcg_is 2 "$mgid" state member
	capture_stop
	check "deleted" group_delete 3 "$hex"
}

# first_group FAMILY I: each time another one
first_group()
{
	local -A net=([4]=239.21.0. [6]=ff05-21:)

	echo "${net[$1]}$2"
}

rarely()
{
	local mgid joins

	mgid=$(mgid4 "$1")
	capture_start rarely
	udp_to 1 "$1" 7061 15 100000
	capture_stop
	check_num "frames" "$(frame_count dport=7061)" -ge 10
	joins=$(frames -f mad.tid mad.class=03 mad.method=02 "mc.mgid=$mgid" | sort -u | wc -l)
	check_num "joins" "$joins" -le $((1 + SLOW))
	# for the reason of each refusal but the first
	check_num "questions" "$(frames -f mad.tid mad.class=03 mad.method=01 "mc.mgid=$mgid" | sort -u | wc -l)" \
		-lt "$joins"
}

# no_reports NODE: its subscription for groups of other cases ends 20 s after the last of them.
# Not in check, which is a subshell
no_reports()
{
	monitors_stop
	check "no reports before" slowwait 40 unsubscribed "$1"
}

# Memberships of other kinds are checked again after 10 to 15 s.
unasked()
{
	local mgid

	mgid=$(mgid4 239.20.6.1)
	no_reports 1
	group_join 2 239.20.6.1
	check "a listener" slowwait 5 sa_is_full_member 2 "$mgid"
	udp_to 1 239.20.6.1 7060 1
	check "a member" busywait 5000 mcg_is 1 "$mgid" state member
	capture_start unasked
	nap 16
	capture_stop
	check_eq "messages" "$(frame_count mad.class=03 "mc.mgid=$mgid" "slid=$(lid_hex 1)")" 0
	check "a member" mcg_is 1 "$mgid" state member
	group_leave
}

# The first time after some 10 s. A sender subscribes after 18 s, so this one ends before.
asked()
{
	local mgid

	mgid=$(mgid4 239.20.6.2)
	no_reports 1
	group_join 2 239.20.6.2
	check "a listener" slowwait 5 sa_is_full_member 2 "$mgid"
	udp_to 1 239.20.6.2 7061 1
	check "a member" busywait 5000 mcg_is 1 "$mgid" state member
	capture_start asked
	in_node 1 udp_group send ib0 239.20.6.2 7061 100 5 1000000
	check "a message" slowwait 30 frame_seen mad.class=03 "mc.mgid=$mgid" "slid=$(lid_hex 1)"
	capture_stop
	check "no reports" unsubscribed 1
	check "a member" mcg_is 1 "$mgid" state member
	group_leave
}

# first_packet FAMILY TIMES
first_packet()
{
	local i got=0 group

	for ((i = 1; i <= $2 && i - got <= 2; i++)); do
		group=$(first_group "$1" "$i")
		udp_listen 2 "$(group_of "$group")" 7010 1 20000
		busywait 3000 mcg_is 2 "$(mgid_of "$group")" state member ||
			fail "no listener to $group"
		udp_to 1 "$(group_of "$group")" 7010 1
		wait "$LISTENER" && got=$((got + 1))
	done
	note "$got of $2 first packets arrived"
	check_num "first packets" "$got" -ge $(($2 - 1))
}

# pace PORT: milliseconds of the longest pause between datagrams to it, and of all
pace()
{
	udp_frames "$1" -f t | awk '
		NR == 1 { first = last = $1 }
		{ gap = $1 - last > gap ? $1 - last : gap; last = $1 }
		END { printf "%d %d\n", gap * 1000, (last - first) * 1000 }'
}

# in_one_go GROUP: the next of its groups. Sent one every 5 ms. What is held back until the
# group has settled makes a pause, TOOK, and what is still held when the sender has ended
# makes all of it longer.
in_one_go()
{
	local group mgid span start took

	ORDER_NO=$((ORDER_NO + 1))
	group=$(group_of "${1%1}$ORDER_NO")
	mgid=$(mgid_of "${1%1}$ORDER_NO")
	udp_listen 2 "$group" 7011 1000 60000
	busywait 3000 sa_is_full_member 2 "$mgid"
	capture_start order
	start=$(now_ms)
	udp_to 1 "$group" 7011 100 5000
	took=$(($(now_ms) - start))
	udp_mark 1 "$group" 7011
	wait "$LISTENER"
	capture_stop
	check_eq "datagrams received, of 100" "$(received 2)" 100
	check_eq "datagrams in order" "$(udp_frames 7011 -f number)" "$(seq 0 99)"
	read -r TOOK span < <(pace 7011)
	note "sent in $took ms, on the wire in $span ms"
	check_num "all of it" "$span" -le "$took"
	if [ "$(udp_frames 7011 -f dgid | sort -u | wc -l)" -ne 2 ]; then
		note "by one tree: the SA was slow, or it is never the group's own"
		TOOK=1000000
	fi
}

order()
{
	ORDER_NO=0
	takes_less "longest pause" 100 in_one_go "$1"
}

to_full()
{
	local group mgid sender

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	udp_listen 2 "$group" 7012 1000 60000
	busywait 3000 sa_is_full_member 2 "$mgid"
	background 1 udp_group send ib0 "$group" 7012 100 200 $((10000 * SLOW))
	sender=${BACKGROUND[-1]}
	check "sends" busywait 3000 mcg_is 1 "$mgid" join_state 4
	group_join 1 "$group"
	check "listens" busywait 3000 mcg_is 1 "$mgid" join_state 1
	check "and is no sender only" slowwait 3 join_state_is 1 "$mgid" 0x1
	wait "$sender"
	udp_mark 1 "$group" 7012
	wait "$LISTENER"
	check_eq "datagrams of 200" "$(received 2)" 200
}

from_full()
{
	local group mgid sender

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	udp_listen 2 "$group" 7013 1000 60000
	busywait 3000 sa_is_full_member 2 "$mgid"
	background 1 udp_group send ib0 "$group" 7013 100 200 $((10000 * SLOW))
	sender=${BACKGROUND[-1]}
	busywait 3000 mcg_is 1 "$mgid" join_state 1
	group_leave
	check "sends only" busywait 3000 mcg_is 1 "$mgid" join_state 4
	check "and the SA knows" slowwait 3 join_state_is 1 "$mgid" 0x4
	wait "$sender"
	udp_mark 1 "$group" 7013
	wait "$LISTENER"
	check_eq "datagrams of 200" "$(received 2)" 200
}

# sent_to_group GROUP: of its own, no longer to all
sent_to_group()
{
	udp_to 1 "$(group_of "$1")" 7022 1
	frame_seen dport=7022 "dgid=$(mgid_of "$1")"
}

# tshark_data GROUP PORT: versions of tshark differ in how they write a number
tshark_data()
{
	local mgid dgid dlid qkey rows

	mgid=$(mgid_of "$1")
	rows=$(tshark_rows "udp.dstport=$2" infiniband.grh.dgid infiniband.lrh.dlid infiniband.deth.q_key)
	check_eq "datagrams to $1" "$(wc -l <<< "$rows")" 5
	check_eq "destinations" "$(sort -u <<< "$rows" | wc -l)" 1
	read -r dgid dlid qkey <<< "$rows"
	check_eq "MGID" "$dgid" "$mgid"
	check_eq "MLID" "$((dlid))" "$(($(sa_field "$mgid" mlid)))"
	check_eq "Q_Key" "$((qkey))" "$(($(group_field qkey)))"
}

# tshark_joins GROUP: the JoinState of each SubnAdmSet of its record
tshark_joins()
{
	local method state

	tshark_rows "infiniband.mcmemberrecord.mgid=$(mgid_of "$1")" infiniband.mad.method \
		infiniband.mcmemberrecord.joinstate |
		while read -r method state; do
			[ $((method)) -ne 2 ] || echo $((state))
		done
}

tshark_reads()
{
	local group port=7023

	group_join 2 239.27.0.1 ff05::2701
	for group in 239.27.0.1 ff05-2701; do
		check "a listener" slowwait 5 sa_is_full_member 2 "$(mgid_of "$group")"
	done
	capture_start tshark
	for group in 239.27.0.1 ff05-2701; do
		check "sends to it" slowwait 5 sent_to_group "$group"
		udp_to 1 "$(group_of "$group")" $((port++)) 5
	done
	capture_stop
	check "tshark" tshark_read udp.dstport infiniband.grh.dgid infiniband.lrh.dlid infiniband.deth.q_key \
		infiniband.mad.method infiniband.mcmemberrecord.mgid infiniband.mcmemberrecord.joinstate
	port=7023
	for group in 239.27.0.1 ff05-2701; do
		tshark_data "$group" $((port++))
		check_eq "JoinState of $group" "$(tshark_joins "$group" | sort -u)" 4
	done
	group_leave
}

# joined_by_cm NODE GROUP: a program joins it by the RDMA CM, not by an IP socket
joined_by_cm()
{
	local own=ip4

	[[ $2 != *:* ]] || own=ip6
	spawn "$1" mckey -m "$2" -b "$($own "$1")" -p 0x0002 > "$TESTDIR/mckey" 2>&1 &
	BACKGROUND+=("$!")
}

# umcast GROUP OTHER
umcast()
{
	local group mgid other

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	other=$(mgid_of "$2")
	in_node 2 sh -c 'echo 1 > /sys/class/net/ib0/umcast'
	check_eq "umcast" "$(in_node 2 cat /sys/class/net/ib0/umcast)" 1
	check "the log says so" grep -q 'ib0: ignoring multicast groups joined directly by userspace' <<< "$(klog)"
	joined_by_cm 2 "$group"
	check "user space is a member" slowwait 10 sa_is_full_member 2 "$mgid"
	group_join 2 "$group" "$(group_of "$2")"
	check "another group is joined" slowwait 5 mcg_is 2 "$other" state member
	check "this one is not" mcg_absent 2 "$mgid"
	# nor is it taken for that by who sends to it
	udp_to 2 "$group" 7250 3 100000
	check "we are no receiver of it" stays 2500 mcg_is 2 "$mgid" users s
	# what we leave ib_sa knows until that has been answered
	kill -STOP "${OPENSM_PID[1]}"
	node_ip 2 link set ib0 down
	node_ip 2 link set ib0 up
	kill -CONT "${OPENSM_PID[1]}"
	node_ip 2 addr replace "$(ip6 2)/64" dev ib0 nodad
	check "up again, our groups are joined" slowwait 15 mcg_is 2 "$(mgid4 224.0.0.1)" state member
	check "that one, too" slowwait 15 mcg_is 2 "$other" state member
	check "and user space's is not" mcg_absent 2 "$mgid"
	in_node 2 sh -c 'echo 0 > /sys/class/net/ib0/umcast'
	check "without umcast it is" slowwait 5 mcg_is 2 "$mgid" state member
	group_leave
}

ktap_main "$@"
