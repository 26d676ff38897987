// SPDX-License-Identifier: GPL-2.0
/*
 * The MAD agent of a port: asks the SA what ib_sa has no function for.
 *
 * The interfaces of a port share one &struct ipoib_agent, found by HCA and
 * port. It knows where the SA is, keeps a list of the requests under way, and
 * hands each answer to who asked, exactly once: with the answer, or with an
 * error when it timed out, was cancelled or could not be sent.
 *
 * The questions are in query.c and notice.c.
 */
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "sa/sa.h"

/* Pause before the SA is looked for again after a failure. */
#define IPOIB_SM_RETRY		(HZ / 10)

/* IBTA table 187: status of the class SubnAdm, in the upper octet. */
#define IPOIB_SA_NO_RESOURCES	1
#define IPOIB_SA_REQ_INVALID	2
#define IPOIB_SA_NO_RECORDS	3
#define IPOIB_SA_TOO_MANY	4
#define IPOIB_SA_INVALID_GID	5
#define IPOIB_SA_INSUF_COMPS	6
#define IPOIB_SA_DENIED		7

/**
 * struct ipoib_request - a question under way
 * @list: in &ipoib_agent.requests, under its lock
 * @agent: whose
 * @buf: the MAD
 * @sm: address it is sent to
 * @owner: for ipoib_sa_agent_cancel()
 * @answer: who asked
 * @context: for @answer
 * @answered: @answer has been called
 */
struct ipoib_request {
	struct list_head list;
	struct ipoib_agent *agent;
	struct ib_mad_send_buf *buf;
	struct ipoib_sm_addr *sm;
	const void *owner;
	ipoib_answer_t answer;
	void *context;
	bool answered;
};

static LIST_HEAD(ipoib_agents);
static DEFINE_MUTEX(ipoib_agents_lock); /* the list, and users of each */

/* ---- where the SA is ---- */

/**
 * ipoib_sa_sm_put - drop a reference to the address of the SA
 * @sm: the address, or NULL
 *
 * Context: any but hard interrupt
 */
void ipoib_sa_sm_put(struct ipoib_sm_addr *sm)
{
	if (!sm || !refcount_dec_and_test(&sm->ref))
		return;
	rdma_destroy_ah(sm->ah, 0);
	kfree(sm);
}

/**
 * ipoib_sa_agent_sm - where the SA is
 * @agent: the agent
 *
 * Return: address with a reference, or NULL while there is no SM
 */
struct ipoib_sm_addr *ipoib_sa_agent_sm(struct ipoib_agent *agent)
{
	struct ipoib_sm_addr *sm;

	spin_lock_bh(&agent->lock);
	sm = agent->sm;
	if (sm)
		refcount_inc(&sm->ref);
	spin_unlock_bh(&agent->lock);
	return sm;
}

static void ipoib_sa_sm_ah_attr(struct ipoib_agent *agent,
				const struct ib_port_attr *port,
				struct rdma_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = rdma_ah_find_type(agent->ca, agent->port);
	rdma_ah_set_dlid(attr, port->sm_lid);
	rdma_ah_set_sl(attr, port->sm_sl);
	rdma_ah_set_port_num(attr, agent->port);
	if (!rdma_is_grh_required(agent->ca, agent->port))
		return;
	rdma_ah_set_ah_flags(attr, IB_AH_GRH);
	rdma_ah_set_subnet_prefix(attr, cpu_to_be64(port->subnet_prefix));
	rdma_ah_set_interface_id(attr, cpu_to_be64(IB_SA_WELL_KNOWN_GUID));
}

static struct ipoib_sm_addr *ipoib_sa_sm_make(struct ipoib_agent *agent,
					      const struct ib_port_attr *port)
{
	struct rdma_ah_attr attr;
	struct ipoib_sm_addr *sm;
	int err;

	sm = kzalloc(sizeof(*sm), GFP_KERNEL);
	if (!sm)
		return ERR_PTR(-ENOMEM);
	refcount_set(&sm->ref, 1);
	sm->lid = port->sm_lid;
	sm->lmc = port->lmc;
	/* Index 0 is right where the default P_Key is not there in full. */
	if (ib_find_pkey(agent->ca, agent->port, IB_DEFAULT_PKEY_FULL,
			 &sm->pkey_index))
		sm->pkey_index = 0;
	ipoib_sa_sm_ah_attr(agent, port, &attr);
	sm->ah = rdma_create_ah(agent->mad->qp->pd, &attr,
				RDMA_CREATE_AH_SLEEPABLE);
	if (!IS_ERR(sm->ah))
		return sm;
	err = PTR_ERR(sm->ah);
	kfree(sm);
	return ERR_PTR(err);
}

