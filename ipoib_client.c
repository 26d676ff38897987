// SPDX-License-Identifier: GPL-2.0
/*
 * HCAs and their ports: which of them have an interface.
 *
 * The IB core announces each HCA; each of its InfiniBand ports gets an interface,
 * and so does each RoCE port that the module parameter selects, one for each VLAN
 * named there. One mutex covers all lists of interfaces: HCAs come and go, and the
 * parameter may be written, at any time.
 */
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>

#include "ipoib.h"

/**
 * struct ipoib_hca - an HCA and its interfaces
 * @ca: the HCA
 * @list: in the list of all of them
 * @handler: of its asynchronous events
 * @devs: &struct ipoib_dev, read under RCU, changed under
 *	ipoib_hca_lock
 */
struct ipoib_hca {
	struct ib_device *ca;
	struct list_head list;
	struct ib_event_handler handler;
	struct list_head devs;
};

static struct ib_client ipoib_client;

/* HCAs and their interfaces. See "Locking and lifetime" in ipoib.h. */
static DEFINE_MUTEX(ipoib_hca_lock);
static LIST_HEAD(ipoib_hcas);

static void ipoib_hca_drop(struct ipoib_dev *priv)
{
	lockdep_assert_held(&ipoib_hca_lock);
	/* Who still finds it is done before the net_device is unregistered. */
	list_del_rcu(&priv->hca_list);
	ipoib_child_unregister_all(priv);
	ipoib_dev_destroy(priv);
}

static bool ipoib_port_is_roce(struct ib_device *ca, u32 port)
{
	return rdma_protocol_roce_udp_encap(ca, port);
}

/* Is an interface wanted on this port, for this VLAN? */
static bool ipoib_port_wanted(struct ib_device *ca, u32 port, u16 vid)
{
	unsigned int pos = 0;
	int next;

	if (rdma_protocol_ib(ca, port))
		return true;
	while ((next = ipoib_roce_next_vid(ca, &pos)) >= 0)
		if (next == vid)
			return true;
	return false;
}

static void ipoib_hca_add(struct ipoib_hca *hca, u32 port, u16 vid)
{
	struct ipoib_dev *priv, *child;

	list_for_each_entry(priv, &hca->devs, hca_list)
		if (priv->port == port && priv->vid == vid)
			return;
	priv = ipoib_dev_create(hca->ca, port, vid);
	if (IS_ERR(priv))
		return;
	list_add_tail_rcu(&priv->hca_list, &hca->devs);
	/* An event may have come before it, and with it its children, was in the list. */
	ipoib_ctl_post(priv, IPOIB_CTL_PORT);
	rcu_read_lock();
	list_for_each_entry_rcu(child, &priv->children, child_list)
		ipoib_ctl_post(child, IPOIB_CTL_PORT);
	rcu_read_unlock();
}

static void ipoib_hca_add_port(struct ipoib_hca *hca, u32 port)
{
	unsigned int pos = 0;
	int vid;

	if (rdma_protocol_ib(hca->ca, port)) {
		ipoib_hca_add(hca, port, 0);
		return;
	}
	if (!ipoib_port_is_roce(hca->ca, port))
		return;
	while ((vid = ipoib_roce_next_vid(hca->ca, &pos)) >= 0)
		ipoib_hca_add(hca, port, vid);
}

/* Make the interfaces of an HCA those that are wanted. */
static void ipoib_hca_update(struct ipoib_hca *hca)
{
	struct ipoib_dev *priv, *tmp;
	u32 port;

	lockdep_assert_held(&ipoib_hca_lock);
	list_for_each_entry_safe(priv, tmp, &hca->devs, hca_list)
		if (!ipoib_port_wanted(hca->ca, priv->port, priv->vid))
			ipoib_hca_drop(priv);
	rdma_for_each_port(hca->ca, port)
		ipoib_hca_add_port(hca, port);
}

