// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, send side.
 *
 * Each connection has a ring, and a bounded backlog behind it. A full ring fills the backlog, and
 * a full backlog drops: a peer that stops reading blocks nothing but its own frames, so no queue of
 * the stack is stopped here. Sockets slow down all the same, as a frame stays charged to them until
 * its send has completed.
 *
 * Headers and fragments of a frame are mapped piece by piece. Only short frames are copied, and
 * most of their sends are not signalled.
 *
 * IPOIB_CM_CQ_CONNS connections share a send CQ, created on demand. One handler serves all CQs.
 */
#include <linux/slab.h>

#include "ipoib.h"
#include "cm/cm.h"

/*
 * Compute the checksum unless the stack has: no HCA does so on RC. A GSO frame was built in
 * datagram mode; its headers fit the whole frame, too.
 */
static bool ipoib_conn_checksum(struct sk_buff *skb)
{
	if (unlikely(skb_is_gso(skb))) {
		if (skb_unclone(skb, GFP_ATOMIC))
			return false;
		skb_gso_reset(skb);
	}
	return skb->ip_summed != CHECKSUM_PARTIAL || !skb_checksum_help(skb);
}

/*
 * Signal the send in the slot before the head to free its frame, to make room in a full ring, or
 * to prove that the peer is there. A QP of RC reports a failed send in any case.
 */
static bool ipoib_conn_must_signal(const struct ipoib_conn *conn)
{
	const struct ipoib_ring *ring = &conn->ring;

	return ring->slots[(ring->head - 1) & ring->mask].skb ||
	       ring->head - conn->signalled >= IPOIB_CM_TX_SIGNAL ||
	       !ipoib_ring_room(ring) || !test_bit(IPOIB_CONN_EV_PROVEN, &conn->flags);
}

/* Post the send in the slot before the head. */
static int ipoib_conn_post(struct ipoib_conn *conn, struct ib_sge *sge, int nsge, bool signal)
{
	struct ib_send_wr wr = {
		.wr_id = conn->ring.head - 1,
		.sg_list = sge,
		.num_sge = nsge,
		.opcode = IB_WR_SEND,
		.send_flags = signal ? IB_SEND_SIGNALED : 0,
	};
	int err;

	lockdep_assert_held(&conn->tx_lock);
	if (ipoib_ring_passed(&conn->ring, conn->signalled)) {
		WRITE_ONCE(conn->progress, jiffies);
		if (unlikely(test_bit(IPOIB_CONN_IS_UNWATCHED, &conn->flags))) {
			clear_bit(IPOIB_CONN_IS_UNWATCHED, &conn->flags);
			ipoib_conn_kick(conn);
		}
	}
	err = ib_post_send(conn->qp, &wr, NULL);
	if (signal && !err)
		WRITE_ONCE(conn->signalled, conn->ring.head);
	return err;
}

/* Put a frame into the ring, which has room, and post it. */
static void ipoib_conn_send(struct ipoib_conn *conn, struct sk_buff *skb)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ib_sge sge[IPOIB_TX_SGE];
	unsigned int len = skb->len;
	int nsge;

	lockdep_assert_held(&conn->tx_lock);
	skb_tx_timestamp(skb);
	nsge = ipoib_ring_fill(&conn->ring, skb, 0, sge);
	if (unlikely(nsge < 0)) {
		ipoib_drop(priv, skb, IPOIB_TX_MAP);
		return;
	}
	if (unlikely(ipoib_conn_post(conn, sge, nsge, ipoib_conn_must_signal(conn)))) {
		/* Nothing would complete the slot, and the teardown waits for all slots. */
		skb = ipoib_ring_take_back(&conn->ring);
		if (skb)
			ipoib_drop(priv, skb, IPOIB_TX_POST);
		else
			ipoib_stat_add(priv, IPOIB_TX_POST, 1);
		ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
		return;
	}
	ipoib_stat_traffic(priv, IPOIB_TX_PACKETS, 1, len);
	ipoib_stat_add(priv, IPOIB_CM_TX, 1);
}

