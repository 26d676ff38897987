// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCE port: its state, and which entry of its GID table is the address of the link.
 */
#include <linux/if_addr.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "roce/roce.h"

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

/**
 * ipoib_roce_port_read - read the port, see &struct ipoib_fabric_ops
 * @priv: the interface
 * @port: filled in
 *
 * Context: process, without RTNL
 * Return: 0 or negative error
 */
int ipoib_roce_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
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
	port->pkey_index = 0;
	port->mtu = ipoib_roce_mtu(&attr, &pick, priv->vid);
	port->max_mtu = max(ipoib_mtu_from_ib(attr.max_mtu), IPOIB_MTU_MIN);
	port->mbps = ipoib_port_mbps(&attr);
	return 0;
}
