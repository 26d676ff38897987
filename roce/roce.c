// SPDX-License-Identifier: GPL-2.0
/*
 * The RoCE fabric: InfiniBand's transport over UDP and Ethernet, without SM and SA. The rules of
 * Documentation/roce.rst and the kernel's own address resolution take their place.
 *
 * These are operations of ipoib_fabric.h, which has their contracts.
 *
 * A group with a listener is joined on the net_device of the port, too (MLD or IGMP): the IP stack
 * below, and snooping switches, drop frames to other groups. The stack counts the users of an
 * address, so groups and interfaces may share one. Senders need no membership.
 *
 * A join needs RTNL, for which neither the multicast work nor ndo_stop() may wait. They put a
 * membership on a list, and &ipoib_roce.group_work, for which no holder of RTNL waits, begins or
 * ends it. The work moves a membership from @todo to @joined, or frees it; ipoib_roce_group_leave()
 * moves it back to @todo. A membership is in neither list while the work handles it, and after a
 * failed join.
 *
 * A work begins and ends each path query: it is queued for the query, and once more for the answer
 * or the cancellation, whichever comes first.
 */
#include <linux/etherdevice.h>
#include <linux/if_macvlan.h>
#include <linux/if_vlan.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/neighbour.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>

#include "ipoib.h"

/* Parameters of every link, by the rules of Documentation/roce.rst */
#define IPOIB_ROCE_QKEY		0x80004391
#define IPOIB_ROCE_HOP_LIMIT	1
/* Packet life time: 4.096 us * 2^13, 34 ms */
#define IPOIB_ROCE_LIFE		13
/* The group of all groups on a link with IPv4 GIDs: 239.255.67.145 */
#define IPOIB_ROCE_IPV4_GROUP	0xefff4391

/*
 * Outstanding path queries of all interfaces, at most. An address without an answer occupies the
 * host's neighbour table three times as long as the query, and the table holds 512 (gc_thresh2)
 * before the kernel evicts entries.
 */
#define IPOIB_ROCE_QUERIES_MAX	128

/* Octets of a frame that iboe_get_mtu() reserves for headers */
#define IPOIB_ROCE_HEADERS	(IB_GRH_BYTES + IB_UDP_BYTES + IB_BTH_BYTES + \
				 IB_EXT_XRC_BYTES + IB_EXT_ATOMICETH_BYTES + \
				 IB_ICRC_BYTES)

/*
 * Timeouts of the address resolution. It misses an answer that arrives during the question, as from
 * a neighbour on the same machine: the first timeout is short.
 */
static const unsigned int ipoib_roce_timeout_ms[] = { 10, 100, 1000 };

/* Time of the RDMA core to remove the GID of a removed address */
#define IPOIB_ROCE_GID_PAUSE	(HZ / 4)

/* Path queries; no work waits for RTNL. */
static struct workqueue_struct *ipoib_roce_wq;

/* Limit of outstanding queries of all interfaces: the host has one neighbour table. */
static struct ipoib_limit ipoib_roce_limit;

/**
 * struct ipoib_roce - an interface on a RoCE port
 * @priv: the interface
 * @tracker: of the reference to &ipoib_dev.lower
 * @reported_mtu: MTU of the port in the last log message about a small MTU; under RTNL
 * @reported_missing: last log message about a missing GID; control work only
 * @lock: protects @todo and @joined; taken before mcast.lock
 * @todo: memberships to begin or to end
 * @joined: memberships that have begun
 * @group_work: handles @todo under RTNL
 */
struct ipoib_roce {
	struct ipoib_dev *priv;
	netdevice_tracker tracker;
	unsigned int reported_mtu;
	const char *reported_missing;

	spinlock_t lock; /* todo, joined */
	struct list_head todo;
	struct list_head joined;
	struct work_struct group_work;
};

/* ---- port and GID ---- */

/* Preference among GIDs, ascending */
enum {
	IPOIB_ROCE_UNFIT,
	IPOIB_ROCE_IPV4,
	IPOIB_ROCE_IPV6,
};

