/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared structures of the driver and, grouped by file, what each file
 * offers to the others.
 */
#ifndef IPOIB_H
#define IPOIB_H

#include <linux/completion.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "ipoib_backoff.h"
#include "ipoib_cm.h"
#include "ipoib_fabric.h"
#include "ipoib_limit.h"
#include "ipoib_object.h"
#include "ipoib_ring.h"
#include "ipoib_share.h"
#include "ipoib_stats.h"
#include "ipoib_wire.h"

/**
 * DOC: Locking and lifetime
 *
 * One &struct ipoib_dev per interface, in the private area of its net_device.
 * It is created when the HCA (or the module) comes and freed when it goes;
 * everything below belongs to it.
 *
 * Locks, outermost first. A lock may be taken while one above it is held,
 * never the other way round.
 *
 * ipoib_hca_lock (ipoib_client.c)
 *	which ports have an interface: HCAs that come and go, and changes of
 *	the module parameter. Nothing below waits for who holds it.
 * mutex of the agents (sa/mad.c)
 *	which ports have one, and how many interfaces share it. Taken when
 *	interfaces are made and freed.
 * RTNL
 *	ndo_open(), ndo_stop(), ndo_change_mtu() and the control work
 *	(ipoib_ctl.c). Serialises everything that starts, stops or changes
 *	an interface. Never taken in a completion, an answer of the fabric or the
 *	multicast and path works, so ndo_stop() may wait for all of those.
 * addr_list_lock of the net_device
 *	only while the multicast list of the stack is copied into @groups.
 * &ipoib_agent.lock
 *	what the interfaces of a port share: the list of them, the address of
 *	the SA, questions under way. Held while an interface is told of a
 *	report, so nothing is asked with a lock below held.
 * transmit lock of a queue (_xmit_lock)
 *	&struct ipoib_txq and the head of its ring.
 * &ipoib_dev.mcast_lock, &ipoib_dev.path_lock
 *	the state of groups and paths, the queues of frames that wait for
 *	them. Neither is taken under the other. Taken in the transmit path
 *	only if there is no usable address handle. Never held while the fabric
 *	is called with the intent to sleep, nor while a frame is sent.
 * &ipoib_limit.lock
 *	how many questions to the fabric are open, and who waits to ask. Taken with
 *	interrupts off, also under path_lock; none is taken under it.
 * &ipoib_cm.mutex
 *	what the connections of an interface share: SRQ, CQs, pages. Taken by
 *	the callbacks of the CM and the works of connected mode, never with
 *	RTNL held.
 * &ipoib_cm.lock
 *	peers, the state of connections, frames that wait for one. Taken in
 *	the transmit path only if there is no connection to a peer that could
 *	have one. &ipoib_dev.path_lock may be taken under it. It is taken where
 *	the stack tells of a neighbour, which may be under the lock of its table:
 *	so under this one nothing of neighbours is asked.
 * &ipoib_conn.tx_lock
 *	head of the ring of one connection and the queue behind it. Taken in
 *	the transmit path and by the handler of its completions.
 * &ipoib_cm_rx.lock
 *	which receives of connections are free and how many shall be posted, and
 *	allocation from their page pool. None is taken under it.
 * &ipoib_dev.ah_lock
 *	the lists of address handles that wait to be destroyed.
 *
 * All other spinlocks are taken with bottom halves off. In the transmit path they
 * are off already (and under netpoll so are interrupts), hence the plain
 * spin_lock() there.
 *
 * Objects and owners:
 *
 * &struct ipoib_path, &struct ipoib_mcast
 *	are found by GID in a hash table under RCU. A path is reference
 *	counted: the table holds one, each query under way another. A group is
 *	freed only by the multicast work, or with that work stopped. Both are
 *	freed after a grace period.
 * &struct ipoib_ah
 *	is owned by the one path or group that points to it. Senders hold no
 *	reference: they read the pointer under RCU and post while they hold
 *	the transmit lock. ipoib_ah_retire() takes over a handle that has been
 *	unpublished; it is destroyed when a grace period has passed and after
 *	that every ring has completed what it then contained. So no frame in
 *	flight ever uses a destroyed handle, and no cache line is written for
 *	it per packet.
 * &struct ipoib_conn
 *	is freed by the reaper (cm/conn.c) alone. Senders find it under RCU in
 *	&ipoib_peer.tx; callbacks of the CM have it as their context; the
 *	completion handlers take it from the QP of a completion. It is handed
 *	to the reaper by __ipoib_conn_close(), from any context, and then, in
 *	this order: unpublished; the peer told and the QP put into the error
 *	state; the CM's time of waiting; a grace period; ib_destroy_cm_id(),
 *	which waits for callbacks; all work requests given back; a round of
 *	each handler; QP and memory freed, side by side by the kernel's async
 *	calls, for which the reaper waits.
 * &struct ipoib_peer
 *	is found by link-layer address in a hash table under RCU, and freed
 *	after a grace period if it has neither connections nor other users, all
 *	of which count in &ipoib_peer.users: with the last of them, by the
 *	ageing work, or to make room for another.
 * what connections share
 *	&struct ipoib_cm_rx and the CQs for sends come with the first
 *	connection and go when none has existed for a while. Connections count
 *	in &ipoib_cm.nconns from before they are made until they are freed.
 * &struct ipoib_agent
 *	is found by HCA and port and shared by the interfaces of the port, which
 *	count in &ipoib_agent.users. The last of them frees it.
 * queries for paths, questions about groups, memberships of a P_Key that was replaced
 *	are counted in &ipoib_dev.queries; the interface is not freed before
 *	the last has been answered. Joins need no count: once a handle has been
 *	given back, its callback neither runs nor will run.
 *
 * Work:
 *
 * @wq (ordered): multicast work, path ageing, refill of the receive queue, ending
 *	memberships of a P_Key that was replaced. It goes after the last answer has come.
 * @ah_work (system_unbound_wq): waits for grace periods and destroys address
 *	handles.
 * &ipoib_cm.wq (unbound): making connections, sending what waited for one,
 *	disconnecting, the reaper, ageing. None needs RTNL, so it may be held where the
 *	reaper is waited for: ipoib_cm_exit() and ipoib_cm_let_go().
 * &ipoib_agent.sm_work, &ipoib_agent.sub_work (system_unbound_wq): the address of
 *	the SA, and the subscriptions to its reports.
 * @ctl_work (system_unbound_wq): all that needs RTNL. Stopped only after the
 *	interface is unregistered, without RTNL.
 * @pmtu_work (system_unbound_wq): tells senders of packets that are too long;
 *	may be waited for with RTNL held.
 * &ipoib_roce.group_work (system_unbound_wq): memberships of Ethernet ports,
 *	which need RTNL. Waited for without RTNL only.
 * queue of queries for paths (roce/roce.c): may be waited for with RTNL held.
 */

