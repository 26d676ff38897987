// SPDX-License-Identifier: GPL-2.0
/*
 * Agent of a port: address of the SA, questions beyond those of ib_sa, and reports of groups that
 * come and go.
 *
 * The interface of a port creates a &struct ipoib_agent, which its children share. It lists
 * outstanding requests, and gives each its answer exactly once, or an error after a timeout, a
 * cancellation or a failed send.
 *
 * By RFC 4391 senders (section 10, U52) and routers (section 11, U57) subscribe to the creation and
 * deletion of groups (traps 66 and 67). OpenSM compares the GID of an InformInfo with the issuer of
 * the trap, the SM: a subscription is for all groups of the subnet, and each of N subscribers costs
 * the SM a report of each group. So a port subscribes while a group is monitored
 * (&ipoib_mcast.samples) or multicast is routed, and not beyond a budget of reports. Without a
 * subscription memberships and missing groups are polled.
 *
 * A work makes and ends the subscription. The SA has it in memory: after a change of the SM it is
 * made anew, and each group is looked up. Reports are requests of the SA, and need a MAD agent of
 * their own, as another MAD agent of the port may have claimed them; then there are none.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "sa/sa.h"

/* Pause after a failed search for the SA */
#define IPOIB_SM_RETRY		(HZ / 10)

#define IPOIB_SUB_TIMEOUT	500
/* IBTA 13.4.6.2: response time 4.096 us * 2^18, about a second */
#define IPOIB_SUB_RESP_TIME	18
/* Time from the last monitored group to the end of the subscription */
#define IPOIB_SUB_UNUSED	(20 * HZ)
/* Reports in a minute; more end the subscription for 4 to 6 minutes. */
#define IPOIB_SUB_BUDGET	300
#define IPOIB_SUB_QUIET		(4 * 60 * HZ)

/* Address of the SA. */
struct ipoib_sm_addr {
	/* references of the agent, of each outstanding request, and of each response to a report */
	refcount_t ref;
	struct ib_ah *ah;
	u16 lid;	/* LID of the SM */
	u8 lmc;		/* see &ipoib_port.lmc */
	u16 pkey_index;	/* of the default P_Key */
};

/* An outstanding question. */
struct ipoib_request {
	struct list_head list;		/* in &ipoib_agent.requests, under its lock */
	struct ib_mad_send_buf *buf;	/* the MAD */
	struct ipoib_sm_addr *sm;	/* its destination */
	void *owner;			/* for @answer and ipoib_sa_agent_cancel() */
	ipoib_answer_t answer;		/* callback; NULL once called */
};

/* ---- questions and answers ---- */

/* Drop a reference; NULL is allowed. The last reference destroys the address handle. */
static void ipoib_sa_sm_put(struct ipoib_sm_addr *sm)
{
	if (!sm || !refcount_dec_and_test(&sm->ref))
		return;
	rdma_destroy_ah(sm->ah, 0);
	kfree(sm);
}

/* Returns the address of the SA with a reference, or NULL without an SM. */
static struct ipoib_sm_addr *ipoib_sa_agent_sm(struct ipoib_agent *agent)
{
	struct ipoib_sm_addr *sm;

	spin_lock_bh(&agent->lock);
	sm = agent->sm;
	if (sm)
		refcount_inc(&sm->ref);
	spin_unlock_bh(&agent->lock);
	return sm;
}

/* Free a request with its MAD, and drop its reference to the address. */
static void ipoib_sa_request_free(struct ipoib_request *request)
{
	if (request->buf)
		ib_free_send_mad(request->buf);
	ipoib_sa_sm_put(request->sm);
	kfree(request);
}

/* Call the callback of a request, unless it was called. &ipoib_agent.lock is not held. */
static void ipoib_sa_request_answer(struct ipoib_request *request, int status,
				    const struct ib_mad_recv_wc *answer)
{
	if (request->answer)
		request->answer(request->owner, status, request->buf->mad, answer);
	request->answer = NULL;
}

/* Callback of ib_mad, process: an answer. The request lives until ipoib_sa_agent_sent(). */
static void ipoib_sa_agent_recv(struct ib_mad_agent *mad,
				struct ib_mad_send_buf *buf,
				struct ib_mad_recv_wc *wc)
{
	const struct ib_mad_hdr *header = &wc->recv_buf.mad->mad_hdr;

