// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the queues of connections: number and pieces of receives, turns of send CQs
 */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* ipoib_admit_test.c defines limits of its own. */
#define ipoib_cm_limit		queue_cm_limit
#define ipoib_cm_rx_full	queue_cm_rx_full

#include <rdma/ib_verbs.h>

#define ib_create_srq		queue_create_srq

static struct ib_srq *queue_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr);

#include "cm/rx.c"
#include "cm/tx.c"

#define QUEUE_CQS	100
/* Polls after which no CQ reports a missed completion: a handler without a bound ends, too. */
#define QUEUE_POLLS	1000

/**
 * struct queue_fixture - fixture of a case
 * @cm: connected mode of @priv, for RC
 * @priv: an interface
 * @choice: offers RC
 * @conn: a connection
 * @pd: protection domain
 * @srq: an SRQ
 * @ca: an HCA whose CQs are empty, and report missed completions
 * @cq: send CQs
 * @polls: number of polls of each of @cq
 * @total: sum of @polls
 * @srq_sizes: sizes of an SRQ that the HCA was asked for, and has refused
 * @nsrq_sizes: number of them
 */
struct queue_fixture {
	struct ipoib_cm cm;
	struct ipoib_dev priv;
	struct ipoib_cm_choice choice;
	struct ipoib_conn conn;
	struct ib_pd pd;
	struct ib_srq srq;
	struct ib_device ca;
	struct ib_cq cq[QUEUE_CQS];
	unsigned int polls[QUEUE_CQS];
	unsigned int total;
	unsigned int srq_sizes[16];
	unsigned int nsrq_sizes;
};

/* ---- functions of the driver that no case reaches ---- */

int ipoib_recvq_size = 256;

void ipoib_conn_release(struct kref *ref)
{
}

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
}

void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets, s64 npackets, s64 nbytes)
{
}

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
}

void ipoib_neigh_park(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
		      unsigned int most, struct sk_buff *skb)
{
}

void ipoib_neigh_unpark(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
			struct sk_buff_head *frames)
{
}

void ipoib_neigh_resend(struct ipoib_dev *priv, const u8 *gid, struct sk_buff_head *frames)
{
}

void ipoib_moder_init(struct ipoib_moder *moder, struct ib_cq *cq, struct napi_struct *napi,
		      const struct ipoib_moderation *setting, unsigned int most)
{
}

void ipoib_moder_exit(struct ipoib_moder *moder)
{
}

int ipoib_moder_update(struct ipoib_moder *moder)
{
	return 0;
}

void ipoib_moder_complete(struct ipoib_moder *moder, int done)
{
}

bool ipoib_rx_police(struct ipoib_dev *priv, struct sk_buff *skb, u32 node)
{
	return true;
}

void ipoib_rx_deliver(struct ipoib_dev *priv, struct napi_struct *napi, struct sk_buff *skb)
{
}

struct page_pool *ipoib_pool_create(struct ib_device *ca, struct net_device *dev,
				    struct napi_struct *napi, unsigned int flags,
				    unsigned int order, unsigned int size)
{
	return ERR_PTR(-ENOMEM);
}

/* ---- the HCA ---- */

static struct ib_srq *queue_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr)
{
	struct queue_fixture *fix = container_of(pd, struct queue_fixture, pd);

	if (fix->nsrq_sizes < ARRAY_SIZE(fix->srq_sizes))
		fix->srq_sizes[fix->nsrq_sizes++] = attr->attr.max_wr;
	return ERR_PTR(-ENOMEM);
}

static int queue_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	struct queue_fixture *fix = cq->cq_context;

	fix->polls[cq - fix->cq]++;
	fix->total++;
	return 0;
}

static int queue_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	struct queue_fixture *fix = cq->cq_context;

	return fix->total < QUEUE_POLLS;
}

