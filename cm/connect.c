// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: asking for connections, and what the CM reports of them.
 *
 * What comes from outside is trusted only as far as it has been checked.
 *
 * Who sends on a connection. By the RFC a connection carries both directions
 * (2.3, 7). The driver that comes with Linux takes no data on a connection it
 * has asked for, and it uses a service ID of its own (first octet 0x10). The
 * service ID of the RFC (0x01) is used by nodes that follow the RFC, so it
 * tells both ends, at the first message, that one connection is enough. One
 * made with the other service ID is used by the end that asked for it.
 * Should a peer ask by the RFC's service ID but send an RTU without the private
 * data the RFC demands, it is not relied upon either.
 *
 * The callbacks of the CM run in process context, one at a time for each identifier. Those
 * for a connection only note what has come, for its work.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* The CM: half a second for an answer, a packet on its way for 34 ms at most. */
#define IPOIB_CM_RESPONSE	17
#define IPOIB_CM_LIFE		13
#define IPOIB_CM_RETRIES	7
/* How long a request waits for a path record that is being read anew. */
#define IPOIB_CM_HOLD		HZ
/* Of the time that frames wait for a connection, what is left to it then. */
#define IPOIB_CM_REQUEST	(HZ / 2)
/* How long to wait for a request that may have crossed an own one. */
#define IPOIB_CM_YIELD		HZ

/* ---- asking for a connection ---- */

static int ipoib_conn_send_req(struct ipoib_conn *conn,
			       struct sa_path_rec *rec,
			       const struct ib_gid_attr *gid, u8 sid)
{
	struct ipoib_cm_data data;
	struct ib_cm_req_param req = {
		.primary_path = rec,
		.ppath_sgid_attr = gid,
		.service_id = ipoib_service_id(sid,
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
		.srq = !!conn->cm->rx->srq,
	};

	ipoib_cm_own_data(conn->cm, &data);
	/* SAs say a second or more, on fabrics of microseconds. */
	rec->packet_life_time = min_t(u8, rec->packet_life_time, IPOIB_CM_LIFE);
	return ib_send_cm_req(conn->id, &req);
}

static int ipoib_conn_ask(struct ipoib_conn *conn, struct sa_path_rec *rec,
			  u8 sid)
{
	struct ipoib_dev *priv = conn->cm->priv;
	const struct ib_gid_attr *gid = NULL;
	int err;

	if (priv->fabric->conn_gid)
		gid = priv->fabric->conn_gid(priv);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	err = ipoib_conn_send_req(conn, rec, gid, sid);
	if (gid)
		rdma_put_gid_attr(gid);
	return err;
}

/* The transport to ask for, -1 if there is none that both offer. */
static int ipoib_conn_choose(const struct ipoib_cm *cm,
			     const struct ipoib_peer *peer)
{
	u8 both = cm->offers & peer->offers;

	if (both == (IPOIB_LLADDR_RC | IPOIB_LLADDR_UC))
		return cm->prefer;
	if (both & IPOIB_LLADDR_RC)
		return IPOIB_TRANSPORT_RC;
	return both & IPOIB_LLADDR_UC ? IPOIB_TRANSPORT_UC : -1;
}

static int ipoib_conn_make_active(struct ipoib_conn *conn)
{
	struct ib_cm_id *id;
	int err;

	id = ipoib_conn_create_id(conn->cm, ipoib_conn_event, conn);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = ipoib_conn_make(conn);
	if (err)
		ipoib_conn_destroy_id(id);
	else
		conn->id = id;
	return err;
}

/*
 * Choose a connection that there is, the newest. Returns whether there is one, or will be
 * when it is established. What others have requested in the peer's name is none.
 */
static bool ipoib_peer_use_any(struct ipoib_peer *peer)
{
	struct ipoib_conn *conn;
	bool found = false;

	list_for_each_entry_reverse(conn, &peer->conns, peer_list) {
		ipoib_conn_compare(conn);
		if (!ipoib_conn_may_send(conn))
			continue;
		found = true;
		if (conn->state != IPOIB_CONN_ESTABLISHED)
			continue;
		ipoib_conn_use(conn);
		break;
	}
	return found;
}

/*
 * After a change of LIDs the record that we have leads nowhere, or to another node, and
 * the peer would get our old LID. So the request waits until the record has been read
 * anew, but not for ever: that the SA does not answer need not mean anything.
 */
static bool ipoib_peer_hold(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	if (!cm->up || !time_before(jiffies + IPOIB_CM_REQUEST, peer->setup_deadline) ||
	    !ipoib_path_is_stale(cm->priv, peer->addr.gid))
		return false;
	if (list_empty(&peer->todo))
		list_add_tail(&peer->todo, &cm->held);
	queue_delayed_work(system_unbound_wq, &cm->held_work, IPOIB_CM_HOLD);
	return true;
}

/**
 * ipoib_conn_held_work - go on with the requests that waited
 * @work: &ipoib_cm.held_work
 *
 * Context: process
 */
void ipoib_conn_held_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, held_work);

	spin_lock_bh(&cm->lock);
	if (!list_empty(&cm->held)) {
		list_splice_tail_init(&cm->held, &cm->todo);
		queue_work(system_unbound_wq, &cm->connect_work);
	}
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_cm_path_read - a path record has been read
 * @priv: the interface
 *
 * Requests that have waited for it go on.
 *
 * Context: process
 */
