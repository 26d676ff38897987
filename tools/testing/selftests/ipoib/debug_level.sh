#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module's parameters debug_level and mcast_debug_level, which configurations for the
# kernel's driver have: they are taken, and the log names the tracepoints instead.

. "$(dirname "$0")/lib.sh"

CASES=(
	"default B3 both parameters are 0"
	"written B3 a value above 0 is logged with the names of the tracepoints, a value of 0 is not"
	"refused B3 text that is no number is refused, and the value stays"
	"at_load B3 modprobe accepts both parameters"
)

PARAMS=/sys/module/ib_ipoib/parameters
LINE="debug_level logs nothing: the tracepoints"

setup()
{
	modprobe ib_ipoib || ktap_bail "cannot load ib_ipoib"
}

# levels DEBUG MCAST
levels()
{
	echo "$1" > "$PARAMS/debug_level"
	echo "$2" > "$PARAMS/mcast_debug_level"
}

levels_are()
{
	check_eq "debug_level" "$(cat "$PARAMS/debug_level")" "$1"
	check_eq "mcast_debug_level" "$(cat "$PARAMS/mcast_debug_level")" "$2"
}

default()
{
	levels_are 0 0
}

written()
{
	klog_mark none
	levels -1 0
	levels_are -1 0
	check_not "a line" klog_has "$LINE"
	klog_mark both
	levels 1 2
	levels_are 1 2
	check_eq "lines" "$(klog | grep -c "$LINE")" 2
	levels 0 0
}

refused()
{
	local word

	levels 1 1
	for word in yes 1x 99999999999 ""; do
		check_not "debug_level '$word'" sh -c "echo '$word' > $PARAMS/debug_level"
		check_not "mcast_debug_level '$word'" sh -c "echo '$word' > $PARAMS/mcast_debug_level"
	done
	levels_are 1 1
	levels 0 0
}

at_load()
{
	driver_unload
	klog_mark at_load
	driver_load debug_level=1 mcast_debug_level=2
	levels_are 1 2
	check_eq "lines" "$(klog | grep -c "$LINE")" 2
}

ktap_main "$@"
