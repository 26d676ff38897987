/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private header of connected mode. Files in the order of their calls, which go down only;
 * whatever goes up is an event for the work of a connection, see ipoib_conn_note():
 *
 *	ipoib_cm.c	choice of connection or UD for a frame; mode and transport
 *	work.c		work of a connection: creation, events, deadlines, teardown
 *	connect.c	active side: requests
 *	accept.c	passive side: grants
 *	share.c		limits: connections of a port and of the interface
 *	conn.c		the connection: state, lists, replacement of older connections
 *	qp.c		QP of a connection, messages of the CM
 *	peer.c		peers: their ports, and the connection to send on
 *	rx.c		receive side, SRQ
 *	tx.c		send side
 *
 * (C1) to (C38) are rows of Documentation/rfc-compliance.rst.
 */
#ifndef IPOIB_CM_PRIVATE_H
#define IPOIB_CM_PRIVATE_H

#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>

#include "ipoib.h"

/* Slots of the send ring of a connection; frames that may wait for a slot */
#define IPOIB_CM_RING		32
#define IPOIB_CM_BACKLOG	256
/*
 * Frames up to this length are copied, and only one send in IPOIB_CM_TX_SIGNAL is signalled. The
 * copies of a connection fill a page; no copies where pages are large.
 */
#define IPOIB_CM_TX_COPY	(PAGE_SHIFT > 14 ? 0 : 128)
#define IPOIB_CM_TX_SIGNAL	(IPOIB_CM_RING / 4)
/*
 * Connections for each send CQ, and send CQs of an interface. A larger CQ delays the first
 * connection, which creates it.
 */
#define IPOIB_CM_CQ_CONNS	32
#define IPOIB_CM_CQS		512
/* Receive queues of an interface, at most; they distribute connections over CPUs. */
#define IPOIB_CM_RXQS		4
/* Quota counters of an interface; ports of the fabric hash to them. */
#define IPOIB_CM_SHARES		256
/* Buckets of the peer table, log2. Frames on a connection need no lookup. */
#define IPOIB_CM_PEER_BITS	8
/* Idle time after which a connection ends with its neighbour, or once a newer one replaced it */
#define IPOIB_CM_UNUSED		(5 * HZ)
/*
 * Time that frames too long for UD wait for a connection: long enough for two lost CM messages.
 * A peer that never answers counts as unreachable after 4.6 s.
 */
#define IPOIB_CM_SETUP_MAX	(HZ + HZ / 2)
/* Pages of a receive buffer: a packet of 65520 octets and its encapsulation header. */
#define IPOIB_CM_PAGES		DIV_ROUND_UP(IPOIB_ENCAP_LEN + IPOIB_MTU_MAX, PAGE_SIZE)
/*
 * Longest received message that is copied. A longer message charges its whole first page to the
 * socket: at most 16 times its length, so sockets accept messages where pages are large, too.
 */
#define IPOIB_CM_RX_COPY	max_t(unsigned int, IPOIB_RX_COPY, PAGE_SIZE / 16)
/* Receives of a connection on an HCA without SRQ */
#define IPOIB_CM_OWN_BUFS	16
/*
 * Initial margin: receives posted to the SRQ beyond one for each connection. The first connection
 * waits until they are posted.
 */
#define IPOIB_CM_MARGIN		8
/* Receives posted together */
#define IPOIB_CM_BATCH		16
/* Smallest SRQ. If the HCA refuses a size, half of it is tried. */
#define IPOIB_CM_SRQ_MIN	32
/* Deadline of a REP or RTU, whatever time the peer asks for by MRA (up to hours) */
#define IPOIB_CM_LATE		(6 * HZ)
/* Pages that a pool caches for the next receives */
#define IPOIB_CM_POOL_RING	1024
/* Local ACK Timeout: 67 ms, see IPOIB_RC_RETRY */
#define IPOIB_RC_TIMEOUT	14
/* RNR retry count: unlimited, see IPOIB_RC_RETRY */
#define IPOIB_RC_RNR_RETRY	7

