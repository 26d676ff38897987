// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: making and taking connections.
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
#include <linux/etherdevice.h>
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
 * watchdog looks after connections that are stuck (ipoib_cm.c).
 */
#define IPOIB_RC_RETRY		7
#define IPOIB_RC_RNR_RETRY	7
#define IPOIB_RC_RNR_TIMER	IB_RNR_TIMER_001_28
/* The CM: half a second for an answer, a packet on its way for 34 ms at most. */
#define IPOIB_CM_RESPONSE	17
#define IPOIB_CM_LIFE		13
#define IPOIB_CM_RETRIES	7
/* A request that was on its way when ours was accepted crosses it, still. */
#define IPOIB_CM_CROSSING	(8 * HZ)
/* How long to wait for a request that may have crossed ours. */
#define IPOIB_CM_YIELD		HZ
/* Requests taken whose RTU is outstanding, or never came and all is not freed. */
#define IPOIB_CM_ACCEPTING	256
/* Shortest Receive MTU we connect to. */
#define IPOIB_CM_MTU_MIN	(IPOIB_MTU_MIN + IPOIB_ENCAP_LEN)

static int ipoib_conn_event(struct ib_cm_id *id,
			    const struct ib_cm_event *event);

static void ipoib_cm_own_data(const struct ipoib_cm *cm,
			      struct ipoib_cm_data *data)
{
	data->qpn = cpu_to_be32(cm->priv->txq->qp->qp_num & IPOIB_QPN_MASK);
	data->mtu = cpu_to_be32(ipoib_cm_rx_mtu(cm->priv));
}

static void ipoib_cm_own_addr(const struct ipoib_cm *cm,
			      struct ipoib_lladdr *addr)
{
	ipoib_lladdr_set(addr, 0, cm->priv->txq->qp->qp_num,
			 &cm->priv->local_gid);
}

/* Longest packet that both ends take (C27, C28), 0 if it is absurd. */
static unsigned int ipoib_cm_mtu(const struct ipoib_cm *cm,
				 const struct ipoib_cm_data *theirs)
{
	unsigned int mtu = min(be32_to_cpu(theirs->mtu),
			       ipoib_cm_rx_mtu(cm->priv));

	return mtu < IPOIB_CM_MTU_MIN ? 0 : mtu - IPOIB_ENCAP_LEN;
}

static u32 ipoib_cm_data_qpn(const struct ipoib_cm_data *data)
{
	/* The reserved octet is not looked at (C29). */
	return be32_to_cpu(data->qpn) & IPOIB_QPN_MASK;
}

/* What a fabric does not have is zero. */
static void ipoib_way_set(struct ipoib_way *way, u32 lid, const u8 *mac)
{
	way->lid = lid;
	memset(way->mac, 0, sizeof(way->mac));
	if (mac)
		memcpy(way->mac, mac, sizeof(way->mac));
}

static void ipoib_way_of_rec(struct ipoib_way *way, struct sa_path_rec *rec)
{
	ipoib_way_set(way, be32_to_cpu(sa_path_get_dlid(rec)),
		      sa_path_get_dmac(rec));
}

/* Where the fabric says that a GID is. Returns whether it is known. */
static bool ipoib_way_to(struct ipoib_dev *priv, const u8 *gid,
			 struct ipoib_way *way)
{
	struct sa_path_rec rec;

	if (!ipoib_path_record(priv, gid, &rec))
		return false;
	ipoib_way_of_rec(way, &rec);
	return true;
}

static bool ipoib_way_is_same(const struct ipoib_dev *priv,
			      const struct ipoib_way *a,
			      const struct ipoib_way *b)
{
	return ipoib_lid_is_same_port(a->lid, b->lid, READ_ONCE(priv->lmc)) &&
	       ether_addr_equal(a->mac, b->mac);
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
	return ib_modify_qp(conn->qp, &attr, mask);
}

static int ipoib_conn_qp_rts(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
	int err, mask;

	err = ib_cm_init_qp_attr(conn->id, &attr, &mask);
	if (err)
		return err;
	/* Whatever the peer had in mind for us. */
	attr.timeout = IPOIB_RC_TIMEOUT;
	attr.retry_cnt = IPOIB_RC_RETRY;
	attr.rnr_retry = IPOIB_RC_RNR_RETRY;
	ipoib_apm_rts(conn, &mask);
	return ib_modify_qp(conn->qp, &attr, mask);
}

static int ipoib_conn_qp_run(struct ipoib_conn *conn)
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
	conn->seen = jiffies;
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

/*
 * A request that came to nothing keeps its place until its connection is freed: a
 * flood of them is taken no faster than they can be taken apart.
 */
