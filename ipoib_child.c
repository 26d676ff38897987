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

static struct workqueue_struct *ipoib_child_wq;

static void ipoib_child_free(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev,
					      free_work);
	struct ipoib_dev *parent = priv->parent;

	ipoib_dev_exit(priv);
	ipoib_object_gone(IPOIB_OBJECT_INTERFACE, 1);
	free_netdev(priv->netdev);
	/* Now the parent, and with it the HCA, may go. */
	ipoib_dev_put_query(parent);
}

/*
 * The interface was unregistered, and its last user has gone. ipoib_dev_exit() waits for
 * the control work, which may be what has unregistered it and calls this.
 */
static void ipoib_child_gone(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	queue_work(ipoib_child_wq, &priv->free_work);
}

/**
 * ipoib_child_find - find a child by its P_Key
 * @parent: the interface of the port
 * @pkey: P_Key, with or without bit 15
 * @kind: how it was made
 *
 * Context: RTNL held
 * Return: the first such child, or NULL
 */
struct ipoib_dev *ipoib_child_find(struct ipoib_dev *parent, u16 pkey,
				   enum ipoib_kind kind)
{
	struct ipoib_dev *priv;

	ASSERT_RTNL();
	list_for_each_entry(priv, &parent->children, child_list)
		if (priv->kind == kind &&
		    priv->pkey == (pkey | IPOIB_PKEY_FULL))
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
 * Return: 0; -ENODEV if the HCA has failed; -EOPNOTSUPP if there is no connected mode here;
 * -EINVAL if the port cannot do the MTU; or another negative error
 */
int ipoib_child_add(struct ipoib_dev *parent, struct net_device *dev, u16 pkey,
		    enum ipoib_kind kind, bool connected,
		    struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	unsigned int mtu = dev->mtu;
	int err;

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
	priv->kind = kind;
	priv->pkey = pkey | IPOIB_PKEY_FULL;
	priv->admin_guid = parent->admin_guid;
	err = ipoib_dev_init(priv);
	if (err)
		return err;
	err = ipoib_cm_set_on(priv, connected);
	if (err) {
		NL_SET_ERR_MSG(extack, "no connected mode on this port");
		goto exit;
	}
	if (!connected && mtu > priv->max_mtu) {
		NL_SET_ERR_MSG(extack, "the MTU is above the one that the port can do");
		err = -EINVAL;
		goto exit;
	}
	if (mtu)
		priv->admin_mtu = mtu;
	dev->mtu = ipoib_dev_mtu(priv);
	ipoib_dev_setup(priv);
	err = register_netdevice(dev);
	if (err)
		goto exit;
	ipoib_object_made(IPOIB_OBJECT_INTERFACE);
	ipoib_dev_get_query(parent);
	INIT_WORK(&priv->free_work, ipoib_child_free);
	dev->priv_destructor = ipoib_child_gone;
	list_add_tail_rcu(&priv->child_list, &parent->children);
	/* An event may have come before it was in the list. */
	ipoib_ctl_post(priv, IPOIB_CTL_PORT);
	return 0;

exit:
	/* The control work, which takes RTNL, was not posted before the interface was listed. */
	ipoib_dev_exit(priv);
	return err;
}

/**
 * ipoib_child_del - unregister a child
 * @priv: the child
 * @head: where unregister_netdevice_many() will find it, or NULL to do it at once
 *
 * Context: RTNL held; it is gone when that has been released
 */
void ipoib_child_del(struct ipoib_dev *priv, struct list_head *head)
{
	ASSERT_RTNL();
	list_del_rcu(&priv->child_list);
	unregister_netdevice_queue(priv->netdev, head);
}

/**
 * ipoib_child_unregister_all - unregister the interface of a port, with its children
 * @parent: the interface of the port
 *
 * Context: process; takes RTNL. Children are gone, or others have unregistered them, when
 * this returns.
 */
void ipoib_child_unregister_all(struct ipoib_dev *parent)
{
	struct ipoib_dev *priv, *tmp;
	LIST_HEAD(head);

	rtnl_lock();
	list_for_each_entry_safe(priv, tmp, &parent->children, child_list)
		ipoib_child_del(priv, &head);
	unregister_netdevice_queue(parent->netdev, &head);
	unregister_netdevice_many(&head);
	rtnl_unlock();
}

/**
 * ipoib_child_open_all - children come up with their parent
 * @parent: the interface of the port
 *
 * What goes wrong with one of them is logged there.
 *
 * Context: RTNL held
 */
void ipoib_child_open_all(struct ipoib_dev *parent)
{
	struct ipoib_dev *priv;

	list_for_each_entry(priv, &parent->children, child_list)
		dev_open(priv->netdev, NULL);
}

/**
 * ipoib_child_close_all - children go down with their parent
 * @parent: the interface of the port
 *
 * Context: RTNL held
 */
void ipoib_child_close_all(struct ipoib_dev *parent)
{
	struct ipoib_dev *priv;

	list_for_each_entry(priv, &parent->children, child_list)
		dev_close(priv->netdev);
}

/**
 * ipoib_child_register - make what children are taken apart with
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_child_register(void)
{
	ipoib_child_wq = alloc_workqueue("ipoib_child", WQ_UNBOUND, 0);
	return ipoib_child_wq ? 0 : -ENOMEM;
}

/**
 * ipoib_child_unregister - wait for the last child
 *
 * Context: process; there is no interface any more
 */
void ipoib_child_unregister(void)
{
	destroy_workqueue(ipoib_child_wq);
}
