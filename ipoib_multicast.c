// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups, the broadcast group first of all.
 *
 * A group exists here because the stack listens to it (JoinState FullMember)
 * or because someone sends to it (SendOnlyFullMember). What is wanted is noted
 * under mcast_lock from any context; what is done about it is done by one
 * ordered work, group by group: join, leave, attach, publish the address
 * handle. Answers of the SA are only noted, and the work is queued.
 *
 * The broadcast group is joined first. It gives the link its MTU, Q_Key, SL
 * and so on, it is never created by us (RFC 4391 section 5), and other groups
 * are created like it.
 *
 * A membership is replaced before it is given up: when a group that we only
 * send to gets a listener here, or when the SM has forgotten us, the new join
 * is made while the old address handle stays in use.
 *
 * The SA answers a join a little before the switches forward for it. Until a
 * group has settled, frames to it go by the broadcast group, whose tree every
 * node of the link is in: the receiver's network layer looks at the network
 * address only.
 */
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_trace.h"

/*
 * JoinState bits, IBTA 15.2.5.17. A SendOnlyNonMember does not keep a group
 * alive: when the last listener leaves and another comes, the group has a new
 * MLID, and a sender only learns that from the SA's delete reports. As long
 * as those are not subscribed to, senders join as SendOnlyFullMember, which
 * keeps the MLID they use valid. The join names too few components to create
 * a group, so sending never makes one.
 */
#define IPOIB_JOIN_FULL		BIT(FULLMEMBER_JOIN)
#define IPOIB_JOIN_SEND		BIT(SENDONLY_FULLMEMBER_JOIN)

/* A group we only send to is left after this time without a frame. */
#define IPOIB_SEND_UNUSED	(60 * HZ)
/* Pause after the first and the longest pause after a later failure, in ms. */
#define IPOIB_BACKOFF_MIN	50
#define IPOIB_BACKOFF_MAX	8000
/* How long it is believed that nobody listens to a group. */
#define IPOIB_ABSENT		(HZ / 2)
/* How long the fabric may take to forward for a group. */
#define IPOIB_SETTLE		(HZ / 4)

static const struct rhashtable_params ipoib_mcast_params = {
	.key_len = sizeof_field(struct ipoib_mcast, mgid),
	.key_offset = offsetof(struct ipoib_mcast, mgid),
	.head_offset = offsetof(struct ipoib_mcast, node),
	.hashfn = ipoib_gid_hash,
	.automatic_shrinking = true,
};

static const char * const ipoib_mcast_state_names[] = {
	[IPOIB_MCAST_IDLE]	= "idle",
	[IPOIB_MCAST_JOINING]	= "joining",
	[IPOIB_MCAST_MEMBER]	= "member",
	[IPOIB_MCAST_BACKOFF]	= "backoff",
	[IPOIB_MCAST_ABSENT]	= "absent",
};

/**
 * ipoib_mcast_state_name - state of a group in words
 * @mcast: the group
 *
 * Return: static string
 */
const char *ipoib_mcast_state_name(const struct ipoib_mcast *mcast)
{
	return ipoib_mcast_state_names[READ_ONCE(mcast->state)];
}

/* The one gate: nothing is queued once the interface goes down. */
static void ipoib_mcast_kick(struct ipoib_dev *priv, unsigned long delay)
{
	if (test_bit(IPOIB_FLAG_UP, &priv->flags))
		mod_delayed_work(priv->wq, &priv->mcast_work, delay);
}

static void ipoib_mcast_todo(struct ipoib_mcast *mcast)
{
	lockdep_assert_held(&mcast->priv->mcast_lock);
	if (list_empty(&mcast->todo))
		list_add_tail(&mcast->todo, &mcast->priv->group_todo);
}

static bool ipoib_mcast_is_broadcast(const struct ipoib_mcast *mcast)
{
	return rcu_access_pointer(mcast->priv->broadcast) == mcast;
}

