// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of ipoib_wc.h: evaluation of the receive completions of each provider.
 *
 * The rows are results of poll_cq of the provider for a datagram on a QP other than QP 1, as
 * of Linux 6.12. Fields that the provider does not write contain poison, and so do the unused
 * octets of the 40 octets of headers.
 */
#include <net/ip.h>

#include "ipoib_suites.h"
#include "ipoib_wc.h"

#define POISON		0xa5
#define POISON16	0xa5a5
#define OWN_QPN		0x000123
#define OWN_LID		0x0014
#define OTHER_LID	0x0022

static const union ib_gid own_gid = {
	.raw = { 0xfe, 0x80, [8] = 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55 },
};

static const union ib_gid other_gid = {
	.raw = { 0xfe, 0x80, [8] = 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x66 },
};

static const union ib_gid own_ipv4 = {
	.raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
};

static const union ib_gid other_ipv4 = {
	.raw = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
};

static const union ib_gid broadcast_mgid = {
	.raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 0xff, 0xff, 0xff, 0xff },
};

static const union ib_gid group_mgid = {
	.raw = { 0xff, 0x12, 0x60, 0x1b, 0xff, 0xff, [15] = 0xfb },
};

static const union ib_gid no_gid;

/* The only IPv4 group, 239.255.67.145 */
static const union ib_gid ipv4_group = {
	.raw = { [10] = 0xff, 0xff, 239, 255, 67, 145 },
};

enum frame {
	FROM_OTHER	= 0,		/* to this port, from a different QPN */
	SAME_QPN	= 1 << 0,	/* from another port with the own QPN */
	LOOPED		= 1 << 1,	/* from this QP */
	TO_GROUP	= 1 << 2,
	TO_ALL		= 1 << 3,
	IPV4		= 1 << 4,	/* with an IPv4 header */
	GRH		= 1 << 5,	/* with a GRH or an IPv6 header */
};

/**
 * struct wc_row - a completion and its expected evaluation
 * @frame: enum frame bits of the frame
 * @flags: wc_flags
 * @vlan_id: value of the provider, or poison
 * @net_type: value of the provider, or poison
 * @slid: value of the provider, or poison
 * @net: expected type of the network header
 * @vid: expected VLAN
 */
struct wc_row {
	u32 frame;
	u32 flags;
	u16 vlan_id;
	u8 net_type;
	u16 slid;
	enum ipoib_wc_net net;
	u16 vid;
};

static const union ib_gid *row_sgid(const struct wc_row *row)
{
	if (row->frame & IPV4)
		return row->frame & LOOPED ? &own_ipv4 : &other_ipv4;
	return row->frame & LOOPED ? &own_gid : &other_gid;
}

static const union ib_gid *row_dgid(const struct wc_row *row)
{
	if (row->frame & (TO_GROUP | TO_ALL)) {
		if (row->frame & IPV4)
			return &ipv4_group;
		return row->frame & TO_ALL ? &broadcast_mgid : &group_mgid;
	}
	return row->frame & IPV4 ? &own_ipv4 : &own_gid;
}

/* An IPv4 link has a single group, which is for all hosts: broadcast. */
static u8 row_pkt_type(const struct wc_row *row)
{
	if (row->net == IPOIB_WC_NET_NONE ||
	    !(row->frame & (TO_GROUP | TO_ALL)))
		return PACKET_HOST;
	return row->frame & (TO_ALL | IPV4) ? PACKET_BROADCAST :
					      PACKET_MULTICAST;
}

static void row_header(const struct wc_row *row, union rdma_network_hdr *hdr)
{
	struct iphdr *ip = &hdr->roce4grh;

	memset(hdr, POISON, sizeof(*hdr));
	if (row->frame & GRH) {
		hdr->ibgrh.version_tclass_flow = cpu_to_be32(6 << 28);
		hdr->ibgrh.next_hdr = 17;
		hdr->ibgrh.sgid = *row_sgid(row);
		hdr->ibgrh.dgid = *row_dgid(row);
	} else if (row->frame & IPV4) {
		memset(ip, 0, sizeof(*ip));
		ip->version = 4;
		ip->ihl = 5;
		ip->ttl = 1;
		ip->protocol = 17;
		memcpy(&ip->saddr, row_sgid(row)->raw + 12, 4);
		memcpy(&ip->daddr, row_dgid(row)->raw + 12, 4);
		ip->check = ip_fast_csum((u8 *)ip, ip->ihl);
	}
}