struct dentry;
struct ipoib_dev;
struct ipoib_neigh_ops;
struct ipoib_roce;
struct neighbour;
struct page_pool;

/* Bits of &ipoib_dev.flags. */
enum {
	IPOIB_FLAG_UP,		/* QP runs, works may be queued; see ndo_open */
	IPOIB_FLAG_CONNECTED,	/* the mode is connected; under RTNL */
	IPOIB_FLAG_PKEY,	/* the port has our P_Key */
	IPOIB_FLAG_PORT_ACTIVE,	/* the port is in state ACTIVE */
	IPOIB_FLAG_JOINED,	/* member of the broadcast group */
	IPOIB_FLAG_RESYNC,	/* the stack's multicast list has changed */
	IPOIB_FLAG_FOREIGN,	/* groups of it were left to user space */
	IPOIB_FLAG_RESUME,	/* the SA may be queried again, see ipoib_limit.c */
	IPOIB_FLAG_DEAD,	/* the HCA has failed, all that is left is to go */
};

/* Bits of &ipoib_dev.ctl_events: what the control work has to do. */
enum {
	IPOIB_CTL_LINK,		/* carrier and MTU follow the flags */
	IPOIB_CTL_PORT,		/* read port state, P_Key and GID again */
	IPOIB_CTL_RESTART,	/* reset the QP */
	IPOIB_CTL_RECOVER,	/* a failed send stopped the send queue */
	IPOIB_CTL_SCOPE,	/* look for a broadcast group of the next scope */
};

/* Work requests handed to the QP in one go, at most. */
#define IPOIB_BATCH		16
/* Completions read from a CQ in one go. */
#define IPOIB_POLL_WC		16
/* Sends between two that ask for a completion, at most. */
#define IPOIB_TX_UNSIGNALLED	16
/* A received frame up to this long is copied and its buffer used again. */
#define IPOIB_RX_COPY		256
/* Room for headers in the linear part of a longer one. */
#define IPOIB_RX_LINEAR		128
/* log2 of the buffer for GRH and encapsulation header of a frame. */
#define IPOIB_RX_HEAD_SHIFT	6
/* Frames that may wait for a path, for a group. */
#define IPOIB_PATH_QUEUE	16
#define IPOIB_MCAST_QUEUE	16
/* Frames of an interface that may wait for any group. */
#define IPOIB_MCAST_QUEUED	512
/*
 * Groups of an interface; how many of them it may only send to; how many it may only
 * route, which are made by others. So there is always room for those it listens to.
 */
#define IPOIB_MCAST_MAX		6144
#define IPOIB_MCAST_SEND_MAX	1024
#define IPOIB_MCAST_ROUTE_MAX	4096
/* Paths of an interface. */
#define IPOIB_PATH_MAX		16384
/* Frames of an interface that may wait for any path, and of those by one source. */
#define IPOIB_PATH_QUEUED	4096
#define IPOIB_NAMER_QUEUED	256
/* Paths that are looked for because one source has named them. */
#define IPOIB_NAMER_PATHS	64

/**
 * struct ipoib_ah - address handle
 * @ah: the handle
 * @list: in &ipoib_dev.dead_ahs, or with @fence in &ipoib_dev.fenced_ahs; under
 *	&ipoib_dev.ah_lock
 * @fence: heads of the rings when the last sender had stopped using it
 */
struct ipoib_ah {
	struct ib_ah *ah;
	struct list_head list;
	u32 fence[];
};

/**
 * struct ipoib_batch - work requests that wait to be posted together
 * @count: how many
 * @bytes: octets of their frames
 * @awaited: somebody waits for one of them to complete
 * @wr: chained by ipoib_ud_post()
 * @sge: their scatter-gather lists
 */
struct ipoib_batch {
	unsigned int count;
	unsigned int bytes;
	bool awaited;
	struct ib_ud_wr wr[IPOIB_BATCH];
	struct ib_sge sge[IPOIB_BATCH][IPOIB_TX_SGE];
};

/**
 * struct ipoib_txq - one transmit queue of datagram mode
 * @priv: the interface
 * @qp: QP it posts to
 * @cq: CQ of its sends
 * @nq: the stack's side of the queue
 * @batch: under the transmit lock of @nq
 * @unsignalled: sends since the last that asked for a completion, under the
 *	transmit lock
 * @signalled: head of the ring behind that last one, under the transmit lock
 * @ring: see ipoib_ring.h
 * @wc: scratch for polling
 * @napi: completion handler
 */
