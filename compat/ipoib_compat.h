/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between the supported kernels, 6.1 to 7.3.
 *
 * This header is force-included before each file of the driver, which is written against the newest
 * interfaces; older kernels get these from here. Distributions keep the version of a kernel and add
 * interfaces of newer ones, so each interface is tested for: by its macro or type, or by
 * Makefile.probe beside this file (IPOIB_HAS_*). Versions in comments are those of kernel.org.
 */
#ifndef IPOIB_COMPAT_H
#define IPOIB_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "ib_ipoib supports Linux 6.1 and newer"
#endif

#include <linux/netdevice.h>
#include <rdma/ib_sa.h>

/* GSO left linux/netdevice.h in 6.5. */
#ifdef IPOIB_HAS_GSO_H
#include <net/gso.h>
#endif

/* The page pool left its single header in 6.6. */
#ifdef IPOIB_HAS_POOL_HELPERS_H
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

/*
 * Before 6.7 a pool whose pages are split had a flag, and could not exist on 32 bits with longer
 * DMA addresses (PAE, LPAE).
 */
#ifdef PP_FLAG_PAGE_FRAG
#define IPOIB_PP_FLAGS	PP_FLAG_PAGE_FRAG
static_assert(sizeof(dma_addr_t) <= sizeof(unsigned long),
	      "ib_ipoib needs Linux 6.7 on this machine");
#else
#define IPOIB_PP_FLAGS	0
#endif

/* The NAPI instance of a pool, for the return of pages without a lock, is 6.4. */
#ifdef IPOIB_HAS_POOL_NAPI
#define ipoib_pool_set_napi(params, instance)	((params)->napi = (instance))
#else
#define ipoib_pool_set_napi(params, instance)	((void)(instance))
#endif

/* The net_device of a pool, for user space, is 6.8. */
#ifdef IPOIB_HAS_POOL_NETDEV
#define ipoib_pool_set_netdev(params, dev)	((params)->netdev = (dev))
#else
#define ipoib_pool_set_netdev(params, dev)	((void)(dev))
#endif

/* The NAPI instance of a queue is 6.8, too. */
#ifdef IPOIB_HAS_QUEUE_NAPI
#define ipoib_queue_set_napi(dev, n, dir, napi)				\
	netif_queue_set_napi(dev, n, NETDEV_QUEUE_TYPE_##dir, napi)
#else
#define ipoib_queue_set_napi(dev, n, dir, napi)	((void)(dev))
#endif

/* Statistics of queues are 6.9; of checksums, segments and stops 6.10. */
#ifdef IPOIB_HAS_QUEUE_STATS
#include <net/netdev_queues.h>
#define ipoib_set_stat_ops(dev, ops)	((dev)->stat_ops = (ops))
#else
struct netdev_queue_stats_rx {
	u64 bytes;
	u64 packets;
	u64 alloc_fail;
	u64 csum_unnecessary;
};

struct netdev_queue_stats_tx {
	u64 bytes;
	u64 packets;
	u64 hw_gso_packets;
	u64 hw_gso_bytes;
	u64 hw_gso_wire_packets;
	u64 hw_gso_wire_bytes;
	u64 stop;
	u64 wake;
};

struct netdev_stat_ops {
	void (*get_queue_stats_rx)(struct net_device *dev, int idx,
				   struct netdev_queue_stats_rx *stats);
	void (*get_queue_stats_tx)(struct net_device *dev, int idx,
				   struct netdev_queue_stats_tx *stats);
	void (*get_base_stats)(struct net_device *dev, struct netdev_queue_stats_rx *rx,
			       struct netdev_queue_stats_tx *tx);
};

#define ipoib_set_stat_ops(dev, ops)	((void)(ops))
#endif

/*
 * Newer kernels report changes of addresses in a process, with the instance lock. A net_device with
 * that lock must accept them there.
 */
#ifdef IPOIB_HAS_RX_MODE_ASYNC
#define IPOIB_RX_MODE(name)						\
static int name##_async(struct net_device *dev,				\
			struct netdev_hw_addr_list *uc,			\
			struct netdev_hw_addr_list *mc)			\
{									\
	name(dev);							\
	return 0;							\
}

