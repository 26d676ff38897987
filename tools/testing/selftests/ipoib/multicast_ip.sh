#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that use IP multicast, and who sends to groups for long, to many, or no
# more: what needs no SA.
#
#	node1 (sender)   node2, node3 (listeners)   node4
#	  |                 |      |                  |
#	+-+-----------------+------+------------------+-+
#	|                  the fabric                   |
#	+-----------------------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

# Groups that are sent to once, again and again, and once without a listener.
IDLE=239.24.0.1
BUSY=239.24.0.2
ALONE=239.24.0.3

CASES=(
	"all_hosts U54 all nodes answer a ping of 224.0.0.1 and ff02::1"
	"first_contact U50 the first echo to an IPv6 neighbour takes less than 100 ms, 16 times of 20 at least"
	"mdns A27,U54 avahi answers an mDNS query by multicast"
	"program:239.26.0.1 U6,U50,U54 all datagrams of socat to 239/8 arrive, by the group of the RFC"
	"program:ff0e-2601 U6,U50,U54 all datagrams of socat to ff0e::/16 arrive, by the group of the RFC"
	"dhcp A37,U19 a DHCP client with a packet socket gets an address from dnsmasq"
	"idle A29,A30 a sender leaves its groups a minute after its last datagram, except the permanent groups"
	"bounded - a program that sends to 3000 groups is stopped at a limit, counted and logged once; groups that are gone leave room"
)

setup()
{
	fabric_up 4
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 1 3 || ktap_bail "no ping"
	idle_begins
}

# Long before it is looked at, beside all else.
idle_begins()
{
	group_join 3 "$IDLE" "$BUSY"
	IDLE_LISTENER=$JOINER
	slowwait 5 is_member 3 "$(mgid4 "$IDLE")" || ktap_bail "no listener"
	slowwait 5 is_member 3 "$(mgid4 "$BUSY")" || ktap_bail "no listener"
	background 1 udp_group send ib0 "$BUSY" 7016 100 1000 18000000
	IDLE_START=$(now_ms)
	udp_to 1 "$IDLE" 7015 1
	udp_to 1 "$ALONE" 7017 1
	slowwait 5 is_sender 1 "$(mgid4 "$IDLE")" || ktap_bail "no sender"
	slowwait 5 is_sender 1 "$(mgid4 "$BUSY")" || ktap_bail "no sender"
	idle_watch > "$TESTDIR/idle" &
	BACKGROUND+=("$!")
}

# Every few seconds a line: milliseconds since then, and node 1's JoinState of each
idle_watch()
{
	local ms group states

	while true; do
		ms=$(($(now_ms) - IDLE_START))
		states=
		for group in "$IDLE" "$BUSY" "$ALONE"; do
			states+=" $(mcg 1 "$(mgid4 "$group")" join_state | grep . || echo -)"
		done
		echo "$ms$states"
		nap 3
	done
}

diagnose()
{
	cat "$(mcg_file 1)"
}

first_contact()
{
	local i ms limit times=() slow=0

	limit=$(scaled 100)
	for ((i = 1; i <= 20; i++)); do
		node_ip 1 neigh flush dev ib0
		node_ip 2 addr add "fd09::5:$i/64" dev ib0 nodad
		busywait 3000 mcg_is 2 "$(mgid6 1:ff05:"$i")" state member || fail "no listener $i"
		ms=$(in_node 1 ping -n -c 1 -W 10 "fd09::5:$i" |
			sed -n 's/.*time=\([0-9]*\).*/\1/p')
		[ -n "$ms" ] || { fail "no answer from fd09::5:$i"; return; }
		[ "$ms" -lt "$limit" ] || slow=$((slow + 1))
		times+=("$ms")
	done
	note "20 first contacts, milliseconds: ${times[*]}; limit $limit"
	check_num "that took longer" "$slow" -le 4
}

