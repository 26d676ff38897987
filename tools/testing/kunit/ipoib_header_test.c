// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of functions of headers: rates of ports, errors of the SA, pauses, completion vectors; and
 * of moderation
 */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* ipoib_queue_test.c defines functions of these names. */
#define ipoib_moder_init	header_moder_init
#define ipoib_moder_exit	header_moder_exit
#define ipoib_moder_update	header_moder_update
#define ipoib_moder_complete	header_moder_complete

#include "ipoib.h"

/* NAPI, and the timer */
#undef napi_schedule
#define napi_complete_done(napi, done)		moder_napi_done(done)
#define napi_schedule(napi)			(moder_fix->scheduled++)
#define ipoib_moder_again(moder, usecs)		moder_again(usecs)

/**
 * struct moder_fixture - a CQ with adaptive moderation
 * @ca: an HCA that does not moderate
 * @cq: the CQ
 * @setting: adaptive
 * @moder: its moderation
 * @frames: completions of a report, as set for the HCA
 * @usecs: its delay
 * @err: result of the HCA
 * @goes_on: the kernel polls on
 * @done: completions of a run of the handler
 * @missed: result of ib_req_notify_cq()
 * @armed: calls of it
 * @scheduled: times that the handler was scheduled
 * @again: delay of the timer
 */
struct moder_fixture {
	struct ib_device ca;
	struct ib_cq cq;
	struct ipoib_moderation setting;
	struct ipoib_moder moder;
	unsigned int frames;
	unsigned int usecs;
	int err;
	bool goes_on;
	int done;
	int missed;
	unsigned int armed;
	unsigned int scheduled;
	unsigned int again;
};

/* The fixture of the running case */
static struct moder_fixture *moder_fix;

static bool moder_napi_done(int done)
{
	moder_fix->done = done;
	return !moder_fix->goes_on;
}

static void moder_again(unsigned int usecs)
{
	moder_fix->again = usecs;
}

static int moder_modify_cq(struct ib_cq *cq, u16 frames, u16 usecs)
{
	moder_fix->frames = frames;
	moder_fix->usecs = usecs;
	return moder_fix->err;
}

static int moder_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	if (flags == (IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS))
		moder_fix->armed++;
	return moder_fix->missed;
}

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

/* A CQ with adaptive moderation, or NULL */
static struct moder_fixture *moder_make(struct kunit *test)
{
	struct moder_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	KUNIT_EXPECT_TRUE(test, fix);
	if (!fix)
		return NULL;
	moder_fix = fix;
	fix->cq.device = &fix->ca;
	fix->ca.ops.req_notify_cq = moder_notify_cq;
	fix->setting.adaptive = true;
	memset(&fix->moder, 0xff, sizeof(fix->moder));
	ipoib_moder_init(&fix->moder, &fix->cq, (void *)fix, &fix->setting, 64);
	return fix;
}

static void moder_free(struct moder_fixture *fix)
{
	ipoib_moder_exit(&fix->moder);
	kvfree(fix);
}

static void moder_init(struct kunit *test)
{
	struct moder_fixture *fix = moder_make(test);
	struct ipoib_moder *moder;

	if (!fix)
		return;
	moder = &fix->moder;
	KUNIT_EXPECT_PTR_EQ(test, moder->setting, &fix->setting);
	KUNIT_EXPECT_PTR_EQ(test, moder->cq, &fix->cq);
	KUNIT_EXPECT_PTR_EQ(test, moder->napi, (void *)fix);
	KUNIT_EXPECT_EQ(test, moder->most, 64u);
	KUNIT_EXPECT_EQ(test, moder->run, 0u);
	KUNIT_EXPECT_EQ(test, moder->usecs, 0u);
	KUNIT_EXPECT_EQ(test, moder->events, (u16)0);
	KUNIT_EXPECT_EQ(test, (unsigned int)moder->dim.profile_ix, 0u);
	KUNIT_EXPECT_EQ(test, (unsigned int)moder->dim.mode,
			(unsigned int)DIM_CQ_PERIOD_MODE_START_FROM_EQE);
	/* The timer calls the handler, and counts as an event. */
	KUNIT_EXPECT_EQ(test, (int)ipoib_moder_timeout(&moder->timer), (int)HRTIMER_NORESTART);
	KUNIT_EXPECT_EQ(test, moder->events, (u16)1);
	KUNIT_EXPECT_EQ(test, fix->scheduled, 1u);
	moder_free(fix);
}

