// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, passive side: REQs of peers.
 *
 * Nothing is sent on a connection before its REQ is known to come from the port of the peer's path
 * record. Of two crossing REQs one gives way (RFC 4755 section 3.3).
 *
 * The callback of the listeners runs in process context, one at a time on each CPU for all HCAs. It
 * takes &ipoib_cm.lock only, and accepts or refuses the REQ; the work of the connection creates the
 * QP and sends the REP.
 */
#include <rdma/ib_addr.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* ---- REQ ---- */

/*
 * Compare the port that the REQ came from with the end of its path. On InfiniBand the REQ names
 * that end: a right LID and a wrong QPN would have all sent frames lost.
 */
static int ipoib_cm_check_port(const struct ipoib_cm *cm, struct ib_cm_id *id, u64 port)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int mask;

	if (ib_cm_init_qp_attr(id, &attr, &mask))
		return IB_CM_REJ_NO_RESOURCES;
	if (ipoib_cm_port(cm, rdma_ah_get_dlid(&attr.ah_attr),
			  rdma_ah_retrieve_dmac(&attr.ah_attr)) == port)
		return 0;
	ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
	return IB_CM_REJ_INVALID_LID;
}

/* Parse a REQ; its path must end at this port, on its link. Returns 0 or the reason of the REJ. */
static int ipoib_conn_parse(struct ipoib_conn *conn, struct ib_cm_id *id,
			    const struct ib_cm_event *event, struct ipoib_lladdr *addr)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	const struct ipoib_cm_data *data = event->private_data;
	const struct sa_path_rec *path = req->primary_path;
	u16 pkey = be16_to_cpu(path->pkey);
	u32 qpn = ipoib_cm_data_qpn(data);
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_dev *priv = cm->priv;
	int reason;

	if (req->qp_type == IB_QPT_RC)
		conn->transport = IPOIB_LLADDR_RC;
	else if (req->qp_type == IB_QPT_UC)
		conn->transport = IPOIB_LLADDR_UC;
	if (!(conn->transport & READ_ONCE(cm->choice)->offers))
		return IB_CM_REJ_INVALID_TRANSPORT_TYPE;
	if (req->port != priv->port || (pkey | IPOIB_PKEY_FULL) != priv->pkey)
		return IB_CM_REJ_CONSUMER_DEFINED;
	/*
	 * Refuse the GID of this port and of groups. Refuse GIDs that are made of a LID
	 * (Omni-Path): the CM takes the LID from these, not from the packet.
	 */
	if (sa_path_is_opa(req->primary_path) ||
	    memcmp(&path->sgid, &priv->local_gid, sizeof(path->sgid)) ||
	    !memcmp(&path->dgid, &priv->local_gid, sizeof(path->dgid)) ||
	    rdma_is_multicast_addr((void *)path->dgid.raw))
		return IB_CM_REJ_INVALID_GID;
	reason = priv->fabric->conn_check ? priv->fabric->conn_check(priv, req) : 0;
	if (reason)
		return reason;
	conn->mtu = ipoib_cm_mtu(cm, data);
	if (!conn->mtu || qpn < 2 || qpn == IPOIB_MCAST_QPN) {
		ipoib_stat_add(priv, IPOIB_CM_BAD_DATA, 1);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}
	/* RFC 4755 section 3.3: QPN and GID form the address. */
	ipoib_lladdr_set(addr, 0, qpn, &path->dgid);
	conn->port = ipoib_cm_port_of(cm, req->primary_path);
	conn->failover = req->alternate_path ? IPOIB_FAILOVER_UNSUPPORTED : 0;
	return ipoib_cm_check_port(cm, id, conn->port);
}

/*
 * Whether a REQ gives way to an own one: of two crossing REQs with the RFC's service ID that of the
 * greater address wins (RFC 4755 section 3.3, C17). REQs with Linux' service ID are for connections
 * in one direction each, and do not cross. An own REQ that waits for a path record is not sent yet.
 */
