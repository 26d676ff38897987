#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The parts of the driver that need no HCA do what they say: runs the unit tests
# of tools/testing/kunit, which test themselves when their module is loaded and
# write KTAP to the kernel log. No fabric, no node:
#
#	modprobe ipoib_kunit  ->  kernel log  ->  a case here for each there

LIB_DIR=$(cd "$(dirname "$0")" && pwd)
KTAP_FILE=unit
# shellcheck disable=SC2034 # for lib_needs.sh
FABRIC=${FABRIC:-softib}
# shellcheck source=lib_ktap.sh
. "$LIB_DIR/lib_ktap.sh"
# shellcheck source=lib_needs.sh
. "$LIB_DIR/lib_needs.sh"
! MISSING=$(missing_need unit) || ktap_skip_all "$MISSING"

CASES=(
	"wire:lladdr_octets U3,U36 a link-layer address has flags, QPN and GID in their octets"
	"wire:lladdr_qpn_range U36 a QPN of more than 24 bits does not touch the flags"
	"wire:lladdr_flags_ignored U36,C7,C9 the QPN is read the same under all 256 values of the flags"
	"wire:lladdr_multicast U36 the GID of an address shows whether it belongs to a group"
	"wire:lladdr_order C18 addresses compare as numbers, first octet first, without their flags"
	"wire:lladdr_flags C7 two bits of the flags are read, with any value of the others"
	"wire:service_id C21,C36 a service ID is its first octet and the QPN, with zeros between"
	"wire:header_layout U3,U23 the encapsulation header is EtherType, then reserved"
	"wire:mgid_broadcast U3,U4,U5,U7,U9 the broadcast-GID of a P_Key is right octet by octet"
	"wire:mgid_scope U8,U14 the broadcast-GID of each scope is right"
	"wire:mgid_on_link U4,U5,U6 MGIDs of the link are recognised"
	"wire:mgid_not_on_link U4,U5,U8 MGIDs with another flag, scope, signature or P_Key are not recognised"
	"wire:mgid_other_link U8,A18 MGIDs of the link are not recognised on the link of another partition or scope"
	"wire:mtu_from_ib U28,U29,U30,F50 the IP MTU is the IB MTU minus 4"
	"wire:lid_same_port - LIDs of the same port differ in the path bits only"
	"ring:used_and_room - filled and free slots are right for each fill level, across the wrap"
	"ring:passed - a fence has passed exactly if the tail has reached it, across the wrap"
	"ring:bufs_geometry - small buffers lie apart, aligned, within their pages"
	"ring:bufs_fail - small buffers that cannot be mapped leave no page and no mapping"
	"ring:fill_copies - a short frame is copied and freed at once"
	"ring:fill_maps - a long frame is mapped and freed when it completes"
	"ring:fill_mapped B23 a frame that cannot be mapped leaves nothing mapped, and a flush unmaps what was"
	"ring:fill_no_linear - a frame without linear data has no SGE for it"
	"ring:fill_linearizes - a frame is made linear for a QP with a single SGE"
	"ring:fill_gathers F60 a frame of too many fragments is copied into as few pieces as the QP accepts"
	"ring:fill_head B23 a frame for the HCA to segment is mapped without its headers, which are counted for each segment"
	"ring:fill_complete_wrap - a ring fills to the last slot and empties in parts, across the wrap"
	"ring:copies_apart - copies of frames in flight do not overlap"
	"ring:complete_outside - a completion of a send that is not in flight is ignored"
	"ring:take_back - a frame that was not posted is taken out again"
	"ring:flush - a flush frees all frames"
	"record:pack U54 a group's record has all its fields in their octets"
	"record:pack_range - values with too many bits do not touch their neighbours"
	"record:unpack U48 a record of the SA is read right, field by field"
	"record:mgids U57 a table of records is read to its end and not beyond"
	"record:notice_sound U52 reports of ports and groups are recognised"
	"record:notice_unsound U52 malformed reports are refused"
	"record:status U58 each status of an answer of the SA is an error with its meaning, and undefined status is an error"
	"wc:wc_mlx4_ib - completions of mlx4 for datagrams on InfiniBand are read right"
	"wc:wc_mlx4_roce_untagged F6 mlx4 reports VLAN 0xffff for an untagged frame on Ethernet: it has no VLAN"
	"wc:wc_mlx4_roce_tagged F6 mlx4 reports the VLAN of a tagged frame on Ethernet"
	"wc:wc_mlx4_roce_ipv4 F10 an IPv4 header is recognised where mlx4 does not report it"
	"wc:wc_mlx5_ib - completions of mlx5 on InfiniBand are read right"
	"wc:wc_mlx5_roce F6,F10 completions of mlx5 on Ethernet are read right"
	"wc:wc_irdma F6,F10 completions of irdma are read right"
	"wc:wc_bnxt_re F10 the header of bnxt_re, which sets no flag, is recognised, and other nodes with the own QPN are not taken for the own node"
	"wc:wc_rxe F6,F10 completions of soft-RoCE are read right"
	"wc:wc_rdmavt - completions of hfi1 and softib are read right"
	"wc:wc_own_by_gid F17 an own frame with a GRH is recognised by its GID, with any LID"
	"wc:wc_no_header F10 octets that are no header are not read as a header"
	"police:police_arp F12 ARP takes a token if it names another GID than its source"
	"police:police_options F12,F37 Neighbour Discovery takes a token if any option names another GID than its source"
	"police:police_many F12 Neighbour Discovery takes a token with more options than are parsed"
	"police:police_types F12 all messages of Neighbour Discovery, and no other ICMPv6, can take a token"
	"police:police_headers F12 Neighbour Discovery takes a token also behind extension headers, and in fragments"
	"police:police_short F12 a frame too short for the stack takes no token"
	"police:police_bucket F12 a source has 64 tokens, and 16 more a second"
	"group:group_until - a time long past is not a time in the future, with any wrap of jiffies"
	"group:group_states - a group changes its state only along the transitions of the drawing"
	"group:group_pending U50 frames wait in states with a request, and for a missing group only with an event"
	"share:share_queues F67,F75 frames waiting for a port leave space for frames of other ports"
	"share:share_groups F15 any number of routed and sent-to groups leaves space for groups with listeners"
	"share:share_credits F15 path queries leave queries for groups, and no waiting query is forgotten"
	"share:share_turns F41 a waiting query gets its turn, unless it has been cancelled"
	"share:share_paths - any number of waiting group queries leaves queries for paths"
	"admit:admit_pending F4,F38 a port has at most 16 connections not yet established, all ports 1024; none while the SRQ has failed"
	"admit:admit_share F4 a port has at most its quota of connections; while some close no request is refused"
	"admit:admit_all F4 a port is refused at the limit of all connections, but not while connections close"
	"tso:tso_ipv4 B23 IPv4 segments of the driver equal the kernel's, octet by octet"
	"tso:tso_ipv6 B23 IPv6 segments of the driver equal the kernel's, octet by octet"
	"tso:tso_options B23 segments of packets with options and extension headers equal the kernel's"
	"tso:tso_odd_pieces B23 segments of payload in pieces of odd length equal the kernel's"
	"tso:tso_last_octet B23 a last segment of 1 octet, or of full length, equals the kernel's"
	"tso:tso_fin_psh B23 FIN and PSH are in the last segment only"
	"tso:tso_cwr B23 CWR is in the first segment only"
	"tso:tso_udp B23 UDP segments of the driver equal the kernel's, over IPv4 and IPv6"
	"tso:tso_udp_zero B23 checksums of UDP segments are never 0"
	"tso:tso_owner B23 a frame is freed with its last segment, and counted segment by segment"
	"tso:tso_few_sge B23 a segment of more pieces than the QP accepts leaves no object behind"
	"tso:tso_takes B23,F65 a packet whose data may change under the checksum, or that does not fit, is left to the stack"
	"tso:tso_long_headers B23 a packet with headers that are too long is left to the stack"
	"tso:tso_refused B23 a packet without payload, sum or linear headers is not segmented"
	"header:port_rates B20 the rate of a port follows from its speed and width, for all speeds and widths"
	"header:sa_silent U51 an error of a query is a decision of the SA, or a reason to repeat the query"
	"header:moder_counts B18 events and received packets of a completion queue are counted, across the wrap"
	"header:moder_init B18 moderation begins without a delay, and its timer counts as an event"
	"header:moder_profiles B18 the HCA, or else the timer, has the delay that was set, or that of the profile"
	"header:moder_ends B18 a handler runs again after the delay if it found packets, and else arms its CQ"
	"header:moder_slow B18 adaptive moderation delays no report once packets come at a greater distance than the longest delay"
	"header:moder_fast B18 adaptive moderation measures after a number of events, and not before a profile is applied"
	"header:vectors - interfaces have completion vectors in turn, and their sends begin half way round"
	"header:backoff U51 pauses double with each failure up to 8 or 60 s, and are up to one and a half times as long at random"
	"queue:queue_posted C33 lost receives do not count as posted, and no number is below 0"
	"queue:queue_missing C33,C8 a receive for each connection and a margin are posted, others for lost ones, and all with UC or without SRQ"
	"queue:queue_pieces C25,C26 pieces of a receive, of one page or more, hold all of its pages"
	"queue:queue_srq C33,F14 an SRQ that the HCA refuses is tried with each half of its size, down to 32"
	"queue:queue_srq_size C33 the size of an SRQ follows from the limits of the HCA, and Soft-RoCE gets none"
	"queue:queue_failed F70 no connection gets queues while an SRQ that has failed is replaced"
	"queue:queue_returned C33 receives of a connection have come back when the HCA, or their own count, shows it"
	"queue:queue_margin C33 a burst of half of the margin doubles it, up to the size of the SRQ"
	"queue:queue_used C33 a frame renews the time of the last use of its connection"
	"queue:queue_bound - the handler of sends of connections ends after a bounded number of polls, and is called again"
	"queue:queue_turns - send CQs of connections are polled in turn"
	"rx:rx_posted F7 each receive of datagrams is posted once, with buffers that no other receive has"
	"rx:rx_refilled - receives of datagrams are posted also during a poll"
	"rx:rx_short_queue F7 half of a short queue of receives is posted again at once, and no number is written beyond the queue"
	"rx:rx_frames F7 a frame up to the length of a buffer is delivered, copied or with its page, and no other is"
	"rx:rx_failed F7,B19 a failed receive of a datagram counts once, and a flushed receive is not posted again"
	"rx:rx_pool C25 a piece of a pool has all the pages of its order"
	"conn:conn_port C35,F5 a connection is confirmed by the path record of its peer, without a record by the port of the connection in use"
	"conn:conn_proof C35 failures of a peer count until something has arrived on the connection in use"
	"conn:conn_idle C35 a neighbour keeps 16 peers without connections, the newest, and all peers with connections"
	"conn:conn_times C33,F86 timeouts and retries of a QP, and its depth of RDMA reads, are not those that the peer asks for"
	"conn:conn_best C4 the newest established connection is sent on, else a pending one, and none that is refused or not confirmed"
	"conn:conn_select C34,C35 a peer that connects gets its connection, or a pause without one"
	"conn:conn_waiting C34 frames that waited go on the connection, or back to the neighbour if they are too long for it"
	"conn:conn_lost C35 the loss of a connection is a failure of the peer if sent frames did not arrive"
	"conn:conn_replaced C14 a new connection replaces older ones of equal port, or of a confirmed peer"
	"conn:conn_alloc C33 a new connection has a random PSN of 24 bits, and a deadline"
	"conn:conn_counted F4 a connection counts for its port, its peer and the interface until it is freed"
	"conn:conn_flush C19 a flush closes connections, drops frames that wait, and forgets failures of peers"
	"conn:conn_path C20,C35 a path record wakes connections that need it, and the end of a neighbour ends unused ones"
	"conn:conn_connect C4,C21 a request has the preferred common transport, and the service ID that the peer accepted"
	"conn:conn_no_request C34 a reason for no request is transient, or leads to a pause, and no frame waits on"
	"conn:conn_rejected C17,C21,C35 a refused request is repeated once, gives way to the peer's, or is closed"
	"conn:conn_rejected_late C35 a REJ closes an established connection, and repeats no request of a peer that is up"
	"conn:conn_replied C15,C28 a REP with the QPN of the peer and an MTU establishes a connection, and no other"
	"conn:conn_granted C21,C35 a request from the port of the path record is granted for both directions"
	"conn:conn_crossing C17 a request gives way to an own one that was sent, of the same kind, from the greater address"
	"conn:conn_accepted C15 an RTU with the QPN of the peer has a connection sent on"
	"conn:conn_activated C33 an accepted connection is sent on unless it is replaced, or its peer failed just now"
	"conn:conn_checked C33,C35 a connection is closed after 3 s without completions, or after its idle time"
	"conn:conn_confirmed C35 a later path record confirms a connection, which is sent on then"
	"conn:conn_silent C8 UC is closed after 30 s without an answer, after 6 s if the peer has failed before"
	"conn:conn_events C19,C35 a disconnect, a failure or no answer closes a connection"
	"conn:conn_late C12,C34 a connection without REP or RTU is closed at its deadline, and established if frames come"
	"conn:conn_closing C19,C35 a closed connection keeps its QP for timewait, and sends a REJ only where no REP was taken"
	"conn:conn_drained C19,C33 the time for the HCA to return work requests depends on the ones that may still come"
	"conn:conn_timewait C19 a closed connection is taken apart at the end of timewait, or at once if told to"
	"conn:conn_xmit C22,C28,C34 a frame takes its connection, waits for one, or gets the MTU to report"
	"rn:rn_mtu B25,U28 a change of the link's MTU changes the buffers of the net device of the HCA, and not the MTU of the interface"
	"rn:rn_ethtool B25 the net device of the HCA keeps its operations for ethtool, and gets those that it lacks"
	"neigh:neighs_known - a neighbour is found by its GID, and a new one may be queried at once"
	"neigh:neighs_full_idle F12 a full table loses its oldest idle neighbour, none with a recent frame or a query under way"
	"neigh:neighs_full_unknown F12 a full table loses a neighbour without a path before idle ones"
	"neigh:neighs_age - a neighbour without a frame for five minutes is removed, unless it is queried"
	"neigh:neighs_stop - the end of the table cancels queries and waits, and drops waiting frames"
	"neigh:neighs_query - an answer replaces the address handle, and returns all references of the query"
	"neigh:neighs_failures - failures in a row lengthen the pause, and keep the old address handle"
	"neigh:neighs_handles - a record without an address handle counts as a failure"
	"neigh:neighs_slots - a query waits a second for an inflight slot"
	"neigh:neighs_odd - a path with a smaller MTU than the link, or an unknown rate, is odd"
	"neigh:neighs_stale - an event makes all records stale, a suspicion only a record older than a limit"
	"neigh:neighs_mac - a new MAC address makes a record stale, and a query under way"
	"neigh:neighs_records - connected mode gets the record, and whether it is stale"
	"neigh:neighs_waiting - waiting frames are counted by kind and limited"
	"neigh:neighs_queues - frames wait behind those of their transmit queue only"
	"neigh:neighs_resent - frames of a closed connection wait for the work of the neighbour"
	"mcast:mcast_joined - the broadcast group gives the link its MTU and Q_Key, and the end leaves nothing"
	"mcast:mcast_order - groups are joined after the broadcast group, and wait for it while it is lost"
	"mcast:mcast_silent U58 failures without an answer are counted, the lack of an SM from the fifth on"
	"mcast:mcast_refused U58 the record of a refused group has the reason, which selects the pause"
	"mcast:mcast_local - a failure of the HCA leaves nothing of a join"
	"mcast:mcast_absent - the missing group of a sender waits for an event"
	"mcast:mcast_lost - a lost membership stays until the next is granted or refused"
	"mcast:mcast_rechecks - only a decision of the SA ends a membership that is rechecked"
	"mcast:mcast_changed U55 a record with another value makes a new address handle"
	"mcast:mcast_users - each change of the users requests another JoinState"
	"mcast:mcast_room F15 groups are limited by user, and a pass through the list ends those not named"
	"mcast:mcast_slots - requests of groups wait for inflight slots"
	"mcast:mcast_frames - frames wait for an answer a tenth of a second"
	"mcast:mcast_interval - a membership that does not keep its group is rechecked at growing intervals"
	"mcast:mcast_samples U52 four samples with frames in a row have a group monitored"
	"mcast:mcast_reports U52,U53 reports of the SA, and a new SM, have groups rechecked or joined"
	"mcast:mcast_values U55 the values of a group are compared with those of the link"
	"rn:rn_made B25 the net device of the HCA keeps its operations for this driver, and has its MTU, destructor and number of queues"
	"rn:rn_frames B25 the net device of the HCA gets a frame without its address, while the transport and its queue run"
	"qp:qp_attributes B24 the QPs have their attributes, flags, CQs and completion vectors"
	"qp:qp_flags B24 flags that the HCA refuses are left out, steering first, and RoCE has none for offloads"
	"qp:qp_sizes - queues that the HCA refuses are tried with each half of the longer, down to 32"
	"qp:qp_few_sge B23 an HCA with fewer than 3 SGEs has no segments of the driver, and a frame at most 33"
	"qp:qp_states F7 QPs pass their states in order, and all receives and late completions are taken at a stop"
	"qp:qp_start_failed F7 after a change of state that fails at the start all QPs are in RESET"
	"qp:qp_stuck F7 a QP that the HCA does not reset keeps its frames and sizes, until it is reset or destroyed"
	"qp:qp_resized F7 a resize is for all queues, running or not, and for later ones"
	"qp:qp_qkey U40 all queues in use have the Q_Key of the link, or the former if the HCA refuses it for one"
	"qp:qp_number - more and fewer queues leave the first running, and a failure leaves the number"
	"qp:qp_recovers B38 a QP in SQE sends again without a reset, another is restarted"
	"qp:qp_groups - groups on a link with IPv4 addresses share an attachment"
	"send:send_posted U37,U40 short frames are posted together, with handle, QPN, Q_Key and numbers in order"
	"send:send_signalled - sends are signalled if their completion is waited for, and after 15 others"
	"send:send_refused F7,B19 sends that the QP refuses count as dropped, and not as sent"
	"send:send_failed F7,B19 sends that fail count as errors, with their octets, and not as sent"
	"send:send_full - a full queue is stopped, and woken with room for a quarter, unless the interface is down"
	"send:send_polls - the handler of sends goes on as long as there are completions, and arms its CQ"
	"send:send_segments B23 a large packet is segmented by the HCA or the driver, or dropped"
	"send:send_heads B23 headers of segments of the HCA have 124 octets at most, in the linear part"
	"send:send_sums B23 checksums that the HCA does not compute are computed by the driver"
	"send:send_offers B23 large packets that neither the HCA nor the driver can segment are left to the stack"
	"send:send_lengths C34 a frame or a segment is too long beyond the MTU, and not before"
	"send:send_waited B36 frames that waited are posted in order under the transmit lock, and dropped without the transport"
	"roce:roce_gids - the GID is a link-local address of RoCE v2, IPv4 only without IPv6, and stays while it can"
	"roce:roce_requests - requests to another GID, version or VLAN are refused, and path MTUs that are too long"
	"roce:roce_port B31 state and MTU of the port follow from HCA, VLAN and GID, and a missing GID has a reason"
	"roce:roce_port_events - connections on soft-RoCE end with the GID"
	"roce:roce_path - the path of an answer has the parameters of the link, and the address of the neighbour"
	"roce:roce_no_path - a path query that times out is tried three times, and each other failure ends it"
	"roce:roce_group U54,U56 a group is joined on the port once, again on a refresh, and left; a lost membership is reported"
	"roce:roce_senders U54 a sender is no member, and all groups on a port with IPv4 are one"
	"roce:roce_netdevs - events of the net_device of the port are handled, and no others"
	"roce:roce_addresses - addresses of the port have it read again, on soft-RoCE later after a removal"
	"roce:roce_neighbours - neighbours of the stack with another address, or without, change their paths"
	"agent:agent_made U52 the agent of a port has a MAD agent, a budget of reports, and looks for the SA"
	"agent:agent_address F28 the address of the SA follows from the attributes of the port, with a GRH where the port requires it"
	"agent:agent_no_address U52 an address of the SA that cannot be read is tried again, and a port without SM has none"
	"agent:agent_asked U51 a question is a MAD to the SA with a TID of its own, and gets one answer"
	"agent:agent_no_answer U51 a question without an answer gets an error, and leaves nothing"
	"agent:agent_cancelled U51 questions of one owner are cancelled, and no others"
	"agent:agent_granted U52 a port subscribes to both traps, and has its groups reviewed after the grant"
	"agent:agent_users U52 the first user subscribes the port, and 20 s after the last the subscription ends"
	"agent:agent_refused U52,U58 a refused subscription is requested again after a pause, and only a refusal is logged"
	"agent:agent_taken U52,U58 without a MAD agent for reports the port subscribes after a pause"
	"agent:agent_stale U52 a new SM is requested for a subscription at once, whatever the previous one has granted"
	"agent:agent_quiet U52 too many reports end the subscription for 4 to 6 minutes"
	"agent:agent_ends U52 the end of the agent ends subscription and questions"
	"agent:agent_ends_early U52 a subscription that is being made is cancelled at the end of the agent"
	"agent:agent_reports U52,U53 a report is answered, and delivered once to each interface"
	"agent:agent_forged U52 a report that is not from the SA, or malformed, is neither delivered nor answered"
	"sa:sa_join U54,U55 a full member joins a group like the broadcast group, others have four components"
	"sa:sa_held B8 the JoinState of ib_sa is that of the group, and 0 without a member"
	"sa:sa_handle U12 the address handle of a group follows from its record"
	"sa:sa_asked U48,U51 the record of a group is read, and the answer goes to the group"
	"sa:sa_not_asked U51 a question that is not sent holds no interface"
	"sa:sa_listed U57 the groups of a partition are listed from all segments of an answer"
	"sa:sa_ports B29,U28 state, addresses, MTU, rate and P_Key of a port are those of the HCA"
	"sa:sa_children U41 the P_Key of a child is found at any index, or missing"
	"sa:sa_events B29 each event of a port has its effect on paths, groups, SA and port"
	"sa:sa_agents - children share the agent of their parent"
	"sa:sa_path_asked U12 a path is queried with the traffic class of the link, and its query can be cancelled"
	"sa:sa_path_answers B21,F28 the record of a path has a hop limit where the port requires a GRH"
	"xmit:xmit_joined U48,F72 a frame goes by the handle of its group, behind frames that wait, and by the broadcast group meanwhile"
	"xmit:xmit_no_group U8,F15 a frame without a link, or without room for its group, is dropped with the reason, and Neighbour Solicitations are broadcast"
	"xmit:xmit_waiting U50 16 frames wait for the join of a group, 512 of the interface"
	"xmit:xmit_failing U50 frames are broadcast while the SA gives no answer, and dropped after a refusal"
	"xmit:xmit_absent U49,U51 frames to a missing group go to the routers, or nowhere, until its pause has ended"
	"xmit:xmit_by_ip F72 a frame to a missing group goes to the group of its network address"
	"xmit:xmit_routes U57,A25 the groups of the link are listed one list at a time, less often with reports"
	"xmit:xmit_not_open U57 nothing is listed without the broadcast group"
	"xmit:xmit_routes_fail U57,U58 a failed list is requested again after a pause, and a list without room for a group"
	"xmit:xmit_listens U54,B8 groups of the stack are joined, unless they belong to user space"
	"ctl:ctl_states - the control work sets carrier and MTU by the state of the interface, and none after its end"
	"ctl:ctl_port U21 a change of the port restarts the interface and moves its groups if they depend on it"
	"ctl:ctl_failures - a failed run of the control work is repeated after a pause, and logged once"
	"ctl:ctl_restarts F7 a failed QP is reset alone if it can be, and at most ten times a second"
	"complete - all suites ran, and each suite passed"
)

