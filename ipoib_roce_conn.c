// SPDX-License-Identifier: GPL-2.0
/*
 * What connections of a RoCE port need that those of an InfiniBand port do not.
 * These are operations of ipoib_fabric.h.
 */
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>

#include "ipoib.h"
#include "ipoib_roce.h"

/**
 * ipoib_roce_conn_check - whether a request has come by our link, and fits it
 * @priv: the interface
 * @req: the request
 *
 * It is the frame's destination address and VLAN that tell; what the request
 * itself says anybody may have written. A path MTU that is more than the
 * Ethernet takes would lose all long messages.
 *
 * Return: 0, or the reason to refuse it
 */
int ipoib_roce_conn_check(struct ipoib_dev *priv,
			  const struct ib_cm_req_event_param *req)
{
	int most = READ_ONCE(priv->port_mtu) + IPOIB_ENCAP_LEN;
	int mtu = ib_mtu_enum_to_int(req->primary_path->mtu);

	if (!ipoib_roce_is_ours(priv, req->ppath_sgid_attr))
		return IB_CM_REJ_INVALID_GID;
	/* Nor is any number an MTU. */
	if (mtu < 0 || mtu > most)
		return IB_CM_REJ_INVALID_MTU;
	return 0;
}

/**
 * ipoib_roce_is_soft - whether the HCA is soft-RoCE
 * @priv: the interface
 *
 * It has faults that are worked around:
 *
 * - On UC it reports a message of which a packet was lost as a failed receive. See also
 *   ipoib_cm_has_srq().
 * - A datagram that cannot be sent, as the GID of its address handle has gone from
 *   the port's table or there is no route, puts its QP into the error state. If that
 *   is QP 1, ib_mad does not start it again: the CM is dead on that port until the
 *   device is made anew. So connections end after the GID has gone, when the CM cannot
 *   make an address handle.
 *
 * Context: any
 * Return: whether it is
 */
bool ipoib_roce_is_soft(const struct ipoib_dev *priv)
{
	return priv->ca->ops.driver_id == RDMA_DRIVER_RXE;
}
