// SPDX-License-Identifier: GPL-2.0
/* Tests of HCAs and their ports: interfaces of an HCA, its events, requests of the RDMA CM */
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>

#include "ipoib_suites.h"

/* Functions and objects of the driver, which other suites define, too */
#define ipoib_client		clients_client
#define ipoib_link_ops		clients_link_ops
#define ipoib_enhanced		clients_enhanced
#define ipoib_hca_find_on	clients_find_on
#define ipoib_hca_link		clients_link
#define ipoib_hca_capable	clients_capable
#define ipoib_netdev_setup_rn	clients_setup_rn
#define ipoib_rn_alloc		clients_rn_alloc
#define ipoib_rn_free		clients_rn_free
#define ipoib_dev_add		clients_dev_add
#define ipoib_dev_del		clients_dev_del
#define ipoib_cm_flush		clients_cm_flush

#include "ipoib.h"

/* RTNL, the stack, the RDMA core, the control work and the log */
#undef dev_warn
#define rtnl_lock()					(clients_fix->rtnl++)
#define rtnl_unlock()					(clients_fix->rtnl--)
#define alloc_netdev_mqs(size, name, type, setup, txqs, rxqs) \
	clients_alloc(size, txqs, rxqs)
#define unregister_netdevice_many(head)			clients_called('u')
#define netdev_master_upper_dev_get_rcu(dev)		clients_master(dev)
#define dev_hold(dev)					(clients_fix->held = (dev))
#define __in_dev_get_rcu(dev)				clients_in_dev(dev)
#define inet_confirm_addr(net, in_dev, dst, local, scope) \
	((void)(net), clients_has_addr(in_dev, local))
#define rdma_protocol_ib(ca, port)			((void)(ca), clients_fix->ports & BIT(port))
#define ib_register_event_handler(handler)		clients_called('R')
#define ib_unregister_event_handler(handler)		clients_called('U')
#define ib_set_client_data(ca, client, data)		(clients_fix->hca = (data))
#define ipoib_ctl_post(priv, event)			set_bit(event, &(priv)->ctl.events)
#define netdev_err(dev, format, args...)		(clients_fix->warned++)
#define dev_warn(dev, format, args...)			(clients_fix->warned++)

#define CLIENTS_ADDR	htonl(0xc0000201)

/**
 * struct clients_fixture - fixture of a case
 * @ca: an HCA of two ports
 * @made: its interfaces by the client, or NULL
 * @hca: the same, as the RDMA core has it
 * @fab: operations of the fabric
 * @dev: a net_device of an interface
 * @priv: the interface
 * @other: another, with @lower
 * @lower: another net_device
 * @bond: upper net_device of @dev, or NULL
 * @in_dev: IPv4 of @addressed
 * @addressed: the net_device with the address
 * @ports: ports of InfiniBand, by bit
 * @rn_err: result of ipoib_rn_alloc(), which sets @dev if 0
 * @no_memory: there is no net_device over verbs
 * @adds: results of ipoib_dev_add(), in turn
 * @nadds: calls of it
 * @rtnl: RTNL is held
 * @calls: calls in their order; '!' with wrong arguments or locks
 * @warned: lines in the log
 * @held: net_device with a reference
 */
struct clients_fixture {
	struct ib_device ca;
	struct ipoib_hca made;
	struct ipoib_hca *hca;
	struct ipoib_fabric_ops fab;
	struct net_device *dev;
	struct ipoib_dev *priv;
	struct ipoib_dev other;
	struct net_device *lower;
	struct net_device *bond;
	struct in_device in_dev;
	struct net_device *addressed;
	unsigned long ports;
	int rn_err;
	bool no_memory;
	int adds[2];
	unsigned int nadds;
	int rtnl;
	char calls[32];
	unsigned int warned;
	struct net_device *held;
};

/* The fixture of the running case */
static struct clients_fixture *clients_fix;

static int clients_called(char call)
{
	unsigned int n = strlen(clients_fix->calls);

	if (n < sizeof(clients_fix->calls) - 1)
		clients_fix->calls[n] = call;
	return 0;
}

static struct net_device *clients_alloc(size_t size, unsigned int txqs, unsigned int rxqs)
{
	clients_called(size == sizeof(struct ipoib_netdev) && txqs == IPOIB_TXQ_MAX && rxqs == 1 ?
		       'v' : '!');
	return clients_fix->no_memory ? NULL : clients_fix->dev;
}

