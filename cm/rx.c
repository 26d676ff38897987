// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, receive side.
 *
 * All connections of an interface share an SRQ. Each belongs to a receive queue, of a few, with
 * a CQ, a vector and a NAPI instance, so peers are distributed over CPUs. On an HCA without SRQ
 * each connection has a few own receives. A receive is a single page, followed by pieces of four
 * pages, or by single pages where memory is fragmented; a short message takes only the pieces that
 * it fills up the stack.
 *
 * The SRQ is created with the first connection and destroyed some seconds after the last. A
 * receive takes 64 KB, so a receive for each connection and a margin are posted, see
 * ipoib_cm_bufs_missing(). The quota of a port (share.c) leaves most of them to other ports.
 *
 *	          first connection             ipoib_cm_srq_fail()
 *	(none) --------------------> running ---------------------> failed
 *	   ^   <--------------------                                  |
 *	   |    last one freed, 10 s                                  |
 *	   +----------------------------------------------------------+
 *	          all connections closed, last one freed: at once
 *
 * An HCA that refuses an SRQ serves without, until the last connection has gone.
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

/* Signed, for modprobe.d files of the kernel's driver. Values out of range are clamped. */
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

/*
 * Number of receives of a full SRQ. Soft-RoCE counts as an HCA without SRQ: a QP that stops in the
 * middle of a message loses the receive, and does not always report that it is done with the SRQ.
 * Own receives all come back.
 * Return: the number, which the CQ can hold, too; 0 without SRQ.
 */
unsigned int ipoib_cm_srq_size(const struct ipoib_dev *priv)
{
	const struct ib_device_attr *attrs = &priv->ca->attrs;

	if (attrs->max_srq <= 0 || attrs->max_srq_wr <= 0 || attrs->max_srq_sge <= 1 ||
	    priv->ca->ops.driver_id == RDMA_DRIVER_RXE)
		return 0;
	return min3((u32)ipoib_recvq_size, (u32)attrs->max_srq_wr, (u32)attrs->max_cqe);
}

/* Number of receives when all are posted. Return: the number; without SRQ that of an SRQ. */
unsigned int ipoib_cm_rx_full(const struct ipoib_cm *cm)
{
	return READ_ONCE(cm->srq_size) ?: ipoib_recvq_size;
}

/*
 * Most connections of an interface: all send CQs together have room for their sends. Without SRQ
 * max_nonsrq_conn_qp is a limit, too, and each receive CQ has room for the own receives of all.
 * Context: any.
 */
static unsigned int ipoib_cm_room(const struct ipoib_cm *cm)
{
	unsigned int own = min_t(unsigned int, ipoib_cm_max_own,
				 cm->priv->ca->attrs.max_cqe / IPOIB_CM_OWN_BUFS);
	unsigned int room = ipoib_cm_tx_conns(cm->priv);

	return READ_ONCE(cm->srq_size) ? room : min(room, own);
}

/* Returns the limit of connections of an interface. Context: any. */
unsigned int ipoib_cm_limit(const struct ipoib_cm *cm)
{
	return min(ipoib_cm_room(cm), READ_ONCE(ipoib_cm_max_conns));
}

/* Pages of a receive, each of which may need an SGE */
static unsigned int ipoib_cm_rx_npages(const struct ipoib_dev *priv)
{
	unsigned int max = READ_ONCE(priv->cm->srq_size) ? priv->ca->attrs.max_srq_sge :
							   priv->ca->attrs.max_recv_sge;

	return min_t(unsigned int, max, IPOIB_CM_PAGES);
}

/* The Receive MTU (C26). Return: octets that a receive holds, encapsulation header included. */
unsigned int ipoib_cm_rx_mtu(const struct ipoib_dev *priv)
{
	return min_t(unsigned int, ipoib_cm_rx_npages(priv) * PAGE_SIZE,
		     IPOIB_ENCAP_LEN + IPOIB_MTU_MAX);
}

/* ---- buffers ---- */

/*
 * A lost receive counts as not posted, so another takes its place. Reads a value of no use, but
 * none below 0, while the buffers are made or freed.
 */
