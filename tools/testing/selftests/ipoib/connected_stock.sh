#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Our driver and the kernel's own understand each other, whichever modes they are
# in, and neither loses a frame of the other's.
#
#	node1, node2: ours		node3, node4: the kernel's
#	  |      |			  |      |
#	+-+------+------------------------+------+-+
#	|                 switch                   |
#	+------------------------------------------+
#
# Both are loaded in one kernel: the kernel's own in a copy with another name
# (stock_twin.py). Each makes an interface on each port; nodes 1 and 2 are ours, 3
# and 4 the other's, and those over are left down.

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

CASES=(
	"modes:datagram:datagram C2,C22 ours in datagram mode, stock in datagram mode"
	"modes:datagram:connected C2,C30 ours in datagram mode, stock in connected mode"
	"fallback C12,C21 the service ID of the RFC is tried first, then that of stock"
	"remembered C12,C21 the next connection tries the service ID of stock first"
	"modes:connected:datagram C2,C30 ours in connected mode, stock in datagram mode"
	"modes:connected:connected C2,C30 both in connected mode"
	"directions C13,C14 a pair with stock has one connection for each direction"
	"large:4 C25,C27,C28 IPv4 packets of 65520 octets pass both ways"
	"large:6 C25,C27,C28 IPv6 packets of 65520 octets pass both ways"
	"stream:1:3:ip4 C2 TCP over IPv4, ours to stock"
	"stream:3:1:ip6 C2 TCP over IPv6, stock to ours"
	"uc_only C8,C35 stock reaches a node that offers UC only over UD"
	"down C19 stock goes down and comes back"
	"figures C13 numbers of QPs of each driver for a pair are printed"
)

no_connection()
{
	! rdma res show qp | grep -q 'type RC'
}

# Stock may destroy a CQ before the last QP that uses it, if it is unloaded while there
# are connections: "Destroy of kernel CQ shouldn't fail".
driver_unload()
{
	modprobe -r ib_ipoib
	if ! module_gone ib_ipoix; then
		set_mode 3 datagram
		set_mode 4 datagram
		within 10000 no_connection > /dev/null
		rmmod ib_ipoix
	fi
}

stock_load()
{
	local file

	for file in /lib/modules/"$(uname -r)"/kernel/drivers/infiniband/ulp/ipoib/ib_ipoib.ko*; do
		[ -e "$file" ] || ktap_bail "no ib_ipoib of the kernel's own"
	done
	"$LIB_DIR/stock_twin.py" "$file" "$TESTDIR/ib_ipoix.ko" || ktap_bail "no copy of $file"
	modprobe ib_cm || ktap_bail "no ib_cm"
	insmod "$TESTDIR/ib_ipoix.ko" || ktap_bail "cannot load the copy of $file"
}

setup()
{
	local node dev

	fabric_load 4
	subnet_start
	stock_load
	nodes_up 3 4
	for node in 1 2; do
		dev=$(busywait 5000 netdev "$node") || ktap_bail "no interface of stock's"
		ip link set dev "$dev" name "other$node" || ktap_bail "cannot rename $dev"
	done
	driver_load
	nodes_up 1 2
	wait_carrier || ktap_bail "no carrier on some node"
	wait_ping 1 3 || ktap_bail "no ping"
}

diagnose()
{
	cm_diagnose 1
	note "node 3: $(node_ip 3 -s link show dev ib0)"
}

# both_modes OURS STOCK: of nodes 1 and 3, and nothing is left of what was before
both_modes()
{
	local node

	for node in 1 3; do
		set_mode "$node" datagram || return 1
	done
	slowwait 10 all_gone 1 || return 1
	for node in 1 3; do
		node_ip "$node" neigh flush dev ib0
	done
	set_mode 1 "$1" && set_mode 3 "$2" &&
		slowwait 10 ping_ok 1 "$(ip4 3)" && slowwait 10 ping_ok 3 "$(ip6 1)"
}

modes()
{
	local family

	check "modes" both_modes "$1" "$2"
	check_eq "mode of node 1" "$(net_file 1 mode)" "$1"
	check_eq "mode of node 3" "$(net_file 3 mode)" "$2"
	for family in 4 6; do
		check "IPv$family" ping_lossless 1 "$("ip$family" 3)" 5
		check "IPv$family back" ping_lossless 3 "$("ip$family" 1)" 5
		# The first may tell its sender of a smaller MTU.
		check "long, IPv$family" slowwait 5 ping_ok 1 "$("ip$family" 3)" -s 8000
		check "long, IPv$family" ping_lossless 1 "$("ip$family" 3)" 5 -s 8000
		check "long, IPv$family back" slowwait 5 ping_ok 3 "$("ip$family" 1)" -s 8000
		check "long, IPv$family back" ping_lossless 3 "$("ip$family" 1)" 5 -s 8000
	done
	note "connections: $(conns 1 3 | tr '\n' ';')"
}

