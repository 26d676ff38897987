// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of ipoib_ring.c: ring arithmetic, copies, fill, completion and flush.
 *
 * The device has no DMA: its DMA addresses are kernel addresses, so the octets that an
 * HCA would read can be compared with the frame.
 */
#include <linux/sizes.h>

#include "ipoib_suites.h"
#include "ipoib_ring.h"

/* Result of a mapping that fails */
#define RING_DMA_ERROR	(~0ull)

/**
 * struct ring_dma - mappings of all rings and buffers
 * @octets: octets mapped now, by direction
 * @addrs: sum of their addresses
 * @wrong: calls with an invalid direction
 * @fails: number of the mapping that fails, from 1, or 0
 * @synced: address that was synchronised last
 * @synced_len: octets of that
 */
struct ring_dma {
	s64 octets[DMA_NONE];
	u64 addrs;
	unsigned int wrong;
	unsigned int fails;
	u64 synced;
	size_t synced_len;
};

static struct ring_dma ring_dma;

static void ring_dma_count(u64 addr, s64 len, unsigned int dir)
{
	if (dir >= DMA_NONE) {
		ring_dma.wrong++;
		return;
	}
	ring_dma.octets[dir] += len;
	ring_dma.addrs += len < 0 ? -addr : addr;
}

static u64 ring_dma_map(void *at, size_t len, unsigned int dir)
{
	if (ring_dma.fails && !--ring_dma.fails)
		return RING_DMA_ERROR;
	ring_dma_count((uintptr_t)at, len, dir);
	return (uintptr_t)at;
}

static void ring_dma_unmap(u64 addr, size_t len, unsigned int dir)
{
	ring_dma_count(addr, -(s64)len, dir);
}

static void ring_dma_sync(u64 addr, size_t len, unsigned int dir)
{
	ring_dma.wrong += dir != DMA_TO_DEVICE;
	ring_dma.synced = addr;
	ring_dma.synced_len = len;
}

#define ib_dma_map_single(ca, at, len, dir)		ring_dma_map(at, len, dir)
#define ib_dma_map_page(ca, page, offset, len, dir)	\
	ring_dma_map(page_address(page) + (offset), len, dir)
#define ib_dma_mapping_error(ca, addr)			((addr) == RING_DMA_ERROR)
#define ib_dma_unmap_single(ca, addr, len, dir)		ring_dma_unmap(addr, len, dir)
#define ib_dma_unmap_page(ca, addr, len, dir)		ring_dma_unmap(addr, len, dir)
#define ib_dma_sync_single_for_device(ca, addr, len, dir)	ring_dma_sync(addr, len, dir)

#include "ipoib_ring.c"

#define RING_SIZE	8

/**
 * struct ring_fixture - fixture of a case
 * @ca: a device without DMA
 * @pd: protection domain, of which the ring reads two members
 * @ring: an empty ring of RING_SIZE slots
 * @sge: for ipoib_ring_fill()
 */
struct ring_fixture {
	struct ib_device ca;
	struct ib_pd pd;
	struct ipoib_ring ring;
	struct ib_sge sge[IPOIB_TX_SGE];
};

/* Initial head and tail: ordinary values, and values before the wraps of slots and of u32 */
static const u32 ring_starts[] = { 0, 5, 0x7ffffffc, 0xfffffffc, 0xffffffff };

static int ring_init(struct kunit *test)
{
	struct ring_fixture *fixture = kzalloc(sizeof(*fixture), GFP_KERNEL);
	int err;

	if (!fixture)
		return -ENOMEM;
	memset(&ring_dma, 0, sizeof(ring_dma));
	fixture->pd.device = &fixture->ca;
	fixture->pd.local_dma_lkey = 0x1234;
	err = ipoib_ring_init(&fixture->ring, &fixture->pd, RING_SIZE,
			      IPOIB_TX_SGE, IPOIB_TX_COPY);
	if (err) {
		kfree(fixture);
		return err;
	}
	test->priv = fixture;
	return 0;
}

