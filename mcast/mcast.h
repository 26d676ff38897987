/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private header of multicast groups:
 *
 *	ipoib_multicast.c	events, debugfs, up and down
 *	mcast/interest.c	groups that the stack listens to, or that are routed
 *	mcast/join.c		work of a group: join, check, leave
 *	mcast/xmit.c		frames to groups
 *	mcast/group.c		table of groups, their users, events, states and values
 */
#ifndef IPOIB_MCAST_MCAST_H
#define IPOIB_MCAST_MCAST_H

#include "ipoib.h"

/* Time without a frame after which a group that is only sent to is left */
#define IPOIB_SEND_UNUSED	(60 * HZ)
/* Time that frames wait for an answer of the SA */
#define IPOIB_MCAST_PATIENCE	(HZ / 10)
/* First recheck interval of a membership; up to half of it is added */
#define IPOIB_MCAST_RECHECK_MIN	(10ul * HZ)
/*
 * Sampling: a sample finds frames of the last 3 s, the next follows after 3 to 4.5 s, and four with
 * frames in a row make a group monitored. Frames of the stack itself do not: reports of listeners
 * (IGMP, MLD) last some seconds, router solicitations have pauses of 4, 8, 16 s (RFC 7559).
 */
#define IPOIB_MCAST_SAMPLE	(3 * HZ)
#define IPOIB_MCAST_SAMPLES	4
/*
 * Least pause before the next join of a group after the SA has lost the member. ib_sa leaves in a
 * work, and grants an earlier join from the old membership:
 * Documentation/upstream/ib_core-stale-join.txt.
 */
#define IPOIB_MCAST_HOLD_OFF	(HZ / 50)
/* Longer than any pause of a group */
#define IPOIB_MCAST_AHEAD	(600 * HZ)

static const struct rhashtable_params ipoib_mcast_params __maybe_unused = {
	.key_len = sizeof_field(struct ipoib_mcast, mgid),
	.key_offset = offsetof(struct ipoib_mcast, mgid),
	.head_offset = offsetof(struct ipoib_mcast, node),
	.hashfn = ipoib_gid_hash,
	.automatic_shrinking = true,
};

/* Result of a join. */
enum ipoib_check {
	IPOIB_CHECK_OK,		/* joined, or not requested yet */
	IPOIB_CHECK_NO_SM,	/* the port has no SM */
	IPOIB_CHECK_NO_ANSWER,	/* timeout */
	IPOIB_CHECK_MISSING,	/* the group does not exist */
	IPOIB_CHECK_PKEY,	/* the group has another P_Key */
	IPOIB_CHECK_QKEY,	/* the group has another Q_Key than the link */
	IPOIB_CHECK_MTU,	/* its MTU is not that of the link */
	IPOIB_CHECK_PORT_MTU,	/* its MTU is too large for the port */
	IPOIB_CHECK_SL,		/* its SL is not that of the link */
	IPOIB_CHECK_HOPS,	/* its hop limit is not that of the link */
	IPOIB_CHECK_REFUSED,	/* refused by the SA without a reason */
	IPOIB_CHECK_LOCAL,	/* refused by the HCA */
};

/* True if there is room for a further group of @user, an IPOIB_USER_ bit. mcast.lock held */
static inline bool ipoib_mcast_group_fits(const struct ipoib_dev *priv, u8 user)
{
	if (priv->mcast.ngroups >= IPOIB_MCAST_MAX)
		return false;
	switch (user) {
	case IPOIB_USER_SEND:
		return priv->mcast.nsend < IPOIB_MCAST_SEND_MAX;
	case IPOIB_USER_ROUTE:
		return priv->mcast.nroute < IPOIB_MCAST_ROUTE_MAX;
	default:
		return true;
	}
}

/*
 * Check whether groups may exist.
 * Context: any. Return: false if the interface is down or goes down, or has no broadcast group yet:
 * no group is created, and works of groups end them.
 */
static inline bool ipoib_mcast_is_open(const struct ipoib_dev *priv)
{
	return test_bit(IPOIB_FLAG_UP, &priv->flags) && rcu_access_pointer(priv->broadcast);
}

/*
 * Time left to @at, in jiffies: up to IPOIB_MCAST_AHEAD from now, or long past, as jiffies of 32
 * bits wrap.
 * Return: jiffies, 0 in the past.
 */
static inline unsigned long ipoib_mcast_until(unsigned long at)
{
	unsigned long left = at - jiffies;

	return left <= IPOIB_MCAST_AHEAD ? left : 0;
}

/*
 * Check whether a failure is a decision of the SA.
 * Return: true if the membership is invalid; false without an answer, or without room in the HCA.
 */
static inline bool ipoib_mcast_check_is_definitive(enum ipoib_check reason)
{
	return reason >= IPOIB_CHECK_MISSING && reason <= IPOIB_CHECK_REFUSED;
}

