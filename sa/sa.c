// SPDX-License-Identifier: GPL-2.0
/*
 * The InfiniBand fabric: what the SA is asked for, and what of a port only
 * InfiniBand has. The only caller of ib_sa.
 *
 * These are the operations of ipoib_fabric.h; what each of them owes its
 * callers is said there.
 *
 * Memberships that the RDMA core has dropped and not told the SA of.
 *
 * When the P_Key of a group gets another index in the port's table, or goes, ib_sa
 * forgets all memberships of the group on the port. The SA does not: it would keep
 * the port in the group for ever, and switches would go on to forward to it what
 * it can only drop.
 *
 * Why is the SA not simply told, by a SubnAdmDelete of our own? It knows of one
 * membership of the port, which may be there for several: other clients of ib_sa
 * join the same groups, and so may we, if the P_Key is back. Who of them is in or
 * on his way only ib_sa knows, and it has nothing that keeps anybody from joining
 * between a look at that and our request; and a request sent again, as its answer
 * was lost, would come after the join of another. So ib_sa itself is to leave:
 * the group is joined once more through it, with the same JoinState and without
 * what would make a missing group, and left as soon as it answers. ib_sa does one
 * thing at a time for each group, counts who is in, and sends a leave for the last
 * one only. If the SA knew us this has changed nothing until the leave; if it did
 * not, it has us as a member for a moment.
 *
 * A join fails while ib_sa looks for the SM, which it does after each change of
 * P_Keys; then it is tried again.
 *
 * All nodes of a partition may have to do this at once, each for all of its groups.
 * So these joins take a credit of the limit like others, a little later on each node.
 * Those that get none wait in line, and one work tries again from time to time: not each
 * of thousands for itself. Only if the interface is to go nothing waits for a credit.
 */
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "sa/sa.h"

#define IPOIB_SA_TIMEOUT_MS	1000

/* Our users count for the SA module; it waits for them when we unload. */
static struct ib_sa_client ipoib_sa_client;

/* Without a link there is no active MTU. */
static unsigned int ipoib_sa_active_mtu(const struct ib_port_attr *attr)
{
	if (attr->state < IB_PORT_INIT)
		return 0;
	return clamp(ipoib_mtu_from_ib(attr->active_mtu), IPOIB_MTU_MIN,
		     ipoib_mtu_from_ib(IB_MTU_4096));
}

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
	port->gid_entry = NULL;
	port->mtu = ipoib_sa_active_mtu(&attr);
	port->mbps = ipoib_port_mbps(&attr);
	port->max_mtu = max(ipoib_mtu_from_ib(attr.max_mtu), IPOIB_MTU_MIN);
	return ib_query_pkey(priv->ca, priv->port, priv->pkey_index,
			     &port->pkey);
}

static void ipoib_sa_event(struct ipoib_dev *priv, enum ib_event_type event)
{
	if (priv->agent)
		ipoib_agent_event(priv->agent, event);
	switch (event) {
	case IB_EVENT_SM_CHANGE:
		priv->events->sm_changed(priv);
		fallthrough;
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		/* Those open are to a former SM, or from a former LID. */
		ipoib_query_cancel(priv);
		priv->events->paths_stale(priv);
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_GID_CHANGE:
		ipoib_ctl_post(priv, IPOIB_CTL_PORT);
		break;
	default:
		break;
	}
}

/*
 * The RDMA core gives an address handle a GRH only if the record has a HopLimit. A subnet
 * manager may leave that 0 within the subnet, and then 1 does: no router passes it on.
 */
static void ipoib_sa_need_grh(const struct ipoib_dev *priv,
			      struct sa_path_rec *rec)
{
	if (rec && !rec->hop_limit &&
	    rdma_is_grh_required(priv->ca, priv->port))
		rec->hop_limit = 1;
}

