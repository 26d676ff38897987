// SPDX-License-Identifier: GPL-2.0
/*
 * A gate that lets a bounded number of questions to the fabric through.
 *
 * After an event that all nodes see, such as a new SM, each of them wants to
 * join all its groups and find all its paths again. The SA of a large fabric
 * drops what it cannot take at once, and what is dropped is asked again a
 * second later by everybody. So the interfaces of a port together have no more
 * than IPOIB_GATE_MAX questions open; who finds the gate closed is told when it
 * is worth trying again. On RoCE there is no SA, but each question for a path is
 * an entry of the host's neighbour table, which a flood of addresses that do not
 * exist must not fill. Frames may ask for paths with interrupts off (netpoll),
 * hence the lock.
 */
#include "ipoib_agent.h"

/**
 * ipoib_gate_init - make an open gate
 * @gate: the gate
 * @max: how many questions may be open
 */
void ipoib_gate_init(struct ipoib_gate *gate, unsigned int max)
{
	spin_lock_init(&gate->lock);
	gate->max = max;
	INIT_LIST_HEAD(&gate->waiting);
	gate->busy = 0;
}

/**
 * ipoib_gate_wait_init - get ready to wait
 * @wait: who waits
 * @open: tells it that the gate is open; must only queue a work
 */
void ipoib_gate_wait_init(struct ipoib_gate_wait *wait,
			  void (*open)(struct ipoib_gate_wait *wait))
{
	INIT_LIST_HEAD(&wait->list);
	wait->open = open;
}

/**
 * ipoib_gate_enter - go through the gate, or wait for it
 * @gate: the gate
 * @wait: who; may be waiting already. NULL for somebody who can do without
 *
 * Context: any
 * Return: true if the caller may ask, and has to call ipoib_gate_leave() when
 * it has its answer; false if @wait will be told
 */
bool ipoib_gate_enter(struct ipoib_gate *gate, struct ipoib_gate_wait *wait)
{
	unsigned long flags;
	bool open;

	spin_lock_irqsave(&gate->lock, flags);
	open = gate->busy < gate->max;
	if (open)
		gate->busy++;
	else if (wait && list_empty(&wait->list))
		list_add_tail(&wait->list, &gate->waiting);
	spin_unlock_irqrestore(&gate->lock, flags);
	return open;
}

/**
 * ipoib_gate_leave - a question has ended
 * @gate: the gate
 *
 * All who wait are told, not one: the one might need it no longer.
 *
 * Context: any
 */
void ipoib_gate_leave(struct ipoib_gate *gate)
{
	struct ipoib_gate_wait *wait, *tmp;
	unsigned long flags;

	spin_lock_irqsave(&gate->lock, flags);
	WARN_ON_ONCE(!gate->busy);
	gate->busy--;
	list_for_each_entry_safe(wait, tmp, &gate->waiting, list) {
		list_del_init(&wait->list);
		wait->open(wait);
	}
	spin_unlock_irqrestore(&gate->lock, flags);
}

/**
 * ipoib_gate_forget - wait no longer
 * @gate: the gate
 * @wait: who; is not told any more when this returns
 *
 * Context: any
 */
void ipoib_gate_forget(struct ipoib_gate *gate, struct ipoib_gate_wait *wait)
{
	unsigned long flags;

	spin_lock_irqsave(&gate->lock, flags);
	list_del_init(&wait->list);
	spin_unlock_irqrestore(&gate->lock, flags);
}
