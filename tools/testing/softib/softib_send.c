// SPDX-License-Identifier: GPL-2.0
/*
 * What the send engines of all transports share: when they run, how they are
 * kept from running twice, and how they are stopped. Also the life of the
 * driver's part of a QP.
 *
 * An engine is <transport>_do_send(qp). It takes s_lock and makes itself the
 * only one on this QP with softib_send_claim() (RVT_S_BUSY), drops s_lock
 * around each softib_port_tx(), and ends with softib_send_release(). It looks
 * for new work and gives up RVT_S_BUSY in one critical section of s_lock, so a
 * poster that found it busy need not come again. After SOFTIB_SEND_BATCH
 * messages it returns true, "more", and is run again from a workqueue: posters
 * are often in softirq.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "softib.h"

/**
 * softib_send_claim() - become the send engine of a QP
 * @qp: the QP
 *
 * Context: s_lock held.
 * Return: false if another engine runs, or the QP neither sends nor flushes.
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

/**
 * softib_send_release() - stop being the send engine of a QP
 * @qp: the QP
 *
 * Context: s_lock held since the engine last looked for work.
 */
void softib_send_release(struct rvt_qp *qp)
{
	lockdep_assert_held(&qp->s_lock);
	qp->s_flags &= ~RVT_S_BUSY;
	/* Who resets the QP sets the state first, and then waits. */
	if (unlikely(qp->state == IB_QPS_RESET))
		wake_up(&qp_to_softib_qp(qp)->idle);
}

/**
 * softib_send_flush() - complete all that is posted as flushed
 * @qp: the QP, in a state that flushes its send queue
 *
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

/**
 * softib_send_work() - have the send engine run soon, whatever the QP waits for
 * @qp: the QP
 *
 * Context: any.
 */
void softib_send_work(struct rvt_qp *qp)
{
	queue_work(qp_to_softib(qp)->node->model->async ?
		   softib_fabric->engine : softib_fabric->wq,
		   &qp_to_softib_qp(qp)->work);
}

/**
 * softib_do_send() - run the send engine of a QP
 * @qp: the QP
 *
 * Context: any, but no QP lock held.
 */
void softib_do_send(struct rvt_qp *qp)
{
	bool more = qp->allowed_ops == IB_OPCODE_UD ? softib_ud_do_send(qp) :
						      softib_rc_do_send(qp);

	if (unlikely(more))
		softib_send_work(qp);
}

/**
 * softib_post_do_send() - something was posted to a QP
 * @qp: the QP
 *
 * Context: any, but no QP lock held.
 */
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

	/* MADs are spared, or the subnet would be slow and not the link. */
	if (us && priv->qp->ibqp.qp_num > 1) {
		/* What is posted meanwhile has queued this work once more. */
		priv->late_from = READ_ONCE(priv->qp->s_head);
		usleep_range(us, us + us / 8);
	} else {
		priv->late_from = SOFTIB_NONE_LATE;
	}
	softib_do_send(priv->qp);
}

/**
 * softib_schedule_send() - run the send engine soon
 * @qp: the QP
 *
 * Context: s_lock held.
 * Return: whether it will run because of this call.
 */
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

/**
 * softib_schedule_send_no_lock() - run the send engine now
 * @qp: the QP
 *
 * rdmavt ends rvt_post_send() with this unless it calls do_send itself, which
 * it does for a single work request on an empty queue only. Sending at once
 * in either case saves lists of work requests a trip through a workqueue.
 *
 * Context: any, but no QP lock held.
 * Return: true
 */
bool softib_schedule_send_no_lock(struct rvt_qp *qp)
{
	softib_post_do_send(qp);
	return true;
}

/**
 * softib_qp_alloc() - make the driver's part of a QP
 * @rdi: the HCA
 * @qp: the QP
 *
 * Return: it, or an ERR_PTR().
 */
void *softib_qp_alloc(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	struct softib_node *node = rdi_to_softib(rdi)->node;
	struct softib_qp *priv;

	/* rdmavt makes QP0 and QP1 this way too; without them all is lost. */
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

/**
 * softib_qp_free() - free the driver's part of a QP
 * @rdi: the HCA
 * @qp: the QP, stopped and unused
 */
void softib_qp_free(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	softib_lso_free(qp);
	kfree(qp_to_softib_qp(qp));
}

/**
 * softib_qp_free_all() - rdmavt insists on it, and asks nothing of it
 * @rdi: the HCA
 *
 * Return: 0, no QPs of the driver's own.
 */
unsigned int softib_qp_free_all(struct rvt_dev_info *rdi)
{
	return 0;
}

/*
 * A QP in RESET holds no work request (IBTA 10.3.1), but rdmavt keeps what is
 * in the receive queue, and with it addresses that may have been freed.
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

/**
 * softib_qp_reset() - a QP has been stopped and enters the reset state
 * @qp: the QP
 *
 * Context: r_lock, s_hlock and s_lock held.
 */
void softib_qp_reset(struct rvt_qp *qp)
{
	softib_rq_empty(qp);
	qp_to_softib_qp(qp)->events = 0;
}

/**
 * softib_qp_error() - a QP enters the error state
 * @qp: the QP
 *
 * rdmavt drops the buffers of a message that was coming in, and schedules the engine,
 * which flushes.
 *
 * Context: r_lock and s_lock held.
 */
void softib_qp_error(struct rvt_qp *qp)
{
	softib_qp_hold(qp);
}

/**
 * softib_qp_flush_waiters() - take a QP that is being reset off all lists
 * @qp: the QP, which is on none: it waits in its timers, and rdmavt stops them
 *
 * Context: s_lock held.
 */
void softib_qp_flush_waiters(struct rvt_qp *qp)
{
}

/**
 * softib_qp_modify() - a QP has been modified
 * @qp: the QP
 * @attr: the new attributes
 * @mask: which of them were given
 * @udata: unused
 *
 * Context: r_lock, s_hlock and s_lock held.
 */
void softib_qp_modify(struct rvt_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata)
{
	/* What was posted while the queue was drained goes out now. */
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTS &&
	    qp->s_last != READ_ONCE(qp->s_head))
		softib_schedule_send(qp);
}

/**
 * softib_qp_stop() - stop what may start the send engine
 * @qp: the QP, already in the reset state
 *
 * Context: may sleep, no QP lock held.
 */
void softib_qp_stop(struct rvt_qp *qp)
{
	cancel_work_sync(&qp_to_softib_qp(qp)->work);
}

/**
 * softib_qp_quiesce() - wait until the send engine has left
 * @qp: the QP, in the reset state, so that no engine can enter anew
 *
 * Context: may sleep, no QP lock held.
 */
void softib_qp_quiesce(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp_to_softib_qp(qp);

	wait_event(priv->idle, !(READ_ONCE(qp->s_flags) & RVT_S_BUSY));
	/* The engine's last act may have been to ask for another turn. */
	cancel_work_sync(&priv->work);
	/*
	 * It set the flag free under s_lock and may still be inside wake_up();
	 * the QP is freed after this.
	 */
	spin_lock_irq(&qp->s_lock);
	spin_unlock_irq(&qp->s_lock);
}
