/* SPDX-License-Identifier: GPL-2.0 */
/*
 * softib - a software InfiniBand fabric: shared structures and prototypes
 *
 * N nodes, each an ib_device of its own on rdmavt, hang on one emulated
 * switch. Packets are not built in memory: a struct softib_frame describes one
 * and is handed, in the sender's context, from the sender's port through the
 * switch to the receiver, who copies the payload once. Nothing is allocated
 * and no shared line is written per packet.
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
 *   QPs may send at each other, and a QP at itself.
 * - rdmavt's order is r_lock, s_hlock, s_lock. Never take r_lock with s_lock
 *   held.
 * - softib_port_tx() holds rcu_read_lock() until the last copy is delivered.
 *   That is what keeps the receiving QP (unhashed, then synchronize_rcu() in
 *   rdmavt) and the receiving port (unlinked from the switch, then
 *   synchronize_rcu() in softib_link_unplug()) alive. The sending port lives
 *   at least as long as its QPs and its trap.
 * - struct softib_fabric is permanent while the module is loaded. Its mutex
 *   serialises the adding and the removal of HCAs; its spinlock guards link
 *   and subnet management state of the switch and of the ports (softib_port
 *   fields marked [F]), which the data path reads with READ_ONCE().
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

/* Scatter-gather entries of a work request. */
#define SOFTIB_MAX_SGE		32
#define SOFTIB_MAX_MCAST_GRP	16384	/* per HCA, by default */
#define SOFTIB_SEND_BATCH	64	/* messages per turn of a send engine */

#define SOFTIB_VENDOR_ID	0x025053	/* locally administered, as the GUIDs */
#define SOFTIB_GID_PREFIX	cpu_to_be64(0xfe80000000000000ULL)
#define SOFTIB_GSI_QKEY		0x80010000
#define SOFTIB_VL_SMP		15
#define SOFTIB_LID_MCAST	0xc000
#define SOFTIB_LID_PERMISSIVE	0xffff

/**
 * enum softib_drop - why a frame was thrown away, one counter each
 * @SOFTIB_DROP_LINK: source or destination link not in the needed state
 * @SOFTIB_DROP_NO_ROUTE: unicast LID not in the LFT, or routed nowhere
 * @SOFTIB_DROP_NO_TREE: multicast LID with an empty MFT entry
 * @SOFTIB_DROP_VL: SL maps to VL15, which carries no data
 * @SOFTIB_DROP_MTU: payload above the MTU of the link
 * @SOFTIB_DROP_DLID: arrived at a port whose LID it is not
 * @SOFTIB_DROP_GID: GRH with a DGID that is not the port's
 * @SOFTIB_DROP_NO_GRH: without a GRH, where multicast and some ports need one
 * @SOFTIB_DROP_NO_GROUP: no QP attached to the group at this port
 * @SOFTIB_DROP_PKEY: P_Key mismatch, or limited to limited
 * @SOFTIB_DROP_QKEY: Q_Key mismatch
 * @SOFTIB_DROP_NO_QP: no such QP, or of another transport or port
 * @SOFTIB_DROP_QP_STATE: the QP is not ready to receive
 * @SOFTIB_DROP_NO_RWQE: no receive buffer posted
 * @SOFTIB_DROP_TOO_LONG: message longer than the receive buffer
 * @SOFTIB_DROP_BAD_MAD: MAD the switch does not understand
 * @SOFTIB_DROP_BAD_REQUEST: UC request that may not or cannot be executed
 * @SOFTIB_DROP_FAULT: thrown away by a fault knob
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
 * enum softib_class - traffic classes the fault knobs tell apart
 * @SOFTIB_CLASS_UD: UD, but for MADs
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

/* More than enum ib_rate has. */
#define SOFTIB_RATE_MAX	32

