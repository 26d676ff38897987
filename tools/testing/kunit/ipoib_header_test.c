// SPDX-License-Identifier: GPL-2.0
/* Tests of functions of headers: rates of ports, errors of the SA, counts of moderation */
#include "ipoib.h"
#include "ipoib_suites.h"

/* Lanes by the bits of enum ib_port_speed, and widths. XDR has no constant in older kernels. */
static void port_rates(struct kunit *test)
{
	static const struct {
		u16 speed;
		u8 width;
		unsigned int mbps;
	} ports[] = {
		{ IB_SPEED_SDR, IB_WIDTH_1X, 2500 },
		{ IB_SPEED_DDR, IB_WIDTH_1X, 5000 },
		{ IB_SPEED_QDR, IB_WIDTH_1X, 10000 },
		{ IB_SPEED_FDR10, IB_WIDTH_1X, 10000 },
		{ IB_SPEED_FDR, IB_WIDTH_1X, 14000 },
		{ IB_SPEED_EDR, IB_WIDTH_1X, 25000 },
		{ IB_SPEED_HDR, IB_WIDTH_1X, 50000 },
		{ IB_SPEED_NDR, IB_WIDTH_1X, 100000 },
		{ 256, IB_WIDTH_1X, 200000 },
		{ IB_SPEED_HDR, IB_WIDTH_2X, 100000 },
		{ IB_SPEED_EDR, IB_WIDTH_4X, 100000 },
		{ IB_SPEED_QDR, IB_WIDTH_8X, 80000 },
		{ IB_SPEED_FDR, IB_WIDTH_12X, 168000 },
		/* Without a link, or unknown to this driver */
		{ 0, IB_WIDTH_4X, 0 },
		{ IB_SPEED_EDR, 0, 0 },
		{ 512, IB_WIDTH_1X, 0 },
	};
	struct ib_port_attr attr = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ports); i++) {
		attr.active_speed = ports[i].speed;
		attr.active_width = ports[i].width;
		KUNIT_EXPECT_EQ(test, ipoib_port_mbps(&attr), ports[i].mbps);
	}
}

/* Errors after which a question may be repeated, and decisions of the SA */
static void sa_silent(struct kunit *test)
{
	static const int silent[] = {
		-ETIMEDOUT, -EINTR, -EIO, -EBUSY, -ENOBUFS, -EOPNOTSUPP,
	};
	static const int decided[] = {
		0, -EINVAL, -ENOENT, -E2BIG, -EADDRNOTAVAIL, -EBADMSG, -EACCES, -EPROTO,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(silent); i++)
		KUNIT_EXPECT_TRUE(test, ipoib_sa_is_silent(silent[i]));
	for (i = 0; i < ARRAY_SIZE(decided); i++)
		KUNIT_EXPECT_FALSE(test, ipoib_sa_is_silent(decided[i]));
}

/* lib/dim measures each DIM_NEVENTS events, modulo 65536. */
static void moder_counts(struct kunit *test)
{
	struct ipoib_moder moder = { .events = 0xffff };

	ipoib_moder_event(&moder);
	ipoib_moder_event(&moder);
	KUNIT_EXPECT_EQ(test, moder.events, (u16)1);
	ipoib_moder_received(&moder, 3, 1000);
	moder.run = 0;
	ipoib_moder_received(&moder, 2, 500);
	KUNIT_EXPECT_EQ(test, moder.run, 2u);
	KUNIT_EXPECT_EQ(test, moder.packets, 5ull);
	KUNIT_EXPECT_EQ(test, moder.bytes, 1500ull);
}

static struct kunit_case ipoib_header_cases[] = {
	KUNIT_CASE(port_rates),
	KUNIT_CASE(sa_silent),
	KUNIT_CASE(moder_counts),
	{}
};

struct kunit_suite ipoib_header_suite = {
	.name = "ipoib_header",
	.test_cases = ipoib_header_cases,
};
