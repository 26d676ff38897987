// SPDX-License-Identifier: GPL-2.0
/*
 * Datagram mode: UD QPs with their CQs and rings, and the states of the QPs.
 */
#include <linux/cpumask.h>
#include <linux/crash_dump.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_tso.h"

/* Time for the HCA to return all work requests, in microseconds */
#define IPOIB_DRAIN_TIME	100000
/*
 * Receives that a QP has room for, if more are posted later: see ipoib_ud_resize(). Room for a
 * receive takes a hundred octets, a posted receive up to a page.
 */
#define IPOIB_RECVQ_ROOM	1024
/*
 * Interval and total time of tries to move a QP to ERR or RESET, or to detach it from a group, in
 * microseconds
 */
#define IPOIB_MOVE_PAUSE	10000
#define IPOIB_MOVE_TIME		500000

/* Q_Key of the QP of mlx5's net device, whatever the Q_Key of the link */
#define IPOIB_RN_QKEY		0xb1b

/* Number of interfaces created so far, see ipoib_ud_vector() */
static atomic_t ipoib_ud_vectors;

/* HCAs return these for lack of memory or time: a later try may succeed. */
static bool ipoib_ud_is_passing(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EBUSY || err == -EINTR;
}

/* Move a QP to ERR or RESET, with further tries. */
static int ipoib_ud_move(struct ipoib_txq *txq, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int err;

	read_poll_timeout(ib_modify_qp, err, !ipoib_ud_is_passing(err), IPOIB_MOVE_PAUSE,
			  IPOIB_MOVE_TIME, false, txq->qp, &attr, IB_QP_STATE);
	if (err)
		netdev_warn(txq->priv->netdev, "cannot move QP to state %d: %d\n", state, err);
	return err;
}

/*
 * Change the Q_Key of the running QPs to that of the broadcast group, in host byte order (U40).
 * Context: work of the group; may sleep. Return: 0 or negative error of the HCA, as for a QP that
 * is being reset.
 */
int ipoib_ud_set_qkey(struct ipoib_dev *priv, u32 qkey)
{
	struct ib_qp_attr attr = { .qkey = qkey };
	u32 was = priv->qkey;
	unsigned int i;
	int err = 0;

	if (was == qkey)
		return 0;
	/* First, for a QP that is being reset. Pairs with ipoib_ud_set_queues(). */
	smp_store_mb(priv->qkey, qkey);
	if (!ipoib_has_qp(priv) && qkey != IPOIB_RN_QKEY)
		netdev_warn(priv->netdev,
			    "the HCA's net device receives with the Q_Key 0x%x only, the link has 0x%x; ipoib_enhanced=0 uses verbs\n",
			    IPOIB_RN_QKEY, qkey);
	for (i = 0; i < READ_ONCE(priv->ntxq) && !err; i++)
		err = ib_modify_qp(priv->txq[i].qp, &attr, IB_QP_QKEY);
	if (!err)
		return 0;
	WRITE_ONCE(priv->qkey, was);
	attr.qkey = was;
	while (--i)
		ib_modify_qp(priv->txq[i - 1].qp, &attr, IB_QP_QKEY);
	return err;
}

/*
 * Attach the UD QP, whose Q_Key is known, to a group. On RoCE the MLID is 0, and @gid an IPv4
 * address, for which all groups are one.
 * Context: work of the group; may sleep. Return: 0 or negative error of the HCA.
 */
int ipoib_ud_attach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid)
{
	bool mapped = ipv6_addr_v4mapped((struct in6_addr *)gid->raw);
	struct rdma_netdev *rn = priv->rn;
	int err;

	if (rn)
		return rn->attach_mcast(priv->netdev, priv->ca, gid, lid, true,
					READ_ONCE(priv->qkey));
	if (mapped && priv->txq->nmapped++)
		return 0;
	err = ib_attach_mcast(priv->txq->qp, gid, lid);
	if (err && mapped)
		priv->txq->nmapped--;
	return err;
}

