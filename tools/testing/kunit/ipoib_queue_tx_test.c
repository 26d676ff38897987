// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the send side of connected mode: work requests, signalled sends, backlog, completions,
 * handler, CQs
 */
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_stat_add		qtx_stat_add
#define ipoib_stat_traffic	qtx_stat_traffic
#define ipoib_drop		qtx_drop
#define ipoib_neigh_park	qtx_neigh_park
#define ipoib_neigh_unpark	qtx_neigh_unpark
#define ipoib_neigh_resend	qtx_neigh_resend
#define ipoib_conn_release	qtx_conn_release
#define ipoib_conn_xmit		qtx_conn_xmit
#define ipoib_conn_shut		qtx_conn_shut
#define ipoib_conn_send_last	qtx_conn_send_last
#define ipoib_cm_tx_flush	qtx_tx_flush
#define ipoib_cm_tx_poll	qtx_tx_poll
#define ipoib_cm_tx_conns	qtx_tx_conns
#define ipoib_cm_tx_get_cq	qtx_tx_get_cq
#define ipoib_cm_tx_release	qtx_tx_release

#include "ipoib.h"

struct qtx_fixture;

/* The fixture of the running case */
static struct qtx_fixture *qtx_fix;

static struct ib_cq *qtx_create_cq(ib_comp_handler comp,
				   void (*event)(struct ib_event *event, void *ctx), void *ctx,
				   const struct ib_cq_init_attr *attr);
static bool qtx_work(const struct delayed_work *work);
static bool qtx_napi_done(const struct napi_struct *napi, int done);

/* The HCA, NAPI, works, checksums */
#undef ib_create_cq
#undef napi_schedule
#undef WARN_ON_ONCE
#define ib_create_cq(ca, comp, event, ctx, attr)	qtx_create_cq(comp, event, ctx, attr)
#define ib_destroy_cq(cq)				(qtx_fix->destroyed++)
#define ipoib_ud_schedule(napi)		(qtx_fix->scheduled += (napi) == &qtx_fix->cm.tx_napi)
#define napi_schedule(napi)		(qtx_fix->again += (napi) == &qtx_fix->cm.tx_napi)
#define napi_complete_done(napi, done)			qtx_napi_done(napi, done)
#define mod_delayed_work(wq, work, delay)		qtx_work(work)
#define skb_tx_timestamp(skb)				((void)(skb), qtx_fix->stamps++)
#define skb_checksum_help(skb)		((void)(skb), qtx_fix->sums++, qtx_fix->sum_err)
#define skb_unclone(skb, gfp)				((void)(skb), qtx_fix->clone_err)
#define WARN_ON_ONCE(condition)				(qtx_fix->warns += !!(condition))

#include "cm/cm.h"

/* Slots of the ring; work requests and completions that the HCA keeps */
#define QTX_SLOTS	32
#define QTX_SENDS	64
/* Polls after which CQs are empty: a handler without a bound ends, too. */
#define QTX_POLLS	100

/* A posted send. */
struct qtx_send {
	u64 id;
	int nsge;
	u32 len;
	enum ib_wr_opcode opcode;
	bool signal;
};

/**
 * struct qtx_fixture - fixture of a case
 * @cm: connected mode of @priv
 * @priv: an interface
 * @conn: an established connection of RC that has proof of arrival, with a ring of QTX_SLOTS
 * @peer: its other end
 * @ca: an HCA without DMA
 * @pd: protection domain
 * @qp: QP of @conn
 * @cq: CQs, of which @ncqs exist; the first is that of @conn
 * @ncqs: number of CQs
 * @cq_err: result of the next CQ
 * @cq_attr: attributes of the last CQ
 * @comp: its completion handler
 * @event: its event handler
 * @ctx: their context
 * @destroyed: CQs destroyed
 * @sent: sends posted
 * @nsent: number of them
 * @post_err: result of the next posts
 * @map_err: result of ipoib_ring_fill(), if it is negative
 * @wc: completions to come
 * @nwc: number of them
 * @full: each poll finds completions, which are not for the ring
 * @poll_err: result of polls, if it is negative
 * @polls: number of polls
 * @early: polls of a CQ that counted as ready
 * @flags: flags of the last ib_req_notify_cq()
 * @armed: calls of it
 * @missed: result of it
 * @budget: budget of the last completion
 * @scheduled: times that the handler was scheduled
 * @again: times that the handler scheduled itself
 * @ended: times that the handler completed
 * @goes_on: the kernel polls on
 * @late: a CQ becomes ready while the handler completes
 * @kicks: times that the work of @conn was queued
 * @works: times that the work of the SRQ was queued
 * @releases: connections freed
 * @stamps: time stamps
 * @sums: checksums
 * @sum_err: result of a checksum
 * @clone_err: result of skb_unclone()
 * @most: limit of the backlog
 * @resent: frames given to the neighbour of @peer
 * @resent_len: octets of the last one
 * @drops: frames dropped
 * @warns: warnings
 * @stats: counters
 */
