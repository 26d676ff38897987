#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Subnet management of the software fabric: the stock OpenSM brings it up and
# keeps it, and the stock diagnostics show a sane fabric, also while cables and
# HCAs come and go. No IPoIB here.
#
#	     softib0     softib1     softib2     softib3
#	       | |         | |         | |         | |		two ports each
#	   +---1-2---------3-4---------5-6---------7-8---+
#	   |                   switch                    |
#	   +---------------------------------------------+
#	   OpenSM on softib0, port 1

TESTS_DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
# shellcheck source=../../selftests/ipoib/lib.sh
. "$TESTS_DIR/../../selftests/ipoib/lib.sh"

NODES=4
PORTS=2
# OpenSM's log is looked at while it runs.
# shellcheck disable=SC2034 # for opensm_spawn
OPENSM_CONF="force_log_flush TRUE"
FIRST_ACTIVE_MS=20000	# about 1 s on an idle machine

# shellcheck disable=SC2034 # for ktap_main
CASES=(
	"bring_up V all ports become ACTIVE soon, without an error of OpenSM"
	"nodes V ibnetdiscover finds all nodes and cables"
	"links V iblinkinfo: each cable is 4X EDR and Active, at both ends"
	"attributes V ibstat: LIDs, rate and GUIDs of the port match the fabric"
	"mtu V the link MTU is the MTU of the module parameter"
	"sm_info V sminfo finds the master"
	"sa V saquery knows all nodes and a path between any two ports"
	"lid_routed V SMPs by LID reach HCAs and the switch"
	"lft V the LFT has the LIDs of all ports and no other LID"
	"bad_set V a Set that the IBTA forbids is refused and has no effect"
	"counters V perfquery counts sent frames, also in extended counters, and resets them"
	"flap V a link that goes down and up is reported by trap 128 and comes back"
	"disable V ibportstate disables and enables a switch port"
	"description V a new node description reaches OpenSM by trap 144"
	"pkeys V a changed partition is in the P_Key tables"
	"replug V a removed HCA comes back while other HCAs run"
	"handover V a subnet manager of higher priority takes over"
	"bad_knobs V the knobs refuse invalid values"
)

setup()
{
	local begin

	fabric_load $NODES ports=$PORTS
	begin=$(now_ms)
	opensm_start
	ACTIVE_MS=$(($(now_ms) - begin))
}

osm_log()
{
	cat "$TESTDIR/sm1/opensm.log"
}

# state NODE PORT
state()
{
	local state

	state=$(< "/sys/class/infiniband/$(ibdev "$1")/ports/$2/state")
	echo "${state#*: }"
}

state_is()
{
	[ "$(state "$1" "$2")" = "$3" ]
}

all_active()
{
	local node port

	for ((node = 1; node <= NODES; node++)); do
		for ((port = 1; port <= PORTS; port++)); do
			state_is $node $port ACTIVE || return 1
		done
	done
}

# lid NODE PORT
lid()
{
	echo $(($(< "/sys/class/infiniband/$(ibdev "$1")/ports/$2/lid")))
}

switch_lid()
{
	sed -n 's/^switch:.* guid [^ ]* lid \([0-9]*\),.*/\1/p' "$DEBUGFS/summary"
}

bring_up()
{
	note "ACTIVE after $ACTIVE_MS ms"
	slowwait 10 all_active || fail "not all ports are ACTIVE"
	check_num "time to ACTIVE" "$ACTIVE_MS" -lt $FIRST_ACTIVE_MS
	check_eq "errors of OpenSM" "$(osm_log | grep 'ERR ')" ""
}

nodes()
{
	ibnetdiscover > "$TESTDIR/net" || fail "ibnetdiscover failed"
	check_eq "HCAs" "$(grep -c '^Ca' "$TESTDIR/net")" $NODES
	check_eq "switches" "$(grep -c '^Switch' "$TESTDIR/net")" 1
	# Each cable is shown from both ends.
	check_eq "ends of cables" "$(grep -c '^\[[0-9]*\]' "$TESTDIR/net")" \
		$((2 * NODES * PORTS))
	check_eq "vendor" "$(grep -c vendid=0x25053 "$TESTDIR/net")" $((NODES + 1))
}

links()
{
	local lines

	lines=$(iblinkinfo -l)
	check_eq "ends of cables" "$(grep -c '==(' <<< "$lines")" \
		$((2 * NODES * PORTS))
	check_eq "ends up" \
		"$(grep -c '4X *25.78125 Gbps *Active/ *LinkUp' <<< "$lines")" \
		$((2 * NODES * PORTS))
}

