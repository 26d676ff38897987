// SPDX-License-Identifier: GPL-2.0
/* Tests of the receive side of datagram mode: posted receives, failed receives, pools */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* ipoib_queue_test.c defines functions of these names. */
#define ipoib_stat_add		rx_stat_add
#define ipoib_stat_traffic	rx_stat_traffic
#define ipoib_moder_init	rx_moder_init
#define ipoib_moder_complete	rx_moder_complete
#define ipoib_rx_police		rx_rx_police
#define ipoib_rx_deliver	rx_rx_deliver
#define ipoib_pool_create	rx_pool_create

#include "ipoib.h"

/* No tracepoints, control work, NAPI, CQs and stack */
#define IPOIB_TRACE_H
#define trace_ipoib_police(dev, gid, what, node)	((void)(gid))
#define ipoib_ctl_post(priv, event)			set_bit(event, &(priv)->ctl.events)
#define ipoib_moder_again(moder, usecs)			rx_again(moder, usecs)
#define ipoib_rx_alloc_skb(napi, len)			rx_alloc_skb(napi, len)
#define ib_dma_sync_single_for_device(ca, addr, len, dir) \
	((void)(ca), rx_sync(&rx_for_device, addr, len))
#define ib_dma_sync_single_for_cpu(ca, addr, len, dir)	rx_sync(&rx_for_cpu, addr, len)
#define netif_napi_add(dev, napi, poll)			rx_napi_add(napi)
#define netif_napi_del(napi)				((void)(napi))
#define napi_enable(napi)				((void)(napi))
#undef ib_create_cq
#define ib_create_cq					rx_create_cq
#define ib_destroy_cq(cq)				((void)(cq))
#define napi_gro_receive(napi, skb)			rx_receive(napi, skb)

/**
 * struct rx_syncs - synchronised memory
 * @n: number of pieces
 * @addrs: sum of their addresses
 * @octets: sum of their lengths
 */
struct rx_syncs {
	unsigned int n;
	u64 addrs;
	u64 octets;
};

/* Memory given to the HCA, and taken from it */
static struct rx_syncs rx_for_device, rx_for_cpu;

static void rx_sync(struct rx_syncs *syncs, u64 addr, size_t len)
{
	syncs->n++;
	syncs->addrs += addr;
	syncs->octets += len;
}

static struct sk_buff *rx_alloc_skb(struct napi_struct *napi, unsigned int len);
static void rx_again(struct ipoib_moder *moder, unsigned int usecs);
static void rx_napi_add(struct napi_struct *napi);
static void rx_receive(struct napi_struct *napi, struct sk_buff *skb);
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
 * @status: status of all completions
 * @len: their octets, from the GRH on
 * @flags: their wc_flags
 * @skb: the last frame that went up the stack
 * @refuses: @qp takes no receives
 * @no_skb: there is no memory for frames
 * @room: octets requested for the linear part of the last frame
 * @again: delay after which the handler is called again, in microseconds
 * @most: packets without a report, at most
 * @ended: completions of the polls that ended
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
	unsigned int len;
	int flags;
	struct sk_buff *skb;
	bool refuses;
	bool no_skb;
	unsigned int room;
	unsigned int again;
	unsigned int most;
	int ended;
	s64 stats[IPOIB_NR_STATS];
};

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	container_of(priv, struct rx_fixture, priv)->stats[stat] += n;
}

void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets, s64 npackets, s64 nbytes)
{
	ipoib_stat_add(priv, packets, npackets);
	ipoib_stat_add(priv, packets + IPOIB_RX_BYTES - IPOIB_RX_PACKETS, nbytes);
}

void ipoib_moder_init(struct ipoib_moder *moder, struct ib_cq *cq, struct napi_struct *napi,
		      const struct ipoib_moderation *setting, unsigned int most)
{
	container_of(setting, struct rx_fixture, priv.moderation)->most = most;
}

void ipoib_moder_complete(struct ipoib_moder *moder, int done)
{
	struct ipoib_rxq *rxq = container_of(moder, struct ipoib_rxq, moder);

	container_of(rxq->priv, struct rx_fixture, priv)->ended += done;
}

static void rx_again(struct ipoib_moder *moder, unsigned int usecs)
{
	struct ipoib_rxq *rxq = container_of(moder, struct ipoib_rxq, moder);

	container_of(rxq->priv, struct rx_fixture, priv)->again = usecs;
}

#undef ipoib_rx_alloc_skb

static struct sk_buff *rx_alloc_skb(struct napi_struct *napi, unsigned int len)
{
	struct ipoib_rxq *rxq = container_of(napi, struct ipoib_rxq, napi);
	struct rx_fixture *fix = container_of(rxq->priv, struct rx_fixture, priv);