static bool ipoib_roce_runs(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

static bool ipoib_roce_ipv6_enabled(const struct net_device *ndev)
{
	const struct inet6_dev *idev;
	bool enabled;

	if (!IS_ENABLED(CONFIG_IPV6))
		return false;
	rcu_read_lock();
	idev = __in6_dev_get(ndev);
	enabled = idev && !READ_ONCE(idev->cnf.disable_ipv6);
	rcu_read_unlock();
	return enabled;
}

/*
 * Rank an entry of the GID table for an interface on @ndev: link-local IPv6, for every node can
 * have that, then IPv4, for hosts without IPv6 and not for the time before an IPv6 address is
 * there. An IPv6 address must belong to @ndev, and may be tentative: the table also has a GID made
 * of the MAC address if IPv6 is off or prefers another address.
 */
static int ipoib_roce_rank(const struct ib_gid_attr *attr, struct net_device *ndev)
{
	const struct in6_addr *addr = (const void *)attr->gid.raw;
	bool ipv6 = ipoib_roce_ipv6_enabled(ndev);

	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return IPOIB_ROCE_UNFIT;
	if (ipv6_addr_v4mapped(addr))
		return ipv6 ? IPOIB_ROCE_UNFIT : IPOIB_ROCE_IPV4;
	if (!ipv6 || !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL) ||
	    !IS_ENABLED(CONFIG_IPV6) ||
	    !ipv6_chk_addr_and_flags(dev_net(ndev), addr, ndev, false, 1,
				     IFA_F_DADFAILED))
		return IPOIB_ROCE_UNFIT;
	return IPOIB_ROCE_IPV6;
}

static bool ipoib_roce_gid_is_of(const struct ib_gid_attr *attr, const struct net_device *ndev)
{
	bool same;

	rcu_read_lock();
	same = rdma_read_gid_attr_ndev_rcu(attr) == ndev;
	rcu_read_unlock();
	return same;
}

/*
 * Choose among the GIDs of a net_device in the table of a port: @chosen gets the best, or keeps its
 * GID. Returns the index; -ENOENT without a suitable GID, -ENODEV if the table does not have the
 * net_device.
 */
static int ipoib_roce_choose_gid(struct ib_device *ca, u32 port, struct net_device *ndev,
				 struct ipoib_port *chosen)
{
	int i, count = ca->port_data[port].immutable.gid_tbl_len;
	int rank, best = IPOIB_ROCE_UNFIT, index = -ENODEV;
	const union ib_gid old = chosen->gid;
	const struct ib_gid_attr *attr;

	for (i = 0; i < count; i++) {
		attr = rdma_get_gid_attr(ca, port, i);
		if (IS_ERR(attr))
			continue;
		if (!ipoib_roce_gid_is_of(attr, ndev))
			goto put;
		if (index == -ENODEV)
			index = -ENOENT;
		rank = ipoib_roce_rank(attr, ndev);
		/* The GID in use before the first of equal rank */
		if (rank < best || rank == IPOIB_ROCE_UNFIT ||
		    (rank == best && memcmp(&attr->gid, &old, sizeof(old))))
			goto put;
		best = rank;
		index = i;
		chosen->gid = attr->gid;
		chosen->gid_entry = attr;
put:
		rdma_put_gid_attr(attr);
	}
	return index;
}

/*
 * Check whether a port sends by a registered net_device. The GID table of a RoCE port has the
 * net_devices of the port, up or down, but a VLAN only while it is up: the device below the VLAN
 * counts.
 * Context: RTNL held.
 */
bool ipoib_roce_is_port_of(struct ib_device *ca, u32 port, struct net_device *ndev)
{
	struct ipoib_port chosen = {};

	if (!rdma_protocol_roce_udp_encap(ca, port))
		return false;
#if IS_ENABLED(CONFIG_VLAN_8021Q)
	if (is_vlan_dev(ndev))
		ndev = vlan_dev_priv(ndev)->real_dev;
#endif
	/* HCAs handle a single tag. */
	if (is_vlan_dev(ndev))
		return false;
	return ipoib_roce_choose_gid(ca, port, ndev, &chosen) != -ENODEV;
}

/*
 * True for the interface's entry of the GID table; false for NULL, and after the removal of the
 * entry. The table has a GID once for each version of RoCE, a link-local GID for each VLAN, too.
 * Context: any, with a reference to the entry.
 */
static bool ipoib_roce_is_ours(const struct ipoib_dev *priv, const struct ib_gid_attr *attr)
{
	return attr && attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
	       !memcmp(&attr->gid, &priv->local_gid, sizeof(attr->gid)) &&
	       ipoib_roce_gid_is_of(attr, priv->lower);
}

/* Returns the interface's entry of the GID table, with a reference; -ENODEV if it has changed. */
static const struct ib_gid_attr *ipoib_roce_gid_attr(struct ipoib_dev *priv)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(priv->ca, &priv->local_gid, IB_GID_TYPE_ROCE_UDP_ENCAP,
				     priv->port, priv->lower);
	return IS_ERR(attr) ? ERR_PTR(-ENODEV) : attr;
}

