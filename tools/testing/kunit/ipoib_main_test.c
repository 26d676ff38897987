// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the operations of an interface: way of a frame, MTU, features, statistics, events; and
 * of the load of the module
 */
#include <linux/crash_dump.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/neighbour.h>
#include <net/netevent.h>

#include "ipoib_suites.h"

/* Functions and objects of the driver, which other suites define, too */
#define ipoib_sendq_size		main_sendq_size
#define ipoib_recvq_size		main_recvq_size
#define ipoib_enhanced			main_enhanced
#define ipoib_netdev_setup		main_netdev_setup
#define ipoib_netdev_setup_rn		main_netdev_setup_rn
#define ipoib_dev_is_ours		main_dev_is_ours
#define ipoib_link_ops			main_link_ops
#define ipoib_ethtool_ops		main_ethtool_ops
#define ipoib_client			main_client
#define ipoib_sa_client			main_sa_client
#define ipoib_ud_netdev_ops		main_ud_netdev_ops
#define ipoib_stat_add			main_stat_add
#define ipoib_stats_read		main_stats_read
#define ipoib_txq_stats_read		main_txq_stats_read
#define ipoib_stats_link		main_stats_link
#define ipoib_drop			main_drop
#define ipoib_rn_stats			main_rn_stats
#define ipoib_arp_xmit			main_arp_xmit
#define ipoib_arp_neigh_event		main_arp_neigh_event
#define ipoib_mcast_xmit		main_mcast_xmit
#define ipoib_mcast_resync		main_mcast_resync
#define ipoib_pmtu_reject		main_pmtu_reject
#define ipoib_ud_post			main_ud_post
#define ipoib_ud_cut_check		main_ud_cut_check
#define ipoib_dev_up			main_dev_up
#define ipoib_dev_down			main_dev_down
#define ipoib_dev_mtu			main_dev_mtu
#define ipoib_dev_set_guid		main_dev_set_guid
#define ipoib_dev_address_moved		main_dev_address_moved
#define ipoib_dev_register		main_dev_register
#define ipoib_dev_unregister		main_dev_unregister
#define ipoib_debugfs_init		main_debugfs_init
#define ipoib_debugfs_exit		main_debugfs_exit
#define ipoib_debugfs_event		main_debugfs_event
#define ipoib_vf_set_link_state		main_vf_set_link_state
#define ipoib_vf_set_guid		main_vf_set_guid
#define ipoib_vf_get_config		main_vf_get_config
#define ipoib_vf_get_stats		main_vf_get_stats
#define ipoib_vf_get_guid		main_vf_get_guid

#include "ipoib.h"

/* The module itself is another, and this file runs its init function. */
#undef MODULE_DESCRIPTION
#undef MODULE_LICENSE
#undef MODULE_VERSION
#undef MODULE_ALIAS_RTNL_LINK
#undef MODULE_PARM_DESC
#undef module_param
#undef module_param_named
#undef module_init
#undef module_exit
#undef __init
#undef __exit
#define MODULE_DESCRIPTION(text)		static_assert(true)
#define MODULE_LICENSE(text)			static_assert(true)
#define MODULE_VERSION(text)			static_assert(true)
#define MODULE_ALIAS_RTNL_LINK(text)		static_assert(true)
#define MODULE_PARM_DESC(name, text)		static_assert(true)
#define module_param(name, type, mode)		static_assert(true)
#define module_param_named(name, value, type, mode) static_assert(true)
#define module_init(function)			static_assert(true)
#define module_exit(function)			static_assert(true)
#define __init
#define __exit

/* The stack, the RDMA core, the control work, and the log */
#define netdev_xmit_more()			(main_fix->more)
#define netdev_pick_tx(dev, skb, sb_dev)	((void)(dev), (void)(sb_dev), 5)
#define netif_carrier_off(dev)			main_called('-')
#define dev_open(dev, extack)			main_open(dev)
#define dev_close(dev)				main_close(dev)
#define call_netdevice_notifiers(event, dev)	main_notify(event, dev)
#define ipoib_ctl_post(priv, event)		main_post(priv, event)
#define netdev_warn(dev, args...)		main_warn(args)
#define netdev_info(dev, args...)		main_info(args)
#undef is_kdump_kernel
#define is_kdump_kernel()			(main_fix->kdump)
#define ib_sa_register_client(client)		main_called('s')
#define ib_sa_unregister_client(client)		main_called('S')
#define ipoib_roce_register()			main_called(' ')
#define ipoib_roce_unregister()			main_called(' ')
#define ipoib_roce_neigh_event(neigh)		main_called(' ')
#define register_netevent_notifier(nb)		main_called('e')
#define unregister_netevent_notifier(nb)	main_called('E')
#define register_netdevice_notifier(nb)		main_called('n')
#define unregister_netdevice_notifier(nb)	main_called('N')
#define rtnl_link_register(ops)			main_called('l')
#define rtnl_link_unregister(ops)		main_called('L')
#define ib_register_client(client)		main_called('c')
#define ib_unregister_client(client)		main_called('C')

#define MAIN_MTU	2044
#define MAIN_RESTART	BIT(IPOIB_CTL_RESTART)

