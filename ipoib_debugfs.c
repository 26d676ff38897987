// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: ipoib/<interface>_mcg lists the groups of an interface,
 * ipoib/<interface>_path its paths, and ipoib/<interface>_cm its peers with
 * their connections. Read only. However long a list is, its lock is held only for as
 * much of it as fits a buffer of the reader, which may therefore miss what moves in
 * between.
 */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>

#include "ipoib.h"

static struct dentry *ipoib_debugfs_root;

DEFINE_SEQ_ATTRIBUTE(ipoib_mcg);

DEFINE_SEQ_ATTRIBUTE(ipoib_neigh);

DEFINE_SEQ_ATTRIBUTE(ipoib_cm);

/*
 * Names of interfaces are unique in a network namespace only, so outside of
 * the initial one the inode number of the namespace is part of the name.
 */
static struct dentry *ipoib_debugfs_file(struct ipoib_dev *priv, const char *suffix,
					 const struct file_operations *fops)
{
	const struct net *net = dev_net(priv->netdev);
	char name[IFNAMSIZ + sizeof(".4294967295_path")];

	if (net_eq(net, &init_net))
		snprintf(name, sizeof(name), "%s_%s", priv->netdev->name, suffix);
	else
		snprintf(name, sizeof(name), "%s.%u_%s", priv->netdev->name, net->ns.inum, suffix);
	return debugfs_create_file(name, 0400, ipoib_debugfs_root, priv, fops);
}

/**
 * ipoib_debugfs_add - make the files of an interface
 * @priv: the interface, registered
 *
 * Context: RTNL held, which keeps its name; no reader of the files takes it
 */
void ipoib_debugfs_add(struct ipoib_dev *priv)
{
	ASSERT_RTNL();
	priv->debugfs[0] = ipoib_debugfs_file(priv, "mcg", &ipoib_mcg_fops);
	priv->debugfs[1] = ipoib_debugfs_file(priv, "path", &ipoib_neigh_fops);
	if (ipoib_has_cm(priv))
		priv->debugfs[2] = ipoib_debugfs_file(priv, "cm", &ipoib_cm_fops);
}

/**
 * ipoib_debugfs_remove - remove the files of an interface
 * @priv: the interface
 *
 * Waits for readers.
 *
 * Context: RTNL held
 */
void ipoib_debugfs_remove(struct ipoib_dev *priv)
{
	unsigned int i;

	ASSERT_RTNL();
	for (i = 0; i < ARRAY_SIZE(priv->debugfs); i++) {
		debugfs_remove(priv->debugfs[i]);
		priv->debugfs[i] = NULL;
	}
}

/**
 * ipoib_debugfs_rename - the interface has a new name or namespace
 * @priv: the interface
 *
 * Context: RTNL held
 */
void ipoib_debugfs_rename(struct ipoib_dev *priv)
{
	/* Before its files were made, or after they were removed. */
	if (!priv->debugfs[0])
		return;
	ipoib_debugfs_remove(priv);
	ipoib_debugfs_add(priv);
}

/**
 * ipoib_debugfs_init - make the directory
 */
void ipoib_debugfs_init(void)
{
	ipoib_debugfs_root = debugfs_create_dir("ipoib", NULL);
}

/**
 * ipoib_debugfs_exit - remove the directory
 */
void ipoib_debugfs_exit(void)
{
	debugfs_remove(ipoib_debugfs_root);
}
