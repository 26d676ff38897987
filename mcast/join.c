// SPDX-License-Identifier: GPL-2.0
/*
 * Membership in a group: join, recheck, leave, by the work of the group, step by step; see the
 * drawing in design.rst. Any context notes users and events under mcast.lock; the work handles them
 * without a lock.
 *
 * The broadcast group is joined first. It gives the link its MTU, Q_Key and SL; the driver never
 * creates it (RFC 4391 section 5), and creates other groups like it. A new membership, after a loss
 * or with another JoinState, replaces the old one once it is granted.
 *
 * ib_sa answers -EINVAL for every reason of the SA. So the record of a refused group is read: the
 * group is missing, or a value differs. The reason is logged, and selects the pause before the next
 * join.
 */
#include <linux/jiffies.h>

#include "mcast/mcast.h"

/* ---- failures ---- */

/* Failures before the lack of an SM is logged: ib_sa looks for it, often for a moment. */
#define IPOIB_CHECK_QUIET	5

/* Log a failure of a group, once for each reason (U58). */
static void ipoib_mcast_check_log(struct ipoib_mcast *mcast, const char *what, int err)
{
	struct ipoib_dev *priv = mcast->priv;
	const char *kind = mcast->asked & IPOIB_JOIN_RECEIVES ? "" : "sendonly ";

	if (mcast->reason == IPOIB_CHECK_NO_SM && READ_ONCE(mcast->failures) < IPOIB_CHECK_QUIET)
		return;
	ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
	if (mcast->logged == mcast->reason)
		return;
	mcast->logged = mcast->reason;
	netdev_warn(priv->netdev, "%smulticast %s failed for %pI6, status %d: %s\n", kind, what,
		    mcast->mgid.raw, err, ipoib_mcast_check_text(mcast));
}

/* A misfit, or an HCA without room, waits for an administrator: the slow back-off. */
static bool ipoib_mcast_check_is_slow(enum ipoib_check reason)
{
	return (reason >= IPOIB_CHECK_PKEY && reason <= IPOIB_CHECK_HOPS) ||
	       reason == IPOIB_CHECK_LOCAL;
}

/* Least pause of a missing group */
#define IPOIB_ABSENT_MIN	(2ul * HZ)

/*
 * Count a failure, and set the time of the next request.
 * Context: step of the group, without mcast.lock; an event may overwrite both values under it.
 */
static void ipoib_mcast_check_retry_later(struct ipoib_mcast *mcast)
{
	unsigned int failures = READ_ONCE(mcast->failures);
	unsigned long pause;

	if (ipoib_mcast_check_is_slow(mcast->reason))
		pause = ipoib_backoff_slow(failures);
	else
		pause = ipoib_backoff_fast(failures);
	/* Frames to a missing group use another; MLD repeats its first reports within a second. */
	if (mcast->reason == IPOIB_CHECK_MISSING && mcast->asked != IPOIB_JOIN_FULL)
		pause = max(pause, IPOIB_ABSENT_MIN);
	/* Without an SM no request was sent. */
	if (mcast->reason == IPOIB_CHECK_NO_SM)
		pause = DIV_ROUND_UP(pause, 32);
	WRITE_ONCE(mcast->failures, failures + 1);
	WRITE_ONCE(mcast->retry_at, jiffies + ipoib_backoff_spread(pause));
}

/* ---- membership ---- */

/* Time for the fabric to forward for a new group */
#define IPOIB_SETTLE		(HZ / 4)
/* Time for listeners to register with a new SM */
#define IPOIB_GRACE		(2 * HZ)
/* Longest recheck interval of a membership, and the addition with reports; up to half is added. */
#define IPOIB_MCAST_RECHECK_MAX	(40ul * HZ)
#define IPOIB_RECHECK_REPORTED	(300 * HZ)

/* True if a request for the group may be sent: the broadcast group goes first. */
static bool ipoib_mcast_may_join(const struct ipoib_mcast *mcast)
{
	const struct ipoib_mcast *broadcast;

	if (!test_bit(IPOIB_FLAG_PORT_ACTIVE, &mcast->priv->flags))
		return false;
	broadcast = rcu_dereference_protected(mcast->priv->broadcast, true);
	return mcast == broadcast ||
	       ((broadcast->state == IPOIB_MCAST_MEMBER ||
		 broadcast->state == IPOIB_MCAST_CHECKING) &&
		!(READ_ONCE(broadcast->events) & IPOIB_MCAST_EV_LOST));
}

