# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for lib.sh and the tests
#
# The fabric FABRIC=softib: node K is the HCA softib(K-1) on softib's switch, and
# OpenSM runs on softib0 (node 1), in the initial namespace. What the functions
# here promise lib_rxe.sh promises, too, so that a test need not know which it is:
#
#	fabric_load, subnet_start, fabric_unload	nodes without interfaces
#	interfaces_add					which the driver does not make
#	ibdev, bus_info, port_attr, netdev		their names
#	link_down, link_up, hca_remove, hca_add		faults
#	group_*, is_member, no_member			the groups as they are
#	is_sender, sender_gone				who only sends to them
#	from, to, to_group, FROM_KEY			frames of a capture
#	cm_delay					a slow fabric
#	fabric_files					what is read of it
#	ud_to, ud_to_group				arguments for ud_verbs
#
# Functions that only a fabric with a subnet manager has are in lib_sm.sh.

DEBUGFS=/sys/kernel/debug/softib

ibdev()
{
	echo "softib$(($1 - 1))"
}

# bus_info NODE: the device that the HCA is on
bus_info()
{
	basename "$(readlink -f "/sys/class/infiniband/$(ibdev "$1")/device")"
}

# LID as a number
port_lid()
{
	echo $(($(port_attr "$1" lid)))
}

lid_hex()
{
	printf '%04x\n' "$(port_lid "$1")"
}

# netdev NODE: name of the interface of that node's port 1 where this runs
netdev()
{
	local path

	for path in /sys/class/net/*/device/infiniband/"$(ibdev "$1")"; do
		[ -e "$path" ] || return 1
		path=${path%/device/*}
		[ "$(< "$path/dev_port")" = 0 ] || continue
		echo "${path##*/}"
		return 0
	done
	return 1
}

# ---- from nothing to active ports, and back ----

ports_are_active()
{
	local node

	for ((node = 1; node <= FABRIC_N; node++)); do
		port_is_active "$node" || return 1
	done
}

wait_ports_active()
{
	slowwait 30 ports_are_active || ktap_bail "not all ports became ACTIVE"
}

# fabric_files: names of those that tell of it
fabric_files()
{
	printf '%s\n' "$DEBUGFS"/{summary,*/counters}
}

# fabric_most N: how many nodes a test should take that wants N, or many
fabric_most()
{
	echo "$1"
}

# fabric_load N [PARAM...]: the nodes, and no interface yet; mtu=M is a parameter
# that every fabric knows. HCA of the environment: the models of the HCAs, as softib's
# parameter of that name; RDMA_NETDEV: the net devices of their own, as its rdma_netdev
fabric_load()
{
	FABRIC_N=$1
	shift
	modprobe -a ib_umad ib_uverbs || ktap_bail "cannot load ib_umad and ib_uverbs"
	modprobe softib nodes="$FABRIC_N" hca="${HCA:-generic}" \
		rdma_netdev="${RDMA_NETDEV:-none}" "$@" || ktap_bail "cannot load softib"
}

# subnet_start: what it takes for the ports to become active
subnet_start()
{
	opensm_start
}

# The driver makes them.
interfaces_add()
{
	:
}

fabric_unload()
{
	opensm_stop_all
	module_gone softib || modprobe -r softib
	no_partitions
	OPENSM_CONF=
}

# ---- faults: what softib's debugfs offers ----

# knob_set NODE NAME VALUE
knob_set()
{
	echo "$3" > "$DEBUGFS/$(ibdev "$1")/$2" || fail "no knob $2"
}

knob_get()
{
	cat "$DEBUGFS/$(ibdev "$1")/$2"
}

# knob_is NODE KNOB VALUE
knob_is()
{
	[ "$(knob_get "$1" "$2")" = "$3" ]
}

link_down()
{
	knob_set "$1" link down
}

link_up()
{
	knob_set "$1" link up
}

hca_remove()
{
	ibdev "$1" > "$DEBUGFS/remove" || fail "cannot remove node $1"
}

hca_add()
{
	ibdev "$1" > "$DEBUGFS/add" || fail "cannot add node $1"
}

# cm_delay NODE MILLISECONDS: its messages of the CM take so much longer, at least. No
# process is started.
cm_delay()
{
	echo "$2" > "$DEBUGFS/softib$(($1 - 1))/delay_ms_mad"
}

# ahs NODE: address handles of its HCA, with those of the core
ahs()
{
	sed -n "s/^$(ibdev "$1"):.* \([0-9]*\) AHs.*/\1/p" "$DEBUGFS/summary"
}

# ahs_are NODE OP COUNT
ahs_are()
{
	test "$(ahs "$1")" "$2" "$3"
}

# drops NODE REASON: frames for that node that the fabric threw away
drops()
{
	sed -n "s/^port1\.drop\.$2 //p" "$DEBUGFS/$(ibdev "$1")/counters"
}

# ---- groups ----

# group_wish KEY=VALUE...: what the broadcast group shall be like, as OpenSM spells
# it, before subnet_start
group_wish()
{
	local words="$*"

	partitions "Default=0x7fff, ipoib, ${words// /, } : ALL=full;"
	# without QoS all SLs are 0
	OPENSM_CONF="qos TRUE"
}

# group_wished KEY VALUE: so it is, by the fabric's own account
group_wished()
{
	[ $(($(group_field "$1"))) -eq $(($2)) ]
}

# group_field KEY: of the broadcast group: qkey, mtu, pkey, SL, TClass, FlowLabel, HopLimit
group_field()
{
	sa_field "$BROADCAST_MGID" "$1"
}

# group_mtu_set MTU: the broadcast group's
group_mtu_set()
{
	local -A code=([1024]=3 [2048]=4 [4096]=5)

	opensm_stop
	partitions "Default=0x7fff, ipoib, mtu=${code[$1]} : ALL=full;"
	opensm_start
}

# is_member NODE MGID: a full member
is_member()
{
	sa_is_full_member "$@"
}

no_member()
{
	sa_is_no_member "$@"
}

# is_sender NODE MGID: it is known to send to it; with lib_mcast.sh
is_sender()
{
	sa_is_member "$@"
}

sender_gone()
{
	sa_is_no_member "$@"
}

# group_gone MGID: no node is in it
group_gone()
{
	sa_group_gone "$1"
}

# ---- frames ----

# from NODE, to NODE, to_group MGID: the condition on a frame of a capture. FROM_KEY is
# the key of the first.
FROM_KEY=slid

from()
{
	echo "slid=$(lid_hex "$1")"
}

to()
{
	echo "dlid=$(lid_hex "$1")"
}

to_group()
{
	printf 'dlid=%04x\n' "$(sa_field "$1" mlid)"
}

# Every frame of the fabric as a pcap stream.
capture_stream()
{
	exec cat "$DEBUGFS/capture"
}

# tshark 4 has a dissector for the frames, but no name for number 247 in a pcap
# file: it is given them as user type 0 (147), and told what that is.
TSHARK_ARGS=(-o 'uat:user_dlts:"User 0 (DLT=147)","infiniband","0","","0",""')

# tshark_copy FILE: the capture as tshark takes it
tshark_copy()
{
	cp "$CAPTURE" "$1"
	printf '\x93' | dd of="$1" bs=1 seek=20 conv=notrunc status=none
}

# ud_to NODE, ud_to_group MGID: sets UD_TO, arguments for ud_verbs
ud_to()
{
	UD_TO=(-l "$(port_lid "$1")")
}

ud_to_group()
{
	UD_TO=(-l "$(($(sa_field "$1" mlid)))" -g "$1")
}
