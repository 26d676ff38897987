// SPDX-License-Identifier: GPL-2.0
/*
 * Memory as seen by an HCA: a software IOMMU.
 *
 * The dma_map_ops of the HCA's parent return device addresses that are no kernel addresses, with
 * a bounce buffer behind each mapping. The HCA accesses the bounce buffer only, so data without
 * the required dma_sync_*() never arrives. The number of a mapping is reused after four million
 * other mappings: an access after dma_unmap_*() finds no mapping, and is reported with the stack
 * trace of the unmap. Further faults: accesses beyond the mapping or against its direction,
 * addresses that were never mapped, unmaps with another size or direction, and mappings that are
 * left at the removal of the HCA.
 *
 * Bits of a device address: 4 bits 0x5, 6 bits node, 22 bits mapping, 32 bits offset, which
 * begins with the offset in the page.
 */
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>

#include "softib.h"

#define SOFTIB_IOVA_TAG		5ULL
#define SOFTIB_IOVA_TAG_SHIFT	60
#define SOFTIB_IOVA_NODE_SHIFT	54
#define SOFTIB_IOVA_ID_SHIFT	32
#define SOFTIB_IOVA_MAX_ID	(BIT(22) - 1)
#define SOFTIB_DMA_STACK	8
/* Number of recent unmaps with a stack trace */
#define SOFTIB_DMA_UNMAPS	512
/* Maximum length of an access; size of the buffer for refused accesses */
#define SOFTIB_DMA_NOWHERE	(64 * 1024)
/* Maximum number of faults of an HCA with a message */
#define SOFTIB_DMA_TOLD		10
/* Poison of new and of freed bounce buffers */
#define SOFTIB_DMA_FRESH	0xda
#define SOFTIB_DMA_FREE		0xdb

static_assert(SOFTIB_MAX_NODES <= BIT(SOFTIB_IOVA_TAG_SHIFT -
				      SOFTIB_IOVA_NODE_SHIFT));

/**
 * struct softib_trace - stack trace of a map or unmap
 * @id: the mapping, 0 if none
 * @n: number of entries
 * @entry: the stack
 */
struct softib_trace {
	u32 id;
	u32 n;
	unsigned long entry[SOFTIB_DMA_STACK];
};

/**
 * struct softib_map - a mapping
 * @rcu: for kfree_rcu()
 * @real: the consumer's memory
 * @seen: the HCA's memory: @bounce, or @real for a scatter list
 * @size: octets
 * @first: offset of the mapping in its first page
 * @dir: direction
 * @made: stack trace of the map
 * @bounce: @size octets, if @seen is not @real
 */
struct softib_map {
	struct rcu_head rcu;
	void *real;
	void *seen;
	u32 size;
	u32 first;
	enum dma_data_direction dir;
	struct softib_trace made;
	u8 bounce[] __aligned(8);
};

/**
 * struct softib_dma - the mappings of an HCA
 * @maps: mappings, by number
 * @next: start of the search for a free number
 * @unmaps: ring of recent unmaps; under the lock of @maps
 * @nunmaps: total number of unmaps
 * @faults: number of faults
 */
struct softib_dma {
	struct xarray maps;
	u32 next;
	struct softib_trace unmaps[SOFTIB_DMA_UNMAPS];
	u32 nunmaps;
	atomic_t faults;
};

static u8 softib_dma_nowhere[SOFTIB_DMA_NOWHERE];

static struct softib_node *softib_dma_node(struct device *dev)
{
	return &softib_fabric->node[to_platform_device(dev)->id];
}

static bool softib_iova_good(u64 addr)
{
	return addr >> SOFTIB_IOVA_TAG_SHIFT == SOFTIB_IOVA_TAG;
}

static u32 softib_iova_id(u64 addr)
{
	return addr >> SOFTIB_IOVA_ID_SHIFT & SOFTIB_IOVA_MAX_ID;
}