struct qtx_fixture {
	struct ipoib_cm cm;
	struct ipoib_dev priv;
	struct ipoib_conn conn;
	struct ipoib_peer peer;
	struct ib_device ca;
	struct ib_pd pd;
	struct ib_qp qp;
	struct ib_cq cq[4];
	unsigned int ncqs;
	int cq_err;
	struct ib_cq_init_attr cq_attr;
	ib_comp_handler comp;
	void (*event)(struct ib_event *event, void *ctx);
	void *ctx;
	unsigned int destroyed;
	struct qtx_send sent[QTX_SENDS];
	unsigned int nsent;
	int post_err;
	int map_err;
	struct ib_wc wc[QTX_SENDS];
	unsigned int nwc;
	unsigned int full;
	int poll_err;
	unsigned int polls;
	unsigned int early;
	enum ib_cq_notify_flags flags;
	unsigned int armed;
	int missed;
	int budget;
	unsigned int scheduled;
	unsigned int again;
	unsigned int ended;
	bool goes_on;
	bool late;
	unsigned int kicks;
	unsigned int works;
	unsigned int releases;
	unsigned int stamps;
	unsigned int sums;
	int sum_err;
	int clone_err;
	unsigned int most;
	unsigned int resent;
	unsigned int resent_len;
	unsigned int drops;
	unsigned int warns;
	s64 stats[IPOIB_NR_STATS];
};

/* ---- functions of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	qtx_fix->stats[stat] += n;
}

void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets, s64 npackets, s64 nbytes)
{
	qtx_fix->stats[packets] += npackets;
	qtx_fix->stats[packets + IPOIB_RX_BYTES - IPOIB_RX_PACKETS] += nbytes;
}

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	qtx_fix->stats[why]++;
	qtx_fix->drops++;
	kfree_skb(skb);
}

void ipoib_neigh_park(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
		      unsigned int most, struct sk_buff *skb)
{
	qtx_fix->most = most;
	atomic_inc(&priv->neigh.queued[kind]);
	__skb_queue_tail(queue, skb);
}

void ipoib_neigh_unpark(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
			struct sk_buff_head *frames)
{
	atomic_sub(skb_queue_len(queue), &priv->neigh.queued[kind]);
	skb_queue_splice_tail_init(queue, frames);
}

void ipoib_neigh_resend(struct ipoib_dev *priv, const u8 *gid, struct sk_buff_head *frames)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(frames))) {
		qtx_fix->resent += gid == qtx_fix->peer.addr.gid;
		qtx_fix->resent_len = skb->len;
		kfree_skb(skb);
	}
}

void ipoib_conn_release(struct kref *ref)
{
	qtx_fix->releases++;
}

/* ---- HCA, ring, NAPI, works ---- */

static struct ib_cq *qtx_create_cq(ib_comp_handler comp,
				   void (*event)(struct ib_event *event, void *ctx), void *ctx,
				   const struct ib_cq_init_attr *attr)
{
	if (qtx_fix->cq_err || qtx_fix->ncqs == ARRAY_SIZE(qtx_fix->cq))
		return ERR_PTR(qtx_fix->cq_err ?: -ENOSPC);
	qtx_fix->cq_attr = *attr;
	qtx_fix->comp = comp;
	qtx_fix->event = event;
	qtx_fix->ctx = ctx;
	return &qtx_fix->cq[qtx_fix->ncqs++];
}

static int qtx_fill(struct ipoib_ring *ring, struct sk_buff *skb, unsigned int head,
		    struct ib_sge *sge)
{
	return qtx_fix->map_err ?: ipoib_ring_fill(ring, skb, head, sge);
}

/* Completions that are not for the ring are ignored. */
static void qtx_done(struct ipoib_ring *ring, u32 last, int budget, struct ipoib_tx_done *done)
{
	qtx_fix->budget = budget;
	if (!qtx_fix->full)
		ipoib_ring_complete(ring, last, budget, done);
}

static bool qtx_napi_done(const struct napi_struct *napi, int done)
{
	qtx_fix->ended += napi == &qtx_fix->cm.tx_napi && !done;
	if (qtx_fix->late)
		set_bit(3, qtx_fix->cm.tx_ready);
	return !qtx_fix->goes_on;
}

/* The work is queued already: the caller drops its reference. */
static bool qtx_work(const struct delayed_work *work)
{
	if (work == &qtx_fix->cm.rx_work)
		qtx_fix->works++;
	else
		qtx_fix->kicks++;
	return true;
}

static int qtx_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	struct qtx_send *sent = &qtx_fix->sent[qtx_fix->nsent];
	int i;

	if (qtx_fix->post_err || qtx_fix->nsent == QTX_SENDS)
		return qtx_fix->post_err ?: -ENOMEM;
	qtx_fix->nsent++;
	sent->id = wr->wr_id;
	sent->nsge = wr->num_sge;
	sent->opcode = wr->opcode;
	sent->signal = wr->send_flags == IB_SEND_SIGNALED;
	sent->len = 0;
	for (i = 0; i < wr->num_sge; i++)
		sent->len += wr->sg_list[i].length;
	return 0;
}

