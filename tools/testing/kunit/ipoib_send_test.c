// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the send side of datagram mode: work requests, signalled sends, full queues, failed
 * sends, frames that wait
 */
#include <linux/etherdevice.h>
#include <linux/ipv6.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_stat_add		send_stat_add
#define ipoib_stat_traffic	send_stat_traffic
#define ipoib_drop		send_drop

#include "ipoib.h"

/* No control work, works, NAPI and queueing disciplines */
#undef napi_schedule
#define ipoib_ctl_post(priv, event)		set_bit(event, &(priv)->ctl.events)
#define queue_delayed_work(wq, work, delay)	send_reap(work)
#define netdev_tx_sent_queue(nq, bytes)		send_bql_sent(nq, bytes)
#define netdev_tx_completed_queue(nq, n, bytes)	send_bql_done(nq, n, bytes)
#define netif_tx_wake_queue(nq)			netif_tx_start_queue(nq)
#define napi_complete_done(napi, done)		send_napi_done(napi, done)
#define napi_schedule(napi)			send_napi_again(napi)

#define SEND_SLOTS	64
#define SEND_QPN	0x4711
#define SEND_QKEY	0xb1b

/**
 * struct send_fixture - fixture of a case
 * @priv: an interface
 * @txq: its queue, of SEND_SLOTS slots
 * @batch: batch of @txq
 * @ca: an HCA without DMA
 * @pd: protection domain
 * @qp: QP of @txq
 * @cq: CQ of @txq
 * @dev: net_device of @priv
 * @ib_ah: address handle of the HCA
 * @ah: address handle of all sends
 * @wr: work requests posted, by number
 * @sge: their first SGEs
 * @nposted: number of work requests posted
 * @posts: number of posts
 * @accepts: work requests that the QP accepts
 * @wc: completions of the next poll
 * @nwc: number of them
 * @missed: result of ib_req_notify_cq()
 * @armed: calls of it
 * @again: times the handler scheduled itself
 * @polled: work that the handler reported to NAPI
 * @goes_on: the kernel polls on
 * @reaps: times that address handles were checked
 * @queued: octets reported to the byte queue limit
 * @done: frames and octets reported to it as complete
 * @stats: counters
 */
struct send_fixture {
	struct ipoib_dev priv;
	struct ipoib_txq txq;
	struct ipoib_batch batch;
	struct ib_device ca;
	struct ib_pd pd;
	struct ib_qp qp;
	struct ib_cq cq;
	struct net_device *dev;
	struct ib_ah ib_ah;
	struct ipoib_ah ah;
	struct ib_ud_wr wr[2 * SEND_SLOTS];
	struct ib_sge sge[2 * SEND_SLOTS];
	unsigned int nposted;
	unsigned int posts;
	unsigned int accepts;
	struct ib_wc wc[IPOIB_POLL_WC];
	int nwc;
	int missed;
	unsigned int armed;
	unsigned int again;
	int polled;
	bool goes_on;
	unsigned int reaps;
	unsigned int queued;
	struct ipoib_tx_done done;
	s64 stats[IPOIB_NR_STATS];
};

/* The fixture of the running case */
static struct send_fixture *send_fix;

/* ---- functions of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	send_fix->stats[stat] += n;
}

void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets, s64 npackets, s64 nbytes)
{
	send_fix->stats[packets] += npackets;
	send_fix->stats[packets + IPOIB_RX_BYTES - IPOIB_RX_PACKETS] += nbytes;
}

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	send_fix->stats[why]++;
	kfree_skb(skb);
}

/* ---- HCA and stack ---- */

/* As some providers it leaves @bad unset when it refuses the first. */
static int send_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	const struct ib_send_wr *first = wr;

	send_fix->posts++;
	for (; wr; wr = wr->next) {
		if (send_fix->nposted >= min(send_fix->accepts, 2u * SEND_SLOTS)) {
			if (wr != first)
				*bad = wr;
			return -EINVAL;
		}
		send_fix->wr[send_fix->nposted] = *ud_wr(wr);
		send_fix->sge[send_fix->nposted++] = wr->sg_list[0];
	}
	return 0;
}

