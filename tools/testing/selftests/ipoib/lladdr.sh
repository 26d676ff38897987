#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The interface has the link-layer address, the constants and the IPv6 interface
# identifier that RFC 4391 gives it.
#
#	node1          node2
#	  |              |		u bit of the GUID set by the test where
#	+-+--------------+-+		the fabric allows it
#	|      switch      |
#	+------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"constants U44,B22 the interface is of type 32 with addresses of 20 octets, BROADCAST and MULTICAST"
	"format U36,U38,U62 the address is flags, a 24-bit QPN and GID 0 of the port"
	"flags U36,U62 reserved bits of the flags octet are zero"
	"qpn_is_ours U36,U37 the QPN of the address is the QPN of a UD QP of the interface"
	"unique U36 no two nodes have the same address"
	"broadcast U6,U7,U9,U14,B7 the broadcast address is the broadcast-GID, scope link-local, P_Key with bit 15"
	"linklocal U31,U32,U33,U34 the IPv6 link-local address is fe80::/64 and the port's EUI-64 with u = 1"
	"linklocal_works U34 link-local addresses answer"
	"stable:down U46 down and up keep the address"
	"stable:mtu U46 a change of MTU keeps the address"
	"stable:flap U46 loss of the link keeps the address"
	"parent B13 the HCA is the parent device"
	"driver_info B17 ethtool -i names ib_ipoib and the HCA"
	"link_settings B20 ethtool reports the speed of the port, and an unknown speed without carrier"
)

setup()
{
	fabric_up 4
}

constants()
{
	local link

	link=$(node_ip 1 -d -o link show dev ib0)
	check_eq "type" "$(in_node 1 cat /sys/class/net/ib0/type)" 32
	check_eq "addr_len" "$(in_node 1 cat /sys/class/net/ib0/addr_len)" 20
	check_eq "dev_port" "$(in_node 1 cat /sys/class/net/ib0/dev_port)" 0
	check "ip shows link/infiniband" grep -q 'link/infiniband' <<< "$link"
	check "BROADCAST" grep -q '<[A-Z_,]*BROADCAST' <<< "$link"
	check "MULTICAST" grep -q '<[A-Z_,]*MULTICAST' <<< "$link"
}

format()
{
	local node

	for node in 1 2 3 4; do
		check_eq "GID of node $node" "$(lladdr "$node" | cut -c 9-)" "$(port_gid_hex "$node")"
		check_num "QPN of node $node" "$((16#$(lladdr_qpn "$node")))" -gt 1
	done
}

flags()
{
	local flags

	flags=$((16#$(lladdr 1 | cut -c 1-2)))
	check_eq "bits but RC (0x80) and UC (0x40)" $((flags & 0x3f)) 0
}

qpn_is_ours()
{
	local qpn

	qpn=$((16#$(lladdr_qpn 1)))
	check "rdma knows the QP" grep -q . <<< \
		"$(rdma res show qp link "$(ibdev 1)/1" lqpn "$qpn" type UD)"
	check_not "a QPN that is not ours" grep -q . <<< \
		"$(rdma res show qp link "$(ibdev 1)/1" lqpn $((qpn + 5000)) type UD)"
}

unique()
{
	check_eq "different addresses" \
		"$(for node in 1 2 3 4; do lladdr "$node"; done | sort -u | wc -l)" 4
}

broadcast()
{
	check_eq "broadcast address" "$(lladdr_broadcast 1)" \
		00ffffffff12401bffff000000000000ffffffff
	check_eq "pkey" "$(in_node 1 cat /sys/class/net/ib0/pkey)" 0xffff
}

# The EUI-64 with the u bit set, whatever it was in the GUID.
want_linklocal()
{
	local guid

	guid=$(port_guid "$1")
	printf 'fe80::%x:%x:%x:%x/64\n' $((16#${guid:0:4} | 0x200)) \
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

change()
{
	case $1 in
	down)
		node_ip 3 link set ib0 down
		node_ip 3 link set ib0 up
		;;
	mtu)
		node_ip 3 link set ib0 mtu 1500
		node_ip 3 link set ib0 mtu 2044
		;;
	flap)
		link_down 3
		slowwait 10 no_carrier 3
		link_up 3
		;;
	esac
	wait_carrier 3
}

stable()
{
	local before

	before=$(lladdr 3)
	check "carrier is back" change "$1"
	check_eq "address" "$(lladdr 3)" "$before"
	check "still reached" wait_ping 4 3
}

parent()
{
	check "device link" in_node 2 test -d /sys/class/net/ib0/device/infiniband/"$(ibdev 2)"
}

driver_info()
{
	local info

	info=$(in_node 2 ethtool -i ib0)
	check_eq "driver" "$(sed -n 's/^driver: //p' <<< "$info")" ib_ipoib
	check_eq "bus-info" "$(sed -n 's/^bus-info: //p' <<< "$info")" \
		"$(bus_info 2)"
}

link_settings()
{
	local shown speed

	# "100 Gb/sec (4X EDR)"
	speed=$(port_attr 2 rate | awk '{ print $1 * 1000 }')
	shown=$(in_node 2 ethtool ib0)
	check_num "speed of the port" "$speed" -gt 0
	check_eq "speed" "$(sed -n 's/^\s*Speed: //p' <<< "$shown")" "${speed}Mb/s"
	check_eq "duplex" "$(sed -n 's/^\s*Duplex: //p' <<< "$shown")" Full
	check_eq "in sysfs" "$(in_node 2 cat /sys/class/net/ib0/speed)" "$speed"
	link_down 3
	check "no carrier" slowwait 10 no_carrier 3
	check_eq "without carrier" "$(in_node 3 cat /sys/class/net/ib0/speed)" -1
	link_up 3
	check "carrier is back" wait_carrier 3
}

ktap_main "$@"
