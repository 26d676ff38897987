# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# KTAP output, checks and waiting. A test file lists its cases in CASES, each
#
#	"function[:arg...] ids what is claimed"
#
# and calls ktap_main, which runs setup (if there is one) and then each case. A
# case makes its checks with check, check_not and check_eq; it passes if all of
# them held and the kernel log stayed clean. ids are those of the tables in
# Documentation/rfc-compliance.rst (U, A, C) and interface.rst (B), or "-".
#
# Each case begins with what setup makes. If it goes on with what another one leaves,
# NEEDS says so: NEEDS=([CASE]=OTHER). The other one is run first where it was not, without
# its checks counting, so that any case can be run alone, and none fails because
# another one did. NEEDS=([CASE]=setup): it begins with nothing done yet. Setup runs again
# after a case that failed, and where a case does not go on with what the one
# before it leaves. "FILE --list" names the cases.
#
# IPOIB_FAIL=PATTERN makes those cases fail, and leave nodes without a driver: to show
# that others do not mind. IPOIB_FIRST_FAIL=1 ends the file at the first check that fails.
# IPOIB_CASE_END=COMMAND runs the command with the name of each case that has ended, and before
# the first case with "setup".
#
# With IPOIB_DRIVER=stock a case listed in stock-known-failures is expected to
# fail: it is XFAIL, and a pass of one listed as "always" is XPASS, a failure. One
# listed as "harmful" (an oops, a hang) is not run. On a fabric other than softib a
# case listed in rxe-skips is SKIP and not run.

readonly KSFT_PASS=0 KSFT_FAIL=1 KSFT_SKIP=4

# How many times as long as on a stock kernel something may take: those made to
# find bugs look at all they do. KSFT_MACHINE_SLOW is kselftest's word for it.
case ${IPOIB_KERNEL:-stock}-${KSFT_MACHINE_SLOW:-no} in
stock-no) readonly SLOW=1 ;;
*) readonly SLOW=4 ;;
esac

KTAP_NO=0
KTAP_PASS=0
KTAP_FAIL=0
KTAP_XFAIL=0
KTAP_XPASS=0
KTAP_SKIPPED=0
declare -A KTAP_SEEN NEEDS
# The case whose state this is, for the one that needs it; whether it is not setup's
KTAP_LAST=setup
KTAP_DIRTY=
# The line of the case that runs, while its checks count
KTAP_COUNTS=
RET=0
SKIP_REASON=

note()
{
	local line

	while IFS= read -r line; do
		echo "# $line"
	done <<< "$*"
}

# Something without which no further case makes sense went wrong.
ktap_bail()
{
	ktap_diagnose
	echo "Bail out! $*"
	ktap_totals
	exit $KSFT_FAIL
}

# The whole file, before anything was done
ktap_skip_all()
{
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}

# A test file may replace it: what to print when a case failed.
diagnose()
{
	:
}

# All of it as comments: other lines are no KTAP, and nobody would show them.
ktap_diagnose()
{
	diagnose 2>&1 | sed '/^#/!s/^/# /'
}

fail()
{
	RET=1
	note "$*"
	[ -z "${IPOIB_FIRST_FAIL:-}" ] || [ -z "$KTAP_COUNTS" ] || [ "$BASH_SUBSHELL" -ne 0 ] ||
		ktap_first_fail
}

# ktap_first_fail: the case that runs has failed, and the file ends with it
ktap_first_fail()
{
	ktap_line "not ok" "$KTAP_COUNTS" "the first that fails"
	KTAP_FAIL=$((KTAP_FAIL + 1))
	ktap_totals
	exit $KSFT_FAIL
}

# check MESSAGE COMMAND...: the command succeeds
check()
{
	local msg=$1 out

	shift
	out=$("$@" 2>&1) && return 0
	fail "$msg: '$*' failed${out:+: ${out:0:600}}"
	return 1
}

# check_not MESSAGE COMMAND...: the command fails
check_not()
{
	local msg=$1 out

	shift
	out=$("$@" 2>&1) || return 0
	fail "$msg: '$*' succeeded${out:+: ${out:0:600}}"
	return 1
}

# check_eq MESSAGE GOT WANTED
check_eq()
{
	[ "$2" = "$3" ] && return 0
	fail "$1: got '$2', wanted '$3'"
	return 1
}

# check_num MESSAGE GOT OP WANTED, with the operators of test(1)
check_num()
{
	[ -n "$2" ] && test "$2" "$3" "$4" && return 0
	fail "$1: got '$2', wanted $3 $4"
	return 1
}

