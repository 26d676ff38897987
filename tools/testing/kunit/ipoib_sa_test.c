// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the InfiniBand fabric: joins, questions about groups and their answers, port, events,
 * path queries
 */
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_stat_add			sa_stat_add
#define ipoib_neigh_answered		sa_neigh_answered
#define ipoib_neigh_all_stale		sa_neigh_all_stale
#define ipoib_mcast_answer		sa_mcast_answer
#define ipoib_mcast_record		sa_mcast_record
#define ipoib_mcast_route_listed	sa_mcast_route_listed
#define ipoib_mcast_sm_changed		sa_mcast_sm_changed
#define ipoib_sa_query_group		sa_query_group
#define ipoib_sa_query_refresh		sa_query_refresh
#define ipoib_sa_query_cancel		sa_query_cancel
#define ipoib_sa_agent_make		sa_agent_make
#define ipoib_sa_agent_free		sa_agent_free
#define ipoib_sa_agent_ask		sa_agent_ask
#define ipoib_sa_agent_cancel		sa_agent_cancel

#include "ipoib.h"
#include "sa/sa.h"

/* No RDMA core, and no works */
#define ib_query_port(ca, port, attr)			sa_query_port(ca, port, attr)
#define rdma_query_gid(ca, port, i, gid)		sa_query_gid(i, gid)
#define ib_query_pkey(ca, port, i, pkey)		sa_query_pkey(i, pkey)
#define ib_find_cached_pkey(ca, port, pkey, i)		sa_find_pkey(pkey, i)
#define ib_get_cached_pkey(ca, port, i, pkey)		sa_get_pkey(i, pkey)
#define ib_sa_path_rec_get				sa_path_rec_get
#define ib_sa_cancel_query(id, query)			sa_cancel_query(id, query)
#define ib_sa_join_multicast				sa_join_multicast
#define ib_sa_free_multicast				sa_free_multicast
#define ib_sa_get_mcmember_rec(ca, port, mgid, rec)	sa_get_record(mgid, rec)
#define ib_init_ah_from_mcmember			sa_init_ah
#define mod_delayed_work(wq, work, delay)		sa_mod(work, delay)
#define ipoib_ctl_post(priv, event)			set_bit(event, &(priv)->ctl.events)

#define SA_PORT		1
#define SA_QUERY	((struct ib_sa_query *)0x100)
#define SA_HELD		((struct ib_sa_multicast *)0x200)
/* Records of a table of the SA have 52 octets, and are 56 octets apart. */
#define SA_STEP		56
#define SA_RECORDS	4

/**
 * struct sa_fixture - fixture of a case
 * @ca: an HCA
 * @port: its port is the second entry
 * @query: result of ib_query_port()
 * @query_err: its error
 * @gid_err: error of rdma_query_gid()
 * @pkeys: P_Key table of the HCA, and of the cache
 * @found: index that the cache finds
 * @agent: agent of the port
 * @make_err: result of an agent that cannot be made
 * @made: agents made less agents freed
 * @asked: last question
 * @wire: its data
 * @asks: number of questions
 * @ask_err: result of a question that cannot be sent
 * @cancels: cancelled questions of @priv
 * @priv: an interface
 * @parent: another one
 * @dev: net_device of both
 * @neigh: a neighbour of @priv
 * @mcast: a group of @priv
 * @broadcast: the broadcast group of @priv
 * @sm_works: runs of the work that finds the SA
 * @sub_works: runs of the work of the subscription
 * @stale: times that all paths became stale
 * @sm_changes: changes of the SM
 * @answers: answers to joins, groups and lists
 * @status: status of the last
 * @mgid: group of the last
 * @rec: record of the last
 * @n: groups of the last list
 * @mgids: their MGIDs
 * @path: request of a path, or its answer
 * @path_mask: component mask of the request
 * @path_timeout: timeout of the request
 * @path_callback: callback of the request
 * @path_id: result of the request
 * @cancelled: number of the query cancelled last
 * @join: request of a join
 * @join_mask: its component mask
 * @join_callback: its callback
 * @stats: counters
 */
struct sa_fixture {
	struct ib_device ca;
	struct ib_port_data port[SA_PORT + 1];
	struct ib_port_attr query;
	int query_err;
	int gid_err;
	u16 pkeys[3];
	int found;
	struct ipoib_agent agent;
	int make_err;
	int made;
	struct ipoib_question asked;
	struct ipoib_member_record wire;
	unsigned int asks;
	int ask_err;
	unsigned int cancels;
	struct ipoib_dev priv;
	struct ipoib_dev parent;
	struct net_device *dev;
	struct ipoib_neigh neigh;
	struct ipoib_mcast mcast;
	struct ipoib_mcast broadcast;
	unsigned int sm_works;
	unsigned int sub_works;
	unsigned int stale;
	unsigned int sm_changes;
	unsigned int answers;
	int status;
	union ib_gid mgid;
	struct ib_sa_mcmember_rec rec;
	unsigned int n;
	union ib_gid mgids[SA_RECORDS];
	struct sa_path_rec path;
	ib_sa_comp_mask path_mask;
	unsigned long path_timeout;
	void (*path_callback)(int status, struct sa_path_rec *rec, ipoib_num_paths_t n,
			      void *context);
	int path_id;
	int cancelled;
	struct ib_sa_mcmember_rec join;
	ib_sa_comp_mask join_mask;
	int (*join_callback)(int status, struct ib_sa_multicast *member);
	s64 stats[IPOIB_NR_STATS];
};

