// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups, the broadcast group first of all: when something is done
 * about them.
 *
 * What is wanted and what is reported is noted under mcast.lock from any context;
 * what is done about it is done by one ordered work, group by group, with no
 * lock held (mcast/join.c).
 *
 * The broadcast group is joined first. It gives the link its MTU, Q_Key, SL
 * and so on, it is never created by us (RFC 4391 section 5), and other groups
 * are created like it.
 *
 * Events about groups are noted here, too: records that were read, and what the SA and
 * the port report. The work acts on them.
 */
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/seq_file.h>

#include "mcast/mcast.h"

/* The longest recheck interval of a membership if the SA reports nothing. */
#define IPOIB_MCAST_RECHECK_MAX	(60 * HZ)

/* ---- the limit of outstanding queries ---- */

static void ipoib_mcast_limit_free(struct ipoib_limit_waiter *wait)
{
	struct ipoib_dev *priv = container_of(wait, struct ipoib_dev,
					      mcast.waiter);

	set_bit(IPOIB_FLAG_RESUME, &priv->flags);
	ipoib_mcast_kick(priv, 0);
}

/*
 * Resume some of the groups that wait for a credit, unless one of them has found none
 * since the last answer: the next answer resumes them. Not all, because each answer gives
 * few of thousands a credit.
 *
 * Context: multicast work
 * Return: false if there are none to be processed
 */
static bool ipoib_mcast_resume(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast, *tmp;
	unsigned int n = 0;
	LIST_HEAD(some);

	if (priv->mcast.limit_exhausted)
		return false;
	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry_safe(mcast, tmp, &priv->mcast.waiting, todo) {
		list_move_tail(&mcast->todo, &some);
		if (++n == IPOIB_QUERIES_MAX)
			break;
	}
	list_splice(&some, &priv->mcast.todo);
	spin_unlock_bh(&priv->mcast.lock);
	return n;
}

/* ---- many leaves ---- */

/* So many groups are left in a span of time, at most. */
#define IPOIB_LEAVES		16
#define IPOIB_LEAVE_SPAN	DIV_ROUND_UP(HZ, 16)

/*
 * ib_sa does not report that the SA has answered a leave, and repeats it each 0.3 s until
 * then: of hundreds at a time most would be sent twice. An interface that goes down leaves
 * all groups at once.
 *
 * Return: jiffies until another group may be left
 */
static unsigned long ipoib_mcast_leave_delay(const struct ipoib_dev *priv)
{
	unsigned long since = jiffies - priv->mcast.leaves_at;

	if (!priv->agent || priv->mcast.nleaves < IPOIB_LEAVES ||
	    since >= IPOIB_LEAVE_SPAN)
		return 0;
	return IPOIB_LEAVE_SPAN - since;
}

static bool ipoib_mcast_may_leave(const struct ipoib_mcast *mcast)
{
	struct ipoib_groups *groups = &mcast->priv->mcast;

	if (mcast->state != IPOIB_MCAST_MEMBER)
		return true;
	if (ipoib_mcast_leave_delay(mcast->priv))
		return false;
	if (jiffies - groups->leaves_at >= IPOIB_LEAVE_SPAN) {
		groups->leaves_at = jiffies;
		groups->nleaves = 0;
	}
	groups->nleaves++;
	return true;
}

/* ---- groups that go ---- */

/* Leave a group for good: it is not in the table any more. */
static void ipoib_mcast_group_leave(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;
	u8 users;

	ipoib_mcast_member_end(mcast);
	/* No callback is left that could put the group on the todo list. */
	spin_lock_bh(&priv->mcast.lock);
	users = ipoib_mcast_group_unlink(mcast);
	/* It was reported as made during the leave. */
	if (users & IPOIB_USER_ROUTE)
		ipoib_mcast_route_group_created(priv, &mcast->mgid);
	spin_unlock_bh(&priv->mcast.lock);
}

/* Leave a group without users. A frame that has come just now makes it anew. */
static void ipoib_mcast_group_remove(struct ipoib_mcast *mcast)
{
	ipoib_mcast_group_leave(mcast);
	ipoib_mcast_group_send(mcast);
	ipoib_mcast_group_free(mcast);
}

/* Leave a group as the interface goes down, and drop the frames that wait. */
static void ipoib_mcast_group_flush(struct ipoib_mcast *mcast)
{
	ipoib_mcast_group_leave(mcast);
	ipoib_mcast_group_drop(mcast, IPOIB_TX_FLUSHED);
	ipoib_mcast_group_free(mcast);
}

