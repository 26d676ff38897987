// SPDX-License-Identifier: GPL-2.0
/* Tests of counters, of dropped frames, and of frames that are too long */
#include <linux/if_link.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/icmp.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_stat_add		stats_stat_add
#define ipoib_stat_traffic	stats_stat_traffic
#define ipoib_stats_read	stats_stats_read
#define ipoib_txq_stats_read	stats_txq_stats_read
#define ipoib_stats_link	stats_stats_link
#define ipoib_stat_names	stats_stat_names
#define ipoib_txq_stat_names	stats_txq_stat_names
#define ipoib_drop		stats_drop_frame
#define ipoib_drop_list		stats_drop_list
#define ipoib_pmtu_reject	stats_pmtu_reject
#define ipoib_pmtu_init		stats_pmtu_init
#define ipoib_pmtu_stop		stats_pmtu_stop

#include "ipoib.h"

/* No tracepoints, works and routes; errors and reasons are noted */
#define IPOIB_TRACE_H
#define trace_ipoib_drop(dev, len, why)			stats_trace(len, why)
#define dev_kfree_skb_any_reason(skb, reason)		stats_free(skb, reason)
#define icmp_ndo_send(skb, type, code, info)		stats_icmp(skb, type, code, info)
#define icmpv6_ndo_send(skb, type, code, info)		stats_icmpv6(skb, type, code, info)
#define skb_dst_update_pmtu_no_confirm(skb, mtu)	stats_update_pmtu(skb, mtu)
#define queue_work(wq, work)				(stats_fix->works++)
#define local_bh_disable()				(stats_fix->bh++)
#define local_bh_enable()				(stats_fix->bh--)

/**
 * struct stats_fixture - fixture of a case
 * @priv: an interface
 * @sum: counters
 * @reason: reason of the last freed frame
 * @freed: number of freed frames
 * @traced: octets of dropped frames in the trace
 * @traced_why: counter of the last of these
 * @route_mtu: MTU of the route
 * @mtu: MTU of the last error
 * @v4: number of errors of IPv4
 * @v6: number of errors of IPv6
 * @bad: calls with wrong arguments
 * @works: works queued
 * @bh: bottom halves are off
 */
struct stats_fixture {
	struct ipoib_dev priv;
	u64 sum[IPOIB_NR_STATS];
	enum skb_drop_reason reason;
	unsigned int freed;
	unsigned int traced;
	enum ipoib_stat traced_why;
	unsigned int route_mtu;
	unsigned int mtu;
	unsigned int v4;
	unsigned int v6;
	unsigned int bad;
	unsigned int works;
	int bh;
};

/* The fixture of the running case */
static struct stats_fixture *stats_fix;

static void stats_trace(unsigned int len, enum ipoib_stat why)
{
	stats_fix->traced += len;
	stats_fix->traced_why = why;
}

static void stats_free(struct sk_buff *skb, enum skb_drop_reason reason)
{
	stats_fix->reason = reason;
	stats_fix->freed++;
	kfree_skb(skb);
}

/* The packet, as the stack has it: without the header of the driver */
static bool stats_is_packet(const struct sk_buff *skb, __be16 proto)
{
	return stats_fix->bh == 1 && skb->protocol == proto && skb->len == 40 &&
	       skb_network_header(skb) == skb->data && !memchr_inv(skb->cb, 0, sizeof(skb->cb));
}

static void stats_icmp(struct sk_buff *skb, int type, int code, __be32 info)
{
	stats_fix->v4++;
	stats_fix->mtu = ntohl(info);
	if (!stats_is_packet(skb, htons(ETH_P_IP)) || type != ICMP_DEST_UNREACH ||
	    code != ICMP_FRAG_NEEDED)
		stats_fix->bad++;
}

