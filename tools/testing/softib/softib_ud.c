// SPDX-License-Identifier: GPL-2.0
/*
 * UD: datagrams of QP0 and QP1 and of all other UD QPs, out and in.
 *
 * A datagram is complete once softib_port_tx() returns: there are no
 * acknowledgments, and delivery is synchronous. So work requests complete in
 * order, one at a time, and s_last is the only position of the engine.
 */
#include <linux/slab.h>

#include "softib.h"

static void softib_ud_address(struct softib_frame *frame, struct rvt_qp *qp,
			      struct softib_port *port,
			      const struct rvt_swqe *wqe)
{
	u32 qkey = wqe->ud_wr.wr.remote_qkey;

	frame->dqpn = wqe->ud_wr.wr.remote_qpn & RVT_QPN_MASK;
	frame->sqpn = qp->ibqp.qp_num;
	/* IBTA 10.2.5: a controlled Q_Key stands for the Q_Key of the QP. */
	frame->qkey = qkey & BIT(31) ? qp->qkey : qkey;
	if (!qp->ibqp.qp_num)
		frame->pkey = IB_DEFAULT_PKEY_FULL;
	else if (qp->ibqp.qp_num == 1)
		frame->pkey = softib_port_pkey(port, wqe->ud_wr.wr.pkey_index);
	else
		frame->pkey = softib_port_pkey(port, qp->s_pkey_index);
}

/* The fabric does not throttle; tests read the static rate from these counters. */
static void softib_ud_count_rate(struct softib_port *port,
				 const struct softib_frame *frame,
				 const struct rdma_ah_attr *attr)
{
	u8 rate = rdma_ah_get_static_rate(attr) % SOFTIB_RATE_MAX;

	this_cpu_inc(port->stats->tx_rate[softib_frame_is_mcast(frame)][rate]);
}

static enum ib_wc_status softib_ud_send(struct rvt_qp *qp,
					struct rvt_swqe *wqe)
{
	struct softib_port *port = qp_to_softib_port(qp);
	struct softib_frame frame;
	void *copy;

	/* During removal of an HCA flush sends of MADs, instead of waiting for their timeouts. */
	if (unlikely(READ_ONCE(port->leaving)) && qp->ibqp.qp_num <= 1)
		return IB_WC_WR_FLUSH_ERR;
	/* MADs are exempt: tests target other consumers. */
	if (unlikely(READ_ONCE(port->armed)) && qp->ibqp.qp_num > 1 &&
	    softib_fault_hit(&port->dev->node->fail_send))
		return IB_WC_LOC_QP_OP_ERR;
	if (wqe->wr.opcode != IB_WR_LSO &&
	    unlikely(wqe->length > READ_ONCE(port->link.mtu)))
		return IB_WC_LOC_LEN_ERR;

	if (wqe->wr.opcode == IB_WR_SEND_WITH_IMM)
		softib_frame_init(&frame,
				  IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE);
	else
		softib_frame_init(&frame, IB_OPCODE_UD_SEND_ONLY);
	softib_frame_route(&frame, port, wqe->ud_wr.attr);
	softib_ud_address(&frame, qp, port, wqe);
	/* SMPs are sent without a GRH; softib_port_rx() may have added a GRH to the request. */
	if (unlikely(softib_frame_is_smp(&frame) && softib_port_needs_grh(port)))
		frame.has_grh = false;
	frame.se = wqe->wr.send_flags & IB_SEND_SOLICITED;
	frame.psn = wqe->psn & 0xffffff;
	frame.imm = wqe->wr.ex.imm_data;
	frame.len = wqe->length;
	frame.ss.num_sge = wqe->wr.num_sge;
	frame.ss.total_len = wqe->length;
	frame.ss.sge = wqe->sg_list[0];
	frame.ss.sg_list = wqe->sg_list + 1;
	if (qp->ibqp.qp_num > 1)
		softib_ud_count_rate(port, &frame, wqe->ud_wr.attr);
	if (wqe->wr.opcode == IB_WR_LSO)
		return softib_lso_send(port, &frame, &wqe->ud_wr.wr);
	copy = softib_csum_tx(qp, wqe->wr.send_flags, &frame);
	softib_port_tx(port, &frame);
	kfree(copy);
	return IB_WC_SUCCESS;
}

/*
 * IBTA 10.3.1: a send error of a UD QP stops its send queue only; in a model without SQE it stops
 * nothing. The state is guarded by all three QP locks. Context: no QP lock held.
 */
static void softib_ud_send_error(struct rvt_qp *qp, struct rvt_swqe *wqe,
				 enum ib_wc_status status)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_hlock);
	spin_lock(&qp->s_lock);
	if (qp_to_softib(qp)->node->model->sqe &&
	    (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD))
		qp->state = IB_QPS_SQE;
	rvt_send_complete(qp, wqe, status);
	spin_unlock(&qp->s_lock);
	spin_unlock(&qp->s_hlock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
}

/* Context: s_lock held; dropped during the send. */
static void softib_ud_send_one(struct rvt_qp *qp, unsigned long *flags)
	__must_hold(&qp->s_lock)
{
	struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	enum ib_wc_status status;

	spin_unlock_irqrestore(&qp->s_lock, *flags);
	status = softib_ud_send(qp, wqe);
	if (unlikely(status != IB_WC_SUCCESS))
		softib_ud_send_error(qp, wqe, status);
	spin_lock_irqsave(&qp->s_lock, *flags);
	if (likely(status == IB_WC_SUCCESS))
		rvt_send_complete(qp, wqe, IB_WC_SUCCESS);
}