/*
 * Post an empty, signalled send as the last send of a connection that sends no more. Its QP is in
 * the error state: the QP flushes the sends that it has not executed, but completes no unsignalled
 * send that it has. The completion of the last send completes them all.
 * Context: process.
 */
void ipoib_conn_send_last(struct ipoib_conn *conn)
{
	struct ipoib_ring *ring = &conn->ring;

	spin_lock_bh(&conn->tx_lock);
	/* In a full ring the last send is signalled. */
	if (ring->head != conn->signalled) {
		ipoib_ring_fill_empty(ring);
		if (ipoib_conn_post(conn, NULL, 0, true))
			ipoib_ring_take_back(ring);
	}
	spin_unlock_bh(&conn->tx_lock);
}

/* The ring has room, and sends complete. */
static bool ipoib_conn_may_post(const struct ipoib_conn *conn)
{
	return ipoib_ring_room(&conn->ring) && !test_bit(IPOIB_CONN_EV_FAILED, &conn->flags);
}

/* Send the backlog as far as there is room. */
static void ipoib_conn_drain_locked(struct ipoib_conn *conn)
{
	struct sk_buff *skb;

	lockdep_assert_held(&conn->tx_lock);
	while (ipoib_conn_may_post(conn)) {
		skb = __skb_dequeue(&conn->backlog);
		if (!skb)
			return;
		atomic_dec(&conn->cm->priv->neigh.queued[IPOIB_WAIT_RING]);
		ipoib_conn_send(conn, skb);
	}
}

/*
 * Send a frame, with its &struct ipoib_header, on a connection that is read under RCU.
 * Context: bottom halves off, RCU read side. Return: true if the frame was taken; false if it is
 * too long for the connection, or if the connection has just been closed.
 */
bool ipoib_conn_xmit(struct ipoib_conn *conn, struct sk_buff *skb)
{
	struct sk_buff_head *backlog = &conn->backlog;
	struct ipoib_dev *priv = conn->cm->priv;
	bool shut;

	if (unlikely(skb->len > conn->mtu + IPOIB_HARD_LEN))
		return false;
	ipoib_touch(&conn->used);
	if (unlikely(!ipoib_conn_checksum(skb))) {
		ipoib_drop(priv, skb, IPOIB_TX_MAP);
		return true;
	}
	spin_lock(&conn->tx_lock);
	shut = ipoib_conn_is_closing(conn);
	if (unlikely(shut))
		goto unlock;
	skb_pull(skb, IPOIB_LLADDR_LEN);
	if (likely(skb_queue_empty(backlog) && ipoib_conn_may_post(conn))) {
		ipoib_conn_send(conn, skb);
	} else {
		ipoib_neigh_park(priv, IPOIB_WAIT_RING, backlog, IPOIB_CM_BACKLOG, skb);
		/* Pairs with ipoib_conn_drain(): it sees the frame, or this sees the room. */
		smp_mb();
		ipoib_conn_drain_locked(conn);
	}
unlock:
	spin_unlock(&conn->tx_lock);
	return !shut;
}

