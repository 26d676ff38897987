// SPDX-License-Identifier: GPL-2.0
/*
 * UC: the requester. The responder is softib_resp.c.
 *
 * Nothing is acknowledged, so a work request is complete as soon as its last
 * frame has travelled, wherever it got.
 */
#include "softib_rc.h"

/* Context: s_lock held; dropped while the frame travels. */
static void softib_uc_send_one(struct rvt_qp *qp, unsigned long *flags)
	__must_hold(&qp->s_lock)
{
	struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_cur);
	struct softib_frame frame;

	softib_rc_build(qp, wqe, &frame);
	spin_unlock_irqrestore(&qp->s_lock, *flags);
	softib_port_tx(qp_to_softib_port(qp), &frame);
	spin_lock_irqsave(&qp->s_lock, *flags);
	if (qp->s_last != qp->s_cur &&
	    ib_rvt_state_ops[qp->state] & RVT_PROCESS_OR_FLUSH_SEND)
		softib_rc_complete(qp, IB_WC_SUCCESS);
}

/* Context: s_lock held. Return: true if the turn was over before the work. */
static bool softib_uc_turn(struct rvt_qp *qp, unsigned long *flags)
	__must_hold(&qp->s_lock)
{
	int budget = SOFTIB_SEND_BATCH;

	while (qp->s_cur != READ_ONCE(qp->s_head)) {
		const u8 ops = ib_rvt_state_ops[qp->state];

		if (unlikely(ops & RVT_FLUSH_SEND)) {
			softib_rc_flush(qp);
			return false;
		}
		if (!(ops & RVT_PROCESS_NEXT_SEND_OK))
			return false;
		if (!budget--)
			return true;
		/* Pairs with the write barrier of rvt_post_one_wr(). */
		smp_rmb();
		softib_uc_send_one(qp, flags);
	}
	return false;
}

/**
 * softib_uc_do_send() - send engine of a UC QP
 * @qp: the QP
 *
 * Context: any, but no QP lock held.
 * Return: true if its turn was over before its work.
 */
bool softib_uc_do_send(struct rvt_qp *qp)
{
	unsigned long flags;
	bool more = false;

	spin_lock_irqsave(&qp->s_lock, flags);
	if (softib_send_claim(qp)) {
		more = softib_uc_turn(qp, &flags);
		softib_send_release(qp);
	}
	spin_unlock_irqrestore(&qp->s_lock, flags);
	softib_rc_events(qp);
	return more;
}
