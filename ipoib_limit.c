// SPDX-License-Identifier: GPL-2.0
/*
 * Limit of outstanding queries to the fabric.
 *
 * After an event that all nodes see, such as a new SM, each node joins all its groups and queries
 * all its paths. The SA of a large fabric drops requests beyond its capacity, and each node repeats
 * them a second later. So all interfaces of a port together have at most IPOIB_QUERIES_MAX
 * outstanding queries for paths and groups; others wait. The broadcast group, the list of all
 * groups, subscriptions to reports, and leaves need no inflight slot.
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
	for (kind = 0; kind < IPOIB_INFLIGHT_KINDS; kind++) {
		INIT_LIST_HEAD(&limit->queue[kind]);
		limit->held[kind] = 0;
	}
}

/* Initialise an inflight slot that is not held. */
void ipoib_inflight_init(struct ipoib_inflight *inflight, enum ipoib_inflight_kind kind,
			 void (*granted)(struct ipoib_inflight *inflight))
{
	INIT_LIST_HEAD(&inflight->list);
	inflight->granted = granted;
	inflight->kind = kind;
	inflight->held = false;
}

/* Each kind leaves some to the other. */
static bool ipoib_limit_has_room(const struct ipoib_limit *limit, enum ipoib_inflight_kind kind)
{
	return limit->held[IPOIB_INFLIGHT_GROUP] + limit->held[IPOIB_INFLIGHT_PATH] <
	       limit->max && limit->held[kind] + IPOIB_QUERIES_KEPT < limit->max;
}

static void ipoib_inflight_hold(struct ipoib_limit *limit, struct ipoib_inflight *inflight)
{
	lockdep_assert_held(&limit->lock);
	WRITE_ONCE(inflight->held, true);
	limit->held[inflight->kind]++;
}

static void ipoib_limit_grant(struct ipoib_limit *limit, enum ipoib_inflight_kind kind)
{
	struct ipoib_inflight *inflight, *next;

	lockdep_assert_held(&limit->lock);
	list_for_each_entry_safe(inflight, next, &limit->queue[kind], list) {
		if (!ipoib_limit_has_room(limit, kind))
			return;
		list_del_init(&inflight->list);
		ipoib_inflight_hold(limit, inflight);
		inflight->granted(inflight);
	}
}

/*
 * Take an inflight slot, in any state, or queue for it. Without @limit (NULL) there is always room.
 * Context: any but hard interrupt. Return: true if the inflight slot is held, until
 * ipoib_inflight_put(); false if it is queued, and &ipoib_inflight.granted follows, unless
 * ipoib_inflight_put() comes first.
 */
bool ipoib_inflight_get(struct ipoib_limit *limit, struct ipoib_inflight *inflight)
{
	struct list_head *queue;
	bool held;

	if (!limit)
		return true;
	queue = &limit->queue[inflight->kind];
	spin_lock_bh(&limit->lock);
	if (!inflight->held && list_empty(&inflight->list)) {
		if (ipoib_limit_has_room(limit, inflight->kind))
			ipoib_inflight_hold(limit, inflight);
		else if (inflight->kind == IPOIB_INFLIGHT_PATH)
			list_add(&inflight->list, queue);
		else
			list_add_tail(&inflight->list, queue);
	}
	held = inflight->held;
	spin_unlock_bh(&limit->lock);
	return held;
}

/*
 * Return an inflight slot, or leave the queue; the slot may be in any state, @limit may be NULL. On
 * return &ipoib_inflight.granted does not run, and will not be called.
 * Context: any but hard interrupt.
 */
void ipoib_inflight_put(struct ipoib_limit *limit, struct ipoib_inflight *inflight)
{
	if (!limit)
		return;
	spin_lock_bh(&limit->lock);
	list_del_init(&inflight->list);
	if (inflight->held) {
		WRITE_ONCE(inflight->held, false);
		limit->held[inflight->kind]--;
		ipoib_limit_grant(limit, IPOIB_INFLIGHT_GROUP);
		ipoib_limit_grant(limit, IPOIB_INFLIGHT_PATH);
	}
	spin_unlock_bh(&limit->lock);
}
