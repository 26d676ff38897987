// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, RFC 4755: peers, the life of connections, mode, transport.
 *
 * A peer is a link-layer address, whatever IP addresses are behind it (C5). It
 * remembers how we stand with it: a connection is published in @tx, or being
 * made, or was refused a while ago. In every state but the first frames go over
 * UD, so nothing is lost while a connection is made, or if none can be; only
 * frames too long for UD wait a moment for it.
 *
 * A connection belongs to &ipoib_cm.conns until __ipoib_conn_close(), which
 * anything may call that finds a reason to, in any context but a hard
 * interrupt. After that two works, without RTNL, say good-bye for it and take it
 * apart. Nothing else frees connections, so whoever holds a pointer need only be
 * known to them: senders by RCU, the completion
 * handlers by their fence, callbacks of the CM by ib_destroy_cm_id().
 */
#include <linux/icmpv6.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include <net/ndisc.h>

#include "ipoib.h"
#include "ipoib_cm.h"
#include "ipoib_trace.h"

/*
 * How long frames too long for UD wait for a connection. Two messages of the CM may
 * be lost in that time; a peer that never answers is given up on after 4.6 s.
 */
#define IPOIB_CM_HOPE		(HZ + HZ / 2)
/* How often connections are looked at. */
#define IPOIB_CM_AGE		(2 * HZ)
/* A send that has not completed for so long: the connection is stuck. */
#define IPOIB_CM_STUCK		(3 * HZ)
/*
 * An RTU that has not come for so long will not come any more. Nor will a REP, unless
 * the peer has asked for patience (MRA): of that it may ask for hours.
 */
#define IPOIB_CM_LATE		(6 * HZ)
/* UC tells of no loss: after so long without a sign of life begin anew. */
#define IPOIB_UC_SILENCE	(30 * HZ)
/* A connection not used for so long goes if there is need for room. */
#define IPOIB_CM_SPARE		(5 * HZ)
/* How many are looked at for that. */
#define IPOIB_CM_LOOK		64
/* A peer that is forgotten after so long without connection or frame. */
#define IPOIB_PEER_UNUSED	(120 * HZ)
/* The most peers, and how many are looked at to make room for one more. */
#define IPOIB_PEER_MAX		16384
#define IPOIB_PEER_LOOK		64
/* The longest wait for the CM to be done with a connection. */
#define IPOIB_CM_PARTING	(2 * HZ)
/* The longest wait for the HCA to give all work requests back. */
#define IPOIB_CM_DRAIN		HZ
/* What connections share is given back after so long without any. */
#define IPOIB_CM_RELEASE	(10 * HZ)
/* How long a refusal is remembered, doubled with each. */
#define IPOIB_CM_RETRY_MIN	(HZ / 2)
#define IPOIB_CM_RETRY_MAX	(60 * HZ)

static unsigned int ipoib_cm_max_conns = 12000;
module_param_named(cm_max_connections, ipoib_cm_max_conns, uint, 0644);
MODULE_PARM_DESC(cm_max_connections,
		 "Most connections of an interface (HCAs with shared receive queues)");

static unsigned int ipoib_cm_max_own = 128;
module_param_named(max_nonsrq_conn_qp, ipoib_cm_max_own, uint, 0444);
MODULE_PARM_DESC(max_nonsrq_conn_qp,
		 "Most connections of an interface (HCAs without)");

static unsigned int ipoib_cm_idle = 120;
module_param_named(cm_idle_seconds, ipoib_cm_idle, uint, 0644);
MODULE_PARM_DESC(cm_idle_seconds,
		 "A connection not used for so long is closed");

static char *ipoib_cm_transport = "rc";
module_param_named(cm_transport, ipoib_cm_transport, charp, 0444);
MODULE_PARM_DESC(cm_transport,
		 "Transports of connected mode: none, rc, uc, rc,uc or uc,rc; the first is preferred");

/**
 * struct ipoib_cm_choice - a value of cm_transport
 * @word: what is written
 * @offers: flags of our address
 * @prefer: transport asked for first
 */
struct ipoib_cm_choice {
	const char *word;
	u8 offers;
	enum ipoib_transport prefer;
};

static const struct ipoib_cm_choice ipoib_cm_choices[] = {
	{ "none", 0, IPOIB_TRANSPORT_RC },
	{ "rc", IPOIB_LLADDR_RC, IPOIB_TRANSPORT_RC },
	{ "uc", IPOIB_LLADDR_UC, IPOIB_TRANSPORT_UC },
	{ "rc,uc", IPOIB_LLADDR_RC | IPOIB_LLADDR_UC, IPOIB_TRANSPORT_RC },
	{ "uc,rc", IPOIB_LLADDR_RC | IPOIB_LLADDR_UC, IPOIB_TRANSPORT_UC },
};

static const char * const ipoib_conn_states[] = {
	[IPOIB_CONN_NEW]		= "new",
	[IPOIB_CONN_CONNECTING]		= "connecting",
	[IPOIB_CONN_ACCEPTING]		= "accepting",
	[IPOIB_CONN_ESTABLISHED]	= "established",
	[IPOIB_CONN_CLOSING]		= "closing",
};

static const char * const ipoib_peer_states[] = {
	[IPOIB_PEER_IDLE]		= "idle",
	[IPOIB_PEER_CONNECTING]		= "connecting",
	[IPOIB_PEER_YIELDED]		= "yielded",
	[IPOIB_PEER_UP]			= "up",
	[IPOIB_PEER_REFUSED]		= "refused",
};

static u32 ipoib_peer_hash(const void *data, u32 len, u32 seed)
{
	return jhash2(data, sizeof(struct ipoib_lladdr) / sizeof(u32), seed);
}

static const struct rhashtable_params ipoib_peer_params = {
	.key_len = sizeof_field(struct ipoib_peer, addr),
	.key_offset = offsetof(struct ipoib_peer, addr),
	.head_offset = offsetof(struct ipoib_peer, node),
	.hashfn = ipoib_peer_hash,
	.automatic_shrinking = true,
};

/* ---- peers ---- */

/* The key: an address without flags (C18). */
static void ipoib_peer_key(struct ipoib_lladdr *key,
			   const struct ipoib_lladdr *addr)
{
	key->flags_qpn = addr->flags_qpn & cpu_to_be32(IPOIB_QPN_MASK);
	memcpy(key->gid, addr->gid, sizeof(key->gid));
}

static void ipoib_peer_free(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	rhashtable_remove_fast(&cm->peers, &peer->node, ipoib_peer_params);
	list_del(&peer->list);
	cm->npeers--;
	ipoib_object_gone(IPOIB_OBJECT_PEER, 1);
	kfree_rcu(peer, rcu);
}

/* Nobody needs it now. What we know of it may still be worth something. */
static bool ipoib_peer_is_spare(const struct ipoib_peer *peer)
{
	return !peer->users && list_empty(&peer->conns) &&
	       list_empty(&peer->todo) && list_empty(&peer->resend) &&
	       list_empty(&peer->waiting) &&
	       (peer->state == IPOIB_PEER_IDLE ||
		peer->state == IPOIB_PEER_REFUSED);
}

