// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the queues of datagram mode: sizes and flags of their QPs, changes of state and their
 * failures, Q_Key, number of queues, attachments, moderation
 */
#include <linux/etherdevice.h>
#include <linux/iopoll.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Functions and parameters of the driver, which other suites define, too */
#define ipoib_sendq_size	qp_sendq_size
#define ipoib_recvq_size	qp_recvq_size
#define ipoib_ud_rx_init	qp_rx_init
#define ipoib_ud_rx_exit	qp_rx_exit
#define ipoib_ud_rx_start	qp_rx_start
#define ipoib_ud_rx_drain	qp_rx_drain
#define ipoib_ud_rx_stop	qp_rx_stop
#define ipoib_moder_update	qp_moder_update
#define ipoib_ah_free_all	qp_ah_free_all

#include "ipoib.h"

/* The HCA, NAPI, works and the stack */
#undef ib_alloc_pd
#undef ib_create_cq
#undef ipoib_queue_set_napi
#define ib_alloc_pd(ca, flags)				qp_alloc_pd(ca)
#define ib_dealloc_pd(pd)				qp_dealloc_pd(pd)
#define ib_create_cq(ca, handler, event, context, attr)	qp_create_cq(ca, handler, attr)
#define ib_destroy_cq(cq)				qp_destroy_cq(cq)
#define ib_create_qp					qp_create_qp
#define ib_destroy_qp					qp_destroy_qp
#define ib_modify_qp					qp_modify_qp
#define ib_query_qp					qp_query_qp
#define ib_attach_mcast					qp_attach_mcast
#define ib_detach_mcast					qp_detach_mcast
#define netif_napi_add(ndev, napi, poll)		((napi)->dev = (ndev))
#define netif_napi_del(napi)				((void)(napi))
#define napi_enable(napi)				qp_napi(napi, 'n')
#define napi_disable(napi)				qp_napi(napi, 'd')
#define ipoib_queue_set_napi(dev, n, dir, napi)		((void)(dev))
#define ipoib_ctl_post(priv, event)			set_bit(event, &(priv)->ctl.events)
#define queue_delayed_work(wq, work, delay)		qp_reap(work)
#define cancel_delayed_work_sync(work)			((void)(work))
#define netif_tx_wake_all_queues(dev)			qp_wake(dev)
#define netif_set_real_num_tx_queues			qp_set_real_num
#define netif_set_xps_queue(dev, cpus, queue)		qp_set_xps(cpus, queue)
#define netdev_warn(dev, args...)			qp_warn(args)
#undef ASSERT_RTNL
#define ASSERT_RTNL()
#undef dev_info
#define dev_info(dev, text, port, value, args...)	((void)(dev), qp_fix->logged = (value))
/* By the number of pauses, without sleeping: no load of the machine changes the number of tries */
#undef read_poll_timeout
#define read_poll_timeout(op, val, cond, pause, time, before, args...)	\
do {									\
	unsigned int pauses = (time) / (pause);				\
									\
	do {								\
		(val) = op(args);					\
	} while (!(cond) && pauses--);					\
} while (0)

#define QP_QUEUES	4
/* For &qp_fixture.bad_qp */
#define QP_ALL		(QP_QUEUES + 1)

/**
 * struct qp_fixture - fixture of a case
 * @priv: an interface
 * @rxq: its receive queue
 * @ca: an HCA
 * @port: its port is the second entry
 * @pd: protection domain
 * @npd: number of protection domains
 * @dev: net_device of @priv
 * @cq: CQ of each send queue
 * @vector: their completion vectors
 * @ncq: number of CQs
 * @recv_cq: CQ of @rxq
 * @qp: QPs
 * @init: their attributes
 * @nqp: number of QPs
 * @state: their states
 * @qkey: their Q_Keys
 * @ncreate: calls of ib_create_qp()
 * @create_err: result of a QP with more than @most work requests
 * @most: sends and receives of a QP, at most
 * @refused: flags with which the HCA refuses a QP
 * @bad_qp: number of the QP that fails to change its state, or QP_ALL
 * @bad: this change of state fails: a letter of @log
 * @passing: changes to ERR that fail with @passing_err
 * @passing_err: an error of the HCA
 * @rx_err: result of ipoib_ud_rx_start()
 * @rx_left: calls of ipoib_ud_rx_drain() that find receives outstanding
 * @rx_drains: calls of ipoib_ud_rx_drain()
 * @late: completions that come with the change of the first QP to RESET
 * @new_qkey: Q_Key of the link from the next change of a QP to RTS on, or 0
 * @logged: flags or size of queues that the log has last, or 0
 * @reaps: times that address handles were checked
 * @real_err: result of netif_set_real_num_tx_queues()
 * @ncpus: number of CPUs of each queue
 * @moder_err: result of ipoib_moder_update()
 * @budget: sum of the budgets with which sends were completed
 * @warned: warnings in the log
 * @mcast_err: result of ib_attach_mcast() and ib_detach_mcast()
 * @log: number of a QP and its new state: I, R and S for INIT, RTR and RTS, E, Z for ERR and RESET,
 *	Q for its Q_Key; P and F: receives are posted and freed; n and d: a handler is enabled
 *	and disabled; w: queues of the stack are woken; a: address handles are freed; X: a QP is
 *	destroyed; + and -: a QP is attached to a group and detached
 */
