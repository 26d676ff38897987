// SPDX-License-Identifier: GPL-2.0
/* Tests of frames to groups, and of the groups that are routed or listened to */
#include <linux/etherdevice.h>
#include <linux/icmpv6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/if_inet6.h>
#include <net/ip.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_stat_add			xmit_stat_add
#define ipoib_drop			xmit_drop
#define ipoib_ud_xmit			xmit_ud_xmit
#define ipoib_ud_send_begin		xmit_send_begin
#define ipoib_ud_send_end		xmit_send_end
#define ipoib_sa_notice_on		xmit_notice_on
#define ipoib_sa_monitor		xmit_monitor
#define ipoib_sa_query_groups		xmit_query_groups
#define ipoib_sa_held			xmit_sa_held
#define ipoib_mcast_resync		xmit_resync
#define ipoib_mcast_set_umcast		xmit_set_umcast
#define ipoib_mcast_xmit		xmit_mcast_xmit
#define ipoib_mcast_route_listed	xmit_route_listed
#define ipoib_mcast_group_lookup	xmit_group_lookup
#define ipoib_mcast_group_get		xmit_group_get
#define ipoib_mcast_group_sweep		xmit_group_sweep
#define ipoib_mcast_group_drop_user	xmit_group_drop_user
#define ipoib_mcast_group_is_slow	xmit_group_is_slow
#define ipoib_mcast_group_send		xmit_group_send
#define ipoib_mcast_post		xmit_post
#define ipoib_mcast_interest_work	xmit_interest_work
#define ipoib_mcast_route_end		xmit_route_end
#define ipoib_mcast_route_due		xmit_route_due
#define ipoib_mcast_route_want		xmit_route_want

#include "mcast/mcast.h"

/* No works and no log */
#define queue_delayed_work(wq, work, delay)	xmit_queue(delay)
#define netdev_warn(dev, format, args...)	(xmit_fix->warned++)

#define XMIT_GROUPS	8

/**
 * struct xmit_fixture - fixture of a case
 * @priv: an interface on InfiniBand, with multicast
 * @hca: its HCA
 * @dev: its net_device
 * @txq: its queue
 * @mcast: groups
 * @n: number of them
 * @no_group: no further group can be made
 * @slow: groups have waited for an answer too long
 * @broadcast: the broadcast group
 * @ah: address handles: of the broadcast group, of the routers' group, of others
 * @sent: frames sent
 * @last: address handle of the last
 * @qpn: its QPN
 * @mgid: its MGID
 * @begun: times that frames that waited were sent
 * @notices: the SM has granted the subscription
 * @monitors: users of the subscription
 * @lists: requests for the list of groups
 * @list_err: result of one that cannot be sent
 * @held: JoinState of the port in ib_sa
 * @resyncs: runs of the work that follows the stack's list
 * @swept: users whose groups were swept
 * @dropped_users: users that were dropped from groups
 * @queued: the work was queued again
 * @delay: delay of that
 * @warned: lines in the log
 * @stats: counters
 */
struct xmit_fixture {
	struct ipoib_dev priv;
	struct ipoib_hca hca;
	struct net_device *dev;
	struct ipoib_txq txq;
	struct ipoib_mcast mcast[XMIT_GROUPS];
	unsigned int n;
	bool no_group;
	bool slow;
	struct ipoib_mcast broadcast;
	struct ipoib_ah ah[4];
	unsigned int sent;
	const struct ipoib_ah *last;
	u32 qpn;
	union ib_gid mgid;
	unsigned int begun;
	bool notices;
	int monitors;
	unsigned int lists;
	int list_err;
	u8 held;
	unsigned int resyncs;
	u8 swept;
	u8 dropped_users;
	bool queued;
	unsigned long delay;
	unsigned int warned;
	s64 stats[IPOIB_NR_STATS];
};

/* The fixture of the running case */
static struct xmit_fixture *xmit_fix;

