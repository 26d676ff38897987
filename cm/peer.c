// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: peers, and how each of them is sent to.
 *
 * A peer is a link-layer address, whatever IP addresses are behind it (C5). It
 * remembers whether a connection is sent on, or being made, or was refused a
 * while ago. In every state but UP frames go over UD, so nothing is lost while a
 * connection is made, or if none can be made. Only frames too long for UD wait
 * until it is there.
 *
 * Senders find peers under RCU, by the neighbour; they are changed under &ipoib_cm.lock. Only
 * frames have a peer hang on a neighbour. One that does not, as it has only requested
 * connections, or as the neighbour has ended, is there as long as its connections are. So
 * connections keep no neighbour, and what may be known of addresses that were invented is
 * limited with neighbours and connections.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "cm/cm.h"

/* The most peers of a neighbour that have no connections: interfaces of one port on one link. */
#define IPOIB_PEER_IDLE_MAX	16
/* How long a refusal is remembered, doubled with each. */
#define IPOIB_CM_RETRY_MIN	(HZ / 2)

static const char * const ipoib_peer_states[] = {
	[IPOIB_PEER_IDLE]		= "idle",
	[IPOIB_PEER_CONNECTING]		= "connecting",
	[IPOIB_PEER_UP]			= "up",
	[IPOIB_PEER_REFUSED]		= "refused",
};

/* ---- the port of a peer ---- */

/**
 * ipoib_conn_compare - compare the port of a connection, if that was not possible before
 * @conn: the connection, also one that only the peer sends on; it may be &ipoib_conn.confirmed
 *	after that
 *
 * Any host can name any GID, but not the LID or MAC address of another port. Without a path record,
 * or with a stale one, the port that the peer is sent to already is as good.
 *
 * Context: &ipoib_cm.lock held
 * Return: whether it is refuted: the record leads to another port
 */
bool ipoib_conn_compare(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	const struct ipoib_conn *used;
	struct sa_path_rec rec;
	u64 port = conn->port;
	bool known;

	lockdep_assert_held(&cm->lock);
	if (conn->confirmed)
		return false;
	known = !ipoib_neigh_record(cm->priv, conn->peer->addr.gid, &rec);
	used = rcu_dereference_protected(conn->peer->tx, lockdep_is_held(&cm->lock));
	WRITE_ONCE(conn->confirmed, known ? ipoib_cm_port_of(cm, &rec) == port :
					    used && used->port == port);
	return known && !conn->confirmed;
}

/**
 * ipoib_conn_may_send - whether a connection is one to send on, once it is established
 * @conn: the connection
 *
 * Context: &ipoib_cm.lock held
 * Return: true if so
 */
bool ipoib_conn_may_send(const struct ipoib_conn *conn)
{
	return conn->confirmed && (conn->active || conn->duplex);
}

/* ---- peers, and the neighbours they hang on ---- */

static u32 ipoib_peer_hash(const struct ipoib_cm *cm, const struct ipoib_lladdr *addr)
{
	return jhash2((const u32 *)addr, sizeof(*addr) / sizeof(u32), cm->seed);
}

/**
 * ipoib_peer_find - find a peer
 * @cm: connected mode of the interface
 * @addr: its address, flags zero
 *
 * Context: &ipoib_cm.lock held
 * Return: the peer, not counted, or NULL
 */
struct ipoib_peer *ipoib_peer_find(struct ipoib_cm *cm, const struct ipoib_lladdr *addr)
{
	struct ipoib_peer *peer;

	lockdep_assert_held(&cm->lock);
	hash_for_each_possible(cm->peers, peer, hash, ipoib_peer_hash(cm, addr))
		if (!memcmp(&peer->addr, addr, sizeof(*addr)))
			return peer;
	return NULL;
}

/**
 * ipoib_peer_get - find a peer or make it
 * @cm: connected mode of the interface
 * @addr: its address, flags zero
 *
 * Context: &ipoib_cm.lock held
 * Return: the peer, for ipoib_peer_put(), or NULL
 */
