// SPDX-License-Identifier: GPL-2.0
/*
 * Common part of the send engines of all transports: scheduling, mutual
 * exclusion and stop; allocation of the private part of a QP.
 *
 * An engine is <transport>_do_send(qp). It takes s_lock and claims the QP with
 * softib_send_claim() (RVT_S_BUSY), drops s_lock around each softib_port_tx(),
 * and ends with softib_send_release(). Its last check for work and the release
 * of RVT_S_BUSY are in the same critical section of s_lock, so a poster that
 * finds the QP busy need not retry. After SOFTIB_SEND_BATCH messages it returns
 * true, "more", and runs again from a workqueue: posters are often in softirq.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "softib.h"

/*
 * Claim the send engine of a QP. Context: s_lock held. Return: false if the engine runs, or the QP
 * neither sends nor flushes.
 */
bool softib_send_claim(struct rvt_qp *qp)
{
	lockdep_assert_held(&qp->s_lock);
	if (qp->s_flags & RVT_S_BUSY)
		return false;
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_OR_FLUSH_SEND))
		return false;
	qp->s_flags |= RVT_S_BUSY;
	return true;
}

/* Release the send engine. Context: s_lock held since the engine's last check for work. */
void softib_send_release(struct rvt_qp *qp)
{
	lockdep_assert_held(&qp->s_lock);
	qp->s_flags &= ~RVT_S_BUSY;
	/* A reset sets the state first, and then waits for idle. */
	if (unlikely(qp->state == IB_QPS_RESET))
		wake_up(&qp_to_softib_qp(qp)->idle);
}

/*
 * Complete all posted sends as flushed. The QP is in a state that flushes its send queue.
 * Context: s_lock held, by the engine.
 */
void softib_send_flush(struct rvt_qp *qp)
{
	lockdep_assert_held(&qp->s_lock);
	while (qp->s_last != READ_ONCE(qp->s_head)) {
		/* Pairs with the write barrier of rvt_post_one_wr(). */
		smp_rmb();
		rvt_send_complete(qp, rvt_get_swqe_ptr(qp, qp->s_last),
				  IB_WC_WR_FLUSH_ERR);
	}
}

/* Queue a run of the send engine, whatever the QP waits for. Context: any. */
void softib_send_work(struct rvt_qp *qp)
{
	queue_work(qp_to_softib(qp)->node->model->async ?
		   softib_fabric->engine : softib_fabric->wq,
		   &qp_to_softib_qp(qp)->work);
}

/* Run the send engine of a QP. Context: any, but no QP lock held. */
void softib_do_send(struct rvt_qp *qp)
{
	bool more = qp->allowed_ops == IB_OPCODE_UD ? softib_ud_do_send(qp) :
						      softib_rc_do_send(qp);

	if (unlikely(more))
		softib_send_work(qp);
}

/* Run the send engine, or queue it, after a post. Context: any, but no QP lock held. */
void softib_post_do_send(struct rvt_qp *qp)
{
	if (qp_to_softib(qp)->node->model->async)
		softib_send_work(qp);
	else
		softib_do_send(qp);
}

static void softib_send_worker(struct work_struct *work)
{
	struct softib_qp *priv = container_of(work, struct softib_qp, work);
	u32 us = READ_ONCE(qp_to_softib(priv->qp)->node->latency_us);

	/* MADs are exempt: the knob delays the link, not the subnet management. */
	if (us && priv->qp->ibqp.qp_num > 1) {
		/* A post during the sleep queues this work again. */
		priv->late_from = READ_ONCE(priv->qp->s_head);
		usleep_range(us, us + us / 8);
	} else {
		priv->late_from = SOFTIB_NONE_LATE;
	}
	softib_do_send(priv->qp);
}

/* Queue a run of the send engine, unless the QP waits. Context: s_lock held. Return: if queued. */
bool softib_schedule_send(struct rvt_qp *qp)
{
	lockdep_assert_held(&qp->s_lock);
	if (qp->s_flags & (RVT_S_BUSY | RVT_S_ANY_WAIT))
		return false;
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_OR_FLUSH_SEND))
		return false;
	softib_send_work(qp);
	return true;
}