/*
 * Anyone may make up addresses. At the limit those without connections make room,
 * the list being turned round, so they do not keep others out.
 */
static bool ipoib_peer_make_room(struct ipoib_cm *cm)
{
	struct ipoib_peer *peer;
	unsigned int i;

	lockdep_assert_held(&cm->lock);
	for (i = 0; i < IPOIB_PEER_LOOK && cm->npeers >= IPOIB_PEER_MAX; i++) {
		peer = list_first_entry(&cm->peer_list, struct ipoib_peer,
					list);
		if (ipoib_peer_is_spare(peer))
			ipoib_peer_free(cm, peer);
		else
			list_move_tail(&peer->list, &cm->peer_list);
	}
	return cm->npeers < IPOIB_PEER_MAX;
}

static struct ipoib_peer *ipoib_peer_make(struct ipoib_cm *cm,
					  const struct ipoib_lladdr *addr)
{
	struct ipoib_peer *peer;

	lockdep_assert_held(&cm->lock);
	if (!ipoib_peer_make_room(cm))
		return NULL;
	peer = kzalloc(sizeof(*peer), GFP_ATOMIC);
	if (!peer)
		return NULL;
	peer->addr = *addr;
	peer->sid = IPOIB_SID_RFC;
	peer->used = jiffies;
	__skb_queue_head_init(&peer->parked);
	INIT_LIST_HEAD(&peer->conns);
	INIT_LIST_HEAD(&peer->resend);
	INIT_LIST_HEAD(&peer->waiting);
	INIT_LIST_HEAD(&peer->todo);
	if (rhashtable_insert_fast(&cm->peers, &peer->node,
				   ipoib_peer_params)) {
		kfree(peer);
		return NULL;
	}
	list_add_tail(&peer->list, &cm->peer_list);
	cm->npeers++;
	ipoib_object_made(IPOIB_OBJECT_PEER);
	return peer;
}

/* Find a peer or make it. */
static struct ipoib_peer *__ipoib_peer_get(struct ipoib_cm *cm,
					   const struct ipoib_lladdr *addr)
{
	struct ipoib_peer *peer;

	lockdep_assert_held(&cm->lock);
	peer = rhashtable_lookup_fast(&cm->peers, addr, ipoib_peer_params);
	return peer ?: ipoib_peer_make(cm, addr);
}

/**
 * ipoib_peer_get - find a peer or make it
 * @cm: connected mode of the interface
 * @addr: its address, flags zero
 *
 * Context: any but hard interrupt
 * Return: the peer, to be put by ipoib_peer_put(), or NULL
 */
struct ipoib_peer *ipoib_peer_get(struct ipoib_cm *cm,
				  const struct ipoib_lladdr *addr)
{
	struct ipoib_peer *peer;

	spin_lock_bh(&cm->lock);
	peer = __ipoib_peer_get(cm, addr);
	if (peer)
		peer->users++;
	spin_unlock_bh(&cm->lock);
	return peer;
}

/**
 * ipoib_peer_put - undo ipoib_peer_get()
 * @cm: connected mode of the interface
 * @peer: the peer; gone if it was known by a request only, of which nothing is
 *	left
 *
 * Context: any but hard interrupt
 */
void ipoib_peer_put(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	spin_lock_bh(&cm->lock);
	peer->users--;
	if (!peer->sent_to && !peer->failures && ipoib_peer_is_spare(peer))
		ipoib_peer_free(cm, peer);
	spin_unlock_bh(&cm->lock);
}

/* Frames that waited are about to go: what comes now waits behind them. */
static bool ipoib_peer_is_behind(const struct ipoib_peer *peer)
{
	return !list_empty(&peer->resend);
}

/* Frames that waited for a connection go, over whatever there is now. */
static void ipoib_peer_resend(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	if (skb_queue_empty(&peer->parked))
		return;
	if (!ipoib_peer_is_behind(peer))
		list_add_tail(&peer->resend, &cm->resend);
	RCU_INIT_POINTER(peer->tx, NULL);
	queue_work(cm->wq, &cm->resend_work);
}

/* The connection chosen is there for all, but not before what has waited. */
static void ipoib_peer_publish(struct ipoib_peer *peer)
{
	struct ipoib_conn *conn = peer->chosen;

	rcu_assign_pointer(peer->tx, ipoib_peer_is_behind(peer) ? NULL : conn);
}

/**
 * ipoib_peer_failed - no connection could be made
 * @cm: connected mode of the interface
 * @peer: the peer; served over UD until the pause is over
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_failed(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	unsigned long pause;

	lockdep_assert_held(&cm->lock);
	pause = IPOIB_CM_RETRY_MIN << min(peer->failures, 10u);
	peer->failures++;
	peer->state = IPOIB_PEER_REFUSED;
	WRITE_ONCE(peer->retry_at, jiffies +
		   min_t(unsigned long, pause, IPOIB_CM_RETRY_MAX));
	ipoib_peer_resend(cm, peer);
}

/* Is a connection being made? */
static bool ipoib_peer_is_connecting(const struct ipoib_peer *peer)
{
	return peer->state == IPOIB_PEER_CONNECTING ||
	       peer->state == IPOIB_PEER_YIELDED;
}

/**
 * ipoib_peer_want - have a connection made
 * @cm: connected mode of the interface
 * @peer: to this peer
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_want(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	if (!ipoib_peer_is_connecting(peer))
		peer->hope_until = jiffies + IPOIB_CM_HOPE;
	WRITE_ONCE(peer->state, IPOIB_PEER_CONNECTING);
	if (list_empty(&peer->todo) && !peer->postponed)
		list_add_tail(&peer->todo, &cm->todo);
	queue_work(cm->wq, &cm->connect_work);
}

/* ---- connections ---- */

/**
 * ipoib_conn_use - send on a connection from now on
 * @conn: an established connection
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_conn_use(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;

	lockdep_assert_held(&cm->lock);
	peer->chosen = conn;
	WRITE_ONCE(peer->state, IPOIB_PEER_UP);
	peer->tried = 0;
	peer->stale = false;
	ipoib_peer_resend(cm, peer);
	ipoib_peer_publish(peer);
}

/**
 * ipoib_conn_carries - something has arrived on a connection
 * @conn: the connection
 *
 * That it was established proves nothing: messages of the CM take another way.
 *
 * Context: any but hard interrupt
 */