TESTDIR=$(mktemp -d /tmp/ipoib.unit.XXXXXX) || exit
LOG=$TESTDIR/log
trap 'modprobe -qr ipoib_kunit; rm -rf "$TESTDIR"' EXIT

# in the order of the module
SUITES=(
	wire ring record wc group share police admit tso header queue rx conn rn neigh mcast qp
	send roce agent sa xmit ctl
)
# "ok" or "not ok" by suite and case
declare -A RESULTS

setup()
{
	local suite name result

	# all have been run when it is loaded; a case only reads what came of them
	if [ ! -d /sys/module/ipoib_kunit ]; then
		modprobe ipoib_kunit || ktap_bail "cannot load ipoib_kunit"
		klog | sed 's/^\[[^]]*\] //' > "$LOG"
	fi
	# "    ok 3 name" under the heading of the suite
	while read -r suite name result; do
		RESULTS[$suite:$name]=$result
	done < <(awk '
		/# Subtest:/ { suite = substr($NF, length("ipoib_") + 1) }
		/^ +(not )?ok / { print suite, $NF, $1 == "ok" ? "ok" : "not ok" }' "$LOG")
}

diagnose()
{
	grep -A 1 'EXPECTATION FAILED' "$LOG" | sed 's/^/# /'
}

for suite in "${SUITES[@]}"; do
	eval "$suite() { check_eq result \"\${RESULTS[$suite:\$1]:-none}\" ok; }"
done

complete()
{
	local suite list='' n=0

	for suite in "${SUITES[@]}"; do
		list+=",ok $((++n)) ipoib_$suite"
	done
	check_eq "cases there and here" \
		"$(grep -cE '^ +(not )?ok ' "$LOG")" $((${#CASES[@]} - 1))
	check_eq "suites" "$(grep -E '^(not )?ok ' "$LOG" | paste -sd ,)" \
		"${list#,}"
	check_eq "failed expectations" "$(grep -c 'EXPECTATION FAILED' "$LOG")" 0
}

ktap_main "$@"
