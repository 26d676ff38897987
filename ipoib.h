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

#include "ipoib_ring.h"
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
 * RTNL
 *	ndo_open(), ndo_stop(), ndo_change_mtu() and the control work
 *	(ipoib_event.c). Serialises everything that starts, stops or changes
 *	an interface. Never taken in a completion, an SA callback or the
 *	multicast and path works, so ndo_stop() may wait for all of those.
 * addr_list_lock of the net_device
 *	only while the multicast list of the stack is copied into @groups.
 * transmit lock of a queue (_xmit_lock)
 *	&struct ipoib_txq and the head of its ring.
 * &ipoib_dev.mcast_lock, &ipoib_dev.path_lock
 *	the state of groups and paths, the queues of frames that wait for
 *	them. Neither is taken under the other. Taken in the transmit path
 *	only if there is no usable address handle. Never held while the SA is
 *	called with the intent to sleep, nor while a frame is sent.
 * &ipoib_dev.ah_lock
 *	the list of address handles that wait to be destroyed.
 *
 * All spinlocks are taken with bottom halves off. In the transmit path these
 * are off already (and under netpoll so are interrupts), hence the plain
 * spin_lock() there.
 *
 * Objects and owners:
 *
 * &struct ipoib_path, &struct ipoib_mcast
 *	are found by GID in a hash table under RCU. A path is reference
 *	counted: the table holds one, a query under way another. A group is
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
 * SA queries and joins
 *	ipoib_sa.c counts queries in &ipoib_dev.sa_users; the interface is not
 *	freed before the last has ended.
 *
 * Work:
 *
 * @wq (ordered): multicast work, path ageing, refill of the receive queue.
 * @ah_work (system_unbound_wq): waits for grace periods and destroys address
 *	handles.
 * @ctl_work (system_unbound_wq): all that needs RTNL. Stopped only after the
 *	interface is unregistered, without RTNL.
 */

struct dentry;
struct ipoib_dev;
struct page_pool;

/* Bits of &ipoib_dev.flags. */
enum {
	IPOIB_FLAG_UP,		/* QP runs, works may be queued; see ndo_open */
	IPOIB_FLAG_PKEY,	/* the port has our P_Key */
	IPOIB_FLAG_PORT_ACTIVE,	/* the port is in state ACTIVE */
	IPOIB_FLAG_JOINED,	/* member of the broadcast group */
	IPOIB_FLAG_RESYNC,	/* the stack's multicast list has changed */
};

