// SPDX-License-Identifier: GPL-2.0
/* Tests of an interface as a whole: up and down, port, modes, addresses, creation, removal */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib_suites.h"

/* Functions and objects of the driver, which other suites define, too */
#define ipoib_dev_add			devs_dev_add
#define ipoib_dev_add_child		devs_dev_add_child
#define ipoib_dev_del			devs_dev_del
#define ipoib_dev_register		devs_dev_register
#define ipoib_dev_unregister		devs_dev_unregister
#define ipoib_dev_mtu			devs_dev_mtu
#define ipoib_dev_up			devs_dev_up
#define ipoib_dev_down			devs_dev_down
#define ipoib_dev_port_change		devs_dev_port_change
#define ipoib_dev_address_moved		devs_dev_address_moved
#define ipoib_dev_change_address	devs_dev_change_address
#define ipoib_dev_set_guid		devs_dev_set_guid
#define ipoib_dev_set_mode		devs_dev_set_mode
#define ipoib_dev_set_transport		devs_dev_set_transport
#define ipoib_dev_fit_mtu		devs_dev_fit_mtu
#define ipoib_port_choose_gid		devs_port_choose_gid
#define ipoib_port_changed		devs_port_changed
#define ipoib_port_take			devs_port_take
#define ipoib_link_ops			devs_link_ops
#define ipoib_sysfs_port_group		devs_sysfs_port_group
#define ipoib_sysfs_roce_group		devs_sysfs_roce_group
#define ipoib_sysfs_child_group		devs_sysfs_child_group
#define ipoib_sa_ops			devs_sa_ops
#define ipoib_roce_ops			devs_roce_ops
#define ipoib_cm_flags			devs_cm_flags
#define ipoib_cm_set_on			devs_cm_set_on
#define ipoib_cm_init			devs_cm_init
#define ipoib_cm_exit			devs_cm_exit
#define ipoib_cm_start			devs_cm_start
#define ipoib_cm_stop			devs_cm_stop
#define ipoib_cm_flush			devs_cm_flush
#define ipoib_cm_abort_wait		devs_cm_abort_wait
#define ipoib_cm_transport_set		devs_cm_transport_set
#define ipoib_mcast_init		devs_mcast_init
#define ipoib_mcast_exit		devs_mcast_exit
#define ipoib_mcast_start		devs_mcast_start
#define ipoib_mcast_stop		devs_mcast_stop
#define ipoib_neigh_init		devs_neigh_init
#define ipoib_neigh_exit		devs_neigh_exit
#define ipoib_neigh_start		devs_neigh_start
#define ipoib_neigh_stop		devs_neigh_stop
#define ipoib_ud_init			devs_ud_init
#define ipoib_ud_exit			devs_ud_exit
#define ipoib_ud_start			devs_ud_start
#define ipoib_ud_stop			devs_ud_stop
#define ipoib_ud_features		devs_ud_features
#define ipoib_police_init		devs_police_init
#define ipoib_pmtu_init			devs_pmtu_init
#define ipoib_pmtu_stop			devs_pmtu_stop
#define ipoib_ah_reap			devs_ah_reap
#define ipoib_ctl_work			devs_ctl_work
#define ipoib_rn_free			devs_rn_free

#include "ipoib.h"

/* RTNL, the stack, the RDMA core, works and the log */
#undef ASSERT_RTNL
#define ASSERT_RTNL()				((void)0)
#define netif_carrier_off(dev)			devs_called('-')
#define netif_tx_disable(dev)			devs_called('x')
#define netif_tx_wake_all_queues(dev)		devs_called('w')
#define netdev_lock_ops(dev)			(devs_fix->locked++)
#define netdev_unlock_ops(dev)			(devs_fix->locked--)
#define netdev_update_features(dev)		devs_called(devs_fix->locked == 1 ? 'f' : '!')
#define dev_set_mtu(dev, to)			devs_to_mtu(dev, to)
#define call_netdevice_notifiers(event, dev)	devs_notify(event, dev)
#define register_netdevice(dev)			devs_called('r')
#define unregister_netdevice_queue(dev, head)	devs_unlist(dev, head)
#define rdma_protocol_ib(ca, port)		((void)(ca), true)
#define rdma_find_gid_by_port(ca, gid, type, port, ndev) devs_find_gid(gid, type)
#define rdma_put_gid_attr(attr)			(devs_fix->put++)
#define queue_work(wq, work)			devs_queue(work)
#define ipoib_ctl_post(priv, event)		set_bit(event, &(priv)->ctl.events)
#define netdev_warn(dev, args...)		devs_warned(args)
#define netdev_info(dev, args...)		devs_informed(args)

