// SPDX-License-Identifier: GPL-2.0
/*
 * An interface as a whole: creation and removal, up and down, address, MTU and mode.
 *
 * Callers are the entry points of the stack (ipoib_main.c, ipoib_netlink.c, ipoib_sysfs.c), the
 * ib_client (ipoib_client.c) and the control work (ipoib_ctl.c), all under RTNL. The removal
 * completes without RTNL.
 */
#include <linux/rtnetlink.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"

/* Completes the removal of interfaces. */
static struct workqueue_struct *ipoib_dev_wq;

/* ---- address ---- */

/* RFC 4391 section 9.1.1 (U36, U38). */
static void ipoib_dev_set_lladdr(struct ipoib_dev *priv)
{
	struct ipoib_lladdr addr;

	/* Transports that are accepted (RFC 4755 section 3.1, C7) */
	ipoib_lladdr_set(&addr, ipoib_cm_flags(priv), priv->qpn, &priv->local_gid);
	dev_addr_set(priv->netdev, (const u8 *)&addr);
	/*
	 * The permanent address has the GUID of the port. The core copies it once, at registration,
	 * but the prefix of the GID may change.
	 */
	memcpy(&addr.gid[8], &priv->port_guid, sizeof(priv->port_guid));
	memcpy(priv->netdev->perm_addr, &addr, sizeof(addr));
}

/*
 * Set link-layer and broadcast address from GID, QPN and P_Key, RFC 4391 section 4 (U4 to U9). The
 * interface is stopped; RTNL held, or before registration.
 *
 * An administrator sets the scope of the link by the broadcast address (U15), and nothing else of
 * that address. Receiving and the works of groups use the MGID, so it does not change while they
 * run.
 */
static void ipoib_dev_set_address(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;
	const struct ipoib_lladdr *old = (const void *)dev->broadcast;
	const struct ipoib_mgid *mgid = (const void *)old->gid;
	struct ipoib_lladdr addr;

	ipoib_dev_set_lladdr(priv);
	/* A scope that is set stays. */
	ipoib_mgid_broadcast(&priv->broadcast_mgid,
			     mgid->flags_scope & 0xf ?: IPOIB_SCOPE_LINK_LOCAL, priv->pkey);
	ipoib_lladdr_set(&addr, 0, IPOIB_MCAST_QPN, &priv->broadcast_mgid);
	memcpy(dev->broadcast, &addr, sizeof(addr));
}

/*
 * Check whether the stack has set another broadcast address.
 * Context: RTNL held. Return: true if so.
 */
bool ipoib_dev_address_moved(const struct ipoib_dev *priv)
{
	const struct ipoib_lladdr *addr = (const void *)priv->netdev->broadcast;

	return memcmp(addr->gid, &priv->broadcast_mgid, sizeof(addr->gid));
}

/*
 * Apply a change of GID, P_Key or scope to a registered, stopped interface. The stack derives the
 * link-layer addresses of its groups from the broadcast address: it removes them first, and adds
 * them again.
 * Context: RTNL held.
 */
void ipoib_dev_change_address(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;

	ASSERT_RTNL();
	call_netdevice_notifiers(NETDEV_PRE_TYPE_CHANGE, dev);
	ipoib_dev_set_address(priv);
	call_netdevice_notifiers(NETDEV_POST_TYPE_CHANGE, dev);
	call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
}

/* Set the GUID of an administrator; the prefix is that of the subnet. */
static void ipoib_dev_take_guid(struct ipoib_dev *priv, __be64 guid)
{
	/* A GID equal to that of the port follows the port. */
	priv->admin_guid = guid == priv->port_guid ? 0 : guid;
}

/*
 * Set the link-layer address of a stopped interface of an InfiniBand port. Only the GUID of @addr
 * may differ from the present address. The subnet manager assigns further GIDs to a port, such as
 * the alias GUID of a virtual function. A GID that the port lacks is accepted: groups are joined
 * once it is there. Children follow.
 * Context: RTNL held. Return: 0, -EOPNOTSUPP on a RoCE port, or -EINVAL.
 */