static struct net_device *clients_master(const struct net_device *dev)
{
	return dev == clients_fix->dev ? clients_fix->bond : NULL;
}

static struct in_device *clients_in_dev(const struct net_device *dev)
{
	return dev == clients_fix->addressed ? &clients_fix->in_dev : NULL;
}

static __be32 clients_has_addr(const struct in_device *in_dev, __be32 addr)
{
	return in_dev == &clients_fix->in_dev && addr == CLIENTS_ADDR ? addr : 0;
}

/* ---- functions of the driver ---- */

struct rtnl_link_ops ipoib_link_ops;
bool ipoib_enhanced;

void ipoib_netdev_setup_rn(struct net_device *dev)
{
}

struct net_device *ipoib_rn_alloc(struct ib_device *ca, u32 port, const char *name,
				  unsigned char name_assign_type,
				  void (*setup)(struct net_device *dev))
{
	clients_called(setup == ipoib_netdev_setup_rn && ca == &clients_fix->ca ? 'e' : '!');
	return clients_fix->rn_err ? ERR_PTR(clients_fix->rn_err) : clients_fix->dev;
}

void ipoib_rn_free(struct ipoib_dev *priv)
{
	clients_called(priv == clients_fix->priv ? 'f' : '!');
}

int ipoib_dev_add(struct ipoib_dev *priv, bool connected, struct netlink_ext_ack *extack)
{
	bool good = clients_fix->rtnl == 1 && priv == clients_fix->priv && !connected &&
		    priv->hca && priv->hca->ca == &clients_fix->ca;
	int err = clients_fix->nadds < 2 ? clients_fix->adds[clients_fix->nadds++] : 0;

	clients_called(good ? '0' + priv->port : '!');
	return err;
}

void ipoib_dev_del(struct ipoib_dev *priv, struct list_head *head)
{
	list_del(&priv->list);
	clients_called(clients_fix->rtnl != 1 || !head ? '!' :
		       priv == clients_fix->priv ? 'p' : 'c');
}

void ipoib_cm_flush(struct ipoib_dev *priv)
{
	clients_called('F');
}

static void clients_event(struct ipoib_dev *priv, enum ib_event_type event)
{
	clients_called(priv == clients_fix->priv && event != IB_EVENT_DEVICE_FATAL ? 'e' : '!');
}

#include "ipoib_client.c"

static int clients_init(struct kunit *test)
{
	struct clients_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_netdev *area;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_etherdev(sizeof(*area));
	fix->lower = alloc_etherdev(0);
	if (!fix->dev || !fix->lower) {
		if (fix->dev)
			free_netdev(fix->dev);
		if (fix->lower)
			free_netdev(fix->lower);
		kvfree(fix);
		return -ENOMEM;
	}
	area = netdev_priv(fix->dev);
	area->rn.clnt_priv = &area->priv;
	fix->priv = &area->priv;
	fix->priv->netdev = fix->dev;
	fix->priv->port = 1;
	fix->priv->pkey = 0x8001;
	fix->priv->local_gid.raw[15] = 1;
	fix->fab.event = clients_event;
	fix->priv->fabric = &fix->fab;
	fix->other.netdev = fix->lower;
	fix->other.port = 2;
	fix->other.pkey = 0x8002;
	fix->other.fabric = &fix->fab;
	fix->ca.phys_port_cnt = 2;
	write_pnet(&fix->ca.coredev.rdma_net, &init_net);
	fix->made.ca = &fix->ca;
	INIT_LIST_HEAD(&fix->made.devs);
	test->priv = fix;
	clients_fix = fix;
	return 0;
}

static void clients_exit(struct kunit *test)
{
	struct clients_fixture *fix = test->priv;

	free_netdev(fix->dev);
	free_netdev(fix->lower);
	kvfree(fix);
}

static void clients_expect_calls(struct kunit *test, const char *calls)
{
	ipoib_expect_calls(test, clients_fix->calls, calls);
	KUNIT_EXPECT_EQ(test, clients_fix->rtnl, 0);
}