struct ipoib_peer *ipoib_peer_get(struct ipoib_cm *cm, const struct ipoib_lladdr *addr)
{
	struct ipoib_peer *peer = ipoib_peer_find(cm, addr);

	if (!peer) {
		peer = kzalloc(sizeof(*peer), GFP_ATOMIC);
		if (!peer)
			return NULL;
		peer->addr = *addr;
		peer->sid = IPOIB_SID_RFC;
		peer->last_rx = jiffies;
		__skb_queue_head_init(&peer->queue);
		INIT_LIST_HEAD(&peer->conns);
		hash_add(cm->peers, &peer->hash, ipoib_peer_hash(cm, addr));
		cm->npeers++;
	}
	peer->users++;
	return peer;
}

/**
 * ipoib_peer_put - give up one of &ipoib_peer.users
 * @cm: connected mode of the interface
 * @peer: the peer; gone if it has no neighbour and nothing is left of it
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_put(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	if (--peer->users)
		return;
	WARN_ON_ONCE(!skb_queue_empty(&peer->queue));
	hash_del(&peer->hash);
	cm->npeers--;
	kfree_rcu(peer, rcu);
}

/**
 * ipoib_peer_detach - take a peer from its neighbour
 * @cm: connected mode of the interface
 * @peer: the peer, which hangs on one; it stays as long as it has other users
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_detach(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	hlist_del_init_rcu(&peer->neigh_list);
	ipoib_peer_put(cm, peer);
}

/**
 * ipoib_peer_attach - have a peer hang on its neighbour, by which frames find it
 * @cm: connected mode of the interface
 * @peer: the peer, which hangs on none
 * @neigh: the neighbour, of its GID. It loses those that have been on it for longest without
 *	a connection, if there are too many; the next frame has one hang on it again. One that has
 *	been unlinked gets no peer.
 *
 * Context: &ipoib_cm.lock held, RCU read side
 */
void ipoib_peer_attach(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_neigh *neigh)
{
	spinlock_t *lock = &cm->priv->neigh.lock;
	struct hlist_node *tmp;
	unsigned int idle = 0;

	lockdep_assert_held(&cm->lock);
	spin_lock(lock);
	if (!list_empty(&neigh->list)) {
		hlist_add_head_rcu(&peer->neigh_list, &neigh->peers);
		peer->users++;
	}
	spin_unlock(lock);
	/* The newest is the first. */
	hlist_for_each_entry_safe(peer, tmp, &neigh->peers, neigh_list)
		if (list_empty(&peer->conns) && ++idle > IPOIB_PEER_IDLE_MAX)
			ipoib_peer_detach(cm, peer);
}

/* ---- how one is sent to ---- */