/**
 * struct softib_stats - per-CPU counters of one port
 * @tx_packets: packets sent
 * @tx_bytes: bytes sent, headers included
 * @rx_packets: packets received
 * @rx_bytes: bytes received, headers included
 * @tx_mcast: packets sent to a multicast LID
 * @rx_mcast: packets received from a multicast LID
 * @drop: frames thrown away at this port, by reason
 * @tx_rate: datagrams to a unicast and to a multicast LID, without MADs, by the static
 *           rate of their address handle
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
 * struct softib_frame - one InfiniBand packet, or one message, by reference
 * @slid: LRH source LID
 * @dlid: LRH destination LID
 * @sl: LRH service level
 * @vl: LRH virtual lane; set by softib_port_tx()
 * @opcode: BTH opcode. A message longer than @mtu has the opcode of its *only*
 *          form; who shows packets (capture) derives first, middle and last
 * @has_grh: @grh is valid (LNH 3 instead of 2)
 * @se: BTH solicited event
 * @ackreq: BTH acknowledge request
 * @captured: has been captured on this way through the fabric
 * @pkey: BTH P_Key
 * @dqpn: BTH destination QP
 * @psn: BTH packet sequence number, of the first packet
 * @mtu: path MTU in bytes to cut the message into packets; 0: one packet
 * @len: payload bytes
 * @data: payload, if linear; else NULL and @ss describes it
 * @ss: payload as a scatter list; never advanced through the frame, readers
 *      advance a copy (struct softib_payload)
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
 * with softib_frame_init(), then set what the opcode calls for.
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
 * struct softib_payload - a reader's position in the payload of a frame
 * @data: next byte, if linear; else NULL
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
 * @drop_next: throw away the next N frames sent
 * @drop_every: throw away each Nth frame sent, 0 none
 * @dup_every: deliver each Nth frame sent twice, 0 none
 * @delay_ms: deliver frames sent this much later, in order (copies them)
 * @seen: frames counted for the every-Nth knobs
 */
struct softib_fault {
	u32 drop_next;
	u32 drop_every;
	u32 dup_every;
	u32 delay_ms;
	atomic_t seen;
};

/**
 * enum softib_csum - what an HCA does about checksums of datagrams
 * @SOFTIB_CSUM_NONE: nothing, and does not say so
 * @SOFTIB_CSUM_LSO_QP: computes them for QPs with IB_QP_CREATE_IPOIB_UD_LSO only (mlx5)
 * @SOFTIB_CSUM_ANY_QP: computes them for all, and knows that flag (mlx4)
 * @SOFTIB_CSUM_CLAIMED: says it does, never does, and refuses the flag (mlx5 with only its
 *	enhanced offloads)
 */
enum softib_csum {
	SOFTIB_CSUM_NONE,
	SOFTIB_CSUM_LSO_QP,
	SOFTIB_CSUM_ANY_QP,
	SOFTIB_CSUM_CLAIMED,
};

/**
 * enum softib_rn_style - the net devices of its own that an HCA has for IPoIB
 * @SOFTIB_RN_NONE: none
 * @SOFTIB_RN_HFI1: as hfi1, beside a UD QP of the client
 * @SOFTIB_RN_MLX5: as mlx5
 */
enum softib_rn_style {
	SOFTIB_RN_NONE,
	SOFTIB_RN_HFI1,
	SOFTIB_RN_MLX5,
};

/* Octets of the header of a send with IB_WR_LSO, at most. */
#define SOFTIB_LSO_HEAD		128

/* Completion vectors whose CQs are counted. */
#define SOFTIB_VECTORS_SHOWN	16

struct softib_dev;
struct softib_dma;

/**
 * struct softib_model - what can be noticed of an HCA that people own
 * @name: of the model
 * @max_sge: SGEs of a work request
 * @srq_sge: knob of that name
 * @sq_bytes: the same
 * @csum: the same
 * @vectors: completion vectors; 0: as many as CPUs, but two at least
 * @coalesce_us: microseconds from a completion to its interrupt
 * @flush_us: microseconds until completions of a QP in the error state are to be seen
 * @sm_change: tells of another SM by IB_EVENT_SM_CHANGE
 * @sqe: a UD send that fails puts the QP into the state SQE
 * @mc_loop: other QPs of the HCA get what one sends to their group, and so does the sender
 * @mc_block: knows IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK
 * @async: what is posted is sent later, from another context
 * @irq: completion handlers are called in hard interrupt context, and a poll that finds
 *	nothing need not be told of completions that came meanwhile: there is an interrupt
 * @dma: takes device addresses and a local_dma_lkey that is not 0
 * @purge: RESET and the end of a QP remove its completions
 * @moderation: has ib_device_ops.modify_cq
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

/* The local_dma_lkey of models with device addresses. */
#define SOFTIB_LKEY		0x1ee71ee7

