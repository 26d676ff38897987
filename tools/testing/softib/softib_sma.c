// SPDX-License-Identifier: GPL-2.0
/*
 * Subnet management agent of the HCAs, and entry point for all MADs that an
 * HCA answers. Its caller ib_mad passes MADs from the wire and MADs of a local
 * subnet manager for its own port, after the hop processing of directed-route
 * SMPs. The agent of the switch, softib_swsma.c, uses the common part of this file.
 */
#include <linux/moduleparam.h>

#include "softib.h"

#define SOFTIB_DEVICE_ID	0x50b1
#define SOFTIB_PKEYS_A_BLOCK	32

static int softib_router = -1;
module_param_named(router, softib_router, int, 0444);
MODULE_PARM_DESC(router, "HCA that says it is a router to other subnets (-1: none)");

/* Changes by a Set; the events are raised with no lock held. */
struct softib_changes {
	bool lid;
	bool sm;
	bool gid;
	bool pkey;
	bool rereg;
	bool active;
	bool retrain;
};

/* Answer NodeInfo. @node_guid: also the system image GUID; @port: the port of the SMP */
void softib_sma_node_info(struct ib_smp *smp, u8 type, u8 nports, u8 port,
			  __be64 node_guid, __be64 port_guid)
{
	struct ib_node_info *ni = (struct ib_node_info *)smp->data;

	memset(smp->data, 0, sizeof(smp->data));
	ni->base_version = IB_MGMT_BASE_VERSION;
	ni->class_version = 1;
	ni->node_type = type;
	ni->num_ports = nports;
	ni->sys_guid = node_guid;
	ni->node_guid = node_guid;
	ni->port_guid = port_guid;
	ni->partition_cap = cpu_to_be16(SOFTIB_NPKEYS);
	ni->device_id = cpu_to_be16(SOFTIB_DEVICE_ID);
	ni->revision = cpu_to_be32(1);
	ni->local_port_num = port;
	put_unaligned_be24(SOFTIB_VENDOR_ID, ni->vendor_id);
}

/*
 * Answer VLArbitrationTable of an end of a link. @table: 1 to 4
 * Context: the fabric's lock held. Return: false for another @table.
 */
bool softib_sma_vlarb(struct softib_link *link, struct ib_smp *smp, u32 table)
{
	if (table < 1 || table > ARRAY_SIZE(link->vlarb))
		return false;
	if (smp->method == IB_MGMT_METHOD_SET)
		memcpy(link->vlarb[table - 1], smp->data, sizeof(smp->data));
	memcpy(smp->data, link->vlarb[table - 1], sizeof(smp->data));
	return true;
}

static u16 softib_sma_node_desc(struct softib_port *port, struct ib_smp *smp)
{
	BUILD_BUG_ON(IB_DEVICE_NODE_DESC_MAX != IB_SMP_DATA_SIZE);
	memcpy(smp->data, port->dev->rdi.ibdev.node_desc, IB_SMP_DATA_SIZE);
	return 0;
}

static u16 softib_sma_guid_info(struct softib_port *port, struct ib_smp *smp,
				struct softib_changes *changes)
{
	__be64 *guids = (__be64 *)smp->data;
	int i;

	if (smp->attr_mod)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	if (smp->method == IB_MGMT_METHOD_SET) {
		/* IBTA 14.2.5.5: entry 0 is read only. */
		for (i = 1; i < SOFTIB_NGUIDS; i++) {
			if (port->guids[i] == guids[i])
				continue;
			port->guids[i] = guids[i];
			changes->gid = true;
		}
	}
	BUILD_BUG_ON(sizeof(port->guids) != IB_SMP_DATA_SIZE);
	memcpy(smp->data, port->guids, IB_SMP_DATA_SIZE);
	return 0;
}

static void softib_sma_pi_get(struct softib_port *port, u32 local_port,
			      struct ib_smp *smp)
{
	struct ib_port_info *pi = (struct ib_port_info *)smp->data;
	struct rvt_ibport *ibp = &port->ibp;

	memset(smp->data, 0, sizeof(smp->data));
	pi->mkey = ibp->mkey;
	pi->gid_prefix = ibp->gid_prefix;
	pi->lid = cpu_to_be16(port->lid);
	pi->sm_lid = cpu_to_be16(ibp->sm_lid);
	pi->cap_mask = cpu_to_be32(ibp->port_cap_flags);
	pi->mkey_lease_period = cpu_to_be16(ibp->mkey_lease_period);
	pi->local_port_num = local_port;
	pi->mkeyprot_resv_lmc = ibp->mkeyprot << 6 | port->lmc;
	pi->neighbormtu_mastersmsl = ibp->sm_sl;
	pi->pkey_violations = cpu_to_be16(ibp->pkey_violations);
	pi->qkey_violations = cpu_to_be16(ibp->qkey_violations);
	pi->guid_cap = SOFTIB_NGUIDS;
	pi->clientrereg_resv_subnetto = ibp->subnet_timeout;
	pi->resv_resptimevalue = 8;
	pi->localphyerrors_overrunerrors = 0x88;
	softib_link_get(&port->link, smp);
	if (port->dev->node->mtu_cap)
		pi->inittypereply_mtucap = port->dev->node->mtu_cap;
}