static void ipoib_mcast_member_detach(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;
	int err;

	if (!mcast->attached)
		return;
	mcast->attached = false;
	err = ipoib_ud_detach(priv, &mcast->rec.mgid, be16_to_cpu(mcast->rec.mlid));
	if (!err)
		return;
	mcast->reason = IPOIB_CHECK_LOCAL;
	ipoib_mcast_check_log(mcast, "detach", err);
}

/* Release the handle of a membership, or of a join. */
static void ipoib_mcast_member_free(struct ipoib_mcast *mcast, struct ib_sa_multicast **handle)
{
	if (*handle)
		mcast->priv->fabric->leave(*handle);
	*handle = NULL;
}

/* Give up the membership here, whatever the SA has. */
static void ipoib_mcast_member_forget(struct ipoib_mcast *mcast)
{
	bool held = mcast->held;

	ipoib_mcast_member_detach(mcast);
	ipoib_mcast_member_free(mcast, &mcast->member);
	WRITE_ONCE(mcast->held, 0);
	ipoib_ah_retire(mcast->priv, rcu_replace_pointer(mcast->ah, NULL, true));
	/* After an SM change frames without a membership go to all nodes. */
	if (held)
		WRITE_ONCE(mcast->settled, true);
}

/*
 * Have frames use the broadcast group for @delay jiffies; not those of the broadcast group itself.
 */
static void ipoib_mcast_member_unsettle(struct ipoib_mcast *mcast, unsigned long delay)
{
	mcast->settled_at = jiffies + delay;
	WRITE_ONCE(mcast->settled, ipoib_mcast_group_is_broadcast(mcast));
}

/* Apply a membership with JoinState @state and the record @rec. */
static enum ipoib_check ipoib_mcast_member_take(struct ipoib_mcast *mcast,
						struct ib_sa_mcmember_rec *rec, u8 state,
						int *err)
{
	enum ipoib_check reason = ipoib_mcast_check_group(mcast, rec);
	bool moves = !mcast->held || mcast->rec.mlid != rec->mlid || !mcast->settled;
	bool receives = state & IPOIB_JOIN_RECEIVES;
	struct ipoib_dev *priv = mcast->priv;
	/* The net device of the HCA gets the Q_Key with the attachment. */
	bool rekeyed = priv->rn && mcast->rec.qkey != rec->qkey;
	struct rdma_ah_attr attr;
	struct ipoib_ah *ah;

	*err = -EINVAL;
	if (reason)
		return reason;
	/* The broadcast group gives the link its MTU and Q_Key (U18, U28, U40). */
	if (ipoib_mcast_group_is_broadcast(mcast)) {
		WRITE_ONCE(priv->mcast_mtu, ipoib_mtu_from_ib(rec->mtu));
		*err = ipoib_ud_set_qkey(priv, be32_to_cpu(rec->qkey));
		if (*err)
			return IPOIB_CHECK_LOCAL;
	}
	*err = priv->fabric->group_ah(priv, rec, &attr);
	if (*err)
		return IPOIB_CHECK_LOCAL;
	ah = ipoib_ah_create(priv, &attr);
	*err = PTR_ERR_OR_ZERO(ah);
	if (*err)
		return IPOIB_CHECK_LOCAL;
	if (!receives || mcast->rec.mlid != rec->mlid || rekeyed)
		ipoib_mcast_member_detach(mcast);
	if (receives && !mcast->attached)
		*err = ipoib_ud_attach(priv, &rec->mgid, be16_to_cpu(rec->mlid));
	if (*err) {
		ipoib_ah_retire(priv, ah);
		return IPOIB_CHECK_LOCAL;
	}
	mcast->attached = receives;
	mcast->rec = *rec;
	WRITE_ONCE(mcast->recheck_interval, ipoib_backoff_spread(IPOIB_MCAST_RECHECK_MIN));
	WRITE_ONCE(mcast->held, state);
	if (moves)
		ipoib_mcast_member_unsettle(mcast, IPOIB_SETTLE);
	/* A handle of another tree comes after the group is unsettled. */
	ipoib_ah_retire(priv, rcu_replace_pointer(mcast->ah, ah, true));
	return IPOIB_CHECK_OK;
}

