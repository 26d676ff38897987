// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of outstanding queries to the fabric.
 *
 * After an event that all nodes see, such as a new SM, each of them joins all its
 * groups and looks up all its paths again. The SA of a large fabric drops what it
 * cannot take at once, and each node repeats it a second later. So the interfaces of a
 * port together have at most IPOIB_QUERIES_MAX queries outstanding. A caller that gets
 * no credit is called when there may be one again. On RoCE there is no SA, but each
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
	INIT_LIST_HEAD(&limit->waiting);
	limit->busy = 0;
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
 * ipoib_limit_get - take a credit, or wait for one
 * @limit: the limit
 * @wait: the waiter; may be waiting already. NULL: do not wait
 * @keep: how many credits are left to others
 *
 * Context: any but hard interrupt
 * Return: true if the caller may send a query, and has to call ipoib_limit_put()
 * when that has ended; false if @wait will be resumed
 */
bool ipoib_limit_get(struct ipoib_limit *limit,
		     struct ipoib_limit_waiter *wait, unsigned int keep)
{
	bool granted;

	spin_lock_bh(&limit->lock);
	granted = limit->busy + keep < limit->max;
	if (granted)
		limit->busy++;
	else if (wait && list_empty(&wait->list))
		list_add_tail(&wait->list, &limit->waiting);
	spin_unlock_bh(&limit->lock);
	return granted;
}

/**
 * ipoib_limit_put - give a credit back
 * @limit: the limit
 *
 * All waiters are resumed, not one: that one may not need it any more.
 *
 * Context: any but hard interrupt
 */
void ipoib_limit_put(struct ipoib_limit *limit)
{
	struct ipoib_limit_waiter *wait, *tmp;

	spin_lock_bh(&limit->lock);
	WARN_ON_ONCE(!limit->busy);
	limit->busy--;
	list_for_each_entry_safe(wait, tmp, &limit->waiting, list) {
		list_del_init(&wait->list);
		wait->resume(wait);
	}
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
