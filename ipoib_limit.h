/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limit of outstanding queries to the fabric. A query needs an inflight slot, and waits for it.
 */
#ifndef IPOIB_LIMIT_H
#define IPOIB_LIMIT_H

#include <linux/list.h>
#include <linux/spinlock.h>

/* Outstanding requests of a port to the SA, at most */
#define IPOIB_QUERIES_MAX		32
/*
 * Part of these that paths leave to groups, as other nodes can cause lookups, not joins; and that
 * groups leave to paths, as there may be thousands of groups
 */
#define IPOIB_QUERIES_KEPT		4

/**
 * enum ipoib_inflight_kind - kind of a query
 * @IPOIB_INFLIGHT_GROUP: of a group: first come, first served
 * @IPOIB_INFLIGHT_PATH: of a path: the newest is served first, so a flood does not delay it
 * @IPOIB_INFLIGHT_KINDS: number of kinds
 */
enum ipoib_inflight_kind {
	IPOIB_INFLIGHT_GROUP,
	IPOIB_INFLIGHT_PATH,
	IPOIB_INFLIGHT_KINDS,
};

/* An inflight slot, held or waited for. */
struct ipoib_inflight {
	struct list_head list;	/* in &ipoib_limit.queue while waiting; under &ipoib_limit.lock */
	/* called with &ipoib_limit.lock held when the wait ends; it only queues a work */
	void (*granted)(struct ipoib_inflight *inflight);
	enum ipoib_inflight_kind kind;	/* kind of the query */
	bool held;		/* counts in &ipoib_limit.held; under &ipoib_limit.lock */
};

/**
 * struct ipoib_limit - limit of outstanding queries to the fabric
 * @lock: protects the other fields
 * @max: limit
 * @held: outstanding queries, by kind
 * @queue: waiting &struct ipoib_inflight, by kind; an inflight slot that is put goes to the first
 *	for which there is room
 */
struct ipoib_limit {
	spinlock_t lock; /* all fields below */
	unsigned int max;
	unsigned int held[IPOIB_INFLIGHT_KINDS];
	struct list_head queue[IPOIB_INFLIGHT_KINDS];
};

void ipoib_limit_init(struct ipoib_limit *limit, unsigned int max);
void ipoib_inflight_init(struct ipoib_inflight *inflight, enum ipoib_inflight_kind kind,
			 void (*granted)(struct ipoib_inflight *inflight));
bool ipoib_inflight_get(struct ipoib_limit *limit, struct ipoib_inflight *inflight);
void ipoib_inflight_put(struct ipoib_limit *limit, struct ipoib_inflight *inflight);

#endif /* IPOIB_LIMIT_H */