# answer_from NODE...: they have, in the output of ping
answer_from()
{
	local node

	for node; do
		grep -qF "from $node" "$TESTDIR/answers" || { echo "not $node"; return 1; }
	done
}

all_hosts()
{
	local node

	for node in 2 3 4; do
		in_node "$node" sysctl -q net.ipv4.icmp_echo_ignore_broadcasts=0
	done
	in_node 1 ping -n -c 4 -i 0.3 -I ib0 224.0.0.1 > "$TESTDIR/answers"
	check "IPv4" answer_from "$(ip4 2)" "$(ip4 3)" "$(ip4 4)"
	in_node 1 ping -n -c 4 -i 0.3 -I "$(ip6 1)" ff02::1%ib0 > "$TESTDIR/answers"
	check "IPv6" answer_from "$(ip6 2)" "$(ip6 3)" "$(ip6 4)"
}

avahi_start()
{
	printf '%s\n' '[server]' host-name=ipoibtest use-ipv4=yes use-ipv6=no allow-interfaces=ib0 \
		enable-dbus=no '[publish]' publish-addresses=yes > "$TESTDIR/avahi.conf"
	background "$1" avahi-daemon -f "$TESTDIR/avahi.conf" --no-drop-root --no-rlimits --no-chroot \
		> "$TESTDIR/avahi" 2>&1
}

# mdns_query NODE ADDRESS: it asks for ipoibtest.local, and that is the answer
mdns_query()
{
	in_node "$1" timeout 60 python3 - "$(ip4 "$1")" "$2" <<- 'END'
		import socket, sys
		own, wanted = (socket.inet_aton(a) for a in sys.argv[1:])
		group = socket.inet_aton("224.0.0.251")
		sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		sock.bind(("224.0.0.251", 5353))
		sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + own)
		sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
		sock.settimeout(1)
		query = bytes([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + \
		        b"\x09ipoibtest\x05local\x00" + bytes([0, 1, 0, 1])
		while True:
		    sock.sendto(query, ("224.0.0.251", 5353))
		    try:
		        while True:
		            data = sock.recv(9000)
		            if data[2] & 0x80 and wanted in data:
		                sys.exit(0)
		    except socket.timeout:
		        pass
	END
}

mdns()
{
	avahi_start 2
	check "the answer" mdns_query 1 "$(ip4 2)"
	group_leave "${BACKGROUND[-1]}"
}

# socat_listen NODE GROUP FILE: what it is sent, into the file
socat_listen()
{
	case $2 in
	*:*) background "$1" socat -u "UDP6-RECV:7020,ipv6-join-group=[$2]:ib0" "CREATE:$3" ;;
	*) background "$1" socat -u "UDP4-RECV:7020,ip-add-membership=$2:ib0" "CREATE:$3" ;;
	esac
}

# socat_send NODE GROUP TEXT: one datagram
socat_send()
{
	local to=UDP4-DATAGRAM:$2:7020

	[[ $2 != *:* ]] || to="UDP6-DATAGRAM:[$2]:7020"
	echo "$3" | in_node "$1" socat -u - "$to,so-bindtodevice=ib0"
}

socat_got()
{
	[ "$(sort -u "$1")" = "$2" ]
}

