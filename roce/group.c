// SPDX-License-Identifier: GPL-2.0
/*
 * Groups on RoCE: their records, made by the rules of Documentation/roce.rst,
 * and the membership of the Ethernet port that goes with each.
 *
 * A group with a listener is joined on the net_device of the port as well (MLD
 * or IGMP): the IP stack below drops what it has not joined, and so do snooping
 * switches. The stack counts users of an address, so several groups and
 * interfaces may share one. Sending needs no membership.
 *
 * A join needs RTNL, for which neither the multicast work nor ndo_stop() may
 * wait. So both put a membership on a list, and a work of its own begins or ends
 * it; no holder of RTNL waits for that work. The work alone moves a membership
 * from @todo to @joined or frees it; ipoib_roce_group_leave() moves it back to
 * @todo. One that the work is busy with, or could not begin, is in neither list.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip.h>

#include "ipoib.h"
#include "roce/roce.h"

/**
 * struct ipoib_roce_member - a membership, or a sender
 * @handle: given to the group; its context is the group, NULL once that has
 *	left, under &ipoib_roce.lock
 * @list: in @todo or @joined, or in none; under &ipoib_roce.lock
 * @joined: the net_device has joined; under RTNL
 */
struct ipoib_roce_member {
	struct ib_sa_multicast handle;
	struct list_head list;
	bool joined;
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
	/* That does not return whether there was memory for it. */
	group = rtnl_dereference(in_dev->mc_list);
	while (group && group->multiaddr != addr)
		group = rtnl_dereference(group->next_rcu);
	return group ? 0 : -ENOMEM;
}

/* What has been unregistered has left all groups; nothing is found then. */
static void ipoib_roce_ndev_leave(struct net_device *ndev, const union ib_gid *mgid)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!ipoib_roce_is_ipv4(mgid) && IS_ENABLED(CONFIG_IPV6))
		ipv6_dev_mc_dec(ndev, (const struct in6_addr *)mgid->raw);
	else if (ipoib_roce_is_ipv4(mgid) && in_dev)
		ip_mc_dec_group(in_dev, ipoib_roce_ipv4(mgid));
}

/*
 * Joins, or joins again: an IP stack whose MTU became too small has lost its memberships
 * without an event, so what was joined is given up and taken anew.
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
	/* Or left meanwhile: then it is in @todo again. */
	if (member->handle.context) {
		/* Each is answered once: what was not joined is not tried again here. */
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

/**
 * ipoib_roce_group_refresh - see that all memberships are still there
 * @roce: the interface
 *
 * Context: any but hard interrupt
 */
void ipoib_roce_group_refresh(struct ipoib_roce *roce)
{
	spin_lock_bh(&roce->lock);
	list_splice_tail_init(&roce->joined, &roce->todo);
	spin_unlock_bh(&roce->lock);
	queue_work(system_unbound_wq, &roce->group_work);
}

/**
 * ipoib_roce_group_join - join a group, see &struct ipoib_fabric_ops
 * @mcast: the group
 * @state: JoinState
 *
 * Every node makes the same record from its own port. An IPv6 port takes the MGID of
 * RFC 4391. An IPv4 address has no room for one, so all groups of a link share one.
 *
 * Context: process
 * Return: handle or ERR_PTR()
 */
struct ib_sa_multicast *ipoib_roce_group_join(struct ipoib_mcast *mcast, u8 state)
{
	struct ipoib_dev *priv = mcast->priv;
	struct ipoib_roce *roce = priv->roce;
	struct ipoib_roce_member *member;
	struct ib_sa_mcmember_rec *rec;

	member = kzalloc(sizeof(*member), GFP_KERNEL);
	if (!member)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&member->list);
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

/**
 * ipoib_roce_group_leave - leave a group, see &struct ipoib_fabric_ops
 * @handle: from ipoib_roce_group_join()
 *
 * Context: any but hard interrupt
 */
void ipoib_roce_group_leave(struct ib_sa_multicast *handle)
{
	struct ipoib_mcast *mcast = handle->context;
	struct ipoib_roce *roce = mcast->priv->roce;
	struct ipoib_roce_member *member;

	member = container_of(handle, struct ipoib_roce_member, handle);
	/* It has never been on a list. */
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

/**
 * ipoib_roce_group_ah - attributes of an address handle, see &struct ipoib_fabric_ops
 * @priv: the interface
 * @rec: record of the group
 * @attr: the attributes, which hold the entry of the GID table
 *
 * Return: 0, or -ENODEV if the port has no GID, or no longer the one that the group was
 * joined with
 */
int ipoib_roce_group_ah(struct ipoib_dev *priv, struct ib_sa_mcmember_rec *rec,
			struct rdma_ah_attr *attr)
{
	/* There may be an entry with the GID that will not do, see ipoib_roce_rank(). */
	if (READ_ONCE(priv->roce->gid_index) < 0 ||
	    ib_init_ah_from_mcmember(priv->ca, priv->port, rec, priv->lower,
				     IB_GID_TYPE_ROCE_UDP_ENCAP, attr))
		return -ENODEV;
	if (ipoib_roce_is_ipv4(&rec->mgid))
		ip_eth_mc_map(ipoib_roce_ipv4(&rec->mgid), attr->roce.dmac);
	else
		ipv6_eth_mc_map((const struct in6_addr *)rec->mgid.raw, attr->roce.dmac);
	return 0;
}

/**
 * ipoib_roce_group_init - get ready for memberships
 * @roce: the interface
 */
void ipoib_roce_group_init(struct ipoib_roce *roce)
{
	spin_lock_init(&roce->lock);
	INIT_LIST_HEAD(&roce->todo);
	INIT_LIST_HEAD(&roce->joined);
	INIT_WORK(&roce->group_work, ipoib_roce_group_work);
}