static unsigned int ipoib_cm_bufs_posted(const struct ipoib_cm_bufs *bufs)
{
	return max_t(int, READ_ONCE(bufs->size) - READ_ONCE(bufs->nfree) -
		     READ_ONCE(bufs->lost), 0);
}

/*
 * Number of receives to post now; as many are free. A message of RC holds one receive of the SRQ
 * from its first packet to its end, so a receive for each connection and a margin are enough. UC
 * drops messages that find no receive: there all are posted.
 */
static unsigned int ipoib_cm_bufs_missing(const struct ipoib_cm *cm,
					  const struct ipoib_cm_bufs *bufs)
{
	unsigned int target = bufs->size - min(bufs->size, READ_ONCE(bufs->lost));
	unsigned int posted = ipoib_cm_bufs_posted(bufs);

	if (bufs->srq && !(READ_ONCE(cm->choice)->offers & IPOIB_LLADDR_UC))
		target = min(target, READ_ONCE(cm->nconns) + READ_ONCE(cm->rx.margin));
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

/* Divide an empty slot into pieces; the order does not change its length. */
static void ipoib_cm_slot_divide(struct ipoib_cm *cm,
				 struct ipoib_cm_slot *slot, unsigned int order)
{
	unsigned int left = cm->rx.npages * PAGE_SIZE;
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
	struct ipoib_cm_rx *rx = &cm->rx;
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

/*
 * Fill and post up to @n slots, IPOIB_CM_BATCH at most, from the top of the stack. Returns how many
 * were posted.
 */
static unsigned int ipoib_cm_rx_post(struct ipoib_cm *cm, struct ipoib_cm_bufs *bufs,
				     unsigned int n)
{
	struct ipoib_cm_rx *rx = &cm->rx;
	const struct ib_recv_wr *bad = rx->wr;
	struct ib_device *ca = cm->priv->ca;
	struct ipoib_cm_slot *slot;
	struct ib_recv_wr *wr;
	unsigned int i;
	int err;

	lockdep_assert_held(&rx->lock);
	n = min_t(unsigned int, n, IPOIB_CM_BATCH);
	for (i = 0; i < n; i++) {
		wr = &rx->wr[i];
		wr->wr_id = bufs->free[bufs->nfree - i - 1];
		slot = &bufs->slots[wr->wr_id];
		if (!ipoib_cm_slot_fill(cm, slot))
			break;
		wr->sg_list = slot->sge;
		wr->num_sge = slot->npieces;
		wr->next = wr + 1;
		/*
		 * Pages come from the pool synced for the HCA. Only the first page of a slot may
		 * have been read since, by a copy; a page that goes up the stack leaves the slot.
		 */
		ib_dma_sync_single_for_device(ca, slot->sge[0].addr,
					      IPOIB_ENCAP_LEN + IPOIB_CM_RX_COPY,
					      DMA_FROM_DEVICE);
	}
	if (!i)
		return 0;
	rx->wr[i - 1].next = NULL;
	if (bufs->srq)
		err = ib_post_srq_recv(bufs->srq, rx->wr, &bad);
	else
		err = ib_post_recv(bufs->qp, rx->wr, &bad);
	n = likely(!err) ? i : bad - rx->wr;
	WRITE_ONCE(bufs->nfree, bufs->nfree - n);
	return n;
}

static void ipoib_cm_rx_refill(struct ipoib_cm_rxq *rxq, struct ipoib_cm_bufs *bufs)
{
	struct ipoib_cm *cm = rxq->cm;
	unsigned int n;

	while ((n = ipoib_cm_bufs_missing(cm, bufs))) {
		if (likely(ipoib_cm_rx_post(cm, bufs, n)))
			continue;
		ipoib_stat_add(cm->priv, IPOIB_RX_NOMEM, 1);
		/* Unfinished messages may hold all receives, and then no completion leads here. */
		if (bufs->srq && ipoib_cm_bufs_posted(bufs) <= READ_ONCE(cm->nconns))
			ipoib_moder_again(&rxq->moder, IPOIB_RX_AGAIN);
		/* No completion comes any more: a new connection makes a new attempt. */
		if (bufs->qp && !ipoib_cm_bufs_posted(bufs))
			ipoib_conn_note(bufs->qp->qp_context, IPOIB_CONN_EV_FAILED);
		return;
	}
}

/* ---- failure of the SRQ ---- */

static void ipoib_cm_srq_event(struct ib_event *event, void *ctx)
{
	/* HCAs raise events with locks held: take none, and do not query the SRQ. */
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
	/* ipoib_cm_bufs_exit() reads the pages of @size slots. */
	bufs->size = size;
	bufs->nfree = size;
	return 0;
}

/* Nothing is posted any more. */
static void ipoib_cm_bufs_exit(struct ipoib_cm *cm, struct ipoib_cm_bufs *bufs)
{
	unsigned int i;

	for (i = 0; i < bufs->size; i++)
		ipoib_cm_slot_empty(&cm->rx, &bufs->slots[i]);
	kvfree(bufs->free);
	kvfree(bufs->slots);
}

/* ---- frames ---- */

/*
 * A short message is copied, and its page stays in the slot. The pages of a longer message become
 * fragments behind the encapsulation header, and the slot is filled anew.
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
			      const struct ib_wc *wc)
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
		/*
		 * Any host can request a connection in another's name: do not attribute ARP or ND
		 * to it.
		 */
		if (!READ_ONCE(conn->confirmed))
			memset(header->lladdr.gid, 0, sizeof(header->lladdr.gid));
		if (!ipoib_rx_police(cm->priv, skb, lower_32_bits(conn->port)))
			return;
	}
	ipoib_moder_received(&conn->rxq->moder, 1, skb->len - IPOIB_LLADDR_LEN);
	ipoib_touch(&conn->used);
	if (conn->transport == IPOIB_LLADDR_UC) {
		/* A connection from another port does not prove that the peer is there. */
		if (READ_ONCE(conn->confirmed))
			ipoib_touch(&conn->peer->last_rx);
		ipoib_conn_note_proof(conn);
	}
	ipoib_rx_deliver(cm->priv, &conn->rxq->napi, skb);
}