struct ipoib_txq {
	struct ipoib_dev *priv;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct netdev_queue *nq;
	struct ipoib_batch *batch;
	unsigned int unsignalled;
	u32 signalled;
	struct ipoib_ring ring;
	struct ib_wc wc[IPOIB_POLL_WC];
	struct napi_struct napi;
};

/**
 * struct ipoib_rx_slot - buffer of one posted receive
 * @page: page of the pool that takes the payload, NULL if there is none
 * @offset: where in the page
 */
struct ipoib_rx_slot {
	struct page *page;
	unsigned int offset;
};

/**
 * enum ipoib_rxq_state - whether receives are posted
 * @IPOIB_RXQ_STOPPED: the QP is not started
 * @IPOIB_RXQ_RUNNING: what is completed is posted again
 * @IPOIB_RXQ_FAILED: receives were flushed, so the QP is in the error state; nothing is
 *	posted until the control work has restarted it
 */
enum ipoib_rxq_state {
	IPOIB_RXQ_STOPPED,
	IPOIB_RXQ_RUNNING,
	IPOIB_RXQ_FAILED,
};

/**
 * struct ipoib_rxq - one receive queue of datagram mode
 * @priv: the interface
 * @qp: QP it posts to
 * @cq: CQ of its receives
 * @pool: pages for payload, exists while the interface is up
 * @heads: buffers for GRH and encapsulation header, one per slot
 * @slots: @size of them
 * @size: number of slots
 * @buf_size: octets for payload per slot
 * @free: stack of slot numbers that are not posted; only NAPI, or start and
 *	stop while NAPI is disabled, touch it
 * @nfree: how many
 * @state: written by NAPI, or by start and stop while NAPI is disabled
 * @wr: scratch for a chain of receives
 * @sge: their scatter lists: head and payload
 * @wc: scratch for polling
 * @refill: tries again after memory ran out
 * @napi: completion handler
 */
struct ipoib_rxq {
	struct ipoib_dev *priv;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct page_pool *pool;
	struct ipoib_bufs heads;
	struct ipoib_rx_slot *slots;
	unsigned int size;
	unsigned int buf_size;
	u16 *free;
	unsigned int nfree;
	enum ipoib_rxq_state state;
	struct ib_recv_wr wr[IPOIB_BATCH];
	struct ib_sge sge[IPOIB_BATCH][2];
	struct ib_wc wc[IPOIB_POLL_WC];
	struct delayed_work refill;
	struct napi_struct napi;
};

/**
 * enum ipoib_path_state - what is known about the way to a GID
 * @IPOIB_PATH_IDLE: nothing, nobody asked
 * @IPOIB_PATH_RESOLVING: the fabric was asked; frames wait
 * @IPOIB_PATH_VALID: there is an address handle
 * @IPOIB_PATH_FAILED: there is no path; frames are dropped until @retry_at
 */
enum ipoib_path_state {
	IPOIB_PATH_IDLE,
	IPOIB_PATH_RESOLVING,
	IPOIB_PATH_VALID,
	IPOIB_PATH_FAILED,
};

/**
 * struct ipoib_path - the way to a GID
 * @node: in &ipoib_dev.paths
 * @gid: key
 * @ah: published address handle; an old one stays while a new path record is
 *	fetched
 * @stale: the fabric has changed since @rec was fetched; it is fetched again by
 *	the first frame after @retry_at
 * @used: jiffies, with a resolution of a second, of the last frame
 * @priv: the interface
 * @list: in &ipoib_dev.path_list, under path_lock
 * @waiting: in &ipoib_dev.path_waiting, or empty; under path_lock
 * @credit: its query counts against the limit
 * @state: under path_lock
 * @queue: frames that wait, whole with their &struct ipoib_header; under
 *	path_lock
 * @query: the query as the fabric knows it, NULL if none; under path_lock
 * @query_id: the same, if the fabric uses numbers
 * @namer: who has named the GID, see ipoib_share.h
 * @charged: it counts in &ipoib_dev.resolving; under path_lock
 * @asked_at: jiffies: when the fabric was to be asked, or frames last lost
 *	patience; under path_lock
 * @retry_at: jiffies, valid in IPOIB_PATH_FAILED and if @stale; written under
 *	path_lock
 * @reread_at: jiffies: not before, the record is read anew because the stack found the
 *	neighbour unreachable; under path_lock
 * @failures: failed queries in a row, or as good as that; under path_lock
 * @rec: last path record, under path_lock
 * @odd: it takes less than the link, and that has been said; query's answer only
 * @ref: held by the table and by each query
 * @rcu: frees it
 */
struct ipoib_path {
	struct rhash_head node;
	union ib_gid gid;
	struct ipoib_ah __rcu *ah;
	bool stale;
	unsigned long used;

	struct ipoib_dev *priv;
	struct list_head list;
	struct list_head waiting;
	bool credit;
	enum ipoib_path_state state;
	struct sk_buff_head queue;
	void *query;
	int query_id;
	u8 namer;
	bool charged;
	unsigned long asked_at;
	unsigned long retry_at;
	unsigned long reread_at;
	unsigned int failures;
	struct sa_path_rec rec;
	bool odd;
	refcount_t ref;
	struct rcu_head rcu;
};

