// SPDX-License-Identifier: GPL-2.0
/*
 * Unicast next hop: from the link-layer address that ARP and Neighbour Discovery found to a
 * connection, or to an address handle.
 *
 * The address gives GID and QPN (RFC 4391 section 9.1.1); the rest is in a path record, see
 * ipoib_neigh.c.
 */
#include <net/dst.h>
#include <net/neighbour.h>

#include "ipoib.h"

/* A path record is not read anew sooner because the stack finds the neighbour unreachable. */
#define IPOIB_ARP_REREAD	(5 * HZ)
/* Failures in a row after which senders get errors, as many as ARP and ND try. */
#define IPOIB_ARP_UNREACHABLE	3

/*
 * Mark the neighbour that a frame was for stale: there is no path to its link-layer
 * address. The stack would keep the address for most of a minute if the announcement of
 * another one was lost (the failover of a bond). Now the next packet has it probe the
 * neighbour. A neighbour that has been confirmed since @asked_at (jiffies) is left alone
 * until the next lookup.
 */
static void ipoib_arp_mark_stale(struct sk_buff *skb,
				 const struct ipoib_lladdr *to,
				 unsigned long asked_at)
{
	u8 addr[MAX_ADDR_LEN] __aligned(sizeof(unsigned long));
	struct dst_entry *dst = skb_dst(skb);
	struct neighbour *n;

	n = dst ? dst_neigh_lookup_skb(dst, skb) : NULL;
	if (!n)
		return;
	neigh_ha_snapshot(addr, n, n->dev);
	if (n->dev->addr_len == sizeof(*to) && !memcmp(addr, to, sizeof(*to)) &&
	    (READ_ONCE(n->nud_state) & NUD_VALID) &&
	    time_before(READ_ONCE(n->confirmed), asked_at))
		neigh_update(n, NULL, NUD_FAILED, 0, 0);
	neigh_release(n);
}

/* An ICMP error to the sender of a frame, as for a dead neighbour. */
static void ipoib_arp_unreachable(struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;

	skb->protocol = header->encap.proto;
	skb_pull(skb, IPOIB_HARD_LEN);
	skb_reset_network_header(skb);
	memset(skb->cb, 0, sizeof(skb->cb));
	ipoib_arp_mark_stale(skb, &header->lladdr, jiffies);
	dst_link_failure(skb);
}

/*
 * A credit has come, or has not for too long, or the query has ended, or a closed connection has
 * left frames, or the neighbour has been unlinked: then it is in no list, no frame waits for it,
 * and its peers end with it.
 */
static void ipoib_arp_work(struct work_struct *work)
{
	struct ipoib_neigh *neigh = container_of(to_delayed_work(work), struct ipoib_neigh, work);
	struct ipoib_dev *priv = neigh->priv;
	unsigned int n = ipoib_txqs(priv), i;
	bool listed, known, asked, unreachable;
	struct sk_buff_head frames;
	struct sk_buff *skb;

	__skb_queue_head_init(&frames);
	spin_lock_bh(&priv->neigh.lock);
	listed = !list_empty(&neigh->list);
	if (neigh->state == IPOIB_NEIGH_WAITING && listed)
		ipoib_neigh_try(neigh);
	known = rcu_access_pointer(neigh->ah);
	asked = ipoib_neigh_is_asked(neigh);
	unreachable = neigh->failures >= IPOIB_ARP_UNREACHABLE;
	if (!known && !asked)
		ipoib_neigh_unpark(priv, IPOIB_WAIT_PATH, &neigh->queue, &frames);
	spin_unlock_bh(&priv->neigh.lock);
	/* The first queue last: it has the frames of queues that are not in use any more. */
	for (i = n; known && i--;) {
		ipoib_ud_send_begin(&priv->txq[i]);
		spin_lock(&priv->neigh.lock);
		ipoib_neigh_unpark_txq(priv, &neigh->queue, i, n, &frames);
		spin_unlock(&priv->neigh.lock);
		ipoib_ud_send_end(&priv->txq[i], &frames, ipoib_arp_xmit);
	}
	if (ipoib_has_cm(priv) && (!listed || !asked))
		ipoib_cm_path_read(neigh, !listed);
	if (unreachable) {
		local_bh_disable();
		skb_queue_walk(&frames, skb)
			ipoib_arp_unreachable(skb);
		local_bh_enable();
	}
	ipoib_drop_list(priv, &frames, IPOIB_TX_NO_PATH);
	ipoib_neigh_put(neigh);
}

