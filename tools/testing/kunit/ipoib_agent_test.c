// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the agent of a port for the SA: address of the SA, questions and their answers,
 * subscription, reports
 */
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_stat_add			agent_stat_add
#define ipoib_mcast_review		agent_review
#define ipoib_mcast_group_created	agent_group_created
#define ipoib_mcast_group_deleted	agent_group_deleted
#define ipoib_sa_notice_on		agent_notice_on
#define ipoib_sa_monitor		agent_monitor

#include "ipoib.h"
#include "sa/sa.h"

/* No tracepoints, no MADs of the RDMA core, and works that the case runs */
#define IPOIB_TRACE_H
#define trace_ipoib_notice(dev, gid, what, err)	((void)(gid))
#define ib_register_mad_agent			agent_register
#define ib_unregister_mad_agent(mad)		agent_unregister(mad)
#define ib_create_send_mad			agent_create_mad
#define ib_free_send_mad(buf)			agent_free_mad(buf)
#define ib_post_send_mad(buf, bad)		agent_post_mad(buf)
#define ib_cancel_mad(buf)			agent_cancel_mad(buf)
#define ib_free_recv_mad(wc)			agent_free_recv(wc)
#define ib_query_port(ca, port, attr)		agent_query_port(ca, port, attr)
#define ib_find_pkey(ca, port, pkey, index)	agent_find_pkey(pkey, index)
#define rdma_create_ah(pd, attr, flags)		agent_create_ah(pd, attr)
#define rdma_destroy_ah(ah, flags)		agent_destroy_ah(ah)
#define queue_delayed_work(wq, work, delay)	agent_queue(work, delay)
#define mod_delayed_work(wq, work, delay)	agent_mod(work, delay)
#define cancel_delayed_work_sync(work)		agent_cancel_work(work)
#define kfree(object)				agent_free(object)

#define AGENT_PORT	2
#define AGENT_DEVS	2
#define AGENT_MADS	24
#define AGENT_HI_TID	0x12345678
/* LID of the SM, with a LMC of 1; index of the default P_Key */
#define AGENT_SM_LID	4
#define AGENT_PKEY	3

/* A MAD to be sent */
struct agent_mad {
	struct ib_mad_send_buf buf;
	struct ib_sa_mad mad;
	u16 pkey_index;
	bool posted;
	bool cancelled;
	bool freed;
};

/* An owner of questions, and the last answer */
struct agent_owner {
	unsigned int answers;
	int status;
	const struct ib_sa_mad *asked;
	const struct ib_mad_recv_wc *answer;
};

struct agent_timer {
	bool queued;
	unsigned long delay;
};

/**
 * struct agent_fixture - fixture of a case
 * @ca: an HCA
 * @port: its port is the third entry
 * @pd: protection domain of MADs
 * @qp: QP of MADs
 * @query: result of ib_query_port()
 * @query_err: its error
 * @no_pkey: the port lacks the full default P_Key
 * @agent: agent of the port
 * @mad: its MAD agent
 * @reports: its MAD agent of reports
 * @req: registration of @reports
 * @rmpp: RMPP version of @mad and of @reports
 * @registered: registrations of @mad and of @reports
 * @register_err: result of a registration
 * @priv: interfaces that are up
 * @owner: owners of questions
 * @mads: MADs, by number
 * @created: number of them
 * @unfreed: of those, not freed
 * @posted: of those, posted
 * @create_err: result of a MAD that cannot be created
 * @post_err: result of a MAD that cannot be posted
 * @returned: received MADs returned
 * @ah: address handles
 * @ahs: number of those created
 * @ahs_left: of those, not destroyed
 * @ah_attr: attributes of the last
 * @ah_err: result of an address handle that cannot be created
 * @sm: work that finds the SA
 * @sub: work of the subscription
 * @reviews: reviews of groups, by interface
 * @news: reports of created groups, by interface
 * @ends: reports of deleted groups, by interface
 * @gid: group of the last report
 * @freed: freed objects
 * @stats: counters of all interfaces
 */
struct agent_fixture {
	struct ib_device ca;
	struct ib_port_data port[AGENT_PORT + 1];
	struct ib_pd pd;
	struct ib_qp qp;
	struct ib_port_attr query;
	int query_err;
	bool no_pkey;
	struct ipoib_agent *agent;
	struct ib_mad_agent mad;
	struct ib_mad_agent reports;
	struct ib_mad_reg_req req;
	u8 rmpp[2];
	int registered[2];
	int register_err;
	struct ipoib_dev priv[AGENT_DEVS];
	struct agent_owner owner[2];
	struct agent_mad mads[AGENT_MADS];
	unsigned int created;
	int unfreed;
	unsigned int posted;
	int create_err;
	int post_err;
	unsigned int returned;
	struct ib_ah ah[4];
	unsigned int ahs;
	int ahs_left;
	struct rdma_ah_attr ah_attr;
	int ah_err;
	struct agent_timer sm;
	struct agent_timer sub;
	unsigned int reviews[AGENT_DEVS];
	unsigned int news[AGENT_DEVS];
	unsigned int ends[AGENT_DEVS];
	union ib_gid gid;
	unsigned int freed;
	s64 stats[IPOIB_NR_STATS];
};

/* The fixture of the running case */
static struct agent_fixture *agent_fix;

static void agent_free(const void *object);

/* ---- functions of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	agent_fix->stats[stat] += n;
}

void ipoib_mcast_review(struct ipoib_dev *priv)
{
	agent_fix->reviews[priv - agent_fix->priv]++;
}

void ipoib_mcast_group_created(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	agent_fix->news[priv - agent_fix->priv]++;
	agent_fix->gid = *mgid;
}

void ipoib_mcast_group_deleted(struct ipoib_dev *priv, const union ib_gid *mgid)
{
	agent_fix->ends[priv - agent_fix->priv]++;
	agent_fix->gid = *mgid;
}

/* ---- RDMA core ---- */

