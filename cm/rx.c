// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, receive side.
 *
 * All connections of an interface take their receives from one SRQ. They are dealt out to a few
 * receive queues, each with a CQ, a vector and a handler, so peers are spread over CPUs. On an HCA
 * without SRQ each connection has a few receives of its own. A receive is a
 * page, and for what is longer pieces of four pages; of a message shorter than a buffer
 * only those that hold it go up the stack. Where there is no memory in pieces of four
 * pages single ones do.
 *
 * The memory comes with the first connection and goes when there has been none
 * for a while. A receive takes 64 KB, so only as many are posted as there are
 * connections, and a margin, see ipoib_cm_bufs_missing(). The quota of a port
 * (share.c) leaves most of them to others.
 *
 * An SRQ that cannot be made is done without, until all of it is made anew. One that fails
 * is replaced, with all connections: they have receives in it.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_police.h"
#include "cm/cm.h"

static unsigned int ipoib_cm_max_conns = 12000;
module_param_named(cm_max_connections, ipoib_cm_max_conns, uint, 0644);
MODULE_PARM_DESC(cm_max_connections, "Most connections of an interface");

static int ipoib_cm_max_own = 128;

/* Signed, as configurations of modprobe have it; out of range it is the nearest in range. */
static int ipoib_cm_set_max_own(const char *value, const struct kernel_param *kp)
{
	int err = param_set_int(value, kp);

	if (!err)
		ipoib_cm_max_own = clamp(ipoib_cm_max_own, 0, IPOIB_CM_CQS * IPOIB_CM_CQ_CONNS);
	return err;
}

static const struct kernel_param_ops ipoib_cm_max_own_ops = {
	.set = ipoib_cm_set_max_own,
	.get = param_get_int,
};

module_param_cb(max_nonsrq_conn_qp, &ipoib_cm_max_own_ops, &ipoib_cm_max_own, 0444);
__MODULE_PARM_TYPE(max_nonsrq_conn_qp, "int");
MODULE_PARM_DESC(max_nonsrq_conn_qp,
		 "The same on an HCA without shared receive queues, if that is less");

/**
 * struct ipoib_cm_tally - what one poll received
 * @packets: frames for the stack
 * @bytes: their octets with the encapsulation header
 */
struct ipoib_cm_tally {
	unsigned int packets;
	unsigned int bytes;
};

/**
 * ipoib_cm_srq_size - receives that connections are to share
 * @priv: the interface
 *
 * They do if the HCA has SRQs that are good for it. Soft-RoCE forgets the receive that a message
 * was being put into when its QP stops, and does not report everywhere that a QP is done with its
 * SRQ. With receives of its own a QP gives all of them back.
 *
 * Return: how many, each of which has a place in the CQ; 0 without SRQ
 */
unsigned int ipoib_cm_srq_size(const struct ipoib_dev *priv)
{
	const struct ib_device_attr *attrs = &priv->ca->attrs;

	if (attrs->max_srq <= 0 || attrs->max_srq_wr <= 0 || attrs->max_srq_sge <= 1 ||
	    priv->ca->ops.driver_id == RDMA_DRIVER_RXE)
		return 0;
	return min3((u32)ipoib_recvq_size, (u32)attrs->max_srq_wr, (u32)attrs->max_cqe);
}

/**
 * ipoib_cm_rx_full - receives that may be posted
 * @cm: connected mode of the interface
 *
 * Return: how many; without SRQ as many as with one
 */
unsigned int ipoib_cm_rx_full(const struct ipoib_cm *cm)
{
	return READ_ONCE(cm->srq_size) ?: ipoib_recvq_size;
}

/* The most connections that CQs have room for; without SRQ each has receives of its own. */
static unsigned int ipoib_cm_room(const struct ipoib_cm *cm)
{
	unsigned int own = min_t(unsigned int, ipoib_cm_max_own,
				 cm->priv->ca->attrs.max_cqe / IPOIB_CM_OWN_BUFS);
	unsigned int room = ipoib_cm_tx_conns(cm->priv);

	return READ_ONCE(cm->srq_size) ? room : min(room, own);
}

/**
 * ipoib_cm_limit - the most connections of an interface
 * @cm: connected mode of the interface
 *
 * Return: how many
 */
unsigned int ipoib_cm_limit(const struct ipoib_cm *cm)
{
	return min(ipoib_cm_room(cm), READ_ONCE(ipoib_cm_max_conns));
}

/* Pages of a receive: each may need an SGE of its own. */
static unsigned int ipoib_cm_rx_npages(const struct ipoib_dev *priv)
{
	unsigned int max = READ_ONCE(priv->cm->srq_size) ? priv->ca->attrs.max_srq_sge :
							   priv->ca->attrs.max_recv_sge;

	return min_t(unsigned int, max, IPOIB_CM_PAGES);
}

/**
 * ipoib_cm_rx_mtu - the longest message that is received
 * @priv: the interface
 *
 * It is what the buffers hold, not what would be nice (C26).
 *
 * Return: octets, encapsulation header included
 */
