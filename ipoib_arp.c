// SPDX-License-Identifier: GPL-2.0
/*
 * Unicast next hop: from the link-layer address that ARP and Neighbour
 * Discovery found to an address handle.
 *
 * The address gives GID and QPN (RFC 4391 section 9.1.1); LID, SL, rate and
 * the GRH come from a path record of the SA (section 9.1.2). Paths are kept
 * by GID in a hash table. The first frame to a GID makes the SA be asked and
 * waits, with a few more; a GID the SA has no path to is remembered for a
 * while so that it is not asked for every frame.
 *
 * After an event that may have changed the fabric, paths are marked stale:
 * frames keep using the old handle while the next one of them has a new path
 * record fetched. Paths that nobody used for IPOIB_PATH_UNUSED are forgotten.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_trace.h"

/* A path is forgotten after this time without a frame. */
#define IPOIB_PATH_UNUSED	(300 * HZ)
#define IPOIB_PATH_SCAN		(30 * HZ)
/* How long a failed lookup is remembered, doubled with each failure. */
#define IPOIB_PATH_RETRY_MIN	(HZ / 10)
#define IPOIB_PATH_RETRY_MAX	(8 * HZ)

static const struct rhashtable_params ipoib_path_params = {
	.key_len = sizeof_field(struct ipoib_path, gid),
	.key_offset = offsetof(struct ipoib_path, gid),
	.head_offset = offsetof(struct ipoib_path, node),
	.hashfn = ipoib_gid_hash,
	.automatic_shrinking = true,
};

/**
 * ipoib_path_put - drop a reference to a path
 * @path: the path
 *
 * Context: any but hard interrupt
 */
void ipoib_path_put(struct ipoib_path *path)
{
	if (!refcount_dec_and_test(&path->ref))
		return;
	ipoib_ah_retire(path->priv, rcu_dereference_protected(path->ah, 1));
	pr_debug("ipoib: path %pI6 destroyed\n", path->gid.raw);
	kfree_rcu(path, rcu);
}

static struct ipoib_path *ipoib_path_alloc(struct ipoib_dev *priv,
					   const u8 *gid)
{
	struct ipoib_path *path = kzalloc(sizeof(*path), GFP_ATOMIC);

	if (!path)
		return NULL;
	memcpy(path->gid.raw, gid, sizeof(path->gid));
	path->priv = priv;
	path->used = jiffies;
	path->query_id = -1;
	__skb_queue_head_init(&path->queue);
	refcount_set(&path->ref, 1);
	pr_debug("ipoib: path %pI6 created\n", path->gid.raw);
	return path;
}

/* Find the path to @gid or make one. Caller holds path_lock. */
static struct ipoib_path *ipoib_path_find(struct ipoib_dev *priv, const u8 *gid)
{
	struct ipoib_path *path;

	lockdep_assert_held(&priv->path_lock);
	path = rhashtable_lookup_fast(&priv->paths, gid, ipoib_path_params);
	if (path)
		return path;
	path = ipoib_path_alloc(priv, gid);
	if (!path)
		return NULL;
	if (rhashtable_insert_fast(&priv->paths, &path->node,
				   ipoib_path_params)) {
		kfree(path);
		return NULL;
	}
	list_add_tail(&path->list, &priv->path_list);
	return path;
}

/* Take a path out of the table; its frames go to @dropped. */
static void ipoib_path_unlink(struct ipoib_path *path,
			      struct sk_buff_head *dropped)
{
	struct ipoib_dev *priv = path->priv;

	lockdep_assert_held(&priv->path_lock);
	rhashtable_remove_fast(&priv->paths, &path->node, ipoib_path_params);
	list_del_init(&path->list);
	skb_queue_splice_tail_init(&path->queue, dropped);
}

static void ipoib_path_set_failed(struct ipoib_path *path,
				  struct sk_buff_head *dropped)
{
	unsigned long pause;

	lockdep_assert_held(&path->priv->path_lock);
	pause = IPOIB_PATH_RETRY_MIN << min(path->failures, 10u);
	path->failures++;
	path->state = IPOIB_PATH_FAILED;
	path->retry_at = jiffies + min_t(unsigned long, pause,
					 IPOIB_PATH_RETRY_MAX);
	/* An old handle stays in use; the next try is made by a frame. */
	WRITE_ONCE(path->stale, rcu_access_pointer(path->ah));
	skb_queue_splice_tail_init(&path->queue, dropped);
}

/* Ask the SA. The query holds a reference until ipoib_path_done(). */
static void ipoib_path_query(struct ipoib_path *path,
			     struct sk_buff_head *dropped)
{
	int err;