static void ring_exit(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;

	ipoib_ring_flush(&fixture->ring);
	ipoib_ring_exit(&fixture->ring);
	/* What was mapped has been unmapped. */
	KUNIT_EXPECT_EQ(test, ring_dma.octets[DMA_TO_DEVICE], 0ll);
	KUNIT_EXPECT_EQ(test, ring_dma.addrs, 0ull);
	KUNIT_EXPECT_EQ(test, ring_dma.wrong, 0u);
	kfree(fixture);
}

static struct ipoib_ring *ring_at(struct kunit *test, u32 start)
{
	struct ring_fixture *fixture = test->priv;

	fixture->ring.head = start;
	fixture->ring.tail = start;
	return &fixture->ring;
}

/* A frame of @len octets that count up from @seed */
static struct sk_buff *ring_frame(unsigned int len, u8 seed)
{
	struct sk_buff *skb = alloc_skb(len, GFP_KERNEL | __GFP_NOFAIL);
	unsigned int i;

	for (i = 0; i < len; i++)
		*(u8 *)skb_put(skb, 1) = seed + i;
	return skb;
}

/* The same with a linear part of @linear octets and @nfrags fragments of @each */
static struct sk_buff *ring_frame_frags(unsigned int linear,
					unsigned int nfrags, unsigned int each)
{
	struct sk_buff *skb = ring_frame(linear, 0);
	unsigned int i, octet = linear;
	struct page *page;
	u8 *to;

	for (i = 0; i < nfrags; i++) {
		page = alloc_page(GFP_KERNEL | __GFP_NOFAIL);
		to = page_address(page);
		while (to < (u8 *)page_address(page) + each)
			*to++ = octet++;
		skb_add_rx_frag(skb, i, page, 0, each, PAGE_SIZE);
	}
	return skb;
}

/* Do the SGEs hold @len octets that count up from @seed? */
static bool ring_sge_holds(const struct ib_sge *sge, int nsge,
			   unsigned int len, u8 seed)
{
	const u8 *from;
	unsigned int i;

	for (; nsge > 0; sge++, nsge--) {
		from = (const u8 *)(uintptr_t)sge->addr;
		if (sge->length > len || sge->lkey != 0x1234)
			return false;
		len -= sge->length;
		for (i = 0; i < sge->length; i++)
			if (from[i] != seed++)
				return false;
	}
	return len == 0;
}

static void used_and_room(struct kunit *test)
{
	struct ipoib_ring *ring;
	unsigned int i;
	u32 used;

	for (i = 0; i < ARRAY_SIZE(ring_starts); i++) {
		ring = ring_at(test, ring_starts[i]);
		for (used = 0; used <= RING_SIZE; used++) {
			ring->head = ring->tail + used;
			KUNIT_EXPECT_EQ(test, ipoib_ring_used(ring), used);
			KUNIT_EXPECT_EQ(test, ipoib_ring_room(ring),
					RING_SIZE - used);
		}
		ring->head = ring->tail;
	}
}

/* A fence is an earlier head, at most the size of the ring before the tail. */
static void passed(struct kunit *test)
{
	struct ipoib_ring *ring;
	unsigned int i;
	u32 fence;

	for (i = 0; i < ARRAY_SIZE(ring_starts); i++) {
		ring = ring_at(test, ring_starts[i]);
		for (fence = 0; fence <= RING_SIZE; fence++)
			KUNIT_EXPECT_TRUE(test,
					  ipoib_ring_passed(ring, ring->tail -
							    fence));
		for (fence = 1; fence <= RING_SIZE; fence++)
			KUNIT_EXPECT_FALSE(test,
					   ipoib_ring_passed(ring, ring->tail +
							     fence));
		/* A fence that is two billion frames old */
		KUNIT_EXPECT_TRUE(test, ipoib_ring_passed(ring, ring->tail -
							  0x7fffffff));
	}
}

