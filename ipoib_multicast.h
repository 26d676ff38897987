/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups of an interface, by MGID: their interface to the rest of the driver
 * (ipoib_multicast.c). mcast/mcast.h is the private header.
 */
#ifndef IPOIB_MULTICAST_H
#define IPOIB_MULTICAST_H

#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "ipoib_limit.h"

struct ipoib_ah;
struct ipoib_dev;
struct ipoib_txq;

/* Frames that may wait for a group */
#define IPOIB_MCAST_QUEUE	16
/* Frames of an interface that may wait for groups */
#define IPOIB_MCAST_QUEUED	512
/*
 * Groups of an interface, at most; of these, groups that are only sent to, and groups that are only
 * routed, which other nodes create. So there is always room for groups with a listener here.
 */
#define IPOIB_MCAST_MAX		6144
#define IPOIB_MCAST_SEND_MAX	1024
#define IPOIB_MCAST_ROUTE_MAX	4096

/**
 * enum ipoib_mcast_state - state of a group
 * @IPOIB_MCAST_IDLE: not joined yet
 * @IPOIB_MCAST_JOINING: join under way; frames wait
 * @IPOIB_MCAST_ASKING: the join was refused, query of the record under way; frames wait
 * @IPOIB_MCAST_MEMBER: joined
 * @IPOIB_MCAST_CHECKING: joined, recheck under way
 * @IPOIB_MCAST_BACKOFF: refused or no answer; next join at @retry_at
 * @IPOIB_MCAST_ABSENT: the group does not exist, so it has no listener; next join after a report of
 *	the SA, or with the first frame after @retry_at
 * @IPOIB_NR_MCAST_STATES: number of states
 */
enum ipoib_mcast_state {
	IPOIB_MCAST_IDLE,
	IPOIB_MCAST_JOINING,
	IPOIB_MCAST_ASKING,
	IPOIB_MCAST_MEMBER,
	IPOIB_MCAST_CHECKING,
	IPOIB_MCAST_BACKOFF,
	IPOIB_MCAST_ABSENT,
	IPOIB_NR_MCAST_STATES,
};

/* Users of a group: bits of &ipoib_mcast.users */
#define IPOIB_USER_LISTEN	BIT(0)	/* the stack listens to it */
#define IPOIB_USER_ROUTE	BIT(1)	/* multicast is routed */
#define IPOIB_USER_SEND		BIT(2)	/* frames are sent to it */

/* JoinState bits, IBTA 15.2.5.17 */
#define IPOIB_JOIN_FULL		BIT(FULLMEMBER_JOIN)
#define IPOIB_JOIN_NON		BIT(NONMEMBER_JOIN)
#define IPOIB_JOIN_SEND		BIT(SENDONLY_NONMEBER_JOIN)
/* JoinStates that receive */
#define IPOIB_JOIN_RECEIVES	(IPOIB_JOIN_FULL | IPOIB_JOIN_NON)

/*
 * Events of a group: bits of &ipoib_mcast.events. A recheck is a SubnAdmSet of the membership: a
 * record alone does not show whether the port is still a member (RFC 4392 section 4.2.3).
 */
#define IPOIB_MCAST_EV_ANSWER	BIT(0)	/* of a join: @status; of a Get or Set: @fresh, too */
#define IPOIB_MCAST_EV_LOST	BIT(1)	/* the membership is lost (SM change, port down, …) */
#define IPOIB_MCAST_EV_RECHECK	BIT(2)	/* the SA may have lost the group or the member */

/* Bits of &ipoib_groups.routes */
#define IPOIB_ROUTES_ON		BIT(0)	/* multicast is routed */
#define IPOIB_ROUTES_DUE	BIT(1)	/* list the groups of the link */
#define IPOIB_ROUTES_ASKED	BIT(2)	/* the list is under way */

