/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The multicast groups of an interface, by MGID, as the rest of the driver sees them:
 * ipoib_multicast.c. What its files share is in mcast/mcast.h.
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

/* Frames that may wait for a group. */
#define IPOIB_MCAST_QUEUE	16
/* Frames of an interface that may wait for any group. */
#define IPOIB_MCAST_QUEUED	512
/*
 * Groups of an interface; how many of them it may only send to; how many it may only
 * route, which are made by others. So there is always room for those it listens to.
 */
#define IPOIB_MCAST_MAX		6144
#define IPOIB_MCAST_SEND_MAX	1024
#define IPOIB_MCAST_ROUTE_MAX	4096

/**
 * enum ipoib_mcast_state - where a group stands with the fabric
 * @IPOIB_MCAST_IDLE: not asked
 * @IPOIB_MCAST_JOINING: a join is under way; frames wait
 * @IPOIB_MCAST_ASKING: the record of the group is being read, because a join
 *	was refused; frames wait
 * @IPOIB_MCAST_MEMBER: joined
 * @IPOIB_MCAST_CHECKING: joined, and the record is being read anew
 * @IPOIB_MCAST_BACKOFF: refused or no answer, asked again at @retry_at
 * @IPOIB_MCAST_ABSENT: the group has no listener, here or elsewhere; asked
 *	again when the SA reports it, or by the first frame after @retry_at
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

/* Users of a group: bits of &ipoib_mcast.users. */
#define IPOIB_USER_LISTEN	BIT(0)	/* the stack listens to it */
#define IPOIB_USER_ROUTE	BIT(1)	/* multicast is routed */
#define IPOIB_USER_SEND		BIT(2)	/* frames are sent to it */

/* JoinState bits, IBTA 15.2.5.17. */
#define IPOIB_JOIN_FULL		BIT(FULLMEMBER_JOIN)
#define IPOIB_JOIN_NON		BIT(NONMEMBER_JOIN)
#define IPOIB_JOIN_SEND		BIT(SENDONLY_NONMEBER_JOIN)
/* Those whose members receive. */
#define IPOIB_JOIN_RECEIVES	(IPOIB_JOIN_FULL | IPOIB_JOIN_NON)

/*
 * Events of a group: bits of &ipoib_mcast.events. A membership is rechecked by SubnAdmSet of
 * what is held: the record alone does not show whether the port is still a member
 * (RFC 4392 section 4.2.3).
 */
#define IPOIB_MCAST_EV_ANSWER	BIT(0)	/* to a join: @status; to a Get or Set: @fresh, too */
#define IPOIB_MCAST_EV_LOST	BIT(1)	/* the membership has gone (SM change, port down, …) */
#define IPOIB_MCAST_EV_RECHECK	BIT(2)	/* the SA may not have the group or the member any more */

/* Bits of &ipoib_groups.routes. */
#define IPOIB_ROUTES_ON		BIT(0)	/* multicast is routed */
#define IPOIB_ROUTES_DUE	BIT(1)	/* the groups of the link have to be listed */
#define IPOIB_ROUTES_ASKED	BIT(2)	/* they are being listed */

/**
 * struct ipoib_mcast - a multicast group
 * @node: in &ipoib_groups.table
 * @mgid: key
 * @ah: published address handle
 * @settled: the fabric forwards for the group; false: frames go by the broadcast group, until
 *	@settled_at. Written by works of groups, as that is
 * @used: jiffies, with a resolution of a second, of the last frame sent
 * @priv: the interface
 * @list: in &ipoib_groups.list, under mcast.lock
 * @work: on the ordered &ipoib_dev.wq; it alone changes @state, joins, leaves and frees
 * @state: under mcast.lock
 * @users: IPOIB_USER_ bits, under mcast.lock; without any the group is left
 * @parked: it was missing: frames for routers do not wait; under mcast.lock
 * @named: those of @users whose lists have named it, or reports, since the list was last
 *	gone through; under mcast.lock
 * @events: IPOIB_MCAST_EV_ bits, set and consumed under mcast.lock
 * @status: 0 or negative error of the last answer; there is one question at a time
 * @queue: frames that wait, whole with their &struct ipoib_header; under
 *	mcast.lock
 * @settled_at: jiffies: when @settled is to be set
 * @created: jiffies
 * @asked_at: jiffies: when the fabric was asked last, or was to be
 * @retry_at: jiffies: when to ask again in IPOIB_MCAST_BACKOFF and
 *	IPOIB_MCAST_ABSENT, and after an invalidation, or to recheck a member; of
 *	a member that needs no recheck: since when it is known to be valid. Missing groups
 *	and members that the SA reports are asked for later
 * @recheck_interval: jiffies after which a membership that does not keep its group
 *	is set again; until then it is assumed valid
 * @sample_at: jiffies: time of the next sample, of a group that is only sent to
 * @samples: how many samples in a row have found frames. With IPOIB_MCAST_SAMPLES the group is
 *	monitored: the port subscribes to the SA's reports. Under mcast.lock
 * @failures: in a row, of joins and rechecks: to be missing is one, too
 * @reason: why the last try failed, enum ipoib_check (mcast/mcast.h)
 * @logged: reason last logged, so that each is logged once
 * @held: JoinState held, 0 if none; work only, as all below
 * @asked: JoinState asked for by @joining
 * @member: handle of the membership held
 * @joining: handle of the join under way
 * @rec: record of the group, valid if @held
 * @fresh: record last read, under mcast.lock
 * @attached: the QP takes frames of the group
 * @credit: a query for the group counts against the limit
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
	bool parked;
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
	struct ipoib_credit credit;
	struct rcu_head rcu;
};

/**
 * struct ipoib_groups - the multicast groups of an interface
 */
struct ipoib_groups {
	/** @table: &struct ipoib_mcast by MGID, read under RCU */
	struct rhashtable table;
	/** @lock: protects all that follows, the state of the groups and their queues */
	spinlock_t lock;
	/** @list: all groups */
	struct list_head list;
	/** @cap_logged: it was logged that there are too many groups */
	bool cap_logged;
	/** @umcast: leave groups alone that user space has joined on this port */
	bool umcast;
	/** @ngroups: length of @list */
	unsigned int ngroups;
	/** @nsend: those of them that are only sent to */
	unsigned int nsend;
	/** @nroute: those that are routed, and not listened to */
	unsigned int nroute;
	/** @nqueued: frames that wait for groups */
	unsigned int nqueued;
	/** @routes: IPOIB_ROUTES_ bits */
	u8 routes;
	/** @routes_at: jiffies: when to list them again if the SA reports nothing */
	unsigned long routes_at;
	/** @routes_failures: of lists in a row; the first is logged */
	unsigned int routes_failures;
	/**
	 * @work: listeners and the list of groups to route; on the ordered &ipoib_dev.wq, as
	 * the works of groups
	 */
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