/* ---- functions of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	xmit_fix->stats[stat] += n;
}

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	xmit_fix->stats[why]++;
	kfree_skb(skb);
}

void ipoib_ud_xmit(struct ipoib_txq *txq, struct sk_buff *skb, struct ipoib_ah *ah, u32 qpn)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;

	xmit_fix->sent++;
	xmit_fix->last = ah;
	xmit_fix->qpn = qpn;
	memcpy(xmit_fix->mgid.raw, to->gid, sizeof(xmit_fix->mgid));
	kfree_skb(skb);
}

void ipoib_ud_send_begin(struct ipoib_txq *txq)
	__acquires(RCU)
{
	local_bh_disable();
	rcu_read_lock();
	xmit_fix->begun++;
}

void ipoib_ud_send_end(struct ipoib_txq *txq, struct sk_buff_head *frames, ipoib_xmit_t xmit)
	__releases(RCU)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(frames)))
		xmit(txq, skb);
	rcu_read_unlock();
	local_bh_enable();
}

bool ipoib_sa_notice_on(const struct ipoib_agent *agent)
{
	return xmit_fix->notices;
}

void ipoib_sa_monitor(struct ipoib_agent *agent, bool on)
{
	xmit_fix->monitors += on ? 1 : -1;
}

int ipoib_sa_query_groups(struct ipoib_dev *priv)
{
	xmit_fix->lists++;
	return xmit_fix->list_err;
}

u8 ipoib_sa_held(const struct ipoib_dev *priv, const union ib_gid *mgid)
{
	return xmit_fix->held;
}

void ipoib_mcast_resync(struct ipoib_dev *priv)
{
	xmit_fix->resyncs++;
}

struct ipoib_mcast *ipoib_mcast_group_lookup(struct ipoib_dev *priv, const u8 *mgid)
{
	unsigned int i;

	for (i = 0; i < xmit_fix->n; i++)
		if (!memcmp(xmit_fix->mcast[i].mgid.raw, mgid, sizeof(union ib_gid)))
			return &xmit_fix->mcast[i];
	return NULL;
}

struct ipoib_mcast *ipoib_mcast_group_get(struct ipoib_dev *priv, const u8 *mgid, u8 user)
{
	struct ipoib_mcast *mcast = ipoib_mcast_group_lookup(priv, mgid);

	if (!mcast) {
		if (xmit_fix->no_group || xmit_fix->n == XMIT_GROUPS)
			return NULL;
		mcast = &xmit_fix->mcast[xmit_fix->n++];
		memcpy(mcast->mgid.raw, mgid, sizeof(mcast->mgid));
		mcast->priv = priv;
		mcast->settled = true;
		__skb_queue_head_init(&mcast->queue);
		list_add_tail(&mcast->list, &priv->mcast.list);
		if (rhashtable_insert_fast(&priv->mcast.table, &mcast->node, ipoib_mcast_params))
			return NULL;
	}
	mcast->users |= user;
	return mcast;
}

void ipoib_mcast_group_sweep(struct ipoib_dev *priv, u8 user)
{
	xmit_fix->swept |= user;
}

void ipoib_mcast_group_drop_user(struct ipoib_mcast *mcast, u8 user)
{
	xmit_fix->dropped_users |= user;
	mcast->users &= ~user;
}

bool ipoib_mcast_group_is_slow(const struct ipoib_mcast *mcast)
{
	return xmit_fix->slow;
}

void ipoib_mcast_post(struct ipoib_mcast *mcast, u8 events)
{
	mcast->events |= events;
}

static void xmit_queue(unsigned long delay)
{
	xmit_fix->queued = true;
	xmit_fix->delay = delay;
}

#include "mcast/xmit.c"
#include "mcast/interest.c"

/* MGIDs of IPv4 on the link: of the group 224.0.0.@n, and of all routers */
static void xmit_mgid(union ib_gid *mgid, u8 n)
{
	*mgid = (union ib_gid) { .raw = { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [15] = n } };
}

/* The group 224.0.0.@n, with an address handle or without */
static struct ipoib_mcast *xmit_group(struct xmit_fixture *fix, u8 n, struct ipoib_ah *ah)
{
	struct ipoib_mcast *mcast;
	union ib_gid mgid;

	xmit_mgid(&mgid, n);
	mcast = ipoib_mcast_group_get(&fix->priv, mgid.raw, IPOIB_USER_SEND);
	RCU_INIT_POINTER(mcast->ah, ah);
	return mcast;
}

static int xmit_init(struct kunit *test)
{
	struct xmit_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_dev *priv;

	if (!fix)
		return -ENOMEM;
	priv = &fix->priv;
	fix->dev = alloc_netdev(0, "ipoib_xmit%d", NET_NAME_UNKNOWN, ether_setup);
	if (!fix->dev || rhashtable_init(&priv->mcast.table, &ipoib_mcast_params)) {
		if (fix->dev)
			free_netdev(fix->dev);
		kvfree(fix);
		return -ENOMEM;
	}
	spin_lock_init(&fix->dev->addr_list_lock);
	/* The MGIDs of the stack have scope and P_Key of the link. */
	fix->dev->broadcast[5] = 0x12;
	fix->dev->broadcast[8] = 0x80;
	fix->dev->broadcast[9] = 0x01;
	INIT_LIST_HEAD(&fix->hca.devs);
	list_add_tail_rcu(&priv->list, &fix->hca.devs);
	priv->hca = &fix->hca;
	priv->netdev = fix->dev;
	priv->agent = (void *)fix;
	priv->port = 1;
	priv->txq = &fix->txq;
	fix->txq.priv = priv;
	spin_lock_init(&priv->mcast.lock);
	INIT_LIST_HEAD(&priv->mcast.list);
	ipoib_mgid_broadcast(&priv->broadcast_mgid, 2, 0x8001);
	RCU_INIT_POINTER(fix->broadcast.ah, &fix->ah[0]);
	RCU_INIT_POINTER(priv->broadcast, &fix->broadcast);
	set_bit(IPOIB_FLAG_UP, &priv->flags);
	set_bit(IPOIB_FLAG_JOINED, &priv->flags);
	xmit_fix = fix;
	test->priv = fix;
	return 0;
}

