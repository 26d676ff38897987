// SPDX-License-Identifier: GPL-2.0
/*
 * What happens outside: asynchronous events of the HCA, and the control work
 * that does under RTNL what they and others ask for.
 *
 * Handlers only mark things: paths as stale, groups to be tried again, bits
 * in &ipoib_dev.ctl_events. The control work is the only place that restarts
 * the QP or sets carrier and MTU of a running interface, so their order has
 * one home, and no completion or SA callback ever needs RTNL.
 */
#include <linux/rtnetlink.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"

/**
 * ipoib_ctl_post - have the control work do something
 * @priv: the interface
 * @event: IPOIB_CTL_ bit
 *
 * Context: any
 */
void ipoib_ctl_post(struct ipoib_dev *priv, unsigned int event)
{
	set_bit(event, &priv->ctl_events);
	queue_work(system_unbound_wq, &priv->ctl_work);
}

/**
 * struct ipoib_port - what the HCA says of a port
 * @attr: state, LID, MTU
 * @gid: GID of index 0
 * @pkey: entry of the P_Key table
 */
struct ipoib_port {
	struct ib_port_attr attr;
	union ib_gid gid;
	u16 pkey;
};

static int ipoib_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	int err;

	err = ib_query_port(priv->ca, priv->port, &port->attr);
	if (err)
		return err;
	err = rdma_query_gid(priv->ca, priv->port, 0, &port->gid);
	if (err)
		return err;
	return ib_query_pkey(priv->ca, priv->port, priv->pkey_index,
			     &port->pkey);
}

/* Without a link there is no active MTU: the last one stays. */
static unsigned int ipoib_port_mtu(const struct ipoib_dev *priv,
				   const struct ib_port_attr *attr)
{
	if (attr->state < IB_PORT_INIT)
		return priv->port_mtu ?: ipoib_mtu_from_ib(attr->max_mtu);
	return clamp(ipoib_mtu_from_ib(attr->active_mtu), IPOIB_MTU_MIN,
		     ipoib_mtu_from_ib(IB_MTU_4096));
}

static bool ipoib_port_pkey_valid(u16 pkey)
{
	return pkey & ~IPOIB_PKEY_FULL;
}

/* Has anything changed that the running QP or our address depends on? */
static bool ipoib_port_changed(const struct ipoib_dev *priv,
			       const struct ipoib_port *port)
{
	return !ipoib_port_pkey_valid(port->pkey) ||
	       (port->pkey | IPOIB_PKEY_FULL) != priv->pkey ||
	       ipoib_port_mtu(priv, &port->attr) != priv->port_mtu ||
	       memcmp(&port->gid, &priv->local_gid, sizeof(port->gid));
}

static void ipoib_port_take_pkey(struct ipoib_dev *priv, u16 pkey)
{
	if (!ipoib_port_pkey_valid(pkey)) {
		if (test_and_clear_bit(IPOIB_FLAG_PKEY, &priv->flags))
			netdev_warn(priv->netdev,
				    "P_Key table has no valid key at index %u\n",
				    priv->pkey_index);
		return;
	}
	if (!(pkey & IPOIB_PKEY_FULL) && priv->pkey != (pkey | IPOIB_PKEY_FULL))
		netdev_warn(priv->netdev,
			    "port is a limited member of partition %#06x\n",
			    pkey);
	priv->pkey = pkey | IPOIB_PKEY_FULL;
	set_bit(IPOIB_FLAG_PKEY, &priv->flags);
}

static void ipoib_port_take(struct ipoib_dev *priv,
			    const struct ipoib_port *port)
{
	assign_bit(IPOIB_FLAG_PORT_ACTIVE, &priv->flags,
		   port->attr.state == IB_PORT_ACTIVE);
	WRITE_ONCE(priv->local_lid, port->attr.lid);
	priv->max_mtu = max(ipoib_mtu_from_ib(port->attr.max_mtu),
			    IPOIB_MTU_MIN);
	priv->port_mtu = ipoib_port_mtu(priv, &port->attr);
	priv->local_gid = port->gid;
	ipoib_port_take_pkey(priv, port->pkey);
}

/**
 * ipoib_event_port - read state, MTU, LID, GID and P_Key of the port
 * @priv: the interface, before its registration
 *
 * Context: may sleep
 * Return: 0 or negative error of the HCA
 */
