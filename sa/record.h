/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is asked of the SA and reported by it, as it is on the wire: records of
 * groups, subscriptions, notices.
 */
#ifndef IPOIB_RECORD_H
#define IPOIB_RECORD_H

#include <linux/types.h>
#include <rdma/ib_sa.h>

/* IBTA tables 131 and 134: the reports that are subscribed to. */
#define IPOIB_TRAP_GID_IN	64
#define IPOIB_TRAP_GID_OUT	65
#define IPOIB_TRAP_MGID_NEW	66
#define IPOIB_TRAP_MGID_GONE	67
#define IPOIB_NR_TRAPS		4

/**
 * struct ipoib_member_record - MCMemberRecord on the wire, IBTA 15.2.5.17
 * @mgid: MGID
 * @port_gid: GID of the member
 * @qkey: Q_Key
 * @mlid: MLID
 * @mtu: selector (2 bits), MTU (6 bits)
 * @tclass: traffic class
 * @pkey: P_Key
 * @rate: selector (2 bits), rate (6 bits)
 * @lifetime: selector (2 bits), packet life time (6 bits)
 * @sl_flow_hops: SL (4 bits), flow label (20 bits), hop limit (8 bits)
 * @scope_state: scope (4 bits), JoinState (4 bits)
 * @proxy: proxy join (1 bit)
 * @reserved: zero
 */
struct ipoib_member_record {
	u8 mgid[16];
	u8 port_gid[16];
	__be32 qkey;
	__be16 mlid;
	u8 mtu;
	u8 tclass;
	__be16 pkey;
	u8 rate;
	u8 lifetime;
	__be32 sl_flow_hops;
	u8 scope_state;
	u8 proxy;
	u8 reserved[2];
};

static_assert(sizeof(struct ipoib_member_record) == 52);

/**
 * struct ipoib_inform_info - InformInfo on the wire, IBTA 13.4.8.3
 * @gid: subscribe to one source, or zero
 * @lid_begin: all sources: 0xffff
 * @lid_end: end of a range
 * @reserved: zero
 * @generic: 1, not a vendor's
 * @subscribe: 1, or 0 to end it
 * @type: of the trap, 0xffff for all
 * @trap: number of the trap
 * @qpn_resp: QPN of the subscriber (24 bits) and response time (5 bits)
 * @producer: kind of node that makes it (24 bits): 4, a class manager
 */
struct ipoib_inform_info {
	u8 gid[16];
	__be16 lid_begin;
	__be16 lid_end;
	__be16 reserved;
	u8 generic;
	u8 subscribe;
	__be16 type;
	__be16 trap;
	__be32 qpn_resp;
	__be32 producer;
};

/**
 * struct ipoib_notice - Notice on the wire with the details of traps 64 to 67
 * @type_producer: generic (bit 31), type (7 bits), producer (24 bits)
 * @trap: number of the trap
 * @issuer_lid: LID of its issuer
 * @toggle_count: not used by these traps
 * @reserved: not used
 * @gid: GID of the port, or MGID of the group, that came or went
 * @unused: rest of the details
 * @issuer_gid: GID of its issuer
 */
struct ipoib_notice {
	__be32 type_producer;
	__be16 trap;
	__be16 issuer_lid;
	__be16 toggle_count;
	u8 reserved[6];
	u8 gid[16];
	u8 unused[32];
	u8 issuer_gid[16];
};

static_assert(sizeof(struct ipoib_inform_info) == 36);
static_assert(sizeof(struct ipoib_notice) == 80);
static_assert(offsetof(struct ipoib_notice, gid) == 16);

#define IPOIB_NOTICE_GENERIC	0x80000000
#define IPOIB_NOTICE_PRODUCER	0x00ffffff
#define IPOIB_PRODUCER_MANAGER	4

void ipoib_sa_record_pack(struct ipoib_member_record *wire, const struct ib_sa_mcmember_rec *rec);
void ipoib_sa_record_unpack(struct ib_sa_mcmember_rec *rec, const struct ipoib_member_record *wire);
unsigned int ipoib_sa_record_mgids(u8 *data, size_t len, size_t step);
bool ipoib_sa_notice_is_sound(const struct ipoib_notice *notice);

#endif /* IPOIB_RECORD_H */