static void ipoib_conn_end_accepting(struct ipoib_conn *conn)
{
	lockdep_assert_held(&conn->cm->lock);
	if (!conn->accepting)
		return;
	conn->accepting = false;
	conn->cm->naccepting--;
}

static void ipoib_conn_uncount(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	ipoib_peer_put(cm, peer);
	spin_lock_bh(&cm->lock);
	cm->nconns--;
	spin_unlock_bh(&cm->lock);
}

/*
 * It has been counted by ipoib_cm_make_room(), with its peer, and is until it
 * is freed.
 */
static struct ipoib_conn *ipoib_conn_make(struct ipoib_cm *cm,
					  struct ipoib_peer *peer,
					  enum ipoib_transport transport,
					  bool sends)
{
	struct ipoib_conn *conn = ipoib_conn_alloc(cm);
	int err = -ENOMEM;

	if (!conn)
		goto uncount;
	conn->peer = peer;
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
	ipoib_conn_uncount(cm, peer);
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
	ipoib_conn_uncount(conn->cm, conn->peer);
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

static struct ib_cm_id *ipoib_conn_create_id(struct ipoib_cm *cm,
					     ib_cm_handler handler,
					     void *context)
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
		ipoib_conn_uncount(cm, peer);
		return ERR_CAST(id);
	}
	conn = ipoib_conn_make(cm, peer, transport, true);
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

/* Has the peer asked for one meanwhile, that will do? */
static bool ipoib_peer_was_faster(const struct ipoib_peer *peer)
{
	const struct ipoib_conn *conn;

	list_for_each_entry(conn, &peer->conns, peer_list)
		if (!conn->active && conn->two_way &&
		    (conn->state == IPOIB_CONN_ACCEPTING || conn->checked))
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

	if (transport < 0 ||
	    !ipoib_path_record(cm->priv, peer->addr.gid, &rec) ||
	    (transport == IPOIB_TRANSPORT_RC && ipoib_apm_hold(cm, peer)) ||
	    !ipoib_cm_make_room(cm, peer))
		return;
	conn = ipoib_conn_make_active(cm, peer, transport);
	if (IS_ERR(conn))
		return;
	spin_lock_bh(&cm->lock);
	conn->state = IPOIB_CONN_CONNECTING;
	conn->two_way = peer->sid == IPOIB_SID_RFC;
	conn->asking = true;
	list_add_tail(&conn->list, &cm->conns);
	needless = ipoib_peer_needs_none(cm, peer);
	list_add_tail(&conn->peer_list, &peer->conns);
	if (needless)
		__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
	if (!needless) {
		ipoib_stat_add(cm->priv, IPOIB_CM_REQUESTS, 1);
		err = ipoib_conn_ask(conn, &rec, peer->sid);
		trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "request",
				 err);
		if (err)
			ipoib_conn_close(conn);
	}
	/* From here on the reaper may free it. */
	smp_store_release(&conn->asking, false);
}