void ipoib_conn_carries(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;

	spin_lock_bh(&cm->lock);
	WRITE_ONCE(conn->carried, true);
	if (peer->chosen == conn) {
		peer->failures = 0;
		peer->barren = false;
	}
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_peer_is_barren - whether no connection is relied upon for now
 * @peer: the peer
 *
 * Context: &ipoib_cm.lock held
 * Return: true if so
 */
bool ipoib_peer_is_barren(const struct ipoib_peer *peer)
{
	return peer->barren && peer->state == IPOIB_PEER_REFUSED &&
	       time_before(jiffies, peer->retry_at);
}

/*
 * We have sent on it to no avail. A peer that leaves before we have sent anything
 * may have any reason, and with UC nobody knows what has arrived.
 */
static bool ipoib_conn_was_barren(const struct ipoib_conn *conn)
{
	if (conn->carried)
		return false;
	return READ_ONCE(conn->fatal) ||
	       (READ_ONCE(conn->left) && conn->ring.head &&
		conn->transport == IPOIB_TRANSPORT_RC);
}

/* Is something under way that may end with a connection to send on? */
static bool ipoib_peer_hopes(const struct ipoib_peer *peer)
{
	const struct ipoib_conn *conn;

	if (peer->making || peer->postponed || !list_empty(&peer->todo))
		return true;
	list_for_each_entry(conn, &peer->conns, peer_list)
		if (conn->state == IPOIB_CONN_CONNECTING ||
		    (conn->state == IPOIB_CONN_ACCEPTING && conn->two_way))
			return true;
	return false;
}

/**
 * ipoib_peer_settle - see whether a connection may still come of it
 * @cm: connected mode of the interface
 * @peer: the peer
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_settle(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	if (peer->state == IPOIB_PEER_CONNECTING && !ipoib_peer_hopes(peer))
		ipoib_peer_failed(cm, peer);
}

/* A connection of the peer is no more: what does that mean for sending? */
static void ipoib_peer_lost(struct ipoib_cm *cm, struct ipoib_peer *peer,
			    struct ipoib_conn *conn)
{
	lockdep_assert_held(&cm->lock);
	ipoib_peer_resend(cm, peer);
	if (peer->chosen == conn) {
		peer->chosen = NULL;
		RCU_INIT_POINTER(peer->tx, NULL);
		WRITE_ONCE(peer->state, IPOIB_PEER_IDLE);
		peer->barren = ipoib_conn_was_barren(conn);
		if (peer->barren)
			ipoib_peer_failed(cm, peer);
	} else {
		ipoib_peer_settle(cm, peer);
	}
}

/* Many that close at a time are dealt out. */
static void ipoib_cm_part(struct ipoib_cm *cm)
{
	unsigned int i = cm->next_parter++ % IPOIB_CM_PARTERS;

	lockdep_assert_held(&cm->lock);
	queue_work(cm->wq, &cm->parter[i].work);
}

/**
 * __ipoib_conn_close - hand a connection to the reaper
 * @conn: any that is not being made
 *
 * It is unpublished here: no sender finds it from now on. What waits for it goes
 * another way.
 *
 * Context: &ipoib_cm.lock held
 */
void __ipoib_conn_close(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	lockdep_assert_held(&cm->lock);
	if (conn->state == IPOIB_CONN_CLOSING)
		return;
	WRITE_ONCE(conn->state, IPOIB_CONN_CLOSING);
	list_del_init(&conn->peer_list);
	list_move_tail(&conn->list, &cm->closing);
	ipoib_conn_shut(conn);
	ipoib_peer_lost(cm, conn->peer, conn);
	conn->peer->parting++;
	ipoib_cm_part(cm);
}

/**
 * ipoib_conn_close - hand a connection to the reaper
 * @conn: any that is not being made
 *
 * Context: any but hard interrupt
 */
void ipoib_conn_close(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	spin_lock_bh(&cm->lock);
	__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
}

/* With those that are made while others still go. */
static unsigned int ipoib_cm_slack(unsigned int limit)
{
	return limit + limit / 16 + 1;
}

/* Without SRQ each connection's receives have places of their own in the CQ. */
static unsigned int ipoib_cm_limit_own(const struct ipoib_cm *cm)
{
	unsigned int room = cm->priv->ca->attrs.max_cqe / IPOIB_CM_OWN_BUFS;

	/* Such that ipoib_cm_slack() of it is not more than that. */
	return min(ipoib_cm_max_own, room ? (room - 1) * 16 / 17 : 0);
}

static unsigned int ipoib_cm_limit(const struct ipoib_cm *cm)
{
	unsigned int most = IPOIB_CM_CQS * ipoib_cm_tx_cq_conns(cm->priv) *
			    9 / 10;

	if (!ipoib_cm_has_srq(cm->priv))
		return min(most, ipoib_cm_limit_own(cm));
	return min(most, READ_ONCE(ipoib_cm_max_conns));
}

/**
 * ipoib_cm_most - the most connections there can be at a time
 * @cm: connected mode of the interface, on an HCA without SRQ
 *
 * Return: how many
 */
unsigned int ipoib_cm_most(const struct ipoib_cm *cm)
{
	return ipoib_cm_slack(ipoib_cm_limit(cm));
}

/*
 * Close the one that was used least recently, more or less: the list is turned
 * round, and the first that has not been used for a while goes.
 */
static bool ipoib_cm_evict(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;
	unsigned int i;

	lockdep_assert_held(&cm->lock);
	for (i = 0; i < IPOIB_CM_LOOK && !list_empty(&cm->conns); i++) {
		conn = list_first_entry(&cm->conns, struct ipoib_conn, list);
		if (conn->state == IPOIB_CONN_ESTABLISHED &&
		    time_after(jiffies, READ_ONCE(conn->used) +
			       IPOIB_CM_SPARE)) {
			ipoib_stat_add(cm->priv, IPOIB_CM_REAPED, 1);
			__ipoib_conn_close(conn);
			return true;
		}
		list_move_tail(&conn->list, &cm->conns);
	}
	return false;
}

/**
 * ipoib_cm_make_room - count one more connection, if there may be one more
 * @cm: connected mode of the interface
 * @peer: its other end
 *
 * At the limit one that is not in use makes room. It takes a moment until that
 * is freed, so there may be a few more for as long.
 *
 * Context: any but hard interrupt
 * Return: whether it has been counted
 */
bool ipoib_cm_make_room(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	unsigned int limit = ipoib_cm_limit(cm);
	bool room;

	spin_lock_bh(&cm->lock);
	room = cm->up && (cm->nconns < limit ||
			  (cm->nconns < ipoib_cm_slack(limit) &&
			   ipoib_cm_evict(cm)));
	if (room) {
		cm->nconns++;
		peer->users++;
	}
	spin_unlock_bh(&cm->lock);
	return room;
}

/* ---- making connections ---- */

/* A connection the peer has made may do, now that its path is known. */
static bool ipoib_peer_use_theirs(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	struct ipoib_conn *conn;
	bool used = false;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(conn, &peer->conns, peer_list) {
		if (conn->state != IPOIB_CONN_ESTABLISHED || !conn->two_way ||
		    !ipoib_conn_check(conn))
			continue;
		ipoib_conn_use(conn);
		used = true;
		break;
	}
	spin_unlock_bh(&cm->lock);
	return used;
}

/* A peer has to know first what we do not have any more. */
static bool ipoib_peer_postpone(struct ipoib_peer *peer)
{
	list_del_init(&peer->todo);
	peer->postponed = peer->parting;
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
	if (!ipoib_peer_use_theirs(cm, peer) &&
	    READ_ONCE(cm->up) && READ_ONCE(cm->on))
		ipoib_conn_connect(cm, peer);
	spin_lock_bh(&cm->lock);
	peer->making = false;
	ipoib_peer_settle(cm, peer);
	spin_unlock_bh(&cm->lock);
}

static void ipoib_cm_connect_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm, connect_work);
	struct ipoib_peer *peer;

	while ((peer = ipoib_cm_next(cm))) {
		ipoib_cm_connect(cm, peer);
		ipoib_peer_put(cm, peer);
	}
}

