// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, active side: requests, and the answers of peers.
 *
 * Direction of a connection. By the RFC it is bidirectional (2.3, 7). The kernel's driver receives
 * nothing on connections that it has requested, and it uses another service ID (first octet 0x10
 * in place of 0x01). So the service ID of the RFC in the REQ shows both ends that one connection is
 * enough; with the other service ID only the active side sends. A peer that uses the service ID of
 * the RFC and sends an RTU without private data does not follow the RFC, and is not sent to on that
 * connection.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* CM timers, 4.096 us * 2^N: 0.5 s for a response, 34 ms for a packet to arrive */
#define IPOIB_CM_RESPONSE	17
#define IPOIB_CM_LIFE		13
#define IPOIB_CM_RETRIES	7
/* Part of IPOIB_CM_SETUP_MAX that remains for the REQ after the wait for a path record */
#define IPOIB_CM_REQUEST	(HZ / 2)
/* Wait for a crossing REQ after a REJ for that reason */
#define IPOIB_CM_YIELD		HZ

/* ---- REQ ---- */

/* Work of the connection. The reference of path_gid() lasts for the call. */
static int ipoib_conn_ask(struct ipoib_conn *conn, struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_cm_data data;
	struct ib_cm_req_param req = {
		.primary_path = rec,
		.service_id = ipoib_service_id(conn->duplex ? IPOIB_SID_RFC : IPOIB_SID_LINUX,
					       ipoib_lladdr_qpn(&conn->peer->addr)),
		.qp_num = conn->qp->qp_num,
		.qp_type = ipoib_conn_qp_type(conn),
		.private_data = &data,
		.private_data_len = sizeof(data),
		.starting_psn = conn->psn,
		.remote_cm_response_timeout = IPOIB_CM_RESPONSE,
		.local_cm_response_timeout = IPOIB_CM_RESPONSE,
		.max_cm_retries = IPOIB_CM_RETRIES,
		.retry_count = IPOIB_RC_RETRY,
		.rnr_retry_count = IPOIB_RC_RNR_RETRY,
		.srq = !!conn->cm->rx.bufs.srq,
	};
	const struct ib_gid_attr *gid = NULL;
	int err;

	ipoib_stat_add(priv, IPOIB_CM_REQUESTS, 1);
	if (priv->fabric->path_gid)
		gid = priv->fabric->path_gid(priv);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	req.ppath_sgid_attr = gid;
	ipoib_cm_own_data(conn->cm, &data);
	/* SAs report a second or more on fabrics of microseconds. */
	rec->packet_life_time = min_t(u8, rec->packet_life_time, IPOIB_CM_LIFE);
	conn->deadline = jiffies + IPOIB_CM_LATE;
	err = ib_send_cm_req(conn->id, &req);
	if (gid)
		rdma_put_gid_attr(gid);
	return err;
}

/* Publish a connection, whose work sends the REQ. Returns -EAGAIN for a transient reason. */
static int ipoib_conn_begin(struct ipoib_cm *cm, struct ipoib_peer *peer, u8 offers, bool again)
{
	u8 both = cm->choice->offers & offers;
	struct sa_path_rec rec;
	struct ipoib_conn *conn;
	int err;

	lockdep_assert_held(&cm->lock);
	if (!both || !ipoib_cm_is_on(cm->priv))
		return -EOPNOTSUPP;
	/* The neighbour has just been unlinked: the next frame creates another. */
	if (ipoib_neigh_record(cm->priv, peer->addr.gid, &rec) == -ENOENT)
		return -EAGAIN;
	conn = ipoib_conn_alloc(cm, GFP_ATOMIC);
	if (!conn)
		return -EAGAIN;
	conn->transport = both & cm->choice->prefer ?: both;
	conn->port = ipoib_cm_port_of(cm, &rec);
	err = ipoib_cm_admit(cm, conn->port);
	if (err) {
		kfree(conn);
		return err;
	}
	conn->active = true;
	conn->confirmed = true;
	conn->duplex = peer->sid == IPOIB_SID_RFC;
	if (again)
		set_bit(IPOIB_CONN_IS_AGAIN, &conn->flags);
	ipoib_conn_publish(conn, peer);
	return 0;
}

