/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the RoCE fabric share: roce.c (paths, and what changes them), group.c
 * (groups) and port.c (the port and its GID).
 * What the driver sees of them is in ipoib_fabric.h.
 */
#ifndef IPOIB_ROCE_H
#define IPOIB_ROCE_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>

#include "ipoib_limit.h"

struct ib_cm_req_event_param;
struct ipoib_dev;

/* What the rules of Documentation/roce.rst give every link. */
#define IPOIB_ROCE_QKEY		0x80004391
#define IPOIB_ROCE_HOP_LIMIT	1
/* A packet is on its way for 4.096 us * 2^13 at most: 34 ms. */
#define IPOIB_ROCE_LIFE		13
/* The one group of a link whose nodes have IPv4 GIDs: 239.255.67.145. */
#define IPOIB_ROCE_IPV4_GROUP	0xefff4391

/*
 * Paths of all interfaces that may be looked for at a time. An address that does not
 * answer stays in the host's neighbour table for three times as long as is waited, and
 * the table takes 512 (gc_thresh2) before the kernel has to make room.
 */
#define IPOIB_ROCE_QUERIES_MAX	128

/**
 * struct ipoib_roce - what an interface on a RoCE port has in addition
 * @priv: the interface
 * @gid_index: where the port has the GID of the link, or -1
 * @tracker: of the reference to &ipoib_dev.lower
 * @reported_mtu: MTU of the port last logged as small; under RTNL
 * @reported_lack: what was last logged to be missing for a GID; control work
 *	only
 * @lock: guards what says so; taken before mcast.lock
 * @todo: memberships to begin or to end; under @lock
 * @joined: memberships that have been begun; under @lock
 * @group_work: does what is in @todo, under RTNL
 */
struct ipoib_roce {
	struct ipoib_dev *priv;
	int gid_index;
	netdevice_tracker tracker;
	unsigned int reported_mtu;
	const char *reported_lack;

	spinlock_t lock; /* todo, joined */
	struct list_head todo;
	struct list_head joined;
	struct work_struct group_work;
};

/* port.c */
int ipoib_roce_port_read(struct ipoib_dev *priv, struct ipoib_port *port);
bool ipoib_roce_is_ours(const struct ipoib_dev *priv, const struct ib_gid_attr *attr);
const struct ib_gid_attr *ipoib_roce_gid_attr(struct ipoib_dev *priv);

/* group.c */
void ipoib_roce_group_init(struct ipoib_roce *roce);
void ipoib_roce_group_refresh(struct ipoib_roce *roce);
struct ib_sa_multicast *ipoib_roce_group_join(struct ipoib_mcast *mcast, u8 state);
void ipoib_roce_group_leave(struct ib_sa_multicast *handle);
int ipoib_roce_group_ah(struct ipoib_dev *priv, struct ib_sa_mcmember_rec *rec,
			struct rdma_ah_attr *attr);

#endif /* IPOIB_ROCE_H */
