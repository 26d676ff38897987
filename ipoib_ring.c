// SPDX-License-Identifier: GPL-2.0
/*
 * Send ring: slots, DMA mapping, completion and flush. ipoib_ring.h has the context of each field.
 * No lock is taken here: the head belongs to the holder of the transmit lock, the tail to the
 * completion handler.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "ipoib_ring.h"

/**
 * ipoib_bufs_init - allocate and map small buffers
 * @bufs: zeroed
 * @ca: device to map for
 * @count: number of buffers
 * @shift: log2 of their size, at most PAGE_SHIFT
 * @dir: direction
 *
 * Allocates single pages, whatever the number.
 *
 * Context: may sleep
 * Return: 0, or -ENOMEM with nothing allocated
 */
int ipoib_bufs_init(struct ipoib_bufs *bufs, struct ib_device *ca,
		    unsigned int count, unsigned int shift, enum dma_data_direction dir)
{
	unsigned int npages = DIV_ROUND_UP(count, 1u << (PAGE_SHIFT - shift));
	void *page;
	u64 dma;

	bufs->ca = ca;
	bufs->shift = shift;
	bufs->dir = dir;
	bufs->pages = kcalloc(npages, sizeof(*bufs->pages), GFP_KERNEL);
	if (!bufs->pages)
		return -ENOMEM;
	while (bufs->npages < npages) {
		page = (void *)get_zeroed_page(GFP_KERNEL);
		if (!page)
			goto free_pages;
		dma = ib_dma_map_single(ca, page, PAGE_SIZE, dir);
		if (ib_dma_mapping_error(ca, dma)) {
			free_page((unsigned long)page);
			goto free_pages;
		}
		bufs->pages[bufs->npages].va = page;
		bufs->pages[bufs->npages++].dma = dma;
	}
	return 0;

free_pages:
	ipoib_bufs_exit(bufs);
	return -ENOMEM;
}

/*
 * Unmap and free small buffers, initialised, half initialised or zeroed.
 * Context: may sleep; the device uses no buffer.
 */
void ipoib_bufs_exit(struct ipoib_bufs *bufs)
{
	while (bufs->npages) {
		bufs->npages--;
		ib_dma_unmap_single(bufs->ca, bufs->pages[bufs->npages].dma, PAGE_SIZE, bufs->dir);
		free_page((unsigned long)bufs->pages[bufs->npages].va);
	}
	kfree(bufs->pages);
	bufs->pages = NULL;
}

/**
 * ipoib_ring_init - create a ring
 * @ring: zeroed
 * @pd: protection domain of its QPs
 * @size: number of slots, a power of 2
 * @max_sge: SGEs of a work request of these QPs
 * @copy: length up to which a frame is copied, a power of 2 and at most a page, or 0
 *
 * Context: may sleep
 * Return: 0 or -ENOMEM with nothing allocated
 */
int ipoib_ring_init(struct ipoib_ring *ring, struct ib_pd *pd,
		    unsigned int size, unsigned int max_sge, unsigned int copy)
{
	int err = 0;

	ring->ca = pd->device;
	ring->lkey = pd->local_dma_lkey;
	ring->mask = size - 1;
	ring->max_sge = min_t(unsigned int, max_sge, IPOIB_TX_SGE);
	ring->slots = kvcalloc(size, sizeof(*ring->slots), GFP_KERNEL);
	if (!ring->slots)
		return -ENOMEM;
	if (copy)
		err = ipoib_bufs_init(&ring->copies, ring->ca, size, ilog2(copy), DMA_TO_DEVICE);
	if (err)
		ipoib_ring_exit(ring);
	return err;
}

/* Free a ring that is empty, or was never initialised. Context: may sleep. */
void ipoib_ring_exit(struct ipoib_ring *ring)
{
	if (!ring->slots)
		return;
	ipoib_bufs_exit(&ring->copies);
	kvfree(ring->slots);
	ring->slots = NULL;
}

/*
 * Undo ipoib_ring_map() for a slot with a frame, mapped or not.
 * Context: any; the device does not use the slot.
 */
void ipoib_ring_unmap(struct ipoib_ring *ring, struct ipoib_tx_slot *slot)
{
	const skb_frag_t *frags = skb_shinfo(slot->skb)->frags;
	unsigned int len = skb_headlen(slot->skb) - slot->head;
	unsigned int linear = len ? 1 : 0;
	unsigned int i;

	if (linear && slot->nmapped)
		ib_dma_unmap_single(ring->ca, slot->dma[0], len, DMA_TO_DEVICE);
	for (i = linear; i < slot->nmapped; i++)
		ib_dma_unmap_page(ring->ca, slot->dma[i], skb_frag_size(&frags[i - linear]),
				  DMA_TO_DEVICE);
	slot->nmapped = 0;
}