#define DEV_QPN		0x4711

/**
 * struct devs_fixture - fixture of a case
 * @dev: net_device of @priv
 * @priv: an interface
 * @parent: another, of the port of a child
 * @child: a child of @priv
 * @txq: first transmit queue
 * @ca: the HCA
 * @hca: its interfaces
 * @ops: operations of the fabric
 * @rn: a net device of the HCA
 * @port: attributes of the port that are read
 * @calls: calls in their order; '!' with wrong arguments or locks
 * @fails: calls that fail
 * @bare: there is no connected mode
 * @cm_flags: transports of the address
 * @gid: entry of the GID table
 * @put: returned references to it
 * @locked: the lock of the net_device is held
 * @warned: warnings in the log
 * @informed: other lines in the log
 * @broadcast: broadcast address before a notification
 */
struct devs_fixture {
	struct net_device *dev;
	struct ipoib_dev *priv;
	struct ipoib_dev parent;
	struct ipoib_dev child;
	struct ipoib_txq txq;
	struct ib_device ca;
	struct ipoib_hca hca;
	struct ipoib_fabric_ops ops;
	struct rdma_netdev rn;
	struct ipoib_port port;
	char calls[40];
	const char *fails;
	bool bare;
	u8 cm_flags;
	struct ib_gid_attr gid;
	unsigned int put;
	int locked;
	unsigned int warned;
	unsigned int informed;
	u8 broadcast[IPOIB_LLADDR_LEN];
};

/* The fixture of the running case */
static struct devs_fixture *devs_fix;

/* Note a call. Return: its result */
static int devs_called(char call)
{
	unsigned int n = strlen(devs_fix->calls);

	if (n < sizeof(devs_fix->calls) - 1)
		devs_fix->calls[n] = call;
	return devs_fix->fails && strchr(devs_fix->fails, call) ? -EIO : 0;
}

static void __printf(1, 2) devs_warned(const char *format, ...)
{
	devs_fix->warned++;
}

static void __printf(1, 2) devs_informed(const char *format, ...)
{
	devs_fix->informed++;
}

/* As the stack: ipoib_change_mtu() takes the MTU for the administrator's. */
static int devs_to_mtu(struct net_device *dev, unsigned int mtu)
{
	int err = devs_called('t');

	devs_fix->priv->admin_mtu = mtu;
	if (!err)
		dev->mtu = mtu;
	return err;
}

/* The stack removes its groups by the old broadcast address, and adds them by the new one. */
static void devs_notify(unsigned long event, const struct net_device *dev)
{
	bool same = !memcmp(devs_fix->broadcast, dev->broadcast, IPOIB_LLADDR_LEN);

	switch (event) {
	case NETDEV_PRE_TYPE_CHANGE:
		devs_called(same ? '1' : '!');
		break;
	case NETDEV_POST_TYPE_CHANGE:
		devs_called(same ? '!' : '2');
		break;
	default:
		devs_called(event == NETDEV_CHANGEADDR ? '3' : '!');
	}
}

static void devs_queue(const struct work_struct *work)
{
	devs_called(work == &devs_fix->priv->free_work ? 'q' : '!');
}

static void devs_unlist(const struct net_device *dev, const struct list_head *head)
{
	devs_called(dev == devs_fix->dev && head == (void *)devs_fix ? 'z' : '!');
}

static const struct ib_gid_attr *devs_find_gid(const union ib_gid *gid, enum ib_gid_type type)
{
	if (type != IB_GID_TYPE_IB || devs_called('?'))
		return ERR_PTR(-ENOENT);
	return &devs_fix->gid;
}

/* ---- functions of the driver ---- */

struct rtnl_link_ops ipoib_link_ops;
const struct attribute_group ipoib_sysfs_port_group;
const struct attribute_group ipoib_sysfs_roce_group;
const struct attribute_group ipoib_sysfs_child_group;

u8 ipoib_cm_flags(const struct ipoib_dev *priv)
{
	return devs_fix->cm_flags;
}

int ipoib_cm_set_on(struct ipoib_dev *priv, bool on)
{
	int err = devs_called('o');

	if (!err)
		assign_bit(IPOIB_FLAG_CONNECTED, &priv->flags, on);
	return err;
}

int ipoib_cm_init(struct ipoib_dev *priv)
{
	priv->cm = devs_fix->bare ? NULL : (void *)devs_fix;
	return devs_called('c');
}

void ipoib_cm_exit(struct ipoib_dev *priv)
{
	devs_called('C');
}

void ipoib_cm_start(struct ipoib_dev *priv)
{
	devs_called('c');
}

void ipoib_cm_stop(struct ipoib_dev *priv)
{
	devs_called('C');
}

