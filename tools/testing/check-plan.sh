# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# For ./check: what is to be run, written down before anything runs, and how long it will
# take. The plan is a file of lines, words separated by tabs:
#
#	job NAME KIND SUITE KERNEL FABRIC DRIVER LIMIT CPUS
#	test NAME SYSTEM TEST SPEC SECONDS
#
# KIND is guests or tools: functions run_guests and run_tools. A job of guests is one boot,
# or more if one dies; a test is in one job. SPEC is TEST, or TEST@CASE@CASE... for some
# of its cases.

times_file=$here/check-times
# A guest has more to do than its tests: compiling, booting, unloading. By kernel.
declare -A boot_seconds=([stock]=25 [debug]=75 [kcsan]=75)
# How many times as long as on a stock kernel a test takes, if it was not measured
declare -A slowness=([stock]=1 [debug]=4 [kcsan]=4)
# A system's tests are divided among guests of about so many seconds, if there are several
# side by side; more on kernels that take long to boot.
declare -A part_seconds=([stock]=600 [debug]=900 [kcsan]=900)
# Two emulated CPUs on one make all that is started take twice as long. So guests side by
# side have one each, but for what looks for races, which has two, in guests of its own.
smp_tests=(races.sh unload.sh hotplug.sh connected_crossing.sh)
# On each commit the debug kernel's debuggers are seen to work, one of each kind; which
# bugs they find is for the night (vm/planted).
rig_ci=--one-guest@all:fixed@leak@sleep@rcu@out_of_bounds
# The form of each line, checkpatch and shellcheck, takes longer than all other checks of the
# sources, and is for the night, too.
lint_ci=modules@kernel-doc@versions@compliance@mutations@layout

declare -A times=()

load_times()
{
	local kernel fabric spec seconds

	while read -r kernel fabric spec seconds; do
		[[ $kernel == '#'* ]] || times[$kernel $fabric $spec]=$seconds
	done < "$times_file"
}

# seconds_of KERNEL FABRIC SPEC: as measured, or a guess. Sets seconds.
seconds_of()
{
	local spec flavour

	flavour=$(kernel_flavour "$1")
	for spec in "$3" "${3%%@*}"; do
		seconds=${times[$flavour $2 $spec]:-}
		[ -z "$seconds" ] || return 0
		seconds=${times[stock $2 $spec]:-${times[stock softib $spec]:-}}
		[ -z "$seconds" ] || { seconds=$((seconds * ${slowness[$flavour]})); return; }
	done
	seconds=$((40 * ${slowness[$flavour]}))
}

# system_name SUITE KERNEL FABRIC DRIVER
system_name()
{
	local name=$1

	[ "$2" = stock ] || name+=-$(kernel_name "$2")
	[ "$3" = softib ] || name+=-$3
	[ "$4" = ours ] || name+=-reference
	echo "$name"
}

job_specs()
{
	awk -F '\t' -v name="$1" '$1 == "test" && $2 == name { print $5 }' "$plan"
}

job_system()
{
	awk -F '\t' -v name="$1" '$1 == "test" && $2 == name { print $3; exit }' "$plan"
}

plan_line()
{
	local IFS=$'\t'

	printf '%s\n' "$*" >> "$plan"
}

# share_turn PARTS: the part that this commit's turn is. They come with equal chances.
share_turn()
{
	local id

	id=$(git -c safe.directory='*' -C "$VM_REPO" rev-parse --short=6 HEAD 2> /dev/null) || id=0
	echo $((0x${id:0:6} % $1))
}

# share_of SUITE: the part of the tests on standard input that a suite has with --share:
# bookworm every fourth, trixie-backports the ones half way between those, trixie all others
share_of()
{
	[ "$share" ] || { cat; return; }
	awk -v suite="$1" -v turn="$(share_turn 4)" '
		{ place = (NR - 1 + turn) % 4 }
		suite == "bookworm" && place == 0 ||
		suite == "trixie-backports" && place == 2 ||
		suite == "trixie" && place % 2'
}

# make_list GOAL SUITE KERNEL: a list of the Makefile of the tests, by the make of the suite
# that is there first
make_list()
{
	local system=$2

	[ "$3" = stock ] || system+=-$(kernel_name "$3")
	in_root "$(suite_root "$VM_QEMU_SUITE")" "$VM_REPO:src" -- \
		make -s -C /src/tools/testing/selftests/ipoib "$1" "SYSTEM=$system" ||
		die "cannot list the tests ($1)"
}