static int qtx_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	int i;

	qtx_fix->polls++;
	qtx_fix->early += test_bit(0, qtx_fix->cm.tx_ready);
	if (qtx_fix->poll_err)
		return qtx_fix->poll_err;
	if (qtx_fix->full && qtx_fix->polls < QTX_POLLS) {
		n = min_t(int, n, qtx_fix->full);
		memset(wc, 0, n * sizeof(*wc));
		for (i = 0; i < n; i++)
			wc[i].qp = &qtx_fix->qp;
		return n;
	}
	n = min_t(int, n, qtx_fix->nwc);
	memcpy(wc, qtx_fix->wc, n * sizeof(*wc));
	qtx_fix->nwc -= n;
	memmove(qtx_fix->wc, qtx_fix->wc + n, qtx_fix->nwc * sizeof(*wc));
	return n;
}

static int qtx_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	qtx_fix->flags = flags;
	qtx_fix->armed++;
	return qtx_fix->missed;
}

#define ipoib_ring_fill(ring, skb, head, sge)		qtx_fill(ring, skb, head, sge)
#define ipoib_ring_complete(ring, last, budget, done)	qtx_done(ring, last, budget, done)

#include "cm/tx.c"

#undef ipoib_ring_fill
#undef ipoib_ring_complete

/* ---- the fixture ---- */

static int qtx_init(struct kunit *test)
{
	struct qtx_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!fix)
		return -ENOMEM;
	fix->ca.ops.post_send = qtx_post_send;
	fix->ca.ops.poll_cq = qtx_poll_cq;
	fix->ca.ops.req_notify_cq = qtx_notify_cq;
	fix->ca.attrs.max_cqe = 1 << 20;
	fix->ca.num_comp_vectors = 4;
	fix->pd.device = &fix->ca;
	fix->priv.ca = &fix->ca;
	fix->priv.pd = &fix->pd;
	fix->priv.cm = &fix->cm;
	fix->cm.priv = &fix->priv;
	mutex_init(&fix->cm.mutex);
	spin_lock_init(&fix->cm.lock);
	for (i = 0; i < ARRAY_SIZE(fix->cq); i++) {
		fix->cq[i].device = &fix->ca;
		fix->cq[i].cqe = 1000;
	}
	/* The first CQ is that of the connection. */
	fix->ncqs = 1;
	fix->cm.tx_cq[0].cm = &fix->cm;
	fix->cm.tx_cq[0].cq = &fix->cq[0];
	fix->qp.device = &fix->ca;
	fix->qp.qp_context = &fix->conn;
	fix->conn.cm = &fix->cm;
	fix->conn.peer = &fix->peer;
	fix->conn.qp = &fix->qp;
	fix->conn.tx_cq = &fix->cm.tx_cq[0];
	fix->conn.mtu = 65520;
	fix->conn.state = IPOIB_CONN_ESTABLISHED;
	fix->conn.transport = IPOIB_LLADDR_RC;
	fix->conn.flags = BIT(IPOIB_CONN_EV_PROVEN);
	kref_init(&fix->conn.ref);
	spin_lock_init(&fix->conn.tx_lock);
	__skb_queue_head_init(&fix->conn.backlog);
	err = ipoib_ring_init(&fix->conn.ring, &fix->pd, QTX_SLOTS, IPOIB_TX_SGE, 128);
	if (err) {
		kvfree(fix);
		return err;
	}
	qtx_fix = fix;
	test->priv = fix;
	return 0;
}

static void qtx_exit(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, fix->releases, 0u);
	KUNIT_EXPECT_EQ(test, kref_read(&fix->conn.ref), 1u);
	KUNIT_EXPECT_EQ(test, fix->warns, 0u);
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&fix->conn.tx_lock));
	__skb_queue_purge(&fix->conn.backlog);
	ipoib_ring_flush(&fix->conn.ring);
	ipoib_ring_exit(&fix->conn.ring);
	kvfree(fix);
}

/* A frame with an IP packet of @len octets */
static struct sk_buff *qtx_frame(unsigned int len)
{
	struct sk_buff *skb = alloc_skb(24 + len, GFP_KERNEL | __GFP_NOFAIL);

	skb_put_zero(skb, 24 + len);
	return skb;
}

/* Send a frame. Return: true if it was taken */
static bool qtx_xmit(struct qtx_fixture *fix, struct sk_buff *skb)
{
	bool taken;

	local_bh_disable();
	taken = ipoib_conn_xmit(&fix->conn, skb);
	local_bh_enable();
	if (!taken)
		kfree_skb(skb);
	return taken;
}

static bool qtx_xmit_len(struct qtx_fixture *fix, unsigned int len)
{
	return qtx_xmit(fix, qtx_frame(len));
}

/* A call of the handler, with all CQs ready that have completions. Return: what it returns */
static int qtx_call(struct qtx_fixture *fix)
{
	int done;

	local_bh_disable();
	done = ipoib_cm_tx_poll(&fix->cm.tx_napi, 64);
	local_bh_enable();
	return done;
}

