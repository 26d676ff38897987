// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of outstanding queries to the fabric.
 *
 * After an event that all nodes see, such as a new SM, each of them joins all its
 * groups and looks up all its paths again. The SA of a large fabric drops what it
 * cannot take at once, and each node repeats it a second later. So the interfaces of a
 * port together have at most IPOIB_QUERIES_MAX queries outstanding. A group that gets no
 * credit gets one in its turn; the paths are called when there may be one, and the newest
 * takes it. On RoCE there is no SA, but each
 * path query is an entry of the host's neighbour table, which a flood of addresses
 * that do not exist must not fill.
 */
#include "ipoib_limit.h"

/**
 * ipoib_limit_init - initialise a limit
 * @limit: the limit
 * @max: how many queries may be outstanding
 */
void ipoib_limit_init(struct ipoib_limit *limit, unsigned int max)
{
	spin_lock_init(&limit->lock);
	limit->max = max;
	INIT_LIST_HEAD(&limit->queue);
	INIT_LIST_HEAD(&limit->waiting);
	limit->busy = 0;
	limit->held = 0;
}

/**
 * ipoib_limit_waiter_init - initialise a waiter
 * @wait: the waiter
 * @resume: called when there may be a credit; must only queue a work
 */
void ipoib_limit_waiter_init(struct ipoib_limit_waiter *wait,
			     void (*resume)(struct ipoib_limit_waiter *wait))
{
	INIT_LIST_HEAD(&wait->list);
	wait->resume = resume;
}

/**
 * ipoib_limit_get - take a credit, or wait for one; IPOIB_QUERIES_KEPT are left to groups
 * @limit: the limit
 * @wait: the waiter; may be waiting already
 *
 * Context: any but hard interrupt
 * Return: true if the caller may send a query, and has to call ipoib_limit_put()
 * when that has ended; false if @wait will be resumed
 */
bool ipoib_limit_get(struct ipoib_limit *limit, struct ipoib_limit_waiter *wait)
{
	bool granted;

	spin_lock_bh(&limit->lock);
	granted = limit->busy < limit->max &&
		  limit->busy - limit->held + IPOIB_QUERIES_KEPT < limit->max;
	if (granted)
		limit->busy++;
	else if (list_empty(&wait->list))
		list_add_tail(&wait->list, &limit->waiting);
	spin_unlock_bh(&limit->lock);
	return granted;
}

/* May one more group have a credit? The others are for paths. */
static bool ipoib_limit_is_for_groups(const struct ipoib_limit *limit)
{
	return limit->busy < limit->max &&
	       limit->held + IPOIB_QUERIES_KEPT < limit->max;
}

static void ipoib_credit_hold(struct ipoib_limit *limit, struct ipoib_credit *credit)
{
	WRITE_ONCE(credit->held, true);
	limit->held++;
	limit->busy++;
}

/* All waiters are resumed, not one: that one may not need it any more. */
static void __ipoib_limit_put(struct ipoib_limit *limit)
{
	struct ipoib_limit_waiter *wait, *tmp;
	struct ipoib_credit *credit, *next;

	lockdep_assert_held(&limit->lock);
	WARN_ON_ONCE(!limit->busy);
	limit->busy--;
	list_for_each_entry_safe(credit, next, &limit->queue, list) {
		if (!ipoib_limit_is_for_groups(limit))
			break;
		list_del_init(&credit->list);
		ipoib_credit_hold(limit, credit);
		credit->granted(credit);
	}
	if (limit->busy == limit->max)
		return;
	list_for_each_entry_safe(wait, tmp, &limit->waiting, list) {
		list_del_init(&wait->list);
		wait->resume(wait);
	}
}

/**
 * ipoib_limit_put - give a credit back
 * @limit: the limit
 *
 * Context: any but hard interrupt
 */
void ipoib_limit_put(struct ipoib_limit *limit)
{
	spin_lock_bh(&limit->lock);
	__ipoib_limit_put(limit);
	spin_unlock_bh(&limit->lock);
}

/**
 * ipoib_limit_cancel - stop waiting
 * @limit: the limit
 * @wait: the waiter; it is not resumed any more when this returns
 *
 * Context: any but hard interrupt
 */
void ipoib_limit_cancel(struct ipoib_limit *limit,
			struct ipoib_limit_waiter *wait)
{
	spin_lock_bh(&limit->lock);
	list_del_init(&wait->list);
	spin_unlock_bh(&limit->lock);
}

/**
 * ipoib_credit_init - initialise a credit that is not held
 * @credit: the credit
 * @granted: see &struct ipoib_credit
 */
void ipoib_credit_init(struct ipoib_credit *credit,
		       void (*granted)(struct ipoib_credit *credit))
{
	INIT_LIST_HEAD(&credit->list);
	credit->granted = granted;
	credit->held = false;
}

/**
 * ipoib_credit_get - take a credit, or wait for one
 * @limit: the limit
 * @credit: held already, waiting already, or neither
 *
 * Context: any but hard interrupt
 * Return: true if it is held, and the caller has to call ipoib_credit_put(); false if it
 * waits, and &ipoib_credit.granted will be called unless ipoib_credit_put() is
 */
bool ipoib_credit_get(struct ipoib_limit *limit, struct ipoib_credit *credit)
{
	bool held;

	spin_lock_bh(&limit->lock);
	if (!credit->held && list_empty(&credit->list)) {
		if (list_empty(&limit->queue) && ipoib_limit_is_for_groups(limit))
			ipoib_credit_hold(limit, credit);
		else
			list_add_tail(&credit->list, &limit->queue);
	}
	held = credit->held;
	spin_unlock_bh(&limit->lock);
	return held;
}

/**
 * ipoib_credit_put - give a credit back, or wait for it no longer
 * @limit: the limit
 * @credit: held, waiting or neither
 *
 * When this returns &ipoib_credit.granted is not running and will not be called.
 *
 * Context: any but hard interrupt
 */
void ipoib_credit_put(struct ipoib_limit *limit, struct ipoib_credit *credit)
{
	spin_lock_bh(&limit->lock);
	list_del_init(&credit->list);
	if (credit->held) {
		WRITE_ONCE(credit->held, false);
		limit->held--;
		__ipoib_limit_put(limit);
	}
	spin_unlock_bh(&limit->lock);
}
