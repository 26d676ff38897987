/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE ports, roce/, as the rest of the driver sees them. A driver built without
 * CONFIG_INFINIBAND_IPOIB_ROCE has interfaces on InfiniBand ports only.
 */
#ifndef IPOIB_ROCE_H
#define IPOIB_ROCE_H

#include "ipoib_fabric.h"

struct neighbour;

#define IPOIB_ROCE_PKEY		0xffff

/* A driver without RoCE has no reference to these. */
extern const struct ipoib_fabric_ops ipoib_roce_ops;

int ipoib_roce_register(void);
void ipoib_roce_unregister(void);
void ipoib_roce_neigh_event(struct neighbour *neigh);
bool ipoib_roce_is_port_of(struct ib_device *ca, u32 port, struct net_device *ndev);

#endif /* IPOIB_ROCE_H */
