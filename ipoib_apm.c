// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: automatic path migration, RFC 4755 section 1 (C37).
 *
 * Where the SM gives each port several LIDs (LMC > 0) there is a second way to a
 * peer, between other LIDs of the same two ports, and switches route by LID. A
 * reliable connection is made with both if the HCA can migrate: the REQ has the
 * second as its alternate path, the REP says whether the peer takes it, and ib_cm
 * has both ends arm their QPs. When the tries on one way are used up, the HCA goes
 * over to the other and tells us; the connection and what is on its way live on.
 * UC has no tries, so nothing would ever set it off there.
 *
 * The SA is asked for the second way once, when a connection is about to be made
 * that could have it, and then it is remembered with the path. The request waits
 * for the answer for a moment; frames go over UD meanwhile. Where all ports have
 * one LID nothing is asked.
 *
 * ib_cm has no message to load another alternate path (LAP) any more, and none is
 * needed: after a migration both ends know the way that they have left, and each
 * loads that. The QPs agree among themselves (IBTA 17.2.8): one that is rearmed is
 * armed only when it hears that its peer is, too. A peer that does not do it has
 * no second way until the next connection.
 */
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_cm.h"
#include "ipoib_trace.h"

/* How long a request waits for the SA to tell a second way. */
#define IPOIB_APM_PATIENCE	(HZ / 50 + 1)
/* How long it is remembered that there is none. */
#define IPOIB_APM_RETRY		(30 * HZ)
/* After a migration the peer may still be on the former way for so long. */
#define IPOIB_APM_SETTLE	(4 * HZ)
/* How many are rearmed in one go. */
#define IPOIB_APM_BATCH		1024

/* Is there more than one way, for HCAs that can make use of it? */
static bool ipoib_apm_can(const struct ipoib_dev *priv)
{
	return priv->fabric->alt_get && READ_ONCE(priv->lmc) &&
	       priv->ca->attrs.device_cap_flags & IB_DEVICE_AUTO_PATH_MIG;
}

/*
 * Is it another way between the same ports? ib_cm wants one P_Key and MTU for both.
 * With a GRH a handle has references, which ib_cm does not count when it migrates;
 * within a subnet there is none.
 */
static bool ipoib_apm_fits(const struct ipoib_dev *priv,
			   const struct sa_path_rec *alt,
			   const struct sa_path_rec *rec)
{
	u32 dlid = be16_to_cpu(rec->ib.dlid), slid = be16_to_cpu(rec->ib.slid);
	u32 alt_dlid = be16_to_cpu(alt->ib.dlid);
	u32 alt_slid = be16_to_cpu(alt->ib.slid);
	u8 lmc = READ_ONCE(priv->lmc);

	return alt->pkey == rec->pkey && alt->mtu == rec->mtu &&
	       !alt->hop_limit && !rec->hop_limit &&
	       !memcmp(&alt->sgid, &rec->sgid, sizeof(alt->sgid)) &&
	       !memcmp(&alt->dgid, &rec->dgid, sizeof(alt->dgid)) &&
	       alt_dlid != dlid && ipoib_lid_is_same_port(alt_dlid, dlid, lmc) &&
	       alt_slid != slid && ipoib_lid_is_same_port(alt_slid, slid, lmc);
}

/* ---- the second way to a GID ---- */

/* Returns -EINPROGRESS, or why the SA cannot be asked now. */
static int ipoib_alt_ask(struct ipoib_path *path)
{
	struct ipoib_dev *priv = path->priv;
	int err;

	lockdep_assert_held(&priv->path_lock);
	if (priv->gate && !ipoib_gate_enter(priv->gate, NULL))
		return -EBUSY;
	refcount_inc(&path->ref);
	refcount_inc(&priv->queries);
	ipoib_object_made(IPOIB_OBJECT_QUERY);
	ipoib_stat_add(priv, IPOIB_PATH_QUERIES, 1);
	path->alt_asked_at = jiffies;
	err = priv->fabric->alt_get(priv, path);
	trace_ipoib_path(priv->netdev, path->gid.raw, "query alternate", err);
	path->alt_state = err ? IPOIB_ALT_NONE : IPOIB_ALT_ASKING;
	if (!err)
		return -EINPROGRESS;
	if (priv->gate)
		ipoib_gate_leave(priv->gate);
	/* Not the last references: the table and the interface hold some. */
	refcount_dec(&path->ref);
	refcount_dec(&priv->queries);
	ipoib_object_gone(IPOIB_OBJECT_QUERY, 1);
	return err;
}

