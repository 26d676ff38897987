// SPDX-License-Identifier: GPL-2.0
/*
 * Datagram mode, receive side.
 *
 * A receive has two buffers: a small one of a permanent array for GRH and encapsulation header, and
 * one of the page pool for the payload. So the network header is aligned, a buffer is no larger
 * than the MTU of the port, and a page goes up the stack as a fragment and returns by itself. A
 * short frame is copied, and both buffers are posted again.
 *
 * All functions run in the NAPI handler of the queue, or while it is disabled, except the event of
 * the CQ (any context), and ipoib_rx_police(), ipoib_rx_deliver() and ipoib_pool_create(), which
 * connected mode calls, too.
 */
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "ipoib_wc.h"

#define IPOIB_RX_HEAD_LEN	(sizeof(struct ib_grh) + IPOIB_ENCAP_LEN)

/* Frames of one poll. */
struct ipoib_rx_tally {
	struct ipoib_wc_port port;	/* for ipoib_wc_read() */
	unsigned int packets;		/* frames for the stack */
	unsigned int bytes;		/* their octets with the encapsulation header */
	unsigned int multicast;		/* frames to a multicast group */
	unsigned int csum;		/* frames whose checksum the HCA found good */
};

static u64 ipoib_rx_slot_dma(const struct ipoib_rxq *rxq, const struct ipoib_rx_slot *slot)
{
	if (ib_uses_virt_dma(rxq->priv->ca))
		return (uintptr_t)page_address(slot->page) + slot->offset;
	return page_pool_get_dma_addr(slot->page) + slot->offset;
}

/* Post one chain. Returns false if nothing could be posted. */
static bool ipoib_rx_post(struct ipoib_rxq *rxq)
{
	/* Some providers leave it unset when they refuse the first. */
	const struct ib_recv_wr *bad = rxq->wr;
	struct ib_device *ca = rxq->priv->ca;
	struct ipoib_rx_slot *slot;
	struct ib_sge *sge;
	unsigned int n;
	u16 index;

	for (n = 0; n < IPOIB_BATCH && n < rxq->nfree; n++) {
		index = rxq->free[rxq->nfree - n - 1];
		slot = &rxq->slots[index];
		if (!slot->page)
			slot->page = page_pool_dev_alloc_frag(rxq->pool, &slot->offset,
							      rxq->buf_size);
		if (!slot->page)
			break;
		rxq->wr[n].wr_id = index;
		rxq->wr[n].next = &rxq->wr[n + 1];
		sge = rxq->sge[n];
		sge[0].addr = ipoib_bufs_dma(&rxq->heads, index);
		sge[1].addr = ipoib_rx_slot_dma(rxq, slot);
		ib_dma_sync_single_for_device(ca, sge[0].addr, sge[0].length, DMA_FROM_DEVICE);
		ib_dma_sync_single_for_device(ca, sge[1].addr, sge[1].length, DMA_FROM_DEVICE);
	}
	if (!n)
		return false;
	rxq->wr[n - 1].next = NULL;
	if (unlikely(ib_post_recv(rxq->priv->txq->qp, &rxq->wr[0], &bad)))
		n = bad - rxq->wr;
	/* The chain was the top of the stack. */
	rxq->nfree -= n;
	return n;
}

static void ipoib_rx_refill(struct ipoib_rxq *rxq)
{
	/* A QP in the error state flushes each receive at once. */
	if (unlikely(!READ_ONCE(rxq->running)))
		return;
	while (rxq->nfree) {
		if (likely(ipoib_rx_post(rxq)))
			continue;
		/* Without a posted receive no completion would call this again. */
		if (rxq->nfree == rxq->size)
			ipoib_moder_again(&rxq->moder, IPOIB_RX_AGAIN);
		return;
	}
}

/*
 * Short payload is copied, and its buffer stays in the slot; a longer one becomes a fragment, and
 * the slot needs a new buffer.
 */
