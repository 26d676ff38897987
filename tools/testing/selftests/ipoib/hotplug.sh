#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One HCA goes and comes while the others live.
#
#	node1       node2 <== traffic ==> node3
#	  |           |                     |	node 3's HCA is
#	+-+-----------+---------------------+-+	removed and added again
#	|               switch                |
#	+-------------------------------------+

: "${HCA:=mlx5}"
. "$(dirname "$0")/lib.sh"

CASES=(
	"remove A8 an HCA removed under traffic takes its interface with it"
	"others_live A8 removal of an HCA does not affect the other nodes"
	"add A8 the HCA comes back with a new interface"
	"new_qpn U46,U47 peers learn its new address and reach it"
	"again A8 an HCA comes and goes five times in a row"
	"two_at_once A8 two HCAs come and go at once, with joins pending"
)

NEEDS=(
	[others_live]=remove
	[add]=others_live
	[new_qpn]=add
)

setup()
{
	fabric_load 4
	subnet_start
	# QPs that come and go, so that the QPN of node 3 changes with its new HCA
	ud_to 1
	ud_send 3 "${UD_TO[@]}" -q 0xfefefe -Q 1 -d fefe
	ud_send 3 "${UD_TO[@]}" -q 0xfefefe -Q 1 -d fefe
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	doubt 1
	doubt 2
	wait_ping 2 3 || ktap_bail "no ping"
}

readd()
{
	hca_add "$1"
	busywait 5000 netdev "$1" > /dev/null || { fail "no new interface"; return 1; }
	nodes_up "$1"
	check "carrier" wait_carrier "$1"
}

remove()
{
	OLD_QPN=$(lladdr_qpn 3)
	background 2 ping -q -f "$(ip4 3)" > /dev/null 2>&1
	background 3 ping -q -f "$(ip6 2)" > /dev/null 2>&1
	hca_remove 3
	check "the interface goes" slowwait 5 no_interface 3
	background_stop
}

others_live()
{
	check "ping" wait_ping 1 2
	check "ping" wait_ping 2 4
	check "node 3" unanswered 1 "$(ip4 3)"
}

add()
{
	readd 3
}

# The neighbour entries of the peers still say the old QPN; the stack finds out.
new_qpn()
{
	[ "$(lladdr_qpn 3)" != "$OLD_QPN" ] || fail "the QPN is still $OLD_QPN"
	check "ping" wait_ping 2 3 30
	check "ping" wait_ping 3 1 30
}

again()
{
	local i

	for ((i = 0; i < 5; i++)); do
		hca_remove 3
		check "the interface goes" slowwait 5 no_interface 3
		readd 3 || return
	done
	check "ping" wait_ping 3 1 30
}

two_at_once()
{
	group_join 3 239.1.1.{1..10}
	group_join 4 239.1.1.{1..10}
	hca_remove 3
	hca_remove 4
	check "node 3" slowwait 5 no_interface 3
	check "node 4" slowwait 5 no_interface 4
	check "ping" wait_ping 1 2
	readd 3
	readd 4
	check "ping" wait_ping 3 4 30
	background_stop
}

ktap_main "$@"
