/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters: one enum, one name table (ipoib_stats.c), one copy per CPU.
 *
 * Every frame that goes wrong ends in exactly one of the drop counters, and
 * with it in rx_dropped, tx_dropped or tx_errors of the interface.
 */
#ifndef IPOIB_STATS_H
#define IPOIB_STATS_H

#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>

struct ipoib_dev;
struct rtnl_link_stats64;

/**
 * enum ipoib_stat - what is counted
 * @IPOIB_RX_PACKETS: frames handed to the stack
 * @IPOIB_TX_PACKETS: sends posted, less those that failed
 * @IPOIB_RX_BYTES: their octets, encapsulation header included
 * @IPOIB_TX_BYTES: their octets, encapsulation header included
 * @IPOIB_MULTICAST: frames received from a multicast group
 * @IPOIB_RX_SHORT: dropped: too short for GRH and encapsulation header
 * @IPOIB_RX_ERROR: receive completions with an error status
 * @IPOIB_RX_ECHO: dropped: own multicast frame that came back
 * @IPOIB_RX_VLAN: dropped: from another VLAN of a RoCE port
 * @IPOIB_RX_NEIGH: dropped: ARP or ND of a node that names others too often
 * @IPOIB_RX_NOMEM: dropped or not refilled for lack of memory
 * @IPOIB_TX_ERROR: sends that failed
 * @IPOIB_TX_POST: dropped: the QP refused the work request
 * @IPOIB_TX_MAP: dropped: no memory or no DMA mapping
 * @IPOIB_TX_HEADER: dropped: no room for pseudo and encapsulation header
 * @IPOIB_TX_TOO_LONG: dropped: longer than the MTU of the link
 * @IPOIB_TX_NO_PATH: dropped: no path to the GID
 * @IPOIB_TX_QUEUE_FULL: dropped: too many wait for a path or a group
 * @IPOIB_TX_FLUSHED: dropped: waited when the interface went down
 * @IPOIB_TX_CM_FULL: dropped: too many wait for a connection
 * @IPOIB_TX_NO_GROUP: dropped: no listener, link-local scope
 * @IPOIB_TX_OTHER_LINK: dropped: to a group that is not of the link
 * @IPOIB_TX_GROUP_FAIL: dropped: the group could not be joined
 * @IPOIB_TX_GROUP_CAP: dropped: too many groups
 * @IPOIB_TX_PATH_CAP: dropped: too many paths
 * @IPOIB_TX_NO_BROADCAST: dropped: the broadcast group is not joined
 * @IPOIB_TX_TO_BROADCAST: sent to the broadcast group in place of its own
 * @IPOIB_TX_TO_ROUTERS: sent to the all-routers group in place of its own
 * @IPOIB_TX_TIMEOUT: the watchdog fired
 * @IPOIB_MCAST_FAILED: failed multicast operations
 * @IPOIB_MCAST_JOINS: joins asked for
 * @IPOIB_MCAST_READS: records of groups read, and lists of them
 * @IPOIB_MCAST_REFUSED: groups not made because there are too many
 * @IPOIB_NOTICES: reports of the SA
 * @IPOIB_NOTICES_BAD: reports that are malformed or not from the SA
 * @IPOIB_PATH_QUERIES: path record queries
 * @IPOIB_PATH_FAILURE: path record queries that failed
 * @IPOIB_PMTU_ANSWERS: ICMP errors for packets that were too long for their
 *	destination
 * @IPOIB_CM_RX: frames received on connections; they are in IPOIB_RX_PACKETS
 *	too
 * @IPOIB_CM_TX: frames sent on connections; they are in IPOIB_TX_PACKETS too
 * @IPOIB_CM_REQUESTS: connections asked for
 * @IPOIB_CM_ESTABLISHED: of those, granted
 * @IPOIB_CM_REFUSED: of those, refused or not answered
 * @IPOIB_CM_ACCEPTED: connections granted to peers
 * @IPOIB_CM_REJECTS: refused to peers
 * @IPOIB_CM_PORT_FULL: of those, because peers on the port that they came from
 *	have as many as one port may have
 * @IPOIB_CM_SIDR: service ID resolution requests, which are refused; they are not
 *	in IPOIB_CM_REJECTS
 * @IPOIB_CM_CROSSED: of IPOIB_CM_REJECTS, because a request of ours had priority
 * @IPOIB_CM_BAD_DATA: messages of the CM with bad private data
 * @IPOIB_CM_REAPED: connections closed because they were not used
 * @IPOIB_CM_ERRORS: connections closed because they failed
 * @IPOIB_NR_STATS: number of counters
 */
