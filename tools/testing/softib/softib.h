/* SPDX-License-Identifier: GPL-2.0 */
/*
 * softib - a software InfiniBand fabric: shared structures and prototypes
 *
 * N nodes, each an ib_device on rdmavt, are connected to one emulated switch. Packets are not built
 * in memory: a struct softib_frame describes a packet, and is passed by function calls, in the
 * sender's context, from the sender's port through the switch to the receiver, which copies the
 * payload once. Per packet there is no allocation and no write to a shared cache line.
 */
#ifndef SOFTIB_H
#define SOFTIB_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/dma-map-ops.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/platform_device.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_hdrs.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_cq.h>
#include <rdma/rdmavt_mr.h>
#include <rdma/rdmavt_qp.h>

#include "compat.h"

/**
 * DOC: Locking and lifetime
 *
 * Delivery runs in the sender's context: rvt_post_send() -> softib_do_send()
 * -> softib_port_tx() -> switch -> softib_port_rx() -> receive engine.
 *
 * - A sender marks its QP RVT_S_BUSY under s_lock and then drops s_lock; no
 *   lock of the sender is held while a frame travels. A receiver takes its own
 *   r_lock (interrupts off) and, inside it, at most its CQ and RQ locks. So two
 *   QPs may send to each other, and a QP to itself.
 * - The lock order of rdmavt is r_lock, s_hlock, s_lock. Never take r_lock with s_lock
 *   held.
 * - softib_port_tx() holds rcu_read_lock() until the last copy is delivered.
 *   This keeps the receiving QP (unhashed, then synchronize_rcu() in rdmavt)
 *   and the receiving port (unlinked from the switch, then synchronize_rcu()
 *   in softib_link_unplug()) alive. The sending port lives at least as long as
 *   its QPs and its trap.
 * - struct softib_fabric lives as long as the module. Its mutex serialises the
 *   addition and the removal of HCAs; its spinlock guards link and subnet
 *   management state of the switch and of the ports (softib_port fields marked
 *   [F]), which the data path reads with READ_ONCE().
 */

#define SOFTIB_MAX_NODES	64
#define SOFTIB_MAX_PORTS	2	/* per HCA; OpenSM refuses more on a CA */
#define SOFTIB_MAX_SWPORTS	(SOFTIB_MAX_NODES * SOFTIB_MAX_PORTS)
#define SOFTIB_MAX_VFS		8	/* virtual functions of an HCA */
#define SOFTIB_NPKEYS		128	/* a multiple of the 32 of one PKeyTable block */
#define SOFTIB_NGUIDS		8	/* one GUIDInfo block */
#define SOFTIB_LFT_TOP		0xbfff	/* highest unicast LID */
#define SOFTIB_LFT_SIZE		(SOFTIB_LFT_TOP + 1)
#define SOFTIB_MFT_SIZE		4096	/* multicast LIDs, from 0xc000 on */
#define SOFTIB_MFT_POSITIONS	((SOFTIB_MAX_SWPORTS + 1 + 15) / 16)
#define SOFTIB_NO_PORT		0xff	/* LFT entry: not routed */
#define SOFTIB_VL_CAP		4	/* VLCap code of VL0 to VL7 */

/* Maximum SGEs of a work request */
#define SOFTIB_MAX_SGE		32
#define SOFTIB_MAX_MCAST_GRP	16384	/* per HCA, by default */
#define SOFTIB_SEND_BATCH	64	/* messages per turn of a send engine */

#define SOFTIB_VENDOR_ID	0x025053	/* locally administered, like the GUIDs */
#define SOFTIB_GID_PREFIX	cpu_to_be64(0xfe80000000000000ULL)
#define SOFTIB_GSI_QKEY		0x80010000
#define SOFTIB_VL_SMP		15
#define SOFTIB_LID_MCAST	0xc000
#define SOFTIB_LID_PERMISSIVE	0xffff

/**
 * enum softib_drop - reasons to drop a frame, with a counter each
 * @SOFTIB_DROP_LINK: source or destination link not in the needed state
 * @SOFTIB_DROP_NO_ROUTE: unicast LID not in the LFT, or routed nowhere
 * @SOFTIB_DROP_NO_TREE: multicast LID with an empty MFT entry
 * @SOFTIB_DROP_VL: SL maps to VL15, which carries no data
 * @SOFTIB_DROP_MTU: payload above the MTU of the link
 * @SOFTIB_DROP_DLID: DLID of another port
 * @SOFTIB_DROP_GID: GRH with the DGID of another port
 * @SOFTIB_DROP_NO_GRH: no GRH on multicast, or at a port that requires it
 * @SOFTIB_DROP_NO_GROUP: no QP attached to the group at this port
 * @SOFTIB_DROP_PKEY: P_Key mismatch, or limited to limited
 * @SOFTIB_DROP_QKEY: Q_Key mismatch
 * @SOFTIB_DROP_NO_QP: no QP of this number, transport and port
 * @SOFTIB_DROP_QP_STATE: the QP is not ready to receive
 * @SOFTIB_DROP_NO_RWQE: no receive posted
 * @SOFTIB_DROP_TOO_LONG: message longer than the receive buffer
 * @SOFTIB_DROP_BAD_MAD: MAD that the switch does not support
 * @SOFTIB_DROP_BAD_REQUEST: UC request that is not allowed or not executable
 * @SOFTIB_DROP_FAULT: dropped by a fault knob
 * @SOFTIB_DROP_MAX: number of reasons
 */