void ipoib_cm_flush(struct ipoib_dev *priv)
{
	devs_called('F');
}

void ipoib_cm_abort_wait(struct ipoib_dev *priv)
{
	devs_called('A');
}

int ipoib_cm_transport_set(struct ipoib_dev *priv, const char *word)
{
	devs_fix->cm_flags = *word;
	return devs_called('t');
}

int ipoib_mcast_init(struct ipoib_dev *priv)
{
	return devs_called('m');
}

void ipoib_mcast_exit(struct ipoib_dev *priv)
{
	devs_called('M');
}

int ipoib_mcast_start(struct ipoib_dev *priv)
{
	return devs_called('m');
}

void ipoib_mcast_stop(struct ipoib_dev *priv)
{
	devs_called('M');
}

int ipoib_neigh_init(struct ipoib_dev *priv)
{
	return devs_called('n');
}

void ipoib_neigh_exit(struct ipoib_dev *priv)
{
	devs_called('N');
}

void ipoib_neigh_start(struct ipoib_dev *priv)
{
	devs_called('n');
}

void ipoib_neigh_stop(struct ipoib_dev *priv)
{
	devs_called('N');
}

int ipoib_ud_init(struct ipoib_dev *priv)
{
	priv->txq = &devs_fix->txq;
	priv->qpn = DEV_QPN;
	return devs_called('u');
}

void ipoib_ud_exit(struct ipoib_dev *priv)
{
	devs_called('U');
}

int ipoib_ud_start(struct ipoib_dev *priv)
{
	return devs_called('s');
}

void ipoib_ud_stop(struct ipoib_dev *priv)
{
	devs_called('S');
}

netdev_features_t ipoib_ud_features(const struct ipoib_dev *priv)
{
	return NETIF_F_TSO;
}

void ipoib_police_init(struct ipoib_police *police)
{
}

void ipoib_pmtu_init(struct ipoib_dev *priv)
{
}

void ipoib_pmtu_stop(struct ipoib_dev *priv)
{
	devs_called('P');
}

void ipoib_ah_reap(struct work_struct *work)
{
}

void ipoib_ctl_work(struct work_struct *work)
{
}

void ipoib_rn_free(struct ipoib_dev *priv)
{
	devs_called('d');
}

static int devs_fabric_init(struct ipoib_dev *priv)
{
	return devs_called('i');
}

static void devs_fabric_exit(struct ipoib_dev *priv)
{
	devs_called('I');
}

static void devs_fabric_start(struct ipoib_dev *priv)
{
	devs_called('g');
}

static void devs_fabric_stop(struct ipoib_dev *priv)
{
	devs_called('G');
}

static int devs_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	*port = devs_fix->port;
	return devs_called('p');
}

const struct ipoib_fabric_ops ipoib_sa_ops = {
	.init = devs_fabric_init,
	.exit = devs_fabric_exit,
	.start = devs_fabric_start,
	.stop = devs_fabric_stop,
	.port_read = devs_port_read,
};

const struct ipoib_fabric_ops ipoib_roce_ops;

#include "ipoib_dev.c"

/* A GID of the subnet */
static const union ib_gid devs_gid = {
	.raw = { 0xfe, 0x80, [8] = 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55 },
};

static int devs_init(struct kunit *test)
{
	struct devs_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_netdev *area;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev_mqs(sizeof(*area), "ipoib_dev%d", NET_NAME_ENUM, ether_setup, 2, 1);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	area = netdev_priv(fix->dev);
	area->rn.clnt_priv = &area->priv;
	fix->priv = &area->priv;
	fix->priv->netdev = fix->dev;
	fix->priv->ca = &fix->ca;
	fix->priv->port = 2;
	fix->ops = ipoib_sa_ops;
	fix->priv->fabric = &fix->ops;
	fix->priv->hca = &fix->hca;
	fix->priv->cm = (void *)fix;
	fix->priv->local_gid = devs_gid;
	fix->priv->port_guid = devs_gid.global.interface_id;
	fix->priv->qpn = DEV_QPN;
	fix->hca.ca = &fix->ca;
	INIT_LIST_HEAD(&fix->hca.devs);
	fix->dev->addr_len = IPOIB_LLADDR_LEN;
	fix->port.gid = devs_gid;
	fix->port.active = true;
	fix->port.lid = 7;
	fix->port.pkey = 0xffff;
	fix->port.mtu = 2044;
	fix->port.max_mtu = 4092;
	fix->port.mbps = 10000;
	test->priv = fix;
	devs_fix = fix;
	return 0;
}

static void devs_exit(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;

	free_netdev(fix->dev);
	kvfree(fix);
}

