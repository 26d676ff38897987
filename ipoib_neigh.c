// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours: the ports that frames are sent to, by GID, and the path to each.
 *
 * LID, SL, rate and GRH of a frame come from a path record, on InfiniBand of the SA (RFC 4391
 * section 9.1.2). The first frame to a GID starts a query and waits, with a few more. A GID without
 * a path is not queried again before a pause.
 *
 * An event that may have changed the fabric marks path records stale: frames keep using the address
 * handle, and the next frame starts a query. A neighbour without a frame for IPOIB_NEIGH_UNUSED is
 * removed.
 *
 * ipoib_arp.c has the frames, and the work of a neighbour.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_trace.h"

/* Time without a frame after which a neighbour is removed */
#define IPOIB_NEIGH_UNUSED	(300 * HZ)
/* The same if the table is full */
#define IPOIB_NEIGH_IDLE	(5 * HZ)
#define IPOIB_NEIGH_SCAN	(30 * HZ)
/* Longest wait for an inflight slot: as long as for an answer of the SA */
#define IPOIB_NEIGH_PATIENCE	HZ
/* Neighbours that one eviction scans: more than there can be outstanding queries */
#define IPOIB_NEIGH_SCAN_MAX	256

/* Drop a reference to a neighbour. Context: any but hard interrupt. */
void ipoib_neigh_put(struct ipoib_neigh *neigh)
{
	if (!refcount_dec_and_test(&neigh->ref))
		return;
	ipoib_ah_retire(neigh->priv, rcu_dereference_protected(neigh->ah, 1));
	WARN_ON_ONCE(!hlist_empty(&neigh->peers));
	pr_debug("ipoib: path %pI6 destroyed\n", neigh->gid.raw);
	kfree_rcu(neigh, rcu);
}

/* Warns of a wrong transition. */
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

/* ---- waiting frames ---- */

/* Waiting frames of a kind in all queues of an interface; up to 64 KB each in connected mode */
#define IPOIB_NEIGH_QUEUED	4096

static int ipoib_neigh_room(struct ipoib_dev *priv, enum ipoib_wait kind)
{
	return IPOIB_NEIGH_QUEUED - atomic_read(&priv->neigh.queued[kind]);
}

/*
 * Queue a frame to wait, or drop it beyond @most frames. @queue is of a neighbour, of a peer, or of
 * a connection, @kind the reason of the wait.
 * Context: lock of the queue held.
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

/*
 * Move all frames from a queue to the end of @frames; @kind and @queue as in ipoib_neigh_park().
 * Context: lock of the queue held.
 */
void ipoib_neigh_unpark(struct ipoib_dev *priv, enum ipoib_wait kind,
			struct sk_buff_head *queue, struct sk_buff_head *frames)
{
	atomic_sub(skb_queue_len(queue), &priv->neigh.queued[kind]);
	skb_queue_splice_tail_init(queue, frames);
}

/*
 * Move the frames of transmit queue @n from the queue of a neighbour to the end of @frames. Of the
 * @ntxq transmit queues in use the first also has the frames of the others.
 * Context: lock of the queue held.
 */
void ipoib_neigh_unpark_txq(struct ipoib_dev *priv, struct sk_buff_head *queue, unsigned int n,
			    unsigned int ntxq, struct sk_buff_head *frames)
{
	struct sk_buff *skb, *tmp;

	skb_queue_walk_safe(queue, skb, tmp) {
		if (ipoib_txq_of(skb, ntxq) != n)
			continue;
		atomic_dec(&priv->neigh.queued[IPOIB_WAIT_PATH]);
		__skb_unlink(skb, queue);
		__skb_queue_tail(frames, skb);
	}
}

/*
 * Check whether a frame would overtake frames that wait in the queue of a neighbour.
 * Context: lock of the queue held. Return: true if frames of the same transmit queue wait.
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

/*
 * Queue the work in @delay jiffies at the latest, with a reference, which the work drops.
 * Context: &ipoib_neighs.lock held, or callback of an inflight slot: a neighbour leaves the limit
 * before the reference of the table is dropped.
 */
static void ipoib_neigh_post(struct ipoib_neigh *neigh, unsigned long delay)
{
	struct workqueue_struct *wq = neigh->priv->neigh.wq;

	refcount_inc(&neigh->ref);
	if (delay ? !queue_delayed_work(wq, &neigh->work, delay) :
		    mod_delayed_work(wq, &neigh->work, 0))
		refcount_dec(&neigh->ref);
}

