// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the receive side of connected mode: SRQ, CQs and pools, posted receives, frames, failed
 * receives, own receives of a connection, handler
 */
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_recvq_size	qrx_recvq_size
#define ipoib_stat_add		qrx_stat_add
#define ipoib_stat_traffic	qrx_stat_traffic
#define ipoib_moder_init	qrx_moder_init
#define ipoib_moder_exit	qrx_moder_exit
#define ipoib_moder_update	qrx_moder_update
#define ipoib_moder_complete	qrx_moder_complete
#define ipoib_rx_police		qrx_rx_police
#define ipoib_rx_deliver	qrx_rx_deliver
#define ipoib_pool_create	qrx_pool_create
#define ipoib_conn_release	qrx_conn_release
#define ipoib_cm_tx_conns	qrx_tx_conns
#define ipoib_cm_tx_release	qrx_tx_release
#define ipoib_cm_srq_size	qrx_srq_size
#define ipoib_cm_limit		qrx_limit
#define ipoib_cm_rx_full	qrx_rx_full
#define ipoib_cm_rx_get		qrx_rx_get
#define ipoib_cm_rx_fence	qrx_rx_fence
#define ipoib_cm_rx_assign	qrx_rx_assign
#define ipoib_cm_rx_init	qrx_rx_init
#define ipoib_cm_rx_exit	qrx_rx_exit
#define ipoib_cm_rx_release	qrx_rx_release
#define ipoib_cm_rx_work	qrx_rx_work
#define ipoib_cm_rx_add		qrx_rx_add
#define ipoib_cm_rx_returned	qrx_rx_returned
#define ipoib_cm_rx_lost	qrx_rx_lost
#define ipoib_cm_rx_remove	qrx_rx_remove
#define ipoib_cm_rx_show	qrx_rx_show
#define ipoib_cm_rx_mtu		qrx_rx_mtu
#define ipoib_cm_moderate	qrx_moderate

#include "ipoib.h"

/* The module has the parameters once, in ipoib_queue_test.c. */
#undef module_param_named
#undef module_param_cb
#undef __MODULE_PARM_TYPE
#undef MODULE_PARM_DESC
#define module_param_named(name, value, type, mode)	static_assert(true)
#define module_param_cb(name, ops, arg, mode)		\
	static const struct kernel_param_ops *const qrx_param_ops = (ops)
#define __MODULE_PARM_TYPE(name, text)			static_assert(true)
#define MODULE_PARM_DESC(name, text)			static_assert(true)

/* The HCA, NAPI, works, the log, and memory */
#undef ib_create_cq
#undef WARN_ON_ONCE
#undef netdev_warn_once
#undef kvmalloc_array
#undef kzalloc
#define ib_create_srq(pd, attr)				qrx_create_srq(attr)
#define ib_destroy_srq(srq)				qrx_called('S')
#define ib_create_cq(ca, comp, event, ctx, attr)	qrx_create_cq(comp, event, ctx, attr)
#define ib_destroy_cq(cq)				qrx_called('C')
#define ib_uses_virt_dma(ca)				(qrx_fix->virt)
#define ib_dma_sync_single_for_cpu(ca, addr, len, dir)	qrx_sync_cpu(ca, len, dir)
#define ib_dma_sync_single_for_device(ca, addr, len, dir)	\
	qrx_sync_device(ca, addr, len, dir)
#define page_pool_dev_alloc_pages(pool)			qrx_alloc_page(pool)
#define page_pool_put_full_page(pool, page, direct)	qrx_put_page(pool, page, direct)
#define page_pool_get_dma_addr(page)			((uintptr_t)page_address(page) + 1)
#define page_pool_destroy(pool)				qrx_destroy(pool)
#define netif_napi_add(dev, napi, poll)			qrx_called('a')
#define netif_napi_del(napi)				qrx_called('z')
#define napi_enable(napi)		qrx_called((napi) == &qrx_fix->cm.tx_napi ? 't' : 'n')
#define napi_disable(napi)		qrx_called((napi) == &qrx_fix->cm.tx_napi ? 'T' : 'd')
#define synchronize_net()				qrx_called('y')
#define mod_delayed_work(wq, work, delay)		qrx_work(work)
#define schedule_timeout_uninterruptible(time)		qrx_nap(time)
#define ipoib_ud_schedule(napi)				qrx_called('s')
#define ipoib_moder_again(moder, usecs)			(qrx_fix->again = (usecs))
#define ipoib_rx_alloc_skb(napi, len)			qrx_alloc_skb(len)
#define net_ratelimit()					false
#define netdev_warn(dev, args...)			((void)(dev))
#define netdev_warn_once(dev, args...)			((void)(dev))
#define WARN_ON_ONCE(condition)				qrx_warn(condition)
#define kvmalloc_array(n, size, gfp)			qrx_alloc((n) * (size), 0x5a)
#define kzalloc(size, gfp)				qrx_alloc(size, 0)

struct qrx_fixture;

/* The fixture of the running case */
static struct qrx_fixture *qrx_fix;
/* Pools of single pages, and of pieces of four pages */
static struct page_pool qrx_pools[2];
/* Allocations that succeed, and how many are not freed */
static unsigned int qrx_allocs;
static int qrx_held;

static void *qrx_alloc(size_t size, u8 octet)
{
	void *mem = qrx_allocs ? kvmalloc(size, GFP_KERNEL) : NULL;

	if (!mem)
		return NULL;
	qrx_allocs--;
	qrx_held++;
	return memset(mem, octet, size);
}

static void qrx_free(const void *mem)
{
	if (mem)
		qrx_held--;
	kvfree(mem);
}

static void qrx_called(char what);
static struct ib_srq *qrx_create_srq(const struct ib_srq_init_attr *attr);
static struct ib_cq *qrx_create_cq(ib_comp_handler comp,
				   void (*event)(struct ib_event *event, void *ctx), void *ctx,
				   const struct ib_cq_init_attr *attr);
static void qrx_sync_cpu(const struct ib_device *ca, size_t len, enum dma_data_direction dir);
static void qrx_sync_device(const struct ib_device *ca, u64 addr, size_t len,
			    enum dma_data_direction dir);
static struct page *qrx_alloc_page(struct page_pool *pool);
static void qrx_put_page(struct page_pool *pool, struct page *page, bool direct);
static void qrx_destroy(struct page_pool *pool);
static bool qrx_work(const struct delayed_work *work);
static void qrx_nap(long time);
static struct sk_buff *qrx_alloc_skb(unsigned int len);
static bool qrx_warn(bool holds);

#include "cm/cm.h"

/* Receives of the SRQ, unless a case has another number; posted receives that the HCA keeps */
#define QRX_SIZE	64
#define QRX_POSTS	128

/* A posted receive. */
struct qrx_post {
	u64 id;
	int nsge;
	struct ib_sge sge[IPOIB_CM_PAGES];
};

/**
 * struct qrx_fixture - fixture of a case
 * @cm: connected mode of @priv, for RC
 * @priv: an interface that is up
 * @choice: offers RC
 * @conn: connections of @peer, both with the first receive queue
 * @peer: the other end
 * @ca: an HCA, of five pages for a receive
 * @pd: protection domain
 * @srq: the SRQ
 * @qp: QP of the first of @conn
 * @cq: CQs, of which @ncqs exist
 * @ncqs: number of CQs
 * @calls: letters of calls
 * @ncalls: number of them
 * @fails: letter of what fails: p and l are pools, digits are CQs
 * @srq_attr: attributes of the SRQ
 * @cq_attr: attributes of the CQs
 * @comp: completion handler of the last CQ
 * @event: event handler of the last CQ
 * @pool_size: sizes of the pools
 * @pool_napi: their handlers
 * @pages: pieces that each pool still has
 * @allocs: pieces taken from each pool
 * @frees: pieces returned to it
 * @up: pieces that went up the stack
 * @wrong: pieces returned to the other pool, or at once; wrong arguments of syncs and pools
 * @virt: addresses for the HCA are those of the kernel
 * @synced: address last given to the HCA
 * @nsynced: times of that
 * @synced_len: octets of the last one
 * @read: octets taken back from the HCA
 * @posted: receives posted, the last QRX_POSTS
 * @nposted: number of receives posted so far
 * @ntaken: number of receives completed so far
 * @accepts: receives that the HCA still accepts
 * @chain: receives of each of the first posts
 * @nchains: number of posts
 * @queue: the queue of the last post
 * @from: QP of all completions
 * @todo: completions to come
 * @poll_err: result of polls, if it is negative
 * @bad_id: number of the receive of the next completion, or 0
 * @status: status of all completions
 * @len: their octets
 * @proto: their EtherType
 * @wants: limits of the first polls, in completions
 * @posted_at: receives posted before each of these polls
 * @npolls: number of polls
 * @no_skb: there is no memory for a frame
 * @room: octets of the linear part of the last frame
 * @truesize: &sk_buff.truesize of it without fragments
 * @skb: the last frame that went up the stack
 * @recycle: its pages go back to a pool
 * @napi: its handler
 * @frames: number of such frames
 * @passes: ARP passes the limit
 * @node: node of the last call of ipoib_rx_police()
 * @polices: calls of ipoib_rx_police()
 * @gid_known: the frame had a GID then
 * @tx_conns: connections for which send CQs have room
 * @most: packets without a report, at most
 * @update_fails: number of the change of moderation that fails, from 1, or 0
 * @done: completions of the last complete run of a handler
 * @again: delay of the timer that repeats a post, in microseconds
 * @works: times that the work of the SRQ was queued
 * @kicks: times that the work of a connection was queued
 * @releases: connections freed
 * @naps: jiffies of pauses
 * @warns: warnings
 * @stats: counters
 */