static struct softib_node *softib_iova_node(u64 addr)
{
	return &softib_fabric->node[addr >> SOFTIB_IOVA_NODE_SHIFT &
				    (SOFTIB_MAX_NODES - 1)];
}

static void softib_trace_take(struct softib_trace *trace, u32 id)
{
	trace->id = id;
	trace->n = stack_trace_save(trace->entry, SOFTIB_DMA_STACK, 2);
}

static void softib_trace_show(const char *what, const struct softib_trace *trace)
{
	pr_err("softib: %s by:\n", what);
	stack_trace_print(trace->entry, trace->n, 2);
}

static void softib_trace_show_unmap(struct softib_dma *dma, u32 id)
{
	u32 i;

	for (i = 0; i < SOFTIB_DMA_UNMAPS; i++)
		if (id && dma->unmaps[i].id == id)
			softib_trace_show("it was unmapped", &dma->unmaps[i]);
}

/* Count a fault of a device address, and report it with the stack traces of map and unmap. */
static void softib_dma_fault(struct softib_node *node, u64 addr, u32 len,
			     const struct softib_map *map, const char *what)
{
	struct softib_dma *dma = node->dma;

	if (atomic_inc_return(&dma->faults) > SOFTIB_DMA_TOLD ||
	    READ_ONCE(node->dma_quiet))
		return;
	pr_err("softib%d: DMA fault: %s: address %#llx, %u octets\n",
	       node->index, what, addr, len);
	if (map)
		softib_trace_show("it was mapped", &map->made);
	else
		softib_trace_show_unmap(dma, softib_iova_id(addr));
	WARN(1, "softib%d: DMA fault: %s\n", node->index, what);
}

/* Offset of an address in its mapping; beyond the end for an address before the start */
static u32 softib_map_offset(const struct softib_map *map, u64 addr)
{
	return (u32)addr - map->first;
}

static bool softib_map_covers(const struct softib_map *map, u64 addr, u32 len)
{
	u32 offset = softib_map_offset(map, addr);

	return offset <= map->size && len <= map->size - offset;
}

/* Context: rcu_read_lock() held. Return: NULL after a fault, which was reported */
static struct softib_map *softib_dma_find(struct softib_node *node, u64 addr,
					  u32 len, const char *what)
{
	struct softib_map *map = NULL;

	if (softib_iova_good(addr) && softib_iova_node(addr) == node)
		map = xa_load(&node->dma->maps, softib_iova_id(addr));
	if (!map || !softib_map_covers(map, addr, len)) {
		softib_dma_fault(node, addr, len, map, what);
		return NULL;
	}
	return map;
}

/**
 * softib_dma_va() - translate an address of a work request for an access by the HCA
 * @addr: device address, or kernel address from a memory region of rdmavt
 * @len: octets, at most SOFTIB_DMA_NOWHERE
 * @write: the HCA writes
 *
 * Context: rcu_read_lock() held until the access is over.
 * Return: kernel address; of a scratch buffer if the access is not allowed
 */
void *softib_dma_va(void *addr, u32 len, bool write)
{
	struct softib_node *node;
	struct softib_map *map;
	u64 iova = (uintptr_t)addr;

	if (likely(!softib_iova_good(iova)))
		return addr;
	node = softib_iova_node(iova);
	map = softib_dma_find(node, iova, len, "access to what is not mapped");
	if (!map)
		return softib_dma_nowhere;
	if (map->dir == (write ? DMA_TO_DEVICE : DMA_FROM_DEVICE)) {
		softib_dma_fault(node, iova, len, map,
				 write ? "write to what is mapped for reading" :
					 "read of what is mapped for writing");
		return softib_dma_nowhere;
	}
	return map->seen + softib_map_offset(map, iova);
}

/* Report a fault if a posted device address is not mapped. */
void softib_dma_check(struct softib_node *node, u64 addr, u32 len)
{
	rcu_read_lock();
	softib_dma_find(node, addr, len, "what was posted is not mapped");
	rcu_read_unlock();
}