	lockdep_assert_held(&path->priv->path_lock);
	path->state = IPOIB_PATH_RESOLVING;
	WRITE_ONCE(path->stale, false);
	refcount_inc(&path->ref);
	ipoib_stat_add(path->priv, IPOIB_PATH_QUERIES, 1);
	err = ipoib_sa_path_get(path->priv, path);
	trace_ipoib_path(path->priv->netdev, path->gid.raw, "query", err);
	if (!err)
		return;
	ipoib_stat_add(path->priv, IPOIB_PATH_FAILURE, 1);
	ipoib_path_set_failed(path, dropped);
	/* Not the last reference: the table holds one. */
	refcount_dec(&path->ref);
}

static bool ipoib_path_may_query(const struct ipoib_path *path)
{
	switch (path->state) {
	case IPOIB_PATH_RESOLVING:
		return false;
	case IPOIB_PATH_FAILED:
		return time_after_eq(jiffies, path->retry_at);
	default:
		return true;
	}
}

/* A frame for a path without an address handle: wait, or drop with a reason. */
static void ipoib_path_wait(struct ipoib_path *path, struct sk_buff *skb)
{
	struct ipoib_dev *priv = path->priv;

	lockdep_assert_held(&priv->path_lock);
	if (path->state != IPOIB_PATH_RESOLVING)
		ipoib_drop(priv, skb, IPOIB_TX_NO_PATH);
	else if (skb_queue_len(&path->queue) >= IPOIB_PATH_QUEUE)
		ipoib_drop(priv, skb, IPOIB_TX_QUEUE_FULL);
	else
		__skb_queue_tail(&path->queue, skb);
}

/* No usable address handle. Consumes @skb unless it can be sent after all. */
static bool ipoib_path_xmit_slow(struct ipoib_dev *priv, struct sk_buff *skb,
				 const u8 *gid)
{
	struct ipoib_path *path;
	struct sk_buff_head dropped;
	bool query, send = false;

	__skb_queue_head_init(&dropped);
	spin_lock(&priv->path_lock);
	path = ipoib_path_find(priv, gid);
	if (!path) {
		ipoib_drop(priv, skb, IPOIB_TX_NO_PATH);
		goto unlock;
	}
	if (rcu_access_pointer(path->ah) && !path->stale) {
		send = true;
		goto unlock;
	}
	query = ipoib_path_may_query(path);
	if (query)
		path->state = IPOIB_PATH_RESOLVING;
	/* The frame waits before the query is made, which may fail at once. */
	send = rcu_access_pointer(path->ah);
	if (!send)
		ipoib_path_wait(path, skb);
	if (query)
		ipoib_path_query(path, &dropped);
unlock:
	spin_unlock(&priv->path_lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
	return send;
}

static struct ipoib_ah *ipoib_path_ah(struct ipoib_dev *priv, const u8 *gid,
				      bool *stale)
{
	struct ipoib_path *path;

	path = rhashtable_lookup(&priv->paths, gid, ipoib_path_params);
	if (unlikely(!path))
		return NULL;
	ipoib_touch(&path->used);
	*stale = READ_ONCE(path->stale);
	return rcu_dereference(path->ah);
}

/**
 * ipoib_arp_xmit - send a frame to one neighbour
 * @txq: the queue
 * @skb: frame with its &struct ipoib_header; consumed
 *
 * Context: transmit lock of the queue held, RCU read side
 */
void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	struct ipoib_dev *priv = txq->priv;
	struct ipoib_ah *ah;
	bool stale = false;

	ah = ipoib_path_ah(priv, to->gid, &stale);
	if (unlikely(!ah || stale)) {
		if (!ipoib_path_xmit_slow(priv, skb, to->gid))
			return;
		ah = ipoib_path_ah(priv, to->gid, &stale);
		if (!ah) {
			ipoib_drop(priv, skb, IPOIB_TX_NO_PATH);
			return;
		}
	}
	skb_pull(skb, IPOIB_LLADDR_LEN);
	ipoib_ud_xmit(txq, skb, ah, ipoib_lladdr_qpn(to));
}

static struct ipoib_ah *ipoib_path_make_ah(struct ipoib_path *path,
					   const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = path->priv;
	struct rdma_ah_attr attr;
	int err;

	path->rec = *rec;
	err = ib_init_ah_attr_from_path(priv->ca, priv->port, &path->rec,
					&attr, NULL);
	if (err)
		return ERR_PTR(err);
	return ipoib_ah_create(priv, &attr);
}

/* Publish @ah, or note the failure. Returns the handle that was replaced. */
static struct ipoib_ah *ipoib_path_publish(struct ipoib_path *path,
					   struct ipoib_ah *ah,
					   struct sk_buff_head *frames)
{
	struct ipoib_ah *old = NULL;

	lockdep_assert_held(&path->priv->path_lock);
	path->query_id = -1;
	if (IS_ERR(ah)) {
		ipoib_path_set_failed(path, frames);
		return NULL;
	}
	path->failures = 0;
	path->state = IPOIB_PATH_VALID;
	old = rcu_dereference_protected(path->ah, 1);
	rcu_assign_pointer(path->ah, ah);
	skb_queue_splice_tail_init(&path->queue, frames);
	return old;
}

