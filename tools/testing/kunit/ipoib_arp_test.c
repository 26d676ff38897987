// SPDX-License-Identifier: GPL-2.0
/* Tests of unicast frames: way of a frame, work of a neighbour, unreachable neighbours */
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/neighbour.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_drop		arps_drop
#define ipoib_drop_list		arps_drop_list
#define ipoib_pmtu_reject	arps_pmtu_reject
#define ipoib_neigh_get		arps_neigh_get
#define ipoib_neigh_put		arps_neigh_put
#define ipoib_neigh_ask		arps_neigh_ask
#define ipoib_neigh_try		arps_neigh_try
#define ipoib_neigh_park	arps_neigh_park
#define ipoib_neigh_unpark	arps_neigh_unpark
#define ipoib_neigh_unpark_txq	arps_neigh_unpark_txq
#define ipoib_neigh_waits	arps_neigh_waits
#define ipoib_neigh_suspect	arps_neigh_suspect
#define ipoib_cm_xmit		arps_cm_xmit
#define ipoib_cm_path_read	arps_cm_path_read
#define ipoib_cm_neigh_gone	arps_cm_neigh_gone
#define ipoib_ud_too_long	arps_ud_too_long
#define ipoib_ud_xmit		arps_ud_xmit
#define ipoib_ud_send_begin	arps_ud_send_begin
#define ipoib_ud_send_end	arps_ud_send_end
#define ipoib_arp_xmit		arps_arp_xmit
#define ipoib_arp_neigh_event	arps_arp_neigh_event

#include "ipoib.h"

/* Locks, and the stack's neighbours */
#define spin_lock_bh(lock)			(arps_fix->locked++)
#define spin_unlock_bh(lock)			(arps_fix->locked--)
#define spin_lock(lock)				(arps_fix->locked++)
#define spin_unlock(lock)			(arps_fix->locked--)
#define local_bh_disable()			(arps_fix->bh++)
#define local_bh_enable()			(arps_fix->bh--)
#define ipoib_neigh_find(neighs, gid)		arps_find(gid)
#define skb_dst(skb)				((void)(skb), arps_fix->dst)
#define dst_neigh_lookup_skb(dst, skb)		arps_lookup(dst)
#define neigh_update(n, addr, state, flags, id)	arps_update(n, addr, state, flags, id)
#define neigh_release(n)			(arps_fix->releases++)
#define dst_link_failure(skb)			arps_link_failure(skb)

#define ARP_QPN		0x4711
#define ARP_MTU		2044

#define ARP_NONE	IPOIB_NEIGH_NONE
#define ARP_ASKED	IPOIB_NEIGH_RESOLVING
#define ARP_VALID	IPOIB_NEIGH_VALID

/**
 * struct arps_fixture - fixture of a case
 * @priv: an interface with two transmit queues
 * @txq: these
 * @dev: its net_device
 * @neigh: a neighbour
 * @ah: its address handle
 * @dst: a route, or NULL
 * @route: the route
 * @n: neighbour of the stack, or NULL
 * @found: @neigh is found by its GID
 * @refused: there is no room for a neighbour
 * @waits: frames of its queue wait in front of a frame
 * @next: state of @neigh after a query was begun
 * @most: result of ipoib_cm_xmit()
 * @moves: ipoib_cm_xmit() moves the data
 * @calls: calls in their order; '!' with wrong arguments or locks
 * @locked: a lock is held
 * @bh: bottom halves are off
 * @updates: neighbours of the stack set to NUD_FAILED
 * @releases: references to these returned
 * @why: reason of the last drop
 * @mtu: MTU of the last reject
 */
struct arps_fixture {
	struct ipoib_dev priv;
	struct ipoib_txq txq[2];
	struct net_device *dev;
	struct ipoib_neigh neigh;
	struct ipoib_ah ah;
	struct dst_entry *dst;
	struct dst_entry route;
	struct neighbour *n;
	bool found;
	bool refused;
	bool waits;
	enum ipoib_neigh_state next;
	unsigned int most;
	bool moves;
	char calls[40];
	int locked;
	int bh;
	unsigned int updates;
	int releases;
	enum ipoib_stat why;
	unsigned int mtu;
};