/* The fixture of the running case */
static struct sa_fixture *sa_fix;

/* ---- functions of the driver ---- */

void ipoib_stat_add(struct ipoib_dev *priv, enum ipoib_stat stat, s64 n)
{
	sa_fix->stats[stat] += n;
}

void ipoib_neigh_answered(struct ipoib_neigh *neigh, int status, const struct sa_path_rec *rec)
{
	sa_fix->answers++;
	sa_fix->status = status;
	if (rec)
		sa_fix->path = *rec;
}

void ipoib_neigh_all_stale(struct ipoib_dev *priv)
{
	sa_fix->stale++;
}

void ipoib_mcast_answer(struct ipoib_mcast *mcast, int status)
{
	sa_fix->answers++;
	sa_fix->status = status;
	sa_fix->mgid = mcast->mgid;
}

void ipoib_mcast_record(struct ipoib_dev *priv, const union ib_gid *mgid, int status,
			const struct ib_sa_mcmember_rec *rec)
{
	sa_fix->answers++;
	sa_fix->status = status;
	sa_fix->mgid = *mgid;
	if (!status)
		sa_fix->rec = *rec;
}

void ipoib_mcast_route_listed(struct ipoib_dev *priv, int status, const union ib_gid *mgids,
			      unsigned int n)
{
	sa_fix->answers++;
	sa_fix->status = status;
	sa_fix->n = n;
	if (n <= SA_RECORDS)
		memcpy(sa_fix->mgids, mgids, n * sizeof(*mgids));
}

void ipoib_mcast_sm_changed(struct ipoib_dev *priv)
{
	sa_fix->sm_changes++;
}

struct ipoib_agent *ipoib_sa_agent_make(struct ib_device *ca, u32 port)
{
	if (sa_fix->make_err || ca != &sa_fix->ca || port != SA_PORT)
		return ERR_PTR(sa_fix->make_err ?: -ENODEV);
	sa_fix->made++;
	return &sa_fix->agent;
}

void ipoib_sa_agent_free(struct ipoib_agent *agent)
{
	sa_fix->made--;
}

int ipoib_sa_agent_ask(struct ipoib_agent *agent, const struct ipoib_question *question)
{
	sa_fix->asks++;
	sa_fix->asked = *question;
	memset(&sa_fix->wire, 0, sizeof(sa_fix->wire));
	memcpy(&sa_fix->wire, question->data, min(question->len, sizeof(sa_fix->wire)));
	return sa_fix->ask_err;
}

void ipoib_sa_agent_cancel(struct ipoib_agent *agent, const void *owner)
{
	sa_fix->cancels += agent == &sa_fix->agent && owner == &sa_fix->priv;
}

/* ---- RDMA core ---- */

static int sa_query_port(struct ib_device *ca, u32 port, struct ib_port_attr *attr)
{
	*attr = sa_fix->query;
	return sa_fix->query_err;
}

static int sa_query_gid(int i, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[15] = i + 1;
	return sa_fix->gid_err;
}

static int sa_get_pkey(unsigned int i, u16 *pkey)
{
	if (i >= ARRAY_SIZE(sa_fix->pkeys))
		return -EINVAL;
	*pkey = sa_fix->pkeys[i];
	return 0;
}

static int sa_query_pkey(unsigned int i, u16 *pkey)
{
	return i ? -EINVAL : sa_get_pkey(i, pkey);
}

static int sa_find_pkey(u16 pkey, u16 *i)
{
	*i = sa_fix->found < 0 ? 0 : sa_fix->found;
	return sa_fix->found < 0 ? sa_fix->found : 0;
}

static int sa_path_rec_get(struct ib_sa_client *client, struct ib_device *ca, u32 port,
			   struct sa_path_rec *rec, ib_sa_comp_mask mask, unsigned long timeout_ms,
			   gfp_t gfp,
			   void (*callback)(int status, struct sa_path_rec *rec,
					    ipoib_num_paths_t n, void *context),
			   void *context, struct ib_sa_query **query)
{
	if (client != &ipoib_sa_client || ca != &sa_fix->ca || port != SA_PORT ||
	    context != &sa_fix->neigh)
		return -ENODEV;
	sa_fix->path = *rec;
	sa_fix->path_mask = mask;
	sa_fix->path_timeout = timeout_ms;
	sa_fix->path_callback = callback;
	*query = SA_QUERY;
	return sa_fix->path_id;
}

static void sa_cancel_query(int id, struct ib_sa_query *query)
{
	if (query == SA_QUERY)
		sa_fix->cancelled = id;
}

static struct ib_sa_multicast *sa_join_multicast(struct ib_sa_client *client,
						 struct ib_device *ca, u32 port,
						 struct ib_sa_mcmember_rec *rec,
						 ib_sa_comp_mask mask, gfp_t gfp,
						 int (*callback)(int status,
								 struct ib_sa_multicast *member),
						 void *context)
{
	if (client != &ipoib_sa_client || ca != &sa_fix->ca || port != SA_PORT ||
	    (context != &sa_fix->mcast && context != &sa_fix->broadcast))
		return ERR_PTR(-ENODEV);
	sa_fix->join = *rec;
	sa_fix->join_mask = mask;
	sa_fix->join_callback = callback;
	return SA_HELD;
}

