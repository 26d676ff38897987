/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connected mode, RFC 4755, as the rest of the driver sees it. What its files share is in
 * cm/cm.h. A driver built without CONFIG_INFINIBAND_IPOIB_CM has the stubs: it offers UD
 * alone (C9).
 */
#ifndef IPOIB_CM_H
#define IPOIB_CM_H

#include <linux/completion.h>
#include <linux/if_ether.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>

#include "ipoib_ring.h"
#include "ipoib_wire.h"

struct ipoib_dev;
struct ipoib_neigh;
struct ipoib_txq;
struct page_pool;

extern const struct seq_operations ipoib_cm_sops;

#if IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM)

int ipoib_cm_init(struct ipoib_dev *priv);
void ipoib_cm_exit(struct ipoib_dev *priv);
void ipoib_cm_start(struct ipoib_dev *priv);
int ipoib_cm_listen_again(struct ipoib_dev *priv);
void ipoib_cm_path_read(struct ipoib_neigh *neigh, bool gone);
void ipoib_cm_stop(struct ipoib_dev *priv);
void ipoib_cm_flush(struct ipoib_dev *priv);
void ipoib_cm_let_go(struct ipoib_dev *priv);
void ipoib_cm_lose_gid(struct ipoib_dev *priv);
void ipoib_cm_moderate(struct ipoib_dev *priv);
u8 ipoib_cm_flags(const struct ipoib_dev *priv);
int ipoib_cm_set_on(struct ipoib_dev *priv, bool on);
bool ipoib_cm_xmit(struct ipoib_txq *txq, struct ipoib_neigh *neigh, struct sk_buff *skb);
ssize_t ipoib_cm_transport_show(const struct ipoib_dev *priv, char *buf);
int ipoib_cm_transport_set(struct ipoib_dev *priv, const char *word);
int ipoib_cm_params_check(void);
void ipoib_cm_neigh_event(struct ipoib_dev *priv, struct neighbour *neigh);

#else

static inline int ipoib_cm_init(struct ipoib_dev *priv) { return 0; }
static inline void ipoib_cm_exit(struct ipoib_dev *priv) { }
static inline void ipoib_cm_start(struct ipoib_dev *priv) { }
static inline int ipoib_cm_listen_again(struct ipoib_dev *priv) { return 0; }
static inline void ipoib_cm_path_read(struct ipoib_neigh *neigh, bool gone) { }
static inline void ipoib_cm_stop(struct ipoib_dev *priv) { }
static inline void ipoib_cm_flush(struct ipoib_dev *priv) { }
static inline void ipoib_cm_let_go(struct ipoib_dev *priv) { }
static inline void ipoib_cm_lose_gid(struct ipoib_dev *priv) { }
static inline void ipoib_cm_moderate(struct ipoib_dev *priv) { }
static inline u8 ipoib_cm_flags(const struct ipoib_dev *priv) { return 0; }
static inline int ipoib_cm_params_check(void) { return 0; }
static inline void ipoib_cm_neigh_event(struct ipoib_dev *priv, struct neighbour *neigh) { }

static inline int ipoib_cm_set_on(struct ipoib_dev *priv, bool on)
{
	return on ? -EOPNOTSUPP : 0;
}

static inline bool ipoib_cm_xmit(struct ipoib_txq *txq, struct ipoib_neigh *neigh,
				 struct sk_buff *skb)
{
	return false;
}

static inline ssize_t ipoib_cm_transport_show(const struct ipoib_dev *priv, char *buf)
{
	return sysfs_emit(buf, "none\n");
}

static inline int ipoib_cm_transport_set(struct ipoib_dev *priv, const char *word)
{
	return -EOPNOTSUPP;
}

#endif

#endif /* IPOIB_CM_H */