/* Bits of &ipoib_dev.ctl_events: what the control work has to do. */
enum {
	IPOIB_CTL_LINK,		/* carrier and MTU follow the flags */
	IPOIB_CTL_PORT,		/* look at port state, P_Key and GID again */
	IPOIB_CTL_RESTART,	/* reset the QP */
	IPOIB_CTL_RECOVER,	/* a failed send stopped the send queue */
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
/* Groups of an interface, those it only sends to included. */
#define IPOIB_MCAST_MAX		4096

/**
 * struct ipoib_ah - address handle
 * @ah: the handle
 * @list: in &ipoib_dev.dead_ahs, under &ipoib_dev.ah_lock
 * @fenced: @fence is valid
 * @fence: heads of the rings when the last sender had stopped using it
 */
struct ipoib_ah {
	struct ib_ah *ah;
	struct list_head list;
	bool fenced;
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
	struct ib_recv_wr wr[IPOIB_BATCH];
	struct ib_sge sge[IPOIB_BATCH][2];
	struct ib_wc wc[IPOIB_POLL_WC];
	struct delayed_work refill;
	struct napi_struct napi;
};

/**
 * enum ipoib_path_state - what is known about the way to a GID
 * @IPOIB_PATH_IDLE: nothing, nobody asked
 * @IPOIB_PATH_RESOLVING: the SA was asked; frames wait
 * @IPOIB_PATH_VALID: there is an address handle
 * @IPOIB_PATH_FAILED: the SA has no path; frames are dropped until @retry_at
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
 * @stale: the fabric has changed since @rec was fetched
 * @used: jiffies, with a resolution of a second, of the last frame
 * @priv: the interface
 * @list: in &ipoib_dev.path_list, under path_lock
 * @state: under path_lock
 * @queue: frames that wait, whole with their &struct ipoib_header; under
 *	path_lock
 * @query: for ipoib_sa_path_cancel(), under path_lock
 * @query_id: the same
 * @retry_at: jiffies, valid in IPOIB_PATH_FAILED; under path_lock
 * @failures: failed queries in a row, under path_lock
 * @rec: last path record, written before @ah is published
 * @ref: held by the table and by a query
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
	enum ipoib_path_state state;
	struct sk_buff_head queue;
	struct ib_sa_query *query;
	int query_id;
	unsigned long retry_at;
	unsigned int failures;
	struct sa_path_rec rec;
	refcount_t ref;
	struct rcu_head rcu;
};

/**
 * enum ipoib_mcast_state - where a group stands with the SA
 * @IPOIB_MCAST_IDLE: not asked
 * @IPOIB_MCAST_JOINING: asked; frames wait
 * @IPOIB_MCAST_MEMBER: joined
 * @IPOIB_MCAST_BACKOFF: refused or no answer, asked again at @retry_at
 * @IPOIB_MCAST_ABSENT: we only send, and nobody listens; asked again by the
 *	first frame after @retry_at
 */
enum ipoib_mcast_state {
	IPOIB_MCAST_IDLE,
	IPOIB_MCAST_JOINING,
	IPOIB_MCAST_MEMBER,
	IPOIB_MCAST_BACKOFF,
	IPOIB_MCAST_ABSENT,
};

/**
 * struct ipoib_mcast - a multicast group
 * @node: in &ipoib_dev.groups
 * @mgid: key
 * @ah: published address handle
 * @settled_at: jiffies; until then the fabric may not forward for the group
 *	yet and frames go by the broadcast group
 * @used: jiffies, with a resolution of a second, of the last frame
 * @priv: the interface
 * @list: in &ipoib_dev.group_list, under mcast_lock
 * @todo: in &ipoib_dev.group_todo, or empty; under mcast_lock
 * @state: under mcast_lock, changed by the multicast work only
 * @want: JoinState wanted, 0 to leave; under mcast_lock
 * @listed: found in the stack's list by the present resync
 * @answered: the SA has answered @joining with @status; under mcast_lock
 * @lost: the membership of @held has gone (SM change, port down, …); under
 *	mcast_lock
 * @status: 0 or negative error of the answer
 * @queue: frames that wait, whole with their &struct ipoib_header; under
 *	mcast_lock
 * @created: jiffies
 * @retry_at: jiffies, in IPOIB_MCAST_BACKOFF and IPOIB_MCAST_ABSENT
 * @backoff: milliseconds to the next try
 * @logged: status last logged, so that each is logged once
 * @held: JoinState held, 0 if none; multicast work only, as all below
 * @asked: JoinState asked for by @joining
 * @member: handle of the membership held
 * @joining: handle of the join under way
 * @rec: record of the group, valid if @held
 * @attached: the QP takes frames of the group
 * @rcu: frees it
 */
struct ipoib_mcast {
	struct rhash_head node;
	union ib_gid mgid;
	struct ipoib_ah __rcu *ah;
	unsigned long settled_at;
	unsigned long used;

	struct ipoib_dev *priv;
	struct list_head list;
	struct list_head todo;
	enum ipoib_mcast_state state;
	u8 want;
	bool listed;
	bool answered;
	bool lost;
	int status;
	struct sk_buff_head queue;
	unsigned long created;
	unsigned long retry_at;
	unsigned int backoff;
	int logged;

