// SPDX-License-Identifier: GPL-2.0
/*
 * Packets too long for their destination.
 *
 * In connected mode the MTU of the interface is larger than what some
 * destinations take: peers without a connection, or with small buffers, and all
 * groups (RFC 4755 section 7.2). A packet that is too long for its destination
 * is dropped, the route to it gets the smaller MTU, and its sender gets an error by
 * ICMP or ICMPv6, sent by a work and without delay. The stack does not limit the rate of
 * these errors; frames that the work does not keep up with are dropped without.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <net/dst.h>
#include <net/icmp.h>

#include "ipoib.h"

/* Frames that wait for the work. */
#define IPOIB_PMTU_QUEUE	64

/* What the destination of a frame that waits takes. */
static unsigned int *ipoib_pmtu_cb(struct sk_buff *skb)
{
	return (unsigned int *)skb->cb;
}

static void ipoib_pmtu_answer(struct ipoib_dev *priv, struct sk_buff *skb, unsigned int mtu)
{
	const struct ipoib_header *header = (const void *)skb->data;
	bool v4 = header->encap.proto == htons(ETH_P_IP);

	/* In datagram mode these are leftovers: the MTU of the interface is the limit. */
	if (!ipoib_cm_is_on(priv) || (!v4 && header->encap.proto != htons(ETH_P_IPV6)))
		goto drop;
	/* The ICMP error needs the network header in place. */
	skb->protocol = header->encap.proto;
	skb_pull(skb, IPOIB_HARD_LEN);
	skb_reset_network_header(skb);
	memset(skb->cb, 0, sizeof(skb->cb));
	if (!pskb_may_pull(skb, v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr)))
		goto drop;
	if (!v4)
		mtu = max_t(unsigned int, mtu, IPV6_MIN_MTU);
	skb_dst_update_pmtu_no_confirm(skb, mtu);
	ipoib_stat_add(priv, IPOIB_PMTU_ANSWERS, 1);
	if (v4)
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, htonl(mtu));
	else
		icmpv6_ndo_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
drop:
	ipoib_drop(priv, skb, IPOIB_TX_TOO_LONG);
}

/**
 * ipoib_pmtu_reject - drop a frame that is too long and answer by ICMP
 * @priv: the interface
 * @skb: frame with its &struct ipoib_header; consumed
 * @mtu: what its destination takes
 *
 * To answer is to send, perhaps by a queue whose lock the caller holds: that is left to a work.
 * Frames that it does not keep up with are dropped.
 *
 * Context: any but hard interrupt, before ipoib_pmtu_stop(); transmit lock or &ipoib_cm.lock may be
 * held
 */
void ipoib_pmtu_reject(struct ipoib_dev *priv, struct sk_buff *skb, unsigned int mtu)
{
	if (skb_queue_len_lockless(&priv->pmtu.queue) >= IPOIB_PMTU_QUEUE) {
		ipoib_drop(priv, skb, IPOIB_TX_TOO_LONG);
		return;
	}
	*ipoib_pmtu_cb(skb) = mtu;
	skb_queue_tail(&priv->pmtu.queue, skb);
	queue_work(system_unbound_wq, &priv->pmtu.work);
}

static void ipoib_pmtu_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev, pmtu.work);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&priv->pmtu.queue))) {
		local_bh_disable();
		ipoib_pmtu_answer(priv, skb, *ipoib_pmtu_cb(skb));
		local_bh_enable();
		cond_resched();
	}
}

/**
 * ipoib_pmtu_init - make the queue of frames to be answered
 * @priv: the interface
 */
void ipoib_pmtu_init(struct ipoib_dev *priv)
{
	skb_queue_head_init(&priv->pmtu.queue);
	INIT_WORK(&priv->pmtu.work, ipoib_pmtu_work);
}

/**
 * ipoib_pmtu_stop - drop what has not been answered
 * @priv: the interface, IPOIB_FLAG_UP cleared and transmit queues stopped
 *
 * Context: RTNL held; may sleep
 */
void ipoib_pmtu_stop(struct ipoib_dev *priv)
{
	cancel_work_sync(&priv->pmtu.work);
	ipoib_drop_list(priv, &priv->pmtu.queue, IPOIB_TX_FLUSHED);
}
