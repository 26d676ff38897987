/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A limit of outstanding queries to the fabric. What gets no credit waits for one.
 */
#ifndef IPOIB_LIMIT_H
#define IPOIB_LIMIT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* Requests of a port that the SA has not answered yet, at most. */
#define IPOIB_QUERIES_MAX		16
/*
 * Of these, what paths leave to groups, as other nodes cause lookups, not joins; and groups to
 * paths, as there may be thousands of groups.
 */
#define IPOIB_QUERIES_KEPT		4

/**
 * struct ipoib_limit_waiter - waits for a credit of a limit
 * @list: in &ipoib_limit.waiting, or empty; under &ipoib_limit.lock
 * @resume: called when there may be a credit, under &ipoib_limit.lock: it only queues
 *	a work
 */
struct ipoib_limit_waiter {
	struct list_head list;
	void (*resume)(struct ipoib_limit_waiter *wait);
};

/**
 * struct ipoib_credit - a credit of a limit, or one that is waited for
 * @list: in &ipoib_limit.queue while it waits, or empty; under &ipoib_limit.lock
 * @granted: called when it gets the credit that it has waited for, under &ipoib_limit.lock:
 *	it only queues a work
 * @held: it counts in &ipoib_limit.busy; under &ipoib_limit.lock
 */
struct ipoib_credit {
	struct list_head list;
	void (*granted)(struct ipoib_credit *credit);
	bool held;
};

/**
 * struct ipoib_limit - limit of outstanding queries to the fabric
 * @lock: protects the rest
 * @max: how many there may be
 * @busy: how many are outstanding
 * @held: of these, how many by a &struct ipoib_credit
 * @queue: &struct ipoib_credit that wait, in order of arrival; each credit that is put goes
 *	to the first of them
 * @waiting: &struct ipoib_limit_waiter, all resumed when a credit is put and @queue is empty
 */
struct ipoib_limit {
	spinlock_t lock; /* all of it */
	unsigned int max;
	unsigned int busy;
	unsigned int held;
	struct list_head queue;
	struct list_head waiting;
};

void ipoib_limit_init(struct ipoib_limit *limit, unsigned int max);
bool ipoib_limit_get(struct ipoib_limit *limit, struct ipoib_limit_waiter *wait);
void ipoib_limit_put(struct ipoib_limit *limit);
void ipoib_limit_waiter_init(struct ipoib_limit_waiter *wait,
			     void (*resume)(struct ipoib_limit_waiter *wait));
void ipoib_limit_cancel(struct ipoib_limit *limit,
			struct ipoib_limit_waiter *wait);
void ipoib_credit_init(struct ipoib_credit *credit,
		       void (*granted)(struct ipoib_credit *credit));
bool ipoib_credit_get(struct ipoib_limit *limit, struct ipoib_credit *credit);
void ipoib_credit_put(struct ipoib_limit *limit, struct ipoib_credit *credit);

#endif /* IPOIB_LIMIT_H */