static void sa_free_multicast(struct ib_sa_multicast *member)
{
}

/* A member of one group, with the JoinState FullMember */
static int sa_get_record(const union ib_gid *mgid, struct ib_sa_mcmember_rec *rec)
{
	memset(rec, 0, sizeof(*rec));
	rec->join_state = IPOIB_JOIN_FULL;
	return memcmp(mgid, &sa_fix->mcast.mgid, sizeof(*mgid)) ? -EADDRNOTAVAIL : 0;
}

static int sa_init_ah(struct ib_device *ca, u32 port, struct ib_sa_mcmember_rec *rec,
		      struct net_device *dev, enum ib_gid_type type, struct rdma_ah_attr *attr)
{
	if (ca != &sa_fix->ca || port != SA_PORT || rec != &sa_fix->mcast.rec || dev ||
	    type != IB_GID_TYPE_IB)
		return -ENODEV;
	attr->sl = 7;
	return -EAGAIN;
}

static void sa_mod(struct delayed_work *work, unsigned long delay)
{
	if (!delay && work == &sa_fix->agent.sm_work)
		sa_fix->sm_works++;
	if (!delay && work == &sa_fix->agent.sub_work)
		sa_fix->sub_works++;
}

#include "sa/sa.c"

static const union ib_gid sa_mgid = {
	.raw = { 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [15] = 9 },
};

/* Components of a join that creates no group: MGID, port GID, JoinState, P_Key */
#define SA_COMPS	(IB_SA_COMP_MASK(0) | IB_SA_COMP_MASK(1) | IB_SA_COMP_MASK(7) | \
			 IB_SA_COMP_MASK(16))
/* Q_Key, MTU, TClass, rate, SL, FlowLabel, HopLimit */
#define SA_MORE		(IB_SA_COMP_MASK(2) | IB_SA_COMP_MASK(4) | IB_SA_COMP_MASK(5) | \
			 IB_SA_COMP_MASK(6) | IB_SA_COMP_MASK(8) | IB_SA_COMP_MASK(9) | \
			 IB_SA_COMP_MASK(12) | IB_SA_COMP_MASK(13) | IB_SA_COMP_MASK(14))

static int sa_init(struct kunit *test)
{
	struct sa_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_dev *priv;

	if (!fix)
		return -ENOMEM;
	fix->dev = kvzalloc(sizeof(*fix->dev), GFP_KERNEL);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	priv = &fix->priv;
	fix->ca.port_data = fix->port;
	fix->port[SA_PORT].immutable.core_cap_flags = RDMA_CORE_CAP_PROT_IB | RDMA_CORE_CAP_IB_SA;
	spin_lock_init(&fix->agent.lock);
	INIT_LIST_HEAD(&fix->agent.devs);
	spin_lock_init(&priv->neigh.lock);
	refcount_set(&priv->queries, 1);
	priv->netdev = fix->dev;
	priv->ca = &fix->ca;
	priv->port = SA_PORT;
	priv->pkey = 0x8001;
	priv->local_gid.raw[15] = 0x55;
	priv->agent = &fix->agent;
	fix->parent.agent = &fix->agent;
	fix->parent.neigh.limit = &fix->agent.limit;
	fix->neigh.priv = priv;
	fix->neigh.gid.raw[15] = 0x66;
	fix->mcast.priv = priv;
	fix->mcast.mgid = sa_mgid;
	fix->mcast.rec.mlid = cpu_to_be16(0xc011);
	fix->broadcast.priv = priv;
	fix->broadcast.rec.mlid = cpu_to_be16(0xc000);
	fix->broadcast.rec.qkey = cpu_to_be32(0xb1b);
	fix->broadcast.rec.mtu = IB_MTU_2048;
	fix->broadcast.rec.traffic_class = 0x5a;
	fix->broadcast.rec.rate = IB_RATE_10_GBPS;
	fix->broadcast.rec.sl = 6;
	fix->broadcast.rec.flow_label = cpu_to_be32(0x12345);
	fix->broadcast.rec.hop_limit = 3;
	rcu_assign_pointer(priv->broadcast, &fix->broadcast);
	sa_fix = fix;
	test->priv = fix;
	return 0;
}

static void sa_exit(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;

	kvfree(fix->dev);
	kvfree(fix);
}

/* ---- groups ---- */

/* A record that is 0 but for the components of each join */
static bool sa_is_plain(const struct ib_sa_mcmember_rec *rec, u8 state)
{
	struct ib_sa_mcmember_rec plain = {
		.mgid = sa_mgid,
		.port_gid.raw[15] = 0x55,
		.pkey = cpu_to_be16(0x8001),
		.join_state = state,
	};

	return rec->join_state == state && rec->pkey == plain.pkey &&
	       !memcmp(&rec->mgid, &plain.mgid, sizeof(rec->mgid)) &&
	       !memcmp(&rec->port_gid, &plain.port_gid, sizeof(rec->port_gid)) &&
	       !rec->mlid && !rec->qkey && !rec->mtu && !rec->mtu_selector && !rec->rate &&
	       !rec->rate_selector && !rec->sl && !rec->traffic_class && !rec->flow_label &&
	       !rec->hop_limit;
}

