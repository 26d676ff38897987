// SPDX-License-Identifier: GPL-2.0
/*
 * Packets too long for their destination.
 *
 * In connected mode the MTU of the interface exceeds that of some destinations: of peers without a
 * connection, or with small buffers, and of all groups (RFC 4755 section 7.2). Such a packet is
 * dropped, the route gets the smaller MTU, and a work sends an ICMP or ICMPv6 error to the sender.
 * The stack does not limit the rate of these errors; the length of the queue does.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <net/dst.h>
#include <net/icmp.h>

#include "ipoib.h"

/* Frames that may wait for the work */
#define IPOIB_PMTU_QUEUE	64

static void ipoib_pmtu_answer(struct ipoib_dev *priv, struct sk_buff *skb, unsigned int mtu)
{
	const struct ipoib_header *header = (const void *)skb->data;
	bool v4 = header->encap.proto == htons(ETH_P_IP);

	/* Datagram mode: a leftover of connected mode */
	if (!ipoib_cm_is_on(priv) || (!v4 && header->encap.proto != htons(ETH_P_IPV6)))
		goto drop;
	/* The ICMP error needs the network header. */
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

/*
 * Drop a frame that is too long, with its &struct ipoib_header, and report @mtu by an ICMP error. A
 * work sends the error, perhaps by a queue whose lock the caller holds. Beyond the limit of the
 * queue frames are dropped without an error. The frame is consumed.
 * Context: any but hard interrupt, before ipoib_pmtu_stop(); transmit lock or &ipoib_cm.lock may be
 * held.
 */
void ipoib_pmtu_reject(struct ipoib_dev *priv, struct sk_buff *skb, unsigned int mtu)
{
	if (skb_queue_len_lockless(&priv->pmtu.queue) >= IPOIB_PMTU_QUEUE) {
		ipoib_drop(priv, skb, IPOIB_TX_TOO_LONG);
		return;
	}
	*(unsigned int *)skb->cb = mtu;
	skb_queue_tail(&priv->pmtu.queue, skb);
	queue_work(system_unbound_wq, &priv->pmtu.work);
}

/* Send the ICMP errors for the frames of the queue, and free the frames. Context: process. */
static void ipoib_pmtu_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev, pmtu.work);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&priv->pmtu.queue))) {
		local_bh_disable();
		ipoib_pmtu_answer(priv, skb, *(unsigned int *)skb->cb);
		local_bh_enable();
		cond_resched();
	}
}

/* Initialise queue and work. */
void ipoib_pmtu_init(struct ipoib_dev *priv)
{
	skb_queue_head_init(&priv->pmtu.queue);
	INIT_WORK(&priv->pmtu.work, ipoib_pmtu_work);
}

/*
 * Drop the queue, and wait for the work.
 * Context: RTNL held, IPOIB_FLAG_UP cleared, transmit queues stopped; may sleep.
 */
void ipoib_pmtu_stop(struct ipoib_dev *priv)
{
	cancel_work_sync(&priv->pmtu.work);
	ipoib_drop_list(priv, &priv->pmtu.queue, IPOIB_TX_FLUSHED);
}