static void row_wc(const struct wc_row *row, struct ib_wc *wc)
{
	memset(wc, POISON, sizeof(*wc));
	wc->src_qp = row->frame & (SAME_QPN | LOOPED) ? OWN_QPN : 0x000456;
	wc->wc_flags = row->flags;
	wc->vlan_id = row->vlan_id;
	wc->network_hdr_type = row->net_type;
	wc->slid = row->slid;
}

static void row_port(const struct wc_row *row, bool roce,
		     struct ipoib_wc_port *port)
{
	*port = (struct ipoib_wc_port){
		.roce = roce,
		.lid = roce ? 0 : OWN_LID,
		.qpn = OWN_QPN,
		.gid = row->frame & IPV4 ? own_ipv4 : own_gid,
		.broadcast_mgid = broadcast_mgid,
	};
}

static void check_row(struct kunit *test, bool roce, const struct wc_row *row)
{
	union rdma_network_hdr hdr;
	struct ipoib_wc_port port;
	struct ipoib_wc_info info;
	struct ib_wc wc;

	row_header(row, &hdr);
	row_wc(row, &wc);
	row_port(row, roce, &port);
	memset(&info, POISON, sizeof(info));
	ipoib_wc_read(&port, &wc, &hdr, &info);
	KUNIT_EXPECT_EQ(test, info.net, row->net);
	KUNIT_EXPECT_EQ(test, info.vid, row->vid);
	KUNIT_EXPECT_EQ(test, info.own, !!(row->frame & LOOPED));
	KUNIT_EXPECT_EQ(test, info.pkt_type, row_pkt_type(row));
	KUNIT_EXPECT_EQ(test, memcmp(&info.sgid,
				     row->net == IPOIB_WC_NET_NONE ? &no_gid :
				     row_sgid(row), sizeof(info.sgid)), 0);
}

static void check_rows(struct kunit *test, bool roce,
		       const struct wc_row *rows, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		check_row(test, roce, &rows[i]);
}

/* mlx4_ib_poll_one(): on InfiniBand vlan_id is set, IB_WC_WITH_VLAN is not. */
static void wc_mlx4_ib(struct kunit *test)
{
	static const struct wc_row rows[] = {
		{ FROM_OTHER, 0, 0xffff, POISON, OTHER_LID },
		{ SAME_QPN, 0, 0xffff, POISON, OTHER_LID },
		{ LOOPED, 0, 0xffff, POISON, OWN_LID },
		{ FROM_OTHER | GRH | TO_ALL, IB_WC_GRH, 0xffff, POISON,
		  OTHER_LID, IPOIB_WC_NET_GRH },
		{ SAME_QPN | GRH | TO_GROUP, IB_WC_GRH | IB_WC_IP_CSUM_OK,
		  0xffff, POISON, OTHER_LID, IPOIB_WC_NET_GRH },
		{ LOOPED | GRH | TO_GROUP, IB_WC_GRH, 0xffff, POISON, OWN_LID,
		  IPOIB_WC_NET_GRH },
	};

	check_rows(test, false, rows, ARRAY_SIZE(rows));
}

/* On Ethernet IB_WC_WITH_VLAN is always set, and VLAN 0xffff stands for none. */
static void wc_mlx4_roce_untagged(struct kunit *test)
{
	const u32 flags = IB_WC_GRH | IB_WC_WITH_VLAN | IB_WC_WITH_SMAC;
	const struct wc_row rows[] = {
		{ FROM_OTHER | GRH, flags, 0xffff, POISON, 0,
		  IPOIB_WC_NET_GRH, 0 },
		{ SAME_QPN | GRH | TO_ALL, flags, 0xffff, POISON, 0,
		  IPOIB_WC_NET_GRH, 0 },
		{ LOOPED | GRH | TO_GROUP, flags, 0xffff, POISON, 0,
		  IPOIB_WC_NET_GRH, 0 },
		/* A priority tag */
		{ FROM_OTHER | GRH, flags, 0, POISON, 0, IPOIB_WC_NET_GRH, 0 },
	};

	check_rows(test, true, rows, ARRAY_SIZE(rows));
}

static void wc_mlx4_roce_tagged(struct kunit *test)
{
	const u32 flags = IB_WC_GRH | IB_WC_WITH_VLAN | IB_WC_WITH_SMAC;
	const struct wc_row rows[] = {
		{ FROM_OTHER | GRH, flags, 100, POISON, 0,
		  IPOIB_WC_NET_GRH, 100 },
		{ FROM_OTHER | GRH | TO_ALL, flags, 4095, POISON, 0,
		  IPOIB_WC_NET_GRH, 4095 },
	};

	check_rows(test, true, rows, ARRAY_SIZE(rows));
}

