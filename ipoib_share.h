/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits per source: how much of a resource one node of the fabric can take.
 *
 * A node is known by the LID that its HCA writes into each frame, which it cannot
 * choose, or on Ethernet by the source GID of the frame. A keyed hash of that gives one of
 * IPOIB_NAMERS counters. Nodes with the same counter share a limit; who they are
 * nobody can find out. What has no cause on the fabric is our own.
 *
 * A neighbour becomes known by ARP or Neighbour Discovery, and the path to it is looked
 * for later, by a frame that nothing connects with its cause. So it is remembered for a
 * while which source has named a GID last.
 */
#ifndef IPOIB_SHARE_H
#define IPOIB_SHARE_H

#include <linux/jhash.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/* Counters, the first of which is for ourselves. */
#define IPOIB_NAMERS		256
#define IPOIB_NAMER_OWN	0
/* GIDs of which it is remembered who named them: a power of two. */
#define IPOIB_NAMER_GIDS	2048

/**
 * struct ipoib_share - how a resource is shared out
 * @total: units in use
 * @used: of those, by source
 */
struct ipoib_share {
	unsigned int total;
	u16 used[IPOIB_NAMERS];
};

/**
 * struct ipoib_namers - who causes what
 * @seed: key of the hashes
 * @names: who has named a GID: upper bits of its hash, and the source
 */
struct ipoib_namers {
	u32 seed;
	u32 names[IPOIB_NAMER_GIDS];
};

/**
 * ipoib_namer_of - the source that a node belongs to
 * @namers: who causes what
 * @node: LID of the node, or a hash of what else tells it
 *
 * Return: the source
 */
static inline u8 ipoib_namer_of(const struct ipoib_namers *namers, u32 node)
{
	return 1 + jhash_1word(node, namers->seed) % (IPOIB_NAMERS - 1);
}

static inline u32 ipoib_namer_hash(const struct ipoib_namers *namers,
				   const u8 *gid)
{
	u32 words[4];

	memcpy(words, gid, sizeof(words));
	return jhash2(words, ARRAY_SIZE(words), namers->seed);
}

/**
 * ipoib_namer_note - a source names a GID
 * @namers: who causes what
 * @gid: the GID
 * @namer: the namer; the last one counts
 *
 * Context: any
 */
static inline void ipoib_namer_note(struct ipoib_namers *namers,
				    const u8 *gid, u8 namer)
{
	u32 hash = ipoib_namer_hash(namers, gid);

	WRITE_ONCE(namers->names[hash % IPOIB_NAMER_GIDS],
		   (hash & ~0xffu) | namer);
}

/**
 * ipoib_namer_find - who has named a GID
 * @namers: who causes what
 * @gid: the GID
 *
 * Return: the namer, IPOIB_NAMER_OWN if nobody has of late
 */
static inline u8 ipoib_namer_find(const struct ipoib_namers *namers,
				  const u8 *gid)
{
	u32 hash = ipoib_namer_hash(namers, gid);
	u32 name = READ_ONCE(namers->names[hash % IPOIB_NAMER_GIDS]);

	return (name ^ hash) & ~0xffu ? IPOIB_NAMER_OWN : name & 0xff;
}

/**
 * ipoib_share_has_room - whether a source may take another unit
 * @share: of the resource
 * @namer: the source
 * @each: limit of each source
 * @all: limit of all; at most half of it is for others than ourselves
 *
 * Return: true if so
 */
static inline bool ipoib_share_has_room(const struct ipoib_share *share,
					u8 namer, unsigned int each,
					unsigned int all)
{
	if (share->total >= all)
		return false;
	return namer == IPOIB_NAMER_OWN ||
	       (share->used[namer] < each &&
		share->total - share->used[IPOIB_NAMER_OWN] < all / 2);
}

/**
 * ipoib_share_take - take a unit
 * @share: of the resource
 * @namer: the namer, for which there is room
 *
 * Context: lock of the resource held
 */
static inline void ipoib_share_take(struct ipoib_share *share, u8 namer)
{
	share->total++;
	share->used[namer]++;
}

/**
 * ipoib_share_give - give units back
 * @share: of the resource
 * @namer: the source that had them
 * @n: how many
 *
 * Context: lock of the resource held
 */
static inline void ipoib_share_give(struct ipoib_share *share, u8 namer,
				    unsigned int n)
{
	share->total -= n;
	share->used[namer] -= n;
}

#endif /* IPOIB_SHARE_H */