static void xmit_exit(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < fix->n; i++)
		__skb_queue_purge(&fix->mcast[i].queue);
	rhashtable_destroy(&fix->priv.mcast.table);
	free_netdev(fix->dev);
	kvfree(fix);
}

/* A frame to @mgid with the protocol @proto, and 56 octets of zeros */
static struct sk_buff *xmit_frame(const union ib_gid *mgid, u16 proto)
{
	struct sk_buff *skb = alloc_skb(128, GFP_KERNEL | __GFP_NOFAIL);
	struct ipoib_header *header;

	skb_reserve(skb, 16);
	header = skb_put_zero(skb, IPOIB_HARD_LEN + 56);
	ipoib_lladdr_set(&header->lladdr, 0, IPOIB_MCAST_QPN, mgid);
	header->encap.proto = htons(proto);
	return skb;
}

/* A frame of IPv4 to the group 224.0.0.@n by its MGID, with the network address @addr */
static struct sk_buff *xmit_ipv4(u8 n, u32 addr)
{
	struct sk_buff *skb;
	union ib_gid mgid;

	xmit_mgid(&mgid, n);
	skb = xmit_frame(&mgid, ETH_P_IP);
	((struct iphdr *)(skb->data + IPOIB_HARD_LEN))->daddr = htonl(addr);
	return skb;
}

static void xmit(struct xmit_fixture *fix, struct sk_buff *skb)
{
	local_bh_disable();
	rcu_read_lock();
	ipoib_mcast_xmit(&fix->txq, skb);
	rcu_read_unlock();
	local_bh_enable();
}

/* 224.0.0.0/24 is not routed, 239.1.2.3 is. */
#define XMIT_LOCAL	0xe0000000
#define XMIT_ROUTED	0xef010203

/* True if the frame was sent by @ah, to groups */
static bool xmit_goes(struct xmit_fixture *fix, struct sk_buff *skb, const struct ipoib_ah *ah)
{
	unsigned int before = fix->sent;

	fix->last = NULL;
	xmit(fix, skb);
	return fix->sent == before + 1 && fix->last == ah && fix->qpn == IPOIB_MCAST_QPN;
}

/* True if the frame was dropped for this reason */
static bool xmit_drops(struct xmit_fixture *fix, struct sk_buff *skb, enum ipoib_stat why)
{
	unsigned int before = fix->sent;
	s64 count = fix->stats[why];

	xmit(fix, skb);
	return fix->sent == before && fix->stats[why] == count + 1;
}

/* True if the frame waits */
static bool xmit_waits(struct xmit_fixture *fix, struct ipoib_mcast *mcast, struct sk_buff *skb)
{
	unsigned int nqueued = fix->priv.mcast.nqueued;
	unsigned int len = skb_queue_len(&mcast->queue);

	xmit(fix, skb);
	return fix->priv.mcast.nqueued == nqueued + 1 && skb_queue_len(&mcast->queue) == len + 1;
}

static void xmit_joined(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = xmit_group(fix, 9, &fix->ah[2]);
	union ib_gid mgid;

	mcast->used = jiffies - 5 * HZ;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_LOCAL), &fix->ah[2]));
	KUNIT_EXPECT_TRUE(test, jiffies - mcast->used < 2 * HZ);
	/* Another tree */
	mcast->settled = false;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_LOCAL), &fix->ah[0]));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_TO_BROADCAST], 1ll);
	mcast->settled = true;
	/* Behind a frame that waits */
	xmit_mgid(&mgid, 9);
	__skb_queue_tail(&mcast->queue, xmit_frame(&mgid, ETH_P_IP));
	KUNIT_EXPECT_TRUE(test, xmit_waits(fix, mcast, xmit_ipv4(9, XMIT_LOCAL)));
	/* P_Key 0 stands for the link. */
	mgid.raw[4] = 0;
	mgid.raw[5] = 0;
	mgid.raw[15] = 8;
	xmit_group(fix, 8, &fix->ah[3]);
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_frame(&mgid, ETH_P_IP), &fix->ah[3]));
	xmit_mgid(&mgid, 8);
	KUNIT_EXPECT_EQ(test, memcmp(&fix->mgid, &mgid, sizeof(mgid)), 0);
}

