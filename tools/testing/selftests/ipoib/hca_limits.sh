#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# HCAs that refuse, lack, lose or fail what others do not: the interface does without what
# there is not, and gives back what it has.
#
#	 node1     node2 <== traffic ==> node3
#	OpenSM       |                     |	nodes 2 and 3 have HCAs with
#	   |         |                     |	limits, see "The fabric" in
#	+--+---------+---------------------+-+	Documentation/fabric.rst
#	|              switch                |
#	+------------------------------------+

# The knobs of the cases are what is to be seen, and no more.
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_mcast.sh
. "$LIB_DIR/lib_mcast.sh"
# shellcheck source=lib_cm.sh
. "$LIB_DIR/lib_cm.sh"

# IB_QP_CREATE_ flags
UD_LSO=1
NETIF_QP=32
# What mlx5 takes: 32768 times 64 octets
SQ_BYTES=$((32768 * 64))
# Connections of an HCA that fails, and how many are asked for at a time
CONNS=100
BATCH=20
ENOMEM=12
EINVAL=22
ENOUGH=1000000
declare -a CHANGED=()

CASES=(
	"checksums:lso_qp:on F1 checksums are right on the wire if the HCA computes them for QPs with IPOIB_UD_LSO only"
	"checksums:any_qp:on F1 checksums are right on the wire if the HCA computes them for any QP"
	"checksums:claimed:off F1 checksums are off on an HCA that claims them and lacks QPs with IPOIB_UD_LSO"
	"checksums:refused:off F1 checksums are off on an HCA that refuses a QP with IPOIB_UD_LSO"
	"netif_qp:taken F24,B24 the QP has NETIF_QP on an HCA with flow steering"
	"netif_qp:refused F24,B24 the QP lacks NETIF_QP, and only that, on an HCA that refuses it"
	"queues:mlx5 F25 queues are as large as the HCA accepts, and the reduction is logged once"
	"queues:small F25 queues are as large as the HCA accepts also if it returns EINVAL"
	"queues:default F25 queues of the usual size are made without a reduction"
	"vectors F17 the CQs of an interface are on different completion vectors"
	"no_uc F29 UC is refused on an HCA without UC"
	"no_multicast F29 an HCA without multicast is logged once"
	"grh:datagram F28 nodes on ports that require a GRH join groups and reach each other and the SA, both ways"
	"grh:connected F28 nodes on ports that require a GRH have connections, both ways"
	"ack_times F29 a send with the longest allowed ACK timeout does not close its connection"
	"ack_delay F17 ACKs as late as the ack delay of the HCA do not close a connection"
	"srq:refused F14 connections work without the SRQ that the HCA advertises and refuses"
	"srq:smaller F14 a refused SRQ is tried with a smaller size"
	"srq:failed F14,F70 a failed SRQ is replaced, with the connections, and no sender gets the MTU of datagrams"
	"srq:lost F27 an SRQ that lost a quarter of its receives is replaced"
	"detach F13,F53 a failed detach is retried, and the QP leaves no object behind"
	"fatal:carrier F26 an HCA that fails takes the carrier down at once"
	"fatal:remove F26 a failed HCA with 100 connections is removed soon, with few lines in the log"
	"fatal:next F26 the next HCA works"
)
NEEDS=([fatal:remove]=fatal:carrier [fatal:next]=fatal:remove)

QUEUE_FAILED='a queue of all connections has failed'

setup()
{
	fabric_load 3
	subnet_start
}

diagnose()
{
	note "$(klog | tail -n 20)"
	[ -z "${CM_NODE:-}" ] || cm_diagnose 2 3
}

# hca NODE KNOB=VALUE...: a new HCA, that is so
hca()
{
	local node=$1 word

	hca_remove "$node"
	for word in "${@:2}"; do
		knob_set "$node" "${word%=*}" "${word#*=}"
		CHANGED+=("$node ${word%=*}")
	done
	hca_add "$node"
	slowwait 30 port_is_active "$node" || fail "node $node is not active"
}

