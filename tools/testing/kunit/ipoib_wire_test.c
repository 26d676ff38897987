// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of ipoib_wire.h: link-layer address, encapsulation header, MGIDs, MTU.
 *
 * Expected values are written octet by octet from the RFC, independent of the
 * functions under test.
 */
#include "ipoib_suites.h"
#include "ipoib_wire.h"

static const union ib_gid port_gid = {
	.raw = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55 },
};

/* RFC 4391 section 9.1.1: flags, QPN, GID. */
static void lladdr_octets(struct kunit *test)
{
	static const u8 expected[20] = {
		0x80, 0x12, 0x34, 0x56, 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55
	};
	struct ipoib_lladdr addr;

	memset(&addr, 0xa5, sizeof(addr));
	ipoib_lladdr_set(&addr, 0x80, 0x123456, &port_gid);
	KUNIT_EXPECT_EQ(test, sizeof(addr), sizeof(expected));
	KUNIT_EXPECT_EQ(test, memcmp(&addr, expected, sizeof(expected)), 0);
}

/* A QPN has 24 bits; excess bits must not spill into the flags. */
static void lladdr_qpn_range(struct kunit *test)
{
	struct ipoib_lladdr addr;
	const u8 *octets = (const u8 *)&addr;

	ipoib_lladdr_set(&addr, 0, 0xff000001, &port_gid);
	KUNIT_EXPECT_EQ(test, octets[0], (u8)0);
	KUNIT_EXPECT_EQ(test, ipoib_lladdr_qpn(&addr), 1u);
	ipoib_lladdr_set(&addr, 0, IPOIB_MCAST_QPN, &port_gid);
	KUNIT_EXPECT_EQ(test, octets[0], (u8)0);
	KUNIT_EXPECT_EQ(test, ipoib_lladdr_qpn(&addr), 0xffffffu);
}

/* The QPN does not depend on the flags of the peer. */
static void lladdr_flags_ignored(struct kunit *test)
{
	struct ipoib_lladdr addr;
	unsigned int flags;

	for (flags = 0; flags <= 0xff; flags++) {
		ipoib_lladdr_set(&addr, flags, 0xabcdef, &port_gid);
		KUNIT_EXPECT_EQ(test, ((const u8 *)&addr)[0], (u8)flags);
		KUNIT_EXPECT_EQ(test, ipoib_lladdr_qpn(&addr), 0xabcdefu);
	}
}

static void lladdr_multicast(struct kunit *test)
{
	struct ipoib_lladdr addr;
	union ib_gid mgid;

	ipoib_lladdr_set(&addr, 0, 0x123456, &port_gid);
	KUNIT_EXPECT_FALSE(test, ipoib_lladdr_is_mcast(&addr));
	/* The GID decides, not the QPN. */
	ipoib_lladdr_set(&addr, 0, IPOIB_MCAST_QPN, &port_gid);
	KUNIT_EXPECT_FALSE(test, ipoib_lladdr_is_mcast(&addr));
	ipoib_mgid_broadcast(&mgid, IPOIB_SCOPE_LINK_LOCAL, 0xffff);
	ipoib_lladdr_set(&addr, 0, IPOIB_MCAST_QPN, &mgid);
	KUNIT_EXPECT_TRUE(test, ipoib_lladdr_is_mcast(&addr));
}

/* RFC 4391 section 6: type, then the reserved field; 20 private octets before them */
static void header_layout(struct kunit *test)
{
	struct ipoib_encap encap = {
		.proto = cpu_to_be16(0x0800),
		.reserved = cpu_to_be16(0x1234),
	};
	static const u8 expected[4] = { 0x08, 0x00, 0x12, 0x34 };

	KUNIT_EXPECT_EQ(test, IPOIB_ENCAP_LEN, sizeof(expected));
	KUNIT_EXPECT_EQ(test, memcmp(&encap, expected, sizeof(expected)), 0);
	KUNIT_EXPECT_EQ(test, IPOIB_HARD_LEN, (size_t)24);
	KUNIT_EXPECT_EQ(test, offsetof(struct ipoib_header, encap), (size_t)20);
}

/* RFC 4391 section 4, the broadcast-GID. */
static void mgid_broadcast(struct kunit *test)
{
	static const u8 expected[16] = {
		0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 0, 0,
		0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff
	};
	union ib_gid gid;

	memset(&gid, 0xa5, sizeof(gid));
	ipoib_mgid_broadcast(&gid, 2, 0x8001);
	KUNIT_EXPECT_EQ(test, memcmp(&gid, expected, sizeof(gid)), 0);
	/* The P_Key of a limited member is replaced by the key of a full member. */
	ipoib_mgid_broadcast(&gid, 2, 0x0001);
	KUNIT_EXPECT_EQ(test, memcmp(&gid, expected, sizeof(gid)), 0);
}

