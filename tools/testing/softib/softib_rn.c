// SPDX-License-Identifier: GPL-2.0
/*
 * HCAs with an accelerated net device for IPoIB (struct rdma_netdev), in two styles: the behaviour
 * that a client can observe of hfi1 (drivers/infiniband/hw/hfi1/ipoib_*.c) and of mlx5
 * (drivers/net/ethernet/mellanox/mlx5/core/ipoib).
 *
 * hfi1
 *	The client creates the UD QP, with IB_QP_CREATE_NETDEV_USE, before its ndo_init() returns,
 *	and puts the QPN into its link-layer address. The net_device_ops of this file call the
 *	client's ndo_init, ndo_uninit, ndo_open and ndo_stop. Unicast without a GRH is received by
 *	the net device; datagrams with a GRH, including all multicast, go to the QP.
 * mlx5
 *	The net device has a QP to receive and send. ndo_init() writes the QPN into the link-layer
 *	address. net_device_ops and ethtool_ops are complete and never call the client's. A
 *	further interface of the port is a child, and receives by the queues of the first interface.
 *
 * A send copies its address handle, and waits in the ring of its queue for the doorbell, which is
 * deferred during netdev_xmit_more(). NAPI then sends it. Received frames are distributed to
 * several queues by flow, each with a NAPI instance.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_infiniband.h>
#include <linux/slab.h>

#include "softib.h"

#define SOFTIB_RN_QUEUES	4
/* mlx5 allocates transmit queues for all traffic classes, and uses a single class. */
#define SOFTIB_RN_CLASSES	8
/* Slots of a transmit queue */
#define SOFTIB_RN_RING		64
/* Maximum number of received frames in a queue */
#define SOFTIB_RN_BACKLOG	512
/* Pseudo header, and encapsulation header */
#define SOFTIB_RN_PSEUDO	20
#define SOFTIB_RN_ENCAP		4
/* Q_Key of the QP of mlx5, independent of the Q_Key of the broadcast group */
#define SOFTIB_RN_QKEY		0xb1b

/**
 * struct softib_rn_wqe - a send
 * @skb: frame from the encapsulation header on
 * @frame: template with addresses, without payload
 */
struct softib_rn_wqe {
	struct sk_buff *skb;
	struct softib_frame frame;
};

/**
 * struct softib_rn_txq - a transmit queue
 * @rn: the net device
 * @nq: queue of the stack
 * @napi: sends frames, and frees them after the send
 * @ring: SOFTIB_RN_RING slots
 * @head: next slot to fill; under the transmit lock
 * @rung: end of the slots that a doorbell has passed to the HCA
 * @tail: next slot to send; by @napi, or while it is disabled
 * @packets: sent frames
 * @bytes: octets of sent frames
 * @dropped: dropped frames
 */
struct softib_rn_txq {
	struct softib_rn *rn;
	struct netdev_queue *nq;
	struct napi_struct napi;
	struct softib_rn_wqe *ring;
	u32 head;
	u32 rung;
	u32 tail;
	u64 packets;
	u64 bytes;
	u64 dropped;
};

/**
 * struct softib_rn_rxq - a receive queue
 * @rn: the net device
 * @napi: passes frames to the stack
 * @frames: waiting frames, from the GRH on
 */
struct softib_rn_rxq {
	struct softib_rn *rn;
	struct napi_struct napi;
	struct sk_buff_head frames;
};

/**
 * struct softib_rn_rx - counters of a receive queue for a net device, child or not
 * @packets: received frames
 * @bytes: octets of received frames
 */
struct softib_rn_rx {
	u64 packets;
	u64 bytes;
};

/**
 * struct softib_stamp - time stamp configuration
 * @tx_type: HWTSTAMP_TX_*
 * @rx_filter: HWTSTAMP_FILTER_*
 * @on: received frames get a time stamp
 */
struct softib_stamp {
	int tx_type;
	int rx_filter;
	bool on;
};

/**
 * struct softib_rn - the private area of a net device
 * @rn: interface to the client
 * @netdev: the net device
 * @port: its port
 * @ops: hfi1 style: net_device_ops of the client
 * @qp: hfi1 style: QP of the client, referenced while the net device is open
 * @pkey: hfi1 style: P_Key of sends
 * @pkey_index: index of the client's P_Key
 * @qkey: Q_Key of sends
 * @mtu: mlx5 style: size of a receive in octets, without headers
 * @channels: queues in use
 * @receiving: the queues of this net device are enabled
 * @is_child: mlx5 style: receives by the queues of @parent
 * @parent: the parent, referenced from ndo_init() to ndo_uninit()
 * @children: number of net devices with this @parent
 * @pd: mlx5 style: protection domain of @underlay
 * @cq: mlx5 style: CQ of @underlay, without completions
 * @underlay: mlx5 style: QP of the link-layer address
 * @stamp: mlx5 style: time stamp configuration
 * @txq: transmit queues
 * @rxq: receive queues
 * @rx: receive counters, by number of the queue
 */
struct softib_rn {
	struct rdma_netdev rn;	/* must be first */
	struct net_device *netdev;
	struct softib_port *port;
	const struct net_device_ops *ops;
	struct rvt_qp *qp;
	u16 pkey;
	u16 pkey_index;
	u32 qkey;
	u32 mtu;
	unsigned int channels;
	bool receiving;
	bool is_child;
	struct net_device *parent;
	unsigned int children;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *underlay;
	struct softib_stamp stamp;
	struct softib_rn_txq txq[SOFTIB_RN_QUEUES];
	struct softib_rn_rxq rxq[SOFTIB_RN_QUEUES];
	struct softib_rn_rx rx[SOFTIB_RN_QUEUES];
};

/**
 * struct softib_rn_cb - metadata of a received frame, in skb->cb
 * @dqpn: destination QP
 * @sqpn: source QP
 * @has_grh: the frame has a GRH
 */
struct softib_rn_cb {
	u32 dqpn;
	u32 sqpn;
	bool has_grh;
};

