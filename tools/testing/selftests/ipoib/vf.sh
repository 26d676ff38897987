#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Virtual functions of an HCA are shown and set through the interface of its port.
#
#	node1, four functions	node2
#	  |			  |	softib keeps what is set of a function; there is no
#	+-+-----------------------+-+	HCA behind it
#	|           switch          |
#	+---------------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_userns.sh
. "$LIB_DIR/lib_userns.sh"

CASES=(
	"shown B26 ip -d link shows each function by its number, state auto, GUIDs of zero"
	"state:enable B26 the link state enable is set, of a single function only"
	"state:disable B26 the link state disable is set, of a single function only"
	"state:auto B26 the link state auto is set, of a single function only"
	"state_unknown B26 a link state unknown to the HCA is refused"
	"guid:node B26 a node GUID is set, of a single function only"
	"guid:port B26 a port GUID is set, of a single function only"
	"guid_zero B26 a GUID of zero is set"
	"text B26 ip -d link prints state and GUIDs"
	"statistics B26 ip -s link shows the counters of each function"
	"range:4 B26 the first number beyond the functions is refused"
	"range:7 B26 the number 7, beyond the functions, is refused"
	"range:2147483646 B26 the largest number is refused"
	"fewer B26 removed functions are not shown and not set"
	"none B26 an HCA without functions shows none and refuses each number"
	"failed:state B26 the error of the HCA is returned for a link state"
	"failed:node_guid B26 the error of the HCA is returned for a node GUID"
	"failed:port_guid B26 the error of the HCA is returned for a port GUID"
	"failed_show B26 functions with an error of the HCA are left out, the interface is shown"
	"child B26 a child can neither show nor set functions"
	"container B26,U60 root of a user namespace can read functions, and not set them"
	"plugged B26 an HCA that comes back has its functions in the initial state"
	"traffic B26 the nodes reach each other after all changes"
)

VFS=4
# more questions than ip has
ENOUGH=1000000
NODE_GUID=00:11:22:33:44:55:66:77
PORT_GUID=88:99:aa:bb:cc:dd:ee:ff
ZERO=00:00:00:00:00:00:00:00

setup()
{
	userns_forget
	fabric_up 2 vfs=$VFS
	wait_ping 1 2 || ktap_bail "no ping"
}

# vf_field VF KEY...: of the function in the JSON of ip, of node 1
vf_field()
{
	node_ip 1 -s -d -j link show dev ib0 | json_field "$@"
}

json_field()
{
	python3 -c '
import json, sys
vfs = [vf for vf in json.load(sys.stdin)[0].get("vfinfo_list", []) if vf["vf"] == int(sys.argv[1])]
value = vfs[0] if len(vfs) == 1 else {}
for key in sys.argv[2:]:
	value = value.get(key, {}) if isinstance(value, dict) else {}
print("none" if value == {} else value)
' "$@"
}

# vf_count: how many functions ip shows
vf_count()
{
	node_ip 1 -d link show dev ib0 | grep -c '^ *vf [0-9]'
}

# set_vf VF ARG...: of node 1
set_vf()
{
	node_ip 1 link set ib0 vf "$@"
}

# as_new VF: as it is when it comes
as_new()
{
	check "state as new" set_vf "$1" state auto
	check "node GUID as new" set_vf "$1" node_guid "$ZERO"
	check "port GUID as new" set_vf "$1" port_guid "$ZERO"
}

# refused TEXT COMMAND...: it fails with that error
refused()
{
	local text=$1 out

	shift
	! out=$("$@" 2>&1) || { echo "$* was taken"; return 1; }
	echo "$out"
	grep -q "$text" <<< "$out"
}

