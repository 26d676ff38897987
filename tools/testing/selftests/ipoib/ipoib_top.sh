#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tools/ipoib-top shows what there is, and why an interface has no carrier.
#
#	 node1          node2		node 1 in connected mode later
#	OpenSM            |
#	   |              |
#	+--+--------------+--+
#	|       switch       |
#	+--------------------+

. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"

# Beside the tests where these are installed
TOP=$LIB_DIR/ipoib-top
[ -e "$TOP" ] || TOP=$LIB_DIR/../../../ipoib-top

CASES=(
	"interfaces - the interfaces of all namespaces are shown, with state, mode, MTU, P_Key, port, LID and GID"
	"groups B21 the broadcast group is shown as joined, with its MLID and age"
	"paths B21 a path is shown with its LID, rate and neighbours"
	"connected B21 a connection is shown on both sides, and the path shows that it is in use"
	"rates - after an interval there are rates"
	"losses - a dropped frame is shown with the reason"
	"once - the text report has each section"
	"named - a named interface is shown alone, and an unknown name is an error"
	"no_link - the reason for a missing carrier is shown: the port is down"
	"no_pkey:port - the reason for a missing carrier is shown: the port has lost the P_Key"
	"no_pkey:child - the reason for a missing carrier is shown: the port has no P_Key of a child"
	"no_group B21 the reason for a missing carrier is shown: the broadcast group does not exist"
	"no_rights - an unprivileged user sees the own namespace, and a list of hidden information"
	"live - the live view stays while an HCA goes and comes, in a small terminal"
)

setup()
{
	fabric_up 2
	wait_ping 1 2 || ktap_bail "no ping"
}

diagnose()
{
	"$TOP" --once
	tr -d '\033' < "$TESTDIR/live" 2> /dev/null | tail -c 500
}

# shown NODE EXPRESSION...: a line for each, of Python: doc is the document, i the node's interface
# (ib0, or DEV), x the item X ("KIND GID") of its groups, paths or peers, c a peer's first connection.
# TOP_OPTIONS: for ipoib-top
TOP_OPTIONS=()
shown()
{
	"$TOP" --json "${TOP_OPTIONS[@]}" | python3 -c '
import json, sys
doc = json.load(sys.stdin)
i = next(i for i in doc["interfaces"] if [i["namespace"], i["name"]] == sys.argv[1:3])
kind, _, gid = sys.argv[3].partition(" ")
x = next((x for x in i[kind] if x["gid"] == gid), None) if kind else None
c = x["connections"][0] if x and kind == "peers" else None
for expression in sys.argv[4:]:
	print(eval(expression))
' "node$1" "${DEV:-ib0}" "${X:-}" "${@:2}"
}

# shown_as NODE TEXT EXPRESSION...: so, with blanks between them
shown_as()
{
	local text

	text=$(shown "$1" "${@:3}" | paste -s -d ' ')
	echo "$text"
	[ "$text" = "$2" ]
}

# reason_has NODE TEXT: of the interface, which has no carrier
reason_has()
{
	local text

	text=$(shown "$1" 'i["state"]' 'i["reason"]' | paste -s -d ' ')
	echo "$text"
	[[ $text == "no carrier "*"$2"* ]]
}

interfaces()
{
	local node

	for node in 1 2; do
		check "node $node" shown_as "$node" \
			"up None datagram 2044 0xffff None softib$((node - 1)) 1 ACTIVE $(port_lid "$node") $(port_gid "$node")" \
			'i["state"]' 'i["reason"]' 'i["mode"]' 'i["mtu"]' 'i["pkey"]' 'i["parent"]' \
			'i["hca"]' 'i["port"]' 'i["port_state"]' 'int(i["lid"], 0)' 'i["gid"]'
	done
	check "document" shown_as 1 "1 2 []" 'doc["version"]' 'len(doc["interfaces"])' 'doc["notes"]'
}

groups()
{
	local mlid X="groups $BROADCAST_MGID"

	printf -v mlid '0x%x' "$(sa_field "$BROADCAST_MGID" mlid)"
	check "broadcast group" shown_as 1 "member 1 $mlid True None True" 'x["state"]' \
		'x["join_state"]' 'x["mlid"]' 'x["complete"]' 'x["reason"]' \
		'0 <= x["age"] <= float(open("/proc/uptime").read().split()[0])'
}

paths()
{
	local X

	X="paths $(port_gid 2)"
	check "path" shown_as 1 "True 0x$(lid_hex 2) True datagram 2044" 'x["complete"]' \
		'x["dlid"]' 'x["gbps"] > 0' 'x["mode"]' 'x["mtu"]'
	check "neighbour" shown_as 1 "$(port_gid 2)" \
		'next(n["gid"] for n in i["neighbours"] if n["address"] == "10.9.0.2")'
}

connected()
{
	local X

	check "mode" set_mode 1 connected
	check "connection" connect 1 2
	X="peers $(port_gid 2)"
	check "node 1" busywait 5000 shown_as 1 "connected up established rc active True" 'i["mode"]' \
		'x["state"]' 'c["state"]' 'c["transport"]' 'c["side"]' 'c["mtu"] > 2044'
	X="peers $(port_gid 1)"
	check "node 2" busywait 5000 shown_as 2 "datagram established passive" 'i["mode"]' \
		'c["state"]' 'c["side"]'
	X="paths $(port_gid 2)"
	check "path" shown_as 1 "connected True" 'x["mode"]' 'x["mtu"] > 2044'
}

