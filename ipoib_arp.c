// SPDX-License-Identifier: GPL-2.0
/*
 * Unicast next hop: from the link-layer address that ARP and Neighbour
 * Discovery found to an address handle.
 *
 * The address gives GID and QPN (RFC 4391 section 9.1.1); LID, SL, rate and
 * the GRH come from a path record, on InfiniBand of the SA (section 9.1.2).
 * Paths are kept by GID in a hash table. The first frame to a GID makes the
 * fabric be asked and waits, with a few more; a GID without a path is
 * remembered for a while so that it is not asked for every frame.
 *
 * After an event that may have changed the fabric, paths are marked stale:
 * frames keep using the old handle while the next one of them has a new path
 * record fetched. Paths not used for IPOIB_PATH_UNUSED are forgotten.
 */
#include <linux/jiffies.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/neighbour.h>

#include "ipoib.h"
#include "ipoib_trace.h"

/* A path is forgotten after this time without a frame. */
#define IPOIB_PATH_UNUSED	(300 * HZ)
#define IPOIB_PATH_SCAN		(30 * HZ)
/* How long a failed lookup is remembered, doubled with each failure. */
#define IPOIB_PATH_RETRY_MIN	(HZ / 10)
#define IPOIB_PATH_RETRY_MAX	(8 * HZ)
/* How long a path waits for a credit; an answer of the SA takes that long, too. */
#define IPOIB_PATH_PATIENCE	HZ
/* How long a record is taken for true against what messages of the CM say. */
#define IPOIB_PATH_TRUST	(2 * HZ)
/* A path record is read anew no more often because the neighbour is unreachable. */
#define IPOIB_PATH_REREAD	(5 * HZ)
/*
 * How many paths are scanned to find one that may be evicted: more than there are queries
 * outstanding.
 */
#define IPOIB_PATH_SCAN_MAX	256
/* Failures in a row after which senders are told, as many as ARP and ND try. */
#define IPOIB_PATH_UNREACHABLE	3

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
	ipoib_object_gone(IPOIB_OBJECT_PATH, 1);
	kfree_rcu(path, rcu);
}

/* @state: one that does not follow the present one is warned of. */
static void ipoib_path_set_state(struct ipoib_path *path, enum ipoib_path_state state)
{
	static const unsigned long before[] = {
		[IPOIB_PATH_IDLE]	= BIT(IPOIB_PATH_FAILED),
		[IPOIB_PATH_WAITING]	= BIT(IPOIB_PATH_IDLE) | BIT(IPOIB_PATH_VALID) |
					  BIT(IPOIB_PATH_FAILED),
		[IPOIB_PATH_RESOLVING]	= BIT(IPOIB_PATH_WAITING),
		[IPOIB_PATH_VALID]	= BIT(IPOIB_PATH_RESOLVING),
		[IPOIB_PATH_FAILED]	= BIT(IPOIB_PATH_WAITING) |
					  BIT(IPOIB_PATH_RESOLVING),
	};

	lockdep_assert_held(&path->priv->path.lock);
	WARN_ON_ONCE(!(before[state] & BIT(path->state)));
	path->state = state;
}

/* An answer, or a credit for the question, is to come. */
static bool ipoib_path_is_asked(const struct ipoib_path *path)
{
	return path->state == IPOIB_PATH_WAITING ||
	       path->state == IPOIB_PATH_RESOLVING;
}

/* Run the work after @delay jiffies, or before if it is due then. */
static void ipoib_path_queue(struct ipoib_path *path, unsigned long delay)
{
	struct workqueue_struct *wq = path->priv->wq;

	refcount_inc(&path->ref);
	if (delay ? !queue_delayed_work(wq, &path->work, delay) :
		    mod_delayed_work(wq, &path->work, 0))
		refcount_dec(&path->ref);
}

static void ipoib_path_granted(struct ipoib_credit *credit)
{
	ipoib_path_queue(container_of(credit, struct ipoib_path, credit), 0);
}

static void ipoib_path_unpark(struct ipoib_path *path,
			      struct sk_buff_head *frames)
{
	lockdep_assert_held(&path->priv->path.lock);
	path->priv->path.queued -= skb_queue_len(&path->queue);
	ipoib_object_unpark(&path->queue, frames);
}