# What modes has left in connected mode on both sides
directions()
{
	check "connection" connect 1 3
	check "two connections" slowwait 5 conn_count_is 1 3 2
	check_num "asked for by us" "$(conns 1 3 | grep -c ' active one ')" -eq 1
	check_num "asked for by stock" "$(conns 1 3 | grep -c ' passive one ')" -eq 1
}

fallback()
{
	local own

	capture_start fallback
	check "modes" both_modes connected datagram
	check "connection" connect 1 3
	capture_stop
	own="slid=$(lid_hex 1)"
	check_eq "service ID at first" "$(cm_messages "$CM_REQ" "$own" -f cm.sid | head -n 1)" "0100000000$(lladdr_qpn 3)"
	check_eq "service ID at last" "$(cm_messages "$CM_REQ" "$own" -f cm.sid | tail -n 1)" "1000000000$(lladdr_qpn 3)"
	check_num "grants" "$(cm_messages "$CM_REP" "slid=$(lid_hex 3)" -f slid | sort -u | wc -l)" -eq 1
}

# What fallback has left ends, for nobody uses it.
remembered()
{
	local own param=/sys/module/ib_ipoib/parameters/cm_idle_seconds

	check "connection" connect 1 3
	echo 1 > "$param"
	check "it ends" slowwait 30 all_gone 1
	echo 120 > "$param"
	capture_start remembered
	check "connection" connect 1 3
	capture_stop
	own="slid=$(lid_hex 1)"
	check_eq "service IDs" "$(cm_messages "$CM_REQ" "$own" -f cm.sid | sort -u)" "1000000000$(lladdr_qpn 3)"
	check_eq "refusals" "$(cm_messages "$CM_REJ" -f n)" ""
}

large()
{
	local size=$((65520 - 28))

	[ "$1" = 4 ] || size=$((65520 - 48))
	check "to stock" slowwait 5 ping_ok 1 "$("ip$1" 3)" -M 'do' -s "$size"
	check "to stock" ping_lossless 1 "$("ip$1" 3)" 10 -M 'do' -s "$size"
	check "to ours" ping_lossless 3 "$("ip$1" 1)" 10 -M 'do' -s "$size"
}

stream()
{
	local before

	before=$(($(cm_stat 1 cm_tx_packets) + $(cm_stat 1 cm_rx_packets)))
	tcp_stream "$1" "$2" "$3"
	check_num "frames on connections" $(($(cm_stat 1 cm_tx_packets) + $(cm_stat 1 cm_rx_packets) - before)) -gt 100
}

uc_only()
{
	check "transport" set_transport 1 uc
	check_eq "flags" "$(lladdr 1 | cut -c 1-2)" 40
	node_ip 1 neigh flush dev ib0
	node_ip 3 neigh flush dev ib0
	check "ping" slowwait 10 ping_ok 3 "$(ip4 1)"
	check "ping" ping_lossless 1 "$(ip4 3)" 20
	check "ping back" ping_lossless 3 "$(ip4 1)" 20
	check_eq "connections" "$(conn_count 1 3)" 0
	check "transport" set_transport 1 rc
	check "modes" both_modes connected connected
	check "connection" connect 1 3
}

down()
{
	check "down" node_ip 3 link set ib0 down
	check "node 1 knows" slowwait 15 conn_count_is 1 3 0
	check "up" node_ip 3 link set ib0 up
	check "carrier" wait_carrier 3
	check "ping" slowwait 20 ping_ok 1 "$(ip4 3)"
	check "connection" connect 1 3
	check "ping" ping_lossless 1 "$(ip4 3)" 10
	check "ping back" slowwait 20 ping_ok 3 "$(ip4 1)"
	check "ping back" ping_lossless 3 "$(ip4 1)" 10
}

# qps NODE: of connections
qps()
{
	rdma res show qp link "$(ibdev "$1")/1" | grep -cE 'type (RC|UC)'
}

figures()
{
	local node

	for node in 1 2 3 4; do
		check "datagram" set_mode "$node" datagram
	done
	check "nothing left" slowwait 10 all_gone 1
	# Stock takes its connections apart when it likes to.
	check "nothing left" slowwait 60 no_qps
	for node in 1 2 3 4; do
		check "connected" set_mode "$node" connected
		node_ip "$node" neigh flush dev ib0
	done
	check "ours" connect 1 2
	check "stock" slowwait 10 ping_ok 3 "$(ip4 4)"
	check "stock" slowwait 10 ping_ok 4 "$(ip4 3)"
	# a request that has crossed the other end's is there for another second
	check "ours" slowwait 5 ours_are_one
	note "QPs at each end: ours $(qps 1) and $(qps 2), stock $(qps 3) and $(qps 4)"
}

ours_are_one()
{
	[ "$(qps 1) $(qps 2)" = "1 1" ]
}

no_qps()
{
	[ "$(qps 1) $(qps 2) $(qps 3) $(qps 4)" = "0 0 0 0" ]
}

ktap_main "$@"
