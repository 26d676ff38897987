// SPDX-License-Identifier: GPL-2.0
/*
 * Datagram mode: the UD QP, the send side, and address handles.
 *
 * A frame arrives here with its address handle and QPN decided. It is put
 * into the ring, gets a work request, and waits in the batch of the queue
 * until the stack says that nothing follows; then the whole batch is posted
 * as one chain.
 *
 * Completions are asked for only where one is waited for: the skb of a
 * frame that was not copied (its socket is charged until it is freed), a
 * stopped queue, or IPOIB_TX_UNSIGNALLED sends since the last. Sends complete
 * in order, so one completion stands for all before it.
 *
 * The receive side is in ipoib_ud_rx.c.
 */
#include <linux/crash_dump.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_tso.h"

/* Microseconds that the HCA may take to give all work requests back. */
#define IPOIB_DRAIN_TIME	100000
/*
 * A QP has room for so many receives, if more are posted one day: see ipoib_ud_resize(). Room
 * takes a hundred octets each, a receive that is posted up to a page.
 */
#define IPOIB_RECVQ_ROOM	1024
/*
 * Microseconds between two tries to move a QP to ERR or RESET, or to detach it from a group, and
 * for how long it is tried.
 */
#define IPOIB_MOVE_PAUSE	10000
#define IPOIB_MOVE_TIME		500000

/* Interfaces made so far, see ipoib_ud_vector(). */
static atomic_t ipoib_ud_vectors;

/* HCAs return these when they lack memory or time: the next try may succeed. */
static bool ipoib_ud_is_passing(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EBUSY || err == -EINTR;
}

/* On the way down: an HCA that has no memory now has some a little later. */
static int ipoib_ud_move(struct ipoib_dev *priv, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int err;

	read_poll_timeout(ib_modify_qp, err, !ipoib_ud_is_passing(err), IPOIB_MOVE_PAUSE,
			  IPOIB_MOVE_TIME, false, priv->txq->qp, &attr, IB_QP_STATE);
	if (err)
		netdev_warn(priv->netdev, "cannot move QP to state %d: %d\n", state, err);
	return err;
}

/**
 * ipoib_ud_set_qkey - change the Q_Key of the running QP
 * @priv: the interface
 * @qkey: Q_Key of the broadcast group, host byte order (U40)
 *
 * Context: work of the group; may sleep
 * Return: 0 or negative error of the HCA, as for a QP that is just being reset
 */
int ipoib_ud_set_qkey(struct ipoib_dev *priv, u32 qkey)
{
	struct ib_qp_attr attr = { .qkey = qkey };
	u32 was = priv->qkey;
	int err;

	if (was == qkey)
		return 0;
	/* First, for a QP that is reset meanwhile gets this one. */
	WRITE_ONCE(priv->qkey, qkey);
	err = ib_modify_qp(priv->txq->qp, &attr, IB_QP_QKEY);
	if (err)
		WRITE_ONCE(priv->qkey, was);
	return err;
}

/**
 * ipoib_ud_attach - have the UD QP take the frames of a group
 * @priv: the interface
 * @gid: MGID; an IPv4 address on RoCE, for which all groups are one
 * @lid: MLID, 0 on RoCE
 *
 * Context: work of the group; may sleep
 * Return: 0 or negative error of the HCA
 */
int ipoib_ud_attach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid)
{
	bool mapped = ipv6_addr_v4mapped((struct in6_addr *)gid->raw);
	int err;

	if (mapped && priv->txq->nmapped++)
		return 0;
	err = ib_attach_mcast(priv->txq->qp, gid, lid);
	if (err && mapped)
		priv->txq->nmapped--;
	return err;
}

/**
 * ipoib_ud_detach - have the UD QP take the frames of a group no more
 * @priv: the interface
 * @gid: MGID
 * @lid: MLID
 *
 * A QP that is attached to a group cannot be destroyed: what fails is tried again.
 *
 * Context: work of the group; may sleep
 * Return: 0 or negative error of the HCA
 */
int ipoib_ud_detach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid)
{
	int err;

	if (ipv6_addr_v4mapped((struct in6_addr *)gid->raw) && --priv->txq->nmapped)
		return 0;
	read_poll_timeout(ib_detach_mcast, err, !ipoib_ud_is_passing(err), IPOIB_MOVE_PAUSE,
			  IPOIB_MOVE_TIME, false, priv->txq->qp, gid, lid);
	return err;
}