static struct softib_rn_cb *softib_rn_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct softib_rn_cb) > sizeof(skb->cb));
	return (struct softib_rn_cb *)skb->cb;
}

static bool softib_rn_is_mlx5(const struct softib_rn *rn)
{
	return rn->port->dev->node->rn == SOFTIB_RN_MLX5;
}

static u32 softib_rn_qpn(const struct softib_rn *rn)
{
	const u8 *addr = rn->netdev->dev_addr;

	return addr[1] << 16 | addr[2] << 8 | addr[3];
}

/* ---- sending ---- */

static void softib_rn_transmit(struct softib_rn_txq *txq, const struct softib_frame *frame,
			       struct sk_buff *skb)
{
	struct softib_frame copy = *frame;
	void *data = NULL;

	if (skb->ip_summed != CHECKSUM_PARTIAL || !skb_checksum_help(skb))
		data = kmalloc(skb->len, GFP_ATOMIC);
	if (!data || skb_copy_bits(skb, 0, data, skb->len)) {
		txq->dropped++;
		kfree(data);
		return;
	}
	softib_frame_linear(&copy, data, skb->len);
	softib_port_tx(txq->rn->port, &copy);
	kfree(data);
	txq->packets++;
	txq->bytes += skb->len;
	if (!softib_rn_is_mlx5(txq->rn))
		dev_sw_netstats_tx_add(txq->rn->netdev, 1, skb->len);
}

static void softib_rn_segment(struct softib_rn_txq *txq, const struct softib_frame *frame,
			      struct sk_buff *skb)
{
	struct sk_buff *segments, *next;

	if (!skb_is_gso(skb)) {
		softib_rn_transmit(txq, frame, skb);
		return;
	}
	atomic_inc(&txq->rn->port->dev->lso);
	segments = skb_gso_segment(skb, 0);
	if (IS_ERR_OR_NULL(segments)) {
		txq->dropped++;
		return;
	}
	for (; segments; segments = next) {
		next = segments->next;
		skb_mark_not_on_list(segments);
		softib_rn_transmit(txq, frame, segments);
		consume_skb(segments);
	}
}

static int softib_rn_tx_poll(struct napi_struct *napi, int budget)
{
	struct softib_rn_txq *txq = container_of(napi, struct softib_rn_txq, napi);
	struct softib_node *node = txq->rn->port->dev->node;
	unsigned int packets = 0, bytes = 0;
	struct softib_rn_wqe *wqe;
	u32 rung;

	/* Pairs with softib_rn_ring(). */
	rung = smp_load_acquire(&txq->rung);
	/* After hold_cq softib_rn_release() schedules this NAPI again. */
	while (packets < budget && txq->tail != rung && !READ_ONCE(node->hold_cq)) {
		wqe = &txq->ring[txq->tail % SOFTIB_RN_RING];
		packets++;
		bytes += wqe->skb->len;
		softib_rn_segment(txq, &wqe->frame, wqe->skb);
		napi_consume_skb(wqe->skb, budget);
		WRITE_ONCE(txq->tail, txq->tail + 1);
	}
	if (softib_rn_is_mlx5(txq->rn))
		netdev_tx_completed_queue(txq->nq, packets, bytes);
	/* Pairs with softib_rn_send(): the tail is written before the check of the queue. */
	smp_mb();
	if (netif_tx_queue_stopped(txq->nq) &&
	    READ_ONCE(txq->head) - txq->tail <= SOFTIB_RN_RING / 2)
		netif_tx_wake_queue(txq->nq);
	if (packets < budget)
		napi_complete_done(napi, packets);
	return packets;
}

static void softib_rn_ring(struct softib_rn_txq *txq)
{
	atomic_inc(&txq->rn->port->dev->netdev_doorbells);
	/* Pairs with softib_rn_tx_poll(): the slots are filled. */
	smp_store_release(&txq->rung, txq->head);
	napi_schedule(&txq->napi);
}

/* Only mlx5 has BQL. */
static bool softib_rn_bells(struct softib_rn_txq *txq, unsigned int bytes)
{
	if (softib_rn_is_mlx5(txq->rn))
		return __netdev_tx_sent_queue(txq->nq, bytes, netdev_xmit_more());
	return !netdev_xmit_more();
}

static void softib_rn_address(struct softib_rn *rn, struct softib_frame *frame,
			      struct ib_ah *ah, u32 dqpn)
{
	softib_frame_init(frame, IB_OPCODE_UD_SEND_ONLY);
	softib_frame_route(frame, rn->port, &ibah_to_rvtah(ah)->attr);
	frame->dqpn = dqpn & RVT_QPN_MASK;
	frame->sqpn = softib_rn_qpn(rn);
	frame->qkey = READ_ONCE(rn->qkey);
	frame->pkey = rn->pkey;
	frame->psn = 0;
	if (softib_rn_is_mlx5(rn)) {
		frame->sqpn = rn->underlay->qp_num;
		frame->pkey = softib_port_pkey(rn->port,
					       ibqp_to_rvtqp(rn->underlay)->s_pkey_index);
	}
}