	fix->room = len;
	return fix->no_skb ? NULL : ipoib_rx_alloc_skb(napi, len);
}

static void rx_receive(struct napi_struct *napi, struct sk_buff *skb)
{
	struct ipoib_rxq *rxq = container_of(napi, struct ipoib_rxq, napi);
	struct rx_fixture *fix = container_of(rxq->priv, struct rx_fixture, priv);

	kfree_skb(fix->skb);
	fix->skb = skb;
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
		if (fix->refuses || wr->wr_id >= RX_SIZE || wr->num_sge != 2 ||
		    fix->nposted - fix->ntaken == RX_SIZE)
			return -EINVAL;
		memcpy(fix->sge[wr->wr_id], wr->sg_list, sizeof(fix->sge[0]));
		fix->times[wr->wr_id]++;
		fix->queue[fix->nposted++ % RX_SIZE] = wr->wr_id;
	}
	return 0;
}

/* Write a frame of IPv4, without a GRH, whose payload counts up. */
static void rx_write(struct rx_fixture *fix, const struct ib_sge *sge)
{
	struct ipoib_encap encap = { .proto = htons(ETH_P_IP) };
	u8 *payload = (void *)(uintptr_t)sge[1].addr;
	unsigned int i;

	if (fix->len < IPOIB_RX_HEAD_LEN || fix->len - IPOIB_RX_HEAD_LEN > sge[1].length)
		return;
	memcpy((void *)(uintptr_t)sge[0].addr + sizeof(struct ib_grh), &encap, sizeof(encap));
	for (i = 0; i < fix->len - IPOIB_RX_HEAD_LEN; i++)
		payload[i] = i % 251;
}

static int rx_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	struct rx_fixture *fix = container_of(cq, struct rx_fixture, cq);
	int i;

	for (i = 0; i < n && fix->ntaken != fix->nposted; i++) {
		memset(&wc[i], 0, sizeof(wc[i]));
		wc[i].wr_id = fix->queue[fix->ntaken++ % RX_SIZE];
		wc[i].status = fix->status;
		wc[i].byte_len = fix->len;
		wc[i].wc_flags = fix->flags;
		wc[i].src_qp = 0xff000123;
		wc[i].slid = 5;
		rx_write(fix, fix->sge[wc[i].wr_id]);
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
	memset(&rx_for_device, 0, sizeof(rx_for_device));
	memset(&rx_for_cpu, 0, sizeof(rx_for_cpu));
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

	kfree_skb(fix->skb);
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

	KUNIT_EXPECT_FALSE(test, in_softirq());
	/* A quarter of the size at creation */
	KUNIT_EXPECT_EQ(test, fix->most, RX_SIZE / 2u);
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

/* A short queue: half of it is posted again at once. */
static void rx_short_queue(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;
	struct ipoib_rxq *rxq = fix->priv.rxq;

	ipoib_ud_rx_stop(rxq);
	fix->nposted = 0;
	rxq->size = 16;
	rxq->free[16] = 0xbeef;
	KUNIT_EXPECT_EQ(test, ipoib_ud_rx_start(rxq), 0);
	KUNIT_EXPECT_EQ(test, fix->nposted, 16u);
	KUNIT_EXPECT_EQ(test, (unsigned int)rxq->free[16], 0xbeefu);
	KUNIT_EXPECT_EQ(test, rx_call(fix, 7), 7);
	KUNIT_EXPECT_EQ(test, fix->nposted, 16u);
	KUNIT_EXPECT_EQ(test, rxq->nfree, 7u);
	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
	KUNIT_EXPECT_EQ(test, fix->nposted, 24u);
	KUNIT_EXPECT_EQ(test, rxq->nfree, 0u);
	KUNIT_EXPECT_EQ(test, fix->ended, 0);
	/* A poll that takes less than its budget ends. */
	fix->status = IB_WC_WR_FLUSH_ERR;
	KUNIT_EXPECT_EQ(test, rx_call(fix, 64), 16);
	KUNIT_EXPECT_EQ(test, fix->ended, 16);
}

/* Frames up to the length of a buffer: short ones are copied, others take their buffer along. */
static void rx_frames(struct kunit *test)
{
	static const unsigned int lens[] = { 0, 1, 256, 257, 2048 };
	struct rx_fixture *fix = test->priv;
	const struct ipoib_header *header;
	unsigned int i, k, len, octets = 0;
	struct ipoib_rx_slot *slot;
	struct sk_buff *skb;
	bool same;
	u8 octet;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		len = lens[i];
		fix->len = 44 + len;
		slot = &fix->priv.rxq->slots[fix->queue[fix->ntaken % RX_SIZE]];
		KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
		skb = fix->skb;
		KUNIT_EXPECT_TRUE(test, skb);
		if (!skb)
			return;
		octets += len + 4;
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], i + 1ll);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_BYTES], (s64)octets);
		KUNIT_EXPECT_EQ(test, skb->len, len);
		KUNIT_EXPECT_EQ(test, skb->data_len, len > 256 ? len : 0);
		KUNIT_EXPECT_EQ(test, fix->room, IPOIB_HARD_LEN + (len > 256 ? 128 : len));
		KUNIT_EXPECT_EQ(test, (bool)skb->pp_recycle, len > 256);
		KUNIT_EXPECT_EQ(test, !slot->page, len > 256);
		KUNIT_EXPECT_TRUE(test, skb->protocol == htons(ETH_P_IP));
		KUNIT_EXPECT_EQ(test, (int)skb->pkt_type, PACKET_HOST);
		KUNIT_EXPECT_EQ(test, (int)skb->ip_summed, CHECKSUM_NONE);
		header = (const void *)skb_mac_header(skb);
		KUNIT_EXPECT_PTR_EQ(test, (const void *)(header + 1), skb->data);
		KUNIT_EXPECT_TRUE(test, header->lladdr.flags_qpn == htonl(0x123));
		KUNIT_EXPECT_TRUE(test, !memchr_inv(header->lladdr.gid, 0, 16));
		for (k = 0, same = true; k < len; k++) {
			skb_copy_bits(skb, k, &octet, 1);
			same &= octet == k % 251;
		}
		KUNIT_EXPECT_TRUE(test, same);
	}
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 0ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MULTICAST], 0ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_CSUM], 0ll);
	/* Beyond these lengths */
	fix->len = 43;
	rx_call(fix, 1);
	fix->len = 44 + 2049;
	rx_call(fix, 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 2ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 5ll);
}