static void devs_expect_calls(struct kunit *test, const char *calls)
{
	ipoib_expect_calls(test, devs_fix->calls, calls);
}

/* ---- up and down ---- */

/**
 * struct devs_start - start of an interface, and its stop
 * @flags: flags before
 * @bare: there is neither connected mode nor start and stop of the fabric
 * @fails: calls that fail
 * @err: result
 * @up: calls of the start
 * @down: calls of the stop
 * @warned: warnings in the log
 */
struct devs_start {
	unsigned long flags;
	bool bare;
	const char *fails;
	int err;
	const char *up;
	const char *down;
	unsigned int warned;
};

static void devs_starts(struct kunit *test)
{
	const unsigned long pkey = BIT(IPOIB_FLAG_PKEY), dead = BIT(IPOIB_FLAG_DEAD);
	const struct devs_start starts[] = {
		{ pkey, false, NULL, 0, "swgncm", "-xCMNPGS", 0 },
		{ pkey, true, NULL, 0, "swnm", "-xMNPS", 0 },
		{ 0, false, NULL, 0, "", "", 1 },
		{ pkey | dead, false, NULL, -ENODEV, "", "", 0 },
		{ pkey, false, "s", -EIO, "s", "", 1 },
		{ pkey, false, "m", -EIO, "swgncm-xCMNPGS", "", 1 },
	};
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		priv->flags = starts[i].flags;
		priv->cm = starts[i].bare ? NULL : (void *)fix;
		fix->ops.start = starts[i].bare ? NULL : devs_fabric_start;
		fix->ops.stop = starts[i].bare ? NULL : devs_fabric_stop;
		fix->fails = starts[i].fails;
		fix->warned = 0;
		KUNIT_EXPECT_EQ(test, ipoib_dev_up(priv), starts[i].err);
		KUNIT_EXPECT_EQ(test, !!test_bit(IPOIB_FLAG_UP, &priv->flags),
				*starts[i].down == '-');
		devs_expect_calls(test, starts[i].up);
		ipoib_dev_down(priv);
		devs_expect_calls(test, starts[i].down);
		KUNIT_EXPECT_EQ(test, priv->flags, starts[i].flags);
		KUNIT_EXPECT_EQ(test, fix->warned, starts[i].warned);
	}
	set_bit(IPOIB_FLAG_UP, &priv->flags);
	ipoib_dev_port_change(priv);
	devs_expect_calls(test, "-xCMNPGSA");
	priv->cm = NULL;
	ipoib_dev_port_change(priv);
	devs_expect_calls(test, "");
}

/* ---- attributes of the port ---- */

static void devs_changes(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;
	struct ipoib_port *port = &fix->port;
	struct ipoib_dev *priv = fix->priv;

	ipoib_port_take(priv, port);
	KUNIT_EXPECT_FALSE(test, ipoib_port_changed(priv, port));
	port->pkey = 0x7fff;
	KUNIT_EXPECT_FALSE(test, ipoib_port_changed(priv, port));
	port->pkey = 0x8001;
	KUNIT_EXPECT_TRUE(test, ipoib_port_changed(priv, port));
	port->pkey = 0x8000;
	KUNIT_EXPECT_TRUE(test, ipoib_port_changed(priv, port));
	priv->pkey = 0x8000;
	KUNIT_EXPECT_TRUE(test, ipoib_port_changed(priv, port));
	priv->pkey = 0xffff;
	port->pkey = 0xffff;
	port->pkey_index++;
	KUNIT_EXPECT_TRUE(test, ipoib_port_changed(priv, port));
	port->pkey_index--;
	port->mtu = 4092;
	KUNIT_EXPECT_TRUE(test, ipoib_port_changed(priv, port));
	/* An unknown MTU is the previous one. */
	port->mtu = 0;
	KUNIT_EXPECT_FALSE(test, ipoib_port_changed(priv, port));
	port->gid_entry = fix;
	KUNIT_EXPECT_TRUE(test, ipoib_port_changed(priv, port));
	port->gid_entry = NULL;
	port->gid.raw[15]++;
	KUNIT_EXPECT_TRUE(test, ipoib_port_changed(priv, port));
	port->gid.raw[15]--;
	KUNIT_EXPECT_FALSE(test, ipoib_port_changed(priv, port));
	KUNIT_EXPECT_EQ(test, fix->warned, 0u);
}

