// SPDX-License-Identifier: GPL-2.0
/* Tests of rtnetlink and of the files in sysfs: attributes, their change, children */
#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <net/rtnetlink.h>

#include "ipoib_suites.h"

/* The Kbuild of the driver has RoCE by default; that of the tests has no options. */
#ifndef CONFIG_INFINIBAND_IPOIB_ROCE
#define CONFIG_INFINIBAND_IPOIB_ROCE	1
#endif

/* Functions and objects of the driver, which other suites define, too */
#define ipoib_link_ops			links_link_ops
#define ipoib_sysfs_port_group		links_sysfs_port_group
#define ipoib_sysfs_roce_group		links_sysfs_roce_group
#define ipoib_sysfs_child_group		links_sysfs_child_group
#define ipoib_netdev_setup		links_netdev_setup
#define ipoib_dev_is_ours		links_dev_is_ours
#define ipoib_dev_add_child		links_dev_add_child
#define ipoib_dev_del			links_dev_del
#define ipoib_dev_set_mode		links_dev_set_mode
#define ipoib_dev_set_transport		links_dev_set_transport
#define ipoib_hca_link			links_hca_link
#define ipoib_cm_flags			links_cm_flags
#define ipoib_cm_transport_show		links_cm_transport_show
#define ipoib_mcast_set_umcast		links_mcast_set_umcast
#define ipoib_ud_max_txqs		links_ud_max_txqs
#define ipoib_ud_set_queues		links_ud_set_queues

#include "ipoib.h"

/* The stack, RTNL, and the control work */
#undef ASSERT_RTNL
#define ASSERT_RTNL()				((void)0)
#define rtnl_trylock()				(!links_fix->busy)
#define rtnl_unlock()				(links_fix->unlocks++)
#define restart_syscall()			(-ERESTARTNOINTR)
#define ns_capable(ns, cap)			(!links_fix->user)
#define __dev_get_by_index(net, index)		links_find(index)
#define free_netdev(dev)			links_free_netdev(dev)
#define ipoib_ctl_post(priv, event)		set_bit(event, &(priv)->ctl.events)

#define LINKS_INDEX	77

/* An attribute */
struct links_attr {
	struct nlattr nla;
	union {
		u16 half;
		u32 word;
	};
};

/**
 * struct links_fixture - fixture of a case
 * @dev: net_device of @priv
 * @priv: an interface
 * @lower: net_device of its parent, or of an Ethernet port
 * @parent: the parent
 * @hca: its interfaces
 * @attr: attributes
 * @tb: attributes of any link
 * @data: attributes of IPoIB
 * @ours: @lower is an interface of this driver
 * @busy: another has RTNL
 * @user: the caller may not change settings
 * @unlocks: times that RTNL was released
 * @err: result of the driver
 * @pkey: P_Key of a child
 * @connected: mode of a new interface
 * @child: net_device of a new child
 * @added: new children
 * @linked: new interfaces on Ethernet ports
 * @deleted: interfaces that were deleted
 * @modes: changes of the mode
 * @umcasts: changes of umcast
 * @umcast: the last
 * @queues: transmit queues that were set
 * @freed: net_devices that were freed
 */
struct links_fixture {
	struct net_device *dev;
	struct ipoib_dev *priv;
	struct net_device *lower;
	struct ipoib_dev *parent;
	struct ipoib_hca hca;
	struct links_attr attr[4];
	struct nlattr *tb[IFLA_MAX + 1];
	struct nlattr *data[IFLA_IPOIB_MAX + 1];
	bool ours;
	bool busy;
	bool user;
	unsigned int unlocks;
	int err;
	u16 pkey;
	bool connected;
	struct net_device *child;
	unsigned int added;
	unsigned int linked;
	unsigned int deleted;
	unsigned int modes;
	unsigned int umcasts;
	bool umcast;
	unsigned int queues;
	unsigned int freed;
};

/* The fixture of the running case */
static struct links_fixture *links_fix;

static struct net_device *links_find(u32 index)
{
	return index == LINKS_INDEX ? links_fix->lower : NULL;
}

