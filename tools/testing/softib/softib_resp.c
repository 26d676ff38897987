// SPDX-License-Identifier: GPL-2.0
/*
 * RC and UC: the responder.
 *
 * A request is checked and executed under r_lock, which covers the copy of its
 * payload. The answer is built under r_lock, too, but sent without the lock: the
 * requester may receive it, and send more, before softib_rc_request() returns.
 *
 * A message of several frames keeps its receive in qp->r_sge between frames,
 * filled from the start. On UC the rest of the message may be lost, and the next
 * message then uses the same receive from the start. So for UC a second set of
 * references is kept in s_rdma_read_sge, under RVT_R_REWIND_SGE as rdmavt's
 * own teardown expects it.
 */
#include "softib_rc.h"

/**
 * struct softib_answer - answer to a request, and events of the responder
 * @opcode: BTH opcode; 0: no answer
 * @psn: BTH PSN
 * @aeth: AETH
 * @sge: data of a READ response; holds a reference
 * @len: bytes of @sge
 * @event: event to raise, or -1
 * @last_wqe: raise IB_EVENT_QP_LAST_WQE_REACHED
 */
struct softib_answer {
	u8 opcode;
	u32 psn;
	u32 aeth;
	struct rvt_sge sge;
	u32 len;
	int event;
	bool last_wqe;
};

static bool softib_is_rc(const struct rvt_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_RC;
}

static void softib_answer_ack(struct softib_answer *answer, struct rvt_qp *qp,
			      u32 psn)
{
	answer->opcode = IB_OPCODE_RC_ACKNOWLEDGE;
	answer->psn = psn;
	answer->aeth = be32_to_cpu(rvt_compute_aeth(qp));
}

static void softib_answer_nak(struct softib_answer *answer, struct rvt_qp *qp,
			      u32 syndrome)
{
	answer->opcode = IB_OPCODE_RC_ACKNOWLEDGE;
	answer->psn = qp->r_psn;
	answer->aeth = syndrome << IB_AETH_CREDIT_SHIFT |
		       (qp->r_msn & IB_MSN_MASK);
}

/* UC sends no NAK. */
static void softib_resp_rnr(struct rvt_qp *qp, struct softib_answer *answer)
{
	softib_port_drop(qp_to_softib_port(qp), SOFTIB_DROP_NO_RWQE);
	if (softib_is_rc(qp))
		softib_answer_nak(answer, qp, IB_RNR_NAK | qp->r_min_rnr_timer);
}

/* Fail the QP; its current receive, if any, completes with @status. */
static void softib_resp_error(struct rvt_qp *qp, struct softib_answer *answer,
			      enum ib_wc_status status)
{
	spin_lock(&qp->s_lock);
	answer->last_wqe = rvt_error_qp(qp, status);
	spin_unlock(&qp->s_lock);
}

/* IBTA 9.7.5.2.4 ff.: NAK of a request that cannot be executed */
static void softib_resp_nak(struct rvt_qp *qp, struct softib_answer *answer,
			    u32 syndrome, enum ib_wc_status status)
{
	/* UC drops the message (IBTA 9.8.2.2), RC fails the QP. */
	if (!softib_is_rc(qp)) {
		softib_port_drop(qp_to_softib_port(qp),
				 SOFTIB_DROP_BAD_REQUEST);
		return;
	}
	softib_answer_nak(answer, qp, syndrome);
	answer->event = syndrome == IB_NAK_REMOTE_ACCESS_ERROR ?
			IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR;
	softib_resp_error(qp, answer, status);
}

static void softib_resp_invalid(struct rvt_qp *qp, struct softib_answer *answer)
{
	softib_resp_nak(qp, answer, IB_NAK_INVALID_REQUEST,
			IB_WC_LOC_QP_OP_ERR);
}

static void softib_resp_access(struct rvt_qp *qp, struct softib_answer *answer)
{
	softib_resp_nak(qp, answer, IB_NAK_REMOTE_ACCESS_ERROR,
			IB_WC_LOC_ACCESS_ERR);
}

