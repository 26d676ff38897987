// SPDX-License-Identifier: GPL-2.0
/*
 * Control work: all that needs RTNL and is requested in other contexts, by bits of
 * &ipoib_ctl.events. It alone restarts a failed QP, and sets carrier and MTU of a running
 * interface, so their order is in one place, and no completion or answer of the fabric needs RTNL.
 * The work holds RTNL except in ipoib_ctl_read().
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"

/* Least jiffies between resets of the QP */
#define IPOIB_RESTART_PAUSE	(HZ / 10)

/* ---- control work ---- */

/* The net device of the HCA may require its lock when it is opened and stopped. */
static void ipoib_ctl_down(struct ipoib_dev *priv)
{
	netdev_lock_ops(priv->netdev);
	ipoib_dev_down(priv);
	netdev_unlock_ops(priv->netdev);
}

/*
 * Start a running interface. The stack has groups with addresses of the scope at that time, and the
 * link may have another scope by now.
 */
static int ipoib_ctl_up(struct ipoib_dev *priv)
{
	int err;

	if (ipoib_dev_address_moved(priv))
		ipoib_dev_change_address(priv);
	netdev_lock_ops(priv->netdev);
	err = ipoib_dev_up(priv);
	netdev_unlock_ops(priv->netdev);
	return err;
}

/* Apply attributes of the port; a change may need a restart, or a new address. */
static int ipoib_ctl_port(struct ipoib_dev *priv, const struct ipoib_port *port)
{
	bool gid_changed = memcmp(&priv->local_gid, &port->gid, sizeof(port->gid));
	u16 pkey = priv->pkey;
	int err = 0;

	if (ipoib_port_changed(priv, port))
		ipoib_ctl_down(priv);
	ipoib_port_take(priv, port);
	if (gid_changed && netif_running(priv->netdev))
		set_bit(IPOIB_FLAG_ANNOUNCE, &priv->flags);
	if (gid_changed || pkey != priv->pkey)
		ipoib_dev_change_address(priv);
	if (netif_running(priv->netdev) &&
	    test_bit(IPOIB_FLAG_PKEY, &priv->flags) &&
	    !test_bit(IPOIB_FLAG_UP, &priv->flags))
		err = ipoib_ctl_up(priv);
	ipoib_mcast_rejoin(priv);
	return err;
}

/*
 * Read attributes of the port: before RTNL, see port_read(). Returns 0; a positive number if they
 * are not needed; or a negative error.
 */
static int ipoib_ctl_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	int err;

	if (test_bit(IPOIB_FLAG_DEAD, &priv->flags) ||
	    test_bit(IPOIB_CTL_DELETE, &priv->ctl.events) ||
	    !test_and_clear_bit(IPOIB_CTL_PORT, &priv->ctl.events))
		return 1;
	err = priv->fabric->port_read(priv, port);
	if (err) {
		set_bit(IPOIB_CTL_PORT, &priv->ctl.events);
		if (!priv->ctl.failures)
			netdev_warn(priv->netdev, "cannot query port: %d\n", err);
	}
	return err;
}

/*
 * Reset a failed QP alone: it stays attached to its groups, and memberships, paths and connections
 * last. The pause limits the time with RTNL held if each frame causes a failure.
 */
static int ipoib_ctl_restart(struct ipoib_dev *priv)
{
	unsigned long since = jiffies - priv->ctl.restarted;
	int err;

	if (!test_bit(IPOIB_FLAG_UP, &priv->flags))
		return 0;
	if (since < IPOIB_RESTART_PAUSE) {
		ipoib_ctl_post_later(priv, IPOIB_CTL_RESTART, IPOIB_RESTART_PAUSE - since);
		return 0;
	}
	priv->ctl.restarted = jiffies;
	if (!ipoib_dev_address_moved(priv)) {
		netdev_lock_ops(priv->netdev);
		err = ipoib_ud_restart(priv);
		netdev_unlock_ops(priv->netdev);
		if (!err)
			return 0;
	}
	ipoib_ctl_down(priv);
	return ipoib_ctl_up(priv);
}

