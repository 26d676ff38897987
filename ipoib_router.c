// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast routing: being a member of every group of the link.
 *
 * InfiniBand has no promiscuous reception of multicast. RFC 4391 section 11
 * has a router ask the SA for all groups, join those of the link as a NonMember,
 * and follow what the SA reports (U57, A25, A26). The stack says that it wants
 * that with IFF_ALLMULTI or IFF_PROMISC, which it sets for multicast interfaces
 * of routing daemons, too.
 *
 * A NonMember receives and does not keep a group alive. When a group goes, so
 * does our interest; when the flag goes, all of it.
 */
#include <linux/jiffies.h>
#include <linux/random.h>

#include "ipoib_multicast.h"

/* Without reports the groups are listed from time to time. */
#define IPOIB_ROUTES_POLL	(10 * HZ)
/* The first pause after a failure; the longest is as long as a poll's. */
#define IPOIB_ROUTES_RETRY	(HZ / 2)

/**
 * ipoib_router_due - list the groups of the link anew, if we route
 * @priv: the interface
 *
 * Context: mcast_lock held; the caller sees to it that the multicast work runs
 */
void ipoib_router_due(struct ipoib_dev *priv)
{
	lockdep_assert_held(&priv->mcast_lock);
	priv->routes_due = priv->routing;
	priv->routes_at = jiffies;
	priv->routes_pause = 0;
}

static void ipoib_router_stop(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	lockdep_assert_held(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list) {
		/* Sent to recently: then it is a sender's (A33). */
		if (mcast->users & IPOIB_USER_ROUTE &&
		    time_before(jiffies, READ_ONCE(mcast->used) +
					 IPOIB_SEND_UNUSED))
			ipoib_group_add_user(mcast, IPOIB_USER_SEND);
		ipoib_group_drop_user(mcast, IPOIB_USER_ROUTE);
	}
}

/**
 * ipoib_router_sync - follow the flags of the interface
 * @priv: the interface
 *
 * Context: multicast work
 */
void ipoib_router_sync(struct ipoib_dev *priv)
{
	unsigned int flags = READ_ONCE(priv->netdev->flags);
	bool routing = flags & (IFF_ALLMULTI | IFF_PROMISC) && priv->agent;

	spin_lock_bh(&priv->mcast_lock);
	if (priv->routing != routing && !priv->mcast_closed) {
		priv->routing = routing;
		ipoib_router_due(priv);
		if (!routing)
			ipoib_router_stop(priv);
	}
	spin_unlock_bh(&priv->mcast_lock);
}

/* The groups have to be listed once more, after a while or earlier. */
static void ipoib_router_again(struct ipoib_dev *priv, unsigned long delay)
{
	lockdep_assert_held(&priv->mcast_lock);
	if (priv->routes_due)
		return;
	priv->routes_due = true;
	priv->routes_at = jiffies + delay;
}

/* The SA has not listed them, and might go on like that: said once (U58). */
static void ipoib_router_failed(struct ipoib_dev *priv, int err)
{
	ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
	if (!priv->routes_failed)
		netdev_warn(priv->netdev,
			    "cannot list the multicast groups to route: %d; trying again\n",
			    err);
	priv->routes_failed = true;
	priv->routes_pause = clamp(priv->routes_pause * 2,
				   IPOIB_ROUTES_RETRY + 0ul,
				   IPOIB_ROUTES_POLL + 0ul);
	ipoib_router_again(priv, priv->routes_pause +
			   get_random_u32_below(priv->routes_pause));
}

static void ipoib_router_want(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast = ipoib_group_lookup(priv, mgid->raw);

	if (!mcast)
		mcast = ipoib_group_add(priv, mgid->raw, IPOIB_USER_ROUTE);
	else if (mcast->users == IPOIB_USER_SEND &&
		 !ipoib_group_fits(priv, IPOIB_USER_ROUTE))
		mcast = NULL;
	if (!mcast) {
		/* No room, or just no memory. */
		ipoib_router_again(priv,
				   ipoib_group_fits(priv, IPOIB_USER_ROUTE) ?
				   IPOIB_ROUTES_RETRY : IPOIB_ROUTES_POLL);
		return;
	}
	mcast->listed = true;
	/* It may have been made since the SA last said that there is none. */
	if (ipoib_group_is_busy(mcast->state))
		mcast->reread = max_t(u8, mcast->reread, IPOIB_REREAD_GET);
	ipoib_group_add_user(mcast, IPOIB_USER_ROUTE);
}