enum softib_drop {
	SOFTIB_DROP_LINK,
	SOFTIB_DROP_NO_ROUTE,
	SOFTIB_DROP_NO_TREE,
	SOFTIB_DROP_VL,
	SOFTIB_DROP_MTU,
	SOFTIB_DROP_DLID,
	SOFTIB_DROP_GID,
	SOFTIB_DROP_NO_GRH,
	SOFTIB_DROP_NO_GROUP,
	SOFTIB_DROP_PKEY,
	SOFTIB_DROP_QKEY,
	SOFTIB_DROP_NO_QP,
	SOFTIB_DROP_QP_STATE,
	SOFTIB_DROP_NO_RWQE,
	SOFTIB_DROP_TOO_LONG,
	SOFTIB_DROP_BAD_MAD,
	SOFTIB_DROP_BAD_REQUEST,
	SOFTIB_DROP_FAULT,
	SOFTIB_DROP_MAX
};

/**
 * enum softib_class - traffic classes of the fault knobs
 * @SOFTIB_CLASS_UD: UD, except MADs
 * @SOFTIB_CLASS_RC: RC and UC
 * @SOFTIB_CLASS_MAD: QP0 and QP1
 * @SOFTIB_CLASS_MAX: number of classes
 */
enum softib_class {
	SOFTIB_CLASS_UD,
	SOFTIB_CLASS_RC,
	SOFTIB_CLASS_MAD,
	SOFTIB_CLASS_MAX
};

/* Exceeds the number of values of enum ib_rate. */
#define SOFTIB_RATE_MAX	32

/**
 * struct softib_stats - per-CPU counters of a port
 * @tx_packets: packets sent
 * @tx_bytes: bytes sent, headers included
 * @rx_packets: packets received
 * @rx_bytes: bytes received, headers included
 * @tx_mcast: packets sent to a multicast LID
 * @rx_mcast: packets received from a multicast LID
 * @drop: frames dropped at this port, by reason
 * @tx_rate: datagrams except MADs, to unicast and to multicast LIDs, by the static rate of
 *           their address handle
 */
struct softib_stats {
	u64 tx_packets;
	u64 tx_bytes;
	u64 rx_packets;
	u64 rx_bytes;
	u64 tx_mcast;
	u64 rx_mcast;
	u64 drop[SOFTIB_DROP_MAX];
	u64 tx_rate[2][SOFTIB_RATE_MAX];
};

/**
 * struct softib_frame - an InfiniBand packet or message, by reference
 * @slid: LRH source LID
 * @dlid: LRH destination LID
 * @sl: LRH service level
 * @vl: LRH virtual lane; set by softib_port_tx()
 * @opcode: BTH opcode. A message longer than @mtu has the opcode of its *only*
 *          form; the capture derives first, middle and last
 * @has_grh: @grh is valid (LNH 3 instead of 2)
 * @se: BTH solicited event
 * @ackreq: BTH acknowledge request
 * @captured: this frame is in the capture already
 * @pkey: BTH P_Key
 * @dqpn: BTH destination QP
 * @psn: BTH packet sequence number, of the first packet
 * @mtu: path MTU in bytes to segment the message; 0: single packet
 * @len: payload bytes
 * @data: linear payload, or NULL: the payload is @ss
 * @ss: payload as a scatter list; readers advance a copy of it (struct softib_payload),
 *      never the frame's
 * @qkey: DETH Q_Key (UD)
 * @sqpn: DETH source QP (UD)
 * @imm: immediate data
 * @aeth: AETH: syndrome in the upper 8 bits, MSN in the lower 24
 * @va: RETH virtual address
 * @rkey: RETH R_Key
 * @dmalen: RETH DMA length
 * @grh: the GRH, as on the wire
 *
 * Lives on the sender's stack and is valid only during delivery. Initialise
 * with softib_frame_init(), then set the fields of the headers of the opcode.
 */
struct softib_frame {
	u16 slid;
	u16 dlid;
	u8 sl;
	u8 vl;
	u8 opcode;
	bool has_grh;
	bool se;
	bool ackreq;
	bool captured;
	u16 pkey;
	u32 dqpn;
	u32 psn;
	u32 mtu;
	u32 len;
	const void *data;
	struct rvt_sge_state ss;
	u32 qkey;
	u32 sqpn;
	__be32 imm;
	u32 aeth;
	u64 va;
	u32 rkey;
	u32 dmalen;
	struct ib_grh grh;
};

/**
 * struct softib_payload - position of a reader in the payload of a frame
 * @data: next byte of a linear payload, or NULL
 * @ss: position in the scatter list
 * @len: bytes left
 */
struct softib_payload {
	const void *data;
	struct rvt_sge_state ss;
	u32 len;
};

/**
 * struct softib_fault - fault knobs of one traffic class of a node
 * @drop_next: drop the next N sent frames
 * @drop_every: drop every Nth sent frame; 0: none
 * @dup_every: deliver every Nth sent frame twice; 0: none
 * @delay_ms: delay of sent frames in ms, in order (copies them)
 * @seen: frames counted for @drop_every and @dup_every
 */
struct softib_fault {
	u32 drop_next;
	u32 drop_every;
	u32 dup_every;
	u32 delay_ms;
	atomic_t seen;
};