static struct ib_mad_agent *agent_register(struct ib_device *ca, u32 port, enum ib_qp_type type,
					   const struct ib_mad_reg_req *req, u8 rmpp,
					   ib_mad_send_handler send, ib_mad_recv_handler recv,
					   void *context, u32 flags)
{
	struct ib_mad_agent *mad = req ? &agent_fix->reports : &agent_fix->mad;

	if (ca != &agent_fix->ca || port != AGENT_PORT || type != IB_QPT_GSI || flags)
		return ERR_PTR(-ENODEV);
	if (agent_fix->register_err)
		return ERR_PTR(agent_fix->register_err);
	if (req)
		agent_fix->req = *req;
	agent_fix->rmpp[!!req] = rmpp;
	agent_fix->registered[!!req]++;
	mad->send_handler = send;
	mad->recv_handler = recv;
	mad->context = context;
	return mad;
}

/* Ends all MADs of the MAD agent. */
static void agent_unregister(struct ib_mad_agent *mad)
{
	struct ib_mad_send_wc wc = { .status = IB_WC_WR_FLUSH_ERR };
	struct agent_mad *send = agent_fix->mads;

	for (; send < agent_fix->mads + agent_fix->created; send++) {
		if (send->buf.mad_agent != mad || !send->posted || send->freed)
			continue;
		wc.send_buf = &send->buf;
		mad->send_handler(mad, &wc);
	}
	agent_fix->registered[mad == &agent_fix->reports]--;
}

static struct ib_mad_send_buf *agent_create_mad(struct ib_mad_agent *mad, u32 qpn, u16 pkey_index,
						int rmpp, int head, int len, gfp_t gfp,
						u8 version)
{
	struct agent_mad *send = &agent_fix->mads[agent_fix->created];

	if (agent_fix->create_err || agent_fix->created == AGENT_MADS)
		return ERR_PTR(agent_fix->create_err ?: -ENOMEM);
	if (qpn != 1 || rmpp || head != IB_MGMT_SA_HDR || len != IB_MGMT_SA_DATA ||
	    version != IB_MGMT_BASE_VERSION)
		return ERR_PTR(-EINVAL);
	agent_fix->created++;
	agent_fix->unfreed++;
	send->pkey_index = pkey_index;
	send->buf.mad_agent = mad;
	send->buf.mad = &send->mad;
	return &send->buf;
}

static void agent_free_mad(struct ib_mad_send_buf *buf)
{
	container_of(buf, struct agent_mad, buf)->freed = true;
	agent_fix->unfreed--;
}

static int agent_post_mad(struct ib_mad_send_buf *buf)
{
	if (agent_fix->post_err)
		return agent_fix->post_err;
	container_of(buf, struct agent_mad, buf)->posted = true;
	agent_fix->posted++;
	return 0;
}

static void agent_cancel_mad(struct ib_mad_send_buf *buf)
{
	container_of(buf, struct agent_mad, buf)->cancelled = true;
}

static void agent_free_recv(struct ib_mad_recv_wc *wc)
{
	agent_fix->returned++;
}

static int agent_query_port(struct ib_device *ca, u32 port, struct ib_port_attr *attr)
{
	if (ca != &agent_fix->ca || port != AGENT_PORT)
		return -ENODEV;
	*attr = agent_fix->query;
	return agent_fix->query_err;
}

/* The index is set in any case. */
static int agent_find_pkey(u16 pkey, u16 *index)
{
	*index = AGENT_PKEY;
	return agent_fix->no_pkey || pkey != 0xffff ? -ENOENT : 0;
}

static struct ib_ah *agent_create_ah(struct ib_pd *pd, struct rdma_ah_attr *attr)
{
	if (agent_fix->ah_err || pd != &agent_fix->pd ||
	    agent_fix->ahs == ARRAY_SIZE(agent_fix->ah))
		return ERR_PTR(agent_fix->ah_err ?: -ENOMEM);
	agent_fix->ah_attr = *attr;
	agent_fix->ahs_left++;
	return &agent_fix->ah[agent_fix->ahs++];
}

static void agent_destroy_ah(struct ib_ah *ah)
{
	agent_fix->ahs_left--;
}

/* ---- works ---- */

static struct agent_timer *agent_timer_of(struct delayed_work *work);

static bool agent_mod(struct delayed_work *work, unsigned long delay)
{
	struct agent_timer *timer = agent_timer_of(work);

	timer->queued = true;
	timer->delay = delay;
	return true;
}

static bool agent_queue(struct delayed_work *work, unsigned long delay)
{
	return !agent_timer_of(work)->queued && agent_mod(work, delay);
}

static void agent_cancel_work(struct delayed_work *work)
{
	agent_timer_of(work)->queued = false;
}

#include "sa/agent.c"

#undef kfree

static void agent_free(const void *object)
{
	agent_fix->freed += !!object;
	kfree(object);
}

static struct agent_timer *agent_timer_of(struct delayed_work *work)
{
	return work->work.func == ipoib_sa_sub_work ? &agent_fix->sub : &agent_fix->sm;
}

static int agent_init(struct kunit *test)
{
	struct agent_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	if (!fix)
		return -ENOMEM;
	fix->ca.dev.init_name = "ipoib_kunit";
	fix->ca.port_data = fix->port;
	fix->port[AGENT_PORT].immutable.core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	fix->qp.pd = &fix->pd;
	fix->mad.qp = &fix->qp;
	fix->mad.hi_tid = AGENT_HI_TID;
	fix->query.sm_lid = AGENT_SM_LID;
	fix->query.sm_sl = 5;
	fix->query.lmc = 1;
	fix->query.subnet_prefix = 0xfec0000000000001ull;
	agent_fix = fix;
	fix->agent = ipoib_sa_agent_make(&fix->ca, AGENT_PORT);
	if (IS_ERR(fix->agent)) {
		kvfree(fix);
		return -ENOMEM;
	}
	for (i = 0; i < AGENT_DEVS; i++)
		list_add_tail(&fix->priv[i].agent_list, &fix->agent->devs);
	test->priv = fix;
	return 0;
}

