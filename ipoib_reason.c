// SPDX-License-Identifier: GPL-2.0
/*
 * Why we are not a member of a group: which of its parameters does not fit, what
 * is said of it in the log, and when it is tried again.
 */
#include <linux/jiffies.h>
#include <linux/random.h>

#include "ipoib_multicast.h"

/* Milliseconds of pause from which it is a failure that no SM is known. */
#define IPOIB_REASON_QUIET	64

/**
 * struct ipoib_reason_rule - what to say and do about a reason
 * @text: for the log
 * @min: milliseconds to the next try
 * @max: the longest pause, after more failures
 * @final: the SA has decided: what we held is void
 */
struct ipoib_reason_rule {
	const char *text;
	unsigned int min;
	unsigned int max;
	bool final;
};

static const struct ipoib_reason_rule ipoib_reason_rules[] = {
	[IPOIB_REASON_NONE]	 = { "", 50, 8000, false },
	/* Nobody was asked. ib_sa looks for the SM, often for a moment only. */
	[IPOIB_REASON_NO_SM]	 = { "no subnet manager is known",
				     2, 2000, false },
	[IPOIB_REASON_NO_ANSWER] = { "the SA does not answer",
				     50, 2000, false },
	[IPOIB_REASON_MISSING]	 = { "there is no such group",
				     100, 8000, true },
	[IPOIB_REASON_PKEY]	 = { "the group has another P_Key",
				     500, 30000, true },
	[IPOIB_REASON_QKEY]	 = { "the group has not the Q_Key of the link",
				     500, 30000, true },
	[IPOIB_REASON_MTU]	 = { "the group has not the MTU of the link",
				     500, 30000, true },
	[IPOIB_REASON_PORT_MTU]	 = { "the MTU of the group is too big for the port",
				     500, 30000, true },
	[IPOIB_REASON_SL]	 = { "the group has not the SL of the link",
				     500, 30000, true },
	[IPOIB_REASON_HOPS]	 = { "the group has not the hop limit of the link",
				     500, 30000, true },
	[IPOIB_REASON_REFUSED]	 = { "the SA refuses",
				     100, 8000, true },
	[IPOIB_REASON_LOCAL]	 = { "the HCA refuses",
				     100, 30000, false },
};

/**
 * ipoib_reason_text - why we are not a member, in words
 * @mcast: the group
 *
 * Return: static string
 */
const char *ipoib_reason_text(const struct ipoib_mcast *mcast)
{
	return ipoib_reason_rules[READ_ONCE(mcast->reason)].text;
}

/**
 * ipoib_reason_is_final - whether a reason is a decision of the SA
 * @reason: the reason
 *
 * Return: true if what we held is void; false if there is no answer or the HCA has
 * no room
 */
bool ipoib_reason_is_final(enum ipoib_reason reason)
{
	return ipoib_reason_rules[reason].final;
}

/**
 * ipoib_reason_log - log a failure, but the same one of a group only once (U58)
 * @mcast: the group
 * @what: what was tried
 * @err: negative error
 *
 * Context: multicast work
 */
void ipoib_reason_log(struct ipoib_mcast *mcast, const char *what, int err)
{
	struct ipoib_dev *priv = mcast->priv;
	const char *kind = mcast->asked & IPOIB_JOIN_RECEIVES ? "" : "sendonly ";

	if (mcast->reason == IPOIB_REASON_NO_SM &&
	    READ_ONCE(mcast->backoff) < IPOIB_REASON_QUIET)
		return;
	ipoib_stat_add(priv, IPOIB_MCAST_FAILED, 1);
	if (mcast->logged == mcast->reason)
		return;
	mcast->logged = mcast->reason;
	netdev_warn(priv->netdev,
		    "%smulticast %s failed for %pI6, status %d: %s\n", kind,
		    what, mcast->mgid.raw, err, ipoib_reason_text(mcast));
}

/**
 * ipoib_reason_retry_later - set the time of the next try
 * @mcast: the group, with the reason of the failure
 *
 * Context: multicast work
 */
void ipoib_reason_retry_later(struct ipoib_mcast *mcast)
{
	const struct ipoib_reason_rule *rule;
	unsigned int pause;

	rule = &ipoib_reason_rules[mcast->reason];
	pause = clamp(READ_ONCE(mcast->backoff), rule->min, rule->max);
	WRITE_ONCE(mcast->backoff, pause * 2);
	/* Up to half as much again, so that nodes do not ask in step. */
	pause += get_random_u32_below(pause / 2 + 1);
	WRITE_ONCE(mcast->retry_at, jiffies + msecs_to_jiffies(pause));
}

static enum ipoib_reason ipoib_reason_judge_mtu(struct ipoib_dev *priv, u8 mtu,
						u8 link)
{
	int port_mtu = READ_ONCE(priv->port_mtu);

	if (ipoib_mtu_from_ib(mtu) > port_mtu)
		return IPOIB_REASON_PORT_MTU;
	return mtu == link ? IPOIB_REASON_NONE : IPOIB_REASON_MTU;
}

/**
 * ipoib_reason_judge - whether a group fits the link
 * @mcast: the group
 * @rec: its record
 *
 * RFC 4391 section 10: P_Key, Q_Key, SL, MTU and HopLimit of a group are those
 * of the broadcast group (U55). Who only sends can live with another SL and
 * hop limit, which he takes, and with a greater MTU.
 *
 * Context: multicast work
 * Return: what does not fit, or IPOIB_REASON_NONE
 */
enum ipoib_reason ipoib_reason_judge(struct ipoib_mcast *mcast,
				     const struct ib_sa_mcmember_rec *rec)
{
	bool receives = mcast->asked & IPOIB_JOIN_FULL;
	struct ipoib_dev *priv = mcast->priv;
	const struct ib_sa_mcmember_rec *link = ipoib_member_link(priv);
	enum ipoib_reason reason;

	if ((be16_to_cpu(rec->pkey) | IPOIB_PKEY_FULL) != priv->pkey)
		return IPOIB_REASON_PKEY;
	if (ipoib_group_is_broadcast(mcast))
		return ipoib_reason_judge_mtu(priv, rec->mtu, rec->mtu);
	if (rec->qkey != link->qkey)
		return IPOIB_REASON_QKEY;
	reason = ipoib_reason_judge_mtu(priv, rec->mtu, link->mtu);
	if (reason && (receives || rec->mtu < link->mtu))
		return reason;
	if (receives && rec->sl != link->sl)
		return IPOIB_REASON_SL;
	if (receives && rec->hop_limit != link->hop_limit)
		return IPOIB_REASON_HOPS;
	return IPOIB_REASON_NONE;
}
