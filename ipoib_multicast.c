// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: answers, and reports of the SA and the port, are noted here for the works of
 * groups (mcast/join.c). Start and stop with the interface.
 */
#include <linux/jiffies.h>
#include <linux/seq_file.h>

#include "mcast/mcast.h"

/* ---- events ---- */

/*
 * Note the answer to a join, or -ENETRESET for the loss of a membership.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status)
{
	struct ipoib_dev *priv = mcast->priv;
	unsigned long spread;

	spin_lock_bh(&priv->mcast.lock);
	if (status == -ENETRESET) {
		/* An outstanding question to the previous SM costs no pause. */
		WRITE_ONCE(mcast->failures, 0);
		/* All nodes have lost their memberships; the link comes first. */
		spread = ipoib_spread();
		if (ipoib_mcast_group_is_broadcast(mcast))
			spread /= 4;
		mcast->retry_at = jiffies + spread;
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_LOST);
	} else {
		mcast->status = status;
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_ANSWER);
	}
	spin_unlock_bh(&priv->mcast.lock);
}

/*
 * Note the answer to a query or a recheck of a group, which may be gone. @rec is the record if
 * @status is 0, else @status is a negative error.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_record(struct ipoib_dev *priv, const union ib_gid *mgid,
			int status, const struct ib_sa_mcmember_rec *rec)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast.lock);
	mcast = ipoib_mcast_group_lookup(priv, mgid->raw);
	if (mcast && !(mcast->events & IPOIB_MCAST_EV_ANSWER) &&
	    (mcast->state == IPOIB_MCAST_ASKING || mcast->state == IPOIB_MCAST_CHECKING)) {
		mcast->status = status;
		if (!status)
			mcast->fresh = *rec;
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_ANSWER);
	}
	spin_unlock_bh(&priv->mcast.lock);
}

/*
 * Clear the count of failures, and the pause of a group in BACKOFF or ABSENT except for
 * IPOIB_MCAST_HOLD_OFF. mcast.lock held. Return: true for these states.
 */
static bool ipoib_mcast_end_pause(struct ipoib_mcast *mcast)
{
	WRITE_ONCE(mcast->failures, 0);
	if (mcast->state != IPOIB_MCAST_BACKOFF && mcast->state != IPOIB_MCAST_ABSENT)
		return false;
	mcast->retry_at = jiffies + IPOIB_MCAST_HOLD_OFF;
	mcast->asked_at = jiffies;
	return true;
}

/*
 * Join refused groups again, and missing groups with their next frames.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_rejoin(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		ipoib_mcast_end_pause(mcast);
		ipoib_mcast_post(mcast, 0);
	}
	spin_unlock_bh(&priv->mcast.lock);
}

/* The group exists once the join is granted, whatever was reported before. */
static bool ipoib_mcast_joins_full(const struct ipoib_mcast *mcast)
{
	return mcast->state == IPOIB_MCAST_JOINING &&
	       READ_ONCE(mcast->asked) == IPOIB_JOIN_FULL;
}

/*
 * The group may be new, and a membership that does not keep its group one of the previous group. In
 * state ASKING the answer of the SA may be older than the report. mcast.lock held.
 */
static void ipoib_mcast_request_reread(struct ipoib_mcast *mcast)
{
	if (mcast->state == IPOIB_MCAST_ASKING ||
	    (mcast->state != IPOIB_MCAST_IDLE && READ_ONCE(mcast->held) != IPOIB_JOIN_FULL &&
	     !ipoib_mcast_joins_full(mcast))) {
		mcast->recheck_interval = IPOIB_MCAST_RECHECK_MIN;
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	}
	if (ipoib_mcast_end_pause(mcast))
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
}

/*
 * Recheck groups, as reports may have been missed. A missing group waits for its next frame if
 * there are no reports: after a restart of the SM each node has some, of MLD reports and router
 * solicitations.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_review(struct ipoib_dev *priv)
{
	bool reported = ipoib_sa_notice_on(priv->agent);
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list)
		if (mcast->state == IPOIB_MCAST_ABSENT && !reported)
			ipoib_mcast_end_pause(mcast);
		else
			ipoib_mcast_request_reread(mcast);
	ipoib_mcast_route_due(priv, 0);
	spin_unlock_bh(&priv->mcast.lock);
}

/*
 * Register the memberships with a new SM. An SM that takes over should request reregistration,
 * which ends in ipoib_mcast_answer(), but not all do. Memberships are set again, and stay in use
 * meanwhile. A group with a query to the previous SM follows after its answer.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_sm_changed(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	if (!priv->agent)
		return;
	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		if (mcast->state != IPOIB_MCAST_MEMBER && !ipoib_mcast_group_is_busy(mcast->state))
			continue;
		/* An outstanding question to the previous SM costs no pause. */
		WRITE_ONCE(mcast->failures, 0);
		mcast->recheck_interval = IPOIB_MCAST_RECHECK_MIN;
		mcast->retry_at = jiffies + ipoib_spread();
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	}
	ipoib_mcast_route_due(priv, 0);
	spin_unlock_bh(&priv->mcast.lock);
}