/*
 * Run the send engine now.
 *
 * rvt_post_send() ends with this call, except for a single work request on an empty queue: there
 * it calls do_send. Sending at once in both cases saves lists of work requests a trip through a
 * workqueue.
 *
 * Context: any, but no QP lock held. Return: true
 */
bool softib_schedule_send_no_lock(struct rvt_qp *qp)
{
	softib_post_do_send(qp);
	return true;
}

/* Allocate the private part of a QP. Return: the private part, or an ERR_PTR(). */
void *softib_qp_alloc(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	struct softib_node *node = rdi_to_softib(rdi)->node;
	struct softib_qp *priv;

	/* rdmavt also allocates QP0 and QP1 here; without them the HCA is useless. */
	if (qp->ibqp.qp_type != IB_QPT_SMI && qp->ibqp.qp_type != IB_QPT_GSI &&
	    softib_fault_hit(&node->fail_qp))
		return ERR_PTR(-ENOMEM);
	priv = kzalloc(sizeof(*priv), GFP_KERNEL);
	if (!priv)
		return ERR_PTR(-ENOMEM);
	priv->qp = qp;
	priv->late_from = SOFTIB_NONE_LATE;
	INIT_WORK(&priv->work, softib_send_worker);
	init_waitqueue_head(&priv->idle);
	return priv;
}

/* Free the private part of a QP that is stopped and unused. */
void softib_qp_free(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	softib_lso_free(qp);
	kfree(qp_to_softib_qp(qp));
}

/* Required by rdmavt. Return: 0, as the driver has no QPs of its own */
unsigned int softib_qp_free_all(struct rvt_dev_info *rdi)
{
	return 0;
}

/*
 * A QP in RESET holds no work requests (IBTA 10.3.1), but rdmavt leaves the receive queue as it
 * was, with addresses that may have been freed.
 */
static void softib_rq_empty(struct rvt_qp *qp)
{
	struct rvt_rq *rq = &qp->r_rq;

	if (!rq->kwq)
		return;
	spin_lock(&rq->kwq->c_lock);
	if (qp->ip)
		RDMA_WRITE_UAPI_ATOMIC(rq->wq->tail,
				       RDMA_READ_UAPI_ATOMIC(rq->wq->head));
	else
		rq->kwq->tail = rq->kwq->head;
	rq->kwq->count = 0;
	spin_unlock(&rq->kwq->c_lock);
}

/* A stopped QP enters RESET. Context: r_lock, s_hlock and s_lock held. */
void softib_qp_reset(struct rvt_qp *qp)
{
	softib_rq_empty(qp);
	qp_to_softib_qp(qp)->events = 0;
}

/*
 * A QP enters the error state. rdmavt drops the receive of a message in progress, and schedules the
 * engine, which flushes.
 *
 * Context: r_lock and s_lock held.
 */
void softib_qp_error(struct rvt_qp *qp)
{
	softib_qp_hold(qp);
}

/*
 * Required by rdmavt: remove a QP in RESET from wait lists. There are none: QPs wait in timers,
 * which rdmavt stops. Context: s_lock held.
 */
void softib_qp_flush_waiters(struct rvt_qp *qp)
{
}

/* A QP has been modified. Context: r_lock, s_hlock and s_lock held. */
void softib_qp_modify(struct rvt_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata)
{
	/* Send the work requests that were posted during the drain. */
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTS &&
	    qp->s_last != READ_ONCE(qp->s_head))
		softib_schedule_send(qp);
}

/* Stop a queued run of the engine. QP in RESET. Context: may sleep, no QP lock held. */
void softib_qp_stop(struct rvt_qp *qp)
{
	cancel_work_sync(&qp_to_softib_qp(qp)->work);
}

/*
 * Wait for the end of the send engine. In RESET it cannot start again. Context: may sleep, no QP
 * lock held.
 */
void softib_qp_quiesce(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp_to_softib_qp(qp);

	wait_event(priv->idle, !(READ_ONCE(qp->s_flags) & RVT_S_BUSY));
	/* The engine may have queued another turn at its end. */
	cancel_work_sync(&priv->work);
	/*
	 * The engine clears RVT_S_BUSY under s_lock and may still be in wake_up(); the QP is freed
	 * after this.
	 */
	spin_lock_irq(&qp->s_lock);
	spin_unlock_irq(&qp->s_lock);
}