static int send_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	n = min(n, send_fix->nwc);
	memcpy(wc, send_fix->wc, n * sizeof(*wc));
	send_fix->nwc = 0;
	return n;
}

static int send_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	send_fix->armed++;
	return send_fix->missed;
}

static bool send_reap(struct delayed_work *work)
{
	send_fix->reaps++;
	return true;
}

static void send_bql_sent(struct netdev_queue *nq, unsigned int bytes)
{
	send_fix->queued += bytes;
}

static void send_bql_done(struct netdev_queue *nq, unsigned int packets, unsigned int bytes)
{
	send_fix->done.packets += packets;
	send_fix->done.bytes += bytes;
}

static bool send_napi_done(struct napi_struct *napi, int done)
{
	send_fix->polled += done;
	return !send_fix->goes_on;
}

static void send_napi_again(struct napi_struct *napi)
{
	send_fix->again++;
}

#include "ipoib_ud.c"

static int send_init(struct kunit *test)
{
	struct send_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_txq *txq;
	unsigned int i;
	int err;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev(0, "ipoib_send%d", NET_NAME_UNKNOWN, ether_setup);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	txq = &fix->txq;
	fix->pd.device = &fix->ca;
	err = ipoib_ring_init(&txq->ring, &fix->pd, SEND_SLOTS, IPOIB_TX_SGE, IPOIB_TX_COPY);
	if (err) {
		free_netdev(fix->dev);
		kvfree(fix);
		return err;
	}
	fix->ca.ops.post_send = send_post_send;
	fix->ca.ops.poll_cq = send_poll_cq;
	fix->ca.ops.req_notify_cq = send_notify_cq;
	fix->qp.device = &fix->ca;
	fix->cq.device = &fix->ca;
	fix->ah.ah = &fix->ib_ah;
	fix->accepts = 2 * SEND_SLOTS;
	for (i = 0; i < IPOIB_TX_BATCH; i++)
		fix->batch.wr[i].wr.sg_list = fix->batch.sge[i];
	txq->priv = &fix->priv;
	txq->qp = &fix->qp;
	txq->cq = &fix->cq;
	txq->nq = netdev_get_tx_queue(fix->dev, 0);
	txq->batch = &fix->batch;
	txq->max_segs = 1;
	u64_stats_init(&txq->sent.syncp);
	u64_stats_init(&txq->done.syncp);
	fix->priv.ca = &fix->ca;
	fix->priv.netdev = fix->dev;
	fix->priv.txq = txq;
	fix->priv.ntxq = 1;
	fix->priv.qkey = SEND_QKEY;
	set_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	set_bit(IPOIB_FLAG_QP, &fix->priv.flags);
	send_fix = fix;
	test->priv = fix;
	return 0;
}

static void send_exit(struct kunit *test)
{
	struct send_fixture *fix = test->priv;

	ipoib_ring_flush(&fix->txq.ring);
	ipoib_ring_exit(&fix->txq.ring);
	free_netdev(fix->dev);
	kvfree(fix);
}

/* A frame of TCP, with @payload octets; a GSO frame if @mss is not 0 */
static struct sk_buff *send_frame(bool ipv6, unsigned int payload, unsigned int mss)
{
	unsigned int ip = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	unsigned int head = IPOIB_HARD_LEN + ip + sizeof(struct tcphdr);
	struct sk_buff *skb = alloc_skb(head + payload, GFP_KERNEL | __GFP_NOFAIL);