static void bufs_check(struct kunit *test, unsigned int count,
		       unsigned int shift)
{
	struct ring_fixture *fixture = test->priv;
	unsigned int size = 1 << shift, i;
	struct ipoib_bufs bufs = {};
	u8 *buf;

	KUNIT_EXPECT_EQ(test, ipoib_bufs_init(&bufs, &fixture->ca, count, shift,
					      DMA_TO_DEVICE), 0);
	KUNIT_EXPECT_EQ(test, bufs.npages,
			(unsigned int)DIV_ROUND_UP(count * size, PAGE_SIZE));
	for (i = 0; i < count; i++) {
		buf = ipoib_bufs_va(&bufs, i);
		KUNIT_EXPECT_EQ(test, offset_in_page(buf) & (size - 1), 0ul);
		KUNIT_EXPECT_EQ(test, ipoib_bufs_dma(&bufs, i),
				(u64)(uintptr_t)buf);
		/* Still zero from the allocator: buffers do not overlap. */
		KUNIT_EXPECT_TRUE(test, !memchr_inv(buf, 0, size));
		memset(buf, i % 0xff + 1, size);
	}
	ipoib_bufs_exit(&bufs);
	KUNIT_EXPECT_EQ(test, bufs.npages, 0u);
	KUNIT_EXPECT_PTR_EQ(test, bufs.pages, NULL);
}

static void bufs_geometry(struct kunit *test)
{
	unsigned int per_page = PAGE_SIZE / IPOIB_TX_COPY;

	bufs_check(test, 1, ilog2(IPOIB_TX_COPY));
	bufs_check(test, per_page, ilog2(IPOIB_TX_COPY));
	bufs_check(test, per_page + 1, ilog2(IPOIB_TX_COPY));
	bufs_check(test, 1000, 6);
	bufs_check(test, 3, PAGE_SHIFT);
}

/* A page that cannot be mapped leaves no others. */
static void bufs_fail(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_bufs bufs = {};

	ring_dma.fails = 3;
	KUNIT_EXPECT_EQ(test, ipoib_bufs_init(&bufs, &fixture->ca, 5, PAGE_SHIFT,
					      DMA_FROM_DEVICE), -ENOMEM);
	KUNIT_EXPECT_EQ(test, ring_dma.fails, 0u);
	KUNIT_EXPECT_EQ(test, ring_dma.octets[DMA_FROM_DEVICE], 0ll);
	KUNIT_EXPECT_EQ(test, bufs.npages, 0u);
	KUNIT_EXPECT_PTR_EQ(test, bufs.pages, NULL);
	KUNIT_EXPECT_EQ(test, ipoib_bufs_init(&bufs, &fixture->ca, 5, PAGE_SHIFT,
					      DMA_FROM_DEVICE), 0);
	KUNIT_EXPECT_EQ(test, ring_dma.octets[DMA_FROM_DEVICE], 5 * (s64)PAGE_SIZE);
	ipoib_bufs_exit(&bufs);
	KUNIT_EXPECT_EQ(test, ring_dma.octets[DMA_FROM_DEVICE], 0ll);
}

/* A short frame is copied, and its skb freed at once. */
static void fill_copies(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0xfffffffe);
	struct sk_buff *skb = ring_frame(IPOIB_TX_COPY, 7);
	int nsge;

	skb_get(skb);
	nsge = ipoib_ring_fill(ring, skb, 0, fixture->sge);
	KUNIT_EXPECT_EQ(test, nsge, 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	KUNIT_EXPECT_PTR_EQ(test, ring->slots[6].skb, NULL);
	KUNIT_EXPECT_EQ(test, ring->slots[6].bytes, (u32)IPOIB_TX_COPY);
	KUNIT_EXPECT_EQ(test, ring_dma.synced, fixture->sge[0].addr);
	KUNIT_EXPECT_EQ(test, ring_dma.synced_len, (size_t)IPOIB_TX_COPY);
	kfree_skb(skb);
	KUNIT_EXPECT_TRUE(test, ring_sge_holds(fixture->sge, nsge,
					       IPOIB_TX_COPY, 7));
	KUNIT_EXPECT_EQ(test, ring->head, 0xffffffffu);
}