/* Take a path out of the table; its frames go to @dropped. */
static void ipoib_path_unlink(struct ipoib_path *path,
			      struct sk_buff_head *dropped)
{
	struct ipoib_dev *priv = path->priv;

	lockdep_assert_held(&priv->path.lock);
	rhashtable_remove_fast(&priv->path.table, &path->node, ipoib_path_params);
	list_del_init(&path->list);
	priv->path.npaths--;
	if (path->state == IPOIB_PATH_WAITING)
		ipoib_credit_put(priv->path.limit, &path->credit);
	if (cancel_delayed_work(&path->work))
		refcount_dec(&path->ref);
	ipoib_path_unpark(path, dropped);
}

static void ipoib_path_set_failed(struct ipoib_path *path,
				  struct sk_buff_head *dropped)
{
	lockdep_assert_held(&path->priv->path.lock);
	WRITE_ONCE(path->retry_at, jiffies +
		   ipoib_backoff(path->failures++, IPOIB_PATH_RETRY_MIN,
				 IPOIB_PATH_RETRY_MAX));
	ipoib_path_set_state(path, IPOIB_PATH_FAILED);
	/* An old handle stays in use; the next try is made by a frame. */
	WRITE_ONCE(path->stale, rcu_access_pointer(path->ah));
	/* Those that wait though there is a handle are just about to be sent. */
	if (!path->stale)
		ipoib_path_unpark(path, dropped);
}

/*
 * Query the fabric if there is a credit, else the work goes on. The query holds a reference
 * until ipoib_path_done().
 */
static void ipoib_path_query(struct ipoib_path *path,
			     struct sk_buff_head *dropped)
{
	struct ipoib_dev *priv = path->priv;
	int err;

	lockdep_assert_held(&priv->path.lock);
	WRITE_ONCE(path->stale, false);
	if (!ipoib_credit_get(priv->path.limit, &path->credit))
		return;
	ipoib_path_set_state(path, IPOIB_PATH_RESOLVING);
	refcount_inc(&path->ref);
	ipoib_dev_get_query(priv);
	ipoib_stat_add(priv, IPOIB_PATH_QUERIES, 1);
	err = priv->fabric->path_get(priv, path);
	trace_ipoib_path(priv->netdev, path->gid.raw, "query", err);
	if (!err)
		return;
	ipoib_credit_put(priv->path.limit, &path->credit);
	ipoib_stat_add(priv, IPOIB_PATH_FAILURE, 1);
	ipoib_path_set_failed(path, dropped);
	/* Not the last references: the table and the interface hold some. */
	refcount_dec(&path->ref);
	refcount_dec(&priv->queries);
	ipoib_object_gone(IPOIB_OBJECT_QUERY, 1);
}

/*
 * Mark the neighbour that a frame was for stale: there is no path to its link-layer
 * address. The stack would keep the address for most of a minute if the announcement of
 * another one was lost (the failover of a bond). Now the next packet has it probe the
 * neighbour. A neighbour that has been confirmed since @asked_at (jiffies) is left alone
 * until the next lookup.
 */
static void ipoib_path_mark_neigh_stale(struct sk_buff *skb,
					const struct ipoib_lladdr *to,
					unsigned long asked_at)
{
	u8 addr[MAX_ADDR_LEN] __aligned(sizeof(unsigned long));
	struct dst_entry *dst = skb_dst(skb);
	struct neighbour *neigh;

	neigh = dst ? dst_neigh_lookup_skb(dst, skb) : NULL;
	if (!neigh)
		return;
	neigh_ha_snapshot(addr, neigh, neigh->dev);
	if (neigh->dev->addr_len == sizeof(*to) &&
	    !memcmp(addr, to, sizeof(*to)) &&
	    (READ_ONCE(neigh->nud_state) & NUD_VALID) &&
	    time_before(READ_ONCE(neigh->confirmed), asked_at))
		neigh_update(neigh, NULL, NUD_FAILED, 0, 0);
	neigh_release(neigh);
}