enum ipoib_stat {
	IPOIB_RX_PACKETS,
	IPOIB_TX_PACKETS,
	IPOIB_RX_BYTES,
	IPOIB_TX_BYTES,
	IPOIB_MULTICAST,
	IPOIB_RX_SHORT,
	IPOIB_RX_ERROR,
	IPOIB_RX_ECHO,
	IPOIB_RX_VLAN,
	IPOIB_RX_NEIGH,
	IPOIB_RX_NOMEM,
	IPOIB_TX_ERROR,
	IPOIB_TX_POST,
	IPOIB_TX_MAP,
	IPOIB_TX_HEADER,
	IPOIB_TX_TOO_LONG,
	IPOIB_TX_NO_PATH,
	IPOIB_TX_QUEUE_FULL,
	IPOIB_TX_FLUSHED,
	IPOIB_TX_CM_FULL,
	IPOIB_TX_NO_GROUP,
	IPOIB_TX_OTHER_LINK,
	IPOIB_TX_GROUP_FAIL,
	IPOIB_TX_GROUP_CAP,
	IPOIB_TX_PATH_CAP,
	IPOIB_TX_NO_BROADCAST,
	IPOIB_TX_TO_BROADCAST,
	IPOIB_TX_TO_ROUTERS,
	IPOIB_TX_TIMEOUT,
	IPOIB_MCAST_FAILED,
	IPOIB_MCAST_JOINS,
	IPOIB_MCAST_READS,
	IPOIB_MCAST_REFUSED,
	IPOIB_NOTICES,
	IPOIB_NOTICES_BAD,
	IPOIB_PATH_QUERIES,
	IPOIB_PATH_FAILURE,
	IPOIB_PMTU_ANSWERS,
	IPOIB_CM_RX,
	IPOIB_CM_TX,
	IPOIB_CM_REQUESTS,
	IPOIB_CM_ESTABLISHED,
	IPOIB_CM_REFUSED,
	IPOIB_CM_ACCEPTED,
	IPOIB_CM_REJECTS,
	IPOIB_CM_PORT_FULL,
	IPOIB_CM_SIDR,
	IPOIB_CM_CROSSED,
	IPOIB_CM_BAD_DATA,
	IPOIB_CM_REAPED,
	IPOIB_CM_ERRORS,
	IPOIB_NR_STATS,
};

/**
 * struct ipoib_pcpu_stats - counters of one CPU
 * @syncp: lets 32-bit readers see whole values
 * @val: the counters
 */
struct ipoib_pcpu_stats {
	struct u64_stats_sync syncp;
	u64_stats_t val[IPOIB_NR_STATS];
};

int ipoib_stats_init(struct ipoib_dev *priv);
void ipoib_stats_exit(struct ipoib_dev *priv);
void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, u64 n);
void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets,
			s64 npackets, s64 nbytes);
void ipoib_stats_read(struct ipoib_dev *priv, u64 *sum);
void ipoib_stats_link(const u64 *sum, struct rtnl_link_stats64 *link);
const char *ipoib_stat_name(enum ipoib_stat stat);
void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb,
		enum ipoib_stat why);
void ipoib_drop_list(struct ipoib_dev *priv, struct sk_buff_head *list,
		     enum ipoib_stat why);

#endif /* IPOIB_STATS_H */