/* A frame of the own QPN is an own frame if its GRH has the own GID. */
static void rx_own(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;
	struct ib_grh *grh;
	unsigned int i;

	fix->len = 44 + 100;
	fix->flags = IB_WC_GRH;
	fix->priv.qpn = 0xff000123;
	fix->priv.local_gid.raw[15] = 7;
	rx_call(fix, 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 1ll);
	for (i = 0; i < RX_SIZE; i++) {
		grh = (void *)(uintptr_t)fix->sge[i][0].addr;
		grh->sgid.raw[15] = 7;
	}
	rx_call(fix, 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_ECHO], 1ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 1ll);
}

/* A frame with a GRH has the GID of its source. Frames to any group count as multicast. */
static void rx_groups(struct kunit *test)
{
	static const union ib_gid source = {
		.raw = { 0xfe, 0x80, [8] = 0x02, 0xc9, 0x03, 0x11, 0x22, 0x33, 0x44, 0x55 },
	};
	static const union ib_gid mgid = { .raw = { 0xff, 0x12, 0x40, 0x1b } };
	struct rx_fixture *fix = test->priv;
	const struct ipoib_header *header;
	struct ib_grh *grh;
	unsigned int i;

	fix->len = 44 + 100;
	fix->flags = IB_WC_GRH;
	for (i = 0; i < RX_SIZE; i++) {
		grh = (void *)(uintptr_t)fix->sge[i][0].addr;
		grh->sgid = source;
		grh->dgid = mgid;
	}
	for (i = 0; i < 2; i++) {
		rx_call(fix, 1);
		KUNIT_EXPECT_TRUE(test, fix->skb);
		if (!fix->skb)
			return;
		header = (const void *)skb_mac_header(fix->skb);
		KUNIT_EXPECT_TRUE(test, !memcmp(header->lladdr.gid, source.raw, sizeof(source)));
		KUNIT_EXPECT_EQ(test, (int)fix->skb->pkt_type,
				i ? PACKET_BROADCAST : PACKET_MULTICAST);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MULTICAST], i + 1ll);
		fix->priv.broadcast_mgid = mgid;
	}
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

/* The control work restores a QP after a failed receive, and once after flushed ones. */
static void rx_recovers(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;
	unsigned long *events = &fix->priv.ctl.events;

	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
	KUNIT_EXPECT_EQ(test, *events, 0ul);
	fix->status = IB_WC_LOC_LEN_ERR;
	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_RECOVER, events));
	fix->status = IB_WC_WR_FLUSH_ERR;
	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_RECOVER, events));
	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
	KUNIT_EXPECT_EQ(test, *events, 0ul);
}

