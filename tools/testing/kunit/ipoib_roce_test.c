// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the RoCE fabric: GIDs of the port, path queries, memberships, and events of net_devices,
 * addresses and neighbours
 */
#include <linux/etherdevice.h>
#include <linux/if_macvlan.h>
#include <linux/if_vlan.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/neighbour.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_hca_find_on	roce_find_on
#define ipoib_neigh_mac_moved	roce_mac_moved
#define ipoib_neigh_answered	roce_answered
#define ipoib_neigh_all_stale	roce_all_stale
#define ipoib_mcast_answer	roce_mcast_answer
#define ipoib_cm_gid_lost	roce_gid_lost
#define ipoib_dev_port_change	roce_port_change

#include "ipoib.h"

/* The RDMA core, IPv6, and works */
#undef flush_workqueue
#define rdma_find_gid_by_port(ca, gid, type, port, ndev)	roce_find_gid(gid, type, ndev)
#define rdma_get_gid_attr(ca, port, i)				roce_get_gid(i)
#define rdma_put_gid_attr(attr)					roce_put_gid(attr)
#define rdma_read_gid_attr_ndev_rcu(attr)			rcu_access_pointer((attr)->ndev)
#define rdma_resolve_ip						roce_resolve_ip
#define rdma_addr_cancel(addr)					roce_addr_cancel(addr)
#define ib_query_port(ca, port, attr)				roce_query_port(attr)
#define __in6_dev_get(ndev)					roce_in6_dev(ndev)
#define ipv6_chk_addr_and_flags(net, addr, ndev, skip, strict, banned)	((void)(net), 1)
#define ipv6_dev_mc_inc(ndev, addr)				roce_mc_inc(addr)
#define ipv6_dev_mc_dec(ndev, addr)				roce_mc_dec(addr)
#define __in_dev_get_rtnl(ndev)					roce_in_dev(ndev)
#define ip_mc_inc_group(in_dev, addr)				roce_ip_inc(in_dev, addr)
#define ip_mc_dec_group(in_dev, addr)				roce_ip_dec(in_dev, addr)
#define ib_init_ah_from_mcmember				roce_init_ah
#define kfree(object)						roce_free(object)
#define ipoib_ctl_post(priv, event)				set_bit(event, &(priv)->ctl.events)
#define ipoib_ctl_post_later(priv, event, delay)		roce_post_later(event, delay)
#define queue_work(wq, work)					roce_queue(work)
#define flush_workqueue(wq)					((void)(wq))
#define flush_delayed_work(work)				((void)(work))

#define ROCE_GIDS	4

/**
 * struct roce_fixture - fixture of a case
 * @priv: an interface
 * @roce: its part of a RoCE port
 * @ca: an HCA
 * @port: its port is the second entry
 * @dev: net_device of @priv
 * @lower: net_device of the port, with carrier
 * @idev: its IPv6
 * @in_dev: its IPv4
 * @no_in_dev: it has no IPv4
 * @mc: groups of @in_dev; the second is that of the last join
 * @gid: GID table of the port; without @ndev: no entry
 * @taken: references to entries
 * @query: result of ib_query_port()
 * @neigh: a neighbour
 * @mcast: a group
 * @resolve_err: result of rdma_resolve_ip()
 * @timeouts: its timeouts, in ms
 * @ntimeouts: number of them
 * @cancels: calls of rdma_addr_cancel()
 * @addr: answer of the address resolution
 * @moved_gid: GID of a neighbour that has moved
 * @moved_mac: its address
 * @moves: number of moves
 * @losses: of those, without an address
 * @answers: answers to path queries
 * @answer: status of the last
 * @rec: its path record
 * @mcast_answers: answers to joins
 * @mcast_status: status of the last
 * @mc_err: result of a join on @lower
 * @members: joins on @lower less leaves
 * @mc_joins: joins on @lower
 * @later: delay of the last control event with a delay
 * @later_event: the event
 * @works: works queued
 * @stale: times that all paths became stale
 * @lost: times that connections ended for a GID
 * @changes: times that the port was given up for a change of its GID
 * @freed: freed objects
 */
struct roce_fixture {
	struct ipoib_dev priv;
	struct ipoib_roce *roce;
	struct ib_device ca;
	struct ib_port_data port[2];
	struct net_device *dev;
	struct net_device *lower;
	struct inet6_dev idev;
	struct in_device in_dev;
	bool no_in_dev;
	struct ip_mc_list mc[2];
	struct ib_gid_attr gid[ROCE_GIDS];
	int taken;
	struct ib_port_attr query;
	struct ipoib_neigh neigh;
	struct ipoib_mcast mcast;
	int resolve_err;
	unsigned int timeouts[4];
	unsigned int ntimeouts;
	unsigned int cancels;
	struct rdma_dev_addr addr;
	union ib_gid moved_gid;
	u8 moved_mac[ETH_ALEN];
	unsigned int moves;
	unsigned int losses;
	unsigned int answers;
	int answer;
	struct sa_path_rec rec;
	unsigned int mcast_answers;
	int mcast_status;
	int mc_err;
	int members;
	unsigned int mc_joins;
	unsigned long later;
	unsigned int later_event;
	unsigned int works;
	unsigned int stale;
	unsigned int lost;
	unsigned int changes;
	unsigned int freed;
};

/* The fixture of the running case */
static struct roce_fixture *roce_fix;

/* ---- functions of the driver ---- */

struct ipoib_dev *ipoib_hca_find_on(const struct net_device *lower)
{
	return lower == roce_fix->lower ? &roce_fix->priv : NULL;
}