/*
 * A path record is due, or frames wait, which go first. A frame without an address handle
 * waits, or is dropped with a reason. Returns the neighbour, which has a handle, or NULL: then it
 * is consumed. Not inline, as it needs a stack frame with a canary, and the fast path does not.
 */
static noinline struct ipoib_neigh *ipoib_arp_xmit_slow(struct ipoib_dev *priv, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	bool unreachable = false, known = false;
	unsigned long asked_at = 0;
	enum ipoib_stat why;
	struct ipoib_neigh *neigh;

	spin_lock(&priv->neigh.lock);
	neigh = ipoib_neigh_get(priv, to->gid, ipoib_arp_work, &why);
	if (neigh) {
		if (ipoib_neigh_is_due(neigh) && !ipoib_neigh_is_asked(neigh))
			ipoib_neigh_ask(neigh);
		known = rcu_access_pointer(neigh->ah);
		if (ipoib_neigh_waits(priv, &neigh->queue, skb) ||
		    (!known && ipoib_neigh_is_asked(neigh))) {
			ipoib_neigh_park(priv, IPOIB_WAIT_PATH, &neigh->queue,
					 known ? IPOIB_NEIGH_RESENT : IPOIB_NEIGH_QUEUE, skb);
			spin_unlock(&priv->neigh.lock);
			return NULL;
		}
		why = IPOIB_TX_NO_PATH;
		unreachable = neigh->failures >= IPOIB_ARP_UNREACHABLE;
		asked_at = neigh->asked_at;
	}
	spin_unlock(&priv->neigh.lock);
	if (known)
		return neigh;
	if (unreachable)
		ipoib_arp_mark_stale(skb, to, asked_at);
	ipoib_drop(priv, skb, why);
	return NULL;
}

/**
 * ipoib_arp_xmit - send a frame to one neighbour
 * @txq: the queue
 * @skb: frame with its &struct ipoib_header; consumed
 *
 * Context: transmit lock of the queue held, RCU read side
 */
void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_neigh *neigh;
	unsigned int mtu, most;

	neigh = ipoib_neigh_find(&priv->neigh, to->gid);
	if (likely(neigh))
		ipoib_touch(&neigh->used);
	if (unlikely(!neigh || ipoib_neigh_is_due(neigh) || !rcu_access_pointer(neigh->ah) ||
		     !skb_queue_empty_lockless(&neigh->queue))) {
		neigh = ipoib_arp_xmit_slow(priv, skb);
		if (!neigh)
			return;
	}
	mtu = READ_ONCE(priv->mcast_mtu);
	most = ipoib_cm_is_on(priv) ? ipoib_cm_xmit(priv, neigh, skb) : mtu;
	if (!most)
		return;
	if (unlikely(ipoib_ud_too_long(skb, mtu))) {
		ipoib_pmtu_reject(priv, skb, most);
		return;
	}
	/* Its data may have moved. */
	to = (const void *)skb->data;
	ipoib_ud_xmit(txq, skb, rcu_dereference(neigh->ah), ipoib_lladdr_qpn(to));
}

/**
 * ipoib_arp_neigh_event - a neighbour of the stack has changed
 * @priv: the interface
 * @n: the neighbour
 *
 * If the stack finds it unreachable, it may have another LID that no notice has reported. Most
 * such neighbours are just not there, so the record is not read anew each time. Then, and if the
 * stack forgets it, connections end that are not in use.
 *
 * Context: any but hard interrupt, RCU read side; the lock of the neighbour table may be held
 */
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *n)
{
	bool failed = READ_ONCE(n->nud_state) == NUD_FAILED;
	struct ipoib_lladdr addr;

	if (!failed && !READ_ONCE(n->dead))
		return;
	neigh_ha_snapshot((char *)&addr, n, n->dev);
	if (failed)
		ipoib_neigh_contradicted(priv, addr.gid, IPOIB_ARP_REREAD);
	if (ipoib_has_cm(priv))
		ipoib_cm_neigh_gone(priv->cm, &addr);
}
