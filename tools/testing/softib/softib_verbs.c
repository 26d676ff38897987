// SPDX-License-Identifier: GPL-2.0
/*
 * Behaviour of HCAs that rdmavt lacks: refused verbs, flags of QPs, checksums of datagrams, and
 * failures of shared receive queues and of a whole HCA.
 *
 * rdmavt does not export its verbs. ib_core calls ops.enable_driver after rdmavt has set them and
 * before the first client sees the HCA: softib_enable_driver() saves them, and replaces them by
 * the functions of this file.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>

#include "softib.h"

/* Encapsulation header of IPoIB, before the packet */
#define SOFTIB_ENCAP_LEN	4
/* Octets of a work request without its scatter-gather list, as with mlx5 */
#define SOFTIB_WQE_HEAD		64

/* rdmavt's verbs, the same for all HCAs */
static struct ib_device_ops softib_rvt;

static struct softib_srq *ib_to_softib_srq(struct ib_srq *srq)
{
	return container_of(srq, struct softib_srq, rvt.ibsrq);
}

static bool softib_is_dead(struct ib_device *ibdev)
{
	return unlikely(READ_ONCE(ib_to_softib(ibdev)->fatal));
}

/* ---- queue pairs ---- */

/* Flags of IB_QP_CREATE_ that the HCA supports */
static u32 softib_flags_known(const struct softib_dev *dev)
{
	u32 known = IB_QP_CREATE_NETDEV_USE;

	if (dev->csum == SOFTIB_CSUM_LSO_QP || dev->csum == SOFTIB_CSUM_ANY_QP)
		known |= IB_QP_CREATE_IPOIB_UD_LSO;
	if (dev->node->model->mc_block)
		known |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if (dev->rdi.dparms.props.device_cap_flags &
	    IB_DEVICE_MANAGED_FLOW_STEERING)
		known |= IB_QP_CREATE_NETIF_QP;
	return known;
}

/* The size of a send queue is a power of two. */
static bool softib_sq_too_large(const struct softib_node *node,
				const struct ib_qp_cap *cap)
{
	u32 wqe = ALIGN(SOFTIB_WQE_HEAD + 16 * cap->max_send_sge, 64);
	u32 limit = READ_ONCE(node->sq_bytes);

	return limit && cap->max_send_wr &&
	       roundup_pow_of_two((u64)cap->max_send_wr * wqe) > limit;
}

static int softib_check_qp(struct softib_dev *dev,
			   const struct ib_qp_init_attr *attr)
{
	struct softib_node *node = dev->node;
	int err = READ_ONCE(node->refuse_error);

	/* Exempt the QPs of ib_mad, without which the HCA is useless. */
	if (attr->qp_type == IB_QPT_SMI || attr->qp_type == IB_QPT_GSI)
		return 0;
	if (READ_ONCE(dev->fatal))
		return -EIO;
	if (attr->qp_type == IB_QPT_UC && READ_ONCE(node->no_uc))
		return -EOPNOTSUPP;
	if (attr->create_flags & ~softib_flags_known(dev))
		return -EOPNOTSUPP;
	if (attr->create_flags & READ_ONCE(node->refuse_flags))
		return err ? -err : -EOPNOTSUPP;
	if (softib_sq_too_large(node, &attr->cap))
		return err ? -err : -ENOMEM;
	return 0;
}

/* Checksum and segmentation offload apply to the datagrams of this QP. */
static bool softib_csum_on(const struct rvt_qp *qp)
{
	if (qp->allowed_ops != IB_OPCODE_UD || qp->ibqp.qp_num <= 1)
		return false;
	switch (qp_to_softib(qp)->csum) {
	case SOFTIB_CSUM_LSO_QP:
		return qp_to_softib_qp(qp)->create_flags &
		       IB_QP_CREATE_IPOIB_UD_LSO;
	case SOFTIB_CSUM_ANY_QP:
		return true;
	default:
		return false;
	}
}

static bool softib_csum_is_free(const struct rvt_qp *qp)
{
	return READ_ONCE(qp_to_softib(qp)->node->csum_free);
}

