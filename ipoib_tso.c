// SPDX-License-Identifier: GPL-2.0
/*
 * Segmentation of TCP and UDP on HCAs without large sends.
 *
 * A segment is a send, with a header in the copy buffer of its slot and payload in the frame. The
 * payload is mapped once, in the slot of the last segment, which owns the frame: sends complete in
 * order.
 *
 * The headers are those of inet_gso_segment(), ipv6_gso_segment(), tcp_gso_segment() and
 * __udp_gso_segment(), so a receiver sees no difference. tso_build_hdr() is no help: it computes no
 * checksums, repeats CWR, and knows no IPv6 extension headers.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/tso.h>

#include "ipoib_tso.h"
#include "ipoib_wire.h"

/* A frame that is being segmented. */
struct ipoib_tso {
	const struct sk_buff *skb;
	struct tso_t at;	/* next octet of its payload */
	/* mapped payload: the rest of the linear part, if any, then the fragments */
	struct ib_sge map[IPOIB_TX_SGE];
	unsigned int linear;	/* 1 if the linear part has payload, else 0 */
	unsigned int head;	/* octets of the headers */
	unsigned int l4;	/* offset of the TCP or UDP header */
	__wsum pseudo;		/* sum of the pseudo header without its length */
};

/*
 * Check whether ipoib_tso_fill() can send a GSO frame, with its &struct ipoib_header, in at most
 * @max_segs segments. Payload must not change between the sum and the DMA (sendfile(),
 * MSG_ZEROCOPY). Between the first and the last piece of a segment there are whole fragments: it
 * has SGEs enough if it covers fewer than @max_sge - 2 of them.
 * Context: ndo_features_check(), without the transmit lock.
 */
bool ipoib_tso_takes(const struct ipoib_ring *ring, const struct sk_buff *skb,
		     unsigned int max_segs)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int head, i;

	/*
	 * A forwarded frame may have its transport header elsewhere until it is sent; a frame
	 * redirected from an Ethernet device (act_mirred) its network header.
	 */
	if (skb->ip_summed != CHECKSUM_PARTIAL || skb_has_shared_frag(skb) ||
	    skb_network_offset(skb) != IPOIB_HARD_LEN ||
	    skb_checksum_start_offset(skb) != skb_transport_offset(skb))
		return false;
	head = ipoib_tso_head(skb);
	if (head >= IPOIB_LLADDR_LEN + IPOIB_TX_COPY || head > skb_headlen(skb) ||
	    ipoib_tso_segments(skb) > max_segs)
		return false;
	if (likely(info->nr_frags + 2 <= ring->max_sge))
		return true;
	for (i = 0; i + 1 < info->nr_frags; i++)
		if (skb_frag_size(&info->frags[i]) * (ring->max_sge - 2) < info->gso_size)
			return false;
	return true;
}

/* Returns the SGEs of the next @len octets, or -E2BIG if there are more than @room. */
static int ipoib_tso_payload(struct ipoib_tso *tso, unsigned int len,
			     struct ib_sge *sge, int room, __wsum *sum)
{
	const struct ib_sge *piece;
	unsigned int done, part;
	int nsge = 0;

	for (done = 0; done < len; done += part) {
		part = min_t(unsigned int, len - done, tso->at.size);
		if (unlikely(!part || nsge == room))
			return -E2BIG;
		/* 0 in the linear part, 1 in the first fragment. */
		piece = &tso->map[tso->at.next_frag_idx - !tso->linear];
		sge[nsge].addr = piece->addr + piece->length - tso->at.size;
		sge[nsge].length = part;
		sge[nsge++].lkey = piece->lkey;
		*sum = csum_block_add(*sum, csum_partial(tso->at.data, part, 0), done);
		tso_build_data(tso->skb, &tso->at, part);
	}
	return nsge;
}

/* Sum of a TCP or UDP header whose checksum is 0, and its payload */
static __sum16 ipoib_tso_sum(const struct ipoib_tso *tso, const void *l4,
			     unsigned int len, __wsum sum)
{
	unsigned int head = tso->head - tso->l4;

	sum = csum_add(sum, csum_partial(l4, head, tso->pseudo));
	return csum_fold(csum_add(sum, (__force __wsum)htonl(head + len)));
}

