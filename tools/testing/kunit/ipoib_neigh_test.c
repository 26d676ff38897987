// SPDX-License-Identifier: GPL-2.0
/* Tests of neighbours: table, queries and their failures, stale records, waiting frames */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Other suites define functions of these names. */
#define ipoib_stat_add		neighs_stat_add
#define ipoib_drop		neighs_drop
#define ipoib_drop_list		neighs_drop_list
#define ipoib_ah_create		neighs_ah_create
#define ipoib_ah_retire		neighs_ah_retire
#define ipoib_neigh_park	neighs_park
#define ipoib_neigh_unpark	neighs_unpark
#define ipoib_neigh_resend	neighs_resend
#define ipoib_neigh_record	neighs_record

#include "ipoib.h"

/* No tracepoints, and no tables of GIDs */
#define IPOIB_TRACE_H
#define trace_ipoib_path	neighs_trace
#define ib_init_ah_attr_from_path	neighs_init_attr
#define rdma_put_gid_attr	neighs_put_gid

static void neighs_trace(const struct net_device *dev, const u8 *gid, const char *what, int err)
{
}

static int neighs_init_attr(struct ib_device *ca, u32 port, struct sa_path_rec *rec,
			    struct rdma_ah_attr *attr, const struct ib_gid_attr *gid);
static void neighs_put_gid(const struct ib_gid_attr *gid);

/* Freed neighbours */
static atomic_t neighs_nfreed;

static void neighs_free(struct ipoib_neigh *neigh)
{
	atomic_inc(&neighs_nfreed);
	kfree_rcu(neigh, rcu);
}

#undef kfree_rcu
#define kfree_rcu(neigh, rcu)	neighs_free(neigh)

#include "ipoib_neigh.c"

/* Inflight slots: two of them are for paths. */
#define NEIGHS_SLOTS	(IPOIB_QUERIES_KEPT + 2)

/**
 * struct neighs_fixture - fixture of a case
 * @priv: an interface with a table of neighbours
 * @ca: its HCA
 * @gid: entry of the GID table of a RoCE port
 * @ops: operations of the fabric
 * @limit: limit of queries
 * @ah: address handles
 * @nah: number of those that were created
 * @retired: address handle retired last
 * @nretired: number of retired address handles
 * @rec: a path record
 * @get_err: result of a query that cannot be sent
 * @attr_err: result of the attributes of an address handle
 * @ah_err: result of the creation of an address handle
 * @gid_err: result of the search for @gid
 * @nget: queries
 * @ncancel: cancelled queries
 * @nattr: attributes of address handles
 * @attr_gid: GID of the last of these
 * @nput: returned references of @gid
 * @nworks: runs of works of neighbours
 * @stats: counters
 * @dropped: dropped frames by reason
 */
struct neighs_fixture {
	struct ipoib_dev priv;
	struct ib_device ca;
	struct ib_gid_attr gid;
	struct ipoib_fabric_ops ops;
	struct ipoib_limit limit;
	struct ipoib_ah ah[8];
	unsigned int nah;
	struct ipoib_ah *retired;
	unsigned int nretired;
	struct sa_path_rec rec;
	int get_err;
	int attr_err;
	int ah_err;
	int gid_err;
	unsigned int nget;
	unsigned int ncancel;
	unsigned int nattr;
	const struct ib_gid_attr *attr_gid;
	unsigned int nput;
	atomic_t nworks;
	s64 stats[IPOIB_NR_STATS];
	unsigned int dropped[IPOIB_NR_STATS];
};

static struct neighs_fixture *neighs_fix(struct ipoib_dev *priv)
{
	return container_of(priv, struct neighs_fixture, priv);
}

/* ---- functions of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	neighs_fix(priv)->stats[stat] += n;
}

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	neighs_fix(priv)->dropped[why]++;
	kfree_skb(skb);
}

void ipoib_drop_list(struct ipoib_dev *priv, struct sk_buff_head *list, enum ipoib_stat why)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list)))
		ipoib_drop(priv, skb, why);
}

struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv, struct rdma_ah_attr *attr)
{
	struct neighs_fixture *fix = neighs_fix(priv);

	if (fix->ah_err || fix->nah == ARRAY_SIZE(fix->ah))
		return ERR_PTR(fix->ah_err ?: -ENOMEM);
	return &fix->ah[fix->nah++];
}

void ipoib_ah_retire(struct ipoib_dev *priv, struct ipoib_ah *ah)
{
	struct neighs_fixture *fix = neighs_fix(priv);

	if (!ah)
		return;
	fix->retired = ah;
	fix->nretired++;
}

static int neighs_init_attr(struct ib_device *ca, u32 port, struct sa_path_rec *rec,
			    struct rdma_ah_attr *attr, const struct ib_gid_attr *gid)
{
	struct neighs_fixture *fix = container_of(ca, struct neighs_fixture, ca);

	fix->nattr++;
	fix->attr_gid = gid;
	return fix->attr_err;
}

static void neighs_put_gid(const struct ib_gid_attr *gid)
{
	container_of(gid, struct neighs_fixture, gid)->nput++;
}

/* ---- the fabric ---- */