/**
 * ipoib_router_seen - there is a new group on the link
 * @priv: the interface
 * @mgid: its MGID
 *
 * Context: mcast_lock held
 */
void ipoib_router_seen(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;

	lockdep_assert_held(&priv->mcast_lock);
	if (!priv->routing)
		return;
	ipoib_router_want(priv, mgid);
	mcast = ipoib_group_lookup(priv, mgid->raw);
	if (mcast)
		mcast->reported = true;
}

/*
 * All groups of the link, as the SA lists them; others are of no interest, but
 * for those reported since the SA was asked: the list may be older.
 */
static void ipoib_router_take(struct ipoib_dev *priv,
			      const union ib_gid *mgids, unsigned int n)
{
	struct ipoib_mcast *mcast;

	lockdep_assert_held(&priv->mcast_lock);
	priv->routes_pause = 0;
	priv->routes_failed = false;
	list_for_each_entry(mcast, &priv->group_list, list)
		mcast->listed = ipoib_group_is_broadcast(mcast);
	for (; n; n--, mgids++)
		if (ipoib_mgid_on_link(mgids, &priv->broadcast_mgid))
			ipoib_router_want(priv, mgids);
	list_for_each_entry(mcast, &priv->group_list, list)
		if (!mcast->listed && !mcast->reported)
			ipoib_group_drop_user(mcast, IPOIB_USER_ROUTE);
}

/**
 * ipoib_router_listed - the SA has listed the groups of the link
 * @priv: the interface
 * @status: 0 or negative error
 * @mgids: MGIDs of groups of our partition
 * @n: number of @mgids
 *
 * Context: any but hard interrupt
 */
void ipoib_router_listed(struct ipoib_dev *priv, int status,
			 const union ib_gid *mgids, unsigned int n)
{
	spin_lock_bh(&priv->mcast_lock);
	priv->routes_asked = false;
	if (priv->routing && !status)
		ipoib_router_take(priv, mgids, n);
	else if (priv->routing)
		ipoib_router_failed(priv, status);
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/* The groups are going to be listed. */
static void ipoib_router_begin(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	lockdep_assert_held(&priv->mcast_lock);
	priv->routes_due = false;
	priv->routes_asked = true;
	priv->routes_at = jiffies + IPOIB_ROUTES_POLL;
	list_for_each_entry(mcast, &priv->group_list, list)
		mcast->reported = false;
}

/*
 * Is it time to list the groups? If not, @delay says when. One list at a time: of
 * two the first would be older than what has been reported before the second.
 */
static bool ipoib_router_is_time(struct ipoib_dev *priv, unsigned long *delay)
{
	unsigned long now = jiffies;
	bool due;

	*delay = ULONG_MAX;
	spin_lock_bh(&priv->mcast_lock);
	due = priv->routing && !priv->routes_asked &&
	      test_bit(IPOIB_FLAG_JOINED, &priv->flags);
	if (due && !priv->routes_due) {
		due = !ipoib_notice_on(priv->agent);
		/* Reports may end without anybody telling us. */
		*delay = IPOIB_ROUTES_POLL;
	}
	if (due && time_before(now, priv->routes_at)) {
		*delay = priv->routes_at - now;
		due = false;
	}
	if (due) {
		ipoib_router_begin(priv);
		*delay = IPOIB_ROUTES_POLL;
	}
	spin_unlock_bh(&priv->mcast_lock);
	return due;
}

/**
 * ipoib_router_step - ask for the groups of the link if it is time to
 * @priv: the interface
 *
 * Context: multicast work
 * Return: jiffies until this is to be called again, or ULONG_MAX
 */
unsigned long ipoib_router_step(struct ipoib_dev *priv)
{
	unsigned long delay;
	int err;

	if (!ipoib_router_is_time(priv, &delay))
		return delay;
	ipoib_stat_add(priv, IPOIB_MCAST_READS, 1);
	err = ipoib_query_groups(priv);
	if (err)
		ipoib_router_listed(priv, err, NULL, 0);
	return delay;
}
