// SPDX-License-Identifier: GPL-2.0
/*
 * Table of the groups of an interface, and their users, events, states and values.
 *
 * A group has users: the stack listens to it (JoinState FullMember), multicast is routed
 * (NonMember), or frames are sent to it (SendOnlyNonMember). Any context may add a user; the work
 * of a group removes it without users.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "ipoib_trace.h"
#include "mcast/mcast.h"

const char * const ipoib_mcast_state_names[IPOIB_NR_MCAST_STATES] = {
	[IPOIB_MCAST_IDLE]	= "idle",
	[IPOIB_MCAST_JOINING]	= "joining",
	[IPOIB_MCAST_ASKING]	= "asking",
	[IPOIB_MCAST_MEMBER]	= "member",
	[IPOIB_MCAST_CHECKING]	= "checking",
	[IPOIB_MCAST_BACKOFF]	= "backoff",
	[IPOIB_MCAST_ABSENT]	= "absent",
};

/*
 * True for the broadcast group, until its removal from the table.
 * Context: mcast.lock held, or work of a group.
 */
bool ipoib_mcast_group_is_broadcast(const struct ipoib_mcast *mcast)
{
	return rcu_access_pointer(mcast->priv->broadcast) == mcast;
}

/* ---- users ---- */

/*
 * JoinState for the users of a group. Each JoinState allows sending; FullMember and NonMember allow
 * receiving.
 * Context: mcast.lock held. Return: JoinState, 0 without users.
 */
u8 ipoib_mcast_group_want(const struct ipoib_mcast *mcast)
{
	u8 users = READ_ONCE(mcast->users);

	if (users & IPOIB_USER_LISTEN)
		return IPOIB_JOIN_FULL;
	if (users & IPOIB_USER_ROUTE)
		return IPOIB_JOIN_NON;
	return users ? IPOIB_JOIN_SEND : 0;
}

/* Set the number of samples with frames in a row: IPOIB_MCAST_SAMPLES make a group monitored. */
static void ipoib_mcast_group_set_samples(struct ipoib_mcast *mcast, u8 samples)
{
	bool was = mcast->samples == IPOIB_MCAST_SAMPLES, is = samples == IPOIB_MCAST_SAMPLES;

	mcast->samples = samples;
	if (was != is)
		ipoib_sa_monitor(mcast->priv->agent, is);
}

/*
 * Sample the frames to a group that is only sent to. RFC 4391 section 10: a sender monitors the
 * group by reports of the SA (U52).
 * Context: mcast.lock held. Return: jiffies until the next sample, or ULONG_MAX.
 */
unsigned long ipoib_mcast_group_sample(struct ipoib_mcast *mcast)
{
	unsigned long left = ipoib_mcast_until(mcast->sample_at);
	u8 samples = 0;

	lockdep_assert_held(&mcast->priv->mcast.lock);
	if (!mcast->priv->agent || mcast->users != IPOIB_USER_SEND)
		return ULONG_MAX;
	if (left)
		return left;
	if (ipoib_mcast_until(READ_ONCE(mcast->used) + IPOIB_MCAST_SAMPLE))
		samples = min(mcast->samples + 1, IPOIB_MCAST_SAMPLES);
	ipoib_mcast_group_set_samples(mcast, samples);
	left = ipoib_backoff_spread(IPOIB_MCAST_SAMPLE);
	mcast->sample_at = jiffies + left;
	return left;
}

static bool ipoib_mcast_group_only_routes(u8 users)
{
	return users & IPOIB_USER_ROUTE && !(users & IPOIB_USER_LISTEN);
}

/* The work follows, and leaves a group without users. */
static void ipoib_mcast_group_set_users(struct ipoib_mcast *mcast, u8 users)
{
	struct ipoib_dev *priv = mcast->priv;

	lockdep_assert_held(&priv->mcast.lock);
	if (mcast->users == users)
		return;
	priv->mcast.nsend -= mcast->users == IPOIB_USER_SEND;
	priv->mcast.nsend += users == IPOIB_USER_SEND;
	priv->mcast.nroute -= ipoib_mcast_group_only_routes(mcast->users);
	priv->mcast.nroute += ipoib_mcast_group_only_routes(users);
	WRITE_ONCE(mcast->users, users);
	mcast->sample_at = jiffies + ipoib_backoff_spread(IPOIB_MCAST_SAMPLE);
	ipoib_mcast_group_set_samples(mcast, 0);
	ipoib_mcast_queue(mcast);
}