/* Adjust the MTU to mode and link, and the buffers of the HCA's net device to the link. */
static int ipoib_ctl_mtu(struct ipoib_dev *priv)
{
	int err, fit;

	netdev_lock_ops(priv->netdev);
	err = ipoib_rn_set_mtu(priv, READ_ONCE(priv->mcast_mtu));
	netdev_unlock_ops(priv->netdev);
	/* Buffers that are too large, as the change failed, take shorter frames. */
	fit = ipoib_dev_fit_mtu(priv);
	return err ?: fit;
}

/* Carrier: the QP runs, the port is active and the broadcast group joined. */
static int ipoib_ctl_link(struct ipoib_dev *priv)
{
	int err = 0;

	if (test_bit(IPOIB_FLAG_UP, &priv->flags) &&
	    test_bit(IPOIB_FLAG_PORT_ACTIVE, &priv->flags) &&
	    test_bit(IPOIB_FLAG_JOINED, &priv->flags)) {
		err = ipoib_ctl_mtu(priv);
		if (err && !priv->ctl.failures)
			netdev_warn(priv->netdev, "cannot change the MTU: %d\n", err);
		netif_carrier_on(priv->netdev);
	} else {
		netif_carrier_off(priv->netdev);
	}
	return err;
}

/* @port: new attributes, or NULL */
static int ipoib_ctl_do(struct ipoib_dev *priv, const struct ipoib_port *port)
{
	bool restart, recover;
	int err = 0, err_link, err_listen;

	/*
	 * An HCA that has failed answers and completes nothing: release its objects now. Its
	 * driver decides whether a new one comes.
	 */
	if (test_bit(IPOIB_FLAG_DEAD, &priv->flags)) {
		priv->ctl.events = 0;
		ipoib_ctl_down(priv);
		return 0;
	}
	clear_bit(IPOIB_CTL_LINK, &priv->ctl.events);
	restart = test_and_clear_bit(IPOIB_CTL_RESTART, &priv->ctl.events);
	recover = test_and_clear_bit(IPOIB_CTL_RECOVER, &priv->ctl.events);
	if (port)
		err = ipoib_ctl_port(priv, port);
	if (restart)
		err = ipoib_ctl_restart(priv) ?: err;
	else if (recover && test_bit(IPOIB_FLAG_UP, &priv->flags))
		ipoib_ud_recover(priv);
	/* IPOIB_CTL_PORT includes the other events. */
	if (err)
		set_bit(IPOIB_CTL_PORT, &priv->ctl.events);
	err_link = ipoib_ctl_link(priv);
	err_listen = ipoib_has_cm(priv) ? ipoib_cm_listen(priv) : 0;
	return err ?: err_link ?: err_listen;
}

/* Control work: handle the events of &ipoib_ctl.events. Context: process; takes RTNL. */
void ipoib_ctl_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work), struct ipoib_dev, ctl.work);
	struct ipoib_port port = {};
	int err, err_do;

	/* An interface whose registration failed is taken apart with RTNL held. */
	if (priv->netdev->reg_state != NETREG_REGISTERED)
		return;
	err = ipoib_ctl_read(priv, &port);
	rtnl_lock();
	if (priv->netdev->reg_state != NETREG_REGISTERED)
		goto unlock;
	if (test_bit(IPOIB_CTL_DELETE, &priv->ctl.events)) {
		ipoib_dev_del(priv, NULL);
		goto unlock;
	}
	if (!err)
		ipoib_port_choose_gid(priv, &port);
	err_do = ipoib_ctl_do(priv, err ? NULL : &port);
	if (err >= 0 && !err_do) {
		priv->ctl.failures = 0;
		goto unlock;
	}
	/* A failure, most likely for lack of memory, is tried again without an event. */
	queue_delayed_work(system_unbound_wq, &priv->ctl.work,
			   ipoib_backoff_fast(priv->ctl.failures++));
unlock:
	/* Waits for the users of an unregistered child. */
	rtnl_unlock();
}
