// SPDX-License-Identifier: GPL-2.0
/*
 * Files in /sys/class/net/<interface>/: mode, cm_transport, pkey and umcast.
 */
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <linux/sysfs.h>

#include "ipoib.h"

/*
 * The files belong to root of the user namespace that owns the network namespace, who
 * need not have the capability.
 */
static bool ipoib_sysfs_may_write(const struct device *d)
{
	const struct net_device *dev = to_net_dev(d);

	return ns_capable(dev_net(dev)->user_ns, CAP_NET_ADMIN);
}

static ssize_t mode_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	const struct ipoib_dev *priv = netdev_priv(to_net_dev(d));

	return sysfs_emit(buf, ipoib_cm_is_on(priv) ? "connected\n" :
						     "datagram\n");
}

static ssize_t mode_store(struct device *d, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	struct ipoib_dev *priv = netdev_priv(to_net_dev(d));
	bool on = sysfs_streq(buf, "connected");
	int err;

	if (!ipoib_sysfs_may_write(d))
		return -EPERM;
	if (!on && !sysfs_streq(buf, "datagram"))
		return -EINVAL;
	/* Removing the interface holds RTNL while it waits for this file. */
	if (!rtnl_trylock())
		return restart_syscall();
	err = ipoib_dev_set_mode(priv, on);
	rtnl_unlock();
	return err ?: count;
}

static DEVICE_ATTR_RW(mode);

static ssize_t cm_transport_show(struct device *d,
				 struct device_attribute *attr, char *buf)
{
	return ipoib_cm_transport_show(netdev_priv(to_net_dev(d)), buf);
}

static ssize_t cm_transport_store(struct device *d,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	int err;

	if (!ipoib_sysfs_may_write(d))
		return -EPERM;
	/* As in mode_store(). */
	if (!rtnl_trylock())
		return restart_syscall();
	err = ipoib_dev_set_transport(netdev_priv(to_net_dev(d)), buf);
	rtnl_unlock();
	return err ?: count;
}

static DEVICE_ATTR_RW(cm_transport);

static ssize_t pkey_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	const struct ipoib_dev *priv = netdev_priv(to_net_dev(d));

	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(priv->pkey));
}

static DEVICE_ATTR_RO(pkey);

static ssize_t umcast_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	const struct ipoib_dev *priv = netdev_priv(to_net_dev(d));

	return sysfs_emit(buf, "%d\n", READ_ONCE(priv->mcast.umcast));
}

static ssize_t umcast_store(struct device *d, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	unsigned long value;
	int err;

	if (!ipoib_sysfs_may_write(d))
		return -EPERM;
	err = kstrtoul(buf, 0, &value);
	if (err)
		return err;
	ipoib_mcast_set_umcast(netdev_priv(to_net_dev(d)), value);
	return count;
}

static DEVICE_ATTR_RW(umcast);

static struct attribute *ipoib_sysfs_attrs[] = {
	&dev_attr_mode.attr,
	&dev_attr_cm_transport.attr,
	&dev_attr_pkey.attr,
	&dev_attr_umcast.attr,
	NULL,
};

const struct attribute_group ipoib_sysfs_group = {
	.attrs = ipoib_sysfs_attrs,
};
