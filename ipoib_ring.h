/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send ring and small DMA buffers.
 *
 * A ring is an array of slots with a free-running head, moved by the sender under the transmit lock
 * of its queue, and a free-running tail, moved by the completion handler. A slot owns a frame from
 * ipoib_ring_fill() until ipoib_ring_complete() or ipoib_ring_flush(), unless
 * ipoib_ring_take_back() comes first. The ring knows no QP and no transport: datagram and connected
 * mode have rings of their own, so a peer that does not receive occupies slots of its connection
 * only.
 */
#ifndef IPOIB_RING_H
#define IPOIB_RING_H

#include <linux/skbuff.h>
#include <rdma/ib_verbs.h>

struct ipoib_ah;

/* Datagram mode: longest frame that is copied, whose skb is freed at once */
#define IPOIB_TX_COPY		256
/* Headers that an HCA puts in front of each segment: IPoIB, IPv4, TCP, with all options */
#define IPOIB_TX_HEAD		(4 + 60 + 60)
/* Linear part and fragments */
#define IPOIB_TX_SGE		(MAX_SKB_FRAGS + 1)

/* Small buffers of one size, mapped for DMA. */
struct ipoib_bufs {
	struct ib_device *ca;
	struct {
		void *va;
		u64 dma;
	} *pages;			/* pages of the buffers, each with its DMA address */
	unsigned int npages;
	unsigned int shift;		/* log2 of the buffer size in octets, at most PAGE_SHIFT */
	enum dma_data_direction dir;	/* direction of the mapping */
};

int ipoib_bufs_init(struct ipoib_bufs *bufs, struct ib_device *ca,
		    unsigned int count, unsigned int shift, enum dma_data_direction dir);
void ipoib_bufs_exit(struct ipoib_bufs *bufs);

/* Offset of buffer @i in its page, in octets */
static inline unsigned int ipoib_bufs_offset(const struct ipoib_bufs *bufs, unsigned int i)
{
	return (i << bufs->shift) & (PAGE_SIZE - 1);
}

/* Kernel address of buffer @i */
static inline void *ipoib_bufs_va(const struct ipoib_bufs *bufs, unsigned int i)
{
	return bufs->pages[i >> (PAGE_SHIFT - bufs->shift)].va + ipoib_bufs_offset(bufs, i);
}

/* DMA address of buffer @i */
static inline u64 ipoib_bufs_dma(const struct ipoib_bufs *bufs, unsigned int i)
{
	return bufs->pages[i >> (PAGE_SHIFT - bufs->shift)].dma + ipoib_bufs_offset(bufs, i);
}

/**
 * struct ipoib_tx_slot - a send in flight
 * @skb: the frame; NULL if it was copied, and in all but the last segment of a frame that the
 *	driver segments
 * @ah: address handle of the send, in datagram mode
 * @bytes: octets on the wire, for the byte queue limit
 * @packets: frames on the wire: several if the HCA segments the frame, 0 without a frame
 * @head: octets of the linear part that are not mapped, as each segment has a header of its own; 0
 *	but for a frame that is segmented
 * @nmapped: number of addresses in @dma
 * @dma: DMA addresses of the linear part and the fragments
 */
struct ipoib_tx_slot {
	struct sk_buff *skb;
	struct ipoib_ah *ah;
	u32 bytes;
	u16 packets;
	u8 head;
	u8 nmapped;
	u64 dma[IPOIB_TX_SGE];
};

/* Sum of completed sends. */
struct ipoib_tx_done {
	unsigned int packets;	/* frames */
	unsigned int bytes;	/* octets, as in &struct ipoib_tx_slot */
};

/**
 * struct ipoib_ring - send ring
 * @slots: slots, @mask + 1 of them in use
 * @copies: a buffer for the copy of a short frame in each slot; empty: every frame is mapped
 * @ca: device of the mappings
 * @lkey: local key of every SGE
 * @mask: number of slots less one; changed while the ring is empty
 * @max_sge: SGEs of a work request of the QP
 * @head: next slot to fill; written under the transmit lock
 * @tail: oldest slot in flight; written by the completion handler
 */
struct ipoib_ring {
	/* read only while running */
	struct ipoib_tx_slot *slots;
	struct ipoib_bufs copies;
	struct ib_device *ca;
	u32 lkey;
	u32 mask;
	u32 max_sge;

	/* transmit */
	u32 head ____cacheline_aligned_in_smp;

	/* completion */
	u32 tail ____cacheline_aligned_in_smp;
};

int ipoib_ring_init(struct ipoib_ring *ring, struct ib_pd *pd,
		    unsigned int size, unsigned int max_sge, unsigned int copy);
void ipoib_ring_exit(struct ipoib_ring *ring);
int ipoib_ring_fill(struct ipoib_ring *ring, struct sk_buff *skb, unsigned int head,
		    struct ib_sge *sge);
int ipoib_ring_map(struct ipoib_ring *ring, struct ipoib_tx_slot *slot, struct ib_sge *sge);
void ipoib_ring_unmap(struct ipoib_ring *ring, struct ipoib_tx_slot *slot);
void ipoib_ring_fill_empty(struct ipoib_ring *ring);
struct sk_buff *ipoib_ring_take_back(struct ipoib_ring *ring);
void ipoib_ring_complete(struct ipoib_ring *ring, u32 last, int budget, struct ipoib_tx_done *done);
void ipoib_ring_flush(struct ipoib_ring *ring);

/*
 * Number of slots in flight.
 * Return: 0 to the size of the ring; a snapshot outside of the transmit lock and of the completion
 * handler.
 */
static inline u32 ipoib_ring_used(const struct ipoib_ring *ring)
{
	return READ_ONCE(ring->head) - READ_ONCE(ring->tail);
}

/* Number of free slots, see ipoib_ring_used() */
static inline u32 ipoib_ring_room(const struct ipoib_ring *ring)
{
	return ring->mask + 1 - ipoib_ring_used(ring);
}

/* Check whether all slots before @fence, an earlier value of the head, have completed. */
static inline bool ipoib_ring_passed(const struct ipoib_ring *ring, u32 fence)
{
	return (s32)(READ_ONCE(ring->tail) - fence) >= 0;
}

#endif /* IPOIB_RING_H */