static void ipoib_conn_reject(struct ib_cm_id *id, struct ipoib_cm *cm,
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
	if (err)
		return err;
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
		found |= conn->crossed && !other->active && other->two_way;
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
 * The peer does not know the service ID: it may know the other (fallback, C21).
 * Returns whether that is worth a try.
 */
static bool ipoib_peer_other_sid(struct ipoib_peer *peer)
{
	peer->tried |= peer->sid == IPOIB_SID_RFC ? 1 : 2;
	peer->sid = peer->sid == IPOIB_SID_RFC ? IPOIB_SID_LINUX :
						 IPOIB_SID_RFC;
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
		(!sid || ipoib_peer_other_sid(peer));
	if (again) {
		ipoib_peer_want(cm, peer);
		__ipoib_conn_close(conn);
	}
	spin_unlock_bh(&cm->lock);
	if (!again)
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

/* ---- taking a connection ---- */

/**
 * struct ipoib_cm_request - a request, as far as it has been understood
 * @addr: link-layer address of the peer
 * @mtu: longest packet that both ends take
 * @sid: first octet of the service ID
 * @transport: RC or UC
 * @way: where the request has come from
 * @failover: what we say of its alternate path
 */
struct ipoib_cm_request {
	struct ipoib_lladdr addr;
	unsigned int mtu;
	u8 sid;
	enum ipoib_transport transport;
	struct ipoib_way way;
	enum ipoib_failover failover;
};

static bool ipoib_cm_offered(const struct ipoib_cm *cm, enum ib_qp_type type)
{
	return (type == IB_QPT_RC && cm->offers & IPOIB_LLADDR_RC) ||
	       (type == IB_QPT_UC && cm->offers & IPOIB_LLADDR_UC);
}

/* Does the path of the request end at us, and on our link? */
static int ipoib_cm_check_path(const struct ipoib_cm *cm,
			       const struct ib_cm_req_event_param *req)
{
	struct ipoib_dev *priv = cm->priv;
	const struct sa_path_rec *path = req->primary_path;
	u16 pkey = be16_to_cpu(path->pkey);

	if (req->port != priv->port || (pkey | IPOIB_PKEY_FULL) != priv->pkey)
		return IB_CM_REJ_CONSUMER_DEFINED;
	if (memcmp(&path->sgid, &priv->local_gid, sizeof(path->sgid)))
		return IB_CM_REJ_INVALID_GID;
	/* Nobody asks himself, and no group asks for a connection. */
	if (!memcmp(&path->dgid, &priv->local_gid, sizeof(path->dgid)) ||
	    path->dgid.raw[0] == 0xff)
		return IB_CM_REJ_INVALID_GID;
	return priv->fabric->conn_check ? priv->fabric->conn_check(priv, req) :
					  0;
}

/* Understand a request. Returns 0 or the reason to refuse it. */
static int ipoib_cm_parse(const struct ipoib_cm *cm, const struct ib_cm_id *id,
			  const struct ib_cm_event *event,
			  struct ipoib_cm_request *request)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	const struct ipoib_cm_data *data = event->private_data;
	u32 qpn = ipoib_cm_data_qpn(data);
	int reason;

	if (!ipoib_cm_offered(cm, req->qp_type))
		return IB_CM_REJ_INVALID_TRANSPORT_TYPE;
	reason = ipoib_cm_check_path(cm, req);
	if (reason)
		return reason;
	request->mtu = ipoib_cm_mtu(cm, data);
	if (!request->mtu || qpn < 2 || qpn == IPOIB_MCAST_QPN) {
		ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}
	/* RFC 4755 section 3.3: the address is formed of these two. */
	ipoib_lladdr_set(&request->addr, 0, qpn, &req->primary_path->dgid);
	ipoib_way_of_rec(&request->way, req->primary_path);
	request->failover = ipoib_apm_take(cm, req);
	request->sid = ipoib_service_first(id->service_id);
	request->transport = req->qp_type == IB_QPT_UC ? IPOIB_TRANSPORT_UC :
							 IPOIB_TRANSPORT_RC;
	return 0;
}

/*
 * RFC 4755 section 3.3 (C17): of two requests that cross, that of the
 * numerically greater address is taken. A request of ours that has been taken
 * a moment ago still crosses one that was sent before the peer knew of it; a
 * peer with a connection for each direction has no such doubts.
 */
static bool ipoib_conn_wins(const struct ipoib_cm *cm,
			    const struct ipoib_conn *conn)
{
	struct ipoib_lladdr own;

	if (!conn->active)
		return false;
	if (conn->state != IPOIB_CONN_CONNECTING &&
	    !(conn->state == IPOIB_CONN_ESTABLISHED && conn->two_way &&
	      time_before(jiffies, conn->created + IPOIB_CM_CROSSING)))
		return false;
	ipoib_cm_own_addr(cm, &own);
	return !ipoib_lladdr_less(&own, &conn->peer->addr);
}

/* Is there a connection that a request of this peer has to give way to? */
static bool ipoib_peer_crosses(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry(conn, &peer->conns, peer_list)
		if (ipoib_conn_wins(cm, conn))
			return true;
	return false;
}

/*
 * A request in the name of a peer that has a connection would end that one. It
 * comes from where the fabric says that the peer is, or it is not the peer's.
 */
static bool ipoib_cm_forged(struct ipoib_cm *cm, const struct ipoib_peer *peer,
			    const struct ipoib_cm_request *request)
{
	struct ipoib_way way;

	return !list_empty(&peer->conns) &&
	       ipoib_way_to(cm->priv, peer->addr.gid, &way) &&
	       !ipoib_way_is_same(cm->priv, &way, &request->way);
}

/* Room for one more from this peer. Returns 0 or the reason to refuse. */
static int ipoib_cm_admit(struct ipoib_cm *cm, struct ipoib_peer *peer,
			  const struct ipoib_cm_request *request)
{
	int reason = 0;

	spin_lock_bh(&cm->lock);
	if (cm->naccepting >= IPOIB_CM_ACCEPTING)
		reason = IB_CM_REJ_NO_RESOURCES;
	else if (ipoib_cm_forged(cm, peer, request))
		reason = IB_CM_REJ_INVALID_LID;
	else if (ipoib_peer_crosses(cm, peer))
		reason = IB_CM_REJ_CONSUMER_DEFINED;
	spin_unlock_bh(&cm->lock);
	if (reason == IB_CM_REJ_CONSUMER_DEFINED)
		ipoib_stat_add(cm->priv, IPOIB_CM_CROSSED, 1);
	else if (reason == IB_CM_REJ_INVALID_LID)
		ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
	if (!reason && !ipoib_cm_make_room(cm, peer))
		reason = IB_CM_REJ_NO_RESOURCES;
	return reason;
}

/*
 * A new connection replaces what the peer had (RFC 4755 leaves a second one to
 * us, C14), but for a request of ours that waits for an answer, which will be a
 * refusal, and one that we need to send to a peer that wants one for each
 * direction.
 */
static bool ipoib_conn_replaced(const struct ipoib_conn *old)
{
	return old->state != IPOIB_CONN_CONNECTING &&
	       (!old->active || old->two_way);
}

/*
 * A request of ours may have gone out since ipoib_cm_admit() looked, and have
 * to be given way to. Returns whether the connection was taken.
 */
static bool ipoib_conn_enlist(struct ipoib_cm *cm, struct ipoib_conn *conn)
{
	struct ipoib_conn *old, *tmp;
	bool crosses;

	spin_lock_bh(&cm->lock);
	crosses = ipoib_peer_crosses(cm, conn->peer);
	if (crosses)
		goto unlock;
	list_for_each_entry_safe(old, tmp, &conn->peer->conns, peer_list) {
		if (ipoib_conn_replaced(old))
			__ipoib_conn_close(old);
		else if (old->state == IPOIB_CONN_CONNECTING)
			old->crossed = conn->two_way;
	}
	conn->state = IPOIB_CONN_ACCEPTING;
	conn->accepting = true;
	cm->naccepting++;
	list_add_tail(&conn->list, &cm->conns);
	list_add_tail(&conn->peer_list, &conn->peer->conns);
unlock:
	spin_unlock_bh(&cm->lock);
	return !crosses;
}

static int ipoib_conn_send_rep(struct ipoib_conn *conn,
			       enum ipoib_failover failover)
{
	struct ipoib_cm_data data;
	struct ib_cm_rep_param rep = {
		.qp_num = conn->qp->qp_num,
		.starting_psn = conn->psn,
		.private_data = &data,
		.private_data_len = sizeof(data),
		.failover_accepted = failover,
		.rnr_retry_count = IPOIB_RC_RNR_RETRY,
		.srq = !!conn->cm->rx->srq,
	};
	int err;

	ipoib_cm_own_data(conn->cm, &data);
	err = ipoib_conn_qp_run(conn);
	if (err)
		return err;
	return ib_send_cm_rep(conn->id, &rep);
}

/* Returns 0, and from then on the identifier is the connection's, or a reason. */
static int ipoib_conn_accept(struct ib_cm_id *id,
			     const struct ipoib_cm_request *request,
			     struct ipoib_peer *peer)
{
	bool two_way = request->sid == IPOIB_SID_RFC;
	struct ipoib_cm *cm = id->context;
	struct ipoib_conn *conn;
	int err;

	conn = ipoib_conn_make(cm, peer, request->transport, two_way);
	if (IS_ERR(conn))
		return IB_CM_REJ_NO_QP;
	conn->id = id;
	conn->mtu = request->mtu;
	conn->two_way = two_way;
	conn->apm.wanted = request->failover == IPOIB_FAILOVER_ACCEPTED;
	if (!ipoib_conn_enlist(cm, conn)) {
		ipoib_stat_add(cm->priv, IPOIB_CM_CROSSED, 1);
		ipoib_conn_free(conn);
		return IB_CM_REJ_CONSUMER_DEFINED;
	}
	/* The CM has made it, the reaper destroys it. */
	ipoib_object_made(IPOIB_OBJECT_CM_ID);
	id->context = conn;
	id->cm_handler = ipoib_conn_event;
	err = ipoib_conn_send_rep(conn, request->failover);
	trace_ipoib_conn(cm->priv->netdev, peer->addr.gid, "accept", err);
	if (err) {
		ipoib_conn_reject(id, cm, IB_CM_REJ_NO_RESOURCES);
		ipoib_conn_close(conn);
	}
	return 0;
}

static int ipoib_cm_requested(struct ib_cm_id *id,
			      const struct ib_cm_event *event)
{
	struct ipoib_cm_request request;
	struct ipoib_cm *cm = id->context;
	struct ipoib_peer *peer;
	int reason;

	reason = ipoib_cm_parse(cm, id, event, &request);
	if (reason)
		goto reject;
	peer = ipoib_peer_get(cm, &request.addr);
	if (!peer) {
		reason = IB_CM_REJ_NO_RESOURCES;
		goto reject;
	}
	reason = ipoib_cm_admit(cm, peer, &request);
	if (!reason)
		reason = ipoib_conn_accept(id, &request, peer);
	ipoib_peer_put(cm, peer);
	if (!reason)
		return 0;

reject:
	trace_ipoib_conn(cm->priv->netdev,
			 event->param.req_rcvd.primary_path->dgid.raw,
			 "reject", reason);
	ipoib_conn_reject(id, cm, reason);
	/* Has the CM destroy the identifier. */
	return -EINVAL;
}

static int ipoib_cm_listen_event(struct ib_cm_id *id,
				 const struct ib_cm_event *event)
{
	if (event->event != IB_CM_REQ_RECEIVED)
		return 0;
	return ipoib_cm_requested(id, event);
}

/**
 * ipoib_conn_check - whether a peer is who it says
 * @conn: a connection that the peer asked for
 *
 * Anyone may claim an address in a request. What we would send goes to this
 * connection's LID or MAC address, so that must be the one that the fabric has
 * for the GID.
 *
 * Context: process, or bottom half
 * Return: true if it is, false if not or not known yet
 */
bool ipoib_conn_check(struct ipoib_conn *conn)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_way way;

	if (!conn->checked)
		conn->checked = ipoib_way_to(priv, conn->peer->addr.gid,
					     &way) &&
				ipoib_way_is_same(priv, &way, &conn->way);
	return conn->checked;
}

