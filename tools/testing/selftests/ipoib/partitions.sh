#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Further interfaces on a port, one or more a partition: made by sysfs and by rtnetlink.
#
#	node1 (SM)    node2      node3		P_Keys beside the default one: Blue 0x8001
#	  |             |          |		for all, Green 0x8002 for nodes 1 and 2,
#	+-+-------------+----------+-+		Half 0x8003 of which only node 1 is a full
#	|           switch           |		member
#	+----------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

CASES=(
	"create B9,B10,B11,B12,B13,B41 create_child makes an interface with the name, P_Key and files of the kernel's driver"
	"create_short B10 a P_Key without bit 15 gives the name, not the partition"
	"create_text B9 text behind the number is ignored"
	"create_refused B9,F58 an invalid P_Key and a P_Key in use are refused"
	"delete B9 delete_child removes a child, and reports an error without a child"
	"delete_create B9 another child can be made at once after a removal"
	"reach B9,A17,A18 children of the same partition reach each other, children of different partitions do not"
	"two_behind_one B35,U37 two children of a port are reached by a single path record, and by their QPNs"
	"pkey_of_frames U41,A16 frames of a child have its P_Key, and its frames to groups have its MGID"
	"link B14 ip link add makes a child with P_Key, mode, umcast, MTU and name"
	"link_files B15 a child made by ip link has the same files"
	"link_connected B14,C2 ip link add makes a child in connected mode, which works"
	"link_same B14 a partition may have several children"
	"link_umcast B8,U54,F46 a child with umcast joins groups that another child of the partition has joined"
	"link_refused B14,F58 an invalid child is refused with the reason"
	"link_del B14 ip link del removes a child, and keeps a parent"
	"queues B14,F55 a child made with several transmit queues uses them, and carries parallel streams"
	"link_address B14,F58 a given address is not used, and the message is shown"
	"changelink B14 mode and umcast can be changed, the P_Key cannot be changed"
	"link_mode B14,F58 an unknown mode is refused"
	"missing B43,U21,A17 a child waits for a P_Key that the port does not have"
	"moved U21 a P_Key that moves in the table takes the child along"
	"goes U21 a removed P_Key takes the carrier down"
	"limited A1 a limited member reaches the full members, and the log has the reason for the other members"
	"cascade B32 children go down and up with their parent"
	"netns B16 a child can be made in another namespace, and comes back from there"
	"rdma_cm B39 a program that binds to the address of a child uses its P_Key"
	"sm_restart U51 children are members again after a restart of the SM"
	"capability B9,U60 an unprivileged user can make and delete no child"
	"many B9 128 children on a port work"
	"held A8,B9,F56 delete_child does not wait for users of the child, removal of the HCA does"
	"failed B9,B14,F59 no child can be made of a failed HCA"
	"remove A8 removal of an HCA removes its children"
	"unload A8 unloading the module under traffic removes the children"
)

NEEDS=(
	[link_files]=link
	[link_connected]=link_files
	[link_same]=link_connected
	[link_umcast]=link_same
	[link_refused]=link_umcast
	[link_del]=link_refused
	[moved]=missing
	[goes]=moved
)

FILES="cm_transport mode parent pkey umcast"

# pkeys_are TEXT...: partitions beside these three
pkeys_are()
{
	local guid1 guid2 guid3

	guid1=0x$(port_guid 1) guid2=0x$(port_guid 2) guid3=0x$(port_guid 3)
	partitions "Default=0x7fff, ipoib : ALL=full;" "Blue=0x0001, ipoib : ALL=full;" \
		"Green=0x0002, ipoib : $guid1=full, $guid2=full;" \
		"Half=0x0003, ipoib : $guid1=full, $guid2=limited, $guid3=limited;" "$@"
}

setup()
{
	fabric_load 3
	pkeys_are
	opensm_start
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier"
	wait_ping 1 2 || ktap_bail "no ping"
}

diagnose()
{
	local node

	for node in 1 2 3; do
		note "node $node: $(node_ip "$node" -br link show | tr '\n' ';')"
	done
	dmesg | tail -n 10
}

# child FILE NODE PKEY: write create_child or delete_child of the parent
child()
{
	in_node "$2" bash -c "echo $3 > /sys/class/net/ib0/$1"
}

