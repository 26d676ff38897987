// SPDX-License-Identifier: GPL-2.0
/*
 * The RoCE fabric: InfiniBand's transport over UDP and Ethernet, without SM and
 * SA. What those would say follows from rules, Documentation/roce.rst, and from
 * the kernel's own address resolution.
 *
 * This file reads the port and chooses its GID, resolves paths, and watches
 * what may change either: net_devices, their addresses, and neighbours. Groups
 * are in ipoib_roce_group.c, connections in ipoib_roce_conn.c. These are
 * operations of ipoib_fabric.h; what each of them owes its callers is said
 * there.
 *
 * A query for a path has one work, which begins it and ends it: queued first
 * when the path is asked for, and again when the address has been resolved or
 * nobody wants to know any more, whatever comes first.
 */
#include <linux/etherdevice.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_roce.h"

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

/* All interfaces: changed under RTNL, read under RTNL or RCU. */
static LIST_HEAD(ipoib_roce_devs);

/* How good a GID is for us, the higher the better. */
enum {
	IPOIB_ROCE_UNFIT,
	IPOIB_ROCE_IPV4,
	IPOIB_ROCE_IPV6,
};

/* What a port without a GID for us lacks, see ipoib_roce_report(). */
enum {
	IPOIB_ROCE_LACKS_NOTHING,
	IPOIB_ROCE_LACKS_NDEV,
	IPOIB_ROCE_LACKS_LINK,
	IPOIB_ROCE_LACKS_IPV6,
	IPOIB_ROCE_LACKS_IPV4,
};

/**
 * struct ipoib_roce_pick - the GID chosen so far
 * @rank: how good it is
 * @index: where in the table
 * @gid: the GID
 * @entry: the entry itself, to compare with only
 * @ndev: net_device of the link, to compare with only
 * @name: its name
 * @mtu: its MTU
 * @running: it is up and has carrier
 * @ipv6: IPv6 is enabled there
 */
struct ipoib_roce_pick {
	int rank;
	int index;
	union ib_gid gid;
	const void *entry;
	const struct net_device *ndev;
	char name[IFNAMSIZ];
	unsigned int mtu;
	bool running;
	bool ipv6;
};

static bool ipoib_roce_ipv6_enabled(const struct net_device *ndev)
{
	const struct inet6_dev *idev = __in6_dev_get(ndev);

	return idev && !READ_ONCE(idev->cnf.disable_ipv6);
}

/*
 * A link-local IPv6 address is what every node can have, whatever else is
 * configured. It has to be an address of the net_device, too: the table holds
 * one made of the MAC address even if IPv6 is disabled or prefers another.
 * IPv4 is for where there is no IPv6, not for until its address is there.
 */
static int ipoib_roce_rank(const struct ib_gid_attr *attr,
			   const struct ipoib_roce_pick *pick,
			   struct net_device *ndev)
{
	const struct in6_addr *addr = (const void *)attr->gid.raw;

	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return IPOIB_ROCE_UNFIT;
	if (ipv6_addr_v4mapped(addr))
		return pick->ipv6 ? IPOIB_ROCE_UNFIT : IPOIB_ROCE_IPV4;
	if (!pick->ipv6 || !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL) ||
	    !IS_ENABLED(CONFIG_IPV6) ||
	    !ipv6_chk_addr_and_flags(dev_net(ndev), addr, ndev, false, 1,
				     IFA_F_DADFAILED))
		return IPOIB_ROCE_UNFIT;
	return IPOIB_ROCE_IPV6;
}

/* The first net_device of our VLAN in the table is that of the link. */
static bool ipoib_roce_pick_ndev(struct ipoib_roce_pick *pick,
				 struct net_device *ndev, u16 vid)
{
	if ((is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) : 0) != vid)
		return false;
	if (!pick->ndev) {
		pick->ndev = ndev;
		pick->mtu = READ_ONCE(ndev->mtu);
		pick->running = netif_running(ndev) && netif_carrier_ok(ndev);
		pick->ipv6 = IS_ENABLED(CONFIG_IPV6) &&
			     ipoib_roce_ipv6_enabled(ndev);
		strscpy(pick->name, ndev->name, sizeof(pick->name));
	}
	return pick->ndev == ndev;
}

