// SPDX-License-Identifier: GPL-2.0
/*
 * The balance of objects. See ipoib_object.h.
 *
 * The counters are of the module and not of an interface, so that an interface
 * that is leaked as a whole shows, too.
 */
#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>

#include "ipoib_object.h"

static const char * const ipoib_object_names[] = {
	[IPOIB_OBJECT_INTERFACE]	= "interfaces",
	[IPOIB_OBJECT_PD]		= "protection domains",
	[IPOIB_OBJECT_CQ]		= "completion queues",
	[IPOIB_OBJECT_QP]		= "queue pairs",
	[IPOIB_OBJECT_ATTACHMENT]	= "attachments",
	[IPOIB_OBJECT_POOL]		= "page pools",
	[IPOIB_OBJECT_AH]		= "address handles",
	[IPOIB_OBJECT_PATH]		= "paths",
	[IPOIB_OBJECT_GROUP]		= "groups",
	[IPOIB_OBJECT_QUERY]		= "path queries",
	[IPOIB_OBJECT_JOIN]		= "joins",
	[IPOIB_OBJECT_FRAME]		= "waiting frames",
	[IPOIB_OBJECT_PEER]		= "peers",
	[IPOIB_OBJECT_CONN]		= "connections",
	[IPOIB_OBJECT_CM_ID]		= "CM identifiers",
	[IPOIB_OBJECT_SRQ]		= "shared receive queues",
};

static_assert(ARRAY_SIZE(ipoib_object_names) == IPOIB_NR_OBJECTS);

static atomic_long_t ipoib_objects_made[IPOIB_NR_OBJECTS];
static atomic_long_t ipoib_objects_gone[IPOIB_NR_OBJECTS];

/**
 * ipoib_object_made - an object was made
 * @kind: its kind
 *
 * Context: any
 */
void ipoib_object_made(enum ipoib_object kind)
{
	atomic_long_inc(&ipoib_objects_made[kind]);
}

/**
 * ipoib_object_gone - objects were given back
 * @kind: their kind
 * @n: how many
 *
 * Context: any
 */
void ipoib_object_gone(enum ipoib_object kind, unsigned int n)
{
	atomic_long_add(n, &ipoib_objects_gone[kind]);
}

/**
 * ipoib_object_show - the balance as it stands
 * @file: a line for each kind: made, given back, name
 */
void ipoib_object_show(struct seq_file *file)
{
	unsigned int i;

	for (i = 0; i < IPOIB_NR_OBJECTS; i++)
		seq_printf(file, "%10ld %10ld %s\n",
			   atomic_long_read(&ipoib_objects_made[i]),
			   atomic_long_read(&ipoib_objects_gone[i]),
			   ipoib_object_names[i]);
}

/**
 * ipoib_object_audit - complain about each object that is not back
 *
 * Context: nothing makes or gives back objects any more
 * Return: number of kinds that are not balanced
 */
unsigned int ipoib_object_audit(void)
{
	unsigned int i, bad = 0;
	long made, gone;

	for (i = 0; i < IPOIB_NR_OBJECTS; i++) {
		made = atomic_long_read(&ipoib_objects_made[i]);
		gone = atomic_long_read(&ipoib_objects_gone[i]);
		if (made == gone)
			continue;
		bad++;
		pr_warn("ipoib: leaked %s: %ld made, %ld given back\n",
			ipoib_object_names[i], made, gone);
	}
	return bad;
}
