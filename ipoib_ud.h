/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Datagram mode: rings, address handles and completion handlers of the UD QP: ipoib_ud_qp.c,
 * ipoib_ud.c, ipoib_ud_rx.c and ipoib_ah.c; and the HCA's own net device: ipoib_rn.c.
 */
#ifndef IPOIB_UD_H
#define IPOIB_UD_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "ipoib_moder.h"
#include "ipoib_ring.h"
#include "ipoib_stats.h"

struct ipoib_dev;
struct page_pool;

/* Receives handed to the QP in one go, at most; and sends, but for those of one frame. */
#define IPOIB_BATCH		16
/* The smallest queue that is tried where the HCA refuses larger ones. */
#define IPOIB_QUEUE_MIN		(2 * IPOIB_BATCH)
/* Transmit queues that an interface has at most: with 128 slots each takes 140 KB. */
#define IPOIB_TXQ_MAX		8
/* Segments that the driver makes of a frame, at most: with MTU 2044 one of 64 KB, of IPv6, too. */
#define IPOIB_TX_BATCH		33
/* Completions read from a CQ in one go. */
#define IPOIB_POLL_WC		16
/* Sends between two that ask for a completion, at most. */
#define IPOIB_TX_UNSIGNALLED	16
/* A received frame up to this long is copied and its buffer used again. */
#define IPOIB_RX_COPY		256
/* Room for headers in the linear part of a longer one. */
#define IPOIB_RX_LINEAR		128
/* log2 of the buffer for GRH and encapsulation header of a frame. */
#define IPOIB_RX_HEAD_SHIFT	6

/**
 * struct ipoib_ah - address handle
 * @ah: the handle
 * @list: in &ipoib_ahs.dead
 * @in_flight: a send in the ring uses it; written by ipoib_ah_reap(), and of no meaning before
 *	the handle has been retired
 */
struct ipoib_ah {
	struct ib_ah *ah;
	struct list_head list;
	bool in_flight;
};

/**
 * struct ipoib_batch - work requests that wait to be posted together
 * @count: how many
 * @packets: frames on the wire that they make
 * @bytes: octets of those
 * @awaited: the completion of one of them is waited for
 * @wr: chained by ipoib_ud_post()
 * @sge: their scatter-gather lists
 */
struct ipoib_batch {
	unsigned int count;
	unsigned int packets;
	unsigned int bytes;
	bool awaited;
	struct ib_ud_wr wr[IPOIB_TX_BATCH];
	struct ib_sge sge[IPOIB_TX_BATCH][IPOIB_TX_SGE];
};

/**
 * struct ipoib_txq - one transmit queue of datagram mode
 * @priv: the interface
 * @qp: QP it posts to
 * @qp_flags: IB_QP_CREATE_ flags that it was made with
 * @nmapped: groups that share the attachment to the MGID of IPv4 on RoCE
 * @cq: CQ of its sends
 * @nq: the stack's side of the queue
 * @batch: under the transmit lock of @nq; NULL if it has no QP
 * @unsignalled: sends since the last that asked for a completion, under the
 *	transmit lock
 * @signalled: head of the ring behind that last one, under the transmit lock
 * @max_segs: slots that a frame takes at most: segments that the driver makes of it, or 1
 * @hca_cuts: the HCA makes segments of TCP over IPv4, and checksums of IPv4
 * @on: its QP is not in RESET; RTNL held
 * @retires: sends in flight may use retired handles: each batch asks for a completion, which
 *	starts ipoib_ah_reap(), the only writer
 * @sent: counters, written under the transmit lock
 * @ring: see ipoib_ring.h
 * @done: counters, written by the completion handler
 * @wc: scratch for polling
 * @napi: completion handler
 */
struct ipoib_txq {
	struct ipoib_dev *priv;
	struct ib_qp *qp;
	u32 qp_flags;
	unsigned int nmapped;
	struct ib_cq *cq;
	struct netdev_queue *nq;
	struct ipoib_batch *batch;
	unsigned int unsignalled;
	u32 signalled;
	unsigned int max_segs;
	bool hca_cuts;
	bool on;
	bool retires;
	struct ipoib_txq_stats sent;
	struct ipoib_ring ring;
	struct ipoib_txq_stats done;
	struct ib_wc wc[IPOIB_POLL_WC];
	struct napi_struct napi;
};

/**
 * struct ipoib_rx_slot - buffer of one posted receive
 * @page: page of the pool that takes the payload, NULL if there is none
 * @offset: where in the page
 */