static struct sk_buff *ipoib_rx_build_skb(struct ipoib_rxq *rxq, struct ipoib_rx_slot *slot,
					  unsigned int len)
{
	bool copy = len <= IPOIB_RX_COPY;
	struct sk_buff *skb;

	skb = ipoib_rx_alloc_skb(&rxq->napi, IPOIB_HARD_LEN + (copy ? len : IPOIB_RX_LINEAR));
	if (unlikely(!skb))
		return NULL;
	ib_dma_sync_single_for_cpu(rxq->priv->ca, ipoib_rx_slot_dma(rxq, slot),
				   len, DMA_FROM_DEVICE);
	skb_put(skb, IPOIB_HARD_LEN);
	if (copy) {
		skb_put_data(skb, page_address(slot->page) + slot->offset, len);
		return skb;
	}
	skb_add_rx_frag(skb, 0, slot->page, slot->offset, len, rxq->buf_size);
	skb_mark_for_recycle(skb);
	slot->page = NULL;
	return skb;
}

/*
 * Drop a frame of ARP or Neighbour Discovery beyond the limit of its source @node, see
 * ipoib_police_pass(). Its &struct ipoib_header is filled, and ipoib_police_is_for() true.
 * Context: NAPI. Return: true if @skb may be delivered; false if it was freed.
 */
bool ipoib_rx_police(struct ipoib_dev *priv, struct sk_buff *skb, u32 node)
{
	const struct ipoib_header *header = (const void *)skb->data;

	if (likely(ipoib_police_pass(&priv->police, skb, node)))
		return true;
	trace_ipoib_police(priv->netdev, header->lladdr.gid,
			   header->encap.proto == htons(ETH_P_ARP) ? "ARP" : "ND", node);
	ipoib_drop(priv, skb, IPOIB_RX_NEIGH);
	return false;
}

/*
 * Pass a received frame, with a filled &struct ipoib_header and packet type, to the stack. The
 * reserved field is ignored (U24), any EtherType passes (U26).
 * Context: NAPI.
 */
void ipoib_rx_deliver(struct ipoib_dev *priv, struct napi_struct *napi, struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;

	skb->protocol = header->encap.proto;
	skb->dev = priv->netdev;
	skb_reset_mac_header(skb);
	__skb_pull(skb, IPOIB_HARD_LEN);
	napi_gro_receive(napi, skb);
}

static void ipoib_rx_frame(struct ipoib_rxq *rxq, const struct ib_wc *wc,
			   u16 index, struct ipoib_rx_tally *tally)
{
	union rdma_network_hdr *hdr = ipoib_bufs_va(&rxq->heads, index);
	struct ipoib_dev *priv = rxq->priv;
	struct ipoib_header *header;
	struct ipoib_wc_info info;
	struct sk_buff *skb;

	ib_dma_sync_single_for_cpu(priv->ca, ipoib_bufs_dma(&rxq->heads, index),
				   IPOIB_RX_HEAD_LEN, DMA_FROM_DEVICE);
	ipoib_wc_read(&tally->port, wc, hdr, &info);
	/* A QP on a RoCE port receives frames of all VLANs, whose groups have the same MGIDs. */
	if (unlikely(info.vid != priv->vid)) {
		ipoib_stat_add(priv, IPOIB_RX_VLAN, 1);
		return;
	}
	if (unlikely(info.own)) {
		ipoib_stat_add(priv, IPOIB_RX_ECHO, 1);
		return;
	}
	skb = ipoib_rx_build_skb(rxq, &rxq->slots[index], wc->byte_len - IPOIB_RX_HEAD_LEN);
	if (unlikely(!skb)) {
		ipoib_stat_add(priv, IPOIB_RX_NOMEM, 1);
		return;
	}
	header = (struct ipoib_header *)skb->data;
	/* The source as far as the frame has it: no flags, a GID with a GRH only */
	header->lladdr.flags_qpn = cpu_to_be32(wc->src_qp & IPOIB_QPN_MASK);
	memcpy(header->lladdr.gid, info.sgid.raw, sizeof(header->lladdr.gid));
	memcpy(&header->encap, hdr + 1, IPOIB_ENCAP_LEN);
	skb->pkt_type = info.pkt_type;
	if (wc->wc_flags & IB_WC_IP_CSUM_OK && priv->netdev->features & NETIF_F_RXCSUM)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	/* All LIDs of a port are one source. */
	if (unlikely(ipoib_police_is_for(skb)) &&
	    !ipoib_rx_police(priv, skb, tally->port.roce ?
			     jhash(info.sgid.raw, sizeof(info.sgid), 0) :
			     wc->slid >> tally->port.lmc))
		return;
	tally->packets++;
	tally->bytes += skb->len - IPOIB_LLADDR_LEN;
	tally->multicast += skb->pkt_type != PACKET_HOST;
	tally->csum += skb->ip_summed == CHECKSUM_UNNECESSARY;
	ipoib_rx_deliver(priv, &rxq->napi, skb);
}

