/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of connected mode share among themselves, each calling those below it
 * only; what has happened to a connection is noted for its work, see ipoib_conn_note():
 *
 *	ipoib_cm.c	which frames go on connections; mode and transport
 *	work.c		the work of a connection: its making, its events and deadlines, its end
 *	connect.c	requesting connections
 *	accept.c	granting connections that peers request
 *	share.c		how many connections there may be, of a port and of all
 *	conn.c		a connection: its state, which other connections it replaces, its close
 *	qp.c		the QP of a connection, and messages of the CM
 *	peer.c		peers, their ports, and what is sent on
 *	rx.c		receiving
 *	tx.c		sending
 */
#ifndef IPOIB_CM_PRIVATE_H
#define IPOIB_CM_PRIVATE_H

#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>

#include "ipoib.h"

/* Sends under way on a connection, and frames that wait for one to complete. */
#define IPOIB_CM_RING		32
#define IPOIB_CM_BACKLOG	256
/*
 * A frame up to this long is copied, and its send need not complete: one in so many does.
 * A page holds the copies of a connection; where pages are large there are none.
 */
#define IPOIB_CM_TX_COPY	(PAGE_SHIFT > 14 ? 0 : 128)
#define IPOIB_CM_TX_SIGNAL	(IPOIB_CM_RING / 4)
/*
 * Connections whose sends complete into one CQ at most, and how many such CQs. The first
 * connection waits for one to be made.
 */
#define IPOIB_CM_CQ_CONNS	32
#define IPOIB_CM_CQS		512
/* Receive queues of an interface, which spread connections over CPUs, at most. */
#define IPOIB_CM_RXQS		4
/* Shares of an interface: ports of the fabric are hashed to them. */
#define IPOIB_CM_SHARES		256
/* Of the hash table of peers, in which nothing is searched for a frame that has a connection. */
#define IPOIB_CM_PEER_BITS	8
/* A connection unused for so long ends with its neighbour, or after a newer one replaced it. */
#define IPOIB_CM_UNUSED		(5 * HZ)
/*
 * How long frames too long for UD wait for a connection. Two messages of the CM may
 * be lost in that time; a peer that never answers is given up on after 4.6 s.
 */
#define IPOIB_CM_SETUP_MAX	(HZ + HZ / 2)
/* Pages of a receive buffer: a packet of 65520 octets and its encapsulation header. */
#define IPOIB_CM_PAGES		DIV_ROUND_UP(IPOIB_ENCAP_LEN + IPOIB_MTU_MAX, PAGE_SIZE)
/*
 * A received message up to this long is copied. The first page of a longer one counts whole in
 * its socket: 16 times its length at most, so a socket takes messages also where pages are large.
 */
#define IPOIB_CM_RX_COPY	max_t(unsigned int, IPOIB_RX_COPY, PAGE_SIZE / 16)
/* Receive buffers of a connection on an HCA without SRQ. */
#define IPOIB_CM_OWN_BUFS	16
/*
 * Receives of an SRQ that are posted beyond one for each connection, at first. The first
 * connection waits for the margin to be posted.
 */
#define IPOIB_CM_MARGIN		8
/* Receives posted together */
#define IPOIB_CM_BATCH		16
/* An SRQ that the HCA refuses is tried with half as many receives, but no fewer than that. */
#define IPOIB_CM_SRQ_MIN	32
/*
 * An RTU that has not come for so long will not come any more. Nor will a REP, unless
 * the peer has asked for patience (MRA): of that it may ask for hours.
 */
#define IPOIB_CM_LATE		(6 * HZ)
/* Pages kept for the next receives. */
#define IPOIB_CM_POOL_RING	1024
/* A lost packet of RC is sent again after 67 ms, at least, see IPOIB_RC_RETRY. */
#define IPOIB_RC_TIMEOUT	14
/* A peer without buffers is asked again for ever, see IPOIB_RC_RETRY. */
#define IPOIB_RC_RNR_RETRY	7