/*
 * A new SM empties the tables of switches, and fills them as nodes register, first for the
 * broadcast group: frames to lost groups use it until these have settled.
 */
static void ipoib_mcast_member_link_up(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	set_bit(IPOIB_FLAG_JOINED, &priv->flags);
	ipoib_ctl_post(priv, IPOIB_CTL_LINK);
	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		if (mcast->events & IPOIB_MCAST_EV_LOST && rcu_access_pointer(mcast->ah))
			ipoib_mcast_member_unsettle(mcast, IPOIB_GRACE);
		/* Other groups wait for the broadcast group, */
		ipoib_mcast_post(mcast, 0);
	}
	spin_unlock_bh(&priv->mcast.lock);
	/* and so does the list of groups to route. */
	ipoib_mcast_resync(priv);
}

static void ipoib_mcast_member_set_joined(struct ipoib_mcast *mcast)
{
	WRITE_ONCE(mcast->failures, 0);
	mcast->reason = IPOIB_CHECK_OK;
	mcast->logged = IPOIB_CHECK_OK;
	WRITE_ONCE(mcast->retry_at, jiffies);
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_MEMBER);
	if (ipoib_mcast_group_is_broadcast(mcast))
		ipoib_mcast_member_link_up(mcast->priv);
}

/* The group counts as missing: give up the membership, and routing as a user. */
static void ipoib_mcast_member_set_absent(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;
	bool held = mcast->held;

	ipoib_mcast_member_forget(mcast);
	/* Listeners may register with a new SM after senders. */
	if (held)
		ipoib_mcast_member_unsettle(mcast, IPOIB_GRACE);
	mcast->reason = IPOIB_CHECK_MISSING;
	/* Before the state: the next frame must find the pause. */
	ipoib_mcast_check_retry_later(mcast);
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_ABSENT);
	spin_lock_bh(&priv->mcast.lock);
	/* The group may exist by now; a router has no interest in a missing group. */
	if (mcast->events & IPOIB_MCAST_EV_RECHECK)
		mcast->retry_at = jiffies + IPOIB_MCAST_HOLD_OFF;
	else
		ipoib_mcast_group_drop_user(mcast, IPOIB_USER_ROUTE);
	spin_unlock_bh(&priv->mcast.lock);
}

/* Enter BACKOFF. A definitive failure ends the membership, too. */
static void ipoib_mcast_member_failed(struct ipoib_mcast *mcast, enum ipoib_check reason, int err)
{
	bool definitive = ipoib_mcast_check_is_definitive(reason);
	struct ipoib_dev *priv = mcast->priv;

	/* Seven failures of the fast back-off are a minute of the slow one. */
	if (ipoib_mcast_check_is_slow(reason) && !ipoib_mcast_check_is_slow(mcast->reason))
		WRITE_ONCE(mcast->failures, 0);
	mcast->reason = reason;
	ipoib_mcast_check_log(mcast, "join", err);
	ipoib_mcast_check_retry_later(mcast);
	if (definitive)
		ipoib_mcast_member_forget(mcast);
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_BACKOFF);
	/* The answer may be older than a report during the request. */
	if (READ_ONCE(mcast->events) & IPOIB_MCAST_EV_RECHECK)
		WRITE_ONCE(mcast->retry_at, jiffies + IPOIB_MCAST_HOLD_OFF);
	if (definitive && ipoib_mcast_group_is_broadcast(mcast) &&
	    test_and_clear_bit(IPOIB_FLAG_JOINED, &priv->flags))
		ipoib_ctl_post(priv, IPOIB_CTL_LINK);
}

/*
 * A refusal by the SA, or by ib_sa. The group of a sender is mostly missing: the record is read
 * after the second refusal. With reports that is 30 s later, too long for a misfit.
 */