static void ipoib_cm_rx_complete(struct ipoib_cm *cm, const struct ib_wc *wc)
{
	struct ipoib_conn *conn = wc->qp->qp_context;
	struct ipoib_cm_bufs *bufs = conn->bufs ?: &cm->rx.bufs;

	if (WARN_ON_ONCE(wc->wr_id >= bufs->size))
		return;
	if (likely(wc->status == IB_WC_SUCCESS)) {
		if (unlikely(wc->byte_len < IPOIB_ENCAP_LEN ||
			     wc->byte_len > cm->rx.npages * PAGE_SIZE))
			ipoib_stat_add(cm->priv, IPOIB_RX_SHORT, 1);
		else if (likely(test_bit(IPOIB_FLAG_UP, &cm->priv->flags)))
			ipoib_cm_rx_frame(conn, bufs, wc);
	} else if (wc->status != IB_WC_WR_FLUSH_ERR) {
		ipoib_stat_add(cm->priv, IPOIB_RX_ERROR, 1);
		if (net_ratelimit())
			netdev_warn(cm->priv->netdev,
				    "failed recv event on a connection (status=%d, wrid=%llu vend_err %#x)\n",
				    wc->status, wc->wr_id, wc->vendor_err);
		ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
	} else if (!ipoib_conn_is_closing(conn)) {
		/*
		 * The QP has failed without an event. Own receives would be posted and flushed for
		 * ever.
		 */
		ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
	}
	/* The message has been read: the slot may be filled again. */
	spin_lock(&cm->rx.lock);
	bufs->free[bufs->nfree] = wc->wr_id;
	WRITE_ONCE(bufs->nfree, bufs->nfree + 1);
	/* The target fell, and posted receives cannot be recalled: free this one. */
	if (unlikely(!ipoib_cm_bufs_missing(cm, bufs)))
		ipoib_cm_slot_empty(&cm->rx, &bufs->slots[wc->wr_id]);
	if (conn->bufs && !ipoib_conn_is_closing(conn))
		ipoib_cm_rx_refill(conn->rxq, bufs);
	spin_unlock(&cm->rx.lock);
	/* The last receive may have come back. */
	if (conn->bufs && ipoib_cm_rx_returned(conn))
		ipoib_conn_kick(conn);
}