struct qp_fixture {
	struct ipoib_dev priv;
	struct ipoib_rxq rxq;
	struct ib_device ca;
	struct ib_port_data port[2];
	struct ib_pd pd;
	int npd;
	struct net_device *dev;
	struct ib_cq cq[QP_QUEUES];
	int vector[QP_QUEUES];
	unsigned int ncq;
	struct ib_cq recv_cq;
	struct ib_qp qp[QP_QUEUES];
	struct ib_qp_init_attr init[QP_QUEUES];
	unsigned int nqp;
	enum ib_qp_state state[QP_QUEUES];
	u32 qkey[QP_QUEUES];
	unsigned int ncreate;
	int create_err;
	unsigned int most;
	u32 refused;
	unsigned int bad_qp;
	char bad;
	unsigned int passing;
	int passing_err;
	int rx_err;
	unsigned int rx_left;
	unsigned int rx_drains;
	unsigned int late;
	u32 new_qkey;
	u32 logged;
	unsigned int reaps;
	int real_err;
	unsigned int ncpus[QP_QUEUES];
	int moder_err;
	int budget;
	unsigned int warned;
	int mcast_err;
	char log[128];
};

/* The fixture of the running case */
static struct qp_fixture *qp_fix;

int ipoib_sendq_size;
int ipoib_recvq_size;

static void qp_log(char what)
{
	size_t len = strlen(qp_fix->log);

	if (len + 1 < sizeof(qp_fix->log))
		qp_fix->log[len] = what;
}

/* Is this all that has happened since the last call? */
static bool qp_happened(const char *log)
{
	bool same = !strcmp(qp_fix->log, log);

	if (!same)
		pr_err("    # not %s, but %s\n", log, qp_fix->log);
	memset(qp_fix->log, 0, sizeof(qp_fix->log));
	return same;
}

/* ---- functions of the driver ---- */

int ipoib_ud_rx_init(struct ipoib_dev *priv)
{
	priv->rxq = &qp_fix->rxq;
	priv->rxq->cq = &qp_fix->recv_cq;
	priv->rxq->size = priv->recvq_size;
	return 0;
}

void ipoib_ud_rx_exit(struct ipoib_rxq *rxq)
{
}

int ipoib_ud_rx_start(struct ipoib_rxq *rxq)
{
	if (qp_fix->rx_err)
		return qp_fix->rx_err;
	qp_log('P');
	rxq->pool = (void *)rxq;
	rxq->running = true;
	return 0;
}

bool ipoib_ud_rx_drain(struct ipoib_rxq *rxq)
{
	qp_fix->rx_drains++;
	if (qp_fix->rx_left)
		qp_fix->rx_left--;
	return !qp_fix->rx_left;
}

void ipoib_ud_rx_stop(struct ipoib_rxq *rxq)
{
	qp_log('F');
	rxq->pool = NULL;
}

int ipoib_moder_update(struct ipoib_moder *moder)
{
	return qp_fix->moder_err;
}

void ipoib_ah_free_all(struct ipoib_dev *priv)
{
	qp_log('a');
}

/* ---- HCA and stack ---- */

static struct ib_pd *qp_alloc_pd(struct ib_device *ca)
{
	qp_fix->npd++;
	return &qp_fix->pd;
}

static void qp_dealloc_pd(struct ib_pd *pd)
{
	qp_fix->npd--;
}

static struct ib_cq *qp_create_cq(struct ib_device *ca, ib_comp_handler handler,
				  const struct ib_cq_init_attr *attr)
{
	if (qp_fix->ncq == QP_QUEUES)
		return ERR_PTR(-EIO);
	qp_fix->vector[qp_fix->ncq] = attr->comp_vector;
	return &qp_fix->cq[qp_fix->ncq++];
}

static void qp_destroy_cq(struct ib_cq *cq)
{
	qp_fix->ncq--;
}

/* A caller that goes on for ever gets a QP. */
static struct ib_qp *qp_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *init)
{
	unsigned int i = qp_fix->nqp;

	if (++qp_fix->ncreate < 100) {
		if (init->create_flags & qp_fix->refused)
			return ERR_PTR(-EINVAL);
		if (init->cap.max_send_wr + init->cap.max_recv_wr > qp_fix->most)
			return ERR_PTR(qp_fix->create_err);
	}
	if (i == QP_QUEUES)
		return ERR_PTR(-EIO);
	qp_fix->init[i] = *init;
	qp_fix->state[i] = IB_QPS_RESET;
	qp_fix->qp[i].qp_num = 0x100 + i;
	qp_fix->nqp++;
	return &qp_fix->qp[i];
}

static int qp_destroy_qp(struct ib_qp *qp)
{
	qp_log('X');
	return 0;
}

