// SPDX-License-Identifier: GPL-2.0
/* Tests of the receive side of datagram mode: posted receives, failed receives, pools */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* ipoib_queue_test.c defines functions of these names. */
#define ipoib_stat_add		rx_stat_add
#define ipoib_rx_police		rx_rx_police
#define ipoib_rx_deliver	rx_rx_deliver
#define ipoib_pool_create	rx_pool_create

#include "ipoib.h"

/* No tracepoints, control work, NAPI and CQs */
#define IPOIB_TRACE_H
#define trace_ipoib_police(dev, gid, what, node)	((void)(gid))
#define ipoib_ctl_post(priv, event)			((void)(event))
#define netif_napi_add(dev, napi, poll)			rx_napi_add(napi)
#define netif_napi_del(napi)				((void)(napi))
#define napi_enable(napi)				((void)(napi))
#undef ib_create_cq
#define ib_create_cq					rx_create_cq
#define ib_destroy_cq(cq)				((void)(cq))

static void rx_napi_add(struct napi_struct *napi);
static struct ib_cq *rx_create_cq(struct ib_device *ca, ib_comp_handler handler,
				  void (*event)(struct ib_event *event, void *context),
				  void *context, const struct ib_cq_init_attr *attr);

#include "ipoib_ud_rx.c"

/* Receives in use, half of those that the queue has room for */
#define RX_SIZE		32

/**
 * struct rx_fixture - fixture of a case
 * @priv: an interface with a receive queue
 * @ca: an HCA without DMA, which completes each receive at once
 * @pd: protection domain
 * @qp: UD QP, which keeps the receives in @queue
 * @txq: has @qp
 * @cq: CQ of the receives
 * @sge: the lists of each receive, by its number, from its last post
 * @times: how many times each receive was posted
 * @queue: numbers of posted receives
 * @nposted: receives posted so far
 * @ntaken: receives completed so far
 * @status: status of all completions, which have no octets
 * @stats: what was counted
 */
struct rx_fixture {
	struct ipoib_dev priv;
	struct ib_device ca;
	struct ib_pd pd;
	struct ib_qp qp;
	struct ipoib_txq txq;
	struct ib_cq cq;
	struct ib_sge sge[RX_SIZE][2];
	unsigned int times[RX_SIZE];
	u64 queue[RX_SIZE];
	unsigned int nposted;
	unsigned int ntaken;
	enum ib_wc_status status;
	s64 stats[IPOIB_NR_STATS];
};

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	container_of(priv, struct rx_fixture, priv)->stats[stat] += n;
}

/* As after netif_napi_add(): the handler does not run. */
static void rx_napi_add(struct napi_struct *napi)
{
	set_bit(NAPI_STATE_SCHED, &napi->state);
#ifdef IPOIB_HAS_POOL_NAPI
	napi->list_owner = -1;
#endif
}

static struct ib_cq *rx_create_cq(struct ib_device *ca, ib_comp_handler handler,
				  void (*event)(struct ib_event *event, void *context),
				  void *context, const struct ib_cq_init_attr *attr)
{
	return &container_of(ca, struct rx_fixture, ca)->cq;
}

static int rx_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct rx_fixture *fix = container_of(qp, struct rx_fixture, qp);

	for (; wr; wr = wr->next) {
		*bad = wr;
		if (wr->wr_id >= RX_SIZE || wr->num_sge != 2 ||
		    fix->nposted - fix->ntaken == RX_SIZE)
			return -EINVAL;
		memcpy(fix->sge[wr->wr_id], wr->sg_list, sizeof(fix->sge[0]));
		fix->times[wr->wr_id]++;
		fix->queue[fix->nposted++ % RX_SIZE] = wr->wr_id;
	}
	return 0;
}

static int rx_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	struct rx_fixture *fix = container_of(cq, struct rx_fixture, cq);
	int i;

	for (i = 0; i < n && fix->ntaken != fix->nposted; i++) {
		memset(&wc[i], 0, sizeof(wc[i]));
		wc[i].wr_id = fix->queue[fix->ntaken++ % RX_SIZE];
		wc[i].status = fix->status;
	}
	return i;
}

static int rx_init(struct kunit *test)
{
	struct rx_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	int err;

	if (!fix)
		return -ENOMEM;
	fix->ca.ops.post_recv = rx_post_recv;
	fix->ca.ops.poll_cq = rx_poll_cq;
	fix->pd.local_dma_lkey = 0x1234;
	fix->qp.device = &fix->ca;
	fix->cq.device = &fix->ca;
	fix->txq.qp = &fix->qp;
	fix->priv.ca = &fix->ca;
	fix->priv.pd = &fix->pd;
	fix->priv.txq = &fix->txq;
	fix->priv.port_mtu = 2044;
	fix->priv.recvq_size = 2 * RX_SIZE;
	err = ipoib_ud_rx_init(&fix->priv);
	if (!err) {
		fix->priv.rxq->size = RX_SIZE;
		err = ipoib_ud_rx_start(fix->priv.rxq);
	}
	if (err) {
		if (fix->priv.rxq)
			ipoib_ud_rx_exit(fix->priv.rxq);
		kvfree(fix);
		return err;
	}
	test->priv = fix;
	return 0;
}

