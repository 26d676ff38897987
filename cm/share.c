// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: limits of connections, for the interface and for each port of the fabric.
 *
 * A host can invent any number of GIDs and QPNs, in REQs and in ARP replies, but not another port:
 * switches check the LID of a packet on InfiniBand, and Ethernet has the MAC address. So
 * connections and pending requests count for the port of the peer, whichever end sent the REQ, and
 * a port that has reached its quota excludes no peer on other ports.
 */
#include "ipoib.h"
#include "cm/cm.h"

/* Connections in IPOIB_CONN_PENDING: of a port, and of the interface */
#define IPOIB_CM_PENDING	16
#define IPOIB_CM_PENDING_ALL	1024

/*
 * Check the limits for one more connection of a port, see ipoib_cm_port(). A limit closes no other
 * connection: idle connections time out. Closing connections count until they are freed, some
 * seconds.
 * Context: &ipoib_cm.lock held, until the connection is published. Return: 0; -EAGAIN if the limit
 * is transient, -EDQUOT at the quota of the port, -ENOSPC at the limit of the interface.
 */
int ipoib_cm_admit(struct ipoib_cm *cm, u64 port)
{
	struct ipoib_cm_share *share = ipoib_cm_share(cm, port);
	unsigned int limit = ipoib_cm_limit(cm);
	/*
	 * A connection can hold at most one receive of the SRQ, by a message without end, so three
	 * quarters of the receives remain for other ports.
	 */
	unsigned int quota = max(min(limit / 2, ipoib_cm_rx_full(cm) / 4), 1u);
	bool full = share->nconns >= quota;

	lockdep_assert_held(&cm->lock);
	/* A connection made after the failure of the SRQ would delay the next SRQ. */
	if (!READ_ONCE(cm->up) || READ_ONCE(cm->srq_failed))
		return -EAGAIN;
	if (cm->npending >= IPOIB_CM_PENDING_ALL || share->npending >= IPOIB_CM_PENDING)
		return -EAGAIN;
	if (!full && cm->nconns < limit)
		return 0;
	if (!list_empty(&cm->closing))
		return -EAGAIN;
	return full ? -EDQUOT : -ENOSPC;
}
