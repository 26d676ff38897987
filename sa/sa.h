/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of a port to the SA, common to its interfaces: a MAD agent, the address of the SA, the
 * limit of outstanding queries, and the subscription to reports.
 *
 * ib_sa joins groups and finds paths, but cannot read the record of a group, list groups, or
 * subscribe.
 */
#ifndef IPOIB_SA_H
#define IPOIB_SA_H

#include <linux/atomic.h>
#include <linux/ratelimit.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

#include "ipoib_limit.h"

/* IBTA tables 131 and 134: traps of the subscription */
#define IPOIB_TRAP_MGID_NEW	66
#define IPOIB_TRAP_MGID_GONE	67

/* MCMemberRecord on the wire, IBTA 15.2.5.17. */
struct ipoib_member_record {
	u8 mgid[16];
	u8 port_gid[16];	/* GID of the member */
	__be32 qkey;
	__be16 mlid;
	u8 mtu;			/* selector (2 bits), MTU (6 bits) */
	u8 tclass;
	__be16 pkey;
	u8 rate;		/* selector (2 bits), rate (6 bits) */
	u8 lifetime;		/* selector (2 bits), packet life time (6 bits) */
	__be32 sl_flow_hops;	/* SL (4 bits), flow label (20 bits), hop limit (8 bits) */
	u8 scope_state;		/* scope (4 bits), JoinState (4 bits) */
	u8 proxy;		/* proxy join (1 bit) */
	u8 reserved[2];		/* zero */
};

static_assert(sizeof(struct ipoib_member_record) == 52);

/* InformInfo on the wire, IBTA 13.4.8.3. */
struct ipoib_inform_info {
	u8 gid[16];		/* a single source, or zero */
	__be16 lid_begin;	/* 0xffff for all sources */
	__be16 lid_end;		/* end of a range */
	__be16 reserved;	/* zero */
	u8 generic;		/* 1, not a vendor's */
	u8 subscribe;		/* 1, or 0 to end the subscription */
	__be16 type;		/* of the trap, 0xffff for all */
	__be16 trap;		/* number of the trap */
	__be32 qpn_resp;	/* QPN of the subscriber (24 bits) and response time (5 bits) */
	__be32 producer;	/* kind of node that issues it (24 bits): 4, a class manager */
};

/* Notice on the wire with the details of traps 66 and 67. */
struct ipoib_notice {
	__be32 type_producer;	/* generic (bit 31), type (7 bits), producer (24 bits) */
	__be16 trap;		/* number of the trap */
	__be16 issuer_lid;	/* LID of its issuer */
	__be16 toggle_count;	/* not used by these traps */
	u8 reserved[6];		/* not used */
	u8 gid[16];		/* MGID of the group that was created or deleted */
	u8 unused[32];		/* rest of the details */
	u8 issuer_gid[16];	/* GID of its issuer */
};

static_assert(sizeof(struct ipoib_inform_info) == 36);
static_assert(sizeof(struct ipoib_notice) == 80);
static_assert(offsetof(struct ipoib_notice, gid) == 16);

#define IPOIB_NOTICE_GENERIC	0x80000000
#define IPOIB_NOTICE_PRODUCER	0x00ffffff
#define IPOIB_PRODUCER_MANAGER	4

/**
 * typedef ipoib_answer_t - callback for the answer to a question
 * @owner: from the question
 * @status: 0, or a negative error without an answer or after a refusal
 * @asked: the request
 * @answer: the answer, or NULL; freed by the caller
 *
 * Context: process; must not wait for another answer
 */
typedef void (*ipoib_answer_t)(void *owner, int status, const struct ib_sa_mad *asked,
			       const struct ib_mad_recv_wc *answer);

/**
 * struct ipoib_question - a request to the SA
 * @method: method
 * @attr: attribute
 * @mask: component mask
 * @data: data of the attribute, @len octets
 * @len: at most IB_MGMT_SA_DATA
 * @timeout_ms: for each try
 * @retries: further tries
 * @owner: for @answer and ipoib_sa_agent_cancel()
 * @answer: callback, called exactly once after a successful ipoib_sa_agent_ask()
 */
