/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pauses between tries that fail.
 */
#ifndef IPOIB_BACKOFF_H
#define IPOIB_BACKOFF_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>

/* Jiffies: longest pause between tries. */
#define IPOIB_BACKOFF_MAX	(60ul * HZ)

/**
 * ipoib_backoff_fast - pause before a request that was not answered, or was refused for now
 * @failures: failures before this one
 *
 * Return: jiffies, 0.1 s doubled up to 8 s
 */
static inline unsigned long ipoib_backoff_fast(unsigned int failures)
{
	return min(HZ / 10ul << min(failures, 10u), 8ul * HZ);
}

/**
 * ipoib_backoff_slow - pause before a request whose failure only a new configuration ends
 * @failures: failures before this one
 *
 * Return: jiffies, 0.5 s doubled up to 60 s
 */
static inline unsigned long ipoib_backoff_slow(unsigned int failures)
{
	return min(HZ / 2ul << min(failures, 10u), IPOIB_BACKOFF_MAX);
}

/**
 * ipoib_spread - a short time at random
 *
 * Nodes spread over it what an event has them all do: a new SM is not asked by all at once.
 *
 * Return: jiffies, 50 ms at most
 */
static inline unsigned long ipoib_spread(void)
{
	return msecs_to_jiffies(get_random_u32_below(50));
}

/**
 * ipoib_backoff_spread - a pause that differs from node to node
 * @pause: the pause
 *
 * Return: up to half as much again
 */
static inline unsigned long ipoib_backoff_spread(unsigned long pause)
{
	return pause + get_random_u32_below(pause / 2 + 1);
}

#endif /* IPOIB_BACKOFF_H */