/* The fixture of the running case */
static struct arps_fixture *arps_fix;

/* Note a call, which expects the lock of neighbours if @locked. */
static void arps_called(char call, bool locked)
{
	unsigned int n = strlen(arps_fix->calls);

	if (n < sizeof(arps_fix->calls) - 1)
		arps_fix->calls[n] = arps_fix->locked == locked ? call : '!';
}

/* ---- functions of the driver ---- */

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	arps_called('D', false);
	arps_fix->why = why;
	kfree_skb(skb);
}

void ipoib_drop_list(struct ipoib_dev *priv, struct sk_buff_head *list, enum ipoib_stat why)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list)))
		ipoib_drop(priv, skb, why);
}

void ipoib_pmtu_reject(struct ipoib_dev *priv, struct sk_buff *skb, unsigned int mtu)
{
	arps_called('J', false);
	arps_fix->mtu = mtu;
	kfree_skb(skb);
}

void ipoib_neigh_put(struct ipoib_neigh *neigh)
{
	arps_called('r', false);
}

void ipoib_neigh_ask(struct ipoib_neigh *neigh)
{
	arps_called('a', true);
	neigh->state = arps_fix->next;
}

void ipoib_neigh_try(struct ipoib_neigh *neigh)
{
	arps_called('t', true);
	neigh->state = arps_fix->next;
}

void ipoib_neigh_park(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
		      unsigned int most, struct sk_buff *skb)
{
	char call = most == IPOIB_NEIGH_RESENT ? 'k' : most == IPOIB_NEIGH_QUEUE ? 'K' : '!';

	arps_called(kind == IPOIB_WAIT_PATH && queue == &arps_fix->neigh.queue ? call : '!', true);
	kfree_skb(skb);
}

void ipoib_neigh_unpark(struct ipoib_dev *priv, enum ipoib_wait kind,
			struct sk_buff_head *queue, struct sk_buff_head *frames)
{
	arps_called(kind == IPOIB_WAIT_PATH ? 'p' : '!', true);
	skb_queue_splice_tail_init(queue, frames);
}

void ipoib_neigh_unpark_txq(struct ipoib_dev *priv, struct sk_buff_head *queue, unsigned int n,
			    unsigned int ntxq, struct sk_buff_head *frames)
{
	arps_called(ntxq == 2 ? '0' + n : '!', true);
	if (!n)
		skb_queue_splice_tail_init(queue, frames);
}

bool ipoib_neigh_waits(struct ipoib_dev *priv, struct sk_buff_head *queue,
		       const struct sk_buff *skb)
{
	return arps_fix->waits;
}

void ipoib_neigh_suspect(struct ipoib_dev *priv, const u8 *gid, unsigned long age)
{
	arps_called(gid[15] == 9 && age == 5 * HZ ? 's' : '!', false);
}

unsigned int ipoib_cm_xmit(struct ipoib_dev *priv, struct ipoib_neigh *neigh, struct sk_buff *skb)
{
	unsigned int len = skb->len;

	arps_called(neigh == &arps_fix->neigh ? 'c' : '!', false);
	if (!arps_fix->most) {
		kfree_skb(skb);
	} else if (arps_fix->moves) {
		skb_push(skb, 8);
		memmove(skb->data, skb->data + 8, len);
		skb_trim(skb, len);
	}
	return arps_fix->most;
}

void ipoib_cm_path_read(struct ipoib_neigh *neigh, bool gone)
{
	arps_called(gone ? 'G' : 'P', false);
}

void ipoib_cm_neigh_gone(struct ipoib_cm *cm, const struct ipoib_lladdr *addr)
{
	arps_called(addr->gid[15] == 9 ? 'n' : '!', false);
}

bool ipoib_ud_too_long(const struct sk_buff *skb, unsigned int mtu)
{
	return skb->len > mtu + IPOIB_HARD_LEN;
}

void ipoib_ud_xmit(struct ipoib_txq *txq, struct sk_buff *skb, struct ipoib_ah *ah, u32 qpn)
{
	arps_called(txq == &arps_fix->txq[1] && ah == &arps_fix->ah && qpn == ARP_QPN ? 'x' : '!',
		    false);
	kfree_skb(skb);
}

