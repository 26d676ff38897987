/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IPoIB on the wire: encapsulation header, link-layer address and multicast GIDs of RFC 4391, and
 * pure functions that build and parse them.
 *
 * Nothing here knows a device. Network byte order unless a name or a comment states another. Tested
 * in tools/testing/kunit/.
 */
#ifndef IPOIB_WIRE_H
#define IPOIB_WIRE_H

#include <linux/if_infiniband.h>
#include <rdma/ib_verbs.h>

/* QPN of a multicast group in an address (IBTA 10.5.2) */
#define IPOIB_MCAST_QPN		0xffffff
#define IPOIB_QPN_MASK		0xffffff

/* Signatures of IPoIB in an MGID, RFC 4391 section 4 */
#define IPOIB_MGID_SIG_IPV4	0x401b
#define IPOIB_MGID_SIG_IPV6	0x601b
#define IPOIB_MGID_TRANSIENT	0x10
#define IPOIB_SCOPE_LINK_LOCAL	0x2

/* Bit 15 of a P_Key: full member of the partition (IBTA 10.9.1.1) */
#define IPOIB_PKEY_FULL		0x8000

/* Smallest IB payload for the smallest IPv4 MTU */
#define IPOIB_MTU_MIN		72
/* Largest MTU of connected mode, RFC 4755 section 5 */
#define IPOIB_MTU_MAX		65520

/* Flags of a link-layer address, RFC 4755 section 3.1 */
#define IPOIB_LLADDR_RC		0x80
#define IPOIB_LLADDR_UC		0x40

/*
 * First octet of a service ID, RFC 4755 section 3.5 (C21). The kernel's driver uses another value,
 * and accepts no other.
 */
#define IPOIB_SID_RFC		0x01
#define IPOIB_SID_LINUX		0x10

/* Encapsulation header, RFC 4391 section 6. */
struct ipoib_encap {
	__be16 proto;		/* EtherType of what follows (U25, U26) */
	__be16 reserved;	/* zero when sent, ignored when received (U24) */
};

/* Link-layer address, RFC 4391 section 9.1.1. */
struct ipoib_lladdr {
	__be32 flags_qpn;	/* eight flag bits, of which RFC 4755 defines two, and the QPN */
	u8 gid[16];		/* GID of the port */
};

/**
 * struct ipoib_header - headers in front of the network header in an skb
 * @lladdr: not on the wire. Sending: destination, written by header_ops::create(). Receiving:
 *	source, as far as it is known, for packet sockets
 * @encap: encapsulation header
 */
struct ipoib_header {
	struct ipoib_lladdr lladdr;
	struct ipoib_encap encap;
};

/* MGID of an IPoIB link, RFC 4391 section 4. */
struct ipoib_mgid {
	u8 prefix;		/* 0xff */
	u8 flags_scope;		/* transient flag and scope */
	__be16 signature;	/* IPv4 or IPv6 */
	__be16 pkey;		/* P_Key of the link, full member bit set */
	u8 group[10];		/* low 80 bits of the IPv6, low 28 of the IPv4 group address */
};

/* Private data of CM messages, RFC 4755 section 6. */
struct ipoib_cm_data {
	__be32 qpn;	/* eight reserved bits, zero, and the QPN of the sender's UD QP (C15) */
	/* Receive MTU: longest message for the sender, encapsulation header included (C26, C29) */
	__be32 mtu;
};

static_assert(sizeof(struct ipoib_cm_data) == 8);
static_assert(sizeof(struct ipoib_encap) == 4);
static_assert(sizeof(struct ipoib_lladdr) == INFINIBAND_ALEN);
static_assert(sizeof(struct ipoib_header) == 24);
static_assert(sizeof(struct ipoib_mgid) == sizeof(union ib_gid));

#define IPOIB_ENCAP_LEN		sizeof(struct ipoib_encap)
#define IPOIB_LLADDR_LEN	sizeof(struct ipoib_lladdr)
#define IPOIB_HARD_LEN		sizeof(struct ipoib_header)

/*
 * Build a link-layer address from the transports (RFC 4755 section 3.1), the QPN of the UD QP in
 * host byte order, and the GID of the port.
 */
static inline void ipoib_lladdr_set(struct ipoib_lladdr *addr, u8 flags,
				    u32 qpn, const union ib_gid *gid)
{
	addr->flags_qpn = cpu_to_be32((u32)flags << 24 | (qpn & IPOIB_QPN_MASK));
	memcpy(addr->gid, gid->raw, sizeof(addr->gid));
}

