#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who is not privileged cannot set up or change the link, its QP, groups or paths.
#
#	node1
#	  |			"nobody" (no capabilities) tries, root can
#	+-+----------+
#	|   switch   |
#	+------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"netlink:mtu_1500 U60 MTU"
	"netlink:down U60 down"
	"netlink:broadcast_00:ff:ff:ff:ff:15:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff U60 broadcast address"
	"files U60 no file of the interface or of the module may be written by others"
	"parameters U60 no file of the module's parameters may be written by others"
	"debugfs U60 debugfs of the driver is not for others"
	"packet_socket U60 nor are packet sockets"
	"unchanged U60 after all that the link is as it was"
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	nobody ip link show dev ib0 > /dev/null || ktap_bail "nobody cannot even look"
	BEFORE=$(node_ip 1 -o link show dev ib0)
}

nobody()
{
	in_node 1 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all "$@"
}

netlink()
{
	local args

	IFS=_ read -ra args <<< "$(IFS=:; echo "$*")"
	check_not "nobody sets $*" nobody ip link set ib0 "${args[@]}"
}

others_write()
{
	find "$@" -type f -perm /022 2> /dev/null
}

files()
{
	check_num "files that root may write" \
		"$(in_node 1 find -L /sys/class/net/ib0/ -maxdepth 1 -type f -perm /200 | wc -l)" -gt 3
	check_eq "writable by group or others" \
		"$(in_node 1 find -L /sys/class/net/ib0/ -maxdepth 1 -type f -perm /022)" ""
}

parameters()
{
	check_num "parameters" "$(find /sys/module/ib_ipoib/parameters -type f | wc -l)" -gt 0
	check_eq "writable by group or others" "$(others_write /sys/module/ib_ipoib/)" ""
}

debugfs()
{
	check_not "nobody lists debugfs" nobody ls /sys/kernel/debug/ipoib
}

packet_socket()
{
	check_not "nobody sends" nobody raw_frame send ib0 "$(lladdr 2)" 0x88b5 00
	check "root sends" in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x88b5 00
}

unchanged()
{
	check_eq "link" "$(node_ip 1 -o link show dev ib0)" "$BEFORE"
	check "ping" wait_ping 1 2
}

ktap_main "$@"