/* The end leaves neither MADs nor address handles. */
static void agent_exit(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;

	if (fix->agent) {
		atomic_set(&fix->agent->monitors, 0);
		ipoib_sa_agent_free(fix->agent);
	}
	KUNIT_EXPECT_EQ(test, fix->unfreed, 0);
	KUNIT_EXPECT_EQ(test, fix->ahs_left, 0);
	KUNIT_EXPECT_EQ(test, fix->registered[0], 0);
	KUNIT_EXPECT_EQ(test, fix->registered[1], 0);
	KUNIT_EXPECT_FALSE(test, fix->sm.queued);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	kvfree(fix);
}

/* ---- steps ---- */

static void agent_run_sm(struct agent_fixture *fix)
{
	fix->sm.queued = false;
	ipoib_sa_agent_sm_work(&fix->agent->sm_work.work);
}

static void agent_run_sub(struct agent_fixture *fix)
{
	fix->sub.queued = false;
	ipoib_sa_sub_work(&fix->agent->sub_work.work);
}

/* End of a MAD */
static void agent_sent(struct agent_fixture *fix, unsigned int n, enum ib_wc_status status)
{
	struct ib_mad_send_wc wc = { .send_buf = &fix->mads[n].buf, .status = status };

	ipoib_sa_agent_sent(&fix->mad, &wc);
}

/* Answer of the SA to a MAD, and its end */
static void agent_answer(struct agent_fixture *fix, unsigned int n, u16 status)
{
	struct ib_sa_mad mad = { .mad_hdr.status = cpu_to_be16(status) };
	struct ib_mad_recv_wc wc = { .recv_buf.mad = (void *)&mad };

	ipoib_sa_agent_recv(&fix->mad, &fix->mads[n].buf, &wc);
	agent_sent(fix, n, IB_WC_SUCCESS);
}

static void agent_answered(void *owner, int status, const struct ib_sa_mad *asked,
			   const struct ib_mad_recv_wc *answer)
{
	struct agent_owner *it = owner;

	it->answers++;
	it->status = status;
	it->asked = asked;
	it->answer = answer;
}

static const u8 agent_data[] = { 1, 2, 3, 4, 5 };

static int agent_ask(struct agent_fixture *fix, struct agent_owner *owner)
{
	const struct ipoib_question question = {
		.method = IB_MGMT_METHOD_SET,
		.attr = 0x1234,
		.mask = IB_SA_COMP_MASK(9),
		.data = agent_data,
		.len = sizeof(agent_data),
		.timeout_ms = 700,
		.retries = 4,
		.owner = owner,
		.answer = agent_answered,
	};

	return ipoib_sa_agent_ask(fix->agent, &question);
}

/* The first two MADs subscribe. */
static void agent_subscribe(struct agent_fixture *fix)
{
	agent_run_sm(fix);
	ipoib_sa_monitor(fix->agent, true);
	agent_run_sub(fix);
}

static void agent_grant(struct agent_fixture *fix)
{
	agent_subscribe(fix);
	agent_answer(fix, 0, 0);
	agent_answer(fix, 1, 0);
	agent_run_sub(fix);
}

/* ---- the agent, and the address of the SA ---- */

static void agent_made(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	KUNIT_EXPECT_PTR_EQ(test, agent->ca, &fix->ca);
	KUNIT_EXPECT_EQ(test, agent->port, (u32)AGENT_PORT);
	KUNIT_EXPECT_TRUE(test, agent->tid);
	KUNIT_EXPECT_EQ(test, agent->limit.max, (unsigned int)IPOIB_QUERIES_MAX);
	KUNIT_EXPECT_EQ(test, agent->budget.interval, 60 * HZ);
	KUNIT_EXPECT_EQ(test, agent->budget.burst, 300);
	KUNIT_EXPECT_TRUE(test, agent->budget.flags & RATELIMIT_MSG_ON_RELEASE);
	KUNIT_EXPECT_TRUE(test, jiffies - agent->quiet_until < 60 * HZ);
	KUNIT_EXPECT_PTR_EQ(test, agent->mad, &fix->mad);
	KUNIT_EXPECT_PTR_EQ(test, fix->mad.context, agent);
	KUNIT_EXPECT_TRUE(test, fix->mad.send_handler == ipoib_sa_agent_sent);
	KUNIT_EXPECT_TRUE(test, fix->mad.recv_handler == ipoib_sa_agent_recv);
	KUNIT_EXPECT_EQ(test, fix->rmpp[0], (u8)IB_MGMT_RMPP_VERSION);
	KUNIT_EXPECT_TRUE(test, fix->sm.queued);
	KUNIT_EXPECT_EQ(test, fix->sm.delay, 0ul);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	fix->register_err = -EPERM;
	agent = ipoib_sa_agent_make(&fix->ca, AGENT_PORT);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(agent), -EPERM);
	fix->sm.queued = false;
}

static void agent_address(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;
	struct rdma_ah_attr *attr = &fix->ah_attr;

	agent->last_tid = cpu_to_be64(1);
	agent->sub_failures = 3;
	agent_run_sm(fix);
	KUNIT_EXPECT_TRUE(test, agent->sm);
	if (!agent->sm)
		return;
	KUNIT_EXPECT_EQ(test, agent->sm->lid, (u16)AGENT_SM_LID);
	KUNIT_EXPECT_EQ(test, agent->sm->lmc, (u8)1);
	KUNIT_EXPECT_EQ(test, agent->sm->pkey_index, (u16)AGENT_PKEY);
	KUNIT_EXPECT_PTR_EQ(test, agent->sm->ah, &fix->ah[0]);
	KUNIT_EXPECT_EQ(test, (int)attr->type, (int)RDMA_AH_ATTR_TYPE_IB);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_dlid(attr), (u32)AGENT_SM_LID);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_sl(attr), (u8)5);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_port_num(attr), (u32)AGENT_PORT);
	KUNIT_EXPECT_FALSE(test, rdma_ah_get_ah_flags(attr) & IB_AH_GRH);
	KUNIT_EXPECT_FALSE(test, fix->sm.queued);
	/* The new SM may have forgotten the port. */
	KUNIT_EXPECT_TRUE(test, agent->sub_stale);
	KUNIT_EXPECT_TRUE(test, agent->last_tid == 0);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 0u);
	KUNIT_EXPECT_EQ(test, fix->reviews[0], 1u);
	KUNIT_EXPECT_EQ(test, fix->reviews[1], 1u);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_TRUE(test, fix->sub.delay <= HZ / 10);

	fix->port[AGENT_PORT].immutable.core_cap_flags |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	fix->no_pkey = true;
	agent_run_sm(fix);
	KUNIT_EXPECT_PTR_EQ(test, agent->sm->ah, &fix->ah[1]);
	KUNIT_EXPECT_EQ(test, fix->ahs_left, 1);
	KUNIT_EXPECT_EQ(test, agent->sm->pkey_index, (u16)0);
	KUNIT_EXPECT_TRUE(test, rdma_ah_get_ah_flags(attr) & IB_AH_GRH);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(attr->grh.dgid.global.subnet_prefix),
			0xfec0000000000001ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(attr->grh.dgid.global.interface_id),
			0x0200000000000002ull);
}

