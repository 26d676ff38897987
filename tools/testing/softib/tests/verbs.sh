#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RC, UC, UD and SRQ between two HCAs of the software fabric keep what the IBTA
# promises, with and without faults: asked by verbs.c, case by case, and by
# rdma-core's and perftest's own programs, which know nothing of the fabric.
#
#	     verbs (one process), or a pair of programs
#	   softib0                              softib1
#	      |                                    |
#	   +--+------------------------------------+--+
#	   |                  switch                  |
#	   +------------------------------------------+

TESTS_DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
# shellcheck source=../../selftests/ipoib/lib.sh
. "$TESTS_DIR/../../selftests/ipoib/lib.sh"

# shellcheck disable=SC2034 # for ktap_main
CASES=(
	"pingpong:rc:-c V ibv_rc_pingpong, contents checked"
	"pingpong:uc:-c V ibv_uc_pingpong, contents checked"
	"pingpong:ud:-c V ibv_ud_pingpong, contents checked"
	"pingpong:srq:-c V ibv_srq_pingpong, contents checked"
	"pingpong_lossy V ibv_rc_pingpong while every 7th message is lost"
	"perf:send V ib_send_bw"
	"perf:write V ib_write_bw"
	"perf:read V ib_read_bw"
	"perf:send:-c:UC V ib_send_bw over UC"
)

setup()
{
	trap fabric_down EXIT
	fabric_load 2
	opensm_start
}

# Each case of verbs.c is a case here.
list_verbs()
{
	local name i=0

	cc -O1 -o "$TESTDIR/verbs" "$TESTS_DIR"/verbs*.c -libverbs ||
		ktap_bail "cannot compile verbs.c"
	while read -r name; do
		CASES+=("verbs:$i V $name")
		i=$((i + 1))
	done < <("$TESTDIR/verbs" list)
}

verbs()
{
	check "verbs" timeout 60 "$TESTDIR/verbs" "$(ibdev 1)" \
		"$DEBUGFS/$(ibdev 1)" "$(ibdev 2)" "$DEBUGFS/$(ibdev 2)" "$1"
}

listening()
{
	ss -Hltn "sport = :$1" | grep -q .
}

# pair PORT PROGRAM ARG...: a server on node 1, a client on node 2
pair()
{
	local port=$1 server
	shift

	timeout 60 "$@" -p "$port" -d "$(ibdev 1)" > "$TESTDIR/server" 2>&1 &
	server=$!
	busywait 20000 listening "$port" || fail "$1: the server does not listen"
	check "client" timeout 60 "$@" -p "$port" -d "$(ibdev 2)" 127.0.0.1
	wait "$server" || fail "server: $(tail -n 3 "$TESTDIR/server")"
}

pingpong()
{
	local kind=$1

	shift
	pair 18515 "ibv_${kind}_pingpong" -n 200 -s 1500 "$@"
}

pingpong_lossy()
{
	knob_set 1 drop_every_rc 7
	knob_set 2 drop_every_rc 7
	pair 18516 ibv_rc_pingpong -n 50 -s 5000 -c
	knob_set 1 drop_every_rc 0
	knob_set 2 drop_every_rc 0
	check_num "frames lost on purpose" "$(drops 1 fault)" -gt 0
}

perf()
{
	local kind=$1

	shift
	pair 18517 "ib_${kind}_bw" -n 100 -F "$@"
}

list_verbs
ktap_main "$@"
