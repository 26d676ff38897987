/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface, locking and lifetime, and functions of files without a header.
 *
 * Codes in comments are rows of the tables in Documentation: (U1) RFC 4391, (A1) RFC 4392, (C1) RFC
 * 4755, all in rfc-compliance.rst; (B1) the interface to users, interface.rst.
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
 * Each interface has a &struct ipoib_dev, see ipoib_priv(). It is created when the HCA (or the
 * module) comes, or by rtnetlink, and freed after its unregistration; everything below belongs to
 * it.
 *
 * Locks, outermost first. A lock may be taken with a lock above it held, never the other way round.
 *
 * RTNL
 *	ndo_open(), ndo_stop(), ndo_change_mtu(), the control work (ipoib_ctl.c), and the lists of
 *	HCAs and interfaces. Serialises all that makes, removes, starts, stops or changes an
 *	interface. Never taken by a completion, an answer of the fabric or a work of groups or
 *	neighbours, so ndo_stop() may wait for all of these.
 * &ipoib_cm.mutex
 *	SRQ, CQs and page pools, which the connections of an interface share. Taken by works of
 *	connected mode, under RTNL for interrupt moderation, and at the end of the interface, with
 *	or without RTNL. RTNL is not taken under it.
 * lock of the net_device (netdev_lock(), Linux 6.14 and later)
 *	Taken by the stack to add, enable, disable or delete a NAPI instance. Some HCAs have the
 *	stack hold it around operations of the interface (netdev_lock_ops()). These operations do
 *	not take &ipoib_cm.mutex. ipoib_ctl.c takes the lock, under RTNL, to open and stop the net
 *	device of the HCA, and to change its MTU; ipoib_dev_set_mode() to update features.
 * addr_list_lock of the net_device
 *	Only while the multicast list of the stack is copied into the table of groups.
 * &ipoib_agent.lock
 *	List of the interfaces of a port, address of the SA, outstanding questions. Held while a
 *	report is given to an interface, which takes locks below. A question takes this lock, so no
 *	lock below is held then.
 * &ipoib_roce.lock
 *	Memberships of the Ethernet port to begin and to end. Held while a group gets its answer.
 * transmit lock of a queue (_xmit_lock)
 *	&struct ipoib_txq and the head of its ring.
 * &ipoib_cm.lock
 *	Peers, states of connections, frames that wait for a connection. Taken by the callback of
 *	REQs, and by the transmit path only without a connection. The stack reports changes of its
 *	neighbours, perhaps with the lock of its table held, and this lock is taken there. So no
 *	neighbour of the stack is looked up under this lock.
 * &ipoib_groups.lock, &ipoib_neighs.lock
 *	States of groups and of neighbours, and their queues of waiting frames. Neither is taken
 *	under the other. Taken by the transmit path only without a usable address handle. Never held
 *	during a call of the fabric that may sleep, nor while a frame is sent.
 * &ipoib_limit.lock
 *	Outstanding queries to the fabric, and waiting ones. Taken under the two above; a leaf.
 * &ipoib_conn.tx_lock
 *	Head of the ring of a connection, and its backlog. Taken by the transmit path and by the
 *	handler of completions.
 * &ipoib_cm_rx.lock
 *	Free and missing receives of connections, and allocation of their pages. A leaf.
 * &ipoib_ahs.lock
 *	List of retired address handles.
 *
 * All other spinlocks are taken with bottom halves off. The transmit path has them off already,
 * hence its plain spin_lock().
 *
 * Objects and owners:
 *
 * &struct ipoib_neigh, &struct ipoib_mcast
 *	Found by GID in a hash table under RCU. References of a neighbour: the table, each query
 *	under way, the queued work. A group is freed by its own work, also when the interface goes
 *	down, which waits for these works. Both are freed after a grace period.
 * &struct ipoib_ah
 *	Owned by the neighbour or group that points to it. Senders hold no reference: they read the
 *	pointer under RCU and post with the transmit lock held. ipoib_ah_retire() takes over an
 *	unpublished handle. It is destroyed after a grace period, once no slot in flight names it.
 *	So no frame uses a destroyed handle, without a reference count for each packet.
 * &struct ipoib_conn
 *	Published empty, and owned by its work (cm/work.c), which creates QP and identifier.
 *	References: one for its life, dropped by the work, and one for each queueing of the work.
 *	Senders find it under RCU in &ipoib_peer.tx; it is the context of CM callbacks and, through
 *	the QP, of completions. __ipoib_conn_close() unpublishes it, in any context. Then its work,
 *	in this order: sends a DREQ and puts the QP into the error state; waits for the CM; calls
 *	ib_destroy_cm_id(), which waits for callbacks; waits for all work requests, and a round of
 *	the handler; frees QP and ring. The memory goes with the last reference, after a grace
 *	period.
 * &struct ipoib_peer
 *	In the list of its neighbour, where senders find it by QPN under RCU. That list and its
 *	connections count in &ipoib_peer.users; without users it is freed after a grace period. It
 *	holds no reference to the neighbour. An unlinked neighbour gets no further peers. Its work,
 *	which holds a reference to the neighbour, removes the peers in the list.
 * &struct ipoib_cm_rx, send CQs
 *	Shared by connections; created with the first, destroyed some time after the last.
 *	Connections count in &ipoib_cm.nconns from their publication until they are freed.
 * &struct ipoib_agent
 *	Belongs to the interface of a port. Its children share it, and are freed before.
 * &struct ipoib_dev
 *	Part of the private area of its net_device. The net device of the HCA has the private area
 *	of the HCA: ipoib_rn_alloc() allocates the interface then, ipoib_rn_free() frees it. The
 *	interface is in the list of its HCA, a child behind its parent. The interface of a port, and
 *	its children, are unregistered with the HCA; on RoCE also with the Ethernet port; children
 *	and interfaces on RoCE by rtnetlink or by their own control work, too. &ipoib_dev.free_work
 *	takes an interface apart, without RTNL, after the last user of its net_device. Until then it
 *	counts in &ipoib_hca.users (an interface of a port; the removal of the HCA waits for it) or
 *	in &ipoib_dev.queries of its parent (a child). On RoCE it also holds the net_device of the
 *	port.
 * path queries, questions about groups
 *	Counted in &ipoib_dev.queries: the interface is freed after the last answer. Joins need no
 *	count: once a handle is released, its callback does not run any more.
 *
 * Works:
 *
 * &ipoib_dev.wq (ordered): works of groups, and of the list of listeners.
 *	Flushed with RTNL held when groups stop; destroyed after the last answer.
 * &ipoib_neighs.wq (unbound): works of neighbours, and ageing. They send or drop frames that waited
 *	for a path, and frames of closed connections, so first contacts do not wait behind groups.
 *	Flushed with RTNL held when neighbours stop.
 * &ipoib_ahs.work (system_unbound_wq): waits for grace periods and destroys address handles.
 * &ipoib_cm.wq (unbound): works of connections. None needs RTNL, so ipoib_cm_exit() and
 *	ipoib_cm_abort_wait() may wait for them with RTNL held.
 * &ipoib_cm.rx_work (system_unbound_wq): SRQ and CQs. Does not wait behind the works of
 *	connections, and needs no RTNL, either.
 * &ipoib_agent.sm_work, &ipoib_agent.sub_work (system_unbound_wq): address of the SA, subscription
 *	to its reports.
 * work of &ipoib_moder.dim (system_wq): sets the moderation of a CQ. Cancelled before the
 *	destruction of the CQ. RTNL or &ipoib_cm.mutex may be held then; it takes neither.
 * &ipoib_ctl.work (system_unbound_wq): all that needs RTNL. Stopped after the unregistration of the
 *	interface, without RTNL.
 * &ipoib_pmtu.work (system_unbound_wq): ICMP errors for packets that are too long; may be waited
 *	for with RTNL held.
 * &ipoib_roce.group_work (system_unbound_wq): memberships of Ethernet ports, which need RTNL.
 *	Waited for without RTNL only.
 * workqueue of path queries (roce/roce.c): may be waited for with RTNL held.
 */

