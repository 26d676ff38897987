// SPDX-License-Identifier: GPL-2.0
/*
 * Frames to multicast groups.
 *
 * The first frame to a group that is not known makes the SA be asked and
 * waits, with a few more. If there is no such group it has no listener on the link
 * to it; what may have listeners elsewhere goes to the routers of the link, by
 * the all-routers group, or by the broadcast group if there is none (RFC 4391
 * section 10, U49). Sending never makes a group.
 *
 * The SA answers a join a little before the switches forward for it. Until a
 * group has settled, frames to it go by the broadcast group, whose tree every
 * node of the link is in: the receiver's network layer reads the network
 * address only. So the first frame arrives, and those after it in order, since
 * each frame takes one tree only.
 */
#include <linux/icmpv6.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>

#include "mcast/mcast.h"

/* Group 2 of either family: all routers. */
#define IPOIB_GROUP_ROUTERS	2

/* MLD messages, RFC 2710 and RFC 3810: ICMPv6 behind a hop-by-hop header. */
static bool ipoib_mcast_send_is_mld(const struct sk_buff *skb, unsigned int at)
{
	const struct ipv6hdr *ip = (const void *)(skb->data + at);
	u8 type, *next;

	if (ip->nexthdr != NEXTHDR_HOP ||
	    skb_headlen(skb) < at + sizeof(*ip) + 8 + 1)
		return false;
	next = skb->data + at + sizeof(*ip);
	type = next[8];
	return next[0] == IPPROTO_ICMPV6 && !next[1] &&
	       ((type >= ICMPV6_MGM_QUERY && type <= ICMPV6_MGM_REDUCTION) ||
		type == ICMPV6_MLD2_REPORT);
}

static bool ipoib_mcast_send_routes_ipv6(const struct sk_buff *skb, unsigned int at)
{
	const struct ipv6hdr *ip = (const void *)(skb->data + at);

	if (skb_headlen(skb) < at + sizeof(*ip))
		return false;
	return (ip->daddr.s6_addr[1] & 0xf) > IPOIB_SCOPE_LINK_LOCAL ||
	       ipoib_mcast_send_is_mld(skb, at);
}

/* 224.0.0.0/24 is never forwarded, RFC 5771 section 4. */
static bool ipoib_mcast_send_routes_ipv4(const struct sk_buff *skb, unsigned int at)
{
	const struct iphdr *ip = (const void *)(skb->data + at);

	if (skb_headlen(skb) < at + sizeof(*ip))
		return false;
	return !ipv4_is_local_multicast(ip->daddr) ||
	       ip->protocol == IPPROTO_IGMP;
}

/*
 * Is a frame for routers if its group has no listener on the link? Its scope is beyond the
 * link, or it reports listeners to routers, IGMP or MLD.
 */
static bool ipoib_mcast_send_is_for_routers(const struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;

	switch (header->encap.proto) {
	case htons(ETH_P_IP):
		return ipoib_mcast_send_routes_ipv4(skb, sizeof(*header));
	case htons(ETH_P_IPV6):
		return ipoib_mcast_send_routes_ipv6(skb, sizeof(*header));
	default:
		return false;
	}
}

static void ipoib_mcast_send_send(struct ipoib_txq *txq, struct sk_buff *skb,
				  struct ipoib_ah *ah)
{
	skb_pull(skb, IPOIB_LLADDR_LEN);
	ipoib_ud_xmit(txq, skb, ah, IPOIB_MCAST_QPN);
}

static void ipoib_mcast_send_by_broadcast(struct ipoib_txq *txq,
					  struct sk_buff *skb)
{
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_mcast *mcast = rcu_dereference(priv->broadcast);
	struct ipoib_ah *ah = mcast ? rcu_dereference(mcast->ah) : NULL;

	if (unlikely(!ah)) {
		ipoib_drop(priv, skb, IPOIB_TX_NO_BROADCAST);
		return;
	}
	ipoib_stat_add(priv, IPOIB_TX_TO_BROADCAST, 1);
	ipoib_mcast_send_send(txq, skb, ah);
}

/* The all-routers group of the family that @mgid is of. */
static void ipoib_mcast_send_routers_mgid(const u8 *mgid, union ib_gid *routers)
{
	struct ipoib_mgid *to = (struct ipoib_mgid *)routers->raw;

	memcpy(routers->raw, mgid, sizeof(*routers));
	memset(to->group, 0, sizeof(to->group));
	to->group[sizeof(to->group) - 1] = IPOIB_GROUP_ROUTERS;
}

