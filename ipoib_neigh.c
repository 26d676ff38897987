// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours: the ports that frames are sent to, by GID, and the path to each.
 *
 * LID, SL, rate and the GRH of a frame come from a path record, on InfiniBand of the SA
 * (RFC 4391 section 9.1.2). The first frame to a GID causes a query and waits, with a few
 * more; a GID without a path is not asked for again for a while.
 *
 * After an event that may have changed the fabric, path records are marked stale: frames
 * keep using the old handle while the next one of them has a new record fetched.
 * Neighbours that are not used for IPOIB_NEIGH_UNUSED are forgotten.
 *
 * What is done with frames, and when the work of a neighbour runs, stands in ipoib_arp.c.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_trace.h"

/* A neighbour is forgotten after this time without a frame. */
#define IPOIB_NEIGH_UNUSED	(300 * HZ)
/* Or, where there is no room for another, after this one. */
#define IPOIB_NEIGH_IDLE	(5 * HZ)
#define IPOIB_NEIGH_SCAN	(30 * HZ)
/* How long a failed lookup is remembered, doubled with each failure. */
#define IPOIB_NEIGH_RETRY_MIN	(HZ / 10)
#define IPOIB_NEIGH_RETRY_MAX	(8 * HZ)
/* How long a neighbour waits for a credit; an answer of the SA takes that long, too. */
#define IPOIB_NEIGH_PATIENCE	HZ
/*
 * How many neighbours are scanned to find one that may be evicted: more than there are
 * queries outstanding.
 */
#define IPOIB_NEIGH_SCAN_MAX	256

/**
 * ipoib_neigh_put - drop a reference to a neighbour
 * @neigh: the neighbour
 *
 * Context: any but hard interrupt
 */
void ipoib_neigh_put(struct ipoib_neigh *neigh)
{
	if (!refcount_dec_and_test(&neigh->ref))
		return;
	ipoib_ah_retire(neigh->priv, rcu_dereference_protected(neigh->ah, 1));
	WARN_ON_ONCE(!hlist_empty(&neigh->peers));
	pr_debug("ipoib: path %pI6 destroyed\n", neigh->gid.raw);
	kfree_rcu(neigh, rcu);
}

/* @state: one that does not follow the present one is warned of. */
static void ipoib_neigh_set_state(struct ipoib_neigh *neigh, enum ipoib_neigh_state state)
{
	static const unsigned long before[] = {
		[IPOIB_NEIGH_NONE]	= BIT(IPOIB_NEIGH_WAITING) |
					  BIT(IPOIB_NEIGH_RESOLVING),
		[IPOIB_NEIGH_WAITING]	= BIT(IPOIB_NEIGH_NONE) | BIT(IPOIB_NEIGH_VALID),
		[IPOIB_NEIGH_RESOLVING]	= BIT(IPOIB_NEIGH_WAITING),
		[IPOIB_NEIGH_VALID]	= BIT(IPOIB_NEIGH_RESOLVING),
	};

	lockdep_assert_held(&neigh->priv->neigh.lock);
	WARN_ON_ONCE(!(before[state] & BIT(neigh->state)));
	neigh->state = state;
}

static struct ipoib_neigh *ipoib_neigh_lookup(struct ipoib_dev *priv, const u8 *gid)
{
	lockdep_assert_held(&priv->neigh.lock);
	return rhashtable_lookup_fast(&priv->neigh.table, gid, ipoib_neigh_params);
}

/* ---- frames that wait ---- */

/* Frames of a kind in all queues of an interface, of up to 64 KB each in connected mode */
#define IPOIB_NEIGH_QUEUED	4096

static int ipoib_neigh_room(struct ipoib_dev *priv, enum ipoib_wait kind)
{
	return IPOIB_NEIGH_QUEUED - atomic_read(&priv->neigh.queued[kind]);
}

/**
 * ipoib_neigh_park - have a frame wait for a path or on its way to a connection
 * @priv: the interface
 * @kind: for what
 * @queue: of a neighbour, of a peer of one or of its connection
 * @most: frames in it, at most
 * @skb: frame; dropped if there is no room
 *
 * Context: lock of the queue held
 */