static bool ipoib_peer_crosses(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	struct ipoib_lladdr own;
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->lock);
	ipoib_lladdr_set(&own, 0, cm->priv->qpn, &cm->priv->local_gid);
	if (ipoib_lladdr_less(&own, &peer->addr))
		return false;
	list_for_each_entry(conn, &peer->conns, peer_list)
		if (conn->state == IPOIB_CONN_PENDING && conn->active && conn->duplex &&
		    READ_ONCE(conn->id))
			return true;
	return false;
}

/*
 * Accept a REQ, within the limits, and publish the connection, which owns the identifier. It stands
 * beside older connections of the peer. A REQ from another port than that of the path record is
 * accepted, as the record may be stale, but nothing is sent on its connection.
 *
 * Returns 0, the reason of the REJ, or the error of ipoib_cm_admit().
 */
static int ipoib_conn_begin_passive(struct ipoib_conn *conn, struct ib_cm_id *id,
				    const struct ipoib_lladdr *addr)
{
	bool rfc = ipoib_service_first(id->service_id) == IPOIB_SID_RFC;
	int reason = -EAGAIN;
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_peer *peer;
	bool refuted;

	spin_lock_bh(&cm->lock);
	peer = ipoib_peer_get(cm, addr);
	if (!peer)
		goto unlock;
	conn->peer = peer;
	refuted = ipoib_conn_compare(conn);
	if (refuted) {
		ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
		ipoib_neigh_suspect(cm->priv, peer->addr.gid, IPOIB_NEIGH_TRUST);
	}
	if (rfc && ipoib_peer_crosses(cm, peer)) {
		ipoib_stat_add(cm->priv, IPOIB_CM_CROSSED, 1);
		reason = IB_CM_REJ_CONSUMER_DEFINED;
		goto put;
	}
	reason = ipoib_cm_admit(cm, conn->port);
	if (reason == -EDQUOT)
		ipoib_stat_add(cm->priv, IPOIB_CM_PORT_FULL, 1);
	if (reason)
		goto put;
	if (rfc && !refuted) {
		/* The peer listens to the service ID of the RFC by now. */
		peer->sid = IPOIB_SID_RFC;
		conn->duplex = true;
	}
	conn->id = id;
	id->context = conn;
	id->cm_handler = ipoib_conn_event;
	ipoib_conn_publish(conn, peer);
put:
	ipoib_peer_put(cm, peer);
unlock:
	spin_unlock_bh(&cm->lock);
	return reason;
}

/* Work of the connection; may sleep. */
static int ipoib_conn_send_rep(struct ipoib_conn *conn)
{
	struct ipoib_cm_data data;
	struct ib_cm_rep_param rep = {
		.qp_num = conn->qp->qp_num,
		.starting_psn = conn->psn,
		.private_data = &data,
		.private_data_len = sizeof(data),
		.failover_accepted = conn->failover,
		.rnr_retry_count = IPOIB_RC_RNR_RETRY,
		.srq = !!conn->cm->rx.bufs.srq,
	};
	int err;

	ipoib_cm_own_data(conn->cm, &data);
	err = ipoib_conn_qp_run(conn);
	if (err)
		return err;
	conn->deadline = jiffies + IPOIB_CM_LATE;
	return ib_send_cm_rep(conn->id, &rep);
}

/*
 * Create the QP of a passive connection, and send the REP. Until the REP the CM drops repetitions
 * of the REQ.
 * Context: work of the connection. Return: 0; or a negative error: the REQ is rejected, and the
 * caller closes the connection.
 */
int ipoib_conn_grant(struct ipoib_conn *conn)
{
	enum ib_cm_rej_reason reason = IB_CM_REJ_NO_QP;
	struct ipoib_cm *cm = conn->cm;
	int err;

	err = ipoib_conn_make(conn);
	/* A connection that was closed meanwhile gets a REJ. */
	if (ipoib_conn_is_closing(conn))
		return 0;
	if (!err) {
		reason = IB_CM_REJ_NO_RESOURCES;
		err = ipoib_conn_send_rep(conn);
	}
	trace_ipoib_conn(cm->priv->netdev, conn->peer->addr.gid, "accept", err);
	if (err)
		ipoib_conn_reject(conn->id, cm, reason);
	return err;
}