	if (buf)
		ipoib_sa_request_answer(buf->context[0],
					ipoib_sa_errno(be16_to_cpu(header->status)), wc);
	ib_free_recv_mad(wc);
}

/* Callback of ib_mad, process: end of a request, after its answer if there is one. Frees it. */
static void ipoib_sa_agent_sent(struct ib_mad_agent *mad, struct ib_mad_send_wc *wc)
{
	struct ipoib_request *request = wc->send_buf->context[0];
	struct ipoib_agent *agent = mad->context;
	int err = -EIO;

	spin_lock_bh(&agent->lock);
	list_del(&request->list);
	spin_unlock_bh(&agent->lock);
	if (wc->status == IB_WC_RESP_TIMEOUT_ERR)
		err = -ETIMEDOUT;
	else if (wc->status == IB_WC_WR_FLUSH_ERR)
		err = -EINTR;
	ipoib_sa_request_answer(request, err, NULL);
	ipoib_sa_request_free(request);
}

/*
 * Send a question, with its callback, to the SA.
 * Context: process, may sleep. Return: 0, and the callback follows; -EAGAIN without an SM, -ENOMEM
 * or another error.
 */
int ipoib_sa_agent_ask(struct ipoib_agent *agent, const struct ipoib_question *question)
{
	struct ipoib_request *request;
	struct ib_mad_send_buf *buf;
	struct ib_sa_mad *mad;
	int err = -EAGAIN;

	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	request->owner = question->owner;
	request->answer = question->answer;
	request->sm = ipoib_sa_agent_sm(agent);
	if (!request->sm)
		goto free_request;
	buf = ib_create_send_mad(agent->mad, 1, request->sm->pkey_index, 0, IB_MGMT_SA_HDR,
				 IB_MGMT_SA_DATA, GFP_KERNEL, IB_MGMT_BASE_VERSION);
	err = PTR_ERR_OR_ZERO(buf);
	if (err)
		goto free_request;
	buf->ah = request->sm->ah;
	buf->timeout_ms = question->timeout_ms;
	buf->retries = question->retries;
	buf->context[0] = request;
	request->buf = buf;
	mad = buf->mad;
	mad->mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	mad->mad_hdr.mgmt_class = IB_MGMT_CLASS_SUBN_ADM;
	mad->mad_hdr.class_version = IB_SA_CLASS_VERSION;
	mad->mad_hdr.method = question->method;
	mad->mad_hdr.attr_id = cpu_to_be16(question->attr);
	mad->sa_hdr.comp_mask = question->mask;
	memcpy(mad->data, question->data, question->len);
	spin_lock_bh(&agent->lock);
	mad->mad_hdr.tid = cpu_to_be64((u64)agent->mad->hi_tid << 32 | ++agent->tid);
	/* A cancellation finds it from now on. */
	list_add_tail(&request->list, &agent->requests);
	spin_unlock_bh(&agent->lock);
	err = ib_post_send_mad(buf, NULL);
	if (!err)
		return 0;
	spin_lock_bh(&agent->lock);
	list_del(&request->list);
	spin_unlock_bh(&agent->lock);

free_request:
	ipoib_sa_request_free(request);
	return err;
}

/*
 * Cancel the questions of an owner, whose callbacks get errors.
 * Context: any but hard interrupt; does not wait.
 */
void ipoib_sa_agent_cancel(struct ipoib_agent *agent, const void *owner)
{
	struct ipoib_request *request;

	spin_lock_bh(&agent->lock);
	list_for_each_entry(request, &agent->requests, list)
		if (request->owner == owner)
			ib_cancel_mad(request->buf);
	spin_unlock_bh(&agent->lock);
}

/* ---- subscription ---- */