	skb_put_zero(skb, head + payload);
	skb_set_network_header(skb, IPOIB_HARD_LEN);
	skb_set_transport_header(skb, IPOIB_HARD_LEN + ip);
	skb->protocol = htons(ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	if (!ipv6) {
		ip_hdr(skb)->version = 4;
		ip_hdr(skb)->ihl = 5;
	}
	tcp_hdr(skb)->doff = sizeof(struct tcphdr) / 4;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	if (!mss)
		return skb;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_shinfo(skb)->gso_type = ipv6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
	skb_shinfo(skb)->gso_size = mss;
	skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(payload, mss);
	return skb;
}

/* A frame of IPv4 that is no GSO frame, of @len octets on the wire, 44 at least */
static struct sk_buff *send_plain(unsigned int len)
{
	return send_frame(false, len - 44, 0);
}

static void send_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	ipoib_ud_xmit(txq, skb, &send_fix->ah, SEND_QPN);
}

/* Send a frame, and what is in the batch if @post. */
static void send(struct sk_buff *skb, bool post)
{
	struct ipoib_txq *txq = &send_fix->txq;

	local_bh_disable();
	rcu_read_lock();
	send_xmit(txq, skb);
	if (post)
		ipoib_ud_post(txq);
	rcu_read_unlock();
	local_bh_enable();
}

/* A poll with a completion of the send @id. Return: the result of the handler */
static int send_done(u32 id, enum ib_wc_status status)
{
	int done;

	send_fix->wc[0].wr_id = id;
	send_fix->wc[0].status = status;
	send_fix->nwc = 1;
	local_bh_disable();
	done = ipoib_ud_tx_poll(&send_fix->txq.napi, 64);
	local_bh_enable();
	return done;
}

static u64 send_sent(enum ipoib_txq_stat stat)
{
	return u64_stats_read(&send_fix->txq.sent.val[stat]);
}

static u64 send_completed(unsigned int stat)
{
	return u64_stats_read(&send_fix->txq.done.val[stat]);
}

/* Work requests of short frames, which are chained, and posted together */
static void send_posted(struct kunit *test)
{
	struct send_fixture *fix = test->priv;
	const struct ib_ud_wr *wr;
	unsigned int i;

	for (i = 0; i < 15; i++)
		send(send_plain(50 + i), false);
	KUNIT_EXPECT_EQ(test, fix->posts, 0u);
	KUNIT_EXPECT_EQ(test, fix->batch.count, 15u);
	send(send_plain(65), false);
	KUNIT_EXPECT_EQ(test, fix->posts, 1u);
	KUNIT_EXPECT_EQ(test, fix->nposted, 16u);
	for (i = 0; i < 16; i++) {
		wr = &fix->wr[i];
		KUNIT_EXPECT_EQ(test, wr->wr.wr_id, (u64)i);
		KUNIT_EXPECT_PTR_EQ(test, wr->ah, &fix->ib_ah);
		KUNIT_EXPECT_EQ(test, wr->remote_qpn, (u32)SEND_QPN);
		KUNIT_EXPECT_EQ(test, wr->remote_qkey, (u32)SEND_QKEY);
		KUNIT_EXPECT_TRUE(test, wr->wr.opcode == IB_WR_SEND);
		KUNIT_EXPECT_EQ(test, wr->wr.num_sge, 1);
		KUNIT_EXPECT_EQ(test, fix->sge[i].length, 50 + i);
		KUNIT_EXPECT_PTR_EQ(test, fix->txq.ring.slots[i].ah, &fix->ah);
		/* The last ends a row of 16 without a signalled send. */
		KUNIT_EXPECT_EQ(test, wr->wr.send_flags, i == 15 ? (int)IB_SEND_SIGNALED : 0);
	}
	KUNIT_EXPECT_EQ(test, fix->queued, 920u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 16ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_BYTES], 920ll);
	KUNIT_EXPECT_EQ(test, send_sent(IPOIB_TXQ_PACKETS), 16ull);
	KUNIT_EXPECT_EQ(test, send_sent(IPOIB_TXQ_BYTES), 920ull);
	KUNIT_EXPECT_EQ(test, fix->batch.count, 0u);
	KUNIT_EXPECT_EQ(test, fix->batch.packets, 0u);
	KUNIT_EXPECT_EQ(test, fix->batch.bytes, 0u);
	/* An empty batch is not posted. */
	ipoib_ud_post(&fix->txq);
	KUNIT_EXPECT_EQ(test, fix->posts, 1u);
	/* The queues of the net device of an HCA have no batch. */
	fix->txq.batch = NULL;
	ipoib_ud_post(&fix->txq);
	KUNIT_EXPECT_EQ(test, fix->posts, 1u);
}

