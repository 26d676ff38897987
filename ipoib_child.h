/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Further interfaces on a port, ipoib_child.c.
 */
#ifndef IPOIB_CHILD_H
#define IPOIB_CHILD_H

#include <linux/netdevice.h>

struct ipoib_dev;

/**
 * enum ipoib_kind - how an interface was made
 * @IPOIB_KIND_PORT: with an InfiniBand port
 * @IPOIB_KIND_SYSFS: by the file create_child
 * @IPOIB_KIND_LINK: by rtnetlink: a child, or on a RoCE port
 */
enum ipoib_kind {
	IPOIB_KIND_PORT,
	IPOIB_KIND_SYSFS,
	IPOIB_KIND_LINK,
};

struct ipoib_dev *ipoib_child_find(struct ipoib_dev *parent, u16 pkey, enum ipoib_kind kind);
int ipoib_child_add(struct ipoib_dev *parent, struct net_device *dev, u16 pkey,
		    enum ipoib_kind kind, bool connected, struct netlink_ext_ack *extack);

#endif /* IPOIB_CHILD_H */