# The fabric's own tests. rdma_cm.sh judges the fabric by connected mode of the kernel's
# driver.
softib_tests()
{
	(cd "$here/softib/tests" && printf 'softib/%s\n' *.sh) |
		if [ "$1" = ours ]; then grep -v '/rdma_cm.sh$'; else cat; fi
}

# list_tests SUITE KERNEL FABRIC: all of a system, by --fabric, --driver and --share
list_tests()
{
	local goal=list

	[ "$3" = softib ] || goal=list_$3$short
	[ "$driver" = ours ] || goal=list_stock
	case $share$2$3 in
	1debugsoftib) goal=list_share ;;
	1stocksoftib) [ "$what" != ci ] || goal=list_stock_share ;;
	1stockrxe) goal=list_rxe_share ;;
	esac
	make_list "$goal" "$1" "$2"
	case $goal in
	list|list_stock|list_stock_share) [ "$3" != softib ] || softib_tests "$driver" ;;
	esac
}

# divide SECONDS PARTS KERNEL FABRIC SPEC...: tells the part of each, longest first and
# always to the part that has least: lines of "PART SECONDS SPEC"
divide()
{
	local parts=$1 kernel=$2 fabric=$3 spec seconds

	shift 3
	for spec in "$@"; do
		seconds_of "$kernel" "$fabric" "$spec"
		echo "$seconds $spec"
	done | if [ "$parts" -eq 1 ]; then cat; else sort -k 1,1nr -s; fi |
		awk -v parts="$parts" '{
			least = 0
			for (i = 1; i < parts; i++) {
				if (sum[i] < sum[least])
					least = i
			}
			sum[least] += $1
			print least, $1, $2
		}'
}

# parts_for KERNEL FABRIC SPEC...
parts_for()
{
	local kernel=$1 fabric=$2 most spec seconds all=0

	shift 2
	most=${part_seconds[$(kernel_flavour "$kernel")]}
	[ "$jobs" -gt 1 ] || { echo 1; return; }
	for spec in "$@"; do
		seconds_of "$kernel" "$fabric" "$spec"
		all=$((all + seconds))
	done
	echo $(((all + most - 1) / most))
}

# is_smp_test SPEC
is_smp_test()
{
	[[ " ${smp_tests[*]} " == *" ${1%%@*} "* ]]
}