/**
 * enum ipoib_mcast_state - where a group stands with the fabric
 * @IPOIB_MCAST_IDLE: not asked
 * @IPOIB_MCAST_JOINING: a join is under way; frames wait
 * @IPOIB_MCAST_ASKING: the record of the group is being read, because a join
 *	was refused, or to see whether anybody answers; frames wait
 * @IPOIB_MCAST_MEMBER: joined
 * @IPOIB_MCAST_CHECKING: joined, and the record is being read anew
 * @IPOIB_MCAST_BACKOFF: refused or no answer, asked again at @retry_at
 * @IPOIB_MCAST_ABSENT: nobody listens to the group and we do not either; asked
 *	again when the SA reports it, or by the first frame after @retry_at
 * @IPOIB_NR_MCAST_STATES: number of states
 */
enum ipoib_mcast_state {
	IPOIB_MCAST_IDLE,
	IPOIB_MCAST_JOINING,
	IPOIB_MCAST_ASKING,
	IPOIB_MCAST_MEMBER,
	IPOIB_MCAST_CHECKING,
	IPOIB_MCAST_BACKOFF,
	IPOIB_MCAST_ABSENT,
	IPOIB_NR_MCAST_STATES,
};

/* Who needs a group: bits of &ipoib_mcast.users. */
#define IPOIB_USER_LISTEN	BIT(0)	/* the stack listens to it */
#define IPOIB_USER_ROUTE	BIT(1)	/* we route multicast */
#define IPOIB_USER_SEND		BIT(2)	/* somebody sends to it */

/* JoinState bits, IBTA 15.2.5.17. */
#define IPOIB_JOIN_FULL		BIT(FULLMEMBER_JOIN)
#define IPOIB_JOIN_NON		BIT(NONMEMBER_JOIN)
#define IPOIB_JOIN_SEND		BIT(SENDONLY_NONMEBER_JOIN)
/* Those whose frames come to us. */
#define IPOIB_JOIN_RECEIVES	(IPOIB_JOIN_FULL | IPOIB_JOIN_NON)

/**
 * enum ipoib_reread - how to recheck a group
 * @IPOIB_REREAD_NO: no need
 * @IPOIB_REREAD_GET: read its record: it may have gone, or been made anew
 * @IPOIB_REREAD_SET: ask for our membership again: the SM is another one
 */
enum ipoib_reread {
	IPOIB_REREAD_NO,
	IPOIB_REREAD_GET,
	IPOIB_REREAD_SET,
};

/**
 * struct ipoib_mcast - a multicast group
 * @node: in &ipoib_dev.groups
 * @mgid: key
 * @ah: published address handle
 * @settled_at: jiffies; until then the fabric may not forward for the group
 *	yet and frames go by the broadcast group
 * @grace_at: jiffies; until then frames go by the broadcast group though there
 *	is no such group
 * @used: jiffies, with a resolution of a second, of the last frame sent
 * @priv: the interface
 * @list: in &ipoib_dev.group_list, under mcast_lock
 * @todo: in &ipoib_dev.group_todo or group_waiting, or empty; under mcast_lock
 * @state: under mcast_lock, changed by the multicast work only
 * @users: IPOIB_USER_ bits, under mcast_lock; without any the group is left
 * @parked: it was missing: frames for routers do not wait; under mcast_lock
 * @listed: found in the list of the stack, or of the SA, that is being gone
 *	through; under mcast_lock
 * @reported: reported as made since the groups of the link were listed; under
 *	mcast_lock
 * @answered: @joining has been answered with @status; under mcast_lock
 * @read: the record has been read with @read_status and @fresh; under
 *	mcast_lock
 * @lost: the membership of @held has gone (SM change, port down, …); under
 *	mcast_lock
 * @reread: enum ipoib_reread, under mcast_lock
 * @status: 0 or negative error of the answer to a join
 * @read_status: 0 or negative error of a record that was read
 * @queue: frames that wait, whole with their &struct ipoib_header; under
 *	mcast_lock
 * @created: jiffies
 * @asked_at: jiffies: when the fabric was asked last, or was to be
 * @retry_at: jiffies: when to ask again in IPOIB_MCAST_BACKOFF and
 *	IPOIB_MCAST_ABSENT, or to recheck a member; of a member that needs
 *	no recheck: since when it is known to be valid
 * @invalidated_at: jiffies: when a membership was given up because the SA does not
 *	know it; multicast work only
 * @hold_off: it is too early after that to rejoin; multicast work only
 * @hold_off_until: jiffies: when to check again whether it is; multicast work only
 * @recheck_interval: jiffies after which a membership that does not keep its group
 *	is read again if the SA reports nothing; until then it is assumed valid
 * @absences: how often in a row there was no such group, at most a few
 * @backoff: milliseconds to the next try
 * @reason: why the last try failed, see ipoib_check.c
 * @logged: reason last logged, so that each is logged once
 * @held: JoinState held, 0 if none; multicast work only, as all below
 * @asked: JoinState asked for by @joining
 * @member: handle of the membership held
 * @joining: handle of the join under way
 * @rec: record of the group, valid if @held
 * @fresh: record last read, under mcast_lock
 * @attached: the QP takes frames of the group
 * @credit: a query for the group counts against the limit
 * @checking: enum ipoib_reread of the recheck under way
 * @rcu: frees it
 */
struct ipoib_mcast {
	struct rhash_head node;
	union ib_gid mgid;
	struct ipoib_ah __rcu *ah;
	unsigned long settled_at;
	unsigned long grace_at;
	unsigned long used;

