// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: granting the connections that peers request.
 *
 * A request is trusted only as far as it has been checked: nothing is sent on its connection
 * before it is known to have come from the port of the peer's path record. Of two requests
 * that cross one gives way (RFC 4755 section 3.3).
 *
 * The callback of the listeners runs in process context, one at a time on each CPU for all HCAs,
 * and takes &ipoib_cm.lock only: it decides about the request, and the work of the connection
 * makes the QP and sends the REP.
 */
#include <rdma/ib_addr.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* ---- requests ---- */

/*
 * The connection has to lead to the port that the request has come from. On InfiniBand the
 * request says where to: with the right LID and any QPN it would have all that is sent thrown
 * away.
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

/*
 * Understand a request: its path ends at this port, on its link. Returns 0 or the reason to
 * refuse it.
 */
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
	if (!(conn->transport & cm->offers))
		return IB_CM_REJ_INVALID_TRANSPORT_TYPE;
	if (req->port != priv->port || (pkey | IPOIB_PKEY_FULL) != priv->pkey)
		return IB_CM_REJ_CONSUMER_DEFINED;
	/*
	 * A request in the name of this port or of a group is refused. So is one with a GID that
	 * is made of a LID (Omni-Path): the CM then has the LID from there, not from the packet.
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
	/* RFC 4755 section 3.3: the address is formed of these two. */
	ipoib_lladdr_set(addr, 0, qpn, &path->dgid);
	conn->port = ipoib_cm_port_of(cm, req->primary_path);
	conn->failover = req->alternate_path ? IPOIB_FAILOVER_UNSUPPORTED : 0;
	return ipoib_cm_check_port(cm, id, conn->port);
}

/*
 * Whether a request has to give way to an own one: of two by the RFC's service ID that cross,
 * that of the numerically greater address is taken (RFC 4755 section 3.3, C17). Linux' own
 * service ID is for a connection of one direction, beside that of the other one. An own request
 * that waits for the path record has not crossed anything.
 */
static bool ipoib_peer_crosses(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	struct ipoib_lladdr own;
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->lock);
	ipoib_cm_own_addr(cm, &own);
	if (ipoib_lladdr_less(&own, &peer->addr))
		return false;
	list_for_each_entry(conn, &peer->conns, peer_list)
		if (conn->state == IPOIB_CONN_PENDING && conn->active && conn->duplex &&
		    READ_ONCE(conn->id))
			return true;
	return false;
}

/*
 * Grant a request, if it may be now: from here on the peer has the connection, beside what it
 * had, and the connection's work has the identifier. Nothing is sent to a port that the peer is
 * known not to be on; the record may be out of date.
 *
 * Returns 0, and the connection is published; the reason to refuse it; or -EAGAIN if there will be
 * room soon.
 */
static int ipoib_conn_begin_passive(struct ipoib_conn *conn, struct ib_cm_id *id,
				    const struct ipoib_lladdr *addr)
{
	bool rfc = ipoib_service_first(id->service_id) == IPOIB_SID_RFC;
	int err, reason = -EAGAIN;
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
		ipoib_neigh_contradicted(cm->priv, peer->addr.gid, IPOIB_NEIGH_TRUST);
	}
	if (rfc && ipoib_peer_crosses(cm, peer)) {
		ipoib_stat_add(cm->priv, IPOIB_CM_CROSSED, 1);
		reason = IB_CM_REJ_CONSUMER_DEFINED;
		goto put;
	}
	err = ipoib_cm_admit(cm, conn->port);
	if (err == -EDQUOT)
		ipoib_stat_add(cm->priv, IPOIB_CM_PORT_FULL, 1);
	if (err) {
		reason = err == -EAGAIN ? err : IB_CM_REJ_NO_RESOURCES;
		goto put;
	}
	reason = 0;
	if (rfc && !refuted) {
		/* If the other one was noted, that was before the peer listened to both. */
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
		.srq = !!conn->cm->rx->bufs.srq,
	};
	int err;

	ipoib_cm_own_data(conn->cm, &data);
	err = ipoib_conn_qp_run(conn);
	if (err)
		return err;
	conn->deadline = jiffies + IPOIB_CM_LATE;
	return ib_send_cm_rep(conn->id, &rep);
}

/**
 * ipoib_conn_grant - grant a connection
 * @conn: the connection, without QP
 *
 * The CM drops the repetitions of its REQ until the REP is sent.
 *
 * Context: its work
 * Return: 0; or a negative error, the request is refused, and the caller closes the connection
 */
int ipoib_conn_grant(struct ipoib_conn *conn)
{
	enum ib_cm_rej_reason reason = IB_CM_REJ_NO_QP;
	struct ipoib_cm *cm = conn->cm;
	int err;

	err = ipoib_conn_make(conn);
	/* It may have been closed meanwhile, and is refused then. */
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
 * A listener also gets the service ID resolution requests (SIDR_REQ) for its service
 * ID, each with an identifier of its own. An error has the CM refuse the request and
 * destroy that identifier; zero would leave it to the driver.
 *
 * A request that cannot be granted for a reason that passes is not answered: -ENOMEM has the CM
 * forget it. The peer repeats it, and its senders do not get a smaller MTU.
 */
static int ipoib_cm_listen_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	int reason = -EAGAIN;
	struct ipoib_cm *cm = id->context;
	struct ipoib_lladdr addr;
	struct ipoib_conn *conn;

	if (event->event == IB_CM_SIDR_REQ_RECEIVED) {
		ipoib_stat_add(cm->priv, IPOIB_CM_SIDR, 1);
		return -EINVAL;
	}
	if (event->event != IB_CM_REQ_RECEIVED)
		return 0;
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
	ipoib_conn_reject(id, cm, reason);
	return -EINVAL;
}

/**
 * ipoib_conn_accepted - the peer is ready to use a connection that it asked for
 * @conn: the connection, with the private data of the RTU
 *
 * Context: process
 */
void ipoib_conn_accepted(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;

	trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "ready", 0);
	spin_lock_bh(&cm->lock);
	if (conn->state == IPOIB_CONN_PENDING)
		ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
	/* Also if it was established without. */
	if (conn->state == IPOIB_CONN_ESTABLISHED) {
		/*
		 * Without the private data of the RFC nothing shows that the peer follows it,
		 * and its connection is not sent on, though it has slots for that (C15).
		 */
		conn->duplex = conn->ring.slots && ipoib_cm_data_qpn(&conn->theirs) ==
						   ipoib_lladdr_qpn(&peer->addr);
		if (conn->ring.slots && !conn->duplex)
			ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
		ipoib_conn_settle(conn);
		ipoib_stat_add(cm->priv, IPOIB_CM_ACCEPTED, 1);
	}
	spin_unlock_bh(&cm->lock);
}

/* ---- listening ---- */

/**
 * ipoib_cm_listen - take requests, if none are taken and connections may be made
 * @priv: the interface
 *
 * To the service ID of the RFC and to that of Linux (C21). Where it fails, the own address offers
 * what is refused until it is called again.
 *
 * Context: RTNL held
 * Return: 0 or a negative error
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

/**
 * ipoib_cm_unlisten - take no more requests
 * @cm: connected mode of the interface
 *
 * Those being taken are waited for; that is a matter of milliseconds.
 *
 * Context: may sleep
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
