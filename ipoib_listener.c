// SPDX-License-Identifier: GPL-2.0
/*
 * The groups that the stack listens to: its list of link-layer addresses, and
 * the groups of it that are left to user space (umcast).
 */
#include <linux/jiffies.h>

#include "ipoib_multicast.h"

/* How often groups that are left to user space are looked at. */
#define IPOIB_FOREIGN_POLL	HZ

/*
 * umcast: a group that user space receives by on this port is its own, whatever we
 * send to it. Where there is no SA, on RoCE, nobody knows what user space has joined.
 *
 * One that we have just left ourselves may seem to be such a group for a moment.
 */
static bool ipoib_listener_is_foreign(const struct ipoib_dev *priv,
				      const struct ipoib_mcast *mcast,
				      const union ib_gid *mgid)
{
	if (mcast && mcast->users & IPOIB_USER_LISTEN)
		return false;
	return READ_ONCE(priv->umcast) &&
	       ipoib_sa_held(priv, mgid) & IPOIB_JOIN_FULL;
}

/* One address of the stack's list. Foreign scopes and P_Keys are not ours. */
static void ipoib_listener_add(struct ipoib_dev *priv, const u8 *lladdr)
{
	const struct ipoib_lladdr *addr = (const void *)lladdr;
	struct ipoib_mcast *mcast;
	union ib_gid mgid;

	memcpy(mgid.raw, addr->gid, sizeof(mgid));
	if (!ipoib_mgid_on_link(&mgid, &priv->broadcast_mgid))
		return;
	mcast = ipoib_group_lookup(priv, mgid.raw);
	if (ipoib_listener_is_foreign(priv, mcast, &mgid)) {
		set_bit(IPOIB_FLAG_FOREIGN, &priv->flags);
		return;
	}
	if (!mcast)
		mcast = ipoib_group_add(priv, mgid.raw, IPOIB_USER_LISTEN);
	if (!mcast) {
		ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
		/* No memory: the list is gone through again soon. */
		if (priv->ngroups < IPOIB_MCAST_MAX)
			set_bit(IPOIB_FLAG_RESYNC, &priv->flags);
		return;
	}
	mcast->listed = true;
	ipoib_group_add_user(mcast, IPOIB_USER_LISTEN);
}

/* The stack listens no longer; perhaps somebody sends still (A31). */
static void ipoib_listener_drop(struct ipoib_mcast *mcast)
{
	if (!ipoib_group_is_unused(mcast))
		ipoib_group_add_user(mcast, IPOIB_USER_SEND);
	ipoib_group_drop_user(mcast, IPOIB_USER_LISTEN);
}

static void ipoib_listener_sync(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;
	struct netdev_hw_addr *ha;
	struct ipoib_mcast *mcast;

	clear_bit(IPOIB_FLAG_FOREIGN, &priv->flags);
	priv->foreign_at = jiffies + IPOIB_FOREIGN_POLL;
	netif_addr_lock_bh(dev);
	spin_lock(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list)
		mcast->listed = ipoib_group_is_broadcast(mcast);
	netdev_for_each_mc_addr(ha, dev)
		ipoib_listener_add(priv, ha->addr);
	list_for_each_entry(mcast, &priv->group_list, list)
		if (!mcast->listed && mcast->users & IPOIB_USER_LISTEN)
			ipoib_listener_drop(mcast);
	spin_unlock(&priv->mcast_lock);
	netif_addr_unlock_bh(dev);
	ipoib_router_sync(priv);
}

/**
 * ipoib_listener_step - follow the stack's list, and its flags (U54, U56)
 * @priv: the interface
 *
 * Nobody tells when user space leaves a group that was left to it, nor when ib_sa
 * has noticed that we have left one: so that is looked at again.
 *
 * Context: multicast work
 */
void ipoib_listener_step(struct ipoib_dev *priv)
{
	bool again = test_bit(IPOIB_FLAG_FOREIGN, &priv->flags) &&
		     time_after_eq(jiffies, priv->foreign_at);

	if (test_and_clear_bit(IPOIB_FLAG_RESYNC, &priv->flags) || again)
		ipoib_listener_sync(priv);
}

/**
 * ipoib_listener_delay - when to go through the stack's list again
 * @priv: the interface
 *
 * Context: multicast work
 * Return: jiffies until ipoib_listener_step() is to be called, or ULONG_MAX
 */
unsigned long ipoib_listener_delay(struct ipoib_dev *priv)
{
	unsigned long now = jiffies;

	/* Memory ran out. */
	if (test_bit(IPOIB_FLAG_RESYNC, &priv->flags))
		return HZ / 10;
	if (!test_bit(IPOIB_FLAG_FOREIGN, &priv->flags))
		return ULONG_MAX;
	return time_after(priv->foreign_at, now) ? priv->foreign_at - now : 0;
}

/**
 * ipoib_mcast_set_umcast - leave groups to user space that it has joined
 * @priv: the interface
 * @umcast: whether to
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_set_umcast(struct ipoib_dev *priv, bool umcast)
{
	WRITE_ONCE(priv->umcast, umcast);
	ipoib_mcast_resync(priv);
}

/**
 * ipoib_mcast_resync - the stack's multicast list, or a flag, has changed
 * @priv: the interface
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_resync(struct ipoib_dev *priv)
{
	set_bit(IPOIB_FLAG_RESYNC, &priv->flags);
	ipoib_mcast_kick(priv, 0);
}