static int qp_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask)
{
	static const char letters[] = {
		[IB_QPS_RESET] = 'Z', [IB_QPS_INIT] = 'I', [IB_QPS_RTR] = 'R',
		[IB_QPS_RTS] = 'S', [IB_QPS_ERR] = 'E',
	};
	char what = mask & IB_QP_STATE ? letters[attr->qp_state] : 'Q';
	unsigned int i = qp - qp_fix->qp;

	if (!qp || i >= qp_fix->nqp) {
		qp_log('?');
		return -EINVAL;
	}
	qp_log('0' + i);
	qp_log(what);
	if ((i == qp_fix->bad_qp || qp_fix->bad_qp == QP_ALL) && what == qp_fix->bad)
		return -EIO;
	if (what == 'E' && qp_fix->passing) {
		qp_fix->passing--;
		return qp_fix->passing_err;
	}
	if (mask & IB_QP_STATE)
		qp_fix->state[i] = attr->qp_state;
	if (mask & IB_QP_QKEY)
		qp_fix->qkey[i] = attr->qkey;
	if (what == 'S' && qp_fix->new_qkey)
		qp_fix->priv.qkey = qp_fix->new_qkey;
	return 0;
}

static int qp_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		       struct ib_qp_init_attr *init)
{
	unsigned int i = qp - qp_fix->qp;

	if (i == qp_fix->bad_qp && qp_fix->bad == '?')
		return -EIO;
	attr->qp_state = qp_fix->state[i];
	return 0;
}

static int qp_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	qp_log('+');
	return qp_fix->mcast_err;
}

static int qp_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	qp_log('-');
	return qp_fix->mcast_err;
}

static int qp_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	if (cq != &qp_fix->cq[0] || !qp_fix->late || qp_fix->state[0] != IB_QPS_RESET)
		return 0;
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = qp_fix->priv.txq->ring.tail;
	qp_fix->late--;
	return 1;
}

static int qp_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return 0;
}

static void qp_napi(struct napi_struct *napi, char what)
{
	qp_log(what);
}

static bool qp_reap(struct delayed_work *work)
{
	qp_fix->reaps++;
	return true;
}

static void qp_wake(struct net_device *dev)
{
	qp_log('w');
}

static int qp_set_real_num(struct net_device *dev, unsigned int n)
{
	return qp_fix->real_err;
}

static void qp_set_xps(const struct cpumask *cpus, unsigned int queue)
{
	qp_fix->ncpus[queue] = cpumask_weight(cpus);
}

static void __printf(1, 2) qp_warn(const char *format, ...)
{
	qp_fix->warned++;
}

static void qp_complete(struct ipoib_ring *ring, u32 last, int budget, struct ipoib_tx_done *done)
{
	qp_fix->budget += budget;
	ipoib_ring_complete(ring, last, budget, done);
}

#define ipoib_ring_complete	qp_complete

#include "ipoib_ud_qp.c"

static int qp_init(struct kunit *test)
{
	struct qp_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct rdma_netdev *rn;
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev_mqs(sizeof(*rn), "ipoib_qp%d", NET_NAME_UNKNOWN, ether_setup,
				    QP_QUEUES, 1);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	rn = netdev_priv(fix->dev);
	rn->clnt_priv = &fix->priv;
	fix->ca.ops.poll_cq = qp_poll_cq;
	fix->ca.ops.req_notify_cq = qp_notify_cq;
	fix->ca.port_data = fix->port;
	fix->port[1].immutable.core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	fix->ca.attrs.max_send_sge = IPOIB_TX_SGE;
	fix->ca.attrs.max_qp_wr = 16384;
	fix->ca.attrs.max_cqe = 16384;
	fix->ca.num_comp_vectors = 8;
	fix->pd.device = &fix->ca;
	for (i = 0; i < QP_QUEUES; i++)
		fix->cq[i].device = &fix->ca;
	fix->most = 1 << 20;
	fix->bad_qp = QP_QUEUES;
	fix->priv.ca = &fix->ca;
	fix->priv.port = 1;
	fix->priv.pkey_index = 5;
	fix->priv.qkey = 0xb1b;
	fix->priv.netdev = fix->dev;
	fix->priv.rn_ops = &ipoib_ud_netdev_ops;
	ipoib_sendq_size = 128;
	ipoib_recvq_size = 256;
	qp_fix = fix;
	test->priv = fix;
	return 0;
}

static void qp_exit(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;

	if (fix->priv.txq) {
		fix->bad_qp = QP_QUEUES;
		ipoib_ud_stop(&fix->priv);
		ipoib_ud_exit(&fix->priv);
	}
	KUNIT_EXPECT_EQ(test, fix->npd, 0);
	KUNIT_EXPECT_EQ(test, fix->ncq, 0u);
	free_netdev(fix->dev);
	kvfree(fix);
}