static int ipoib_alt_look(struct ipoib_path *path)
{
	unsigned long age = jiffies - path->alt_asked_at;

	lockdep_assert_held(&path->priv->path_lock);
	switch (path->alt_state) {
	case IPOIB_ALT_KNOWN:
		return 0;
	case IPOIB_ALT_ASKING:
		return age < IPOIB_APM_PATIENCE ? -EINPROGRESS : -ETIMEDOUT;
	case IPOIB_ALT_NONE:
		if (age < IPOIB_APM_RETRY)
			return -ENOENT;
		fallthrough;
	default:
		return ipoib_alt_ask(path);
	}
}

/*
 * Returns 0 if a second way is known; -EINPROGRESS if it is worth waiting for; else
 * there is none.
 */
static int ipoib_apm_look(struct ipoib_dev *priv, const u8 *gid,
			  struct sa_path_rec *alt)
{
	struct ipoib_path *path;
	int ret = -ENOENT;

	spin_lock_bh(&priv->path_lock);
	path = ipoib_path_known(priv, gid);
	if (path)
		ret = ipoib_alt_look(path);
	if (!ret)
		*alt = path->alt;
	spin_unlock_bh(&priv->path_lock);
	return ret;
}

/**
 * ipoib_apm_answered - the SA has answered a question for a second way
 * @path: the path; the reference of the query is consumed
 * @status: 0 or negative error
 * @rec: path record, valid if @status is 0
 *
 * The interface may be gone when this returns.
 *
 * Context: process
 */
void ipoib_apm_answered(struct ipoib_path *path, int status,
			const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = path->priv;
	struct ipoib_cm *cm = priv->cm;

	if (priv->gate)
		ipoib_gate_leave(priv->gate);
	spin_lock_bh(&priv->path_lock);
	path->alt_query = NULL;
	/* The first way may be another one now. */
	if (!status && !ipoib_apm_fits(priv, rec, &path->rec))
		status = -ENOENT;
	if (!status)
		path->alt = *rec;
	path->alt_state = status ? IPOIB_ALT_NONE : IPOIB_ALT_KNOWN;
	spin_unlock_bh(&priv->path_lock);
	trace_ipoib_path(priv->netdev, path->gid.raw, "alternate", status);
	mod_delayed_work(cm->wq, &cm->held_work, 0);
	ipoib_path_put(path);
	ipoib_object_gone(IPOIB_OBJECT_QUERY, 1);
	ipoib_path_answered(priv);
}

/* ---- requests that wait for it ---- */

/**
 * ipoib_apm_hold - let a request wait for a second way, if one may be known soon
 * @cm: connected mode of the interface
 * @peer: whom to ask
 *
 * Context: process
 * Return: true if it waits, and is tried again
 */
bool ipoib_apm_hold(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	struct sa_path_rec alt;

	if (!ipoib_apm_can(cm->priv) || READ_ONCE(peer->plain) ||
	    ipoib_apm_look(cm->priv, peer->addr.gid, &alt) != -EINPROGRESS)
		return false;
	spin_lock_bh(&cm->lock);
	if (cm->up && list_empty(&peer->todo))
		list_add_tail(&peer->todo, &cm->held);
	spin_unlock_bh(&cm->lock);
	queue_delayed_work(cm->wq, &cm->held_work, IPOIB_APM_PATIENCE);
	return true;
}

static void ipoib_apm_held_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, held_work);

	spin_lock_bh(&cm->lock);
	if (!list_empty(&cm->held)) {
		list_splice_tail_init(&cm->held, &cm->todo);
		queue_work(cm->wq, &cm->connect_work);
	}
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_apm_init - get ready
 * @cm: connected mode of the interface, being made
 */
void ipoib_apm_init(struct ipoib_cm *cm)
{
	INIT_LIST_HEAD(&cm->held);
	INIT_DELAYED_WORK(&cm->held_work, ipoib_apm_held_work);
}

/* ---- setting a connection up ---- */

/**
 * ipoib_apm_offer - the alternate path for a request
 * @conn: what is asked for
 * @rec: its path
 * @alt: where the other goes
 *
 * Context: process
 * Return: @alt, or NULL if the request has none
 */
