// SPDX-License-Identifier: GPL-2.0
/*
 * RC and UC: the requester.
 *
 * A struct softib_frame carries a message, or SOFTIB_RC_BURST bytes of it; PSNs
 * count packets of the path MTU as on a real wire. The responder executes a
 * request, and its acknowledgment passes the fabric to softib_rc_rx(), all
 * within the softib_port_tx() of the request. Without losses and delays the
 * work request is complete on return from it, and no timer is ever armed.
 *
 * After the loss of a request or acknowledgment the work request stays
 * outstanding. The engine continues with the next request, as a real HCA does:
 * its acknowledgment covers a lost acknowledgment; a lost request makes the
 * responder send a NAK; after the last request the transport timer restarts
 * from the oldest unacknowledged PSN. Only READs are sent one at a time.
 *
 * UC has no acknowledgments: a work request is complete once softib_port_tx() of
 * its last frame returns, whether or not the frame arrived.
 *
 * Credits of AETHs are unused: a request without a receive gets its RNR NAK
 * before the next request can be sent.
 *
 * The completion of a work request takes s_lock only. Failing a QP takes r_lock
 * first, so softib_rc_fail() does it with no lock held. Events are raised
 * without any lock, since consumers post sends under the locks that their event
 * handlers take.
 */
#include "softib_rc.h"

/* BTH opcodes of a work request: if it fits in a burst, and of its bursts if not */
struct softib_rc_ops {
	u8 only;
	u8 first;
	u8 middle;
	u8 last;
};

static const struct softib_rc_ops softib_rc_ops[] = {
	[IB_WR_SEND] = {
		IB_OPCODE_SEND_ONLY, IB_OPCODE_SEND_FIRST,
		IB_OPCODE_SEND_MIDDLE, IB_OPCODE_SEND_LAST
	},
	[IB_WR_SEND_WITH_IMM] = {
		IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE, IB_OPCODE_SEND_FIRST,
		IB_OPCODE_SEND_MIDDLE, IB_OPCODE_SEND_LAST_WITH_IMMEDIATE
	},
	[IB_WR_RDMA_WRITE] = {
		IB_OPCODE_RDMA_WRITE_ONLY, IB_OPCODE_RDMA_WRITE_FIRST,
		IB_OPCODE_RDMA_WRITE_MIDDLE, IB_OPCODE_RDMA_WRITE_LAST
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
		IB_OPCODE_RDMA_WRITE_FIRST, IB_OPCODE_RDMA_WRITE_MIDDLE,
		IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE
	},
	/* Each burst of a READ is a separate READ request. */
	[IB_WR_RDMA_READ] = {
		IB_OPCODE_RDMA_READ_REQUEST, IB_OPCODE_RDMA_READ_REQUEST,
		IB_OPCODE_RDMA_READ_REQUEST, IB_OPCODE_RDMA_READ_REQUEST
	},
};

/* Raise an event of a QP. Context: no QP lock held. */
void softib_qp_event(struct rvt_qp *qp, enum ib_event_type event)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = event,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

/* Set the header fields that all frames of a connection share. @qp: the sending QP */
void softib_rc_address(struct softib_frame *frame, struct rvt_qp *qp)
{
	struct softib_port *port = qp_to_softib_port(qp);

	softib_frame_route(frame, port, &qp->remote_ah_attr);
	frame->dqpn = qp->remote_qpn;
	frame->pkey = softib_port_pkey(port, qp->s_pkey_index);
	frame->mtu = qp->pmtu;
}

static bool softib_rc_is_read(const struct rvt_swqe *wqe)
{
	return wqe->wr.opcode == IB_WR_RDMA_READ;
}

static u8 softib_rc_opcode(const struct rvt_swqe *wqe, u32 offset, u32 len)
{
	const struct softib_rc_ops *ops = &softib_rc_ops[wqe->wr.opcode];

	if (offset + len == wqe->length)
		return offset ? ops->last : ops->only;
	return offset ? ops->middle : ops->first;
}

/*
 * Build the next frame of a work request. Advances s_psn, and s_cur after the last frame of the
 * work request.
 *
 * Context: s_lock held.
 */
static void softib_rc_build(struct rvt_qp *qp, struct rvt_swqe *wqe,
			    struct softib_frame *frame)
{
	const u32 offset = ((qp->s_psn - wqe->psn) & 0xffffff) << qp->log_pmtu;
	const u32 len = min_t(u32, wqe->length - offset, SOFTIB_RC_BURST);

