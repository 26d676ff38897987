// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: how many connections there may be, and the share of each port of the
 * fabric.
 *
 * A host can name any number of GIDs and QPNs, in its requests and in what it answers to
 * ARP, but all of them are on its port: on InfiniBand a LID, which the switches check, on
 * Ethernet a MAC address. So each connection counts for the port of its peer, whichever end
 * requested it, and no port has more than its share of connections and of requests that are
 * under way. The peers on other ports keep connected mode.
 */
#include <linux/module.h>

#include "ipoib.h"
#include "cm/cm.h"

/* Connections that are not established yet, of a port and of all. */
#define IPOIB_CM_PENDING	16
#define IPOIB_CM_PENDING_ALL	1024
/* How many connections of a share are scanned for the least recently used. */
#define IPOIB_CM_SCAN_MAX	64

static unsigned int ipoib_cm_max_port;
module_param_named(cm_max_per_port, ipoib_cm_max_port, uint, 0644);
MODULE_PARM_DESC(cm_max_per_port,
		 "Most connections with peers on one port of the fabric, if that is less than a quarter of the receives and half of all connections (0: no other bound)");

/*
 * Close the least recently used connection of a share, if it is idle or @used ones may go. The
 * works of connections keep the list in order of use; what has been used since they ran is in
 * front, still.
 */
static bool ipoib_cm_share_evict(struct ipoib_cm_share *share, bool used)
{
	struct ipoib_conn *conn, *oldest = NULL;
	unsigned int scan = IPOIB_CM_SCAN_MAX;

	list_for_each_entry(conn, &share->conns, share_list) {
		if (!oldest || time_before(READ_ONCE(conn->used), READ_ONCE(oldest->used)))
			oldest = conn;
		if (!--scan)
			break;
	}
	if (!oldest || !(used || ipoib_conn_is_evictable(oldest)))
		return false;
	ipoib_conn_close_for(oldest, "evicted", IPOIB_CM_REAPED);
	return true;
}

/* The share with most connections that are not closing. */
static struct ipoib_cm_share *ipoib_cm_share_largest(struct ipoib_cm *cm)
{
	struct ipoib_cm_share *share, *largest = cm->shares;

	lockdep_assert_held(&cm->lock);
	for (share = cm->shares; share < cm->shares + IPOIB_CM_SHARES; share++)
		if (share->nconns > largest->nconns)
			largest = share;
	return largest;
}

/**
 * ipoib_cm_share_move - have a connection count for another port
 * @conn: the connection, not established yet
 * @port: number of the port that its path record leads to now
 *
 * It stays though the port may have its share: what an SM assigns anew is not up to a host.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_cm_share_move(struct ipoib_conn *conn, u64 port)
{
	struct ipoib_cm_share *share = ipoib_cm_share(conn->cm, conn->port);

	lockdep_assert_held(&conn->cm->lock);
	share->nconns--;
	share->npending--;
	conn->port = port;
	share = ipoib_cm_share(conn->cm, port);
	share->nconns++;
	share->npending++;
}

/*
 * The most connections of a port. Each holds one receive of the SRQ at most, by a message that does
 * not end, so three quarters of the receives are left to others.
 */
static unsigned int ipoib_cm_quota(const struct ipoib_cm *cm, unsigned int limit)
{
	unsigned int quota = max(min(limit / 2, ipoib_cm_rx_full(cm) / 4), 1u);

	return min(quota, READ_ONCE(ipoib_cm_max_port) ?: quota);
}

/**
 * ipoib_cm_admit - check whether there may be one more connection, and make room for it
 * @cm: connected mode of the interface
 * @port: number of the port of its peer, see ipoib_cm_port()
 *
 * The caller publishes the connection before it releases the lock.
 *
 * Context: &ipoib_cm.lock held
 * Return: 0; -EAGAIN if there will be room soon, -EDQUOT if the port has its share, -ENOSPC if all
 * have theirs
 */
int ipoib_cm_admit(struct ipoib_cm *cm, u64 port)
{
	struct ipoib_cm_share *share = ipoib_cm_share(cm, port), *largest;
	unsigned int limit = ipoib_cm_limit(cm);
	unsigned int own = ipoib_cm_quota(cm, limit);

	lockdep_assert_held(&cm->lock);
	/* What is admitted while the SRQ has failed keeps it from being made anew. */
	if (!READ_ONCE(cm->up) || ipoib_cm_srq_has_failed(cm))
		return -EAGAIN;
	if (cm->npending >= IPOIB_CM_PENDING_ALL || cm->nconns >= ipoib_cm_slack(limit))
		return -EAGAIN;
	/*
	 * After an event that closes all connections they are made anew before the old ones
	 * are freed, so there may be as many again that close.
	 */
	if (share->npending >= IPOIB_CM_PENDING ||
	    share->nclosing > own)
		return -EAGAIN;
	if (share->nconns >= own)
		return ipoib_cm_share_evict(share, false) ? 0 : -EDQUOT;
	if (cm->nconns < limit || ipoib_cm_share_evict(share, false))
		return 0;
	/*
	 * If none is idle, a port with many connections gives one to a port with few, used or
	 * not: it would otherwise exclude others by using all of its share.
	 */
	largest = ipoib_cm_share_largest(cm);
	return ipoib_cm_share_evict(largest, largest->nconns >= 2 * (share->nconns + 1)) ?
	       0 : -ENOSPC;
}
