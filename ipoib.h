/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface, locking and lifetime, and what files without a header of their own offer.
 */
#ifndef IPOIB_H
#define IPOIB_H

#include <linux/completion.h>
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

#include "ipoib_backoff.h"
#include "ipoib_cm.h"
#include "ipoib_fabric.h"
#include "ipoib_multicast.h"
#include "ipoib_neigh.h"
#include "ipoib_police.h"
#include "ipoib_roce.h"
#include "ipoib_stats.h"
#include "ipoib_ud.h"
#include "ipoib_wire.h"

/**
 * DOC: Locking and lifetime
 *
 * One &struct ipoib_dev per interface, see ipoib_priv().
 * It is created when the HCA (or the module) comes, or by rtnetlink, and freed
 * after it was unregistered; everything below belongs to it.
 *
 * Locks, outermost first. A lock may be taken while one above it is held,
 * never the other way round.
 *
 * RTNL
 *	ndo_open(), ndo_stop(), ndo_change_mtu(), the control work
 *	(ipoib_ctl.c), and the lists of HCAs and interfaces. Serialises everything
 *	that makes, removes, starts, stops or changes an interface.
 *	Never taken in a completion, an answer of the fabric or a
 *	work of groups or neighbours, so ndo_stop() may wait for all of those.
 * &ipoib_cm.mutex
 *	what the connections of an interface share: SRQ, CQs, pages. Taken by
 *	the works of connected mode, readers of debugfs, and under RTNL where
 *	completions are moderated. RTNL is not taken under it.
 * lock of the net_device (netdev_lock(), Linux 6.14 and later)
 *	taken by the stack where a NAPI instance is enabled or disabled. The HCA's
 *	own net device may ask for it around its operations (netdev_lock_ops()):
 *	the stack holds it then where it calls those of the interface, which take
 *	no &ipoib_cm.mutex, and ipoib_ctl.c where it opens and stops it, with RTNL.
 * addr_list_lock of the net_device
 *	only while the multicast list of the stack is copied into the table of groups.
 * &ipoib_agent.lock
 *	what the interfaces of a port share: the list of them, the address of
 *	the SA, questions under way. Held while a report is given to an
 *	interface, so nothing is asked with a lock below held.
 * &ipoib_roce.lock
 *	memberships of the Ethernet port to begin and to end. Held while a group
 *	gets its answer.
 * transmit lock of a queue (_xmit_lock)
 *	&struct ipoib_txq and the head of its ring.
 * &ipoib_cm.lock
 *	peers, the state of connections, frames that wait for one. Taken by
 *	the callback of requests, and in the transmit path only if there is no
 *	connection to a peer that could have one. It is taken where a neighbour
 *	of the stack changes, perhaps under the lock of its table: so under this
 *	one nothing of neighbours of the stack is asked.
 * &ipoib_groups.lock, &ipoib_neighs.lock
 *	the state of groups and neighbours, the queues of frames that wait for
 *	them. Neither is taken under the other. Taken in the transmit path
 *	only if there is no usable address handle. Never held while the fabric
 *	is called with the intent to sleep, nor while a frame is sent.
 * &ipoib_limit.lock
 *	how many questions to the fabric are open, and what waits to ask. Taken also
 *	under the two above; none is taken under it.
 * &ipoib_conn.tx_lock
 *	head of the ring of one connection and the queue behind it. Taken in
 *	the transmit path and by the handler of its completions.
 * &ipoib_cm_rx.lock
 *	which receives of connections are free and how many shall be posted, and
 *	allocation from their page pool. None is taken under it.
 * &ipoib_ahs.lock
 *	the list of retired address handles.
 *
 * All other spinlocks are taken with bottom halves off. In the transmit path they
 * are off already, hence the plain spin_lock() there.
 *
 * Objects and owners:
 *
 * &struct ipoib_neigh, &struct ipoib_mcast
 *	are found by GID in a hash table under RCU. A neighbour is reference counted: the
 *	table holds one, each query under way another, and its queued work. A group is
 *	freed by its own work, also when the interface goes down, which waits for these
 *	works. Both are freed after a grace period.
 * &struct ipoib_ah
 *	is owned by the one neighbour or group that points to it. Senders hold no
 *	reference: they read the pointer under RCU and post while they hold
 *	the transmit lock. ipoib_ah_retire() takes over a handle that has been
 *	unpublished; it is destroyed when a grace period has passed and no slot
 *	of a ring in flight names it. So no frame in
 *	flight ever uses a destroyed handle, and no reference is counted for it
 *	per packet.
 * &struct ipoib_conn
 *	is published with nothing and owned by its work (cm/work.c), which makes
 *	what it needs. It has a reference of its life, which the work drops, and
 *	one of each queueing of the work. Senders find it under RCU in
 *	&ipoib_peer.tx; callbacks of the CM have it as their context; the
 *	completion handlers take it from the QP of a completion.
 *	__ipoib_conn_close() unpublishes it, in any context, and then its work,
 *	in this order: sends a DREQ and puts the QP into the error state; waits
 *	for the CM; calls ib_destroy_cm_id(), which waits for callbacks; waits
 *	for all work requests, and a round of the handler; frees what it made. The
 *	memory goes with the last reference, after a grace period.
 * &struct ipoib_peer
 *	hangs on its neighbour, where senders find it by QPN under RCU. That and its
 *	connections count in &ipoib_peer.users, and with the last of them it is
 *	freed, after a grace period. It holds no
 *	neighbour: when one has been unlinked nothing is added to its peers, and its
 *	work, which holds a reference, takes those that there are from it.
 * what connections share
 *	&struct ipoib_cm_rx and the CQs for sends come with the first
 *	connection and go when none has existed for a while. Connections count
 *	in &ipoib_cm.nconns from before they are made until they are freed.
 * &struct ipoib_agent
 *	belongs to the interface of a port, whose children share it: these are freed before
 *	that.
 * &struct ipoib_dev
 *	is part of the private area of its net_device, or, if that is the HCA's own, has
 *	its memory from ipoib_rn_alloc() to ipoib_rn_free().
 *	It is in the list of its HCA, a child behind its parent. A parent is
 *	unregistered
 *	with its HCA, and with it its children; one on RoCE before that if its Ethernet port
 *	is unregistered, and this and children by rtnetlink, or by their own control work.
 *	&ipoib_dev.free_work takes an interface apart, without RTNL, when its net_device
 *	has no user any more. Until then it counts in &ipoib_hca.users, which is waited for
 *	before the HCA goes, or a child in &ipoib_dev.queries of its parent. On RoCE it holds the
 *	net_device of the Ethernet port till then.
 * queries for paths, questions about groups, memberships of a P_Key that was replaced
 *	are counted in &ipoib_dev.queries; the interface is not freed before
 *	the last has been answered. Joins need no count: once a handle has been
 *	given back, its callback neither runs nor will run.
 *
 * Work:
 *
 * &ipoib_dev.wq (ordered): works of groups, listeners, ending memberships of a P_Key that was
 *	replaced. It is flushed with RTNL held when groups stop, and goes after the last answer
 *	has come.
 * &ipoib_neighs.wq (unbound): works of neighbours, and their ageing. What waits for a path, and
 *	what a connection has not sent before its end, is sent and dropped here, so first
 *	contacts do not wait behind groups. Flushed with RTNL held when neighbours stop.
 * &ipoib_ahs.work (system_unbound_wq): waits for grace periods and destroys address
 *	handles.
 * &ipoib_cm.wq (unbound): the works of connections. None needs RTNL, so it may be held where
 *	they are waited for: ipoib_cm_exit() and ipoib_cm_let_go().
 * &ipoib_cm.rx_work (system_unbound_wq): what connections share. It does not wait behind the
 *	works of connections, and needs no RTNL, either.
 * &ipoib_agent.sm_work, &ipoib_agent.sub_work (system_unbound_wq): the address of
 *	the SA, and the subscription to its reports.
 * work of &ipoib_moder.dim (system_wq): sets the moderation of a CQ. Cancelled before that is
 *	destroyed, under RTNL or &ipoib_cm.mutex, neither of which it takes.
 * &ipoib_ctl.work (system_unbound_wq): all that needs RTNL. Stopped only after the
 *	interface is unregistered, without RTNL.
 * &ipoib_pmtu.work (system_unbound_wq): answers packets that are too long;
 *	may be waited for with RTNL held.
 * &ipoib_roce.group_work (system_unbound_wq): memberships of Ethernet ports,
 *	which need RTNL. Waited for without RTNL only.
 * queue of queries for paths (roce/roce.c): may be waited for with RTNL held.
 */