struct dentry;
struct ipoib_roce;

/* Bits of &ipoib_dev.flags */
enum {
	IPOIB_FLAG_UP,		/* works may be queued; see ndo_open */
	IPOIB_FLAG_QP,		/* the QP is in RTS, its handlers run */
	IPOIB_FLAG_CONNECTED,	/* connected mode; under RTNL */
	IPOIB_FLAG_PKEY,	/* the port has the P_Key */
	IPOIB_FLAG_PORT_ACTIVE,	/* the port is in state ACTIVE */
	IPOIB_FLAG_JOINED,	/* member of the broadcast group */
	IPOIB_FLAG_DEAD,	/* the HCA has failed, and will be removed */
	IPOIB_FLAG_SYSFS,	/* a child created by the file create_child */
	IPOIB_FLAG_ANNOUNCE,	/* notify neighbours of the address; under RTNL */
};

/* Bits of &ipoib_ctl.events */
enum {
	IPOIB_CTL_LINK,		/* update carrier and MTU from the flags */
	IPOIB_CTL_PORT,		/* read port state, P_Key and GID */
	IPOIB_CTL_RESTART,	/* reset the QP; apply another scope */
	IPOIB_CTL_RECOVER,	/* leave SQE, or reset the QPs, after a failure */
	IPOIB_CTL_DELETE,	/* unregister the interface; set under RTNL */
};