	lockdep_assert_held(&qp->s_lock);
	softib_frame_init(frame, qp->allowed_ops |
			  softib_rc_opcode(wqe, offset, len));
	softib_rc_address(frame, qp);
	frame->psn = qp->s_psn & 0xffffff;
	frame->se = wqe->wr.send_flags & IB_SEND_SOLICITED;
	frame->ackreq = qp->ibqp.qp_type == IB_QPT_RC;
	frame->imm = wqe->wr.ex.imm_data;
	frame->va = wqe->rdma_wr.remote_addr + offset;
	frame->rkey = wqe->rdma_wr.rkey;
	frame->dmalen = softib_rc_is_read(wqe) ? len : wqe->length;
	if (!softib_rc_is_read(wqe)) {
		rvt_restart_sge(&frame->ss, wqe, offset);
		frame->ss.total_len = len;
		frame->len = len;
	}

	qp->s_psn += softib_rc_packets(qp, len);
	if (softib_psn_cmp(qp->s_psn - 1, qp->s_sending_hpsn) > 0)
		qp->s_sending_hpsn = qp->s_psn - 1;
	if (offset + len == wqe->length)
		qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
}

/* Fail the QP in the next turn of its engine. Context: s_lock held. */
static void softib_rc_fail_later(struct rvt_qp *qp)
{
	set_bit(SOFTIB_RC_FAIL, &qp_to_softib_qp(qp)->events);
	softib_send_work(qp);
}

/*
 * Complete the oldest work request. Unlike rvt_send_complete(), an overflow of the CQ needs no
 * r_lock.
 *
 * Context: s_lock held.
 */
static void softib_rc_complete(struct rvt_qp *qp, enum ib_wc_status status)
{
	struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	struct rvt_dev_info *rdi = ib_to_rvt(qp->ibqp.device);
	const u32 last = rvt_qp_swqe_incr(qp, qp->s_last);
	struct ib_wc wc = {
		.wr_id = wqe->wr.wr_id,
		.status = status,
		.opcode = rdi->wc_opcode[wqe->wr.opcode],
		.qp = &qp->ibqp,
		.byte_len = wqe->length,
	};
	const bool told = !(qp->s_flags & RVT_S_SIGNAL_REQ_WR) ||
			  wqe->wr.send_flags & IB_SEND_SIGNALED ||
			  status != IB_WC_SUCCESS;

	lockdep_assert_held(&qp->s_lock);
	rvt_put_qp_swqe(qp, wqe);
	if (qp->s_cur == qp->s_last)
		qp->s_cur = last;
	qp->s_acked = last;
	qp->s_tail = last;
	/* Frees the slot; pairs with rvt_qp_is_avail(). */
	smp_store_release(&qp->s_last, last);
	if (qp->state == IB_QPS_SQD && last == qp->s_cur)
		qp->s_draining = 0;
	if (told && !rvt_cq_enter(ibcq_to_rvtcq(qp->ibqp.send_cq), &wc,
				  status != IB_WC_SUCCESS))
		softib_rc_fail_later(qp);
}

/* Complete all posted sends as flushed. Context: s_lock held, by the engine. */
static void softib_rc_flush(struct rvt_qp *qp)
{
	while (qp->s_last != READ_ONCE(qp->s_head)) {
		/* Pairs with the write barrier of rvt_post_one_wr(). */
		smp_rmb();
		softib_rc_complete(qp, IB_WC_WR_FLUSH_ERR);
	}
}