static int softib_rn_drop(struct softib_rn_txq *txq, struct sk_buff *skb)
{
	txq->dropped++;
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

/*
 * An HCA relies on its client to hold the transmit lock of the queue, and not to send on a stopped
 * queue. Context: transmit lock held.
 */
static int softib_rn_send(struct net_device *netdev, struct sk_buff *skb, struct ib_ah *ah,
			  u32 dqpn)
{
	struct softib_rn *rn = netdev_priv(netdev);
	struct softib_rn_wqe *wqe;
	struct softib_rn_txq *txq;
	unsigned int queue = skb_get_queue_mapping(skb);

	if (WARN_ONCE(queue >= SOFTIB_RN_QUEUES, "softib: sent by queue %u\n", queue)) {
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	txq = &rn->txq[queue];
	WARN_ONCE(READ_ONCE(txq->nq->xmit_lock_owner) != smp_processor_id(),
		  "softib: sent without the transmit lock of queue %u\n", queue);
	/* mlx5 has no queues now; hfi1 calls the client's ndo_stop last, so its senders may run. */
	if (!READ_ONCE(rn->receiving)) {
		WARN_ONCE(softib_rn_is_mlx5(rn), "softib: sent by a net device that is down\n");
		return softib_rn_drop(txq, skb);
	}
	if (WARN_ONCE(txq->head - READ_ONCE(txq->tail) >= SOFTIB_RN_RING,
		      "softib: sent by a queue that is stopped\n"))
		return softib_rn_drop(txq, skb);
	if (!softib_rn_is_mlx5(rn) && skb->len > rn->rn.mtu + SOFTIB_RN_ENCAP) {
		pr_warn_ratelimited("softib: frame of %u octets, MTU %d\n", skb->len, rn->rn.mtu);
		return softib_rn_drop(txq, skb);
	}
	wqe = &txq->ring[txq->head % SOFTIB_RN_RING];
	wqe->skb = skb;
	softib_rn_address(rn, &wqe->frame, ah, dqpn);
	atomic_inc(&rn->port->dev->netdev_sends);
	WRITE_ONCE(txq->head, txq->head + 1);
	if (txq->head - READ_ONCE(txq->tail) >= SOFTIB_RN_RING) {
		netif_tx_stop_queue(txq->nq);
		/* Pairs with softib_rn_tx_poll(). */
		smp_mb();
		if (txq->head - READ_ONCE(txq->tail) < SOFTIB_RN_RING)
			netif_tx_start_queue(txq->nq);
	}
	if (softib_rn_bells(txq, skb->len) || netif_tx_queue_stopped(txq->nq))
		softib_rn_ring(txq);
	return NETDEV_TX_OK;
}

/* Drop all waiting sends. Context: NAPI is disabled, and nothing is sent. */
static void softib_rn_flush(struct softib_rn_txq *txq)
{
	for (; txq->tail != txq->head; txq->tail++)
		dev_kfree_skb_any(txq->ring[txq->tail % SOFTIB_RN_RING].skb);
	txq->rung = txq->head;
	if (softib_rn_is_mlx5(txq->rn))
		netdev_tx_reset_queue(txq->nq);
}

/* ---- receiving ---- */

/* As mlx5. Return: whether the frame goes to the stack */
static bool softib_rn5_complete(struct softib_rn_rxq *rxq, struct sk_buff *skb)
{
	const struct ib_grh *grh = (const void *)skb->data;
	struct softib_rn_cb cb = *softib_rn_cb(skb);
	unsigned int n = rxq - rxq->rn->rxq;
	u32 bytes = skb->len - sizeof(*grh);
	struct net_device *netdev;
	struct softib_rn *rn;
	u32 hash = skb->hash;

	netdev = xa_load(&rxq->rn->port->dev->netdevs, cb.dqpn);
	if (!netdev)
		return false;
	rn = netdev_priv(netdev);
	if (!cb.has_grh || grh->dgid.raw[0] != 0xff)
		skb->pkt_type = PACKET_HOST;
	else if (!memcmp(&grh->dgid, netdev->broadcast + 4, sizeof(grh->dgid)))
		skb->pkt_type = PACKET_BROADCAST;
	else
		skb->pkt_type = PACKET_MULTICAST;
	if (cb.has_grh && cb.dqpn == cb.sqpn &&
	    !memcmp(netdev->dev_addr + 4, &grh->sgid, sizeof(grh->sgid)))
		return false;
	skb_pull(skb, sizeof(*grh));
	skb_record_rx_queue(skb, n);
	skb_clear_hash(skb);
	if (netdev->features & NETIF_F_RXHASH)
		skb_set_hash(skb, hash, PKT_HASH_TYPE_L4);
	memset(skb_push(skb, SOFTIB_RN_PSEUDO), 0, SOFTIB_RN_PSEUDO);
	skb_reset_mac_header(skb);
	skb_pull(skb, SOFTIB_RN_PSEUDO + SOFTIB_RN_ENCAP);
	if (netdev->features & NETIF_F_RXCSUM) {
		skb->ip_summed = CHECKSUM_COMPLETE;
		skb->csum = skb_checksum(skb, 0, skb->len, 0);
	}
	if (rn->stamp.on)
		skb_hwtstamps(skb)->hwtstamp = ktime_get_real();
	skb->dev = netdev;
	rn->rx[n].packets++;
	rn->rx[n].bytes += bytes;
	return true;
}

/* Octets from hfi1's pseudo header, which is not written, to the encapsulation header */
#define SOFTIB_RN1_ROOM		(NET_SKB_PAD + NET_IP_ALIGN - SOFTIB_RN_PSEUDO)

/* As hfi1 */
static bool softib_rn1_complete(struct softib_rn_rxq *rxq, struct sk_buff *skb)
{
	struct net_device *netdev;

	netdev = xa_load(&rxq->rn->port->dev->netdevs, softib_rn_cb(skb)->dqpn);
	if (!netdev)
		return false;
	memset(skb->data, 0x5a, sizeof(struct ib_grh));
	skb_pull(skb, sizeof(struct ib_grh));
	skb_clear_hash(skb);
	skb->mac_header = skb_headroom(skb) - SOFTIB_RN1_ROOM;
	skb_pull(skb, SOFTIB_RN_ENCAP);
	dev_sw_netstats_rx_add(netdev, skb->len);
	skb->dev = netdev;
	skb->pkt_type = PACKET_HOST;
	return true;
}

static int softib_rn_rx_poll(struct napi_struct *napi, int budget)
{
	struct softib_rn_rxq *rxq = container_of(napi, struct softib_rn_rxq, napi);
	bool mlx5 = softib_rn_is_mlx5(rxq->rn);
	struct sk_buff *skb;
	int done = 0;

	while (done < budget && !READ_ONCE(rxq->rn->port->dev->node->hold_cq)) {
		skb = skb_dequeue(&rxq->frames);
		if (!skb)
			break;
		done++;
		rcu_read_lock();
		if (mlx5 ? !softib_rn5_complete(rxq, skb) : !softib_rn1_complete(rxq, skb))
			kfree_skb(skb);
		else if (mlx5)
			napi_gro_receive(napi, skb);
		else
			netif_receive_skb(skb);
		rcu_read_unlock();
	}
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

/* skb of a frame from the GRH on, with a flow hash; NULL without memory */
static struct sk_buff *softib_rn_skb(struct net_device *netdev, struct softib_frame *frame)
{
	u32 len = sizeof(struct ib_grh) + frame->len;
	struct softib_payload from;
	struct sk_buff *skb;
	u8 *data;

	skb = netdev_alloc_skb(netdev, len);
	if (!skb)
		return NULL;
	data = skb_put(skb, len);
	memset(data, 0, sizeof(struct ib_grh));
	if (frame->has_grh)
		memcpy(data, &frame->grh, sizeof(frame->grh));
	softib_payload_init(&from, frame);
	softib_payload_read(&from, data + sizeof(struct ib_grh), frame->len);
	*softib_rn_cb(skb) = (struct softib_rn_cb) {
		.dqpn = frame->dqpn,
		.sqpn = frame->sqpn,
		.has_grh = frame->has_grh,
	};
	memcpy(&skb->protocol, data + sizeof(struct ib_grh), sizeof(skb->protocol));
	skb_set_network_header(skb, sizeof(struct ib_grh) + SOFTIB_RN_ENCAP);
	skb_get_hash(skb);
	return skb;
}

static void softib_rn_enqueue(struct softib_rn_rxq *rxq, struct sk_buff *skb)
{
	skb_queue_tail(&rxq->frames, skb);
	/* Frames also arrive in process context, without a softirq soon after. */
	if (in_task() && !irqs_disabled()) {
		local_bh_disable();
		napi_schedule(&rxq->napi);
		local_bh_enable();
	} else {
		napi_schedule(&rxq->napi);
	}
}

/* Net device whose queues receive a frame; NULL if the frame is dropped, which is counted */
static struct softib_rn *softib_rn_receiver(struct softib_rn *rn, const struct rvt_qp *qp,
					    const struct softib_frame *frame)
{
	struct softib_port *port = rn->port;
	struct softib_rn *owner = rn;
	struct net_device *parent;

	if (softib_rn_is_mlx5(rn)) {
		if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK)) {
			softib_port_drop(port, SOFTIB_DROP_QP_STATE);
			return NULL;
		}
		if (frame->qkey != qp->qkey) {
			softib_port_drop(port, SOFTIB_DROP_QKEY);
			return NULL;
		}
		parent = READ_ONCE(rn->parent);
		if (rn->is_child)
			owner = parent ? netdev_priv(parent) : NULL;
	}
	if (!owner || !READ_ONCE(owner->receiving)) {
		softib_port_drop(port, SOFTIB_DROP_QP_STATE);
		return NULL;
	}
	if (frame->len < SOFTIB_RN_ENCAP ||
	    (softib_rn_is_mlx5(rn) && frame->len > READ_ONCE(owner->mtu) + SOFTIB_RN_ENCAP)) {
		softib_port_drop(port, SOFTIB_DROP_TOO_LONG);
		return NULL;
	}
	return owner;
}

/*
 * Receive a datagram if the QP belongs to a net device.
 *
 * Context: rcu_read_lock() held, no QP lock held.
 * Return: true if the datagram was received or dropped; false if it is for the QP.
 */
bool softib_rn_rx(struct softib_port *port, struct rvt_qp *qp, struct softib_frame *frame)
{
	struct net_device *netdev = xa_load(&port->dev->netdevs, qp->ibqp.qp_num);
	struct softib_frame to = *frame;
	struct softib_rn_rxq *rxq;
	struct softib_rn *rn;
	struct sk_buff *skb;

	if (!netdev)
		return false;
	rn = netdev_priv(netdev);
	/* RSM of hfi1 matches a prefix of the QPN, and only after an LRH, not after a GRH. */
	if (!softib_rn_is_mlx5(rn) &&
	    (frame->has_grh ||
	     (qp->ibqp.qp_num & RVT_AIP_QP_PREFIX_MASK) != RVT_AIP_QP_BASE))
		return false;
	rn = softib_rn_receiver(rn, qp, frame);
	if (!rn)
		return true;
	to.dqpn = qp->ibqp.qp_num;
	skb = softib_rn_skb(netdev, &to);
	rxq = skb ? &rn->rxq[skb->hash % READ_ONCE(rn->channels)] : NULL;
	if (!skb || skb_queue_len_lockless(&rxq->frames) >= SOFTIB_RN_BACKLOG) {
		softib_port_drop(port, SOFTIB_DROP_NO_RWQE);
		kfree_skb(skb);
		return true;
	}
	softib_rn_enqueue(rxq, skb);
	return true;
}

/* ---- queues ---- */

static void softib_rn_queues_exit(struct softib_rn *rn)
{
	int i;

	for (i = 0; i < SOFTIB_RN_QUEUES; i++) {
		netif_napi_del(&rn->txq[i].napi);
		netif_napi_del(&rn->rxq[i].napi);
		skb_queue_purge(&rn->rxq[i].frames);
		kvfree(rn->txq[i].ring);
	}
}

static int softib_rn_queues_init(struct softib_rn *rn)
{
	bool failed = false;
	int i;

	rn->channels = SOFTIB_RN_QUEUES;
	for (i = 0; i < SOFTIB_RN_QUEUES; i++) {
		rn->txq[i].rn = rn;
		rn->txq[i].nq = netdev_get_tx_queue(rn->netdev, i);
		netif_napi_add_tx(rn->netdev, &rn->txq[i].napi, softib_rn_tx_poll);
		rn->txq[i].ring = kvcalloc(SOFTIB_RN_RING, sizeof(*rn->txq[i].ring), GFP_KERNEL);
		failed |= !rn->txq[i].ring;
		rn->rxq[i].rn = rn;
		skb_queue_head_init(&rn->rxq[i].frames);
		netif_napi_add(rn->netdev, &rn->rxq[i].napi, softib_rn_rx_poll);
	}
	if (!failed)
		return 0;
	softib_rn_queues_exit(rn);
	return -ENOMEM;
}

static void softib_rn_enable(struct softib_rn *rn, struct napi_struct *napi)
{
	if (softib_rn_is_mlx5(rn))
		softib_napi_enable(napi);
	else
		napi_enable(napi);
}

static void softib_rn_disable(struct softib_rn *rn, struct napi_struct *napi)
{
	if (softib_rn_is_mlx5(rn))
		softib_napi_disable(napi);
	else
		napi_disable(napi);
}

static void softib_rn_queues_start(struct softib_rn *rn)
{
	int i;

	for (i = 0; i < SOFTIB_RN_QUEUES; i++) {
		softib_rn_enable(rn, &rn->txq[i].napi);
		softib_rn_enable(rn, &rn->rxq[i].napi);
	}
	WRITE_ONCE(rn->receiving, true);
}

/* Context: nothing is being sent. */
static void softib_rn_queues_stop(struct softib_rn *rn)
{
	int i;

	WRITE_ONCE(rn->receiving, false);
	/* Wait until frames in flight are in a queue. */
	synchronize_net();
	for (i = 0; i < SOFTIB_RN_QUEUES; i++) {
		softib_rn_disable(rn, &rn->txq[i].napi);
		softib_rn_disable(rn, &rn->rxq[i].napi);
		softib_rn_flush(&rn->txq[i]);
		skb_queue_purge(&rn->rxq[i].frames);
	}
}

/* Schedule the queues of all net devices at the end of hold_cq. Context: sleeps. */
void softib_rn_release(struct softib_dev *dev)
{
	struct net_device *netdev;
	unsigned long qpn;
	struct softib_rn *rn;
	int i;

	local_bh_disable();
	rcu_read_lock();
	xa_for_each(&dev->netdevs, qpn, netdev) {
		rn = netdev_priv(netdev);
		for (i = 0; i < SOFTIB_RN_QUEUES && READ_ONCE(rn->receiving); i++) {
			napi_schedule(&rn->txq[i].napi);
			napi_schedule(&rn->rxq[i].napi);
		}
	}
	rcu_read_unlock();
	local_bh_enable();
}

/* ---- hfi1 style ---- */

static struct rvt_qp *softib_rn1_get_qp(struct softib_rn *rn)
{
	struct rvt_qp *qp;

	rcu_read_lock();
	qp = rvt_lookup_qpn(&rn->port->dev->rdi, &rn->port->ibp, softib_rn_qpn(rn));
	if (qp)
		rvt_get_qp(qp);
	rcu_read_unlock();
	return qp;
}

static int softib_rn1_dev_init(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);
	int ret;

	ret = rn->ops->ndo_init(netdev);
	if (ret)
		return ret;
	ret = xa_insert(&rn->port->dev->netdevs, softib_rn_qpn(rn), netdev, GFP_KERNEL);
	if (ret)
		rn->ops->ndo_uninit(netdev);
	return ret;
}