struct qrx_fixture {
	struct ipoib_cm cm;
	struct ipoib_dev priv;
	struct ipoib_cm_choice choice;
	struct ipoib_conn conn[2];
	struct ipoib_peer peer;
	struct ib_device ca;
	struct ib_pd pd;
	struct ib_srq srq;
	struct ib_qp qp;
	struct ib_cq cq[IPOIB_CM_RXQS];
	unsigned int ncqs;
	char calls[64];
	unsigned int ncalls;
	char fails;
	struct ib_srq_init_attr srq_attr;
	struct ib_cq_init_attr cq_attr[IPOIB_CM_RXQS];
	ib_comp_handler comp;
	void (*event)(struct ib_event *event, void *ctx);
	unsigned int pool_size[2];
	struct napi_struct *pool_napi[2];
	unsigned int pages[2];
	unsigned int allocs[2];
	unsigned int frees[2];
	unsigned int up[2];
	unsigned int wrong;
	bool virt;
	u64 synced;
	unsigned int nsynced;
	size_t synced_len;
	size_t read;
	struct qrx_post posted[QRX_POSTS];
	unsigned int nposted;
	unsigned int ntaken;
	unsigned int accepts;
	unsigned int chain[8];
	unsigned int nchains;
	const void *queue;
	struct ib_qp *from;
	unsigned int todo;
	int poll_err;
	u64 bad_id;
	enum ib_wc_status status;
	unsigned int len;
	u16 proto;
	int wants[8];
	unsigned int posted_at[8];
	unsigned int npolls;
	bool no_skb;
	unsigned int room;
	unsigned int truesize;
	struct sk_buff *skb;
	bool recycle;
	struct napi_struct *napi;
	unsigned int frames;
	bool passes;
	u32 node;
	unsigned int polices;
	bool gid_known;
	unsigned int tx_conns;
	unsigned int most;
	unsigned int update_fails;
	int done;
	unsigned int again;
	unsigned int works;
	unsigned int kicks;
	unsigned int releases;
	unsigned int naps;
	unsigned int warns;
	s64 stats[IPOIB_NR_STATS];
};

static void qrx_called(char what)
{
	if (qrx_fix->ncalls < sizeof(qrx_fix->calls) - 1)
		qrx_fix->calls[qrx_fix->ncalls++] = what;
}

/* Compare the calls since the last comparison. */
static void qrx_expect(struct kunit *test, const char *want)
{
	ipoib_expect_calls(test, qrx_fix->calls, want);
	qrx_fix->ncalls = 0;
}

/* ---- functions of the driver ---- */

int ipoib_recvq_size = QRX_SIZE;

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	qrx_fix->stats[stat] += n;
}

void ipoib_stat_traffic(struct ipoib_dev *priv, enum ipoib_stat packets, s64 npackets, s64 nbytes)
{
	qrx_fix->stats[packets] += npackets;
	qrx_fix->stats[packets + IPOIB_RX_BYTES - IPOIB_RX_PACKETS] += nbytes;
}

void ipoib_moder_init(struct ipoib_moder *moder, struct ib_cq *cq, struct napi_struct *napi,
		      const struct ipoib_moderation *setting, unsigned int most)
{
	memset(moder, 0, sizeof(*moder));
	moder->cq = cq;
	moder->napi = napi;
	moder->setting = setting;
	qrx_fix->most = most;
	qrx_called('m');
}

void ipoib_moder_exit(struct ipoib_moder *moder)
{
	qrx_called('x');
}

int ipoib_moder_update(struct ipoib_moder *moder)
{
	qrx_called('u');
	return qrx_fix->update_fails && !--qrx_fix->update_fails ? -EINVAL : 0;
}

void ipoib_moder_complete(struct ipoib_moder *moder, int done)
{
	qrx_fix->done = done;
	qrx_called('e');
}

static void qrx_free_skb(struct sk_buff *skb)
{
	unsigned int i;

	if (!skb)
		return;
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++)
		qrx_fix->up[page_size(skb_frag_page(&skb_shinfo(skb)->frags[i])) > PAGE_SIZE]++;
	/* These pages belong to no pool. */
	skb->pp_recycle = 0;
	kfree_skb(skb);
}

bool ipoib_rx_police(struct ipoib_dev *priv, struct sk_buff *skb, u32 node)
{
	const struct ipoib_header *header = (const void *)skb->data;

	qrx_fix->polices++;
	qrx_fix->node = node;
	qrx_fix->gid_known = memchr_inv(header->lladdr.gid, 0, sizeof(header->lladdr.gid));
	if (!qrx_fix->passes)
		qrx_free_skb(skb);
	return qrx_fix->passes;
}

void ipoib_rx_deliver(struct ipoib_dev *priv, struct napi_struct *napi, struct sk_buff *skb)
{
	qrx_free_skb(qrx_fix->skb);
	qrx_fix->skb = skb;
	qrx_fix->recycle = skb->pp_recycle;
	qrx_fix->napi = napi;
	qrx_fix->frames++;
}

struct page_pool *ipoib_pool_create(struct ib_device *ca, struct net_device *dev,
				    struct napi_struct *napi, unsigned int flags,
				    unsigned int order, unsigned int size)
{
	char what = order ? 'l' : 'p';

	if (qrx_fix->fails == what || (order && order != 2))
		return ERR_PTR(-ENOMEM);
	qrx_fix->wrong += ca != &qrx_fix->ca || dev || flags;
	qrx_fix->pool_size[!!order] = size;
	qrx_fix->pool_napi[!!order] = napi;
	qrx_called(what);
	return &qrx_pools[!!order];
}

void ipoib_conn_release(struct kref *ref)
{
	qrx_fix->releases++;
}

unsigned int ipoib_cm_tx_conns(const struct ipoib_dev *priv)
{
	return qrx_fix->tx_conns;
}

void ipoib_cm_tx_release(struct ipoib_cm *cm)
{
	qrx_called('r');
}

/* ---- HCA, pools, works ---- */

static struct ib_srq *qrx_create_srq(const struct ib_srq_init_attr *attr)
{
	qrx_fix->srq_attr = *attr;
	qrx_called('Q');
	return &qrx_fix->srq;
}

static struct ib_cq *qrx_create_cq(ib_comp_handler comp,
				   void (*event)(struct ib_event *event, void *ctx), void *ctx,
				   const struct ib_cq_init_attr *attr)
{
	unsigned int i = qrx_fix->ncqs;

	if (i == IPOIB_CM_RXQS || qrx_fix->fails == '0' + i)
		return ERR_PTR(-ENOSPC);
	qrx_fix->ncqs++;
	qrx_fix->cq_attr[i] = *attr;
	qrx_fix->comp = comp;
	qrx_fix->event = event;
	qrx_fix->cq[i].cq_context = ctx;
	qrx_called('c');
	return &qrx_fix->cq[i];
}

static void qrx_sync_cpu(const struct ib_device *ca, size_t len, enum dma_data_direction dir)
{
	qrx_fix->wrong += ca != &qrx_fix->ca || dir != DMA_FROM_DEVICE;
	qrx_fix->read += len;
}

static void qrx_sync_device(const struct ib_device *ca, u64 addr, size_t len,
			    enum dma_data_direction dir)
{
	qrx_fix->wrong += ca != &qrx_fix->ca || dir != DMA_FROM_DEVICE;
	qrx_fix->synced = addr;
	qrx_fix->synced_len = len;
	qrx_fix->nsynced++;
}

static struct page *qrx_alloc_page(struct page_pool *pool)
{
	unsigned int i = pool - qrx_pools;
	struct page *page;

	if (!qrx_fix->pages[i])
		return NULL;
	page = alloc_pages(GFP_ATOMIC | __GFP_COMP, i ? 2 : 0);
	if (!page)
		return NULL;
	qrx_fix->pages[i]--;
	qrx_fix->allocs[i]++;
	return page;
}