static void links_free_netdev(struct net_device *dev);

/* ---- functions of the driver ---- */

void ipoib_netdev_setup(struct net_device *dev)
{
	struct ipoib_netdev *area = netdev_priv(dev);

	ether_setup(dev);
	area->rn.clnt_priv = &area->priv;
	area->priv.netdev = dev;
}

bool ipoib_dev_is_ours(const struct net_device *dev)
{
	return links_fix->ours;
}

int ipoib_dev_add_child(struct ipoib_dev *parent, struct net_device *dev, u16 pkey,
			bool connected, struct netlink_ext_ack *extack)
{
	links_fix->added += parent == links_fix->parent;
	links_fix->child = dev;
	links_fix->pkey = pkey;
	links_fix->connected = connected;
	return links_fix->err;
}

void ipoib_dev_del(struct ipoib_dev *priv, struct list_head *head)
{
	links_fix->deleted += priv == links_fix->priv && head == (void *)links_fix;
}

int ipoib_dev_set_mode(struct ipoib_dev *priv, bool on)
{
	links_fix->modes++;
	links_fix->connected = on;
	return links_fix->err;
}

int ipoib_dev_set_transport(struct ipoib_dev *priv, const char *word)
{
	return links_fix->err;
}

int ipoib_hca_link(struct net_device *dev, struct net_device *lower, bool connected,
		   struct netlink_ext_ack *extack)
{
	links_fix->linked += dev == links_fix->dev && lower == links_fix->lower;
	links_fix->connected = connected;
	return links_fix->err;
}

u8 ipoib_cm_flags(const struct ipoib_dev *priv)
{
	return 0;
}

ssize_t ipoib_cm_transport_show(const struct ipoib_dev *priv, char *buf)
{
	return 0;
}

void ipoib_mcast_set_umcast(struct ipoib_dev *priv, bool umcast)
{
	links_fix->umcasts++;
	links_fix->umcast = umcast;
}

unsigned int ipoib_ud_max_txqs(const struct ipoib_dev *priv)
{
	return 6;
}

int ipoib_ud_set_queues(struct ipoib_dev *priv, unsigned int n)
{
	links_fix->queues = n;
	return 0;
}

#include "ipoib_netlink.c"
#include "ipoib_sysfs.c"

#undef free_netdev

static void links_free_netdev(struct net_device *dev)
{
	links_fix->freed++;
	free_netdev(dev);
}

static struct net_device *links_alloc(void)
{
	return alloc_netdev_mqs(sizeof(struct ipoib_netdev), "ipoib_link%d", NET_NAME_ENUM,
				ipoib_netdev_setup, 2, 1);
}

static int links_init(struct kunit *test)
{
	struct links_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	if (!fix)
		return -ENOMEM;
	fix->dev = links_alloc();
	fix->lower = links_alloc();
	if (!fix->dev || !fix->lower) {
		if (fix->dev)
			free_netdev(fix->dev);
		if (fix->lower)
			free_netdev(fix->lower);
		kvfree(fix);
		return -ENOMEM;
	}
	fix->priv = ipoib_priv(fix->dev);
	fix->parent = ipoib_priv(fix->lower);
	fix->priv->hca = &fix->hca;
	fix->parent->hca = &fix->hca;
	fix->parent->pkey = 0xffff;
	INIT_LIST_HEAD(&fix->hca.devs);
	list_add_tail(&fix->parent->list, &fix->hca.devs);
	links_fix = fix;
	test->priv = fix;
	return 0;
}

static void links_exit(struct kunit *test)
{
	struct links_fixture *fix = test->priv;

	free_netdev(fix->lower);
	free_netdev(fix->dev);
	kvfree(fix);
}

/* An attribute of 16 bits; the last one of this number is overwritten. */
static struct nlattr *links_u16(unsigned int n, u16 value)
{
	struct links_attr *attr = &links_fix->attr[n];

	attr->nla.nla_len = NLA_HDRLEN + sizeof(value);
	attr->half = value;
	return &attr->nla;
}