/* An address that cannot be read is tried again; a port without SM has none. */
static void agent_no_address(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent_run_sm(fix);
	fix->sub.queued = false;
	fix->query_err = -EIO;
	agent_run_sm(fix);
	KUNIT_EXPECT_TRUE(test, fix->sm.queued);
	KUNIT_EXPECT_EQ(test, fix->sm.delay, HZ / 10ul);
	fix->query_err = 0;
	fix->ah_err = -ENOMEM;
	agent_run_sm(fix);
	KUNIT_EXPECT_TRUE(test, fix->sm.queued);
	KUNIT_EXPECT_TRUE(test, agent->sm && agent->sm->ah == &fix->ah[0]);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	fix->ah_err = 0;
	fix->query.sm_lid = 0xbfff;
	agent_run_sm(fix);
	KUNIT_EXPECT_TRUE(test, agent->sm);
	fix->query.sm_lid = 0xc000;
	agent_run_sm(fix);
	KUNIT_EXPECT_FALSE(test, agent->sm);
	KUNIT_EXPECT_FALSE(test, fix->sm.queued);
	KUNIT_EXPECT_EQ(test, fix->ahs_left, 0);
	fix->query.sm_lid = 1;
	agent_run_sm(fix);
	KUNIT_EXPECT_TRUE(test, agent->sm);
	fix->query.sm_lid = 0;
	agent_run_sm(fix);
	KUNIT_EXPECT_FALSE(test, agent->sm);
	KUNIT_EXPECT_EQ(test, fix->ahs_left, 0);
	KUNIT_EXPECT_EQ(test, agent_ask(fix, &fix->owner[0]), -EAGAIN);
	KUNIT_EXPECT_EQ(test, fix->created, 0u);
}

/* ---- questions ---- */

static void agent_asked(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	const struct ib_sa_mad *mad = &fix->mads[0].mad;
	const struct ib_mad_send_buf *buf = &fix->mads[0].buf;
	struct agent_owner *owner = &fix->owner[0];

	agent_run_sm(fix);
	fix->agent->tid = 0x50;
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), 0);
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), 0);
	KUNIT_EXPECT_EQ(test, fix->posted, 2u);
	KUNIT_EXPECT_PTR_EQ(test, buf->mad_agent, &fix->mad);
	KUNIT_EXPECT_PTR_EQ(test, buf->ah, &fix->ah[0]);
	KUNIT_EXPECT_EQ(test, buf->timeout_ms, 700);
	KUNIT_EXPECT_EQ(test, buf->retries, 4);
	KUNIT_EXPECT_EQ(test, fix->mads[0].pkey_index, (u16)AGENT_PKEY);
	KUNIT_EXPECT_EQ(test, mad->mad_hdr.base_version, (u8)1);
	KUNIT_EXPECT_EQ(test, mad->mad_hdr.mgmt_class, (u8)3);
	KUNIT_EXPECT_EQ(test, mad->mad_hdr.class_version, (u8)2);
	KUNIT_EXPECT_EQ(test, mad->mad_hdr.method, (u8)IB_MGMT_METHOD_SET);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mad->mad_hdr.attr_id), (u16)0x1234);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(mad->mad_hdr.tid), 0x1234567800000051ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(fix->mads[1].mad.mad_hdr.tid), 0x1234567800000052ull);
	KUNIT_EXPECT_TRUE(test, mad->sa_hdr.comp_mask == IB_SA_COMP_MASK(9));
	KUNIT_EXPECT_EQ(test, memcmp(mad->data, agent_data, sizeof(agent_data)), 0);
	KUNIT_EXPECT_EQ(test, (int)mad->data[sizeof(agent_data)], 0);
	/* Outstanding questions keep the address. */
	agent_run_sm(fix);
	KUNIT_EXPECT_EQ(test, fix->ahs_left, 2);
	agent_answer(fix, 0, 0);
	KUNIT_EXPECT_EQ(test, owner->answers, 1u);
	KUNIT_EXPECT_EQ(test, owner->status, 0);
	KUNIT_EXPECT_PTR_EQ(test, owner->asked, mad);
	KUNIT_EXPECT_TRUE(test, owner->answer);
	KUNIT_EXPECT_EQ(test, fix->returned, 1u);
	KUNIT_EXPECT_TRUE(test, fix->mads[0].freed);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&fix->agent->requests));
	KUNIT_EXPECT_EQ(test, fix->ahs_left, 2);
	agent_answer(fix, 1, 0x0300);
	KUNIT_EXPECT_EQ(test, owner->answers, 2u);
	KUNIT_EXPECT_EQ(test, owner->status, -ENOENT);
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->agent->requests));
	KUNIT_EXPECT_EQ(test, fix->ahs_left, 1);
	KUNIT_EXPECT_EQ(test, fix->unfreed, 0);
}

