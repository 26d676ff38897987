# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# OpenSM with a private configuration, cache and log, the partitions it is given,
# and questions to its SA.

declare -A OPENSM_PID

# partitions LINE...: what opensm_start reads; none: OpenSM's own default, one
# partition 0xffff of all ports with an IPoIB broadcast group
partitions()
{
	printf '%s\n' "$@" > "$TESTDIR/partitions.conf"
}

no_partitions()
{
	rm -f "$TESTDIR/partitions.conf"
}

# opensm_spawn NODE [OPTION...]: start it and return
opensm_spawn()
{
	local node=$1 dir=$TESTDIR/sm$1

	shift
	mkdir -p "$dir"
	# else "SUBNET UP" may stay in its buffer: it is an error at the first sweep
	# (flushed), but news after a sweep that a trap has come into
	printf '%s\n' "force_log_flush TRUE" "${OPENSM_CONF:-}" > "$dir/opensm.conf"
	[ -e "$TESTDIR/partitions.conf" ] &&
		set -- -P "$TESTDIR/partitions.conf" "$@"
	cat "$dir/opensm.log" >> "$dir/opensm.log.old" 2> /dev/null
	: > "$dir/opensm.log"
	OSM_CACHE_DIR=$dir OSM_TMP_DIR=$dir setsid opensm -F "$dir/opensm.conf" \
		-g "0x$(port_guid "$node")" -f "$dir/opensm.log" "$@" \
		> "$dir/stdout" 2>&1 < /dev/null &
	OPENSM_PID[$node]=$!
}

opensm_is_up()
{
	grep -q 'SUBNET UP' "$TESTDIR/sm$1/opensm.log"
}

