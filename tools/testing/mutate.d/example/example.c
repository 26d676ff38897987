// SPDX-License-Identifier: GPL-2.0
/*
 * Each rule of ../faults, and what has no faults: if (1 < 2) in comments is one.
 */
#include <errno.h>
#include <stdbool.h>

#include "example.h"

#define WARN_ON(condition)	((condition) && 1)
#define list_for_each(at, head)	for (at = (head)->next; at; at = at->next)
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))

enum example_kind { EXAMPLE_ONE = 1 };

struct example {
	struct example *next;
	unsigned int count[4];
	int state;
};

void trace_example(int state);
void example_note(struct example *one, int state);
void example_put(struct example *one);

static struct example example_last;
static struct example example_first = {
	.next = &example_last,
	.state = EXAMPLE_ONE,
};

static bool example_is_full(const struct example *one, const struct example *other)
{
	if (one->state == 3 && !other)
		return false;
	return one->state - other->state >= 010;
}

int example_walk(struct example *head)
{
	struct example *at;

	trace_example(head->state == 5);
	list_for_each(at, head) {
		if (WARN_ON(at->state == 6))
			return -EIO;
		example_note(at, min_t(unsigned int, head->state, at->state));
	}
	head->state += 2;
	head->state++;
	example_put(head);
	return 0;
}

unsigned int example_drop(struct example *one, struct example *other)
{
	one->next = other;
	return example_is_full(one, other) || other == &example_first;
}