static int ipoib_ring_map_one(struct ipoib_ring *ring, struct ipoib_tx_slot *slot, u64 dma,
			      unsigned int len, struct ib_sge *sge)
{
	if (unlikely(ib_dma_mapping_error(ring->ca, dma)))
		return -EIO;
	sge += slot->nmapped;
	sge->addr = dma;
	sge->length = len;
	sge->lkey = ring->lkey;
	slot->dma[slot->nmapped++] = dma;
	return 0;
}

/*
 * Map the frame of a slot, with &ipoib_tx_slot.skb and &ipoib_tx_slot.head set. The result @sge has
 * IPOIB_TX_SGE entries.
 * Context: any. Return: number of SGEs, or -EIO with nothing mapped.
 */
int ipoib_ring_map(struct ipoib_ring *ring, struct ipoib_tx_slot *slot, struct ib_sge *sge)
{
	struct sk_buff *skb = slot->skb;
	unsigned int len = skb_headlen(skb) - slot->head;
	int i, err;
	u64 dma;

	slot->nmapped = 0;
	if (len) {
		dma = ib_dma_map_single(ring->ca, skb->data + slot->head, len, DMA_TO_DEVICE);
		err = ipoib_ring_map_one(ring, slot, dma, len, sge);
		if (err)
			return err;
	}
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		len = skb_frag_size(frag);
		dma = ib_dma_map_page(ring->ca, skb_frag_page(frag),
				      skb_frag_off(frag), len, DMA_TO_DEVICE);
		err = ipoib_ring_map_one(ring, slot, dma, len, sge);
		if (err)
			goto unmap;
	}
	return slot->nmapped;

unmap:
	ipoib_ring_unmap(ring, slot);
	return err;
}

/*
 * Reduce a frame to its linear part and at most @max_frags fragments, by a copy into pages of the
 * lowest order that suffices: these are there when fragmented memory has none for the whole frame.
 * Clones keep their fragments.
 */
static int ipoib_ring_gather(struct sk_buff *skb, unsigned int max_frags)
{
	int i, err, offset = skb_headlen(skb);
	struct skb_shared_info *old, *new;
	struct sk_buff *copy;
	skb_frag_t *frag;

	copy = alloc_skb_with_frags(0, skb->data_len,
				    get_order(DIV_ROUND_UP(skb->data_len, max_frags)), &err,
				    GFP_ATOMIC | __GFP_NOWARN);
	if (!copy)
		return err;
	new = skb_shinfo(copy);
	err = new->nr_frags > max_frags ? -ENOMEM : skb_unclone(skb, GFP_ATOMIC);
	for (i = 0; i < new->nr_frags && !err; i++) {
		frag = &new->frags[i];
		err = skb_copy_bits(skb, offset, skb_frag_address(frag), skb_frag_size(frag));
		offset += skb_frag_size(frag);
	}
	if (!err) {
		/* The fragments change places: the copy is freed with those of the frame. */
		skb_zcopy_downgrade_managed(skb);
		copy->pp_recycle = skb->pp_recycle;
		old = skb_shinfo(skb);
		for (i = 0; i < old->nr_frags; i++)
			swap(old->frags[i], new->frags[i]);
		swap(old->nr_frags, new->nr_frags);
	}
	consume_skb(copy);
	return err;
}

/**
 * ipoib_ring_fill - put a frame into the slot at the head
 * @ring: ring with room
 * @skb: frame, from the encapsulation header on
 * @head: 0; or octets of the headers of a GSO frame of TCP that the HCA segments, all in its linear
 *	part, at most IPOIB_TX_HEAD
 * @sge: result: scatter list of the octets behind @head, IPOIB_TX_SGE entries
 *
 * On success the ring owns the skb. A short frame is copied and freed at once, with &struct
 * ipoib_tx_slot.skb NULL; not with @head, so the headers stay where they are until the post. On
 * failure the caller still owns the skb, and the head has not moved.
 *
 * Context: transmit lock of the queue held
 * Return: number of SGEs; -EIO if the frame could not be mapped, -ENOMEM if it had too many
 * fragments and there was no memory for fewer
 */
