// SPDX-License-Identifier: GPL-2.0
/*
 * The InfiniBand fabric: all requests to ib_sa, and attributes of a port that only InfiniBand has.
 *
 * These are operations of ipoib_fabric.h, which has their contracts. Questions about groups that
 * ib_sa cannot send go by agent.c; mcast/ handles the answers.
 */
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "sa/sa.h"

#define IPOIB_SA_TIMEOUT_MS	1000
#define IPOIB_QUERY_TIMEOUT	250
#define IPOIB_QUERY_RETRIES	3
#define IPOIB_QUERY_LIST_TIMEOUT	2000

/* Components of each join */
#define IPOIB_JOIN_COMPS	(IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID | \
				 IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE)

/* ib_sa waits for the queries and joins of a client at its unregistration. */
struct ib_sa_client ipoib_sa_client;

/* ---- questions beyond ib_sa: a record, all groups, a membership once more ---- */

/*
 * Fill in a join of a group. Returns its component mask. Only FullMember creates a missing group,
 * except the broadcast group.
 *
 * RFC 4391 section 10: a new group has P_Key, Q_Key, SL, MTU and HopLimit of the broadcast group,
 * and should have its other parameters (U55). As components they make the SA create a missing
 * group, and refuse a group that differs.
 *
 * The previous MLID of the group is in the record, but no component, so it causes no refusal.
 * OpenSM gives it to a group that it creates, if it is free: groups keep their MLIDs across a
 * restart of the SM, and switches and senders stay valid.
 */
static ib_sa_comp_mask ipoib_sa_query_join_rec(const struct ipoib_mcast *mcast, u8 state,
					       struct ib_sa_mcmember_rec *rec)
{
	const struct ipoib_dev *priv = mcast->priv;
	const struct ipoib_mcast *broadcast = rcu_dereference_protected(priv->broadcast, true);
	const struct ib_sa_mcmember_rec *like;

	memset(rec, 0, sizeof(*rec));
	rec->mgid = mcast->mgid;
	rec->port_gid = priv->local_gid;
	rec->pkey = cpu_to_be16(priv->pkey);
	rec->join_state = state;
	if (state != IPOIB_JOIN_FULL || !broadcast || mcast == broadcast)
		return IPOIB_JOIN_COMPS;
	like = &broadcast->rec;
	rec->mlid = mcast->held ? mcast->rec.mlid : 0;
	rec->qkey = like->qkey;
	rec->mtu_selector = IB_SA_EQ;
	rec->mtu = like->mtu;
	rec->traffic_class = like->traffic_class;
	rec->rate_selector = IB_SA_EQ;
	rec->rate = like->rate;
	rec->sl = like->sl;
	rec->flow_label = like->flow_label;
	rec->hop_limit = like->hop_limit;
	return IPOIB_JOIN_COMPS | IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_MTU_SELECTOR |
	       IB_SA_MCMEMBER_REC_MTU | IB_SA_MCMEMBER_REC_TRAFFIC_CLASS |
	       IB_SA_MCMEMBER_REC_RATE_SELECTOR | IB_SA_MCMEMBER_REC_RATE |
	       IB_SA_MCMEMBER_REC_SL | IB_SA_MCMEMBER_REC_FLOW_LABEL |
	       IB_SA_MCMEMBER_REC_HOP_LIMIT;
}

/* The interface may be gone on return. */
static void ipoib_sa_query_group_answer(void *owner, int status, const struct ib_sa_mad *asked,
					const struct ib_mad_recv_wc *answer)
{
	struct ib_sa_mcmember_rec request, rec;
	const struct ib_sa_mad *mad;

	ipoib_sa_record_unpack(&request, (const void *)asked->data);
	if (!status) {
		mad = (const void *)answer->recv_buf.mad;
		ipoib_sa_record_unpack(&rec, (const void *)mad->data);
		if (memcmp(&rec.mgid, &request.mgid, sizeof(rec.mgid)))
			status = -EPROTO;
	}
	ipoib_mcast_record(owner, &request.mgid, status, &rec);
	ipoib_dev_put_query(owner);
}

/* Copy the data of all RMPP segments of an answer into a buffer. */
static u8 *ipoib_sa_query_linearize(const struct ib_mad_recv_wc *answer, size_t *len)
{
	const struct ib_mad_recv_buf *segment;
	const struct ib_sa_mad *mad;
	size_t done = 0, part;
	u8 *data;

	if (answer->mad_len <= IB_MGMT_SA_HDR)
		return NULL;
	*len = answer->mad_len - IB_MGMT_SA_HDR;
	data = kvzalloc(*len, GFP_KERNEL);
	if (!data)
		return NULL;
	list_for_each_entry(segment, &answer->rmpp_list, list) {
		mad = (const void *)segment->mad;
		part = min_t(size_t, *len - done, sizeof(mad->data));
		memcpy(data + done, mad->data, part);
		done += part;
	}
	return data;
}