void ipoib_ud_send_begin(struct ipoib_txq *txq)
{
	arps_called(txq == &arps_fix->txq[1] || txq == &arps_fix->txq[0] ? 'b' : '!', false);
}

void ipoib_ud_send_end(struct ipoib_txq *txq, struct sk_buff_head *frames, ipoib_xmit_t xmit)
{
	arps_called(xmit == ipoib_arp_xmit ? 'e' : '!', false);
	__skb_queue_purge(frames);
}

/* ---- the stack ---- */

static struct ipoib_neigh *arps_find(const u8 *gid)
{
	return arps_fix->found && gid[15] == 9 ? &arps_fix->neigh : NULL;
}

static struct neighbour *arps_lookup(struct dst_entry *dst)
{
	return dst == &arps_fix->route ? arps_fix->n : NULL;
}

static int arps_update(struct neighbour *n, const u8 *addr, u8 state, u32 flags, u32 id)
{
	if (n == arps_fix->n && !addr && state == NUD_FAILED && !flags && !id)
		arps_fix->updates++;
	return 0;
}

/* The packet, as the stack has it: without the header of the driver */
static void arps_link_failure(struct sk_buff *skb)
{
	bool good = arps_fix->bh && skb->protocol == htons(ETH_P_IPV6) && skb->len == 40 &&
		    skb_network_header(skb) == skb->data &&
		    !memchr_inv(skb->cb, 0, sizeof(skb->cb));

	arps_called(good ? 'F' : '!', false);
}

#include "ipoib_arp.c"

struct ipoib_neigh *ipoib_neigh_get(struct ipoib_dev *priv, const u8 *gid,
				    work_func_t work, enum ipoib_stat *why)
{
	arps_called(gid[15] == 9 && work == ipoib_arp_work ? 'g' : '!', true);
	if (!arps_fix->refused)
		return &arps_fix->neigh;
	*why = IPOIB_TX_PATH_CAP;
	return NULL;
}

static int arps_init(struct kunit *test)
{
	struct arps_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev(0, "ipoib_arp%d", NET_NAME_ENUM, ether_setup);
	fix->n = kzalloc(sizeof(*fix->n), GFP_KERNEL);
	if (!fix->dev || !fix->n) {
		if (fix->dev)
			free_netdev(fix->dev);
		kfree(fix->n);
		kvfree(fix);
		return -ENOMEM;
	}
	fix->dev->addr_len = IPOIB_LLADDR_LEN;
	seqlock_init(&fix->n->ha_lock);
	fix->n->dev = fix->dev;
	fix->dst = &fix->route;
	fix->priv.netdev = fix->dev;
	fix->priv.txq = fix->txq;
	fix->priv.ntxq = 2;
	fix->priv.mcast_mtu = ARP_MTU;
	INIT_LIST_HEAD(&fix->priv.neigh.list);
	fix->txq[0].priv = &fix->priv;
	fix->txq[1].priv = &fix->priv;
	fix->neigh.priv = &fix->priv;
	INIT_LIST_HEAD(&fix->neigh.list);
	skb_queue_head_init(&fix->neigh.queue);
	test->priv = fix;
	arps_fix = fix;
	return 0;
}

static void arps_exit(struct kunit *test)
{
	struct arps_fixture *fix = test->priv;

	__skb_queue_purge(&fix->neigh.queue);
	kfree(fix->n);
	free_netdev(fix->dev);
	kvfree(fix);
}

/* Link-layer address of the neighbour */
static void arps_set_addr(struct ipoib_lladdr *addr)
{
	union ib_gid gid = { .raw = { 0xfe, 0x80, [15] = 9 } };

	ipoib_lladdr_set(addr, 0, ARP_QPN, &gid);
}

/* A packet of IPv6 to the neighbour */
static struct sk_buff *arps_frame(unsigned int len)
{
	struct sk_buff *skb = alloc_skb(16 + IPOIB_HARD_LEN + len, GFP_KERNEL | __GFP_NOFAIL);
	struct ipoib_header *header;

