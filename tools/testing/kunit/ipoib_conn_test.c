// SPDX-License-Identifier: GPL-2.0
/* Tests of peers and connections: setup, events, choice of a connection, teardown, QP */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "ipoib_suites.h"

/* The SA, the CM and the HCA */
#define ipoib_neigh_record	conn_neigh_record
#define ib_cm_init_qp_attr	conn_init_qp_attr
#define ib_send_cm_drep		conn_send_drep
#define ib_send_cm_rej		conn_send_rej
#define ib_modify_qp		conn_modify_qp

/* Other tests define functions of these names. */
#define ipoib_stat_add		conn_stat_add
#define ipoib_neigh_park	conn_neigh_park
#define ipoib_neigh_unpark	conn_neigh_unpark
#define ipoib_neigh_resend	conn_neigh_resend
#define ipoib_conn_release	conn_conn_release
#define ipoib_conn_xmit		conn_conn_xmit
#define ipoib_conn_shut		conn_conn_shut
#define ipoib_conn_send_last	conn_conn_send_last
#define ipoib_cm_admit		conn_cm_admit
#define ipoib_cm_rx_returned	conn_cm_rx_returned
#define ipoib_cm_rx_lost	conn_cm_rx_lost
#define ipoib_cm_rx_fence	conn_cm_rx_fence
#define ipoib_cm_rx_mtu		conn_cm_rx_mtu
#define ipoib_cm_rx_init	conn_cm_rx_init
#define ipoib_cm_rx_exit	conn_cm_rx_exit
#define ipoib_cm_rx_release	conn_cm_rx_release
#define ipoib_cm_srq_size	conn_cm_srq_size
#define ipoib_cm_tx_flush	conn_cm_tx_flush
#define ipoib_neigh_suspect	conn_neigh_suspect
#define ipoib_ud_too_long	conn_ud_too_long

#include "ipoib.h"

/* No tracepoints, no limit of the log, and no works: a queued work only holds its connection. */
#define IPOIB_TRACE_H
#define trace_ipoib_conn(dev, gid, what, status)	((void)(gid))
#define net_ratelimit()					false
#define mod_delayed_work(wq, work, delay)		conn_mod_work(delay)
#define queue_delayed_work(wq, work, delay)		conn_queue_work(delay)

#define ib_create_cm_id(ca, handler, context)		conn_create_id(handler)
#define ib_destroy_cm_id(id)				conn_destroy_id(id)
#define ib_cm_listen(id, service)			(-ENOMEM)
#define ib_send_cm_req(id, param)			conn_send_req(param)
#define ib_send_cm_rep(id, param)			conn_send_rep(param)
#define ib_send_cm_rtu(id, data, len)			conn_send_rtu(id, data)
#define ib_send_cm_dreq(id, data, len)			conn_send_dreq(id)
#undef ib_create_cq
#define ib_create_cq(ca, handler, event, context, attr)	conn_create_cq(attr)
#define ib_destroy_cq(cq)				conn_called('q')
#define ib_create_qp(pd, init)				conn_create_qp(init)
#define ib_destroy_qp(qp)				conn_called('X')
#define netif_napi_add_tx(dev, napi, poll)		((void)(napi), conn_called('a'))
#define netif_napi_del(napi)				conn_called('l')
#define napi_disable(napi)				conn_napi(napi, 'd')
#define napi_enable(napi)				conn_napi(napi, 'n')
#define ipoib_ud_schedule(napi)				conn_napi(napi, 's')
#define cancel_delayed_work_sync(work)			conn_called('w')
#define destroy_workqueue(wq)				conn_destroy_wq(wq)
#define kfree(object)					conn_kfree(object)

static struct ib_cq *conn_create_cq(const struct ib_cq_init_attr *attr);
static struct ib_qp *conn_create_qp(const struct ib_qp_init_attr *init);
static void conn_called(char call);
static void conn_napi(const struct napi_struct *napi, char call);
static void conn_destroy_wq(struct workqueue_struct *wq);
static void conn_kfree(const void *object);
static int conn_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask);
static struct ib_cm_id *conn_create_id(ib_cm_handler handler);
static void conn_destroy_id(struct ib_cm_id *id);
static int conn_send_req(const struct ib_cm_req_param *req);
static int conn_send_rep(const struct ib_cm_rep_param *rep);
static int conn_send_rtu(struct ib_cm_id *id, const struct ipoib_cm_data *data);
static int conn_send_dreq(struct ib_cm_id *id);

/* Delay of the last work; works are queued already */
static unsigned long conn_delay;
static bool conn_pending;

static bool conn_mod_work(unsigned long delay)
{
	conn_delay = delay;
	return false;
}

static bool conn_queue_work(unsigned long delay)
{
	conn_delay = delay;
	return !conn_pending;
}

#include "cm/cm.h"

/* Connections given to RCU, and lack of memory */
static unsigned int conn_nfreed;
static bool conn_lacks;

static void conn_free_rcu(struct ipoib_conn *conn)
{
	conn_nfreed++;
	kfree_rcu(conn, rcu);
}

static void conn_free_peer_rcu(struct ipoib_peer *peer)
{
	kfree_rcu(peer, rcu);
}

static void *conn_zalloc(size_t size, gfp_t gfp)
{
	return conn_lacks ? NULL : kzalloc(size, gfp);
}

#undef kfree_rcu
#undef kzalloc
#define kfree_rcu(object, field)			\
	_Generic((object), struct ipoib_conn * : conn_free_rcu,	\
		 struct ipoib_peer * : conn_free_peer_rcu)(object)
#define kzalloc(size, gfp)				conn_zalloc(size, gfp)

#include "cm/peer.c"
#include "cm/qp.c"
#include "cm/conn.c"
#include "cm/accept.c"
#include "cm/connect.c"
#include "cm/work.c"
#include "ipoib_cm.c"

/* Peers of a neighbour: two with a connection, two more than may be idle */
#define CONN_PEERS	20
#define CONN_BUSY	2
/* QPNs of the interface and of the peer; LID of the peer, which is its port */
#define CONN_OWN_QPN	0x100
#define CONN_QPN	0x200
#define CONN_LID	7

/**
 * struct conn_calls - calls of functions outside of the tested files
 * @stats: counters
 * @sent: frames sent on a connection
 * @parked: frames that wait
 * @resent: frames given to the neighbour
 * @resends: calls with such frames
 * @dropped: dropped frames
 * @suspects: path records in doubt
 * @shut: connections that send no more
 * @last: last sends
 * @lost: lost receives
 * @rtus: RTUs
 * @rejs: REJs
 * @reason: reason of the last REJ
 * @destroyed: destroyed identifiers
 * @dreps: DREPs
 * @freed: freed objects
 * @log: other calls, a letter each; of the handler of sends in upper case
 */
struct conn_calls {
	s64 stats[IPOIB_NR_STATS];
	unsigned int sent;
	unsigned int parked;
	unsigned int resent;
	unsigned int resends;
	unsigned int dropped;
	unsigned int suspects;
	unsigned int shut;
	unsigned int last;
	unsigned int lost;
	unsigned int rtus;
	unsigned int rejs;
	enum ib_cm_rej_reason reason;
	unsigned int destroyed;
	unsigned int dreps;
	unsigned int freed;
	char log[16];
};

/**
 * struct conn_fixture - fixture of a case
 * @cm: connected mode of @priv
 * @priv: an interface
 * @choice: transports of @cm, RC
 * @neigh: a neighbour
 * @peer: a peer that is in no list
 * @conn: connections, of @peer
 * @lid: LID of the path record of a peer, 0 without a record
 * @admit: result of ipoib_cm_admit()
 * @returned: receives have come back
 * @rtu_err: result of the CM for an RTU
 * @dreq_err: result of the CM for a DREQ
 * @id: identifier of the CM
 * @calls: calls
 * @qp: QP of the first connection
 * @attr: attributes given to @qp, by ib_modify_qp()
 * @mask: their masks
 * @nattr: number of them
 * @init: attributes given to the last QP that was created
 * @qp_err: result of a QP that is not created
 * @cq: CQs of sends and of receives
 * @cqe: size of the last CQ that was created
 * @cq_err: result of a CQ that is not created
 * @ops: operations of the fabric
 * @check: reason of the fabric to refuse a REQ
 * @req: parameters of the last REQ sent
 * @rep: parameters of the last REP sent
 * @event: a received REQ
 * @path: its path, or that of @req
 * @data: its private data, or those sent last
 * @from: LID that it came from
 * @init_err: result of the CM for the attributes of a QP
 * @end: work that frees @last
 * @last: the last connection
 * @aborted: @last has got IPOIB_CONN_EV_ABORT
 */
struct conn_fixture {
	struct ipoib_cm cm;
	struct ipoib_dev priv;
	struct ipoib_cm_choice choice;
	struct ipoib_neigh neigh;
	struct ipoib_peer peer;
	struct ipoib_conn conn[CONN_BUSY];
	u16 lid;
	int admit;
	bool returned;
	int rtu_err;
	int dreq_err;
	struct ib_cm_id id;
	struct conn_calls calls;
	struct ib_qp qp;
	struct ib_qp_attr attr[2];
	int mask[2];
	unsigned int nattr;
	struct ib_qp_init_attr init;
	int qp_err;
	struct ib_cq cq[2];
	unsigned int cqe;
	int cq_err;
	struct ipoib_fabric_ops ops;
	int check;
	struct ib_cm_req_param req;
	struct ib_cm_rep_param rep;
	struct ib_cm_event event;
	struct sa_path_rec path;
	struct ipoib_cm_data data;
	u16 from;
	int init_err;
	struct delayed_work end;
	struct ipoib_conn *last;
	bool aborted;
};

/* The fixture of the running case */
static struct conn_fixture *conn_fix;

static struct conn_fixture *conn_fixture(struct ipoib_dev *priv)
{
	return container_of(priv, struct conn_fixture, priv);
}

int ipoib_neigh_record(struct ipoib_dev *priv, const u8 *gid, struct sa_path_rec *rec)
{
	struct conn_fixture *fix = container_of(priv, struct conn_fixture, priv);

	memset(rec, 0, sizeof(*rec));
	rec->rec_type = SA_PATH_REC_TYPE_IB;
	sa_path_set_dlid(rec, fix->lid);
	return fix->lid ? 0 : -ENOENT;
}

/* What a peer may have asked for: values that no connection of this driver has */
int ib_cm_init_qp_attr(struct ib_cm_id *id, struct ib_qp_attr *attr, int *mask)
{
	attr->min_rnr_timer = 31;
	attr->max_dest_rd_atomic = 255;
	attr->max_rd_atomic = 255;
	attr->timeout = 31;
	attr->retry_cnt = 0;
	attr->rnr_retry = 0;
	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_dlid(&attr->ah_attr, conn_fix->from);
	*mask = IB_QP_STATE | IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE;
	return conn_fix->init_err;
}

int ib_send_cm_drep(struct ib_cm_id *id, const void *data, u8 len)
{
	conn_fix->calls.dreps++;
	return 0;
}

int ib_send_cm_rej(struct ib_cm_id *id, enum ib_cm_rej_reason reason, void *info, u8 info_len,
		   const void *data, u8 len)
{
	struct conn_fixture *fix = container_of(id, struct conn_fixture, id);

	fix->calls.rejs++;
	fix->calls.reason = reason;
	return 0;
}

static struct ib_cm_id *conn_create_id(ib_cm_handler handler)
{
	return ERR_PTR(-ENOMEM);
}

static int conn_send_req(const struct ib_cm_req_param *req)
{
	conn_fix->req = *req;
	conn_fix->path = *req->primary_path;
	conn_fix->data = *(const struct ipoib_cm_data *)req->private_data;
	return 0;
}

static int conn_send_rep(const struct ib_cm_rep_param *rep)
{
	conn_fix->rep = *rep;
	conn_fix->data = *(const struct ipoib_cm_data *)rep->private_data;
	return 0;
}

static void conn_destroy_id(struct ib_cm_id *id)
{
	container_of(id, struct conn_fixture, id)->calls.destroyed++;
}

static int conn_send_rtu(struct ib_cm_id *id, const struct ipoib_cm_data *data)
{
	struct conn_fixture *fix = container_of(id, struct conn_fixture, id);

	fix->calls.rtus += ipoib_cm_data_qpn(data) == CONN_OWN_QPN;
	return fix->rtu_err;
}

static int conn_send_dreq(struct ib_cm_id *id)
{
	return container_of(id, struct conn_fixture, id)->dreq_err;
}

static int conn_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask)
{
	struct conn_fixture *fix = container_of(qp, struct conn_fixture, qp);

	if (fix->nattr == ARRAY_SIZE(fix->attr))
		return -EINVAL;
	fix->attr[fix->nattr] = *attr;
	fix->mask[fix->nattr++] = mask;
	return 0;
}

static struct ib_cq *conn_create_cq(const struct ib_cq_init_attr *attr)
{
	conn_fix->cqe = attr->cqe;
	return conn_fix->cq_err ? ERR_PTR(conn_fix->cq_err) : &conn_fix->cq[0];
}

static struct ib_qp *conn_create_qp(const struct ib_qp_init_attr *init)
{
	conn_fix->init = *init;
	return conn_fix->qp_err ? ERR_PTR(conn_fix->qp_err) : &conn_fix->qp;
}

static void conn_called(char call)
{
	unsigned int n = strlen(conn_fix->calls.log);

	if (n < sizeof(conn_fix->calls.log) - 1)
		conn_fix->calls.log[n] = call;
}

static void conn_napi(const struct napi_struct *napi, char call)
{
	conn_called(napi == &conn_fix->cm.tx_napi ? toupper(call) : call);
}

#undef destroy_workqueue
#undef kfree

static void conn_destroy_wq(struct workqueue_struct *wq)
{
	conn_called('Q');
	destroy_workqueue(wq);
}

static void conn_kfree(const void *object)
{
	conn_fix->calls.freed += !!object;
	kfree(object);
}

/* ---- the rest of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	conn_fixture(priv)->calls.stats[stat] += n;
}

void ipoib_drop_list(struct ipoib_dev *priv, struct sk_buff_head *list, enum ipoib_stat why)
{
	conn_fixture(priv)->calls.dropped += skb_queue_len(list);
	__skb_queue_purge(list);
}

void ipoib_neigh_park(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
		      unsigned int most, struct sk_buff *skb)
{
	conn_fixture(priv)->calls.parked++;
	__skb_queue_tail(queue, skb);
}

void ipoib_neigh_unpark(struct ipoib_dev *priv, enum ipoib_wait kind, struct sk_buff_head *queue,
			struct sk_buff_head *frames)
{
	skb_queue_splice_tail_init(queue, frames);
}

void ipoib_neigh_resend(struct ipoib_dev *priv, const u8 *gid, struct sk_buff_head *frames)
{
	struct conn_fixture *fix = conn_fixture(priv);

	fix->calls.resends++;
	fix->calls.resent += skb_queue_len(frames);
	__skb_queue_purge(frames);
}

void ipoib_neigh_suspect(struct ipoib_dev *priv, const u8 *gid, unsigned long age)
{
	conn_fixture(priv)->calls.suspects++;
}

bool ipoib_ud_too_long(const struct sk_buff *skb, unsigned int mtu)
{
	return skb->len > mtu + IPOIB_HARD_LEN;
}

bool ipoib_conn_xmit(struct ipoib_conn *conn, struct sk_buff *skb)
{
	if (skb->len > conn->mtu + IPOIB_HARD_LEN)
		return false;
	conn_fixture(conn->cm->priv)->calls.sent++;
	kfree_skb(skb);
	return true;
}

void ipoib_conn_shut(struct ipoib_conn *conn)
{
	conn_fixture(conn->cm->priv)->calls.shut++;
}

void ipoib_conn_send_last(struct ipoib_conn *conn)
{
	conn_fixture(conn->cm->priv)->calls.last++;
}

int ipoib_cm_admit(struct ipoib_cm *cm, u64 port)
{
	return conn_fixture(cm->priv)->admit;
}

bool ipoib_cm_rx_returned(const struct ipoib_conn *conn)
{
	return conn_fixture(conn->cm->priv)->returned;
}

void ipoib_cm_rx_lost(struct ipoib_conn *conn)
{
	conn_fixture(conn->cm->priv)->calls.lost++;
}

void ipoib_cm_rx_fence(struct ipoib_cm_rxq *rxq)
{
	conn_called('F');
}

void ipoib_cm_rx_init(struct ipoib_cm *cm)
{
	conn_called('i');
}

void ipoib_cm_rx_exit(struct ipoib_cm *cm)
{
	conn_called('x');
}

void ipoib_cm_rx_release(struct ipoib_cm *cm)
{
	conn_called('r');
}

unsigned int ipoib_cm_srq_size(const struct ipoib_dev *priv)
{
	return 77;
}

void ipoib_cm_tx_flush(struct ipoib_conn *conn)
{
	conn->ring.tail = conn->ring.head;
	conn_called('f');
}

unsigned int ipoib_cm_rx_mtu(const struct ipoib_dev *priv)
{
	return 4096;
}

/* ---- the fixture ---- */