void ipoib_neigh_park(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
		      unsigned int most, struct sk_buff *skb)
{
	if (!ipoib_neigh_fits(skb_queue_len(queue), most, ipoib_neigh_room(priv, kind))) {
		ipoib_drop(priv, skb, kind == IPOIB_WAIT_RING ? IPOIB_TX_CM_FULL :
								IPOIB_TX_QUEUE_FULL);
		return;
	}
	atomic_inc(&priv->neigh.queued[kind]);
	__skb_queue_tail(queue, skb);
}

/**
 * ipoib_neigh_unpark - take out the frames that wait
 * @priv: the interface
 * @kind: for what
 * @queue: as above
 * @frames: list of the caller that they are added to
 *
 * Context: lock of the queue held
 */
void ipoib_neigh_unpark(struct ipoib_dev *priv, enum ipoib_wait kind,
			struct sk_buff_head *queue, struct sk_buff_head *frames)
{
	atomic_sub(skb_queue_len(queue), &priv->neigh.queued[kind]);
	skb_queue_splice_tail_init(queue, frames);
}

/**
 * ipoib_neigh_unpark_txq - take out the frames that wait for a path, of one transmit queue
 * @priv: the interface
 * @queue: of a neighbour
 * @n: transmit queue
 * @ntxq: transmit queues in use; the first has the frames of all others, too
 * @frames: list of the caller that they are added to
 *
 * Context: lock of the queue held
 */
void ipoib_neigh_unpark_txq(struct ipoib_dev *priv, struct sk_buff_head *queue, unsigned int n,
			    unsigned int ntxq, struct sk_buff_head *frames)
{
	struct sk_buff *skb, *tmp;

	if (ntxq == 1) {
		ipoib_neigh_unpark(priv, IPOIB_WAIT_PATH, queue, frames);
		return;
	}
	skb_queue_walk_safe(queue, skb, tmp) {
		if (ipoib_txq_of(skb, ntxq) != n)
			continue;
		atomic_dec(&priv->neigh.queued[IPOIB_WAIT_PATH]);
		__skb_unlink(skb, queue);
		__skb_queue_tail(frames, skb);
	}
}

/**
 * ipoib_neigh_waits - whether frames of the same transmit queue wait
 * @priv: the interface
 * @queue: of a neighbour
 * @skb: a frame that must not overtake them
 *
 * Context: lock of the queue held
 * Return: true if so
 */
bool ipoib_neigh_waits(struct ipoib_dev *priv, struct sk_buff_head *queue,
		       const struct sk_buff *skb)
{
	unsigned int ntxq = ipoib_txqs(priv);
	const struct sk_buff *other;

	skb_queue_walk(queue, other)
		if (ipoib_txq_of(other, ntxq) == ipoib_txq_of(skb, ntxq))
			return true;
	return false;
}

/* ---- queries ---- */

/* Run the work after @delay jiffies, or before if it is due then. */
static void ipoib_neigh_post(struct ipoib_neigh *neigh, unsigned long delay)
{
	struct workqueue_struct *wq = neigh->priv->neigh.wq;

	refcount_inc(&neigh->ref);
	if (delay ? !queue_delayed_work(wq, &neigh->work, delay) :
		    mod_delayed_work(wq, &neigh->work, 0))
		refcount_dec(&neigh->ref);
}

static void ipoib_neigh_granted(struct ipoib_credit *credit)
{
	ipoib_neigh_post(container_of(credit, struct ipoib_neigh, credit), 0);
}

/* An old handle stays in use. The next query is made for a frame. */
static void ipoib_neigh_fail(struct ipoib_neigh *neigh)
{
	ipoib_neigh_set_state(neigh, IPOIB_NEIGH_NONE);
	WRITE_ONCE(neigh->retry_at, jiffies +
		   ipoib_backoff(neigh->failures++, IPOIB_NEIGH_RETRY_MIN,
				 IPOIB_NEIGH_RETRY_MAX));
	WRITE_ONCE(neigh->stale, true);
}

