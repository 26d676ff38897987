/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel version differences of softib. No other file uses LINUX_VERSION_CODE. Supported are
 * 6.1, 6.12 and 7.3.
 */
#ifndef SOFTIB_COMPAT_H
#define SOFTIB_COMPAT_H

#include <linux/net_tstamp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/workqueue.h>

/* Since 6.5 GSO is no longer in linux/netdevice.h. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

struct ib_udata;
struct uverbs_attr_bundle;

/* Since 6.18 workqueues need WQ_PERCPU or WQ_UNBOUND; before, per-CPU was the default. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define WQ_PERCPU 0
#endif

/* Third parameter of ib_device_ops.create_cq */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
typedef struct ib_udata softib_cq_udata;
#else
typedef struct uverbs_attr_bundle softib_cq_udata;
#endif

/* hrtimer_setup() came in 6.13; hrtimer_init() went in 6.15. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define softib_hrtimer_setup(timer, func, mode)				\
	do {								\
		hrtimer_init(timer, CLOCK_MONOTONIC, mode);		\
		(timer)->function = (func);				\
	} while (0)
#else
#define softib_hrtimer_setup(timer, func, mode)				\
	hrtimer_setup(timer, func, CLOCK_MONOTONIC, mode)
#endif

/* dma_map_ops map physical addresses since 6.18, and pages before. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define SOFTIB_DMA_MAP_PAGE(name, map)					\
	static dma_addr_t name(struct device *dev, struct page *page,	\
			       unsigned long offset, size_t size,	\
			       enum dma_data_direction dir,		\
			       unsigned long attrs)			\
	{								\
		return map(dev, page_to_phys(page) + offset, size, dir,	\
			   attrs);					\
	}
#define SOFTIB_DMA_OPS(page, phys, unmap)				\
	.map_page = (page), .unmap_page = (unmap)
#else
#define SOFTIB_DMA_MAP_PAGE(name, map)
#define SOFTIB_DMA_OPS(page, phys, unmap)				\
	.map_phys = (phys), .unmap_phys = (unmap)
#endif

/*
 * Statistics of hfi1's net device: allocated and read by the core since 6.10, by the driver before.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define SOFTIB_TSTATS_OP	.ndo_get_stats64 = dev_get_tstats64,
#define softib_tstats_init(netdev)					\
	(((netdev)->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats)) ? \
	 0 : -ENOMEM)
#define softib_tstats_free(netdev)	free_percpu((netdev)->tstats)
#else
#define SOFTIB_TSTATS_OP
#define softib_tstats_init(netdev)					\
	((netdev)->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS, 0)
#define softib_tstats_free(netdev)
#endif

/*
 * Time stamp configuration of mlx5: by ioctl until 6.18, by net_device_ops since.
 * @find: function from a net device to its &struct softib_stamp
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define SOFTIB_HWTSTAMP(name, find)					\
	static int name##_ioctl(struct net_device *netdev,		\
				struct ifreq *ifr, int cmd)		\
	{								\
		struct softib_stamp *stamp = find(netdev);		\
		struct hwtstamp_config config = {			\
			.tx_type = stamp->tx_type,			\
			.rx_filter = stamp->rx_filter,			\
		};							\
									\
		if (cmd != SIOCSHWTSTAMP && cmd != SIOCGHWTSTAMP)	\
			return -EOPNOTSUPP;				\
		if (cmd == SIOCSHWTSTAMP &&				\
		    copy_from_user(&config, ifr->ifr_data, sizeof(config))) \
			return -EFAULT;					\
		stamp->tx_type = config.tx_type;			\
		stamp->rx_filter = config.rx_filter;			\
		stamp->on = config.rx_filter != HWTSTAMP_FILTER_NONE;	\
		return copy_to_user(ifr->ifr_data, &config,		\
				    sizeof(config)) ? -EFAULT : 0;	\
	}
#define SOFTIB_HWTSTAMP_OPS(name)	.ndo_eth_ioctl = name##_ioctl,
#else
#define SOFTIB_HWTSTAMP(name, find)					\
	static int name##_get(struct net_device *netdev,		\
			      struct kernel_hwtstamp_config *config)	\
	{								\
		struct softib_stamp *stamp = find(netdev);		\
									\
		config->tx_type = stamp->tx_type;			\
		config->rx_filter = stamp->rx_filter;			\
		return 0;						\
	}								\
	static int name##_set(struct net_device *netdev,		\
			      struct kernel_hwtstamp_config *config,	\
			      struct netlink_ext_ack *extack)		\
	{								\
		struct softib_stamp *stamp = find(netdev);		\
									\
		stamp->tx_type = config->tx_type;			\
		stamp->rx_filter = config->rx_filter;			\
		stamp->on = config->rx_filter != HWTSTAMP_FILTER_NONE;	\
		return 0;						\
	}
#define SOFTIB_HWTSTAMP_OPS(name)					\
	.ndo_hwtstamp_get = name##_get, .ndo_hwtstamp_set = name##_set,
#endif

/* Since 6.16 net_device_ops of mlx5 are called under the lock of the net device. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define softib_request_lock(netdev)	((void)(netdev))
#define softib_assert_locked(netdev)	((void)(netdev))
#define softib_napi_enable(napi)	napi_enable(napi)
#define softib_napi_disable(napi)	napi_disable(napi)
#else
#include <net/netdev_lock.h>
#define softib_request_lock(netdev)	((netdev)->request_ops_lock = true)
#define softib_assert_locked(netdev)	netdev_assert_locked(netdev)
#define softib_napi_enable(napi)	napi_enable_locked(napi)
#define softib_napi_disable(napi)	napi_disable_locked(napi)
#endif

#endif /* SOFTIB_COMPAT_H */
