/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive completion of a UD QP, and the 40 octets in front of the message: VLAN, source and kind
 * of destination of a frame, and whether it is an own one.
 *
 * Providers fill in different fields of &struct ib_wc; this makes up for the others. It has no side
 * effects, and is tested with the completions of each provider in tools/testing/kunit/.
 */
#ifndef IPOIB_WC_H
#define IPOIB_WC_H

#include <linux/if_packet.h>
#include <linux/if_vlan.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "ipoib_wire.h"

/* Port and QP of a received frame. */
struct ipoib_wc_port {
	bool roce;
	u8 lmc;
	u16 lid;			/* LID, 0 on RoCE */
	u32 qpn;			/* QPN of the QP that sends own datagrams to groups */
	union ib_gid gid;		/* own GID */
	union ib_gid broadcast_mgid;	/* MGID of the broadcast group */
};

/* Network header of a frame. */
enum ipoib_wc_net {
	IPOIB_WC_NET_NONE,	/* none, or unknown */
	IPOIB_WC_NET_GRH,	/* GRH, or the IPv6 header of RoCE v2, which has the same form */
	IPOIB_WC_NET_IPV4,	/* IPv4 header, in the last 20 of the 40 octets */
};

/* Result of ipoib_wc_read(). */
struct ipoib_wc_info {
	enum ipoib_wc_net net;
	bool own;	/* an own frame to a group, looped by the HCA */
	u8 pkt_type;	/* PACKET_HOST, PACKET_MULTICAST or PACKET_BROADCAST */
	u16 vid;	/* VLAN, or 0 */
	/* source, zero without a network header; an IPv4 address is mapped */
	union ib_gid sgid;
};

/* VLAN of an untagged frame, for mlx4 and the RDMA core */
#define IPOIB_WC_UNTAGGED	0xffff

static inline u16 ipoib_wc_vid(const struct ib_wc *wc)
{
	if (!(wc->wc_flags & IB_WC_WITH_VLAN) || wc->vlan_id == IPOIB_WC_UNTAGGED)
		return 0;
	return wc->vlan_id & VLAN_VID_MASK;
}

/*
 * A frame of RoCE always has a network header, although bnxt_re does not set IB_WC_GRH. Neither
 * bnxt_re nor mlx4 reports its type: the header shows it.
 */
static inline enum ipoib_wc_net
ipoib_wc_net(const struct ipoib_wc_port *port, const struct ib_wc *wc,
	     const union rdma_network_hdr *hdr)
{
	if (!port->roce)
		return wc->wc_flags & IB_WC_GRH ? IPOIB_WC_NET_GRH : IPOIB_WC_NET_NONE;
	if (wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE)
		return wc->network_hdr_type == RDMA_NETWORK_IPV4 ?
		       IPOIB_WC_NET_IPV4 : IPOIB_WC_NET_GRH;
	switch (ib_get_rdma_header_version(hdr)) {
	case 4:
		return IPOIB_WC_NET_IPV4;
	case 6:
		return IPOIB_WC_NET_GRH;
	default:
		return IPOIB_WC_NET_NONE;
	}
}

/*
 * Compare QPN and GID. The LID is for frames without a GRH only: after a change the HCA uses the
 * new LID before the driver has read it. It is always 0 on RoCE.
 */
static inline bool ipoib_wc_own(const struct ipoib_wc_port *port, const struct ib_wc *wc,
				const struct ipoib_wc_info *info)
{
	if (wc->src_qp != port->qpn)
		return false;
	if (info->net != IPOIB_WC_NET_NONE)
		return !memcmp(&info->sgid, &port->gid, sizeof(port->gid));
	return !port->roce &&
	       ipoib_lid_is_same_port(wc->slid, port->lid, port->lmc);
}

static inline u8 ipoib_wc_pkt_type(const struct ipoib_wc_port *port, const union ib_gid *dgid)
{
	if (dgid->raw[0] == 0xff)
		return memcmp(dgid, &port->broadcast_mgid, sizeof(*dgid)) ?
		       PACKET_MULTICAST : PACKET_BROADCAST;
	/* An IPv4 link has a single group, the broadcast group. */
	return rdma_is_multicast_addr((struct in6_addr *)dgid->raw) ?
	       PACKET_BROADCAST : PACKET_HOST;
}

/*
 * Read a successful receive completion of a frame of @port into @info. @hdr are the 40 octets in
 * front of the message.
 * Context: any.
 */
static inline void ipoib_wc_read(const struct ipoib_wc_port *port, const struct ib_wc *wc,
				 const union rdma_network_hdr *hdr, struct ipoib_wc_info *info)
{
	union ib_gid dgid = {};

	info->vid = ipoib_wc_vid(wc);
	info->net = ipoib_wc_net(port, wc, hdr);
	switch (info->net) {
	case IPOIB_WC_NET_GRH:
		info->sgid = hdr->ibgrh.sgid;
		dgid = hdr->ibgrh.dgid;
		break;
	case IPOIB_WC_NET_IPV4:
		/* Cannot fail for IPv4. */
		ib_get_gids_from_rdma_hdr(hdr, RDMA_NETWORK_IPV4, &info->sgid, &dgid);
		break;
	case IPOIB_WC_NET_NONE:
		memset(&info->sgid, 0, sizeof(info->sgid));
		break;
	}
	info->pkt_type = ipoib_wc_pkt_type(port, &dgid);
	info->own = ipoib_wc_own(port, wc, info);
}

#endif /* IPOIB_WC_H */
