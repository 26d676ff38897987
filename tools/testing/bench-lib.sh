# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# What bench-guest and bench-multicast share: two modules in the same form, in an order
# that is by chance. They set driver, pair and raw.

modules=/lib/modules/$(uname -r)
declare -A MODULE

# Both as the same kind of file: not packed, without signature and debugging information,
# which a kernel would have to read and check in the time that is measured.
modules_prepare()
{
	local driver file

	MODULE[stock]=$(find "$modules/kernel/drivers/infiniband/ulp/ipoib/" -name 'ib_ipoib.ko*')
	MODULE[ours]=$modules/updates/ib_ipoib.ko
	for driver in stock ours; do
		file=$TESTDIR/$driver.ko
		case ${MODULE[$driver]} in
		*.xz) xz -dc "${MODULE[$driver]}" ;;
		*.zst) zstd -qdc "${MODULE[$driver]}" ;;
		*) cat "${MODULE[$driver]}" ;;
		esac > "$file.all"
		# what is behind the ELF file goes as well: the signature
		objcopy --strip-debug "$file.all" "$file" || ktap_bail "cannot strip ${MODULE[$driver]}"
		! grep -q 'Module signature appended' "$file" || ktap_bail "$file has a signature"
		rm "$file.all"
		MODULE[$driver]=$file
	done
}

driver_load()
{
	insmod "${MODULE[$driver]}" || ktap_bail "cannot load ${MODULE[$driver]}"
}

result()
{
	echo "run $pair $driver $1 $2" | tee -a "$raw"
}

# order: who comes first. Of two pairs one has it the other way round.
LAST_ORDER=
order()
{
	case $LAST_ORDER in
	"")
		ORDER=(stock ours)
		((RANDOM & 1)) || ORDER=(ours stock)
		LAST_ORDER=${ORDER[*]}
		;;
	*)
		ORDER=(ours stock)
		[ "$LAST_ORDER" = "ours stock" ] && ORDER=(stock ours)
		LAST_ORDER=
		;;
	esac
}

# report ARG...: bench-report's, with what is known of the machine
report()
{
	local name machine=()

	machine=("accelerator=$(grep -q 'model name.*TCG' /proc/cpuinfo && echo tcg || echo kvm)")
	for name in commit qemu host_cpu date load; do
		name=BENCH_$name
		machine+=("${name#BENCH_}=${!name:-}")
	done
	"$here/bench-report" "${machine[@]/#/--machine=}" --suite "${IPOIB_SUITE:-}" \
		--json "$IPOIB_OUT/bench.json" "$@" "$raw" | tee "$IPOIB_OUT/bench.txt"
	return "${PIPESTATUS[0]}"
}