/*
 * Retry count of RC. Timers are 4.096 us * 2^N. A lost packet is repeated after 67 ms
 * (IPOIB_RC_TIMEOUT), well before TCP would (RFC 4755 section 7.1), eight times in all. RNR NAKs
 * ask for a pause of 1.28 ms, in place of ib_cm's 655 ms. RNR retries are unlimited; the watchdog
 * (work.c) detects connections that are stuck.
 */
#define IPOIB_RC_RETRY		7

/* A value of cm_transport. */
struct ipoib_cm_choice {
	const char *word;
	u8 offers;		/* flags of the link-layer address */
	u8 prefer;		/* flag of the preferred transport */
};

/*
 * Quota counters of a port of the fabric, see ipoib_cm_share(). Both directions count: own requests
 * and requests of peers. Under &ipoib_cm.lock.
 */
struct ipoib_cm_share {
	unsigned int nconns;	/* connections, until they are freed */
	unsigned int npending;	/* connections in IPOIB_CONN_PENDING */
};

/* Failover Accepted of a REP (IBTA 12.6.8) whose REQ has an alternate path; 0 without one */
#define IPOIB_FAILOVER_UNSUPPORTED	1

/**
 * enum ipoib_conn_state - state of a connection
 * @IPOIB_CONN_PENDING: being requested or granted; no REP, or no RTU, yet
 * @IPOIB_CONN_ESTABLISHED: in use
 * @IPOIB_CONN_CLOSING: out of use, not disconnected yet
 * @IPOIB_CONN_DRAINING: disconnected; the CM may be in timewait, the HCA returns sends and receives
 * @IPOIB_CONN_DEAD: only its memory is left
 *
 * A state follows the state before it; IPOIB_CONN_CLOSING also follows IPOIB_CONN_PENDING. From
 * IPOIB_CONN_CLOSING on only the work of the connection changes it.
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
 * @IPOIB_CONN_EV_REPLIED: REP received, with @theirs
 * @IPOIB_CONN_EV_READY: RTU received, with @theirs
 * @IPOIB_CONN_EV_REFUSED: REJ received, with @reason
 * @IPOIB_CONN_EV_UNREACHED: no answer to the REQ or REP
 * @IPOIB_CONN_EV_LEFT: DREQ received
 * @IPOIB_CONN_EV_ENDED: a DREQ of the CM was answered, or timed out
 * @IPOIB_CONN_EV_EXPIRED: end of timewait
 * @IPOIB_CONN_EV_LAST_WQE: the QP takes no more receives from the SRQ
 * @IPOIB_CONN_EV_FAILED: the connection or its QP has failed: nothing is posted any more
 * @IPOIB_CONN_EV_PROVEN: proof of arrival: a send on RC has completed, a frame has come on UC
 * @IPOIB_CONN_EV_ABORT: do not wait for the CM: the interface goes, or its GID has gone
 * @IPOIB_CONN_IS_AGAIN: second request after a refusal; there is no third
 * @IPOIB_CONN_IS_RUN: the QP is in RTR or RTS, so it may have taken receives from the SRQ; on the
 *	passive side the REP follows
 * @IPOIB_CONN_IS_OLD: replaced by a newer connection, and not sent on; under &ipoib_cm.lock
 * @IPOIB_CONN_IS_UNWATCHED: no signalled send is outstanding, so the watchdog runs late; the next
 *	send kicks the work; under &ipoib_conn.tx_lock
 *
 * EV: events, set in any context by ipoib_conn_note(). IS: facts.
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
	IPOIB_CONN_EV_ABORT,
	IPOIB_CONN_IS_AGAIN,
	IPOIB_CONN_IS_RUN,
	IPOIB_CONN_IS_OLD,
	IPOIB_CONN_IS_UNWATCHED,
};

/* The CM is in timewait, or has left it. */
#define IPOIB_CONN_IN_TIMEWAIT	(BIT(IPOIB_CONN_EV_LEFT) | BIT(IPOIB_CONN_EV_ENDED) | \
				 BIT(IPOIB_CONN_EV_EXPIRED))

