// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: peers, and the path of frames to each of them.
 *
 * A peer is a link-layer address, whatever IP addresses are behind it (C5). Its state selects a
 * connection, or UD in all states but UP: no frame is lost while a connection is set up, or if
 * none can be. Only frames too long for UD wait.
 *
 * Senders find a peer under RCU in the list of its neighbour; changes need &ipoib_cm.lock. The
 * first frame puts a peer into that list. A peer known only from its REQs is in no list, nor is a
 * peer whose neighbour has ended: it lives until its last connection is freed. So connections keep
 * no neighbour, and the limits of neighbours and connections bound the memory for invented
 * addresses.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "cm/cm.h"

/* Peers without connections of a neighbour, at most: interfaces of one port on one link */
#define IPOIB_PEER_IDLE_MAX	16

static const char * const ipoib_peer_states[] = {
	[IPOIB_PEER_IDLE]		= "idle",
	[IPOIB_PEER_CONNECTING]		= "connecting",
	[IPOIB_PEER_UP]			= "up",
	[IPOIB_PEER_REFUSED]		= "refused",
};

/* ---- port ---- */

/*
 * Compare the port of a connection with the path record of the peer, and set &ipoib_conn.confirmed
 * if they agree. Any host can name any GID, but not the LID or MAC address of another port. Without
 * a record, or with a stale one, the port of the connection in use counts.
 * Context: &ipoib_cm.lock held. Return: true if the record leads to another port.
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

/*
 * Check whether frames may be sent on an established connection.
 * Context: &ipoib_cm.lock held. Return: true if so.
 */
bool ipoib_conn_may_send(const struct ipoib_conn *conn)
{
	return conn->confirmed && (conn->active || conn->duplex);
}

/* ---- table of peers, lists of neighbours ---- */

static u32 ipoib_peer_hash(const struct ipoib_cm *cm, const struct ipoib_lladdr *addr)
{
	return jhash2((const u32 *)addr, sizeof(*addr) / sizeof(u32), cm->seed);
}

/*
 * Look a peer up by its address, with flags zero.
 * Context: &ipoib_cm.lock held. Return: the peer, without a reference, or NULL.
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

/*
 * Look a peer up by its address, with flags zero, or create it.
 * Context: &ipoib_cm.lock held. Return: the peer, with a reference, or NULL.
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

/* Drop a reference, &ipoib_peer.users. Context: &ipoib_cm.lock held. */
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

/*
 * Remove a peer from the list of its neighbour, and drop that reference.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_peer_detach(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	hlist_del_init_rcu(&peer->neigh_list);
	ipoib_peer_put(cm, peer);
}

/*
 * Add a peer that is in no list to the list of the neighbour of its GID, where frames find it. An
 * unlinked neighbour gets no peer. The oldest peers without connections beyond IPOIB_PEER_IDLE_MAX
 * leave the list; their next frame adds them again.
 * Context: &ipoib_cm.lock held, RCU read side.
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
	/* From the newest to the oldest */
	hlist_for_each_entry_safe(peer, tmp, &neigh->peers, neigh_list)
		if (list_empty(&peer->conns) && ++idle > IPOIB_PEER_IDLE_MAX)
			ipoib_peer_detach(cm, peer);
}

/* ---- state ---- */

/* Change the state of a peer. A wrong transition is warned of. Context: &ipoib_cm.lock held. */
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

/*
 * End the wait of frames for a connection: send them on @conn, if it is not NULL. Frames that @conn
 * does not take go to the work of the neighbour, which drops them or reports the MTU of UD to their
 * senders.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_peer_end_wait(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn)
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

/*
 * Pause after a refusal by a limit of this node; the next pause is no longer.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_peer_no_room(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	WRITE_ONCE(peer->until, jiffies +
		   ipoib_backoff_slow(peer->failures));
	ipoib_peer_set_state(peer, IPOIB_PEER_REFUSED);
	ipoib_peer_end_wait(cm, peer, NULL);
}

/* Pause after a failure of the peer; the next pause is twice as long. */
static void ipoib_peer_failed(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	ipoib_peer_no_room(cm, peer);
	peer->failures++;
}

/* Send on an established connection from now on. Context: &ipoib_cm.lock held. */
void ipoib_conn_use(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;

	lockdep_assert_held(&cm->lock);
	conn->asked_at = jiffies;
	ipoib_touch(&conn->used);
	clear_bit(IPOIB_CONN_IS_OLD, &conn->flags);
	ipoib_peer_set_state(peer, IPOIB_PEER_UP);
	/* Before @tx: later frames must not overtake these. */
	ipoib_peer_end_wait(cm, peer, conn);
	rcu_assign_pointer(peer->tx, conn);
}

/*
 * Reset the failures of the peer after a proof of arrival. An established connection proves
 * nothing: CM messages travel by other QPs.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_conn_prove(struct ipoib_conn *conn)
{
	lockdep_assert_held(&conn->cm->lock);
	if (!ipoib_conn_is_used(conn) || !test_bit(IPOIB_CONN_EV_PROVEN, &conn->flags))
		return;
	conn->peer->failures = 0;
	conn->peer->unverified = false;
}

/*
 * Select the connection of a peer to send on. Connections from a port that is not confirmed do not
 * count. @own, or NULL, is the connection of an own request, which gives way to any other: a
 * refused own request holds frames for a crossing REQ of the peer, in IPOIB_PEER_CONNECTING, and
 * does not prevent a new request.
 * Context: &ipoib_cm.lock held. Return: the newest established connection, else a pending one, or
 * NULL.
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

/*
 * Select the connection of a peer in IPOIB_PEER_CONNECTING, if there is one.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_peer_select(struct ipoib_cm *cm, struct ipoib_peer *peer)
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
		/* Its work ends the wait of long frames in time. */
		ipoib_conn_kick(conn);
}

/*
 * Update the state of a peer after the close of a connection, which has left its list. The loss is
 * a failure of the peer if nothing proved that sent frames arrived. A DREQ before that may have any
 * reason, and UC gives no proof.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_peer_lost(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn)
{
	unsigned long flags;

	lockdep_assert_held(&cm->lock);
	if (!ipoib_conn_is_used(conn)) {
		ipoib_peer_select(cm, peer);
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

/* Print a peer and its connections, for debugfs. Context: &ipoib_cm.lock held. */
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