static int queue_init(struct kunit *test)
{
	struct queue_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	fix->choice.offers = IPOIB_LLADDR_RC;
	fix->cm.choice = &fix->choice;
	fix->cm.priv = &fix->priv;
	mutex_init(&fix->cm.mutex);
	spin_lock_init(&fix->cm.rx.lock);
	fix->conn.cm = &fix->cm;
	spin_lock_init(&fix->conn.tx_lock);
	__skb_queue_head_init(&fix->conn.backlog);
	fix->priv.cm = &fix->cm;
	fix->priv.ca = &fix->ca;
	fix->priv.pd = &fix->pd;
	fix->ca.ops.poll_cq = queue_poll_cq;
	fix->ca.ops.req_notify_cq = queue_notify_cq;
	for (i = 0; i < QUEUE_CQS; i++) {
		fix->cq[i].device = &fix->ca;
		fix->cq[i].cq_context = fix;
		fix->cm.tx_cq[i].cq = &fix->cq[i];
	}
	/* napi_complete_done() does nothing to such a handler. */
	set_bit(NAPI_STATE_NPSVC, &fix->cm.tx_napi.state);
	test->priv = fix;
	return 0;
}

static void queue_exit(struct kunit *test)
{
	kvfree(test->priv);
}

/* ---- receives ---- */

static void queue_posted(struct kunit *test)
{
	struct ipoib_cm_bufs bufs = { .size = 64, .nfree = 10 };

	KUNIT_EXPECT_EQ(test, ipoib_cm_bufs_posted(&bufs), 54u);
	bufs.lost = 4;
	KUNIT_EXPECT_EQ(test, ipoib_cm_bufs_posted(&bufs), 50u);
	bufs.nfree = 62;
	KUNIT_EXPECT_EQ(test, ipoib_cm_bufs_posted(&bufs), 0u);
}

static unsigned int queue_missing_of(struct queue_fixture *fix, bool srq, unsigned int nfree,
				     unsigned int lost)
{
	struct ipoib_cm_bufs bufs = {
		.size = 64,
		.nfree = nfree,
		.lost = lost,
		.srq = srq ? &fix->srq : NULL,
	};

	return ipoib_cm_bufs_missing(&fix->cm, &bufs);
}

static void queue_missing(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;

	fix->cm.nconns = 3;
	fix->cm.rx.margin = 8;
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, true, 64, 0), 11u);
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, true, 60, 0), 7u);
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, true, 53, 0), 0u);
	/* 2 of the 4 that are not free are lost. */
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, true, 60, 2), 9u);
	/* No more than are free */
	fix->cm.nconns = 100;
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, true, 60, 2), 60u);
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, true, 0, 64), 0u);
	/* All of them without SRQ, and with UC */
	fix->cm.nconns = 3;
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, false, 60, 0), 60u);
	fix->choice.offers = IPOIB_LLADDR_RC | IPOIB_LLADDR_UC;
	KUNIT_EXPECT_EQ(test, queue_missing_of(fix, true, 60, 2), 60u);
}

static void queue_pieces(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;
	struct ipoib_cm_slot slot;
	unsigned int i, order, sum;

	for (fix->cm.rx.npages = 1; fix->cm.rx.npages <= IPOIB_CM_PAGES; fix->cm.rx.npages++) {
		for (order = 0; order <= 2; order++) {
			ipoib_cm_slot_divide(&fix->cm, &slot, order);
			KUNIT_EXPECT_EQ(test, slot.npieces,
					1 + DIV_ROUND_UP(fix->cm.rx.npages - 1, 1 << order));
			for (sum = 0, i = 0; i < slot.npieces; i++)
				sum += slot.sge[i].length;
			KUNIT_EXPECT_EQ(test, sum, fix->cm.rx.npages * PAGE_SIZE);
			KUNIT_EXPECT_EQ(test, slot.sge[0].length, PAGE_SIZE);
			/* Each piece but the last is full. */
			for (i = 1; i + 1 < slot.npieces; i++)
				KUNIT_EXPECT_EQ(test, slot.sge[i].length, PAGE_SIZE << order);
		}
	}
}