/* NULL if the port has no SM. */
static struct ipoib_sm_addr *ipoib_sa_sm_find(struct ipoib_agent *agent)
{
	struct ib_port_attr port;
	int err;

	err = ib_query_port(agent->ca, agent->port, &port);
	if (err)
		return ERR_PTR(err);
	if (!port.sm_lid || port.sm_lid >= be16_to_cpu(IB_MULTICAST_LID_BASE))
		return NULL;
	return ipoib_sa_sm_make(agent, &port);
}

static void ipoib_sa_agent_sm_work(struct work_struct *work)
{
	struct ipoib_agent *agent = container_of(to_delayed_work(work),
						 struct ipoib_agent, sm_work);
	struct ipoib_sm_addr *sm = ipoib_sa_sm_find(agent);

	/* No event reports that there is memory again. */
	if (IS_ERR(sm)) {
		queue_delayed_work(system_unbound_wq, &agent->sm_work,
				   IPOIB_SM_RETRY);
		return;
	}
	spin_lock_bh(&agent->lock);
	swap(agent->sm, sm);
	spin_unlock_bh(&agent->lock);
	ipoib_sa_sm_put(sm);
	agent->ops->sm_found(agent);
}

/**
 * ipoib_sa_agent_event - something has happened to the port
 * @agent: the agent
 * @event: what
 *
 * Context: any
 */
void ipoib_sa_agent_event(struct ipoib_agent *agent, enum ib_event_type event)
{
	switch (event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_GID_CHANGE:
		mod_delayed_work(system_unbound_wq, &agent->sm_work, 0);
		break;
	default:
		break;
	}
}

/* ---- questions and answers ---- */

static int ipoib_sa_errno(u16 status)
{
	static const int class_errno[] = {
		[IPOIB_SA_NO_RESOURCES]	= -ENOBUFS,
		[IPOIB_SA_REQ_INVALID]	= -EINVAL,
		[IPOIB_SA_NO_RECORDS]	= -ENOENT,
		[IPOIB_SA_TOO_MANY]	= -E2BIG,
		[IPOIB_SA_INVALID_GID]	= -EADDRNOTAVAIL,
		[IPOIB_SA_INSUF_COMPS]	= -EBADMSG,
		[IPOIB_SA_DENIED]	= -EACCES,
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
	if (class && class < ARRAY_SIZE(class_errno))
		return class_errno[class];
	return -EPROTO;
}

static void ipoib_sa_request_free(struct ipoib_request *request)
{
	if (!IS_ERR_OR_NULL(request->buf))
		ib_free_send_mad(request->buf);
	ipoib_sa_sm_put(request->sm);
	kfree(request);
}

static void ipoib_sa_agent_recv(struct ib_mad_agent *mad,
				struct ib_mad_send_buf *buf,
				struct ib_mad_recv_wc *wc)
{
	struct ipoib_request *request = buf ? buf->context[0] : NULL;
	const struct ib_mad_hdr *header = &wc->recv_buf.mad->mad_hdr;

	if (request && !request->answered) {
		request->answered = true;
		request->answer(request->context,
				ipoib_sa_errno(be16_to_cpu(header->status)),
				wc);
	}
	ib_free_recv_mad(wc);
}

static int ipoib_wc_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	case IB_WC_WR_FLUSH_ERR:
		return -EINTR;
	default:
		return -EIO;
	}
}

/* The end of each request, after its answer if there was one. */
static void ipoib_sa_agent_sent(struct ib_mad_agent *mad,
				struct ib_mad_send_wc *wc)
{
	struct ipoib_request *request = wc->send_buf->context[0];
	struct ipoib_agent *agent = request->agent;

	spin_lock_bh(&agent->lock);
	list_del(&request->list);
	spin_unlock_bh(&agent->lock);
	if (!request->answered)
		request->answer(request->context, ipoib_wc_errno(wc->status),
				NULL);
	ipoib_sa_request_free(request);
}