static void ipoib_mcast_member_refused(struct ipoib_mcast *mcast)
{
	struct ipoib_agent *agent = mcast->priv->agent;
	bool sends = mcast->asked & IPOIB_JOIN_SEND;

	if (agent && (!sends || READ_ONCE(mcast->failures) || ipoib_sa_notice_on(agent)))
		ipoib_mcast_set_state(mcast, IPOIB_MCAST_ASKING);
	else if (sends)
		ipoib_mcast_member_set_absent(mcast);
	else
		ipoib_mcast_member_failed(mcast, IPOIB_CHECK_REFUSED, -EINVAL);
}

/* The membership is valid; check it again after a pause. */
static void ipoib_mcast_member_check_later(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;

	ipoib_mcast_check_retry_later(mcast);
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_MEMBER);
	spin_lock_bh(&priv->mcast.lock);
	ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	spin_unlock_bh(&priv->mcast.lock);
}

/*
 * Enter a state with a request, if the link and the limit of queries allow it; otherwise the work
 * runs again when they do. Other groups wait for the broadcast group, so their requests to an SM
 * that may have died do not delay it. A present membership stays.
 */
static void ipoib_mcast_begin(struct ipoib_mcast *mcast, enum ipoib_mcast_state state, u8 asked)
{
	struct ipoib_dev *priv = mcast->priv;

	if (!ipoib_mcast_may_join(mcast))
		return;
	if (priv->agent && !ipoib_mcast_group_is_broadcast(mcast) &&
	    !ipoib_inflight_get(priv->neigh.limit, &mcast->inflight))
		return;
	WRITE_ONCE(mcast->asked, asked);
	ipoib_mcast_set_state(mcast, state);
}

/* Send the request of the state. A failure to send is the answer. */
static void ipoib_mcast_ask(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;
	struct ib_sa_multicast *joining;
	int err;

	if (mcast->state == IPOIB_MCAST_JOINING) {
		ipoib_stat_add(priv, IPOIB_MCAST_JOINS, 1);
		joining = priv->fabric->join(mcast, mcast->asked);
		if (IS_ERR(joining))
			ipoib_mcast_answer(mcast, PTR_ERR(joining));
		else
			mcast->joining = joining;
		return;
	}
	/* A recheck sets the membership again, and its answer has the record. */
	if (mcast->state == IPOIB_MCAST_ASKING)
		err = ipoib_sa_query_group(priv, &mcast->mgid);
	else
		err = ipoib_sa_query_refresh(mcast);
	/* Not a decision of the SA */
	if (err)
		ipoib_mcast_answer(mcast, -EIO);
}

/* True if address handle and QP need no change for the new record */
static bool ipoib_mcast_member_unchanged(const struct ipoib_mcast *mcast,
					 const struct ib_sa_mcmember_rec *rec)
{
	/* A previous change may have failed half way. */
	return mcast->attached == !!(mcast->held & IPOIB_JOIN_RECEIVES) &&
	       rec->mlid == mcast->rec.mlid && rec->qkey == mcast->rec.qkey &&
	       rec->mtu == mcast->rec.mtu && rec->sl == mcast->rec.sl &&
	       rec->rate == mcast->rec.rate &&
	       rec->traffic_class == mcast->rec.traffic_class &&
	       rec->flow_label == mcast->rec.flow_label &&
	       rec->hop_limit == mcast->rec.hop_limit;
}

/* ---- steps ---- */

static bool ipoib_mcast_is_time(const struct ipoib_mcast *mcast)
{
	return !ipoib_mcast_until(READ_ONCE(mcast->retry_at));
}

/*
 * The answer to a join, &ipoib_mcast.status. After success the new handle replaces the old
 * membership. After a failure the new handle is released, and the old membership ends only by a
 * decision of the SA.
 */
static void ipoib_mcast_step_joining(struct ipoib_mcast *mcast, u8 want, u8 events)
{
	enum ipoib_check reason;
	int err = mcast->status;

	if (err == -EINVAL) {
		ipoib_mcast_member_free(mcast, &mcast->joining);
		ipoib_mcast_member_refused(mcast);
		return;
	}
	if (err)
		reason = err == -EAGAIN ? IPOIB_CHECK_NO_SM : IPOIB_CHECK_NO_ANSWER;
	else
		reason = ipoib_mcast_member_take(mcast, &mcast->joining->rec, mcast->asked, &err);
	/* Release the old membership, or the new one. */
	if (!reason)
		swap(mcast->member, mcast->joining);
	ipoib_mcast_member_free(mcast, &mcast->joining);
	if (reason)
		ipoib_mcast_member_failed(mcast, reason, err);
	else
		ipoib_mcast_member_set_joined(mcast);
}