static void qrx_put_page(struct page_pool *pool, struct page *page, bool direct)
{
	unsigned int i = pool - qrx_pools;

	qrx_fix->frees[i]++;
	qrx_fix->wrong += direct || page_size(page) != (i ? 4 * PAGE_SIZE : PAGE_SIZE);
	put_page(page);
}

static void qrx_destroy(struct page_pool *pool)
{
	if (pool)
		qrx_called(pool == &qrx_pools[0] ? 'P' : 'L');
}

/* The work is queued already: the caller drops its reference. */
static bool qrx_work(const struct delayed_work *work)
{
	if (work == &qrx_fix->cm.rx_work)
		qrx_fix->works++;
	else
		qrx_fix->kicks++;
	return true;
}

/* The handler runs during a pause. */
static void qrx_nap(long time)
{
	qrx_fix->naps += time;
	qrx_fix->cm.rxq[0].rounds++;
}

static struct sk_buff *qrx_alloc_skb(unsigned int len)
{
	struct sk_buff *skb = qrx_fix->no_skb ? NULL : alloc_skb(len, GFP_ATOMIC);

	qrx_fix->room = len;
	if (skb) {
		qrx_fix->truesize = skb->truesize;
		skb->pkt_type = PACKET_OTHERHOST;
	}
	return skb;
}

static bool qrx_warn(bool holds)
{
	qrx_fix->warns += holds;
	return holds;
}

static int qrx_post(const void *queue, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	unsigned int n = qrx_fix->nchains++;
	struct qrx_post *post;

	qrx_fix->queue = queue;
	for (; wr; wr = wr->next) {
		*bad = wr;
		if (!qrx_fix->accepts || (unsigned int)wr->num_sge > IPOIB_CM_PAGES)
			return -ENOMEM;
		qrx_fix->accepts--;
		post = &qrx_fix->posted[qrx_fix->nposted++ % QRX_POSTS];
		post->id = wr->wr_id;
		post->nsge = wr->num_sge;
		memcpy(post->sge, wr->sg_list, wr->num_sge * sizeof(post->sge[0]));
		if (n < ARRAY_SIZE(qrx_fix->chain))
			qrx_fix->chain[n]++;
	}
	return 0;
}

static int qrx_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad)
{
	return qrx_post(srq, wr, bad);
}

static int qrx_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	return qrx_post(qp, wr, bad);
}

/* Octet of a message: its EtherType, two reserved octets, then numbers */
static u8 qrx_octet(unsigned int i)
{
	return i < 2 ? qrx_fix->proto >> (i ? 0 : 8) : i % 251;
}

static void qrx_write(const struct qrx_post *post)
{
	unsigned int i, k, at = 0;
	u8 *to;

	for (i = 0; i < post->nsge; i++) {
		to = (u8 *)(uintptr_t)post->sge[i].addr;
		for (k = 0; k < post->sge[i].length && at < qrx_fix->len; k++, at++)
			to[k] = qrx_octet(at);
	}
}

static int qrx_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	const struct qrx_post *post;
	int i;

	if (qrx_fix->npolls < ARRAY_SIZE(qrx_fix->wants)) {
		qrx_fix->wants[qrx_fix->npolls] = n;
		qrx_fix->posted_at[qrx_fix->npolls] = qrx_fix->nposted;
	}
	qrx_fix->npolls++;
	if (qrx_fix->poll_err)
		return qrx_fix->poll_err;
	for (i = 0; i < n && qrx_fix->todo && qrx_fix->ntaken != qrx_fix->nposted; i++) {
		post = &qrx_fix->posted[qrx_fix->ntaken++ % QRX_POSTS];
		qrx_fix->todo--;
		memset(&wc[i], 0, sizeof(wc[i]));
		wc[i].wr_id = qrx_fix->bad_id ?: post->id;
		wc[i].status = qrx_fix->status;
		wc[i].byte_len = qrx_fix->len;
		wc[i].qp = qrx_fix->from;
		qrx_write(post);
	}
	return i;
}

#define kvfree(mem)	qrx_free(mem)
#define kfree(mem)	qrx_free(mem)

#include "cm/rx.c"

#undef kvfree
#undef kfree

/* ---- the fixture ---- */

static int qrx_init(struct kunit *test)
{
	struct qrx_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	qrx_fix = fix;
	qrx_allocs = 1000;
	qrx_held = 0;
	fix->ca.ops.post_srq_recv = qrx_post_srq_recv;
	fix->ca.ops.post_recv = qrx_post_recv;
	fix->ca.ops.poll_cq = qrx_poll_cq;
	fix->ca.ops.driver_id = RDMA_DRIVER_MLX5;
	fix->ca.attrs.max_srq = 1;
	fix->ca.attrs.max_srq_wr = 1000;
	fix->ca.attrs.max_srq_sge = 5;
	fix->ca.attrs.max_recv_sge = 5;
	fix->ca.attrs.max_cqe = 1 << 20;
	fix->ca.num_comp_vectors = 1;
	fix->pd.device = &fix->ca;
	fix->pd.local_dma_lkey = 0x1234;
	fix->srq.device = &fix->ca;
	for (i = 0; i < IPOIB_CM_RXQS; i++) {
		fix->cq[i].device = &fix->ca;
		fix->cq[i].cqe = 1000;
	}
	fix->priv.ca = &fix->ca;
	fix->priv.pd = &fix->pd;
	fix->priv.cm = &fix->cm;
	set_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	fix->choice.offers = IPOIB_LLADDR_RC;
	fix->cm.priv = &fix->priv;
	fix->cm.choice = &fix->choice;
	fix->cm.srq_size = QRX_SIZE;
	fix->cm.nconns = 1;
	spin_lock_init(&fix->cm.lock);
	mutex_init(&fix->cm.mutex);
	INIT_LIST_HEAD(&fix->cm.conns);
	INIT_LIST_HEAD(&fix->cm.closing);
	ipoib_cm_rx_init(&fix->cm);
	fix->peer.addr.flags_qpn = cpu_to_be32(0x4711);
	memset(fix->peer.addr.gid, 0xab, sizeof(fix->peer.addr.gid));
	for (i = 0; i < ARRAY_SIZE(fix->conn); i++) {
		fix->conn[i].cm = &fix->cm;
		fix->conn[i].peer = &fix->peer;
		fix->conn[i].rxq = &fix->cm.rxq[0];
		fix->conn[i].state = IPOIB_CONN_ESTABLISHED;
		fix->conn[i].transport = IPOIB_LLADDR_RC;
		kref_init(&fix->conn[i].ref);
	}
	fix->conn[0].qp = &fix->qp;
	fix->qp.device = &fix->ca;
	fix->qp.qp_context = &fix->conn[0];
	fix->from = &fix->qp;
	fix->accepts = 1000;
	fix->pages[0] = 1000;
	fix->pages[1] = 1000;
	fix->virt = true;
	fix->len = 100;
	fix->proto = ETH_P_IP;
	fix->passes = true;
	fix->tx_conns = 16384;
	memset(fix->calls, 0, sizeof(fix->calls));
	fix->ncalls = 0;
	test->priv = fix;
	return 0;
}

static void qrx_free_queues(struct qrx_fixture *fix)
{
	mutex_lock(&fix->cm.mutex);
	ipoib_cm_rx_release(&fix->cm);
	mutex_unlock(&fix->cm.mutex);
}

static void qrx_exit(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	unsigned int i;

	ipoib_cm_rx_remove(&fix->conn[0]);
	qrx_free_queues(fix);
	qrx_free_skb(fix->skb);
	/* Nothing is left, and references of connections are as before. */
	for (i = 0; i < ARRAY_SIZE(fix->allocs); i++)
		KUNIT_EXPECT_EQ(test, fix->allocs[i], fix->frees[i] + fix->up[i]);
	KUNIT_EXPECT_EQ(test, fix->wrong, 0u);
	KUNIT_EXPECT_EQ(test, fix->warns, 0u);
	KUNIT_EXPECT_EQ(test, qrx_held, 0);
	KUNIT_EXPECT_EQ(test, fix->releases, 0u);
	for (i = 0; i < ARRAY_SIZE(fix->conn); i++)
		KUNIT_EXPECT_EQ(test, kref_read(&fix->conn[i].ref), 1u);
	kvfree(fix);
}

static int qrx_get(struct qrx_fixture *fix)
{
	int err;

	mutex_lock(&fix->cm.mutex);
	err = ipoib_cm_rx_get(&fix->cm);
	mutex_unlock(&fix->cm.mutex);
	return err;
}

