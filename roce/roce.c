// SPDX-License-Identifier: GPL-2.0
/*
 * The RoCE fabric: InfiniBand's transport over UDP and Ethernet, without SM and
 * SA. What those would say follows from rules, Documentation/roce.rst, and from
 * the kernel's own address resolution.
 *
 * This file resolves paths, and treats events of what may change them or the port:
 * net_devices, their addresses, and neighbours. The port and its GID are in port.c,
 * groups in group.c. These are operations of ipoib_fabric.h; what each of them owes
 * its callers is said there.
 *
 * A query for a path has one work, which begins it and ends it: queued first
 * when the path is asked for, and again when the address has been resolved or
 * the query is cancelled, whatever comes first.
 */
#include <linux/etherdevice.h>
#include <linux/if_macvlan.h>
#include <linux/if_vlan.h>
#include <linux/slab.h>
#include <net/neighbour.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>

#include "ipoib.h"
#include "roce/roce.h"

/* Octets of an Ethernet frame that iboe_get_mtu() sets aside for headers. */
#define IPOIB_ROCE_HEADERS	(IB_GRH_BYTES + IB_UDP_BYTES + IB_BTH_BYTES + \
				 IB_EXT_XRC_BYTES + IB_EXT_ATOMICETH_BYTES + \
				 IB_ICRC_BYTES)

/*
 * How long the address resolution may take. It sleeps through an answer that
 * comes while the question is being asked, as it does from a neighbour on the
 * same machine, so the first wait is short.
 */
static const unsigned int ipoib_roce_timeout_ms[] = { 10, 100, 1000 };

/* How long the RDMA core may take to remove a GID whose address has gone. */
#define IPOIB_ROCE_GID_PAUSE	(HZ / 4)

/* Queries for paths. Nothing here waits for RTNL. */
static struct workqueue_struct *ipoib_roce_wq;

/* Bounds those that are open: of all interfaces, as the host has one table. */
static struct ipoib_limit ipoib_roce_limit;

/*
 * It has faults that are worked around:
 *
 * - On UC it reports a message of which a packet was lost as a failed receive. See also
 *   ipoib_cm_srq_size().
 * - A datagram that cannot be sent, as the GID of its address handle has gone from
 *   the port's table or there is no route, puts its QP into the error state. If that
 *   is QP 1, ib_mad does not start it again: the CM is dead on that port until the
 *   device is made anew. So connections end after the GID has gone, when the CM cannot
 *   make an address handle.
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
		 * By a GID that has gone the CM makes no address handle, hence sends no DREQ. It
		 * would repeat one that is under way, which soft-RoCE does not survive.
		 */
		if (!IS_ERR(attr))
			rdma_put_gid_attr(attr);
		else if (ipoib_roce_is_soft(priv) && ipoib_has_cm(priv))
			ipoib_cm_lose_gid(priv);
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

/* Why the MTU is smaller than on InfiniBand, once for each value. */
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

/**
 * struct ipoib_roce_query - a path that is being resolved
 * @work: begins and ends it
 * @neigh: the neighbour
 * @attr: GID of the interface, held
 * @addr: what the address resolution works with
 * @tries: how often the address resolution has been started; the work only
 * @cancelled: the answer is of no interest any more
 * @status: of the address resolution
 */
struct ipoib_roce_query {
	struct work_struct work;
	struct ipoib_neigh *neigh;
	const struct ib_gid_attr *attr;
	struct rdma_dev_addr addr;
	unsigned int tries;
	bool cancelled;
	int status;
};

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
	/* Flows to different nodes take different ways where there are several. */
	hash = jhash(&rec->sgid, sizeof(rec->sgid), 0) ^
	       jhash(&rec->dgid, sizeof(rec->dgid), 0);
	rec->flow_label = cpu_to_be32((hash & IB_GRH_FLOWLABEL_MASK) ?: 1);
	rec->numb_path = 1;
	sa_path_set_dmac(rec, query->addr.dst_dev_addr);
	rec->roce.route_resolved = true;
}

static void ipoib_roce_query_end(struct ipoib_roce_query *query, int err)
{
	struct ipoib_neigh *neigh = query->neigh;
	struct ipoib_dev *priv = neigh->priv;
	struct sa_path_rec rec = {};

	/* The link is one Ethernet segment: what is behind a router is not on it. */
	if (!err && (query->addr.network == RDMA_NETWORK_IPV4 ||
		     query->addr.network == RDMA_NETWORK_IPV6))
		err = -ENETUNREACH;
	/* The broadcast address of a subnet looks like any other. */
	if (!err && is_multicast_ether_addr(query->addr.dst_dev_addr))
		err = -EADDRNOTAVAIL;
	if (!err)
		ipoib_roce_make_path(query, &rec);
	if (query->attr)
		rdma_put_gid_attr(query->attr);
	/* It may have been cancelled before this, and cannot be after. */
	spin_lock_bh(&priv->neigh.lock);
	neigh->query = NULL;
	spin_unlock_bh(&priv->neigh.lock);
	cancel_work(&query->work);
	kfree(query);
	ipoib_neigh_answered(neigh, err, &rec);
}