static int neighs_path_get(struct ipoib_dev *priv, struct ipoib_neigh *neigh)
{
	struct neighs_fixture *fix = neighs_fix(priv);

	fix->nget++;
	if (!fix->get_err)
		neigh->query = fix;
	return fix->get_err;
}

static void neighs_path_cancel(struct ipoib_neigh *neigh)
{
	neighs_fix(neigh->priv)->ncancel++;
}

static const struct ib_gid_attr *neighs_path_gid(struct ipoib_dev *priv)
{
	struct neighs_fixture *fix = neighs_fix(priv);

	return fix->gid_err ? ERR_PTR(fix->gid_err) : &fix->gid;
}

/* Work of a neighbour, which drops its reference */
static void neighs_work(struct work_struct *work)
{
	struct ipoib_neigh *neigh = container_of(to_delayed_work(work), struct ipoib_neigh, work);

	atomic_inc(&neighs_fix(neigh->priv)->nworks);
	if (list_empty(&neigh->list))
		INIT_HLIST_HEAD(&neigh->peers);
	ipoib_neigh_put(neigh);
}

static int neighs_init(struct kunit *test)
{
	struct neighs_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	if (!fix)
		return -ENOMEM;
	fix->ops.path_get = neighs_path_get;
	fix->ops.path_cancel = neighs_path_cancel;
	fix->priv.fabric = &fix->ops;
	fix->priv.ca = &fix->ca;
	refcount_set(&fix->priv.queries, 1);
	ipoib_limit_init(&fix->limit, NEIGHS_SLOTS);
	fix->priv.neigh.limit = &fix->limit;
	fix->rec.rec_type = SA_PATH_REC_TYPE_IB;
	fix->rec.mtu = IB_MTU_2048;
	test->priv = fix;
	if (!ipoib_neigh_init(&fix->priv))
		return 0;
	kvfree(fix);
	return -ENOMEM;
}

static void neighs_exit(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;

	ipoib_neigh_stop(&fix->priv);
	ipoib_neigh_exit(&fix->priv);
	kvfree(fix);
}

/* ---- steps ---- */

/* The neighbour with the GID of number @n */
static struct ipoib_neigh *neighs_get(struct neighs_fixture *fix, u8 n)
{
	enum ipoib_stat why = IPOIB_NR_STATS;
	union ib_gid gid = { .raw = { 0xfe, 0x80, [15] = n } };
	struct ipoib_neigh *neigh;

	spin_lock_bh(&fix->priv.neigh.lock);
	neigh = ipoib_neigh_get(&fix->priv, gid.raw, neighs_work, &why);
	spin_unlock_bh(&fix->priv.neigh.lock);
	return neigh;
}

static void neighs_ask(struct neighs_fixture *fix, struct ipoib_neigh *neigh)
{
	spin_lock_bh(&fix->priv.neigh.lock);
	ipoib_neigh_ask(neigh);
	spin_unlock_bh(&fix->priv.neigh.lock);
}

static void neighs_try(struct neighs_fixture *fix, struct ipoib_neigh *neigh)
{
	spin_lock_bh(&fix->priv.neigh.lock);
	ipoib_neigh_try(neigh);
	spin_unlock_bh(&fix->priv.neigh.lock);
}

static void neighs_answer(struct neighs_fixture *fix, struct ipoib_neigh *neigh, int status)
{
	ipoib_neigh_answered(neigh, status, status ? NULL : &fix->rec);
	flush_workqueue(fix->priv.neigh.wq);
}

/* A neighbour with a path record */
static struct ipoib_neigh *neighs_valid(struct neighs_fixture *fix, u8 n)
{
	struct ipoib_neigh *neigh = neighs_get(fix, n);

	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, 0);
	atomic_set(&fix->nworks, 0);
	return neigh;
}

static struct sk_buff *neighs_skb(struct kunit *test, u16 txq)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);

	KUNIT_EXPECT_TRUE(test, skb);
	if (skb)
		skb_set_queue_mapping(skb, txq);
	return skb;
}

