// SPDX-License-Identifier: GPL-2.0
/* Tests of functions of headers: rates of ports, errors of the SA, pauses; and of moderation */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* ipoib_queue_test.c defines functions of these names. */
#define ipoib_moder_init	header_moder_init
#define ipoib_moder_exit	header_moder_exit
#define ipoib_moder_update	header_moder_update
#define ipoib_moder_complete	header_moder_complete

#include "ipoib.h"
#include "ipoib_moder.c"

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

/**
 * struct moder_fixture - a CQ with adaptive moderation
 * @ca: an HCA that does not moderate
 * @cq: the CQ
 * @setting: adaptive
 * @moder: its moderation
 */
struct moder_fixture {
	struct ib_device ca;
	struct ib_cq cq;
	struct ipoib_moderation setting;
	struct ipoib_moder moder;
};

/* Packets at a greater distance than the longest delay: none is delayed any more. */
static void moder_slow(struct kunit *test)
{
	struct moder_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_moder *moder;
	struct dim *dim;

	KUNIT_EXPECT_TRUE(test, fix);
	if (!fix)
		return;
	moder = &fix->moder;
	dim = &moder->dim;
	fix->cq.device = &fix->ca;
	fix->setting.adaptive = true;
	ipoib_moder_init(moder, &fix->cq, NULL, &fix->setting, 64);
	dim->profile_ix = 3;
	KUNIT_EXPECT_EQ(test, ipoib_moder_update(moder), 0);
	KUNIT_EXPECT_EQ(test, moder->usecs, 192u);
	moder->events = DIM_NEVENTS;
	moder->packets = DIM_NEVENTS;
	dim->start_sample.time = ktime_sub_ms(ktime_get(), 1000);
	ipoib_moder_measure(moder);
	flush_work(&dim->work);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->profile_ix, 0u);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->state, (unsigned int)DIM_START_MEASURE);
	KUNIT_EXPECT_EQ(test, moder->usecs, 0u);
	ipoib_moder_exit(moder);
	kvfree(fix);
}

/* Pauses by failures in a row, and their bounds */
static void backoff(struct kunit *test)
{
	bool longer = false;
	unsigned long pause;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ipoib_backoff_fast(0), HZ / 10ul);
	KUNIT_EXPECT_EQ(test, ipoib_backoff_fast(3), HZ / 10ul * 8);
	KUNIT_EXPECT_EQ(test, ipoib_backoff_fast(100), 8ul * HZ);
	KUNIT_EXPECT_EQ(test, ipoib_backoff_slow(0), HZ / 2ul);
	KUNIT_EXPECT_EQ(test, ipoib_backoff_slow(3), HZ / 2ul * 8);
	KUNIT_EXPECT_EQ(test, ipoib_backoff_slow(100), 60ul * HZ);
	for (i = 0; i < 1000; i++) {
		pause = ipoib_backoff_spread(1000);
		KUNIT_EXPECT_LT(test, 999ul, pause);
		KUNIT_EXPECT_LT(test, pause, 1501ul);
		longer |= pause > 1400;
		KUNIT_EXPECT_LT(test, ipoib_spread(), msecs_to_jiffies(50) + 1);
	}
	KUNIT_EXPECT_TRUE(test, longer);
}

static struct kunit_case ipoib_header_cases[] = {
	KUNIT_CASE(port_rates),
	KUNIT_CASE(sa_silent),
	KUNIT_CASE(moder_counts),
	KUNIT_CASE(moder_slow),
	KUNIT_CASE(backoff),
	{}
};

struct kunit_suite ipoib_header_suite = {
	.name = "ipoib_header",
	.test_cases = ipoib_header_cases,
};
