// SPDX-License-Identifier: GPL-2.0
/*
 * Limit of outstanding queries to the fabric.
 *
 * After an event that all nodes see, such as a new SM, each node joins all its groups and queries
 * all its paths. The SA of a large fabric drops requests beyond its capacity, and each node repeats
 * them a second later. So all interfaces of a port together have at most IPOIB_QUERIES_MAX
 * outstanding queries for paths and groups; others wait. The broadcast group, the list of all
 * groups and subscriptions to reports need no credit.
 *
 * RoCE has no SA, but each path query is an entry of the host's neighbour table, which a flood of
 * invented addresses must not fill.
 */
#include "ipoib_limit.h"

/* Initialise a limit of @max outstanding queries. */
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

/* Initialise a credit that is not held. */
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
 * ipoib_credit_get - take a credit, or queue for one
 * @limit: the limit, or NULL
 * @credit: the credit, in any state
 *
 * Context: any but hard interrupt
 * Return: true if the credit is held, until ipoib_credit_put(); false if it is queued, and
 * &ipoib_credit.granted follows, unless ipoib_credit_put() comes first
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
 * ipoib_credit_put - return a credit, or leave the queue
 * @limit: the limit, or NULL
 * @credit: the credit, in any state
 *
 * On return &ipoib_credit.granted does not run, and will not be called.
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
