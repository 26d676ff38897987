#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sixteen nodes of one subnet (or as many as the fabric may have) reach each other,
# all pairs, over IPv4 and IPv6.
#
#	node1  node2  node3  ...  node16
#	  |      |      |            |
#	+-+------+------+------------+-+
#	|           switch             |
#	+------------------------------+

: "${HCA:=mlx5}"
. "$(dirname "$0")/lib.sh"

N=$(fabric_most 16)

CASES=(
	"pairs4 U1,U2,U3,U17,U25,A9 every pair of $N nodes answers an IPv4 ping"
	"pairs6 U1,U2,U3,U17,U25,A9 every pair of $N nodes answers an IPv6 ping"
	"lossless:4 U1 200 IPv4 echoes in a row lose none"
	"lossless:6 U1 200 IPv6 echoes in a row lose none"
	"lossless_large U1,U29 echoes of 1900 octets lose none and arrive unharmed"
	"nobody U1 an unused address does not answer"
)

setup()
{
	fabric_up "$N"
}

# One shell per node pings all later ones, all at once, and names those that
# answered; a first try may be spent on resolving the address.
ping_later()
{
	local node=$1 family=$2 peer

	for ((peer = node + 1; peer <= N; peer++)); do
		echo "answers $node-$peer $("ip$family" "$peer") &"
	done > "$TESTDIR/pairs"
	echo wait >> "$TESTDIR/pairs"
	in_node "$node" bash -c "
		answers()
		{
			ping -n -c 1 -W 2 \$2 > /dev/null || ping -n -c 2 -W 10 \$2 > /dev/null &&
				echo \$1
		}
		. $TESTDIR/pairs"
}

pairs()
{
	local node

	for ((node = 1; node < N; node++)); do
		ping_later "$node" "$1"
	done > "$TESTDIR/answers"
	check_eq "pairs that answered" "$(sort -u "$TESTDIR/answers" | wc -l)" $((N * (N - 1) / 2))
}

pairs4()
{
	pairs 4
}

pairs6()
{
	pairs 6
}

lossless()
{
	check "before" slowwait 5 ping_ok 1 "$("ip$1" "$N")"
	check "200 echoes" ping_lossless 1 "$("ip$1" "$N")" 200
}

lossless_large()
{
	check "pattern" ping_lossless 2 "$(ip4 $((N - 1)))" 50 -s 1900 -p 5aa5
	check "pattern" ping_lossless 2 "$(ip6 $((N - 1)))" 50 -s 1900 -p 5aa5
}

nobody()
{
	check "IPv4" unanswered 1 10.9.0.77
	check "IPv6" unanswered 1 fd09::77
}

ktap_main "$@"
