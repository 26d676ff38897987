// SPDX-License-Identifier: GPL-2.0
/*
 * Questions to the SA that ib_sa has no function for, and their answers.
 *
 * An agent keeps a list of the requests under way, and hands each answer to its caller,
 * exactly once: with the answer, or with an error when it timed out, was cancelled or
 * could not be sent.
 *
 * The questions are in query.c and notice.c.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "sa/sa.h"

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

/* ---- questions and answers ---- */

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

/**
 * ipoib_sa_agent_register - register an agent with the MAD layer
 * @agent: the agent, with HCA and port
 *
 * Context: may sleep
 * Return: 0 or a negative error
 */
int ipoib_sa_agent_register(struct ipoib_agent *agent)
{
	agent->mad = ib_register_mad_agent(agent->ca, agent->port, IB_QPT_GSI, NULL,
					   IB_MGMT_RMPP_VERSION, ipoib_sa_agent_sent,
					   ipoib_sa_agent_recv, agent, 0);
	return PTR_ERR_OR_ZERO(agent->mad);
}

