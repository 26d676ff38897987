// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of memberships: joins and refusals, rechecks, losses, users and deadlines of a group. The
 * works of groups run; the SA is the case.
 */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Other suites define functions of these names. */
#define ipoib_stat_add		mcast_stat_add
#define ipoib_ah_create		mcast_ah_create
#define ipoib_ah_retire		mcast_ah_retire
#define ipoib_ud_attach		mcast_ud_attach
#define ipoib_ud_detach		mcast_ud_detach
#define ipoib_ud_set_qkey	mcast_ud_set_qkey

#include "mcast/mcast.h"

/* No tracepoints, no control work */
#define IPOIB_TRACE_H
#define trace_ipoib_mcast	mcast_trace
#define ipoib_ctl_post		mcast_ctl_post

static void mcast_trace(const struct net_device *dev, const u8 *gid, const char *what, int err)
{
}

static void mcast_ctl_post(struct ipoib_dev *priv, unsigned int event);

#include "ipoib_multicast.c"
#include "mcast/group.c"
#include "mcast/join.c"

/* Handles and address handles of a case, at most */
#define MCAST_HANDLES	32
#define MCAST_MLID	0xc000

/**
 * struct mcast_fixture - fixture of a case
 * @priv: an interface on InfiniBand, with subscriptions
 * @dev: its net_device
 * @ops: operations of the fabric
 * @limit: limit of queries
 * @handle: handles of joins
 * @njoin: joins
 * @state: JoinState of the last join
 * @join_err: result of a join that cannot be sent
 * @nleave: released handles
 * @left: the handle released last
 * @nquery: queries of a record
 * @nrefresh: rechecks
 * @query_err: result of a query or recheck that cannot be sent
 * @ah: address handles
 * @nah: number of those that were created
 * @nretired: number of retired address handles
 * @ah_err: result of the creation of an address handle
 * @group_err: result of the attributes of an address handle
 * @attach_err: result of an attachment of the QP
 * @attached: sum of the MLIDs that the QP is attached to
 * @detach_err: result of a detachment of the QP
 * @qkey_err: result of a change of the Q_Key
 * @qkey: Q_Key of the QP
 * @notices: the SM has granted the subscription
 * @monitors: users of the subscription
 * @nsent: calls for waiting frames
 * @nresync: runs of the work that follows the stack's list
 * @nlink: changes of the link
 * @stats: counters
 */
struct mcast_fixture {
	struct ipoib_dev priv;
	struct net_device *dev;
	struct ipoib_fabric_ops ops;
	struct ipoib_limit limit;
	struct ib_sa_multicast handle[MCAST_HANDLES];
	unsigned int njoin;
	u8 state;
	int join_err;
	unsigned int nleave;
	struct ib_sa_multicast *left;
	unsigned int nquery;
	unsigned int nrefresh;
	int query_err;
	struct ipoib_ah ah[MCAST_HANDLES];
	unsigned int nah;
	unsigned int nretired;
	int ah_err;
	int group_err;
	int attach_err;
	unsigned int attached;
	int detach_err;
	int qkey_err;
	u32 qkey;
	bool notices;
	int monitors;
	unsigned int nsent;
	atomic_t nresync;
	unsigned int nlink;
	s64 stats[IPOIB_NR_STATS];
};

static struct mcast_fixture *mcast_fix(struct ipoib_dev *priv)
{
	return container_of(priv, struct mcast_fixture, priv);
}

/* ---- functions of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	mcast_fix(priv)->stats[stat] += n;
}

struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv, struct rdma_ah_attr *attr)
{
	struct mcast_fixture *fix = mcast_fix(priv);

	if (fix->ah_err || fix->nah == MCAST_HANDLES)
		return ERR_PTR(fix->ah_err ?: -ENOMEM);
	return &fix->ah[fix->nah++];
}

void ipoib_ah_retire(struct ipoib_dev *priv, struct ipoib_ah *ah)
{
	mcast_fix(priv)->nretired += !!ah;
}

int ipoib_ud_attach(struct ipoib_dev *priv, union ib_gid *mgid, u16 mlid)
{
	struct mcast_fixture *fix = mcast_fix(priv);

	if (!fix->attach_err)
		fix->attached += mlid;
	return fix->attach_err;
}

int ipoib_ud_detach(struct ipoib_dev *priv, union ib_gid *mgid, u16 mlid)
{
	struct mcast_fixture *fix = mcast_fix(priv);

	fix->attached -= mlid;
	return fix->detach_err;
}

int ipoib_ud_set_qkey(struct ipoib_dev *priv, u32 qkey)
{
	struct mcast_fixture *fix = mcast_fix(priv);

	if (!fix->qkey_err)
		fix->qkey = qkey;
	return fix->qkey_err;
}

bool ipoib_sa_notice_on(const struct ipoib_agent *agent)
{
	return ((const struct mcast_fixture *)agent)->notices;
}

void ipoib_sa_monitor(struct ipoib_agent *agent, bool on)
{
	((struct mcast_fixture *)agent)->monitors += on ? 1 : -1;
}

int ipoib_sa_query_group(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	mcast_fix(priv)->nquery++;
	return mcast_fix(priv)->query_err;
}

int ipoib_sa_query_refresh(const struct ipoib_mcast *mcast)
{
	mcast_fix(mcast->priv)->nrefresh++;
	return mcast_fix(mcast->priv)->query_err;
}

void ipoib_sa_query_cancel(struct ipoib_dev *priv)
{
}

void ipoib_mcast_route_end(struct ipoib_dev *priv)
{
}

void ipoib_mcast_route_due(struct ipoib_dev *priv, unsigned long delay)
{
}

void ipoib_mcast_route_want(struct ipoib_dev *priv, const union ib_gid *mgid)
{
}

void ipoib_mcast_interest_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work), struct ipoib_dev, mcast.work);

	atomic_inc(&mcast_fix(priv)->nresync);
}

void ipoib_mcast_group_send(struct ipoib_mcast *mcast)
{
	mcast_fix(mcast->priv)->nsent++;
	__skb_queue_purge(&mcast->queue);
}

static void mcast_ctl_post(struct ipoib_dev *priv, unsigned int event)
{
	mcast_fix(priv)->nlink += event == IPOIB_CTL_LINK;
}

/* ---- the fabric ---- */

static struct ib_sa_multicast *mcast_join(struct ipoib_mcast *mcast, u8 state)
{
	struct mcast_fixture *fix = mcast_fix(mcast->priv);
	struct ib_sa_multicast *handle = &fix->handle[fix->njoin % MCAST_HANDLES];

	fix->njoin++;
	fix->state = state;
	if (fix->join_err)
		return ERR_PTR(fix->join_err);
	/* As the SA grants it; the broadcast-GID ends with 0xff. */
	handle->rec.mgid = mcast->mgid;
	handle->rec.mlid = cpu_to_be16(MCAST_MLID + (u8)~mcast->mgid.raw[15]);
	handle->rec.pkey = cpu_to_be16(0xffff);
	handle->rec.qkey = cpu_to_be32(0xb1b);
	handle->rec.mtu = IB_MTU_2048;
	return handle;
}

static void mcast_leave(struct ib_sa_multicast *handle)
{
	struct mcast_fixture *fix = (void *)handle->context;

	fix->left = handle;
	fix->nleave++;
}