/**
 * enum ipoib_peer_state - path of frames to a peer
 * @IPOIB_PEER_IDLE: UD; the next frame requests a connection
 * @IPOIB_PEER_CONNECTING: UD, while a connection is being set up; frames too long for UD wait
 * @IPOIB_PEER_UP: connection @tx
 * @IPOIB_PEER_REFUSED: UD until &ipoib_peer.until
 */
enum ipoib_peer_state {
	IPOIB_PEER_IDLE,
	IPOIB_PEER_CONNECTING,
	IPOIB_PEER_UP,
	IPOIB_PEER_REFUSED,
};

/**
 * struct ipoib_peer - a link-layer address to which connections are made
 * @neigh_list: in &ipoib_neigh.peers from the first frame without a connection until the end of
 *	the neighbour. A peer that is in no list lives until its last connection is freed.
 * @addr: key, flags zero
 * @tx: connection to send on
 * @state: UP with @tx; written by ipoib_peer_set_state()
 * @sid: first octet of the service ID of the next request: the last one that the peer accepted or
 *	used; the other one after "invalid service ID"
 * @until: jiffies: end of the pause in IPOIB_PEER_REFUSED; in IPOIB_PEER_CONNECTING the end of the
 *	wait of frames too long for UD
 * @passing_until: jiffies: the lack of a connection counts as transient until then, and frames too
 *	long for UD are dropped; later their senders get the MTU of UD
 * @failures: failed attempts in a row, connections without proof of arrival included
 * @unverified: nothing has arrived on any connection since the last failure: until @until no
 *	passive connection is sent on either
 * @queue: frames too long for UD in IPOIB_PEER_CONNECTING, with their &struct ipoib_header
 * @conns: its connections, by &ipoib_conn.peer_list
 * @hash: in &ipoib_cm.peers
 * @users: references: connections until they are freed, @neigh_list, ipoib_peer_get()
 * @last_rx: jiffies, in steps of a second, of the last frame received on UC
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
 * Page order of the large pieces of a receive. A single page and four of these hold 64 KB, in place
 * of 17 single pages, which serve where memory is fragmented. 0: pages of the architecture are
 * large.
 */
#define IPOIB_CM_ORDER		(PAGE_SHIFT == 12 ? 2 : 0)

/* Buffer of one receive. */
struct ipoib_cm_slot {
	u8 order;				/* of all pieces but the first, a single page */
	u8 npieces;				/* pieces of a full buffer */
	u8 npages;				/* pieces present: the last ones of @page */
	struct page *page[IPOIB_CM_PAGES];	/* pieces, from the pools */
	struct ib_sge sge[IPOIB_CM_PAGES];	/* scatter list of @page */
};

/**
 * struct ipoib_cm_bufs - receives of the SRQ, or of a QP on an HCA without SRQ
 * @slots: buffers
 * @free: stack of the numbers of slots that are not posted
 * @nfree: depth of the stack
 * @size: number of slots
 * @lost: receives that destroyed QPs may have taken along
 * @srq: the SRQ, or NULL
 * @qp: the QP if there is no SRQ
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
 * @cm: connected mode of the interface
 * @peer: other end; constant after publication
 * @qp: NULL before it is created
 * @mtu: longest IP packet that both ends take (C28)
 * @state: written by ipoib_conn_set_state()
 * @used: jiffies, in steps of a second, of the last frame
 * @flags: see &enum ipoib_conn_flag
 * @tx_lock: protects the head of @ring, and @backlog
 * @backlog: frames that wait for a slot of @ring, with their encapsulation header
 * @ring: sends; without slots on a connection that only the peer sends on
 * @signalled: slot number behind the last signalled send; under @tx_lock
 * @progress: jiffies of the last completion, or of a post while no signalled send was outstanding;
 *	written before @signalled and the tail of @ring
 * @ref: one reference from the allocation to IPOIB_CONN_DEAD, and one for each queueing of @work
 * @work: see work.c
 * @rcu: frees it
 * @transport: IPOIB_LLADDR_RC or IPOIB_LLADDR_UC
 * @active: requested by this end
 * @duplex: both ends may send on it
 * @confirmed: @port is that of the path record of the peer, or without a record that of the
 *	connection in use; see ipoib_conn_compare()
 * @id: identifier of the CM; NULL before an own request creates it, and after its destruction
 * @theirs: private data of the REP or RTU
 * @reason: of the REJ
 * @failover: Failover Accepted of the REP
 * @port: port of the peer, see ipoib_cm_port(): from the path record of an own request, from the
 *	address of the peer's request. The quota of that port counts the connection.
 * @psn: first PSN to receive
 * @deadline: jiffies: end of the setup, or of the teardown; for its work
 * @asked_at: jiffies: last time at which the peer may have answered all that was sent; for its work
 * @bufs: own receives, on an HCA without SRQ
 * @rxq: receive queue; NULL before ipoib_conn_make()
 * @tx_cq: send CQ; NULL before ipoib_conn_make()
 * @list: in &ipoib_cm.conns, or in &ipoib_cm.closing
 * @peer_list: in &ipoib_peer.conns
 */