/* Attributes of the QPs of an HCA that has all offloads */
static void qp_attributes(struct kunit *test)
{
	u32 flags = IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_QP_CREATE_IPOIB_UD_LSO |
		    IB_QP_CREATE_NETIF_QP;
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	const struct ib_qp_init_attr *init;
	unsigned int i;

	fix->ca.attrs.kernel_cap_flags = IBK_BLOCK_MULTICAST_LOOPBACK | IBK_UD_TSO;
	fix->ca.attrs.device_cap_flags = IB_DEVICE_MANAGED_FLOW_STEERING | IB_DEVICE_UD_IP_CSUM;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), 0);
	KUNIT_EXPECT_EQ(test, fix->ncreate, 2u);
	KUNIT_EXPECT_EQ(test, priv->qpn, 0x100u);
	KUNIT_EXPECT_EQ(test, priv->ntxq, 2u);
	for (i = 0; i < 2; i++) {
		init = &fix->init[i];
		KUNIT_EXPECT_TRUE(test, init->event_handler == ipoib_ud_qp_event);
		KUNIT_EXPECT_PTR_EQ(test, init->qp_context, priv);
		KUNIT_EXPECT_PTR_EQ(test, init->send_cq, &fix->cq[i]);
		KUNIT_EXPECT_PTR_EQ(test, init->recv_cq, &fix->recv_cq);
		KUNIT_EXPECT_EQ(test, init->cap.max_send_wr, 128u);
		KUNIT_EXPECT_EQ(test, init->cap.max_recv_wr, i ? 1u : 1024u);
		KUNIT_EXPECT_EQ(test, init->cap.max_send_sge, (u32)IPOIB_TX_SGE);
		KUNIT_EXPECT_EQ(test, init->cap.max_recv_sge, 2u);
		KUNIT_EXPECT_TRUE(test, init->sq_sig_type == IB_SIGNAL_REQ_WR);
		KUNIT_EXPECT_TRUE(test, init->qp_type == IB_QPT_UD);
		KUNIT_EXPECT_EQ(test, (u32)init->create_flags,
				i ? flags & ~IB_QP_CREATE_NETIF_QP : flags);
		KUNIT_EXPECT_TRUE(test, priv->txq[i].hca_cuts);
		KUNIT_EXPECT_EQ(test, priv->txq[i].max_segs, 33u);
		KUNIT_EXPECT_EQ(test, priv->txq[i].ring.mask, 127u);
		KUNIT_EXPECT_EQ(test, fix->vector[i], ipoib_ud_vector(priv, 1 + i));
	}
}

/* Flags that the HCA refuses: without steering first, then without any */
static void qp_flags(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	fix->ca.attrs.kernel_cap_flags = IBK_UD_TSO;
	fix->ca.attrs.device_cap_flags = IB_DEVICE_MANAGED_FLOW_STEERING | IB_DEVICE_UD_IP_CSUM;
	fix->refused = IB_QP_CREATE_NETIF_QP;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, fix->ncreate, 2u);
	KUNIT_EXPECT_EQ(test, fix->logged, (u32)IB_QP_CREATE_NETIF_QP);
	KUNIT_EXPECT_EQ(test, priv->txq->qp_flags, (u32)IB_QP_CREATE_IPOIB_UD_LSO);
	KUNIT_EXPECT_TRUE(test, priv->txq->hca_cuts);
	/* A further queue without the offloads of the first is none. */
	fix->refused = IB_QP_CREATE_IPOIB_UD_LSO;
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, priv->ntxq, 1u);
	KUNIT_EXPECT_EQ(test, priv->ntxq_made, 1u);
	ipoib_ud_exit(priv);
	fix->nqp = 0;
	fix->ncreate = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, fix->ncreate, 3u);
	KUNIT_EXPECT_EQ(test, priv->txq->qp_flags, 0u);
	KUNIT_EXPECT_FALSE(test, priv->txq->hca_cuts);
	KUNIT_EXPECT_EQ(test, priv->txq->max_segs, 33u);
	ipoib_ud_exit(priv);
	/* RoCE: no offloads of IPoIB, and nothing for the log */
	fix->nqp = 0;
	fix->ncreate = 0;
	fix->logged = ~0u;
	fix->port[1].immutable.core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, fix->ncreate, 1u);
	KUNIT_EXPECT_EQ(test, fix->logged, ~0u);
	KUNIT_EXPECT_EQ(test, priv->txq->qp_flags, 0u);
}

