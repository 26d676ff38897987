/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bugs that the rig must find. Each is what a driver might do wrong, as small as
 * it can be, and has a twin without the bug:
 *
 *	modprobe planted bug=NAME		does it wrong
 *	modprobe planted bug=NAME fixed=1	does the same right
 *	modprobe planted bug=all fixed=1	all of them right
 *
 * A table for each kind, one function for each bug. Never load this where
 * something of value runs.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include <linux/types.h>

/**
 * struct planted_bug - one of them
 * @name: for the module's parameter
 * @plant: commits it when the module is loaded, or does it right if @fixed.
 *	Returns 0 or a negative error if it cannot
 * @uproot: what has to be taken down when the module goes, may be NULL
 */
struct planted_bug {
	const char *name;
	int (*plant)(bool fixed);
	void (*uproot)(void);
};

/* Each ends with one that has no name. */
extern const struct planted_bug planted_memory[];
extern const struct planted_bug planted_locks[];
extern const struct planted_bug planted_objects[];
extern const struct planted_bug planted_waits[];

#endif /* PLANTED_H */