/*
 * Request a connection to a peer that is not in a pause, unless there is a connection to send on.
 * @offers are the transports in the flags of its address; @again marks the second request after a
 * refusal.
 * Context: &ipoib_cm.lock held; the transmit lock may be.
 */
void ipoib_peer_connect(struct ipoib_cm *cm, struct ipoib_peer *peer, u8 offers, bool again)
{
	int err = 0;

	lockdep_assert_held(&cm->lock);
	if (!ipoib_peer_best(peer, NULL))
		err = ipoib_conn_begin(cm, peer, offers, again);
	if (err && err != -EAGAIN)
		WRITE_ONCE(peer->passing_until, jiffies);
	else if (err || !peer->failures)
		WRITE_ONCE(peer->passing_until, jiffies + IPOIB_CM_PASSING);
	if (err) {
		trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "request", err);
		if (err == -EAGAIN)
			ipoib_peer_end_wait(cm, peer, NULL);
		else
			ipoib_peer_no_room(cm, peer);
		return;
	}
	ipoib_peer_set_state(peer, IPOIB_PEER_CONNECTING);
	WRITE_ONCE(peer->until, jiffies + IPOIB_CM_SETUP_MAX);
	ipoib_peer_select(cm, peer);
}

/* ---- work ---- */

/*
 * Read the path record for a REQ. After a change of LIDs the old record leads nowhere, or to
 * another node, and the REQ would carry an old LID. Wait for the new record as long as frames wait,
 * as the SA may not answer. The change itself closes connections that were made from the old
 * record.
 *
 * The connection counts for the port of its record. If the new record leads to another port, a new
 * connection replaces it.
 *
 * Returns the time to wait; 0 with a record; or an error, also if another connection is there.
 */
static long ipoib_conn_read_record(struct ipoib_conn *conn, struct sa_path_rec *rec)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;
	long left = peer->until - IPOIB_CM_REQUEST - jiffies;
	int err = ipoib_neigh_record(cm->priv, peer->addr.gid, rec);

	lockdep_assert_held(&cm->lock);
	if (ipoib_conn_is_closing(conn) || rcu_access_pointer(peer->tx))
		return -ECANCELED;
	if (peer->state == IPOIB_PEER_CONNECTING && left > 0 && err == -ESTALE)
		return left;
	if (ipoib_peer_best(peer, conn))
		return -ECANCELED;
	if (err == -ENOENT)
		return -ENETUNREACH;
	if (ipoib_cm_port_of(cm, rec) == conn->port)
		return 0;
	if (peer->state != IPOIB_PEER_CONNECTING)
		return -ECANCELED;
	ipoib_peer_set_state(peer, IPOIB_PEER_IDLE);
	__ipoib_conn_close(conn);
	ipoib_peer_connect(cm, peer, conn->transport, false);
	return -ECANCELED;
}

/*
 * Send the REQ of a connection that has no QP yet.
 * Context: work of the connection. Return: jiffies until the next call; 0 if the REQ was sent; or a
 * negative error, and the caller closes the connection.
 */
long ipoib_conn_request(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct sa_path_rec rec;
	struct ib_cm_id *id;
	long ret;

	spin_lock_bh(&cm->lock);
	ret = ipoib_conn_read_record(conn, &rec);
	spin_unlock_bh(&cm->lock);
	if (ret > 0)
		return ret;
	if (ret)
		goto trace;
	id = ib_create_cm_id(cm->priv->ca, ipoib_conn_event, conn);
	ret = PTR_ERR_OR_ZERO(id);
	if (ret)
		goto trace;
	WRITE_ONCE(conn->id, id);
	ret = ipoib_conn_make(conn);
	/* The first connection takes long: it may be closed by now, or the peer was faster. */
	spin_lock_bh(&cm->lock);
	if (!ret && (ipoib_conn_is_closing(conn) || ipoib_peer_best(conn->peer, conn)))
		ret = -ECANCELED;
	spin_unlock_bh(&cm->lock);
	if (!ret)
		ret = ipoib_conn_ask(conn, &rec);
trace:
	trace_ipoib_conn(cm->priv->netdev, conn->peer->addr.gid, "request", ret);
	return ret;
}

/* ---- answers ---- */

