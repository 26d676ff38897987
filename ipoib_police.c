// SPDX-License-Identifier: GPL-2.0
/*
 * Limit of received ARP and Neighbour Discovery.
 *
 * Each such frame makes the stack keep a neighbour, and the answer needs a path to the GID in it:
 * invented GIDs cost entries and queries. A frame is free if all its link-layer addresses have the
 * GID that it came from. Any other frame takes a token of its source, which a sender cannot choose
 * but by raw Ethernet frames. The source is a LID without the LMC bits. On RoCE it is a hash of the
 * GID, and for frames of connections the low 32 bits of the MAC address. A frame with a multicast
 * GID is dropped: the stack would send unicast to that group. Frames that the net device of the HCA
 * receives are not checked.
 */
#include <linux/if_arp.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <net/ipv6.h>
#include <net/ndisc.h>

#include "ipoib_police.h"

/* Options of a message, at most; with more it is dropped. */
#define IPOIB_ND_OPTIONS_MAX	64

/* Offset of the options of a Neighbour Discovery message, 0 for other messages */
static unsigned int ipoib_nd_head_len(u8 type)
{
	switch (type) {
	case NDISC_ROUTER_SOLICITATION:
		return sizeof(struct rs_msg);
	case NDISC_ROUTER_ADVERTISEMENT:
		return sizeof(struct ra_msg);
	case NDISC_NEIGHBOUR_SOLICITATION:
	case NDISC_NEIGHBOUR_ADVERTISEMENT:
		return sizeof(struct nd_msg);
	case NDISC_REDIRECT:
		return sizeof(struct rd_msg);
	default:
		return 0;
	}
}

/*
 * Find the options of a Neighbour Discovery message in an IPv6 frame with its &struct ipoib_header.
 * Sets @fragment if the frame is a fragment of a packet.
 * Context: any. Return: offset of the options, or 0 for other messages.
 */
int ipoib_nd_options(const struct sk_buff *skb, bool *fragment)
{
	int at = IPOIB_HARD_LEN + sizeof(struct ipv6hdr);
	const struct ipv6hdr *ip;
	struct ipv6hdr ip_copy;
	__be16 offset = 0;
	const u8 *type;
	u8 next, octet;

	ip = skb_header_pointer(skb, IPOIB_HARD_LEN, sizeof(ip_copy), &ip_copy);
	if (!ip)
		return 0;
	next = ip->nexthdr;
	at = ipv6_skip_exthdr(skb, at, &next, &offset);
	if (at < 0 || next != IPPROTO_ICMPV6)
		return 0;
	type = skb_header_pointer(skb, at, sizeof(octet), &octet);
	if (!type || !ipoib_nd_head_len(*type))
		return 0;
	*fragment = offset;
	return at + ipoib_nd_head_len(*type);
}

static enum ipoib_police_named ipoib_police_compare(const struct ipoib_lladdr *lladdr,
						    const struct ipoib_header *header)
{
	if (ipoib_lladdr_is_mcast(lladdr))
		return IPOIB_NAMED_GROUP;
	return memcmp(lladdr->gid, header->lladdr.gid, sizeof(lladdr->gid)) ?
	       IPOIB_NAMED_OTHER : IPOIB_NAMED_SENDER;
}

/*
 * Check each option with a link-layer address, in any order (RFC 4391 section 9.3). Nodes ignore
 * messages with options in further fragments (RFC 6980 section 5).
 */
static enum ipoib_police_named ipoib_nd_named(const struct sk_buff *skb)
{
	enum ipoib_police_named named = IPOIB_NAMED_SENDER;
	struct {
		u8 type;
		u8 len;
		u8 pad[2];
		struct ipoib_lladdr lladdr;
	} __packed copy;
	const typeof(copy) *option;
	bool fragment = false;
	unsigned int n;
	int at;

	at = ipoib_nd_options(skb, &fragment);
	if (!at)
		return IPOIB_NAMED_SENDER;
	if (fragment)
		return IPOIB_NAMED_GROUP;
	for (n = 0; n <= IPOIB_ND_OPTIONS_MAX; n++) {
		option = skb_header_pointer(skb, at, 2, &copy);
		/* The stack ignores messages with an option of length 0. */
		if (!option || !option->len)
			return named;
		if ((option->type == ND_OPT_SOURCE_LL_ADDR ||
		     option->type == ND_OPT_TARGET_LL_ADDR) &&
		    option->len * 8 == sizeof(copy)) {
			option = skb_header_pointer(skb, at, sizeof(copy), &copy);
			if (!option)
				return named;
			named = max(named, ipoib_police_compare(&option->lladdr,
								(const void *)skb->data));
		}
		at += option->len * 8;
	}
	return IPOIB_NAMED_GROUP;
}

/*
 * Classify the GIDs of the link-layer addresses in a frame. Its &struct ipoib_header has the GID of
 * the source, or zero if that is unknown.
 * Context: any. Return: the worst class; IPOIB_NAMED_SENDER also without an address.
 */
enum ipoib_police_named ipoib_police_named(const struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;
	struct {
		struct arphdr arp;
		struct ipoib_lladdr sender;
	} __packed copy;
	const typeof(copy) *packet;

	if (header->encap.proto != htons(ETH_P_ARP))
		return ipoib_nd_named(skb);
	packet = skb_header_pointer(skb, IPOIB_HARD_LEN, sizeof(copy), &copy);
	/* The stack ignores other hardware addresses. */
	if (!packet || packet->arp.ar_hln != sizeof(packet->sender))
		return IPOIB_NAMED_SENDER;
	return ipoib_police_compare(&packet->sender, header);
}

/**
 * ipoib_police_pass - check a received frame of ARP or Neighbour Discovery
 * @police: buckets
 * @skb: frame with its &struct ipoib_header, for which ipoib_police_is_for() is true
 * @node: source: LID without the LMC bits; on RoCE a hash of the GID, for a frame of a connection
 *	the low 32 bits of the MAC address
 *
 * Context: any
 * Return: false if it has the GID of a group, or of a third node and its source has no token left
 */
bool ipoib_police_pass(struct ipoib_police *police, const struct sk_buff *skb, u32 node)
{
	u32 bucket = jhash_1word(node, police->seed) % IPOIB_POLICE_BUCKETS;
	enum ipoib_police_named named = ipoib_police_named(skb);

	if (named == IPOIB_NAMED_OTHER)
		return ipoib_police_take(&police->next[bucket], jiffies);
	return named == IPOIB_NAMED_SENDER;
}

/* Fill all buckets. */
void ipoib_police_init(struct ipoib_police *police)
{
	unsigned int i;

	police->seed = get_random_u32();
	for (i = 0; i < IPOIB_POLICE_BUCKETS; i++)
		police->next[i] = jiffies;
}