/*
 * Times on the wire are 4.096 us * 2^N. A lost packet is sent again after 67 ms
 * (IPOIB_RC_TIMEOUT), well before TCP would (RFC 4755 section 7.1), eight times in
 * all. A receiver without buffers asks for 1.28 ms of patience; ib_cm would have
 * it ask for 655 ms. Patience has no end on the side of the sender, whose
 * watchdog detects connections that are stuck (work.c).
 */
#define IPOIB_RC_RETRY		7

/**
 * struct ipoib_cm_choice - a value of cm_transport
 * @word: what is written
 * @offers: flags of the link-layer address
 * @prefer: that of the transport asked for first
 */
struct ipoib_cm_choice {
	const char *word;
	u8 offers;
	u8 prefer;
};

/**
 * struct ipoib_cm_share - what the peers on a port of the fabric have, see ipoib_cm_share()
 * @nconns: connections, until they are freed
 * @npending: of those, the ones that are not established yet
 *
 * Connections count here whichever end requested them. Under &ipoib_cm.lock.
 */
struct ipoib_cm_share {
	unsigned int nconns;
	unsigned int npending;
};

/* Failover Accepted of a REP (IBTA 12.6.8) whose REQ has an alternate path; 0 without one */
#define IPOIB_FAILOVER_UNSUPPORTED	1

/**
 * enum ipoib_conn_state - where a connection stands
 * @IPOIB_CONN_PENDING: requested or granted, or to be by its work: there is no REP, or no RTU
 * @IPOIB_CONN_ESTABLISHED: in use
 * @IPOIB_CONN_CLOSING: out of use; to be disconnected
 * @IPOIB_CONN_DRAINING: the CM may have its identifier in timewait; then the HCA gives back
 *	what it had
 * @IPOIB_CONN_DEAD: nothing but memory
 *
 * Its work makes what it needs, and takes it apart from IPOIB_CONN_CLOSING on. Each state follows
 * the one before, and IPOIB_CONN_CLOSING both.
 */
enum ipoib_conn_state {
	IPOIB_CONN_PENDING,
	IPOIB_CONN_ESTABLISHED,
	IPOIB_CONN_CLOSING,
	IPOIB_CONN_DRAINING,
	IPOIB_CONN_DEAD,
};

/**
 * enum ipoib_conn_flag - bits of &ipoib_conn.flags
 * @IPOIB_CONN_EV_REPLIED: a REP has come, with @theirs
 * @IPOIB_CONN_EV_READY: an RTU has come, with @theirs
 * @IPOIB_CONN_EV_REFUSED: a REJ has come, for @reason
 * @IPOIB_CONN_EV_UNREACHED: the REQ or REP has not been answered
 * @IPOIB_CONN_EV_LEFT: a DREQ has come
 * @IPOIB_CONN_EV_ENDED: a DREQ of the CM is over
 * @IPOIB_CONN_EV_EXPIRED: the CM has no identifier of it in timewait any more
 * @IPOIB_CONN_EV_LAST_WQE: the SRQ is done with the QP
 * @IPOIB_CONN_EV_FAILED: it has failed, or its QP has: nothing is posted any more
 * @IPOIB_CONN_EV_PROVEN: something has arrived at the peer, as far as is known
 * @IPOIB_CONN_EV_NOW: something waits until it is gone, or the CM can send nothing for it
 * @IPOIB_CONN_IS_AGAIN: it repeats a request that was refused, and is not repeated itself
 * @IPOIB_CONN_IS_RUN: the QP may have taken receives from the SRQ; where the peer has
 *	requested the connection, the REP was sent after that
 * @IPOIB_CONN_IS_OLD: another one has taken its place, and it is not sent on; under
 *	&ipoib_cm.lock
 * @IPOIB_CONN_IS_LAZY: no send is to complete, and the next one has the work run, which else
 *	would look again late; under &ipoib_conn.tx_lock
 *
 * The first ones are events, set in any context by ipoib_conn_note().
 */
enum ipoib_conn_flag {
	IPOIB_CONN_EV_REPLIED,
	IPOIB_CONN_EV_READY,
	IPOIB_CONN_EV_REFUSED,
	IPOIB_CONN_EV_UNREACHED,
	IPOIB_CONN_EV_LEFT,
	IPOIB_CONN_EV_ENDED,
	IPOIB_CONN_EV_EXPIRED,
	IPOIB_CONN_EV_LAST_WQE,
	IPOIB_CONN_EV_FAILED,
	IPOIB_CONN_EV_PROVEN,
	IPOIB_CONN_EV_NOW,
	IPOIB_CONN_IS_AGAIN,
	IPOIB_CONN_IS_RUN,
	IPOIB_CONN_IS_OLD,
	IPOIB_CONN_IS_LAZY,
};