/* @unreachable: with an ICMP error to their senders, as for a dead neighbour. */
static void ipoib_path_drop(struct ipoib_dev *priv, struct sk_buff_head *frames,
			    bool unreachable)
{
	const struct ipoib_header *header;
	struct sk_buff *skb;

	if (unreachable) {
		local_bh_disable();
		skb_queue_walk(frames, skb) {
			header = (const void *)skb->data;
			skb->protocol = header->encap.proto;
			skb_pull(skb, IPOIB_HARD_LEN);
			skb_reset_network_header(skb);
			memset(skb->cb, 0, sizeof(skb->cb));
			ipoib_path_mark_neigh_stale(skb, &header->lladdr, jiffies);
			dst_link_failure(skb);
		}
		local_bh_enable();
	}
	ipoib_drop_list(priv, frames, IPOIB_TX_NO_PATH);
}

/* A credit has come, or has not for IPOIB_PATH_PATIENCE: that is a failure. */
static void ipoib_path_work(struct work_struct *work)
{
	struct ipoib_path *path = container_of(to_delayed_work(work),
					       struct ipoib_path, work);
	struct ipoib_dev *priv = path->priv;
	struct sk_buff_head dropped;
	bool unreachable;
	long left;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->path.lock);
	/* One that is in no list has been unlinked. */
	if (path->state == IPOIB_PATH_WAITING && !list_empty(&path->list))
		ipoib_path_query(path, &dropped);
	if (path->state == IPOIB_PATH_WAITING && !list_empty(&path->list)) {
		left = path->asked_at + IPOIB_PATH_PATIENCE - jiffies;
		if (left > 0) {
			ipoib_path_queue(path, left);
		} else {
			ipoib_credit_put(priv->path.limit, &path->credit);
			ipoib_path_set_failed(path, &dropped);
		}
	}
	unreachable = path->failures >= IPOIB_PATH_UNREACHABLE;
	spin_unlock_bh(&priv->path.lock);
	ipoib_path_drop(priv, &dropped, unreachable);
	ipoib_path_put(path);
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
	path->retry_at = jiffies;
	path->reread_at = jiffies;
	__skb_queue_head_init(&path->queue);
	INIT_DELAYED_WORK(&path->work, ipoib_path_work);
	ipoib_credit_init(&path->credit, IPOIB_CREDIT_PATH, ipoib_path_granted);
	refcount_set(&path->ref, 1);
	pr_debug("ipoib: path %pI6 created\n", path->gid.raw);
	return path;
}

/* Evict a path that was not found, of the oldest. Anyone may invent addresses. */
static bool ipoib_path_make_room(struct ipoib_dev *priv,
				 struct sk_buff_head *dropped)
{
	struct ipoib_path *path;
	unsigned int n;

	for (n = 0; n < IPOIB_PATH_SCAN_MAX; n++) {
		path = list_first_entry(&priv->path.list, struct ipoib_path,
					list);
		if (!rcu_access_pointer(path->ah) &&
		    (path->state == IPOIB_PATH_FAILED ||
		     path->state == IPOIB_PATH_WAITING)) {
			ipoib_path_unlink(path, dropped);
			ipoib_path_put(path);
			return true;
		}
		/* The next scan begins behind it. */
		list_move_tail(&path->list, &priv->path.list);
	}
	return false;
}

/*
 * Find the path to @gid or make one. Caller holds path.lock. Returns NULL with the
 * reason in @why.
 */
static struct ipoib_path *ipoib_path_find(struct ipoib_dev *priv, const u8 *gid,
					  struct sk_buff_head *dropped,
					  enum ipoib_stat *why)
{
	struct ipoib_path *path;

	lockdep_assert_held(&priv->path.lock);
	path = rhashtable_lookup_fast(&priv->path.table, gid, ipoib_path_params);
	if (path)
		return path;
	*why = IPOIB_TX_PATH_CAP;
	if (priv->path.npaths >= IPOIB_PATH_MAX &&
	    !ipoib_path_make_room(priv, dropped)) {
		netdev_warn_once(priv->netdev, "more than %u paths\n",
				 IPOIB_PATH_MAX);
		return NULL;
	}
	*why = IPOIB_TX_MAP;
	path = ipoib_path_alloc(priv, gid);
	if (!path)
		return NULL;
	if (rhashtable_insert_fast(&priv->path.table, &path->node,
				   ipoib_path_params)) {
		kfree(path);
		return NULL;
	}
	list_add_tail(&path->list, &priv->path.list);
	priv->path.npaths++;
	ipoib_object_made(IPOIB_OBJECT_PATH);
	return path;
}