	skb_reserve(skb, 16);
	header = skb_put_zero(skb, IPOIB_HARD_LEN + len);
	header->encap.proto = htons(ETH_P_IPV6);
	arps_set_addr(&header->lladdr);
	memset(skb->cb, 0xff, sizeof(skb->cb));
	skb_set_network_header(skb, 0);
	return skb;
}

/* Send a packet by the second queue. */
static void arps_xmit(struct arps_fixture *fix, unsigned int len)
{
	struct sk_buff *skb = arps_frame(len);

	rcu_read_lock();
	ipoib_arp_xmit(&fix->txq[1], skb);
	rcu_read_unlock();
}

static void arps_expect_calls(struct kunit *test, const char *calls)
{
	ipoib_expect_calls(test, arps_fix->calls, calls);
	KUNIT_EXPECT_EQ(test, arps_fix->locked, 0);
	KUNIT_EXPECT_EQ(test, arps_fix->bh, 0);
}

/* A neighbour of the stack with the address, valid, and confirmed before @asked_at */
static void arps_set_n(struct arps_fixture *fix, unsigned long asked_at)
{
	fix->dst = &fix->route;
	fix->dev->addr_len = IPOIB_LLADDR_LEN;
	arps_set_addr((struct ipoib_lladdr *)fix->n->ha);
	fix->n->nud_state = NUD_REACHABLE;
	fix->n->confirmed = asked_at - 1;
	fix->updates = 0;
	fix->releases = 0;
}

static void arps_stale(struct kunit *test)
{
	struct arps_fixture *fix = test->priv;
	struct sk_buff *skb = arps_frame(40);
	unsigned long asked_at = jiffies;
	struct neighbour *n = fix->n;
	struct ipoib_lladdr to;
	unsigned int i;

	arps_set_addr(&to);
	for (i = 0; i < 7; i++) {
		arps_set_n(fix, asked_at);
		switch (i) {
		case 1:
			fix->dst = NULL;
			break;
		case 2:
			fix->n = NULL;
			break;
		case 3:
			fix->dev->addr_len = ETH_ALEN;
			break;
		case 4:
			n->ha[IPOIB_LLADDR_LEN - 1]++;
			break;
		case 5:
			n->nud_state = NUD_INCOMPLETE;
			break;
		case 6:
			n->confirmed = asked_at;
			break;
		}
		ipoib_arp_mark_stale(skb, &to, asked_at);
		fix->n = n;
		KUNIT_EXPECT_EQ(test, fix->updates, i ? 0u : 1u);
		KUNIT_EXPECT_EQ(test, fix->releases, i == 1 || i == 2 ? 0 : 1);
	}
	kfree_skb(skb);
}

/**
 * struct arps_run - a run of the work of a neighbour
 * @state: state of the neighbour
 * @next: state after a further try
 * @listed: the neighbour is in the table
 * @known: it has an address handle
 * @bare: the interface has no connected mode
 * @failures: failed queries in a row
 * @frames: frames that wait
 * @calls: calls in their order
 */
struct arps_run {
	enum ipoib_neigh_state state;
	enum ipoib_neigh_state next;
	bool listed;
	bool known;
	bool bare;
	unsigned int failures;
	unsigned int frames;
	const char *calls;
};