struct ipoib_rx_slot {
	struct page *page;
	unsigned int offset;
};

/**
 * struct ipoib_rxq - one receive queue of datagram mode
 * @priv: the interface
 * @qp: QP it posts to
 * @cq: CQ of its receives
 * @pool: pages for payload, exists while the interface is up
 * @heads: buffers for GRH and encapsulation header, one per slot
 * @slots: &ipoib_dev.recvq_size of them
 * @size: how many are in use
 * @buf_size: octets for payload per slot
 * @free: stack of slot numbers that are not posted; only NAPI, or start and
 *	stop while NAPI is disabled, touch it
 * @nfree: how many
 * @running: what is completed is posted again: from the start on until receives are flushed,
 *	so the QP is in the error state. Written by NAPI, or by start and stop while NAPI is
 *	disabled
 * @moder: moderates @cq
 * @wr: scratch for a chain of receives
 * @sge: their scatter lists: head and payload
 * @wc: scratch for polling
 * @napi: completion handler
 */
struct ipoib_rxq {
	struct ipoib_dev *priv;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct page_pool *pool;
	struct ipoib_bufs heads;
	struct ipoib_rx_slot *slots;
	unsigned int size;
	unsigned int buf_size;
	u16 *free;
	unsigned int nfree;
	bool running;
	struct ipoib_moder moder;
	struct ib_recv_wr wr[IPOIB_BATCH];
	struct ib_sge sge[IPOIB_BATCH][2];
	struct ib_wc wc[IPOIB_POLL_WC];
	struct napi_struct napi;
};

/**
 * struct ipoib_ahs - retired address handles of an interface
 * @lock: protects @dead
 * @dead: the handles
 * @work: destroys each once no send in flight uses it
 */
struct ipoib_ahs {
	spinlock_t lock;
	struct list_head dead;
	struct delayed_work work;
};

/**
 * typedef ipoib_xmit_t - send one frame
 * @txq: the queue, its transmit lock held
 * @skb: frame with its &struct ipoib_header; consumed
 */
typedef void (*ipoib_xmit_t)(struct ipoib_txq *txq, struct sk_buff *skb);

/**
 * ipoib_ud_schedule - run a completion handler
 * @napi: the handler
 *
 * Software HCAs report completions from process context, where a softirq
 * that is merely raised would wait for the next interrupt.
 *
 * Context: any, this is called by CQs
 */
static inline void ipoib_ud_schedule(struct napi_struct *napi)
{
	if (in_task() && !irqs_disabled()) {
		local_bh_disable();
		napi_schedule(napi);
		local_bh_enable();
	} else {
		napi_schedule(napi);
	}
}

/**
 * ipoib_rx_alloc_skb - allocate the linear part of a received frame
 * @napi: handler that received it
 * @len: octets, of which the first are the &struct ipoib_header
 *
 * The network header is aligned where NET_IP_ALIGN says that it has to be: it comes after 24
 * octets, not after the 14 of Ethernet.
 *
 * Context: NAPI
 * Return: empty skb, or NULL
 */
static inline struct sk_buff *ipoib_rx_alloc_skb(struct napi_struct *napi, unsigned int len)
{
	struct sk_buff *skb = napi_alloc_skb(napi, len + NET_IP_ALIGN);

	if (likely(skb))
		skb_reserve(skb, NET_IP_ALIGN);
	return skb;
}

/**
 * ipoib_ud_cuts - whether the driver makes segments and checksums of a queue
 * @txq: the queue
 *
 * Return: true if so: those that the HCA does not make
 */
static inline bool ipoib_ud_cuts(const struct ipoib_txq *txq)
{
	return txq->max_segs > 1;
}

/**
 * ipoib_ud_cuts_skb - whether the driver makes the segments of a frame
 * @txq: the queue
 * @skb: GSO frame
 *
 * Return: true if so
 */
static inline bool ipoib_ud_cuts_skb(const struct ipoib_txq *txq, const struct sk_buff *skb)
{
	return ipoib_ud_cuts(txq) &&
	       !(txq->hca_cuts && skb_shinfo(skb)->gso_type & SKB_GSO_TCPV4);
}

/**
 * ipoib_ud_sums_skb - whether the driver computes the checksum of a frame
 * @txq: the queue
 * @skb: frame with CHECKSUM_PARTIAL, but no GSO frame
 *
 * Return: true if so
 */
