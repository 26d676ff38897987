// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: the QP of a connection, and CM messages.
 *
 * Every CM message of a setup carries the own UD QPN and Receive MTU, refusals included (RFC 4755
 * sections 3.2, 6). CM callbacks run in process context, one at a time for each identifier. Those
 * of a connection only note the event for its work.
 */
#include "ipoib.h"
#include "cm/cm.h"

/* Least Receive MTU of a peer */
#define IPOIB_CM_MTU_MIN	(IPOIB_MTU_MIN + IPOIB_ENCAP_LEN)

/* ---- private data ---- */

/* Fill in the private data of a CM message. Context: any. */
void ipoib_cm_own_data(const struct ipoib_cm *cm, struct ipoib_cm_data *data)
{
	data->qpn = cpu_to_be32(cm->priv->qpn & IPOIB_QPN_MASK);
	data->mtu = cpu_to_be32(ipoib_cm_rx_mtu(cm->priv));
}

/*
 * The longest packet that both ends take (C27, C28); @theirs is the private data of the peer.
 * Context: any. Return: octets without the encapsulation header, 0 if the peer's Receive MTU is
 * absurd.
 */
unsigned int ipoib_cm_mtu(const struct ipoib_cm *cm, const struct ipoib_cm_data *theirs)
{
	unsigned int mtu = min(be32_to_cpu(theirs->mtu), ipoib_cm_rx_mtu(cm->priv));

	return mtu < IPOIB_CM_MTU_MIN ? 0 : mtu - IPOIB_ENCAP_LEN;
}

/* Send a REJ to the REQ or REP of @id. Context: process. */
void ipoib_conn_reject(struct ib_cm_id *id, struct ipoib_cm *cm, enum ib_cm_rej_reason reason)
{
	struct ipoib_cm_data data;

	/* A REJ has the private data as well (C16). */
	ipoib_cm_own_data(cm, &data);
	if (!ib_send_cm_rej(id, reason, NULL, 0, &data, sizeof(data)))
		ipoib_stat_add(cm->priv, IPOIB_CM_REJECTS, 1);
}

/* ---- events of the CM ---- */

/*
 * Note an event of the CM for the work of a connection; REQs go to the callback of the listeners.
 * The CM also sends a DREQ by itself if a REQ or REP reuses the remote QPN, as after a reboot of
 * the peer.
 * ib_destroy_cm_id() waits for this callback, except for a few instructions of error events, see
 * testing.rst. The connection is freed after the identifier, and by RCU.
 * Context: process. Return: 0.
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
	case IB_CM_RTU_RECEIVED:
		conn->theirs = *(const struct ipoib_cm_data *)event->private_data;
		ipoib_conn_note(conn, conn->active ? IPOIB_CONN_EV_REPLIED : IPOIB_CONN_EV_READY);
		break;
	case IB_CM_REJ_RECEIVED:
		WRITE_ONCE(conn->reason, event->param.rej_rcvd.reason);
		ipoib_conn_note(conn, IPOIB_CONN_EV_REFUSED);
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

/* ---- QP ---- */

static void ipoib_conn_qp_event(struct ib_event *event, void *ctx)
{
	struct ipoib_conn *conn = ctx;

	/* HCAs raise events with locks held: take none. */
	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/* A closing QP is expected to fail. */
		if (!ipoib_conn_is_closing(conn))
			ipoib_conn_note(conn, IPOIB_CONN_EV_FAILED);
		/* Last: the work may destroy the QP after that. */
		if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
			ipoib_conn_note(conn, IPOIB_CONN_EV_LAST_WQE);
		break;
	default:
		break;
	}
}