static void devs_port(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;
	struct ipoib_port *port = &fix->port;
	struct ipoib_dev *priv = fix->priv;

	port->mtu = 0;
	port->gid.raw[15]++;
	port->gid_entry = fix;
	port->pkey_index = 3;
	ipoib_port_take(priv, port);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_FLAG_PORT_ACTIVE, &priv->flags));
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_FLAG_PKEY, &priv->flags));
	KUNIT_EXPECT_EQ(test, (int)priv->local_lid, 7);
	KUNIT_EXPECT_EQ(test, priv->max_mtu, 4092u);
	/* Of any configuration, as the present is unknown */
	KUNIT_EXPECT_EQ(test, priv->port_mtu, 4092u);
	KUNIT_EXPECT_EQ(test, priv->link_mbps, 10000u);
	KUNIT_EXPECT_EQ(test, (int)priv->pkey, 0xffff);
	KUNIT_EXPECT_EQ(test, (int)priv->pkey_index, 3);
	KUNIT_EXPECT_PTR_EQ(test, priv->gid_entry, fix);
	KUNIT_EXPECT_EQ(test, memcmp(&priv->local_gid, &port->gid, sizeof(port->gid)), 0);
	devs_expect_calls(test, "");

	/* Another LMC, and the net device of the HCA */
	port->lmc = 2;
	port->active = false;
	port->mtu = 2044;
	priv->rn = &fix->rn;
	ipoib_port_take(priv, port);
	priv->rn = NULL;
	devs_expect_calls(test, "F");
	KUNIT_EXPECT_EQ(test, (int)priv->lmc, 2);
	KUNIT_EXPECT_EQ(test, priv->port_mtu, 2044u);
	KUNIT_EXPECT_EQ(test, (int)fix->rn.mtu, 4092);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_FLAG_PORT_ACTIVE, &priv->flags));
	port->lmc = 1;
	priv->cm = NULL;
	ipoib_port_take(priv, port);
	devs_expect_calls(test, "");
}

/* Logged once: limited membership, and the loss of a P_Key, which is kept */
static void devs_pkeys(struct kunit *test)
{
	static const struct {
		u16 pkey;
		u16 taken;
		bool valid;
		unsigned int warned;
	} steps[] = {
		{ 0x0000, 0xffff, false, 0 },
		{ 0x8001, 0x8001, true, 0 },
		{ 0x0001, 0x8001, true, 1 },
		{ 0x0001, 0x8001, true, 1 },
		{ 0x0002, 0x8002, true, 2 },
		{ 0x8002, 0x8002, true, 2 },
		{ 0x0002, 0x8002, true, 3 },
		{ 0x8000, 0x8002, false, 4 },
		{ 0x0000, 0x8002, false, 4 },
		{ 0x8002, 0x8002, true, 4 },
	};
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	unsigned int i;

	priv->pkey = 0xffff;
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		fix->port.pkey = steps[i].pkey;
		fix->port.pkey_index = 10 + i;
		ipoib_port_take(priv, &fix->port);
		KUNIT_EXPECT_EQ(test, (int)priv->pkey, (int)steps[i].taken);
		KUNIT_EXPECT_EQ(test, !!test_bit(IPOIB_FLAG_PKEY, &priv->flags), steps[i].valid);
		KUNIT_EXPECT_EQ(test, priv->pkey_index == 10 + i, steps[i].valid);
		KUNIT_EXPECT_EQ(test, fix->warned, steps[i].warned);
	}
}

/* ---- MTU and mode ---- */

static void devs_modes(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;

	priv->admin_mtu = IPOIB_MTU_MAX;
	priv->mcast_mtu = 2044;
	fix->dev->mtu = 2044;
	KUNIT_EXPECT_EQ(test, ipoib_dev_mtu(priv), 2044u);
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_mode(priv, false), 0);
	devs_expect_calls(test, "o");
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_mode(priv, true), 0);
	devs_expect_calls(test, "otf");
	KUNIT_EXPECT_EQ(test, fix->locked, 0);
	KUNIT_EXPECT_EQ(test, (int)fix->dev->mtu, IPOIB_MTU_MAX);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	KUNIT_EXPECT_EQ(test, fix->informed, 0u);
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_mode(priv, false), 0);
	devs_expect_calls(test, "otf");
	KUNIT_EXPECT_EQ(test, (int)fix->dev->mtu, 2044);
	/* The request of the administrator stays. */
	KUNIT_EXPECT_EQ(test, priv->admin_mtu, (unsigned int)IPOIB_MTU_MAX);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	/* An MTU that is set, and may be that of the link */
	priv->admin_mtu = 2044;
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_mode(priv, true), 0);
	devs_expect_calls(test, "of");
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	KUNIT_EXPECT_EQ(test, fix->informed, 1u);
	/* A notifier that refuses the MTU keeps the mode. */
	priv->admin_mtu = 3000;
	fix->dev->mtu = 3000;
	fix->fails = "t";
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_mode(priv, false), -EIO);
	devs_expect_calls(test, "oto");
	KUNIT_EXPECT_TRUE(test, ipoib_cm_is_on(priv));
	KUNIT_EXPECT_EQ(test, priv->admin_mtu, 3000u);
	fix->fails = "o";
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_mode(priv, false), -EIO);
	devs_expect_calls(test, "o");
	KUNIT_EXPECT_EQ(test, fix->warned, 2u);
}

