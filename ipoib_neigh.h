/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Neighbours of an interface: the ports that frames are sent to, with the path to each
 * (ipoib_neigh.c), and the frames (ipoib_arp.c).
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

/* Neighbours of an interface, at most */
#define IPOIB_NEIGH_MAX		16384
/* Age of a path record from which on a REQ from another port makes it stale */
#define IPOIB_NEIGH_TRUST	(2 * HZ)

/**
 * enum ipoib_neigh_state - state of the path record
 * @IPOIB_NEIGH_NONE: missing or stale; no query before &ipoib_neigh.retry_at, and frames without an
 *	address handle are dropped until then
 * @IPOIB_NEIGH_WAITING: the query waits for an inflight slot, see ipoib_limit.h; frames wait
 * @IPOIB_NEIGH_RESOLVING: query under way; frames wait
 * @IPOIB_NEIGH_VALID: received, with an address handle
 */
enum ipoib_neigh_state {
	IPOIB_NEIGH_NONE,
	IPOIB_NEIGH_WAITING,
	IPOIB_NEIGH_RESOLVING,
	IPOIB_NEIGH_VALID,
};

/**
 * struct ipoib_neigh - a port that frames are sent to
 * @node: in &ipoib_neighs.table; each frame reads the fields up to @queue
 * @gid: key. The path depends on the GID alone: all interfaces of a port, with their QPNs, share a
 *	record, a query and an address handle
 * @ah: address handle; stays in use while a new path record is read
 * @stale: the first frame after @retry_at queries the path
 * @retry_at: jiffies, valid if @stale; written under neigh.lock
 * @used: jiffies, in steps of a second, of the last frame
 * @peers: &struct ipoib_peer of connected mode, one for each QPN; changed under &ipoib_cm.lock, and
 *	added to under neigh.lock, too
 * @queue: waiting frames with their &struct ipoib_header; under neigh.lock, as all fields below
 * @priv: the interface
 * @list: in &ipoib_neighs.list; empty once unlinked from the table
 * @work: ipoib_arp_work(), on &ipoib_neighs.wq: for an inflight slot, or the lack of it for a
 *	second; after an answer; for frames that a closed connection puts into @queue; after
 *	unlinking, for @peers
 * @inflight: of its query: requested in IPOIB_NEIGH_WAITING, held until the query ends
 * @state: see &enum ipoib_neigh_state
 * @query: handle of the query in the fabric, or NULL
 * @query_id: the same, for a fabric with numbers
 * @asked_at: jiffies of the last request for a query
 * @failures: failed queries in a row
 * @rec: last path record
 * @odd: the path has a smaller MTU than the link, and a log message; answers only, no lock
 * @ref: references of the table, of each query and of the queued @work
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
	struct ipoib_inflight inflight;
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

/* Frames that may wait in a queue; behind frames of a closed connection, many more */
#define IPOIB_NEIGH_QUEUE	32
#define IPOIB_NEIGH_RESENT	320

/**
 * ipoib_neigh_fits - check whether a frame may wait in a queue
 * @len: frames in the queue
 * @most: limit of the queue
 * @room: frames that all queues of the kind may still take; may be negative
 *
 * A queue gets at most an eighth of the remaining room, so many queues of one port leave some to
 * other ports.
 *
 * Return: true if so
 */
static inline bool ipoib_neigh_fits(unsigned int len, unsigned int most, int room)
{
	return (int)len < min_t(int, most, room / 8);
}

/* Kinds of waiting frames, each with a room of its own. */
enum ipoib_wait {
	IPOIB_WAIT_PATH,	/* for a path, for the work of a neighbour, or for a connection */
	/* for a slot of the ring of a connection, as long as its peer reads nothing */
	IPOIB_WAIT_RING,
	IPOIB_WAIT_KINDS,
};

/* The neighbours of an interface. */
struct ipoib_neighs {
	struct rhashtable table;	/* &struct ipoib_neigh by GID, read under RCU */
	spinlock_t lock;		/* protects the fields below, and the neighbours */
	struct list_head list;		/* all neighbours */
	atomic_t queued[IPOIB_WAIT_KINDS];	/* waiting frames, by &enum ipoib_wait; no lock */
	struct ipoib_limit *limit;	/* of outstanding path queries, or NULL */
	struct workqueue_struct *wq;	/* unbound, for the works of neighbours and for @work */
	struct delayed_work work;	/* removes unused neighbours */
};

/* Hash the GID of a port or a group. Skips the first word, which is mostly the same on a link. */
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

/*
 * Look a neighbour up by its GID, which is aligned to four octets.
 * Context: RCU read side. Return: the neighbour, valid until the end of the read side, or NULL.
 */
static inline struct ipoib_neigh *ipoib_neigh_find(struct ipoib_neighs *neighs, const u8 *gid)
{
	return rhashtable_lookup(&neighs->table, gid, ipoib_neigh_params);
}

/*
 * Check whether a frame has to query the path. False during the pause after a failure, so frames
 * with an address handle do not take neigh.lock.
 * Return: true if so; a query may have begun since.
 */
static inline bool ipoib_neigh_is_due(const struct ipoib_neigh *neigh)
{
	return READ_ONCE(neigh->stale) &&
	       time_after_eq(jiffies, READ_ONCE(neigh->retry_at));
}

/*
 * Check whether a query is under way, or waits for an inflight slot.
 * Context: &ipoib_neighs.lock held. Return: true if so.
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
void ipoib_neigh_suspect(struct ipoib_dev *priv, const u8 *gid, unsigned long age);
int ipoib_neigh_record(struct ipoib_dev *priv, const u8 *gid, struct sa_path_rec *rec);
int ipoib_neigh_show(struct seq_file *file, void *at);

/* ipoib_arp.c */
void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *n);

#endif /* IPOIB_NEIGH_H */