static void ipoib_cm_srq_refill(struct ipoib_cm_rxq *rxq, unsigned int least)
{
	struct ipoib_cm_rx *rx = &rxq->cm->rx;

	if (ipoib_cm_bufs_missing(rxq->cm, &rx->bufs) < least)
		return;
	spin_lock(&rx->lock);
	ipoib_cm_rx_refill(rxq, &rx->bufs);
	spin_unlock(&rx->lock);
}

/*
 * Double the margin after a burst, @since completions without an empty CQ, of half of it: the next
 * burst meets RNR NAKs at its beginning only.
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

/* Returns the number of completions. */
static int ipoib_cm_rx_reap(struct ipoib_cm_rxq *rxq, int budget)
{
	u64 packets = rxq->moder.packets, bytes = rxq->moder.bytes;
	struct ipoib_cm *cm = rxq->cm;
	int done = 0, want, i, n;

	while (done < budget) {
		want = min_t(int, budget - done, ARRAY_SIZE(rxq->wc));
		n = ib_poll_cq(rxq->cq, want, rxq->wc);
		for (i = 0; i < n; i++)
			ipoib_cm_rx_complete(cm, &rxq->wc[i]);
		if (n > 0)
			done += n;
		if (n < want)
			break;
		ipoib_cm_srq_refill(rxq, IPOIB_CM_BATCH);
	}
	rxq->since += done;
	ipoib_cm_rx_widen(&cm->rx, rxq->since);
	ipoib_cm_srq_refill(rxq, 1);
	packets = rxq->moder.packets - packets;
	if (packets) {
		ipoib_stat_traffic(cm->priv, IPOIB_RX_PACKETS, packets, rxq->moder.bytes - bytes);
		ipoib_stat_add(cm->priv, IPOIB_CM_RX, packets);
	}
	return done;
}

/* NAPI handler, &ipoib_cm_rxq.napi */
static int ipoib_cm_rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_cm_rxq *rxq = container_of(napi, struct ipoib_cm_rxq, napi);
	int done = ipoib_cm_rx_reap(rxq, budget);

	/* A CQ that never runs empty: after cqe completions all older ones have been seen. */
	if (done < budget || rxq->since > rxq->cq->cqe) {
		rxq->since = 0;
		/* Pairs with ipoib_cm_rx_fence(): this round reads no more receives. */
		smp_store_release(&rxq->rounds, rxq->rounds + 1);
	}
	if (done >= budget)
		return budget;
	ipoib_moder_complete(&rxq->moder, done);
	return done;
}

/*
 * Wait until the handler of a queue with at least one connection has seen all present completions.
 * The second round that ends after the call began after it.
 * Context: process.
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

/* IB_EVENT_CQ_ERR is the only event of a CQ. Context: any. */
static void ipoib_cm_rx_cq_error(struct ib_event *event, void *ctx)
{
	struct ipoib_cm_rxq *rxq = ctx;

	ipoib_cm_srq_fail(rxq->cm);
}

/* Event of a receive CQ. Context: any. */
static void ipoib_cm_rx_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_cm_rxq *rxq = ctx;

	ipoib_moder_event(&rxq->moder);
	ipoib_ud_schedule(&rxq->napi);
}

/*
 * Assign a connection to the receive queue with the fewest; it counts in &ipoib_cm_rxq.conns from
 * now on.
 * Context: &ipoib_cm.mutex held.
 */
void ipoib_cm_rx_assign(struct ipoib_conn *conn)
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

/* ---- SRQ, CQs and pools ---- */