/* Sizes for which the HCA has too little: the longer queue is halved, down to 32. */
static void qp_sizes(struct kunit *test)
{
	static const struct {
		int max_wr, err;
		unsigned int most, sends, receives, creates;
	} rows[] = {
		{ 16384, -ENOMEM, 16384, 128, 1024, 1 },
		{ 16384, -ENOMEM, 400, 128, 256, 3 },
		{ 16384, -EINVAL, 200, 64, 128, 5 },
		{ 100, -ENOMEM, 16384, 64, 64, 1 },
		{ 8, -ENOMEM, 16384, 32, 32, 1 },
	};
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->ca.attrs.max_qp_wr = rows[i].max_wr;
		fix->create_err = rows[i].err;
		fix->most = rows[i].most;
		fix->logged = 0;
		fix->ncreate = 0;
		fix->nqp = 0;
		KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
		KUNIT_EXPECT_EQ(test, fix->ncreate, rows[i].creates);
		KUNIT_EXPECT_EQ(test, priv->sendq_size, rows[i].sends);
		KUNIT_EXPECT_EQ(test, priv->recvq_size, rows[i].receives);
		KUNIT_EXPECT_EQ(test, priv->txq->max_segs, rows[i].sends / 4 + 1);
		KUNIT_EXPECT_EQ(test, fix->logged, rows[i].receives < 256 ? rows[i].sends : 0);
		ipoib_ud_exit(priv);
	}
	/* 1024 to 128, then both by turns to 32 */
	fix->ca.attrs.max_qp_wr = 16384;
	fix->most = 1;
	fix->create_err = -ENOMEM;
	fix->ncreate = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), -ENOMEM);
	KUNIT_EXPECT_EQ(test, fix->ncreate, 8u);
	KUNIT_EXPECT_PTR_EQ(test, priv->txq, NULL);
	/* Another failure does not depend on the sizes. */
	fix->create_err = -EIO;
	fix->ncreate = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), -EIO);
	KUNIT_EXPECT_EQ(test, fix->ncreate, 1u);
	KUNIT_EXPECT_PTR_EQ(test, priv->txq, NULL);
}

/* An HCA with few SGEs, which cannot have segments of the driver */
static void qp_few_sge(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	fix->ca.attrs.max_send_sge = IPOIB_TSO_SGE_MIN - 1;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, fix->init[0].cap.max_send_sge, IPOIB_TSO_SGE_MIN - 1u);
	KUNIT_EXPECT_EQ(test, priv->txq->max_segs, 1u);
	KUNIT_EXPECT_TRUE(test, !ipoib_ud_features(priv));
	KUNIT_EXPECT_EQ(test, ipoib_ud_resize(priv, 32, 64), 0);
	KUNIT_EXPECT_EQ(test, priv->txq->max_segs, 1u);
	ipoib_ud_exit(priv);
	fix->nqp = 0;
	fix->ca.attrs.max_send_sge = IPOIB_TSO_SGE_MIN;
	/* Room for more segments than a frame has */
	ipoib_sendq_size = 512;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, priv->txq->max_segs, 33u);
}

/* States of a QP from start to stop */
static void qp_states(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, priv->rn_ops->ndo_init(fix->dev), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0IP0R0Sn"));
	KUNIT_EXPECT_EQ(test, fix->qkey[0], 0xb1bu);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_FLAG_QP, &priv->flags));
	fix->rx_left = 3;
	fix->rx_drains = 0;
	fix->reaps = 0;
	fix->late = 3;
	for (i = 0; i < fix->late; i++)
		ipoib_ring_fill_empty(&priv->txq->ring);
	netif_start_queue(fix->dev);
	ipoib_ud_stop(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("dd0E0ZF"));
	KUNIT_EXPECT_TRUE(test, netif_queue_stopped(fix->dev));
	/* All receives are waited for, and no completion is left to the next run. */
	KUNIT_EXPECT_EQ(test, fix->rx_left, 0u);
	KUNIT_EXPECT_EQ(test, fix->rx_drains, 4u);
	KUNIT_EXPECT_EQ(test, fix->late, 0u);
	KUNIT_EXPECT_EQ(test, ipoib_ring_used(&priv->txq->ring), 0u);
	/* NAPI has no part in that. */
	KUNIT_EXPECT_EQ(test, fix->budget, 0);
	KUNIT_EXPECT_EQ(test, fix->reaps, 1u);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_FLAG_QP, &priv->flags));
	/* A stopped transport stays as it is. */
	ipoib_ud_stop(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened(""));
	KUNIT_EXPECT_EQ(test, ipoib_ud_restart(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0IP0R0Snw"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_restart(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("dd0E0ZF0IP0R0Snw"));
	/* The end of a stopped transport has no receives to free. */
	KUNIT_EXPECT_EQ(test, priv->rn_ops->ndo_stop(fix->dev), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("dd0E0ZF"));
	ipoib_ud_exit(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("Xa"));
}

/* A change of state that fails at the start: all queues are stopped again. */
static void qp_start_failed(struct kunit *test)
{
	static const struct {
		unsigned int qp;
		char bad;
		const char *log;
	} rows[] = {
		{ 0, 'I', "0I" },
		{ 1, 'I', "0I1I0E0ZF" },
		{ 0, 'R', "0I1IP0Rd0E1E0ZF1Z" },
		{ 1, 'S', "0I1IP0R0S1R1Sd0E1E0ZF1Z" },
	};
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened(""));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fix->bad_qp = rows[i].qp;
		fix->bad = rows[i].bad;
		KUNIT_EXPECT_EQ(test, ipoib_ud_restart(priv), -EIO);
		KUNIT_EXPECT_TRUE(test, qp_happened(rows[i].log));
		KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_FLAG_QP, &priv->flags));
		KUNIT_EXPECT_FALSE(test, ipoib_ud_is_posted(priv));
	}
	/* No receive was posted: none is waited for. */
	fix->bad_qp = QP_QUEUES;
	fix->rx_err = -ENOMEM;
	fix->rx_left = 1000000;
	fix->rx_drains = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_restart(priv), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, qp_happened("0I1I0E1E0ZF1Z"));
	KUNIT_EXPECT_EQ(test, fix->rx_drains, 1u);
	fix->rx_left = 0;
}

