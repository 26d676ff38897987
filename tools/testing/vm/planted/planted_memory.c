// SPDX-License-Identifier: GPL-2.0
/*
 * Bugs with memory: for KASAN, kmemleak, UBSAN and the checks of lists.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "planted.h"

#define PLANTED_SIZE	60

/* More than one, for what is left on a stack may point to the last. */
static int planted_leak(bool fixed)
{
	char *leaked;
	int i;

	for (i = 0; i < 8; i++) {
		leaked = kmalloc(PLANTED_SIZE, GFP_KERNEL);
		if (!leaked)
			return -ENOMEM;
		strscpy(leaked, "planted", PLANTED_SIZE);
		/* or the compiler sees that nobody needs it */
		OPTIMIZER_HIDE_VAR(leaked);
		if (fixed)
			kfree(leaked);
	}
	return 0;
}

static int planted_use_after_free(bool fixed)
{
	char *gone;

	gone = kzalloc(PLANTED_SIZE, GFP_KERNEL);
	if (!gone)
		return -ENOMEM;
	if (fixed)
		WRITE_ONCE(*gone, 1);
	kfree(gone);
	OPTIMIZER_HIDE_VAR(gone);
	if (!fixed)
		WRITE_ONCE(*gone, 1);
	return 0;
}

static int planted_out_of_bounds(bool fixed)
{
	int at = fixed ? PLANTED_SIZE - 1 : PLANTED_SIZE;
	char *small;

	small = kzalloc(PLANTED_SIZE, GFP_KERNEL);
	if (!small)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(small);
	OPTIMIZER_HIDE_VAR(at);
	WRITE_ONCE(small[at], 1);
	kfree(small);
	return 0;
}

static int planted_list(bool fixed)
{
	LIST_HEAD(head);
	LIST_HEAD(entry);

	list_add(&entry, &head);
	list_del(&entry);
	if (!fixed)
		list_del(&entry);
	return 0;
}

static int planted_shift(bool fixed)
{
	int by = fixed ? 4 : 40;
	int result;

	OPTIMIZER_HIDE_VAR(by);
	result = 1 << by;
	OPTIMIZER_HIDE_VAR(result);
	return 0;
}

static int planted_index(bool fixed)
{
	static const int array[4] = { 1, 2, 3, 4 };
	int at = fixed ? 3 : 4;
	int result;

	OPTIMIZER_HIDE_VAR(at);
	result = array[at];
	OPTIMIZER_HIDE_VAR(result);
	return 0;
}

static int planted_null(bool fixed)
{
	int target = 0;
	int *pointer = fixed ? &target : NULL;

	OPTIMIZER_HIDE_VAR(pointer);
	WRITE_ONCE(*pointer, 1);
	return 0;
}

const struct planted_bug planted_memory[] = {
	{ .name = "leak", .plant = planted_leak },
	{ .name = "use_after_free", .plant = planted_use_after_free },
	{ .name = "out_of_bounds", .plant = planted_out_of_bounds },
	{ .name = "list", .plant = planted_list },
	{ .name = "shift", .plant = planted_shift },
	{ .name = "index", .plant = planted_index },
	{ .name = "null", .plant = planted_null },
	{ }
};