	struct ipoib_dev *priv;
	struct list_head list;
	struct list_head todo;
	enum ipoib_mcast_state state;
	u8 users;
	bool parked;
	bool listed;
	bool reported;
	bool answered;
	bool read;
	bool lost;
	u8 reread;
	int status;
	int read_status;
	struct sk_buff_head queue;
	unsigned long created;
	unsigned long asked_at;
	unsigned long retry_at;
	unsigned long invalidated_at;
	bool hold_off;
	unsigned long hold_off_until;
	unsigned long recheck_interval;
	unsigned int absences;
	unsigned int backoff;
	u8 reason;
	u8 logged;

	u8 held;
	u8 asked;
	struct ib_sa_multicast *member;
	struct ib_sa_multicast *joining;
	struct ib_sa_mcmember_rec rec;
	struct ib_sa_mcmember_rec fresh;
	bool attached;
	bool credit;
	u8 checking;
	struct rcu_head rcu;
};

/**
 * struct ipoib_dev - an interface
 * @netdev: the net_device it is part of
 * @ca: HCA
 * @port: port of the HCA, from 1
 * @fabric: how things are done on the fabric of the port
 * @pd: protection domain
 * @txq: transmit queue; more than one is a matter of making this an array
 * @rxq: receive queue
 * @stats: see ipoib_stats.h
 * @cm: connected mode, NULL if the port has none
 * @paths: &struct ipoib_path by GID
 * @groups: &struct ipoib_mcast by MGID
 * @broadcast: the broadcast group while the interface is up
 * @broadcast_mgid: its MGID
 * @local_gid: GID of the port that is part of our address
 * @local_lid: LID of the port
 * @lmc: see &ipoib_port.lmc
 * @vid: VLAN of a RoCE port, 0 for the untagged link
 * @qkey: Q_Key of the link, host byte order (U40)
 * @mcast_mtu: MTU of the link, from the broadcast group (U28)
 * @events: what the fabric and the receive path report to the services
 * @neigh: the paths to neighbours, for connected mode
 * @flags: see the enum above
 * @pkey: P_Key of the link, full member bit set
 * @pkey_index: where the port has it
 * @pkey_joined: where ib_sa has found it when groups were joined
 * @pkey_limited: the port is a limited member of the partition, which was logged
 * @sendq_size: sends that the UD QP has room for
 * @recvq_size: receives that it has room for
 * @qp_flags: IB_QP_CREATE_ flags that it was made with
 * @vector: number of the interface, see ipoib_ud_vector()
 * @admin_mtu: MTU the administrator asked for, or the largest there is
 * @port_mtu: largest IP MTU of the port as it is now configured
 * @max_mtu: largest IP MTU the port could be configured for
 * @gid_entry: see &ipoib_port.gid_entry
 * @link_mbps: rate of the link in Mb/s when the port was last read
 * @roce: what a RoCE port needs in addition, NULL on InfiniBand
 * @pmtu_queue: frames too long for their destination, to be answered
 * @pmtu_work: answers them
 * @pmtu_since: jiffies, start of the span in which
 * @pmtu_answers: senders got an ICMP error for a packet that is too long
 * @mcast_lock: see "Locking and lifetime"
 * @group_list: all of @groups
 * @group_todo: groups the multicast work has to process
 * @group_waiting: groups that wait for a credit of the agent's limit
 * @limit_exhausted: one of them got no credit since the last answer; multicast work
 *	only
 * @group_leaving: groups to be left when the SA has dealt with others
 * @ngroups: length of @group_list
 * @nsend: those of them that are only sent to
 * @nroute: those that are routed, and not listened to
 * @nqueued: frames that wait for groups
 * @nleaves: groups left since the last barrier; under mcast_lock
 * @leave_barrier: a barrier is under way: a query that the SA answers after it has
 *	dealt with those leaves; under mcast_lock
 * @last_leave_at: jiffies, when the last group was left; under mcast_lock
 * @invalidated_at: jiffies; when &ipoib_mcast.invalidated_at of any group was last set
 * @mcast_closed: the interface is down, or goes down: no more groups are made,
 *	and the multicast work does nothing
 * @cap_logged: it was logged that there are too many groups
 * @routing: multicast routing is on
 * @routes_due: the groups of the link have to be listed; under mcast_lock
 * @routes_asked: they are being listed; under mcast_lock
 * @routes_at: jiffies: when to list them again if the SA reports nothing
 * @routes_pause: jiffies of the last pause after a failure; under mcast_lock
 * @routes_failed: that they could not be listed has been said; under mcast_lock
 * @scope_search: look for a broadcast group of another scope if there is none
 * @umcast: leave groups alone that user space has joined on this port
 * @foreign_at: jiffies: when to check those again; multicast work only
 * @mcast_waiter: waits for that
 * @mcast_work: multicast work
 * @purges: memberships to be ended that wait for a credit; ordered works only
 * @purge_work: asks for them
 * @path_lock: see "Locking and lifetime"
 * @path_list: all of @paths
 * @npaths: length of @path_list
 * @namers: who has named the GIDs of neighbours
 * @resolving: paths without an address handle that are looked for; under path_lock
 * @path_queued: frames that wait for paths; under path_lock
 * @patience_at: jiffies: when to see next whose frames wait for too long; under
 *	path_lock
 * @limit: of outstanding path queries; NULL if there is none
 * @path_waiting: paths that wait for a credit of @limit
 * @path_waiter: waits for that
 * @path_waiter_work: asks for @path_waiting, and sees that nobody waits for long
 * @path_work: ages paths
 * @ah_lock: protects @dead_ahs and @fenced_ahs
 * @dead_ahs: address handles that have just been retired
 * @fenced_ahs: those that wait for sends to complete; while there are any, each batch of
 *	sends asks for a completion, and that starts @ah_work
 * @ah_work: destroys them
 * @attachments: those of the UD QP that it has not come off, see ipoib_ud_detach()
 * @wq: ordered queue of the works above but @ah_work
 * @ctl_work: control work, see ipoib_ctl.c
 * @ctl_events: what it has to do
 * @ctl_pause: milliseconds to its next try after a failure, 0 if there was none
 * @announcements: how often the address is still to be announced; under
 *	RTNL
 * @announce_at: jiffies: not before; under RTNL
 * @queries: queries for paths not answered yet, and the interface
 * @queries_done: completed when @queries reaches zero
 * @agent: how to ask the SA what the RDMA core does not; NULL if there is none
 * @agent_list: in &ipoib_agent.devs while up, under its lock
 * @hca_list: in the list of interfaces of the HCA, read under RCU
 * @debugfs_mcg: file with the groups
 * @debugfs_path: file with the paths
 * @debugfs_cm: file with the connections
 */