/* Queues for frames to the net device of an HCA, as many as it has, without QP */
static void qp_netdev(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i;

	priv->rn = netdev_priv(fix->dev);
	KUNIT_EXPECT_EQ(test, ipoib_ud_max_txqs(priv), (unsigned int)QP_QUEUES);
	KUNIT_EXPECT_EQ(test, ipoib_ud_txqs_alloc(priv), 0);
	for (i = 0; i < QP_QUEUES; i++) {
		KUNIT_EXPECT_PTR_EQ(test, priv->txq[i].priv, priv);
		KUNIT_EXPECT_PTR_EQ(test, priv->txq[i].nq, netdev_get_tx_queue(fix->dev, i));
		KUNIT_EXPECT_EQ(test, priv->txq[i].max_segs, 1u);
	}
	/* The Q_Key of the net device is fixed: the log has another Q_Key of the link. */
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_qkey(priv, 0x1234), 0);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_qkey(priv, 0xb1b), 0);
	KUNIT_EXPECT_EQ(test, fix->warned, 1u);
	kvfree(priv->txq);
	priv->txq = NULL;
}

/* A QP that the HCA does not reset keeps its work requests until it can be reset, or goes. */
static void qp_stuck(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(1000, GFP_KERNEL | __GFP_NOFAIL);
	struct ib_sge sge[IPOIB_TX_SGE];
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	skb_put(skb, 1000);
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ring_fill(&priv->txq->ring, skb_get(skb), 0, sge), 1);
	fix->bad_qp = 0;
	fix->bad = 'Z';
	/* An HCA that has failed is not waited for: a check, and no more. */
	set_bit(IPOIB_FLAG_DEAD, &priv->flags);
	fix->rx_left = 1000000;
	fix->rx_drains = 0;
	KUNIT_EXPECT_TRUE(test, qp_happened("0IP0R0Sn"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_resize(priv, 64, 64), -EBUSY);
	KUNIT_EXPECT_TRUE(test, qp_happened("dd0E0Z0E0Z"));
	KUNIT_EXPECT_EQ(test, fix->rx_drains, 2u);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	KUNIT_EXPECT_EQ(test, priv->txq->ring.mask, 127u);
	KUNIT_EXPECT_EQ(test, fix->rxq.size, 1024u);
	KUNIT_EXPECT_TRUE(test, ipoib_ud_is_posted(priv));
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 2u);
	/* It can be reset by the next start. */
	fix->rx_left = 0;
	fix->bad_qp = QP_QUEUES;
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0E0ZF0IP0R0Sn"));
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	/* Never again: its frames and receives are freed behind it. */
	KUNIT_EXPECT_EQ(test, ipoib_ring_fill(&priv->txq->ring, skb_get(skb), 0, sge), 1);
	fix->bad_qp = 0;
	ipoib_ud_stop(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("dd0E0Z"));
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 2u);
	ipoib_ud_exit(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("XaF"));
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
	kfree_skb(skb);
}

/* However many QPs could not be reset, a start tries to reset them once. */
static void qp_stuck_all(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0I1IP0R0S1R1Snn"));
	fix->bad_qp = QP_ALL;
	fix->bad = 'Z';
	ipoib_ud_stop(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("ddd0E1E0Z1Z"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), -EIO);
	KUNIT_EXPECT_TRUE(test, qp_happened("0E1E0Z1Z"));
	fix->bad_qp = QP_QUEUES;
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0E1E0ZF1Z0I1IP0R0S1R1Snn"));
}

/* A lack of memory or time passes: the change is tried again. Other errors last. */
static void qp_passing(struct kunit *test)
{
	static const struct {
		int err;
		const char *log;
	} rows[] = {
		{ -ENOMEM, "dd0E0E0E0ZF" },
		{ -EAGAIN, "dd0E0E0E0ZF" },
		{ -EBUSY, "dd0E0E0E0ZF" },
		{ -EINTR, "dd0E0E0E0ZF" },
		{ -EINVAL, "dd0E0ZF" },
	};
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
		KUNIT_EXPECT_TRUE(test, qp_happened("0IP0R0Sn"));
		fix->passing_err = rows[i].err;
		fix->passing = 2;
		ipoib_ud_stop(priv);
		fix->passing = 0;
		KUNIT_EXPECT_TRUE(test, qp_happened(rows[i].log));
	}
}

/* The end of a transport that the HCA does not answer */
static void qp_waits(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	fix->passing_err = -EBUSY;
	fix->passing = 1000;
	fix->rx_left = 1000000;
	fix->rx_drains = 0;
	ipoib_ud_stop(priv);
	/* 50 pauses of 10 ms between 51 tries */
	KUNIT_EXPECT_EQ(test, fix->passing, 1000u - 51);
	/* 1000 pauses of 100 us between 1001 polls, and a poll after the change to RESET */
	KUNIT_EXPECT_EQ(test, fix->rx_drains, 1002u);
	fix->passing = 0;
	fix->rx_left = 0;
}