int ipoib_event_port(struct ipoib_dev *priv)
{
	struct ipoib_port port;
	int err;

	err = ipoib_port_read(priv, &port);
	if (!err)
		ipoib_port_take(priv, &port);
	return err;
}

/* Look at the port again; what changed may need a restart, or a new name. */
static void ipoib_ctl_port(struct ipoib_dev *priv)
{
	union ib_gid gid = priv->local_gid;
	u16 pkey = priv->pkey;
	struct ipoib_port port;
	int err;

	err = ipoib_port_read(priv, &port);
	if (err) {
		netdev_warn(priv->netdev, "cannot query port: %d\n", err);
		return;
	}
	if (ipoib_port_changed(priv, &port))
		ipoib_dev_down(priv);
	ipoib_port_take(priv, &port);
	if (pkey != priv->pkey || memcmp(&gid, &priv->local_gid, sizeof(gid)))
		ipoib_dev_change_address(priv);
	if (netif_running(priv->netdev) &&
	    test_bit(IPOIB_FLAG_PKEY, &priv->flags) &&
	    !test_bit(IPOIB_FLAG_UP, &priv->flags))
		ipoib_dev_up(priv);
	ipoib_mcast_rejoin(priv);
}

static void ipoib_ctl_restart(struct ipoib_dev *priv)
{
	if (!test_bit(IPOIB_FLAG_UP, &priv->flags))
		return;
	ipoib_dev_down(priv);
	if (ipoib_dev_address_moved(priv))
		ipoib_dev_change_address(priv);
	ipoib_dev_up(priv);
}

/* The administrator's MTU is kept, whatever the link can do now. */
static void ipoib_ctl_mtu(struct ipoib_dev *priv)
{
	unsigned int admin = priv->admin_mtu;
	unsigned int mtu = min(admin, READ_ONCE(priv->mcast_mtu));

	if (priv->netdev->mtu == mtu)
		return;
	dev_set_mtu(priv->netdev, mtu);
	priv->admin_mtu = admin;
}

/* Carrier: the QP runs, the port is active and the broadcast group joined. */
static void ipoib_ctl_link(struct ipoib_dev *priv)
{
	if (test_bit(IPOIB_FLAG_UP, &priv->flags) &&
	    test_bit(IPOIB_FLAG_PORT_ACTIVE, &priv->flags) &&
	    test_bit(IPOIB_FLAG_JOINED, &priv->flags)) {
		ipoib_ctl_mtu(priv);
		netif_carrier_on(priv->netdev);
	} else {
		netif_carrier_off(priv->netdev);
	}
}

/**
 * ipoib_ctl_work - do what has been asked for
 * @work: &ipoib_dev.ctl_work
 *
 * Context: process; takes RTNL
 */
void ipoib_ctl_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(work, struct ipoib_dev, ctl_work);
	unsigned long todo;

	rtnl_lock();
	todo = xchg(&priv->ctl_events, 0);
	if (priv->netdev->reg_state != NETREG_REGISTERED)
		goto unlock;
	if (todo & BIT(IPOIB_CTL_PORT))
		ipoib_ctl_port(priv);
	if (todo & BIT(IPOIB_CTL_RESTART))
		ipoib_ctl_restart(priv);
	else if (todo & BIT(IPOIB_CTL_RECOVER) &&
		 test_bit(IPOIB_FLAG_UP, &priv->flags))
		ipoib_ud_recover(priv);
	ipoib_ctl_link(priv);
unlock:
	rtnl_unlock();
}

static void ipoib_event_dev(struct ipoib_dev *priv, enum ib_event_type event)
{
	switch (event) {
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		ipoib_path_stale(priv);
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_GID_CHANGE:
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
		break;
	default:
		break;
	}
}

/**
 * ipoib_event_handler - asynchronous event of an HCA
 * @handler: in &struct ipoib_hca
 * @event: what happened
 *
 * Context: process
 */
void ipoib_event_handler(struct ib_event_handler *handler,
			 struct ib_event *event)
{
	struct ipoib_hca *hca = container_of(handler, struct ipoib_hca,
					     handler);
	struct ipoib_dev *priv;

	list_for_each_entry(priv, &hca->devs, hca_list)
		if (priv->port == event->element.port_num)
			ipoib_event_dev(priv, event->event);
}