/* The CM has its identifier in timewait, or has had it there. */
#define IPOIB_CONN_IN_TIMEWAIT	(BIT(IPOIB_CONN_EV_LEFT) | BIT(IPOIB_CONN_EV_ENDED) | \
				 BIT(IPOIB_CONN_EV_EXPIRED))

/**
 * enum ipoib_peer_state - how a peer is sent to
 * @IPOIB_PEER_IDLE: over UD, a connection is tried with the next frame
 * @IPOIB_PEER_CONNECTING: over UD, a connection is being made; frames too long
 *	for UD wait
 * @IPOIB_PEER_UP: on a connection
 * @IPOIB_PEER_REFUSED: over UD until &ipoib_peer.until
 */
enum ipoib_peer_state {
	IPOIB_PEER_IDLE,
	IPOIB_PEER_CONNECTING,
	IPOIB_PEER_UP,
	IPOIB_PEER_REFUSED,
};

/**
 * struct ipoib_peer - a link-layer address that has, or would have, connections
 * @neigh_list: in &ipoib_neigh.peers since there was a frame for it that had no connection,
 *	until its neighbour ends, here or in the stack; else it is there for its connections
 * @addr: key, flags zero
 * @tx: connection to send on
 * @state: UP with @tx; written by ipoib_peer_set_state()
 * @sid: first octet of the service ID to ask it by: that it took or asked by, if it
 *	has done either; the other one is tried if it does not know that any more
 * @until: jiffies: end of the pause after a refusal; in IPOIB_PEER_CONNECTING, until then
 *	frames too long for UD wait
 * @passing_until: jiffies: until then frames that are too long for UD are dropped, as the reason
 *	why there is no connection may pass; then their senders get the MTU of UD
 * @failures: failed attempts in a row; a connection that was never verified is one
 * @unverified: nothing arrived on the last connection sent on, nor on one since: in
 *	IPOIB_PEER_REFUSED one that the peer makes is not relied upon before @until either
 * @queue: frames too long for UD that wait, whole with their &struct ipoib_header; in
 *	IPOIB_PEER_CONNECTING
 * @conns: its connections, by &ipoib_conn.peer_list
 * @hash: in &ipoib_cm.peers
 * @users: it is freed without: connections not freed, @neigh_list, callers of
 *	ipoib_peer_get()
 * @last_rx: jiffies, with a resolution of a second, of the last frame that has come on an
 *	unreliable connection
 * @rcu: frees it
 *
 * All but @tx and @last_rx under &ipoib_cm.lock.
 */
struct ipoib_peer {
	struct hlist_node neigh_list;
	struct ipoib_lladdr addr;
	struct ipoib_conn __rcu *tx;
	enum ipoib_peer_state state;
	u8 sid;
	unsigned long until;
	unsigned long passing_until;
	unsigned int failures;
	bool unverified;
	struct sk_buff_head queue;
	struct list_head conns;
	struct hlist_node hash;
	unsigned int users;
	unsigned long last_rx;
	struct rcu_head rcu;
};

/*
 * Order of the large pieces of a receive: four and a single page hold 64 KB, where single pages
 * are 16. The latter do where there are no large ones. 0: the pages of the architecture are
 * large.
 */
#define IPOIB_CM_ORDER		(PAGE_SHIFT == 12 ? 2 : 0)

/**
 * struct ipoib_cm_slot - buffer of one posted receive
 * @order: of its pieces but the first, which is a single page
 * @npieces: how many the HCA needs
 * @npages: how many of them it has: the last ones
 * @page: the pieces, of the pools
 * @sge: scatter list: the same
 */
struct ipoib_cm_slot {
	u8 order;
	u8 npieces;
	u8 npages;
	struct page *page[IPOIB_CM_PAGES];
	struct ib_sge sge[IPOIB_CM_PAGES];
};

