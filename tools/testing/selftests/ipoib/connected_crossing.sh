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
# Messages of the CM are delayed on their way. CROSSINGS is how many requests shall
# cross: tools/testing/check --env CROSSINGS=1000 --limit 3000 connected_crossing.sh

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CROSSINGS=${CROSSINGS:-10}
# How long a message of the CM is on its way: longer than the one node may be later
# than the other, which takes more on a slow machine. Twice the most is less than the half
# second after which a request is repeated.
DELAY=60
DELAY_MOST=240

CASES=(
	"crossing C17,C18 crossing requests leave exactly one connection, each time"
	"crossing_works C17 the last connection carries packets, and no other connection is left"
	"crossing_code C16,C17 the refused request gets the reason \"consumer reject\", with private data"
	"crossing_skewed C17 crossing requests leave one connection also if one request is late"
	"crossing_long C17,C34 packets too long for UD wait while the request of the greater address is lost"
	"crossing_slow C17 a request is not sent if the peer was faster while its QP was made"
	"crossing_linux C17,C21 a request to the service ID of Linux is granted while an own request to the RFC's is pending, unlike a request to the RFC's"
)

NEEDS=(
	[crossing_works]=crossing
	[crossing_code]=crossing_works
)

setup()
{
	local node

	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	in_mode connected rc 1 2 || ktap_bail "no connected mode"
	for node in 1 2; do
		VIEW[node]=/sys/kernel/debug/ipoib/ib0.$(stat -Lc %i "/run/netns/node$node")_cm
	done
	GREATER=1
	[[ $(lladdr 1 | cut -c 3-) > $(lladdr 2 | cut -c 3-) ]] || GREATER=2
}

diagnose()
{
	cm_diagnose 1 2
}

# meet [ARG...]: both ask at once: each has a neighbour but no connection
meet()
{
	local first second

	ping_lossless 1 "$(ip4 2)" 5 "$@" > "$TESTDIR/meet1" &
	first=$!
	ping_lossless 2 "$(ip4 1)" 5 "$@" > "$TESTDIR/meet2" &
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
	cm_delay 1 "$1"
	cm_delay 2 "$2"
}

# ---- a round, without starting a process ----

# count_all: sets REQUESTS[node], and CROSSED of both
count_all()
{
	local node

	CROSSED=0
	# shellcheck disable=SC2016 # for that shell
	for node in 1 2; do
		tell "$node" 'ethtool -S ib0 | awk "/cm_requests:/ { r = \$2 } /cm_crossed:/ { c = \$2 } END { print r, c }"'
	done
	for node in 1 2; do
		heard "$node"
		REQUESTS[node]=${HEARD% *}
		CROSSED=$((CROSSED + ${HEARD#* }))
	done
}

# look NODE: sets LOOK to its connections that are not closing, and to how it stands
# with its peer: " state role state role ... peer state"
look()
{
	local key value rest

	LOOK=
	while read -r key value rest; do
		case $key in
		connection:)
			read -r _ rest _ <<< "$rest"
			LOOK+=" $value $rest"
			;;
		state:) LOOK+=" peer $value" ;;
		esac
	done < "${VIEW[$1]}"
}

# Each has one connection, it is the same one, and both use it. Sets ASKER to the node
# that has asked for it.
one_survivor()
{
	local other

	look 1
	case $LOOK in
	" peer up established active") ASKER=1 other=passive ;;
	" peer up established passive") ASKER=2 other=active ;;
	*) return 1 ;;
	esac
	look 2
	[ "$LOOK" = " peer up established $other" ]
}

# survivor MS: until then
survivor()
{
	local end=$((${EPOCHREALTIME/./} / 1000 + $1 * SLOW))

	until one_survivor; do
		[ $((${EPOCHREALTIME/./} / 1000)) -lt "$end" ] || return 1
		nap 0.02
	done
}

# shellcheck disable=SC2016 # for that shell
apart='for m in datagram connected; do echo $m > /sys/class/net/ib0/mode; done; echo'

# round: no connection, then a datagram from each to the other at once
round()
{
	local node

	for node in 1 2; do
		tell "$node" "$apart"
	done
	heard 1 && heard 2 || return 1
	count_all
	delays "$DELAY" "$DELAY"
	for node in 1 2; do
		tell "$node" "echo > /dev/udp/$(ip4 $((3 - node)))/9; echo"
	done
	heard 1 && heard 2 || return 1
	survivor 60000
}

# judge ROUND REQUESTS1 REQUESTS2 CROSSED: whether the requests have crossed, by what was
# counted before the round. If one node was late it has not asked.
judge()
{
	local asked

	asked=$((REQUESTS[1] - $2)).$((REQUESTS[2] - $3)).$((CROSSED - $4))
	case $asked in
	1.1.1)
		check_eq "round $1: who asked for what is left" "$ASKER" "$GREATER"
		return 0
		;;
	1.0.0 | 0.1.0) ;;
	*) note "round $1: requests and refusals are $asked" ;;
	esac
	return 1
}