/* ---- the work ---- */

/* Do the next thing for one group. */
static void ipoib_mcast_step(struct ipoib_mcast *mcast, u8 want, u8 events)
{
	if (!want) {
		if (ipoib_mcast_may_leave(mcast))
			ipoib_mcast_group_remove(mcast);
		return;
	}
	if (ipoib_mcast_group_is_slow(mcast) &&
	    !skb_queue_empty_lockless(&mcast->queue))
		ipoib_mcast_group_send(mcast);
	ipoib_mcast_steps[mcast->state](mcast, want, events);
}

static struct ipoib_mcast *ipoib_mcast_next(struct ipoib_dev *priv, u8 *want, u8 *events)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast.lock);
	mcast = list_first_entry_or_null(&priv->mcast.todo, struct ipoib_mcast,
					 todo);
	if (mcast) {
		list_del_init(&mcast->todo);
		*want = ipoib_mcast_group_want(mcast);
		*events = mcast->events;
		/* A record stays until the state changes: no other one takes its place. */
		WRITE_ONCE(mcast->events, *events & ~IPOIB_MCAST_EV_ANSWER);
		/* After a step the rest is checked again. */
		if (*events & IPOIB_MCAST_EV_ANSWERS)
			ipoib_mcast_post(mcast, 0);
	}
	spin_unlock_bh(&priv->mcast.lock);
	return mcast;
}

/*
 * When is @mcast to be processed? Jiffies from now, or ULONG_MAX. A group that
 * may not be joined yet is not waited for: what stands in the way kicks us.
 */
static unsigned long ipoib_mcast_delay(const struct ipoib_mcast *mcast)
{
	unsigned long delay = ULONG_MAX;
	bool waits;

	if (!mcast->users)
		return ipoib_mcast_leave_delay(mcast->priv);
	if (mcast->users == IPOIB_USER_SEND)
		delay = ipoib_mcast_until(READ_ONCE(mcast->used) +
					  IPOIB_SEND_UNUSED);
	waits = mcast->state == IPOIB_MCAST_BACKOFF ||
		(mcast->state == IPOIB_MCAST_MEMBER &&
		 mcast->events & (IPOIB_MCAST_EV_LOST | IPOIB_MCAST_EV_ASK));
	if (ipoib_mcast_group_is_pending(mcast) && !skb_queue_empty(&mcast->queue))
		delay = min(delay, ipoib_mcast_until(mcast->asked_at +
						     IPOIB_MCAST_PATIENCE));
	if (mcast->hold_off)
		delay = min(delay, ipoib_mcast_until(mcast->hold_off_until));
	else if (waits && list_empty(&mcast->todo) &&
		 ipoib_mcast_may_join(mcast))
		delay = min(delay, ipoib_mcast_until(mcast->retry_at));
	return delay;
}

/*
 * Have a membership read again if it is due. A membership that does not keep its group
 * has to be rechecked from time to time without reports: the group may have been deleted,
 * or created anew. The interval doubles with each recheck, to limit the load that all
 * nodes together put on the SA.
 *
 * Return: jiffies until the next recheck, or ULONG_MAX
 */
static unsigned long ipoib_mcast_schedule_recheck(struct ipoib_mcast *mcast)
{
	struct ipoib_agent *agent = mcast->priv->agent;
	unsigned long delay;

	if (!agent || mcast->state != IPOIB_MCAST_MEMBER ||
	    mcast->events & (IPOIB_MCAST_EV_LOST | IPOIB_MCAST_EV_ASK) ||
	    !(mcast->held & (IPOIB_JOIN_NON | IPOIB_JOIN_SEND)))
		return ULONG_MAX;
	/* Reports may stop without notification. */
	if (ipoib_sa_notice_on(agent)) {
		WRITE_ONCE(mcast->retry_at, jiffies);
		mcast->recheck_interval = IPOIB_MCAST_RECHECK_MIN;
	}
	delay = ipoib_mcast_until(mcast->retry_at + mcast->recheck_interval);
	if (!delay) {
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
		mcast->recheck_interval = min(mcast->recheck_interval * 2,
					      IPOIB_MCAST_RECHECK_MAX + 0ul);
	}
	return delay;
}