/* Make the queues, for a number of connections, and forget the calls. */
static void qrx_start(struct kunit *test, unsigned int nconns)
{
	struct qrx_fixture *fix = test->priv;

	fix->cm.nconns = nconns;
	KUNIT_EXPECT_EQ(test, qrx_get(fix), 0);
	memset(fix->calls, 0, sizeof(fix->calls));
	fix->ncalls = 0;
}

/* Complete @n receives in a call of the handler. Return: what it returns */
static int qrx_call(struct qrx_fixture *fix, unsigned int n, int budget)
{
	int done;

	fix->todo = n;
	fix->npolls = 0;
	local_bh_disable();
	done = ipoib_cm_rx_poll(&fix->cm.rxq[0].napi, budget);
	local_bh_enable();
	return done;
}

/* Receives that the HCA has */
static unsigned int qrx_posted(const struct qrx_fixture *fix)
{
	return fix->nposted - fix->ntaken;
}

/* Without SRQ: the first connection has receives of its own. Return: result of ipoib_cm_rx_add() */
static int qrx_add_own(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	fix->ca.attrs.max_srq = 0;
	fix->cm.srq_size = 0;
	qrx_start(test, 1);
	return ipoib_cm_rx_add(&fix->conn[0]);
}

/* ---- limits ---- */

/* The least of what send CQs, receive CQs, and two parameters allow */
static void qrx_limits(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, ipoib_cm_limit(&fix->cm), 12000u);
	fix->tx_conns = 96;
	KUNIT_EXPECT_EQ(test, ipoib_cm_limit(&fix->cm), 96u);
	fix->cm.srq_size = 0;
	KUNIT_EXPECT_EQ(test, ipoib_cm_limit(&fix->cm), 96u);
	fix->tx_conns = 16384;
	KUNIT_EXPECT_EQ(test, ipoib_cm_limit(&fix->cm), 128u);
	fix->ca.attrs.max_cqe = 800;
	KUNIT_EXPECT_EQ(test, ipoib_cm_limit(&fix->cm), 50u);
	fix->cm.srq_size = 1;
	KUNIT_EXPECT_EQ(test, ipoib_cm_limit(&fix->cm), 12000u);
}

/* A parameter out of range is clamped, and one that is no number is refused. */
static void qrx_param(struct kunit *test)
{
	const struct kernel_param param = { .arg = &ipoib_cm_max_own };
	struct qrx_fixture *fix = test->priv;

	fix->cm.srq_size = 0;
	fix->tx_conns = 20000;
	KUNIT_EXPECT_EQ(test, qrx_param_ops->set("20000", &param), 0);
	KUNIT_EXPECT_EQ(test, ipoib_cm_room(&fix->cm), 16384u);
	KUNIT_EXPECT_EQ(test, qrx_param_ops->set("-5", &param), 0);
	KUNIT_EXPECT_EQ(test, ipoib_cm_room(&fix->cm), 0u);
	KUNIT_EXPECT_EQ(test, qrx_param_ops->set("100", &param), 0);
	KUNIT_EXPECT_EQ(test, ipoib_cm_room(&fix->cm), 100u);
	KUNIT_EXPECT_EQ(test, qrx_param_ops->set("many", &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, ipoib_cm_room(&fix->cm), 100u);
	ipoib_cm_max_own = 128;
}

/* As many pages as a receive has SGEs, up to 65520 octets and the header */
static void qrx_mtu(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	fix->ca.attrs.max_srq_sge = 1000;
	fix->ca.attrs.max_recv_sge = 3;
	KUNIT_EXPECT_EQ(test, ipoib_cm_rx_mtu(&fix->priv), 65524u);
	fix->ca.attrs.max_srq_sge = 2;
	KUNIT_EXPECT_EQ(test, ipoib_cm_rx_mtu(&fix->priv),
			(unsigned int)min(2 * PAGE_SIZE, 65524ul));
	fix->cm.srq_size = 0;
	KUNIT_EXPECT_EQ(test, ipoib_cm_rx_mtu(&fix->priv),
			(unsigned int)min(3 * PAGE_SIZE, 65524ul));
}

/* ---- SRQ, CQs and pools ---- */

/* A receive queue for each vector, four at most */
static void qrx_queues(struct kunit *test)
{
	static const struct {
		int vectors;
		const char *calls[2];
	} rows[] = {
		{ 0, { "a", "z" } },
		{ 1, { "a", "z" } },
		{ 3, { "aaa", "zzz" } },
		{ 4, { "aaaa", "zzzz" } },
		{ 9, { "aaaa", "zzzz" } },
	};
	struct qrx_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->ca.num_comp_vectors = rows[i].vectors;
		ipoib_cm_rx_init(&fix->cm);
		qrx_expect(test, rows[i].calls[0]);
		KUNIT_EXPECT_EQ(test, (size_t)fix->cm.nrxq, strlen(rows[i].calls[0]));
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[fix->cm.nrxq - 1].cm, &fix->cm);
		ipoib_cm_rx_exit(&fix->cm);
		qrx_expect(test, rows[i].calls[1]);
	}
}

/* All that connections share is made once, with the first. */
static void qrx_made(struct kunit *test)
{
	static const u32 vectors[] = { 1, 3, 0, 1 };
	struct qrx_fixture *fix = test->priv;
	struct ipoib_cm_rx *rx = &fix->cm.rx;
	unsigned int i;

	fix->ca.num_comp_vectors = 4;
	fix->priv.vector = 1;
	ipoib_cm_rx_init(&fix->cm);
	qrx_expect(test, "aaaa");
	fix->cm.rxq[2].since = 99;
	KUNIT_EXPECT_EQ(test, qrx_get(fix), 0);
	qrx_expect(test, "Qplcmcmcmcmtnsnsnsns");
	KUNIT_EXPECT_EQ(test, fix->srq_attr.attr.max_wr, 64u);
	KUNIT_EXPECT_EQ(test, fix->srq_attr.attr.max_sge, 5u);
	KUNIT_EXPECT_TRUE(test, fix->srq_attr.srq_type == IB_SRQT_BASIC);
	KUNIT_EXPECT_PTR_EQ(test, rx->bufs.srq, &fix->srq);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, (unsigned int)fix->cq_attr[i].cqe, 64u);
		KUNIT_EXPECT_EQ(test, fix->cq_attr[i].comp_vector, vectors[i]);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[i].cq, &fix->cq[i]);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[i].moder.cq, &fix->cq[i]);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[i].moder.napi, &fix->cm.rxq[i].napi);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[i].moder.setting, &fix->priv.moderation);
		KUNIT_EXPECT_EQ(test, fix->cm.rxq[i].since, 0u);
	}
	KUNIT_EXPECT_EQ(test, fix->most, 8u);
	KUNIT_EXPECT_EQ(test, rx->npages, 5u);
	KUNIT_EXPECT_EQ(test, rx->margin, 8u);
	KUNIT_EXPECT_PTR_EQ(test, rx->pool, &qrx_pools[0]);
	KUNIT_EXPECT_PTR_EQ(test, rx->large, &qrx_pools[1]);
	/* A receive for the connection, and the margin */
	KUNIT_EXPECT_EQ(test, qrx_posted(fix), 9u);
	KUNIT_EXPECT_EQ(test, rx->bufs.nfree, 55u);
	KUNIT_EXPECT_EQ(test, qrx_get(fix), 0);
	qrx_expect(test, "");
	KUNIT_EXPECT_EQ(test, qrx_posted(fix), 9u);
	qrx_free_queues(fix);
	qrx_expect(test, "ddddTyrSxCxCxCxCLP");
	KUNIT_EXPECT_EQ(test, fix->cm.nrxq, 4u);
}

/* Pieces that a pool caches, and the only handler that takes them */
static void qrx_pool_sizes(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	qrx_start(test, 1);
	KUNIT_EXPECT_EQ(test, fix->pool_size[0], 320u);
	KUNIT_EXPECT_EQ(test, fix->pool_size[1], 80u);
	KUNIT_EXPECT_PTR_EQ(test, fix->pool_napi[0], &fix->cm.rxq[0].napi);
	KUNIT_EXPECT_PTR_EQ(test, fix->pool_napi[1], &fix->cm.rxq[0].napi);
	qrx_free_queues(fix);
	/* No large pieces where one would be all but the first page */
	fix->ncqs = 0;
	fix->ca.attrs.max_srq_sge = 4;
	KUNIT_EXPECT_EQ(test, qrx_get(fix), 0);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.large, NULL);
	KUNIT_EXPECT_EQ(test, fix->pool_size[0], 256u);
	qrx_free_queues(fix);
	/* No more than 1024 pages; several handlers */
	fix->ncqs = 0;
	fix->ca.attrs.max_srq_sge = 17;
	fix->ca.num_comp_vectors = 2;
	ipoib_cm_rx_init(&fix->cm);
	qrx_start(test, 1);
	KUNIT_EXPECT_EQ(test, fix->pool_size[0], 1024u);
	KUNIT_EXPECT_EQ(test, fix->pool_size[1], 256u);
	KUNIT_EXPECT_PTR_EQ(test, fix->pool_napi[0], NULL);
}