struct ipoib_conn {
	/* read for each frame */
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
 * struct ipoib_cm_rxq - a receive queue: a CQ and its NAPI instance
 * @cm: connected mode of the interface
 * @cq: completions of receives; lives as long as &ipoib_cm.rx. NULL if the HCA refused a further CQ
 * @napi: handler
 * @moder: interrupt moderation; its timer retries to post after a lack of memory
 * @wc: scratch of the handler
 * @since: completions since the CQ was last empty; handler only
 * @rounds: times that the handler has read all of the CQ
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
 * struct ipoib_cm_rx - receive side; empty without connections
 * @bufs: receives of the SRQ; empty without SRQ
 * @pool: single pages
 * @large: pieces of order IPOIB_CM_ORDER, or NULL
 * @npages: length of a receive in pages
 * @lock: protects page allocation, @wr, @margin and the stacks of free slots
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

/* A send CQ. */
struct ipoib_cm_tx_cq {
	struct ipoib_cm *cm;
	struct ib_cq *cq;	/* NULL until a connection needs it */
	unsigned int conns;	/* connections whose sends complete here */
};

/**
 * struct ipoib_cm - connected mode of an interface
 * @priv: the interface
 * @up: connections may be made
 * @choice: value of cm_transport, with the transports offered; under RTNL and @lock
 * @lock: protects peers, and states and lists of connections
 * @peers: &struct ipoib_peer by address
 * @npeers: number of peers
 * @conns: connections before IPOIB_CONN_CLOSING
 * @nconns: all connections, until they are freed
 * @npending: connections in IPOIB_CONN_PENDING
 * @shares: quota counters of ports
 * @seed: of the hash of ports
 * @closing: connections from IPOIB_CONN_CLOSING until IPOIB_CONN_DEAD
 * @gone: woken when @nconns is 0
 * @mutex: protects @rx, @rxq and @tx_cq
 * @rx: receive side, common to all connections
 * @rxq: receive queues
 * @nrxq: number of receive queues; constant
 * @srq_failed: the SRQ or a CQ has failed. All connections close, none is made, and with the last
 *	one @rx and @tx_cq are freed. Set by ipoib_cm_srq_fail() only.
 * @srq_size: size of the SRQ, or of the next SRQ to be tried; 0: connections have own receives, as
 *	the HCA has no SRQ, or has refused it
 * @tx_napi: handler of sends
 * @tx_cq: send CQs
 * @tx_ready: send CQs with completions, set by their events
 * @tx_next_cq: next CQ to poll; handler of sends only
 * @tx_wc: scratch of the handler of sends, and of ipoib_cm_tx_flush() while that is disabled
 * @listen: listeners on the service IDs of the RFC and of Linux
 * @wq: works of connections, which wait for the HCA and the CM. No other work may wait for them.
 * @rx_work: frees @rx without connections, or closes all if the SRQ has failed
 */
struct ipoib_cm {
	struct ipoib_dev *priv;
	bool up;
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