/* The next query is not before @pause after @begin, and not much later. */
static void neighs_expect_pause(struct kunit *test, const struct ipoib_neigh *neigh,
				unsigned long begin, unsigned long pause)
{
	KUNIT_EXPECT_TRUE(test, time_in_range(neigh->retry_at, begin + pause, jiffies + pause));
	KUNIT_EXPECT_TRUE(test, neigh->stale);
	KUNIT_EXPECT_FALSE(test, ipoib_neigh_is_due(neigh));
}

/* ---- table ---- */

static void neighs_known(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_get(fix, 1), *b = neighs_get(fix, 2);

	KUNIT_EXPECT_TRUE(test, a && b && a != b);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 1), a);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 2), b);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.table.nelems), 2);
	KUNIT_EXPECT_PTR_EQ(test, fix->priv.neigh.list.next, &a->list);
	KUNIT_EXPECT_PTR_EQ(test, fix->priv.neigh.list.prev, &b->list);
	KUNIT_EXPECT_EQ(test, a->gid.raw[15], 1);
	KUNIT_EXPECT_PTR_EQ(test, a->priv, &fix->priv);
	KUNIT_EXPECT_EQ(test, a->state, IPOIB_NEIGH_NONE);
	KUNIT_EXPECT_TRUE(test, ipoib_neigh_is_due(a));
	KUNIT_EXPECT_FALSE(test, ipoib_neigh_is_asked(a));
	KUNIT_EXPECT_TRUE(test, jiffies - a->used < HZ);
	KUNIT_EXPECT_EQ(test, refcount_read(&a->ref), 1u);
}

static bool neighs_make_room(struct neighs_fixture *fix)
{
	bool made;

	spin_lock_bh(&fix->priv.neigh.lock);
	made = ipoib_neigh_make_room(&fix->priv);
	spin_unlock_bh(&fix->priv.neigh.lock);
	return made;
}

/* A neighbour with a recent frame, or with a query under way, stays; else the oldest idle one goes. */
static void neighs_full_idle(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_valid(fix, 1), *b = neighs_valid(fix, 2);
	struct ipoib_neigh *c = neighs_get(fix, 3);
	union ib_gid gid = { .raw = { [15] = 4 } };
	enum ipoib_stat why = IPOIB_NR_STATS;

	neighs_ask(fix, c);
	c->used = jiffies - 60 * HZ;
	a->used = jiffies - 4 * HZ;
	b->used = jiffies;
	KUNIT_EXPECT_FALSE(test, neighs_make_room(fix));
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.table.nelems), 3);
	atomic_set(&fix->priv.neigh.table.nelems, IPOIB_NEIGH_MAX);
	spin_lock_bh(&fix->priv.neigh.lock);
	KUNIT_EXPECT_PTR_EQ(test, ipoib_neigh_get(&fix->priv, gid.raw, neighs_work, &why), NULL);
	spin_unlock_bh(&fix->priv.neigh.lock);
	KUNIT_EXPECT_EQ(test, why, IPOIB_TX_PATH_CAP);
	atomic_set(&fix->priv.neigh.table.nelems, 3);

	spin_lock_bh(&fix->priv.neigh.lock);
	list_move(&b->list, &fix->priv.neigh.list);
	list_move(&a->list, &fix->priv.neigh.list);
	spin_unlock_bh(&fix->priv.neigh.lock);
	a->used = jiffies - 6 * HZ;
	b->used = a->used - HZ;
	KUNIT_EXPECT_TRUE(test, neighs_make_room(fix));
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.table.nelems), 2);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 2), b);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 3), c);
	KUNIT_EXPECT_EQ(test, fix->ncancel, 0u);
	neighs_answer(fix, c, -EINTR);
}

/* A neighbour without a path goes before an idle one. */
static void neighs_full_unknown(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_valid(fix, 1), *b = neighs_get(fix, 2);
	struct ipoib_neigh *c = neighs_valid(fix, 3);

	a->used = jiffies - 60 * HZ;
	c->used = a->used;
	__skb_queue_tail(&b->queue, neighs_skb(test, 0));
	atomic_inc(&fix->priv.neigh.queued[IPOIB_WAIT_PATH]);
	KUNIT_EXPECT_TRUE(test, neighs_make_room(fix));
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.table.nelems), 2);
	KUNIT_EXPECT_EQ(test, fix->dropped[IPOIB_TX_NO_PATH], 1u);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 1), a);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 3), c);
	/* The next scan begins behind the neighbours of this one. */
	KUNIT_EXPECT_PTR_EQ(test, fix->priv.neigh.list.next, &c->list);
}