/*
 * Take what waited for one peer. With the transmit lock held until it has been
 * sent, and the connection published before it is released, nothing overtakes.
 */
static void ipoib_cm_take_parked(struct ipoib_dev *priv,
				 struct sk_buff_head *frames)
{
	struct ipoib_cm *cm = priv->cm;
	struct ipoib_peer *peer;

	spin_lock(&cm->lock);
	peer = list_first_entry_or_null(&cm->resend, struct ipoib_peer, resend);
	if (peer) {
		list_del_init(&peer->resend);
		ipoib_object_unpark(&peer->parked, frames);
		ipoib_peer_publish(peer);
	}
	spin_unlock(&cm->lock);
}

static void ipoib_cm_resend_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm, resend_work);

	while (!list_empty_careful(&cm->resend)) {
		ipoib_dev_xmit_taken(cm->priv, ipoib_cm_take_parked);
		cond_resched();
	}
}

/*
 * Frames that have waited long enough for a connection go another way, and if
 * there is none their senders are told what UD takes.
 */
static void ipoib_cm_hope_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, hope_work);
	struct ipoib_peer *peer, *tmp;
	bool more;

	spin_lock_bh(&cm->lock);
	list_for_each_entry_safe(peer, tmp, &cm->waiting, waiting) {
		if (!skb_queue_empty(&peer->parked) &&
		    time_before(jiffies, peer->hope_until))
			continue;
		list_del_init(&peer->waiting);
		ipoib_peer_resend(cm, peer);
	}
	more = !list_empty(&cm->waiting);
	spin_unlock_bh(&cm->lock);
	if (more)
		queue_delayed_work(cm->wq, &cm->hope_work, IPOIB_CM_HOPE / 8);
}

/* ---- sending ---- */

/* A try may be made, or is being made. Caller holds the lock. */
static bool ipoib_peer_may_connect(struct ipoib_peer *peer)
{
	switch (peer->state) {
	case IPOIB_PEER_IDLE:
		return true;
	case IPOIB_PEER_REFUSED:
		return time_after_eq(jiffies, peer->retry_at);
	default:
		return false;
	}
}

/*
 * A frame too long for the connection. What fits UD goes that way; else the sender
 * is told the greater of both, which is what the peer takes (C28).
 */
static bool ipoib_cm_too_long(struct ipoib_dev *priv, struct sk_buff *skb,
			      const struct ipoib_conn *conn)
{
	if (conn->mtu <= READ_ONCE(priv->mcast_mtu))
		return false;
	ipoib_pmtu_reject(priv, skb, conn->mtu);
	return true;
}

/* Returns whether the frame was taken; else it is left to UD. */
static bool ipoib_cm_xmit_on(struct ipoib_conn *conn, struct sk_buff *skb)
{
	if (unlikely(skb->len > conn->mtu + IPOIB_HARD_LEN))
		return ipoib_cm_too_long(conn->cm->priv, skb, conn);
	return ipoib_conn_xmit(conn, skb);
}

/* Is a connection being made that is worth waiting for? */
static bool ipoib_peer_is_hopeful(const struct ipoib_peer *peer)
{
	return ipoib_peer_is_connecting(peer) &&
	       time_before(jiffies, peer->hope_until);
}

static void ipoib_peer_park(struct ipoib_cm *cm, struct ipoib_peer *peer,
			    struct sk_buff *skb)
{
	unsigned int most = ipoib_peer_is_behind(peer) ? IPOIB_CM_BACKLOG :
							 IPOIB_CM_PARKED;

	lockdep_assert_held(&cm->lock);
	if (skb_queue_len(&peer->parked) >= most) {
		ipoib_drop(cm->priv, skb, IPOIB_TX_CM_FULL);
		return;
	}
	ipoib_object_park(&peer->parked, skb);
	if (ipoib_peer_is_behind(peer) || !list_empty(&peer->waiting))
		return;
	list_add_tail(&peer->waiting, &cm->waiting);
	queue_delayed_work(cm->wq, &cm->hope_work, IPOIB_CM_HOPE);
}

/* A frame that found no connection: have one made, and note who asks. */
static struct ipoib_peer *ipoib_cm_want(struct ipoib_cm *cm,
					const struct ipoib_lladdr *key,
					u8 offers)
{
	struct ipoib_peer *peer;

	lockdep_assert_held(&cm->lock);
	if (!cm->up)
		return NULL;
	peer = __ipoib_peer_get(cm, key);
	if (!peer)
		return NULL;
	peer->offers = offers;
	peer->sent_to = true;
	peer->used = jiffies;
	if (ipoib_peer_may_connect(peer))
		ipoib_peer_want(cm, peer);
	return peer;
}

/*
 * There was no connection. Returns whether the frame was taken: it is if it is
 * too long for UD and there is hope, or if others wait that came before it, or
 * if there is a connection now.
 */
static bool ipoib_cm_xmit_slow(struct ipoib_cm *cm, struct sk_buff *skb,
			       const struct ipoib_lladdr *key, u8 offers)
{
	bool fits = skb->len <= cm->priv->mcast_mtu + IPOIB_HARD_LEN;
	struct ipoib_conn *conn = NULL;
	struct ipoib_peer *peer;
	bool taken = false;

	spin_lock(&cm->lock);
	peer = ipoib_cm_want(cm, key, offers);
	if (peer && (ipoib_peer_is_behind(peer) ||
		     (!fits && ipoib_peer_is_hopeful(peer)))) {
		ipoib_peer_park(cm, peer, skb);
		taken = true;
	} else if (peer) {
		conn = peer->chosen;
	}
	spin_unlock(&cm->lock);
	return taken || (conn && ipoib_cm_xmit_on(conn, skb));
}

/*
 * Only IP goes on connections (C22), and of that no Neighbour Discovery: answers
 * to it must use UD (C32), and what asks had better use the same way.
 */