/**
 * enum softib_csum - checksum offload of datagrams, and its capability flag
 * @SOFTIB_CSUM_NONE: no offload, no capability
 * @SOFTIB_CSUM_LSO_QP: for QPs with IB_QP_CREATE_IPOIB_UD_LSO only (mlx5)
 * @SOFTIB_CSUM_ANY_QP: for all QPs; the flag is supported (mlx4)
 * @SOFTIB_CSUM_CLAIMED: capability without offload; the flag is refused (mlx5 with only its
 *	enhanced offloads)
 */
enum softib_csum {
	SOFTIB_CSUM_NONE,
	SOFTIB_CSUM_LSO_QP,
	SOFTIB_CSUM_ANY_QP,
	SOFTIB_CSUM_CLAIMED,
};

/**
 * enum softib_rn_style - accelerated net devices (rdma_netdev) of an HCA
 * @SOFTIB_RN_NONE: none
 * @SOFTIB_RN_HFI1: as hfi1, beside a UD QP of the client
 * @SOFTIB_RN_MLX5: as mlx5
 */
enum softib_rn_style {
	SOFTIB_RN_NONE,
	SOFTIB_RN_HFI1,
	SOFTIB_RN_MLX5,
};

/* Maximum octets of the header of an IB_WR_LSO send */
#define SOFTIB_LSO_HEAD		128

/* Completion vectors with a counter of CQs */
#define SOFTIB_VECTORS_SHOWN	16

struct softib_dev;
struct softib_dma;

/**
 * struct softib_model - behaviour of a real HCA that consumers of verbs can observe
 * @name: name of the model
 * @max_sge: SGEs of a work request
 * @srq_sge: initial value of &softib_node.srq_sge
 * @sq_bytes: initial value of &softib_node.sq_bytes
 * @csum: initial value of &softib_node.csum
 * @vectors: completion vectors; 0: number of CPUs, but at least two
 * @coalesce_us: delay from a completion to its interrupt in microseconds
 * @flush_us: delay of the completions of a QP in the error state in microseconds
 * @sm_change: a change of the SM raises IB_EVENT_SM_CHANGE
 * @sqe: a failed UD send moves the QP to the state SQE
 * @mc_loop: multicast loops back to all attached QPs of the HCA, including the sender
 * @mc_block: IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK is supported
 * @async: posted sends are sent later, from another context
 * @irq: completion handlers run in hard interrupt context. ib_req_notify_cq() need not report
 *	missed events: they raise an interrupt
 * @dma: device addresses, and a local_dma_lkey other than 0
 * @purge: RESET and destruction of a QP remove its completions
 * @moderation: ib_device_ops.modify_cq is there
 */
struct softib_model {
	const char *name;
	u32 max_sge;
	u32 srq_sge;
	u32 sq_bytes;
	enum softib_csum csum;
	int vectors;
	u32 coalesce_us;
	u32 flush_us;
	bool sm_change;
	bool sqe;
	bool mc_loop;
	bool mc_block;
	bool async;
	bool irq;
	bool dma;
	bool purge;
	bool moderation;
};

/* local_dma_lkey of models with device addresses */
#define SOFTIB_LKEY		0x1ee71ee7

/**
 * struct softib_trap - a pending trap, repeated until the SM represses it
 * @work: sends and repeats the trap
 * @tid: transaction ID of the last sent trap [F]
 * @left: remaining transmissions; 0: no trap is pending [F]
 * @stopped: no more traps, the sender is being removed [F]
 * @changes: change flags of trap 144 [F]
 */
struct softib_trap {
	struct delayed_work work;
	u64 tid;
	int left;
	bool stopped;
	u8 changes;
};

/**
 * struct softib_link - an end of a cable, with values of PortInfo; all [F]
 * @state: logical link state, IB_PORT_DOWN..
 * @phys: physical state, IB_PORT_PHYS_STATE_*
 * @mtu: active (neighbour) MTU in bytes
 * @mtu_enum: @mtu as enum ib_mtu
 * @disabled: the SM set the physical state to disabled
 * @op_vls: OperationalVLs
 * @vl_high_limit: stored for Get only
 * @width_enabled: lanes of the next training
 * @width: active lanes, IB_WIDTH_1X or _4X
 * @speed_enabled: stored for Get only
 * @ext_speed_enabled: stored for Get only
 * @stall_hoq: VLStallCount and HOQLife, stored for Get only
 * @enforce: partition enforcement and filter bits, stored for Get only
 * @downed: LinkDownedCounter of the PMA
 * @vlarb: VL arbitration tables, stored for Get only
 */
struct softib_link {
	u8 state;
	u8 phys;
	u16 mtu;
	u8 mtu_enum;
	bool disabled;
	u8 op_vls;
	u8 vl_high_limit;
	u8 width_enabled;
	u8 width;
	u8 speed_enabled;
	u8 ext_speed_enabled;
	u8 stall_hoq;
	u8 enforce;
	u32 downed;
	u8 vlarb[4][64];
};

/**
 * struct softib_vf - a virtual function, as seen by a port
 * @node_guid: node GUID; 0: not set yet
 * @port_guid: port GUID; 0: not set yet
 * @state: IFLA_VF_LINK_STATE_*
 */
struct softib_vf {
	u64 node_guid;
	u64 port_guid;
	int state;
};

