// SPDX-License-Identifier: GPL-2.0
/*
 * HCAs and their ports.
 *
 * The IB core announces each HCA, and each of its InfiniBand ports gets an interface. On RoCE ports
 * rtnetlink creates interfaces, one on a net_device of the port. RTNL serialises changes of all
 * lists.
 */
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>

#include "ipoib.h"

/* Read under RCU, changed under RTNL */
static LIST_HEAD(ipoib_hcas);

/* Takes RTNL. Frees the net_device after a failure. */
static int ipoib_hca_try_port(struct ipoib_hca *hca, u32 port, bool enhanced)
{
	struct net_device *dev;
	struct ipoib_dev *priv;
	int err;

	if (enhanced)
		dev = ipoib_rn_alloc(hca->ca, port, "ib%d", NET_NAME_UNKNOWN,
				     ipoib_netdev_setup_rn);
	else
		dev = alloc_netdev_mqs(sizeof(struct ipoib_netdev), "ib%d", NET_NAME_UNKNOWN,
				       ipoib_link_ops.setup, IPOIB_TXQ_MAX, 1);
	if (IS_ERR_OR_NULL(dev))
		return dev ? PTR_ERR(dev) : -ENOMEM;
	dev_net_set(dev, read_pnet(&hca->ca->coredev.rdma_net));
	priv = ipoib_priv(dev);
	priv->hca = hca;
	priv->port = port;
	rtnl_lock();
	err = ipoib_dev_add(priv, false, NULL);
	rtnl_unlock();
	if (err)
		ipoib_rn_free(priv);
	return err;
}

static void ipoib_hca_add_port(struct ipoib_hca *hca, u32 port)
{
	int err = -EOPNOTSUPP;

	if (READ_ONCE(ipoib_enhanced))
		err = ipoib_hca_try_port(hca, port, true);
	if (err && err != -EOPNOTSUPP)
		dev_warn(&hca->ca->dev,
			 "port %u: no interface by the HCA's own net device: %d, using verbs\n",
			 port, err);
	if (err)
		err = ipoib_hca_try_port(hca, port, false);
	if (err)
		dev_warn(&hca->ca->dev, "cannot make an interface for port %u: %d\n", port, err);
}

/*
 * Check the rights of the caller over an HCA. The namespace of an interface may give the caller
 * rights over the interface, but not over the RDMA device.
 * Context: process. Return: true with CAP_NET_ADMIN in the user namespace of the RDMA device.
 */
bool ipoib_hca_capable(const struct ib_device *ca)
{
	return ns_capable(read_pnet(&ca->coredev.rdma_net)->user_ns, CAP_NET_ADMIN);
}

#if IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE)

/*
 * Find the interface on the net_device of a RoCE port, among all net_devices.
 * Context: RTNL held, or RCU read side, in which the result is valid. Return: the interface, or
 * NULL.
 */
struct ipoib_dev *ipoib_hca_find_on(const struct net_device *lower)
{
	struct ipoib_dev *priv;
	struct ipoib_hca *hca;

	list_for_each_entry_rcu(hca, &ipoib_hcas, list, lockdep_rtnl_is_held())
		list_for_each_entry_rcu(priv, &hca->devs, list, lockdep_rtnl_is_held())
			if (ipoib_has_roce(priv) && priv->lower == lower)
				return priv;
	return NULL;
}

/* RTNL held, under which the result is valid. */
static struct ipoib_hca *ipoib_hca_find_below(struct net_device *lower, u32 *port)
{
	struct ipoib_hca *hca;
	u32 i;

	list_for_each_entry(hca, &ipoib_hcas, list) {
		if (READ_ONCE(hca->failed) || !rdma_dev_access_netns(hca->ca, dev_net(lower)))
			continue;
		rdma_for_each_port(hca->ca, i) {
			*port = i;
			if (ipoib_roce_is_port_of(hca->ca, i, lower))
				return hca;
		}
	}
	return NULL;
}

/**
 * ipoib_hca_link - create an interface on a RoCE port
 * @dev: net_device made with ipoib_link_ops.setup, freed by the caller after a failure; its MTU is
 *	the requested one, or 0
 * @lower: net_device of the port, or a VLAN on it
 * @connected: start in connected mode
 * @extack: for the cause of a failure
 *
 * The interface has no carrier until the GID table of the port has a suitable GID of @lower. It
 * uses QPs of the HCA, which root of a user namespace may do with rights over the RDMA device only.
 *
 * Context: RTNL held
 * Return: 0; -ENODEV if there is no such port; -EPERM; -EEXIST if @lower has an interface; or a
 * negative error of ipoib_dev_add()
 */
int ipoib_hca_link(struct net_device *dev, struct net_device *lower, bool connected,
		   struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct ipoib_hca *hca;

	hca = ipoib_hca_find_below(lower, &priv->port);
	if (!hca) {
		IPOIB_SET_ERR_MSG_FMT(extack, "no RoCE port has a GID of that interface",
				      "no RoCE port has a GID of %s", lower->name);
		return -ENODEV;
	}
	if (!ipoib_hca_capable(hca->ca)) {
		NL_SET_ERR_MSG(extack, "not permitted in the namespace of the RDMA device");
		return -EPERM;
	}
	if (ipoib_hca_find_on(lower)) {
		IPOIB_SET_ERR_MSG_FMT(extack, "there is an IPoIB interface on that interface",
				      "there is an IPoIB interface on %s", lower->name);
		return -EEXIST;
	}
	priv->hca = hca;
	priv->lower = lower;
	return ipoib_dev_add(priv, connected, extack);
}

