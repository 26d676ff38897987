// SPDX-License-Identifier: GPL-2.0
/*
 * Frames to multicast groups.
 *
 * The first frame to an unknown group starts a join and waits, with a few more. A group that does
 * not exist has no listener on the link; frames that may have listeners elsewhere go to the routers
 * of the link, by the all-routers group, or by the broadcast group without it (RFC 4391 section 10,
 * U49). Sending never creates a group.
 *
 * The SA answers a join before the switches forward for it. Until a group has settled, its frames
 * use the broadcast group, whose tree includes every node of the link: the network layer of the
 * receiver looks at the network address only. So the first frame arrives, and later frames in
 * order, since each uses one tree.
 */
#include <linux/icmpv6.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <net/if_inet6.h>
#include <net/ip.h>

#include "mcast/mcast.h"

/* Group 2 of either family: all routers */
#define IPOIB_GROUP_ROUTERS	2

/*
 * Whether a frame without a listener on the link goes to routers: its scope is beyond the link, or
 * it is a report of listeners, IGMP or MLD. 224.0.0.0/24 is never forwarded, RFC 5771 section 4.
 */
static bool ipoib_mcast_send_is_for_routers(const struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;
	const struct ipv6hdr *ip6 = (const void *)(header + 1);
	const struct iphdr *ip4 = (const void *)(header + 1);
	const u8 *next = (const void *)(ip6 + 1), *icmp = next + 8;
	unsigned int len = skb_headlen(skb) - sizeof(*header);

	switch (header->encap.proto) {
	case htons(ETH_P_IP):
		return len >= sizeof(*ip4) && (!ipv4_is_local_multicast(ip4->daddr) ||
					       ip4->protocol == IPPROTO_IGMP);
	case htons(ETH_P_IPV6):
		if (len < sizeof(*ip6))
			return false;
		if ((ip6->daddr.s6_addr[1] & 0xf) > IPOIB_SCOPE_LINK_LOCAL)
			return true;
		/* MLD, RFC 2710 and RFC 3810: ICMPv6 behind a hop-by-hop header */
		return ip6->nexthdr == NEXTHDR_HOP && len > sizeof(*ip6) + 8 &&
		       next[0] == IPPROTO_ICMPV6 && !next[1] &&
		       ((*icmp >= ICMPV6_MGM_QUERY && *icmp <= ICMPV6_MGM_REDUCTION) ||
			*icmp == ICMPV6_MLD2_REPORT);
	default:
		return false;
	}
}

/* Additional time before a group is looked up again that the SA would report */
#define IPOIB_ABSENT_REPORTED	(30 * HZ)

/*
 * True for a missing group in its pause. After the pause false, and its work joins it again.
 * Context: mcast.lock held.
 */
static bool ipoib_mcast_send_is_absent(struct ipoib_mcast *mcast)
{
	struct ipoib_agent *agent = mcast->priv->agent;
	bool reported = agent && ipoib_sa_notice_on(agent);

	if (mcast->state != IPOIB_MCAST_ABSENT)
		return false;
	if (mcast->events & IPOIB_MCAST_EV_RECHECK)
		return false;
	if (ipoib_mcast_until(mcast->retry_at + (reported ? IPOIB_ABSENT_REPORTED : 0)))
		return true;
	mcast->asked_at = jiffies;
	ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	return false;
}

/* Address handle of a group; NULL if it has none, or frames use the broadcast group */
static struct ipoib_ah *ipoib_mcast_send_ah(const struct ipoib_mcast *mcast)
{
	struct ipoib_ah *ah = rcu_dereference(mcast->ah);

	/*
	 * Pairs with ipoib_mcast_member_take(): a group is unsettled before it gets a handle of
	 * another tree.
	 */
	smp_rmb();
	return likely(READ_ONCE(mcast->settled)) ? ah : NULL;
}

/* Address handle of the all-routers group for the family of @mgid; creates the group if needed. */
static struct ipoib_ah *ipoib_mcast_send_routers_ah(struct ipoib_dev *priv, union ib_gid mgid)
{
	struct ipoib_mgid *parts = (struct ipoib_mgid *)mgid.raw;
	struct ipoib_mcast *mcast;

	memset(parts->group, 0, sizeof(parts->group));
	parts->group[sizeof(parts->group) - 1] = IPOIB_GROUP_ROUTERS;
	mcast = ipoib_mcast_group_get(priv, mgid.raw, IPOIB_USER_SEND);
	if (!mcast)
		return NULL;
	ipoib_touch(&mcast->used);
	ipoib_mcast_send_is_absent(mcast);
	return ipoib_mcast_send_ah(mcast);
}

