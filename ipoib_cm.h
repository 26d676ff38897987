/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connected mode, RFC 4755: its interface to the rest of the driver; cm/cm.h is the private header.
 * Without CONFIG_INFINIBAND_IPOIB_CM the driver offers UD alone (C9).
 */
#ifndef IPOIB_CM_H
#define IPOIB_CM_H

#include <linux/seq_file.h>
#include <rdma/ib_cm.h>

#include "ipoib_wire.h"

struct ipoib_cm;
struct ipoib_dev;
struct ipoib_neigh;

/* A frame too long for UD is dropped without an error: the lack of a connection is transient. */
#define IPOIB_CM_TRANSIENT	UINT_MAX

/* To be called if ipoib_has_cm() */
int ipoib_cm_init(struct ipoib_dev *priv);
void ipoib_cm_exit(struct ipoib_dev *priv);
void ipoib_cm_start(struct ipoib_dev *priv);
int ipoib_cm_listen(struct ipoib_dev *priv);
void ipoib_cm_path_read(struct ipoib_neigh *neigh, bool gone);
void ipoib_cm_neigh_gone(struct ipoib_cm *cm, const struct ipoib_lladdr *addr);
void ipoib_cm_stop(struct ipoib_dev *priv);
void ipoib_cm_flush(struct ipoib_dev *priv);
void ipoib_cm_abort_wait(struct ipoib_dev *priv);
void ipoib_cm_gid_lost(struct ipoib_dev *priv);
void ipoib_cm_moderate(struct ipoib_dev *priv);
unsigned int ipoib_cm_xmit(struct ipoib_dev *priv, struct ipoib_neigh *neigh, struct sk_buff *skb);
int ipoib_cm_show(struct seq_file *file, void *unused);
ssize_t ipoib_cm_transport_show(const struct ipoib_dev *priv, char *buf);
int ipoib_cm_transport_set(struct ipoib_dev *priv, const char *word);

#if IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM)

u8 ipoib_cm_flags(const struct ipoib_dev *priv);
int ipoib_cm_set_on(struct ipoib_dev *priv, bool on);

#else

static inline u8 ipoib_cm_flags(const struct ipoib_dev *priv)
{
	return 0;
}

static inline int ipoib_cm_set_on(struct ipoib_dev *priv, bool on)
{
	return on ? -EOPNOTSUPP : 0;
}

#endif

#endif /* IPOIB_CM_H */