/* Returns a pool of pieces of @order, or ERR_PTR(). */
static struct page_pool *ipoib_cm_pool_create(struct ipoib_cm *cm, unsigned int order)
{
	struct ipoib_cm_rx *rx = &cm->rx;
	unsigned int size = min_t(unsigned int, IPOIB_CM_POOL_RING,
				  rx->bufs.size * rx->npages) >> order;
	bool one = rx->bufs.size && cm->nrxq == 1;

	/*
	 * Own receives are allocated outside of the handler, too, and so are those of several
	 * handlers.
	 */
	return ipoib_pool_create(cm->priv->ca, NULL, one ? &cm->rxq[0].napi : NULL, 0, order,
				 size);
}

/* Halve the size until the HCA accepts it, down to none. */
static void ipoib_cm_srq_create(struct ipoib_cm *cm)
{
	struct ib_srq_init_attr attr = {
		.event_handler = ipoib_cm_srq_event,
		.srq_context = cm,
		.attr.max_sge = ipoib_cm_rx_npages(cm->priv),
		.srq_type = IB_SRQT_BASIC,
	};
	unsigned int half;
	struct ib_srq *srq;

	while (cm->srq_size) {
		attr.attr.max_wr = cm->srq_size;
		srq = ib_create_srq(cm->priv->pd, &attr);
		if (!IS_ERR(srq)) {
			cm->rx.bufs.srq = srq;
			return;
		}
		half = cm->srq_size / 2;
		WRITE_ONCE(cm->srq_size, half < IPOIB_CM_SRQ_MIN ? 0 : half);
		if (!cm->srq_size)
			netdev_warn_once(cm->priv->netdev,
					 "no shared receive queue: %ld; connections have receives of their own, and are fewer\n",
					 PTR_ERR(srq));
	}
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

static int ipoib_cm_rx_create(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx = &cm->rx;
	struct page_pool *pool;
	unsigned int i;
	int err;

	/* The SRQ decides how many SGEs a receive may have. */
	ipoib_cm_srq_create(cm);
	rx->npages = ipoib_cm_rx_npages(cm->priv);
	rx->margin = IPOIB_CM_MARGIN;
	err = ipoib_cm_bufs_init(&rx->bufs, cm->srq_size);
	if (err)
		return err;
	pool = ipoib_cm_pool_create(cm, 0);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	rx->pool = pool;
	/* A receive of a page and a single large piece would need about as many single pages. */
	if (IPOIB_CM_ORDER && rx->npages > 1 << IPOIB_CM_ORDER) {
		pool = ipoib_cm_pool_create(cm, IPOIB_CM_ORDER);
		if (!IS_ERR(pool))
			rx->large = pool;
	}
	/* The first queue is required; an HCA out of CQs has fewer. */
	for (i = 0; i < cm->nrxq && !err; i++)
		err = ipoib_cm_rxq_create(&cm->rxq[i]);
	return cm->rxq[0].cq ? 0 : err;
}

/* Undo ipoib_cm_rx_create(), also half of it. The next SRQ is tried in full size. */
static void ipoib_cm_rx_free(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx = &cm->rx;
	unsigned int i;

	if (rx->bufs.srq)
		ib_destroy_srq(rx->bufs.srq);
	WRITE_ONCE(cm->srq_size, ipoib_cm_srq_size(cm->priv));
	for (i = 0; i < cm->nrxq && cm->rxq[i].cq; i++) {
		WARN_ON_ONCE(cm->rxq[i].conns);
		ipoib_moder_exit(&cm->rxq[i].moder);
		ib_destroy_cq(cm->rxq[i].cq);
		cm->rxq[i].cq = NULL;
	}
	/* SRQ and CQs are gone: no further event. */
	WRITE_ONCE(cm->srq_failed, false);
	ipoib_cm_bufs_exit(cm, &rx->bufs);
	page_pool_destroy(rx->large);
	page_pool_destroy(rx->pool);
	rx->large = NULL;
	rx->pool = NULL;
	spin_lock_bh(&rx->lock);
	memset(&rx->bufs, 0, sizeof(rx->bufs));
	spin_unlock_bh(&rx->lock);
}

/*
 * Create SRQ, CQs and pools unless they exist. Takes no reference: &ipoib_cm.nconns keeps them, see
 * ipoib_cm_rx_work().
 * Context: &ipoib_cm.mutex held; may sleep. Return: 0, -EAGAIN after a failure that still closes
 * connections, or another negative error.
 */
int ipoib_cm_rx_get(struct ipoib_cm *cm)
{
	struct ipoib_cm_rx *rx = &cm->rx;
	unsigned int i, n;
	int err;

	lockdep_assert_held(&cm->mutex);
	if (cm->srq_failed)
		return -EAGAIN;
	if (cm->rxq[0].cq)
		return 0;
	err = ipoib_cm_rx_create(cm);
	if (err) {
		ipoib_cm_rx_free(cm);
		return err;
	}
	/* Hundreds of pages, so with breaks, and not in the handler, which posts the rest. */
	do {
		spin_lock_bh(&rx->lock);
		n = ipoib_cm_rx_post(cm, &rx->bufs, ipoib_cm_bufs_missing(cm, &rx->bufs));
		spin_unlock_bh(&rx->lock);
		cond_resched();
	} while (n);
	napi_enable(&cm->tx_napi);
	for (i = 0; i < cm->nrxq; i++) {
		napi_enable(&cm->rxq[i].napi);
		/* The handler arms the CQ. */
		if (cm->rxq[i].cq)
			ipoib_ud_schedule(&cm->rxq[i].napi);
	}
	return 0;
}

/*
 * Apply new settings of interrupt moderation, in &ipoib_dev.moderation.
 * Context: RTNL held; may sleep.
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
	/* The CQ of datagram mode has accepted the settings; here the old ones stay. */
	if (err)
		netdev_warn(priv->netdev, "cannot moderate completions of connections: %d\n", err);
}

