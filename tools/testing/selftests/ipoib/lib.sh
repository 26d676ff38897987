# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every test of ib_ipoib starts with: a software fabric of N nodes, a real
# subnet manager, and node K's interface as "ib0" in the network namespace nodeK:
#
#	      node1            node2                 nodeN
#	  10.9.0.1/16      10.9.0.2/16           10.9.0.N/16
#	  fd09::1/64       fd09::2/64     ...    fd09::N/64      (hex)
#	       ib0              ib0                   ib0
#	        |                |                     |
#	     softib0          softib1             softib(N-1)
#	        |                |                     |
#	   +----+----------------+---------------------+----+
#	   |            softib's switch                     |
#	   +------------------------------------------------+
#	   OpenSM runs on softib0 (node 1), in the initial namespace
#
# The driver under test is the ib_ipoib that modprobe finds. IPOIB_DRIVER says
# which that is, ours or stock: it decides which failures are expected, and
# which cases there are, never how a case judges.

LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
KTAP_FILE=$(basename "$0" .sh)
IPOIB_DRIVER=${IPOIB_DRIVER:-ours}
DEBUGFS=/sys/kernel/debug/softib
TESTDIR=$(mktemp -d "/tmp/ipoib.$KTAP_FILE.XXXX")
TOOLS=${IPOIB_TOOLS:-/tmp/ipoib-selftest-tools}
FABRIC_N=0
PATH=$TOOLS:$PATH
LC_ALL=C
declare -a NODES_UP=() BACKGROUND=()

# shellcheck source=lib_ktap.sh
. "$LIB_DIR/lib_ktap.sh"
# shellcheck source=lib_sm.sh
. "$LIB_DIR/lib_sm.sh"
# shellcheck source=lib_frames.sh
. "$LIB_DIR/lib_frames.sh"

is_stock()
{
	[ "$IPOIB_DRIVER" = stock ]
}

# ---- names and addresses ----

ibdev()
{
	echo "softib$(($1 - 1))"
}

ip4()
{
	echo "10.9.0.$1"
}

ip6()
{
	printf 'fd09::%x\n' "$1"
}

in_node()
{
	local node=$1

	shift
	ip netns exec "node$node" "$@"
}

# node_ip NODE ARG...: ip(8) in the node's namespace
node_ip()
{
	local node=$1

	shift
	ip -n "node$node" "$@"
}