static void xmit_no_group(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	union ib_gid nodes = { .raw = { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01,
					[11] = 1, 0xff, 0x12, 0x34, 0x56 } };
	union ib_gid other;

	clear_bit(IPOIB_FLAG_JOINED, &priv->flags);
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL), IPOIB_TX_NO_BROADCAST));
	set_bit(IPOIB_FLAG_JOINED, &priv->flags);
	xmit_mgid(&other, 9);
	other.raw[5] = 2;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_frame(&other, ETH_P_IP),
					   IPOIB_TX_OTHER_LINK));
	fix->no_group = true;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL), IPOIB_TX_MAP));
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_frame(&nodes, ETH_P_IPV6), IPOIB_TX_MAP));
	/* Only Neighbour Solicitations are broadcast for lack of room. */
	priv->mcast.nsend = IPOIB_MCAST_SEND_MAX;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL), IPOIB_TX_GROUP_CAP));
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_frame(&nodes, ETH_P_IPV6), &fix->ah[0]));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_TO_BROADCAST], 1ll);
	nodes.raw[12] = 0xfe;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_frame(&nodes, ETH_P_IPV6),
					   IPOIB_TX_GROUP_CAP));
	nodes.raw[12] = 0xff;
	nodes.raw[3] = 0x1b;
	nodes.raw[2] = 0x40;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_frame(&nodes, ETH_P_IPV6),
					   IPOIB_TX_GROUP_CAP));
	KUNIT_EXPECT_EQ(test, fix->n, 0u);
}

/* The first frames wait for the join: 16 of a group, 512 of the interface. */
static void xmit_waiting(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = xmit_group(fix, 9, NULL);
	unsigned int i;

	mcast->state = IPOIB_MCAST_JOINING;
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_TRUE(test, xmit_waits(fix, mcast, xmit_ipv4(9, XMIT_LOCAL)));
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL), IPOIB_TX_QUEUE_FULL));
	/* The work sends them by the handle of the group. */
	RCU_INIT_POINTER(mcast->ah, &fix->ah[2]);
	fix->priv.mcast.nqueued += 3;
	ipoib_mcast_group_send(mcast);
	KUNIT_EXPECT_EQ(test, fix->begun, 1u);
	KUNIT_EXPECT_EQ(test, fix->sent, 16u);
	KUNIT_EXPECT_PTR_EQ(test, fix->last, &fix->ah[2]);
	KUNIT_EXPECT_EQ(test, fix->priv.mcast.nqueued, 3u);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&mcast->queue));
	mcast = xmit_group(fix, 8, NULL);
	fix->priv.mcast.nqueued = 511;
	KUNIT_EXPECT_TRUE(test, xmit_waits(fix, mcast, xmit_ipv4(8, XMIT_LOCAL)));
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(8, XMIT_LOCAL), IPOIB_TX_QUEUE_FULL));
}

static void xmit_failing(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = xmit_group(fix, 9, NULL);

	mcast->state = IPOIB_MCAST_BACKOFF;
	mcast->reason = IPOIB_CHECK_NO_ANSWER;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_LOCAL), &fix->ah[0]));
	mcast->reason = IPOIB_CHECK_QKEY;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL), IPOIB_TX_GROUP_FAIL));
	/* An answer that does not come */
	mcast->state = IPOIB_MCAST_JOINING;
	fix->slow = true;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_LOCAL), &fix->ah[0]));
	RCU_INIT_POINTER(fix->broadcast.ah, NULL);
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL), IPOIB_TX_NO_BROADCAST));
	RCU_INIT_POINTER(fix->priv.broadcast, NULL);
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL), IPOIB_TX_NO_BROADCAST));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_TO_BROADCAST], 2ll);
}