static void softib_last_wqe_work(struct work_struct *work)
{
	struct softib_qp *priv = container_of(to_delayed_work(work),
					      struct softib_qp, last_wqe);
	struct ib_qp *ibqp = &priv->qp->ibqp;
	struct ib_event event = {
		.device = ibqp->device,
		.event = IB_EVENT_QP_LAST_WQE_REACHED,
		.element.qp = ibqp,
	};
	struct ib_wc wc = {
		.wr_id = priv->held_wr_id,
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
		.qp = ibqp,
	};

	if (priv->held)
		rvt_cq_enter(ibcq_to_rvtcq(ibqp->recv_cq), &wc, true);
	priv->event_handler(&event, ibqp->qp_context);
}

static void softib_qp_event(struct ib_event *event, void *context)
{
	struct softib_qp *priv;
	u32 ms;

	priv = qp_to_softib_qp(ibqp_to_rvtqp(event->element.qp));
	if (event->event != IB_EVENT_QP_LAST_WQE_REACHED || !priv->last_lost) {
		ms = qp_to_softib(priv->qp)->node->last_wqe_ms;
		if (event->event == IB_EVENT_QP_LAST_WQE_REACHED && ms)
			queue_delayed_work(softib_fabric->wq, &priv->last_wqe,
					   msecs_to_jiffies(ms));
		else
			priv->event_handler(event, context);
	}
}

/*
 * A QP with a shared receive queue enters the error state. If IB_EVENT_QP_LAST_WQE_REACHED is to be
 * delayed or lost, the receive of a message in progress is held back until the event.
 *
 * Context: r_lock and s_lock held.
 */
void softib_qp_hold(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp_to_softib_qp(qp);
	struct softib_dev *dev = qp_to_softib(qp);

	if (!qp->ibqp.srq)
		return;
	priv->last_lost = dev->fatal ||
			  softib_fault_hit(&dev->node->lose_last_wqe);
	if (!priv->last_lost && !READ_ONCE(dev->node->last_wqe_ms))
		return;
	priv->held = test_and_clear_bit(RVT_R_WRID_VALID, &qp->r_aflags);
	priv->held_wr_id = qp->r_wr_id;
}

static int softib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			    struct ib_udata *udata)
{
	struct softib_dev *dev = ib_to_softib(ibqp->device);
	u32 flags = attr->create_flags;
	struct softib_qp *priv;
	int ret;

	msleep(READ_ONCE(dev->node->make_qp_ms));
	ret = softib_check_qp(dev, attr);
	if (ret)
		return ret;
	attr->create_flags &= IB_QP_CREATE_NETDEV_USE;
	ret = softib_rvt.create_qp(ibqp, attr, udata);
	attr->create_flags = flags;
	if (ret)
		return ret;
	priv = qp_to_softib_qp(ibqp_to_rvtqp(ibqp));
	priv->create_flags = flags;
	INIT_DELAYED_WORK(&priv->last_wqe, softib_last_wqe_work);
	priv->event_handler = ibqp->event_handler;
	if (priv->event_handler)
		ibqp->event_handler = softib_qp_event;
	if (!softib_csum_on(ibqp_to_rvtqp(ibqp)))
		return 0;
	ret = softib_lso_alloc(ibqp_to_rvtqp(ibqp));
	if (ret)
		softib_rvt.destroy_qp(ibqp, udata);
	return ret;
}

/* The HCA removes the completions of the QP from its CQs. */
static void softib_qp_purge(struct ib_qp *ibqp)
{
	if (!ib_to_softib(ibqp->device)->node->model->purge)
		return;
	if (ibqp->send_cq)
		softib_cq_purge(ibqp->send_cq, ibqp);
	if (ibqp->recv_cq)
		softib_cq_purge(ibqp->recv_cq, ibqp);
}

static void softib_qp_quiet(struct ib_qp *ibqp)
{
	if (ibqp->send_cq)
		softib_cq_quiet(ibqp->send_cq);
	if (ibqp->recv_cq)
		softib_cq_quiet(ibqp->recv_cq);
}

