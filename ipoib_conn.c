// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: making connections, and asking for them.
 *
 * Every message of the CM that we send while a connection is set up carries
 * our UD QPN and Receive MTU (RFC 4755 sections 3.2, 6), refusals included, and
 * what comes from outside is believed only as far as it has been checked.
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
 * The callbacks of the CM run in process context, one at a time for each
 * identifier. They take &ipoib_cm.lock and &ipoib_cm.mutex, never RTNL.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_cm.h"
#include "ipoib_trace.h"

/*
 * Times on the wire are 4.096 us * 2^N. A lost packet is sent again after 67 ms
 * (IPOIB_RC_TIMEOUT), well before TCP would (RFC 4755 section 7.1), eight times in
 * all. A receiver without buffers asks for 1.28 ms of patience; ib_cm would have
 * it ask for 655 ms. Patience has no end on the side of the sender, whose
 * watchdog looks after connections that are stuck (ipoib_reap.c).
 */
#define IPOIB_RC_RETRY		7
#define IPOIB_RC_RNR_TIMER	IB_RNR_TIMER_001_28
/* The CM: half a second for an answer, a packet on its way for 34 ms at most. */
#define IPOIB_CM_RESPONSE	17
/* How long a request waits for a path record that is being read anew. */
#define IPOIB_CM_HOLD		HZ
#define IPOIB_CM_LIFE		13
#define IPOIB_CM_RETRIES	7
/* How long to wait for a request that may have crossed ours. */
#define IPOIB_CM_YIELD		HZ
/* Shortest Receive MTU we connect to. */
#define IPOIB_CM_MTU_MIN	(IPOIB_MTU_MIN + IPOIB_ENCAP_LEN)

/**
 * ipoib_cm_own_data - what we say of ourselves in each message of the CM
 * @cm: connected mode of the interface
 * @data: filled in
 */
void ipoib_cm_own_data(const struct ipoib_cm *cm, struct ipoib_cm_data *data)
{
	data->qpn = cpu_to_be32(cm->priv->txq->qp->qp_num & IPOIB_QPN_MASK);
	data->mtu = cpu_to_be32(ipoib_cm_rx_mtu(cm->priv));
}

/**
 * ipoib_cm_own_addr - our link-layer address, as requests that cross are compared
 * @cm: connected mode of the interface
 * @addr: filled in, flags zero
 */
void ipoib_cm_own_addr(const struct ipoib_cm *cm, struct ipoib_lladdr *addr)
{
	ipoib_lladdr_set(addr, 0, cm->priv->txq->qp->qp_num,
			 &cm->priv->local_gid);
}

/**
 * ipoib_cm_mtu - the longest packet that both ends take (C27, C28)
 * @cm: connected mode of the interface
 * @theirs: private data of the peer
 *
 * Return: octets without the encapsulation header, 0 if what the peer says is absurd
 */
unsigned int ipoib_cm_mtu(const struct ipoib_cm *cm,
			  const struct ipoib_cm_data *theirs)
{
	unsigned int mtu = min(be32_to_cpu(theirs->mtu),
			       ipoib_cm_rx_mtu(cm->priv));

	return mtu < IPOIB_CM_MTU_MIN ? 0 : mtu - IPOIB_ENCAP_LEN;
}

static enum ib_qp_type ipoib_conn_qp_type(const struct ipoib_conn *conn)
{
	return conn->transport == IPOIB_TRANSPORT_UC ? IB_QPT_UC : IB_QPT_RC;
}

/* ---- QP ---- */

static void ipoib_conn_qp_event(struct ib_event *event, void *ctx)
{
	struct ipoib_conn *conn = ctx;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* The CM's locks are not for here, either. */
		WRITE_ONCE(conn->early, true);
		mod_delayed_work(conn->cm->wq, &conn->cm->age_work, 0);
		break;
	case IB_EVENT_PATH_MIG:
	case IB_EVENT_PATH_MIG_ERR:
		ipoib_apm_event(conn, event->event);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		complete(&conn->last_wqe);
		fallthrough;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/* That is how each that closes ends. */
		if (READ_ONCE(conn->state) == IPOIB_CONN_CLOSING)
			break;
		/* No lock may be taken here; the ageing work sees it. */
		WRITE_ONCE(conn->fatal, true);
		mod_delayed_work(conn->cm->wq, &conn->cm->age_work, 0);
		break;
	default:
		break;
	}
}

