#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is different about connections on RoCE: they go by the Ethernet's MTU, its
# addresses and its VLANs, and those change. connected_*.sh has the rest.
#
#	  ib0 <== RC ==> ib0
#	   |              |
#	 rxe1           rxe2	on Ethernet ports roc1, roc2
#	+--+--------------+--+
#	|       bridge       |
#	+--------------------+

FABRIC=rxe
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

COMM=4096

CASES=(
	"works C1,C2 long packets use a reliable connection, both ways, over IPv4 and IPv6"
	"datagram_peer C11,C30 a peer in datagram mode accepts packets on the connection, and answers over UD"
	"lossy:rc C33 a reliable connection loses no echo with one frame in fifty lost on the Ethernet, and stays"
	"lossy:uc C8 an unreliable connection loses echoes with one frame in fifty lost on the Ethernet, and stays"
	"ethernet_mtu:1024 U28 the connection is made anew after a smaller Ethernet MTU, with the same MTU"
	"ethernet_mtu:ipv6 U28 IPv6 works on the connection after a smaller Ethernet MTU, too small for IPv6 datagrams"
	"ethernet_mtu:2048 U28 the connection is made anew after a greater Ethernet MTU, with the same MTU"
	"path_mtu C35 a request for longer packets than the Ethernet MTU is refused"
	"gid:other C19 the connection to a node is made anew after a change of its GID"
	"gid:back C19 the connection to a node is made anew after a change back to its old GID"
	"mac:other C19 the connection to a node is made anew after a change of its MAC address"
	"mac:back C19 the connection to a node is made anew after a change back to its old MAC address"
	"vlan:own C4,A18 an interface on a VLAN has its own connection"
	"vlan:request C35 a request for a VLAN interface from another VLAN is refused"
	"vlan:ends C19 the connection of a VLAN interface closes with the interface"
	"port_down C19 port down closes the connection in the end"
	"removed C19 removal of a device closes the connection under traffic, and it comes back with the device"
	"unload A8 unloading the driver closes all connections under traffic"
)

NEEDS=(
	[ethernet_mtu:ipv6]=ethernet_mtu:1024
	[ethernet_mtu:2048]=ethernet_mtu:ipv6
	[gid:back]=gid:other
	[mac:back]=mac:other
	[vlan:request]=vlan:own
	[vlan:ends]=vlan:request
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected rc 1 2 || ktap_bail "no connected mode"
	connect 1 2 || ktap_bail "no connection"
}

# The cases after one that has ended with a dead QP 1 are about something else.
diagnose()
{
	local node

	cm_diagnose 1 2
	for node in 1 2; do
		note "QP 1 of node $node: $(gsi_state "$node")"
		[ "$(gsi_state "$node")" = RTS ] || device_anew "$node"
	done
}

device_anew()
{
	hca_remove "$1"
	hca_add "$1"
	node_move "$1"
	node_config "$1"
	wait_carrier "$1"
	set_mode "$1" connected
}

# gsi_state NODE: of QP 1. Soft-RoCE puts it into the error state, for good, if a MAD
# cannot be sent, because its GID has gone or the port is down.
gsi_state()
{
	rdma res show qp link "$(ibdev "$1")" | sed -n 's/.* type GSI state \([A-Z]*\).*/\1/p'
}

# The socket of ping has room for three such packets only: not too many at a time.
# long_pings COUNT: one way and the other
long_pings()
{
	check "IPv4" ping_lossless 1 "$(ip4 2)" "$1" -M 'do' -s 65000 -i 0.1
	check "IPv6" ping_lossless 2 "$(ip6 1)" "$1" -M 'do' -s 65000 -i 0.1
}

works()
{
	check_eq "mode" "$(net_file 1 mode)" connected
	check_eq "MTU" "$(link_mtu 1)" 65520
	check_eq "flags" "$(lladdr 1 | cut -c 1-2)" 80
	long_pings 5
	check_eq "connections" "$(conn_count 1 2)" 1
}

datagram_peer()
{
	local answers got sent

	check "node 2" in_mode datagram rc 2
	check "connection" connect 1 2
	got=$(cm_stat 2 cm_rx_packets)
	sent=$(cm_stat 2 cm_tx_packets)
	answers=$(cm_stat 1 cm_rx_packets)
	check "ping" ping_lossless 1 "$(ip4 2)" 5 -s 1900
	check_num "came on the connection" $(($(cm_stat 2 cm_rx_packets) - got)) -ge 5
	check_eq "sent on it by node 2" "$(cm_stat 2 cm_tx_packets)" "$sent"
	check_eq "answers on it" "$(cm_stat 1 cm_rx_packets)" "$answers"
	check "node 2 back" in_mode connected rc 2
	check "connection" connect 1 2
}