/* The interface may be gone on return. */
static void ipoib_sa_query_groups_answer(void *owner, int status, const struct ib_sa_mad *asked,
					 const struct ib_mad_recv_wc *answer)
{
	const struct ib_sa_mad *mad;
	unsigned int n = 0;
	u8 *data = NULL;
	size_t step, len;

	if (!status) {
		mad = (const void *)answer->recv_buf.mad;
		step = be16_to_cpu(mad->sa_hdr.attr_offset) * 8;
		data = ipoib_sa_query_linearize(answer, &len);
		if (data && step >= sizeof(struct ipoib_member_record))
			n = ipoib_sa_record_mgids(data, len, step);
		/* The broadcast group is always listed. */
		if (!n)
			status = data ? -EPROTO : -ENOMEM;
	}
	ipoib_mcast_route_listed(owner, status, (void *)data, n);
	kvfree(data);
	ipoib_dev_put_query(owner);
}

/*
 * Request records of groups. The answer gives up the reference to the interface.
 * Context: process, may sleep. Return: as ipoib_sa_query_group().
 */
static int ipoib_sa_query_ask(struct ipoib_dev *priv, u8 method,
			      const struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask mask)
{
	bool all = method == IB_SA_METHOD_GET_TABLE;
	struct ipoib_member_record wire;
	struct ipoib_question question = {
		.method = method,
		.attr = IB_SA_ATTR_MC_MEMBER_REC,
		.mask = mask,
		.data = &wire,
		.len = sizeof(wire),
		.timeout_ms = all ? IPOIB_QUERY_LIST_TIMEOUT : IPOIB_QUERY_TIMEOUT,
		.retries = all ? 1 : IPOIB_QUERY_RETRIES,
		.owner = priv,
		.answer = all ? ipoib_sa_query_groups_answer : ipoib_sa_query_group_answer,
	};
	int err;

	if (!priv->agent)
		return -EOPNOTSUPP;
	ipoib_stat_add(priv, IPOIB_MCAST_READS, 1);
	ipoib_sa_record_pack(&wire, rec);
	ipoib_dev_get_query(priv);
	err = ipoib_sa_agent_ask(priv->agent, &question);
	if (err)
		ipoib_dev_put_query(priv);
	return err;
}

/*
 * Read the record of a group. If this returns 0, ipoib_mcast_record() gets the answer, -ENOENT for
 * a missing group.
 * Context: process, may sleep. Return: 0; -EOPNOTSUPP without an agent, or another negative error.
 */
int ipoib_sa_query_group(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ib_sa_mcmember_rec rec = { .mgid = *mgid };

	return ipoib_sa_query_ask(priv, IB_MGMT_METHOD_GET, &rec, IB_SA_MCMEMBER_REC_MGID);
}

/*
 * Join a group of which the port is a member at the SA once more. ib_sa has the membership, and
 * would not ask the SA again. The answer goes to ipoib_mcast_record(), as in
 * ipoib_sa_query_group().
 * Context: work of the group. Return: as ipoib_sa_query_group().
 */
int ipoib_sa_query_refresh(const struct ipoib_mcast *mcast)
{
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask mask;

	mask = ipoib_sa_query_join_rec(mcast, mcast->held, &rec);
	return ipoib_sa_query_ask(mcast->priv, IB_MGMT_METHOD_SET, &rec, mask);
}

/*
 * List all groups of the partition. If this returns 0, ipoib_mcast_route_listed() gets the answer.
 * Context: process, may sleep. Return: as ipoib_sa_query_group().
 */
int ipoib_sa_query_groups(struct ipoib_dev *priv)
{
	struct ib_sa_mcmember_rec rec = { .pkey = cpu_to_be16(priv->pkey) };

	return ipoib_sa_query_ask(priv, IB_SA_METHOD_GET_TABLE, &rec, IB_SA_MCMEMBER_REC_PKEY);
}

/*
 * Cancel the questions of an interface.
 * Context: any but hard interrupt; does not wait for their answers.
 */
void ipoib_sa_query_cancel(struct ipoib_dev *priv)
{
	if (priv->agent)
		ipoib_sa_agent_cancel(priv->agent, priv);
}

/* ---- operations ---- */

/* Receives have a page at most, also on ports of Omni-Path. */
static unsigned int ipoib_sa_mtu(u8 mtu)
{
	return clamp(ipoib_mtu_from_ib(mtu), IPOIB_MTU_MIN, ipoib_mtu_from_ib(IB_MTU_4096));
}

