// SPDX-License-Identifier: GPL-2.0
/*
 * Fault injection. The knobs are numbers in struct softib_node, set through
 * debugfs by softib_knobs.c; a port reads them only while a knob of its node
 * is set (softib_port.armed).
 *
 * Delayed frames are copied into a queue, ordered by their due time, and sent
 * from a work item.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "softib.h"

/* Length of a truncated message: less than any header */
#define SOFTIB_CUT	3
/* Length of a truncated MAD: all headers and a notice, of 256 octets */
#define SOFTIB_CUT_MAD	136

struct softib_delayed {
	struct list_head list;
	ktime_t due;
	u8 swport;
	struct softib_frame frame;
	u8 payload[];
};

static LIST_HEAD(softib_delay_queue);
static DEFINE_SPINLOCK(softib_delay_lock);
static struct delayed_work softib_delay_work;

/* Decrement a "next N" knob. Context: any. Return: false if it was 0. */
bool softib_fault_hit(u32 *knob)
{
	u32 old = READ_ONCE(*knob);

	do {
		if (likely(!old))
			return false;
	} while (!try_cmpxchg(knob, &old, old - 1));
	return true;
}

/**
 * softib_fault_length() - byte_len of a receive completion
 * @qp: receiving QP
 * @knob: number of messages of kernel consumers to report as too long
 * @len: received octets
 *
 * Context: r_lock held.
 * Return: @len, or an octet more than the size of the receive.
 */
u32 softib_fault_length(const struct rvt_qp *qp, u32 *knob, u32 len)
{
	/* MADs are exempt: tests target other kernel consumers. */
	if (qp->ibqp.uobject || qp->ibqp.qp_num <= 1 ||
	    likely(!softib_fault_hit(knob)))
		return len;
	return qp->r_len + 1;
}

static bool softib_fault_every(u32 every, u32 seen)
{
	return every && !(seen % every);
}

static enum softib_class softib_fault_class(const struct softib_frame *frame)
{
	if (softib_frame_transport(frame) != IB_OPCODE_UD)
		return SOFTIB_CLASS_RC;
	return frame->dqpn <= 1 ? SOFTIB_CLASS_MAD : SOFTIB_CLASS_UD;
}

/* Schedule the work for the head of the queue. */
static void softib_delay_arm(void)
{
	struct softib_delayed *first;
	s64 ms;

	lockdep_assert_held(&softib_delay_lock);
	first = list_first_entry_or_null(&softib_delay_queue,
					 struct softib_delayed, list);
	if (!first)
		return;
	/* Rounded up; the work re-arms if it runs too early. */
	ms = max_t(s64, ktime_ms_delta(first->due, ktime_get()) + 1, 0);
	mod_delayed_work(softib_fabric->wq, &softib_delay_work,
			 msecs_to_jiffies(ms));
}

static struct softib_delayed *softib_delay_take(bool all)
{
	struct softib_delayed *first;
	unsigned long flags;

	spin_lock_irqsave(&softib_delay_lock, flags);
	first = list_first_entry_or_null(&softib_delay_queue,
					 struct softib_delayed, list);
	if (first && !all && ktime_after(first->due, ktime_get()))
		first = NULL;
	if (first)
		list_del(&first->list);
	else
		softib_delay_arm();
	spin_unlock_irqrestore(&softib_delay_lock, flags);
	return first;
}

static void softib_delay_worker(struct work_struct *work)
{
	struct softib_delayed *delayed;
	struct softib_port *port;

	while ((delayed = softib_delay_take(false))) {
		rcu_read_lock();
		port = rcu_dereference(softib_fabric->sw
				       .port[delayed->swport].peer);
		if (port)
			softib_port_xmit(port, &delayed->frame);
		rcu_read_unlock();
		kfree(delayed);
	}
}

static void softib_delay_queue_add(struct softib_delayed *delayed)
{
	struct softib_delayed *after;
	unsigned long flags;

	spin_lock_irqsave(&softib_delay_lock, flags);
	list_for_each_entry_reverse(after, &softib_delay_queue, list)
		if (!ktime_after(after->due, delayed->due))
			break;
	/* At the list head itself if no other frame is due earlier */
	list_add(&delayed->list, &after->list);
	softib_delay_arm();
	spin_unlock_irqrestore(&softib_delay_lock, flags);
}