/**
 * struct main_fixture - fixture of a case
 * @dev: an interface
 * @priv: its private part
 * @txq: its transmit queues
 * @hca: its HCA
 * @child: a child
 * @other: another interface of @hca
 * @lower: another net_device
 * @rn: a net device of an HCA
 * @ops: operations of @rn, or of verbs
 * @calls: calls in their order; '!' with wrong arguments
 * @fails: calls that fail
 * @why: reason of the last drop
 * @mtu: MTU of the last reject
 * @more: further frames follow
 * @cuts: large frames are segmented
 * @moved: the stack has set another broadcast address
 * @kdump: the kernel saves a crash dump
 * @small: the interface has sent less than its queues
 * @warned: warnings in the log
 * @informed: other lines in the log
 * @events: events of the control work
 * @timeouts: timeouts
 * @addr: address that was set
 */
struct main_fixture {
	struct net_device *dev;
	struct ipoib_dev *priv;
	struct ipoib_txq txq[2];
	struct ipoib_hca hca;
	struct ipoib_dev child;
	struct ipoib_dev other;
	struct net_device *lower;
	struct rdma_netdev rn;
	struct net_device_ops ops;
	char calls[32];
	const char *fails;
	enum ipoib_stat why;
	unsigned int mtu;
	bool more;
	bool cuts;
	bool moved;
	bool kdump;
	bool small;
	unsigned int warned;
	unsigned int informed;
	unsigned long events;
	unsigned int timeouts;
	struct ipoib_lladdr addr;
};

/* The fixture of the running case */
static struct main_fixture *main_fix;

/* Note a call. Calls of RoCE are not compiled everywhere. Return: its result */
static int main_called(char call)
{
	unsigned int n = strlen(main_fix->calls);

	if (n < sizeof(main_fix->calls) - 1 && call != ' ')
		main_fix->calls[n] = call;
	return main_fix->fails && strchr(main_fix->fails, call) ? -EIO : 0;
}

static void __printf(1, 2) main_warn(const char *format, ...)
{
	main_fix->warned++;
}

static void __printf(1, 2) main_info(const char *format, ...)
{
	main_fix->informed++;
}

static void main_open(const struct net_device *dev)
{
	main_called(dev == main_fix->child.netdev ? 'o' : '!');
}

static void main_close(const struct net_device *dev)
{
	main_called(dev == main_fix->child.netdev ? 'c' : '!');
}

static void main_notify(unsigned long event, const struct net_device *dev)
{
	main_called(event == NETDEV_NOTIFY_PEERS && dev == main_fix->dev ? 'P' : '!');
}

static void main_post(const struct ipoib_dev *priv, unsigned int event)
{
	if (priv == main_fix->priv)
		set_bit(event, &main_fix->events);
}

/* ---- functions of the driver ---- */

struct rtnl_link_ops ipoib_link_ops;
const struct ethtool_ops ipoib_ethtool_ops;
const struct net_device_ops ipoib_ud_netdev_ops;
struct ib_client ipoib_client;
struct ib_sa_client ipoib_sa_client;

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	if (stat == IPOIB_TX_TIMEOUT)
		main_fix->timeouts += n;
}

void ipoib_stats_read(struct ipoib_dev *priv, u64 *sum)
{
	unsigned int i;

	for (i = 0; i < IPOIB_NR_STATS; i++)
		sum[i] = (main_fix->small ? 0 : 1000) + i;
	main_called('s');
}

void ipoib_txq_stats_read(const struct ipoib_txq_stats *sent, const struct ipoib_txq_stats *done,
			  u64 *sum)
{
	unsigned int i, n = sent == &main_fix->txq[1].sent;

	for (i = 0; i < IPOIB_NR_TXQ_COUNTERS; i++)
		sum[i] = 100 * (n + 1) + i;
	if (sent != &main_fix->txq[n].sent || done != &main_fix->txq[n].done)
		main_called('!');
}

void ipoib_stats_link(const u64 *sum, struct rtnl_link_stats64 *link)
{
	main_called(sum[0] == 1000 && link->rx_packets == 5 ? 'k' : '!');
}

void ipoib_rn_stats(const struct ipoib_dev *priv, struct rtnl_link_stats64 *stats)
{
	main_called('r');
	stats->rx_packets = 5;
}

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	main_called('D');
	main_fix->why = why;
	kfree_skb(skb);
}

void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	main_called(txq == &main_fix->txq[1] ? 'A' : '!');
	kfree_skb(skb);
}

void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *n)
{
	main_called(priv == main_fix->priv ? 'A' : '!');
}

void ipoib_mcast_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	main_called(txq == &main_fix->txq[1] ? 'M' : '!');
	kfree_skb(skb);
}

void ipoib_mcast_resync(struct ipoib_dev *priv)
{
	main_called('m');
}

void ipoib_pmtu_reject(struct ipoib_dev *priv, struct sk_buff *skb, unsigned int mtu)
{
	main_called('J');
	main_fix->mtu = mtu;
	kfree_skb(skb);
}

void ipoib_ud_post(struct ipoib_txq *txq)
{
	main_called(txq == &main_fix->txq[1] ? 'p' : '!');
}

bool ipoib_ud_cut_check(const struct ipoib_dev *priv, const struct sk_buff *skb)
{
	return main_fix->cuts;
}

int ipoib_dev_up(struct ipoib_dev *priv)
{
	return main_called('u');
}

void ipoib_dev_down(struct ipoib_dev *priv)
{
	main_called('d');
}

unsigned int ipoib_dev_mtu(const struct ipoib_dev *priv)
{
	return priv->admin_mtu - 1;
}

int ipoib_dev_set_guid(struct ipoib_dev *priv, const struct ipoib_lladdr *addr)
{
	main_fix->addr = *addr;
	return main_called('g');
}

bool ipoib_dev_address_moved(const struct ipoib_dev *priv)
{
	return main_fix->moved;
}

