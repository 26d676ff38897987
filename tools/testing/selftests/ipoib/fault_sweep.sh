#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Whatever allocation of memory fails, and whatever the HCA refuses, the driver
# says so or gets over it, loses nothing, and works at the next try.
#
#	node1 (SM)   node2
#	  |            |	each step below is done again and again; the
#	+-+------------+-+	1st, 2nd, 3rd ... allocation fails, until one
#	|     switch     |	run has come through without any failing
#	+----------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_fault.sh
. "$LIB_DIR/lib_fault.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

# A step takes at most so many allocations: to see that a walk ends.
LIMIT=1000
# FAULT_PROBE=1: only the 1st, 2nd, 4th, 8th ... to see how many there are
FAULT_PROBE=${FAULT_PROBE:-0}
# FAULT_FROM=N: begin with the Nth, as where an earlier walk was stopped
FAULT_FROM=${FAULT_FROM:-1}

# The steps, a line each: name, where allocations are failed (init: whatever an
# initcall does; module: in or below the driver), what works afterwards, seconds
# it may take until it does, claim. Each has two functions: NAME_prepare, without
# faults, and NAME_act, with them.
STEPS=(
	"load   init   interface  0  loading the module"
	"plug   module interface2 0  an HCA that comes"
	"ifup   module ping       20 interface up, join of the broadcast group, first frames"
	"join   module member     20 joining a group"
	"first  module both       20 the first frame to a neighbour and to a group"
	"mtu    module ping       20 change of the MTU"
	"mode   module ping       20 change of the mode"
	"connect module connected 20 a connection, and what all of them share"
	"link   module ping       20 a link that goes and comes: reregistration, new paths"
	"ifdown module down       5  interface down"
	"unplug module gone2      5  an HCA that goes"
	"unload module unloaded   0  unloading the module"
)

# What the HCA can be told to refuse: knob, step, claim
VERBS=(
	"fail_qp     plug   no queue pair"
	"fail_ah     ifup   no address handle"
	"fail_ah     join   no address handle"
	"fail_ah     first  no address handle"
	"fail_modify ifup   the queue pair does not change its state"
	"fail_modify ifdown the queue pair does not change its state"
	"fail_send   first  a send ends in error"
)

step_cases()
{
	local entry kind name claim knob

	CASES+=("told_tells F31 a report of the driver is a warning with words of the step")
	for entry in "${STEPS[@]}"; do
		read -r name _ _ _ claim <<< "$entry"
		for kind in "${FAULT_KINDS[@]}"; do
			CASES+=("sweep:$name:$kind - $kind: $claim")
		done
	done
	for entry in "${VERBS[@]}"; do
		read -r knob name claim <<< "$entry"
		CASES+=("verbs:$name:$knob - $name: $claim")
	done
}

setup()
{
	have_faults && fault_init
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
	DRIVER_UP=1
}

# ---- bringing things into a known state ----

# driver_ready: the driver is loaded, both HCAs are there, both nodes up
driver_ready()
{
	local node

	[ -n "$DRIVER_UP" ] && return
	[ -e "/sys/class/infiniband/$(ibdev 2)" ] || hca_add 2
	wait_ports_active
	module_gone ib_ipoib && driver_load
	for node in 1 2; do
		node_ip "$node" link show dev ib0 > /dev/null 2>&1 || nodes_up "$node"
	done
	wait_carrier || fail "no carrier"
	slowwait 20 ping_ok 1 "$(ip4 2)" || fail "no ping"
	DRIVER_UP=1
}

not_ready()
{
	DRIVER_UP=
}

node_up()
{
	node_ip "$1" link set ib0 up
}

node_down()
{
	node_ip "$1" link set ib0 down
}

# ---- the steps ----

# Without the other HCA and its interface, which would only double the work.
load_prepare()
{
	not_ready
	module_gone ib_ipoib || driver_unload
	[ ! -e "/sys/class/infiniband/$(ibdev 2)" ] || hca_remove 2
}

# Not with what the rig does at each load, which would take longer than all else.
load_act()
{
	modprobe --ignore-install ib_ipoib
}

plug_prepare()
{
	not_ready
	[ ! -e "/sys/class/infiniband/$(ibdev 2)" ] || hca_remove 2
}

plug_act()
{
	ibdev 2 > "$DEBUGFS/add"
}

ifup_prepare()
{
	driver_ready
	node_down 2
}

ifup_act()
{
	node_up 2
}