static void mgid_scope(struct kunit *test)
{
	union ib_gid gid;
	u8 scope;

	for (scope = 0; scope <= 0xf; scope++) {
		ipoib_mgid_broadcast(&gid, scope, 0xffff);
		KUNIT_EXPECT_EQ(test, gid.raw[1], (u8)(0x10 + scope));
	}
	/* Four bits; of the flags only the transient flag is set. */
	ipoib_mgid_broadcast(&gid, 0xe5, 0xffff);
	KUNIT_EXPECT_EQ(test, gid.raw[1], (u8)0x15);
}

static const union ib_gid mgids_on_link[] = {
	/* the broadcast group itself, all-hosts, the highest IPv4 group */
	{ .raw = { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 0, 0,
		   0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
	{ .raw = { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 0, 0,
		   0, 0, 0, 0, 0, 0, 0, 1 } },
	{ .raw = { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 0, 0,
		   0, 0, 0, 0, 0x0f, 0xff, 0xff, 0xff } },
	/* all-nodes, a solicited-node group, all 80 bits in use */
	{ .raw = { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, 0, 0,
		   0, 0, 0, 0, 0, 0, 0, 1 } },
	{ .raw = { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, 0, 0,
		   0, 0, 0, 1, 0xff, 0x33, 0x44, 0x55 } },
	{ .raw = { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, 1, 2,
		   3, 4, 5, 6, 7, 8, 9, 10 } },
};

static void mgid_on_link(struct kunit *test)
{
	union ib_gid broadcast;
	unsigned int i;

	ipoib_mgid_broadcast(&broadcast, 2, 0x8001);
	for (i = 0; i < ARRAY_SIZE(mgids_on_link); i++)
		KUNIT_EXPECT_TRUE(test, ipoib_mgid_on_link(&mgids_on_link[i],
							   &broadcast));
}

/* Changes that make a group of the link foreign: octet, and its value */
static const struct {
	u8 octet;
	u8 value;
} mgid_foreign[] = {
	{ 0, 0xfe },	/* a unicast GID */
	{ 1, 0x02 },	/* well-known, not transient (U4) */
	{ 1, 0x11 },	/* other scopes (U8) */
	{ 1, 0x15 },
	{ 1, 0x1e },
	{ 1, 0x32 },	/* an undefined flag */
	{ 2, 0x41 },	/* other signatures (U5) */
	{ 2, 0x20 },
	{ 2, 0x00 },
	{ 3, 0x1a },
	{ 3, 0x00 },
	{ 4, 0x00 },	/* P_Key of a limited member */
	{ 5, 0x02 },	/* other partitions */
	{ 5, 0x00 },
	{ 4, 0xff },
};

static void mgid_not_on_link(struct kunit *test)
{
	union ib_gid broadcast, gid;
	unsigned int group, i;

	ipoib_mgid_broadcast(&broadcast, 2, 0x8001);
	for (group = 0; group < ARRAY_SIZE(mgids_on_link); group++) {
		for (i = 0; i < ARRAY_SIZE(mgid_foreign); i++) {
			gid = mgids_on_link[group];
			gid.raw[mgid_foreign[i].octet] = mgid_foreign[i].value;
			KUNIT_EXPECT_FALSE(test,
					   ipoib_mgid_on_link(&gid,
							      &broadcast));
		}
	}
	KUNIT_EXPECT_FALSE(test, ipoib_mgid_on_link(&port_gid, &broadcast));
}

/* The same groups are foreign to a link of another partition or scope. */
static void mgid_other_link(struct kunit *test)
{
	union ib_gid pkey, scope;
	unsigned int i;

	ipoib_mgid_broadcast(&pkey, 2, 0x8002);
	ipoib_mgid_broadcast(&scope, 5, 0x8001);
	for (i = 0; i < ARRAY_SIZE(mgids_on_link); i++) {
		KUNIT_EXPECT_FALSE(test, ipoib_mgid_on_link(&mgids_on_link[i],
							    &pkey));
		KUNIT_EXPECT_FALSE(test, ipoib_mgid_on_link(&mgids_on_link[i],
							    &scope));
	}
}

/* RFC 4391 section 7: IB MTU minus four octets of encapsulation header */
static void mtu_from_ib(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ipoib_mtu_from_ib(IB_MTU_256), 252);
	KUNIT_EXPECT_EQ(test, ipoib_mtu_from_ib(IB_MTU_512), 508);
	KUNIT_EXPECT_EQ(test, ipoib_mtu_from_ib(IB_MTU_1024), 1020);
	KUNIT_EXPECT_EQ(test, ipoib_mtu_from_ib(IB_MTU_2048), 2044);
	KUNIT_EXPECT_EQ(test, ipoib_mtu_from_ib(IB_MTU_4096), 4092);
	/* Invalid IB MTUs must be below every limit. */
	KUNIT_EXPECT_LT(test, ipoib_mtu_from_ib(0), 0);
	KUNIT_EXPECT_EQ(test, ipoib_mtu_from_ib(OPA_MTU_8192), 8188);
	KUNIT_EXPECT_EQ(test, ipoib_mtu_from_ib(OPA_MTU_10240), 10236);
	KUNIT_EXPECT_LT(test, ipoib_mtu_from_ib(8), 0);
	KUNIT_EXPECT_LT(test, ipoib_mtu_from_ib(63), 0);
}

/* Pairs of addresses in ascending order; flags do not count (C18). */
static void lladdr_order(struct kunit *test)
{
	static const struct {
		u32 flags_qpn[2];
		u8 octet[2][2];		/* first and last of the GID */
	} pairs[] = {
		{ { 0x000001, 0x000002 }, { { 0xfe, 1 }, { 0xfe, 1 } } },
		{ { 0x0000ff, 0x000100 }, { { 0xfe, 9 }, { 0xfe, 1 } } },
		{ { 0x7fffff, 0x800000 }, { { 0xfe, 9 }, { 0xfe, 1 } } },
		{ { 0xff000001, 0x000002 }, { { 0xfe, 1 }, { 0xfe, 1 } } },
		{ { 0x80000001, 0x40000001 }, { { 0xfe, 1 }, { 0xfe, 2 } } },
		{ { 0x000001, 0x000001 }, { { 0x7f, 9 }, { 0x80, 1 } } },
		{ { 0x000001, 0x000001 }, { { 0xfe, 0x7f }, { 0xfe, 0x80 } } },
	};
	struct ipoib_lladdr addr[2] = {};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		for (j = 0; j < 2; j++) {
			addr[j].flags_qpn = cpu_to_be32(pairs[i].flags_qpn[j]);
			addr[j].gid[0] = pairs[i].octet[j][0];
			addr[j].gid[15] = pairs[i].octet[j][1];
		}
		KUNIT_EXPECT_TRUE(test, ipoib_lladdr_less(&addr[0], &addr[1]));
		KUNIT_EXPECT_FALSE(test, ipoib_lladdr_less(&addr[1], &addr[0]));
		KUNIT_EXPECT_FALSE(test, ipoib_lladdr_less(&addr[0], &addr[0]));
	}
}

