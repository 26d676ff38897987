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
 * record fetched. Paths not used for IPOIB_NEIGH_UNUSED are forgotten.
 */
#include <linux/jiffies.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/neighbour.h>

#include "ipoib.h"
#include "ipoib_trace.h"

/* A neighbour is forgotten after this time without a frame. */
#define IPOIB_NEIGH_UNUSED	(300 * HZ)
#define IPOIB_NEIGH_SCAN		(30 * HZ)
/* How long a failed lookup is remembered, doubled with each failure. */
#define IPOIB_NEIGH_RETRY_MIN	(HZ / 10)
#define IPOIB_NEIGH_RETRY_MAX	(8 * HZ)
/* How long a neighbour waits for a credit; an answer of the SA takes that long, too. */
#define IPOIB_NEIGH_PATIENCE	HZ
/* How long a record is taken for true against what messages of the CM say. */
#define IPOIB_NEIGH_TRUST	(2 * HZ)
/* A path record is read anew no more often because the neighbour is unreachable. */
#define IPOIB_NEIGH_REREAD	(5 * HZ)
/*
 * How many paths are scanned to find one that may be evicted: more than there are queries
 * outstanding.
 */
#define IPOIB_NEIGH_SCAN_MAX	256
/* Failures in a row after which senders are told, as many as ARP and ND try. */
#define IPOIB_NEIGH_UNREACHABLE	3

static const struct rhashtable_params ipoib_neigh_params = {
	.key_len = sizeof_field(struct ipoib_neigh, gid),
	.key_offset = offsetof(struct ipoib_neigh, gid),
	.head_offset = offsetof(struct ipoib_neigh, node),
	.hashfn = ipoib_gid_hash,
	.automatic_shrinking = true,
};

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
	pr_debug("ipoib: path %pI6 destroyed\n", neigh->gid.raw);
	ipoib_object_gone(IPOIB_OBJECT_PATH, 1);
	kfree_rcu(neigh, rcu);
}

/* @state: one that does not follow the present one is warned of. */
static void ipoib_neigh_set_state(struct ipoib_neigh *neigh, enum ipoib_neigh_state state)
{
	static const unsigned long before[] = {
		[IPOIB_NEIGH_IDLE]	= BIT(IPOIB_NEIGH_FAILED),
		[IPOIB_NEIGH_WAITING]	= BIT(IPOIB_NEIGH_IDLE) | BIT(IPOIB_NEIGH_VALID) |
					  BIT(IPOIB_NEIGH_FAILED),
		[IPOIB_NEIGH_RESOLVING]	= BIT(IPOIB_NEIGH_WAITING),
		[IPOIB_NEIGH_VALID]	= BIT(IPOIB_NEIGH_RESOLVING),
		[IPOIB_NEIGH_FAILED]	= BIT(IPOIB_NEIGH_WAITING) |
					  BIT(IPOIB_NEIGH_RESOLVING),
	};

	lockdep_assert_held(&neigh->priv->neigh.lock);
	WARN_ON_ONCE(!(before[state] & BIT(neigh->state)));
	neigh->state = state;
}

/* An answer, or a credit for the question, is to come. */
static bool ipoib_neigh_is_asked(const struct ipoib_neigh *neigh)
{
	return neigh->state == IPOIB_NEIGH_WAITING ||
	       neigh->state == IPOIB_NEIGH_RESOLVING;
}

/* Run the work after @delay jiffies, or before if it is due then. */
static void ipoib_neigh_queue(struct ipoib_neigh *neigh, unsigned long delay)
{
	struct workqueue_struct *wq = neigh->priv->wq;

	refcount_inc(&neigh->ref);
	if (delay ? !queue_delayed_work(wq, &neigh->work, delay) :
		    mod_delayed_work(wq, &neigh->work, 0))
		refcount_dec(&neigh->ref);
}

static void ipoib_neigh_granted(struct ipoib_credit *credit)
{
	ipoib_neigh_queue(container_of(credit, struct ipoib_neigh, credit), 0);
}

static void ipoib_neigh_unpark(struct ipoib_neigh *neigh,
			      struct sk_buff_head *frames)
{
	lockdep_assert_held(&neigh->priv->neigh.lock);
	neigh->priv->neigh.queued -= skb_queue_len(&neigh->queue);
	ipoib_object_unpark(&neigh->queue, frames);
}

