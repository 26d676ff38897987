/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A limit of outstanding queries to the fabric. What gets no credit waits for one.
 */
#ifndef IPOIB_LIMIT_H
#define IPOIB_LIMIT_H

#include <linux/list.h>
#include <linux/spinlock.h>

/* Requests of a port that the SA has not answered yet, at most. */
#define IPOIB_QUERIES_MAX		16
/*
 * Of these, what paths leave to groups, as other nodes cause lookups, not joins; and groups to
 * paths, as there may be thousands of groups.
 */
#define IPOIB_QUERIES_KEPT		4

/**
 * enum ipoib_credit_kind - what asks
 * @IPOIB_CREDIT_GROUP: a group: credits go round in the order of arrival
 * @IPOIB_CREDIT_PATH: a path: the newest has the next credit, so that what a flood has left
 *	does not delay it
 * @IPOIB_CREDIT_KINDS: number of kinds
 */
enum ipoib_credit_kind {
	IPOIB_CREDIT_GROUP,
	IPOIB_CREDIT_PATH,
	IPOIB_CREDIT_KINDS,
};

/**
 * struct ipoib_credit - a credit of a limit, or one that is waited for
 * @list: in &ipoib_limit.queue while it waits, or empty; under &ipoib_limit.lock
 * @granted: called when it gets the credit that it has waited for, under &ipoib_limit.lock:
 *	it only queues a work
 * @kind: what asks
 * @held: it counts in &ipoib_limit.held; under &ipoib_limit.lock
 */
struct ipoib_credit {
	struct list_head list;
	void (*granted)(struct ipoib_credit *credit);
	enum ipoib_credit_kind kind;
	bool held;
};

/**
 * struct ipoib_limit - limit of outstanding queries to the fabric
 * @lock: protects the rest
 * @max: how many there may be
 * @held: how many are outstanding, by kind
 * @queue: &struct ipoib_credit that wait, by kind; each credit that is put goes to the
 *	first of those for which there is room
 */
struct ipoib_limit {
	spinlock_t lock; /* all of it */
	unsigned int max;
	unsigned int held[IPOIB_CREDIT_KINDS];
	struct list_head queue[IPOIB_CREDIT_KINDS];
};

void ipoib_limit_init(struct ipoib_limit *limit, unsigned int max);
void ipoib_credit_init(struct ipoib_credit *credit, enum ipoib_credit_kind kind,
		       void (*granted)(struct ipoib_credit *credit));
bool ipoib_credit_get(struct ipoib_limit *limit, struct ipoib_credit *credit);
void ipoib_credit_put(struct ipoib_limit *limit, struct ipoib_credit *credit);

#endif /* IPOIB_LIMIT_H */