static int ipoib_ud_detach_once(struct ipoib_dev *priv, union ib_gid *gid, u16 lid)
{
	if (ipoib_has_qp(priv))
		return ib_detach_mcast(priv->txq->qp, gid, lid);
	return priv->rn->detach_mcast(priv->netdev, priv->ca, gid, lid);
}

/*
 * Detach the UD QP from a group. An attached QP cannot be destroyed: a failure is tried again. A
 * net device of the HCA that attaches this QP would not find it in the RESET state.
 * Context: work of the group; may sleep. Return: 0 or negative error of the HCA.
 */
int ipoib_ud_detach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid)
{
	int err;

	if (ipv6_addr_v4mapped((struct in6_addr *)gid->raw) && --priv->txq->nmapped)
		return 0;
	read_poll_timeout(ipoib_ud_detach_once, err, !ipoib_ud_is_passing(err), IPOIB_MOVE_PAUSE,
			  IPOIB_MOVE_TIME, false, priv, gid, lid);
	return err;
}

/* Returns true if the QP sends again. */
static bool ipoib_ud_txq_recover(struct ipoib_txq *txq)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };
	struct ib_qp_init_attr init;
	/* IB_QPS_RESET, which a query that fails leaves */
	struct ib_qp_attr now = {};

	ib_query_qp(txq->qp, &now, IB_QP_STATE, &init);
	if (now.qp_state == IB_QPS_RTS)
		return true;
	if (now.qp_state == IB_QPS_SQE &&
	    !ib_modify_qp(txq->qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE))
		return true;
	netdev_warn(txq->priv->netdev, "QP in state %d, resetting it\n", now.qp_state);
	return false;
}

/*
 * Take QPs out of the error states. A failed send stops the send queue of a UD QP only (state SQE):
 * the sends behind it are flushed, and receiving goes on. A failed receive stops the QP, which is
 * restarted.
 * Context: RTNL held, interface up.
 */
void ipoib_ud_recover(struct ipoib_dev *priv)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < priv->ntxq; i++)
		good &= ipoib_ud_txq_recover(&priv->txq[i]);
	if (!good || !READ_ONCE(priv->rxq->running))
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
}

/* Event of a send CQ. Context: any. */
static void ipoib_ud_tx_event(struct ib_cq *cq, void *ctx)
{
	ipoib_ud_schedule(ctx);
}

/* Event of a QP. Context: any. */
static void ipoib_ud_qp_event(struct ib_event *event, void *ctx)
{
	struct ipoib_dev *priv = ctx;

	netdev_warn(priv->netdev, "QP event %s\n", ib_event_msg(event->event));
	if (event->event == IB_EVENT_QP_FATAL)
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
}

/*
 * Flags to request for the first QP, of the flags that the HCA supports; further QPs get its flags.
 * mlx5 computes checksums only for QPs with IB_QP_CREATE_IPOIB_UD_LSO. hfi1 finds the QP of its net
 * device by the number that IB_QP_CREATE_NETDEV_USE gives it. Offloads of IPoIB are for InfiniBand:
 * on RoCE the packet lies behind headers that HCAs do not parse.
 */