static bool ipoib_cm_carries(struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;
	const struct ipv6hdr *ip6;
	struct ipv6hdr _ip6;
	const u8 *type;
	u8 _type;

	if (header->encap.proto == htons(ETH_P_IP))
		return true;
	if (header->encap.proto != htons(ETH_P_IPV6))
		return false;
	ip6 = skb_header_pointer(skb, IPOIB_HARD_LEN, sizeof(_ip6), &_ip6);
	if (!ip6 || ip6->nexthdr != IPPROTO_ICMPV6)
		return true;
	type = skb_header_pointer(skb, IPOIB_HARD_LEN + sizeof(_ip6),
				  sizeof(_type), &_type);
	return !type || *type < NDISC_ROUTER_SOLICITATION ||
	       *type > NDISC_REDIRECT;
}

/* With no connection, and none to come for now, not even the lock is taken. */
static bool ipoib_peer_is_refused(const struct ipoib_peer *peer)
{
	return READ_ONCE(peer->state) == IPOIB_PEER_REFUSED &&
	       !ipoib_peer_is_behind(peer) &&
	       time_before(jiffies, READ_ONCE(peer->retry_at));
}

/**
 * ipoib_cm_xmit - send a frame on a connection, if it can be
 * @txq: the queue it came by
 * @skb: frame with its &struct ipoib_header, to a neighbour whose path is known;
 *	its data may have moved if it is left to UD
 *
 * Context: transmit lock of the queue held, RCU read side
 * Return: true if the frame was taken; false if it is left to UD
 */
bool ipoib_cm_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	struct ipoib_cm *cm = txq->priv->cm;
	struct ipoib_lladdr key;
	struct ipoib_conn *conn;
	struct ipoib_peer *peer;
	u8 offers;

	if (!cm || !READ_ONCE(cm->on))
		return false;
	offers = ipoib_lladdr_flags(to);
	if (!(offers & cm->offers) || !ipoib_cm_carries(skb))
		return false;
	ipoib_peer_key(&key, to);
	peer = rhashtable_lookup(&cm->peers, &key, ipoib_peer_params);
	conn = peer ? rcu_dereference(peer->tx) : NULL;
	if (likely(conn) && likely(ipoib_cm_xmit_on(conn, skb)))
		return true;
	/* What it does not take is for UD, unless it has just been closed. */
	if (conn && !READ_ONCE(conn->shut))
		return false;
	if (peer && ipoib_peer_is_refused(peer))
		return false;
	return ipoib_cm_xmit_slow(cm, skb, &key, offers);
}

/* ---- ageing ---- */

static bool ipoib_conn_is_idle(const struct ipoib_conn *conn)
{
	unsigned long idle = READ_ONCE(ipoib_cm_idle);

	/* The one who asked decides, if he is there to. */
	if (!conn->active)
		idle *= 4;
	return time_after(jiffies, READ_ONCE(conn->used) + idle * HZ);
}

static bool ipoib_conn_is_stuck(const struct ipoib_conn *conn)
{
	return conn->ring.slots && ipoib_ring_used(&conn->ring) &&
	       time_after(jiffies, READ_ONCE(conn->progress) + IPOIB_CM_STUCK);
}

/* Nothing comes from a peer that we send to: is it there? UC would not tell. */
static bool ipoib_conn_is_silent(const struct ipoib_conn *conn)
{
	return conn->transport == IPOIB_TRANSPORT_UC && conn->ring.slots &&
	       time_after(READ_ONCE(conn->used), READ_ONCE(conn->seen) +
			  IPOIB_UC_SILENCE);
}

/* Why a connection that is being made has to go; NULL if it may stay. */
static const char *ipoib_conn_late(const struct ipoib_conn *conn)
{
	if (time_before_eq(jiffies, conn->created + IPOIB_CM_LATE))
		return NULL;
	return conn->state == IPOIB_CONN_CONNECTING ? "unanswered" : "late";
}

/* Why a connection has to go; NULL if it may stay. */
static const char *ipoib_conn_doom(struct ipoib_conn *conn)
{
	if (READ_ONCE(conn->fatal))
		return "failed";
	if (conn->state != IPOIB_CONN_ESTABLISHED)
		return ipoib_conn_late(conn);
	if (ipoib_conn_is_stuck(conn)) {
		WRITE_ONCE(conn->fatal, true);
		return "stuck";
	}
	if (ipoib_conn_is_silent(conn))
		return "silent";
	return ipoib_conn_is_idle(conn) ? "idle" : NULL;
}

static enum ipoib_stat ipoib_conn_doom_stat(const char *why)
{
	if (!strcmp(why, "idle"))
		return IPOIB_CM_REAPED;
	return strcmp(why, "unanswered") ? IPOIB_CM_ERRORS : IPOIB_CM_REFUSED;
}

static void ipoib_cm_age_conns(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *tmp;
	const char *why;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &cm->conns, list) {
		why = ipoib_conn_doom(conn);
		if (!why)
			continue;
		trace_ipoib_conn(cm->priv->netdev, conn->peer->addr.gid, why,
				 0);
		ipoib_stat_add(cm->priv, ipoib_conn_doom_stat(why), 1);
		__ipoib_conn_close(conn);
	}
}

static void ipoib_cm_age_peers(struct ipoib_cm *cm)
{
	struct ipoib_peer *peer, *tmp;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry_safe(peer, tmp, &cm->peer_list, list) {
		if (peer->state == IPOIB_PEER_YIELDED &&
		    time_after(jiffies, peer->retry_at))
			ipoib_peer_failed(cm, peer);
		if (ipoib_peer_is_spare(peer) &&
		    time_after(jiffies, peer->used + IPOIB_PEER_UNUSED))
			ipoib_peer_free(cm, peer);
	}
}

/* Give the memory back if there has been no connection for a while. */
static void ipoib_cm_release(struct ipoib_cm *cm, unsigned long after)
{
	mutex_lock(&cm->mutex);
	spin_lock_bh(&cm->lock);
	if (cm->nconns)
		cm->empty_at = jiffies;
	spin_unlock_bh(&cm->lock);
	/*
	 * One may be counted now, but it has to come by the mutex to use what
	 * is released.
	 */
	if (time_after_eq(jiffies, cm->empty_at + after))
		ipoib_cm_rx_release(cm);
	ipoib_cm_rx_shrink(cm);
	mutex_unlock(&cm->mutex);
}

static struct ipoib_conn *ipoib_cm_next_early(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *found = NULL;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(conn, &cm->conns, list) {
		if (!READ_ONCE(conn->early) ||
		    conn->state != IPOIB_CONN_ACCEPTING)
			continue;
		WRITE_ONCE(conn->early, false);
		conn->tended = true;
		found = conn;
		break;
	}
	spin_unlock_bh(&cm->lock);
	return found;
}

/* Data is as good as an RTU, which may have been lost. */
static void ipoib_cm_tell_early(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	while ((conn = ipoib_cm_next_early(cm))) {
		ib_cm_notify(conn->id, IB_EVENT_COMM_EST);
		/* From here on the reaper may free it. */
		smp_store_release(&conn->tended, false);
	}
}

