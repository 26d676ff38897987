// SPDX-License-Identifier: GPL-2.0
/*
 * The agent of a port: where the SA is, questions to it that ib_sa has no function for, and
 * what it reports: ports and groups that come and go.
 *
 * The interface of a port makes a &struct ipoib_agent, which its children share. It
 * keeps a list of the requests under way, and hands each answer to its caller,
 * exactly once: with the answer, or with an error when it timed out, was cancelled or
 * could not be sent.
 *
 * RFC 4391 section 10 has senders subscribe to the creation and deletion of
 * groups (traps 66 and 67, U52); traps 64 and 65 are about ports. A port
 * subscribes when its first interface comes up and ends that when the last one
 * goes down. The SA keeps subscriptions in memory: after a change of the SM
 * they are made anew, and whatever happened meanwhile is asked for.
 *
 * One work does it, one request at a time. Reports come as requests of the SA
 * to a MAD agent of their own, since another MAD agent of the port may have
 * claimed them already; then there are none for the driver, and what depends on
 * them asks the SA from time to time instead.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "sa/sa.h"

/* Pause before the SA is looked for again after a failure. */
#define IPOIB_SM_RETRY		(HZ / 10)

/* Milliseconds: first and longest pause after a subscription has failed. */
#define IPOIB_SUB_BACKOFF_MIN	100
#define IPOIB_SUB_BACKOFF_MAX	16000
#define IPOIB_SUB_TIMEOUT	500
/* IBTA 13.4.6.2: response time 4.096 us * 2^18, about a second. */
#define IPOIB_SUB_RESP_TIME	18

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

static const char * const ipoib_trap_names[] = {
	[IPOIB_TRAP_GID_IN - IPOIB_TRAP_GID_IN]		= "port in service",
	[IPOIB_TRAP_GID_OUT - IPOIB_TRAP_GID_IN]	= "port out of service",
	[IPOIB_TRAP_MGID_NEW - IPOIB_TRAP_GID_IN]	= "group created",
	[IPOIB_TRAP_MGID_GONE - IPOIB_TRAP_GID_IN]	= "group deleted",
};

static_assert(ARRAY_SIZE(ipoib_trap_names) == IPOIB_NR_TRAPS);

/**
 * struct ipoib_request - a question under way
 * @list: in &ipoib_agent.requests, under its lock
 * @buf: the MAD
 * @sm: address it is sent to
 * @owner: for @answer and ipoib_sa_agent_cancel()
 * @answer: takes the answer; NULL once it has
 */
struct ipoib_request {
	struct list_head list;
	struct ib_mad_send_buf *buf;
	struct ipoib_sm_addr *sm;
	void *owner;
	ipoib_answer_t answer;
};

/* ---- questions and answers ---- */

static void ipoib_sa_sm_put(struct ipoib_sm_addr *sm)
{
	if (!sm || !refcount_dec_and_test(&sm->ref))
		return;
	rdma_destroy_ah(sm->ah, 0);
	kfree(sm);
}

/* Where the SA is, with a reference; NULL while there is no SM. */
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

static int ipoib_sa_errno(u16 status)
{
	/* IBTA table 187: status of the class SubnAdm, in the upper octet. */
	static const int class_errno[] = {
		[1] = -ENOBUFS,		/* no resources */
		[2] = -EINVAL,		/* request invalid */
		[3] = -ENOENT,		/* no records */
		[4] = -E2BIG,		/* too many records */
		[5] = -EADDRNOTAVAIL,	/* requester GID invalid */
		[6] = -EBADMSG,		/* insufficient components */
		[7] = -EACCES,		/* denied */
	};
	unsigned int class = status >> 8;

	if (!status)
		return 0;
	if (status & IB_MGMT_MAD_STATUS_BUSY)
		return -EBUSY;
	/* There may be no SA: then the kernel of its node answers. */
	switch (status & IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE) {
	case IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD:
	case IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB:
		return -EOPNOTSUPP;
	}
	return class && class < ARRAY_SIZE(class_errno) ? class_errno[class] : -EPROTO;
}

static void ipoib_sa_request_free(struct ipoib_request *request)
{
	if (request->buf)
		ib_free_send_mad(request->buf);
	ipoib_sa_sm_put(request->sm);
	kfree(request);
}

/* Once for each request. */
static void ipoib_sa_request_answer(struct ipoib_request *request, int status,
				    const struct ib_mad_recv_wc *answer)
{
	if (request->answer)
		request->answer(request->owner, status, request->buf->mad, answer);
	request->answer = NULL;
}

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