static void stats_icmpv6(struct sk_buff *skb, u8 type, u8 code, u32 info)
{
	stats_fix->v6++;
	stats_fix->mtu = info;
	if (!stats_is_packet(skb, htons(ETH_P_IPV6)) || type != ICMPV6_PKT_TOOBIG || code)
		stats_fix->bad++;
}

static void stats_update_pmtu(struct sk_buff *skb, u32 mtu)
{
	stats_fix->route_mtu = mtu;
}

#include "ipoib_stats.c"
#include "ipoib_pmtu.c"

static int stats_init(struct kunit *test)
{
	struct stats_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	if (!fix)
		return -ENOMEM;
	fix->priv.stats = netdev_alloc_pcpu_stats(struct ipoib_pcpu_stats);
	if (!fix->priv.stats) {
		kvfree(fix);
		return -ENOMEM;
	}
	ipoib_pmtu_init(&fix->priv);
	test->priv = fix;
	stats_fix = fix;
	return 0;
}

static void stats_exit(struct kunit *test)
{
	struct stats_fixture *fix = test->priv;

	skb_queue_purge(&fix->priv.pmtu.queue);
	free_percpu(fix->priv.stats);
	kvfree(fix);
}

static u64 stats_of(struct stats_fixture *fix, enum ipoib_stat stat)
{
	ipoib_stats_read(&fix->priv, fix->sum);
	return fix->sum[stat];
}

static struct sk_buff *stats_skb(__be16 proto, unsigned int len)
{
	struct sk_buff *skb = alloc_skb(IPOIB_HARD_LEN + len, GFP_KERNEL | __GFP_NOFAIL);
	struct ipoib_header *header = skb_put_zero(skb, IPOIB_HARD_LEN + len);

	header->encap.proto = proto;
	memset(skb->cb, 0xff, sizeof(skb->cb));
	return skb;
}

/* ---- counters ---- */

static void stats_sums(struct kunit *test)
{
	struct stats_fixture *fix = test->priv;
	struct ipoib_pcpu_stats *stats;
	unsigned int i, n = 0;
	int cpu;

	memset(fix->sum, 0xff, sizeof(fix->sum));
	for_each_possible_cpu(cpu) {
		stats = per_cpu_ptr(fix->priv.stats, cpu);
		for (i = 0; i < IPOIB_NR_STATS; i++)
			u64_stats_set(&stats->val[i], 100 + i);
		n++;
	}
	ipoib_stats_read(&fix->priv, fix->sum);
	for (i = 0; i < IPOIB_NR_STATS; i++)
		KUNIT_EXPECT_EQ(test, fix->sum[i], (u64)n * (100 + i));
	ipoib_stat_add(&fix->priv, IPOIB_CM_ERRORS, 3);
	ipoib_stat_add(&fix->priv, IPOIB_CM_ERRORS, -2);
	KUNIT_EXPECT_EQ(test, stats_of(fix, IPOIB_CM_ERRORS) - (u64)n * (100 + IPOIB_CM_ERRORS), 1);
}

static void stats_traffic(struct kunit *test)
{
	static const struct {
		enum ipoib_stat packets;
		enum ipoib_stat bytes;
	} kinds[] = {
		{ IPOIB_RX_PACKETS, IPOIB_RX_BYTES },
		{ IPOIB_TX_PACKETS, IPOIB_TX_BYTES },
		{ IPOIB_TX_GSO, IPOIB_TX_GSO_BYTES },
		{ IPOIB_TX_GSO_WIRE, IPOIB_TX_GSO_WIRE_BYTES },
	};
	struct stats_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		ipoib_stat_traffic(&fix->priv, kinds[i].packets, 5, 700);
		ipoib_stat_traffic(&fix->priv, kinds[i].packets, -2, -300);
		KUNIT_EXPECT_EQ(test, stats_of(fix, kinds[i].packets), 3);
		KUNIT_EXPECT_EQ(test, stats_of(fix, kinds[i].bytes), 400);
	}
}