/* A failure leaves nothing, and the next SRQ has the full size. */
static void qrx_unmade(struct kunit *test)
{
	static const struct {
		char fails;
		unsigned int allocs;
		int err;
		const char *calls;
	} rows[] = {
		{ 0, 0, -ENOMEM, "QS" },
		{ 0, 1, -ENOMEM, "QS" },
		{ 'p', 9, -ENOMEM, "QS" },
		{ '0', 9, -ENOSPC, "QplSLP" },
	};
	struct qrx_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->fails = rows[i].fails;
		qrx_allocs = rows[i].allocs;
		fix->cm.srq_size = 32;
		KUNIT_EXPECT_EQ(test, qrx_get(fix), rows[i].err);
		qrx_expect(test, rows[i].calls);
		KUNIT_EXPECT_EQ(test, fix->cm.srq_size, 64u);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[0].cq, NULL);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.pool, NULL);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.large, NULL);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.bufs.srq, NULL);
		KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.bufs.slots, NULL);
		KUNIT_EXPECT_EQ(test, fix->cm.rx.bufs.size, 0u);
		KUNIT_EXPECT_EQ(test, qrx_held, 0);
		KUNIT_EXPECT_EQ(test, fix->nposted, 0u);
	}
}

/* The pool of large pieces, and CQs but the first, are not required. */
static void qrx_fewer(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	fix->ca.num_comp_vectors = 3;
	ipoib_cm_rx_init(&fix->cm);
	qrx_expect(test, "aaa");
	fix->fails = '1';
	KUNIT_EXPECT_EQ(test, qrx_get(fix), 0);
	qrx_expect(test, "Qplcmtnsnn");
	qrx_free_queues(fix);
	qrx_expect(test, "dddTyrSxCLP");
	fix->ncqs = 0;
	fix->fails = 'l';
	KUNIT_EXPECT_EQ(test, qrx_get(fix), 0);
	qrx_expect(test, "Qpcmcmcmtnsnsns");
	KUNIT_EXPECT_EQ(test, fix->posted[9].nsge, 5);
	KUNIT_EXPECT_EQ(test, fix->posted[9].sge[1].length, (u32)PAGE_SIZE);
}

/* Handlers stop before queues, and all is freed, once. */
static void qrx_freed(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	fix->ca.num_comp_vectors = 2;
	ipoib_cm_rx_init(&fix->cm);
	qrx_start(test, 1);
	KUNIT_EXPECT_EQ(test, qrx_held, 2);
	fix->cm.srq_failed = true;
	fix->cm.srq_size = 32;
	qrx_free_queues(fix);
	qrx_expect(test, "ddTyrSxCxCLP");
	KUNIT_EXPECT_FALSE(test, fix->cm.srq_failed);
	KUNIT_EXPECT_EQ(test, fix->cm.srq_size, 64u);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[0].cq, NULL);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.rxq[1].cq, NULL);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.large, NULL);
	KUNIT_EXPECT_EQ(test, qrx_held, 0);
	KUNIT_EXPECT_EQ(test, fix->frees[0], 9u);
	KUNIT_EXPECT_EQ(test, fix->frees[1], 9u);
	qrx_free_queues(fix);
	qrx_expect(test, "");
}

/* A CQ that still has connections is worth a warning. */
static void qrx_early(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	qrx_start(test, 1);
	fix->cm.rxq[0].conns = 1;
	qrx_free_queues(fix);
	KUNIT_EXPECT_EQ(test, fix->warns, 1u);
	fix->cm.rxq[0].conns = 0;
	fix->warns = 0;
}

/* The work frees queues without connections, and closes all connections after a failure. */
static void qrx_works(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	list_add(&fix->conn[0].list, &fix->cm.conns);
	list_add(&fix->conn[1].list, &fix->cm.closing);
	qrx_start(test, 2);
	ipoib_cm_rx_work(&fix->cm.rx_work.work);
	qrx_expect(test, "");
	KUNIT_EXPECT_EQ(test, fix->kicks, 0u);
	fix->cm.srq_failed = true;
	ipoib_cm_rx_work(&fix->cm.rx_work.work);
	qrx_expect(test, "");
	KUNIT_EXPECT_EQ(test, fix->kicks, 2u);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_EV_FAILED, &fix->conn[0].flags));
	KUNIT_EXPECT_EQ(test, fix->conn[1].flags, 0ul);
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&fix->cm.lock));
	fix->cm.nconns = 0;
	ipoib_cm_rx_work(&fix->cm.rx_work.work);
	qrx_expect(test, "dTyrSxCLP");
	KUNIT_EXPECT_FALSE(test, fix->cm.srq_failed);
	KUNIT_EXPECT_EQ(test, fix->kicks, 2u);
}

/* An event of a CQ runs its handler; an error of a CQ or the SRQ has all replaced, once. */
static void qrx_events(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	struct ib_event event = { .event = IB_EVENT_SRQ_LIMIT_REACHED };

	qrx_start(test, 1);
	fix->comp(&fix->cq[0], fix->cq[0].cq_context);
	qrx_expect(test, "s");
	KUNIT_EXPECT_EQ(test, (unsigned int)fix->cm.rxq[0].moder.events, 1u);
	fix->srq_attr.event_handler(&event, fix->srq_attr.srq_context);
	KUNIT_EXPECT_FALSE(test, fix->cm.srq_failed);
	event.event = IB_EVENT_SRQ_ERR;
	fix->srq_attr.event_handler(&event, fix->srq_attr.srq_context);
	KUNIT_EXPECT_TRUE(test, fix->cm.srq_failed);
	KUNIT_EXPECT_EQ(test, fix->works, 1u);
	fix->cm.srq_failed = false;
	event.event = IB_EVENT_CQ_ERR;
	fix->event(&event, fix->cq[0].cq_context);
	KUNIT_EXPECT_TRUE(test, fix->cm.srq_failed);
	KUNIT_EXPECT_EQ(test, fix->works, 2u);
	fix->event(&event, fix->cq[0].cq_context);
	KUNIT_EXPECT_EQ(test, fix->works, 2u);
}

/* New settings go to each CQ, up to the first that refuses them. */
static void qrx_moderated(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	ipoib_cm_moderate(&fix->priv);
	qrx_expect(test, "");
	fix->ca.num_comp_vectors = 4;
	ipoib_cm_rx_init(&fix->cm);
	qrx_start(test, 1);
	ipoib_cm_moderate(&fix->priv);
	qrx_expect(test, "uuuu");
	fix->update_fails = 2;
	ipoib_cm_moderate(&fix->priv);
	qrx_expect(test, "uu");
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&fix->cm.mutex));
}

/* A connection goes to the queue with the fewest, the first of equal ones, that has a CQ. */
static void qrx_assigned(struct kunit *test)
{
	static const unsigned int want[] = { 1, 2, 0, 1 };
	struct qrx_fixture *fix = test->priv;
	unsigned int i;

	fix->ca.num_comp_vectors = 4;
	ipoib_cm_rx_init(&fix->cm);
	fix->fails = '3';
	qrx_start(test, 1);
	fix->cm.rxq[0].conns = 2;
	fix->cm.rxq[1].conns = 1;
	fix->cm.rxq[2].conns = 1;
	mutex_lock(&fix->cm.mutex);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		ipoib_cm_rx_assign(&fix->conn[1]);
		KUNIT_EXPECT_PTR_EQ(test, fix->conn[1].rxq, &fix->cm.rxq[want[i]]);
	}
	mutex_unlock(&fix->cm.mutex);
	KUNIT_EXPECT_EQ(test, fix->cm.rxq[0].conns, 3u);
	KUNIT_EXPECT_EQ(test, fix->cm.rxq[1].conns, 3u);
	KUNIT_EXPECT_EQ(test, fix->cm.rxq[2].conns, 2u);
	KUNIT_EXPECT_EQ(test, fix->cm.rxq[3].conns, 0u);
	for (i = 0; i < IPOIB_CM_RXQS; i++)
		fix->cm.rxq[i].conns = 0;
}

/* ---- posted receives ---- */

