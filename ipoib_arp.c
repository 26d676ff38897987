// SPDX-License-Identifier: GPL-2.0
/*
 * Unicast frames: from the link-layer address of ARP or Neighbour Discovery to a connection, or to
 * an address handle. The address has GID and QPN (RFC 4391 section 9.1.1); the path record has the
 * rest, see ipoib_neigh.c.
 */
#include <net/dst.h>
#include <net/neighbour.h>

#include "ipoib.h"

/* A younger path record is kept although the stack finds the neighbour unreachable. */
#define IPOIB_ARP_REREAD	(5 * HZ)
/* Failed queries in a row before senders get errors: as many tries as ARP and ND have */
#define IPOIB_ARP_UNREACHABLE	3

/*
 * Set the stack's neighbour of a frame to NUD_FAILED, as there is no path to its link-layer
 * address: the next packet resolves the address anew. Otherwise the stack would keep an address for
 * most of a minute after a lost announcement (failover of a bond). A neighbour that was confirmed
 * after @asked_at (jiffies) stays until the next query.
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

/* Send an ICMP error to the sender of a frame, as for a dead neighbour. */
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
 * Work of a neighbour: retry the query, send or drop the queue, release the peers of an unlinked
 * neighbour. The queued work holds a reference to the neighbour.
 * Context: process, on &ipoib_neighs.wq.
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
	/* Queue 0 last: it also has the frames of queues that are off. */
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
 * Slow path: a query is due, or frames wait, which go first. Queues a frame without an address
 * handle, or drops it with a reason. Returns the neighbour if it has a handle, or NULL if the frame
 * was consumed. Not inline: this needs a stack frame with a canary, and the fast path does not.
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

/*
 * Send a unicast frame with its &struct ipoib_header; the frame is consumed.
 * Context: transmit lock of the queue held, RCU read side.
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
		if (most == IPOIB_CM_TRANSIENT)
			ipoib_drop(priv, skb, IPOIB_TX_FLUSHED);
		else
			ipoib_pmtu_reject(priv, skb, most);
		return;
	}
	/* ipoib_cm_xmit() may have moved the data. */
	to = (const void *)skb->data;
	ipoib_ud_xmit(txq, skb, rcu_dereference(neigh->ah), ipoib_lladdr_qpn(to));
}

/*
 * Handle a change of a neighbour of the stack. An unreachable neighbour may have a new LID without
 * a notice, so its record becomes stale; not each time, as most of them are just down. Idle
 * connections to a neighbour that is unreachable or forgotten end.
 * Context: any but hard interrupt, RCU read side; the lock of the neighbour table may be held.
 */
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *n)
{
	bool failed = READ_ONCE(n->nud_state) == NUD_FAILED;
	struct ipoib_lladdr addr;

	if (!failed && !READ_ONCE(n->dead))
		return;
	neigh_ha_snapshot((char *)&addr, n, n->dev);
	if (failed)
		ipoib_neigh_suspect(priv, addr.gid, IPOIB_ARP_REREAD);
	if (ipoib_has_cm(priv))
		ipoib_cm_neigh_gone(priv->cm, &addr);
}
