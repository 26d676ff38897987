/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moderation of receive completions, ipoib_moder.c.
 */
#ifndef IPOIB_MODER_H
#define IPOIB_MODER_H

#include <linux/dim.h>
#include <linux/hrtimer.h>

struct ib_cq;
struct napi_struct;

/* Delay until a handler retries to post receives, in microseconds */
#define IPOIB_RX_AGAIN		(20 * USEC_PER_MSEC)

/**
 * struct ipoib_moderation - settings of interrupt moderation
 * @usecs: longest delay of a report after the first completion, in microseconds
 * @frames: completions that cause a report at once
 * @adaptive: the rate decides, not @usecs and @frames
 *
 * @usecs and @frames both 0: the default of the HCA. Written under RTNL, read without.
 */
struct ipoib_moderation {
	u16 usecs;
	u16 frames;
	bool adaptive;
};

/**
 * struct ipoib_moder - interrupt moderation of a CQ
 * @setting: settings of the administrator
 * @cq: the CQ
 * @napi: its handler
 * @dim: measures, and chooses a profile, which its work applies. Its state is written by NAPI or,
 *	while the work is due, by the work.
 * @timer: calls the handler again where the HCA does not moderate, or after a lack of memory
 * @usecs: delay of @timer; 0 if the handler arms the CQ at once
 * @most: packets without a report, at most: more could exhaust the posted receives
 * @run: packets since the last report; NAPI only
 * @packets: packets received; NAPI only
 * @bytes: octets received; NAPI only
 * @events: completion events and timeouts, modulo 65536
 */
struct ipoib_moder {
	const struct ipoib_moderation *setting;
	struct ib_cq *cq;
	struct napi_struct *napi;
	struct dim dim;
	struct hrtimer timer;
	unsigned int usecs;
	unsigned int most;
	unsigned int run;
	u64 packets;
	u64 bytes;
	u16 events;
};

void ipoib_moder_init(struct ipoib_moder *moder, struct ib_cq *cq, struct napi_struct *napi,
		      const struct ipoib_moderation *setting, unsigned int most);
void ipoib_moder_exit(struct ipoib_moder *moder);
int ipoib_moder_update(struct ipoib_moder *moder);
void ipoib_moder_complete(struct ipoib_moder *moder, int done);

static inline void ipoib_moder_set(struct ipoib_moderation *setting,
				   const struct ipoib_moderation *to)
{
	WRITE_ONCE(setting->usecs, to->usecs);
	WRITE_ONCE(setting->frames, to->frames);
	WRITE_ONCE(setting->adaptive, to->adaptive);
}

/* Call the handler again after @usecs microseconds. Context: bottom halves off. */
static inline void ipoib_moder_again(struct ipoib_moder *moder, unsigned int usecs)
{
	hrtimer_start(&moder->timer, ns_to_ktime(usecs * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED);
}

/* Count an event of the CQ. Context: its event handler. */
static inline void ipoib_moder_event(struct ipoib_moder *moder)
{
	WRITE_ONCE(moder->events, moder->events + 1);
}

/* Count received packets. Context: NAPI. */
static inline void ipoib_moder_received(struct ipoib_moder *moder,
					unsigned int packets, unsigned int bytes)
{
	moder->run += packets;
	moder->packets += packets;
	moder->bytes += bytes;
}

#endif /* IPOIB_MODER_H */