static bool send_last_signalled(void)
{
	return send_fix->wr[send_fix->nposted - 1].wr.send_flags & IB_SEND_SIGNALED;
}

/* Sends whose completion is waited for are signalled, and no others. */
static void send_signalled(struct kunit *test)
{
	struct send_fixture *fix = test->priv;
	struct ipoib_txq *txq = &fix->txq;
	unsigned int i;

	for (i = 1; i <= 20; i++) {
		send(send_plain(100), true);
		KUNIT_EXPECT_EQ(test, send_last_signalled(), i == 16);
		KUNIT_EXPECT_EQ(test, txq->signalled, i < 16 ? 0u : 16u);
	}
	/* A frame that is not copied */
	send(send_plain(IPOIB_TX_COPY), true);
	KUNIT_EXPECT_FALSE(test, send_last_signalled());
	send(send_plain(IPOIB_TX_COPY + 1), true);
	KUNIT_EXPECT_TRUE(test, send_last_signalled());
	KUNIT_EXPECT_EQ(test, txq->signalled, 22u);
	KUNIT_EXPECT_EQ(test, txq->unsignalled, 0u);
	/* Segments are not copied, however short. */
	txq->hca_cuts = true;
	send(send_frame(false, 100, 60), true);
	KUNIT_EXPECT_TRUE(test, send_last_signalled());
	send(send_plain(100), true);
	KUNIT_EXPECT_FALSE(test, send_last_signalled());
	/* A queue that is stopped */
	netif_tx_stop_queue(txq->nq);
	send(send_plain(100), true);
	KUNIT_EXPECT_TRUE(test, send_last_signalled());
	netif_tx_start_queue(txq->nq);
	send(send_plain(100), true);
	KUNIT_EXPECT_FALSE(test, send_last_signalled());
	/* Address handles that are to be destroyed */
	txq->retires = true;
	send(send_plain(100), true);
	KUNIT_EXPECT_TRUE(test, send_last_signalled());
	KUNIT_EXPECT_EQ(test, fix->reaps, 0u);
	KUNIT_EXPECT_EQ(test, send_done(26, IB_WC_SUCCESS), 0);
	KUNIT_EXPECT_EQ(test, fix->reaps, 1u);
}

/* Sends that the QP refuses, also all of them: none counts as sent. */
static void send_refused(struct kunit *test)
{
	struct send_fixture *fix = test->priv;
	struct ipoib_txq *txq = &fix->txq;
	unsigned int i;

	fix->accepts = 1;
	txq->retires = true;
	for (i = 0; i < 3; i++)
		send(send_plain(50 + 50 * i), i == 2);
	KUNIT_EXPECT_EQ(test, fix->nposted, 1u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 1ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_BYTES], 50ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_POST], 2ll);
	KUNIT_EXPECT_EQ(test, send_sent(IPOIB_TXQ_PACKETS), 3ull);
	KUNIT_EXPECT_EQ(test, send_sent(IPOIB_TXQ_ERRORS), 2ull);
	KUNIT_EXPECT_EQ(test, send_sent(IPOIB_TXQ_ERROR_BYTES), 250ull);
	KUNIT_EXPECT_EQ(test, txq->signalled, 0u);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CTL_RESTART, &fix->priv.ctl.events));
	KUNIT_EXPECT_EQ(test, fix->batch.count, 0u);
	KUNIT_EXPECT_EQ(test, fix->batch.packets, 0u);
	KUNIT_EXPECT_EQ(test, fix->batch.bytes, 0u);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(&txq->ring), 3u);
	send(send_plain(60), true);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 1ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_BYTES], 50ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_POST], 3ll);
	KUNIT_EXPECT_EQ(test, send_sent(IPOIB_TXQ_ERROR_BYTES), 310ull);
}