/* Keep the receive of a UC message, whose remaining frames may be lost. */
static void softib_uc_keep_sge(struct rvt_qp *qp)
{
	struct rvt_sge *more = qp->r_sge.sg_list;
	int i;

	if (!qp->r_sge.num_sge)
		return;
	rvt_get_mr(qp->r_sge.sge.mr);
	for (i = 1; i < qp->r_sge.num_sge; i++)
		rvt_get_mr(more[i - 1].mr);
	qp->s_rdma_read_sge = qp->r_sge;
	set_bit(RVT_R_REWIND_SGE, &qp->r_aflags);
}

static void softib_uc_forget_sge(struct rvt_qp *qp)
{
	if (test_and_clear_bit(RVT_R_REWIND_SGE, &qp->r_aflags))
		rvt_put_ss(&qp->s_rdma_read_sge);
}

/*
 * Reuse the receive of an incomplete UC message for the next message. It is in r_sge, unused, or
 * in s_rdma_read_sge, partly filled.
 */
static void softib_uc_rewind_sge(struct rvt_qp *qp)
{
	if (test_and_clear_bit(RVT_R_REWIND_SGE, &qp->r_aflags)) {
		rvt_put_ss(&qp->r_sge);
		qp->r_sge = qp->s_rdma_read_sge;
	}
	qp->r_len = qp_to_softib_qp(qp)->recv_len;
}

/* Return: 1 if qp->r_sge is a receive, 0 if there is none, < 0 on error. */
static int softib_resp_get_buffer(struct rvt_qp *qp)
{
	struct softib_node *node = qp_to_softib_port(qp)->dev->node;
	int ret;

	if (unlikely(softib_fault_hit(&node->rnr_next)))
		return 0;
	if (!softib_is_rc(qp) && test_bit(RVT_R_WRID_VALID, &qp->r_aflags)) {
		softib_uc_rewind_sge(qp);
		return 1;
	}
	/* Non-empty only after an incomplete WRITE of UC */
	rvt_put_ss(&qp->r_sge);
	ret = rvt_get_rwqe(qp, false);
	qp_to_softib_qp(qp)->recv_len = qp->r_len;
	return ret;
}

/* Immediate data consume a receive, but not its buffer. */
static int softib_resp_get_wr_id(struct rvt_qp *qp)
{
	if (!softib_is_rc(qp) && test_bit(RVT_R_WRID_VALID, &qp->r_aflags))
		return 1;
	return rvt_get_rwqe(qp, true);
}

/* Return: true if there is a receive; else the answer is complete. */
static bool softib_resp_check_rwqe(struct rvt_qp *qp,
				   struct softib_answer *answer, int ret)
{
	if (likely(ret > 0))
		return true;
	if (!ret) {
		softib_resp_rnr(qp, answer);
		return false;
	}
	if (softib_is_rc(qp))
		softib_answer_nak(answer, qp, IB_NAK_REMOTE_OPERATIONAL_ERROR);
	softib_resp_error(qp, answer, IB_WC_LOC_QP_OP_ERR);
	return false;
}

static bool softib_resp_fits(const struct rvt_qp *qp,
			     const struct softib_frame *frame)
{
	struct softib_node *node = qp_to_softib_port(qp)->dev->node;

	return frame->len <= qp->r_len - qp->r_rcv_len &&
	       likely(!softib_fault_hit(&node->long_next));
}

static void softib_resp_place(struct rvt_qp *qp,
			      const struct softib_frame *frame)
{
	struct softib_payload from;

	softib_payload_init(&from, frame);
	softib_payload_to_sge(&from, &qp->r_sge, frame->len);
	qp->r_rcv_len += frame->len;
}