static u8 devs_addr_flags(const struct devs_fixture *fix)
{
	return fix->dev->dev_addr[0];
}

static void devs_transports(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;

	fix->cm_flags = 'a';
	ipoib_dev_set_lladdr(priv);
	fix->fails = "t";
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_transport(priv, "b"), -EIO);
	devs_expect_calls(test, "t");
	KUNIT_EXPECT_EQ(test, (int)devs_addr_flags(fix), 'a');
	fix->fails = NULL;
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_transport(priv, "b"), 0);
	devs_expect_calls(test, "t");
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_transport(priv, "c"), 0);
	devs_expect_calls(test, "t3");
	KUNIT_EXPECT_EQ(test, (int)devs_addr_flags(fix), 'c');
	priv->cm = NULL;
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_transport(priv, "d"), -EOPNOTSUPP);
	devs_expect_calls(test, "");
}

/* ---- addresses ---- */

static void devs_addresses(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	struct ipoib_lladdr *broadcast = (void *)fix->dev->broadcast;

	priv->pkey = 0x8001;
	memset(broadcast, 0, sizeof(*broadcast));
	priv->admin_guid = cpu_to_be64(0x42);
	priv->local_gid.global.interface_id = priv->admin_guid;
	ipoib_dev_change_address(priv);
	devs_expect_calls(test, "123");
	KUNIT_EXPECT_FALSE(test, ipoib_dev_address_moved(priv));
	KUNIT_EXPECT_EQ(test, (int)broadcast->gid[1], 0x12);
	KUNIT_EXPECT_EQ(test, memcmp(broadcast->gid, &priv->broadcast_mgid, 16), 0);
	KUNIT_EXPECT_EQ(test, memcmp(fix->dev->dev_addr + 12, &priv->admin_guid, 8), 0);
	KUNIT_EXPECT_EQ(test, memcmp(fix->dev->perm_addr + 12, &priv->port_guid, 8), 0);
	/* A scope that is set stays. */
	broadcast->gid[1] = 0x15;
	KUNIT_EXPECT_TRUE(test, ipoib_dev_address_moved(priv));
	memcpy(fix->broadcast, broadcast, sizeof(*broadcast));
	priv->pkey = 0x8002;
	ipoib_dev_change_address(priv);
	devs_expect_calls(test, "123");
	KUNIT_EXPECT_EQ(test, (int)broadcast->gid[1], 0x15);
	KUNIT_EXPECT_FALSE(test, ipoib_dev_address_moved(priv));
}

static void devs_guids(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	const unsigned long port = BIT(IPOIB_CTL_PORT);
	struct ipoib_lladdr addr, bad;

	ipoib_dev_set_lladdr(priv);
	memcpy(&addr, fix->dev->dev_addr, sizeof(addr));
	list_add_tail(&priv->list, &fix->hca.devs);
	list_add_tail(&fix->parent.list, &fix->hca.devs);
	list_add_tail(&fix->child.list, &fix->hca.devs);
	fix->child.parent = priv;
	fix->child.port_guid = priv->port_guid;
	bad = addr;
	bad.flags_qpn ^= cpu_to_be32(1);
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_guid(priv, &bad), -EINVAL);
	bad = addr;
	bad.gid[7]++;
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_guid(priv, &bad), -EINVAL);
	bad = addr;
	memset(&bad.gid[8], 0, 8);
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_guid(priv, &bad), -EINVAL);
	devs_expect_calls(test, "");
	KUNIT_EXPECT_TRUE(test, !priv->admin_guid && !fix->child.ctl.events);

	addr.gid[15]++;
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_guid(priv, &addr), 0);
	devs_expect_calls(test, "?");
	KUNIT_EXPECT_EQ(test, fix->put, 1u);
	KUNIT_EXPECT_EQ(test, fix->warned, 0u);
	KUNIT_EXPECT_EQ(test, memcmp(fix->dev->dev_addr, &addr, sizeof(addr)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&priv->local_gid, addr.gid, sizeof(addr.gid)), 0);
	KUNIT_EXPECT_TRUE(test, priv->admin_guid == priv->local_gid.global.interface_id);
	KUNIT_EXPECT_TRUE(test, fix->child.admin_guid == priv->admin_guid);
	KUNIT_EXPECT_EQ(test, fix->child.ctl.events, port);
	KUNIT_EXPECT_EQ(test, fix->parent.ctl.events, 0ul);
	KUNIT_EXPECT_EQ(test, priv->ctl.events, 0ul);
	/* The port does not have it yet: a line in the log. The GUID of the port is none. */
	addr.gid[15]--;
	fix->fails = "?";
	KUNIT_EXPECT_EQ(test, ipoib_dev_set_guid(priv, &addr), 0);
	KUNIT_EXPECT_EQ(test, fix->put, 1u);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	KUNIT_EXPECT_TRUE(test, !priv->admin_guid && !fix->child.admin_guid);
}