/*
 * Handle a completion: its slot becomes free, its frame goes up the stack. Context: NAPI.
 *
 * A failed receive puts a UD QP into the error state (IBTA 10.3.1), without an event on most HCAs.
 * Only then are receives flushed while NAPI runs; ipoib_ud_rx_drain() takes the receives of a stop.
 */
static void ipoib_rx_complete(struct ipoib_rxq *rxq, const struct ib_wc *wc,
			      struct ipoib_rx_tally *tally)
{
	struct ipoib_dev *priv = rxq->priv;
	u16 index = wc->wr_id;

	if (WARN_ON_ONCE(wc->wr_id >= rxq->size || rxq->nfree >= rxq->size))
		return;
	rxq->free[rxq->nfree++] = index;
	if (unlikely(wc->status == IB_WC_WR_FLUSH_ERR)) {
		if (rxq->running) {
			WRITE_ONCE(rxq->running, false);
			ipoib_ctl_post(priv, IPOIB_CTL_RECOVER);
		}
		return;
	}
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		ipoib_ctl_post(priv, IPOIB_CTL_RECOVER);
		ipoib_stat_add(priv, IPOIB_RX_ERROR, 1);
		if (net_ratelimit())
			netdev_warn(priv->netdev,
				    "failed recv event (status=%d, wrid=%llu vend_err %#x)\n",
				    wc->status, wc->wr_id, wc->vendor_err);
		return;
	}
	if (unlikely(wc->byte_len < IPOIB_RX_HEAD_LEN ||
		     wc->byte_len - IPOIB_RX_HEAD_LEN > rxq->buf_size)) {
		ipoib_stat_add(priv, IPOIB_RX_SHORT, 1);
		return;
	}
	ipoib_rx_frame(rxq, wc, index, tally);
}

static int ipoib_ud_rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_rxq *rxq = container_of(napi, struct ipoib_rxq, napi);
	const struct ipoib_dev *priv = rxq->priv;
	/* LID and LMC may change during a poll; the rest changes while the handler is disabled. */
	struct ipoib_rx_tally tally = {
		.port = {
			.roce = ipoib_has_roce(priv),
			.lmc = READ_ONCE(priv->lmc),
			.lid = READ_ONCE(priv->local_lid),
			.qpn = priv->qpn,
			.gid = priv->local_gid,
			.broadcast_mgid = priv->broadcast_mgid,
		},
	};
	int done = 0, want, i, n;

	while (done < budget) {
		want = min_t(int, budget - done, IPOIB_POLL_WC);
		n = ib_poll_cq(rxq->cq, want, rxq->wc);
		for (i = 0; i < n; i++)
			ipoib_rx_complete(rxq, &rxq->wc[i], &tally);
		if (rxq->nfree >= IPOIB_BATCH)
			ipoib_rx_refill(rxq);
		if (n > 0)
			done += n;
		if (n < want)
			break;
	}
	/* A post costs a doorbell; an empty queue is always refilled. */
	if (rxq->nfree >= min(IPOIB_BATCH, rxq->size / 2))
		ipoib_rx_refill(rxq);
	if (tally.packets) {
		ipoib_stat_traffic(rxq->priv, IPOIB_RX_PACKETS, tally.packets, tally.bytes);
		ipoib_moder_received(&rxq->moder, tally.packets, tally.bytes);
	}
	if (tally.multicast)
		ipoib_stat_add(rxq->priv, IPOIB_MULTICAST, tally.multicast);
	if (tally.csum)
		ipoib_stat_add(rxq->priv, IPOIB_RX_CSUM, tally.csum);
	if (done < budget)
		ipoib_moder_complete(&rxq->moder, done);
	return done;
}