static void ipoib_roce_pick_one(struct ipoib_dev *priv,
				const struct ib_gid_attr *attr,
				struct ipoib_roce_pick *pick)
{
	struct net_device *ndev;
	int rank;

	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev) || !ipoib_roce_pick_ndev(pick, ndev, priv->vid))
		return;
	rank = ipoib_roce_rank(attr, pick, ndev);
	/* Among equals the first, but the one we have is kept. */
	if (rank < pick->rank || rank == IPOIB_ROCE_UNFIT ||
	    (rank == pick->rank &&
	     memcmp(&attr->gid, &priv->local_gid, sizeof(attr->gid))))
		return;
	pick->rank = rank;
	pick->index = attr->index;
	pick->gid = attr->gid;
	pick->entry = attr;
}

static void ipoib_roce_pick_gid(struct ipoib_dev *priv, unsigned int count,
				struct ipoib_roce_pick *pick)
{
	const struct ib_gid_attr *attr;
	unsigned int i;

	for (i = 0; i < count; i++) {
		attr = rdma_get_gid_attr(priv->ca, priv->port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ipoib_roce_pick_one(priv, attr, pick);
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
	}
}

/**
 * ipoib_roce_is_ours - whether an entry of a GID table is that of our link
 * @priv: the interface
 * @attr: the entry, or NULL
 *
 * The table has the same link-local GID for the untagged link and each VLAN.
 *
 * Context: any
 * Return: true if it is
 */
bool ipoib_roce_is_ours(const struct ipoib_dev *priv,
			const struct ib_gid_attr *attr)
{
	bool ours;

	if (!attr || attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	    memcmp(&attr->gid, &priv->local_gid, sizeof(attr->gid)))
		return false;
	rcu_read_lock();
	ours = rdma_read_gid_attr_ndev_rcu(attr) ==
	       READ_ONCE(priv->roce->ndev);
	rcu_read_unlock();
	return ours;
}

/**
 * ipoib_roce_gid_attr - our entry of the port's GID table
 * @priv: the interface
 *
 * Context: any but hard interrupt
 * Return: the entry, for rdma_put_gid_attr(); -ENODEV if it has changed
 */
const struct ib_gid_attr *ipoib_roce_gid_attr(struct ipoib_dev *priv)
{
	const struct ib_gid_attr *attr;

	attr = rdma_get_gid_attr(priv->ca, priv->port,
				 READ_ONCE(priv->roce->gid_index));
	if (IS_ERR(attr))
		return ERR_PTR(-ENODEV);
	if (ipoib_roce_is_ours(priv, attr))
		return attr;
	rdma_put_gid_attr(attr);
	return ERR_PTR(-ENODEV);
}

/* The driver of the port knows its MTU, but not that of a VLAN on it. */
static unsigned int ipoib_roce_mtu(const struct ib_port_attr *attr,
				   const struct ipoib_roce_pick *pick, u16 vid)
{
	enum ib_mtu mtu = attr->active_mtu;

	if (vid && pick->ndev)
		mtu = min(mtu, iboe_get_mtu(pick->mtu));
	return ipoib_mtu_from_ib(clamp(mtu, IB_MTU_256, IB_MTU_4096));
}

/* For ipoib_roce_start(), which may run at the same time. */
static void ipoib_roce_note_ndev(struct ipoib_roce *roce,
				 const struct ipoib_roce_pick *pick)
{
	spin_lock_bh(&roce->lock);
	roce->ndev_mtu = pick->mtu;
	strscpy(roce->ndev_name, pick->name, sizeof(roce->ndev_name));
	spin_unlock_bh(&roce->lock);
}

static int ipoib_roce_lack(const struct ipoib_roce_pick *pick)
{
	if (pick->rank)
		return IPOIB_ROCE_LACKS_NOTHING;
	if (!pick->ndev)
		return IPOIB_ROCE_LACKS_NDEV;
	if (!pick->running)
		return IPOIB_ROCE_LACKS_LINK;
	return pick->ipv6 ? IPOIB_ROCE_LACKS_IPV6 : IPOIB_ROCE_LACKS_IPV4;
}

static void ipoib_roce_log_lack(struct ipoib_dev *priv, int lack,
				const char *name)
{
	struct net_device *dev = priv->netdev;

	switch (lack) {
	case IPOIB_ROCE_LACKS_NDEV:
		/* Without a VLAN it is the port that is about to go. */
		if (priv->vid)
			netdev_info(dev, "waiting for a GID: the port has none of VLAN %u\n",
				    priv->vid);
		break;
	case IPOIB_ROCE_LACKS_LINK:
		netdev_info(dev, "waiting for a GID: %s is down or has no carrier\n",
			    name);
		break;
	case IPOIB_ROCE_LACKS_IPV6:
		netdev_info(dev, "waiting for a GID: %s has no IPv6 link-local address\n",
			    name);
		break;
	case IPOIB_ROCE_LACKS_IPV4:
		netdev_info(dev, "waiting for a GID: %s has IPv6 disabled and no IPv4 address\n",
			    name);
		break;
	}
}

/*
 * Why there is no carrier, once for each reason. Before the interface is
 * registered it has no name; the port is read again right after that.
 */
static void ipoib_roce_report(struct ipoib_dev *priv,
			      const struct ipoib_roce_pick *pick)
{
	int lack = ipoib_roce_lack(pick);

	if (priv->netdev->reg_state != NETREG_REGISTERED ||
	    priv->roce->reported_lack == lack)
		return;
	priv->roce->reported_lack = lack;
	ipoib_roce_log_lack(priv, lack, pick->name);
}

static int ipoib_roce_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	struct ipoib_roce *roce = priv->roce;
	struct ipoib_roce_pick pick = {};
	struct ib_port_attr attr;
	int err;