# losing PERCENT: of what nodes 1 and 2 get; the same each time, where the kernel does that (6.7)
losing()
{
	local node qdisc

	for node in 1 2; do
		qdisc=(dev "port$node" root netem loss "$1%")
		tc -n switch qdisc replace "${qdisc[@]}" seed "$node" 2> /dev/null ||
			tc -n switch qdisc replace "${qdisc[@]}" || fail "cannot lose frames"
	done
}

lossless_again()
{
	tc -n switch qdisc del dev port1 root
	tc -n switch qdisc del dev port2 root
}

# requests: of both
requests()
{
	echo $(($(cm_stat 1 cm_requests) + $(cm_stat 2 cm_requests)))
}

# Both know each other and send on the connection: what is lost is the connection's.
lossy()
{
	local before

	check "mode" in_mode connected "$1" 1 2
	check "connection" connect 1 2
	check "connection back" connect 2 1
	check "one connection" slowwait 10 settled
	before=$(requests)
	losing 2
	if [ "$1" = rc ]; then
		check "ping" ping_lossless 1 "$(ip4 2)" 50 -s 20000 -i 0.1
	else
		in_node 1 ping -q -c 50 -i 0.01 -W 1 -s 20000 "$(ip4 2)" > "$TESTDIR/lossy"
		check "some are lost" grep -q '[1-9][0-9]*% packet loss' "$TESTDIR/lossy"
	fi
	lossless_again
	# On UC the message after one that was lost is lost, too (roce.rst).
	check "ping" slowwait 5 ping_ok 1 "$(ip4 2)" -s 20000
	check "nothing lost afterwards" ping_lossless 1 "$(ip4 2)" 20 -s 20000 -i 0.1
	check_eq "requests" "$(requests)" "$before"
	check_eq "errors" "$(cm_stat 1 cm_errors)" 0
	[ "$1" = rc ] || check "back" in_mode connected rc 1 2
	check "connection" connect 1 2
}

ethernet_mtu()
{
	local before

	if [ "$1" = ipv6 ]; then
		check "IPv6" ping_lossless 2 "$(ip6 1)" 5 -M 'do' -s 65000 -i 0.1
		return
	fi
	before=$(requests)
	group_mtu_set "$1"
	check "carrier" wait_carrier 1 2
	check "connection" connect 1 2
	check_num "requests" "$(requests)" -gt "$before"
	check "ping" ping_lossless 1 "$(ip4 2)" 10 -M 'do' -s 65000 -i 0.1
	capture_start "mtu$1"
	check "ping" ping_lossless 1 "$(ip4 2)" 1 -M 'do' -s 20000 -i 0.1
	capture_stop
	# UDP and base transport header, path MTU, CRC
	check_eq "packets of a message" "$(frames -f udp.len op=00 | sort -u)" $((8 + 12 + $1 + 4))
}

# forge NODE [KEY=VALUE]...: a REQ of node 1 to node 2, or to its interface in the
# namespace of NODE
forge()
{
	local node=$1

	shift
	COMM=$((COMM + 4096))
	"$LIB_DIR/cm_forge.py" req "comm=$(printf %x "$COMM")" \
		"sid=0100000000$(lladdr_qpn "$node")" "qpn=$(printf %x "$COMM")" slid=0 dlid=0 \
		"sgid=$(port_gid_hex 1)" "dgid=$(port_gid_hex 2)" \
		"private=0000424200010000" "$@" > "$TESTDIR/forged"
	to_qp1 < "$TESTDIR/forged"
}

# refused REASON NODE [KEY=VALUE]...
refused()
{
	capture_start "refused.$1"
	check "send" forge "${@:2}"
	busywait 3000 frame_seen mad.class=07 "mad.attr=$CM_REJ" "$(from 2)"
	capture_stop
	check_eq "reason" "$(cm_from 2 "$CM_REJ" cm.reason)" "$1"
	check_eq "granted" "$(cm_from 2 "$CM_REP" cm.reason)" ""
}

# The forged request asks for 2048.
path_mtu()
{
	group_mtu_set 1024
	check "carrier" wait_carrier 1 2
	check "connection" connect 1 2
	refused 26 2
	group_mtu_set 2048
	check "carrier" wait_carrier 1 2
	check "connection" connect 1 2
}

# A connection of node 1, whatever the peer's address
joined_up()
{
	ping_ok 1 "$(ip4 2)" && [ "$(conn_count 1)" -eq 1 ] && [ "$(conn_count 2)" -eq 1 ]
}

# idle SECONDS: connections that are not used that long end, or four times as long
idle()
{
	echo "$1" > /sys/module/ib_ipoib/parameters/cm_idle_seconds
}

# A good-bye from an address that has gone reaches nobody: what node 1 has of the old
# connection ends because it is not used.
anew()
{
	idle 2
	check "carrier" wait_carrier 2
	check "connection" slowwait 30 joined_up
	long_pings 3
	check "no other" slowwait 20 only_one 1
	check "no other" slowwait 20 only_one 2
	idle 120
}

only_one()
{
	grep -qx 'connections: 1' <<< "$(cm_view "$1")"
}