/* Take a neighbour out of the table; its frames go to @dropped. */
static void ipoib_neigh_unlink(struct ipoib_neigh *neigh,
			      struct sk_buff_head *dropped)
{
	struct ipoib_dev *priv = neigh->priv;

	lockdep_assert_held(&priv->neigh.lock);
	rhashtable_remove_fast(&priv->neigh.table, &neigh->node, ipoib_neigh_params);
	list_del_init(&neigh->list);
	priv->neigh.npaths--;
	if (neigh->state == IPOIB_NEIGH_WAITING)
		ipoib_credit_put(priv->neigh.limit, &neigh->credit);
	if (cancel_delayed_work(&neigh->work))
		refcount_dec(&neigh->ref);
	ipoib_neigh_unpark(neigh, dropped);
}

static void ipoib_neigh_set_failed(struct ipoib_neigh *neigh,
				  struct sk_buff_head *dropped)
{
	lockdep_assert_held(&neigh->priv->neigh.lock);
	WRITE_ONCE(neigh->retry_at, jiffies +
		   ipoib_backoff(neigh->failures++, IPOIB_NEIGH_RETRY_MIN,
				 IPOIB_NEIGH_RETRY_MAX));
	ipoib_neigh_set_state(neigh, IPOIB_NEIGH_FAILED);
	/* An old handle stays in use; the next try is made by a frame. */
	WRITE_ONCE(neigh->stale, rcu_access_pointer(neigh->ah));
	/* Those that wait though there is a handle are just about to be sent. */
	if (!neigh->stale)
		ipoib_neigh_unpark(neigh, dropped);
}

/*
 * Query the fabric if there is a credit, else the work goes on. The query holds a reference
 * until ipoib_neigh_answered().
 */
static void ipoib_neigh_query(struct ipoib_neigh *neigh,
			     struct sk_buff_head *dropped)
{
	struct ipoib_dev *priv = neigh->priv;
	int err;

	lockdep_assert_held(&priv->neigh.lock);
	WRITE_ONCE(neigh->stale, false);
	if (!ipoib_credit_get(priv->neigh.limit, &neigh->credit))
		return;
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
	ipoib_neigh_set_failed(neigh, dropped);
	/* Not the last references: the table and the interface hold some. */
	refcount_dec(&neigh->ref);
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
static void ipoib_arp_mark_stale(struct sk_buff *skb,
					const struct ipoib_lladdr *to,
					unsigned long asked_at)
{
	u8 addr[MAX_ADDR_LEN] __aligned(sizeof(unsigned long));
	struct dst_entry *dst = skb_dst(skb);
	struct neighbour *n;

	n = dst ? dst_neigh_lookup_skb(dst, skb) : NULL;
	if (!n)
		return;
	neigh_ha_snapshot(addr, n, n->dev);
	if (n->dev->addr_len == sizeof(*to) &&
	    !memcmp(addr, to, sizeof(*to)) &&
	    (READ_ONCE(n->nud_state) & NUD_VALID) &&
	    time_before(READ_ONCE(n->confirmed), asked_at))
		neigh_update(n, NULL, NUD_FAILED, 0, 0);
	neigh_release(n);
}

/* @unreachable: with an ICMP error to their senders, as for a dead neighbour. */
static void ipoib_arp_drop(struct ipoib_dev *priv, struct sk_buff_head *frames,
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
			ipoib_arp_mark_stale(skb, &header->lladdr, jiffies);
			dst_link_failure(skb);
		}
		local_bh_enable();
	}
	ipoib_drop_list(priv, frames, IPOIB_TX_NO_PATH);
}