/**
 * struct ipoib_cm_bufs - receive buffers of an SRQ, or of one QP without
 * @slots: @size of them
 * @free: stack of slot numbers that are not posted
 * @nfree: how many
 * @size: number of slots
 * @lost: how many may have been taken by QPs that are gone
 * @srq: what they are posted to, or
 * @qp: this
 *
 * @free, @nfree and @lost under &ipoib_cm_rx.lock.
 */
struct ipoib_cm_bufs {
	struct ipoib_cm_slot *slots;
	u16 *free;
	unsigned int nfree;
	unsigned int size;
	unsigned int lost;
	struct ib_srq *srq;
	struct ib_qp *qp;
};

/**
 * struct ipoib_conn - a connection
 * @cm: of the interface
 * @peer: other end; does not change once published
 * @qp: QP, NULL before it is made
 * @mtu: longest IP packet that both ends take (C28)
 * @state: written by ipoib_conn_set_state()
 * @used: jiffies, with a resolution of a second, of the last frame
 * @flags: see &enum ipoib_conn_flag
 * @tx_lock: protects @ring's head and @backlog
 * @backlog: frames that wait for room in @ring, with their encapsulation header
 * @ring: sends; there are no slots on a connection that is not sent on
 * @signalled: number of the slot after the last send that completes; under @tx_lock
 * @progress: jiffies when a send last completed, or was posted while none was to complete;
 *	written before @signalled and the tail of @ring are
 * @ref: references: one of its life, from the allocation to IPOIB_CONN_DEAD, and one of each
 *	queueing of @work
 * @work: makes it, treats the events in @flags, and takes it apart
 * @rcu: frees it
 * @transport: IPOIB_LLADDR_RC or IPOIB_LLADDR_UC, on which a message that misses a packet is lost
 * @active: requested here
 * @duplex: both ends may send on it
 * @confirmed: @port was that of the peer's path record, or without one that of the connection
 *	that is sent on, when they were compared
 * @id: identifier of the CM; NULL until a request waits for its QP only, and when it is destroyed
 * @theirs: private data of the peer's REP or RTU
 * @reason: of its REJ
 * @failover: what the REP says of the alternate path of the REQ
 * @port: number of the port at the other end when the connection was made or requested, see
 *	ipoib_cm_port(), in whose share it is counted: of that of the path record, or of that
 *	which the peer's request has come from
 * @psn: first PSN of the packets that are received
 * @deadline: jiffies; until then it may take to become established, or to close; for its work
 * @asked_at: jiffies when its work last found that all that was sent may have been answered
 * @bufs: own receive buffers, on an HCA without SRQ
 * @rxq: its receives complete there; NULL before it has what connections share
 * @tx_cq: the CQ for sends, NULL until then, too
 * @list: in &ipoib_cm.conns, or in &ipoib_cm.closing
 * @peer_list: in &ipoib_peer.conns
 */
struct ipoib_conn {
	/* read by every frame */
	struct ipoib_cm *cm;
	struct ipoib_peer *peer;
	struct ib_qp *qp;
	unsigned int mtu;
	enum ipoib_conn_state state;
	unsigned long used;
	unsigned long flags;

	/* sending */
	spinlock_t tx_lock; /* head of the ring, backlog */
	struct sk_buff_head backlog;
	struct ipoib_ring ring;
	u32 signalled;
	unsigned long progress;

	/* slow path */
	struct kref ref;
	struct delayed_work work;
	struct rcu_head rcu;
	u8 transport;
	bool active;
	bool duplex;
	bool confirmed;
	struct ib_cm_id *id;
	struct ipoib_cm_data theirs;
	enum ib_cm_rej_reason reason;
	u8 failover;
	u64 port;
	u32 psn;
	unsigned long deadline;
	unsigned long asked_at;
	struct ipoib_cm_bufs *bufs;
	struct ipoib_cm_rxq *rxq;
	struct ipoib_cm_tx_cq *tx_cq;
	struct list_head list;
	struct list_head peer_list;
};