/**
 * ipoib_path_done - the SA has answered
 * @path: the path; the reference of the query is consumed
 * @status: 0 or negative error
 * @rec: path record, valid if @status is 0
 *
 * Context: process, from the SA callback
 */
void ipoib_path_done(struct ipoib_path *path, int status,
		     const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = path->priv;
	struct ipoib_ah *ah = ERR_PTR(status);
	struct sk_buff_head frames;
	struct ipoib_ah *old;

	if (!status)
		ah = ipoib_path_make_ah(path, rec);
	trace_ipoib_path(priv->netdev, path->gid.raw, "answer",
			 PTR_ERR_OR_ZERO(ah));
	__skb_queue_head_init(&frames);
	spin_lock_bh(&priv->path_lock);
	old = ipoib_path_publish(path, ah, &frames);
	spin_unlock_bh(&priv->path_lock);
	ipoib_ah_retire(priv, old);
	if (IS_ERR(ah)) {
		ipoib_stat_add(priv, IPOIB_PATH_FAILURE, 1);
		ipoib_drop_list(priv, &frames, IPOIB_TX_NO_PATH);
	} else {
		ipoib_dev_xmit_list(priv, &frames);
	}
	ipoib_path_put(path);
}

/**
 * ipoib_path_stale - have all path records fetched anew
 * @priv: the interface
 *
 * Context: process
 */
void ipoib_path_stale(struct ipoib_dev *priv)
{
	struct ipoib_path *path;

	spin_lock_bh(&priv->path_lock);
	list_for_each_entry(path, &priv->path_list, list) {
		WRITE_ONCE(path->stale, true);
		path->failures = 0;
		if (path->state == IPOIB_PATH_FAILED)
			path->state = IPOIB_PATH_IDLE;
	}
	spin_unlock_bh(&priv->path_lock);
}

static bool ipoib_path_unused(const struct ipoib_path *path)
{
	return path->state != IPOIB_PATH_RESOLVING &&
	       time_after(jiffies, READ_ONCE(path->used) + IPOIB_PATH_UNUSED);
}

static void ipoib_path_age(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work),
					      struct ipoib_dev, path_work);
	struct ipoib_path *path, *tmp;
	struct sk_buff_head dropped;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->path_lock);
	list_for_each_entry_safe(path, tmp, &priv->path_list, list) {
		if (!ipoib_path_unused(path))
			continue;
		ipoib_path_unlink(path, &dropped);
		ipoib_path_put(path);
	}
	spin_unlock_bh(&priv->path_lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
	if (test_bit(IPOIB_FLAG_UP, &priv->flags))
		queue_delayed_work(priv->wq, &priv->path_work,
				   IPOIB_PATH_SCAN);
}

/**
 * ipoib_path_start - start ageing
 * @priv: the interface, IPOIB_FLAG_UP set
 */
void ipoib_path_start(struct ipoib_dev *priv)
{
	queue_delayed_work(priv->wq, &priv->path_work, IPOIB_PATH_SCAN);
}

/**
 * ipoib_path_stop - forget all paths
 * @priv: the interface, IPOIB_FLAG_UP cleared and transmit queues stopped
 *
 * Queries under way are cancelled, not waited for: they hold references.
 *
 * Context: RTNL held; may sleep
 */
void ipoib_path_stop(struct ipoib_dev *priv)
{
	struct ib_sa_query *query;
	struct ipoib_path *path;
	struct sk_buff_head dropped;
	int id;

	cancel_delayed_work_sync(&priv->path_work);
	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->path_lock);
	while (!list_empty(&priv->path_list)) {
		path = list_first_entry(&priv->path_list, struct ipoib_path,
					list);
		query = path->query;
		id = path->query_id;
		ipoib_path_unlink(path, &dropped);
		spin_unlock_bh(&priv->path_lock);
		ipoib_sa_path_cancel(query, id);
		ipoib_path_put(path);
		spin_lock_bh(&priv->path_lock);
	}
	spin_unlock_bh(&priv->path_lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_FLUSHED);
}

/**
 * ipoib_path_init - make the path table
 * @priv: the interface
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_path_init(struct ipoib_dev *priv)
{
	spin_lock_init(&priv->path_lock);
	INIT_LIST_HEAD(&priv->path_list);
	INIT_DELAYED_WORK(&priv->path_work, ipoib_path_age);
	return rhashtable_init(&priv->paths, &ipoib_path_params);
}

/**
 * ipoib_path_exit - free the empty path table
 * @priv: the interface, down
 */
void ipoib_path_exit(struct ipoib_dev *priv)
{
	WARN_ON_ONCE(!list_empty(&priv->path_list));
	rhashtable_destroy(&priv->paths);
}