struct ipoib_dev {
	/* read by every frame */
	struct net_device *netdev;
	struct ib_device *ca;
	struct ib_pd *pd;
	struct ipoib_txq *txq;
	struct ipoib_rxq *rxq;
	struct ipoib_pcpu_stats __percpu *stats;
	struct ipoib_cm *cm;
	struct rhashtable paths;
	struct rhashtable groups;
	struct ipoib_mcast __rcu *broadcast;
	union ib_gid broadcast_mgid;
	union ib_gid local_gid;
	u16 local_lid;
	u8 lmc;
	u16 vid;
	u32 qkey;
	unsigned int mcast_mtu;
	u32 port;

	/* slow path */
	const struct ipoib_fabric_ops *fabric;
	const struct ipoib_events *events;
	const struct ipoib_neigh_ops *neigh;
	unsigned long flags;
	u16 pkey;
	u16 pkey_index;
	u16 pkey_joined;
	bool pkey_limited;
	unsigned int sendq_size;
	unsigned int recvq_size;
	u32 qp_flags;
	unsigned int vector;
	unsigned int admin_mtu;
	unsigned int port_mtu;
	unsigned int max_mtu;
	const void *gid_entry;
	unsigned int link_mbps;
	struct ipoib_roce *roce;
	struct sk_buff_head pmtu_queue;
	struct work_struct pmtu_work;
	unsigned long pmtu_since;
	unsigned int pmtu_answers;

	spinlock_t mcast_lock; /* groups and their queues */
	struct list_head group_list;
	struct list_head group_todo;
	struct list_head group_waiting;
	bool limit_exhausted;
	struct list_head group_leaving;
	unsigned int ngroups;
	unsigned int nsend;
	unsigned int nroute;
	unsigned int nqueued;
	int nleaves;
	bool leave_barrier;
	unsigned long last_leave_at;
	unsigned long invalidated_at;
	bool mcast_closed;
	bool cap_logged;
	bool routing;
	bool routes_due;
	bool routes_asked;
	unsigned long routes_at;
	unsigned long routes_pause;
	bool routes_failed;
	bool scope_search;
	bool umcast;
	unsigned long foreign_at;
	struct ipoib_limit_waiter mcast_waiter;
	struct delayed_work mcast_work;
	struct list_head purges;
	struct delayed_work purge_work;

	spinlock_t path_lock; /* paths and their queues */
	struct list_head path_list;
	unsigned int npaths;
	struct ipoib_namers *namers;
	struct ipoib_share resolving;
	struct ipoib_share path_queued;
	unsigned long patience_at;
	struct ipoib_limit *limit;
	struct list_head path_waiting;
	struct ipoib_limit_waiter path_waiter;
	struct delayed_work path_waiter_work;
	struct delayed_work path_work;

	spinlock_t ah_lock; /* dead_ahs, fenced_ahs */
	struct list_head dead_ahs;
	struct list_head fenced_ahs;
	struct delayed_work ah_work;
	struct list_head attachments;

	struct workqueue_struct *wq;
	struct delayed_work ctl_work;
	unsigned long ctl_events;
	unsigned int ctl_pause;
	unsigned int announcements;
	unsigned long announce_at;

	refcount_t queries;
	struct completion queries_done;

	struct ipoib_agent *agent;
	struct list_head agent_list;

	struct list_head hca_list;
	struct dentry *debugfs_mcg;
	struct dentry *debugfs_path;
	struct dentry *debugfs_cm;
};

/**
 * ipoib_ctl_post - have the control work do something
 * @priv: the interface
 * @event: IPOIB_CTL_ bit
 *
 * Context: any
 */
static inline void ipoib_ctl_post(struct ipoib_dev *priv, unsigned int event)
{
	set_bit(event, &priv->ctl_events);
	mod_delayed_work(system_unbound_wq, &priv->ctl_work, 0);
}

/**
 * ipoib_ctl_post_later - have the control work do something, but not now
 * @priv: the interface
 * @event: IPOIB_CTL_ bit
 * @delay: jiffies; it is done sooner if there is something else to do
 *
 * Context: any
 */
static inline void ipoib_ctl_post_later(struct ipoib_dev *priv,
					unsigned int event, unsigned long delay)
{
	set_bit(event, &priv->ctl_events);
	queue_delayed_work(system_unbound_wq, &priv->ctl_work, delay);
}

/**
 * ipoib_dev_get_query - count a query that holds the interface
 * @priv: the interface
 *
 * Context: any
 */
static inline void ipoib_dev_get_query(struct ipoib_dev *priv)
{
	refcount_inc(&priv->queries);
	ipoib_object_made(IPOIB_OBJECT_QUERY);
}