static struct ipoib_mcast *ipoib_mcast_alloc(struct ipoib_dev *priv,
					     const u8 *mgid)
{
	struct ipoib_mcast *mcast = kzalloc(sizeof(*mcast), GFP_ATOMIC);

	if (!mcast)
		return NULL;
	memcpy(mcast->mgid.raw, mgid, sizeof(mcast->mgid));
	mcast->priv = priv;
	mcast->created = jiffies;
	mcast->used = jiffies;
	mcast->settled_at = jiffies;
	mcast->backoff = IPOIB_BACKOFF_MIN;
	__skb_queue_head_init(&mcast->queue);
	INIT_LIST_HEAD(&mcast->todo);
	pr_debug("ipoib: group %pI6 created\n", mgid);
	return mcast;
}

/* Make a group and want @state for it. Caller holds mcast_lock. */
static struct ipoib_mcast *ipoib_mcast_add(struct ipoib_dev *priv,
					   const u8 *mgid, u8 state)
{
	struct ipoib_mcast *mcast;

	lockdep_assert_held(&priv->mcast_lock);
	if (priv->ngroups >= IPOIB_MCAST_MAX)
		return NULL;
	mcast = ipoib_mcast_alloc(priv, mgid);
	if (!mcast)
		return NULL;
	if (rhashtable_insert_fast(&priv->groups, &mcast->node,
				   ipoib_mcast_params)) {
		kfree(mcast);
		return NULL;
	}
	mcast->want = state;
	list_add_tail(&mcast->list, &priv->group_list);
	priv->ngroups++;
	ipoib_mcast_todo(mcast);
	return mcast;
}

/* Frames that wait for @mcast are sent, or dropped for the reason @why. */
static void ipoib_mcast_release(struct ipoib_mcast *mcast,
				enum ipoib_stat why)
{
	struct ipoib_dev *priv = mcast->priv;
	struct sk_buff_head frames;

	__skb_queue_head_init(&frames);
	spin_lock_bh(&priv->mcast_lock);
	skb_queue_splice_tail_init(&mcast->queue, &frames);
	spin_unlock_bh(&priv->mcast_lock);
	if (why == IPOIB_TX_PACKETS)
		ipoib_dev_xmit_list(priv, &frames);
	else
		ipoib_drop_list(priv, &frames, why);
}

static void ipoib_mcast_set_state(struct ipoib_mcast *mcast,
				  enum ipoib_mcast_state state)
{
	struct ipoib_dev *priv = mcast->priv;

	spin_lock_bh(&priv->mcast_lock);
	mcast->state = state;
	spin_unlock_bh(&priv->mcast_lock);
	trace_ipoib_mcast(priv->netdev, mcast->mgid.raw,
			  ipoib_mcast_state_names[state], mcast->status);
}

/* U58: log each failure, but the same one of a group only once. */
static void ipoib_mcast_log(struct ipoib_mcast *mcast, const char *what,
			    int err)
{
	struct ipoib_dev *priv = mcast->priv;
	const char *kind = mcast->want == IPOIB_JOIN_SEND ? "sendonly " : "";

	ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
	if (mcast->logged == err)
		return;
	mcast->logged = err;
	netdev_warn(priv->netdev, "%smulticast %s failed for %pI6, status %d\n",
		    kind, what, mcast->mgid.raw, err);
}

static void ipoib_mcast_retry_later(struct ipoib_mcast *mcast)
{
	unsigned int pause = mcast->backoff;

	/* Up to half as much again, so that nodes do not ask in step. */
	pause += get_random_u32_below(pause / 2 + 1);
	mcast->retry_at = jiffies + msecs_to_jiffies(pause);
	mcast->backoff = min(mcast->backoff * 2, IPOIB_BACKOFF_MAX + 0u);
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_BACKOFF);
}

static struct ipoib_ah *ipoib_mcast_make_ah(struct ipoib_dev *priv,
					    struct ib_sa_mcmember_rec *rec)
{
	struct rdma_ah_attr attr;
	int err;

	err = ib_init_ah_from_mcmember(priv->ca, priv->port, rec, NULL,
				       IB_GID_TYPE_IB, &attr);
	if (err)
		return ERR_PTR(err);
	return ipoib_ah_create(priv, &attr);
}