struct ipoib_question {
	u8 method;
	u16 attr;
	ib_sa_comp_mask mask;
	const void *data;
	size_t len;
	int timeout_ms;
	int retries;
	void *owner;
	ipoib_answer_t answer;
};

/**
 * enum ipoib_sub_state - subscription of a port to reports of groups
 * @IPOIB_SUB_OFF: the SA has none
 * @IPOIB_SUB_ASKING: both traps are requested
 * @IPOIB_SUB_ON: the present SM has granted both
 * @IPOIB_SUB_BACKOFF: refused, or granted by a previous SM; requested again after a pause. The SA
 *	may have it
 * @IPOIB_SUB_LEAVING: the SA is requested to end it
 * @IPOIB_NR_SUB_STATES: number of states
 */
enum ipoib_sub_state {
	IPOIB_SUB_OFF,
	IPOIB_SUB_ASKING,
	IPOIB_SUB_ON,
	IPOIB_SUB_BACKOFF,
	IPOIB_SUB_LEAVING,
	IPOIB_NR_SUB_STATES,
};

/**
 * struct ipoib_agent - agent of a port for the SA
 * @ends: no interface uses it; no change of the subscription
 * @ca: HCA
 * @port: port
 * @mad: sends requests, receives answers
 * @lock: protects the fields up to @sm_work. Taken outside of mcast.lock and neigh.lock of an
 *	interface, never inside
 * @devs: interfaces that are up
 * @requests: outstanding &struct ipoib_request
 * @sm: address of the SA, or NULL
 * @tid: of the last request; the first is random
 * @sm_work: finds the SA
 * @limit: of outstanding queries
 * @monitors: users of the subscription: monitored groups, and interfaces that route multicast
 * @reports: receives reports, NULL in IPOIB_SUB_OFF; subscription work only
 * @sub_state: written by the subscription work only
 * @sub_stale: event, under @lock: the SM may have forgotten the port; consumed by the subscription
 *	work
 * @sub_pending: outstanding answers, under @lock
 * @sub_err: first error of the answers, under @lock
 * @sub_failures: failed requests in a row; reset by an event
 * @sub_warned: the lack of a subscription was logged
 * @sub_work: subscription work: makes each transition of @sub_state
 * @budget: of reports
 * @quiet_until: jiffies: no subscription before, after too many reports
 * @last_tid: TID of the last report of this SM, or 0
 */
struct ipoib_agent {
	bool ends;
	struct ib_device *ca;
	u32 port;
	struct ib_mad_agent *mad;

	spinlock_t lock; /* see above */
	struct list_head devs;
	struct list_head requests;
	struct ipoib_sm_addr *sm;
	u32 tid;
	struct delayed_work sm_work;

	struct ipoib_limit limit;

	atomic_t monitors;
	struct ib_mad_agent *reports;
	enum ipoib_sub_state sub_state;
	bool sub_stale;
	unsigned int sub_pending;
	int sub_err;
	unsigned int sub_failures;
	bool sub_warned;
	struct delayed_work sub_work;
	struct ratelimit_state budget;
	unsigned long quiet_until;
	__be64 last_tid;
};

/* sa/agent.c */
struct ipoib_agent *ipoib_sa_agent_make(struct ib_device *ca, u32 port);
void ipoib_sa_agent_free(struct ipoib_agent *agent);
int ipoib_sa_agent_ask(struct ipoib_agent *agent, const struct ipoib_question *question);
void ipoib_sa_agent_cancel(struct ipoib_agent *agent, const void *owner);

/* sa/record.c */
void ipoib_sa_record_pack(struct ipoib_member_record *wire, const struct ib_sa_mcmember_rec *rec);
void ipoib_sa_record_unpack(struct ib_sa_mcmember_rec *rec, const struct ipoib_member_record *wire);
unsigned int ipoib_sa_record_mgids(u8 *data, size_t len, size_t step);
bool ipoib_sa_notice_is_sound(const struct ipoib_notice *notice);
int ipoib_sa_errno(u16 status);

#endif /* IPOIB_SA_H */