static void ipoib_sa_path_answer(int status, struct sa_path_rec *rec,
				 ipoib_num_paths_t num_paths, void *context)
{
	struct ipoib_path *path = context;

	if (!status && !rec)
		status = -ENOENT;
	ipoib_sa_need_grh(path->priv, rec);
	path->priv->events->path_done(path, status, rec);
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

/* Fails with -EAGAIN if no SM is known. */
static int ipoib_sa_path_get(struct ipoib_dev *priv, struct ipoib_path *path)
{
	struct sa_path_rec rec = {
		.rec_type = SA_PATH_REC_TYPE_IB,
		.dgid = path->gid,
		.sgid = priv->local_gid,
		.pkey = cpu_to_be16(priv->pkey),
		.numb_path = 1,
		.traffic_class = ipoib_sa_traffic_class(priv),
	};
	struct ib_sa_query *query;
	int id;

	lockdep_assert_held(&priv->path_lock);
	id = ib_sa_path_rec_get(&ipoib_sa_client, priv->ca, priv->port, &rec,
				IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
				IB_SA_PATH_REC_NUMB_PATH |
				IB_SA_PATH_REC_TRAFFIC_CLASS |
				IB_SA_PATH_REC_PKEY, IPOIB_SA_TIMEOUT_MS,
				GFP_ATOMIC, ipoib_sa_path_answer, path,
				&query);
	if (id < 0)
		return id;
	path->query = query;
	path->query_id = id;
	return 0;
}

/* The core knows a query that has ended by its number. */
static void ipoib_sa_path_cancel(struct ipoib_dev *priv,
				 struct ipoib_path *path)
{
	struct ib_sa_query *query;
	int id;

	spin_lock_bh(&priv->path_lock);
	query = path->query;
	id = path->query_id;
	spin_unlock_bh(&priv->path_lock);
	if (query)
		ib_sa_cancel_query(id, query);
}

static int ipoib_sa_path_ah(struct ipoib_dev *priv, struct sa_path_rec *rec,
			    struct rdma_ah_attr *attr)
{
	return ib_init_ah_attr_from_path(priv->ca, priv->port, rec, attr, NULL);
}

static void ipoib_sa_path_show(struct seq_file *file,
			       const struct ipoib_path *path)
{
	struct sa_path_rec rec = path->rec;

	seq_printf(file, "  DLID:     0x%04x\n",
		   be32_to_cpu(sa_path_get_dlid(&rec)));
	seq_printf(file, "  SL: %12d\n", rec.sl);
	seq_printf(file, "  rate: %8d.%d Gb/sec\n",
		   ib_rate_to_mbps(rec.rate) / 1000,
		   ib_rate_to_mbps(rec.rate) % 1000 / 100);
}

static int ipoib_sa_join_answer(int status, struct ib_sa_multicast *member)
{
	struct ipoib_mcast *mcast = member->context;

	mcast->priv->events->join_done(mcast, status);
	/* The handle is freed by ipoib_sa_leave() in every case. */
	return 0;
}

static struct ib_sa_multicast *
ipoib_sa_join(struct ipoib_dev *priv, struct ipoib_mcast *mcast, u8 state,
	      const struct ib_sa_mcmember_rec *like)
{
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask mask;

	mask = ipoib_query_join_rec(mcast, state, like, &rec);
	return ib_sa_join_multicast(&ipoib_sa_client, priv->ca, priv->port,
				    &rec, mask, GFP_KERNEL,
				    ipoib_sa_join_answer, mcast);
}

/* The SA is told in the background, with exactly the JoinState of the join. */
static void ipoib_sa_leave(struct ipoib_dev *priv,
			   struct ib_sa_multicast *member)
{
	if (member)
		ib_sa_free_multicast(member);
}

/**
 * ipoib_sa_held - what ib_sa takes the port for in a group
 * @priv: the interface
 * @mgid: the group
 *
 * It clears that before it sends a leave, and knows the group until the leave has
 * been answered.
 *
 * Context: any
 * Return: JoinState of all its users together; 0 if it is no member, and on RoCE
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

static int ipoib_sa_join_again(struct ipoib_dev *priv,
			       struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask mask,
			       int (*answer)(int status,
			       struct ib_sa_multicast *member),
			       void *context)
{
	return PTR_ERR_OR_ZERO(ib_sa_join_multicast(&ipoib_sa_client, priv->ca,
						    priv->port, rec, mask,
						    GFP_KERNEL, answer,
						    context));
}

/* ---- memberships that the RDMA core has dropped ---- */

#define IPOIB_FORMER_TRIES	50
#define IPOIB_FORMER_PAUSE	(HZ / 50)
/* How often those in line try to get a credit. */
#define IPOIB_FORMER_POLL	(HZ / 50)
/* Milliseconds over which nodes spread. */
#define IPOIB_FORMER_SPREAD	50

/**
 * struct ipoib_former - a membership to be ended
 * @work: joins again
 * @line: in &ipoib_dev.formers, while it waits for a credit
 * @priv: the interface, held by &ipoib_dev.queries
 * @rec: what to join
 * @mask: component mask
 * @tries: how many are left
 * @slot: its join has a credit of the limit
 */
struct ipoib_former {
	struct delayed_work work;
	struct list_head line;
	struct ipoib_dev *priv;
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask mask;
	unsigned int tries;
	bool slot;
};

static bool ipoib_former_is_going(const struct ipoib_former *former)
{
	return former->priv->netdev->reg_state != NETREG_REGISTERED;
}

static bool ipoib_former_enter(struct ipoib_former *former)
{
	struct ipoib_agent *agent = former->priv->agent;

	if (!agent)
		return true;
	former->slot = ipoib_limit_get(&agent->limit, NULL);
	return former->slot || ipoib_former_is_going(former);
}

static void ipoib_former_leave(struct ipoib_former *former)
{
	if (!former->slot)
		return;
	former->slot = false;
	ipoib_limit_put(&former->priv->agent->limit);
}

/* The interface may be gone when this returns. */
static void ipoib_former_free(struct ipoib_former *former)
{
	ipoib_dev_put_query(former->priv);
	kfree(former);
}

/* Nobody waits for an SM for the sake of an interface that goes. */
static bool ipoib_former_again(const struct ipoib_former *former, int status)
{
	return status == -EAGAIN && former->tries &&
	       !ipoib_former_is_going(former);
}

static int ipoib_former_answer(int status, struct ib_sa_multicast *member)
{
	struct ipoib_former *former = member->context;

	ipoib_former_leave(former);
	if (ipoib_former_again(former, status))
		queue_delayed_work(former->priv->wq, &former->work,
				   IPOIB_FORMER_PAUSE);
	else
		ipoib_former_free(former);
	/* ib_sa gives the handle back itself: it leaves what it has joined. */
	return -ECANCELED;
}

/* The interface may be gone when this returns, but for its works. */
static void ipoib_former_ask(struct ipoib_former *former)
{
	former->tries--;
	if (!ipoib_sa_join_again(former->priv, &former->rec, former->mask,
				 ipoib_former_answer, former))
		return;
	ipoib_former_leave(former);
	ipoib_former_free(former);
}

static void ipoib_former_work(struct work_struct *work)
{
	struct ipoib_former *former = container_of(to_delayed_work(work),
						   struct ipoib_former, work);
	struct ipoib_dev *priv = former->priv;

	if (list_empty(&priv->formers) && ipoib_former_enter(former)) {
		ipoib_former_ask(former);
		return;
	}
	list_add_tail(&former->line, &priv->formers);
	queue_delayed_work(priv->wq, &priv->former_work, IPOIB_FORMER_POLL);
}

/*
 * The line has no lock, since the queue of these works is an ordered one. That goes
 * after this work has ended, which is not queued unless somebody is in line.
 */
static void ipoib_former_line_work(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work),
					      struct ipoib_dev, former_work);
	struct ipoib_former *former, *tmp;

	list_for_each_entry_safe(former, tmp, &priv->formers, line) {
		if (!ipoib_former_enter(former)) {
			queue_delayed_work(priv->wq, &priv->former_work,
					   IPOIB_FORMER_POLL);
			break;
		}
		list_del(&former->line);
		ipoib_former_ask(former);
	}
}