static void ipoib_sa_request_fill(struct ipoib_request *request,
				  const struct ipoib_question *question, u32 tid)
{
	struct ib_mad_send_buf *buf = request->buf;
	struct ib_sa_mad *mad = buf->mad;

	mad->mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	mad->mad_hdr.mgmt_class = IB_MGMT_CLASS_SUBN_ADM;
	mad->mad_hdr.class_version = IB_SA_CLASS_VERSION;
	mad->mad_hdr.method = question->method;
	mad->mad_hdr.attr_id = cpu_to_be16(question->attr);
	mad->mad_hdr.tid = cpu_to_be64((u64)buf->mad_agent->hi_tid << 32 | tid);
	mad->sa_hdr.comp_mask = question->mask;
	memcpy(mad->data, question->data, question->len);
	buf->ah = request->sm->ah;
	buf->timeout_ms = question->timeout_ms;
	buf->retries = question->retries;
	buf->context[0] = request;
}

/* From here on, cancelling and the end of the agent find the request. */
static int ipoib_sa_request_post(struct ipoib_request *request)
{
	struct ipoib_agent *agent = request->agent;
	int err = -ESHUTDOWN;

	spin_lock_bh(&agent->lock);
	if (!agent->closing) {
		list_add_tail(&request->list, &agent->requests);
		err = 0;
	}
	spin_unlock_bh(&agent->lock);
	if (err)
		return err;
	err = ib_post_send_mad(request->buf, NULL);
	if (!err)
		return 0;
	spin_lock_bh(&agent->lock);
	list_del(&request->list);
	spin_unlock_bh(&agent->lock);
	return err;
}

static u32 ipoib_sa_agent_tid(struct ipoib_agent *agent)
{
	u32 tid;

	spin_lock_bh(&agent->lock);
	tid = ++agent->tid;
	spin_unlock_bh(&agent->lock);
	return tid;
}

/**
 * ipoib_sa_agent_ask - ask the SA
 * @agent: the agent
 * @question: what, and who wants to know
 *
 * Context: process, may sleep
 * Return: 0 if the answer will be given; -EAGAIN while there is no SM,
 * -ESHUTDOWN, -ENOMEM or another error if not
 */
int ipoib_sa_agent_ask(struct ipoib_agent *agent,
		       const struct ipoib_question *question)
{
	struct ipoib_request *request;
	int err = -EAGAIN;

	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	request->agent = agent;
	request->owner = question->owner;
	request->answer = question->answer;
	request->context = question->context;
	request->sm = ipoib_sa_agent_sm(agent);
	if (!request->sm)
		goto free_request;
	request->buf = ib_create_send_mad(agent->mad, 1,
					  request->sm->pkey_index, 0,
					  IB_MGMT_SA_HDR, IB_MGMT_SA_DATA,
					  GFP_KERNEL, IB_MGMT_BASE_VERSION);
	err = PTR_ERR_OR_ZERO(request->buf);
	if (err)
		goto free_request;
	ipoib_sa_request_fill(request, question, ipoib_sa_agent_tid(agent));
	err = ipoib_sa_request_post(request);
	if (err)
		goto free_request;
	return 0;

free_request:
	ipoib_sa_request_free(request);
	return err;
}

/**
 * ipoib_sa_agent_cancel - let the questions of somebody end soon
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

/* ---- lifetime ---- */

/**
 * ipoib_sa_agent_add_dev - an interface has come up
 * @agent: the agent of its port
 * @priv: the interface; gets what the SA reports
 *
 * Events of the port before that may not have reached the agent: its SA is looked for.
 *
 * Context: may sleep
 */
void ipoib_sa_agent_add_dev(struct ipoib_agent *agent, struct ipoib_dev *priv)
{
	spin_lock_bh(&agent->lock);
	list_add_tail(&priv->agent_list, &agent->devs);
	spin_unlock_bh(&agent->lock);
	mod_delayed_work(system_unbound_wq, &agent->sm_work, 0);
}

/**
 * ipoib_sa_agent_del_dev - an interface goes down
 * @agent: the agent of its port
 * @priv: the interface, added before
 *
 * It gets no report any more when this returns.
 *
 * Context: any but hard interrupt; does not wait
 */
void ipoib_sa_agent_del_dev(struct ipoib_agent *agent, struct ipoib_dev *priv)
{
	spin_lock_bh(&agent->lock);
	list_del(&priv->agent_list);
	spin_unlock_bh(&agent->lock);
}

