# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Failing allocations: which kernel can, which functions they are failed in, and
# ordering one. The kernel counts only allocations that have a function of the
# driver on their stack, in whatever context: what others do is left alone.

FAULT_KINDS=(failslab fail_page_alloc)
declare -A FAULT_SCOPE

fault_dir()
{
	echo "/sys/kernel/debug/$1"
}

# Whether this kernel can fail allocations by their stack
have_faults()
{
	local kind

	[ -e /proc/self/make-it-fail ] || return 1
	for kind in "${FAULT_KINDS[@]}"; do
		[ -e "$(fault_dir "$kind")/require-start" ] || return 1
	done
}

# faults_or_skip: for the first line of a case
faults_or_skip()
{
	have_faults && return
	check_skip "this kernel cannot fail allocations on order (CONFIG_FAULT_INJECTION and company)"
	return 1
}

# symbol_range NAME: addresses of a function of the kernel, from and to
symbol_range()
{
	awk -v name="$1" '
		start && $1 != start { print "0x" start " 0x" $1; exit }
		$3 == name { start = $1 }' /proc/kallsyms
}

# module_text_size NAME: octets of its code
module_text_size()
{
	readelf -SW "$(modinfo -n "$1")" |
		awk '{ sub(/^ *\[ *[0-9]*\] /, "") } $1 == ".text" { print "0x" $5 }'
}

# Slab caches of debuggers are left out: they make do without, and would double
# the number of allocations.
fault_filter_caches()
{
	local file

	for file in /sys/kernel/slab/*/failslab; do
		case $file in
		*/kmemleak_object/* | */kmemleak_scan_area/* | */debug_objects_cache/*) ;;
		*) { echo 1 > "$file"; } 2> /dev/null ;;
		esac
	done
	echo 1 > "$(fault_dir failslab)/cache-filter"
}

# What is failed: sleeping or not, highmem or not, of any size. Not what vmalloc
# needs, for its failures are reported with a trace (of which ours has none: it
# falls back to vmalloc when something else has failed).
fault_init()
{
	local kind dir

	for kind in "${FAULT_KINDS[@]}"; do
		dir=$(fault_dir "$kind")
		echo 0 > "$dir/times"
		echo N > "$dir/ignore-gfp-wait"
		echo 32 > "$dir/stacktrace-depth"
	done
	echo N > "$(fault_dir fail_page_alloc)/ignore-gfp-highmem"
	echo 0 > "$(fault_dir fail_page_alloc)/min-order"
	[ ! -d /sys/kernel/slab ] || fault_filter_caches
	FAULT_TEXT_SIZE=$(module_text_size ib_ipoib)
	FAULT_SCOPE[init]=$(symbol_range do_one_initcall)
	FAULT_REJECT=$(symbol_range __vmalloc_node_range_noprof)
	if [ -z "${FAULT_SCOPE[init]}" ] || [ -z "$FAULT_REJECT" ] || [ -z "$FAULT_TEXT_SIZE" ]; then
		ktap_bail "the kernel has no symbols"
	fi
}

# The module has been loaded, maybe elsewhere than before.
fault_module_moved()
{
	local text

	read -r text < /sys/module/ib_ipoib/sections/.text
	printf -v "FAULT_SCOPE[module]" '%s 0x%x' "$text" $((text + FAULT_TEXT_SIZE))
}

# fault_arm KIND N SCOPE: have the Nth allocation from now on fail
fault_arm()
{
	# shellcheck disable=SC2046,SC2086 # ranges are two words
	command fault_arm "$(fault_dir "$1")" "$2" ${FAULT_SCOPE[$3]} $FAULT_REJECT ||
		ktap_bail "cannot order a fault"
}

# fault_hit KIND: whether the one that was ordered has failed
fault_hit()
{
	local times

	read -r times < "$(fault_dir "$1")/times"
	[ "$times" -eq 0 ]
}

fault_disarm()
{
	local kind

	have_faults || return 0
	for kind in "${FAULT_KINDS[@]}"; do
		echo 0 > "$(fault_dir "$kind")/times"
		echo 0 > "$(fault_dir "$kind")/probability"
	done
}
