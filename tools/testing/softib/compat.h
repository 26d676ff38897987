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

#endif /* SOFTIB_COMPAT_H */