/**
 * enum ipoib_cm_flag - bits of &ipoib_cm.flags
 * @IPOIB_CM_SRQ_FAILED: the SRQ or a CQ has failed: connections end, none is made, and with the
 *	last one @rx and @tx_cq are given back. Set by ipoib_cm_srq_fail() only
 */
enum ipoib_cm_flag {
	IPOIB_CM_SRQ_FAILED,
};

/**
 * struct ipoib_cm_rxq - a receive queue: a CQ and its handler
 * @cm: connected mode of the interface
 * @cq: completions of receives; there while &ipoib_cm.rx is, but for HCAs that refuse more CQs
 * @napi: handler
 * @moder: moderates completions; its timer has receives posted again after memory ran out
 * @wc: scratch for polling
 * @since: completions since the CQ was last empty; handler only
 * @rounds: times that the handler has been through the whole CQ
 * @conns: connections whose receives complete here, under &ipoib_cm.mutex
 */
struct ipoib_cm_rxq {
	struct ipoib_cm *cm;
	struct ib_cq *cq;
	struct napi_struct napi;
	struct ipoib_moder moder;
	struct ib_wc wc[16];
	unsigned int since;
	unsigned int rounds;
	unsigned int conns;
};

/**
 * struct ipoib_cm_rx - receiving, exists while there are connections
 * @bufs: receives of all connections, without SRQ if the HCA has none
 * @pool: single pages
 * @large: pieces of order IPOIB_CM_ORDER, NULL if they are not used
 * @npages: of a receive
 * @lock: protects the allocation of pages, @wr, @margin and the free slots
 * @wr: scratch for a chain of receives
 * @margin: receives posted beyond one for each connection
 */
struct ipoib_cm_rx {
	struct ipoib_cm_bufs bufs;
	struct page_pool *pool;
	struct page_pool *large;
	unsigned int npages;
	spinlock_t lock; /* see above */
	struct ib_recv_wr wr[IPOIB_CM_BATCH];
	unsigned int margin;
};

/**
 * struct ipoib_cm_tx_cq - a CQ for sends
 * @cm: connected mode of the interface
 * @cq: the CQ, NULL until the first connection takes it
 * @conns: connections that use it
 */
struct ipoib_cm_tx_cq {
	struct ipoib_cm *cm;
	struct ib_cq *cq;
	unsigned int conns;
};

/**
 * struct ipoib_cm - connected mode of an interface
 * @priv: the interface
 * @up: connections may be made
 * @offers: transports offered: IPOIB_LLADDR_RC, IPOIB_LLADDR_UC
 * @choice: the value of cm_transport that this is
 * @lock: protects peers and the state of connections
 * @peers: &struct ipoib_peer by address
 * @npeers: how many
 * @conns: connections that are not closing
 * @nconns: how many there are, closing ones included
 * @npending: how many are not established yet
 * @shares: of the ports of the fabric
 * @seed: of the hash that assigns ports to shares
 * @closing: those that are, until they are dead
 * @gone: woken when there is none, closing or not
 * @mutex: protects @rx, @rxq and @tx_cq: what all connections share
 * @rx: receiving
 * @rxq: receive queues
 * @nrxq: how many; does not change
 * @flags: see &enum ipoib_cm_flag
 * @srq_size: receives of the SRQ that runs, or of that which will be tried; 0 where connections
 *	have receives of their own, as the HCA has none, or has refused it
 * @srq_logged: it was logged that none could be made; with @mutex held
 * @tx_napi: handler of sends
 * @tx_cq: CQs for sends
 * @tx_ready: CQs that have something, set by their events
 * @tx_next_cq: CQ to be polled next, handler of sends only
 * @tx_wc: scratch for polling: of the handler, or while it is disabled of ipoib_cm_tx_flush()
 * @listen: for requests to the service ID of the RFC, and of Linux
 * @wq: of the works of connections, which wait for the HCA and the CM; no other work is to
 *	wait for these
 * @rx_work: gives @rx back if there is no connection, or ends all where the SRQ has failed
 */
struct ipoib_cm {
	struct ipoib_dev *priv;
	bool up;
	u8 offers;
	const struct ipoib_cm_choice *choice;