static void ipoib_sa_sub_set_state(struct ipoib_agent *agent, enum ipoib_sub_state state)
{
	static const u8 next[IPOIB_NR_SUB_STATES] = {
		[IPOIB_SUB_OFF]		= BIT(IPOIB_SUB_ASKING),
		[IPOIB_SUB_ASKING]	= BIT(IPOIB_SUB_ON) | BIT(IPOIB_SUB_BACKOFF),
		[IPOIB_SUB_ON]		= BIT(IPOIB_SUB_BACKOFF) | BIT(IPOIB_SUB_LEAVING),
		[IPOIB_SUB_BACKOFF]	= BIT(IPOIB_SUB_ASKING) | BIT(IPOIB_SUB_LEAVING),
		[IPOIB_SUB_LEAVING]	= BIT(IPOIB_SUB_OFF),
	};

	WARN_ON_ONCE(!(next[agent->sub_state] & BIT(state)));
	WRITE_ONCE(agent->sub_state, state);
}

/* A work that is queued for an earlier time stays so. */
static void ipoib_sa_sub_back_off(struct ipoib_agent *agent)
{
	unsigned int failures = READ_ONCE(agent->sub_failures);

	/* Not if an event has set it to 0. */
	cmpxchg(&agent->sub_failures, failures, failures + 1);
	queue_delayed_work(system_unbound_wq, &agent->sub_work,
			   ipoib_backoff_spread(ipoib_backoff_fast(failures)));
}

static void ipoib_sa_sub_warn(struct ipoib_agent *agent, const char *what, int err)
{
	if (agent->sub_warned)
		return;
	agent->sub_warned = true;
	dev_warn(&agent->ca->dev, "port %u: %s: %d; no reports of groups from the SA\n",
		 agent->port, what, err);
}

/* Check for a subscription. Context: any. Return: true if the SM has granted it. */
bool ipoib_sa_notice_on(const struct ipoib_agent *agent)
{
	return READ_ONCE(agent->sub_state) == IPOIB_SUB_ON;
}

/*
 * Count users of the subscription: a monitored group, or an interface that routes multicast, comes
 * (@on) or goes.
 * Context: any but hard interrupt.
 */
void ipoib_sa_monitor(struct ipoib_agent *agent, bool on)
{
	if (on && atomic_inc_return(&agent->monitors) == 1)
		mod_delayed_work(system_unbound_wq, &agent->sub_work, ipoib_spread());
	else if (!on && atomic_dec_and_test(&agent->monitors))
		mod_delayed_work(system_unbound_wq, &agent->sub_work, IPOIB_SUB_UNUSED);
}

/* Returns the jiffies until a subscription is needed; ULONG_MAX without users. */
static unsigned long ipoib_sa_sub_until(const struct ipoib_agent *agent)
{
	unsigned long left = READ_ONCE(agent->quiet_until) - jiffies;

	if (!atomic_read(&agent->monitors))
		return ULONG_MAX;
	/* Otherwise long past: jiffies of 32 bits wrap. */
	return left <= IPOIB_SUB_QUIET * 2 ? left : 0;
}

/* Callback of a question. The last answer queues the work. */
static void ipoib_sa_sub_answer(void *owner, int status, const struct ib_sa_mad *asked,
				const struct ib_mad_recv_wc *answer)
{
	struct ipoib_agent *agent = owner;
	bool last;

	if (READ_ONCE(agent->ends))
		return;
	spin_lock_bh(&agent->lock);
	agent->sub_err = agent->sub_err ?: status;
	last = !--agent->sub_pending;
	spin_unlock_bh(&agent->lock);
	if (last)
		mod_delayed_work(system_unbound_wq, &agent->sub_work, 0);
}

/* Subscribe to both traps, or end that. */
static void ipoib_sa_sub_ask(struct ipoib_agent *agent, bool subscribe)
{
	struct ipoib_inform_info info = {
		.lid_begin = cpu_to_be16(0xffff),
		.generic = 1,
		.subscribe = subscribe,
		.type = cpu_to_be16(0xffff),
		/* The end names the QP of the reports: QP1. */
		.qpn_resp = cpu_to_be32(!subscribe << 8 | IPOIB_SUB_RESP_TIME),
		.producer = cpu_to_be32(IPOIB_PRODUCER_MANAGER),
	};
	struct ipoib_question question = {
		.method = IB_MGMT_METHOD_SET,
		.attr = IB_SA_ATTR_INFORM_INFO,
		.data = &info,
		.len = sizeof(info),
		.timeout_ms = IPOIB_SUB_TIMEOUT,
		.retries = 1,
		.owner = agent,
		.answer = ipoib_sa_sub_answer,
	};
	u16 trap;
	int err;

	spin_lock_bh(&agent->lock);
	agent->sub_pending = IPOIB_TRAP_MGID_GONE - IPOIB_TRAP_MGID_NEW + 1;
	agent->sub_err = 0;
	spin_unlock_bh(&agent->lock);
	for (trap = IPOIB_TRAP_MGID_NEW; trap <= IPOIB_TRAP_MGID_GONE; trap++) {
		info.trap = cpu_to_be16(trap);
		err = ipoib_sa_agent_ask(agent, &question);
		if (err)
			ipoib_sa_sub_answer(agent, err, NULL, NULL);
	}
}

