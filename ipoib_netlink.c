// SPDX-License-Identifier: GPL-2.0
/*
 * rtnetlink: attributes of an interface for `ip -d link`, their change, children, and interfaces on
 * RoCE ports. ipoib_dev.c and ipoib_client.c have the policy.
 */
#include <linux/if_link.h>
#include <net/rtnetlink.h>

#include "ipoib.h"

static const struct nla_policy ipoib_link_policy[IFLA_IPOIB_MAX + 1] = {
	[IFLA_IPOIB_PKEY]	= { .type = NLA_U16 },
	[IFLA_IPOIB_MODE]	= { .type = NLA_U16 },
	[IFLA_IPOIB_UMCAST]	= { .type = NLA_U16 },
};

static int ipoib_link_validate(struct nlattr *tb[], struct nlattr *data[],
			       struct netlink_ext_ack *extack)
{
	if (data && data[IFLA_IPOIB_MODE] &&
	    nla_get_u16(data[IFLA_IPOIB_MODE]) > IPOIB_MODE_CONNECTED) {
		NL_SET_ERR_MSG(extack, "mode is 0 (datagram) or 1 (connected)");
		return -EINVAL;
	}
	return 0;
}

static int ipoib_link_add_child(struct net_device *dev, struct ipoib_dev *parent,
				struct nlattr *data[], bool connected,
				struct netlink_ext_ack *extack)
{
	bool given = data && data[IFLA_IPOIB_PKEY];
	u16 pkey = given ? nla_get_u16(data[IFLA_IPOIB_PKEY]) : parent->pkey;

	if (parent->parent) {
		NL_SET_ERR_MSG(extack, "the parent is itself a child");
		return -EINVAL;
	}
	if (ipoib_has_roce(parent)) {
		NL_SET_ERR_MSG(extack, "RoCE ports have no partitions");
		return -EOPNOTSUPP;
	}
	if (!(pkey & ~IPOIB_PKEY_FULL)) {
		if (given)
			NL_SET_ERR_MSG(extack, "0 and 0x8000 are no P_Keys");
		else
			NL_SET_ERR_MSG(extack, "the parent has no P_Key yet: give one");
		return -EINVAL;
	}
	return ipoib_dev_add_child(parent, dev, pkey, connected, extack);
}

static int ipoib_link_add_roce(struct net_device *dev, struct net_device *lower,
			       struct nlattr *data[], bool connected,
			       struct netlink_ext_ack *extack)
{
	if (data && data[IFLA_IPOIB_PKEY] &&
	    (nla_get_u16(data[IFLA_IPOIB_PKEY]) | IPOIB_PKEY_FULL) !=
	    IPOIB_ROCE_PKEY) {
		NL_SET_ERR_MSG(extack, "RoCE ports have no P_Key but 0xffff");
		return -EINVAL;
	}
	return ipoib_hca_link(dev, lower, connected, extack);
}

static int ipoib_link_add(struct net_device *dev, struct net *net,
			  struct nlattr *tb[], struct nlattr *data[],
			  struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct net_device *lower;
	bool connected;
	int err;

	if (!tb[IFLA_LINK]) {
		NL_SET_ERR_MSG(extack, "no parent: give 'link DEVICE'");
		return -EINVAL;
	}
	lower = __dev_get_by_index(net, nla_get_u32(tb[IFLA_LINK]));
	if (!lower)
		return -ENODEV;
	connected = data && data[IFLA_IPOIB_MODE] &&
		    nla_get_u16(data[IFLA_IPOIB_MODE]) == IPOIB_MODE_CONNECTED;
	if (ipoib_dev_is_ours(lower))
		err = ipoib_link_add_child(dev, ipoib_priv(lower), data, connected, extack);
	else if (IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE))
		err = ipoib_link_add_roce(dev, lower, data, connected, extack);
	else
		err = -EOPNOTSUPP;
	if (err)
		return err;
	if (data && data[IFLA_IPOIB_UMCAST])
		ipoib_mcast_set_umcast(priv, nla_get_u16(data[IFLA_IPOIB_UMCAST]));
	if (tb[IFLA_NUM_TX_QUEUES] && ipoib_ud_set_queues(priv, ipoib_ud_max_txqs(priv)))
		NL_SET_ERR_MSG(extack, "the HCA has no room for more than one transmit queue");
	else if (!test_bit(IPOIB_FLAG_PKEY, &priv->flags))
		IPOIB_SET_ERR_MSG_FMT(extack, "the P_Key is not in the table of the port yet",
				      "P_Key %#06x is not in the table of port %u yet",
				      priv->pkey, priv->port);
	/* Ignored: systemd-networkd always sends an address. */
	else if (tb[IFLA_ADDRESS])
		NL_SET_ERR_MSG(extack, "the address given is ignored: it follows from GID and QPN");
	return 0;
}