static void softib_rn1_dev_uninit(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);

	WARN_ONCE(!xa_erase(&rn->port->dev->netdevs, softib_rn_qpn(rn)),
		  "softib: the QPN of a net device has changed\n");
	rn->ops->ndo_uninit(netdev);
}

static int softib_rn1_open(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);
	struct rvt_qp *qp;
	int ret;

	ret = rn->ops->ndo_open(netdev);
	if (ret)
		return ret;
	qp = softib_rn1_get_qp(rn);
	if (!qp || !(qp_to_softib_qp(qp)->create_flags & IB_QP_CREATE_NETDEV_USE)) {
		pr_warn("softib: QP %#x of the address is not one for a net device\n",
			softib_rn_qpn(rn));
		if (qp)
			rvt_put_qp(qp);
		rn->ops->ndo_stop(netdev);
		return -EINVAL;
	}
	rn->qp = qp;
	softib_rn_queues_start(rn);
	return 0;
}

static int softib_rn1_stop(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);

	if (!rn->qp)
		return 0;
	softib_rn_queues_stop(rn);
	rvt_put_qp(rn->qp);
	rn->qp = NULL;
	return rn->ops->ndo_stop(netdev);
}

static const struct net_device_ops softib_rn1_ops = {
	.ndo_init = softib_rn1_dev_init,
	.ndo_uninit = softib_rn1_dev_uninit,
	.ndo_open = softib_rn1_open,
	.ndo_stop = softib_rn1_stop,
	SOFTIB_TSTATS_OP
};