static void conn_free(struct conn_fixture *fix, struct list_head *list)
{
	struct ipoib_conn *conn, *tmp;

	list_for_each_entry_safe(conn, tmp, list, list)
		if (conn < fix->conn || conn >= fix->conn + CONN_BUSY)
			kfree(conn);
	INIT_LIST_HEAD(list);
}

/* A new peer with a path record, and new connections from its port, in no list */
static void conn_reset(struct conn_fixture *fix)
{
	struct ipoib_peer *peer;
	struct hlist_node *tmp;
	unsigned int i;

	conn_free(fix, &fix->cm.conns);
	conn_free(fix, &fix->cm.closing);
	hash_for_each_safe(fix->cm.peers, i, tmp, peer, hash) {
		hash_del(&peer->hash);
		__skb_queue_purge(&peer->queue);
		kfree(peer);
	}
	INIT_HLIST_HEAD(&fix->neigh.peers);
	fix->cm.npeers = 0;
	fix->cm.nconns = 0;
	fix->cm.npending = 0;
	memset(fix->cm.shares, 0, sizeof(fix->cm.shares));
	fix->cm.srq_failed = false;
	__skb_queue_purge(&fix->peer.queue);
	memset(&fix->peer, 0, sizeof(fix->peer));
	__skb_queue_head_init(&fix->peer.queue);
	fix->peer.addr.flags_qpn = cpu_to_be32(CONN_QPN);
	fix->peer.sid = IPOIB_SID_RFC;
	fix->peer.passing_until = jiffies;
	fix->peer.users = 1;
	INIT_LIST_HEAD(&fix->peer.conns);
	memset(fix->conn, 0, sizeof(fix->conn));
	for (i = 0; i < CONN_BUSY; i++) {
		fix->conn[i].cm = &fix->cm;
		fix->conn[i].peer = &fix->peer;
		fix->conn[i].transport = IPOIB_LLADDR_RC;
		fix->conn[i].port = CONN_LID;
		fix->conn[i].deadline = jiffies + 6 * HZ;
		fix->conn[i].used = jiffies;
		fix->conn[i].progress = jiffies;
		fix->conn[i].asked_at = jiffies;
		kref_init(&fix->conn[i].ref);
		spin_lock_init(&fix->conn[i].tx_lock);
		__skb_queue_head_init(&fix->conn[i].backlog);
	}
	fix->choice.offers = IPOIB_LLADDR_RC;
	fix->choice.prefer = IPOIB_LLADDR_RC;
	set_bit(IPOIB_FLAG_CONNECTED, &fix->priv.flags);
	clear_bit(IPOIB_FLAG_DEAD, &fix->priv.flags);
	fix->priv.qpn = CONN_OWN_QPN;
	fix->lid = CONN_LID;
	fix->admit = 0;
	fix->returned = false;
	fix->rtu_err = 0;
	fix->dreq_err = 0;
	fix->init_err = 0;
	fix->from = CONN_LID;
	fix->nattr = 0;
	memset(&fix->calls, 0, sizeof(fix->calls));
}

static int conn_init(struct kunit *test)
{
	struct conn_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	if (!fix)
		return -ENOMEM;
	conn_fix = fix;
	fix->cm.priv = &fix->priv;
	fix->cm.choice = &fix->choice;
	fix->cm.up = true;
	spin_lock_init(&fix->cm.lock);
	mutex_init(&fix->cm.mutex);
	INIT_LIST_HEAD(&fix->cm.conns);
	INIT_LIST_HEAD(&fix->cm.closing);
	init_waitqueue_head(&fix->cm.gone);
	spin_lock_init(&fix->priv.neigh.lock);
	fix->priv.cm = &fix->cm;
	fix->priv.fabric = &fix->ops;
	fix->priv.mcast_mtu = 2044;
	INIT_LIST_HEAD(&fix->priv.neigh.list);
	list_add(&fix->neigh.list, &fix->priv.neigh.list);
	fix->neigh.priv = &fix->priv;
	__skb_queue_head_init(&fix->peer.queue);
	conn_reset(fix);
	test->priv = fix;
	return 0;
}

static void conn_exit(struct kunit *test)
{
	conn_reset(test->priv);
	kvfree(test->priv);
}

/* ---- help ---- */

static unsigned int conn_stat(const struct conn_fixture *fix, enum ipoib_stat stat)
{
	return fix->calls.stats[stat];
}

/* Times that the work of a published connection was queued */
static unsigned int conn_kicks(const struct ipoib_conn *conn)
{
	return kref_read(&conn->ref) - 1;
}

/* True if @time is @delay after a time between @before and now */
static bool conn_is_in(unsigned long time, unsigned long before, unsigned long delay)
{
	return time_in_range(time, before + delay, jiffies + delay);
}

/* Publish a connection of the peer, confirmed, and bring it to @state. */
static struct ipoib_conn *conn_publish(struct conn_fixture *fix, unsigned int i, bool active,
				       enum ipoib_conn_state state)
{
	struct ipoib_conn *conn = &fix->conn[i];

	conn->active = active;
	conn->duplex = true;
	conn->confirmed = true;
	spin_lock_bh(&fix->cm.lock);
	ipoib_conn_publish(conn, &fix->peer);
	if (state == IPOIB_CONN_ESTABLISHED)
		ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
	if (state >= IPOIB_CONN_CLOSING)
		__ipoib_conn_close(conn);
	if (state >= IPOIB_CONN_DRAINING)
		ipoib_conn_set_state(conn, IPOIB_CONN_DRAINING);
	spin_unlock_bh(&fix->cm.lock);
	kref_init(&conn->ref);
	return conn;
}

/* The same for a connection in use */
static struct ipoib_conn *conn_publish_used(struct conn_fixture *fix, bool active)
{
	struct ipoib_conn *conn = conn_publish(fix, 0, active, IPOIB_CONN_ESTABLISHED);

	fix->peer.state = IPOIB_PEER_UP;
	RCU_INIT_POINTER(fix->peer.tx, conn);
	return conn;
}

/* A frame of IPv4, of an IP packet of @len octets, to the peer with address flags @flags */
static struct sk_buff *conn_frame(struct kunit *test, unsigned int len, u8 flags)
{
	struct sk_buff *skb = alloc_skb(IPOIB_HARD_LEN + len, GFP_KERNEL);
	struct ipoib_header *header;
	union ib_gid gid = {};

	KUNIT_EXPECT_TRUE(test, skb);
	if (!skb)
		return NULL;
	header = skb_put_zero(skb, IPOIB_HARD_LEN + len);
	ipoib_lladdr_set(&header->lladdr, flags, CONN_QPN, &gid);
	header->encap.proto = htons(ETH_P_IP);
	return skb;
}

/* Have a frame of a length wait for a connection to the peer. */
static void conn_wait_frame(struct kunit *test, unsigned int len)
{
	struct conn_fixture *fix = test->priv;
	struct sk_buff *skb = conn_frame(test, len, 0);

	if (skb)
		__skb_queue_tail(&fix->peer.queue, skb);
}

/* ---- peers ---- */

/* ipoib_conn_compare() of the first connection, which is from port 7, by a record to @lid */
static bool conn_refuted(struct conn_fixture *fix, u16 lid)
{
	bool refuted;

	fix->conn[0].port = 7;
	fix->conn[0].confirmed = false;
	fix->lid = lid;
	spin_lock_bh(&fix->cm.lock);
	refuted = ipoib_conn_compare(&fix->conn[0]);
	spin_unlock_bh(&fix->cm.lock);
	return refuted;
}

static void conn_port(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];
	struct ipoib_conn *used = &fix->conn[1];

	KUNIT_EXPECT_FALSE(test, conn_refuted(fix, 7));
	KUNIT_EXPECT_TRUE(test, conn->confirmed);
	KUNIT_EXPECT_TRUE(test, conn_refuted(fix, 8));
	KUNIT_EXPECT_FALSE(test, conn->confirmed);
	/* Without a record, and without a connection in use */
	KUNIT_EXPECT_FALSE(test, conn_refuted(fix, 0));
	KUNIT_EXPECT_FALSE(test, conn->confirmed);
	RCU_INIT_POINTER(fix->peer.tx, used);
	used->port = 8;
	KUNIT_EXPECT_FALSE(test, conn_refuted(fix, 0));
	KUNIT_EXPECT_FALSE(test, conn->confirmed);
	used->port = 7;
	KUNIT_EXPECT_FALSE(test, conn_refuted(fix, 0));
	KUNIT_EXPECT_TRUE(test, conn->confirmed);
	/* The record counts more than the connection in use. */
	KUNIT_EXPECT_TRUE(test, conn_refuted(fix, 8));
	KUNIT_EXPECT_FALSE(test, conn->confirmed);
}

/* Failures of the peer after ipoib_conn_prove() of the first connection; 3 before */
static unsigned int conn_failures(struct conn_fixture *fix, bool used, bool proven)
{
	struct ipoib_conn *conn = &fix->conn[0];

	fix->peer.failures = 3;
	fix->peer.unverified = true;
	RCU_INIT_POINTER(fix->peer.tx, used ? conn : NULL);
	conn->flags = proven ? BIT(IPOIB_CONN_EV_PROVEN) : 0;
	spin_lock_bh(&fix->cm.lock);
	ipoib_conn_prove(conn);
	spin_unlock_bh(&fix->cm.lock);
	return fix->peer.failures;
}

static void conn_proof(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, conn_failures(fix, false, false), 3u);
	KUNIT_EXPECT_EQ(test, conn_failures(fix, false, true), 3u);
	KUNIT_EXPECT_EQ(test, conn_failures(fix, true, false), 3u);
	KUNIT_EXPECT_TRUE(test, fix->peer.unverified);
	KUNIT_EXPECT_EQ(test, conn_failures(fix, true, true), 0u);
	KUNIT_EXPECT_FALSE(test, fix->peer.unverified);
}

static struct ipoib_lladdr conn_addr(unsigned int i)
{
	struct ipoib_lladdr addr = { .flags_qpn = cpu_to_be32(100 + i) };

	return addr;
}

/* True if a peer whose pause lasts for so long is in a pause */
static bool conn_pauses_for(struct conn_fixture *fix, unsigned long left)
{
	unsigned long now;
	bool pauses;

	do {
		now = jiffies;
		fix->peer.until = now + left;
		pauses = ipoib_peer_pauses(&fix->peer);
	} while (now != jiffies);
	return pauses;
}

/* True if the lack of a connection, which lasts for so long, is transient */
static bool conn_passes_for(struct conn_fixture *fix, unsigned long left)
{
	unsigned long now;
	bool passes;

	do {
		now = jiffies;
		fix->peer.passing_until = now + left;
		passes = ipoib_peer_is_passing(&fix->peer);
	} while (now != jiffies);
	return passes;
}

/* A time beyond the longest pause is long past, as jiffies wrap. */
static void conn_pauses(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;

	fix->peer.state = IPOIB_PEER_REFUSED;
	KUNIT_EXPECT_FALSE(test, conn_pauses_for(fix, -1ul));
	KUNIT_EXPECT_FALSE(test, conn_pauses_for(fix, 0));
	KUNIT_EXPECT_TRUE(test, conn_pauses_for(fix, 1));
	KUNIT_EXPECT_TRUE(test, conn_pauses_for(fix, 60 * HZ));
	KUNIT_EXPECT_FALSE(test, conn_pauses_for(fix, 60 * HZ + 1));
	fix->peer.state = IPOIB_PEER_IDLE;
	KUNIT_EXPECT_FALSE(test, conn_pauses_for(fix, 1));
	KUNIT_EXPECT_FALSE(test, conn_passes_for(fix, -1ul));
	KUNIT_EXPECT_FALSE(test, conn_passes_for(fix, 0));
	KUNIT_EXPECT_TRUE(test, conn_passes_for(fix, 1));
	KUNIT_EXPECT_TRUE(test, conn_passes_for(fix, 4 * HZ));
	KUNIT_EXPECT_FALSE(test, conn_passes_for(fix, 4 * HZ + 1));
}

/* Peers come one after the other; the first ones have connections. */
static void conn_idle(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_lladdr addr;
	bool there[CONN_PEERS];
	struct ipoib_peer *peer;
	struct hlist_node *tmp;
	unsigned int i;

	spin_lock_bh(&fix->cm.lock);
	for (i = 0; i < CONN_PEERS; i++) {
		addr = conn_addr(i);
		peer = ipoib_peer_get(&fix->cm, &addr);
		if (!peer)
			break;
		if (i < CONN_BUSY)
			list_add(&fix->conn[i].peer_list, &peer->conns);
		ipoib_peer_attach(&fix->cm, peer, &fix->neigh);
		ipoib_peer_put(&fix->cm, peer);
	}
	for (i = 0; i < CONN_PEERS; i++) {
		addr = conn_addr(i);
		there[i] = ipoib_peer_find(&fix->cm, &addr);
	}
	hlist_for_each_entry_safe(peer, tmp, &fix->neigh.peers, neigh_list)
		ipoib_peer_detach(&fix->cm, peer);
	spin_unlock_bh(&fix->cm.lock);
	for (i = 0; i < CONN_PEERS; i++)
		KUNIT_EXPECT_EQ(test, there[i], i < CONN_BUSY || i >= CONN_PEERS - 16);
	KUNIT_EXPECT_EQ(test, fix->cm.npeers, 0u);
}

/* ---- choice of a connection ---- */

static struct ipoib_conn *conn_best_of(struct conn_fixture *fix, const struct ipoib_conn *own)
{
	struct ipoib_conn *best;

	spin_lock_bh(&fix->cm.lock);
	best = ipoib_peer_best(&fix->peer, own);
	spin_unlock_bh(&fix->cm.lock);
	return best;
}

static void conn_best(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *first, *second;

	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), NULL);
	first = conn_publish(fix, 0, true, IPOIB_CONN_PENDING);
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), first);
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, first), NULL);
	second = conn_publish(fix, 1, false, IPOIB_CONN_PENDING);
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), second);
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, second), first);
	/* A refused connection counts only as long as the peer may connect. */
	second->reason = IB_CM_REJ_CONSUMER_DEFINED;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), first);
	fix->peer.state = IPOIB_PEER_CONNECTING;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), second);
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, first), NULL);
	second->reason = 0;
	first->state = IPOIB_CONN_ESTABLISHED;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), first);
	first->reason = IB_CM_REJ_CONSUMER_DEFINED;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, second), first);
	second->state = IPOIB_CONN_ESTABLISHED;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), second);
	/* Only the active side sends on a one-way connection. */
	second->duplex = false;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), first);
	first->duplex = false;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), first);
	/* A path record read since the request confirms a connection. */
	second->duplex = true;
	second->confirmed = false;
	fix->lid = CONN_LID + 1;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), first);
	fix->lid = CONN_LID;
	KUNIT_EXPECT_PTR_EQ(test, conn_best_of(fix, NULL), second);
}

/* ipoib_peer_select() in a state of the peer. Return: its next state */
static enum ipoib_peer_state conn_select_in(struct conn_fixture *fix, enum ipoib_peer_state state)
{
	fix->peer.state = state;
	spin_lock_bh(&fix->cm.lock);
	ipoib_peer_select(&fix->cm, &fix->peer);
	spin_unlock_bh(&fix->cm.lock);
	return fix->peer.state;
}