/* The smallest SRQ is tried, too, and no other after it. */
static void queue_srq(struct kunit *test)
{
	static const unsigned int sizes[] = { 256, 128, 64, 32 };
	struct queue_fixture *fix = test->priv;
	unsigned int i;

	fix->cm.srq_size = sizes[0];
	ipoib_cm_srq_create(&fix->cm);
	KUNIT_EXPECT_EQ(test, fix->nsrq_sizes, (unsigned int)ARRAY_SIZE(sizes));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_EQ(test, fix->srq_sizes[i], sizes[i]);
	KUNIT_EXPECT_EQ(test, fix->cm.srq_size, 0u);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.bufs.srq, NULL);
}

/* Size of the SRQ of an HCA with such limits */
static unsigned int queue_srq_of(struct queue_fixture *fix, int max_srq, int max_wr, int max_sge,
				 int max_cqe)
{
	fix->ca.attrs.max_srq = max_srq;
	fix->ca.attrs.max_srq_wr = max_wr;
	fix->ca.attrs.max_srq_sge = max_sge;
	fix->ca.attrs.max_cqe = max_cqe;
	return ipoib_cm_srq_size(&fix->priv);
}

static void queue_srq_size(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;

	fix->ca.ops.driver_id = RDMA_DRIVER_MLX5;
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 1000, 17, 1000), 256u);
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 1000, 2, 1000), 256u);
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 100, 17, 1000), 100u);
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 1, 17, 1000), 1u);
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 1000, 17, 50), 50u);
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 0, 1000, 17, 1000), 0u);
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 0, 17, 1000), 0u);
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 1000, 1, 1000), 0u);
	fix->ca.ops.driver_id = RDMA_DRIVER_RXE;
	KUNIT_EXPECT_EQ(test, queue_srq_of(fix, 1, 1000, 17, 1000), 0u);
	/* Without an SRQ shares are those of one. */
	KUNIT_EXPECT_EQ(test, ipoib_cm_rx_full(&fix->cm), 256u);
	fix->cm.srq_size = 32;
	KUNIT_EXPECT_EQ(test, ipoib_cm_rx_full(&fix->cm), 32u);
}

static int queue_get(struct queue_fixture *fix)
{
	int err;

	mutex_lock(&fix->cm.mutex);
	err = ipoib_cm_rx_get(&fix->cm);
	mutex_unlock(&fix->cm.mutex);
	return err;
}

static void queue_failed(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;

	fix->cm.rxq[0].cq = &fix->cq[0];
	KUNIT_EXPECT_EQ(test, queue_get(fix), 0);
	fix->cm.srq_failed = true;
	KUNIT_EXPECT_EQ(test, queue_get(fix), -EAGAIN);
}

static void queue_returned(struct kunit *test)
{
	struct ipoib_cm_bufs bufs = { .size = 16, .nfree = 16 };
	struct queue_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn;

	/* Nothing from the SRQ before the QP runs */
	KUNIT_EXPECT_TRUE(test, ipoib_cm_rx_returned(conn));
	conn->flags = BIT(IPOIB_CONN_IS_RUN);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_rx_returned(conn));
	conn->flags |= BIT(IPOIB_CONN_EV_LAST_WQE);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_rx_returned(conn));
	/* Own receives, whatever the HCA has reported */
	conn->bufs = &bufs;
	bufs.nfree = 15;
	KUNIT_EXPECT_FALSE(test, ipoib_cm_rx_returned(conn));
	conn->flags = BIT(IPOIB_CONN_IS_RUN);
	bufs.nfree = 16;
	KUNIT_EXPECT_TRUE(test, ipoib_cm_rx_returned(conn));
}

/* Margin after a burst of a number of completions */
static unsigned int queue_widened(struct queue_fixture *fix, unsigned int since)
{
	local_bh_disable();
	ipoib_cm_rx_widen(&fix->cm.rx, since);
	local_bh_enable();
	return fix->cm.rx.margin;
}