static int ipoib_conn_create_qp(struct ipoib_conn *conn, bool sends)
{
	struct ipoib_cm *cm = conn->cm;
	const struct ib_device_attr *attrs = &cm->priv->ca->attrs;
	struct ib_qp_init_attr init = {
		.event_handler = ipoib_conn_qp_event,
		.qp_context = conn,
		.send_cq = cm->tx_cq[conn->cq],
		.recv_cq = cm->rx->cq,
		.srq = cm->rx->srq,
		.cap.max_send_wr = sends ? IPOIB_CM_RING : 1,
		.cap.max_send_sge = sends ? min_t(u32, attrs->max_send_sge,
						  IPOIB_TX_SGE) : 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = ipoib_conn_qp_type(conn),
	};

	if (!cm->rx->srq) {
		init.cap.max_recv_wr = IPOIB_CM_OWN_BUFS;
		init.cap.max_recv_sge = cm->rx->nsge;
	}
	conn->qp = ib_create_qp(cm->priv->pd, &init);
	if (IS_ERR(conn->qp))
		return PTR_ERR(conn->qp);
	ipoib_object_made(IPOIB_OBJECT_QP);
	return 0;
}

static void ipoib_conn_destroy_qp(struct ipoib_conn *conn)
{
	ib_destroy_qp(conn->qp);
	ipoib_object_gone(IPOIB_OBJECT_QP, 1);
}

