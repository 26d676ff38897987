// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of ipoib_police.c: frames that take a token, and number of tokens
 */
#include <linux/icmpv6.h>
#include <linux/if_arp.h>
#include <linux/slab.h>

#include "ipoib_suites.h"
#include "ipoib_police.c"

#define OWN	1
#define OTHER	2
#define GROUP	3

/* GID: first octet 0xff for a group, last octet @number */
static void put_gid(u8 *gid, u8 number)
{
	gid[0] = number == GROUP ? 0xff : 0;
	gid[15] = number;
}

/* An option of Neighbour Discovery, 24 octets. */
static void put_option(struct sk_buff *skb, u8 type, u8 gid)
{
	u8 *option = skb_put_zero(skb, 24);

	option[0] = type;
	option[1] = 3;
	put_gid(option + 8, gid);
}

static struct sk_buff *frame_new(__be16 proto, u8 from)
{
	struct sk_buff *skb = alloc_skb(2048, GFP_KERNEL);
	struct ipoib_header *header;

	if (!skb)
		return NULL;
	header = skb_put_zero(skb, IPOIB_HARD_LEN);
	header->encap.proto = proto;
	put_gid(header->lladdr.gid, from);
	return skb;
}

static struct sk_buff *arp_new(u8 from, u8 sender)
{
	struct sk_buff *skb = frame_new(htons(ETH_P_ARP), from);
	struct arphdr *arp;
	u8 *addr;

	if (!skb)
		return NULL;
	arp = skb_put_zero(skb, sizeof(*arp));
	arp->ar_hln = 20;
	addr = skb_put_zero(skb, 48);
	put_gid(addr + 4, sender);
	return skb;
}

/* @headers: octets of destination options before ICMPv6; @fragment: with a fragment header */
static struct sk_buff *ns_new(u8 from, unsigned int headers, bool fragment)
{
	struct sk_buff *skb = frame_new(htons(ETH_P_IPV6), from);
	struct ipv6hdr *ip;
	u8 *next;

	if (!skb)
		return NULL;
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 6;
	next = &ip->nexthdr;
	if (headers) {
		*next = IPPROTO_DSTOPTS;
		next = skb_put_zero(skb, headers);
		next[1] = headers / 8 - 1;
	}
	if (fragment) {
		*next = IPPROTO_FRAGMENT;
		next = skb_put_zero(skb, 8);
		next[3] = 1;
	}
	*next = IPPROTO_ICMPV6;
	next = skb_put_zero(skb, sizeof(struct nd_msg));
	next[0] = NDISC_NEIGHBOUR_SOLICITATION;
	return skb;
}

/* IPOIB_NAMED_ value of a frame, -1 if the frame is not policed; frees the frame */
static int named(struct sk_buff *skb)
{
	int what = skb && ipoib_police_is_for(skb) ? (int)ipoib_police_named(skb) : -1;

	kfree_skb(skb);
	return what;
}

static void police_arp(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, named(arp_new(OWN, OWN)), IPOIB_NAMED_SENDER);
	KUNIT_EXPECT_EQ(test, named(arp_new(OWN, OTHER)), IPOIB_NAMED_OTHER);
	/* Without a GRH the source is unknown. */
	KUNIT_EXPECT_EQ(test, named(arp_new(0, OWN)), IPOIB_NAMED_OTHER);
	/* A named group takes precedence over the source. */
	KUNIT_EXPECT_EQ(test, named(arp_new(OWN, GROUP)), IPOIB_NAMED_GROUP);
	KUNIT_EXPECT_EQ(test, named(arp_new(GROUP, GROUP)), IPOIB_NAMED_GROUP);
}

static struct sk_buff *ns_two(u8 first_type, u8 first, u8 second_type, u8 second)
{
	struct sk_buff *skb = ns_new(OWN, 0, false);

	if (!skb)
		return NULL;
	put_option(skb, first_type, first);
	put_option(skb, second_type, second);
	return skb;
}

static void police_options(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, named(ns_two(1, OWN, 2, OWN)), IPOIB_NAMED_SENDER);
	KUNIT_EXPECT_EQ(test, named(ns_two(2, OWN, 1, OTHER)), IPOIB_NAMED_OTHER);
	KUNIT_EXPECT_EQ(test, named(ns_two(1, OTHER, 2, OWN)), IPOIB_NAMED_OTHER);
	KUNIT_EXPECT_EQ(test, named(ns_two(14, OTHER, 1, OTHER)), IPOIB_NAMED_OTHER);
	KUNIT_EXPECT_EQ(test, named(ns_two(14, OTHER, 1, OWN)), IPOIB_NAMED_SENDER);
	KUNIT_EXPECT_EQ(test, named(ns_new(OWN, 0, false)), IPOIB_NAMED_SENDER);
	KUNIT_EXPECT_EQ(test, named(ns_two(1, OWN, 2, GROUP)), IPOIB_NAMED_GROUP);
	KUNIT_EXPECT_EQ(test, named(ns_two(1, GROUP, 2, OTHER)), IPOIB_NAMED_GROUP);
}

