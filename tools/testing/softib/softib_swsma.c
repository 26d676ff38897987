// SPDX-License-Identifier: GPL-2.0
/*
 * Management of the switch: directed-route SMPs that pass or end at the switch,
 * LID-routed SMPs and performance MADs for port 0, and the subnet management
 * agent.
 *
 * Responses are sent in the context of the requester: this file does not sleep,
 * and sends frames with no lock held.
 */
#include "softib.h"

#define SOFTIB_LFT_BLOCK	64
#define SOFTIB_MFT_BLOCK	32
#define SOFTIB_SW_CAPS \
	(IB_PORT_TRAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP | \
	 IB_PORT_SL_MAP_SUP | IB_PORT_EXTENDED_SPEEDS_SUP | \
	 IB_PORT_CLIENT_REG_SUP)

/* SwitchInfo, IBTA 14.2.5.4 */
struct softib_switch_info {
	__be16 lft_cap;
	__be16 rft_cap;
	__be16 mft_cap;
	__be16 lft_top;
	u8 default_port;
	u8 default_mcast_primary;
	u8 default_mcast_other;
	u8 lifetime_change;	/* 5 bits, PortStateChange, 2 bits */
	__be16 lids_per_port;
	__be16 enforce_cap;
	u8 flags;
	u8 resv;
	__be16 mft_top;
} __packed;

#define SOFTIB_SI_CHANGE	BIT(2)

static bool softib_smp_is_set(const struct ib_smp *smp)
{
	return smp->method == IB_MGMT_METHOD_SET;
}

static u16 softib_swsma_switch_info(struct ib_smp *smp)
{
	struct softib_switch_info *si = (struct softib_switch_info *)smp->data;
	struct softib_switch *sw = &softib_fabric->sw;

	if (softib_smp_is_set(smp)) {
		WRITE_ONCE(sw->lft_top, min_t(u16, be16_to_cpu(si->lft_top),
					      SOFTIB_LFT_TOP));
		sw->lifetime = si->lifetime_change >> 3;
		/* Set with PortStateChange 1 clears it. */
		if (si->lifetime_change & SOFTIB_SI_CHANGE)
			sw->state_change = false;
	}
	memset(smp->data, 0, sizeof(smp->data));
	si->lft_cap = cpu_to_be16(SOFTIB_LFT_SIZE);
	si->mft_cap = cpu_to_be16(SOFTIB_MFT_SIZE);
	si->lft_top = cpu_to_be16(sw->lft_top);
	si->lifetime_change = sw->lifetime << 3;
	if (sw->state_change)
		si->lifetime_change |= SOFTIB_SI_CHANGE;
	return 0;
}

static u16 softib_swsma_lft(struct ib_smp *smp)
{
	u32 block = be32_to_cpu(smp->attr_mod);
	u8 *lft;
	int i;

	if (block >= SOFTIB_LFT_SIZE / SOFTIB_LFT_BLOCK)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	lft = softib_fabric->sw.lft + block * SOFTIB_LFT_BLOCK;
	for (i = 0; i < SOFTIB_LFT_BLOCK; i++) {
		if (softib_smp_is_set(smp))
			WRITE_ONCE(lft[i], smp->data[i]);
		smp->data[i] = lft[i];
	}
	return 0;
}

static u16 softib_swsma_mft(struct ib_smp *smp)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	u32 block = mod & 0x1ff, position = mod >> 28;
	__be16 *masks = (__be16 *)smp->data;
	int i;

	if (block >= SOFTIB_MFT_SIZE / SOFTIB_MFT_BLOCK ||
	    position >= SOFTIB_MFT_POSITIONS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	for (i = 0; i < SOFTIB_MFT_BLOCK; i++) {
		u16 *mask = &softib_fabric->sw.mft[block * SOFTIB_MFT_BLOCK + i]
						  [position];

		if (softib_smp_is_set(smp))
			WRITE_ONCE(*mask, be16_to_cpu(masks[i]));
		masks[i] = cpu_to_be16(*mask);
	}
	return 0;
}