static void ipoib_mcast_publish(struct ipoib_mcast *mcast, struct ipoib_ah *ah)
{
	struct ipoib_dev *priv = mcast->priv;
	struct ipoib_ah *old;

	spin_lock_bh(&priv->mcast_lock);
	old = rcu_replace_pointer(mcast->ah, ah,
				  lockdep_is_held(&priv->mcast_lock));
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_ah_retire(priv, old);
}

static int ipoib_mcast_attach(struct ipoib_mcast *mcast)
{
	int err;

	if (mcast->attached || mcast->asked != IPOIB_JOIN_FULL)
		return 0;
	err = ib_attach_mcast(mcast->priv->txq->qp, &mcast->mgid,
			      be16_to_cpu(mcast->joining->rec.mlid));
	mcast->attached = !err;
	return err;
}

static void ipoib_mcast_detach(struct ipoib_mcast *mcast)
{
	int err;

	if (!mcast->attached)
		return;
	mcast->attached = false;
	err = ib_detach_mcast(mcast->priv->txq->qp, &mcast->mgid,
			      be16_to_cpu(mcast->rec.mlid));
	if (err)
		ipoib_mcast_log(mcast, "detach", err);
}

/* The link takes MTU and Q_Key of the broadcast group (U18, U28, U40). */
static int ipoib_mcast_take_link(struct ipoib_dev *priv,
				 const struct ib_sa_mcmember_rec *rec)
{
	int mtu = ipoib_mtu_from_ib(rec->mtu);

	if (mtu < IPOIB_MTU_MIN || mtu > priv->port_mtu) {
		netdev_warn(priv->netdev,
			    "broadcast group has MTU %d, the port takes at most %u\n",
			    mtu, priv->port_mtu);
		return -EMSGSIZE;
	}
	WRITE_ONCE(priv->mcast_mtu, mtu);
	return ipoib_ud_set_qkey(priv, be32_to_cpu(rec->qkey));
}

/* All groups but the broadcast group wait for it to be joined. */
static void ipoib_mcast_todo_all(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list)
		ipoib_mcast_todo(mcast);
	spin_unlock_bh(&priv->mcast_lock);
}

static void ipoib_mcast_link_up(struct ipoib_dev *priv)
{
	set_bit(IPOIB_FLAG_JOINED, &priv->flags);
	ipoib_ctl_post(priv, IPOIB_CTL_LINK);
	ipoib_mcast_todo_all(priv);
}

/* The MLID has changed: the QP must be attached to the new one instead. */
static void ipoib_mcast_drop_old(struct ipoib_mcast *mcast,
				 const struct ib_sa_mcmember_rec *rec)
{
	if (mcast->attached && mcast->rec.mlid != rec->mlid)
		ipoib_mcast_detach(mcast);
}

/* Joined: @joining becomes the membership, the old one is given up. */
static int ipoib_mcast_joined(struct ipoib_mcast *mcast)
{
	struct ib_sa_mcmember_rec *rec = &mcast->joining->rec;
	struct ipoib_dev *priv = mcast->priv;
	bool settled = mcast->held && mcast->rec.mlid == rec->mlid;
	struct ipoib_ah *ah;
	int err;

	if (ipoib_mcast_is_broadcast(mcast)) {
		err = ipoib_mcast_take_link(priv, rec);
		if (err)
			return err;
	}
	ah = ipoib_mcast_make_ah(priv, rec);
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	ipoib_mcast_drop_old(mcast, rec);
	err = ipoib_mcast_attach(mcast);
	if (err) {
		ipoib_ah_retire(priv, ah);
		return err;
	}
	mcast->rec = *rec;
	mcast->held = mcast->asked;
	swap(mcast->member, mcast->joining);
	ipoib_sa_leave(mcast->joining);
	mcast->joining = NULL;
	if (!settled)
		WRITE_ONCE(mcast->settled_at, jiffies + IPOIB_SETTLE);
	ipoib_mcast_publish(mcast, ah);
	return 0;
}