/*
 * Handle the report of a new group, of any link. Frames that went to the routers use the group now
 * (U53). A present membership is one of the previous group, whose end was not reported, and may
 * have another MLID (A26). Reports of unknown groups, which most are, cost a lookup.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_group_created(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;

	if (!ipoib_mgid_on_link(mgid, &priv->broadcast_mgid))
		return;
	spin_lock_bh(&priv->mcast.lock);
	mcast = ipoib_mcast_group_lookup(priv, mgid->raw);
	if (mcast)
		ipoib_mcast_request_reread(mcast);
	if (priv->mcast.routes & IPOIB_ROUTES_ON)
		ipoib_mcast_route_want(priv, mgid);
	spin_unlock_bh(&priv->mcast.lock);
}

/*
 * Handle the report of a deleted group, of any link. A group that an administrator created is
 * reported with its last member, and stays: so the membership is rechecked first. With a join under
 * way the group may have gone after the answer.
 * Context: any but hard interrupt.
 */
void ipoib_mcast_group_deleted(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast.lock);
	mcast = ipoib_mcast_group_lookup(priv, mgid->raw);
	if (mcast && (READ_ONCE(mcast->held) ||
		      (ipoib_mcast_group_is_busy(mcast->state) &&
		       !ipoib_mcast_joins_full(mcast))))
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	spin_unlock_bh(&priv->mcast.lock);
}

/* ---- debugfs ---- */

/* Users of a group, by IPOIB_USER_ bits: listener, router, sender */
static const char * const ipoib_mcg_users[] = {
	"-", "l", "r", "lr", "s", "ls", "rs", "lrs",
};

/*
 * Print a group, by its entry of &ipoib_groups.list, for debugfs.
 * Context: &ipoib_groups.lock held. Return: 0.
 */
int ipoib_mcast_show(struct seq_file *file, void *at)
{
	const struct ipoib_mcast *mcast = list_entry(at, struct ipoib_mcast, list);

	seq_printf(file, "GID: %pI6\n", mcast->mgid.raw);
	seq_printf(file, "  created: %10lu\n", mcast->created);
	seq_printf(file, "  queuelen: %9u\n", skb_queue_len(&mcast->queue));
	seq_printf(file, "  complete: %9s\n", rcu_access_pointer(mcast->ah) ? "yes" : "no");
	seq_printf(file, "  send_only: %8s\n",
		   ipoib_mcast_group_want(mcast) & IPOIB_JOIN_RECEIVES ? "no" : "yes");
	seq_printf(file, "  state: %12s\n", ipoib_mcast_state_names[mcast->state]);
	seq_printf(file, "  join_state: %7u\n", READ_ONCE(mcast->held));
	seq_printf(file, "  mlid: %#13x\n", mcast->held ? be16_to_cpu(mcast->rec.mlid) : 0);
	seq_printf(file, "  users: %12s\n", ipoib_mcg_users[mcast->users & 7]);
	seq_printf(file, "  idle: %13u\n",
		   jiffies_to_msecs(jiffies - READ_ONCE(mcast->used)) / 1000);
	if (mcast->state == IPOIB_MCAST_BACKOFF)
		seq_printf(file, "  retry_ms: %9u\n  reason: %s\n",
			   jiffies_to_msecs(ipoib_mcast_until(mcast->retry_at)),
			   ipoib_mcast_check_text(mcast));
	seq_putc(file, '\n');
	return 0;
}

/* ---- up and down ---- */

/*
 * Join the broadcast group and the groups of the stack.
 * Context: RTNL held, IPOIB_FLAG_UP set. Return: 0 or -ENOMEM.
 */
int ipoib_mcast_start(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	/* The lock keeps its work from ending it before its publication. */
	spin_lock_bh(&priv->mcast.lock);
	mcast = ipoib_mcast_group_add(priv, priv->broadcast_mgid.raw, IPOIB_USER_LISTEN);
	rcu_assign_pointer(priv->broadcast, mcast);
	spin_unlock_bh(&priv->mcast.lock);
	if (!mcast)
		return -ENOMEM;
	ipoib_mcast_resync(priv);
	return 0;
}

/*
 * Leave all groups.
 * Context: RTNL held, IPOIB_FLAG_UP cleared, transmit queues stopped; may sleep.
 */
void ipoib_mcast_stop(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	/* No group is created after this. Each group ends in its work, at once. */
	spin_lock_bh(&priv->mcast.lock);
	ipoib_mcast_route_end(priv);
	list_for_each_entry(mcast, &priv->mcast.list, list)
		mod_delayed_work(priv->wq, &mcast->work, 0);
	spin_unlock_bh(&priv->mcast.lock);
	cancel_delayed_work_sync(&priv->mcast.work);
	flush_workqueue(priv->wq);
	clear_bit(IPOIB_FLAG_JOINED, &priv->flags);
	ipoib_sa_query_cancel(priv);
}

/* Create the table of groups. Returns 0 or -ENOMEM. Context: process. */
int ipoib_mcast_init(struct ipoib_dev *priv)
{
	spin_lock_init(&priv->mcast.lock);
	INIT_LIST_HEAD(&priv->mcast.list);
	INIT_DELAYED_WORK(&priv->mcast.work, ipoib_mcast_interest_work);
	return rhashtable_init(&priv->mcast.table, &ipoib_mcast_params);
}

/*
 * Free the table of groups, which is empty.
 * Context: process; waits for the work that follows the stack's list.
 */
void ipoib_mcast_exit(struct ipoib_dev *priv)
{
	/* A change of the stack's list may have queued it after ipoib_mcast_stop(). */
	cancel_delayed_work_sync(&priv->mcast.work);
	WARN_ON_ONCE(!list_empty(&priv->mcast.list));
	rhashtable_destroy(&priv->mcast.table);
}