/* A question that is not answered, or not sent */
static void agent_no_answer(struct kunit *test)
{
	static const struct {
		enum ib_wc_status status;
		int err;
	} ends[] = {
		{ IB_WC_RESP_TIMEOUT_ERR, -ETIMEDOUT },
		{ IB_WC_WR_FLUSH_ERR, -EINTR },
		{ IB_WC_GENERAL_ERR, -EIO },
		{ IB_WC_SUCCESS, -EIO },
	};
	struct agent_fixture *fix = test->priv;
	struct agent_owner *owner = &fix->owner[0];
	struct ib_mad_recv_wc wc = {};
	struct ib_sa_mad mad = {};
	unsigned int i;

	agent_run_sm(fix);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), 0);
		agent_sent(fix, i, ends[i].status);
		KUNIT_EXPECT_EQ(test, owner->answers, i + 1);
		KUNIT_EXPECT_EQ(test, owner->status, ends[i].err);
		KUNIT_EXPECT_FALSE(test, owner->answer);
	}
	fix->post_err = -EINVAL;
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), -EINVAL);
	fix->create_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), -EBUSY);
	KUNIT_EXPECT_EQ(test, owner->answers, i);
	KUNIT_EXPECT_TRUE(test, list_empty(&fix->agent->requests));
	KUNIT_EXPECT_EQ(test, fix->unfreed, 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&fix->agent->sm->ref), 1u);
	/* A MAD without a request */
	wc.recv_buf.mad = (void *)&mad;
	ipoib_sa_agent_recv(&fix->mad, NULL, &wc);
	KUNIT_EXPECT_EQ(test, fix->returned, 1u);
}

static void agent_cancelled(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	unsigned int i;

	agent_run_sm(fix);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, agent_ask(fix, &fix->owner[i / 2]), 0);
	ipoib_sa_agent_cancel(fix->agent, &fix->owner[1]);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, (int)fix->mads[i].cancelled, (int)(i >= 2));
	KUNIT_EXPECT_EQ(test, fix->owner[1].answers, 0u);
}

/* Questions and addresses of the SA are freed once, whatever became of them. */
static void agent_freed(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct agent_owner *owner = &fix->owner[0];
	struct ipoib_agent *agent;

	/* Without an SM */
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), -EAGAIN);
	KUNIT_EXPECT_EQ(test, fix->freed, 1u);
	agent_run_sm(fix);
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), 0);
	KUNIT_EXPECT_EQ(test, fix->freed, 1u);
	agent_answer(fix, 0, 0);
	KUNIT_EXPECT_EQ(test, fix->freed, 2u);
	fix->post_err = -EINVAL;
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), -EINVAL);
	fix->create_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, agent_ask(fix, owner), -EBUSY);
	KUNIT_EXPECT_EQ(test, fix->freed, 4u);
	/* The address that is replaced, and one without a handle */
	agent_run_sm(fix);
	KUNIT_EXPECT_EQ(test, fix->freed, 5u);
	fix->ah_err = -ENOMEM;
	agent_run_sm(fix);
	KUNIT_EXPECT_EQ(test, fix->freed, 6u);
	/* An agent that cannot be made; the end of the other, and of its address */
	fix->register_err = -EPERM;
	agent = ipoib_sa_agent_make(&fix->ca, AGENT_PORT);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(agent), -EPERM);
	KUNIT_EXPECT_EQ(test, fix->freed, 7u);
	agent = fix->agent;
	fix->agent = NULL;
	ipoib_sa_agent_free(agent);
	KUNIT_EXPECT_EQ(test, fix->freed, 9u);
}

/* ---- subscription ---- */

/* InformInfo of a trap as in @mads, IBTA 13.4.8.3 */
static void agent_check_inform(struct kunit *test, unsigned int n, u8 trap, bool subscribe)
{
	const u8 octets[36] = {
		[16] = 0xff, 0xff, 0, 0, 0, 0, 1, subscribe, 0xff, 0xff, 0, trap,
		0, 0, subscribe ? 0 : 1, 18, 0, 0, 0, 4,
	};
	struct agent_fixture *fix = test->priv;
	const struct agent_mad *send = &fix->mads[n];

	KUNIT_EXPECT_TRUE(test, send->posted);
	KUNIT_EXPECT_EQ(test, memcmp(send->mad.data, octets, sizeof(octets)), 0);
	KUNIT_EXPECT_EQ(test, send->mad.mad_hdr.method, (u8)IB_MGMT_METHOD_SET);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(send->mad.mad_hdr.attr_id), (u16)3);
	KUNIT_EXPECT_TRUE(test, send->mad.sa_hdr.comp_mask == 0);
	KUNIT_EXPECT_EQ(test, send->buf.timeout_ms, 500);
	KUNIT_EXPECT_EQ(test, send->buf.retries, 1);
}

static void agent_granted(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent->sub_warned = true;
	agent_subscribe(fix);
	agent->sub_failures = 2;
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
	KUNIT_EXPECT_PTR_EQ(test, agent->reports, &fix->reports);
	KUNIT_EXPECT_PTR_EQ(test, fix->reports.context, agent);
	KUNIT_EXPECT_TRUE(test, fix->reports.send_handler == ipoib_sa_notice_sent);
	KUNIT_EXPECT_TRUE(test, fix->reports.recv_handler == ipoib_sa_notice_recv);
	KUNIT_EXPECT_EQ(test, fix->req.mgmt_class, (u8)3);
	KUNIT_EXPECT_EQ(test, fix->req.mgmt_class_version, (u8)2);
	KUNIT_EXPECT_TRUE(test, test_bit(IB_MGMT_METHOD_REPORT, fix->req.method_mask));
	KUNIT_EXPECT_EQ(test, fix->rmpp[1], (u8)0);
	KUNIT_EXPECT_EQ(test, fix->posted, 2u);
	agent_check_inform(test, 0, 66, true);
	agent_check_inform(test, 1, 67, true);
	agent_answer(fix, 0, 0);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
	KUNIT_EXPECT_EQ(test, fix->posted, 2u);
	KUNIT_EXPECT_FALSE(test, ipoib_sa_notice_on(agent));
	agent_answer(fix, 1, 0);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_EQ(test, fix->sub.delay, 0ul);
	fix->reviews[0] = 0;
	fix->reviews[1] = 0;
	agent_run_sub(fix);
	KUNIT_EXPECT_TRUE(test, ipoib_sa_notice_on(agent));
	KUNIT_EXPECT_EQ(test, fix->reviews[0], 1u);
	KUNIT_EXPECT_EQ(test, fix->reviews[1], 1u);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 0u);
	KUNIT_EXPECT_FALSE(test, agent->sub_warned);
	/* It stays. */
	agent_run_sub(fix);
	KUNIT_EXPECT_TRUE(test, ipoib_sa_notice_on(agent));
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	KUNIT_EXPECT_EQ(test, fix->posted, 2u);
}

