/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Neighbours of an interface: the ports that frames are sent to, and the path to each,
 * ipoib_neigh.c; frames to them, ipoib_arp.c.
 */
#ifndef IPOIB_NEIGH_H
#define IPOIB_NEIGH_H

#include <linux/jhash.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "ipoib_limit.h"
#include "ipoib_stats.h"
#include "ipoib_ud.h"

struct ipoib_dev;
struct neighbour;

/* Neighbours of an interface. */
#define IPOIB_NEIGH_MAX		16384
/* A REQ from another port does not contradict a path record that is younger than this. */
#define IPOIB_NEIGH_TRUST	(2 * HZ)

/**
 * enum ipoib_neigh_state - state of the path record
 * @IPOIB_NEIGH_NONE: there is none, or none to rely on; not requested before
 *	&ipoib_neigh.retry_at, and until then frames are dropped if there is no address handle
 * @IPOIB_NEIGH_WAITING: to be requested as soon as there is a credit; frames wait
 * @IPOIB_NEIGH_RESOLVING: requested from the fabric; frames wait
 * @IPOIB_NEIGH_VALID: there is one, and an address handle made from it
 */
enum ipoib_neigh_state {
	IPOIB_NEIGH_NONE,
	IPOIB_NEIGH_WAITING,
	IPOIB_NEIGH_RESOLVING,
	IPOIB_NEIGH_VALID,
};

/**
 * struct ipoib_neigh - a port that frames are sent to
 * @node: in &ipoib_neighs.table; read by each frame, as all up to @queue
 * @gid: key. The QPN of a link-layer address is no part of it: the path depends on the GID
 *	alone, so all interfaces on a port have one record, query and address handle
 * @ah: published address handle; an old one stays while a new path record is
 *	fetched
 * @stale: @rec is fetched, or fetched again, by the first frame after @retry_at
 * @retry_at: jiffies, valid if @stale; written under neigh.lock
 * @used: jiffies, with a resolution of a second, of the last frame
 * @peers: &struct ipoib_peer of connected mode, one for each QPN that frames go to on a
 *	connection, or would; changed under &ipoib_cm.lock, and added to under neigh.lock, too
 * @queue: frames that wait, whole with their &struct ipoib_header; under neigh.lock, as all
 *	that follows
 * @priv: the interface
 * @list: in &ipoib_neighs.list; empty if it is in the table no more
 * @work: ipoib_arp_work(), when there is a credit, or has been none for a second, after
 *	an answer, when a closed connection has left frames in @queue, and when it has been
 *	unlinked with @peers; on &ipoib_neighs.wq
 * @credit: of its query: waited for in IPOIB_NEIGH_WAITING, held until the query has ended
 * @state: see &enum ipoib_neigh_state
 * @query: the query as the fabric knows it, NULL if none
 * @query_id: the same, if the fabric uses numbers
 * @asked_at: jiffies: when the fabric was to be asked
 * @failures: failed queries in a row
 * @rec: last path record
 * @odd: it takes less than the link, which has been logged; answers only, without the lock
 * @ref: held by the table, by each query and by the queued @work
 * @rcu: frees it
 */
struct ipoib_neigh {
	struct rhash_head node;
	union ib_gid gid;
	struct ipoib_ah __rcu *ah;
	bool stale;
	unsigned long retry_at;
	unsigned long used;
	struct hlist_head peers;
	struct sk_buff_head queue;

	struct ipoib_dev *priv;
	struct list_head list;
	struct delayed_work work;
	struct ipoib_credit credit;
	enum ipoib_neigh_state state;
	void *query;
	int query_id;
	unsigned long asked_at;
	unsigned int failures;
	struct sa_path_rec rec;
	bool odd;
	refcount_t ref;
	struct rcu_head rcu;
};

/* Frames that may wait in one queue; behind those that a connection has given back, many more. */
#define IPOIB_NEIGH_QUEUE	32
#define IPOIB_NEIGH_RESENT	320

/**
 * ipoib_neigh_fits - whether a frame may wait in a queue
 * @len: frames in the queue
 * @most: frames that may be in it
 * @room: frames that all queues of the kind have room for; negative if there are too many
 *
 * A queue has at most an eighth of the room that is left: many queues of one port leave some
 * for those of others.
 *
 * Return: true if so
 */
static inline bool ipoib_neigh_fits(unsigned int len, unsigned int most, int room)
{
	return (int)len < min_t(int, most, room / 8);
}

/**
 * enum ipoib_wait - what frames wait for; neither kind takes the room of the other
 * @IPOIB_WAIT_PATH: a path, the work of a neighbour, or a connection
 * @IPOIB_WAIT_RING: room in the ring of a connection, for as long as its peer reads nothing
 * @IPOIB_WAIT_KINDS: how many kinds there are
 */
enum ipoib_wait {
	IPOIB_WAIT_PATH,
	IPOIB_WAIT_RING,
	IPOIB_WAIT_KINDS,
};

/**
 * struct ipoib_neighs - the neighbours of an interface
 */