	spinlock_t lock; /* peers, states of connections */
	DECLARE_HASHTABLE(peers, IPOIB_CM_PEER_BITS);
	unsigned int npeers;
	struct list_head conns;
	unsigned int nconns;
	unsigned int npending;
	struct ipoib_cm_share shares[IPOIB_CM_SHARES];
	u32 seed;
	struct list_head closing;
	wait_queue_head_t gone;

	struct mutex mutex; /* what connections share */
	struct ipoib_cm_rx *rx;
	struct ipoib_cm_rxq rxq[IPOIB_CM_RXQS];
	unsigned int nrxq;
	unsigned long flags;
	unsigned int srq_size;
	bool srq_logged;
	struct napi_struct tx_napi;
	struct ipoib_cm_tx_cq tx_cq[IPOIB_CM_CQS];
	DECLARE_BITMAP(tx_ready, IPOIB_CM_CQS);
	unsigned int tx_next_cq;
	struct ib_wc tx_wc[16];

	struct ib_cm_id *listen[2];
	struct workqueue_struct *wq;
	struct delayed_work rx_work;
};

static inline bool ipoib_cm_srq_has_failed(const struct ipoib_cm *cm)
{
	return test_bit(IPOIB_CM_SRQ_FAILED, &cm->flags);
}

static inline enum ib_qp_type
ipoib_conn_qp_type(const struct ipoib_conn *conn)
{
	return conn->transport == IPOIB_LLADDR_UC ? IB_QPT_UC : IB_QPT_RC;
}

static inline u32 ipoib_cm_data_qpn(const struct ipoib_cm_data *data)
{
	/* The reserved octet is ignored (C29). */
	return be32_to_cpu(data->qpn) & IPOIB_QPN_MASK;
}

/* Whether a connection is that which is sent on. Context: &ipoib_cm.lock held. */
static inline bool ipoib_conn_is_used(const struct ipoib_conn *conn)
{
	return rcu_access_pointer(conn->peer->tx) == conn;
}

/* The longest pause after failed attempts. */
#define IPOIB_CM_RETRY_MAX	(60 * HZ)

/**
 * ipoib_peer_pauses - whether a peer was refused a connection, and the pause is not over
 * @peer: the peer
 *
 * A pause that ended long ago does not begin again where jiffies have 32 bits.
 *
 * Context: any
 * Return: true if so
 */
static inline bool ipoib_peer_pauses(const struct ipoib_peer *peer)
{
	return READ_ONCE(peer->state) == IPOIB_PEER_REFUSED &&
	       READ_ONCE(peer->until) - jiffies - 1 < 2 * IPOIB_CM_RETRY_MAX;
}

/*
 * The longest passing state of either end: an SRQ that is replaced, a change of transports, no
 * memory, as many pending requests as there may be. A route keeps a smaller MTU for ten minutes.
 */
#define IPOIB_CM_PASSING	(4 * HZ)

/**
 * ipoib_peer_is_passing - whether the reason why a peer has no connection may pass
 * @peer: the peer, without a connection to send on
 *
 * A time that ended long ago does not begin again where jiffies have 32 bits.
 *
 * Context: any
 * Return: true if so: no sender gets the MTU of UD
 */
static inline bool ipoib_peer_is_passing(const struct ipoib_peer *peer)
{
	return READ_ONCE(peer->passing_until) - jiffies - 1 < IPOIB_CM_PASSING;
}

/**
 * ipoib_cm_port - number of a port, by which what its peers have is counted
 * @cm: connected mode of the interface
 * @lid: LID of the port
 * @mac: MAC address, NULL on InfiniBand
 *
 * Return: of InfiniBand the LID without the LMC, as ipoib_police_pass() has it, else the MAC
 * address
 */
static inline u64 ipoib_cm_port(const struct ipoib_cm *cm, u32 lid, const u8 *mac)
{
	return mac ? ether_addr_to_u64(mac) : lid >> READ_ONCE(cm->priv->lmc);
}

/* The port that a path record leads to. */
static inline u64 ipoib_cm_port_of(const struct ipoib_cm *cm, struct sa_path_rec *rec)
{
	return ipoib_cm_port(cm, be32_to_cpu(sa_path_get_dlid(rec)), sa_path_get_dmac(rec));
}