static void ipoib_roce_query_work(struct work_struct *work)
{
	struct ipoib_roce_query *query = container_of(work, struct ipoib_roce_query, work);
	struct in6_addr *to = (struct in6_addr *)query->neigh->gid.raw;
	bool again;
	int err = 0;

	if (query->tries) {
		/* After this the callback neither runs nor will run. */
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

static void ipoib_roce_path_cancel(struct ipoib_dev *priv, struct ipoib_neigh *neigh)
{
	struct ipoib_roce_query *query;

	spin_lock_bh(&priv->neigh.lock);
	query = neigh->query;
	if (query) {
		WRITE_ONCE(query->cancelled, true);
		queue_work(ipoib_roce_wq, &query->work);
	}
	spin_unlock_bh(&priv->neigh.lock);
}

static int ipoib_roce_path_ah(struct ipoib_dev *priv, struct sa_path_rec *rec,
			      struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid_attr;
	int err;

	sgid_attr = ipoib_roce_gid_attr(priv);
	if (IS_ERR(sgid_attr))
		return PTR_ERR(sgid_attr);
	err = ib_init_ah_attr_from_path(priv->ca, priv->port, rec, attr, sgid_attr);
	rdma_put_gid_attr(sgid_attr);
	return err;
}

static void ipoib_roce_path_show(struct seq_file *file, const struct ipoib_neigh *neigh)
{
	seq_printf(file, "  DMAC:     %pM\n", neigh->rec.roce.dmac);
	seq_printf(file, "  hops:     %u\n", neigh->rec.hop_limit);
}

static int ipoib_roce_init(struct ipoib_dev *priv)
{
	struct ipoib_roce *roce = kzalloc(sizeof(*roce), GFP_KERNEL);
	const struct net_device *ndev = priv->lower;

	if (!roce)
		return -ENOMEM;
	roce->priv = priv;
	priv->roce = roce;
	priv->neigh.limit = &ipoib_roce_limit;
	/* The GIDs of a macvlan are those of what is below it. */
	if (netif_is_macvlan(ndev))
		ndev = macvlan_dev_real_dev(ndev);
	priv->vid = is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) : 0;
	netdev_hold(priv->lower, &roce->tracker, GFP_KERNEL);
	ipoib_roce_group_init(roce);
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
 * The destination address and VLAN of the frame count: the fields of the request may
 * have been forged. A path MTU that is more than the Ethernet takes would lose all long
 * messages.
 */
static int ipoib_roce_conn_check(struct ipoib_dev *priv, const struct ib_cm_req_event_param *req)
{
	int limit = READ_ONCE(priv->port_mtu) + IPOIB_ENCAP_LEN;
	int mtu = ib_mtu_enum_to_int(req->primary_path->mtu);

	if (!ipoib_roce_is_ours(priv, req->ppath_sgid_attr))
		return IB_CM_REJ_INVALID_GID;
	/* Nor is any number an MTU. */
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
	.path_ah = ipoib_roce_path_ah,
	.path_show = ipoib_roce_path_show,
	.join = ipoib_roce_group_join,
	.leave = ipoib_roce_group_leave,
	.group_ah = ipoib_roce_group_ah,
	.conn_gid = ipoib_roce_gid_attr,
	.conn_check = ipoib_roce_conn_check,
};

/*
 * A new MAC address means a new GID in the same place of the table, and the
 * core can put it there only without references to the old one.
 */
static void ipoib_roce_let_go(struct ipoib_dev *priv)
{
	ipoib_dev_port_going(priv);
	flush_workqueue(ipoib_roce_wq);
	flush_delayed_work(&priv->ah.work);
}

/**
 * ipoib_roce_netdev_event - what is below an interface has changed
 * @priv: the interface
 * @event: of a notifier that comes after the one of the port's driver, which updates by the same
 *	events what is read here, and sends no event when it has
 *
 * Context: RTNL held
 */
void ipoib_roce_netdev_event(struct ipoib_dev *priv, unsigned long event)
{
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
		ipoib_roce_let_go(priv);
		/* If nothing comes of it; else that is reported, too. */
		ipoib_ctl_post_later(priv, IPOIB_CTL_PORT, HZ);
		break;
	/*
	 * Also when it moves to another namespace. The interface is not unregistered
	 * here: at the end of a namespace the core goes through a list in which the
	 * interface is the next.
	 */
	case NETDEV_UNREGISTER:
		ipoib_roce_let_go(priv);
		ipoib_ctl_post(priv, IPOIB_CTL_DELETE);
		break;
	}
}

/**
 * ipoib_roce_addr_event - an IPv6 address came or went: it may be that of the GID
 * @priv: the interface above
 * @event: NETDEV_UP or NETDEV_DOWN
 *
 * Soft-RoCE must not be asked for anything by a GID that is about to go
 * (ipoib_roce_is_soft()). The RDMA core says when it has gone; the GID that is made of the MAC
 * address stays in the table, though.
 *
 * Context: any but hard interrupt, RCU read side
 */
void ipoib_roce_addr_event(struct ipoib_dev *priv, unsigned long event)
{
	if (event == NETDEV_DOWN && ipoib_roce_is_soft(priv))
		ipoib_ctl_post_later(priv, IPOIB_CTL_PORT, IPOIB_ROCE_GID_PAUSE);
	else
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
}

/**
 * ipoib_roce_neigh_event - a neighbour of the stack on the Ethernet port has changed
 * @priv: the interface above
 * @neigh: the neighbour
 *
 * Context: any but hard interrupt, RCU read side; the lock of the neighbour table may be held
 */
void ipoib_roce_neigh_event(struct ipoib_dev *priv, struct neighbour *neigh)
{
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
	ipoib_neigh_mac_moved(priv, &gid, valid ? mac : NULL);
}

/**
 * ipoib_roce_register - get ready for queries for paths
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_roce_register(void)
{
	ipoib_limit_init(&ipoib_roce_limit, IPOIB_ROCE_QUERIES_MAX);
	ipoib_roce_wq = alloc_workqueue("ipoib_roce", WQ_UNBOUND, 0);
	return ipoib_roce_wq ? 0 : -ENOMEM;
}

/**
 * ipoib_roce_unregister - undo ipoib_roce_register()
 */
void ipoib_roce_unregister(void)
{
	destroy_workqueue(ipoib_roce_wq);
}
