// SPDX-License-Identifier: GPL-2.0
/*
 * The recorder of ib_ipoib.
 */
#define COVER_MAP	ipoib_cover_driver
#include "trace.h"
