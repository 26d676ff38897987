/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel version differences of softib, and nothing else: the one place that
 * knows LINUX_VERSION_CODE. Supported are 6.1, 6.12 and 7.3.
 */
#ifndef SOFTIB_COMPAT_H
#define SOFTIB_COMPAT_H

#include <linux/version.h>
#include <linux/workqueue.h>

struct ib_udata;
struct uverbs_attr_bundle;

/* Workqueues have to say since then whether they are per-CPU; they were. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define WQ_PERCPU 0
#endif

/* What create_cq() gets of user space. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
typedef struct ib_udata softib_cq_udata;
#else
typedef struct uverbs_attr_bundle softib_cq_udata;
#endif

/* A timer gets its function when it is set up since 6.13; the old way went in 6.15. */
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

/* dma_map_ops take physical addresses since 6.18, and pages before. */
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

#endif /* SOFTIB_COMPAT_H */