/* Log the reason of a missing GID, once for each reason. */
static void ipoib_roce_report(struct ipoib_dev *priv, bool found)
{
	const char *lack = NULL;

	if (!found && !ipoib_roce_runs(priv->lower))
		lack = "is down or has no carrier";
	else if (!found && ipoib_roce_ipv6_enabled(priv->lower))
		lack = "has no IPv6 link-local address";
	else if (!found)
		lack = "has IPv6 disabled and no IPv4 address";
	if (lack && lack != priv->roce->reported_missing)
		netdev_info(priv->netdev, "waiting for a GID: %s %s\n", priv->lower->name, lack);
	priv->roce->reported_missing = lack;
}

/*
 * Ethernet drivers take RTNL to report the speed, and RTNL is held before the registration of an
 * interface: query the port after that, when it is read again.
 */
static int ipoib_roce_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	struct ib_port_attr attr = {
		.active_mtu = iboe_get_mtu(READ_ONCE(priv->lower->mtu)),
		.max_mtu = IB_MTU_4096,
	};
	bool registered = priv->netdev->reg_state == NETREG_REGISTERED;
	int err, index;

	if (registered) {
		err = ib_query_port(priv->ca, priv->port, &attr);
		if (err)
			return err;
	}
	/* Without a GID the address stays. */
	port->gid = priv->local_gid;
	port->gid_entry = priv->gid_entry;
	index = ipoib_roce_choose_gid(priv->ca, priv->port, priv->lower, port);
	if (registered)
		ipoib_roce_report(priv, index >= 0);
	port->active = attr.state == IB_PORT_ACTIVE && index >= 0 &&
		       ipoib_roce_runs(priv->lower);
	port->pkey = IPOIB_ROCE_PKEY;
	/* ib_query_port() has the MTU of the port, not of a VLAN. */
	if (priv->vid)
		attr.active_mtu = min(attr.active_mtu, iboe_get_mtu(READ_ONCE(priv->lower->mtu)));
	port->mtu = ipoib_mtu_from_ib(clamp(attr.active_mtu, IB_MTU_256, IB_MTU_4096));
	port->max_mtu = max(ipoib_mtu_from_ib(attr.max_mtu), IPOIB_MTU_MIN);
	port->mbps = ipoib_port_mbps(&attr);
	return 0;
}

/*
 * Soft-RoCE has faults with work-arounds here:
 *
 * - On UC it reports a message with a lost packet as a failed receive. See also
 *   ipoib_cm_srq_size().
 * - A datagram that cannot be sent, for lack of the GID of its address handle in the table or of a
 *   route, puts its QP into the error state. ib_mad does not restart QP 1 then: the CM is dead on
 *   that port until the device is created anew. So connections end after the GID has gone, when
 *   the CM cannot make an address handle.
 */
static bool ipoib_roce_is_soft(const struct ipoib_dev *priv)
{
	return priv->ca->ops.driver_id == RDMA_DRIVER_RXE;
}

static void ipoib_roce_event(struct ipoib_dev *priv, enum ib_event_type event)
{
	const struct ib_gid_attr *attr;

	switch (event) {
	case IB_EVENT_GID_CHANGE:
		attr = ipoib_roce_gid_attr(priv);
		/*
		 * Without the GID the CM makes no address handle and sends no DREQ. It would repeat
		 * an outstanding DREQ, which soft-RoCE does not survive.
		 */
		if (!IS_ERR(attr))
			rdma_put_gid_attr(attr);
		else if (ipoib_roce_is_soft(priv) && ipoib_has_cm(priv))
			ipoib_cm_gid_lost(priv);
		ipoib_neigh_all_stale(priv);
		fallthrough;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
		break;
	default:
		break;
	}
}

/* Log the reason of an MTU smaller than on InfiniBand, once for each value. */
static void ipoib_roce_start(struct ipoib_dev *priv)
{
	int usual = ipoib_mtu_from_ib(IB_MTU_2048);
	struct ipoib_roce *roce = priv->roce;
	unsigned int mtu = priv->port_mtu;

	if (roce->reported_mtu == mtu)
		return;
	roce->reported_mtu = mtu;
	if (mtu >= usual)
		return;
	netdev_info(priv->netdev,
		    "MTU %u, as %s has MTU %u: with %u or more there it is %u\n",
		    mtu, priv->lower->name, priv->lower->mtu,
		    ib_mtu_enum_to_int(IB_MTU_2048) + IPOIB_ROCE_HEADERS,
		    usual);
	if (mtu < IPV6_MIN_MTU)
		netdev_warn(priv->netdev,
			    "MTU %u is too small for IPv6, which needs %u: IPv4 only in datagram mode\n",
			    mtu, IPV6_MIN_MTU);
}

