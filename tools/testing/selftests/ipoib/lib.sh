# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every test of ib_ipoib starts with: a software fabric of N nodes, and node
# K's interface as "ib0" in the network namespace nodeK:
#
#	      node1            node2                 nodeN
#	  10.9.0.1/16      10.9.0.2/16           10.9.0.N/16
#	  fd09::1/64       fd09::2/64     ...    fd09::N/64      (hex)
#	       ib0              ib0                   ib0
#	        |                |                     |
#	   +----+----------------+---------------------+----+
#	   |            the fabric                          |
#	   +------------------------------------------------+
#
# FABRIC says which: softib (lib_softib.sh) is InfiniBand with a subnet manager,
# rxe (lib_rxe.sh) soft-RoCE on Ethernet. A test does not ask; what cannot be asked
# of a fabric is in the list of cases that it skips.
#
# The driver under test is the ib_ipoib that modprobe finds. IPOIB_DRIVER says
# which that is, ours or stock: it decides which failures are expected, and
# which cases there are, never how a case judges.

LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
KTAP_FILE=$(basename "$0" .sh)
IPOIB_DRIVER=${IPOIB_DRIVER:-ours}
FABRIC=${FABRIC:-softib}

# shellcheck source=lib_ktap.sh
. "$LIB_DIR/lib_ktap.sh"
# shellcheck source=lib_needs.sh
. "$LIB_DIR/lib_needs.sh"
! MISSING=$(missing_need "$KTAP_FILE") || ktap_skip_all "$MISSING"

# No name in /tmp that others could have made first: these programs run as root. In the
# guest IPOIB_TOOLS is the directory where vm/run has put them.
TESTDIR=$(mktemp -d "/tmp/ipoib.$KTAP_FILE.XXXXXX") || exit
TOOLS=${IPOIB_TOOLS:-$TESTDIR/tools}
FABRIC_N=0
PATH=$TOOLS:$PATH
LC_ALL=C
declare -a NODES_UP=() BACKGROUND=() MONITORS=()

# shellcheck source=lib_sm.sh
. "$LIB_DIR/lib_sm.sh"
# shellcheck source=lib_frames.sh
. "$LIB_DIR/lib_frames.sh"

# ---- hosts: all nodes are in one guest, unless lib_pair.sh redefines these ----

# host NODE [-i] COMMAND...: in the initial namespace of the node's machine, with our
# input if -i
host()
{
	shift
	[ "$1" != -i ] || shift
	"$@"
}

# host_command NODE: sets HOST_CMD, so that "${HOST_CMD[@]}" COMMAND is one process
host_command()
{
	HOST_CMD=()
}

# hosts COMMAND...: on all machines
hosts()
{
	"$@"
}

is_stock()
{
	[ "$IPOIB_DRIVER" = stock ]
}

# ---- names and addresses ----

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
	host "$node" ip netns exec "node$node" "$@"
}

# node_ip NODE ARG...: ip(8) in the node's namespace
node_ip()
{
	local node=$1

	shift
	host "$node" ip -n "node$node" "$@"
}

port_attr()
{
	host "$1" cat "/sys/class/infiniband/$(ibdev "$1")/ports/1/$2"
}