static void neighs_age(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_valid(fix, 1), *b = neighs_valid(fix, 2);
	struct ipoib_neigh *c = neighs_get(fix, 3);
	struct delayed_work *work = &fix->priv.neigh.work;
	unsigned long begin = jiffies;

	neighs_ask(fix, c);
	c->used = jiffies - 301 * HZ;
	b->used = jiffies - 301 * HZ;
	a->used = jiffies - 299 * HZ;
	ipoib_neigh_age(&work->work);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.table.nelems), 2);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 1), a);
	KUNIT_EXPECT_PTR_EQ(test, neighs_get(fix, 3), c);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(work));
	set_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	ipoib_neigh_age(&work->work);
	clear_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(work));
	KUNIT_EXPECT_TRUE(test, time_in_range(work->timer.expires, begin + 30 * HZ,
					      jiffies + 30 * HZ));
	neighs_answer(fix, c, -EINTR);
}

/* Of each state one */
static void neighs_stop(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *valid = neighs_valid(fix, 1), *peered = neighs_valid(fix, 2);
	struct ipoib_neigh *first = neighs_get(fix, 3), *second = neighs_get(fix, 4);
	struct ipoib_neigh *waiting = neighs_get(fix, 5);
	int freed;
	struct hlist_node peer;

	__skb_queue_tail(&valid->queue, neighs_skb(test, 0));
	__skb_queue_tail(&valid->queue, neighs_skb(test, 3));
	atomic_add(2, &fix->priv.neigh.queued[IPOIB_WAIT_PATH]);
	hlist_add_head(&peer, &peered->peers);
	neighs_ask(fix, first);
	neighs_ask(fix, second);
	neighs_ask(fix, waiting);
	KUNIT_EXPECT_EQ(test, waiting->state, IPOIB_NEIGH_WAITING);
	refcount_inc(&waiting->ref);
	ipoib_neigh_stop(&fix->priv);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.table.nelems), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->priv.neigh.list));
	KUNIT_EXPECT_EQ(test, fix->ncancel, 2u);
	KUNIT_EXPECT_EQ(test, fix->dropped[IPOIB_TX_FLUSHED], 2u);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.queued[IPOIB_WAIT_PATH]), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->nworks), 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&waiting->ref), 1u);
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->limit.queue[IPOIB_INFLIGHT_PATH]));
	freed = atomic_read(&neighs_nfreed);
	ipoib_neigh_put(waiting);
	KUNIT_EXPECT_EQ(test, atomic_read(&neighs_nfreed), freed + 1);
	/* The handles of both with a record */
	KUNIT_EXPECT_EQ(test, fix->nretired, 2u);
	/* An unlinked neighbour has no work, and goes with its query. */
	KUNIT_EXPECT_EQ(test, refcount_read(&first->ref), 1u);
	neighs_answer(fix, first, -EINTR);
	neighs_answer(fix, second, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->nworks), 1);
	KUNIT_EXPECT_EQ(test, fix->nretired, 3u);
	KUNIT_EXPECT_EQ(test, refcount_read(&fix->priv.queries), 1u);
	KUNIT_EXPECT_EQ(test, fix->limit.held[IPOIB_INFLIGHT_PATH], 0u);
}

/* ---- queries ---- */

static void neighs_query(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *neigh = neighs_get(fix, 1);

	neighs_ask(fix, neigh);
	KUNIT_EXPECT_EQ(test, fix->nget, 1u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_PATH_QUERIES], 1);
	KUNIT_EXPECT_EQ(test, neigh->state, IPOIB_NEIGH_RESOLVING);
	KUNIT_EXPECT_FALSE(test, neigh->stale);
	KUNIT_EXPECT_TRUE(test, jiffies - neigh->asked_at < HZ);
	KUNIT_EXPECT_EQ(test, fix->limit.held[IPOIB_INFLIGHT_PATH], 1u);
	KUNIT_EXPECT_EQ(test, refcount_read(&neigh->ref), 2u);
	KUNIT_EXPECT_EQ(test, refcount_read(&fix->priv.queries), 2u);
	neighs_answer(fix, neigh, 0);
	KUNIT_EXPECT_EQ(test, neigh->state, IPOIB_NEIGH_VALID);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(neigh->ah), &fix->ah[0]);
	KUNIT_EXPECT_EQ(test, memcmp(&neigh->rec, &fix->rec, sizeof(fix->rec)), 0);
	KUNIT_EXPECT_PTR_EQ(test, neigh->query, NULL);
	KUNIT_EXPECT_FALSE(test, neigh->stale);
	KUNIT_EXPECT_FALSE(test, neigh->odd);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->nworks), 1);
	KUNIT_EXPECT_EQ(test, fix->limit.held[IPOIB_INFLIGHT_PATH], 0u);
	KUNIT_EXPECT_EQ(test, refcount_read(&neigh->ref), 1u);
	KUNIT_EXPECT_EQ(test, refcount_read(&fix->priv.queries), 1u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_PATH_FAILURE], 0);
	KUNIT_EXPECT_EQ(test, fix->nretired, 0u);

	neighs_ask(fix, neigh);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(neigh->ah), &fix->ah[0]);
	neighs_answer(fix, neigh, 0);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(neigh->ah), &fix->ah[1]);
	KUNIT_EXPECT_PTR_EQ(test, fix->retired, &fix->ah[0]);
	KUNIT_EXPECT_EQ(test, fix->nretired, 1u);
	KUNIT_EXPECT_PTR_EQ(test, fix->attr_gid, NULL);
}