/* Callback of ipoib_limit.c, limit.lock held: the work has an inflight slot for the query. */
static void ipoib_neigh_granted(struct ipoib_inflight *inflight)
{
	ipoib_neigh_post(container_of(inflight, struct ipoib_neigh, inflight), 0);
}

/* The old handle stays in use. A frame after the pause starts the next query. */
static void ipoib_neigh_fail(struct ipoib_neigh *neigh)
{
	ipoib_neigh_set_state(neigh, IPOIB_NEIGH_NONE);
	WRITE_ONCE(neigh->retry_at, jiffies +
		   ipoib_backoff_fast(neigh->failures++));
	WRITE_ONCE(neigh->stale, true);
}

/* Start a query; an inflight slot is held. Its reference lasts until ipoib_neigh_answered(). */
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
	ipoib_inflight_put(priv->neigh.limit, &neigh->inflight);
	ipoib_stat_add(priv, IPOIB_PATH_FAILURE, 1);
	ipoib_neigh_fail(neigh);
	/* Not the last references: the table and the interface have others. */
	refcount_dec(&neigh->ref);
	refcount_dec(&priv->queries);
}

/*
 * Start a query for a neighbour in IPOIB_NEIGH_WAITING if there is an inflight slot. Otherwise its
 * work runs with the inflight slot, or IPOIB_NEIGH_PATIENCE after ipoib_neigh_ask(), which is a
 * failure.
 * Context: &ipoib_neighs.lock held.
 */
void ipoib_neigh_try(struct ipoib_neigh *neigh)
{
	long left = neigh->asked_at + IPOIB_NEIGH_PATIENCE - jiffies;
	struct ipoib_neighs *neighs = &neigh->priv->neigh;

	lockdep_assert_held(&neighs->lock);
	WRITE_ONCE(neigh->stale, false);
	if (ipoib_inflight_get(neighs->limit, &neigh->inflight)) {
		ipoib_neigh_query(neigh);
	} else if (left > 0) {
		ipoib_neigh_post(neigh, left);
	} else {
		ipoib_inflight_put(neighs->limit, &neigh->inflight);
		ipoib_neigh_fail(neigh);
	}
}

/* Request a query of the path for a neighbour without a query. Context: &ipoib_neighs.lock held. */
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
 * A path with a smaller MTU than the link loses long packets silently: log each change to that.
 * The MTU of the port itself is logged elsewhere.
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

/*
 * End of a query; consumes its reference to the neighbour. @rec is the path record if @status is 0,
 * else @status is a negative error. The interface may be gone on return.
 * Context: process.
 */
void ipoib_neigh_answered(struct ipoib_neigh *neigh, int status, const struct sa_path_rec *rec)
{
	struct ipoib_ah *ah = ERR_PTR(status), *old = NULL;
	struct ipoib_dev *priv = neigh->priv;

	ipoib_inflight_put(priv->neigh.limit, &neigh->inflight);
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
	 * An unlinked neighbour has no waiting frames, and no work may start. A connection
	 * request that waits for the record has a deadline of its own.
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
 * Remove a neighbour from the table, cancel its query, and drop the reference of the table. It gets
 * no further peers; its work removes those that it has.
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
		ipoib_inflight_put(priv->neigh.limit, &neigh->inflight);
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
 * Evict one of the oldest neighbours: one without a path, else an idle one. Any host can invent
 * addresses, and answer for them on RoCE.
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
		/* The next scan starts behind this neighbour. */
		list_move_tail(&neigh->list, &priv->neigh.list);
	}
	if (n == IPOIB_NEIGH_SCAN_MAX)
		neigh = idle;
	if (neigh)
		ipoib_neigh_unlink(neigh, IPOIB_TX_NO_PATH);
	return neigh;
}

/*
 * Look a neighbour up by its GID, or create it. @work is its work, which drops a reference.
 * Context: &ipoib_neighs.lock held. Return: the neighbour, without a reference, or NULL with @why
 * set to the reason to drop a frame.
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
	ipoib_inflight_init(&neigh->inflight, IPOIB_INFLIGHT_PATH, ipoib_neigh_granted);
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

/* The next frame starts a query. */
static void ipoib_neigh_mark_stale(struct ipoib_neigh *neigh)
{
	lockdep_assert_held(&neigh->priv->neigh.lock);
	WRITE_ONCE(neigh->retry_at, jiffies);
	WRITE_ONCE(neigh->stale, true);
	neigh->failures = 0;
}

