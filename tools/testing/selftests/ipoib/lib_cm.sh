# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Connected mode: mode and transport of a node, its connections as debugfs shows
# them, and the messages of the CM in a capture.

# Attributes of the CM's messages.
# shellcheck disable=SC2034 # for the tests
{
	CM_REQ=0010
	CM_REJ=0012
	CM_REP=0013
	CM_RTU=0014
	CM_DREQ=0015
	CM_SIDR_REP=0018
}

# net_file NODE NAME: reads a file in /sys/class/net/ib0
net_file()
{
	in_node "$1" cat "/sys/class/net/ib0/$2"
}

set_mode()
{
	in_node "$1" sh -c "echo $2 > /sys/class/net/ib0/mode" 2> /dev/null
}

set_transport()
{
	in_node "$1" sh -c "echo $2 > /sys/class/net/ib0/cm_transport" 2> /dev/null
}

cm_stat()
{
	in_node "$1" ethtool -S ib0 | sed -n "s/^ *$2: //p"
}

cm_stat_is()
{
	test "$(cm_stat "$1" "$2")" "$3" "$4"
}

# cm_view NODE: the debugfs file with the peers and connections of a node
cm_view()
{
	host "$1" cat "/sys/kernel/debug/ipoib/ib0.$(host "$1" stat -Lc %i "/run/netns/node$1")_cm"
}

