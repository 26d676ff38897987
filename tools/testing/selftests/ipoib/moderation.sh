#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ethtool -c and -C: completions of receives are reported as late, or as many at once, as
# the administrator says, by the HCA or by a timer, or as the traffic needs it. What the latter
# gains bench --count shows.
#
#	 node1        node2        node3
#	OpenSM, mlx5   mlx5         mthca: no moderation
#	   |            |            |
#	+--+------------+------------+-+
#	|            switch            |
#	+------------------------------+

HCA=mlx5,mlx5,mthca
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

TRACING=/sys/kernel/tracing/instances/ipoib-moderation
EOPNOTSUPP=95

CASES=(
	"default B18 without a setting the traffic selects the moderation, and no report is delayed for long"
	"usecs B18 receives are reported after rx-usecs"
	"frames B18 rx-frames receives are reported before rx-usecs have passed"
	"fewer B18 a stream takes fewer interrupts with moderation"
	"kept B18 a setting is shown, and holds after down and up"
	"refused B18 a value out of range is refused with the cause, and the setting stays"
	"refused_hca B18 a value that the HCA refuses is refused, and the setting stays"
	"refused_cm B18 a value that the HCA refuses for connections only holds for datagrams, and is logged"
	"connected:before B18 a setting holds for connections that are made later"
	"connected:after B18 a setting holds for existing connections"
	"timer B18 on an HCA without moderation the next frame within rx-usecs waits for a timer"
	"timer_fewer B18 on an HCA without moderation a stream takes fewer interrupts with the timer"
	"timer_idle B18 on an HCA without moderation no handler runs without frames, or twice for each frame without rx-usecs"
	"timer_frames B18 on an HCA without moderation ethtool reports that rx-frames has no effect"
	"adaptive_kept B18 with adaptive moderation ethtool reports that rx-usecs has no effect; the value counts later"
	"rings:receives - ethtool -G changes the number of posted receives; address and connections stay"
	"rings:reports B18 a report has at most a quarter of the receives, or the set number, for each number of receives"
	"rings:sends - ethtool -G changes the number of sends in flight, and streams go on"
	"rings:down - a setting made while the interface is down holds when it is up"
	"rings:refused - a number beyond the size of the QP or too small is refused, and the setting stays"
	"time_stamps - ethtool -T reports time stamps of sent frames; time stamps of an HCA that makes none are refused"
)

setup()
{
	fabric_up 3
	wait_ping 1 2 || ktap_bail "no ping"
	wait_ping 1 3 || ktap_bail "no ping"
}