# opensm_start [NODE [OPTION...]]: and wait until the whole fabric is up
opensm_start()
{
	local node=${1:-1}

	[ $# -eq 0 ] || shift
	opensm_spawn "$node" "$@"
	slowwait 30 opensm_is_up "$node" ||
		{ tail -n 5 "$TESTDIR/sm$node"/{stdout,opensm.log}; ktap_bail "no subnet from opensm"; }
	wait_ports_active
}

opensm_signal()
{
	local node=$1 signal=$2 pid

	pid=${OPENSM_PID[$node]:-}
	[ -n "$pid" ] || return 0
	kill "-$signal" "$pid" 2> /dev/null
	wait "$pid" 2> /dev/null
	unset "OPENSM_PID[$node]"
}

# The SM says goodbye.
opensm_stop()
{
	opensm_signal "${1:-1}" TERM
}

# The SM is dead of a sudden.
opensm_kill()
{
	opensm_signal "${1:-1}" KILL
}

opensm_stop_all()
{
	local node

	for node in "${!OPENSM_PID[@]}"; do
		opensm_kill "$node"
	done
}

# new_sm PARTITION...: a new SM with other ideas
new_sm()
{
	opensm_stop
	partitions "$@"
	opensm_start
}

# opensm_reread [NODE]: make it read partitions.conf again and sweep
opensm_reread()
{
	local node=${1:-1}

	kill -HUP "${OPENSM_PID[$node]}"
}

# sa NODE ARG...: saquery from that node, trusted, so that members are shown
sa()
{
	local node=$1

	shift
	timeout $((20 * SLOW)) saquery -C "$(ibdev "$node")" -P 1 --smkey "${SA_KEY:-1}" "$@"
}

# Records of the SA, a line each: key=value words; numbers as saquery has them.
sa_records()
{
	sa "$@" | awk '
		/dump:/ { if (line) print line; line = ""; next }
		/\.\.\./ {
			key = $0; sub(/^[ \t]*/, "", key); sub(/\.\..*/, "", key)
			val = $0; sub(/.*\.\.\./, "", val); sub(/^\.*/, "", val)
			gsub(/[ \t]/, "_", val)
			line = line (line ? " " : "") key "=" val
		}
		END { if (line) print line }'
}

# word KEY: the value of KEY= in the words of standard input, first line
word()
{
	sed -n "1s/.*\\b$1=\\([^ ]*\\).*/\\1/p"
}

# sa_group MGID: its record as words (qkey, mlid, mtu, pkey, rate, SL, ...)
sa_group()
{
	sa_records 1 MCMR --mgid "$1" | head -n 1
}

sa_group_exists()
{
	[ -n "$(sa_group "$1")" ]
}

sa_group_gone()
{
	! sa_group_exists "$1"
}

# sa_field MGID KEY
sa_field()
{
	sa_group "$1" | word "$2"
}

# All MGIDs the SM knows, as inet_ntop writes them.
sa_mgids()
{
	sa_records 1 -g | sed -n 's/.*\bMGID=\([^ ]*\).*/\1/p' | sort -u
}

# sa_members MGID: "port GID join state" of each member
sa_members()
{
	local mlid

	mlid=$(sa_field "$1" mlid)
	[ -n "$mlid" ] || return 1
	sa_records 1 MCMR --mlid "$mlid" |
		sed -n 's/.*PortGid=\([^ ]*\).*JoinState=\([^ ]*\).*/\1 \2/p'
}

# sa_join_state NODE MGID: of that node's port, or nothing
sa_join_state()
{
	sa_records 1 MCMR --mgid "$2" --gid "$(port_gid "$1")" | word JoinState
}

# join_state_is NODE MGID STATE
join_state_is()
{
	[ "$(sa_join_state "$1" "$2")" = "$3" ]
}

sa_is_member()
{
	[ -n "$(sa_join_state "$1" "$2")" ]
}

sa_is_full_member()
{
	local state

	state=$(sa_join_state "$1" "$2")
	[ -n "$state" ] && [ $((state & 1)) -eq 1 ]
}

sa_is_no_member()
{
	! sa_is_member "$1" "$2"
}

# ---- messages of our own ----

# umad_file NODE: where programs send MADs from that port
umad_file()
{
	local dir

	for dir in /sys/class/infiniband_mad/umad*; do
		[ "$(cat "$dir/ibdev")" = "$(ibdev "$1")" ] || continue
		echo "/dev/infiniband/${dir##*/}"
		return
	done
}

# mad_send FROM TO QPN TIMEOUT_MS HEX...: see umad_send.c
mad_send()
{
	umad_send "$(umad_file "$1")" "$(port_lid "$2")" "${@:3}"
}

# zeros N: so many octets, in hex
zeros()
{
	printf '%0*d' $(($1 * 2)) 0
}

# sa_answer NODE TID ATTRIBUTE HEX: as from node 1's SA, which is held meanwhile (kill
# -STOP), to a question of that node: the record in hex
sa_answer()
{
	mad_send 1 "$1" 1 0 "01030281$(zeros 4)$2$3$(zeros 6)$(zeros 32)$4"
}

# group_create NODE MGID QKEY MTU SLFLOWHOP [PKEY [RATE]]: a program there joins it with all values
# of a new group. All in hex; MTU and RATE with their selectors: 84 is 2048 octets, 83, the default,
# 10 Gb/s (IBTA 15.2.5.17)
group_create()
{
	local mask=00000000000173f7 answer

	answer=$(mad_send "$1" 1 1 10000 "01030202$(zeros 4)0000000000000001""0038$(zeros 6)$(zeros 24)$mask""\
$2""$(port_gid_hex "$1")$3""0000""${4}00""${6:-ffff}""${7:-83}""00""$5""21") || return 1
	[ "${answer:8:4}" = 0000 ] || { echo "status ${answer:8:4}"; return 1; }
}

# group_delete NODE MGID: the program there leaves it: SubnAdmDelete of its MCMemberRecord; the
# MGID in hex
group_delete()
{
	mad_send "$1" 1 1 10000 "01030215$(zeros 4)0000000000000003""0038$(zeros 6)$(zeros 24)0000000000010003\
$2$(port_gid_hex "$1")$(zeros 16)21"
}

# pkey_at NODE INDEX: that entry of the port's P_Key table
pkey_at()
{
	port_attr "$1" "pkeys/$2"
}

# pkeys_set NODE INDEX=PKEY...: change entries of the first block, as an SM does.
# OpenSM does not look at them again before its next sweep.
pkeys_set()
{
	local node=$1 i hex='' word table
	local -a keys

	table=/sys/class/infiniband/$(ibdev "$1")/ports/1/pkeys
	shift
	for ((i = 0; i < 32; i++)); do
		keys[i]=$(< "$table/$i")
	done
	for word; do
		keys[${word%=*}]=${word#*=}
	done
	for ((i = 0; i < 32; i++)); do
		printf -v hex '%s%04x' "$hex" "${keys[i]}"
	done
	# SubnSet(P_KeyTable), IBTA 14.2.5.7
	mad_send 1 "$node" 0 10000 "01010102$(zeros 4)0000000000000001""0016$(zeros 6)$(zeros 40)$hex"
}

# port_info_set FROM NODE AT HEX: as an SM at FROM: the PortInfo of NODE as it is, but for the
# octets from AT on
port_info_set()
{
	local at=$(($3 * 2)) answer info tail

	tail="0015$(zeros 2)00000001$(zeros 40)"
	answer=$(mad_send "$1" "$2" 0 10000 "01010101$(zeros 4)0000000000000002$tail") || return 1
	info=${answer:128:128}
	# LinkWidthEnabled, PortState, PortPhysicalState, LinkDownDefaultState: 0 leaves them
	info=${info:0:58}00${info:60:5}000${info:68}
	info=${info:0:at}$4${info:$((at + ${#4}))}
	mad_send "$1" "$2" 0 10000 "01010102$(zeros 4)0000000000000003$tail$info" > /dev/null
}