/*
 * The link of a parent is that of the first P_Key. The SM may move the P_Key of a child to another
 * index, or remove it, at any time. The cache of the RDMA core is up to date when it reports a
 * change; a query of the HCA would read each entry of the table, for each child.
 */
static int ipoib_sa_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	struct ib_port_attr attr;
	int err;

	err = ib_query_port(priv->ca, priv->port, &attr);
	if (err)
		return err;
	err = rdma_query_gid(priv->ca, priv->port, 0, &port->gid);
	if (err)
		return err;
	port->active = attr.state == IB_PORT_ACTIVE;
	port->lid = attr.lid;
	port->lmc = attr.lmc;
	/* Without a link there is no active MTU. */
	port->mtu = attr.state < IB_PORT_INIT ? 0 : ipoib_sa_mtu(attr.active_mtu);
	port->mbps = ipoib_port_mbps(&attr);
	port->max_mtu = ipoib_sa_mtu(attr.max_mtu);
	if (!priv->parent)
		return ib_query_pkey(priv->ca, priv->port, 0, &port->pkey);
	if (ib_find_cached_pkey(priv->ca, priv->port, priv->pkey, &port->pkey_index) ||
	    ib_get_cached_pkey(priv->ca, priv->port, port->pkey_index, &port->pkey) ||
	    /* The table may have changed since. */
	    (port->pkey | IPOIB_PKEY_FULL) != priv->pkey)
		port->pkey = 0;
	return 0;
}

static void ipoib_sa_event(struct ipoib_dev *priv, enum ib_event_type event)
{
	switch (event) {
	case IB_EVENT_SM_CHANGE:
		ipoib_mcast_sm_changed(priv);
		fallthrough;
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		/* Outstanding questions go to the previous SM, or come from the previous LID. */
		ipoib_sa_query_cancel(priv);
		ipoib_neigh_all_stale(priv);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_GID_CHANGE:
		break;
	default:
		return;
	}
	/* The SA may have moved. */
	if (priv->agent && event != IB_EVENT_PORT_ERR)
		mod_delayed_work(system_unbound_wq, &priv->agent->sm_work, 0);
	ipoib_ctl_post(priv, IPOIB_CTL_PORT);
}

/*
 * Callback of ib_sa, also after a cancellation. Status 0 without a record: there is no path.
 *
 * The RDMA core gives an address handle a GRH only if the record has a HopLimit. An SM may leave it
 * 0 within the subnet: on a port that requires a GRH set 1, which no router forwards.
 * Context: process.
 */
static void ipoib_sa_path_answer(int status, struct sa_path_rec *rec,
				 ipoib_num_paths_t num_paths, void *context)
{
	struct ipoib_neigh *neigh = context;
	struct ipoib_dev *priv = neigh->priv;

	if (!status && !rec)
		status = -ENOENT;
	if (rec && !rec->hop_limit && rdma_is_grh_required(priv->ca, priv->port))
		rec->hop_limit = 1;
	ipoib_neigh_answered(neigh, status, rec);
}

/* Fails with -EAGAIN without an SM. */
static int ipoib_sa_path_get(struct ipoib_dev *priv, struct ipoib_neigh *neigh)
{
	struct sa_path_rec rec = {
		.rec_type = SA_PATH_REC_TYPE_IB,
		.dgid = neigh->gid,
		.sgid = priv->local_gid,
		.pkey = cpu_to_be16(priv->pkey),
		.numb_path = 1,
	};
	const struct ipoib_mcast *broadcast;
	struct ib_sa_query *query;
	int id;

	lockdep_assert_held(&priv->neigh.lock);
	/* The traffic class of the broadcast group is that of the link (U12). */
	rcu_read_lock();
	broadcast = rcu_dereference(priv->broadcast);
	if (broadcast)
		rec.traffic_class = broadcast->rec.traffic_class;
	rcu_read_unlock();
	id = ib_sa_path_rec_get(&ipoib_sa_client, priv->ca, priv->port, &rec,
				IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
				IB_SA_PATH_REC_NUMB_PATH |
				IB_SA_PATH_REC_TRAFFIC_CLASS |
				IB_SA_PATH_REC_PKEY, IPOIB_SA_TIMEOUT_MS,
				GFP_ATOMIC, ipoib_sa_path_answer, neigh,
				&query);
	if (id < 0)
		return id;
	neigh->query = query;
	neigh->query_id = id;
	return 0;
}

/* The core finds no query by a stale number. */
static void ipoib_sa_path_cancel(struct ipoib_neigh *neigh)
{
	ib_sa_cancel_query(neigh->query_id, neigh->query);
}

