/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations that differ between InfiniBand and RoCE.
 *
 * IPoIB, RFC 4391, needs little of a port: its state, its addresses, the path to a GID, memberships
 * of groups. On InfiniBand the SA has the latter two (sa/); on RoCE they follow from rules and from
 * the kernel's address resolution (roce/). Connections are made by the same CM on both. The
 * operations are chosen when an interface is created. None of them is called for each frame.
 */
#ifndef IPOIB_FABRIC_H
#define IPOIB_FABRIC_H

#include <linux/types.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

struct ib_cm_req_event_param;
struct ipoib_agent;
struct ipoib_dev;
struct ipoib_mcast;
struct ipoib_neigh;
struct seq_file;

/**
 * struct ipoib_port - attributes of a port
 * @active: frames can be sent
 * @lid: LID, or 0
 * @lmc: number of low bits of a LID that select a path to its port, equal for all HCAs of a subnet
 * @gid: GID in the link-layer address
 * @gid_entry: entry of the GID table. Address handles do not follow an entry that is made anew for
 *	the same GID. NULL if the table is not like that.
 * @pkey: P_Key of the link, bit 15 cleared for a limited member; 0 without a P_Key
 * @pkey_index: its index in the table of the port
 * @mtu: largest IP MTU of the port in its present configuration, 0 if unknown
 * @max_mtu: largest IP MTU of the port in any configuration
 * @mbps: rate of the link in Mb/s, 0 if unknown
 */
struct ipoib_port {
	bool active;
	u16 lid;
	u8 lmc;
	union ib_gid gid;
	const void *gid_entry;
	u16 pkey;
	u16 pkey_index;
	unsigned int mtu;
	unsigned int max_mtu;
	unsigned int mbps;
};

/* Rate of a link in Mb/s, 0 if unknown */
static inline unsigned int
ipoib_port_mbps(const struct ib_port_attr *attr)
{
	/* A lane, without coding, by the bit of enum ib_port_speed: SDR to XDR */
	static const unsigned int lane[] = {
		0, 2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000, 200000,
	};
	unsigned int speed = fls(attr->active_speed);
	int width = ib_width_enum_to_int(attr->active_width);

	return width > 0 && speed < ARRAY_SIZE(lane) ? width * lane[speed] : 0;
}

/**
 * struct ipoib_fabric_ops - operations of a fabric
 *
 * @init: an interface is being created. May sleep.
 * @exit: an interface is being removed, after @stop and the last answer: wait until no callback
 *	will run any more. May sleep; with RTNL only if the interface was never registered.
 * @start: the interface has come up. RTNL held. Optional.
 * @stop: the interface goes down, without groups and paths. RTNL held, so it must not wait for
 *	RTNL. Optional.
 * @port_read: read attributes of the port into a zeroed structure. May sleep. Without RTNL if the
 *	interface is registered.
 * @event: an asynchronous event of the port: mark paths stale, or queue the control work. Does not
 *	sleep.
 *
 * @path_get: query the path to &ipoib_neigh.gid. If, and only if, it returns 0,
 *	ipoib_neigh_answered() follows in process context, after the return, as &ipoib_neighs.lock
 *	is held. Does not sleep. The caller has taken a reference to the neighbour for the answer.
 * @path_cancel: cancel &ipoib_neigh.query. Its callback follows all the same, and may be waiting
 *	for &ipoib_neighs.lock, which is held. Does not sleep.
 * @path_gid: entry of the GID table for own paths, for rdma_put_gid_attr(), or ERR_PTR(). Does not
 *	sleep. Optional: address handles and the CM accept NULL.
 * @path_show: print the record of a path, for debugfs. &ipoib_neighs.lock is held.
 *
 * @join: join a group with a JoinState. FullMember creates a missing group from the broadcast
 *	group; other JoinStates, and the join of the broadcast group itself, create none.
 *	ipoib_mcast_answer() gets the result, possibly before the return, and -ENETRESET once the
 *	membership is lost. May sleep, but must not wait for RTNL. Returns a handle, which @leave
 *	frees whatever the result, or ERR_PTR(). The record of the handle is valid after success.
 * @leave: leave a group, or cancel its join. On return no callback for the handle runs, or will
 *	run. May sleep, but must not wait for RTNL nor for an answer.
 * @group_ah: attributes of an address handle from the record of a group, for
 *	rdma_destroy_ah_attr(). May sleep.
 *
 * @conn_check: check that a REQ has come by the link, and that the port can do its path, beyond the
 *	common checks. Returns 0 or the reason of the REJ. May sleep, but must not wait for RTNL.
 *	Optional.
 */
struct ipoib_fabric_ops {
	int (*init)(struct ipoib_dev *priv);
	void (*exit)(struct ipoib_dev *priv);
	void (*start)(struct ipoib_dev *priv);
	void (*stop)(struct ipoib_dev *priv);
	int (*port_read)(struct ipoib_dev *priv, struct ipoib_port *port);
	void (*event)(struct ipoib_dev *priv, enum ib_event_type event);

	int (*path_get)(struct ipoib_dev *priv, struct ipoib_neigh *neigh);
	void (*path_cancel)(struct ipoib_neigh *neigh);
	const struct ib_gid_attr *(*path_gid)(struct ipoib_dev *priv);
	void (*path_show)(struct seq_file *file, const struct ipoib_neigh *neigh);

	struct ib_sa_multicast *(*join)(struct ipoib_mcast *mcast, u8 state);
	void (*leave)(struct ib_sa_multicast *member);
	int (*group_ah)(struct ipoib_dev *priv, struct ib_sa_mcmember_rec *rec,
			struct rdma_ah_attr *attr);

	int (*conn_check)(struct ipoib_dev *priv, const struct ib_cm_req_event_param *req);
};

/*
 * Check whether the SA has decided on a question, by its result, 0 or a negative error. The SA has
 * not if there was no answer, or an answer to retry later. The kernel of a node whose SA has gone
 * answers that the method is unknown.
 * Return: true if nothing follows from the result, and the question may be repeated.
 */
static inline bool ipoib_sa_is_silent(int status)
{
	return status == -ETIMEDOUT || status == -EINTR || status == -EIO ||
	       status == -EBUSY || status == -ENOBUFS ||
	       status == -EOPNOTSUPP;
}

/* sa/ */
extern const struct ipoib_fabric_ops ipoib_sa_ops;
extern struct ib_sa_client ipoib_sa_client;
u8 ipoib_sa_held(const struct ipoib_dev *priv, const union ib_gid *mgid);
bool ipoib_sa_notice_on(const struct ipoib_agent *agent);
void ipoib_sa_monitor(struct ipoib_agent *agent, bool on);
int ipoib_sa_query_group(struct ipoib_dev *priv, const union ib_gid *mgid);
int ipoib_sa_query_refresh(const struct ipoib_mcast *mcast);
int ipoib_sa_query_groups(struct ipoib_dev *priv);
void ipoib_sa_query_cancel(struct ipoib_dev *priv);

#endif /* IPOIB_FABRIC_H */