# child_fails TEXT FILE NODE PKEY: with that error
child_fails()
{
	local out

	! out=$(child "${@:2}" 2>&1) || { echo "'$4' was taken"; return 1; }
	[[ $out == *"$1"* ]] || { echo "$out"; return 1; }
}

exists()
{
	node_ip "$1" link show dev "$2" > /dev/null 2>&1
}

gone()
{
	! exists "$@"
}

# away NODE PKEY: the child that create_child has made of it
away()
{
	check "deleted" child delete_child "$1" "$2"
	check "gone" busywait 5000 gone "$1" "ib0.${2#0x}"
}

# file NODE DEV NAME
file()
{
	in_node "$1" cat "/sys/class/net/$2/$3"
}

# own_files NODE DEV: of these, those there are
own_files()
{
	in_node "$1" sh -c "cd /sys/class/net/$2 && ls | grep -xE \
		'create_child|delete_child|cm_transport|mode|parent|pkey|umcast'" | xargs
}

# detail NODE DEV KEY[.KEY...]: of ip -d -j link
detail()
{
	node_ip "$1" -d -j link show dev "$2" | python3 -c 'import json, sys
value = json.load(sys.stdin)[0]
for key in sys.argv[1].split("."):
    value = value[key]
print(value)' "$3"
}

# addr_of NODE NET: of a child
addr_of()
{
	echo "10.77.$2.$1"
}

# child_up NODE DEV NET
child_up()
{
	node_ip "$1" addr add "$(addr_of "$1" "$3")/24" dev "$2"
	node_ip "$1" link set dev "$2" up
}

# child_ping FROM DEV TO NET [ARG...]
child_ping()
{
	in_node "$1" ping -n -c 1 -W 1 -I "$2" "${@:5}" "$(addr_of "$3" "$4")" > /dev/null 2>&1
}

create()
{
	check "written" child create_child 1 0x8001
	check "is there" exists 1 ib0.8001
	check_eq "pkey" "$(file 1 ib0.8001 pkey)" 0x8001
	check_eq "mode" "$(file 1 ib0.8001 mode)" datagram
	check_eq "umcast" "$(file 1 ib0.8001 umcast)" 0
	check_eq "parent" "$(file 1 ib0.8001 parent)" ib0
	check_eq "dev_id" "$(($(file 1 ib0.8001 dev_id)))" 0
	check_eq "dev_port" "$(file 1 ib0.8001 dev_port)" 0
	check_eq "files" "$(own_files 1 ib0.8001)" "$FILES"
	check_eq "files of the parent" "$(own_files 1 ib0)" \
		"cm_transport create_child delete_child mode pkey umcast"
	check_eq "link" "$(detail 1 ib0.8001 link)" ib0
	check_eq "kind" "$(detail 1 ib0.8001 linkinfo.info_kind)" ipoib
	check "virtual" in_node 1 test -d /sys/devices/virtual/net/ib0.8001
	check_eq "broadcast address" "$(lladdr_broadcast 1 ib0.8001)" 00ffffffff12401b8001000000000000ffffffff
	blue_down 1
}

create_short()
{
	check "written" child create_child 1 2
	check "is there" exists 1 ib0.0002
	check_eq "pkey" "$(file 1 ib0.0002 pkey)" 0x8002
	check "the same again" child_fails "not unique" create_child 1 0x8002
	check "deleted" child delete_child 1 0x8002
	check "gone" busywait 5000 gone 1 ib0.0002
}

create_text()
{
	check "written" child create_child 1 0x8004x
	check "is there" exists 1 ib0.8004
	check "deleted" child delete_child 1 0x8004/blue
	check "gone" busywait 5000 gone 1 ib0.8004
}

create_refused()
{
	local word

	child create_child 1 0x8001
	for word in 0 0x8000 0x10000 0x100008001 -1 blue x8001; do
		check "$word" child_fails "Invalid argument" create_child 1 "$word"
	done
	check "duplicate" child_fails "not unique" create_child 1 0x8001
	check "the parent's" child_fails "not unique" create_child 1 0xffff
	check_eq "interfaces" "$(node_ip 1 -br link show type ipoib | wc -l)" 2
	blue_down 1
}