void ipoib_neigh_mac_moved(struct ipoib_dev *priv, const union ib_gid *gid, const u8 *mac)
{
	roce_fix->moves++;
	roce_fix->moved_gid = *gid;
	if (mac)
		memcpy(roce_fix->moved_mac, mac, ETH_ALEN);
	else
		roce_fix->losses++;
}

void ipoib_neigh_answered(struct ipoib_neigh *neigh, int status, const struct sa_path_rec *rec)
{
	roce_fix->answers++;
	roce_fix->answer = status;
	roce_fix->rec = *rec;
}

void ipoib_neigh_all_stale(struct ipoib_dev *priv)
{
	roce_fix->stale++;
}

void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status)
{
	roce_fix->mcast_answers++;
	roce_fix->mcast_status = status;
}

void ipoib_cm_gid_lost(struct ipoib_dev *priv)
{
	roce_fix->lost++;
}

void ipoib_dev_port_change(struct ipoib_dev *priv)
{
	roce_fix->changes++;
}

/* ---- RDMA core and stack ---- */

static const struct ib_gid_attr *roce_get_gid(unsigned int i)
{
	if (i >= ROCE_GIDS || !rcu_access_pointer(roce_fix->gid[i].ndev))
		return ERR_PTR(-ENODATA);
	roce_fix->taken++;
	return &roce_fix->gid[i];
}

static void roce_put_gid(const struct ib_gid_attr *attr)
{
	roce_fix->taken--;
}

static const struct ib_gid_attr *roce_find_gid(const union ib_gid *gid, enum ib_gid_type type,
					       struct net_device *ndev)
{
	unsigned int i;

	for (i = 0; i < ROCE_GIDS; i++)
		if (rcu_access_pointer(roce_fix->gid[i].ndev) == ndev &&
		    roce_fix->gid[i].gid_type == type &&
		    !memcmp(&roce_fix->gid[i].gid, gid, sizeof(*gid)))
			return roce_get_gid(i);
	return ERR_PTR(-ENOENT);
}

static int roce_resolve_ip(struct sockaddr *src, const struct sockaddr *dst,
			   struct rdma_dev_addr *addr, unsigned long timeout_ms,
			   void (*callback)(int status, struct sockaddr *src,
					    struct rdma_dev_addr *addr, void *context),
			   bool resolve_by_gid_attr, void *context)
{
	roce_fix->timeouts[roce_fix->ntimeouts++ % ARRAY_SIZE(roce_fix->timeouts)] = timeout_ms;
	return roce_fix->resolve_err;
}

static void roce_addr_cancel(struct rdma_dev_addr *addr)
{
	roce_fix->cancels++;
}

static int roce_query_port(struct ib_port_attr *attr)
{
	*attr = roce_fix->query;
	return 0;
}

static const struct inet6_dev *roce_in6_dev(const struct net_device *ndev)
{
	return &roce_fix->idev;
}

static int roce_mc_inc(const struct in6_addr *addr)
{
	roce_fix->mc_joins++;
	if (!roce_fix->mc_err)
		roce_fix->members++;
	return roce_fix->mc_err;
}

static void roce_mc_dec(const struct in6_addr *addr)
{
	roce_fix->members--;
}

static struct in_device *roce_in_dev(const struct net_device *ndev)
{
	return roce_fix->no_in_dev ? NULL : &roce_fix->in_dev;
}

static void roce_ip_inc(const struct in_device *in_dev, __be32 addr)
{
	roce_fix->mc_joins++;
	if (roce_fix->mc_err)
		return;
	roce_fix->members++;
	roce_fix->mc[1].multiaddr = addr;
}

static void roce_ip_dec(const struct in_device *in_dev, __be32 addr)
{
	roce_fix->members -= addr == roce_fix->mc[1].multiaddr;
	roce_fix->mc[1].multiaddr = 0;
}

