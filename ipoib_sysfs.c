// SPDX-License-Identifier: GPL-2.0
/*
 * Files in /sys/class/net/<interface>/: mode, cm_transport, pkey and umcast; create_child and
 * delete_child of a parent, parent of a child.
 */
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <linux/sysfs.h>

#include "ipoib.h"

/*
 * The files belong to root of the user namespace of the network namespace: check the capability.
 * The removal of the interface holds RTNL and waits for this function: do not wait for RTNL.
 */
static ssize_t ipoib_sysfs_store(struct device *d, const char *buf, size_t count,
				 int (*set)(struct ipoib_dev *priv, const char *buf))
{
	struct net_device *dev = to_net_dev(d);
	int err;

	if (!ns_capable(dev_net(dev)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (!rtnl_trylock())
		return restart_syscall();
	err = set(ipoib_priv(dev), buf);
	rtnl_unlock();
	return err ?: count;
}

#define IPOIB_SYSFS_STORE(name, set)							\
	static ssize_t name##_store(struct device *d, struct device_attribute *attr,	\
				    const char *buf, size_t count)			\
	{										\
		return ipoib_sysfs_store(d, buf, count, set);				\
	}

static ssize_t mode_show(struct device *d, struct device_attribute *attr, char *buf)
{
	const struct ipoib_dev *priv = ipoib_priv(to_net_dev(d));

	return sysfs_emit(buf, ipoib_cm_is_on(priv) ? "connected\n" : "datagram\n");
}

static int ipoib_sysfs_set_mode(struct ipoib_dev *priv, const char *buf)
{
	bool on = sysfs_streq(buf, "connected");

	return on || sysfs_streq(buf, "datagram") ? ipoib_dev_set_mode(priv, on) : -EINVAL;
}

IPOIB_SYSFS_STORE(mode, ipoib_sysfs_set_mode)
static DEVICE_ATTR_RW(mode);

static ssize_t cm_transport_show(struct device *d, struct device_attribute *attr, char *buf)
{
	const struct ipoib_dev *priv = ipoib_priv(to_net_dev(d));

	return ipoib_has_cm(priv) ? ipoib_cm_transport_show(priv, buf) : sysfs_emit(buf, "none\n");
}

IPOIB_SYSFS_STORE(cm_transport, ipoib_dev_set_transport)
static DEVICE_ATTR_RW(cm_transport);

static ssize_t pkey_show(struct device *d, struct device_attribute *attr, char *buf)
{
	const struct ipoib_dev *priv = ipoib_priv(to_net_dev(d));

	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(priv->pkey));
}

static DEVICE_ATTR_RO(pkey);

static ssize_t umcast_show(struct device *d, struct device_attribute *attr, char *buf)
{
	const struct ipoib_dev *priv = ipoib_priv(to_net_dev(d));

	return sysfs_emit(buf, "%d\n", READ_ONCE(priv->mcast.umcast));
}

static int ipoib_sysfs_set_umcast(struct ipoib_dev *priv, const char *buf)
{
	unsigned long value;
	int err = kstrtoul(buf, 0, &value);

	if (!err)
		ipoib_mcast_set_umcast(priv, value);
	return err;
}

IPOIB_SYSFS_STORE(umcast, ipoib_sysfs_set_umcast)
static DEVICE_ATTR_RW(umcast);

/*
 * Parse a P_Key as the kernel's driver does: any notation, with or without bit 15, and any text
 * behind the number.
 */
static int ipoib_sysfs_pkey(const char *buf, u16 *pkey)
{
	long long value;

	if (sscanf(buf, " %lli", &value) != 1 || value < 0 ||
	    value > U16_MAX || !(value & ~IPOIB_PKEY_FULL))
		return -EINVAL;
	*pkey = value;
	return 0;
}

static struct ipoib_dev *ipoib_sysfs_find_child(struct ipoib_dev *parent, u16 pkey)
{
	struct ipoib_dev *priv;