/* Return: false if there is no memory for a copy: the caller sends the frame now. */
static bool softib_fault_delay(struct softib_port *port,
			       struct softib_frame *frame, u32 ms)
{
	struct softib_delayed *delayed;
	struct softib_payload from;

	delayed = kmalloc(struct_size(delayed, payload, frame->len),
			  GFP_ATOMIC);
	if (!delayed)
		return false;
	delayed->due = ktime_add_ms(ktime_get(), ms);
	delayed->swport = port->swport;
	delayed->frame = *frame;
	softib_payload_init(&from, frame);
	softib_payload_read(&from, delayed->payload, frame->len);
	softib_frame_linear(&delayed->frame, delayed->payload, frame->len);
	softib_delay_queue_add(delayed);
	return true;
}

/* The receiver gets a complete message of the reduced length. */
static void softib_fault_cut(struct softib_node *node,
			     struct softib_frame *frame)
{
	if (frame->len <= SOFTIB_CUT || frame->len > frame->mtu ||
	    !softib_fault_hit(&node->cut_next))
		return;
	frame->len = SOFTIB_CUT;
	frame->ss.total_len = SOFTIB_CUT;
}

static void softib_fault_short(struct softib_node *node,
			       struct softib_frame *frame)
{
	if (frame->dqpn != 1 || frame->len <= SOFTIB_CUT_MAD ||
	    !softib_fault_hit(&node->short_next_mad))
		return;
	frame->len = SOFTIB_CUT_MAD;
	frame->ss.total_len = SOFTIB_CUT_MAD;
}

/**
 * softib_fault_frame() - apply the knobs to a frame
 * @port: sending port
 * @frame: the frame, complete and counted as sent
 *
 * Context: rcu_read_lock() held, no QP lock held.
 * Return: true if the frame was dropped or queued: the caller does not send it.
 */
bool softib_fault_frame(struct softib_port *port, struct softib_frame *frame)
{
	enum softib_class class = softib_fault_class(frame);
	struct softib_node *node = port->dev->node;
	struct softib_fault *fault = &node->fault[class];
	u32 seen, ms;

	if (class == SOFTIB_CLASS_UD && READ_ONCE(node->drop_egress)) {
		softib_capture_drop(frame, SOFTIB_DROP_FAULT);
		softib_port_drop(port, SOFTIB_DROP_FAULT);
		return true;
	}
	if (class == SOFTIB_CLASS_RC)
		softib_fault_cut(node, frame);
	if (class == SOFTIB_CLASS_MAD)
		softib_fault_short(node, frame);
	seen = atomic_inc_return(&fault->seen);
	ms = READ_ONCE(fault->delay_ms);
	if (softib_fault_hit(&fault->drop_next) ||
	    softib_fault_every(READ_ONCE(fault->drop_every), seen)) {
		softib_capture_drop(frame, SOFTIB_DROP_FAULT);
		softib_port_drop(port, SOFTIB_DROP_FAULT);
		return true;
	}
	if (ms)
		return softib_fault_delay(port, frame, ms);
	if (softib_fault_every(READ_ONCE(fault->dup_every), seen)) {
		softib_port_xmit(port, frame);
		frame->captured = false;
	}
	return false;
}

/*
 * Recompute &softib_port.armed, after a change of a knob or the addition of an HCA.
 * Context: the fabric's mutex held.
 */
void softib_fault_update(struct softib_node *node)
{
	bool armed = false;
	int i;

	lockdep_assert_held(&softib_fabric->mutex);
	if (!node->dev)
		return;
	for (i = 0; i < ARRAY_SIZE(node->knob); i++)
		if (node->knob[i].value && *node->knob[i].value)
			armed = true;
	for (i = 0; i < node->dev->nports; i++)
		WRITE_ONCE(node->dev->port[i].armed, armed);
}

void softib_fault_init(void)
{
	INIT_DELAYED_WORK(&softib_delay_work, softib_delay_worker);
}

/* Free delayed frames. Context: all HCAs removed; sleeps. */
void softib_fault_exit(void)
{
	struct softib_delayed *delayed;

	cancel_delayed_work_sync(&softib_delay_work);
	while ((delayed = softib_delay_take(true)))
		kfree(delayed);
}