static int roce_init_ah(struct ib_device *ca, u32 port, struct ib_sa_mcmember_rec *rec,
			struct net_device *ndev, enum ib_gid_type type, struct rdma_ah_attr *attr)
{
	if (ca != &roce_fix->ca || port != 1 || ndev != roce_fix->lower ||
	    type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;
	return memcmp(&rec->port_gid, &roce_fix->priv.local_gid, sizeof(rec->port_gid)) ?
	       -EADDRNOTAVAIL : 0;
}

static void roce_post_later(unsigned int event, unsigned long delay)
{
	roce_fix->later_event = event;
	roce_fix->later = delay;
}

static bool roce_queue(struct work_struct *work)
{
	roce_fix->works++;
	return true;
}

static void roce_free(const void *object);

#include "roce/roce.c"

#undef kfree

static void roce_free(const void *object)
{
	roce_fix->freed += !!object;
	kfree(object);
}

static const union ib_gid roce_gid = {
	.raw = { 0xfe, 0x80, [8] = 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55 },
};

static const union ib_gid roce_other_gid = {
	.raw = { 0xfe, 0x80, [8] = 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x66 },
};

static const union ib_gid roce_global_gid = {
	.raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
};

static const union ib_gid roce_ipv4_gid = {
	.raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
};

static const union ib_gid roce_mgid = {
	.raw = { 0xff, 0x12, 0x60, 0x1b, 0xff, 0xff, [15] = 0xfb },
};

static void roce_set_gid(unsigned int i, const union ib_gid *gid)
{
	roce_fix->gid[i].gid = *gid;
	roce_fix->gid[i].gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	rcu_assign_pointer(roce_fix->gid[i].ndev, roce_fix->lower);
}

static int roce_init(struct kunit *test)
{
	struct roce_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_dev *priv;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev(0, "ipoib_roce%d", NET_NAME_UNKNOWN, ether_setup);
	fix->lower = alloc_netdev(0, "ipoib_lower%d", NET_NAME_UNKNOWN, ether_setup);
	roce_fix = fix;
	priv = &fix->priv;
	priv->lower = fix->lower;
	if (!fix->dev || !fix->lower || ipoib_roce_init(priv)) {
		if (fix->dev)
			free_netdev(fix->dev);
		if (fix->lower)
			free_netdev(fix->lower);
		kvfree(fix);
		return -ENOMEM;
	}
	fix->roce = priv->roce;
	set_bit(__LINK_STATE_START, &fix->lower->state);
	fix->ca.port_data = fix->port;
	fix->ca.ops.driver_id = RDMA_DRIVER_MLX5;
	fix->port[1].immutable.gid_tbl_len = ROCE_GIDS;
	fix->port[1].immutable.core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
	fix->query.state = IB_PORT_ACTIVE;
	fix->query.max_mtu = IB_MTU_4096;
	fix->query.active_mtu = IB_MTU_4096;
	priv->ca = &fix->ca;
	priv->port = 1;
	priv->netdev = fix->dev;
	priv->local_gid = roce_gid;
	priv->port_mtu = 2044;
	spin_lock_init(&priv->neigh.lock);
	roce_set_gid(0, &roce_gid);
	fix->neigh.priv = priv;
	fix->neigh.gid = roce_other_gid;
	fix->mcast.priv = priv;
	fix->mcast.mgid = roce_mgid;
	test->priv = fix;
	return 0;
}

static void roce_exit(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, fix->taken, 0);
	fix->dev->reg_state = NETREG_UNINITIALIZED;
	ipoib_roce_exit(&fix->priv);
	free_netdev(fix->lower);
	free_netdev(fix->dev);
	kvfree(fix);
}

/* Choose a GID. Return: its index, or a negative error */
static int roce_choose(const union ib_gid *now)
{
	struct ipoib_port chosen = { .gid = *now };
	int i = ipoib_roce_choose_gid(&roce_fix->ca, 1, roce_fix->lower, &chosen);

	if (i < 0 && memcmp(&chosen.gid, now, sizeof(*now)))
		return -EINVAL;
	if (i >= 0 && (memcmp(&chosen.gid, &roce_fix->gid[i].gid, sizeof(*now)) ||
		       chosen.gid_entry != &roce_fix->gid[i]))
		return -EINVAL;
	return i;
}

/* Link-local IPv6 with RoCE v2, the GID in use or the first; IPv4 only without IPv6 */
static void roce_gids(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;

	roce_set_gid(1, &roce_other_gid);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), 0);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_other_gid), 1);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_mgid), 0);
	fix->gid[0].gid_type = IB_GID_TYPE_ROCE;
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), 1);
	fix->gid[0].gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	rcu_assign_pointer(fix->gid[0].ndev, fix->dev);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), 1);
	rcu_assign_pointer(fix->gid[0].ndev, NULL);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), 1);
	roce_set_gid(0, &roce_ipv4_gid);
	roce_set_gid(1, &roce_global_gid);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), -ENOENT);
	fix->idev.cnf.disable_ipv6 = 1;
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), 0);
	roce_set_gid(0, &roce_gid);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), -ENOENT);
	KUNIT_EXPECT_TRUE(test, ipoib_roce_is_port_of(&fix->ca, 1, fix->lower));
	rcu_assign_pointer(fix->gid[0].ndev, fix->dev);
	rcu_assign_pointer(fix->gid[1].ndev, NULL);
	KUNIT_EXPECT_EQ(test, roce_choose(&roce_gid), -ENODEV);
	KUNIT_EXPECT_FALSE(test, ipoib_roce_is_port_of(&fix->ca, 1, fix->lower));
	KUNIT_EXPECT_TRUE(test, ipoib_roce_is_port_of(&fix->ca, 1, fix->dev));
	fix->port[1].immutable.core_cap_flags = RDMA_CORE_CAP_PROT_ROCE;
	KUNIT_EXPECT_FALSE(test, ipoib_roce_is_port_of(&fix->ca, 1, fix->dev));
}

/* The GID of a request has to be the interface's: GID, version of RoCE and net_device. */
static void roce_requests(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;
	struct ib_gid_attr *attr = &fix->gid[0];
	struct ib_cm_req_event_param req = { .ppath_sgid_attr = attr };
	struct sa_path_rec path = { .mtu = IB_MTU_2048 };
	struct ipoib_dev *priv = &fix->priv;

	req.primary_path = &path;
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), 0);
	path.mtu = IB_MTU_4096;
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), (int)IB_CM_REJ_INVALID_MTU);
	path.mtu = 63;
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), (int)IB_CM_REJ_INVALID_MTU);
	path.mtu = IB_MTU_256;
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), 0);
	attr->gid_type = IB_GID_TYPE_ROCE;
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), (int)IB_CM_REJ_INVALID_GID);
	attr->gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	attr->gid = roce_other_gid;
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), (int)IB_CM_REJ_INVALID_GID);
	attr->gid = roce_gid;
	rcu_assign_pointer(attr->ndev, fix->dev);
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), (int)IB_CM_REJ_INVALID_GID);
	req.ppath_sgid_attr = NULL;
	KUNIT_EXPECT_EQ(test, ipoib_roce_conn_check(priv, &req), (int)IB_CM_REJ_INVALID_GID);
}