/* Without a posted receive the handler is called again after 20 ms. */
static void rx_retries(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;

	fix->refuses = true;
	KUNIT_EXPECT_EQ(test, rx_call(fix, RX_SIZE - 1), RX_SIZE - 1);
	KUNIT_EXPECT_EQ(test, fix->priv.rxq->nfree, RX_SIZE - 1u);
	KUNIT_EXPECT_EQ(test, fix->again, 0u);
	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 1);
	KUNIT_EXPECT_EQ(test, fix->priv.rxq->nfree, (unsigned int)RX_SIZE);
	KUNIT_EXPECT_EQ(test, fix->again, 20000u);
	fix->refuses = false;
	KUNIT_EXPECT_EQ(test, rx_call(fix, 1), 0);
	KUNIT_EXPECT_EQ(test, fix->nposted, 2u * RX_SIZE);
}

/* Frames that do not go up the stack: of another VLAN, of this node, and without memory */
static void rx_discards(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;

	fix->len = 44 + 100;
	fix->priv.vid = 5;
	rx_call(fix, 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_VLAN], 1ll);
	fix->priv.vid = 0;
	fix->priv.qpn = 0xff000123;
	fix->priv.local_lid = 5;
	rx_call(fix, 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_ECHO], 1ll);
	fix->priv.qpn = 0;
	fix->no_skb = true;
	rx_call(fix, 1);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], 1ll);
	KUNIT_EXPECT_FALSE(test, fix->skb);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 0ll);
	fix->no_skb = false;
	rx_call(fix, 1);
	KUNIT_EXPECT_TRUE(test, fix->skb);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 1ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_VLAN] + fix->stats[IPOIB_RX_ECHO] +
			      fix->stats[IPOIB_RX_NOMEM], 3ll);
}

/* A checksum of the HCA counts while the interface has the feature. */
static void rx_sums(struct kunit *test)
{
	struct net_device *dev = kvzalloc(sizeof(*dev), GFP_KERNEL | __GFP_NOFAIL);
	struct rx_fixture *fix = test->priv;
	unsigned int i;

	fix->priv.netdev = dev;
	fix->len = 44 + 100;
	for (i = 0; i < 4; i++) {
		dev->features = i & 1 ? NETIF_F_RXCSUM : 0;
		fix->flags = i & 2 ? IB_WC_IP_CSUM_OK : 0;
		rx_call(fix, 1);
		KUNIT_EXPECT_TRUE(test, fix->skb);
		if (!fix->skb)
			break;
		KUNIT_EXPECT_EQ(test, (int)fix->skb->ip_summed,
				i == 3 ? CHECKSUM_UNNECESSARY : CHECKSUM_NONE);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_CSUM], i == 3 ? 1ll : 0ll);
		kfree_skb(fix->skb);
		fix->skb = NULL;
	}
	fix->priv.netdev = NULL;
	kvfree(dev);
}

/* A receive is given to the HCA whole; of a frame that has come its octets are taken. */
static void rx_synced(struct kunit *test)
{
	struct rx_fixture *fix = test->priv;
	const struct ib_sge *sge;
	unsigned int i;
	u64 addrs = 0;

	for (i = 0; i < RX_SIZE; i++)
		addrs += fix->sge[i][0].addr + fix->sge[i][1].addr;
	KUNIT_EXPECT_EQ(test, rx_for_device.n, 2u * RX_SIZE);
	KUNIT_EXPECT_EQ(test, rx_for_device.octets, RX_SIZE * (44 + 2048ull));
	KUNIT_EXPECT_EQ(test, rx_for_device.addrs, addrs);
	KUNIT_EXPECT_EQ(test, rx_for_cpu.n, 0u);
	fix->len = 44 + 300;
	sge = fix->sge[fix->queue[0]];
	addrs = sge[0].addr + sge[1].addr;
	rx_call(fix, 1);
	KUNIT_EXPECT_EQ(test, rx_for_cpu.n, 2u);
	KUNIT_EXPECT_EQ(test, rx_for_cpu.octets, 344ull);
	KUNIT_EXPECT_EQ(test, rx_for_cpu.addrs, addrs);
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
	KUNIT_CASE(rx_short_queue),
	KUNIT_CASE(rx_frames),
	KUNIT_CASE(rx_own),
	KUNIT_CASE(rx_groups),
	KUNIT_CASE(rx_failed),
	KUNIT_CASE(rx_recovers),
	KUNIT_CASE(rx_retries),
	KUNIT_CASE(rx_discards),
	KUNIT_CASE(rx_sums),
	KUNIT_CASE(rx_synced),
	KUNIT_CASE(rx_pool),
	{}
};

struct kunit_suite ipoib_rx_suite = {
	.name = "ipoib_rx",
	.init = rx_init,
	.exit = rx_exit,
	.test_cases = ipoib_rx_cases,
};