int ipoib_dev_set_guid(struct ipoib_dev *priv, const struct ipoib_lladdr *addr)
{
	const struct ipoib_lladdr *old = (const void *)priv->netdev->dev_addr;
	const struct ib_gid_attr *entry;
	struct ipoib_dev *child;
	union ib_gid gid;

	ASSERT_RTNL();
	if (ipoib_has_roce(priv))
		return -EOPNOTSUPP;
	memcpy(&gid, addr->gid, sizeof(gid));
	if (addr->flags_qpn != old->flags_qpn || !gid.global.interface_id ||
	    gid.global.subnet_prefix != priv->local_gid.global.subnet_prefix)
		return -EINVAL;
	entry = rdma_find_gid_by_port(priv->ca, &gid, IB_GID_TYPE_IB, priv->port, NULL);
	if (IS_ERR(entry))
		netdev_warn(priv->netdev, "port %u does not have GID %pI6 yet\n", priv->port, &gid);
	else
		rdma_put_gid_attr(entry);
	ipoib_dev_take_guid(priv, gid.global.interface_id);
	priv->local_gid = gid;
	ipoib_dev_set_lladdr(priv);
	list_for_each_entry(child, &priv->hca->devs, list) {
		if (child->parent != priv)
			continue;
		ipoib_dev_take_guid(child, gid.global.interface_id);
		ipoib_ctl_post(child, IPOIB_CTL_PORT);
	}
	return 0;
}

/* ---- MTU ---- */

/*
 * MTU as requested by the administrator, bounded by mode and link.
 * Context: RTNL held, or before registration. Return: MTU.
 */
unsigned int ipoib_dev_mtu(const struct ipoib_dev *priv)
{
	if (ipoib_cm_is_on(priv))
		return priv->admin_mtu;
	return min(priv->admin_mtu, READ_ONCE(priv->mcast_mtu));
}

/*
 * Adjust the MTU to mode and link. The requested MTU is kept, and applied as soon as mode and link
 * allow it.
 * ipoib_change_mtu() overwrites &ipoib_dev.admin_mtu, so it is restored.
 * Context: RTNL held, without the lock of the net_device.
 * Return: 0, or the error of a notifier that refused.
 */
int ipoib_dev_fit_mtu(struct ipoib_dev *priv)
{
	unsigned int admin = priv->admin_mtu;
	unsigned int mtu = ipoib_dev_mtu(priv);
	int err;

	if (priv->netdev->mtu == mtu)
		return 0;
	err = dev_set_mtu(priv->netdev, mtu);
	priv->admin_mtu = admin;
	return err;
}

/* ---- port ---- */

/* MTU of a port; the previous one while that is unknown */
static unsigned int ipoib_port_mtu(const struct ipoib_dev *priv, const struct ipoib_port *port)
{
	return port->mtu ?: priv->port_mtu ?: port->max_mtu;
}

static bool ipoib_port_pkey_valid(u16 pkey)
{
	return pkey & ~IPOIB_PKEY_FULL;
}

/*
 * Replace the GID of a port by that of the administrator, if there is one.
 * Context: RTNL held, or before registration.
 */
void ipoib_port_choose_gid(struct ipoib_dev *priv, struct ipoib_port *port)
{
	priv->port_guid = port->gid.global.interface_id;
	if (priv->admin_guid)
		port->gid.global.interface_id = priv->admin_guid;
}

/*
 * Check whether attributes of the port require a restart.
 * Context: RTNL held. Return: true if QP or address depend on a changed attribute.
 */
bool ipoib_port_changed(const struct ipoib_dev *priv, const struct ipoib_port *port)
{
	return !ipoib_port_pkey_valid(port->pkey) ||
	       (port->pkey | IPOIB_PKEY_FULL) != priv->pkey ||
	       port->pkey_index != priv->pkey_index ||
	       ipoib_port_mtu(priv, port) != priv->port_mtu ||
	       port->gid_entry != priv->gid_entry ||
	       memcmp(&port->gid, &priv->local_gid, sizeof(port->gid));
}