/* QPN of a link-layer address, host byte order; flags are ignored, RFC 4391 section 9.1.1 (U36) */
static inline u32 ipoib_lladdr_qpn(const struct ipoib_lladdr *addr)
{
	return be32_to_cpu(addr->flags_qpn) & IPOIB_QPN_MASK;
}

/* IPOIB_LLADDR_RC and IPOIB_LLADDR_UC of a link-layer address, without reserved bits (C7) */
static inline u8 ipoib_lladdr_flags(const struct ipoib_lladdr *addr)
{
	return be32_to_cpu(addr->flags_qpn) >> 24 &
	       (IPOIB_LLADDR_RC | IPOIB_LLADDR_UC);
}

/*
 * Compare link-layer addresses by RFC 4755 section 3.3: from the most significant octet on, with
 * flags zero (C18).
 */
static inline bool ipoib_lladdr_less(const struct ipoib_lladdr *a, const struct ipoib_lladdr *b)
{
	if (ipoib_lladdr_qpn(a) != ipoib_lladdr_qpn(b))
		return ipoib_lladdr_qpn(a) < ipoib_lladdr_qpn(b);
	return memcmp(a->gid, b->gid, sizeof(a->gid)) < 0;
}

/*
 * Service ID of an interface, RFC 4755 section 3.5, from IPOIB_SID_RFC or IPOIB_SID_LINUX and the
 * QPN of its UD QP in host byte order. Type and reserved octets are zero (C21, C36).
 */
static inline __be64 ipoib_service_id(u8 first, u32 qpn)
{
	return cpu_to_be64((u64)first << 56 | (qpn & IPOIB_QPN_MASK));
}

/* First octet of a service ID: IPOIB_SID_RFC, IPOIB_SID_LINUX or another */
static inline u8 ipoib_service_first(__be64 sid)
{
	return be64_to_cpu(sid) >> 56;
}

/* True for a multicast GID, whose first octet is 0xff */
static inline bool ipoib_lladdr_is_mcast(const struct ipoib_lladdr *addr)
{
	return addr->gid[0] == 0xff;
}

/**
 * ipoib_mgid_broadcast - build the broadcast-GID of a link, RFC 4391 section 4
 * @gid: result
 * @scope: scope of the link, 4 bits
 * @pkey: P_Key of the link, host byte order; bit 15 is set (U9)
 */
static inline void ipoib_mgid_broadcast(union ib_gid *gid, u8 scope, u16 pkey)
{
	struct ipoib_mgid *mgid = (struct ipoib_mgid *)gid->raw;

	memset(mgid, 0, sizeof(*mgid));
	mgid->prefix = 0xff;
	mgid->flags_scope = IPOIB_MGID_TRANSIENT | (scope & 0xf);
	mgid->signature = cpu_to_be16(IPOIB_MGID_SIG_IPV4);
	mgid->pkey = cpu_to_be16(pkey | IPOIB_PKEY_FULL);
	memset(mgid->group + 6, 0xff, 4);
}

/*
 * Check that an MGID belongs to the link of a broadcast-GID. RFC 4391 section 4: transient, a
 * signature of IPoIB, and the P_Key and scope of the broadcast-GID (U4, U5, U6, U8).
 */
static inline bool ipoib_mgid_on_link(const union ib_gid *gid, const union ib_gid *broadcast)
{
	const struct ipoib_mgid *link = (const void *)broadcast->raw;
	const struct ipoib_mgid *mgid = (const void *)gid->raw;

	return mgid->prefix == 0xff &&
	       mgid->flags_scope == link->flags_scope &&
	       mgid->pkey == link->pkey &&
	       (mgid->signature == cpu_to_be16(IPOIB_MGID_SIG_IPV4) ||
		mgid->signature == cpu_to_be16(IPOIB_MGID_SIG_IPV6));
}

/* Compare the ports of two LIDs in host byte order; the @lmc low bits select a path to the port. */
static inline bool ipoib_lid_is_same_port(u32 a, u32 b, u8 lmc)
{
	return !((a ^ b) >> lmc);
}

/*
 * IP MTU for an enum ib_mtu, or enum opa_mtu of Omni-Path.
 * Return: octets, without the encapsulation header; negative if @mtu is invalid.
 */
static inline int ipoib_mtu_from_ib(u8 mtu)
{
	return opa_mtu_enum_to_int(mtu) - (int)IPOIB_ENCAP_LEN;
}

#endif /* IPOIB_WIRE_H */
