/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between one kind of fabric and another.
 *
 * IPoIB itself, RFC 4391, needs little of a port: its state, its addresses, the way
 * to a GID, memberships of groups. On InfiniBand the SA
 * answers the latter two (sa/); on RoCE they follow from rules and from
 * the kernel's address resolution (roce/). Connections are made by the
 * same CM on both. The kind of a port is asked for once, when its interface is
 * made; everybody else calls the operations below. None of them is called for
 * each frame.
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
struct neighbour;
struct net_device;
struct seq_file;

/**
 * struct ipoib_port - a port as it stands
 * @active: frames can be sent
 * @lid: LID, 0 if the fabric has none
 * @lmc: how many low bits of a LID choose among the ways to its port. The SM
 *	gives all HCAs of a subnet the same
 * @gid: GID that is part of the link-layer address
 * @gid_entry: distinguishes an entry of the GID table from one that was made later
 *	for the same GID, which address handles know nothing of; NULL if the table
 *	is not like that
 * @pkey: P_Key of the link, bit 15 cleared for a limited member; without the
 *	other bits there is no key
 * @pkey_index: where the port has it
 * @mtu: largest IP MTU as the port is now configured, 0 if that is not known
 * @max_mtu: largest IP MTU the port could be configured for
 * @mbps: rate of the link in Mb/s, 0 if it is not known
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

/**
 * ipoib_port_mbps - rate of a link
 * @attr: of the port
 *
 * Return: Mb/s, 0 if it is not known
 */
static inline unsigned int
ipoib_port_mbps(const struct ib_port_attr *attr)
{
	/* One lane, signalling less coding, by the bit of enum ib_port_speed: SDR to XDR. */
	static const unsigned int lane[] = {
		0, 2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000, 200000,
	};
	unsigned int speed = fls(attr->active_speed);
	int width = ib_width_enum_to_int(attr->active_width);

	return width > 0 && speed < ARRAY_SIZE(lane) ? width * lane[speed] : 0;
}

/**
 * struct ipoib_fabric_ops - what a kind of fabric can do
 *
 * @init: the interface is being made. May sleep.
 * @exit: the interface goes away, after @stop and the last answer: wait until
 *	nothing of what was started will ever call back. May sleep; with
 *	RTNL only if the interface was never registered.
 * @start: the interface has come up. RTNL held. Optional.
 * @stop: the interface goes down; groups have been left and paths forgotten.
 *	RTNL held, so nothing may be waited for that needs RTNL. Optional.
 * @port_read: read the port into what is zeroed. May sleep. Without RTNL if the interface is
 *	registered.
 * @event: an asynchronous event of the port: mark paths as stale or have the
 *	control work check, whatever it means here. Does not sleep.
 *
 * @path_get: find the way to &ipoib_neigh.gid. ipoib_neigh_answered() is called in
 *	process context if, and only if, 0 is returned, and not before this
 *	returns, as &ipoib_neighs.lock is held. Does not sleep. The caller
 *	has taken a reference to the neighbour for the answer.
 * @path_cancel: let &ipoib_neigh.query end soon. What it calls is still called, as its end
 *	may already wait for &ipoib_neighs.lock, which is held. Does not sleep.
 * @path_gid: entry of the GID table that paths begin with, for rdma_put_gid_attr(), or ERR_PTR().
 *	Does not sleep. Optional: NULL does for address handles and the CM.
 * @path_show: print what the record of a path says of the way, for debugfs.
 *	&ipoib_neighs.lock is held.
 *
 * @join: ask to join a group with a JoinState. FullMember creates a missing group like the
 *	broadcast group; other JoinStates, and the broadcast group's own join, create none.
 *	ipoib_mcast_answer() is called
 *	with the result, possibly before this returns, and again with
 *	-ENETRESET when a membership has been lost. May sleep, but must not
 *	wait for RTNL. Returns a handle, freed by @leave whatever the result,
 *	or ERR_PTR(). The handle's record is valid after success.
 * @leave: leave a group, or give up joining it. When this returns no callback
 *	for the handle runs or will run. May sleep, but must not wait for RTNL
 *	nor for an answer.
 * @left: a group has been left in which the port had a JoinState, or had asked
 *	for it. Called after @leave by the work of the group, which holds no
 *	JoinState and no address handle then: a request for it has MLID 0.
 *	May sleep, but must not wait for RTNL nor for an answer. Optional.
 * @group_ah: attributes of an address handle from the record of a group. May
 *	sleep. The caller gives them to rdma_destroy_ah_attr().
 *
 * @conn_check: whether a request has come by the link and its path is one that
 *	the port can do, beyond what is the same on all fabrics. Returns 0 or the
 *	reason to refuse it. May sleep, but must not wait for RTNL. Optional.
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
	void (*left)(struct ipoib_dev *priv, const struct ipoib_mcast *mcast, u8 state);
	int (*group_ah)(struct ipoib_dev *priv, struct ib_sa_mcmember_rec *rec,
			struct rdma_ah_attr *attr);

	int (*conn_check)(struct ipoib_dev *priv, const struct ib_cm_req_event_param *req);
};

/**
 * ipoib_sa_is_silent - whether a question to the SA has not been decided
 * @status: what came of it, 0 or a negative error
 *
 * There was no answer, or one for later. That there is no such method is what the kernel
 * of the SA's node answers when the SA has gone.
 *
 * Return: true if the question may be asked again, and nothing follows from it
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