#define IPOIB_RX_MODE_OPS(name)	.ndo_set_rx_mode_async = name##_async,
#else
#define IPOIB_RX_MODE(name)
#define IPOIB_RX_MODE_OPS(name)	.ndo_set_rx_mode = name,
#endif

/*
 * Operations for time stamps are 6.6. Drivers adopt them over time, and have the ioctl until then:
 * functions of @name call the operation of the net_device that @find returns.
 */
#ifdef IPOIB_HAS_HWTSTAMP
#include <linux/net_tstamp.h>

static inline int ipoib_hwtstamp_ioctl(const struct net_device_ops *ops, struct net_device *dev,
				       struct kernel_hwtstamp_config *config, int cmd)
{
	int err = -EOPNOTSUPP;

	if (ops->ndo_eth_ioctl && config->ifr)
		err = ops->ndo_eth_ioctl(dev, config->ifr, cmd);
	config->copied_to_user = !err;
	return err;
}

#define IPOIB_HWTSTAMP(name, find)					\
	static int name##_get(struct net_device *dev,			\
			      struct kernel_hwtstamp_config *config)	\
	{								\
		const struct net_device_ops *ops = find(dev);		\
									\
		if (ops->ndo_hwtstamp_get)				\
			return ops->ndo_hwtstamp_get(dev, config);	\
		return ipoib_hwtstamp_ioctl(ops, dev, config, SIOCGHWTSTAMP); \
	}								\
	static int name##_set(struct net_device *dev,			\
			      struct kernel_hwtstamp_config *config,	\
			      struct netlink_ext_ack *extack)		\
	{								\
		const struct net_device_ops *ops = find(dev);		\
									\
		if (ops->ndo_hwtstamp_set)				\
			return ops->ndo_hwtstamp_set(dev, config, extack); \
		return ipoib_hwtstamp_ioctl(ops, dev, config, SIOCSHWTSTAMP); \
	}
#define IPOIB_HWTSTAMP_OPS(name)					\
	.ndo_hwtstamp_get = name##_get, .ndo_hwtstamp_set = name##_set,
#else
#define IPOIB_HWTSTAMP(name, find)
#define IPOIB_HWTSTAMP_OPS(name)
#endif

/* Net devices that require their lock around their operations are 6.15. */
#ifdef IPOIB_HAS_LOCK_OPS
#include <net/netdev_lock.h>
#else
static inline void netdev_lock_ops(struct net_device *dev)
{
}

static inline void netdev_unlock_ops(struct net_device *dev)
{
}
#endif

/* Before 6.11 only the stack set the flag for further frames. */
#ifndef IPOIB_HAS_XMIT_SET_MORE
static inline void netdev_xmit_set_more(bool more)
{
	__this_cpu_write(softnet_data.xmit.more, more);
}
#endif

/* Frames are freed with a reason, in any context, since 6.4; before, not with interrupts off. */
#ifndef IPOIB_HAS_FREE_REASON
static inline void dev_kfree_skb_any_reason(struct sk_buff *skb, enum skb_drop_reason reason)
{
	if (in_hardirq() || irqs_disabled())
		dev_kfree_skb_irq(skb);
	else
		kfree_skb_reason(skb, reason);
}
#endif

/* Since 6.10 __string() has the string of a tracepoint, and __assign_str() does not repeat it. */
#ifdef IPOIB_HAS_ASSIGN_STR
#define ipoib_assign_str(field, string)	__assign_str(field)
#else
#define ipoib_assign_str(field, string)	__assign_str(field, string)
#endif

/* An event for a change of speed alone is 7.0. */
#ifdef IPOIB_HAS_EVENT_SPEED
#define ipoib_event_is_speed(event)	((event) == IB_EVENT_DEVICE_SPEED_CHANGE)
#else
#define ipoib_event_is_speed(event)	false
#endif