struct dentry;
struct ipoib_roce;

/* Bits of &ipoib_dev.flags. */
enum {
	IPOIB_FLAG_UP,		/* works may be queued; see ndo_open */
	IPOIB_FLAG_QP,		/* QP is in RTS and takes sends, its handlers run */
	IPOIB_FLAG_CONNECTED,	/* the mode is connected; under RTNL */
	IPOIB_FLAG_PKEY,	/* the port has the P_Key */
	IPOIB_FLAG_PORT_ACTIVE,	/* the port is in state ACTIVE */
	IPOIB_FLAG_JOINED,	/* member of the broadcast group */
	IPOIB_FLAG_DEAD,	/* the HCA has failed, all that is left is to go */
	IPOIB_FLAG_SYSFS,	/* a child that the file create_child has made */
	IPOIB_FLAG_ANNOUNCE,	/* the address is new to neighbours; under RTNL */
};

/* Bits of &ipoib_ctl.events: what the control work has to do. */
enum {
	IPOIB_CTL_LINK,		/* carrier and MTU follow the flags */
	IPOIB_CTL_PORT,		/* read port state, P_Key and GID again */
	IPOIB_CTL_RESTART,	/* reset the QP; take over another scope */
	IPOIB_CTL_RECOVER,	/* a failed send stopped the send queue */
	IPOIB_CTL_DELETE,	/* unregister it; set under RTNL */
};