delete()
{
	child create_child 1 0x8001
	check "unknown" child_fails "No such device" delete_child 1 0x8007
	check "written" child delete_child 1 0x8001
	check "again" child_fails "No such device" delete_child 1 0x8001
	check "gone" busywait 5000 gone 1 ib0.8001
}

# One shell, for a process takes longer to start than the child to go, and for some of the time
# one that has a CPU before the work which deletes the child.
# shellcheck disable=SC2016 # for that shell
delete_create()
{
	local again='cd /sys/class/net/ib0
		for ((i = 0; i < $0; i++)); do
			echo 0x8001 > create_child
			echo 0x8001 > delete_child
		done'

	check "each written" in_node 1 bash -ec "$again" 30
	check "each written" in_node 1 chrt --fifo 1 bash -ec "$again" 3
	check "gone" busywait 5000 gone 1 ib0.8001
}

# blue_up NODE...: children of Blue
blue_up()
{
	local node

	for node; do
		child create_child "$node" 0x8001 || return 1
		child_up "$node" ib0.8001 1
	done
	for node; do
		slowwait 10 has_carrier "$node" ib0.8001 || return 1
	done
}

blue_down()
{
	local node

	for node; do
		away "$node" 0x8001
	done
}

reach()
{
	check "up" blue_up 1 3
	child create_child 2 0x8002
	# a neighbour of Blue by its address
	child_up 2 ib0.8002 1
	check "up" slowwait 10 has_carrier 2 ib0.8002
	check "in one partition" slowwait 10 child_ping 3 ib0.8001 1 1
	check_not "in two" child_ping 1 ib0.8001 2 1 -c 2 -W "$SLOW"
	check "the parents still" wait_ping 1 2
	away 2 0x8002
	blue_down 1 3
}

# The answer of the SA comes when both frames wait for it.
two_behind_one()
{
	local dev from to=()

	check "up" blue_up 2 3
	check "another" node_ip 2 link add link ib0 name twin type ipoib pkey 0x8001
	check "up" node_ip 2 link set twin up
	check "carrier" slowwait 10 has_carrier 2 twin
	# what it knows of node 2 is forgotten
	check "down" node_ip 3 link set ib0.8001 down
	check "up" node_ip 3 link set ib0.8001 up
	check "carrier" slowwait 10 has_carrier 3 ib0.8001
	from=sqp=$(lladdr_qpn 3 ib0.8001)
	for dev in ib0.8001 twin; do
		to+=("$(lladdr 2 "$dev")")
	done
	capture_start two
	knob_set 1 delay_ms_mad 500
	for dev in "${to[@]}"; do
		check "sent" in_node 3 raw_frame send ib0.8001 "$dev" 0x0800 cafe
	done
	for dev in "${to[@]}"; do
		check "frame to $dev" slowwait 5 frame_seen "$from" "dqp=${dev:2:6}"
	done
	knob_set 1 delay_ms_mad 0
	capture_stop
	# Repeats of a question have its TID.
	check_eq "questions for the path" "$(frames -f mad.tid mad.class=03 mad.method=01 mad.attr=0035 \
		"$(from 3)" "pr.dgid=$(port_gid 2)" | sort -u | wc -l)" 1
	check "away" node_ip 2 link del twin
	blue_down 2 3
}

pkey_of_frames()
{
	check "up" blue_up 1 2
	check "ping" slowwait 10 child_ping 1 ib0.8001 2 1
	capture_start pkey
	check "ping" child_ping 1 ib0.8001 2 1 -c 3 -i 0.2 -W 10
	in_node 1 udp_group send ib0.8001 239.77.0.1 7700 32 3
	capture_stop
	check "P_Key of unicast" frames_all pkey 8001 op=64 "dqp=$(lladdr_qpn 2 ib0.8001)"
	check "of its frames" frames_all pkey 8001 op=64 "sqp=$(lladdr_qpn 1 ib0.8001)"
	check_eq "MGID" "$(frames -f dgid dport=7700 | sort -u)" "$(mgid4 255.255.255.255 8001)"
	blue_down 1 2
}