static struct ipoib_agent *ipoib_sa_agent_find(const struct ib_device *ca,
					       u32 port)
{
	struct ipoib_agent *agent;

	lockdep_assert_held(&ipoib_agents_lock);
	list_for_each_entry(agent, &ipoib_agents, list)
		if (agent->ca == ca && agent->port == port)
			return agent;
	return NULL;
}

static struct ipoib_agent *ipoib_sa_agent_make(struct ib_device *ca, u32 port,
					       const struct ipoib_agent_ops *ops)
{
	struct ipoib_agent *agent = kzalloc(sizeof(*agent), GFP_KERNEL);
	int err;

	if (!agent)
		return ERR_PTR(-ENOMEM);
	agent->ca = ca;
	agent->port = port;
	agent->ops = ops;
	/* Drop answers to what was asked before the port was last removed. */
	agent->tid = get_random_u32();
	spin_lock_init(&agent->lock);
	INIT_LIST_HEAD(&agent->devs);
	INIT_LIST_HEAD(&agent->requests);
	INIT_DELAYED_WORK(&agent->sm_work, ipoib_sa_agent_sm_work);
	ipoib_limit_init(&agent->limit, IPOIB_QUERIES_MAX);
	agent->ops->init(agent);
	agent->mad = ib_register_mad_agent(ca, port, IB_QPT_GSI, NULL,
					   IB_MGMT_RMPP_VERSION,
					   ipoib_sa_agent_sent, ipoib_sa_agent_recv,
					   agent, 0);
	if (!IS_ERR(agent->mad))
		return agent;
	err = PTR_ERR(agent->mad);
	kfree(agent);
	return ERR_PTR(err);
}

/*
 * What is under way ends here, with an error for who asked; nobody waits for
 * the SA. Who asks again is refused.
 */
static void ipoib_sa_agent_destroy(struct ipoib_agent *agent)
{
	cancel_delayed_work_sync(&agent->sm_work);
	agent->ops->exit(agent);
	spin_lock_bh(&agent->lock);
	agent->closing = true;
	spin_unlock_bh(&agent->lock);
	ib_unregister_mad_agent(agent->mad);
	WARN_ON_ONCE(!list_empty(&agent->requests));
	/* An answer may have queued it again; it does nothing now. */
	cancel_delayed_work_sync(&agent->sub_work);
	ipoib_sa_sm_put(agent->sm);
	kfree(agent);
}

/**
 * ipoib_sa_agent_get - the agent of a port
 * @ca: HCA
 * @port: port
 * @ops: who subscribes to reports of the SA
 *
 * Context: may sleep
 * Return: agent with a reference, or ERR_PTR()
 */
struct ipoib_agent *ipoib_sa_agent_get(struct ib_device *ca, u32 port,
				       const struct ipoib_agent_ops *ops)
{
	struct ipoib_agent *agent;

	mutex_lock(&ipoib_agents_lock);
	agent = ipoib_sa_agent_find(ca, port);
	if (!agent) {
		agent = ipoib_sa_agent_make(ca, port, ops);
		if (IS_ERR(agent))
			goto unlock;
		list_add(&agent->list, &ipoib_agents);
		queue_delayed_work(system_unbound_wq, &agent->sm_work, 0);
	}
	agent->users++;
unlock:
	mutex_unlock(&ipoib_agents_lock);
	return agent;
}

/**
 * ipoib_sa_agent_put - drop a reference
 * @agent: the agent
 *
 * Context: may sleep
 */
void ipoib_sa_agent_put(struct ipoib_agent *agent)
{
	mutex_lock(&ipoib_agents_lock);
	if (!--agent->users) {
		list_del(&agent->list);
		ipoib_sa_agent_destroy(agent);
	}
	mutex_unlock(&ipoib_agents_lock);
}

/**
 * ipoib_sa_agent_notify - notify the interfaces of a port
 * @agent: its agent
 * @notify: called for each that is up, with a lock held; must not ask
 *
 * Context: any but hard interrupt
 */
void ipoib_sa_agent_notify(struct ipoib_agent *agent,
			   void (*notify)(struct ipoib_dev *priv))
{
	struct ipoib_dev *priv;

	spin_lock_bh(&agent->lock);
	list_for_each_entry(priv, &agent->devs, agent_list)
		notify(priv);
	spin_unlock_bh(&agent->lock);
}