/* ---- reports ---- */

/* Callback of ib_mad, process: drops the reference of the response, and frees it. */
static void ipoib_sa_notice_sent(struct ib_mad_agent *mad, struct ib_mad_send_wc *wc)
{
	ipoib_sa_sm_put(wc->send_buf->context[0]);
	ib_free_send_mad(wc->send_buf);
}

/* Answer a report, which the SA would repeat. Takes over the reference to @sm. */
static void ipoib_sa_notice_respond(struct ib_mad_agent *reports,
				    const struct ib_mad_recv_wc *wc,
				    struct ipoib_sm_addr *sm)
{
	struct ib_mad_send_buf *buf;
	struct ib_sa_mad *mad;

	buf = ib_create_send_mad(reports, 1, wc->wc->pkey_index, 0,
				 IB_MGMT_SA_HDR, IB_MGMT_SA_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf))
		goto put_sm;
	mad = buf->mad;
	memcpy(mad, wc->recv_buf.mad, sizeof(*mad));
	mad->mad_hdr.method = IB_MGMT_METHOD_REPORT_RESP;
	buf->ah = sm->ah;
	buf->context[0] = sm;
	if (!ib_post_send_mad(buf, NULL))
		return;
	ib_free_send_mad(buf);
put_sm:
	ipoib_sa_sm_put(sm);
}

/* Check the source and the form of a report. */
static bool ipoib_sa_notice_is_genuine(const struct ib_mad_recv_wc *wc,
				       const struct ipoib_sm_addr *sm)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;

	return sm && wc->wc->src_qp == 1 &&
	       ipoib_lid_is_same_port(wc->wc->slid, sm->lid, sm->lmc) &&
	       wc->wc->byte_len == sizeof(struct ib_grh) + sizeof(*mad) &&
	       mad->mad_hdr.class_version == IB_SA_CLASS_VERSION &&
	       mad->mad_hdr.method == IB_MGMT_METHOD_REPORT &&
	       mad->mad_hdr.attr_id == cpu_to_be16(IB_SA_ATTR_NOTICE) &&
	       !mad->mad_hdr.attr_mod && !mad->mad_hdr.status &&
	       mad->mad_hdr.tid && !mad->rmpp_hdr.rmpp_type;
}

/* &ipoib_agent.lock held, so it asks no question. */
static void ipoib_sa_notice_deliver(struct ipoib_dev *priv, const struct ipoib_notice *notice)
{
	bool created = notice->trap == cpu_to_be16(IPOIB_TRAP_MGID_NEW);
	union ib_gid gid;

	memcpy(gid.raw, notice->gid, sizeof(gid));
	ipoib_stat_add(priv, IPOIB_NOTICES, 1);
	trace_ipoib_notice(priv->netdev, gid.raw, created ? "group created" : "group deleted", 0);
	if (created)
		ipoib_mcast_group_created(priv, &gid);
	else
		ipoib_mcast_group_deleted(priv, &gid);
}

/* Beyond the budget each port ends its subscription for some minutes, and with them a storm. */
static void ipoib_sa_notice_charge(struct ipoib_agent *agent)
{
	if (__ratelimit(&agent->budget))
		return;
	WRITE_ONCE(agent->quiet_until, jiffies + ipoib_backoff_spread(IPOIB_SUB_QUIET));
	mod_delayed_work(system_unbound_wq, &agent->sub_work, 0);
}

