// SPDX-License-Identifier: GPL-2.0
/*
 * The module: finds the bug asked for in the tables and plants it.
 */
#include <linux/module.h>
#include <linux/string.h>

#include "planted.h"

static char *bug = "";
module_param(bug, charp, 0444);
MODULE_PARM_DESC(bug, "which one, or all");

static bool fixed;
module_param(fixed, bool, 0444);
MODULE_PARM_DESC(fixed, "do the same without the bug");

static const struct planted_bug *const planted_tables[] = {
	planted_memory,
	planted_locks,
	planted_objects,
	planted_waits,
};

static bool planted_wanted(const struct planted_bug *it)
{
	return !strcmp(bug, it->name) || (fixed && !strcmp(bug, "all"));
}

static int __init planted_init(void)
{
	const struct planted_bug *it;
	bool found = false;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(planted_tables); i++) {
		for (it = planted_tables[i]; it->name; it++) {
			if (!planted_wanted(it))
				continue;
			found = true;
			ret = it->plant(fixed);
			if (ret) {
				pr_err("planted: %s: cannot: %d\n", it->name, ret);
				return ret;
			}
		}
	}
	return found ? 0 : -ENOENT;
}

static void __exit planted_exit(void)
{
	const struct planted_bug *it;
	int i;

	for (i = 0; i < ARRAY_SIZE(planted_tables); i++) {
		for (it = planted_tables[i]; it->name; it++) {
			if (planted_wanted(it) && it->uproot)
				it->uproot();
		}
	}
}

module_init(planted_init);
module_exit(planted_exit);

MODULE_DESCRIPTION("Bugs for a test rig to find");
MODULE_LICENSE("GPL");