/*
 * Have the fabric queried, if that is due. A frame without an address handle, or behind others
 * that wait, waits, or is dropped with a reason: false. @dropped takes what there is no path
 * for.
 */
static bool ipoib_path_pass(struct ipoib_path *path, struct sk_buff *skb,
			    struct sk_buff_head *dropped)
{
	bool known = rcu_access_pointer(path->ah);
	bool send = known && skb_queue_empty(&path->queue);
	struct ipoib_dev *priv = path->priv;
	bool query;

	lockdep_assert_held(&priv->path.lock);
	query = (!known || path->stale) && !ipoib_path_is_asked(path) &&
		(path->state != IPOIB_PATH_FAILED ||
		 time_after_eq(jiffies, path->retry_at));
	if (query) {
		ipoib_path_set_state(path, IPOIB_PATH_WAITING);
		path->asked_at = jiffies;
	}
	/* The frame waits before the query is made, which may fail at once. */
	if (send) {
		/* By the handle that there is. */
	} else if (!ipoib_path_is_asked(path) && skb_queue_empty(&path->queue)) {
		__skb_queue_tail(dropped, skb);
	} else if (skb_queue_len(&path->queue) >= IPOIB_PATH_QUEUE ||
		   priv->path.queued >= IPOIB_PATH_QUEUED) {
		ipoib_drop(priv, skb, IPOIB_TX_QUEUE_FULL);
	} else {
		priv->path.queued++;
		ipoib_object_park(&path->queue, skb);
	}
	if (query)
		ipoib_path_query(path, dropped);
	if (query && path->state == IPOIB_PATH_WAITING)
		ipoib_path_queue(path, IPOIB_PATH_PATIENCE);
	return send;
}

/* No usable address handle. Consumes @skb unless it can be sent after all. */
static bool ipoib_path_xmit_slow(struct ipoib_dev *priv, struct sk_buff *skb,
				 const u8 *gid)
{
	enum ipoib_stat why = IPOIB_TX_MAP;
	struct sk_buff_head dropped;
	unsigned long asked_at = 0;
	struct ipoib_path *path;
	bool unreachable = false;
	bool send = false;

	__skb_queue_head_init(&dropped);
	spin_lock(&priv->path.lock);
	path = ipoib_path_find(priv, gid, &dropped, &why);
	if (path) {
		send = ipoib_path_pass(path, skb, &dropped);
		unreachable = path->failures >= IPOIB_PATH_UNREACHABLE;
		asked_at = path->asked_at;
	} else {
		ipoib_drop(priv, skb, why);
	}
	spin_unlock(&priv->path.lock);
	if (unreachable) {
		skb_queue_walk(&dropped, skb) {
			const struct ipoib_lladdr *to = (const void *)skb->data;

			/* Others may have had to make room. */
			if (!memcmp(to->gid, gid, sizeof(to->gid)))
				ipoib_path_mark_neigh_stale(skb, to, asked_at);
		}
	}
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
	return send;
}

/*
 * Is a new record wanted, and the pause after the last failure over? Until then
 * frames leave path.lock alone.
 */
static bool ipoib_path_renewable(const struct ipoib_path *path)
{
	return READ_ONCE(path->stale) &&
	       time_after_eq(jiffies, READ_ONCE(path->retry_at));
}