static void conn_select(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;

	KUNIT_EXPECT_EQ(test, (int)conn_select_in(fix, IPOIB_PEER_CONNECTING),
			(int)IPOIB_PEER_REFUSED);
	KUNIT_EXPECT_EQ(test, fix->peer.failures, 1u);
	conn = conn_publish(fix, 0, true, IPOIB_CONN_PENDING);
	KUNIT_EXPECT_EQ(test, (int)conn_select_in(fix, IPOIB_PEER_CONNECTING),
			(int)IPOIB_PEER_CONNECTING);
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 1u);
	conn->state = IPOIB_CONN_ESTABLISHED;
	KUNIT_EXPECT_EQ(test, (int)conn_select_in(fix, IPOIB_PEER_IDLE), (int)IPOIB_PEER_IDLE);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), NULL);
	set_bit(IPOIB_CONN_IS_OLD, &conn->flags);
	conn->used = jiffies - 5 * HZ;
	conn->asked_at = jiffies - 5 * HZ;
	conn_wait_frame(test, 100);
	conn->mtu = 2044;
	KUNIT_EXPECT_EQ(test, (int)conn_select_in(fix, IPOIB_PEER_CONNECTING), (int)IPOIB_PEER_UP);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), conn);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CONN_IS_OLD, &conn->flags));
	KUNIT_EXPECT_TRUE(test, time_after(conn->used, jiffies - 4 * HZ));
	KUNIT_EXPECT_TRUE(test, time_after(conn->asked_at, jiffies - 4 * HZ));
	KUNIT_EXPECT_EQ(test, fix->calls.sent, 1u);
	KUNIT_EXPECT_EQ(test, fix->peer.failures, 1u);
}

static void conn_end_wait(struct conn_fixture *fix, struct ipoib_conn *conn)
{
	spin_lock_bh(&fix->cm.lock);
	ipoib_peer_end_wait(&fix->cm, &fix->peer, conn);
	spin_unlock_bh(&fix->cm.lock);
}

static void conn_waiting(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	unsigned long before = jiffies;

	fix->conn[0].mtu = 2000;
	conn_end_wait(fix, &fix->conn[0]);
	KUNIT_EXPECT_EQ(test, fix->calls.resends, 0u);
	conn_wait_frame(test, 100);
	conn_wait_frame(test, 3000);
	conn_wait_frame(test, 2000);
	conn_end_wait(fix, &fix->conn[0]);
	KUNIT_EXPECT_EQ(test, fix->calls.sent, 2u);
	KUNIT_EXPECT_EQ(test, fix->calls.resent, 1u);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&fix->peer.queue));
	conn_wait_frame(test, 100);
	conn_end_wait(fix, NULL);
	KUNIT_EXPECT_EQ(test, fix->calls.sent, 2u);
	KUNIT_EXPECT_EQ(test, fix->calls.resent, 2u);
	/* A refusal ends the wait. */
	conn_wait_frame(test, 100);
	fix->peer.failures = 2;
	spin_lock_bh(&fix->cm.lock);
	ipoib_peer_no_room(&fix->cm, &fix->peer);
	spin_unlock_bh(&fix->cm.lock);
	KUNIT_EXPECT_EQ(test, fix->calls.resent, 3u);
	KUNIT_EXPECT_EQ(test, (int)fix->peer.state, (int)IPOIB_PEER_REFUSED);
	KUNIT_EXPECT_TRUE(test, conn_is_in(fix->peer.until, before, 2 * HZ));
	KUNIT_EXPECT_TRUE(test, ipoib_peer_pauses(&fix->peer));
	KUNIT_EXPECT_EQ(test, fix->peer.failures, 2u);
}

/**
 * struct conn_loss - loss of the connection in use
 * @flags: its flags
 * @sent: frames were sent on it
 * @transport: its transport
 * @failures: failures of the peer before
 * @failed: the loss is a failure of the peer
 * @passing: the lack of a connection is transient
 */
struct conn_loss {
	unsigned long flags;
	bool sent;
	u8 transport;
	unsigned int failures;
	bool failed;
	bool passing;
};

#define CONN_FAILED	BIT(IPOIB_CONN_EV_FAILED)
#define CONN_LEFT	BIT(IPOIB_CONN_EV_LEFT)
#define CONN_PROVEN	BIT(IPOIB_CONN_EV_PROVEN)

static void conn_lost(struct kunit *test)
{
	static const struct conn_loss losses[] = {
		{ 0, true, IPOIB_LLADDR_RC, 0, false, true },
		{ 0, true, IPOIB_LLADDR_RC, 3, false, false },
		{ CONN_FAILED, false, IPOIB_LLADDR_RC, 0, true, true },
		{ CONN_FAILED, true, IPOIB_LLADDR_UC, 3, true, false },
		{ CONN_FAILED | CONN_PROVEN, true, IPOIB_LLADDR_RC, 3, false, true },
		{ CONN_LEFT, true, IPOIB_LLADDR_RC, 0, true, true },
		{ CONN_LEFT, false, IPOIB_LLADDR_RC, 0, false, true },
		{ CONN_LEFT, true, IPOIB_LLADDR_UC, 0, false, true },
		{ CONN_LEFT | CONN_PROVEN, true, IPOIB_LLADDR_RC, 0, false, true },
	};
	struct conn_fixture *fix = test->priv;
	const struct conn_loss *loss;
	unsigned int i, failures;
	struct ipoib_conn *conn;

	for (i = 0; i < ARRAY_SIZE(losses); i++) {
		loss = &losses[i];
		conn_reset(fix);
		conn = conn_publish_used(fix, true);
		conn->flags = loss->flags;
		conn->ring.head = loss->sent;
		conn->transport = loss->transport;
		fix->peer.failures = loss->failures;
		failures = loss->flags & CONN_PROVEN ? 0 : loss->failures;
		spin_lock_bh(&fix->cm.lock);
		__ipoib_conn_close(conn);
		spin_unlock_bh(&fix->cm.lock);
		KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), NULL);
		KUNIT_EXPECT_EQ(test, (int)fix->peer.state,
				(int)(loss->failed ? IPOIB_PEER_REFUSED : IPOIB_PEER_IDLE));
		KUNIT_EXPECT_EQ(test, fix->peer.unverified, loss->failed);
		KUNIT_EXPECT_EQ(test, fix->peer.failures, failures + loss->failed);
		KUNIT_EXPECT_EQ(test, ipoib_peer_is_passing(&fix->peer), loss->passing);
	}
	/* A connection beside the one in use */
	conn_reset(fix);
	conn = conn_publish_used(fix, true);
	conn_publish(fix, 1, false, IPOIB_CONN_ESTABLISHED);
	fix->conn[1].flags = CONN_FAILED;
	spin_lock_bh(&fix->cm.lock);
	__ipoib_conn_close(&fix->conn[1]);
	spin_unlock_bh(&fix->cm.lock);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), conn);
	KUNIT_EXPECT_EQ(test, (int)fix->peer.state, (int)IPOIB_PEER_UP);
	KUNIT_EXPECT_EQ(test, fix->peer.failures, 0u);
}

/**
 * struct conn_pair - a new connection and an older one
 * @duplex: the new one is bidirectional
 * @confirmed: and confirmed
 * @same_port: both are from one port
 * @old_duplex: the older one is bidirectional
 * @old_active: both are active
 * @pending: the older one is pending
 * @replaced: the older one is replaced
 */
struct conn_pair {
	bool duplex;
	bool confirmed;
	bool same_port;
	bool old_duplex;
	bool old_active;
	bool pending;
	bool replaced;
};

static void conn_replaced(struct kunit *test)
{
	static const struct conn_pair pairs[] = {
		{ true, true, false, true, true, false, true },
		{ true, false, true, true, false, false, true },
		{ true, false, false, true, true, false, false },
		{ false, true, true, false, true, false, true },
		{ false, true, false, false, true, false, false },
		{ false, true, true, true, true, false, false },
		{ false, true, true, false, false, false, false },
		{ true, true, true, true, true, true, false },
		{ true, true, true, true, false, true, true },
	};
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn, *old;
	const struct conn_pair *pair;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		pair = &pairs[i];
		conn_reset(fix);
		old = conn_publish(fix, 0, pair->old_active,
				   pair->pending ? IPOIB_CONN_PENDING : IPOIB_CONN_ESTABLISHED);
		old->duplex = pair->old_duplex;
		conn = conn_publish(fix, 1, true, IPOIB_CONN_ESTABLISHED);
		conn->duplex = pair->duplex;
		conn->confirmed = pair->confirmed;
		conn->port = pair->same_port ? CONN_LID : CONN_LID + 1;
		spin_lock_bh(&fix->cm.lock);
		ipoib_conn_supersede(conn);
		spin_unlock_bh(&fix->cm.lock);
		KUNIT_EXPECT_EQ(test, test_bit(IPOIB_CONN_IS_OLD, &old->flags) != 0,
				pair->replaced);
		KUNIT_EXPECT_EQ(test, conn_kicks(old), pair->replaced ? 1u : 0u);
		KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CONN_IS_OLD, &conn->flags));
	}
}

/* ---- life ---- */

static void conn_alloc(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	unsigned long before = jiffies;
	struct ipoib_conn *conn;
	unsigned int i;
	u32 all = 0;

	for (i = 0; i < 64; i++) {
		conn = ipoib_conn_alloc(&fix->cm, GFP_KERNEL);
		KUNIT_EXPECT_TRUE(test, conn);
		if (!conn)
			return;
		all |= conn->psn;
		KUNIT_EXPECT_PTR_EQ(test, conn->cm, &fix->cm);
		KUNIT_EXPECT_TRUE(test, conn_is_in(conn->deadline, before, 6 * HZ));
		KUNIT_EXPECT_TRUE(test, conn_is_in(conn->used, before, 0));
		KUNIT_EXPECT_TRUE(test, conn_is_in(conn->progress, before, 0));
		KUNIT_EXPECT_EQ(test, conn_kicks(conn), 0u);
		KUNIT_EXPECT_TRUE(test, skb_queue_empty(&conn->backlog));
		kfree(conn);
	}
	/* Each bit of a PSN, and no other, is set in one of 64 random ones. */
	KUNIT_EXPECT_EQ(test, all, 0xffffffu);
}

static void conn_counted(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_cm *cm = &fix->cm;
	struct ipoib_cm_share *share = ipoib_cm_share(cm, CONN_LID);
	struct ipoib_conn *conn = ipoib_conn_alloc(cm, GFP_KERNEL);
	unsigned int freed;

	KUNIT_EXPECT_TRUE(test, conn);
	if (!conn)
		return;
	conn->port = CONN_LID;
	spin_lock_bh(&cm->lock);
	ipoib_conn_publish(conn, &fix->peer);
	spin_unlock_bh(&cm->lock);
	KUNIT_EXPECT_EQ(test, cm->nconns, 1u);
	KUNIT_EXPECT_EQ(test, cm->npending, 1u);
	KUNIT_EXPECT_EQ(test, share->nconns, 1u);
	KUNIT_EXPECT_EQ(test, share->npending, 1u);
	KUNIT_EXPECT_EQ(test, fix->peer.users, 2u);
	KUNIT_EXPECT_FALSE(test, list_empty(&fix->peer.conns));
	KUNIT_EXPECT_FALSE(test, list_empty(&cm->conns));
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 1u);
	spin_lock_bh(&cm->lock);
	ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
	spin_unlock_bh(&cm->lock);
	KUNIT_EXPECT_EQ(test, cm->npending, 0u);
	KUNIT_EXPECT_EQ(test, share->npending, 0u);
	KUNIT_EXPECT_FALSE(test, list_empty(&cm->conns));
	spin_lock_bh(&cm->lock);
	ipoib_conn_close_for(conn, "test", IPOIB_CM_REAPED);
	/* The second time is no error. */
	__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REAPED), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, fix->calls.shut, 1u);
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 2u);
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->peer.conns));
	KUNIT_EXPECT_TRUE(test, list_empty(&cm->conns));
	KUNIT_EXPECT_FALSE(test, list_empty(&cm->closing));
	KUNIT_EXPECT_EQ(test, cm->npending, 0u);
	spin_lock_bh(&cm->lock);
	ipoib_conn_set_state(conn, IPOIB_CONN_DRAINING);
	ipoib_conn_set_state(conn, IPOIB_CONN_DEAD);
	spin_unlock_bh(&cm->lock);
	KUNIT_EXPECT_TRUE(test, list_empty(&cm->closing));
	KUNIT_EXPECT_EQ(test, cm->nconns, 1u);
	conn_delay = 0;
	freed = conn_nfreed;
	ipoib_conn_release(&conn->ref);
	KUNIT_EXPECT_EQ(test, conn_nfreed, freed + 1);
	KUNIT_EXPECT_EQ(test, cm->nconns, 0u);
	KUNIT_EXPECT_EQ(test, share->nconns, 0u);
	KUNIT_EXPECT_EQ(test, fix->peer.users, 1u);
	KUNIT_EXPECT_EQ(test, conn_delay, 10ul * HZ);
}

/* A frame that waits, and an established connection */
static void conn_flush(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_lladdr addr = fix->peer.addr;
	struct ipoib_peer *peer;
	struct ipoib_conn *conn;
	struct sk_buff *skb;

	conn = conn_publish(fix, 0, true, IPOIB_CONN_ESTABLISHED);
	skb = conn_frame(test, 100, 0);
	spin_lock_bh(&fix->cm.lock);
	peer = ipoib_peer_get(&fix->cm, &addr);
	spin_unlock_bh(&fix->cm.lock);
	KUNIT_EXPECT_TRUE(test, peer);
	if (!peer || !skb) {
		kfree_skb(skb);
		return;
	}
	__skb_queue_tail(&peer->queue, skb);
	peer->state = IPOIB_PEER_UP;
	peer->sid = IPOIB_SID_LINUX;
	peer->failures = 3;
	peer->unverified = true;
	RCU_INIT_POINTER(peer->tx, &fix->conn[1]);
	ipoib_cm_flush(&fix->priv);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&peer->queue));
	KUNIT_EXPECT_EQ(test, fix->calls.dropped, 1u);
	KUNIT_EXPECT_EQ(test, (int)peer->state, (int)IPOIB_PEER_IDLE);
	KUNIT_EXPECT_EQ(test, (int)peer->sid, IPOIB_SID_RFC);
	KUNIT_EXPECT_EQ(test, peer->failures, 0u);
	KUNIT_EXPECT_FALSE(test, peer->unverified);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(peer->tx), NULL);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
}

static void conn_path(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *first, *second;

	first = conn_publish(fix, 0, true, IPOIB_CONN_ESTABLISHED);
	second = conn_publish(fix, 1, true, IPOIB_CONN_PENDING);
	hlist_add_head(&fix->peer.neigh_list, &fix->neigh.peers);
	fix->peer.users++;
	ipoib_cm_path_read(&fix->neigh, false);
	KUNIT_EXPECT_EQ(test, conn_kicks(first), 0u);
	KUNIT_EXPECT_EQ(test, conn_kicks(second), 1u);
	first->confirmed = false;
	ipoib_cm_path_read(&fix->neigh, false);
	KUNIT_EXPECT_EQ(test, conn_kicks(first), 1u);
	KUNIT_EXPECT_EQ(test, fix->peer.users, 4u);
	/* The neighbour has gone: only unused connections go with it. */
	first->used = jiffies - 6 * HZ;
	second->used = jiffies - 6 * HZ;
	ipoib_cm_path_read(&fix->neigh, true);
	KUNIT_EXPECT_EQ(test, (int)first->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, (int)second->state, (int)IPOIB_CONN_PENDING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REAPED), 1u);
	KUNIT_EXPECT_TRUE(test, hlist_empty(&fix->neigh.peers));
	KUNIT_EXPECT_EQ(test, fix->peer.users, 3u);
}

/* True if the first connection, idle for so long, is unused */
static bool conn_is_idle_for(struct conn_fixture *fix, unsigned long idle)
{
	struct ipoib_conn *conn = &fix->conn[0];
	unsigned long now;
	bool unused;

	do {
		now = jiffies;
		conn->used = now - idle;
		unused = ipoib_conn_is_unused(conn);
	} while (now != jiffies);
	return unused;
}