join_prepare()
{
	driver_ready
	[ -z "${JOINER:-}" ] || group_leave
	JOINER=
	GROUP=239.5.$((++GROUPS_USED / 250)).$((GROUPS_USED % 250 + 1))
}

join_act()
{
	group_join 2 "$GROUP"
}

first_prepare()
{
	driver_ready
	node_down 1
	node_up 1
	wait_carrier 1 || fail "no carrier"
	GROUP=239.6.$((++GROUPS_USED / 250)).$((GROUPS_USED % 250 + 1))
}

first_act()
{
	in_node 1 udp_group send ib0 "$GROUP" 9 100 1
}

mtu_prepare()
{
	driver_ready
	node_ip 2 link set ib0 mtu 2044
}

mtu_act()
{
	node_ip 2 link set ib0 mtu 1500
}

mode_prepare()
{
	driver_ready
	set_mode 2 datagram || fail "no datagram mode"
}

mode_act()
{
	set_mode 2 connected
}

connect_prepare()
{
	driver_ready
	in_mode connected rc 1 2 || fail "no connected mode"
}

# A connection that cannot be had leaves the frame to UD.
connect_act()
{
	works_ping > /dev/null
}

link_prepare()
{
	driver_ready
}

link_act()
{
	link_down 2
	within 5000 no_carrier 2
	link_up 2
}

ifdown_prepare()
{
	driver_ready
	node_up 2
	wait_carrier 2 || fail "no carrier before"
	slowwait 20 ping_ok 1 "$(ip4 2)" || fail "no ping before"
}

ifdown_act()
{
	node_down 2
}

unplug_prepare()
{
	driver_ready
}

unplug_act()
{
	not_ready
	ibdev 2 > "$DEBUGFS/remove"
}

unload_prepare()
{
	driver_ready
	fault_module_moved
}

unload_act()
{
	not_ready
	rmmod ib_ipoib
}

# ---- what works after a step ----

works_ping()
{
	ip netns exec node1 ping -n -q -c 1 -W 1 10.9.0.2
}

works_interface()
{
	netdev 1 > /dev/null
}

works_interface2()
{
	netdev 2 > /dev/null
}

# groups of an interface, from the driver's own list
groups_of()
{
	cat "/sys/kernel/debug/ipoib/ib0.$(stat -L -c %i "/run/netns/node$1")_mcg"
}

# The MGID of $GROUP, not shortened, as the driver writes it
mgid_in_full()
{
	local a b c d

	IFS=. read -r a b c d <<< "$GROUP"
	printf 'ff12:401b:ffff:0000:0000:0000:%02x%02x:%02x%02x\n' $((a & 15)) "$b" "$c" "$d"
}

works_member()
{
	groups_of 2 | grep -A 7 -x "GID: $(mgid_in_full)" | grep -q 'join_state: *1$'
}

works_both()
{
	works_ping && in_node 1 udp_group send ib0 "$GROUP" 9 100 1
}

works_connected()
{
	connect_try 1 2
}

works_down()
{
	no_carrier 2
}

works_gone2()
{
	[ ! -e "/sys/class/infiniband/$(ibdev 2)" ] && ! netdev 2 > /dev/null
}

works_unloaded()
{
	module_gone ib_ipoib
}

# ---- the walk ----

# What the driver, or those below it, say of a step that went wrong
declare -A WORDS=(
	[load]='no memory|cannot|failed' [plug]='no memory for interfaces|cannot|failed'
	[ifup]='cannot|QP|multicast join failed|send|agent' [join]='multicast join failed|too many'
	[first]='failed send|post send failed|multicast join failed|more than|cannot'
	[mtu]='MTU|cannot' [mode]='connected mode|listen|MTU|cannot' [connect]='recv|listen|QP|cannot'
	[link]='cannot|multicast join failed|query' [ifdown]='QP|timing out|cannot'
	[unplug]='QP|timing out|leaked|cannot' [unload]='leaked|timing out|QP'
)

# told MARK STEP: whether the kernel's log has a warning or worse since then, of us, with
# words of that step
told()
{
	dmesg -l emerg,alert,crit,err,warn | awk -v mark="$1" -v words="${WORDS[$2]}" '
		index($0, mark) { on = 1; next }
		on && /softib|ib_ipoib|ipoib|ib[0-9]|infiniband/ && $0 ~ words { found = 1 }
		END { exit !found }'
}