int ipoib_dev_register(void)
{
	return main_called('v');
}

void ipoib_dev_unregister(void)
{
	main_called('V');
}

void ipoib_debugfs_init(void)
{
	main_called('d');
}

void ipoib_debugfs_exit(void)
{
	main_called('D');
}

void ipoib_debugfs_event(struct ipoib_dev *priv, unsigned long event)
{
	main_called('B');
}

int ipoib_vf_set_link_state(struct net_device *dev, int vf, int state)
{
	return 0;
}

int ipoib_vf_set_guid(struct net_device *dev, int vf, u64 guid, int type)
{
	return 0;
}

int ipoib_vf_get_config(struct net_device *dev, int vf, struct ifla_vf_info *info)
{
	return 0;
}

int ipoib_vf_get_stats(struct net_device *dev, int vf, struct ifla_vf_stats *stats)
{
	return 0;
}

int ipoib_vf_get_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node_guid,
		      struct ifla_vf_guid *port_guid)
{
	return 0;
}

#include "ipoib_main.c"

static int main_init(struct kunit *test)
{
	struct main_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	main_fix = fix;
	fix->dev = alloc_netdev_mqs(sizeof(struct ipoib_netdev), "ipoib_main%d", NET_NAME_ENUM,
				    ipoib_netdev_setup, 2, 1);
	fix->lower = alloc_netdev(0, "ipoib_main%d", NET_NAME_ENUM, ether_setup);
	if (!fix->dev || !fix->lower) {
		if (fix->dev)
			free_netdev(fix->dev);
		if (fix->lower)
			free_netdev(fix->lower);
		kvfree(fix);
		return -ENOMEM;
	}
	fix->priv = ipoib_priv(fix->dev);
	fix->priv->txq = fix->txq;
	fix->priv->ntxq = 2;
	for (i = 0; i < 2; i++) {
		fix->txq[i].priv = fix->priv;
		fix->txq[i].nq = netdev_get_tx_queue(fix->dev, i);
	}
	fix->priv->hca = &fix->hca;
	fix->priv->mcast_mtu = MAIN_MTU;
	fix->priv->max_mtu = 4092;
	INIT_LIST_HEAD(&fix->hca.devs);
	list_add_tail(&fix->priv->list, &fix->hca.devs);
	fix->child.parent = fix->priv;
	fix->child.netdev = fix->lower;
	test->priv = fix;
	return 0;
}

static void main_exit(struct kunit *test)
{
	struct main_fixture *fix = test->priv;

	free_netdev(fix->lower);
	free_netdev(fix->dev);
	kvfree(fix);
}

static void main_expect_calls(struct kunit *test, const char *calls)
{
	ipoib_expect_calls(test, main_fix->calls, calls);
}

/* A frame of @len octets with its headers, to a group or a neighbour, for the second queue */
static struct sk_buff *main_frame(unsigned int len, bool group, u16 proto)
{
	struct sk_buff *skb = alloc_skb(len + IPOIB_HARD_LEN, GFP_KERNEL | __GFP_NOFAIL);
	struct ipoib_header *header = skb_put_zero(skb, len);

	if (len >= IPOIB_HARD_LEN) {
		header->lladdr.gid[0] = group ? 0xff : 0xfe;
		header->encap.proto = htons(proto);
	}
	skb_set_queue_mapping(skb, 1);
	return skb;
}

/* ---- frames ---- */

static void main_frames(struct kunit *test)
{
	static const struct {
		unsigned int len;
		bool down;
		bool group;
		bool more;
		bool stopped;
		const char *calls;
		enum ipoib_stat why;
	} frames[] = {
		{ 100, false, false, false, false, "Ap", 0 },
		{ 3000, false, false, false, false, "Ap", 0 },
		{ IPOIB_HARD_LEN, false, false, true, false, "A", 0 },
		{ 100, false, false, true, true, "Ap", 0 },
		{ MAIN_MTU + IPOIB_HARD_LEN, false, true, false, false, "Mp", 0 },
		{ MAIN_MTU + IPOIB_HARD_LEN + 1, false, true, false, false, "Jp", 0 },
		{ IPOIB_HARD_LEN - 1, false, false, false, false, "Dp", IPOIB_TX_HEADER },
		{ 100, true, false, false, false, "Dp", IPOIB_TX_FLUSHED },
	};
	struct main_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		fix->priv->flags = frames[i].down ? 0 : BIT(IPOIB_FLAG_UP);
		fix->more = frames[i].more;
		fix->why = 0;
		if (frames[i].stopped)
			netif_tx_stop_queue(fix->txq[1].nq);
		else
			netif_tx_start_queue(fix->txq[1].nq);
		KUNIT_EXPECT_EQ(test, (int)ipoib_start_xmit(main_frame(frames[i].len,
								       frames[i].group, ETH_P_IP),
							    fix->dev), (int)NETDEV_TX_OK);
		main_expect_calls(test, frames[i].calls);
		KUNIT_EXPECT_EQ(test, fix->why, frames[i].why);
	}
	KUNIT_EXPECT_EQ(test, fix->mtu, (unsigned int)MAIN_MTU);
}