# iperf3 knows no multicast. A program of others for a few datagrams, and for many the
# one that counts, to two listeners.
program()
{
	local group mgid dest i out=$TESTDIR/socat.$1

	group=$(group_of "$1")
	mgid=$(mgid_of "$1")
	socat_listen 2 "$group" "$out"
	check "socat listens" slowwait 5 is_member 2 "$mgid"
	udp_listen 3 "$group" 7021 200 60000
	check "the other, too" slowwait 5 is_member 3 "$mgid"
	check "first datagram" socat_send 1 "$group" datagram0
	check "sender" busywait 5000 mcg_is 1 "$mgid" state member
	check "by its own tree" slowwait 5 by_own_tree 1 "$group"
	capture_start program
	for i in 1 2 3 4; do
		check "datagram $i" socat_send 1 "$group" "datagram$i"
	done
	udp_to 1 "$group" 7021 200 2000
	check "all are there" busywait 3000 socat_got "$out" "$(printf 'datagram%d\n' 0 1 2 3 4)"
	wait "$LISTENER" || fail "node 3 got $(received 3) of 200"
	capture_stop
	dest=$(to_group "$mgid")
	check_eq "where to" "$(frames -f dgid -f "${dest%%=*}" dport=7020 | sort -u)" "$mgid ${dest#*=}"
	check_eq "datagrams of socat" "$(frame_count dport=7020 "$(from 1)")" 4
	check_eq "MGID" "$(frames -f dgid dport=7021 | sort -u)" "$mgid"
	check_eq "datagrams" "$(frame_count dport=7021)" 200
	group_leave "${BACKGROUND[-1]}"
}