/* With a credit. The query holds a reference until ipoib_neigh_answered(). */
static void ipoib_neigh_query(struct ipoib_neigh *neigh)
{
	struct ipoib_dev *priv = neigh->priv;
	int err;

	ipoib_neigh_set_state(neigh, IPOIB_NEIGH_RESOLVING);
	refcount_inc(&neigh->ref);
	ipoib_dev_get_query(priv);
	ipoib_stat_add(priv, IPOIB_PATH_QUERIES, 1);
	err = priv->fabric->path_get(priv, neigh);
	trace_ipoib_path(priv->netdev, neigh->gid.raw, "query", err);
	if (!err)
		return;
	ipoib_credit_put(priv->neigh.limit, &neigh->credit);
	ipoib_stat_add(priv, IPOIB_PATH_FAILURE, 1);
	ipoib_neigh_fail(neigh);
	/* Not the last references: the table and the interface hold some. */
	refcount_dec(&neigh->ref);
	refcount_dec(&priv->queries);
}

/**
 * ipoib_neigh_try - query the fabric, if there is a credit
 * @neigh: neighbour in IPOIB_NEIGH_WAITING
 *
 * Else its work runs as soon as there is one, or IPOIB_NEIGH_PATIENCE after ipoib_neigh_ask():
 * no credit until then is a failure. After a failure frames wait for the work only.
 *
 * Context: &ipoib_neighs.lock held
 */
void ipoib_neigh_try(struct ipoib_neigh *neigh)
{
	long left = neigh->asked_at + IPOIB_NEIGH_PATIENCE - jiffies;
	struct ipoib_neighs *neighs = &neigh->priv->neigh;

	lockdep_assert_held(&neighs->lock);
	WRITE_ONCE(neigh->stale, false);
	if (ipoib_credit_get(neighs->limit, &neigh->credit)) {
		ipoib_neigh_query(neigh);
	} else if (left > 0) {
		ipoib_neigh_post(neigh, left);
	} else {
		ipoib_credit_put(neighs->limit, &neigh->credit);
		ipoib_neigh_fail(neigh);
	}
}

/**
 * ipoib_neigh_ask - have the path record fetched
 * @neigh: neighbour that is not waiting for it
 *
 * Context: &ipoib_neighs.lock held
 */
void ipoib_neigh_ask(struct ipoib_neigh *neigh)
{
	ipoib_neigh_set_state(neigh, IPOIB_NEIGH_WAITING);
	neigh->asked_at = jiffies;
	ipoib_neigh_try(neigh);
}

static struct ipoib_ah *ipoib_neigh_make_ah(struct ipoib_dev *priv, const struct sa_path_rec *rec)
{
	const struct ib_gid_attr *gid = NULL;
	struct sa_path_rec copy = *rec;
	struct rdma_ah_attr attr;
	int err;

	if (priv->fabric->path_gid)
		gid = priv->fabric->path_gid(priv);
	if (IS_ERR(gid))
		return ERR_CAST(gid);
	err = ib_init_ah_attr_from_path(priv->ca, priv->port, &copy, &attr, gid);
	if (gid)
		rdma_put_gid_attr(gid);
	if (err)
		return ERR_PTR(err);
	return ipoib_ah_create(priv, &attr);
}

/*
 * Long packets are lost silently on a path whose MTU is below the link's: log it each time
 * that this becomes so. What the port itself does not take is logged elsewhere.
 */
static void ipoib_neigh_check(struct ipoib_neigh *neigh, const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = neigh->priv;
	int link = min_t(int, READ_ONCE(priv->mcast_mtu), READ_ONCE(priv->port_mtu));
	int mtu = ipoib_mtu_from_ib(rec->mtu);
	bool odd = mtu < link ||
		   (rec->rate && ib_rate_to_mbps(rec->rate) <= 0);

	if (odd && !neigh->odd && net_ratelimit())
		netdev_warn(priv->netdev,
			    "path to %pI6 has MTU %d (the link %d), rate code %u: long packets may be lost\n",
			    neigh->gid.raw, mtu, link, rec->rate);
	neigh->odd = odd;
}