static void softib_sma_pi_apply(struct softib_port *port,
				const struct ib_port_info *pi,
				struct softib_changes *changes)
{
	struct rvt_ibport *ibp = &port->ibp;
	u16 sm_lid = be16_to_cpu(pi->sm_lid);
	u16 lid = be16_to_cpu(pi->lid);
	u8 sm_sl = pi->neighbormtu_mastersmsl & 0xf;
	u8 lmc = pi->mkeyprot_resv_lmc & 7;

	/* mlx4 raises no event for a change of the LMC alone. */
	changes->lid = port->lid != lid;
	changes->sm = ibp->sm_lid != sm_lid || ibp->sm_sl != sm_sl;
	changes->gid |= ibp->gid_prefix != pi->gid_prefix;
	changes->rereg = pi->clientrereg_resv_subnetto & 0x80;
	WRITE_ONCE(port->lid, lid);
	WRITE_ONCE(port->lmc, lmc);
	WRITE_ONCE(ibp->sm_lid, sm_lid);
	ibp->sm_sl = sm_sl;
	ibp->gid_prefix = pi->gid_prefix;
	ibp->mkey = pi->mkey;
	ibp->mkeyprot = pi->mkeyprot_resv_lmc >> 6;
	ibp->mkey_lease_period = be16_to_cpu(pi->mkey_lease_period);
	ibp->subnet_timeout = pi->clientrereg_resv_subnetto & 0x1f;
	/* IBTA 14.2.5.6: counters, which Set can only reset to zero. */
	if (!pi->pkey_violations)
		ibp->pkey_violations = 0;
	if (!pi->qkey_violations)
		ibp->qkey_violations = 0;
}

static bool softib_sma_lid_ok(u16 lid, u16 was)
{
	return lid == was || (lid && lid < SOFTIB_LID_MCAST);
}

static u16 softib_sma_port_info(struct softib_port *on, struct ib_smp *smp,
				struct softib_changes *changes)
{
	const struct ib_port_info *pi = (const struct ib_port_info *)smp->data;
	u32 num = be32_to_cpu(smp->attr_mod) & 0xff;
	struct softib_port *port = on;
	bool was_active;

	if (num > on->dev->nports)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	if (num && num != on->num) {
		/* Other ports of a CA are read only. */
		if (smp->method == IB_MGMT_METHOD_SET)
			return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
		port = &on->dev->port[num - 1];
	}
	if (smp->method == IB_MGMT_METHOD_SET) {
		was_active = port->link.state == IB_PORT_ACTIVE;
		if (!softib_sma_lid_ok(be16_to_cpu(pi->lid), port->lid) ||
		    !softib_sma_lid_ok(be16_to_cpu(pi->sm_lid),
				       port->ibp.sm_lid) ||
		    !softib_link_set(&port->link, smp, &changes->retrain))
			return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
		softib_sma_pi_apply(port, pi, changes);
		changes->active = !was_active &&
				  port->link.state == IB_PORT_ACTIVE;
	}
	softib_sma_pi_get(port, on->num, smp);
	if (changes->rereg)
		((struct ib_port_info *)smp->data)->clientrereg_resv_subnetto |=
			0x80;
	return 0;
}

static u16 softib_sma_pkey_table(struct softib_port *port, struct ib_smp *smp,
				 struct softib_changes *changes)
{
	u32 block = be32_to_cpu(smp->attr_mod);
	__be16 *pkeys = (__be16 *)smp->data;
	u16 *table;
	int i;

	if (block >= SOFTIB_NPKEYS / SOFTIB_PKEYS_A_BLOCK)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	table = port->pkeys + block * SOFTIB_PKEYS_A_BLOCK;
	for (i = 0; i < SOFTIB_PKEYS_A_BLOCK; i++) {
		u16 pkey = be16_to_cpu(pkeys[i]);

		if (smp->method == IB_MGMT_METHOD_SET && table[i] != pkey) {
			WRITE_ONCE(table[i], pkey);
			changes->pkey = true;
		}
		pkeys[i] = cpu_to_be16(table[i]);
	}
	return 0;
}