struct sa_path_rec *ipoib_apm_offer(struct ipoib_conn *conn,
				    const struct sa_path_rec *rec,
				    struct sa_path_rec *alt)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_peer *peer = conn->peer;

	if (conn->transport != IPOIB_TRANSPORT_RC || !ipoib_apm_can(priv) ||
	    READ_ONCE(peer->plain) ||
	    ipoib_apm_look(priv, peer->addr.gid, alt) ||
	    !ipoib_apm_fits(priv, alt, rec))
		return NULL;
	conn->apm.wanted = true;
	return alt;
}

/**
 * ipoib_apm_take - whether to take the alternate path of a request
 * @cm: connected mode of the interface
 * @req: the request
 *
 * Return: what the REP says of it
 */
enum ipoib_failover
ipoib_apm_take(const struct ipoib_cm *cm,
	       const struct ib_cm_req_event_param *req)
{
	if (!req->alternate_path)
		return IPOIB_FAILOVER_ACCEPTED;
	if (!ipoib_apm_can(cm->priv) || req->qp_type != IB_QPT_RC)
		return IPOIB_FAILOVER_UNSUPPORTED;
	return ipoib_apm_fits(cm->priv, req->alternate_path,
			      req->primary_path) ?
	       IPOIB_FAILOVER_ACCEPTED : IPOIB_FAILOVER_REFUSED;
}

/**
 * ipoib_apm_refused - a request has been refused: was it for the alternate path?
 * @conn: what was asked for
 * @reason: why
 *
 * A peer that cannot do with it may give any reason. The next request has none
 * then; if that is refused, too, it was for something else. One refusal is nothing
 * special between peers that ask each other at the same time.
 *
 * Context: any but hard interrupt
 * Return: true if it is worth asking again at once
 */
bool ipoib_apm_refused(struct ipoib_conn *conn, enum ib_cm_rej_reason reason)
{
	bool alone = (reason >= IB_CM_REJ_INVALID_ALT_GID &&
		      reason <= IB_CM_REJ_INVALID_ALT_PACKET_RATE) ||
		     reason == IB_CM_REJ_INVALID_ALT_FLOW_LABEL;
	struct ipoib_peer *peer = conn->peer;

	spin_lock_bh(&conn->cm->lock);
	peer->plain = conn->apm.wanted &&
		      (reason != IB_CM_REJ_CONSUMER_DEFINED || peer->failures);
	spin_unlock_bh(&conn->cm->lock);
	return conn->apm.wanted && alone;
}

/**
 * ipoib_apm_rtr - the alternate path of a QP that goes to RTR
 * @conn: the connection
 * @attr: attributes, from ib_cm_init_qp_attr()
 * @mask: which of them count
 */
void ipoib_apm_rtr(struct ipoib_conn *conn, struct ib_qp_attr *attr, int *mask)
{
	struct ipoib_apm *apm = &conn->apm;

	apm->ready = apm->wanted && *mask & IB_QP_ALT_PATH &&
		     !(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) &&
		     !(rdma_ah_get_ah_flags(&attr->alt_ah_attr) & IB_AH_GRH);
	if (!apm->ready) {
		*mask &= ~IB_QP_ALT_PATH;
		return;
	}
	/* HCAs count in this one after a migration. */
	attr->alt_timeout = IPOIB_RC_TIMEOUT;
	apm->pkey_index = attr->alt_pkey_index;
	apm->way[0] = attr->ah_attr;
	apm->way[1] = attr->alt_ah_attr;
}

/**
 * ipoib_apm_rts - whether a QP that goes to RTS is armed
 * @conn: the connection
 * @mask: which attributes of ib_cm_init_qp_attr() count
 */
void ipoib_apm_rts(const struct ipoib_conn *conn, int *mask)
{
	if (!conn->apm.ready)
		*mask &= ~IB_QP_PATH_MIG_STATE;
}

/* ---- migration ---- */

/**
 * ipoib_apm_event - a QP has migrated, or failed to
 * @conn: its connection
 * @event: which
 *
 * The rest is for the ageing work: ib_cm's locks are not for interrupts.
 *
 * Context: any
 */