/* Groups, ARP and others use the first queue. */
static void main_queues(struct kunit *test)
{
	static const struct {
		unsigned int len;
		bool group;
		u16 proto;
		int queue;
	} frames[] = {
		{ 100, false, ETH_P_IP, 5 },
		{ 100, false, ETH_P_IPV6, 5 },
		{ IPOIB_HARD_LEN, false, ETH_P_IP, 5 },
		{ 100, false, ETH_P_ARP, 0 },
		{ 100, true, ETH_P_IP, 0 },
	};
	struct main_fixture *fix = test->priv;
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		skb = main_frame(frames[i].len, frames[i].group, frames[i].proto);
		KUNIT_EXPECT_EQ(test, (int)ipoib_select_queue(fix->dev, skb, NULL),
				frames[i].queue);
		kfree_skb(skb);
	}
	/* Headers that are not linear */
	skb = main_frame(100, false, ETH_P_IP);
	skb->data_len = skb->len - IPOIB_HARD_LEN + 1;
	KUNIT_EXPECT_EQ(test, (int)ipoib_select_queue(fix->dev, skb, NULL), 0);
	skb->data_len = 0;
	kfree_skb(skb);
}

static void main_headers(struct kunit *test)
{
	static const u8 guid[IPOIB_PARSE_LEN] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const u8 zero[IPOIB_LLADDR_LEN];
	struct main_fixture *fix = test->priv;
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL | __GFP_NOFAIL);
	u8 addr[IPOIB_LLADDR_LEN], haddr[2 * IPOIB_PARSE_LEN] = {};
	struct ipoib_header *header;

	memset(addr, 0x42, sizeof(addr));
	memset(skb->head, 0xff, 100);
	skb_reserve(skb, 2 * IPOIB_HARD_LEN);
	KUNIT_EXPECT_EQ(test, ipoib_header_create(skb, fix->dev, ETH_P_IPV6, addr, NULL, 0),
			(int)IPOIB_HARD_LEN);
	header = (void *)skb->data;
	KUNIT_EXPECT_EQ(test, skb->len, (unsigned int)IPOIB_HARD_LEN);
	KUNIT_EXPECT_TRUE(test, header->encap.proto == htons(ETH_P_IPV6));
	KUNIT_EXPECT_TRUE(test, !header->encap.reserved);
	KUNIT_EXPECT_EQ(test, memcmp(&header->lladdr, addr, sizeof(addr)), 0);
	skb_pull(skb, IPOIB_HARD_LEN);
	KUNIT_EXPECT_EQ(test, ipoib_header_create(skb, fix->dev, ETH_P_IP, NULL, NULL, 0),
			-(int)IPOIB_HARD_LEN);
	KUNIT_EXPECT_EQ(test, memcmp(&header->lladdr, zero, sizeof(zero)), 0);

	/* The source of a received frame, if it is known */
	skb_reset_mac_header(skb);
	skb->pkt_type = PACKET_HOST;
	KUNIT_EXPECT_EQ(test, ipoib_header_parse(skb, fix->dev, haddr), 0);
	memcpy((u8 *)&header->lladdr + IPOIB_LLADDR_LEN - sizeof(guid), guid, sizeof(guid));
	KUNIT_EXPECT_EQ(test, ipoib_header_parse(skb, fix->dev, haddr), (int)sizeof(guid));
	KUNIT_EXPECT_EQ(test, memcmp(haddr, guid, sizeof(guid)), 0);
	KUNIT_EXPECT_TRUE(test, !memchr_inv(haddr + sizeof(guid), 0, sizeof(guid)));
	/* A sent frame has its destination there. */
	skb->pkt_type = PACKET_OUTGOING;
	dev_addr_set(fix->dev, addr);
	KUNIT_EXPECT_EQ(test, ipoib_header_parse(skb, fix->dev, haddr), (int)sizeof(guid));
	KUNIT_EXPECT_EQ(test, memcmp(haddr, addr, sizeof(guid)), 0);
	fix->priv->rn = &fix->rn;
	KUNIT_EXPECT_EQ(test, ipoib_header_parse(skb, fix->dev, haddr), (int)sizeof(guid));
	skb->pkt_type = PACKET_HOST;
	KUNIT_EXPECT_EQ(test, ipoib_header_parse(skb, fix->dev, haddr), 0);
	fix->priv->rn = NULL;
	kfree_skb(skb);
}

/* ---- settings ---- */

static void main_mtu(struct kunit *test)
{
	static const struct {
		bool connected;
		bool carrier;
		int mtu;
		int err;
		unsigned int warned;
		unsigned int informed;
	} sets[] = {
		{ true, true, MAIN_MTU, 0, 0, 0 },
		{ true, true, MAIN_MTU + 1, 0, 1, 0 },
		{ true, true, 65520, 0, 0, 0 },
		{ false, true, MAIN_MTU, 0, 0, 0 },
		{ false, true, MAIN_MTU + 1, 0, 0, 1 },
		{ false, false, MAIN_MTU + 1, 0, 0, 0 },
		{ false, true, 4092, 0, 0, 1 },
		{ false, true, 4093, -EINVAL, 1, 0 },
	};
	struct main_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		priv->flags = sets[i].connected ? BIT(IPOIB_FLAG_CONNECTED) : 0;
		priv->admin_mtu = 65520;
		fix->dev->mtu = 1500;
		fix->warned = 0;
		fix->informed = 0;
		assign_bit(__LINK_STATE_NOCARRIER, &fix->dev->state, !sets[i].carrier);
		KUNIT_EXPECT_EQ(test, ipoib_change_mtu(fix->dev, sets[i].mtu), sets[i].err);
		KUNIT_EXPECT_EQ(test, priv->admin_mtu,
				sets[i].err ? 65520u : (unsigned int)sets[i].mtu);
		KUNIT_EXPECT_EQ(test, fix->dev->mtu,
				sets[i].err ? 1500u : (unsigned int)sets[i].mtu - 1);
		KUNIT_EXPECT_EQ(test, fix->warned, sets[i].warned);
		KUNIT_EXPECT_EQ(test, fix->informed, sets[i].informed);
	}
}