/* Handle softib_qp.events. Context: no lock held. */
static void softib_rc_events(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp_to_softib_qp(qp);
	unsigned long flags;

	if (likely(!READ_ONCE(priv->events)))
		return;
	if (test_and_clear_bit(SOFTIB_RC_FAIL, &priv->events)) {
		spin_lock_irqsave(&qp->r_lock, flags);
		spin_lock(&qp->s_lock);
		if (rvt_error_qp(qp, IB_WC_LOC_QP_OP_ERR))
			set_bit(SOFTIB_RC_LAST_WQE, &priv->events);
		spin_unlock(&qp->s_lock);
		spin_unlock_irqrestore(&qp->r_lock, flags);
	}
	if (test_and_clear_bit(SOFTIB_RC_LAST_WQE, &priv->events))
		softib_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

static bool softib_rc_outstanding(const struct rvt_qp *qp)
{
	return softib_psn_cmp(qp->s_last_psn, qp->s_sending_hpsn) < 0;
}

/*
 * PSNs are compared by their difference, so at most half of their range may be outstanding; stay
 * well below.
 */
static bool softib_rc_window_full(const struct rvt_qp *qp)
{
	return ((qp->s_psn - qp->s_last_psn) & 0xffffff) > BIT(22);
}

/* Arm the transport timer, unless it is armed or the QP has no timeout (IBTA 9.9.2.1.1). */
static void softib_rc_arm(struct rvt_qp *qp)
{
	if (qp->timeout && !(qp->s_flags & (RVT_S_TIMER | RVT_S_WAIT_RNR)) &&
	    ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK)
		rvt_mod_retry_timer(qp);
}

static void softib_rc_disarm(struct rvt_qp *qp)
{
	if (qp->s_flags & RVT_S_TIMER) {
		qp->s_flags &= ~RVT_S_TIMER;
		timer_delete(&qp->s_timer);
	}
}

/* Resume sending from the oldest unacknowledged PSN. */
static void softib_rc_rewind(struct rvt_qp *qp)
{
	qp->s_cur = qp->s_last;
	qp->s_psn = qp->s_last_psn + 1;
	qp->s_flags &= ~RVT_S_WAIT_RDMAR;
}

/* End a wait of the engine for acknowledgments (RVT_S_WAIT_RDMAR). */
static void softib_rc_resume(struct rvt_qp *qp)
{
	if (!(qp->s_flags & RVT_S_WAIT_RDMAR))
		return;
	qp->s_flags &= ~RVT_S_WAIT_RDMAR;
	/* A running engine tests the flag when softib_port_tx() returns. */
	softib_schedule_send(qp);
}

/*
 * Acknowledge all PSNs up to @psn; @data: by a READ response. A plain ACK of a READ answers a
 * duplicate of an older request, and does not replace the data (IBTA 9.7.5.1.2).
 */
static void softib_rc_acked(struct rvt_qp *qp, u32 psn, bool data)
{
	if (softib_psn_cmp(psn, qp->s_last_psn) <= 0 ||
	    softib_psn_cmp(psn, qp->s_sending_hpsn) > 0)
		return;
	while (qp->s_last != READ_ONCE(qp->s_head)) {
		struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_last);

		if (!data && softib_rc_is_read(wqe)) {
			if (softib_psn_cmp(wqe->psn, psn) <= 0)
				psn = wqe->psn - 1;
			break;
		}
		if (softib_psn_cmp(wqe->lpsn, psn) > 0)
			break;
		softib_rc_complete(qp, IB_WC_SUCCESS);
	}
	if (softib_psn_cmp(psn, qp->s_last_psn) <= 0)
		return;
	qp->s_last_psn = psn;
	/* A rewind by the timer may have moved s_psn back. */
	if (softib_psn_cmp(qp->s_psn, psn) <= 0)
		qp->s_psn = psn + 1;
	qp->s_retry = qp->s_retry_cnt;
	qp->s_rnr_retry = qp->s_rnr_retry_cnt;
	softib_rc_disarm(qp);
	if (softib_rc_outstanding(qp))
		softib_rc_arm(qp);
	else
		softib_rc_resume(qp);
}

/*
 * Fail the oldest work request and the QP.
 *
 * Context: r_lock and s_lock held.
 */
static void __softib_rc_fail(struct rvt_qp *qp, enum ib_wc_status status)
{
	lockdep_assert_held(&qp->r_lock);
	lockdep_assert_held(&qp->s_lock);
	softib_rc_complete(qp, status);
	if (rvt_error_qp(qp, IB_WC_WR_FLUSH_ERR))
		set_bit(SOFTIB_RC_LAST_WQE, &qp_to_softib_qp(qp)->events);
}

/* The same with no lock held, unless @psn has been acknowledged since */
static void softib_rc_fail(struct rvt_qp *qp, u32 psn, enum ib_wc_status status)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	if (ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK &&
	    qp->s_last != READ_ONCE(qp->s_head) &&
	    softib_psn_cmp(psn, qp->s_last_psn) > 0)
		__softib_rc_fail(qp, status);
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
	softib_rc_events(qp);
}

/*
 * Expiry of the transport timer. @psn: oldest unacknowledged PSN; @wait: unused
 * Context: r_lock and s_lock held; the caller schedules the engine.
 */