	ASSERT_RTNL();
	list_for_each_entry(priv, &parent->hca->devs, list)
		if (priv->parent == parent && test_bit(IPOIB_FLAG_SYSFS, &priv->flags) &&
		    priv->pkey == (pkey | IPOIB_PKEY_FULL))
			return priv;
	return NULL;
}

/* The name has the digits as they were written. */
static int ipoib_sysfs_make_child(struct ipoib_dev *parent, const char *buf)
{
	struct ipoib_dev *child;
	struct net_device *dev;
	char name[IFNAMSIZ];
	u16 pkey;
	int err;

	err = ipoib_sysfs_pkey(buf, &pkey);
	if (err)
		return err;
	child = ipoib_sysfs_find_child(parent, pkey);
	if (child && test_bit(IPOIB_CTL_DELETE, &child->ctl.events))
		return restart_syscall();
	if (child || parent->pkey == (pkey | IPOIB_PKEY_FULL))
		return -ENOTUNIQ;
	snprintf(name, sizeof(name), "%.10s.%04x", parent->netdev->name, pkey);
	dev = alloc_netdev_mqs(sizeof(struct ipoib_netdev), name, NET_NAME_ENUM,
			       ipoib_link_ops.setup, IPOIB_TXQ_MAX, 1);
	if (!dev)
		return -ENOMEM;
	dev_net_set(dev, dev_net(parent->netdev));
	child = ipoib_priv(dev);
	set_bit(IPOIB_FLAG_SYSFS, &child->flags);
	err = ipoib_dev_add_child(parent, dev, pkey, false, NULL);
	if (err)
		free_netdev(dev);
	return err;
}

IPOIB_SYSFS_STORE(create_child, ipoib_sysfs_make_child)
static DEVICE_ATTR_WO(create_child);

/*
 * The control work deletes the child: a deletion here would wait for its users, and for RTNL
 * meanwhile, while the removal of the parent holds RTNL and waits for this function.
 */
static int ipoib_sysfs_delete_child(struct ipoib_dev *parent, const char *buf)
{
	struct ipoib_dev *child;
	u16 pkey;
	int err;

	err = ipoib_sysfs_pkey(buf, &pkey);
	if (err)
		return err;
	child = ipoib_sysfs_find_child(parent, pkey);
	if (!child || test_bit(IPOIB_CTL_DELETE, &child->ctl.events))
		return -ENODEV;
	ipoib_ctl_post(child, IPOIB_CTL_DELETE);
	return 0;
}

IPOIB_SYSFS_STORE(delete_child, ipoib_sysfs_delete_child)
static DEVICE_ATTR_WO(delete_child);

static ssize_t parent_show(struct device *d, struct device_attribute *attr, char *buf)
{
	const struct ipoib_dev *priv = ipoib_priv(to_net_dev(d));
	ssize_t len;

	/* As in ipoib_sysfs_store(); RTNL protects the name. */
	if (!rtnl_trylock())
		return restart_syscall();
	len = sysfs_emit(buf, "%s\n", priv->parent->netdev->name);
	rtnl_unlock();
	return len;
}

static DEVICE_ATTR_RO(parent);

/*
 * A group for each kind, without .is_visible: when an interface moves to the namespace of another
 * user namespace, older kernels change the owner of files up to the first hidden file only, and
 * warn.
 */
#define IPOIB_SYSFS_GROUP(kind, ...)							\
	const struct attribute_group ipoib_sysfs_##kind##_group = {			\
		.attrs = (struct attribute *[]) {					\
			&dev_attr_mode.attr, &dev_attr_cm_transport.attr,		\
			&dev_attr_pkey.attr, &dev_attr_umcast.attr, ##__VA_ARGS__, NULL	\
		},									\
	}

IPOIB_SYSFS_GROUP(port, &dev_attr_create_child.attr, &dev_attr_delete_child.attr);
#if IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE)
IPOIB_SYSFS_GROUP(roce);
#endif
IPOIB_SYSFS_GROUP(child, &dev_attr_parent.attr);
