/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the interfaces of one port share when they speak with the SA: a MAD
 * agent, the address of the SA, the number of questions that may be open, and
 * the subscription to the SA's reports.
 *
 * ib_sa joins groups and finds paths; it cannot read the record of a group,
 * list groups, or subscribe. That is done here.
 */
#ifndef IPOIB_SA_H
#define IPOIB_SA_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

#include "ipoib_limit.h"
#include "sa/record.h"

struct ipoib_agent;
struct ipoib_dev;
struct ipoib_mcast;

/**
 * struct ipoib_sm_addr - where the SA is
 * @ref: held by the agent and by each request under way
 * @ah: address handle
 * @lid: LID of the SM
 * @lmc: see &ipoib_port.lmc
 * @pkey_index: of the default P_Key
 */
struct ipoib_sm_addr {
	refcount_t ref;
	struct ib_ah *ah;
	u16 lid;
	u8 lmc;
	u16 pkey_index;
};

/**
 * typedef ipoib_answer_t - takes the answer to a question
 * @owner: from the question
 * @status: 0; negative error if there is no answer or the SA refused
 * @asked: the request
 * @answer: the answer, NULL without one; freed by the caller
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
 * @data: attribute's data, @len octets
 * @len: at most IB_MGMT_SA_DATA
 * @timeout_ms: for one try
 * @retries: further tries
 * @owner: for @answer and ipoib_sa_agent_cancel()
 * @answer: called exactly once if the question could be asked
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
 * enum ipoib_sub_state - what the SA is being asked about subscriptions
 * @IPOIB_SUB_IDLE: nothing
 * @IPOIB_SUB_ASKING: to make one
 * @IPOIB_SUB_STALE: to make one, but that SM may have forgotten the port since
 * @IPOIB_SUB_LEAVING: to end one
 */
enum ipoib_sub_state {
	IPOIB_SUB_IDLE,
	IPOIB_SUB_ASKING,
	IPOIB_SUB_STALE,
	IPOIB_SUB_LEAVING,
};

/**
 * struct ipoib_agent - one port's side of the conversation with the SA
 * @ends: no interface uses it any more: nothing more is done about subscriptions
 * @ca: HCA
 * @port: port
 * @mad: sends requests, takes answers
 * @lock: protects what follows up to @sm_work. Taken outside of mcast.lock and
 *	neigh.lock of an interface, never inside
 * @devs: interfaces that are up
 * @requests: &struct ipoib_request under way
 * @sm: address of the SA, NULL while there is none
 * @tid: of the last request; the first is random
 * @sm_work: looks for the SA
 * @limit: of outstanding queries
 * @reports: takes reports, NULL while not registered; notice work only
 * @sub_state: written under @lock, as the next two
 * @sub_on: how many traps, from the first on, the present SM has granted
 * @sub_known: how many, from the first on, an SA may know of
 * @sub_backoff: milliseconds to the next try; small again after an event
 * @sub_warned: it was logged that there is no subscription
 * @sub_work: notice work
 * @last_tid: TID of the last report acted upon, 0 if there is none of this SM
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

	struct ib_mad_agent *reports;
	enum ipoib_sub_state sub_state;
	unsigned int sub_on;
	unsigned int sub_known;
	unsigned int sub_backoff;
	bool sub_warned;
	struct delayed_work sub_work;
	__be64 last_tid;
};

/* sa/agent.c */
struct ipoib_agent *ipoib_sa_agent_make(struct ib_device *ca, u32 port);
void ipoib_sa_agent_free(struct ipoib_agent *agent);

/* sa/mad.c */
int ipoib_sa_agent_register(struct ipoib_agent *agent);
int ipoib_sa_agent_ask(struct ipoib_agent *agent, const struct ipoib_question *question);
void ipoib_sa_agent_cancel(struct ipoib_agent *agent, const void *owner);
struct ipoib_sm_addr *ipoib_sa_agent_sm(struct ipoib_agent *agent);
void ipoib_sa_sm_put(struct ipoib_sm_addr *sm);

/* sa/notice.c */
void ipoib_sa_notice_init(struct ipoib_agent *agent);
void ipoib_sa_notice_exit(struct ipoib_agent *agent);
void ipoib_sa_notice_renew(struct ipoib_agent *agent);

/* sa/query.c */
/* What is named in each request to join. */
#define IPOIB_JOIN_COMPS	(IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID | \
				 IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE)
ib_sa_comp_mask ipoib_sa_query_join_rec(const struct ipoib_mcast *mcast, u8 state,
					struct ib_sa_mcmember_rec *rec);

#endif /* IPOIB_SA_H */