static void neighs_failures(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *neigh = neighs_get(fix, 1);
	unsigned long begin = jiffies;

	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, -ENOENT);
	KUNIT_EXPECT_EQ(test, neigh->state, IPOIB_NEIGH_NONE);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_PATH_FAILURE], 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->nworks), 1);
	neighs_expect_pause(test, neigh, begin, ipoib_backoff_fast(0));
	begin = jiffies;
	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, -ETIMEDOUT);
	neighs_expect_pause(test, neigh, begin, ipoib_backoff_fast(1));
	/* A query that is not sent has no answer. */
	fix->get_err = -EIO;
	begin = jiffies;
	neighs_ask(fix, neigh);
	KUNIT_EXPECT_EQ(test, fix->nget, 3u);
	KUNIT_EXPECT_EQ(test, neigh->state, IPOIB_NEIGH_NONE);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_PATH_FAILURE], 3);
	KUNIT_EXPECT_EQ(test, fix->limit.held[IPOIB_INFLIGHT_PATH], 0u);
	KUNIT_EXPECT_EQ(test, refcount_read(&neigh->ref), 1u);
	KUNIT_EXPECT_EQ(test, refcount_read(&fix->priv.queries), 1u);
	neighs_expect_pause(test, neigh, begin, ipoib_backoff_fast(2));
	fix->get_err = 0;
	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, 0);
	KUNIT_EXPECT_EQ(test, neigh->failures, 0u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_PATH_FAILURE], 3);
	/* The old handle stays. */
	begin = jiffies;
	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, -EIO);
	neighs_expect_pause(test, neigh, begin, ipoib_backoff_fast(0));
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(neigh->ah), &fix->ah[0]);
	KUNIT_EXPECT_EQ(test, fix->nretired, 0u);
}

/* An answer without an address handle is a failure. */
static void neighs_handles(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *neigh = neighs_get(fix, 1);

	fix->ah_err = -ENOMEM;
	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, 0);
	KUNIT_EXPECT_EQ(test, neigh->state, IPOIB_NEIGH_NONE);
	fix->ah_err = 0;
	fix->attr_err = -EINVAL;
	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, 0);
	KUNIT_EXPECT_EQ(test, neigh->failures, 2u);
	KUNIT_EXPECT_EQ(test, fix->nah, 0u);
	fix->attr_err = 0;
	fix->ops.path_gid = neighs_path_gid;
	fix->gid_err = -EAGAIN;
	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, 0);
	KUNIT_EXPECT_EQ(test, neigh->failures, 3u);
	KUNIT_EXPECT_EQ(test, fix->nattr, 2u);
	KUNIT_EXPECT_EQ(test, fix->nput, 0u);
	fix->gid_err = 0;
	neighs_ask(fix, neigh);
	neighs_answer(fix, neigh, 0);
	KUNIT_EXPECT_EQ(test, neigh->state, IPOIB_NEIGH_VALID);
	KUNIT_EXPECT_PTR_EQ(test, fix->attr_gid, &fix->gid);
	KUNIT_EXPECT_EQ(test, fix->nput, 1u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_PATH_FAILURE], 3);
}