/* Only a full member creates a group, like the broadcast group. */
static void sa_join(struct kunit *test)
{
	const struct ipoib_fabric_ops *ops = &ipoib_sa_ops;
	struct sa_fixture *fix = test->priv;
	struct ib_sa_multicast member = { .context = &fix->mcast };
	struct ib_sa_mcmember_rec *rec = &fix->join;

	KUNIT_EXPECT_PTR_EQ(test, ops->join(&fix->mcast, IPOIB_JOIN_FULL), SA_HELD);
	KUNIT_EXPECT_TRUE(test, fix->join_mask == (SA_COMPS | SA_MORE));
	KUNIT_EXPECT_EQ(test, memcmp(&rec->mgid, &sa_mgid, sizeof(sa_mgid)), 0);
	KUNIT_EXPECT_EQ(test, rec->port_gid.raw[15], (u8)0x55);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec->pkey), (u16)0x8001);
	KUNIT_EXPECT_EQ(test, (int)rec->join_state, (int)IPOIB_JOIN_FULL);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec->mlid), (u16)0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(rec->qkey), 0xb1bu);
	KUNIT_EXPECT_EQ(test, (int)rec->mtu_selector, (int)IB_SA_EQ);
	KUNIT_EXPECT_EQ(test, (int)rec->mtu, (int)IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, rec->traffic_class, (u8)0x5a);
	KUNIT_EXPECT_EQ(test, (int)rec->rate_selector, (int)IB_SA_EQ);
	KUNIT_EXPECT_EQ(test, (int)rec->rate, (int)IB_RATE_10_GBPS);
	KUNIT_EXPECT_EQ(test, rec->sl, (u8)6);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(rec->flow_label), 0x12345u);
	KUNIT_EXPECT_EQ(test, rec->hop_limit, (u8)3);
	/* The MLID of a group that is held */
	fix->mcast.held = IPOIB_JOIN_FULL;
	ops->join(&fix->mcast, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec->mlid), (u16)0xc011);

	ops->join(&fix->mcast, IPOIB_JOIN_NON);
	KUNIT_EXPECT_TRUE(test, fix->join_mask == SA_COMPS);
	KUNIT_EXPECT_TRUE(test, sa_is_plain(rec, IPOIB_JOIN_NON));
	fix->broadcast.mgid = sa_mgid;
	ops->join(&fix->broadcast, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_TRUE(test, fix->join_mask == SA_COMPS);
	KUNIT_EXPECT_TRUE(test, sa_is_plain(rec, IPOIB_JOIN_FULL));
	RCU_INIT_POINTER(fix->priv.broadcast, NULL);
	ops->join(&fix->mcast, IPOIB_JOIN_FULL);
	KUNIT_EXPECT_TRUE(test, fix->join_mask == SA_COMPS);
	KUNIT_EXPECT_TRUE(test, sa_is_plain(rec, IPOIB_JOIN_FULL));

	KUNIT_EXPECT_EQ(test, fix->join_callback(-EINVAL, &member), 0);
	KUNIT_EXPECT_EQ(test, fix->answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->status, -EINVAL);
	KUNIT_EXPECT_EQ(test, memcmp(&fix->mgid, &sa_mgid, sizeof(sa_mgid)), 0);
	KUNIT_EXPECT_TRUE(test, ops->leave == sa_free_multicast);
}

static void sa_held(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	union ib_gid other = {};

	KUNIT_EXPECT_EQ(test, (int)ipoib_sa_held(&fix->priv, &sa_mgid), (int)IPOIB_JOIN_FULL);
	KUNIT_EXPECT_EQ(test, (int)ipoib_sa_held(&fix->priv, &other), 0);
	fix->port[SA_PORT].immutable.core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
	KUNIT_EXPECT_EQ(test, (int)ipoib_sa_held(&fix->priv, &sa_mgid), 0);
}

static void sa_handle(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	struct rdma_ah_attr attr = {};

	KUNIT_EXPECT_EQ(test, ipoib_sa_ops.group_ah(&fix->priv, &fix->mcast.rec, &attr), -EAGAIN);
	KUNIT_EXPECT_EQ(test, attr.sl, (u8)7);
}

/* Answer of the SA to the last question. Without @mgid an error */
static void sa_answer(struct sa_fixture *fix, int status, const union ib_gid *mgid)
{
	struct ipoib_member_record *wire;
	struct ib_mad_recv_wc wc = {};
	struct ib_sa_mad asked = {}, mad = {};

	memcpy(asked.data, &fix->wire, sizeof(fix->wire));
	if (mgid) {
		wire = (void *)mad.data;
		memcpy(wire->mgid, mgid, sizeof(wire->mgid));
		wire->mlid = cpu_to_be16(0xc022);
		wc.recv_buf.mad = (void *)&mad;
	}
	fix->asked.answer(fix->asked.owner, status, &asked, mgid ? &wc : NULL);
}