/* Posts of 16 receives at most, each with a page and a piece of four, from the top of the stack */
static void qrx_filled(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	const struct qrx_post *post;
	unsigned int i;

	qrx_start(test, 20);
	KUNIT_EXPECT_EQ(test, fix->nposted, 28u);
	KUNIT_EXPECT_EQ(test, fix->nchains, 2u);
	KUNIT_EXPECT_EQ(test, fix->chain[0], 16u);
	KUNIT_EXPECT_EQ(test, fix->chain[1], 12u);
	KUNIT_EXPECT_PTR_EQ(test, fix->queue, &fix->srq);
	KUNIT_EXPECT_EQ(test, fix->allocs[0], 28u);
	KUNIT_EXPECT_EQ(test, fix->allocs[1], 28u);
	for (i = 0; i < 28; i++) {
		post = &fix->posted[i];
		KUNIT_EXPECT_EQ(test, post->id, 63ull - i);
		KUNIT_EXPECT_EQ(test, post->nsge, 2);
		KUNIT_EXPECT_EQ(test, post->sge[0].length, (u32)PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, post->sge[1].length, (u32)(4 * PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, post->sge[0].lkey, 0x1234u);
		KUNIT_EXPECT_EQ(test, post->sge[1].lkey, 0x1234u);
		KUNIT_EXPECT_EQ(test, (post->sge[0].addr | post->sge[1].addr) & ~PAGE_MASK, 0ull);
		KUNIT_EXPECT_TRUE(test, post->sge[0].addr && post->sge[1].addr);
		KUNIT_EXPECT_TRUE(test, !i || post->sge[0].addr != post[-1].sge[0].addr);
		KUNIT_EXPECT_TRUE(test, !i || post->sge[1].addr != post[-1].sge[1].addr);
	}
	/* What a copy may have read */
	KUNIT_EXPECT_EQ(test, fix->nsynced, 28u);
	KUNIT_EXPECT_EQ(test, fix->synced, fix->posted[27].sge[0].addr);
	KUNIT_EXPECT_EQ(test, fix->synced_len,
			(size_t)(4 + max_t(unsigned int, 256, PAGE_SIZE / 16)));
	qrx_free_queues(fix);
	/* Addresses of a real HCA are those of the pool. */
	fix->ncqs = 0;
	fix->virt = false;
	qrx_start(test, 1);
	KUNIT_EXPECT_EQ(test, fix->posted[28].sge[0].addr & ~PAGE_MASK, 1ull);
	KUNIT_EXPECT_EQ(test, fix->posted[28].sge[1].addr & ~PAGE_MASK, 1ull);
}

/* Single pages take the place of large pieces, all of a receive. */
static void qrx_fragmented(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	unsigned int i, k;

	fix->ca.attrs.max_srq_sge = 9;
	/* The first receive gets one of its two. */
	fix->pages[1] = 1;
	qrx_start(test, 1);
	KUNIT_EXPECT_EQ(test, fix->nposted, 9u);
	for (i = 0; i < 9; i++) {
		KUNIT_EXPECT_EQ(test, fix->posted[i].nsge, 9);
		for (k = 0; k < 9; k++)
			KUNIT_EXPECT_EQ(test, fix->posted[i].sge[k].length, (u32)PAGE_SIZE);
	}
	KUNIT_EXPECT_EQ(test, fix->allocs[0], 81u);
	KUNIT_EXPECT_EQ(test, fix->allocs[1], 1u);
	KUNIT_EXPECT_EQ(test, fix->frees[1], 1u);
}

/* A receive that lacks pages keeps those it has, and is posted when there are more. */
static void qrx_starved(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	fix->pages[1] = 0;
	fix->pages[0] = 12;
	qrx_start(test, 1);
	KUNIT_EXPECT_EQ(test, fix->nposted, 2u);
	KUNIT_EXPECT_EQ(test, fix->cm.rx.bufs.nfree, 62u);
	/* A receive that no connection may hold leads to a completion; else there is a timer. */
	qrx_call(fix, 0, 64);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], 1ll);
	KUNIT_EXPECT_EQ(test, fix->again, 0u);
	fix->cm.nconns = 2;
	qrx_call(fix, 0, 64);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], 2ll);
	KUNIT_EXPECT_EQ(test, fix->again, 20000u);
	fix->pages[0] = 1000;
	qrx_call(fix, 0, 64);
	KUNIT_EXPECT_EQ(test, fix->nposted, 10u);
	KUNIT_EXPECT_EQ(test, fix->allocs[0], 50u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], 2ll);
	KUNIT_EXPECT_EQ(test, fix->posted[2].nsge, 5);
	KUNIT_EXPECT_EQ(test, fix->conn[0].flags, 0ul);
}

/* What the HCA refuses stays free, and is posted later. */
static void qrx_refused(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	fix->accepts = 0;
	qrx_start(test, 1);
	qrx_call(fix, 0, 64);
	KUNIT_EXPECT_EQ(test, fix->nposted, 0u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], 1ll);
	KUNIT_EXPECT_EQ(test, fix->again, 20000u);
	fix->accepts = 3;
	qrx_call(fix, 0, 64);
	KUNIT_EXPECT_EQ(test, fix->nposted, 3u);
	KUNIT_EXPECT_EQ(test, fix->cm.rx.bufs.nfree, 61u);
	fix->accepts = 1000;
	qrx_call(fix, 0, 64);
	KUNIT_EXPECT_EQ(test, fix->nposted, 9u);
	KUNIT_EXPECT_EQ(test, fix->posted[3].id, 60ull);
	KUNIT_EXPECT_EQ(test, fix->allocs[0], 9u);
}

/* Receives are posted again by batches of 16 during a poll, the rest after it. */
static void qrx_batches(struct kunit *test)
{
	static const unsigned int posted[] = { 48, 64, 80 };
	struct qrx_fixture *fix = test->priv;
	unsigned int i;

	qrx_start(test, 40);
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 32, 64), 32);
	KUNIT_EXPECT_EQ(test, fix->npolls, 3u);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, fix->wants[i], 16);
		KUNIT_EXPECT_EQ(test, fix->posted_at[i], posted[i]);
	}
	/* The burst has doubled the margin. */
	KUNIT_EXPECT_EQ(test, fix->cm.rx.margin, 16u);
	KUNIT_EXPECT_EQ(test, fix->nposted, 88u);
	KUNIT_EXPECT_EQ(test, fix->nchains, 6u);
	KUNIT_EXPECT_EQ(test, fix->frames, 32u);
	/* No more than the budget, and none of a CQ that fails */
	fix->cm.rx.margin = 64;
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 30, 20), 20);
	KUNIT_EXPECT_EQ(test, fix->npolls, 2u);
	KUNIT_EXPECT_EQ(test, fix->wants[1], 4);
	KUNIT_EXPECT_EQ(test, fix->todo, 10u);
	fix->poll_err = -EIO;
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 30, 20), 0);
	KUNIT_EXPECT_EQ(test, fix->npolls, 1u);
}

/* Receives beyond a target that fell are freed as they complete. */
static void qrx_shrinks(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	qrx_start(test, 20);
	fix->cm.nconns = 1;
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 3, 64), 3);
	KUNIT_EXPECT_EQ(test, fix->frames, 3u);
	KUNIT_EXPECT_EQ(test, fix->nposted, 28u);
	KUNIT_EXPECT_EQ(test, fix->cm.rx.bufs.nfree, 39u);
	KUNIT_EXPECT_EQ(test, fix->frees[0], 3u);
	KUNIT_EXPECT_EQ(test, fix->frees[1], 3u);
	/* At the target the receive keeps its pages, and is posted again. */
	fix->cm.nconns = 17;
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 1, 64), 1);
	KUNIT_EXPECT_EQ(test, fix->nposted, 29u);
	KUNIT_EXPECT_EQ(test, fix->frees[0], 3u);
}

/* A receive lost with its QP counts as a failure of the SRQ beyond a quarter of all. */
static void qrx_losses(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	struct ipoib_cm_bufs bufs = {};
	unsigned int i;

	qrx_start(test, 1);
	for (i = 0; i < 16; i++)
		ipoib_cm_rx_lost(&fix->conn[0]);
	KUNIT_EXPECT_EQ(test, fix->cm.rx.bufs.lost, 16u);
	KUNIT_EXPECT_FALSE(test, fix->cm.srq_failed);
	/* The handler posts others in their place. */
	qrx_expect(test, "ssssssssssssssss");
	ipoib_cm_rx_lost(&fix->conn[0]);
	KUNIT_EXPECT_TRUE(test, fix->cm.srq_failed);
	KUNIT_EXPECT_EQ(test, fix->works, 1u);
	/* Own receives go with their connection. */
	fix->conn[1].bufs = &bufs;
	ipoib_cm_rx_lost(&fix->conn[1]);
	KUNIT_EXPECT_EQ(test, fix->cm.rx.bufs.lost, 17u);
	qrx_expect(test, "s");
}

/* ---- frames ---- */