/* The number of path records in an SA answer became unsigned in 6.3. */
#define IPOIB_PATHS_WERE_SIGNED						\
	__builtin_types_compatible_p(typeof(ib_sa_path_rec_get),	\
		int (struct ib_sa_client *, struct ib_device *, u32,	\
		     struct sa_path_rec *, ib_sa_comp_mask,		\
		     unsigned long, gfp_t,				\
		     void (*)(int, struct sa_path_rec *, int, void *),	\
		     void *, struct ib_sa_query **))
typedef typeof(__builtin_choose_expr(IPOIB_PATHS_WERE_SIGNED, 0, 0U)) ipoib_num_paths_t;

/*
 * header_ops::parse() has the device as a parameter since 7.0, and in stable kernels with that
 * change: the type decides, not the version.
 */
#define IPOIB_HEADER_PARSE(func)					\
	static __maybe_unused int					\
	func##_nodev(const struct sk_buff *skb, unsigned char *haddr)	\
	{								\
		return func(skb, skb->dev, haddr);			\
	}

#define ipoib_header_parse_op(func)					\
	__builtin_choose_expr(						\
		__builtin_types_compatible_p(				\
			typeof(((struct header_ops *)NULL)->parse),	\
			typeof(&(func))), func, func##_nodev)

/*
 * rtnl_link_ops::newlink() takes its arguments in a structure since 6.15. @func gets the namespace
 * of IFLA_LINK.
 */
#ifdef IPOIB_HAS_NEWLINK_PARAMS
#define IPOIB_NEWLINK(name, func)					\
	static int name(struct net_device *dev,				\
			struct rtnl_newlink_params *params,		\
			struct netlink_ext_ack *extack)			\
	{								\
		return func(dev, rtnl_newlink_link_net(params),		\
			    params->tb, params->data, extack);		\
	}
#else
#define IPOIB_NEWLINK(name, func)					\
	static int name(struct net *src_net, struct net_device *dev,	\
			struct nlattr *tb[], struct nlattr *data[],	\
			struct netlink_ext_ack *extack)			\
	{								\
		return func(dev, src_net, tb, data, extack);		\
	}
#endif

/* Formatted messages for rtnetlink are 6.2; before, the message is @text. */
#include <linux/netlink.h>
#ifdef NL_SET_ERR_MSG_FMT
#define IPOIB_SET_ERR_MSG_FMT(extack, text, fmt, args...)		\
	NL_SET_ERR_MSG_FMT(extack, fmt, ##args)
#else
#define IPOIB_SET_ERR_MSG_FMT(extack, text, fmt, args...)		\
	NL_SET_ERR_MSG(extack, text)
#endif

/* The number of profiles of lib/dim is in a header since 6.10. */
#include <linux/dim.h>
#ifndef NET_DIM_PARAMS_NUM_PROFILES
#define NET_DIM_PARAMS_NUM_PROFILES	5
#endif

/* net_dim() takes the address of the sample since 6.13. */
static inline void ipoib_net_dim_copy(struct dim *dim, const struct dim_sample *sample)
{
	void (*func)(struct dim *dim, struct dim_sample sample) = (void *)net_dim;

	func(dim, *sample);
}

#define ipoib_net_dim(dim, sample)					\
	__builtin_choose_expr(						\
		__builtin_types_compatible_p(typeof(net_dim),		\
			void (struct dim *, const struct dim_sample *)),\
		net_dim, ipoib_net_dim_copy)(dim, sample)

/* hrtimer_setup() is 6.13. */
#ifndef IPOIB_HAS_HRTIMER_SETUP
#define hrtimer_setup(timer, func, clock, mode)				\
	do {								\
		hrtimer_init(timer, clock, mode);			\
		(timer)->function = func;				\
	} while (0)
#endif

/* ethtool_puts() is 6.8. */
#include <linux/ethtool.h>
#ifndef IPOIB_HAS_ETHTOOL_PUTS
#define ethtool_puts(data, str)	ethtool_sprintf(data, "%s", str)
#endif

#endif /* IPOIB_COMPAT_H */