/* Complete the send of a slot, and with it those before. */
static void qtx_complete(struct qtx_fixture *fix, u32 id, enum ib_wc_status status)
{
	struct ib_wc *wc = &fix->wc[fix->nwc++];

	memset(wc, 0, sizeof(*wc));
	wc->wr_id = id;
	wc->status = status;
	wc->qp = &fix->qp;
	set_bit(0, fix->cm.tx_ready);
	qtx_call(fix);
}

/* Numbers of the signalled sends, as bits */
static u64 qtx_signalled(const struct qtx_fixture *fix)
{
	unsigned int i;
	u64 set = 0;

	for (i = 0; i < fix->nsent; i++)
		if (fix->sent[i].signal)
			set |= BIT_ULL(fix->sent[i].id);
	return set;
}

/* ---- sends ---- */

/* A send is one work request, and counts with its encapsulation header. */
static void qtx_sends(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 100 * (i + 1)));
	KUNIT_EXPECT_EQ(test, fix->nsent, 3u);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, fix->sent[i].id, (u64)i);
		KUNIT_EXPECT_EQ(test, fix->sent[i].nsge, 1);
		KUNIT_EXPECT_EQ(test, fix->sent[i].len, 4 + 100 * (i + 1));
		KUNIT_EXPECT_TRUE(test, fix->sent[i].opcode == IB_WR_SEND);
	}
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 3ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_BYTES], 612ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_CM_TX], 3ll);
	KUNIT_EXPECT_EQ(test, fix->stamps, 3u);
	KUNIT_EXPECT_EQ(test, fix->sums, 0u);
	KUNIT_EXPECT_EQ(test, fix->drops, 0u);
	KUNIT_EXPECT_EQ(test, fix->kicks, 0u);
}

/* Of sends of copies one in eight is signalled, and one that fills the ring; of others each */
static void qtx_signals(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	unsigned int i;

	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 125));
	KUNIT_EXPECT_EQ(test, fix->conn.signalled, 1u);
	for (i = 1; i < QTX_SLOTS; i++)
		KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 124));
	KUNIT_EXPECT_EQ(test, fix->nsent, 32u);
	KUNIT_EXPECT_EQ(test, qtx_signalled(fix),
			BIT_ULL(0) | BIT_ULL(8) | BIT_ULL(16) | BIT_ULL(24) | BIT_ULL(31));
	KUNIT_EXPECT_EQ(test, fix->conn.signalled, 32u);
}

/* Each send is signalled until one is known to have arrived. */
static void qtx_proof(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;

	fix->conn.flags = 0;
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_EQ(test, qtx_signalled(fix), 3ull);
	qtx_complete(fix, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->conn.flags, BIT(IPOIB_CONN_EV_PROVEN));
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_EQ(test, qtx_signalled(fix), 3ull);
	qtx_complete(fix, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
	/* With UC a completed send has not arrived. */
	fix->conn.transport = IPOIB_LLADDR_UC;
	fix->conn.flags = 0;
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	qtx_complete(fix, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->conn.flags, 0ul);
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
}

/* A send begins a measurement of progress if no signalled send is outstanding. */
static void qtx_progress(struct kunit *test)
{
	unsigned long before = jiffies - 2 * HZ;
	struct qtx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn;

	conn->progress = before;
	conn->flags |= BIT(IPOIB_CONN_IS_UNWATCHED);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 1000));
	KUNIT_EXPECT_TRUE(test, time_after(conn->progress, before + HZ));
	KUNIT_EXPECT_EQ(test, conn->flags, BIT(IPOIB_CONN_EV_PROVEN));
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
	conn->progress = before;
	conn->flags |= BIT(IPOIB_CONN_IS_UNWATCHED);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 1000));
	KUNIT_EXPECT_EQ(test, conn->progress, before);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_IS_UNWATCHED, &conn->flags));
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
	/* A completion is progress. */
	qtx_complete(fix, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, time_after(conn->progress, before + HZ));
	/* All signalled ones have completed: no event for a connection that is watched */
	conn->flags = BIT(IPOIB_CONN_EV_PROVEN);
	qtx_complete(fix, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
}

/* A frame that the HCA refuses counts once, whether copied or not, and ends the connection. */
static void qtx_refused(struct kunit *test)
{
	static const unsigned int lens[] = { 10, 1000 };
	struct qtx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn;
	unsigned int i;

	fix->post_err = -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		conn->flags = 0;
		KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, lens[i]));
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_POST], i + 1ll);
		KUNIT_EXPECT_EQ(test, fix->drops, i);
		KUNIT_EXPECT_EQ(test, conn->flags, BIT(IPOIB_CONN_EV_FAILED));
		KUNIT_EXPECT_EQ(test, fix->kicks, i + 1);
		KUNIT_EXPECT_EQ(test, conn->ring.head, 0u);
		KUNIT_EXPECT_EQ(test, conn->signalled, 0u);
	}
	/* Nothing is posted any more. */
	fix->post_err = 0;
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_EQ(test, fix->nsent, 0u);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&conn->backlog), 1u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 0ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_CM_TX], 0ll);
}