/* True for a transition of the drawing in design.rst */
static inline bool ipoib_mcast_may_enter(enum ipoib_mcast_state from, enum ipoib_mcast_state to)
{
	static const u8 next[IPOIB_NR_MCAST_STATES] = {
		[IPOIB_MCAST_IDLE]	= BIT(IPOIB_MCAST_JOINING),
		[IPOIB_MCAST_JOINING]	= BIT(IPOIB_MCAST_ASKING) | BIT(IPOIB_MCAST_MEMBER) |
					  BIT(IPOIB_MCAST_BACKOFF) | BIT(IPOIB_MCAST_ABSENT),
		[IPOIB_MCAST_ASKING]	= BIT(IPOIB_MCAST_JOINING) |
					  BIT(IPOIB_MCAST_BACKOFF) | BIT(IPOIB_MCAST_ABSENT),
		[IPOIB_MCAST_MEMBER]	= BIT(IPOIB_MCAST_JOINING) | BIT(IPOIB_MCAST_CHECKING),
		[IPOIB_MCAST_CHECKING]	= BIT(IPOIB_MCAST_MEMBER) |
					  BIT(IPOIB_MCAST_BACKOFF) | BIT(IPOIB_MCAST_ABSENT),
		[IPOIB_MCAST_BACKOFF]	= BIT(IPOIB_MCAST_JOINING),
		[IPOIB_MCAST_ABSENT]	= BIT(IPOIB_MCAST_JOINING),
	};

	return to == IPOIB_MCAST_IDLE || next[from] & BIT(to);
}

/* True in states with a request to the SA under way */
static inline bool ipoib_mcast_group_is_busy(enum ipoib_mcast_state state)
{
	return state == IPOIB_MCAST_JOINING || state == IPOIB_MCAST_ASKING ||
	       state == IPOIB_MCAST_CHECKING;
}

/*
 * Check whether an answer for a group is expected: a request is under way, or waits for the
 * broadcast group or an inflight slot.
 * Context: mcast.lock held, or work of the group.
 */
static inline bool ipoib_mcast_group_is_pending(const struct ipoib_mcast *mcast)
{
	return ipoib_mcast_group_is_busy(mcast->state) ||
	       mcast->state == IPOIB_MCAST_IDLE ||
	       (mcast->state == IPOIB_MCAST_ABSENT && mcast->events & IPOIB_MCAST_EV_RECHECK);
}

/* mcast/group.c */
extern const char * const ipoib_mcast_state_names[IPOIB_NR_MCAST_STATES];
struct ipoib_mcast *ipoib_mcast_group_lookup(struct ipoib_dev *priv, const u8 *mgid);
struct ipoib_mcast *ipoib_mcast_group_add(struct ipoib_dev *priv, const u8 *mgid, u8 user);
struct ipoib_mcast *ipoib_mcast_group_get(struct ipoib_dev *priv, const u8 *mgid, u8 user);
void ipoib_mcast_group_sweep(struct ipoib_dev *priv, u8 user);
void ipoib_mcast_group_unlink(struct ipoib_mcast *mcast);
void ipoib_mcast_queue(struct ipoib_mcast *mcast);
void ipoib_mcast_post(struct ipoib_mcast *mcast, u8 events);
void ipoib_mcast_group_drop_user(struct ipoib_mcast *mcast, u8 user);
u8 ipoib_mcast_group_want(const struct ipoib_mcast *mcast);
bool ipoib_mcast_group_is_broadcast(const struct ipoib_mcast *mcast);
bool ipoib_mcast_group_is_unused(const struct ipoib_mcast *mcast);
bool ipoib_mcast_group_is_slow(const struct ipoib_mcast *mcast);
unsigned long ipoib_mcast_group_sample(struct ipoib_mcast *mcast);
void ipoib_mcast_set_state(struct ipoib_mcast *mcast, enum ipoib_mcast_state state);
const char *ipoib_mcast_check_text(const struct ipoib_mcast *mcast);
enum ipoib_check ipoib_mcast_check_group(const struct ipoib_mcast *mcast,
					 const struct ib_sa_mcmember_rec *rec);

/* mcast/interest.c */
void ipoib_mcast_interest_work(struct work_struct *work);
void ipoib_mcast_route_end(struct ipoib_dev *priv);
void ipoib_mcast_route_due(struct ipoib_dev *priv, unsigned long delay);
void ipoib_mcast_route_want(struct ipoib_dev *priv, const union ib_gid *mgid);

/* mcast/join.c */
void ipoib_mcast_work(struct work_struct *work);

/* mcast/xmit.c */
void ipoib_mcast_group_send(struct ipoib_mcast *mcast);

#endif /* IPOIB_MCAST_MCAST_H */