void softib_rc_restart(struct rvt_qp *qp, u32 psn, int wait)
{
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK) ||
	    !softib_rc_outstanding(qp))
		return;
	if (!qp->s_retry)
		return __softib_rc_fail(qp, IB_WC_RETRY_EXC_ERR);
	qp->s_retry--;
	softib_rc_rewind(qp);
}

/* Context: s_lock held. Return: IB_WC_SUCCESS, or the status to fail the QP with. */
static enum ib_wc_status softib_rc_rnr(struct rvt_qp *qp, u32 aeth)
{
	if (!qp->s_rnr_retry)
		return IB_WC_RNR_RETRY_EXC_ERR;
	if (qp->s_rnr_retry_cnt < 7)
		qp->s_rnr_retry--;
	softib_rc_disarm(qp);
	softib_rc_rewind(qp);
	rvt_add_rnr_timer(qp, aeth);
	return IB_WC_SUCCESS;
}

static enum ib_wc_status softib_rc_nak_seq(struct rvt_qp *qp)
{
	if (!qp->s_retry)
		return IB_WC_RETRY_EXC_ERR;
	qp->s_retry--;
	softib_rc_disarm(qp);
	softib_rc_rewind(qp);
	softib_schedule_send(qp);
	return IB_WC_SUCCESS;
}

static enum ib_wc_status softib_rc_nak(struct rvt_qp *qp, u32 aeth)
{
	switch (aeth >> IB_AETH_CREDIT_SHIFT) {
	case IB_NAK_PSN_ERROR:
		return softib_rc_nak_seq(qp);
	case IB_NAK_INVALID_REQUEST:
		return IB_WC_REM_INV_REQ_ERR;
	case IB_NAK_REMOTE_ACCESS_ERROR:
		return IB_WC_REM_ACCESS_ERR;
	default:
		return IB_WC_REM_OP_ERR;
	}
}

/* Context: s_lock held. Return: IB_WC_SUCCESS, or the status to fail the QP with. */
static enum ib_wc_status softib_rc_ack(struct rvt_qp *qp,
				       const struct softib_frame *frame)
{
	const u32 psn = frame->psn;

	switch (frame->aeth >> IB_AETH_NAK_SHIFT) {
	case SOFTIB_AETH_ACK:
		softib_rc_acked(qp, psn, false);
		return IB_WC_SUCCESS;
	case SOFTIB_AETH_RNR:
	case SOFTIB_AETH_NAK:
		/* A NAK acknowledges all earlier PSNs. */
		softib_rc_acked(qp, psn - 1, false);
		/* A NAK of another PSN than the oldest answers a duplicate. */
		if (softib_psn_cmp(psn, qp->s_last_psn + 1) ||
		    !softib_rc_outstanding(qp))
			return IB_WC_SUCCESS;
		if (frame->aeth >> IB_AETH_NAK_SHIFT == SOFTIB_AETH_RNR)
			return softib_rc_rnr(qp, frame->aeth);
		return softib_rc_nak(qp, frame->aeth);
	default:
		return IB_WC_SUCCESS;
	}
}

static void softib_rc_read_resp(struct rvt_qp *qp,
				const struct softib_frame *frame)
{
	struct softib_payload from;
	struct rvt_sge_state to;
	u32 left = frame->len;
	struct rvt_swqe *wqe;
	u32 offset;

	/* A READ response acknowledges all earlier requests. */
	softib_rc_acked(qp, frame->psn - 1, false);
	if (qp->s_last == READ_ONCE(qp->s_head) ||
	    softib_psn_cmp(frame->psn, qp->s_last_psn + 1))
		return;
	wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	if (!softib_rc_is_read(wqe) ||
	    softib_psn_cmp(frame->psn, wqe->psn) < 0 ||
	    softib_psn_cmp(frame->psn, wqe->lpsn) > 0)
		return;
	offset = ((frame->psn - wqe->psn) & 0xffffff) << qp->log_pmtu;
	if (left != min_t(u32, wqe->length - offset, SOFTIB_RC_BURST))
		return;
	rvt_restart_sge(&to, wqe, offset);
	softib_payload_init(&from, frame);
	rcu_read_lock();
	while (left) {
		u32 piece = rvt_get_sge_length(&to.sge, left);

		softib_payload_read(&from, softib_dma_va(to.sge.vaddr, piece, true),
				    piece);
		rvt_update_sge(&to, piece, false);
		left -= piece;
	}
	rcu_read_unlock();
	softib_rc_acked(qp, frame->psn + softib_rc_packets(qp, frame->len) - 1,
			true);
}