/* The stack forgets a neighbour: its peer leaves the list, and unused connections end. */
static void conn_forgotten(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_lladdr addr = fix->peer.addr;
	struct ipoib_conn *unused, *used;
	struct ipoib_peer *peer;

	fix->conn[0].state = IPOIB_CONN_ESTABLISHED;
	KUNIT_EXPECT_FALSE(test, conn_is_idle_for(fix, 0));
	KUNIT_EXPECT_FALSE(test, conn_is_idle_for(fix, 5 * HZ));
	KUNIT_EXPECT_TRUE(test, conn_is_idle_for(fix, 5 * HZ + 1));
	fix->conn[0].state = IPOIB_CONN_PENDING;
	KUNIT_EXPECT_FALSE(test, conn_is_idle_for(fix, 6 * HZ));

	spin_lock_bh(&fix->cm.lock);
	peer = ipoib_peer_get(&fix->cm, &addr);
	if (peer)
		ipoib_peer_attach(&fix->cm, peer, &fix->neigh);
	spin_unlock_bh(&fix->cm.lock);
	KUNIT_EXPECT_TRUE(test, peer);
	if (!peer)
		return;
	unused = conn_publish(fix, 0, true, IPOIB_CONN_ESTABLISHED);
	used = conn_publish(fix, 1, true, IPOIB_CONN_ESTABLISHED);
	list_move(&unused->peer_list, &peer->conns);
	list_move(&used->peer_list, &peer->conns);
	unused->used = jiffies - 6 * HZ;
	addr.gid[15]++;
	ipoib_cm_neigh_gone(&fix->cm, &addr);
	KUNIT_EXPECT_EQ(test, peer->users, 2u);
	addr.gid[15]--;
	/* Whatever transports its address has */
	addr.flags_qpn |= cpu_to_be32(0x80000000);
	ipoib_cm_neigh_gone(&fix->cm, &addr);
	KUNIT_EXPECT_EQ(test, peer->users, 1u);
	KUNIT_EXPECT_TRUE(test, hlist_empty(&fix->neigh.peers));
	KUNIT_EXPECT_EQ(test, (int)unused->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, (int)used->state, (int)IPOIB_CONN_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REAPED), 1u);
	/* In no list any more */
	ipoib_cm_neigh_gone(&fix->cm, &addr);
	KUNIT_EXPECT_EQ(test, peer->users, 1u);
}

/* ---- active side ---- */

/* Request a connection. Return: the newest connection of the peer, or NULL */
static struct ipoib_conn *conn_connect_to(struct conn_fixture *fix, u8 offers, bool again)
{
	spin_lock_bh(&fix->cm.lock);
	ipoib_peer_connect(&fix->cm, &fix->peer, offers, again);
	spin_unlock_bh(&fix->cm.lock);
	if (list_empty(&fix->peer.conns))
		return NULL;
	return list_last_entry(&fix->peer.conns, struct ipoib_conn, peer_list);
}

static void conn_connect(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	unsigned long before = jiffies;
	struct ipoib_conn *conn;

	conn = conn_connect_to(fix, IPOIB_LLADDR_RC, false);
	KUNIT_EXPECT_TRUE(test, conn);
	if (!conn)
		return;
	KUNIT_EXPECT_TRUE(test, conn->active);
	KUNIT_EXPECT_TRUE(test, conn->confirmed);
	KUNIT_EXPECT_TRUE(test, conn->duplex);
	KUNIT_EXPECT_EQ(test, (int)conn->transport, IPOIB_LLADDR_RC);
	KUNIT_EXPECT_EQ(test, (int)conn->port, CONN_LID);
	KUNIT_EXPECT_EQ(test, conn->flags, 0ul);
	/* Published, and selected */
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 2u);
	KUNIT_EXPECT_EQ(test, (int)fix->peer.state, (int)IPOIB_PEER_CONNECTING);
	KUNIT_EXPECT_TRUE(test, conn_is_in(fix->peer.until, before, HZ + HZ / 2));
	KUNIT_EXPECT_TRUE(test, ipoib_peer_is_passing(&fix->peer));
	/* A pending connection takes no other beside it. */
	fix->peer.state = IPOIB_PEER_IDLE;
	KUNIT_EXPECT_PTR_EQ(test, conn_connect_to(fix, IPOIB_LLADDR_RC, false), conn);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 1u);

	conn_reset(fix);
	fix->peer.failures = 2;
	fix->peer.sid = IPOIB_SID_LINUX;
	fix->choice.offers |= IPOIB_LLADDR_UC;
	fix->choice.prefer = IPOIB_LLADDR_UC;
	conn = conn_connect_to(fix, IPOIB_LLADDR_RC | IPOIB_LLADDR_UC, true);
	KUNIT_EXPECT_TRUE(test, conn);
	if (!conn)
		return;
	KUNIT_EXPECT_FALSE(test, conn->duplex);
	KUNIT_EXPECT_EQ(test, (int)conn->transport, IPOIB_LLADDR_UC);
	KUNIT_EXPECT_EQ(test, conn->flags, BIT(IPOIB_CONN_IS_AGAIN));
	KUNIT_EXPECT_FALSE(test, ipoib_peer_is_passing(&fix->peer));

	conn_reset(fix);
	fix->choice.offers |= IPOIB_LLADDR_UC;
	fix->choice.prefer = IPOIB_LLADDR_UC;
	conn = conn_connect_to(fix, IPOIB_LLADDR_RC, false);
	KUNIT_EXPECT_TRUE(test, conn && conn->transport == IPOIB_LLADDR_RC);
}

/**
 * struct conn_refusal - reason for no request
 * @offers: flags of the peer's address
 * @lid: LID of its path record
 * @admit: result of ipoib_cm_admit()
 * @off: datagram mode
 * @passing: the reason is transient
 */
struct conn_refusal {
	u8 offers;
	u16 lid;
	int admit;
	bool off;
	bool passing;
};

static void conn_no_request(struct kunit *test)
{
	static const struct conn_refusal refusals[] = {
		{ IPOIB_LLADDR_RC, CONN_LID, -EAGAIN, false, true },
		{ IPOIB_LLADDR_RC, CONN_LID, -EDQUOT, false, false },
		{ IPOIB_LLADDR_RC, CONN_LID, -ENOSPC, false, false },
		{ IPOIB_LLADDR_RC, 0, 0, false, true },
		{ IPOIB_LLADDR_UC, CONN_LID, 0, false, false },
		{ IPOIB_LLADDR_RC, CONN_LID, 0, true, false },
	};
	struct conn_fixture *fix = test->priv;
	const struct conn_refusal *refusal;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		refusal = &refusals[i];
		conn_reset(fix);
		fix->lid = refusal->lid;
		fix->admit = refusal->admit;
		if (refusal->off)
			clear_bit(IPOIB_FLAG_CONNECTED, &fix->priv.flags);
		fix->peer.failures = 3;
		fix->peer.passing_until = jiffies + (refusal->passing ? 0 : HZ);
		conn_wait_frame(test, 3000);
		KUNIT_EXPECT_PTR_EQ(test, conn_connect_to(fix, refusal->offers, false), NULL);
		KUNIT_EXPECT_EQ(test, ipoib_peer_is_passing(&fix->peer), refusal->passing);
		KUNIT_EXPECT_EQ(test, (int)fix->peer.state,
				(int)(refusal->passing ? IPOIB_PEER_IDLE : IPOIB_PEER_REFUSED));
		KUNIT_EXPECT_EQ(test, fix->calls.resent, 1u);
		KUNIT_EXPECT_EQ(test, fix->peer.failures, 3u);
	}
}

/* A connection without room is freed. */
static void conn_no_room(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;

	fix->admit = -EAGAIN;
	KUNIT_EXPECT_PTR_EQ(test, conn_connect_to(fix, IPOIB_LLADDR_RC, false), NULL);
	KUNIT_EXPECT_EQ(test, fix->calls.freed, 1u);
	conn_lacks = true;
	spin_lock_bh(&fix->cm.lock);
	KUNIT_EXPECT_EQ(test, ipoib_conn_begin(&fix->cm, &fix->peer, IPOIB_LLADDR_RC, false),
			-EAGAIN);
	spin_unlock_bh(&fix->cm.lock);
	conn_lacks = false;
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 0u);
	KUNIT_EXPECT_EQ(test, fix->peer.users, 1u);
}

/**
 * struct conn_rej - REJ of a connection in IPOIB_CONN_PENDING, of a peer in IPOIB_PEER_CONNECTING
 * @reason: its reason
 * @active: side of the connection
 * @duplex: its direction
 * @again: it is the second request
 * @less: the own address is less than that of the peer
 * @state: state of the connection afterwards
 * @repeated: another request follows
 * @sid: service ID of the next request
 * @refused: requests that count as refused
 */
struct conn_rej {
	enum ib_cm_rej_reason reason;
	bool active;
	bool duplex;
	bool again;
	bool less;
	enum ipoib_conn_state state;
	bool repeated;
	u8 sid;
	unsigned int refused;
};

static void conn_rejected(struct kunit *test)
{
	static const struct conn_rej rejs[] = {
		{ IB_CM_REJ_CONSUMER_DEFINED, true, true, false, true,
		  IPOIB_CONN_PENDING, false, IPOIB_SID_RFC, 0 },
		{ IB_CM_REJ_CONSUMER_DEFINED, true, false, false, true,
		  IPOIB_CONN_CLOSING, false, IPOIB_SID_RFC, 1 },
		{ IB_CM_REJ_CONSUMER_DEFINED, true, true, false, false,
		  IPOIB_CONN_CLOSING, false, IPOIB_SID_RFC, 1 },
		{ IB_CM_REJ_CONSUMER_DEFINED, false, true, false, true,
		  IPOIB_CONN_CLOSING, false, IPOIB_SID_RFC, 0 },
		{ IB_CM_REJ_NO_RESOURCES, true, true, false, true,
		  IPOIB_CONN_CLOSING, false, IPOIB_SID_RFC, 1 },
		{ IB_CM_REJ_INVALID_SERVICE_ID, true, true, false, true,
		  IPOIB_CONN_CLOSING, true, IPOIB_SID_LINUX, 0 },
		{ IB_CM_REJ_INVALID_SERVICE_ID, true, false, false, true,
		  IPOIB_CONN_CLOSING, true, IPOIB_SID_RFC, 0 },
		{ IB_CM_REJ_INVALID_SERVICE_ID, true, true, true, true,
		  IPOIB_CONN_CLOSING, false, IPOIB_SID_LINUX, 1 },
		{ IB_CM_REJ_STALE_CONN, true, true, false, true,
		  IPOIB_CONN_CLOSING, true, IPOIB_SID_RFC, 0 },
	};
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn, *next;
	const struct conn_rej *rej;
	unsigned long before;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rejs); i++) {
		rej = &rejs[i];
		conn_reset(fix);
		if (!rej->less)
			fix->priv.qpn = CONN_QPN + 1;
		conn = conn_publish(fix, 0, rej->active, IPOIB_CONN_PENDING);
		conn->duplex = rej->duplex;
		conn->reason = rej->reason;
		if (rej->again)
			set_bit(IPOIB_CONN_IS_AGAIN, &conn->flags);
		fix->peer.state = IPOIB_PEER_CONNECTING;
		fix->peer.passing_until = jiffies + 2 * HZ;
		before = jiffies;
		ipoib_conn_rejected(conn);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)rej->state);
		KUNIT_EXPECT_EQ(test, (int)fix->peer.sid, (int)rej->sid);
		KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REFUSED), rej->refused);
		KUNIT_EXPECT_EQ(test, fix->cm.nconns, rej->repeated ? 2u : 1u);
		KUNIT_EXPECT_EQ(test, ipoib_peer_is_passing(&fix->peer),
				rej->reason != IB_CM_REJ_NO_RESOURCES);
		KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CONN_EV_FAILED, &conn->flags));
		KUNIT_EXPECT_EQ(test, fix->peer.failures,
				rej->state == IPOIB_CONN_PENDING || rej->repeated ? 0u : 1u);
		if (rej->state == IPOIB_CONN_PENDING) {
			KUNIT_EXPECT_TRUE(test, conn_is_in(conn->deadline, before, HZ));
			continue;
		}
		KUNIT_EXPECT_EQ(test, (int)fix->peer.state,
				(int)(rej->repeated ? IPOIB_PEER_CONNECTING : IPOIB_PEER_REFUSED));
		KUNIT_EXPECT_EQ(test, !list_empty(&fix->peer.conns), rej->repeated);
		if (!rej->repeated || list_empty(&fix->peer.conns))
			continue;
		next = list_first_entry(&fix->peer.conns, struct ipoib_conn, peer_list);
		KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_IS_AGAIN, &next->flags));
		KUNIT_EXPECT_EQ(test, next->duplex, rej->sid == IPOIB_SID_RFC);
	}
}

static void conn_rejected_late(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;

	/* Frames sent on an established connection have not arrived. */
	conn = conn_publish_used(fix, true);
	conn->ring.head = 1;
	conn->reason = IB_CM_REJ_STALE_CONN;
	ipoib_conn_rejected(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_EV_FAILED, &conn->flags));
	KUNIT_EXPECT_EQ(test, fix->peer.failures, 1u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REFUSED), 0u);
	conn_reset(fix);
	conn = conn_publish_used(fix, true);
	conn->reason = IB_CM_REJ_STALE_CONN;
	ipoib_conn_rejected(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CONN_EV_FAILED, &conn->flags));
	/* A peer that is up by another connection is not asked again. */
	conn_reset(fix);
	conn_publish_used(fix, false);
	conn = conn_publish(fix, 1, true, IPOIB_CONN_PENDING);
	conn->reason = IB_CM_REJ_CONSUMER_DEFINED;
	ipoib_conn_rejected(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REFUSED), 1u);
	conn_reset(fix);
	conn_publish_used(fix, false);
	conn = conn_publish(fix, 1, true, IPOIB_CONN_PENDING);
	conn->reason = IB_CM_REJ_INVALID_SERVICE_ID;
	ipoib_conn_rejected(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, (int)fix->peer.sid, IPOIB_SID_RFC);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 2u);
	KUNIT_EXPECT_EQ(test, (int)fix->peer.state, (int)IPOIB_PEER_UP);
}

/* A pending connection of the active side with a REP */
static struct ipoib_conn *conn_replied_to(struct conn_fixture *fix, u32 qpn, u32 mtu)
{
	struct ipoib_conn *conn = conn_publish(fix, 0, true, IPOIB_CONN_PENDING);

	conn->id = &fix->id;
	conn->qp = &fix->qp;
	conn->theirs.qpn = cpu_to_be32(qpn);
	conn->theirs.mtu = cpu_to_be32(mtu);
	fix->peer.state = IPOIB_PEER_CONNECTING;
	return conn;
}

static void conn_replied(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn, *old;

	conn = conn_replied_to(fix, CONN_QPN, 2048);
	old = conn_publish(fix, 1, false, IPOIB_CONN_ESTABLISHED);
	ipoib_conn_replied(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, conn->mtu, 2044u);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), conn);
	KUNIT_EXPECT_EQ(test, fix->nattr, 2u);
	KUNIT_EXPECT_EQ(test, fix->calls.rtus, 1u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ESTABLISHED), 1u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 0u);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_IS_OLD, &old->flags));
	/* Wrong private data */
	conn_reset(fix);
	conn = conn_replied_to(fix, CONN_QPN + 1, 2048);
	ipoib_conn_replied(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, fix->calls.rtus, 0u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 1u);
	conn_reset(fix);
	conn = conn_replied_to(fix, CONN_QPN, 0);
	ipoib_conn_replied(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 1u);
	/* An RTU that is not sent */
	conn_reset(fix);
	conn = conn_replied_to(fix, CONN_QPN, 2048);
	fix->rtu_err = -ENOMEM;
	ipoib_conn_replied(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 0u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ESTABLISHED), 0u);
	/* The peer was faster. */
	conn_reset(fix);
	conn = conn_replied_to(fix, CONN_QPN, 2048);
	conn_publish(fix, 1, false, IPOIB_CONN_ESTABLISHED);
	RCU_INIT_POINTER(fix->peer.tx, &fix->conn[1]);
	fix->peer.state = IPOIB_PEER_UP;
	ipoib_conn_replied(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, fix->nattr, 0u);
	KUNIT_EXPECT_EQ(test, fix->calls.rtus, 0u);
}