/* Event of the receive CQ. Context: any. */
static void ipoib_ud_rx_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_rxq *rxq = ctx;

	ipoib_moder_event(&rxq->moder);
	ipoib_ud_schedule(&rxq->napi);
}

/**
 * ipoib_pool_create - create a pool of pages for received payload
 * @ca: device that writes to them
 * @dev: interface of the pool, for user space, or NULL; not for an unregistered interface
 * @napi: the only handler that allocates, or NULL
 * @flags: IPOIB_PP_FLAGS if pages are divided, else 0
 * @order: log2 of the pages of a piece
 * @size: pieces that it caches
 *
 * Context: may sleep
 * Return: the pool or ERR_PTR()
 */
struct page_pool *ipoib_pool_create(struct ib_device *ca, struct net_device *dev,
				    struct napi_struct *napi, unsigned int flags,
				    unsigned int order, unsigned int size)
{
	struct page_pool_params params = {
		.flags = flags,
		.order = order,
		.pool_size = size,
		.nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE << order,
	};

	ipoib_pool_set_napi(&params, napi);
	ipoib_pool_set_netdev(&params, dev);
	if (!ib_uses_virt_dma(ca)) {
		params.flags |= PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV;
		params.dev = ca->dma_device;
		params.nid = dev_to_node(ca->dma_device);
	}
	return page_pool_create(&params);
}

/*
 * Create the receive queue, without buffers for payload.
 * Context: may sleep. Return: 0, or a negative error, with &ipoib_dev.rxq NULL or for
 * ipoib_ud_rx_exit().
 */
int ipoib_ud_rx_init(struct ipoib_dev *priv)
{
	struct ib_cq_init_attr attr = {
		.cqe = priv->recvq_size,
		.comp_vector = ipoib_ud_vector(priv, 0),
	};
	struct ipoib_rxq *rxq = kzalloc(sizeof(*rxq), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!rxq)
		return -ENOMEM;
	priv->rxq = rxq;
	rxq->priv = priv;
	netif_napi_add(priv->netdev, &rxq->napi, ipoib_ud_rx_poll);
	rxq->size = min_t(unsigned int, priv->recvq_size, ipoib_recvq_size);
	rxq->slots = kvcalloc(priv->recvq_size, sizeof(*rxq->slots), GFP_KERNEL);
	rxq->free = kvcalloc(priv->recvq_size, sizeof(*rxq->free), GFP_KERNEL);
	if (!rxq->slots || !rxq->free)
		return -ENOMEM;
	err = ipoib_bufs_init(&rxq->heads, priv->ca, priv->recvq_size,
			      order_base_2(IPOIB_RX_HEAD_LEN), DMA_FROM_DEVICE);
	if (err)
		return err;
	for (i = 0; i < IPOIB_BATCH; i++) {
		rxq->wr[i].sg_list = rxq->sge[i];
		rxq->wr[i].num_sge = 2;
		rxq->sge[i][0].length = IPOIB_RX_HEAD_LEN;
		rxq->sge[i][0].lkey = priv->pd->local_dma_lkey;
		rxq->sge[i][1].lkey = priv->pd->local_dma_lkey;
	}
	rxq->cq = ib_create_cq(priv->ca, ipoib_ud_rx_event, NULL, rxq, &attr);
	if (IS_ERR(rxq->cq))
		return PTR_ERR(rxq->cq);
	ipoib_moder_init(&rxq->moder, rxq->cq, &rxq->napi, &priv->moderation, rxq->size / 4);
	return 0;
}