/* Callback of ib_mad, process; frees @wc. */
static void ipoib_sa_notice_recv(struct ib_mad_agent *reports,
				 struct ib_mad_send_buf *buf,
				 struct ib_mad_recv_wc *wc)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;
	const struct ipoib_notice *notice = (const void *)mad->data;
	struct ipoib_agent *agent = reports->context;
	struct ipoib_sm_addr *sm = ipoib_sa_agent_sm(agent);
	bool good = ipoib_sa_notice_is_genuine(wc, sm) && ipoib_sa_notice_is_sound(notice);
	struct ipoib_dev *priv;

	spin_lock_bh(&agent->lock);
	list_for_each_entry(priv, &agent->devs, agent_list) {
		if (!good)
			ipoib_stat_add(priv, IPOIB_NOTICES_BAD, 1);
		/* The same TID is the repetition of a report whose answer was lost. */
		else if (mad->mad_hdr.tid != READ_ONCE(agent->last_tid))
			ipoib_sa_notice_deliver(priv, notice);
	}
	spin_unlock_bh(&agent->lock);
	if (good) {
		WRITE_ONCE(agent->last_tid, mad->mad_hdr.tid);
		ipoib_sa_notice_charge(agent);
		ipoib_sa_notice_respond(reports, wc, sm);
	} else {
		ipoib_sa_sm_put(sm);
	}
	ib_free_recv_mad(wc);
}

/* Waits for callbacks of ib_mad. */
static void ipoib_sa_notice_unregister(struct ipoib_agent *agent)
{
	if (agent->reports)
		ib_unregister_mad_agent(agent->reports);
	agent->reports = NULL;
}

/* ---- work ---- */

static void ipoib_sa_sub_subscribe(struct ipoib_agent *agent)
{
	struct ib_mad_reg_req request = {
		.mgmt_class = IB_MGMT_CLASS_SUBN_ADM,
		.mgmt_class_version = IB_SA_CLASS_VERSION,
	};
	int err;

	if (!agent->reports) {
		set_bit(IB_MGMT_METHOD_REPORT, request.method_mask);
		agent->reports = ib_register_mad_agent(agent->ca, agent->port, IB_QPT_GSI,
						       &request, 0, ipoib_sa_notice_sent,
						       ipoib_sa_notice_recv, agent, 0);
	}
	if (!IS_ERR(agent->reports)) {
		ipoib_sa_sub_set_state(agent, IPOIB_SUB_ASKING);
		ipoib_sa_sub_ask(agent, true);
		return;
	}
	err = PTR_ERR(agent->reports);
	agent->reports = NULL;
	/* The error of ib_mad for a method in use */
	ipoib_sa_sub_warn(agent, err == -EINVAL ?
			  "another program on this port takes its reports" :
			  "cannot take reports", err);
	ipoib_sa_sub_back_off(agent);
}

static void ipoib_sa_sub_granted(struct ipoib_agent *agent)
{
	struct ipoib_dev *priv;

	ipoib_sa_sub_set_state(agent, IPOIB_SUB_ON);
	agent->sub_warned = false;
	WRITE_ONCE(agent->sub_failures, 0);
	/* Reports before the grant were missed. */
	spin_lock_bh(&agent->lock);
	list_for_each_entry(priv, &agent->devs, agent_list)
		ipoib_mcast_review(priv);
	spin_unlock_bh(&agent->lock);
}

/*
 * Next state after all answers, or after a change of the SM: a grant of the previous SM does not
 * count. Returns false if the next step follows a pause.
 */
static bool ipoib_sa_sub_follow(struct ipoib_agent *agent, int err, bool stale)
{
	switch (agent->sub_state) {
	case IPOIB_SUB_ASKING:
		if (!err && !stale) {
			ipoib_sa_sub_granted(agent);
			return true;
		}
		ipoib_sa_sub_set_state(agent, IPOIB_SUB_BACKOFF);
		if (stale)
			return true;
		/* The SM may be starting. */
		if (!ipoib_sa_is_silent(err) && err != -EAGAIN)
			ipoib_sa_sub_warn(agent, "the SA refuses a subscription", err);
		ipoib_sa_sub_back_off(agent);
		return false;
	case IPOIB_SUB_ON:
		if (stale)
			ipoib_sa_sub_set_state(agent, IPOIB_SUB_BACKOFF);
		return true;
	case IPOIB_SUB_LEAVING:
		/* An SA that does not answer gets no second question. */
		WRITE_ONCE(agent->sub_failures, 0);
		ipoib_sa_notice_unregister(agent);
		ipoib_sa_sub_set_state(agent, IPOIB_SUB_OFF);
		return true;
	default:
		return true;
	}
}