static void ipoib_mcast_join_ok(struct ipoib_mcast *mcast)
{
	mcast->backoff = IPOIB_BACKOFF_MIN;
	mcast->logged = 0;
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_MEMBER);
	if (ipoib_mcast_is_broadcast(mcast))
		ipoib_mcast_link_up(mcast->priv);
	ipoib_mcast_release(mcast, IPOIB_TX_PACKETS);
}

/* Nobody listens, or no longer: what we knew of the group is void. */
static void ipoib_mcast_set_absent(struct ipoib_mcast *mcast)
{
	ipoib_sa_leave(mcast->member);
	mcast->member = NULL;
	mcast->held = 0;
	ipoib_mcast_publish(mcast, NULL);
	mcast->retry_at = jiffies + IPOIB_ABSENT;
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_ABSENT);
	/* By the broadcast group, or dropped: the sender decides. */
	ipoib_mcast_release(mcast, IPOIB_TX_PACKETS);
}

static void ipoib_mcast_join_failed(struct ipoib_mcast *mcast, int err)
{
	struct ipoib_dev *priv = mcast->priv;

	ipoib_sa_leave(mcast->joining);
	mcast->joining = NULL;
	/* The SA refuses a send-only join if the group does not exist. */
	if (mcast->asked == IPOIB_JOIN_SEND && err == -EINVAL) {
		ipoib_mcast_set_absent(mcast);
		return;
	}
	ipoib_mcast_log(mcast, "join", err);
	ipoib_mcast_retry_later(mcast);
	ipoib_mcast_release(mcast, IPOIB_TX_GROUP_FAIL);
	if (ipoib_mcast_is_broadcast(mcast) && err == -EINVAL) {
		clear_bit(IPOIB_FLAG_JOINED, &priv->flags);
		ipoib_ctl_post(priv, IPOIB_CTL_LINK);
	}
}

static void ipoib_mcast_take_answer(struct ipoib_mcast *mcast)
{
	int err = mcast->status;

	if (!err)
		err = ipoib_mcast_joined(mcast);
	if (err)
		ipoib_mcast_join_failed(mcast, err);
	else
		ipoib_mcast_join_ok(mcast);
}

/*
 * The broadcast group and groups we only send to must exist; a group that the
 * stack listens to is created like the broadcast group if it does not.
 */
static void ipoib_mcast_join(struct ipoib_mcast *mcast, u8 want)
{
	struct ipoib_dev *priv = mcast->priv;
	const struct ib_sa_mcmember_rec *like = NULL;
	struct ib_sa_multicast *joining;

	if (want == IPOIB_JOIN_FULL && !ipoib_mcast_is_broadcast(mcast))
		like = &rcu_dereference_protected(priv->broadcast, true)->rec;
	mcast->asked = want;
	spin_lock_bh(&priv->mcast_lock);
	mcast->lost = false;
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_set_state(mcast, IPOIB_MCAST_JOINING);
	joining = ipoib_sa_join(priv, mcast, want, like);
	if (IS_ERR(joining))
		ipoib_mcast_join_failed(mcast, PTR_ERR(joining));
	else
		mcast->joining = joining;
}

/* Leave a group for good. The multicast work runs this, or is stopped. */
static void ipoib_mcast_remove(struct ipoib_mcast *mcast, enum ipoib_stat why)
{
	struct ipoib_dev *priv = mcast->priv;

	ipoib_mcast_detach(mcast);
	ipoib_sa_leave(mcast->joining);
	ipoib_sa_leave(mcast->member);
	/* No callback is left that could put the group on the todo list. */
	spin_lock_bh(&priv->mcast_lock);
	rhashtable_remove_fast(&priv->groups, &mcast->node, ipoib_mcast_params);
	list_del(&mcast->list);
	list_del_init(&mcast->todo);
	priv->ngroups--;
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_release(mcast, why);
	ipoib_mcast_publish(mcast, NULL);
	pr_debug("ipoib: group %pI6 destroyed\n", mcast->mgid.raw);
	kfree_rcu(mcast, rcu);
}