/* Port 0 has the LID and GID of the switch, and no link. */
static u16 softib_swsma_port0_info(struct ib_smp *smp, unsigned int in_port)
{
	struct ib_port_info *pi = (struct ib_port_info *)smp->data;
	struct softib_switch *sw = &softib_fabric->sw;
	bool set = softib_smp_is_set(smp);
	u8 rereg = 0;

	if (set) {
		sw->lid = be16_to_cpu(pi->lid);
		sw->sm_lid = be16_to_cpu(pi->sm_lid);
		sw->sm_sl = pi->neighbormtu_mastersmsl & 0xf;
		sw->gid_prefix = pi->gid_prefix;
		sw->mkey = pi->mkey;
		sw->subnet_timeout = pi->clientrereg_resv_subnetto & 0x1f;
		rereg = pi->clientrereg_resv_subnetto & 0x80;
	}
	memset(smp->data, 0, sizeof(smp->data));
	pi->mkey = sw->mkey;
	pi->gid_prefix = sw->gid_prefix;
	pi->lid = cpu_to_be16(sw->lid);
	pi->sm_lid = cpu_to_be16(sw->sm_lid);
	pi->cap_mask = cpu_to_be32(SOFTIB_SW_CAPS);
	pi->local_port_num = in_port;
	pi->neighbormtu_mastersmsl = sw->sm_sl;
	pi->guid_cap = 1;
	pi->clientrereg_resv_subnetto = sw->subnet_timeout | rereg;
	pi->resv_resptimevalue = 8;
	softib_link_get(&sw->port[0].link, smp);
	return 0;
}

static u16 softib_swsma_port_info(struct ib_smp *smp, unsigned int in_port,
				  bool *retrain)
{
	struct ib_port_info *pi = (struct ib_port_info *)smp->data;
	u32 num = be32_to_cpu(smp->attr_mod) & 0xff;
	struct softib_switch *sw = &softib_fabric->sw;

	if (num > sw->nports)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	if (!num)
		return softib_swsma_port0_info(smp, in_port);
	if (softib_smp_is_set(smp) &&
	    !softib_link_set(&sw->port[num].link, smp, retrain))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	memset(smp->data, 0, sizeof(smp->data));
	pi->local_port_num = in_port;
	pi->localphyerrors_overrunerrors = 0x88;
	softib_link_get(&sw->port[num].link, smp);
	return 0;
}

static u16 softib_swsma_pkey_table(struct ib_smp *smp)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	struct softib_swport *port;

	if (mod >> 16 > softib_fabric->sw.nports || mod & 0xffff)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	port = &softib_fabric->sw.port[mod >> 16];
	BUILD_BUG_ON(sizeof(port->pkeys) != IB_SMP_DATA_SIZE);
	if (softib_smp_is_set(smp))
		memcpy(port->pkeys, smp->data, sizeof(port->pkeys));
	memcpy(smp->data, port->pkeys, sizeof(port->pkeys));
	return 0;
}

static u16 softib_swsma_sl2vl(struct ib_smp *smp)
{
	u32 out = be32_to_cpu(smp->attr_mod) & 0xff;
	struct softib_swport *port;

	if (out > softib_fabric->sw.nports)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	port = &softib_fabric->sw.port[out];
	if (softib_smp_is_set(smp))
		memcpy(port->sl2vl, smp->data, sizeof(port->sl2vl));
	memset(smp->data, 0, sizeof(smp->data));
	memcpy(smp->data, port->sl2vl, sizeof(port->sl2vl));
	return 0;
}

static u16 softib_swsma_vlarb(struct ib_smp *smp)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	u32 port = mod & 0xffff;

	if (port > softib_fabric->sw.nports ||
	    !softib_sma_vlarb(&softib_fabric->sw.port[port].link, smp,
			      mod >> 16))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	return 0;
}

static u16 softib_swsma_get_only(struct ib_smp *smp, unsigned int in_port)
{
	struct ib_node_info *ni = (struct ib_node_info *)smp->data;
	struct softib_switch *sw = &softib_fabric->sw;

	if (softib_smp_is_set(smp))
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	switch (smp->attr_id) {
	case IB_SMP_ATTR_NODE_INFO:
		softib_sma_node_info(smp, RDMA_NODE_IB_SWITCH, sw->nports,
				     in_port, sw->guid, sw->guid);
		ni->partition_cap = cpu_to_be16(ARRAY_SIZE(sw->port->pkeys));
		return 0;
	case IB_SMP_ATTR_NODE_DESC:
		memset(smp->data, 0, sizeof(smp->data));
		strscpy((char *)smp->data, "softib switch", IB_SMP_DATA_SIZE);
		return 0;
	case IB_SMP_ATTR_GUID_INFO:
		memset(smp->data, 0, sizeof(smp->data));
		memcpy(smp->data, &sw->guid, sizeof(sw->guid));
		return 0;
	}
	return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
}

