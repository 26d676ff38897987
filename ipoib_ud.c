// SPDX-License-Identifier: GPL-2.0
/*
 * Datagram mode, send side.
 *
 * A frame arrives with address handle and QPN. It gets a slot of the ring and a work request, which
 * waits in the batch of the queue until the stack reports that no frame follows; then the batch is
 * posted as a chain.
 *
 * A send is signalled only if its completion is waited for: by a frame that was not copied, as its
 * socket is charged until it is freed; by a stopped queue; or after IPOIB_TX_UNSIGNALLED sends.
 * Sends complete in order, so a completion includes all sends before it.
 *
 * ipoib_ud_qp.c creates the queues, ipoib_ud_rx.c has the receive side.
 */
#include "ipoib.h"
#include "ipoib_tso.h"

/* Undo the count of a post; the caller is the writer of @stats. */
static void ipoib_ud_uncount(struct ipoib_txq *txq, struct ipoib_txq_stats *stats, u32 slot,
			     enum ipoib_stat why)
{
	const struct ipoib_ring *ring = &txq->ring;
	const struct ipoib_tx_slot *sent = &ring->slots[slot & ring->mask];

	ipoib_txq_stat_add(stats, IPOIB_TXQ_ERRORS, sent->packets);
	ipoib_txq_stat_add(stats, IPOIB_TXQ_ERROR_BYTES, sent->bytes);
	ipoib_stat_traffic(txq->priv, IPOIB_TX_PACKETS, -(s64)sent->packets, -(s64)sent->bytes);
	ipoib_stat_add(txq->priv, why, sent->packets);
}

/* Post the batch of a queue. Context: transmit lock of the queue held. */
void ipoib_ud_post(struct ipoib_txq *txq)
{
	struct ipoib_batch *batch = txq->batch;
	struct ipoib_dev *priv = txq->priv;
	u32 signalled = txq->signalled;
	const struct ib_send_wr *bad;
	struct ib_ud_wr *last;
	int err;

	if (!batch || !batch->count)
		return;
	last = &batch->wr[batch->count - 1];
	last->wr.next = NULL;
	/* Signal the last send if a completion is waited for. */
	txq->unsignalled += batch->count;
	if (batch->awaited || txq->unsignalled >= IPOIB_TX_UNSIGNALLED ||
	    netif_xmit_stopped(txq->nq) || READ_ONCE(txq->retires)) {
		last->wr.send_flags |= IB_SEND_SIGNALED;
		txq->unsignalled = 0;
		txq->signalled = txq->ring.head;
	}
	/* Before the post: a failure is undone perhaps before the call returns. */
	ipoib_stat_traffic(priv, IPOIB_TX_PACKETS, batch->packets, batch->bytes);
	ipoib_txq_stat_add(&txq->sent, IPOIB_TXQ_PACKETS, batch->packets);
	ipoib_txq_stat_add(&txq->sent, IPOIB_TXQ_BYTES, batch->bytes);
	/* Some providers leave it unset when they refuse the first. */
	bad = &batch->wr[0].wr;
	err = ib_post_send(txq->qp, &batch->wr[0].wr, &bad);
	if (unlikely(err)) {
		/*
		 * The slots stay filled until the restart flushes the ring: only the completion
		 * handler may report to the byte queue limits.
		 */
		txq->signalled = signalled;
		for (; bad; bad = bad->next)
			ipoib_ud_uncount(txq, &txq->sent, bad->wr_id, IPOIB_TX_POST);
		if (net_ratelimit())
			netdev_warn(priv->netdev, "post send failed: %d\n", err);
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
	}
	batch->count = 0;
	batch->packets = 0;
	batch->bytes = 0;
	batch->awaited = false;
}

/* ---- waiting frames ---- */

/*
 * Take the transmit lock to send waiting frames. No other frame overtakes them, as the transmit
 * path checks for waiting frames.
 * Context: process.
 */
void ipoib_ud_send_begin(struct ipoib_txq *txq)
	__acquires(&txq->nq->_xmit_lock)
	__acquires(RCU)
{
	__netif_tx_lock_bh(txq->nq);
	rcu_read_lock();
}

/*
 * Send frames that waited, with their &struct ipoib_header, by @xmit, and release the transmit
 * lock. The frames are consumed: dropped while the QP is stopped or reset, or its ring is full.
 * Context: process, after ipoib_ud_send_begin().
 */
void ipoib_ud_send_end(struct ipoib_txq *txq, struct sk_buff_head *frames, ipoib_xmit_t xmit)
	__releases(RCU)
	__releases(&txq->nq->_xmit_lock)
{
	struct ipoib_dev *priv = txq->priv;
	bool on = test_bit(IPOIB_FLAG_UP, &priv->flags) &&
		  test_bit(IPOIB_FLAG_QP, &priv->flags) &&
		  txq < priv->txq + ipoib_txqs(priv);
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(frames))) {
		if (on)
			xmit(txq, skb);
		else
			ipoib_drop(priv, skb, IPOIB_TX_FLUSHED);
	}
	ipoib_ud_post(txq);
	rcu_read_unlock();
	__netif_tx_unlock_bh(txq->nq);
}