/* ---- groups ---- */

/* A membership, or a sender. */
struct ipoib_roce_member {
	/* handle of the group; its context is the group, NULL once left, under &ipoib_roce.lock */
	struct ib_sa_multicast handle;
	struct list_head list;	/* in @todo, in @joined, or in neither; under &ipoib_roce.lock */
	bool joined;		/* the net_device is a member; under RTNL */
};

static bool ipoib_roce_is_ipv4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid->raw);
}

static __be32 ipoib_roce_ipv4(const union ib_gid *gid)
{
	__be32 addr;

	memcpy(&addr, gid->raw + 12, sizeof(addr));
	return addr;
}

/* RTNL held. */
static int ipoib_roce_ndev_join(struct net_device *ndev, const union ib_gid *mgid)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);
	struct ip_mc_list *group;
	__be32 addr;

	if (!ipoib_roce_is_ipv4(mgid))
		return IS_ENABLED(CONFIG_IPV6) ?
		       ipv6_dev_mc_inc(ndev, (const struct in6_addr *)mgid->raw) :
		       -EAFNOSUPPORT;
	if (!in_dev)
		return -ENODEV;
	addr = ipoib_roce_ipv4(mgid);
	ip_mc_inc_group(in_dev, addr);
	/* ip_mc_inc_group() does not report a lack of memory. */
	group = rtnl_dereference(in_dev->mc_list);
	while (group && group->multiaddr != addr)
		group = rtnl_dereference(group->next_rcu);
	return group ? 0 : -ENOMEM;
}

/* An unregistered net_device has left all groups, and finds none. RTNL held. */
static void ipoib_roce_ndev_leave(struct net_device *ndev, const union ib_gid *mgid)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!ipoib_roce_is_ipv4(mgid) && IS_ENABLED(CONFIG_IPV6))
		ipv6_dev_mc_dec(ndev, (const struct in6_addr *)mgid->raw);
	else if (ipoib_roce_is_ipv4(mgid) && in_dev)
		ip_mc_dec_group(in_dev, ipoib_roce_ipv4(mgid));
}

/*
 * Join, or join again: an IP stack loses its memberships without an event if the MTU becomes too
 * small, so the old membership is given up. RTNL held.
 */
static void ipoib_roce_member_join(struct ipoib_roce *roce, struct ipoib_roce_member *member)
{
	const union ib_gid *mgid = &member->handle.rec.mgid;
	struct net_device *lower = roce->priv->lower;
	bool again = member->joined;
	int err;

	if (again)
		ipoib_roce_ndev_leave(lower, mgid);
	err = ipoib_roce_ndev_join(lower, mgid);
	member->joined = !err;
	if (err && again)
		err = -ENETRESET;
	spin_lock_bh(&roce->lock);
	/* A membership that was left meanwhile is in @todo again. */
	if (member->handle.context) {
		/* One answer each; a failed join is not repeated here. */
		if (!err)
			list_add_tail(&member->list, &roce->joined);
		if (err || !again)
			ipoib_mcast_answer(member->handle.context, err);
	}
	spin_unlock_bh(&roce->lock);
}

static void ipoib_roce_group_work(struct work_struct *work)
{
	struct ipoib_roce *roce = container_of(work, struct ipoib_roce, group_work);
	struct ipoib_roce_member *member;
	bool left;

	rtnl_lock();
	spin_lock_bh(&roce->lock);
	while (!list_empty(&roce->todo)) {
		member = list_first_entry(&roce->todo, struct ipoib_roce_member, list);
		list_del_init(&member->list);
		left = !member->handle.context;
		spin_unlock_bh(&roce->lock);
		if (!left) {
			ipoib_roce_member_join(roce, member);
		} else {
			if (member->joined)
				ipoib_roce_ndev_leave(roce->priv->lower, &member->handle.rec.mgid);
			kfree(member);
		}
		spin_lock_bh(&roce->lock);
	}
	spin_unlock_bh(&roce->lock);
	rtnl_unlock();
}