static void main_features(struct kunit *test)
{
	const netdev_features_t all = NETIF_F_ALL_TSO | NETIF_F_GSO_UDP_L4 | NETIF_F_HW_CSUM |
				      NETIF_F_IPV6_CSUM | NETIF_F_IP_CSUM | NETIF_F_SG |
				      NETIF_F_RXCSUM;
	const netdev_features_t left = NETIF_F_IP_CSUM | NETIF_F_SG | NETIF_F_RXCSUM;
	struct main_fixture *fix = test->priv;
	struct sk_buff *skb = main_frame(100, false, ETH_P_IP);
	struct ipoib_header *header = (void *)skb->data;
	struct ipoib_dev *priv = fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_fix_features(fix->dev, all), all);
	priv->flags = BIT(IPOIB_FLAG_CONNECTED);
	KUNIT_EXPECT_EQ(test, ipoib_fix_features(fix->dev, all), left);
	priv->rn = &fix->rn;
	KUNIT_EXPECT_EQ(test, ipoib_fix_features(fix->dev, all), left | NETIF_F_IPV6_CSUM);
	priv->rn = NULL;

	/* Large frames are left to the stack, but not their checksums. */
	KUNIT_EXPECT_EQ(test, ipoib_features_check(skb, fix->dev, all), all);
	skb_shinfo(skb)->gso_size = 1000;
	KUNIT_EXPECT_EQ(test, ipoib_features_check(skb, fix->dev, all), all & ~NETIF_F_GSO_MASK);
	fix->cuts = true;
	KUNIT_EXPECT_EQ(test, ipoib_features_check(skb, fix->dev, all), all);
	header->lladdr.gid[0] = 0xff;
	KUNIT_EXPECT_EQ(test, ipoib_features_check(skb, fix->dev, all), all & ~NETIF_F_GSO_MASK);
	kfree_skb(skb);
}

static void main_address(struct kunit *test)
{
	struct main_fixture *fix = test->priv;
	struct sockaddr_storage ss = {};

	memset(ss.__data, 0x42, IPOIB_LLADDR_LEN);
	set_bit(__LINK_STATE_START, &fix->dev->state);
	KUNIT_EXPECT_EQ(test, ipoib_set_mac_address(fix->dev, &ss), -EBUSY);
	main_expect_calls(test, "");
	clear_bit(__LINK_STATE_START, &fix->dev->state);
	KUNIT_EXPECT_EQ(test, ipoib_set_mac_address(fix->dev, &ss), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&fix->addr, ss.__data, sizeof(fix->addr)), 0);
	fix->fails = "g";
	KUNIT_EXPECT_EQ(test, ipoib_set_mac_address(fix->dev, &ss), -EIO);
	main_expect_calls(test, "gg");

	fix->dev->ifindex = 7;
	fix->lower->ifindex = 9;
	KUNIT_EXPECT_EQ(test, ipoib_get_iflink(fix->dev), 7);
	fix->priv->lower = fix->lower;
	KUNIT_EXPECT_EQ(test, ipoib_get_iflink(fix->dev), 9);
	fix->dev->ifindex = 0;
	fix->lower->ifindex = 0;
}

/* ---- up and down ---- */

static void main_up(struct kunit *test)
{
	struct main_fixture *fix = test->priv;

	list_add_tail(&fix->child.list, &fix->hca.devs);
	list_add_tail(&fix->other.list, &fix->hca.devs);
	KUNIT_EXPECT_EQ(test, ipoib_open(fix->dev), 0);
	main_expect_calls(test, "-uo");
	KUNIT_EXPECT_EQ(test, ipoib_stop(fix->dev), 0);
	main_expect_calls(test, "cd");
	fix->fails = "u";
	KUNIT_EXPECT_EQ(test, ipoib_open(fix->dev), -EIO);
	main_expect_calls(test, "-u");
}

static int main_ndo_init(struct net_device *dev)
{
	return main_called('i');
}

static void main_ndo_uninit(struct net_device *dev)
{
	main_called('x');
}

static int main_ioctl(struct net_device *dev, struct ifreq *ifr, int cmd)
{
	return cmd == 42 || (ifr && cmd == SIOCGHWTSTAMP) ? main_called('t') : -EINVAL;
}

/* Time stamps by the ioctl of the net device of the HCA, for requests that are ioctls */
#ifdef IPOIB_HAS_HWTSTAMP
static void main_expect_stamps(struct kunit *test)
{
	struct kernel_hwtstamp_config config = {};
	struct main_fixture *fix = test->priv;
	struct ifreq ifr;

	KUNIT_EXPECT_EQ(test, ipoib_hwtstamp_get(fix->dev, &config), -EOPNOTSUPP);
	KUNIT_EXPECT_FALSE(test, config.copied_to_user);
	config.ifr = &ifr;
	KUNIT_EXPECT_EQ(test, ipoib_hwtstamp_get(fix->dev, &config), 0);
	KUNIT_EXPECT_TRUE(test, config.copied_to_user);
	main_expect_calls(test, "t");
}
#else
static void main_expect_stamps(struct kunit *test)
{
}
#endif