# up [PARAM...]: interfaces on all nodes
up()
{
	local node

	driver_load "$@"
	for node in 1 2 3; do
		busywait 5000 netdev "$node" > /dev/null || { fail "node $node has no interface"; return 1; }
	done
	nodes_up
	check "carrier" wait_carrier
}

# Everything as it was
down()
{
	local entry nodes

	background_stop
	capture_kill
	CM_NODE=
	module_gone ib_ipoib || check "unload" driver_unload
	nodes_down
	for entry in "${CHANGED[@]}"; do
		knob_set "${entry% *}" "${entry#* }" 0
	done
	nodes=$(printf '%s\n' "${CHANGED[@]%% *}" | sort -u)
	CHANGED=()
	for entry in $nodes; do
		hca "$entry"
	done
}

# wire PROTOCOL FIELD: tshark finds none of those checksums bad
wire()
{
	local got

	got=$(tshark_rows "ip.proto=$1" "$2" | sort | uniq -c | tr -s ' \n' ' ')
	# 1 is good
	[[ $got =~ ^\ [0-9]+\ 1\ $ ]] || fail "$2 (count, status; 1 is good, 0 bad): $got"
}

# talk FROM TO: TCP and UDP, as much as fits some frames
talk()
{
	check "TCP from $1 to $2" iperf "$1" "$2" -n 20K
	check "UDP from $1 to $2" iperf "$1" "$2" -u -n 20K -b 20M
}

checksums()
{
	local -A mode=([lso_qp]=csum=1 [any_qp]=csum=2 [claimed]=csum=3 [refused]="csum=1 refuse_flags=$UD_LSO")
	local args=("${TSHARK_ARGS[@]}") node

	for node in 2 3; do
		# shellcheck disable=SC2086 # words
		hca $node ${mode[$1]}
	done
	if up; then
		for node in 2 3; do
			[[ $(feature "$node" tx-checksum-ipv4) == "$2"* ]] ||
				fail "node $node: tx-checksum-ipv4 is $(feature "$node" tx-checksum-ipv4)"
		done
		check "ping" slowwait 10 ping_ok 2 "$(ip4 3)"
		capture_start "checksums.$1"
		talk 2 3
		talk 3 2
		capture_stop
		TSHARK_ARGS+=(-o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE)
		check "tshark" tshark_read ip.proto tcp.checksum.status udp.checksum.status
		TSHARK_ARGS=("${args[@]}")
		wire 6 tcp.checksum.status
		wire 17 udp.checksum.status
	fi
	down
}

netif_qp()
{
	local refused=()

	[ "$1" = taken ] || refused=("refuse_flags=$NETIF_QP" "refuse_error=$ENOMEM")
	hca 2 steering=1 csum=1 "${refused[@]}"
	up && check "ping" wait_ping 2 3
	[ "$1" = taken ] || check "nothing else is" klog_has "refuses QPs with flags 0x20, doing without"
	down
}

# ring NODE KIND: RX or TX, as ethtool shows it
ring()
{
	in_node "$1" ethtool -g ib0 | awk -v kind="$2:" '/Current/ { on = 1 } on && $1 == kind { print $2 }'
}

queues()
{
	local -A knobs=([mlx5]="sq_bytes=$SQ_BYTES" [small]="sq_bytes=65536 refuse_error=$EINVAL" [default]="")
	local -A want=([mlx5]="4096 8192" [small]="128 256" [default]="8192 8192")
	local said=1

	# shellcheck disable=SC2086 # words
	[ "$1" = default ] || hca 2 ${knobs[$1]}
	[ "$1" != default ] || said=0
	if up send_queue_size=8192 recv_queue_size=8192; then
		check_eq "queues" "$(ring 2 TX) $(ring 2 RX)" "${want[$1]}"
		check_eq "queues of another" "$(ring 3 TX) $(ring 3 RX)" "8192 8192"
		check_eq "messages" "$(klog | grep -c 'takes no more than')" "$said"
		check "ping" wait_ping 2 3
		check "many" ping_lossless 2 "$(ip4 3)" 300
	fi
	down
}