/**
 * ipoib_former_init - get ready to end memberships
 * @priv: the interface
 */
void ipoib_former_init(struct ipoib_dev *priv)
{
	INIT_LIST_HEAD(&priv->formers);
	INIT_DELAYED_WORK(&priv->former_work, ipoib_former_line_work);
}

/*
 * The interface does not go until this has been done, or the SA has not answered
 * for three seconds: if it is to go all are asked for at once.
 */
static void ipoib_former_end(struct ipoib_dev *priv,
			     const struct ib_sa_mcmember_rec *rec,
			     ib_sa_comp_mask mask)
{
	struct ipoib_former *former = kzalloc(sizeof(*former), GFP_KERNEL);
	unsigned int spread;

	if (!former)
		return;
	INIT_DELAYED_WORK(&former->work, ipoib_former_work);
	former->priv = priv;
	former->rec = *rec;
	former->mask = mask;
	former->tries = IPOIB_FORMER_TRIES;
	ipoib_dev_get_query(priv);
	spread = get_random_u32_below(IPOIB_FORMER_SPREAD);
	queue_delayed_work(priv->wq, &former->work, msecs_to_jiffies(spread));
}

/* ---- the rest of the operations ---- */

/* As ib_sa looks for it. */
static u16 ipoib_sa_pkey_index(const struct ipoib_dev *priv)
{
	u16 index;

	if (ib_find_pkey(priv->ca, priv->port, priv->pkey, &index))
		return U16_MAX;
	return index;
}