/* The end of each request, after its answer if there was one. */
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

/**
 * ipoib_sa_agent_ask - ask the SA
 * @agent: the agent
 * @question: what, and what takes the answer
 *
 * Context: process, may sleep
 * Return: 0 if the answer will be given; -EAGAIN while there is no SM, -ENOMEM or another
 * error if not
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
	/* From here on, cancelling finds it. */
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

/**
 * ipoib_sa_agent_cancel - let the questions of an owner end soon
 * @agent: the agent
 * @owner: whose; their answers are still given, as errors
 *
 * Context: any but hard interrupt; does not wait
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

/* ---- subscriptions ---- */

/* A work that is queued for an earlier time stays so. */
static void ipoib_sa_sub_back_off(struct ipoib_agent *agent)
{
	unsigned int pause = READ_ONCE(agent->sub_backoff);

	cmpxchg(&agent->sub_backoff, pause,
		ipoib_backoff_next(pause, IPOIB_SUB_BACKOFF_MIN,
				   IPOIB_SUB_BACKOFF_MAX));
	queue_delayed_work(system_unbound_wq, &agent->sub_work,
			   msecs_to_jiffies(ipoib_backoff_spread(pause)));
}

static void ipoib_sa_sub_warn(struct ipoib_agent *agent, const char *what, int err)
{
	if (READ_ONCE(agent->sub_warned))
		return;
	WRITE_ONCE(agent->sub_warned, true);
	dev_warn(&agent->ca->dev,
		 "port %u: %s: %d; no reports of groups and ports from the SA\n",
		 agent->port, what, err);
}

/**
 * ipoib_sa_notice_on - whether the SA reports groups that come and go
 * @agent: the agent
 *
 * Context: any
 * Return: true if the SM knows all subscriptions
 */
bool ipoib_sa_notice_on(struct ipoib_agent *agent)
{
	return READ_ONCE(agent->sub_on) == IPOIB_NR_TRAPS;
}

static void ipoib_sa_sub_answer(void *owner, int status, const struct ib_sa_mad *asked,
				const struct ib_mad_recv_wc *answer)
{
	struct ipoib_agent *agent = owner;
	struct ipoib_dev *priv;
	bool leaving;

	if (READ_ONCE(agent->ends))
		return;
	spin_lock_bh(&agent->lock);
	leaving = agent->sub_state == IPOIB_SUB_LEAVING;
	if (agent->sub_state == IPOIB_SUB_ASKING && !status)
		WRITE_ONCE(agent->sub_on, agent->sub_on + 1);
	WRITE_ONCE(agent->sub_state, IPOIB_SUB_IDLE);
	spin_unlock_bh(&agent->lock);
	if (!status || leaving) {
		WRITE_ONCE(agent->sub_backoff, IPOIB_SUB_BACKOFF_MIN);
		if (ipoib_sa_notice_on(agent)) {
			WRITE_ONCE(agent->sub_warned, false);
			/* What happened before that has to be asked for. */
			spin_lock_bh(&agent->lock);
			list_for_each_entry(priv, &agent->devs, agent_list)
				ipoib_mcast_review(priv);
			spin_unlock_bh(&agent->lock);
		}
		/* The next, or the end if the last interface has gone down. */
		mod_delayed_work(system_unbound_wq, &agent->sub_work, 0);
		return;
	}
	/* The SM may be starting. */
	if (!ipoib_sa_is_silent(status))
		ipoib_sa_sub_warn(agent, "the SA refuses a subscription", status);
	ipoib_sa_sub_back_off(agent);
}

/*
 * IPOIB_SUB_ASKING for the first trap that has not been granted, or IPOIB_SUB_LEAVING for the
 * last one that an SA may know of. To an SA that is silent the latter is not repeated.
 */