# plan_parts NAME CPUS SPEC...: the guests of a system whose tests have so many CPUs
plan_parts()
{
	local name=$1 cpus=$2 parts part seconds spec i

	shift 2
	[ $# -gt 0 ] || return 0
	parts=$(parts_for "$kernel" "$fabric" "$@")
	for ((i = 0; i < parts; i++)); do
		plan_line job "$name$([ "$parts" -eq 1 ] || echo "-part$i")" guests "$suite" \
			"$kernel" "$fabric" "$driver" "$limit" "$cpus"
	done
	while read -r part seconds spec; do
		plan_line test "$name$([ "$parts" -eq 1 ] || echo "-part$part")" "$system" \
			"${spec%%@*}" "$spec" "$seconds"
	done < <(divide "$parts" "$kernel" "$fabric" "$@")
}

# plan_guests SUITE KERNEL FABRIC DRIVER LIMIT SPEC...
plan_guests()
{
	local suite=$1 kernel=$2 fabric=$3 driver=$4 limit=$5 system name spec smp=() others=()

	shift 5
	system=$(system_name "$suite" "$kernel" "$fabric" "$driver")
	[ $# -gt 0 ] || { result fault "$system" rig "there is no test"; return; }
	name=$system
	[ "$limit" -eq "$base_limit" ] || name+=-long
	if [ "$jobs" -eq 1 ]; then
		plan_parts "$name" 2 "$@"
		return
	fi
	for spec in "$@"; do
		# a guest for one test of a share is not worth its boot
		if is_smp_test "$spec" && [ "$share$fabric" != 1rxe ]; then
			smp+=("$spec")
		else
			others+=("$spec")
		fi
	done
	plan_parts "$name" 1 "${others[@]}"
	plan_parts "$name-smp" 2 "${smp[@]}"
}

# plan_tools NAME SYSTEM SUITE KERNEL SPEC...
plan_tools()
{
	local name=$1 system=$2 spec seconds

	plan_line job "$name" tools "$3" "$4" - ours "$limit" 2
	for spec in "${@:5}"; do
		seconds_of stock tools "$spec"
		plan_line test "$name" "$system" "${spec%%@*}" "$spec" "$seconds"
	done
}

# plan_system SUITE KERNEL FABRIC: what list_tests has for it
plan_system()
{
	local list

	list=$(list_tests "$@")
	if [ -n "$list" ] && [ "$2" = stock ]; then
		# of a short list there may be nothing for a suite
		list=$(share_of "$1" <<< "$list")
		[ -n "$list" ] || return 0
	fi
	mapfile -t list < <(sed '/^$/d' <<< "$list")
	plan_guests "$1" "$2" "$3" "$driver" "$limit" "${list[@]}"
}

# each_system COMMAND...: with SUITE KERNEL behind it
each_system()
{
	local suite kernel

	for kernel in "${kernels[@]}"; do
		for suite in "${suites[@]}"; do
			[ "$kernel" = stock ] || [ "$suite" = "$VM_KERNEL_SUITE" ] || continue
			"$@" "$suite" "$kernel"
		done
	done
}

plan_named()
{
	local fabric

	for fabric in $fabrics; do
		plan_guests "$1" "$2" "$fabric" "$driver" "$limit" "${tests[@]}"
	done
}

plan_quick()
{
	local list fabric

	# several guests for each place: none is long alone in the end
	part_seconds=([stock]=200 [debug]=600 [kcsan]=600)
	for fabric in softib rxe; do
		mapfile -t list < <(make_list "list_quick_$fabric" "$1" "$2")
		plan_guests "$1" "$2" "$fabric" ours "$limit" "${list[@]}"
	done
}

plan_full()
{
	local fabric

	for fabric in $fabrics; do
		[ -z "$share" ] || [ "$2" = stock ] || [ "$fabric" = softib ] || continue
		plan_system "$1" "$2" "$fabric"
	done
}

plan_rig()
{
	local kernel rig file suite=${suites[0]} tools=(check.test vm-selftest-stock)

	[[ " ${suites[*]} " != *" $VM_DEFAULT_SUITE "* ]] || suite=$VM_DEFAULT_SUITE
	for file in "$VM_DIR"/*.test; do
		tools+=("${file##*/}")
	done
	for kernel in "${kernels[@]}"; do
		if [ "$kernel" = stock ]; then
			plan_tools rig-stock "$suite" "$suite" stock "${tools[@]}"
		elif [ -z "$(kernel_tree "$kernel")" ]; then
			rig=vm-selftest-$kernel
			[ "$what$kernel" != cidebug ] || rig+=@$rig_ci
			plan_tools "rig-$kernel" "$VM_KERNEL_SUITE-$kernel" "$VM_KERNEL_SUITE" \
				"$kernel" "$rig"
		fi
	done
}

# Everything everywhere: each kernel has all tests of each fabric but kcsan, which has
# those that look for races; then what takes long, the reference run, and the sources.
plan_night()
{
	local suite=$1 kernel=$2 fabric list

	case $kernel in
	kcsan)
		mapfile -t list < <(make_list list_kcsan "$suite" "$kernel")
		plan_guests "$suite" "$kernel" softib ours "$limit" "${list[@]}"
		;;
	*)
		for fabric in softib rxe pair; do
			plan_system "$suite" "$kernel" "$fabric"
		done
		;;
	esac
	case $kernel in
	stock)
		driver=stock
		plan_system "$suite" "$kernel" softib
		driver=ours
		;;
	debug)
		mapfile -t list < <(make_list list_fault "$suite" "$kernel")
		plan_guests "$suite" "$kernel" softib ours 3000 "${list[@]}"
		;;
	esac
}