static void ipoib_port_take_pkey(struct ipoib_dev *priv, const struct ipoib_port *port)
{
	bool limited = !(port->pkey & IPOIB_PKEY_FULL);
	u16 pkey = port->pkey;

	if (!ipoib_port_pkey_valid(pkey)) {
		if (!test_and_clear_bit(IPOIB_FLAG_PKEY, &priv->flags))
			return;
		if (priv->parent)
			netdev_warn(priv->netdev,
				    "P_Key %#06x is not in the table of port %u any more\n",
				    priv->pkey, priv->port);
		else
			netdev_warn(priv->netdev, "P_Key table has no valid key at index %u\n",
				    priv->pkey_index);
		return;
	}
	priv->pkey_index = port->pkey_index;
	/* Also for a running link that keeps its P_Key, with limited membership. */
	if (limited && (!priv->pkey_limited || priv->pkey != (pkey | IPOIB_PKEY_FULL)))
		netdev_warn(priv->netdev, "port is a limited member of partition %#06x\n", pkey);
	priv->pkey_limited = limited;
	WRITE_ONCE(priv->pkey, pkey | IPOIB_PKEY_FULL);
	set_bit(IPOIB_FLAG_PKEY, &priv->flags);
}

/*
 * Apply attributes of the port.
 * Context: RTNL held, or before registration; interface stopped if ipoib_port_changed() was true.
 */
void ipoib_port_take(struct ipoib_dev *priv, const struct ipoib_port *port)
{
	bool lmc_changed;

	assign_bit(IPOIB_FLAG_PORT_ACTIVE, &priv->flags, port->active);
	WRITE_ONCE(priv->local_lid, port->lid);
	lmc_changed = priv->lmc != port->lmc;
	WRITE_ONCE(priv->lmc, port->lmc);
	/* Connections have keys of ports by the old LMC. */
	if (lmc_changed && ipoib_has_cm(priv))
		ipoib_cm_flush(priv);
	priv->max_mtu = port->max_mtu;
	/* The net device of the HCA is made for the MTU of the link. */
	if (priv->rn)
		WRITE_ONCE(priv->rn->mtu, priv->max_mtu);
	WRITE_ONCE(priv->link_mbps, port->mbps);
	WRITE_ONCE(priv->port_mtu, ipoib_port_mtu(priv, port));
	/* The handler compares with it, and is disabled. */
	if (memcmp(&priv->local_gid, &port->gid, sizeof(port->gid)))
		priv->local_gid = port->gid;
	priv->gid_entry = port->gid_entry;
	ipoib_port_take_pkey(priv, port);
}

/* ---- up and down ---- */

/* Undo ipoib_dev_up(), also half of it. Context: RTNL held. */
void ipoib_dev_down(struct ipoib_dev *priv)
{
	ASSERT_RTNL();
	if (!test_and_clear_bit(IPOIB_FLAG_UP, &priv->flags))
		return;
	netif_carrier_off(priv->netdev);
	/* Takes each transmit lock: no sender is left behind it. */
	netif_tx_disable(priv->netdev);
	if (ipoib_has_cm(priv))
		ipoib_cm_stop(priv);
	ipoib_mcast_stop(priv);
	ipoib_neigh_stop(priv);
	/* After the works above, which report MTUs. */
	ipoib_pmtu_stop(priv);
	if (priv->fabric->stop)
		priv->fabric->stop(priv);
	ipoib_ud_stop(priv);
}

/*
 * Start QP, groups and paths. Without a valid P_Key nothing starts: no carrier until an event
 * reports the P_Key (U21).
 * Context: RTNL held. Return: 0, or a negative error with everything stopped.
 */
int ipoib_dev_up(struct ipoib_dev *priv)
{
	int err;

	ASSERT_RTNL();
	if (test_bit(IPOIB_FLAG_DEAD, &priv->flags))
		return -ENODEV;
	ipoib_dev_set_address(priv);
	if (!test_bit(IPOIB_FLAG_PKEY, &priv->flags)) {
		if (priv->parent)
			netdev_warn(priv->netdev, "waiting for P_Key %#06x\n", priv->pkey);
		else
			netdev_warn(priv->netdev, "waiting for a P_Key\n");
		return 0;
	}
	err = ipoib_ud_start(priv);
	if (err) {
		netdev_warn(priv->netdev, "cannot start QP: %d\n", err);
		return err;
	}
	set_bit(IPOIB_FLAG_UP, &priv->flags);
	/*
	 * Wake the queues, not start them: only a wake has the stack send its qdiscs if it has
	 * not noticed the loss of carrier.
	 */
	netif_tx_wake_all_queues(priv->netdev);
	if (priv->fabric->start)
		priv->fabric->start(priv);
	ipoib_neigh_start(priv);
	if (ipoib_has_cm(priv))
		ipoib_cm_start(priv);
	err = ipoib_mcast_start(priv);
	if (err) {
		netdev_warn(priv->netdev, "cannot start groups: %d\n", err);
		ipoib_dev_down(priv);
	}
	return err;
}