static void ipoib_cm_age_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, age_work);

	spin_lock_bh(&cm->lock);
	ipoib_cm_age_conns(cm);
	ipoib_cm_age_peers(cm);
	spin_unlock_bh(&cm->lock);
	ipoib_cm_tell_early(cm);
	ipoib_apm_rearm(cm);
	ipoib_cm_release(cm, IPOIB_CM_RELEASE);
	if (!READ_ONCE(cm->leaving))
		queue_delayed_work(cm->wq, &cm->age_work, IPOIB_CM_AGE);
}

/* ---- the reaper ---- */

static struct ipoib_conn *ipoib_cm_next_closing(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	spin_lock_bh(&cm->lock);
	conn = list_first_entry_or_null(&cm->closing, struct ipoib_conn, list);
	if (conn)
		list_del_init(&conn->list);
	spin_unlock_bh(&cm->lock);
	return conn;
}

/* The reaper's now. The peer may be asked for another one. */
static void ipoib_conn_parted(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;

	spin_lock_bh(&cm->lock);
	list_add_tail(&conn->list, &cm->dead);
	peer->parting--;
	if (peer->postponed && !peer->parting) {
		peer->postponed = false;
		list_add_tail(&peer->todo, &cm->todo);
		queue_work(cm->wq, &cm->connect_work);
	}
	spin_unlock_bh(&cm->lock);
}

/*
 * First step, and soon, for the peer may be asked for another connection at
 * once: it is told, and the QP stops.
 */
static void ipoib_cm_part_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm_parter,
					   work)->cm;
	struct ipoib_conn *conn;

	while ((conn = ipoib_cm_next_closing(cm))) {
		conn->die_at = jiffies + IPOIB_CM_PARTING;
		ipoib_conn_part(conn);
		ipoib_conn_parted(conn);
		cond_resched();
	}
	mod_delayed_work(cm->wq, &cm->reap_work, 0);
}

static bool ipoib_conn_may_die(const struct ipoib_conn *conn)
{
	/* Pairs with ipoib_conn_connect(). */
	if (smp_load_acquire(&conn->asking))
		return false;
	/* Pairs with ipoib_cm_tell_early() and ipoib_apm_rearm(). */
	if (smp_load_acquire(&conn->tended))
		return false;
	return READ_ONCE(conn->parted) || READ_ONCE(conn->cm->hurry) ||
	       time_after(jiffies, conn->die_at);
}

static bool ipoib_conn_is_drained(struct ipoib_conn *conn)
{
	return (!conn->ring.slots || !ipoib_ring_used(&conn->ring)) &&
	       ipoib_cm_rx_done(conn);
}

/* The HCA gives back what it had, which takes a moment at most. */
static void ipoib_cm_drain(struct ipoib_cm *cm, struct list_head *dying)
{
	unsigned long deadline = jiffies + IPOIB_CM_DRAIN;
	struct ipoib_conn *conn;

	list_for_each_entry(conn, dying, list) {
		while (!ipoib_conn_is_drained(conn) &&
		       time_before(jiffies, deadline))
			usleep_range(100, 200);
		if (!ipoib_conn_is_drained(conn))
			netdev_warn(cm->priv->netdev,
				    "timing out; %u sends not completed on QP %u\n",
				    conn->ring.slots ?
				    ipoib_ring_used(&conn->ring) : 0,
				    conn->qp->qp_num);
	}
}

/* Second step, when the CM is done with them. */
static void ipoib_cm_reap_end(struct ipoib_cm *cm, struct list_head *dying)
{
	struct ipoib_conn *conn, *tmp;

	if (list_empty(dying))
		return;
	/* No sender that had found one holds it after this. */
	synchronize_net();
	/* No callback of the CM runs after this. */
	list_for_each_entry(conn, dying, list)
		ipoib_conn_destroy_id(conn->id);
	ipoib_cm_drain(cm, dying);
	/* Nor do the completion handlers look at them after this. */
	list_for_each_entry(conn, dying, list)
		set_bit(conn->cq, cm->tx_ready);
	ipoib_cm_poll_fence(&cm->tx_poll);
	ipoib_cm_poll_fence(&cm->rx_poll);
	list_for_each_entry_safe(conn, tmp, dying, list)
		ipoib_conn_free(conn);
}

/* Until the CM is done with a connection its QPN must not be used again. */
static void ipoib_cm_reap_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, reap_work);
	struct ipoib_conn *conn, *tmp;
	LIST_HEAD(dying);
	LIST_HEAD(dead);

	spin_lock_bh(&cm->lock);
	list_splice_init(&cm->dead, &dead);
	spin_unlock_bh(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &dead, list)
		if (ipoib_conn_may_die(conn))
			list_move_tail(&conn->list, &dying);
	ipoib_cm_reap_end(cm, &dying);
	if (list_empty(&dead))
		return;
	spin_lock_bh(&cm->lock);
	list_splice(&dead, &cm->dead);
	spin_unlock_bh(&cm->lock);
	queue_delayed_work(cm->wq, &cm->reap_work, HZ / 10);
}

/* ---- up and down ---- */

static void ipoib_cm_forget_peers(struct ipoib_cm *cm,
				  struct sk_buff_head *dropped)
{
	struct ipoib_peer *peer;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry(peer, &cm->peer_list, list) {
		ipoib_object_unpark(&peer->parked, dropped);
		list_del_init(&peer->resend);
		list_del_init(&peer->todo);
		peer->postponed = false;
		peer->state = IPOIB_PEER_IDLE;
		peer->failures = 0;
		peer->barren = false;
	}
}

static void ipoib_cm_close_all(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *tmp;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &cm->conns, list)
		__ipoib_conn_close(conn);
}

/**
 * ipoib_cm_flush - close all connections
 * @priv: the interface
 *
 * Those still needed are made anew.
 *
 * Context: process
 */
void ipoib_cm_flush(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;
	struct sk_buff_head dropped;

	if (!cm)
		return;
	__skb_queue_head_init(&dropped);
	spin_lock_bh(&cm->lock);
	ipoib_cm_close_all(cm);
	ipoib_cm_forget_peers(cm, &dropped);
	spin_unlock_bh(&cm->lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_FLUSHED);
}

/**
 * ipoib_cm_start - take requests, and make some if the mode is connected
 * @priv: the interface, its UD QP running
 *
 * Context: RTNL held
 */
void ipoib_cm_start(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;
	int err;

	if (!cm || !cm->offers)
		return;
	err = ipoib_cm_listen(cm);
	if (err)
		netdev_warn(priv->netdev, "cannot listen for connections: %d\n",
			    err);
	WRITE_ONCE(cm->up, true);
	queue_delayed_work(cm->wq, &cm->age_work, IPOIB_CM_AGE);
}

/**
 * ipoib_cm_stop - close all connections and take no more
 * @priv: the interface, IPOIB_FLAG_UP cleared and transmit queues stopped
 *
 * The reaper takes them apart later, without RTNL.
 *
 * Context: RTNL held
 */