/* Check that all memberships are still there. */
static void ipoib_roce_group_refresh(struct ipoib_roce *roce)
{
	spin_lock_bh(&roce->lock);
	list_splice_tail_init(&roce->joined, &roce->todo);
	spin_unlock_bh(&roce->lock);
	queue_work(system_unbound_wq, &roce->group_work);
}

/*
 * Every node makes the same record from its own port. An IPv6 port joins the MGID of RFC 4391. IPv4
 * addresses have no room for an MGID: all groups of a link share one address.
 */
static struct ib_sa_multicast *ipoib_roce_group_join(struct ipoib_mcast *mcast, u8 state)
{
	struct ipoib_dev *priv = mcast->priv;
	struct ipoib_roce *roce = priv->roce;
	struct ipoib_roce_member *member;
	struct ib_sa_mcmember_rec *rec;

	member = kzalloc(sizeof(*member), GFP_KERNEL);
	if (!member)
		return ERR_PTR(-ENOMEM);
	member->handle.context = mcast;
	rec = &member->handle.rec;
	if (ipoib_roce_is_ipv4(&priv->local_gid))
		ipv6_addr_set_v4mapped(htonl(IPOIB_ROCE_IPV4_GROUP),
				       (struct in6_addr *)rec->mgid.raw);
	else
		rec->mgid = mcast->mgid;
	rec->port_gid = priv->local_gid;
	rec->qkey = cpu_to_be32(IPOIB_ROCE_QKEY);
	rec->pkey = cpu_to_be16(IPOIB_ROCE_PKEY);
	rec->mtu_selector = IB_SA_EQ;
	rec->mtu = ib_mtu_int_to_enum(priv->port_mtu + IPOIB_ENCAP_LEN);
	rec->rate = IB_RATE_PORT_CURRENT;
	rec->hop_limit = IPOIB_ROCE_HOP_LIMIT;
	rec->scope = IPOIB_SCOPE_LINK_LOCAL;
	rec->join_state = state;
	if (state != IPOIB_JOIN_FULL) {
		ipoib_mcast_answer(mcast, 0);
		return &member->handle;
	}
	spin_lock_bh(&roce->lock);
	list_add_tail(&member->list, &roce->todo);
	spin_unlock_bh(&roce->lock);
	queue_work(system_unbound_wq, &roce->group_work);
	return &member->handle;
}

static void ipoib_roce_group_leave(struct ib_sa_multicast *handle)
{
	struct ipoib_mcast *mcast = handle->context;
	struct ipoib_roce *roce = mcast->priv->roce;
	struct ipoib_roce_member *member;

	member = container_of(handle, struct ipoib_roce_member, handle);
	/* A sender is in no list. */
	if (handle->rec.join_state != IPOIB_JOIN_FULL) {
		kfree(member);
		return;
	}
	spin_lock_bh(&roce->lock);
	handle->context = NULL;
	list_move_tail(&member->list, &roce->todo);
	spin_unlock_bh(&roce->lock);
	queue_work(system_unbound_wq, &roce->group_work);
}

/* Fails if the port has lost the GID with which the group was joined. */
static int ipoib_roce_group_ah(struct ipoib_dev *priv, struct ib_sa_mcmember_rec *rec,
			       struct rdma_ah_attr *attr)
{
	if (ib_init_ah_from_mcmember(priv->ca, priv->port, rec, priv->lower,
				     IB_GID_TYPE_ROCE_UDP_ENCAP, attr))
		return -ENODEV;
	if (ipoib_roce_is_ipv4(&rec->mgid))
		ip_eth_mc_map(ipoib_roce_ipv4(&rec->mgid), attr->roce.dmac);
	else
		ipv6_eth_mc_map((const struct in6_addr *)rec->mgid.raw, attr->roce.dmac);
	return 0;
}

/* ---- paths ---- */

/* A path query. */
struct ipoib_roce_query {
	struct work_struct work;	/* begins and ends it */
	struct ipoib_neigh *neigh;
	const struct ib_gid_attr *attr;	/* GID of the interface, with a reference */
	struct rdma_dev_addr addr;	/* of the address resolution */
	unsigned int tries;		/* calls of the address resolution; work only */
	bool cancelled;			/* the neighbour does not need the answer */
	int status;			/* of the address resolution */
};

/* Callback of the address resolution; does not run any more after rdma_addr_cancel(). */
static void ipoib_roce_resolved(int status, struct sockaddr *src,
				struct rdma_dev_addr *addr, void *context)
{
	struct ipoib_roce_query *query = context;

