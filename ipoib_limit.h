/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limit of outstanding queries to the fabric. A query needs a credit, and waits for it.
 */
#ifndef IPOIB_LIMIT_H
#define IPOIB_LIMIT_H

#include <linux/list.h>
#include <linux/spinlock.h>

/* Outstanding requests of a port to the SA, at most */
#define IPOIB_QUERIES_MAX		16
/*
 * Part of these that paths leave to groups, as other nodes can cause lookups, not joins; and that
 * groups leave to paths, as there may be thousands of groups
 */
#define IPOIB_QUERIES_KEPT		4

/**
 * enum ipoib_credit_kind - kind of a query
 * @IPOIB_CREDIT_GROUP: of a group: first come, first served
 * @IPOIB_CREDIT_PATH: of a path: the newest is served first, so a flood does not delay it
 * @IPOIB_CREDIT_KINDS: number of kinds
 */
enum ipoib_credit_kind {
	IPOIB_CREDIT_GROUP,
	IPOIB_CREDIT_PATH,
	IPOIB_CREDIT_KINDS,
};

/**
 * struct ipoib_credit - a credit, held or waited for
 * @list: in &ipoib_limit.queue while waiting; under &ipoib_limit.lock
 * @granted: called with &ipoib_limit.lock held when the wait ends; it only queues a work
 * @kind: kind of the query
 * @held: counts in &ipoib_limit.held; under &ipoib_limit.lock
 */
struct ipoib_credit {
	struct list_head list;
	void (*granted)(struct ipoib_credit *credit);
	enum ipoib_credit_kind kind;
	bool held;
};

/**
 * struct ipoib_limit - limit of outstanding queries to the fabric
 * @lock: protects the other fields
 * @max: limit
 * @held: outstanding queries, by kind
 * @queue: waiting &struct ipoib_credit, by kind; a credit that is put goes to the first for which
 *	there is room
 */
struct ipoib_limit {
	spinlock_t lock; /* all fields below */
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