/**
 * struct softib_trap - one pending trap, repeated until the SM represses it
 * @work: sends and repeats
 * @tid: transaction ID of the trap last sent [F]
 * @left: how often it is still sent; 0: none pending [F]
 * @stopped: no more traps, the sender goes away [F]
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
 * struct softib_link - one end of a cable, as PortInfo shows it; all [F]
 * @state: logical link state, IB_PORT_DOWN..
 * @phys: physical state, IB_PORT_PHYS_STATE_*
 * @mtu: active (neighbour) MTU in bytes
 * @mtu_enum: the same as enum ib_mtu
 * @disabled: the SM set the physical state to disabled
 * @op_vls: OperationalVLs
 * @vl_high_limit: kept for reading back
 * @width_enabled: kept for reading back
 * @speed_enabled: kept for reading back
 * @ext_speed_enabled: kept for reading back
 * @stall_hoq: VLStallCount and HOQLife, kept for reading back
 * @enforce: partition enforcement and filter bits, kept for reading back
 * @downed: times it went down, for the PMA
 * @vlarb: VL arbitration tables, kept for reading back
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
	u8 speed_enabled;
	u8 ext_speed_enabled;
	u8 stall_hoq;
	u8 enforce;
	u32 downed;
	u8 vlarb[4][64];
};

/**
 * struct softib_vf - what a port keeps of a virtual function
 * @node_guid: node GUID, 0 until it is set
 * @port_guid: port GUID, the same
 * @state: IFLA_VF_LINK_STATE_*
 */
struct softib_vf {
	u64 node_guid;
	u64 port_guid;
	int state;
};

/**
 * struct softib_port - one port of an HCA
 * @ibp: rdmavt's part
 * @dev: the HCA
 * @stats: counters
 * @link: this end of the cable [F]
 * @num: port number, from 1
 * @swport: switch port it is cabled to
 * @lmc: LID mask control [F]
 * @lid: base LID, 0 if none [F]
 * @armed: a fault knob of this node is set: leave the fast path
 * @live: async events may be dispatched; cleared, then synchronize_rcu(),
 *        before the device is unregistered
 * @leaving: being unregistered: management datagrams are no longer answered, and
 *	those to be sent are flushed
 * @plugged: cabled to the switch [F]
 * @sl2vl: VL of each SL [F]
 * @pkeys: P_Key table [F]
 * @guids: GUID table, entry 0 fixed [F]
 * @trap: trap 144
 * @pma_base: PMA counters at their last clearing
 * @vf: virtual functions
 * @netdev: net device of the port's own whose queues its others use, see softib_rn.c; RTNL
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
 * struct softib_dev - one HCA
 * @rdi: rdmavt's part, the ib_device first of all
 * @node: the place in the fabric it fills
 * @nports: ports in use
 * @port: the ports
 * @csum: of &enum softib_csum
 * @fatal: it has failed as a whole
 * @srq_mutex: guards @srqs
 * @srqs: shared receive queues
 * @vector_cqs: CQs that the kernel's users have, by completion vector
 * @lso: sends that it has cut into segments
 * @interrupts: completion handlers called in hard interrupt context
 * @doorbells: calls of ib_post_send() by the kernel's users
 * @netdev_sends: frames that net devices of its own were given
 * @netdev_doorbells: how often they rang for these
 * @netdev_mtus: how often their MTU was changed
 * @netdevs: those, by QPN
 * @cq_mutex: guards @cqs
 * @cqs: CQs whose handlers are called so
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
 * @rvt: rdmavt's part, the ib_cq first of all
 * @list: in &softib_dev.cqs
 * @handler: the consumer's completion handler, NULL if rdmavt calls it
 * @timer: calls it
 * @closing: the timer is started no more
 * @vector: its completion vector, if it is counted in &softib_dev.vector_cqs; else -1
 * @quiet_until: time in ns before which there is nothing to be seen
 * @due: time in ns when the next report comes at the latest, if the CQ is moderated
 * @usecs: moderation: microseconds until that; 0: none
 * @count: completions that do not wait for it; 0: none
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
 * @rvt: rdmavt's part, the ib_srq first of all
 * @list: in &softib_dev.srqs
 * @dead: gives out no receives any more
 */