/* fail_modify applies to this call. */
static bool softib_modify_fails(struct softib_node *node, const struct ib_qp *ibqp,
				const struct ib_qp_attr *attr, int mask)
{
	u32 states = READ_ONCE(node->modify_states);
	u32 to = mask & IB_QP_STATE ? attr->qp_state : IB_QPS_ERR + 1;

	if (ibqp->qp_type == IB_QPT_SMI || ibqp->qp_type == IB_QPT_GSI)
		return false;
	return (!states || states & BIT(to)) && softib_fault_hit(&node->fail_modify);
}

static int softib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			    int mask, struct ib_udata *udata)
{
	struct softib_node *node = ib_to_softib(ibqp->device)->node;
	struct rvt_qp *qp = ibqp_to_rvtqp(ibqp);
	u32 times = READ_ONCE(node->ack_times);
	int err = READ_ONCE(node->refuse_error);
	int ret;

	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE))
		return -EOPNOTSUPP;
	/* Transitions to ERR and RESET succeed on a failed HCA. */
	if (softib_is_dead(ibqp->device) &&
	    !(mask & IB_QP_STATE && (attr->qp_state == IB_QPS_ERR ||
				     attr->qp_state == IB_QPS_RESET)))
		return -EIO;
	if (softib_modify_fails(node, ibqp, attr, mask))
		return err ? -err : -ENOMEM;
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_ERR)
		softib_qp_quiet(ibqp);
	ret = softib_rvt.modify_qp(ibqp, attr, mask, udata);
	if (!ret && mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		softib_qp_purge(ibqp);
	if (!ret && mask & IB_QP_TIMEOUT && times)
		qp->timeout_jiffies *= times;
	return ret;
}

static int softib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_qp_init_attr *init)
{
	if (softib_is_dead(ibqp->device))
		return -EIO;
	return softib_rvt.query_qp(ibqp, attr, mask, init);
}

/*
 * rdmavt never frees the numbers of QP 0 and QP 1. The MAD layer creates these QPs again when the
 * HCA moves to another network namespace.
 */
static void softib_qpn_free(struct rvt_qp *qp)
{
	struct rvt_qpn_table *table;

	if (qp->ibqp.qp_type != IB_QPT_SMI && qp->ibqp.qp_type != IB_QPT_GSI)
		return;
	table = &ib_to_rvt(qp->ibqp.device)->qp_dev->qpn_table;
	spin_lock(&table->lock);
	table->flags &= ~BIT((qp->ibqp.qp_type == IB_QPT_GSI) + 2 * (qp->port_num - 1));
	spin_unlock(&table->lock);
}

static int softib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct softib_qp *priv = qp_to_softib_qp(ibqp_to_rvtqp(ibqp));

	struct softib_dev *dev = ib_to_softib(ibqp->device);
	struct ib_cq *send_cq = ibqp->send_cq, *recv_cq = ibqp->recv_cq;
	int ret;

	cancel_delayed_work_sync(&priv->last_wqe);
	ret = softib_rvt.destroy_qp(ibqp, udata);
	if (ret)
		return ret;
	softib_qpn_free(ibqp_to_rvtqp(ibqp));
	if (!dev->node->model->purge)
		return 0;
	if (send_cq)
		softib_cq_purge(send_cq, ibqp);
	if (recv_cq)
		softib_cq_purge(recv_cq, ibqp);
	return 0;
}

/* ---- device addresses ---- */

/*
 * Replace SOFTIB_LKEY by 0, the only lkey for all memory that rdmavt supports. Work requests are
 * const, so callers copy each of them.
 */
static void softib_sges_take(struct softib_dev *dev, struct ib_sge *to,
			     const struct ib_sge *from, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		to[i] = from[i];
		if (from[i].lkey != SOFTIB_LKEY)
			continue;
		to[i].lkey = 0;
		if (from[i].length)
			softib_dma_check(dev->node, from[i].addr, from[i].length);
	}
}