/* Sends that fail: an error, and sends that are flushed behind it */
static void send_failed(struct kunit *test)
{
	struct send_fixture *fix = test->priv;

	send(send_plain(50), false);
	send(send_plain(100), false);
	send(send_plain(150), true);
	send_done(0, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CTL_RECOVER, &fix->priv.ctl.events));
	KUNIT_EXPECT_EQ(test, send_completed(IPOIB_TXQ_ERRORS), 0ull);
	send_done(1, IB_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CTL_RECOVER, &fix->priv.ctl.events));
	send_done(2, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, send_completed(IPOIB_TXQ_ERRORS), 2ull);
	KUNIT_EXPECT_EQ(test, send_completed(IPOIB_TXQ_ERROR_BYTES), 250ull);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_ERROR], 2ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_PACKETS], 1ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_BYTES], 50ll);
	KUNIT_EXPECT_EQ(test, fix->done.packets, 3u);
	KUNIT_EXPECT_EQ(test, fix->done.bytes, 300u);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(&fix->txq.ring), 0u);
}

/* A full queue stops, and goes on with room for a quarter and a frame more, unless it is down. */
static void send_full(struct kunit *test)
{
	static const unsigned int segs[] = { 1, 4 };
	struct send_fixture *fix = test->priv;
	struct ipoib_txq *txq = &fix->txq;
	unsigned int i, wake;
	u32 tail;

	for (i = 0; i < ARRAY_SIZE(segs); i++) {
		txq->max_segs = segs[i];
		fix->nposted = 0;
		tail = txq->ring.tail;
		while (ipoib_ring_room(&txq->ring) > segs[i])
			send(send_plain(100), false);
		KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(txq->nq));
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_STOPPED], (s64)i);
		send(send_plain(100), true);
		KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(txq->nq));
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_STOPPED], i + 1ll);
		KUNIT_EXPECT_EQ(test, send_sent(IPOIB_TXQ_STOPPED), i + 1ull);
		/* Free slots after the completion of send number n from the tail: n and the rest */
		wake = (SEND_SLOTS - 1) / 4 + segs[i] - ipoib_ring_room(&txq->ring);
		send_done(tail + wake - 2, IB_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(txq->nq));
		clear_bit(IPOIB_FLAG_UP, &fix->priv.flags);
		send_done(tail + wake - 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, netif_tx_queue_stopped(txq->nq));
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_WOKEN], (s64)i);
		set_bit(IPOIB_FLAG_UP, &fix->priv.flags);
		/* A poll with a completion that frees nothing */
		send_done(tail, IB_WC_SUCCESS);
		KUNIT_EXPECT_FALSE(test, netif_tx_queue_stopped(txq->nq));
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_WOKEN], i + 1ll);
		/* A queue that is not stopped is not woken. */
		send_done(txq->ring.head - 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_WOKEN], i + 1ll);
		KUNIT_EXPECT_EQ(test, send_completed(IPOIB_TXQ_WOKEN), i + 1ull);
		KUNIT_EXPECT_EQ(test, ipoib_ring_used(&txq->ring), 0u);
	}
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_QUEUE_FULL], 0ll);
	while (ipoib_ring_room(&txq->ring))
		ipoib_ring_fill_empty(&txq->ring);
	send(send_plain(100), true);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_QUEUE_FULL], 1ll);
}