/**
 * ipoib_neigh_answered - the fabric has answered
 * @neigh: the neighbour; the reference of the query is consumed
 * @status: 0 or negative error
 * @rec: path record, valid if @status is 0
 *
 * The interface may be gone when this returns.
 *
 * Context: process
 */
void ipoib_neigh_answered(struct ipoib_neigh *neigh, int status, const struct sa_path_rec *rec)
{
	struct ipoib_ah *ah = ERR_PTR(status), *old = NULL;
	struct ipoib_dev *priv = neigh->priv;

	ipoib_credit_put(priv->neigh.limit, &neigh->credit);
	if (!status)
		ah = ipoib_neigh_make_ah(priv, rec);
	trace_ipoib_path(priv->netdev, neigh->gid.raw, "answer", PTR_ERR_OR_ZERO(ah));
	if (IS_ERR(ah))
		ipoib_stat_add(priv, IPOIB_PATH_FAILURE, 1);
	else
		ipoib_neigh_check(neigh, rec);
	spin_lock_bh(&priv->neigh.lock);
	neigh->query = NULL;
	if (IS_ERR(ah)) {
		ipoib_neigh_fail(neigh);
	} else {
		ipoib_neigh_set_state(neigh, IPOIB_NEIGH_VALID);
		neigh->failures = 0;
		neigh->rec = *rec;
		old = rcu_replace_pointer(neigh->ah, ah, lockdep_is_held(&priv->neigh.lock));
	}
	/*
	 * One that is in no list has been unlinked: no frame waits, and no work may start. A
	 * request for a connection that waits for the record ends by its own time.
	 */
	if (!list_empty(&neigh->list))
		ipoib_neigh_post(neigh, 0);
	spin_unlock_bh(&priv->neigh.lock);
	ipoib_ah_retire(priv, old);
	ipoib_neigh_put(neigh);
	ipoib_dev_put_query(priv);
}

/* ---- table ---- */

/*
 * Take a neighbour out of the table, cancel its query, and drop the table's reference. No peer
 * hangs on it any more when its work has run, and none is added from now on.
 */
static void ipoib_neigh_unlink(struct ipoib_neigh *neigh, enum ipoib_stat why)
{
	struct ipoib_dev *priv = neigh->priv;
	struct sk_buff_head dropped;

	lockdep_assert_held(&priv->neigh.lock);
	rhashtable_remove_fast(&priv->neigh.table, &neigh->node, ipoib_neigh_params);
	list_del_init(&neigh->list);
	if (neigh->query)
		priv->fabric->path_cancel(neigh);
	if (neigh->state == IPOIB_NEIGH_WAITING)
		ipoib_credit_put(priv->neigh.limit, &neigh->credit);
	if (!hlist_empty(&neigh->peers))
		ipoib_neigh_post(neigh, 0);
	else if (cancel_delayed_work(&neigh->work))
		refcount_dec(&neigh->ref);
	__skb_queue_head_init(&dropped);
	ipoib_neigh_unpark(priv, IPOIB_WAIT_PATH, &neigh->queue, &dropped);
	ipoib_drop_list(priv, &dropped, why);
	ipoib_neigh_put(neigh);
}

/*
 * Evict, of the oldest, a neighbour that was not found, else one that is idle. Any host can
 * invent addresses, and on RoCE answer for them.
 */