static bool roce_lacks(const char *what)
{
	return roce_fix->roce->reported_missing && strstr(roce_fix->roce->reported_missing, what);
}

/* Attributes of the port, and the reason of a missing GID */
static void roce_port(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	struct ipoib_port port = {};

	/* Not registered: the HCA is not asked. */
	fix->lower->mtu = 1500;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_FALSE(test, port.active);
	KUNIT_EXPECT_EQ(test, port.mtu, 1020u);
	KUNIT_EXPECT_EQ(test, port.max_mtu, 4092u);
	KUNIT_EXPECT_EQ(test, (unsigned int)port.pkey, 0xffffu);
	fix->dev->reg_state = NETREG_REGISTERED;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_TRUE(test, port.active);
	KUNIT_EXPECT_EQ(test, port.mtu, 4092u);
	KUNIT_EXPECT_PTR_EQ(test, port.gid_entry, &fix->gid[0]);
	KUNIT_EXPECT_PTR_EQ(test, fix->roce->reported_missing, NULL);
	/* The MTU of a VLAN */
	priv->vid = 5;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.mtu, 1020u);
	fix->query.state = IB_PORT_DOWN;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_FALSE(test, port.active);
	fix->query.state = IB_PORT_ACTIVE;
	fix->gid[0].gid = roce_ipv4_gid;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_FALSE(test, port.active);
	KUNIT_EXPECT_TRUE(test, !memcmp(&port.gid, &roce_gid, sizeof(roce_gid)));
	KUNIT_EXPECT_TRUE(test, roce_lacks("link-local"));
	fix->gid[0].gid = roce_gid;
	fix->idev.cnf.disable_ipv6 = 1;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_TRUE(test, roce_lacks("no IPv4"));
	clear_bit(__LINK_STATE_START, &fix->lower->state);
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_TRUE(test, roce_lacks("carrier"));
	fix->idev.cnf.disable_ipv6 = 0;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(priv, &port), 0);
	KUNIT_EXPECT_FALSE(test, port.active);
	KUNIT_EXPECT_PTR_EQ(test, fix->roce->reported_missing, NULL);
}

/* The rate of the link is that of the port, once it is read. */
static void roce_rate(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;
	struct ipoib_port port = {};

	fix->query.active_speed = IB_SPEED_EDR;
	fix->query.active_width = IB_WIDTH_4X;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(&fix->priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.mbps, 0u);
	fix->dev->reg_state = NETREG_REGISTERED;
	KUNIT_EXPECT_EQ(test, ipoib_roce_port_read(&fix->priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.mbps, 100000u);
}

/* Events of the port: without its GID, soft-RoCE loses its connections. */
static void roce_port_events(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	ipoib_roce_event(priv, IB_EVENT_SM_CHANGE);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CTL_PORT, &priv->ctl.events));
	ipoib_roce_event(priv, IB_EVENT_PORT_ERR);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_PORT, &priv->ctl.events));
	KUNIT_EXPECT_EQ(test, fix->stale, 0u);
	ipoib_roce_event(priv, IB_EVENT_GID_CHANGE);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_PORT, &priv->ctl.events));
	KUNIT_EXPECT_EQ(test, fix->stale, 1u);
	KUNIT_EXPECT_EQ(test, fix->taken, 0);
	fix->gid[0].gid = roce_other_gid;
	KUNIT_EXPECT_PTR_EQ(test, ipoib_roce_gid_attr(priv), ERR_PTR(-ENODEV));
	ipoib_roce_event(priv, IB_EVENT_GID_CHANGE);
	KUNIT_EXPECT_EQ(test, fix->stale, 2u);
	KUNIT_EXPECT_EQ(test, fix->lost, 0u);
	/* Without connected mode there is nothing to end. */
	fix->ca.ops.driver_id = RDMA_DRIVER_RXE;
	ipoib_roce_event(priv, IB_EVENT_GID_CHANGE);
	KUNIT_EXPECT_EQ(test, fix->lost, 0u);
	priv->cm = (void *)fix;
	ipoib_roce_event(priv, IB_EVENT_GID_CHANGE);
	KUNIT_EXPECT_EQ(test, fix->lost, ipoib_has_cm(priv) ? 1u : 0u);
	fix->gid[0].gid = roce_gid;
	fix->lost = 0;
	ipoib_roce_event(priv, IB_EVENT_GID_CHANGE);
	KUNIT_EXPECT_EQ(test, fix->lost, 0u);
}

/* Begin a query and run its work. */
static void roce_ask(const union ib_gid *gid)
{
	roce_fix->neigh.gid = *gid;
	roce_fix->ntimeouts = 0;
	roce_fix->cancels = 0;
	roce_fix->answers = 0;
	roce_fix->works = 0;
	spin_lock_bh(&roce_fix->priv.neigh.lock);
	ipoib_roce_path_get(&roce_fix->priv, &roce_fix->neigh);
	spin_unlock_bh(&roce_fix->priv.neigh.lock);
}

static void roce_run(void)
{
	struct ipoib_roce_query *query = roce_fix->neigh.query;

	if (query)
		ipoib_roce_query_work(&query->work);
}

/* The address resolution ends, and the work of the query runs. */
static void roce_resolve(int status)
{
	struct ipoib_roce_query *query = roce_fix->neigh.query;

	if (!query)
		return;
	memcpy(query->addr.dst_dev_addr, roce_fix->addr.dst_dev_addr, MAX_ADDR_LEN);
	query->addr.network = roce_fix->addr.network;
	query->addr.hoplimit = roce_fix->addr.hoplimit;
	ipoib_roce_resolved(status, NULL, &query->addr, query);
	roce_run();
}