/* A missing group: frames that may be routed go to the routers, others nowhere. */
static void xmit_absent(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_mcast *mcast = xmit_group(fix, 9, NULL), *routers;

	mcast->state = IPOIB_MCAST_ABSENT;
	mcast->retry_at = jiffies + 10 * HZ;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL + 9), IPOIB_TX_NO_GROUP));
	/* The group of the routers is made, and broadcast is used until it is joined. */
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_ROUTED), &fix->ah[0]));
	KUNIT_EXPECT_EQ(test, fix->n, 2u);
	routers = xmit_group(fix, 2, &fix->ah[1]);
	KUNIT_EXPECT_EQ(test, fix->n, 2u);
	routers->used = jiffies - 5 * HZ;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_ROUTED), &fix->ah[1]));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_TX_TO_ROUTERS], 1ll);
	KUNIT_EXPECT_TRUE(test, jiffies - routers->used < 2 * HZ);
	mcast->settled = false;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_LOCAL), &fix->ah[0]));
	mcast->settled = true;
	/* Reports of the SA lengthen the pause by 30 s. */
	mcast->retry_at = jiffies - 20 * HZ;
	fix->notices = true;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL + 9), IPOIB_TX_NO_GROUP));
	KUNIT_EXPECT_EQ(test, mcast->events, (u8)0);
	mcast->retry_at = jiffies - 31 * HZ;
	mcast->asked_at = jiffies - 31 * HZ;
	KUNIT_EXPECT_TRUE(test, xmit_waits(fix, mcast, xmit_ipv4(9, XMIT_LOCAL)));
	KUNIT_EXPECT_EQ(test, mcast->events, (u8)IPOIB_MCAST_EV_RECHECK);
	KUNIT_EXPECT_TRUE(test, jiffies - mcast->asked_at < 2 * HZ);
	__skb_queue_purge(&mcast->queue);
	/* Its join is due. */
	mcast->retry_at = jiffies + 10 * HZ;
	KUNIT_EXPECT_TRUE(test, xmit_waits(fix, mcast, xmit_ipv4(9, XMIT_LOCAL)));
	__skb_queue_purge(&mcast->queue);
	mcast->events = 0;
	/* Joined again: only frames for routers do not wait. */
	mcast->state = IPOIB_MCAST_JOINING;
	mcast->was_absent = true;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_ROUTED), &fix->ah[1]));
	KUNIT_EXPECT_TRUE(test, xmit_waits(fix, mcast, xmit_ipv4(9, XMIT_LOCAL)));
}

/**
 * struct xmit_ipv6 - frame of IPv6 without a listener
 * @scope: of its group
 * @next: header behind that of IPv6
 * @behind: header behind a hop-by-hop header
 * @more: length of the hop-by-hop header, beyond 8 octets
 * @icmp: type of ICMPv6 behind it
 * @len: length of the frame, from the network header on
 * @routers: it goes to the routers
 */
struct xmit_ipv6 {
	u8 scope;
	u8 next;
	u8 behind;
	u8 more;
	u8 icmp;
	unsigned int len;
	bool routers;
};

/* Frames with a scope beyond the link, and reports of listeners, are for routers. */
static void xmit_routers(struct kunit *test)
{
	static const struct xmit_ipv6 frames[] = {
		{ 1, NEXTHDR_NONE, 0, 0, 0, 56, false },
		{ 2, NEXTHDR_NONE, 0, 0, 0, 56, false },
		{ 3, NEXTHDR_NONE, 0, 0, 0, 56, true },
		{ 14, NEXTHDR_NONE, 0, 0, 0, 40, true },
		{ 14, NEXTHDR_NONE, 0, 0, 0, 39, false },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 129, 56, false },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 130, 56, true },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 131, 56, true },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 132, 49, true },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 132, 48, false },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 133, 56, false },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 142, 56, false },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 143, 56, true },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 0, 144, 56, false },
		{ 2, NEXTHDR_HOP, NEXTHDR_ICMP, 1, 143, 56, false },
		{ 2, NEXTHDR_HOP, NEXTHDR_TCP, 0, 143, 56, false },
		{ 2, NEXTHDR_DEST, NEXTHDR_ICMP, 0, 143, 56, false },
	};
	const union ib_gid v6 = { .raw = { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, [15] = 0x99 } };
	struct ipv6hdr *ip6;
	struct sk_buff *skb;
	unsigned int i;
	u8 *behind;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		skb = xmit_frame(&v6, ETH_P_IPV6);
		ip6 = (void *)(skb->data + IPOIB_HARD_LEN);
		behind = (u8 *)(ip6 + 1);
		ip6->daddr.s6_addr[0] = 0xff;
		ip6->daddr.s6_addr[1] = frames[i].scope;
		ip6->nexthdr = frames[i].next;
		behind[0] = frames[i].behind;
		behind[1] = frames[i].more;
		behind[8] = frames[i].icmp;
		skb_trim(skb, IPOIB_HARD_LEN + frames[i].len);
		KUNIT_EXPECT_EQ(test, ipoib_mcast_send_is_for_routers(skb), frames[i].routers);
		kfree_skb(skb);
	}
	/* IGMP, within the link, too; a header that is not all there; another protocol */
	for (i = 0; i < 4; i++) {
		skb = xmit_ipv4(9, i < 2 ? XMIT_LOCAL + 9 : XMIT_ROUTED);
		if (i == 1)
			((struct iphdr *)(skb->data + IPOIB_HARD_LEN))->protocol = IPPROTO_IGMP;
		if (i == 2)
			skb_trim(skb, IPOIB_HARD_LEN + sizeof(struct iphdr) - 1);
		if (i == 3)
			((struct ipoib_header *)skb->data)->encap.proto = htons(ETH_P_ARP);
		KUNIT_EXPECT_EQ(test, ipoib_mcast_send_is_for_routers(skb), i == 1);
		kfree_skb(skb);
	}
}

