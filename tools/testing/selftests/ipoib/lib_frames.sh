# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Frames: capture on the fabric's wires and decode (ibdump; tshark as the judge that
# is not ours), and the C helpers that send and receive odd ones.

CAPTURE_PID=
CAPTURE=
# Processes that go on with what is captured, and end with the capture
declare -a FOLLOWERS=()
MARKER=0

# Compile what the Makefile did not. In the guest all of them are there.
tools_build()
{
	local prog

	mkdir -p "$TOOLS"
	for prog in ibdump raw_frame rexec udp_group ud_verbs fault_arm umad_take umad_send hold \
		sidr_user; do
		[ -n "${IPOIB_TOOLS:-}" ] && [ -x "$TOOLS/$prog" ] && continue
		if [ "$LIB_DIR/$prog" -nt "$LIB_DIR/$prog.c" ]; then
			cp "$LIB_DIR/$prog" "$TOOLS/"
			continue
		fi
		case $prog in
		ud_verbs) cc -O1 -o "$TOOLS/$prog" "$LIB_DIR/$prog.c" -libverbs ;;
		sidr_user) cc -O1 -o "$TOOLS/$prog" "$LIB_DIR/$prog.c" -lrdmacm ;;
		*) cc -O1 -o "$TOOLS/$prog" "$LIB_DIR/$prog.c" ;;
		esac || ktap_bail "cannot compile $prog"
	done
}

# ud_send NODE ARG...: ud_verbs on that node's HCA
ud_send()
{
	host "$1" ud_verbs "$(ibdev "$1")" "${@:2}"
}

capture_has_header()
{
	[ "$(wc -c < "$CAPTURE")" -ge 24 ]
}

# capture_start NAME: every frame of the fabric, from now on, into $CAPTURE
capture_start()
{
	CAPTURE=$TESTDIR/$1.pcap
	capture_stream > "$CAPTURE" &
	CAPTURE_PID=$!
	busywait 5000 capture_has_header || ktap_bail "no capture"
}

