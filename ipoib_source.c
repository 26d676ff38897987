// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: the share of each port of the fabric.
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

#include "ipoib.h"
#include "ipoib_cm.h"

/* Of one port: requests granted whose RTU is outstanding, see IPOIB_CM_ACCEPTING. */
#define IPOIB_SOURCE_ACCEPTING	16
/* Virtual functions may share a LID, so the share of a port is not less than this. */
#define IPOIB_SOURCE_LEAST	64
/* The share in relation to the limit of all connections. */
#define IPOIB_SOURCE_SHARE	8

static unsigned int ipoib_cm_max_port;
module_param_named(cm_max_per_port, ipoib_cm_max_port, uint, 0644);
MODULE_PARM_DESC(cm_max_per_port,
		 "Most connections that peers on one port of the fabric may have (0: an eighth of all, or 64)");

static void ipoib_source_key(const struct ipoib_cm *cm,
			     const struct ipoib_way *way, struct ipoib_way *key)
{
	u8 lmc = READ_ONCE(cm->priv->lmc);

	ipoib_way_set(key, way->lid >> lmc << lmc, way->mac);
}

static struct hlist_head *ipoib_source_bucket(struct ipoib_cm *cm,
					      const struct ipoib_way *key)
{
	u32 hash = jhash(key->mac, ETH_ALEN, key->lid);

	return &cm->sources[hash % IPOIB_CM_SOURCES];
}

static struct ipoib_source *ipoib_source_find(struct ipoib_cm *cm,
					      const struct ipoib_way *key)
{
	struct ipoib_source *source;

	hlist_for_each_entry(source, ipoib_source_bucket(cm, key), node)
		if (source->key.lid == key->lid &&
		    ether_addr_equal(source->key.mac, key->mac))
			return source;
	return NULL;
}

/**
 * ipoib_source_limit - the share of a port
 * @limit: limit of all connections of the interface
 *
 * Return: the most connections that peers on one port may have
 */
unsigned int ipoib_source_limit(unsigned int limit)
{
	unsigned int most = READ_ONCE(ipoib_cm_max_port);

	if (most)
		return most;
	return max3(limit / IPOIB_SOURCE_SHARE,
		    min_t(unsigned int, limit / 2, IPOIB_SOURCE_LEAST), 1u);
}

/**
 * ipoib_source_may_ask - whether one more request of a port may wait for its RTU
 * @cm: connected mode of the interface
 * @way: the port
 *
 * Context: &ipoib_cm.lock held
 * Return: true if so
 */
bool ipoib_source_may_ask(struct ipoib_cm *cm, const struct ipoib_way *way)
{
	unsigned int most = READ_ONCE(ipoib_cm_max_port) ?:
			    IPOIB_SOURCE_ACCEPTING;
	const struct ipoib_source *source;
	struct ipoib_way key;

	lockdep_assert_held(&cm->lock);
	ipoib_source_key(cm, way, &key);
	source = ipoib_source_find(cm, &key);
	return !source || source->naccepting < most;
}

/**
 * ipoib_source_get - count one more connection of a port
 * @cm: connected mode of the interface
 * @way: the port
 *
 * Context: &ipoib_cm.lock held
 * Return: the source, for ipoib_source_put(), or NULL if memory ran out
 */
struct ipoib_source *ipoib_source_get(struct ipoib_cm *cm,
				      const struct ipoib_way *way)
{
	struct ipoib_source *source;
	struct ipoib_way key;

	lockdep_assert_held(&cm->lock);
	ipoib_source_key(cm, way, &key);
	source = ipoib_source_find(cm, &key);
	if (!source) {
		source = kzalloc(sizeof(*source), GFP_ATOMIC);
		if (!source)
			return NULL;
		source->key = key;
		hlist_add_head(&source->node, ipoib_source_bucket(cm, &key));
	}
	source->nconns++;
	return source;
}

/**
 * ipoib_source_put - undo ipoib_source_get()
 * @cm: connected mode of the interface
 * @source: the source, or NULL
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_source_put(struct ipoib_cm *cm, struct ipoib_source *source)
{
	lockdep_assert_held(&cm->lock);
	if (!source || --source->nconns)
		return;
	hlist_del(&source->node);
	kfree(source);
}

/**
 * ipoib_source_greatest - the most connections that peers on one port have
 * @cm: connected mode of the interface
 *
 * Context: &ipoib_cm.lock held
 * Return: how many
 */
unsigned int ipoib_source_greatest(const struct ipoib_cm *cm)
{
	const struct ipoib_source *source;
	unsigned int i, most = 0;

	lockdep_assert_held(&cm->lock);
	for (i = 0; i < IPOIB_CM_SOURCES; i++)
		hlist_for_each_entry(source, &cm->sources[i], node)
			most = max(most, source->nconns);
	return most;
}
