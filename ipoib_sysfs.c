// SPDX-License-Identifier: GPL-2.0
/*
 * Files in /sys/class/net/<interface>/: mode and pkey.
 */
#include <linux/rtnetlink.h>
#include <linux/sysfs.h>

#include "ipoib.h"

static ssize_t mode_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "datagram\n");
}

static ssize_t mode_store(struct device *d, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	struct ipoib_dev *priv = netdev_priv(to_net_dev(d));
	char word[sizeof("connected\n")];
	int err;

	if (count >= sizeof(word))
		return -EINVAL;
	memcpy(word, buf, count);
	word[count] = '\0';
	if (count && word[count - 1] == '\n')
		word[count - 1] = '\0';
	/* Removing the interface holds RTNL while it waits for this file. */
	if (!rtnl_trylock())
		return restart_syscall();
	err = ipoib_dev_set_mode(priv, word);
	rtnl_unlock();
	return err ?: count;
}

static DEVICE_ATTR_RW(mode);

static ssize_t pkey_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	const struct ipoib_dev *priv = netdev_priv(to_net_dev(d));

	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(priv->pkey));
}

static DEVICE_ATTR_RO(pkey);

static struct attribute *ipoib_sysfs_attrs[] = {
	&dev_attr_mode.attr,
	&dev_attr_pkey.attr,
	NULL,
};

const struct attribute_group ipoib_sysfs_group = {
	.attrs = ipoib_sysfs_attrs,
};