static void softib_resp_complete(struct rvt_qp *qp, struct softib_answer *answer,
				 const struct softib_frame *frame,
				 enum ib_wc_opcode opcode)
{
	struct softib_node *node = qp_to_softib_port(qp)->dev->node;
	struct ib_wc wc = {
		.wr_id = qp->r_wr_id,
		.status = IB_WC_SUCCESS,
		.opcode = opcode,
		.byte_len = softib_fault_length(qp, &node->overlong_rc,
						qp->r_rcv_len),
		.qp = &qp->ibqp,
		.src_qp = qp->remote_qpn,
		.slid = frame->slid,
		.sl = frame->sl,
		.port_num = qp->port_num,
	};

	switch (frame->opcode & ~RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_SEND_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE:
	case IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = frame->imm;
		break;
	}
	clear_bit(RVT_R_WRID_VALID, &qp->r_aflags);
	if (!rvt_cq_enter(ibcq_to_rvtcq(qp->ibqp.recv_cq), &wc, frame->se))
		softib_resp_error(qp, answer, IB_WC_LOC_QP_OP_ERR);
}

/* After the execution of a request: advance to the next PSN, and acknowledge. */
static void softib_resp_done(struct rvt_qp *qp, struct softib_answer *answer,
			     const struct softib_frame *frame)
{
	qp->r_psn = (frame->psn + softib_rc_packets(qp, frame->len)) & 0xffffff;
	qp->r_state = frame->opcode;
	qp->r_nak_state = 0;
	if (!softib_rc_goes_on(frame->opcode))
		qp->r_msn++;
	if (softib_is_rc(qp))
		softib_answer_ack(answer, qp, qp->r_psn - 1);
}

static void softib_resp_send(struct rvt_qp *qp, struct softib_answer *answer,
			     const struct softib_frame *frame, bool begins)
{
	const bool ends = !softib_rc_goes_on(frame->opcode);

	if (begins) {
		int ret = softib_resp_get_buffer(qp);

		if (!softib_resp_check_rwqe(qp, answer, ret))
			return;
		qp->r_rcv_len = 0;
		if (!ends && !softib_is_rc(qp))
			softib_uc_keep_sge(qp);
	}
	if (!softib_resp_fits(qp, frame))
		return softib_resp_nak(qp, answer, IB_NAK_INVALID_REQUEST,
				       IB_WC_LOC_LEN_ERR);
	softib_resp_place(qp, frame);
	softib_resp_done(qp, answer, frame);
	if (!ends)
		return;
	rvt_put_ss(&qp->r_sge);
	softib_uc_forget_sge(qp);
	softib_resp_complete(qp, answer, frame, IB_WC_RECV);
}

/* Return: true if qp->r_sge is the memory to write to. */
static bool softib_resp_write_begin(struct rvt_qp *qp,
				    const struct softib_frame *frame)
{
	/* The receive of an incomplete UC message is kept. */
	if (!softib_is_rc(qp)) {
		if (!test_bit(RVT_R_REWIND_SGE, &qp->r_aflags) &&
		    test_bit(RVT_R_WRID_VALID, &qp->r_aflags))
			softib_uc_keep_sge(qp);
		rvt_put_ss(&qp->r_sge);
	}
	qp->r_sge.num_sge = 0;
	qp->r_rcv_len = 0;
	qp->r_len = frame->dmalen;
	if (!frame->dmalen)
		return true;
	if (!rvt_rkey_ok(qp, &qp->r_sge.sge, frame->dmalen, frame->va,
			 frame->rkey, IB_ACCESS_REMOTE_WRITE))
		return false;
	qp->r_sge.sg_list = NULL;
	qp->r_sge.num_sge = 1;
	qp->r_sge.total_len = frame->dmalen;
	return true;
}

static void softib_resp_begin_half(struct rvt_qp *qp, u64 lid)
{
	if (!softib_is_rc(qp) || !qp->ibqp.srq ||
	    rdma_ah_get_dlid(&qp->remote_ah_attr) != lid)
		return;
	spin_lock_irq(&qp->r_lock);
	if (ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK &&
	    !softib_rc_goes_on(qp->r_state) && softib_resp_get_buffer(qp) > 0) {
		qp->r_rcv_len = 0;
		qp->r_state = IB_OPCODE_RC_SEND_FIRST;
		qp->r_psn = (qp->r_psn + 1) & 0xffffff;
	}
	spin_unlock_irq(&qp->r_lock);
}