unsigned int ipoib_cm_rx_mtu(const struct ipoib_dev *priv)
{
	return min_t(unsigned int, ipoib_cm_rx_npages(priv) * PAGE_SIZE,
		     IPOIB_ENCAP_LEN + IPOIB_MTU_MAX);
}

/* ---- buffers ---- */

/* What is lost counts as not posted, so that another one takes its place. */
static unsigned int ipoib_cm_bufs_posted(const struct ipoib_cm_bufs *bufs)
{
	unsigned int away = bufs->size - READ_ONCE(bufs->nfree);

	return away - min(away, READ_ONCE(bufs->lost));
}

/*
 * How many more shall be posted; there are as many that are free. A QP takes a receive of the SRQ
 * with the first packet of a message, and no other one before that message has ended, if it ever
 * does. So with the margin above the number of connections there are receives for all of them. UC
 * drops messages that find none: there, it is all.
 */
static unsigned int ipoib_cm_bufs_missing(const struct ipoib_cm *cm,
					  const struct ipoib_cm_bufs *bufs)
{
	unsigned int target = bufs->size - min(bufs->size, READ_ONCE(bufs->lost));
	unsigned int posted = ipoib_cm_bufs_posted(bufs);

	if (bufs->srq && !(READ_ONCE(cm->offers) & IPOIB_LLADDR_UC))
		target = min(target, READ_ONCE(cm->nconns) + READ_ONCE(cm->rx->margin));
	return target > posted ? target - posted : 0;
}

static struct page_pool *ipoib_cm_slot_pool(const struct ipoib_cm_rx *rx,
					    const struct ipoib_cm_slot *slot, unsigned int i)
{
	return slot->order && i ? rx->large : rx->pool;
}

static unsigned int ipoib_cm_slot_size(const struct ipoib_cm_slot *slot, unsigned int i)
{
	return i ? PAGE_SIZE << slot->order : PAGE_SIZE;
}

static void ipoib_cm_slot_empty(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot)
{
	unsigned int i;

	for (; slot->npages; slot->npages--) {
		i = slot->npieces - slot->npages;
		page_pool_put_full_page(ipoib_cm_slot_pool(rx, slot, i), slot->page[i], false);
	}
}

/* The pieces of an empty slot; together they are as long, whatever the order. */
static void ipoib_cm_slot_divide(struct ipoib_cm *cm,
				 struct ipoib_cm_slot *slot, unsigned int order)
{
	unsigned int left = cm->rx->npages * PAGE_SIZE;
	struct ib_sge *sge;

	slot->order = order;
	for (slot->npieces = 0; left; slot->npieces++) {
		sge = &slot->sge[slot->npieces];
		sge->length = min(left, ipoib_cm_slot_size(slot, slot->npieces));
		sge->lkey = cm->priv->pd->local_dma_lkey;
		left -= sge->length;
	}
}

static bool ipoib_cm_slot_fill(struct ipoib_cm *cm, struct ipoib_cm_slot *slot)
{
	struct ipoib_cm_rx *rx = cm->rx;
	struct page *page;
	unsigned int i;

	if (!slot->npages)
		ipoib_cm_slot_divide(cm, slot, rx->large ? IPOIB_CM_ORDER : 0);
	while (slot->npages < slot->npieces) {
		i = slot->npieces - 1 - slot->npages;
		page = page_pool_dev_alloc_pages(ipoib_cm_slot_pool(rx, slot, i));
		if (page) {
			slot->page[i] = page;
			slot->sge[i].addr = ib_uses_virt_dma(cm->priv->ca) ?
					    (uintptr_t)page_address(page) :
					    page_pool_get_dma_addr(page);
			slot->npages++;
		} else if (slot->order) {
			ipoib_cm_slot_empty(rx, slot);
			ipoib_cm_slot_divide(cm, slot, 0);
		} else {
			return false;
		}
	}
	return true;
}

/* Of so many slots on top of the stack, how many have all their pages now. */
static unsigned int ipoib_cm_bufs_fill(struct ipoib_cm *cm, struct ipoib_cm_bufs *bufs,
				       unsigned int n)
{
	unsigned int i;

	lockdep_assert_held(&cm->rx->lock);
	for (i = 0; i < n; i++)
		if (!ipoib_cm_slot_fill(cm, &bufs->slots[bufs->free[bufs->nfree - i - 1]]))
			break;
	return i;
}