static void sa_asked(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	union ib_gid other = sa_mgid;

	KUNIT_EXPECT_EQ(test, ipoib_sa_query_group(priv, &sa_mgid), 0);
	KUNIT_EXPECT_EQ(test, fix->asked.method, (u8)IB_MGMT_METHOD_GET);
	KUNIT_EXPECT_EQ(test, fix->asked.attr, (u16)0x38);
	KUNIT_EXPECT_TRUE(test, fix->asked.mask == IB_SA_COMP_MASK(0));
	KUNIT_EXPECT_EQ(test, fix->asked.len, (size_t)52);
	KUNIT_EXPECT_EQ(test, fix->asked.timeout_ms, 250);
	KUNIT_EXPECT_EQ(test, fix->asked.retries, 3);
	KUNIT_EXPECT_PTR_EQ(test, fix->asked.owner, priv);
	KUNIT_EXPECT_EQ(test, memcmp(fix->wire.mgid, &sa_mgid, sizeof(sa_mgid)), 0);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_READS], 1ll);
	KUNIT_EXPECT_EQ(test, refcount_read(&priv->queries), 2u);
	sa_answer(fix, 0, &sa_mgid);
	KUNIT_EXPECT_EQ(test, fix->answers, 1u);
	KUNIT_EXPECT_EQ(test, fix->status, 0);
	KUNIT_EXPECT_EQ(test, memcmp(&fix->mgid, &sa_mgid, sizeof(sa_mgid)), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(fix->rec.mlid), (u16)0xc022);
	KUNIT_EXPECT_EQ(test, refcount_read(&priv->queries), 1u);
	/* A record of another group */
	other.raw[15]++;
	ipoib_sa_query_group(priv, &sa_mgid);
	sa_answer(fix, 0, &other);
	KUNIT_EXPECT_EQ(test, fix->status, -EPROTO);
	KUNIT_EXPECT_EQ(test, memcmp(&fix->mgid, &sa_mgid, sizeof(sa_mgid)), 0);
	ipoib_sa_query_group(priv, &sa_mgid);
	sa_answer(fix, -ENOENT, NULL);
	KUNIT_EXPECT_EQ(test, fix->status, -ENOENT);
	KUNIT_EXPECT_EQ(test, fix->answers, 3u);
	KUNIT_EXPECT_EQ(test, refcount_read(&priv->queries), 1u);

	fix->mcast.held = IPOIB_JOIN_NON;
	KUNIT_EXPECT_EQ(test, ipoib_sa_query_refresh(&fix->mcast), 0);
	KUNIT_EXPECT_EQ(test, fix->asked.method, (u8)IB_MGMT_METHOD_SET);
	KUNIT_EXPECT_TRUE(test, fix->asked.mask == SA_COMPS);
	KUNIT_EXPECT_EQ(test, (int)fix->wire.scope_state, (int)IPOIB_JOIN_NON);
	KUNIT_EXPECT_EQ(test, fix->asked.retries, 3);
	sa_answer(fix, 0, &sa_mgid);
	KUNIT_EXPECT_EQ(test, fix->status, 0);
}

static void sa_not_asked(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;

	fix->ask_err = -EAGAIN;
	KUNIT_EXPECT_EQ(test, ipoib_sa_query_groups(priv), -EAGAIN);
	KUNIT_EXPECT_EQ(test, refcount_read(&priv->queries), 1u);
	KUNIT_EXPECT_EQ(test, fix->answers, 0u);
	KUNIT_EXPECT_EQ(test, fix->asks, 1u);
	ipoib_sa_query_cancel(priv);
	KUNIT_EXPECT_EQ(test, fix->cancels, 1u);
	priv->agent = NULL;
	KUNIT_EXPECT_EQ(test, ipoib_sa_query_group(priv, &sa_mgid), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, fix->asks, 1u);
	KUNIT_EXPECT_EQ(test, fix->stats[IPOIB_MCAST_READS], 1ll);
	ipoib_sa_query_cancel(priv);
	KUNIT_EXPECT_EQ(test, fix->cancels, 1u);
}

/* A table of the SA in two segments, with @offset as the distance of its records */
static void sa_list(struct sa_fixture *fix, u16 offset, int len)
{
	struct ib_sa_mad *mads = kcalloc(2, sizeof(*mads), GFP_KERNEL | __GFP_NOFAIL);
	struct ib_mad_recv_wc wc = { .mad_len = len };
	struct ib_mad_recv_buf second = {};
	unsigned int i, at;

	for (i = 0; i < SA_RECORDS; i++)
		for (at = i * SA_STEP; at < i * SA_STEP + 16; at++)
			mads[at / 200].data[at % 200] = 0xf0 + i;
	mads->sa_hdr.attr_offset = cpu_to_be16(offset);
	wc.recv_buf.mad = (void *)&mads[0];
	second.mad = (void *)&mads[1];
	INIT_LIST_HEAD(&wc.rmpp_list);
	list_add_tail(&wc.recv_buf.list, &wc.rmpp_list);
	list_add_tail(&second.list, &wc.rmpp_list);
	ipoib_sa_query_groups(&fix->priv);
	fix->asked.answer(fix->asked.owner, 0, mads, &wc);
	kfree(mads);
}

