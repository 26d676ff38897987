// SPDX-License-Identifier: GPL-2.0
/*
 * What the SA reports: ports and groups that come and go.
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
#include "ipoib.h"
#include "ipoib_trace.h"
#include "sa/sa.h"

/* Milliseconds: first and longest pause after a failure. */
#define IPOIB_SUB_BACKOFF_MIN	100
#define IPOIB_SUB_BACKOFF_MAX	16000
#define IPOIB_SUB_TIMEOUT	500
/* IBTA 13.4.6.2: response time 4.096 us * 2^18, about a second. */
#define IPOIB_SUB_RESP_TIME	18

static const char * const ipoib_trap_names[] = {
	[IPOIB_TRAP_GID_IN - IPOIB_TRAP_GID_IN]		= "port in service",
	[IPOIB_TRAP_GID_OUT - IPOIB_TRAP_GID_IN]	= "port out of service",
	[IPOIB_TRAP_MGID_NEW - IPOIB_TRAP_GID_IN]	= "group created",
	[IPOIB_TRAP_MGID_GONE - IPOIB_TRAP_GID_IN]	= "group deleted",
};

static_assert(ARRAY_SIZE(ipoib_trap_names) == IPOIB_NR_TRAPS);

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

/**
 * ipoib_sa_notice_renew - subscribe again, as the SM may have forgotten the subscriptions
 * @agent: the agent
 *
 * Context: any but hard interrupt
 */
void ipoib_sa_notice_renew(struct ipoib_agent *agent)
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

/**
 * ipoib_sa_notice_init - initialise the subscriptions
 * @agent: an agent that is being made
 */
void ipoib_sa_notice_init(struct ipoib_agent *agent)
{
	INIT_DELAYED_WORK(&agent->sub_work, ipoib_sa_sub_work);
	agent->sub_backoff = IPOIB_SUB_BACKOFF_MIN;
}

/**
 * ipoib_sa_notice_exit - end what is left of the subscriptions
 * @agent: an agent that ends; no interface is up any more
 *
 * The requests are on their way when the MAD agent goes. The answers are not needed, and
 * not waited for.
 *
 * Context: may sleep
 */
void ipoib_sa_notice_exit(struct ipoib_agent *agent)
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
