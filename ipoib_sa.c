// SPDX-License-Identifier: GPL-2.0
/*
 * The only caller of ib_sa: path record queries, joining and leaving groups.
 *
 * Each query under way counts in &ipoib_dev.sa_users until its callback has
 * returned, so that an interface can wait for the last one before it is
 * freed. Joins need no count: ipoib_sa_leave() waits for their callback.
 */
#include "ipoib.h"

#define IPOIB_SA_TIMEOUT_MS	1000

/* Our users count for the SA module; it waits for them when we unload. */
struct ib_sa_client ipoib_sa_client;

/* The last user may find the interface gone right after complete(). */
static void ipoib_sa_put(struct ipoib_dev *priv)
{
	if (refcount_dec_and_test(&priv->sa_users))
		complete(&priv->sa_idle);
}

static void ipoib_sa_path_answer(int status, struct sa_path_rec *rec,
				 ipoib_num_paths_t num_paths, void *context)
{
	struct ipoib_path *path = context;
	struct ipoib_dev *priv = path->priv;

	if (!status && !rec)
		status = -ENOENT;
	ipoib_path_done(path, status, rec);
	ipoib_sa_put(priv);
}

/* The traffic class of the broadcast group is that of the link (U12). */
static u8 ipoib_sa_traffic_class(struct ipoib_dev *priv)
{
	struct ipoib_mcast *broadcast;
	u8 traffic_class = 0;

	rcu_read_lock();
	broadcast = rcu_dereference(priv->broadcast);
	if (broadcast)
		traffic_class = broadcast->rec.traffic_class;
	rcu_read_unlock();
	return traffic_class;
}

/**
 * ipoib_sa_path_get - ask for the path to a GID
 * @priv: the interface
 * @path: where to; the caller has taken a reference for the query
 *
 * ipoib_path_done() is called if, and only if, 0 is returned.
 *
 * Context: &ipoib_dev.path_lock held
 * Return: 0; -EAGAIN if no SM is known, -ENODEV, -ENOMEM
 */
int ipoib_sa_path_get(struct ipoib_dev *priv, struct ipoib_path *path)
{
	struct sa_path_rec rec = {
		.rec_type = SA_PATH_REC_TYPE_IB,
		.dgid = path->gid,
		.sgid = priv->local_gid,
		.pkey = cpu_to_be16(priv->pkey),
		.numb_path = 1,
		.traffic_class = ipoib_sa_traffic_class(priv),
	};
	int id;

	lockdep_assert_held(&priv->path_lock);
	refcount_inc(&priv->sa_users);
	id = ib_sa_path_rec_get(&ipoib_sa_client, priv->ca, priv->port, &rec,
				IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
				IB_SA_PATH_REC_NUMB_PATH |
				IB_SA_PATH_REC_TRAFFIC_CLASS |
				IB_SA_PATH_REC_PKEY, IPOIB_SA_TIMEOUT_MS,
				GFP_ATOMIC, ipoib_sa_path_answer, path,
				&path->query);
	path->query_id = id;
	if (id >= 0)
		return 0;
	ipoib_sa_put(priv);
	return id;
}

/**
 * ipoib_sa_path_cancel - let a query end soon
 * @query: from &ipoib_path.query; may have ended already
 * @id: from &ipoib_path.query_id
 *
 * ipoib_path_done() is still called.
 */
void ipoib_sa_path_cancel(struct ib_sa_query *query, int id)
{
	if (id >= 0)
		ib_sa_cancel_query(id, query);
}

/**
 * ipoib_sa_init - get ready for queries
 * @priv: the interface
 */
void ipoib_sa_init(struct ipoib_dev *priv)
{
	refcount_set(&priv->sa_users, 1);
	init_completion(&priv->sa_idle);
}

/**
 * ipoib_sa_exit - wait until no query is under way
 * @priv: the interface, down for good
 *
 * Context: process, without RTNL
 */
void ipoib_sa_exit(struct ipoib_dev *priv)
{
	ipoib_sa_put(priv);
	wait_for_completion(&priv->sa_idle);
}

static int ipoib_sa_join_answer(int status, struct ib_sa_multicast *member)
{
	ipoib_mcast_answer(member->context, status);
	/* The handle is freed by ipoib_sa_leave() in every case. */
	return 0;
}

/*
 * RFC 4391 section 10: a new group takes P_Key, Q_Key, SL, MTU and HopLimit
 * of the broadcast group, and should take the rest (U55). Naming them in the
 * request makes the SA create a missing group, and refuse to join us to one
 * that differs.
 */
static ib_sa_comp_mask ipoib_sa_copy_rec(struct ib_sa_mcmember_rec *rec,
					 const struct ib_sa_mcmember_rec *like)
{
	rec->qkey = like->qkey;
	rec->mtu_selector = IB_SA_EQ;
	rec->mtu = like->mtu;
	rec->traffic_class = like->traffic_class;
	rec->rate_selector = IB_SA_EQ;
	rec->rate = like->rate;
	rec->sl = like->sl;
	rec->flow_label = like->flow_label;
	rec->hop_limit = like->hop_limit;
	return IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_MTU_SELECTOR |
	       IB_SA_MCMEMBER_REC_MTU | IB_SA_MCMEMBER_REC_TRAFFIC_CLASS |
	       IB_SA_MCMEMBER_REC_RATE_SELECTOR | IB_SA_MCMEMBER_REC_RATE |
	       IB_SA_MCMEMBER_REC_SL | IB_SA_MCMEMBER_REC_FLOW_LABEL |
	       IB_SA_MCMEMBER_REC_HOP_LIMIT;
}

/**
 * ipoib_sa_join - ask to join a group
 * @priv: the interface
 * @mcast: the group
 * @state: JoinState
 * @like: record of the broadcast group: create the group like it if it is
 *	missing. NULL: join an existing group only.
 *
 * ipoib_mcast_answer() is called with the result, and again with -ENETRESET
 * when a membership has been lost. It may be called before this returns.
 *
 * Context: process
 * Return: handle, freed by ipoib_sa_leave() whatever the result; or ERR_PTR()
 */
struct ib_sa_multicast *ipoib_sa_join(struct ipoib_dev *priv,
				      struct ipoib_mcast *mcast, u8 state,
				      const struct ib_sa_mcmember_rec *like)
{
	struct ib_sa_mcmember_rec rec = {
		.mgid = mcast->mgid,
		.port_gid = priv->local_gid,
		.pkey = cpu_to_be16(priv->pkey),
		.join_state = state,
	};
	ib_sa_comp_mask mask = IB_SA_MCMEMBER_REC_MGID |
			       IB_SA_MCMEMBER_REC_PORT_GID |
			       IB_SA_MCMEMBER_REC_PKEY |
			       IB_SA_MCMEMBER_REC_JOIN_STATE;

	if (like)
		mask |= ipoib_sa_copy_rec(&rec, like);
	return ib_sa_join_multicast(&ipoib_sa_client, priv->ca, priv->port,
				    &rec, mask, GFP_KERNEL,
				    ipoib_sa_join_answer, mcast);
}

/**
 * ipoib_sa_leave - leave a group, or give up joining it
 * @member: from ipoib_sa_join(), or NULL
 *
 * When this returns no callback for the handle runs or will run. The SA is
 * told in the background, with exactly the JoinState that was joined.
 *
 * Context: may sleep; not from the callback
 */
void ipoib_sa_leave(struct ib_sa_multicast *member)
{
	if (member)
		ib_sa_free_multicast(member);
}