/* A credit has come, or has not for IPOIB_NEIGH_PATIENCE: that is a failure. */
static void ipoib_arp_work(struct work_struct *work)
{
	struct ipoib_neigh *neigh = container_of(to_delayed_work(work),
					       struct ipoib_neigh, work);
	struct ipoib_dev *priv = neigh->priv;
	struct sk_buff_head dropped;
	bool unreachable;
	long left;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->neigh.lock);
	/* One that is in no list has been unlinked. */
	if (neigh->state == IPOIB_NEIGH_WAITING && !list_empty(&neigh->list))
		ipoib_neigh_query(neigh, &dropped);
	if (neigh->state == IPOIB_NEIGH_WAITING && !list_empty(&neigh->list)) {
		left = neigh->asked_at + IPOIB_NEIGH_PATIENCE - jiffies;
		if (left > 0) {
			ipoib_neigh_queue(neigh, left);
		} else {
			ipoib_credit_put(priv->neigh.limit, &neigh->credit);
			ipoib_neigh_set_failed(neigh, &dropped);
		}
	}
	unreachable = neigh->failures >= IPOIB_NEIGH_UNREACHABLE;
	spin_unlock_bh(&priv->neigh.lock);
	ipoib_arp_drop(priv, &dropped, unreachable);
	ipoib_neigh_put(neigh);
}

static struct ipoib_neigh *ipoib_neigh_alloc(struct ipoib_dev *priv,
					   const u8 *gid)
{
	struct ipoib_neigh *neigh = kzalloc(sizeof(*neigh), GFP_ATOMIC);

	if (!neigh)
		return NULL;
	memcpy(neigh->gid.raw, gid, sizeof(neigh->gid));
	neigh->priv = priv;
	neigh->used = jiffies;
	neigh->retry_at = jiffies;
	neigh->reread_at = jiffies;
	__skb_queue_head_init(&neigh->queue);
	INIT_DELAYED_WORK(&neigh->work, ipoib_arp_work);
	ipoib_credit_init(&neigh->credit, IPOIB_CREDIT_PATH, ipoib_neigh_granted);
	refcount_set(&neigh->ref, 1);
	pr_debug("ipoib: path %pI6 created\n", neigh->gid.raw);
	return neigh;
}

/* Evict a neighbour that was not found, of the oldest. Anyone may invent addresses. */
static bool ipoib_neigh_make_room(struct ipoib_dev *priv,
				 struct sk_buff_head *dropped)
{
	struct ipoib_neigh *neigh;
	unsigned int n;

	for (n = 0; n < IPOIB_NEIGH_SCAN_MAX; n++) {
		neigh = list_first_entry(&priv->neigh.list, struct ipoib_neigh,
					list);
		if (!rcu_access_pointer(neigh->ah) &&
		    (neigh->state == IPOIB_NEIGH_FAILED ||
		     neigh->state == IPOIB_NEIGH_WAITING)) {
			ipoib_neigh_unlink(neigh, dropped);
			ipoib_neigh_put(neigh);
			return true;
		}
		/* The next scan begins behind it. */
		list_move_tail(&neigh->list, &priv->neigh.list);
	}
	return false;
}

/*
 * Find the neighbour @gid or make one. Caller holds neigh.lock. Returns NULL with the
 * reason in @why.
 */
static struct ipoib_neigh *ipoib_neigh_find(struct ipoib_dev *priv, const u8 *gid,
					  struct sk_buff_head *dropped,
					  enum ipoib_stat *why)
{
	struct ipoib_neigh *neigh;

	lockdep_assert_held(&priv->neigh.lock);
	neigh = rhashtable_lookup_fast(&priv->neigh.table, gid, ipoib_neigh_params);
	if (neigh)
		return neigh;
	*why = IPOIB_TX_PATH_CAP;
	if (priv->neigh.npaths >= IPOIB_NEIGH_MAX &&
	    !ipoib_neigh_make_room(priv, dropped)) {
		netdev_warn_once(priv->netdev, "more than %u paths\n",
				 IPOIB_NEIGH_MAX);
		return NULL;
	}
	*why = IPOIB_TX_MAP;
	neigh = ipoib_neigh_alloc(priv, gid);
	if (!neigh)
		return NULL;
	if (rhashtable_insert_fast(&priv->neigh.table, &neigh->node,
				   ipoib_neigh_params)) {
		kfree(neigh);
		return NULL;
	}
	list_add_tail(&neigh->list, &priv->neigh.list);
	priv->neigh.npaths++;
	ipoib_object_made(IPOIB_OBJECT_PATH);
	return neigh;
}