static u32 ipoib_ud_qp_flags(const struct ipoib_dev *priv)
{
	const struct ib_device_attr *attrs = &priv->ca->attrs;
	u32 flags = 0;

	if (priv->rn)
		return IB_QP_CREATE_NETDEV_USE;
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

/* HCAs refuse flags that they claim to support: try without. Only the first queue receives. */
static int ipoib_ud_create_qp(struct ipoib_txq *txq, u32 flags)
{
	struct ipoib_dev *priv = txq->priv;
	struct ib_qp_init_attr init = {
		.event_handler = ipoib_ud_qp_event,
		.qp_context = priv,
		.send_cq = txq->cq,
		.recv_cq = priv->rxq->cq,
		.cap.max_send_wr = priv->sendq_size,
		.cap.max_recv_wr = txq == priv->txq ? priv->recvq_size : 1,
		.cap.max_send_sge = min_t(u32, priv->ca->attrs.max_send_sge, IPOIB_TX_SGE),
		.cap.max_recv_sge = 2,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_UD,
		.create_flags = flags,
	};
	struct ib_qp *qp = ib_create_qp(priv->pd, &init);

	while (IS_ERR(qp) && init.create_flags & ~IB_QP_CREATE_NETDEV_USE) {
		/* QPs for flow steering may be used up. */
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
	txq->qp_flags = init.create_flags;
	txq->qp = qp;
	return 0;
}

/*
 * True if the HCA segments TCP over IPv4 and computes checksums of IPv4: there is no segment
 * without its checksum. mlx5 sets IB_DEVICE_UD_IP_CSUM also without the offloads of IBK_UD_TSO, by
 * which its QPs compute checksums.
 * Context: the first QP exists.
 */
static bool ipoib_ud_hca_cuts(const struct ipoib_dev *priv)
{
	return (priv->ca->attrs.device_cap_flags & IB_DEVICE_UD_IP_CSUM) &&
	       (priv->txq->qp_flags & IB_QP_CREATE_IPOIB_UD_LSO);
}

/*
 * Checksums and segments of the HCA, by its QP, and of the driver. HCAs parse IPv4 only, and do not
 * segment UDP. The driver sums up segments while it builds them, so it offers all checksums that
 * the HCA does not compute.
 * Return: NETIF_F_ flags.
 */
netdev_features_t ipoib_ud_features(const struct ipoib_dev *priv)
{
	netdev_features_t features = 0;

	if (priv->rn)
		return priv->netdev->hw_features;
	if (priv->txq->hca_cuts)
		features = NETIF_F_IP_CSUM | NETIF_F_RXCSUM | NETIF_F_TSO;
	if (!ipoib_ud_cuts(priv->txq))
		return features;
	/* The stack excludes HW_CSUM beside the others. */
	features |= priv->txq->hca_cuts ? NETIF_F_IPV6_CSUM :
		    NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO_ECN;
	return features | NETIF_F_TSO6 | NETIF_F_GSO_UDP_L4;
}

/*
 * Set the interrupt moderation of receives.
 * Context: RTNL held; may sleep. Return: 0, or a negative error of the HCA, with nothing changed.
 */
int ipoib_ud_moderate(struct ipoib_dev *priv, const struct ipoib_moderation *setting)
{
	struct ipoib_moderation *now = &priv->moderation;
	struct ipoib_moderation old = *now;
	int err;

	ASSERT_RTNL();
	ipoib_moder_set(now, setting);
	err = ipoib_moder_update(&priv->rxq->moder);
	if (err)
		ipoib_moder_set(now, &old);
	return err;
}

/* Most transmit queues of an interface: those of the stack, or of the HCA's net device */
unsigned int ipoib_ud_max_txqs(const struct ipoib_dev *priv)
{
	if (priv->rn)
		return priv->netdev->num_tx_queues;
	return min_t(unsigned int, priv->netdev->num_tx_queues, IPOIB_TXQ_MAX);
}

/* A queue without ring and QP, as the net device of an HCA uses it. RTNL may be held. */
static void ipoib_ud_txq_clear(struct ipoib_dev *priv, unsigned int n)
{
	struct ipoib_txq *txq = &priv->txq[n];

	memset(txq, 0, sizeof(*txq));
	txq->priv = priv;
	txq->nq = netdev_get_tx_queue(priv->netdev, n);
	txq->max_segs = 1;
	u64_stats_init(&txq->sent.syncp);
	u64_stats_init(&txq->done.syncp);
}

/*
 * Free the parts of a queue, also half of them, after a failed creation or at the end of the
 * interface.
 * Context: QP destroyed or never created, handler disabled; RTNL may be held; may sleep.
 */
static void ipoib_ud_txq_exit(struct ipoib_txq *txq)
{
	if (!txq->napi.dev)
		return;
	netif_napi_del(&txq->napi);
	if (!IS_ERR_OR_NULL(txq->cq))
		ib_destroy_cq(txq->cq);
	ipoib_ring_exit(&txq->ring);
	kvfree(txq->batch);
	ipoib_ud_txq_clear(txq->priv, txq - txq->priv->txq);
}

/*
 * Create a queue without its QP. After a failure the caller frees its parts with
 * ipoib_ud_txq_exit().
 * Context: RTNL held; may sleep.
 */
static int ipoib_ud_txq_init(struct ipoib_dev *priv, unsigned int n)
{
	struct ib_cq_init_attr attr = {
		.cqe = priv->sendq_size,
		.comp_vector = ipoib_ud_vector(priv, 1 + n),
	};
	struct ipoib_txq *txq = &priv->txq[n];
	unsigned int i;
	int err;

	netif_napi_add(priv->netdev, &txq->napi, ipoib_ud_tx_poll);
	txq->batch = kvzalloc(sizeof(*txq->batch), GFP_KERNEL);
	if (!txq->batch)
		return -ENOMEM;
	for (i = 0; i < IPOIB_TX_BATCH; i++)
		txq->batch->wr[i].wr.sg_list = txq->batch->sge[i];
	err = ipoib_ring_init(&txq->ring, priv->pd, priv->sendq_size,
			      priv->ca->attrs.max_send_sge, IPOIB_TX_COPY);
	if (err)
		return err;
	txq->cq = ib_create_cq(priv->ca, ipoib_ud_tx_event, NULL, &txq->napi, &attr);
	return PTR_ERR_OR_ZERO(txq->cq);
}

/* Free the queues, also half of them, without their QPs. */
static void ipoib_ud_queues_exit(struct ipoib_dev *priv)
{
	unsigned int i;

	if (priv->rxq)
		ipoib_ud_rx_exit(priv->rxq);
	priv->rxq = NULL;
	for (i = 0; priv->txq && i < max(priv->ntxq_made, 1u); i++)
		ipoib_ud_txq_exit(&priv->txq[i]);
	kvfree(priv->txq);
	priv->txq = NULL;
}

/* A ring has room for nearly four of the longest frames. */
static unsigned int ipoib_ud_max_segs(unsigned int sends)
{
	return min_t(unsigned int, sends / 4 + 1, IPOIB_TX_BATCH);
}

/* Allocate the array of all possible queues; ipoib_ud_queues_exit() frees it. RTNL held. */
static int ipoib_ud_txqs_alloc(struct ipoib_dev *priv)
{
	unsigned int n = ipoib_ud_max_txqs(priv), i;

	priv->txq = kvcalloc(n, sizeof(*priv->txq), GFP_KERNEL);
	if (!priv->txq)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		ipoib_ud_txq_clear(priv, i);
	return 0;
}

static int ipoib_ud_queues_init(struct ipoib_dev *priv)
{
	int err;

	err = ipoib_ud_txqs_alloc(priv);
	if (!err)
		err = ipoib_ud_txq_init(priv, 0);
	if (!err)
		err = ipoib_ud_rx_init(priv);
	if (!err)
		err = ipoib_ud_create_qp(priv->txq, ipoib_ud_qp_flags(priv));
	if (err) {
		ipoib_ud_queues_exit(priv);
		return err;
	}
	priv->qpn = priv->txq->qp->qp_num;
	priv->txq->hca_cuts = !priv->rn && ipoib_ud_hca_cuts(priv);
	/* A sum needs the address of each page. */
	if (!priv->rn && !IS_ENABLED(CONFIG_HIGHMEM) &&
	    priv->txq->ring.max_sge >= IPOIB_TSO_SGE_MIN)
		priv->txq->max_segs = ipoib_ud_max_segs(priv->sendq_size);
	priv->ntxq_made = 1;
	priv->ntxq = 1;
	return 0;
}

/*
 * Limits that an HCA reports need not hold for these queues: the size of a work request matters,
 * which only its driver knows. Halve the sizes until they fit.
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

/* The net device of hfi1 receives by a QP over verbs, others by their own. */
static bool ipoib_ud_needs_qp(const struct ipoib_dev *priv)
{
	return !priv->rn || priv->ca->attrs.kernel_cap_flags & IBK_RDMA_NETDEV_OPA;
}

/*
 * Create QP, CQs and rings. The QP lives as long as the interface, and so does the QPN in the
 * link-layer address (U46), also if it is the QPN of the HCA's net device.
 * Context: RTNL held, before the registration; may sleep.
 * Return: 0, or a negative error with nothing allocated.
 */
int ipoib_ud_init(struct ipoib_dev *priv)
{
	int err;

	priv->vector = atomic_fetch_inc(&ipoib_ud_vectors) & INT_MAX;
	priv->moderation.adaptive = true;
	priv->pd = ib_alloc_pd(priv->ca, 0);
	if (IS_ERR(priv->pd))
		return PTR_ERR(priv->pd);
	err = ipoib_ud_needs_qp(priv) ? ipoib_ud_queues_fit(priv) : ipoib_ud_txqs_alloc(priv);
	if (err)
		ib_dealloc_pd(priv->pd);
	return err;
}

/* Free the slots of a QP that holds nothing any more. */
static void ipoib_ud_txq_release(struct ipoib_txq *txq)
{
	txq->unsignalled = 0;
	txq->on = false;
	ipoib_ring_flush(&txq->ring);
}

/* Undo ipoib_ud_init(). Context: interface down, without paths and groups; may sleep. */
void ipoib_ud_exit(struct ipoib_dev *priv)
{
	unsigned int i;

	cancel_delayed_work_sync(&priv->ah.work);
	synchronize_net();
	/* A QP that could not be emptied may use handles and buffers until here. */
	for (i = 0; i < priv->ntxq_made; i++)
		WARN_ON_ONCE(ib_destroy_qp(priv->txq[i].qp));
	ipoib_ah_free_all(priv);
	for (i = 0; i < priv->ntxq_made; i++)
		ipoib_ud_txq_release(&priv->txq[i]);
	if (ipoib_has_qp(priv) && priv->rxq->pool)
		ipoib_ud_rx_stop(priv->rxq);
	ipoib_ud_queues_exit(priv);
	ib_dealloc_pd(priv->pd);
}

/* Unsignalled sends at the end may have no completion. */
static bool ipoib_ud_tx_drain(struct ipoib_txq *txq)
{
	struct ipoib_tx_done done = {};
	int i, n;

	while ((n = ib_poll_cq(txq->cq, IPOIB_POLL_WC, txq->wc)) > 0)
		for (i = 0; i < n; i++)
			ipoib_ring_complete(&txq->ring, txq->wc[i].wr_id, 0, &done);
	return ipoib_ring_passed(&txq->ring, txq->signalled);
}

static bool ipoib_ud_drain(struct ipoib_dev *priv, unsigned int first)
{
	bool drained = first || !priv->rxq->pool || ipoib_ud_rx_drain(priv->rxq);
	unsigned int i;

	for (i = first; i < priv->ntxq_made; i++)
		drained &= !priv->txq[i].on || ipoib_ud_tx_drain(&priv->txq[i]);
	return drained;
}

/* True if a QP has not returned all work requests. */
static bool ipoib_ud_is_posted(const struct ipoib_dev *priv)
{
	unsigned int i;

	for (i = 0; i < priv->ntxq_made; i++)
		if (priv->txq[i].on)
			return true;
	return false;
}

/*
 * Have QPs return all work requests, from the queue @first on, and move them to RESET. The receives
 * are those of the first queue.
 *
 * The HCA returns all work requests in the error state. RESET alone would be enough by IBTA 10.3.1,
 * but rdmavt keeps the receive queue across it. A QP that cannot be moved to RESET may still write
 * to its buffers: they stay, with the page pool, until it can, or is destroyed.
 */
static int ipoib_ud_empty(struct ipoib_dev *priv, unsigned int first)
{
	struct ipoib_txq *txq;
	unsigned int i;
	bool drained;
	int err = 0;
	int moved;

	for (i = first; i < priv->ntxq_made; i++)
		if (priv->txq[i].on)
			ipoib_ud_move(&priv->txq[i], IB_QPS_ERR);
	/* An HCA that has failed flushes nothing any more. */
	read_poll_timeout(ipoib_ud_drain, drained,
			  drained || test_bit(IPOIB_FLAG_DEAD, &priv->flags),
			  100, IPOIB_DRAIN_TIME, false, priv, first);
	for (i = first; i < priv->ntxq_made; i++) {
		txq = &priv->txq[i];
		if (!txq->on)
			continue;
		if (!drained)
			netdev_warn(priv->netdev, "timing out; %u sends not completed\n",
				    ipoib_ring_used(&txq->ring));
		moved = ipoib_ud_move(txq, IB_QPS_RESET);
		err = err ?: moved;
		if (moved)
			continue;
		/* Completions since the last poll do not belong to the next run of the QP. */
		ipoib_ud_tx_drain(txq);
		ipoib_ud_txq_release(txq);
		if (i)
			continue;
		ipoib_ud_rx_drain(priv->rxq);
		ipoib_ud_rx_stop(priv->rxq);
	}
	queue_delayed_work(system_unbound_wq, &priv->ah.work, 0);
	return err;
}

static int ipoib_ud_txq_to_init(struct ipoib_txq *txq)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = txq->priv->pkey_index,
		.port_num = txq->priv->port,
		/* It may have changed, see ipoib_ud_set_qkey(). */
		.qkey = READ_ONCE(txq->priv->qkey),
	};
	int err;

	err = ib_modify_qp(txq->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_QKEY);
	txq->on = !err;
	return err;
}