/* Which ports are wanted has changed. */
static void ipoib_hca_update_all(void)
{
	struct ipoib_hca *hca;

	mutex_lock(&ipoib_hca_lock);
	list_for_each_entry(hca, &ipoib_hcas, list)
		ipoib_hca_update(hca);
	mutex_unlock(&ipoib_hca_lock);
}

static bool ipoib_hca_is_ours(struct ib_device *ca)
{
	u32 port;

	rdma_for_each_port(ca, port)
		if (rdma_protocol_ib(ca, port) || ipoib_port_is_roce(ca, port))
			return true;
	return false;
}

/* Raised for no port in particular. Some HCAs raise nothing else before they go. */
static void ipoib_event_fatal(struct ipoib_dev *priv)
{
	if (test_and_set_bit(IPOIB_FLAG_DEAD, &priv->flags))
		return;
	netdev_err(priv->netdev, "the HCA has failed\n");
	ipoib_ctl_post(priv, IPOIB_CTL_LINK);
}

static void ipoib_event(struct ipoib_dev *priv, const struct ib_event *event)
{
	if (event->event == IB_EVENT_DEVICE_FATAL) {
		ipoib_event_fatal(priv);
		return;
	}
	if (priv->port != event->element.port_num)
		return;
	priv->fabric->event(priv, event->event);
	/* Connections keep the LID they were made with; paths are stale by now. */
	if (event->event == IB_EVENT_LID_CHANGE)
		ipoib_cm_flush(priv);
}

/* An asynchronous event of an HCA. Handlers only mark things. */
static void ipoib_event_handler(struct ib_event_handler *handler,
				struct ib_event *event)
{
	struct ipoib_hca *hca = container_of(handler, struct ipoib_hca,
					     handler);
	struct ipoib_dev *priv, *child;

	rcu_read_lock();
	list_for_each_entry_rcu(priv, &hca->devs, hca_list) {
		ipoib_event(priv, event);
		list_for_each_entry_rcu(child, &priv->children, child_list)
			ipoib_event(child, event);
	}
	rcu_read_unlock();
}

static int ipoib_client_add(struct ib_device *ca)
{
	struct ipoib_hca *hca;

	if (!ipoib_hca_is_ours(ca))
		return -EOPNOTSUPP;
	hca = kzalloc(sizeof(*hca), GFP_KERNEL);
	if (!hca)
		goto no_interfaces;
	hca->ca = ca;
	INIT_LIST_HEAD(&hca->devs);
	INIT_IB_EVENT_HANDLER(&hca->handler, ca, ipoib_event_handler);
	ib_register_event_handler(&hca->handler);
	ib_set_client_data(ca, &ipoib_client, hca);
	mutex_lock(&ipoib_hca_lock);
	list_add_tail(&hca->list, &ipoib_hcas);
	ipoib_hca_update(hca);
	mutex_unlock(&ipoib_hca_lock);
	return 0;

no_interfaces:
	/* The core ignores the result. */
	dev_warn(&ca->dev, "no memory for interfaces\n");
	return -ENOMEM;
}

static void ipoib_client_remove(struct ib_device *ca, void *client_data)
{
	struct ipoib_hca *hca = client_data;
	struct ipoib_dev *priv, *tmp;

	/* Not under the mutex: it waits for the handler. */
	ib_unregister_event_handler(&hca->handler);
	mutex_lock(&ipoib_hca_lock);
	list_del(&hca->list);
	list_for_each_entry_safe(priv, tmp, &hca->devs, hca_list)
		ipoib_hca_drop(priv);
	mutex_unlock(&ipoib_hca_lock);
	kfree(hca);
}

/* Which RoCE ports are wanted is said by name. */
static void ipoib_client_rename(struct ib_device *ca, void *client_data)
{
	struct ipoib_hca *hca = client_data;

	mutex_lock(&ipoib_hca_lock);
	ipoib_hca_update(hca);
	mutex_unlock(&ipoib_hca_lock);
}