/*
 * Undo ipoib_ud_rx_init(), also half of it, and free the queue. &ipoib_rxq.pool is NULL; the caller
 * clears &ipoib_dev.rxq.
 * Context: QP destroyed or never created, handler disabled; RTNL may be held; may sleep.
 */
void ipoib_ud_rx_exit(struct ipoib_rxq *rxq)
{
	netif_napi_del(&rxq->napi);
	if (!IS_ERR_OR_NULL(rxq->cq)) {
		ipoib_moder_exit(&rxq->moder);
		ib_destroy_cq(rxq->cq);
	}
	ipoib_bufs_exit(&rxq->heads);
	kvfree(rxq->free);
	kvfree(rxq->slots);
	kfree(rxq);
}

/*
 * Allocate and post all receives, start the handler. On a RoCE port the QP receives frames to its
 * groups on all VLANs, some with a greater MTU: a frame longer than its buffer would put the QP
 * into the error state.
 * Context: RTNL held, QP in INIT. Return: 0, or a negative error with no memory held.
 */
int ipoib_ud_rx_start(struct ipoib_rxq *rxq)
{
	struct ipoib_dev *priv = rxq->priv;
	unsigned int mtu = ipoib_has_roce(priv) ? priv->max_mtu : priv->port_mtu;
	struct page_pool *pool;
	unsigned int i;

	rxq->buf_size = min_t(unsigned int, PAGE_SIZE, roundup_pow_of_two(mtu));
	pool = ipoib_pool_create(priv->ca, priv->netdev, &rxq->napi, IPOIB_PP_FLAGS, 0,
				 DIV_ROUND_UP(rxq->size * rxq->buf_size, PAGE_SIZE));
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	rxq->pool = pool;
	for (i = 0; i < IPOIB_BATCH; i++)
		rxq->sge[i][1].length = rxq->buf_size;
	for (i = 0; i < rxq->size; i++)
		rxq->free[i] = i;
	rxq->nfree = rxq->size;
	WRITE_ONCE(rxq->running, true);
	local_bh_disable();
	ipoib_rx_refill(rxq);
	local_bh_enable();
	napi_enable(&rxq->napi);
	/* The handler posts the rest and arms the CQ. */
	ipoib_ud_schedule(&rxq->napi);
	return 0;
}

/*
 * Take flushed receives back.
 * Context: RTNL held, QP in the error state or RESET, handler disabled. Return: true if all are
 * back.
 */
bool ipoib_ud_rx_drain(struct ipoib_rxq *rxq)
{
	int n;

	while ((n = ib_poll_cq(rxq->cq, IPOIB_POLL_WC, rxq->wc)) > 0)
		rxq->nfree += n;
	return rxq->nfree >= rxq->size;
}

/*
 * Free the buffers of the queue. Pages in sockets return to the page allocator from there.
 * Context: RTNL held, QP in RESET, handler disabled; may sleep.
 */
void ipoib_ud_rx_stop(struct ipoib_rxq *rxq)
{
	unsigned int i;

	WRITE_ONCE(rxq->running, false);
	for (i = 0; i < rxq->size; i++) {
		if (!rxq->slots[i].page)
			continue;
		page_pool_put_full_page(rxq->pool, rxq->slots[i].page, false);
		rxq->slots[i].page = NULL;
	}
	page_pool_destroy(rxq->pool);
	rxq->pool = NULL;
}