/* A path from the answer to a query, and its parameters */
static void roce_path(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x66 };
	struct roce_fixture *fix = test->priv;
	struct sa_path_rec *rec = &fix->rec;

	memcpy(fix->addr.dst_dev_addr, mac, ETH_ALEN);
	fix->addr.network = RDMA_NETWORK_ROCE_V1;
	fix->addr.hoplimit = 7;
	roce_ask(&roce_other_gid);
	KUNIT_EXPECT_EQ(test, fix->works, 1u);
	roce_run();
	KUNIT_EXPECT_EQ(test, fix->answers, 0u);
	KUNIT_EXPECT_EQ(test, fix->ntimeouts, 1u);
	KUNIT_EXPECT_EQ(test, fix->cancels, 0u);
	roce_resolve(0);
	KUNIT_EXPECT_EQ(test, fix->works, 2u);
	KUNIT_EXPECT_EQ(test, fix->cancels, 1u);
	KUNIT_EXPECT_EQ(test, fix->ntimeouts, 1u);
	KUNIT_EXPECT_EQ(test, fix->answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->answer, 0);
	KUNIT_EXPECT_PTR_EQ(test, fix->neigh.query, NULL);
	KUNIT_EXPECT_EQ(test, fix->taken, 0);
	KUNIT_EXPECT_TRUE(test, rec->rec_type == SA_PATH_REC_TYPE_ROCE_V2);
	KUNIT_EXPECT_TRUE(test, !memcmp(&rec->sgid, &roce_gid, sizeof(rec->sgid)));
	KUNIT_EXPECT_TRUE(test, !memcmp(&rec->dgid, &roce_other_gid, sizeof(rec->dgid)));
	KUNIT_EXPECT_TRUE(test, !memcmp(rec->roce.dmac, mac, ETH_ALEN));
	KUNIT_EXPECT_TRUE(test, rec->roce.route_resolved);
	KUNIT_EXPECT_EQ(test, (int)rec->hop_limit, 7);
	KUNIT_EXPECT_TRUE(test, rec->pkey == htons(0xffff));
	KUNIT_EXPECT_EQ(test, (int)rec->mtu_selector, (int)IB_SA_EQ);
	KUNIT_EXPECT_EQ(test, (int)rec->mtu, (int)IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, (int)rec->rate_selector, (int)IB_SA_EQ);
	KUNIT_EXPECT_EQ(test, (int)rec->rate, (int)IB_RATE_PORT_CURRENT);
	KUNIT_EXPECT_EQ(test, (int)rec->packet_life_time_selector, (int)IB_SA_EQ);
	KUNIT_EXPECT_EQ(test, (int)rec->packet_life_time, 13);
	KUNIT_EXPECT_TRUE(test, rec->flow_label && !(ntohl(rec->flow_label) >> 20));
}

/* Queries that end without a path; a timeout is tried three times. */
static void roce_no_path(struct kunit *test)
{
	static const union ib_gid loopback = { .raw = { [15] = 1 } };
	static const union ib_gid any;
	static const union ib_gid *gids[] = { &any, &loopback, &roce_mgid };
	struct roce_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gids); i++) {
		roce_ask(gids[i]);
		roce_run();
		KUNIT_EXPECT_EQ(test, fix->ntimeouts, 0u);
		KUNIT_EXPECT_EQ(test, fix->answers, 1u);
		KUNIT_EXPECT_EQ(test, fix->answer, -EADDRNOTAVAIL);
	}
	/* A GID of IPv4 on a port with IPv6 */
	roce_ask(&roce_ipv4_gid);
	roce_run();
	KUNIT_EXPECT_EQ(test, fix->ntimeouts, 0u);
	KUNIT_EXPECT_EQ(test, fix->answer, -EAFNOSUPPORT);
	roce_ask(&roce_other_gid);
	roce_run();
	roce_resolve(-ETIMEDOUT);
	roce_resolve(-ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fix->answers, 0u);
	roce_resolve(-ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fix->answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->answer, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fix->ntimeouts, 3u);
	KUNIT_EXPECT_EQ(test, fix->timeouts[0], 10u);
	KUNIT_EXPECT_EQ(test, fix->timeouts[1], 100u);
	KUNIT_EXPECT_EQ(test, fix->timeouts[2], 1000u);
	KUNIT_EXPECT_EQ(test, fix->cancels, 3u);
	roce_ask(&roce_other_gid);
	roce_run();
	roce_resolve(-EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, fix->answer, -EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, fix->ntimeouts, 1u);
	/* Routers, and an address of all nodes */
	for (i = 0; i < 3; i++) {
		fix->addr.network = i == 0 ? RDMA_NETWORK_IPV4 :
				    i == 1 ? RDMA_NETWORK_IPV6 : RDMA_NETWORK_ROCE_V1;
		if (i == 2)
			eth_broadcast_addr(fix->addr.dst_dev_addr);
		roce_ask(&roce_other_gid);
		roce_run();
		roce_resolve(0);
		KUNIT_EXPECT_EQ(test, fix->answers, 1u);
		KUNIT_EXPECT_EQ(test, fix->answer, i < 2 ? -ENETUNREACH : -EADDRNOTAVAIL);
	}
	/* Cancelled before it began, and later */
	roce_ask(&roce_other_gid);
	ipoib_roce_path_cancel(&fix->neigh);
	KUNIT_EXPECT_EQ(test, fix->works, 2u);
	roce_run();
	KUNIT_EXPECT_EQ(test, fix->ntimeouts, 0u);
	KUNIT_EXPECT_EQ(test, fix->answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->answer, -ECANCELED);
	roce_ask(&roce_other_gid);
	roce_run();
	ipoib_roce_path_cancel(&fix->neigh);
	roce_run();
	KUNIT_EXPECT_EQ(test, fix->cancels, 1u);
	KUNIT_EXPECT_EQ(test, fix->answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->answer, -ECANCELED);
	/* A resolution that does not begin, and a port without the GID */
	fix->resolve_err = -ENOMEM;
	roce_ask(&roce_other_gid);
	roce_run();
	KUNIT_EXPECT_EQ(test, fix->answer, -ENOMEM);
	fix->gid[0].gid = roce_other_gid;
	roce_ask(&roce_other_gid);
	roce_run();
	KUNIT_EXPECT_EQ(test, fix->answer, -ENODEV);
	KUNIT_EXPECT_EQ(test, fix->taken, 0);
}