/* The net device of the HCA, or else verbs */
static void clients_ports(struct kunit *test)
{
	static const struct {
		bool enhanced;
		int rn_err;
		int adds[2];
		bool no_memory;
		const char *calls;
		unsigned int warned;
	} ports[] = {
		{ true, 0, { 0, 0 }, false, "e2", 0 },
		{ true, -EOPNOTSUPP, { 0, 0 }, false, "ev2", 0 },
		{ true, -EIO, { 0, 0 }, false, "ev2", 1 },
		{ true, 0, { -EIO, 0 }, false, "e2fv2", 1 },
		{ true, 0, { -EIO, -EIO }, false, "e2fv2f", 2 },
		{ false, 0, { 0, 0 }, false, "v2", 0 },
		{ false, 0, { -EIO, 0 }, false, "v2f", 1 },
		{ false, 0, { 0, 0 }, true, "v", 1 },
	};
	struct clients_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ports); i++) {
		ipoib_enhanced = ports[i].enhanced;
		fix->rn_err = ports[i].rn_err;
		memcpy(fix->adds, ports[i].adds, sizeof(fix->adds));
		fix->nadds = 0;
		fix->no_memory = ports[i].no_memory;
		fix->warned = 0;
		ipoib_hca_add_port(&fix->made, 2);
		clients_expect_calls(test, ports[i].calls);
		KUNIT_EXPECT_EQ(test, fix->warned, ports[i].warned);
	}
	KUNIT_EXPECT_PTR_EQ(test, dev_net(fix->dev), &init_net);
}

/* An HCA comes with two ports, of which one is of InfiniBand, and goes with two interfaces. */
static void clients_hca(struct kunit *test)
{
	struct clients_fixture *fix = test->priv;

	ipoib_enhanced = false;
	fix->ports = BIT(2);
	KUNIT_EXPECT_EQ(test, ipoib_client_add(&fix->ca), 0);
	clients_expect_calls(test, "Rv2");
	KUNIT_EXPECT_PTR_EQ(test, fix->hca->ca, &fix->ca);
	KUNIT_EXPECT_PTR_EQ(test, ipoib_hcas.next, &fix->hca->list);
	list_add_tail(&fix->priv->list, &fix->hca->devs);
	list_add_tail(&fix->other.list, &fix->hca->devs);
	ipoib_client_remove(&fix->ca, fix->hca);
	/* Children before their parents */
	clients_expect_calls(test, "Ucpu");
	KUNIT_EXPECT_TRUE(test, list_empty(&ipoib_hcas));
	KUNIT_EXPECT_TRUE(test, ipoib_client.add == ipoib_client_add);
	KUNIT_EXPECT_TRUE(test, ipoib_client.remove == ipoib_client_remove);
	KUNIT_EXPECT_TRUE(test, ipoib_client.get_net_dev_by_params == ipoib_client_get_netdev);
}

static void clients_events(struct kunit *test)
{
	static const struct {
		enum ib_event_type event;
		unsigned int port;
		bool bare;
		const char *calls;
	} events[] = {
		{ IB_EVENT_LID_CHANGE, 1, false, "eF" },
		{ IB_EVENT_LID_CHANGE, 1, true, "e" },
		{ IB_EVENT_LID_CHANGE, 3, false, "" },
		{ IB_EVENT_PKEY_CHANGE, 1, false, "e" },
		{ IB_EVENT_PORT_ERR, 1, true, "e" },
		{ IB_EVENT_PORT_ERR, 3, true, "" },
	};
	struct clients_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	struct ib_event event = { .device = &fix->ca };
	unsigned int i;

	list_add_tail(&priv->list, &fix->made.devs);
	list_add_tail(&fix->other.list, &fix->made.devs);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		priv->cm = events[i].bare ? NULL : (void *)fix;
		event.event = events[i].event;
		event.element.port_num = events[i].port;
		ipoib_event_handler(&fix->made.handler, &event);
		clients_expect_calls(test, events[i].calls);
	}
	KUNIT_EXPECT_FALSE(test, fix->made.failed);
	KUNIT_EXPECT_EQ(test, priv->flags | priv->ctl.events, 0ul);
	/* A failure of the HCA is for all ports, and noticed once. */
	for (i = 0; i < 2; i++) {
		event.event = IB_EVENT_DEVICE_FATAL;
		ipoib_event_handler(&fix->made.handler, &event);
		clients_expect_calls(test, "");
		KUNIT_EXPECT_TRUE(test, fix->made.failed);
		KUNIT_EXPECT_EQ(test, priv->flags, BIT(IPOIB_FLAG_DEAD));
		KUNIT_EXPECT_EQ(test, fix->other.flags, BIT(IPOIB_FLAG_DEAD));
		KUNIT_EXPECT_EQ(test, priv->ctl.events, i ? 0ul : BIT(IPOIB_CTL_LINK));
		KUNIT_EXPECT_EQ(test, fix->warned, 2u);
		priv->ctl.events = 0;
	}
}