port_is_active()
{
	[[ $(port_attr "$1" state) == 4:* ]]
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

# link_line NODE DEV: of ip link, without virtual functions
link_line()
{
	node_ip "$1" -o link show dev "$2" | sed 's/\\ *vf [0-9].*//'
}

# lladdr NODE [DEV]: 40 hex digits, no colons
lladdr()
{
	local addr

	addr=$(link_line "$1" "${2:-ib0}" | sed -n 's/.*link\/infiniband \([0-9a-f:]*\).*/\1/p')
	echo "${addr//:/}"
}

lladdr_broadcast()
{
	local addr

	addr=$(link_line "$1" "${2:-ib0}" | sed -n 's/.* brd \([0-9a-f:]*\).*/\1/p')
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

driver_load()
{
	hosts modprobe ib_ipoib "$@" || ktap_bail "cannot load ib_ipoib"
	interfaces_add
}

driver_unload()
{
	hosts modprobe -r ib_ipoib
}

# The namespaces inherit these from the initial one: no DAD, for it delays each
# address by seconds, no router solicitations, for nobody asked for them, and
# addresses outlive a down, as in IPv4.
quiet_ipv6()
{
	hosts sysctl -qw net.core.devconf_inherit_init_net=1 \
		net.ipv6.conf.default.accept_dad=0 \
		net.ipv6.conf.default.router_solicitations=0 \
		net.ipv6.conf.default.keep_addr_on_down=1
}

# node_move NODE: its interface into its namespace
node_move()
{
	local node=$1 dev

	dev=$(busywait 5000 netdev "$node") || ktap_bail "node $node has no interface"
	if [[ " ${NODES_UP[*]} " != *" $node "* ]]; then
		host "$node" ip netns add "node$node" || ktap_bail "cannot make a namespace"
		NODES_UP+=("$node")
	fi
	host "$node" ip link set dev "$dev" netns "node$node" name ib0 ||
		ktap_bail "cannot move $dev into node$node"
}

node_config()
{
	local node=$1

	host "$node" -i ip -n "node$node" -batch - <<-END || ktap_bail "cannot configure node $node"
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

# broadcast_scope NODE SCOPE: a hex digit, for the interface
broadcast_scope()
{
	node_ip "$1" link set ib0 broadcast \
		"00:ff:ff:ff:ff:1$2:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff"
}

# nodes_up_in SCOPE: all, with broadcast addresses of that
nodes_up_in()
{
	local node

	quiet_ipv6
	for ((node = 1; node <= FABRIC_N; node++)); do
		node_move "$node"
		broadcast_scope "$node" "$1" || ktap_bail "no broadcast address"
		node_config "$node"
	done
}

nodes_down()
{
	local node

	for node in "${NODES_UP[@]}"; do
		host "$node" ip netns del "node$node"
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

# no_interface NODE: it has none
no_interface()
{
	! node_ip "$1" link show dev ib0 > /dev/null 2>&1
}

# mtu_is NODE MTU
mtu_is()
{
	[ "$(link_mtu "$1")" = "$2" ]
}

# lladdr_ends NODE HEX: its link-layer address does
lladdr_ends()
{
	[[ $(lladdr "$1") == *$2 ]]
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

# xps NODE QUEUE CPUS: processors, a mask in hex, whose frames that transmit queue takes, of those
# that any may
xps()
{
	check "XPS" in_node "$1" sh -c "echo $3 > /sys/class/net/ib0/queues/tx-$2/xps_cpus"
}

# all_cpus: the mask of all processors
all_cpus()
{
	printf '%x\n' $(((1 << $(nproc)) - 1))
}

# only_queue NODE QUEUES QUEUE: of so many transmit queues all that may goes by that one
only_queue()
{
	local queue

	for ((queue = 0; queue < $2; queue++)); do
		xps "$1" "$queue" 0
	done
	xps "$1" "$3" "$(all_cpus)"
}

# fabric_up N [PARAM...]: see fabric_load. IPOIB_TXQS=N: interfaces with so many transmit queues
fabric_up()
{
	local node

	fabric_load "$@"
	subnet_start
	driver_load
	nodes_up
	for ((node = 1; node <= FABRIC_N && ${IPOIB_TXQS:-0}; node++)); do
		is_stock || in_node "$node" ethtool -L ib0 tx "$IPOIB_TXQS" ||
			ktap_bail "node $node has not that many queues"
	done
	wait_carrier || ktap_bail "no carrier on some node"
}

module_gone()
{
	[ ! -d "/sys/module/$1" ]
}

# A test file may replace it: the end of what setup has changed beside the fabric
teardown()
{
	:
}

fabric_down()
{
	background_stop
	monitors_stop
	capture_kill
	module_gone ib_ipoib || driver_unload
	nodes_down
	fabric_unload
	teardown
	FABRIC_N=0
}

# ---- background processes ----

# spawn NODE COMMAND...: it becomes this process. In the background that is what in_node
# is not: a shell more, and killing it leaves the command.
spawn()
{
	local node=$1

	shift
	host_command "$node"
	exec "${HOST_CMD[@]}" ip netns exec "node$node" "$@"
}

# background NODE COMMAND...: start it there; background_stop ends what is left of them
background()
{
	spawn "$@" &
	BACKGROUND+=($!)
}

# ended_within MILLISECONDS PID: it ends, and the shell takes note
ended_within()
{
	local end=$(($(now_ms) + $1 * SLOW))

	while kill -0 "$2" 2> /dev/null; do
		[ "$(now_ms)" -lt $end ] || return 1
		nap 0.01
	done
}

# Seen of iperf3: it waits for itself for ever when it is told to end.
background_stop()
{
	local pid

	for pid in "${BACKGROUND[@]}"; do
		kill "$pid" 2> /dev/null
		ended_within 10000 "$pid" || kill -KILL "$pid" 2> /dev/null
		wait "$pid" 2> /dev/null
	done
	BACKGROUND=()
}

# monitors_stop: end what monitors of lib_mcast.sh has started
monitors_stop()
{
	local pid

	for pid in "${MONITORS[@]}"; do
		kill "$pid" 2> /dev/null
		wait "$pid" 2> /dev/null
	done
	MONITORS=()
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

# ping_once FROM ADDRESS [ARG...]: one echo, even if it takes longer: where it is not tried again
ping_once()
{
	ping_ok "$@" -W 10
}

# unanswered FROM ADDRESS [ARG...]: no answer comes to an echo. There is no way there, so
# no marker can end the wait; it is longer on slow kernels.
unanswered()
{
	local node=$1 addr=$2 out

	shift 2
	out=$(in_node "$node" ping -n -c 1 -W "$SLOW" -I ib0 "$@" "$addr" 2>&1) || return 0
	echo "$out"
	return 1
}

# wait_ping FROM TO [SECONDS]: until both families answer
wait_ping()
{
	local family

	for family in 4 6; do
		slowwait "${3:-10}" ping_ok "$1" "$("ip$family" "$2")" && continue
		echo "IPv$family; neighbours: $(node_ip "$1" neigh show)"
		return 1
	done
}

# doubt NODE: it doubts its neighbours after a second instead of half a minute. Those
# it knows now, whose time runs already, are forgotten.
doubt()
{
	# shellcheck disable=SC2016 # for that shell
	in_node "$1" bash -c '
		for dir in /proc/sys/net/ipv[46]/neigh/ib0; do
			echo 1000 > $dir/base_reachable_time_ms
			echo 1 > $dir/delay_first_probe_time
		done
		ip neigh flush dev ib0'
}

# permanent NODE TO: the stack of NODE asks nothing of TO
permanent()
{
	node_ip "$1" neigh replace "$(ip4 "$2")" dev ib0 nud permanent \
		lladdr "$(lladdr "$2" | sed 's/../&:/g; s/:$//')"
}

# ping_complete COUNT: what ping prints has answers to the first COUNT echoes.
# Without a deadline (-w) ping takes for lost what takes twice as long as the slowest so
# far; with one it goes on sending until it has as many answers as were asked for.
ping_complete()
{
	awk -v count="$1" '
		/ bytes from / && match($0, /icmp_seq=[0-9]+/) {
			seq = substr($0, RSTART + 9, RLENGTH - 9) + 0
			if (seq <= count && !seen[seq]++)
				n++
		}
		END { exit n != count }'
}

# ping_lossless FROM ADDRESS COUNT [ARG...]
ping_lossless()
{
	local node=$1 addr=$2 count=$3 pause=0.01 out

	shift 3
	# ping's socket has room for a few long answers that are not read yet
	[[ " $* " != *" -s "[1-9][0-9][0-9][0-9][0-9]" "* ]] || pause=0.1
	out=$(in_node "$node" ping -n -c "$count" -i "$pause" -w $((10 * SLOW + count / 5)) "$@" "$addr" 2>&1)
	ping_complete "$count" <<< "$out" && return
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

# net_rx: how often all CPUs have looked for received frames
net_rx()
{
	local name n sum=0

	while read -r name n; do
		[ "$name" = NET_RX: ] || continue
		for n in $n; do
			sum=$((sum + n))
		done
	done < /proc/softirqs
	echo "$sum"
}

# feature NODE NAME: on, off, or "off [fixed]"
feature()
{
	in_node "$1" ethtool -k ib0 | sed -n "s/^[\t ]*$2: //p"
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
	spawn "$to" iperf3 -s -1 > /dev/null 2>&1 &
	server=$!
	busywait 5000 iperf_listens "$to" || echo "the iperf3 server does not listen"
	if ! in_node "$from" timeout $((40 * SLOW)) iperf3 -J \
		-c "$("${IPERF_ADDR:-ip4}" "$to")" "$@" > "$json" 2>&1; then
		kill "$server"
		head -c 500 "$json"
		return 1
	fi
	wait "$server"
	awk -F '[:,]' '/"sum_received"/ { on = 1 } on && /bits_per_second/ { rate = $2 / 1e6 }
		on && /lost_percent/ { lost = $2 } END { printf "%.1f %.1f\n", rate, lost }' "$json"
}

# check_rate MBPS LEAST: a stall is looked for, not speed. Kernels made to find bugs
# check each packet, and the host may have other guests, too.
check_rate()
{
	check "Mb/s: $1" awk "BEGIN { exit !($1 * $SLOW * $SLOW >= $2) }"
}

# transfer FROM TO ADDRESS: a stream of OCTETS arrives as it was sent
transfer()
{
	local to=$2 address=$3 got=$TESTDIR/received digest

	background "$to" python3 -c '
import hashlib, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((sys.argv[1], 7000))
listener.listen(1)
print("listening", flush=True)
peer, _ = listener.accept()
digest = hashlib.sha256()
while data := peer.recv(65536):
	digest.update(data)
print(digest.hexdigest(), flush=True)
' "$address" > "$got"
	busywait 10000 grep -q listening "$got" || { fail "no listener"; return; }
	digest=$(in_node "$1" timeout $((60 * SLOW)) python3 -c '
import hashlib, random, socket, sys
data = random.Random(1).randbytes(int(sys.argv[2]))
with socket.create_connection((sys.argv[1], 7000)) as peer:
	peer.sendall(data)
print(hashlib.sha256(data).hexdigest())
' "$address" "$OCTETS") || { fail "the sender failed"; background_stop; return; }
	busywait $((60000 * SLOW)) grep -q "^$digest$" "$got" ||
		fail "what arrived is not what was sent: $(tr '\n' ' ' < "$got")"
	background_stop
}

# tcp_stream FROM TO FAMILY [ARG...]: 10 Mb/s is what even a slow emulator does
# many times over; a stall does not
tcp_stream()
{
	local result

	result=$(IPERF_ADDR=$3 iperf "$1" "$2" -t 2 "${@:4}") ||
		{ fail "iperf3: $result"; return; }
	note "Mb/s: ${result% *}"
	check_rate "${result% *}" 10
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
	[ "$ms" -lt $((SLOW * 1000)) ] || ms=$((SLOW * 1000))
	echo $(($1 * ms / 200))
}

# median: of the numbers of standard input, one a line
median()
{
	sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'
}

# in_turn MEASURE START STOP: what MEASURE prints, ten times, each other time between START
# and STOP. Sets WITHOUT and WITH to the medians: a machine that is slow for a while is so
# for both.
in_turn()
{
	local without=() with=() i

	for ((i = 0; i < 5; i++)); do
		without+=("$("$1")")
		"$2"
		with+=("$("$1")")
		"$3"
	done
	# shellcheck disable=SC2034 # for the tests
	WITHOUT=$(printf '%s\n' "${without[@]}" | median)
	# shellcheck disable=SC2034 # for the tests
	WITH=$(printf '%s\n' "${with[@]}" | median)
	note "without: ${without[*]}; with: ${with[*]}"
}

# takes_less MESSAGE MILLISECONDS COMMAND...: it sets TOOK, to less than that (see scaled) once in
# five times. What waits does so each time, and a machine is not slow for so long.
takes_less()
{
	local msg=$1 ms=$2 took=() limit

	shift 2
	while [ ${#took[@]} -lt 5 ] && [ "$RET" -eq 0 ]; do
		[ ${#took[@]} -eq 0 ] || nap 2
		limit=$(scaled "$ms")
		"$@"
		took+=("$TOOK")
		[ "$TOOK" -ge "$limit" ] || break
	done
	note "$msg: ${took[*]} ms, limit $limit"
	check_num "$msg" "$TOOK" -lt "$limit"
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
# shellcheck source=lib_softib.sh
. "$LIB_DIR/lib_$FABRIC.sh" || exit