void ipoib_cm_path_read(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	if (!cm)
		return;
	/* With the lock, as the record is looked at and the request put there with it. */
	spin_lock_bh(&cm->lock);
	if (!list_empty(&cm->held))
		mod_delayed_work(system_unbound_wq, &cm->held_work, 0);
	spin_unlock_bh(&cm->lock);
}

/*
 * Whether a connection may be requested, and by which record. Returns 0 or an error: then the
 * request is not needed, waits for the record, or has none, or there is no room.
 */
static int ipoib_conn_check_request(struct ipoib_conn *conn, struct ipoib_peer *peer,
				    struct sa_path_rec *rec)
{
	struct ipoib_cm *cm = conn->cm;
	int err;

	if (!ipoib_cm_is_on(cm->priv) || ipoib_peer_use_any(peer))
		return -ECANCELED;
	if (ipoib_peer_hold(cm, peer))
		return -EAGAIN;
	if (!ipoib_path_record(cm->priv, peer->addr.gid, rec))
		return -ENETUNREACH;
	ipoib_cm_port_addr_from_rec(&conn->port, rec);
	conn->node = ipoib_cm_node(cm, &conn->port);
	err = ipoib_cm_admit(cm, conn->node);
	if (err && peer->state == IPOIB_PEER_CONNECTING)
		ipoib_peer_no_room(cm, peer);
	return err;
}

/*
 * Publish a connection that is to be requested, if there may be one. A change of the mode or
 * of LIDs closes what has been published, so both are read in the same round of the lock.
 * Returns 0, with the service ID to ask by in @sid, or an error.
 */
static int ipoib_conn_begin(struct ipoib_conn *conn, struct ipoib_peer *peer,
			    struct sa_path_rec *rec, u8 *sid)
{
	struct ipoib_cm *cm = conn->cm;
	int err;

	conn->active = true;
	conn->confirmed = true;
	spin_lock_bh(&cm->lock);
	*sid = peer->sid;
	conn->duplex = *sid == IPOIB_SID_RFC;
	err = ipoib_conn_check_request(conn, peer, rec);
	if (!err)
		ipoib_conn_publish(conn, peer, IPOIB_CONN_CONNECTING);
	spin_unlock_bh(&cm->lock);
	return err;
}

static void ipoib_conn_request(struct ipoib_conn *conn, struct sa_path_rec *rec,
			       u8 sid)
{
	struct ipoib_dev *priv = conn->cm->priv;
	int err;

	ipoib_stat_add(priv, IPOIB_CM_REQUESTS, 1);
	err = ipoib_conn_ask(conn, rec, sid);
	trace_ipoib_conn(priv->netdev, conn->peer->addr.gid, "request", err);
	if (err)
		ipoib_conn_close(conn);
}

/*
 * If it cannot be done, it is as if nothing had been asked; else the CM tells what
 * becomes of it.
 */
static void ipoib_conn_connect(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	int transport = ipoib_conn_choose(cm, peer);
	struct ipoib_conn *conn;
	struct sa_path_rec rec;
	int err;
	u8 sid;

	if (transport < 0)
		return;
	conn = ipoib_conn_alloc(cm, transport);
	if (!conn)
		return;
	err = ipoib_conn_begin(conn, peer, &rec, &sid);
	if (err) {
		trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "request", err);
		kfree(conn);
		return;
	}
	if (ipoib_conn_make_active(conn))
		ipoib_conn_close(conn);
	/* It may have been closed meanwhile. */
	if (!ipoib_conn_is_closing(conn))
		ipoib_conn_request(conn, &rec, sid);
	ipoib_conn_made(conn);
}

