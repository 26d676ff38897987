// SPDX-License-Identifier: GPL-2.0
/* Tests of connections: port and failures of a peer, idle peers, attributes of a QP */
#include <linux/slab.h>

#include "ipoib_suites.h"

/* The SA, the CM and the HCA */
#define ipoib_neigh_record	conn_neigh_record
#define ib_cm_init_qp_attr	conn_init_qp_attr
#define ib_send_cm_drep		conn_send_drep
#define ib_send_cm_rej		conn_send_rej
#define ib_modify_qp		conn_modify_qp

static int conn_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask);

#include "cm/peer.c"
#include "cm/qp.c"

/* Peers of a neighbour: two with a connection, two more than may be idle */
#define CONN_PEERS	20
#define CONN_BUSY	2

/**
 * struct conn_fixture - fixture of a case
 * @cm: connected mode of @priv
 * @priv: an interface
 * @neigh: a neighbour
 * @peer: a peer that is in no list
 * @conn: connections, of @peer
 * @lid: LID of the path record of a peer, 0 without a record
 * @qp: QP of the first connection
 * @attr: attributes given to @qp, by ib_modify_qp()
 * @mask: their masks
 * @nattr: number of them
 */
struct conn_fixture {
	struct ipoib_cm cm;
	struct ipoib_dev priv;
	struct ipoib_neigh neigh;
	struct ipoib_peer peer;
	struct ipoib_conn conn[CONN_BUSY];
	u16 lid;
	struct ib_qp qp;
	struct ib_qp_attr attr[2];
	int mask[2];
	unsigned int nattr;
};

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
	*mask = IB_QP_STATE | IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE;
	return 0;
}

int ib_send_cm_drep(struct ib_cm_id *id, const void *data, u8 len)
{
	return 0;
}

int ib_send_cm_rej(struct ib_cm_id *id, enum ib_cm_rej_reason reason, void *info, u8 info_len,
		   const void *data, u8 len)
{
	return 0;
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

static int conn_init(struct kunit *test)
{
	struct conn_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	fix->cm.priv = &fix->priv;
	spin_lock_init(&fix->cm.lock);
	spin_lock_init(&fix->priv.neigh.lock);
	INIT_LIST_HEAD(&fix->priv.neigh.list);
	list_add(&fix->neigh.list, &fix->priv.neigh.list);
	for (i = 0; i < CONN_BUSY; i++) {
		fix->conn[i].cm = &fix->cm;
		fix->conn[i].peer = &fix->peer;
	}
	test->priv = fix;
	return 0;
}

static void conn_exit(struct kunit *test)
{
	kvfree(test->priv);
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

static struct kunit_case ipoib_conn_cases[] = {
	KUNIT_CASE(conn_port),
	KUNIT_CASE(conn_proof),
	KUNIT_CASE(conn_idle),
	KUNIT_CASE(conn_times),
	{}
};

struct kunit_suite ipoib_conn_suite = {
	.name = "ipoib_conn",
	.init = conn_init,
	.exit = conn_exit,
	.test_cases = ipoib_conn_cases,
};