int ipoib_ring_fill(struct ipoib_ring *ring, struct sk_buff *skb, unsigned int head,
		    struct ib_sge *sge)
{
	struct ipoib_bufs *copies = &ring->copies;
	u32 i = ring->head & ring->mask;
	struct ipoib_tx_slot *slot = &ring->slots[i];
	unsigned int linear = skb_headlen(skb) > head;
	int nsge = 1;

	slot->bytes = skb->len;
	slot->packets = 1;
	slot->head = head;
	slot->nmapped = 0;
	if (unlikely(head)) {
		slot->packets = skb_shinfo(skb)->gso_segs;
		slot->bytes += (slot->packets - 1) * head;
	} else if (copies->npages && skb->len <= 1u << copies->shift) {
		/* A copy is cheaper than a mapping, and the skb is freed at once. */
		skb_copy_bits(skb, 0, ipoib_bufs_va(copies, i), skb->len);
		sge->addr = ipoib_bufs_dma(copies, i);
		sge->length = skb->len;
		sge->lkey = ring->lkey;
		ib_dma_sync_single_for_device(ring->ca, sge->addr, skb->len, DMA_TO_DEVICE);
		slot->skb = NULL;
		dev_consume_skb_any(skb);
		goto filled;
	}
	if (unlikely(skb_shinfo(skb)->nr_frags + linear > ring->max_sge) &&
	    (ring->max_sge <= linear || ipoib_ring_gather(skb, ring->max_sge - linear)) &&
	    skb_linearize(skb))
		return -ENOMEM;
	slot->skb = skb;
	nsge = ipoib_ring_map(ring, slot, sge);
	if (unlikely(nsge < 0)) {
		slot->skb = NULL;
		return nsge;
	}
filled:
	/* Release: the handler that sees the new head sees the slot. */
	smp_store_release(&ring->head, ring->head + 1);
	return nsge;
}

/*
 * Put a send without a frame into the slot at the head of a ring with room.
 * Context: transmit lock of the queue held.
 */
void ipoib_ring_fill_empty(struct ipoib_ring *ring)
{
	struct ipoib_tx_slot *slot = &ring->slots[ring->head & ring->mask];

	slot->skb = NULL;
	slot->bytes = 0;
	slot->packets = 0;
	/* As in ipoib_ring_fill(). */
	smp_store_release(&ring->head, ring->head + 1);
}

/*
 * Undo the last ipoib_ring_fill(), whose slot has not been posted.
 * Context: transmit lock of the queue held. Return: the frame, owned by the caller again, or NULL
 * if the slot held a copy.
 */
struct sk_buff *ipoib_ring_take_back(struct ipoib_ring *ring)
{
	u32 head = ring->head - 1;
	struct ipoib_tx_slot *slot = &ring->slots[head & ring->mask];
	struct sk_buff *skb = slot->skb;

	if (skb)
		ipoib_ring_unmap(ring, slot);
	slot->skb = NULL;
	WRITE_ONCE(ring->head, head);
	return skb;
}

/*
 * Free slots up to and including @last, the free-running number of the slot whose send has
 * completed. Sends complete in order: a completion includes all unsignalled sends before it. A
 * number that is not in flight is ignored, as only a faulty device reports it. @budget is that of
 * NAPI, or 0 outside of NAPI; completed sends are added to @done.
 * Context: completion handler, one at a time.
 */
void ipoib_ring_complete(struct ipoib_ring *ring, u32 last, int budget, struct ipoib_tx_done *done)
{
	u32 tail = ring->tail;

	if (unlikely(last - tail >= ipoib_ring_used(ring))) {
		ibdev_warn_ratelimited(ring->ca, "completion of send %u, which is not in flight\n",
				       last);
		return;
	}
	while (tail != last + 1) {
		struct ipoib_tx_slot *slot = &ring->slots[tail & ring->mask];

		done->packets += slot->packets;
		done->bytes += slot->bytes;
		tail++;
		if (!slot->skb)
			continue;
		ipoib_ring_unmap(ring, slot);
		napi_consume_skb(slot->skb, budget);
		slot->skb = NULL;
	}
	/* Release: ipoib_ud_xmit() sees room only behind slots that are free. */
	smp_store_release(&ring->tail, tail);
}

/* Free all slots of the ring of a QP in RESET. Context: no sender and no completion; may sleep. */
void ipoib_ring_flush(struct ipoib_ring *ring)
{
	struct ipoib_tx_done done = {};

	if (ipoib_ring_used(ring))
		ipoib_ring_complete(ring, ring->head - 1, 0, &done);
}