/* INIT needs nothing of the CM, and receives may be posted from there on. */
static int ipoib_conn_qp_init(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = conn->cm->priv->pkey_index,
		.port_num = conn->cm->priv->port,
	};

	return ib_modify_qp(conn->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/* On the passive side ib_cm learns our PSN from the REP, which comes later. */
static int ipoib_conn_qp_rtr(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int err, mask;

	err = ib_cm_init_qp_attr(conn->id, &attr, &mask);
	if (err)
		return err;
	ipoib_way_set(&conn->way, rdma_ah_get_dlid(&attr.ah_attr),
		      rdma_ah_retrieve_dmac(&attr.ah_attr));
	attr.rq_psn = conn->psn;
	attr.min_rnr_timer = IPOIB_RC_RNR_TIMER;
	ipoib_apm_rtr(conn, &attr, &mask);
	err = ib_modify_qp(conn->qp, &attr, mask);
	conn->ran = !err;
	return err;
}

static int ipoib_conn_qp_rts(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
	int err, mask;

	err = ib_cm_init_qp_attr(conn->id, &attr, &mask);
	if (err)
		return err;
	attr.timeout = IPOIB_RC_TIMEOUT;
	attr.retry_cnt = IPOIB_RC_RETRY;
	attr.rnr_retry = IPOIB_RC_RNR_RETRY;
	ipoib_apm_rts(conn, &mask);
	return ib_modify_qp(conn->qp, &attr, mask);
}

/**
 * ipoib_conn_qp_run - bring a QP to where it sends and receives
 * @conn: its connection, of which the CM knows the other end
 *
 * Context: may sleep
 * Return: 0 or a negative error
 */
int ipoib_conn_qp_run(struct ipoib_conn *conn)
{
	return ipoib_conn_qp_rtr(conn) ?: ipoib_conn_qp_rts(conn);
}

/* ---- making and freeing ---- */

static struct ipoib_conn *ipoib_conn_alloc(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->cm = cm;
	conn->psn = get_random_u32() & 0xffffff;
	conn->created = jiffies;
	conn->used = jiffies;
	conn->progress = jiffies;
	spin_lock_init(&conn->tx_lock);
	__skb_queue_head_init(&conn->backlog);
	init_completion(&conn->last_wqe);
	INIT_LIST_HEAD(&conn->list);
	INIT_LIST_HEAD(&conn->peer_list);
	return conn;
}

static int ipoib_conn_share(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	int ret;

	mutex_lock(&cm->mutex);
	ret = ipoib_cm_rx_get(cm);
	if (!ret)
		ret = ipoib_cm_tx_get_cq(cm);
	if (ret >= 0)
		conn->cq = ret;
	mutex_unlock(&cm->mutex);
	return ret < 0 ? ret : 0;
}

static void ipoib_conn_unshare(struct ipoib_conn *conn)
{
	mutex_lock(&conn->cm->mutex);
	ipoib_cm_tx_put_cq(conn->cm, conn->cq);
	mutex_unlock(&conn->cm->mutex);
}

/* A QP in INIT, with receives, and a ring if we are going to send. */
static int ipoib_conn_make_qp(struct ipoib_conn *conn, bool sends)
{
	struct ipoib_dev *priv = conn->cm->priv;
	int err;

	if (sends) {
		err = ipoib_ring_init(&conn->ring, priv->pd, IPOIB_CM_RING,
				      priv->ca->attrs.max_send_sge, false);
		if (err)
			return err;
	}
	err = ipoib_conn_create_qp(conn, sends);
	if (err)
		goto exit_ring;
	err = ipoib_conn_qp_init(conn);
	if (err)
		goto destroy_qp;
	err = ipoib_cm_rx_add(conn);
	if (err)
		goto destroy_qp;
	return 0;

destroy_qp:
	/* Before the buffers, of which some may be posted. */
	ipoib_conn_destroy_qp(conn);
	ipoib_cm_rx_remove(conn);
exit_ring:
	ipoib_ring_exit(&conn->ring);
	return err;
}

/**
 * ipoib_conn_end_accepting - a connection counts no more as being taken
 * @conn: the connection
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_conn_end_accepting(struct ipoib_conn *conn)
{
	lockdep_assert_held(&conn->cm->lock);
	if (!conn->accepting)
		return;
	conn->accepting = false;
	conn->cm->naccepting--;
	conn->source->naccepting--;
}

static void ipoib_conn_uncount(struct ipoib_cm *cm, struct ipoib_peer *peer,
			       struct ipoib_source *source)
{
	ipoib_peer_put(cm, peer);
	spin_lock_bh(&cm->lock);
	cm->nconns--;
	ipoib_source_put(cm, source);
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_conn_make - make a connection and its QP
 * @cm: connected mode of the interface
 * @peer: the other end
 * @source: where it asked from, NULL if we ask
 * @transport: RC or UC
 * @sends: whether it shall be possible to send on it
 *
 * It has been counted by ipoib_cm_make_room(), with its peer, and is until it
 * is freed.
 *
 * Context: may sleep
 * Return: the connection, which the caller owns, or an error pointer, and then it is
 * not counted any more
 */
struct ipoib_conn *ipoib_conn_make(struct ipoib_cm *cm,
				   struct ipoib_peer *peer,
				   struct ipoib_source *source,
				   enum ipoib_transport transport, bool sends)
{
	struct ipoib_conn *conn = ipoib_conn_alloc(cm);
	int err = -ENOMEM;

	if (!conn)
		goto uncount;
	conn->peer = peer;
	conn->source = source;
	conn->heard = READ_ONCE(peer->seen);
	conn->transport = transport;
	err = ipoib_conn_share(conn);
	if (err)
		goto free_conn;
	err = ipoib_conn_make_qp(conn, sends);
	if (err)
		goto unshare;
	pr_debug("ipoib: connection %pI6 created\n", peer->addr.gid);
	ipoib_object_made(IPOIB_OBJECT_CONN);
	return conn;

unshare:
	ipoib_conn_unshare(conn);
free_conn:
	kfree(conn);
uncount:
	ipoib_conn_uncount(cm, peer, source);
	return ERR_PTR(err);
}

/**
 * ipoib_conn_free - free a connection
 * @conn: it is out of use: its CM identifier is destroyed, its QP is in the
 *	error state and empty, and both handlers have seen all of it
 *
 * Context: process
 */
void ipoib_conn_free(struct ipoib_conn *conn)
{
	ipoib_conn_destroy_qp(conn);
	ipoib_cm_rx_remove(conn);
	if (conn->ring.slots)
		ipoib_ring_flush(&conn->ring);
	ipoib_ring_exit(&conn->ring);
	WARN_ON_ONCE(!skb_queue_empty(&conn->backlog));
	ipoib_conn_unshare(conn);
	pr_debug("ipoib: connection %pI6 destroyed\n", conn->peer->addr.gid);
	ipoib_object_gone(IPOIB_OBJECT_CONN, 1);
	spin_lock_bh(&conn->cm->lock);
	ipoib_conn_end_accepting(conn);
	spin_unlock_bh(&conn->cm->lock);
	ipoib_conn_uncount(conn->cm, conn->peer, conn->source);
	kfree(conn);
}

/**
 * ipoib_conn_part - say good-bye to the peer, and stop the QP
 * @conn: a closing connection
 *
 * Context: process
 */
void ipoib_conn_part(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	/* An identifier that was established ends with a time of waiting. */
	if (ib_send_cm_dreq(conn->id, NULL, 0) && !READ_ONCE(conn->lingers))
		WRITE_ONCE(conn->parted, true);
	if (ib_modify_qp(conn->qp, &attr, IB_QP_STATE))
		netdev_dbg(conn->cm->priv->netdev, "cannot stop QP %u\n",
			   conn->qp->qp_num);
}

/* ---- identifiers ---- */

/**
 * ipoib_conn_create_id - make an identifier of the CM
 * @cm: connected mode of the interface
 * @handler: its callback
 * @context: what that finds in the identifier
 *
 * Context: may sleep
 * Return: the identifier, for ipoib_conn_destroy_id(), or an error pointer
 */
struct ib_cm_id *ipoib_conn_create_id(struct ipoib_cm *cm,
				      ib_cm_handler handler, void *context)
{
	struct ib_cm_id *id = ib_create_cm_id(cm->priv->ca, handler, context);

	if (!IS_ERR(id))
		ipoib_object_made(IPOIB_OBJECT_CM_ID);
	return id;
}

/**
 * ipoib_conn_destroy_id - destroy an identifier of the CM
 * @id: the identifier
 *
 * Waits for its callback.
 *
 * Context: process
 */
void ipoib_conn_destroy_id(struct ib_cm_id *id)
{
	ib_destroy_cm_id(id);
	ipoib_object_gone(IPOIB_OBJECT_CM_ID, 1);
}

/* ---- asking for a connection ---- */

static int ipoib_conn_send_req(struct ipoib_conn *conn,
			       struct sa_path_rec *rec,
			       const struct ib_gid_attr *gid, u8 sid)
{
	struct ipoib_cm_data data;
	struct sa_path_rec alt;
	struct ib_cm_req_param req = {
		.primary_path = rec,
		.ppath_sgid_attr = gid,
		.alternate_path = ipoib_apm_offer(conn, rec, &alt),
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
	if (req.alternate_path)
		alt.packet_life_time = rec->packet_life_time;
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

static struct ipoib_conn *ipoib_conn_make_active(struct ipoib_cm *cm,
						 struct ipoib_peer *peer,
						 enum ipoib_transport transport)
{
	struct ipoib_conn *conn;
	struct ib_cm_id *id;

	id = ipoib_conn_create_id(cm, ipoib_conn_event, NULL);
	if (IS_ERR(id)) {
		ipoib_conn_uncount(cm, peer, NULL);
		return ERR_CAST(id);
	}
	conn = ipoib_conn_make(cm, peer, NULL, transport, true);
	if (IS_ERR(conn)) {
		ipoib_conn_destroy_id(id);
		return conn;
	}
	id->context = conn;
	conn->id = id;
	conn->active = true;
	conn->checked = true;
	return conn;
}

/*
 * Has the peer asked for one meanwhile, that will do? What others have asked for in
 * its name does not keep us from asking.
 */
static bool ipoib_peer_was_faster(const struct ipoib_peer *peer)
{
	const struct ipoib_conn *conn;

	list_for_each_entry(conn, &peer->conns, peer_list)
		if (!conn->active && conn->two_way &&
		    (conn->checked || (conn->state == IPOIB_CONN_ACCEPTING &&
				       ipoib_conn_is_theirs(conn))))
			return true;
	return false;
}

/*
 * The mode may have been changed since the caller looked; what is not in the list
 * yet has not been flushed with the others.
 */
static bool ipoib_peer_needs_none(const struct ipoib_cm *cm,
				  const struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	return !READ_ONCE(cm->on) || ipoib_peer_was_faster(peer);
}

/*
 * After a change of LIDs the record that we have leads nowhere, or to another node, and
 * the peer would be told our old LID. So the request waits until the record has been read
 * anew, but not for ever: that the SA does not answer need not mean anything.
 */
static bool ipoib_conn_hold(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	bool hold;

	spin_lock_bh(&cm->lock);
	hold = ipoib_path_is_old(cm->priv, peer->addr.gid);
	if (hold && !peer->holding)
		peer->hold_until = jiffies + IPOIB_CM_HOLD;
	hold = hold && time_before(jiffies, peer->hold_until);
	peer->holding = hold;
	if (hold && cm->up && list_empty(&peer->todo))
		list_add_tail(&peer->todo, &cm->held);
	spin_unlock_bh(&cm->lock);
	if (hold)
		queue_delayed_work(cm->wq, &cm->held_work, IPOIB_CM_HOLD);
	return hold;
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
		mod_delayed_work(cm->wq, &cm->held_work, 0);
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_conn_connect - ask a peer for a connection
 * @cm: connected mode of the interface
 * @peer: in IPOIB_PEER_CONNECTING; the caller sees to it that it stays
 *
 * If it cannot be done, it is as if nothing had been asked; else the CM tells what
 * becomes of it.
 *
 * Context: process
 */
void ipoib_conn_connect(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	int transport = ipoib_conn_choose(cm, peer);
	struct ipoib_conn *conn;
	struct sa_path_rec rec;
	bool needless;
	int err;
	u8 sid;

	if (transport < 0 || ipoib_conn_hold(cm, peer) ||
	    !ipoib_path_record(cm->priv, peer->addr.gid, &rec) ||
	    (transport == IPOIB_TRANSPORT_RC && ipoib_apm_hold(cm, peer)) ||
	    !ipoib_cm_make_room(cm, peer))
		return;
	conn = ipoib_conn_make_active(cm, peer, transport);
	if (IS_ERR(conn))
		return;
	spin_lock_bh(&cm->lock);
	conn->state = IPOIB_CONN_CONNECTING;
	sid = peer->sid;
	conn->two_way = sid == IPOIB_SID_RFC;
	conn->asking = true;
	list_add_tail(&conn->list, &cm->conns);
	needless = ipoib_peer_needs_none(cm, peer);
	list_add_tail(&conn->peer_list, &peer->conns);
	if (needless)
		__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
	if (!needless) {
		ipoib_stat_add(cm->priv, IPOIB_CM_REQUESTS, 1);
		err = ipoib_conn_ask(conn, &rec, sid);
		trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "request",
				 err);
		if (err)
			ipoib_conn_close(conn);
	}
	/* From here on the reaper may free it. */
	smp_store_release(&conn->asking, false);
}

/**
 * ipoib_conn_reject - refuse a connection
 * @id: identifier of the request or reply
 * @cm: connected mode of the interface
 * @reason: what the peer is told
 *
 * Context: process
 */
void ipoib_conn_reject(struct ib_cm_id *id, struct ipoib_cm *cm,
		       enum ib_cm_rej_reason reason)
{
	struct ipoib_cm_data data;

	/* Refusals have the private data as well (C16). */
	ipoib_cm_own_data(cm, &data);
	ipoib_stat_add(cm->priv, IPOIB_CM_REJECTS, 1);
	ib_send_cm_rej(id, reason, NULL, 0, &data, sizeof(data));
}

/* The request has come to nothing. */
static void ipoib_conn_give_up(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	spin_lock_bh(&cm->lock);
	/* Something else may have been made of the peer meanwhile. */
	if (conn->state == IPOIB_CONN_CONNECTING && !conn->crossed &&
	    conn->peer->state == IPOIB_PEER_CONNECTING)
		ipoib_peer_failed(cm, conn->peer);
	__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
}

/*
 * The peer would rather not. If its address is the greater one, its own request
 * may have crossed ours and be here soon: wait for that a while.
 */
static void ipoib_conn_yield(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_lladdr own;

	ipoib_cm_own_addr(cm, &own);
	spin_lock_bh(&cm->lock);
	if (conn->state == IPOIB_CONN_CONNECTING && conn->two_way &&
	    peer->state == IPOIB_PEER_CONNECTING &&
	    ipoib_lladdr_less(&own, &peer->addr)) {
		peer->state = IPOIB_PEER_YIELDED;
		peer->retry_at = jiffies + IPOIB_CM_YIELD;
	}
	spin_unlock_bh(&cm->lock);
	ipoib_conn_give_up(conn);
}

static int ipoib_conn_take_rep(struct ipoib_conn *conn,
			       const struct ipoib_cm_data *theirs)
{
	struct ipoib_cm_data ours;
	int err;

	if (ipoib_cm_data_qpn(theirs) != ipoib_lladdr_qpn(&conn->peer->addr))
		return -EPROTO;
	conn->mtu = ipoib_cm_mtu(conn->cm, theirs);
	if (!conn->mtu)
		return -EPROTO;
	err = ipoib_conn_qp_run(conn);
	if (err) {
		/* The HCA may have refused the alternate path. */
		ipoib_apm_refused(conn, IB_CM_REJ_NO_RESOURCES);
		return err;
	}
	ipoib_cm_own_data(conn->cm, &ours);
	return ib_send_cm_rtu(conn->id, &ours, sizeof(ours));
}

/*
 * The peer grants a request whose place its own has taken: both would stay. It
 * should have refused.
 */
static bool ipoib_conn_is_superseded(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_conn *other;
	bool found = false;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(other, &conn->peer->conns, peer_list)
		found |= conn->crossed && !other->active && other->two_way &&
			 ipoib_conn_is_theirs(other);
	spin_unlock_bh(&cm->lock);
	return found;
}

static void ipoib_conn_replied(struct ipoib_conn *conn,
			       const struct ib_cm_event *event)
{
	struct ipoib_cm *cm = conn->cm;
	int err;

	if (event->param.rep_rcvd.failover_accepted != IPOIB_FAILOVER_ACCEPTED)
		conn->apm.wanted = false;
	err = ipoib_conn_is_superseded(conn) ? -EEXIST :
	      ipoib_conn_take_rep(conn, event->private_data);
	trace_ipoib_conn(cm->priv->netdev, conn->peer->addr.gid, "reply", err);
	if (err) {
		if (err == -EPROTO)
			ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
		ipoib_conn_reject(conn->id, cm, IB_CM_REJ_CONSUMER_DEFINED);
		ipoib_conn_give_up(conn);
		return;
	}
	spin_lock_bh(&cm->lock);
	if (conn->state == IPOIB_CONN_CONNECTING) {
		conn->state = IPOIB_CONN_ESTABLISHED;
		ipoib_conn_use(conn);
	}
	spin_unlock_bh(&cm->lock);
	ipoib_stat_add(cm->priv, IPOIB_CM_ESTABLISHED, 1);
}

/*
 * The peer does not know the service ID that we asked by: it may know the other
 * (fallback, C21). Returns whether that is worth a try.
 */
static bool ipoib_conn_other_sid(const struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;

	peer->tried |= conn->two_way ? 1 : 2;
	peer->sid = conn->two_way ? IPOIB_SID_LINUX : IPOIB_SID_RFC;
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
		(!sid || ipoib_conn_other_sid(conn));
	if (again) {
		ipoib_peer_want(cm, peer);
		__ipoib_conn_close(conn);
	}
	spin_unlock_bh(&cm->lock);
	if (again)
		return;
	if (sid)
		ipoib_stat_add(cm->priv, IPOIB_CM_REFUSED, 1);
	ipoib_conn_give_up(conn);
}

/*
 * Is it our QPN that the peer minds? HCAs may give the same ones after a reboot as
 * before, and the peer remembers what it was. The next QP has another one; a peer
 * that minds that, too, has something else.
 */
static bool ipoib_conn_is_stale(struct ipoib_conn *conn,
				enum ib_cm_rej_reason reason)
{
	struct ipoib_peer *peer = conn->peer;
	bool again;

	if (reason != IB_CM_REJ_STALE_CONN)
		return false;
	spin_lock_bh(&conn->cm->lock);
	again = !peer->stale;
	peer->stale = true;
	spin_unlock_bh(&conn->cm->lock);
	return again;
}

static void ipoib_conn_rejected(struct ipoib_conn *conn,
				const struct ib_cm_rej_event_param *rej)
{
	trace_ipoib_conn(conn->cm->priv->netdev, conn->peer->addr.gid,
			 "rejected", rej->reason);
	/* The CM waits then, lest the QPN be used again meanwhile. */
	if (rej->reason == IB_CM_REJ_STALE_CONN)
		WRITE_ONCE(conn->lingers, true);
	if (READ_ONCE(conn->state) != IPOIB_CONN_CONNECTING) {
		/* The peer never had our RTU: what was sent was in vain. */
		if (READ_ONCE(conn->ring.head))
			WRITE_ONCE(conn->fatal, true);
		ipoib_conn_close(conn);
		return;
	}
	if (rej->reason == IB_CM_REJ_INVALID_SERVICE_ID) {
		ipoib_conn_again(conn, true);
		return;
	}
	if (ipoib_conn_is_stale(conn, rej->reason) ||
	    ipoib_apm_refused(conn, rej->reason)) {
		ipoib_conn_again(conn, false);
		return;
	}
	if (!conn->crossed)
		ipoib_stat_add(conn->cm->priv, IPOIB_CM_REFUSED, 1);
	if (rej->reason == IB_CM_REJ_CONSUMER_DEFINED)
		ipoib_conn_yield(conn);
	else
		ipoib_conn_give_up(conn);
}

/* ---- what the CM tells ---- */

/*
 * The CM's DREQ is over. If that was not ours: the CM sends one by itself for a
 * connection whose other end, by a REQ or REP that has come, has been given away
 * anew. A peer that was booted is like that.
 */
static void ipoib_conn_ended(struct ipoib_conn *conn)
{
	if (READ_ONCE(conn->state) == IPOIB_CONN_CLOSING)
		return;
	WRITE_ONCE(conn->lingers, true);
	trace_ipoib_conn(conn->cm->priv->netdev, conn->peer->addr.gid, "ended",
			 0);
	ipoib_conn_close(conn);
}

static void ipoib_conn_gone(struct ipoib_conn *conn)
{
	/* Not always has the CM said before that there would be an end. */
	ipoib_conn_ended(conn);
	WRITE_ONCE(conn->parted, true);
	mod_delayed_work(conn->cm->wq, &conn->cm->reap_work, 0);
}

static void ipoib_conn_left(struct ipoib_conn *conn)
{
	WRITE_ONCE(conn->left, true);
	WRITE_ONCE(conn->lingers, true);
	ib_send_cm_drep(conn->id, NULL, 0);
	trace_ipoib_conn(conn->cm->priv->netdev, conn->peer->addr.gid, "left",
			 0);
	ipoib_conn_close(conn);
}

/**
 * ipoib_conn_event - what the CM tells of a connection
 * @id: its identifier, which is destroyed by the reaper alone
 * @event: what has come, or has not come; requests go to ipoib_cm_listen()'s callback
 *
 * ib_destroy_cm_id() waits for this, but not if what it tells is that a message was
 * sent in vain (the events named ERROR): then the connection may be freed as soon as
 * it has been closed, so that is the last thing done to it.
 *
 * Context: process
 * Return: 0
 */
int ipoib_conn_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct ipoib_conn *conn = id->context;

	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		ipoib_conn_replied(conn, event);
		break;
	case IB_CM_REJ_RECEIVED:
		ipoib_conn_rejected(conn, &event->param.rej_rcvd);
		break;
	case IB_CM_RTU_RECEIVED:
		ipoib_conn_accepted(conn, event->private_data);
		break;
	case IB_CM_USER_ESTABLISHED:
		ipoib_conn_accepted(conn, NULL);
		break;
	case IB_CM_REQ_ERROR:
		ipoib_stat_add(conn->cm->priv, IPOIB_CM_REFUSED, 1);
		ipoib_conn_give_up(conn);
		break;
	case IB_CM_REP_ERROR:
		ipoib_conn_close(conn);
		break;
	case IB_CM_DREQ_RECEIVED:
		ipoib_conn_left(conn);
		break;
	case IB_CM_DREP_RECEIVED:
	case IB_CM_DREQ_ERROR:
		ipoib_conn_ended(conn);
		break;
	case IB_CM_TIMEWAIT_EXIT:
		ipoib_conn_gone(conn);
		break;
	default:
		break;
	}
	return 0;
}