/**
 * ipoib_cm_share - share of a port
 * @cm: connected mode of the interface
 * @port: number of the port, see ipoib_cm_port()
 *
 * Ports may have one in common, which a host cannot bring about: the hash is keyed.
 *
 * Return: the share
 */
static inline struct ipoib_cm_share *ipoib_cm_share(struct ipoib_cm *cm, u64 port)
{
	return &cm->shares[jhash_2words(port, port >> 32, cm->seed) % IPOIB_CM_SHARES];
}

/* Established, and not used for a while. */
static inline bool ipoib_conn_is_unused(const struct ipoib_conn *conn)
{
	return conn->state == IPOIB_CONN_ESTABLISHED &&
	       time_after(jiffies, READ_ONCE(conn->used) + IPOIB_CM_UNUSED);
}

/* From then on it is not published, and what finds that under &ipoib_conn.tx_lock sends nothing. */
static inline bool ipoib_conn_is_closing(const struct ipoib_conn *conn)
{
	return READ_ONCE(conn->state) >= IPOIB_CONN_CLOSING;
}

void ipoib_conn_release(struct kref *ref);

/**
 * ipoib_conn_kick - have the work of a connection run
 * @conn: the connection
 *
 * Context: any, RCU read side. In hard interrupts, and with &ipoib_cm.lock or
 * &ipoib_conn.tx_lock held, only if the connection cannot be freed meanwhile: the last
 * reference is not to be dropped there.
 */
static inline void ipoib_conn_kick(struct ipoib_conn *conn)
{
	if (kref_get_unless_zero(&conn->ref) && mod_delayed_work(conn->cm->wq, &conn->work, 0))
		kref_put(&conn->ref, ipoib_conn_release);
}

/**
 * ipoib_conn_note - note an event for the work of a connection
 * @conn: the connection
 * @event: the event; what belongs to it has been written
 *
 * Context: as ipoib_conn_kick()
 */
static inline void ipoib_conn_note(struct ipoib_conn *conn, enum ipoib_conn_flag event)
{
	if (!test_and_set_bit(event, &conn->flags))
		ipoib_conn_kick(conn);
}

/* Something has arrived at the peer. That is found with each frame, and noted once. */
static inline void ipoib_conn_note_proof(struct ipoib_conn *conn)
{
	if (unlikely(!test_bit(IPOIB_CONN_EV_PROVEN, &conn->flags)))
		ipoib_conn_note(conn, IPOIB_CONN_EV_PROVEN);
}

/* peer.c */
bool ipoib_conn_compare(struct ipoib_conn *conn);
bool ipoib_conn_may_send(const struct ipoib_conn *conn);
struct ipoib_peer *ipoib_peer_find(struct ipoib_cm *cm, const struct ipoib_lladdr *addr);
struct ipoib_peer *ipoib_peer_get(struct ipoib_cm *cm, const struct ipoib_lladdr *addr);
void ipoib_peer_put(struct ipoib_cm *cm, struct ipoib_peer *peer);
void ipoib_peer_detach(struct ipoib_cm *cm, struct ipoib_peer *peer);
void ipoib_peer_attach(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_neigh *neigh);
void ipoib_peer_set_state(struct ipoib_peer *peer, enum ipoib_peer_state state);
void ipoib_peer_release(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn);
void ipoib_peer_no_room(struct ipoib_cm *cm, struct ipoib_peer *peer);
void ipoib_peer_failed(struct ipoib_cm *cm, struct ipoib_peer *peer);
struct ipoib_conn *ipoib_peer_best(struct ipoib_peer *peer, const struct ipoib_conn *own);
void ipoib_peer_settle(struct ipoib_cm *cm, struct ipoib_peer *peer);
void ipoib_peer_lost(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn);
void ipoib_peer_show(struct seq_file *file, struct ipoib_cm *cm, struct ipoib_peer *peer);
void ipoib_conn_use(struct ipoib_conn *conn);
void ipoib_conn_prove(struct ipoib_conn *conn);

/* share.c */
int ipoib_cm_admit(struct ipoib_cm *cm, u64 port);

