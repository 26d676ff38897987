// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual functions of an HCA: link state, GUIDs and statistics. rtnetlink asks the interface of
 * a port of the physical function; its number of a function is checked here, as mlx5 uses it as
 * an index unchecked.
 *
 * Children and interfaces on RoCE ports have no parent device and thus no functions.
 */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "ipoib.h"

/* The interface may be in a container, whose root sets nothing of the containers beside it. */
static int ipoib_vf_check_set(const struct ipoib_dev *priv, int vf)
{
	struct device *parent = priv->netdev->dev.parent;

	if (!parent)
		return -EOPNOTSUPP;
	if (vf < 0 || vf >= dev_num_vf(parent))
		return -EINVAL;
	return ipoib_hca_capable(priv->ca) ? 0 : -EPERM;
}

/*
 * ndo_set_vf_link_state(), with an IFLA_VF_LINK_STATE_ value.
 * Context: RTNL held. Return: 0, -EOPNOTSUPP, -EINVAL, -EPERM, or a negative error of the HCA.
 */
int ipoib_vf_set_link_state(struct net_device *dev, int vf, int state)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return ipoib_vf_check_set(priv, vf) ?:
	       ib_set_vf_link_state(priv->ca, vf, priv->port, state);
}

/*
 * ndo_set_vf_guid(); @type is IFLA_VF_IB_NODE_GUID or IFLA_VF_IB_PORT_GUID. A @guid of 0 is passed
 * on, too.
 * Context: RTNL held. Return: as ipoib_vf_set_link_state().
 */
int ipoib_vf_set_guid(struct net_device *dev, int vf, u64 guid, int type)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return ipoib_vf_check_set(priv, vf) ?:
	       ib_set_vf_guid(priv->ca, vf, priv->port, guid, type);
}

/*
 * ndo_get_vf_config(), for a @vf less than dev_num_vf().
 * Context: RTNL held; may sleep.
 * Return: 0, or a negative error of the HCA: the function is not shown.
 */
int ipoib_vf_get_config(struct net_device *dev, int vf, struct ifla_vf_info *info)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err;

	err = ib_get_vf_config(priv->ca, vf, priv->port, info);
	/* mlx5 clears it. */
	info->vf = vf;
	return err;
}

/*
 * ndo_get_vf_stats(), for a @vf less than dev_num_vf().
 * Context: RTNL held; may sleep. Return: 0, or a negative error of the HCA: all are shown as 0.
 */
int ipoib_vf_get_stats(struct net_device *dev, int vf, struct ifla_vf_stats *stats)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return ib_get_vf_stats(priv->ca, vf, priv->port, stats);
}

/*
 * ndo_get_vf_guid(), for a @vf less than dev_num_vf().
 * Context: RTNL held; may sleep. Return: 0, or a negative error of the HCA: none is shown.
 */
int ipoib_vf_get_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node_guid,
		      struct ifla_vf_guid *port_guid)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	return ib_get_vf_guid(priv->ca, vf, priv->port, node_guid, port_guid);
}