static int softib_rn1_attach(struct net_device *netdev, struct ib_device *ibdev,
			     union ib_gid *gid, u16 mlid, int set_qkey, u32 qkey)
{
	struct softib_rn *rn = netdev_priv(netdev);
	struct rvt_qp *qp = softib_rn1_get_qp(rn);
	int ret;

	if (!qp)
		return -EINVAL;
	if (set_qkey) {
		WRITE_ONCE(rn->qkey, qkey);
		/* The client does not set the Q_Key of its QP. */
		WRITE_ONCE(qp->qkey, qkey);
	}
	ret = ib_attach_mcast(&qp->ibqp, gid, mlid);
	rvt_put_qp(qp);
	return ret;
}

static int softib_rn1_detach(struct net_device *netdev, struct ib_device *ibdev,
			     union ib_gid *gid, u16 mlid)
{
	struct rvt_qp *qp = softib_rn1_get_qp(netdev_priv(netdev));
	int ret;

	if (!qp)
		return -EINVAL;
	ret = ib_detach_mcast(&qp->ibqp, gid, mlid);
	rvt_put_qp(qp);
	return ret;
}

static void softib_rn1_set_id(struct net_device *netdev, int id)
{
	struct softib_rn *rn = netdev_priv(netdev);

	rn->pkey_index = id;
	rn->pkey = softib_port_pkey(rn->port, id);
}