/* ---- passive side ---- */

/* ipoib_conn_begin_passive() of the first connection, by the service ID with octet @sid */
static int conn_request_to(struct conn_fixture *fix, u8 sid)
{
	struct ipoib_lladdr addr = fix->peer.addr;

	fix->id.service_id = ipoib_service_id(sid, fix->priv.qpn);
	return ipoib_conn_begin_passive(&fix->conn[0], &fix->id, &addr);
}

static void conn_granted(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];

	KUNIT_EXPECT_EQ(test, conn_request_to(fix, IPOIB_SID_RFC), 0);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 1u);
	KUNIT_EXPECT_TRUE(test, conn->confirmed);
	KUNIT_EXPECT_TRUE(test, conn->duplex);
	KUNIT_EXPECT_PTR_EQ(test, conn->id, &fix->id);
	KUNIT_EXPECT_PTR_EQ(test, fix->id.context, conn);
	KUNIT_EXPECT_TRUE(test, fix->id.cm_handler == ipoib_conn_event);
	KUNIT_EXPECT_EQ(test, conn->peer->users, 1u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 0u);
	conn_reset(fix);
	KUNIT_EXPECT_EQ(test, conn_request_to(fix, IPOIB_SID_LINUX), 0);
	KUNIT_EXPECT_TRUE(test, conn->confirmed);
	KUNIT_EXPECT_FALSE(test, conn->duplex);
	/* The path record leads to another port. */
	conn_reset(fix);
	fix->lid = CONN_LID + 1;
	KUNIT_EXPECT_EQ(test, conn_request_to(fix, IPOIB_SID_RFC), 0);
	KUNIT_EXPECT_FALSE(test, conn->confirmed);
	KUNIT_EXPECT_FALSE(test, conn->duplex);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 1u);
	KUNIT_EXPECT_EQ(test, fix->calls.suspects, 1u);
	/* Without a record nothing is wrong. */
	conn_reset(fix);
	fix->lid = 0;
	KUNIT_EXPECT_EQ(test, conn_request_to(fix, IPOIB_SID_RFC), 0);
	KUNIT_EXPECT_FALSE(test, conn->confirmed);
	KUNIT_EXPECT_TRUE(test, conn->duplex);
	KUNIT_EXPECT_EQ(test, fix->calls.suspects, 0u);
	/* Limits */
	conn_reset(fix);
	fix->admit = -EDQUOT;
	KUNIT_EXPECT_EQ(test, conn_request_to(fix, IPOIB_SID_RFC), -EDQUOT);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_PORT_FULL), 1u);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 0u);
	KUNIT_EXPECT_EQ(test, fix->cm.npeers, 0u);
	conn_reset(fix);
	fix->admit = -ENOSPC;
	KUNIT_EXPECT_EQ(test, conn_request_to(fix, IPOIB_SID_RFC), -ENOSPC);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_PORT_FULL), 0u);
}

/**
 * struct conn_cross - own request beside that of the peer
 * @sid: service ID of the peer's request
 * @greater: the own address is the greater
 * @active: side of the other connection
 * @duplex: its direction
 * @sent: its REQ was sent
 * @established: its state
 * @crosses: the peer's request is refused
 */
struct conn_cross {
	u8 sid;
	bool greater;
	bool active;
	bool duplex;
	bool sent;
	bool established;
	bool crosses;
};

static void conn_crossing(struct kunit *test)
{
	static const struct conn_cross crosses[] = {
		{ IPOIB_SID_RFC, true, true, true, true, false, true },
		{ IPOIB_SID_LINUX, true, true, true, true, false, false },
		{ IPOIB_SID_RFC, false, true, true, true, false, false },
		{ IPOIB_SID_RFC, true, false, true, true, false, false },
		{ IPOIB_SID_RFC, true, true, false, true, false, false },
		{ IPOIB_SID_RFC, true, true, true, false, false, false },
		{ IPOIB_SID_RFC, true, true, true, true, true, false },
	};
	struct conn_fixture *fix = test->priv;
	const struct conn_cross *cross;
	struct ipoib_peer *peer;
	struct ipoib_conn *own;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(crosses); i++) {
		cross = &crosses[i];
		conn_reset(fix);
		if (cross->greater)
			fix->priv.qpn = CONN_QPN + 1;
		own = conn_publish(fix, 1, cross->active,
				   cross->established ? IPOIB_CONN_ESTABLISHED :
							IPOIB_CONN_PENDING);
		own->duplex = cross->duplex;
		own->id = cross->sent ? &fix->id : NULL;
		spin_lock_bh(&fix->cm.lock);
		peer = ipoib_peer_get(&fix->cm, &fix->peer.addr);
		if (peer)
			list_move(&own->peer_list, &peer->conns);
		spin_unlock_bh(&fix->cm.lock);
		KUNIT_EXPECT_EQ(test, conn_request_to(fix, cross->sid),
				cross->crosses ? (int)IB_CM_REJ_CONSUMER_DEFINED : 0);
		KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_CROSSED), cross->crosses ? 1u : 0u);
		KUNIT_EXPECT_EQ(test, fix->cm.nconns, cross->crosses ? 1u : 2u);
	}
}

static int conn_check(struct ipoib_dev *priv, const struct ib_cm_req_event_param *req)
{
	return conn_fix->check;
}

/* A REQ that is sound */
static void conn_make_req(struct conn_fixture *fix)
{
	struct ib_cm_req_event_param *req = &fix->event.param.req_rcvd;
	struct ipoib_dev *priv = &fix->priv;

	priv->port = 1;
	priv->pkey = 0xffff;
	priv->local_gid.raw[0] = 0xfe;
	priv->local_gid.raw[15] = 1;
	fix->ops.conn_check = conn_check;
	fix->check = 0;
	memset(&fix->path, 0, sizeof(fix->path));
	fix->path.rec_type = SA_PATH_REC_TYPE_IB;
	fix->path.pkey = cpu_to_be16(0xffff);
	fix->path.sgid = priv->local_gid;
	fix->path.dgid.raw[0] = 0xfe;
	fix->path.dgid.raw[15] = 2;
	sa_path_set_dlid(&fix->path, CONN_LID);
	memset(&fix->event, 0, sizeof(fix->event));
	fix->event.event = IB_CM_REQ_RECEIVED;
	fix->event.private_data = &fix->data;
	fix->data.qpn = cpu_to_be32(CONN_QPN);
	fix->data.mtu = cpu_to_be32(2048);
	req->port = 1;
	req->primary_path = &fix->path;
	req->qp_type = IB_QPT_RC;
	fix->id.service_id = ipoib_service_id(IPOIB_SID_RFC, priv->qpn);
	fix->id.context = &fix->cm;
}

/* Change @n of a sound REQ. Return: reason of its refusal, or -1 if there is no such change */
static int conn_forge(struct conn_fixture *fix, unsigned int n)
{
	struct ib_cm_req_event_param *req = &fix->event.param.req_rcvd;

	switch (n) {
	case 0:
		req->qp_type = IB_QPT_UC;
		return IB_CM_REJ_INVALID_TRANSPORT_TYPE;
	case 1:
		req->qp_type = IB_QPT_XRC_INI;
		return IB_CM_REJ_INVALID_TRANSPORT_TYPE;
	case 2:
		req->port = 2;
		return IB_CM_REJ_CONSUMER_DEFINED;
	case 3:
		fix->path.pkey = cpu_to_be16(0x8001);
		return IB_CM_REJ_CONSUMER_DEFINED;
	case 4:
		fix->path.rec_type = SA_PATH_REC_TYPE_OPA;
		return IB_CM_REJ_INVALID_GID;
	case 5:
		fix->path.sgid.raw[15]++;
		return IB_CM_REJ_INVALID_GID;
	case 6:
		fix->path.dgid = fix->priv.local_gid;
		return IB_CM_REJ_INVALID_GID;
	case 7:
		fix->path.dgid.raw[0] = 0xff;
		return IB_CM_REJ_INVALID_GID;
	case 8:
		fix->check = IB_CM_REJ_INVALID_MTU;
		return IB_CM_REJ_INVALID_MTU;
	case 9:
		fix->init_err = -EINVAL;
		return IB_CM_REJ_NO_RESOURCES;
	/* The rest counts as wrong data. */
	case 10:
		fix->data.mtu = 0;
		return IB_CM_REJ_CONSUMER_DEFINED;
	case 11:
		fix->data.qpn = cpu_to_be32(1);
		return IB_CM_REJ_CONSUMER_DEFINED;
	case 12:
		fix->data.qpn = cpu_to_be32(0xffffff);
		return IB_CM_REJ_CONSUMER_DEFINED;
	case 13:
		fix->from = CONN_LID + 1;
		return IB_CM_REJ_INVALID_LID;
	default:
		return -1;
	}
}

/* ipoib_conn_parse() of the first connection, as it is after ipoib_conn_alloc() */
static int conn_parse_req(struct conn_fixture *fix, struct ipoib_lladdr *addr)
{
	fix->conn[0].transport = 0;
	fix->conn[0].port = 0;
	return ipoib_conn_parse(&fix->conn[0], &fix->id, &fix->event, addr);
}

/* Each part of a REQ that is wrong has its reason. */
static void conn_parsed(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];
	struct sa_path_rec other = {};
	struct ipoib_lladdr addr;
	unsigned int i;
	int reason;

	conn_make_req(fix);
	KUNIT_EXPECT_EQ(test, conn_parse_req(fix, &addr), 0);
	KUNIT_EXPECT_EQ(test, (int)conn->transport, IPOIB_LLADDR_RC);
	KUNIT_EXPECT_EQ(test, conn->mtu, 2044u);
	KUNIT_EXPECT_EQ(test, (int)conn->port, CONN_LID);
	KUNIT_EXPECT_EQ(test, (int)conn->failover, 0);
	KUNIT_EXPECT_TRUE(test, addr.flags_qpn == cpu_to_be32(CONN_QPN));
	KUNIT_EXPECT_EQ(test, memcmp(addr.gid, &fix->path.dgid, sizeof(addr.gid)), 0);
	/* Limited membership, and a path that is not needed */
	fix->path.pkey = cpu_to_be16(0x7fff);
	fix->event.param.req_rcvd.alternate_path = &other;
	KUNIT_EXPECT_EQ(test, conn_parse_req(fix, &addr), 0);
	KUNIT_EXPECT_EQ(test, (int)conn->failover, 1);
	fix->choice.offers = IPOIB_LLADDR_UC;
	fix->event.param.req_rcvd.qp_type = IB_QPT_UC;
	fix->data.qpn = cpu_to_be32(2);
	fix->ops.conn_check = NULL;
	KUNIT_EXPECT_EQ(test, conn_parse_req(fix, &addr), 0);
	KUNIT_EXPECT_EQ(test, (int)conn->transport, IPOIB_LLADDR_UC);
	for (i = 0; ; i++) {
		conn_reset(fix);
		conn_make_req(fix);
		reason = conn_forge(fix, i);
		if (reason < 0)
			break;
		KUNIT_EXPECT_EQ(test, conn_parse_req(fix, &addr), reason);
		KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), i < 10 ? 0u : 1u);
	}
	KUNIT_EXPECT_EQ(test, i, 14u);
}

/* A REQ for the listeners: granted, refused with a REJ, or forgotten for a transient reason */
static void conn_listened(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;

	conn_make_req(fix);
	KUNIT_EXPECT_EQ(test, ipoib_cm_listen_event(&fix->id, &fix->event), 0);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 1u);
	KUNIT_EXPECT_EQ(test, fix->calls.freed + fix->calls.rejs, 0u);
	conn = list_first_entry(&fix->cm.conns, struct ipoib_conn, list);
	KUNIT_EXPECT_PTR_EQ(test, fix->id.context, conn);
	KUNIT_EXPECT_EQ(test, (int)conn->transport, IPOIB_LLADDR_RC);
	KUNIT_EXPECT_FALSE(test, conn->active);

	conn_reset(fix);
	conn_make_req(fix);
	fix->admit = -EAGAIN;
	KUNIT_EXPECT_EQ(test, ipoib_cm_listen_event(&fix->id, &fix->event), -ENOMEM);
	KUNIT_EXPECT_EQ(test, fix->calls.freed, 1u);
	KUNIT_EXPECT_EQ(test, fix->calls.rejs, 0u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REJECTS), 1u);
	fix->admit = -ENOSPC;
	KUNIT_EXPECT_EQ(test, ipoib_cm_listen_event(&fix->id, &fix->event), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->calls.freed, 2u);
	KUNIT_EXPECT_EQ(test, fix->calls.rejs, 1u);
	KUNIT_EXPECT_EQ(test, (int)fix->calls.reason, (int)IB_CM_REJ_NO_RESOURCES);
	fix->admit = 0;
	fix->path.sgid.raw[15]++;
	KUNIT_EXPECT_EQ(test, ipoib_cm_listen_event(&fix->id, &fix->event), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->calls.freed, 3u);
	KUNIT_EXPECT_EQ(test, (int)fix->calls.reason, (int)IB_CM_REJ_INVALID_GID);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REJECTS), 3u);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns + fix->cm.npeers, 0u);
	/* Another message */
	fix->event.event = IB_CM_SIDR_REQ_RECEIVED;
	KUNIT_EXPECT_EQ(test, ipoib_cm_listen_event(&fix->id, &fix->event), -EINVAL);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_SIDR), 1u);
	KUNIT_EXPECT_EQ(test, fix->calls.rejs, 2u);
}

/* A connection of the passive side with a ring and an RTU, of a QPN */
static struct ipoib_conn *conn_ready(struct conn_fixture *fix, enum ipoib_conn_state state, u32 qpn)
{
	static struct ipoib_tx_slot slot;
	struct ipoib_conn *conn = conn_publish(fix, 0, false, state);

	conn->ring.slots = &slot;
	conn->theirs.qpn = cpu_to_be32(qpn);
	return conn;
}

static void conn_accepted(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;

	conn = conn_ready(fix, IPOIB_CONN_PENDING, CONN_QPN);
	ipoib_conn_accepted(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_ESTABLISHED);
	KUNIT_EXPECT_TRUE(test, conn->duplex);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), conn);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ACCEPTED), 1u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 0u);
	/* An RTU that came after the connection had been established */
	conn_reset(fix);
	conn = conn_ready(fix, IPOIB_CONN_ESTABLISHED, CONN_QPN);
	conn->duplex = false;
	ipoib_conn_accepted(conn);
	KUNIT_EXPECT_TRUE(test, conn->duplex);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), conn);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ACCEPTED), 1u);
	/* Without private data, and without a ring */
	conn_reset(fix);
	conn = conn_ready(fix, IPOIB_CONN_PENDING, 0);
	ipoib_conn_accepted(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_ESTABLISHED);
	KUNIT_EXPECT_FALSE(test, conn->duplex);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(fix->peer.tx), NULL);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 1u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ACCEPTED), 1u);
	conn_reset(fix);
	conn = conn_ready(fix, IPOIB_CONN_PENDING, CONN_QPN);
	conn->ring.slots = NULL;
	ipoib_conn_accepted(conn);
	KUNIT_EXPECT_FALSE(test, conn->duplex);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_BAD_DATA), 0u);
	/* Too late */
	conn_reset(fix);
	conn = conn_ready(fix, IPOIB_CONN_CLOSING, CONN_QPN);
	ipoib_conn_accepted(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ACCEPTED), 0u);
}

/* True if an accepted connection is sent on */
static bool conn_is_activated(struct conn_fixture *fix)
{
	struct ipoib_conn *conn = conn_publish(fix, 0, false, IPOIB_CONN_ESTABLISHED);

	spin_lock_bh(&fix->cm.lock);
	ipoib_conn_activate(conn);
	spin_unlock_bh(&fix->cm.lock);
	return rcu_access_pointer(fix->peer.tx) == conn;
}