/* The first user subscribes, and the last ends the subscription. */
static void agent_users(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent_run_sm(fix);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_OFF);
	KUNIT_EXPECT_EQ(test, fix->registered[1], 0);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	ipoib_sa_monitor(agent, true);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_TRUE(test, fix->sub.delay <= HZ / 10);
	agent_run_sub(fix);
	agent_answer(fix, 0, 0);
	agent_answer(fix, 1, 0);
	agent_run_sub(fix);
	ipoib_sa_monitor(agent, true);
	ipoib_sa_monitor(agent, false);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	ipoib_sa_monitor(agent, false);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_EQ(test, fix->sub.delay, 20ul * HZ);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_LEAVING);
	KUNIT_EXPECT_FALSE(test, ipoib_sa_notice_on(agent));
	KUNIT_EXPECT_EQ(test, fix->posted, 4u);
	agent_check_inform(test, 2, 66, false);
	agent_check_inform(test, 3, 67, false);
	/* The answers do not matter. */
	agent->sub_failures = 1;
	agent_sent(fix, 2, IB_WC_RESP_TIMEOUT_ERR);
	agent_answer(fix, 3, 0);
	KUNIT_EXPECT_EQ(test, fix->registered[1], 1);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_OFF);
	KUNIT_EXPECT_EQ(test, fix->registered[1], 0);
	KUNIT_EXPECT_FALSE(test, agent->reports);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 0u);
	KUNIT_EXPECT_EQ(test, fix->posted, 4u);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
}

static void agent_expect_pause(struct kunit *test, unsigned long pause)
{
	struct agent_fixture *fix = test->priv;

	KUNIT_EXPECT_EQ(test, (int)fix->agent->sub_state, (int)IPOIB_SUB_BACKOFF);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_TRUE(test, fix->sub.delay >= pause && fix->sub.delay <= pause * 3 / 2);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)fix->agent->sub_state, (int)IPOIB_SUB_ASKING);
}

/* The first error counts. Only a refusal is logged. */
static void agent_refused(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent_subscribe(fix);
	agent_sent(fix, 0, IB_WC_RESP_TIMEOUT_ERR);
	agent_answer(fix, 1, 0x0200);
	agent_run_sub(fix);
	KUNIT_EXPECT_FALSE(test, agent->sub_warned);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 1u);
	agent_expect_pause(test, HZ / 10);
	agent_answer(fix, 2, 0);
	agent_answer(fix, 3, 0x0200);
	agent_run_sub(fix);
	KUNIT_EXPECT_TRUE(test, agent->sub_warned);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 2u);
	/* Without an SM nothing is sent, nor waited for. */
	agent->sub_warned = false;
	fix->query.sm_lid = 0;
	agent_run_sm(fix);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 0u);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_EQ(test, fix->sub.delay, 0ul);
	agent_run_sub(fix);
	KUNIT_EXPECT_FALSE(test, agent->sub_warned);
	KUNIT_EXPECT_EQ(test, fix->posted, 4u);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 1u);
	fix->query.sm_lid = AGENT_SM_LID;
	agent_run_sm(fix);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, fix->posted, 6u);
	agent_answer(fix, 4, 0);
	agent_answer(fix, 5, 0);
	agent_run_sub(fix);
	KUNIT_EXPECT_TRUE(test, ipoib_sa_notice_on(agent));
	KUNIT_EXPECT_EQ(test, fix->registered[1], 1);
}

/* The last user leaves before the grant: the subscription ends with the grant. */
static void agent_left(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent_subscribe(fix);
	ipoib_sa_monitor(agent, false);
	agent_answer(fix, 0, 0);
	agent_answer(fix, 1, 0);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_LEAVING);
	KUNIT_EXPECT_EQ(test, fix->posted, 4u);
	agent_check_inform(test, 2, 66, false);
	agent_check_inform(test, 3, 67, false);
	agent_answer(fix, 2, 0);
	agent_answer(fix, 3, 0);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_OFF);
}

/* Another MAD agent of the port may have the reports. */
static void agent_taken(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	fix->register_err = -EINVAL;
	agent_subscribe(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_OFF);
	KUNIT_EXPECT_FALSE(test, agent->reports);
	KUNIT_EXPECT_TRUE(test, agent->sub_warned);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 1u);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_TRUE(test, fix->sub.delay >= HZ / 10 && fix->sub.delay <= HZ * 3 / 20);
	KUNIT_EXPECT_EQ(test, fix->created, 0u);
	fix->register_err = 0;
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
}

/* A grant of the previous SM does not count. */
static void agent_stale(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent_subscribe(fix);
	agent_run_sm(fix);
	agent_run_sub(fix);
	KUNIT_EXPECT_TRUE(test, agent->sub_stale);
	agent_answer(fix, 0, 0);
	agent_sent(fix, 1, IB_WC_RESP_TIMEOUT_ERR);
	agent_run_sub(fix);
	/* Requested again at once */
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
	KUNIT_EXPECT_EQ(test, agent->sub_failures, 0u);
	KUNIT_EXPECT_EQ(test, fix->posted, 4u);
	KUNIT_EXPECT_FALSE(test, agent->sub_stale);
	agent_answer(fix, 2, 0);
	agent_answer(fix, 3, 0);
	agent_run_sub(fix);
	KUNIT_EXPECT_TRUE(test, ipoib_sa_notice_on(agent));
	agent_run_sm(fix);
	KUNIT_EXPECT_TRUE(test, ipoib_sa_notice_on(agent));
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
	KUNIT_EXPECT_EQ(test, fix->posted, 6u);
	agent_check_inform(test, 4, 66, true);
	agent_answer(fix, 4, 0);
	agent_answer(fix, 5, 0);
	agent_run_sub(fix);
	/* A user that comes while the subscription ends has it made anew. */
	ipoib_sa_monitor(agent, false);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_LEAVING);
	ipoib_sa_monitor(agent, true);
	agent_answer(fix, 6, 0);
	agent_answer(fix, 7, 0);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
	KUNIT_EXPECT_EQ(test, fix->posted, 10u);
	KUNIT_EXPECT_EQ(test, fix->registered[1], 1);
}