/*
 * Keep a refused request for a while, in the place of the peer's, which may have crossed it and
 * be here soon: the greater address refuses for that. Returns false if it is not kept.
 */
static bool ipoib_conn_yield(struct ipoib_conn *conn)
{
	struct ipoib_lladdr own;

	ipoib_cm_own_addr(conn->cm, &own);
	if (conn->reason != IB_CM_REJ_CONSUMER_DEFINED || !conn->duplex ||
	    !ipoib_lladdr_less(&own, &conn->peer->addr))
		return false;
	WRITE_ONCE(conn->deadline, jiffies + IPOIB_CM_YIELD);
	return true;
}

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

/**
 * ipoib_conn_replied - the peer has granted a connection
 * @conn: the connection, with the private data of the REP
 *
 * Context: process
 */
void ipoib_conn_replied(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	int err;

	/* One that has been closed is not used: its peer gets no RTU. */
	err = READ_ONCE(conn->state) == IPOIB_CONN_CONNECTING ?
	      ipoib_conn_take_rep(conn) : -ECANCELED;
	trace_ipoib_conn(cm->priv->netdev, conn->peer->addr.gid, "reply", err);
	if (err) {
		if (err == -EPROTO)
			ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
		ipoib_conn_reject(conn->id, cm, IB_CM_REJ_CONSUMER_DEFINED);
		ipoib_conn_close(conn);
		return;
	}
	spin_lock_bh(&cm->lock);
	if (conn->state == IPOIB_CONN_CONNECTING) {
		ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
		ipoib_conn_use(conn);
		ipoib_conn_supersede(conn);
		ipoib_stat_add(cm->priv, IPOIB_CM_ESTABLISHED, 1);
	}
	spin_unlock_bh(&cm->lock);
}

/*
 * The peer does not know the service ID of the request: change to the other one (fallback,
 * C21). Returns false if both have been tried.
 */
static bool ipoib_conn_change_sid(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;

	peer->tried |= conn->duplex ? 1 : 2;
	peer->sid = conn->duplex ? IPOIB_SID_LINUX : IPOIB_SID_RFC;
	if (peer->tried != 3)
		return true;
	peer->tried = 0;
	return false;
}

/* Ask again at once, in another way: with the other service ID if @sid. */
static void ipoib_conn_again(struct ipoib_conn *conn, bool sid)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_peer *peer = conn->peer;
	bool again;

	spin_lock_bh(&cm->lock);
	again = conn->state == IPOIB_CONN_CONNECTING &&
		peer->state == IPOIB_PEER_CONNECTING &&
		(!sid || ipoib_conn_change_sid(conn));
	if (again) {
		ipoib_peer_want(cm, peer);
		__ipoib_conn_close(conn);
	}
	spin_unlock_bh(&cm->lock);
	if (again)
		return;
	if (sid)
		ipoib_stat_add(cm->priv, IPOIB_CM_REFUSED, 1);
	ipoib_conn_close(conn);
}

/*
 * Note that the peer has rejected our QPN as stale, and return whether that was the
 * first time. HCAs may assign the same QPNs after a reboot as before, which the peer
 * still has in use. The next QP has another QPN; a peer that rejects that, too, has
 * another reason.
 */
static bool ipoib_conn_mark_stale(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	bool again;

	if (conn->reason != IB_CM_REJ_STALE_CONN)
		return false;
	spin_lock_bh(&conn->cm->lock);
	again = !peer->stale;
	peer->stale = true;
	spin_unlock_bh(&conn->cm->lock);
	return again;
}

/**
 * ipoib_conn_rejected - the peer has refused a connection
 * @conn: the connection, with the reason of the REJ
 *
 * Context: process
 */