static void rx_exit(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;

	ipoib_ud_rx_stop(fix->priv.rxq);
	ipoib_ud_rx_exit(fix->priv.rxq);
	kvfree(fix);
}

/* One call of the handler. Return: what it returns */
static int rx_call(struct rx_fixture *fix, int budget)
{
	int done;

	local_bh_disable();
	done = ipoib_ud_rx_poll(&fix->priv.rxq->napi, budget);
	local_bh_enable();
	return done;
}

static bool rx_apart(const struct ib_sge *a, const struct ib_sge *b)
{
	return a->addr + a->length <= b->addr || b->addr + b->length <= a->addr;
}

/* Each receive is posted once, with buffers that no other receive has. */
static void rx_posted(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;
	unsigned int i, k;

	KUNIT_EXPECT_EQ(test, fix->nposted, (unsigned int)RX_SIZE);
	KUNIT_EXPECT_EQ(test, fix->priv.rxq->nfree, 0u);
	for (i = 0; i < RX_SIZE; i++) {
		KUNIT_EXPECT_EQ(test, fix->times[i], 1u);
		KUNIT_EXPECT_EQ(test, fix->sge[i][0].length, 44u);
		KUNIT_EXPECT_EQ(test, fix->sge[i][1].length, 2048u);
		KUNIT_EXPECT_EQ(test, fix->sge[i][0].lkey, 0x1234u);
		KUNIT_EXPECT_EQ(test, fix->sge[i][1].lkey, 0x1234u);
		for (k = 0; k < i; k++) {
			KUNIT_EXPECT_TRUE(test, rx_apart(&fix->sge[i][0], &fix->sge[k][0]));
			KUNIT_EXPECT_TRUE(test, rx_apart(&fix->sge[i][1], &fix->sge[k][1]));
		}
	}
}

/* Frames that come as fast as they are handled: receives are posted during a poll, too. */
static void rx_refilled(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, rx_call(fix, 64), 64);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 64ll);
	KUNIT_EXPECT_EQ(test, fix->nposted, 64u + RX_SIZE);
	KUNIT_EXPECT_EQ(test, fix->priv.rxq->nfree, 0u);
}

/* A failed receive counts as one; a flushed receive does not count, and no other is posted. */
static void rx_failed(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;

	fix->status = IB_WC_LOC_LEN_ERR;
	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_ERROR], 1ll);
	KUNIT_EXPECT_TRUE(test, fix->priv.rxq->running);
	fix->status = IB_WC_WR_FLUSH_ERR;
	KUNIT_EXPECT_EQ(test, rx_call(fix, 64), RX_SIZE - 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_ERROR], 1ll);
	KUNIT_EXPECT_FALSE(test, fix->priv.rxq->running);
	KUNIT_EXPECT_EQ(test, fix->nposted, (unsigned int)RX_SIZE);
	KUNIT_EXPECT_EQ(test, fix->priv.rxq->nfree, (unsigned int)RX_SIZE);
}

/* A piece has all the pages of its order. */
static void rx_pool(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;
	struct page_pool *pool;
	unsigned int order;
	struct page *page;

	for (order = 0; order <= 2; order++) {
		pool = ipoib_pool_create(&fix->ca, NULL, NULL, 0, order, 4);
		KUNIT_EXPECT_FALSE(test, IS_ERR(pool));
		if (IS_ERR(pool))
			return;
		local_bh_disable();
		page = page_pool_dev_alloc_pages(pool);
		local_bh_enable();
		KUNIT_EXPECT_TRUE(test, page);
		if (page) {
			KUNIT_EXPECT_EQ(test, page_size(page), PAGE_SIZE << order);
			page_pool_put_full_page(pool, page, false);
		}
		page_pool_destroy(pool);
	}
}

static struct kunit_case ipoib_rx_cases[] = {
	KUNIT_CASE(rx_posted),
	KUNIT_CASE(rx_refilled),
	KUNIT_CASE(rx_failed),
	KUNIT_CASE(rx_pool),
	{}
};

struct kunit_suite ipoib_rx_suite = {
	.name = "ipoib_rx",
	.init = rx_init,
	.exit = rx_exit,
	.test_cases = ipoib_rx_cases,
};