/* Post one chain of filled slots, the last one first. Returns how many. */
static unsigned int ipoib_cm_rx_post(struct ipoib_cm *cm, struct ipoib_cm_bufs *bufs,
				     const u16 *slots, unsigned int n)
{
	struct ipoib_cm_rx *rx = cm->rx;
	const struct ib_recv_wr *bad = rx->wr;
	struct ib_device *ca = cm->priv->ca;
	struct ipoib_cm_slot *slot;
	struct ib_recv_wr *wr;
	unsigned int i;
	int err;

	lockdep_assert_held(&rx->lock);
	if (!n)
		return 0;
	for (i = 0; i < n; i++) {
		wr = &rx->wr[i];
		wr->wr_id = slots[n - i - 1];
		slot = &bufs->slots[wr->wr_id];
		wr->sg_list = slot->sge;
		wr->num_sge = slot->npieces;
		wr->next = i + 1 < n ? wr + 1 : NULL;
		/*
		 * The pool has given its pages to the HCA. Only the first of a slot may have
		 * been read since, to be copied: what else is read leaves the slot.
		 */
		ib_dma_sync_single_for_device(ca, slot->sge[0].addr,
					      IPOIB_ENCAP_LEN + IPOIB_CM_RX_COPY,
					      DMA_FROM_DEVICE);
	}
	if (bufs->srq)
		err = ib_post_srq_recv(bufs->srq, rx->wr, &bad);
	else
		err = ib_post_recv(bufs->qp, rx->wr, &bad);
	return likely(!err) ? n : bad - rx->wr;
}

/* Post one chain of what is missing. Returns how many. */
static unsigned int ipoib_cm_rx_post_missing(struct ipoib_cm *cm, struct ipoib_cm_bufs *bufs)
{
	unsigned int n = min_t(unsigned int, ipoib_cm_bufs_missing(cm, bufs), IPOIB_CM_BATCH);

	n = ipoib_cm_bufs_fill(cm, bufs, n);
	n = ipoib_cm_rx_post(cm, bufs, bufs->free + bufs->nfree - n, n);
	/* Posted from the top of the stack downwards. */
	WRITE_ONCE(bufs->nfree, bufs->nfree - n);
	return n;
}

static void ipoib_cm_rx_refill(struct ipoib_cm_rxq *rxq, struct ipoib_cm_bufs *bufs)
{
	struct ipoib_cm *cm = rxq->cm;

	while (ipoib_cm_bufs_missing(cm, bufs)) {
		if (likely(ipoib_cm_rx_post_missing(cm, bufs)))
			continue;
		ipoib_stat_add(cm->priv, IPOIB_RX_NOMEM, 1);
		/* Connections may hold all that is posted: then no completion leads here. */
		if (bufs->srq && ipoib_cm_bufs_posted(bufs) <= READ_ONCE(cm->nconns))
			ipoib_moder_again(&rxq->moder, IPOIB_RX_AGAIN);
		/* The next connection has receives. */
		if (bufs->qp && !ipoib_cm_bufs_posted(bufs))
			ipoib_conn_note(bufs->qp->qp_context, IPOIB_CONN_EV_FAILED);
		return;
	}
}

/* ---- failure of the SRQ ---- */

/**
 * ipoib_cm_srq_fail - have all that connections share made anew, as the SRQ or a CQ has failed
 * @cm: connected mode of the interface
 *
 * No lock is taken; a work closes the connections.
 *
 * Context: any
 */
void ipoib_cm_srq_fail(struct ipoib_cm *cm)
{
	if (!test_and_set_bit(IPOIB_CM_SRQ_FAILED, &cm->flags))
		mod_delayed_work(system_unbound_wq, &cm->rx_work, 0);
}

static void ipoib_cm_srq_event(struct ib_event *event, void *ctx)
{
	/* No lock may be taken here, and no SRQ be read. */
	if (event->event == IB_EVENT_SRQ_ERR)
		ipoib_cm_srq_fail(ctx);
}

static int ipoib_cm_bufs_init(struct ipoib_cm_bufs *bufs, unsigned int size)
{
	unsigned int i;

	bufs->slots = kvmalloc_array(size, sizeof(*bufs->slots), GFP_KERNEL);
	bufs->free = kvmalloc_array(size, sizeof(*bufs->free), GFP_KERNEL);
	if (!bufs->slots || !bufs->free)
		return -ENOMEM;
	for (i = 0; i < size; i++) {
		bufs->free[i] = i;
		bufs->slots[i].npages = 0;
	}
	/* Of these ipoib_cm_bufs_exit() reads the pages. */
	bufs->size = size;
	bufs->nfree = size;
	return 0;
}

/* Nothing is posted any more. */
static void ipoib_cm_bufs_exit(struct ipoib_cm *cm, struct ipoib_cm_bufs *bufs)
{
	unsigned int i;

	for (i = 0; i < bufs->size; i++)
		ipoib_cm_slot_empty(cm->rx, &bufs->slots[i]);
	kvfree(bufs->free);
	kvfree(bufs->slots);
}

/* ---- frames ---- */

/*
 * A short message is copied and its page stays in the slot. The pages of a long one become
 * fragments, behind its encapsulation header, and the slot needs new ones.
 */