/* The type of the network header is never set. */
static void wc_mlx4_roce_ipv4(struct kunit *test)
{
	const u32 flags = IB_WC_GRH | IB_WC_WITH_VLAN | IB_WC_WITH_SMAC;
	const struct wc_row rows[] = {
		{ FROM_OTHER | IPV4, flags, 100, POISON, 0,
		  IPOIB_WC_NET_IPV4, 100 },
		{ SAME_QPN | IPV4 | TO_GROUP, flags, 100, POISON, 0,
		  IPOIB_WC_NET_IPV4, 100 },
		{ LOOPED | IPV4 | TO_ALL, flags, 100, POISON, 0,
		  IPOIB_WC_NET_IPV4, 100 },
	};

	check_rows(test, true, rows, ARRAY_SIZE(rows));
}

/* handle_responder(): VLAN of tagged frames only; network header type always on Ethernet */
static void wc_mlx5_ib(struct kunit *test)
{
	static const struct wc_row rows[] = {
		{ FROM_OTHER, 0, POISON16, POISON, OTHER_LID },
		{ SAME_QPN, IB_WC_IP_CSUM_OK, POISON16, POISON, OTHER_LID },
		{ LOOPED | GRH | TO_ALL, IB_WC_GRH, POISON16, POISON, OWN_LID,
		  IPOIB_WC_NET_GRH },
		{ FROM_OTHER | GRH | TO_GROUP, IB_WC_GRH, POISON16, POISON,
		  OTHER_LID, IPOIB_WC_NET_GRH },
	};

	check_rows(test, false, rows, ARRAY_SIZE(rows));
}

static void wc_mlx5_roce(struct kunit *test)
{
	const u32 flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	const struct wc_row rows[] = {
		{ FROM_OTHER | GRH, flags, POISON16, RDMA_NETWORK_IPV6, 0,
		  IPOIB_WC_NET_GRH, 0 },
		{ SAME_QPN | GRH | TO_ALL, flags | IB_WC_WITH_VLAN, 100,
		  RDMA_NETWORK_IPV6, 0, IPOIB_WC_NET_GRH, 100 },
		{ LOOPED | GRH | TO_ALL, flags, POISON16, RDMA_NETWORK_IPV6,
		  0, IPOIB_WC_NET_GRH, 0 },
		{ FROM_OTHER | IPV4, flags, POISON16, RDMA_NETWORK_IPV4, 0,
		  IPOIB_WC_NET_IPV4, 0 },
		{ LOOPED | IPV4 | TO_ALL, flags, POISON16, RDMA_NETWORK_IPV4,
		  0, IPOIB_WC_NET_IPV4, 0 },
		/* RoCE v1 */
		{ FROM_OTHER | GRH, flags, POISON16, RDMA_NETWORK_IB, 0,
		  IPOIB_WC_NET_GRH, 0 },
	};

	check_rows(test, true, rows, ARRAY_SIZE(rows));
}

/* irdma_process_cqe(): all flags; VLAN if it is not 0 */
static void wc_irdma(struct kunit *test)
{
	const u32 flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE |
			  IB_WC_WITH_SMAC;
	const struct wc_row rows[] = {
		{ FROM_OTHER | GRH, flags, POISON16, RDMA_NETWORK_IPV6, 0,
		  IPOIB_WC_NET_GRH, 0 },
		{ SAME_QPN | IPV4 | TO_GROUP, flags | IB_WC_WITH_VLAN, 7,
		  RDMA_NETWORK_IPV4, 0, IPOIB_WC_NET_IPV4, 7 },
		{ LOOPED | GRH | TO_GROUP, flags, POISON16, RDMA_NETWORK_IPV6,
		  0, IPOIB_WC_NET_GRH, 0 },
	};

	check_rows(test, true, rows, ARRAY_SIZE(rows));
}

/* bnxt_re_process_res_ud_wc(): no flags, all other fields are zero */
static void wc_bnxt_re(struct kunit *test)
{
	static const struct wc_row rows[] = {
		{ FROM_OTHER | GRH, 0, 0, 0, 0, IPOIB_WC_NET_GRH, 0 },
		{ SAME_QPN | GRH, 0, 0, 0, 0, IPOIB_WC_NET_GRH, 0 },
		{ SAME_QPN | IPV4, 0, 0, 0, 0, IPOIB_WC_NET_IPV4, 0 },
		{ LOOPED | GRH | TO_GROUP, 0, 0, 0, 0, IPOIB_WC_NET_GRH, 0 },
		{ LOOPED | IPV4 | TO_GROUP, 0, 0, 0, 0, IPOIB_WC_NET_IPV4, 0 },
		/* Without a header an own frame is not recognizable. */
		{ SAME_QPN, 0, 0, 0, 0, IPOIB_WC_NET_NONE, 0 },
	};

	check_rows(test, true, rows, ARRAY_SIZE(rows));
}