/* A longer frame belongs to the ring until its completion. */
static void fill_maps(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0xffffffff);
	struct sk_buff *skb = ring_frame_frags(100, 3, 500);
	struct ipoib_tx_done done = {};
	int nsge;

	skb_get(skb);
	nsge = ipoib_ring_fill(ring, skb, 0, fixture->sge);
	KUNIT_EXPECT_EQ(test, nsge, 4);
	KUNIT_EXPECT_TRUE(test, ring_sge_holds(fixture->sge, nsge, 1600, 0));
	KUNIT_EXPECT_PTR_EQ(test, ring->slots[7].skb, skb);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 2u);
	ipoib_ring_complete(ring, 0xffffffff, 0, &done);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	KUNIT_EXPECT_PTR_EQ(test, ring->slots[7].skb, NULL);
	KUNIT_EXPECT_EQ(test, done.packets, 1u);
	KUNIT_EXPECT_EQ(test, done.bytes, 1600u);
	KUNIT_EXPECT_EQ(test, ring->tail, 0u);
	kfree_skb(skb);
}

/* A frame that cannot be mapped leaves nothing mapped; headers of GSO frames never are. */
static void fill_mapped(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 5);
	s64 before = ring_dma.octets[DMA_TO_DEVICE];
	struct sk_buff *skb = ring_frame_frags(100, 3, 500);
	unsigned int i;

	skb_shinfo(skb)->gso_segs = 2;
	for (i = 1; i <= 4; i++) {
		ring_dma.fails = i;
		KUNIT_EXPECT_EQ(test, ipoib_ring_fill(ring, skb, 0, fixture->sge), -EIO);
		KUNIT_EXPECT_EQ(test, ring->head, 5u);
		KUNIT_EXPECT_PTR_EQ(test, ring->slots[5].skb, NULL);
		KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
		KUNIT_EXPECT_EQ(test, ring_dma.octets[DMA_TO_DEVICE], before);
	}
	KUNIT_EXPECT_EQ(test, ring_dma.fails, 0u);
	KUNIT_EXPECT_EQ(test, ipoib_ring_fill(ring, skb, 40, fixture->sge), 4);
	KUNIT_EXPECT_EQ(test, ring_dma.octets[DMA_TO_DEVICE], before + 60 + 1500);
	ipoib_ring_flush(ring);
	KUNIT_EXPECT_EQ(test, ring_dma.octets[DMA_TO_DEVICE], before);
}

/* An empty linear part has no SGE. */
static void fill_no_linear(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0);
	int nsge;

	nsge = ipoib_ring_fill(ring, ring_frame_frags(0, 2, 1000),
			       0, fixture->sge);
	KUNIT_EXPECT_EQ(test, nsge, 2);
	KUNIT_EXPECT_TRUE(test, ring_sge_holds(fixture->sge, nsge, 2000, 0));
}

/* A QP with a single SGE: the frame is linearized. */
static void fill_linearizes(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0);
	int nsge;

	ring->max_sge = 1;
	nsge = ipoib_ring_fill(ring, ring_frame_frags(50, 3, 400), 0, fixture->sge);
	KUNIT_EXPECT_EQ(test, nsge, 1);
	KUNIT_EXPECT_TRUE(test, ring_sge_holds(fixture->sge, nsge, 1250, 0));
}

/*
 * More fragments than the QP has SGEs: the fragments are copied into as many pieces as the QP
 * allows, each of minimum length. A clone, as kept by TCP, is unchanged.
 */
static void fill_gathers(struct kunit *test)
{
	/* piece: octets of a piece of the copy, a page at least; 0: not copied */
	static const struct {
		unsigned int max_sge, linear, nfrags, each, piece;
	} rows[] = {
		{ 3, 50, 2, 400, 0 },			/* equal to the limit */
		{ 3, 50, 3, 400, SZ_4K },
		{ 6, 50, 17, 3800, SZ_16K },
		{ 13, 50, 17, 3800, SZ_8K },
		{ 6, 0, 16, 4096, SZ_16K },
		{ 2, 50, 4, 4096, SZ_16K },
	};
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0);
	struct sk_buff *skb, *clone;
	unsigned int i, k, len, pieces;
	int nsge;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		pieces = rows[i].nfrags;
		if (rows[i].piece)
			pieces = DIV_ROUND_UP(pieces * rows[i].each,
					      max_t(unsigned int, rows[i].piece, PAGE_SIZE));
		pieces += !!rows[i].linear;
		ring->max_sge = rows[i].max_sge;
		skb = ring_frame_frags(rows[i].linear, rows[i].nfrags, rows[i].each);
		clone = skb_clone(skb, GFP_KERNEL | __GFP_NOFAIL);
		len = skb->len;
		nsge = ipoib_ring_fill(ring, skb, 0, fixture->sge);
		KUNIT_EXPECT_EQ(test, nsge, (int)pieces);
		KUNIT_EXPECT_TRUE(test, ring_sge_holds(fixture->sge, nsge, len, 0));
		KUNIT_EXPECT_EQ(test, skb_headlen(skb), rows[i].linear);
		KUNIT_EXPECT_EQ(test, (unsigned int)skb_shinfo(clone)->nr_frags, rows[i].nfrags);
		for (k = 0; k < rows[i].nfrags; k++)
			KUNIT_EXPECT_EQ(test, skb_frag_size(&skb_shinfo(clone)->frags[k]),
					rows[i].each);
		ipoib_ring_flush(ring);
		KUNIT_EXPECT_EQ(test, page_count(skb_frag_page(&skb_shinfo(clone)->frags[0])), 1);
		kfree_skb(clone);
	}
}

