# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for lib.sh
#
# The fabric FABRIC=pair: soft-RoCE as in lib_rxe.sh, but each of the two nodes is a
# guest of its own (tools/testing/vm/pair). This runs in guest 1; guest 2 runs
# rexec, which does there what is asked for node 2.
#
#	   node1, guest 1                  node2, guest 2
#	   ib0 in namespace node1          ib0 in namespace node2
#	    |                               |
#	   rxe1                            rxe2
#	   roc1 -------------------------- roc2		(virtio-net)
#	   eth0 10.255.9.1 -- rexec --> eth0 10.255.9.2

# shellcheck source=lib_rxe.sh
. "$LIB_DIR/lib_rxe.sh"

PAIR_PORT=4790

pair_address()
{
	echo "10.255.9.$1"
}

host()
{
	local host=$1 input=()

	shift
	if [ "$1" = -i ]; then
		input=(-i)
		shift
	fi
	if [ "$host" -eq 1 ]; then
		"$@"
		return
	fi
	rexec call "${input[@]}" "$(pair_address "$host")" $PAIR_PORT "$@"
}

# host_command NODE: sets HOST_CMD, so that "${HOST_CMD[@]}" COMMAND is one process
# of ours
host_command()
{
	HOST_CMD=()
	[ "$1" -eq 1 ] || HOST_CMD=(rexec call "$(pair_address "$1")" "$PAIR_PORT")
}

hosts()
{
	"$@" && host 2 "$@"
}

# pair_wire: the wires, in either guest. Their ports have to be told apart by
# their MAC addresses.
pair_wire()
{
	local node=$IPOIB_NODE

	modprobe virtio_net
	busywait 5000 test -e /sys/class/net/eth1 || ktap_bail "no Ethernet ports: see vm/pair"
	[ "$(< /sys/class/net/eth0/address)" = "52:54:00:0a:00:0$node" ] ||
		ktap_bail "eth0 is not the first wire"
	ip addr replace "$(pair_address "$node")/24" dev eth0
	ip link set eth0 up
}

pair_is_there()
{
	host 2 true 2> /dev/null
}

# port_up NODE MTU: a test of the README may have left the port up, and Linux 6.1
# renames only one that is down already
port_up()
{
	local node=$1 mtu=$2

	host "$node" sh -c "
		ip link show dev eth1 > /dev/null 2>&1 &&
			ip link set eth1 down && ip link set eth1 name roc$node
		ip link set roc$node mtu $mtu up &&
			rdma link add rxe$node type rxe netdev roc$node" ||
		ktap_bail "no soft-RoCE device for node $node"
}

switch_up()
{
	[ "$FABRIC_N" -le 2 ] || ktap_bail "this fabric has two nodes"
}

fabric_unload()
{
	local node

	for node in 1 2; do
		host $node ip link set "$(eth $node)" down 2> /dev/null &&
			host $node ip link set "$(eth $node)" name eth1
	done
	GROUP_MTU=
	hosts modprobe -r rdma_rxe
}

# There is no switch whose port could go down: the node's own goes.
link_down()
{
	host "$1" ip link set "$(eth "$1")" down || fail "no port of node $1"
}

link_up()
{
	host "$1" ip link set "$(eth "$1")" up || fail "no port of node $1"
}

eth_mac()
{
	printf '52:54:00:0a:01:%02x\n' "$1"
}

capture_stream()
{
	exec tcpdump -i roc1 --immediate-mode -U -w - udp port 4791 2> "$TESTDIR/tcpdump.err"
}

if [ "${IPOIB_NODE:-1}" = 1 ]; then
	pair_wire
	slowwait 120 pair_is_there || ktap_bail "guest 2 does not answer"
else
	# what there is to be unloaded is guest 1's to unload
	fabric_down()
	{
		background_stop
	}
fi