/**
 * ipoib_ud_recover - take the QP out of the error states
 * @priv: the interface
 *
 * A send that fails on a UD QP stops the send queue only (state SQE); the
 * sends behind it were flushed and receiving goes on. A receive that fails
 * stops the QP, which is restarted.
 *
 * Context: RTNL held, interface up
 */
void ipoib_ud_recover(struct ipoib_dev *priv)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
	struct ib_qp_init_attr init;
	struct ib_qp_attr now = {};
	int err;

	err = ib_query_qp(priv->txq->qp, &now, IB_QP_STATE, &init);
	if (!err && now.qp_state == IB_QPS_RTS && READ_ONCE(priv->rxq->running))
		return;
	if (!err && now.qp_state == IB_QPS_SQE) {
		attr.cur_qp_state = IB_QPS_SQE;
		err = ib_modify_qp(priv->txq->qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE);
		if (!err)
			return;
	}
	netdev_warn(priv->netdev, "QP in state %d, resetting it\n", now.qp_state);
	ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
}

/* Take back what was counted as sent when it was posted. */
static void ipoib_ud_uncount(struct ipoib_txq *txq, u32 slot, enum ipoib_stat why)
{
	const struct ipoib_ring *ring = &txq->ring;
	const struct ipoib_tx_slot *sent = &ring->slots[slot & ring->mask];

	ipoib_stat_traffic(txq->priv, IPOIB_TX_PACKETS, -(s64)sent->packets, -(s64)sent->bytes);
	ipoib_stat_add(txq->priv, why, sent->packets);
}

/**
 * ipoib_ud_post - hand the batch of a queue to the QP
 * @txq: the queue
 *
 * Context: transmit lock of the queue held
 */
void ipoib_ud_post(struct ipoib_txq *txq)
{
	struct ipoib_batch *batch = txq->batch;
	/* Some providers refuse the first and do not say so. */
	const struct ib_send_wr *bad = &batch->wr[0].wr;
	struct ipoib_dev *priv = txq->priv;
	u32 signalled = txq->signalled;
	struct ib_ud_wr *last;
	int err;

	if (!batch->count)
		return;
	last = &batch->wr[batch->count - 1];
	last->wr.next = NULL;
	/* Is the completion of one of these sends waited for? */
	txq->unsignalled += batch->count;
	if (batch->awaited || txq->unsignalled >= IPOIB_TX_UNSIGNALLED ||
	    netif_xmit_stopped(txq->nq) || READ_ONCE(txq->retires)) {
		last->wr.send_flags |= IB_SEND_SIGNALED;
		txq->unsignalled = 0;
		txq->signalled = txq->ring.head;
	}
	/* Now, as what fails is taken back, perhaps before the call returns. */
	ipoib_stat_traffic(priv, IPOIB_TX_PACKETS, batch->packets, batch->bytes);
	err = ib_post_send(txq->qp, &batch->wr[0].wr, &bad);
	if (unlikely(err)) {
		/*
		 * The slots stay filled until the restart flushes the ring: byte queue
		 * limits may only be given back by the completion handler.
		 */
		txq->signalled = signalled;
		for (; bad; bad = bad->next)
			ipoib_ud_uncount(txq, bad->wr_id, IPOIB_TX_POST);
		if (net_ratelimit())
			netdev_warn(priv->netdev, "post send failed: %d\n", err);
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
	}
	batch->count = 0;
	batch->packets = 0;
	batch->bytes = 0;
	batch->awaited = false;
}

/* ---- frames that have waited ---- */

/**
 * ipoib_ud_send_begin - take the transmit lock, for frames that have waited
 * @priv: the interface
 *
 * No other frame can overtake those that are taken from where they wait now, provided that the
 * transmit path checks whether some still wait.
 *
 * Context: process
 */
void ipoib_ud_send_begin(struct ipoib_dev *priv)
	__acquires(&priv->txq->nq->_xmit_lock)
	__acquires(RCU)
{
	local_bh_disable();
	__netif_tx_lock(priv->txq->nq, smp_processor_id());
	rcu_read_lock();
}

/**
 * ipoib_ud_send_end - send frames that have waited, and release the transmit lock
 * @priv: the interface
 * @frames: whole with their &struct ipoib_header; consumed. They are dropped while the QP is
 *	stopped or reset.
 * @xmit: sends one of them
 */