/* Put a frame into the ring, and into @n work requests. Returns 0 or a negative error. */
static int ipoib_ud_fill(struct ipoib_txq *txq, struct sk_buff *skb,
			 struct ib_ud_wr *wr, unsigned int n)
{
	unsigned int head;

	if (skb->len > IPOIB_TX_COPY || skb_is_gso(skb))
		txq->batch->awaited = true;
	if (skb_is_gso(skb) && ipoib_ud_cuts_skb(txq, skb))
		return ipoib_tso_fill(&txq->ring, skb, wr, n);
	if (skb_is_gso(skb)) {
		head = ipoib_tso_head(skb);
		if (unlikely(!txq->hca_cuts || !(skb_shinfo(skb)->gso_type & SKB_GSO_TCPV4) ||
			     head > skb_headlen(skb) || head > IPOIB_TX_HEAD))
			return -EINVAL;
		wr->wr.opcode = IB_WR_LSO;
		wr->wr.send_flags = IB_SEND_IP_CSUM;
		wr->header = skb->data;
		wr->hlen = head;
		wr->mss = skb_shinfo(skb)->gso_size;
		wr->wr.num_sge = ipoib_ring_fill(&txq->ring, skb, head, wr->wr.sg_list);
		return min(wr->wr.num_sge, 0);
	}
	wr->wr.opcode = IB_WR_SEND;
	wr->wr.send_flags = skb->ip_summed == CHECKSUM_PARTIAL ? IB_SEND_IP_CSUM : 0;
	wr->wr.num_sge = ipoib_ring_fill(&txq->ring, skb, 0, wr->wr.sg_list);
	return min(wr->wr.num_sge, 0);
}

/*
 * Send a frame, with its &struct ipoib_header; the frame is consumed. @ah is read under RCU, @qpn
 * is the QPN of the peer, or IPOIB_MCAST_QPN. ipoib_ud_post() posts it at the latest.
 * Context: transmit lock of the queue held, RCU read side.
 */
void ipoib_ud_xmit(struct ipoib_txq *txq, struct sk_buff *skb, struct ipoib_ah *ah, u32 qpn)
{
	struct ipoib_batch *batch = txq->batch;
	unsigned int n = 1, packets = 0, bytes = 0;
	struct ipoib_tx_slot *slot;
	struct ib_ud_wr *wr;
	unsigned int gso;
	u32 i;

	if (txq->priv->rn) {
		ipoib_rn_xmit(txq, skb, ah, qpn);
		return;
	}
	/* With all headers in place: a local user may have the sum begin anywhere in the frame. */
	if (skb->ip_summed == CHECKSUM_PARTIAL && !skb_is_gso(skb) && ipoib_ud_sums_skb(txq, skb) &&
	    unlikely(skb_checksum_help(skb))) {
		ipoib_drop(txq->priv, skb, IPOIB_TX_MAP);
		return;
	}
	skb_pull(skb, IPOIB_LLADDR_LEN);
	gso = skb_is_gso(skb) ? skb->len : 0;
	if (gso && ipoib_ud_cuts_skb(txq, skb))
		n = ipoib_tso_segments(skb);
	if (unlikely(ipoib_ring_room(&txq->ring) < n)) {
		ipoib_drop(txq->priv, skb, IPOIB_TX_QUEUE_FULL);
		return;
	}
	if (batch->count + n > IPOIB_TX_BATCH)
		ipoib_ud_post(txq);
	if (unlikely(skb_shinfo(skb)->tx_flags))
		skb_tx_timestamp(skb);
	if (unlikely(n > txq->max_segs || ipoib_ud_fill(txq, skb, &batch->wr[batch->count], n))) {
		ipoib_drop(txq->priv, skb, IPOIB_TX_MAP);
		return;
	}
	for (i = txq->ring.head - n; i != txq->ring.head; i++) {
		slot = &txq->ring.slots[i & txq->ring.mask];
		wr = &batch->wr[batch->count++];
		slot->ah = ah;
		wr->wr.wr_id = i;
		wr->wr.next = &(wr + 1)->wr;
		wr->ah = ah->ah;
		wr->remote_qpn = qpn;
		wr->remote_qkey = READ_ONCE(txq->priv->qkey);
		packets += slot->packets;
		bytes += slot->bytes;
		netdev_tx_sent_queue(txq->nq, slot->bytes);
	}
	batch->packets += packets;
	batch->bytes += bytes;
	if (gso) {
		ipoib_stat_traffic(txq->priv, IPOIB_TX_GSO, 1, gso);
		ipoib_stat_traffic(txq->priv, IPOIB_TX_GSO_WIRE, packets, bytes);
	}
	if (unlikely(ipoib_ring_room(&txq->ring) < txq->max_segs) &&
	    !netif_tx_queue_stopped(txq->nq)) {
		netif_tx_stop_queue(txq->nq);
		/* Pairs with ipoib_ud_tx_poll(): stop before reading the tail again. */
		smp_mb();
		if (ipoib_ring_room(&txq->ring) >= txq->max_segs) {
			netif_tx_start_queue(txq->nq);
		} else {
			ipoib_stat_add(txq->priv, IPOIB_TX_STOPPED, 1);
			ipoib_txq_stat_add(&txq->sent, IPOIB_TXQ_STOPPED, 1);
		}
	}
	if (batch->count >= IPOIB_BATCH)
		ipoib_ud_post(txq);
}

