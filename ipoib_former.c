// SPDX-License-Identifier: GPL-2.0
/*
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
#include <linux/slab.h>

#include "ipoib.h"

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

/**
 * ipoib_former_end - end a membership that ib_sa may have dropped
 * @priv: the interface
 * @rec: a join of the group with the JoinState held
 * @mask: its component mask, without the components to make a group
 *
 * The interface does not go until this has been done, or the SA has not answered
 * for three seconds: if it is to go all are asked for at once.
 *
 * Context: process, may sleep; does not wait for the SA
 */
void ipoib_former_end(struct ipoib_dev *priv,
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