/* A frame that the HCA segments is mapped behind its headers, which count for each segment. */
static void fill_head(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0xffffffff);
	struct sk_buff *skb = ring_frame_frags(60, 1, 180);
	struct ipoib_tx_done done = {};
	int nsge;

	skb_shinfo(skb)->gso_segs = 4;
	nsge = ipoib_ring_fill(ring, skb, 44, fixture->sge);
	KUNIT_EXPECT_EQ(test, nsge, 2);
	KUNIT_EXPECT_TRUE(test, ring_sge_holds(fixture->sge, nsge, 16 + 180, 44));
	/* Not a copy, however short: the headers are read at the post. */
	KUNIT_EXPECT_PTR_EQ(test, ring->slots[7].skb, skb);
	ipoib_ring_complete(ring, 0xffffffff, 0, &done);
	KUNIT_EXPECT_EQ(test, done.packets, 4u);
	KUNIT_EXPECT_EQ(test, done.bytes, 4u * 44 + 16 + 180);
	/* Headers that are all of the linear part */
	skb = ring_frame_frags(44, 1, 300);
	skb_shinfo(skb)->gso_segs = 2;
	nsge = ipoib_ring_fill(ring, skb, 44, fixture->sge);
	KUNIT_EXPECT_EQ(test, nsge, 1);
	KUNIT_EXPECT_TRUE(test, ring_sge_holds(fixture->sge, nsge, 300, 44));
}

/* Fill to the last slot and complete in parts, for each initial head. */
static void fill_complete_wrap(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_tx_done done;
	struct ipoib_ring *ring;
	unsigned int start, i;

	for (start = 0; start < ARRAY_SIZE(ring_starts); start++) {
		ring = ring_at(test, ring_starts[start]);
		for (i = 0; i < RING_SIZE; i++)
			KUNIT_EXPECT_EQ(test, ipoib_ring_fill(ring, ring_frame(100 + i, i),
							      0, fixture->sge), 1);
		KUNIT_EXPECT_EQ(test, ipoib_ring_room(ring), 0u);
		memset(&done, 0, sizeof(done));
		ipoib_ring_complete(ring, ring_starts[start] + 2, 0, &done);
		KUNIT_EXPECT_EQ(test, done.packets, 3u);
		KUNIT_EXPECT_EQ(test, done.bytes, 303u);
		KUNIT_EXPECT_EQ(test, ipoib_ring_room(ring), 3u);
		ipoib_ring_complete(ring, ring->head - 1, 0, &done);
		KUNIT_EXPECT_EQ(test, done.packets, 8u);
		KUNIT_EXPECT_EQ(test, done.bytes, 828u);
		KUNIT_EXPECT_EQ(test, ipoib_ring_used(ring), 0u);
		KUNIT_EXPECT_EQ(test, ring->tail, ring_starts[start] + 8);
	}
}