/* Has ib_sa dropped the membership as the P_Key has moved, or is about to? */
static void ipoib_sa_left(struct ipoib_dev *priv,
			  const struct ipoib_mcast *mcast, u8 state)
{
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask mask;

	if (ipoib_sa_pkey_index(priv) == priv->pkey_joined)
		return;
	mask = ipoib_query_join_rec(mcast, state, NULL, &rec);
	ipoib_former_end(priv, &rec, mask);
}

static int ipoib_sa_attach(struct ipoib_dev *priv,
			   struct ib_sa_mcmember_rec *rec)
{
	return priv->events->attach(priv, &rec->mgid,
			       be16_to_cpu(rec->mlid));
}

static int ipoib_sa_detach(struct ipoib_dev *priv,
			   struct ib_sa_mcmember_rec *rec)
{
	return priv->events->detach(priv, &rec->mgid,
			       be16_to_cpu(rec->mlid));
}

static int ipoib_sa_group_ah(struct ipoib_dev *priv,
			     struct ib_sa_mcmember_rec *rec,
			     struct rdma_ah_attr *attr)
{
	return ib_init_ah_from_mcmember(priv->ca, priv->port, rec, NULL,
					IB_GID_TYPE_IB, attr);
}

/* Without an agent there are no reports, and no multicast routing. */
static int ipoib_sa_init(struct ipoib_dev *priv)
{
	struct ipoib_agent *agent = ipoib_agent_get(priv->ca, priv->port,
						    &ipoib_notice_ops);

	if (IS_ERR(agent)) {
		netdev_warn(priv->netdev, "no MAD agent: %ld\n",
			    PTR_ERR(agent));
		return 0;
	}
	priv->agent = agent;
	priv->limit = &agent->limit;
	return 0;
}

static void ipoib_sa_exit(struct ipoib_dev *priv)
{
	if (priv->agent)
		ipoib_agent_put(priv->agent);
	priv->agent = NULL;
	priv->limit = NULL;
}

static void ipoib_sa_start(struct ipoib_dev *priv)
{
	priv->pkey_joined = ipoib_sa_pkey_index(priv);
	if (!priv->agent)
		return;
	ipoib_agent_add_dev(priv->agent, priv);
	ipoib_notice_wanted(priv->agent);
}

static void ipoib_sa_stop(struct ipoib_dev *priv)
{
	if (!priv->agent)
		return;
	ipoib_agent_del_dev(priv->agent, priv);
	ipoib_notice_wanted(priv->agent);
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
	.path_ah = ipoib_sa_path_ah,
	.path_show = ipoib_sa_path_show,
	.join = ipoib_sa_join,
	.leave = ipoib_sa_leave,
	.left = ipoib_sa_left,
	.attach = ipoib_sa_attach,
	.detach = ipoib_sa_detach,
	.group_ah = ipoib_sa_group_ah,
};

/**
 * ipoib_sa_register - become a client of the SA module
 */
void ipoib_sa_register(void)
{
	ib_sa_register_client(&ipoib_sa_client);
}

/**
 * ipoib_sa_unregister - wait for the last callback of the SA module
 */
void ipoib_sa_unregister(void)
{
	ib_sa_unregister_client(&ipoib_sa_client);
}
