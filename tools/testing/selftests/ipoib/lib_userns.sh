# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A container: a user namespace and a network namespace of it, named userns, with interfaces of
# node 1.

# in_userns COMMAND...: as root of a user namespace, in a network namespace of its own that
# has interfaces of node 1
in_userns()
{
	ip netns exec userns nsenter --user -t "$USERNS" "$@"
}

# userns_start UID DEV...: its root is UID outside
userns_start()
{
	local map dev

	unshare --user --net sh -c 'echo ready; exec sleep 1000' > "$TESTDIR/userns" &
	USERNS=$!
	BACKGROUND+=("$USERNS")
	busywait 5000 grep -q ready "$TESTDIR/userns" || fail "no user namespace"
	for map in uid_map gid_map; do
		echo "0 $1 1" > "/proc/$USERNS/$map" || fail "no $map"
	done
	ip netns attach userns "$USERNS" || fail "cannot name it"
	for dev in "${@:2}"; do
		node_ip 1 link set "$dev" netns "$USERNS" || fail "cannot move $dev"
	done
}

# What is left of it after a case that failed
userns_forget()
{
	[ -n "${USERNS:-}" ] || return 0
	background_stop
	ip netns del userns
	USERNS=
}

# userns_end DEV...: back to node 1
userns_end()
{
	local dev

	for dev; do
		ip -n userns link set "$dev" netns "/run/netns/node1" || fail "cannot move $dev back"
	done
	userns_forget
}