/* Headers of segment @i with @len octets of payload, whose sum is @sum */
static void ipoib_tso_header(const struct ipoib_tso *tso, u8 *to, unsigned int i,
			     unsigned int len, bool last, __wsum sum)
{
	unsigned int net = skb_network_offset(tso->skb);
	struct udphdr *udp = (void *)(to + tso->l4);
	struct tcphdr *tcp = (void *)(to + tso->l4);
	struct ipv6hdr *ip6 = (void *)(to + net);
	struct iphdr *ip = (void *)(to + net);

	memcpy(to, tso->skb->data, tso->head);
	if (tso->skb->protocol == htons(ETH_P_IPV6)) {
		ip6->payload_len = htons(tso->head + len - net - sizeof(*ip6));
	} else {
		ip->tot_len = htons(tso->head + len - net);
		ip->id = htons(ntohs(ip->id) + i);
		ip_send_check(ip);
	}
	if (ipoib_tso_is_udp(tso->skb)) {
		udp->len = htons(sizeof(*udp) + len);
		udp->check = 0;
		udp->check = ipoib_tso_sum(tso, udp, len, sum) ?: CSUM_MANGLED_0;
		return;
	}
	tcp->seq = htonl(ntohl(tcp->seq) + i * skb_shinfo(tso->skb)->gso_size);
	if (i)
		tcp->cwr = 0;
	if (!last) {
		tcp->fin = 0;
		tcp->psh = 0;
	}
	tcp->check = 0;
	tcp->check = ipoib_tso_sum(tso, tcp, len, sum);
}

/* Segment @i, in a slot behind the head of the ring. Returns 0 or -E2BIG. */
static int ipoib_tso_segment(struct ipoib_tso *tso, struct ipoib_ring *ring,
			     struct ib_ud_wr *wr, unsigned int i, unsigned int n)
{
	unsigned int mss = skb_shinfo(tso->skb)->gso_size;
	u32 at = (ring->head + i) & ring->mask;
	struct ib_sge *sge = wr->wr.sg_list;
	unsigned int len = mss;
	__wsum sum = 0;
	int nsge;

	if (i == n - 1)
		len = tso->skb->len - tso->head - i * mss;
	nsge = ipoib_tso_payload(tso, len, sge + 1, ring->max_sge - 1, &sum);
	if (unlikely(nsge < 0))
		return nsge;
	ipoib_tso_header(tso, ipoib_bufs_va(&ring->copies, at), i, len, i == n - 1, sum);
	sge->addr = ipoib_bufs_dma(&ring->copies, at);
	sge->length = tso->head;
	sge->lkey = ring->lkey;
	ib_dma_sync_single_for_device(ring->ca, sge->addr, tso->head, DMA_TO_DEVICE);
	ring->slots[at].bytes = tso->head + len;
	ring->slots[at].packets = 1;
	wr->wr.num_sge = nsge + 1;
	wr->wr.opcode = IB_WR_SEND;
	wr->wr.send_flags = 0;
	return 0;
}

/**
 * ipoib_tso_fill - put the segments of a frame into slots from the head on
 * @ring: ring with copy buffers and room for @n slots
 * @skb: GSO frame, from the encapsulation header on
 * @wr: @n work requests, each with room for IPOIB_TX_SGE SGEs; lists, opcodes and flags are set
 * @n: ipoib_tso_segments() of the frame
 *
 * On success the ring owns the skb, and the head has moved by @n at once. On failure the caller
 * still owns it, and the head has not moved.
 *
 * Context: transmit lock of the queue held
 * Return: 0; -EINVAL without payload or CHECKSUM_PARTIAL, or with headers too long or not in the
 * linear part, -EIO if the frame could not be mapped, -E2BIG if a segment has more pieces than the
 * QP takes
 */
int ipoib_tso_fill(struct ipoib_ring *ring, struct sk_buff *skb,
		   struct ib_ud_wr *wr, unsigned int n)
{
	struct ipoib_tx_slot *last;
	struct ipoib_tso tso;
	unsigned int i;
	int err;

	if (unlikely(!n || skb->ip_summed != CHECKSUM_PARTIAL ||
		     ipoib_tso_head(skb) >= IPOIB_TX_COPY ||
		     ipoib_tso_head(skb) > skb_headlen(skb)))
		return -EINVAL;
	tso.skb = skb;
	tso.head = tso_start(skb, &tso.at);
	tso.l4 = skb_transport_offset(skb);
	tso.linear = skb_headlen(skb) > tso.head ? 1 : 0;
	/* The stack has put the sum of the pseudo header of the whole frame into its checksum. */
	tso.pseudo = csum_sub(csum_unfold(ipoib_tso_is_udp(skb) ? udp_hdr(skb)->check :
								  tcp_hdr(skb)->check),
			      (__force __wsum)htonl(skb->len - tso.l4));
	last = &ring->slots[(ring->head + n - 1) & ring->mask];
	last->skb = skb;
	last->head = tso.head;
	err = ipoib_ring_map(ring, last, tso.map);
	for (i = 0; i < n && err >= 0; i++)
		err = ipoib_tso_segment(&tso, ring, &wr[i], i, n);
	if (unlikely(err < 0)) {
		ipoib_ring_unmap(ring, last);
		last->skb = NULL;
		return err;
	}
	/* As in ipoib_ring_fill(). */
	smp_store_release(&ring->head, ring->head + n);
	return 0;
}