	err = ib_query_port(priv->ca, priv->port, &attr);
	if (err)
		return err;
	ipoib_roce_pick_gid(priv, attr.gid_tbl_len, &pick);
	WRITE_ONCE(roce->ndev, pick.ndev);
	WRITE_ONCE(roce->gid_index, pick.rank ? pick.index : -1);
	ipoib_roce_note_ndev(roce, &pick);
	ipoib_roce_report(priv, &pick);
	port->active = attr.state == IB_PORT_ACTIVE && pick.rank &&
		       pick.running;
	port->lid = 0;
	port->lmc = 0;
	/* Without a GID we keep our name until there is another. */
	port->gid = pick.rank ? pick.gid : priv->local_gid;
	port->gid_entry = pick.rank ? pick.entry : priv->gid_entry;
	port->pkey = IPOIB_ROCE_PKEY;
	port->mtu = ipoib_roce_mtu(&attr, &pick, priv->vid);
	port->max_mtu = max(ipoib_mtu_from_ib(attr.max_mtu), IPOIB_MTU_MIN);
	port->mbps = ipoib_port_mbps(&attr);
	return 0;
}

/*
 * By a GID that has gone the CM makes no address handle, hence sends no DREQ. It would
 * repeat one that is under way, which soft-RoCE does not survive.
 */
static void ipoib_roce_check_gid(struct ipoib_dev *priv)
{
	const struct ib_gid_attr *attr;

	if (!ipoib_roce_is_soft(priv))
		return;
	attr = ipoib_roce_gid_attr(priv);
	if (IS_ERR(attr))
		priv->events->gid_lost(priv);
	else
		rdma_put_gid_attr(attr);
}