static void ipoib_sa_path_show(struct seq_file *file, const struct ipoib_neigh *neigh)
{
	struct sa_path_rec rec = neigh->rec;

	seq_printf(file, "  DLID:     0x%04x\n", be32_to_cpu(sa_path_get_dlid(&rec)));
	seq_printf(file, "  SL: %12d\n", rec.sl);
	seq_printf(file, "  rate: %8d.%d Gb/sec\n",
		   ib_rate_to_mbps(rec.rate) / 1000,
		   ib_rate_to_mbps(rec.rate) % 1000 / 100);
}

static int ipoib_sa_join_answer(int status, struct ib_sa_multicast *member)
{
	ipoib_mcast_answer(member->context, status);
	/* The leave frees the handle, in every case. */
	return 0;
}

static struct ib_sa_multicast *ipoib_sa_join(struct ipoib_mcast *mcast, u8 state)
{
	struct ipoib_dev *priv = mcast->priv;
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask mask;

	mask = ipoib_sa_query_join_rec(mcast, state, &rec);
	return ib_sa_join_multicast(&ipoib_sa_client, priv->ca, priv->port,
				    &rec, mask, GFP_KERNEL,
				    ipoib_sa_join_answer, mcast);
}

/*
 * JoinState of a group in ib_sa. ib_sa clears it before it sends a leave, and keeps the group until
 * the answer.
 * Context: any. Return: JoinState of all users together; 0 without a member, and on RoCE.
 */
u8 ipoib_sa_held(const struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ib_sa_mcmember_rec rec;
	union ib_gid gid = *mgid;

	if (!rdma_cap_ib_mcast(priv->ca, priv->port) ||
	    ib_sa_get_mcmember_rec(priv->ca, priv->port, &gid, &rec))
		return 0;
	return rec.join_state;
}

/* ---- other operations ---- */

static int ipoib_sa_group_ah(struct ipoib_dev *priv,
			     struct ib_sa_mcmember_rec *rec,
			     struct rdma_ah_attr *attr)
{
	return ib_init_ah_from_mcmember(priv->ca, priv->port, rec, NULL, IB_GID_TYPE_IB, attr);
}

/* Without an agent there are no reports, and no multicast routing. */
static int ipoib_sa_init(struct ipoib_dev *priv)
{
	struct ipoib_agent *agent;

	if (priv->parent) {
		priv->agent = priv->parent->agent;
		priv->neigh.limit = priv->parent->neigh.limit;
		return 0;
	}
	agent = ipoib_sa_agent_make(priv->ca, priv->port);
	if (IS_ERR(agent)) {
		netdev_warn(priv->netdev, "no MAD agent: %ld\n", PTR_ERR(agent));
		return 0;
	}
	priv->agent = agent;
	priv->neigh.limit = &agent->limit;
	return 0;
}

static void ipoib_sa_exit(struct ipoib_dev *priv)
{
	if (priv->agent && !priv->parent)
		ipoib_sa_agent_free(priv->agent);
	priv->agent = NULL;
	priv->neigh.limit = NULL;
}

static void ipoib_sa_start(struct ipoib_dev *priv)
{
	struct ipoib_agent *agent = priv->agent;

	if (!agent)
		return;
	spin_lock_bh(&agent->lock);
	list_add_tail(&priv->agent_list, &agent->devs);
	spin_unlock_bh(&agent->lock);
	/* Earlier events of the port may have missed the agent. */
	mod_delayed_work(system_unbound_wq, &agent->sm_work, 0);
}

/* Reports do not reach the interface any more. Its groups are gone. */
static void ipoib_sa_stop(struct ipoib_dev *priv)
{
	struct ipoib_agent *agent = priv->agent;

	if (!agent)
		return;
	spin_lock_bh(&agent->lock);
	list_del(&priv->agent_list);
	spin_unlock_bh(&agent->lock);
	mod_delayed_work(system_unbound_wq, &agent->sub_work, 0);
}

const struct ipoib_fabric_ops ipoib_sa_ops = {
	.init = ipoib_sa_init,
	.exit = ipoib_sa_exit,
	.start = ipoib_sa_start,
	.stop = ipoib_sa_stop,
	.port_read = ipoib_sa_port_read,
	.event = ipoib_sa_event,
	.path_get = ipoib_sa_path_get,
	.path_cancel = ipoib_sa_path_cancel,
	.path_show = ipoib_sa_path_show,
	.join = ipoib_sa_join,
	/* Sent in the background, with the JoinState of the join */
	.leave = ib_sa_free_multicast,
	.group_ah = ipoib_sa_group_ah,
};