static size_t softib_wr_size(const struct ib_qp *ibqp,
			     const struct ib_send_wr *wr)
{
	if (ibqp->qp_type != IB_QPT_RC && ibqp->qp_type != IB_QPT_UC)
		return sizeof(struct ib_ud_wr);
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		return sizeof(struct ib_rdma_wr);
	default:
		return sizeof(struct ib_send_wr);
	}
}

static int softib_dma_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
				const struct ib_send_wr **bad)
{
	struct softib_dev *dev = ib_to_softib(ibqp->device);
	struct ib_sge sge[SOFTIB_MAX_SGE];
	const struct ib_send_wr *unused;
	union {
		struct ib_send_wr wr;
		struct ib_ud_wr ud;
		struct ib_rdma_wr rdma;
	} copy;
	int ret = 0;

	for (; wr && !ret; wr = wr->next) {
		if (wr->num_sge > SOFTIB_MAX_SGE) {
			ret = -EINVAL;
			break;
		}
		memcpy(&copy, wr, softib_wr_size(ibqp, wr));
		softib_sges_take(dev, sge, wr->sg_list, wr->num_sge);
		copy.wr.sg_list = sge;
		copy.wr.next = NULL;
		ret = softib_rvt.post_send(ibqp, &copy.wr, &unused);
		if (ret)
			break;
	}
	if (ret)
		*bad = wr;
	return ret;
}

/* @post: function that posts to @queue, a QP or an SRQ */
static int softib_dma_post_recv(struct softib_dev *dev, void *queue,
				const struct ib_recv_wr *wr,
				const struct ib_recv_wr **bad,
				int (*post)(void *queue,
					    const struct ib_recv_wr *wr))
{
	struct ib_sge sge[SOFTIB_MAX_SGE];
	struct ib_recv_wr copy;
	int ret;

	for (; wr; wr = wr->next) {
		ret = -EINVAL;
		if (wr->num_sge <= SOFTIB_MAX_SGE) {
			copy = *wr;
			softib_sges_take(dev, sge, wr->sg_list, wr->num_sge);
			copy.sg_list = sge;
			copy.next = NULL;
			ret = post(queue, &copy);
		}
		if (ret) {
			*bad = wr;
			return ret;
		}
	}
	return 0;
}

static int softib_rvt_post_recv(void *queue, const struct ib_recv_wr *wr)
{
	const struct ib_recv_wr *bad;

	return softib_rvt.post_recv(queue, wr, &bad);
}

static int softib_rvt_post_srq_recv(void *queue, const struct ib_recv_wr *wr)
{
	const struct ib_recv_wr *bad;

	return softib_rvt.post_srq_recv(queue, wr, &bad);
}

static struct ib_mr *softib_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct ib_mr *mr = softib_rvt.get_dma_mr(ibpd, access);

	if (!IS_ERR(mr) && ib_to_softib(ibpd->device)->node->model->dma)
		mr->lkey = SOFTIB_LKEY;
	return mr;
}

/* SMPs are exempt: the knob fails users of QP 1, not the subnet. */
static bool softib_post_fails(struct ib_qp *ibqp)
{
	struct softib_node *node = ib_to_softib(ibqp->device)->node;
	enum softib_class class = SOFTIB_CLASS_RC;

	if (ibqp->uobject || ibqp->qp_type == IB_QPT_SMI)
		return false;
	if (ibqp->qp_type == IB_QPT_GSI)
		class = SOFTIB_CLASS_MAD;
	else if (ibqp->qp_type == IB_QPT_UD)
		class = SOFTIB_CLASS_UD;
	return softib_fault_hit(&node->fail_post[class]);
}

static int softib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad)
{
	if (softib_is_dead(ibqp->device)) {
		*bad = wr;
		return -EIO;
	}
	if (!ibqp->uobject && ibqp_to_rvtqp(ibqp)->state == IB_QPS_ERR &&
	    softib_fault_hit(&ib_to_softib(ibqp->device)->node->fail_error_send)) {
		*bad = wr;
		return -EINVAL;
	}
	if (unlikely(softib_post_fails(ibqp))) {
		*bad = wr;
		return -ENOMEM;
	}
	if (!ibqp->uobject)
		atomic_inc(&ib_to_softib(ibqp->device)->doorbells);
	if (ib_to_softib(ibqp->device)->node->model->dma && !ibqp->uobject)
		return softib_dma_post_send(ibqp, wr, bad);
	return softib_rvt.post_send(ibqp, wr, bad);
}

