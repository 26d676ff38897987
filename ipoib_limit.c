// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of outstanding queries to the fabric.
 *
 * After an event that all nodes see, such as a new SM, each of them joins all its
 * groups and looks up all its paths again. The SA of a large fabric drops what it
 * cannot take at once, and each node repeats it a second later. So the interfaces of a
 * port together have at most IPOIB_QUERIES_MAX queries for paths and groups outstanding,
 * and what gets no credit for one waits. The broadcast group, the list of all groups,
 * subscriptions to reports and the purges of an interface that is removed take no credit.
 *
 * On RoCE there is no SA, but each path query is an entry of the host's neighbour table,
 * which a flood of addresses that do not exist must not fill.
 */
#include "ipoib_limit.h"

/**
 * ipoib_limit_init - initialise a limit
 * @limit: the limit
 * @max: how many queries may be outstanding
 */
void ipoib_limit_init(struct ipoib_limit *limit, unsigned int max)
{
	unsigned int kind;

	spin_lock_init(&limit->lock);
	limit->max = max;
	for (kind = 0; kind < IPOIB_CREDIT_KINDS; kind++) {
		INIT_LIST_HEAD(&limit->queue[kind]);
		limit->held[kind] = 0;
	}
}

/**
 * ipoib_credit_init - initialise a credit that is not held
 * @credit: the credit
 * @kind: what asks
 * @granted: see &struct ipoib_credit
 */
void ipoib_credit_init(struct ipoib_credit *credit, enum ipoib_credit_kind kind,
		       void (*granted)(struct ipoib_credit *credit))
{
	INIT_LIST_HEAD(&credit->list);
	credit->granted = granted;
	credit->kind = kind;
	credit->held = false;
}

/* Each kind leaves some to the other. */
static bool ipoib_limit_has_room(const struct ipoib_limit *limit, enum ipoib_credit_kind kind)
{
	return limit->held[IPOIB_CREDIT_GROUP] + limit->held[IPOIB_CREDIT_PATH] <
	       limit->max && limit->held[kind] + IPOIB_QUERIES_KEPT < limit->max;
}

static void ipoib_credit_hold(struct ipoib_limit *limit, struct ipoib_credit *credit)
{
	lockdep_assert_held(&limit->lock);
	WRITE_ONCE(credit->held, true);
	limit->held[credit->kind]++;
}

static void ipoib_limit_grant(struct ipoib_limit *limit, enum ipoib_credit_kind kind)
{
	struct ipoib_credit *credit, *next;

	lockdep_assert_held(&limit->lock);
	list_for_each_entry_safe(credit, next, &limit->queue[kind], list) {
		if (!ipoib_limit_has_room(limit, kind))
			return;
		list_del_init(&credit->list);
		ipoib_credit_hold(limit, credit);
		credit->granted(credit);
	}
}

/**
 * ipoib_credit_get - take a credit, or wait for one
 * @limit: the limit, NULL if there is none
 * @credit: held already, waiting already, or neither
 *
 * Context: any but hard interrupt
 * Return: true if it is held, and the caller has to call ipoib_credit_put(); false if it
 * waits, and &ipoib_credit.granted will be called unless ipoib_credit_put() is
 */
bool ipoib_credit_get(struct ipoib_limit *limit, struct ipoib_credit *credit)
{
	struct list_head *queue;
	bool held;

	if (!limit)
		return true;
	queue = &limit->queue[credit->kind];
	spin_lock_bh(&limit->lock);
	if (!credit->held && list_empty(&credit->list)) {
		if (ipoib_limit_has_room(limit, credit->kind))
			ipoib_credit_hold(limit, credit);
		else if (credit->kind == IPOIB_CREDIT_PATH)
			list_add(&credit->list, queue);
		else
			list_add_tail(&credit->list, queue);
	}
	held = credit->held;
	spin_unlock_bh(&limit->lock);
	return held;
}

/**
 * ipoib_credit_put - give a credit back, or wait for it no longer
 * @limit: the limit, NULL if there is none
 * @credit: held, waiting or neither
 *
 * When this returns &ipoib_credit.granted is not running and will not be called.
 *
 * Context: any but hard interrupt
 */
void ipoib_credit_put(struct ipoib_limit *limit, struct ipoib_credit *credit)
{
	if (!limit)
		return;
	spin_lock_bh(&limit->lock);
	list_del_init(&credit->list);
	if (credit->held) {
		WRITE_ONCE(credit->held, false);
		limit->held[credit->kind]--;
		ipoib_limit_grant(limit, IPOIB_CREDIT_GROUP);
		ipoib_limit_grant(limit, IPOIB_CREDIT_PATH);
	}
	spin_unlock_bh(&limit->lock);
}