/* True for a solicited-node group, RFC 4291 section 2.7.1 */
static bool ipoib_mcast_send_is_nd(const union ib_gid *mgid)
{
	static const u8 nodes[] = { 0, 0, 0, 0, 0, 1, 0xff };
	const struct ipoib_mgid *parts = (const void *)mgid->raw;

	return parts->signature == cpu_to_be16(IPOIB_MGID_SIG_IPV6) &&
	       !memcmp(parts->group, nodes, sizeof(nodes));
}

static bool ipoib_mcast_send_enqueue(struct ipoib_mcast *mcast, struct sk_buff *skb)
{
	struct ipoib_groups *groups = &mcast->priv->mcast;

	if (skb_queue_len(&mcast->queue) >= IPOIB_MCAST_QUEUE ||
	    groups->nqueued >= IPOIB_MCAST_QUEUED)
		return false;
	__skb_queue_tail(&mcast->queue, skb);
	groups->nqueued++;
	ipoib_mcast_post(mcast, 0);
	return true;
}

/* RFC 4391 section 4: packet sockets may use any group (U4, U5, U8). */
static struct ipoib_mcast *ipoib_mcast_send_find(struct ipoib_dev *priv,
						 const union ib_gid *mgid,
						 enum ipoib_stat *why)
{
	*why = IPOIB_TX_NO_BROADCAST;
	if (!test_bit(IPOIB_FLAG_JOINED, &priv->flags))
		return NULL;
	*why = IPOIB_TX_OTHER_LINK;
	if (!ipoib_mgid_on_link(mgid, &priv->broadcast_mgid))
		return NULL;
	*why = ipoib_mcast_group_fits(priv, IPOIB_USER_SEND) ? IPOIB_TX_MAP :
							       IPOIB_TX_GROUP_CAP;
	return ipoib_mcast_group_get(priv, mgid->raw, IPOIB_USER_SEND);
}

/*
 * Decide about a frame that has no handle of its group. Returns the counter of the group that it
 * uses instead, with @ah for the all-routers group; IPOIB_TX_QUEUE_FULL if it waits or there is no
 * room; or the reason of its drop.
 */
static enum ipoib_stat ipoib_mcast_send_decide(struct ipoib_mcast *mcast,
					       const struct sk_buff *skb, struct ipoib_ah **ah)
{
	bool absent;

	/* Behind waiting frames */
	if (!skb_queue_empty(&mcast->queue))
		return IPOIB_TX_QUEUE_FULL;
	if (rcu_access_pointer(mcast->ah) || ipoib_mcast_group_is_slow(mcast))
		return IPOIB_TX_TO_BROADCAST;
	absent = ipoib_mcast_send_is_absent(mcast);
	if (!READ_ONCE(mcast->settled))
		return IPOIB_TX_TO_BROADCAST;
	if ((absent || mcast->was_absent) && ipoib_mcast_send_is_for_routers(skb)) {
		*ah = ipoib_mcast_send_routers_ah(mcast->priv, mcast->mgid);
		return *ah ? IPOIB_TX_TO_ROUTERS : IPOIB_TX_TO_BROADCAST;
	}
	if (absent)
		return IPOIB_TX_NO_GROUP;
	if (mcast->state != IPOIB_MCAST_BACKOFF)
		return IPOIB_TX_QUEUE_FULL;
	return ipoib_mcast_check_is_definitive(READ_ONCE(mcast->reason)) ? IPOIB_TX_GROUP_FAIL :
									   IPOIB_TX_TO_BROADCAST;
}

/*
 * The MGID follows from the network layer (RFC 4391 section 4), but a program may have built
 * another (keepalived: that of ff02::ffff:ffff for ff02::1). Replace the MGID of a frame without a
 * listener. Returns false if it is right already, or the network layer has none; otherwise the data
 * of the frame may have moved.
 */
static bool ipoib_mcast_send_by_ip(const struct ipoib_dev *priv, struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;
	const struct ipv6hdr *ip6 = (const void *)(header + 1);
	const struct iphdr *ip4 = (const void *)(header + 1);
	unsigned int len = skb_headlen(skb) - sizeof(*header);
	const u8 *broadcast = priv->netdev->broadcast;
	struct ipoib_lladdr to;

	if (header->encap.proto == htons(ETH_P_IP) && len >= sizeof(*ip4) &&
	    ipv4_is_multicast(ip4->daddr))
		ip_ib_mc_map(ip4->daddr, broadcast, (char *)&to);
	else if (header->encap.proto == htons(ETH_P_IPV6) && len >= sizeof(*ip6) &&
		 ipv6_addr_is_multicast(&ip6->daddr))
		ipv6_ib_mc_map(&ip6->daddr, broadcast, (char *)&to);
	else
		return false;
	if (!memcmp(&to, &header->lladdr, sizeof(to)) || skb_cow_head(skb, 0))
		return false;
	memcpy(skb->data, &to, sizeof(to));
	return true;
}

