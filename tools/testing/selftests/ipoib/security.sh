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
# shellcheck source=lib_userns.sh
. "$LIB_DIR/lib_userns.sh"

CASES=(
	"netlink:mtu_1500 U60,F31 root of another user namespace cannot set the MTU, root can"
	"netlink:type_ipoib_mode_connected U60,F31 root of another user namespace cannot set the mode, root can"
	"netlink:type_ipoib_umcast_1 U60,F31 root of another user namespace cannot set umcast, root can"
	"netlink:down U60,F31 root of another user namespace cannot set the interface down, root can"
	"netlink:broadcast_00:ff:ff:ff:ff:15:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff U60,F31 root of another user namespace cannot set the broadcast address, root can"
	"files U60 no file of the interface or of the module is writable for others"
	"parameters U60 no file of the module's parameters is writable for others"
	"debugfs U60,F31 files of the driver in debugfs are not readable for others, even with a readable debugfs"
	"packet_socket U60 an unprivileged user cannot send by a packet socket"
	"owner:ib0 B16,U60,F57 files of an interface change owner with the user namespace of the interface, and back"
	"owner:twin B16,U60,F57 files of a child change owner with the user namespace of the child, and back"
	"capability:mode F16,U60 root of a user namespace without CAP_NET_ADMIN cannot change the mode"
	"capability:umcast F16,U60 root of a user namespace without CAP_NET_ADMIN cannot change umcast"
	"capability:cm_transport F16,U60 root of a user namespace without CAP_NET_ADMIN cannot change cm_transport"
	"unchanged U60 the link is unchanged after all refused changes"
)

declare -A NEW=([mode]=connected [umcast]=1 [cm_transport]=none)

setup()
{
	userns_forget
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	nobody ip link show dev ib0 > /dev/null || ktap_bail "nobody cannot even look"
	BEFORE=$(node_ip 1 -o link show dev ib0)
	STATE=$(link_state)
}

UNPRIVILEGED=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all
	--bounding-set=-all)

nobody()
{
	in_node 1 "${UNPRIVILEGED[@]}" "$@"
}

netlink()
{
	local args

	IFS=_ read -ra args <<< "$(IFS=:; echo "$*")"
	check_not "nobody sets $*" nobody ip link set ib0 "${args[@]}"
	check_not "another root sets $*" in_node 1 unshare --user --map-root-user \
		ip link set ib0 "${args[@]}"
	check_eq "link" "$(link_state)" "$STATE"
	check "root sets $*" node_ip 1 link set ib0 "${args[@]}"
	restore
}

# All that the cases try to change
link_state()
{
	node_ip 1 -d link show dev ib0 | grep -o 'mtu [0-9]*\|<.*>\|brd [0-9a-f:]*\|mode [a-z]*\|umcast *[0-9a-z]*'
}

restore()
{
	node_ip 1 link set ib0 type ipoib mode datagram umcast 0
	node_ip 1 link set ib0 broadcast "$(sed -n 's/.*brd \([^ ]*\).*/\1/p' <<< "$BEFORE")"
	node_ip 1 link set ib0 mtu 2044
	node_ip 1 link set ib0 up
	check "carrier" wait_carrier 1
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	check_eq "link" "$(link_state)" "$STATE"
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
	local dir=/sys/kernel/debug/ipoib file

	# the kernel's default keeps others out of all of it
	mount -o remount,mode=755 /sys/kernel/debug
	check "nobody lists debugfs" "${UNPRIVILEGED[@]}" ls "$dir"
	check_num "files" "$(find "$dir" -type f | wc -l)" -ge 3
	check_eq "for others or the group" "$(find "$dir" -type f -perm /077)" ""
	for file in "$dir"/*; do
		check_not "nobody reads $file" "${UNPRIVILEGED[@]}" cat "$file"
		check "root reads $file" cat "$file"
	done
	mount -o remount,mode=700 /sys/kernel/debug
}

packet_socket()
{
	check_not "nobody sends" nobody raw_frame send ib0 "$(lladdr 2)" 0x88b5 00
	check "root sends" in_node 1 raw_frame send ib0 "$(lladdr 2)" 0x88b5 00
}

# owners DEV COMMAND...: of its files, where COMMAND leads
owners()
{
	# shellcheck disable=SC2016 # for that shell
	"${@:2}" sh -c 'cd "/sys/class/net/$0" && ls -d mode cm_transport pkey umcast \
		create_child delete_child parent statistics/rx_packets 2> /dev/null |
		xargs stat -c %u:%g | sort -u' "$1"
}

owner()
{
	[ "$1" = ib0 ] || check "made" node_ip 1 link add link ib0 name "$1" type ipoib
	check_eq "before" "$(owners "$1" in_node 1)" 0:0
	userns_start 100000 "$1"
	check_eq "there" "$(owners "$1" ip netns exec userns)" 100000:100000
	userns_end "$1"
	check_eq "back" "$(owners "$1" in_node 1)" 0:0
	if [ "$1" = ib0 ]; then
		node_config 1
	else
		check "away" node_ip 1 link del "$1"
	fi
}

# shellcheck disable=SC2016 # what is in quotes is for that shell
capability()
{
	local file=/sys/class/net/ib0/$1 before

	[ -n "${USERNS:-}" ] || userns_start 0 ib0
	before=$(in_userns cat "$file")
	check "may read" test -n "$before"
	check_not "writes $1" in_userns setpriv --bounding-set=-net_admin --inh-caps=-net_admin \
		sh -c 'echo "$2" > "$1"' sh "$file" "${NEW[$1]}"
	check_eq "value" "$(in_userns cat "$file")" "$before"
	check "with the capability it can" in_userns sh -c 'echo "$2" > "$1"' sh "$file" "${NEW[$1]}"
	check "and back" in_userns sh -c 'echo "$2" > "$1"' sh "$file" "$before"
	[ "$1" = cm_transport ] || return
	userns_end ib0
	node_config 1
}

link_is()
{
	local now

	now=$(node_ip 1 -o link show dev ib0)
	[ "$now" = "$1" ] || { echo "$now"; return 1; }
}

unchanged()
{
	check "link" slowwait 10 link_is "$BEFORE"
	check "ping" wait_ping 1 2
}

ktap_main "$@"
