// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: how many connections there may be, and the share of each port of the
 * fabric.
 *
 * A host can request connections in the name of any number of GIDs and QPNs, but its
 * requests come from its port: on InfiniBand from its LID, which the switches check, on
 * Ethernet from its MAC address. So the connections that peers asked for are counted
 * by that, and no port has more than its share. The others keep connected mode while
 * one floods an interface with requests.
 *
 * Under &ipoib_cm.lock.
 */
#include <linux/etherdevice.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>

#include "ipoib.h"
#include "cm/cm.h"

/* Of one port: requests granted whose RTU is outstanding, see IPOIB_CM_ACCEPTING. */
#define IPOIB_SOURCE_ACCEPTING	16
/* Virtual functions may share a LID, so the share of a port is not less than this. */
#define IPOIB_SOURCE_MIN	64
/* The share in relation to the limit of all connections. */
#define IPOIB_SOURCE_SHARE	8

static unsigned int ipoib_cm_max_port;
module_param_named(cm_max_per_port, ipoib_cm_max_port, uint, 0644);
MODULE_PARM_DESC(cm_max_per_port,
		 "Most connections that peers on one port of the fabric may have (0: an eighth of all, or 64)");

static unsigned int ipoib_cm_max_conns = 12000;
module_param_named(cm_max_connections, ipoib_cm_max_conns, uint, 0644);
MODULE_PARM_DESC(cm_max_connections,
		 "Most connections of an interface (HCAs with shared receive queues)");

static unsigned int ipoib_cm_max_own = 128;
module_param_named(max_nonsrq_conn_qp, ipoib_cm_max_own, uint, 0444);
MODULE_PARM_DESC(max_nonsrq_conn_qp,
		 "Most connections of an interface (HCAs without)");

/* ---- limits ---- */

/**
 * ipoib_cm_has_srq - whether connections share their receives
 * @priv: the interface
 *
 * Soft-RoCE forgets the receive that a message was being put into when its QP stops, and
 * does not report everywhere that a QP is done with its SRQ. With receives of its own a QP
 * gives all of them back.
 *
 * Return: true if the HCA has SRQs that are good for it, as far as is known
 */
bool ipoib_cm_has_srq(const struct ipoib_dev *priv)
{
	const struct ib_device_attr *attrs = &priv->ca->attrs;

	if (priv->cm && READ_ONCE(priv->cm->srq_state) == IPOIB_SRQ_REFUSED)
		return false;
	return attrs->max_srq > 0 && attrs->max_srq_wr > 0 &&
	       attrs->max_srq_sge > 1 &&
	       priv->ca->ops.driver_id != RDMA_DRIVER_RXE;
}

/**
 * ipoib_cm_tx_cq_conns - connections whose sends have room in one CQ
 * @priv: the interface
 *
 * Return: how many
 */
unsigned int ipoib_cm_tx_cq_conns(const struct ipoib_dev *priv)
{
	return min_t(unsigned int, IPOIB_CM_CQ_CONNS,
		     priv->ca->attrs.max_cqe / IPOIB_CM_RING);
}

/**
 * ipoib_cm_slack - a limit, with those that are made while others still go
 * @limit: the limit
 *
 * Return: the most there may be for a moment
 */
unsigned int ipoib_cm_slack(unsigned int limit)
{
	return limit + limit / 16 + 1;
}

/* Without SRQ each connection's receives have places of their own in the CQ. */
static unsigned int ipoib_cm_limit_own(const struct ipoib_cm *cm)
{
	unsigned int room = cm->priv->ca->attrs.max_cqe / IPOIB_CM_OWN_BUFS;

	/* Such that ipoib_cm_slack() of it is not more than that. */
	return min(ipoib_cm_max_own, room ? (room - 1) * 16 / 17 : 0);
}

/**
 * ipoib_cm_limit - the most connections of an interface
 * @cm: connected mode of the interface
 *
 * Return: how many
 */
unsigned int ipoib_cm_limit(const struct ipoib_cm *cm)
{
	unsigned int limit = IPOIB_CM_CQS * ipoib_cm_tx_cq_conns(cm->priv) *
			    9 / 10;

	if (!ipoib_cm_has_srq(cm->priv))
		return min(limit, ipoib_cm_limit_own(cm));
	return min(limit, READ_ONCE(ipoib_cm_max_conns));
}

/**
 * ipoib_cm_conns_max - the most connections there can be at a time
 * @cm: connected mode of the interface, on an HCA without SRQ
 *
 * Return: how many
 */
unsigned int ipoib_cm_conns_max(const struct ipoib_cm *cm)
{
	return ipoib_cm_slack(ipoib_cm_limit(cm));
}

/* ---- addresses of ports ---- */

/**
 * ipoib_cm_port_addr_set - set the address of a port
 * @port: filled in; what its fabric does not have is zero
 * @lid: LID
 * @mac: MAC address, or NULL
 */
void ipoib_cm_port_addr_set(struct ipoib_port_addr *port, u32 lid, const u8 *mac)
{
	port->lid = lid;
	memset(port->mac, 0, sizeof(port->mac));
	if (mac)
		memcpy(port->mac, mac, sizeof(port->mac));
}

/**
 * ipoib_cm_port_addr_from_rec - where a path record leads to
 * @port: filled in
 * @rec: the record
 */
void ipoib_cm_port_addr_from_rec(struct ipoib_port_addr *port,
				 struct sa_path_rec *rec)
{
	ipoib_cm_port_addr_set(port, be32_to_cpu(sa_path_get_dlid(rec)),
			       sa_path_get_dmac(rec));
}

/**
 * ipoib_cm_port_addr_lookup - where the fabric says that a GID is
 * @priv: the interface
 * @gid: the GID
 * @port: filled in
 *
 * Return: whether it is known
 */