static bool ipoib_neigh_make_room(struct ipoib_dev *priv)
{
	struct ipoib_neigh *neigh, *idle = NULL;
	unsigned int n;

	for (n = 0; n < IPOIB_NEIGH_SCAN_MAX; n++) {
		neigh = list_first_entry(&priv->neigh.list, struct ipoib_neigh, list);
		if (!rcu_access_pointer(neigh->ah) && neigh->state != IPOIB_NEIGH_RESOLVING)
			break;
		if (!idle && rcu_access_pointer(neigh->ah) &&
		    time_after(jiffies, READ_ONCE(neigh->used) + IPOIB_NEIGH_IDLE))
			idle = neigh;
		/* The next scan begins behind it. */
		list_move_tail(&neigh->list, &priv->neigh.list);
	}
	if (n == IPOIB_NEIGH_SCAN_MAX)
		neigh = idle;
	if (neigh)
		ipoib_neigh_unlink(neigh, IPOIB_TX_NO_PATH);
	return neigh;
}

/**
 * ipoib_neigh_get - find a neighbour or make one
 * @priv: the interface
 * @gid: its GID
 * @work: its work, which drops a reference
 * @why: set if there was none: why a frame to it is dropped if NULL is returned
 *
 * Context: &ipoib_neighs.lock held
 * Return: the neighbour, without a reference for the caller, or NULL
 */
struct ipoib_neigh *ipoib_neigh_get(struct ipoib_dev *priv, const u8 *gid,
				    work_func_t work, enum ipoib_stat *why)
{
	struct ipoib_neigh *neigh = ipoib_neigh_lookup(priv, gid);

	if (neigh)
		return neigh;
	*why = IPOIB_TX_PATH_CAP;
	if (atomic_read(&priv->neigh.table.nelems) >= IPOIB_NEIGH_MAX &&
	    !ipoib_neigh_make_room(priv)) {
		netdev_warn_once(priv->netdev, "more than %u paths\n", IPOIB_NEIGH_MAX);
		return NULL;
	}
	*why = IPOIB_TX_MAP;
	neigh = kzalloc(sizeof(*neigh), GFP_ATOMIC);
	if (!neigh)
		return NULL;
	memcpy(neigh->gid.raw, gid, sizeof(neigh->gid));
	neigh->priv = priv;
	neigh->stale = true;
	neigh->retry_at = jiffies;
	neigh->used = jiffies;
	__skb_queue_head_init(&neigh->queue);
	INIT_DELAYED_WORK(&neigh->work, work);
	ipoib_credit_init(&neigh->credit, IPOIB_CREDIT_PATH, ipoib_neigh_granted);
	refcount_set(&neigh->ref, 1);
	if (rhashtable_insert_fast(&priv->neigh.table, &neigh->node, ipoib_neigh_params)) {
		kfree(neigh);
		return NULL;
	}
	list_add_tail(&neigh->list, &priv->neigh.list);
	pr_debug("ipoib: path %pI6 created\n", neigh->gid.raw);
	return neigh;
}

/* ---- events ---- */

/* The next frame has the record fetched anew. */
static void ipoib_neigh_mark_stale(struct ipoib_neigh *neigh)
{
	lockdep_assert_held(&neigh->priv->neigh.lock);
	WRITE_ONCE(neigh->retry_at, jiffies);
	WRITE_ONCE(neigh->stale, true);
	neigh->failures = 0;
}

/**
 * ipoib_neigh_all_stale - mark all path records stale
 * @priv: the interface
 *
 * Context: process
 */
void ipoib_neigh_all_stale(struct ipoib_dev *priv)
{
	struct ipoib_neigh *neigh;

	spin_lock_bh(&priv->neigh.lock);
	list_for_each_entry(neigh, &priv->neigh.list, list)
		ipoib_neigh_mark_stale(neigh);
	spin_unlock_bh(&priv->neigh.lock);
}

/**
 * ipoib_neigh_mac_moved - the MAC address that has a GID is known
 * @priv: the interface
 * @gid: the GID
 * @mac: the MAC address, NULL if nothing answers
 *
 * A record that is not true is fetched anew, as is one that has been requested: the answer may
 * be of before. A neighbour that was not found may be looked for again at once.
 *
 * Context: any but hard interrupt
 */