/*
 * Stop sending on a connection in IPOIB_CONN_CLOSING, and give its backlog another way. No sender
 * posts after the return.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_conn_shut(struct ipoib_conn *conn)
{
	struct sk_buff_head frames;
	struct sk_buff *skb;

	lockdep_assert_held(&conn->cm->lock);
	__skb_queue_head_init(&frames);
	spin_lock(&conn->tx_lock);
	ipoib_neigh_unpark(conn->cm->priv, IPOIB_WAIT_RING, &conn->backlog, &frames);
	spin_unlock(&conn->tx_lock);
	skb_queue_walk(&frames, skb)
		skb_push(skb, IPOIB_LLADDR_LEN);
	ipoib_neigh_resend(conn->cm->priv, conn->peer->addr.gid, &frames);
}

/* A send has completed: send the backlog, or have the work see the end of the last send. */
static void ipoib_conn_drain(struct ipoib_conn *conn)
{
	/* Write the tail before reading state and backlog. */
	smp_mb();
	if (unlikely(ipoib_conn_is_closing(conn)) &&
	    ipoib_ring_passed(&conn->ring, READ_ONCE(conn->signalled)))
		ipoib_conn_kick(conn);
	if (likely(skb_queue_empty_lockless(&conn->backlog)))
		return;
	spin_lock(&conn->tx_lock);
	ipoib_conn_drain_locked(conn);
	spin_unlock(&conn->tx_lock);
}

/*
 * Handle a completion, which stands for all sends before it.
 * Context: bottom halves off; handler of sends, or ipoib_cm_tx_flush() while that is disabled.
 */
static void ipoib_cm_tx_complete(const struct ib_wc *wc, int budget)
{
	struct ipoib_conn *conn = wc->qp->qp_context;
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_ring *ring = &conn->ring;
	struct ipoib_tx_done done = {};
	struct ipoib_tx_slot *slot;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/* Undo the count of the post. */
		slot = &ring->slots[(u32)wc->wr_id & ring->mask];
		ipoib_stat_traffic(priv, IPOIB_TX_PACKETS, -slot->packets, -(s64)slot->bytes);
		ipoib_stat_add(priv, IPOIB_TX_ERROR, slot->packets);
		/* A flush before the close: the QP has failed without an event. */
		if (wc->status != IB_WC_WR_FLUSH_ERR || !ipoib_conn_is_closing(conn)) {
			netdev_dbg(priv->netdev,
				   "connection to %pI6 failed (status=%d vend_err %#x)\n",
				   conn->peer->addr.gid, wc->status, wc->vendor_err);
			ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
		}
	} else if (conn->transport == IPOIB_LLADDR_RC) {
		ipoib_conn_note_proof(conn);
	}
	/* Before the slots: ipoib_conn_send_left() reads in the opposite order. */
	WRITE_ONCE(conn->progress, jiffies);
	ipoib_ring_complete(ring, wc->wr_id, budget, &done);
	ipoib_conn_drain(conn);
}

/* Poll a CQ once. Returns the number of completions. */
static int ipoib_cm_tx_reap(struct ipoib_cm *cm, unsigned int i, int budget)
{
	struct ib_cq *cq = cm->tx_cq[i].cq;
	int k, n;

	clear_bit(i, cm->tx_ready);
	/* Clear the bit before reading the CQ: a later event sets it again. */
	smp_mb__after_atomic();
	n = ib_poll_cq(cq, ARRAY_SIZE(cm->tx_wc), cm->tx_wc);
	for (k = 0; k < n; k++)
		ipoib_cm_tx_complete(&cm->tx_wc[k], budget);
	if (n == ARRAY_SIZE(cm->tx_wc) ||
	    ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS) > 0)
		set_bit(i, cm->tx_ready);
	return max(n, 0);
}

/*
 * Process the completions of sends of a connection that posts no more.
 * Context: process; the handler is disabled.
 */
void ipoib_cm_tx_flush(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	int n, left = conn->tx_cq->cq->cqe;

	/* A CQ that never runs empty: after cqe completions all older ones have been seen. */
	do {
		local_bh_disable();
		n = ipoib_cm_tx_reap(cm, conn->tx_cq - cm->tx_cq, 0);
		local_bh_enable();
		left -= n;
	} while (n == ARRAY_SIZE(cm->tx_wc) && left > 0);
}

/*
 * NAPI handler of sends, &ipoib_cm.tx_napi. Each call handles a bounded number of completions and
 * goes on at the CQ behind the last.
 * Context: NAPI. Return: @budget to be called again, else 0.
 */