/* The handler ends once the CQ is empty and armed. */
static void send_polls(struct kunit *test)
{
	struct send_fixture *fix = test->priv;
	struct ipoib_txq *txq = &fix->txq;
	unsigned int i;

	for (i = 0; i < IPOIB_POLL_WC; i++) {
		send(send_plain(100), true);
		fix->wc[i].wr_id = i;
	}
	fix->nwc = IPOIB_POLL_WC;
	KUNIT_EXPECT_EQ(test, ipoib_ud_tx_poll(&txq->napi, 64), 64);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(&txq->ring), 0u);
	KUNIT_EXPECT_EQ(test, fix->armed, 0u);
	KUNIT_EXPECT_EQ(test, ipoib_ud_tx_poll(&txq->napi, 64), 0);
	KUNIT_EXPECT_EQ(test, fix->armed, 1u);
	KUNIT_EXPECT_EQ(test, fix->again, 0u);
	/* A completion came before the CQ was armed. */
	fix->missed = 1;
	KUNIT_EXPECT_EQ(test, ipoib_ud_tx_poll(&txq->napi, 64), 0);
	KUNIT_EXPECT_EQ(test, fix->armed, 2u);
	KUNIT_EXPECT_EQ(test, fix->again, 1u);
	fix->goes_on = true;
	KUNIT_EXPECT_EQ(test, ipoib_ud_tx_poll(&txq->napi, 64), 0);
	KUNIT_EXPECT_EQ(test, fix->armed, 2u);
	/* Sends are no work of NAPI. */
	KUNIT_EXPECT_EQ(test, fix->polled, 0);
}

/* Segments of the HCA, or of the driver */
static void send_segments(struct kunit *test)
{
	static const struct {
		bool ipv6, hca_cuts;
		unsigned int max_segs, sends;
	} rows[] = {
		{ false, true, 33, 1 },
		{ true, true, 33, 3 },
		{ false, false, 33, 3 },
		{ true, false, 33, 3 },
		{ false, true, 1, 1 },
		{ true, true, 1, 0 },
		{ false, false, 1, 0 },
		{ false, false, 2, 0 },
		{ false, false, 3, 3 },
	};
	struct send_fixture *fix = test->priv;
	unsigned int i, k, head, lost = 0;
	s64 packets = 0, bytes = 0, wire = 0;
	const struct ib_ud_wr *wr;
	struct sk_buff *skb;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		head = rows[i].ipv6 ? 64 : 44;
		fix->nposted = 0;
		fix->txq.hca_cuts = rows[i].hca_cuts;
		fix->txq.max_segs = rows[i].max_segs;
		skb = skb_get(send_frame(rows[i].ipv6, 2500, 1000));
		send(skb, true);
		KUNIT_EXPECT_EQ(test, fix->nposted, rows[i].sends);
		lost += !rows[i].sends;
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_MAP], (s64)lost);
		if (rows[i].sends) {
			packets++;
			bytes += head + 2500;
			wire += 3 * head + 2500;
		}
		wr = &fix->wr[0];
		if (rows[i].sends == 1) {
			KUNIT_EXPECT_TRUE(test, wr->wr.opcode == IB_WR_LSO);
			KUNIT_EXPECT_EQ(test, wr->wr.send_flags,
					(int)(IB_SEND_IP_CSUM | IB_SEND_SIGNALED));
			KUNIT_EXPECT_PTR_EQ(test, wr->header, skb->data);
			KUNIT_EXPECT_EQ(test, wr->hlen, (int)head);
			KUNIT_EXPECT_EQ(test, wr->mss, 1000);
			KUNIT_EXPECT_EQ(test, wr->wr.num_sge, 1);
			KUNIT_EXPECT_EQ(test, fix->sge[0].length, 2500u);
		}
		for (k = 0; rows[i].sends > 1 && k < rows[i].sends; k++) {
			KUNIT_EXPECT_TRUE(test, wr[k].wr.opcode == IB_WR_SEND);
			KUNIT_EXPECT_EQ(test, wr[k].wr.send_flags,
					k == 2 ? (int)IB_SEND_SIGNALED : 0);
			KUNIT_EXPECT_EQ(test, fix->sge[k].length, head);
		}
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_GSO], packets);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_GSO_BYTES], bytes);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_GSO_WIRE], 3 * packets);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_GSO_WIRE_BYTES], wire);
		ipoib_ring_flush(&fix->txq.ring);
		KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
		kfree_skb(skb);
	}
	/* A batch has no room for these beside a frame that waits: two posts. */
	fix->nposted = 0;
	fix->posts = 0;
	fix->txq.max_segs = 33;
	send(send_plain(100), false);
	send(send_frame(false, 3300, 100), true);
	KUNIT_EXPECT_EQ(test, fix->posts, 2u);
	KUNIT_EXPECT_EQ(test, fix->nposted, 34u);
}