struct softib_srq {
	struct rvt_srq rvt;
	struct list_head list;
	bool dead;
};

/* No work request was posted too lately. */
#define SOFTIB_NONE_LATE	U32_MAX

/**
 * struct softib_qp - the driver's part of a QP (rvt_qp.priv)
 * @qp: rdmavt's QP
 * @work: runs the send engine later
 * @late_from: index of the first work request that was posted too lately for
 *	the turn of the send engine that is under way (latency_us, UD)
 * @idle: woken when the engine leaves a QP that is being reset
 * @events: SOFTIB_RC_* bits, acted on by the send engine of RC and UC with no lock held
 * @recv_len: length of the receive buffer a UC message is in; r_lock
 * @create_flags: IB_QP_CREATE_ flags it was made with
 * @event_handler: where its events go
 * @last_wqe: tells late that it needs no receive of an SRQ any more
 * @last_lost: it never tells
 * @held: a receive of an SRQ comes back no earlier than that is told
 * @held_wr_id: which
 * @heads: headers of the sends with IB_WR_LSO in the send queue, SOFTIB_LSO_HEAD octets a
 *	slot; NULL if the QP takes no such sends
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
 * struct softib_knob - what the debugfs file of one fault knob refers to
 * @node: the node it belongs to
 * @value: the knob
 */
struct softib_knob {
	struct softib_node *node;
	u32 *value;
};

