#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Requests that cross leave one connection, also if one of them is late.
#
#	node1 <== RC ==> node2
#	  |                |
#	+-+----------------+-+
#	|       switch       |
#	+--------------------+
#
# Messages of the CM are delayed on their way.

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CROSSINGS=${CROSSINGS:-5}

CASES=(
	"crossing C17,C18 requests that cross leave exactly one connection, each time"
	"crossing_code C16,C17 the one refused is refused by \"consumer reject\", with private data"
	"crossing_skewed C17 also if one of them is late"
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected rc 1 2 || ktap_bail "no connected mode"
}

diagnose()
{
	cm_diagnose 1 2
}

# Both ask at once: each has a neighbour but no connection.
meet()
{
	local first second

	ping_lossless 1 "$(ip4 2)" 5 > "$TESTDIR/meet1" &
	first=$!
	ping_lossless 2 "$(ip4 1)" 5 > "$TESTDIR/meet2" &
	second=$!
	wait "$first"
	first=$?
	wait "$second" && [ "$first" -eq 0 ] && return
	cat "$TESTDIR/meet1" "$TESTDIR/meet2"
	return 1
}

# delays MS1 MS2
delays()
{
	knob_set 1 delay_ms_mad "$1"
	knob_set 2 delay_ms_mad "$2"
}

crossing()
{
	local i before

	before=$(($(cm_stat 1 cm_crossed) + $(cm_stat 2 cm_crossed)))
	capture_start crossing
	for ((i = 0; i < CROSSINGS && !RET; i++)); do
		all_apart || fail "connections stay"
		delays 100 100
		check "pings in round $i" meet
		delays 0 0
		check "one connection in round $i" slowwait 10 settled
	done
	capture_stop
	check_num "crossings" $(($(cm_stat 1 cm_crossed) + $(cm_stat 2 cm_crossed) - before)) -ge $((CROSSINGS / 2))
}

# What crossing captured: the greater address has refused.
crossing_code()
{
	local greater=1

	[[ $(lladdr 1 | cut -c 3-) > $(lladdr 2 | cut -c 3-) ]] || greater=2
	check_eq "reason" "$(cm_messages "$CM_REJ" cm.reason=28 -f slid | sort -u)" "$(lid_hex "$greater")"
	check_eq "private data" "$(cm_messages "$CM_REJ" cm.reason=28 -f cm.private | sort -u)" "$(private_data "$greater" 65524)"
}

crossing_skewed()
{
	local i skew

	for skew in "10 90" "90 10" "0 150" "150 0"; do
		for ((i = 0; i < 1 && !RET; i++)); do
			all_apart || fail "connections stay"
			# shellcheck disable=SC2086 # two words
			delays $skew
			check "pings, $skew" meet
			delays 0 0
			check "one connection, $skew" slowwait 15 settled
		done
	done
}

ktap_main "$@"