static struct sk_buff *ipoib_cm_rx_skb(struct ipoib_cm_rxq *rxq, struct ipoib_cm_slot *slot,
				       unsigned int len)
{
	struct ib_device *ca = rxq->cm->priv->ca;
	bool copy = len <= IPOIB_ENCAP_LEN + IPOIB_CM_RX_COPY;
	unsigned int head = copy ? len : IPOIB_ENCAP_LEN;
	unsigned int i, part, size;
	struct sk_buff *skb;

	skb = ipoib_rx_alloc_skb(&rxq->napi,
				 IPOIB_LLADDR_LEN + head + (copy ? 0 : IPOIB_RX_LINEAR));
	if (unlikely(!skb))
		return NULL;
	skb_put(skb, IPOIB_LLADDR_LEN);
	for (i = 0; len; i++, len -= part) {
		size = ipoib_cm_slot_size(slot, i);
		part = min(len, size);
		ib_dma_sync_single_for_cpu(ca, slot->sge[i].addr, part, DMA_FROM_DEVICE);
		if (!i)
			skb_put_data(skb, page_address(slot->page[0]), head);
		if (copy)
			break;
		skb_add_rx_frag(skb, i, slot->page[i], head, part - head, size);
		slot->npages--;
		head = 0;
	}
	if (!copy)
		skb_mark_for_recycle(skb);
	return skb;
}

static void ipoib_cm_rx_frame(struct ipoib_conn *conn, struct ipoib_cm_bufs *bufs,
			      const struct ib_wc *wc, struct ipoib_cm_tally *tally)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_header *header;
	struct sk_buff *skb;

	skb = ipoib_cm_rx_skb(conn->rxq, &bufs->slots[wc->wr_id], wc->byte_len);
	if (unlikely(!skb)) {
		ipoib_stat_add(cm->priv, IPOIB_RX_NOMEM, 1);
		return;
	}
	header = (struct ipoib_header *)skb->data;
	header->lladdr = conn->peer->addr;
	skb->pkt_type = PACKET_HOST;
	if (unlikely(ipoib_police_is_for(skb))) {
		/* Any host can request a connection in any name. */
		if (!READ_ONCE(conn->confirmed))
			memset(header->lladdr.gid, 0, sizeof(header->lladdr.gid));
		if (!ipoib_rx_police(cm->priv, skb, lower_32_bits(conn->port)))
			return;
	}
	tally->packets++;
	tally->bytes += skb->len - IPOIB_LLADDR_LEN;
	ipoib_touch(&conn->used);
	if (conn->transport == IPOIB_LLADDR_UC) {
		/* Any host can have one in the peer's name, to another port. */
		if (READ_ONCE(conn->confirmed))
			ipoib_touch(&conn->peer->last_rx);
		ipoib_conn_note_proof(conn);
	}
	ipoib_rx_deliver(cm->priv, &conn->rxq->napi, skb);
}

static void ipoib_cm_rx_complete(struct ipoib_cm *cm, const struct ib_wc *wc,
				 struct ipoib_cm_tally *tally)
{
	struct ipoib_conn *conn = wc->qp->qp_context;
	struct ipoib_cm_bufs *bufs = conn->bufs ?: &cm->rx->bufs;

	if (WARN_ON_ONCE(wc->wr_id >= bufs->size))
		return;
	if (likely(wc->status == IB_WC_SUCCESS)) {
		if (unlikely(wc->byte_len < IPOIB_ENCAP_LEN ||
			     wc->byte_len > cm->rx->npages * PAGE_SIZE))
			ipoib_stat_add(cm->priv, IPOIB_RX_SHORT, 1);
		else if (likely(test_bit(IPOIB_FLAG_UP, &cm->priv->flags)))
			ipoib_cm_rx_frame(conn, bufs, wc, tally);
	} else if (wc->status != IB_WC_WR_FLUSH_ERR) {
		ipoib_stat_add(cm->priv, IPOIB_RX_ERROR, 1);
		if (net_ratelimit())
			netdev_warn(cm->priv->netdev,
				    "failed recv event on a connection (status=%d, wrid=%llu vend_err %#x)\n",
				    wc->status, wc->wr_id, wc->vendor_err);
		ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
	} else if (!ipoib_conn_is_closing(conn)) {
		/* The QP has failed without a word. Its own receives would come back for ever. */
		ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
	}
	/* Its buffers have been read: the slot may be filled again. */
	spin_lock(&cm->rx->lock);
	bufs->free[bufs->nfree] = wc->wr_id;
	WRITE_ONCE(bufs->nfree, bufs->nfree + 1);
	/* What is posted above the target can only be waited for. */
	if (unlikely(!ipoib_cm_bufs_missing(cm, bufs)))
		ipoib_cm_slot_empty(cm->rx, &bufs->slots[wc->wr_id]);
	if (conn->bufs && !ipoib_conn_is_closing(conn))
		ipoib_cm_rx_refill(conn->rxq, bufs);
	spin_unlock(&cm->rx->lock);
	/* It may have been the last one. */
	if (conn->bufs && ipoib_conn_is_closing(conn) && ipoib_cm_rx_done(conn))
		ipoib_conn_kick(conn);
}

