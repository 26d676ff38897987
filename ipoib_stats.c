// SPDX-License-Identifier: GPL-2.0
/*
 * Counters, and the drop of a frame. See ipoib_stats.h.
 */
#include <linux/if_link.h>

#include "ipoib.h"
#include "ipoib_trace.h"

/* By enum ipoib_stat */
const char * const ipoib_stat_names[] = {
	IPOIB_STATS(IPOIB_STAT_NAME)
};

/* By enum ipoib_txq_stat */
const char * const ipoib_txq_stat_names[] = {
	IPOIB_TXQ_STATS(IPOIB_STAT_NAME)
};

/*
 * Add @n, which may be negative, to a counter. Context: any.
 *
 * u64_stats_add() takes no negative number where a long has 32 bits. Interrupts are off there;
 * elsewhere they are on, and the addition has to be a single operation.
 */
void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	struct ipoib_pcpu_stats *stats = get_cpu_ptr(priv->stats);
	u64_stats_t *val = &stats->val[stat];
	unsigned long flags;

	flags = u64_stats_update_begin_irqsave(&stats->syncp);
	if (IS_ENABLED(CONFIG_64BIT))
		u64_stats_add(val, n);
	else
		u64_stats_set(val, u64_stats_read(val) + n);
	u64_stats_update_end_irqrestore(&stats->syncp, flags);
	put_cpu_ptr(priv->stats);
}

/**
 * ipoib_stat_traffic - count frames and their octets
 * @priv: the interface
 * @packets: IPOIB_RX_PACKETS, IPOIB_TX_PACKETS, IPOIB_TX_GSO or IPOIB_TX_GSO_WIRE
 * @npackets: number of frames; negative to undo
 * @nbytes: their octets
 *
 * Called once for a poll, a post or a large frame, not for each frame on the wire.
 *
 * Context: any
 */
void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets, s64 npackets, s64 nbytes)
{
	ipoib_stat_add(priv, packets, npackets);
	ipoib_stat_add(priv, packets + IPOIB_RX_BYTES - IPOIB_RX_PACKETS, nbytes);
}

static_assert(IPOIB_RX_BYTES - IPOIB_RX_PACKETS == IPOIB_TX_BYTES - IPOIB_TX_PACKETS &&
	      IPOIB_RX_BYTES - IPOIB_RX_PACKETS == IPOIB_TX_GSO_BYTES - IPOIB_TX_GSO &&
	      IPOIB_RX_BYTES - IPOIB_RX_PACKETS == IPOIB_TX_GSO_WIRE_BYTES - IPOIB_TX_GSO_WIRE);

/* Add @n counters, read whole, to @sum. */
static void ipoib_stats_sum(const struct u64_stats_sync *syncp, const u64_stats_t *from,
			    unsigned int n, u64 *sum)
{
	u64 val[IPOIB_NR_STATS];
	unsigned int start, i;

	do {
		start = u64_stats_fetch_begin(syncp);
		for (i = 0; i < n; i++)
			val[i] = u64_stats_read(&from[i]);
	} while (u64_stats_fetch_retry(syncp, start));
	for (i = 0; i < n; i++)
		sum[i] += val[i];
}

/* Sum the counters of all CPUs, to IPOIB_NR_STATS values. Context: process; does not sleep. */
void ipoib_stats_read(struct ipoib_dev *priv, u64 *sum)
{
	const struct ipoib_pcpu_stats *stats;
	int cpu;

	memset(sum, 0, IPOIB_NR_STATS * sizeof(*sum));
	for_each_possible_cpu(cpu) {
		stats = per_cpu_ptr(priv->stats, cpu);
		ipoib_stats_sum(&stats->syncp, stats->val, IPOIB_NR_STATS, sum);
	}
}

/*
 * Add the counters of the sender and of the completion handler of a transmit queue, to
 * IPOIB_NR_TXQ_COUNTERS values.
 * Context: process; does not sleep.
 */