/* The MGID of a frame without a listener is that of its network address. */
static void xmit_by_ip(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_mcast *absent = xmit_group(fix, 9, NULL);
	union ib_gid mgid, v6 = { .raw = { 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, [15] = 0x99 } };
	struct ipoib_mcast *mcast;
	struct ipv6hdr *ip6;
	struct sk_buff *skb;

	absent->state = IPOIB_MCAST_ABSENT;
	absent->retry_at = jiffies + 10 * HZ;
	xmit_group(fix, 0x4d, &fix->ah[2]);
	mcast = ipoib_mcast_group_get(&fix->priv, v6.raw, IPOIB_USER_SEND);
	RCU_INIT_POINTER(mcast->ah, &fix->ah[3]);
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, xmit_ipv4(9, XMIT_LOCAL + 0x4d), &fix->ah[2]));
	KUNIT_EXPECT_EQ(test, fix->mgid.raw[15], (u8)0x4d);
	/* The right MGID already; a header that is not all there; another protocol */
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, xmit_ipv4(9, XMIT_LOCAL + 9), IPOIB_TX_NO_GROUP));
	skb = xmit_ipv4(9, XMIT_LOCAL + 0x4d);
	skb_trim(skb, IPOIB_HARD_LEN + sizeof(struct iphdr) - 1);
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, skb, IPOIB_TX_NO_GROUP));
	skb = xmit_ipv4(9, XMIT_LOCAL + 0x4d);
	((struct ipoib_header *)skb->data)->encap.proto = htons(ETH_P_ARP);
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, skb, IPOIB_TX_NO_GROUP));

	xmit_mgid(&mgid, 9);
	skb = xmit_frame(&mgid, ETH_P_IPV6);
	ip6 = (void *)(skb->data + IPOIB_HARD_LEN);
	ip6->daddr.s6_addr[0] = 0xff;
	ip6->daddr.s6_addr[1] = 0x02;
	ip6->daddr.s6_addr[15] = 0x99;
	KUNIT_EXPECT_TRUE(test, xmit_goes(fix, skb_copy(skb, GFP_KERNEL | __GFP_NOFAIL),
					  &fix->ah[3]));
	KUNIT_EXPECT_EQ(test, memcmp(&fix->mgid, &v6, sizeof(v6)), 0);
	ip6->daddr.s6_addr[0] = 0xfe;
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, skb_copy(skb, GFP_KERNEL | __GFP_NOFAIL),
					   IPOIB_TX_NO_GROUP));
	ip6->daddr.s6_addr[0] = 0xff;
	skb_trim(skb, IPOIB_HARD_LEN + sizeof(*ip6) - 1);
	KUNIT_EXPECT_TRUE(test, xmit_drops(fix, skb, IPOIB_TX_NO_GROUP));
	KUNIT_EXPECT_EQ(test, fix->n, 3u);
}

/* ---- groups that are routed ---- */

static void xmit_run(struct xmit_fixture *fix)
{
	fix->queued = false;
	fix->swept = 0;
	ipoib_mcast_interest_work(&fix->priv.mcast.work.work);
}

static void xmit_listed(struct xmit_fixture *fix, int status, const union ib_gid *mgids,
			unsigned int n)
{
	fix->swept = 0;
	ipoib_mcast_route_listed(&fix->priv, status, mgids, n);
}