static void ipoib_cm_srq_refill(struct ipoib_cm_rxq *rxq, unsigned int least)
{
	struct ipoib_cm_rx *rx = rxq->cm->rx;

	if (ipoib_cm_bufs_missing(rxq->cm, &rx->bufs) < least)
		return;
	spin_lock(&rx->lock);
	ipoib_cm_rx_refill(rxq, &rx->bufs);
	spin_unlock(&rx->lock);
}

/*
 * So many completions have been found since the CQ was last empty, and as many receives may have
 * been used up before the handler ran. If that is half of the margin, double it, so only the
 * beginning of the next burst meets with RNR NAKs.
 */
static void ipoib_cm_rx_widen(struct ipoib_cm_rx *rx, unsigned int since)
{
	if (likely(since < READ_ONCE(rx->margin) / 2) || READ_ONCE(rx->margin) >= rx->bufs.size)
		return;
	spin_lock(&rx->lock);
	if (since >= rx->margin / 2)
		WRITE_ONCE(rx->margin, min(2 * rx->margin, rx->bufs.size));
	spin_unlock(&rx->lock);
}

/* Returns how many completions were worked on. */
static int ipoib_cm_rx_reap(struct ipoib_cm_rxq *rxq, int budget)
{
	struct ipoib_cm_tally tally = {};
	struct ipoib_cm *cm = rxq->cm;
	int done = 0, want, i, n;

	while (done < budget) {
		want = min_t(int, budget - done, ARRAY_SIZE(rxq->wc));
		n = ib_poll_cq(rxq->cq, want, rxq->wc);
		for (i = 0; i < n; i++)
			ipoib_cm_rx_complete(cm, &rxq->wc[i], &tally);
		ipoib_cm_srq_refill(rxq, IPOIB_CM_BATCH);
		if (n > 0)
			done += n;
		if (n < want)
			break;
	}
	rxq->since += done;
	ipoib_cm_rx_widen(cm->rx, rxq->since);
	ipoib_cm_srq_refill(rxq, 1);
	if (tally.packets) {
		ipoib_stat_traffic(cm->priv, IPOIB_RX_PACKETS, tally.packets, tally.bytes);
		ipoib_stat_add(cm->priv, IPOIB_CM_RX, tally.packets);
		ipoib_moder_received(&rxq->moder, tally.packets, tally.bytes);
	}
	return done;
}

/* Completion handler of receives, &ipoib_cm_rxq.napi */
static int ipoib_cm_rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_cm_rxq *rxq = container_of(napi, struct ipoib_cm_rxq, napi);
	int done = ipoib_cm_rx_reap(rxq, budget);

	/* If it is never empty, as many as it holds are all that it held. */
	if (done < budget || rxq->since > rxq->cq->cqe) {
		rxq->since = 0;
		/* Pairs with ipoib_cm_rx_fence(): receives are looked at no more. */
		smp_store_release(&rxq->rounds, rxq->rounds + 1);
	}
	if (done >= budget)
		return budget;
	ipoib_moder_complete(&rxq->moder, done);
	return done;
}

/**
 * ipoib_cm_rx_fence - wait until the handler has seen all there was
 * @rxq: the queue, of at least one connection
 *
 * Completions that were in the CQ before the call have been worked on when it
 * returns: the round after the next began after the call.
 *
 * Context: process
 */
void ipoib_cm_rx_fence(struct ipoib_cm_rxq *rxq)
{
	unsigned int start = READ_ONCE(rxq->rounds);

	do {
		ipoib_ud_schedule(&rxq->napi);
		schedule_timeout_uninterruptible(1);
		/* Pairs with ipoib_cm_rx_poll(). */
	} while (smp_load_acquire(&rxq->rounds) - start < 2);
}

/* IB_EVENT_CQ_ERR, the only event of a CQ. */
static void ipoib_cm_rx_cq_error(struct ib_event *event, void *ctx)
{
	struct ipoib_cm_rxq *rxq = ctx;

	ipoib_cm_srq_fail(rxq->cm);
}

static void ipoib_cm_rx_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_cm_rxq *rxq = ctx;

	ipoib_moder_event(&rxq->moder);
	ipoib_ud_schedule(&rxq->napi);
}

/**
 * ipoib_cm_rx_deal - choose the receive queue of a connection
 * @conn: the connection, which counts for &ipoib_conn.rxq after that: the one with the fewest
 *
 * Context: &ipoib_cm.mutex held
 */
void ipoib_cm_rx_deal(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_cm_rxq *rxq = cm->rxq;
	unsigned int i;

	lockdep_assert_held(&cm->mutex);
	for (i = 1; i < cm->nrxq; i++)
		if (cm->rxq[i].cq && cm->rxq[i].conns < rxq->conns)
			rxq = &cm->rxq[i];
	rxq->conns++;
	WRITE_ONCE(conn->rxq, rxq);
}

/* ---- what connections share ---- */