/* A frame that cannot be mapped, or has no checksum, is dropped alone. */
static void qtx_unsent(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	struct sk_buff *skb;

	fix->map_err = -EIO;
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_MAP], 1ll);
	fix->map_err = 0;
	skb = qtx_frame(100);
	skb->ip_summed = CHECKSUM_PARTIAL;
	fix->sum_err = -EINVAL;
	KUNIT_EXPECT_TRUE(test, qtx_xmit(fix, skb));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_MAP], 2ll);
	skb = qtx_frame(100);
	skb_shinfo(skb)->gso_size = 50;
	fix->clone_err = -ENOMEM;
	KUNIT_EXPECT_TRUE(test, qtx_xmit(fix, skb));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_MAP], 3ll);
	KUNIT_EXPECT_EQ(test, fix->drops, 3u);
	KUNIT_EXPECT_EQ(test, fix->nsent, 0u);
	KUNIT_EXPECT_EQ(test, fix->conn.ring.head, 0u);
	KUNIT_EXPECT_EQ(test, fix->kicks, 0u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 0ll);
}

/* A frame is sent whole, with its checksum. */
static void qtx_whole(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	struct sk_buff *skb = qtx_frame(1000);

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_shinfo(skb)->gso_size = 500;
	skb_shinfo(skb)->gso_segs = 2;
	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	KUNIT_EXPECT_TRUE(test, qtx_xmit(fix, skb));
	KUNIT_EXPECT_EQ(test, fix->sums, 1u);
	KUNIT_EXPECT_PTR_EQ(test, fix->conn.ring.slots[0].skb, skb);
	KUNIT_EXPECT_FALSE(test, skb_is_gso(skb));
	KUNIT_EXPECT_EQ(test, fix->nsent, 1u);
	KUNIT_EXPECT_EQ(test, fix->sent[0].len, 1004u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 1ll);
}

/* The MTU of the connection is the last length that it takes. */
static void qtx_length(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;

	fix->conn.mtu = 2044;
	KUNIT_EXPECT_FALSE(test, qtx_xmit_len(fix, 2045));
	KUNIT_EXPECT_EQ(test, fix->nsent, 0u);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 2044));
	KUNIT_EXPECT_EQ(test, fix->sent[0].len, 2048u);
}

/* ---- backlog ---- */

/* Frames that find a full ring wait, and go in order as slots become free. */
static void qtx_backlog(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	atomic_t *queued = &fix->priv.neigh.queued[IPOIB_WAIT_RING];
	struct ipoib_conn *conn = &fix->conn;
	unsigned int i;

	for (i = 0; i < 32 + 3; i++)
		KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 200 + i));
	KUNIT_EXPECT_EQ(test, fix->nsent, 32u);
	KUNIT_EXPECT_EQ(test, fix->most, 256u);
	KUNIT_EXPECT_EQ(test, atomic_read(queued), 3);
	qtx_complete(fix, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->nsent, 34u);
	KUNIT_EXPECT_EQ(test, fix->sent[32].len, 4u + 232);
	KUNIT_EXPECT_EQ(test, fix->sent[33].len, 4u + 233);
	KUNIT_EXPECT_EQ(test, fix->sent[33].id, 33ull);
	KUNIT_EXPECT_EQ(test, atomic_read(queued), 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 34ll);
	/* A frame goes behind those that wait, although there is room. */
	conn->flags |= BIT(IPOIB_CONN_EV_FAILED);
	qtx_complete(fix, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->nsent, 34u);
	conn->flags = BIT(IPOIB_CONN_EV_PROVEN);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 300));
	KUNIT_EXPECT_EQ(test, fix->nsent, 36u);
	KUNIT_EXPECT_EQ(test, fix->sent[34].len, 4u + 234);
	KUNIT_EXPECT_EQ(test, fix->sent[35].len, 4u + 300);
	KUNIT_EXPECT_EQ(test, atomic_read(queued), 0);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&conn->backlog));
}

/* A connection that has failed sends nothing of its backlog, which its end gives another way. */
static void qtx_shut(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	atomic_t *queued = &fix->priv.neigh.queued[IPOIB_WAIT_RING];
	struct ipoib_conn *conn = &fix->conn;

	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 1000));
	conn->flags |= BIT(IPOIB_CONN_EV_FAILED);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 1000));
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 500));
	qtx_complete(fix, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->nsent, 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(queued), 2);
	conn->state = IPOIB_CONN_CLOSING;
	spin_lock_bh(&fix->cm.lock);
	ipoib_conn_shut(conn);
	spin_unlock_bh(&fix->cm.lock);
	KUNIT_EXPECT_EQ(test, fix->resent, 2u);
	/* With the link-layer address again */
	KUNIT_EXPECT_EQ(test, fix->resent_len, 524u);
	KUNIT_EXPECT_EQ(test, atomic_read(queued), 0);
	KUNIT_EXPECT_FALSE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_EQ(test, fix->nsent, 1u);
}