void ipoib_neigh_mac_moved(struct ipoib_dev *priv, const union ib_gid *gid, const u8 *mac)
{
	struct ipoib_neigh *neigh;
	bool moved;

	spin_lock_bh(&priv->neigh.lock);
	neigh = ipoib_neigh_lookup(priv, gid->raw);
	if (neigh) {
		moved = mac;
		if (neigh->state == IPOIB_NEIGH_VALID)
			moved = !mac || !ether_addr_equal_unaligned(neigh->rec.roce.dmac, mac);
		if (moved)
			ipoib_neigh_mark_stale(neigh);
	}
	spin_unlock_bh(&priv->neigh.lock);
}

/**
 * ipoib_neigh_contradicted - something speaks against the path to a GID
 * @priv: the interface
 * @gid: the GID
 * @age: jiffies
 *
 * A message names a GID, but has not come from where the path leads, or the stack finds the
 * neighbour unreachable. Either that is forged, or the port has another address now: the next
 * frame has the record fetched anew. Any host can cause that, so a record that was
 * requested less than @age ago is kept.
 *
 * Context: any but hard interrupt, without &ipoib_neighs.lock; the lock of the stack's
 * neighbour table may be held
 */
void ipoib_neigh_contradicted(struct ipoib_dev *priv, const u8 *gid, unsigned long age)
{
	struct ipoib_neigh *neigh;

	spin_lock_bh(&priv->neigh.lock);
	neigh = ipoib_neigh_lookup(priv, gid);
	if (neigh && neigh->state == IPOIB_NEIGH_VALID && jiffies - neigh->asked_at > age)
		ipoib_neigh_mark_stale(neigh);
	spin_unlock_bh(&priv->neigh.lock);
}

/* ---- what connected mode needs ---- */

/**
 * ipoib_neigh_record - copy the path record to a GID
 * @priv: the interface
 * @gid: the GID
 * @rec: result, if there is a record
 *
 * Context: any but hard interrupt, without &ipoib_neighs.lock
 * Return: 0; -ESTALE if it is being fetched anew, or the next frame causes that; -ENOENT if there
 * is none
 */
int ipoib_neigh_record(struct ipoib_dev *priv, const u8 *gid, struct sa_path_rec *rec)
{
	struct ipoib_neigh *neigh;
	int err = -ENOENT;

	spin_lock_bh(&priv->neigh.lock);
	neigh = ipoib_neigh_lookup(priv, gid);
	if (neigh && rcu_access_pointer(neigh->ah)) {
		*rec = neigh->rec;
		err = neigh->stale || ipoib_neigh_is_asked(neigh) ? -ESTALE : 0;
	}
	spin_unlock_bh(&priv->neigh.lock);
	return err;
}

/**
 * ipoib_neigh_resend - have the work of a neighbour send what a connection has not
 * @priv: the interface
 * @gid: GID of the neighbour; without one they are dropped
 * @frames: whole with their &struct ipoib_header, consumed, a queue of a connection at most. What
 *	comes waits behind them. The last ones are dropped if too many wait for paths.
 *
 * Context: bottom halves off, without &ipoib_neighs.lock
 */
void ipoib_neigh_resend(struct ipoib_dev *priv, const u8 *gid, struct sk_buff_head *frames)
{
	struct ipoib_neigh *neigh;
	struct sk_buff *skb;

	spin_lock(&priv->neigh.lock);
	neigh = ipoib_neigh_lookup(priv, gid);
	while (neigh && ipoib_neigh_room(priv, IPOIB_WAIT_PATH) > 0 &&
	       (skb = __skb_dequeue(frames))) {
		atomic_inc(&priv->neigh.queued[IPOIB_WAIT_PATH]);
		__skb_queue_tail(&neigh->queue, skb);
	}
	if (neigh && !skb_queue_empty(&neigh->queue))
		ipoib_neigh_post(neigh, 0);
	spin_unlock(&priv->neigh.lock);
	ipoib_drop_list(priv, frames, neigh ? IPOIB_TX_QUEUE_FULL : IPOIB_TX_NO_PATH);
}

/* ---- debugfs ---- */

