// SPDX-License-Identifier: GPL-2.0
/*
 * Which node has named a neighbour, by an ARP or Neighbour Discovery frame.
 *
 * A neighbour exists for the stack as soon as somebody names it, and each costs a query
 * for its path. So what is looked for counts for the node that named it (ipoib_share.h),
 * and no node takes more than its share.
 */
#include <linux/if_arp.h>
#include <linux/ipv6.h>
#include <net/ipv6.h>
#include <net/ndisc.h>

#include "ipoib.h"

/* Sender of an ARP packet behind the &struct ipoib_header. */
static bool ipoib_arp_sender(const struct sk_buff *skb, u8 *gid)
{
	struct {
		struct arphdr arp;
		struct ipoib_lladdr sender;
	} __packed copy;
	const typeof(copy) *packet;

	packet = skb_header_pointer(skb, IPOIB_HARD_LEN, sizeof(copy), &copy);
	if (!packet || packet->arp.ar_hln != sizeof(packet->sender))
		return false;
	memcpy(gid, packet->sender.gid, sizeof(packet->sender.gid));
	return true;
}

/* Where the options of a Neighbour Discovery message begin; 0 for others. */
static unsigned int ipoib_nd_options(u8 type)
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

/* The link-layer address of a message whose options begin at @at, RFC 4391 section 9.3. */
static bool ipoib_nd_address(const struct sk_buff *skb, int at, u8 *gid)
{
	struct {
		u8 type;
		u8 len;
		u8 pad[2];
		struct ipoib_lladdr lladdr;
	} __packed copy;
	const typeof(copy) *option;

	while ((option = skb_header_pointer(skb, at, sizeof(copy), &copy))) {
		if (!option->len)
			return false;
		if (option->type == ND_OPT_SOURCE_LL_ADDR ||
		    option->type == ND_OPT_TARGET_LL_ADDR) {
			memcpy(gid, option->lladdr.gid,
			       sizeof(option->lladdr.gid));
			return true;
		}
		at += option->len * 8;
	}
	return false;
}

static bool ipoib_nd_sender(const struct sk_buff *skb, u8 *gid)
{
	int at = IPOIB_HARD_LEN + sizeof(struct ipv6hdr);
	const struct ipv6hdr *ip;
	struct ipv6hdr ip_copy;
	const u8 *type;
	u8 next, octet;
	__be16 frag;

	ip = skb_header_pointer(skb, IPOIB_HARD_LEN, sizeof(ip_copy), &ip_copy);
	if (!ip)
		return false;
	next = ip->nexthdr;
	at = ipv6_skip_exthdr(skb, at, &next, &frag);
	if (at < 0 || next != IPPROTO_ICMPV6)
		return false;
	type = skb_header_pointer(skb, at, sizeof(octet), &octet);
	if (!type || !ipoib_nd_options(*type))
		return false;
	return ipoib_nd_address(skb, at + ipoib_nd_options(*type), gid);
}

/**
 * ipoib_namer_note_frame - remember who has named a neighbour
 * @namers: of the interface
 * @skb: received frame with its &struct ipoib_header, ARP or IPv6
 * @node: who has sent it, see ipoib_namer_of()
 *
 * Context: NAPI
 */
void ipoib_namer_note_frame(struct ipoib_namers *namers, const struct sk_buff *skb,
			    u32 node)
{
	const struct ipoib_header *header = (const void *)skb->data;
	u8 gid[sizeof(union ib_gid)];
	bool named;

	named = header->encap.proto == htons(ETH_P_ARP) ?
		ipoib_arp_sender(skb, gid) : ipoib_nd_sender(skb, gid);
	if (named)
		ipoib_namer_note(namers, gid, ipoib_namer_of(namers, node));
}