/* @slow: a new record is wanted, or frames that wait go first. */
static struct ipoib_ah *ipoib_path_ah(struct ipoib_dev *priv, const u8 *gid,
				      bool *slow)
{
	struct ipoib_path *path;

	path = rhashtable_lookup(&priv->path.table, gid, ipoib_path_params);
	if (unlikely(!path))
		return NULL;
	ipoib_touch(&path->used);
	*slow = ipoib_path_renewable(path) ||
		!skb_queue_empty_lockless(&path->queue);
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
	bool slow = false;
	unsigned int mtu;

	ah = ipoib_path_ah(priv, to->gid, &slow);
	if (unlikely(!ah || slow)) {
		if (!ipoib_path_xmit_slow(priv, skb, to->gid))
			return;
		ah = ipoib_path_ah(priv, to->gid, &slow);
		if (!ah) {
			ipoib_drop(priv, skb, IPOIB_TX_NO_PATH);
			return;
		}
	}
	if (ipoib_cm_is_on(priv) && ipoib_cm_xmit(txq, skb))
		return;
	mtu = READ_ONCE(priv->mcast_mtu);
	if (unlikely(ipoib_ud_too_long(skb, mtu))) {
		ipoib_pmtu_reject(priv, skb, mtu);
		return;
	}
	/* Its data may have moved. */
	to = (const void *)skb->data;
	skb_pull(skb, IPOIB_LLADDR_LEN);
	ipoib_ud_xmit(txq, skb, ah, ipoib_lladdr_qpn(to));
}

/* The path to a GID if there is an address handle, else NULL. */
static struct ipoib_path *ipoib_path_usable(struct ipoib_dev *priv,
					    const u8 *gid)
{
	struct ipoib_path *path;

	lockdep_assert_held(&priv->path.lock);
	path = rhashtable_lookup_fast(&priv->path.table, gid, ipoib_path_params);
	return path && rcu_access_pointer(path->ah) ? path : NULL;
}

/**
 * ipoib_path_record - copy the path record to a GID
 * @priv: the interface
 * @gid: the GID
 * @rec: result
 *
 * Returns: whether a record is known
 * Context: any but hard interrupt, without &ipoib_paths.lock
 */
bool ipoib_path_record(struct ipoib_dev *priv, const u8 *gid,
		       struct sa_path_rec *rec)
{
	struct ipoib_path *path;

	spin_lock_bh(&priv->path.lock);
	path = ipoib_path_usable(priv, gid);
	if (path)
		*rec = path->rec;
	spin_unlock_bh(&priv->path.lock);
	return path;
}

/**
 * ipoib_path_contradicted - a message came from a GID, but not from where its path leads
 * @priv: the interface
 * @gid: the GID
 *
 * Either the sender forges the GID or the port has another address now: the next frame has
 * the record fetched anew. Anyone can cause that, so a record younger than
 * IPOIB_PATH_TRUST is kept.
 *
 * Context: any but hard interrupt, without &ipoib_paths.lock
 */
void ipoib_path_contradicted(struct ipoib_dev *priv, const u8 *gid)
{
	struct ipoib_path *path;

	spin_lock_bh(&priv->path.lock);
	path = ipoib_path_usable(priv, gid);
	if (path && path->state == IPOIB_PATH_VALID &&
	    time_after(jiffies, path->asked_at + IPOIB_PATH_TRUST)) {
		WRITE_ONCE(path->retry_at, jiffies);
		WRITE_ONCE(path->stale, true);
	}
	spin_unlock_bh(&priv->path.lock);
}

/**
 * ipoib_path_is_stale - whether the record is being fetched anew, or the next frame causes it
 * @priv: the interface
 * @gid: the GID
 *
 * Returns: false if no record is known, too
 * Context: any but hard interrupt, without &ipoib_paths.lock
 */
bool ipoib_path_is_stale(struct ipoib_dev *priv, const u8 *gid)
{
	struct ipoib_path *path;
	bool old;

	spin_lock_bh(&priv->path.lock);
	path = ipoib_path_usable(priv, gid);
	old = path && (path->stale || ipoib_path_is_asked(path));
	spin_unlock_bh(&priv->path.lock);
	return old;
}

static struct ipoib_ah *ipoib_path_make_ah(struct ipoib_path *path,
					   const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = path->priv;
	struct sa_path_rec copy = *rec;
	struct rdma_ah_attr attr;
	int err;

	err = priv->fabric->path_ah(priv, &copy, &attr);
	if (err)
		return ERR_PTR(err);
	return ipoib_ah_create(priv, &attr);
}

/*
 * Publish @ah, or note the failure: then the frames that wait go to @dropped.
 * Returns the handle that was replaced.
 */