make_plan()
{
	base_limit=$limit
	: > "$plan"
	case $what in
	named)
		each_system plan_named
		;;
	quick)
		plan_tools rig-quick "${suites[0]}" "${suites[0]}" stock klog-scan.test check.test
		each_system plan_quick
		;;
	full)
		plan_rig
		each_system plan_full
		;;
	ci)
		plan_rig
		plan_tools lint sources "$VM_DEFAULT_SUITE" stock "lint@$lint_ci"
		each_system plan_full
		;;
	nightly)
		short=''
		plan_rig
		plan_tools lint sources "$VM_DEFAULT_SUITE" stock lint
		each_system plan_night
		[ ! -x "$here/mutate" ] ||
			plan_tools mutate sources "$VM_DEFAULT_SUITE" stock mutate
		;;
	esac
	grep -q '^test' "$plan" || die "there is nothing to run"
	local twice

	twice=$(cut -f 1-4 "$plan" | awk -F '\t' '$1 == "test"' | cut -f 3,4 | sort | uniq -d)
	[ -z "$twice" ] || die "planned twice: $twice"
}

# SECONDS NAME KERNEL of each job, in the plan's order
job_seconds()
{
	awk -F '\t' -v boots="${boot_seconds[stock]} ${boot_seconds[debug]}" '
		BEGIN { split(boots, boot, " ") }
		$1 == "job" {
			name[++n] = $2
			kernel[$2] = $5
			if ($3 == "guests")
				sum[$2] = boot[$5 == "stock" ? 1 : 2]
		}
		$1 == "test" { sum[$2] += $6 }
		END { for (i = 1; i <= n; i++) print sum[name[i]] + 0, name[i], kernel[name[i]] }' \
		"$plan"
}

# Names of jobs: side by side the longest comes first, so that none is left alone in the
# end.
jobs_in_order()
{
	job_seconds | if [ "$jobs" -eq 1 ]; then cat; else sort -k 1,1nr -s; fi |
		cut -d ' ' -f 2
}

# minutes SECONDS
minutes()
{
	if [ "$1" -lt 60 ]; then
		echo "less than a minute"
	elif [ "$1" -lt 90 ]; then
		echo "about a minute"
	else
		echo "about $((($1 + 30) / 60)) minutes"
	fi
}

# How long the jobs take if each begins as soon as there is room
plan_seconds()
{
	job_seconds | if [ "$jobs" -eq 1 ]; then cat; else sort -k 1,1nr -s; fi |
		awk -v jobs="$jobs" '{
			least = 0
			for (i = 1; i < jobs; i++) {
				if (busy[i] + 0 < busy[least] + 0)
					least = i
			}
			busy[least] += $1
			if (busy[least] > end)
				end = busy[least]
		}
		END { print end + 0 }'
}

tell_plan()
{
	local seconds

	seconds=$(plan_seconds)
	if [ "$plan_only" ]; then
		job_seconds | while read -r sum name _; do
			echo "$name: $sum s: $(job_specs "$name" | paste -sd ' ')"
		done
	fi
	echo "check: $(grep -c '^test' "$plan") tests in $(grep -c '^job' "$plan") jobs," \
		"$jobs side by side: $(minutes "$seconds") once everything is made"
}

# After each test: how many are done, and how long the others will take, by the table
# and by how much faster or slower than it this machine was so far.
progress()
{
	local n total left

	read -r n total left < <(awk -F '\t' -v jobs="$jobs" -v spent=$((SECONDS - started)) '
		FILENAME == ARGV[1] && $1 == "job" { count++ }
		FILENAME == ARGV[1] && $1 == "test" {
			total++
			seconds[$2, $4] = $6
			left[$2] += $6
			all += $6
		}
		FILENAME == ARGV[1] { next }
		($1, $2) in seconds && !done[$1, $2]++ {
			n++
			gone += seconds[$1, $2]
			left[$1] -= seconds[$1, $2]
		}
		END {
			wide = count < jobs ? count : jobs
			pace = gone * 10 > all ? spent * wide / gone : 1
			rest = (all - gone) / wide
			for (name in left) {
				if (left[name] > rest)
					rest = left[name]
			}
			printf "%d %d %d\n", n, total, rest * (pace < 0.5 ? 0.5 : pace > 20 ? 20 : pace)
		}' "$plan" "$out/done")
	if [ "$n" -lt "$total" ]; then
		echo "check: test $n of $total, $(minutes "$left") left"
	else
		echo "check: test $n of $total"
	fi
}