/*
 * Have the fabric queried, if that is due. A frame without an address handle, or behind others
 * that wait, waits, or is dropped with a reason: false. @dropped takes what there is no path
 * for.
 */
static bool ipoib_arp_pass(struct ipoib_neigh *neigh, struct sk_buff *skb,
			    struct sk_buff_head *dropped)
{
	bool known = rcu_access_pointer(neigh->ah);
	bool send = known && skb_queue_empty(&neigh->queue);
	struct ipoib_dev *priv = neigh->priv;
	bool query;

	lockdep_assert_held(&priv->neigh.lock);
	query = (!known || neigh->stale) && !ipoib_neigh_is_asked(neigh) &&
		(neigh->state != IPOIB_NEIGH_FAILED ||
		 time_after_eq(jiffies, neigh->retry_at));
	if (query) {
		ipoib_neigh_set_state(neigh, IPOIB_NEIGH_WAITING);
		neigh->asked_at = jiffies;
	}
	/* The frame waits before the query is made, which may fail at once. */
	if (send) {
		/* By the handle that there is. */
	} else if (!ipoib_neigh_is_asked(neigh) && skb_queue_empty(&neigh->queue)) {
		__skb_queue_tail(dropped, skb);
	} else if (skb_queue_len(&neigh->queue) >= IPOIB_NEIGH_QUEUE ||
		   priv->neigh.queued >= IPOIB_NEIGH_QUEUED) {
		ipoib_drop(priv, skb, IPOIB_TX_QUEUE_FULL);
	} else {
		priv->neigh.queued++;
		ipoib_object_park(&neigh->queue, skb);
	}
	if (query)
		ipoib_neigh_query(neigh, dropped);
	if (query && neigh->state == IPOIB_NEIGH_WAITING)
		ipoib_neigh_queue(neigh, IPOIB_NEIGH_PATIENCE);
	return send;
}

/* No usable address handle. Consumes @skb unless it can be sent after all. */
static bool ipoib_arp_xmit_slow(struct ipoib_dev *priv, struct sk_buff *skb,
				 const u8 *gid)
{
	enum ipoib_stat why = IPOIB_TX_MAP;
	struct sk_buff_head dropped;
	unsigned long asked_at = 0;
	struct ipoib_neigh *neigh;
	bool unreachable = false;
	bool send = false;

	__skb_queue_head_init(&dropped);
	spin_lock(&priv->neigh.lock);
	neigh = ipoib_neigh_find(priv, gid, &dropped, &why);
	if (neigh) {
		send = ipoib_arp_pass(neigh, skb, &dropped);
		unreachable = neigh->failures >= IPOIB_NEIGH_UNREACHABLE;
		asked_at = neigh->asked_at;
	} else {
		ipoib_drop(priv, skb, why);
	}
	spin_unlock(&priv->neigh.lock);
	if (unreachable) {
		skb_queue_walk(&dropped, skb) {
			const struct ipoib_lladdr *to = (const void *)skb->data;

			/* Others may have had to make room. */
			if (!memcmp(to->gid, gid, sizeof(to->gid)))
				ipoib_arp_mark_stale(skb, to, asked_at);
		}
	}
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
	return send;
}

/*
 * Is a new record wanted, and the pause after the last failure over? Until then
 * frames leave neigh.lock alone.
 */
static bool ipoib_neigh_renewable(const struct ipoib_neigh *neigh)
{
	return READ_ONCE(neigh->stale) &&
	       time_after_eq(jiffies, READ_ONCE(neigh->retry_at));
}