static struct ipoib_ah *ipoib_path_publish(struct ipoib_path *path,
					   struct ipoib_ah *ah,
					   const struct sa_path_rec *rec,
					   struct sk_buff_head *dropped)
{
	struct ipoib_ah *old = NULL;

	lockdep_assert_held(&path->priv->path.lock);
	path->query = NULL;
	if (IS_ERR(ah)) {
		ipoib_path_set_failed(path, dropped);
		return NULL;
	}
	path->failures = 0;
	ipoib_path_set_state(path, IPOIB_PATH_VALID);
	path->rec = *rec;
	old = rcu_dereference_protected(path->ah, 1);
	rcu_assign_pointer(path->ah, ah);
	return old;
}

/*
 * A path that takes less than the link promises loses what is long and nothing else,
 * and nobody tells: say so, once for each time that it becomes so.
 */
static void ipoib_path_check(struct ipoib_path *path,
			     const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = path->priv;
	/* What the port itself does not take is told elsewhere. */
	int link = min_t(int, READ_ONCE(priv->mcast_mtu),
			 READ_ONCE(priv->port_mtu));
	int mtu = ipoib_mtu_from_ib(rec->mtu);
	bool odd = mtu < link ||
		   (rec->rate && ib_rate_to_mbps(rec->rate) <= 0);

	if (odd && !path->odd && net_ratelimit())
		netdev_warn(priv->netdev,
			    "path to %pI6 has MTU %d (the link %d), rate code %u: long packets may be lost\n",
			    path->gid.raw, mtu, link, rec->rate);
	path->odd = odd;
}

static void ipoib_path_send(struct ipoib_path *path)
{
	struct ipoib_dev *priv = path->priv;
	unsigned int n;

	n = ipoib_ud_send_queue(priv, &priv->path.lock, &path->queue,
				ipoib_arp_xmit);
	spin_lock_bh(&priv->path.lock);
	priv->path.queued -= n;
	spin_unlock_bh(&priv->path.lock);
}

/**
 * ipoib_path_done - the fabric has answered
 * @path: the path; the reference of the query is consumed
 * @status: 0 or negative error
 * @rec: path record, valid if @status is 0
 *
 * The interface may be gone when this returns.
 *
 * Context: process
 */
void ipoib_path_done(struct ipoib_path *path, int status,
		     const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = path->priv;
	struct ipoib_ah *ah = ERR_PTR(status);
	struct sk_buff_head dropped;
	struct ipoib_ah *old;
	bool unreachable;

	ipoib_credit_put(priv->path.limit, &path->credit);
	if (!status)
		ah = ipoib_path_make_ah(path, rec);
	trace_ipoib_path(priv->netdev, path->gid.raw, "answer",
			 PTR_ERR_OR_ZERO(ah));
	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->path.lock);
	old = ipoib_path_publish(path, ah, rec, &dropped);
	unreachable = path->failures >= IPOIB_PATH_UNREACHABLE;
	spin_unlock_bh(&priv->path.lock);
	ipoib_ah_retire(priv, old);
	if (IS_ERR(ah)) {
		ipoib_stat_add(priv, IPOIB_PATH_FAILURE, 1);
	} else {
		ipoib_path_check(path, rec);
		ipoib_path_send(path);
	}
	ipoib_cm_path_read(priv, path->gid.raw);
	ipoib_path_drop(priv, &dropped, unreachable);
	ipoib_path_put(path);
	ipoib_dev_put_query(priv);
}

/* The next frame has the record fetched anew. */
static void ipoib_path_mark_stale(struct ipoib_path *path)
{
	lockdep_assert_held(&path->priv->path.lock);
	WRITE_ONCE(path->retry_at, jiffies);
	WRITE_ONCE(path->stale, true);
	path->failures = 0;
	if (path->state == IPOIB_PATH_FAILED)
		ipoib_path_set_state(path, IPOIB_PATH_IDLE);
}

/**
 * ipoib_path_mark_all_stale - mark all path records stale
 * @priv: the interface
 *
 * Context: process
 */