	u8 held;
	u8 asked;
	struct ib_sa_multicast *member;
	struct ib_sa_multicast *joining;
	struct ib_sa_mcmember_rec rec;
	bool attached;
	struct rcu_head rcu;
};

/**
 * struct ipoib_dev - an interface
 * @netdev: the net_device it is part of
 * @ca: HCA
 * @port: port of the HCA, from 1
 * @pd: protection domain
 * @txq: transmit queue; more than one is a matter of making this an array
 * @rxq: receive queue
 * @stats: see ipoib_stats.h
 * @paths: &struct ipoib_path by GID
 * @groups: &struct ipoib_mcast by MGID
 * @broadcast: the broadcast group while the interface is up
 * @broadcast_mgid: its MGID
 * @local_gid: GID of the port that is part of our address
 * @local_lid: LID of the port
 * @qkey: Q_Key of the link, host byte order (U40)
 * @mcast_mtu: MTU of the link, from the broadcast group (U28)
 * @flags: see the enum above
 * @pkey: P_Key of the link, full member bit set
 * @pkey_index: where the port has it
 * @admin_mtu: MTU the administrator asked for
 * @port_mtu: largest IP MTU of the port as it is now configured
 * @max_mtu: largest IP MTU the port could be configured for
 * @mcast_lock: see "Locking and lifetime"
 * @group_list: all of @groups
 * @group_todo: groups the multicast work has to look at
 * @ngroups: length of @group_list
 * @mcast_work: multicast work
 * @path_lock: see "Locking and lifetime"
 * @path_list: all of @paths
 * @path_work: ages paths
 * @ah_lock: protects @dead_ahs
 * @dead_ahs: retired address handles
 * @ah_work: destroys them
 * @wq: ordered queue of the works above but @ah_work
 * @ctl_work: control work, see ipoib_event.c
 * @ctl_events: what it has to do
 * @sa_users: queries whose callback has not returned, and the interface
 * @sa_idle: completed when @sa_users reaches zero
 * @hca_list: in the list of interfaces of the HCA
 * @debugfs_mcg: file with the groups
 * @debugfs_path: file with the paths
 */
struct ipoib_dev {
	/* read by every frame */
	struct net_device *netdev;
	struct ib_device *ca;
	struct ib_pd *pd;
	struct ipoib_txq *txq;
	struct ipoib_rxq *rxq;
	struct ipoib_pcpu_stats __percpu *stats;
	struct rhashtable paths;
	struct rhashtable groups;
	struct ipoib_mcast __rcu *broadcast;
	union ib_gid broadcast_mgid;
	union ib_gid local_gid;
	u16 local_lid;
	u32 qkey;
	unsigned int mcast_mtu;
	u32 port;

	/* slow path */
	unsigned long flags;
	u16 pkey;
	u16 pkey_index;
	unsigned int admin_mtu;
	unsigned int port_mtu;
	unsigned int max_mtu;

	spinlock_t mcast_lock; /* groups and their queues */
	struct list_head group_list;
	struct list_head group_todo;
	unsigned int ngroups;
	struct delayed_work mcast_work;

	spinlock_t path_lock; /* paths and their queues */
	struct list_head path_list;
	struct delayed_work path_work;

	spinlock_t ah_lock; /* dead_ahs */
	struct list_head dead_ahs;
	struct delayed_work ah_work;

	struct workqueue_struct *wq;
	struct work_struct ctl_work;
	unsigned long ctl_events;

	refcount_t sa_users;
	struct completion sa_idle;

	struct list_head hca_list;
	struct dentry *debugfs_mcg;
	struct dentry *debugfs_path;
};

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

/* ipoib_main.c */
extern int ipoib_sendq_size;
extern int ipoib_recvq_size;
int ipoib_dev_up(struct ipoib_dev *priv);
void ipoib_dev_down(struct ipoib_dev *priv);
void ipoib_dev_set_address(struct ipoib_dev *priv);
bool ipoib_dev_address_moved(const struct ipoib_dev *priv);
void ipoib_dev_change_address(struct ipoib_dev *priv);
int ipoib_dev_set_mode(struct ipoib_dev *priv, const char *mode);
bool ipoib_dev_is_ours(const struct net_device *dev);
void ipoib_dev_xmit_list(struct ipoib_dev *priv, struct sk_buff_head *list);
void ipoib_dev_rx(struct ipoib_dev *priv, struct napi_struct *napi,
		  struct sk_buff *skb);

/* ipoib_arp.c */
int ipoib_path_init(struct ipoib_dev *priv);
void ipoib_path_exit(struct ipoib_dev *priv);
void ipoib_path_start(struct ipoib_dev *priv);
void ipoib_path_stop(struct ipoib_dev *priv);
void ipoib_path_stale(struct ipoib_dev *priv);
void ipoib_path_put(struct ipoib_path *path);
void ipoib_path_done(struct ipoib_path *path, int status,
		     const struct sa_path_rec *rec);
void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb);