/* Return: pool of pieces of an order, or ERR_PTR() */
static struct page_pool *ipoib_cm_pool_create(struct ipoib_cm *cm, struct ipoib_cm_rx *rx,
					      unsigned int order)
{
	unsigned int size = min_t(unsigned int, IPOIB_CM_POOL_RING,
				  rx->bufs.size * rx->npages) >> order;

	bool one = rx->bufs.size && cm->nrxq == 1;

	/* With receives of their own connections allocate outside of the handler, too. */
	return ipoib_pool_create(cm->priv->ca, NULL, one ? &cm->rxq[0].napi : NULL, 0, order,
				 size);
}

/* If the HCA refuses one, try smaller ones, and then do without. */
static void ipoib_cm_srq_create(struct ipoib_cm *cm, struct ipoib_cm_rx *rx)
{
	struct ib_srq_init_attr attr = {
		.event_handler = ipoib_cm_srq_event,
		.srq_context = cm,
		.attr.max_sge = ipoib_cm_rx_npages(cm->priv),
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq = NULL;
	unsigned int half;

	while (cm->srq_size && !rx->bufs.srq) {
		attr.attr.max_wr = cm->srq_size;
		srq = ib_create_srq(cm->priv->pd, &attr);
		half = cm->srq_size / 2;
		if (!IS_ERR(srq))
			rx->bufs.srq = srq;
		else
			WRITE_ONCE(cm->srq_size, half < IPOIB_CM_SRQ_MIN ? 0 : half);
	}
	if (!IS_ERR(srq) || cm->srq_logged)
		return;
	netdev_warn(cm->priv->netdev,
		    "no shared receive queue: %ld; connections have receives of their own, and are fewer\n",
		    PTR_ERR(srq));
	cm->srq_logged = true;
}

static int ipoib_cm_rxq_create(struct ipoib_cm_rxq *rxq)
{
	struct ipoib_cm *cm = rxq->cm;
	struct ib_cq_init_attr attr = {
		.comp_vector = ipoib_ud_vector(cm->priv, rxq - cm->rxq),
		.cqe = cm->srq_size ?: ipoib_cm_room(cm) * IPOIB_CM_OWN_BUFS,
	};
	struct ib_cq *cq;

	cq = ib_create_cq(cm->priv->ca, ipoib_cm_rx_event, ipoib_cm_rx_cq_error, rxq, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	rxq->cq = cq;
	rxq->since = 0;
	ipoib_moder_init(&rxq->moder, cq, &rxq->napi, &cm->priv->moderation,
			 IPOIB_CM_MARGIN);
	return 0;
}

static void ipoib_cm_rxq_free(struct ipoib_cm_rxq *rxq)
{
	if (!rxq->cq)
		return;
	WARN_ON_ONCE(rxq->conns);
	ipoib_moder_exit(&rxq->moder);
	ib_destroy_cq(rxq->cq);
	rxq->cq = NULL;
}

static int ipoib_cm_rx_create(struct ipoib_cm *cm, struct ipoib_cm_rx *rx)
{
	struct page_pool *pool;
	unsigned int i;
	int err;

	/* How long a receive may be depends on whether there is one. */
	ipoib_cm_srq_create(cm, rx);
	rx->npages = ipoib_cm_rx_npages(cm->priv);
	err = ipoib_cm_bufs_init(&rx->bufs, cm->srq_size);
	if (err)
		return err;
	pool = ipoib_cm_pool_create(cm, rx, 0);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	rx->pool = pool;
	/* What a page and one such piece hold would be about as many single pages. */
	if (IPOIB_CM_ORDER && rx->npages > 1 << IPOIB_CM_ORDER) {
		pool = ipoib_cm_pool_create(cm, rx, IPOIB_CM_ORDER);
		if (!IS_ERR(pool))
			rx->large = pool;
	}
	/* An HCA that has no more CQs has fewer queues. */
	for (i = 0; i < cm->nrxq && !err; i++)
		err = ipoib_cm_rxq_create(&cm->rxq[i]);
	return cm->rxq[0].cq ? 0 : err;
}

/* As far as it was made. The next SRQ is tried in its full size. */
static void ipoib_cm_rx_free(struct ipoib_cm *cm, struct ipoib_cm_rx *rx)
{
	unsigned int i;

	if (rx->bufs.srq)
		ib_destroy_srq(rx->bufs.srq);
	WRITE_ONCE(cm->srq_size, ipoib_cm_srq_size(cm->priv));
	for (i = 0; i < cm->nrxq; i++)
		ipoib_cm_rxq_free(&cm->rxq[i]);
	/* No event comes any more. */
	clear_bit(IPOIB_CM_SRQ_FAILED, &cm->flags);
	ipoib_cm_bufs_exit(cm, &rx->bufs);
	page_pool_destroy(rx->large);
	page_pool_destroy(rx->pool);
	WRITE_ONCE(cm->rx, NULL);
	kfree(rx);
}

/**
 * ipoib_cm_rx_get - have what connections share
 * @cm: connected mode of the interface
 *
 * Context: &ipoib_cm.mutex held; may sleep
 * Return: 0, or a negative error with nothing allocated
 */
int ipoib_cm_rx_get(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx;
	unsigned int i, n;
	int err;

	lockdep_assert_held(&cm->mutex);
	if (ipoib_cm_srq_has_failed(cm))
		return -EAGAIN;
	if (cm->rx)
		return 0;
	rx = kzalloc(sizeof(*rx), GFP_KERNEL);
	if (!rx)
		return -ENOMEM;
	rx->margin = IPOIB_CM_MARGIN;
	spin_lock_init(&rx->lock);
	err = ipoib_cm_rx_create(cm, rx);
	if (err) {
		ipoib_cm_rx_free(cm, rx);
		return err;
	}
	WRITE_ONCE(cm->rx, rx);
	/*
	 * Hundreds of pages or more, so with breaks, and not in the handler. What is
	 * missing is up to that.
	 */
	do {
		spin_lock_bh(&rx->lock);
		n = ipoib_cm_rx_post_missing(cm, &rx->bufs);
		spin_unlock_bh(&rx->lock);
		cond_resched();
	} while (n);
	napi_enable(&cm->tx_napi);
	for (i = 0; i < cm->nrxq; i++) {
		napi_enable(&cm->rxq[i].napi);
		if (cm->rxq[i].cq)
			ib_req_notify_cq(cm->rxq[i].cq, IB_CQ_NEXT_COMP);
	}
	ipoib_ud_schedule(&cm->rxq[0].napi);
	return 0;
}

/**
 * ipoib_cm_moderate - completions of what connections receive are to be moderated otherwise
 * @priv: the interface; &ipoib_dev.moderation says how
 *
 * Context: RTNL held; may sleep
 */
void ipoib_cm_moderate(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;
	unsigned int i;
	int err = 0;

	mutex_lock(&cm->mutex);
	for (i = 0; i < cm->nrxq && cm->rxq[i].cq && !err; i++)
		err = ipoib_moder_update(&cm->rxq[i].moder);
	mutex_unlock(&cm->mutex);
	/* The CQ of datagram mode has taken the same: if this one does not, it is as it was. */
	if (err)
		netdev_warn(priv->netdev, "cannot moderate completions of connections: %d\n", err);
}

/**
 * ipoib_cm_rx_release - give back what connections shared
 * @cm: connected mode of the interface, without connections
 *
 * Context: &ipoib_cm.mutex held; may sleep
 */
void ipoib_cm_rx_release(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx = cm->rx;
	unsigned int i;

	lockdep_assert_held(&cm->mutex);
	if (!rx)
		return;
	for (i = 0; i < cm->nrxq; i++)
		napi_disable(&cm->rxq[i].napi);
	napi_disable(&cm->tx_napi);
	/* A handler that has completed arms the CQ, or a timer, after that. */
	synchronize_net();
	ipoib_cm_tx_release(cm);
	ipoib_cm_rx_free(cm, rx);
}

/* With its SRQ, which has failed. */
static void ipoib_cm_rx_close_all(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	spin_lock_bh(&cm->lock);
	if (!list_empty(&cm->conns))
		netdev_warn(cm->priv->netdev,
			    "a queue of all connections has failed, closing them\n");
	list_for_each_entry(conn, &cm->conns, list)
		ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
	/* No receive of it is waited for. */
	list_for_each_entry(conn, &cm->closing, list)
		ipoib_conn_kick(conn);
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_cm_rx_work - give back what connections share, or end them as it has failed
 * @work: &ipoib_cm.rx_work
 *
 * Context: process
 */
void ipoib_cm_rx_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work), struct ipoib_cm, rx_work);

	mutex_lock(&cm->mutex);
	/* One may be counted now, but it has to come by the mutex to use what is released. */
	if (!READ_ONCE(cm->nconns))
		ipoib_cm_rx_release(cm);
	else if (ipoib_cm_srq_has_failed(cm))
		ipoib_cm_rx_close_all(cm);
	mutex_unlock(&cm->mutex);
}