static void conn_activated(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;

	KUNIT_EXPECT_TRUE(test, conn_is_activated(fix));
	/* In datagram mode */
	conn_reset(fix);
	clear_bit(IPOIB_FLAG_CONNECTED, &fix->priv.flags);
	KUNIT_EXPECT_FALSE(test, conn_is_activated(fix));
	/* Replaced, beside a connection in use or without one */
	conn_reset(fix);
	set_bit(IPOIB_CONN_IS_OLD, &fix->conn[0].flags);
	RCU_INIT_POINTER(fix->peer.tx, &fix->conn[1]);
	fix->peer.state = IPOIB_PEER_UP;
	KUNIT_EXPECT_FALSE(test, conn_is_activated(fix));
	conn_reset(fix);
	set_bit(IPOIB_CONN_IS_OLD, &fix->conn[0].flags);
	KUNIT_EXPECT_TRUE(test, conn_is_activated(fix));
	/* In the pause after a failure, and behind it */
	conn_reset(fix);
	fix->peer.state = IPOIB_PEER_REFUSED;
	fix->peer.until = jiffies + 10 * HZ;
	fix->peer.unverified = true;
	KUNIT_EXPECT_FALSE(test, conn_is_activated(fix));
	conn_reset(fix);
	fix->peer.state = IPOIB_PEER_REFUSED;
	fix->peer.until = jiffies + 10 * HZ;
	KUNIT_EXPECT_TRUE(test, conn_is_activated(fix));
	conn_reset(fix);
	fix->peer.state = IPOIB_PEER_REFUSED;
	fix->peer.until = jiffies;
	fix->peer.unverified = true;
	KUNIT_EXPECT_TRUE(test, conn_is_activated(fix));
}

/* ---- the work ---- */

/* The work handles events of the first connection. Return: time until its next check */
static unsigned long conn_handle(struct conn_fixture *fix)
{
	return ipoib_conn_handle_events(&fix->conn[0]);
}

/* A watched connection: the peer has not taken the last send. */
static void conn_watch(struct ipoib_conn *conn, unsigned long progress)
{
	static struct ipoib_tx_slot slot;

	conn->ring.slots = &slot;
	conn->ring.head = 1;
	conn->signalled = 1;
	conn->progress = progress;
}

static void conn_checked(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;
	unsigned long wait, now;

	/* The next check is due when a send may be stuck. */
	conn = conn_publish_used(fix, true);
	wait = conn_handle(fix);
	KUNIT_EXPECT_TRUE(test, wait > 2 * HZ && wait <= 3 * HZ);
	conn->progress = jiffies - 4 * HZ;
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 10ul * HZ);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_IS_UNWATCHED, &conn->flags));
	/* Stuck */
	conn_watch(conn, jiffies - 2 * HZ);
	wait = conn_handle(fix);
	KUNIT_EXPECT_TRUE(test, wait && wait <= HZ);
	conn_watch(conn, jiffies - 4 * HZ);
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 0ul);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_EV_FAILED, &conn->flags));
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ERRORS), 1u);
	/* Idle: the active side, the passive side, and a replaced connection */
	conn_reset(fix);
	conn = conn_publish_used(fix, true);
	conn->used = jiffies - 119 * HZ;
	wait = conn_handle(fix);
	KUNIT_EXPECT_TRUE(test, wait && wait <= 2 * HZ);
	conn->used = jiffies - 122 * HZ;
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 0ul);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REAPED), 1u);
	/* Idle to the jiffy: no later check would close it. */
	do {
		conn_reset(fix);
		conn = conn_publish_used(fix, true);
		now = jiffies;
		conn->used = now - 121 * HZ;
		wait = conn_handle(fix);
	} while (now != jiffies);
	KUNIT_EXPECT_EQ(test, wait, 0ul);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	conn_reset(fix);
	conn = conn_publish_used(fix, false);
	conn->used = jiffies - 470 * HZ;
	KUNIT_EXPECT_TRUE(test, conn_handle(fix));
	conn->used = jiffies - 482 * HZ;
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 0ul);
	conn_reset(fix);
	conn = conn_publish_used(fix, false);
	set_bit(IPOIB_CONN_IS_OLD, &conn->flags);
	conn->used = jiffies - 4 * HZ;
	KUNIT_EXPECT_TRUE(test, conn_handle(fix));
	conn->used = jiffies - 7 * HZ;
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 0ul);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REAPED), 1u);
}

/* True if a check at a path record to @lid has an unconfirmed connection sent on */
static bool conn_is_confirmed(struct conn_fixture *fix, u16 lid, bool old)
{
	struct ipoib_conn *conn;

	conn_reset(fix);
	conn = conn_publish(fix, 0, false, IPOIB_CONN_ESTABLISHED);
	conn->confirmed = false;
	if (old)
		set_bit(IPOIB_CONN_IS_OLD, &conn->flags);
	fix->lid = lid;
	conn_handle(fix);
	return rcu_access_pointer(fix->peer.tx) == conn;
}

static void conn_confirmed(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;

	KUNIT_EXPECT_TRUE(test, conn_is_confirmed(fix, CONN_LID, false));
	KUNIT_EXPECT_TRUE(test, fix->conn[0].confirmed);
	KUNIT_EXPECT_FALSE(test, conn_is_confirmed(fix, CONN_LID + 1, false));
	KUNIT_EXPECT_FALSE(test, fix->conn[0].confirmed);
	KUNIT_EXPECT_FALSE(test, conn_is_confirmed(fix, CONN_LID, true));
	KUNIT_EXPECT_TRUE(test, fix->conn[0].confirmed);
}

/**
 * struct conn_silence - peer that sends nothing
 * @transport: of the connection in use
 * @sent: frames were sent on it, the last one now
 * @asked: seconds since the peer may have answered
 * @received: seconds since the last received frame
 * @failures: failures of the peer
 * @silent: the connection is closed
 */
struct conn_silence {
	u8 transport;
	bool sent;
	unsigned int asked;
	unsigned int received;
	unsigned int failures;
	bool silent;
};

static void conn_silent(struct kunit *test)
{
	static const struct conn_silence silences[] = {
		{ IPOIB_LLADDR_UC, true, 31, 40, 0, true },
		{ IPOIB_LLADDR_UC, true, 28, 40, 0, false },
		{ IPOIB_LLADDR_UC, true, 7, 40, 1, true },
		{ IPOIB_LLADDR_UC, true, 4, 40, 1, false },
		{ IPOIB_LLADDR_UC, true, 40, 28, 0, false },
		{ IPOIB_LLADDR_UC, true, 40, 32, 0, true },
		{ IPOIB_LLADDR_UC, true, 31, 1, 0, false },
		{ IPOIB_LLADDR_UC, false, 31, 40, 0, false },
		{ IPOIB_LLADDR_RC, true, 31, 40, 0, false },
	};
	struct conn_fixture *fix = test->priv;
	const struct conn_silence *silence;
	struct ipoib_conn *conn;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(silences); i++) {
		silence = &silences[i];
		conn_reset(fix);
		conn = conn_publish_used(fix, true);
		conn->transport = silence->transport;
		conn->ring.head = silence->sent;
		conn->ring.tail = silence->sent;
		conn->asked_at = jiffies - silence->asked * HZ;
		fix->peer.last_rx = jiffies - silence->received * HZ;
		fix->peer.failures = silence->failures;
		conn_handle(fix);
		KUNIT_EXPECT_EQ(test, conn->state == IPOIB_CONN_CLOSING, silence->silent);
		KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ERRORS), silence->silent ? 1u : 0u);
	}
}

/* Frames from the peer answer those that were sent up to two seconds later. */
static void conn_answered(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;
	unsigned int late;

	for (late = 0; late < 2; late++) {
		conn_reset(fix);
		conn = conn_publish_used(fix, true);
		conn->transport = IPOIB_LLADDR_UC;
		conn->ring.head = 1;
		conn->ring.tail = 1;
		conn->progress = jiffies - 40 * HZ;
		conn->asked_at = jiffies - 35 * HZ;
		fix->peer.last_rx = conn->progress - 2 * HZ - late;
		conn_handle(fix);
		KUNIT_EXPECT_EQ(test, conn->state == IPOIB_CONN_CLOSING, late == 1);
	}
}

/**
 * struct conn_event - event of a connection
 * @flag: the event
 * @active: side of the connection
 * @established: its state
 * @closed: it is closed
 * @refused: requests that count as refused
 * @errors: connections that count as closed after a failure
 */
struct conn_event {
	enum ipoib_conn_flag flag;
	bool active;
	bool established;
	bool closed;
	unsigned int refused;
	unsigned int errors;
};

static void conn_events(struct kunit *test)
{
	static const struct conn_event events[] = {
		{ IPOIB_CONN_EV_LEFT, true, true, true, 0, 0 },
		{ IPOIB_CONN_EV_ENDED, true, true, true, 0, 0 },
		{ IPOIB_CONN_EV_EXPIRED, false, false, true, 0, 0 },
		{ IPOIB_CONN_EV_UNREACHED, true, false, true, 1, 0 },
		{ IPOIB_CONN_EV_UNREACHED, false, false, true, 0, 0 },
		{ IPOIB_CONN_EV_UNREACHED, false, true, false, 0, 0 },
		{ IPOIB_CONN_EV_FAILED, true, true, true, 0, 1 },
		{ IPOIB_CONN_EV_FAILED, false, false, true, 0, 1 },
		{ IPOIB_CONN_EV_PROVEN, true, true, false, 0, 0 },
		{ IPOIB_CONN_EV_LAST_WQE, true, true, false, 0, 0 },
	};
	struct conn_fixture *fix = test->priv;
	const struct conn_event *event;
	struct ipoib_conn *conn;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		event = &events[i];
		conn_reset(fix);
		conn = conn_publish(fix, 0, event->active,
				    event->established ? IPOIB_CONN_ESTABLISHED :
							 IPOIB_CONN_PENDING);
		set_bit(event->flag, &conn->flags);
		KUNIT_EXPECT_EQ(test, conn_handle(fix) != 0, !event->closed);
		KUNIT_EXPECT_EQ(test, conn->state == IPOIB_CONN_CLOSING, event->closed);
		KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REFUSED), event->refused);
		KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ERRORS), event->errors);
	}
}

static void conn_late(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;
	unsigned long wait;

	/* Long frames wait until the time of the peer only. */
	conn = conn_publish(fix, 0, true, IPOIB_CONN_PENDING);
	wait = conn_handle(fix);
	KUNIT_EXPECT_TRUE(test, wait > 5 * HZ && wait <= 6 * HZ);
	fix->peer.state = IPOIB_PEER_CONNECTING;
	fix->peer.until = jiffies + 2 * HZ;
	conn_wait_frame(test, 3000);
	wait = conn_handle(fix);
	KUNIT_EXPECT_TRUE(test, wait > HZ && wait <= 2 * HZ);
	KUNIT_EXPECT_EQ(test, fix->calls.resent, 0u);
	fix->peer.until = jiffies;
	wait = conn_handle(fix);
	KUNIT_EXPECT_TRUE(test, wait > 5 * HZ - HZ / 2 && wait <= 6 * HZ);
	KUNIT_EXPECT_EQ(test, fix->calls.resent, 1u);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_PENDING);
	/* No REP */
	conn->deadline = jiffies;
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 0ul);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REFUSED), 1u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ERRORS), 0u);
	/* No RTU, and no frame; no RTU, and frames */
	conn_reset(fix);
	conn = conn_publish(fix, 0, false, IPOIB_CONN_PENDING);
	conn->deadline = jiffies;
	conn->used = conn->deadline - 6 * HZ;
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 0ul);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REFUSED), 0u);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ERRORS), 1u);
	conn_reset(fix);
	conn = conn_publish(fix, 0, false, IPOIB_CONN_PENDING);
	conn->deadline = jiffies;
	conn->used = conn->deadline - 5 * HZ;
	KUNIT_EXPECT_EQ(test, conn_handle(fix), 0ul);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_ESTABLISHED);
	KUNIT_EXPECT_FALSE(test, conn->duplex);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_ERRORS), 0u);
}

/* Messages of the CM are events for the work. */
static void conn_messages(struct kunit *test)
{
	static const struct {
		enum ib_cm_event_type event;
		bool active;
		unsigned long flags;
	} messages[] = {
		{ IB_CM_REP_RECEIVED, true, BIT(IPOIB_CONN_EV_REPLIED) },
		{ IB_CM_RTU_RECEIVED, false, BIT(IPOIB_CONN_EV_READY) },
		{ IB_CM_REJ_RECEIVED, true, BIT(IPOIB_CONN_EV_REFUSED) },
		{ IB_CM_REQ_ERROR, true, BIT(IPOIB_CONN_EV_UNREACHED) },
		{ IB_CM_REP_ERROR, false, BIT(IPOIB_CONN_EV_UNREACHED) },
		{ IB_CM_DREQ_RECEIVED, true, BIT(IPOIB_CONN_EV_LEFT) },
		{ IB_CM_DREP_RECEIVED, true, BIT(IPOIB_CONN_EV_ENDED) },
		{ IB_CM_DREQ_ERROR, true, BIT(IPOIB_CONN_EV_ENDED) },
		{ IB_CM_TIMEWAIT_EXIT, true, BIT(IPOIB_CONN_EV_EXPIRED) },
		{ IB_CM_SIDR_REQ_RECEIVED, true, 0 },
	};
	struct conn_fixture *fix = test->priv;
	struct ib_cm_event *event = &fix->event;
	struct ipoib_conn *conn;
	bool data, rej, dreq;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		conn_reset(fix);
		conn = conn_publish(fix, 0, messages[i].active, IPOIB_CONN_PENDING);
		conn_make_req(fix);
		fix->id.context = conn;
		event->event = messages[i].event;
		data = event->event == IB_CM_REP_RECEIVED || event->event == IB_CM_RTU_RECEIVED;
		rej = event->event == IB_CM_REJ_RECEIVED;
		dreq = event->event == IB_CM_DREQ_RECEIVED;
		if (rej)
			event->param.rej_rcvd.reason = IB_CM_REJ_STALE_CONN;
		KUNIT_EXPECT_EQ(test, ipoib_conn_event(&fix->id, event), 0);
		KUNIT_EXPECT_EQ(test, conn->flags, messages[i].flags);
		KUNIT_EXPECT_EQ(test, conn_kicks(conn), messages[i].flags ? 1u : 0u);
		KUNIT_EXPECT_EQ(test, conn->theirs.qpn == fix->data.qpn, data);
		KUNIT_EXPECT_EQ(test, (int)conn->reason, rej ? (int)IB_CM_REJ_STALE_CONN : 0);
		KUNIT_EXPECT_EQ(test, fix->calls.dreps, dreq ? 1u : 0u);
	}
}

/* Events of the QP: an open connection fails, a closing one may. */
static void conn_qp_events(struct kunit *test)
{
	static const struct {
		enum ib_event_type event;
		bool fails;
		bool last;
	} events[] = {
		{ IB_EVENT_QP_LAST_WQE_REACHED, true, true },
		{ IB_EVENT_QP_FATAL, true, false },
		{ IB_EVENT_QP_REQ_ERR, true, false },
		{ IB_EVENT_QP_ACCESS_ERR, true, false },
		{ IB_EVENT_COMM_EST, false, false },
	};
	struct conn_fixture *fix = test->priv;
	struct ib_event event = {};
	struct ipoib_conn *conn;
	unsigned int i;
	bool open;

	for (i = 0; i < 2 * ARRAY_SIZE(events); i++) {
		open = i % 2;
		event.event = events[i / 2].event;
		conn_reset(fix);
		conn = conn_publish(fix, 0, true, open ? IPOIB_CONN_PENDING : IPOIB_CONN_CLOSING);
		ipoib_conn_qp_event(&event, conn);
		KUNIT_EXPECT_EQ(test, !!test_bit(IPOIB_CONN_EV_FAILED, &conn->flags),
				open && events[i / 2].fails);
		KUNIT_EXPECT_EQ(test, !!test_bit(IPOIB_CONN_EV_LAST_WQE, &conn->flags),
				events[i / 2].last);
	}
}

