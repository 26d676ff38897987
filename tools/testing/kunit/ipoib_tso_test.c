// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of ipoib_tso.c: compare the octets of each segment that an HCA would read with the
 * result of skb_gso_segment() for the same frame.
 *
 * The device has no DMA, as in ipoib_ring_test.c.
 */
#include <net/ip6_checksum.h>

#include "ipoib_suites.h"
#include "ipoib_tso.h"

/* The headers that were synchronised last, for the HCA */
static u64 tso_synced;
static size_t tso_synced_len;

static void tso_sync(u64 addr, size_t len, unsigned int dir)
{
	tso_synced = dir == DMA_TO_DEVICE ? addr : 0;
	tso_synced_len = len;
}

#define ib_dma_sync_single_for_device(ca, addr, len, dir)	tso_sync(addr, len, dir)

#include "ipoib_tso.c"

#define TSO_SLOTS	64
#define TSO_SEGS	32

/**
 * struct tso_fixture - fixture of a case
 * @ca: a device without DMA
 * @pd: protection domain, of which the ring reads two members
 * @ring: an empty ring of TSO_SLOTS slots
 * @wr: for ipoib_tso_fill()
 * @sge: lists of @wr
 * @octets: buffer for a segment
 */
struct tso_fixture {
	struct ib_device ca;
	struct ib_pd pd;
	struct ipoib_ring ring;
	struct ib_ud_wr wr[TSO_SEGS];
	struct ib_sge sge[TSO_SEGS][IPOIB_TX_SGE];
	u8 octets[PAGE_SIZE];
};

/**
 * struct tso_shape - shape of a frame
 * @v6: IPv6, with @ip_options octets of Destination Options
 * @udp: UDP in place of TCP
 * @ip_options: octets of IP options
 * @tcp_options: octets of TCP options
 * @fin: FIN and PSH are set
 * @cwr: CWR is set
 * @linear: octets of payload in the linear part
 * @nfrags: fragments
 * @frag: octets of a fragment
 * @mss: octets of payload of a segment
 */
struct tso_shape {
	bool v6;
	bool udp;
	u8 ip_options;
	u8 tcp_options;
	bool fin;
	bool cwr;
	unsigned int linear;
	unsigned int nfrags;
	unsigned int frag;
	unsigned int mss;
};

static int tso_init(struct kunit *test)
{
	struct tso_fixture *fixture = kvzalloc(sizeof(*fixture), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!fixture)
		return -ENOMEM;
	fixture->pd.device = &fixture->ca;
	fixture->pd.local_dma_lkey = 0x1234;
	err = ipoib_ring_init(&fixture->ring, &fixture->pd, TSO_SLOTS,
			      IPOIB_TX_SGE, IPOIB_TX_COPY);
	if (err) {
		kvfree(fixture);
		return err;
	}
	/* Before the wraps of slots and of u32 */
	fixture->ring.head = (u32)-3;
	fixture->ring.tail = (u32)-3;
	for (i = 0; i < TSO_SEGS; i++)
		fixture->wr[i].wr.sg_list = fixture->sge[i];
	test->priv = fixture;
	return 0;
}

static void tso_exit(struct kunit *test)
{
	struct tso_fixture *fixture = test->priv;

	ipoib_ring_flush(&fixture->ring);
	ipoib_ring_exit(&fixture->ring);
	kvfree(fixture);
}

static u8 tso_protocol(const struct tso_shape *shape)
{
	return shape->udp ? IPPROTO_UDP : IPPROTO_TCP;
}

static void tso_put_ipv4(struct sk_buff *skb, const struct tso_shape *shape)
{
	struct iphdr *ip = skb_put_zero(skb, sizeof(*ip));

	ip->version = 4;
	ip->ihl = (sizeof(*ip) + shape->ip_options) / 4;
	ip->tos = 2;
	ip->id = htons(0xfffe);
	ip->frag_off = htons(IP_DF);
	ip->ttl = 64;
	ip->protocol = tso_protocol(shape);
	ip->saddr = htonl(0x0a090001);
	ip->daddr = htonl(0x0a0900fe);
	/* IPOPT_NOOP */
	memset(skb_put(skb, shape->ip_options), 1, shape->ip_options);
}