# dhcp_message TYPE [OPTIONS]: an IP packet in hex, as RFC 4390 wants it of a client
# whose address does not fit: htype 32, hlen 0, to be answered by broadcast, and a
# client identifier
dhcp_message()
{
	local bootp udp ip sum=0 len i

	bootp=01200000feedf00d00008000$(zeros 16)$(zeros 16)$(zeros 192)
	bootp+=63825363""3501$1""3d11ff0000000100030020$(port_guid 4)""${2:-}ff
	udp=00440043$(printf '%04x' $((${#bootp} / 2 + 8)))0000$bootp
	printf -v len '%04x' $((${#udp} / 2 + 20))
	ip=4500${len}000000004011000000000000ffffffff
	for ((i = 0; i < 40; i += 4)); do
		sum=$((sum + 0x${ip:i:4}))
	done
	printf '%s%04x%s%s\n' "${ip:0:20}" $((~(sum % 65535) & 65535)) "${ip:24}" "$udp"
}

# dhcp_answer: type and address of what came by broadcast from the server's port, if it
# has come yet. IP and UDP header, the fixed part, and the type as the first option
dhcp_answer()
{
	received 4 | sed -nE 's/.*pkttype=1.*data=45.{38}00430044.{8}02.{30}(.{8}).{432}6382536335010(.).*/\2 \1/p' |
		grep .
}

# dhcp_ask TYPE [OPTIONS]: broadcast it from node 4, and print the answer
dhcp_ask()
{
	listen 4 0x0800 100 90000
	in_node 4 raw_frame send ib0 "$(lladdr_broadcast 4)" 0x0800 "$(dhcp_message "$@")"
	busywait 5000 dhcp_answer
	group_leave "$LISTENER"
}

# The address is in the server's range; nobody is told that he has it.
dhcp()
{
	printf '%s\n' port=0 interface=ib0 bind-interfaces no-ping user=root dhcp-authoritative \
		dhcp-range=10.9.77.7,10.9.77.7,255.255.0.0,1h "dhcp-leasefile=$TESTDIR/leases" \
		> "$TESTDIR/dnsmasq.conf"
	background 2 dnsmasq -d -C "$TESTDIR/dnsmasq.conf" > "$TESTDIR/dnsmasq" 2>&1
	check "the server" busywait 5000 grep -qs 'IP range' "$TESTDIR/dnsmasq"
	check_eq "offer" "$(dhcp_ask 01)" "2 0a094d07"
	# address asked for, server
	check_eq "grant" "$(dhcp_ask 03 32040a094d07""36040a090002)" "5 0a094d07"
	check "a lease" grep -q 10.9.77.7 "$TESTDIR/leases"
	group_leave "${BACKGROUND[-1]}"
	[ "$RET" -eq 0 ] || note "$(cat "$TESTDIR/dnsmasq")"
}

# idle_was FROM_MS TO_MS COLUMN STATES: so it was all that time
idle_was()
{
	awk -v from="$1" -v to="$2" -v column="$3" -v states="^($4)\$" '
		$1 >= from && $1 < to { n++; if ($column !~ states) { print; bad = 1 } }
		END { exit bad || !n }' "$TESTDIR/idle"
}

idle()
{
	local mgid

	mgid=$(mgid4 "$IDLE")
	check "sender only" slowwait 90 sender_gone 1 "$mgid"
	check "the driver has forgotten it" slowwait 5 mcg_absent 1 "$mgid"
	check "it was one for a minute" idle_was 0 55000 2 4
	# it would be one again with the datagram after 72 s
	check "who sends again and again is one then, too" slowwait 10 idle_was 63000 72000 3 4
	check "and was, all the time" idle_was 0 1000000 3 4
	check "and the fabric says so" is_sender 1 "$(mgid4 "$BUSY")"
	check "a group without a listener was known for a minute" idle_was 0 55000 4 '[04]'
	check "and is forgotten" slowwait 5 mcg_absent 1 "$(mgid4 "$ALONE")"
	check "listener" is_member 3 "$mgid"
	check "broadcast group" is_member 1 "$BROADCAST_MGID"
	check "all-hosts" is_member 1 "$(mgid4 224.0.0.1)"
	group_leave "$IDLE_LISTENER"
	[ "$RET" -eq 0 ] || note "$(cat "$TESTDIR/idle")"
}

# knows NODE GROUP: the driver there has an entry of it
knows()
{
	! mcg_absent "$1" "$(mgid4 "$2")" > /dev/null
}

# no_room_for_ip6: node 1 drops a datagram to another IPv6 group each time, as there are too many
no_room_for_ip6()
{
	NO_ROOM=$((${NO_ROOM:-0} + 1))
	xstat_grows 1 tx_drop_too_many_groups "ff05::99:$NO_ROOM"
}

# no_room_for_ip4: the same for IPv4
no_room_for_ip4()
{
	NO_ROOM=$((${NO_ROOM:-0} + 1))
	xstat_grows 1 tx_drop_too_many_groups "239.99.1.$NO_ROOM"
}

bounded()
{
	local i n via listened

	listened=$(mgid4 239.99.0.1)
	klog_mark bounded
	node_ip 1 route add 224.0.0.0/4 dev ib0
	for ((i = 0; i < 3000; i++)); do
		echo "239.$((100 + i / 250)).$((i % 250)).9"
	done > "$TESTDIR/groups"
	# shellcheck disable=SC2016 # it is that shell that expands
	in_node 1 bash -c 'while read -r g; do echo -n x > /dev/udp/"$g"/7014; done' < "$TESTDIR/groups" 2> /dev/null
	n=$(grep -c GID: "$(mcg_file 1)")
	note "$n groups"
	check_num "groups" "$n" -le 1100
	check_num "refused and counted" "$(xstat 1 tx_drop_too_many_groups)" -ge $((1000 / SLOW))
	check_eq "lines of the log" "$(klog | grep -c 'too many multicast groups')" 1
	check "not sent to all" slowwait 5 no_room_for_ip6
	group_join 1 239.99.0.1
	check "room for a listener" slowwait 5 is_member 1 "$listened"
	group_leave
	check "it is gone" slowwait 5 mcg_absent 1 "$listened"
	check "refused again" slowwait 5 no_room_for_ip4
	check_eq "lines of the log" "$(klog | grep -c 'too many multicast groups')" 1
	check "others work" wait_ping 1 2
	node_ip 3 addr add fd09::3:9977/64 dev ib0 nodad
	via=$(xstat 1 tx_via_broadcast)
	check "a neighbour is found whose group there is no room for" slowwait 5 ping_ok 1 fd09::3:9977
	check_num "by the broadcast group" "$(xstat 1 tx_via_broadcast)" -gt "$via"
	check "down" node_ip 1 link set ib0 down
	check "up" node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	udp_to 1 239.112.0.1 7018 1
	check "room for another" busywait 3000 knows 1 239.112.0.1
}

ktap_main "$@"