check_skip()
{
	SKIP_REASON=$*
}

# A pause that forks nothing.
exec {NAP_FD}<> <(:)
nap()
{
	read -rt "$1" -u "$NAP_FD" || true
}

# now: sets NOW to the time in ms. Monotonic, to 10 ms: the wall clock may be set meanwhile.
now()
{
	read -r NOW _ < /proc/uptime
	NOW=$((10#${NOW/./} * 10))
}

now_ms()
{
	now
	echo "$NOW"
}

# asked_until END PAUSE COMMAND...: until it succeeds, or fails at END, both in ms. The pause
# doubles up to 320 ms. Prints what the command printed last.
asked_until()
{
	local wait_end=$1 wait_ms=$2 wait_s wait_out wait_rc

	shift 2
	while true; do
		wait_out=$("$@") && wait_rc=0 || wait_rc=$?
		now
		if [ $wait_rc -eq 0 ] || [ "$NOW" -ge "$wait_end" ]; then
			echo -n "$wait_out"
			return $wait_rc
		fi
		[ $((NOW + wait_ms)) -le "$wait_end" ] || wait_ms=$((wait_end - NOW))
		printf -v wait_s '0.%03d' "$wait_ms"
		nap "$wait_s"
		wait_ms=$((wait_ms < 160 ? wait_ms * 2 : 320))
	done
}

# What has to come is waited for so long at least, however little is asked for: then it
# hangs, and the machine is not just slow for a while. Not any more when as many waits of a
# file have been in vain. Checks are subshells, so a file counts these.
readonly WAIT_LEAST_MS=${WAIT_LEAST_MS:-60000} WAITS_IN_VAIN=2

# waited_for MILLISECONDS PAUSE COMMAND...
waited_for()
{
	local wait_ms=$(($1 * SLOW)) wait_vain=()

	[ ! -e "${TESTDIR:-}/in_vain" ] || mapfile -t wait_vain < "$TESTDIR/in_vain"
	if [ "${#wait_vain[@]}" -lt "$WAITS_IN_VAIN" ] && [ "$wait_ms" -lt "$WAIT_LEAST_MS" ]; then
		wait_ms=$WAIT_LEAST_MS
	fi
	now
	asked_until $((NOW + wait_ms)) "${@:2}" && return
	wait_ms=$?
	shift 2
	[ ! -d "${TESTDIR:-}" ] || echo "${*@Q}" >> "$TESTDIR/in_vain"
	return "$wait_ms"
}

# busywait MILLISECONDS COMMAND...: until it succeeds. Prints what the command printed last.
busywait()
{
	waited_for "$1" 20 "${@:2}"
}

# slowwait SECONDS COMMAND...: the same, asking less often
slowwait()
{
	waited_for $(($1 * 1000)) 100 "${@:2}"
}

# within MILLISECONDS COMMAND...: the same in that time and no more: where the time is what
# is claimed, and for what need not come
within()
{
	now
	asked_until $((NOW + $1 * SLOW)) 20 "${@:2}"
}

# stays MILLISECONDS COMMAND...: it succeeds now and each time it is asked again
# until then, five times at least. For states that nothing may change, where no frame
# can end the wait: see first_is_marker. A slow machine gets more time to go wrong.
stays()
{
	local end=$(($(now_ms) + $1 * SLOW)) looks=0

	shift
	while [ "$(now_ms)" -lt $end ] || [ $looks -lt 5 ]; do
		"$@" || return 1
		looks=$((looks + 1))
		nap 0.1
	done
}

# klog_has PATTERN: a line since the last klog_mark
klog_has()
{
	klog | grep -q "$1"
}

klog_mark()
{
	KLOG_MARK="ipoib-selftest $$.$KTAP_NO $1"
	echo "$KLOG_MARK" > /dev/kmsg
}

# The kernel's messages since the last klog_mark.
klog()
{
	dmesg | awk -v mark="$KLOG_MARK" 'on; index($0, mark) { on = 1 }'
}

# What must not be in it. The rig has a judge for that, which is installed beside the
# tests. Without it: the heads of reports; rdmavt of 6.1 warns once of a copy into a
# flexible array that is as it should be, that one block is left out.
klog_findings()
{
	local scan

	klog > "$TESTDIR/klog"
	[ -s "$TESTDIR/klog" ] || return 1
	for scan in "$LIB_DIR/klog-scan" "$LIB_DIR/../../vm/klog-scan"; do
		[ -x "$scan" ] || continue
		! "$scan" --suite "${IPOIB_SUITE:-}" --titles "$TESTDIR/klog" 2> /dev/null
		return
	done
	klog_heads < "$TESTDIR/klog"
}

klog_heads()
{
	awk '
		/memcpy: detected field-spanning write/ { skip = 1 }
		!skip
		/end trace/ { skip = 0 }
	' | grep -E -e '(^|[^A-Z])BUG[: ]|WARNING:|Oops|Kernel panic|general protection fault' \
		-e 'RIP:|Call Trace:|refcount_t: |[Ll]eaked|(list_add|list_del) (corruption|double add)' \
		-e 'Bad page|SLUB: Unable|waiting for .* to become free|nobody cared|NETDEV WATCHDOG' \
		-e 'blocked for more than|(soft lockup|hard LOCKUP|workqueue lockup)|detected.* stall' \
		-e '(KASAN|KCSAN|KMSAN|KFENCE|UBSAN|ODEBUG|DMA-API): |unreferenced object|ref_tracker: ' \
		-e 'possible (circular|recursive|irq) lock|inconsistent lock state|suspicious RCU usage' \
		-e 'bad unlock balance|held lock freed|lock held when returning|Invalid wait context' \
		-e ': [0-9a-f]{4} \[#[0-9]+\]|page dumped because|is flushing !WQ_MEM_RECLAIM|messages dropped' \
		-e 'turning off the locking|lockdep is turned off|suspected memory leak' \
		-e 'kmemleak: .*(disabled|Cannot allocate)|(dma-debug|ODEBUG).* disabled' \
		-e 'sleeping function called|scheduling while atomic|non-static key' \
		-e 'debugfs: .*already (present|exists)|kobject_add_internal failed.*EEXIST|refused to be freed'
}

# known_failure CASE: print "kind|ids|reason" if the stock driver fails it
known_failure()
{
	[ "$IPOIB_DRIVER" = stock ] || return 1
	awk -F ' *[|] *' -v key="$KTAP_FILE/$1" -v suite="${IPOIB_SUITE:-}" '
		$1 == key && ($2 == "all" || $2 == suite) {
			print $3 "|" $4 "|" $5
			found = 1
			exit
		}
		END { exit !found }' "$LIB_DIR/stock-known-failures"
}

# fabric_skip CASE: print why it is not run on this fabric
fabric_skip()
{
	local list=$LIB_DIR/rxe-skips pattern reason

	[ "$FABRIC" != softib ] || return 1
	while IFS='|' read -r pattern reason; do
		# shellcheck disable=SC2053 # a pattern it is
		[[ $KTAP_FILE/$1 == ${pattern%% *} ]] || continue
		echo "$FABRIC:$reason"
		return 0
	done < <(grep -v '^#' "$list")
	return 1
}

ktap_line()
{
	local result=$1 text=$2 directive=$3

	echo "$result $KTAP_NO $text # ${directive:+$directive }time=${CASE_MS}ms"
}

ktap_judge()
{
	local name=$1 text=$2 known kind

	known=$(known_failure "$name") || known=
	kind=${known%%|*}
	if [ -n "$SKIP_REASON" ] && [ $RET -eq 0 ]; then
		KTAP_SKIPPED=$((KTAP_SKIPPED + 1))
		ktap_line ok "$text" "SKIP $SKIP_REASON"
	elif [ $RET -ne 0 ] && [ -n "$known" ]; then
		KTAP_XFAIL=$((KTAP_XFAIL + 1))
		ktap_line ok "$text" "XFAIL ${known##*|}"
	elif [ $RET -ne 0 ]; then
		KTAP_FAIL=$((KTAP_FAIL + 1))
		ktap_line "not ok" "$text" ""
	elif [ "$kind" = always ]; then
		KTAP_XPASS=$((KTAP_XPASS + 1))
		ktap_line "not ok" "$text" "XPASS stock is listed to fail: ${known##*|}"
	else
		KTAP_PASS=$((KTAP_PASS + 1))
		ktap_line ok "$text" ""
	fi
}

# ktap_leaves CASE: another one goes on with what it leaves, or the next one cannot
ktap_leaves()
{
	local entry name last=

	for entry in "${NEEDS[@]}"; do
		[ "$entry" != "$1" ] || return 0
	done
	for entry in "${CASES[@]}"; do
		name=${entry%% *}
		[ "$last" != "$1" ] || [ "${NEEDS[$name]:-}" != setup ] || return 0
		last=$name
	done
	return 1
}

ktap_call()
{
	local func args

	IFS=: read -r func args <<< "$1"
	IFS=: read -ra args <<< "$args"
	declare -F "$func" > /dev/null || { fail "there is no function $func"; return; }
	"$func" "${args[@]}"
}

# What there is goes, and setup runs again.
ktap_rebuild()
{
	note "setup runs again"
	fabric_down > /dev/null 2>&1
	! declare -F setup > /dev/null || setup
	KTAP_LAST=setup
	KTAP_DIRTY=
}

# ktap_prepare CASE: it finds what it needs
ktap_prepare()
{
	local need=${NEEDS[$1]:-}

	[ -z "$need" ] || [ "$need" != "$KTAP_LAST" ] || return 0
	if [ -n "$KTAP_DIRTY" ] || [ "$need" = setup ]; then
		ktap_rebuild
	fi
	if [ -z "$need" ] || [ "$need" = setup ]; then
		return 0
	fi
	ktap_prepare "$need"
	note "$1 goes on with what $need leaves"
	ktap_call "$need"
	KTAP_LAST=$need
	KTAP_DIRTY=1
}

ktap_case()
{
	local ids claim name findings start

	read -r name ids claim <<< "$1"
	KTAP_NO=$((KTAP_NO + 1))
	[ -z "${KTAP_SEEN[$name]:-}" ] || ktap_bail "two cases are named $name"
	KTAP_SEEN[$name]=1
	RET=0
	SKIP_REASON=
	CASE_MS=0
	if SKIP_REASON=$(fabric_skip "$name"); then
		ktap_judge "$name" "$name [$ids] $claim"
		return
	fi
	if [[ $(known_failure "$name") == harmful* ]]; then
		fail "not run: it would harm the cases after it"
		ktap_judge "$name" "$name [$ids] $claim"
		return
	fi
	klog_mark "before $name"
	ktap_prepare "$name"
	RET=0
	SKIP_REASON=
	klog_mark "$name"
	start=$(now_ms)
	known_failure "$name" > /dev/null || KTAP_COUNTS="$name [$ids] $claim"
	ktap_call "$name"
	CASE_MS=$(($(now_ms) - start))
	findings=$(klog_findings) && fail "the kernel log has: $findings"
	KTAP_COUNTS=
	# shellcheck disable=SC2053 # a pattern it is
	if [[ -n ${IPOIB_FAIL:-} && $name == $IPOIB_FAIL ]]; then
		fail "made to fail, and leaves no driver"
		module_gone ib_ipoib || driver_unload
	fi
	KTAP_LAST=$name
	KTAP_DIRTY=
	! ktap_leaves "$name" || KTAP_DIRTY=1
	if [ $RET -ne 0 ]; then
		ktap_diagnose
		# what the stock driver fails is known, and so is what it leaves
		known_failure "$name" > /dev/null || { KTAP_LAST=failed; KTAP_DIRTY=1; }
	fi
	ktap_judge "$name" "$name [$ids] $claim"
}

# ktap_ended CASE
ktap_ended()
{
	[ -z "${IPOIB_CASE_END:-}" ] || "$IPOIB_CASE_END" "$1"
}

ktap_totals()
{
	echo "# Totals: pass:$KTAP_PASS fail:$KTAP_FAIL xfail:$KTAP_XFAIL" \
		"xpass:$KTAP_XPASS skip:$KTAP_SKIPPED error:0"
}

# ktap_main [CASE...]: run those cases, or all; --list: print their names
ktap_main()
{
	local entry cases=() skips=0

	if [ "${1:-}" = --list ]; then
		printf '%s\n' "${CASES[@]%% *}"
		exit 0
	fi
	for entry in "${CASES[@]}"; do
		if [ $# -eq 0 ] || [[ " $* " == *" ${entry%% *} "* ]]; then
			cases+=("$entry")
			! fabric_skip "${entry%% *}" > /dev/null || skips=$((skips + 1))
		fi
	done
	echo "TAP version 13"
	echo "1..${#cases[@]}"
	klog_mark setup
	if [ $skips -lt ${#cases[@]} ] && declare -F setup > /dev/null; then
		setup
	fi
	ktap_ended setup
	for entry in "${cases[@]}"; do
		ktap_case "$entry"
		ktap_ended "${entry%% *}"
	done
	ktap_totals
	if [ $((KTAP_FAIL + KTAP_XPASS)) -gt 0 ] || [ ${#cases[@]} -eq 0 ]; then
		exit $KSFT_FAIL
	fi
	if [ $KTAP_SKIPPED -eq ${#cases[@]} ]; then
		exit $KSFT_SKIP
	fi
	exit $KSFT_PASS
}
