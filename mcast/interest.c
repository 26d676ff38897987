// SPDX-License-Identifier: GPL-2.0
/*
 * Groups that this node receives: groups that the stack listens to, and all groups of the link if
 * multicast is routed.
 *
 * The stack's list of link-layer addresses has the groups it listens to, except those left to user
 * space (umcast).
 *
 * InfiniBand has no promiscuous reception of multicast. By RFC 4391 section 11 a router asks the SA
 * for all groups, joins the groups of the link as a NonMember, and follows the reports of the SA
 * (U57, A25, A26). The stack requests that by IFF_ALLMULTI or IFF_PROMISC, which it sets for
 * multicast interfaces of routing daemons, too.
 *
 * A NonMember receives and does not keep a group alive. The user goes with the group, or with the
 * flag.
 */
#include <linux/jiffies.h>
#include <linux/rculist.h>

#include "mcast/mcast.h"

/* ---- routing ---- */

/* Interval of the list of groups without reports, and the addition with reports */
#define IPOIB_ROUTES_POLL	(10ul * HZ)
#define IPOIB_ROUTES_REPORTED	(300 * HZ)

/*
 * List the groups of the link again in @delay jiffies, if multicast is routed, unless an earlier
 * list is due; 0 after an event.
 * Context: mcast.lock held.
 */
void ipoib_mcast_route_due(struct ipoib_dev *priv, unsigned long delay)
{
	struct ipoib_groups *groups = &priv->mcast;

	lockdep_assert_held(&groups->lock);
	if (!(groups->routes & IPOIB_ROUTES_ON) || (delay && groups->routes & IPOIB_ROUTES_DUE))
		return;
	groups->routes |= IPOIB_ROUTES_DUE;
	groups->routes_at = jiffies + delay;
	/* The next pause is short again; 1 remembers that the failure is in the log. */
	if (!delay && groups->routes_failures)
		groups->routes_failures = 1;
	ipoib_mcast_resync(priv);
}

/* Join a group of the link for routing. Context: mcast.lock held. */
void ipoib_mcast_route_want(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;

	mcast = ipoib_mcast_group_get(priv, mgid->raw, IPOIB_USER_ROUTE);
	if (!mcast) {
		/* No room, or no memory for a moment */
		ipoib_mcast_route_due(priv, ipoib_mcast_group_fits(priv, IPOIB_USER_ROUTE) ?
					    HZ / 2 : IPOIB_ROUTES_POLL);
		return;
	}
	/* The group may be newer than the last answer of the SA. */
	if (ipoib_mcast_group_is_busy(mcast->state))
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
}

/*
 * Handle the list of @n groups of the partition, or a negative error.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_route_listed(struct ipoib_dev *priv, int status,
			      const union ib_gid *mgids, unsigned int n)
{
	unsigned int failures;

	spin_lock_bh(&priv->mcast.lock);
	failures = priv->mcast.routes_failures;
	priv->mcast.routes &= ~IPOIB_ROUTES_ASKED;
	if (priv->mcast.routes & IPOIB_ROUTES_ON && status) {
		/* Repeated failures are logged once (U58). */
		ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
		if (!failures)
			netdev_warn(priv->netdev,
				    "cannot list the multicast groups to route: %d; trying again\n",
				    status);
		priv->mcast.routes_failures = failures + 1;
		ipoib_mcast_route_due(priv, ipoib_backoff_spread(ipoib_backoff_fast(failures)));
	} else if (priv->mcast.routes & IPOIB_ROUTES_ON) {
		priv->mcast.routes_failures = 0;
		for (; n; n--, mgids++)
			if (ipoib_mgid_on_link(mgids, &priv->broadcast_mgid))
				ipoib_mcast_route_want(priv, mgids);
		/*
		 * Remove groups that are neither listed nor reported since: the list may be older.
		 */
		ipoib_mcast_group_sweep(priv, IPOIB_USER_ROUTE);
	}
	spin_unlock_bh(&priv->mcast.lock);
	ipoib_mcast_resync(priv);
}

/* Stop routing multicast. Context: mcast.lock held. */
void ipoib_mcast_route_end(struct ipoib_dev *priv)
{
	lockdep_assert_held(&priv->mcast.lock);
	if (!(priv->mcast.routes & IPOIB_ROUTES_ON))
		return;
	priv->mcast.routes &= IPOIB_ROUTES_ASKED;
	ipoib_sa_monitor(priv->agent, false);
}

/*
 * Follow the flags, and request the list of groups when it is due. A single list is under way at a
 * time, as an older list must not undo reports before a newer one.
 *
 * Returns the jiffies until the next call, or ULONG_MAX. Takes mcast.lock.
 */