void ipoib_txq_stats_read(const struct ipoib_txq_stats *sent, const struct ipoib_txq_stats *done,
			  u64 *sum)
{
	memset(sum, 0, IPOIB_NR_TXQ_COUNTERS * sizeof(*sum));
	ipoib_stats_sum(&done->syncp, done->val, IPOIB_NR_TXQ_COUNTERS, sum);
	/* A failed send was counted by its sender before. */
	smp_rmb();
	ipoib_stats_sum(&sent->syncp, sent->val, IPOIB_NR_TXQ_COUNTERS, sum);
	/* A batch that fails is counted in steps. */
	sum[IPOIB_TXQ_PACKETS] -= min(sum[IPOIB_TXQ_PACKETS], sum[IPOIB_TXQ_ERRORS]);
	sum[IPOIB_TXQ_BYTES] -= min(sum[IPOIB_TXQ_BYTES], sum[IPOIB_TXQ_ERROR_BYTES]);
}

/* Add the counters of ipoib_stats_read(), converted for rtnetlink, to @link. */
void ipoib_stats_link(const u64 *sum, struct rtnl_link_stats64 *link)
{
	unsigned int i;

	link->rx_packets += sum[IPOIB_RX_PACKETS];
	link->tx_packets += sum[IPOIB_TX_PACKETS];
	link->rx_bytes += sum[IPOIB_RX_BYTES];
	link->tx_bytes += sum[IPOIB_TX_BYTES];
	link->multicast += sum[IPOIB_MULTICAST];
	link->rx_length_errors += sum[IPOIB_RX_SHORT];
	link->rx_errors += sum[IPOIB_RX_SHORT] + sum[IPOIB_RX_ERROR];
	link->rx_dropped += sum[IPOIB_RX_NEIGH] + sum[IPOIB_RX_NOMEM];
	link->tx_errors += sum[IPOIB_TX_ERROR] + sum[IPOIB_TX_POST];
	for (i = IPOIB_TX_MAP; i <= IPOIB_TX_NO_BROADCAST; i++)
		link->tx_dropped += sum[i];
}

/* Reasons for drop monitors; 0 if none fits */
static const enum skb_drop_reason ipoib_drop_reasons[IPOIB_NR_STATS] = {
	[IPOIB_TX_MAP] = SKB_DROP_REASON_NOMEM,
	[IPOIB_TX_HEADER] = SKB_DROP_REASON_DEV_HDR,
	[IPOIB_TX_TOO_LONG] = SKB_DROP_REASON_PKT_TOO_BIG,
	[IPOIB_TX_NO_PATH] = SKB_DROP_REASON_NEIGH_FAILED,
	[IPOIB_TX_QUEUE_FULL] = SKB_DROP_REASON_NEIGH_QUEUEFULL,
	[IPOIB_TX_FLUSHED] = SKB_DROP_REASON_DEV_READY,
	[IPOIB_TX_CM_FULL] = SKB_DROP_REASON_FULL_RING,
	[IPOIB_TX_NO_GROUP] = SKB_DROP_REASON_NEIGH_FAILED,
	[IPOIB_TX_OTHER_LINK] = SKB_DROP_REASON_DEV_HDR,
	[IPOIB_TX_GROUP_FAIL] = SKB_DROP_REASON_NEIGH_FAILED,
	[IPOIB_TX_GROUP_CAP] = SKB_DROP_REASON_NEIGH_CREATEFAIL,
	[IPOIB_TX_PATH_CAP] = SKB_DROP_REASON_NEIGH_CREATEFAIL,
	[IPOIB_TX_NO_BROADCAST] = SKB_DROP_REASON_DEV_READY,
};

/* Drop a frame, counted by @why and traced. The frame is freed. Context: any but hard interrupt. */
void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	ipoib_stat_add(priv, why, 1);
	trace_ipoib_drop(priv->netdev, skb->len, why);
	dev_kfree_skb_any_reason(skb, ipoib_drop_reasons[why] ?: SKB_DROP_REASON_NOT_SPECIFIED);
}

/* Drop waiting frames, as ipoib_drop(), and empty their list. Context: any but hard interrupt. */
void ipoib_drop_list(struct ipoib_dev *priv, struct sk_buff_head *list, enum ipoib_stat why)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list)))
		ipoib_drop(priv, skb, why);
}