void ipoib_apm_event(struct ipoib_conn *conn, enum ib_event_type event)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_apm *apm = &conn->apm;
	bool migrated = event == IB_EVENT_PATH_MIG;

	ipoib_stat_add(priv, migrated ? IPOIB_CM_MIGRATED :
					IPOIB_CM_MIGRATE_ERRORS, 1);
	trace_ipoib_conn(priv->netdev, conn->peer->addr.gid,
			 migrated ? "migrated" : "not migrated", 0);
	if (!migrated || READ_ONCE(conn->state) == IPOIB_CONN_CLOSING)
		return;
	WRITE_ONCE(apm->now, apm->now ^ 1);
	WRITE_ONCE(apm->migrations, apm->migrations + 1);
	WRITE_ONCE(apm->migrated_at, jiffies);
	WRITE_ONCE(apm->untold, true);
	/* Pairs with ipoib_apm_is_due(). */
	smp_store_release(&apm->left, true);
	mod_delayed_work(conn->cm->wq, &conn->cm->age_work, 0);
}

/*
 * ib_cm is told soon, so that its messages take the same way. The QP is rearmed
 * when the peer has migrated, too: it has had something that we sent on the new
 * way, or was the first to go. Until then it would not take packets of a QP that
 * is rearmed.
 */
static bool ipoib_apm_is_due(const struct ipoib_conn *conn)
{
	unsigned long at;

	if (!conn->apm.ready || conn->state != IPOIB_CONN_ESTABLISHED)
		return false;
	/* Pairs with ipoib_apm_event(). */
	if (!smp_load_acquire(&conn->apm.left))
		return false;
	at = READ_ONCE(conn->apm.migrated_at);
	return READ_ONCE(conn->apm.untold) ||
	       (time_after(jiffies, at + IPOIB_APM_SETTLE) &&
		(!conn->ring.slots || !ipoib_ring_used(&conn->ring) ||
		 time_after(READ_ONCE(conn->progress), at)));
}

static struct ipoib_conn *ipoib_apm_next(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *due = NULL;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(conn, &cm->conns, list) {
		if (!ipoib_apm_is_due(conn))
			continue;
		conn->tended = true;
		list_move_tail(&conn->list, &cm->conns);
		due = conn;
		break;
	}
	spin_unlock_bh(&cm->lock);
	return due;
}

static void ipoib_apm_load(struct ipoib_conn *conn)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_apm *apm = &conn->apm;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.path_mig_state = IB_MIG_REARM,
		.alt_ah_attr = apm->way[READ_ONCE(apm->now) ^ 1],
		.alt_port_num = priv->port,
		.alt_pkey_index = apm->pkey_index,
		.alt_timeout = IPOIB_RC_TIMEOUT,
	};
	int err;

	WRITE_ONCE(apm->left, false);
	err = ib_modify_qp(conn->qp, &attr, IB_QP_STATE | IB_QP_ALT_PATH |
			   IB_QP_PATH_MIG_STATE);
	trace_ipoib_conn(priv->netdev, conn->peer->addr.gid, "rearm", err);
	if (err) {
		/* Later, if it is not about to be closed. */
		WRITE_ONCE(apm->migrated_at, jiffies);
		WRITE_ONCE(apm->left, true);
	}
}

static void ipoib_apm_follow(struct ipoib_conn *conn)
{
	if (!READ_ONCE(conn->apm.untold)) {
		ipoib_apm_load(conn);
		return;
	}
	WRITE_ONCE(conn->apm.untold, false);
	ib_cm_notify(conn->id, IB_EVENT_PATH_MIG);
}

/**
 * ipoib_apm_rearm - do what is to do after migrations
 * @cm: connected mode of the interface
 *
 * Context: process
 */
void ipoib_apm_rearm(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;
	unsigned int i;

	for (i = 0; i < IPOIB_APM_BATCH; i++) {
		conn = ipoib_apm_next(cm);
		if (!conn)
			return;
		ipoib_apm_follow(conn);
		/* From here on the reaper may free it. */
		smp_store_release(&conn->tended, false);
		cond_resched();
	}
}

/**
 * ipoib_apm_show - what debugfs has of a connection's ways
 * @file: where to
 * @conn: the connection
 */
void ipoib_apm_show(struct seq_file *file, const struct ipoib_conn *conn)
{
	const struct ipoib_apm *apm = &conn->apm;
	u8 now = READ_ONCE(apm->now);

	seq_printf(file, " dlid=0x%04x migration=%s migrations=%u",
		   apm->ready ? rdma_ah_get_dlid(&apm->way[now]) : conn->way.lid,
		   !apm->ready ? "off" : apm->left ? "left" : "ready",
		   apm->migrations);
}