attributes()
{
	local node port text

	for ((node = 1; node <= NODES; node++)); do
		for ((port = 1; port <= PORTS; port++)); do
			text=$(ibstat "$(ibdev $node)" $port)
			check "$node/$port state" grep -q 'State: Active' <<< "$text"
			check "$node/$port rate" grep -q 'Rate: 100' <<< "$text"
			check "$node/$port LID" \
				grep -q "Base lid: $(lid $node $port)" <<< "$text"
			check "$node/$port GUID" grep -q \
				"Port GUID: 0x02505300000$(printf %03x $node)0$port" \
				<<< "$text"
			check "$node/$port layer" \
				grep -q 'Link layer: InfiniBand' <<< "$text"
		done
	done
}

mtu()
{
	check_eq "active MTUs" "$(ibv_devinfo | grep -c 'active_mtu:.*4096')" \
		$((NODES * PORTS))
}

sm_info()
{
	local text

	text=$(sminfo)
	check "master" grep -q "sm lid $(lid 1 1) .*SMINFO_MASTER" <<< "$text"
}

sa()
{
	local node port

	check_eq "node records" "$(saquery NR | grep -c '^NodeRecord')" \
		$((NODES * PORTS + 1))
	for ((node = 1; node <= NODES; node++)); do
		for ((port = 1; port <= PORTS; port++)); do
			check "path to $node/$port" grep -q "dlid.*$(lid $node $port)" \
				<<< "$(saquery PR --slid "$(lid 1 1)" \
					--dlid "$(lid $node $port)")"
		done
	done
}

lid_routed()
{
	local node port

	for ((node = 1; node <= NODES; node++)); do
		for ((port = 1; port <= PORTS; port++)); do
			check_eq "description by LID of $node/$port" \
				"$(smpquery nodedesc "$(lid $node $port)" |
				   sed 's/.*\.//')" "$(ibdev $node)"
		done
	done
	check "switch info by LID" smpquery switchinfo "$(switch_lid)"
	check "switch port 1 by LID" smpquery portinfo "$(switch_lid)" 1
}

lft()
{
	local text node port

	text=$(ibroute "$(switch_lid)") || fail "ibroute failed"
	check_eq "entries" "$(grep -c '^0x' <<< "$text")" $((NODES * PORTS + 1))
	for ((node = 1; node <= NODES; node++)); do
		for ((port = 1; port <= PORTS; port++)); do
			check "entry of $node/$port" grep -q \
				"^0x$(printf '%04x %03d' "$(lid $node $port)" \
					$(((node - 1) * PORTS + port)))" <<< "$text"
		done
	done
}

# port_info METHOD [INFO]: PortInfo of node 3, by a MAD of node 1; what is answered, in hex
port_info()
{
	mad_send 1 3 0 10000 "010101$1$(zeros 4)$(printf %016x $RANDOM)0015$(zeros 2)00000001$(zeros 40)${2:-}"
}

# set_port_info INFO: the status of the answer
set_port_info()
{
	local answer

	answer=$(port_info 02 "$1") || return
	# GetResp, and the status behind it
	[ "${answer:6:2}" = 81 ] && echo "${answer:8:4}"
}