static int mcast_group_ah(struct ipoib_dev *priv, struct ib_sa_mcmember_rec *rec,
			  struct rdma_ah_attr *attr)
{
	return mcast_fix(priv)->group_err;
}

static void mcast_free(struct mcast_fixture *fix)
{
	if (fix->priv.wq)
		destroy_workqueue(fix->priv.wq);
	kvfree(fix->dev);
	kvfree(fix);
}

static int mcast_init(struct kunit *test)
{
	struct mcast_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_dev *priv;
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	priv = &fix->priv;
	fix->dev = kvzalloc(sizeof(*fix->dev), GFP_KERNEL);
	priv->wq = alloc_ordered_workqueue("ipoib_kunit", 0);
	fix->ops.join = mcast_join;
	fix->ops.leave = mcast_leave;
	fix->ops.group_ah = mcast_group_ah;
	priv->fabric = &fix->ops;
	priv->netdev = fix->dev;
	priv->agent = (void *)fix;
	priv->pkey = 0xffff;
	priv->port_mtu = 2044;
	priv->mcast_mtu = 2044;
	ipoib_mgid_broadcast(&priv->broadcast_mgid, 2, 0xffff);
	ipoib_limit_init(&fix->limit, IPOIB_QUERIES_KEPT + 4);
	priv->neigh.limit = &fix->limit;
	for (i = 0; i < MCAST_HANDLES; i++)
		fix->handle[i].context = fix;
	set_bit(IPOIB_FLAG_UP, &priv->flags);
	test->priv = fix;
	if (fix->dev && priv->wq && !ipoib_mcast_init(priv))
		return 0;
	mcast_free(fix);
	return -ENOMEM;
}

static void mcast_exit(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;

	clear_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	ipoib_mcast_stop(&fix->priv);
	ipoib_mcast_exit(&fix->priv);
	mcast_free(fix);
}

/* ---- steps ---- */

/*
 * Run the works of groups that are queued, and that of @mcast. The port is active meanwhile if
 * @mcast is given: otherwise no pause ends in a join.
 */
static void mcast_run(struct mcast_fixture *fix, struct ipoib_mcast *mcast)
{
	unsigned int i;

	if (mcast) {
		set_bit(IPOIB_FLAG_PORT_ACTIVE, &fix->priv.flags);
		mod_delayed_work(fix->priv.wq, &mcast->work, 0);
	}
	/* A step may queue the next. */
	for (i = 0; i < 4; i++)
		flush_workqueue(fix->priv.wq);
	clear_bit(IPOIB_FLAG_PORT_ACTIVE, &fix->priv.flags);
}

/* Answer of the SA to a join, or loss of the membership */
static void mcast_answer(struct mcast_fixture *fix, struct ipoib_mcast *mcast, int status)
{
	ipoib_mcast_answer(mcast, status);
	mcast_run(fix, NULL);
}

/* Answer of the SA to a query or a recheck */
static void mcast_record(struct mcast_fixture *fix, struct ipoib_mcast *mcast, int status,
			 const struct ib_sa_mcmember_rec *rec)
{
	ipoib_mcast_record(&fix->priv, &mcast->mgid, status, rec);
	mcast_run(fix, NULL);
}

/* End the pause of a group. */
static void mcast_retry(struct mcast_fixture *fix, struct ipoib_mcast *mcast)
{
	spin_lock_bh(&fix->priv.mcast.lock);
	mcast->retry_at = jiffies;
	spin_unlock_bh(&fix->priv.mcast.lock);
	mcast_run(fix, mcast);
}

/* The SA may have lost the group or the member. */
static void mcast_recheck(struct mcast_fixture *fix, struct ipoib_mcast *mcast)
{
	spin_lock_bh(&fix->priv.mcast.lock);
	ipoib_mcast_post(mcast, IPOIB_MCAST_EV_RECHECK);
	spin_unlock_bh(&fix->priv.mcast.lock);
	mcast_retry(fix, mcast);
}

/* Create the broadcast group, which is being joined. */
static struct ipoib_mcast *mcast_start(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	KUNIT_EXPECT_EQ(test, ipoib_mcast_start(&fix->priv), 0);
	mcast = rcu_dereference_protected(fix->priv.broadcast, true);
	mcast_run(fix, mcast);
	return mcast;
}

/* Join the broadcast group. */
static struct ipoib_mcast *mcast_link(struct kunit *test)
{
	struct ipoib_mcast *mcast = mcast_start(test);

	mcast_answer(test->priv, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	return mcast;
}

/* The MGID of group @n, whose MLID is MCAST_MLID + @n */
static void mcast_gid(struct mcast_fixture *fix, u8 n, union ib_gid *mgid)
{
	memcpy(mgid->raw, &fix->priv.broadcast_mgid, sizeof(*mgid));
	mgid->raw[15] = ~n;
}

/* A group of a user, or NULL */
static struct ipoib_mcast *mcast_get(struct mcast_fixture *fix, u8 n, u8 user)
{
	struct ipoib_mcast *mcast;
	union ib_gid mgid;

	mcast_gid(fix, n, &mgid);
	spin_lock_bh(&fix->priv.mcast.lock);
	mcast = ipoib_mcast_group_get(&fix->priv, mgid.raw, user);
	spin_unlock_bh(&fix->priv.mcast.lock);
	return mcast;
}

/* A group whose work has run */
static struct ipoib_mcast *mcast_group(struct mcast_fixture *fix, u8 n, u8 user)
{
	struct ipoib_mcast *mcast = mcast_get(fix, n, user);

	mcast_run(fix, mcast);
	return mcast;
}

/* A group that is joined */
static struct ipoib_mcast *mcast_member(struct kunit *test, u8 n, u8 user)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = mcast_group(fix, n, user);

	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	return mcast;
}

/* Begin the recheck of a membership. */
static void mcast_check(struct kunit *test, struct ipoib_mcast *mcast)
{
	struct mcast_fixture *fix = test->priv;
	unsigned int n = fix->nrefresh;

	mcast_recheck(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_CHECKING);
	KUNIT_EXPECT_EQ(test, fix->nrefresh, n + 1);
}

static void mcast_drop_user(struct mcast_fixture *fix, struct ipoib_mcast *mcast, u8 user)
{
	spin_lock_bh(&fix->priv.mcast.lock);
	ipoib_mcast_group_drop_user(mcast, user);
	spin_unlock_bh(&fix->priv.mcast.lock);
	set_bit(IPOIB_FLAG_PORT_ACTIVE, &fix->priv.flags);
	mcast_run(fix, NULL);
}

/* The group waits for @pause, and up to half of it more, with a reason and counted failures. */
static void mcast_expect_pause(struct kunit *test, const struct ipoib_mcast *mcast,
			       enum ipoib_check reason, unsigned int failures,
			       unsigned long begin, unsigned long pause)
{
	KUNIT_EXPECT_EQ(test, mcast->reason, reason);
	KUNIT_EXPECT_EQ(test, mcast->failures, failures);
	KUNIT_EXPECT_TRUE(test, time_in_range(mcast->retry_at, begin + pause,
					      jiffies + pause + pause / 2));
}

/* ---- joins ---- */