/* ---- mode ---- */

/*
 * Switch between datagram and connected mode. Without a request of the administrator the MTU
 * becomes the largest of the mode: 65520 in connected mode, as with the kernel's driver (RFC 4755
 * has 2044, C24), that of the broadcast group in datagram mode. The change is complete on return,
 * or nothing has changed. Connections are taken apart later.
 * Context: RTNL held. Return: 0; -EOPNOTSUPP without connected mode, or the error of a notifier
 * that refused the MTU.
 */
int ipoib_dev_set_mode(struct ipoib_dev *priv, bool on)
{
	bool was = ipoib_cm_is_on(priv);
	int err;

	ASSERT_RTNL();
	err = ipoib_cm_set_on(priv, on);
	if (err) {
		netdev_warn(priv->netdev, "no connected mode on this port\n");
		return err;
	}
	if (on == was)
		return 0;
	err = ipoib_dev_fit_mtu(priv);
	if (err) {
		ipoib_cm_set_on(priv, was);
		return err;
	}
	netdev_lock_ops(priv->netdev);
	netdev_update_features(priv->netdev);
	netdev_unlock_ops(priv->netdev);
	if (on && priv->netdev->mtu > READ_ONCE(priv->mcast_mtu))
		netdev_warn(priv->netdev, "enabling connected mode will cause multicast packet drops\n");
	if (on && priv->admin_mtu < IPOIB_MTU_MAX)
		netdev_info(priv->netdev, "MTU stays %u as it was set; connected mode takes up to %u\n",
			    priv->admin_mtu, IPOIB_MTU_MAX);
	return 0;
}

/*
 * Set cm_transport, see ipoib_cm_transport_set(). Neighbours see it in the flags of the address.
 * Context: RTNL held. Return: 0 or a negative error, see ipoib_cm_transport_set().
 */
int ipoib_dev_set_transport(struct ipoib_dev *priv, const char *word)
{
	u8 was = ipoib_cm_flags(priv);
	int err;

	err = ipoib_has_cm(priv) ? ipoib_cm_transport_set(priv, word) : -EOPNOTSUPP;
	if (err || was == ipoib_cm_flags(priv))
		return err;
	ipoib_dev_set_lladdr(priv);
	call_netdevice_notifiers(NETDEV_CHANGEADDR, priv->netdev);
	return 0;
}

/* ---- creation and removal ---- */

/*
 * Prepare for a change of the address of the Ethernet port: the interface goes down, and releases
 * its entries of the GID table.
 * Context: RTNL held.
 */
void ipoib_dev_port_change(struct ipoib_dev *priv)
{
	ipoib_dev_down(priv);
	if (ipoib_has_cm(priv))
		ipoib_cm_abort_wait(priv);
}

static int ipoib_dev_init_tables(struct ipoib_dev *priv)
{
	int err = -ENOMEM;

	priv->wq = alloc_ordered_workqueue("ipoib_wq", WQ_MEM_RECLAIM);
	if (!priv->wq)
		return err;
	priv->stats = netdev_alloc_pcpu_stats(struct ipoib_pcpu_stats);
	if (!priv->stats)
		goto destroy_wq;
	ipoib_police_init(&priv->police);
	err = ipoib_neigh_init(priv);
	if (err)
		goto free_stats;
	err = ipoib_mcast_init(priv);
	if (err)
		goto exit_path;
	return 0;

exit_path:
	ipoib_neigh_exit(priv);
free_stats:
	free_percpu(priv->stats);
destroy_wq:
	destroy_workqueue(priv->wq);
	return err;
}

static void ipoib_dev_exit_tables(struct ipoib_dev *priv)
{
	ipoib_mcast_exit(priv);
	ipoib_neigh_exit(priv);
	free_percpu(priv->stats);
	destroy_workqueue(priv->wq);
}