/* The work does all that can be done at once, and waits with a reference for the rest. */
static void conn_worked(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;

	/* References: the first, that of the work, another */
	conn = conn_publish(fix, 0, true, IPOIB_CONN_CLOSING);
	kref_get(&conn->ref);
	kref_get(&conn->ref);
	ipoib_conn_work(&conn->work.work);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_DEAD);
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 0u);
	/* A request without an identifier */
	conn_reset(fix);
	conn = conn_publish(fix, 0, true, IPOIB_CONN_PENDING);
	kref_get(&conn->ref);
	kref_get(&conn->ref);
	ipoib_conn_work(&conn->work.work);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_DEAD);
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 1u);
	/* The next check is due when a send may be stuck. */
	conn_reset(fix);
	conn = conn_publish_used(fix, true);
	kref_get(&conn->ref);
	conn_delay = 0;
	ipoib_conn_work(&conn->work.work);
	KUNIT_EXPECT_TRUE(test, conn_delay > 2 * HZ && conn_delay <= 3 * HZ);
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 1u);
	conn_pending = true;
	ipoib_conn_work(&conn->work.work);
	conn_pending = false;
	KUNIT_EXPECT_EQ(test, conn_kicks(conn), 0u);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_ESTABLISHED);
}

/* ---- teardown ---- */

/**
 * struct conn_close - closed connection
 * @active: its side
 * @dreq_err: result of the CM for a DREQ
 * @flags: its flags
 * @reason: of a REJ of the peer
 * @stays: its QP stays until the end of timewait
 * @rej: reason of a REJ to the peer, 0 without one
 */
struct conn_close {
	bool active;
	int dreq_err;
	unsigned long flags;
	enum ib_cm_rej_reason reason;
	bool stays;
	enum ib_cm_rej_reason rej;
};

#define CONN_RUN	BIT(IPOIB_CONN_IS_RUN)
#define CONN_REPLIED	BIT(IPOIB_CONN_EV_REPLIED)

static void conn_closing(struct kunit *test)
{
	static const struct conn_close closes[] = {
		{ true, 0, CONN_RUN, 0, true, 0 },
		{ false, 0, CONN_RUN, 0, true, 0 },
		{ true, 0, 0, 0, false, 0 },
		{ true, -EINVAL, CONN_RUN, 0, true, 0 },
		{ false, -ENOMEM, CONN_RUN, 0, true, 0 },
		{ false, -EINVAL, CONN_RUN, 0, false, 0 },
		{ false, -EINVAL, CONN_RUN, IB_CM_REJ_STALE_CONN, true, 0 },
		{ false, -EINVAL, CONN_RUN | CONN_LEFT, 0, true, 0 },
		{ true, -EINVAL, CONN_REPLIED, 0, false, IB_CM_REJ_CONSUMER_DEFINED },
		{ true, 0, CONN_REPLIED, 0, false, 0 },
		{ true, -EINVAL, 0, 0, false, 0 },
		{ false, -EINVAL, 0, 0, false, IB_CM_REJ_NO_RESOURCES },
	};
	struct conn_fixture *fix = test->priv;
	const struct conn_close *close;
	struct ipoib_conn *conn;
	unsigned long before;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(closes); i++) {
		close = &closes[i];
		conn_reset(fix);
		conn = conn_publish(fix, 0, close->active, IPOIB_CONN_CLOSING);
		conn->flags = close->flags;
		conn->reason = close->reason;
		conn->id = &fix->id;
		conn->qp = &fix->qp;
		fix->dreq_err = close->dreq_err;
		before = jiffies;
		ipoib_conn_step_closing(conn);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_DRAINING);
		KUNIT_EXPECT_TRUE(test, conn_is_in(conn->deadline, before,
						   close->stays ? 2 * HZ : 0));
		KUNIT_EXPECT_EQ(test, fix->calls.rejs, close->rej ? 1u : 0u);
		KUNIT_EXPECT_EQ(test, (int)fix->calls.reason, (int)close->rej);
		KUNIT_EXPECT_EQ(test, fix->nattr, 1u);
		KUNIT_EXPECT_EQ(test, (int)fix->attr[0].qp_state, (int)IB_QPS_ERR);
		KUNIT_EXPECT_EQ(test, fix->mask[0], (int)IB_QP_STATE);
		KUNIT_EXPECT_EQ(test, fix->calls.last, 1u);
	}
	/* Closed before it had a QP and an identifier */
	conn_reset(fix);
	conn = conn_publish(fix, 0, true, IPOIB_CONN_CLOSING);
	ipoib_conn_step_closing(conn);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_DRAINING);
	KUNIT_EXPECT_EQ(test, fix->calls.rejs, 0u);
	KUNIT_EXPECT_EQ(test, fix->calls.last, 0u);
}

/**
 * struct conn_drain - connection whose QP is stopped
 * @returned: its receives have come back
 * @sends: sends that have not completed
 * @signalled: of these, the one that is signalled, from 1; 0 without one
 * @flags: flags of the connection
 * @dead: the HCA has failed
 * @failed: the SRQ has failed
 * @left: seconds left, rounded up, of 31
 */
struct conn_drain {
	bool returned;
	unsigned int sends;
	unsigned int signalled;
	unsigned long flags;
	bool dead;
	bool failed;
	unsigned int left;
};

#define CONN_ABORT	BIT(IPOIB_CONN_EV_ABORT)

static void conn_drained(struct kunit *test)
{
	static const struct conn_drain drains[] = {
		{ true, 0, 0, 0, false, false, 0 },
		{ true, 2, 2, 0, false, false, 31 },
		{ true, 2, 0, 0, false, false, 1 },
		{ true, 2, 2, CONN_ABORT, false, false, 1 },
		{ true, 2, 2, 0, false, true, 1 },
		{ true, 2, 2, 0, true, false, 0 },
		{ false, 0, 0, 0, false, false, 31 },
		{ false, 2, 0, 0, false, false, 31 },
		{ false, 0, 0, CONN_ABORT, false, false, 1 },
		{ false, 0, 0, 0, true, false, 0 },
		{ false, 0, 0, 0, false, true, 0 },
		{ false, 2, 2, 0, false, true, 1 },
	};
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];
	const struct conn_drain *drain;
	struct ipoib_cm_bufs own = {};
	unsigned long left;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drains); i++) {
		drain = &drains[i];
		conn_reset(fix);
		fix->returned = drain->returned;
		fix->cm.srq_failed = drain->failed;
		if (drain->dead)
			set_bit(IPOIB_FLAG_DEAD, &fix->priv.flags);
		conn->qp = &fix->qp;
		conn->flags = drain->flags;
		conn->ring.head = drain->sends;
		conn->signalled = drain->signalled;
		conn->deadline = jiffies + 31 * HZ;
		left = ipoib_conn_drain_left(conn);
		KUNIT_EXPECT_EQ(test, (left + HZ - 1) / HZ, (unsigned long)drain->left);
		KUNIT_EXPECT_EQ(test, fix->calls.lost, 0u);
	}
	/* Own receives come back though the SRQ has failed. */
	conn_reset(fix);
	conn->qp = &fix->qp;
	conn->bufs = &own;
	fix->cm.srq_failed = true;
	conn->deadline = jiffies + 31 * HZ;
	KUNIT_EXPECT_TRUE(test, ipoib_conn_drain_left(conn));
	/* Too late: the receives are lost, or only sends */
	conn_reset(fix);
	conn->qp = &fix->qp;
	conn->deadline = jiffies;
	KUNIT_EXPECT_EQ(test, ipoib_conn_drain_left(conn), 0ul);
	KUNIT_EXPECT_EQ(test, fix->calls.lost, 1u);
	fix->returned = true;
	conn->ring.head = 1;
	conn->signalled = 1;
	KUNIT_EXPECT_EQ(test, ipoib_conn_drain_left(conn), 0ul);
	KUNIT_EXPECT_EQ(test, fix->calls.lost, 1u);
}

/* Until the CM has left timewait */
static void conn_timewait(struct kunit *test)
{
	static const unsigned long ends[] = { BIT(IPOIB_CONN_EV_EXPIRED), CONN_ABORT, 0 };
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;
	unsigned long left;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		conn_reset(fix);
		conn = conn_publish(fix, 0, true, IPOIB_CONN_DRAINING);
		conn->id = &fix->id;
		conn->deadline = jiffies + 2 * HZ;
		left = ipoib_conn_step_draining(conn);
		KUNIT_EXPECT_TRUE(test, left > HZ && left <= 2 * HZ);
		KUNIT_EXPECT_EQ(test, fix->calls.destroyed, 0u);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_DRAINING);
		if (ends[i])
			conn->flags = ends[i];
		else
			conn->deadline = jiffies;
		/* The first reference is not the last one. */
		kref_get(&conn->ref);
		KUNIT_EXPECT_EQ(test, ipoib_conn_step_draining(conn), 0ul);
		KUNIT_EXPECT_EQ(test, fix->calls.destroyed, 1u);
		KUNIT_EXPECT_PTR_EQ(test, conn->id, NULL);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_DEAD);
		KUNIT_EXPECT_EQ(test, conn_kicks(conn), 0u);
	}
}

/* A QP that has not returned everything is destroyed with both handlers disabled. */
static void conn_destroyed(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_cm *cm = &fix->cm;
	struct ipoib_conn *conn;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		conn_reset(fix);
		conn = conn_publish(fix, 0, true, IPOIB_CONN_DRAINING);
		conn->qp = &fix->qp;
		conn->rxq = &cm->rxq[1];
		conn->tx_cq = &cm->tx_cq[1];
		cm->rxq[1].conns = 5;
		cm->tx_cq[1].conns = 6;
		conn->deadline = jiffies;
		/* A send that was not signalled, or a receive */
		conn->ring.head = i == 1;
		fix->returned = i != 2;
		kref_get(&conn->ref);
		KUNIT_EXPECT_EQ(test, ipoib_conn_step_draining(conn), 0ul);
		ipoib_expect_calls(test, fix->calls.log, i ? "FDdfXnNsS" : "FX");
		KUNIT_EXPECT_PTR_EQ(test, conn->qp, NULL);
		KUNIT_EXPECT_EQ(test, cm->rxq[1].conns, 4u);
		KUNIT_EXPECT_EQ(test, cm->tx_cq[1].conns, 5u);
		KUNIT_EXPECT_EQ(test, fix->calls.lost, i == 2 ? 1u : 0u);
		KUNIT_EXPECT_FALSE(test, mutex_is_locked(&cm->mutex));
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_DEAD);
	}
}

/* Only closing connections get IPOIB_CONN_EV_ABORT. */
static void conn_aborted(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *closing, *open;

	closing = conn_publish(fix, 0, true, IPOIB_CONN_CLOSING);
	open = conn_publish(fix, 1, true, IPOIB_CONN_ESTABLISHED);
	ipoib_cm_abort(&fix->cm);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_EV_ABORT, &closing->flags));
	KUNIT_EXPECT_EQ(test, conn_kicks(closing), 1u);
	KUNIT_EXPECT_EQ(test, open->flags, 0ul);
	ipoib_cm_abort(&fix->cm);
	KUNIT_EXPECT_EQ(test, conn_kicks(closing), 1u);
	/* Without its GID the CM sends nothing on any of them. */
	ipoib_cm_gid_lost(&fix->priv);
	KUNIT_EXPECT_EQ(test, (int)open->state, (int)IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CONN_EV_ABORT, &open->flags));
	KUNIT_EXPECT_EQ(test, conn_kicks(open), 2u);
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&fix->cm.lock));
}

/* The works of connections wait for an HCA that works, and not for one that has failed. */
static void conn_stopped(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;
	unsigned int dead;

	for (dead = 0; dead < 2; dead++) {
		conn_reset(fix);
		conn = conn_publish(fix, 0, true, IPOIB_CONN_ESTABLISHED);
		fix->cm.up = true;
		fix->cm.listen[0] = &fix->id;
		fix->cm.listen[1] = &fix->id;
		if (dead)
			set_bit(IPOIB_FLAG_DEAD, &fix->priv.flags);
		ipoib_cm_stop(&fix->priv);
		KUNIT_EXPECT_FALSE(test, fix->cm.up);
		KUNIT_EXPECT_EQ(test, fix->calls.destroyed, 2u);
		KUNIT_EXPECT_TRUE(test, !fix->cm.listen[0] && !fix->cm.listen[1]);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)IPOIB_CONN_CLOSING);
		KUNIT_EXPECT_EQ(test, conn->flags, dead ? CONN_ABORT : 0ul);
	}
}

/* End of the last connection, which a caller waits for */
static void conn_end(struct work_struct *work)
{
	struct conn_fixture *fix = container_of(to_delayed_work(work), struct conn_fixture, end);
	struct ipoib_conn *conn = fix->last;

	fix->aborted = test_bit(IPOIB_CONN_EV_ABORT, &conn->flags);
	spin_lock_bh(&fix->cm.lock);
	ipoib_conn_set_state(conn, IPOIB_CONN_DEAD);
	spin_unlock_bh(&fix->cm.lock);
	ipoib_conn_release(&conn->ref);
}

static void conn_awaited(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn = ipoib_conn_alloc(&fix->cm, GFP_KERNEL);

	KUNIT_EXPECT_TRUE(test, conn);
	if (!conn)
		return;
	spin_lock_bh(&fix->cm.lock);
	ipoib_conn_publish(conn, &fix->peer);
	__ipoib_conn_close(conn);
	ipoib_conn_set_state(conn, IPOIB_CONN_DRAINING);
	spin_unlock_bh(&fix->cm.lock);
	fix->last = conn;
	INIT_DELAYED_WORK(&fix->end, conn_end);
	schedule_delayed_work(&fix->end, HZ / 20);
	ipoib_cm_abort_wait(&fix->priv);
	KUNIT_EXPECT_EQ(test, READ_ONCE(fix->cm.nconns), 0u);
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&fix->cm.lock));
	flush_delayed_work(&fix->end);
	KUNIT_EXPECT_TRUE(test, fix->aborted);
	KUNIT_EXPECT_EQ(test, fix->peer.users, 1u);
}

/* Connected mode of an interface, from its creation to its end */
static void conn_made(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	struct ipoib_cm *cm;

	KUNIT_EXPECT_EQ(test, ipoib_cm_init(priv), 0);
	cm = priv->cm;
	KUNIT_EXPECT_PTR_NE(test, cm, &fix->cm);
	if (cm == &fix->cm)
		return;
	ipoib_expect_calls(test, fix->calls.log, "ia");
	KUNIT_EXPECT_PTR_EQ(test, cm->priv, priv);
	KUNIT_EXPECT_EQ(test, (int)ipoib_cm_flags(priv), IPOIB_LLADDR_RC);
	KUNIT_EXPECT_EQ(test, cm->srq_size, 77u);
	KUNIT_EXPECT_TRUE(test, list_empty(&cm->conns) && list_empty(&cm->closing));
	KUNIT_EXPECT_TRUE(test, cm->wq && !cm->up && !cm->nconns);
	ipoib_cm_exit(priv);
	ipoib_expect_calls(test, fix->calls.log, "rwlxQ");
	KUNIT_EXPECT_PTR_EQ(test, priv->cm, NULL);
	priv->cm = &fix->cm;
}

/* ---- frames ---- */

/* Send a frame by ipoib_cm_xmit(), and free it unless it was taken. Return: as ipoib_cm_xmit() */
static unsigned int conn_sent(struct kunit *test, unsigned int len, u8 flags, u16 proto)
{
	struct conn_fixture *fix = test->priv;
	struct sk_buff *skb = conn_frame(test, len, flags);
	unsigned int most;

	if (!skb)
		return 1;
	((struct ipoib_header *)skb->data)->encap.proto = htons(proto);
	local_bh_disable();
	rcu_read_lock();
	most = ipoib_cm_xmit(&fix->priv, &fix->neigh, skb);
	rcu_read_unlock();
	local_bh_enable();
	if (most)
		kfree_skb(skb);
	return most;
}

