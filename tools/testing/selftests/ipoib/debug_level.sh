#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module's parameters debug_level and mcast_debug_level: events of paths, connections
# and groups in the kernel's log.
#
#	 node1          node2
#	OpenSM            |
#	   |              |
#	+--+--------------+--+
#	|       switch       |
#	+--------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"default B3 both are 0, and events are not in the log"
	"paths B3 with debug_level 1 the log has events of paths, and none of groups"
	"connections B3 and of connections"
	"groups B3 with mcast_debug_level 1 it has events of groups, and none of paths"
	"off B3 with 0 there are none any more"
	"negative B3 and neither with -1"
	"refused B3 what is no number is refused, and changes nothing"
	"at_load B3 they can be given to modprobe"
	"unload B3 the driver can be unloaded with both"
	"racing B3 and while they are switched on and off"
)

PARAMS=/sys/module/ib_ipoib/parameters

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
}

# levels DEBUG MCAST
levels()
{
	echo "$1" > "$PARAMS/debug_level"
	echo "$2" > "$PARAMS/mcast_debug_level"
}

# What makes a query for a path, and joins and leaves a group
events()
{
	klog_mark "$1"
	node_ip 1 link set ib0 down
	node_ip 1 link set ib0 up
	wait_carrier 1
	node_ip 1 neigh flush dev ib0
	check "ping" wait_ping 1 2
}

PATH_LINE="ib0: path fe80:.*: query, status 0"
GROUP_LINE="ib0: group ff12:401b:.*, status 0"

default()
{
	check_eq "debug_level" "$(cat "$PARAMS/debug_level")" 0
	check_eq "mcast_debug_level" "$(cat "$PARAMS/mcast_debug_level")" 0
	events default
	check_not "events of paths" klog_has "$PATH_LINE"
	check_not "events of groups" klog_has "$GROUP_LINE"
}

paths()
{
	levels 1 0
	events paths
	levels 0 0
	check "events of paths" klog_has "$PATH_LINE"
	check_not "events of groups" klog_has "$GROUP_LINE"
}

connections()
{
	in_mode connected rc 1 2
	levels 1 0
	klog_mark connections
	check "connection" connect 1 2
	levels 0 0
	check "events of connections" klog_has "ib0: connection fe80:.*: request, status 0"
	in_mode datagram rc 1 2
}

groups()
{
	levels 0 1
	events groups
	levels 0 0
	check_not "events of paths" klog_has "$PATH_LINE"
	check "events of groups" klog_has "$GROUP_LINE"
}

off()
{
	levels 1 1
	levels 0 0
	events off
	check_not "events of paths" klog_has "$PATH_LINE"
	check_not "events of groups" klog_has "$GROUP_LINE"
}

negative()
{
	levels -1 -1
	check_eq "debug_level" "$(cat "$PARAMS/debug_level")" -1
	events negative
	levels 0 0
	check_not "events of paths" klog_has "$PATH_LINE"
	check_not "events of groups" klog_has "$GROUP_LINE"
}

refused()
{
	local word

	levels 1 1
	for word in yes 1x 99999999999 ""; do
		check_not "debug_level '$word'" sh -c "echo '$word' > $PARAMS/debug_level"
		check_not "mcast_debug_level '$word'" sh -c "echo '$word' > $PARAMS/mcast_debug_level"
	done
	check_eq "debug_level" "$(cat "$PARAMS/debug_level")" 1
	check_eq "mcast_debug_level" "$(cat "$PARAMS/mcast_debug_level")" 1
	levels 0 0
}

at_load()
{
	nodes_down
	driver_unload
	klog_mark at_load
	driver_load debug_level=1 mcast_debug_level=2
	nodes_up
	wait_carrier
	check "ping" wait_ping 1 2
	check_eq "debug_level" "$(cat "$PARAMS/debug_level")" 1
	check_eq "mcast_debug_level" "$(cat "$PARAMS/mcast_debug_level")" 2
	check "events of paths" klog_has "$PATH_LINE"
	check "events of groups" klog_has "$GROUP_LINE"
}

# Each with the interfaces that it has after it
unload()
{
	levels 1 1
	nodes_down
	check "unload" driver_unload
	driver_load
	nodes_up
	wait_carrier
	check "ping" wait_ping 1 2
}

racing()
{
	local pid

	(
		while :; do
			levels 1 1
			levels 0 0
		done
	) 2> /dev/null &
	pid=$!
	nodes_down
	check "unload" driver_unload
	kill "$pid"
	wait "$pid" 2> /dev/null
	driver_load
	nodes_up
	wait_carrier
	check "ping" wait_ping 1 2
}

ktap_main "$@"