/* Operations of the net device of the HCA, or of verbs */
static void main_lower(struct kunit *test)
{
	struct main_fixture *fix = test->priv;
	struct ipoib_dev *priv = fix->priv;
	struct ipoib_lladdr addr = { .flags_qpn = cpu_to_be32(0x80000042) };

	priv->rn_ops = &fix->ops;
	fix->ops.ndo_init = main_ndo_init;
	fix->ops.ndo_uninit = main_ndo_uninit;
	dev_addr_set(fix->dev, (const u8 *)&addr);
	fix->fails = "i";
	KUNIT_EXPECT_EQ(test, ipoib_dev_ndo_init(fix->dev), -EIO);
	KUNIT_EXPECT_EQ(test, priv->qpn, 0u);
	fix->fails = NULL;
	KUNIT_EXPECT_EQ(test, ipoib_dev_ndo_init(fix->dev), 0);
	KUNIT_EXPECT_EQ(test, priv->qpn, 0x42u);
	ipoib_dev_ndo_uninit(fix->dev);
	main_expect_calls(test, "iix");
	KUNIT_EXPECT_EQ(test, ipoib_eth_ioctl(fix->dev, NULL, 42), -EOPNOTSUPP);
	fix->ops.ndo_eth_ioctl = main_ioctl;
	KUNIT_EXPECT_EQ(test, ipoib_eth_ioctl(fix->dev, NULL, 42), 0);
	main_expect_calls(test, "t");
	main_expect_stamps(test);
	ipoib_set_rx_mode(fix->dev);
	main_expect_calls(test, "m");
}

static void main_setup(struct kunit *test)
{
	struct main_fixture *fix = test->priv;
	struct net_device *dev = fix->dev;
	const struct net_device_ops *ops = dev->netdev_ops;

	KUNIT_EXPECT_TRUE(test, ipoib_dev_is_ours(dev));
	KUNIT_EXPECT_FALSE(test, ipoib_dev_is_ours(fix->lower));
	KUNIT_EXPECT_PTR_EQ(test, fix->priv->netdev, dev);
	KUNIT_EXPECT_PTR_EQ(test, fix->priv->rn_ops, &ipoib_ud_netdev_ops);
	KUNIT_EXPECT_PTR_EQ(test, dev->ethtool_ops, &ipoib_ethtool_ops);
	KUNIT_EXPECT_TRUE(test, dev->header_ops->create == ipoib_header_create);
	KUNIT_EXPECT_TRUE(test, dev->header_ops->parse);
	KUNIT_EXPECT_EQ(test, (int)dev->type, ARPHRD_INFINIBAND);
	KUNIT_EXPECT_EQ(test, (int)dev->addr_len, 20);
	KUNIT_EXPECT_EQ(test, (int)dev->hard_header_len, 24);
	KUNIT_EXPECT_EQ(test, (int)dev->min_header_len, 24);
	KUNIT_EXPECT_EQ(test, dev->flags, (unsigned int)(IFF_BROADCAST | IFF_MULTICAST));
	KUNIT_EXPECT_EQ(test, (int)dev->tx_queue_len, 256);
	KUNIT_EXPECT_EQ(test, ipoib_sendq_size, 128);
	KUNIT_EXPECT_EQ(test, ipoib_recvq_size, 256);
	KUNIT_EXPECT_EQ(test, dev->watchdog_timeo, 10 * HZ);
	KUNIT_EXPECT_EQ(test, dev->min_mtu, 72u);
	KUNIT_EXPECT_EQ(test, dev->max_mtu, 65520u);
	KUNIT_EXPECT_FALSE(test, dev->priv_flags & IFF_XMIT_DST_RELEASE);
	KUNIT_EXPECT_TRUE(test, dev->priv_flags & IFF_DISABLE_NETPOLL);
	KUNIT_EXPECT_TRUE(test, ops->ndo_init == ipoib_dev_ndo_init);
	KUNIT_EXPECT_TRUE(test, ops->ndo_uninit == ipoib_dev_ndo_uninit);
	KUNIT_EXPECT_TRUE(test, ops->ndo_open == ipoib_open);
	KUNIT_EXPECT_TRUE(test, ops->ndo_stop == ipoib_stop);
	KUNIT_EXPECT_TRUE(test, ops->ndo_start_xmit == ipoib_start_xmit);
	KUNIT_EXPECT_TRUE(test, ops->ndo_select_queue == ipoib_select_queue);
	KUNIT_EXPECT_TRUE(test, ops->ndo_change_mtu == ipoib_change_mtu);
	KUNIT_EXPECT_TRUE(test, ops->ndo_fix_features == ipoib_fix_features);
	KUNIT_EXPECT_TRUE(test, ops->ndo_features_check == ipoib_features_check);
	KUNIT_EXPECT_TRUE(test, ops->ndo_set_mac_address == ipoib_set_mac_address);
	KUNIT_EXPECT_TRUE(test, ops->ndo_tx_timeout == ipoib_tx_timeout);
	KUNIT_EXPECT_TRUE(test, ops->ndo_get_stats64 == ipoib_get_stats64);
	KUNIT_EXPECT_TRUE(test, ops->ndo_eth_ioctl == ipoib_eth_ioctl);
	KUNIT_EXPECT_TRUE(test, ops->ndo_get_iflink == ipoib_get_iflink);
	KUNIT_EXPECT_TRUE(test, ops->ndo_set_vf_link_state == ipoib_vf_set_link_state);
	KUNIT_EXPECT_TRUE(test, ops->ndo_set_vf_guid == ipoib_vf_set_guid);
	KUNIT_EXPECT_TRUE(test, ops->ndo_get_vf_config == ipoib_vf_get_config);
	KUNIT_EXPECT_TRUE(test, ops->ndo_get_vf_stats == ipoib_vf_get_stats);
	KUNIT_EXPECT_TRUE(test, ops->ndo_get_vf_guid == ipoib_vf_get_guid);
	KUNIT_EXPECT_TRUE(test, ipoib_stat_ops.get_queue_stats_rx == ipoib_get_queue_stats_rx);
	KUNIT_EXPECT_TRUE(test, ipoib_stat_ops.get_queue_stats_tx == ipoib_get_queue_stats_tx);
	KUNIT_EXPECT_TRUE(test, ipoib_stat_ops.get_base_stats == ipoib_get_base_stats);
}