capture_kill()
{
	[ -n "$CAPTURE_PID" ] || return 0
	kill "$CAPTURE_PID" 2> /dev/null
	wait "$CAPTURE_PID" 2> /dev/null
	CAPTURE_PID=
	[ ${#FOLLOWERS[@]} -eq 0 ] || wait "${FOLLOWERS[@]}"
	FOLLOWERS=()
}

# A frame of our own through the fabric, node 1 to node 2, to a QP that nobody
# has: when it is in the file, so is all that came before it.
capture_sync()
{
	local mark

	MARKER=$((MARKER + 1))
	mark=$(printf 'fefe0000%08x' $MARKER)
	ud_to 2
	ud_send 1 "${UD_TO[@]}" -q 0xfefefe -Q 0x1 -d "$mark" ||
		{ fail "cannot send the marker"; return 1; }
	busywait 5000 frame_seen "data=$mark" || fail "the marker is not in the capture"
}

capture_stop()
{
	capture_sync
	capture_kill
}

# frames [-f KEY]... [KEY=VALUE|KEY!=VALUE]...: see ibdump.c
frames()
{
	ibdump "$CAPTURE" "$@"
}

frame_count()
{
	frames "$@" | wc -l
}

frame_seen()
{
	[ -n "$(frames -f n "$@" | head -n 1)" ]
}

# frames_all KEY VALUE CONDITION...: there are such frames, and all have that value
frames_all()
{
	local key=$1 value=$2 got

	shift 2
	got=$(frames -f "$key" "$@" | sort -u)
	[ "$got" = "$value" ] && return
	echo "$key is '${got//$'\n'/ }' in frames $*"
	return 1
}

# frames_to NODE CONDITION...: there are such frames, and all go to that node
frames_to()
{
	local to

	to=$(to "$1")
	frames_all "${to%%=*}" "${to#*=}" "${@:2}"
}

# broadcasts_over_ud NODE: what it broadcasts is datagrams, whatever its mode
broadcasts_over_ud()
{
	capture_start multicast
	in_node "$1" udp_group send ib0 255.255.255.255 9 32 3
	capture_stop
	check_num "broadcasts over UD" "$(frame_count op=64 "dgid=$BROADCAST_MGID" dport=9)" -eq 3
}

# tshark_read FIELD...: have it decode the capture, once: it takes seconds to start. Of
# several such fields in a frame the last, the innermost, counts.
tshark_read()
{
	local field copy=$TESTDIR/tshark.pcap
	local args=("${TSHARK_ARGS[@]}")

	for field; do
		args+=(-e "$field")
	done
	tshark_copy "$copy"
	tshark -n -r "$copy" -T fields -E header=y -E "occurrence=${TSHARK_OCCURRENCE:-l}" "${args[@]}" \
		> "$TESTDIR/tshark.tsv" 2> "$TESTDIR/tshark.err"
}

# tshark_rows FIELD=VALUE FIELD...: those fields of the frames where the first has
# that value, separated by spaces, "-" for one a frame does not have
tshark_rows()
{
	awk -F '\t' -v fields="$*" '
		NR == 1 {
			n = split(fields, want, " ")
			sub(/=.*/, "", want[1])
			value = substr(fields, length(want[1]) + 2)
			sub(/ .*/, "", value)
			for (i = 1; i <= NF; i++)
				column[$i] = i
			next
		}
		$column[want[1]] == value {
			line = ""
			for (i = 2; i <= n; i++) {
				val = (want[i] in column) ? $column[want[i]] : "?"
				# versions of tshark differ in the colons
				if (want[i] ~ /[.]hw$/)
					gsub(":", "", val)
				line = line (i > 2 ? " " : "") (val == "" ? "-" : val)
			}
			print line
		}' "$TESTDIR/tshark.tsv"
}

# ---- packet sockets and multicast receivers, in the background ----

# listen NODE ETHERTYPE COUNT MS: until COUNT frames or MS went by; the process
# is $LISTENER, and received NODE prints the frames
listen()
{
	local log=$TESTDIR/recv.$1

	spawn "$1" raw_frame recv ib0 "$2" "$3" $(($4 * SLOW)) > "$log" &
	# shellcheck disable=SC2034 # for the tests
	LISTENER=$!
	busywait 5000 grep -q ready "$log" || fail "the listener does not start"
}

received()
{
	sed 1d "$TESTDIR/recv.$1"
}

# A claim that a frame does not arrive needs an end. After the frame goes a marker by
# the same way, which does arrive: what comes before it is there by then, and on a
# slow machine all of that takes longer.

# listen_marker NODE ETHERTYPE: for the marker, whose data MARK is from now on
listen_marker()
{
	MARKER=$((MARKER + 1))
	MARK=$(printf 'fefe0001%08x' $MARKER)
	listen "$1" "$2" 1 20000
}

# first_is_marker NODE: and not the frame that was sent before it
first_is_marker()
{
	wait "$LISTENER" || { fail "node $1 does not get the marker"; return 1; }
	# short frames are padded on their way
	check "node $1 gets the marker first" grep -q "data=$MARK" <<< "$(received "$1")"
}

# udp_listen NODE ADDRESS PORT COUNT MS [gap]: the same for datagrams; received NODE
# prints how many came (and with "gap" how many in a row did not, at most)
udp_listen()
{
	local log=$TESTDIR/recv.$1

	spawn "$1" udp_group recv ib0 "${@:2:3}" $(($5 * SLOW)) "${@:6}" > "$log" &
	# shellcheck disable=SC2034 # for the tests
	LISTENER=$!
	busywait 5000 grep -q ready "$log" || fail "the receiver does not start"
}

# udp_mark NODE GROUP PORT: it ends udp_listen, which has what was sent before it by then
udp_mark()
{
	in_node "$1" udp_group send ib0 "$2" "$3" 4 1
}

# udp_frames PORT ARG...: as frames, of those to that port but for such markers
udp_frames()
{
	frames "dport=$1" ip.len!=32 ip6.len!=12 "${@:2}"
}

# group_join NODE GROUP...: hold the memberships; group_leave ends them
group_join()
{
	local log=$TESTDIR/join.$1

	: > "$log"
	spawn "$1" udp_group join ib0 "${@:2}" > "$log" &
	JOINER=$!
	BACKGROUND+=("$JOINER")
	background_ready "$log" || fail "cannot join ${*:2}"
}

group_leave()
{
	kill "${1:-$JOINER}"
	wait "${1:-$JOINER}" 2> /dev/null
}