/* Return: jiffies until the group has settled, or ULONG_MAX if it has */
static unsigned long ipoib_mcast_settle(struct ipoib_mcast *mcast)
{
	unsigned long delay;

	if (mcast->settled)
		return ULONG_MAX;
	delay = ipoib_mcast_until(mcast->settled_at);
	if (delay)
		return delay;
	WRITE_ONCE(mcast->settled, true);
	return ULONG_MAX;
}

/* Put groups whose time has come on the todo list, and find the next time. */
static unsigned long ipoib_mcast_scan(struct ipoib_dev *priv)
{
	unsigned long next = ULONG_MAX, delay;
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		next = min(next, ipoib_mcast_settle(mcast));
		delay = ipoib_mcast_schedule_recheck(mcast);
		delay = min(delay, ipoib_mcast_delay(mcast));
		if (!delay) {
			/* A sender that has stopped is forgotten (A29). */
			if (ipoib_mcast_group_is_unused(mcast))
				ipoib_mcast_group_drop_user(mcast, IPOIB_USER_SEND);
			/* Also if it waits for the limit. */
			list_move_tail(&mcast->todo, &priv->mcast.todo);
		}
		next = min(next, delay);
	}
	spin_unlock_bh(&priv->mcast.lock);
	return next;
}

static void ipoib_mcast_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work),
					      struct ipoib_dev, mcast.work);
	struct ipoib_mcast *mcast;
	unsigned long delay;
	u8 want, events;
	bool more;

	/* Queued by a caller that ran before the interface began to go down. */
	if (READ_ONCE(priv->mcast.closed))
		return;
	ipoib_mcast_listen_step(priv);
	ipoib_mcast_scan(priv);
	if (test_and_clear_bit(IPOIB_FLAG_RESUME, &priv->flags))
		priv->mcast.limit_exhausted = false;
	do {
		more = ipoib_mcast_resume(priv);
		while ((mcast = ipoib_mcast_next(priv, &want, &events)))
			ipoib_mcast_step(mcast, want, events);
	} while (more);
	delay = ipoib_mcast_route_step(priv);
	delay = min(delay, ipoib_mcast_listen_delay(priv));
	delay = min(delay, ipoib_mcast_scan(priv));
	if (delay != ULONG_MAX && test_bit(IPOIB_FLAG_UP, &priv->flags))
		queue_delayed_work(priv->wq, &priv->mcast.work, delay);
}

/* ---- events ---- */

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

	spin_lock_bh(&priv->mcast.lock);
	mcast = ipoib_mcast_group_lookup(priv, mgid->raw);
	if (mcast && !(mcast->events & IPOIB_MCAST_EV_RECORD) &&
	    (mcast->state == IPOIB_MCAST_ASKING || mcast->state == IPOIB_MCAST_CHECKING)) {
		mcast->status = status;
		if (!status)
			mcast->fresh = *rec;
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECORD);
	}
	spin_unlock_bh(&priv->mcast.lock);
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
	ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
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

	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		ipoib_mcast_retry_now(mcast);
		ipoib_mcast_post(mcast, 0);
	}
	spin_unlock_bh(&priv->mcast.lock);
	ipoib_mcast_kick(priv, 0);
}

/* When that is granted there is the group, whatever was reported before. */
static bool ipoib_mcast_joins_full(const struct ipoib_mcast *mcast)
{
	return mcast->state == IPOIB_MCAST_JOINING &&
	       READ_ONCE(mcast->asked) == IPOIB_JOIN_FULL;
}

/*
 * Have the record of a group read again. A membership that does not keep its group may
 * now be one of another group. In state ASKING the SA may have said that there is no
 * group before the report was sent.
 */