/* ipoib_multicast.c */
int ipoib_mcast_init(struct ipoib_dev *priv);
void ipoib_mcast_exit(struct ipoib_dev *priv);
int ipoib_mcast_start(struct ipoib_dev *priv);
void ipoib_mcast_stop(struct ipoib_dev *priv);
void ipoib_mcast_resync(struct ipoib_dev *priv);
void ipoib_mcast_rejoin(struct ipoib_dev *priv);
void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status);
void ipoib_mcast_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
const char *ipoib_mcast_state_name(const struct ipoib_mcast *mcast);

/* ipoib_ud.c */
int ipoib_ud_init(struct ipoib_dev *priv);
void ipoib_ud_exit(struct ipoib_dev *priv);
int ipoib_ud_start(struct ipoib_dev *priv);
void ipoib_ud_stop(struct ipoib_dev *priv);
int ipoib_ud_set_qkey(struct ipoib_dev *priv, u32 qkey);
void ipoib_ud_recover(struct ipoib_dev *priv);
void ipoib_ud_xmit(struct ipoib_txq *txq, struct sk_buff *skb,
		   const struct ipoib_ah *ah, u32 qpn);
void ipoib_ud_post(struct ipoib_txq *txq);
void ipoib_ud_schedule(struct napi_struct *napi);
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv,
				 struct rdma_ah_attr *attr);
void ipoib_ah_retire(struct ipoib_dev *priv, struct ipoib_ah *ah);
void ipoib_ah_reap(struct work_struct *work);

/* ipoib_ud_rx.c */
int ipoib_ud_rx_init(struct ipoib_dev *priv, struct ipoib_rxq *rxq);
void ipoib_ud_rx_exit(struct ipoib_rxq *rxq);
int ipoib_ud_rx_start(struct ipoib_rxq *rxq);
bool ipoib_ud_rx_drain(struct ipoib_rxq *rxq);
void ipoib_ud_rx_stop(struct ipoib_rxq *rxq);

/* ipoib_sa.c */
extern struct ib_sa_client ipoib_sa_client;
int ipoib_sa_path_get(struct ipoib_dev *priv, struct ipoib_path *path);
void ipoib_sa_path_cancel(struct ib_sa_query *query, int id);
struct ib_sa_multicast *ipoib_sa_join(struct ipoib_dev *priv,
				      struct ipoib_mcast *mcast, u8 state,
				      const struct ib_sa_mcmember_rec *like);
void ipoib_sa_leave(struct ib_sa_multicast *member);
void ipoib_sa_init(struct ipoib_dev *priv);
void ipoib_sa_exit(struct ipoib_dev *priv);

/* ipoib_event.c */
void ipoib_ctl_post(struct ipoib_dev *priv, unsigned int event);
void ipoib_ctl_work(struct work_struct *work);
void ipoib_event_handler(struct ib_event_handler *handler,
			 struct ib_event *event);
int ipoib_event_port(struct ipoib_dev *priv);

/**
 * struct ipoib_hca - the interfaces of an HCA
 * @handler: of its asynchronous events
 * @devs: &struct ipoib_dev, fixed from the end of ib_client::add() on
 */
struct ipoib_hca {
	struct ib_event_handler handler;
	struct list_head devs;
};

/* ipoib_netlink.c */
extern struct rtnl_link_ops ipoib_link_ops;
void ipoib_netlink_setup(struct net_device *dev);

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