/*
 * Callback of the listeners. Only REQs and SIDR_REQs arrive here, each with an identifier: an
 * error has the CM refuse it and destroy the identifier.
 *
 * -ENOMEM has the CM forget a REQ without an answer, for a transient reason: the peer repeats it,
 * and its senders do not get a smaller MTU.
 */
static int ipoib_cm_listen_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	int reason = -EAGAIN;
	struct ipoib_cm *cm = id->context;
	struct ipoib_lladdr addr;
	struct ipoib_conn *conn;

	if (event->event != IB_CM_REQ_RECEIVED) {
		ipoib_stat_add(cm->priv, IPOIB_CM_SIDR, 1);
		return -EINVAL;
	}
	conn = ipoib_conn_alloc(cm, GFP_KERNEL);
	if (conn)
		reason = ipoib_conn_parse(conn, id, event, &addr);
	if (conn && !reason)
		reason = ipoib_conn_begin_passive(conn, id, &addr);
	if (!reason)
		return 0;
	kfree(conn);
	trace_ipoib_conn(cm->priv->netdev,
			 event->param.req_rcvd.primary_path->dgid.raw,
			 "reject", reason);
	if (reason == -EAGAIN) {
		ipoib_stat_add(cm->priv, IPOIB_CM_REJECTS, 1);
		return -ENOMEM;
	}
	ipoib_conn_reject(id, cm, reason < 0 ? IB_CM_REJ_NO_RESOURCES : reason);
	return -EINVAL;
}

/* Handle an RTU, whose private data the connection has. Context: process. */
void ipoib_conn_accepted(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;

	trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "ready", 0);
	spin_lock_bh(&cm->lock);
	if (conn->state == IPOIB_CONN_PENDING)
		ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
	/* Established before, without an RTU */
	if (conn->state == IPOIB_CONN_ESTABLISHED) {
		/*
		 * Without private data the peer does not follow the RFC: do not send on this
		 * connection, although it has a ring (C15).
		 */
		conn->duplex = conn->ring.slots && ipoib_cm_data_qpn(&conn->theirs) ==
						   ipoib_lladdr_qpn(&peer->addr);
		if (conn->ring.slots && !conn->duplex)
			ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
		ipoib_conn_activate(conn);
		ipoib_stat_add(cm->priv, IPOIB_CM_ACCEPTED, 1);
	}
	spin_unlock_bh(&cm->lock);
}

/* ---- listening ---- */

/*
 * Create the listeners, if &ipoib_cm.up and there are none. They have the service IDs of the RFC
 * and of Linux (C21). After a failure the own address offers connections that are refused, until
 * the next call.
 * Context: RTNL held. Return: 0 or a negative error.
 */
int ipoib_cm_listen(struct ipoib_dev *priv)
{
	static const u8 first[] = { IPOIB_SID_RFC, IPOIB_SID_LINUX };
	struct ipoib_cm *cm = priv->cm;
	struct ib_cm_id *id;
	unsigned int i;
	int err;

	ASSERT_RTNL();
	if (!cm->up || cm->listen[0])
		return 0;
	for (i = 0; i < ARRAY_SIZE(first); i++) {
		id = ib_create_cm_id(priv->ca, ipoib_cm_listen_event, cm);
		err = PTR_ERR_OR_ZERO(id);
		if (err)
			goto unlisten;
		cm->listen[i] = id;
		err = ib_cm_listen(id, ipoib_service_id(first[i], priv->qpn));
		if (err)
			goto unlisten;
	}
	return 0;

unlisten:
	ipoib_cm_unlisten(cm);
	return err;
}

/*
 * Destroy the listeners, which exist while the interface is up, in either mode. Waits for their
 * callbacks, some milliseconds.
 * Context: RTNL held; may sleep.
 */
void ipoib_cm_unlisten(struct ipoib_cm *cm)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cm->listen); i++) {
		if (cm->listen[i])
			ib_destroy_cm_id(cm->listen[i]);
		cm->listen[i] = NULL;
	}
}