/* It was missing at the last question. Ask again, and go on meanwhile. */
static bool ipoib_mcast_send_recheck_absent(struct ipoib_mcast *mcast)
{
	if (mcast->state != IPOIB_MCAST_ABSENT)
		return false;
	if (ipoib_mcast_until(mcast->retry_at))
		return true;
	if (!(mcast->events & IPOIB_MCAST_EV_ASK))
		mcast->asked_at = jiffies;
	ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	return false;
}

/* The same, without a lock and for the first frame only. */
static bool ipoib_mcast_send_may_ask(const struct ipoib_mcast *mcast)
{
	return READ_ONCE(mcast->state) == IPOIB_MCAST_ABSENT &&
	       !(READ_ONCE(mcast->events) & IPOIB_MCAST_EV_ASK) &&
	       !ipoib_mcast_until(READ_ONCE(mcast->retry_at));
}

/* From now on frames go to the all-routers group if there is one. */
static void ipoib_mcast_send_want_routers(struct ipoib_dev *priv,
					  const union ib_gid *routers)
{
	struct ipoib_mcast *mcast;

	spin_lock(&priv->mcast.lock);
	mcast = ipoib_mcast_group_get(priv, routers->raw, IPOIB_USER_SEND);
	if (mcast)
		ipoib_mcast_send_recheck_absent(mcast);
	spin_unlock(&priv->mcast.lock);
}

/* Nobody on the link listens to the group @mgid. */
static void ipoib_mcast_send_to_routers(struct ipoib_txq *txq, struct sk_buff *skb,
					const u8 *mgid)
{
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_mcast *mcast;
	struct ipoib_ah *ah = NULL;
	union ib_gid routers;

	if (!ipoib_mcast_send_is_for_routers(skb)) {
		ipoib_drop(priv, skb, IPOIB_TX_NO_GROUP);
		return;
	}
	ipoib_mcast_send_routers_mgid(mgid, &routers);
	mcast = rhashtable_lookup(&priv->mcast.table, &routers, ipoib_mcast_params);
	if (mcast) {
		ipoib_touch(&mcast->used);
		ah = rcu_dereference(mcast->ah);
	}
	if (!ah && (!mcast || ipoib_mcast_send_may_ask(mcast)))
		ipoib_mcast_send_want_routers(priv, &routers);
	if (!ah || !READ_ONCE(mcast->settled)) {
		ipoib_mcast_send_by_broadcast(txq, skb);
		return;
	}
	ipoib_stat_add(priv, IPOIB_TX_TO_ROUTERS, 1);
	ipoib_mcast_send_send(txq, skb, ah);
}

/* What to do with a frame to a group without an address handle. */
enum ipoib_tx_action {
	IPOIB_TX_ACTION_QUEUED,
	IPOIB_TX_ACTION_ROUTERS,
	IPOIB_TX_ACTION_DROP,
	IPOIB_TX_ACTION_SEND,
};

static enum ipoib_tx_action ipoib_mcast_send_wait(struct ipoib_mcast *mcast,
						  struct sk_buff *skb,
						  enum ipoib_stat *why)
{
	struct ipoib_dev *priv = mcast->priv;

	*why = IPOIB_TX_QUEUE_FULL;
	if (skb_queue_len(&mcast->queue) >= IPOIB_MCAST_QUEUE ||
	    priv->mcast.nqueued >= IPOIB_MCAST_QUEUED)
		return IPOIB_TX_ACTION_DROP;
	ipoib_object_park(&mcast->queue, skb);
	priv->mcast.nqueued++;
	ipoib_mcast_post(mcast, 0);
	return IPOIB_TX_ACTION_QUEUED;
}

static enum ipoib_tx_action ipoib_mcast_send_decide(struct ipoib_mcast *mcast,
						    struct sk_buff *skb,
						    enum ipoib_stat *why)
{
	lockdep_assert_held(&mcast->priv->mcast.lock);
	/* Behind those that wait. */
	if (!skb_queue_empty(&mcast->queue))
		return ipoib_mcast_send_wait(mcast, skb, why);
	if (rcu_access_pointer(mcast->ah) || ipoib_mcast_group_is_slow(mcast) ||
	    !READ_ONCE(mcast->settled))
		return IPOIB_TX_ACTION_SEND;
	if (ipoib_mcast_send_recheck_absent(mcast) ||
	    (mcast->parked && ipoib_mcast_send_is_for_routers(skb)))
		return IPOIB_TX_ACTION_ROUTERS;
	if (mcast->state != IPOIB_MCAST_BACKOFF)
		return ipoib_mcast_send_wait(mcast, skb, why);
	*why = IPOIB_TX_GROUP_FAIL;
	return ipoib_mcast_check_is_definitive(READ_ONCE(mcast->reason)) ?
	       IPOIB_TX_ACTION_DROP : IPOIB_TX_ACTION_SEND;
}