/* The record of a group; a member joins on the port, and leaves. */
static void roce_group(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;
	struct ib_sa_multicast *handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	struct ib_sa_mcmember_rec *rec = &handle->rec;
	struct ipoib_roce *roce = fix->roce;

	KUNIT_EXPECT_TRUE(test, !memcmp(&rec->mgid, &roce_mgid, sizeof(rec->mgid)));
	KUNIT_EXPECT_TRUE(test, !memcmp(&rec->port_gid, &roce_gid, sizeof(rec->port_gid)));
	KUNIT_EXPECT_EQ(test, ntohl(rec->qkey), 0x80004391u);
	KUNIT_EXPECT_TRUE(test, rec->pkey == htons(0xffff));
	KUNIT_EXPECT_EQ(test, (int)rec->mtu_selector, (int)IB_SA_EQ);
	KUNIT_EXPECT_EQ(test, (int)rec->mtu, (int)IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, (int)rec->rate, (int)IB_RATE_PORT_CURRENT);
	KUNIT_EXPECT_EQ(test, (int)rec->hop_limit, 1);
	KUNIT_EXPECT_EQ(test, (int)rec->scope, 2);
	KUNIT_EXPECT_EQ(test, (int)rec->join_state, (int)IPOIB_JOIN_FULL);
	KUNIT_EXPECT_EQ(test, fix->mcast_answers, 0u);
	KUNIT_EXPECT_EQ(test, fix->works, 1u);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 1);
	KUNIT_EXPECT_EQ(test, fix->mcast_answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&roce->joined));
	/* Joined again, which has no answer */
	ipoib_roce_group_refresh(roce);
	KUNIT_EXPECT_EQ(test, fix->works, 2u);
	KUNIT_EXPECT_TRUE(test, list_empty(&roce->joined));
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->mc_joins, 2u);
	KUNIT_EXPECT_EQ(test, fix->members, 1);
	KUNIT_EXPECT_EQ(test, fix->mcast_answers, 1u);
	KUNIT_EXPECT_FALSE(test, list_empty(&roce->joined));
	/* The port refuses it: the membership is lost. */
	fix->mc_err = -ENOMEM;
	ipoib_roce_group_refresh(roce);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 0);
	KUNIT_EXPECT_EQ(test, fix->mcast_answers, 2u);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, -ENETRESET);
	KUNIT_EXPECT_TRUE(test, list_empty(&roce->joined));
	ipoib_roce_group_leave(handle);
	KUNIT_EXPECT_EQ(test, fix->works, 4u);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 0);
	/* A join that fails, and a membership that ends */
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->mcast_answers, 3u);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, -ENOMEM);
	ipoib_roce_group_leave(handle);
	ipoib_roce_group_work(&roce->group_work);
	fix->mc_err = 0;
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 1);
	ipoib_roce_group_leave(handle);
	KUNIT_EXPECT_EQ(test, fix->members, 1);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&roce->todo));
	KUNIT_EXPECT_TRUE(test, list_empty(&roce->joined));
}

/* A sender needs no membership; on a port with IPv4 all groups are one. */
static void roce_senders(struct kunit *test)
{
	union ib_gid all = { .raw = { [10] = 0xff, 0xff, 239, 255, 67, 145 } };
	struct roce_fixture *fix = test->priv;
	struct ib_sa_multicast *handle;

	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_SEND);
	KUNIT_EXPECT_EQ(test, fix->mcast_answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, 0);
	ipoib_roce_group_work(&fix->roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->mc_joins, 0u);
	ipoib_roce_group_leave(handle);
	KUNIT_EXPECT_EQ(test, fix->works, 0u);
	fix->priv.local_gid = roce_ipv4_gid;
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_SEND);
	KUNIT_EXPECT_TRUE(test, !memcmp(&handle->rec.mgid, &all, sizeof(all)));
	KUNIT_EXPECT_TRUE(test, ipoib_roce_ipv4(&handle->rec.mgid) == htonl(0xefff4391));
	ipoib_roce_group_leave(handle);
}