IPOIB_NEWLINK(ipoib_link_new, ipoib_link_add)

static int ipoib_link_change(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			     struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	bool connected;
	int err = 0;

	if (!data)
		return 0;
	if (data[IFLA_IPOIB_PKEY] &&
	    (nla_get_u16(data[IFLA_IPOIB_PKEY]) | IPOIB_PKEY_FULL) !=
	    priv->pkey) {
		NL_SET_ERR_MSG(extack, "the P_Key of an interface is fixed");
		return -EINVAL;
	}
	if (data[IFLA_IPOIB_MODE]) {
		connected = nla_get_u16(data[IFLA_IPOIB_MODE]) == IPOIB_MODE_CONNECTED;
		err = ipoib_dev_set_mode(priv, connected);
		if (err && connected && !ipoib_cm_flags(priv))
			NL_SET_ERR_MSG(extack, "no connected mode on this port");
		else if (err)
			NL_SET_ERR_MSG(extack, "the MTU of the mode was refused");
	}
	/* Last, as it cannot fail: all or nothing. */
	if (!err && data[IFLA_IPOIB_UMCAST])
		ipoib_mcast_set_umcast(priv, nla_get_u16(data[IFLA_IPOIB_UMCAST]));
	return err;
}

/* The interface of an InfiniBand port lives as long as the port. */
static void ipoib_link_del(struct net_device *dev, struct list_head *head)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	if (priv->lower)
		ipoib_dev_del(priv, head);
}

static struct net *ipoib_link_net(const struct net_device *dev)
{
	const struct ipoib_dev *priv = ipoib_priv(dev);

	return dev_net(priv->lower ?: priv->netdev);
}

static size_t ipoib_link_size(const struct net_device *dev)
{
	return 3 * nla_total_size(sizeof(u16));
}

static int ipoib_link_fill(struct sk_buff *skb, const struct net_device *dev)
{
	const struct ipoib_dev *priv = ipoib_priv(dev);

	if (nla_put_u16(skb, IFLA_IPOIB_PKEY, priv->pkey) ||
	    nla_put_u16(skb, IFLA_IPOIB_MODE,
			ipoib_cm_is_on(priv) ? IPOIB_MODE_CONNECTED :
					       IPOIB_MODE_DATAGRAM) ||
	    nla_put_u16(skb, IFLA_IPOIB_UMCAST, READ_ONCE(priv->mcast.umcast)))
		return -EMSGSIZE;
	return 0;
}

static unsigned int ipoib_link_txqs(void)
{
	return IPOIB_TXQ_MAX;
}

struct rtnl_link_ops ipoib_link_ops = {
	.kind = "ipoib",
	.netns_refund = true,
	.maxtype = IFLA_IPOIB_MAX,
	.policy = ipoib_link_policy,
	.priv_size = sizeof(struct ipoib_netdev),
	.setup = ipoib_netdev_setup,
	.validate = ipoib_link_validate,
	.newlink = ipoib_link_new,
	.changelink = ipoib_link_change,
	.dellink = ipoib_link_del,
	.get_size = ipoib_link_size,
	.fill_info = ipoib_link_fill,
	.get_link_net = ipoib_link_net,
	.get_num_tx_queues = ipoib_link_txqs,
};