/* A query waits for an inflight slot, for a second at most. */
static void neighs_slots(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_get(fix, 1), *b = neighs_get(fix, 2);
	struct ipoib_neigh *c = neighs_get(fix, 3), *d = neighs_get(fix, 4);
	unsigned long begin = jiffies;

	neighs_ask(fix, a);
	neighs_ask(fix, b);
	neighs_ask(fix, c);
	KUNIT_EXPECT_EQ(test, fix->nget, 2u);
	KUNIT_EXPECT_EQ(test, c->state, IPOIB_NEIGH_WAITING);
	KUNIT_EXPECT_TRUE(test, ipoib_neigh_is_asked(c));
	KUNIT_EXPECT_FALSE(test, c->stale);
	KUNIT_EXPECT_EQ(test, refcount_read(&c->ref), 2u);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&c->work));
	KUNIT_EXPECT_TRUE(test, time_in_range(c->work.timer.expires, begin + HZ, jiffies + HZ));
	/* Another try does not queue the work twice. */
	neighs_try(fix, c);
	KUNIT_EXPECT_EQ(test, refcount_read(&c->ref), 2u);
	neighs_answer(fix, a, -ENOENT);
	/* The works of both */
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->nworks), 2);
	KUNIT_EXPECT_EQ(test, c->state, IPOIB_NEIGH_WAITING);
	neighs_try(fix, c);
	KUNIT_EXPECT_EQ(test, c->state, IPOIB_NEIGH_RESOLVING);
	KUNIT_EXPECT_EQ(test, fix->nget, 3u);

	neighs_ask(fix, d);
	d->asked_at = jiffies - HZ / 2;
	neighs_try(fix, d);
	KUNIT_EXPECT_EQ(test, d->state, IPOIB_NEIGH_WAITING);
	d->asked_at = jiffies - HZ;
	begin = jiffies;
	neighs_try(fix, d);
	KUNIT_EXPECT_EQ(test, d->state, IPOIB_NEIGH_NONE);
	neighs_expect_pause(test, d, begin, ipoib_backoff_fast(0));
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->limit.queue[IPOIB_INFLIGHT_PATH]));
	neighs_answer(fix, b, 0);
	neighs_answer(fix, c, 0);
}

/* A path with a smaller MTU than the link, or an unknown rate */
static void neighs_odd(struct kunit *test)
{
	static const struct {
		unsigned int mcast, port;
		u8 mtu, rate;
		bool odd;
	} cases[] = {
		{ 2044, 4092, IB_MTU_2048, 0, false },
		{ 4092, 2044, IB_MTU_2048, IB_RATE_10_GBPS, false },
		{ 2044, 4092, IB_MTU_1024, 0, true },
		{ 4092, 2044, IB_MTU_1024, 0, true },
		{ 2044, 2044, IB_MTU_4096, 0, false },
		{ 2044, 2044, IB_MTU_2048, 63, true },
	};
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *neigh = neighs_get(fix, 1);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fix->priv.mcast_mtu = cases[i].mcast;
		fix->priv.port_mtu = cases[i].port;
		fix->rec.mtu = cases[i].mtu;
		fix->rec.rate = cases[i].rate;
		/* Such a path is known, so no case logs a message. */
		neigh->odd = true;
		ipoib_neigh_check(neigh, &fix->rec);
		KUNIT_EXPECT_EQ(test, neigh->odd, cases[i].odd);
	}
}

/* ---- stale records ---- */

/* True if the record became stale; it is valid, and not stale, afterwards. */
static bool neighs_was_stale(struct ipoib_neigh *neigh)
{
	bool due = ipoib_neigh_is_due(neigh) && !neigh->failures;

	neigh->stale = false;
	neigh->failures = 2;
	neigh->retry_at = jiffies + 60 * HZ;
	return due;
}

static void neighs_stale(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_valid(fix, 1), *b = neighs_valid(fix, 2);
	struct ipoib_neigh *c = neighs_get(fix, 3);
	union ib_gid other = {};

	neighs_was_stale(a);
	neighs_was_stale(b);
	ipoib_neigh_all_stale(&fix->priv);
	KUNIT_EXPECT_TRUE(test, neighs_was_stale(a));
	KUNIT_EXPECT_TRUE(test, neighs_was_stale(b));
	/* A record younger than the age stays. */
	a->asked_at = jiffies - 3 * HZ;
	ipoib_neigh_suspect(&fix->priv, a->gid.raw, 5 * HZ);
	KUNIT_EXPECT_FALSE(test, neighs_was_stale(a));
	ipoib_neigh_suspect(&fix->priv, a->gid.raw, 2 * HZ);
	KUNIT_EXPECT_TRUE(test, neighs_was_stale(a));
	KUNIT_EXPECT_FALSE(test, neighs_was_stale(b));
	ipoib_neigh_suspect(&fix->priv, other.raw, 0);
	/* Without a record the pause lasts. */
	neighs_was_stale(c);
	c->asked_at = jiffies - 3 * HZ;
	ipoib_neigh_suspect(&fix->priv, c->gid.raw, 0);
	KUNIT_EXPECT_FALSE(test, neighs_was_stale(c));
}