/**
 * ipoib_peer_set_state - change how a peer is sent to
 * @peer: the peer
 * @state: new state; a state that cannot follow the present one is warned of
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_set_state(struct ipoib_peer *peer, enum ipoib_peer_state state)
{
	static const u8 follow[] = {
		[IPOIB_PEER_IDLE]	= BIT(IPOIB_PEER_IDLE) | BIT(IPOIB_PEER_CONNECTING) |
					  BIT(IPOIB_PEER_UP) | BIT(IPOIB_PEER_REFUSED),
		[IPOIB_PEER_CONNECTING]	= BIT(IPOIB_PEER_IDLE) | BIT(IPOIB_PEER_UP) |
					  BIT(IPOIB_PEER_REFUSED),
		[IPOIB_PEER_UP]		= BIT(IPOIB_PEER_IDLE) | BIT(IPOIB_PEER_UP),
		[IPOIB_PEER_REFUSED]	= BIT(IPOIB_PEER_IDLE) | BIT(IPOIB_PEER_CONNECTING) |
					  BIT(IPOIB_PEER_UP) | BIT(IPOIB_PEER_REFUSED),
	};

	WARN_ON_ONCE(!(follow[peer->state] & BIT(state)));
	WRITE_ONCE(peer->state, state);
}

/**
 * ipoib_peer_release - send the frames that wait for a connection, or check them anew without
 * @cm: connected mode of the interface
 * @peer: the peer they are for
 * @conn: the connection that takes them, or NULL. The rest goes back to the work of the neighbour,
 *	which drops it or has its senders get an error
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_release(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn)
{
	struct sk_buff_head frames, left;
	struct sk_buff *skb;

	lockdep_assert_held(&cm->lock);
	__skb_queue_head_init(&frames);
	__skb_queue_head_init(&left);
	ipoib_neigh_unpark(cm->priv, IPOIB_WAIT_PATH, &peer->queue, &frames);
	while ((skb = __skb_dequeue(&frames)))
		if (!conn || !ipoib_conn_xmit(conn, skb))
			__skb_queue_tail(&left, skb);
	if (!skb_queue_empty(&left))
		ipoib_neigh_resend(cm->priv, peer->addr.gid, &left);
}

/**
 * ipoib_peer_no_room - no connection may be made now
 * @cm: connected mode of the interface
 * @peer: the peer; served over UD until the pause is over. That is no longer than before:
 *	a limit of this node says nothing of the peer.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_no_room(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	WRITE_ONCE(peer->until, jiffies +
		   ipoib_backoff(peer->failures, IPOIB_CM_RETRY_MIN,
				 IPOIB_CM_RETRY_MAX));
	ipoib_peer_set_state(peer, IPOIB_PEER_REFUSED);
	ipoib_peer_release(cm, peer, NULL);
}

/**
 * ipoib_peer_failed - no connection could be made
 * @cm: connected mode of the interface
 * @peer: the peer; served over UD until the pause is over, which is doubled
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_failed(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	ipoib_peer_no_room(cm, peer);
	peer->failures++;
}

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
	conn->asked_at = jiffies;
	ipoib_touch(&conn->used);
	clear_bit(IPOIB_CONN_IS_OLD, &conn->flags);
	ipoib_peer_set_state(peer, IPOIB_PEER_UP);
	/* What comes finds the connection, and goes behind these. */
	ipoib_peer_release(cm, peer, conn);
	rcu_assign_pointer(peer->tx, conn);
}

/**
 * ipoib_conn_prove - forget failures of before if something has arrived on a connection
 * @conn: the connection
 *
 * That it was established proves nothing: messages of the CM take another way.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_conn_prove(struct ipoib_conn *conn)
{
	lockdep_assert_held(&conn->cm->lock);
	if (!ipoib_conn_is_used(conn) || !test_bit(IPOIB_CONN_EV_PROVEN, &conn->flags))
		return;
	conn->peer->failures = 0;
	conn->peer->unverified = false;
}

/**
 * ipoib_peer_best - find the connection of a peer to send on
 * @peer: the peer
 * @own: a request that is not made if there is another one, or NULL
 *
 * What others have requested in the peer's name is none. A request that has been refused waits for
 * that of the peer, and keeps frames waiting, but no other one from being made.
 *
 * Context: &ipoib_cm.lock held
 * Return: the newest that is established, or else may be one day, or NULL
 */
struct ipoib_conn *ipoib_peer_best(struct ipoib_peer *peer, const struct ipoib_conn *own)
{
	bool refused = !own && peer->state == IPOIB_PEER_CONNECTING;
	struct ipoib_conn *conn, *best = NULL;

	list_for_each_entry_reverse(conn, &peer->conns, peer_list) {
		if (conn == own || (!refused && conn->state == IPOIB_CONN_PENDING &&
				    READ_ONCE(conn->reason)))
			continue;
		ipoib_conn_compare(conn);
		if (!ipoib_conn_may_send(conn))
			continue;
		if (conn->state == IPOIB_CONN_ESTABLISHED)
			return conn;
		best = best ?: conn;
	}
	return best;
}

