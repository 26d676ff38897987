#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs print the driver's tracepoints without the module, and drop monitors are told why a frame
# was dropped.
#
#	node1          node2
#	  |              |
#	+-+--------------+-+
#	|      switch      |
#	+------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"formats - the format of each tracepoint has all names, and no address of the module"
	"printed:drop - perf prints the counter of a dropped frame"
	"printed:path - perf prints the steps of a path"
	"reason:no_path:NEIGH_FAILED - the kernel's reason is given for a frame without a path"
	"reason:other_link:DEV_HDR - the kernel's reason is given for a frame to a group of another link"
	"reason:too_long:PKT_TOO_BIG - the kernel's reason is given for a frame longer than the MTU of the link"
	"reason:queue_full:NEIGH_QUEUEFULL - the kernel's reason is given for a frame beyond the frames waiting for a path"
)

TRACEFS=/sys/kernel/tracing
TRACING=$TRACEFS/instances/ipoib-drops
# as the trace has it
ETHERTYPE=0x88b5
PROTOCOL=34997

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	mountpoint -q "$TRACEFS" || mount -t tracefs tracefs "$TRACEFS" || ktap_bail "no tracefs"
}

teardown()
{
	[ ! -d "$TRACING" ] || rmdir "$TRACING"
}

# send LLADDR [OCTETS [COUNT]]: node 1 sends a frame
send()
{
	local payload

	printf -v payload '%*s' "${2:-4}" ''
	in_node 1 raw_frame send ib0 "$1" "$ETHERTYPE" "${payload// /ca}" "${3:-1}"
}

# unknown N: the link-layer address of a port that is not there
unknown()
{
	printf '00000099fe80000000000000025053000099%04x\n' "$1"
}

# A group of scope 5; the link has scope 2.
OTHER_LINK=00ffffffff15401bffff00000000000000000101
# One of the link, without members
LINK_GROUP=00ffffffff12401bffff0000000000000f000101

formats()
{
	local format name

	for name in drop mcast path police notice conn; do
		format=$TRACEFS/events/ipoib/ipoib_$name/format
		check "there is ipoib_$name" test -r "$format" || continue
		check_not "a table of the module" grep ipoib_stat_names "$format"
		check_not "a constant of the driver" grep IPOIB_ "$format"
		check_not "an address" grep 'field:const char \*' "$format"
	done
	format=$TRACEFS/events/ipoib/ipoib_drop/format
	for name in rx_packets tx_drop_no_path tx_drop_no_broadcast cm_errors; do
		check "$name" grep -q "{ [0-9]*, \"$name\" }" "$format"
	done
}

# What perf prints of it
printed()
{
	local data=$TESTDIR/perf.data text=$TESTDIR/perf.$1
	local -A line=(
		[drop]='ipoib:ipoib_drop: ib0 len=[0-9]* tx_drop_other_link$'
		[path]='ipoib:ipoib_path: ib0 fe80:[0-9a-f:]*9999 query status=[0-9-]*$'
	)

	# shellcheck disable=SC2016 # for that shell
	check "recorded" perf record -q -a -o "$data" -e ipoib:ipoib_drop \
		-e ipoib:ipoib_path -- ip netns exec node1 sh -c '
			raw_frame send ib0 "$0" "$2" cafe
			raw_frame send ib0 "$1" "$2" cafe
			for i in $(seq 50); do
				n=$(ethtool -S ib0 | sed -n "s/^ *tx_drop_no_path: //p")
				[ "$n" -eq "$3" ] || exit 0
				sleep 0.1
			done' "$OTHER_LINK" "$(unknown 39321)" "$ETHERTYPE" "$(xstat 1 tx_drop_no_path)"
	perf script -i "$data" > "$text" 2> "$text.errors"
	note "$(head -n 5 "$text")"
	check "as it is meant" grep -q "${line[$1]}" "$text"
	check_not "not understood" grep -i 'failed to parse\|unknown op\|bad op' "$text" "$text.errors"
}

# drop_of CAUSE: have a frame dropped for it
drop_of()
{
	case $1 in
	no_path) send "$(unknown 1)" ;;
	other_link) send "$OTHER_LINK" ;;
	too_long) send "$LINK_GROUP" 4000 ;;
	queue_full) send "$(unknown 2)" 4 100 ;;
	esac
}

# reason_seen REASON: the trace has a frame of ours with it
reason_seen()
{
	grep -q "kfree_skb: .*protocol=$PROTOCOL .*reason: $1\$" "$TRACING/trace"
}

reason()
{
	mkdir -p "$TRACING"
	case $1 in
	too_long)
		check "connected" node_ip 1 link set ib0 type ipoib mode connected
		check "carrier" wait_carrier 1
		;;
	queue_full) knob_set 1 delay_ms_mad 500 ;;
	esac
	echo > "$TRACING/trace"
	echo 1 > "$TRACING/events/skb/kfree_skb/enable"
	check "sent" drop_of "$1"
	check "reason" slowwait 10 reason_seen "$2" ||
		note "$(grep "protocol=$PROTOCOL" "$TRACING/trace")"
	echo 0 > "$TRACING/events/skb/kfree_skb/enable"
	rmdir "$TRACING"
	case $1 in
	too_long)
		check "datagram" node_ip 1 link set ib0 type ipoib mode datagram
		;;
	queue_full)
		knob_set 1 delay_ms_mad 0
		;;
	esac
}

ktap_main "$@"
