// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs, read only: ipoib/<interface>_mcg has the groups of an interface, _path its paths, _cm
 * its peers and connections. The lock of a list is held for a buffer of the reader, or for a hash
 * bucket, at a time: a reader may miss entries that move meanwhile.
 */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>

#include "ipoib.h"

static struct dentry *ipoib_debugfs_root;

static void *ipoib_list_seq_start(struct seq_file *file, loff_t *pos)
	__acquires(list->lock)
{
	const struct ipoib_debugfs_list *list = file->private;

	spin_lock_bh(list->lock);
	return seq_list_start(list->head, *pos);
}

static void *ipoib_list_seq_next(struct seq_file *file, void *at, loff_t *pos)
{
	const struct ipoib_debugfs_list *list = file->private;

	return seq_list_next(at, list->head, pos);
}

static void ipoib_list_seq_stop(struct seq_file *file, void *at)
	__releases(list->lock)
{
	const struct ipoib_debugfs_list *list = file->private;

	spin_unlock_bh(list->lock);
}

static int ipoib_list_seq_show(struct seq_file *file, void *at)
{
	const struct ipoib_debugfs_list *list = file->private;

	return list->show(file, at);
}

static const struct seq_operations ipoib_list_sops = {
	.start = ipoib_list_seq_start,
	.next = ipoib_list_seq_next,
	.stop = ipoib_list_seq_stop,
	.show = ipoib_list_seq_show,
};

DEFINE_SEQ_ATTRIBUTE(ipoib_list);

DEFINE_SHOW_ATTRIBUTE(ipoib_cm);

/*
 * Names of interfaces are unique in a network namespace only: outside of the initial one the file
 * name includes the inode number of the namespace.
 */
static struct dentry *ipoib_debugfs_file(struct ipoib_dev *priv, const char *suffix,
					 void *data, const struct file_operations *fops)
{
	const struct net *net = dev_net(priv->netdev);
	char name[IFNAMSIZ + sizeof(".4294967295_path")];

	if (net_eq(net, &init_net))
		snprintf(name, sizeof(name), "%s_%s", priv->netdev->name, suffix);
	else
		snprintf(name, sizeof(name), "%s.%u_%s", priv->netdev->name, net->ns.inum, suffix);
	return debugfs_create_file(name, 0400, ipoib_debugfs_root, data, fops);
}

static void ipoib_debugfs_add(struct ipoib_dev *priv)
{
	struct ipoib_debugfs_list *lists = priv->debugfs_lists;

	lists[0] = (struct ipoib_debugfs_list) {
		&priv->mcast.lock, &priv->mcast.list, ipoib_mcast_show
	};
	lists[1] = (struct ipoib_debugfs_list) {
		&priv->neigh.lock, &priv->neigh.list, ipoib_neigh_show
	};
	priv->debugfs[0] = ipoib_debugfs_file(priv, "mcg", &lists[0], &ipoib_list_fops);
	priv->debugfs[1] = ipoib_debugfs_file(priv, "path", &lists[1], &ipoib_list_fops);
	if (ipoib_has_cm(priv))
		priv->debugfs[2] = ipoib_debugfs_file(priv, "cm", priv, &ipoib_cm_fops);
}

/*
 * Create, rename or remove the files of an interface, after NETDEV_REGISTER, NETDEV_CHANGENAME or
 * NETDEV_UNREGISTER. A move to another namespace is an unregistration and a registration. The
 * removal of a file waits for its readers.
 * Context: RTNL held, which protects the name; readers of the files do not take it.
 */
void ipoib_debugfs_event(struct ipoib_dev *priv, unsigned long event)
{
	/* The name may change before the files exist, or after their removal. */
	bool add = event == NETDEV_REGISTER || (event == NETDEV_CHANGENAME && priv->debugfs[0]);
	unsigned int i;

	ASSERT_RTNL();
	for (i = 0; i < ARRAY_SIZE(priv->debugfs); i++) {
		debugfs_remove(priv->debugfs[i]);
		priv->debugfs[i] = NULL;
	}
	if (add)
		ipoib_debugfs_add(priv);
}

void ipoib_debugfs_init(void)
{
	ipoib_debugfs_root = debugfs_create_dir("ipoib", NULL);
}

void ipoib_debugfs_exit(void)
{
	debugfs_remove(ipoib_debugfs_root);
}