/**
 * ipoib_peer_settle - choose the connection that a peer waits for, or wait no more
 * @cm: connected mode of the interface
 * @peer: the peer
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_settle(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->lock);
	if (peer->state != IPOIB_PEER_CONNECTING)
		return;
	conn = ipoib_peer_best(peer, NULL);
	if (!conn)
		ipoib_peer_failed(cm, peer);
	else if (conn->state == IPOIB_CONN_ESTABLISHED)
		ipoib_conn_use(conn);
	else
		/* Its work ends the waiting of frames. */
		ipoib_conn_kick(conn);
}

/**
 * ipoib_peer_lost - a connection is no more: what does that mean for sending?
 * @cm: connected mode of the interface
 * @peer: the peer
 * @conn: what was one of its connections
 *
 * It has failed if frames were sent to no avail. A peer that leaves before may have any reason,
 * and UC does not show what has arrived.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_lost(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn)
{
	unsigned long flags;

	lockdep_assert_held(&cm->lock);
	if (!ipoib_conn_is_used(conn)) {
		ipoib_peer_settle(cm, peer);
		return;
	}
	ipoib_conn_prove(conn);
	flags = READ_ONCE(conn->flags);
	RCU_INIT_POINTER(peer->tx, NULL);
	ipoib_peer_set_state(peer, IPOIB_PEER_IDLE);
	if (!peer->failures)
		WRITE_ONCE(peer->passing_until, jiffies + IPOIB_CM_PASSING);
	peer->unverified = !(flags & BIT(IPOIB_CONN_EV_PROVEN)) &&
			   (flags & BIT(IPOIB_CONN_EV_FAILED) ||
			    (flags & BIT(IPOIB_CONN_EV_LEFT) && conn->ring.head &&
			     conn->transport == IPOIB_LLADDR_RC));
	if (peer->unverified)
		ipoib_peer_failed(cm, peer);
}

/* ---- debugfs ---- */

/**
 * ipoib_peer_show - a peer and its connections, for debugfs
 * @file: where to
 * @cm: connected mode of the interface
 * @peer: the peer
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_peer_show(struct seq_file *file, struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	const struct ipoib_conn *conn;
	struct ipoib_dev *priv = cm->priv;
	const struct ipoib_cm_rxq *rxq;
	const struct ib_qp *qp;
	u32 lid;

	seq_printf(file, "peer: 0x%06x %pI6\n", ipoib_lladdr_qpn(&peer->addr), peer->addr.gid);
	seq_printf(file, "  state: %s\n", ipoib_peer_states[peer->state]);
	seq_printf(file, "  service_id: 0x%02x\n", peer->sid);
	seq_printf(file, "  failures: %u\n", peer->failures);
	list_for_each_entry(conn, &peer->conns, peer_list) {
		qp = READ_ONCE(conn->qp);
		lid = ipoib_has_roce(priv) ? 0 : conn->port << READ_ONCE(priv->lmc);
		rxq = READ_ONCE(conn->rxq);
		seq_printf(file, "  connection: %s %s %s %s mtu=%u qp=0x%06x idle=%us used=%u waiting=%u dlid=0x%04x rx=%d\n",
			   conn->state == IPOIB_CONN_ESTABLISHED ? "established" :
			   conn->active ? "connecting" : "accepting",
			   conn->transport == IPOIB_LLADDR_UC ? "uc" : "rc",
			   conn->active ? "active" : "passive",
			   conn->duplex ? "both" : "one", conn->mtu, qp ? qp->qp_num : 0,
			   jiffies_to_msecs(jiffies - READ_ONCE(conn->used)) / 1000,
			   conn->ring.slots ? ipoib_ring_used(&conn->ring) : 0,
			   skb_queue_len_lockless(&conn->backlog), lid,
			   rxq ? (int)(rxq - cm->rxq) : -1);
	}
}