static void police_many(struct kunit *test)
{
	struct sk_buff *few = ns_new(OWN, 0, false);
	struct sk_buff *many = ns_new(OWN, 0, false);
	unsigned int i;

	for (i = 0; few && i < 63; i++)
		put_option(few, 14, OWN);
	if (few)
		put_option(few, 1, OTHER);
	for (i = 0; many && i < 65; i++)
		put_option(many, 14, OWN);
	KUNIT_EXPECT_EQ(test, named(few), IPOIB_NAMED_OTHER);
	KUNIT_EXPECT_EQ(test, named(many), IPOIB_NAMED_GROUP);
}

/* The messages with options of RFC 4861, by the lengths of sections 4.1 to 4.5 */
static unsigned int head_len(u8 type)
{
	static const u8 lens[] = { 8, 16, 24, 24, 40 };

	return type >= 133 && type < 133 + sizeof(lens) ? lens[type - 133] : 0;
}

static void police_types(struct kunit *test)
{
	unsigned int type, at;
	struct sk_buff *skb;
	bool fragment;

	for (type = 0; type < 256; type++) {
		skb = ns_two(1, OTHER, 2, OTHER);
		if (!skb)
			return;
		at = IPOIB_HARD_LEN + sizeof(struct ipv6hdr);
		skb->data[at] = type;
		at = head_len(type) ? at + head_len(type) : 0;
		fragment = true;
		KUNIT_EXPECT_EQ(test, ipoib_nd_options(skb, &fragment), (int)at);
		KUNIT_EXPECT_EQ(test, fragment, !at);
		kfree_skb(skb);
	}
}

static void police_headers(struct kunit *test)
{
	struct sk_buff *skb = ns_new(OWN, 16, false);

	if (skb)
		put_option(skb, 1, OTHER);
	KUNIT_EXPECT_EQ(test, named(skb), IPOIB_NAMED_OTHER);
	skb = ns_new(OWN, 16, false);
	if (skb)
		put_option(skb, 1, OWN);
	KUNIT_EXPECT_EQ(test, named(skb), IPOIB_NAMED_SENDER);
	/* The remaining options are in another fragment. */
	KUNIT_EXPECT_EQ(test, named(ns_new(OWN, 0, true)), IPOIB_NAMED_GROUP);
}

static void police_short(struct kunit *test)
{
	struct sk_buff *skb = frame_new(htons(ETH_P_IPV6), OWN);

	if (!skb)
		return;
	skb_put_zero(skb, 39);
	KUNIT_EXPECT_FALSE(test, ipoib_police_is_for(skb));
	kfree_skb(skb);
	skb = arp_new(OWN, OTHER);
	if (skb)
		skb_trim(skb, IPOIB_HARD_LEN + sizeof(struct arphdr) + IPOIB_LLADDR_LEN - 1);
	KUNIT_EXPECT_EQ(test, named(skb), IPOIB_NAMED_SENDER);
	/* An option of length 0, and a truncated option */
	skb = ns_new(OWN, 0, false);
	if (skb)
		skb_put_zero(skb, 8);
	KUNIT_EXPECT_EQ(test, named(skb), IPOIB_NAMED_SENDER);
	skb = ns_new(OWN, 0, false);
	if (skb) {
		put_option(skb, 1, OTHER);
		skb_trim(skb, skb->len - 1);
	}
	KUNIT_EXPECT_EQ(test, named(skb), IPOIB_NAMED_SENDER);
}

/* Number of tokens available at @now */
static unsigned int take_all(unsigned long *next, unsigned long now)
{
	unsigned int n = 0;

	while (n < 1000 && ipoib_police_take(next, now))
		n++;
	return n;
}

static void police_bucket(struct kunit *test)
{
	const unsigned long start = 0UL - HZ;
	unsigned long next = start;

	KUNIT_EXPECT_EQ(test, take_all(&next, start), 64);
	KUNIT_EXPECT_EQ(test, take_all(&next, start), 0);
	/* One second later, after a wrap of jiffies */
	KUNIT_EXPECT_EQ(test, take_all(&next, start + HZ + 1),
			(HZ + 1) / (HZ / 16));
	KUNIT_EXPECT_EQ(test, take_all(&next, start + 100 * HZ),
			64);
	/* Idle for so long that @next seems to be in the future */
	KUNIT_EXPECT_EQ(test, take_all(&next, start + (1UL << (BITS_PER_LONG - 1))),
			64);
}

static struct kunit_case ipoib_police_cases[] = {
	KUNIT_CASE(police_arp),
	KUNIT_CASE(police_options),
	KUNIT_CASE(police_many),
	KUNIT_CASE(police_types),
	KUNIT_CASE(police_headers),
	KUNIT_CASE(police_short),
	KUNIT_CASE(police_bucket),
	{}
};

struct kunit_suite ipoib_police_suite = {
	.name = "ipoib_police",
	.test_cases = ipoib_police_cases,
};
