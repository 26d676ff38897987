/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The recorder, which is part of each module that is instrumented, with the map COVER_MAP. It
 * is not instrumented itself, and calls nothing: it runs wherever the module does, under any lock
 * and in any interrupt.
 *
 * The place in the map is that of the return address behind the recorder's own, so that it is
 * known without the address that the module was loaded to. Code that is loaded elsewhere than
 * .text, as .init.text is, has no place or one that no call of .text has.
 */
#include <linux/compiler.h>
#include <linux/instruction_pointer.h>

#include "ipoib_cover.h"

void __sanitizer_cov_trace_pc(void);

void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long at = _RET_IP_ - (unsigned long)__sanitizer_cov_trace_pc + IPOIB_COVER_REACH;

	if (at < IPOIB_COVER_BITS && !test_bit(at, COVER_MAP))
		set_bit(at, COVER_MAP);
}
