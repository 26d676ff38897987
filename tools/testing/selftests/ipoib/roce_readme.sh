#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What roce.rst says about two laptops works, word for word: its commands are read
# from there and run in two guests (see lib_pair.sh).
#
#	guest 1 ------------ guest 2
#	"on both machines"   "on both machines"
#	"on machine 1"

FABRIC=pair
. "$(dirname "$0")/lib.sh"

README=$LIB_DIR/../../../../Documentation/roce.rst

# shellcheck disable=SC2034 # for ktap_main
NEEDS=([both:1]=both:2 [pings]=both:1 [mtu]=pings)

CASES=(
	"commands - roce.rst has commands for both machines, and for machine 1"
	"both:2 - the commands for both machines succeed on machine 2"
	"both:1 - the commands for both machines succeed on machine 1"
	"pings U1,F31 the commands of machine 1 lose no packet, over IPv4 and IPv6"
	"mtu - the MTU is the MTU of roce.rst"
)

# block TITLE: the lines of the indented block that starts so
block()
{
	awk -v title="        # $1" '
		$0 == title { on = 1; next }
		on && !/^        / { exit }
		on { print substr($0, 9) }' "$README"
}

commands()
{
	check_num "lines for both" "$(block "on both machines" | wc -l)" -ge 5
	check_num "lines for machine 1" "$(block "on machine 1" | wc -l)" -ge 1
}

# The reader changes ETH and N, and has sudo.
both()
{
	{
		echo 'set -e; sudo() { "$@"; }'
		block "on both machines" |
			sed -e 's/^ETH=.*/ETH=eth1/' -e "s/^N=.*/N=$1/"
	} > "$TESTDIR/both"
	check "machine $1" host "$1" bash -c "$(< "$TESTDIR/both")"
}

ping_line()
{
	local out

	out=$("$@" 2>&1) && [[ $out == *" 0% packet loss"* ]] && return
	echo "$out"
	return 1
}

pings()
{
	local line

	# the reader is slower than this machine
	check "carrier" slowwait 20 grep -q 1 /sys/class/net/ib0/carrier
	while read -r line; do
		check "a first answer" slowwait 20 ping -n -c 1 -W 1 "${line##* }"
		# shellcheck disable=SC2086 # words they are
		check "$line" ping_line $line
	done < <(block "on machine 1")
}

mtu()
{
	check_eq "MTU of ib0" "$(< /sys/class/net/ib0/mtu)" 2044
}

ktap_main "$@"