# vector_cqs NODE: CQs by vector, one a word
vector_cqs()
{
	awk '{ print $2 }' "$DEBUGFS/$(ibdev "$1")/cq_vectors" | tr '\n' ' '
}

# Here the QPs of IPoIB are the first that come after the HCA
vectors()
{
	local before after node i

	for node in 2 3; do
		read -ra before <<< "$(vector_cqs "$node")"
		driver_load
		busywait 5000 netdev "$node" > /dev/null || fail "node $node has no interface"
		read -ra after <<< "$(vector_cqs "$node")"
		check_num "vectors of the HCA" "${#after[@]}" -ge 2
		for ((i = 0; i < 2; i++)); do
			check_eq "node $node: CQs on vector $i" $((after[i] - before[i])) 1
		done
		driver_unload
	done
}

no_uc()
{
	hca 2 no_uc=1
	if up; then
		check_eq "flags of node 2" "$(lladdr 2 | cut -c 1-2)" 80
		check_not "uc" set_transport 2 uc
		check_not "rc,uc" set_transport 2 rc,uc
		check_eq "transports of node 2" "$(net_file 2 cm_transport)" rc
		check "uc at node 3" set_transport 3 uc
		check "none" set_transport 2 none
	fi
	down
}

no_multicast()
{
	hca 2 no_mcast=1
	driver_load
	busywait 5000 netdev 2 > /dev/null || fail "no interface"
	nodes_up
	check "carrier of another" wait_carrier 3
	check_eq "messages" "$(klog | grep -c 'has no multicast')" 1
	check "no carrier" no_carrier 2
	down
}

# path_hop_limit FROM TO: what the SA answers
path_hop_limit()
{
	local hop_flow

	hop_flow=$(sa_records 1 PR --slid "$(port_lid "$1")" --dlid "$(port_lid "$2")" | word hop_flow_raw)
	echo $((hop_flow & 0xff))
}

# grh_datagram FROM TO
grh_datagram()
{
	check_eq "HopLimit of the record of the path from $1 to $2" "$(path_hop_limit "$1" "$2")" 0
	check "ping from $1 to $2" wait_ping "$1" "$2"
	check "many" ping_lossless "$1" "$(ip4 "$2")" 100
	check "a group, from $1 to $2" slowwait 10 group_ping "$1" "$2"
	check "HopLimit of datagrams from $1 to $2" \
		frames_all hop 1 "$(from "$1")" "$(to "$2")" type=0800
	sa_by_grh "$1"
}

# sa_by_grh NODE: its list of groups to route is requested at the well-known GID of the SA, and
# answered
sa_by_grh()
{
	node_ip "$1" link set ib0 allmulticast on
	check "node $1 requests" busywait 5000 frame_seen "$(from "$1")" mad.class=03 mad.method=12 \
		dgid=fe80::200:0:0:2
	check "node $1 has the answer" slowwait 10 grep -q 'users: .*r' "$(mcg_file "$1")"
	node_ip "$1" link set ib0 allmulticast off
}

# group_ping FROM TO: an answer from it to an echo to all nodes of the link
group_ping()
{
	in_node "$1" ping -6 -n -c 2 -W 2 -I ib0 ff02::1 2>&1 | grep -qi "from $(link_local "$2")[%:]"
}

link_local()
{
	node_ip "$1" -6 -o addr show dev ib0 scope link | sed -n 's,.*inet6 \([^/]*\)/.*,\1,p'
}

# grh_connected FROM TO
grh_connected()
{
	CM_NODE=$1
	check "connected mode" in_mode connected rc "$1" "$2"
	check "connection from $1 to $2" connect "$1" "$2"
	check "many" ping_lossless "$1" "$(ip4 "$2")" 100 -s 8000
	# RC SEND First. With ib_cm the HopLimit of who answers a request is 255.
	check "GRH on connections from $1 to $2" \
		frames_all ipver 6 "$(from "$1")" "$(to "$2")" op=00
}

