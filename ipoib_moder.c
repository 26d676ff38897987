// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt moderation of receives: later reports of more completions, as set by the administrator
 * or by the rate (lib/dim). The HCA moderates or, if it cannot, a timer: a handler that has found
 * completions runs again after a delay, and arms the CQ once it finds none.
 */
#include <rdma/ib_verbs.h>

#include "ipoib_moder.h"

/* Longest delay that lib/dim may choose, also by its own profiles, in microseconds */
#define IPOIB_MODER_MAX	256

/*
 * Profiles of lib/dim for the timer, in microseconds. A first step shorter than the distance of
 * packets would have no effect, and end the search.
 */
static const u16 ipoib_moder_usecs[NET_DIM_PARAMS_NUM_PROFILES] = {
	0, 64, 128, 192, IPOIB_MODER_MAX,
};

/* Apply the settings, or the profile of lib/dim. */
static int ipoib_moder_apply(struct ipoib_moder *moder)
{
	const struct ipoib_moderation *setting = moder->setting;
	u8 choice = READ_ONCE(moder->dim.profile_ix);
	bool adaptive = READ_ONCE(setting->adaptive);
	u16 usecs = READ_ONCE(setting->usecs);
	struct dim_cq_moder profile = {
		.usec = usecs,
		.pkts = READ_ONCE(setting->frames),
	};
	int err;

	if (adaptive) {
		profile = net_dim_get_rx_moderation(DIM_CQ_PERIOD_MODE_START_FROM_EQE, choice);
		profile.pkts = min_t(unsigned int, profile.pkts, READ_ONCE(moder->most));
	}
	err = rdma_set_cq_moderation(moder->cq, profile.pkts, profile.usec);
	if (err != -EOPNOTSUPP)
		return err;
	WRITE_ONCE(moder->usecs, adaptive ? ipoib_moder_usecs[choice] : usecs);
	return 0;
}

/* Apply the profile that was chosen. Context: process. */
static void ipoib_moder_work(struct work_struct *work)
{
	struct ipoib_moder *moder = container_of(work, struct ipoib_moder, dim.work);

	/* An HCA that refuses keeps its setting until the next choice. */
	ipoib_moder_apply(moder);
	WRITE_ONCE(moder->dim.state, DIM_START_MEASURE);
}

/*
 * Compare the rates with the last ones, each DIM_NEVENTS events. Packets at a greater distance than
 * the longest delay gain nothing by any profile.
 */
static void ipoib_moder_measure(struct ipoib_moder *moder)
{
	u16 events = READ_ONCE(moder->events);
	struct dim *dim = &moder->dim;
	struct dim_sample sample = {};
	u32 packets;

	if ((u16)(events - dim->start_sample.event_ctr) < DIM_NEVENTS ||
	    READ_ONCE(dim->state) == DIM_APPLY_NEW_PROFILE)
		return;
	dim_update_sample(events, moder->packets, moder->bytes, &sample);
	packets = (u32)moder->packets - dim->start_sample.pkt_ctr;
	if (ktime_us_delta(sample.time, dim->start_sample.time) <= (s64)packets * IPOIB_MODER_MAX) {
		ipoib_net_dim(dim, &sample);
		return;
	}
	dim->start_sample = sample;
	if (dim->profile_ix) {
		WRITE_ONCE(dim->profile_ix, 0);
		WRITE_ONCE(dim->state, DIM_APPLY_NEW_PROFILE);
		schedule_work(&dim->work);
	}
}

/* Call the handler again. Context: interrupt of the timer. */
static enum hrtimer_restart ipoib_moder_timeout(struct hrtimer *timer)
{
	struct ipoib_moder *moder = container_of(timer, struct ipoib_moder, timer);

	ipoib_moder_event(moder);
	napi_schedule(moder->napi);
	return HRTIMER_NORESTART;
}

/*
 * Complete a run of the handler of a CQ; @done as for napi_complete_done(). The handler runs again
 * with the next completion, or after the delay.
 * Context: NAPI, last.
 */
void ipoib_moder_complete(struct ipoib_moder *moder, int done)
{
	unsigned int usecs = READ_ONCE(moder->usecs);
	unsigned int run = moder->run;

	moder->run = 0;
	if (READ_ONCE(moder->setting->adaptive))
		ipoib_moder_measure(moder);
	if (!napi_complete_done(moder->napi, done))
		return;
	if (usecs && run && run <= moder->most)
		ipoib_moder_again(moder, usecs);
	else if (ib_req_notify_cq(moder->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		napi_schedule(moder->napi);
}

/* Apply new settings to a CQ. Context: may sleep. Return: 0, or a negative error of the HCA. */
int ipoib_moder_update(struct ipoib_moder *moder)
{
	/* It may have read the old settings. */
	flush_work(&moder->dim.work);
	return ipoib_moder_apply(moder);
}

/**
 * ipoib_moder_init - begin the moderation of a new CQ
 * @moder: filled in
 * @cq: the CQ
 * @napi: its handler
 * @setting: valid until ipoib_moder_exit()
 * @most: see &struct ipoib_moder
 *
 * Errors of the HCA are ignored: the settings were checked when they were made.
 *
 * Context: may sleep
 */
void ipoib_moder_init(struct ipoib_moder *moder, struct ib_cq *cq, struct napi_struct *napi,
		      const struct ipoib_moderation *setting, unsigned int most)
{
	memset(moder, 0, sizeof(*moder));
	moder->setting = setting;
	moder->cq = cq;
	moder->napi = napi;
	moder->most = most;
	moder->dim.mode = DIM_CQ_PERIOD_MODE_START_FROM_EQE;
	INIT_WORK(&moder->dim.work, ipoib_moder_work);
	hrtimer_setup(&moder->timer, ipoib_moder_timeout, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
	ipoib_moder_apply(moder);
}

/*
 * End the moderation of a CQ, whose handler is disabled, before its destruction.
 * Context: may sleep.
 */
void ipoib_moder_exit(struct ipoib_moder *moder)
{
	hrtimer_cancel(&moder->timer);
	cancel_work_sync(&moder->dim.work);
}
