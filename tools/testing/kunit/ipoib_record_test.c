// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of sa/record.c: MCMemberRecord and Notice on the wire, IBTA 15.2.5.17
 * and 13.4.8.2, and status of answers.
 *
 * Expected values are written octet by octet, independent of the functions under
 * test.
 */
#include "ipoib_suites.h"
#include "sa/record.c"

static const u8 record_octets[52] = {
	/* MGID, port's GID */
	0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 0, 0, 0, 0, 0, 0, 0x0f, 0, 0, 1,
	0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44,
	0x55,
	/* Q_Key; MLID; MTU; traffic class */
	0x00, 0x00, 0x0b, 0x1b, 0xc0, 0x12, 0x84, 0x5a,
	/* P_Key; rate; life time; SL, flow label, hop limit */
	0x80, 0x01, 0x43, 0x00, 0x5a, 0xbc, 0xde, 0x3f,
	/* scope, JoinState; proxy */
	0x04, 0, 0, 0,
};

static const struct ib_sa_mcmember_rec record = {
	.mgid.raw = { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 0, 0,
		      0, 0, 0, 0, 0x0f, 0, 0, 1 },
	.port_gid.raw = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
			  0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55 },
	.qkey = cpu_to_be32(0xb1b),
	.mlid = cpu_to_be16(0xc012),
	.mtu_selector = 2,
	.mtu = 4,
	.traffic_class = 0x5a,
	.pkey = cpu_to_be16(0x8001),
	.rate_selector = 1,
	.rate = 3,
	.sl = 5,
	.flow_label = cpu_to_be32(0xabcde),
	.hop_limit = 0x3f,
	.join_state = 4,
};

static void pack(struct kunit *test)
{
	struct ipoib_member_record wire;

	memset(&wire, 0xa5, sizeof(wire));
	ipoib_sa_record_pack(&wire, &record);
	KUNIT_EXPECT_EQ(test, sizeof(wire), sizeof(record_octets));
	KUNIT_EXPECT_EQ(test, memcmp(&wire, record_octets, sizeof(wire)), 0);
}

/* Excess bits of a value must not spill into adjacent fields. */
static void pack_range(struct kunit *test)
{
	struct ib_sa_mcmember_rec rec = {
		.flow_label = cpu_to_be32(0xfff00001),
		.mtu = 0xff,
		.rate = 0xff,
		.join_state = 0xff,
	};
	struct ipoib_member_record wire;

	ipoib_sa_record_pack(&wire, &rec);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(wire.sl_flow_hops), 0x100u);
	KUNIT_EXPECT_EQ(test, wire.mtu, (u8)0x3f);
	KUNIT_EXPECT_EQ(test, wire.rate, (u8)0x3f);
	KUNIT_EXPECT_EQ(test, wire.scope_state, (u8)0x0f);
}

static void unpack(struct kunit *test)
{
	struct ib_sa_mcmember_rec rec;
	u8 octets[52];

	/* Life time, scope and proxy are ignored, and must not spill into other fields. */
	memcpy(octets, record_octets, sizeof(octets));
	octets[43] = 0xd2;
	octets[48] |= 0x20;
	octets[49] = 0x80;
	memset(&rec, 0xa5, sizeof(rec));
	ipoib_sa_record_unpack(&rec, (const void *)octets);
	KUNIT_EXPECT_EQ(test, memcmp(&rec.mgid, &record.mgid, 16), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(rec.qkey), 0xb1bu);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec.mlid), (u16)0xc012);
	KUNIT_EXPECT_EQ(test, rec.mtu, (u8)4);
	KUNIT_EXPECT_EQ(test, rec.traffic_class, (u8)0x5a);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec.pkey), (u16)0x8001);
	KUNIT_EXPECT_EQ(test, rec.rate, (u8)3);
	KUNIT_EXPECT_EQ(test, rec.sl, (u8)5);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(rec.flow_label), 0xabcdeu);
	KUNIT_EXPECT_EQ(test, rec.hop_limit, (u8)0x3f);
	/* The rest is 0. */
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(&rec.port_gid, 0, sizeof(rec.port_gid)), NULL);
	KUNIT_EXPECT_EQ(test, rec.mtu_selector, (u8)0);
	KUNIT_EXPECT_EQ(test, rec.rate_selector, (u8)0);
	KUNIT_EXPECT_EQ(test, rec.packet_life_time, (u8)0);
	KUNIT_EXPECT_EQ(test, rec.scope, (u8)0);
	KUNIT_EXPECT_EQ(test, rec.join_state, (u8)0);
}