static void qrx_check_frame(struct kunit *test, unsigned int len)
{
	struct qrx_fixture *fix = test->priv;
	unsigned int most = 4 + max_t(unsigned int, 256, PAGE_SIZE / 16);
	unsigned int i, nfrags = len <= most ? 0 : len <= PAGE_SIZE ? 1 : 2;
	struct sk_buff *skb = fix->skb;
	bool same = true;
	u8 octet;

	KUNIT_EXPECT_TRUE(test, skb);
	if (!skb)
		return;
	KUNIT_EXPECT_EQ(test, skb->len, 20 + len);
	KUNIT_EXPECT_EQ(test, skb_headlen(skb), nfrags ? 24u : 20 + len);
	KUNIT_EXPECT_EQ(test, (unsigned int)skb_shinfo(skb)->nr_frags, nfrags);
	KUNIT_EXPECT_EQ(test, fix->recycle, nfrags > 0);
	KUNIT_EXPECT_EQ(test, fix->room, nfrags ? 24u + 128 : 20 + len);
	KUNIT_EXPECT_EQ(test, skb->truesize - fix->truesize,
			(unsigned int)(nfrags ? nfrags == 1 ? PAGE_SIZE : 5 * PAGE_SIZE : 0));
	KUNIT_EXPECT_EQ(test, (int)skb->pkt_type, PACKET_HOST);
	KUNIT_EXPECT_TRUE(test, !memcmp(skb->data, &fix->peer.addr, sizeof(fix->peer.addr)));
	for (i = 0; i < len; i++) {
		skb_copy_bits(skb, 20 + i, &octet, 1);
		same &= octet == qrx_octet(i);
	}
	KUNIT_EXPECT_TRUE(test, same);
	KUNIT_EXPECT_PTR_EQ(test, fix->napi, &fix->cm.rxq[0].napi);
}

/* A short message is copied; a longer one takes the pieces that it fills. */
static void qrx_frames(struct kunit *test)
{
	const unsigned int lens[] = {
		4, 100, 4 + max_t(unsigned int, 256, PAGE_SIZE / 16),
		5 + max_t(unsigned int, 256, PAGE_SIZE / 16),
		PAGE_SIZE, PAGE_SIZE + 1, 5 * PAGE_SIZE,
	};
	unsigned long before = jiffies - 2 * HZ;
	struct qrx_fixture *fix = test->priv;
	unsigned int i, octets = 0;

	qrx_start(test, 1);
	fix->conn[0].used = before;
	fix->peer.last_rx = before;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fix->len = lens[i];
		octets += lens[i];
		KUNIT_EXPECT_EQ(test, qrx_call(fix, 1, 64), 1);
		qrx_check_frame(test, lens[i]);
		KUNIT_EXPECT_EQ(test, fix->frames, i + 1);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], i + 1ll);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_CM_RX], i + 1ll);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_BYTES], (s64)octets);
		KUNIT_EXPECT_EQ(test, fix->read, (size_t)octets);
		KUNIT_EXPECT_EQ(test, qrx_posted(fix), 9u);
	}
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 0ll);
	KUNIT_EXPECT_TRUE(test, time_after(fix->conn[0].used, before + HZ));
	/* A message of RC proves nothing about sends, and no event follows. */
	KUNIT_EXPECT_EQ(test, fix->peer.last_rx, before);
	KUNIT_EXPECT_EQ(test, fix->conn[0].flags, 0ul);
	KUNIT_EXPECT_EQ(test, fix->polices, 0u);
}

/* Neither delivered nor counted as received: other lengths, an interface that is down, no memory */
static void qrx_dropped(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	qrx_start(test, 1);
	fix->len = 3;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 1ll);
	fix->len = 5 * PAGE_SIZE + 1;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 2ll);
	fix->len = 1000;
	fix->no_skb = true;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], 1ll);
	fix->no_skb = false;
	clear_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->frames, 0u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 2ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], 1ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_ERROR], 0ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 0ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_CM_RX], 0ll);
	KUNIT_EXPECT_EQ(test, fix->conn[0].flags, 0ul);
	/* Each receive is posted again, with its pages. */
	KUNIT_EXPECT_EQ(test, qrx_posted(fix), 9u);
	KUNIT_EXPECT_EQ(test, fix->allocs[0], 9u);
	/* The number of no receive is ignored. */
	set_bit(IPOIB_FLAG_UP, &fix->priv.flags);
	fix->bad_id = 64;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->warns, 1u);
	KUNIT_EXPECT_EQ(test, fix->frames, 0u);
	KUNIT_EXPECT_EQ(test, fix->cm.rx.bufs.nfree, 55u);
	fix->warns = 0;
}

/* ARP of a host that may have another's name has no GID, and is limited by the port. */
static void qrx_policed(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];

	qrx_start(test, 1);
	fix->proto = ETH_P_ARP;
	conn->port = 0x500000007ull;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->polices, 1u);
	KUNIT_EXPECT_EQ(test, fix->node, 7u);
	KUNIT_EXPECT_FALSE(test, fix->gid_known);
	KUNIT_EXPECT_EQ(test, fix->frames, 1u);
	conn->confirmed = true;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->polices, 2u);
	KUNIT_EXPECT_TRUE(test, fix->gid_known);
	KUNIT_EXPECT_EQ(test, fix->frames, 2u);
	fix->passes = false;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->polices, 3u);
	KUNIT_EXPECT_EQ(test, fix->frames, 2u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 2ll);
	KUNIT_EXPECT_EQ(test, qrx_posted(fix), 9u);
}

/* A message of UC proves that the peer is there, if it is from the peer's port. */
static void qrx_uc(struct kunit *test)
{
	unsigned long before = jiffies - 2 * HZ;
	struct qrx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];

	qrx_start(test, 1);
	conn->transport = IPOIB_LLADDR_UC;
	fix->peer.last_rx = before;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, fix->peer.last_rx, before);
	KUNIT_EXPECT_EQ(test, conn->flags, BIT(IPOIB_CONN_EV_PROVEN));
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
	conn->confirmed = true;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_TRUE(test, time_after(fix->peer.last_rx, before + HZ));
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
}

/* ---- failed receives ---- */

static void qrx_failed(struct kunit *test)
{
	static const struct {
		enum ib_wc_status status;
		enum ipoib_conn_state state;
		unsigned int errors;
		bool fails;
	} rows[] = {
		{ IB_WC_LOC_LEN_ERR, IPOIB_CONN_ESTABLISHED, 1, true },
		{ IB_WC_LOC_LEN_ERR, IPOIB_CONN_CLOSING, 1, true },
		/* The QP has failed without an event. */
		{ IB_WC_WR_FLUSH_ERR, IPOIB_CONN_ESTABLISHED, 0, true },
		{ IB_WC_WR_FLUSH_ERR, IPOIB_CONN_PENDING, 0, true },
		{ IB_WC_WR_FLUSH_ERR, IPOIB_CONN_CLOSING, 0, false },
		{ IB_WC_WR_FLUSH_ERR, IPOIB_CONN_DRAINING, 0, false },
	};
	struct qrx_fixture *fix = test->priv;
	unsigned int i;

	qrx_start(test, 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->status = rows[i].status;
		fix->conn[0].state = rows[i].state;
		fix->conn[0].flags = 0;
		fix->kicks = 0;
		fix->stats[IPOIB_RX_ERROR] = 0;
		KUNIT_EXPECT_EQ(test, qrx_call(fix, 1, 64), 1);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_ERROR], (s64)rows[i].errors);
		KUNIT_EXPECT_EQ(test, fix->conn[0].flags,
				rows[i].fails ? BIT(IPOIB_CONN_EV_FAILED) : 0ul);
		KUNIT_EXPECT_EQ(test, fix->kicks, (unsigned int)rows[i].fails);
		KUNIT_EXPECT_EQ(test, qrx_posted(fix), 9u);
	}
	KUNIT_EXPECT_EQ(test, fix->frames, 0u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_PACKETS], 0ll);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_SHORT], 0ll);
}

/* ---- own receives ---- */