/* The answer has come: the record shows the reason of a refusal. */
static void ipoib_mcast_step_asking(struct ipoib_mcast *mcast, u8 want, u8 events)
{
	enum ipoib_check reason = IPOIB_CHECK_REFUSED;
	int status = mcast->status;

	if (status == -ENOENT && mcast->asked != IPOIB_JOIN_FULL) {
		ipoib_mcast_member_set_absent(mcast);
		return;
	}
	if (ipoib_sa_is_silent(status))
		reason = IPOIB_CHECK_NO_ANSWER;
	else if (status == -ENOENT && ipoib_mcast_group_is_broadcast(mcast))
		reason = IPOIB_CHECK_MISSING;
	else if (!status)
		reason = ipoib_mcast_check_group(mcast, &mcast->fresh) ?: reason;
	/* A group that fits was created after the refusal. */
	if (reason == IPOIB_CHECK_REFUSED && !status && mcast->reason != IPOIB_CHECK_REFUSED) {
		mcast->reason = IPOIB_CHECK_REFUSED;
		ipoib_mcast_set_state(mcast, IPOIB_MCAST_JOINING);
		return;
	}
	ipoib_mcast_member_failed(mcast, reason, status ?: -EINVAL);
}

/* Replace a membership that is lost or has the wrong JoinState; recheck it when due. */
static void ipoib_mcast_step_member(struct ipoib_mcast *mcast, u8 want, u8 events)
{
	bool due = ipoib_mcast_is_time(mcast);

	if (want != mcast->held || (due && events & IPOIB_MCAST_EV_LOST))
		ipoib_mcast_begin(mcast, IPOIB_MCAST_JOINING, want);
	else if (due && events & IPOIB_MCAST_EV_RECHECK)
		ipoib_mcast_begin(mcast, IPOIB_MCAST_CHECKING, want);
}

/* The answer to a recheck. Without a decision of the SA the membership stays. */
static void ipoib_mcast_step_checking(struct ipoib_mcast *mcast, u8 want, u8 events)
{
	int status = mcast->status, err;
	enum ipoib_check reason;

	if (!status && ipoib_mcast_member_unchanged(mcast, &mcast->fresh)) {
		/* Switches may have dropped the port meanwhile. */
		ipoib_mcast_member_unsettle(mcast, IPOIB_SETTLE);
		ipoib_mcast_member_set_joined(mcast);
	} else if (!status) {
		/* Another group with the same MGID: the SA has made the port its member. */
		mcast->fresh.port_gid = mcast->rec.port_gid;
		reason = ipoib_mcast_member_take(mcast, &mcast->fresh, mcast->held, &err);
		if (!reason) {
			ipoib_mcast_member_set_joined(mcast);
		} else if (reason != IPOIB_CHECK_LOCAL) {
			ipoib_mcast_member_failed(mcast, reason, err);
		} else {
			mcast->reason = reason;
			ipoib_mcast_check_log(mcast, "renewal", err);
			ipoib_mcast_member_check_later(mcast);
		}
	} else if (ipoib_sa_is_silent(status) || status == -EPROTO) {
		/* Counted, not logged: only changes are (U58). */
		ipoib_stat_add(mcast->priv, IPOIB_MCAST_FAILED, 1);
		ipoib_mcast_member_check_later(mcast);
	} else if (mcast->held & IPOIB_JOIN_FULL) {
		/* Refused: the group is missing, or has other values. */
		ipoib_mcast_member_forget(mcast);
		WRITE_ONCE(mcast->retry_at, jiffies + IPOIB_MCAST_HOLD_OFF);
		ipoib_mcast_set_state(mcast, IPOIB_MCAST_IDLE);
	} else {
		ipoib_mcast_member_set_absent(mcast);
	}
}

