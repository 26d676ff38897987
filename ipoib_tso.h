/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segmentation of TCP and UDP where the HCA has no large sends, see ipoib_tso.c.
 */
#ifndef IPOIB_TSO_H
#define IPOIB_TSO_H

#include <linux/tcp.h>
#include <linux/udp.h>

#include "ipoib_ring.h"

/* SGEs that a segment needs at least: its header, and two pieces of its payload. */
#define IPOIB_TSO_SGE_MIN	3

/**
 * ipoib_tso_is_udp - whether a GSO frame is one of UDP
 * @skb: the frame
 *
 * Return: true if so, else it is one of TCP
 */
static inline bool ipoib_tso_is_udp(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4;
}

/**
 * ipoib_tso_head - headers of a GSO frame
 * @skb: the frame
 *
 * Return: octets from the start of its data to its payload
 */
static inline unsigned int ipoib_tso_head(const struct sk_buff *skb)
{
	return skb_transport_offset(skb) + (ipoib_tso_is_udp(skb) ?
					    sizeof(struct udphdr) :
					    tcp_hdrlen(skb));
}

/**
 * ipoib_tso_segments - segments of a GSO frame
 * @skb: the frame
 *
 * Of a frame from user space the stack does not always count them.
 *
 * Return: how many, 0 if it has no payload
 */
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