static void softib_rn1_timeout(struct net_device *netdev, unsigned int queue)
{
	struct softib_rn *rn = netdev_priv(netdev);

	netdev_info(netdev, "softib: timeout of queue %u: %u sends, %u without a doorbell\n",
		    queue, rn->txq[queue].head - rn->txq[queue].tail,
		    rn->txq[queue].head - rn->txq[queue].rung);
}

static void softib_rn1_free(struct net_device *netdev)
{
	softib_rn_queues_exit(netdev_priv(netdev));
	softib_tstats_free(netdev);
}

static int softib_rn1_setup(struct softib_rn *rn)
{
	struct net_device *netdev = rn->netdev;
	int ret;

	ret = softib_rn_queues_init(rn);
	if (ret)
		return ret;
	ret = softib_tstats_init(netdev);
	if (ret) {
		softib_rn_queues_exit(rn);
		return ret;
	}
	rn->rn.mtu = netdev->mtu;
	rn->rn.port_num = rn->port->num;
	rn->rn.attach_mcast = softib_rn1_attach;
	rn->rn.detach_mcast = softib_rn1_detach;
	rn->rn.set_id = softib_rn1_set_id;
	rn->rn.tx_timeout = softib_rn1_timeout;
	rn->pkey = softib_port_pkey(rn->port, 0);
	rn->ops = netdev->netdev_ops;
	netdev->netdev_ops = &softib_rn1_ops;
	netdev->priv_destructor = softib_rn1_free;
	netdev->needs_free_netdev = true;
	return 0;
}

/* ---- mlx5 style ---- */

static int softib_rn5_move(struct softib_rn *rn, enum ib_qp_state state)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.pkey_index = rn->pkey_index,
		.port_num = rn->port->num,
		.qkey = SOFTIB_RN_QKEY,
	};
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY;
	else if (state == IB_QPS_RTS)
		mask |= IB_QP_SQ_PSN;
	return ib_modify_qp(rn->underlay, &attr, mask);
}

/*
 * Get the parent of a child: ndo_get_iflink(), by now the client's, returns its ifindex in the
 * network namespace of the child.
 */
static int softib_rn5_parent_get(struct softib_rn *rn)
{
	struct net_device *netdev = rn->netdev, *parent;
	struct softib_rn *owner;

	if (!netdev->netdev_ops->ndo_get_iflink)
		return -EINVAL;
	parent = dev_get_by_index(dev_net(netdev), netdev->netdev_ops->ndo_get_iflink(netdev));
	if (!parent)
		return -EINVAL;
	owner = netdev_priv(parent);
	if (parent != rn->port->netdev) {
		pr_warn("softib: %s is not the parent of a child\n", parent->name);
	} else if (netdev->num_rx_queues < parent->real_num_rx_queues) {
		pr_warn("softib: a child has %u receive queues, its parent %u\n",
			netdev->num_rx_queues, parent->real_num_rx_queues);
	} else {
		owner->children++;
		WRITE_ONCE(rn->parent, parent);
		return 0;
	}
	dev_put(parent);
	return -EINVAL;
}

static void softib_rn5_parent_put(struct softib_rn *rn)
{
	struct net_device *parent = rn->parent;
	struct softib_rn *owner;

	if (!parent)
		return;
	owner = netdev_priv(parent);
	owner->children--;
	WRITE_ONCE(rn->parent, NULL);
	dev_put(parent);
}

static int softib_rn5_dev_init(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);
	u32 qpn = rn->underlay->qp_num;
	u8 addr[] = { qpn >> 16, qpn >> 8, qpn };
	int ret;

	ret = rn->is_child ? softib_rn5_parent_get(rn) : 0;
	if (ret)
		return ret;
	dev_addr_mod(netdev, 1, addr, sizeof(addr));
	/* mlx5 ignores the error. */
	ret = xa_insert(&rn->port->dev->netdevs, qpn, netdev, GFP_KERNEL);
	if (ret)
		softib_rn5_parent_put(rn);
	return ret;
}

static void softib_rn5_dev_uninit(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);

	softib_rn5_move(rn, IB_QPS_RESET);
	xa_erase(&rn->port->dev->netdevs, rn->underlay->qp_num);
	softib_rn5_parent_put(rn);
	WARN_ONCE(softib_rn_qpn(rn) != rn->underlay->qp_num,
		  "softib: the client has changed the QPN of the address\n");
}

static int softib_rn5_open(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);
	int ret;

	softib_assert_locked(netdev);
	ret = softib_rn5_move(rn, IB_QPS_INIT);
	if (!ret)
		ret = softib_rn5_move(rn, IB_QPS_RTR);
	if (!ret)
		ret = softib_rn5_move(rn, IB_QPS_RTS);
	if (ret) {
		softib_rn5_move(rn, IB_QPS_RESET);
		return ret;
	}
	softib_rn_queues_start(rn);
	netif_tx_start_all_queues(netdev);
	return 0;
}

static int softib_rn5_stop(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);

	softib_assert_locked(netdev);
	if (!rn->receiving)
		return 0;
	netif_carrier_off(netdev);
	netif_tx_disable(netdev);
	softib_rn_queues_stop(rn);
	softib_rn5_move(rn, IB_QPS_RESET);
	return 0;
}