static void sa_listed(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	unsigned int i;

	sa_list(fix, SA_STEP / 8, IB_MGMT_SA_HDR + SA_RECORDS * SA_STEP);
	KUNIT_EXPECT_EQ(test, fix->asked.method, (u8)0x12);
	KUNIT_EXPECT_EQ(test, fix->asked.attr, (u16)0x38);
	KUNIT_EXPECT_TRUE(test, fix->asked.mask == IB_SA_COMP_MASK(7));
	KUNIT_EXPECT_EQ(test, fix->asked.timeout_ms, 2000);
	KUNIT_EXPECT_EQ(test, fix->asked.retries, 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(fix->wire.pkey), (u16)0x8001);
	KUNIT_EXPECT_EQ(test, fix->status, 0);
	KUNIT_EXPECT_EQ(test, fix->n, (unsigned int)SA_RECORDS);
	for (i = 0; i < SA_RECORDS * 16; i++)
		KUNIT_EXPECT_EQ(test, fix->mgids[i / 16].raw[i % 16], (u8)(0xf0 + i / 16));
	/* Records that overlap, and tables without a record */
	sa_list(fix, SA_STEP / 8 - 1, IB_MGMT_SA_HDR + SA_STEP);
	KUNIT_EXPECT_EQ(test, fix->status, -EPROTO);
	KUNIT_EXPECT_EQ(test, fix->n, 0u);
	sa_list(fix, SA_STEP / 8, IB_MGMT_SA_HDR + 51);
	KUNIT_EXPECT_EQ(test, fix->status, -EPROTO);
	sa_list(fix, SA_STEP / 8, IB_MGMT_SA_HDR + 52);
	KUNIT_EXPECT_EQ(test, fix->status, 0);
	KUNIT_EXPECT_EQ(test, fix->n, 1u);
	sa_list(fix, SA_STEP / 8, IB_MGMT_SA_HDR);
	KUNIT_EXPECT_EQ(test, fix->status, -ENOMEM);
	KUNIT_EXPECT_EQ(test, fix->answers, 5u);
	ipoib_sa_query_groups(&fix->priv);
	sa_answer(fix, -ETIMEDOUT, NULL);
	KUNIT_EXPECT_EQ(test, fix->status, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fix->n, 0u);
	KUNIT_EXPECT_EQ(test, refcount_read(&fix->priv.queries), 1u);
}

/* ---- port ---- */

static void sa_ports(struct kunit *test)
{
	const struct ipoib_fabric_ops *ops = &ipoib_sa_ops;
	struct sa_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	struct ipoib_port port = {};

	fix->query.state = IB_PORT_ACTIVE;
	fix->query.lid = 9;
	fix->query.lmc = 2;
	fix->query.active_mtu = IB_MTU_2048;
	fix->query.max_mtu = IB_MTU_4096;
	fix->query.active_speed = IB_SPEED_QDR;
	fix->query.active_width = IB_WIDTH_4X;
	fix->pkeys[0] = 0x7fff;
	KUNIT_EXPECT_EQ(test, ops->port_read(priv, &port), 0);
	KUNIT_EXPECT_TRUE(test, port.active);
	KUNIT_EXPECT_EQ(test, port.lid, (u16)9);
	KUNIT_EXPECT_EQ(test, port.lmc, (u8)2);
	KUNIT_EXPECT_EQ(test, port.gid.raw[15], (u8)1);
	KUNIT_EXPECT_EQ(test, port.mtu, 2044u);
	KUNIT_EXPECT_EQ(test, port.max_mtu, 4092u);
	KUNIT_EXPECT_EQ(test, port.mbps, 40000u);
	KUNIT_EXPECT_EQ(test, port.pkey, (u16)0x7fff);
	KUNIT_EXPECT_EQ(test, port.pkey_index, (u16)0);
	/* A buffer has no more than 4096 octets; an MTU of IP no less than the smallest. */
	fix->query.state = IB_PORT_ARMED;
	fix->query.active_mtu = (enum ib_mtu)OPA_MTU_8192;
	fix->query.max_mtu = 0;
	ops->port_read(priv, &port);
	KUNIT_EXPECT_FALSE(test, port.active);
	KUNIT_EXPECT_EQ(test, port.mtu, 4092u);
	KUNIT_EXPECT_EQ(test, port.max_mtu, (unsigned int)IPOIB_MTU_MIN);
	fix->query.state = IB_PORT_INIT;
	ops->port_read(priv, &port);
	KUNIT_EXPECT_EQ(test, port.mtu, 4092u);
	fix->query.state = IB_PORT_DOWN;
	ops->port_read(priv, &port);
	KUNIT_EXPECT_EQ(test, port.mtu, 0u);
	fix->gid_err = -EIO;
	KUNIT_EXPECT_EQ(test, ops->port_read(priv, &port), -EIO);
	fix->query_err = -ENODEV;
	KUNIT_EXPECT_EQ(test, ops->port_read(priv, &port), -ENODEV);
}