/* Delays of the timer by profile, and settings of an HCA that moderates */
static void moder_profiles(struct kunit *test)
{
	static const unsigned int usecs[] = { 0, 64, 128, 192, 256 };
	struct moder_fixture *fix = moder_make(test);
	struct dim_cq_moder profile;
	struct ipoib_moder *moder;
	unsigned int i;

	if (!fix)
		return;
	moder = &fix->moder;
	for (i = 0; i < ARRAY_SIZE(usecs); i++) {
		moder->dim.profile_ix = i;
		KUNIT_EXPECT_EQ(test, ipoib_moder_update(moder), 0);
		KUNIT_EXPECT_EQ(test, moder->usecs, usecs[i]);
	}
	fix->setting = (struct ipoib_moderation){ .usecs = 77, .frames = 33 };
	KUNIT_EXPECT_EQ(test, ipoib_moder_update(moder), 0);
	KUNIT_EXPECT_EQ(test, moder->usecs, 77u);

	fix->ca.ops.modify_cq = moder_modify_cq;
	fix->setting.usecs = 88;
	KUNIT_EXPECT_EQ(test, ipoib_moder_update(moder), 0);
	KUNIT_EXPECT_EQ(test, fix->frames, 33u);
	KUNIT_EXPECT_EQ(test, fix->usecs, 88u);
	KUNIT_EXPECT_EQ(test, moder->usecs, 77u);
	fix->err = -EIO;
	KUNIT_EXPECT_EQ(test, ipoib_moder_update(moder), -EIO);
	KUNIT_EXPECT_EQ(test, moder->usecs, 77u);
	fix->err = 0;
	fix->setting.adaptive = true;
	moder->dim.profile_ix = 3;
	profile = net_dim_get_rx_moderation(DIM_CQ_PERIOD_MODE_START_FROM_EQE, 3);
	KUNIT_EXPECT_EQ(test, ipoib_moder_update(moder), 0);
	KUNIT_EXPECT_EQ(test, fix->frames, 64u);
	KUNIT_EXPECT_EQ(test, fix->usecs, (unsigned int)profile.usec);
	moder->most = 65535;
	KUNIT_EXPECT_EQ(test, ipoib_moder_update(moder), 0);
	KUNIT_EXPECT_EQ(test, fix->frames, (unsigned int)profile.pkts);
	moder_free(fix);
}

/**
 * struct moder_run - a run of the handler of a CQ, and its end
 * @usecs: delay of the timer
 * @run: packets since the last report
 * @goes_on: the kernel polls on
 * @missed: completions came meanwhile
 * @again: delay after which the handler runs again
 * @armed: the CQ is armed
 * @scheduled: the handler runs again at once
 */
struct moder_run {
	unsigned int usecs;
	unsigned int run;
	bool goes_on;
	int missed;
	unsigned int again;
	unsigned int armed;
	unsigned int scheduled;
};

static void moder_ends(struct kunit *test)
{
	static const struct moder_run runs[] = {
		{ 0, 5, false, 0, 0, 1, 0 },
		{ 0, 5, false, 1, 0, 1, 1 },
		{ 0, 5, false, -EIO, 0, 1, 0 },
		{ 100, 5, false, 1, 100, 0, 0 },
		{ 100, 64, false, 1, 100, 0, 0 },
		{ 100, 65, false, 0, 0, 1, 0 },
		{ 100, 0, false, 0, 0, 1, 0 },
		{ 100, 5, true, 1, 0, 0, 0 },
		{ 0, 5, true, 1, 0, 0, 0 },
	};
	struct moder_fixture *fix = moder_make(test);
	const struct moder_run *run;
	unsigned int i;

	if (!fix)
		return;
	fix->setting.adaptive = false;
	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		run = &runs[i];
		fix->moder.usecs = run->usecs;
		fix->moder.run = run->run;
		fix->goes_on = run->goes_on;
		fix->missed = run->missed;
		fix->again = 0;
		fix->armed = 0;
		fix->scheduled = 0;
		ipoib_moder_complete(&fix->moder, 10 + i);
		KUNIT_EXPECT_EQ(test, fix->done, (int)(10 + i));
		KUNIT_EXPECT_EQ(test, fix->moder.run, 0u);
		KUNIT_EXPECT_EQ(test, fix->again, run->again);
		KUNIT_EXPECT_EQ(test, fix->armed, run->armed);
		KUNIT_EXPECT_EQ(test, fix->scheduled, run->scheduled);
	}
	moder_free(fix);
}

/* Begin a measurement with 10,000 packets, which began so many ms ago. */
static void moder_begin(struct moder_fixture *fix, unsigned int ms)
{
	struct dim *dim = &fix->moder.dim;

	memset(&dim->start_sample, 0, sizeof(dim->start_sample));
	dim->state = DIM_START_MEASURE;
	dim->profile_ix = 3;
	dim->start_sample.time = ktime_sub_ms(ktime_get(), ms);
	dim->start_sample.event_ctr = 0xfff0;
	dim->start_sample.pkt_ctr = 100000;
	fix->moder.usecs = 192;
	fix->moder.events = 0xfff0;
	fix->moder.events += DIM_NEVENTS;
	fix->moder.packets = 110000;
	fix->moder.bytes = 1000000;
}

