// SPDX-License-Identifier: GPL-2.0
/*
 * Completion behaviour of real HCAs: a delay between completion and event, several completions
 * for an event, handlers in hard interrupt context, a further delay for the completions of a QP in
 * the error state, and no completions of a QP that was reset or destroyed.
 *
 * rdmavt calls the handler of a CQ from a work on the CPU of its completion vector. Here this
 * handler starts a timer on that CPU, and the timer calls the consumer's handler. This applies to
 * CQs of kernel consumers that are created with a handler; ib_mad sets its handlers later.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>

#include "softib.h"

/* Value of fields of an ib_wc that HCAs leave undefined */
#define SOFTIB_WC_POISON	0x5a5a5a5a

static struct softib_cq *ib_to_softib_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct softib_cq, rvt.ibcq);
}

static struct softib_dev *cq_to_softib(const struct softib_cq *cq)
{
	return ib_to_softib(cq->rvt.ibcq.device);
}

static const struct softib_model *softib_cq_model(const struct softib_cq *cq)
{
	return cq_to_softib(cq)->node->model;
}

static bool softib_cq_held(const struct softib_cq *cq)
{
	return cq->handler && READ_ONCE(cq_to_softib(cq)->node->hold_cq);
}

static bool softib_cq_empty(const struct softib_cq *cq)
{
	const struct rvt_k_cq_wc *queue = cq->rvt.kqueue;

	return READ_ONCE(queue->head) == READ_ONCE(queue->tail);
}

/* Interval to count the completions of a CQ whose report is delayed */
#define SOFTIB_CQ_LOOK		(10 * NSEC_PER_USEC)

static u32 softib_cq_pending(const struct softib_cq *cq)
{
	const struct rvt_k_cq_wc *queue = cq->rvt.kqueue;
	u32 head = READ_ONCE(queue->head), tail = READ_ONCE(queue->tail);

	return head >= tail ? head - tail : head + cq->rvt.ibcq.cqe + 1 - tail;
}

/* Moderation delays the report. */
static bool softib_cq_waits(const struct softib_cq *cq)
{
	u16 count = READ_ONCE(cq->count);

	return READ_ONCE(cq->usecs) && ktime_get_ns() < READ_ONCE(cq->due) &&
	       (!count || softib_cq_pending(cq) < count);
}

static enum hrtimer_restart softib_cq_fire(struct hrtimer *timer)
{
	struct softib_cq *cq = container_of(timer, struct softib_cq, timer);

	if (softib_cq_held(cq))
		return HRTIMER_NORESTART;
	if (softib_cq_waits(cq) && !READ_ONCE(cq->closing)) {
		/* No hrtimer_forward(): softib_cq_kick() may have started the timer. */
		hrtimer_start(timer, ns_to_ktime(SOFTIB_CQ_LOOK),
			      HRTIMER_MODE_REL_PINNED_HARD);
		return HRTIMER_NORESTART;
	}
	atomic_inc(&cq_to_softib(cq)->interrupts);
	cq->handler(&cq->rvt.ibcq, cq->rvt.ibcq.cq_context);
	return HRTIMER_NORESTART;
}