static int softib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad)
{
	if (softib_is_dead(ibqp->device)) {
		*bad = wr;
		return -EIO;
	}
	if (!ibqp->uobject && ibqp->qp_type == IB_QPT_UD &&
	    softib_fault_hit(&ib_to_softib(ibqp->device)->node->fail_post_recv)) {
		*bad = wr;
		return -ENOMEM;
	}
	if (ib_to_softib(ibqp->device)->node->model->dma && !ibqp->uobject)
		return softib_dma_post_recv(ib_to_softib(ibqp->device), ibqp, wr,
					    bad, softib_rvt_post_recv);
	return softib_rvt.post_recv(ibqp, wr, bad);
}

/* ---- multicast ---- */

static int softib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct softib_dev *dev = ib_to_softib(ibqp->device);

	if (READ_ONCE(dev->fatal))
		return -EIO;
	if (softib_fault_hit(&dev->node->fail_attach))
		return -ENOMEM;
	return softib_rvt.attach_mcast(ibqp, gid, lid);
}

static int softib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct softib_node *node = ib_to_softib(ibqp->device)->node;

	if (softib_fault_hit(&node->fail_detach))
		return -ENOMEM;
	return softib_rvt.detach_mcast(ibqp, gid, lid);
}

/* ---- completion queues ---- */

static int softib_create_cq(struct ib_cq *ibcq,
			    const struct ib_cq_init_attr *attr,
			    softib_cq_udata *udata)
{
	struct softib_dev *dev = ib_to_softib(ibcq->device);
	int ret;

	if (READ_ONCE(dev->fatal))
		return -EIO;
	ret = softib_rvt.create_cq(ibcq, attr, udata);
	if (!ret)
		softib_cq_init(ibcq, udata ? -1 : (int)attr->comp_vector);
	return ret;
}

static int softib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	softib_cq_exit(ibcq);
	return softib_rvt.destroy_cq(ibcq, udata);
}

static int softib_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	return softib_cq_poll(ibcq, num, wc, softib_rvt.poll_cq);
}

static int softib_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	return softib_cq_notify(ibcq, flags, softib_rvt.req_notify_cq);
}

/* ---- shared receive queues ---- */

static int softib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
			     struct ib_udata *udata)
{
	struct softib_dev *dev = ib_to_softib(ibsrq->device);
	struct softib_srq *srq = ib_to_softib_srq(ibsrq);
	int ret;

	if (READ_ONCE(dev->fatal))
		return -EIO;
	if (softib_fault_hit(&dev->node->fail_srq))
		return -ENOMEM;
	ret = softib_rvt.create_srq(ibsrq, attr, udata);
	if (ret)
		return ret;
	mutex_lock(&dev->srq_mutex);
	list_add_tail(&srq->list, &dev->srqs);
	mutex_unlock(&dev->srq_mutex);
	return 0;
}

static int softib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct softib_dev *dev = ib_to_softib(ibsrq->device);
	struct softib_srq *srq = ib_to_softib_srq(ibsrq);

	mutex_lock(&dev->srq_mutex);
	list_del(&srq->list);
	mutex_unlock(&dev->srq_mutex);
	return softib_rvt.destroy_srq(ibsrq, udata);
}

/* A failed SRQ accepts receives, and never uses them. */
static int softib_post_srq_recv(struct ib_srq *ibsrq,
				const struct ib_recv_wr *wr,
				const struct ib_recv_wr **bad)
{
	if (softib_is_dead(ibsrq->device)) {
		*bad = wr;
		return -EIO;
	}
	if (READ_ONCE(ib_to_softib_srq(ibsrq)->dead))
		return 0;
	if (ib_to_softib(ibsrq->device)->node->model->dma && !ibsrq->uobject)
		return softib_dma_post_recv(ib_to_softib(ibsrq->device), ibsrq,
					    wr, bad, softib_rvt_post_srq_recv);
	return softib_rvt.post_srq_recv(ibsrq, wr, bad);
}