static void ipoib_sa_sub_work(struct work_struct *work)
{
	struct ipoib_agent *agent = container_of(to_delayed_work(work),
						 struct ipoib_agent, sub_work);
	unsigned long until;
	bool pending, stale;
	int err;

	spin_lock_bh(&agent->lock);
	pending = agent->sub_pending;
	err = agent->sub_err;
	stale = agent->sub_stale;
	agent->sub_stale &= pending;
	spin_unlock_bh(&agent->lock);
	if (READ_ONCE(agent->ends) || pending || !ipoib_sa_sub_follow(agent, err, stale))
		return;
	until = ipoib_sa_sub_until(agent);
	if (!until && agent->sub_state != IPOIB_SUB_ON) {
		ipoib_sa_sub_subscribe(agent);
	} else if (until && agent->sub_state != IPOIB_SUB_OFF) {
		ipoib_sa_sub_set_state(agent, IPOIB_SUB_LEAVING);
		ipoib_sa_sub_ask(agent, false);
	} else if (until && until != ULONG_MAX) {
		queue_delayed_work(system_unbound_wq, &agent->sub_work, until);
	}
}

/*
 * Subscribe again, as the SM may have forgotten the subscription and its groups: a sender that is
 * no full member would not notice that its group is another one.
 */
static void ipoib_sa_notice_renew(struct ipoib_agent *agent)
{
	struct ipoib_dev *priv;

	spin_lock_bh(&agent->lock);
	agent->sub_stale = true;
	list_for_each_entry(priv, &agent->devs, agent_list)
		ipoib_mcast_review(priv);
	spin_unlock_bh(&agent->lock);
	/* TIDs of another SM begin anew. */
	WRITE_ONCE(agent->last_tid, 0);
	WRITE_ONCE(agent->sub_failures, 0);
	mod_delayed_work(system_unbound_wq, &agent->sub_work, ipoib_spread());
}

/*
 * End the subscription of an agent that ends, without an interface that is up. The requests are
 * sent before the MAD agent is destroyed; their answers are not waited for.
 */
static void ipoib_sa_notice_exit(struct ipoib_agent *agent)
{
	/* A late answer may queue the work, which does nothing then. */
	cancel_delayed_work_sync(&agent->sub_work);
	ipoib_sa_notice_unregister(agent);
	/* Cancel a subscription that is being made. */
	ipoib_sa_agent_cancel(agent, agent);
	if (agent->sub_state != IPOIB_SUB_OFF)
		ipoib_sa_sub_ask(agent, false);
}

/* ---- address of the SA ---- */

/* Returns the address with a reference; NULL if the port has no SM; or ERR_PTR(). May sleep. */
static struct ipoib_sm_addr *ipoib_sa_sm_find(struct ipoib_agent *agent)
{
	struct rdma_ah_attr attr = {
		.type = rdma_ah_find_type(agent->ca, agent->port),
	};
	struct ipoib_sm_addr *sm;
	struct ib_port_attr port;
	int err;