static void mcast_joined(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = mcast_start(test);

	KUNIT_EXPECT_EQ(test, fix->njoin, 1u);
	KUNIT_EXPECT_EQ(test, fix->state, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_JOINS], 1);
	fix->priv.mcast_mtu = 0;
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_PTR_EQ(test, mcast->member, &fix->handle[0]);
	KUNIT_EXPECT_PTR_EQ(test, mcast->joining, NULL);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(mcast->ah), &fix->ah[0]);
	KUNIT_EXPECT_EQ(test, fix->priv.mcast_mtu, 2044u);
	KUNIT_EXPECT_EQ(test, fix->qkey, 0xb1bu);
	KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + 0u);
	KUNIT_EXPECT_TRUE(test, mcast->settled);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_FLAG_JOINED, &fix->priv.flags));
	KUNIT_EXPECT_EQ(test, fix->nlink, 1u);
	KUNIT_EXPECT_EQ(test, fix->nleave, 0u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 0);
	/* A membership that keeps its group has no deadline. */
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&mcast->work));
	clear_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	ipoib_mcast_stop(&fix->priv);
	KUNIT_EXPECT_EQ(test, fix->attached, 0u);
	KUNIT_EXPECT_EQ(test, fix->nleave, 1u);
	KUNIT_EXPECT_EQ(test, fix->nretired, 1u);
	KUNIT_EXPECT_EQ(test, fix->priv.mcast.ngroups, 0u);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->priv.broadcast), NULL);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_FLAG_JOINED, &fix->priv.flags));
}

/* Other groups wait for the broadcast group, and for the port. */
static void mcast_order(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *link, *mcast;

	KUNIT_EXPECT_EQ(test, ipoib_mcast_start(&fix->priv), 0);
	link = rcu_dereference_protected(fix->priv.broadcast, true);
	mcast_run(fix, NULL);
	KUNIT_EXPECT_EQ(test, fix->njoin, 0u);
	KUNIT_EXPECT_EQ(test, link->state, IPOIB_MCAST_IDLE);
	mcast_run(fix, link);
	mcast = mcast_group(fix, 1, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, fix->njoin, 1u);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_IDLE);
	ipoib_mcast_answer(link, 0);
	mcast_run(fix, link);
	KUNIT_EXPECT_EQ(test, fix->njoin, 2u);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, fix->attached, 2 * MCAST_MLID + 1u);
	/* Frames use the broadcast group for a quarter of a second. */
	KUNIT_EXPECT_TRUE(test, jiffies - mcast->settled_at + HZ / 4 < HZ);
	/* A recheck of the broadcast group does not delay others, its loss does. */
	mcast_check(test, link);
	mcast = mcast_group(fix, 2, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	mcast_record(fix, link, 0, &link->rec);
	mcast_answer(fix, link, -ENETRESET);
	mcast = mcast_group(fix, 3, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_IDLE);
}

/* Failures without an answer of the SA */
static void mcast_silent(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = mcast_start(test);
	unsigned long begin;
	unsigned int i;

	/* The lack of an SM counts from the fifth time in a row on. */
	for (i = 0; i < 6; i++) {
		begin = jiffies;
		mcast_answer(fix, mcast, -EAGAIN);
		KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
		mcast_expect_pause(test, mcast, IPOIB_CHECK_NO_SM, i + 1, begin,
				   DIV_ROUND_UP(ipoib_backoff_fast(i), 32));
		mcast_retry(fix, mcast);
	}
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 1);
	KUNIT_EXPECT_EQ(test, fix->nleave, 6u);
	KUNIT_EXPECT_EQ(test, fix->nquery, 0u);
	mcast_answer(fix, mcast, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mcast->reason, IPOIB_CHECK_NO_ANSWER);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 2);
	mcast_retry(fix, mcast);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->failures, 0u);
	KUNIT_EXPECT_EQ(test, mcast->reason, IPOIB_CHECK_OK);
	KUNIT_EXPECT_EQ(test, mcast->logged, IPOIB_CHECK_OK);
	/* A join that cannot be sent; the membership stays. */
	fix->join_err = -ENOMEM;
	begin = jiffies;
	mcast_answer(fix, mcast, -ENETRESET);
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_NO_ANSWER, 1, begin, ipoib_backoff_fast(0));
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_PTR_EQ(test, mcast->joining, NULL);
	KUNIT_EXPECT_EQ(test, fix->nlink, 1u);
	fix->join_err = 0;
}

/* The record of a refused group has the reason. */
static void mcast_refused(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = mcast_start(test);
	struct ib_sa_mcmember_rec rec = fix->handle[0].rec;
	unsigned long begin = jiffies;

	mcast_answer(fix, mcast, -EINVAL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ASKING);
	KUNIT_EXPECT_EQ(test, fix->nquery, 1u);
	KUNIT_EXPECT_EQ(test, fix->nleave, 1u);
	mcast_record(fix, mcast, -ENOENT, NULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_MISSING, 1, begin, ipoib_backoff_fast(0));
	/* A value that differs waits for an administrator, and begins to count anew. */
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_EQ(test, fix->njoin, 2u);
	mcast_answer(fix, mcast, -EINVAL);
	rec.pkey = cpu_to_be16(0x8001);
	begin = jiffies;
	mcast_record(fix, mcast, 0, &rec);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_PKEY, 1, begin, ipoib_backoff_slow(0));
	mcast_retry(fix, mcast);
	mcast_answer(fix, mcast, -EINVAL);
	begin = jiffies;
	mcast_record(fix, mcast, 0, &rec);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_PKEY, 2, begin, ipoib_backoff_slow(1));
	/* A group that fits is joined again at once, and then counts as refused. */
	rec.pkey = cpu_to_be16(0xffff);
	mcast_retry(fix, mcast);
	mcast_answer(fix, mcast, -EINVAL);
	mcast_record(fix, mcast, 0, &rec);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	KUNIT_EXPECT_EQ(test, fix->njoin, 5u);
	mcast_answer(fix, mcast, -EINVAL);
	begin = jiffies;
	mcast_record(fix, mcast, 0, &rec);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_REFUSED, 3, begin, ipoib_backoff_fast(2));
	/* Without an answer to the query the reason is not known. */
	mcast_retry(fix, mcast);
	mcast_answer(fix, mcast, -EINVAL);
	mcast_record(fix, mcast, -ETIMEDOUT, NULL);
	KUNIT_EXPECT_EQ(test, mcast->reason, IPOIB_CHECK_NO_ANSWER);
	mcast_retry(fix, mcast);
	fix->query_err = -ENOMEM;
	mcast_answer(fix, mcast, -EINVAL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	KUNIT_EXPECT_EQ(test, mcast->reason, IPOIB_CHECK_NO_ANSWER);
	fix->query_err = 0;
	/* Nor without an agent. */
	fix->priv.agent = NULL;
	mcast_retry(fix, mcast);
	mcast_answer(fix, mcast, -EINVAL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	KUNIT_EXPECT_EQ(test, mcast->reason, IPOIB_CHECK_REFUSED);
	KUNIT_EXPECT_EQ(test, fix->nquery, 7u);
	fix->priv.agent = (void *)fix;
}

/* Each local failure leaves nothing of a join behind. */
static void mcast_local(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = mcast_start(test);
	int * const errs[] = {
		&fix->ah_err, &fix->group_err, &fix->attach_err, &fix->qkey_err,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		unsigned long begin = jiffies;

		*errs[i] = -ENOMEM;
		mcast_answer(fix, mcast, 0);
		KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
		mcast_expect_pause(test, mcast, IPOIB_CHECK_LOCAL, i + 1, begin,
				   ipoib_backoff_slow(i));
		KUNIT_EXPECT_EQ(test, mcast->held, 0);
		KUNIT_EXPECT_EQ(test, fix->attached, 0u);
		KUNIT_EXPECT_EQ(test, fix->nah, fix->nretired);
		KUNIT_EXPECT_EQ(test, fix->nleave, i + 1);
		*errs[i] = 0;
		mcast_retry(fix, mcast);
	}
}

/* A group of a sender is mostly missing. */
static void mcast_absent(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;
	unsigned long begin;

	mcast_link(test);
	mcast = mcast_group(fix, 1, IPOIB_USER_SEND);
	KUNIT_EXPECT_EQ(test, fix->state, IPOIB_JOIN_SEND);
	begin = jiffies;
	mcast_answer(fix, mcast, -EINVAL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ABSENT);
	KUNIT_EXPECT_EQ(test, fix->nquery, 0u);
	KUNIT_EXPECT_TRUE(test, mcast->was_absent);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_MISSING, 1, begin, IPOIB_ABSENT_MIN);
	/* It waits for an event, not for the end of the pause. */
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ABSENT);
	mcast_recheck(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	/* The second refusal has a query, and each one with reports of the SA. */
	mcast_answer(fix, mcast, -EINVAL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ASKING);
	mcast_record(fix, mcast, -ENOENT, NULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ABSENT);
	KUNIT_EXPECT_EQ(test, mcast->failures, 2u);
	fix->notices = true;
	mcast->failures = 0;
	mcast_recheck(fix, mcast);
	mcast_answer(fix, mcast, -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->nquery, 2u);
	/* A report during the query: the group may exist by now. */
	ipoib_mcast_group_created(&fix->priv, &mcast->mgid);
	mcast_record(fix, mcast, -ENOENT, NULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ABSENT);
	KUNIT_EXPECT_TRUE(test, mcast->events & IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->retry_at) <= IPOIB_MCAST_HOLD_OFF);
	KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + 0u);
}