/* Each counter has a bit of its own. */
static void stats_link(struct kunit *test)
{
	struct stats_fixture *fix = test->priv;
	struct rtnl_link_stats64 link = {};
	u64 dropped = 0;
	unsigned int i;

	static_assert(IPOIB_NR_STATS < 63);
	for (i = 0; i < IPOIB_NR_STATS; i++)
		fix->sum[i] = BIT_ULL(i);
	for (i = IPOIB_TX_MAP; i <= IPOIB_TX_NO_BROADCAST; i++)
		dropped |= BIT_ULL(i);
	/* They add to those of the net device of an HCA. */
	ipoib_stats_link(fix->sum, &link);
	ipoib_stats_link(fix->sum, &link);
	KUNIT_EXPECT_EQ(test, link.rx_packets, 2 * BIT_ULL(IPOIB_RX_PACKETS));
	KUNIT_EXPECT_EQ(test, link.tx_packets, 2 * BIT_ULL(IPOIB_TX_PACKETS));
	KUNIT_EXPECT_EQ(test, link.rx_bytes, 2 * BIT_ULL(IPOIB_RX_BYTES));
	KUNIT_EXPECT_EQ(test, link.tx_bytes, 2 * BIT_ULL(IPOIB_TX_BYTES));
	KUNIT_EXPECT_EQ(test, link.multicast, 2 * BIT_ULL(IPOIB_MULTICAST));
	KUNIT_EXPECT_EQ(test, link.rx_length_errors, 2 * BIT_ULL(IPOIB_RX_SHORT));
	KUNIT_EXPECT_EQ(test, link.rx_errors,
			2 * (BIT_ULL(IPOIB_RX_SHORT) | BIT_ULL(IPOIB_RX_ERROR)));
	KUNIT_EXPECT_EQ(test, link.rx_dropped,
			2 * (BIT_ULL(IPOIB_RX_NEIGH) | BIT_ULL(IPOIB_RX_NOMEM)));
	KUNIT_EXPECT_EQ(test, link.tx_errors,
			2 * (BIT_ULL(IPOIB_TX_ERROR) | BIT_ULL(IPOIB_TX_POST)));
	KUNIT_EXPECT_EQ(test, link.tx_dropped, 2 * dropped);
	/* From the first to the last reason of a drop */
	KUNIT_EXPECT_EQ(test, IPOIB_TX_NO_BROADCAST - IPOIB_TX_MAP, 12);
}

static void stats_txq(struct kunit *test)
{
	struct ipoib_txq_stats *stats = kcalloc(2, sizeof(*stats), GFP_KERNEL | __GFP_NOFAIL);
	struct ipoib_txq_stats *sent = &stats[0], *done = &stats[1];
	u64 sum[IPOIB_NR_TXQ_COUNTERS];

	u64_stats_init(&sent->syncp);
	u64_stats_init(&done->syncp);
	ipoib_txq_stat_add(sent, IPOIB_TXQ_PACKETS, 9);
	ipoib_txq_stat_add(sent, IPOIB_TXQ_PACKETS, 1);
	ipoib_txq_stat_add(sent, IPOIB_TXQ_BYTES, 1000);
	ipoib_txq_stat_add(sent, IPOIB_TXQ_STOPPED, 4);
	ipoib_txq_stat_add(sent, IPOIB_TXQ_ERRORS, 1);
	ipoib_txq_stat_add(done, IPOIB_TXQ_ERRORS, 2);
	ipoib_txq_stat_add(done, IPOIB_TXQ_ERROR_BYTES, 300);
	ipoib_txq_stat_add(done, IPOIB_TXQ_WOKEN, 5);
	memset(sum, 0xff, sizeof(sum));
	ipoib_txq_stats_read(sent, done, sum);
	KUNIT_EXPECT_EQ(test, sum[IPOIB_TXQ_PACKETS], 7);
	KUNIT_EXPECT_EQ(test, sum[IPOIB_TXQ_BYTES], 700);
	KUNIT_EXPECT_EQ(test, sum[IPOIB_TXQ_ERRORS], 3);
	KUNIT_EXPECT_EQ(test, sum[IPOIB_TXQ_STOPPED], 4);
	KUNIT_EXPECT_EQ(test, sum[IPOIB_TXQ_WOKEN], 5);
	/* A batch that fails is counted in steps. */
	ipoib_txq_stat_add(done, IPOIB_TXQ_ERRORS, 100);
	ipoib_txq_stat_add(done, IPOIB_TXQ_ERROR_BYTES, 10000);
	ipoib_txq_stats_read(sent, done, sum);
	KUNIT_EXPECT_EQ(test, sum[IPOIB_TXQ_PACKETS], 0);
	KUNIT_EXPECT_EQ(test, sum[IPOIB_TXQ_BYTES], 0);
	kfree(stats);
}

