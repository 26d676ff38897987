#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Streams of TCP and UDP run both ways, over IPv4 and IPv6, in datagram mode.
# Rates are printed for the curious; bench is where they are compared.
#
#	node1 <== iperf3 ==> node2
#	  |                    |
#	+-+--------------------+-+
#	|        switch          |
#	+------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=iperf_cases.sh
. "$LIB_DIR/iperf_cases.sh"

CASES=(
	"mode U1,B5 the interfaces are in datagram mode"
	"${IPERF_CASES[@]}"
	"parallel U1 four TCP streams at once"
	"afterwards U1 ping loses no echo after the streams"
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
}

mode()
{
	check_eq "mode" "$(in_node 1 cat /sys/class/net/ib0/mode)" datagram
	check_eq "MTU" "$(link_mtu 1)" 2044
}

parallel()
{
	tcp_stream 1 2 ip4 -P 4
}

afterwards()
{
	check "ping" ping_lossless 1 "$(ip4 2)" 50
	check "ping" ping_lossless 2 "$(ip6 1)" 50
}

ktap_main "$@"