/* ---- memberships ---- */

/* A loss is joined again; the old membership stays until then. */
static void mcast_lost(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *link = mcast_link(test);
	struct ipoib_mcast *mcast = mcast_member(test, 1, IPOIB_USER_LISTEN);

	mcast->settled = true;
	mcast->retry_at = jiffies + 60 * HZ;
	mcast_answer(fix, mcast, -ENETRESET);
	mcast_answer(fix, link, -ENETRESET);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->retry_at) <= HZ / 20 + 1);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(link->retry_at) <= HZ / 80 + 1);
	mcast_retry(fix, link);
	KUNIT_EXPECT_EQ(test, link->state, IPOIB_MCAST_JOINING);
	KUNIT_EXPECT_EQ(test, fix->attached, 2 * MCAST_MLID + 1u);
	mcast_answer(fix, link, 0);
	KUNIT_EXPECT_EQ(test, fix->nleave, 1u);
	KUNIT_EXPECT_PTR_EQ(test, fix->left, &fix->handle[0]);
	/* Frames of a lost group use the broadcast group for two seconds. */
	KUNIT_EXPECT_FALSE(test, mcast->settled);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->settled_at) > HZ);
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	/* The group has another MLID now. */
	mcast->joining->rec.mlid = cpu_to_be16(MCAST_MLID + 16);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, fix->attached, 2 * MCAST_MLID + 16u);
	KUNIT_EXPECT_EQ(test, fix->nleave, 2u);
	KUNIT_EXPECT_PTR_EQ(test, fix->left, &fix->handle[1]);
	KUNIT_EXPECT_EQ(test, fix->nah, 4u);
	KUNIT_EXPECT_EQ(test, fix->nretired, 2u);
	/* A definitive refusal ends the membership, and the link. */
	mcast_answer(fix, link, -ENETRESET);
	mcast_retry(fix, link);
	mcast_answer(fix, link, -EINVAL);
	KUNIT_EXPECT_EQ(test, link->held, IPOIB_JOIN_FULL);
	mcast_record(fix, link, -ENOENT, NULL);
	KUNIT_EXPECT_EQ(test, link->state, IPOIB_MCAST_BACKOFF);
	KUNIT_EXPECT_EQ(test, link->held, 0);
	KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + 16u);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_FLAG_JOINED, &fix->priv.flags));
	KUNIT_EXPECT_EQ(test, fix->nlink, 3u);
}

/* A QP that stays attached counts as a failure, and the group ends. */
static void mcast_detached(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	mcast = mcast_member(test, 1, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 0);
	fix->detach_err = -EIO;
	mcast_drop_user(fix, mcast, IPOIB_USER_LISTEN);
	fix->detach_err = 0;
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 1);
	KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + 0u);
	KUNIT_EXPECT_EQ(test, fix->nleave, 1u);
	KUNIT_EXPECT_EQ(test, fix->nretired, 1u);
	KUNIT_EXPECT_EQ(test, fix->priv.mcast.ngroups, 1u);
}

/* A membership that is new to the SA settles, with its MLID as before, too; a change does not. */
static void mcast_settles(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	mcast = mcast_member(test, 1, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_FALSE(test, mcast->settled);
	mcast_check(test, mcast);
	mcast_record(fix, mcast, -EINVAL, NULL);
	KUNIT_EXPECT_EQ(test, mcast->held, 0);
	KUNIT_EXPECT_TRUE(test, mcast->settled);
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_FALSE(test, mcast->settled);
	mcast = mcast_member(test, 2, IPOIB_USER_SEND);
	mcast->settled = true;
	mcast_group(fix, 2, IPOIB_USER_LISTEN);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_TRUE(test, mcast->settled);
}

/* Of two answers to a recheck the first counts. */
static void mcast_answers(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	mcast = mcast_member(test, 1, IPOIB_USER_LISTEN);
	mcast_check(test, mcast);
	/* The work has not seen the first. */
	spin_lock_bh(&fix->priv.mcast.lock);
	mcast->status = -ETIMEDOUT;
	mcast->events |= IPOIB_MCAST_EV_ANSWER;
	spin_unlock_bh(&fix->priv.mcast.lock);
	ipoib_mcast_record(&fix->priv, &mcast->mgid, -EINVAL, NULL);
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->status, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_FULL);
}