static void lladdr_flags(struct kunit *test)
{
	struct ipoib_lladdr addr = {};
	unsigned int flags;

	for (flags = 0; flags < 256; flags++) {
		addr.flags_qpn = cpu_to_be32(flags << 24 | 0xffffff);
		KUNIT_EXPECT_EQ(test, ipoib_lladdr_flags(&addr), flags & 0xc0);
	}
}

static void service_id(struct kunit *test)
{
	static const u8 rfc[] = { 0x01, 0, 0, 0, 0, 0x12, 0x34, 0x56 };
	static const u8 linux_own[] = { 0x10, 0, 0, 0, 0, 0x12, 0x34, 0x56 };
	__be64 sid;

	sid = ipoib_service_id(IPOIB_SID_RFC, 0xff123456);
	KUNIT_EXPECT_EQ(test, memcmp(&sid, rfc, sizeof(rfc)), 0);
	KUNIT_EXPECT_EQ(test, ipoib_service_first(sid), 0x01);
	sid = ipoib_service_id(IPOIB_SID_LINUX, 0x123456);
	KUNIT_EXPECT_EQ(test, memcmp(&sid, linux_own, sizeof(linux_own)), 0);
	KUNIT_EXPECT_EQ(test, ipoib_service_first(sid), 0x10);
}

/* A port with LMC 2 has four LIDs; the first is divisible by four. */
static void lid_same_port(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, ipoib_lid_is_same_port(0x14, 0x14, 0));
	KUNIT_EXPECT_FALSE(test, ipoib_lid_is_same_port(0x14, 0x15, 0));
	KUNIT_EXPECT_TRUE(test, ipoib_lid_is_same_port(0x14, 0x17, 2));
	KUNIT_EXPECT_TRUE(test, ipoib_lid_is_same_port(0x17, 0x14, 2));
	KUNIT_EXPECT_FALSE(test, ipoib_lid_is_same_port(0x14, 0x13, 2));
	KUNIT_EXPECT_FALSE(test, ipoib_lid_is_same_port(0x17, 0x18, 2));
	KUNIT_EXPECT_FALSE(test, ipoib_lid_is_same_port(0xbfff, 0x3fff, 7));
}

static struct kunit_case ipoib_wire_cases[] = {
	KUNIT_CASE(lladdr_octets),
	KUNIT_CASE(lladdr_qpn_range),
	KUNIT_CASE(lladdr_flags_ignored),
	KUNIT_CASE(lladdr_multicast),
	KUNIT_CASE(lladdr_order),
	KUNIT_CASE(lladdr_flags),
	KUNIT_CASE(service_id),
	KUNIT_CASE(header_layout),
	KUNIT_CASE(mgid_broadcast),
	KUNIT_CASE(mgid_scope),
	KUNIT_CASE(mgid_on_link),
	KUNIT_CASE(mgid_not_on_link),
	KUNIT_CASE(mgid_other_link),
	KUNIT_CASE(mtu_from_ib),
	KUNIT_CASE(lid_same_port),
	{}
};

struct kunit_suite ipoib_wire_suite = {
	.name = "ipoib_wire",
	.test_cases = ipoib_wire_cases,
};