static void ipoib_mcast_request_reread(struct ipoib_mcast *mcast)
{
	if (mcast->state == IPOIB_MCAST_IDLE)
		return;
	if (mcast->state != IPOIB_MCAST_ASKING &&
	    (READ_ONCE(mcast->held) == IPOIB_JOIN_FULL ||
	     ipoib_mcast_joins_full(mcast)))
		return;
	mcast->recheck_interval = IPOIB_MCAST_RECHECK_MIN;
	ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
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

	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		ipoib_mcast_request_reread(mcast);
		ipoib_mcast_retry_now(mcast);
	}
	ipoib_mcast_route_due(priv);
	spin_unlock_bh(&priv->mcast.lock);
	ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_sm_changed - register the memberships with a new SM
 * @priv: the interface
 *
 * An SM that takes over should request reregistration, which ends in
 * ipoib_mcast_answer(); not all do. The memberships are set again, and stay in use
 * meanwhile. A group with a query to the previous SM under way follows its answer.
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_sm_changed(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	if (!priv->agent)
		return;
	spin_lock_bh(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		if (mcast->state != IPOIB_MCAST_MEMBER &&
		    !ipoib_mcast_group_is_busy(mcast->state))
			continue;
		/* A question to the previous SM that ends now costs no pause. */
		WRITE_ONCE(mcast->backoff, 0);
		mcast->recheck_interval = IPOIB_MCAST_RECHECK_MIN;
		mcast->retry_at = jiffies + ipoib_mcast_spread();
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RENEW);
	}
	ipoib_mcast_route_due(priv);
	spin_unlock_bh(&priv->mcast.lock);
	ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_group_created - handle the report of a new group
 * @priv: the interface
 * @mgid: its MGID, of any link
 *
 * Frames that went to the routers now go to the group (U53). A membership that is held
 * is of the group before, whose end was not reported; it may have another MLID (A26).
 * Most reports are of groups that are of no interest here, and cost nothing more.
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_group_created(struct ipoib_dev *priv,
			       const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;
	bool kick;

	if (!ipoib_mgid_on_link(mgid, &priv->broadcast_mgid))
		return;
	spin_lock_bh(&priv->mcast.lock);
	mcast = ipoib_mcast_group_lookup(priv, mgid->raw);
	if (mcast) {
		ipoib_mcast_request_reread(mcast);
		ipoib_mcast_retry_now(mcast);
	}
	ipoib_mcast_route_group_created(priv, mgid);
	kick = mcast || priv->mcast.routing;
	spin_unlock_bh(&priv->mcast.lock);
	if (kick)
		ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_group_deleted - handle the report of a deleted group
 * @priv: the interface
 * @mgid: its MGID, of any link
 *
 * A group that the administrator made is reported when its last member leaves,
 * and stays: so the membership is renewed before anything is dropped. If a join
 * is under way the group may have gone after the SA answered.
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_group_deleted(struct ipoib_dev *priv,
			       const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast;
	bool recheck;

	spin_lock_bh(&priv->mcast.lock);
	mcast = ipoib_mcast_group_lookup(priv, mgid->raw);
	recheck = mcast && (READ_ONCE(mcast->held) ||
			    (ipoib_mcast_group_is_busy(mcast->state) &&
			     !ipoib_mcast_joins_full(mcast)));
	if (recheck)
		ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	spin_unlock_bh(&priv->mcast.lock);
	if (recheck)
		ipoib_mcast_kick(priv, 0);
}

/* ---- debugfs ---- */

/* Who needs a group, by the IPOIB_USER_ bits: listener, router, sender. */
static const char * const ipoib_mcg_users[] = {
	"-", "l", "r", "lr", "s", "ls", "rs", "lrs",
};

static void ipoib_mcg_one(struct seq_file *file, const struct ipoib_mcast *mcast)
{
	seq_printf(file, "GID: %pI6\n", mcast->mgid.raw);
	seq_printf(file, "  created: %10lu\n", mcast->created);
	seq_printf(file, "  queuelen: %9u\n", skb_queue_len(&mcast->queue));
	seq_printf(file, "  complete: %9s\n",
		   rcu_access_pointer(mcast->ah) ? "yes" : "no");
	seq_printf(file, "  send_only: %8s\n",
		   ipoib_mcast_group_want(mcast) & IPOIB_JOIN_RECEIVES ? "no" : "yes");
	seq_printf(file, "  state: %12s\n", ipoib_mcast_group_state_name(mcast));
	seq_printf(file, "  join_state: %7u\n", READ_ONCE(mcast->held));
	seq_printf(file, "  mlid: %#13x\n",
		   mcast->held ? be16_to_cpu(mcast->rec.mlid) : 0);
	seq_printf(file, "  users: %12s\n",
		   ipoib_mcg_users[mcast->users & 7]);
	seq_printf(file, "  idle: %13u\n",
		   jiffies_to_msecs(jiffies - READ_ONCE(mcast->used)) / 1000);
	if (mcast->state == IPOIB_MCAST_BACKOFF)
		seq_printf(file, "  retry_ms: %9u\n  reason: %s\n",
			   jiffies_to_msecs(ipoib_mcast_until(mcast->retry_at)),
			   ipoib_mcast_check_text(mcast));
	seq_putc(file, '\n');
}

static void *ipoib_mcg_seq_start(struct seq_file *file, loff_t *pos)
	__acquires(&priv->mcast.lock)
{
	struct ipoib_dev *priv = file->private;

	spin_lock_bh(&priv->mcast.lock);
	return seq_list_start(&priv->mcast.list, *pos);
}

static void *ipoib_mcg_seq_next(struct seq_file *file, void *at, loff_t *pos)
{
	struct ipoib_dev *priv = file->private;

	return seq_list_next(at, &priv->mcast.list, pos);
}

static void ipoib_mcg_seq_stop(struct seq_file *file, void *at)
	__releases(&priv->mcast.lock)
{
	struct ipoib_dev *priv = file->private;

	spin_unlock_bh(&priv->mcast.lock);
}

static int ipoib_mcg_show(struct seq_file *file, void *at)
{
	ipoib_mcg_one(file, list_entry(at, struct ipoib_mcast, list));
	return 0;
}

/* Of a file whose private data is the interface. */
const struct seq_operations ipoib_mcg_sops = {
	.start = ipoib_mcg_seq_start,
	.next = ipoib_mcg_seq_next,
	.stop = ipoib_mcg_seq_stop,
	.show = ipoib_mcg_show,
};

/* ---- up and down ---- */

/**
 * ipoib_mcast_start - join the broadcast group, and what the stack listens to
 * @priv: the interface, IPOIB_FLAG_UP set
 *
 * Context: RTNL held
 * Return: 0 or -ENOMEM
 */
int ipoib_mcast_start(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast.lock);
	WRITE_ONCE(priv->mcast.closed, false);
	mcast = ipoib_mcast_group_add(priv, priv->broadcast_mgid.raw,
				      IPOIB_USER_LISTEN);
	if (mcast)
		rcu_assign_pointer(priv->broadcast, mcast);
	else
		WRITE_ONCE(priv->mcast.closed, true);
	spin_unlock_bh(&priv->mcast.lock);
	if (!mcast)
		return -ENOMEM;
	ipoib_mcast_resync(priv);
	return 0;
}

