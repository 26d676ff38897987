// SPDX-License-Identifier: GPL-2.0
/*
 * Further interfaces on a port, each on the link of a partition.
 *
 * The interface that comes with a port is the parent, its link is that of the P_Key at
 * index 0. Children are made by rtnetlink (ipoib_netlink.c) or by the file create_child
 * (ipoib_sysfs.c). A child has a QP, groups, paths and connections of its own; with its
 * parent it shares the port. It goes before its parent does.
 *
 * RTNL serialises everything here. Events of the HCA find children under RCU.
 */
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>

#include "ipoib.h"

/**
 * ipoib_child_find - find a child by its P_Key
 * @parent: the interface of the port
 * @pkey: P_Key, with or without bit 15
 * @kind: how it was made
 *
 * Context: RTNL held
 * Return: the first such child, or NULL
 */
struct ipoib_dev *ipoib_child_find(struct ipoib_dev *parent, u16 pkey, enum ipoib_kind kind)
{
	struct ipoib_dev *priv;

	ASSERT_RTNL();
	list_for_each_entry(priv, &parent->children, list)
		if (priv->kind == kind && priv->pkey == (pkey | IPOIB_PKEY_FULL))
			return priv;
	return NULL;
}

/**
 * ipoib_child_add - make a child of a fresh net_device, and register it
 * @parent: the interface of the port, an InfiniBand port
 * @dev: made with ipoib_link_ops.setup; the caller frees it if this fails. Its MTU is the one
 *	that the administrator asks for, or 0
 * @pkey: P_Key; that the port does not have it now is no failure
 * @kind: how it is made
 * @connected: start in connected mode
 * @extack: for the cause of a failure, or NULL
 *
 * Context: RTNL held
 * Return: 0; -ENODEV if the HCA has failed; or a negative error of ipoib_dev_add()
 */
int ipoib_child_add(struct ipoib_dev *parent, struct net_device *dev, u16 pkey,
		    enum ipoib_kind kind, bool connected, struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	ASSERT_RTNL();
	if (test_bit(IPOIB_FLAG_DEAD, &parent->flags)) {
		NL_SET_ERR_MSG(extack, "the HCA has failed");
		return -ENODEV;
	}
	priv->netdev = dev;
	priv->ca = parent->ca;
	priv->port = parent->port;
	priv->fabric = parent->fabric;
	priv->parent = parent;
	priv->lower = parent->netdev;
	priv->kind = kind;
	priv->pkey = pkey | IPOIB_PKEY_FULL;
	priv->admin_guid = parent->admin_guid;
	return ipoib_dev_add(priv, &parent->children, connected, extack);
}

