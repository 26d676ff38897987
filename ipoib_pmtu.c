// SPDX-License-Identifier: GPL-2.0
/*
 * Packets too long for their destination.
 *
 * In connected mode the MTU of the interface is larger than what some
 * destinations take: peers without a connection, or with small buffers, and all
 * groups (RFC 4755 section 7.2). A packet that is too long for its destination
 * is dropped, the route to it gets the smaller MTU, and its sender is told by
 * ICMP or ICMPv6, all at once. Senders that go on all the same are told a few
 * hundred times a second at most.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <net/dst.h>
#include <net/icmp.h>

#include "ipoib.h"

/* Answers in a span of time, at most. */
#define IPOIB_PMTU_WINDOW	(HZ / 10)
#define IPOIB_PMTU_MOST		32

/* What the sender is told needs the network header in place. */
static bool ipoib_pmtu_prepare(struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;

	skb->protocol = header->encap.proto;
	skb_pull(skb, IPOIB_HARD_LEN);
	skb_reset_network_header(skb);
	memset(skb->cb, 0, sizeof(skb->cb));
	if (skb->protocol == htons(ETH_P_IP))
		return pskb_may_pull(skb, sizeof(struct iphdr));
	return skb->protocol == htons(ETH_P_IPV6) &&
	       pskb_may_pull(skb, sizeof(struct ipv6hdr));
}

/* A few times a second. Two CPUs may count one twice, which is no harm. */
static bool ipoib_pmtu_may_answer(struct ipoib_dev *priv)
{
	unsigned long now = jiffies;

	if (time_after(now, priv->pmtu_since + IPOIB_PMTU_WINDOW)) {
		priv->pmtu_since = now;
		priv->pmtu_answers = 0;
	}
	return priv->pmtu_answers++ < IPOIB_PMTU_MOST;
}

static void ipoib_pmtu_answer(struct ipoib_dev *priv, struct sk_buff *skb,
			      unsigned int mtu)
{
	bool v4;

	/* In datagram mode these are leftovers: the MTU of the interface tells. */
	if (!ipoib_cm_is_on(priv) || !ipoib_pmtu_prepare(skb))
		goto drop;
	v4 = skb->protocol == htons(ETH_P_IP);
	if (!v4)
		mtu = max_t(unsigned int, mtu, IPV6_MIN_MTU);
	skb_dst_update_pmtu_no_confirm(skb, mtu);
	if (!ipoib_pmtu_may_answer(priv))
		goto drop;
	ipoib_stat_add(priv, IPOIB_PMTU_ANSWERS, 1);
	if (v4)
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
			      htonl(mtu));
	else
		icmpv6_ndo_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
drop:
	ipoib_drop(priv, skb, IPOIB_TX_TOO_LONG);
}

/**
 * ipoib_pmtu_reject - drop a frame that is too long and tell its sender
 * @txq: the queue it came by
 * @skb: frame with its &struct ipoib_header; consumed
 * @mtu: what its destination takes
 *
 * Context: transmit lock of the queue held
 */
void ipoib_pmtu_reject(struct ipoib_txq *txq, struct sk_buff *skb,
		       unsigned int mtu)
{
	if (unlikely(txq->too_long))
		__skb_queue_tail(txq->too_long, skb);
	else
		ipoib_pmtu_answer(txq->priv, skb, mtu);
}

/**
 * ipoib_pmtu_answer_list - do for frames what could not be done under a lock
 * @priv: the interface
 * @list: frames from ipoib_pmtu_reject(); emptied
 *
 * Context: process
 */
void ipoib_pmtu_answer_list(struct ipoib_dev *priv, struct sk_buff_head *list)
{
	struct sk_buff *skb;

	if (skb_queue_empty(list))
		return;
	local_bh_disable();
	while ((skb = __skb_dequeue(list)))
		ipoib_pmtu_answer(priv, skb, READ_ONCE(priv->mcast_mtu));
	local_bh_enable();
}