/* ---- dropped frames ---- */

static void stats_drop(struct kunit *test)
{
	static const struct {
		enum ipoib_stat why;
		enum skb_drop_reason reason;
	} drops[] = {
		{ IPOIB_TX_MAP, SKB_DROP_REASON_NOMEM },
		{ IPOIB_TX_HEADER, SKB_DROP_REASON_DEV_HDR },
		{ IPOIB_TX_TOO_LONG, SKB_DROP_REASON_PKT_TOO_BIG },
		{ IPOIB_TX_NO_PATH, SKB_DROP_REASON_NEIGH_FAILED },
		{ IPOIB_TX_QUEUE_FULL, SKB_DROP_REASON_NEIGH_QUEUEFULL },
		{ IPOIB_TX_FLUSHED, SKB_DROP_REASON_DEV_READY },
		{ IPOIB_TX_CM_FULL, SKB_DROP_REASON_FULL_RING },
		{ IPOIB_TX_NO_GROUP, SKB_DROP_REASON_NEIGH_FAILED },
		{ IPOIB_TX_OTHER_LINK, SKB_DROP_REASON_DEV_HDR },
		{ IPOIB_TX_GROUP_FAIL, SKB_DROP_REASON_NEIGH_FAILED },
		{ IPOIB_TX_GROUP_CAP, SKB_DROP_REASON_NEIGH_CREATEFAIL },
		{ IPOIB_TX_PATH_CAP, SKB_DROP_REASON_NEIGH_CREATEFAIL },
		{ IPOIB_TX_NO_BROADCAST, SKB_DROP_REASON_DEV_READY },
		{ IPOIB_TX_POST, SKB_DROP_REASON_NOT_SPECIFIED },
	};
	struct stats_fixture *fix = test->priv;
	struct sk_buff_head list;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drops); i++) {
		ipoib_drop(&fix->priv, stats_skb(0, i), drops[i].why);
		KUNIT_EXPECT_EQ(test, stats_of(fix, drops[i].why), 1);
		KUNIT_EXPECT_EQ(test, fix->reason, drops[i].reason);
		KUNIT_EXPECT_EQ(test, fix->freed, i + 1);
		KUNIT_EXPECT_EQ(test, fix->traced, (unsigned int)IPOIB_HARD_LEN + i);
		KUNIT_EXPECT_EQ(test, fix->traced_why, drops[i].why);
		fix->traced = 0;
	}
	__skb_queue_head_init(&list);
	for (i = 0; i < 3; i++)
		__skb_queue_tail(&list, stats_skb(0, i));
	ipoib_drop_list(&fix->priv, &list, IPOIB_TX_CM_FULL);
	KUNIT_EXPECT_EQ(test, stats_of(fix, IPOIB_TX_CM_FULL), 4);
	KUNIT_EXPECT_EQ(test, fix->freed, (unsigned int)ARRAY_SIZE(drops) + 3);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&list));
}

/* ---- frames that are too long ---- */

