# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for lib.sh and the tests
#
# The fabric FABRIC=rxe: node K is the soft-RoCE device rxeK on the Ethernet port
# rocK, whose other end is a port of a bridge. Nobody manages it.
#
#	   node1            node2                 nodeN
#	    ib0              ib0                   ib0
#	     |                |                     |
#	    rxe1             rxe2                  rxeN
#	    roc1             roc2                  rocN	the initial namespace:
#	     |                |                     |	rdma_rxe listens there only
#	   port1            port2                 portN
#	  +--+----------------+---------------------+--+
#	  |         bridge br0, namespace switch       |
#	  +--------------------------------------------+
#
# All ports are in one namespace: that works with link-local GIDs, which IPv6
# looks up by port, but not with IPv4 ones, which it would send to itself.
# lib_softib.sh says what the functions promise.

ibdev()
{
	echo "rxe$1"
}

# It is on nothing that has a name on a bus.
bus_info()
{
	ibdev "$1"
}

# The Ethernet port of a node
eth()
{
	echo "roc$1"
}

eth_mac()
{
	printf '52:54:00:09:00:%02x\n' "$1"
}

# netdev NODE: the interface whose address ends in the port's GID
netdev()
{
	local gid

	gid=$(port_gid_hex "$1")
	host "$1" ip -o link show | awk -v gid="$gid" '
		{ for (i = 1; i < NF; i++) if ($i == "link/infiniband") addr = $(i + 1)
		  gsub(":", "", addr)
		  if (substr(addr, 9) == gid) { sub("[:@].*", "", $2); print $2; found = 1; exit }
		  addr = "" }
		END { exit !found }'
}

in_switch()
{
	ip netns exec switch "$@"
}

# ---- from nothing to active ports, and back ----

# eth_mtu MTU: the Ethernet MTU that gives a path MTU of so much
eth_mtu()
{
	case $1 in
	1024) echo 1500 ;;
	2048) echo 2200 ;;
	4096) echo 4200 ;;
	*) echo "no Ethernet MTU for $1"; return 1 ;;
	esac
}

# The bridge floods multicast, as cheap switches do, unless a test turns its
# snooping on.
switch_up()
{
	ip netns add switch || ktap_bail "cannot make a namespace"
	in_switch sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	ip -n switch -batch - <<-END || ktap_bail "no bridge"
		link add br0 type bridge mcast_snooping 0 forward_delay 0
		link set br0 mtu 9000 up
	END
}

# port_up NODE MTU
port_up()
{
	local node=$1 mtu=$2

	ip -batch - <<-END || ktap_bail "no Ethernet port for node $node"
		link add roc$node mtu $mtu address $(eth_mac "$node") type veth peer name port$node mtu 9000 netns switch
		link set roc$node up
	END
	ip -n switch link set "port$node" master br0 up || ktap_bail "no port for node $node"
	rdma link add "$(ibdev "$node")" type rxe netdev "$(eth "$node")" ||
		ktap_bail "no soft-RoCE device for node $node"
}