/**
 * struct ipoib_mcast - a multicast group
 * @node: in &ipoib_groups.table
 * @mgid: key
 * @ah: address handle
 * @settled: the fabric forwards for the group; if false, frames use the broadcast group, until
 *	@settled_at. Both written by works of groups
 * @used: jiffies, in steps of a second, of the last frame sent
 * @priv: the interface
 * @list: in &ipoib_groups.list, under mcast.lock
 * @work: on the ordered &ipoib_dev.wq; alone changes @state, joins, leaves and frees
 * @state: under mcast.lock
 * @users: IPOIB_USER_ bits, under mcast.lock; without users the group is left
 * @was_absent: the group was missing, so frames for routers do not wait; under mcast.lock
 * @named: users whose lists, or reports, had the group since the last sweep of the list; under
 *	mcast.lock
 * @events: IPOIB_MCAST_EV_ bits, set and consumed under mcast.lock
 * @status: 0 or negative error of the last answer; there is one question at a time
 * @queue: waiting frames, with their &struct ipoib_header; under mcast.lock
 * @settled_at: jiffies: time to set @settled
 * @created: jiffies
 * @asked_at: jiffies: start of the wait of frames (IPOIB_MCAST_PATIENCE): creation, request, or the
 *	event or frame that ends a pause
 * @retry_at: jiffies: next request in IPOIB_MCAST_BACKOFF and IPOIB_MCAST_ABSENT, or recheck of a
 *	member; of a member without rechecks the time of its last confirmation. With reports of the
 *	SA missing groups and members are checked later
 * @recheck_interval: jiffies between rechecks of a membership that does not keep its group
 * @sample_at: jiffies of the next sample, of a group that is only sent to
 * @samples: samples with frames in a row. IPOIB_MCAST_SAMPLES of them make the group monitored: the
 *	port subscribes to reports of the SA. Under mcast.lock
 * @failures: failed joins and rechecks in a row; a missing group counts as failure. Like @retry_at
 *	written by the work without a lock, and by events under mcast.lock
 * @reason: reason of the last failure, enum ipoib_check (mcast/mcast.h)
 * @logged: last reason in the log, which is not repeated
 * @held: JoinState held, or 0; work only, as all below
 * @asked: JoinState requested by @joining
 * @member: handle of the membership held
 * @joining: handle of the join under way
 * @rec: record of the group, valid if @held
 * @fresh: last record read; written under mcast.lock before IPOIB_MCAST_EV_ANSWER, read by the work
 *	after it
 * @attached: the QP is attached to the group
 * @inflight: counts a query in the limit
 * @rcu: frees it
 */
struct ipoib_mcast {
	struct rhash_head node;
	union ib_gid mgid;
	struct ipoib_ah __rcu *ah;
	bool settled;
	unsigned long used;

	struct ipoib_dev *priv;
	struct list_head list;
	struct delayed_work work;
	enum ipoib_mcast_state state;
	u8 users;
	bool was_absent;
	u8 named;
	u8 events;
	int status;
	struct sk_buff_head queue;
	unsigned long settled_at;
	unsigned long created;
	unsigned long asked_at;
	unsigned long retry_at;
	unsigned long recheck_interval;
	unsigned long sample_at;
	u8 samples;
	unsigned int failures;
	u8 reason;
	u8 logged;

	u8 held;
	u8 asked;
	struct ib_sa_multicast *member;
	struct ib_sa_multicast *joining;
	struct ib_sa_mcmember_rec rec;
	struct ib_sa_mcmember_rec fresh;
	bool attached;
	struct ipoib_inflight inflight;
	struct rcu_head rcu;
};

/* The multicast groups of an interface. */
struct ipoib_groups {
	struct rhashtable table;	/* &struct ipoib_mcast by MGID, read under RCU */
	/* protects the fields below, the state of the groups and their queues */
	spinlock_t lock;
	struct list_head list;		/* all groups */
	bool cap_logged;		/* too many groups were logged */
	bool umcast;	/* leave out groups that user space has joined on this port */
	unsigned int ngroups;		/* length of @list */
	unsigned int nsend;		/* groups that are only sent to */
	unsigned int nroute;		/* groups that are routed, and not listened to */
	unsigned int nqueued;		/* waiting frames */
	u8 routes;			/* IPOIB_ROUTES_ bits */
	unsigned long routes_at;	/* jiffies of the next list without a report of the SA */
	unsigned int routes_failures;	/* failed lists in a row; the first is logged */
	/* listeners, and groups to route; on the ordered &ipoib_dev.wq, as works of groups */
	struct delayed_work work;
};

int ipoib_mcast_show(struct seq_file *file, void *at);
int ipoib_mcast_init(struct ipoib_dev *priv);
void ipoib_mcast_exit(struct ipoib_dev *priv);
int ipoib_mcast_start(struct ipoib_dev *priv);
void ipoib_mcast_stop(struct ipoib_dev *priv);
void ipoib_mcast_resync(struct ipoib_dev *priv);
void ipoib_mcast_set_umcast(struct ipoib_dev *priv, bool umcast);
void ipoib_mcast_rejoin(struct ipoib_dev *priv);
void ipoib_mcast_review(struct ipoib_dev *priv);
void ipoib_mcast_sm_changed(struct ipoib_dev *priv);
void ipoib_mcast_group_created(struct ipoib_dev *priv, const union ib_gid *mgid);
void ipoib_mcast_group_deleted(struct ipoib_dev *priv, const union ib_gid *mgid);
void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status);
void ipoib_mcast_record(struct ipoib_dev *priv, const union ib_gid *mgid,
			int status, const struct ib_sa_mcmember_rec *rec);
void ipoib_mcast_xmit(struct ipoib_txq *txq, struct sk_buff *skb);
void ipoib_mcast_route_listed(struct ipoib_dev *priv, int status,
			      const union ib_gid *mgids, unsigned int n);

#endif /* IPOIB_MULTICAST_H */