/* Headers in front of the segments of an HCA: 124 octets at most, all in the linear part */
static void send_heads(struct kunit *test)
{
	struct send_fixture *fix = test->priv;
	struct sk_buff *skb;
	unsigned int i;

	fix->txq.hca_cuts = true;
	for (i = 0; i < 2; i++) {
		skb = send_frame(false, 2500, 1000);
		skb_set_transport_header(skb, IPOIB_HARD_LEN + 100 + i);
		tcp_hdr(skb)->doff = 5;
		send(skb, true);
		KUNIT_EXPECT_EQ(test, fix->nposted, 1u);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_MAP], (s64)i);
	}
	skb = send_frame(false, 2500, 1000);
	skb->data_len = 2501;
	send(skb, true);
	KUNIT_EXPECT_EQ(test, fix->nposted, 1u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_MAP], 2ll);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(&fix->txq.ring), 1u);
}

/* Checksums of the HCA, or of the driver */
static void send_sums(struct kunit *test)
{
	static const struct {
		bool ipv6, hca_cuts;
		unsigned int max_segs;
		bool hca;
	} rows[] = {
		{ false, true, 33, true },
		{ true, true, 33, false },
		{ false, false, 33, false },
		{ true, true, 1, true },
		{ false, false, 1, true },
	};
	struct send_fixture *fix = test->priv;
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->txq.hca_cuts = rows[i].hca_cuts;
		fix->txq.max_segs = rows[i].max_segs;
		skb = send_frame(rows[i].ipv6, 100, 0);
		skb->ip_summed = CHECKSUM_PARTIAL;
		send(skb, true);
		KUNIT_EXPECT_EQ(test, fix->nposted, i + 1);
		KUNIT_EXPECT_EQ(test, fix->wr[i].wr.send_flags,
				rows[i].hca ? (int)IB_SEND_IP_CSUM : 0);
	}
}

/* GSO frames that are segmented here or by the HCA, and not by the stack */
static void send_offers(struct kunit *test)
{
	struct sk_buff *skb = send_frame(false, 2500, 1000);
	struct send_fixture *fix = test->priv;
	struct rdma_netdev rn = {};

	fix->txq.hca_cuts = true;
	fix->txq.ring.max_sge = 3;
	KUNIT_EXPECT_TRUE(test, ipoib_ud_cut_check(&fix->priv, skb));
	skb_shinfo(skb)->nr_frags = 2;
	KUNIT_EXPECT_TRUE(test, ipoib_ud_cut_check(&fix->priv, skb));
	skb_shinfo(skb)->nr_frags = 3;
	KUNIT_EXPECT_FALSE(test, ipoib_ud_cut_check(&fix->priv, skb));
	fix->priv.rn = &rn;
	KUNIT_EXPECT_TRUE(test, ipoib_ud_cut_check(&fix->priv, skb));
	fix->priv.rn = NULL;
	skb_shinfo(skb)->nr_frags = 0;
	skb_set_network_header(skb, IPOIB_HARD_LEN - 1);
	KUNIT_EXPECT_FALSE(test, ipoib_ud_cut_check(&fix->priv, skb));
	skb_set_network_header(skb, IPOIB_HARD_LEN);
	skb_set_transport_header(skb, IPOIB_HARD_LEN + 100);
	tcp_hdr(skb)->doff = 5;
	KUNIT_EXPECT_TRUE(test, ipoib_ud_cut_check(&fix->priv, skb));
	skb_set_transport_header(skb, IPOIB_HARD_LEN + 101);
	tcp_hdr(skb)->doff = 5;
	KUNIT_EXPECT_FALSE(test, ipoib_ud_cut_check(&fix->priv, skb));
	kfree_skb(skb);
	/* The driver: three segments */
	skb = send_frame(true, 2500, 1000);
	fix->txq.max_segs = 3;
	KUNIT_EXPECT_TRUE(test, ipoib_ud_cut_check(&fix->priv, skb));
	fix->txq.max_segs = 2;
	KUNIT_EXPECT_FALSE(test, ipoib_ud_cut_check(&fix->priv, skb));
	kfree_skb(skb);
}

