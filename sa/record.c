// SPDX-License-Identifier: GPL-2.0
/*
 * Records of multicast groups on the wire and as struct ib_sa_mcmember_rec, notices, and the status
 * of answers
 */
#include <linux/string.h>

#include "sa/sa.h"

/* Convert a request to its form on the wire, without life time, scope and proxy join. */
void ipoib_sa_record_pack(struct ipoib_member_record *wire, const struct ib_sa_mcmember_rec *rec)
{
	memset(wire, 0, sizeof(*wire));
	memcpy(wire->mgid, rec->mgid.raw, sizeof(wire->mgid));
	memcpy(wire->port_gid, rec->port_gid.raw, sizeof(wire->port_gid));
	wire->qkey = rec->qkey;
	wire->mlid = rec->mlid;
	wire->mtu = rec->mtu_selector << 6 | (rec->mtu & 0x3f);
	wire->tclass = rec->traffic_class;
	wire->pkey = rec->pkey;
	wire->rate = rec->rate_selector << 6 | (rec->rate & 0x3f);
	wire->sl_flow_hops = cpu_to_be32((u32)rec->sl << 28 |
					 (be32_to_cpu(rec->flow_label) &
					  0xfffff) << 8 | rec->hop_limit);
	wire->scope_state = rec->join_state & 0xf;
}

/*
 * Convert a request or an answer from its form on the wire: MGID, and parameters of QP and address
 * handles, unchecked. The rest is 0, also port GID and JoinState.
 */
void ipoib_sa_record_unpack(struct ib_sa_mcmember_rec *rec, const struct ipoib_member_record *wire)
{
	u32 sl_flow_hops = be32_to_cpu(wire->sl_flow_hops);

	memset(rec, 0, sizeof(*rec));
	memcpy(rec->mgid.raw, wire->mgid, sizeof(wire->mgid));
	rec->qkey = wire->qkey;
	rec->mlid = wire->mlid;
	rec->mtu = wire->mtu & 0x3f;
	rec->traffic_class = wire->tclass;
	rec->pkey = wire->pkey;
	rec->rate = wire->rate & 0x3f;
	rec->sl = sl_flow_hops >> 28;
	rec->flow_label = cpu_to_be32(sl_flow_hops >> 8 & 0xfffff);
	rec->hop_limit = sl_flow_hops & 0xff;
}

/*
 * Reduce a table of records to their MGIDs, in place. @step is the distance of records, at least
 * the length of a record.
 * Return: number of whole records.
 */
unsigned int ipoib_sa_record_mgids(u8 *data, size_t len, size_t step)
{
	union ib_gid *mgids = (union ib_gid *)data;
	unsigned int n = 0;
	size_t at;

	for (at = 0; at + sizeof(struct ipoib_member_record) <= len; at += step)
		memmove(&mgids[n++], data + at, sizeof(*mgids));
	return n;
}

/* True for a trap of the subscription with the GID of a group */
bool ipoib_sa_notice_is_sound(const struct ipoib_notice *notice)
{
	u32 type = be32_to_cpu(notice->type_producer);
	u16 trap = be16_to_cpu(notice->trap);

	return type & IPOIB_NOTICE_GENERIC &&
	       (type & IPOIB_NOTICE_PRODUCER) == IPOIB_PRODUCER_MANAGER &&
	       (trap == IPOIB_TRAP_MGID_NEW || trap == IPOIB_TRAP_MGID_GONE) &&
	       notice->gid[0] == 0xff;
}

/**
 * ipoib_sa_errno - convert the status of an answer of the SA
 * @status: of the MAD, host byte order
 *
 * Return: 0 or a negative error
 */
int ipoib_sa_errno(u16 status)
{
	/* IBTA table 187: status of the class SubnAdm, in the upper octet */
	static const int class_errno[] = {
		[1] = -ENOBUFS,		/* no resources */
		[2] = -EINVAL,		/* request invalid */
		[3] = -ENOENT,		/* no records */
		[4] = -E2BIG,		/* too many records */
		[5] = -EADDRNOTAVAIL,	/* requester GID invalid */
		[6] = -EBADMSG,		/* insufficient components */
		[7] = -EACCES,		/* denied */
	};
	unsigned int class = status >> 8;

	if (!status)
		return 0;
	if (status & IB_MGMT_MAD_STATUS_BUSY)
		return -EBUSY;
	/* Without an SA the kernel of its node answers. */
	switch (status & IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE) {
	case IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD:
	case IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB:
		return -EOPNOTSUPP;
	}
	return class && class < ARRAY_SIZE(class_errno) ? class_errno[class] : -EPROTO;
}