/* The last send is empty and signalled, and completes those before it. */
static void qtx_last(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn;

	ipoib_conn_send_last(conn);
	KUNIT_EXPECT_EQ(test, fix->nsent, 0u);
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 10));
	fix->post_err = -EINVAL;
	ipoib_conn_send_last(conn);
	KUNIT_EXPECT_EQ(test, conn->ring.head, 2u);
	KUNIT_EXPECT_EQ(test, conn->signalled, 0u);
	fix->post_err = 0;
	ipoib_conn_send_last(conn);
	KUNIT_EXPECT_EQ(test, fix->nsent, 3u);
	KUNIT_EXPECT_EQ(test, fix->sent[2].id, 2ull);
	KUNIT_EXPECT_EQ(test, fix->sent[2].nsge, 0);
	KUNIT_EXPECT_TRUE(test, fix->sent[2].signal);
	KUNIT_EXPECT_EQ(test, conn->signalled, 3u);
	ipoib_conn_send_last(conn);
	KUNIT_EXPECT_EQ(test, fix->nsent, 3u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 2ll);
	/* Only its completion has the work see the end. */
	conn->state = IPOIB_CONN_CLOSING;
	qtx_complete(fix, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->kicks, 0u);
	qtx_complete(fix, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
}

/* ---- completions ---- */

/* A failed send is taken out of the counters, and ends a connection that is not closing. */
static void qtx_failed(struct kunit *test)
{
	static const struct {
		enum ib_wc_status status;
		enum ipoib_conn_state state;
		bool fails;
	} rows[] = {
		{ IB_WC_RETRY_EXC_ERR, IPOIB_CONN_ESTABLISHED, true },
		{ IB_WC_RETRY_EXC_ERR, IPOIB_CONN_CLOSING, true },
		/* The QP has failed without an event. */
		{ IB_WC_WR_FLUSH_ERR, IPOIB_CONN_ESTABLISHED, true },
		{ IB_WC_WR_FLUSH_ERR, IPOIB_CONN_CLOSING, false },
	};
	unsigned long before = jiffies - 2 * HZ;
	struct qtx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		conn->state = IPOIB_CONN_ESTABLISHED;
		conn->flags = 0;
		KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 1000));
		KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 500));
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], i + 2ll);
		conn->state = rows[i].state;
		conn->progress = before;
		qtx_complete(fix, 2 * i, rows[i].status);
		KUNIT_EXPECT_EQ(test, conn->flags,
				rows[i].fails ? BIT(IPOIB_CONN_EV_FAILED) : 0ul);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], i + 1ll);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_BYTES], (i + 1) * 504ll);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_ERROR], i + 1ll);
		KUNIT_EXPECT_EQ(test, conn->ring.tail, 2 * i + 1);
		KUNIT_EXPECT_TRUE(test, time_after(conn->progress, before + HZ));
		conn->flags = BIT(IPOIB_CONN_EV_PROVEN);
		conn->state = IPOIB_CONN_ESTABLISHED;
		qtx_complete(fix, 2 * i + 1, IB_WC_SUCCESS);
	}
}

static int qtx_reap(struct qtx_fixture *fix, int budget)
{
	int done;

	local_bh_disable();
	done = ipoib_cm_tx_reap(&fix->cm, 0, budget);
	local_bh_enable();
	return done;
}

/* The CQ is armed once it is empty; a missed event, or a full batch, has it polled again. */
static void qtx_arms(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < 32; i++) {
		KUNIT_EXPECT_TRUE(test, qtx_xmit_len(fix, 1000));
		fix->wc[i].wr_id = i;
		fix->wc[i].qp = &fix->qp;
	}
	set_bit(0, fix->cm.tx_ready);
	fix->nwc = 16;
	KUNIT_EXPECT_EQ(test, qtx_reap(fix, 7), 16);
	KUNIT_EXPECT_EQ(test, fix->early, 0u);
	KUNIT_EXPECT_EQ(test, fix->armed, 0u);
	KUNIT_EXPECT_EQ(test, fix->budget, 7);
	KUNIT_EXPECT_EQ(test, fix->conn.ring.tail, 16u);
	KUNIT_EXPECT_TRUE(test, test_bit(0, fix->cm.tx_ready));
	for (i = 0; i < 15; i++)
		fix->wc[i].wr_id = 16 + i;
	fix->nwc = 15;
	KUNIT_EXPECT_EQ(test, qtx_reap(fix, 0), 15);
	KUNIT_EXPECT_EQ(test, fix->armed, 1u);
	KUNIT_EXPECT_TRUE(test, fix->flags == (IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS));
	KUNIT_EXPECT_FALSE(test, test_bit(0, fix->cm.tx_ready));
	fix->missed = 1;
	KUNIT_EXPECT_EQ(test, qtx_reap(fix, 0), 0);
	KUNIT_EXPECT_TRUE(test, test_bit(0, fix->cm.tx_ready));
	/* An error of the HCA is no missed event. */
	fix->missed = -EINVAL;
	fix->poll_err = -EIO;
	KUNIT_EXPECT_EQ(test, qtx_reap(fix, 0), 0);
	KUNIT_EXPECT_FALSE(test, test_bit(0, fix->cm.tx_ready));
	KUNIT_EXPECT_EQ(test, fix->armed, 3u);
}