/**
 * ipoib_cm_rx_add - give a connection receives of its own, if it needs some
 * @conn: the connection; its QP is in INIT
 *
 * Context: may sleep
 * Return: 0, -ENOMEM, or -ENOSPC if there are too many
 */
int ipoib_cm_rx_add(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_cm_bufs *bufs;
	int err;

	if (cm->rx->bufs.srq) {
		/* It posts one more for this one. */
		ipoib_ud_schedule(&conn->rxq->napi);
		return 0;
	}
	/* Counted when there still seemed to be an SRQ, and a greater limit. */
	if (READ_ONCE(cm->nconns) > ipoib_cm_room(cm))
		return -ENOSPC;
	bufs = kzalloc(sizeof(*bufs), GFP_KERNEL);
	if (!bufs)
		return -ENOMEM;
	err = ipoib_cm_bufs_init(bufs, IPOIB_CM_OWN_BUFS);
	bufs->qp = conn->qp;
	/* Pairs with ipoib_cm_rx_show(). */
	smp_store_release(&conn->bufs, bufs);
	if (err)
		return err;
	spin_lock_bh(&cm->rx->lock);
	ipoib_cm_rx_refill(conn->rxq, bufs);
	spin_unlock_bh(&cm->rx->lock);
	return ipoib_cm_bufs_posted(bufs) ? 0 : -ENOMEM;
}

