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

/* How good a GID is, the higher the better. */
enum {
	IPOIB_ROCE_UNFIT,
	IPOIB_ROCE_IPV4,
	IPOIB_ROCE_IPV6,
};

/**
 * struct ipoib_roce_pick - what was found in a GID table
 * @old: GID that is in use
 * @seen: an entry is of the net_device
 * @rank: how good the GID chosen so far is
 * @index: where in the table
 * @gid: the GID
 * @entry: the entry itself, to compare with only
 */
struct ipoib_roce_pick {
	const union ib_gid *old;
	bool seen;
	int rank;
	int index;
	union ib_gid gid;
	const void *entry;
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
 * A link-local IPv6 address is what every node can have, whatever else is
 * configured. It has to be an address of the net_device, too: the table holds
 * one made of the MAC address even if IPv6 is disabled or prefers another.
 * IPv4 is for where there is no IPv6, not for until its address is there.
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

/* The GIDs of a net_device in the table of a port. */
static void ipoib_roce_pick_gid(struct ib_device *ca, u32 port,
				struct net_device *ndev,
				struct ipoib_roce_pick *pick)
{
	int i, count = ca->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	int rank;

	for (i = 0; i < count; i++) {
		attr = rdma_get_gid_attr(ca, port, i);
		if (IS_ERR(attr))
			continue;
		if (!ipoib_roce_gid_is_of(attr, ndev))
			goto put;
		pick->seen = true;
		rank = ipoib_roce_rank(attr, ndev);
		/* Among equals the first, but the one in use is kept. */
		if (rank < pick->rank || rank == IPOIB_ROCE_UNFIT ||
		    (rank == pick->rank &&
		     memcmp(&attr->gid, pick->old, sizeof(attr->gid))))
			goto put;
		pick->rank = rank;
		pick->index = attr->index;
		pick->gid = attr->gid;
		pick->entry = attr;
put:
		rdma_put_gid_attr(attr);
	}
}

/**
 * ipoib_roce_is_port_of - whether a port is that of a net_device
 * @ca: the HCA
 * @port: any port of it
 * @ndev: a registered net_device
 *
 * The GID table of a RoCE port names the net_devices that it sends by, whether they are up
 * or not, but a VLAN only while it is up: so it is the device below that counts.
 *
 * Context: RTNL held
 * Return: true if it is
 */
bool ipoib_roce_is_port_of(struct ib_device *ca, u32 port, struct net_device *ndev)
{
	const union ib_gid none = {};
	struct ipoib_roce_pick pick = { .old = &none };

	if (!rdma_protocol_roce_udp_encap(ca, port))
		return false;
#if IS_ENABLED(CONFIG_VLAN_8021Q)
	if (is_vlan_dev(ndev))
		ndev = vlan_dev_priv(ndev)->real_dev;
#endif
	/* HCAs know one VLAN. */
	if (is_vlan_dev(ndev))
		return false;
	ipoib_roce_pick_gid(ca, port, ndev, &pick);
	return pick.seen;
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
bool ipoib_roce_is_ours(const struct ipoib_dev *priv, const struct ib_gid_attr *attr)
{
	return attr && attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
	       !memcmp(&attr->gid, &priv->local_gid, sizeof(attr->gid)) &&
	       ipoib_roce_gid_is_of(attr, priv->lower);
}

/**
 * ipoib_roce_gid_attr - entry of the interface in the port's GID table
 * @priv: the interface
 *
 * Context: any but hard interrupt
 * Return: the entry, for rdma_put_gid_attr(); -ENODEV if it has changed
 */
const struct ib_gid_attr *ipoib_roce_gid_attr(struct ipoib_dev *priv)
{
	const struct ib_gid_attr *attr;

	attr = rdma_get_gid_attr(priv->ca, priv->port, READ_ONCE(priv->roce->gid_index));
	if (IS_ERR(attr))
		return ERR_PTR(-ENODEV);
	if (ipoib_roce_is_ours(priv, attr))
		return attr;
	rdma_put_gid_attr(attr);
	return ERR_PTR(-ENODEV);
}

/* Why there is no carrier, once for each reason. */
static void ipoib_roce_report(struct ipoib_dev *priv, const struct ipoib_roce_pick *pick)
{
	const char *lack = NULL;

	if (!pick->rank && !ipoib_roce_runs(priv->lower))
		lack = "is down or has no carrier";
	else if (!pick->rank && ipoib_roce_ipv6_enabled(priv->lower))
		lack = "has no IPv6 link-local address";
	else if (!pick->rank)
		lack = "has IPv6 disabled and no IPv4 address";
	if (lack && lack != priv->roce->reported_lack)
		netdev_info(priv->netdev, "waiting for a GID: %s %s\n", priv->lower->name, lack);
	priv->roce->reported_lack = lack;
}

/**
 * ipoib_roce_port_read - read the port, see &struct ipoib_fabric_ops
 * @priv: the interface
 * @port: zeroed; filled in
 *
 * Drivers of Ethernet adapters take RTNL to determine their speed, and an interface is made
 * under RTNL. So they are not asked before it is registered; the port is read again right
 * after that.
 *
 * Context: process; without RTNL if the interface is registered
 * Return: 0 or negative error
 */
int ipoib_roce_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	struct ib_port_attr attr = {
		.active_mtu = iboe_get_mtu(READ_ONCE(priv->lower->mtu)),
		.max_mtu = IB_MTU_4096,
	};
	struct ipoib_roce_pick pick = { .old = &priv->local_gid };
	bool registered = priv->netdev->reg_state == NETREG_REGISTERED;
	int err;

	if (registered) {
		err = ib_query_port(priv->ca, priv->port, &attr);
		if (err)
			return err;
	}
	ipoib_roce_pick_gid(priv->ca, priv->port, priv->lower, &pick);
	WRITE_ONCE(priv->roce->gid_index, pick.rank ? pick.index : -1);
	if (registered)
		ipoib_roce_report(priv, &pick);
	port->active = attr.state == IB_PORT_ACTIVE && pick.rank &&
		       ipoib_roce_runs(priv->lower);
	/* Without a GID the address stays until there is another. */
	port->gid = pick.rank ? pick.gid : priv->local_gid;
	port->gid_entry = pick.rank ? pick.entry : priv->gid_entry;
	port->pkey = IPOIB_ROCE_PKEY;
	/* The driver of the port knows its MTU, but not that of a VLAN on it. */
	if (priv->vid)
		attr.active_mtu = min(attr.active_mtu, iboe_get_mtu(READ_ONCE(priv->lower->mtu)));
	port->mtu = ipoib_mtu_from_ib(clamp(attr.active_mtu, IB_MTU_256, IB_MTU_4096));
	port->max_mtu = max(ipoib_mtu_from_ib(attr.max_mtu), IPOIB_MTU_MIN);
	port->mbps = ipoib_port_mbps(&attr);
	return 0;
}