void ipoib_conn_rejected(struct ipoib_conn *conn)
{
	trace_ipoib_conn(conn->cm->priv->netdev, conn->peer->addr.gid,
			 "rejected", conn->reason);
	if (READ_ONCE(conn->state) != IPOIB_CONN_CONNECTING) {
		/* The peer never had our RTU: what was sent was in vain. */
		if (READ_ONCE(conn->ring.head))
			set_bit(IPOIB_CONN_EV_FAILED, &conn->flags);
		ipoib_conn_close(conn);
		return;
	}
	if (conn->reason == IB_CM_REJ_INVALID_SERVICE_ID) {
		ipoib_conn_again(conn, true);
		return;
	}
	if (ipoib_conn_mark_stale(conn)) {
		ipoib_conn_again(conn, false);
		return;
	}
	if (ipoib_conn_yield(conn))
		return;
	ipoib_stat_add(conn->cm->priv, IPOIB_CM_REFUSED, 1);
	ipoib_conn_close(conn);
}

/* ---- events of the CM ---- */

/**
 * ipoib_conn_event - note an event of the CM for the work of a connection
 * @id: identifier of the connection
 * @event: the event; requests go to ipoib_cm_listen()'s callback
 *
 * A DREQ of the CM that is over need not be an own one: the CM sends one by itself for a
 * connection whose other end, by a REQ or REP that has come, has been given away anew. A
 * peer that was booted is like that.
 *
 * ib_destroy_cm_id() waits for this, but for a few instructions not if a message was sent in
 * vain (the events named ERROR), see testing.rst. The connection is freed after the identifier,
 * and by RCU.
 *
 * Context: process
 * Return: 0
 */
int ipoib_conn_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct ipoib_conn *conn;

	if (event->event == IB_CM_DREQ_RECEIVED)
		ib_send_cm_drep(id, NULL, 0);
	rcu_read_lock();
	conn = id->context;
	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		conn->theirs = *(const struct ipoib_cm_data *)event->private_data;
		ipoib_conn_note(conn, IPOIB_CONN_EV_REPLIED);
		break;
	case IB_CM_REJ_RECEIVED:
		WRITE_ONCE(conn->reason, event->param.rej_rcvd.reason);
		ipoib_conn_note(conn, IPOIB_CONN_EV_REFUSED);
		break;
	case IB_CM_RTU_RECEIVED:
		conn->theirs = *(const struct ipoib_cm_data *)event->private_data;
		ipoib_conn_note(conn, IPOIB_CONN_EV_READY);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
		ipoib_conn_note(conn, IPOIB_CONN_EV_UNREACHED);
		break;
	case IB_CM_DREQ_RECEIVED:
		ipoib_conn_note(conn, IPOIB_CONN_EV_LEFT);
		break;
	case IB_CM_DREP_RECEIVED:
	case IB_CM_DREQ_ERROR:
		ipoib_conn_note(conn, IPOIB_CONN_EV_ENDED);
		break;
	case IB_CM_TIMEWAIT_EXIT:
		ipoib_conn_note(conn, IPOIB_CONN_EV_EXPIRED);
		break;
	default:
		break;
	}
	rcu_read_unlock();
	return 0;
}

/* ---- the work ---- */

/* A peer has to know first what we do not have any more. */
static bool ipoib_peer_postpone(struct ipoib_peer *peer)
{
	list_del_init(&peer->todo);
	peer->postponed = peer->disconnecting;
	return peer->postponed;
}

/* What is left when the interface goes down is forgotten with the peers. */
static struct ipoib_peer *ipoib_cm_next(struct ipoib_cm *cm)
{
	struct ipoib_peer *peer;

	spin_lock_bh(&cm->lock);
	do {
		peer = cm->up ? list_first_entry_or_null(&cm->todo,
							 struct ipoib_peer,
							 todo) : NULL;
	} while (peer && ipoib_peer_postpone(peer));
	if (peer) {
		peer->making = true;
		peer->users++;
	}
	spin_unlock_bh(&cm->lock);
	return peer;
}

static void ipoib_cm_connect(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	ipoib_conn_connect(cm, peer);
	spin_lock_bh(&cm->lock);
	peer->making = false;
	ipoib_peer_settle(cm, peer);
	ipoib_peer_put(cm, peer);
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_cm_connect_work - make connections to the peers in &ipoib_cm.todo
 * @work: &ipoib_cm.connect_work
 *
 * Context: process
 */
void ipoib_cm_connect_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm, connect_work);
	struct ipoib_peer *peer;

	while ((peer = ipoib_cm_next(cm)))
		ipoib_cm_connect(cm, peer);
}