static void ipoib_ud_tx_failed(struct ipoib_txq *txq, const struct ib_wc *wc)
{
	if (wc->status != IB_WC_WR_FLUSH_ERR && net_ratelimit())
		netdev_warn(txq->priv->netdev,
			    "failed send event (status=%d, wrid=%u vend_err %#x)\n",
			    wc->status, (u32)wc->wr_id, wc->vendor_err);
	ipoib_ud_uncount(txq, &txq->done, wc->wr_id, IPOIB_TX_ERROR);
	ipoib_ctl_post(txq->priv, IPOIB_CTL_RECOVER);
}

/* NAPI handler of a transmit queue. Context: NAPI. Return: @budget if there may be more. */
int ipoib_ud_tx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_txq *txq = container_of(napi, struct ipoib_txq, napi);
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_tx_done done = {};
	int i, n;

	n = ib_poll_cq(txq->cq, IPOIB_POLL_WC, txq->wc);
	for (i = 0; i < n; i++) {
		if (unlikely(txq->wc[i].status != IB_WC_SUCCESS))
			ipoib_ud_tx_failed(txq, &txq->wc[i]);
		ipoib_ring_complete(&txq->ring, txq->wc[i].wr_id, budget, &done);
	}
	if (n > 0) {
		netdev_tx_completed_queue(txq->nq, done.packets, done.bytes);
		/*
		 * Write the tail before reading the state of the queue: pairs with ipoib_ud_xmit()
		 * and ipoib_ah_in_flight().
		 */
		smp_mb();
		if (unlikely(netif_tx_queue_stopped(txq->nq)) &&
		    ipoib_ring_room(&txq->ring) >= txq->ring.mask / 4 + txq->max_segs &&
		    test_bit(IPOIB_FLAG_UP, &priv->flags)) {
			ipoib_stat_add(priv, IPOIB_TX_WOKEN, 1);
			ipoib_txq_stat_add(&txq->done, IPOIB_TXQ_WOKEN, 1);
			netif_tx_wake_queue(txq->nq);
		}
		if (unlikely(READ_ONCE(txq->retires)))
			queue_delayed_work(system_unbound_wq, &priv->ah.work, 0);
	}
	if (n == IPOIB_POLL_WC)
		return budget;
	if (napi_complete_done(napi, 0) &&
	    ib_req_notify_cq(txq->cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(napi);
	return 0;
}

/*
 * Check the length of a frame, with its &struct ipoib_header, against the IP MTU of the link.
 * Context: any. Return: true if the frame, or a segment that the HCA makes of it, is too long.
 */
bool ipoib_ud_too_long(const struct sk_buff *skb, unsigned int mtu)
{
	if (likely(skb->len <= mtu + IPOIB_HARD_LEN))
		return false;
	return !skb_is_gso(skb) || !skb_gso_validate_network_len(skb, mtu);
}

/*
 * Check whether the HCA or the driver can segment a GSO frame with its &struct ipoib_header.
 * Return: true if so; else the stack makes segments, without a linear copy before.
 */
bool ipoib_ud_cut_check(const struct ipoib_dev *priv, const struct sk_buff *skb)
{
	const struct ipoib_txq *txq = priv->txq;

	/* The features of the HCA's net device describe its limits. */
	if (priv->rn)
		return true;
	if (ipoib_ud_cuts_skb(txq, skb))
		return ipoib_tso_takes(&txq->ring, skb, txq->max_segs);
	/* A frame that act_mirred redirects from an Ethernet device has another offset. */
	return skb_network_offset(skb) == IPOIB_HARD_LEN &&
	       skb_shinfo(skb)->nr_frags < txq->ring.max_sge &&
	       ipoib_tso_head(skb) <= IPOIB_LLADDR_LEN + IPOIB_TX_HEAD;
}