	err = ib_query_port(agent->ca, agent->port, &port);
	if (err)
		return ERR_PTR(err);
	if (!port.sm_lid || port.sm_lid >= be16_to_cpu(IB_MULTICAST_LID_BASE))
		return NULL;
	sm = kzalloc(sizeof(*sm), GFP_KERNEL);
	if (!sm)
		return ERR_PTR(-ENOMEM);
	refcount_set(&sm->ref, 1);
	sm->lid = port.sm_lid;
	sm->lmc = port.lmc;
	/* Without the full default P_Key index 0 serves. */
	if (ib_find_pkey(agent->ca, agent->port, IB_DEFAULT_PKEY_FULL, &sm->pkey_index))
		sm->pkey_index = 0;
	rdma_ah_set_dlid(&attr, port.sm_lid);
	rdma_ah_set_sl(&attr, port.sm_sl);
	rdma_ah_set_port_num(&attr, agent->port);
	if (rdma_is_grh_required(agent->ca, agent->port)) {
		rdma_ah_set_ah_flags(&attr, IB_AH_GRH);
		rdma_ah_set_subnet_prefix(&attr, cpu_to_be64(port.subnet_prefix));
		rdma_ah_set_interface_id(&attr, cpu_to_be64(IB_SA_WELL_KNOWN_GUID));
	}
	sm->ah = rdma_create_ah(agent->mad->qp->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	if (!IS_ERR(sm->ah))
		return sm;
	err = PTR_ERR(sm->ah);
	kfree(sm);
	return ERR_PTR(err);
}

/* Read the address of the SA anew; outstanding requests keep the old address. */
static void ipoib_sa_agent_sm_work(struct work_struct *work)
{
	struct ipoib_agent *agent = container_of(to_delayed_work(work),
						 struct ipoib_agent, sm_work);
	struct ipoib_sm_addr *sm = ipoib_sa_sm_find(agent);

	/* No event follows when memory is free again. */
	if (IS_ERR(sm)) {
		queue_delayed_work(system_unbound_wq, &agent->sm_work, IPOIB_SM_RETRY);
		return;
	}
	spin_lock_bh(&agent->lock);
	swap(agent->sm, sm);
	spin_unlock_bh(&agent->lock);
	ipoib_sa_sm_put(sm);
	ipoib_sa_notice_renew(agent);
}

/* ---- lifetime ---- */

/* Create the agent of a port. Context: may sleep. Return: agent or ERR_PTR(). */
struct ipoib_agent *ipoib_sa_agent_make(struct ib_device *ca, u32 port)
{
	struct ipoib_agent *agent = kzalloc(sizeof(*agent), GFP_KERNEL);
	int err;

	if (!agent)
		return ERR_PTR(-ENOMEM);
	agent->ca = ca;
	agent->port = port;
	/* Answers to questions before the last removal of the port must not match. */
	agent->tid = get_random_u32();
	spin_lock_init(&agent->lock);
	INIT_LIST_HEAD(&agent->devs);
	INIT_LIST_HEAD(&agent->requests);
	INIT_DELAYED_WORK(&agent->sm_work, ipoib_sa_agent_sm_work);
	ipoib_limit_init(&agent->limit, IPOIB_QUERIES_MAX);
	INIT_DELAYED_WORK(&agent->sub_work, ipoib_sa_sub_work);
	ratelimit_state_init(&agent->budget, 60 * HZ, IPOIB_SUB_BUDGET);
	/* No log message beyond the budget */
	ratelimit_set_flags(&agent->budget, RATELIMIT_MSG_ON_RELEASE);
	agent->quiet_until = jiffies;
	agent->mad = ib_register_mad_agent(ca, port, IB_QPT_GSI, NULL, IB_MGMT_RMPP_VERSION,
					   ipoib_sa_agent_sent, ipoib_sa_agent_recv, agent, 0);
	if (IS_ERR(agent->mad)) {
		err = PTR_ERR(agent->mad);
		kfree(agent);
		return ERR_PTR(err);
	}
	queue_delayed_work(system_unbound_wq, &agent->sm_work, 0);
	return agent;
}

/*
 * Free an agent without interfaces. Outstanding questions end with an error, without waiting for
 * the SA.
 * Context: may sleep.
 */
void ipoib_sa_agent_free(struct ipoib_agent *agent)
{
	WRITE_ONCE(agent->ends, true);
	WARN_ON_ONCE(atomic_read(&agent->monitors));
	cancel_delayed_work_sync(&agent->sm_work);
	ipoib_sa_notice_exit(agent);
	ib_unregister_mad_agent(agent->mad);
	WARN_ON_ONCE(!list_empty(&agent->requests));
	/* An answer may have queued it again; it does nothing now. */
	cancel_delayed_work_sync(&agent->sub_work);
	ipoib_sa_sm_put(agent->sm);
	kfree(agent);
}