/**
 * struct ipoib_ctl - what the control work of an interface has to do, see ipoib_ctl.c
 */
struct ipoib_ctl {
	/** @work: control work */
	struct delayed_work work;
	/** @events: IPOIB_CTL_ bits */
	unsigned long events;
	/** @pause: milliseconds to its next try after a failure, 0 if there was none */
	unsigned int pause;
	/** @restarted: jiffies, when the QP was reset last; under RTNL */
	unsigned long restarted;
};

/**
 * struct ipoib_pmtu - frames too long for their destination, see ipoib_pmtu.c
 */
struct ipoib_pmtu {
	/** @queue: those to be answered */
	struct sk_buff_head queue;
	/** @work: answers them */
	struct work_struct work;
};

/**
 * struct ipoib_debugfs_list - a list that a file of debugfs has
 */
struct ipoib_debugfs_list {
	/** @lock: protects it */
	spinlock_t *lock;
	/** @head: its head */
	struct list_head *head;
	/** @show: prints an element, with @lock held */
	int (*show)(struct seq_file *file, void *at);
};

/**
 * struct ipoib_hca - an HCA and its interfaces
 */
struct ipoib_hca {
	/** @ca: the HCA */
	struct ib_device *ca;
	/** @list: in the list of all of them, read under RCU, changed under RTNL */
	struct list_head list;
	/** @handler: of its asynchronous events */
	struct ib_event_handler handler;
	/**
	 * @devs: &struct ipoib_dev, children behind their parents; read under RCU, changed
	 *	under RTNL
	 */
	struct list_head devs;
	/** @users: interfaces without a parent that are not freed yet, in @devs or not */
	atomic_t users;
	/** @failed: it has reported that it has */
	bool failed;
	/** @rcu: frees it */
	struct rcu_head rcu;
};

/**
 * struct ipoib_dev - an interface
 */
