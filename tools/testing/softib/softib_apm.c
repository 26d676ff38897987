// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic path migration, IBTA 17.2.8: a connection that is armed goes over to
 * its alternate path when the tries on its path are used up, or when a packet
 * comes by the alternate path whose MigReq bit says that the peer has.
 *
 * rdmavt keeps the alternate path (alt_ah_attr) and what the consumer says
 * (s_mig_state); what happens by itself is here. The state changes with r_lock and
 * s_lock held, so who holds one of them may read it.
 */
#include "softib_rc.h"

/**
 * softib_apm_migrate() - go over to the alternate path
 * @qp: the QP
 *
 * The consumer is told by the send engine, with no lock held.
 *
 * Context: r_lock and s_lock held.
 * Return: false if the QP is not armed.
 */
bool softib_apm_migrate(struct rvt_qp *qp)
{
	lockdep_assert_held(&qp->r_lock);
	lockdep_assert_held(&qp->s_lock);
	if (qp->s_mig_state != IB_MIG_ARMED)
		return false;
	/* The alternate one is now what was left: each keeps its references. */
	swap(qp->remote_ah_attr, qp->alt_ah_attr);
	qp->port_num = rdma_ah_get_port_num(&qp->remote_ah_attr);
	qp->s_pkey_index = qp->s_alt_pkey_index;
	/* It is the path that has used them up. */
	qp->s_retry = qp->s_retry_cnt;
	WRITE_ONCE(qp->s_mig_state, IB_MIG_MIGRATED);
	set_bit(SOFTIB_RC_MIGRATED, &qp_to_softib_rc(qp)->events);
	softib_send_work(qp);
	return true;
}

static bool softib_apm_on_path(const struct rdma_ah_attr *path,
			       const struct softib_frame *frame)
{
	return frame->slid == rdma_ah_get_dlid(path);
}

/* The state may have to follow that of the peer. */
static bool softib_apm_heard(struct rvt_qp *qp,
			     const struct softib_frame *frame)
{
	unsigned long flags;
	bool heard;

	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	if (frame->migreq && qp->s_mig_state == IB_MIG_ARMED) {
		heard = softib_apm_on_path(&qp->alt_ah_attr, frame) &&
			softib_apm_migrate(qp);
	} else {
		heard = softib_apm_on_path(&qp->remote_ah_attr, frame);
		if (heard && !frame->migreq && qp->s_mig_state == IB_MIG_REARM)
			WRITE_ONCE(qp->s_mig_state, IB_MIG_ARMED);
	}
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
	return heard;
}

/**
 * softib_apm_rx() - is a frame from the peer, by the path that it may take?
 * @qp: the QP it came to
 * @frame: the frame
 *
 * IBTA 9.6.1.5. A QP that has no alternate path, or has migrated, takes what
 * comes by its path whatever the bit says.
 *
 * Context: rcu_read_lock() held, no QP lock held.
 * Return: whether it is.
 */
bool softib_apm_rx(struct rvt_qp *qp, const struct softib_frame *frame)
{
	enum ib_mig_state state = READ_ONCE(qp->s_mig_state);

	if (likely(state == IB_MIG_MIGRATED) ||
	    (state == IB_MIG_ARMED && !frame->migreq))
		return softib_apm_on_path(&qp->remote_ah_attr, frame);
	return softib_apm_heard(qp, frame);
}