/* Moderation that the HCA refuses leaves the previous one. */
static void qp_moderated(struct kunit *test)
{
	static const struct ipoib_moderation some = { .usecs = 50, .frames = 32 };
	static const struct ipoib_moderation more = { .usecs = 60, .frames = 33, .adaptive = true };
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_moderate(priv, &some), 0);
	fix->moder_err = -EIO;
	KUNIT_EXPECT_EQ(test, ipoib_ud_moderate(priv, &more), -EIO);
	KUNIT_EXPECT_EQ(test, (unsigned int)priv->moderation.usecs, 50u);
	KUNIT_EXPECT_EQ(test, (unsigned int)priv->moderation.frames, 32u);
	KUNIT_EXPECT_FALSE(test, priv->moderation.adaptive);
	fix->moder_err = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_moderate(priv, &more), 0);
	KUNIT_EXPECT_EQ(test, (unsigned int)priv->moderation.usecs, 60u);
	KUNIT_EXPECT_EQ(test, (unsigned int)priv->moderation.frames, 33u);
	KUNIT_EXPECT_TRUE(test, priv->moderation.adaptive);
}

/* Interfaces are numbered, for their vectors; a new one has adaptive moderation. */
static void qp_vectors(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int first;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_TRUE(test, priv->moderation.adaptive);
	first = priv->vector;
	ipoib_ud_exit(priv);
	fix->nqp = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, priv->vector, first + 1);
}

/* Other sizes of all queues, running or not */
static void qp_resized(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_resize(priv, 64, 512), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened(""));
	KUNIT_EXPECT_EQ(test, priv->txq[0].ring.mask, 63u);
	KUNIT_EXPECT_EQ(test, priv->txq[1].ring.mask, 63u);
	KUNIT_EXPECT_EQ(test, priv->txq[0].max_segs, 17u);
	KUNIT_EXPECT_EQ(test, priv->txq[1].max_segs, 17u);
	KUNIT_EXPECT_EQ(test, fix->rxq.size, 512u);
	KUNIT_EXPECT_EQ(test, fix->rxq.moder.most, 128u);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0I1IP0R0S1R1Snn"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_resize(priv, 32, 64), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("ddd0E1E0ZF1Z0I1IP0R0S1R1Snnw"));
	KUNIT_EXPECT_EQ(test, priv->txq[1].max_segs, 9u);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	/* A further queue is as long as the others. */
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 3), 0);
	KUNIT_EXPECT_EQ(test, priv->txq[2].ring.mask, 31u);
	KUNIT_EXPECT_EQ(test, priv->txq[2].max_segs, 9u);
}

/* The Q_Key is that of all queues in use, or of none. */
static void qp_qkey(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 3), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0I1I2IP0R0S1R1S2R2Snnn"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_qkey(priv, 0xb1b), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened(""));
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_qkey(priv, 0x1234), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0Q1Q2Q"));
	KUNIT_EXPECT_EQ(test, priv->qkey, 0x1234u);
	KUNIT_EXPECT_EQ(test, fix->qkey[2], 0x1234u);
	fix->bad_qp = 2;
	fix->bad = 'Q';
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_qkey(priv, 0x5678), -EIO);
	KUNIT_EXPECT_TRUE(test, qp_happened("0Q1Q2Q1Q0Q"));
	KUNIT_EXPECT_EQ(test, priv->qkey, 0x1234u);
	KUNIT_EXPECT_EQ(test, fix->qkey[0], 0x1234u);
	KUNIT_EXPECT_EQ(test, fix->qkey[1], 0x1234u);
	/* Behind the queue that fails none is changed. */
	fix->bad_qp = 1;
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_qkey(priv, 0x5678), -EIO);
	KUNIT_EXPECT_TRUE(test, qp_happened("0Q1Q0Q"));
	/* A queue that is not in use any more has no part in that. */
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("d2E2Z"));
	fix->bad_qp = 2;
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_qkey(priv, 0x5678), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0Q1Q"));
}