/**
 * struct ipoib_mcast_view - what a step goes by, read under mcast_lock
 * @state: state
 * @want: JoinState wanted
 * @answered: an answer has come
 * @lost: the membership has gone
 */
struct ipoib_mcast_view {
	enum ipoib_mcast_state state;
	u8 want;
	bool answered;
	bool lost;
};

static bool ipoib_mcast_due(const struct ipoib_mcast *mcast,
			    const struct ipoib_mcast_view *now)
{
	switch (now->state) {
	case IPOIB_MCAST_JOINING:
		return false;
	case IPOIB_MCAST_BACKOFF:
	case IPOIB_MCAST_ABSENT:
		/* A new listener does not wait for the sender's retry. */
		return time_after_eq(jiffies, mcast->retry_at) ||
		       now->want != mcast->asked;
	case IPOIB_MCAST_MEMBER:
		return now->lost || now->want != mcast->held;
	default:
		return true;
	}
}

/* The broadcast group goes first: other groups are made like it. */
static bool ipoib_mcast_may_join(const struct ipoib_mcast *mcast)
{
	const struct ipoib_mcast *broadcast;

	if (!test_bit(IPOIB_FLAG_PORT_ACTIVE, &mcast->priv->flags))
		return false;
	broadcast = rcu_dereference_protected(mcast->priv->broadcast, true);
	return mcast == broadcast ||
	       (broadcast->state == IPOIB_MCAST_MEMBER &&
		!READ_ONCE(broadcast->lost));
}

/* Do the next thing for one group. */
static void ipoib_mcast_step(struct ipoib_mcast *mcast,
			     const struct ipoib_mcast_view *now)
{
	if (!now->want) {
		ipoib_mcast_remove(mcast, IPOIB_TX_FLUSHED);
		return;
	}
	if (now->answered) {
		ipoib_mcast_take_answer(mcast);
		return;
	}
	if (!ipoib_mcast_due(mcast, now))
		return;
	if (ipoib_mcast_may_join(mcast))
		ipoib_mcast_join(mcast, now->want);
}

static struct ipoib_mcast *ipoib_mcast_next(struct ipoib_dev *priv,
					    struct ipoib_mcast_view *now)
{
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast_lock);
	mcast = list_first_entry_or_null(&priv->group_todo, struct ipoib_mcast,
					 todo);
	if (mcast) {
		list_del_init(&mcast->todo);
		now->state = mcast->state;
		now->want = mcast->want;
		now->answered = mcast->answered;
		now->lost = mcast->lost;
		mcast->answered = false;
		/* After a step the rest is looked at again. */
		if (now->answered)
			ipoib_mcast_todo(mcast);
	}
	spin_unlock_bh(&priv->mcast_lock);
	return mcast;
}

/*
 * When is @mcast to be looked at? Jiffies from now, or ULONG_MAX. A group that
 * may not be joined yet is not waited for: what stands in the way kicks us.
 */
static unsigned long ipoib_mcast_delay(const struct ipoib_mcast *mcast)
{
	unsigned long now = jiffies, delay = ULONG_MAX, at;

	if (mcast->want == IPOIB_JOIN_SEND) {
		at = READ_ONCE(mcast->used) + IPOIB_SEND_UNUSED;
		delay = time_after(at, now) ? at - now : 0;
	}
	if (mcast->state == IPOIB_MCAST_BACKOFF && ipoib_mcast_may_join(mcast)) {
		at = mcast->retry_at;
		delay = min(delay, time_after(at, now) ? at - now : 0);
	}
	return delay;
}

/* A sender that has stopped, or that nobody waits for, is forgotten. */
static void ipoib_mcast_expire(struct ipoib_mcast *mcast)
{
	if (mcast->want == IPOIB_JOIN_SEND &&
	    time_after_eq(jiffies, READ_ONCE(mcast->used) + IPOIB_SEND_UNUSED))
		mcast->want = 0;
}