static void ipoib_mcast_xmit_slow(struct ipoib_txq *txq, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_mcast *mcast;
	struct ipoib_ah *ah = NULL;
	enum ipoib_stat what;
	union ib_gid mgid;

	memcpy(mgid.raw, to->gid, sizeof(mgid));
	spin_lock(&priv->mcast.lock);
	mcast = ipoib_mcast_send_find(priv, &mgid, &what);
	if (mcast)
		what = ipoib_mcast_send_decide(mcast, skb, &ah);
	/* The table is full: broadcast Neighbour Solicitations only. */
	else if (what == IPOIB_TX_GROUP_CAP && ipoib_mcast_send_is_nd(&mgid))
		what = IPOIB_TX_TO_BROADCAST;
	if (what == IPOIB_TX_QUEUE_FULL && ipoib_mcast_send_enqueue(mcast, skb)) {
		spin_unlock(&priv->mcast.lock);
		return;
	}
	if (what == IPOIB_TX_TO_BROADCAST) {
		mcast = rcu_dereference(priv->broadcast);
		ah = mcast ? rcu_dereference(mcast->ah) : NULL;
		what = ah ? what : IPOIB_TX_NO_BROADCAST;
	}
	spin_unlock(&priv->mcast.lock);
	/* A second pass has the right MGID. */
	if (what == IPOIB_TX_NO_GROUP && ipoib_mcast_send_by_ip(priv, skb)) {
		ipoib_mcast_xmit(txq, skb);
		return;
	}
	if (!ah) {
		ipoib_drop(priv, skb, what);
		return;
	}
	ipoib_stat_add(priv, what, 1);
	ipoib_ud_xmit(txq, skb, ah, IPOIB_MCAST_QPN);
}

/*
 * P_Key 0 in the destination of a packet socket stands for this link: programs that build addresses
 * of groups (keepalived) do not know its P_Key. Returns true if it was replaced; the data of the
 * frame may have moved then.
 */
static bool ipoib_mcast_send_fill_pkey(const struct ipoib_dev *priv, struct sk_buff *skb)
{
	const struct ipoib_mgid *link = (const void *)priv->broadcast_mgid.raw;
	const struct ipoib_lladdr *to = (const void *)skb->data;
	const struct ipoib_mgid *mgid = (const void *)to->gid;

	if (mgid->pkey || skb_cow_head(skb, 0))
		return false;
	((struct ipoib_mgid *)((struct ipoib_lladdr *)skb->data)->gid)->pkey = link->pkey;
	return true;
}

/*
 * Send a frame, with its &struct ipoib_header, to a group; the frame is consumed.
 * Context: transmit lock of the queue held, RCU read side.
 */
void ipoib_mcast_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_mcast *mcast;
	struct ipoib_ah *ah = NULL;

	mcast = rhashtable_lookup(&priv->mcast.table, to->gid, ipoib_mcast_params);
	if (unlikely(!mcast) && ipoib_mcast_send_fill_pkey(priv, skb)) {
		to = (const void *)skb->data;
		mcast = rhashtable_lookup(&priv->mcast.table, to->gid, ipoib_mcast_params);
	}
	if (likely(mcast)) {
		ipoib_touch(&mcast->used);
		ah = ipoib_mcast_send_ah(mcast);
	}
	if (likely(ah && skb_queue_empty_lockless(&mcast->queue)))
		ipoib_ud_xmit(txq, skb, ah, IPOIB_MCAST_QPN);
	else
		ipoib_mcast_xmit_slow(txq, skb);
}

/*
 * Send the waiting frames of a group by ipoib_mcast_xmit(). They may wait again; after the end of
 * @mcast for a new group of the same MGID.
 * Context: work of the group, no lock held.
 */
void ipoib_mcast_group_send(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;
	struct sk_buff_head frames;

	__skb_queue_head_init(&frames);
	ipoib_ud_send_begin(priv->txq);
	spin_lock(&priv->mcast.lock);
	priv->mcast.nqueued -= skb_queue_len(&mcast->queue);
	skb_queue_splice_tail_init(&mcast->queue, &frames);
	spin_unlock(&priv->mcast.lock);
	ipoib_ud_send_end(priv->txq, &frames, ipoib_mcast_xmit);
}