/*
 * Send engine of a UD QP. Context: any, but no QP lock held. Return: true if work is left after the
 * budget of a turn.
 */
bool softib_ud_do_send(struct rvt_qp *qp)
{
	const u32 *end = &qp_to_softib_qp(qp)->late_from;
	int budget = SOFTIB_SEND_BATCH;
	bool more = false;
	unsigned long flags;

	spin_lock_irqsave(&qp->s_lock, flags);
	if (!softib_send_claim(qp))
		goto unlock;
	while (qp->s_last != READ_ONCE(qp->s_head) && qp->s_last != *end) {
		u8 ops = ib_rvt_state_ops[qp->state];

		if (unlikely(!(ops & RVT_PROCESS_NEXT_SEND_OK))) {
			if (ops & RVT_FLUSH_SEND)
				softib_send_flush(qp);
			break;
		}
		more = !budget--;
		if (more)
			break;
		/* Pairs with the write barrier of rvt_post_one_wr(). */
		smp_rmb();
		softib_ud_send_one(qp, &flags);
	}
	softib_send_release(qp);
unlock:
	spin_unlock_irqrestore(&qp->s_lock, flags);
	return more;
}

/* Return: true if qp->r_sge is a receive for the frame. */
static bool softib_ud_get_buffer(struct softib_port *port, struct rvt_qp *qp,
				 const struct softib_frame *frame)
{
	int ret;

	if (qp->r_flags & RVT_R_REUSE_SGE) {
		qp->r_flags &= ~RVT_R_REUSE_SGE;
	} else {
		ret = rvt_get_rwqe(qp, false);
		if (ret < 0) {
			rvt_rc_error(qp, IB_WC_LOC_QP_OP_ERR);
			return false;
		}
		if (!ret) {
			softib_port_drop(port, SOFTIB_DROP_NO_RWQE);
			return false;
		}
	}
	if (frame->len + sizeof(struct ib_grh) > qp->r_len) {
		/* IBTA 9.8.3.2.2: dropped; the receive is for the next datagram. */
		qp->r_flags |= RVT_R_REUSE_SGE;
		softib_port_drop(port, SOFTIB_DROP_TOO_LONG);
		return false;
	}
	/* IBTA 10.3.1: an error of a receive moves the QP to the error state. */
	if (unlikely(READ_ONCE(port->armed)) && qp->ibqp.qp_num > 1 &&
	    softib_fault_hit(&port->dev->node->fail_recv)) {
		rvt_rc_error(qp, IB_WC_LOC_PROT_ERR);
		return false;
	}
	return true;
}

static void softib_ud_fill(struct rvt_qp *qp, struct softib_frame *frame)
{
	struct softib_payload from;

	if (frame->has_grh)
		softib_sge_write(&qp->r_sge, &frame->grh, sizeof(frame->grh),
				 true);
	else
		rvt_skip_sge(&qp->r_sge, sizeof(frame->grh), true);
	softib_payload_init(&from, frame);
	softib_payload_to_sge(&from, &qp->r_sge, frame->len);
	rvt_put_ss(&qp->r_sge);
}

static void softib_ud_complete(struct softib_port *port, struct rvt_qp *qp,
			       const struct softib_frame *frame)
{
	struct ib_wc wc = {
		.wr_id = qp->r_wr_id,
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = softib_fault_length(qp, &port->dev->node->overlong_ud,
						frame->len + sizeof(struct ib_grh)),
		.qp = &qp->ibqp,
		.src_qp = frame->sqpn,
		.slid = frame->slid,
		.sl = frame->sl,
		.port_num = port->num,
		.wc_flags = softib_csum_rx(qp, frame),
	};

	if (!test_and_clear_bit(RVT_R_WRID_VALID, &qp->r_aflags))
		return;
	if (frame->opcode == IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE) {
		wc.ex.imm_data = frame->imm;
		wc.wc_flags |= IB_WC_WITH_IMM;
	}
	if (frame->has_grh)
		wc.wc_flags |= IB_WC_GRH;
	if (!softib_frame_is_mcast(frame) &&
	    frame->dlid != SOFTIB_LID_PERMISSIVE)
		wc.dlid_path_bits = frame->dlid & (BIT(port->lmc) - 1);
	if (qp->ibqp.qp_num == 1)
		wc.pkey_index = softib_port_find_pkey(port, frame->pkey);
	else if (qp->ibqp.qp_num)
		wc.pkey_index = qp->s_pkey_index;
	rvt_recv_cq(qp, &wc, frame->se);
}

/* Receive a datagram for a QP. Context: rcu_read_lock() held, no QP lock held. */
void softib_ud_rx(struct softib_port *port, struct rvt_qp *qp,
		  struct softib_frame *frame)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->r_lock, flags);
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK)) {
		softib_port_drop(port, SOFTIB_DROP_QP_STATE);
		goto unlock;
	}
	if (qp->ibqp.qp_num && frame->qkey != qp->qkey) {
		softib_port_drop(port, SOFTIB_DROP_QKEY);
		port->ibp.qkey_violations++;
		goto unlock;
	}
	if (!softib_ud_get_buffer(port, qp, frame))
		goto unlock;
	softib_ud_fill(qp, frame);
	softib_ud_complete(port, qp, frame);
unlock:
	spin_unlock_irqrestore(&qp->r_lock, flags);
}