/* Set the P_Key of IPoIB. */
static void links_set_pkey(struct links_fixture *fix, u16 pkey)
{
	fix->data[IFLA_IPOIB_PKEY] = links_u16(0, pkey);
}

static void links_set_mode(struct links_fixture *fix, u16 mode)
{
	fix->data[IFLA_IPOIB_MODE] = links_u16(1, mode);
}

static void links_set_umcast(struct links_fixture *fix, u16 umcast)
{
	fix->data[IFLA_IPOIB_UMCAST] = links_u16(2, umcast);
}

/* Add an interface on @lower. */
static int links_add(struct links_fixture *fix)
{
	struct links_attr *attr = &fix->attr[3];

	attr->nla.nla_len = NLA_HDRLEN + sizeof(attr->word);
	attr->word = LINKS_INDEX;
	fix->tb[IFLA_LINK] = &attr->nla;
	return ipoib_link_add(fix->dev, NULL, fix->tb, fix->data, NULL);
}

/* ---- rtnetlink ---- */

static void links_modes(struct kunit *test)
{
	struct links_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, ipoib_link_validate(fix->tb, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, ipoib_link_validate(fix->tb, fix->data, NULL), 0);
	links_set_mode(fix, 0);
	KUNIT_EXPECT_EQ(test, ipoib_link_validate(fix->tb, fix->data, NULL), 0);
	links_set_mode(fix, 1);
	KUNIT_EXPECT_EQ(test, ipoib_link_validate(fix->tb, fix->data, NULL), 0);
	links_set_mode(fix, 2);
	KUNIT_EXPECT_EQ(test, ipoib_link_validate(fix->tb, fix->data, NULL), -EINVAL);
}

/* A child has the P_Key that is given, or that of its parent. */
static void links_children(struct kunit *test)
{
	struct links_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, ipoib_link_add(fix->dev, NULL, fix->tb, NULL, NULL), -EINVAL);
	fix->ours = true;
	KUNIT_EXPECT_EQ(test, links_add(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->added, 1u);
	KUNIT_EXPECT_PTR_EQ(test, fix->child, fix->dev);
	KUNIT_EXPECT_EQ(test, (int)fix->pkey, 0xffff);
	KUNIT_EXPECT_FALSE(test, fix->connected);
	KUNIT_EXPECT_EQ(test, fix->umcasts + fix->queues, 0u);
	links_set_pkey(fix, 0x0001);
	links_set_mode(fix, IPOIB_MODE_CONNECTED);
	links_set_umcast(fix, 1);
	fix->tb[IFLA_NUM_TX_QUEUES] = &fix->attr[3].nla;
	KUNIT_EXPECT_EQ(test, links_add(fix), 0);
	KUNIT_EXPECT_EQ(test, (int)fix->pkey, 1);
	KUNIT_EXPECT_TRUE(test, fix->connected);
	KUNIT_EXPECT_EQ(test, fix->umcasts, 1u);
	KUNIT_EXPECT_TRUE(test, fix->umcast);
	KUNIT_EXPECT_EQ(test, fix->queues, 6u);
	/* No such parent */
	fix->attr[3].word++;
	KUNIT_EXPECT_EQ(test, ipoib_link_add(fix->dev, NULL, fix->tb, fix->data, NULL), -ENODEV);
	/* A failure changes nothing. */
	fix->err = -EEXIST;
	KUNIT_EXPECT_EQ(test, links_add(fix), -EEXIST);
	KUNIT_EXPECT_EQ(test, fix->umcasts, 1u);
	fix->err = 0;
	/* 0x8000 is no P_Key, nor is that of a parent without one. */
	fix->added = 0;
	links_set_pkey(fix, 0x8000);
	KUNIT_EXPECT_EQ(test, links_add(fix), -EINVAL);
	fix->data[IFLA_IPOIB_PKEY] = NULL;
	fix->parent->pkey = 0x8000;
	KUNIT_EXPECT_EQ(test, links_add(fix), -EINVAL);
	fix->parent->pkey = 0xffff;
	fix->parent->parent = fix->priv;
	KUNIT_EXPECT_EQ(test, links_add(fix), -EINVAL);
	fix->parent->parent = NULL;
	fix->parent->roce = (void *)fix;
	KUNIT_EXPECT_EQ(test, links_add(fix), -EOPNOTSUPP);
	fix->parent->roce = NULL;
	KUNIT_EXPECT_EQ(test, fix->added, 0u);
}

