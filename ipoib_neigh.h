/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The paths of an interface, by the GID of a neighbour, ipoib_arp.c.
 */
#ifndef IPOIB_NEIGH_H
#define IPOIB_NEIGH_H

#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "ipoib_limit.h"
#include "ipoib_ud.h"

struct ipoib_dev;
struct neighbour;

/* Frames that may wait for a neighbour's path. */
#define IPOIB_NEIGH_QUEUE	16
/* Paths of an interface. */
#define IPOIB_NEIGH_MAX		16384
/* Frames of an interface that may wait for any path. */
#define IPOIB_NEIGH_QUEUED	4096

/**
 * enum ipoib_neigh_state - what is known about the way to a GID
 * @IPOIB_NEIGH_IDLE: nothing, not asked for
 * @IPOIB_NEIGH_WAITING: the fabric is to be asked as soon as there is a credit; frames wait
 * @IPOIB_NEIGH_RESOLVING: the fabric was asked; frames wait
 * @IPOIB_NEIGH_VALID: there is an address handle
 * @IPOIB_NEIGH_FAILED: there is no path; frames are dropped until @retry_at
 */
enum ipoib_neigh_state {
	IPOIB_NEIGH_IDLE,
	IPOIB_NEIGH_WAITING,
	IPOIB_NEIGH_RESOLVING,
	IPOIB_NEIGH_VALID,
	IPOIB_NEIGH_FAILED,
};

/**
 * struct ipoib_neigh - the way to a GID
 * @node: in &ipoib_neighs.table
 * @gid: key
 * @ah: published address handle; an old one stays while a new path record is
 *	fetched
 * @stale: the fabric has changed since @rec was fetched; it is fetched again by
 *	the first frame after @retry_at
 * @used: jiffies, with a resolution of a second, of the last frame
 * @priv: the interface
 * @list: in &ipoib_neighs.list, under neigh.lock
 * @work: goes on when there is a credit, or has been none for a second; on &ipoib_dev.wq
 * @credit: of its query: waited for in IPOIB_NEIGH_WAITING, held until the query has ended
 * @state: under neigh.lock
 * @queue: frames that wait, whole with their &struct ipoib_header; under
 *	neigh.lock
 * @query: the query as the fabric knows it, NULL if none; under neigh.lock
 * @query_id: the same, if the fabric uses numbers
 * @asked_at: jiffies: when the fabric was to be asked; under neigh.lock
 * @retry_at: jiffies, valid in IPOIB_NEIGH_FAILED and if @stale; written under
 *	neigh.lock
 * @reread_at: jiffies: not before, the record is read anew because the stack found the
 *	neighbour unreachable; under neigh.lock
 * @failures: failed queries in a row, or as good as that; under neigh.lock
 * @rec: last path record, under neigh.lock
 * @odd: it takes less than the link, and that has been said; query's answer only
 * @ref: held by the table, by each query and by the queued @work
 * @rcu: frees it
 */
struct ipoib_neigh {
	struct rhash_head node;
	union ib_gid gid;
	struct ipoib_ah __rcu *ah;
	bool stale;
	unsigned long used;

	struct ipoib_dev *priv;
	struct list_head list;
	struct delayed_work work;
	struct ipoib_credit credit;
	enum ipoib_neigh_state state;
	struct sk_buff_head queue;
	void *query;
	int query_id;
	unsigned long asked_at;
	unsigned long retry_at;
	unsigned long reread_at;
	unsigned int failures;
	struct sa_path_rec rec;
	bool odd;
	refcount_t ref;
	struct rcu_head rcu;
};

/**
 * struct ipoib_neighs - the paths of an interface
 */
struct ipoib_neighs {
	/** @table: &struct ipoib_neigh by GID, read under RCU */
	struct rhashtable table;
	/** @lock: protects all that follows, the state of the paths and their queues */
	spinlock_t lock;
	/** @list: all paths */
	struct list_head list;
	/** @npaths: length of @list */
	unsigned int npaths;
	/** @queued: frames that wait for paths */
	unsigned int queued;
	/** @limit: of outstanding path queries; NULL if there is none */
	struct ipoib_limit *limit;
	/** @work: ages paths */
	struct delayed_work work;
};

/* ipoib_arp.c */
int ipoib_neigh_init(struct ipoib_dev *priv);
void ipoib_neigh_exit(struct ipoib_dev *priv);
void ipoib_neigh_start(struct ipoib_dev *priv);
void ipoib_neigh_stop(struct ipoib_dev *priv);
void ipoib_neigh_wait_answers(struct ipoib_dev *priv);
void ipoib_neigh_all_stale(struct ipoib_dev *priv);
void ipoib_neigh_port_moved(struct ipoib_dev *priv, const union ib_gid *gid,
			bool here);
void ipoib_neigh_mac_moved(struct ipoib_dev *priv, const union ib_gid *gid,
			  const u8 *mac);
bool ipoib_neigh_record(struct ipoib_dev *priv, const u8 *gid,
		       struct sa_path_rec *rec);
bool ipoib_neigh_is_stale(struct ipoib_dev *priv, const u8 *gid);
void ipoib_neigh_contradicted(struct ipoib_dev *priv, const u8 *gid);
void ipoib_neigh_put(struct ipoib_neigh *neigh);
void ipoib_neigh_answered(struct ipoib_neigh *neigh, int status,
		     const struct sa_path_rec *rec);
void ipoib_arp_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
void ipoib_arp_neigh_event(struct ipoib_dev *priv, struct neighbour *neigh);
extern const struct seq_operations ipoib_neigh_sops;

#endif /* IPOIB_NEIGH_H */