struct ipoib_neighs {
	/** @table: &struct ipoib_neigh by GID, read under RCU */
	struct rhashtable table;
	/** @lock: protects what follows, and the neighbours */
	spinlock_t lock;
	/** @list: all neighbours */
	struct list_head list;
	/** @queued: frames that wait, by &enum ipoib_wait; without the lock */
	atomic_t queued[IPOIB_WAIT_KINDS];
	/** @limit: of outstanding path queries; NULL if there is none */
	struct ipoib_limit *limit;
	/** @wq: unbound, of the works of neighbours and of @work */
	struct workqueue_struct *wq;
	/** @work: ages neighbours */
	struct delayed_work work;
};

/**
 * ipoib_gid_hash - hash of the GID of a port or a group
 * @data: the GID
 * @len: its length
 * @seed: of the table
 *
 * The first word is left out: hardly anything differs there on one link.
 *
 * Return: the hash
 */
static inline u32 ipoib_gid_hash(const void *data, u32 len, u32 seed)
{
	const u32 *word = data;

	return jhash_3words(word[1], word[2], word[3], seed);
}

static inline int ipoib_neigh_compare(struct rhashtable_compare_arg *arg, const void *object)
{
	const struct ipoib_neigh *neigh = object;

	return !ipv6_addr_equal(arg->key, (const struct in6_addr *)&neigh->gid);
}

static const struct rhashtable_params ipoib_neigh_params = {
	.key_len = sizeof_field(struct ipoib_neigh, gid),
	.key_offset = offsetof(struct ipoib_neigh, gid),
	.head_offset = offsetof(struct ipoib_neigh, node),
	.hashfn = ipoib_gid_hash,
	.obj_cmpfn = ipoib_neigh_compare,
	.automatic_shrinking = true,
};

/**
 * ipoib_neigh_find - find a neighbour
 * @neighs: of the interface
 * @gid: its GID, on a boundary of four octets
 *
 * Context: RCU read side
 * Return: the neighbour, valid until the end of the read side, or NULL
 */
static inline struct ipoib_neigh *ipoib_neigh_find(struct ipoib_neighs *neighs, const u8 *gid)
{
	return rhashtable_lookup(&neighs->table, gid, ipoib_neigh_params);
}

/**
 * ipoib_neigh_is_due - whether a path record is missing or stale, and may be requested
 * @neigh: the neighbour
 *
 * Until the pause after a failure is over, frames that have a handle leave neigh.lock alone.
 *
 * Return: true if so, also if it has been requested since
 */
static inline bool ipoib_neigh_is_due(const struct ipoib_neigh *neigh)
{
	return READ_ONCE(neigh->stale) &&
	       time_after_eq(jiffies, READ_ONCE(neigh->retry_at));
}

/**
 * ipoib_neigh_is_asked - whether an answer, or a credit for the query, is to come
 * @neigh: the neighbour
 *
 * Context: &ipoib_neighs.lock held
 * Return: true if so
 */
static inline bool ipoib_neigh_is_asked(const struct ipoib_neigh *neigh)
{
	return neigh->state == IPOIB_NEIGH_WAITING ||
	       neigh->state == IPOIB_NEIGH_RESOLVING;
}

/* ipoib_neigh.c */
int ipoib_neigh_init(struct ipoib_dev *priv);
void ipoib_neigh_exit(struct ipoib_dev *priv);
void ipoib_neigh_start(struct ipoib_dev *priv);
void ipoib_neigh_stop(struct ipoib_dev *priv);
struct ipoib_neigh *ipoib_neigh_get(struct ipoib_dev *priv, const u8 *gid,
				    work_func_t work, enum ipoib_stat *why);
void ipoib_neigh_put(struct ipoib_neigh *neigh);
void ipoib_neigh_ask(struct ipoib_neigh *neigh);
void ipoib_neigh_try(struct ipoib_neigh *neigh);
void ipoib_neigh_park(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
		      unsigned int most, struct sk_buff *skb);
void ipoib_neigh_unpark(struct ipoib_dev *priv, enum ipoib_wait kind,
			struct sk_buff_head *queue, struct sk_buff_head *frames);
void ipoib_neigh_unpark_txq(struct ipoib_dev *priv, struct sk_buff_head *queue, unsigned int n,
			    unsigned int ntxq, struct sk_buff_head *frames);
bool ipoib_neigh_waits(struct ipoib_dev *priv, struct sk_buff_head *queue,
		       const struct sk_buff *skb);
void ipoib_neigh_resend(struct ipoib_dev *priv, const u8 *gid, struct sk_buff_head *frames);
void ipoib_neigh_answered(struct ipoib_neigh *neigh, int status, const struct sa_path_rec *rec);
void ipoib_neigh_all_stale(struct ipoib_dev *priv);
void ipoib_neigh_mac_moved(struct ipoib_dev *priv, const union ib_gid *gid, const u8 *mac);
void ipoib_neigh_contradicted(struct ipoib_dev *priv, const u8 *gid, unsigned long age);
int ipoib_neigh_record(struct ipoib_dev *priv, const u8 *gid, struct sa_path_rec *rec);
int ipoib_neigh_show(struct seq_file *file, void *at);

/* ipoib_arp.c */
void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *n);

#endif /* IPOIB_NEIGH_H */