gid()
{
	doubt 1
	check "connection" slowwait 15 joined_up
	case $1 in
	other)
		ip addr add fe80::4391/64 dev "$(eth 2)" nodad
		ip addr del "$(port_gid 2)/64" dev "$(eth 2)"
		check "a new address" slowwait 5 lladdr_ends 2 fe800000000000000000000000004391
		;;
	back)
		ip addr add "$(port_gid 2)/64" dev "$(eth 2)" nodad
		ip addr del fe80::4391/64 dev "$(eth 2)"
		check "the old address" slowwait 5 lladdr_ends 2 "$(port_gid_hex 2)"
		;;
	esac
	anew
}

# The new address of the port comes with down and up.
mac()
{
	local mac

	mac=$(eth_mac 2)
	[ "$1" = back ] || mac=52:54:00:09:01:02
	doubt 1
	ip link set "$(eth 2)" address "$mac" || fail "cannot change the MAC address"
	ip link set "$(eth 2)" down
	ip link set "$(eth 2)" up
	check "the address" slowwait 10 lladdr_ends 2 "${mac:9:2}${mac:12:2}${mac:15:2}"
	anew
}


# gid_set ADDRESS: the only link-local one of node 2's port
gid_set()
{
	local addr

	ip addr add "$1/64" dev "$(eth 2)" nodad
	ip -6 -o addr show dev "$(eth 2)" scope link | awk '{ print $4 }' | grep -v "^$1/" |
	while read -r addr; do
		ip addr del "$addr" dev "$(eth 2)"
	done
}

# Interfaces on VLAN 100 of nodes 1 and 2, in namespaces 91 and 92.
vlan()
{
	local node qps

	case $1 in
	own)
		vlan_up 1
		vlan_up 2
		check "carrier" wait_carrier 91 92
		check "ping" slowwait 5 ping_ok 91 10.8.0.2
		check "connected" set_mode 91 connected
		check "connected" set_mode 92 connected
		check "connection" slowwait 15 vlan_joined_up
		check "long ping" ping_lossless 91 10.8.0.2 5 -s 20000 -i 0.1
		capture_vlan
		check_num "on the connection" "$(frame_count vlan=100 op=04)" -ge 2
		check_eq "VLANs" "$(frames -f vlan ip.dst=10.8.0.2 | sort -u)" 100
		check "the untagged link has its own" connect 1 2
		;;
	request)
		refused 12 92
		check "the connection is there" ping_lossless 91 10.8.0.2 5 -s 20000 -i 0.1
		;;
	ends)
		qps=$(rc_qps)
		check_num "QPs of both links" "$qps" -ge 4
		for node in 1 2; do
			check "del" node_ip "9$node" link del ib0
		done
		check "its QPs go" slowwait 10 rc_qps_are -le $((qps - 2))
		ip link del v1
		ip link del v2
		check "the untagged link's connection is there" connect 1 2
		long_pings 3
		;;
	esac
}

# rc_qps: of all nodes
rc_qps()
{
	rdma res show qp | grep -cE 'type (RC|UC)'
}

rc_qps_are()
{
	test "$(rc_qps)" "$@"
}

vlan_joined_up()
{
	ping_ok 91 10.8.0.2 && [ "$(conn_count 91)" -eq 1 ]
}

capture_vlan()
{
	capture_vlans
	check "ping" ping_lossless 91 10.8.0.2 3
	capture_stop
}

no_conn()
{
	[ "$(conn_count 1)" -eq 0 ]
}

# Node 1 sends, and is not answered. Nothing long: see removed.
port_down()
{
	check "connection" connect 1 2
	ip link set "$(eth 2)" down
	in_node 1 ping -q -c 20 -i 0.2 -W 1 -s 1000 "$(ip4 2)" > /dev/null
	check "node 1 has none" slowwait 15 no_conn
	ip link set "$(eth 2)" up
	anew
}

# Node 1's are short: it would be told that nothing longer gets there, and believe it.
removed()
{
	check "connection" connect 1 2
	background 1 ping -q -i 0.01 -s 1000 "$(ip4 2)" > /dev/null 2>&1
	background 2 ping -q -i 0.01 -s 20000 "$(ip6 1)" > /dev/null 2>&1
	hca_remove 2
	check "node 1 has none" slowwait 15 no_conn
	background_stop
	hca_add 2
	node_move 2
	node_config 2
	node_ip 1 neigh flush dev ib0
	check "connected" set_mode 2 connected
	anew
}

unload()
{
	check "connection" connect 1 2
	check_num "QPs" "$(rc_qps)" -ge 2
	background 1 ping -q -i 0.01 -s 20000 "$(ip4 2)" > /dev/null 2>&1
	background 2 ping -q -i 0.01 -s 20000 "$(ip6 1)" > /dev/null 2>&1
	check "unload" driver_unload
	background_stop
	check_eq "QPs" "$(rc_qps)" 0
}

ktap_main "$@"