	struct mutex mutex; /* @rx, @rxq, @tx_cq */
	struct ipoib_cm_rx rx;
	struct ipoib_cm_rxq rxq[IPOIB_CM_RXQS];
	unsigned int nrxq;
	bool srq_failed;
	unsigned int srq_size;
	struct napi_struct tx_napi;
	struct ipoib_cm_tx_cq tx_cq[IPOIB_CM_CQS];
	DECLARE_BITMAP(tx_ready, IPOIB_CM_CQS);
	unsigned int tx_next_cq;
	struct ib_wc tx_wc[16];

	struct ib_cm_id *listen[2];
	struct workqueue_struct *wq;
	struct delayed_work rx_work;
};

/*
 * Replace the SRQ and the CQs after a failure. Takes no lock; a work closes all connections first.
 * Context: any.
 */
static inline void ipoib_cm_srq_fail(struct ipoib_cm *cm)
{
	if (READ_ONCE(cm->srq_failed))
		return;
	WRITE_ONCE(cm->srq_failed, true);
	mod_delayed_work(system_unbound_wq, &cm->rx_work, 0);
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

/* Context: &ipoib_cm.lock held. */
static inline bool ipoib_conn_is_used(const struct ipoib_conn *conn)
{
	return rcu_access_pointer(conn->peer->tx) == conn;
}

/*
 * Check for a pause after a refusal. The comparison is safe against a wrap of jiffies of 32 bits.
 * Context: any. Return: true until the end of the pause.
 */
static inline bool ipoib_peer_pauses(const struct ipoib_peer *peer)
{
	return READ_ONCE(peer->state) == IPOIB_PEER_REFUSED &&
	       READ_ONCE(peer->until) - jiffies - 1 < IPOIB_BACKOFF_MAX;
}

/*
 * Longest transient reason at either end: replacement of an SRQ, change of transports, lack of
 * memory, limit of pending requests. A route keeps a smaller MTU for ten minutes.
 */
#define IPOIB_CM_PASSING	(4 * HZ)

/*
 * Check whether a peer lacks a connection to send on for a short time only. The comparison is safe
 * against a wrap of jiffies of 32 bits.
 * Context: any. Return: true if so: senders do not get the MTU of UD yet.
 */
static inline bool ipoib_peer_is_passing(const struct ipoib_peer *peer)
{
	return READ_ONCE(peer->passing_until) - jiffies - 1 < IPOIB_CM_PASSING;
}

/*
 * Key of a port of the fabric for quotas. @mac is NULL on InfiniBand.
 * Return: the LID without the LMC bits, as for ipoib_police_pass(), or the MAC address.
 */
static inline u64 ipoib_cm_port(const struct ipoib_cm *cm, u32 lid, const u8 *mac)
{
	return mac ? ether_addr_to_u64(mac) : lid >> READ_ONCE(cm->priv->lmc);
}

/* Port at the end of a path record */
static inline u64 ipoib_cm_port_of(const struct ipoib_cm *cm, struct sa_path_rec *rec)
{
	return ipoib_cm_port(cm, be32_to_cpu(sa_path_get_dlid(rec)), sa_path_get_dmac(rec));
}

/*
 * Find the quota counters of a port by its key, see ipoib_cm_port(). The hash is keyed: a host
 * cannot choose the ports with which it has counters in common.
 * Context: &ipoib_cm.lock held as long as the counters are used.
 */
static inline struct ipoib_cm_share *ipoib_cm_share(struct ipoib_cm *cm, u64 port)
{
	return &cm->shares[jhash_2words(port, port >> 32, cm->seed) % IPOIB_CM_SHARES];
}

/* Established, and idle for IPOIB_CM_UNUSED */
static inline bool ipoib_conn_is_unused(const struct ipoib_conn *conn)
{
	return conn->state == IPOIB_CONN_ESTABLISHED &&
	       time_after(jiffies, READ_ONCE(conn->used) + IPOIB_CM_UNUSED);
}

/*
 * True once the connection is unpublished. Senders that still see it find that out under
 * &ipoib_conn.tx_lock.
 */
static inline bool ipoib_conn_is_closing(const struct ipoib_conn *conn)
{
	return READ_ONCE(conn->state) >= IPOIB_CONN_CLOSING;
}

void ipoib_conn_release(struct kref *ref);

/*
 * Queue the work of a connection.
 * Context: any, RCU read side. The caller must exclude that this drops the last reference if it is
 * in a hard interrupt, or holds &ipoib_cm.lock or &ipoib_conn.tx_lock.
 */
static inline void ipoib_conn_kick(struct ipoib_conn *conn)
{
	if (kref_get_unless_zero(&conn->ref) && mod_delayed_work(conn->cm->wq, &conn->work, 0))
		kref_put(&conn->ref, ipoib_conn_release);
}

/*
 * Note an event, whose data has been written before, and queue the work of a connection.
 * Context: as ipoib_conn_kick().
 */
static inline void ipoib_conn_note(struct ipoib_conn *conn, enum ipoib_conn_flag event)
{
	if (!test_and_set_bit(event, &conn->flags))
		ipoib_conn_kick(conn);
}

/* A send has arrived at the peer. Called for each completion, and noted once. */
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
void ipoib_peer_end_wait(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn);
void ipoib_peer_no_room(struct ipoib_cm *cm, struct ipoib_peer *peer);
struct ipoib_conn *ipoib_peer_best(struct ipoib_peer *peer, const struct ipoib_conn *own);
void ipoib_peer_select(struct ipoib_cm *cm, struct ipoib_peer *peer);
void ipoib_peer_lost(struct ipoib_cm *cm, struct ipoib_peer *peer, struct ipoib_conn *conn);
void ipoib_peer_show(struct seq_file *file, struct ipoib_cm *cm, struct ipoib_peer *peer);
void ipoib_conn_use(struct ipoib_conn *conn);
void ipoib_conn_prove(struct ipoib_conn *conn);

/* share.c */
int ipoib_cm_admit(struct ipoib_cm *cm, u64 port);

/* qp.c */
void ipoib_cm_own_data(const struct ipoib_cm *cm, struct ipoib_cm_data *data);
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
void ipoib_conn_activate(struct ipoib_conn *conn);
void ipoib_conn_close_for(struct ipoib_conn *conn, const char *why, enum ipoib_stat stat);
void __ipoib_conn_close(struct ipoib_conn *conn);

/* work.c */
void ipoib_conn_work(struct work_struct *work);
void ipoib_cm_abort(struct ipoib_cm *cm);

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
unsigned int ipoib_cm_srq_size(const struct ipoib_dev *priv);
unsigned int ipoib_cm_limit(const struct ipoib_cm *cm);
unsigned int ipoib_cm_rx_full(const struct ipoib_cm *cm);
int ipoib_cm_rx_get(struct ipoib_cm *cm);
void ipoib_cm_rx_fence(struct ipoib_cm_rxq *rxq);
void ipoib_cm_rx_assign(struct ipoib_conn *conn);
void ipoib_cm_rx_init(struct ipoib_cm *cm);
void ipoib_cm_rx_exit(struct ipoib_cm *cm);
void ipoib_cm_rx_release(struct ipoib_cm *cm);
void ipoib_cm_rx_work(struct work_struct *work);
int ipoib_cm_rx_add(struct ipoib_conn *conn);
bool ipoib_cm_rx_returned(const struct ipoib_conn *conn);
void ipoib_cm_rx_lost(struct ipoib_conn *conn);
void ipoib_cm_rx_remove(struct ipoib_conn *conn);
void ipoib_cm_rx_show(struct ipoib_cm *cm, struct seq_file *file);
unsigned int ipoib_cm_rx_mtu(const struct ipoib_dev *priv);

#endif /* IPOIB_CM_PRIVATE_H */