bad_set()
{
	local answer info same

	answer=$(port_info 01)
	info=${answer:128:128}
	check_eq "PortInfo" ${#info} 128
	# 0 leaves LinkWidthEnabled, PortState, PortPhysicalState, LinkDownDefaultState and
	# NeighborMTU as they are
	same=${info:0:58}00${info:60:5}000${info:68:4}0${info:73}
	check_eq "nothing new" "$(set_port_info "$same")" 0000
	check_eq "ACTIVE to ARMED" "$(set_port_info "${same:0:65}3${same:66}")" 001c
	check_eq "NeighborMTU 7" "$(set_port_info "${same:0:72}7${same:73}")" 001c
	check_eq "LID 0xc001" "$(set_port_info "${same:0:32}c001${same:36}")" 001c
	answer=$(port_info 01)
	check_eq "PortInfo as it is now" "${answer:128:128}" "$info"
	state_is 3 1 ACTIVE || fail "ACTIVE became $(state 3 1)"
	check "MTU" grep -q 'active_mtu:.*4096' <<< "$(ibv_devinfo -d softib2)"
}

# perf_count FIELD LID [OPTION...]
perf_count()
{
	local field=$1
	shift

	perfquery "$@" | sed -n "s/^$field:\\.*\\([0-9]*\\)$/\\1/p"
}

counters()
{
	local lid before after

	lid=$(lid 2 1)
	before=$(perf_count PortRcvPkts "$lid" 1)
	smpquery nodedesc "$lid" > /dev/null
	after=$(perf_count PortRcvPkts "$lid" 1)
	check_num "received packets" "$after" -gt "$before"
	check_num "extended" "$(perf_count PortRcvPkts -x "$lid" 1)" -gt "$after"
	check_num "of the switch port" \
		"$(perf_count PortXmitPkts "$(switch_lid)" 3)" -gt 0
	check "reset" perfquery -R "$lid" 1
	check_num "after the reset" "$(perf_count PortRcvPkts "$lid" 1)" -lt \
		"$after"
}

trap_128_seen()
{
	[ "$(osm_log | grep -c 'Link state change.*from switch')" -gt "$1" ]
}

flap()
{
	local before

	before=$(osm_log | grep -c 'Link state change.*from switch')
	link_down 2
	check "down" busywait 2000 state_is 2 1 DOWN
	check "the other port stays" state_is 2 2 ACTIVE
	check "trap 128" busywait 5000 trap_128_seen "$before"
	link_up 2
	check "up" slowwait 10 state_is 2 1 ACTIVE
	check_num "link downs" "$(perf_count LinkDownedCounter "$(lid 2 1)" 1)" \
		-ge 1
}

# port_state PORT ACTION: of the switch. While OpenSM writes forwarding tables a MAD may
# be lost, and the tool gives up early.
port_state()
{
	ibportstate "$(switch_lid)" "$1" "$2" > /dev/null 2>&1
}

disable()
{
	local lid

	lid=$(switch_lid)
	check "disable" slowwait 10 port_state 5 disable
	check "down" busywait 5000 state_is 3 1 DOWN
	check "disabled" grep -q 'PhysLinkState:.*Disabled' \
		<<< "$(smpquery portinfo "$lid" 5)"
	check "enable" slowwait 10 port_state 5 enable
	check "up" slowwait 20 state_is 3 1 ACTIVE
}

described()
{
	saquery NR | grep -q "NodeDescription\.*$1$"
}

description()
{
	printf fourth > /sys/class/infiniband/softib3/node_desc
	check "OpenSM knows" slowwait 15 described fourth
	printf softib3 > /sys/class/infiniband/softib3/node_desc
	check "OpenSM knows the old one again" slowwait 15 described softib3
}

has_pkey()
{
	grep -qx "$2" "/sys/class/infiniband/$(ibdev "$1")/ports/1/pkeys/"*
}

has_no_pkey()
{
	! has_pkey "$@"
}

pkeys()
{
	partitions 'Default=0x7fff,ipoib:ALL=full;' \
		"P1=0x0005:0x$(port_guid 2)=full,0x$(port_guid 3)=limited;"
	opensm_kill
	opensm_start
	check "full" slowwait 10 has_pkey 2 0x8005
	check "limited" slowwait 10 has_pkey 3 0x0005
	check "not a member" has_no_pkey 4 0x0005
	partitions 'Default=0x7fff,ipoib:ALL=full;'
	opensm_reread
	check "gone" slowwait 20 has_no_pkey 2 0x8005
	no_partitions
}

replug()
{
	hca_remove 4
	check_not "gone" test -e /sys/class/infiniband/softib3
	check "the rest" state_is 1 1 ACTIVE
	check "removed twice" refused remove softib3
	hca_add 4
	check "back" slowwait 30 state_is 4 1 ACTIVE
	check "and its second port" slowwait 30 state_is 4 2 ACTIVE
	check "added twice" refused add softib3
}

sm_lid_is()
{
	[ $(($(port_attr "$1" sm_lid))) -eq "$2" ]
}

handover()
{
	opensm_spawn 2 -p 10
	# If the old master hands over before the new one has seen it, both are
	# standby until the new one has polled in vain: four times ten seconds.
	check "new master" slowwait 90 sm_lid_is 3 "$(lid 2 1)"
	check "sminfo" grep -q "sm lid $(lid 2 1) .*SMINFO_MASTER" <<< "$(sminfo)"
	# It hands the mastership back when it leaves in order.
	opensm_stop 2
	check "ports stay up" all_active
}

# refused FILE TEXT
refused()
{
	! echo "$2" 2> /dev/null > "$DEBUGFS/$1"
}

bad_knobs()
{
	check "add: no such node" refused add softib9
	check "add: no name" refused add x
	check "remove: number" refused remove 1
	check "link: word" refused softib0/link sideways
	check "drop_next_ud: sign" refused softib0/drop_next_ud -1
	check "drop_next_ud: size" refused softib0/drop_next_ud 4294967296
}

ktap_main "$@"