/**
 * struct clients_request - request to the RDMA CM
 * @port: port
 * @pkey: P_Key
 * @gid: last octet of the GID, or 0 for none
 * @addr: an IPv4 address, or another family, or none
 * @has: the interface has the address, or the other one
 * @twin: the other interface has the same port and P_Key
 * @found: 0 for none, 1 for the interface, 2 for the other one
 */
struct clients_request {
	u32 port;
	u16 pkey;
	u8 gid;
	int addr;
	unsigned int has;
	bool twin;
	unsigned int found;
};

static void clients_requests(struct kunit *test)
{
	static const struct clients_request requests[] = {
		{ 1, 0x8001, 1, AF_INET, 1, false, 1 },
		{ 1, 0x0001, 0, AF_INET, 1, false, 1 },
		{ 1, 0x8001, 1, 0, 1, false, 1 },
		{ 2, 0x8001, 1, AF_INET, 1, false, 0 },
		{ 1, 0x8002, 1, AF_INET, 1, false, 0 },
		{ 1, 0x8001, 2, AF_INET, 1, false, 0 },
		/* An address of no interface is that of a single one. */
		{ 1, 0x8001, 1, AF_INET, 0, false, 1 },
		{ 1, 0x8001, 0, AF_INET, 0, true, 0 },
		{ 1, 0x8001, 0, AF_INET, 1, true, 1 },
		{ 1, 0x8001, 0, AF_INET, 2, true, 2 },
		{ 1, 0x8001, 0, AF_UNIX, 1, true, 0 },
		{ 1, 0x8001, 0, 0, 0, true, 1 },
	};
	struct clients_fixture *fix = test->priv;
	struct net_device *devs[] = { NULL, fix->dev, fix->lower }, *got;
	const struct clients_request *request;
	struct sockaddr_in addr = {};
	union ib_gid gid = {};
	unsigned int i;

	list_add_tail(&fix->priv->list, &fix->made.devs);
	list_add_tail(&fix->other.list, &fix->made.devs);
	addr.sin_addr.s_addr = CLIENTS_ADDR;
	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		request = &requests[i];
		fix->other.port = request->twin ? 1 : 2;
		fix->other.pkey = request->twin ? 0x8001 : 0x8002;
		fix->addressed = devs[request->has];
		fix->held = NULL;
		gid.raw[15] = request->gid;
		addr.sin_family = request->addr;
		got = ipoib_client_get_netdev(&fix->ca, request->port, request->pkey,
					      request->gid ? &gid : NULL,
					      request->addr ? (struct sockaddr *)&addr : NULL,
					      &fix->made);
		KUNIT_EXPECT_PTR_EQ(test, got, devs[request->found]);
		KUNIT_EXPECT_PTR_EQ(test, fix->held, got);
	}
	/* A bond has the addresses of its interfaces, a VRF has not. */
	addr.sin_family = AF_INET;
	fix->bond = fix->lower;
	fix->addressed = fix->bond;
	got = ipoib_client_get_netdev(&fix->ca, 1, 0x8001, NULL, (struct sockaddr *)&addr,
				      &fix->made);
	KUNIT_EXPECT_PTR_EQ(test, got, fix->bond);
	fix->other.port = 2;
	fix->bond->priv_flags |= IFF_L3MDEV_MASTER;
	got = ipoib_client_get_netdev(&fix->ca, 1, 0x8001, NULL, (struct sockaddr *)&addr,
				      &fix->made);
	KUNIT_EXPECT_PTR_EQ(test, got, fix->dev);
}

static struct kunit_case ipoib_client_cases[] = {
	KUNIT_CASE(clients_ports),
	KUNIT_CASE(clients_hca),
	KUNIT_CASE(clients_events),
	KUNIT_CASE(clients_requests),
	{}
};

struct kunit_suite ipoib_client_suite = {
	.name = "ipoib_client",
	.init = clients_init,
	.exit = clients_exit,
	.test_cases = ipoib_client_cases,
};