static void stats_pmtu(struct kunit *test)
{
	static const struct {
		u16 proto;
		u8 len;
		bool off;
		unsigned int mtu;
		unsigned int v4;
		unsigned int v6;
		unsigned int told;
	} frames[] = {
		{ ETH_P_IP, 40, false, 2044, 1, 0, 2044 },
		{ ETH_P_IP, 40, false, 576, 1, 0, 576 },
		{ ETH_P_IPV6, 40, false, 2044, 0, 1, 2044 },
		{ ETH_P_IPV6, 40, false, 576, 0, 1, 1280 },
		/* Without an error: too short for a header, no IP, datagram mode */
		{ ETH_P_IP, 19, false, 2044, 0, 0, 0 },
		{ ETH_P_IPV6, 39, false, 2044, 0, 0, 0 },
		{ ETH_P_ARP, 40, false, 2044, 0, 0, 0 },
		{ ETH_P_IP, 40, true, 2044, 0, 0, 0 },
		{ ETH_P_IPV6, 40, true, 2044, 0, 0, 0 },
	};
	struct stats_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i, answers = 0;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		priv->flags = frames[i].off ? 0 : BIT(IPOIB_FLAG_CONNECTED);
		fix->v4 = 0;
		fix->v6 = 0;
		fix->mtu = 0;
		fix->route_mtu = 0;
		ipoib_pmtu_reject(priv, stats_skb(htons(frames[i].proto), frames[i].len),
				  frames[i].mtu);
		KUNIT_EXPECT_EQ(test, fix->works, i + 1);
		ipoib_pmtu_work(&priv->pmtu.work);
		KUNIT_EXPECT_EQ(test, fix->v4, frames[i].v4);
		KUNIT_EXPECT_EQ(test, fix->v6, frames[i].v6);
		KUNIT_EXPECT_EQ(test, fix->mtu, frames[i].told);
		KUNIT_EXPECT_EQ(test, fix->route_mtu, frames[i].told);
		KUNIT_EXPECT_EQ(test, fix->bh, 0);
		answers += frames[i].v4 + frames[i].v6;
		KUNIT_EXPECT_EQ(test, stats_of(fix, IPOIB_PMTU_ANSWERS), answers);
		KUNIT_EXPECT_EQ(test, stats_of(fix, IPOIB_TX_TOO_LONG), i + 1);
		KUNIT_EXPECT_EQ(test, fix->freed, i + 1);
	}
	KUNIT_EXPECT_EQ(test, fix->bad, 0u);
}

static void stats_pmtu_queue(struct kunit *test)
{
	struct stats_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i;

	for (i = 0; i < 65; i++)
		ipoib_pmtu_reject(priv, stats_skb(htons(ETH_P_IP), 40), 2044);
	KUNIT_EXPECT_EQ(test, fix->works, 64u);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&priv->pmtu.queue), 64u);
	KUNIT_EXPECT_EQ(test, stats_of(fix, IPOIB_TX_TOO_LONG), 1);
	ipoib_pmtu_stop(priv);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&priv->pmtu.queue));
	KUNIT_EXPECT_EQ(test, stats_of(fix, IPOIB_TX_FLUSHED), 64);
	KUNIT_EXPECT_EQ(test, fix->freed, 65u);
	KUNIT_EXPECT_EQ(test, fix->v4, 0u);
}

static struct kunit_case ipoib_stats_cases[] = {
	KUNIT_CASE(stats_sums),
	KUNIT_CASE(stats_traffic),
	KUNIT_CASE(stats_link),
	KUNIT_CASE(stats_txq),
	KUNIT_CASE(stats_drop),
	KUNIT_CASE(stats_pmtu),
	KUNIT_CASE(stats_pmtu_queue),
	{}
};

struct kunit_suite ipoib_stats_suite = {
	.name = "ipoib_stats",
	.init = stats_init,
	.exit = stats_exit,
	.test_cases = ipoib_stats_cases,
};