/* Without SRQ a connection has 16 receives, each of which is posted again at once. */
static void qrx_own(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];

	KUNIT_EXPECT_EQ(test, qrx_add_own(test), 0);
	KUNIT_EXPECT_PTR_EQ(test, fix->cm.rx.bufs.srq, NULL);
	KUNIT_EXPECT_EQ(test, (unsigned int)fix->cq_attr[0].cqe, 2048u);
	KUNIT_EXPECT_EQ(test, fix->pool_size[0], 0u);
	KUNIT_EXPECT_PTR_EQ(test, fix->pool_napi[0], NULL);
	KUNIT_EXPECT_PTR_EQ(test, fix->queue, &fix->qp);
	KUNIT_EXPECT_EQ(test, fix->nposted, 16u);
	KUNIT_EXPECT_EQ(test, fix->posted[0].id, 15ull);
	KUNIT_EXPECT_EQ(test, conn->bufs->nfree, 0u);
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 3, 64), 3);
	KUNIT_EXPECT_EQ(test, fix->frames, 3u);
	KUNIT_EXPECT_EQ(test, fix->nposted, 19u);
	KUNIT_EXPECT_EQ(test, fix->kicks, 0u);
	/* Also after a flush, until the connection closes */
	fix->status = IB_WC_WR_FLUSH_ERR;
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, qrx_posted(fix), 16u);
	KUNIT_EXPECT_EQ(test, conn->flags, BIT(IPOIB_CONN_EV_FAILED));
	fix->kicks = 0;
	conn->state = IPOIB_CONN_CLOSING;
	qrx_call(fix, 15, 64);
	KUNIT_EXPECT_EQ(test, qrx_posted(fix), 1u);
	KUNIT_EXPECT_EQ(test, fix->kicks, 0u);
	/* The last one that comes back has the work run. */
	qrx_call(fix, 1, 64);
	KUNIT_EXPECT_EQ(test, qrx_posted(fix), 0u);
	KUNIT_EXPECT_EQ(test, fix->kicks, 1u);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_rx_returned(conn));
	ipoib_cm_rx_remove(conn);
	KUNIT_EXPECT_PTR_EQ(test, conn->bufs, NULL);
	KUNIT_EXPECT_EQ(test, fix->frees[0], fix->allocs[0]);
	KUNIT_EXPECT_EQ(test, fix->frees[1], fix->allocs[1]);
}

/* With an SRQ the handler posts a receive for a new connection. */
static void qrx_added(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	qrx_start(test, 1);
	KUNIT_EXPECT_EQ(test, ipoib_cm_rx_add(&fix->conn[0]), 0);
	qrx_expect(test, "s");
	KUNIT_EXPECT_PTR_EQ(test, fix->conn[0].bufs, NULL);
	fix->cm.nconns = 2;
	qrx_call(fix, 0, 64);
	KUNIT_EXPECT_EQ(test, fix->nposted, 10u);
}

/* Own receives that cannot be had refuse the connection, unless there is at least one. */
static void qrx_own_fails(struct kunit *test)
{
	static const struct {
		unsigned int nconns, allocs, accepts;
		int err;
		bool exist;
		unsigned int nomem;
		bool fails;
	} rows[] = {
		{ 128, 9, 99, 0, true, 0, false },
		{ 129, 9, 99, -ENOSPC, false, 0, false },
		{ 1, 0, 99, -ENOMEM, false, 0, false },
		{ 1, 1, 99, -ENOMEM, true, 0, false },
		{ 1, 2, 99, -ENOMEM, true, 0, false },
		{ 1, 3, 99, 0, true, 0, false },
		{ 1, 9, 0, -ENOMEM, true, 1, true },
		{ 1, 9, 1, 0, true, 1, false },
		{ 1, 9, 5, 0, true, 1, false },
	};
	struct qrx_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];
	unsigned int i;

	KUNIT_EXPECT_EQ(test, qrx_add_own(test), 0);
	ipoib_cm_rx_remove(conn);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->cm.nconns = rows[i].nconns;
		qrx_allocs = rows[i].allocs;
		fix->accepts = rows[i].accepts;
		fix->stats[IPOIB_RX_NOMEM] = 0;
		conn->flags = 0;
		KUNIT_EXPECT_EQ(test, ipoib_cm_rx_add(conn), rows[i].err);
		KUNIT_EXPECT_EQ(test, (bool)conn->bufs, rows[i].exist);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_RX_NOMEM], (s64)rows[i].nomem);
		KUNIT_EXPECT_EQ(test, conn->flags,
				rows[i].fails ? BIT(IPOIB_CONN_EV_FAILED) : 0ul);
		/* No timer: a completion or a new connection makes the next attempt. */
		KUNIT_EXPECT_EQ(test, fix->again, 0u);
		ipoib_cm_rx_remove(conn);
		KUNIT_EXPECT_EQ(test, qrx_held, 2);
	}
}

/* ---- the handler ---- */

/* A round ends with an empty CQ, or after as many completions as the CQ has entries. */
static void qrx_rounds(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;
	struct ipoib_cm_rxq *rxq = &fix->cm.rxq[0];

	qrx_start(test, 40);
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 5, 64), 5);
	qrx_expect(test, "e");
	KUNIT_EXPECT_EQ(test, fix->done, 5);
	KUNIT_EXPECT_EQ(test, rxq->rounds, 1u);
	KUNIT_EXPECT_EQ(test, rxq->since, 0u);
	fix->cq[0].cqe = 32;
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 16, 16), 16);
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 16, 16), 16);
	KUNIT_EXPECT_EQ(test, rxq->since, 32u);
	KUNIT_EXPECT_EQ(test, rxq->rounds, 1u);
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, rxq->rounds, 2u);
	KUNIT_EXPECT_EQ(test, rxq->since, 0u);
	/* The handler is called again: it has not completed. */
	qrx_expect(test, "");
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 16, 16), 16);
	KUNIT_EXPECT_EQ(test, qrx_call(fix, 0, 16), 0);
	KUNIT_EXPECT_EQ(test, rxq->rounds, 3u);
	qrx_expect(test, "e");
	KUNIT_EXPECT_EQ(test, fix->done, 0);
}

/* A fence waits for the end of the second round. */
static void qrx_fence(struct kunit *test)
{
	struct qrx_fixture *fix = test->priv;

	fix->cm.rxq[0].rounds = UINT_MAX;
	ipoib_cm_rx_fence(&fix->cm.rxq[0]);
	KUNIT_EXPECT_EQ(test, fix->naps, 2u);
	qrx_expect(test, "ss");
}

/* debugfs shows receives posted and lost, and the pages of both. */
static void qrx_shown(struct kunit *test)
{
	static const char want[] = "receives: 9\nreceives_lost: 1\nreceive_pages: 60\n"
				   "receives: 9\nreceives_lost: 1\nreceive_pages: 90\n";
	struct ipoib_cm_bufs own = { .size = 16, .nfree = 10 };
	struct qrx_fixture *fix = test->priv;
	struct ipoib_cm_rx *rx = &fix->cm.rx;
	char text[100] = "";
	struct seq_file file = { .buf = text, .size = sizeof(text) };

	fix->conn[1].bufs = &own;
	list_add(&fix->conn[0].list, &fix->cm.conns);
	list_add(&fix->conn[1].list, &fix->cm.conns);
	rx->bufs.size = 64;
	rx->bufs.nfree = 60;
	rx->bufs.lost = 1;
	rx->npages = 6;
	spin_lock_bh(&fix->cm.lock);
	ipoib_cm_rx_show(&fix->cm, &file);
	/* Pieces of four pages are more than is needed. */
	rx->large = &qrx_pools[1];
	ipoib_cm_rx_show(&fix->cm, &file);
	spin_unlock_bh(&fix->cm.lock);
	text[min(file.count, sizeof(text) - 1)] = '\0';
	KUNIT_EXPECT_TRUE(test, !strcmp(text, want));
}

static struct kunit_case ipoib_queue_rx_cases[] = {
	KUNIT_CASE(qrx_limits),
	KUNIT_CASE(qrx_param),
	KUNIT_CASE(qrx_mtu),
	KUNIT_CASE(qrx_queues),
	KUNIT_CASE(qrx_made),
	KUNIT_CASE(qrx_pool_sizes),
	KUNIT_CASE(qrx_unmade),
	KUNIT_CASE(qrx_fewer),
	KUNIT_CASE(qrx_freed),
	KUNIT_CASE(qrx_early),
	KUNIT_CASE(qrx_works),
	KUNIT_CASE(qrx_events),
	KUNIT_CASE(qrx_moderated),
	KUNIT_CASE(qrx_assigned),
	KUNIT_CASE(qrx_filled),
	KUNIT_CASE(qrx_fragmented),
	KUNIT_CASE(qrx_starved),
	KUNIT_CASE(qrx_refused),
	KUNIT_CASE(qrx_batches),
	KUNIT_CASE(qrx_shrinks),
	KUNIT_CASE(qrx_losses),
	KUNIT_CASE(qrx_frames),
	KUNIT_CASE(qrx_dropped),
	KUNIT_CASE(qrx_policed),
	KUNIT_CASE(qrx_uc),
	KUNIT_CASE(qrx_failed),
	KUNIT_CASE(qrx_own),
	KUNIT_CASE(qrx_added),
	KUNIT_CASE(qrx_own_fails),
	KUNIT_CASE(qrx_rounds),
	KUNIT_CASE(qrx_fence),
	KUNIT_CASE(qrx_shown),
	{}
};

struct kunit_suite ipoib_queue_rx_suite = {
	.name = "ipoib_queue_rx",
	.init = qrx_init,
	.exit = qrx_exit,
	.test_cases = ipoib_queue_rx_cases,
};