static void mcast_rechecks(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;
	unsigned long begin;

	mcast_link(test);
	mcast = mcast_member(test, 1, IPOIB_USER_LISTEN);
	mcast_check(test, mcast);
	mcast->settled = true;
	mcast_record(fix, mcast, 0, &mcast->rec);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_FALSE(test, mcast->settled);
	KUNIT_EXPECT_EQ(test, fix->nah, 2u);
	/* Without a decision of the SA the membership stays, and is checked again. */
	mcast_check(test, mcast);
	begin = jiffies;
	mcast_record(fix, mcast, -ETIMEDOUT, NULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_OK, 1, begin, ipoib_backoff_fast(0));
	KUNIT_EXPECT_EQ(test, mcast->events, IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 1);
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_CHECKING);
	begin = jiffies;
	mcast_record(fix, mcast, -EPROTO, NULL);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_OK, 2, begin, ipoib_backoff_fast(1));
	fix->query_err = -ENOMEM;
	begin = jiffies;
	mcast_retry(fix, mcast);
	mcast_expect_pause(test, mcast, IPOIB_CHECK_OK, 3, begin, ipoib_backoff_fast(2));
	fix->query_err = 0;
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 3);
	mcast_retry(fix, mcast);
	mcast_record(fix, mcast, 0, &mcast->rec);
	KUNIT_EXPECT_EQ(test, mcast->failures, 0u);
	/* A refused member joins again, */
	mcast_check(test, mcast);
	mcast_record(fix, mcast, -EINVAL, NULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_IDLE);
	KUNIT_EXPECT_EQ(test, mcast->held, 0);
	KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + 0u);
	KUNIT_EXPECT_EQ(test, fix->nretired, 1u);
	KUNIT_EXPECT_TRUE(test, mcast->settled);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->retry_at) <= IPOIB_MCAST_HOLD_OFF);
	/* and the group of a sender or router counts as missing. */
	mcast = mcast_member(test, 2, IPOIB_USER_ROUTE);
	KUNIT_EXPECT_EQ(test, fix->attached, 2 * MCAST_MLID + 2u);
	mcast_check(test, mcast);
	mcast->used = jiffies;
	mcast_record(fix, mcast, -EINVAL, NULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ABSENT);
	KUNIT_EXPECT_EQ(test, mcast->users, IPOIB_USER_SEND);
	KUNIT_EXPECT_FALSE(test, mcast->settled);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->settled_at) > HZ);
}

/* Each value of the record that differs makes a new address handle. */
static void mcast_changed(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *link = mcast_link(test);
	struct ib_sa_mcmember_rec rec = link->rec;
	struct ipoib_mcast *mcast;
	unsigned int i;

	fix->priv.port_mtu = 4092;
	for (i = 0; i < 8; i++) {
		rec.mlid = cpu_to_be16(MCAST_MLID + (i == 0));
		rec.qkey = cpu_to_be32(0xb1b + (i == 1));
		rec.mtu = i == 2 ? IB_MTU_4096 : IB_MTU_2048;
		rec.sl = i == 3;
		rec.rate = i == 4 ? IB_RATE_10_GBPS : 0;
		rec.traffic_class = i == 5;
		rec.flow_label = cpu_to_be32(i == 6);
		rec.hop_limit = i == 7;
		mcast_check(test, link);
		mcast_record(fix, link, 0, &rec);
		KUNIT_EXPECT_EQ(test, link->state, IPOIB_MCAST_MEMBER);
		KUNIT_EXPECT_EQ(test, fix->nah, 2 * i + 2);
		KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + (i == 0) + 0u);
		KUNIT_EXPECT_EQ(test, fix->qkey, 0xb1bu + (i == 1));
		KUNIT_EXPECT_EQ(test, fix->priv.mcast_mtu, i == 2 ? 4092u : 2044u);
		/* and back */
		rec = fix->handle[0].rec;
		mcast_check(test, link);
		mcast_record(fix, link, 0, &rec);
		KUNIT_EXPECT_EQ(test, fix->nah, 2 * i + 3);
	}
	KUNIT_EXPECT_EQ(test, fix->nretired, 16u);
	/* A group must have the values of the link; */
	mcast = mcast_member(test, 1, IPOIB_USER_LISTEN);
	rec = mcast->rec;
	rec.sl = 1;
	mcast_check(test, mcast);
	mcast_record(fix, mcast, 0, &rec);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	KUNIT_EXPECT_EQ(test, mcast->reason, IPOIB_CHECK_SL);
	KUNIT_EXPECT_EQ(test, mcast->held, 0);
	/* a failure of the HCA is no reason to leave it. */
	mcast = mcast_member(test, 2, IPOIB_USER_LISTEN);
	rec = mcast->rec;
	rec.mlid = cpu_to_be16(MCAST_MLID + 9);
	mcast_check(test, mcast);
	fix->attach_err = -ENOMEM;
	mcast_record(fix, mcast, 0, &rec);
	fix->attach_err = 0;
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_EQ(test, mcast->reason, IPOIB_CHECK_LOCAL);
	KUNIT_EXPECT_EQ(test, mcast->events, IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_FALSE(test, mcast->attached);
	/* The next recheck attaches the QP, though the record is as before. */
	mcast_retry(fix, mcast);
	rec.mlid = mcast->rec.mlid;
	mcast_record(fix, mcast, 0, &rec);
	KUNIT_EXPECT_TRUE(test, mcast->attached);
	KUNIT_EXPECT_EQ(test, fix->attached, 2 * MCAST_MLID + 2u);
}

/* ---- users ---- */

/* Each change of the users asks for another JoinState at once. */
static void mcast_users(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_groups *groups = &fix->priv.mcast;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	mcast = mcast_member(test, 1, IPOIB_USER_SEND);
	KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + 0u);
	KUNIT_EXPECT_EQ(test, groups->nsend, 1u);
	KUNIT_EXPECT_EQ(test, groups->nroute, 0u);
	KUNIT_EXPECT_EQ(test, groups->ngroups, 2u);
	mcast_group(fix, 1, IPOIB_USER_ROUTE);
	KUNIT_EXPECT_EQ(test, groups->nsend, 0u);
	KUNIT_EXPECT_EQ(test, groups->nroute, 1u);
	KUNIT_EXPECT_EQ(test, fix->state, IPOIB_JOIN_NON);
	/* The old membership is left when the new one is granted. */
	KUNIT_EXPECT_EQ(test, fix->nleave, 0u);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, fix->nleave, 1u);
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_NON);
	KUNIT_EXPECT_EQ(test, fix->attached, 2 * MCAST_MLID + 1u);
	mcast_group(fix, 1, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, groups->nroute, 0u);
	KUNIT_EXPECT_EQ(test, fix->state, IPOIB_JOIN_FULL);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->users, IPOIB_USER_LISTEN | IPOIB_USER_ROUTE | IPOIB_USER_SEND);
	mcast_drop_user(fix, mcast, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, fix->state, IPOIB_JOIN_NON);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, fix->njoin, 5u);
	KUNIT_EXPECT_EQ(test, fix->nleave, 3u);
	KUNIT_EXPECT_EQ(test, groups->nroute, 1u);
	/* A group with recent frames becomes one of a sender, */
	mcast->used = jiffies - 59 * HZ;
	mcast_drop_user(fix, mcast, IPOIB_USER_ROUTE);
	KUNIT_EXPECT_EQ(test, mcast->users, IPOIB_USER_SEND);
	KUNIT_EXPECT_EQ(test, fix->state, IPOIB_JOIN_SEND);
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, fix->attached, MCAST_MLID + 0u);
	KUNIT_EXPECT_EQ(test, groups->nsend, 1u);
	/* and is left a minute after the last frame. */
	mcast->settled = true;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&mcast->work));
	KUNIT_EXPECT_TRUE(test, time_before_eq(mcast->work.timer.expires, jiffies + HZ));
	mcast->used = jiffies - 61 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, groups->ngroups, 1u);
	KUNIT_EXPECT_EQ(test, groups->nsend, 0u);
	KUNIT_EXPECT_EQ(test, fix->nleave, 5u);
	KUNIT_EXPECT_EQ(test, fix->nah, 6u);
	KUNIT_EXPECT_EQ(test, fix->nretired, 5u);
}