	query->status = status;
	queue_work(ipoib_roce_wq, &query->work);
}

static int ipoib_roce_query_begin(struct ipoib_roce_query *query)
{
	const union ib_gid *dgid = &query->neigh->gid;
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} src = {}, dst = {};

	if (READ_ONCE(query->cancelled))
		return -ECANCELED;
	rdma_gid2ip(&src.any, &query->attr->gid);
	rdma_gid2ip(&dst.any, dgid);
	if (src.any.sa_family != dst.any.sa_family)
		return -EAFNOSUPPORT;
	query->addr.net = dev_net(query->neigh->priv->lower);
	query->addr.sgid_attr = query->attr;
	return rdma_resolve_ip(&src.any, &dst.any, &query->addr,
			       ipoib_roce_timeout_ms[query->tries++],
			       ipoib_roce_resolved, true, query);
}

static void ipoib_roce_make_path(struct ipoib_roce_query *query, struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = query->neigh->priv;
	u32 hash;

	rec->rec_type = SA_PATH_REC_TYPE_ROCE_V2;
	rec->dgid = query->neigh->gid;
	rec->sgid = query->attr->gid;
	rec->pkey = cpu_to_be16(IPOIB_ROCE_PKEY);
	rec->mtu_selector = IB_SA_EQ;
	rec->mtu = ib_mtu_int_to_enum(priv->port_mtu + IPOIB_ENCAP_LEN);
	rec->rate_selector = IB_SA_EQ;
	rec->rate = IB_RATE_PORT_CURRENT;
	rec->packet_life_time_selector = IB_SA_EQ;
	rec->packet_life_time = IPOIB_ROCE_LIFE;
	rec->hop_limit = query->addr.hoplimit;
	/* The flow label distributes nodes over equal routes. */
	hash = jhash(&rec->sgid, sizeof(rec->sgid), 0) ^
	       jhash(&rec->dgid, sizeof(rec->dgid), 0);
	rec->flow_label = cpu_to_be32((hash & IB_GRH_FLOWLABEL_MASK) ?: 1);
	rec->numb_path = 1;
	sa_path_set_dmac(rec, query->addr.dst_dev_addr);
	rec->roce.route_resolved = true;
}

/* Free a query. ipoib_neigh_answered() consumes the reference to the neighbour. */
static void ipoib_roce_query_end(struct ipoib_roce_query *query, int err)
{
	struct ipoib_neigh *neigh = query->neigh;
	struct ipoib_dev *priv = neigh->priv;
	struct sa_path_rec rec = {};

	/* The link is one Ethernet segment, without nodes behind routers. */
	if (!err && (query->addr.network == RDMA_NETWORK_IPV4 ||
		     query->addr.network == RDMA_NETWORK_IPV6))
		err = -ENETUNREACH;
	/* The broadcast address of a subnet cannot be recognised before. */
	if (!err && is_multicast_ether_addr(query->addr.dst_dev_addr))
		err = -EADDRNOTAVAIL;
	if (!err)
		ipoib_roce_make_path(query, &rec);
	if (query->attr)
		rdma_put_gid_attr(query->attr);
	/* A cancellation comes before this, or not at all. */
	spin_lock_bh(&priv->neigh.lock);
	neigh->query = NULL;
	spin_unlock_bh(&priv->neigh.lock);
	cancel_work(&query->work);
	kfree(query);
	ipoib_neigh_answered(neigh, err, &rec);
}

/* Begin or end a path query. Context: process. */
static void ipoib_roce_query_work(struct work_struct *work)
{
	struct ipoib_roce_query *query = container_of(work, struct ipoib_roce_query, work);
	struct in6_addr *to = (struct in6_addr *)query->neigh->gid.raw;
	bool again;
	int err = 0;

	if (query->tries) {
		/* On return the callback does not run, and will not. */
		rdma_addr_cancel(&query->addr);
		err = query->status;
		again = err == -ETIMEDOUT &&
			query->tries < ARRAY_SIZE(ipoib_roce_timeout_ms);
	} else {
		if (rdma_is_multicast_addr(to) || ipv6_addr_any(to) || ipv6_addr_loopback(to))
			err = -EADDRNOTAVAIL;
		else
			query->attr = ipoib_roce_gid_attr(query->neigh->priv);
		if (IS_ERR(query->attr)) {
			err = PTR_ERR(query->attr);
			query->attr = NULL;
		}
		again = !err;
	}
	if (again)
		err = ipoib_roce_query_begin(query);
	if (!again || err)
		ipoib_roce_query_end(query, err);
}