static void tso_put_ipv6(struct sk_buff *skb, const struct tso_shape *shape)
{
	struct ipv6hdr *ip6 = skb_put_zero(skb, sizeof(*ip6));
	u8 *options;

	ip6->version = 6;
	ip6->hop_limit = 64;
	ip6->saddr.s6_addr[0] = 0xfd;
	ip6->saddr.s6_addr[15] = 1;
	ip6->daddr.s6_addr[0] = 0xfd;
	ip6->daddr.s6_addr[15] = 0xfe;
	ip6->nexthdr = tso_protocol(shape);
	if (!shape->ip_options)
		return;
	ip6->nexthdr = IPPROTO_DSTOPTS;
	options = skb_put_zero(skb, shape->ip_options);
	options[0] = tso_protocol(shape);
	options[1] = shape->ip_options / 8 - 1;
	options[2] = IPV6_TLV_PADN;
	options[3] = shape->ip_options - 4;
}

static void tso_put_tcp(struct sk_buff *skb, const struct tso_shape *shape)
{
	struct tcphdr *tcp = skb_put_zero(skb, sizeof(*tcp));

	tcp->source = htons(7000);
	tcp->dest = htons(7001);
	tcp->seq = htonl(0xfffffff0);
	tcp->ack_seq = htonl(0x12345678);
	tcp->doff = (sizeof(*tcp) + shape->tcp_options) / 4;
	tcp->ack = 1;
	tcp->fin = shape->fin;
	tcp->psh = shape->fin;
	tcp->cwr = shape->cwr;
	tcp->window = htons(501);
	/* TCPOPT_NOP */
	memset(skb_put(skb, shape->tcp_options), 1, shape->tcp_options);
}

static void tso_put_udp(struct sk_buff *skb)
{
	struct udphdr *udp = skb_put_zero(skb, sizeof(*udp));

	udp->source = htons(7000);
	udp->dest = htons(7001);
}

static void tso_put_payload(struct sk_buff *skb, const struct tso_shape *shape)
{
	unsigned int i, octet = 0;
	struct page *page;
	u8 *to;

	for (i = 0; i < shape->linear; i++)
		*(u8 *)skb_put(skb, 1) = ++octet % 251;
	for (i = 0; i < shape->nfrags; i++) {
		page = alloc_page(GFP_KERNEL | __GFP_NOFAIL);
		to = page_address(page) + 1;
		while (to <= (u8 *)page_address(page) + shape->frag)
			*to++ = ++octet % 251;
		skb_add_rx_frag(skb, i, page, 1, shape->frag, PAGE_SIZE);
	}
}

static u32 tso_gso_type(const struct tso_shape *shape)
{
	if (shape->udp)
		return SKB_GSO_UDP_L4;
	return (shape->v6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4) |
	       (shape->cwr ? SKB_GSO_TCP_ECN : 0);
}

static __sum16 *tso_check(const struct sk_buff *skb)
{
	return (__sum16 *)(skb->head + skb->csum_start + skb->csum_offset);
}

/* Work of the stack: lengths, sum of the pseudo header, GSO fields */
static void tso_finish(struct sk_buff *skb, const struct tso_shape *shape)
{
	unsigned int len = skb->len - skb_transport_offset(skb);
	struct skb_shared_info *info = skb_shinfo(skb);
	struct ipv6hdr *ip6 = ipv6_hdr(skb);
	u8 protocol = tso_protocol(shape);
	struct iphdr *ip = ip_hdr(skb);

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = shape->udp ? offsetof(struct udphdr, check) :
					offsetof(struct tcphdr, check);
	if (shape->udp)
		udp_hdr(skb)->len = htons(len);
	if (shape->v6) {
		ip6->payload_len = htons(shape->ip_options + len);
		*tso_check(skb) = ~csum_ipv6_magic(&ip6->saddr, &ip6->daddr,
						   len, protocol, 0);
	} else {
		ip->tot_len = htons(skb->len - IPOIB_ENCAP_LEN);
		ip_send_check(ip);
		*tso_check(skb) = ~csum_tcpudp_magic(ip->saddr, ip->daddr, len,
						     protocol, 0);
	}
	info->gso_type = tso_gso_type(shape);
	info->gso_size = shape->mss;
	info->gso_segs = ipoib_tso_segments(skb);
}