/* A flush ends with a CQ that is not full, or after as many completions as it has entries. */
static void qtx_flush(struct kunit *test)
{
	static const struct {
		int cqe;
		unsigned int full, polls;
	} rows[] = {
		{ 40, 16, 3 },
		{ 32, 16, 2 },
		{ 33, 16, 3 },
		{ 1000, 15, 1 },
	};
	struct qtx_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->cq[0].cqe = rows[i].cqe;
		fix->full = rows[i].full;
		fix->polls = 0;
		fix->budget = 9;
		ipoib_cm_tx_flush(&fix->conn);
		KUNIT_EXPECT_EQ(test, fix->polls, rows[i].polls);
		/* Not in NAPI */
		KUNIT_EXPECT_EQ(test, fix->budget, 0);
	}
	KUNIT_EXPECT_FALSE(test, in_softirq());
	fix->full = 0;
}

/* ---- the handler ---- */

/* The handler goes on while a CQ is ready, also one that becomes so while it ends. */
static void qtx_ends(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, qtx_call(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->polls, 0u);
	KUNIT_EXPECT_EQ(test, fix->ended, 1u);
	KUNIT_EXPECT_EQ(test, fix->again, 0u);
	fix->late = true;
	KUNIT_EXPECT_EQ(test, qtx_call(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->ended, 2u);
	KUNIT_EXPECT_EQ(test, fix->again, 1u);
	/* The kernel polls on without that. */
	clear_bit(3, fix->cm.tx_ready);
	fix->goes_on = true;
	KUNIT_EXPECT_EQ(test, qtx_call(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->ended, 3u);
	KUNIT_EXPECT_EQ(test, fix->again, 1u);
	clear_bit(3, fix->cm.tx_ready);
}

/* A call handles some 64 completions: a poll of 16 costs 17. */
static void qtx_weight(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;

	fix->full = 16;
	set_bit(0, fix->cm.tx_ready);
	KUNIT_EXPECT_EQ(test, qtx_call(fix), 64);
	KUNIT_EXPECT_EQ(test, fix->polls, 4u);
	KUNIT_EXPECT_EQ(test, fix->budget, 64);
	KUNIT_EXPECT_EQ(test, fix->ended, 0u);
	KUNIT_EXPECT_EQ(test, fix->cm.tx_next_cq, 1u);
	fix->full = 0;
	KUNIT_EXPECT_EQ(test, qtx_call(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->polls, 5u);
	KUNIT_EXPECT_EQ(test, fix->armed, 1u);
	KUNIT_EXPECT_EQ(test, fix->ended, 1u);
}

/* ---- CQs ---- */

static int qtx_get(struct qtx_fixture *fix)
{
	int err;

	mutex_lock(&fix->cm.mutex);
	err = ipoib_cm_tx_get_cq(&fix->conn);
	mutex_unlock(&fix->cm.mutex);
	return err;
}

/* A CQ serves 32 connections, with 32 sends each; the next one is created on demand. */
static void qtx_cqs(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;
	struct ipoib_cm *cm = &fix->cm;
	unsigned int i;

	fix->ncqs = 0;
	cm->tx_cq[0].cm = NULL;
	cm->tx_cq[0].cq = NULL;
	fix->conn.tx_cq = NULL;
	fix->cq_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, qtx_get(fix), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, cm->tx_cq[0].cq, NULL);
	KUNIT_EXPECT_PTR_EQ(test, fix->conn.tx_cq, NULL);
	KUNIT_EXPECT_EQ(test, cm->tx_cq[0].conns, 0u);
	fix->cq_err = 0;
	for (i = 0; i < 33; i++) {
		KUNIT_EXPECT_EQ(test, qtx_get(fix), 0);
		KUNIT_EXPECT_PTR_EQ(test, fix->conn.tx_cq, &cm->tx_cq[i / 32]);
		KUNIT_EXPECT_EQ(test, fix->ncqs, i / 32 + 1);
		KUNIT_EXPECT_EQ(test, (unsigned int)fix->cq_attr.cqe, 1024u);
		/* Vectors for sends begin half way round. */
		KUNIT_EXPECT_EQ(test, (unsigned int)fix->cq_attr.comp_vector, 2 + i / 32);
		KUNIT_EXPECT_PTR_EQ(test, fix->ctx, &cm->tx_cq[i / 32]);
	}
	KUNIT_EXPECT_EQ(test, cm->tx_cq[0].conns, 32u);
	KUNIT_EXPECT_EQ(test, cm->tx_cq[1].conns, 1u);
	KUNIT_EXPECT_PTR_EQ(test, cm->tx_cq[1].cq, &fix->cq[1]);
	KUNIT_EXPECT_PTR_EQ(test, cm->tx_cq[1].cm, cm);
	KUNIT_EXPECT_EQ(test, fix->armed, 2u);
	KUNIT_EXPECT_TRUE(test, fix->flags == IB_CQ_NEXT_COMP);
	/* The last place, and none */
	for (i = 0; i < 512; i++)
		cm->tx_cq[i].conns = 32;
	cm->tx_cq[511].conns = 31;
	KUNIT_EXPECT_EQ(test, qtx_get(fix), 0);
	KUNIT_EXPECT_PTR_EQ(test, fix->conn.tx_cq, &cm->tx_cq[511]);
	KUNIT_EXPECT_EQ(test, qtx_get(fix), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fix->ncqs, 3u);
}

/* Connections for which all send CQs have room, also on an HCA with small CQs */
static void qtx_room(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, ipoib_cm_tx_conns(&fix->priv), 16384u);
	fix->ca.attrs.max_cqe = 330;
	KUNIT_EXPECT_EQ(test, ipoib_cm_tx_conns(&fix->priv), 5120u);
	fix->cm.tx_cq[0].conns = 10;
	KUNIT_EXPECT_EQ(test, qtx_get(fix), 0);
	KUNIT_EXPECT_PTR_EQ(test, fix->conn.tx_cq, &fix->cm.tx_cq[1]);
	KUNIT_EXPECT_EQ(test, (unsigned int)fix->cq_attr.cqe, 320u);
}

/* An event of a CQ has the handler poll it; an error of a CQ has all queues replaced. */
static void qtx_events(struct kunit *test)
{
	struct ib_event event = { .event = IB_EVENT_CQ_ERR };
	struct qtx_fixture *fix = test->priv;

	fix->cm.tx_cq[0].conns = 32;
	KUNIT_EXPECT_EQ(test, qtx_get(fix), 0);
	fix->comp(&fix->cq[1], fix->ctx);
	KUNIT_EXPECT_EQ(test, fix->scheduled, 1u);
	KUNIT_EXPECT_TRUE(test, test_bit(1, fix->cm.tx_ready));
	KUNIT_EXPECT_FALSE(test, test_bit(0, fix->cm.tx_ready));
	fix->event(&event, fix->ctx);
	KUNIT_EXPECT_TRUE(test, fix->cm.srq_failed);
	KUNIT_EXPECT_EQ(test, fix->works, 1u);
	KUNIT_EXPECT_EQ(test, fix->scheduled, 1u);
}

/* All CQs are destroyed, and none is polled any more. */
static void qtx_released(struct kunit *test)
{
	struct qtx_fixture *fix = test->priv;

	fix->cm.tx_cq[2].cq = &fix->cq[2];
	fix->cm.tx_cq[511].cq = &fix->cq[3];
	set_bit(0, fix->cm.tx_ready);
	set_bit(511, fix->cm.tx_ready);
	ipoib_cm_tx_release(&fix->cm);
	KUNIT_EXPECT_EQ(test, fix->destroyed, 3u);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.tx_cq[0].cq, NULL);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.tx_cq[2].cq, NULL);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.tx_cq[511].cq, NULL);
	KUNIT_EXPECT_TRUE(test, bitmap_empty(fix->cm.tx_ready, 512));
	/* A CQ that still has connections is worth a warning. */
	fix->cm.tx_cq[0].cq = &fix->cq[0];
	fix->cm.tx_cq[0].conns = 1;
	ipoib_cm_tx_release(&fix->cm);
	KUNIT_EXPECT_EQ(test, fix->warns, 1u);
	fix->warns = 0;
}

static struct kunit_case ipoib_queue_tx_cases[] = {
	KUNIT_CASE(qtx_sends),
	KUNIT_CASE(qtx_signals),
	KUNIT_CASE(qtx_proof),
	KUNIT_CASE(qtx_progress),
	KUNIT_CASE(qtx_refused),
	KUNIT_CASE(qtx_unsent),
	KUNIT_CASE(qtx_whole),
	KUNIT_CASE(qtx_length),
	KUNIT_CASE(qtx_backlog),
	KUNIT_CASE(qtx_shut),
	KUNIT_CASE(qtx_last),
	KUNIT_CASE(qtx_failed),
	KUNIT_CASE(qtx_arms),
	KUNIT_CASE(qtx_flush),
	KUNIT_CASE(qtx_ends),
	KUNIT_CASE(qtx_weight),
	KUNIT_CASE(qtx_cqs),
	KUNIT_CASE(qtx_room),
	KUNIT_CASE(qtx_events),
	KUNIT_CASE(qtx_released),
	{}
};

struct kunit_suite ipoib_queue_tx_suite = {
	.name = "ipoib_queue_tx",
	.init = qtx_init,
	.exit = qtx_exit,
	.test_cases = ipoib_queue_tx_cases,
};