static int ipoib_ud_txq_to_rts(struct ipoib_txq *txq)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int err;

	err = ib_modify_qp(txq->qp, &attr, IB_QP_STATE);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(txq->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static void ipoib_ud_txq_enable(struct ipoib_txq *txq)
{
	netdev_tx_reset_queue(txq->nq);
	napi_enable(&txq->napi);
	ib_req_notify_cq(txq->cq, IB_CQ_NEXT_COMP);
	if (!txq->priv->rn)
		ipoib_queue_set_napi(txq->priv->netdev, txq - txq->priv->txq, TX, &txq->napi);
}

static void ipoib_ud_txq_disable(struct ipoib_txq *txq)
{
	if (!txq->priv->rn)
		ipoib_queue_set_napi(txq->priv->netdev, txq - txq->priv->txq, TX, NULL);
	napi_disable(&txq->napi);
}

/* Bring the QPs of queues from @first to before @end to RTS; all receives are posted. */
static int ipoib_ud_start_queues(struct ipoib_dev *priv, unsigned int first, unsigned int end)
{
	unsigned int i;
	int err = 0;

	/* Some could not be emptied when they were stopped. */
	for (i = first; i < end && !err; i++)
		if (priv->txq[i].on)
			err = ipoib_ud_empty(priv, first);
	if (err)
		return err;
	for (i = first; i < end && !err; i++)
		err = ipoib_ud_txq_to_init(&priv->txq[i]);
	if (!err && !first)
		err = ipoib_ud_rx_start(priv->rxq);
	for (i = first; i < end && !err; i++)
		err = ipoib_ud_txq_to_rts(&priv->txq[i]);
	if (err) {
		if (!first && priv->rxq->pool)
			napi_disable(&priv->rxq->napi);
		ipoib_ud_empty(priv, first);
		return err;
	}
	for (i = first; i < end; i++)
		ipoib_ud_txq_enable(&priv->txq[i]);
	return 0;
}

/* ipoib_ud_init() has created everything before the registration. */
static int ipoib_ud_dev_init(struct net_device *dev)
{
	return 0;
}

/* ipoib_ud_exit() comes later: path queries may still use it. */
static void ipoib_ud_dev_uninit(struct net_device *dev)
{
}

/* Bring the QPs to RTS with all receives posted. */
static int ipoib_ud_open(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err = ipoib_ud_start_queues(priv, 0, priv->ntxq);

	if (!err)
		ipoib_queue_set_napi(dev, 0, RX, &priv->rxq->napi);
	return err;
}

/* Reset the QPs and free their frames. */
static int ipoib_ud_close(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	unsigned int i;

	ipoib_queue_set_napi(dev, 0, RX, NULL);
	for (i = 0; i < priv->ntxq; i++)
		ipoib_ud_txq_disable(&priv->txq[i]);
	napi_disable(&priv->rxq->napi);
	/*
	 * Takes each transmit lock: no sender is left behind it. A late completion may have
	 * woken the queue.
	 */
	netif_tx_disable(dev);
	ipoib_ud_empty(priv, 0);
	return 0;
}

/* Transport over verbs. The net device of an HCA may call any of these. */
const struct net_device_ops ipoib_ud_netdev_ops = {
	.ndo_init = ipoib_ud_dev_init,
	.ndo_uninit = ipoib_ud_dev_uninit,
	.ndo_open = ipoib_ud_open,
	.ndo_stop = ipoib_ud_close,
};

/*
 * Start the transport: QPs to RTS, with all receives posted.
 * Context: RTNL held; P_Key index, port and Q_Key are set. Return: 0, or a negative error with the
 * QPs in RESET.
 */
int ipoib_ud_start(struct ipoib_dev *priv)
{
	int err;

	if (priv->rn)
		priv->rn->set_id(priv->netdev, priv->pkey_index);
	err = priv->rn_ops->ndo_open(priv->netdev);
	if (!err)
		set_bit(IPOIB_FLAG_QP, &priv->flags);
	return err;
}

/*
 * Stop the transport: transmit queues off, QPs to RESET, frames freed.
 * Context: RTNL held, transport started or ipoib_ud_restart() failed; may sleep.
 */
void ipoib_ud_stop(struct ipoib_dev *priv)
{
	if (!test_and_clear_bit(IPOIB_FLAG_QP, &priv->flags))
		return;
	/* ipoib_rn_xmit() sends no frame after this. */
	if (priv->rn)
		netif_tx_disable(priv->netdev);
	priv->rn_ops->ndo_stop(priv->netdev);
}

/*
 * Reset the QPs of all queues, or the net device of the HCA, and start them again. Frames in their
 * rings are lost; QPNs and attachments to groups stay.
 * Context: RTNL held, IPOIB_FLAG_UP set; may sleep. Return: 0, or a negative error with QPs and
 * transmit queues stopped.
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

static void ipoib_ud_txq_size(struct ipoib_txq *txq, unsigned int sends)
{
	txq->ring.mask = sends - 1;
	if (ipoib_ud_cuts(txq))
		txq->max_segs = ipoib_ud_max_segs(sends);
}

/**
 * ipoib_ud_resize - use more or less of the queues of the QP
 * @priv: the interface
 * @sends: slots for sends, a power of 2, at most &ipoib_dev.sendq_size
 * @receives: receives to post, at most &ipoib_dev.recvq_size
 *
 * The QP stays, as its number is part of the address. A running QP is restarted, see
 * ipoib_ud_restart().
 *
 * Context: RTNL held; may sleep
 * Return: 0, or -EBUSY with nothing changed if the HCA does not return all work requests
 */
int ipoib_ud_resize(struct ipoib_dev *priv, unsigned int sends, unsigned int receives)
{
	bool on = test_bit(IPOIB_FLAG_QP, &priv->flags);
	struct ipoib_rxq *rxq = priv->rxq;
	int err = -EBUSY;
	unsigned int i;

	ASSERT_RTNL();
	ipoib_ud_stop(priv);
	if (!ipoib_ud_is_posted(priv)) {
		for (i = 0; i < priv->ntxq_made; i++)
			ipoib_ud_txq_size(&priv->txq[i], sends);
		rxq->size = receives;
		WRITE_ONCE(rxq->moder.most, receives / 4);
		/* The moderation must not exceed the posted receives. */
		ipoib_moder_update(&rxq->moder);
		err = 0;
	}
	if (on && ipoib_ud_restart(priv))
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
	return err;
}

/* Create a stopped queue, as long as the others, whose frames it takes over. */
static int ipoib_ud_txq_make(struct ipoib_dev *priv)
{
	const struct ipoib_txq *first = priv->txq;
	unsigned int n = priv->ntxq_made;
	struct ipoib_txq *txq = &priv->txq[n];
	int err;

	err = ipoib_ud_txq_init(priv, n);
	if (!err)
		err = ipoib_ud_create_qp(txq, first->qp_flags & ~IB_QP_CREATE_NETIF_QP);
	if (!err && (first->qp_flags & ~txq->qp_flags & IB_QP_CREATE_IPOIB_UD_LSO)) {
		ib_destroy_qp(txq->qp);
		err = -EOPNOTSUPP;
	}
	if (err) {
		ipoib_ud_txq_exit(txq);
		return err;
	}
	txq->max_segs = first->max_segs;
	txq->hca_cuts = first->hca_cuts;
	txq->ring.mask = first->ring.mask;
	/* ipoib_ah_reap() must find it complete. */
	smp_store_release(&priv->ntxq_made, n + 1);
	return 0;
}

/* Stop queues that are not in use any more, from @first to before @end. */
static void ipoib_ud_stop_queues(struct ipoib_dev *priv, unsigned int first, unsigned int end)
{
	struct ipoib_txq *txq;
	unsigned int i;

	/* Senders have chosen another queue after this. */
	synchronize_net();
	for (i = first; i < end; i++) {
		txq = &priv->txq[i];
		ipoib_ud_txq_disable(txq);
		/* ipoib_ud_send_end() drops after this. The watchdog checks all queues. */
		__netif_tx_lock_bh(txq->nq);
		netif_tx_start_queue(txq->nq);
		__netif_tx_unlock_bh(txq->nq);
	}
	ipoib_ud_empty(priv, first);
}

/*
 * Assign queues to CPUs, as far as there are enough of both. Without memory for that the stack
 * chooses by the hash of a flow.
 */
static void ipoib_ud_set_xps(struct ipoib_dev *priv, unsigned int n)
{
	unsigned int shares = min(n, num_online_cpus());
	unsigned int queue, i, cpu;
	cpumask_var_t cpus;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return;
	for (queue = 0; queue < n; queue++) {
		cpumask_clear(cpus);
		i = 0;
		for_each_online_cpu(cpu)
			if (i++ % shares == queue % shares)
				cpumask_set_cpu(cpu, cpus);
		netif_set_xps_queue(priv->netdev, cpus, queue);
	}
	free_cpumask_var(cpus);
}

/*
 * Change the number of transmit queues, 1 to ipoib_ud_max_txqs(). Queues that stay lose nothing;
 * receives and address belong to the first. A queue exists until the interface goes once it was
 * created.
 * Context: RTNL held, interface registered, as XPS is set up; may sleep. Return: 0, or a negative
 * error with as many in use as before.
 */
int ipoib_ud_set_queues(struct ipoib_dev *priv, unsigned int n)
{
	bool on = test_bit(IPOIB_FLAG_QP, &priv->flags);
	unsigned int was = priv->ntxq;
	u32 qkey = READ_ONCE(priv->qkey);
	int err = 0;

	ASSERT_RTNL();
	if (priv->rn)
		return netif_set_real_num_tx_queues(priv->netdev, n);
	while (priv->ntxq_made < n && !err)
		err = ipoib_ud_txq_make(priv);
	if (!err && n > was && on)
		err = ipoib_ud_start_queues(priv, was, n);
	if (err)
		return err;
	/* Write the number, then read the Q_Key: pairs with ipoib_ud_set_qkey(). */
	smp_store_mb(priv->ntxq, n);
	/* A change of the Q_Key has missed queues that were being started. */
	if (READ_ONCE(priv->qkey) != qkey)
		ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
	err = netif_set_real_num_tx_queues(priv->netdev, n);
	if (err)
		WRITE_ONCE(priv->ntxq, was);
	if (on && priv->ntxq < max(n, was))
		ipoib_ud_stop_queues(priv, priv->ntxq, max(n, was));
	if (!err)
		ipoib_ud_set_xps(priv, n);
	return err;
}