static u16 softib_swsma_attr(struct ib_smp *smp, unsigned int in_port,
			     bool *retrain)
{
	switch (smp->attr_id) {
	case IB_SMP_ATTR_SWITCH_INFO:
		return softib_swsma_switch_info(smp);
	case IB_SMP_ATTR_PORT_INFO:
		return softib_swsma_port_info(smp, in_port, retrain);
	case IB_SMP_ATTR_LINEAR_FORWARD_TABLE:
		return softib_swsma_lft(smp);
	case IB_SMP_ATTR_MCAST_FORWARD_TABLE:
		return softib_swsma_mft(smp);
	case IB_SMP_ATTR_PKEY_TABLE:
		return softib_swsma_pkey_table(smp);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
		return softib_swsma_sl2vl(smp);
	case IB_SMP_ATTR_VL_ARB_TABLE:
		return softib_swsma_vlarb(smp);
	default:
		return softib_swsma_get_only(smp, in_port);
	}
}

/* Return: whether @smp is a response now. */
static bool softib_swsma_process(struct ib_smp *smp, unsigned int in_port)
{
	struct softib_switch *sw = &softib_fabric->sw;
	u32 num = be32_to_cpu(smp->attr_mod) & 0xff;
	struct softib_port *peer;
	bool retrain = false;
	unsigned long flags;
	u16 status;

	if (smp->method == IB_MGMT_METHOD_TRAP_REPRESS)
		softib_trap_repress(&sw->trap, smp->tid);
	if (smp->method != IB_MGMT_METHOD_GET &&
	    smp->method != IB_MGMT_METHOD_SET)
		return false;
	spin_lock_irqsave(&softib_fabric->lock, flags);
	status = softib_swsma_attr(smp, in_port, &retrain);
	spin_unlock_irqrestore(&softib_fabric->lock, flags);
	if (retrain) {
		peer = rcu_dereference(sw->port[num].peer);
		if (peer)
			softib_link_train(peer, true);
	}
	smp->method = IB_MGMT_METHOD_GET_RESP;
	smp->status = cpu_to_be16(status);
	return true;
}

static void softib_swsma_send(struct softib_frame *frame, unsigned int out)
{
	frame->vl = frame->dqpn ? 0 : SOFTIB_VL_SMP;
	softib_capture_frame(frame);
	if (out)
		softib_switch_out(out, frame);
	else
		softib_switch_unicast(frame);
}

/* Forward a directed-route SMP through an external port. */
static void softib_swsma_hop(struct softib_frame *was, struct ib_smp *smp,
			     unsigned int in_port, unsigned int out)
{
	struct softib_switch *sw = &softib_fabric->sw;
	struct softib_frame frame;

	if (!out || out > sw->nports) {
		atomic_inc(&sw->port[in_port].drop[SOFTIB_DROP_BAD_MAD]);
		return;
	}
	softib_frame_init(&frame, IB_OPCODE_UD_SEND_ONLY);
	softib_frame_linear(&frame, smp, sizeof(*smp));
	frame.slid = SOFTIB_LID_PERMISSIVE;
	frame.dlid = SOFTIB_LID_PERMISSIVE;
	frame.sl = was->sl;
	frame.pkey = was->pkey;
	frame.psn = was->psn;
	frame.dqpn = 0;
	frame.sqpn = 0;
	frame.qkey = 0;
	softib_swsma_send(&frame, out);
}

/* Forward an SMP by LID, at the end of its directed part. */
static void softib_swsma_by_lid(struct softib_frame *was, struct ib_smp *smp,
				u16 slid, u16 dlid)
{
	struct softib_frame frame;

	softib_frame_init(&frame, IB_OPCODE_UD_SEND_ONLY);
	softib_frame_linear(&frame, smp, sizeof(*smp));
	frame.slid = slid;
	frame.dlid = dlid;
	frame.sl = was->sl;
	frame.pkey = was->pkey;
	frame.psn = was->psn;
	frame.dqpn = 0;
	frame.sqpn = 0;
	frame.qkey = 0;
	softib_swsma_send(&frame, 0);
}