/* Packets at a greater distance than the longest delay: none is delayed any more. */
static void moder_slow(struct kunit *test)
{
	struct moder_fixture *fix = moder_make(test);
	struct ipoib_moder *moder;
	struct dim *dim;

	if (!fix)
		return;
	moder = &fix->moder;
	dim = &moder->dim;
	moder_begin(fix, 4000);
	ipoib_moder_complete(moder, 0);
	flush_work(&dim->work);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->profile_ix, 0u);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->state, (unsigned int)DIM_START_MEASURE);
	KUNIT_EXPECT_EQ(test, moder->usecs, 0u);
	KUNIT_EXPECT_EQ(test, dim->start_sample.pkt_ctr, 110000u);
	KUNIT_EXPECT_EQ(test, dim->start_sample.byte_ctr, 1000000u);
	KUNIT_EXPECT_EQ(test, dim->start_sample.event_ctr, moder->events);
	/* The profile of no delay stays. */
	moder_begin(fix, 4000);
	dim->profile_ix = 0;
	ipoib_moder_measure(moder);
	flush_work(&dim->work);
	KUNIT_EXPECT_EQ(test, moder->usecs, 192u);
	KUNIT_EXPECT_EQ(test, dim->start_sample.pkt_ctr, 110000u);
	/* Nothing is measured by set delays. */
	moder_begin(fix, 4000);
	fix->setting.adaptive = false;
	ipoib_moder_complete(moder, 0);
	KUNIT_EXPECT_EQ(test, dim->start_sample.pkt_ctr, 100000u);
	moder_free(fix);
}

/* Packets at a shorter distance are for lib/dim, after DIM_NEVENTS events. */
static void moder_fast(struct kunit *test)
{
	struct moder_fixture *fix = moder_make(test);
	struct dim *dim;

	if (!fix)
		return;
	dim = &fix->moder.dim;
	moder_begin(fix, 1900);
	ipoib_moder_measure(&fix->moder);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->state, (unsigned int)DIM_MEASURE_IN_PROGRESS);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->profile_ix, 3u);
	moder_begin(fix, 1900);
	fix->moder.events--;
	ipoib_moder_measure(&fix->moder);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->state, (unsigned int)DIM_START_MEASURE);
	/* Until the work has applied a profile */
	moder_begin(fix, 4000);
	dim->state = DIM_APPLY_NEW_PROFILE;
	ipoib_moder_measure(&fix->moder);
	KUNIT_EXPECT_EQ(test, dim->start_sample.pkt_ctr, 100000u);
	KUNIT_EXPECT_EQ(test, (unsigned int)dim->profile_ix, 3u);
	moder_free(fix);
}

/* Receives of interfaces have vectors in turn; their sends begin half way round. */
static void vectors(struct kunit *test)
{
	static const struct {
		int vectors;
		unsigned int interface;
		unsigned int n;
		int vector;
	} cqs[] = {
		{ 8, 0, 0, 0 }, { 8, 3, 0, 3 }, { 8, 9, 0, 1 },
		{ 8, 0, 1, 4 }, { 8, 0, 2, 5 }, { 8, 3, 1, 7 }, { 8, 3, 2, 0 },
		{ 3, 0, 1, 1 }, { 3, 0, 2, 2 }, { 3, 0, 3, 0 },
		{ 1, 0, 0, 0 }, { 1, 5, 1, 0 }, { 0, 5, 0, 0 }, { 0, 5, 2, 0 },
	};
	struct ib_device *ca = kvzalloc(sizeof(*ca), GFP_KERNEL | __GFP_NOFAIL);
	struct ipoib_dev *priv = kvzalloc(sizeof(*priv), GFP_KERNEL | __GFP_NOFAIL);
	unsigned int i;

	priv->ca = ca;
	for (i = 0; i < ARRAY_SIZE(cqs); i++) {
		ca->num_comp_vectors = cqs[i].vectors;
		priv->vector = cqs[i].interface;
		KUNIT_EXPECT_EQ(test, ipoib_ud_vector(priv, cqs[i].n), cqs[i].vector);
	}
	kvfree(priv);
	kvfree(ca);
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

/* A time stamp that is younger than a second is not written. */
static void touches(struct kunit *test)
{
	static const unsigned long ages[] = { 0, HZ - 1, HZ, HZ + 1 };
	unsigned long used, now;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ages); i++) {
		do {
			now = jiffies;
			used = now - ages[i];
			ipoib_touch(&used);
		} while (now != jiffies);
		KUNIT_EXPECT_EQ(test, used, now - (i < 2 ? ages[i] : 0));
	}
}

static struct kunit_case ipoib_header_cases[] = {
	KUNIT_CASE(port_rates),
	KUNIT_CASE(sa_silent),
	KUNIT_CASE(moder_counts),
	KUNIT_CASE(moder_init),
	KUNIT_CASE(moder_profiles),
	KUNIT_CASE(moder_ends),
	KUNIT_CASE(moder_slow),
	KUNIT_CASE(moder_fast),
	KUNIT_CASE(vectors),
	KUNIT_CASE(backoff),
	KUNIT_CASE(touches),
	{}
};

struct kunit_suite ipoib_header_suite = {
	.name = "ipoib_header",
	.test_cases = ipoib_header_cases,
};
