// SPDX-License-Identifier: GPL-2.0
/*
 * The recorder of ipoib_kunit, which has the driver's sources in its own.
 */
#define COVER_MAP	ipoib_cover_kunit
#include "trace.h"