/* @slow: a new record is wanted, or frames that wait go first. */
static struct ipoib_ah *ipoib_neigh_ah(struct ipoib_dev *priv, const u8 *gid,
				      bool *slow)
{
	struct ipoib_neigh *neigh;

	neigh = rhashtable_lookup(&priv->neigh.table, gid, ipoib_neigh_params);
	if (unlikely(!neigh))
		return NULL;
	ipoib_touch(&neigh->used);
	*slow = ipoib_neigh_renewable(neigh) ||
		!skb_queue_empty_lockless(&neigh->queue);
	return rcu_dereference(neigh->ah);
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

	ah = ipoib_neigh_ah(priv, to->gid, &slow);
	if (unlikely(!ah || slow)) {
		if (!ipoib_arp_xmit_slow(priv, skb, to->gid))
			return;
		ah = ipoib_neigh_ah(priv, to->gid, &slow);
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

/* The neighbour that has a GID if there is an address handle, else NULL. */
static struct ipoib_neigh *ipoib_neigh_usable(struct ipoib_dev *priv,
					    const u8 *gid)
{
	struct ipoib_neigh *neigh;

	lockdep_assert_held(&priv->neigh.lock);
	neigh = rhashtable_lookup_fast(&priv->neigh.table, gid, ipoib_neigh_params);
	return neigh && rcu_access_pointer(neigh->ah) ? neigh : NULL;
}

/**
 * ipoib_neigh_record - copy the path record to a GID
 * @priv: the interface
 * @gid: the GID
 * @rec: result
 *
 * Returns: whether a record is known
 * Context: any but hard interrupt, without &ipoib_neighs.lock
 */
bool ipoib_neigh_record(struct ipoib_dev *priv, const u8 *gid,
		       struct sa_path_rec *rec)
{
	struct ipoib_neigh *neigh;

	spin_lock_bh(&priv->neigh.lock);
	neigh = ipoib_neigh_usable(priv, gid);
	if (neigh)
		*rec = neigh->rec;
	spin_unlock_bh(&priv->neigh.lock);
	return neigh;
}

/**
 * ipoib_neigh_contradicted - a message came from a GID, but not from where its path leads
 * @priv: the interface
 * @gid: the GID
 *
 * Either the sender forges the GID or the port has another address now: the next frame has
 * the record fetched anew. Anyone can cause that, so a record younger than
 * IPOIB_NEIGH_TRUST is kept.
 *
 * Context: any but hard interrupt, without &ipoib_neighs.lock
 */
void ipoib_neigh_contradicted(struct ipoib_dev *priv, const u8 *gid)
{
	struct ipoib_neigh *neigh;

	spin_lock_bh(&priv->neigh.lock);
	neigh = ipoib_neigh_usable(priv, gid);
	if (neigh && neigh->state == IPOIB_NEIGH_VALID &&
	    time_after(jiffies, neigh->asked_at + IPOIB_NEIGH_TRUST)) {
		WRITE_ONCE(neigh->retry_at, jiffies);
		WRITE_ONCE(neigh->stale, true);
	}
	spin_unlock_bh(&priv->neigh.lock);
}

/**
 * ipoib_neigh_is_stale - whether the record is being fetched anew, or the next frame causes it
 * @priv: the interface
 * @gid: the GID
 *
 * Returns: false if no record is known, too
 * Context: any but hard interrupt, without &ipoib_neighs.lock
 */
bool ipoib_neigh_is_stale(struct ipoib_dev *priv, const u8 *gid)
{
	struct ipoib_neigh *neigh;
	bool old;

	spin_lock_bh(&priv->neigh.lock);
	neigh = ipoib_neigh_usable(priv, gid);
	old = neigh && (neigh->stale || ipoib_neigh_is_asked(neigh));
	spin_unlock_bh(&priv->neigh.lock);
	return old;
}

static struct ipoib_ah *ipoib_neigh_make_ah(struct ipoib_neigh *neigh,
					   const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = neigh->priv;
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
static struct ipoib_ah *ipoib_neigh_publish(struct ipoib_neigh *neigh,
					   struct ipoib_ah *ah,
					   const struct sa_path_rec *rec,
					   struct sk_buff_head *dropped)
{
	struct ipoib_ah *old = NULL;

	lockdep_assert_held(&neigh->priv->neigh.lock);
	neigh->query = NULL;
	if (IS_ERR(ah)) {
		ipoib_neigh_set_failed(neigh, dropped);
		return NULL;
	}
	neigh->failures = 0;
	ipoib_neigh_set_state(neigh, IPOIB_NEIGH_VALID);
	neigh->rec = *rec;
	old = rcu_dereference_protected(neigh->ah, 1);
	rcu_assign_pointer(neigh->ah, ah);
	return old;
}

/*
 * A path that takes less than the link promises loses what is long and nothing else,
 * and nobody tells: say so, once for each time that it becomes so.
 */
static void ipoib_neigh_check(struct ipoib_neigh *neigh,
			     const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = neigh->priv;
	/* What the port itself does not take is told elsewhere. */
	int link = min_t(int, READ_ONCE(priv->mcast_mtu),
			 READ_ONCE(priv->port_mtu));
	int mtu = ipoib_mtu_from_ib(rec->mtu);
	bool odd = mtu < link ||
		   (rec->rate && ib_rate_to_mbps(rec->rate) <= 0);

	if (odd && !neigh->odd && net_ratelimit())
		netdev_warn(priv->netdev,
			    "path to %pI6 has MTU %d (the link %d), rate code %u: long packets may be lost\n",
			    neigh->gid.raw, mtu, link, rec->rate);
	neigh->odd = odd;
}

static void ipoib_arp_send(struct ipoib_neigh *neigh)
{
	struct ipoib_dev *priv = neigh->priv;
	unsigned int n;

	n = ipoib_ud_send_queue(priv, &priv->neigh.lock, &neigh->queue,
				ipoib_arp_xmit);
	spin_lock_bh(&priv->neigh.lock);
	priv->neigh.queued -= n;
	spin_unlock_bh(&priv->neigh.lock);
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
void ipoib_neigh_answered(struct ipoib_neigh *neigh, int status,
		     const struct sa_path_rec *rec)
{
	struct ipoib_dev *priv = neigh->priv;
	struct ipoib_ah *ah = ERR_PTR(status);
	struct sk_buff_head dropped;
	struct ipoib_ah *old;
	bool unreachable;

	ipoib_credit_put(priv->neigh.limit, &neigh->credit);
	if (!status)
		ah = ipoib_neigh_make_ah(neigh, rec);
	trace_ipoib_path(priv->netdev, neigh->gid.raw, "answer",
			 PTR_ERR_OR_ZERO(ah));
	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->neigh.lock);
	old = ipoib_neigh_publish(neigh, ah, rec, &dropped);
	unreachable = neigh->failures >= IPOIB_NEIGH_UNREACHABLE;
	spin_unlock_bh(&priv->neigh.lock);
	ipoib_ah_retire(priv, old);
	if (IS_ERR(ah)) {
		ipoib_stat_add(priv, IPOIB_PATH_FAILURE, 1);
	} else {
		ipoib_neigh_check(neigh, rec);
		ipoib_arp_send(neigh);
	}
	ipoib_cm_path_read(priv, neigh->gid.raw);
	ipoib_arp_drop(priv, &dropped, unreachable);
	ipoib_neigh_put(neigh);
	ipoib_dev_put_query(priv);
}

/* The next frame has the record fetched anew. */
static void ipoib_neigh_mark_stale(struct ipoib_neigh *neigh)
{
	lockdep_assert_held(&neigh->priv->neigh.lock);
	WRITE_ONCE(neigh->retry_at, jiffies);
	WRITE_ONCE(neigh->stale, true);
	neigh->failures = 0;
	if (neigh->state == IPOIB_NEIGH_FAILED)
		ipoib_neigh_set_state(neigh, IPOIB_NEIGH_IDLE);
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
 * ipoib_neigh_port_moved - the SA reports that a port has come or gone
 * @priv: the interface
 * @gid: GID of the port
 * @here: it is in service; else it is not
 *
 * What is known of a port that went is dropped. One that came may have another
 * LID: frames use the old handle until there is an answer.
 *
 * Context: any but hard interrupt
 */
void ipoib_neigh_port_moved(struct ipoib_dev *priv, const union ib_gid *gid,
			bool here)
{
	struct ipoib_neigh *neigh;
	struct sk_buff_head dropped;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->neigh.lock);
	neigh = rhashtable_lookup_fast(&priv->neigh.table, gid, ipoib_neigh_params);
	if (neigh && here) {
		ipoib_neigh_mark_stale(neigh);
	} else if (neigh) {
		ipoib_neigh_unlink(neigh, &dropped);
		ipoib_neigh_put(neigh);
	}
	spin_unlock_bh(&priv->neigh.lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
}

static bool ipoib_neigh_is_elsewhere(const struct ipoib_neigh *neigh, const u8 *mac)
{
	return !mac || !ether_addr_equal_unaligned(neigh->rec.roce.dmac, mac);
}

/**
 * ipoib_neigh_mac_moved - the MAC address that has a GID is known
 * @priv: the interface
 * @gid: the GID
 * @mac: the MAC address, NULL if nothing answers
 *
 * A record that is not true is fetched anew; a path that was not found may be
 * looked for again at once.
 *
 * Context: any but hard interrupt
 */
void ipoib_neigh_mac_moved(struct ipoib_dev *priv, const union ib_gid *gid,
			  const u8 *mac)
{
	struct ipoib_neigh *neigh;

	spin_lock_bh(&priv->neigh.lock);
	neigh = rhashtable_lookup_fast(&priv->neigh.table, gid, ipoib_neigh_params);
	if (neigh && neigh->state == IPOIB_NEIGH_FAILED && mac) {
		neigh->failures = 0;
		ipoib_neigh_set_state(neigh, IPOIB_NEIGH_IDLE);
	} else if (neigh && ((neigh->state == IPOIB_NEIGH_VALID &&
			     ipoib_neigh_is_elsewhere(neigh, mac)) ||
			    (neigh->state == IPOIB_NEIGH_RESOLVING && mac))) {
		/* An answer that is on its way may be of before. */
		WRITE_ONCE(neigh->retry_at, jiffies);
		WRITE_ONCE(neigh->stale, true);
	}
	spin_unlock_bh(&priv->neigh.lock);
}

/**
 * ipoib_arp_neigh_event - a neighbour of the stack has changed
 * @priv: the interface
 * @n: the neighbour
 *
 * If the stack finds it unreachable, perhaps it has another LID, and no report has
 * told of that. The record is read anew by the next frame, once in a while only: most
 * of such neighbours are just not there.
 *
 * Context: any but hard interrupt; the lock of the neighbour table may be held
 */
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *n)
{
	struct ipoib_lladdr addr;
	struct ipoib_neigh *neigh;

	if (READ_ONCE(n->nud_state) != NUD_FAILED)
		return;
	neigh_ha_snapshot((char *)&addr, n, n->dev);
	spin_lock_bh(&priv->neigh.lock);
	neigh = rhashtable_lookup_fast(&priv->neigh.table, addr.gid,
				      ipoib_neigh_params);
	if (neigh && neigh->state == IPOIB_NEIGH_VALID && !neigh->stale &&
	    time_after_eq(jiffies, neigh->reread_at)) {
		neigh->reread_at = jiffies + IPOIB_NEIGH_REREAD;
		ipoib_neigh_mark_stale(neigh);
	}
	spin_unlock_bh(&priv->neigh.lock);
}

/* ---- debugfs ---- */

static void ipoib_neigh_one(struct seq_file *file, struct ipoib_neigh *neigh)
{
	bool complete = rcu_access_pointer(neigh->ah);

	seq_printf(file, "GID: %pI6\n", neigh->gid.raw);
	seq_printf(file, "  complete: %6s\n", complete ? "yes" : "no");
	if (complete)
		neigh->priv->fabric->path_show(file, neigh);
	seq_putc(file, '\n');
}

static void *ipoib_neigh_seq_start(struct seq_file *file, loff_t *pos)
	__acquires(&priv->neigh.lock)
{
	struct ipoib_dev *priv = file->private;

	spin_lock_bh(&priv->neigh.lock);
	return seq_list_start(&priv->neigh.list, *pos);
}

static void *ipoib_neigh_seq_next(struct seq_file *file, void *at, loff_t *pos)
{
	struct ipoib_dev *priv = file->private;

	return seq_list_next(at, &priv->neigh.list, pos);
}

static void ipoib_neigh_seq_stop(struct seq_file *file, void *at)
	__releases(&priv->neigh.lock)
{
	struct ipoib_dev *priv = file->private;

	spin_unlock_bh(&priv->neigh.lock);
}

static int ipoib_neigh_show(struct seq_file *file, void *at)
{
	ipoib_neigh_one(file, list_entry(at, struct ipoib_neigh, list));
	return 0;
}

/* Of a file whose private data is the interface. */
const struct seq_operations ipoib_neigh_sops = {
	.start = ipoib_neigh_seq_start,
	.next = ipoib_neigh_seq_next,
	.stop = ipoib_neigh_seq_stop,
	.show = ipoib_neigh_show,
};

/* ---- ageing ---- */

static bool ipoib_neigh_unused(const struct ipoib_neigh *neigh)
{
	return neigh->state != IPOIB_NEIGH_RESOLVING &&
	       time_after(jiffies, READ_ONCE(neigh->used) + IPOIB_NEIGH_UNUSED);
}

static void ipoib_neigh_age(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work),
					      struct ipoib_dev, neigh.work);
	struct ipoib_neigh *neigh, *tmp;
	struct sk_buff_head dropped;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->neigh.lock);
	list_for_each_entry_safe(neigh, tmp, &priv->neigh.list, list) {
		if (!ipoib_neigh_unused(neigh))
			continue;
		ipoib_neigh_unlink(neigh, &dropped);
		ipoib_neigh_put(neigh);
	}
	spin_unlock_bh(&priv->neigh.lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_NO_PATH);
	if (test_bit(IPOIB_FLAG_UP, &priv->flags))
		queue_delayed_work(priv->wq, &priv->neigh.work,
				   IPOIB_NEIGH_SCAN);
}