/* The P_Key of a child is at any index, or missing. */
static void sa_children(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	struct ipoib_port port = {};

	priv->parent = &fix->parent;
	fix->pkeys[0] = 0xffff;
	fix->pkeys[2] = 0x0001;
	fix->found = 2;
	KUNIT_EXPECT_EQ(test, ipoib_sa_ops.port_read(priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.pkey, (u16)0x0001);
	KUNIT_EXPECT_EQ(test, port.pkey_index, (u16)2);
	fix->pkeys[2] = 0x8001;
	KUNIT_EXPECT_EQ(test, ipoib_sa_ops.port_read(priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.pkey, (u16)0x8001);
	fix->pkeys[2] = 0x8002;
	KUNIT_EXPECT_EQ(test, ipoib_sa_ops.port_read(priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.pkey, (u16)0);
	fix->pkeys[0] = 0x8001;
	port.pkey = 0x8001;
	fix->found = -ENOENT;
	KUNIT_EXPECT_EQ(test, ipoib_sa_ops.port_read(priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.pkey, (u16)0);
	/* The table is shorter now. */
	port.pkey = 0x8001;
	fix->found = ARRAY_SIZE(fix->pkeys);
	KUNIT_EXPECT_EQ(test, ipoib_sa_ops.port_read(priv, &port), 0);
	KUNIT_EXPECT_EQ(test, port.pkey, (u16)0);
}

static void sa_events(struct kunit *test)
{
	static const struct {
		enum ib_event_type event;
		bool sm;
		bool stale;
		bool finds;
		bool reads;
	} cases[] = {
		{ IB_EVENT_SM_CHANGE, true, true, true, true },
		{ IB_EVENT_LID_CHANGE, false, true, true, true },
		{ IB_EVENT_CLIENT_REREGISTER, false, true, true, true },
		{ IB_EVENT_PORT_ACTIVE, false, false, true, true },
		{ IB_EVENT_PKEY_CHANGE, false, false, true, true },
		{ IB_EVENT_GID_CHANGE, false, false, true, true },
		{ IB_EVENT_PORT_ERR, false, false, false, true },
		{ IB_EVENT_QP_FATAL, false, false, false, false },
	};
	struct sa_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fix->sm_changes = 0;
		fix->cancels = 0;
		fix->stale = 0;
		fix->sm_works = 0;
		priv->ctl.events = 0;
		ipoib_sa_ops.event(priv, cases[i].event);
		KUNIT_EXPECT_EQ(test, fix->sm_changes, (unsigned int)cases[i].sm);
		KUNIT_EXPECT_EQ(test, fix->cancels, (unsigned int)cases[i].stale);
		KUNIT_EXPECT_EQ(test, fix->stale, (unsigned int)cases[i].stale);
		KUNIT_EXPECT_EQ(test, fix->sm_works, (unsigned int)cases[i].finds);
		KUNIT_EXPECT_EQ(test, priv->ctl.events, cases[i].reads * BIT(IPOIB_CTL_PORT));
	}
	priv->agent = NULL;
	priv->ctl.events = 0;
	fix->sm_works = 0;
	ipoib_sa_ops.event(priv, IB_EVENT_LID_CHANGE);
	KUNIT_EXPECT_EQ(test, fix->sm_works, 0u);
	KUNIT_EXPECT_EQ(test, priv->ctl.events, BIT(IPOIB_CTL_PORT));
}

/* A parent has the agent, which its children share. */
static void sa_agents(struct kunit *test)
{
	const struct ipoib_fabric_ops *ops = &ipoib_sa_ops;
	struct sa_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	struct list_head *devs = &fix->agent.devs;

	priv->agent = NULL;
	fix->make_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, ops->init(priv), 0);
	KUNIT_EXPECT_FALSE(test, priv->agent || priv->neigh.limit);
	ops->start(priv);
	ops->stop(priv);
	ops->exit(priv);
	KUNIT_EXPECT_EQ(test, fix->made, 0);
	fix->make_err = 0;
	KUNIT_EXPECT_EQ(test, ops->init(priv), 0);
	KUNIT_EXPECT_PTR_EQ(test, priv->agent, &fix->agent);
	KUNIT_EXPECT_PTR_EQ(test, priv->neigh.limit, &fix->agent.limit);
	KUNIT_EXPECT_EQ(test, fix->made, 1);
	ops->start(priv);
	KUNIT_EXPECT_TRUE(test, list_is_singular(devs) && devs->next == &priv->agent_list);
	KUNIT_EXPECT_EQ(test, fix->sm_works, 1u);
	KUNIT_EXPECT_EQ(test, fix->sub_works, 0u);
	ops->stop(priv);
	KUNIT_EXPECT_TRUE(test, list_empty(devs));
	KUNIT_EXPECT_EQ(test, fix->sm_works, 1u);
	KUNIT_EXPECT_EQ(test, fix->sub_works, 1u);
	ops->exit(priv);
	KUNIT_EXPECT_EQ(test, fix->made, 0);
	KUNIT_EXPECT_FALSE(test, priv->agent || priv->neigh.limit);

	priv->parent = &fix->parent;
	KUNIT_EXPECT_EQ(test, ops->init(priv), 0);
	KUNIT_EXPECT_PTR_EQ(test, priv->agent, &fix->agent);
	KUNIT_EXPECT_PTR_EQ(test, priv->neigh.limit, &fix->agent.limit);
	ops->exit(priv);
	KUNIT_EXPECT_EQ(test, fix->made, 0);
	KUNIT_EXPECT_FALSE(test, priv->agent || priv->neigh.limit);
}

/* ---- paths ---- */

static int sa_path_get(struct sa_fixture *fix)
{
	int err;

	spin_lock_bh(&fix->priv.neigh.lock);
	err = ipoib_sa_ops.path_get(&fix->priv, &fix->neigh);
	spin_unlock_bh(&fix->priv.neigh.lock);
	return err;
}

static void sa_path_asked(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	struct sa_path_rec *rec = &fix->path;

	fix->path_id = 5;
	KUNIT_EXPECT_EQ(test, sa_path_get(fix), 0);
	KUNIT_EXPECT_EQ(test, (int)rec->rec_type, (int)SA_PATH_REC_TYPE_IB);
	KUNIT_EXPECT_EQ(test, rec->dgid.raw[15], (u8)0x66);
	KUNIT_EXPECT_EQ(test, rec->sgid.raw[15], (u8)0x55);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec->pkey), (u16)0x8001);
	KUNIT_EXPECT_EQ(test, (int)rec->numb_path, 1);
	KUNIT_EXPECT_EQ(test, rec->traffic_class, (u8)0x5a);
	KUNIT_EXPECT_TRUE(test, fix->path_mask ==
			  (IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_NUMB_PATH |
			   IB_SA_PATH_REC_TRAFFIC_CLASS | IB_SA_PATH_REC_PKEY));
	KUNIT_EXPECT_EQ(test, fix->path_timeout, 1000ul);
	KUNIT_EXPECT_PTR_EQ(test, fix->neigh.query, SA_QUERY);
	KUNIT_EXPECT_EQ(test, fix->neigh.query_id, 5);
	ipoib_sa_ops.path_cancel(&fix->neigh);
	KUNIT_EXPECT_EQ(test, fix->cancelled, 5);
	RCU_INIT_POINTER(fix->priv.broadcast, NULL);
	fix->path_id = 0;
	KUNIT_EXPECT_EQ(test, sa_path_get(fix), 0);
	KUNIT_EXPECT_EQ(test, rec->traffic_class, (u8)0);
	fix->path_id = -EAGAIN;
	fix->neigh.query = NULL;
	KUNIT_EXPECT_EQ(test, sa_path_get(fix), -EAGAIN);
	KUNIT_EXPECT_FALSE(test, fix->neigh.query);
}

