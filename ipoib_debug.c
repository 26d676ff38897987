// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters debug_level and mcast_debug_level: events of groups, paths and
 * connections in the kernel's log.
 *
 * The lines come from probes of the tracepoints, which exist as long as a parameter is
 * above 0: the events themselves test nothing.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>

#include "ipoib_trace.h"

/**
 * struct ipoib_debug - one of the parameters
 * @level: its value: above 0 there are messages
 * @on: the probes are there
 * @probe: take or remove the probes: 0 or a negative error
 */
struct ipoib_debug {
	int level;
	bool on;
	int (*probe)(bool on);
};

/* Guards both parameters and @ipoib_debug_ready. */
static DEFINE_MUTEX(ipoib_debug_lock);
/* Built in, parameters are set before there is memory for probes. */
static bool ipoib_debug_ready;

/* What an event is of: the data that its probe is registered, and removed, with. */
static const char ipoib_debug_path[] = "path";
static const char ipoib_debug_conn[] = "connection";
static const char ipoib_debug_notice[] = "notice";
static const char ipoib_debug_group[] = "group";

static void ipoib_debug_log(void *of, const struct net_device *dev, const u8 *gid,
			    const char *what, int status)
{
	netdev_printk(KERN_DEBUG, dev, "%s %pI6: %s, status %d\n", (const char *)of, gid, what,
		      status);
}

static int ipoib_debug_probe_unicast(bool on)
{
	int err = 0;

	if (!on)
		goto remove_all;
	err = register_trace_ipoib_path(ipoib_debug_log, (void *)ipoib_debug_path);
	if (err)
		return err;
	err = register_trace_ipoib_conn(ipoib_debug_log, (void *)ipoib_debug_conn);
	if (err)
		goto remove_path;
	err = register_trace_ipoib_notice(ipoib_debug_log, (void *)ipoib_debug_notice);
	if (err)
		goto remove_conn;
	return 0;

remove_all:
	unregister_trace_ipoib_notice(ipoib_debug_log, (void *)ipoib_debug_notice);
remove_conn:
	unregister_trace_ipoib_conn(ipoib_debug_log, (void *)ipoib_debug_conn);
remove_path:
	unregister_trace_ipoib_path(ipoib_debug_log, (void *)ipoib_debug_path);
	return err;
}

static int ipoib_debug_probe_mcast(bool on)
{
	if (on)
		return register_trace_ipoib_mcast(ipoib_debug_log, (void *)ipoib_debug_group);
	unregister_trace_ipoib_mcast(ipoib_debug_log, (void *)ipoib_debug_group);
	return 0;
}

static struct ipoib_debug ipoib_debug_unicast = {
	.probe = ipoib_debug_probe_unicast,
};

static struct ipoib_debug ipoib_debug_groups = {
	.probe = ipoib_debug_probe_mcast,
};

static int ipoib_debug_apply(struct ipoib_debug *debug, bool on)
{
	int err;

	lockdep_assert_held(&ipoib_debug_lock);
	if (debug->on == on)
		return 0;
	err = debug->probe(on);
	if (!err)
		debug->on = on;
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