/**
 * ipoib_neigh_start - start ageing
 * @priv: the interface, IPOIB_FLAG_UP set
 */
void ipoib_neigh_start(struct ipoib_dev *priv)
{
	queue_delayed_work(priv->wq, &priv->neigh.work, IPOIB_NEIGH_SCAN);
}

/**
 * ipoib_neigh_stop - forget all paths
 * @priv: the interface, IPOIB_FLAG_UP cleared and transmit queues stopped
 *
 * Queries under way are cancelled, not waited for: they hold references.
 *
 * Context: RTNL held; may sleep
 */
void ipoib_neigh_stop(struct ipoib_dev *priv)
{
	struct ipoib_neigh *neigh;
	struct sk_buff_head dropped;

	cancel_delayed_work_sync(&priv->neigh.work);
	__skb_queue_head_init(&dropped);
	spin_lock_bh(&priv->neigh.lock);
	while (!list_empty(&priv->neigh.list)) {
		neigh = list_first_entry(&priv->neigh.list, struct ipoib_neigh,
					list);
		ipoib_neigh_unlink(neigh, &dropped);
		spin_unlock_bh(&priv->neigh.lock);
		priv->fabric->path_cancel(priv, neigh);
		ipoib_neigh_put(neigh);
		spin_lock_bh(&priv->neigh.lock);
	}
	spin_unlock_bh(&priv->neigh.lock);
	/* Works of paths that are unlinked hold references, too. */
	flush_workqueue(priv->wq);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_FLUSHED);
}