void ipoib_cm_stop(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	if (!cm || !cm->up)
		return;
	spin_lock_bh(&cm->lock);
	cm->up = false;
	spin_unlock_bh(&cm->lock);
	ipoib_cm_unlisten(cm);
	/* Nor does the work make one after this. */
	cancel_work_sync(&cm->connect_work);
	ipoib_cm_flush(priv);
}

/* ---- mode and transport ---- */

/**
 * ipoib_cm_flags - flags of our link-layer address
 * @priv: the interface
 *
 * What is accepted is offered, whatever the mode: RFC 4755 has a node take
 * unicast on every transport it supports (C30).
 *
 * Return: IPOIB_LLADDR_RC, IPOIB_LLADDR_UC, both or none
 */
u8 ipoib_cm_flags(const struct ipoib_dev *priv)
{
	return priv->cm ? priv->cm->offers : 0;
}

/**
 * ipoib_cm_is_on - whether the mode is connected
 * @priv: the interface
 *
 * Return: true if it is
 */
bool ipoib_cm_is_on(const struct ipoib_dev *priv)
{
	return priv->cm && READ_ONCE(priv->cm->on);
}

/**
 * ipoib_cm_set_on - turn connected mode on or off
 * @priv: the interface
 * @on: which
 *
 * Nothing is waited for: connections are closed when it is turned off, and
 * taken apart by the reaper.
 *
 * Context: RTNL held
 * Return: 0, or -EOPNOTSUPP if there are no connections here
 */
int ipoib_cm_set_on(struct ipoib_dev *priv, bool on)
{
	struct ipoib_cm *cm = priv->cm;

	ASSERT_RTNL();
	if (on && (!cm || !cm->offers))
		return -EOPNOTSUPP;
	if (!cm || cm->on == on)
		return 0;
	WRITE_ONCE(cm->on, on);
	if (!on)
		ipoib_cm_flush(priv);
	return 0;
}

static const struct ipoib_cm_choice *ipoib_cm_find_choice(const char *word)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ipoib_cm_choices); i++)
		if (sysfs_streq(word, ipoib_cm_choices[i].word))
			return &ipoib_cm_choices[i];
	return NULL;
}

/**
 * ipoib_cm_transport_show - name of the transports offered
 * @priv: the interface
 * @buf: a page, for the word and a newline
 *
 * Return: its length
 */
ssize_t ipoib_cm_transport_show(const struct ipoib_dev *priv, char *buf)
{
	const struct ipoib_cm *cm = priv->cm;
	unsigned int i;

	for (i = 0; cm && i < ARRAY_SIZE(ipoib_cm_choices); i++)
		if (ipoib_cm_choices[i].offers == cm->offers &&
		    (!cm->offers || ipoib_cm_choices[i].prefer == cm->prefer))
			return sysfs_emit(buf, "%s\n",
					  ipoib_cm_choices[i].word);
	return sysfs_emit(buf, "none\n");
}

/**
 * ipoib_cm_transport_set - choose the transports offered
 * @priv: the interface
 * @word: as cm_transport has it
 *
 * Connections are closed, and made anew as they are needed.
 *
 * Context: RTNL held
 * Return: 0; -EINVAL for another word, -EOPNOTSUPP if the port has no CM,
 * -EBUSY for "none" in connected mode
 */
int ipoib_cm_transport_set(struct ipoib_dev *priv, const char *word)
{
	const struct ipoib_cm_choice *choice = ipoib_cm_find_choice(word);
	struct ipoib_cm *cm = priv->cm;
	bool up;

	ASSERT_RTNL();
	if (!choice)
		return -EINVAL;
	if (!cm)
		return choice->offers ? -EOPNOTSUPP : 0;
	if (!choice->offers && cm->on)
		return -EBUSY;
	up = test_bit(IPOIB_FLAG_UP, &priv->flags);
	ipoib_cm_stop(priv);
	cm->offers = choice->offers;
	cm->prefer = choice->prefer;
	if (up)
		ipoib_cm_start(priv);
	return 0;
}

/* ---- debugfs ---- */

static void ipoib_conn_show(struct seq_file *file, struct ipoib_conn *conn)
{
	seq_printf(file, "  connection: %s %s %s %s mtu=%u qp=0x%06x idle=%us used=%u waiting=%u",
		   ipoib_conn_states[conn->state],
		   conn->transport == IPOIB_TRANSPORT_UC ? "uc" : "rc",
		   conn->active ? "active" : "passive",
		   conn->two_way ? "both" : "one", conn->mtu,
		   conn->qp->qp_num,
		   jiffies_to_msecs(jiffies - READ_ONCE(conn->used)) / 1000,
		   conn->ring.slots ? ipoib_ring_used(&conn->ring) : 0,
		   skb_queue_len_lockless(&conn->backlog));
	ipoib_apm_show(file, conn);
	seq_putc(file, '\n');
}

static void ipoib_peer_show(struct seq_file *file, struct ipoib_peer *peer)
{
	struct ipoib_conn *conn;

	seq_printf(file, "peer: 0x%06x %pI6\n",
		   ipoib_lladdr_qpn(&peer->addr), peer->addr.gid);
	seq_printf(file, "  state: %s\n", ipoib_peer_states[peer->state]);
	seq_printf(file, "  service_id: 0x%02x\n", peer->sid);
	seq_printf(file, "  failures: %u\n", peer->failures);
	list_for_each_entry(conn, &peer->conns, peer_list)
		ipoib_conn_show(file, conn);
}

static void ipoib_cm_summary_show(struct seq_file *file, struct ipoib_cm *cm)
{
	ipoib_cm_rx_show(cm, file);
	seq_printf(file, "connections: %u\npeers: %u\n", cm->nconns,
		   cm->npeers);
	seq_printf(file, "receive_mtu: %u\nbytes_per_connection: %zu\n",
		   ipoib_cm_rx_mtu(cm->priv),
		   sizeof(struct ipoib_conn) + sizeof(struct ipoib_peer) +
		   IPOIB_CM_RING * sizeof(struct ipoib_tx_slot));
}

static void *ipoib_cm_seq_start(struct seq_file *file, loff_t *pos)
	__acquires(&cm->mutex) __acquires(&cm->lock)
{
	struct ipoib_dev *priv = file->private;
	struct ipoib_cm *cm = priv->cm;

	if (!cm)
		return NULL;
	mutex_lock(&cm->mutex);
	spin_lock_bh(&cm->lock);
	return seq_list_start_head(&cm->peer_list, *pos);
}

static void *ipoib_cm_seq_next(struct seq_file *file, void *at, loff_t *pos)
{
	struct ipoib_dev *priv = file->private;

	return seq_list_next(at, &priv->cm->peer_list, pos);
}

static void ipoib_cm_seq_stop(struct seq_file *file, void *at)
	__releases(&cm->lock) __releases(&cm->mutex)
{
	struct ipoib_dev *priv = file->private;
	struct ipoib_cm *cm = priv->cm;

	if (!cm)
		return;
	spin_unlock_bh(&cm->lock);
	mutex_unlock(&cm->mutex);
}

