/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pauses between tries that fail.
 */
#ifndef IPOIB_BACKOFF_H
#define IPOIB_BACKOFF_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>

/**
 * ipoib_backoff - pause after some failures in a row
 * @failures: failures before this one
 * @least: pause after the first; doubled with each
 * @most: longest pause, in the same unit
 *
 * Return: the pause
 */
static inline unsigned long ipoib_backoff(unsigned int failures, unsigned long least,
					  unsigned long most)
{
	return min(least << min(failures, 10u), most);
}

/**
 * ipoib_backoff_next - pause after the pause before
 * @pause: the pause before, 0 after the first failure
 * @least: pause after the first failure
 * @most: longest pause, in the same unit
 *
 * Return: the pause
 */
static inline unsigned long ipoib_backoff_next(unsigned long pause, unsigned long least,
					       unsigned long most)
{
	return clamp(pause * 2, least, most);
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
