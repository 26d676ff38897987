/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pauses after failures
 */
#ifndef IPOIB_BACKOFF_H
#define IPOIB_BACKOFF_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>

/* Longest pause, in jiffies */
#define IPOIB_BACKOFF_MAX	(60ul * HZ)

/*
 * Pause after a request without an answer, or with a transient refusal, by its earlier failures in
 * a row.
 * Return: jiffies, 0.1 s doubled up to 8 s.
 */
static inline unsigned long ipoib_backoff_fast(unsigned int failures)
{
	return min(HZ / 10ul << min(failures, 10u), 8ul * HZ);
}

/*
 * Pause after a failure that lasts until the configuration changes, by earlier failures in a row.
 * Return: jiffies, 0.5 s doubled up to 60 s.
 */
static inline unsigned long ipoib_backoff_slow(unsigned int failures)
{
	return min(HZ / 2ul << min(failures, 10u), IPOIB_BACKOFF_MAX);
}

/*
 * Random delay. It distributes the requests of all nodes after an event such as a new SM.
 * Return: jiffies, 50 ms at most.
 */
static inline unsigned long ipoib_spread(void)
{
	return msecs_to_jiffies(get_random_u32_below(50));
}

/* Lengthen a pause at random. Return: up to one and a half times @pause. */
static inline unsigned long ipoib_backoff_spread(unsigned long pause)
{
	return pause + get_random_u32_below(pause / 2 + 1);
}

#endif /* IPOIB_BACKOFF_H */
