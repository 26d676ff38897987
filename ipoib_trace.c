// SPDX-License-Identifier: GPL-2.0
/*
 * The one place where the tracepoints of ipoib_trace.h are defined.
 */
#define CREATE_TRACE_POINTS
#include "ipoib_trace.h"