/* A new JoinState does not wait. A missing group is joined again with a frame or a report. */
static void ipoib_mcast_step_waiting(struct ipoib_mcast *mcast, u8 want, u8 events)
{
	bool due = mcast->state != IPOIB_MCAST_ABSENT || events & IPOIB_MCAST_EV_RECHECK;

	if (want != mcast->asked || (due && ipoib_mcast_is_time(mcast)))
		ipoib_mcast_begin(mcast, IPOIB_MCAST_JOINING, want);
}

/*
 * Step of a group with users, by state; in a state with a request once there is an answer.
 * Context: work of the group, without mcast.lock; may sleep.
 */
static void (* const ipoib_mcast_steps[IPOIB_NR_MCAST_STATES])(struct ipoib_mcast *mcast,
							       u8 want, u8 events) = {
	[IPOIB_MCAST_IDLE]	= ipoib_mcast_step_waiting,
	[IPOIB_MCAST_JOINING]	= ipoib_mcast_step_joining,
	[IPOIB_MCAST_ASKING]	= ipoib_mcast_step_asking,
	[IPOIB_MCAST_MEMBER]	= ipoib_mcast_step_member,
	[IPOIB_MCAST_CHECKING]	= ipoib_mcast_step_checking,
	[IPOIB_MCAST_BACKOFF]	= ipoib_mcast_step_waiting,
	[IPOIB_MCAST_ABSENT]	= ipoib_mcast_step_waiting,
};

/* ---- work ---- */

/*
 * End a group without users, or any group once the interface goes down: leave it, and free it
 * unless it has users again.
 */
static void ipoib_mcast_end(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;
	bool stays;

	ipoib_mcast_member_free(mcast, &mcast->joining);
	ipoib_mcast_member_forget(mcast);
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_IDLE);
	/* No answer and no inflight slot comes after this. */
	ipoib_inflight_put(priv->neigh.limit, &mcast->inflight);
	spin_lock_bh(&priv->mcast.lock);
	stays = ipoib_mcast_is_open(priv) && mcast->users;
	mcast->retry_at = jiffies;
	if (stays)
		ipoib_mcast_queue(mcast);
	else
		ipoib_mcast_group_unlink(mcast);
	spin_unlock_bh(&priv->mcast.lock);
	if (stays)
		return;
	/* An event before the removal from the table may have queued the work. */
	cancel_delayed_work(&mcast->work);
	/* Earlier frames create the group anew, or are dropped. */
	ipoib_mcast_group_send(mcast);
	pr_debug("ipoib: group %pI6 destroyed\n", mcast->mgid.raw);
	kfree_rcu(mcast, rcu);
}

/*
 * Schedule the recheck of a membership that does not keep its group, which may have been deleted or
 * created anew. The interval doubles, to limit the load of the SA; it is longer with reports, as a
 * subscription may be silent. A group that is only sent to needs no recheck before the next frame.
 * Returns the jiffies until the recheck, or ULONG_MAX. mcast.lock held.
 */
static unsigned long ipoib_mcast_schedule_recheck(struct ipoib_mcast *mcast)
{
	struct ipoib_agent *agent = mcast->priv->agent;
	unsigned long at;

	if (!agent || mcast->state != IPOIB_MCAST_MEMBER ||
	    mcast->events & (IPOIB_MCAST_EV_LOST | IPOIB_MCAST_EV_RECHECK) ||
	    !(mcast->held & (IPOIB_JOIN_NON | IPOIB_JOIN_SEND)) ||
	    (mcast->users == IPOIB_USER_SEND &&
	     time_before_eq(READ_ONCE(mcast->used), mcast->retry_at)))
		return ULONG_MAX;
	at = mcast->retry_at + mcast->recheck_interval;
	if (ipoib_sa_notice_on(agent))
		at += IPOIB_RECHECK_REPORTED;
	/* Reports may stop without notification. */
	if (ipoib_mcast_until(at))
		return min(ipoib_mcast_until(at), IPOIB_MCAST_RECHECK_MIN);
	ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	mcast->recheck_interval = ipoib_backoff_spread(min(mcast->recheck_interval * 2,
							   IPOIB_MCAST_RECHECK_MAX));
	return 0;
}