/**
 * ipoib_dev_put_query - a query has ended
 * @priv: the interface, which may be gone when this returns
 *
 * Context: any but hard interrupt
 */
static inline void ipoib_dev_put_query(struct ipoib_dev *priv)
{
	ipoib_object_gone(IPOIB_OBJECT_QUERY, 1);
	if (refcount_dec_and_test(&priv->queries))
		complete(&priv->queries_done);
}

/**
 * ipoib_cm_is_on - whether the mode is connected
 * @priv: the interface
 *
 * Return: true if it is
 */
static inline bool ipoib_cm_is_on(const struct ipoib_dev *priv)
{
	return test_bit(IPOIB_FLAG_CONNECTED, &priv->flags);
}

/**
 * ipoib_touch - note that something was used, with little writing
 * @used: time stamp in jiffies
 *
 * The time stamp is shared between CPUs, so it is written once a second only.
 */
static inline void ipoib_touch(unsigned long *used)
{
	unsigned long now = jiffies;

	if (now - READ_ONCE(*used) >= HZ)
		WRITE_ONCE(*used, now);
}

/**
 * ipoib_gid_hash - hash of the GID of a port or a group
 * @data: the GID
 * @len: its length
 * @seed: of the table
 *
 * The first word is left out: hardly anything differs there on one link.
 *
 * Return: the hash
 */
static inline u32 ipoib_gid_hash(const void *data, u32 len, u32 seed)
{
	const u32 *word = data;

	return jhash_3words(word[1], word[2], word[3], seed);
}

/**
 * ipoib_ud_schedule - run a completion handler
 * @napi: the handler
 *
 * Software HCAs report completions from process context, where a softirq
 * that is merely raised would wait for the next interrupt.
 *
 * Context: any, this is called by CQs
 */
static inline void ipoib_ud_schedule(struct napi_struct *napi)
{
	if (in_task() && !irqs_disabled()) {
		local_bh_disable();
		napi_schedule(napi);
		local_bh_enable();
	} else {
		napi_schedule(napi);
	}
}

/**
 * ipoib_ud_vector - completion vector for a CQ of an interface
 * @priv: the interface
 * @n: 0 for receives, from 1 on for sends
 *
 * Each vector has an interrupt, and with it a CPU, of its own. Receives of the interfaces of
 * an HCA are dealt out, and sends go half way round from there.
 *
 * Return: the vector
 */
static inline int ipoib_ud_vector(const struct ipoib_dev *priv, unsigned int n)
{
	unsigned int vectors = max(priv->ca->num_comp_vectors, 1);

	if (n)
		n += max(vectors / 2, 1u) - 1;
	return (priv->vector + n) % vectors;
}

/**
 * typedef ipoib_xmit_t - send one frame
 * @txq: the queue, its transmit lock held
 * @skb: frame with its &struct ipoib_header; consumed
 */
typedef void (*ipoib_xmit_t)(struct ipoib_txq *txq, struct sk_buff *skb);

/**
 * struct ipoib_neigh_ops - the paths to neighbours, for connected mode
 *
 * Frames to neighbours pass the path table (ipoib_arp.c) and then connected mode, which
 * calls back by these through &ipoib_dev.neigh. All in any context but hard interrupt,
 * without &ipoib_dev.path_lock.
 *
 * @xmit: send a frame to a neighbour, see ipoib_xmit_t
 * @record: copy the path record to a GID. Returns false if none is known.
 * @current_record: copy it if nothing speaks against it. Returns false if none is known,
 *	or it is being fetched anew, or shall be.
 * @is_stale: whether the record is being fetched anew, or will be by the next frame
 * @contradicted: something came from the GID, but not from where its path leads:
 *	somebody lies, or the port has another address now. The next frame has the record
 *	fetched anew. Anyone can have that done, so not more often than once a while.
 */
struct ipoib_neigh_ops {
	ipoib_xmit_t xmit;
	bool (*record)(struct ipoib_dev *priv, const u8 *gid,
		       struct sa_path_rec *rec);
	bool (*current_record)(struct ipoib_dev *priv, const u8 *gid,
			       struct sa_path_rec *rec);
	bool (*is_stale)(struct ipoib_dev *priv, const u8 *gid);
	void (*contradicted)(struct ipoib_dev *priv, const u8 *gid);
};

/* ipoib_main.c */
extern int ipoib_sendq_size;
extern int ipoib_recvq_size;
void ipoib_netdev_setup(struct net_device *dev);

/* ipoib_dev.c */
struct ipoib_dev *ipoib_dev_create(struct ib_device *ca, u32 port, u16 vid);
void ipoib_dev_destroy(struct ipoib_dev *priv);
int ipoib_dev_up(struct ipoib_dev *priv);
void ipoib_dev_down(struct ipoib_dev *priv);
void ipoib_dev_next_scope(struct ipoib_dev *priv);
bool ipoib_dev_address_moved(const struct ipoib_dev *priv);
void ipoib_dev_change_address(struct ipoib_dev *priv);
int ipoib_dev_set_mode(struct ipoib_dev *priv, bool on);
int ipoib_dev_set_transport(struct ipoib_dev *priv, const char *word);
int ipoib_dev_fit_mtu(struct ipoib_dev *priv);
bool ipoib_port_changed(const struct ipoib_dev *priv,
			const struct ipoib_port *port);
void ipoib_port_take(struct ipoib_dev *priv, const struct ipoib_port *port);
int ipoib_port_read(struct ipoib_dev *priv);
void ipoib_dev_params_fix(void);

/* ipoib_client.c */
int ipoib_hca_register(void);
void ipoib_hca_unregister(void);

