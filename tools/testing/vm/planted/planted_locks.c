// SPDX-License-Identifier: GPL-2.0
/*
 * Bugs with locks, RCU and shared data: for lockdep, DEBUG_ATOMIC_SLEEP and
 * KCSAN.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "planted.h"

/* How long two threads race. */
#define PLANTED_RACE_MS		2000

static DEFINE_SPINLOCK(planted_spin_lock);
static DEFINE_MUTEX(planted_first_mutex);
static DEFINE_MUTEX(planted_second_mutex);
static DEFINE_MUTEX(planted_held_mutex);

static int planted_number = 1;
static int __rcu *planted_pointer = (int __rcu __force *)&planted_number;
static int planted_counter;

/* An allocation may sleep. This one hardly ever does. */
static int planted_sleep(bool fixed)
{
	void *memory;

	spin_lock(&planted_spin_lock);
	memory = kmalloc(16, fixed ? GFP_ATOMIC : GFP_KERNEL);
	spin_unlock(&planted_spin_lock);
	kfree(memory);
	return 0;
}

static void planted_lock_both(struct mutex *first, struct mutex *second)
{
	mutex_lock(first);
	mutex_lock(second);
	mutex_unlock(second);
	mutex_unlock(first);
}

/* One after the other, so nothing is locked up: lockdep sees the order alone. */
static int planted_inversion(bool fixed)
{
	planted_lock_both(&planted_first_mutex, &planted_second_mutex);
	if (fixed)
		planted_lock_both(&planted_first_mutex, &planted_second_mutex);
	else
		planted_lock_both(&planted_second_mutex, &planted_first_mutex);
	return 0;
}

static int planted_unlock(bool fixed)
{
	mutex_lock(&planted_held_mutex);
	if (fixed)
		mutex_unlock(&planted_held_mutex);
	return 0;
}

static void planted_dereference(void)
{
	WRITE_ONCE(planted_counter, *rcu_dereference(planted_pointer));
}

static int planted_rcu(bool fixed)
{
	if (!fixed) {
		planted_dereference();
		return 0;
	}
	rcu_read_lock();
	planted_dereference();
	rcu_read_unlock();
	return 0;
}

static void planted_count(void)
{
	planted_counter++;
}

static void planted_count_locked(void)
{
	spin_lock(&planted_spin_lock);
	planted_count();
	spin_unlock(&planted_spin_lock);
}

static int planted_racer(void *fixed)
{
	while (!kthread_should_stop()) {
		if (fixed)
			planted_count_locked();
		else
			planted_count();
		cond_resched();
	}
	return 0;
}

static int planted_race(bool fixed)
{
	struct task_struct *racers[2];
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(racers); i++)
		racers[i] = kthread_run(planted_racer, fixed ? &planted_counter : NULL,
					"planted/%d", i);
	msleep(PLANTED_RACE_MS);
	for (i = 0; i < ARRAY_SIZE(racers); i++) {
		if (IS_ERR(racers[i]))
			ret = PTR_ERR(racers[i]);
		else
			kthread_stop(racers[i]);
	}
	return ret;
}

const struct planted_bug planted_locks[] = {
	{ .name = "sleep", .plant = planted_sleep },
	{ .name = "inversion", .plant = planted_inversion },
	{ .name = "unlock", .plant = planted_unlock },
	{ .name = "rcu", .plant = planted_rcu },
	{ .name = "race", .plant = planted_race },
	{ }
};