link()
{
	local node

	for node in 1 2; do
		check "added" node_ip "$node" link add link ib0 name blue mtu 9000 type ipoib \
			pkey 0x8001 mode connected umcast 1
		child_up "$node" blue 2
	done
	check_eq "pkey" "$(detail 1 blue linkinfo.info_data.key)" 0x8001
	check_eq "mode" "$(detail 1 blue linkinfo.info_data.mode)" connected
	check_eq "umcast" "$(detail 1 blue linkinfo.info_data.umcast)" 0001
	check_eq "MTU" "$(detail 1 blue mtu)" 9000
	check_eq "link" "$(detail 1 blue link)" ib0
	check "carrier" slowwait 10 has_carrier 1 blue
	check "carrier" slowwait 10 has_carrier 2 blue
}

link_files()
{
	check_eq "files" "$(own_files 1 blue)" "$FILES"
	check_eq "parent" "$(file 1 blue parent)" ib0
	check_eq "mode" "$(file 1 blue mode)" connected
	check_eq "pkey" "$(file 1 blue pkey)" 0x8001
}

link_connected()
{
	check "long packets" slowwait 10 child_ping 1 blue 2 2 -M 'do' -s 8972
	check "by a connection" slowwait 5 blue_connected
	capture_start link_connected
	check "on it" child_ping 1 blue 2 2 -M 'do' -s 8972
	capture_stop
	check "P_Key of the connection's first packets" frames_all pkey 8001 op=00
	check "of the last" frames_all pkey 8001 op=02
}

blue_connected()
{
	in_node 1 ethtool -S blue | grep -q 'cm_tx_packets: [1-9]'
}

link_same()
{
	check "added" node_ip 1 link add link ib0 name blue2 type ipoib pkey 0x8001
	child_up 1 blue2 3
	check "carrier" slowwait 10 has_carrier 1 blue2
	check "added without P_Key" node_ip 1 link add link ib0 name twin type ipoib
	check_eq "the parent's" "$(detail 1 twin linkinfo.info_data.key)" 0xffff
	check "away" node_ip 1 link del blue2
	check "away" node_ip 1 link del twin
	check "the first one goes on" slowwait 5 child_ping 1 blue 2 2
}

# joined NODE DEV MGID: by that interface
joined()
{
	local file

	file=/sys/kernel/debug/ipoib/$2.$(stat -L -c %i "/run/netns/node$1")_mcg
	awk -v gid="$(mgid_full "$3")" '
		$1 == "GID:" { on = $2 == gid }
		on && $0 ~ /state: *member/ { found = 1 }
		END { exit !found }' "$file"
}

link_umcast()
{
	check "added" node_ip 1 link add link ib0 name user type ipoib pkey 0x8001 umcast 1
	child_up 1 user 4
	check "carrier" slowwait 10 has_carrier 1 user
	check "all hosts" slowwait 5 joined 1 user "$(mgid4 224.0.0.1 8001)"
	check "the other one, too" joined 1 blue "$(mgid4 224.0.0.1 8001)"
	check "away" node_ip 1 link del user
}

# queues_of NODE DEV: those in use, of both directions
queues_of()
{
	in_node "$1" ls "/sys/class/net/$2/queues" | xargs
}

# queues_address NODE: for iperf
queues_address()
{
	addr_of "$1" 8
}

queues()
{
	local node rate rx=''

	# Without CONFIG_RPS sysfs shows no receive queues.
	[[ $(queues_of 1 ib0) != *rx-* ]] || rx="rx-0 "
	for node in 1 2; do
		check "added" node_ip "$node" link add link ib0 name four numtxqueues 4 numrxqueues 4 \
			type ipoib pkey 0x8001
		check_eq "queues" "$(queues_of "$node" four)" "${rx}tx-0 tx-1 tx-2 tx-3" || return
		child_up "$node" four 8
	done
	check "carrier" slowwait 10 has_carrier 1 four
	check "carrier" slowwait 10 has_carrier 2 four
	check "works" slowwait 10 child_ping 1 four 2 8
	for node in 1 2; do
		rate=$(IPERF_ADDR=queues_address iperf "$node" $((3 - node)) -t 3 -P 8) ||
			fail "iperf3: $rate"
		check_rate "${rate% *}" 10
	done
	for node in 1 2; do
		check "away" node_ip "$node" link del four
	done
}

