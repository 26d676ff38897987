// SPDX-License-Identifier: GPL-2.0
/* Tests of address handles: creation, and destruction once no send uses them */
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_ah_create		handles_ah_create
#define ipoib_ah_retire		handles_ah_retire
#define ipoib_ah_reap		handles_ah_reap
#define ipoib_ah_free_all	handles_ah_free_all

#include "ipoib.h"

/* The HCA, grace periods, and works */
#define rdma_create_ah(pd, attr, flags)		handles_create(pd, flags)
#define rdma_destroy_ah(ah, flags)		handles_destroy(ah, flags)
#define rdma_destroy_ah_attr(attr)		handles_put_attr(attr)
#define synchronize_net()			(handles_fix->grace++)
#define queue_delayed_work(wq, work, delay)	handles_queue(work, delay)
#define kfree(object)				handles_free(object)

#define HANDLES		4
#define HANDLES_SLOTS	4

/**
 * struct handles_fixture - fixture of a case
 * @priv: an interface
 * @dev: net_device of the queues
 * @txq: transmit queues of @priv
 * @slots: slots of their rings
 * @pd: protection domain
 * @attr: attributes of a handle
 * @attrs: attributes given up
 * @ah: handles of the HCA
 * @n: number of those created
 * @create_err: result of a handle that cannot be created
 * @destroyed: handles destroyed
 * @freed: freed objects
 * @grace: grace periods
 * @queued: times that the work was queued
 */
struct handles_fixture {
	struct ipoib_dev priv;
	struct net_device *dev;
	struct ipoib_txq txq[2];
	struct ipoib_tx_slot slots[2][HANDLES_SLOTS];
	struct ib_pd pd;
	struct rdma_ah_attr attr;
	unsigned int attrs;
	struct ib_ah ah[HANDLES];
	unsigned int n;
	int create_err;
	unsigned int destroyed;
	unsigned int freed;
	unsigned int grace;
	unsigned int queued;
};

/* The fixture of the running case */
static struct handles_fixture *handles_fix;

static struct ib_ah *handles_create(const struct ib_pd *pd, u32 flags)
{
	if (pd != &handles_fix->pd || flags != RDMA_CREATE_AH_SLEEPABLE)
		return ERR_PTR(-EINVAL);
	if (handles_fix->create_err || handles_fix->n == HANDLES)
		return ERR_PTR(handles_fix->create_err ?: -ENOMEM);
	return &handles_fix->ah[handles_fix->n++];
}

static void handles_destroy(const struct ib_ah *ah, u32 flags)
{
	handles_fix->destroyed += flags == RDMA_DESTROY_AH_SLEEPABLE;
}

static void handles_put_attr(const struct rdma_ah_attr *attr)
{
	handles_fix->attrs += attr == &handles_fix->attr;
}

static void handles_queue(const struct delayed_work *work, unsigned long delay)
{
	handles_fix->queued += work == &handles_fix->priv.ah.work && !delay;
}

static void handles_free(const void *object);

#include "ipoib_ah.c"

#undef kfree

static void handles_free(const void *object)
{
	handles_fix->freed += !!object;
	kfree(object);
}

static int handles_init(struct kunit *test)
{
	struct handles_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev_mqs(0, "ipoib_ah%d", NET_NAME_UNKNOWN, ether_setup, 2, 1);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	for (i = 0; i < 2; i++) {
		fix->txq[i].priv = &fix->priv;
		fix->txq[i].nq = netdev_get_tx_queue(fix->dev, i);
		fix->txq[i].ring.slots = fix->slots[i];
		fix->txq[i].ring.mask = HANDLES_SLOTS - 1;
	}
	fix->priv.pd = &fix->pd;
	fix->priv.txq = fix->txq;
	fix->priv.ntxq_made = 2;
	spin_lock_init(&fix->priv.ah.lock);
	INIT_LIST_HEAD(&fix->priv.ah.dead);
	handles_fix = fix;
	test->priv = fix;
	return 0;
}

static void handles_exit(struct kunit *test)
{
	struct handles_fixture *fix = test->priv;

	free_netdev(fix->dev);
	kvfree(fix);
}

/* A retired handle, or NULL */
static struct ipoib_ah *handles_retired(struct kunit *test)
{
	struct handles_fixture *fix = test->priv;
	struct ipoib_ah *ah = ipoib_ah_create(&fix->priv, &fix->attr);

	KUNIT_EXPECT_FALSE(test, IS_ERR(ah));
	if (IS_ERR(ah))
		return NULL;
	ipoib_ah_retire(&fix->priv, ah);
	return ah;
}

static void handles_reap(struct handles_fixture *fix)
{
	ipoib_ah_reap(&fix->priv.ah.work.work);
}

