// SPDX-License-Identifier: GPL-2.0
/*
 * The agent of a port: where the SA is, and which interfaces it serves.
 *
 * The interface of a port makes a &struct ipoib_agent, which its children share. Its
 * questions are in mad.c, its subscriptions to reports of the SA in notice.c.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "sa/sa.h"

/* Pause before the SA is looked for again after a failure. */
#define IPOIB_SM_RETRY		(HZ / 10)

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
	ipoib_sa_notice_init(agent);
	err = ipoib_sa_agent_register(agent);
	if (err) {
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