# link_fails TEXT ARG...: of ip link add on node 1
link_fails()
{
	local out text=$1

	shift
	! out=$(node_ip 1 link add "$@" 2>&1) || { echo "$* was made"; return 1; }
	[[ $out == *"$text"* ]] || { echo "$out"; return 1; }
}

# ip(8) sends no such mode: RTM_NEWLINK with IFLA_IPOIB_MODE 2, which is to be -EINVAL
SET_MODE='
import socket, struct, sys

def attr(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)

data = attr(2, attr(2, struct.pack("=H", int(sys.argv[2]))))
info = attr(18, attr(1, b"ipoib\0") + data)
body = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(sys.argv[1]), 0, 0) + info
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
    sock.send(struct.pack("=IHHII", 16 + len(body), 16, 5, 1, 0) + body)
    answer = sock.recv(4096)
print(-struct.unpack_from("=i", answer, 16)[0])
'

link_mode()
{
	check_eq "mode 0" "$(in_node 1 python3 -c "$SET_MODE" ib0 0)" 0
	check_eq "mode 2" "$(in_node 1 python3 -c "$SET_MODE" ib0 2)" 22
	check_eq "mode" "$(in_node 1 cat /sys/class/net/ib0/mode)" datagram
}

link_refused()
{
	check "no parent" link_fails "no parent" name x type ipoib pkey 0x8001
	check "no IPoIB" link_fails "no RoCE port has a GID of" link lo name x type ipoib
	check "child of a child" link_fails "itself a child" link blue name x type ipoib
	check "no P_Key" link_fails "no P_Keys" link ib0 name x type ipoib pkey 0x8000
	check "no mode" link_fails "" link ib0 name x type ipoib mode fast
	check "MTU" link_fails "above the one that the port can do" link ib0 name x mtu 9000 type ipoib
	check "name" link_fails "exists" link ib0 name blue type ipoib
	check_eq "interfaces" "$(node_ip 1 -br link show type ipoib | wc -l)" 2
}

link_address()
{
	local out address=00:00:00:48:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:01

	out=$(node_ip 1 link add link ib0 name green address "$address" type ipoib pkey 0x8002 2>&1) ||
		fail "$out"
	check "reported" grep -q "address given is ignored" <<< "$out"
	check_eq "GID" "$(lladdr 1 green | tail -c 33)" "$(lladdr 1 | tail -c 33)"
	check "away" node_ip 1 link del green
}

changelink()
{
	local out

	check "made" node_ip 1 link add link ib0 name green type ipoib pkey 0x8002
	out=$(node_ip 1 link set green type ipoib mode connected 2>&1) || fail "refused: $out"
	check_eq "messages" "$out" ""
	check_eq "mode" "$(file 1 green mode)" connected
	check "umcast" node_ip 1 link set green type ipoib umcast 1
	check_eq "umcast" "$(file 1 green umcast)" 1
	check_not "pkey" node_ip 1 link set green type ipoib pkey 0x8001
	check_eq "pkey" "$(file 1 green pkey)" 0x8002
	check "the same without bit 15" node_ip 1 link set green type ipoib pkey 0x0002
	check "datagram" node_ip 1 link set green type ipoib mode datagram
	in_node 1 sh -c 'echo none > /sys/class/net/green/cm_transport'
	out=$(node_ip 1 link set green type ipoib mode connected 2>&1) && fail "accepted"
	check "the cause" grep -q "no connected mode" <<< "$out"
	check "away" node_ip 1 link del green
}

link_del()
{
	local node

	for node in 1 2; do
		check "deleted" node_ip "$node" link del blue
		check_not "gone" exists "$node" blue
	done
	node_ip 1 link del ib0
	check "the parent" exists 1 ib0
	check "works" wait_ping 1 2
}