/**
 * struct softib_port - a port of an HCA
 * @ibp: base structure of rdmavt
 * @dev: the HCA
 * @stats: counters
 * @link: this end of the cable [F]
 * @num: port number, from 1
 * @swport: switch port at the other end of the cable
 * @lmc: LID mask control [F]
 * @lid: base LID, 0 if none [F]
 * @armed: a fault knob of this node is set: take the slow path
 * @live: async events may be dispatched; cleared, then synchronize_rcu(),
 *        before the device is unregistered
 * @leaving: being unregistered: received MADs get no answer, MADs to be sent are flushed
 * @plugged: cabled to the switch [F]
 * @sl2vl: VL of each SL [F]
 * @pkeys: P_Key table [F]
 * @guids: GUID table; entry 0 is fixed [F]
 * @trap: trap 144
 * @pma_base: PMA counters at the last reset
 * @vf: virtual functions
 * @netdev: accelerated net device whose queues are shared by the port's further net devices, see
 *	softib_rn.c; RTNL
 */
struct softib_port {
	struct rvt_ibport ibp;
	struct softib_dev *dev;
	struct softib_stats __percpu *stats;
	struct softib_link link;
	u8 num;
	u8 swport;
	u8 lmc;
	u16 lid;
	bool armed;
	bool live;
	bool leaving;
	bool plugged;
	u8 sl2vl[16];
	u16 pkeys[SOFTIB_NPKEYS];
	__be64 guids[SOFTIB_NGUIDS];
	struct softib_trap trap;
	struct softib_stats pma_base;
	struct softib_vf vf[SOFTIB_MAX_VFS];
	struct net_device *netdev;
};

/**
 * struct softib_dev - an HCA
 * @rdi: base structure of rdmavt, which begins with the ib_device
 * @node: the node of the HCA
 * @nports: ports in use
 * @port: the ports
 * @csum: enum softib_csum
 * @fatal: the HCA has failed
 * @srq_mutex: guards @srqs
 * @srqs: shared receive queues
 * @vector_cqs: CQs of kernel consumers, by completion vector
 * @lso: IB_WR_LSO sends that were segmented
 * @interrupts: calls of completion handlers in hard interrupt context
 * @doorbells: calls of ib_post_send() by kernel consumers
 * @netdev_sends: frames sent through accelerated net devices
 * @netdev_doorbells: doorbells for @netdev_sends
 * @netdev_mtus: changes of the MTU of accelerated net devices
 * @netdevs: accelerated net devices, by QPN
 * @cq_mutex: guards @cqs
 * @cqs: CQs whose handlers run in hard interrupt context
 */
struct softib_dev {
	struct rvt_dev_info rdi;
	struct softib_node *node;
	int nports;
	struct softib_port port[SOFTIB_MAX_PORTS];
	u32 csum;
	bool fatal;
	struct mutex srq_mutex;	/* srqs */
	struct list_head srqs;
	atomic_t vector_cqs[SOFTIB_VECTORS_SHOWN];
	atomic_t lso;
	atomic_t interrupts;
	atomic_t doorbells;
	atomic_t netdev_sends;
	atomic_t netdev_doorbells;
	atomic_t netdev_mtus;
	struct xarray netdevs;
	struct mutex cq_mutex;	/* cqs */
	struct list_head cqs;
};

/**
 * struct softib_cq - a completion queue
 * @rvt: base structure of rdmavt, which begins with the ib_cq
 * @list: in &softib_dev.cqs
 * @handler: the consumer's completion handler, NULL if rdmavt calls it
 * @timer: calls @handler
 * @closing: @timer must not be started any more
 * @vector: completion vector if &softib_dev.vector_cqs counts the CQ; else -1
 * @quiet_until: time in ns until which completions are hidden
 * @due: deadline in ns of the next report of a moderated CQ
 * @usecs: moderation: maximum delay of a report in microseconds; 0: none
 * @count: moderation: number of completions that end the delay; 0: none
 */
struct softib_cq {
	struct rvt_cq rvt;
	struct list_head list;
	ib_comp_handler handler;
	struct hrtimer timer;
	bool closing;
	int vector;
	u64 quiet_until;
	u64 due;
	u16 usecs;
	u16 count;
};

/**
 * struct softib_srq - a shared receive queue
 * @rvt: base structure of rdmavt, which begins with the ib_srq
 * @list: in &softib_dev.srqs
 * @dead: in the error state: no receives are taken any more
 */
struct softib_srq {
	struct rvt_srq rvt;
	struct list_head list;
	bool dead;
};

/* No work request is too late for this turn. */
#define SOFTIB_NONE_LATE	U32_MAX

/**
 * struct softib_qp - private part of a QP (rvt_qp.priv)
 * @qp: rdmavt's QP
 * @work: deferred run of the send engine
 * @late_from: index of the first work request that was posted too late for the
 *	current turn of the send engine (latency_us, UD)
 * @idle: woken when the engine leaves a QP that is being reset
 * @events: SOFTIB_RC_* bits, handled by the send engine of RC and UC with no lock held
 * @recv_len: length of the receive of the current UC message; r_lock
 * @create_flags: IB_QP_CREATE_ flags
 * @event_handler: the consumer's event handler
 * @last_wqe: delayed IB_EVENT_QP_LAST_WQE_REACHED
 * @last_lost: IB_EVENT_QP_LAST_WQE_REACHED is never raised
 * @held: a receive of an SRQ is held back until IB_EVENT_QP_LAST_WQE_REACHED is raised
 * @held_wr_id: wr_id of this receive
 * @heads: headers of the IB_WR_LSO sends in the send queue, SOFTIB_LSO_HEAD octets a
 *	slot; NULL if the QP does not support these sends
 */