# Whether told() can tell: a line that is no warning, and one of another matter, are no
# answer, and one that is both a warning and of the step is.
told_tells()
{
	local mark="fault $KTAP_FILE told $EPOCHREALTIME"

	echo "<4>$mark" > /dev/kmsg
	echo "<6>ib0: multicast join failed, but this is information" > /dev/kmsg
	echo "<4>ib0: link becomes ready" > /dev/kmsg
	echo "<4>eth0: multicast join failed" > /dev/kmsg
	check_not "information, another matter, another interface" told "$mark" join
	echo "<4>ib0: multicast join failed for ff12::1, status -12: no memory" > /dev/kmsg
	check "a warning of the step" told "$mark" join
}

# in_time SECONDS COMMAND...: it succeeds before they are over; forks nothing itself
in_time()
{
	local end=$((SECONDS + $1))

	shift
	until "$@" 2> /dev/null; do
		[ "$SECONDS" -lt "$end" ] || return
		nap 0.05
	done
}

# step_once NAME ARM...: one run of a step, with ARM... at work
step_once()
{
	local name=$1 mark="fault $KTAP_FILE $EPOCHREALTIME" rc=0

	shift
	"${name}_prepare"
	echo "<4>$mark $name $*" > /dev/kmsg
	"$@"
	"${name}_act" > /dev/null 2> "$TESTDIR/act.err" || rc=$?
	WORKED=
	[ "$rc" -ne 0 ] || ! in_time "$WITHIN" "works_$WORKS" > /dev/null || WORKED=1
	HIT=
	! fault_is_used "$@" || HIT=1
	fault_end "$@"
	if [ -n "$WORKED" ]; then
		[ -z "$HIT" ] || ABSORBED=$((ABSORBED + 1))
		return
	fi
	if [ "$rc" -ne 0 ]; then
		REFUSED=$((REFUSED + 1))
	elif told "$mark" "$name"; then
		LOGGED=$((LOGGED + 1))
	else
		fail "$name, $*: does not work, and nothing says so"
	fi
	"${name}_prepare"
	"${name}_act" > /dev/null 2>&1 || fail "$name, $*: the next try fails"
	in_time 20 "works_$WORKS" > /dev/null || fail "$name, $*: does not work at the next try"
}

# fault_end ARM...: what is left of it
fault_end()
{
	case $1 in
	fault_arm) fault_disarm ;;
	knob_set) knob_set "$2" "$3" 0 ;;
	esac
}

# fault_is_used ARM...: whether what it ordered has come to pass
fault_is_used()
{
	case $1 in
	fault_arm) fault_hit "$2" ;;
	knob_set) [ "$(< "$DEBUGFS/$(ibdev "$2")/$3")" -eq 0 ] ;;
	esac
}

# step_choose NAME: sets what the table has on it
step_choose()
{
	local entry name

	for entry in "${STEPS[@]}"; do
		read -r name SCOPE WORKS WITHIN _ <<< "$entry"
		[ "$name" != "$1" ] || return 0
	done
}

counters_reset()
{
	ABSORBED=0 REFUSED=0 LOGGED=0
}

sweep()
{
	local name=$1 kind=$2 n start=$SECONDS

	faults_or_skip || return
	step_choose "$name"
	counters_reset
	[ "$SCOPE" != module ] || { driver_ready; fault_module_moved; }
	for ((n = FAULT_FROM; n <= LIMIT && RET == 0; n += FAULT_PROBE ? n : 1)); do
		step_once "$name" fault_arm "$kind" "$n" "$SCOPE"
		[ -n "$HIT" ] || break
	done
	[ "$n" -le "$LIMIT" ] || fail "$LIMIT allocations were not all"
	step_end
	note "$name $kind: allocations $FAULT_FROM to $((n - 1)) failed:" \
		"$REFUSED refused, $LOGGED logged, $ABSORBED got over; $((SECONDS - start)) s"
}

# All is well in the end.
step_end()
{
	driver_ready
	node_up 2
	check "IPv4 and IPv6" wait_ping 1 2
}

# The knob fails the next N of a kind, which is at least as bad as the Nth.
verbs()
{
	local name=$1 knob=$2 n

	step_choose "$name"
	counters_reset
	for n in 1 2 3; do
		driver_ready
		step_once "$name" knob_set 2 "$knob" "$n"
	done
	step_end
	note "$name $knob: 1, 2 and 3 failed: $REFUSED refused, $LOGGED logged, $ABSORBED got over"
}

lib_exit_faults()
{
	fault_disarm
	lib_exit
}
trap lib_exit_faults EXIT

step_cases
ktap_main "$@"