struct ipoib_dev {
	/* read by every frame */
	/** @flags: IPOIB_FLAG_ bits */
	unsigned long flags;
	/** @netdev: the net_device it is part of */
	struct net_device *netdev;
	/** @ca: HCA */
	struct ib_device *ca;
	/** @rn: the HCA's own net device, which sends; NULL: verbs do, see ipoib_rn.c */
	struct rdma_netdev *rn;
	/** @rn_ops: net_device_ops of @rn, else &ipoib_ud_netdev_ops */
	const struct net_device_ops *rn_ops;
	/** @pd: protection domain */
	struct ib_pd *pd;
	/**
	 * @txq: transmit queues, see ipoib_ud_max_txqs(); the first has the QP of the address. With
	 *	@rn the others have neither QP nor ring, nor has the first without @rxq
	 */
	struct ipoib_txq *txq;
	/** @ntxq: how many with a QP are in use; written with RTNL held */
	unsigned int ntxq;
	/** @ntxq_made: how many have been made */
	unsigned int ntxq_made;
	/** @rxq: receive queue; NULL: the HCA's own net device has the QP of the address */
	struct ipoib_rxq *rxq;
	/** @moderation: how completions of receives are moderated, those of connections, too */
	struct ipoib_moderation moderation;
	/** @qpn: QPN of the address; without @rxq 0 until ndo_init() */
	u32 qpn;
	/** @stats: see ipoib_stats.h */
	struct ipoib_pcpu_stats __percpu *stats;
	/** @cm: connected mode, NULL if the port has none */
	struct ipoib_cm *cm;
	/** @broadcast: the broadcast group while the interface is up */
	struct ipoib_mcast __rcu *broadcast;
	/** @broadcast_mgid: its MGID */
	union ib_gid broadcast_mgid;
	/** @local_gid: GID of the port that is part of the address */
	union ib_gid local_gid;
	/** @port_guid: interface ID of its GID 0 when the port was last read */
	__be64 port_guid;
	/** @admin_guid: interface ID that the administrator chose instead, 0: none */
	__be64 admin_guid;
	/** @local_lid: LID of the port */
	u16 local_lid;
	/** @lmc: see &ipoib_port.lmc */
	u8 lmc;
	/** @vid: VLAN of a RoCE port, 0 for the untagged link */
	u16 vid;
	/** @qkey: Q_Key of the link, host byte order (U40) */
	u32 qkey;
	/** @mcast_mtu: MTU of the link, from the broadcast group (U28) */
	unsigned int mcast_mtu;
	/** @port: port of the HCA, from 1 */
	u32 port;
	/** @neigh: see ipoib_neigh.h */
	struct ipoib_neighs neigh;
	/** @mcast: see ipoib_multicast.h */
	struct ipoib_groups mcast;

	/* the port and the link */
	/** @fabric: how things are done on the fabric of the port */
	const struct ipoib_fabric_ops *fabric;
	/** @pkey: P_Key of the link, full member bit set */
	u16 pkey;
	/** @pkey_index: where the port has it */
	u16 pkey_index;
	/** @pkey_joined: where ib_sa has found it when groups were joined */
	u16 pkey_joined;
	/** @pkey_limited: the port is a limited member of the partition, which was logged */
	bool pkey_limited;
	/** @sendq_size: sends that the UD QP has room for */
	unsigned int sendq_size;
	/** @recvq_size: receives that it has room for */
	unsigned int recvq_size;
	/** @vector: number of the interface, see ipoib_ud_vector() */
	unsigned int vector;
	/** @admin_mtu: MTU the administrator asked for, or the largest there is */
	unsigned int admin_mtu;
	/** @port_mtu: largest IP MTU of the port as it is now configured */
	unsigned int port_mtu;
	/** @max_mtu: largest IP MTU the port could be configured for */
	unsigned int max_mtu;
	/** @link_mbps: rate of the link in Mb/s when the port was last read */
	unsigned int link_mbps;
	/** @gid_entry: see &ipoib_port.gid_entry */
	const void *gid_entry;
	/** @roce: what a RoCE port needs in addition, NULL on InfiniBand */
	struct ipoib_roce *roce;
	/** @agent: how to ask the SA what the RDMA core does not; NULL if there is none */
	struct ipoib_agent *agent;
	/** @agent_list: in &ipoib_agent.devs while up, under its lock */
	struct list_head agent_list;
	/** @hca: the HCA and its interfaces */
	struct ipoib_hca *hca;
	/** @list: in &ipoib_hca.devs, read under RCU */
	struct list_head list;
	/** @parent: the interface of the port if this one is a child, else NULL */
	struct ipoib_dev *parent;
	/** @lower: net_device of the parent, on RoCE that of the port, held; or NULL */
	struct net_device *lower;
	/** @rn_destructor: &net_device.priv_destructor of @rn */
	void (*rn_destructor)(struct net_device *dev);
	/** @rn_ethtool_ops: ethtool_ops of @rn; NULL if it has none */
	const struct ethtool_ops *rn_ethtool_ops;
	/** @rn_mtu: MTU that @rn has buffers for, if it has an ndo_change_mtu() */
	unsigned int rn_mtu;
	/** @free_work: takes it apart, on a queue of ipoib_dev.c */
	struct work_struct free_work;

