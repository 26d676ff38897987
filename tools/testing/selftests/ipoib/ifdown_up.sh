#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ip link set down and up, and loss of the physical link, leave an interface that
# works, soon.
#
#	node1 <-- ping --> node2
#	  |                  |		node 2 goes down and up, and so
#	+-+------------------+-+	does its cable
#	|        switch        |
#	+----------------------+

. "$(dirname "$0")/lib.sh"

CASES=(
	"down B31 an interface that is down has no carrier and does not answer"
	"up U17,B31 an interface that is up has carrier and answers within two seconds"
	"cycles U17 twenty downs and ups leave a working interface"
	"cycles_traffic U17 ten downs and ups under traffic of both nodes leave a working interface"
	"quick U17,U20 an interface goes down before its join is done, ten times"
	"down_sm_dead U20 down with the subnet manager dead takes less than two seconds"
	"up_sm_back U16,U20 up works once the subnet manager is back"
	"link_down_case B31,A14 link down takes the carrier down"
	"link_up_case B31,U17 link up brings the carrier back, and traffic within three seconds"
	"flaps U17 five flaps under ping lose no more than the links do"
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
}

down()
{
	node_ip 2 link set ib0 down
	check_not "carrier" has_carrier 2
	check "answer" unanswered 1 "$(ip4 2)"
	node_ip 1 neigh flush dev ib0
	check "answer" unanswered 1 "$(ip4 2)"
}

# up and the IPv6 address, which down takes away
node_up()
{
	node_ip "$1" link set ib0 up
	node_ip "$1" addr replace "$(ip6 "$1")/64" dev ib0 nodad
}

# up_to_ping: TOOK
up_to_ping()
{
	local start

	node_ip 2 link set ib0 down
	node_ip 1 neigh flush dev ib0
	start=$(now_ms)
	node_up 2
	check "carrier" wait_carrier 2
	check "ping" busywait 10000 ping_ok 1 "$(ip4 2)"
	TOOK=$(($(now_ms) - start))
}

up()
{
	takes_less "up to ping" 2000 up_to_ping
	check "both families" wait_ping 1 2
}

cycle()
{
	local i

	for ((i = 0; i < $1; i++)); do
		node_ip 2 link set ib0 down
		node_up 2
		check "carrier" wait_carrier 2 || return
	done
}

cycles()
{
	cycle 20
	check "ping" wait_ping 1 2
	check "member" is_member 2 "$BROADCAST_MGID"
}

cycles_traffic()
{
	background 1 ping -q -f "$(ip4 2)" > /dev/null 2>&1
	background 2 ping -q -f "$(ip4 1)" > /dev/null 2>&1
	cycle 10
	background_stop
	check "ping" wait_ping 1 2
}

quick()
{
	local i

	for ((i = 0; i < 10; i++)); do
		node_ip 2 link set ib0 down
		node_up 2
	done
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
}

# down_dead: TOOK, of a member whose SM has died
down_dead()
{
	local start

	if [ -z "${OPENSM_PID[1]:-}" ]; then
		opensm_start
		node_up 2
		check "carrier" wait_carrier 2
	fi
	opensm_kill
	start=$(now_ms)
	node_ip 2 link set ib0 down
	TOOK=$(($(now_ms) - start))
}

down_sm_dead()
{
	takes_less "down" 2000 down_dead
}

up_sm_back()
{
	node_up 2
	check "no carrier yet" stays 1000 no_carrier 2
	opensm_start
	check "carrier" wait_carrier 2
	check "ping" wait_ping 1 2
}

link_down_case()
{
	link_down 2
	check "carrier goes" slowwait 5 no_carrier 2
	check "node 1 keeps its own" has_carrier 1
	check "answer" unanswered 1 "$(ip4 2)"
}

# link_to_ping: TOOK
link_to_ping()
{
	local start

	link_down 2
	check "carrier goes" slowwait 5 no_carrier 2
	start=$(now_ms)
	link_up 2
	check "carrier" wait_carrier 2
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	TOOK=$(($(now_ms) - start))
}

link_up_case()
{
	takes_less "link up to ping" 3000 link_to_ping
	check "both families" wait_ping 1 2
}

flaps()
{
	local i

	for ((i = 0; i < 5; i++)); do
		link_down 2
		check "carrier goes" slowwait 5 no_carrier 2
		link_up 2
		check "carrier" wait_carrier 2
		check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	done
	check "ping" ping_lossless 1 "$(ip4 2)" 50
	check "ping" wait_ping 2 1
}

ktap_main "$@"