/* Put groups whose time has come on the todo list, and find the next time. */
static unsigned long ipoib_mcast_scan(struct ipoib_dev *priv)
{
	unsigned long next = ULONG_MAX, delay;
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list) {
		delay = ipoib_mcast_delay(mcast);
		if (!delay) {
			ipoib_mcast_expire(mcast);
			ipoib_mcast_todo(mcast);
		}
		next = min(next, delay);
	}
	spin_unlock_bh(&priv->mcast_lock);
	return next;
}

static struct ipoib_mcast *ipoib_mcast_lookup(struct ipoib_dev *priv,
					      const u8 *mgid)
{
	lockdep_assert_held(&priv->mcast_lock);
	return rhashtable_lookup_fast(&priv->groups, mgid, ipoib_mcast_params);
}

/* No memory: the list is gone through again soon. No room: it stays so. */
static void ipoib_mcast_no_room(struct ipoib_dev *priv,
				const union ib_gid *mgid)
{
	ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
	if (priv->ngroups < IPOIB_MCAST_MAX)
		set_bit(IPOIB_FLAG_RESYNC, &priv->flags);
	else if (net_ratelimit())
		netdev_warn(priv->netdev,
			    "more than %u groups, not joining %pI6\n",
			    IPOIB_MCAST_MAX, mgid->raw);
}

/* One address of the stack's list. Foreign scopes and P_Keys are not ours. */
static void ipoib_mcast_listen(struct ipoib_dev *priv, const u8 *lladdr)
{
	const struct ipoib_lladdr *addr = (const void *)lladdr;
	struct ipoib_mcast *mcast;
	union ib_gid mgid;

	memcpy(mgid.raw, addr->gid, sizeof(mgid));
	if (!ipoib_mgid_on_link(&mgid, &priv->broadcast_mgid))
		return;
	mcast = ipoib_mcast_lookup(priv, mgid.raw);
	if (!mcast)
		mcast = ipoib_mcast_add(priv, mgid.raw, IPOIB_JOIN_FULL);
	if (!mcast) {
		ipoib_mcast_no_room(priv, &mgid);
		return;
	}
	mcast->listed = true;
	if (mcast->want != IPOIB_JOIN_FULL) {
		mcast->want = IPOIB_JOIN_FULL;
		ipoib_mcast_todo(mcast);
	}
}

/* Bring the groups in line with the stack's list (U54, U56). */
static void ipoib_mcast_sync(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;
	struct netdev_hw_addr *ha;
	struct ipoib_mcast *mcast;

	netif_addr_lock_bh(dev);
	spin_lock(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list)
		mcast->listed = ipoib_mcast_is_broadcast(mcast);
	netdev_for_each_mc_addr(ha, dev)
		ipoib_mcast_listen(priv, ha->addr);
	list_for_each_entry(mcast, &priv->group_list, list) {
		if (mcast->listed || mcast->want != IPOIB_JOIN_FULL)
			continue;
		mcast->want = 0;
		ipoib_mcast_todo(mcast);
	}
	spin_unlock(&priv->mcast_lock);
	netif_addr_unlock_bh(dev);
}

static void ipoib_mcast_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work),
					      struct ipoib_dev, mcast_work);
	struct ipoib_mcast_view now;
	struct ipoib_mcast *mcast;
	unsigned long delay;

	if (test_and_clear_bit(IPOIB_FLAG_RESYNC, &priv->flags))
		ipoib_mcast_sync(priv);
	ipoib_mcast_scan(priv);
	while ((mcast = ipoib_mcast_next(priv, &now)))
		ipoib_mcast_step(mcast, &now);
	delay = ipoib_mcast_scan(priv);
	/* Memory ran out in the resync. */
	if (test_bit(IPOIB_FLAG_RESYNC, &priv->flags))
		delay = min(delay, (unsigned long)HZ / 10);
	if (delay != ULONG_MAX && test_bit(IPOIB_FLAG_UP, &priv->flags))
		queue_delayed_work(priv->wq, &priv->mcast_work, delay);
}