/* An interface on an Ethernet port, where the only P_Key is 0xffff */
static void links_ports(struct kunit *test)
{
	struct links_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, links_add(fix), 0);
	links_set_pkey(fix, 0x7fff);
	links_set_mode(fix, IPOIB_MODE_CONNECTED);
	KUNIT_EXPECT_EQ(test, links_add(fix), 0);
	KUNIT_EXPECT_EQ(test, fix->linked, 2u);
	KUNIT_EXPECT_TRUE(test, fix->connected);
	links_set_pkey(fix, 0x8001);
	KUNIT_EXPECT_EQ(test, links_add(fix), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->linked, 2u);
	KUNIT_EXPECT_EQ(test, fix->added, 0u);
}

/* The P_Key is fixed; umcast changes only if the mode could. */
static void links_changes(struct kunit *test)
{
	struct links_fixture *fix = test->priv;
	struct net_device *dev = fix->dev;

	fix->priv->pkey = 0x8001;
	KUNIT_EXPECT_EQ(test, ipoib_link_change(dev, fix->tb, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, ipoib_link_change(dev, fix->tb, fix->data, NULL), 0);
	KUNIT_EXPECT_EQ(test, fix->modes + fix->umcasts, 0u);
	links_set_umcast(fix, 1);
	links_set_pkey(fix, 0x8002);
	KUNIT_EXPECT_EQ(test, ipoib_link_change(dev, fix->tb, fix->data, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->umcasts, 0u);
	links_set_pkey(fix, 0x0001);
	links_set_mode(fix, IPOIB_MODE_CONNECTED);
	KUNIT_EXPECT_EQ(test, ipoib_link_change(dev, fix->tb, fix->data, NULL), 0);
	KUNIT_EXPECT_TRUE(test, fix->connected && fix->umcast);
	fix->err = -EBUSY;
	links_set_mode(fix, IPOIB_MODE_DATAGRAM);
	KUNIT_EXPECT_EQ(test, ipoib_link_change(dev, fix->tb, fix->data, NULL), -EBUSY);
	KUNIT_EXPECT_FALSE(test, fix->connected);
	KUNIT_EXPECT_EQ(test, fix->modes, 2u);
	KUNIT_EXPECT_EQ(test, fix->umcasts, 1u);
}

/* Value of the attribute @type in a message of such attributes, or -1 */
static int links_value(const struct sk_buff *skb, int type)
{
	const struct nlattr *nla = (const void *)skb->data;
	int left = skb->len;

	for (; nla_ok(nla, left); nla = nla_next(nla, &left))
		if (nla_type(nla) == type)
			return nla_get_u16(nla);
	return -1;
}

/* The attributes of an interface fit into the size that the stack provides. */
static void links_filled(struct kunit *test)
{
	struct links_fixture *fix = test->priv;
	unsigned int size = ipoib_link_ops.get_size(fix->dev), lack;
	struct sk_buff *skb;

	KUNIT_EXPECT_EQ(test, size, 24u);
	fix->priv->pkey = 0x8001;
	fix->priv->mcast.umcast = true;
	for (lack = 0; lack < 2; lack++) {
		skb = alloc_skb(size, GFP_KERNEL | __GFP_NOFAIL);
		/* All but the size, or an octet less */
		skb_reserve(skb, skb_tailroom(skb) - size + lack);
		KUNIT_EXPECT_EQ(test, ipoib_link_ops.fill_info(skb, fix->dev),
				lack ? -EMSGSIZE : 0);
		if (!lack) {
			KUNIT_EXPECT_EQ(test, links_value(skb, IFLA_IPOIB_PKEY), 0x8001);
			KUNIT_EXPECT_EQ(test, links_value(skb, IFLA_IPOIB_MODE), 0);
			KUNIT_EXPECT_EQ(test, links_value(skb, IFLA_IPOIB_UMCAST), 1);
		}
		kfree_skb(skb);
	}
	set_bit(IPOIB_FLAG_CONNECTED, &fix->priv->flags);
	skb = alloc_skb(size, GFP_KERNEL | __GFP_NOFAIL);
	KUNIT_EXPECT_EQ(test, ipoib_link_ops.fill_info(skb, fix->dev), 0);
	KUNIT_EXPECT_EQ(test, links_value(skb, IFLA_IPOIB_MODE), (int)ipoib_cm_is_on(fix->priv));
	kfree_skb(skb);
}

/* Operations, and the end of an interface: only one on another device is deleted. */
static void links_ops(struct kunit *test)
{
	const struct rtnl_link_ops *ops = &ipoib_link_ops;
	struct links_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, strcmp(ops->kind, "ipoib"), 0);
	KUNIT_EXPECT_TRUE(test, ops->netns_refund);
	KUNIT_EXPECT_EQ(test, ops->maxtype, (unsigned int)IFLA_IPOIB_MAX);
	KUNIT_EXPECT_PTR_EQ(test, ops->policy, &ipoib_link_policy[0]);
	KUNIT_EXPECT_EQ(test, ops->priv_size, sizeof(struct ipoib_netdev));
	KUNIT_EXPECT_TRUE(test, ops->setup == ipoib_netdev_setup);
	KUNIT_EXPECT_TRUE(test, ops->validate == ipoib_link_validate);
	KUNIT_EXPECT_TRUE(test, ops->newlink == ipoib_link_new);
	KUNIT_EXPECT_TRUE(test, ops->changelink == ipoib_link_change);
	KUNIT_EXPECT_EQ(test, ops->get_num_tx_queues(), 8u);
	ops->dellink(fix->dev, (void *)fix);
	KUNIT_EXPECT_EQ(test, fix->deleted, 0u);
	KUNIT_EXPECT_PTR_EQ(test, ops->get_link_net(fix->dev), &init_net);
	fix->priv->lower = fix->lower;
	ops->dellink(fix->dev, (void *)fix);
	KUNIT_EXPECT_EQ(test, fix->deleted, 1u);
	KUNIT_EXPECT_PTR_EQ(test, ops->get_link_net(fix->dev), &init_net);
}

/* ---- sysfs ---- */

static ssize_t links_store_mode(struct links_fixture *fix, const char *word)
{
	return mode_store(&fix->dev->dev, &dev_attr_mode, word, strlen(word));
}

/* A write needs the capability, and RTNL at once. */
static void links_stores(struct kunit *test)
{
	struct links_fixture *fix = test->priv;

	fix->user = true;
	KUNIT_EXPECT_EQ(test, links_store_mode(fix, "connected\n"), (ssize_t)-EPERM);
	fix->user = false;
	fix->busy = true;
	KUNIT_EXPECT_EQ(test, links_store_mode(fix, "connected\n"), (ssize_t)-ERESTARTNOINTR);
	fix->busy = false;
	KUNIT_EXPECT_EQ(test, fix->modes + fix->unlocks, 0u);
	KUNIT_EXPECT_EQ(test, links_store_mode(fix, "connected\n"), (ssize_t)10);
	KUNIT_EXPECT_TRUE(test, fix->connected);
	KUNIT_EXPECT_EQ(test, fix->unlocks, 1u);
	KUNIT_EXPECT_EQ(test, links_store_mode(fix, "datagram"), (ssize_t)8);
	KUNIT_EXPECT_FALSE(test, fix->connected);
	KUNIT_EXPECT_EQ(test, links_store_mode(fix, "both"), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, fix->modes, 2u);
	fix->err = -EBUSY;
	KUNIT_EXPECT_EQ(test, links_store_mode(fix, "connected"), (ssize_t)-EBUSY);
	KUNIT_EXPECT_EQ(test, fix->unlocks, 4u);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_set_umcast(fix->priv, "1"), 0);
	KUNIT_EXPECT_TRUE(test, fix->umcast);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_set_umcast(fix->priv, "0"), 0);
	KUNIT_EXPECT_FALSE(test, fix->umcast);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_set_umcast(fix->priv, "x"), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->umcasts, 2u);
}