/*
 * Handle the deadlines beside the step: unused sender, sample, recheck, settling. Queue the work
 * for the next deadline, unless an event has queued it. @tried: &ipoib_mcast.retry_at had passed at
 * the start of the run; unless set since, it is no deadline: the group waits for an event.
 * Context: work of the group, mcast.lock held.
 */
static void ipoib_mcast_rearm(struct ipoib_mcast *mcast, bool tried)
{
	unsigned long left = ipoib_mcast_until(mcast->retry_at), delay;

	lockdep_assert_held(&mcast->priv->mcast.lock);
	/* A sender leaves after IPOIB_SEND_UNUSED without frames (A29). */
	if (mcast->users == IPOIB_USER_SEND && ipoib_mcast_group_is_unused(mcast))
		ipoib_mcast_group_drop_user(mcast, IPOIB_USER_SEND);
	/* Queued by the removal of the last user, or by ipoib_mcast_stop() */
	if (!mcast->users || !ipoib_mcast_is_open(mcast->priv))
		return;
	delay = min(ipoib_mcast_group_sample(mcast), ipoib_mcast_schedule_recheck(mcast));
	if (!mcast->settled && !ipoib_mcast_until(mcast->settled_at))
		WRITE_ONCE(mcast->settled, true);
	if (!mcast->settled)
		delay = min(delay, ipoib_mcast_until(mcast->settled_at));
	if (mcast->users == IPOIB_USER_SEND)
		delay = min(delay, ipoib_mcast_until(READ_ONCE(mcast->used) + IPOIB_SEND_UNUSED));
	if (ipoib_mcast_group_is_pending(mcast) && !skb_queue_empty(&mcast->queue))
		delay = min(delay, ipoib_mcast_until(mcast->asked_at + IPOIB_MCAST_PATIENCE));
	if (left || !tried)
		delay = min(delay, left);
	if (delay != ULONG_MAX)
		queue_delayed_work(mcast->priv->wq, &mcast->work, delay);
}

/*
 * Do the next step of a group.
 * Context: process, on the ordered &ipoib_dev.wq; ndo_stop() waits for it with RTNL held.
 */
void ipoib_mcast_work(struct work_struct *work)
{
	struct ipoib_mcast *mcast = container_of(to_delayed_work(work), struct ipoib_mcast, work);
	enum ipoib_mcast_state state = mcast->state;
	struct ipoib_dev *priv = mcast->priv;
	u8 want, events;
	bool due;

	spin_lock_bh(&priv->mcast.lock);
	want = ipoib_mcast_is_open(priv) ? ipoib_mcast_group_want(mcast) : 0;
	events = mcast->events;
	due = ipoib_mcast_is_time(mcast);
	spin_unlock_bh(&priv->mcast.lock);
	if (!want) {
		ipoib_mcast_end(mcast);
		return;
	}
	/* An answer stays until the state changes, so there is one at a time. */
	if (!ipoib_mcast_group_is_busy(state) || events & IPOIB_MCAST_EV_ANSWER)
		ipoib_mcast_steps[state](mcast, want, events);
	if (mcast->state != state && ipoib_mcast_group_is_busy(mcast->state))
		ipoib_mcast_ask(mcast);
	/* Waiting frames use the group or another, or are dropped. */
	if (!skb_queue_empty_lockless(&mcast->queue) &&
	    (!ipoib_mcast_group_is_pending(mcast) || ipoib_mcast_group_is_slow(mcast)))
		ipoib_mcast_group_send(mcast);
	/* Return the inflight slot unless a request is under way or the next run may send one. */
	if (READ_ONCE(mcast->inflight.held) && !ipoib_mcast_group_is_busy(mcast->state) &&
	    !delayed_work_pending(&mcast->work))
		ipoib_inflight_put(priv->neigh.limit, &mcast->inflight);
	spin_lock_bh(&priv->mcast.lock);
	/* Events may have come before the new state. */
	if (mcast->state != state && !ipoib_mcast_group_is_busy(mcast->state))
		ipoib_mcast_post(mcast, 0);
	ipoib_mcast_rearm(mcast, due);
	spin_unlock_bh(&priv->mcast.lock);
}