/**
 * ipoib_mcast_answer - note an answer of the SA, or the loss of a membership
 * @mcast: the group
 * @status: 0 or negative error; -ENETRESET for a loss
 *
 * Context: process, from the SA callback
 */
void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status)
{
	struct ipoib_dev *priv = mcast->priv;

	spin_lock_bh(&priv->mcast_lock);
	if (status == -ENETRESET) {
		mcast->lost = true;
	} else {
		mcast->answered = true;
		mcast->status = status;
	}
	ipoib_mcast_todo(mcast);
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/**
 * ipoib_mcast_resync - the stack's multicast list has changed
 * @priv: the interface
 *
 * Context: any but hard interrupt
 */
void ipoib_mcast_resync(struct ipoib_dev *priv)
{
	set_bit(IPOIB_FLAG_RESYNC, &priv->flags);
	ipoib_mcast_kick(priv, 0);
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
		mcast->backoff = IPOIB_BACKOFF_MIN;
		mcast->retry_at = jiffies;
		ipoib_mcast_todo(mcast);
	}
	spin_unlock_bh(&priv->mcast_lock);
	ipoib_mcast_kick(priv, 0);
}

/* Scope of the IP group beyond the link? RFC 4391 section 10 A (U49). */
static bool ipoib_mcast_is_routable(const struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;
	const struct ipoib_mgid *mgid = (const void *)header->lladdr.gid;
	const u8 *ip = (const u8 *)(header + 1);

	if (mgid->signature == cpu_to_be16(IPOIB_MGID_SIG_IPV6) &&
	    skb_headlen(skb) >= IPOIB_HARD_LEN + sizeof(struct ipv6hdr))
		return (ip[offsetof(struct ipv6hdr, daddr) + 1] & 0xf) >
			IPOIB_SCOPE_LINK_LOCAL;
	/* 224.0.0.0/24 is never forwarded, RFC 5771 section 4. */
	return mgid->signature == cpu_to_be16(IPOIB_MGID_SIG_IPV4) &&
	       (mgid->group[6] || mgid->group[7] || mgid->group[8]);
}

/* No listener: frames for routers go by the broadcast group. */
static enum ipoib_stat ipoib_mcast_absent(struct ipoib_mcast *mcast,
					  const struct sk_buff *skb)
{
	return ipoib_mcast_is_routable(skb) ? IPOIB_TX_TO_BROADCAST :
					      IPOIB_TX_NO_GROUP;
}

/*
 * A frame to a group without an address handle. It waits, or else the result
 * says why it is dropped, or IPOIB_TX_TO_BROADCAST.
 */
static enum ipoib_stat ipoib_mcast_wait(struct ipoib_mcast *mcast,
					struct sk_buff *skb)
{
	lockdep_assert_held(&mcast->priv->mcast_lock);
	if (mcast->state == IPOIB_MCAST_ABSENT) {
		if (time_before(jiffies, mcast->retry_at))
			return ipoib_mcast_absent(mcast, skb);
		ipoib_mcast_todo(mcast);
	} else if (mcast->state == IPOIB_MCAST_BACKOFF) {
		return IPOIB_TX_GROUP_FAIL;
	}
	if (skb_queue_len(&mcast->queue) >= IPOIB_MCAST_QUEUE)
		return IPOIB_TX_QUEUE_FULL;
	__skb_queue_tail(&mcast->queue, skb);
	return IPOIB_TX_PACKETS;
}

static enum ipoib_stat ipoib_mcast_xmit_slow(struct ipoib_dev *priv,
					     struct sk_buff *skb,
					     const u8 *mgid)
{
	enum ipoib_stat result = IPOIB_TX_GROUP_CAP;
	struct ipoib_mcast *mcast;

	if (!test_bit(IPOIB_FLAG_JOINED, &priv->flags))
		return IPOIB_TX_NO_BROADCAST;
	spin_lock(&priv->mcast_lock);
	mcast = ipoib_mcast_lookup(priv, mgid);
	if (!mcast)
		mcast = ipoib_mcast_add(priv, mgid, IPOIB_JOIN_SEND);
	if (mcast)
		result = ipoib_mcast_wait(mcast, skb);
	spin_unlock(&priv->mcast_lock);
	if (result == IPOIB_TX_PACKETS)
		ipoib_mcast_kick(priv, 0);
	return result;
}

