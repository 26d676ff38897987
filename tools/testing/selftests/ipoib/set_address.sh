#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ip link set ib0 address: the administrator gives an interface another GUID, one of those
# that the subnet manager gave the port (an alias GUID).
#
#	 node1          node2          node3
#	OpenSM          another GUID
#	   |              |              |
#	+--+--------------+--------------+--+
#	|              switch               |
#	+-----------------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_sm.sh
. "$LIB_DIR/lib_sm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"running B27 the address of a running interface stays"
	"refused:qpn B27 another QPN is refused"
	"refused:flags B27 other flags are refused"
	"refused:prefix B27 another subnet prefix is refused"
	"refused:zero B27 an address without a GUID is refused"
	"unknown B27,B31 a GUID that the port does not have is accepted; there is no carrier before the port has it"
	"works B27 nodes reach each other by a chosen address"
	"stable B27 down and up, a mode and an MTU keep a chosen address"
	"flap B27,B28 loss of the link keeps a chosen address"
	"connected B27 connections work with a chosen address"
	"child B27 a running child follows its parent, and joins its groups by the new address"
	"new_child B27 a child made later has its parent's GUID"
	"alone B27 a child can have its own GUID"
	"permanent B27 the permanent address is the port's own, with any chosen address"
	"back B27,B28 the port's own GUID restores the former state"
	"prefix B28 the address and the permanent address follow the prefix of the subnet"
	"released B27 the HCA is removed, with no reference to its GID table left"
)

# What the administrator chooses: two that no HCA here has
ALIAS=02c9030000abcd01
OTHER=02c9030000abcd02
DYNDBG=/proc/dynamic_debug/control

setup()
{
	fabric_load 3
	partitions "Default=0x7fff, ipoib: ALL=full;" "Blue=0x8001, ipoib: ALL=full;"
	opensm_start
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	wait_ping 1 2 || ktap_bail "no ping"
	ORIGINAL=$(lladdr 2)
}

diagnose()
{
	local node

	for node in 1 2; do
		note "node $node: $(node_ip "$node" -s -o link show dev c0) $(node_ip "$node" neigh show dev c0)"
	done
	note "$(grep ERR "$TESTDIR/sm1/opensm.log" | cut -c 1-300 | tail -n 5)"
	note "node 2: $(lladdr 2), GIDs $(port_attr 2 gids/0) $(port_attr 2 gids/1) $(port_attr 2 gids/2)"
	cm_diagnose 1 2
}

# address HEX: as ip wants it
address()
{
	sed 's/../&:/g; s/:$//' <<< "$1"
}

# set_address HEX [INTERFACE]
set_address()
{
	node_ip 2 link set "${2:-ib0}" address "$(address "$1")"
}

# with GUID: node 2's address, but for that
with()
{
	echo "${ORIGINAL:0:24}$1"
}

down()
{
	node_ip 2 link set ib0 down
}

up()
{
	node_ip 2 link set ib0 up
}