# What the ports have joined, and counters of the devices
fabric_files()
{
	printf '%s\n' /proc/net/igmp6 /sys/class/infiniband/rxe*/ports/1/{state,hw_counters/*}
}

# Each takes a second to make, in an emulator.
fabric_most()
{
	echo $(($1 < 8 ? $1 : 8))
}

# fabric_load N [mtu=M]
fabric_load()
{
	local node mtu=${2:-mtu=2048}

	FABRIC_N=$1
	mtu=$(eth_mtu "${GROUP_MTU:-${mtu#mtu=}}") || ktap_bail "$mtu"
	quiet_ipv6
	hosts modprobe -a ib_uverbs rdma_rxe || ktap_bail "cannot load ib_uverbs and rdma_rxe"
	switch_up
	for ((node = 1; node <= FABRIC_N; node++)); do
		port_up "$node" "$mtu"
	done
}

subnet_start()
{
	:
}

# interface_add NODE: makes the one of its port
interface_add()
{
	host "$1" ip link add link "$(eth "$1")" type ipoib || ktap_bail "no interface for node $1"
}

interfaces_add()
{
	local node

	for ((node = 1; node <= FABRIC_N; node++)); do
		interface_add "$node"
	done
}

fabric_unload()
{
	local node

	for ((node = 1; node <= FABRIC_N; node++)); do
		ip link del "$(eth "$node")" 2> /dev/null
	done
	ip netns del switch 2> /dev/null
	module_gone rdma_rxe || modprobe -r rdma_rxe
	GROUP_MTU=
}

# ---- faults ----

# A cable that is pulled: the node's end loses its carrier.
link_down()
{
	ip -n switch link set "port$1" down || fail "no port of node $1"
}

link_up()
{
	ip -n switch link set "port$1" up || fail "no port of node $1"
}

hca_remove()
{
	host "$1" rdma link delete "$(ibdev "$1")" || fail "cannot remove node $1"
}

hca_add()
{
	host "$1" rdma link add "$(ibdev "$1")" type rxe netdev "$(eth "$1")" ||
		fail "cannot add node $1"
	module_gone ib_ipoib || interface_add "$1"
}

# ---- VLANs: vNODE is VLAN 100 of a node's Ethernet port ----

vlan_add()
{
	ip link add link "$(eth "$1")" name "v$1" type vlan id 100 || fail "no VLAN of node $1"
	ip link set "v$1" up
}

# vlan_interface NODE: on its VLAN, ib0 in the namespace node9NODE
vlan_interface()
{
	ip link add link "v$1" name ib0 netns "node9$1" type ipoib || fail "no interface on v$1"
	node_ip "9$1" addr add "10.8.0.$1/24" brd + dev ib0
	node_ip "9$1" link set ib0 up
}

# vlan_up NODE: VLAN, namespace and interface
vlan_up()
{
	vlan_add "$1"
	if [[ " ${NODES_UP[*]} " != *" 9$1 "* ]]; then
		ip netns add "node9$1"
		NODES_UP+=("9$1")
	fi
	vlan_interface "$1"
}

# cm_delay NODE MILLISECONDS: and so does all else that is for it
cm_delay()
{
	tc -n switch qdisc replace dev "port$1" root netem limit 10000 delay "$2ms" ||
		fail "cannot delay what is for node $1"
}

# drops NODE REASON: rxe counts but two
drops()
{
	local -A counter=([qkey]=qkey_viol_cntr [pkey]=bad_pkey_cntr)

	echo $(($(host "$1" ibv_devinfo -v -d "$(ibdev "$1")" | sed -n "s/.*${counter[$2]}:[\t ]*//p")))
}

# ---- groups: their values are those of Documentation/roce.rst ----

GROUP_MTU=

# Only the MTU is anybody's to choose, on the Ethernet.
group_wish()
{
	local word

	GROUP_MTU=
	for word; do
		[[ $word == mtu=* ]] && GROUP_MTU=$((128 << ${word#mtu=}))
	done
}

# Nobody can wish: the values are what they are.
group_wished()
{
	[ -n "$(group_field "$1")" ]
}

group_field()
{
	case $1 in
	qkey) echo 0x80004391 ;;
	pkey) echo 0xffff ;;
	SL | TClass | FlowLabel) echo 0 ;;
	HopLimit) echo 1 ;;
	*) return 1 ;;
	esac
}

# group_mtu_set MTU: of all ports, hence of the groups
group_mtu_set()
{
	local node mtu

	mtu=$(eth_mtu "$1")
	for ((node = 1; node <= FABRIC_N; node++)); do
		host "$node" ip link set "$(eth "$node")" mtu "$mtu" || fail "MTU of node $node"
	done
}