/* Too many reports end the subscription for some minutes. */
static void agent_quiet(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;
	unsigned long begin = jiffies, until;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ipoib_sa_sub_until(agent), ULONG_MAX);
	agent->budget.burst = 3;
	agent_grant(fix);
	KUNIT_EXPECT_EQ(test, ipoib_sa_sub_until(agent), 0ul);
	for (i = 0; i < 3; i++)
		ipoib_sa_notice_charge(agent);
	KUNIT_EXPECT_FALSE(test, fix->sub.queued);
	ipoib_sa_notice_charge(agent);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_EQ(test, fix->sub.delay, 0ul);
	KUNIT_EXPECT_TRUE(test, time_in_range(agent->quiet_until, begin + 240 * HZ,
					      jiffies + 360 * HZ));
	agent->quiet_until = jiffies + 350 * HZ;
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_LEAVING);
	agent_answer(fix, 2, 0);
	agent_answer(fix, 3, 0);
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_OFF);
	KUNIT_EXPECT_TRUE(test, fix->sub.queued);
	KUNIT_EXPECT_TRUE(test, fix->sub.delay > 300 * HZ && fix->sub.delay <= 350 * HZ);
	/* Jiffies that are long past */
	agent->quiet_until = jiffies + 500 * HZ;
	KUNIT_EXPECT_EQ(test, ipoib_sa_sub_until(agent), 0ul);
	agent->quiet_until = jiffies + 470 * HZ;
	until = ipoib_sa_sub_until(agent);
	KUNIT_EXPECT_TRUE(test, until > 400 * HZ && until <= 470 * HZ);
}

/* The end of the agent ends the subscription, and all questions. */
static void agent_ends(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent_grant(fix);
	KUNIT_EXPECT_EQ(test, agent_ask(fix, &fix->owner[0]), 0);
	agent_mod(&agent->sm_work, 0);
	ipoib_sa_monitor(agent, false);
	fix->agent = NULL;
	ipoib_sa_agent_free(agent);
	KUNIT_EXPECT_EQ(test, fix->posted, 5u);
	agent_check_inform(test, 3, 66, false);
	agent_check_inform(test, 4, 67, false);
	KUNIT_EXPECT_EQ(test, fix->owner[0].answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->owner[0].status, -EINTR);
}

/* A subscription that is being made is cancelled; without one nothing is sent. */
static void agent_ends_early(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;

	agent_subscribe(fix);
	agent->ends = true;
	agent_run_sub(fix);
	agent_answer(fix, 0, 0);
	KUNIT_EXPECT_EQ(test, agent->sub_pending, 2u);
	agent->sub_pending = 0;
	agent_run_sub(fix);
	KUNIT_EXPECT_EQ(test, (int)agent->sub_state, (int)IPOIB_SUB_ASKING);
	ipoib_sa_monitor(agent, false);
	fix->agent = NULL;
	ipoib_sa_agent_free(agent);
	KUNIT_EXPECT_TRUE(test, fix->mads[1].cancelled);
	KUNIT_EXPECT_EQ(test, fix->posted, 4u);
	agent_check_inform(test, 2, 66, false);
	agent = ipoib_sa_agent_make(&fix->ca, AGENT_PORT);
	KUNIT_EXPECT_FALSE(test, IS_ERR(agent));
	if (IS_ERR(agent))
		return;
	fix->agent = agent;
	agent_run_sm(fix);
	fix->agent = NULL;
	ipoib_sa_agent_free(agent);
	KUNIT_EXPECT_EQ(test, fix->created, 4u);
}

/* ---- reports ---- */

/* A received report */
struct agent_report {
	struct ib_sa_mad mad;
	struct ib_wc wc;
	struct ib_mad_recv_wc recv;
};

static const union ib_gid agent_gid = {
	.raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 9 },
};

static void agent_make_report(struct agent_report *report, u16 trap, u64 tid)
{
	struct ipoib_notice *notice = (void *)report->mad.data;

	memset(report, 0, sizeof(*report));
	report->mad.mad_hdr.class_version = 2;
	report->mad.mad_hdr.method = IB_MGMT_METHOD_REPORT;
	report->mad.mad_hdr.attr_id = cpu_to_be16(2);
	report->mad.mad_hdr.tid = cpu_to_be64(tid);
	notice->type_producer = cpu_to_be32(0x80000004);
	notice->trap = cpu_to_be16(trap);
	memcpy(notice->gid, agent_gid.raw, sizeof(agent_gid));
	report->wc.src_qp = 1;
	/* The port of the SM has two LIDs. */
	report->wc.slid = AGENT_SM_LID + 1;
	report->wc.byte_len = sizeof(struct ib_grh) + 256;
	report->wc.pkey_index = 2;
	report->recv.wc = &report->wc;
	report->recv.recv_buf.mad = (void *)&report->mad;
}

static void agent_receive(struct agent_fixture *fix, struct agent_report *report)
{
	ipoib_sa_notice_recv(&fix->reports, NULL, &report->recv);
}

static void agent_expect_reports(struct kunit *test, unsigned int news, unsigned int ends)
{
	struct agent_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < AGENT_DEVS; i++) {
		KUNIT_EXPECT_EQ(test, fix->news[i], news);
		KUNIT_EXPECT_EQ(test, fix->ends[i], ends);
	}
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_NOTICES], (news + ends) * (s64)AGENT_DEVS);
}