/* Create a QP in INIT, where receives may be posted. The CM is not needed for that. */
static int ipoib_conn_create_qp(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ib_qp_init_attr init = {
		.event_handler = ipoib_conn_qp_event,
		.qp_context = conn,
		.send_cq = conn->tx_cq->cq,
		.recv_cq = conn->rxq->cq,
		.srq = cm->rx.bufs.srq,
		.cap.max_send_wr = conn->ring.slots ? IPOIB_CM_RING : 1,
		.cap.max_send_sge = conn->ring.slots ? conn->ring.max_sge : 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = ipoib_conn_qp_type(conn),
	};
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = cm->priv->pkey_index,
		.port_num = cm->priv->port,
	};
	struct ib_qp *qp;

	if (!init.srq) {
		init.cap.max_recv_wr = IPOIB_CM_OWN_BUFS;
		init.cap.max_recv_sge = cm->rx.npages;
	}
	qp = ib_create_qp(cm->priv->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	/* Pairs with ipoib_peer_show(). */
	smp_store_release(&conn->qp, qp);
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_ACCESS_FLAGS);
}

/*
 * Bring a QP to RTS.
 * Context: the CM has the REP, or has sent it; may sleep. Return: 0 or a negative error.
 */
int ipoib_conn_qp_run(struct ipoib_conn *conn)
{
	struct ib_qp_attr rtr = { .qp_state = IB_QPS_RTR };
	struct ib_qp_attr rts = { .qp_state = IB_QPS_RTS };
	int err, mask;

	err = ib_cm_init_qp_attr(conn->id, &rtr, &mask);
	if (err)
		return err;
	/* On the passive side ib_cm gets the own PSN with the REP, which is sent later. */
	rtr.rq_psn = conn->psn;
	/* See IPOIB_RC_RETRY. */
	rtr.min_rnr_timer = IB_RNR_TIMER_001_28;
	/* No RDMA reads: the depth that the peer names may exceed that of the HCA. */
	rtr.max_dest_rd_atomic = 0;
	err = ib_modify_qp(conn->qp, &rtr, mask & ~IB_QP_ALT_PATH);
	if (err)
		return err;
	set_bit(IPOIB_CONN_IS_RUN, &conn->flags);
	err = ib_cm_init_qp_attr(conn->id, &rts, &mask);
	if (err)
		return err;
	rts.timeout = IPOIB_RC_TIMEOUT;
	rts.retry_cnt = IPOIB_RC_RETRY;
	rts.rnr_retry = IPOIB_RC_RNR_RETRY;
	rts.max_rd_atomic = 0;
	return ib_modify_qp(conn->qp, &rts, mask & ~IB_QP_PATH_MIG_STATE);
}

/* ---- making and freeing ---- */

/*
 * Create the QP of a published connection, with receives, and a ring if it sends.
 * Context: work of the connection. Return: 0 or a negative error; ipoib_conn_unmake() frees the
 * part that was made.
 */
int ipoib_conn_make(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_dev *priv = cm->priv;
	int err;

	mutex_lock(&cm->mutex);
	err = ipoib_cm_rx_get(cm);
	if (!err)
		err = ipoib_cm_tx_get_cq(conn);
	if (!err)
		ipoib_cm_rx_assign(conn);
	mutex_unlock(&cm->mutex);
	if (!err && (conn->active || conn->duplex))
		err = ipoib_ring_init(&conn->ring, priv->pd, IPOIB_CM_RING,
				      priv->ca->attrs.max_send_sge, IPOIB_CM_TX_COPY);
	return err ?: ipoib_conn_create_qp(conn) ?: ipoib_cm_rx_add(conn);
}

/*
 * Undo ipoib_conn_make(), also half of it.
 * Context: work of the connection. The CM identifier is destroyed, the QP is empty and in the error
 * state, and both handlers have processed its completions.
 */
void ipoib_conn_unmake(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	/* Before the receives, which may still be posted. */
	if (conn->qp) {
		ib_destroy_qp(conn->qp);
		conn->qp = NULL;
	}
	ipoib_cm_rx_remove(conn);
	ipoib_ring_flush(&conn->ring);
	ipoib_ring_exit(&conn->ring);
	WARN_ON_ONCE(!skb_queue_empty(&conn->backlog));
	if (!conn->tx_cq)
		return;
	mutex_lock(&cm->mutex);
	conn->rxq->conns--;
	conn->tx_cq->conns--;
	mutex_unlock(&cm->mutex);
}