/* ---- statistics and timeouts ---- */

static void main_statistics(struct kunit *test)
{
	struct main_fixture *fix = test->priv;
	struct rtnl_link_stats64 link = {};
	struct netdev_queue_stats_rx rx;
	struct netdev_queue_stats_tx tx;

	ipoib_get_queue_stats_rx(fix->dev, 0, &rx);
	KUNIT_EXPECT_EQ(test, rx.packets, 1000 + IPOIB_RX_PACKETS);
	KUNIT_EXPECT_EQ(test, rx.bytes, 1000 + IPOIB_RX_BYTES);
	KUNIT_EXPECT_EQ(test, rx.alloc_fail, 1000 + IPOIB_RX_NOMEM);
	KUNIT_EXPECT_EQ(test, rx.csum_unnecessary, 1000 + IPOIB_RX_CSUM);
	ipoib_get_queue_stats_tx(fix->dev, 1, &tx);
	KUNIT_EXPECT_EQ(test, tx.packets, 200 + IPOIB_TXQ_PACKETS);
	KUNIT_EXPECT_EQ(test, tx.bytes, 200 + IPOIB_TXQ_BYTES);
	KUNIT_EXPECT_EQ(test, tx.stop, 200 + IPOIB_TXQ_STOPPED);
	KUNIT_EXPECT_EQ(test, tx.wake, 200 + IPOIB_TXQ_WOKEN);
	/* Of the interface: the rest */
	memset(&rx, 0xff, sizeof(rx));
	memset(&tx, 0xff, sizeof(tx));
	ipoib_get_base_stats(fix->dev, &rx, &tx);
	KUNIT_EXPECT_EQ(test, rx.packets, 0);
	KUNIT_EXPECT_EQ(test, rx.bytes, 0);
	KUNIT_EXPECT_EQ(test, rx.alloc_fail, 0);
	KUNIT_EXPECT_EQ(test, rx.csum_unnecessary, 0);
	KUNIT_EXPECT_EQ(test, tx.packets, 700 + IPOIB_TX_PACKETS - 2 * IPOIB_TXQ_PACKETS);
	KUNIT_EXPECT_EQ(test, tx.bytes, 700 + IPOIB_TX_BYTES - 2 * IPOIB_TXQ_BYTES);
	KUNIT_EXPECT_EQ(test, tx.stop, 700 + IPOIB_TX_STOPPED - 2 * IPOIB_TXQ_STOPPED);
	KUNIT_EXPECT_EQ(test, tx.wake, 700 + IPOIB_TX_WOKEN - 2 * IPOIB_TXQ_WOKEN);
	KUNIT_EXPECT_EQ(test, tx.hw_gso_packets, 1000 + IPOIB_TX_GSO);
	KUNIT_EXPECT_EQ(test, tx.hw_gso_bytes, 1000 + IPOIB_TX_GSO_BYTES);
	KUNIT_EXPECT_EQ(test, tx.hw_gso_wire_packets, 1000 + IPOIB_TX_GSO_WIRE);
	KUNIT_EXPECT_EQ(test, tx.hw_gso_wire_bytes, 1000 + IPOIB_TX_GSO_WIRE_BYTES);
	/* Queues count on while they are read. */
	fix->small = true;
	ipoib_get_base_stats(fix->dev, &rx, &tx);
	KUNIT_EXPECT_EQ(test, tx.packets, 0);
	KUNIT_EXPECT_EQ(test, tx.wake, 0);
	fix->small = false;
	main_expect_calls(test, "sss");
	ipoib_get_stats64(fix->dev, &link);
	main_expect_calls(test, "rsk");
}

static void main_hca_timeout(struct net_device *dev, unsigned int queue)
{
	main_called(dev == main_fix->dev && queue == 1 ? 't' : '!');
}

static void main_timeouts(struct kunit *test)
{
	struct main_fixture *fix = test->priv;

	ipoib_tx_timeout(fix->dev, 1);
	KUNIT_EXPECT_EQ(test, fix->timeouts, 1u);
	KUNIT_EXPECT_EQ(test, fix->events, MAIN_RESTART);
	KUNIT_EXPECT_EQ(test, fix->warned, 3u);
	fix->warned = 0;
	fix->priv->rn = &fix->rn;
	ipoib_tx_timeout(fix->dev, 0);
	KUNIT_EXPECT_EQ(test, fix->warned, 2u);
	main_expect_calls(test, "");
	fix->rn.tx_timeout = main_hca_timeout;
	ipoib_tx_timeout(fix->dev, 1);
	main_expect_calls(test, "t");
	fix->priv->rn = NULL;
	KUNIT_EXPECT_EQ(test, fix->timeouts, 3u);
}

/* ---- events ---- */

