/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Datagram mode: rings, address handles and completion handlers of the UD QPs (ipoib_ud_qp.c,
 * ipoib_ud.c, ipoib_ud_rx.c, ipoib_ah.c), and the net device of the HCA (ipoib_rn.c).
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

/* Receives of a post, at most; and sends, except the segments of a frame */
#define IPOIB_BATCH		16
/* Smallest queue to try on an HCA that refuses larger ones */
#define IPOIB_QUEUE_MIN		(2 * IPOIB_BATCH)
/* Transmit queues of an interface, at most; each takes 140 KB with 128 slots. */
#define IPOIB_TXQ_MAX		8
/* Segments that the driver makes of a frame, at most: 64 KB of IPv6 with MTU 2044 */
#define IPOIB_TX_BATCH		33
/* Completions of a poll */
#define IPOIB_POLL_WC		16
/* Unsignalled sends in a row, at most */
#define IPOIB_TX_UNSIGNALLED	16
/* Longest received frame that is copied, so its buffer is used again */
#define IPOIB_RX_COPY		256
/* Room for headers in the linear part of a longer frame */
#define IPOIB_RX_LINEAR		128

/* Address handle. */
struct ipoib_ah {
	struct ib_ah *ah;
	struct list_head list;	/* in &ipoib_ahs.dead */
	bool in_flight;	/* a send uses it; written by ipoib_ah_reap(), of retired handles only */
};

/* Work requests to be posted together. */
struct ipoib_batch {
	unsigned int count;			/* number of work requests */
	unsigned int packets;			/* their frames on the wire */
	unsigned int bytes;			/* octets of these frames */
	bool awaited;				/* the completion of a frame is waited for */
	struct ib_ud_wr wr[IPOIB_TX_BATCH];	/* chained by ipoib_ud_post() */
	struct ib_sge sge[IPOIB_TX_BATCH][IPOIB_TX_SGE];	/* their scatter lists */
};

/**
 * struct ipoib_txq - a transmit queue of datagram mode
 * @priv: the interface
 * @qp: its QP
 * @qp_flags: IB_QP_CREATE_ flags of @qp
 * @nmapped: groups that share the attachment to the MGID of IPv4 on RoCE
 * @cq: CQ of its sends
 * @nq: queue of the stack
 * @batch: under the transmit lock of @nq; NULL without a QP
 * @unsignalled: sends since the last signalled send, under the transmit lock
 * @signalled: head of the ring behind the last signalled send, under the transmit lock
 * @max_segs: slots of a frame, at most: segments that the driver makes of it, or 1
 * @hca_cuts: the HCA makes segments of TCP over IPv4, and checksums of IPv4
 * @on: the QP is not in RESET; RTNL held
 * @retires: sends in flight may use retired handles: each batch has a signalled send, whose
 *	completion queues ipoib_ah_reap(), the only writer
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

/* Buffer of a receive. */
struct ipoib_rx_slot {
	struct page *page;	/* page of the pool for the payload, or NULL */
	unsigned int offset;	/* offset in the page */
};

/**
 * struct ipoib_rxq - the receive queue of datagram mode
 * @priv: the interface
 * @cq: CQ of its receives
 * @pool: pages for payload, exists while the interface is up
 * @heads: buffers for GRH and encapsulation header, one for each slot
 * @slots: &ipoib_dev.recvq_size buffers
 * @size: slots in use
 * @buf_size: octets for payload of a slot
 * @free: stack of the numbers of slots that are not posted; written by NAPI, or by start and stop
 *	while NAPI is disabled
 * @nfree: depth of the stack
 * @running: receives are posted again after their completion: false once the first is flushed, as
 *	the QP is in the error state. Written by NAPI, or by start and stop while NAPI is disabled
 * @moder: interrupt moderation of @cq
 * @wr: scratch for a chain of receives
 * @sge: their scatter lists: head and payload
 * @wc: scratch for polling
 * @napi: completion handler
 */
struct ipoib_rxq {
	struct ipoib_dev *priv;
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

/* Retired address handles of an interface. */
struct ipoib_ahs {
	spinlock_t lock;		/* protects @dead */
	struct list_head dead;		/* the handles */
	struct delayed_work work;	/* destroys handles that no send in flight uses */
};

/**
 * typedef ipoib_xmit_t - send a frame
 * @txq: the queue, its transmit lock held
 * @skb: frame with its &struct ipoib_header; consumed
 */
typedef void (*ipoib_xmit_t)(struct ipoib_txq *txq, struct sk_buff *skb);

/*
 * Schedule a completion handler. Software HCAs report completions from process context, where a
 * raised softirq would wait for the next interrupt.
 * Context: any; called by events of CQs.
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

/*
 * Allocate the linear part of a received frame, @len octets from the &struct ipoib_header on. The
 * network header is aligned where NET_IP_ALIGN requires that: it follows 24 octets, not the 14 of
 * Ethernet.
 * Context: NAPI. Return: empty skb, or NULL.
 */
static inline struct sk_buff *ipoib_rx_alloc_skb(struct napi_struct *napi, unsigned int len)
{
	struct sk_buff *skb = napi_alloc_skb(napi, len + NET_IP_ALIGN);

	if (likely(skb))
		skb_reserve(skb, NET_IP_ALIGN);
	return skb;
}

/* True if the driver makes the segments and checksums of a queue that the HCA does not make */
static inline bool ipoib_ud_cuts(const struct ipoib_txq *txq)
{
	return txq->max_segs > 1;
}

/* True if the driver makes the segments of GSO frame @skb */
static inline bool ipoib_ud_cuts_skb(const struct ipoib_txq *txq, const struct sk_buff *skb)
{
	return ipoib_ud_cuts(txq) &&
	       !(txq->hca_cuts && skb_shinfo(skb)->gso_type & SKB_GSO_TCPV4);
}

/* True if the driver computes the checksum of @skb with CHECKSUM_PARTIAL, which is no GSO frame */
static inline bool ipoib_ud_sums_skb(const struct ipoib_txq *txq, const struct sk_buff *skb)
{
	return ipoib_ud_cuts(txq) && !(txq->hca_cuts && skb->protocol == htons(ETH_P_IP));
}

/* Transmit queue of a frame, of @ntxq in use; there may have been more when the stack chose it. */
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