/**
 * softib_resp_half() - begin, but do not end, a message on each connection of a port
 * @dev: receiving HCA
 * @lid: the peer's port: RC connections with this port and with a shared receive queue
 *
 * The message takes a receive, like the first packet of a SEND, and keeps it. Connections that
 * find no receive, or have a message in progress, are unchanged.
 *
 * Context: process.
 */
void softib_resp_half(struct softib_dev *dev, u16 lid)
{
	rvt_qp_iter(&dev->rdi, lid, softib_resp_begin_half);
}

static void softib_resp_end_half(struct rvt_qp *qp, u64 lid)
{
	/* Encapsulation header with EtherType 0x88b5, without payload */
	u8 message[] = { 0x88, 0xb5, 0, 0 };
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = sizeof(message),
		.qp = &qp->ibqp,
		.src_qp = qp->remote_qpn,
		.slid = lid,
		.port_num = qp->port_num,
	};

	if (!softib_is_rc(qp) || !qp->ibqp.srq ||
	    rdma_ah_get_dlid(&qp->remote_ah_attr) != lid)
		return;
	spin_lock_irq(&qp->r_lock);
	if (ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK &&
	    qp->r_state == IB_OPCODE_RC_SEND_FIRST && !qp->r_rcv_len) {
		rvt_copy_sge(qp, &qp->r_sge, message, sizeof(message), true, false);
		rvt_put_ss(&qp->r_sge);
		qp->r_state = IB_OPCODE_RC_SEND_LAST;
		qp->r_psn = (qp->r_psn + 1) & 0xffffff;
		clear_bit(RVT_R_WRID_VALID, &qp->r_aflags);
		wc.wr_id = qp->r_wr_id;
		rvt_cq_enter(ibcq_to_rvtcq(qp->ibqp.recv_cq), &wc, false);
	}
	spin_unlock_irq(&qp->r_lock);
}

/*
 * End the messages of softib_resp_half(), with the same arguments: their receives complete with a
 * message that consists of an encapsulation header. Context: process.
 */
void softib_resp_end_halves(struct softib_dev *dev, u16 lid)
{
	rvt_qp_iter(&dev->rdi, lid, softib_resp_end_half);
}

static bool softib_resp_has_imm(const struct softib_frame *frame)
{
	const u8 op = frame->opcode & ~RVT_OPCODE_QP_MASK;

	return op == IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE ||
	       op == IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE;
}

/*
 * Get the receive for immediate data. RC gets it before the WRITE, as it may have to send an RNR
 * NAK; UC gets it after the WRITE, as it cannot give it back if the WRITE fails.
 */
static bool softib_resp_write_imm(struct rvt_qp *qp,
				  struct softib_answer *answer, bool rc)
{
	if (softib_is_rc(qp) != rc)
		return true;
	return softib_resp_check_rwqe(qp, answer, softib_resp_get_wr_id(qp));
}