/* The list of groups is requested with the flag, and 10 to 15 s later, one at a time. */
static void xmit_routes(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_groups *groups = &fix->priv.mcast;
	union ib_gid mgids[2];

	xmit_mgid(&mgids[0], 9);
	xmit_mgid(&mgids[1], 8);
	mgids[1].raw[5] = 2;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->lists, 0u);
	KUNIT_EXPECT_EQ(test, fix->monitors, 0);
	KUNIT_EXPECT_FALSE(test, fix->queued);
	KUNIT_EXPECT_EQ(test, fix->swept, (u8)IPOIB_USER_LISTEN);
	fix->dev->flags |= IFF_ALLMULTI;
	fix->priv.agent = NULL;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->monitors, 0);
	fix->priv.agent = (void *)fix;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->monitors, 1);
	KUNIT_EXPECT_EQ(test, fix->lists, 1u);
	KUNIT_EXPECT_EQ(test, groups->routes, (u8)(IPOIB_ROUTES_ON | IPOIB_ROUTES_ASKED));
	KUNIT_EXPECT_TRUE(test, time_in_range(groups->routes_at, jiffies + 9 * HZ,
					      jiffies + 15 * HZ));
	KUNIT_EXPECT_TRUE(test, fix->queued && fix->delay == 10 * HZ);
	/* The answer is not there yet. */
	groups->routes_at = jiffies;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->lists, 1u);
	KUNIT_EXPECT_FALSE(test, fix->queued);
	xmit_listed(fix, 0, mgids, 2);
	KUNIT_EXPECT_EQ(test, groups->routes, (u8)IPOIB_ROUTES_ON);
	KUNIT_EXPECT_EQ(test, fix->n, 1u);
	KUNIT_EXPECT_EQ(test, fix->mcast[0].users, (u8)IPOIB_USER_ROUTE);
	KUNIT_EXPECT_EQ(test, fix->swept, (u8)IPOIB_USER_ROUTE);
	/* Not yet due; due; with reports 300 s later */
	groups->routes_at = jiffies + 5 * HZ;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->lists, 1u);
	KUNIT_EXPECT_TRUE(test, fix->queued && fix->delay > 2 * HZ && fix->delay <= 5 * HZ);
	groups->routes_at = jiffies - HZ;
	fix->notices = true;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->lists, 1u);
	KUNIT_EXPECT_TRUE(test, fix->queued && fix->delay == 10 * HZ);
	groups->routes |= IPOIB_ROUTES_DUE;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->lists, 2u);
	KUNIT_EXPECT_EQ(test, groups->routes, (u8)(IPOIB_ROUTES_ON | IPOIB_ROUTES_ASKED));
	/* The flag goes, before the list comes. */
	fix->dev->flags &= ~IFF_ALLMULTI;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->monitors, 0);
	KUNIT_EXPECT_EQ(test, fix->dropped_users, (u8)IPOIB_USER_ROUTE);
	KUNIT_EXPECT_EQ(test, groups->routes, (u8)IPOIB_ROUTES_ASKED);
	KUNIT_EXPECT_FALSE(test, fix->queued);
	xmit_listed(fix, 0, mgids, 2);
	KUNIT_EXPECT_EQ(test, groups->routes, (u8)0);
	KUNIT_EXPECT_EQ(test, fix->mcast[0].users, (u8)0);
	xmit_listed(fix, -EIO, NULL, 0);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 0ll);
	KUNIT_EXPECT_EQ(test, groups->routes_failures, 0u);
}

/* Without the broadcast group nothing is routed, and without being up nothing is done. */
static void xmit_not_open(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;

	fix->dev->flags |= IFF_PROMISC;
	RCU_INIT_POINTER(fix->priv.broadcast, NULL);
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->monitors, 0);
	KUNIT_EXPECT_EQ(test, fix->swept, (u8)0);
	RCU_INIT_POINTER(fix->priv.broadcast, &fix->broadcast);
	clear_bit(IPOIB_FLAG_JOINED, &fix->priv.flags);
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->monitors, 1);
	KUNIT_EXPECT_EQ(test, fix->lists, 0u);
	KUNIT_EXPECT_FALSE(test, fix->queued);
	set_bit(IPOIB_FLAG_JOINED, &fix->priv.flags);
	/* A list that cannot be requested */
	fix->list_err = -EAGAIN;
	xmit_run(fix);
	KUNIT_EXPECT_EQ(test, fix->lists, 1u);
	KUNIT_EXPECT_EQ(test, fix->priv.mcast.routes_failures, 1u);
	KUNIT_EXPECT_EQ(test, fix->priv.mcast.routes, (u8)(IPOIB_ROUTES_ON | IPOIB_ROUTES_DUE));
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 1ll);
}

static void xmit_routes_fail(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_groups *groups = &fix->priv.mcast;
	unsigned long begin = jiffies;
	union ib_gid mgid;

	fix->dev->flags |= IFF_ALLMULTI;
	xmit_run(fix);
	xmit_listed(fix, -ETIMEDOUT, NULL, 0);
	KUNIT_EXPECT_EQ(test, fix->swept, (u8)0);
	KUNIT_EXPECT_EQ(test, groups->routes_failures, 1u);
	KUNIT_EXPECT_TRUE(test, time_in_range(groups->routes_at, begin + HZ / 10,
					      jiffies + HZ * 3 / 20));
	groups->routes &= ~IPOIB_ROUTES_DUE;
	xmit_listed(fix, -ETIMEDOUT, NULL, 0);
	KUNIT_EXPECT_EQ(test, groups->routes_failures, 2u);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	KUNIT_EXPECT_TRUE(test, time_in_range(groups->routes_at, begin + HZ / 5,
					      jiffies + HZ * 3 / 10));
	/* An earlier list that is due stays so; an event has it due at once. */
	groups->routes_at = begin;
	fix->resyncs = 0;
	spin_lock_bh(&groups->lock);
	ipoib_mcast_route_due(&fix->priv, 50 * HZ);
	KUNIT_EXPECT_EQ(test, groups->routes_at, begin);
	KUNIT_EXPECT_EQ(test, fix->resyncs, 0u);
	groups->routes_at = begin + 50 * HZ;
	ipoib_mcast_route_due(&fix->priv, 0);
	spin_unlock_bh(&groups->lock);
	KUNIT_EXPECT_TRUE(test, time_in_range(groups->routes_at, begin, jiffies));
	KUNIT_EXPECT_EQ(test, fix->resyncs, 1u);
	KUNIT_EXPECT_EQ(test, groups->routes_failures, 1u);
	/* No memory, or no room, for a group of the list */
	xmit_mgid(&mgid, 9);
	fix->no_group = true;
	groups->routes &= ~IPOIB_ROUTES_DUE;
	begin = jiffies;
	xmit_listed(fix, 0, &mgid, 1);
	KUNIT_EXPECT_EQ(test, groups->routes_failures, 0u);
	KUNIT_EXPECT_TRUE(test, groups->routes & IPOIB_ROUTES_DUE);
	KUNIT_EXPECT_TRUE(test, time_in_range(groups->routes_at, begin + HZ / 2,
					      jiffies + HZ / 2));
	groups->routes &= ~IPOIB_ROUTES_DUE;
	groups->nroute = IPOIB_MCAST_ROUTE_MAX;
	xmit_listed(fix, 0, &mgid, 1);
	KUNIT_EXPECT_TRUE(test, time_in_range(groups->routes_at, begin + 10 * HZ,
					      jiffies + 10 * HZ));
}

