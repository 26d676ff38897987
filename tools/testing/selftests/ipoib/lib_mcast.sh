# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the driver says of its multicast groups, its counters, and which group
# datagrams went by on the wire.

# The ninth octet and so on: an MGID as %pI6 writes it.
mgid_full()
{
	local head=${1%%::*} tail='' word out='' n
	local -a left right

	[[ $1 == *::* ]] && tail=${1##*::}
	IFS=: read -ra left <<< "$head"
	IFS=: read -ra right <<< "$tail"
	n=$((8 - ${#left[@]} - ${#right[@]}))
	while [ $((n--)) -gt 0 ]; do
		left+=(0)
	done
	for word in "${left[@]}" "${right[@]}"; do
		printf -v word '%04x' "0x$word"
		out+=${out:+:}$word
	done
	echo "$out"
}

# Groups as arguments of cases: IPv6 ones have a dash for the two colons.
group_of()
{
	echo "${1/-/::}"
}

# mgid_of GROUP: the MGID of such an argument
mgid_of()
{
	case $1 in
	*-*) mgid6 "${1#*-}" ;;
	*) mgid4 "$1" ;;
	esac
}

# mcg_file NODE: the driver's list of groups
mcg_file()
{
	echo "/sys/kernel/debug/ipoib/ib0.$(stat -L -c %i "/run/netns/node$1")_mcg"
}

# path_file NODE: the driver's list of paths
path_file()
{
	echo "/sys/kernel/debug/ipoib/ib0.$(stat -L -c %i "/run/netns/node$1")_path"
}

has_path()
{
	grep -qi "$(port_gid_hex "$2" | sed 's/..../&:/g; s/:$//')" "$(path_file "$1")"
}

has_no_path()
{
	! has_path "$@"
}

# waiting_for_path NODE: so many frames do
waiting_for_path()
{
	awk '$1 == "queuelen:" { sum += $2 } END { print sum + 0 }' "$(path_file "$1")"
}

# paths_forget: node 2 knows no path, and asks the SA for one when something is sent to node 3
# The stacks may have sent something by then; so it tries a few times.
paths_forget()
{
	local i

	for ((i = 0; i < 5; i++)); do
		check "down" node_ip 2 link set ib0 down
		check "up" node_ip 2 link set ib0 up
		check "carrier" wait_carrier 2
		check "neighbour" permanent 2 3
		! has_no_path 2 3 || return
	done
	fail "node 2 knows the path"
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

# flows_wait: frames of eight flows wait for a path, and each flow leaves in order. An answer after a
# second is none, and a machine may be slow for a while.
flows_wait()
{
	local i port waited

	for ((i = 0; i < 5; i++)); do
		paths_forget
		capture_start flows_wait
		knob_set 2 delay_ms_mad 500
		check "send" flows 8 3
		waited=$(waiting_for_path 2)
		busywait 5000 frame_seen dport=7107 number=2
		knob_set 2 delay_ms_mad 0
		capture_stop
		[ "$waited" -ne 24 ] || break
	done
	check_eq "that waited" "$waited" 24
	for ((port = 7100; port < 7108; port++)); do
		check_eq "sent to $port" "$(frames -f number "$(from 2)" "dport=$port" | xargs)" "0 1 2"
	done
}

# mcg NODE MGID KEY: a line of that group's entry; nothing if there is none
mcg()
{
	awk -v gid="$(mgid_full "$2")" -v key="$3:" '
		$1 == "GID:" { on = $2 == gid }
		on && $1 == key { print $2 }' "$(mcg_file "$1")"
}

# mcg_is NODE MGID KEY VALUE
mcg_is()
{
	local got

	got=$(mcg "$1" "$2" "$3")
	[ "$got" = "$4" ] && return
	echo "node $1, $2: $3 is '$got', not '$4'"
	return 1
}

mcg_absent()
{
	mcg_is "$1" "$2" state ""
}

# xstat NODE NAME: a counter of ethtool -S
xstat()
{
	in_node "$1" ethtool -S ib0 | awk -v name="$2:" '$1 == name { print $2 }'
}

# xstat_is NODE NAME OP VALUE, with the operators of test(1)
xstat_is()
{
	test "$(xstat "$1" "$2")" "$3" "$4"
}

# subscribed NODE: the SA has our subscriptions to both traps, and no other
subscribed()
{
	local n

	n=$(sa_records 1 -I | grep -ci "SubscriberGID=$(port_gid "$1")")
	[ "$n" -eq 2 ] && return
	echo "node $1 has $n subscriptions"
	return 1
}

unsubscribed()
{
	! sa_records 1 -I | grep -qi "SubscriberGID=$(port_gid "$1")"
}

# routes NODE: it routes multicast, and so subscribes at once
routes()
{
	node_ip "$1" link set ib0 allmulticast on
	slowwait 20 subscribed "$1"
}

# routes_no_more NODE
routes_no_more()
{
	node_ip "$1" link set ib0 allmulticast off
}

# monitors NODE: it sends to the group of Neighbour Solicitations for the next node without an
# end, and so subscribes, in 18 s. monitors_stop and fabric_down end it; so does what takes the
# interface down. Not in check, which is a subshell
monitors()
{
	if [ -z "${MONITORS[$1]:-}" ] || ! kill -0 "${MONITORS[$1]}" 2> /dev/null; then
		spawn "$1" udp_group send ib0 \
			"ff02::$(solicited $(($1 % FABRIC_N + 1)))" 6990 100 1000000 500000 &
		MONITORS[$1]=$!
	fi
	check "node $1 subscribes" slowwait 30 subscribed "$1"
}

# udp_to NODE GROUP PORT COUNT [INTERVAL_US]
udp_to()
{
	in_node "$1" udp_group send ib0 "$2" "$3" 100 "$4" "${5:-1000}"
}

# group_remade NODE MGID [QKEY [SLFLOWHOP]]: the group that a program on node 3 has made with
# group_create goes, and comes again with its MLID, and with these values. What NODE asks the
# SA, it asks after both.
group_remade()
{
	local hex mlid

	hex=$(mgid_full "$2" | tr -d :)
	mlid=$(sa_field "$2" mlid)
	knob_set "$1" delay_ms_mad 1000
	check "deleted" group_delete 3 "$hex"
	check "made anew" group_create 3 "$hex" "${3:-00000b1b}" 84 "${4:-00000000}"
	knob_set "$1" delay_ms_mad 0
	check_eq "MLID" "$(sa_field "$2" mlid)" "$mlid"
}

# report [FIELD:VALUE]...: a MAD in hex, a report of a group that has been made but for
# what is said otherwise
report()
{
	local -A is=([class]=03 [version]=02 [method]=06 [status]=0000 [attribute]=0002
		[modifier]=00000000 [tid]=0000000012345678
		[rmpp]=$(zeros 12) [type]=84000004 [trap]=0042
		[gid]=ff12401bffff000000000000ef1e0001)
	local word

	for word; do
		is[${word%%:*}]=${word#*:}
	done
	printf '01%s%s%s%s0000' "${is[class]}" "${is[version]}" "${is[method]}" "${is[status]}"
	printf '%s%s0000%s' "${is[tid]}" "${is[attribute]}" "${is[modifier]}"
	# RMPP header, the rest of the SA's; type, trap, LID of the issuer
	printf '%s%s%s%s0001%s' "${is[rmpp]}" "$(zeros 20)" "${is[type]}" "${is[trap]}" "$(zeros 8)"
	printf '%s%s\n' "${is[gid]}" "$(zeros 168)"
}

# by_own_tree NODE GROUP: ten datagrams go to the group itself, none by the broadcast group
by_own_tree()
{
	local before

	before=$(xstat "$1" tx_via_broadcast)
	udp_to "$1" "$2" 7301 10
	xstat_is "$1" tx_via_broadcast -eq "$before"
}

# xstat_grows NODE NAME GROUP: a datagram makes it grow
xstat_grows()
{
	local before

	before=$(xstat "$1" "$2")
	udp_to "$1" "$3" 6998 1
	xstat_is "$1" "$2" -gt "$before"
}