/* The parent's queues are stopped and started again, and lose their frames. */
static int softib_rn5_change_mtu(struct net_device *netdev, int mtu)
{
	struct softib_rn *rn = netdev_priv(netdev);
	bool reopens = rn->receiving && !rn->is_child;

	WARN_ONCE(mtu > (int)softib_fabric->mtu - SOFTIB_RN_ENCAP,
		  "softib: MTU %d is more than the link takes\n", mtu);
	softib_assert_locked(netdev);
	atomic_inc(&rn->port->dev->netdev_mtus);
	if (reopens) {
		netif_tx_disable(netdev);
		softib_rn_queues_stop(rn);
	}
	WRITE_ONCE(rn->mtu, mtu);
	if (reopens) {
		softib_rn_queues_start(rn);
		netif_tx_start_all_queues(netdev);
	}
	WRITE_ONCE(netdev->mtu, mtu);
	return 0;
}

static void softib_rn5_stats(struct net_device *netdev, struct rtnl_link_stats64 *stats)
{
	const struct softib_rn *rn = netdev_priv(netdev);
	int i;

	for (i = 0; i < SOFTIB_RN_QUEUES; i++) {
		stats->rx_packets += rn->rx[i].packets;
		stats->rx_bytes += rn->rx[i].bytes;
		stats->tx_packets += rn->txq[i].packets;
		stats->tx_bytes += rn->txq[i].bytes;
		stats->tx_dropped += rn->txq[i].dropped;
	}
}

static struct softib_stamp *softib_rn5_stamp(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);

	return &rn->stamp;
}

SOFTIB_HWTSTAMP(softib_rn5, softib_rn5_stamp)

static const struct net_device_ops softib_rn5_ops = {
	.ndo_open = softib_rn5_open,
	.ndo_stop = softib_rn5_stop,
	.ndo_init = softib_rn5_dev_init,
	.ndo_uninit = softib_rn5_dev_uninit,
	.ndo_get_stats64 = softib_rn5_stats,
	.ndo_change_mtu = softib_rn5_change_mtu,
	SOFTIB_HWTSTAMP_OPS(softib_rn5)
};

static int softib_rn5_attach(struct net_device *netdev, struct ib_device *ibdev,
			     union ib_gid *gid, u16 mlid, int set_qkey, u32 qkey)
{
	struct softib_rn *rn = netdev_priv(netdev);

	/* Even if the attachment fails */
	if (set_qkey)
		WRITE_ONCE(rn->qkey, qkey);
	return ib_attach_mcast(rn->underlay, gid, mlid);
}

static int softib_rn5_detach(struct net_device *netdev, struct ib_device *ibdev,
			     union ib_gid *gid, u16 mlid)
{
	struct softib_rn *rn = netdev_priv(netdev);

	return ib_detach_mcast(rn->underlay, gid, mlid);
}

static void softib_rn5_set_id(struct net_device *netdev, int id)
{
	struct softib_rn *rn = netdev_priv(netdev);

	rn->pkey_index = id;
}

static void softib_rn5_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "softib[ib_ipoib]", sizeof(info->driver));
}

static int softib_rn5_count(struct net_device *netdev, int set)
{
	return set == ETH_SS_STATS ? 3 * SOFTIB_RN_QUEUES : -EOPNOTSUPP;
}

static void softib_rn5_strings(struct net_device *netdev, u32 set, u8 *data)
{
	int i;

	for (i = 0; i < SOFTIB_RN_QUEUES && set == ETH_SS_STATS; i++) {
		ethtool_sprintf(&data, "rx%d_packets", i);
		ethtool_sprintf(&data, "tx%d_packets", i);
		ethtool_sprintf(&data, "tx%d_dropped", i);
	}
}

static void softib_rn5_counters(struct net_device *netdev, struct ethtool_stats *stats, u64 *data)
{
	const struct softib_rn *rn = netdev_priv(netdev);
	int i;

	for (i = 0; i < SOFTIB_RN_QUEUES; i++) {
		*data++ = rn->rx[i].packets;
		*data++ = rn->txq[i].packets;
		*data++ = rn->txq[i].dropped;
	}
}

static void softib_rn5_rings(struct net_device *netdev, struct ethtool_ringparam *ring,
			     struct kernel_ethtool_ringparam *kernel_ring,
			     struct netlink_ext_ack *extack)
{
	ring->rx_max_pending = SOFTIB_RN_BACKLOG;
	ring->rx_pending = SOFTIB_RN_BACKLOG;
	ring->tx_max_pending = SOFTIB_RN_RING;
	ring->tx_pending = SOFTIB_RN_RING;
}

static void softib_rn5_channels(struct net_device *netdev, struct ethtool_channels *channels)
{
	const struct softib_rn *rn = netdev_priv(netdev);

	channels->max_combined = SOFTIB_RN_QUEUES;
	channels->combined_count = rn->channels;
}

static int softib_rn5_set_channels(struct net_device *netdev, struct ethtool_channels *channels)
{
	struct softib_rn *rn = netdev_priv(netdev);
	unsigned int n = channels->combined_count;
	int ret;

	if (!n || rn->children)
		return -EINVAL;
	ret = netif_set_real_num_queues(netdev, n, n);
	if (!ret)
		WRITE_ONCE(rn->channels, n);
	return ret;
}

static const struct ethtool_ops softib_rn5_ethtool_ops = {
	.get_drvinfo = softib_rn5_drvinfo,
	.get_strings = softib_rn5_strings,
	.get_sset_count = softib_rn5_count,
	.get_ethtool_stats = softib_rn5_counters,
	.get_ringparam = softib_rn5_rings,
	.get_channels = softib_rn5_channels,
	.set_channels = softib_rn5_set_channels,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_link = ethtool_op_get_link,
};

static const struct ethtool_ops softib_rn5_child_ethtool_ops = {
	.get_drvinfo = softib_rn5_drvinfo,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_link = ethtool_op_get_link,
};

static void softib_rn5_qp_exit(struct softib_rn *rn)
{
	if (!IS_ERR_OR_NULL(rn->underlay))
		ib_destroy_qp(rn->underlay);
	if (!IS_ERR_OR_NULL(rn->cq))
		ib_destroy_cq(rn->cq);
	if (!IS_ERR_OR_NULL(rn->pd))
		ib_dealloc_pd(rn->pd);
}