/* Create all parts of an interface, before registration; all or none. */
static int ipoib_dev_init(struct ipoib_dev *priv)
{
	struct ipoib_port port = {};
	int err;

	refcount_set(&priv->queries, 1);
	init_completion(&priv->queries_done);
	spin_lock_init(&priv->ah.lock);
	INIT_LIST_HEAD(&priv->ah.dead);
	INIT_DELAYED_WORK(&priv->ah.work, ipoib_ah_reap);
	INIT_DELAYED_WORK(&priv->ctl.work, ipoib_ctl_work);
	ipoib_pmtu_init(priv);
	err = ipoib_dev_init_tables(priv);
	if (err)
		return err;
	err = priv->fabric->init(priv);
	if (err)
		goto exit_tables;
	err = priv->fabric->port_read(priv, &port);
	if (err)
		goto exit_fabric;
	ipoib_port_choose_gid(priv, &port);
	ipoib_port_take(priv, &port);
	err = ipoib_ud_init(priv);
	if (err)
		goto exit_fabric;
	err = IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM) ? ipoib_cm_init(priv) : 0;
	if (err)
		goto exit_ud;
	priv->mcast_mtu = priv->port_mtu;
	priv->admin_mtu = IPOIB_MTU_MAX;
	priv->netdev->mtu = priv->mcast_mtu;
	ipoib_dev_set_address(priv);
	return 0;

exit_ud:
	ipoib_ud_exit(priv);
exit_fabric:
	priv->fabric->exit(priv);
exit_tables:
	ipoib_dev_exit_tables(priv);
	return err;
}

/* Undo ipoib_dev_init(), of an interface without children; without RTNL if it was registered. */
static void ipoib_dev_exit(struct ipoib_dev *priv)
{
	/* Nothing can be posted any more. */
	cancel_delayed_work_sync(&priv->ctl.work);
	ipoib_dev_put_query(priv);
	wait_for_completion(&priv->queries_done);
	if (ipoib_has_cm(priv))
		ipoib_cm_exit(priv);
	ipoib_ud_exit(priv);
	/* Events of the QP may have posted it until the QP was destroyed. */
	cancel_delayed_work_sync(&priv->ctl.work);
	/* Last: works of connections use it. */
	priv->fabric->exit(priv);
	ipoib_dev_exit_tables(priv);
}

/* Attributes for the registration, after ipoib_dev_init() */
static void ipoib_dev_setup(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;

	dev->rtnl_link_ops = &ipoib_link_ops;
	dev->sysfs_groups[0] = &ipoib_sysfs_port_group;
	if (ipoib_has_roce(priv))
		dev->sysfs_groups[0] = &ipoib_sysfs_roce_group;
	if (priv->parent)
		dev->sysfs_groups[0] = &ipoib_sysfs_child_group;
	dev->features |= NETIF_F_SG | NETIF_F_HIGHDMA;
	dev->features |= ipoib_ud_features(priv);
	/*
	 * The HCA makes as many as there are; of other frames ipoib_features_check() has the limit.
	 */
	if (priv->txq->max_segs > 1 && !priv->txq->hca_cuts)
		netif_set_tso_max_segs(dev, priv->txq->max_segs);
	dev->hw_features |= dev->features;
	dev->features |= NETIF_F_VLAN_CHALLENGED;
	/* One until `ethtool -L`. The HCA's own net device has set its number. */
	if (!priv->rn)
		netif_set_real_num_queues(dev, 1, 1);
	/* An interface that was created by rtnetlink is virtual, without dev_id and dev_port. */
	if (priv->lower)
		return;
	dev->dev_port = priv->port - 1;
	dev->dev_id = priv->port - 1;
	SET_NETDEV_DEV(dev, priv->ca->dev.parent);
}

/* Work that frees an unregistered interface. Context: process, without RTNL. */
static void ipoib_dev_free(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev, free_work);
	struct ipoib_dev *parent = priv->parent;
	atomic_t *users = &priv->hca->users;

	ipoib_dev_exit(priv);
	ipoib_rn_free(priv);
	/* Parent and HCA may go now. */
	if (parent)
		ipoib_dev_put_query(parent);
	else if (atomic_dec_and_test(users))
		wake_up_var(users);
}

/*
 * Last user of an unregistered interface. ipoib_dev_exit() waits for the control work, which may be
 * the caller of this: so it runs in a work.
 */