port_attr()
{
	echo "$(< "/sys/class/infiniband/softib$(($1 - 1))/ports/1/$2")"
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

# The port GUID, 16 hex digits
port_guid()
{
	local gid

	gid=$(port_attr "$1" gids/0)
	gid=${gid//:/}
	echo "${gid:16}"
}

# GID 0 as 32 hex digits
port_gid_hex()
{
	local gid

	gid=$(port_attr "$1" gids/0)
	echo "${gid//:/}"
}

# GID 0 as inet_ntop writes it. Prefix fe80::/64 and a GUID are all there is.
port_gid()
{
	local guid

	guid=$(port_guid "$1")
	printf 'fe80::%x:%x:%x:%x\n' "0x${guid:0:4}" "0x${guid:4:4}" "0x${guid:8:4}" "0x${guid:12:4}"
}

# netdev NODE: name of the interface of that node's port 1 where this runs
netdev()
{
	local path

	for path in /sys/class/net/*/device/infiniband/"softib$(($1 - 1))"; do
		[ -e "$path" ] || return 1
		path=${path%/device/*}
		[ "$(< "$path/dev_port")" = 0 ] || continue
		echo "${path##*/}"
		return 0
	done
	return 1
}

# lladdr NODE [DEV]: 40 hex digits, no colons
lladdr()
{
	local addr

	addr=$(node_ip "$1" -o link show dev "${2:-ib0}" | sed -n 's/.*link\/infiniband \([0-9a-f:]*\).*/\1/p')
	echo "${addr//:/}"
}

lladdr_broadcast()
{
	local addr

	addr=$(node_ip "$1" -o link show dev "${2:-ib0}" | sed -n 's/.* brd \([0-9a-f:]*\).*/\1/p')
	echo "${addr//:/}"
}

# QPN of the address, 6 hex digits
lladdr_qpn()
{
	local addr

	addr=$(lladdr "$@")
	echo "${addr:2:6}"
}

link_mtu()
{
	node_ip "$1" -o link show dev "${2:-ib0}" | sed -n 's/.* mtu \([0-9]*\) .*/\1/p'
}

# mgid4 GROUP [PKEY [SCOPE]]: the MGID of an IPv4 group, as inet_ntop writes it
mgid4()
{
	local a b c d low

	IFS=. read -r a b c d <<< "$1"
	if [ "$1" = 255.255.255.255 ]; then
		echo "ff1${3:-2}:401b:${2:-ffff}::ffff:ffff"
		return
	fi
	low=$(((a & 15) << 24 | b << 16 | c << 8 | d))
	if [ $((low >> 16)) -eq 0 ]; then
		printf 'ff1%s:401b:%s::%x\n' "${3:-2}" "${2:-ffff}" $low
	else
		printf 'ff1%s:401b:%s::%x:%x\n' "${3:-2}" "${2:-ffff}" $((low >> 16)) $((low & 65535))
	fi
}

# mgid6 SUFFIX [PKEY [SCOPE]]: of the IPv6 group ffXX::SUFFIX
mgid6()
{
	echo "ff1${3:-2}:601b:${2:-ffff}::$1"
}

# The last 32 bits of the solicited-node group of node K's fd09:: address.
solicited()
{
	printf '1:ff00:%x\n' "$1"
}

# The IPv4 broadcast group of the default partition.
# shellcheck disable=SC2034 # for the tests
BROADCAST_MGID=ff12:401b:ffff::ffff:ffff

# ---- the fabric ----

port_is_active()
{
	[[ $(port_attr "$1" state) == 4:* ]]
}

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

# softib_load N [PARAM...]
softib_load()
{
	FABRIC_N=$1
	shift
	modprobe -a ib_umad ib_uverbs || ktap_bail "cannot load ib_umad and ib_uverbs"
	modprobe softib nodes="$FABRIC_N" "$@" || ktap_bail "cannot load softib"
}

driver_load()
{
	modprobe ib_ipoib "$@" || ktap_bail "cannot load ib_ipoib"
}

driver_unload()
{
	modprobe -r ib_ipoib
}

# The namespaces inherit these from the initial one: no DAD, for it delays each
# address by seconds, no router solicitations, for nobody asked for them, and
# addresses outlive a down, as in IPv4.
quiet_ipv6()
{
	echo 1 > /proc/sys/net/core/devconf_inherit_init_net
	echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
	echo 0 > /proc/sys/net/ipv6/conf/default/router_solicitations
	echo 1 > /proc/sys/net/ipv6/conf/default/keep_addr_on_down
}

# node_move NODE: its interface into its namespace
node_move()
{
	local node=$1 dev

	dev=$(busywait 5000 netdev "$node") || ktap_bail "node $node has no interface"
	if [ ! -e "/run/netns/node$node" ]; then
		ip netns add "node$node" || ktap_bail "cannot make a namespace"
		NODES_UP+=("$node")
	fi
	ip link set dev "$dev" netns "node$node" name ib0 ||
		ktap_bail "cannot move $dev into node$node"
}

node_config()
{
	local node=$1

	node_ip "$node" -batch - <<-END || ktap_bail "cannot configure node $node"
		link set lo up
		addr add $(ip4 "$node")/16 brd + dev ib0
		addr add $(ip6 "$node")/64 dev ib0 nodad
		link set ib0 up
	END
}

# nodes_up [NODE...]: those, or all
nodes_up()
{
	local node

	[ $# -gt 0 ] || eval "set -- {1..$FABRIC_N}"
	quiet_ipv6
	for node; do
		node_move "$node"
		node_config "$node"
	done
}

nodes_down()
{
	local node

	for node in "${NODES_UP[@]}"; do
		ip netns del "node$node"
	done
	NODES_UP=()
}

has_carrier()
{
	[[ $(node_ip "$1" -o link show dev "${2:-ib0}" up) == *LOWER_UP* ]]
}

no_carrier()
{
	! has_carrier "$@"
}

# wait_carrier [NODE...]
wait_carrier()
{
	local node

	[ $# -gt 0 ] || set -- "${NODES_UP[@]}"
	for node; do
		slowwait 20 has_carrier "$node" || return 1
	done
}

# fabric_up N [softib parameter...]
fabric_up()
{
	softib_load "$@"
	opensm_start
	driver_load
	nodes_up
	wait_carrier || ktap_bail "no carrier on some node"
}

module_gone()
{
	[ ! -d "/sys/module/$1" ]
}

fabric_down()
{
	background_stop
	capture_kill
	module_gone ib_ipoib || driver_unload
	opensm_stop_all
	nodes_down
	module_gone softib || modprobe -r softib
	no_partitions
	OPENSM_CONF=
	FABRIC_N=0
}

# ---- faults: what softib's debugfs offers ----

# knob_set NODE NAME VALUE
knob_set()
{
	echo "$3" > "$DEBUGFS/$(ibdev "$1")/$2" || fail "no knob $2"
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

# drops NODE REASON: frames for that node that the fabric threw away
drops()
{
	sed -n "s/^port1\.drop\.$2 //p" "$DEBUGFS/$(ibdev "$1")/counters"
}

# ---- background processes ----

# background NODE COMMAND...: start it there; background_stop ends what is left of
# them. Never in_node in the background: that is a shell more, and killing it
# leaves the command.
background()
{
	local node=$1

	shift
	ip netns exec "node$node" "$@" &
	BACKGROUND+=($!)
}

background_stop()
{
	local pid

	for pid in "${BACKGROUND[@]}"; do
		kill "$pid" 2> /dev/null
		wait "$pid" 2> /dev/null
	done
	BACKGROUND=()
}

# background_ready LOG: the last one has printed "ready" into its log
background_ready()
{
	busywait 5000 grep -qs ready "$1"
}

# ---- traffic ----

# ping_ok FROM ADDRESS [ARG...]: one echo, within a second
ping_ok()
{
	local node=$1 addr=$2

	shift 2
	in_node "$node" ping -n -c 1 -W 1 -I ib0 "$@" "$addr" > /dev/null 2>&1
}

# wait_ping FROM TO [SECONDS]: until both families answer
wait_ping()
{
	slowwait "${3:-10}" ping_ok "$1" "$(ip4 "$2")" &&
		slowwait "${3:-10}" ping_ok "$1" "$(ip6 "$2")"
}

# ping_lossless FROM ADDRESS COUNT [ARG...]
ping_lossless()
{
	local node=$1 addr=$2 count=$3 out

	shift 3
	out=$(in_node "$node" ping -n -q -c "$count" -i 0.01 -W 2 "$@" "$addr" 2>&1) &&
		[[ $out == *" 0% packet loss"* ]] && return
	echo "$out"
	return 1
}

# counter NODE NAME [DEV]: of rtnl_link_stats64
counter()
{
	in_node "$1" cat "/sys/class/net/${3:-ib0}/statistics/$2"
}

# counter_is NODE NAME OP VALUE, with the operators of test(1)
counter_is()
{
	test "$(counter "$1" "$2")" "$3" "$4"
}

iperf_listens()
{
	in_node "$1" cat /proc/net/tcp6 /proc/net/tcp | grep -qi ':1451 .* 0A '
}

# iperf FROM TO ARG...: a server on TO, a client on FROM; prints Mb/s received,
# and for UDP the share of datagrams lost in per cent. IPERF_ADDR: ip4 or ip6.
iperf()
{
	local from=$1 to=$2 json=$TESTDIR/iperf.json server

	shift 2
	ip netns exec "node$to" iperf3 -s -1 > /dev/null 2>&1 &
	server=$!
	busywait 5000 iperf_listens "$to" || echo "the iperf3 server does not listen"
	if ! timeout 40 ip netns exec "node$from" iperf3 -J \
		-c "$("${IPERF_ADDR:-ip4}" "$to")" "$@" > "$json" 2>&1; then
		kill "$server"
		head -c 500 "$json"
		return 1
	fi
	wait "$server"
	awk -F '[:,]' '/"sum_received"/ { on = 1 } on && /bits_per_second/ { rate = $2 / 1e6 }
		on && /lost_percent/ { lost = $2 } END { printf "%.1f %.1f\n", rate, lost }' "$json"
}

# scaled MILLISECONDS: that limit, on a machine of this speed. It is meant for one
# that starts a process in 10 ms or less, as an emulated guest does on a quiet
# host; on a busy one nothing says how much of the CPU is ours, so measure it.
scaled()
{
	local start i ms

	start=$(now_ms)
	for ((i = 0; i < 20; i++)); do
		/bin/true
	done
	ms=$(($(now_ms) - start))
	[ "$ms" -gt 200 ] || ms=200
	[ "$ms" -lt 1000 ] || ms=1000
	echo $(($1 * ms / 200))
}

# ---- the end ----

save_logs()
{
	[ -d "${IPOIB_OUT:-}" ] || return 0
	mkdir -p "$IPOIB_OUT/$KTAP_FILE"
	cp -r "$TESTDIR"/. "$IPOIB_OUT/$KTAP_FILE/" 2> /dev/null
	dmesg > "$IPOIB_OUT/$KTAP_FILE/dmesg"
}

lib_exit()
{
	local status=$?

	trap - EXIT
	[ $status -eq 0 ] || save_logs
	fabric_down > /dev/null 2>&1
	rm -rf "$TESTDIR"
	exit $status
}
trap lib_exit EXIT
trap 'exit 130' INT TERM

tools_build