/* A group is slow if its first answer is out for longer than frames may wait. */
static void mcast_slow(struct kunit *test)
{
	unsigned long begin = jiffies;
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	mcast = mcast_get(fix, 1, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_TRUE(test, time_in_range(mcast->retry_at, begin, jiffies));
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	KUNIT_EXPECT_FALSE(test, ipoib_mcast_group_is_slow(mcast));
	mcast->asked_at = jiffies - IPOIB_MCAST_PATIENCE;
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_group_is_slow(mcast));
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_FALSE(test, ipoib_mcast_group_is_slow(mcast));
}

/* A sender is a user of a group without others only. */
static void mcast_room(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_groups *groups = &fix->priv.mcast;
	struct ipoib_mcast *a, *b;
	unsigned int n;

	KUNIT_EXPECT_PTR_EQ(test, mcast_get(fix, 1, IPOIB_USER_LISTEN), NULL);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_REFUSED], 0);
	mcast_link(test);
	a = mcast_get(fix, 1, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_PTR_EQ(test, mcast_get(fix, 1, IPOIB_USER_SEND), a);
	KUNIT_EXPECT_EQ(test, a->users, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_group_is_unused(a));
	b = mcast_get(fix, 2, IPOIB_USER_ROUTE);
	groups->cap_logged = true;
	groups->nsend = IPOIB_MCAST_SEND_MAX;
	groups->nroute = IPOIB_MCAST_ROUTE_MAX;
	KUNIT_EXPECT_PTR_EQ(test, mcast_get(fix, 3, IPOIB_USER_SEND), NULL);
	KUNIT_EXPECT_PTR_EQ(test, mcast_get(fix, 3, IPOIB_USER_ROUTE), NULL);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_REFUSED], 2);
	KUNIT_EXPECT_PTR_EQ(test, mcast_get(fix, 2, IPOIB_USER_ROUTE), b);
	/* A group that is listened to may be routed, too. */
	KUNIT_EXPECT_PTR_EQ(test, mcast_get(fix, 1, IPOIB_USER_ROUTE), a);
	groups->nsend = 0;
	groups->nroute = 1;
	n = groups->ngroups;
	groups->ngroups = IPOIB_MCAST_MAX;
	KUNIT_EXPECT_PTR_EQ(test, mcast_get(fix, 3, IPOIB_USER_LISTEN), NULL);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_REFUSED], 3);
	/* The end of a group starts the next pass through the stack's list. */
	mcast_run(fix, NULL);
	cancel_delayed_work_sync(&groups->work);
	mcast_drop_user(fix, b, IPOIB_USER_ROUTE);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&groups->work) ||
			  atomic_read(&fix->nresync));
	KUNIT_EXPECT_EQ(test, groups->ngroups, IPOIB_MCAST_MAX - 1u);
	KUNIT_EXPECT_TRUE(test, groups->cap_logged);
	groups->ngroups = n - 1;
	/* A pass through the list of listeners ends those that it has not named. */
	mcast_get(fix, 4, IPOIB_USER_LISTEN);
	spin_lock_bh(&groups->lock);
	ipoib_mcast_group_sweep(&fix->priv, IPOIB_USER_LISTEN);
	spin_unlock_bh(&groups->lock);
	mcast_run(fix, NULL);
	KUNIT_EXPECT_EQ(test, groups->ngroups, 3u);
	mcast_get(fix, 4, IPOIB_USER_LISTEN);
	spin_lock_bh(&groups->lock);
	ipoib_mcast_group_sweep(&fix->priv, IPOIB_USER_LISTEN);
	spin_unlock_bh(&groups->lock);
	KUNIT_EXPECT_EQ(test, a->users, IPOIB_USER_ROUTE);
	mcast_run(fix, NULL);
	KUNIT_EXPECT_EQ(test, groups->ngroups, 3u);
	KUNIT_EXPECT_FALSE(test, !rcu_access_pointer(fix->priv.broadcast));
}

/* 6144 groups, 1024 only sent to, 4096 only routed */
static void mcast_limits(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_groups *groups = &fix->priv.mcast;
	struct ipoib_mcast *mcast;
	unsigned int n;

	mcast_link(test);
	n = groups->ngroups;
	groups->cap_logged = true;
	groups->nsend = 1023;
	KUNIT_EXPECT_TRUE(test, mcast_get(fix, 1, IPOIB_USER_SEND));
	KUNIT_EXPECT_FALSE(test, mcast_get(fix, 2, IPOIB_USER_SEND));
	groups->nroute = 4095;
	KUNIT_EXPECT_TRUE(test, mcast_get(fix, 3, IPOIB_USER_ROUTE));
	KUNIT_EXPECT_FALSE(test, mcast_get(fix, 4, IPOIB_USER_ROUTE));
	groups->ngroups = 6143;
	KUNIT_EXPECT_TRUE(test, mcast_get(fix, 5, IPOIB_USER_LISTEN));
	KUNIT_EXPECT_FALSE(test, mcast_get(fix, 6, IPOIB_USER_LISTEN));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_REFUSED], 3);
	mcast_run(fix, NULL);
	/* The next refusal is logged once less than half of both is in use. */
	groups->nroute = 1;
	groups->nsend = 511;
	groups->ngroups = 3073;
	mcast_drop_user(fix, mcast_get(fix, 3, IPOIB_USER_ROUTE), IPOIB_USER_ROUTE);
	KUNIT_EXPECT_EQ(test, groups->ngroups, 3072u);
	KUNIT_EXPECT_TRUE(test, groups->cap_logged);
	groups->nsend = 512;
	mcast_drop_user(fix, mcast_get(fix, 5, IPOIB_USER_LISTEN), IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, groups->ngroups, 3071u);
	KUNIT_EXPECT_TRUE(test, groups->cap_logged);
	mcast = mcast_get(fix, 1, IPOIB_USER_SEND);
	mcast->used = jiffies - 61 * HZ;
	mcast_drop_user(fix, mcast, IPOIB_USER_SEND);
	KUNIT_EXPECT_EQ(test, groups->ngroups, 3070u);
	KUNIT_EXPECT_EQ(test, groups->nsend, 511u);
	KUNIT_EXPECT_FALSE(test, groups->cap_logged);
	groups->nsend = 0;
	groups->ngroups = n;
}

/* Requests of groups wait for inflight slots, that of the broadcast group does not. */
static void mcast_slots(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *a, *b;

	mcast_link(test);
	KUNIT_EXPECT_EQ(test, fix->limit.held[IPOIB_INFLIGHT_GROUP], 0u);
	fix->limit.max = IPOIB_QUERIES_KEPT + 1;
	a = mcast_group(fix, 1, IPOIB_USER_LISTEN);
	b = mcast_group(fix, 2, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, a->state, IPOIB_MCAST_JOINING);
	KUNIT_EXPECT_EQ(test, b->state, IPOIB_MCAST_IDLE);
	ipoib_mcast_answer(a, 0);
	mcast_run(fix, a);
	KUNIT_EXPECT_EQ(test, a->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_EQ(test, b->state, IPOIB_MCAST_JOINING);
	mcast_answer(fix, b, 0);
	KUNIT_EXPECT_EQ(test, fix->limit.held[IPOIB_INFLIGHT_GROUP], 0u);
	/* A group that ends gives up its place in the queue. */
	mcast_check(test, a);
	mcast_recheck(fix, b);
	KUNIT_EXPECT_EQ(test, b->state, IPOIB_MCAST_MEMBER);
	mcast_drop_user(fix, b, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->limit.queue[IPOIB_INFLIGHT_GROUP]));
	KUNIT_EXPECT_EQ(test, fix->priv.mcast.ngroups, 2u);
}

