/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters: an enum, names in ipoib_stats.c, a copy for each CPU.
 *
 * Every lost frame is in exactly one drop counter, and with it in rx_errors, rx_dropped, tx_errors
 * or tx_dropped of the interface, except rx_own_echo and rx_drop_other_vlan: these are no loss.
 *
 * A transmit queue has counters of its own in addition. Connections send by no queue, and a queue
 * that is off keeps its counters.
 */
#ifndef IPOIB_STATS_H
#define IPOIB_STATS_H

#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>

struct ipoib_dev;
struct rtnl_link_stats64;

/*
 * Constant of &enum ipoib_stat, name in ethtool and tracepoints, in the order of ethtool.
 * IPOIB_TX_MAP to IPOIB_TX_NO_BROADCAST are tx_dropped of the interface.
 */
#define IPOIB_STATS(stat) \
	stat(IPOIB_RX_PACKETS, "rx_packets")	/* frames handed to the stack */ \
	stat(IPOIB_TX_PACKETS, "tx_packets")	/* sends posted, less those that failed */ \
	stat(IPOIB_RX_BYTES, "rx_bytes")	/* their octets, with encapsulation header */ \
	stat(IPOIB_TX_BYTES, "tx_bytes")	/* their octets, with encapsulation header */ \
	stat(IPOIB_MULTICAST, "multicast")	/* frames received from a multicast group */ \
	stat(IPOIB_RX_SHORT, "rx_drop_short")	/* dropped: no GRH and encapsulation header */ \
	stat(IPOIB_RX_ERROR, "rx_completion_errors") /* receives with an error status */ \
	stat(IPOIB_RX_ECHO, "rx_own_echo")	/* dropped: own multicast that came back */ \
	stat(IPOIB_RX_VLAN, "rx_drop_other_vlan") /* dropped: another VLAN of a RoCE port */ \
	stat(IPOIB_RX_NEIGH, "rx_drop_neigh_rate") /* dropped: ARP or ND of a node, too often */ \
	stat(IPOIB_RX_NOMEM, "rx_no_memory")	/* dropped: no memory */ \
	stat(IPOIB_RX_CSUM, "rx_csum_unnecessary") /* checksums that the HCA found good */ \
	stat(IPOIB_TX_ERROR, "tx_completion_errors") /* sends that failed */ \
	stat(IPOIB_TX_POST, "tx_drop_post")	/* dropped: the QP refused the work request */ \
	stat(IPOIB_TX_MAP, "tx_drop_map")	/* dropped: no memory or no DMA mapping */ \
	stat(IPOIB_TX_HEADER, "tx_drop_header")	/* dropped: no room for the headers */ \
	stat(IPOIB_TX_TOO_LONG, "tx_drop_too_long") /* dropped: longer than the MTU of the link */ \
	stat(IPOIB_TX_NO_PATH, "tx_drop_no_path") /* dropped: no path to the GID */ \
	stat(IPOIB_TX_QUEUE_FULL, "tx_drop_queue_full") /* dropped: path or group queue is full */ \
	stat(IPOIB_TX_FLUSHED, "tx_drop_flushed") /* dropped: waited at a down, or passing */ \
	stat(IPOIB_TX_CM_FULL, "tx_drop_cm_queue_full") /* dropped: connection queue is full */ \
	stat(IPOIB_TX_NO_GROUP, "tx_drop_no_listener") /* dropped: link-local, no listener */ \
	stat(IPOIB_TX_OTHER_LINK, "tx_drop_other_link") /* dropped: to a group of another link */ \
	stat(IPOIB_TX_GROUP_FAIL, "tx_drop_group_failed") /* dropped: the group was not joined */ \
	stat(IPOIB_TX_GROUP_CAP, "tx_drop_too_many_groups") /* dropped: too many groups */ \
	stat(IPOIB_TX_PATH_CAP, "tx_drop_too_many_paths") /* dropped: too many paths */ \
	stat(IPOIB_TX_NO_BROADCAST, "tx_drop_no_broadcast") /* dropped: no broadcast group */ \
	stat(IPOIB_TX_TO_BROADCAST, "tx_via_broadcast") /* to the broadcast group instead */ \
	stat(IPOIB_TX_TO_ROUTERS, "tx_via_all_routers") /* to the all-routers group instead */ \
	stat(IPOIB_TX_TIMEOUT, "tx_timeouts")	/* the watchdog fired */ \
	stat(IPOIB_TX_STOPPED, "tx_queue_stopped") /* the ring was full */ \
	stat(IPOIB_TX_WOKEN, "tx_queue_woken")	/* the ring had room again */ \
	stat(IPOIB_TX_GSO, "tx_gso_packets")	/* frames segmented by driver or HCA */ \
	stat(IPOIB_TX_GSO_WIRE, "tx_gso_wire_packets") /* their segments */ \
	stat(IPOIB_TX_GSO_BYTES, "tx_gso_bytes") /* octets of those frames */ \
	stat(IPOIB_TX_GSO_WIRE_BYTES, "tx_gso_wire_bytes") /* octets of segments */ \
	stat(IPOIB_MCAST_FAILED, "mcast_failures") /* failed multicast operations */ \
	stat(IPOIB_MCAST_JOINS, "mcast_joins")	/* joins asked for */ \
	stat(IPOIB_MCAST_READS, "mcast_record_reads") /* records of groups read, and lists */ \
	stat(IPOIB_MCAST_REFUSED, "mcast_groups_refused") /* groups not made: too many */ \
	stat(IPOIB_NOTICES, "sa_reports")	/* reports of the SA */ \
	stat(IPOIB_NOTICES_BAD, "sa_reports_bad") /* malformed, or not from the SA */ \
	stat(IPOIB_PATH_QUERIES, "path_queries") /* path record queries */ \
	stat(IPOIB_PATH_FAILURE, "path_failures") /* path record queries that failed */ \
	stat(IPOIB_PMTU_ANSWERS, "tx_too_long_answered") /* ICMP errors for packets too long */ \
	stat(IPOIB_CM_RX, "cm_rx_packets")	/* of IPOIB_RX_PACKETS, on connections */ \
	stat(IPOIB_CM_TX, "cm_tx_packets")	/* of IPOIB_TX_PACKETS, on connections */ \
	stat(IPOIB_CM_REQUESTS, "cm_requests")	/* connections asked for */ \
	stat(IPOIB_CM_ESTABLISHED, "cm_established") /* of IPOIB_CM_REQUESTS, granted */ \
	stat(IPOIB_CM_REFUSED, "cm_refused")	/* of IPOIB_CM_REQUESTS, not granted */ \
	stat(IPOIB_CM_ACCEPTED, "cm_accepted")	/* connections granted to peers */ \
	stat(IPOIB_CM_REJECTS, "cm_rejected")	/* refused to peers, or not answered */ \
	stat(IPOIB_CM_PORT_FULL, "cm_rejected_port_full") /* of IPOIB_CM_REJECTS: quota */ \
	stat(IPOIB_CM_SIDR, "cm_sidr_rejected")	/* SIDR_REQs; not in IPOIB_CM_REJECTS */ \
	stat(IPOIB_CM_CROSSED, "cm_crossed")	/* of IPOIB_CM_REJECTS, for an own request */ \
	stat(IPOIB_CM_BAD_DATA, "cm_bad_private_data") /* CM messages with bad private data */ \
	stat(IPOIB_CM_REAPED, "cm_reaped")	/* closed without use */ \
	stat(IPOIB_CM_ERRORS, "cm_errors")	/* closed after a failure */

