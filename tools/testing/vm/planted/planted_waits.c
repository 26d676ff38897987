// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for what never comes, asleep and awake: for the detectors of hung tasks
 * and of lockups.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "planted.h"

/* The rig's limit for a lockup is lower while this is planted, see plant. */
#define PLANTED_SPIN	(8 * HZ)

static DECLARE_COMPLETION(planted_never);

static int planted_hang(bool fixed)
{
	if (fixed)
		complete(&planted_never);
	wait_for_completion(&planted_never);
	return 0;
}

static int planted_lockup(bool fixed)
{
	unsigned long end = jiffies + PLANTED_SPIN;

	preempt_disable();
	while (!fixed && time_before(jiffies, end))
		cpu_relax();
	preempt_enable();
	return 0;
}

const struct planted_bug planted_waits[] = {
	{ .name = "hang", .plant = planted_hang },
	{ .name = "lockup", .plant = planted_lockup },
	{ }
};
