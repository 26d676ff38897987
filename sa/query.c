// SPDX-License-Identifier: GPL-2.0
/*
 * Queries about multicast groups that ib_sa cannot send: the record of a group, the list
 * of all groups, and a membership that is set again. mcast/ acts on the answers.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "sa/sa.h"

#define IPOIB_QUERY_TIMEOUT	250
#define IPOIB_QUERY_RETRIES	3
#define IPOIB_QUERY_LIST_TIMEOUT	2000

/* ---- one group ---- */

/**
 * ipoib_sa_query_join_rec - a request to join a group
 * @mcast: the group
 * @state: JoinState; only FullMember creates a missing group, but for the broadcast group
 * @rec: the request
 *
 * RFC 4391 section 10: a new group takes P_Key, Q_Key, SL, MTU and HopLimit of the broadcast
 * group, and should take the rest (U55). Naming them in the request makes the SA create a
 * missing group, and refuse to join the port to one that differs.
 *
 * The MLID that the group has had is not among the components that the mask
 * names, so a request that differs is not refused for it. But OpenSM gives a group
 * that it makes the MLID it finds there, if that is free: so groups keep theirs
 * when the SM is restarted, and with them what switches and senders know.
 *
 * Context: work of the group
 * Return: component mask
 */
ib_sa_comp_mask ipoib_sa_query_join_rec(const struct ipoib_mcast *mcast, u8 state,
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

/* The interface may be gone when this returns. */
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

/* ---- all groups ---- */

/* Copy the data of all RMPP segments of an answer into one buffer. */
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

/* The interface may be gone when this returns. */
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
		/* The port is a member of the broadcast group: there is one at least. */
		if (!n)
			status = data ? -EPROTO : -ENOMEM;
	}
	ipoib_mcast_route_listed(owner, status, (void *)data, n);
	kvfree(data);
	ipoib_dev_put_query(owner);
}

/* ---- questions ---- */

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

/**
 * ipoib_sa_query_group - read the record of a group
 * @priv: the interface
 * @mgid: the group
 *
 * ipoib_mcast_record() is called with the answer, -ENOENT if there is no such
 * group, if 0 is returned.
 *
 * Context: process, may sleep
 * Return: 0; -EOPNOTSUPP without an agent, or another negative error
 */
int ipoib_sa_query_group(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	struct ib_sa_mcmember_rec rec = { .mgid = *mgid };

	return ipoib_sa_query_ask(priv, IB_MGMT_METHOD_GET, &rec, IB_SA_MCMEMBER_REC_MGID);
}

/**
 * ipoib_sa_query_refresh - set a membership at the SA again
 * @mcast: a group in which the port is a member
 *
 * ib_sa keeps the membership, and would not ask the SA for what has been joined. The
 * rest is as in ipoib_sa_query_group().
 *
 * Context: work of the group
 * Return: as ipoib_sa_query_group()
 */
int ipoib_sa_query_refresh(const struct ipoib_mcast *mcast)
{
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask mask;

	mask = ipoib_sa_query_join_rec(mcast, mcast->held, &rec);
	return ipoib_sa_query_ask(mcast->priv, IB_MGMT_METHOD_SET, &rec, mask);
}

/**
 * ipoib_sa_query_groups - list all groups of the partition
 * @priv: the interface
 *
 * ipoib_mcast_route_listed() is called with the answer if 0 is returned.
 *
 * Context: process, may sleep
 * Return: as ipoib_sa_query_group()
 */
int ipoib_sa_query_groups(struct ipoib_dev *priv)
{
	struct ib_sa_mcmember_rec rec = { .pkey = cpu_to_be16(priv->pkey) };

	return ipoib_sa_query_ask(priv, IB_SA_METHOD_GET_TABLE, &rec, IB_SA_MCMEMBER_REC_PKEY);
}

/**
 * ipoib_sa_query_cancel - let the questions of an interface end soon
 * @priv: the interface
 *
 * Context: any but hard interrupt; does not wait
 */
void ipoib_sa_query_cancel(struct ipoib_dev *priv)
{
	if (priv->agent)
		ipoib_sa_agent_cancel(priv->agent, priv);
}