rates()
{
	local TOP_OPTIONS=(--interval 2)

	background 1 ping -n -q -i 0.2 "$(ip4 2)" > /dev/null
	check "rates" busywait 5000 shown_as 1 "True True True True" 'doc["seconds"] >= 2' \
		'i["traffic"]["rx_packets"]["rate"] > 0' 'i["traffic"]["tx_bytes"]["rate"] > 0' \
		'i["traffic"]["tx_bytes"]["total"] > 0'
	background_stop
}

lost_one()
{
	udp_to 1 224.0.0.77 7005 1
	shown_as 1 True 'i["drops"]["tx_drop_no_listener"]["total"] > 0'
}

losses()
{
	check "shown" busywait 10000 lost_one
	"$TOP" --once > "$TESTDIR/top"
	check "in the report" grep -Eq '^node1/ib0 +tx_drop_no_listener +[1-9]' "$TESTDIR/top"
}

once()
{
	check "report" "$TOP" --once
	"$TOP" --once > "$TESTDIR/top"
	check_eq "sections" "$(sed -n 's/^== //p' "$TESTDIR/top" | paste -s -d ' ')" \
		"Interfaces Traffic Losses Groups Paths Connections"
	check "node 1" grep -Eq '^node1/ib0 +up ' "$TESTDIR/top"
	check "node 2" grep -Eq '^node2/ib0 +up ' "$TESTDIR/top"
}

named()
{
	check "report" "$TOP" --once node2/ib0
	"$TOP" --once node2/ib0 > "$TESTDIR/top"
	check_num "node 2" "$(grep -c '^node2/ib0' "$TESTDIR/top")" -gt 1
	check_eq "node 1" "$(grep -c '^node1' "$TESTDIR/top")" 0
	check_not "none" "$TOP" --once ib7
}

no_link()
{
	link_down 2
	check "reason" busywait 5000 reason_has 2 'port 1 of softib1 is DOWN'
	link_up 2
	check "carrier" wait_carrier 2
	check "no reason" shown_as 2 "up None" 'i["state"]' 'i["reason"]'
}

no_pkey()
{
	local DEV

	if [ "$1" = port ]; then
		check "take it" pkeys_set 2 0=0
		check "reason" busywait 5000 reason_has 2 'no P_Key: the table of the port has no valid'
		check "give it back" pkeys_set 2 0=0xffff
		check "carrier" wait_carrier 2
		return
	fi
	check "child" node_ip 1 link add link ib0 name ib0.8001 type ipoib pkey 0x8001
	check "up" node_ip 1 link set ib0.8001 up
	DEV=ib0.8001
	check "reason" busywait 5000 reason_has 1 'no P_Key: 0x8001 is not in the table'
	check "parent" shown_as 1 "ib0 0x8001" 'i["parent"]' 'i["pkey"]'
	check "away" node_ip 1 link del ib0.8001
}

no_group()
{
	new_sm "Default=0x7fff : ALL=full;"
	check "reason" busywait 20000 reason_has 2 "broadcast group $BROADCAST_MGID: backoff, there is no such group"
	new_sm "Default=0x7fff, ipoib : ALL=full;"
	check "carrier" wait_carrier
}

# as_nobody OPTION...: in node 2. The program comes by standard input: its folder may be root's.
as_nobody()
{
	in_node 2 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all python3 - "$@" < "$TOP"
}

no_rights()
{
	check "report" as_nobody --once
	as_nobody --once > "$TESTDIR/top"
	check "its interface" grep -Eq '^node2/ib0 +up ' "$TESTDIR/top"
	check_eq "node 1" "$(grep -c '^node1' "$TESTDIR/top")" 0
	check "groups" grep -q '^Not shown are groups, paths, connections: .*debug' "$TESTDIR/top"
	check "namespaces" grep -q '^Not shown is namespace node1: Operation not permitted' "$TESTDIR/top"
	link_down 2
	check "no carrier" slowwait 5 no_carrier 2
	check "reason" grep -q 'port 1 of softib1 is DOWN' <<< "$(as_nobody --once)"
	link_up 2
	check "carrier" wait_carrier 2
}

# The view of the terminal that script(1) makes, in $TESTDIR/live
live_view()
{
	TERM=linux timeout $((120 * SLOW)) script -qfec \
		"stty rows 6 cols 40; exec '$TOP' --interval 0.2" "$TESTDIR/live"
}

# keys: an HCA goes and comes, and q
keys()
{
	busywait 20000 grep -qs node1/ib0 "$TESTDIR/live"
	hca_remove 2
	slowwait 5 no_interface 2
	nap 1
	hca_add 2
	busywait 5000 netdev 2 > /dev/null
	nap 1
	printf '\t\t3'
	nap 1
	printf q
}

live()
{
	keys | live_view > /dev/null
	check_eq "exit status" $? 0
	check "interfaces" grep -q node1/ib0 "$TESTDIR/live"
	check_not "errors" grep -q Traceback "$TESTDIR/live"
	nodes_up 2
	check "carrier" wait_carrier 2
}

ktap_main "$@"