/*
 * Remove a user of a group. The work leaves a group without other users. A group with recent frames
 * becomes a group of a sender (A31, A33).
 * Context: mcast.lock held.
 */
void ipoib_mcast_group_drop_user(struct ipoib_mcast *mcast, u8 user)
{
	u8 users = mcast->users & ~user;

	if (mcast->users & user && !ipoib_mcast_group_is_unused(mcast))
		users |= IPOIB_USER_SEND;
	ipoib_mcast_group_set_users(mcast, users);
}

/* True if no frame was sent to the group for IPOIB_SEND_UNUSED */
bool ipoib_mcast_group_is_unused(const struct ipoib_mcast *mcast)
{
	return !ipoib_mcast_until(READ_ONCE(mcast->used) + IPOIB_SEND_UNUSED);
}

/* ---- table ---- */

/* Callback of ipoib_limit.c, limit.lock held: the work of the group has an inflight slot. */
static void ipoib_mcast_group_granted(struct ipoib_inflight *inflight)
{
	ipoib_mcast_queue(container_of(inflight, struct ipoib_mcast, inflight));
}

/*
 * Create a group that is not in the table, for an IPOIB_USER_ bit.
 * Context: mcast.lock held. Return: the group; NULL without memory.
 */
struct ipoib_mcast *ipoib_mcast_group_add(struct ipoib_dev *priv, const u8 *mgid, u8 user)
{
	struct ipoib_mcast *mcast;

	lockdep_assert_held(&priv->mcast.lock);
	mcast = kzalloc(sizeof(*mcast), GFP_ATOMIC);
	if (!mcast)
		return NULL;
	memcpy(mcast->mgid.raw, mgid, sizeof(mcast->mgid));
	mcast->priv = priv;
	mcast->created = jiffies;
	mcast->asked_at = jiffies;
	mcast->used = user == IPOIB_USER_SEND ? jiffies : jiffies - IPOIB_SEND_UNUSED;
	mcast->settled = true;
	mcast->retry_at = jiffies;
	mcast->named = user;
	__skb_queue_head_init(&mcast->queue);
	INIT_DELAYED_WORK(&mcast->work, ipoib_mcast_work);
	ipoib_inflight_init(&mcast->inflight, IPOIB_INFLIGHT_GROUP, ipoib_mcast_group_granted);
	if (rhashtable_insert_fast(&priv->mcast.table, &mcast->node, ipoib_mcast_params)) {
		kfree(mcast);
		return NULL;
	}
	pr_debug("ipoib: group %pI6 created\n", mgid);
	list_add_tail(&mcast->list, &priv->mcast.list);
	priv->mcast.ngroups++;
	ipoib_mcast_group_set_users(mcast, user);
	return mcast;
}

/* Context: mcast.lock held. Return: the group, or NULL. */
struct ipoib_mcast *ipoib_mcast_group_lookup(struct ipoib_dev *priv, const u8 *mgid)
{
	lockdep_assert_held(&priv->mcast.lock);
	return rhashtable_lookup_fast(&priv->mcast.table, mgid, ipoib_mcast_params);
}

/*
 * Look a group up, or create it, for an IPOIB_USER_ bit; a sender counts as user only without
 * others. Each refusal for lack of room is counted, and the first logged.
 * Context: mcast.lock held. Return: the group; NULL without memory, or without room for another
 * group of @user.
 */
struct ipoib_mcast *ipoib_mcast_group_get(struct ipoib_dev *priv, const u8 *mgid, u8 user)
{
	struct ipoib_mcast *mcast = ipoib_mcast_group_lookup(priv, mgid);
	u8 users = mcast ? mcast->users : 0;