void ipoib_ud_send_end(struct ipoib_dev *priv, struct sk_buff_head *frames, ipoib_xmit_t xmit)
	__releases(RCU)
	__releases(&priv->txq->nq->_xmit_lock)
{
	bool on = test_bit(IPOIB_FLAG_UP, &priv->flags) &&
		  test_bit(IPOIB_FLAG_QP, &priv->flags);
	struct ipoib_txq *txq = priv->txq;
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(frames))) {
		if (on)
			xmit(txq, skb);
		else
			ipoib_drop(priv, skb, IPOIB_TX_FLUSHED);
	}
	ipoib_ud_post(txq);
	rcu_read_unlock();
	__netif_tx_unlock(txq->nq);
	local_bh_enable();
}

/* The driver cuts up frames and computes checksums: the HCA does neither. */
static bool ipoib_ud_cuts(const struct ipoib_txq *txq)
{
	return txq->max_segs > 1;
}

/*
 * Put a frame into the ring, and into @n work requests. Return: 0, or a negative error with
 * the frame still the caller's.
 */
static int ipoib_ud_fill(struct ipoib_txq *txq, struct sk_buff *skb,
			 struct ib_ud_wr *wr, unsigned int n)
{
	unsigned int head;

	if (skb->len > IPOIB_TX_COPY || skb_is_gso(skb))
		txq->batch->awaited = true;
	if (skb_is_gso(skb) && ipoib_ud_cuts(txq))
		return ipoib_tso_fill(&txq->ring, skb, wr, n);
	if (skb_is_gso(skb)) {
		head = ipoib_tso_head(skb);
		if (unlikely(!skb_is_gso_tcp(skb) || head > skb_headlen(skb) ||
			     head > IPOIB_TX_HEAD ||
			     !(txq->qp_flags & IB_QP_CREATE_IPOIB_UD_LSO)))
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

/**
 * ipoib_ud_xmit - send a frame
 * @txq: the queue
 * @skb: frame with its &struct ipoib_header; consumed
 * @ah: where to, read under RCU
 * @qpn: the peer's QPN, or IPOIB_MCAST_QPN
 *
 * The frame is posted by ipoib_ud_post() at the latest.
 *
 * Context: transmit lock of the queue held, RCU read side
 */
void ipoib_ud_xmit(struct ipoib_txq *txq, struct sk_buff *skb, struct ipoib_ah *ah, u32 qpn)
{
	struct ipoib_batch *batch = txq->batch;
	unsigned int n = 1, packets = 0, bytes = 0;
	struct ipoib_tx_slot *slot;
	struct ib_ud_wr *wr;
	unsigned int gso;
	u32 i;

	/* Of the whole frame: a local user may have the sum begin anywhere in it. */
	if (skb->ip_summed == CHECKSUM_PARTIAL && !skb_is_gso(skb) && ipoib_ud_cuts(txq) &&
	    unlikely(skb_checksum_help(skb))) {
		ipoib_drop(txq->priv, skb, IPOIB_TX_MAP);
		return;
	}
	skb_pull(skb, IPOIB_LLADDR_LEN);
	gso = skb_is_gso(skb) ? skb->len : 0;
	if (gso && ipoib_ud_cuts(txq))
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
		/* Pairs with ipoib_ud_tx_poll(): stopped before the tail is read again. */
		smp_mb();
		if (ipoib_ring_room(&txq->ring) >= txq->max_segs)
			netif_tx_start_queue(txq->nq);
		else
			ipoib_stat_add(txq->priv, IPOIB_TX_STOPPED, 1);
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
	ipoib_ud_uncount(txq, wc->wr_id, IPOIB_TX_ERROR);
	ipoib_ctl_post(txq->priv, IPOIB_CTL_RECOVER);
}

static int ipoib_ud_tx_poll(struct napi_struct *napi, int budget)
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
		 * The tail is written before the state of the queue is read: pairs with
		 * ipoib_ud_xmit() and ipoib_ah_in_flight().
		 */
		smp_mb();
		if (unlikely(netif_tx_queue_stopped(txq->nq)) &&
		    ipoib_ring_room(&txq->ring) >= txq->ring.mask / 4 + txq->max_segs &&
		    test_bit(IPOIB_FLAG_UP, &priv->flags)) {
			ipoib_stat_add(priv, IPOIB_TX_WOKEN, 1);
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

static void ipoib_ud_tx_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_txq *txq = ctx;

	ipoib_ud_schedule(&txq->napi);
}

static void ipoib_ud_qp_event(struct ib_event *event, void *ctx)
{
	struct ipoib_dev *priv = ctx;

	netdev_warn(priv->netdev, "QP event %s\n", ib_event_msg(event->event));
	if (event->event == IB_EVENT_QP_FATAL)
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
}

/*
 * Flags that the HCA says it knows and that help here. mlx5 computes checksums only for
 * QPs with IB_QP_CREATE_IPOIB_UD_LSO. The offloads of IPoIB are for InfiniBand: on RoCE
 * the packet lies behind headers that HCAs do not parse past.
 */
static u32 ipoib_ud_qp_flags(const struct ipoib_dev *priv)
{
	const struct ib_device_attr *attrs = &priv->ca->attrs;
	u32 flags = 0;

	if (attrs->kernel_cap_flags & IBK_BLOCK_MULTICAST_LOOPBACK)
		flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if (!rdma_protocol_ib(priv->ca, priv->port))
		return flags;
	if (attrs->kernel_cap_flags & IBK_UD_TSO)
		flags |= IB_QP_CREATE_IPOIB_UD_LSO;
	if (attrs->device_cap_flags & IB_DEVICE_MANAGED_FLOW_STEERING)
		flags |= IB_QP_CREATE_NETIF_QP;
	return flags;
}

/* HCAs refuse flags that they say they know: do without. */
static int ipoib_ud_create_qp(struct ipoib_dev *priv, u32 flags)
{
	struct ib_qp_init_attr init = {
		.event_handler = ipoib_ud_qp_event,
		.qp_context = priv,
		.send_cq = priv->txq->cq,
		.recv_cq = priv->rxq->cq,
		.cap.max_send_wr = priv->sendq_size,
		.cap.max_recv_wr = priv->recvq_size,
		.cap.max_send_sge = min_t(u32, priv->ca->attrs.max_send_sge, IPOIB_TX_SGE),
		.cap.max_recv_sge = 2,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_UD,
		.create_flags = flags,
	};
	struct ib_qp *qp = ib_create_qp(priv->pd, &init);

	while (IS_ERR(qp) && init.create_flags) {
		/* There may be few QPs that steering knows. */
		init.create_flags &= init.create_flags & IB_QP_CREATE_NETIF_QP ?
				     ~IB_QP_CREATE_NETIF_QP : 0;
		qp = ib_create_qp(priv->pd, &init);
	}
	if (!IS_ERR(qp) && init.create_flags != flags)
		dev_info(&priv->ca->dev,
			 "port %u: the HCA refuses QPs with flags %#x, doing without\n",
			 priv->port, flags & ~init.create_flags);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	priv->txq->qp_flags = init.create_flags;
	priv->txq->qp = qp;
	priv->rxq->qp = qp;
	return 0;
}

/**
 * ipoib_ud_too_long - whether a frame has more octets than the link takes
 * @skb: the frame with its &struct ipoib_header
 * @mtu: IP MTU of the link
 *
 * Return: whether it, or one of the segments that the HCA makes of it, is too long
 */
bool ipoib_ud_too_long(const struct sk_buff *skb, unsigned int mtu)
{
	if (likely(skb->len <= mtu + IPOIB_HARD_LEN))
		return false;
	return !skb_is_gso(skb) || !skb_gso_validate_network_len(skb, mtu);
}

/*
 * That it says IB_DEVICE_UD_IP_CSUM does not do: mlx5 without the offloads that come with
 * IBK_UD_TSO says so and computes none. A segment needs its checksum, so without these
 * there is no TSO.
 */
static bool ipoib_ud_hca_cuts(const struct ipoib_dev *priv)
{
	return (priv->ca->attrs.device_cap_flags & IB_DEVICE_UD_IP_CSUM) &&
	       (priv->txq->qp_flags & IB_QP_CREATE_IPOIB_UD_LSO);
}

/**
 * ipoib_ud_features - checksums and segments that the HCA or the driver makes
 * @priv: the interface, with its QP
 *
 * HCAs parse IPv4 only. The driver computes the sums of segments while it builds them, so
 * it offers to compute all.
 *
 * Return: NETIF_F_ flags
 */
netdev_features_t ipoib_ud_features(const struct ipoib_dev *priv)
{
	if (ipoib_ud_hca_cuts(priv))
		return NETIF_F_IP_CSUM | NETIF_F_RXCSUM | NETIF_F_TSO;
	if (ipoib_ud_cuts(priv->txq))
		return NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6 |
		       NETIF_F_TSO_ECN | NETIF_F_GSO_UDP_L4;
	return 0;
}

/**
 * ipoib_ud_cut_check - whether a large frame may go as one
 * @priv: the interface
 * @skb: GSO frame with its &struct ipoib_header
 *
 * Return: true if the HCA or the driver cuts it up; else the stack does, which then has not
 * to make a linear copy first
 */
bool ipoib_ud_cut_check(const struct ipoib_dev *priv, const struct sk_buff *skb)
{
	const struct ipoib_txq *txq = priv->txq;

	if (ipoib_ud_cuts(txq))
		return ipoib_tso_takes(&txq->ring, skb, txq->max_segs);
	/* What act_mirred redirects from an Ethernet device has its network header elsewhere. */
	return skb_network_offset(skb) == IPOIB_HARD_LEN &&
	       skb_shinfo(skb)->nr_frags < txq->ring.max_sge &&
	       ipoib_tso_head(skb) <= IPOIB_LLADDR_LEN + IPOIB_TX_HEAD;
}

/**
 * ipoib_ud_moderate - have completions of datagrams reported later, and several at a time
 * @priv: the interface
 * @setting: how
 *
 * Context: RTNL held; may sleep
 * Return: 0, or a negative error of the HCA, with nothing changed
 */
int ipoib_ud_moderate(struct ipoib_dev *priv, const struct ipoib_moderation *setting)
{
	struct ipoib_moderation *now = &priv->rxq->moderation;
	struct ipoib_moderation old = *now;
	int err;

	ASSERT_RTNL();
	ipoib_moder_set(now, setting);
	err = ipoib_moder_update(&priv->rxq->moder);
	if (err)
		ipoib_moder_set(now, &old);
	return err;
}

static int ipoib_ud_tx_init(struct ipoib_dev *priv)
{
	struct ib_cq_init_attr attr = {
		.cqe = priv->sendq_size,
		.comp_vector = ipoib_ud_vector(priv, 1),
	};
	struct ipoib_txq *txq = kzalloc(sizeof(*txq), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!txq)
		return -ENOMEM;
	priv->txq = txq;
	txq->priv = priv;
	txq->nq = netdev_get_tx_queue(priv->netdev, 0);
	txq->max_segs = 1;
	netif_napi_add_tx(priv->netdev, &txq->napi, ipoib_ud_tx_poll);
	txq->batch = kvzalloc(sizeof(*txq->batch), GFP_KERNEL);
	if (!txq->batch)
		return -ENOMEM;
	for (i = 0; i < IPOIB_TX_BATCH; i++)
		txq->batch->wr[i].wr.sg_list = txq->batch->sge[i];
	err = ipoib_ring_init(&txq->ring, priv->pd, priv->sendq_size,
			      priv->ca->attrs.max_send_sge, IPOIB_TX_COPY);
	if (err)
		return err;
	txq->cq = ib_create_cq(priv->ca, ipoib_ud_tx_event, NULL, txq, &attr);
	return PTR_ERR_OR_ZERO(txq->cq);
}

/* The queues without their QP, also if they were made in part. */
static void ipoib_ud_queues_exit(struct ipoib_dev *priv)
{
	struct ipoib_txq *txq = priv->txq;

	if (priv->rxq)
		ipoib_ud_rx_exit(priv->rxq);
	priv->rxq = NULL;
	priv->txq = NULL;
	if (!txq)
		return;
	netif_napi_del(&txq->napi);
	if (!IS_ERR_OR_NULL(txq->cq))
		ib_destroy_cq(txq->cq);
	ipoib_ring_exit(&txq->ring);
	kvfree(txq->batch);
	kfree(txq);
}

/* A ring has room for four of the longest frames. */
static unsigned int ipoib_ud_max_segs(unsigned int sends)
{
	return min_t(unsigned int, sends / 4, IPOIB_TX_BATCH);
}

static int ipoib_ud_queues_init(struct ipoib_dev *priv)
{
	int err;

	err = ipoib_ud_tx_init(priv);
	if (!err)
		err = ipoib_ud_rx_init(priv);
	if (!err)
		err = ipoib_ud_create_qp(priv, ipoib_ud_qp_flags(priv));
	if (err) {
		ipoib_ud_queues_exit(priv);
		return err;
	}
	/* A sum needs the address of each page. */
	if (!ipoib_ud_hca_cuts(priv) && !IS_ENABLED(CONFIG_HIGHMEM) &&
	    priv->txq->ring.max_sge >= IPOIB_TSO_SGE_MIN)
		priv->txq->max_segs = ipoib_ud_max_segs(priv->sendq_size);
	return 0;
}

/*
 * The limits that an HCA reports need not hold for queues of this kind: what it has room for
 * depends on the size of a work request, which only its driver knows.
 */
static int ipoib_ud_queues_fit(struct ipoib_dev *priv)
{
	const struct ib_device_attr *attrs = &priv->ca->attrs;
	int room = is_kdump_kernel() ? 0 : IPOIB_RECVQ_ROOM;
	int limit = min(attrs->max_qp_wr, attrs->max_cqe);
	unsigned int *longer;
	int err;

	limit = rounddown_pow_of_two(max(limit, IPOIB_QUEUE_MIN));
	priv->sendq_size = min(ipoib_sendq_size, limit);
	priv->recvq_size = min(max(ipoib_recvq_size, room), limit);
	for (;;) {
		err = ipoib_ud_queues_init(priv);
		longer = priv->recvq_size > priv->sendq_size ? &priv->recvq_size :
							       &priv->sendq_size;
		if ((err != -ENOMEM && err != -EINVAL) || *longer <= IPOIB_QUEUE_MIN)
			break;
		*longer /= 2;
	}
	if (!err && (priv->sendq_size < ipoib_sendq_size || priv->recvq_size < ipoib_recvq_size))
		dev_info(&priv->ca->dev,
			 "port %u: the HCA takes no more than %u sends and %u receives\n",
			 priv->port, priv->sendq_size, priv->recvq_size);
	return err;
}

/**
 * ipoib_ud_init - create QP, CQs and rings
 * @priv: the interface
 *
 * The QP, and with it the QPN in the link-layer address, stays the same as
 * long as the interface exists (U46).
 *
 * Context: may sleep
 * Return: 0, or a negative error with nothing left allocated
 */
int ipoib_ud_init(struct ipoib_dev *priv)
{
	int err;

	priv->vector = atomic_fetch_inc(&ipoib_ud_vectors) & INT_MAX;
	priv->pd = ib_alloc_pd(priv->ca, 0);
	if (IS_ERR(priv->pd))
		return PTR_ERR(priv->pd);
	err = ipoib_ud_queues_fit(priv);
	if (err)
		ib_dealloc_pd(priv->pd);
	return err;
}

/* Free what the QP held, which it does not any more. */
static void ipoib_ud_release(struct ipoib_dev *priv)
{
	priv->txq->unsignalled = 0;
	ipoib_ring_flush(&priv->txq->ring);
	ipoib_ud_rx_stop(priv->rxq);
}

static void ipoib_ah_free(struct ipoib_ah *ah)
{
	rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
	kfree(ah);
}

/**
 * ipoib_ud_exit - undo ipoib_ud_init()
 * @priv: an interface that is down, without paths and groups
 *
 * Context: may sleep
 */
void ipoib_ud_exit(struct ipoib_dev *priv)
{
	struct ipoib_ah *ah, *tmp;

	cancel_delayed_work_sync(&priv->ah.work);
	synchronize_net();
	/* One that could not be emptied may still use handles and buffers. */
	WARN_ON_ONCE(ib_destroy_qp(priv->txq->qp));
	list_for_each_entry_safe(ah, tmp, &priv->ah.dead, list)
		ipoib_ah_free(ah);
	if (priv->rxq->pool)
		ipoib_ud_release(priv);
	ipoib_ud_queues_exit(priv);
	ib_dealloc_pd(priv->pd);
}

/* Sends behind the last that asked for a completion may have none to come. */
static bool ipoib_ud_tx_drain(struct ipoib_txq *txq)
{
	struct ipoib_tx_done done = {};
	int i, n;

	while ((n = ib_poll_cq(txq->cq, IPOIB_POLL_WC, txq->wc)) > 0)
		for (i = 0; i < n; i++)
			ipoib_ring_complete(&txq->ring, txq->wc[i].wr_id, 0, &done);
	return ipoib_ring_passed(&txq->ring, txq->signalled);
}

static bool ipoib_ud_drain(struct ipoib_dev *priv)
{
	return ipoib_ud_rx_drain(priv->rxq) & ipoib_ud_tx_drain(priv->txq);
}

/*
 * In the error state the HCA gives back every work request. RESET alone would do by the
 * book (IBTA 10.3.1), but rdmavt keeps the receive queue across it. A QP that cannot be
 * moved to RESET may still write to its buffers. They are kept, and the page pool with
 * them, until it can, or has been destroyed.
 */
static int ipoib_ud_qp_empty(struct ipoib_dev *priv)
{
	bool drained;
	int err;

	ipoib_ud_move(priv, IB_QPS_ERR);
	/* What an HCA that has failed has not flushed yet it never will. */
	if (read_poll_timeout(ipoib_ud_drain, drained,
			      drained || test_bit(IPOIB_FLAG_DEAD, &priv->flags),
			      100, IPOIB_DRAIN_TIME, false, priv))
		netdev_warn(priv->netdev, "timing out; %u sends not completed\n",
			    ipoib_ring_used(&priv->txq->ring));
	err = ipoib_ud_move(priv, IB_QPS_RESET);
	if (err)
		return err;
	/* What was completed since the last poll is none of the QP's next life. */
	ipoib_ud_drain(priv);
	ipoib_ud_release(priv);
	queue_delayed_work(system_unbound_wq, &priv->ah.work, 0);
	return 0;
}

/**
 * ipoib_ud_start - bring the QP to RTS with all receives posted
 * @priv: the interface; P_Key index, port and Q_Key are set
 *
 * Context: RTNL held
 * Return: 0, or a negative error with the QP in RESET
 */
int ipoib_ud_start(struct ipoib_dev *priv)
{
	struct ipoib_txq *txq = priv->txq;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = priv->pkey_index,
		.port_num = priv->port,
	};
	int err;

	/* It could not be emptied when it was stopped. */
	if (priv->rxq->pool) {
		err = ipoib_ud_qp_empty(priv);
		if (err)
			return err;
	}
	/* It may have changed meanwhile, see ipoib_ud_set_qkey(). */
	attr.qkey = priv->qkey;
	err = ib_modify_qp(txq->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_QKEY);
	if (err)
		return err;
	err = ipoib_ud_rx_start(priv->rxq);
	if (err)
		goto reset_qp;
	attr.qp_state = IB_QPS_RTR;
	err = ib_modify_qp(txq->qp, &attr, IB_QP_STATE);
	if (err)
		goto stop_rx;
	attr.qp_state = IB_QPS_RTS;
	err = ib_modify_qp(txq->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
	if (err)
		goto stop_rx;
	netdev_tx_reset_queue(txq->nq);
	napi_enable(&txq->napi);
	ib_req_notify_cq(txq->cq, IB_CQ_NEXT_COMP);
	ipoib_queue_set_napi(priv->netdev, RX, &priv->rxq->napi);
	ipoib_queue_set_napi(priv->netdev, TX, &txq->napi);
	set_bit(IPOIB_FLAG_QP, &priv->flags);
	return 0;

stop_rx:
	napi_disable(&priv->rxq->napi);
	ipoib_ud_qp_empty(priv);
	return err;
reset_qp:
	ipoib_ud_move(priv, IB_QPS_RESET);
	return err;
}

/**
 * ipoib_ud_stop - reset the QP and free what it held
 * @priv: the interface; its QP is started, or ipoib_ud_restart() has failed
 *
 * Transmit queues are stopped, too.
 *
 * Context: RTNL held; may sleep
 */
void ipoib_ud_stop(struct ipoib_dev *priv)
{
	struct ipoib_txq *txq = priv->txq;

	if (!test_and_clear_bit(IPOIB_FLAG_QP, &priv->flags))
		return;
	ipoib_queue_set_napi(priv->netdev, RX, NULL);
	ipoib_queue_set_napi(priv->netdev, TX, NULL);
	napi_disable(&txq->napi);
	napi_disable(&priv->rxq->napi);
	/*
	 * Takes each transmit lock: after this no sender is under way. A last completion
	 * may have started the queue again.
	 */
	netif_tx_disable(priv->netdev);
	ipoib_ud_qp_empty(priv);
}

/**
 * ipoib_ud_restart - reset the QP and start it again
 * @priv: the interface, IPOIB_FLAG_UP set
 *
 * Frames that the QP held are lost. It stays attached to its groups, and its QPN is the
 * same.
 *
 * Context: RTNL held; may sleep
 * Return: 0, or a negative error with the QP and transmit queues stopped
 */
int ipoib_ud_restart(struct ipoib_dev *priv)
{
	int err;

	ipoib_ud_stop(priv);
	err = ipoib_ud_start(priv);
	if (err)
		return err;
	netif_tx_wake_all_queues(priv->netdev);
	return 0;
}

/**
 * ipoib_ud_resize - use more or less of the queues of the QP
 * @priv: the interface
 * @sends: slots for sends, a power of 2, at most &ipoib_dev.sendq_size
 * @receives: receives to post, at most &ipoib_dev.recvq_size
 *
 * The QP stays, as its number is part of the address. If it runs it is restarted, see
 * ipoib_ud_restart().
 *
 * Context: RTNL held; may sleep
 * Return: 0, or -EBUSY with nothing changed if the HCA does not give back what was posted
 */
int ipoib_ud_resize(struct ipoib_dev *priv, unsigned int sends, unsigned int receives)
{
	bool on = test_bit(IPOIB_FLAG_QP, &priv->flags);
	struct ipoib_txq *txq = priv->txq;
	struct ipoib_rxq *rxq = priv->rxq;
	int err = -EBUSY;

	ASSERT_RTNL();
	ipoib_ud_stop(priv);
	if (!rxq->pool) {
		txq->ring.mask = sends - 1;
		if (ipoib_ud_cuts(txq))
			txq->max_segs = ipoib_ud_max_segs(sends);
		rxq->size = receives;
		WRITE_ONCE(rxq->moder.most, receives / 4);
		/* Completions may be put off for more than are posted now. */
		ipoib_moder_update(&rxq->moder);
		err = 0;
	}
	if (on && ipoib_ud_restart(priv))
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
	return err;
}

/**
 * ipoib_ah_create - create an address handle
 * @priv: the interface
 * @attr: where to; consumed
 *
 * Context: may sleep
 * Return: the handle, owned by the caller until it is published, or ERR_PTR()
 */
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv, struct rdma_ah_attr *attr)
{
	struct ipoib_ah *ah;
	int err = -ENOMEM;

	ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	if (!ah)
		goto destroy_attr;
	ah->ah = rdma_create_ah(priv->pd, attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah->ah)) {
		err = PTR_ERR(ah->ah);
		goto free_ah;
	}
	rdma_destroy_ah_attr(attr);
	return ah;

free_ah:
	kfree(ah);
destroy_attr:
	rdma_destroy_ah_attr(attr);
	return ERR_PTR(err);
}

