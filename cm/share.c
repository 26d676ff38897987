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
#include "ipoib.h"
#include "cm/cm.h"

/* Connections that are not established yet, of a port and of all. */
#define IPOIB_CM_PENDING	16
#define IPOIB_CM_PENDING_ALL	1024

/*
 * The most connections of a port. Each holds one receive of the SRQ at most, by a message that does
 * not end, so three quarters of the receives are left to others.
 */
static unsigned int ipoib_cm_quota(const struct ipoib_cm *cm, unsigned int limit)
{
	return max(min(limit / 2, ipoib_cm_rx_full(cm) / 4), 1u);
}

/**
 * ipoib_cm_admit - check whether there may be one more connection
 * @cm: connected mode of the interface
 * @port: number of the port of its peer, see ipoib_cm_port()
 *
 * At a limit no other connection is closed: idle ones end by their own times. Connections that
 * close count until they are freed, a matter of seconds.
 *
 * Context: &ipoib_cm.lock held, until the connection is published
 * Return: 0; -EAGAIN if there will be room soon, -EDQUOT if the port has its quota, -ENOSPC if the
 * interface has as many as it may have
 */
int ipoib_cm_admit(struct ipoib_cm *cm, u64 port)
{
	struct ipoib_cm_share *share = ipoib_cm_share(cm, port);
	unsigned int limit = ipoib_cm_limit(cm);
	bool full = share->nconns >= ipoib_cm_quota(cm, limit);

	lockdep_assert_held(&cm->lock);
	/* A connection that is made after the SRQ has failed delays the next SRQ. */
	if (!READ_ONCE(cm->up) || ipoib_cm_srq_has_failed(cm))
		return -EAGAIN;
	if (cm->npending >= IPOIB_CM_PENDING_ALL || share->npending >= IPOIB_CM_PENDING)
		return -EAGAIN;
	if (!full && cm->nconns < limit)
		return 0;
	if (!list_empty(&cm->closing))
		return -EAGAIN;
	return full ? -EDQUOT : -ENOSPC;
}