	/* works, and what they deal with */
	/** @wq: ordered queue of the works of groups */
	struct workqueue_struct *wq;
	/** @ctl: control work */
	struct ipoib_ctl ctl;
	/** @pmtu: frames that are too long */
	struct ipoib_pmtu pmtu;
	/** @ah: address handles to be destroyed */
	struct ipoib_ahs ah;
	/** @queries: queries for paths not answered yet, children, and the interface */
	refcount_t queries;
	/** @queries_done: completed when @queries reaches zero */
	struct completion queries_done;
	/** @debugfs: files with the groups, the paths and the connections */
	struct dentry *debugfs[3];
	/** @debugfs_lists: those of the first two */
	struct ipoib_debugfs_list debugfs_lists[2];
	/** @police: limit of received ARP and ND; large, so last */
	struct ipoib_police police;
};

/**
 * struct ipoib_netdev - private area of a net_device without a data path of the HCA's own
 * @rn: so that ipoib_priv() is the same for all; only &rdma_netdev.clnt_priv is used
 * @priv: the interface
 */
struct ipoib_netdev {
	struct rdma_netdev rn;
	struct ipoib_dev priv;
};

/**
 * ipoib_priv - the interface that a net_device is
 * @dev: a net_device of this driver; its private area begins with &struct rdma_netdev, for it may
 *	be the HCA's
 *
 * Return: the interface
 */
static inline struct ipoib_dev *ipoib_priv(const struct net_device *dev)
{
	const struct rdma_netdev *rn = netdev_priv(dev);

	return rn->clnt_priv;
}

/**
 * ipoib_ctl_post - have the control work do something
 * @priv: the interface
 * @event: IPOIB_CTL_ bit
 *
 * Context: any
 */
static inline void ipoib_ctl_post(struct ipoib_dev *priv, unsigned int event)
{
	set_bit(event, &priv->ctl.events);
	mod_delayed_work(system_unbound_wq, &priv->ctl.work, 0);
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
	set_bit(event, &priv->ctl.events);
	queue_delayed_work(system_unbound_wq, &priv->ctl.work, delay);
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
}

/**
 * ipoib_dev_put_query - a query has ended
 * @priv: the interface, which may be gone when this returns
 *
 * Context: any but hard interrupt
 */
static inline void ipoib_dev_put_query(struct ipoib_dev *priv)
{
	if (refcount_dec_and_test(&priv->queries))
		complete(&priv->queries_done);
}

/**
 * ipoib_has_cm - whether connected mode is there
 * @priv: the interface
 *
 * Calls behind it are left out of a driver without CONFIG_INFINIBAND_IPOIB_CM.
 *
 * Return: true if the driver and the port have it
 */
static inline bool ipoib_has_cm(const struct ipoib_dev *priv)
{
	return IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM) && priv->cm;
}

/**
 * ipoib_has_roce - whether an interface is on a RoCE port
 * @priv: the interface
 *
 * A driver without CONFIG_INFINIBAND_IPOIB_ROCE has no code behind it.
 *
 * Return: true if it is
 */
static inline bool ipoib_has_roce(const struct ipoib_dev *priv)
{
	return IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE) && priv->roce;
}

/**
 * ipoib_cm_is_on - whether the mode is connected
 * @priv: the interface
 *
 * Return: true if it is
 */
static inline bool ipoib_cm_is_on(const struct ipoib_dev *priv)
{
	return IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM) &&
	       test_bit(IPOIB_FLAG_CONNECTED, &priv->flags);
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
 * ipoib_has_qp - whether the QP of the address is one over verbs
 * @priv: the interface
 *
 * Return: false if the HCA's own net device has it
 */
