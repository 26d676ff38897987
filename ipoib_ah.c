// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles. A send in flight uses its handle: a retired handle is destroyed once no slot of
 * a ring names it.
 */
#include <linux/slab.h>

#include "ipoib.h"

static void ipoib_ah_free(struct ipoib_ah *ah)
{
	rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
	kfree(ah);
}

/*
 * Create an address handle; consumes @attr.
 * Context: may sleep. Return: the handle, owned by the caller until it is published, or ERR_PTR().
 */
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv, struct rdma_ah_attr *attr)
{
	struct ipoib_ah *ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	struct ib_ah *handle = ERR_PTR(-ENOMEM);

	if (ah)
		handle = rdma_create_ah(priv->pd, attr, RDMA_CREATE_AH_SLEEPABLE);
	rdma_destroy_ah_attr(attr);
	if (IS_ERR(handle)) {
		kfree(ah);
		return ERR_CAST(handle);
	}
	ah->ah = handle;
	return ah;
}

/*
 * Destroy an unpublished address handle, or NULL, once no send uses it.
 * Context: any but hard interrupt.
 */
void ipoib_ah_retire(struct ipoib_dev *priv, struct ipoib_ah *ah)
{
	if (!ah)
		return;
	spin_lock_bh(&priv->ah.lock);
	list_add_tail(&ah->list, &priv->ah.dead);
	spin_unlock_bh(&priv->ah.lock);
	queue_delayed_work(system_unbound_wq, &priv->ah.work, 0);
}

/*
 * Mark the handles of sends in flight. The transmit lock protects the head of the ring and the
 * slots behind its tail.
 */
static void ipoib_ah_in_flight(struct ipoib_txq *txq)
{
	struct ipoib_ring *ring = &txq->ring;
	u32 i;

	__netif_tx_lock_bh(txq->nq);
	WRITE_ONCE(txq->retires, true);
	/* Pairs with ipoib_ud_tx_poll(): completions of these sends queue the work from now on. */
	smp_mb();
	for (i = READ_ONCE(ring->tail); i != ring->head; i++)
		ring->slots[i & ring->mask].ah->in_flight = true;
	__netif_tx_unlock_bh(txq->nq);
}

/*
 * Destroy the retired address handles that no send uses. Unsignalled sends keep their slots until a
 * later completion, whose handler queues this work again. An idle interface keeps the handles of
 * its last sends.
 * Context: process; waits for grace periods, so not on the ordered queue of the interface.
 */
void ipoib_ah_reap(struct work_struct *work)
{
	struct ipoib_dev *priv = container_of(to_delayed_work(work), struct ipoib_dev, ah.work);
	/* Pairs with ipoib_ud_txq_make(). */
	unsigned int n = smp_load_acquire(&priv->ntxq_made), i;
	struct ipoib_ah *ah, *tmp;
	LIST_HEAD(dead);

	spin_lock_bh(&priv->ah.lock);
	list_splice_init(&priv->ah.dead, &dead);
	spin_unlock_bh(&priv->ah.lock);
	if (list_empty(&dead))
		return;
	/* Each sender that has read a pointer to a handle has filled its slot after this. */
	synchronize_net();
	list_for_each_entry(ah, &dead, list)
		ah->in_flight = false;
	for (i = 0; i < n; i++)
		ipoib_ah_in_flight(&priv->txq[i]);
	list_for_each_entry_safe(ah, tmp, &dead, list) {
		if (ah->in_flight)
			continue;
		list_del(&ah->list);
		ipoib_ah_free(ah);
	}
	for (i = 0; i < n; i++)
		WRITE_ONCE(priv->txq[i].retires, !list_empty(&dead));
	spin_lock_bh(&priv->ah.lock);
	list_splice(&dead, &priv->ah.dead);
	spin_unlock_bh(&priv->ah.lock);
}

/* Destroy all retired address handles. Context: no QP, work of handles cancelled; may sleep. */
void ipoib_ah_free_all(struct ipoib_dev *priv)
{
	struct ipoib_ah *ah, *tmp;

	list_for_each_entry_safe(ah, tmp, &priv->ah.dead, list)
		ipoib_ah_free(ah);
}