/* A group on a port with IPv4: joined once the stack lists it */
static void roce_ipv4_group(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;
	struct ipoib_roce *roce = fix->roce;
	struct ib_sa_multicast *handle;

	fix->priv.local_gid = roce_ipv4_gid;
	fix->mc[0].multiaddr = htonl(0xe0000001);
	RCU_INIT_POINTER(fix->mc[0].next_rcu, &fix->mc[1]);
	RCU_INIT_POINTER(fix->in_dev.mc_list, &fix->mc[0]);
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 1);
	KUNIT_EXPECT_TRUE(test, fix->mc[1].multiaddr == htonl(0xefff4391));
	KUNIT_EXPECT_EQ(test, fix->mcast_answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, 0);
	/* The stack has no memory, and does not say so. */
	fix->mc_err = -ENOMEM;
	ipoib_roce_group_refresh(roce);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 0);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, -ENETRESET);
	ipoib_roce_group_leave(handle);
	ipoib_roce_group_work(&roce->group_work);
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, -ENOMEM);
	ipoib_roce_group_leave(handle);
	ipoib_roce_group_work(&roce->group_work);
	/* Left by the last user */
	fix->mc_err = 0;
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 1);
	ipoib_roce_group_leave(handle);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->members, 0);
	fix->no_in_dev = true;
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	ipoib_roce_group_work(&roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->mcast_status, -ENODEV);
	KUNIT_EXPECT_EQ(test, fix->mc_joins, 4u);
	ipoib_roce_group_leave(handle);
	ipoib_roce_group_work(&roce->group_work);
}

/* The MAC address of a group is that of its IP address. */
static void roce_handles(struct kunit *test)
{
	static const u8 mac6[ETH_ALEN] = { 0x33, 0x33, 0, 0, 0, 0xfb };
	static const u8 mac4[ETH_ALEN] = { 0x01, 0x00, 0x5e, 0x7f, 0x43, 0x91 };
	union ib_gid all = { .raw = { [10] = 0xff, 0xff, 239, 255, 67, 145 } };
	struct roce_fixture *fix = test->priv;
	struct ib_sa_mcmember_rec rec = { .mgid = roce_mgid, .port_gid = roce_gid };
	struct rdma_ah_attr attr = {};

	KUNIT_EXPECT_EQ(test, ipoib_roce_group_ah(&fix->priv, &rec, &attr), 0);
	KUNIT_EXPECT_EQ(test, memcmp(attr.roce.dmac, mac6, ETH_ALEN), 0);
	rec.mgid = all;
	KUNIT_EXPECT_EQ(test, ipoib_roce_group_ah(&fix->priv, &rec, &attr), 0);
	KUNIT_EXPECT_EQ(test, memcmp(attr.roce.dmac, mac4, ETH_ALEN), 0);
	/* The GID has changed since the join. */
	rec.port_gid = roce_other_gid;
	KUNIT_EXPECT_EQ(test, ipoib_roce_group_ah(&fix->priv, &rec, &attr), -ENODEV);
}

/* Queries, senders and memberships are freed at their end. */
static void roce_freed(struct kunit *test)
{
	struct roce_fixture *fix = test->priv;
	struct ib_sa_multicast *handle;

	roce_ask(&roce_mgid);
	KUNIT_EXPECT_EQ(test, fix->freed, 0u);
	roce_run();
	KUNIT_EXPECT_EQ(test, fix->freed, 1u);
	roce_ask(&roce_other_gid);
	roce_run();
	roce_resolve(-EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, fix->freed, 2u);
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_SEND);
	ipoib_roce_group_leave(handle);
	KUNIT_EXPECT_EQ(test, fix->freed, 3u);
	handle = ipoib_roce_group_join(&fix->mcast, IPOIB_JOIN_FULL);
	ipoib_roce_group_work(&fix->roce->group_work);
	ipoib_roce_group_leave(handle);
	KUNIT_EXPECT_EQ(test, fix->freed, 3u);
	ipoib_roce_group_work(&fix->roce->group_work);
	KUNIT_EXPECT_EQ(test, fix->freed, 4u);
}

/* The notifier, for a net_device. Return: events of the control work */
static unsigned long roce_notify(struct net_device *dev, unsigned long event)
{
	struct netdev_notifier_info info = { .dev = dev };
	unsigned long events;

	roce_fix->later = 0;
	roce_fix->later_event = 0;
	roce_fix->works = 0;
	roce_fix->changes = 0;
	ipoib_roce_netdev_event(NULL, event, &info);
	events = roce_fix->priv.ctl.events;
	roce_fix->priv.ctl.events = 0;
	return events;
}

/* Events of net_devices: of the port, and of others */
static void roce_netdevs(struct kunit *test)
{
	static const struct {
		unsigned long event, posted;
		unsigned int works, changes;
	} rows[] = {
		{ NETDEV_UP, BIT(IPOIB_CTL_PORT), 1, 0 },
		{ NETDEV_CHANGEMTU, BIT(IPOIB_CTL_PORT), 1, 0 },
		{ NETDEV_DOWN, BIT(IPOIB_CTL_PORT), 0, 0 },
		{ NETDEV_CHANGE, BIT(IPOIB_CTL_PORT), 0, 0 },
		{ NETDEV_CHANGEADDR, BIT(IPOIB_CTL_PORT), 0, 0 },
		{ NETDEV_PRE_CHANGEADDR, 0, 0, 1 },
		{ NETDEV_UNREGISTER, BIT(IPOIB_CTL_DELETE), 0, 1 },
		{ NETDEV_CHANGENAME, 0, 0, 0 },
	};
	struct roce_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, roce_notify(fix->lower, rows[i].event), rows[i].posted);
		KUNIT_EXPECT_EQ(test, fix->works, rows[i].works);
		KUNIT_EXPECT_EQ(test, fix->changes, rows[i].changes);
		if (rows[i].event != NETDEV_PRE_CHANGEADDR) {
			KUNIT_EXPECT_EQ(test, fix->later, 0ul);
			continue;
		}
		KUNIT_EXPECT_EQ(test, fix->later, (unsigned long)HZ);
		KUNIT_EXPECT_EQ(test, fix->later_event, (unsigned int)IPOIB_CTL_PORT);
	}
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, roce_notify(fix->dev, rows[i].event), 0ul);
		KUNIT_EXPECT_EQ(test, fix->changes, 0u);
	}
}