/* Frames longer than the MTU, and segments */
static void send_lengths(struct kunit *test)
{
	struct sk_buff *skb = send_plain(544);

	KUNIT_EXPECT_FALSE(test, ipoib_ud_too_long(skb, 540));
	KUNIT_EXPECT_TRUE(test, ipoib_ud_too_long(skb, 539));
	kfree_skb(skb);
	skb = send_frame(false, 2500, 1000);
	KUNIT_EXPECT_FALSE(test, ipoib_ud_too_long(skb, 1040));
	KUNIT_EXPECT_TRUE(test, ipoib_ud_too_long(skb, 1039));
	kfree_skb(skb);
}

/* Frames that waited are posted at once, under the transmit lock, or dropped. */
static void send_waited(struct kunit *test)
{
	struct send_fixture *fix = test->priv;
	struct ipoib_txq *txq = &fix->txq;
	struct sk_buff_head frames;
	unsigned int i;

	__skb_queue_head_init(&frames);
	for (i = 0; i < 4; i++) {
		__skb_queue_tail(&frames, send_plain(100));
		__skb_queue_tail(&frames, send_plain(101));
		if (i == 1)
			clear_bit(IPOIB_FLAG_UP, &fix->priv.flags);
		if (i == 2) {
			set_bit(IPOIB_FLAG_UP, &fix->priv.flags);
			clear_bit(IPOIB_FLAG_QP, &fix->priv.flags);
		}
		if (i == 3) {
			set_bit(IPOIB_FLAG_QP, &fix->priv.flags);
			fix->priv.ntxq = 0;
		}
		ipoib_ud_send_begin(txq);
		KUNIT_EXPECT_TRUE(test, in_softirq());
		KUNIT_EXPECT_TRUE(test, spin_is_locked(&txq->nq->_xmit_lock));
		ipoib_ud_send_end(txq, &frames, send_xmit);
		KUNIT_EXPECT_FALSE(test, in_softirq());
		KUNIT_EXPECT_TRUE(test, skb_queue_empty(&frames));
		KUNIT_EXPECT_EQ(test, fix->nposted, 2u);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_FLUSHED], 2ll * i);
	}
	KUNIT_EXPECT_EQ(test, fix->sge[0].length, 100u);
	KUNIT_EXPECT_EQ(test, fix->sge[1].length, 101u);
}

static struct kunit_case ipoib_send_cases[] = {
	KUNIT_CASE(send_posted),
	KUNIT_CASE(send_signalled),
	KUNIT_CASE(send_refused),
	KUNIT_CASE(send_failed),
	KUNIT_CASE(send_full),
	KUNIT_CASE(send_polls),
	KUNIT_CASE(send_segments),
	KUNIT_CASE(send_heads),
	KUNIT_CASE(send_sums),
	KUNIT_CASE(send_offers),
	KUNIT_CASE(send_lengths),
	KUNIT_CASE(send_waited),
	{}
};

struct kunit_suite ipoib_send_suite = {
	.name = "ipoib_send",
	.init = send_init,
	.exit = send_exit,
	.test_cases = ipoib_send_cases,
};