/* Destroy SRQ, CQs and pools. Context: &ipoib_cm.mutex held, no connections; may sleep. */
void ipoib_cm_rx_release(struct ipoib_cm *cm)
{
	unsigned int i;

	lockdep_assert_held(&cm->mutex);
	if (!cm->rxq[0].cq)
		return;
	for (i = 0; i < cm->nrxq; i++)
		napi_disable(&cm->rxq[i].napi);
	napi_disable(&cm->tx_napi);
	/* A handler that has completed may still arm the CQ, or a timer. */
	synchronize_net();
	ipoib_cm_tx_release(cm);
	ipoib_cm_rx_free(cm);
}

/* The SRQ has failed: close all connections. */
static void ipoib_cm_rx_close_all(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	spin_lock_bh(&cm->lock);
	if (!list_empty(&cm->conns))
		netdev_warn(cm->priv->netdev,
			    "a queue of all connections has failed, closing them\n");
	list_for_each_entry(conn, &cm->conns, list)
		ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
	/* Their receives do not come back. */
	list_for_each_entry(conn, &cm->closing, list)
		ipoib_conn_kick(conn);
	spin_unlock_bh(&cm->lock);
}

/* Destroy the SRQ without connections, or close all after a failure. Context: process. */
void ipoib_cm_rx_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work), struct ipoib_cm, rx_work);

	mutex_lock(&cm->mutex);
	/* A new connection may count by now, but needs the mutex before it uses these. */
	if (!READ_ONCE(cm->nconns))
		ipoib_cm_rx_release(cm);
	else if (READ_ONCE(cm->srq_failed))
		ipoib_cm_rx_close_all(cm);
	mutex_unlock(&cm->mutex);
}

/*
 * Post receives for a connection whose QP is in INIT.
 * Context: may sleep. Return: 0, -ENOMEM, or -ENOSPC at the limit of connections without SRQ.
 */
int ipoib_cm_rx_add(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_cm_bufs *bufs;
	int err;

	if (cm->rx.bufs.srq) {
		/* The handler posts a receive for it. */
		ipoib_ud_schedule(&conn->rxq->napi);
		return 0;
	}
	/* It was admitted while there still was an SRQ, with a higher limit. */
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
	spin_lock_bh(&cm->rx.lock);
	ipoib_cm_rx_refill(conn->rxq, bufs);
	spin_unlock_bh(&cm->rx.lock);
	return ipoib_cm_bufs_posted(bufs) ? 0 : -ENOMEM;
}