/* ---- creation and removal ---- */

/* All parts of an interface are made, or none. */
static void devs_failures(struct kunit *test)
{
	static const struct {
		const char *fails;
		const char *calls;
	} adds[] = {
		{ "n", "n" },
		{ "m", "nmN" },
		{ "i", "nmiMN" },
		{ "p", "nmipIMN" },
		{ "u", "nmipuIMN" },
		{ "c", "nmipucUIMN" },
		{ "o", "nmipucoCUIMN" },
		{ "r", "nmipucorCUIMN" },
	};
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(adds); i++) {
		fix->fails = adds[i].fails;
		fix->dev->mtu = 0;
		priv->flags = 0;
		KUNIT_EXPECT_EQ(test, ipoib_dev_add(priv, false, NULL), -EIO);
		devs_expect_calls(test, adds[i].calls);
		KUNIT_EXPECT_TRUE(test, list_empty(&fix->hca.devs));
		KUNIT_EXPECT_EQ(test, atomic_read(&fix->hca.users), 0);
	}
	/* An MTU that the port cannot do, in datagram mode */
	fix->fails = NULL;
	fix->dev->mtu = 4093;
	KUNIT_EXPECT_EQ(test, ipoib_dev_add(priv, false, NULL), -EINVAL);
	devs_expect_calls(test, "nmipucoCUIMN");
}

static void devs_added(struct kunit *test)
{
	const netdev_features_t features = NETIF_F_SG | NETIF_F_HIGHDMA | NETIF_F_TSO;
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	struct net_device *dev = fix->dev;

	fix->ca.ops.attach_mcast = (void *)fix;
	fix->ca.dev.parent = &fix->ca.dev;
	fix->txq.max_segs = 5;
	dev->features = 0;
	dev->hw_features = 0;
	dev->mtu = 0;
	KUNIT_EXPECT_EQ(test, ipoib_dev_add(priv, false, NULL), 0);
	devs_expect_calls(test, "nmipucor");
	KUNIT_EXPECT_PTR_EQ(test, priv->fabric, &ipoib_sa_ops);
	KUNIT_EXPECT_EQ(test, priv->admin_mtu, (unsigned int)IPOIB_MTU_MAX);
	KUNIT_EXPECT_EQ(test, priv->mcast_mtu, 2044u);
	KUNIT_EXPECT_EQ(test, dev->mtu, 2044u);
	KUNIT_EXPECT_PTR_EQ(test, dev->rtnl_link_ops, &ipoib_link_ops);
	KUNIT_EXPECT_PTR_EQ(test, dev->sysfs_groups[0], &ipoib_sysfs_port_group);
	KUNIT_EXPECT_TRUE(test, dev->hw_features == features);
	KUNIT_EXPECT_TRUE(test, dev->features == (features | NETIF_F_VLAN_CHALLENGED));
	KUNIT_EXPECT_EQ(test, (int)dev->tso_max_segs, 5);
	KUNIT_EXPECT_EQ(test, dev->real_num_tx_queues, 1u);
	KUNIT_EXPECT_EQ(test, (int)dev->dev_port, 1);
	KUNIT_EXPECT_EQ(test, (int)dev->dev_id, 1);
	KUNIT_EXPECT_PTR_EQ(test, dev->dev.parent, &fix->ca.dev);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->hca.users), 1);
	KUNIT_EXPECT_PTR_EQ(test, fix->hca.devs.next, &priv->list);
	KUNIT_EXPECT_EQ(test, priv->ctl.events, BIT(IPOIB_CTL_PORT));
	KUNIT_EXPECT_EQ(test, fix->warned + fix->informed, 0u);
	/* Its end: out of the list, then the last user, then the work */
	ipoib_dev_del(priv, (void *)fix);
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->hca.devs));
	dev->priv_destructor(dev);
	devs_expect_calls(test, "zq");
	ipoib_dev_free(&priv->free_work);
	devs_expect_calls(test, "CUIMNd");
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->hca.users), 0);
	dev->priv_destructor = NULL;
	dev->dev.parent = NULL;
	dev->rtnl_link_ops = NULL;
}