# conns NODE [TO]: its connections that are not closing, to node TO if given, one
# a line
conns()
{
	local gid=

	[ $# -lt 2 ] || gid=$(port_gid_hex "$2")
	cm_view "$1" | awk -v gid="$gid" '
		/^peer:/ { gsub(":", "", $3); on = gid == "" || $3 == gid }
		/connection:/ && on { $1 = ""; print }'
}

conn_count()
{
	conns "$@" | grep -c established
}

conn_count_is()
{
	[ "$(conn_count "$1" "$2")" -eq "$3" ]
}

# peer_state NODE TO
peer_state()
{
	cm_view "$1" | awk -v gid="$(port_gid_hex "$2")" '
		/^peer:/ { gsub(":", "", $3); on = $3 == gid }
		/state:/ && on { print $2 }'
}

peer_state_is()
{
	[ "$(peer_state "$1" "$2")" = "$3" ]
}

# peer_failures NODE TO
peer_failures()
{
	cm_view "$1" | awk -v gid="$(port_gid_hex "$2")" '
		/^peer:/ { gsub(":", "", $3); on = $3 == gid }
		/failures:/ && on { print $2 }'
}

# receives NODE: how many of connections are posted
receives()
{
	cm_view "$1" | sed -n 's/^receives: //p'
}

# unused_for NODE PEER SECONDS: a connection of node NODE to PEER, a pattern of one digit or more
unused_for()
{
	conns "$1" "$2" | grep -qE "idle=($3|[1-9][0-9]+)s"
}

# receive_pages NODE: what they take
receive_pages()
{
	cm_view "$1" | sed -n 's/^receive_pages: //p'
}

receives_are()
{
	test "$(receives "$1")" "$2" "$3"
}

# all_gone NODE: no connection is left, not even one being taken apart
all_gone()
{
	cm_view "$1" | grep -qx 'connections: 0'
}

# connect FROM TO: a frame from the one to the other, until it has a connection
connect()
{
	slowwait 15 connect_try "$1" "$2"
}

connect_try()
{
	ping_ok "$1" "$(ip4 "$2")"
	peer_state_is "$1" "$2" up
}

# in_mode MODE TRANSPORT NODE...: and nothing is left of what was before
in_mode()
{
	local mode=$1 transport=$2 node

	shift 2
	for node; do
		set_mode "$node" datagram || return 1
		set_transport "$node" "$transport" || return 1
	done
	for node; do
		slowwait 10 all_gone "$node" || return 1
		# Neighbours know the flags of before.
		node_ip "$node" neigh flush dev ib0
		set_mode "$node" "$mode" || return 1
	done
}

# cm_messages ATTR [KEY=VALUE]...: what -f asks for of those messages
cm_messages()
{
	frames mad.class=07 "mad.attr=$1" "${@:2}"
}

# cm_from NODE ATTR FIELD: of the messages it sent
cm_from()
{
	cm_messages "$2" "$(from "$1")" -f "$3" | sort -u
}

# cm_times: of each message of the CM in the capture: microseconds, attribute, communication
# ID, the other one
cm_times()
{
	local unit=1

	# the number that a capture with nanoseconds begins with
	[ "$(head -c 1 "$CAPTURE")" != M ] || unit=1000
	frames mad.class=07 -f t -f mad.attr -f cm.comm -f cm.remote | awk -v unit="$unit" '
		{ split($1, t, "."); printf "%.0f %s %s %s\n", t[1] * 1000000 + t[2] / unit, $2, $3, $4 }'
}

# setup_times: of each connection made in the capture, the microseconds from its first REQ
# to its RTU
setup_times()
{
	cm_times | awk '
		$2 == "'"$CM_REQ"'" && !($3 in asked) { asked[$3] = $1 }
		$2 == "'"$CM_RTU"'" && ($3 in asked) { printf "%d\n", $1 - asked[$3]; delete asked[$3] }'
}

# grants_time: milliseconds from the first REQ in the capture to the last REP, but for repetitions
grants_time()
{
	cm_times | awk '
		$2 == "'"$CM_REQ"'" && !begin { begin = $1 }
		$2 == "'"$CM_REP"'" && !($4 in granted) { granted[$4]; end = $1 }
		END { printf "%d\n", (end - begin) / 1000 }'
}

# private_data NODE MTU: of a message that it sends
private_data()
{
	printf '00%s%08x\n' "$(lladdr_qpn "$1")" "$2"
}

# The Q_Key of QP 1 (IBTA 3.5.3).
QP1_QKEY=0x80010000

# to_qp1 [FROM]: its HCA (node 1's) to node 2's CM, the messages of standard input
to_qp1()
{
	ud_to 2
	ud_verbs "$(ibdev "${1:-1}")" "${UD_TO[@]}" -q 1 -Q "$QP1_QKEY" -d -
}

# A REP is given up after 6 s, a REQ after 4.6 s: too little for what starts processes. So
# these are there before the message that they answer, and end with the capture.

# reps: those that node 2 has sent into the capture: its communication ID, and that of the REQ
reps()
{
	cm_messages "$CM_REP" "$(from 2)" -f cm.comm -f cm.remote | sort -u
}

# granted COUNT: so many
granted()
{
	[ "$(reps | wc -l)" -ge "$1" ]
}

# make_up FIRST COUNT [NODE [COMM]]: so many peers, all at NODE (1), with QPNs from there on,
# have a connection to node 2. The capture goes on. COMM is the first communication ID and QPN of
# the connections (FIRST). Few wait for their RTU at a time.
make_up()
{
	local first comm node=${3:-1} args

	printf -v first '%06x' "$1"
	printf -v comm '%06x' "${4:-$1}"
	args=("count=$2" "comm=$comm" "private=00${first}00010000")
	capture_start "peers$comm"
	"$LIB_DIR/cm_forge.py" req "${args[@]}" "qpn=$comm" \
		wait=15 retries=f "sid=0100000000$(lladdr_qpn 2)" \
		"slid=$(lid_hex "$node")" "dlid=$(lid_hex 2)" \
		"sgid=$(port_gid_hex "$node")" "dgid=$(port_gid_hex 2)" > "$TESTDIR/forged"
	cm_messages "$CM_REP" "$(from 2)" -f cm.comm -f cm.remote -F "$CAPTURE_PID" |
		"$LIB_DIR/cm_forge.py" rtu "${args[@]}" "requests=$TESTDIR/forged" |
		to_qp1 "$node" &
	FOLLOWERS+=($!)
	busywait 20000 granted "$2" && return
	fail "$(reps | wc -l) of $2 requests were granted"
	return 1
}

# ready_at_once FROM ARG...: that node sends the REQs in $TESTDIR/forged to node 2's CM, and to
# each REP the RTU that cm_forge.py makes with ARG...
ready_at_once()
{
	local from=$1

	shift
	{
		cat "$TESTDIR/forged"
		cm_messages "$CM_REP" "$(from 2)" -f cm.comm -f cm.remote -F "$CAPTURE_PID" |
			"$LIB_DIR/cm_forge.py" rtu "$@"
	} | to_qp1 "$from" &
	FOLLOWERS+=($!)
}

# answer_at_once QPN KIND ARG...: node 1 answers the REQs of node 2 for that QPN
answer_at_once()
{
	cm_messages "$CM_REQ" "cm.sid=0100000000$1" -f cm.comm -F "$CAPTURE_PID" | sed -u 's/$/ 77/' |
		"$LIB_DIR/cm_forge.py" "${@:2}" | to_qp1 &
	FOLLOWERS+=($!)
}

# ping_longest FROM ADDRESS COUNT [ARG...]: as ping_lossless, and prints the longest time
# that an answer took, in milliseconds
ping_longest()
{
	local out

	out=$(in_node "$1" ping -n -c "$3" -i 0.01 -w $((10 * SLOW)) "${@:4}" "$2" 2>&1)
	ping_complete "$3" <<< "$out" || return 1
	sed -n 's|^rtt .* = [^/]*/[^/]*/\([0-9]*\)\..*|\1|p' <<< "$out"
}

# no_pmtu FROM TO: no ICMP error, and nothing of the driver, has given that route an MTU
no_pmtu()
{
	local family

	for family in 4 6; do
		in_node "$1" ip "-$family" route get "$("ip$family" "$2")" | grep 'mtu [0-9]' && return 1
	done
	return 0
}

# For tests that want to see why something failed.
cm_diagnose()
{
	local node

	for node; do
		note "node $node: $(cm_view "$node")"
		note "$(in_node "$node" ethtool -S ib0 | grep -v ': 0$' | tr -s ' \n' ' ')"
	done
}

# No connection, but neighbours that know each other.
all_apart()
{
	local node

	for node in 1 2; do
		set_mode "$node" datagram || return 1
	done
	for node in 1 2; do
		slowwait 10 all_gone "$node" || return 1
	done
	check "ping" ping_once 1 "$(ip4 2)"
	check "ping" ping_once 2 "$(ip4 1)"
	for node in 1 2; do
		set_mode "$node" connected || return 1
	done
}

# Nodes 1 and 2 have one connection, and use it.
settled()
{
	[ "$(conns 1 2 | wc -l)" -eq 1 ] && [ "$(conns 2 1 | wc -l)" -eq 1 ] &&
		conn_count_is 1 2 1 && conn_count_is 2 1 1 &&
		peer_state_is 1 2 up && peer_state_is 2 1 up
}

# kernel_kb: what the kernel has allocated for itself, but for whole pages, as those of
# receive buffers: there are no more than recv_queue_size. To the page, unlike what is
# free, of which each CPU has its lists.
kernel_kb()
{
	awk '/^(SUnreclaim|VmallocUsed|Percpu):/ { kb += $2 } END { print kb }' /proc/meminfo
}

available_kb()
{
	sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

# ---- for what is done a thousand times: nothing is started for it ----

declare -A SHELL_IN=() SHELL_OUT=()

# shell_start NODE: a shell that stays there, for ask
shell_start()
{
	local fifo=$TESTDIR/shell.$1 in out

	mkfifo "$fifo.in" "$fifo.out"
	exec {in}<> "$fifo.in" {out}<> "$fifo.out"
	spawn "$1" bash < "$fifo.in" > "$fifo.out" 2>&1 &
	BACKGROUND+=($!)
	SHELL_IN[$1]=$in
	SHELL_OUT[$1]=$out
}

# tell NODE COMMANDS: that shell shall run them, which print one line
tell()
{
	echo "$2" >&"${SHELL_IN[$1]}"
}

# heard NODE: sets HEARD to that line
heard()
{
	read -r -t $((30 * SLOW)) -u "${SHELL_OUT[$1]}" HEARD
}

# ask NODE COMMANDS: both
ask()
{
	tell "$@"
	heard "$1"
}

# shells_stop: they ended with what else was in the background
shells_stop()
{
	local node in out

	background_stop
	for node in "${!SHELL_IN[@]}"; do
		in=${SHELL_IN[$node]} out=${SHELL_OUT[$node]}
		exec {in}>&- {out}>&-
		rm -f "$TESTDIR/shell.$node".{in,out}
	done
	SHELL_IN=()
	SHELL_OUT=()
}