/**
 * ipoib_ah_retire - destroy an address handle once it is not used any more
 * @priv: the interface
 * @ah: handle that no new reader can find, or NULL
 *
 * Context: any but hard interrupt
 */
void ipoib_ah_retire(struct ipoib_dev *priv, struct ipoib_ah *ah)
{
	if (!ah)
		return;
	spin_lock_bh(&priv->ah.lock);
	list_add_tail(&ah->list, &priv->ah.dead);
	spin_unlock_bh(&priv->ah.lock);
	queue_delayed_work(system_unbound_wq, &priv->ah.work, 0);
}

/*
 * Find the handles that sends in flight use, and note it in them.
 *
 * The transmit lock keeps the head and the slots behind the tail as they are.
 */
static void ipoib_ah_in_flight(struct ipoib_txq *txq)
{
	struct ipoib_ring *ring = &txq->ring;
	u32 i;

	local_bh_disable();
	__netif_tx_lock(txq->nq, smp_processor_id());
	WRITE_ONCE(txq->retires, true);
	/* Pairs with ipoib_ud_tx_poll(): sends in flight now start the work as they complete. */
	smp_mb();
	for (i = READ_ONCE(ring->tail); i != ring->head; i++)
		ring->slots[i & ring->mask].ah->in_flight = true;
	__netif_tx_unlock(txq->nq);
	local_bh_enable();
}