/* A child of the parent, created by its file: the interface of the fixture */
static void links_add_child(struct links_fixture *fix)
{
	fix->priv->parent = fix->parent;
	fix->priv->pkey = 0x8001;
	fix->priv->flags = BIT(IPOIB_FLAG_SYSFS);
	list_add_tail(&fix->priv->list, &fix->hca.devs);
}

static void links_makes_child(struct kunit *test)
{
	static const char * const bad[] = { "", "x", "-1", "0", "0x8000", "0x10000" };
	struct links_fixture *fix = test->priv;
	struct ipoib_dev *parent = fix->parent;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, ipoib_sysfs_make_child(parent, bad[i]), -EINVAL);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_make_child(parent, "0x7fff"), -ENOTUNIQ);
	links_add_child(fix);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_make_child(parent, "0x8001"), -ENOTUNIQ);
	set_bit(IPOIB_CTL_DELETE, &fix->priv->ctl.events);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_make_child(parent, "1"), -ERESTARTNOINTR);
	KUNIT_EXPECT_EQ(test, fix->added, 0u);
	/* Children of rtnetlink do not count, and a child that is not made is freed. */
	fix->priv->flags = 0;
	fix->err = -EEXIST;
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_make_child(parent, "0x8001"), -EEXIST);
	KUNIT_EXPECT_EQ(test, fix->freed, 1u);
	fix->err = 0;
	fix->child = NULL;
	strscpy(fix->lower->name, "ib0123456789", IFNAMSIZ);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_make_child(parent, " 2 text"), 0);
	KUNIT_EXPECT_EQ(test, fix->added, 2u);
	KUNIT_EXPECT_EQ(test, fix->freed, 1u);
	KUNIT_EXPECT_TRUE(test, fix->child);
	if (!fix->child)
		return;
	KUNIT_EXPECT_EQ(test, (int)fix->pkey, 2);
	KUNIT_EXPECT_FALSE(test, fix->connected);
	KUNIT_EXPECT_EQ(test, strcmp(fix->child->name, "ib01234567.0002"), 0);
	KUNIT_EXPECT_EQ(test, fix->child->num_tx_queues, 8u);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_FLAG_SYSFS, &ipoib_priv(fix->child)->flags));
	free_netdev(fix->child);
}