/**
 * ipoib_cm_rx_returned - whether all receives of a connection have come back
 * @conn: the connection; its QP is in the error state
 *
 * A QP that has come no further than INIT, as that of a request which is refused,
 * takes nothing from the SRQ, and not each HCA reports then that it is done with it.
 *
 * Return: true if so
 */
bool ipoib_cm_rx_returned(const struct ipoib_conn *conn)
{
	if (conn->bufs)
		return !ipoib_cm_bufs_posted(conn->bufs);
	return !test_bit(IPOIB_CONN_IS_RUN, &conn->flags) ||
	       test_bit(IPOIB_CONN_EV_LAST_WQE, &conn->flags);
}

/**
 * ipoib_cm_rx_done - whether no receive of a connection is waited for
 * @conn: the connection; its QP is in the error state
 *
 * Return: true if so: all have come back, or will with the SRQ, which has failed
 */
bool ipoib_cm_rx_done(const struct ipoib_conn *conn)
{
	return ipoib_cm_rx_returned(conn) ||
	       (!conn->bufs && ipoib_cm_srq_has_failed(conn->cm));
}

/**
 * ipoib_cm_rx_lost - a QP ends, and the HCA has not said that it is done with receives
 * @conn: its connection
 *
 * A QP holds one receive of the SRQ at most, which its destruction may take along. Its
 * slot is not used again, as it is not known which one it was, until the SRQ is made
 * anew. When a quarter of all is lost the SRQ counts as failed, for that.
 *
 * Context: process
 */
void ipoib_cm_rx_lost(struct ipoib_conn *conn)
{
	struct ipoib_cm_rx *rx = conn->cm->rx;

	if (conn->bufs)
		return;
	spin_lock_bh(&rx->lock);
	WRITE_ONCE(rx->bufs.lost, rx->bufs.lost + 1);
	spin_unlock_bh(&rx->lock);
	if (READ_ONCE(rx->bufs.lost) > rx->bufs.size / 4)
		ipoib_cm_srq_fail(conn->cm);
	ipoib_ud_schedule(&conn->rxq->napi);
}

/**
 * ipoib_cm_rx_remove - free the receives of a connection
 * @conn: the connection; its QP is gone
 */
void ipoib_cm_rx_remove(struct ipoib_conn *conn)
{
	if (!conn->bufs)
		return;
	ipoib_cm_bufs_exit(conn->cm, conn->bufs);
	kfree(conn->bufs);
	conn->bufs = NULL;
}

/**
 * ipoib_cm_rx_init - make the receive queues of an interface: one for each vector, four at most
 * @cm: connected mode of the interface, zeroed but for &ipoib_cm.priv
 *
 * Context: process
 */
void ipoib_cm_rx_init(struct ipoib_cm *cm)
{
	unsigned int i;

	cm->nrxq = clamp(cm->priv->ca->num_comp_vectors, 1, IPOIB_CM_RXQS);
	for (i = 0; i < cm->nrxq; i++) {
		cm->rxq[i].cm = cm;
		netif_napi_add(cm->priv->netdev, &cm->rxq[i].napi, ipoib_cm_rx_poll);
	}
}

/**
 * ipoib_cm_rx_exit - undo ipoib_cm_rx_init()
 * @cm: connected mode of the interface, of which nothing is left that connections share
 *
 * Context: process
 */
void ipoib_cm_rx_exit(struct ipoib_cm *cm)
{
	unsigned int i;

	for (i = 0; i < cm->nrxq; i++)
		netif_napi_del(&cm->rxq[i].napi);
}

/**
 * ipoib_cm_rx_show - how many receives are posted, and how many were lost, for debugfs
 * @cm: connected mode of the interface
 * @file: where to
 *
 * Context: &ipoib_cm.mutex and &ipoib_cm.lock held
 */
void ipoib_cm_rx_show(struct ipoib_cm *cm, struct seq_file *file)
{
	unsigned int posted = 0, lost = 0, pages = 0;
	const struct ipoib_cm_rx *rx = cm->rx;
	const struct ipoib_cm_bufs *bufs;
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->mutex);
	lockdep_assert_held(&cm->lock);
	if (rx) {
		posted = ipoib_cm_bufs_posted(&rx->bufs);
		list_for_each_entry(conn, &cm->conns, list) {
			bufs = READ_ONCE(conn->bufs);
			if (bufs)
				posted += ipoib_cm_bufs_posted(bufs);
		}
		lost = READ_ONCE(rx->bufs.lost);
		pages = rx->large ? 1 + round_up(rx->npages - 1, 1 << IPOIB_CM_ORDER) : rx->npages;
		pages *= posted + lost;
	}
	seq_printf(file, "receives: %u\nreceives_lost: %u\nreceive_pages: %u\n",
		   posted, lost, pages);
}