/* qp.c */
void ipoib_cm_own_data(const struct ipoib_cm *cm, struct ipoib_cm_data *data);
void ipoib_cm_own_addr(const struct ipoib_cm *cm, struct ipoib_lladdr *addr);
unsigned int ipoib_cm_mtu(const struct ipoib_cm *cm, const struct ipoib_cm_data *theirs);
int ipoib_conn_make(struct ipoib_conn *conn);
void ipoib_conn_unmake(struct ipoib_conn *conn);
int ipoib_conn_qp_run(struct ipoib_conn *conn);
void ipoib_conn_reject(struct ib_cm_id *id, struct ipoib_cm *cm, enum ib_cm_rej_reason reason);
int ipoib_conn_event(struct ib_cm_id *id, const struct ib_cm_event *event);

/* conn.c */
struct ipoib_conn *ipoib_conn_alloc(struct ipoib_cm *cm, gfp_t gfp);
void ipoib_conn_set_state(struct ipoib_conn *conn, enum ipoib_conn_state state);
void ipoib_conn_publish(struct ipoib_conn *conn, struct ipoib_peer *peer);
void ipoib_conn_supersede(struct ipoib_conn *conn);
void ipoib_conn_settle(struct ipoib_conn *conn);
void ipoib_conn_close_for(struct ipoib_conn *conn, const char *why, enum ipoib_stat stat);
void __ipoib_conn_close(struct ipoib_conn *conn);
void ipoib_conn_close(struct ipoib_conn *conn);

/* work.c */
void ipoib_conn_work(struct work_struct *work);
void ipoib_cm_hurry(struct ipoib_cm *cm);

/* connect.c */
void ipoib_peer_connect(struct ipoib_cm *cm, struct ipoib_peer *peer, u8 offers, bool again);
long ipoib_conn_request(struct ipoib_conn *conn);
void ipoib_conn_replied(struct ipoib_conn *conn);
void ipoib_conn_rejected(struct ipoib_conn *conn);

/* accept.c */
int ipoib_conn_grant(struct ipoib_conn *conn);
void ipoib_conn_accepted(struct ipoib_conn *conn);
void ipoib_cm_unlisten(struct ipoib_cm *cm);

/* tx.c */
unsigned int ipoib_cm_tx_conns(const struct ipoib_dev *priv);
void ipoib_cm_tx_flush(struct ipoib_conn *conn);
int ipoib_cm_tx_get_cq(struct ipoib_conn *conn);
void ipoib_cm_tx_release(struct ipoib_cm *cm);
bool ipoib_conn_xmit(struct ipoib_conn *conn, struct sk_buff *skb);
void ipoib_conn_shut(struct ipoib_conn *conn);
void ipoib_conn_send_last(struct ipoib_conn *conn);
int ipoib_cm_tx_poll(struct napi_struct *napi, int budget);

/* rx.c */
void ipoib_cm_srq_fail(struct ipoib_cm *cm);
unsigned int ipoib_cm_srq_size(const struct ipoib_dev *priv);
unsigned int ipoib_cm_limit(const struct ipoib_cm *cm);
unsigned int ipoib_cm_rx_full(const struct ipoib_cm *cm);
int ipoib_cm_rx_get(struct ipoib_cm *cm);
void ipoib_cm_rx_fence(struct ipoib_cm_rxq *rxq);
void ipoib_cm_rx_deal(struct ipoib_conn *conn);
void ipoib_cm_rx_init(struct ipoib_cm *cm);
void ipoib_cm_rx_exit(struct ipoib_cm *cm);
void ipoib_cm_rx_release(struct ipoib_cm *cm);
void ipoib_cm_rx_work(struct work_struct *work);
int ipoib_cm_rx_add(struct ipoib_conn *conn);
bool ipoib_cm_rx_done(const struct ipoib_conn *conn);
bool ipoib_cm_rx_returned(const struct ipoib_conn *conn);
void ipoib_cm_rx_lost(struct ipoib_conn *conn);
void ipoib_cm_rx_remove(struct ipoib_conn *conn);
void ipoib_cm_rx_show(struct ipoib_cm *cm, struct seq_file *file);
unsigned int ipoib_cm_rx_mtu(const struct ipoib_dev *priv);

#endif /* IPOIB_CM_PRIVATE_H */