static void main_events(struct kunit *test)
{
	static const struct {
		unsigned long event;
		bool other;
		bool announce;
		bool no_carrier;
		bool moved;
		const char *calls;
		unsigned long posted;
	} events[] = {
		{ NETDEV_REGISTER, false, true, false, true, "B", 0 },
		{ NETDEV_CHANGENAME, false, true, false, true, "B", 0 },
		{ NETDEV_UNREGISTER, false, true, false, true, "B", 0 },
		{ NETDEV_UNREGISTER, true, true, false, true, "", 0 },
		{ NETDEV_CHANGE, false, true, false, true, "P", 0 },
		{ NETDEV_CHANGE, false, false, false, true, "", 0 },
		{ NETDEV_CHANGE, false, true, true, true, "", 0 },
		{ NETDEV_CHANGE, true, true, false, true, "", 0 },
		{ NETDEV_CHANGEADDR, false, true, false, true, "", MAIN_RESTART },
		{ NETDEV_CHANGEADDR, false, true, false, false, "", 0 },
		{ NETDEV_CHANGEADDR, true, true, false, true, "", 0 },
		{ NETDEV_UP, false, true, false, true, "", 0 },
	};
	struct main_fixture *fix = test->priv;
	struct netdev_notifier_info info = {};
	struct neighbour *n;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		info.dev = events[i].other ? fix->lower : fix->dev;
		fix->moved = events[i].moved;
		fix->events = 0;
		assign_bit(__LINK_STATE_NOCARRIER, &fix->dev->state, events[i].no_carrier);
		fix->priv->flags = events[i].announce ? BIT(IPOIB_FLAG_ANNOUNCE) : 0;
		KUNIT_EXPECT_EQ(test, ipoib_netdev_event(NULL, events[i].event, &info),
				NOTIFY_DONE);
		main_expect_calls(test, events[i].calls);
		KUNIT_EXPECT_EQ(test, fix->events, events[i].posted);
		if (*events[i].calls == 'P')
			KUNIT_EXPECT_EQ(test, fix->priv->flags, 0ul);
	}
	n = kzalloc(sizeof(*n), GFP_KERNEL | __GFP_NOFAIL);
	n->dev = fix->dev;
	KUNIT_EXPECT_EQ(test, ipoib_netevent(NULL, NETEVENT_NEIGH_UPDATE, n), NOTIFY_DONE);
	main_expect_calls(test, "A");
	KUNIT_EXPECT_EQ(test, ipoib_netevent(NULL, NETEVENT_DELAY_PROBE_TIME_UPDATE, n),
			NOTIFY_DONE);
	n->dev = fix->lower;
	KUNIT_EXPECT_EQ(test, ipoib_netevent(NULL, NETEVENT_NEIGH_UPDATE, n), NOTIFY_DONE);
	main_expect_calls(test, "");
	kfree(n);
	KUNIT_EXPECT_TRUE(test, ipoib_netdev_notifier.notifier_call == ipoib_netdev_event);
	KUNIT_EXPECT_TRUE(test, ipoib_netevent_notifier.notifier_call == ipoib_netevent);
}

/* ---- load ---- */

/* All parts are registered, or none. */
static void main_load(struct kunit *test)
{
	static const struct {
		const char *fails;
		const char *calls;
	} loads[] = {
		{ NULL, "dsenvlc" },
		{ "e", "dseNESD" },
		{ "n", "dsenNESD" },
		{ "v", "dsenvNESD" },
		{ "l", "dsenvlVNESD" },
		{ "c", "dsenvlcLVNESD" },
	};
	struct main_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		fix->fails = loads[i].fails;
		KUNIT_EXPECT_EQ(test, ipoib_init(), fix->fails ? -EIO : 0);
		main_expect_calls(test, loads[i].calls);
	}
	ipoib_exit();
	main_expect_calls(test, "CLVNESD");
}

/* Sizes of queues are powers of two within their limits. */
static void main_sizes(struct kunit *test)
{
	static const struct {
		bool kdump;
		int sends, receives;
		int sendq, recvq;
	} sizes[] = {
		{ false, 128, 256, 128, 256 },
		{ false, 1, 1, 128, 16 },
		{ false, -1, 0, 128, 16 },
		{ false, 129, 17, 256, 32 },
		{ false, 8192, 8192, 8192, 8192 },
		{ false, 100000, 100000, 8192, 8192 },
		{ true, 1024, 256, 128, 32 },
		{ true, 1024, 16, 128, 16 },
	};
	struct main_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fix->kdump = sizes[i].kdump;
		ipoib_sendq_size = sizes[i].sends;
		ipoib_recvq_size = sizes[i].receives;
		KUNIT_EXPECT_EQ(test, ipoib_init(), 0);
		KUNIT_EXPECT_EQ(test, ipoib_sendq_size, sizes[i].sendq);
		KUNIT_EXPECT_EQ(test, ipoib_recvq_size, sizes[i].recvq);
		memset(fix->calls, 0, sizeof(fix->calls));
	}
}

static struct kunit_case ipoib_main_cases[] = {
	KUNIT_CASE(main_frames),
	KUNIT_CASE(main_queues),
	KUNIT_CASE(main_headers),
	KUNIT_CASE(main_mtu),
	KUNIT_CASE(main_features),
	KUNIT_CASE(main_address),
	KUNIT_CASE(main_up),
	KUNIT_CASE(main_lower),
	KUNIT_CASE(main_setup),
	KUNIT_CASE(main_statistics),
	KUNIT_CASE(main_timeouts),
	KUNIT_CASE(main_events),
	KUNIT_CASE(main_load),
	KUNIT_CASE(main_sizes),
	{}
};

struct kunit_suite ipoib_main_suite = {
	.name = "ipoib_main",
	.init = main_init,
	.exit = main_exit,
	.test_cases = ipoib_main_cases,
};