/* Segments of the driver are limited, those of the HCA not; its net device keeps its queues. */
static void devs_segments(struct kunit *test)
{
	static const struct {
		unsigned int max_segs;
		bool hca_cuts;
		bool rn;
		unsigned int segs, queues;
	} rows[] = {
		{ 5, false, true, 5, 2 },
		{ 1, false, false, 100, 1 },
		{ 2, false, false, 2, 1 },
		{ 5, true, false, 100, 1 },
	};
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	struct net_device *dev = fix->dev;
	unsigned int i;

	priv->txq = &fix->txq;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->txq.max_segs = rows[i].max_segs;
		fix->txq.hca_cuts = rows[i].hca_cuts;
		priv->rn = rows[i].rn ? &fix->rn : NULL;
		dev->tso_max_segs = 100;
		ipoib_dev_setup(priv);
		KUNIT_EXPECT_EQ(test, (unsigned int)dev->tso_max_segs, rows[i].segs);
		KUNIT_EXPECT_EQ(test, dev->real_num_tx_queues, rows[i].queues);
	}
	dev->rtnl_link_ops = NULL;
}

static void devs_children(struct kunit *test)
{
	struct devs_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv, *parent = &fix->parent;
	struct net_device *dev = fix->dev;

	refcount_set(&parent->queries, 1);
	parent->hca = &fix->hca;
	parent->port = 2;
	parent->netdev = dev;
	parent->admin_guid = cpu_to_be64(0x42);
	priv->hca = NULL;
	priv->port = 0;
	fix->port.pkey = 0;
	fix->bare = true;
	dev->mtu = 3000;
	parent->flags = BIT(IPOIB_FLAG_DEAD);
	KUNIT_EXPECT_EQ(test, ipoib_dev_add_child(parent, dev, 0x0001, true, NULL), -ENODEV);
	parent->flags = 0;
	KUNIT_EXPECT_EQ(test, ipoib_dev_add_child(parent, dev, 0x0001, true, NULL), 0);
	devs_expect_calls(test, "nmipucor");
	KUNIT_EXPECT_PTR_EQ(test, priv->hca, &fix->hca);
	KUNIT_EXPECT_PTR_EQ(test, priv->parent, parent);
	KUNIT_EXPECT_PTR_EQ(test, priv->lower, dev);
	KUNIT_EXPECT_EQ(test, priv->port, 2u);
	KUNIT_EXPECT_EQ(test, (int)priv->pkey, 0x8001);
	KUNIT_EXPECT_TRUE(test, priv->admin_guid == parent->admin_guid);
	KUNIT_EXPECT_TRUE(test, priv->local_gid.global.interface_id == parent->admin_guid);
	KUNIT_EXPECT_EQ(test, (int)dev->addr_assign_type, NET_ADDR_SET);
	KUNIT_EXPECT_PTR_EQ(test, dev->sysfs_groups[0], &ipoib_sysfs_child_group);
	KUNIT_EXPECT_EQ(test, (int)dev->dev_port, 0);
	KUNIT_EXPECT_PTR_EQ(test, dev->dev.parent, NULL);
	/* The requested MTU, in connected mode, and an HCA without multicast */
	KUNIT_EXPECT_EQ(test, priv->admin_mtu, 3000u);
	KUNIT_EXPECT_EQ(test, dev->mtu, 3000u);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	KUNIT_EXPECT_EQ(test, refcount_read(&parent->queries), 2u);
	KUNIT_EXPECT_EQ(test, atomic_read(&fix->hca.users), 0);
	ipoib_dev_free(&priv->free_work);
	devs_expect_calls(test, "UIMNd");
	KUNIT_EXPECT_EQ(test, refcount_read(&parent->queries), 1u);
	dev->priv_destructor = NULL;
	dev->rtnl_link_ops = NULL;
}

static struct kunit_case ipoib_dev_cases[] = {
	KUNIT_CASE(devs_starts),
	KUNIT_CASE(devs_changes),
	KUNIT_CASE(devs_port),
	KUNIT_CASE(devs_pkeys),
	KUNIT_CASE(devs_modes),
	KUNIT_CASE(devs_transports),
	KUNIT_CASE(devs_addresses),
	KUNIT_CASE(devs_guids),
	KUNIT_CASE(devs_failures),
	KUNIT_CASE(devs_added),
	KUNIT_CASE(devs_segments),
	KUNIT_CASE(devs_children),
	{}
};

struct kunit_suite ipoib_dev_suite = {
	.name = "ipoib_dev",
	.init = devs_init,
	.exit = devs_exit,
	.test_cases = ipoib_dev_cases,
};