static void arps_work(struct kunit *test)
{
	static const struct arps_run runs[] = {
		{ IPOIB_NEIGH_VALID, 0, true, true, false, 0, 2, "b1eb0ePr" },
		{ IPOIB_NEIGH_VALID, 0, true, true, true, 3, 1, "b1eb0er" },
		{ IPOIB_NEIGH_RESOLVING, 0, true, true, false, 0, 1, "b1eb0er" },
		{ IPOIB_NEIGH_NONE, 0, true, false, false, 2, 2, "pPDDr" },
		{ IPOIB_NEIGH_NONE, 0, true, false, false, 3, 2, "pPFFDDr" },
		{ IPOIB_NEIGH_NONE, 0, false, false, false, 0, 0, "pGr" },
		{ IPOIB_NEIGH_WAITING, IPOIB_NEIGH_RESOLVING, true, false, false, 3, 1, "tr" },
		{ IPOIB_NEIGH_WAITING, IPOIB_NEIGH_NONE, true, false, false, 3, 1, "tpPFDr" },
		{ IPOIB_NEIGH_WAITING, IPOIB_NEIGH_RESOLVING, false, false, false, 0, 1, "Gr" },
	};
	struct arps_fixture *fix = test->priv;
	struct ipoib_neigh *neigh = &fix->neigh;
	const struct arps_run *run;
	unsigned int i, frames;

	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		run = &runs[i];
		arps_set_n(fix, jiffies);
		fix->next = run->next;
		fix->why = IPOIB_NR_STATS;
		fix->priv.cm = run->bare ? NULL : (void *)fix;
		neigh->state = run->state;
		neigh->failures = run->failures;
		RCU_INIT_POINTER(neigh->ah, run->known ? &fix->ah : NULL);
		if (run->listed)
			list_add(&neigh->list, &fix->priv.neigh.list);
		for (frames = 0; frames < run->frames; frames++)
			__skb_queue_tail(&neigh->queue, arps_frame(40));
		ipoib_arp_work(&neigh->work.work);
		arps_expect_calls(test, run->calls);
		list_del_init(&neigh->list);
		/* The stack resolves the address anew. */
		KUNIT_EXPECT_EQ(test, fix->updates > 0, !!strchr(run->calls, 'F'));
		if (strchr(run->calls, 'D'))
			KUNIT_EXPECT_EQ(test, fix->why, IPOIB_TX_NO_PATH);
		__skb_queue_purge(&neigh->queue);
	}
}

/**
 * struct arps_send - a frame
 * @found: the neighbour is in the table
 * @refused: it is not, and there is no room
 * @known: it has an address handle
 * @due: a query is due
 * @queued: frames wait in its queue
 * @waits: they wait in front of this one
 * @state: state of the neighbour
 * @next: state after a query was begun
 * @failures: failed queries in a row
 * @calls: calls in their order
 * @why: reason of the drop
 */
struct arps_send {
	bool found;
	bool refused;
	bool known;
	bool due;
	bool queued;
	bool waits;
	enum ipoib_neigh_state state;
	enum ipoib_neigh_state next;
	unsigned int failures;
	const char *calls;
	enum ipoib_stat why;
};

static void arps_frames(struct kunit *test)
{
	static const struct arps_send sends[] = {
		{ true, false, true, false, false, false, ARP_VALID, ARP_NONE, 0, "x", 0 },
		/* A query is due, or under way */
		{ true, false, true, true, false, false, ARP_VALID, ARP_ASKED, 3, "gax", 0 },
		{ true, false, true, true, false, false, ARP_ASKED, ARP_NONE, 0, "gx", 0 },
		/* Frames wait for the work, of this queue or of another */
		{ true, false, true, false, true, true, ARP_VALID, ARP_NONE, 0, "gk", 0 },
		{ true, false, true, false, true, false, ARP_VALID, ARP_NONE, 0, "gx", 0 },
		/* A new neighbour, or none */
		{ false, false, false, true, false, false, ARP_NONE, ARP_ASKED, 0, "gaK", 0 },
		{ false, true, false, false, false, false, ARP_NONE, ARP_NONE, 0, "gD",
		  IPOIB_TX_PATH_CAP },
		/* A neighbour without a path */
		{ true, false, false, true, false, false, ARP_NONE, ARP_NONE, 0, "gaD",
		  IPOIB_TX_NO_PATH },
		{ true, false, false, false, false, false, ARP_NONE, ARP_NONE, 2, "gD",
		  IPOIB_TX_NO_PATH },
		{ true, false, false, false, false, false, ARP_NONE, ARP_NONE, 3, "gD",
		  IPOIB_TX_NO_PATH },
		{ true, false, false, false, true, true, ARP_NONE, ARP_NONE, 3, "gK", 0 },
	};
	struct arps_fixture *fix = test->priv;
	struct ipoib_neigh *neigh = &fix->neigh;
	const struct arps_send *send;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sends); i++) {
		send = &sends[i];
		neigh->asked_at = jiffies - HZ;
		arps_set_n(fix, neigh->asked_at);
		fix->found = send->found;
		fix->refused = send->refused;
		fix->waits = send->waits;
		fix->next = send->next;
		fix->why = 0;
		neigh->state = send->state;
		neigh->stale = send->due;
		neigh->retry_at = jiffies;
		neigh->failures = send->failures;
		neigh->used = jiffies - 5 * HZ;
		RCU_INIT_POINTER(neigh->ah, send->known ? &fix->ah : NULL);
		if (send->queued)
			__skb_queue_tail(&neigh->queue, arps_frame(40));
		arps_xmit(fix, ARP_MTU);
		arps_expect_calls(test, send->calls);
		KUNIT_EXPECT_EQ(test, fix->why, send->why);
		KUNIT_EXPECT_EQ(test, jiffies - neigh->used < 4 * HZ, send->found);
		/* The stack looks for another address after three failures. */
		KUNIT_EXPECT_EQ(test, fix->updates,
				send->failures == 3 && send->why == IPOIB_TX_NO_PATH ? 1u : 0u);
		__skb_queue_purge(&neigh->queue);
	}
}