/* ---- groups that are listened to ---- */

static unsigned long xmit_listen(struct xmit_fixture *fix, const union ib_gid *mgid)
{
	struct ipoib_lladdr addr;
	unsigned long next;

	ipoib_lladdr_set(&addr, 0, IPOIB_MCAST_QPN, mgid);
	spin_lock_bh(&fix->priv.mcast.lock);
	next = ipoib_mcast_listen_add(&fix->priv, (const u8 *)&addr);
	spin_unlock_bh(&fix->priv.mcast.lock);
	return next;
}

static void xmit_listens(struct kunit *test)
{
	struct xmit_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	union ib_gid mgid;

	xmit_mgid(&mgid, 9);
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), ULONG_MAX);
	KUNIT_EXPECT_EQ(test, fix->n, 1u);
	KUNIT_EXPECT_EQ(test, fix->mcast[0].users, (u8)IPOIB_USER_LISTEN);
	mgid.raw[1] = 0x15;
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), ULONG_MAX);
	KUNIT_EXPECT_EQ(test, fix->n, 1u);
	/* umcast: groups of user space are left out, unless this port listens already. */
	xmit_mgid(&mgid, 8);
	fix->held = IPOIB_JOIN_FULL;
	priv->mcast.umcast = true;
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), (unsigned long)HZ);
	KUNIT_EXPECT_EQ(test, fix->n, 1u);
	xmit_mgid(&mgid, 9);
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), ULONG_MAX);
	xmit_mgid(&mgid, 8);
	fix->held = IPOIB_JOIN_NON;
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), ULONG_MAX);
	KUNIT_EXPECT_EQ(test, fix->n, 2u);
	xmit_mgid(&mgid, 7);
	fix->held = IPOIB_JOIN_FULL;
	priv->mcast.umcast = false;
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), ULONG_MAX);
	KUNIT_EXPECT_EQ(test, fix->n, 3u);
	/* No memory, or no room */
	xmit_mgid(&mgid, 6);
	fix->no_group = true;
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), HZ / 10ul);
	priv->mcast.ngroups = IPOIB_MCAST_MAX;
	KUNIT_EXPECT_EQ(test, xmit_listen(fix, &mgid), ULONG_MAX);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_FAILED], 2ll);
	fix->resyncs = 0;
	ipoib_mcast_set_umcast(priv, false);
	KUNIT_EXPECT_EQ(test, fix->warned, 0u);
	ipoib_mcast_set_umcast(priv, true);
	KUNIT_EXPECT_TRUE(test, priv->mcast.umcast);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	ipoib_mcast_set_umcast(priv, true);
	ipoib_mcast_set_umcast(priv, false);
	KUNIT_EXPECT_FALSE(test, priv->mcast.umcast);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	KUNIT_EXPECT_EQ(test, fix->resyncs, 4u);
}

static struct kunit_case ipoib_xmit_cases[] = {
	KUNIT_CASE(xmit_joined),
	KUNIT_CASE(xmit_no_group),
	KUNIT_CASE(xmit_waiting),
	KUNIT_CASE(xmit_failing),
	KUNIT_CASE(xmit_absent),
	KUNIT_CASE(xmit_routers),
	KUNIT_CASE(xmit_by_ip),
	KUNIT_CASE(xmit_routes),
	KUNIT_CASE(xmit_not_open),
	KUNIT_CASE(xmit_routes_fail),
	KUNIT_CASE(xmit_listens),
	{}
};

struct kunit_suite ipoib_xmit_suite = {
	.name = "ipoib_xmit",
	.init = xmit_init,
	.exit = xmit_exit,
	.test_cases = ipoib_xmit_cases,
};