# Node 1 has paths without a GRH to them, and is not heard.
grh()
{
	hca 2 grh_required=1
	hca 3 grh_required=1
	if up; then
		capture_start "grh.$1"
		"grh_$1" 2 3
		"grh_$1" 3 2
		capture_stop
		check "node 2 is a member" is_member 2 "$BROADCAST_MGID"
		check "node 3 is a member" is_member 3 "$BROADCAST_MGID"
	fi
	down
}

# long_ping FROM TO: what goes on a connection only
long_ping()
{
	ping_ok "$1" "$(ip4 "$2")" -M 'do' -s 8000
}

# conn_marks: requests and errors of nodes 2 and 3
conn_marks()
{
	local node

	for node in 2 3; do
		echo "$(cm_stat "$node" cm_requests) $(cm_stat "$node" cm_errors)"
	done
}

# ACKs are waited for four times as long as 4.096 us * 2^timeout, the most that the IBTA
# allows, and seven messages in a row are lost.
ack_times()
{
	local before start

	knob_set 2 ack_times 4
	CHANGED+=("2 ack_times")
	if up; then
		srq_connected
		before=$(conn_marks)
		start=$(now_ms)
		knob_set 2 drop_next_rc 7
		# not a short one, whose completion is not waited for
		check "ping" in_node 2 ping -n -c 1 -s 1000 -W $((5 * SLOW)) -I ib0 "$(ip4 3)"
		note "answered after $(($(now_ms) - start)) ms"
		check_num "ms" $(($(now_ms) - start)) -ge 1700
		check_eq "messages still to be lost" "$(knob_get 2 drop_next_rc)" 0
		check_eq "requests and errors" "$(conn_marks)" "$before"
	fi
	down
}

# 4.096 us * 2^16, as mlx5 says: four times the timeout
ack_delay()
{
	local before

	if up; then
		srq_connected
		before=$(conn_marks)
		knob_set 3 delay_ms_rc 268
		check "ping" ping_lossless 2 "$(ip4 3)" 20 -s 8000
		knob_set 3 delay_ms_rc 0
		check "late ones come" slowwait 5 ping_lossless 2 "$(ip4 3)" 5
		check_eq "requests and errors" "$(conn_marks)" "$before"
	fi
	down
}

srq_connected()
{
	CM_NODE=2
	check "connected mode" in_mode connected rc 2 3
	check "connection" connect 3 2
	check "long ping" slowwait 10 long_ping 3 2
	check "long ping back" slowwait 10 long_ping 2 3
	check "many" ping_lossless 3 "$(ip4 2)" 100 -s 8000
}

# srq_lost: nine connections of node 2 end within a message, or not, and the HCA never says
# that it needs no receive any more for any. That is waited for for half a minute. Node 1's port
# may have eight, a quarter of the receives.
srq_lost()
{
	make_up $((0x100000)) 8 || return
	capture_stop
	check "connections" busywait 10000 made_up 9
	knob_set 2 half_lid "$(port_lid 1)"
	knob_set 2 lose_last_wqe 9
	check "connections end" set_mode 2 datagram
	check "connected mode" set_mode 2 connected
	background 3 ping -n -q -i 0.2 "$(ip4 2)" > /dev/null
	check "closed" slowwait 60 klog_has "$QUEUE_FAILED"
	check "connection" slowwait 25 connect_try 3 2
	check "many" ping_lossless 3 "$(ip4 2)" 100 -s 8000
	check_eq "lost receives" "$(cm_view 2 | sed -n 's/^receives_lost: //p')" 0
	knob_set 2 lose_last_wqe 0
}