/* Each report is answered, and delivered once. */
static void agent_reports(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct ipoib_agent *agent = fix->agent;
	struct ib_mad_send_wc sent = {};
	struct agent_report report;
	struct agent_mad *send = &fix->mads[2];

	agent_grant(fix);
	fix->returned = 0;
	agent_make_report(&report, 66, 0x77);
	agent_receive(fix, &report);
	agent_expect_reports(test, 1, 0);
	KUNIT_EXPECT_EQ(test, memcmp(&fix->gid, &agent_gid, sizeof(agent_gid)), 0);
	KUNIT_EXPECT_EQ(test, fix->returned, 1u);
	KUNIT_EXPECT_TRUE(test, send->posted);
	KUNIT_EXPECT_PTR_EQ(test, send->buf.mad_agent, &fix->reports);
	KUNIT_EXPECT_PTR_EQ(test, send->buf.ah, agent->sm->ah);
	KUNIT_EXPECT_EQ(test, send->pkey_index, (u16)2);
	report.mad.mad_hdr.method = 0x86;
	KUNIT_EXPECT_EQ(test, memcmp(&send->mad, &report.mad, sizeof(report.mad)), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&agent->sm->ref), 2u);
	sent.send_buf = &send->buf;
	ipoib_sa_notice_sent(&fix->reports, &sent);
	KUNIT_EXPECT_TRUE(test, send->freed);
	KUNIT_EXPECT_EQ(test, refcount_read(&agent->sm->ref), 1u);
	/* The answer was lost. */
	agent_make_report(&report, 66, 0x77);
	agent_receive(fix, &report);
	agent_expect_reports(test, 1, 0);
	KUNIT_EXPECT_EQ(test, fix->posted, 4u);
	agent_make_report(&report, 67, 0x78);
	agent_receive(fix, &report);
	agent_expect_reports(test, 1, 1);
	KUNIT_EXPECT_EQ(test, memcmp(&fix->gid, &agent_gid, sizeof(agent_gid)), 0);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_NOTICES_BAD], 0ll);
	KUNIT_EXPECT_EQ(test, refcount_read(&agent->sm->ref), 3u);
	/* Responses that are not sent */
	fix->post_err = -EINVAL;
	agent_make_report(&report, 66, 0x79);
	agent_receive(fix, &report);
	fix->create_err = -ENOMEM;
	agent_make_report(&report, 66, 0x7a);
	agent_receive(fix, &report);
	agent_expect_reports(test, 3, 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&agent->sm->ref), 3u);
	KUNIT_EXPECT_EQ(test, fix->unfreed, 2);
	KUNIT_EXPECT_EQ(test, fix->returned, 5u);
}

/* Change @n of a genuine report. Return: false if there is no such change */
static bool agent_forge(struct agent_report *report, unsigned int n)
{
	switch (n) {
	case 0:
		report->wc.src_qp = 0;
		return true;
	case 1:
		report->wc.slid = AGENT_SM_LID + 2;
		return true;
	case 2:
		report->wc.byte_len--;
		return true;
	case 3:
		report->wc.byte_len++;
		return true;
	case 4:
		report->mad.mad_hdr.class_version = 1;
		return true;
	case 5:
		report->mad.mad_hdr.method = IB_MGMT_METHOD_TRAP;
		return true;
	case 6:
		report->mad.mad_hdr.attr_id = cpu_to_be16(3);
		return true;
	case 7:
		report->mad.mad_hdr.attr_mod = cpu_to_be32(1);
		return true;
	case 8:
		report->mad.mad_hdr.status = cpu_to_be16(0x100);
		return true;
	case 9:
		report->mad.mad_hdr.tid = 0;
		return true;
	case 10:
		report->mad.rmpp_hdr.rmpp_type = 1;
		return true;
	case 11:
		report->mad.data[16] = 0xfe;
		return true;
	default:
		return false;
	}
}

/* A report that is not from the SA, or malformed, is neither delivered nor answered. */
static void agent_forged(struct kunit *test)
{
	struct agent_fixture *fix = test->priv;
	struct agent_report report;
	unsigned int i;

	agent_grant(fix);
	for (i = 0; ; i++) {
		agent_make_report(&report, 66, i + 1);
		if (!agent_forge(&report, i))
			break;
		agent_receive(fix, &report);
		KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_NOTICES_BAD], (i + 1) * (s64)AGENT_DEVS);
	}
	KUNIT_EXPECT_EQ(test, i, 12u);
	agent_expect_reports(test, 0, 0);
	KUNIT_EXPECT_EQ(test, fix->created, 2u);
	KUNIT_EXPECT_EQ(test, refcount_read(&fix->agent->sm->ref), 1u);
	KUNIT_EXPECT_TRUE(test, fix->agent->last_tid == 0);
	KUNIT_EXPECT_EQ(test, fix->returned, i + 2);
	agent_receive(fix, &report);
	agent_expect_reports(test, 1, 0);
	/* Without an SM */
	fix->query.sm_lid = 0;
	agent_run_sm(fix);
	agent_make_report(&report, 66, 0x99);
	agent_receive(fix, &report);
	agent_expect_reports(test, 1, 0);
	KUNIT_EXPECT_EQ(test, fix->created, 3u);
}

static struct kunit_case ipoib_agent_cases[] = {
	KUNIT_CASE(agent_made),
	KUNIT_CASE(agent_address),
	KUNIT_CASE(agent_no_address),
	KUNIT_CASE(agent_asked),
	KUNIT_CASE(agent_no_answer),
	KUNIT_CASE(agent_cancelled),
	KUNIT_CASE(agent_freed),
	KUNIT_CASE(agent_granted),
	KUNIT_CASE(agent_users),
	KUNIT_CASE(agent_refused),
	KUNIT_CASE(agent_left),
	KUNIT_CASE(agent_taken),
	KUNIT_CASE(agent_stale),
	KUNIT_CASE(agent_quiet),
	KUNIT_CASE(agent_ends),
	KUNIT_CASE(agent_ends_early),
	KUNIT_CASE(agent_reports),
	KUNIT_CASE(agent_forged),
	{}
};

struct kunit_suite ipoib_agent_suite = {
	.name = "ipoib_agent",
	.init = agent_init,
	.exit = agent_exit,
	.test_cases = ipoib_agent_cases,
};