# give INDEX GUID: to node 2's port, by Set(GUIDInfoRecord) (IBTA 15.2.5.18). The subnet
# manager may not know the port yet.
give()
{
	local mad answer

	mad=0103020200000000$(printf '%016x' $((16#$2 & 0xffff)))0030$(zeros 26)00090000
	mad+=$(printf '%016x%04x' $((3 | 16 << $1)) "$(port_lid 2)")$(zeros $((6 + $1 * 8)))$2
	answer=$(mad_send 1 1 1 2000 "$mad")
	[ "${answer:8:4}" = 0000 ] || echo "status ${answer:8:4}"
	[ "${answer:8:4}" = 0000 ]
}

# has_gid INDEX GUID
has_gid()
{
	local gid

	gid=$(port_attr 2 "gids/$1")
	[[ ${gid//:/} == *"$2" ]]
}

# chosen GUID: node 2 has both, and that one is its own
chosen()
{
	[ "$(lladdr 2)" = "$(with "$1")" ] && has_gid 1 "$ALIAS" && has_gid 2 "$OTHER" &&
		has_carrier 2 && return
	down
	check "given" slowwait 10 give 1 "$ALIAS"
	check "given" slowwait 10 give 2 "$OTHER"
	check "in the table" slowwait 10 has_gid 2 "$OTHER"
	check "set" set_address "$(with "$1")"
	up
	wait_carrier 2
	check "ping" wait_ping 1 2
}

running()
{
	check_not "set" set_address "$(with "$ALIAS")"
	check_eq "address" "$(lladdr 2)" "$ORIGINAL"
	check "ping" ping_once 1 "$(ip4 2)"
}

refused()
{
	local wrong

	case $1 in
	qpn)	wrong=${ORIGINAL:0:2}fffffe${ORIGINAL:8:16}$ALIAS ;;
	flags)	wrong=3f${ORIGINAL:2:22}$ALIAS ;;
	prefix)	wrong=${ORIGINAL:0:8}fec0000000000000$ALIAS ;;
	zero)	wrong=$(with 0000000000000000) ;;
	esac
	down
	check_not "set" set_address "$wrong"
	check_eq "address" "$(lladdr 2)" "$ORIGINAL"
	up
	wait_carrier 2
}

unknown()
{
	local before

	klog_mark unknown
	down
	check "set" set_address "$(with "$ALIAS")"
	check_eq "address" "$(lladdr 2)" "$(with "$ALIAS")"
	check "message" klog_has "port 1 does not have GID fe80:.*:02c9:0300:00ab:cd01 yet"
	before=$(xstat 2 mcast_failures)
	up
	check "refused" slowwait 20 xstat_is 2 mcast_failures -gt "$before"
	check "no carrier" no_carrier 2
	check "given" give 1 "$ALIAS"
	check "in the table" slowwait 10 has_gid 1 "$ALIAS"
	wait_carrier 2
}

works()
{
	chosen "$ALIAS"
	node_ip 1 neigh flush dev ib0
	check "ping" wait_ping 1 2
	check "node 1's entry" grep -q "$(address "${ALIAS}")" <<< \
		"$(node_ip 1 neigh show "$(ip4 2)" dev ib0)"
	check "back" wait_ping 2 3
}

stable()
{
	chosen "$ALIAS"
	down
	up
	wait_carrier 2
	check_eq "address" "$(lladdr 2)" "$(with "$ALIAS")"
	node_ip 2 link set ib0 mtu 1500
	node_ip 2 link set ib0 mtu 2044
	check_eq "address" "$(lladdr 2)" "$(with "$ALIAS")"
	check "ping" wait_ping 1 2
}

# OpenSM forgets a port that has gone, with its GUIDs; who gave them gives them again.
flap()
{
	chosen "$ALIAS"
	link_down 2
	check "down" slowwait 10 no_carrier 2
	link_up 2
	check "given" slowwait 20 give 1 "$ALIAS"
	check "given" slowwait 20 give 2 "$OTHER"
	wait_carrier 2
	check_eq "address" "$(lladdr 2)" "$(with "$ALIAS")"
	check "ping" wait_ping 1 2
}

connected()
{
	chosen "$ALIAS"
	set_mode 1 connected
	set_mode 2 connected
	check "ping of 30000 octets" slowwait 20 in_node 1 ping -c 1 -W 1 -s 30000 -M "do" "$(ip4 2)"
	set_mode 1 datagram
	set_mode 2 datagram
	check "ping" wait_ping 1 2
}

guid_of()
{
	local addr

	addr=$(lladdr 2 "$1")
	echo "${addr:24}"
}

guid_is()
{
	[ "$(guid_of "$1")" = "$2" ]
}

child_ping()
{
	in_node 1 ping -n -c 1 -W 1 10.77.0.2 > /dev/null
}

# A child on each of nodes 1 and 2
children()
{
	local node

	for node in 1 2; do
		node_ip "$node" link show c0 > /dev/null 2>&1 && continue
		node_ip "$node" link add link ib0 name c0 type ipoib pkey 0x8001
		node_ip "$node" addr add "10.77.0.$node/24" dev c0
		node_ip "$node" link set c0 up
	done
	check "child's ping" slowwait 20 child_ping
}

# blue_member GUID: the SA has a member of the child's broadcast group with it
blue_member()
{
	[ -n "$(sa_records 1 MCMR --mgid "$(mgid4 255.255.255.255 8001)" \
		--gid "fe80::$(sed 's/..../&:/g; s/:$//' <<< "$1")" | word JoinState)" ]
}

child()
{
	chosen "$ALIAS"
	children
	down
	node_ip 2 link set c0 up
	check "child's ping" slowwait 20 child_ping
	check "set" set_address "$(with "$OTHER")"
	check "child" slowwait 20 guid_is c0 "$OTHER"
	check "child's ping" slowwait 20 child_ping
	check "member" slowwait 10 blue_member "$OTHER"
	check "node 1's entry" grep -q "$(address "$OTHER")" <<< \
		"$(node_ip 1 neigh show 10.77.0.2 dev c0)"
	up
	check "ping" wait_ping 1 2
}

# watches: ip monitor reports changes of links by now
watches()
{
	node_ip 2 link set ib0 group 0
	[ -s "$TESTDIR/monitor" ]
}

# first_report INTERFACE: the line of ip monitor that has it first
first_report()
{
	grep -m 1 "^[0-9]*: $1@" "$TESTDIR/monitor"
}

# The control work follows the creation, and would correct another GUID before it can be read.
new_child()
{
	chosen "$OTHER"
	background 2 ip -o monitor link > "$TESTDIR/monitor"
	check "watched" busywait 5000 watches
	node_ip 2 link add link ib0 name c1 type ipoib pkey 0x8001
	check_eq "GUID" "$(guid_of c1)" "$OTHER"
	check_eq "permanent GUID" "$(permanent_address c1 | cut -c 25-)" "${ORIGINAL:24}"
	check "reported" busywait 3000 first_report c1
	is_stock || check "from the beginning" grep ":$(address "$OTHER") brd" <<< "$(first_report c1)"
	background_stop
	node_ip 2 link del c1
}

alone()
{
	local addr

	chosen "$OTHER"
	children
	node_ip 2 link set c0 down
	addr=$(lladdr 2 c0)
	check "set" set_address "${addr:0:24}$ALIAS" c0
	node_ip 2 link set c0 up
	check_eq "child" "$(guid_of c0)" "$ALIAS"
	check_eq "parent" "$(guid_of ib0)" "$OTHER"
	check "child's ping" slowwait 20 child_ping
}

# permanent_address [INTERFACE]: of node 2, without colons
permanent_address()
{
	in_node 2 ethtool -P "${1:-ib0}" | sed -n 's/^Permanent address: //p' | tr -d :
}

permanent()
{
	chosen "$OTHER"
	check_eq "address" "$(lladdr 2)" "$(with "$OTHER")"
	check_eq "permanent address" "$(permanent_address)" "$ORIGINAL"
}

back()
{
	chosen "$OTHER"
	children
	down
	check "set" set_address "$(with "${ORIGINAL:24}")"
	up
	wait_carrier 2
	check_eq "address" "$(lladdr 2)" "$ORIGINAL"
	check "child" slowwait 20 guid_is c0 "${ORIGINAL:24}"
	check "ping" wait_ping 1 2
	check "child's ping" slowwait 20 child_ping
}

# prefix_is PREFIX: that of node 2's address
prefix_is()
{
	[[ $(lladdr 2) == ????????$1* ]]
}

# new_prefix PREFIX: an SM with another one takes over
new_prefix()
{
	opensm_stop
	OPENSM_CONF="subnet_prefix 0x$1"
	opensm_start
	OPENSM_CONF=
	check "prefix" slowwait 20 prefix_is "$1"
	check "carrier" wait_carrier 1 2
	check_eq "permanent address" "$(permanent_address)" "$(lladdr 2)"
	node_ip 1 neigh flush dev ib0
	node_ip 2 neigh flush dev ib0
	check "ping" wait_ping 1 2
}

prefix()
{
	down
	check "set" set_address "$(with "${ORIGINAL:24}")"
	up
	wait_carrier 2
	new_prefix fec0000000000077
	check_eq "GUID" "$(guid_of ib0)" "${ORIGINAL:24}"
	new_prefix fe80000000000000
	check_eq "address" "$(lladdr 2)" "$ORIGINAL"
}

# The core logs each entry that it frees then. One of InfiniBand that is held leaves the table
# all the same.
frees_are_logged()
{
	grep -qs free_gid_entry_locked "$DYNDBG" && echo 'func free_gid_entry_locked +p' > "$DYNDBG" &&
		return
	check_skip "the kernel does not log the end of an entry"
	return 1
}

released()
{
	frees_are_logged || return
	klog_mark released
	down
	# the present one would not get as far as the driver
	check "another" set_address "$(with 0202030405060708)"
	check "set" set_address "$(with "${ORIGINAL:24}")"
	hca_remove 2
	check "gone" slowwait 10 no_hca 2
	check "the entry is freed" busywait 5000 klog_has 'free_gid_entry_locked port=1 index=0 '
	check_not "an entry is held" klog_has 'GID entry ref leak'
	echo 'func free_gid_entry_locked -p' > "$DYNDBG"
}

no_hca()
{
	! rdma dev show "$(ibdev "$1")" > /dev/null 2>&1
}

ktap_main "$@"