missing()
{
	local out

	klog_mark missing
	out=$(node_ip 1 link add link ib0 name late type ipoib pkey 0x8005 2>&1) || fail "$out"
	check "rtnetlink says so" grep -q 'is not in the table of' <<< "$out"
	check "made" node_ip 2 link add link ib0 name late type ipoib pkey 0x8005
	child_up 1 late 5
	child_up 2 late 5
	check "says so" grep -q 'late: waiting for P_Key 0x8005' <<< "$(klog)"
	check "no carrier" stays 1000 no_carrier 1 late
	pkeys_are "Late=0x0005, ipoib : ALL=full;"
	opensm_reread
	check "carrier" within 20000 has_carrier 1 late
	check "carrier" within 20000 has_carrier 2 late
	check "works" slowwait 10 child_ping 1 late 2 5
}

late_index()
{
	local i

	for ((i = 0; i < 8; i++)); do
		[ "$(pkey_at 1 "$i")" != 0x8005 ] || echo "$i"
	done
}

late_moved()
{
	local now

	now=$(late_index)
	[ -n "$now" ] && [ "$now" != "$1" ]
}

# By hand, for OpenSM leaves keys where they are.
moved()
{
	local was

	was=$(late_index)
	pkeys_set 1 "$was=0" 7=0x8005
	check "moved" busywait 5000 late_moved "$was"
	check "works" within 10000 child_ping 1 late 2 5
	pkeys_set 1 7=0 "$was=0x8005"
	check "back" busywait 5000 late_moved 7
	check "works" within 10000 child_ping 1 late 2 5
}

goes()
{
	klog_mark goes
	pkeys_are
	opensm_reread
	check "no carrier" within 20000 no_carrier 1 late
	check "says so" grep -q 'late: P_Key 0x8005 is not in the table of port 1 any more' <<< "$(klog)"
	check "the parent" wait_ping 1 2
	node_ip 1 link del late
	node_ip 2 link del late
}

limited()
{
	local node

	klog_mark limited
	for node in 1 2 3; do
		child create_child "$node" 0x8003
		child_up "$node" ib0.8003 6
	done
	check_eq "lines of the log" "$(klog | grep -c 'ib0.8003.*: port is a limited member of partition 0x0003')" 2
	check "the full member" slowwait 10 child_ping 2 ib0.8003 1 6
	check "the full member" slowwait 10 child_ping 3 ib0.8003 1 6
	check_not "another limited one" child_ping 2 ib0.8003 3 6 -c 2 -W "$SLOW"
	for node in 1 2 3; do
		away "$node" 0x8003
	done
}

cascade()
{
	check "up" blue_up 1 2
	node_ip 1 link set ib0 down
	check_not "is up" grep -q "'UP'" <<< "$(detail 1 ib0.8001 flags)"
	node_ip 1 link set ib0 up
	check "carrier" slowwait 10 has_carrier 1 ib0.8001
	check "works" slowwait 10 child_ping 1 ib0.8001 2 1
	blue_down 1 2
}

netns()
{
	ip netns add elsewhere
	check "made" node_ip 1 link add link ib0 name far netns elsewhere type ipoib pkey 0x8001
	check_not "not here" exists 1 far
	ip -n elsewhere addr add "$(addr_of 1 7)/24" dev far
	ip -n elsewhere link set far up
	check "a peer" node_ip 2 link add link ib0 name far type ipoib pkey 0x8001
	child_up 2 far 7
	check "works" slowwait 10 ip netns exec elsewhere ping -c 1 -W 1 "$(addr_of 2 7)"
	check "tells where its link is" ip -n elsewhere -d -j link show far
	ip netns del elsewhere
	check "comes back" busywait 5000 ip link show far
	check "deleted there" ip link del far
	node_ip 2 link del far
}

rdma_cm()
{
	check "up" blue_up 1 2
	in_node 2 timeout 180 rping -s -a "$(addr_of 2 1)" -C 3 > "$TESTDIR/rping" 2>&1 &
	BACKGROUND+=($!)
	capture_start rping
	check "rping" slowwait 10 in_node 1 timeout 30 rping -c -a "$(addr_of 2 1)" -C 3
	capture_stop
	check "P_Key of the connection" frames_all pkey 8001 "$(from 1)" op=04
	background_stop
	blue_down 1 2
}