/* The peer is ready to use. @data: of its RTU, NULL if it was not needed. */
static void ipoib_conn_accepted(struct ipoib_conn *conn,
				const struct ipoib_cm_data *data)
{
	u32 qpn = ipoib_lladdr_qpn(&conn->peer->addr);
	struct ipoib_cm *cm = conn->cm;
	bool check;

	/* An RTU without private data: it does not follow the RFC (C15). */
	if (data && ipoib_cm_data_qpn(data) != qpn && conn->two_way) {
		ipoib_stat_add(cm->priv, IPOIB_CM_BAD_DATA, 1);
		conn->two_way = false;
	}
	check = conn->two_way && ipoib_conn_check(conn);
	trace_ipoib_conn(cm->priv->netdev, conn->peer->addr.gid, "ready", 0);
	spin_lock_bh(&cm->lock);
	if (conn->state == IPOIB_CONN_ACCEPTING) {
		ipoib_conn_end_accepting(conn);
		conn->state = IPOIB_CONN_ESTABLISHED;
		if (cm->on && check && !ipoib_peer_is_barren(conn->peer))
			ipoib_conn_use(conn);
		else
			ipoib_peer_settle(cm, conn->peer);
	}
	spin_unlock_bh(&cm->lock);
	ipoib_stat_add(cm->priv, IPOIB_CM_ACCEPTED, 1);
}

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