#endif

static void ipoib_event(struct ipoib_dev *priv, const struct ib_event *event)
{
	/* For all ports. Some HCAs raise no other event before their removal. */
	if (event->event == IB_EVENT_DEVICE_FATAL) {
		if (!test_and_set_bit(IPOIB_FLAG_DEAD, &priv->flags)) {
			netdev_err(priv->netdev, "the HCA has failed\n");
			ipoib_ctl_post(priv, IPOIB_CTL_LINK);
		}
		return;
	}
	/* For all ports: the speed of bonded ports depends on each other. */
	if (ipoib_event_is_speed(event->event))
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
	if (priv->port != event->element.port_num)
		return;
	priv->fabric->event(priv, event->event);
	/* Connections keep the old LID; paths are stale already. */
	if (event->event == IB_EVENT_LID_CHANGE && ipoib_has_cm(priv))
		ipoib_cm_flush(priv);
}

/* An asynchronous event of an HCA. Does not sleep. */
static void ipoib_event_handler(struct ib_event_handler *handler, struct ib_event *event)
{
	struct ipoib_hca *hca = container_of(handler, struct ipoib_hca, handler);
	struct ipoib_dev *priv;

	if (event->event == IB_EVENT_DEVICE_FATAL)
		WRITE_ONCE(hca->failed, true);
	rcu_read_lock();
	list_for_each_entry_rcu(priv, &hca->devs, list)
		ipoib_event(priv, event);
	rcu_read_unlock();
}

static int ipoib_client_add(struct ib_device *ca)
{
	struct ipoib_hca *hca = kzalloc(sizeof(*hca), GFP_KERNEL);
	u32 port;

	if (!hca) {
		/* The core ignores the result. */
		dev_warn(&ca->dev, "no memory for interfaces\n");
		return -ENOMEM;
	}
	hca->ca = ca;
	INIT_LIST_HEAD(&hca->devs);
	INIT_IB_EVENT_HANDLER(&hca->handler, ca, ipoib_event_handler);
	ib_register_event_handler(&hca->handler);
	ib_set_client_data(ca, &ipoib_client, hca);
	rdma_for_each_port(ca, port)
		if (rdma_protocol_ib(ca, port))
			ipoib_hca_add_port(hca, port);
	rtnl_lock();
	list_add_tail_rcu(&hca->list, &ipoib_hcas);
	rtnl_unlock();
	return 0;
}

/* Callback of the RDMA core: waits until all interfaces are freed, then frees @client_data. */
static void ipoib_client_remove(struct ib_device *ca, void *client_data)
{
	struct ipoib_hca *hca = client_data;
	struct ipoib_dev *priv, *tmp;
	LIST_HEAD(head);

	ib_unregister_event_handler(&hca->handler);
	rtnl_lock();
	list_del_rcu(&hca->list);
	/* Children before their parents */
	list_for_each_entry_safe_reverse(priv, tmp, &hca->devs, list)
		ipoib_dev_del(priv, &head);
	unregister_netdevice_many(&head);
	rtnl_unlock();
	/* Includes interfaces that were unregistered before. */
	wait_var_event(&hca->users, !atomic_read(&hca->users));
	kfree_rcu(hca, rcu);
}

static bool ipoib_dev_has_addr(struct net_device *dev, const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	struct in_device *in_dev;

	switch (addr->sa_family) {
	case AF_INET:
		in_dev = __in_dev_get_rcu(dev);
		return in_dev && inet_confirm_addr(dev_net(dev), in_dev, 0, in->sin_addr.s_addr,
						   RT_SCOPE_HOST);
	case AF_INET6:
		/* ipv6.disable=1: no table of addresses */
		return IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled() &&
		       ipv6_chk_addr(dev_net(dev), &in6->sin6_addr, dev, 1);
	default:
		return false;
	}
}

/*
 * RDMA CM: find the interface of a request. Its address may be one that no interface of the link
 * has: of lo, a dummy or a VRF. A single interface with P_Key and GID is that of the request, and
 * the RDMA CM checks the routing table. Returns the net_device with a reference, or NULL.
 */
static struct net_device *
ipoib_client_get_netdev(struct ib_device *ca, u32 port, u16 pkey,
			const union ib_gid *gid, const struct sockaddr *addr, void *client_data)
{
	struct ipoib_hca *hca = client_data;
	struct net_device *master, *dev = NULL;
	struct ipoib_dev *priv;
	unsigned int count = 0;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(priv, &hca->devs, list) {
		if (priv->port != port || READ_ONCE(priv->pkey) != (pkey | IPOIB_PKEY_FULL) ||
		    (gid && memcmp(gid, &priv->local_gid, sizeof(*gid))))
			continue;
		/* A bond has the addresses of its interfaces, a VRF has not. */
		master = netdev_master_upper_dev_get_rcu(priv->netdev);
		dev = master && !netif_is_l3_master(master) ? master : priv->netdev;
		count++;
		found = !addr || ipoib_dev_has_addr(dev, addr);
		if (found)
			break;
	}
	if (!found && count != 1)
		dev = NULL;
	dev_hold(dev);
	rcu_read_unlock();
	return dev;
}

/* The core calls it at registration and for each HCA that comes or goes. */
struct ib_client ipoib_client = {
	.name = "ipoib",
	.add = ipoib_client_add,
	.remove = ipoib_client_remove,
	.get_net_dev_by_params = ipoib_client_get_netdev,
};