static int ipoib_roce_path_get(struct ipoib_dev *priv, struct ipoib_neigh *neigh)
{
	struct ipoib_roce_query *query;

	lockdep_assert_held(&priv->neigh.lock);
	query = kzalloc(sizeof(*query), GFP_ATOMIC);
	if (!query)
		return -ENOMEM;
	INIT_WORK(&query->work, ipoib_roce_query_work);
	query->neigh = neigh;
	query->status = -ECANCELED;
	neigh->query = query;
	queue_work(ipoib_roce_wq, &query->work);
	return 0;
}

static void ipoib_roce_path_cancel(struct ipoib_neigh *neigh)
{
	struct ipoib_roce_query *query = neigh->query;

	WRITE_ONCE(query->cancelled, true);
	queue_work(ipoib_roce_wq, &query->work);
}

static void ipoib_roce_path_show(struct seq_file *file, const struct ipoib_neigh *neigh)
{
	seq_printf(file, "  DMAC:     %pM\n", neigh->rec.roce.dmac);
	seq_printf(file, "  hops:     %u\n", neigh->rec.hop_limit);
}

/* ---- other operations ---- */

static int ipoib_roce_init(struct ipoib_dev *priv)
{
	struct ipoib_roce *roce = kzalloc(sizeof(*roce), GFP_KERNEL);
	const struct net_device *ndev = priv->lower;

	if (!roce)
		return -ENOMEM;
	roce->priv = priv;
	priv->roce = roce;
	priv->neigh.limit = &ipoib_roce_limit;
	/* A macvlan has the GIDs of the device below it. */
	if (netif_is_macvlan(ndev))
		ndev = macvlan_dev_real_dev(ndev);
	priv->vid = is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) : 0;
	netdev_hold(priv->lower, &roce->tracker, GFP_KERNEL);
	spin_lock_init(&roce->lock);
	INIT_LIST_HEAD(&roce->todo);
	INIT_LIST_HEAD(&roce->joined);
	INIT_WORK(&roce->group_work, ipoib_roce_group_work);
	return 0;
}

static void ipoib_roce_exit(struct ipoib_dev *priv)
{
	struct ipoib_roce *roce = priv->roce;

	/* All groups have been left. */
	flush_work(&roce->group_work);
	netdev_put(priv->lower, &roce->tracker);
	priv->roce = NULL;
	priv->neigh.limit = NULL;
	kfree(roce);
}

/*
 * Check destination address and VLAN of the frame, as fields of the REQ may be forged. A path MTU
 * beyond that of the Ethernet would lose all long messages.
 */
static int ipoib_roce_conn_check(struct ipoib_dev *priv, const struct ib_cm_req_event_param *req)
{
	int limit = READ_ONCE(priv->port_mtu) + IPOIB_ENCAP_LEN;
	int mtu = ib_mtu_enum_to_int(req->primary_path->mtu);

	if (!ipoib_roce_is_ours(priv, req->ppath_sgid_attr))
		return IB_CM_REJ_INVALID_GID;
	/* Not every number is an MTU, either. */
	if (mtu < 0 || mtu > limit)
		return IB_CM_REJ_INVALID_MTU;
	return 0;
}

const struct ipoib_fabric_ops ipoib_roce_ops = {
	.init = ipoib_roce_init,
	.exit = ipoib_roce_exit,
	.start = ipoib_roce_start,
	.port_read = ipoib_roce_port_read,
	.event = ipoib_roce_event,
	.path_get = ipoib_roce_path_get,
	.path_cancel = ipoib_roce_path_cancel,
	.path_gid = ipoib_roce_gid_attr,
	.path_show = ipoib_roce_path_show,
	.join = ipoib_roce_group_join,
	.leave = ipoib_roce_group_leave,
	.group_ah = ipoib_roce_group_ah,
	.conn_check = ipoib_roce_conn_check,
};

/* ---- changes below an interface ---- */

/*
 * A new MAC address is a new GID at the same index of the table, which the core can write only
 * without references to the old GID. RTNL held; sleeps.
 */
static void ipoib_roce_release_gid(struct ipoib_dev *priv)
{
	ipoib_dev_port_change(priv);
	flush_workqueue(ipoib_roce_wq);
	flush_delayed_work(&priv->ah.work);
}

/*
 * Notifier of net_devices, RTNL held. Before a change of the address, and when the port goes, the
 * interface goes down here, and waits for its connections, queries and address handles. The control
 * work does the rest.
 */