# mgid_hex MGID: 32 hex digits
mgid_hex()
{
	local head tail

	IFS=: read -ra head <<< "${1%%::*}"
	IFS=: read -ra tail <<< "${1#*::}"
	[[ $1 == *::* ]] || tail=()
	while [ $((${#head[@]} + ${#tail[@]})) -lt 8 ]; do
		head+=(0)
	done
	printf '%04x' "${head[@]/#/0x}" "${tail[@]/#/0x}"
	echo
}

# is_member NODE MGID: its port listens to the group's address on the Ethernet
is_member()
{
	local hex

	hex=$(mgid_hex "$2")
	host "$1" cat /proc/net/igmp6 | awk -v dev="$(eth "$1")" -v group="$hex" '
		$2 == dev && $3 == group { found = 1 }
		END { exit !found }'
}

no_member()
{
	! is_member "$@"
}

# is_sender NODE MGID: nobody but the driver knows
is_sender()
{
	mcg_is "$1" "$2" join_state 4
}

sender_gone()
{
	mcg_absent "$@"
}

group_gone()
{
	local node

	for ((node = 1; node <= FABRIC_N; node++)); do
		no_member "$node" "$1" || return 1
	done
}

# ---- frames ----

FROM_KEY=smac

from()
{
	echo "smac=$(eth_mac "$1")"
}

to()
{
	echo "dmac=$(eth_mac "$1")"
}

# Nobody has a LID.
lid_hex()
{
	echo 0000
}

# RFC 2464: 33:33 and the last four octets
to_group()
{
	local hex

	hex=$(mgid_hex "$1")
	echo "dmac=33:33:${hex:24:2}:${hex:26:2}:${hex:28:2}:${hex:30:2}"
}

# A bridge that captures is promiscuous, and so sees what it forwards.
capture_stream()
{
	exec ip netns exec switch tcpdump -i br0 --immediate-mode -U -w - udp port 4791 \
		2> "$TESTDIR/tcpdump.err"
}

# capture_vlans: begins a capture of all frames, those of VLANs too, as tcpdump's filter
# for UDP does not see behind a tag
capture_vlans()
{
	CAPTURE=$TESTDIR/vlan.pcap
	ip netns exec switch tcpdump -i br0 --immediate-mode -U -w - \
		> "$CAPTURE" 2> "$TESTDIR/tcpdump.err" &
	CAPTURE_PID=$!
	busywait 5000 capture_has_header || ktap_bail "no capture"
}

TSHARK_ARGS=()

tshark_copy()
{
	cp "$CAPTURE" "$1"
}

ud_to()
{
	UD_TO=(-g "$(port_gid "$1")")
}

ud_to_group()
{
	UD_TO=(-g "$1")
}

# ---- paths, as the driver traces them ----

TRACING=/sys/kernel/tracing

# paths_traced 0|1: go on or pause
paths_traced()
{
	echo "$1" > "$TRACING/events/ipoib/ipoib_path/enable" || fail "no trace of paths"
}

# Each event with a number and not a time: clocks of two CPUs may differ. Another clock
# empties the trace.
paths_trace()
{
	TRACE_CLOCK=$(sed 's/.*\[\(.*\)\].*/\1/' "$TRACING/trace_clock")
	echo counter > "$TRACING/trace_clock" || fail "no such clock"
	: > "$TRACING/trace"
	paths_traced 1
}

paths_untrace()
{
	paths_traced 0
	echo "$TRACE_CLOCK" > "$TRACING/trace_clock"
}

# path_events GID WHAT: how often that is in the trace; the GID in 32 hex digits
path_events()
{
	grep -c "ipoib_path: .* $(sed 's/..../&:/g; s/:$//' <<< "$1") $2" "$TRACING/trace"
}

path_event()
{
	[ "$(path_events "$1" "$2")" -gt 0 ]
}

# neigh_set NODE ADDRESS GID: has ib0 send what is for that address to that GID
neigh_set()
{
	node_ip "$1" neigh replace "$2" dev ib0 nud permanent \
		lladdr "$(sed 's/../&:/g; s/:$//' <<< "00004391$3")"
}

# no_way GID ERRNO: node 1, which has a neighbour there, looks for it in vain, and this
# is why
no_way()
{
	local address=10.9.0.77

	neigh_set 1 "$address" "$1"
	paths_trace
	check "answer" unanswered 1 "$address"
	check "refused with $2" busywait 3000 path_event "$1" "answer status=-$2"
	check_eq "found" "$(path_events "$1" "answer status=0")" 0
	paths_untrace
	node_ip 1 neigh del "$address" dev ib0
}

# gid_there NODE TEXT: the port's table has a GID with that in it
gid_there()
{
	host "$1" sh -c "cat /sys/class/infiniband/$(ibdev "$1")/ports/1/gids/*" | grep -q "$2"
}