teardown()
{
	[ ! -d "$TRACING" ] || rmdir "$TRACING"
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

# adaptive_of NODE: on or off
adaptive_of()
{
	in_node "$1" ethtool -c ib0 | sed -n 's/^Adaptive RX: \(on\|off\) .*/\1/p'
}

# adapt NODE on|off
adapt()
{
	[ "$(adaptive_of "$1")" = "$2" ] || in_node "$1" ethtool -C ib0 adaptive-rx "$2"
}

# moderate NODE USECS FRAMES
moderate()
{
	adapt "$1" off || return 1
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
	local node

	for node in 2 3; do
		check_eq "values" "$(coalesce "$node")" "0 0"
		check_eq "adaptive" "$(adaptive_of "$node")" on
	done
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

interrupts()
{
	knob_get "$1" counters | sed -n 's/^hca\.interrupts //p'
}

# interrupts_of NODE COUNT: of the HCA of NODE, for so many frames from node 1, one in 2 ms
interrupts_of()
{
	local before

	before=$(interrupts "$1")
	in_node 1 ping -n -q -i 0.002 -c "$2" -w $((20 * SLOW)) "$(ip4 "$1")" > /dev/null || return 1
	echo $(($(interrupts "$1") - before))
}

# fewer [NODE]
fewer()
{
	local node=${1:-2} without with

	check "none" moderate "$node" 0 0
	without=$(interrupts_of "$node" 500)
	check "set" moderate "$node" 60000 1000
	with=$(interrupts_of "$node" 500)
	check "back" moderate "$node" 0 0
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

refused_hca()
{
	check "set" moderate 2 7 8
	knob_set 2 fail_moderation 1
	check_not "taken" in_node 2 ethtool -C ib0 rx-usecs 100
	check_eq "to be refused" "$(knob_get 2 fail_moderation)" 0
	check_eq "values" "$(coalesce 2)" "7 8"
	check "back" moderate 2 0 0
}

# The CQ of datagrams comes first.
refused_cm()
{
	check "mode" in_mode connected rc 1 2
	check "connection" connect 1 2
	check "set" moderate 2 7 8
	klog_mark refused_cm
	knob_set 2 fail_moderation 2
	check "taken" moderate 2 9 10
	check_eq "to be refused" "$(knob_get 2 fail_moderation)" 0
	check "a message" klog_has 'cannot moderate completions of connections'
	check "mode" in_mode datagram rc 1 2
	check "back" moderate 2 0 0
	check "ping" wait_ping 1 2
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

# The mean of fifty round trips to node 3, one begun each 10 ms, in microseconds
quick_trips()
{
	in_node 1 ping -n -q -c 50 -i 0.01 -w $((20 * SLOW)) "$(ip4 3)" |
		sed -n 's|^rtt [^=]*= [0-9.]*/\([0-9]*\)\.\([0-9]*\)/.*|\1\2|p'
}

# The first frame is reported at once, those of the next 40 ms with the end of these.
timer()
{
	local us

	check "set" moderate 3 40000 0
	check_eq "values" "$(coalesce 3)" "40000 0"
	us=$(quick_trips)
	check "back" moderate 3 0 0
	check_num "microseconds" "$us" -ge 10000
}

timer_fewer()
{
	fewer 3
}

# empty_polls COMMAND...: how many times a handler of an interface found nothing meanwhile
empty_polls()
{
	echo > "$TRACING/trace"
	"$@" > /dev/null || return 1
	grep -c 'napi_poll: .* for device ib0 work 0 ' "$TRACING/trace"
}

# The handler of sends always reports that, once for some sixteen of these short frames.
timer_idle()
{
	local polls

	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	mkdir -p "$TRACING"
	echo 1 > "$TRACING/events/napi/napi_poll/enable"
	check "none" moderate 3 0 0
	polls=$(empty_polls ping_lossless 1 "$(ip4 3)" 200)
	check_num "without rx-usecs, for 200 frames" "$polls" -lt 100
	check "set" moderate 3 1000 0
	check "ping" ping_lossless 1 "$(ip4 3)" 5
	polls=$(empty_polls nap 1)
	check_num "in an idle second" "$polls" -lt 200
	echo 0 > "$TRACING/events/napi/napi_poll/enable"
	rmdir "$TRACING"
	check "back" moderate 3 0 0
}

timer_frames()
{
	local out

	out=$(in_node 3 ethtool -C ib0 rx-frames 50 2>&1) || fail "refused: $out"
	[[ $out == *"rx-frames has no effect"* ]] || fail "says: $out"
	check_eq "values" "$(coalesce 3)" "0 50"
	check "ping" ping_lossless 1 "$(ip4 3)" 20
	check "back" moderate 3 0 0
}

adaptive_kept()
{
	local out

	check "on" adapt 2 on
	out=$(in_node 2 ethtool -C ib0 rx-usecs 40000 2>&1) || fail "refused: $out"
	[[ $out == *"while adaptive-rx is on"* ]] || fail "says: $out"
	not_put_off
	check "off" adapt 2 off
	check_eq "values" "$(coalesce 2)" "40000 0"
	put_off
	check "back" moderate 2 0 0
}

# ring_sizes NODE: receives and sends
ring_sizes()
{
	in_node "$1" ethtool -g ib0 | sed -n '/^Current/,$ s/^[RT]X:[\t ]*//p' | xargs
}

resize()
{
	in_node "$1" ethtool -G ib0 "${@:2}"
}

# burst [COUNT]: a hundred frames before the first is reported: how many of them find no receive
burst()
{
	local before

	moderate 2 65535 65535 || return 1
	before=$(drops 2 no_rwqe)
	in_node 1 udp_group send ib0 "$(ip4 2)" 9 100 "${1:-100}" > /dev/null || return 1
	wait_ping 1 2 > /dev/null || return 1
	echo $(($(drops 2 no_rwqe) - before))
	moderate 2 0 0
}

rings()
{
	"rings_$1"
	check_eq "at the end" "$(ring_sizes 2), $(ring_sizes 3)" "256 128, 256 128"
	check "ping" wait_ping 1 2
	check "ping" wait_ping 1 3
}

conns_are()
{
	[ "$(conns "$1" "$2" | grep -c .)" -eq "$3" ]
}

rings_receives()
{
	local address conns

	check "mode" in_mode connected rc 1 2 3
	check "connection" connect 1 3
	check "another on the only CQ" connect 2 3
	# requests may have crossed
	check "one connection" slowwait 15 conns_are 1 3 1
	address=$(lladdr 3)
	conns=$(conns 1 3 | grep -o 'qp=0x[0-9a-f]*')
	check "fewer" resize 3 rx 32
	check_eq "fewer" "$(ring_sizes 3)" "32 128"
	check "nothing lost" ping_lossless 1 "$(ip4 3)" 100
	check_eq "connections" "$(conns 1 3 | grep -o 'qp=0x[0-9a-f]*')" "$conns"
	check "mode" in_mode datagram rc 1 2 3
	check_eq "address" "$(lladdr 3)" "$address"
	check "as before" resize 3 rx 256

	check_eq "not taken of 100" "$(burst)" 0
	check "fewer" resize 2 rx 16
	check_eq "fewer" "$(ring_sizes 2)" "16 128"
	check_num "not taken of 100" "$(burst)" -ge 1
	check "more" resize 2 rx 1024
	check_eq "not taken of 300" "$(burst 300)" 0
	# rounded up
	check "as before" resize 2 rx 200
	check_eq "not taken of 100" "$(burst)" 0
}

# reports NODE: packets and microseconds of a report, of each CQ that is moderated
reports()
{
	knob_get "$1" cq_moderation | grep -vx '0 0'
}

# reports_of NODE PACKETS: there is one CQ, with so many
reports_of()
{
	[[ $(reports "$1") =~ ^"$2 "[0-9]+$ ]]
}

# What connections have had takes a while to go. lib/dim chooses the microseconds.
rings_reports()
{
	check "the traffic decides" adapt 2 on
	check "a quarter of 256" slowwait 20 reports_of 2 64
	check "fewer" resize 2 rx 32
	check "a quarter of 32" reports_of 2 8
	check "as before" resize 2 rx 256
	check "a quarter of 256" reports_of 2 64
	check "set" moderate 2 40000 500
	check "fewer" resize 2 rx 32
	check_eq "set" "$(reports 2)" "500 40000"
	check "as before" resize 2 rx 256
	check_eq "set" "$(reports 2)" "500 40000"
	check "back" moderate 2 0 0
}

# The driver of node 3 cuts up frames: one takes 33 of the 128.
rings_sends()
{
	check "fewer" resize 3 tx 32
	check_eq "fewer" "$(ring_sizes 3)" "256 32"
	tcp_stream 3 1 ip4
	check "nothing lost" ping_lossless 3 "$(ip4 1)" 20
	check "as before" resize 3 tx 128
	tcp_stream 3 1 ip4
}

rings_down()
{
	check "down" node_ip 2 link set ib0 down
	check "set" resize 2 rx 64 tx 64
	check "up" node_ip 2 link set ib0 up
	check "ping" wait_ping 1 2
	check_eq "sizes" "$(ring_sizes 2)" "64 64"
	check "as before" resize 2 rx 256 tx 128
}

rings_refused()
{
	local try

	for try in "rx 1025" "tx 129" "rx 15" "tx 31" "rx 0"; do
		# shellcheck disable=SC2086 # words
		check_not "$try" resize 2 $try
	done
	in_node 2 ethtool -G ib0 rx 15 2>&1 | grep -q "rx at least 16" || fail "no text"
}

# hca_stamps: node 2 asks for time stamps of what it receives; prints the error
hca_stamps()
{
	in_node 2 python3 -c '
import ctypes, fcntl, socket, struct
SIOCSHWTSTAMP, FILTER_ALL = 0x89b0, 1
config = ctypes.create_string_buffer(struct.pack("3i", 0, 0, FILTER_ALL))
request = struct.pack("16sP16x", b"ib0", ctypes.addressof(config))
try:
	fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), SIOCSHWTSTAMP, request)
except OSError as error:
	print(error.errno)
'
}

time_stamps()
{
	check "of what is sent" grep -q software-transmit <(in_node 2 ethtool -T ib0)
	check_eq "of the HCA" "$(hca_stamps)" "$EOPNOTSUPP"
}

ktap_main "$@"