static void softib_rc_response(struct rvt_qp *qp,
			       const struct softib_frame *frame)
{
	enum ib_wc_status status = IB_WC_SUCCESS;
	unsigned long flags;

	spin_lock_irqsave(&qp->s_lock, flags);
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK))
		goto unlock;
	switch (frame->opcode) {
	case IB_OPCODE_RC_ACKNOWLEDGE:
		status = softib_rc_ack(qp, frame);
		break;
	case IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY:
		softib_rc_read_resp(qp, frame);
		break;
	}
unlock:
	spin_unlock_irqrestore(&qp->s_lock, flags);
	if (unlikely(status != IB_WC_SUCCESS))
		softib_rc_fail(qp, frame->psn, status);
}

/* Receive a frame for an RC or UC QP. Context: rcu_read_lock() held, no QP lock held. */
void softib_rc_rx(struct softib_port *port, struct rvt_qp *qp,
		  struct softib_frame *frame)
{
	/* IBTA 9.6.1.5: the SLID must be the address of the peer. */
	if (unlikely(frame->slid != rdma_ah_get_dlid(&qp->remote_ah_attr)))
		return softib_port_drop(port, SOFTIB_DROP_NO_QP);
	switch (frame->opcode) {
	case IB_OPCODE_RC_ACKNOWLEDGE:
	case IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY:
		softib_rc_response(qp, frame);
		break;
	default:
		softib_rc_request(port, qp, frame);
		break;
	}
}

/*
 * Send the next burst; s_lock is dropped meanwhile.
 *
 * Context: s_lock held. Return: whether the turn of the engine ends here.
 */
static bool softib_rc_send_one(struct rvt_qp *qp, unsigned long *flags)
	__must_hold(&qp->s_lock)
{
	struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_cur);
	const bool uc = qp->ibqp.qp_type == IB_QPT_UC;
	const bool single = softib_rc_is_read(wqe);
	struct softib_frame frame;

	if (unlikely(!uc && softib_rc_window_full(qp))) {
		qp->s_flags |= RVT_S_WAIT_RDMAR;
		return true;
	}
	softib_rc_build(qp, wqe, &frame);
	spin_unlock_irqrestore(&qp->s_lock, *flags);
	softib_port_tx(qp_to_softib_port(qp), &frame);
	spin_lock_irqsave(&qp->s_lock, *flags);
	if (uc) {
		if (qp->s_last != qp->s_cur &&
		    ib_rvt_state_ops[qp->state] & RVT_PROCESS_OR_FLUSH_SEND)
			softib_rc_complete(qp, IB_WC_SUCCESS);
		return false;
	}
	if (likely(!softib_rc_outstanding(qp)))
		return false;
	softib_rc_arm(qp);
	if (single)
		qp->s_flags |= RVT_S_WAIT_RDMAR;
	return single;
}

/* Context: s_lock held. Return: true if work is left after the budget of a turn. */
static bool softib_rc_turn(struct rvt_qp *qp, unsigned long *flags)
	__must_hold(&qp->s_lock)
{
	int budget = SOFTIB_SEND_BATCH;

	for (;;) {
		const u8 ops = ib_rvt_state_ops[qp->state];

		if (unlikely(ops & RVT_FLUSH_SEND)) {
			softib_rc_flush(qp);
			return false;
		}
		if (unlikely(qp->s_flags & RVT_S_ANY_WAIT_SEND) ||
		    !(ops & RVT_PROCESS_NEXT_SEND_OK) ||
		    qp->s_cur == READ_ONCE(qp->s_head))
			return false;
		if (!budget--)
			return true;
		/* Pairs with the write barrier of rvt_post_one_wr(). */
		smp_rmb();
		if (softib_rc_send_one(qp, flags))
			return false;
	}
}

/*
 * Send engine of an RC or UC QP. Context: any, but no QP lock held. Return: true if work is left
 * after the budget of a turn.
 */
bool softib_rc_do_send(struct rvt_qp *qp)
{
	unsigned long flags;
	bool more = false;

	spin_lock_irqsave(&qp->s_lock, flags);
	if (softib_send_claim(qp)) {
		more = softib_rc_turn(qp, &flags);
		softib_send_release(qp);
	}
	spin_unlock_irqrestore(&qp->s_lock, flags);
	softib_rc_events(qp);
	return more;
}