/* HopLimit of the record that the neighbour gets */
static int sa_hops(struct sa_fixture *fix, u8 hops)
{
	struct sa_path_rec rec = { .hop_limit = hops };

	fix->path_callback(0, &rec, 1, &fix->neigh);
	return fix->path.hop_limit;
}

static void sa_path_answers(struct kunit *test)
{
	struct sa_fixture *fix = test->priv;
	char text[96] = {};
	struct seq_file file = { .buf = text, .size = sizeof(text) };

	KUNIT_EXPECT_EQ(test, sa_path_get(fix), 0);
	KUNIT_EXPECT_EQ(test, sa_hops(fix, 0), 0);
	KUNIT_EXPECT_EQ(test, sa_hops(fix, 7), 7);
	KUNIT_EXPECT_EQ(test, fix->status, 0);
	fix->port[SA_PORT].immutable.core_cap_flags |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	KUNIT_EXPECT_EQ(test, sa_hops(fix, 0), 1);
	KUNIT_EXPECT_EQ(test, sa_hops(fix, 7), 7);
	KUNIT_EXPECT_EQ(test, fix->answers, 4u);
	fix->path_callback(0, NULL, 0, &fix->neigh);
	KUNIT_EXPECT_EQ(test, fix->status, -ENOENT);
	fix->path_callback(-ETIMEDOUT, NULL, 0, &fix->neigh);
	KUNIT_EXPECT_EQ(test, fix->status, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fix->answers, 6u);

	fix->neigh.rec.rec_type = SA_PATH_REC_TYPE_IB;
	sa_path_set_dlid(&fix->neigh.rec, 0x12);
	fix->neigh.rec.sl = 3;
	fix->neigh.rec.rate = IB_RATE_2_5_GBPS;
	ipoib_sa_ops.path_show(&file, &fix->neigh);
	KUNIT_EXPECT_EQ(test, strcmp(text, "  DLID:     0x0012\n"
				     "  SL:            3\n"
				     "  rate:        2.5 Gb/sec\n"), 0);
}

static struct kunit_case ipoib_sa_cases[] = {
	KUNIT_CASE(sa_join),
	KUNIT_CASE(sa_held),
	KUNIT_CASE(sa_handle),
	KUNIT_CASE(sa_asked),
	KUNIT_CASE(sa_not_asked),
	KUNIT_CASE(sa_listed),
	KUNIT_CASE(sa_ports),
	KUNIT_CASE(sa_children),
	KUNIT_CASE(sa_events),
	KUNIT_CASE(sa_agents),
	KUNIT_CASE(sa_path_asked),
	KUNIT_CASE(sa_path_answers),
	{}
};

struct kunit_suite ipoib_sa_suite = {
	.name = "ipoib_sa",
	.init = sa_init,
	.exit = sa_exit,
	.test_cases = ipoib_sa_cases,
};