#define IPOIB_STAT_CONSTANT(stat, name)	stat,
#define IPOIB_STAT_NAME(stat, name)	name,

enum ipoib_stat {
	IPOIB_STATS(IPOIB_STAT_CONSTANT)
	IPOIB_NR_STATS
};

/* Counters of a CPU. */
struct ipoib_pcpu_stats {
	struct u64_stats_sync syncp;	/* whole values for readers with 32 bits */
	u64_stats_t val[IPOIB_NR_STATS];
};

/* Counters of a transmit queue: name in ethtool, behind the number of the queue */
#define IPOIB_TXQ_STATS(stat) \
	stat(IPOIB_TXQ_PACKETS, "packets")	/* of IPOIB_TX_PACKETS */ \
	stat(IPOIB_TXQ_BYTES, "bytes")		/* of IPOIB_TX_BYTES */ \
	stat(IPOIB_TXQ_ERRORS, "errors")	/* of IPOIB_TX_ERROR and IPOIB_TX_POST */ \
	stat(IPOIB_TXQ_STOPPED, "stopped")	/* of IPOIB_TX_STOPPED */ \
	stat(IPOIB_TXQ_WOKEN, "woken")		/* of IPOIB_TX_WOKEN */

enum ipoib_txq_stat {
	IPOIB_TXQ_STATS(IPOIB_STAT_CONSTANT)
	IPOIB_NR_TXQ_STATS,
	/* Octets of IPOIB_TXQ_BYTES that failed; not shown */
	IPOIB_TXQ_ERROR_BYTES = IPOIB_NR_TXQ_STATS,
	IPOIB_NR_TXQ_COUNTERS
};

/* Counters of a transmit queue, with one writer. */
struct ipoib_txq_stats {
	struct u64_stats_sync syncp;	/* whole values for readers with 32 bits */
	/* counters, which only grow, see ipoib_txq_stats_read() */
	u64_stats_t val[IPOIB_NR_TXQ_COUNTERS];
};

/* Add @n to a counter of a transmit queue. Context: the writer of @stats. */
static inline void ipoib_txq_stat_add(struct ipoib_txq_stats *stats, unsigned int stat,
				      unsigned int n)
{
	u64_stats_update_begin(&stats->syncp);
	u64_stats_add(&stats->val[stat], n);
	u64_stats_update_end(&stats->syncp);
}

extern const char * const ipoib_stat_names[];
extern const char * const ipoib_txq_stat_names[];
void ipoib_txq_stats_read(const struct ipoib_txq_stats *sent, const struct ipoib_txq_stats *done,
			  u64 *sum);
void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n);
void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets, s64 npackets, s64 nbytes);
void ipoib_stats_read(struct ipoib_dev *priv, u64 *sum);
void ipoib_stats_link(const u64 *sum, struct rtnl_link_stats64 *link);
void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why);
void ipoib_drop_list(struct ipoib_dev *priv, struct sk_buff_head *list, enum ipoib_stat why);

#endif /* IPOIB_STATS_H */