/**
 * ipoib_neigh_wait_answers - wait until no query is under way
 * @priv: the interface, down for good
 *
 * Context: process; without RTNL, unless it was never registered
 */
void ipoib_neigh_wait_answers(struct ipoib_dev *priv)
{
	if (refcount_dec_and_test(&priv->queries))
		complete(&priv->queries_done);
	wait_for_completion(&priv->queries_done);
}

/**
 * ipoib_neigh_init - make the table of neighbours
 * @priv: the interface
 *
 * Return: 0 or -ENOMEM
 */
int ipoib_neigh_init(struct ipoib_dev *priv)
{
	spin_lock_init(&priv->neigh.lock);
	INIT_LIST_HEAD(&priv->neigh.list);
	INIT_DELAYED_WORK(&priv->neigh.work, ipoib_neigh_age);
	refcount_set(&priv->queries, 1);
	init_completion(&priv->queries_done);
	return rhashtable_init(&priv->neigh.table, &ipoib_neigh_params);
}

/**
 * ipoib_neigh_exit - free the empty table of neighbours
 * @priv: the interface, down
 */
void ipoib_neigh_exit(struct ipoib_dev *priv)
{
	WARN_ON_ONCE(!list_empty(&priv->neigh.list));
	WARN_ON_ONCE(priv->neigh.queued);
	rhashtable_destroy(&priv->neigh.table);
}