/**
 * ipoib_ah_reap - destroy the retired address handles that no send in flight uses
 * @work: &ipoib_ahs.work
 *
 * Sends that asked for no completion keep their slots until a later one is completed. The
 * handler of completions starts this again then; an idle interface keeps the handles of its
 * last sends.
 *
 * Context: process; waits for grace periods, so it has no place on the ordered
 * queue of the interface
 */
void ipoib_ah_reap(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work), struct ipoib_dev, ah.work);
	struct ipoib_ah *ah, *tmp;
	LIST_HEAD(dead);

	spin_lock_bh(&priv->ah.lock);
	list_splice_init(&priv->ah.dead, &dead);
	spin_unlock_bh(&priv->ah.lock);
	if (list_empty(&dead))
		return;
	/* After this, each sender that had read a pointer to one of them has filled its slot. */
	synchronize_net();
	list_for_each_entry(ah, &dead, list)
		ah->in_flight = false;
	ipoib_ah_in_flight(priv->txq);
	list_for_each_entry_safe(ah, tmp, &dead, list) {
		if (ah->in_flight)
			continue;
		list_del(&ah->list);
		ipoib_ah_free(ah);
	}
	WRITE_ONCE(priv->txq->retires, !list_empty(&dead));
	spin_lock_bh(&priv->ah.lock);
	list_splice(&dead, &priv->ah.dead);
	spin_unlock_bh(&priv->ah.lock);
}