/* Mark all path records stale. Context: event of the HCA, process under RCU; does not sleep. */
void ipoib_neigh_all_stale(struct ipoib_dev *priv)
{
	struct ipoib_neigh *neigh;

	spin_lock_bh(&priv->neigh.lock);
	list_for_each_entry(neigh, &priv->neigh.list, list)
		ipoib_neigh_mark_stale(neigh);
	spin_unlock_bh(&priv->neigh.lock);
}

/*
 * Compare a path record with the MAC address of its GID, NULL if none answers. Marks a different
 * record stale, and an outstanding query, whose answer may be older. Ends the pause of a neighbour
 * without a path.
 * Context: any but hard interrupt.
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

/*
 * Mark a path record stale that seems wrong. A record younger than @age jiffies stays, as any host
 * can cause this call. Reasons: a message names a GID and comes from another port than the path
 * leads to, or the stack finds the neighbour unreachable. The message is forged, or the port has a
 * new address.
 * Context: any but hard interrupt, without &ipoib_neighs.lock; the lock of the stack's neighbour
 * table may be held.
 */
void ipoib_neigh_suspect(struct ipoib_dev *priv, const u8 *gid, unsigned long age)
{
	struct ipoib_neigh *neigh;

	spin_lock_bh(&priv->neigh.lock);
	neigh = ipoib_neigh_lookup(priv, gid);
	if (neigh && neigh->state == IPOIB_NEIGH_VALID && jiffies - neigh->asked_at > age)
		ipoib_neigh_mark_stale(neigh);
	spin_unlock_bh(&priv->neigh.lock);
}

/* ---- for connected mode ---- */

/*
 * Copy the path record of a GID to @rec, which is valid unless -ENOENT is returned.
 * Context: any but hard interrupt, without &ipoib_neighs.lock. Return: 0; -ESTALE if the record is
 * stale or being queried; -ENOENT if there is none.
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

/*
 * Give the frames of a closed connection, with their &struct ipoib_header, to the work of their
 * neighbour. The frames, a backlog of a connection at most, are consumed; they are dropped if the
 * neighbour is gone. Later frames wait behind them. The last frames are dropped if too many wait
 * for paths.
 * Context: bottom halves off, without &ipoib_neighs.lock.
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

/*
 * Print a neighbour, by its entry of &ipoib_neighs.list, for debugfs.
 * Context: &ipoib_neighs.lock held. Return: 0.
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

/* Remove neighbours without frames for IPOIB_NEIGH_UNUSED. Context: process. */
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

/* Start ageing. Context: IPOIB_FLAG_UP set; RTNL held, or the ageing itself. */
void ipoib_neigh_start(struct ipoib_dev *priv)
{
	queue_delayed_work(priv->neigh.wq, &priv->neigh.work, IPOIB_NEIGH_SCAN);
}

/*
 * Remove all neighbours. Cancels outstanding queries without waiting for them: they hold
 * references.
 * Context: RTNL held, IPOIB_FLAG_UP cleared, transmit queues stopped; may sleep.
 */
void ipoib_neigh_stop(struct ipoib_dev *priv)
{
	struct ipoib_neigh *neigh, *tmp;

	cancel_delayed_work_sync(&priv->neigh.work);
	spin_lock_bh(&priv->neigh.lock);
	list_for_each_entry_safe(neigh, tmp, &priv->neigh.list, list)
		ipoib_neigh_unlink(neigh, IPOIB_TX_FLUSHED);
	spin_unlock_bh(&priv->neigh.lock);
	/* Works of unlinked neighbours hold references, too. */
	flush_workqueue(priv->neigh.wq);
}

/* Create the table of neighbours. Returns 0 or -ENOMEM. Context: process. */
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

/* Free the table of neighbours, which is empty. Context: process. */
void ipoib_neigh_exit(struct ipoib_dev *priv)
{
	unsigned int kind;

	WARN_ON_ONCE(!list_empty(&priv->neigh.list));
	for (kind = 0; kind < IPOIB_WAIT_KINDS; kind++)
		WARN_ON_ONCE(atomic_read(&priv->neigh.queued[kind]));
	destroy_workqueue(priv->neigh.wq);
	rhashtable_destroy(&priv->neigh.table);
}