/* A table of the SA: records of 52 octets at intervals of 56 */
static void mgids(struct kunit *test)
{
	u8 table[3 * 56] = {};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		memset(table + i * 56, 0xa5, 56);
		memset(table + i * 56, 0xf0 + i, 16);
	}
	/* The last record ends at the end of the table, or is truncated. */
	KUNIT_EXPECT_EQ(test, ipoib_sa_record_mgids(table, 2 * 56 + 52, 56), 3u);
	for (i = 0; i < 3 * 16; i++)
		KUNIT_EXPECT_EQ(test, table[i], (u8)(0xf0 + i / 16));
	KUNIT_EXPECT_EQ(test, ipoib_sa_record_mgids(table, 2 * 56 + 51, 56), 2u);
	KUNIT_EXPECT_EQ(test, ipoib_sa_record_mgids(table, 51, 56), 0u);
	KUNIT_EXPECT_EQ(test, ipoib_sa_record_mgids(table, 0, 56), 0u);
}

/* Generic notice of a class manager, trap 66, MGID at octet 16 */
static const u8 notice_octets[80] = {
	0x84, 0x00, 0x00, 0x04, 0x00, 0x42, 0x00, 0x01, [16] = 0xff, 0x12,
	0x40, 0x1b, 0x80, 0x01, [31] = 1,
};

/* Is notice_octets, with a changed octet, accepted? */
static bool sound_with(unsigned int octet, u8 value)
{
	struct ipoib_notice notice;

	memcpy(&notice, notice_octets, sizeof(notice));
	((u8 *)&notice)[octet] = value;
	return ipoib_sa_notice_is_sound(&notice);
}

static void notice_sound(struct kunit *test)
{
	struct ipoib_notice notice;

	memcpy(&notice, notice_octets, sizeof(notice));
	KUNIT_EXPECT_TRUE(test, ipoib_sa_notice_is_sound(&notice));
	notice.trap = cpu_to_be16(67);
	KUNIT_EXPECT_TRUE(test, ipoib_sa_notice_is_sound(&notice));
}

static void notice_unsound(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, sound_with(0, 0x04));	/* vendor-specific */
	KUNIT_EXPECT_FALSE(test, sound_with(3, 0x01));	/* issued by a CA */
	KUNIT_EXPECT_FALSE(test, sound_with(5, 65));	/* other traps */
	KUNIT_EXPECT_FALSE(test, sound_with(5, 68));
	KUNIT_EXPECT_FALSE(test, sound_with(4, 1));
	KUNIT_EXPECT_FALSE(test, sound_with(16, 0xfe));	/* a port as a group */
}

/* IBTA 13.4.7 and table 187; undefined codes are errors, too. */
static void status(struct kunit *test)
{
	static const struct {
		u16 status;
		int err;
	} answers[] = {
		{ 0x0000, 0 },
		{ 0x0001, -EBUSY },
		{ 0x0004, -EPROTO },		/* version of the class */
		{ 0x0008, -EOPNOTSUPP },
		{ 0x000c, -EOPNOTSUPP },
		{ 0x001c, -EPROTO },		/* value of a field */
		{ 0x0100, -ENOBUFS },
		{ 0x0200, -EINVAL },
		{ 0x0300, -ENOENT },
		{ 0x0400, -E2BIG },
		{ 0x0500, -EADDRNOTAVAIL },
		{ 0x0600, -EBADMSG },
		{ 0x0700, -EACCES },
		{ 0x0800, -EPROTO },
		{ 0xff00, -EPROTO },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(answers); i++)
		KUNIT_EXPECT_EQ(test, ipoib_sa_errno(answers[i].status), answers[i].err);
}

static struct kunit_case ipoib_record_cases[] = {
	KUNIT_CASE(pack),
	KUNIT_CASE(pack_range),
	KUNIT_CASE(unpack),
	KUNIT_CASE(mgids),
	KUNIT_CASE(notice_sound),
	KUNIT_CASE(notice_unsound),
	KUNIT_CASE(status),
	{}
};

struct kunit_suite ipoib_record_suite = {
	.name = "ipoib_record",
	.test_cases = ipoib_record_cases,
};