/* ---- deadlines ---- */

static struct sk_buff *mcast_skb(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);

	KUNIT_EXPECT_TRUE(test, skb);
	return skb;
}

/* Frames wait for an answer a tenth of a second. */
static void mcast_frames(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	mcast = mcast_group(fix, 1, IPOIB_USER_SEND);
	__skb_queue_tail(&mcast->queue, mcast_skb(test));
	mcast->asked_at = jiffies + HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, fix->nsent, 0u);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&mcast->work));
	KUNIT_EXPECT_TRUE(test, time_in_range(mcast->work.timer.expires, jiffies,
					      jiffies + HZ + IPOIB_MCAST_PATIENCE));
	mcast->asked_at = jiffies - IPOIB_MCAST_PATIENCE;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, fix->nsent, 1u);
	/* Those of a member, or of a group that is not joined, do not wait. */
	__skb_queue_tail(&mcast->queue, mcast_skb(test));
	mcast->asked_at = jiffies + HZ;
	mcast_answer(fix, mcast, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	KUNIT_EXPECT_EQ(test, fix->nsent, 2u);
	mcast_retry(fix, mcast);
	KUNIT_EXPECT_TRUE(test, jiffies - mcast->asked_at < HZ);
	__skb_queue_tail(&mcast->queue, mcast_skb(test));
	mcast_answer(fix, mcast, 0);
	KUNIT_EXPECT_EQ(test, fix->nsent, 3u);
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, fix->nsent, 3u);
}

/* A membership that does not keep its group is rechecked, at growing intervals. */
static void mcast_interval(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	mcast = mcast_member(test, 1, IPOIB_USER_ROUTE);
	KUNIT_EXPECT_TRUE(test, mcast->recheck_interval >= IPOIB_MCAST_RECHECK_MIN);
	KUNIT_EXPECT_TRUE(test, mcast->recheck_interval <= IPOIB_MCAST_RECHECK_MIN * 3 / 2);
	mcast->settled = true;
	mcast->recheck_interval = 10 * HZ;
	mcast->retry_at = jiffies - 5 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&mcast->work));
	KUNIT_EXPECT_TRUE(test, time_in_range(mcast->work.timer.expires, jiffies + 3 * HZ,
					      jiffies + 5 * HZ));
	mcast->retry_at = jiffies - 10 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_CHECKING);
	KUNIT_EXPECT_TRUE(test, mcast->recheck_interval >= 20 * HZ);
	KUNIT_EXPECT_TRUE(test, mcast->recheck_interval <= 30 * HZ);
	mcast_record(fix, mcast, 0, &mcast->rec);
	/* It grows up to 40 s, and half of that. */
	mcast->recheck_interval = 50 * HZ;
	mcast->retry_at = jiffies - 50 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_TRUE(test, mcast->recheck_interval >= 40 * HZ);
	KUNIT_EXPECT_TRUE(test, mcast->recheck_interval <= 60 * HZ);
	mcast_record(fix, mcast, 0, &mcast->rec);
	/* With reports it is five minutes longer; the work runs at least each ten seconds. */
	fix->notices = true;
	mcast->settled = true;
	mcast->recheck_interval = 10 * HZ;
	mcast->retry_at = jiffies - 250 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	KUNIT_EXPECT_TRUE(test, time_in_range(mcast->work.timer.expires, jiffies + 8 * HZ,
					      jiffies + 10 * HZ));
	mcast->retry_at = jiffies - 310 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_CHECKING);
	fix->notices = false;
	/* A sender is rechecked for its next frame. */
	mcast = mcast_member(test, 2, IPOIB_USER_SEND);
	mcast->recheck_interval = 10 * HZ;
	mcast->retry_at = jiffies - 11 * HZ;
	mcast->used = jiffies - 12 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	mcast->used = jiffies - 10 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_CHECKING);
	mcast_record(fix, mcast, 0, &mcast->rec);
	fix->priv.agent = NULL;
	mcast->retry_at = jiffies - 60 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_MEMBER);
	fix->priv.agent = (void *)fix;
}

/* Four samples with frames in a row have the group monitored. */
static void mcast_samples(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;
	unsigned int i;

	mcast_link(test);
	mcast = mcast_member(test, 1, IPOIB_USER_SEND);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->sample_at) > 2 * HZ);
	for (i = 1; i <= 5; i++) {
		mcast->used = jiffies;
		mcast->sample_at = jiffies;
		mcast_run(fix, mcast);
		KUNIT_EXPECT_EQ(test, mcast->samples, min(i, 4u));
		KUNIT_EXPECT_EQ(test, fix->monitors, i >= 4);
		KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->sample_at) > 2 * HZ);
		KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->sample_at) <= 9 * HZ / 2);
	}
	/* No sample before its time */
	mcast->used = jiffies - 4 * HZ;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, fix->monitors, 1);
	mcast->sample_at = jiffies;
	mcast_run(fix, mcast);
	KUNIT_EXPECT_EQ(test, mcast->samples, 0);
	KUNIT_EXPECT_EQ(test, fix->monitors, 0);
	/* A listener ends it. */
	mcast->samples = IPOIB_MCAST_SAMPLES;
	fix->monitors = 1;
	mcast_get(fix, 1, IPOIB_USER_LISTEN);
	KUNIT_EXPECT_EQ(test, fix->monitors, 0);
}

/* ---- reports ---- */

/* The events of a group since the last call, whose works do not run meanwhile */
static u8 mcast_events(struct mcast_fixture *fix, struct ipoib_mcast *mcast)
{
	u8 events;

	mcast_run(fix, NULL);
	events = mcast->events;
	mcast->events = 0;
	return events;
}