struct softib_qp {
	struct rvt_qp *qp;
	struct work_struct work;
	u32 late_from;
	wait_queue_head_t idle;
	unsigned long events;
	u32 recv_len;
	u32 create_flags;
	void (*event_handler)(struct ib_event *event, void *context);
	struct delayed_work last_wqe;
	bool last_lost;
	bool held;
	u64 held_wr_id;
	u8 *heads;
};

/**
 * struct softib_knob - private data of the debugfs file of a fault knob
 * @node: node of the knob
 * @value: the knob
 */
struct softib_knob {
	struct softib_node *node;
	u32 *value;
};

/**
 * struct softib_node - a place for an HCA, which outlives the HCA
 * @index: number from 0; the name of the node is "softib" and this number
 * @model: model of the HCA
 * @rn: enum softib_rn_style
 * @dev: the HCA, NULL while removed; under the fabric's mutex
 * @pdev: parent device of the HCA, or of @pf
 * @pf: parent device of an HCA that has virtual functions, else NULL
 * @dir: debugfs directory
 * @fault: fault knobs by traffic class
 * @drop_egress: drop all datagrams at the sending port, after the send: measures the sender
 *	without receivers
 * @fail_send: complete the next N UD sends in error
 * @fail_recv: complete the next N UD receives in error
 * @fail_ah: refuse the next N address handles
 * @fail_qp: refuse the next N QPs
 * @fail_modify: refuse the next N ib_modify_qp(), or only the next N to @modify_states
 * @modify_states: BIT(IB_QPS_) of target states for @fail_modify; 0: any call
 * @rnr_next: treat the receive queue as empty for the next N messages on RC and UC
 * @long_next: treat the receives of the next N messages on RC and UC as too short
 * @cut_next: truncate the next N single-packet messages on RC and UC to a few octets
 * @silent_next: fail the QPs that the next N requests on RC and UC are for, without a NAK or event
 * @overlong_ud: report a length beyond the receive for the next N datagrams to kernel consumers
 * @overlong_rc: the same for the next N messages on RC and UC
 * @short_next_mad: truncate the next N MADs to QP1 to 136 octets
 * @srq_sge: maximum SGEs of an SRQ receive on the next HCA to be plugged in; 0: no SRQs
 * @mtu_cap: MTUCap of the ports; 0: the fabric's MTU
 * @mcast_limit: maximum number of attached multicast groups
 * @csum: &enum softib_csum of the next HCA to be plugged in
 * @csum_free: checksums are neither computed nor verified, and reported as correct: in benchmarks
 *	they then cost no CPU time, as with a real HCA
 * @steering: the next HCA has IB_DEVICE_MANAGED_FLOW_STEERING
 * @no_mcast: the next HCA has no multicast
 * @grh_required: the ports of the next HCA require a GRH: unicast without a GRH is dropped,
 *	and MADs without a GRH get a generated GRH
 * @no_uc: refuse UC QPs
 * @refuse_flags: refuse QPs with any of these IB_QP_CREATE_ flags
 * @refuse_error: error of @refuse_flags, @sq_bytes and @fail_modify; 0: the default
 * @sq_bytes: maximum octets of a send queue; 0: unlimited
 * @fail_attach: refuse the next N attachments to groups
 * @fail_detach: refuse the next N detachments
 * @fail_srq: refuse the next N shared receive queues
 * @make_qp_ms: duration of the creation of a QP in ms
 * @last_wqe_ms: delay of IB_EVENT_QP_LAST_WQE_REACHED in ms
 * @lose_last_wqe: suppress the next N IB_EVENT_QP_LAST_WQE_REACHED
 * @fail_error_send: refuse the next N sends to QPs of kernel consumers in the error state
 * @fail_post: refuse the next N posts of sends to other QPs of kernel consumers, by class
 * @fail_post_recv: refuse the next N posts of receives to UD QPs of kernel consumers
 * @fail_moderation: refuse the Nth change of the moderation of a CQ from now on
 * @ack_times: factor of the ACK timeout; 0: 1
 * @vfs: virtual functions of the HCA
 * @fail_vf_set: refuse the next N changes of virtual functions
 * @fail_vf_get: refuse the next N queries of virtual functions
 * @fail_netdev: refuse the next N accelerated net devices
 * @hold_cq: call no completion handler, and hide completions
 * @latency_us: additional latency of UD sends; of RC and UC: delay of each turn of the send engine
 * @dma_quiet: count DMA faults without messages
 * @dma_faults: DMA faults of earlier HCAs of the node
 * @dma: device addresses, NULL if the model has none
 * @link_off: the link was taken down through debugfs, by port [F]
 * @knob: private data of the debugfs files of fault knobs
 */
struct softib_node {
	int index;
	const struct softib_model *model;
	int rn;
	struct softib_dev *dev;
	struct platform_device *pdev;
	struct device *pf;
	struct dentry *dir;
	struct softib_fault fault[SOFTIB_CLASS_MAX];
	u32 drop_egress;
	u32 fail_send;
	u32 fail_recv;
	u32 fail_ah;
	u32 fail_qp;
	u32 fail_modify;
	u32 modify_states;
	u32 rnr_next;
	u32 long_next;
	u32 cut_next;
	u32 silent_next;
	u32 overlong_ud;
	u32 overlong_rc;
	u32 short_next_mad;
	u32 srq_sge;
	u32 mtu_cap;
	u32 mcast_limit;
	u32 csum;
	u32 csum_free;
	u32 steering;
	u32 no_mcast;
	u32 grh_required;
	u32 no_uc;
	u32 refuse_flags;
	u32 refuse_error;
	u32 sq_bytes;
	u32 fail_attach;
	u32 fail_detach;
	u32 fail_srq;
	u32 make_qp_ms;
	u32 last_wqe_ms;
	u32 lose_last_wqe;
	u32 fail_error_send;
	u32 fail_post[SOFTIB_CLASS_MAX];
	u32 fail_post_recv;
	u32 fail_moderation;
	u32 ack_times;
	u32 vfs;
	u32 fail_vf_set;
	u32 fail_vf_get;
	u32 fail_netdev;
	u32 hold_cq;
	u32 latency_us;
	u32 dma_quiet;
	u32 dma_faults;
	struct softib_dma *dma;
	bool link_off[SOFTIB_MAX_PORTS];
	struct softib_knob knob[SOFTIB_CLASS_MAX * 4 + 12];
};

