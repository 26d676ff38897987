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
	"capability:mode F16,U60 root of a user namespace without CAP_NET_ADMIN does not change the mode"
	"capability:umcast F16,U60 nor umcast"
	"capability:cm_transport F16,U60 nor the transports of connections"
	"unchanged U60 after all that the link is as it was"
)

declare -A NEW=([mode]=connected [umcast]=1 [cm_transport]=none)

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

# in_userns COMMAND...: as root of a user namespace, in a network namespace of its own that
# has node 2's interface
in_userns()
{
	ip netns exec userns nsenter --user -t "$USERNS" "$@"
}

userns_start()
{
	unshare --user --map-root-user --net sh -c 'echo ready; exec sleep 1000' > "$TESTDIR/userns" &
	USERNS=$!
	BACKGROUND+=("$USERNS")
	busywait 5000 grep -q ready "$TESTDIR/userns" || fail "no user namespace"
	ip netns attach userns "$USERNS" || fail "cannot name it"
	node_ip 2 link set ib0 netns "$USERNS" || fail "cannot move ib0"
}

userns_end()
{
	ip -n userns link set ib0 netns "/run/netns/node2" || fail "cannot move ib0 back"
	node_config 2
	background_stop
	ip netns del userns
}

# shellcheck disable=SC2016 # what is in quotes is for that shell
capability()
{
	local file=/sys/class/net/ib0/$1 before

	[ -n "${USERNS:-}" ] || userns_start
	before=$(in_userns cat "$file")
	check "may read" test -n "$before"
	check_not "writes $1" in_userns setpriv --bounding-set=-net_admin --inh-caps=-net_admin \
		sh -c 'echo "$2" > "$1"' sh "$file" "${NEW[$1]}"
	check_eq "value" "$(in_userns cat "$file")" "$before"
	check "with the capability it can" in_userns sh -c 'echo "$2" > "$1"' sh "$file" "${NEW[$1]}"
	check "and back" in_userns sh -c 'echo "$2" > "$1"' sh "$file" "$before"
	[ "$1" != cm_transport ] || userns_end
}

unchanged()
{
	check_eq "link" "$(node_ip 1 -o link show dev ib0)" "$BEFORE"
	check "ping" wait_ping 1 2
}

ktap_main "$@"
