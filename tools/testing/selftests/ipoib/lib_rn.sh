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