/* Addresses of IPv6: soft-RoCE waits for the RDMA core after the removal of one. */
static void roce_addresses(struct kunit *test)
{
	struct inet6_ifaddr *ifa = kzalloc(sizeof(*ifa), GFP_KERNEL | __GFP_NOFAIL);
	struct roce_fixture *fix = test->priv;
	unsigned long *events = &fix->priv.ctl.events;

	ifa->idev = &fix->idev;
	fix->idev.dev = fix->dev;
	ipoib_roce_addr_event(NULL, NETDEV_UP, ifa);
	KUNIT_EXPECT_EQ(test, *events, 0ul);
	fix->idev.dev = fix->lower;
	ipoib_roce_addr_event(NULL, NETDEV_UP, ifa);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_PORT, events));
	ipoib_roce_addr_event(NULL, NETDEV_DOWN, ifa);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_PORT, events));
	fix->ca.ops.driver_id = RDMA_DRIVER_RXE;
	ipoib_roce_addr_event(NULL, NETDEV_UP, ifa);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_PORT, events));
	KUNIT_EXPECT_EQ(test, fix->later, 0ul);
	ipoib_roce_addr_event(NULL, NETDEV_DOWN, ifa);
	KUNIT_EXPECT_EQ(test, *events, 0ul);
	KUNIT_EXPECT_EQ(test, fix->later, HZ / 4ul);
	KUNIT_EXPECT_EQ(test, fix->later_event, (unsigned int)IPOIB_CTL_PORT);
	kfree(ifa);
}

/* Neighbours of the stack: a new address, and one that does not answer any more */
static void roce_neighbours(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x66 };
	struct neigh_table *tbl = kzalloc(sizeof(*tbl), GFP_KERNEL | __GFP_NOFAIL);
	struct roce_fixture *fix = test->priv;
	struct neighbour *n = kzalloc(sizeof(*n) + sizeof(union ib_gid),
				      GFP_KERNEL | __GFP_NOFAIL);

	seqlock_init(&n->ha_lock);
	n->tbl = tbl;
	n->dev = fix->lower;
	memcpy(n->ha, mac, ETH_ALEN);
	memcpy(n->primary_key, &roce_other_gid, sizeof(roce_other_gid));
	tbl->family = AF_INET6;
	n->nud_state = NUD_REACHABLE;
	ipoib_roce_neigh_event(n);
	KUNIT_EXPECT_EQ(test, fix->moves, 1u);
	KUNIT_EXPECT_EQ(test, fix->losses, 0u);
	KUNIT_EXPECT_TRUE(test, !memcmp(&fix->moved_gid, &roce_other_gid, sizeof(union ib_gid)));
	KUNIT_EXPECT_TRUE(test, !memcmp(fix->moved_mac, mac, ETH_ALEN));
	n->nud_state = NUD_FAILED;
	ipoib_roce_neigh_event(n);
	KUNIT_EXPECT_EQ(test, fix->moves, 2u);
	KUNIT_EXPECT_EQ(test, fix->losses, 1u);
	n->nud_state = NUD_INCOMPLETE;
	ipoib_roce_neigh_event(n);
	KUNIT_EXPECT_EQ(test, fix->moves, 2u);
	memcpy(n->primary_key, &roce_ipv4_gid.raw[12], 4);
	tbl->family = AF_INET;
	n->nud_state = NUD_STALE;
	ipoib_roce_neigh_event(n);
	KUNIT_EXPECT_EQ(test, fix->moves, 3u);
	KUNIT_EXPECT_EQ(test, fix->losses, 1u);
	KUNIT_EXPECT_TRUE(test, !memcmp(&fix->moved_gid, &roce_ipv4_gid, sizeof(union ib_gid)));
	tbl->family = AF_PHONET;
	ipoib_roce_neigh_event(n);
	n->dev = fix->dev;
	tbl->family = AF_INET;
	ipoib_roce_neigh_event(n);
	KUNIT_EXPECT_EQ(test, fix->moves, 3u);
	kfree(n);
	kfree(tbl);
}

static struct kunit_case ipoib_roce_cases[] = {
	KUNIT_CASE(roce_gids),
	KUNIT_CASE(roce_requests),
	KUNIT_CASE(roce_port),
	KUNIT_CASE(roce_rate),
	KUNIT_CASE(roce_port_events),
	KUNIT_CASE(roce_path),
	KUNIT_CASE(roce_no_path),
	KUNIT_CASE(roce_group),
	KUNIT_CASE(roce_senders),
	KUNIT_CASE(roce_ipv4_group),
	KUNIT_CASE(roce_handles),
	KUNIT_CASE(roce_freed),
	KUNIT_CASE(roce_netdevs),
	KUNIT_CASE(roce_addresses),
	KUNIT_CASE(roce_neighbours),
	{}
};

struct kunit_suite ipoib_roce_suite = {
	.name = "ipoib_roce",
	.init = roce_init,
	.exit = roce_exit,
	.test_cases = ipoib_roce_cases,
};