/**
 * ipoib_mcast_stop - leave all groups
 * @priv: the interface, IPOIB_FLAG_UP cleared and transmit queues stopped
 *
 * Context: RTNL held; may sleep
 */
void ipoib_mcast_stop(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast, *tmp;

	spin_lock_bh(&priv->mcast.lock);
	WRITE_ONCE(priv->mcast.closed, true);
	priv->mcast.routing = false;
	spin_unlock_bh(&priv->mcast.lock);
	cancel_delayed_work_sync(&priv->mcast.work);
	clear_bit(IPOIB_FLAG_JOINED, &priv->flags);
	rcu_assign_pointer(priv->broadcast, NULL);
	list_for_each_entry_safe(mcast, tmp, &priv->mcast.list, list)
		ipoib_mcast_group_flush(mcast);
	if (priv->agent)
		ipoib_limit_cancel(priv->path.limit, &priv->mcast.waiter);
	ipoib_sa_query_cancel(priv);
}

/**
 * ipoib_mcast_init - make the group table
 * @priv: the interface
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_mcast_init(struct ipoib_dev *priv)
{
	spin_lock_init(&priv->mcast.lock);
	priv->mcast.closed = true;
	priv->mcast.invalidated_at = jiffies - IPOIB_MCAST_HOLD_OFF;
	INIT_LIST_HEAD(&priv->mcast.list);
	INIT_LIST_HEAD(&priv->mcast.todo);
	INIT_LIST_HEAD(&priv->mcast.waiting);
	ipoib_limit_waiter_init(&priv->mcast.waiter, ipoib_mcast_limit_free);
	INIT_DELAYED_WORK(&priv->mcast.work, ipoib_mcast_work);
	ipoib_sa_purge_init(priv);
	return rhashtable_init(&priv->mcast.table, &ipoib_mcast_params);
}

/**
 * ipoib_mcast_exit - free the empty group table
 * @priv: the interface, down
 */
void ipoib_mcast_exit(struct ipoib_dev *priv)
{
	WARN_ON_ONCE(!list_empty(&priv->mcast.list));
	rhashtable_destroy(&priv->mcast.table);
}
