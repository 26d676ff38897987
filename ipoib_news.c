// SPDX-License-Identifier: GPL-2.0
/*
 * What is heard of groups: answers to joins, records that were read, and what
 * the SA and the port report. It is only noted here; the multicast work acts on
 * it (ipoib_multicast.c).
 */
#include <linux/jiffies.h>

#include "ipoib_multicast.h"

/**
 * ipoib_mcast_answer - note the answer to a join, or the loss of a membership
 * @mcast: the group
 * @status: 0 or negative error; -ENETRESET for a loss
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status)
{
	struct ipoib_dev *priv = mcast->priv;
	unsigned long spread;

	spin_lock_bh(&priv->mcast_lock);
	if (status == -ENETRESET) {
		mcast->lost = true;
		/* A question to the former SM that ends now costs no pause. */
		WRITE_ONCE(mcast->backoff, 0);
		/* All nodes have lost theirs: the link itself comes first. */
		spread = ipoib_mcast_spread();
		if (ipoib_group_is_broadcast(mcast))
			spread /= 4;
		mcast->retry_at = jiffies + spread;
	} else {
		mcast->answered = true;
		mcast->status = status;
	}
	ipoib_mcast_todo(mcast);
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_record - the record of a group has been read
 * @priv: the interface
 * @mgid: MGID of the group; it may be gone
 * @status: 0 or negative error
 * @rec: the record, valid if @status is 0
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_record(struct ipoib_dev *priv, const union ib_gid *mgid,
			int status, const struct ib_sa_mcmember_rec *rec)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast_lock);
	mcast = ipoib_group_lookup(priv, mgid->raw);
	if (mcast && !mcast->read && (mcast->state == IPOIB_MCAST_ASKING ||
				      mcast->state == IPOIB_MCAST_CHECKING)) {
		mcast->read = true;
		mcast->read_status = status;
		if (!status)
			mcast->fresh = *rec;
		ipoib_mcast_todo(mcast);
	}
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/* Ask again at once for a group that there was not, or that was refused. */
static void ipoib_mcast_retry_now(struct ipoib_mcast *mcast)
{
	mcast->backoff = 0;
	WRITE_ONCE(mcast->absences, 0);
	if (mcast->state != IPOIB_MCAST_BACKOFF &&
	    mcast->state != IPOIB_MCAST_ABSENT)
		return;
	mcast->retry_at = jiffies;
	mcast->asked_at = jiffies;
	mcast->reread = IPOIB_REREAD_GET;
	ipoib_mcast_todo(mcast);
}

/**
 * ipoib_mcast_rejoin - try again at once what has failed so far
 * @priv: the interface
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_rejoin(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list) {
		ipoib_mcast_retry_now(mcast);
		ipoib_mcast_todo(mcast);
	}
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/* When that is granted there is the group, whatever was reported before. */
static bool ipoib_mcast_joins_full(const struct ipoib_mcast *mcast)
{
	return mcast->state == IPOIB_MCAST_JOINING &&
	       READ_ONCE(mcast->asked) == IPOIB_JOIN_FULL;
}

/*
 * A membership that does not keep the group: it may have become another one. Or
 * the SA has said that there is no group, and we are just about to believe it.
 */
static void ipoib_mcast_look_again(struct ipoib_mcast *mcast)
{
	if (mcast->state == IPOIB_MCAST_IDLE)
		return;
	if (mcast->state != IPOIB_MCAST_ASKING &&
	    (READ_ONCE(mcast->held) == IPOIB_JOIN_FULL ||
	     ipoib_mcast_joins_full(mcast)))
		return;
	mcast->reread = max_t(u8, mcast->reread, IPOIB_REREAD_GET);
	mcast->belief = IPOIB_MCAST_BELIEF;
	ipoib_mcast_todo(mcast);
}

/**
 * ipoib_mcast_review - reports may have been missed
 * @priv: the interface
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_review(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list) {
		ipoib_mcast_look_again(mcast);
		ipoib_mcast_retry_now(mcast);
	}
	ipoib_router_due(priv);
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_doubt - there is another SM, which may not know us
 * @priv: the interface
 *
 * An SM that takes over is to ask for reregistration, which ends in
 * ipoib_mcast_answer(); not all do. What we are is said again, and stays in
 * use meanwhile. Where the former SM is being asked, it is said after its answer.
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_doubt(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	if (!priv->agent)
		return;
	spin_lock_bh(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list) {
		if (mcast->state != IPOIB_MCAST_MEMBER &&
		    !ipoib_group_is_busy(mcast->state))
			continue;
		/* A question to the former SM that ends now costs no pause. */
		WRITE_ONCE(mcast->backoff, 0);
		mcast->reread = IPOIB_REREAD_SET;
		mcast->belief = IPOIB_MCAST_BELIEF;
		mcast->retry_at = jiffies + ipoib_mcast_spread();
		ipoib_mcast_todo(mcast);
	}
	ipoib_router_due(priv);
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_group_seen - the SA reports a new group
 * @priv: the interface
 * @mgid: its MGID, of any link
 *
 * Who has sent to the routers now sends to the group (U53). Who thinks to be a
 * member has missed that it went: it may have another MLID now (A26). Most reports
 * are of groups that are of no interest here, and cost nothing more.
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_group_seen(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;
	bool kick;

	if (!ipoib_mgid_on_link(mgid, &priv->broadcast_mgid))
		return;
	spin_lock_bh(&priv->mcast_lock);
	mcast = ipoib_group_lookup(priv, mgid->raw);
	if (mcast) {
		ipoib_mcast_look_again(mcast);
		ipoib_mcast_retry_now(mcast);
	}
	ipoib_router_seen(priv, mgid);
	kick = mcast || priv->routing;
	spin_unlock_bh(&priv->mcast_lock);
	if (kick)
		ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_group_gone - the SA reports that a group has been deleted
 * @priv: the interface
 * @mgid: its MGID, of any link
 *
 * A group that the administrator made is reported when its last member leaves,
 * and stays: so the record is read before anything is dropped. If we are being
 * made a member just now, it may have gone after the SA answered.
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_group_gone(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;
	bool doubt;

	spin_lock_bh(&priv->mcast_lock);
	mcast = ipoib_group_lookup(priv, mgid->raw);
	doubt = mcast && (READ_ONCE(mcast->held) ||
			  (ipoib_group_is_busy(mcast->state) &&
			   !ipoib_mcast_joins_full(mcast)));
	if (doubt) {
		mcast->reread = max_t(u8, mcast->reread, IPOIB_REREAD_GET);
		ipoib_mcast_todo(mcast);
	}
	spin_unlock_bh(&priv->mcast_lock);
	if (doubt)
		ipoib_mcast_kick(priv, 0);
}