/* Work of the connection; may sleep. -EPROTO for wrong private data */
static int ipoib_conn_take_rep(struct ipoib_conn *conn)
{
	const struct ipoib_cm_data *theirs = &conn->theirs;
	struct ipoib_cm_data ours;
	int err;

	if (ipoib_cm_data_qpn(theirs) != ipoib_lladdr_qpn(&conn->peer->addr))
		return -EPROTO;
	conn->mtu = ipoib_cm_mtu(conn->cm, theirs);
	if (!conn->mtu)
		return -EPROTO;
	err = ipoib_conn_qp_run(conn);
	if (err)
		return err;
	ipoib_cm_own_data(conn->cm, &ours);
	return ib_send_cm_rtu(conn->id, &ours, sizeof(ours));
}

/*
 * Handle a REP, whose private data the connection has. A connection whose REP is refused is closed.
 * Context: process.
 */
void ipoib_conn_replied(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	int err = -ECANCELED;

	/* A closed connection, or one beside a faster request of the peer, gets no RTU. */
	if (!ipoib_conn_is_closing(conn) && !rcu_access_pointer(conn->peer->tx))
		err = ipoib_conn_take_rep(conn);
	trace_ipoib_conn(cm->priv->netdev, conn->peer->addr.gid, "reply", err);
	if (err == -EPROTO)
		ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
	spin_lock_bh(&cm->lock);
	if (err) {
		__ipoib_conn_close(conn);
	} else if (!ipoib_conn_is_closing(conn)) {
		ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
		ipoib_conn_use(conn);
		ipoib_conn_supersede(conn);
		ipoib_stat_add(cm->priv, IPOIB_CM_ESTABLISHED, 1);
	}
	spin_unlock_bh(&cm->lock);
}

/*
 * Close a refused request, or repeat it once at once in another way: with the other service ID if
 * the peer does not know this one (fallback, C21), with another QP if the peer still uses the QPN,
 * as HCAs may assign the same QPNs after a reboot. Later frames find a pause.
 *
 * "No resources" is a limit of the peer that lasts: for a transient reason it does not answer.
 */
static void ipoib_conn_refused(struct ipoib_conn *conn)
{
	bool again = !test_bit(IPOIB_CONN_IS_AGAIN, &conn->flags);
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;

	lockdep_assert_held(&cm->lock);
	if (peer->state != IPOIB_PEER_CONNECTING)
		again = false;
	else if (conn->reason == IB_CM_REJ_INVALID_SERVICE_ID)
		peer->sid = conn->duplex ? IPOIB_SID_LINUX : IPOIB_SID_RFC;
	else if (conn->reason != IB_CM_REJ_STALE_CONN)
		again = false;
	if (conn->reason == IB_CM_REJ_NO_RESOURCES)
		WRITE_ONCE(peer->passing_until, jiffies);
	if (!again) {
		ipoib_stat_add(cm->priv, IPOIB_CM_REFUSED, 1);
		__ipoib_conn_close(conn);
		return;
	}
	/* Not a failure of the peer */
	ipoib_peer_set_state(peer, IPOIB_PEER_IDLE);
	__ipoib_conn_close(conn);
	ipoib_peer_connect(cm, peer, conn->transport, true);
}

/*
 * Handle a REJ, whose reason the connection has. A peer with the greater address rejects a crossing
 * REQ, and its own REQ may be under way: keep the connection for IPOIB_CM_YIELD, so that frames
 * wait for that.
 * Context: process.
 */
void ipoib_conn_rejected(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_lladdr own;

	trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "rejected", conn->reason);
	ipoib_lladdr_set(&own, 0, cm->priv->qpn, &cm->priv->local_gid);
	spin_lock_bh(&cm->lock);
	if (!conn->active || conn->state != IPOIB_CONN_PENDING) {
		/* The RTU never arrived, so no frame did. */
		if (READ_ONCE(conn->ring.head))
			set_bit(IPOIB_CONN_EV_FAILED, &conn->flags);
		__ipoib_conn_close(conn);
	} else if (conn->reason == IB_CM_REJ_CONSUMER_DEFINED && conn->duplex &&
		   peer->state != IPOIB_PEER_UP && ipoib_lladdr_less(&own, &peer->addr)) {
		conn->deadline = jiffies + IPOIB_CM_YIELD;
	} else {
		ipoib_conn_refused(conn);
	}
	spin_unlock_bh(&cm->lock);
}