/* do_complete() of rxe_resp.c: all flags; VLAN of the net_device */
static void wc_rxe(struct kunit *test)
{
	const u32 flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	const struct wc_row rows[] = {
		{ FROM_OTHER | GRH | TO_ALL, flags, 0, RDMA_NETWORK_IPV6, 0,
		  IPOIB_WC_NET_GRH, 0 },
		{ SAME_QPN | GRH, flags | IB_WC_WITH_VLAN, 100,
		  RDMA_NETWORK_IPV6, 0, IPOIB_WC_NET_GRH, 100 },
		{ LOOPED | GRH | TO_GROUP, flags, 0, RDMA_NETWORK_IPV6, 0,
		  IPOIB_WC_NET_GRH, 0 },
		{ LOOPED | IPV4 | TO_GROUP, flags, 0, RDMA_NETWORK_IPV4, 0,
		  IPOIB_WC_NET_IPV4, 0 },
		{ SAME_QPN | IPV4, flags, 0, RDMA_NETWORK_IPV4, 0,
		  IPOIB_WC_NET_IPV4, 0 },
	};

	check_rows(test, true, rows, ARRAY_SIZE(rows));
}

/* hfi1_ud_rcv(), and softib, which uses the same library */
static void wc_rdmavt(struct kunit *test)
{
	static const struct wc_row rows[] = {
		{ FROM_OTHER, 0, 0, 0, OTHER_LID },
		{ SAME_QPN, 0, 0, 0, OTHER_LID },
		{ LOOPED, 0, 0, 0, OWN_LID },
		{ FROM_OTHER | GRH | TO_GROUP, IB_WC_GRH, 0, 0, OTHER_LID,
		  IPOIB_WC_NET_GRH },
		{ LOOPED | GRH | TO_ALL, IB_WC_GRH, 0, 0, OWN_LID,
		  IPOIB_WC_NET_GRH },
	};

	check_rows(test, false, rows, ARRAY_SIZE(rows));
}

/* The LID of the port changes shortly before the event of the change. */
static void wc_own_by_gid(struct kunit *test)
{
	static const struct wc_row rows[] = {
		{ LOOPED | GRH | TO_GROUP, IB_WC_GRH, 0, 0, OTHER_LID,
		  IPOIB_WC_NET_GRH },
		{ SAME_QPN | GRH | TO_GROUP, IB_WC_GRH, 0, 0, OWN_LID,
		  IPOIB_WC_NET_GRH },
	};

	check_rows(test, false, rows, ARRAY_SIZE(rows));
}

/* Octets without a valid header of any version give no source. */
static void wc_no_header(struct kunit *test)
{
	struct wc_row row = { FROM_OTHER, 0, 0, 0, 0, IPOIB_WC_NET_NONE, 0 };
	union rdma_network_hdr hdr;
	struct ipoib_wc_port port;
	struct ipoib_wc_info info;
	unsigned int octet;
	struct ib_wc wc;

	row_wc(&row, &wc);
	row_port(&row, true, &port);
	for (octet = 0; octet <= 0xff; octet++) {
		memset(&hdr, octet, sizeof(hdr));
		memset(&info, POISON, sizeof(info));
		ipoib_wc_read(&port, &wc, &hdr, &info);
		KUNIT_EXPECT_EQ(test, info.net,
				octet >> 4 == 6 ? IPOIB_WC_NET_GRH :
				octet >> 4 == 4 ? IPOIB_WC_NET_IPV4 :
						  IPOIB_WC_NET_NONE);
		KUNIT_EXPECT_FALSE(test, info.own);
	}
}

static struct kunit_case ipoib_wc_cases[] = {
	KUNIT_CASE(wc_mlx4_ib),
	KUNIT_CASE(wc_mlx4_roce_untagged),
	KUNIT_CASE(wc_mlx4_roce_tagged),
	KUNIT_CASE(wc_mlx4_roce_ipv4),
	KUNIT_CASE(wc_mlx5_ib),
	KUNIT_CASE(wc_mlx5_roce),
	KUNIT_CASE(wc_irdma),
	KUNIT_CASE(wc_bnxt_re),
	KUNIT_CASE(wc_rxe),
	KUNIT_CASE(wc_rdmavt),
	KUNIT_CASE(wc_own_by_gid),
	KUNIT_CASE(wc_no_header),
	{}
};

struct kunit_suite ipoib_wc_suite = {
	.name = "ipoib_wc",
	.test_cases = ipoib_wc_cases,
};