static void queue_margin(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;

	fix->cm.rx.margin = 8;
	fix->cm.rx.bufs.size = 50;
	KUNIT_EXPECT_EQ(test, queue_widened(fix, 3), 8u);
	KUNIT_EXPECT_EQ(test, queue_widened(fix, 4), 16u);
	KUNIT_EXPECT_EQ(test, queue_widened(fix, 7), 16u);
	KUNIT_EXPECT_EQ(test, queue_widened(fix, 100), 32u);
	KUNIT_EXPECT_EQ(test, queue_widened(fix, 16), 50u);
	KUNIT_EXPECT_EQ(test, queue_widened(fix, 100), 50u);
}

/* ---- sends ---- */

/* True if a connection takes an IP packet of a length */
static bool queue_sent(struct kunit *test, struct ipoib_conn *conn, unsigned int len)
{
	struct sk_buff *skb = alloc_skb(IPOIB_HARD_LEN + len, GFP_KERNEL);
	bool taken;

	KUNIT_EXPECT_TRUE(test, skb);
	if (!skb)
		return true;
	skb_put_zero(skb, IPOIB_HARD_LEN + len);
	local_bh_disable();
	taken = ipoib_conn_xmit(conn, skb);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, skb->len, (unsigned int)(IPOIB_HARD_LEN + len));
	kfree_skb(skb);
	return taken;
}

/* A closed connection takes no frame, and leaves it as it was. */
static void queue_used(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn;
	unsigned long before = jiffies - 2 * HZ;

	conn->state = IPOIB_CONN_CLOSING;
	conn->mtu = 2044;
	conn->used = before;
	KUNIT_EXPECT_FALSE(test, queue_sent(test, conn, 2045));
	KUNIT_EXPECT_EQ(test, conn->used, before);
	KUNIT_EXPECT_FALSE(test, queue_sent(test, conn, 2044));
	KUNIT_EXPECT_TRUE(test, time_after(conn->used, before + HZ));
}

/* One call of the handler of sends. Return: what it returns */
static int queue_call(struct queue_fixture *fix)
{
	int done;

	local_bh_disable();
	done = ipoib_cm_tx_poll(&fix->cm.tx_napi, NAPI_POLL_WEIGHT);
	local_bh_enable();
	return done;
}

static void queue_bound(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, queue_call(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->total, 0u);
	bitmap_set(fix->cm.tx_ready, 0, QUEUE_CQS);
	KUNIT_EXPECT_EQ(test, queue_call(fix), NAPI_POLL_WEIGHT);
	KUNIT_EXPECT_EQ(test, fix->total, (unsigned int)NAPI_POLL_WEIGHT);
	fix->total = QUEUE_POLLS;
	KUNIT_EXPECT_EQ(test, queue_call(fix), NAPI_POLL_WEIGHT);
	KUNIT_EXPECT_EQ(test, queue_call(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->total, (unsigned int)(QUEUE_POLLS + QUEUE_CQS));
}

static void queue_turns(struct kunit *test)
{
	struct queue_fixture *fix = test->priv;
	unsigned int i;

	bitmap_set(fix->cm.tx_ready, 0, QUEUE_CQS);
	queue_call(fix);
	queue_call(fix);
	/* The second call goes on behind the first, and begins a second round. */
	for (i = 0; i < QUEUE_CQS; i++)
		KUNIT_EXPECT_EQ(test, fix->polls[i],
				i < 2 * NAPI_POLL_WEIGHT - QUEUE_CQS ? 2u : 1u);
}

static struct kunit_case ipoib_queue_cases[] = {
	KUNIT_CASE(queue_posted),
	KUNIT_CASE(queue_missing),
	KUNIT_CASE(queue_pieces),
	KUNIT_CASE(queue_srq),
	KUNIT_CASE(queue_srq_size),
	KUNIT_CASE(queue_failed),
	KUNIT_CASE(queue_returned),
	KUNIT_CASE(queue_margin),
	KUNIT_CASE(queue_used),
	KUNIT_CASE(queue_bound),
	KUNIT_CASE(queue_turns),
	{}
};

struct kunit_suite ipoib_queue_suite = {
	.name = "ipoib_queue",
	.init = queue_init,
	.exit = queue_exit,
	.test_cases = ipoib_queue_cases,
};