/* Control work of an interface, see ipoib_ctl.c. */
struct ipoib_ctl {
	struct delayed_work work;
	unsigned long events;		/* IPOIB_CTL_ bits */
	unsigned int failures;		/* failed tries in a row */
	unsigned long restarted;	/* jiffies of the last reset of the QP; under RTNL */
};

/* Frames too long for their destination, see ipoib_pmtu.c. */
struct ipoib_pmtu {
	struct sk_buff_head queue;	/* frames whose senders get an ICMP error */
	struct work_struct work;	/* sends the errors */
};

/* List behind a debugfs file. */
struct ipoib_debugfs_list {
	spinlock_t *lock;				/* protects the list */
	struct list_head *head;
	int (*show)(struct seq_file *file, void *at);	/* prints an entry, with @lock held */
};

/* An HCA and its interfaces. */
struct ipoib_hca {
	struct ib_device *ca;
	struct list_head list;	/* in the list of HCAs, read under RCU, changed under RTNL */
	struct ib_event_handler handler;	/* of its asynchronous events */
	/* &struct ipoib_dev, children behind their parents; read under RCU, changed under RTNL */
	struct list_head devs;
	atomic_t users;	/* interfaces without a parent until they are freed, in @devs or not */
	bool failed;		/* IB_EVENT_DEVICE_FATAL was raised */
	struct rcu_head rcu;	/* frees it */
};

