// SPDX-License-Identifier: GPL-2.0
/*
 * Bugs with objects that have a life of their own: timers, references, network
 * devices, mappings for DMA, verbs objects.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "planted.h"

/* How long a reference to a device is kept too long. */
#define PLANTED_HOLD		(5 * HZ)
#define PLANTED_DMA_SIZE	64

struct planted_object {
	struct timer_list timer;
};

static void planted_tick(struct timer_list *timer)
{
}

static int planted_timer(bool fixed)
{
	struct planted_object *object;

	object = kzalloc(sizeof(*object), GFP_KERNEL);
	if (!object)
		return -ENOMEM;
	timer_setup(&object->timer, planted_tick, 0);
	mod_timer(&object->timer, jiffies + 60 * HZ);
	if (fixed)
		timer_shutdown_sync(&object->timer);
	kfree(object);
	return 0;
}

static int planted_refcount(bool fixed)
{
	refcount_t refs = REFCOUNT_INIT(1);
	bool zero;

	zero = refcount_dec_and_test(&refs);
	if (!fixed)
		zero = refcount_dec_and_test(&refs);
	OPTIMIZER_HIDE_VAR(zero);
	return 0;
}

static int planted_warning(bool fixed)
{
	WARN_ON(!fixed);
	return 0;
}

static netdev_tx_t planted_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops planted_netdev_ops = {
	.ndo_start_xmit = planted_xmit,
};

static struct net_device *planted_dev;
static netdevice_tracker planted_tracker;

static void planted_put_netdev(struct work_struct *work)
{
	netdev_put(planted_dev, &planted_tracker);
}

static DECLARE_DELAYED_WORK(planted_put_work, planted_put_netdev);

/* The last reference goes in the end, or nothing could be cleaned up. */
static int planted_netdev(bool fixed)
{
	int ret;

	planted_dev = alloc_etherdev(0);
	if (!planted_dev)
		return -ENOMEM;
	planted_dev->netdev_ops = &planted_netdev_ops;
	ret = register_netdev(planted_dev);
	if (!ret) {
		netdev_hold(planted_dev, &planted_tracker, GFP_KERNEL);
		schedule_delayed_work(&planted_put_work, fixed ? 0 : PLANTED_HOLD);
		unregister_netdev(planted_dev);
		flush_delayed_work(&planted_put_work);
	}
	free_netdev(planted_dev);
	return ret;
}

static int planted_map(struct device *dev, void *memory, bool fixed)
{
	dma_addr_t addr;
	int ret;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	addr = dma_map_single(dev, memory, PLANTED_DMA_SIZE, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, addr))
		return -ENOMEM;
	dma_unmap_single(dev, addr, PLANTED_DMA_SIZE, DMA_TO_DEVICE);
	if (!fixed)
		dma_unmap_single(dev, addr, PLANTED_DMA_SIZE, DMA_TO_DEVICE);
	return 0;
}

static int planted_dma(bool fixed)
{
	struct platform_device *pdev;
	void *memory;
	int ret;

	pdev = platform_device_register_simple("planted", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	memory = kzalloc(PLANTED_DMA_SIZE, GFP_KERNEL);
	ret = memory ? planted_map(&pdev->dev, memory, fixed) : -ENOMEM;
	kfree(memory);
	platform_device_unregister(pdev);
	return ret;
}

static bool planted_verbs_fixed;

/* The HCA keeps the protection domain until somebody gives it back. */
static int planted_add_hca(struct ib_device *ca)
{
	struct ib_pd *pd;

	pd = ib_alloc_pd(ca, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	if (planted_verbs_fixed)
		ib_dealloc_pd(pd);
	return 0;
}

static struct ib_client planted_client = {
	.name = "planted",
	.add = planted_add_hca,
};

static int planted_verbs(bool fixed)
{
	planted_verbs_fixed = fixed;
	return ib_register_client(&planted_client);
}

static void planted_verbs_end(void)
{
	ib_unregister_client(&planted_client);
}

const struct planted_bug planted_objects[] = {
	{ .name = "timer", .plant = planted_timer },
	{ .name = "refcount", .plant = planted_refcount },
	{ .name = "warning", .plant = planted_warning },
	{ .name = "netdev", .plant = planted_netdev },
	{ .name = "dma", .plant = planted_dma },
	{ .name = "verbs", .plant = planted_verbs, .uproot = planted_verbs_end },
	{ }
};