static dma_addr_t softib_dma_map(struct device *dev, void *real, size_t size,
				 enum dma_data_direction dir,
				 unsigned long attrs, bool bounce)
{
	struct softib_node *node = softib_dma_node(dev);
	struct softib_dma *dma = node->dma;
	struct softib_map *map;
	unsigned long flags;
	u32 id;
	int ret;

	map = kmalloc(sizeof(*map) + (bounce ? size : 0),
		      GFP_ATOMIC | __GFP_NOWARN);
	if (!map)
		return DMA_MAPPING_ERROR;
	map->real = real;
	map->seen = bounce ? map->bounce : real;
	map->size = size;
	map->first = offset_in_page(real);
	map->dir = dir;
	if (bounce && dir != DMA_FROM_DEVICE &&
	    !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		memcpy(map->bounce, real, size);
	else if (bounce)
		memset(map->bounce, SOFTIB_DMA_FRESH, size);
	softib_trace_take(&map->made, 0);
	xa_lock_irqsave(&dma->maps, flags);
	ret = __xa_alloc_cyclic(&dma->maps, &id, map,
				XA_LIMIT(1, SOFTIB_IOVA_MAX_ID), &dma->next,
				GFP_ATOMIC);
	xa_unlock_irqrestore(&dma->maps, flags);
	if (ret < 0) {
		kfree(map);
		return DMA_MAPPING_ERROR;
	}
	return SOFTIB_IOVA_TAG << SOFTIB_IOVA_TAG_SHIFT |
	       (u64)node->index << SOFTIB_IOVA_NODE_SHIFT |
	       (u64)id << SOFTIB_IOVA_ID_SHIFT | map->first;
}

static void softib_dma_unmap(struct device *dev, dma_addr_t addr, size_t size,
			     enum dma_data_direction dir, unsigned long attrs)
{
	struct softib_node *node = softib_dma_node(dev);
	struct softib_dma *dma = node->dma;
	struct softib_map *map;
	unsigned long flags;

	rcu_read_lock();
	map = softib_dma_find(node, addr, size, "unmapping what is not mapped");
	rcu_read_unlock();
	if (!map)
		return;
	if (map->size != size || map->dir != dir ||
	    softib_map_offset(map, addr)) {
		softib_dma_fault(node, addr, size, map,
				 "unmapping with another size or direction");
		return;
	}
	xa_lock_irqsave(&dma->maps, flags);
	__xa_erase(&dma->maps, softib_iova_id(addr));
	softib_trace_take(&dma->unmaps[dma->nunmaps++ % SOFTIB_DMA_UNMAPS],
			  softib_iova_id(addr));
	xa_unlock_irqrestore(&dma->maps, flags);
	if (map->seen == map->bounce) {
		if (dir != DMA_TO_DEVICE && !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
			memcpy(map->real, map->bounce, size);
		/* An access after the unmap must not find the old contents. */
		memset(map->bounce, SOFTIB_DMA_FREE, size);
	}
	kfree_rcu(map, rcu);
}

static dma_addr_t softib_dma_map_phys(struct device *dev, phys_addr_t phys,
				      size_t size, enum dma_data_direction dir,
				      unsigned long attrs)
{
	return softib_dma_map(dev, phys_to_virt(phys), size, dir, attrs, true);
}

SOFTIB_DMA_MAP_PAGE(softib_dma_map_page, softib_dma_map_phys)

static void softib_dma_unmap_sg(struct device *dev, struct scatterlist *sgl,
				int nents, enum dma_data_direction dir,
				unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		softib_dma_unmap(dev, sg_dma_address(sg), sg_dma_len(sg), dir,
				 attrs);
}

/* Scatter lists are user memory, which rdmavt does not access by device addresses. */
static int softib_dma_map_sg(struct device *dev, struct scatterlist *sgl,
			     int nents, enum dma_data_direction dir,
			     unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		sg_dma_len(sg) = sg->length;
		sg_dma_address(sg) = softib_dma_map(dev, sg_virt(sg),
						    sg->length, dir, attrs,
						    false);
		if (sg_dma_address(sg) == DMA_MAPPING_ERROR) {
			softib_dma_unmap_sg(dev, sgl, i, dir, attrs);
			return -ENOMEM;
		}
	}
	return nents;
}

static void softib_dma_sync(struct device *dev, dma_addr_t addr, size_t size,
			    bool to_device)
{
	struct softib_map *map;
	u32 offset;

	rcu_read_lock();
	map = softib_dma_find(softib_dma_node(dev), addr, size,
			      "synchronising what is not mapped");
	if (map && map->seen == map->bounce) {
		offset = softib_map_offset(map, addr);
		if (!to_device && map->dir != DMA_TO_DEVICE)
			memcpy(map->real + offset, map->bounce + offset, size);
		if (to_device && map->dir != DMA_FROM_DEVICE)
			memcpy(map->bounce + offset, map->real + offset, size);
	}
	rcu_read_unlock();
}

static void softib_dma_sync_for_cpu(struct device *dev, dma_addr_t addr,
				    size_t size, enum dma_data_direction dir)
{
	softib_dma_sync(dev, addr, size, false);
}

static void softib_dma_sync_for_device(struct device *dev, dma_addr_t addr,
				       size_t size,
				       enum dma_data_direction dir)
{
	softib_dma_sync(dev, addr, size, true);
}

static const struct dma_map_ops softib_dma_ops = {
	SOFTIB_DMA_OPS(softib_dma_map_page, softib_dma_map_phys,
		       softib_dma_unmap),
	.map_sg = softib_dma_map_sg,
	.unmap_sg = softib_dma_unmap_sg,
	.sync_single_for_cpu = softib_dma_sync_for_cpu,
	.sync_single_for_device = softib_dma_sync_for_device,
};

/**
 * softib_dma_init() - give the parent of an HCA device addresses
 * @node: the node, with platform device and model
 *
 * Return: 0 or a negative errno: -EOPNOTSUPP on a kernel without dma_map_ops of devices
 */
int softib_dma_init(struct softib_node *node)
{
	if (!node->model->dma)
		return 0;
	node->dma = vzalloc(sizeof(*node->dma));
	if (!node->dma)
		return -ENOMEM;
	xa_init_flags(&node->dma->maps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	set_dma_ops(&node->pdev->dev, &softib_dma_ops);
	if (get_dma_ops(&node->pdev->dev) != &softib_dma_ops) {
		dev_err(&node->pdev->dev,
			"the kernel has no DMA operations of devices\n");
		vfree(node->dma);
		node->dma = NULL;
		return -EOPNOTSUPP;
	}
	return dma_set_mask_and_coherent(&node->pdev->dev, DMA_BIT_MASK(64));
}

/* Reverse of softib_dma_init(), after the removal of the HCA: mappings that are left are faults. */
void softib_dma_exit(struct softib_node *node)
{
	struct softib_dma *dma = node->dma;
	struct softib_map *map;
	unsigned long id;

	if (!dma)
		return;
	xa_for_each(&dma->maps, id, map) {
		softib_dma_fault(node, id << SOFTIB_IOVA_ID_SHIFT, map->size,
				 map, "still mapped when the HCA goes");
		kfree(map);
	}
	xa_destroy(&dma->maps);
	set_dma_ops(&node->pdev->dev, NULL);
	node->dma = NULL;
	node->dma_faults += atomic_read(&dma->faults);
	vfree(dma);
}

/* Number of faults since the module was loaded. Context: the fabric's mutex held. */
u32 softib_dma_faults(const struct softib_node *node)
{
	return node->dma_faults +
	       (node->dma ? atomic_read(&node->dma->faults) : 0);
}

/* ---- self-test: planted faults ---- */

enum {
	SOFTIB_PROBE_GOOD,
	SOFTIB_PROBE_AFTER_UNMAP,
	SOFTIB_PROBE_READ,
	SOFTIB_PROBE_WRITE,
	SOFTIB_PROBE_LENGTH,
	SOFTIB_PROBE_UNMAP_SIZE,
	SOFTIB_PROBE_UNMAP_TWICE,
	SOFTIB_PROBE_NOT_MAPPED,
	SOFTIB_PROBE_NO_SYNC,
	SOFTIB_PROBE_LEAK,
};

/* Return: whether the HCA read the last write of the consumer */
static bool softib_probe_sync(struct device *dev, u8 *buf, bool sync)
{
	dma_addr_t addr;
	bool seen;

	buf[0] = 1;
	addr = dma_map_single(dev, buf, 64, DMA_TO_DEVICE);
	buf[0] = 2;
	if (sync)
		dma_sync_single_for_device(dev, addr, 64, DMA_TO_DEVICE);
	rcu_read_lock();
	seen = *(u8 *)softib_dma_va((void *)(uintptr_t)addr, 1, false) == 2;
	rcu_read_unlock();
	dma_unmap_single(dev, addr, 64, DMA_TO_DEVICE);
	return seen;
}

static void softib_probe_access(dma_addr_t addr, u32 len, bool write)
{
	rcu_read_lock();
	softib_dma_va((void *)(uintptr_t)addr, len, write);
	rcu_read_unlock();
}

/**
 * softib_dma_probe() - plant a fault, for a test of its detection
 * @node: the node, with an HCA
 * @what: SOFTIB_PROBE_ value
 *
 * Context: the fabric's mutex held; sleeps.
 * Return: 0, -ENOTTY if the model has no device addresses, -EINVAL for an unknown @what, -EIO
 * if the HCA misses data that were synchronised, or reads data that were not
 */
int softib_dma_probe(struct softib_node *node, u64 what)
{
	enum dma_data_direction dir = DMA_TO_DEVICE;
	struct device *dev = &node->pdev->dev;
	dma_addr_t addr;
	u8 *buf;
	int ret = 0;

	if (!node->dma)
		return -ENOTTY;
	buf = kzalloc(256, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	if (what == SOFTIB_PROBE_READ)
		dir = DMA_FROM_DEVICE;
	addr = dma_map_single(dev, buf, 128, dir);
	switch (what) {
	case SOFTIB_PROBE_GOOD:
		softib_probe_access(addr, 128, false);
		ret = softib_probe_sync(dev, buf, true) ? 0 : -EIO;
		break;
	case SOFTIB_PROBE_READ:
		softib_probe_access(addr, 1, false);
		break;
	case SOFTIB_PROBE_WRITE:
		softib_probe_access(addr, 1, true);
		break;
	case SOFTIB_PROBE_LENGTH:
		softib_probe_access(addr, 129, false);
		break;
	case SOFTIB_PROBE_UNMAP_SIZE:
		dma_unmap_single(dev, addr, 64, dir);
		break;
	case SOFTIB_PROBE_NOT_MAPPED:
		softib_dma_check(node, (uintptr_t)buf, 1);
		break;
	case SOFTIB_PROBE_NO_SYNC:
		ret = softib_probe_sync(dev, buf, false) ? -EIO : 0;
		break;
	case SOFTIB_PROBE_AFTER_UNMAP:
	case SOFTIB_PROBE_UNMAP_TWICE:
	case SOFTIB_PROBE_LEAK:
		break;
	default:
		ret = -EINVAL;
	}
	if (what != SOFTIB_PROBE_LEAK)
		dma_unmap_single(dev, addr, 128, dir);
	if (what == SOFTIB_PROBE_AFTER_UNMAP)
		softib_probe_access(addr, 1, false);
	if (what == SOFTIB_PROBE_UNMAP_TWICE)
		dma_unmap_single(dev, addr, 128, dir);
	kfree(buf);
	return ret;
}