# others_are_new VF: no function but this one has been set
others_are_new()
{
	local vf

	for ((vf = 0; vf < VFS; vf++)); do
		[ "$vf" -ne "$1" ] || continue
		check_eq "state of $vf" "$(vf_field "$vf" link_state)" auto
		check_eq "node GUID of $vf" "$(vf_field "$vf" "node guid")" "$ZERO"
		check_eq "port GUID of $vf" "$(vf_field "$vf" "port guid")" "$ZERO"
	done
}

shown()
{
	check_eq "functions" "$(vf_count)" "$VFS"
	others_are_new -1
	check_eq "of node 2" \
		"$(node_ip 2 -d link show dev ib0 | grep -c '^ *vf [0-9]')" "$VFS"
}

state()
{
	check "set" set_vf 2 state "$1"
	check_eq "state" "$(vf_field 2 link_state)" "$1"
	others_are_new 2
	as_new 2
}

state_unknown()
{
	check "set" set_vf 2 state disable
	check "refused" refused "Invalid argument" state_number 2 99
	check_eq "state" "$(vf_field 2 link_state)" disable
	as_new 2
}

# state_number VF NUMBER: what ip has no word for. A message of rtnetlink by hand: IFLA_VFINFO_LIST
# of one IFLA_VF_INFO of one IFLA_VF_LINK_STATE
state_number()
{
	in_node 1 python3 -c '
import os, socket, struct, sys

def attr(kind, data):
	return struct.pack("=HH", 4 + len(data), kind) + data

body = attr(5, struct.pack("=II", int(sys.argv[1]), int(sys.argv[2])))
body = attr(22, attr(1, body))
index = socket.if_nametoindex("ib0")
body = struct.pack("=BBHiII", 0, 0, 0, index, 0, 0) + body
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
	sock.send(struct.pack("=IHHII", 16 + len(body), 19, 5, 1, 0) + body)
	error = -struct.unpack_from("=i", sock.recv(4096), 16)[0]
sys.exit(os.strerror(error) if error else 0)
' "$@"
}

guid()
{
	local -A guid=([node]=$NODE_GUID [port]=$PORT_GUID)

	check "set" set_vf 1 "${1}_guid" "${guid[$1]}"
	check_eq "$1 GUID" "$(vf_field 1 "$1 guid")" "${guid[$1]}"
	[ "$1" = node ] || check "node GUID set" set_vf 1 node_guid "$NODE_GUID"
	check_eq "node GUID" "$(vf_field 1 "node guid")" "$NODE_GUID"
	others_are_new 1
	as_new 1
}

guid_zero()
{
	check "set" set_vf 3 node_guid "$NODE_GUID"
	check_eq "node GUID" "$(vf_field 3 "node guid")" "$NODE_GUID"
	check "zero" set_vf 3 node_guid "$ZERO"
	check_eq "node GUID" "$(vf_field 3 "node guid")" "$ZERO"
}

text()
{
	local line

	check "node GUID set" set_vf 1 node_guid "$NODE_GUID"
	check "port GUID set" set_vf 1 port_guid "$PORT_GUID"
	line=$(node_ip 1 -d link show dev ib0 | grep '^ *vf 1 ')
	note "$line"
	check "node GUID" grep -q "NODE_GUID $NODE_GUID" <<< "$line"
	check "port GUID" grep -q "PORT_GUID $PORT_GUID" <<< "$line"
	check "state" grep -q 'link-state auto' <<< "$line"
	as_new 1
}

# The numbers are softib's own: 1000 a function, and one each.
statistics()
{
	local vf

	for vf in 0 3; do
		check_eq "rx packets of $vf" "$(vf_field "$vf" stats rx packets)" $((vf * 1000 + 1001))
		check_eq "tx packets of $vf" "$(vf_field "$vf" stats tx tx_packets)" $((vf * 1000 + 1002))
		check_eq "rx bytes of $vf" "$(vf_field "$vf" stats rx bytes)" $((vf * 1000 + 1003))
		check_eq "tx bytes of $vf" "$(vf_field "$vf" stats tx tx_bytes)" $((vf * 1000 + 1004))
		check_eq "multicast of $vf" "$(vf_field "$vf" stats rx multicast)" $((vf * 1000 + 1005))
	done
}

