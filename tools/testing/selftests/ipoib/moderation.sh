#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ethtool -c and -C: completions of receives are reported as late, or as many at once, as
# the administrator says, where the HCA does that.
#
#	 node1        node2        node3
#	OpenSM, mlx5   mlx5         generic: no moderation
#	   |            |            |
#	+--+------------+------------+-+
#	|            switch            |
#	+------------------------------+

HCA=mlx5,mlx5,generic
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CASES=(
	"default B18 without a setting nothing is put off"
	"usecs B18 receives are reported after rx-usecs"
	"frames B18 or before, if there are as many as rx-frames"
	"fewer B18 a stream takes fewer interrupts with moderation"
	"kept B18 what was set is shown, and holds when the interface has been down"
	"refused B18 what does not fit is refused, with the cause, and changes nothing"
	"connected:before B18 it holds for connections that are made later"
	"connected:after B18 and for those that there are"
	"without B18 an HCA without moderation leaves things as they are, and ethtool says so"
	"time_stamps - ethtool -T tells of the time stamps of what is sent"
	"channels - ethtool -l tells of one queue each way, and another number is refused"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 1 3 || ktap_bail "no ping"
}

diagnose()
{
	note "node 2: $(coalesce 2)"
	cm_diagnose 1 2
}

# coalesce NODE: rx-usecs and rx-frames
coalesce()
{
	in_node "$1" ethtool -c ib0 | sed -n 's/^rx-\(usecs\|frames\):[\t ]*//p' | xargs
}

# moderate NODE USECS FRAMES
moderate()
{
	[ "$(coalesce "$1")" = "$2 $3" ] ||
		in_node "$1" ethtool -C ib0 rx-usecs "$2" rx-frames "$3"
}

# The median of eleven round trips to node 2, in microseconds. Each frame that comes begins a
# wait, so one that comes soon after another waits less.
round_trip()
{
	local out

	out=$(in_node 1 ping -n -c 11 -i 0.1 -w $((10 * SLOW)) "$(ip4 2)") || return 1
	sed -n 's/.* time=\([0-9.]*\) ms$/\1/p' <<< "$out" | sort -n | awk 'NR == 6 { print int($1 * 1000) }'
}

# One way takes the time, and there is none for the other.
put_off()
{
	check_num "microseconds" "$(round_trip)" -ge 40000
}

not_put_off()
{
	local us i

	for ((i = 0; i < 5; i++)); do
		us=$(round_trip)
		[ "${us:-40000}" -ge 40000 ] || break
	done
	check_num "microseconds" "$us" -lt 40000
}

default()
{
	check_eq "values" "$(coalesce 2)" "0 0"
	not_put_off
}

usecs()
{
	check "set" moderate 2 40000 1000
	check_eq "values" "$(coalesce 2)" "40000 1000"
	put_off
	check "back" moderate 2 0 0
	not_put_off
}

frames()
{
	check "set" moderate 2 40000 1
	not_put_off
	check "back" moderate 2 0 0
}

# interrupts_of COUNT: of the HCA of node 2, for so many frames from node 1, one in 2 ms
interrupts_of()
{
	local before

	before=$(knob_get 2 counters | sed -n 's/^hca\.interrupts //p')
	in_node 1 ping -n -q -i 0.002 -c "$1" -w $((20 * SLOW)) "$(ip4 2)" > /dev/null || return 1
	echo $(($(knob_get 2 counters | sed -n 's/^hca\.interrupts //p') - before))
}

fewer()
{
	local without with

	without=$(interrupts_of 500)
	check "set" moderate 2 60000 1000
	with=$(interrupts_of 500)
	check "back" moderate 2 0 0
	note "interrupts: $without without, $with with moderation"
	check_num "with moderation" "$((with * 2))" -lt "$without"
}

kept()
{
	check "set" moderate 2 40000 500
	check "down" node_ip 2 link set ib0 down
	check_eq "values of an interface that is down" "$(coalesce 2)" "40000 500"
	check "up" node_ip 2 link set ib0 up
	check "ping" wait_ping 1 2
	check_eq "values" "$(coalesce 2)" "40000 500"
	put_off
	check "back" moderate 2 0 0
}

# refuses TEXT ARG...
refuses()
{
	local out

	out=$(in_node 2 ethtool -C ib0 "${@:2}" 2>&1) && { echo "taken"; return 1; }
	[[ $out == *$1* ]] || { echo "says: $out"; return 1; }
}

refused()
{
	check "set" moderate 2 7 8
	check "microseconds" refuses "at most 65535" rx-usecs 65536
	check "frames" refuses "at most 65535" rx-frames 65536
	check "sends" refuses "upported" tx-usecs 10
	check_eq "values" "$(coalesce 2)" "7 8"
	check "the most" moderate 2 65535 65535
	check "back" moderate 2 0 0
}

connected()
{
	if [ "$1" = before ]; then
		check "set" moderate 2 40000 1000
		check "mode" in_mode connected rc 1 2
		check "connection" connect 1 2
		put_off
	else
		check "mode" in_mode connected rc 1 2
		check "connection" connect 1 2
		not_put_off
		check "set" moderate 2 40000 1000
		put_off
	fi
	check "back" moderate 2 0 0
	not_put_off
	check "mode" in_mode datagram rc 1 2
}

without()
{
	local out

	out=$(in_node 3 ethtool -C ib0 rx-usecs 50 2>&1) || fail "refused: $out"
	[[ $out == *"does not moderate"* ]] || fail "says: $out"
	check_eq "values" "$(coalesce 3)" "50 0"
	check "ping" ping_lossless 1 "$(ip4 3)" 20
	check "back" in_node 3 ethtool -C ib0 rx-usecs 0
}

time_stamps()
{
	check "of what is sent" grep -q software-transmit <(in_node 2 ethtool -T ib0)
}

channels()
{
	check_eq "receive, send" "$(in_node 2 ethtool -l ib0 | sed -n 's/^[RT]X:[\t ]*//p' | xargs)" "1 1 1 1"
	check_not "two" in_node 2 ethtool -L ib0 rx 2
	check "ping" ping_lossless 1 "$(ip4 2)" 5
}

ktap_main "$@"