	if (user == IPOIB_USER_SEND && users)
		return mcast;
	if ((!mcast || user != IPOIB_USER_LISTEN) &&
	    !(users & (IPOIB_USER_LISTEN | IPOIB_USER_ROUTE))) {
		if (!ipoib_mcast_is_open(priv))
			return NULL;
		if (!ipoib_mcast_group_fits(priv, user))
			goto refuse;
	}
	if (!mcast)
		return ipoib_mcast_group_add(priv, mgid, user);
	mcast->named |= user;
	ipoib_mcast_group_set_users(mcast, users | user);
	return mcast;

refuse:
	ipoib_stat_add(priv, IPOIB_MCAST_REFUSED, 1);
	if (!priv->mcast.cap_logged)
		netdev_warn(priv->netdev,
			    "too many multicast groups: %u, %u only sent to, %u only routed; no more are joined\n",
			    priv->mcast.ngroups, priv->mcast.nsend, priv->mcast.nroute);
	priv->mcast.cap_logged = true;
	return NULL;
}

/*
 * End of a pass through the list of @user, an IPOIB_USER_ bit: remove the user from groups not in
 * the list.
 * Context: mcast.lock held.
 */
void ipoib_mcast_group_sweep(struct ipoib_dev *priv, u8 user)
{
	struct ipoib_mcast *mcast;

	lockdep_assert_held(&priv->mcast.lock);
	list_for_each_entry(mcast, &priv->mcast.list, list) {
		if (!(mcast->named & user) && !ipoib_mcast_group_is_broadcast(mcast))
			ipoib_mcast_group_drop_user(mcast, user);
		mcast->named &= ~user;
	}
}

/*
 * Remove a group from the table.
 * Context: mcast.lock held; work of the group, which no callback and no inflight slot queues again.
 */
void ipoib_mcast_group_unlink(struct ipoib_mcast *mcast)
{
	struct ipoib_dev *priv = mcast->priv;

	lockdep_assert_held(&priv->mcast.lock);
	rhashtable_remove_fast(&priv->mcast.table, &mcast->node, ipoib_mcast_params);
	list_del(&mcast->list);
	if (ipoib_mcast_group_is_broadcast(mcast))
		RCU_INIT_POINTER(priv->broadcast, NULL);
	ipoib_mcast_group_set_users(mcast, 0);
	/* Retry groups that were refused for lack of room: no event reports room. */
	if (priv->mcast.ngroups-- == IPOIB_MCAST_MAX)
		ipoib_mcast_resync(priv);
	if (priv->mcast.ngroups < IPOIB_MCAST_MAX / 2 &&
	    priv->mcast.nsend < IPOIB_MCAST_SEND_MAX / 2)
		priv->mcast.cap_logged = false;
}

/* ---- works and events ---- */

/*
 * Queue the work that follows the stack's list, its flags and routing. The work walks the whole
 * list: once for all changes within a tick. It does nothing once the interface goes down.
 * Context: any.
 */
void ipoib_mcast_resync(struct ipoib_dev *priv)
{
	struct delayed_work *work = &priv->mcast.work;

	/* Changes that keep coming must not put off a run that is due. */
	if (delayed_work_pending(work) &&
	    time_before_eq(READ_ONCE(work->timer.expires), jiffies + 1))
		return;
	if (test_bit(IPOIB_FLAG_UP, &priv->flags))
		mod_delayed_work(priv->wq, work, 1);
}

/* Queue the work of a group. mcast.lock or limit.lock held */
void ipoib_mcast_queue(struct ipoib_mcast *mcast)
{
	if (test_bit(IPOIB_FLAG_UP, &mcast->priv->flags))
		mod_delayed_work(mcast->priv->wq, &mcast->work, 0);
}

/* Note IPOIB_MCAST_EV_ events, or 0, for the work of a group. Context: mcast.lock held. */
void ipoib_mcast_post(struct ipoib_mcast *mcast, u8 events)
{
	lockdep_assert_held(&mcast->priv->mcast.lock);
	WRITE_ONCE(mcast->events, mcast->events | events);
	ipoib_mcast_queue(mcast);
}

/* ---- states ---- */

/*
 * Check whether frames have waited long enough.
 * Context: mcast.lock held, or work of the group. Return: true after IPOIB_MCAST_PATIENCE.
 */
bool ipoib_mcast_group_is_slow(const struct ipoib_mcast *mcast)
{
	return ipoib_mcast_group_is_pending(mcast) &&
	       !ipoib_mcast_until(mcast->asked_at + IPOIB_MCAST_PATIENCE);
}

/*
 * Change the state of a group. Clears the answer to the previous state, and events that the request
 * of the new state covers.
 * Context: work of the group, without mcast.lock.
 */