static int ipoib_sa_sub_ask(struct ipoib_agent *agent, enum ipoib_sub_state state)
{
	bool leaving = state == IPOIB_SUB_LEAVING;
	struct ipoib_inform_info info = {
		.lid_begin = cpu_to_be16(0xffff),
		.generic = 1,
		.subscribe = !leaving,
		.type = cpu_to_be16(0xffff),
		/* Ending it names the QP that reports go to: QP1. */
		.qpn_resp = cpu_to_be32(leaving << 8 | IPOIB_SUB_RESP_TIME),
		.producer = cpu_to_be32(IPOIB_PRODUCER_MANAGER),
	};
	struct ipoib_question question = {
		.method = IB_MGMT_METHOD_SET,
		.attr = IB_SA_ATTR_INFORM_INFO,
		.data = &info,
		.len = sizeof(info),
		.timeout_ms = IPOIB_SUB_TIMEOUT,
		.retries = !leaving,
		.owner = agent,
		.answer = ipoib_sa_sub_answer,
	};
	unsigned int known, n;
	int err;

	spin_lock_bh(&agent->lock);
	known = agent->sub_known;
	n = leaving ? known - 1 : agent->sub_on;
	/* The last may have been granted since the work looked. */
	if (n == IPOIB_NR_TRAPS) {
		spin_unlock_bh(&agent->lock);
		return 0;
	}
	agent->sub_known = leaving ? n : max(known, n + 1);
	WRITE_ONCE(agent->sub_on, min(agent->sub_on, n));
	WRITE_ONCE(agent->sub_state, state);
	spin_unlock_bh(&agent->lock);
	info.trap = cpu_to_be16(IPOIB_TRAP_GID_IN + n);
	err = ipoib_sa_agent_ask(agent, &question);
	if (!err)
		return 0;
	spin_lock_bh(&agent->lock);
	WRITE_ONCE(agent->sub_state, IPOIB_SUB_IDLE);
	agent->sub_known = known;
	spin_unlock_bh(&agent->lock);
	return err;
}

/* ---- reports ---- */

static void ipoib_sa_notice_sent(struct ib_mad_agent *mad, struct ib_mad_send_wc *wc)
{
	ipoib_sa_sm_put(wc->send_buf->context[0]);
	ib_free_send_mad(wc->send_buf);
}

/* The SA repeats a report until it is answered. Takes over @sm. */
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

/* Is it from the SA, and a report at all? */
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

static void ipoib_sa_notice_deliver(struct ipoib_dev *priv, const struct ipoib_notice *notice)
{
	u16 trap = be16_to_cpu(notice->trap);
	union ib_gid gid;

	memcpy(gid.raw, notice->gid, sizeof(gid));
	ipoib_stat_add(priv, IPOIB_NOTICES, 1);
	trace_ipoib_notice(priv->netdev, gid.raw, ipoib_trap_names[trap - IPOIB_TRAP_GID_IN], 0);
	switch (trap) {
	case IPOIB_TRAP_GID_IN:
	case IPOIB_TRAP_GID_OUT:
		ipoib_neigh_port_moved(priv, &gid, trap == IPOIB_TRAP_GID_IN);
		break;
	case IPOIB_TRAP_MGID_NEW:
		ipoib_mcast_group_created(priv, &gid);
		break;
	case IPOIB_TRAP_MGID_GONE:
		ipoib_mcast_group_deleted(priv, &gid);
		break;
	}
}

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
		/* The response may have been lost: then it is the same report. */
		else if (mad->mad_hdr.tid != READ_ONCE(agent->last_tid))
			ipoib_sa_notice_deliver(priv, notice);
	}
	spin_unlock_bh(&agent->lock);
	if (good) {
		WRITE_ONCE(agent->last_tid, mad->mad_hdr.tid);
		ipoib_sa_notice_respond(reports, wc, sm);
	} else {
		ipoib_sa_sm_put(sm);
	}
	ib_free_recv_mad(wc);
}

static void ipoib_sa_notice_unregister(struct ipoib_agent *agent)
{
	if (agent->reports)
		ib_unregister_mad_agent(agent->reports);
	agent->reports = NULL;
}

/* ---- the work ---- */

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
	if (IS_ERR(agent->reports)) {
		err = PTR_ERR(agent->reports);
		agent->reports = NULL;
		/* ib_mad says so if the method is in use. */
		ipoib_sa_sub_warn(agent, err == -EINVAL ?
				  "another program on this port takes its reports" :
				  "cannot take reports", err);
		ipoib_sa_sub_back_off(agent);
		return;
	}
	if (READ_ONCE(agent->sub_state) == IPOIB_SUB_IDLE && !ipoib_sa_notice_on(agent) &&
	    ipoib_sa_sub_ask(agent, IPOIB_SUB_ASKING))
		ipoib_sa_sub_back_off(agent);
}

/* Also those that the SA may have forgotten, or has not granted yet. */
static void ipoib_sa_sub_unsubscribe(struct ipoib_agent *agent)
{
	int err = 0;

	if (READ_ONCE(agent->sub_state) != IPOIB_SUB_IDLE)
		return;
	if (agent->sub_known) {
		err = ipoib_sa_sub_ask(agent, IPOIB_SUB_LEAVING);
		if (!err)
			return;
	}
	ipoib_sa_notice_unregister(agent);
	/* There is no SM if it is -EAGAIN: it comes with an event. */
	if (err && err != -EAGAIN)
		ipoib_sa_sub_back_off(agent);
}