/* The control work deletes a child, once. */
static void links_deletes_child(struct kunit *test)
{
	struct links_fixture *fix = test->priv;
	struct ipoib_dev *parent = fix->parent;

	links_add_child(fix);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_delete_child(parent, "0"), -EINVAL);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_delete_child(parent, "2"), -ENODEV);
	fix->priv->flags = 0;
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_delete_child(parent, "1"), -ENODEV);
	fix->priv->flags = BIT(IPOIB_FLAG_SYSFS);
	fix->priv->parent = NULL;
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_delete_child(parent, "1"), -ENODEV);
	fix->priv->parent = parent;
	KUNIT_EXPECT_EQ(test, fix->priv->ctl.events, 0ul);
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_delete_child(parent, "0x8001"), 0);
	KUNIT_EXPECT_EQ(test, fix->priv->ctl.events, BIT(IPOIB_CTL_DELETE));
	KUNIT_EXPECT_EQ(test, ipoib_sysfs_delete_child(parent, "1"), -ENODEV);
}

static struct kunit_case ipoib_link_cases[] = {
	KUNIT_CASE(links_modes),
	KUNIT_CASE(links_children),
	KUNIT_CASE(links_ports),
	KUNIT_CASE(links_changes),
	KUNIT_CASE(links_filled),
	KUNIT_CASE(links_ops),
	KUNIT_CASE(links_stores),
	KUNIT_CASE(links_makes_child),
	KUNIT_CASE(links_deletes_child),
	{}
};

struct kunit_suite ipoib_link_suite = {
	.name = "ipoib_link",
	.init = links_init,
	.exit = links_exit,
	.test_cases = ipoib_link_cases,
};