static inline bool ipoib_ud_sums_skb(const struct ipoib_txq *txq, const struct sk_buff *skb)
{
	return ipoib_ud_cuts(txq) && !(txq->hca_cuts && skb->protocol == htons(ETH_P_IP));
}

/**
 * ipoib_txq_of - transmit queue of a frame
 * @skb: the frame
 * @ntxq: transmit queues in use: there may have been more when the stack chose one
 *
 * Return: its number
 */
static inline unsigned int ipoib_txq_of(const struct sk_buff *skb, unsigned int ntxq)
{
	unsigned int n = skb_get_queue_mapping(skb);

	return n < ntxq ? n : 0;
}

/* ipoib_ud_qp.c */
extern const struct net_device_ops ipoib_ud_netdev_ops;
int ipoib_ud_init(struct ipoib_dev *priv);
void ipoib_ud_exit(struct ipoib_dev *priv);
netdev_features_t ipoib_ud_features(const struct ipoib_dev *priv);
int ipoib_ud_moderate(struct ipoib_dev *priv, const struct ipoib_moderation *setting);
int ipoib_ud_start(struct ipoib_dev *priv);
void ipoib_ud_stop(struct ipoib_dev *priv);
int ipoib_ud_restart(struct ipoib_dev *priv);
int ipoib_ud_resize(struct ipoib_dev *priv, unsigned int sends, unsigned int receives);
unsigned int ipoib_ud_max_txqs(const struct ipoib_dev *priv);
int ipoib_ud_set_queues(struct ipoib_dev *priv, unsigned int n);
int ipoib_ud_set_qkey(struct ipoib_dev *priv, u32 qkey);
void ipoib_ud_recover(struct ipoib_dev *priv);
int ipoib_ud_attach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid);
int ipoib_ud_detach(struct ipoib_dev *priv, union ib_gid *gid, u16 lid);

/* ipoib_ud.c */
bool ipoib_ud_cut_check(const struct ipoib_dev *priv, const struct sk_buff *skb);
bool ipoib_ud_too_long(const struct sk_buff *skb, unsigned int mtu);
int ipoib_ud_tx_poll(struct napi_struct *napi, int budget);
void ipoib_ud_xmit(struct ipoib_txq *txq, struct sk_buff *skb, struct ipoib_ah *ah, u32 qpn);
void ipoib_ud_post(struct ipoib_txq *txq);
void ipoib_ud_send_begin(struct ipoib_txq *txq);
void ipoib_ud_send_end(struct ipoib_txq *txq, struct sk_buff_head *frames, ipoib_xmit_t xmit);

/* ipoib_rn.c */
struct net_device *ipoib_rn_alloc(struct ib_device *ca, u32 port, const char *name,
				  unsigned char name_assign_type,
				  void (*setup)(struct net_device *dev));
void ipoib_rn_free(struct ipoib_dev *priv);
void ipoib_rn_xmit(struct ipoib_txq *txq, struct sk_buff *skb, struct ipoib_ah *ah, u32 qpn);
int ipoib_rn_set_mtu(struct ipoib_dev *priv, unsigned int mtu);
void ipoib_rn_stats(const struct ipoib_dev *priv, struct rtnl_link_stats64 *stats);

/* ipoib_ah.c */
struct ipoib_ah *ipoib_ah_create(struct ipoib_dev *priv, struct rdma_ah_attr *attr);
void ipoib_ah_retire(struct ipoib_dev *priv, struct ipoib_ah *ah);
void ipoib_ah_reap(struct work_struct *work);
void ipoib_ah_free_all(struct ipoib_dev *priv);

/* ipoib_ud_rx.c */
bool ipoib_rx_police(struct ipoib_dev *priv, struct sk_buff *skb, u32 node);
void ipoib_rx_deliver(struct ipoib_dev *priv, struct napi_struct *napi, struct sk_buff *skb);
struct page_pool *ipoib_pool_create(struct ib_device *ca, struct net_device *dev,
				    struct napi_struct *napi, unsigned int flags,
				    unsigned int order, unsigned int size);
int ipoib_ud_rx_init(struct ipoib_dev *priv);
void ipoib_ud_rx_exit(struct ipoib_rxq *rxq);
int ipoib_ud_rx_start(struct ipoib_rxq *rxq);
bool ipoib_ud_rx_drain(struct ipoib_rxq *rxq);
void ipoib_ud_rx_stop(struct ipoib_rxq *rxq);

#endif /* IPOIB_UD_H */