/* Copies of frames in flight do not overlap. */
static void copies_apart(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0xfffffffd);
	struct ib_sge kept[RING_SIZE];
	unsigned int i;

	for (i = 0; i < RING_SIZE; i++) {
		ipoib_ring_fill(ring, ring_frame(IPOIB_TX_COPY, 17 * i),
				0, fixture->sge);
		kept[i] = fixture->sge[0];
	}
	for (i = 0; i < RING_SIZE; i++)
		KUNIT_EXPECT_TRUE(test, ring_sge_holds(&kept[i], 1,
						       IPOIB_TX_COPY, 17 * i));
}

/* Invalid completions of an HCA: the slot after the last, the slot before the first, and others */
static void complete_outside(struct kunit *test)
{
	static const int behind[] = { 0, 1, RING_SIZE, -3 };
	struct ring_fixture *fixture = test->priv;
	struct ipoib_tx_done done = {};
	struct ipoib_ring *ring;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(ring_starts); i++) {
		for (j = 0; j < ARRAY_SIZE(behind); j++) {
			ring = ring_at(test, ring_starts[i]);
			ipoib_ring_fill(ring, ring_frame(10, 0), 0, fixture->sge);
			ipoib_ring_fill(ring, ring_frame(10, 0), 0, fixture->sge);
			ipoib_ring_complete(ring, ring->head + behind[j], 0, &done);
			KUNIT_EXPECT_EQ(test, ring->tail, ring_starts[i]);
			KUNIT_EXPECT_EQ(test, done.packets, 0u);
		}
	}
	ring_at(test, 0);
}

/* A frame that was taken back leaves no trace in the ring. */
static void take_back(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0xffffffff);
	struct sk_buff *skb = ring_frame_frags(100, 3, 500);

	ipoib_ring_fill(ring, ring_frame(10, 0), 0, fixture->sge);
	ipoib_ring_fill(ring, skb, 0, fixture->sge);
	KUNIT_EXPECT_EQ(test, ring->head, 1u);
	KUNIT_EXPECT_PTR_EQ(test, ipoib_ring_take_back(ring), skb);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	KUNIT_EXPECT_PTR_EQ(test, ring->slots[0].skb, NULL);
	KUNIT_EXPECT_EQ(test, ring->slots[0].nmapped, 0u);
	KUNIT_EXPECT_EQ(test, ring->head, 0u);
	/* The frame of a copy was freed at the fill. */
	KUNIT_EXPECT_PTR_EQ(test, ipoib_ring_take_back(ring), NULL);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(ring), 0u);
	kfree_skb(skb);
}

static void flush(struct kunit *test)
{
	struct ring_fixture *fixture = test->priv;
	struct ipoib_ring *ring = ring_at(test, 0xfffffffe);
	struct sk_buff *skb = ring_frame(1000, 0);

	ipoib_ring_flush(ring);
	KUNIT_EXPECT_EQ(test, ring->tail, 0xfffffffeu);
	ipoib_ring_fill(ring, ring_frame(10, 0), 0, fixture->sge);
	ipoib_ring_fill(ring, skb_get(skb), 0, fixture->sge);
	ipoib_ring_fill(ring, ring_frame(10, 0), 0, fixture->sge);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(ring), 3u);
	ipoib_ring_flush(ring);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(ring), 0u);
	KUNIT_EXPECT_EQ(test, ring->tail, 1u);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	kfree_skb(skb);
}

static struct kunit_case ipoib_ring_cases[] = {
	KUNIT_CASE(used_and_room),
	KUNIT_CASE(passed),
	KUNIT_CASE(bufs_geometry),
	KUNIT_CASE(bufs_fail),
	KUNIT_CASE(fill_copies),
	KUNIT_CASE(fill_maps),
	KUNIT_CASE(fill_mapped),
	KUNIT_CASE(fill_no_linear),
	KUNIT_CASE(fill_linearizes),
	KUNIT_CASE(fill_gathers),
	KUNIT_CASE(fill_head),
	KUNIT_CASE(fill_complete_wrap),
	KUNIT_CASE(copies_apart),
	KUNIT_CASE(complete_outside),
	KUNIT_CASE(take_back),
	KUNIT_CASE(flush),
	{}
};

struct kunit_suite ipoib_ring_suite = {
	.name = "ipoib_ring",
	.init = ring_init,
	.exit = ring_exit,
	.test_cases = ipoib_ring_cases,
};
