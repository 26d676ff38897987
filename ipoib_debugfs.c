// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: ipoib/<interface>_mcg lists the groups of an interface, and
 * ipoib/<interface>_path its paths. Read only; a reader holds the lock that
 * guards the list it walks, never one of the data path.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "ipoib.h"

static struct dentry *ipoib_debugfs_root;

static void ipoib_mcg_one(struct seq_file *file, const struct ipoib_mcast *mcast)
{
	seq_printf(file, "GID: %pI6\n", mcast->mgid.raw);
	seq_printf(file, "  created: %10lu\n", mcast->created);
	seq_printf(file, "  queuelen: %9u\n", skb_queue_len(&mcast->queue));
	seq_printf(file, "  complete: %9s\n",
		   rcu_access_pointer(mcast->ah) ? "yes" : "no");
	seq_printf(file, "  send_only: %8s\n",
		   mcast->want == BIT(FULLMEMBER_JOIN) ? "no" : "yes");
	seq_printf(file, "  state: %12s\n", ipoib_mcast_state_name(mcast));
	seq_printf(file, "  join_state: %7u\n\n", mcast->held);
}

static int ipoib_mcg_show(struct seq_file *file, void *unused)
{
	struct ipoib_dev *priv = file->private;
	struct ipoib_mcast *mcast;

	spin_lock_bh(&priv->mcast_lock);
	list_for_each_entry(mcast, &priv->group_list, list)
		ipoib_mcg_one(file, mcast);
	spin_unlock_bh(&priv->mcast_lock);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(ipoib_mcg);

static void ipoib_path_one(struct seq_file *file, struct ipoib_path *path)
{
	bool complete = rcu_access_pointer(path->ah);

	seq_printf(file, "GID: %pI6\n", path->gid.raw);
	seq_printf(file, "  complete: %6s\n", complete ? "yes" : "no");
	if (complete) {
		seq_printf(file, "  DLID:     0x%04x\n",
			   be32_to_cpu(sa_path_get_dlid(&path->rec)));
		seq_printf(file, "  SL: %12d\n", path->rec.sl);
		seq_printf(file, "  rate: %8d.%d Gb/sec\n",
			   ib_rate_to_mbps(path->rec.rate) / 1000,
			   ib_rate_to_mbps(path->rec.rate) % 1000 / 100);
	}
	seq_putc(file, '\n');
}

static int ipoib_path_show(struct seq_file *file, void *unused)
{
	struct ipoib_dev *priv = file->private;
	struct ipoib_path *path;

	spin_lock_bh(&priv->path_lock);
	list_for_each_entry(path, &priv->path_list, list)
		ipoib_path_one(file, path);
	spin_unlock_bh(&priv->path_lock);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(ipoib_path);

/*
 * Names of interfaces are unique in a network namespace only, so outside of
 * the initial one the inode number of the namespace is part of the name.
 */
static struct dentry *ipoib_debugfs_file(struct ipoib_dev *priv,
					 const char *suffix,
					 const struct file_operations *fops)
{
	const struct net *net = dev_net(priv->netdev);
	char name[IFNAMSIZ + sizeof(".4294967295_path")];

	if (net_eq(net, &init_net))
		snprintf(name, sizeof(name), "%s_%s", priv->netdev->name,
			 suffix);
	else
		snprintf(name, sizeof(name), "%s.%u_%s", priv->netdev->name,
			 net->ns.inum, suffix);
	return debugfs_create_file(name, 0400, ipoib_debugfs_root, priv, fops);
}

/**
 * ipoib_debugfs_add - make the files of an interface
 * @priv: the interface
 */
void ipoib_debugfs_add(struct ipoib_dev *priv)
{
	priv->debugfs_mcg = ipoib_debugfs_file(priv, "mcg", &ipoib_mcg_fops);
	priv->debugfs_path = ipoib_debugfs_file(priv, "path",
						&ipoib_path_fops);
}

/**
 * ipoib_debugfs_remove - remove the files of an interface
 * @priv: the interface
 *
 * Waits for readers.
 */
void ipoib_debugfs_remove(struct ipoib_dev *priv)
{
	debugfs_remove(priv->debugfs_mcg);
	debugfs_remove(priv->debugfs_path);
	priv->debugfs_mcg = NULL;
	priv->debugfs_path = NULL;
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
	if (!priv->debugfs_mcg)
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
