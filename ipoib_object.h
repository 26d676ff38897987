/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The balance of objects: how many of each kind the module has made, and how
 * many of them it has given back. It is checked when the module goes, by
 * which time all must be back.
 *
 * What is counted is made in the slow path: nothing of this is touched for a
 * frame, but for one that has to wait.
 */
#ifndef IPOIB_OBJECT_H
#define IPOIB_OBJECT_H

#include <linux/skbuff.h>

struct seq_file;

/**
 * enum ipoib_object - kinds of objects that are counted
 * @IPOIB_OBJECT_INTERFACE: &struct ipoib_dev
 * @IPOIB_OBJECT_PD: protection domains
 * @IPOIB_OBJECT_CQ: completion queues
 * @IPOIB_OBJECT_QP: queue pairs
 * @IPOIB_OBJECT_ATTACHMENT: QPs attached to a group
 * @IPOIB_OBJECT_POOL: page pools
 * @IPOIB_OBJECT_AH: address handles
 * @IPOIB_OBJECT_PATH: &struct ipoib_neigh
 * @IPOIB_OBJECT_GROUP: &struct ipoib_mcast
 * @IPOIB_OBJECT_QUERY: path record queries
 * @IPOIB_OBJECT_JOIN: joins, refused or not, that were not given up
 * @IPOIB_OBJECT_FRAME: frames that wait for a path, a group or a connection
 * @IPOIB_OBJECT_PEER: &struct ipoib_peer
 * @IPOIB_OBJECT_CONN: &struct ipoib_conn
 * @IPOIB_OBJECT_CM_ID: identifiers of the CM
 * @IPOIB_OBJECT_SRQ: shared receive queues
 * @IPOIB_NR_OBJECTS: number of kinds
 */
enum ipoib_object {
	IPOIB_OBJECT_INTERFACE,
	IPOIB_OBJECT_PD,
	IPOIB_OBJECT_CQ,
	IPOIB_OBJECT_QP,
	IPOIB_OBJECT_ATTACHMENT,
	IPOIB_OBJECT_POOL,
	IPOIB_OBJECT_AH,
	IPOIB_OBJECT_PATH,
	IPOIB_OBJECT_GROUP,
	IPOIB_OBJECT_QUERY,
	IPOIB_OBJECT_JOIN,
	IPOIB_OBJECT_FRAME,
	IPOIB_OBJECT_PEER,
	IPOIB_OBJECT_CONN,
	IPOIB_OBJECT_CM_ID,
	IPOIB_OBJECT_SRQ,
	IPOIB_NR_OBJECTS,
};

#if IS_ENABLED(CONFIG_INFINIBAND_IPOIB_DEBUG)

void ipoib_object_made(enum ipoib_object kind);
void ipoib_object_gone(enum ipoib_object kind, unsigned int n);
void ipoib_object_show(struct seq_file *file);
unsigned int ipoib_object_audit(void);

#else

static inline void ipoib_object_made(enum ipoib_object kind)
{
}

static inline void ipoib_object_gone(enum ipoib_object kind, unsigned int n)
{
}

static inline void ipoib_object_show(struct seq_file *file)
{
}

static inline unsigned int ipoib_object_audit(void)
{
	return 0;
}

#endif

/**
 * ipoib_object_park - add a frame to those that wait
 * @queue: where; its lock is held
 * @skb: the frame
 */
static inline void ipoib_object_park(struct sk_buff_head *queue,
				     struct sk_buff *skb)
{
	__skb_queue_tail(queue, skb);
	ipoib_object_made(IPOIB_OBJECT_FRAME);
}

/**
 * ipoib_object_unpark - take out all frames that wait
 * @queue: where they wait; its lock is held. Emptied.
 * @to: list of the caller that they are added to
 */
static inline void ipoib_object_unpark(struct sk_buff_head *queue,
				       struct sk_buff_head *to)
{
	ipoib_object_gone(IPOIB_OBJECT_FRAME, skb_queue_len(queue));
	skb_queue_splice_tail_init(queue, to);
}

#endif /* IPOIB_OBJECT_H */