sm_restart()
{
	check "up" blue_up 1 2
	check "works" slowwait 10 child_ping 1 ib0.8001 2 1
	opensm_kill
	opensm_start
	check "works" slowwait 10 child_ping 1 ib0.8001 2 1
	check "member" slowwait 10 sa_is_full_member 1 "$(mgid4 255.255.255.255 8001)"
	blue_down 1 2
}

capability()
{
	check_not "nobody" in_node 1 setpriv --reuid 65534 --clear-groups --bounding-set -all \
		sh -c 'echo 0x8001 > /sys/class/net/ib0/create_child'
	check_not "root without rights" in_node 1 setpriv --bounding-set -all --inh-caps -all \
		sh -c 'echo 0x8001 > /sys/class/net/ib0/create_child'
	check_eq "interfaces" "$(node_ip 1 -br link show type ipoib | wc -l)" 1
	child create_child 1 0x8001
	check_not "root without rights deletes" in_node 1 setpriv --bounding-set -all --inh-caps -all \
		sh -c 'echo 0x8001 > /sys/class/net/ib0/delete_child'
	check "it is there" exists 1 ib0.8001
	away 1 0x8001
}

many()
{
	local begin memory i

	memory=$(available_kb)
	begin=$(now_ms)
	for ((i = 0; i < 128; i++)); do
		echo "link add link ib0 name c$i type ipoib pkey 0x8001"
	done | in_node 1 ip -batch - || fail "not all were made"
	note "made in $(($(now_ms) - begin)) ms"
	begin=$(now_ms)
	for ((i = 0; i < 128; i++)); do
		echo "link set c$i up"
	done | in_node 1 ip -batch - || fail "not all came up"
	check "carrier" slowwait 60 all_carriers 128
	note "carriers after $(($(now_ms) - begin)) ms, $((memory - $(available_kb))) kB"
	begin=$(now_ms)
	for ((i = 0; i < 128; i++)); do
		echo "link del c$i"
	done | in_node 1 ip -batch - || fail "not all were deleted"
	note "deleted in $(($(now_ms) - begin)) ms"
}

all_carriers()
{
	[ "$(node_ip 1 -br link show type ipoib up | grep -c '^c[0-9].*LOWER_UP')" -eq "$1" ]
}

# hca_back: node 2's, that was removed
hca_back()
{
	hca_add 2
	wait_ports_active
	node_move 2
	node_config 2
	check "back" wait_ping 1 2
}

# The kernel asks users for what they hold once a second, with RTNL.
held()
{
	local log=$TESTDIR/held pid

	test -e /proc/sys/vm/unprivileged_userfaultfd ||
		{ check_skip "the kernel has no userfaultfd"; return; }
	check "up" blue_up 2
	background 2 hold dev ib0.8001 > "$log" 2>&1
	busywait 5000 grep -q held "$log" || { fail "not held: $(< "$log")"; return; }
	child delete_child 2 0x8001 &
	pid=$!
	if ! ended_within 3000 "$pid"; then
		fail "delete_child waits"
		background_stop
		return
	fi
	check "gone" busywait 5000 gone 2 ib0.8001
	hca_remove 2 &
	pid=$!
	check "the removal waits" stays 1200 kill -0 "$pid"
	background_stop
	ended_within 10000 "$pid" || fail "the removal does not end"
	hca_back
}

failed()
{
	local out

	knob_set 2 fatal 1
	check "no carrier" slowwait 5 no_carrier 2
	check "create_child" child_fails "No such device" create_child 2 0x8001
	out=$(node_ip 2 link add link ib0 name blue type ipoib pkey 0x8001 2>&1) && fail "made"
	check "the cause" grep -q "the HCA has failed" <<< "$out"
	hca_remove 2
	hca_back
}

remove()
{
	check "up" blue_up 2 3
	background 3 ping -n -i 0.01 "$(addr_of 2 1)"
	hca_remove 2
	check_not "the child" exists 2 ib0.8001
	background_stop
	hca_back
	blue_down 3
}

unload()
{
	check "up" blue_up 1 2
	node_ip 1 link add link ib0 name two type ipoib pkey 0x8002
	background 1 ping -n -i 0.01 "$(addr_of 2 1)"
	check "unloaded" driver_unload
	background_stop
	check_not "nothing is left" exists 1 ib0.8001
}

ktap_main "$@"