static int ipoib_roce_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct ipoib_dev *priv = ipoib_hca_find_on(netdev_notifier_info_to_dev(ptr));

	if (!priv)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGEMTU:
		ipoib_roce_group_refresh(priv->roce);
		fallthrough;
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEADDR:
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
		break;
	case NETDEV_PRE_CHANGEADDR:
		ipoib_roce_release_gid(priv);
		/* In case the address stays: no other event would follow. */
		ipoib_ctl_post_later(priv, IPOIB_CTL_PORT, HZ);
		break;
	/*
	 * Also for a move to another namespace. The interface is not unregistered here: at the
	 * end of a namespace the core walks a list in which the interface is the next.
	 */
	case NETDEV_UNREGISTER:
		ipoib_roce_release_gid(priv);
		ipoib_ctl_post(priv, IPOIB_CTL_DELETE);
		break;
	}
	return NOTIFY_DONE;
}

/*
 * Runs after the notifier of the port's driver, whichever was loaded first: that updates the port
 * by the same events, and raises none.
 */
static struct notifier_block ipoib_roce_netdev_notifier = {
	.notifier_call = ipoib_roce_netdev_event,
	.priority = -1,
};

/*
 * An IPv6 address has come or gone, maybe that of the GID. Soft-RoCE must not send by a GID that is
 * about to go (ipoib_roce_is_soft()). The RDMA core reports its removal; the GID made of the MAC
 * address stays in the table, though. Does not sleep.
 */
static int ipoib_roce_addr_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct inet6_ifaddr *ifa = ptr;
	struct ipoib_dev *priv;

	rcu_read_lock();
	priv = ipoib_hca_find_on(ifa->idev->dev);
	if (priv && event == NETDEV_DOWN && ipoib_roce_is_soft(priv))
		ipoib_ctl_post_later(priv, IPOIB_CTL_PORT, IPOIB_ROCE_GID_PAUSE);
	else if (priv)
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
	rcu_read_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_roce_addr_notifier = {
	.notifier_call = ipoib_roce_addr_event,
};

/*
 * A neighbour of the stack, maybe on an Ethernet port of an interface, has changed.
 * Context: any but hard interrupt; the lock of the neighbour table may be held.
 */
void ipoib_roce_neigh_event(struct neighbour *neigh)
{
	struct ipoib_dev *priv;
	char mac[MAX_ADDR_LEN];
	union ib_gid gid;
	__be32 addr;
	bool valid;

	valid = READ_ONCE(neigh->nud_state) & NUD_VALID;
	if (!valid && READ_ONCE(neigh->nud_state) != NUD_FAILED)
		return;
	if (neigh->tbl->family == AF_INET) {
		memcpy(&addr, neigh->primary_key, sizeof(addr));
		ipv6_addr_set_v4mapped(addr, (struct in6_addr *)gid.raw);
	} else if (neigh->tbl->family == AF_INET6) {
		memcpy(gid.raw, neigh->primary_key, sizeof(gid.raw));
	} else {
		return;
	}
	neigh_ha_snapshot(mac, neigh, neigh->dev);
	rcu_read_lock();
	priv = ipoib_hca_find_on(neigh->dev);
	if (priv)
		ipoib_neigh_mac_moved(priv, &gid, valid ? mac : NULL);
	rcu_read_unlock();
}

/*
 * Create the workqueue of path queries and register notifiers.
 * Context: process, before the first interface. Return: 0 or a negative error, with nothing
 * registered.
 */
int ipoib_roce_register(void)
{
	int err;

	ipoib_limit_init(&ipoib_roce_limit, IPOIB_ROCE_QUERIES_MAX);
	ipoib_roce_wq = alloc_workqueue("ipoib_roce", WQ_UNBOUND, 0);
	if (!ipoib_roce_wq)
		return -ENOMEM;
	err = register_inet6addr_notifier(&ipoib_roce_addr_notifier);
	if (!err)
		err = register_netdevice_notifier(&ipoib_roce_netdev_notifier);
	if (err)
		ipoib_roce_unregister();
	return err;
}

/*
 * Undo ipoib_roce_register(), also half of it. There is no interface any more.
 * Context: process, without RTNL.
 */
void ipoib_roce_unregister(void)
{
	unregister_netdevice_notifier(&ipoib_roce_netdev_notifier);
	unregister_inet6addr_notifier(&ipoib_roce_addr_notifier);
	destroy_workqueue(ipoib_roce_wq);
}