static void softib_srq_die(struct softib_srq *srq)
{
	struct ib_srq *ibsrq = &srq->rvt.ibsrq;
	struct rvt_krwq *kwq = srq->rvt.rq.kwq;
	struct ib_event event = {
		.device = ibsrq->device,
		.event = IB_EVENT_SRQ_ERR,
		.element.srq = ibsrq,
	};
	unsigned long flags;

	if (srq->dead || srq->rvt.ip)
		return;
	WRITE_ONCE(srq->dead, true);
	spin_lock_irqsave(&kwq->c_lock, flags);
	kwq->tail = READ_ONCE(kwq->head);
	kwq->count = 0;
	spin_unlock_irqrestore(&kwq->c_lock, flags);
	if (ibsrq->event_handler)
		ibsrq->event_handler(&event, ibsrq->srq_context);
}

/* Fail all shared receive queues of kernel consumers. Context: sleeps. */
void softib_srqs_die(struct softib_dev *dev)
{
	struct softib_srq *srq;

	mutex_lock(&dev->srq_mutex);
	list_for_each_entry(srq, &dev->srqs, list)
		softib_srq_die(srq);
	mutex_unlock(&dev->srq_mutex);
}

/* ---- events of QPs ---- */

static void softib_qp_report(struct rvt_qp *qp, u64 event)
{
	struct ib_event report = {
		.device = qp->ibqp.device,
		.event = event,
		.element.qp = &qp->ibqp,
	};

	if (qp->ibqp.qp_type == IB_QPT_UD && !qp->ibqp.uobject && qp->ibqp.event_handler)
		qp->ibqp.event_handler(&report, qp->ibqp.qp_context);
}

/* Raise @event on the UD QPs of kernel consumers, without any other effect. Context: sleeps. */
void softib_qps_report(struct softib_dev *dev, enum ib_event_type event)
{
	rvt_qp_iter(&dev->rdi, event, softib_qp_report);
}

/* ---- the end of an HCA ---- */

static void softib_qp_die(struct rvt_qp *qp, u64 unused)
{
	spin_lock_irq(&qp->r_lock);
	spin_lock(&qp->s_hlock);
	spin_lock(&qp->s_lock);
	rvt_error_qp(qp, IB_WC_WR_FLUSH_ERR);
	spin_unlock(&qp->s_lock);
	spin_unlock(&qp->s_hlock);
	spin_unlock_irq(&qp->r_lock);
}

/*
 * Fail an HCA. It sends and receives no frames. Work requests of QPs are flushed; a shared receive
 * queue keeps its receives, and no QP raises IB_EVENT_QP_LAST_WQE_REACHED. Only destruction and
 * transitions to ERR and RESET still succeed.
 *
 * Context: the fabric's mutex held; sleeps.
 */
void softib_hca_die(struct softib_dev *dev)
{
	struct ib_event event = {
		.device = &dev->rdi.ibdev,
		.event = IB_EVENT_DEVICE_FATAL,
	};

	lockdep_assert_held(&softib_fabric->mutex);
	if (dev->fatal)
		return;
	WRITE_ONCE(dev->fatal, true);
	rvt_qp_iter(&dev->rdi, 0, softib_qp_die);
	ib_dispatch_event(&event);
}

/* ---- checksums ---- */

/* Set the attributes of checksum and segmentation offload. */
void softib_csum_caps(struct softib_dev *dev, struct ib_device_attr *props)
{
	dev->csum = READ_ONCE(dev->node->csum);
	if (dev->csum != SOFTIB_CSUM_NONE)
		props->device_cap_flags |= IB_DEVICE_UD_IP_CSUM;
	if (dev->csum == SOFTIB_CSUM_LSO_QP || dev->csum == SOFTIB_CSUM_ANY_QP)
		props->kernel_cap_flags |= IBK_UD_TSO;
}

/*
 * Find the checksum of a TCP segment or UDP datagram with a complete IPv4 header. Return: NULL for
 * any other packet.
 */