void ipoib_path_mark_all_stale(struct ipoib_dev *priv)
{
	struct ipoib_path *path;

	spin_lock_bh(&priv->path.lock);
	list_for_each_entry(path, &priv->path.list, list)
		ipoib_path_mark_stale(path);
	spin_unlock_bh(&priv->path.lock);
}

/**
 * ipoib_path_changed - the SA reports that a port has come or gone
 * @priv: the interface
 * @gid: GID of the port
 * @here: it is in service; else it is not
 *
 * What is known of a port that went is dropped. One that came may have another
 * LID: frames use the old handle until there is an answer.
 *
 * Context: any but hard interrupt
 */
void ipoib_path_changed(struct ipoib_dev *priv, const union ib_gid *gid,
			bool here)
{
	struct ipoib_path *path;
	struct sk_buff_head dropped;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->path.lock);
	path = rhashtable_lookup_fast(&priv->path.table, gid, ipoib_path_params);
	if (path && here) {
		ipoib_path_mark_stale(path);
	} else if (path) {
		ipoib_path_unlink(path, &dropped);
		ipoib_path_put(path);
	}
	spin_unlock_bh(&priv->path.lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
}

static bool ipoib_path_is_elsewhere(const struct ipoib_path *path, const u8 *mac)
{
	return !mac || !ether_addr_equal_unaligned(path->rec.roce.dmac, mac);
}

/**
 * ipoib_path_mac_moved - the MAC address that has a GID is known
 * @priv: the interface
 * @gid: the GID
 * @mac: the MAC address, NULL if nothing answers
 *
 * A record that is not true is fetched anew; a path that was not found may be
 * looked for again at once.
 *
 * Context: any but hard interrupt
 */
void ipoib_path_mac_moved(struct ipoib_dev *priv, const union ib_gid *gid,
			  const u8 *mac)
{
	struct ipoib_path *path;

	spin_lock_bh(&priv->path.lock);
	path = rhashtable_lookup_fast(&priv->path.table, gid, ipoib_path_params);
	if (path && path->state == IPOIB_PATH_FAILED && mac) {
		path->failures = 0;
		ipoib_path_set_state(path, IPOIB_PATH_IDLE);
	} else if (path && ((path->state == IPOIB_PATH_VALID &&
			     ipoib_path_is_elsewhere(path, mac)) ||
			    (path->state == IPOIB_PATH_RESOLVING && mac))) {
		/* An answer that is on its way may be of before. */
		WRITE_ONCE(path->retry_at, jiffies);
		WRITE_ONCE(path->stale, true);
	}
	spin_unlock_bh(&priv->path.lock);
}

/**
 * ipoib_arp_neigh_event - a neighbour of the stack has changed
 * @priv: the interface
 * @neigh: the neighbour
 *
 * If the stack finds it unreachable, perhaps it has another LID, and no report has
 * told of that. The record is read anew by the next frame, once in a while only: most
 * of such neighbours are just not there.
 *
 * Context: any but hard interrupt; the lock of the neighbour table may be held
 */
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *neigh)
{
	struct ipoib_lladdr addr;
	struct ipoib_path *path;

	if (READ_ONCE(neigh->nud_state) != NUD_FAILED)
		return;
	neigh_ha_snapshot((char *)&addr, neigh, neigh->dev);
	spin_lock_bh(&priv->path.lock);
	path = rhashtable_lookup_fast(&priv->path.table, addr.gid,
				      ipoib_path_params);
	if (path && path->state == IPOIB_PATH_VALID && !path->stale &&
	    time_after_eq(jiffies, path->reread_at)) {
		path->reread_at = jiffies + IPOIB_PATH_REREAD;
		ipoib_path_mark_stale(path);
	}
	spin_unlock_bh(&priv->path.lock);
}

/* ---- debugfs ---- */

static void ipoib_path_one(struct seq_file *file, struct ipoib_path *path)
{
	bool complete = rcu_access_pointer(path->ah);

	seq_printf(file, "GID: %pI6\n", path->gid.raw);
	seq_printf(file, "  complete: %6s\n", complete ? "yes" : "no");
	if (complete)
		path->priv->fabric->path_show(file, path);
	seq_putc(file, '\n');
}