/* An interface. */
struct ipoib_dev {
	/* read for each frame */
	unsigned long flags;		/* IPOIB_FLAG_ bits */
	struct net_device *netdev;
	struct ib_device *ca;
	/* net device of the HCA, which sends; NULL with verbs, see ipoib_rn.c */
	struct rdma_netdev *rn;
	const struct net_device_ops *rn_ops;	/* net_device_ops of @rn, or &ipoib_ud_netdev_ops */
	struct ib_pd *pd;
	/*
	 * transmit queues, see ipoib_ud_max_txqs(); the first has the QP of the address. With @rn
	 * only the first may have a QP and a ring, and only with @rxq
	 */
	struct ipoib_txq *txq;
	unsigned int ntxq;		/* queues in use that have a QP; written with RTNL held */
	unsigned int ntxq_made;		/* queues that exist */
	/* receive queue; NULL if the net device of the HCA has the QP of the address */
	struct ipoib_rxq *rxq;
	/* settings of interrupt moderation, for connections, too */
	struct ipoib_moderation moderation;
	u32 qpn;			/* QPN of the address; without @rxq 0 before ndo_init() */
	struct ipoib_pcpu_stats __percpu *stats;	/* see ipoib_stats.h */
	struct ipoib_cm *cm;		/* connected mode, or NULL without it */
	struct ipoib_mcast __rcu *broadcast;	/* the broadcast group while the interface is up */
	union ib_gid broadcast_mgid;	/* MGID of the broadcast group */
	union ib_gid local_gid;		/* GID in the address; constant while up */
	__be64 port_guid;		/* interface ID of GID 0 of the port */
	__be64 admin_guid;		/* interface ID chosen by the administrator, or 0 */
	u16 local_lid;			/* LID of the port */
	u8 lmc;				/* see &ipoib_port.lmc */
	u16 vid;			/* VLAN of a RoCE port, 0 for the untagged link */
	u32 qkey;			/* Q_Key of the link, host byte order (U40) */
	unsigned int mcast_mtu;		/* MTU of the link, from the broadcast group (U28) */
	u32 port;			/* port of the HCA, from 1 */
	struct ipoib_neighs neigh;	/* see ipoib_neigh.h */
	struct ipoib_groups mcast;	/* see ipoib_multicast.h */

	/* port and link */
	const struct ipoib_fabric_ops *fabric;	/* operations of InfiniBand or RoCE */
	u16 pkey;			/* P_Key of the link, full member bit set */
	u16 pkey_index;			/* its index in the table of the port */
	bool pkey_limited;		/* limited membership was logged */
	unsigned int sendq_size;	/* sends of the UD QP */
	unsigned int recvq_size;	/* receives of the UD QP */
	unsigned int vector;		/* number of the interface, see ipoib_ud_vector() */
	unsigned int admin_mtu;		/* MTU requested by the administrator, or the largest */
	unsigned int port_mtu;	/* largest IP MTU of the port in its present configuration */
	unsigned int max_mtu;		/* largest IP MTU of the port in any configuration */
	unsigned int link_mbps;		/* rate of the link in Mb/s */
	const void *gid_entry;		/* see &ipoib_port.gid_entry */
	struct ipoib_roce *roce;	/* state of a RoCE port, NULL on InfiniBand */
	/* requests to the SA beyond those of the RDMA core; NULL on RoCE */
	struct ipoib_agent *agent;
	struct list_head agent_list;	/* in &ipoib_agent.devs while up, under its lock */
	struct ipoib_hca *hca;		/* HCA with its interfaces */
	struct list_head list;		/* in &ipoib_hca.devs, read under RCU */
	struct ipoib_dev *parent;	/* interface of the port of a child, else NULL */
	/*
	 * net_device of the parent, which @queries of the parent keep, or of the RoCE port, with a
	 * reference; else NULL. Constant from before the registration on.
	 */
	struct net_device *lower;
	void (*rn_destructor)(struct net_device *dev);	/* &net_device.priv_destructor of @rn */
	const struct ethtool_ops *rn_ethtool_ops;	/* ethtool_ops of @rn, or NULL */
	unsigned int rn_mtu;		/* MTU of the buffers of @rn, if it has ndo_change_mtu() */
	struct work_struct free_work;	/* takes the interface apart, on a queue of ipoib_dev.c */