static unsigned long ipoib_mcast_route_step(struct ipoib_dev *priv)
{
	unsigned int flags = READ_ONCE(priv->netdev->flags);
	bool routing = flags & (IFF_ALLMULTI | IFF_PROMISC) && priv->agent;
	struct ipoib_groups *groups = &priv->mcast;
	unsigned long delay = ULONG_MAX;
	struct ipoib_mcast *mcast;
	bool reported;
	int err;

	spin_lock_bh(&groups->lock);
	if (!routing && groups->routes & IPOIB_ROUTES_ON) {
		ipoib_mcast_route_end(priv);
		list_for_each_entry(mcast, &groups->list, list)
			ipoib_mcast_group_drop_user(mcast, IPOIB_USER_ROUTE);
	}
	if (routing && !(groups->routes & IPOIB_ROUTES_ON) && ipoib_mcast_is_open(priv)) {
		groups->routes |= IPOIB_ROUTES_ON;
		groups->routes_failures = 0;
		ipoib_sa_monitor(priv->agent, true);
		ipoib_mcast_route_due(priv, 0);
	}
	if (!(groups->routes & IPOIB_ROUTES_ON) || groups->routes & IPOIB_ROUTES_ASKED ||
	    !test_bit(IPOIB_FLAG_JOINED, &priv->flags))
		goto unlock;
	/* Reports may stop without notification, and a subscription may be silent. */
	reported = !(groups->routes & IPOIB_ROUTES_DUE) && ipoib_sa_notice_on(priv->agent);
	delay = ipoib_mcast_until(groups->routes_at + (reported ? IPOIB_ROUTES_REPORTED : 0));
	if (delay) {
		delay = min(delay, IPOIB_ROUTES_POLL);
		goto unlock;
	}
	groups->routes = IPOIB_ROUTES_ON | IPOIB_ROUTES_ASKED;
	groups->routes_at = jiffies + ipoib_backoff_spread(IPOIB_ROUTES_POLL);
	spin_unlock_bh(&groups->lock);
	err = ipoib_sa_query_groups(priv);
	if (err)
		ipoib_mcast_route_listed(priv, err, NULL, 0);
	return IPOIB_ROUTES_POLL;

unlock:
	spin_unlock_bh(&groups->lock);
	return delay;
}

/* ---- listening ---- */

/* Interval of checks of groups that belong to user space */
#define IPOIB_FOREIGN_POLL	HZ

/* ib_sa has one membership for all interfaces of the port. */
static bool ipoib_mcast_listen_is_shared(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	const struct ipoib_mcast *mcast;
	struct ipoib_dev *other;
	bool shared = false;

	rcu_read_lock();
	list_for_each_entry_rcu(other, &priv->hca->devs, list) {
		if (other->port != priv->port)
			continue;
		mcast = rhashtable_lookup(&other->mcast.table, mgid, ipoib_mcast_params);
		shared |= mcast && READ_ONCE(mcast->users) & IPOIB_USER_LISTEN;
	}
	rcu_read_unlock();
	return shared;
}

/*
 * Add a group for an address of the stack's list, if it has scope and P_Key of the link. Returns
 * the jiffies until the next check, or ULONG_MAX. mcast.lock held.
 *
 * umcast: a group by which user space receives on this port is left out, whatever the interface
 * sends to it. Memberships of user space are unknown on RoCE, without SA, and for a group that
 * another interface of the port listens to. A group that an interface has just left may look like
 * one of user space for a moment.
 */
static unsigned long ipoib_mcast_listen_add(struct ipoib_dev *priv, const u8 *lladdr)
{
	const struct ipoib_lladdr *addr = (const void *)lladdr;
	struct ipoib_mcast *mcast;
	union ib_gid mgid;

	memcpy(mgid.raw, addr->gid, sizeof(mgid));
	if (!ipoib_mgid_on_link(&mgid, &priv->broadcast_mgid))
		return ULONG_MAX;
	mcast = ipoib_mcast_group_lookup(priv, mgid.raw);
	if (!(mcast && mcast->users & IPOIB_USER_LISTEN) && READ_ONCE(priv->mcast.umcast) &&
	    ipoib_sa_held(priv, &mgid) & IPOIB_JOIN_FULL &&
	    !ipoib_mcast_listen_is_shared(priv, &mgid))
		return IPOIB_FOREIGN_POLL;
	if (ipoib_mcast_group_get(priv, mgid.raw, IPOIB_USER_LISTEN))
		return ULONG_MAX;
	ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
	/* No memory, or no room: the end of another group starts the next pass. */
	return priv->mcast.ngroups < IPOIB_MCAST_MAX ? HZ / 10 : ULONG_MAX;
}

/*
 * Follow the stack's list, and the groups to route. Each run follows the stack's list and flags
 * (U54, U56). There is no event when user space leaves a group, or when ib_sa has left one for this
 * interface: both are polled.
 * Context: process, on the ordered &ipoib_dev.wq, as the works of groups.
 */
void ipoib_mcast_interest_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work), struct ipoib_dev, mcast.work);
	struct net_device *dev = priv->netdev;
	unsigned long delay = ULONG_MAX;
	struct netdev_hw_addr *ha;

	/* Queued by a caller that ran before the interface began to go down. */
	if (!ipoib_mcast_is_open(priv))
		return;
	netif_addr_lock_bh(dev);
	spin_lock(&priv->mcast.lock);
	netdev_for_each_mc_addr(ha, dev)
		delay = min(delay, ipoib_mcast_listen_add(priv, ha->addr));
	ipoib_mcast_group_sweep(priv, IPOIB_USER_LISTEN);
	spin_unlock(&priv->mcast.lock);
	netif_addr_unlock_bh(dev);
	delay = min(delay, ipoib_mcast_route_step(priv));
	if (delay != ULONG_MAX && test_bit(IPOIB_FLAG_UP, &priv->flags))
		queue_delayed_work(priv->wq, &priv->mcast.work, delay);
}

/*
 * Set whether groups that user space has joined are left to user space.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_set_umcast(struct ipoib_dev *priv, bool umcast)
{
	if (umcast && !READ_ONCE(priv->mcast.umcast))
		netdev_warn(priv->netdev, "ignoring multicast groups joined directly by userspace\n");
	WRITE_ONCE(priv->mcast.umcast, umcast);
	ipoib_mcast_resync(priv);
}
