// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters debug_level and mcast_debug_level. Configurations of modprobe have
 * them; the events that they log with the kernel's driver are tracepoints here.
 */
#include <linux/module.h>

static int ipoib_debug_level;
static int ipoib_mcast_debug_level;

static int ipoib_debug_set(const char *value, const struct kernel_param *kp)
{
	int err = param_set_int(value, kp);

	if (!err && *(int *)kp->arg > 0)
		pr_info("ipoib: %s logs nothing: the tracepoints ipoib:* have the events\n",
			kp->name);
	return err;
}

static const struct kernel_param_ops ipoib_debug_ops = {
	.set = ipoib_debug_set,
	.get = param_get_int,
};

module_param_cb(debug_level, &ipoib_debug_ops, &ipoib_debug_level, 0644);
MODULE_PARM_DESC(debug_level, "Has no effect: see the tracepoints ipoib:*");
module_param_cb(mcast_debug_level, &ipoib_debug_ops, &ipoib_mcast_debug_level, 0644);
MODULE_PARM_DESC(mcast_debug_level, "Has no effect: see the tracepoints ipoib:*");