/* The attributes of a handle are given up in any case. */
static void handles_made(struct kunit *test)
{
	struct handles_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	struct ipoib_ah *ah;

	fix->create_err = -EBUSY;
	ah = ipoib_ah_create(priv, &fix->attr);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(ah), -EBUSY);
	KUNIT_EXPECT_EQ(test, fix->attrs, 1u);
	KUNIT_EXPECT_EQ(test, fix->freed, 1u);
	fix->create_err = 0;
	ah = ipoib_ah_create(priv, &fix->attr);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(ah), 0);
	if (IS_ERR(ah))
		return;
	KUNIT_EXPECT_PTR_EQ(test, ah->ah, &fix->ah[0]);
	KUNIT_EXPECT_FALSE(test, ah->in_flight);
	KUNIT_EXPECT_EQ(test, fix->attrs, 2u);
	KUNIT_EXPECT_EQ(test, fix->queued, 0u);
	ipoib_ah_retire(priv, NULL);
	KUNIT_EXPECT_EQ(test, fix->queued, 0u);
	ipoib_ah_retire(priv, ah);
	KUNIT_EXPECT_EQ(test, fix->queued, 1u);
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&priv->ah.lock));
	KUNIT_EXPECT_EQ(test, fix->destroyed, 0u);
	ipoib_ah_free_all(priv);
	KUNIT_EXPECT_EQ(test, fix->destroyed, 1u);
	KUNIT_EXPECT_EQ(test, fix->freed, 2u);
}

/* Sends in flight of any queue keep their handles; those that have completed do not. */
static void handles_used(struct kunit *test)
{
	struct handles_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	struct ipoib_ring *first = &fix->txq[0].ring, *second = &fix->txq[1].ring;
	struct ipoib_ah *a = handles_retired(test), *b = handles_retired(test);
	struct ipoib_ah *done = handles_retired(test);
	struct ipoib_ah other = {};

	if (!a || !b || !done)
		return;
	/* In flight: the slots 3, 0 and 1 of the first queue, and slot 2 of the second */
	first->tail = 3;
	first->head = 6;
	fix->slots[0][2].ah = done;
	fix->slots[0][3].ah = &other;
	fix->slots[0][0].ah = &other;
	fix->slots[0][1].ah = a;
	second->tail = 2;
	second->head = 3;
	fix->slots[1][2].ah = b;
	fix->slots[1][3].ah = done;
	handles_reap(fix);
	KUNIT_EXPECT_EQ(test, fix->grace, 1u);
	KUNIT_EXPECT_EQ(test, fix->destroyed, 1u);
	KUNIT_EXPECT_EQ(test, fix->freed, 1u);
	KUNIT_EXPECT_FALSE(test, list_empty(&priv->ah.dead));
	KUNIT_EXPECT_TRUE(test, fix->txq[0].retires && fix->txq[1].retires);
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&priv->ah.lock));
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&fix->txq[1].nq->_xmit_lock));
	/* The first queue has sent its frames. */
	first->tail = 6;
	handles_reap(fix);
	KUNIT_EXPECT_EQ(test, fix->destroyed, 2u);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&priv->ah.dead));
	KUNIT_EXPECT_PTR_EQ(test, priv->ah.dead.next, &b->list);
	KUNIT_EXPECT_TRUE(test, fix->txq[0].retires && fix->txq[1].retires);
	second->tail = 3;
	handles_reap(fix);
	KUNIT_EXPECT_EQ(test, fix->destroyed, 3u);
	KUNIT_EXPECT_EQ(test, fix->freed, 3u);
	KUNIT_EXPECT_TRUE(test, list_empty(&priv->ah.dead));
	KUNIT_EXPECT_FALSE(test, fix->txq[0].retires || fix->txq[1].retires);
	/* Nothing to wait for */
	handles_reap(fix);
	KUNIT_EXPECT_EQ(test, fix->grace, 3u);
}

/* Without a QP no send uses them any more. */
static void handles_all(struct kunit *test)
{
	struct handles_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < 3; i++)
		handles_retired(test);
	ipoib_ah_free_all(&fix->priv);
	KUNIT_EXPECT_EQ(test, fix->destroyed, 3u);
	KUNIT_EXPECT_EQ(test, fix->freed, 3u);
	KUNIT_EXPECT_EQ(test, fix->grace, 0u);
}

static struct kunit_case ipoib_ah_cases[] = {
	KUNIT_CASE(handles_made),
	KUNIT_CASE(handles_used),
	KUNIT_CASE(handles_all),
	{}
};

struct kunit_suite ipoib_ah_suite = {
	.name = "ipoib_ah",
	.init = handles_init,
	.exit = handles_exit,
	.test_cases = ipoib_ah_cases,
};
