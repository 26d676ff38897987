# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The streams that iperf.sh and ref_connected.sh have in common.

# shellcheck disable=SC2034 # for the tests
IPERF_CASES=(
	"tcp:1:2:ip4 U1 TCP over IPv4, node 1 to node 2"
	"tcp:2:1:ip4 U1 TCP over IPv4, node 2 to node 1"
	"tcp:1:2:ip6 U1 TCP over IPv6, node 1 to node 2"
	"tcp:2:1:ip6 U1 TCP over IPv6, node 2 to node 1"
	"udp:1:2:ip4 U1,F31 UDP over IPv4, node 1 to node 2"
	"udp:2:1:ip4 U1,F31 UDP over IPv4, node 2 to node 1"
	"udp:1:2:ip6 U1,F31 UDP over IPv6, node 1 to node 2"
	"udp:2:1:ip6 U1,F31 UDP over IPv6, node 2 to node 1"
)

tcp()
{
	tcp_stream "$@"
}

# A trickle, and sockets that have room for all of it: no fabric here loses any.
udp()
{
	local result

	hosts sysctl -qw net.core.rmem_max=4194304 net.core.wmem_max=4194304
	result=$(IPERF_ADDR=$3 iperf "$1" "$2" -u -b 1M -l 1000 -t 2 -w 1M) ||
		{ fail "iperf3: $result"; return; }
	note "Mb/s and per cent lost: $result"
	check_rate "${result% *}" 0.5
	check_eq "per cent lost" "${result#* }" 0.0
}