/* The group of RFC 4291 section 2.7.1 that Neighbour Solicitations go to? */
static bool ipoib_mcast_send_is_nd(const u8 *mgid)
{
	static const u8 nodes[] = { 0, 0, 0, 0, 0, 1, 0xff };
	const struct ipoib_mgid *parts = (const void *)mgid;

	return parts->signature == cpu_to_be16(IPOIB_MGID_SIG_IPV6) &&
	       !memcmp(parts->group, nodes, sizeof(nodes));
}

/*
 * There are too many groups. The broadcast group reaches whoever listens, too, but
 * everybody else as well: that is for what nothing works without.
 */
static enum ipoib_tx_action ipoib_mcast_send_capped(struct ipoib_dev *priv,
						    const u8 *mgid,
						    enum ipoib_stat *why)
{
	if (priv->mcast.nsend < IPOIB_MCAST_SEND_MAX &&
	    priv->mcast.ngroups < IPOIB_MCAST_MAX)
		return IPOIB_TX_ACTION_DROP;
	*why = IPOIB_TX_GROUP_CAP;
	return ipoib_mcast_send_is_nd(mgid) ? IPOIB_TX_ACTION_SEND :
					  IPOIB_TX_ACTION_DROP;
}

static enum ipoib_tx_action ipoib_mcast_send_slow(struct ipoib_dev *priv,
						  struct sk_buff *skb,
						  const u8 *mgid,
						  enum ipoib_stat *why)
{
	enum ipoib_tx_action action = IPOIB_TX_ACTION_DROP;
	struct ipoib_mcast *mcast;
	union ib_gid gid;

	*why = IPOIB_TX_NO_BROADCAST;
	if (!test_bit(IPOIB_FLAG_JOINED, &priv->flags))
		return action;
	/* RFC 4391 section 4: packet sockets may name any group (U4, U5, U8). */
	*why = IPOIB_TX_OTHER_LINK;
	memcpy(gid.raw, mgid, sizeof(gid));
	if (!ipoib_mgid_on_link(&gid, &priv->broadcast_mgid))
		return action;
	*why = IPOIB_TX_MAP;
	spin_lock(&priv->mcast.lock);
	mcast = ipoib_mcast_group_get(priv, mgid, IPOIB_USER_SEND);
	if (mcast)
		action = ipoib_mcast_send_decide(mcast, skb, why);
	else
		action = ipoib_mcast_send_capped(priv, mgid, why);
	spin_unlock(&priv->mcast.lock);
	return action;
}

/* No usable handle of the group's own. */
static void ipoib_mcast_send_park(struct ipoib_txq *txq, struct sk_buff *skb,
				  const u8 *mgid)
{
	enum ipoib_stat why;

	switch (ipoib_mcast_send_slow(txq->priv, skb, mgid, &why)) {
	case IPOIB_TX_ACTION_QUEUED:
		break;
	case IPOIB_TX_ACTION_ROUTERS:
		ipoib_mcast_send_to_routers(txq, skb, mgid);
		break;
	case IPOIB_TX_ACTION_SEND:
		ipoib_mcast_send_by_broadcast(txq, skb);
		break;
	case IPOIB_TX_ACTION_DROP:
		ipoib_drop(txq->priv, skb, why);
		break;
	}
}

/**
 * ipoib_mcast_xmit - send a frame to a group
 * @txq: the queue
 * @skb: frame with its &struct ipoib_header; consumed
 *
 * Context: transmit lock of the queue held, RCU read side
 */
void ipoib_mcast_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_mcast *mcast;
	struct ipoib_ah *ah = NULL;

	mcast = rhashtable_lookup(&priv->mcast.table, to->gid, ipoib_mcast_params);
	if (likely(mcast)) {
		ipoib_touch(&mcast->used);
		ah = rcu_dereference(mcast->ah);
	}
	if (unlikely(!ah || !skb_queue_empty_lockless(&mcast->queue)))
		ipoib_mcast_send_park(txq, skb, to->gid);
	else if (likely(READ_ONCE(mcast->settled)))
		ipoib_mcast_send_send(txq, skb, ah);
	else
		ipoib_mcast_send_by_broadcast(txq, skb);
}

/**
 * ipoib_mcast_group_send - send the frames that wait for a group
 * @mcast: the group
 *
 * Context: work of the group
 */
void ipoib_mcast_group_send(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;
	unsigned int n;

	n = ipoib_ud_send_queue(priv, &priv->mcast.lock, &mcast->queue,
				ipoib_mcast_xmit);
	spin_lock_bh(&priv->mcast.lock);
	priv->mcast.nqueued -= n;
	spin_unlock_bh(&priv->mcast.lock);
}