static void ipoib_roce_event(struct ipoib_dev *priv, enum ib_event_type event)
{
	switch (event) {
	case IB_EVENT_GID_CHANGE:
		ipoib_roce_check_gid(priv);
		priv->events->paths_stale(priv);
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
	unsigned int ndev_mtu;
	char name[IFNAMSIZ];

	if (roce->reported_mtu == mtu)
		return;
	roce->reported_mtu = mtu;
	spin_lock_bh(&roce->lock);
	ndev_mtu = roce->ndev_mtu;
	strscpy(name, roce->ndev_name, sizeof(name));
	spin_unlock_bh(&roce->lock);
	if (mtu >= usual || !name[0])
		return;
	netdev_info(priv->netdev,
		    "MTU %u, as %s has MTU %u: with %u or more there it is %u\n",
		    mtu, name, ndev_mtu,
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
 * @path: the path
 * @attr: our GID, held
 * @addr: what the address resolution works with
 * @begun: the address resolution has been started; the work only, as the next
 * @tries: how often
 * @cancelled: the answer is of no interest any more
 * @status: of the address resolution
 */
struct ipoib_roce_query {
	struct work_struct work;
	struct ipoib_path *path;
	const struct ib_gid_attr *attr;
	struct rdma_dev_addr addr;
	bool begun;
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

static bool ipoib_roce_gid_valid(const union ib_gid *gid)
{
	const struct in6_addr *addr = (const void *)gid->raw;

	return !rdma_is_multicast_addr((struct in6_addr *)addr) &&
	       !ipv6_addr_any(addr) && !ipv6_addr_loopback(addr);
}

static int ipoib_roce_query_begin(struct ipoib_roce_query *query)
{
	const union ib_gid *dgid = &query->path->gid;
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
	query->addr.net = &init_net;
	query->addr.sgid_attr = query->attr;
	query->begun = true;
	return rdma_resolve_ip(&src.any, &dst.any, &query->addr,
			       ipoib_roce_timeout_ms[query->tries++],
			       ipoib_roce_resolved, true, query);
}

static int ipoib_roce_query_prepare(struct ipoib_roce_query *query)
{
	const struct ib_gid_attr *attr;

	if (!ipoib_roce_gid_valid(&query->path->gid))
		return -EADDRNOTAVAIL;
	attr = ipoib_roce_gid_attr(query->path->priv);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	query->attr = attr;
	return 0;
}

/* Flows to different nodes take different ways where there are several. */
static __be32 ipoib_roce_flow_label(const union ib_gid *sgid,
				    const union ib_gid *dgid)
{
	u32 hash = jhash(sgid, sizeof(*sgid), 0) ^
		   jhash(dgid, sizeof(*dgid), 0);

	return cpu_to_be32((hash & IB_GRH_FLOWLABEL_MASK) ?: 1);
}

static void ipoib_roce_make_path(struct ipoib_roce_query *query,
				 struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = query->path->priv;

	rec->rec_type = SA_PATH_REC_TYPE_ROCE_V2;
	rec->dgid = query->path->gid;
	rec->sgid = query->attr->gid;
	rec->pkey = cpu_to_be16(IPOIB_ROCE_PKEY);
	rec->mtu_selector = IB_SA_EQ;
	rec->mtu = ib_mtu_int_to_enum(priv->port_mtu + IPOIB_ENCAP_LEN);
	rec->rate_selector = IB_SA_EQ;
	rec->rate = IB_RATE_PORT_CURRENT;
	rec->packet_life_time_selector = IB_SA_EQ;
	rec->packet_life_time = IPOIB_ROCE_LIFE;
	rec->hop_limit = query->addr.hoplimit;
	rec->flow_label = ipoib_roce_flow_label(&rec->sgid, &rec->dgid);
	rec->numb_path = 1;
	sa_path_set_dmac(rec, query->addr.dst_dev_addr);
	rec->roce.route_resolved = true;
}

/* The link is one Ethernet segment: what is behind a router is not on it. */
static bool ipoib_roce_on_link(const struct rdma_dev_addr *addr)
{
	return addr->network != RDMA_NETWORK_IPV4 &&
	       addr->network != RDMA_NETWORK_IPV6;
}

static void ipoib_roce_query_end(struct ipoib_roce_query *query, int err)
{
	struct ipoib_path *path = query->path;
	struct ipoib_dev *priv = path->priv;
	struct sa_path_rec rec = {};

	if (!err && !ipoib_roce_on_link(&query->addr))
		err = -ENETUNREACH;
	/* The broadcast address of a subnet looks like any other. */
	if (!err && is_multicast_ether_addr(query->addr.dst_dev_addr))
		err = -EADDRNOTAVAIL;
	if (!err)
		ipoib_roce_make_path(query, &rec);
	if (query->attr)
		rdma_put_gid_attr(query->attr);
	/* After this nobody can cancel it; before, somebody may have. */
	spin_lock_bh(&priv->path_lock);
	path->query = NULL;
	spin_unlock_bh(&priv->path_lock);
	cancel_work(&query->work);
	kfree(query);
	priv->events->path_done(path, err, &rec);
}

static void ipoib_roce_query_work(struct work_struct *work)
{
	struct ipoib_roce_query *query = container_of(work,
						      struct ipoib_roce_query,
						      work);
	bool again;
	int err;

	if (query->begun) {
		/* After this the callback neither runs nor will run. */
		rdma_addr_cancel(&query->addr);
		err = query->status;
		again = err == -ETIMEDOUT &&
			query->tries < ARRAY_SIZE(ipoib_roce_timeout_ms);
	} else {
		err = ipoib_roce_query_prepare(query);
		again = !err;
	}
	if (again)
		err = ipoib_roce_query_begin(query);
	if (!again || err)
		ipoib_roce_query_end(query, err);
}

static int ipoib_roce_path_get(struct ipoib_dev *priv, struct ipoib_path *path)
{
	struct ipoib_roce_query *query;

	lockdep_assert_held(&priv->path_lock);
	query = kzalloc(sizeof(*query), GFP_ATOMIC);
	if (!query)
		return -ENOMEM;
	INIT_WORK(&query->work, ipoib_roce_query_work);
	query->path = path;
	query->status = -ECANCELED;
	path->query = query;
	queue_work(ipoib_roce_wq, &query->work);
	return 0;
}

static void ipoib_roce_path_cancel(struct ipoib_dev *priv,
				   struct ipoib_path *path)
{
	struct ipoib_roce_query *query;

	spin_lock_bh(&priv->path_lock);
	query = path->query;
	if (query) {
		WRITE_ONCE(query->cancelled, true);
		queue_work(ipoib_roce_wq, &query->work);
	}
	spin_unlock_bh(&priv->path_lock);
}

static int ipoib_roce_path_ah(struct ipoib_dev *priv, struct sa_path_rec *rec,
			      struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid_attr;
	int err;

	sgid_attr = ipoib_roce_gid_attr(priv);
	if (IS_ERR(sgid_attr))
		return PTR_ERR(sgid_attr);
	err = ib_init_ah_attr_from_path(priv->ca, priv->port, rec, attr,
					sgid_attr);
	rdma_put_gid_attr(sgid_attr);
	return err;
}

/* See &struct ipoib_fabric_ops. */
static int ipoib_roce_mcast_ah(struct ipoib_dev *priv,
			       struct ib_sa_mcmember_rec *rec,
			       struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid_attr = ipoib_roce_gid_attr(priv);

	if (IS_ERR(sgid_attr))
		return PTR_ERR(sgid_attr);
	ipoib_roce_group_ah(priv, rec, sgid_attr, attr);
	return 0;
}

static void ipoib_roce_path_show(struct seq_file *file,
				 const struct ipoib_path *path)
{
	seq_printf(file, "  DMAC:     %pM\n", path->rec.roce.dmac);
	seq_printf(file, "  hops:     %u\n", path->rec.hop_limit);
}

static int ipoib_roce_init(struct ipoib_dev *priv)
{
	struct ipoib_roce *roce = kzalloc(sizeof(*roce), GFP_KERNEL);

	if (!roce)
		return -ENOMEM;
	roce->priv = priv;
	priv->roce = roce;
	priv->limit = &ipoib_roce_limit;
	ipoib_roce_group_init(roce);
	rtnl_lock();
	list_add_tail_rcu(&roce->list, &ipoib_roce_devs);
	rtnl_unlock();
	return 0;
}

static void ipoib_roce_exit(struct ipoib_dev *priv)
{
	struct ipoib_roce *roce = priv->roce;

	/* Memberships name net_devices: they end while we hear of those. */
	ipoib_roce_group_exit(roce);
	rtnl_lock();
	list_del_rcu(&roce->list);
	rtnl_unlock();
	synchronize_rcu();
	/* A notifier may have had them look at the port, and at memberships. */
	cancel_delayed_work_sync(&priv->ctl_work);
	cancel_work_sync(&roce->group_work);
	priv->roce = NULL;
	priv->limit = NULL;
	kfree(roce);
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
	.attach = ipoib_roce_group_attach,
	.detach = ipoib_roce_group_detach,
	.group_ah = ipoib_roce_mcast_ah,
	.conn_gid = ipoib_roce_gid_attr,
	.conn_check = ipoib_roce_conn_check,
};

/*
 * A new MAC address means a new GID in the same place of the table, and the
 * core can put it there only if nobody holds the old one.
 */
static void ipoib_roce_let_go(struct ipoib_dev *priv)
{
	priv->events->port_going(priv);
	flush_workqueue(ipoib_roce_wq);
	flush_delayed_work(&priv->ah_work);
}

static void ipoib_roce_ndev_event(struct ipoib_roce *roce, unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGEMTU:
		ipoib_roce_group_refresh(roce);
		break;
	case NETDEV_PRE_CHANGEADDR:
		ipoib_roce_let_go(roce->priv);
		/* If nothing comes of it; else that is told, too. */
		ipoib_ctl_post_later(roce->priv, IPOIB_CTL_PORT, HZ);
		return;
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEADDR:
	case NETDEV_UNREGISTER:
		break;
	default:
		return;
	}
	ipoib_ctl_post(roce->priv, IPOIB_CTL_PORT);
}

static int ipoib_roce_netdev_event(struct notifier_block *nb,
				   unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct ipoib_roce *roce;

	list_for_each_entry(roce, &ipoib_roce_devs, list) {
		/*
		 * Not only ours: a VLAN that is down has no GIDs, so we have
		 * none then, but memberships still name the one that was.
		 */
		if (event == NETDEV_UNREGISTER)
			ipoib_roce_group_forget(roce, ndev);
		if (READ_ONCE(roce->ndev) == ndev)
			ipoib_roce_ndev_event(roce, event);
	}
	return NOTIFY_DONE;
}

/*
 * After the port's driver, whichever was loaded first: it learns from the same
 * events what we are going to read, and does not tell us when it has.
 */
static struct notifier_block ipoib_roce_netdev_notifier = {
	.notifier_call = ipoib_roce_netdev_event,
	.priority = -1,
};

/*
 * An address came or went: it may be that of our GID. Soft-RoCE must not be asked for
 * anything by a GID that is about to go (ipoib_roce_is_soft()). The RDMA core says when
 * it has gone; the GID that is made of the MAC address stays in the table, though.
 */
static int ipoib_roce_inet6_event(struct notifier_block *nb,
				  unsigned long event, void *ptr)
{
	const struct inet6_ifaddr *ifa = ptr;
	struct ipoib_roce *roce;

	rcu_read_lock();
	list_for_each_entry_rcu(roce, &ipoib_roce_devs, list) {
		if (READ_ONCE(roce->ndev) != ifa->idev->dev)
			continue;
		if (event == NETDEV_DOWN && ipoib_roce_is_soft(roce->priv))
			ipoib_ctl_post_later(roce->priv, IPOIB_CTL_PORT,
					     IPOIB_ROCE_GID_PAUSE);
		else
			ipoib_ctl_post(roce->priv, IPOIB_CTL_PORT);
	}
	rcu_read_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_roce_inet6_notifier = {
	.notifier_call = ipoib_roce_inet6_event,
};

/* @now: MAC address that the neighbour has now, NULL if it does not answer */
static bool ipoib_roce_way_changed(const struct sa_path_rec *rec,
				   const void *now)
{
	return !now || !ether_addr_equal_unaligned(rec->roce.dmac, now);
}

static bool ipoib_roce_neigh_gid(const struct neighbour *neigh,
				 union ib_gid *gid)
{
	__be32 addr;

	switch (neigh->tbl->family) {
	case AF_INET:
		memcpy(&addr, neigh->primary_key, sizeof(addr));
		ipv6_addr_set_v4mapped(addr, (struct in6_addr *)gid->raw);
		return true;
	case AF_INET6:
		memcpy(gid->raw, neigh->primary_key, sizeof(gid->raw));
		return true;
	default:
		return false;
	}
}

static void ipoib_roce_neigh_event(struct neighbour *neigh)
{
	bool valid = READ_ONCE(neigh->nud_state) & NUD_VALID;
	char mac[MAX_ADDR_LEN];
	struct ipoib_roce *roce;
	union ib_gid gid;

	if (neigh->dev->type != ARPHRD_ETHER ||
	    !ipoib_roce_neigh_gid(neigh, &gid))
		return;
	if (!valid && READ_ONCE(neigh->nud_state) != NUD_FAILED)
		return;
	neigh_ha_snapshot(mac, neigh, neigh->dev);
	rcu_read_lock();
	list_for_each_entry_rcu(roce, &ipoib_roce_devs, list)
		if (READ_ONCE(roce->ndev) == neigh->dev)
			roce->priv->events->neighbour_moved(roce->priv, &gid,
				ipoib_roce_way_changed, valid ? mac : NULL);
	rcu_read_unlock();
}

static int ipoib_roce_netevent(struct notifier_block *nb, unsigned long event,
			       void *ptr)
{
	if (event == NETEVENT_NEIGH_UPDATE)
		ipoib_roce_neigh_event(ptr);
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_roce_netevent_notifier = {
	.notifier_call = ipoib_roce_netevent,
};

/**
 * ipoib_roce_register - watch what RoCE ports depend on
 *
 * Return: 0 or negative error
 */
int ipoib_roce_register(void)
{
	int err;

	ipoib_limit_init(&ipoib_roce_limit, IPOIB_ROCE_QUERIES_MAX);
	ipoib_roce_wq = alloc_workqueue("ipoib_roce", WQ_UNBOUND, 0);
	if (!ipoib_roce_wq)
		return -ENOMEM;
	err = register_netdevice_notifier(&ipoib_roce_netdev_notifier);
	if (err)
		goto destroy_wq;
	err = register_inet6addr_notifier(&ipoib_roce_inet6_notifier);
	if (err)
		goto unregister_netdev;
	err = register_netevent_notifier(&ipoib_roce_netevent_notifier);
	if (err)
		goto unregister_inet6;
	return 0;

unregister_inet6:
	unregister_inet6addr_notifier(&ipoib_roce_inet6_notifier);
unregister_netdev:
	unregister_netdevice_notifier(&ipoib_roce_netdev_notifier);
destroy_wq:
	destroy_workqueue(ipoib_roce_wq);
	return err;
}

/**
 * ipoib_roce_unregister - undo ipoib_roce_register()
 */
void ipoib_roce_unregister(void)
{
	unregister_netevent_notifier(&ipoib_roce_netevent_notifier);
	unregister_inet6addr_notifier(&ipoib_roce_inet6_notifier);
	unregister_netdevice_notifier(&ipoib_roce_netdev_notifier);
	destroy_workqueue(ipoib_roce_wq);
}