/* IBTA C14-9: outgoing SMP */
static void softib_swsma_dr_out(struct softib_frame *was, struct ib_smp *smp,
				unsigned int in_port)
{
	if (!smp->hop_ptr || smp->hop_ptr > smp->hop_cnt + 1)
		goto bad;
	if (smp->hop_ptr < smp->hop_cnt) {
		smp->return_path[smp->hop_ptr++] = in_port;
		softib_swsma_hop(was, smp, in_port,
				 smp->initial_path[smp->hop_ptr]);
		return;
	}
	if (smp->hop_ptr == smp->hop_cnt) {
		smp->return_path[smp->hop_ptr++] = in_port;
		if (smp->dr_dlid != IB_LID_PERMISSIVE) {
			softib_swsma_by_lid(was, smp, softib_fabric->sw.lid,
					    be16_to_cpu(smp->dr_dlid));
			return;
		}
	}
	if (!softib_swsma_process(smp, in_port))
		return;
	/* The response starts back at this switch: IBTA C14-13. */
	smp->status |= IB_SMP_DIRECTION;
	smp->hop_ptr--;
	softib_swsma_hop(was, smp, in_port, smp->return_path[smp->hop_ptr]);
	return;
bad:
	atomic_inc(&softib_fabric->sw.port[in_port].drop[SOFTIB_DROP_BAD_MAD]);
}

/* IBTA C14-13: returning SMP */
static void softib_swsma_dr_back(struct softib_frame *was, struct ib_smp *smp,
				 unsigned int in_port)
{
	if (smp->hop_ptr > smp->hop_cnt + 1 || !smp->hop_ptr)
		goto bad;
	smp->hop_ptr--;
	if (smp->hop_ptr) {
		softib_swsma_hop(was, smp, in_port,
				 smp->return_path[smp->hop_ptr]);
		return;
	}
	if (smp->dr_slid != IB_LID_PERMISSIVE) {
		softib_swsma_by_lid(was, smp, softib_fabric->sw.lid,
				    be16_to_cpu(smp->dr_slid));
		return;
	}
bad:
	/* The switch has no subnet manager. */
	atomic_inc(&softib_fabric->sw.port[in_port].drop[SOFTIB_DROP_BAD_MAD]);
}

static void softib_swsma_answer(struct softib_frame *was, const void *mad)
{
	struct softib_frame frame;

	softib_frame_init(&frame, IB_OPCODE_UD_SEND_ONLY);
	softib_frame_linear(&frame, mad, IB_MGMT_MAD_SIZE);
	frame.slid = was->dlid;
	frame.dlid = was->slid;
	frame.sl = was->sl;
	frame.pkey = was->pkey;
	frame.psn = was->psn;
	frame.dqpn = was->sqpn;
	frame.sqpn = was->dqpn;
	frame.qkey = was->dqpn ? SOFTIB_GSI_QKEY : 0;
	softib_swsma_send(&frame, 0);
}

/*
 * Receive a frame for port 0, or a directed-route SMP. Context: rcu_read_lock() held, no QP lock
 * held.
 */
void softib_swsma_rx(unsigned int in_port, struct softib_frame *frame)
{
	struct softib_swport *port = &softib_fabric->sw.port[in_port];
	struct softib_payload from;
	union {
		struct ib_mad mad;
		struct ib_smp smp;
	} u;

	BUILD_BUG_ON(sizeof(u) != IB_MGMT_MAD_SIZE);
	softib_capture_frame(frame);
	if (frame->dqpn > 1 || softib_frame_transport(frame) != IB_OPCODE_UD ||
	    frame->len != sizeof(u)) {
		atomic_inc(&port->drop[SOFTIB_DROP_NO_QP]);
		return;
	}
	softib_payload_init(&from, frame);
	softib_payload_read(&from, &u, sizeof(u));
	switch (u.mad.mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		if (frame->dqpn)
			break;
		if (ib_get_smp_direction(&u.smp))
			softib_swsma_dr_back(frame, &u.smp, in_port);
		else
			softib_swsma_dr_out(frame, &u.smp, in_port);
		return;
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
		if (frame->dqpn)
			break;
		if (softib_swsma_process(&u.smp, in_port))
			softib_swsma_answer(frame, &u);
		return;
	case IB_MGMT_CLASS_PERF_MGMT:
		if (!frame->dqpn || !softib_pma_reply(NULL, &u.mad))
			break;
		softib_swsma_answer(frame, &u);
		return;
	}
	atomic_inc(&port->drop[SOFTIB_DROP_BAD_MAD]);
}