/*
 * Check whether all receives of a connection have come back; its QP is in the error state. A QP
 * that never left INIT, as of a refused request, takes nothing from the SRQ, and not every HCA
 * raises the event then.
 * Context: any.
 */
bool ipoib_cm_rx_returned(const struct ipoib_conn *conn)
{
	if (conn->bufs)
		return !ipoib_cm_bufs_posted(conn->bufs);
	return !test_bit(IPOIB_CONN_IS_RUN, &conn->flags) ||
	       test_bit(IPOIB_CONN_EV_LAST_WQE, &conn->flags);
}

/*
 * Account for a receive that a QP without IB_EVENT_QP_LAST_WQE_REACHED takes along when it is
 * destroyed. A QP holds at most one receive of the SRQ, of an unknown slot: the slot stays unused
 * until the SRQ is replaced. A quarter of all receives lost counts as a failure of the SRQ.
 * Context: process.
 */
void ipoib_cm_rx_lost(struct ipoib_conn *conn)
{
	struct ipoib_cm_rx *rx = &conn->cm->rx;

	if (conn->bufs)
		return;
	spin_lock_bh(&rx->lock);
	WRITE_ONCE(rx->bufs.lost, rx->bufs.lost + 1);
	spin_unlock_bh(&rx->lock);
	if (READ_ONCE(rx->bufs.lost) > rx->bufs.size / 4)
		ipoib_cm_srq_fail(conn->cm);
	ipoib_ud_schedule(&conn->rxq->napi);
}

/* Free the own receives of a connection; its QP is gone. Context: work of the connection. */
void ipoib_cm_rx_remove(struct ipoib_conn *conn)
{
	if (!conn->bufs)
		return;
	ipoib_cm_bufs_exit(conn->cm, conn->bufs);
	kfree(conn->bufs);
	conn->bufs = NULL;
}

/*
 * Set up a receive queue for each vector, IPOIB_CM_RXQS at most. @cm is zeroed but for
 * &ipoib_cm.priv.
 * Context: process.
 */
void ipoib_cm_rx_init(struct ipoib_cm *cm)
{
	unsigned int i;

	spin_lock_init(&cm->rx.lock);
	cm->nrxq = clamp(cm->priv->ca->num_comp_vectors, 1, IPOIB_CM_RXQS);
	for (i = 0; i < cm->nrxq; i++) {
		cm->rxq[i].cm = cm;
		netif_napi_add(cm->priv->netdev, &cm->rxq[i].napi, ipoib_cm_rx_poll);
	}
}

/* Undo ipoib_cm_rx_init(), after ipoib_cm_rx_release(). Context: process; RTNL may be held. */
void ipoib_cm_rx_exit(struct ipoib_cm *cm)
{
	unsigned int i;

	for (i = 0; i < cm->nrxq; i++)
		netif_napi_del(&cm->rxq[i].napi);
}

/* Print the receives posted and lost, for debugfs. Context: &ipoib_cm.lock held. */
void ipoib_cm_rx_show(struct ipoib_cm *cm, struct seq_file *file)
{
	struct ipoib_cm_rx *rx = &cm->rx;
	unsigned int posted, lost, pages;
	const struct ipoib_cm_bufs *bufs;
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->lock);
	spin_lock(&rx->lock);
	posted = ipoib_cm_bufs_posted(&rx->bufs);
	lost = rx->bufs.lost;
	spin_unlock(&rx->lock);
	list_for_each_entry(conn, &cm->conns, list) {
		bufs = READ_ONCE(conn->bufs);
		if (bufs)
			posted += ipoib_cm_bufs_posted(bufs);
	}
	pages = READ_ONCE(rx->npages);
	if (READ_ONCE(rx->large))
		pages = 1 + round_up(pages - 1, 1 << IPOIB_CM_ORDER);
	seq_printf(file, "receives: %u\nreceives_lost: %u\nreceive_pages: %u\n",
		   posted, lost, pages * (posted + lost));
}
