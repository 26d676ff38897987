# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# The HCA's own net device for IPoIB: what it did. A test file has this after lib_mcast.sh, whose
# xstat() reads ethtool -S.

# rn_count NODE NAME: of what the net device did, netdev_sends, netdev_doorbells or netdev_mtus
rn_count()
{
	sed -n "s/^hca\.$2 //p" "$DEBUGFS/$(ibdev "$1")/counters"
}

# rn_used COMMAND...: in it the net device of node 2 sends
rn_used()
{
	local sends

	sends=$(rn_count 2 netdev_sends)
	"$@" || return 1
	[ "$(rn_count 2 netdev_sends)" -gt "$sends" ] && return
	echo "the net device has sent nothing"
	return 1
}

# rn_idle COMMAND...: in it the net device of node 2 does not send
rn_idle()
{
	local sends

	sends=$(rn_count 2 netdev_sends)
	"$@" || return 1
	[ "$(rn_count 2 netdev_sends)" -eq "$sends" ] && return
	echo "the net device has sent"
	return 1
}

# replug NODE: the HCA goes and comes
replug()
{
	hca_remove "$1"
	check "gone" slowwait 10 no_interface "$1"
	hca_add "$1"
	nodes_up "$1"
	check "carrier" wait_carrier "$1"
}

# flows N COUNT: node 2 sends COUNT numbered datagrams from each of N sockets, in turn, to
# port 7100 and up of node 3
flows()
{
	in_node 2 timeout $((60 * SLOW)) python3 -c '
import socket, struct, sys
n, count = int(sys.argv[2]), int(sys.argv[3])
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(n)]
for number in range(count):
	for i, sock in enumerate(socks):
		sock.sendto(struct.pack("!I", number) + bytes(96), (sys.argv[1], 7100 + i))
' "$(ip4 3)" "$1" "$2"
}