	/* works, and their objects */
	struct workqueue_struct *wq;	/* ordered, for the works of groups */
	struct ipoib_ctl ctl;
	struct ipoib_pmtu pmtu;		/* frames that are too long */
	struct ipoib_ahs ah;		/* retired address handles */
	refcount_t queries;	/* outstanding queries, children, and the interface itself */
	struct completion queries_done;	/* completed when @queries is 0 */
	struct dentry *debugfs[3];	/* files of groups, paths and connections */
	struct ipoib_debugfs_list debugfs_lists[2];	/* of the first two files */
	struct ipoib_police police;	/* limit of received ARP and ND; large, so last */
};

/* Private area of a net_device over verbs. */
struct ipoib_netdev {
	struct rdma_netdev rn;	/* for ipoib_priv(); only &rdma_netdev.clnt_priv is used */
	struct ipoib_dev priv;
};

/* Interface of a net_device of this driver, whose private area begins with &struct rdma_netdev. */
static inline struct ipoib_dev *ipoib_priv(const struct net_device *dev)
{
	const struct rdma_netdev *rn = netdev_priv(dev);

	return rn->clnt_priv;
}

/* Queue the control work with an IPOIB_CTL_ event. Context: any. */
static inline void ipoib_ctl_post(struct ipoib_dev *priv, unsigned int event)
{
	set_bit(event, &priv->ctl.events);
	mod_delayed_work(system_unbound_wq, &priv->ctl.work, 0);
}

/*
 * Queue the control work with an IPOIB_CTL_ event, after @delay jiffies at most: another event
 * comes with it.
 * Context: any.
 */
static inline void ipoib_ctl_post_later(struct ipoib_dev *priv,
					unsigned int event, unsigned long delay)
{
	set_bit(event, &priv->ctl.events);
	queue_delayed_work(system_unbound_wq, &priv->ctl.work, delay);
}

/* Hold the interface for a query. Context: any. */
static inline void ipoib_dev_get_query(struct ipoib_dev *priv)
{
	refcount_inc(&priv->queries);
}

/*
 * Release the interface after a query. It may be gone on return.
 * Context: any but hard interrupt.
 */
static inline void ipoib_dev_put_query(struct ipoib_dev *priv)
{
	if (refcount_dec_and_test(&priv->queries))
		complete(&priv->queries_done);
}

/*
 * Check for connected mode. Constant in a driver without CONFIG_INFINIBAND_IPOIB_CM, which so omits
 * the calls behind it.
 * Return: true if driver and port have it.
 */
static inline bool ipoib_has_cm(const struct ipoib_dev *priv)
{
	return IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM) && priv->cm;
}

/* True for an interface on a RoCE port; constant without CONFIG_INFINIBAND_IPOIB_ROCE */
static inline bool ipoib_has_roce(const struct ipoib_dev *priv)
{
	return IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE) && priv->roce;
}

/* True in connected mode */
static inline bool ipoib_cm_is_on(const struct ipoib_dev *priv)
{
	return IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM) &&
	       test_bit(IPOIB_FLAG_CONNECTED, &priv->flags);
}

/* Set a time stamp in jiffies, in steps of a second: CPUs share it, so it is written rarely. */
static inline void ipoib_touch(unsigned long *used)
{
	unsigned long now = jiffies;

	if (now - READ_ONCE(*used) >= HZ)
		WRITE_ONCE(*used, now);
}

/* True if the QP of the address is one over verbs, false if the net device of the HCA has it */
static inline bool ipoib_has_qp(const struct ipoib_dev *priv)
{
	return priv->rxq;
}

/* Number of transmit queues of the stack */
static inline unsigned int ipoib_txqs(const struct ipoib_dev *priv)
{
	return priv->rn ? READ_ONCE(priv->netdev->real_num_tx_queues) : READ_ONCE(priv->ntxq);
}

/*
 * Completion vector of a CQ: @n is 0 for receives, from 1 on for sends. Each vector has an
 * interrupt, and with it a CPU. Interfaces of an HCA get vectors in turn for receives; their sends
 * begin half way round.
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
void ipoib_dev_port_change(struct ipoib_dev *priv);
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
