# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In the guest, what a kernel with debuggers knows besides its log: memory that
# was leaked, and whether the debuggers still work. For ./guest after the script
# and for ./guest-tests after its tests. On a kernel without them nothing is done.

kmemleak=/sys/kernel/debug/kmemleak
# Younger objects kmemleak does not report (MSECS_MIN_AGE of mm/kmemleak.c).
leak_age=5
# Leaks beyond that many lines are not told one by one.
leak_lines=400
# Which modules of ours were loaded: name, address of the code, jiffies before
loads=/run/module-loads
noted_modules=(softib ib_ipoib planted)

# awk program that prints the kernel's own clock, by which kmemleak goes
# shellcheck disable=SC2016 # for awk
print_jiffies='/^jiffies: / { print $2; exit }'

jiffies()
{
	awk "$print_jiffies" /proc/timer_list
}

uptime_seconds()
{
	local up

	read -r up _ < /proc/uptime
	echo "${up%.*}"
}

# Each line of standard input becomes one of the kernel log. One write each: of
# more in one go the kernel throws away some.
to_klog()
{
	local line

	while IFS= read -r line; do
		echo "${line:- }" > /dev/kmsg
	done
}

# Modules that are loaded from now on leave behind where their code was, for
# kmemleak tells of leaks when the module is gone and its functions have no names.
note_modules()
{
	local module

	: > $loads
	for module in "${noted_modules[@]}"; do
		echo "install $module at=\$(awk '$print_jiffies' /proc/timer_list);" \
			"modprobe --ignore-install $module \$CMDLINE_OPTS &&" \
			"echo $module \$(cat /sys/module/$module/sections/.text) \$at >> $loads"
	done > /etc/modprobe.d/ipoib-vm.conf
}

# MODULE OFFSET SIZE FUNCTION for all that were loaded
noted_functions()
{
	local module loaded

	mapfile -t loaded < <(cut -d ' ' -f 1 $loads | sort -u)
	for module in "${loaded[@]}"; do
		objdump -t "$(modinfo -n "$module")" |
			awk -v module="$module" '/ F \.text\t/ { print module, $1, $(NF - 1), $NF }'
	done
}

# Puts names to the addresses of stack traces that the kernel has none for: by
# what was loaded there when the object was allocated.
name_frames()
{
	awk '
	# 36 bits do: all modules are in the same last gigabytes
	function number(hex, i, n) {
		for (i = length(hex) - 8; i <= length(hex); i++)
			n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
		return n
	}
	function name(address, i, k, at) {
		for (i = loads; i > 0; i--) {
			if (born[i] > jiffies)
				continue
			at = number(address) - base[i]
			for (k = 1; k <= count[loaded[i]]; k++) {
				if (at >= from[loaded[i], k] && at < to[loaded[i], k])
					return what[loaded[i], k] " [" loaded[i] "]"
			}
		}
		return address
	}
	FILENAME != "-" && NF == 3 {
		loaded[++loads] = $1
		base[loads] = number($2)
		born[loads] = $3
	}
	FILENAME != "-" && NF == 4 {
		k = ++count[$1]
		from[$1, k] = number($2)
		to[$1, k] = number($2) + number($3)
		what[$1, k] = $4
	}
	FILENAME != "-" { next }
	/^  comm .* jiffies / { jiffies = $NF }
	/^ +(\[<[^>]*>\] )?0x[0-9a-f]+$/ { sub(/0x[0-9a-f]+$/, name($NF)) }
	{ print }' $loads <(noted_functions) -
}

# Only we scan, for what others find is in no test's account. Called once.
leaks_begin()
{
	[ -w $kmemleak ] || return 0
	echo scan=off > $kmemleak
	echo clear > $kmemleak
	note_modules
	cp $loads $loads.told
}

# One scan. A signal would end it early, without a finding and without a word, and a
# shell gets one for each child that ends. So a shell without children asks for it.
leaks_scan_once()
{
	(echo scan > $kmemleak)
}

# Scans until the answer can be trusted: an object is reported if two scans have
# found no pointer to it, and it has not changed in between, and it is old enough.
# A pointer that is on its way in a register may have been missed: then once more.
leaks_scan()
{
	local end

	end=$(($(uptime_seconds) + leak_age + 1))
	leaks_scan_once || return
	while [ "$(uptime_seconds)" -le $end ]; do
		sleep 0.2
	done
	leaks_scan_once || return
	[ -z "$(head -c 1 $kmemleak)" ] || leaks_scan_once
}

# leaks_tell FILE: what was allocated since the last time and is leaked goes to
# FILE and to the kernel log. If no module was loaded since, there is nothing of
# ours to leak. A scan takes many seconds, so this is done once for many tests.
leaks_tell()
{
	: > "$1"
	[ -e $loads ] || return 0
	! cmp -s $loads $loads.told || return 0
	cp $loads $loads.told
	leaks_scan || return
	head -n $leak_lines $kmemleak | name_frames > "$1"
	echo clear > $kmemleak
	if [ -s "$1" ]; then
		echo "vm: kmemleak: nothing points to these any more:" | cat - "$1" | to_klog
	else
		echo "vm: kmemleak: nothing is leaked" > /dev/kmsg
	fi
}

# Prints which debuggers have given up, or nothing.
debuggers_off()
{
	local status=0

	if [ -r /proc/lockdep_stats ] &&
	   ! grep -q 'debug_locks: *1$' /proc/lockdep_stats; then
		echo "lockdep has switched itself off"
		status=1
	fi
	if [ -e $loads ] && ! echo stack=on > $kmemleak; then
		echo "kmemleak has switched itself off"
		status=1
	fi
	if grep -qs Y /sys/kernel/debug/dma-api/disabled; then
		echo "the debugging of DMA has switched itself off"
		status=1
	fi
	return $status
} 2> /dev/null