/* Schedule a call of the handler, not before the end of quiet_until. */
static void softib_cq_kick(struct softib_cq *cq)
{
	u64 wait = softib_cq_model(cq)->coalesce_us * NSEC_PER_USEC;
	u64 now = ktime_get_ns(), until = READ_ONCE(cq->quiet_until);

	if (until > now)
		wait = max(wait, until - now);
	if (READ_ONCE(cq->closing) || hrtimer_is_queued(&cq->timer))
		return;
	WRITE_ONCE(cq->due, now + READ_ONCE(cq->usecs) * NSEC_PER_USEC);
	hrtimer_start(&cq->timer, ns_to_ktime(wait),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static void softib_cq_event(struct ib_cq *ibcq, void *context)
{
	softib_cq_kick(ib_to_softib_cq(ibcq));
}

/**
 * softib_cq_init() - take over the completion handler of a CQ
 * @ibcq: the CQ, created by rdmavt
 * @vector: its completion vector; -1: CQ of user space
 */
void softib_cq_init(struct ib_cq *ibcq, int vector)
{
	struct softib_dev *dev = ib_to_softib(ibcq->device);
	struct softib_cq *cq = ib_to_softib_cq(ibcq);

	INIT_LIST_HEAD(&cq->list);
	cq->vector = vector < SOFTIB_VECTORS_SHOWN ? vector : -1;
	if (cq->vector >= 0)
		atomic_inc(&dev->vector_cqs[cq->vector]);
	if (vector < 0 || !ibcq->comp_handler || !dev->node->model->irq)
		return;
	cq->handler = ibcq->comp_handler;
	softib_hrtimer_setup(&cq->timer, softib_cq_fire,
			     HRTIMER_MODE_REL_PINNED_HARD);
	ibcq->comp_handler = softib_cq_event;
	mutex_lock(&dev->cq_mutex);
	list_add_tail(&cq->list, &dev->cqs);
	mutex_unlock(&dev->cq_mutex);
}

/* Stop calls of the handler of a CQ without QPs. Context: sleeps. */
void softib_cq_exit(struct ib_cq *ibcq)
{
	struct softib_dev *dev = ib_to_softib(ibcq->device);
	struct softib_cq *cq = ib_to_softib_cq(ibcq);

	if (cq->vector >= 0)
		atomic_dec(&dev->vector_cqs[cq->vector]);
	if (!cq->handler)
		return;
	mutex_lock(&dev->cq_mutex);
	list_del(&cq->list);
	mutex_unlock(&dev->cq_mutex);
	WRITE_ONCE(cq->closing, true);
	/* rdmavt's work may call softib_cq_kick() without having seen closing. */
	flush_work(&cq->rvt.comptask);
	hrtimer_cancel(&cq->timer);
}

/* Report the completions of all CQs that were held back. Context: sleeps. */
void softib_cq_release(struct softib_dev *dev)
{
	struct softib_cq *cq;

	mutex_lock(&dev->cq_mutex);
	list_for_each_entry(cq, &dev->cqs, list)
		softib_cq_kick(cq);
	mutex_unlock(&dev->cq_mutex);
}

/* Hide completions of a CQ for the flush delay of the model. */
void softib_cq_quiet(struct ib_cq *ibcq)
{
	struct softib_cq *cq = ib_to_softib_cq(ibcq);
	u32 us = softib_cq_model(cq)->flush_us;

	if (!cq->handler || !us || READ_ONCE(cq->quiet_until) == KTIME_MAX)
		return;
	WRITE_ONCE(cq->quiet_until, ktime_get_ns() + us * NSEC_PER_USEC);
	softib_cq_kick(cq);
}

/*
 * Fail all CQs of kernel consumers that have an event handler. They hold no completions, and raise
 * no events, any more. Context: sleeps.
 */
void softib_cqs_die(struct softib_dev *dev)
{
	struct ib_event event = {
		.device = &dev->rdi.ibdev,
		.event = IB_EVENT_CQ_ERR,
	};
	struct softib_cq *cq;

	mutex_lock(&dev->cq_mutex);
	list_for_each_entry(cq, &dev->cqs, list) {
		if (!cq->rvt.ibcq.event_handler)
			continue;
		WRITE_ONCE(cq->quiet_until, KTIME_MAX);
		event.element.cq = &cq->rvt.ibcq;
		cq->rvt.ibcq.event_handler(&event, cq->rvt.ibcq.cq_context);
	}
	mutex_unlock(&dev->cq_mutex);
}

/**
 * softib_cq_moderate() - ib_device_ops.modify_cq
 * @ibcq: the CQ
 * @count: number of completions of a report; 0: any
 * @usecs: maximum delay of a report after its first completion; 0: none
 *
 * Return: 0, or -EINVAL by &softib_node.fail_moderation
 */
int softib_cq_moderate(struct ib_cq *ibcq, u16 count, u16 usecs)
{
	struct softib_node *node = ib_to_softib(ibcq->device)->node;
	struct softib_cq *cq = ib_to_softib_cq(ibcq);
	u32 left = READ_ONCE(node->fail_moderation);

	if (softib_fault_hit(&node->fail_moderation) && left == 1)
		return -EINVAL;
	WRITE_ONCE(cq->count, count);
	WRITE_ONCE(cq->usecs, usecs);
	return 0;
}

/*
 * Print the moderation of the CQs of an HCA: a line with count and usecs each, in the order of
 * their creation. Context: sleeps.
 */
void softib_cq_show(struct softib_dev *dev, struct seq_file *seq)
{
	struct softib_cq *cq;

	mutex_lock(&dev->cq_mutex);
	list_for_each_entry(cq, &dev->cqs, list)
		seq_printf(seq, "%u %u\n", READ_ONCE(cq->count), READ_ONCE(cq->usecs));
	mutex_unlock(&dev->cq_mutex);
}

/* Remove the completions of a QP that is reset or destroyed from a CQ. */
void softib_cq_purge(struct ib_cq *ibcq, struct ib_qp *ibqp)
{
	struct softib_cq *cq = ib_to_softib_cq(ibcq);
	struct rvt_k_cq_wc *queue = cq->rvt.kqueue;
	u32 from, to, last = cq->rvt.ibcq.cqe;
	unsigned long flags;

	if (!cq->handler)
		return;
	spin_lock_irqsave(&cq->rvt.lock, flags);
	for (from = to = queue->tail; from != queue->head;
	     from = from == last ? 0 : from + 1) {
		if (queue->kqueue[from].qp == ibqp)
			continue;
		queue->kqueue[to] = queue->kqueue[from];
		to = to == last ? 0 : to + 1;
	}
	queue->head = to;
	spin_unlock_irqrestore(&cq->rvt.lock, flags);
}

/* An HCA sets wr_id, status, vendor_err and qp only in a completion in error. */
static void softib_wc_poison(struct ib_wc *wc)
{
	wc->opcode = SOFTIB_WC_POISON;
	wc->byte_len = SOFTIB_WC_POISON;
	wc->src_qp = SOFTIB_WC_POISON;
	wc->wc_flags = SOFTIB_WC_POISON;
	wc->slid = SOFTIB_WC_POISON;
	wc->pkey_index = SOFTIB_WC_POISON & 0xffff;
}

/* ib_device_ops.poll_cq. @poll: rdmavt's function */
int softib_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc,
		   int (*poll)(struct ib_cq *, int, struct ib_wc *))
{
	struct softib_cq *cq = ib_to_softib_cq(ibcq);
	int i, n;

	if (!cq->handler)
		return poll(ibcq, num, wc);
	if (softib_cq_held(cq) || ktime_get_ns() < READ_ONCE(cq->quiet_until))
		return 0;
	n = poll(ibcq, num, wc);
	for (i = 0; i < n; i++)
		if (wc[i].status != IB_WC_SUCCESS)
			softib_wc_poison(&wc[i]);
	return n;
}

/*
 * ib_device_ops.req_notify_cq. @notify: rdmavt's function
 *
 * mlx4 and mlx5 do not report missed events: completions that are in the CQ raise an event.
 */
int softib_cq_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags,
		     int (*notify)(struct ib_cq *, enum ib_cq_notify_flags))
{
	struct softib_cq *cq = ib_to_softib_cq(ibcq);
	int ret;

	if (!cq->handler)
		return notify(ibcq, flags);
	ret = notify(ibcq, flags & ~IB_CQ_REPORT_MISSED_EVENTS);
	if (!softib_cq_empty(cq))
		softib_cq_kick(cq);
	return ret;
}