static struct sk_buff *tso_frame(const struct tso_shape *shape)
{
	struct sk_buff *skb = alloc_skb(512 + shape->linear,
					GFP_KERNEL | __GFP_NOFAIL);
	u8 *encap;

	skb_reserve(skb, 128);
	skb->protocol = htons(shape->v6 ? ETH_P_IPV6 : ETH_P_IP);
	skb_reset_mac_header(skb);
	encap = skb_put_zero(skb, IPOIB_ENCAP_LEN);
	memcpy(encap, &skb->protocol, sizeof(skb->protocol));
	skb_set_network_header(skb, skb->len);
	if (shape->v6)
		tso_put_ipv6(skb, shape);
	else
		tso_put_ipv4(skb, shape);
	skb_set_transport_header(skb, skb->len);
	if (shape->udp)
		tso_put_udp(skb);
	else
		tso_put_tcp(skb, shape);
	tso_put_payload(skb, shape);
	tso_finish(skb, shape);
	return skb;
}

/* Gather the octets of a segment. Return: length, 0 if it is too long or has a wrong lkey */
static unsigned int tso_gather(struct tso_fixture *fixture, unsigned int i)
{
	const struct ib_sge *sge = fixture->sge[i];
	unsigned int len = 0;
	int left;

	for (left = fixture->wr[i].wr.num_sge; left > 0; left--, sge++) {
		if (len + sge->length > sizeof(fixture->octets) ||
		    sge->lkey != 0x1234)
			return 0;
		memcpy(fixture->octets + len,
		       (const void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	return len;
}

/* Fill the ring with a frame, which is consumed, and compare with the GSO of a copy. */
static void tso_compare_frame(struct kunit *test, struct sk_buff *skb)
{
	struct tso_fixture *fixture = test->priv;
	struct ipoib_ring *ring = &fixture->ring;
	struct sk_buff *copy, *segs, *seg;
	unsigned int n = ipoib_tso_segments(skb), i = 0, len;
	u32 head = ring->head;

	copy = skb_copy(skb, GFP_KERNEL);
	segs = copy ? skb_gso_segment(copy, 0) : NULL;
	KUNIT_EXPECT_FALSE(test, IS_ERR_OR_NULL(segs));
	kfree_skb(copy);
	if (IS_ERR_OR_NULL(segs)) {
		kfree_skb(skb);
		return;
	}
	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(ring, skb, fixture->wr, n), 0);
	KUNIT_EXPECT_EQ(test, ring->head, head + n);
	KUNIT_EXPECT_EQ(test, tso_synced, fixture->sge[n - 1][0].addr);
	KUNIT_EXPECT_EQ(test, tso_synced_len, (size_t)fixture->sge[n - 1][0].length);
	for (seg = segs; seg; seg = seg->next, i++) {
		if (i >= n)
			continue;
		len = tso_gather(fixture, i);
		KUNIT_EXPECT_EQ(test, len, seg->len);
		KUNIT_EXPECT_EQ(test, len, ring->slots[(head + i) & ring->mask].bytes);
		KUNIT_EXPECT_EQ(test, 1u, (unsigned int)
				ring->slots[(head + i) & ring->mask].packets);
		KUNIT_EXPECT_EQ(test, 0, len == seg->len ?
				memcmp(fixture->octets, seg->data, len) : 1);
	}
	KUNIT_EXPECT_EQ(test, i, n);
	kfree_skb_list(segs);
	ipoib_ring_flush(ring);
}

static void tso_compare(struct kunit *test, const struct tso_shape *shape)
{
	tso_compare_frame(test, tso_frame(shape));
}

static void tso_compare_all(struct kunit *test, const struct tso_shape *shapes,
			    unsigned int n)
{
	while (n--)
		tso_compare(test, shapes++);
}

static void tso_ipv4(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .linear = 5000, .mss = 1992 },
		{ .nfrags = 15, .frag = 4000, .mss = 1992, .tcp_options = 12 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

static void tso_ipv6(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .v6 = true, .linear = 5000, .mss = 1972 },
		{ .v6 = true, .nfrags = 15, .frag = 4000,
		  .mss = 1972, .tcp_options = 12 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

static void tso_options(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .ip_options = 40, .tcp_options = 40, .linear = 3000,
		  .mss = 536 },
		{ .v6 = true, .ip_options = 8, .tcp_options = 40,
		  .linear = 3000, .mss = 536 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

/* Pieces of odd length: the sums of later pieces are byte-swapped. */
static void tso_odd_pieces(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .linear = 333, .nfrags = 17, .frag = 1001, .mss = 777 },
		{ .v6 = true, .linear = 1, .nfrags = 16,
		  .frag = 3001, .mss = 1991 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

static void tso_last_octet(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .linear = 1000 * 3 + 1, .mss = 1000 },
		{ .nfrags = 1, .frag = 1001, .mss = 1000 },
		{ .linear = 3000, .mss = 1000 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

static void tso_fin_psh(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .fin = true, .linear = 4000, .mss = 1448 },
		{ .v6 = true, .fin = true, .linear = 4000, .mss = 1448 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

static void tso_cwr(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .cwr = true, .fin = true, .linear = 4000, .mss = 1448 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

static void tso_udp(struct kunit *test)
{
	static const struct tso_shape shapes[] = {
		{ .udp = true, .linear = 5000, .mss = 1200 },
		{ .udp = true, .nfrags = 9, .frag = 4000, .mss = 1200 },
		{ .udp = true, .linear = 333, .nfrags = 17, .frag = 1001, .mss = 777 },
		{ .udp = true, .ip_options = 40, .linear = 3001, .mss = 1000 },
		{ .udp = true, .v6 = true, .nfrags = 9, .frag = 4000, .mss = 1200 },
		{ .udp = true, .v6 = true, .ip_options = 8, .linear = 3001,
		  .mss = 999 },
	};

	tso_compare_all(test, shapes, ARRAY_SIZE(shapes));
}

/* UDP checksum 0 means no checksum: send 0xffff. */
static void tso_udp_zero(struct kunit *test)
{
	struct tso_shape shape = { .udp = true, .linear = 2000, .mss = 1000 };
	struct sk_buff *skb = tso_frame(&shape);
	struct tso_fixture *fixture = test->priv;
	unsigned int l4 = skb_transport_offset(skb);
	__sum16 *last, *check;
	struct sk_buff *copy;

	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(&fixture->ring, tso_frame(&shape),
					     fixture->wr, 2), 0);
	tso_gather(fixture, 0);
	ipoib_ring_flush(&fixture->ring);
	check = (__sum16 *)(fixture->octets + l4 + offsetof(struct udphdr, check));
	last = (__sum16 *)(skb->data + l4 + sizeof(struct udphdr) + 998);
	*last = ~csum_fold(csum_add(csum_unfold(*last), csum_unfold(*check)));
	copy = skb_copy(skb, GFP_KERNEL | __GFP_NOFAIL);
	tso_compare_frame(test, skb);
	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(&fixture->ring, copy, fixture->wr, 2), 0);
	tso_gather(fixture, 0);
	KUNIT_EXPECT_EQ(test, (u16)0xffff, (__force u16)*check);
	ipoib_ring_flush(&fixture->ring);
}

/* The last slot owns the frame, and frees it. */
static void tso_owner(struct kunit *test)
{
	struct tso_shape shape = { .linear = 3500, .mss = 1000 };
	struct tso_fixture *fixture = test->priv;
	struct ipoib_ring *ring = &fixture->ring;
	struct sk_buff *skb = tso_frame(&shape);
	struct ipoib_tx_done done = {};
	u32 head = ring->head;

	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(ring, skb_get(skb), fixture->wr, 4), 0);
	ipoib_ring_complete(ring, head + 2, 0, &done);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 2u);
	KUNIT_EXPECT_EQ(test, done.packets, 3u);
	KUNIT_EXPECT_EQ(test, done.bytes, 3u * (44 + 1000));
	ipoib_ring_complete(ring, head + 3, 0, &done);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	KUNIT_EXPECT_EQ(test, done.packets, 4u);
	KUNIT_EXPECT_EQ(test, done.bytes, 3u * (44 + 1000) + 44 + 500);
	kfree_skb(skb);
}

/* As many SGEs as the QP has, then one more: the failure changes nothing. */
static void tso_few_sge(struct kunit *test)
{
	struct tso_shape shape = { .nfrags = 8, .frag = 1000, .mss = 1000 };
	struct tso_fixture *fixture = test->priv;
	struct ipoib_ring *ring = &fixture->ring;
	struct sk_buff *skb;
	u32 head;

	ring->max_sge = IPOIB_TSO_SGE_MIN;
	shape.linear = 10;
	tso_compare(test, &shape);
	shape.mss = 1500;
	skb = tso_frame(&shape);
	head = ring->head;
	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(ring, skb, fixture->wr,
					     ipoib_tso_segments(skb)), -E2BIG);
	KUNIT_EXPECT_EQ(test, ring->head, head);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	KUNIT_EXPECT_PTR_EQ(test, ring->slots[(head + 5) & ring->mask].skb, NULL);
	KUNIT_EXPECT_EQ(test, 0u, (unsigned int)
			ring->slots[(head + 5) & ring->mask].nmapped);
	kfree_skb(skb);
}

/* ipoib_tso_takes() of a frame with its link-layer address, for at most @max_segs segments */
static bool tso_taken(struct kunit *test, struct sk_buff *skb,
		      unsigned int max_segs)
{
	struct tso_fixture *fixture = test->priv;
	bool taken;

	skb_push(skb, IPOIB_LLADDR_LEN);
	taken = ipoib_tso_takes(&fixture->ring, skb, max_segs);
	skb_pull(skb, IPOIB_LLADDR_LEN);
	return taken;
}

static void tso_takes(struct kunit *test)
{
	struct tso_shape shape = { .nfrags = 8, .frag = 1000, .mss = 1000 };
	struct tso_shape crumbs = { .linear = 10, .nfrags = 4, .frag = 100, .mss = 1000 };
	struct tso_fixture *fixture = test->priv;
	struct sk_buff *skb = tso_frame(&shape);

	KUNIT_EXPECT_TRUE(test, tso_taken(test, skb, 8));
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, 7));
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, 8));
	skb_shinfo(skb)->flags &= ~SKBFL_SHARED_FRAG;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, 8));
	skb->ip_summed = CHECKSUM_PARTIAL;
	/* Redirected from an Ethernet device */
	skb->network_header -= IPOIB_HARD_LEN - ETH_HLEN;
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, 8));
	skb->network_header += IPOIB_HARD_LEN - ETH_HLEN;
	/* Forwarded, with its transport header elsewhere */
	skb->csum_start += 2;
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, 8));
	skb->csum_start -= 2;
	/* A single fragment between the first and the last piece of a segment */
	fixture->ring.max_sge = IPOIB_TSO_SGE_MIN;
	KUNIT_EXPECT_TRUE(test, tso_taken(test, skb, 8));
	skb_shinfo(skb)->gso_size = 1001;
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, 8));
	fixture->ring.max_sge++;
	KUNIT_EXPECT_TRUE(test, tso_taken(test, skb, 8));
	kfree_skb(skb);
	/* A segment of all pieces: headers, linear part and fragments, of any size */
	skb = tso_frame(&crumbs);
	fixture->ring.max_sge = crumbs.nfrags + 2;
	KUNIT_EXPECT_TRUE(test, tso_taken(test, skb, 1));
	fixture->ring.max_sge--;
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, 1));
	kfree_skb(skb);
}