crossing()
{
	local i real=0 start=$SECONDS before

	shell_start 1
	shell_start 2
	capture_start crossing
	for ((i = 1; real < CROSSINGS && i <= 2 * CROSSINGS + 30 && !RET; i++)); do
		[ "$i" -ne 20 ] || capture_stop
		round || fail "round $i: node $GREATER: $(conns "$GREATER"), node $((3 - GREATER)): $(conns $((3 - GREATER)))"
		before="${REQUESTS[1]} ${REQUESTS[2]} $CROSSED"
		delays 0 0
		count_all
		# shellcheck disable=SC2086 # three words
		if judge "$i" $before; then
			real=$((real + 1))
		else
			DELAY=$((2 * DELAY < DELAY_MOST ? 2 * DELAY : DELAY_MOST))
		fi
	done
	[ "$i" -gt 20 ] || capture_stop
	shells_stop
	note "$real of $((i - 1)) rounds were crossings, in $((SECONDS - start)) s, with $DELAY ms on the way"
	check_num "crossings" "$real" -ge "$CROSSINGS"
}

crossing_works()
{
	check "ping" ping_lossless 1 "$(ip4 2)" 20 -s 3000
	check "ping back" ping_lossless 2 "$(ip6 1)" 20 -s 3000
	check "one connection" settled
	check "nothing that closes" slowwait 10 none_but_one
}

none_but_one()
{
	grep -qx 'connections: 1' <<< "$(cm_view 1)" && grep -qx 'connections: 1' <<< "$(cm_view 2)"
}

# What crossing captured: the greater address has refused.
crossing_code()
{
	CAPTURE=$TESTDIR/crossing.pcap
	check "reason" frames_all "$FROM_KEY" "$(from "$GREATER" | cut -d = -f 2)" \
		mad.class=07 "mad.attr=$CM_REJ" cm.reason=28
	check_eq "private data" "$(cm_messages "$CM_REJ" cm.reason=28 -f cm.private | sort -u)" "$(private_data "$GREATER" 65524)"
}

crossing_skewed()
{
	local skew

	for skew in "10 90" "90 10" "0 150" "150 0"; do
		[ "$RET" -eq 0 ] || return
		all_apart || fail "connections stay"
		# shellcheck disable=SC2086 # two words
		delays $skew
		check "pings, $skew" meet
		delays 0 0
		check "one connection, $skew" slowwait 15 settled
	done
}

# The request of the greater address is repeated after more than half a second.
crossing_long()
{
	all_apart || fail "connections stay"
	delays 60 60
	knob_set "$GREATER" drop_next_mad 1
	check "pings" meet -s 5000
	check "one connection" within 500 settled
	knob_set "$GREATER" drop_next_mad 0
	delays 0 0
}

# asks_and_grants NODE: it requests a connection of the other node, and is to grant one
asks_and_grants()
{
	local lines

	lines=$(conns "$1" $((3 - $1)))
	grep -q '^ *connecting rc active both ' <<< "$lines" &&
		grep -q '^ *accepting rc passive both ' <<< "$lines"
}

# The answer to the packet of the smaller address has the other node request a connection, long
# before the QP is there.
crossing_slow()
{
	local before lesser=$((3 - GREATER))

	all_apart || fail "connections stay"
	before=$(cm_stat "$lesser" cm_requests)
	knob_set "$lesser" make_qp_ms 2500
	check "ping" ping_once "$lesser" "$(ip4 "$GREATER")"
	check "both" busywait 2500 asks_and_grants "$lesser"
	knob_set "$lesser" make_qp_ms 0
	check "one connection" slowwait 15 settled
	check_eq "requests sent" "$(cm_stat "$lesser" cm_requests)" "$before"
}

# forge_request SERVICE COMM: of the node with the smaller address, by that service ID
forge_request()
{
	local lesser=$((3 - GREATER))

	"$LIB_DIR/cm_forge.py" req "sid=${1}00000000$(lladdr_qpn "$GREATER")" "comm=$2" "qpn=$2" \
		"slid=$(lid_hex "$lesser")" "dlid=$(lid_hex "$GREATER")" \
		"sgid=$(port_gid_hex "$lesser")" "dgid=$(port_gid_hex "$GREATER")" \
		"private=00$(lladdr_qpn "$lesser")00010000" retries=f
}

# The greater address' request does not arrive, and is repeated for 4.6 s; nor do its answers. Both
# requests of the other node are there before it: only sending them takes time.
crossing_linux()
{
	local asked crossed lesser=$((3 - GREATER))

	all_apart || fail "connections stay"
	check "node $lesser requests none" set_mode "$lesser" datagram
	{
		forge_request 10 9000
		forge_request 01 9001
	} > "$TESTDIR/requests"
	asked=$(cm_stat "$GREATER" cm_requests)
	crossed=$(cm_stat "$GREATER" cm_crossed)
	knob_set "$GREATER" drop_every_mad 1
	check "ping" ping_once "$GREATER" "$(ip4 "$lesser")"
	check "a request" busywait 3000 cm_stat_is "$GREATER" cm_requests -gt "$asked"
	ud_to "$GREATER"
	check "send" ud_verbs "$(ibdev "$lesser")" "${UD_TO[@]}" -q 1 -Q "$QP1_QKEY" -d - < "$TESTDIR/requests"
	check "the second is refused" busywait 3000 cm_stat_is "$GREATER" cm_crossed -gt "$crossed"
	check "the first is granted" grep -q '^ *accepting rc passive one ' <<< "$(conns "$GREATER" "$lesser")"
	check_eq "refused" $(($(cm_stat "$GREATER" cm_crossed) - crossed)) 1
	knob_set "$GREATER" drop_every_mad 0
	check "nothing is left" in_mode connected rc 1 2
}

declare -a VIEW REQUESTS

ktap_main "$@"