/* All events but requests. The identifier is destroyed by the reaper alone. */
static int ipoib_conn_event(struct ib_cm_id *id,
			    const struct ib_cm_event *event)
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

static struct ib_cm_id *ipoib_cm_listen_on(struct ipoib_cm *cm, u8 first)
{
	u32 qpn = cm->priv->txq->qp->qp_num;
	struct ib_cm_id *id;
	int err;

	id = ipoib_conn_create_id(cm, ipoib_cm_listen_event, cm);
	if (IS_ERR(id))
		return id;
	err = ib_cm_listen(id, ipoib_service_id(first, qpn));
	if (!err)
		return id;
	ipoib_conn_destroy_id(id);
	return ERR_PTR(err);
}

/**
 * ipoib_cm_listen - take requests
 * @cm: connected mode of the interface
 *
 * To the service ID of the RFC and to that of Linux (C21).
 *
 * Context: may sleep
 * Return: 0 or a negative error
 */
int ipoib_cm_listen(struct ipoib_cm *cm)
{
	static const u8 first[] = { IPOIB_SID_RFC, IPOIB_SID_LINUX };
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		cm->listen[i] = ipoib_cm_listen_on(cm, first[i]);
		if (IS_ERR(cm->listen[i])) {
			err = PTR_ERR(cm->listen[i]);
			cm->listen[i] = NULL;
			ipoib_cm_unlisten(cm);
			return err;
		}
	}
	return 0;
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
			ipoib_conn_destroy_id(cm->listen[i]);
		cm->listen[i] = NULL;
	}
}