/* More and fewer queues while the interface is up: the first goes on. */
static void qp_number(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i, shares;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_max_txqs(priv), (unsigned int)QP_QUEUES);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0IP0R0Sn"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 3), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("1I2I1R1S2R2Snn"));
	KUNIT_EXPECT_EQ(test, priv->ntxq, 3u);
	/* With fewer CPUs than queues some queues have the same. */
	shares = min(3u, num_online_cpus());
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, fix->ncpus[i],
				DIV_ROUND_UP(num_online_cpus() - i % shares, shares));
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	fix->rx_drains = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 1), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("dd1E2E1Z2Z"));
	/* The receives of the first are not taken. */
	KUNIT_EXPECT_EQ(test, fix->rx_drains, 0u);
	KUNIT_EXPECT_EQ(test, priv->ntxq, 1u);
	KUNIT_EXPECT_EQ(test, priv->ntxq_made, 3u);
	/* A queue that could not be started */
	fix->bad_qp = 2;
	fix->bad = 'R';
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 3), -EIO);
	KUNIT_EXPECT_TRUE(test, qp_happened("1I2I1R1S2R1E2E1Z2Z"));
	KUNIT_EXPECT_EQ(test, priv->ntxq, 1u);
	/* A number that the stack refuses */
	fix->bad_qp = QP_QUEUES;
	fix->real_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, qp_happened("1I1R1Snd1E1Z"));
	KUNIT_EXPECT_EQ(test, priv->ntxq, 1u);
	fix->real_err = 0;
	/* The Q_Key changes meanwhile: a restart brings it to the new queue. */
	fix->new_qkey = 0x1234;
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), 0);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	/* A queue that cannot be created */
	fix->most = 0;
	fix->create_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 4), -ENOMEM);
	KUNIT_EXPECT_EQ(test, priv->ntxq, 2u);
	KUNIT_EXPECT_EQ(test, priv->ntxq_made, 3u);
	/* A later failure must not free its parts again. */
	KUNIT_EXPECT_PTR_EQ(test, priv->txq[3].cq, NULL);
	KUNIT_EXPECT_PTR_EQ(test, priv->txq[3].batch, NULL);
}

/* QPs that have left RTS: SQE is left at once, other states by a restart. */
static void qp_recovers(struct kunit *test)
{
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_set_queues(priv, 2), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_start(priv), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("0I1IP0R0S1R1Snn"));
	ipoib_ud_recover(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened(""));
	fix->state[0] = IB_QPS_SQE;
	fix->state[1] = IB_QPS_SQE;
	ipoib_ud_recover(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("0S1S"));
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	fix->state[0] = IB_QPS_ERR;
	fix->state[1] = IB_QPS_SQE;
	ipoib_ud_recover(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("1S"));
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	fix->state[0] = IB_QPS_SQE;
	fix->bad_qp = 0;
	fix->bad = 'S';
	ipoib_ud_recover(priv);
	KUNIT_EXPECT_TRUE(test, qp_happened("0S"));
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	/* A query that fails */
	fix->state[0] = IB_QPS_RTS;
	fix->bad = '?';
	ipoib_ud_recover(priv);
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
	/* A failed receive */
	fix->bad_qp = QP_QUEUES;
	fix->rxq.running = false;
	ipoib_ud_recover(priv);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_CTL_RESTART, &priv->ctl.events));
}

/* All groups on a link with IPv4 addresses share an attachment. */
static void qp_groups(struct kunit *test)
{
	union ib_gid mapped = { .raw = { [10] = 0xff, 0xff, 239, 255, 67, 145 } };
	union ib_gid mgid = { .raw = { 0xff, 0x12, 0x40, 0x1b } };
	struct qp_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	KUNIT_EXPECT_EQ(test, ipoib_ud_init(priv), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mgid, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mgid, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_detach(priv, &mgid, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_detach(priv, &mgid, 0xc001), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("++--"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mapped, 0), 0);
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mapped, 0), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("+"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_detach(priv, &mapped, 0), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened(""));
	KUNIT_EXPECT_EQ(test, ipoib_ud_detach(priv, &mapped, 0), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("-"));
	/* An attachment that failed is tried again by the next group. */
	fix->mcast_err = -EINVAL;
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mapped, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ipoib_ud_detach(priv, &mgid, 0), -EINVAL);
	fix->mcast_err = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mapped, 0), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("+-+"));
	KUNIT_EXPECT_EQ(test, ipoib_ud_detach(priv, &mapped, 0), 0);
	/* That of a group of its own does not count. */
	fix->mcast_err = -EINVAL;
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mgid, 0xc001), -EINVAL);
	fix->mcast_err = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ud_attach(priv, &mapped, 0), 0);
	KUNIT_EXPECT_TRUE(test, qp_happened("-++"));
}

static struct kunit_case ipoib_qp_cases[] = {
	KUNIT_CASE(qp_attributes),
	KUNIT_CASE(qp_flags),
	KUNIT_CASE(qp_sizes),
	KUNIT_CASE(qp_few_sge),
	KUNIT_CASE(qp_states),
	KUNIT_CASE(qp_start_failed),
	KUNIT_CASE(qp_netdev),
	KUNIT_CASE(qp_stuck),
	KUNIT_CASE(qp_stuck_all),
	KUNIT_CASE(qp_passing),
	KUNIT_CASE(qp_waits),
	KUNIT_CASE(qp_moderated),
	KUNIT_CASE(qp_vectors),
	KUNIT_CASE(qp_resized),
	KUNIT_CASE(qp_qkey),
	KUNIT_CASE(qp_number),
	KUNIT_CASE(qp_recovers),
	KUNIT_CASE(qp_groups),
	{}
};

struct kunit_suite ipoib_qp_suite = {
	.name = "ipoib_qp",
	.init = qp_init,
	.exit = qp_exit,
	.test_cases = ipoib_qp_cases,
};