/**
 * ipoib_neigh_show - print a neighbour
 * @file: where to
 * @at: its place in &ipoib_neighs.list
 *
 * Context: &ipoib_neighs.lock held
 * Return: 0
 */
int ipoib_neigh_show(struct seq_file *file, void *at)
{
	struct ipoib_neigh *neigh = list_entry(at, struct ipoib_neigh, list);
	bool complete = rcu_access_pointer(neigh->ah);

	seq_printf(file, "GID: %pI6\n", neigh->gid.raw);
	seq_printf(file, "  complete: %6s\n", complete ? "yes" : "no");
	seq_printf(file, "  queuelen: %6u\n", skb_queue_len(&neigh->queue));
	if (complete)
		neigh->priv->fabric->path_show(file, neigh);
	seq_putc(file, '\n');
	return 0;
}

/* ---- ageing, start and stop ---- */

static void ipoib_neigh_age(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work), struct ipoib_dev, neigh.work);
	struct ipoib_neigh *neigh, *tmp;

	spin_lock_bh(&priv->neigh.lock);
	list_for_each_entry_safe(neigh, tmp, &priv->neigh.list, list)
		if (neigh->state != IPOIB_NEIGH_RESOLVING &&
		    time_after(jiffies, READ_ONCE(neigh->used) + IPOIB_NEIGH_UNUSED))
			ipoib_neigh_unlink(neigh, IPOIB_TX_NO_PATH);
	spin_unlock_bh(&priv->neigh.lock);
	if (test_bit(IPOIB_FLAG_UP, &priv->flags))
		ipoib_neigh_start(priv);
}

/**
 * ipoib_neigh_start - start ageing
 * @priv: the interface, IPOIB_FLAG_UP set
 */
void ipoib_neigh_start(struct ipoib_dev *priv)
{
	queue_delayed_work(priv->neigh.wq, &priv->neigh.work, IPOIB_NEIGH_SCAN);
}

/**
 * ipoib_neigh_stop - forget all neighbours
 * @priv: the interface, IPOIB_FLAG_UP cleared and transmit queues stopped
 *
 * Queries under way are cancelled, not waited for: they hold references.
 *
 * Context: RTNL held; may sleep
 */
void ipoib_neigh_stop(struct ipoib_dev *priv)
{
	struct ipoib_neigh *neigh, *tmp;

	cancel_delayed_work_sync(&priv->neigh.work);
	spin_lock_bh(&priv->neigh.lock);
	list_for_each_entry_safe(neigh, tmp, &priv->neigh.list, list)
		ipoib_neigh_unlink(neigh, IPOIB_TX_FLUSHED);
	spin_unlock_bh(&priv->neigh.lock);
	/* Works of neighbours that are unlinked hold references, too. */
	flush_workqueue(priv->neigh.wq);
}

/**
 * ipoib_neigh_init - make the table of neighbours
 * @priv: the interface
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_neigh_init(struct ipoib_dev *priv)
{
	int err;

	spin_lock_init(&priv->neigh.lock);
	INIT_LIST_HEAD(&priv->neigh.list);
	INIT_DELAYED_WORK(&priv->neigh.work, ipoib_neigh_age);
	priv->neigh.wq = alloc_workqueue("ipoib_neigh", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!priv->neigh.wq)
		return -ENOMEM;
	err = rhashtable_init(&priv->neigh.table, &ipoib_neigh_params);
	if (err)
		destroy_workqueue(priv->neigh.wq);
	return err;
}

/**
 * ipoib_neigh_exit - free the empty table of neighbours
 * @priv: the interface, down
 */
void ipoib_neigh_exit(struct ipoib_dev *priv)
{
	unsigned int kind;

	WARN_ON_ONCE(!list_empty(&priv->neigh.list));
	for (kind = 0; kind < IPOIB_WAIT_KINDS; kind++)
		WARN_ON_ONCE(atomic_read(&priv->neigh.queued[kind]));
	destroy_workqueue(priv->neigh.wq);
	rhashtable_destroy(&priv->neigh.table);
}