/* Headers that fill the copy buffer are too long. */
static void tso_head_limit(struct kunit *test)
{
	struct tso_shape shape = { .v6 = true, .ip_options = 192, .linear = 3000, .mss = 1000 };
	struct sk_buff *skb = tso_frame(&shape);

	KUNIT_EXPECT_EQ(test, ipoib_tso_head(skb), 256u);
	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, TSO_SEGS));
	kfree_skb(skb);
	shape.ip_options = 152;
	shape.tcp_options = 36;
	skb = tso_frame(&shape);
	KUNIT_EXPECT_EQ(test, ipoib_tso_head(skb), 252u);
	KUNIT_EXPECT_TRUE(test, tso_taken(test, skb, TSO_SEGS));
	kfree_skb(skb);
}

/* Headers that exceed the copy buffer */
static void tso_long_headers(struct kunit *test)
{
	struct tso_shape shape = { .v6 = true, .ip_options = 192, .linear = 3000,
				   .tcp_options = 40, .mss = 1000 };
	struct tso_fixture *fixture = test->priv;
	struct sk_buff *skb = tso_frame(&shape);
	u32 head = fixture->ring.head;

	KUNIT_EXPECT_FALSE(test, tso_taken(test, skb, TSO_SEGS));
	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(&fixture->ring, skb, fixture->wr, 3),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fixture->ring.head, head);
	kfree_skb(skb);
}

