/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limit of received ARP and Neighbour Discovery, ipoib_police.c.
 */
#ifndef IPOIB_POLICE_H
#define IPOIB_POLICE_H

#include <linux/ipv6.h>
#include <linux/skbuff.h>

#include "ipoib_wire.h"

/* Tokens of a source in a second, and in store */
#define IPOIB_POLICE_RATE	16
#define IPOIB_POLICE_BURST	64
/* Buckets that sources hash to */
#define IPOIB_POLICE_BUCKETS	1024

/* Token buckets of the sources of ARP and Neighbour Discovery. */
struct ipoib_police {
	u32 seed;	/* key of the hash, against the choice of a bucket */
	/* jiffies at which the bucket is full again */
	unsigned long next[IPOIB_POLICE_BUCKETS];
};

/**
 * enum ipoib_police_named - GIDs of the link-layer addresses in a frame, from best to worst
 * @IPOIB_NAMED_SENDER: only that of the source
 * @IPOIB_NAMED_OTHER: another GID, which costs a token
 * @IPOIB_NAMED_GROUP: a multicast GID, which no node has (RFC 4391 section 9.1.1), or addresses
 *	that cannot be seen
 */
enum ipoib_police_named {
	IPOIB_NAMED_SENDER,
	IPOIB_NAMED_OTHER,
	IPOIB_NAMED_GROUP,
};

/*
 * Take a token of the bucket of @next at @now, in jiffies. Handlers that race for the last token
 * both get it. A bucket that was not used before a wrap of jiffies counts as full.
 * Context: any. Return: true if there was a token.
 */
static inline bool ipoib_police_take(unsigned long *next, unsigned long now)
{
	const unsigned long token = max(HZ / IPOIB_POLICE_RATE, 1);
	const unsigned long most = IPOIB_POLICE_BURST * token;
	unsigned long ahead = READ_ONCE(*next) - now;

	if (ahead > most)
		ahead = 0;
	if (ahead + token > most)
		return false;
	WRITE_ONCE(*next, now + ahead + token);
	return true;
}

/* Payload of a received frame, which is all linear or all in fragments */
static inline const void *ipoib_rx_payload(const struct sk_buff *skb)
{
	return skb_is_nonlinear(skb) ? skb_frag_address(skb_shinfo(skb)->frags) :
				       skb->data + IPOIB_HARD_LEN;
}

/* True if a received frame may be ARP or Neighbour Discovery: ARP, and IPv6 but TCP and UDP */
static inline bool ipoib_police_is_for(const struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;
	const struct ipv6hdr *ip;

	if (header->encap.proto == htons(ETH_P_ARP))
		return true;
	if (header->encap.proto != htons(ETH_P_IPV6) || skb->len < IPOIB_HARD_LEN + sizeof(*ip))
		return false;
	ip = ipoib_rx_payload(skb);
	return ip->nexthdr != IPPROTO_TCP && ip->nexthdr != IPPROTO_UDP;
}

/* ipoib_police.c */
void ipoib_police_init(struct ipoib_police *police);
int ipoib_nd_options(const struct sk_buff *skb, bool *fragment);
enum ipoib_police_named ipoib_police_named(const struct sk_buff *skb);
bool ipoib_police_pass(struct ipoib_police *police, const struct sk_buff *skb, u32 node);

#endif /* IPOIB_POLICE_H */