/* ipoib_arp.c */
int ipoib_path_init(struct ipoib_dev *priv);
void ipoib_path_exit(struct ipoib_dev *priv);
void ipoib_path_start(struct ipoib_dev *priv);
void ipoib_path_stop(struct ipoib_dev *priv);
void ipoib_path_wait_answers(struct ipoib_dev *priv);
void ipoib_path_mark_all_stale(struct ipoib_dev *priv);
void ipoib_path_changed(struct ipoib_dev *priv, const union ib_gid *gid,
			bool here);
void ipoib_path_recheck(struct ipoib_dev *priv, const union ib_gid *gid,
			bool (*changed)(const struct sa_path_rec *rec,
					const void *now), const void *now);
void ipoib_path_put(struct ipoib_path *path);
void ipoib_path_done(struct ipoib_path *path, int status,
		     const struct sa_path_rec *rec);
void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *neigh);
extern const struct ipoib_neigh_ops ipoib_neigh_ops;
extern const struct seq_operations ipoib_path_sops;

/* ipoib_namer.c */
void ipoib_namer_note_frame(struct ipoib_namers *namers, const struct sk_buff *skb,
		       u32 node);

/* ipoib_pmtu.c */
void ipoib_pmtu_reject(struct ipoib_dev *priv, struct sk_buff *skb,
		       unsigned int mtu);
void ipoib_pmtu_init(struct ipoib_dev *priv);
void ipoib_pmtu_stop(struct ipoib_dev *priv);

/* ipoib_multicast.c, mcast/ */
extern const struct seq_operations ipoib_mcg_sops;
int ipoib_mcast_init(struct ipoib_dev *priv);
void ipoib_mcast_exit(struct ipoib_dev *priv);
int ipoib_mcast_start(struct ipoib_dev *priv);
void ipoib_mcast_stop(struct ipoib_dev *priv);
void ipoib_mcast_barrier_done(struct ipoib_dev *priv, int status);
void ipoib_mcast_resync(struct ipoib_dev *priv);
void ipoib_mcast_set_umcast(struct ipoib_dev *priv, bool umcast);
void ipoib_mcast_rejoin(struct ipoib_dev *priv);
void ipoib_mcast_review(struct ipoib_dev *priv);
void ipoib_mcast_sm_changed(struct ipoib_dev *priv);
void ipoib_mcast_group_created(struct ipoib_dev *priv,
			       const union ib_gid *mgid);
void ipoib_mcast_group_deleted(struct ipoib_dev *priv,
			       const union ib_gid *mgid);
void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status);
void ipoib_mcast_record(struct ipoib_dev *priv, const union ib_gid *mgid,
			int status, const struct ib_sa_mcmember_rec *rec);
void ipoib_mcast_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
void ipoib_mcast_route_listed(struct ipoib_dev *priv, int status,
			      const union ib_gid *mgids, unsigned int n);

/* ipoib_ud.c */
int ipoib_ud_init(struct ipoib_dev *priv);
void ipoib_ud_exit(struct ipoib_dev *priv);
netdev_features_t ipoib_ud_features(const struct ipoib_dev *priv);
int ipoib_ud_start(struct ipoib_dev *priv);
void ipoib_ud_stop(struct ipoib_dev *priv);
int ipoib_ud_set_qkey(struct ipoib_dev *priv, u32 qkey);
void ipoib_ud_recover(struct ipoib_dev *priv);
int ipoib_ud_attach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid);
int ipoib_ud_detach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid);
void ipoib_ud_xmit(struct ipoib_txq *txq, struct sk_buff *skb,
		   const struct ipoib_ah *ah, u32 qpn);
void ipoib_ud_post(struct ipoib_txq *txq);
unsigned int ipoib_ud_send_queue(struct ipoib_dev *priv, spinlock_t *lock,
				 struct sk_buff_head *queue, ipoib_xmit_t xmit);
void ipoib_ud_send_taken(struct ipoib_dev *priv,
			 void (*take)(struct ipoib_dev *priv,
				      struct sk_buff_head *frames),
			 ipoib_xmit_t xmit);
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv,
				 struct rdma_ah_attr *attr);
void ipoib_ah_retire(struct ipoib_dev *priv, struct ipoib_ah *ah);
void ipoib_ah_reap(struct work_struct *work);

/* ipoib_ud_rx.c */
void ipoib_rx_deliver(struct ipoib_dev *priv, struct napi_struct *napi,
		      struct sk_buff *skb);
int ipoib_ud_rx_init(struct ipoib_dev *priv, struct ipoib_rxq *rxq);
void ipoib_ud_rx_exit(struct ipoib_rxq *rxq);
int ipoib_ud_rx_start(struct ipoib_rxq *rxq);
bool ipoib_ud_rx_drain(struct ipoib_rxq *rxq);
void ipoib_ud_rx_stop(struct ipoib_rxq *rxq);

/* ipoib_ctl.c */
void ipoib_ctl_work(struct work_struct *work);

/* ipoib_netlink.c */
extern struct rtnl_link_ops ipoib_link_ops;

/* ipoib_sysfs.c */
extern const struct attribute_group ipoib_sysfs_group;

/* ipoib_ethtool.c */
extern const struct ethtool_ops ipoib_ethtool_ops;

/* ipoib_debugfs.c */
void ipoib_debugfs_init(void);
void ipoib_debugfs_exit(void);
void ipoib_debugfs_add(struct ipoib_dev *priv);
void ipoib_debugfs_remove(struct ipoib_dev *priv);
void ipoib_debugfs_rename(struct ipoib_dev *priv);

#endif /* IPOIB_H */