static struct ipoib_ah *ipoib_mcast_broadcast_ah(struct ipoib_dev *priv)
{
	struct ipoib_mcast *mcast = rcu_dereference(priv->broadcast);

	return mcast ? rcu_dereference(mcast->ah) : NULL;
}

/* Send @skb, by the broadcast group if @ah is that of a group not settled. */
static void ipoib_mcast_send(struct ipoib_txq *txq, struct sk_buff *skb,
			     struct ipoib_ah *ah)
{
	if (unlikely(!ah)) {
		ipoib_drop(txq->priv, skb, IPOIB_TX_NO_BROADCAST);
		return;
	}
	skb_pull(skb, IPOIB_LLADDR_LEN);
	ipoib_ud_xmit(txq, skb, ah, IPOIB_MCAST_QPN);
}

static bool ipoib_mcast_settled(const struct ipoib_mcast *mcast)
{
	return time_after_eq(jiffies, READ_ONCE(mcast->settled_at)) ||
	       ipoib_mcast_is_broadcast(mcast);
}

/**
 * ipoib_mcast_xmit - send a frame to a group
 * @txq: the queue
 * @skb: frame with its &struct ipoib_header; consumed
 *
 * Context: transmit lock of the queue held, RCU read side
 */
void ipoib_mcast_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_mcast *mcast;
	struct ipoib_ah *ah = NULL;
	enum ipoib_stat result;

	mcast = rhashtable_lookup(&priv->groups, to->gid, ipoib_mcast_params);
	if (likely(mcast)) {
		ipoib_touch(&mcast->used);
		ah = rcu_dereference(mcast->ah);
	}
	if (likely(ah && ipoib_mcast_settled(mcast))) {
		ipoib_mcast_send(txq, skb, ah);
		return;
	}
	result = ah ? IPOIB_TX_TO_BROADCAST :
		      ipoib_mcast_xmit_slow(priv, skb, to->gid);
	if (result == IPOIB_TX_TO_BROADCAST) {
		ipoib_stat_add(priv, IPOIB_TX_TO_BROADCAST, 1);
		ipoib_mcast_send(txq, skb, ipoib_mcast_broadcast_ah(priv));
	} else if (result != IPOIB_TX_PACKETS) {
		ipoib_drop(priv, skb, result);
	}
}

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

	spin_lock_bh(&priv->mcast_lock);
	mcast = ipoib_mcast_add(priv, priv->broadcast_mgid.raw,
				IPOIB_JOIN_FULL);
	if (mcast)
		rcu_assign_pointer(priv->broadcast, mcast);
	spin_unlock_bh(&priv->mcast_lock);
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

	cancel_delayed_work_sync(&priv->mcast_work);
	clear_bit(IPOIB_FLAG_JOINED, &priv->flags);
	rcu_assign_pointer(priv->broadcast, NULL);
	list_for_each_entry_safe(mcast, tmp, &priv->group_list, list)
		ipoib_mcast_remove(mcast, IPOIB_TX_FLUSHED);
}

/**
 * ipoib_mcast_init - make the group table
 * @priv: the interface
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_mcast_init(struct ipoib_dev *priv)
{
	spin_lock_init(&priv->mcast_lock);
	INIT_LIST_HEAD(&priv->group_list);
	INIT_LIST_HEAD(&priv->group_todo);
	INIT_DELAYED_WORK(&priv->mcast_work, ipoib_mcast_work);
	return rhashtable_init(&priv->groups, &ipoib_mcast_params);
}

/**
 * ipoib_mcast_exit - free the empty group table
 * @priv: the interface, down
 */
void ipoib_mcast_exit(struct ipoib_dev *priv)
{
	WARN_ON_ONCE(!list_empty(&priv->group_list));
	rhashtable_destroy(&priv->groups);
}