static u16 softib_sma_sl2vl(struct softib_port *port, struct ib_smp *smp)
{
	int i;

	if (smp->method == IB_MGMT_METHOD_SET)
		for (i = 0; i < 16; i++)
			WRITE_ONCE(port->sl2vl[i],
				   smp->data[i / 2] >> (i & 1 ? 0 : 4) & 0xf);
	memset(smp->data, 0, sizeof(smp->data));
	for (i = 0; i < 16; i++)
		smp->data[i / 2] |= port->sl2vl[i] << (i & 1 ? 0 : 4);
	return 0;
}

/* This router does not route: it exists for the SM's handling of routers. */
static u8 softib_sma_node_type(const struct softib_dev *dev)
{
	return dev->node->index == softib_router ? RDMA_NODE_IB_ROUTER :
						   RDMA_NODE_IB_CA;
}

static u16 softib_sma_attr(struct softib_port *port, struct ib_smp *smp,
			   struct softib_changes *changes)
{
	struct softib_dev *dev = port->dev;

	switch (smp->attr_id) {
	case IB_SMP_ATTR_PORT_INFO:
		return softib_sma_port_info(port, smp, changes);
	case IB_SMP_ATTR_PKEY_TABLE:
		return softib_sma_pkey_table(port, smp, changes);
	case IB_SMP_ATTR_GUID_INFO:
		return softib_sma_guid_info(port, smp, changes);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
		return softib_sma_sl2vl(port, smp);
	case IB_SMP_ATTR_VL_ARB_TABLE:
		if (softib_sma_vlarb(&port->link, smp,
				     be32_to_cpu(smp->attr_mod) >> 16))
			return 0;
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	}
	if (smp->method == IB_MGMT_METHOD_SET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	switch (smp->attr_id) {
	case IB_SMP_ATTR_NODE_DESC:
		return softib_sma_node_desc(port, smp);
	case IB_SMP_ATTR_NODE_INFO:
		softib_sma_node_info(smp, softib_sma_node_type(dev),
				     dev->nports, port->num,
				     dev->rdi.ibdev.node_guid, port->guids[0]);
		return 0;
	}
	return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
}

static void softib_sma_tell(struct softib_port *port,
			    const struct softib_changes *changes)
{
	if (changes->lid)
		softib_port_event(port, IB_EVENT_LID_CHANGE);
	if (changes->gid)
		softib_port_event(port, IB_EVENT_GID_CHANGE);
	if (changes->pkey)
		softib_port_event(port, IB_EVENT_PKEY_CHANGE);
	if (changes->sm && port->dev->node->model->sm_change)
		softib_port_event(port, IB_EVENT_SM_CHANGE);
	if (changes->active)
		softib_port_event(port, IB_EVENT_PORT_ACTIVE);
	if (changes->rereg)
		softib_port_event(port, IB_EVENT_CLIENT_REREGISTER);
	if (changes->retrain)
		softib_link_train(port, true);
}

static int softib_sma_get_set(struct softib_port *port, struct ib_smp *smp)
{
	struct softib_changes changes = { };
	u16 status;

	/* A subnet manager on this port answers SMInfo. */
	if (smp->attr_id == IB_SMP_ATTR_SM_INFO &&
	    port->ibp.port_cap_flags & IB_PORT_SM)
		return IB_MAD_RESULT_SUCCESS;

	spin_lock_irq(&softib_fabric->lock);
	status = softib_sma_attr(port, smp, &changes);
	spin_unlock_irq(&softib_fabric->lock);
	softib_sma_tell(port, &changes);

	smp->method = IB_MGMT_METHOD_GET_RESP;
	smp->status = cpu_to_be16(status);
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		smp->status |= IB_SMP_DIRECTION;
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

static int softib_sma_smp(struct softib_port *port, struct ib_smp *smp)
{
	switch (smp->method) {
	case IB_MGMT_METHOD_GET:
	case IB_MGMT_METHOD_SET:
		return softib_sma_get_set(port, smp);
	case IB_MGMT_METHOD_TRAP_REPRESS:
		softib_trap_repress(&port->trap, smp->tid);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	default:
		/* Responses and traps: for a subnet manager on this port */
		return IB_MAD_RESULT_SUCCESS;
	}
}

/*
 * ib_device_ops.process_mad. There are no M_Keys, so @flags is unused; the response has the P_Key
 * of the request, so @out_pkey_index is unused.
 *
 * Context: may sleep. Return: IB_MAD_RESULT_* flags
 */
int softib_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_len, u16 *out_pkey_index)
{
	struct softib_port *port = &ib_to_softib(ibdev)->port[port_num - 1];

	/*
	 * During removal ib_mad unregisters its agents before it destroys the QPs that receive
	 * requests: drop requests, for instance of a sweep.
	 */
	if (READ_ONCE(port->leaving))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	*out = *in;
	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
		return softib_sma_smp(port, (struct ib_smp *)out);
	case IB_MGMT_CLASS_PERF_MGMT:
		if (!softib_pma_reply(port, out))
			return IB_MAD_RESULT_SUCCESS;
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}