static int softib_rn5_qp_init(struct softib_rn *rn)
{
	struct ib_qp_init_attr init = {
		.cap.max_send_wr = 1,
		.cap.max_recv_wr = 1,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_UD,
	};
	struct ib_cq_init_attr attr = { .cqe = 2 };
	struct ib_device *ibdev = rn->rn.hca;

	rn->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(rn->pd))
		return PTR_ERR(rn->pd);
	rn->cq = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
	if (IS_ERR(rn->cq))
		return PTR_ERR(rn->cq);
	init.send_cq = rn->cq;
	init.recv_cq = rn->cq;
	rn->underlay = ib_create_qp(rn->pd, &init);
	return PTR_ERR_OR_ZERO(rn->underlay);
}

static void softib_rn5_free(struct net_device *netdev)
{
	struct softib_rn *rn = netdev_priv(netdev);

	WARN_ONCE(rn->children, "softib: a net device goes before its children\n");
	WARN_ONCE(rn->receiving, "softib: a net device goes that is up\n");
	softib_rn5_qp_exit(rn);
	softib_rn_queues_exit(rn);
	if (!rn->is_child)
		rn->port->netdev = NULL;
}

static void softib_rn5_profile(struct net_device *netdev, bool is_child)
{
	netdev->hw_features |= NETIF_F_SG | NETIF_F_IP_CSUM | NETIF_F_IPV6_CSUM | NETIF_F_GRO |
			       NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_RXCSUM | NETIF_F_RXHASH;
	netdev->min_mtu = ETH_MIN_MTU;
	netdev->max_mtu = softib_fabric->mtu - SOFTIB_RN_ENCAP;
	netdev->mtu = netdev->max_mtu;
	netdev->netdev_ops = &softib_rn5_ops;
	netdev->ethtool_ops = is_child ? &softib_rn5_child_ethtool_ops : &softib_rn5_ethtool_ops;
	netif_carrier_off(netdev);
	softib_request_lock(netdev);
}

static int softib_rn5_setup(struct softib_rn *rn)
{
	struct net_device *netdev = rn->netdev;
	int ret;

	rn->is_child = rn->port->netdev;
	ret = softib_rn_queues_init(rn);
	if (ret)
		return ret;
	ret = softib_rn5_qp_init(rn);
	if (!ret)
		ret = netif_set_real_num_queues(netdev, rn->channels, rn->channels);
	if (ret) {
		softib_rn5_qp_exit(rn);
		softib_rn_queues_exit(rn);
		return ret;
	}
	softib_rn5_profile(netdev, rn->is_child);
	rn->mtu = netdev->mtu;
	rn->rn.attach_mcast = softib_rn5_attach;
	rn->rn.detach_mcast = softib_rn5_detach;
	rn->rn.set_id = softib_rn5_set_id;
	netdev->priv_destructor = softib_rn5_free;
	netdev->needs_free_netdev = true;
	if (!rn->is_child)
		rn->port->netdev = netdev;
	return 0;
}

/* ---- interface to the RDMA core ---- */

static int softib_rn_setup(struct ib_device *ibdev, u32 port_num, struct net_device *netdev,
			   void *param)
{
	struct softib_dev *dev = param;
	struct softib_rn *rn = netdev_priv(netdev);

	if (softib_fault_hit(&dev->node->fail_netdev))
		return -ENOMEM;
	rn->netdev = netdev;
	rn->port = &dev->port[port_num - 1];
	rn->rn.hca = ibdev;
	rn->rn.send = softib_rn_send;
	return softib_rn_is_mlx5(rn) ? softib_rn5_setup(rn) : softib_rn1_setup(rn);
}

/* ib_device_ops.rdma_netdev_get_params, for IPoIB only. Return: 0 or a negative errno. */
static int softib_rn_params(struct ib_device *ibdev, u32 port_num, enum rdma_netdev_t type,
			    struct rdma_netdev_alloc_params *params)
{
	struct softib_dev *dev = ib_to_softib(ibdev);

	if (type != RDMA_NETDEV_IPOIB)
		return -EOPNOTSUPP;
	if (port_num < 1 || port_num > dev->nports)
		return -EINVAL;
	*params = (struct rdma_netdev_alloc_params) {
		.sizeof_priv = sizeof(struct softib_rn),
		.txqs = SOFTIB_RN_QUEUES,
		.rxqs = SOFTIB_RN_QUEUES,
		.param = dev,
		.initialize_rdma_netdev = softib_rn_setup,
	};
	if (dev->node->rn == SOFTIB_RN_MLX5)
		params->txqs *= SOFTIB_RN_CLASSES;
	return 0;
}

static const struct ib_device_ops softib_rn_ops = {
	.rdma_netdev_get_params = softib_rn_params,
};

/* Add accelerated net devices, with module parameter rdma_netdev, before the registration. */
void softib_rn_add(struct softib_dev *dev)
{
	if (dev->node->rn == SOFTIB_RN_HFI1)
		dev->rdi.dparms.props.kernel_cap_flags |= IBK_RDMA_NETDEV_OPA;
	if (dev->node->rn != SOFTIB_RN_NONE)
		ib_set_device_ops(&dev->rdi.ibdev, &softib_rn_ops);
}

/**
 * softib_rn_select() - find the style of a node
 * @names: names of styles separated by commas, as in softib_model_word()
 * @index: number of the node, from 0
 *
 * Return: &enum softib_rn_style, or -EINVAL for an unknown name
 */
int softib_rn_select(const char *names, int index)
{
	static const char * const styles[] = {
		[SOFTIB_RN_NONE] = "none",
		[SOFTIB_RN_HFI1] = "hfi1",
		[SOFTIB_RN_MLX5] = "mlx5",
	};
	size_t len;
	int i;

	names = softib_model_word(names, index, &len);
	for (i = 0; i < ARRAY_SIZE(styles); i++)
		if (strlen(styles[i]) == len && !strncmp(styles[i], names, len))
			return i;
	return -EINVAL;
}