# softib has room for eight, so it does not refuse the first ones.
range()
{
	check "state" refused "Invalid argument" set_vf "$1" state disable
	check "node GUID" refused "Invalid argument" set_vf "$1" node_guid "$NODE_GUID"
	check "port GUID" refused "Invalid argument" set_vf "$1" port_guid "$NODE_GUID"
	others_are_new -1
	[ "$1" -lt 8 ] || return
	knob_set 1 vfs 8
	check_eq "its state" "$(vf_field "$1" link_state)" auto
	check_eq "its node GUID" "$(vf_field "$1" "node guid")" "$ZERO"
	knob_set 1 vfs "$VFS"
}

fewer()
{
	knob_set 1 vfs 2
	check_eq "functions" "$(vf_count)" 2
	check "one that is left" set_vf 1 state auto
	check "one that is gone" refused "Invalid argument" set_vf 2 state disable
	knob_set 1 vfs "$VFS"
	others_are_new -1
}

none()
{
	knob_set 2 vfs 0
	check_not "shown" grep '^ *vf [0-9]' <<< "$(node_ip 2 -d link show dev ib0)"
	check "refused" refused "Invalid argument" node_ip 2 link set ib0 vf 0 state enable
	knob_set 2 vfs "$VFS"
}

failed()
{
	local -A value=([state]=disable [node_guid]=$NODE_GUID [port_guid]=$PORT_GUID)

	knob_set 1 fail_vf_set 1
	check "refused" refused "Input/output error" set_vf 0 "$1" "${value[$1]}"
	check_eq "asked once" "$(knob_get 1 fail_vf_set)" 0
	others_are_new -1
}

failed_show()
{
	knob_set 1 fail_vf_get "$ENOUGH"
	check_eq "functions" "$(vf_count)" 0
	check "the interface" grep -q 'ipoib pkey' <<< "$(node_ip 1 -d link show dev ib0)"
	knob_set 1 fail_vf_get 0
	check_eq "functions later" "$(vf_count)" "$VFS"
}

child()
{
	check "made" node_ip 1 link add link ib0 name twin type ipoib
	check_not "shown" grep '^ *vf [0-9]' <<< "$(node_ip 1 -d link show dev twin)"
	check "state" refused "not supported" node_ip 1 link set twin vf 0 state disable
	check "GUID" refused "not supported" node_ip 1 link set twin vf 0 node_guid "$NODE_GUID"
	others_are_new -1
	check "away" node_ip 1 link del twin
}

container()
{
	userns_start 100000 ib0
	check "shown" grep -q '^ *vf 3 ' <<< "$(in_userns ip -d link show dev ib0)"
	check "state" refused "not permitted" in_userns ip link set ib0 vf 0 state disable
	check "node GUID" refused "not permitted" in_userns ip link set ib0 vf 0 node_guid "$NODE_GUID"
	check "port GUID" refused "not permitted" in_userns ip link set ib0 vf 0 port_guid "$PORT_GUID"
	check "root of the machine does" ip -n userns link set ib0 vf 0 state disable
	check "and back" ip -n userns link set ib0 vf 0 state auto
	userns_end ib0
	others_are_new -1
	node_config 1
	check "carrier" wait_carrier 1
}

plugged()
{
	check "set" node_ip 2 link set ib0 vf 0 node_guid "$NODE_GUID"
	hca_remove 2
	check "gone" slowwait 10 no_interface 2
	hca_add 2
	nodes_up 2
	check "carrier" wait_carrier 2
	check_eq "node GUID" "$(node_ip 2 -d -j link show dev ib0 | json_field 0 "node guid")" "$ZERO"
}

traffic()
{
	check "ping" wait_ping 1 2
}

ktap_main "$@"