static inline bool ipoib_has_qp(const struct ipoib_dev *priv)
{
	return priv->rxq;
}

/**
 * ipoib_txqs - transmit queues that the stack sends by
 * @priv: the interface
 *
 * Return: how many
 */
static inline unsigned int ipoib_txqs(const struct ipoib_dev *priv)
{
	return priv->rn ? READ_ONCE(priv->netdev->real_num_tx_queues) : READ_ONCE(priv->ntxq);
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

/* ipoib_main.c */
extern int ipoib_sendq_size;
extern int ipoib_recvq_size;
extern bool ipoib_enhanced;
void ipoib_netdev_setup_rn(struct net_device *dev);
void ipoib_netdev_setup(struct net_device *dev);
bool ipoib_dev_is_ours(const struct net_device *dev);

/* ipoib_dev.c */
int ipoib_dev_add(struct ipoib_dev *priv, bool connected, struct netlink_ext_ack *extack);
int ipoib_dev_add_child(struct ipoib_dev *parent, struct net_device *dev, u16 pkey,
			bool connected, struct netlink_ext_ack *extack);
void ipoib_dev_del(struct ipoib_dev *priv, struct list_head *head);
int ipoib_dev_register(void);
void ipoib_dev_unregister(void);
unsigned int ipoib_dev_mtu(const struct ipoib_dev *priv);
int ipoib_dev_up(struct ipoib_dev *priv);
void ipoib_dev_down(struct ipoib_dev *priv);
void ipoib_dev_port_going(struct ipoib_dev *priv);
bool ipoib_dev_address_moved(const struct ipoib_dev *priv);
void ipoib_dev_change_address(struct ipoib_dev *priv);
int ipoib_dev_set_guid(struct ipoib_dev *priv, const struct ipoib_lladdr *addr);
int ipoib_dev_set_mode(struct ipoib_dev *priv, bool on);
int ipoib_dev_set_transport(struct ipoib_dev *priv, const char *word);
int ipoib_dev_fit_mtu(struct ipoib_dev *priv);
void ipoib_port_choose_gid(struct ipoib_dev *priv, struct ipoib_port *port);
bool ipoib_port_changed(const struct ipoib_dev *priv, const struct ipoib_port *port);
void ipoib_port_take(struct ipoib_dev *priv, const struct ipoib_port *port);

/* ipoib_client.c */
extern struct ib_client ipoib_client;
struct ipoib_dev *ipoib_hca_find_on(const struct net_device *lower);
int ipoib_hca_link(struct net_device *dev, struct net_device *lower, bool connected,
		   struct netlink_ext_ack *extack);
bool ipoib_hca_capable(const struct ib_device *ca);

/* ipoib_pmtu.c */
void ipoib_pmtu_reject(struct ipoib_dev *priv, struct sk_buff *skb, unsigned int mtu);
void ipoib_pmtu_init(struct ipoib_dev *priv);
void ipoib_pmtu_stop(struct ipoib_dev *priv);

/* ipoib_ctl.c */
void ipoib_ctl_work(struct work_struct *work);

/* ipoib_netlink.c */
extern struct rtnl_link_ops ipoib_link_ops;

/* ipoib_sysfs.c */
extern const struct attribute_group ipoib_sysfs_port_group;
extern const struct attribute_group ipoib_sysfs_roce_group;
extern const struct attribute_group ipoib_sysfs_child_group;

/* ipoib_vf.c */
int ipoib_vf_set_link_state(struct net_device *dev, int vf, int state);
int ipoib_vf_set_guid(struct net_device *dev, int vf, u64 guid, int type);
int ipoib_vf_get_config(struct net_device *dev, int vf, struct ifla_vf_info *info);
int ipoib_vf_get_stats(struct net_device *dev, int vf, struct ifla_vf_stats *stats);
int ipoib_vf_get_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node_guid,
		      struct ifla_vf_guid *port_guid);

/* ipoib_ethtool.c */
extern const struct ethtool_ops ipoib_ethtool_ops;

/* ipoib_debugfs.c */
void ipoib_debugfs_init(void);
void ipoib_debugfs_exit(void);
void ipoib_debugfs_event(struct ipoib_dev *priv, unsigned long event);

#endif /* IPOIB_H */