/* Frames that ipoib_tso_takes() does not take: each reason suffices. */
static void tso_refused(struct kunit *test)
{
	struct tso_shape shape = { .linear = 3500, .mss = 1000 };
	struct tso_fixture *fixture = test->priv;
	struct ipoib_ring *ring = &fixture->ring;
	struct sk_buff *skb = tso_frame(&shape);
	u32 head = ring->head;

	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(ring, skb, fixture->wr, 0), -EINVAL);
	skb->ip_summed = CHECKSUM_NONE;
	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(ring, skb, fixture->wr, 4), -EINVAL);
	skb->ip_summed = CHECKSUM_PARTIAL;
	/* The last octet of the headers is in a fragment. */
	skb->data_len = skb->len - ipoib_tso_head(skb) + 1;
	KUNIT_EXPECT_EQ(test, ipoib_tso_fill(ring, skb, fixture->wr, 4), -EINVAL);
	skb->data_len = 0;
	KUNIT_EXPECT_EQ(test, ring->head, head);
	kfree_skb(skb);
}

static struct kunit_case ipoib_tso_cases[] = {
	KUNIT_CASE(tso_ipv4),
	KUNIT_CASE(tso_ipv6),
	KUNIT_CASE(tso_options),
	KUNIT_CASE(tso_odd_pieces),
	KUNIT_CASE(tso_last_octet),
	KUNIT_CASE(tso_fin_psh),
	KUNIT_CASE(tso_cwr),
	KUNIT_CASE(tso_udp),
	KUNIT_CASE(tso_udp_zero),
	KUNIT_CASE(tso_owner),
	KUNIT_CASE(tso_few_sge),
	KUNIT_CASE(tso_takes),
	KUNIT_CASE(tso_head_limit),
	KUNIT_CASE(tso_long_headers),
	KUNIT_CASE(tso_refused),
	{}
};

struct kunit_suite ipoib_tso_suite = {
	.name = "ipoib_tso",
	.init = tso_init,
	.exit = tso_exit,
	.test_cases = ipoib_tso_cases,
};
