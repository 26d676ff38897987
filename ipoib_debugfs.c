// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: ipoib/<interface>_mcg lists the groups of an interface,
 * ipoib/<interface>_path its paths, and ipoib/<interface>_cm its peers with
 * their connections. Read only. However long a list is, its lock is held only for as
 * much of it as fits a buffer of the reader, who may therefore miss what moves in
 * between. ipoib/objects has the balance of objects of the module.
 */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>

#include "ipoib_multicast.h"

static struct dentry *ipoib_debugfs_root;

/* Who needs a group, by the IPOIB_USER_ bits: listener, router, sender. */
static const char * const ipoib_mcg_users[] = {
	"-", "l", "r", "lr", "s", "ls", "rs", "lrs",
};

/* Milliseconds to the next try. */
static unsigned int ipoib_mcg_retry(const struct ipoib_mcast *mcast)
{
	unsigned long now = jiffies;

	return time_after(mcast->retry_at, now) ?
	       jiffies_to_msecs(mcast->retry_at - now) : 0;
}

static void ipoib_mcg_one(struct seq_file *file, const struct ipoib_mcast *mcast)
{
	seq_printf(file, "GID: %pI6\n", mcast->mgid.raw);
	seq_printf(file, "  created: %10lu\n", mcast->created);
	seq_printf(file, "  queuelen: %9u\n", skb_queue_len(&mcast->queue));
	seq_printf(file, "  complete: %9s\n",
		   rcu_access_pointer(mcast->ah) ? "yes" : "no");
	seq_printf(file, "  send_only: %8s\n",
		   ipoib_group_want(mcast) & IPOIB_JOIN_RECEIVES ? "no" : "yes");
	seq_printf(file, "  state: %12s\n", ipoib_group_state_name(mcast));
	seq_printf(file, "  join_state: %7u\n", READ_ONCE(mcast->held));
	seq_printf(file, "  mlid: %#13x\n",
		   mcast->held ? be16_to_cpu(mcast->rec.mlid) : 0);
	seq_printf(file, "  users: %12s\n",
		   ipoib_mcg_users[mcast->users & 7]);
	seq_printf(file, "  idle: %13u\n",
		   jiffies_to_msecs(jiffies - READ_ONCE(mcast->used)) / 1000);
	if (mcast->state == IPOIB_MCAST_BACKOFF)
		seq_printf(file, "  retry_ms: %9u\n  reason: %s\n",
			   ipoib_mcg_retry(mcast), ipoib_reason_text(mcast));
	seq_putc(file, '\n');
}

static void *ipoib_mcg_seq_start(struct seq_file *file, loff_t *pos)
	__acquires(&priv->mcast_lock)
{
	struct ipoib_dev *priv = file->private;

	spin_lock_bh(&priv->mcast_lock);
	return seq_list_start(&priv->group_list, *pos);
}

static void *ipoib_mcg_seq_next(struct seq_file *file, void *at, loff_t *pos)
{
	struct ipoib_dev *priv = file->private;

	return seq_list_next(at, &priv->group_list, pos);
}

static void ipoib_mcg_seq_stop(struct seq_file *file, void *at)
	__releases(&priv->mcast_lock)
{
	struct ipoib_dev *priv = file->private;

	spin_unlock_bh(&priv->mcast_lock);
}

static int ipoib_mcg_show(struct seq_file *file, void *at)
{
	ipoib_mcg_one(file, list_entry(at, struct ipoib_mcast, list));
	return 0;
}

static const struct seq_operations ipoib_mcg_sops = {
	.start = ipoib_mcg_seq_start,
	.next = ipoib_mcg_seq_next,
	.stop = ipoib_mcg_seq_stop,
	.show = ipoib_mcg_show,
};

DEFINE_SEQ_ATTRIBUTE(ipoib_mcg);

static void ipoib_path_one(struct seq_file *file, struct ipoib_path *path)
{
	bool complete = rcu_access_pointer(path->ah);

	seq_printf(file, "GID: %pI6\n", path->gid.raw);
	seq_printf(file, "  complete: %6s\n", complete ? "yes" : "no");
	if (complete)
		path->priv->fabric->path_show(file, path);
	seq_putc(file, '\n');
}

static void *ipoib_path_seq_start(struct seq_file *file, loff_t *pos)
	__acquires(&priv->path_lock)
{
	struct ipoib_dev *priv = file->private;

	spin_lock_bh(&priv->path_lock);
	return seq_list_start(&priv->path_list, *pos);
}

static void *ipoib_path_seq_next(struct seq_file *file, void *at, loff_t *pos)
{
	struct ipoib_dev *priv = file->private;

	return seq_list_next(at, &priv->path_list, pos);
}

static void ipoib_path_seq_stop(struct seq_file *file, void *at)
	__releases(&priv->path_lock)
{
	struct ipoib_dev *priv = file->private;

	spin_unlock_bh(&priv->path_lock);
}

static int ipoib_path_show(struct seq_file *file, void *at)
{
	ipoib_path_one(file, list_entry(at, struct ipoib_path, list));
	return 0;
}

static const struct seq_operations ipoib_path_sops = {
	.start = ipoib_path_seq_start,
	.next = ipoib_path_seq_next,
	.stop = ipoib_path_seq_stop,
	.show = ipoib_path_show,
};

DEFINE_SEQ_ATTRIBUTE(ipoib_path);

DEFINE_SEQ_ATTRIBUTE(ipoib_cm);

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
 * @priv: the interface, registered
 *
 * Context: RTNL held, which keeps its name; no reader of the files takes it
 */
void ipoib_debugfs_add(struct ipoib_dev *priv)
{
	ASSERT_RTNL();
	priv->debugfs_mcg = ipoib_debugfs_file(priv, "mcg", &ipoib_mcg_fops);
	priv->debugfs_path = ipoib_debugfs_file(priv, "path",
						&ipoib_path_fops);
	if (IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM) && priv->cm)
		priv->debugfs_cm = ipoib_debugfs_file(priv, "cm",
						      &ipoib_cm_fops);
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
	ASSERT_RTNL();
	debugfs_remove(priv->debugfs_mcg);
	debugfs_remove(priv->debugfs_path);
	debugfs_remove(priv->debugfs_cm);
	priv->debugfs_mcg = NULL;
	priv->debugfs_path = NULL;
	priv->debugfs_cm = NULL;
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

static int ipoib_objects_show(struct seq_file *file, void *unused)
{
	ipoib_object_show(file);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(ipoib_objects);

/**
 * ipoib_debugfs_init - make the directory, and what is in it of the module
 */
void ipoib_debugfs_init(void)
{
	ipoib_debugfs_root = debugfs_create_dir("ipoib", NULL);
	debugfs_create_file("objects", 0400, ipoib_debugfs_root, NULL,
			    &ipoib_objects_fops);
}

/**
 * ipoib_debugfs_exit - remove the directory
 */
void ipoib_debugfs_exit(void)
{
	debugfs_remove(ipoib_debugfs_root);
}