/**
 * struct softib_swport - a port of the switch
 * @peer: HCA port at the other end of the cable, NULL if none
 * @link: this end of the cable [F]
 * @sl2vl: SL-to-VL row of the output port, stored for Get only [F]
 * @pkeys: partition enforcement table, stored for Get only [F]
 * @drop: frames dropped by this port, by reason
 * @pma_base: PMA counters at the last reset
 */
struct softib_swport {
	struct softib_port __rcu *peer;
	struct softib_link link;
	u8 sl2vl[8];
	__be16 pkeys[32];
	atomic_t drop[SOFTIB_DROP_MAX];
	struct softib_stats pma_base;
};

/**
 * struct softib_switch - the switch
 * @guid: node GUID
 * @lid: LID of port 0 [F]
 * @sm_lid: LID of the master SM [F]
 * @sm_sl: SL to the master SM [F]
 * @subnet_timeout: stored for Get only [F]
 * @gid_prefix: GID prefix of port 0 [F]
 * @mkey: stored for Get only [F]
 * @nports: external ports
 * @mft_words: 16-port words of an MFT entry that are in use
 * @port: ports by number; 0 is the management port
 * @lft: output port by unicast LID
 * @mft: output ports by multicast LID, 16 in a word
 * @lft_top: LinearFDBTop [F]
 * @state_change: SwitchInfo PortStateChange [F]
 * @lifetime: SwitchInfo LifeTimeValue [F]
 * @trap: trap 128
 */
struct softib_switch {
	__be64 guid;
	u16 lid;
	u16 sm_lid;
	u8 sm_sl;
	u8 subnet_timeout;
	__be64 gid_prefix;
	__be64 mkey;
	u8 nports;
	u8 mft_words;
	struct softib_swport port[SOFTIB_MAX_SWPORTS + 1];
	u8 lft[SOFTIB_LFT_SIZE];
	u16 mft[SOFTIB_MFT_SIZE][SOFTIB_MFT_POSITIONS];
	u16 lft_top;
	bool state_change;
	u8 lifetime;
	struct softib_trap trap;
};

/**
 * struct softib_fabric - the fabric
 * @mutex: serialises addition and removal of HCAs
 * @lock: guards fields marked [F]; interrupts off. Only CQ locks nest inside it
 * @wq: send engines that yield, delayed frames, traps
 * @engine: send engines of asynchronous models
 * @dir: debugfs root
 * @nnodes: number of nodes
 * @nports: ports of an HCA
 * @mtu: MTU of all links in bytes
 * @mtu_enum: @mtu as enum ib_mtu
 * @guid_base: upper 40 bits of all GUIDs
 * @has_vfs: HCAs have virtual functions
 * @node: the nodes
 * @sw: the switch
 */
struct softib_fabric {
	struct mutex mutex;	/* addition and removal of HCAs */
	spinlock_t lock;	/* fields marked [F] */
	struct workqueue_struct *wq;
	struct workqueue_struct *engine;
	struct dentry *dir;
	int nnodes;
	int nports;
	u16 mtu;
	u8 mtu_enum;
	u64 guid_base;
	bool has_vfs;
	struct softib_node node[SOFTIB_MAX_NODES];
	struct softib_switch sw;
};

extern struct softib_fabric *softib_fabric;

static inline struct softib_dev *rdi_to_softib(struct rvt_dev_info *rdi)
{
	return container_of(rdi, struct softib_dev, rdi);
}

static inline struct softib_dev *ib_to_softib(struct ib_device *ibdev)
{
	return rdi_to_softib(ib_to_rvt(ibdev));
}

static inline struct softib_dev *qp_to_softib(const struct rvt_qp *qp)
{
	return ib_to_softib(qp->ibqp.device);
}

static inline struct softib_port *qp_to_softib_port(const struct rvt_qp *qp)
{
	return &qp_to_softib(qp)->port[qp->port_num - 1];
}

static inline struct softib_qp *qp_to_softib_qp(const struct rvt_qp *qp)
{
	return qp->priv;
}

static inline bool softib_frame_is_mcast(const struct softib_frame *frame)
{
	return frame->dlid >= SOFTIB_LID_MCAST &&
	       frame->dlid != SOFTIB_LID_PERMISSIVE;
}

/* Virtual ports require a GRH. */
static inline bool softib_port_needs_grh(const struct softib_port *port)
{
	return port->dev->rdi.dparms.core_cap_flags &
	       RDMA_CORE_CAP_IB_GRH_REQUIRED;
}

static inline bool softib_frame_is_smp(const struct softib_frame *frame)
{
	return !frame->dqpn;
}