bool ipoib_cm_port_addr_lookup(struct ipoib_dev *priv, const u8 *gid,
			       struct ipoib_port_addr *port)
{
	struct sa_path_rec rec;

	if (!priv->neigh->record(priv, gid, &rec))
		return false;
	ipoib_cm_port_addr_from_rec(port, &rec);
	return true;
}

/**
 * ipoib_cm_port_addr_equal - whether two addresses are of one port
 * @priv: the interface
 * @a: address of a port
 * @b: another
 *
 * Return: true if so
 */
bool ipoib_cm_port_addr_equal(const struct ipoib_dev *priv,
			      const struct ipoib_port_addr *a,
			      const struct ipoib_port_addr *b)
{
	return ipoib_lid_is_same_port(a->lid, b->lid, READ_ONCE(priv->lmc)) &&
	       ether_addr_equal(a->mac, b->mac);
}

/**
 * ipoib_conn_is_theirs - whether a request has come from where its peer is
 * @conn: a connection that was asked for; where it leads to need not be known
 *
 * Context: process, or bottom half
 * Return: true if it has, false if not or not known yet
 */
bool ipoib_conn_is_theirs(const struct ipoib_conn *conn)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_port_addr port;

	return ipoib_cm_port_addr_lookup(priv, conn->peer->addr.gid, &port) &&
	       ipoib_cm_port_addr_equal(priv, &port, &conn->from);
}

/* ---- shares of ports ---- */

static void ipoib_cm_source_key(const struct ipoib_cm *cm,
				const struct ipoib_port_addr *port,
				struct ipoib_port_addr *key)
{
	u8 lmc = READ_ONCE(cm->priv->lmc);

	ipoib_cm_port_addr_set(key, port->lid >> lmc << lmc, port->mac);
}

static struct hlist_head *ipoib_cm_source_bucket(struct ipoib_cm *cm,
						 const struct ipoib_port_addr *key)
{
	u32 hash = jhash(key->mac, ETH_ALEN, key->lid);

	return &cm->sources[hash % IPOIB_CM_SOURCES];
}

static struct ipoib_source *ipoib_cm_source_find(struct ipoib_cm *cm,
						 const struct ipoib_port_addr *key)
{
	struct ipoib_source *source;

	hlist_for_each_entry(source, ipoib_cm_source_bucket(cm, key), node)
		if (source->key.lid == key->lid &&
		    ether_addr_equal(source->key.mac, key->mac))
			return source;
	return NULL;
}

/**
 * ipoib_cm_source_limit - the share of a port
 * @limit: limit of all connections of the interface
 *
 * Return: the most connections that peers on one port may have
 */
unsigned int ipoib_cm_source_limit(unsigned int limit)
{
	unsigned int max_port = READ_ONCE(ipoib_cm_max_port);

	if (max_port)
		return max_port;
	return max3(limit / IPOIB_SOURCE_SHARE,
		    min_t(unsigned int, limit / 2, IPOIB_SOURCE_MIN), 1u);
}

/**
 * ipoib_cm_source_may_ask - whether one more request of a port may wait for its RTU
 * @cm: connected mode of the interface
 * @port: the port
 *
 * Context: &ipoib_cm.lock held
 * Return: true if so
 */
bool ipoib_cm_source_may_ask(struct ipoib_cm *cm,
			     const struct ipoib_port_addr *port)
{
	unsigned int limit = READ_ONCE(ipoib_cm_max_port) ?:
			    IPOIB_SOURCE_ACCEPTING;
	const struct ipoib_source *source;
	struct ipoib_port_addr key;

	lockdep_assert_held(&cm->lock);
	ipoib_cm_source_key(cm, port, &key);
	source = ipoib_cm_source_find(cm, &key);
	return !source || source->naccepting < limit;
}

/**
 * ipoib_cm_source_get - count one more connection of a port
 * @cm: connected mode of the interface
 * @port: the port
 *
 * Context: &ipoib_cm.lock held
 * Return: the source, for ipoib_cm_source_put(), or NULL if memory ran out
 */
struct ipoib_source *ipoib_cm_source_get(struct ipoib_cm *cm,
					 const struct ipoib_port_addr *port)
{
	struct ipoib_source *source;
	struct ipoib_port_addr key;

	lockdep_assert_held(&cm->lock);
	ipoib_cm_source_key(cm, port, &key);
	source = ipoib_cm_source_find(cm, &key);
	if (!source) {
		source = kzalloc(sizeof(*source), GFP_ATOMIC);
		if (!source)
			return NULL;
		source->key = key;
		hlist_add_head(&source->node, ipoib_cm_source_bucket(cm, &key));
	}
	source->nconns++;
	return source;
}

/**
 * ipoib_cm_source_put - undo ipoib_cm_source_get()
 * @cm: connected mode of the interface
 * @source: the source, or NULL
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_cm_source_put(struct ipoib_cm *cm, struct ipoib_source *source)
{
	lockdep_assert_held(&cm->lock);
	if (!source || --source->nconns)
		return;
	hlist_del(&source->node);
	kfree(source);
}

/**
 * ipoib_cm_source_conns_max - the most connections that peers on one port have
 * @cm: connected mode of the interface
 *
 * Context: &ipoib_cm.lock held
 * Return: how many
 */
unsigned int ipoib_cm_source_conns_max(const struct ipoib_cm *cm)
{
	const struct ipoib_source *source;
	unsigned int i, nconns = 0;

	lockdep_assert_held(&cm->lock);
	for (i = 0; i < IPOIB_CM_SOURCES; i++)
		hlist_for_each_entry(source, &cm->sources[i], node)
			nconns = max(nconns, source->nconns);
	return nconns;
}