static void conn_xmit(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn;
	struct ipoib_peer *peer;

	/* Neither a transport in common nor IP, and no connection for them */
	KUNIT_EXPECT_EQ(test, conn_sent(test, 100, 0, ETH_P_IP), 2044u);
	KUNIT_EXPECT_EQ(test, conn_sent(test, 100, IPOIB_LLADDR_UC, ETH_P_IP), 2044u);
	KUNIT_EXPECT_EQ(test, conn_sent(test, 100, IPOIB_LLADDR_RC, ETH_P_ARP), 2044u);
	fix->cm.up = false;
	KUNIT_EXPECT_EQ(test, conn_sent(test, 100, IPOIB_LLADDR_RC, ETH_P_IP),
			IPOIB_CM_TRANSIENT);
	fix->cm.up = true;
	KUNIT_EXPECT_EQ(test, fix->cm.npeers, 0u);
	/* The first frame requests a connection, and goes by UD. Long ones wait for a time. */
	KUNIT_EXPECT_EQ(test, conn_sent(test, 100, IPOIB_LLADDR_RC, ETH_P_IP),
			IPOIB_CM_TRANSIENT);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 1u);
	KUNIT_EXPECT_FALSE(test, hlist_empty(&fix->neigh.peers));
	if (hlist_empty(&fix->neigh.peers))
		return;
	peer = hlist_entry(fix->neigh.peers.first, struct ipoib_peer, neigh_list);
	KUNIT_EXPECT_EQ(test, (int)peer->state, (int)IPOIB_PEER_CONNECTING);
	KUNIT_EXPECT_EQ(test, peer->users, 2u);
	KUNIT_EXPECT_EQ(test, conn_sent(test, 3000, IPOIB_LLADDR_RC, ETH_P_IP), 0u);
	KUNIT_EXPECT_EQ(test, fix->calls.parked, 1u);
	peer->until = jiffies;
	KUNIT_EXPECT_EQ(test, conn_sent(test, 3000, IPOIB_LLADDR_RC, ETH_P_IP),
			IPOIB_CM_TRANSIENT);
	peer->passing_until = jiffies;
	KUNIT_EXPECT_EQ(test, conn_sent(test, 3000, IPOIB_LLADDR_RC, ETH_P_IP), 2044u);
	KUNIT_EXPECT_EQ(test, fix->calls.parked, 1u);
	KUNIT_EXPECT_EQ(test, peer->users, 2u);
	/* On a connection: the longer of both MTUs is the one to report. */
	conn = list_first_entry(&peer->conns, struct ipoib_conn, peer_list);
	conn->mtu = 4000;
	peer->state = IPOIB_PEER_UP;
	RCU_INIT_POINTER(peer->tx, conn);
	KUNIT_EXPECT_EQ(test, conn_sent(test, 3000, IPOIB_LLADDR_RC, ETH_P_IP), 0u);
	KUNIT_EXPECT_EQ(test, fix->calls.sent, 1u);
	KUNIT_EXPECT_EQ(test, conn_sent(test, 5000, IPOIB_LLADDR_RC, ETH_P_IP), 4000u);
	conn->mtu = 1000;
	KUNIT_EXPECT_EQ(test, conn_sent(test, 3000, IPOIB_LLADDR_RC, ETH_P_IP), 2044u);
	/* In a pause nothing is requested. */
	RCU_INIT_POINTER(peer->tx, NULL);
	peer->state = IPOIB_PEER_REFUSED;
	peer->until = jiffies + 10 * HZ;
	KUNIT_EXPECT_EQ(test, conn_sent(test, 3000, IPOIB_LLADDR_RC, ETH_P_IP), 2044u);
	peer->passing_until = jiffies + 2 * HZ;
	KUNIT_EXPECT_EQ(test, conn_sent(test, 3000, IPOIB_LLADDR_RC, ETH_P_IP),
			IPOIB_CM_TRANSIENT);
	KUNIT_EXPECT_EQ(test, (int)peer->state, (int)IPOIB_PEER_REFUSED);
	KUNIT_EXPECT_EQ(test, fix->cm.nconns, 1u);
}

/* ---- QP ---- */

/* See IPOIB_RC_RETRY: whatever the peer asks for */
static void conn_times(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	const struct ib_qp_attr *rtr = &fix->attr[0];
	const struct ib_qp_attr *rts = &fix->attr[1];

	fix->conn[0].qp = &fix->qp;
	fix->conn[0].psn = 0x123456;
	KUNIT_EXPECT_EQ(test, ipoib_conn_qp_run(&fix->conn[0]), 0);
	KUNIT_EXPECT_EQ(test, fix->nattr, 2u);
	KUNIT_EXPECT_EQ(test, (int)rtr->qp_state, (int)IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, (int)rts->qp_state, (int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, rtr->rq_psn, 0x123456u);
	KUNIT_EXPECT_EQ(test, (unsigned int)rtr->min_rnr_timer, 14u);
	KUNIT_EXPECT_EQ(test, (unsigned int)rtr->max_dest_rd_atomic, 0u);
	KUNIT_EXPECT_EQ(test, fix->mask[0] & IB_QP_ALT_PATH, 0);
	KUNIT_EXPECT_EQ(test, (unsigned int)rts->timeout, 14u);
	KUNIT_EXPECT_EQ(test, (unsigned int)rts->retry_cnt, 7u);
	KUNIT_EXPECT_EQ(test, (unsigned int)rts->rnr_retry, 7u);
	KUNIT_EXPECT_EQ(test, (unsigned int)rts->max_rd_atomic, 0u);
	KUNIT_EXPECT_EQ(test, fix->mask[1] & IB_QP_PATH_MIG_STATE, 0);
}

/* REQ and REP, from an interface with a Receive MTU of 4096 */
static void conn_messages_sent(struct kunit *test)
{
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];
	const struct ib_cm_req_param *req = &fix->req;
	const struct ib_cm_rep_param *rep = &fix->rep;
	struct sa_path_rec rec = { .packet_life_time = 18 };
	unsigned int i;

	fix->qp.qp_num = 0x321;
	conn->qp = &fix->qp;
	conn->psn = 0x123456;
	for (i = 0; i < 2; i++) {
		conn->duplex = i;
		fix->cm.rx.bufs.srq = i ? (void *)fix : NULL;
		conn->deadline = jiffies;
		KUNIT_EXPECT_EQ(test, ipoib_conn_ask(conn, &rec), 0);
		KUNIT_EXPECT_TRUE(test, conn_is_in(conn->deadline, jiffies - HZ, 6 * HZ));
		KUNIT_EXPECT_EQ(test, be64_to_cpu(req->service_id),
				(i ? 0x0100000000000000ull : 0x1000000000000000ull) | CONN_QPN);
		KUNIT_EXPECT_EQ(test, req->qp_num, 0x321u);
		KUNIT_EXPECT_EQ(test, (int)req->qp_type, (int)IB_QPT_RC);
		KUNIT_EXPECT_EQ(test, req->starting_psn, 0x123456u);
		KUNIT_EXPECT_EQ(test, (unsigned int)req->private_data_len, 8u);
		KUNIT_EXPECT_EQ(test, (unsigned int)req->remote_cm_response_timeout, 17u);
		KUNIT_EXPECT_EQ(test, (unsigned int)req->local_cm_response_timeout, 17u);
		KUNIT_EXPECT_EQ(test, (unsigned int)req->max_cm_retries, 7u);
		KUNIT_EXPECT_EQ(test, (unsigned int)req->retry_count, 7u);
		KUNIT_EXPECT_EQ(test, (unsigned int)req->rnr_retry_count, 7u);
		KUNIT_EXPECT_EQ(test, (unsigned int)req->srq, i);
		KUNIT_EXPECT_EQ(test, (unsigned int)fix->path.packet_life_time, 13u);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(fix->data.qpn), (u32)CONN_OWN_QPN);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(fix->data.mtu), 4096u);
		memset(&fix->data, 0, sizeof(fix->data));
		conn->deadline = jiffies;
		conn->failover = 1 + i;
		KUNIT_EXPECT_EQ(test, ipoib_conn_send_rep(conn), 0);
		KUNIT_EXPECT_TRUE(test, conn_is_in(conn->deadline, jiffies - HZ, 6 * HZ));
		KUNIT_EXPECT_EQ(test, rep->qp_num, 0x321u);
		KUNIT_EXPECT_EQ(test, rep->starting_psn, 0x123456u);
		KUNIT_EXPECT_EQ(test, (unsigned int)rep->private_data_len, 8u);
		KUNIT_EXPECT_EQ(test, (unsigned int)rep->failover_accepted, 1 + i);
		KUNIT_EXPECT_EQ(test, (unsigned int)rep->rnr_retry_count, 7u);
		KUNIT_EXPECT_EQ(test, (unsigned int)rep->srq, i);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(fix->data.qpn), (u32)CONN_OWN_QPN);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(fix->data.mtu), 4096u);
		fix->nattr = 0;
	}
	fix->cm.rx.bufs.srq = NULL;
	/* A path that is faster than the bound stays so, and another transport is named. */
	rec.packet_life_time = 12;
	conn->transport = IPOIB_LLADDR_UC;
	KUNIT_EXPECT_EQ(test, ipoib_conn_ask(conn, &rec), 0);
	KUNIT_EXPECT_EQ(test, (unsigned int)fix->path.packet_life_time, 12u);
	KUNIT_EXPECT_EQ(test, (int)req->qp_type, (int)IB_QPT_UC);
	KUNIT_EXPECT_EQ(test, conn_stat(fix, IPOIB_CM_REQUESTS), 3u);
}

/* Attributes of the QP of a connection, which sends or not, with an SRQ or without */
static void conn_qp(struct kunit *test)
{
	static struct ipoib_tx_slot slot;
	struct conn_fixture *fix = test->priv;
	struct ipoib_conn *conn = &fix->conn[0];
	struct ib_qp_init_attr *init = &fix->init;
	struct ipoib_cm *cm = &fix->cm;
	struct ib_srq *srq = (void *)fix;

	fix->priv.pkey_index = 3;
	fix->priv.port = 2;
	conn->tx_cq = &cm->tx_cq[1];
	conn->tx_cq->cq = &fix->cq[0];
	conn->rxq = &cm->rxq[1];
	conn->rxq->cq = &fix->cq[1];
	conn->ring.slots = &slot;
	conn->ring.max_sge = 5;
	cm->rx.npages = 7;
	KUNIT_EXPECT_EQ(test, ipoib_conn_create_qp(conn), 0);
	KUNIT_EXPECT_PTR_EQ(test, conn->qp, &fix->qp);
	KUNIT_EXPECT_TRUE(test, init->event_handler == ipoib_conn_qp_event);
	KUNIT_EXPECT_PTR_EQ(test, init->qp_context, conn);
	KUNIT_EXPECT_PTR_EQ(test, init->send_cq, &fix->cq[0]);
	KUNIT_EXPECT_PTR_EQ(test, init->recv_cq, &fix->cq[1]);
	KUNIT_EXPECT_PTR_EQ(test, init->srq, NULL);
	KUNIT_EXPECT_EQ(test, init->cap.max_send_wr, 32u);
	KUNIT_EXPECT_EQ(test, init->cap.max_send_sge, 5u);
	KUNIT_EXPECT_EQ(test, init->cap.max_recv_wr, 16u);
	KUNIT_EXPECT_EQ(test, init->cap.max_recv_sge, 7u);
	KUNIT_EXPECT_TRUE(test, init->sq_sig_type == IB_SIGNAL_REQ_WR);
	KUNIT_EXPECT_TRUE(test, init->qp_type == IB_QPT_RC);
	KUNIT_EXPECT_EQ(test, fix->nattr, 1u);
	KUNIT_EXPECT_EQ(test, (int)fix->attr[0].qp_state, (int)IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, (int)fix->attr[0].pkey_index, 3);
	KUNIT_EXPECT_EQ(test, (int)fix->attr[0].port_num, 2);
	KUNIT_EXPECT_EQ(test, (int)fix->attr[0].qp_access_flags, 0);
	KUNIT_EXPECT_EQ(test, fix->mask[0], (int)(IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
						  IB_QP_ACCESS_FLAGS));
	conn->transport = IPOIB_LLADDR_UC;
	conn->ring.slots = NULL;
	cm->rx.bufs.srq = srq;
	KUNIT_EXPECT_EQ(test, ipoib_conn_create_qp(conn), 0);
	KUNIT_EXPECT_PTR_EQ(test, init->srq, srq);
	KUNIT_EXPECT_EQ(test, init->cap.max_send_wr, 1u);
	KUNIT_EXPECT_EQ(test, init->cap.max_send_sge, 1u);
	KUNIT_EXPECT_EQ(test, init->cap.max_recv_wr + init->cap.max_recv_sge, 0u);
	KUNIT_EXPECT_TRUE(test, init->qp_type == IB_QPT_UC);
	cm->rx.bufs.srq = NULL;
	conn->qp = NULL;
	fix->qp_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, ipoib_conn_create_qp(conn), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, conn->qp, NULL);
}

/* A QP that is created, and nothing else, shows whether the HCA has UC. */
static void conn_uc(struct kunit *test)
{
	static const struct {
		int cq_err, qp_err;
		bool has;
		const char *calls;
	} rows[] = {
		{ 0, 0, true, "Xq" },
		{ 0, -EOPNOTSUPP, false, "q" },
		/* No memory, for the moment */
		{ 0, -ENOMEM, true, "q" },
		{ -ENOMEM, 0, true, "" },
		{ -EINVAL, 0, false, "" },
	};
	struct conn_fixture *fix = test->priv;
	const struct ib_qp_init_attr *init = &fix->init;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->cq_err = rows[i].cq_err;
		fix->qp_err = rows[i].qp_err;
		KUNIT_EXPECT_EQ(test, ipoib_cm_has_uc(&fix->priv), rows[i].has);
		ipoib_expect_calls(test, fix->calls.log, rows[i].calls);
	}
	/* A send and a receive */
	KUNIT_EXPECT_EQ(test, fix->cqe, 2u);
	KUNIT_EXPECT_PTR_EQ(test, init->send_cq, &fix->cq[0]);
	KUNIT_EXPECT_PTR_EQ(test, init->recv_cq, &fix->cq[0]);
	KUNIT_EXPECT_TRUE(test, init->qp_type == IB_QPT_UC);
	KUNIT_EXPECT_EQ(test, init->cap.max_send_wr, 1u);
	KUNIT_EXPECT_EQ(test, init->cap.max_recv_wr, 1u);
	KUNIT_EXPECT_EQ(test, init->cap.max_send_sge, 1u);
	KUNIT_EXPECT_EQ(test, init->cap.max_recv_sge, 1u);
}

static struct kunit_case ipoib_conn_cases[] = {
	KUNIT_CASE(conn_port),
	KUNIT_CASE(conn_proof),
	KUNIT_CASE(conn_pauses),
	KUNIT_CASE(conn_idle),
	KUNIT_CASE(conn_times),
	KUNIT_CASE(conn_qp),
	KUNIT_CASE(conn_uc),
	KUNIT_CASE(conn_best),
	KUNIT_CASE(conn_select),
	KUNIT_CASE(conn_waiting),
	KUNIT_CASE(conn_lost),
	KUNIT_CASE(conn_replaced),
	KUNIT_CASE(conn_alloc),
	KUNIT_CASE(conn_counted),
	KUNIT_CASE(conn_flush),
	KUNIT_CASE(conn_path),
	KUNIT_CASE(conn_forgotten),
	KUNIT_CASE(conn_connect),
	KUNIT_CASE(conn_no_request),
	KUNIT_CASE(conn_no_room),
	KUNIT_CASE(conn_rejected),
	KUNIT_CASE(conn_rejected_late),
	KUNIT_CASE(conn_replied),
	KUNIT_CASE(conn_granted),
	KUNIT_CASE(conn_crossing),
	KUNIT_CASE(conn_messages_sent),
	KUNIT_CASE(conn_parsed),
	KUNIT_CASE(conn_listened),
	KUNIT_CASE(conn_accepted),
	KUNIT_CASE(conn_activated),
	KUNIT_CASE(conn_checked),
	KUNIT_CASE(conn_confirmed),
	KUNIT_CASE(conn_silent),
	KUNIT_CASE(conn_answered),
	KUNIT_CASE(conn_events),
	KUNIT_CASE(conn_late),
	KUNIT_CASE(conn_messages),
	KUNIT_CASE(conn_qp_events),
	KUNIT_CASE(conn_worked),
	KUNIT_CASE(conn_closing),
	KUNIT_CASE(conn_drained),
	KUNIT_CASE(conn_timewait),
	KUNIT_CASE(conn_destroyed),
	KUNIT_CASE(conn_aborted),
	KUNIT_CASE(conn_stopped),
	KUNIT_CASE(conn_awaited),
	KUNIT_CASE(conn_made),
	KUNIT_CASE(conn_xmit),
	{}
};

struct kunit_suite ipoib_conn_suite = {
	.name = "ipoib_conn",
	.init = conn_init,
	.exit = conn_exit,
	.test_cases = ipoib_conn_cases,
};