static inline u8 softib_frame_transport(const struct softib_frame *frame)
{
	return frame->opcode & RVT_OPCODE_QP_MASK;
}

static inline u64 softib_node_guid(const struct softib_node *node)
{
	return softib_fabric->guid_base | (node->index + 1) << 8;
}

/* Number of packets of the frame on the wire */
static inline u32 softib_frame_packets(const struct softib_frame *frame)
{
	if (likely(!frame->mtu || frame->len <= frame->mtu))
		return 1;
	return DIV_ROUND_UP(frame->len, frame->mtu);
}

/* IBTA 10.9.3: same partition, and at least one full member */
static inline bool softib_pkey_ok(u16 a, u16 b)
{
	return (a & 0x7fff) && !((a ^ b) & 0x7fff) && ((a | b) & 0x8000);
}

static inline u16 softib_port_pkey(const struct softib_port *port,
				   unsigned int index)
{
	return index < SOFTIB_NPKEYS ? READ_ONCE(port->pkeys[index]) : 0;
}

static inline void softib_port_drop(struct softib_port *port,
				    enum softib_drop why)
{
	this_cpu_inc(port->stats->drop[why]);
}

/* softib_hca.c */
bool softib_hca_objects(struct softib_dev *dev, char *text, size_t size);
int softib_hca_add(struct softib_node *node);
void softib_hca_del(struct softib_node *node);

/* softib_model.c */
const struct softib_model *softib_model_select(const char *names, int index);
void softib_model_knobs(struct softib_node *node);
const char *softib_model_word(const char *names, int index, size_t *len);

struct seq_file;

/* softib_cq.c */
void softib_cq_init(struct ib_cq *ibcq, int vector);
void softib_cq_exit(struct ib_cq *ibcq);
void softib_cq_release(struct softib_dev *dev);
int softib_cq_moderate(struct ib_cq *ibcq, u16 count, u16 usecs);
void softib_cq_show(struct softib_dev *dev, struct seq_file *seq);
void softib_cq_quiet(struct ib_cq *ibcq);
void softib_cq_purge(struct ib_cq *ibcq, struct ib_qp *ibqp);
int softib_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc,
		   int (*poll)(struct ib_cq *, int, struct ib_wc *));
int softib_cq_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags,
		     int (*notify)(struct ib_cq *, enum ib_cq_notify_flags));

/* softib_dma.c */
int softib_dma_init(struct softib_node *node);
void softib_dma_exit(struct softib_node *node);
u32 softib_dma_faults(const struct softib_node *node);
void *softib_dma_va(void *addr, u32 len, bool write);
void softib_dma_check(struct softib_node *node, u64 addr, u32 len);
int softib_dma_probe(struct softib_node *node, u64 what);

/* softib_verbs.c */
void softib_disassociate_ucontext(struct ib_ucontext *context);
int softib_enable_driver(struct ib_device *ibdev);
void softib_qp_hold(struct rvt_qp *qp);
void softib_srqs_die(struct softib_dev *dev);
void softib_qps_report(struct softib_dev *dev, enum ib_event_type event);
void softib_cqs_die(struct softib_dev *dev);
void softib_hca_die(struct softib_dev *dev);
void softib_csum_caps(struct softib_dev *dev, struct ib_device_attr *props);
void *softib_csum_tx(const struct rvt_qp *qp, int send_flags,
		     struct softib_frame *frame);
int softib_csum_rx(const struct rvt_qp *qp, const struct softib_frame *frame);

/* softib_lso.c */
int softib_lso_alloc(struct rvt_qp *qp);
void softib_lso_free(struct rvt_qp *qp);
int softib_lso_setup(struct rvt_qp *qp, struct rvt_swqe *wqe, bool *call_send);
enum ib_wc_status softib_lso_send(struct softib_port *port,
				  const struct softib_frame *frame,
				  const struct ib_ud_wr *wr);

/* softib_port.c */
int softib_port_init(struct softib_dev *dev, int num);
void softib_port_exit(struct softib_port *port);
void softib_port_event(struct softib_port *port, enum ib_event_type event);
int softib_port_query(struct rvt_dev_info *rdi, u32 port_num,
		      struct ib_port_attr *props);
int softib_port_guid(struct rvt_dev_info *rdi, struct rvt_ibport *rvp,
		     int index, __be64 *guid);
int softib_port_shut_down(struct rvt_dev_info *rdi, u32 port_num);
void softib_port_cap_mask_chg(struct rvt_dev_info *rdi, u32 port_num);
int softib_port_find_pkey(const struct softib_port *port, u16 pkey);
void softib_port_sum(const struct softib_port *port, struct softib_stats *sum);

/* softib_xmit.c */
void softib_port_tx(struct softib_port *port, struct softib_frame *frame);
void softib_port_xmit(struct softib_port *port, struct softib_frame *frame);
void softib_port_rx(struct softib_port *port, struct softib_frame *frame);

/* softib_frame.c */
void softib_frame_init(struct softib_frame *frame, u8 opcode);
void softib_frame_route(struct softib_frame *frame, struct softib_port *port,
			const struct rdma_ah_attr *attr);
void softib_frame_linear(struct softib_frame *frame, const void *data, u32 len);
u32 softib_frame_header_len(const struct softib_frame *frame);
void softib_payload_init(struct softib_payload *from,
			 const struct softib_frame *frame);