static bool ipoib_dev_has_addr(struct net_device *dev,
			       const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	struct in_device *in_dev;

	switch (addr->sa_family) {
	case AF_INET:
		in_dev = __in_dev_get_rcu(dev);
		return in_dev && inet_confirm_addr(dev_net(dev), in_dev, 0,
						   in->sin_addr.s_addr,
						   RT_SCOPE_HOST);
	case AF_INET6:
		/* With ipv6.disable=1 it has no table of addresses. */
		return IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled() &&
		       ipv6_chk_addr(dev_net(dev), &in6->sin6_addr, dev, 1);
	default:
		return false;
	}
}

/* The interface itself, or the bond above it, but not a VRF. */
static struct net_device *ipoib_dev_with_addr(struct net_device *dev)
{
	struct net_device *master = netdev_master_upper_dev_get_rcu(dev);

	return master && !netif_is_l3_master(master) ? master : dev;
}

/**
 * struct ipoib_match - looking for the interface that a request of the RDMA CM is for
 * @pkey: P_Key, with or without bit 15
 * @gid: GID of the port, NULL: any
 * @addr: IP address that it is sent to, NULL: any
 * @dev: an interface with P_Key and GID
 * @count: how many there are
 */
struct ipoib_match {
	u16 pkey;
	const union ib_gid *gid;
	const struct sockaddr *addr;
	struct net_device *dev;
	unsigned int count;
};

/* Whether it has the address, too: then it is the one. */
static bool ipoib_match_dev(struct ipoib_match *match,
			    const struct ipoib_dev *priv)
{
	if (READ_ONCE(priv->pkey) != (match->pkey | IPOIB_PKEY_FULL) ||
	    (match->gid && memcmp(match->gid, &priv->local_gid,
				  sizeof(*match->gid))))
		return false;
	match->dev = ipoib_dev_with_addr(priv->netdev);
	match->count++;
	return !match->addr || ipoib_dev_has_addr(match->dev, match->addr);
}

static bool ipoib_match_port(struct ipoib_match *match,
			     const struct ipoib_dev *priv)
{
	const struct ipoib_dev *child;

	if (ipoib_match_dev(match, priv))
		return true;
	list_for_each_entry_rcu(child, &priv->children, child_list)
		if (ipoib_match_dev(match, child))
			return true;
	return false;
}

/*
 * A node can be asked for an address that no interface of the link has: one of lo, a
 * dummy or a VRF. If just one interface has P_Key and GID, the request came by that. The
 * RDMA CM asks the routing table whether it may have.
 */
static struct net_device *
ipoib_client_get_netdev(struct ib_device *ca, u32 port, u16 pkey,
			const union ib_gid *gid, const struct sockaddr *addr,
			void *client_data)
{
	struct ipoib_match match = { .pkey = pkey, .gid = gid, .addr = addr };
	struct ipoib_hca *hca = client_data;
	struct net_device *dev = NULL;
	const struct ipoib_dev *priv;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(priv, &hca->devs, hca_list) {
		found = priv->port == port && ipoib_match_port(&match, priv);
		if (found)
			break;
	}
	if (found || match.count == 1)
		dev = match.dev;
	dev_hold(dev);
	rcu_read_unlock();
	return dev;
}

static struct ib_client ipoib_client = {
	.name = "ipoib",
	.add = ipoib_client_add,
	.remove = ipoib_client_remove,
	.rename = ipoib_client_rename,
	.get_net_dev_by_params = ipoib_client_get_netdev,
};

/**
 * ipoib_hca_register - make interfaces, now and whenever an HCA comes
 *
 * Context: process, without RTNL
 * Return: 0 or a negative error
 */
int ipoib_hca_register(void)
{
	ipoib_roce_watch_param(ipoib_hca_update_all);
	return ib_register_client(&ipoib_client);
}

/**
 * ipoib_hca_unregister - remove all interfaces
 *
 * Context: process, without RTNL
 */
void ipoib_hca_unregister(void)
{
	ib_unregister_client(&ipoib_client);
}