static void *ipoib_path_seq_start(struct seq_file *file, loff_t *pos)
	__acquires(&priv->path.lock)
{
	struct ipoib_dev *priv = file->private;

	spin_lock_bh(&priv->path.lock);
	return seq_list_start(&priv->path.list, *pos);
}

static void *ipoib_path_seq_next(struct seq_file *file, void *at, loff_t *pos)
{
	struct ipoib_dev *priv = file->private;

	return seq_list_next(at, &priv->path.list, pos);
}

static void ipoib_path_seq_stop(struct seq_file *file, void *at)
	__releases(&priv->path.lock)
{
	struct ipoib_dev *priv = file->private;

	spin_unlock_bh(&priv->path.lock);
}

static int ipoib_path_show(struct seq_file *file, void *at)
{
	ipoib_path_one(file, list_entry(at, struct ipoib_path, list));
	return 0;
}

/* Of a file whose private data is the interface. */
const struct seq_operations ipoib_path_sops = {
	.start = ipoib_path_seq_start,
	.next = ipoib_path_seq_next,
	.stop = ipoib_path_seq_stop,
	.show = ipoib_path_show,
};

/* ---- ageing ---- */

static bool ipoib_path_unused(const struct ipoib_path *path)
{
	return path->state != IPOIB_PATH_RESOLVING &&
	       time_after(jiffies, READ_ONCE(path->used) + IPOIB_PATH_UNUSED);
}

static void ipoib_path_age(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work),
					      struct ipoib_dev, path.work);
	struct ipoib_path *path, *tmp;
	struct sk_buff_head dropped;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->path.lock);
	list_for_each_entry_safe(path, tmp, &priv->path.list, list) {
		if (!ipoib_path_unused(path))
			continue;
		ipoib_path_unlink(path, &dropped);
		ipoib_path_put(path);
	}
	spin_unlock_bh(&priv->path.lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
	if (test_bit(IPOIB_FLAG_UP, &priv->flags))
		queue_delayed_work(priv->wq, &priv->path.work,
				   IPOIB_PATH_SCAN);
}

/**
 * ipoib_path_start - start ageing
 * @priv: the interface, IPOIB_FLAG_UP set
 */
void ipoib_path_start(struct ipoib_dev *priv)
{
	queue_delayed_work(priv->wq, &priv->path.work, IPOIB_PATH_SCAN);
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
	struct ipoib_path *path;
	struct sk_buff_head dropped;

	cancel_delayed_work_sync(&priv->path.work);
	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->path.lock);
	while (!list_empty(&priv->path.list)) {
		path = list_first_entry(&priv->path.list, struct ipoib_path,
					list);
		ipoib_path_unlink(path, &dropped);
		spin_unlock_bh(&priv->path.lock);
		priv->fabric->path_cancel(priv, path);
		ipoib_path_put(path);
		spin_lock_bh(&priv->path.lock);
	}
	spin_unlock_bh(&priv->path.lock);
	/* Works of paths that are unlinked hold references, too. */
	flush_workqueue(priv->wq);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_FLUSHED);
}

/**
 * ipoib_path_wait_answers - wait until no query is under way
 * @priv: the interface, down for good
 *
 * Context: process; without RTNL, unless it was never registered
 */
void ipoib_path_wait_answers(struct ipoib_dev *priv)
{
	if (refcount_dec_and_test(&priv->queries))
		complete(&priv->queries_done);
	wait_for_completion(&priv->queries_done);
}

/**
 * ipoib_path_init - make the path table
 * @priv: the interface
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_path_init(struct ipoib_dev *priv)
{
	spin_lock_init(&priv->path.lock);
	INIT_LIST_HEAD(&priv->path.list);
	INIT_DELAYED_WORK(&priv->path.work, ipoib_path_age);
	refcount_set(&priv->queries, 1);
	init_completion(&priv->queries_done);
	return rhashtable_init(&priv->path.table, &ipoib_path_params);
}

/**
 * ipoib_path_exit - free the empty path table
 * @priv: the interface, down
 */
void ipoib_path_exit(struct ipoib_dev *priv)
{
	WARN_ON_ONCE(!list_empty(&priv->path.list));
	WARN_ON_ONCE(priv->path.queued);
	rhashtable_destroy(&priv->path.table);
}