static void softib_resp_write(struct rvt_qp *qp, struct softib_answer *answer,
			      const struct softib_frame *frame, bool begins)
{
	const bool ends = !softib_rc_goes_on(frame->opcode);
	const bool imm = softib_resp_has_imm(frame);

	if (!(qp->qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return softib_resp_invalid(qp, answer);
	if (imm && !softib_resp_write_imm(qp, answer, true))
		return;
	if (begins && !softib_resp_write_begin(qp, frame))
		return softib_resp_access(qp, answer);
	if (!softib_resp_fits(qp, frame) ||
	    (ends && qp->r_rcv_len + frame->len != qp->r_len))
		return softib_resp_invalid(qp, answer);
	softib_resp_place(qp, frame);
	softib_resp_done(qp, answer, frame);
	if (!ends)
		return;
	rvt_put_ss(&qp->r_sge);
	if (!imm || !softib_resp_write_imm(qp, answer, false))
		return;
	softib_uc_forget_sge(qp);
	softib_resp_complete(qp, answer, frame, IB_WC_RECV_RDMA_WITH_IMM);
}

/* A duplicate READ is executed again. */
static void softib_resp_read(struct rvt_qp *qp, struct softib_answer *answer,
			     const struct softib_frame *frame, bool duplicate)
{
	if (!(qp->qp_access_flags & IB_ACCESS_REMOTE_READ) ||
	    !qp->r_max_rd_atomic)
		return softib_resp_invalid(qp, answer);
	if (frame->dmalen) {
		if (!rvt_rkey_ok(qp, &answer->sge, frame->dmalen, frame->va,
				 frame->rkey, IB_ACCESS_REMOTE_READ))
			return softib_resp_access(qp, answer);
		answer->len = frame->dmalen;
	}
	if (!duplicate) {
		qp->r_psn = (frame->psn + softib_rc_packets(qp, answer->len)) &
			    0xffffff;
		qp->r_state = frame->opcode;
		qp->r_nak_state = 0;
		qp->r_msn++;
	}
	softib_answer_ack(answer, qp, frame->psn);
	answer->opcode = IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY;
}

/* IBTA 9.7.4.4: acknowledge a duplicate SEND or WRITE without executing it again. */
static void softib_resp_duplicate(struct rvt_qp *qp,
				  struct softib_answer *answer,
				  const struct softib_frame *frame)
{
	if (frame->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST)
		softib_resp_read(qp, answer, frame, true);
	else
		softib_answer_ack(answer, qp, qp->r_psn - 1);
}

enum softib_kind {
	SOFTIB_KIND_SEND,
	SOFTIB_KIND_WRITE,
	SOFTIB_KIND_OTHER,
};

static enum softib_kind softib_resp_kind(u8 opcode)
{
	switch (opcode & ~RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_SEND_FIRST:
	case IB_OPCODE_SEND_MIDDLE:
	case IB_OPCODE_SEND_LAST:
	case IB_OPCODE_SEND_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_SEND_ONLY:
	case IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE:
		return SOFTIB_KIND_SEND;
	case IB_OPCODE_RDMA_WRITE_FIRST:
	case IB_OPCODE_RDMA_WRITE_MIDDLE:
	case IB_OPCODE_RDMA_WRITE_LAST:
	case IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_RDMA_WRITE_ONLY:
	case IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		return SOFTIB_KIND_WRITE;
	default:
		return SOFTIB_KIND_OTHER;
	}
}

/* A frame with this opcode continues a message. */
static bool softib_resp_continues(u8 opcode)
{
	switch (opcode & ~RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_SEND_MIDDLE:
	case IB_OPCODE_SEND_LAST:
	case IB_OPCODE_SEND_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_RDMA_WRITE_MIDDLE:
	case IB_OPCODE_RDMA_WRITE_LAST:
	case IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE:
		return true;
	default:
		return false;
	}
}

/* IBTA 9.7.4.1.2: valid sequence of opcodes */
static bool softib_resp_in_order(const struct rvt_qp *qp, u8 opcode)
{
	if (!softib_rc_goes_on(qp->r_state))
		return !softib_resp_continues(opcode);
	return softib_resp_continues(opcode) &&
	       softib_resp_kind(opcode) == softib_resp_kind(qp->r_state);
}

static void softib_resp_execute(struct rvt_qp *qp, struct softib_answer *answer,
				const struct softib_frame *frame)
{
	const bool begins = !softib_resp_continues(frame->opcode);

	switch (softib_resp_kind(frame->opcode)) {
	case SOFTIB_KIND_SEND:
		return softib_resp_send(qp, answer, frame, begins);
	case SOFTIB_KIND_WRITE:
		return softib_resp_write(qp, answer, frame, begins);
	default:
		if (frame->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST)
			return softib_resp_read(qp, answer, frame, false);
		return softib_resp_invalid(qp, answer);
	}
}

static void softib_resp_rc(struct rvt_qp *qp, struct softib_answer *answer,
			   const struct softib_frame *frame)
{
	const int order = softib_psn_cmp(frame->psn, qp->r_psn);

	if (unlikely(order < 0))
		return softib_resp_duplicate(qp, answer, frame);
	if (unlikely(order > 0)) {
		/* A single NAK, until the expected PSN has arrived */
		if (qp->r_nak_state)
			return;
		qp->r_nak_state = IB_NAK_PSN_ERROR;
		softib_answer_nak(answer, qp, IB_NAK_PSN_ERROR);
		return;
	}
	if (unlikely(!softib_resp_in_order(qp, frame->opcode)))
		return softib_resp_invalid(qp, answer);
	softib_resp_execute(qp, answer, frame);
}

/*
 * UC: the loss of a packet loses only its message. The rest of a message whose first frame was lost
 * or refused is dropped silently.
 */
static void softib_resp_uc(struct rvt_qp *qp, struct softib_answer *answer,
			   const struct softib_frame *frame)
{
	const bool lost = softib_psn_cmp(frame->psn, qp->r_psn);

	qp->r_psn = (frame->psn + softib_rc_packets(qp, frame->len)) & 0xffffff;
	if (softib_resp_continues(frame->opcode) &&
	    (lost || !softib_resp_in_order(qp, frame->opcode))) {
		qp->r_state = IB_OPCODE_UC_SEND_LAST;
		return;
	}
	/* Ends the earlier message, and this message, too, unless its execution succeeds. */
	qp->r_state = IB_OPCODE_UC_SEND_LAST;
	softib_resp_execute(qp, answer, frame);
}

static void softib_answer_send(struct softib_port *port, struct rvt_qp *qp,
			       struct softib_answer *answer)
{
	struct softib_frame frame;

	softib_frame_init(&frame, answer->opcode);
	softib_rc_address(&frame, qp);
	frame.psn = answer->psn & 0xffffff;
	frame.aeth = answer->aeth;
	if (answer->len) {
		frame.len = answer->len;
		frame.ss.sge = answer->sge;
		frame.ss.sg_list = NULL;
		frame.ss.num_sge = 1;
		frame.ss.total_len = answer->len;
	}
	softib_port_tx(port, &frame);
}

/* Context: no QP lock held. */
static void softib_answer_finish(struct softib_port *port, struct rvt_qp *qp,
				 struct softib_answer *answer)
{
	if (answer->opcode)
		softib_answer_send(port, qp, answer);
	if (answer->len)
		rvt_put_mr(answer->sge.mr);
	if (unlikely(answer->event >= 0))
		softib_qp_event(qp, answer->event);
	if (unlikely(answer->last_wqe))
		softib_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/* Receive a request for an RC or UC QP. Context: rcu_read_lock() held, no QP lock held. */
void softib_rc_request(struct softib_port *port, struct rvt_qp *qp,
		       const struct softib_frame *frame)
{
	struct softib_answer answer;
	bool first = false;
	unsigned long flags;

	answer.opcode = 0;
	answer.len = 0;
	answer.event = -1;
	answer.last_wqe = false;
	spin_lock_irqsave(&qp->r_lock, flags);
	if (unlikely(!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK))) {
		spin_unlock_irqrestore(&qp->r_lock, flags);
		softib_port_drop(port, SOFTIB_DROP_QP_STATE);
		return;
	}
	if (unlikely(qp->state == IB_QPS_RTR &&
		     !(qp->r_flags & RVT_R_COMM_EST))) {
		qp->r_flags |= RVT_R_COMM_EST;
		first = true;
	}
	if (unlikely(softib_fault_hit(&port->dev->node->silent_next)))
		softib_resp_error(qp, &answer, IB_WC_WR_FLUSH_ERR);
	else if (softib_is_rc(qp))
		softib_resp_rc(qp, &answer, frame);
	else
		softib_resp_uc(qp, &answer, frame);
	spin_unlock_irqrestore(&qp->r_lock, flags);

	if (unlikely(first))
		softib_qp_event(qp, IB_EVENT_COMM_EST);
	softib_answer_finish(port, qp, &answer);
}