static __sum16 *softib_csum_find(u8 *frame, u32 len, struct iphdr **iph,
				 u32 *l4_len)
{
	struct iphdr *ip = (void *)(frame + SOFTIB_ENCAP_LEN);
	u32 head, total;
	void *l4;

	if (len < SOFTIB_ENCAP_LEN + sizeof(*ip) ||
	    get_unaligned_be16(frame) != ETH_P_IP || ip->version != 4)
		return NULL;
	head = ip->ihl * 4;
	total = ntohs(ip->tot_len);
	if (head < sizeof(*ip) || total > len - SOFTIB_ENCAP_LEN ||
	    ip->frag_off & htons(IP_MF | IP_OFFSET))
		return NULL;
	*iph = ip;
	l4 = (u8 *)ip + head;
	if (ip->protocol == IPPROTO_TCP && total >= head + sizeof(struct tcphdr)) {
		*l4_len = total - head;
		return &((struct tcphdr *)l4)->check;
	}
	if (ip->protocol == IPPROTO_UDP && total >= head + sizeof(struct udphdr)) {
		*l4_len = total - head;
		return &((struct udphdr *)l4)->check;
	}
	return NULL;
}

static __sum16 softib_csum_compute(const struct iphdr *ip, u32 l4_len)
{
	const void *l4 = (const u8 *)ip + ip->ihl * 4;

	return csum_tcpudp_magic(ip->saddr, ip->daddr, l4_len, ip->protocol,
				 csum_partial(l4, l4_len, 0));
}

static u8 *softib_csum_copy(const struct softib_frame *frame)
{
	struct softib_payload from;
	u8 *copy;

	copy = kmalloc(frame->len, GFP_ATOMIC);
	if (!copy)
		return NULL;
	softib_payload_init(&from, frame);
	softib_payload_read(&from, copy, frame->len);
	return copy;
}

/**
 * softib_csum_tx() - compute the checksums of a datagram, if the work request has IB_SEND_IP_CSUM
 * @qp: sending QP
 * @send_flags: flags of the work request
 * @frame: the datagram; its payload becomes the returned copy
 *
 * Context: any.
 * Return: the copy, to be freed with kfree(), or NULL if @frame is unchanged.
 */
void *softib_csum_tx(const struct rvt_qp *qp, int send_flags,
		     struct softib_frame *frame)
{
	struct iphdr *ip;
	__sum16 *check;
	u32 l4_len;
	u8 *copy;

	if (likely(!(send_flags & IB_SEND_IP_CSUM)) || !softib_csum_on(qp) ||
	    softib_csum_is_free(qp))
		return NULL;
	copy = softib_csum_copy(frame);
	if (!copy)
		return NULL;
	check = softib_csum_find(copy, frame->len, &ip, &l4_len);
	if (check) {
		*check = 0;
		*check = softib_csum_compute(ip, l4_len) ?: CSUM_MANGLED_0;
		softib_frame_linear(frame, copy, frame->len);
	}
	return copy;
}

/*
 * Verify the checksums of a datagram. Context: any. Return: IB_WC_IP_CSUM_OK if they are correct
 * and the QP has checksum offload, else 0.
 */
int softib_csum_rx(const struct rvt_qp *qp, const struct softib_frame *frame)
{
	struct iphdr *ip;
	__sum16 *check;
	int flags = 0;
	u32 l4_len;
	u8 *copy;

	if (likely(!softib_csum_on(qp)))
		return 0;
	if (softib_csum_is_free(qp))
		return IB_WC_IP_CSUM_OK;
	copy = softib_csum_copy(frame);
	if (!copy)
		return 0;
	check = softib_csum_find(copy, frame->len, &ip, &l4_len);
	if (check && !ip_fast_csum(ip, ip->ihl) &&
	    (!*check || !softib_csum_compute(ip, l4_len)))
		flags = IB_WC_IP_CSUM_OK;
	kfree(copy);
	return flags;
}

/* ---- address handles ---- */