# Packets that no datagram takes go both ways.
srq_fails()
{
	background 2 ping -n -q -i 0.1 -s 20000 -M 'do' "$(ip4 3)" > /dev/null
	background 3 ping -n -q -i 0.1 -s 20000 -M 'do' "$(ip4 2)" > /dev/null
	check "long ones" ping_lossless 3 "$(ip4 2)" 5 -s 20000
	knob_set 2 srq_error 1
	check "closed" slowwait 5 klog_has "$QUEUE_FAILED"
	check "connection" slowwait 25 connect_try 3 2
	check "on both sides" slowwait 5 conn_count_is 2 3 1
	check "long ones again" slowwait 5 ping_ok 2 "$(ip4 3)" -s 20000 -M 'do'
	check "no MTU of datagrams at node 2" no_pmtu 2 3
	check "nor at node 3" no_pmtu 3 2
	background_stop
	check "many" ping_lossless 3 "$(ip4 2)" 100 -s 8000
	check_eq "messages" "$(klog | grep -c "$QUEUE_FAILED")" 1
}

srq()
{
	local -A fail_srq=([refused]=$ENOUGH [smaller]=1)

	case $1 in
	refused | smaller)
		knob_set 2 fail_srq "${fail_srq[$1]}"
		if up; then
			srq_connected
			check_eq "messages" "$(klog | grep -c 'no shared receive queue')" \
				"$([ "$1" = refused ] && echo 1 || echo 0)"
		fi
		knob_set 2 fail_srq 0
		;;
	failed)
		if up; then
			srq_connected
			srq_fails
		fi
		;;
	lost)
		if up recv_queue_size=32; then
			srq_connected
			srq_lost
		fi
		;;
	esac
	down
}

# The groups of an interface are detached when it goes down.
detach()
{
	if up; then
		knob_set 2 fail_detach 9
		node_ip 2 link set ib0 down
		check_eq "messages" "$(klog | grep -c 'detach failed')" 0
		check_eq "refusals to come" "$(knob_get 2 fail_detach)" 0
	fi
	down
	# What has leaked the fabric says when the HCA goes.
	hca 2
}

# ---- an HCA that fails ----

# made_up COUNT: of the peers that are not there so many have a connection to node 2
made_up()
{
	[ "$(cm_view 2 | grep -c 'connection: established')" -ge "$1" ]
}

fatal_begin()
{
	local i

	# of which a port may have a quarter
	up recv_queue_size=512 || return
	CM_NODE=
	check "connected mode" in_mode connected rc 2 3
	check "connection" connect 3 2
	check "ping" slowwait 10 ping_ok 1 "$(ip4 2)"
	for ((i = 0; i < CONNS; i += BATCH)); do
		make_up $((0x100000 + i)) "$BATCH" || return
		capture_stop
		rm "$CAPTURE"
	done
	busywait 10000 made_up "$CONNS" || fail "not $CONNS connections"
}

no_interface()
{
	! node_ip "$1" link show dev ib0 > /dev/null 2>&1
}

fatal()
{
	local start

	case $1 in
	carrier)
		fatal_begin
		klog_mark fatal
		knob_set 2 fatal 1
		check "no carrier" within 8000 no_carrier 2
		check_eq "messages" "$(klog | grep -c 'the HCA has failed')" 1
		check "the others" wait_ping 1 3
		;;
	remove)
		klog_mark remove
		start=$(now_ms)
		hca_remove 2
		note "pulled out within $(($(now_ms) - start)) ms"
		# a drain of each QP in vain would take minutes
		check_num "ms" $(($(now_ms) - start)) -lt $((20000 * SLOW))
		check "the interface goes" slowwait 5 no_interface 2
		check_num "lines of the log" "$(klog | grep -c 'ib0: ')" -lt 5
		;;
	next)
		hca_add 2
		busywait 5000 netdev 2 > /dev/null || fail "no new interface"
		nodes_up 2
		check "carrier" wait_carrier 2
		check "ping" wait_ping 3 2 30
		down
		;;
	esac
}

ktap_main "$@"