/* Connected mode: the frame goes on a connection, or over UD, or is too long for that. */
static void arps_connected(struct kunit *test)
{
	static const struct {
		unsigned int most;
		unsigned int len;
		const char *calls;
	} sends[] = {
		{ 0, ARP_MTU, "c" },
		{ 0, ARP_MTU + 1, "c" },
		{ ARP_MTU, ARP_MTU, "cx" },
		{ IPOIB_CM_TRANSIENT, ARP_MTU, "cx" },
		{ 3000, ARP_MTU + 1, "cJ" },
		{ IPOIB_CM_TRANSIENT, ARP_MTU + 1, "cD" },
	};
	struct arps_fixture *fix = test->priv;
	unsigned int i;

	fix->found = true;
	fix->neigh.state = IPOIB_NEIGH_VALID;
	RCU_INIT_POINTER(fix->neigh.ah, &fix->ah);
	/* Datagram mode */
	arps_xmit(fix, ARP_MTU + 1);
	arps_expect_calls(test, "J");
	KUNIT_EXPECT_EQ(test, fix->mtu, (unsigned int)ARP_MTU);
	fix->priv.flags = BIT(IPOIB_FLAG_CONNECTED);
	for (i = 0; i < ARRAY_SIZE(sends); i++) {
		fix->most = sends[i].most;
		arps_xmit(fix, sends[i].len);
		arps_expect_calls(test, sends[i].calls);
	}
	KUNIT_EXPECT_EQ(test, fix->mtu, 3000u);
	KUNIT_EXPECT_EQ(test, fix->why, IPOIB_TX_FLUSHED);
	fix->moves = true;
	arps_xmit(fix, ARP_MTU);
	arps_expect_calls(test, "cx");
}

/* Events of a neighbour of the stack: unreachable, forgotten, others */
static void arps_events(struct kunit *test)
{
	static const struct {
		u8 state;
		bool dead;
		bool bare;
		const char *calls;
	} events[] = {
		{ NUD_FAILED, false, false, "sn" },
		{ NUD_FAILED, false, true, "s" },
		{ NUD_FAILED, true, false, "sn" },
		{ NUD_REACHABLE, true, false, "n" },
		{ NUD_REACHABLE, true, true, "" },
		{ NUD_REACHABLE, false, false, "" },
		{ NUD_STALE, false, false, "" },
	};
	struct arps_fixture *fix = test->priv;
	unsigned int i;

	arps_set_n(fix, jiffies);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		fix->n->nud_state = events[i].state;
		fix->n->dead = events[i].dead;
		fix->priv.cm = events[i].bare ? NULL : (void *)fix;
		ipoib_arp_neigh_event(&fix->priv, fix->n);
		arps_expect_calls(test, events[i].calls);
	}
}

static struct kunit_case ipoib_arp_cases[] = {
	KUNIT_CASE(arps_stale),
	KUNIT_CASE(arps_work),
	KUNIT_CASE(arps_frames),
	KUNIT_CASE(arps_connected),
	KUNIT_CASE(arps_events),
	{}
};

struct kunit_suite ipoib_arp_suite = {
	.name = "ipoib_arp",
	.init = arps_init,
	.exit = arps_exit,
	.test_cases = ipoib_arp_cases,
};
