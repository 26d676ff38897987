// SPDX-License-Identifier: GPL-2.0
/* Definition of the tracepoints in ipoib_trace.h */
#define CREATE_TRACE_POINTS
#include "ipoib_trace.h"
