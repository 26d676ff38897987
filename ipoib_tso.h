/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segmentation of TCP and UDP on HCAs without large sends, ipoib_tso.c
 */
#ifndef IPOIB_TSO_H
#define IPOIB_TSO_H

#include <linux/tcp.h>
#include <linux/udp.h>

#include "ipoib_ring.h"

/* SGEs of a segment, at least: its header, and two pieces of payload */
#define IPOIB_TSO_SGE_MIN	3

/* True for a GSO frame of UDP, false for TCP */
static inline bool ipoib_tso_is_udp(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4;
}

/* Octets from the start of the data of a GSO frame to its payload */
static inline unsigned int ipoib_tso_head(const struct sk_buff *skb)
{
	return skb_transport_offset(skb) + (ipoib_tso_is_udp(skb) ?
					    sizeof(struct udphdr) :
					    tcp_hdrlen(skb));
}

/* Segments of a GSO frame, 0 without payload. The stack does not count those of user space. */
static inline unsigned int ipoib_tso_segments(const struct sk_buff *skb)
{
	unsigned int head = ipoib_tso_head(skb);

	if (unlikely(skb->len <= head))
		return 0;
	return DIV_ROUND_UP(skb->len - head, skb_shinfo(skb)->gso_size);
}

bool ipoib_tso_takes(const struct ipoib_ring *ring, const struct sk_buff *skb,
		     unsigned int max_segs);
int ipoib_tso_fill(struct ipoib_ring *ring, struct sk_buff *skb,
		   struct ib_ud_wr *wr, unsigned int n);

#endif /* IPOIB_TSO_H */