/* The head of the list stands for what is not about one peer. */
static int ipoib_cm_seq_show(struct seq_file *file, void *at)
{
	struct ipoib_dev *priv = file->private;

	if (at == &priv->cm->peer_list)
		ipoib_cm_summary_show(file, priv->cm);
	else
		ipoib_peer_show(file, list_entry(at, struct ipoib_peer, list));
	return 0;
}

/**
 * ipoib_cm_sops - all peers and their connections, for debugfs
 *
 * The file's private data is the interface, which does not go before the file.
 */
const struct seq_operations ipoib_cm_sops = {
	.start = ipoib_cm_seq_start,
	.next = ipoib_cm_seq_next,
	.stop = ipoib_cm_seq_stop,
	.show = ipoib_cm_seq_show,
};

/* ---- interface comes and goes ---- */

static void ipoib_cm_poll_init(struct ipoib_cm_poll *poll)
{
	init_waitqueue_head(&poll->wait);
}

static void ipoib_cm_init_works(struct ipoib_cm *cm)
{
	unsigned int i;

	INIT_WORK(&cm->connect_work, ipoib_cm_connect_work);
	INIT_WORK(&cm->resend_work, ipoib_cm_resend_work);
	INIT_DELAYED_WORK(&cm->hope_work, ipoib_cm_hope_work);
	INIT_DELAYED_WORK(&cm->reap_work, ipoib_cm_reap_work);
	INIT_DELAYED_WORK(&cm->age_work, ipoib_cm_age_work);
	for (i = 0; i < IPOIB_CM_PARTERS; i++) {
		cm->parter[i].cm = cm;
		INIT_WORK(&cm->parter[i].work, ipoib_cm_part_work);
	}
}

static void ipoib_cm_init_members(struct ipoib_cm *cm)
{
	const struct ipoib_cm_choice *choice;

	choice = ipoib_cm_find_choice(ipoib_cm_transport);
	cm->offers = choice->offers;
	cm->prefer = choice->prefer;
	spin_lock_init(&cm->lock);
	mutex_init(&cm->mutex);
	INIT_LIST_HEAD(&cm->peer_list);
	INIT_LIST_HEAD(&cm->conns);
	INIT_LIST_HEAD(&cm->todo);
	INIT_LIST_HEAD(&cm->closing);
	INIT_LIST_HEAD(&cm->dead);
	INIT_LIST_HEAD(&cm->resend);
	INIT_LIST_HEAD(&cm->waiting);
	ipoib_cm_init_works(cm);
	ipoib_apm_init(cm);
	ipoib_cm_poll_init(&cm->rx_poll);
	ipoib_cm_poll_init(&cm->tx_poll);
}

/**
 * ipoib_cm_init - connected mode for an interface
 * @priv: the interface, with its UD QP, before registration
 *
 * Only what is small: the rest comes with the first connection.
 *
 * Context: may sleep
 * Return: 0 or -ENOMEM
 */
int ipoib_cm_init(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm;
	int err = -ENOMEM;

	if (!rdma_cap_ib_cm(priv->ca, priv->port))
		return 0;
	cm = kzalloc(sizeof(*cm), GFP_KERNEL);
	if (!cm)
		return -ENOMEM;
	cm->priv = priv;
	ipoib_cm_init_members(cm);
	cm->wq = alloc_workqueue("ipoib_cm", WQ_UNBOUND, 0);
	if (!cm->wq)
		goto free_cm;
	err = rhashtable_init(&cm->peers, &ipoib_peer_params);
	if (err)
		goto destroy_wq;
	netif_napi_add(priv->netdev, &cm->rx_poll.napi, ipoib_cm_rx_poll);
	netif_napi_add_tx(priv->netdev, &cm->tx_poll.napi, ipoib_cm_tx_poll);
	priv->cm = cm;
	return 0;

destroy_wq:
	destroy_workqueue(cm->wq);
free_cm:
	kfree(cm);
	return err;
}

static void ipoib_cm_flush_parters(struct ipoib_cm *cm)
{
	unsigned int i;

	for (i = 0; i < IPOIB_CM_PARTERS; i++)
		flush_work(&cm->parter[i].work);
}

static bool ipoib_cm_is_empty(struct ipoib_cm *cm)
{
	bool empty;

	spin_lock_bh(&cm->lock);
	empty = !cm->nconns;
	spin_unlock_bh(&cm->lock);
	return empty;
}

/* Until nothing is left of any connection, without the CM's time of waiting. */
static void ipoib_cm_reap_all(struct ipoib_cm *cm)
{
	WRITE_ONCE(cm->hurry, true);
	while (!ipoib_cm_is_empty(cm)) {
		ipoib_cm_flush_parters(cm);
		mod_delayed_work(cm->wq, &cm->reap_work, 0);
		flush_delayed_work(&cm->reap_work);
	}
	WRITE_ONCE(cm->hurry, false);
}

/**
 * ipoib_cm_let_go - wait until connections hold nothing of the port
 * @priv: the interface, down
 *
 * A connection holds its entry of the port's GID table for as long as it takes
 * to take it apart.
 *
 * Context: process; RTNL may be held
 */
void ipoib_cm_let_go(struct ipoib_dev *priv)
{
	if (priv->cm)
		ipoib_cm_reap_all(priv->cm);
}

/**
 * ipoib_cm_exit - undo ipoib_cm_init()
 * @priv: the interface, down for good
 *
 * Context: process, without RTNL
 */
void ipoib_cm_exit(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;
	struct ipoib_peer *peer, *tmp;

	if (!cm)
		return;
	WRITE_ONCE(cm->leaving, true);
	ipoib_cm_reap_all(cm);
	cancel_delayed_work_sync(&cm->age_work);
	ipoib_cm_flush_parters(cm);
	cancel_delayed_work_sync(&cm->reap_work);
	cancel_delayed_work_sync(&cm->held_work);
	cancel_work_sync(&cm->connect_work);
	cancel_delayed_work_sync(&cm->hope_work);
	flush_work(&cm->resend_work);
	ipoib_cm_release(cm, 0);
	netif_napi_del(&cm->tx_poll.napi);
	netif_napi_del(&cm->rx_poll.napi);
	spin_lock_bh(&cm->lock);
	list_for_each_entry_safe(peer, tmp, &cm->peer_list, list)
		ipoib_peer_free(cm, peer);
	spin_unlock_bh(&cm->lock);
	rhashtable_destroy(&cm->peers);
	destroy_workqueue(cm->wq);
	priv->cm = NULL;
	kfree(cm);
}

/**
 * ipoib_cm_params_check - look at the module's parameters
 *
 * Return: 0 or -EINVAL
 */
int ipoib_cm_params_check(void)
{
	if (ipoib_cm_find_choice(ipoib_cm_transport))
		return 0;
	pr_warn("ipoib: cm_transport is none, rc, uc, rc,uc or uc,rc\n");
	return -EINVAL;
}