void softib_payload_skip(struct softib_payload *from, u32 len);
void softib_payload_read(struct softib_payload *from, void *to, u32 len);
void softib_payload_to_sge(struct softib_payload *from,
			   struct rvt_sge_state *to, u32 len);
void softib_sge_write(struct rvt_sge_state *to, const void *data, u32 len,
		      bool release);

/* softib_send.c: common part of all send engines */
void *softib_qp_alloc(struct rvt_dev_info *rdi, struct rvt_qp *qp);
void softib_qp_free(struct rvt_dev_info *rdi, struct rvt_qp *qp);
unsigned int softib_qp_free_all(struct rvt_dev_info *rdi);
void softib_qp_reset(struct rvt_qp *qp);
void softib_qp_error(struct rvt_qp *qp);
void softib_qp_flush_waiters(struct rvt_qp *qp);
void softib_qp_modify(struct rvt_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata);
void softib_qp_stop(struct rvt_qp *qp);
void softib_qp_quiesce(struct rvt_qp *qp);
bool softib_send_claim(struct rvt_qp *qp);
void softib_send_release(struct rvt_qp *qp);
void softib_send_flush(struct rvt_qp *qp);
void softib_send_work(struct rvt_qp *qp);
void softib_do_send(struct rvt_qp *qp);
void softib_post_do_send(struct rvt_qp *qp);
bool softib_schedule_send(struct rvt_qp *qp);
bool softib_schedule_send_no_lock(struct rvt_qp *qp);

/* softib_ud.c */
bool softib_ud_do_send(struct rvt_qp *qp);
void softib_ud_rx(struct softib_port *port, struct rvt_qp *qp,
		  struct softib_frame *frame);

/* softib_rc.c: RC and UC. The interface to other files */
void softib_rc_restart(struct rvt_qp *qp, u32 psn, int wait);
bool softib_rc_do_send(struct rvt_qp *qp);
void softib_rc_rx(struct softib_port *port, struct rvt_qp *qp,
		  struct softib_frame *frame);

/* softib_capture.c */

extern bool softib_capture_on;
void softib_capture_init(struct dentry *dir);
void softib_capture_show(struct seq_file *seq);
void __softib_capture_frame(struct softib_frame *frame, u16 fate);

/*
 * A frame is captured once: by softib_capture_frame() at the delivery of its first copy, or by
 * softib_capture_drop() if it is dropped before.
 */
static inline void softib_capture_frame(struct softib_frame *frame)
{
	if (unlikely(READ_ONCE(softib_capture_on)))
		__softib_capture_frame(frame, 0);
}

static inline void softib_capture_drop(struct softib_frame *frame,
				       enum softib_drop why)
{
	if (unlikely(READ_ONCE(softib_capture_on)))
		__softib_capture_frame(frame, 1 + why);
}

/* softib_link.c */
void softib_link_init(struct softib_link *link);
void softib_link_get(const struct softib_link *link, struct ib_smp *smp);
bool softib_link_set(struct softib_link *link, const struct ib_smp *smp,
		     bool *retrain);
void softib_link_plug(struct softib_port *port);
void softib_link_unplug(struct softib_port *port);
void softib_link_train(struct softib_port *port, bool bounce);

/* softib_switch.c */
void softib_switch_init(void);
void softib_switch_exit(void);
void softib_switch_forward(struct softib_port *from,
			   struct softib_frame *frame);
void softib_switch_out(unsigned int out, struct softib_frame *frame);
void softib_switch_unicast(struct softib_frame *frame);

/* softib_swsma.c */
void softib_swsma_rx(unsigned int in_port, struct softib_frame *frame);

/* softib_sma.c */
bool softib_sma_vlarb(struct softib_link *link, struct ib_smp *smp, u32 table);
void softib_sma_node_info(struct ib_smp *smp, u8 type, u8 nports, u8 port,
			  __be64 node_guid, __be64 port_guid);
int softib_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_len, u16 *out_pkey_index);

/* softib_pma.c */
bool softib_pma_reply(struct softib_port *port, struct ib_mad *mad);

/* softib_trap.c */
void softib_trap_init_switch(struct softib_trap *trap);
void softib_trap_init_port(struct softib_trap *trap);
void softib_trap_stop(struct softib_trap *trap);
void softib_trap_repress(struct softib_trap *trap, __be64 tid);
void softib_trap_raise(struct softib_trap *trap, u8 changes);

/* softib_vf.c */
int softib_vf_add(struct softib_dev *dev);
void softib_vf_del(struct softib_node *node);
int softib_vf_init(void);
void softib_vf_exit(void);

/* softib_rn.c */
void softib_rn_add(struct softib_dev *dev);
int softib_rn_select(const char *names, int index);
void softib_rn_release(struct softib_dev *dev);
bool softib_rn_rx(struct softib_port *port, struct rvt_qp *qp, struct softib_frame *frame);

/* softib_fault.c */
bool softib_fault_hit(u32 *knob);
u32 softib_fault_length(const struct rvt_qp *qp, u32 *knob, u32 len);

/* softib_resp.c */
void softib_resp_half(struct softib_dev *dev, u16 lid);
void softib_resp_end_halves(struct softib_dev *dev, u16 lid);

/* softib_fault.c: frames, init and exit */
bool softib_fault_frame(struct softib_port *port, struct softib_frame *frame);
void softib_fault_update(struct softib_node *node);
void softib_fault_init(void);
void softib_fault_exit(void);

/* softib_knobs.c */
void softib_knobs_init(void);
void softib_knobs_exit(void);

#endif /* SOFTIB_H */
