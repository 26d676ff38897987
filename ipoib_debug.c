// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters debug_level and mcast_debug_level: events of groups, paths and
 * connections in the kernel's log.
 *
 * The lines come from probes of the tracepoints, which exist as long as a parameter is
 * above 0: the events themselves test nothing.
 */
#include <linux/module.h>

#include "ipoib_trace.h"

/**
 * struct ipoib_debug_event - a tracepoint that is logged
 * @add: add a probe
 * @del: remove it
 * @of: what the event is of: the data that the probe is added, and removed, with
 */
struct ipoib_debug_event {
	typeof(register_trace_ipoib_path) *add;
	typeof(unregister_trace_ipoib_path) *del;
	const char *of;
};

/**
 * struct ipoib_debug - one of the parameters
 * @level: its value: above 0 there are messages
 * @on: how many of @events have a probe, the first ones
 * @events: those that it logs, up to an empty one
 */
struct ipoib_debug {
	int level;
	unsigned int on;
	struct ipoib_debug_event events[4];
};

/* Guards both parameters and @ipoib_debug_ready. */
static DEFINE_MUTEX(ipoib_debug_lock);
/* Built in, parameters are set before there is memory for probes. */
static bool ipoib_debug_ready;

static struct ipoib_debug ipoib_debug_unicast = {
	.events = {
		{ register_trace_ipoib_path, unregister_trace_ipoib_path, "path" },
		{ register_trace_ipoib_conn, unregister_trace_ipoib_conn, "connection" },
		{ register_trace_ipoib_notice, unregister_trace_ipoib_notice, "notice" },
	},
};

static struct ipoib_debug ipoib_debug_groups = {
	.events = {
		{ register_trace_ipoib_mcast, unregister_trace_ipoib_mcast, "group" },
	},
};

static void ipoib_debug_log(void *of, const struct net_device *dev, const u8 *gid,
			    const char *what, int status)
{
	netdev_printk(KERN_DEBUG, dev, "%s %pI6: %s, status %d\n", (const char *)of, gid, what,
		      status);
}

/* All probes or none, also if one of them cannot be added. */
static int ipoib_debug_apply(struct ipoib_debug *debug, bool on)
{
	struct ipoib_debug_event *event;
	int err = 0;

	lockdep_assert_held(&ipoib_debug_lock);
	for (event = &debug->events[debug->on]; on && event->add; event++, debug->on++) {
		err = event->add(ipoib_debug_log, (void *)event->of);
		if (err)
			break;
	}
	while (debug->on && (err || !on)) {
		event = &debug->events[--debug->on];
		event->del(ipoib_debug_log, (void *)event->of);
	}
	return err;
}

static int ipoib_debug_set(const char *value, const struct kernel_param *kp)
{
	struct ipoib_debug *debug = kp->arg;
	int level, err;

	err = kstrtoint(value, 0, &level);
	if (err)
		return err;
	mutex_lock(&ipoib_debug_lock);
	if (ipoib_debug_ready)
		err = ipoib_debug_apply(debug, level > 0);
	if (!err)
		debug->level = level;
	mutex_unlock(&ipoib_debug_lock);
	return err;
}

static int ipoib_debug_get(char *buffer, const struct kernel_param *kp)
{
	const struct ipoib_debug *debug = kp->arg;

	return sysfs_emit(buffer, "%d\n", READ_ONCE(debug->level));
}

static const struct kernel_param_ops ipoib_debug_ops = {
	.set = ipoib_debug_set,
	.get = ipoib_debug_get,
};

module_param_cb(debug_level, &ipoib_debug_ops, &ipoib_debug_unicast, 0644);
MODULE_PARM_DESC(debug_level, "Log events of paths and connections if above 0 (default 0)");
module_param_cb(mcast_debug_level, &ipoib_debug_ops, &ipoib_debug_groups, 0644);
MODULE_PARM_DESC(mcast_debug_level, "Log events of multicast groups if above 0 (default 0)");

/**
 * ipoib_debug_register - have the parameters take effect
 *
 * That there are no probes is no reason to do without the driver.
 */
void ipoib_debug_register(void)
{
	mutex_lock(&ipoib_debug_lock);
	ipoib_debug_ready = true;
	if (ipoib_debug_apply(&ipoib_debug_unicast, ipoib_debug_unicast.level > 0) ||
	    ipoib_debug_apply(&ipoib_debug_groups, ipoib_debug_groups.level > 0))
		pr_warn("debug_level and mcast_debug_level need tracepoints\n");
	mutex_unlock(&ipoib_debug_lock);
}

/**
 * ipoib_debug_unregister - remove the probes
 *
 * Context: process; what writes the parameters after this changes nothing
 */
void ipoib_debug_unregister(void)
{
	mutex_lock(&ipoib_debug_lock);
	ipoib_debug_ready = false;
	ipoib_debug_apply(&ipoib_debug_unicast, false);
	ipoib_debug_apply(&ipoib_debug_groups, false);
	mutex_unlock(&ipoib_debug_lock);
	tracepoint_synchronize_unregister();
}