static void neighs_mac(struct kunit *test)
{
	static const u8 mac[] = { 2, 0, 0, 0, 0, 1 }, moved[] = { 2, 0, 0, 0, 0, 2 };
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_valid(fix, 1), *b = neighs_get(fix, 2);
	union ib_gid other = {};

	memcpy(a->rec.roce.dmac, mac, sizeof(mac));
	neighs_was_stale(a);
	neighs_was_stale(b);
	ipoib_neigh_mac_moved(&fix->priv, &a->gid, mac);
	KUNIT_EXPECT_FALSE(test, neighs_was_stale(a));
	ipoib_neigh_mac_moved(&fix->priv, &a->gid, moved);
	KUNIT_EXPECT_TRUE(test, neighs_was_stale(a));
	ipoib_neigh_mac_moved(&fix->priv, &a->gid, NULL);
	KUNIT_EXPECT_TRUE(test, neighs_was_stale(a));
	ipoib_neigh_mac_moved(&fix->priv, &other, mac);
	/* Without a record, and with a query under way, for a MAC address only */
	ipoib_neigh_mac_moved(&fix->priv, &b->gid, NULL);
	KUNIT_EXPECT_FALSE(test, neighs_was_stale(b));
	ipoib_neigh_mac_moved(&fix->priv, &b->gid, mac);
	KUNIT_EXPECT_TRUE(test, neighs_was_stale(b));
	neighs_ask(fix, a);
	neighs_was_stale(a);
	ipoib_neigh_mac_moved(&fix->priv, &a->gid, NULL);
	KUNIT_EXPECT_FALSE(test, neighs_was_stale(a));
	ipoib_neigh_mac_moved(&fix->priv, &a->gid, mac);
	KUNIT_EXPECT_TRUE(test, neighs_was_stale(a));
	neighs_answer(fix, a, -EINTR);
}

static void neighs_records(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *a = neighs_valid(fix, 1), *b = neighs_get(fix, 2);
	struct sa_path_rec rec = {};
	union ib_gid other = {};

	KUNIT_EXPECT_EQ(test, ipoib_neigh_record(&fix->priv, a->gid.raw, &rec), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&rec, &fix->rec, sizeof(rec)), 0);
	KUNIT_EXPECT_EQ(test, ipoib_neigh_record(&fix->priv, b->gid.raw, &rec), -ENOENT);
	KUNIT_EXPECT_EQ(test, ipoib_neigh_record(&fix->priv, other.raw, &rec), -ENOENT);
	a->stale = true;
	KUNIT_EXPECT_EQ(test, ipoib_neigh_record(&fix->priv, a->gid.raw, &rec), -ESTALE);
	neighs_ask(fix, a);
	KUNIT_EXPECT_FALSE(test, a->stale);
	memset(&rec, 0, sizeof(rec));
	KUNIT_EXPECT_EQ(test, ipoib_neigh_record(&fix->priv, a->gid.raw, &rec), -ESTALE);
	KUNIT_EXPECT_EQ(test, memcmp(&rec, &fix->rec, sizeof(rec)), 0);
	neighs_answer(fix, a, 0);
	KUNIT_EXPECT_EQ(test, ipoib_neigh_record(&fix->priv, a->gid.raw, &rec), 0);
}

/* ---- waiting frames ---- */

static void neighs_waiting(struct kunit *test)
{
	struct sk_buff_head queue, frames;
	struct neighs_fixture *fix = test->priv;
	atomic_t *paths = &fix->priv.neigh.queued[IPOIB_WAIT_PATH];
	atomic_t *rings = &fix->priv.neigh.queued[IPOIB_WAIT_RING];
	unsigned int i;

	__skb_queue_head_init(&queue);
	__skb_queue_head_init(&frames);
	for (i = 0; i < 3; i++)
		ipoib_neigh_park(&fix->priv, IPOIB_WAIT_PATH, &queue, 2, neighs_skb(test, i));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&queue), 2u);
	KUNIT_EXPECT_EQ(test, atomic_read(paths), 2);
	KUNIT_EXPECT_EQ(test, fix->dropped[IPOIB_TX_QUEUE_FULL], 1u);
	__skb_queue_tail(&frames, neighs_skb(test, 7));
	ipoib_neigh_unpark(&fix->priv, IPOIB_WAIT_PATH, &queue, &frames);
	KUNIT_EXPECT_EQ(test, atomic_read(paths), 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&queue), 0u);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&frames), 3u);
	KUNIT_EXPECT_EQ(test, skb_get_queue_mapping(skb_peek(&frames)), 7);
	KUNIT_EXPECT_EQ(test, skb_get_queue_mapping(skb_peek_tail(&frames)), 1);
	ipoib_drop_list(&fix->priv, &frames, IPOIB_TX_FLUSHED);

	/* An eighth of the remaining room: one frame. Each kind has a room of its own. */
	atomic_set(paths, 4096);
	atomic_set(rings, 4096 - 8);
	for (i = 0; i < 2; i++)
		ipoib_neigh_park(&fix->priv, IPOIB_WAIT_RING, &queue, 9, neighs_skb(test, i));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&queue), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(rings), 4096 - 7);
	KUNIT_EXPECT_EQ(test, fix->dropped[IPOIB_TX_CM_FULL], 1u);
	ipoib_neigh_unpark(&fix->priv, IPOIB_WAIT_RING, &queue, &frames);
	KUNIT_EXPECT_EQ(test, atomic_read(rings), 4096 - 8);
	ipoib_drop_list(&fix->priv, &frames, IPOIB_TX_FLUSHED);
	atomic_set(paths, 0);
	atomic_set(rings, 0);
}