int ipoib_cm_tx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_cm *cm = container_of(napi, struct ipoib_cm, tx_napi);
	int left = NAPI_POLL_WEIGHT;
	unsigned int i;

	while (left > 0) {
		i = find_next_bit_wrap(cm->tx_ready, IPOIB_CM_CQS, cm->tx_next_cq);
		if (i == IPOIB_CM_CQS)
			break;
		/* An empty CQ costs one, too. */
		left -= ipoib_cm_tx_reap(cm, i, budget) + 1;
		cm->tx_next_cq = i + 1;
	}
	if (!bitmap_empty(cm->tx_ready, IPOIB_CM_CQS))
		return budget;
	if (napi_complete_done(napi, 0) && !bitmap_empty(cm->tx_ready, IPOIB_CM_CQS))
		napi_schedule(napi);
	return 0;
}

/* Event of a send CQ. Context: any. */
static void ipoib_cm_tx_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_cm_tx_cq *tx = ctx;

	set_bit(tx - tx->cm->tx_cq, tx->cm->tx_ready);
	ipoib_ud_schedule(&tx->cm->tx_napi);
}

/* IB_EVENT_CQ_ERR, the only event of a CQ: its sends complete no more. Context: any. */
static void ipoib_cm_tx_cq_error(struct ib_event *event, void *ctx)
{
	struct ipoib_cm_tx_cq *tx = ctx;

	ipoib_cm_srq_fail(tx->cm);
}

/* Connections for which a send CQ has room */
static unsigned int ipoib_cm_tx_cq_conns(const struct ipoib_dev *priv)
{
	return min_t(unsigned int, IPOIB_CM_CQ_CONNS, priv->ca->attrs.max_cqe / IPOIB_CM_RING);
}

/* Returns the number of connections for which all send CQs together have room. */
unsigned int ipoib_cm_tx_conns(const struct ipoib_dev *priv)
{
	return IPOIB_CM_CQS * ipoib_cm_tx_cq_conns(priv);
}

/*
 * Assign a send CQ to a connection, which counts in &ipoib_cm_tx_cq.conns from now on.
 * Context: &ipoib_cm.mutex held; may sleep. Return: 0 or a negative error.
 */
int ipoib_cm_tx_get_cq(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	unsigned int limit = ipoib_cm_tx_cq_conns(cm->priv);
	struct ib_cq_init_attr attr = { .cqe = limit * IPOIB_CM_RING };
	struct ipoib_cm_tx_cq *tx;
	struct ib_cq *cq;
	unsigned int i;

	lockdep_assert_held(&cm->mutex);
	for (i = 0; i < IPOIB_CM_CQS; i++)
		if (cm->tx_cq[i].conns < limit)
			break;
	if (i == IPOIB_CM_CQS)
		return -ENOSPC;
	tx = &cm->tx_cq[i];
	if (!tx->cq) {
		attr.comp_vector = ipoib_ud_vector(cm->priv, i + 1);
		tx->cm = cm;
		cq = ib_create_cq(cm->priv->ca, ipoib_cm_tx_event, ipoib_cm_tx_cq_error, tx,
				  &attr);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		tx->cq = cq;
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	}
	tx->conns++;
	conn->tx_cq = tx;
	return 0;
}

/*
 * Destroy the send CQs.
 * Context: &ipoib_cm.mutex held, no connections, handler disabled; may sleep.
 */
void ipoib_cm_tx_release(struct ipoib_cm *cm)
{
	unsigned int i;

	for (i = 0; i < IPOIB_CM_CQS; i++) {
		if (!cm->tx_cq[i].cq)
			continue;
		WARN_ON_ONCE(cm->tx_cq[i].conns);
		ib_destroy_cq(cm->tx_cq[i].cq);
		cm->tx_cq[i].cq = NULL;
	}
	bitmap_zero(cm->tx_ready, IPOIB_CM_CQS);
}