static void ipoib_sa_sub_work(struct work_struct *work)
{
	struct ipoib_agent *agent = container_of(to_delayed_work(work),
						 struct ipoib_agent, sub_work);

	if (READ_ONCE(agent->ends))
		return;
	if (list_empty_careful(&agent->devs))
		ipoib_sa_sub_unsubscribe(agent);
	else
		ipoib_sa_sub_subscribe(agent);
}

/* Subscribe again, as the SM may have forgotten the subscriptions. */
static void ipoib_sa_notice_renew(struct ipoib_agent *agent)
{
	spin_lock_bh(&agent->lock);
	WRITE_ONCE(agent->sub_on, 0);
	if (agent->sub_state == IPOIB_SUB_ASKING)
		WRITE_ONCE(agent->sub_state, IPOIB_SUB_STALE);
	spin_unlock_bh(&agent->lock);
	/* Another SM counts anew. */
	WRITE_ONCE(agent->last_tid, 0);
	WRITE_ONCE(agent->sub_backoff, IPOIB_SUB_BACKOFF_MIN);
	mod_delayed_work(system_unbound_wq, &agent->sub_work, ipoib_spread());
}

/*
 * End what is left of the subscriptions of an agent that ends; no interface is up any more.
 * The requests are on their way when the MAD agent goes. The answers are not needed, and
 * not waited for.
 */
static void ipoib_sa_notice_exit(struct ipoib_agent *agent)
{
	/* An answer may still queue the work, which does nothing any more. */
	cancel_delayed_work_sync(&agent->sub_work);
	ipoib_sa_notice_unregister(agent);
	/* One that is just being asked for is not to be asked again. */
	ipoib_sa_agent_cancel(agent, agent);
	while (agent->sub_known)
		if (ipoib_sa_sub_ask(agent, IPOIB_SUB_LEAVING))
			agent->sub_known--;
}

/* ---- where the SA is ---- */

/* NULL if the port has no SM. */
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
	/* Index 0 is right where the default P_Key is not there in full. */
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

static void ipoib_sa_agent_sm_work(struct work_struct *work)
{
	struct ipoib_agent *agent = container_of(to_delayed_work(work),
						 struct ipoib_agent, sm_work);
	struct ipoib_sm_addr *sm = ipoib_sa_sm_find(agent);

	/* No event reports that there is memory again. */
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

/**
 * ipoib_sa_agent_make - make the agent of a port
 * @ca: HCA
 * @port: port
 *
 * Context: may sleep
 * Return: agent or ERR_PTR()
 */
struct ipoib_agent *ipoib_sa_agent_make(struct ib_device *ca, u32 port)
{
	struct ipoib_agent *agent = kzalloc(sizeof(*agent), GFP_KERNEL);
	int err;

	if (!agent)
		return ERR_PTR(-ENOMEM);
	agent->ca = ca;
	agent->port = port;
	/* Drop answers to what was asked before the port was last removed. */
	agent->tid = get_random_u32();
	spin_lock_init(&agent->lock);
	INIT_LIST_HEAD(&agent->devs);
	INIT_LIST_HEAD(&agent->requests);
	INIT_DELAYED_WORK(&agent->sm_work, ipoib_sa_agent_sm_work);
	ipoib_limit_init(&agent->limit, IPOIB_QUERIES_MAX);
	INIT_DELAYED_WORK(&agent->sub_work, ipoib_sa_sub_work);
	agent->sub_backoff = IPOIB_SUB_BACKOFF_MIN;
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

/**
 * ipoib_sa_agent_free - free an agent
 * @agent: the agent; no interface uses it any more
 *
 * What is under way ends with an error for its caller, without waiting for the SA. Nothing
 * is asked any more.
 *
 * Context: may sleep
 */
void ipoib_sa_agent_free(struct ipoib_agent *agent)
{
	WRITE_ONCE(agent->ends, true);
	cancel_delayed_work_sync(&agent->sm_work);
	ipoib_sa_notice_exit(agent);
	ib_unregister_mad_agent(agent->mad);
	WARN_ON_ONCE(!list_empty(&agent->requests));
	/* An answer may have queued it again; it does nothing now. */
	cancel_delayed_work_sync(&agent->sub_work);
	ipoib_sa_sm_put(agent->sm);
	kfree(agent);
}