/**
 * struct softib_node - a place for an HCA; survives its removal
 * @index: from 0; node name is "softib" and this
 * @model: what its HCAs are like
 * @rn: of &enum softib_rn_style
 * @dev: the HCA, NULL while removed; under the fabric's mutex
 * @pdev: parent device of the HCA, or of @pf
 * @pf: parent device of an HCA that has virtual functions, else NULL
 * @dir: debugfs directory
 * @fault: fault knobs by traffic class
 * @drop_egress: throw away all datagrams at the port, once they are sent: no receiver has a part
 *	in figures of a sender
 * @fail_send: complete the next N UD sends in error
 * @fail_recv: complete the next N UD receives in error
 * @fail_ah: refuse the next N address handles
 * @fail_qp: refuse the next N QPs
 * @fail_modify: refuse the next N changes of QPs, or those in @modify_states
 * @modify_states: bits of IB_QPS_, states that these change to; 0: any change
 * @rnr_next: find no receive for the next N messages of connections
 * @long_next: find the receives of the next N too short
 * @cut_next: send a few octets only of the next N that fit in a packet
 * @silent_next: fail the QPs that the next N requests of connections are for, without a word
 * @overlong_ud: report the next N datagrams of the kernel's users as longer than their receives
 * @overlong_rc: so the next N messages of connections
 * @short_next_mad: send only the first half of the next N MADs to QP1
 * @srq_sge: SGEs that receives of an SRQ may have on the HCA that is plugged in
 *	next; 0: it has no SRQs
 * @mtu_cap: the MTU that ports here say they can do, 0: the fabric's
 * @mcast_limit: number of multicast groups an HCA here may attach
 * @csum: &enum softib_csum of the HCA that is plugged in next
 * @csum_free: checksums are neither computed nor looked at, and said to be right: for figures,
 *	in which they then cost what they cost with a real HCA
 * @steering: that one says it has IB_DEVICE_MANAGED_FLOW_STEERING
 * @no_mcast: that one has no multicast
 * @grh_required: that one's ports require a GRH: unicast without one is dropped, and
 *	MADs that come without one are given one
 * @no_uc: refuse UC QPs
 * @refuse_flags: refuse QPs with one of these IB_QP_CREATE_ flags
 * @refuse_error: the error of those, of @sq_bytes and @fail_modify; 0: the usual one
 * @sq_bytes: octets that a send queue may have, 0: any
 * @fail_attach: refuse the next N attachments to groups
 * @fail_detach: refuse the next N detachments
 * @fail_srq: refuse the next N shared receive queues
 * @make_qp_ms: QPs take so long to make
 * @last_wqe_ms: QPs tell so much later that they need no receive of an SRQ any more
 * @lose_last_wqe: the next N never do
 * @fail_error_send: refuse the next N sends to QPs of the kernel's users in the error state
 * @fail_post: refuse the next N posts of sends to its other QPs, by class
 * @fail_post_recv: refuse the next N posts of receives to its UD QPs
 * @fail_moderation: refuse the Nth change of the moderation of a CQ from now on
 * @ack_times: QPs wait so many times as long for an ACK, 0: once
 * @vfs: virtual functions of the HCA
 * @fail_vf_set: refuse the next N changes of them
 * @fail_vf_get: refuse the next N questions about them
 * @fail_netdev: refuse the next N net devices of its own
 * @hold_cq: no completion handler is called, and no completion is to be seen
 * @latency_us: sends take at least so much longer; of connected QPs, the
 *	turns of the send engine do
 * @dma_quiet: count DMA faults only
 * @dma_faults: DMA faults of HCAs that are gone
 * @dma: device addresses, NULL if the model has none
 * @link_off: the link was put down by hand, by port [F]
 * @knob: what the debugfs files of the fault knobs refer to
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
 * struct softib_swport - the switch's end of a cable
 * @peer: the port at the other end, NULL if none
 * @link: this end of the cable [F]
 * @sl2vl: kept by output port only, as one row [F]
 * @pkeys: partition enforcement table, kept, not enforced [F]
 * @drop: frames this port threw away, by reason
 * @pma_base: PMA counters at their last clearing
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
 * struct softib_switch - the one switch
 * @guid: node GUID
 * @lid: LID of port 0 [F]
 * @sm_lid: LID of the master SM [F]
 * @sm_sl: SL to it [F]
 * @subnet_timeout: kept for reading back [F]
 * @gid_prefix: of port 0 [F]
 * @mkey: kept for reading back [F]
 * @nports: external ports
 * @mft_words: 16-port words of an MFT entry that can have bits
 * @port: ports by number; 0 is the management port
 * @lft: output port by unicast LID
 * @mft: output ports by multicast LID, 16 a word
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
 * struct softib_fabric - everything
 * @mutex: serialises adding and removing HCAs
 * @lock: the [F] fields; interrupts off. Innermost but for CQ locks
 * @wq: send engines that yield, delayed frames, traps
 * @engine: send engines of models that send later
 * @dir: debugfs root
 * @nnodes: places for HCAs
 * @nports: ports of each
 * @mtu: MTU of all links, bytes
 * @mtu_enum: the same as enum ib_mtu
 * @guid_base: upper 40 bits of all GUIDs
 * @has_vfs: HCAs have virtual functions
 * @node: the places
 * @sw: the switch
 */
struct softib_fabric {
	struct mutex mutex;	/* HCAs come and go */
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

/* Whether the port is one that requires a GRH, as virtual ports do. */
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

/* Number of packets the frame is on the wire. */
static inline u32 softib_frame_packets(const struct softib_frame *frame)
{
	if (likely(!frame->mtu || frame->len <= frame->mtu))
		return 1;
	return DIV_ROUND_UP(frame->len, frame->mtu);
}

/* IBTA 10.9.3: same partition, and at least one of the two a full member. */
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

/* softib_send.c: what all send engines share */
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

/* softib_rc.c: RC and UC. Other files call these only */
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
 * A frame is captured once on its way, by the first of these calls: the one
 * where the first copy is delivered, or the other where it is thrown away
 * before there is one.
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
bool softib_fault_frame(struct softib_port *port, struct softib_frame *frame);
void softib_fault_update(struct softib_node *node);
void softib_fault_init(void);
void softib_fault_exit(void);

/* softib_knobs.c */
void softib_knobs_init(void);
void softib_knobs_exit(void);

#endif /* SOFTIB_H */
