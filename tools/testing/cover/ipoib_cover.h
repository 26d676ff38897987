/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IPOIB_COVER_H
#define IPOIB_COVER_H

#include <linux/bitops.h>
#include <linux/types.h>

/* Bits of a map: one for each octet of a module's code, as far as this from the recorder. */
#define IPOIB_COVER_REACH	BIT(20)
#define IPOIB_COVER_BITS	(2 * IPOIB_COVER_REACH)

extern unsigned long ipoib_cover_driver[BITS_TO_LONGS(IPOIB_COVER_BITS)];
extern unsigned long ipoib_cover_kunit[BITS_TO_LONGS(IPOIB_COVER_BITS)];

#endif
