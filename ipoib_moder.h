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

/* Microseconds until a handler runs again if there was no memory for any receive. */
#define IPOIB_RX_AGAIN		(20 * USEC_PER_MSEC)

/**
 * struct ipoib_moderation - when an HCA reports completions of a CQ
 * @usecs: microseconds after the first of them, at the latest
 * @frames: as soon as there are so many
 * @adaptive: @usecs and @frames do not count: what is received decides
 *
 * @usecs and @frames both 0: as the HCA has it without being asked. Written with RTNL held,
 * read also without.
 */
struct ipoib_moderation {
	u16 usecs;
	u16 frames;
	bool adaptive;
};

/**
 * struct ipoib_moder - moderates the completions of one CQ
 * @setting: what the administrator has set
 * @cq: the CQ
 * @napi: its handler
 * @dim: measures and chooses a profile; its work applies that. Its state is written by NAPI
 *	and, while the work is due, by the work.
 * @timer: has NAPI look again where the HCA does not moderate, or when memory ran out
 * @usecs: after so many microseconds; 0 if the CQ is armed at once
 * @most: packets of one report, at most: with more the receives that are posted might not last
 * @run: packets since the last of these waits; NAPI only
 * @packets: packets received in all; NAPI only
 * @bytes: octets of them; NAPI only
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

/* Have the handler run again after @usecs microseconds. Context: bottom halves off. */
static inline void ipoib_moder_again(struct ipoib_moder *moder, unsigned int usecs)
{
	hrtimer_start(&moder->timer, ns_to_ktime(usecs * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED);
}

/* Count an event of the CQ. Context: its event handler. */
static inline void ipoib_moder_event(struct ipoib_moder *moder)
{
	WRITE_ONCE(moder->events, moder->events + 1);
}

/* Count what was received. Context: NAPI. */
static inline void ipoib_moder_received(struct ipoib_moder *moder,
					unsigned int packets, unsigned int bytes)
{
	moder->run += packets;
	moder->packets += packets;
	moder->bytes += bytes;
}

#endif /* IPOIB_MODER_H */