/* Frames of a transmit queue; those of queues that are off belong to the first. */
static void neighs_queues(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct sk_buff_head queue, frames;
	struct sk_buff *skb = neighs_skb(test, 1);
	unsigned int i;

	__skb_queue_head_init(&queue);
	__skb_queue_head_init(&frames);
	for (i = 0; i < 4; i++)
		ipoib_neigh_park(&fix->priv, IPOIB_WAIT_PATH, &queue, 9, neighs_skb(test, i % 3));
	ipoib_neigh_unpark_txq(&fix->priv, &queue, 0, 2, &frames);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&frames), 3u);
	KUNIT_EXPECT_EQ(test, skb_get_queue_mapping(skb_peek(&frames)), 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&queue), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.queued[IPOIB_WAIT_PATH]), 1);
	ipoib_drop_list(&fix->priv, &frames, IPOIB_TX_FLUSHED);
	fix->priv.ntxq = 2;
	KUNIT_EXPECT_TRUE(test, ipoib_neigh_waits(&fix->priv, &queue, skb));
	skb_set_queue_mapping(skb, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_neigh_waits(&fix->priv, &queue, skb));
	ipoib_neigh_unpark_txq(&fix->priv, &queue, 1, 2, &frames);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&frames), 1u);
	skb_set_queue_mapping(skb, 1);
	KUNIT_EXPECT_FALSE(test, ipoib_neigh_waits(&fix->priv, &queue, skb));
	ipoib_drop_list(&fix->priv, &frames, IPOIB_TX_FLUSHED);
	kfree_skb(skb);
}

/* The frames of a closed connection go to the work of the neighbour. */
static void neighs_resent(struct kunit *test)
{
	struct neighs_fixture *fix = test->priv;
	struct ipoib_neigh *neigh = neighs_valid(fix, 1);
	struct sk_buff_head frames;
	union ib_gid other = {};
	unsigned int i;

	__skb_queue_head_init(&frames);
	local_bh_disable();
	ipoib_neigh_resend(&fix->priv, neigh->gid.raw, &frames);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, refcount_read(&neigh->ref), 1u);
	for (i = 0; i < 3; i++)
		__skb_queue_tail(&frames, neighs_skb(test, i));
	atomic_set(&fix->priv.neigh.queued[IPOIB_WAIT_PATH], 4096 - 2);
	local_bh_disable();
	ipoib_neigh_resend(&fix->priv, neigh->gid.raw, &frames);
	local_bh_enable();
	flush_workqueue(fix->priv.neigh.wq);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&neigh->queue), 2u);
	KUNIT_EXPECT_EQ(test, skb_get_queue_mapping(skb_peek(&neigh->queue)), 0);
	KUNIT_EXPECT_EQ(test, fix->dropped[IPOIB_TX_QUEUE_FULL], 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->nworks), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->priv.neigh.queued[IPOIB_WAIT_PATH]),
			4096);
	atomic_set(&fix->priv.neigh.queued[IPOIB_WAIT_PATH], 2);
	__skb_queue_tail(&frames, neighs_skb(test, 0));
	local_bh_disable();
	ipoib_neigh_resend(&fix->priv, other.raw, &frames);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, fix->dropped[IPOIB_TX_NO_PATH], 1u);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&frames));
}

static struct kunit_case ipoib_neigh_cases[] = {
	KUNIT_CASE(neighs_known),
	KUNIT_CASE(neighs_full_idle),
	KUNIT_CASE(neighs_full_unknown),
	KUNIT_CASE(neighs_age),
	KUNIT_CASE(neighs_stop),
	KUNIT_CASE(neighs_query),
	KUNIT_CASE(neighs_failures),
	KUNIT_CASE(neighs_handles),
	KUNIT_CASE(neighs_slots),
	KUNIT_CASE(neighs_odd),
	KUNIT_CASE(neighs_stale),
	KUNIT_CASE(neighs_mac),
	KUNIT_CASE(neighs_records),
	KUNIT_CASE(neighs_waiting),
	KUNIT_CASE(neighs_queues),
	KUNIT_CASE(neighs_resent),
	{}
};

struct kunit_suite ipoib_neigh_suite = {
	.name = "ipoib_neigh",
	.init = neighs_init,
	.exit = neighs_exit,
	.test_cases = ipoib_neigh_cases,
};
