/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the system "ipoib": dropped frames, and each step of groups, paths and
 * connections. The data path traces dropped frames only.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ipoib

#if !defined(IPOIB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define IPOIB_TRACE_H

#include <linux/tracepoint.h>

#include "ipoib.h"

#undef IPOIB_STAT_ENUM
#undef IPOIB_STAT_SYMBOL
#define IPOIB_STAT_ENUM(stat, name)	TRACE_DEFINE_ENUM(stat);
#define IPOIB_STAT_SYMBOL(stat, name)	{ stat, name },

/* Programs read the names in the format: they have neither the enum nor a table of the module. */
IPOIB_STATS(IPOIB_STAT_ENUM)
TRACE_DEFINE_ENUM(IPOIB_NR_STATS);

TRACE_EVENT(ipoib_drop,
	TP_PROTO(const struct net_device *dev, unsigned int len, enum ipoib_stat why),
	TP_ARGS(dev, len, why),
	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(unsigned int, len)
		__field(unsigned int, why)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev->name, IFNAMSIZ);
		__entry->len = len;
		__entry->why = why;
	),
	TP_printk("%s len=%u %s", __entry->name, __entry->len,
		  __print_symbolic(__entry->why, IPOIB_STATS(IPOIB_STAT_SYMBOL)
				   { IPOIB_NR_STATS, "none" }))
);

DECLARE_EVENT_CLASS(ipoib_gid_event,
	TP_PROTO(const struct net_device *dev, const u8 *gid, const char *what, int status),
	TP_ARGS(dev, gid, what, status),
	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__array(u8, gid, 16)
		__string(what, what)
		__field(int, status)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev->name, IFNAMSIZ);
		memcpy(__entry->gid, gid, 16);
		ipoib_assign_str(what, what);
		__entry->status = status;
	),
	TP_printk("%s %pI6 %s status=%d", __entry->name, __entry->gid,
		  __get_str(what), __entry->status)
);

#define IPOIB_GID_EVENT(name)						\
	DEFINE_EVENT(ipoib_gid_event, name,				\
		TP_PROTO(const struct net_device *dev, const u8 *gid,	\
			 const char *what, int status),			\
		TP_ARGS(dev, gid, what, status))

IPOIB_GID_EVENT(ipoib_mcast);
IPOIB_GID_EVENT(ipoib_path);
IPOIB_GID_EVENT(ipoib_police);
IPOIB_GID_EVENT(ipoib_notice);
IPOIB_GID_EVENT(ipoib_conn);

#endif /* IPOIB_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ipoib_trace
#include <trace/define_trace.h>