/* An HCA may read an address handle until the send completes; rdmavt copies it at the post. */
static void softib_ah_check(struct rvt_qp *qp, u64 ah)
{
	unsigned long flags;
	u32 i;

	if (qp->ibqp.qp_type != IB_QPT_UD || qp->ibqp.uobject)
		return;
	spin_lock_irqsave(&qp->s_hlock, flags);
	spin_lock(&qp->s_lock);
	for (i = qp->s_last; i != qp->s_head; i = i + 1 < qp->s_size ? i + 1 : 0)
		WARN_ONCE((uintptr_t)rvt_get_swqe_ptr(qp, i)->ud_wr.wr.ah == ah,
			  "softib: a send uses an address handle that is destroyed\n");
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->s_hlock, flags);
}

static int softib_destroy_ah(struct ib_ah *ah, u32 flags)
{
	if (!ah->uobject)
		rvt_qp_iter(ib_to_rvt(ah->device), (uintptr_t)ah, softib_ah_check);
	return softib_rvt.destroy_ah(ah, flags);
}

/* ---- queues in user space ---- */

static void softib_vma_open(struct vm_area_struct *vma)
{
	__module_get(THIS_MODULE);
}

static void softib_vma_close(struct vm_area_struct *vma)
{
	module_put(THIS_MODULE);
}

static const struct vm_operations_struct softib_vm_ops = {
	.open = softib_vma_open,
	.close = softib_vma_close,
};

/*
 * The HCA and the user context may go before the mapping, but rdmavt's close of the mapping uses
 * both. So drop rdmavt's reference to the queue at once: the mapping holds a reference to each
 * page, on which rdmavt itself relies when it resizes a queue.
 */
static int softib_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	int ret;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	ret = softib_rvt.mmap(context, vma);
	if (ret) {
		module_put(THIS_MODULE);
		return ret;
	}
	vma->vm_ops->close(vma);
	vma->vm_private_data = NULL;
	vma->vm_ops = &softib_vm_ops;
	return 0;
}

/*
 * Removal of the HCA, or its move to another network namespace, during use by a program, whose QPs
 * and CQs are destroyed. Its queues may stay mapped, see softib_mmap(): nothing to do. Without this
 * function the core moves no HCA.
 */
void softib_disassociate_ucontext(struct ib_ucontext *context)
{
}

/* ---- replacement of rdmavt's verbs ---- */

/*
 * Replace rdmavt's verbs by the verbs of this file. Called again when the HCA moves to another
 * network namespace. Return: 0
 */
int softib_enable_driver(struct ib_device *ibdev)
{
	struct softib_dev *dev = ib_to_softib(ibdev);
	struct ib_device_ops *ops = &ibdev->ops;

	if (ops->create_qp == softib_create_qp)
		return 0;
	softib_rvt = *ops;
	ops->create_qp = softib_create_qp;
	ops->modify_qp = softib_modify_qp;
	ops->query_qp = softib_query_qp;
	ops->destroy_qp = softib_destroy_qp;
	ops->post_send = softib_post_send;
	ops->post_recv = softib_post_recv;
	ops->attach_mcast = softib_attach_mcast;
	ops->detach_mcast = softib_detach_mcast;
	ops->create_cq = softib_create_cq;
	ops->destroy_cq = softib_destroy_cq;
	ops->poll_cq = softib_poll_cq;
	ops->req_notify_cq = softib_notify_cq;
	ops->get_dma_mr = softib_get_dma_mr;
	ops->mmap = softib_mmap;
	ops->destroy_ah = softib_destroy_ah;
	/* These MRs need IB_WR_REG_MR, which softib does not support. */
	ops->alloc_mr = NULL;
	if (dev->node->model->moderation)
		ops->modify_cq = softib_cq_moderate;
	if (dev->node->model->dma)
		ibdev->dma_device = &dev->node->pdev->dev;
	ops->create_srq = softib_create_srq;
	ops->destroy_srq = softib_destroy_srq;
	ops->post_srq_recv = softib_post_srq_recv;
	if (dev->node->no_mcast) {
		ops->attach_mcast = NULL;
		ops->detach_mcast = NULL;
	}
	return 0;
}