void ipoib_mcast_set_state(struct ipoib_mcast *mcast, enum ipoib_mcast_state state)
{
	struct ipoib_dev *priv = mcast->priv;
	u8 events;

	WARN_ON_ONCE(!ipoib_mcast_may_enter(mcast->state, state));
	spin_lock_bh(&priv->mcast.lock);
	if (ipoib_mcast_group_is_busy(state) && !ipoib_mcast_group_is_busy(mcast->state))
		mcast->asked_at = jiffies;
	if (!ipoib_mcast_group_is_busy(state))
		mcast->was_absent = state == IPOIB_MCAST_ABSENT;
	mcast->state = state;
	events = mcast->events & ~IPOIB_MCAST_EV_ANSWER;
	if (state == IPOIB_MCAST_CHECKING || state == IPOIB_MCAST_JOINING)
		events &= ~IPOIB_MCAST_EV_RECHECK;
	if (state == IPOIB_MCAST_JOINING)
		events &= ~IPOIB_MCAST_EV_LOST;
	WRITE_ONCE(mcast->events, events);
	spin_unlock_bh(&priv->mcast.lock);
	trace_ipoib_mcast(priv->netdev, mcast->mgid.raw,
			  ipoib_mcast_state_names[state], mcast->status);
}

/* ---- values ---- */

static const char * const ipoib_check_text[] = {
	[IPOIB_CHECK_OK]	 = "",
	[IPOIB_CHECK_NO_SM]	 = "no subnet manager is known",
	[IPOIB_CHECK_NO_ANSWER]	 = "the SA does not answer",
	[IPOIB_CHECK_MISSING]	 = "there is no such group",
	[IPOIB_CHECK_PKEY]	 = "the group has another P_Key",
	[IPOIB_CHECK_QKEY]	 = "the group has not the Q_Key of the link",
	[IPOIB_CHECK_MTU]	 = "the group has not the MTU of the link",
	[IPOIB_CHECK_PORT_MTU]	 = "the MTU of the group is too big for the port",
	[IPOIB_CHECK_SL]	 = "the group has not the SL of the link",
	[IPOIB_CHECK_HOPS]	 = "the group has not the hop limit of the link",
	[IPOIB_CHECK_REFUSED]	 = "the SA refuses",
	[IPOIB_CHECK_LOCAL]	 = "the HCA refuses",
};

/* Text for the reason of the last failure */
const char *ipoib_mcast_check_text(const struct ipoib_mcast *mcast)
{
	return ipoib_check_text[READ_ONCE(mcast->reason)];
}

/*
 * Compare the record of a group with the link. RFC 4391 section 10: P_Key, Q_Key, SL, MTU and
 * HopLimit of a group are those of the broadcast group (U55). A port that is no full member, and
 * only sends or routes, takes SL and hop limit of the group, and accepts a greater MTU.
 * Context: work of the group, while there is a broadcast group. Return: the first value that
 * differs.
 */
enum ipoib_check ipoib_mcast_check_group(const struct ipoib_mcast *mcast,
					 const struct ib_sa_mcmember_rec *rec)
{
	const struct ipoib_mcast *broadcast =
		rcu_dereference_protected(mcast->priv->broadcast, true);
	const struct ib_sa_mcmember_rec *link = mcast == broadcast ? rec : &broadcast->rec;
	bool full = mcast->asked & IPOIB_JOIN_FULL;
	struct ipoib_dev *priv = mcast->priv;

	if ((be16_to_cpu(rec->pkey) | IPOIB_PKEY_FULL) != priv->pkey)
		return IPOIB_CHECK_PKEY;
	if (rec->qkey != link->qkey)
		return IPOIB_CHECK_QKEY;
	/* An invalid MTU is negative: it compares as larger than any. */
	if (full && (unsigned int)ipoib_mtu_from_ib(rec->mtu) > READ_ONCE(priv->port_mtu))
		return IPOIB_CHECK_PORT_MTU;
	if (full ? rec->mtu != link->mtu : rec->mtu < link->mtu)
		return IPOIB_CHECK_MTU;
	if (full && rec->sl != link->sl)
		return IPOIB_CHECK_SL;
	if (full && rec->hop_limit != link->hop_limit)
		return IPOIB_CHECK_HOPS;
	return IPOIB_CHECK_OK;
}
