#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The IPoIB link's MTU is that of the broadcast group less the 4 octets of the
# encapsulation, within what port and administrator allow.
#
#	node1 ----- ping -M do ----- node2
#	  |                            |	links of 4096; the group's
#	+-+----------------------------+-+	MTU changes with the
#	|             switch             |	cases
#	+--------------------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"link:2048:2044 U18,U28,U29 a 2048 group gives an MTU of 2044, on links with a greater MTU"
	"exact:4:2044 U29 an IPv4 packet of 2044 octets passes, of 2045 octets does not"
	"exact:6:2044 U29 an IPv6 packet of 2044 octets passes, of 2045 octets does not"
	"admin_smaller:1500 U30,B33 the administrator may set 1500"
	"admin_smaller:1280 U30,B33 the administrator may set 1280"
	"admin_limits B33 the minimum MTU is 72, the maximum is the port's minus 4"
	"admin_beyond_group U28,B33 an MTU beyond the group's is not used"
	"mixed U30 nodes with different MTUs reach each other up to the smaller MTU"
	"refused U28,B33 an MTU refused by another interface stays away, is logged once, and is used when no interface refuses it"
	"link:4096:4092 U18,U28,U30 a 4096 group gives an MTU of 4092"
	"exact:4:4092 U30 an IPv4 packet of 4092 octets passes, of 4093 octets does not"
	"exact:6:4092 U30 an IPv6 packet of 4092 octets passes, of 4093 octets does not"
	"link:1024:1020 U28,U30 a 1024 group gives an MTU of 1020"
	"exact:4:1020 U30 an IPv4 packet of 1020 octets passes, of 1021 octets does not"
	"link:2048:2044_again U28 a 2048 group gives an MTU of 2044 again"
)

setup()
{
	group_wish mtu=4
	FIXTURE=2048
	fabric_up 2 mtu=4096
}

# group_is MTU: the broadcast group's, and the interfaces have what that makes of them
group_is()
{
	local group=$1 mtu=$(($1 - 4)) node

	if [ "$FIXTURE" != "$group" ]; then
		group_mtu_set "$group"
		FIXTURE=$group
	fi
	for node in 1 2; do
		check "MTU of node $node" slowwait 15 mtu_is "$node" "$mtu"
	done
	# an MTU below 1280 took the IPv6 addresses away
	for node in 1 2; do
		[ "$mtu" -lt 1280 ] || node_ip "$node" addr replace "$(ip6 "$node")/64" dev ib0 nodad
	done
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
}

# link GROUP MTU: of the group, and what it makes of the interfaces
link()
{
	local node

	group_is "$1"
	for node in 1 2; do
		check_eq "MTU of node $node" "$(link_mtu "$node")" "${2%_again}"
	done
}

exact()
{
	local family=$1 mtu=$2 head=28

	group_is $((mtu + 4))
	[ "$family" = 6 ] && head=48
	check "max" ping_lossless 1 "$("ip$family" 2)" 5 -M 'do' -s $((mtu - head))
	check_not "max + 1" ping_ok 1 "$("ip$family" 2)" -M 'do' -s $((mtu - head + 1))
	check "five fragments" ping_lossless 1 "$("ip$family" 2)" 3 -M dont -s $((mtu * 5 - 200))
}

set_mtu()
{
	local node

	for node in 1 2; do
		node_ip "$node" link set ib0 mtu "$1" || return 1
	done
	slowwait 10 mtu_is 1 "$1" && slowwait 10 mtu_is 2 "$1"
}

# no_limit NODE: the administrator allows all that the port can do; the link's MTU
# is then the group's again
no_limit()
{
	node_ip "$1" link set ib0 mtu 4092
	slowwait 5 mtu_is "$1" 2044
}

no_limits()
{
	no_limit 1 && no_limit 2
}

admin_smaller()
{
	group_is 2048
	check "set" set_mtu "$1"
	check "max" ping_lossless 1 "$(ip4 2)" 5 -M 'do' -s $(($1 - 28))
	check_not "max + 1" ping_ok 1 "$(ip4 2)" -M 'do' -s $(($1 - 27))
	check "back" no_limits
}

admin_limits()
{
	group_is 2048
	check "72" set_mtu 72
	check "ping" ping_lossless 1 "$(ip4 2)" 5 -M 'do' -s 44
	check_not "71" node_ip 1 link set ib0 mtu 71
	check_not "0" node_ip 1 link set ib0 mtu 0
	check_not "the port's MTU" node_ip 1 link set ib0 mtu 4096
	check_not "65521" node_ip 1 link set ib0 mtu 65521
	check "back" no_limits
	node_ip 1 addr replace "$(ip6 1)/64" dev ib0 nodad
	node_ip 2 addr replace "$(ip6 2)/64" dev ib0 nodad
}

admin_beyond_group()
{
	group_is 2048
	klog_mark beyond
	check "4092 is accepted" node_ip 1 link set ib0 mtu 4092
	is_stock || check "a message" klog_has 'the link takes MTU 2044, not 4092, from its'
	check "2044 is what it stays at" stays 1000 mtu_is 1 2044
	check "max" ping_lossless 1 "$(ip4 2)" 5 -M 'do' -s 2016
	check_not "max + 1" ping_ok 1 "$(ip4 2)" -M 'do' -s 2017
}

mixed()
{
	group_is 2048
	node_ip 1 link set ib0 mtu 1500
	check "small to large" ping_lossless 1 "$(ip4 2)" 5 -s 1400
	check "large to small, in fragments that are too long for the way back" \
		ping_lossless 2 "$(ip4 1)" 5 -s 1900
	check "back" no_limit 1
}

# A port of a team
refused()
{
	group_is 2048
	node_ip 2 link add team0 type team || { check_skip "the kernel has no team"; return; }
	check "down" node_ip 2 link set ib0 down
	check "a port of it" node_ip 2 link set ib0 master team0
	check "up" node_ip 2 link set ib0 up
	check "carrier" wait_carrier 2
	FIXTURE=1024
	group_mtu_set 1024
	check "MTU of node 1" slowwait 15 mtu_is 1 1020
	check "a message" slowwait 15 klog_has 'cannot change the MTU'
	check "MTU of node 2" stays 1500 mtu_is 2 2044
	check_eq "messages" "$(klog | grep -c 'cannot change the MTU')" 1
	check "no port" node_ip 2 link set ib0 nomaster
	node_ip 2 link del team0
	check "up" node_ip 2 link set ib0 up
	check "MTU of node 2" slowwait 20 mtu_is 2 1020
	group_is 2048
}

ktap_main "$@"