static void ipoib_dev_gone(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	queue_work(ipoib_dev_wq, &priv->free_work);
}

/**
 * ipoib_dev_add - create and register an interface
 * @priv: the interface, of a net_device made with ipoib_link_ops.setup; its MTU is the requested
 *	one, or 0. &ipoib_dev.hca and @port are set, @lower on RoCE, @parent and @pkey of a child
 * @connected: start in connected mode
 * @extack: for the cause of a failure, or NULL
 *
 * Context: RTNL held
 * Return: 0; -EOPNOTSUPP without connected mode; -EINVAL if the port does not allow the MTU; or
 * another negative error, and the caller frees the net_device
 */
int ipoib_dev_add(struct ipoib_dev *priv, bool connected, struct netlink_ext_ack *extack)
{
	struct net_device *dev = priv->netdev;
	unsigned int mtu = dev->mtu;
	int err;

	ASSERT_RTNL();
	priv->ca = priv->hca->ca;
	priv->fabric = &ipoib_sa_ops;
	if (IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE) && !rdma_protocol_ib(priv->ca, priv->port))
		priv->fabric = &ipoib_roce_ops;
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
	if (priv->rn)
		netdev_info(dev, "sends by the HCA's own net device (ipoib_enhanced=0: by verbs)\n");
	if (!priv->ca->ops.attach_mcast)
		netdev_warn(dev, "the HCA has no multicast: there will be no carrier\n");
	if (priv->parent)
		ipoib_dev_get_query(priv->parent);
	else
		atomic_inc(&priv->hca->users);
	INIT_WORK(&priv->free_work, ipoib_dev_free);
	dev->priv_destructor = ipoib_dev_gone;
	list_add_tail_rcu(&priv->list, &priv->hca->devs);
	/* Events before the listing were missed. */
	ipoib_ctl_post(priv, IPOIB_CTL_PORT);
	return 0;

exit:
	/* The control work needs RTNL, and was not posted before the listing. */
	ipoib_dev_exit(priv);
	return err;
}

/**
 * ipoib_dev_add_child - create an interface on the port of another, for a partition
 * @parent: the interface of an InfiniBand port; QP, groups, paths and connections are not shared
 * @dev: net_device made with ipoib_link_ops.setup, freed by the caller after a failure; its MTU is
 *	the requested one, or 0
 * @pkey: P_Key, which the port may lack
 * @connected: start in connected mode
 * @extack: for the cause of a failure, or NULL
 *
 * Context: RTNL held
 * Return: 0; -ENODEV if the HCA has failed; or a negative error of ipoib_dev_add()
 */
int ipoib_dev_add_child(struct ipoib_dev *parent, struct net_device *dev, u16 pkey,
			bool connected, struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	ASSERT_RTNL();
	if (test_bit(IPOIB_FLAG_DEAD, &parent->flags)) {
		NL_SET_ERR_MSG(extack, "the HCA has failed");
		return -ENODEV;
	}
	priv->hca = parent->hca;
	priv->port = parent->port;
	priv->parent = parent;
	priv->lower = parent->netdev;
	priv->pkey = pkey | IPOIB_PKEY_FULL;
	priv->admin_guid = parent->admin_guid;
	/* The core does not take such an address for the permanent one. */
	if (priv->admin_guid)
		dev->addr_assign_type = NET_ADDR_SET;
	return ipoib_dev_add(priv, connected, extack);
}

/*
 * Unregister an interface without children. @head is a list for unregister_netdevice_many(), or
 * NULL to unregister at once.
 * Context: RTNL held; the removal completes after its release.
 */
void ipoib_dev_del(struct ipoib_dev *priv, struct list_head *head)
{
	ASSERT_RTNL();
	list_del_rcu(&priv->list);
	unregister_netdevice_queue(priv->netdev, head);
}

/* Create the workqueue of removals. Returns 0 or -ENOMEM. Context: process. */
int ipoib_dev_register(void)
{
	ipoib_dev_wq = alloc_workqueue("ipoib_dev", WQ_UNBOUND, 0);
	return ipoib_dev_wq ? 0 : -ENOMEM;
}

/* Wait for the last removal. No interface is registered. Context: process, without RTNL. */
void ipoib_dev_unregister(void)
{
	destroy_workqueue(ipoib_dev_wq);
}