static void mcast_reports(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *full, *send, *joining, *absent;
	union ib_gid other;

	mcast_link(test);
	full = mcast_member(test, 1, IPOIB_USER_LISTEN);
	send = mcast_member(test, 2, IPOIB_USER_SEND);
	absent = mcast_group(fix, 3, IPOIB_USER_SEND);
	mcast_answer(fix, absent, -EINVAL);
	joining = mcast_group(fix, 4, IPOIB_USER_LISTEN);
	mcast_gid(fix, 9, &other);

	ipoib_mcast_group_deleted(&fix->priv, &other);
	ipoib_mcast_group_created(&fix->priv, &other);
	ipoib_mcast_group_deleted(&fix->priv, &full->mgid);
	ipoib_mcast_group_deleted(&fix->priv, &send->mgid);
	ipoib_mcast_group_deleted(&fix->priv, &absent->mgid);
	ipoib_mcast_group_deleted(&fix->priv, &joining->mgid);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, full), IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, send), IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, absent), 0);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, joining), 0);

	send->recheck_interval = 1;
	ipoib_mcast_group_created(&fix->priv, &full->mgid);
	ipoib_mcast_group_created(&fix->priv, &send->mgid);
	ipoib_mcast_group_created(&fix->priv, &absent->mgid);
	ipoib_mcast_group_created(&fix->priv, &joining->mgid);
	KUNIT_EXPECT_EQ(test, absent->failures, 0u);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(absent->retry_at) <= IPOIB_MCAST_HOLD_OFF);
	KUNIT_EXPECT_EQ(test, send->recheck_interval, IPOIB_MCAST_RECHECK_MIN);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, full), 0);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, send), IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, absent), IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, joining), 0);

	/* Without reports a missing group waits for its next frame. */
	absent->failures = 3;
	absent->retry_at = jiffies + HZ;
	ipoib_mcast_review(&fix->priv);
	KUNIT_EXPECT_EQ(test, absent->failures, 0u);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(absent->retry_at) <= IPOIB_MCAST_HOLD_OFF);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, absent), 0);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, send), IPOIB_MCAST_EV_RECHECK);
	fix->notices = true;
	ipoib_mcast_review(&fix->priv);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, absent), IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, full), 0);
	fix->notices = false;
	mcast_events(fix, send);

	/* A new SM gets the memberships again. */
	send->failures = 3;
	absent->failures = 3;
	absent->retry_at = jiffies + HZ;
	joining->recheck_interval = 1;
	ipoib_mcast_sm_changed(&fix->priv);
	KUNIT_EXPECT_EQ(test, send->failures, 0u);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(send->retry_at) <= HZ / 20 + 1);
	KUNIT_EXPECT_EQ(test, joining->recheck_interval, IPOIB_MCAST_RECHECK_MIN);
	KUNIT_EXPECT_EQ(test, absent->failures, 3u);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, full), IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, send), IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, absent), 0);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, joining), IPOIB_MCAST_EV_RECHECK);
	fix->priv.agent = NULL;
	ipoib_mcast_sm_changed(&fix->priv);
	fix->priv.agent = (void *)fix;
	KUNIT_EXPECT_EQ(test, mcast_events(fix, full), 0);

	/* A change of the port ends the pauses. */
	ipoib_mcast_rejoin(&fix->priv);
	KUNIT_EXPECT_EQ(test, absent->failures, 0u);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(absent->retry_at) <= IPOIB_MCAST_HOLD_OFF);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, absent), 0);
	/* An answer to no question */
	mcast_record(fix, full, 0, &send->rec);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, full), 0);
	KUNIT_EXPECT_FALSE(test, full->fresh.mlid);
}

/* Reports that are newer than the next answer, or the last one */
static void mcast_overtaken(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *mcast;

	mcast_link(test);
	/* The join of a sender does not create the group. */
	mcast = mcast_group(fix, 1, IPOIB_USER_SEND);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_JOINING);
	ipoib_mcast_group_deleted(&fix->priv, &mcast->mgid);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, mcast), IPOIB_MCAST_EV_RECHECK);
	ipoib_mcast_group_created(&fix->priv, &mcast->mgid);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, mcast), IPOIB_MCAST_EV_RECHECK);
	/* The answer to a query may be older than the end of the group: the pause is short. */
	mcast = mcast_group(fix, 2, IPOIB_USER_LISTEN);
	mcast_answer(fix, mcast, -EINVAL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_ASKING);
	ipoib_mcast_group_deleted(&fix->priv, &mcast->mgid);
	mcast_record(fix, mcast, -ENOENT, NULL);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->retry_at) <= IPOIB_MCAST_HOLD_OFF);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, mcast), IPOIB_MCAST_EV_RECHECK);
	/* The pause of a listener that was lost, and is still a member, ends. */
	mcast = mcast_member(test, 3, IPOIB_USER_LISTEN);
	mcast_answer(fix, mcast, -ENETRESET);
	mcast_retry(fix, mcast);
	mcast_answer(fix, mcast, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mcast->state, IPOIB_MCAST_BACKOFF);
	KUNIT_EXPECT_EQ(test, mcast->held, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, mcast), 0);
	ipoib_mcast_group_created(&fix->priv, &mcast->mgid);
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_until(mcast->retry_at) <= IPOIB_MCAST_HOLD_OFF);
	KUNIT_EXPECT_EQ(test, mcast_events(fix, mcast), IPOIB_MCAST_EV_RECHECK);
}

/* ---- values ---- */

static void mcast_values(struct kunit *test)
{
	struct mcast_fixture *fix = test->priv;
	struct ipoib_mcast *link = mcast_link(test);
	struct ipoib_mcast *mcast = mcast_get(fix, 1, IPOIB_USER_LISTEN);
	const struct ib_sa_mcmember_rec good = link->rec;
	struct ib_sa_mcmember_rec rec;
	unsigned int full;

	for (full = 0; full < 2; full++) {
		mcast->asked = full ? IPOIB_JOIN_FULL : IPOIB_JOIN_SEND;
		fix->priv.port_mtu = 2044;
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &good), IPOIB_CHECK_OK);
		rec = good;
		rec.pkey = cpu_to_be16(0x7fff);
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec), IPOIB_CHECK_OK);
		rec.pkey = cpu_to_be16(0x8002);
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec), IPOIB_CHECK_PKEY);
		rec = good;
		rec.qkey = cpu_to_be32(0xb1c);
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec), IPOIB_CHECK_QKEY);
		rec = good;
		rec.sl = 1;
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec),
				full ? IPOIB_CHECK_SL : IPOIB_CHECK_OK);
		rec = good;
		rec.hop_limit = 1;
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec),
				full ? IPOIB_CHECK_HOPS : IPOIB_CHECK_OK);
		rec = good;
		rec.mtu = IB_MTU_1024;
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec), IPOIB_CHECK_MTU);
		rec.mtu = IB_MTU_4096;
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec),
				full ? IPOIB_CHECK_PORT_MTU : IPOIB_CHECK_OK);
		fix->priv.port_mtu = 4092;
		KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(mcast, &rec),
				full ? IPOIB_CHECK_MTU : IPOIB_CHECK_OK);
	}
	/* The broadcast group has the values of the link, whatever they are. */
	rec = good;
	rec.qkey = cpu_to_be32(0xb1c);
	rec.sl = 1;
	rec.hop_limit = 1;
	KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(link, &rec), IPOIB_CHECK_OK);
	rec.mtu = 0;
	KUNIT_EXPECT_EQ(test, ipoib_mcast_check_group(link, &rec), IPOIB_CHECK_PORT_MTU);
}

static struct kunit_case ipoib_mcast_cases[] = {
	KUNIT_CASE(mcast_joined),
	KUNIT_CASE(mcast_order),
	KUNIT_CASE(mcast_silent),
	KUNIT_CASE(mcast_refused),
	KUNIT_CASE(mcast_local),
	KUNIT_CASE(mcast_absent),
	KUNIT_CASE(mcast_lost),
	KUNIT_CASE(mcast_detached),
	KUNIT_CASE(mcast_settles),
	KUNIT_CASE(mcast_answers),
	KUNIT_CASE(mcast_rechecks),
	KUNIT_CASE(mcast_changed),
	KUNIT_CASE(mcast_users),
	KUNIT_CASE(mcast_slow),
	KUNIT_CASE(mcast_room),
	KUNIT_CASE(mcast_limits),
	KUNIT_CASE(mcast_slots),
	KUNIT_CASE(mcast_frames),
	KUNIT_CASE(mcast_interval),
	KUNIT_CASE(mcast_samples),
	KUNIT_CASE(mcast_reports),
	KUNIT_CASE(mcast_overtaken),
	KUNIT_CASE(mcast_values),
	{}
};

struct kunit_suite ipoib_mcast_suite = {
	.name = "ipoib_mcast",
	.init = mcast_init,
	.exit = mcast_exit,
	.test_cases = ipoib_mcast_cases,
};
