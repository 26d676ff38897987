// SPDX-License-Identifier: GPL-2.0
/*
 * The data path of an HCA port: out to the switch, and in to a QP.
 *
 * Every frame of every transport passes softib_port_tx() once, and
 * softib_port_rx() once per receiving port. Counters, capture, fault knobs and
 * checks that do not depend on the transport are in these two functions, which
 * run in the sender's context under rcu_read_lock().
 */
#include <linux/wait.h>

#include "softib.h"

static bool softib_port_link_ok(const struct softib_port *port,
				const struct softib_frame *frame)
{
	u8 state = READ_ONCE(port->link.state);

	if (unlikely(READ_ONCE(port->dev->fatal)))
		return false;
	if (likely(state == IB_PORT_ACTIVE))
		return true;
	/* Subnet management requires only the physical link. */
	return softib_frame_is_smp(frame) && state >= IB_PORT_INIT;
}

static bool softib_port_has_lid(const struct softib_port *port, u16 lid)
{
	return READ_ONCE(port->lid) == (lid & ~(BIT(READ_ONCE(port->lmc)) - 1));
}

static void softib_port_count_tx(struct softib_port *port,
				 const struct softib_frame *frame)
{
	u32 packets = softib_frame_packets(frame);
	u32 bytes = packets * softib_frame_header_len(frame) + frame->len;

	this_cpu_add(port->stats->tx_packets, packets);
	this_cpu_add(port->stats->tx_bytes, bytes);
	if (softib_frame_is_mcast(frame))
		this_cpu_inc(port->stats->tx_mcast);
}

static void softib_port_count_rx(struct softib_port *port,
				 const struct softib_frame *frame)
{
	u32 packets = softib_frame_packets(frame);
	u32 bytes = packets * softib_frame_header_len(frame) + frame->len;

	this_cpu_add(port->stats->rx_packets, packets);
	this_cpu_add(port->stats->rx_bytes, bytes);
	if (softib_frame_is_mcast(frame))
		this_cpu_inc(port->stats->rx_mcast);
}

/*
 * Match the P_Key of a frame with the P_Key of the QP; the GSI accepts every P_Key of the port, and
 * responds in the partition of the request.
 */
static bool softib_port_check_pkey(struct softib_port *port,
				   const struct rvt_qp *qp, u16 pkey)
{
	if (likely(qp->ibqp.qp_num > 1))
		return softib_pkey_ok(softib_port_pkey(port, qp->s_pkey_index),
				      pkey);
	return !qp->ibqp.qp_num || softib_port_find_pkey(port, pkey) >= 0;
}

static void softib_qp_rx(struct softib_port *port, struct rvt_qp *qp,
			 struct softib_frame *frame)
{
	u8 transport = softib_frame_transport(frame);

	if (qp->port_num != port->num || qp->allowed_ops != transport) {
		softib_port_drop(port, SOFTIB_DROP_NO_QP);
		return;
	}
	if (!softib_port_check_pkey(port, qp, frame->pkey)) {
		softib_port_drop(port, SOFTIB_DROP_PKEY);
		port->ibp.pkey_violations++;
		return;
	}
	if (transport != IB_OPCODE_UD)
		softib_rc_rx(port, qp, frame);
	else if (xa_empty(&port->dev->netdevs) || !softib_rn_rx(port, qp, frame))
		softib_ud_rx(port, qp, frame);
}

/* The QP blocks loopback of its own multicast. */
static bool softib_qp_blocks(const struct rvt_qp *qp,
			     const struct softib_frame *frame)
{
	return qp->ibqp.qp_num == frame->sqpn &&
	       qp_to_softib_qp(qp)->create_flags &
	       IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
}

/*
 * Deliver a copy to each QP that is attached to the group; @own: the frame is from this port.
 * Return: false if none is attached.
 */
static bool softib_port_rx_mcast(struct softib_port *port,
				 struct softib_frame *frame, bool own)
{
	struct rvt_mcast_qp *entry;
	struct rvt_mcast *group;

	group = rvt_mcast_find(&port->ibp, &frame->grh.dgid, frame->dlid);
	if (!group)
		return false;
	list_for_each_entry_rcu(entry, &group->qp_list, list)
		if (!own || !softib_qp_blocks(entry->qp, frame))
			softib_qp_rx(port, entry->qp, frame);
	/* rvt_detach_mcast() waits until all references are dropped. */
	if (atomic_dec_return(&group->refcount) <= 1)
		wake_up(&group->wait);
	return true;
}

/* The port of the master SM has the LID of its SM. */
static bool softib_port_has_sm(const struct softib_port *port)
{
	return port->lid && READ_ONCE(port->ibp.sm_lid) == READ_ONCE(port->lid);
}

static bool softib_port_has_gid(const struct softib_port *port,
				const union ib_gid *gid)
{
	int i;

	if (gid->global.subnet_prefix != port->ibp.gid_prefix &&
	    gid->global.subnet_prefix != SOFTIB_GID_PREFIX)
		return false;
	/* The RDMA core sends to the SA by this GID if a GRH is required. */
	if (gid->global.interface_id == cpu_to_be64(IB_SA_WELL_KNOWN_GUID))
		return softib_port_has_sm(port);
	for (i = 0; i < SOFTIB_NGUIDS; i++)
		if (gid->global.interface_id == port->guids[i])
			return true;
	return false;
}

/* IBTA 8.3.5: octets from the end of the GRH to the end of the ICRC */
static void softib_frame_set_paylen(struct softib_frame *frame)
{
	u32 len = softib_frame_header_len(frame) - 8 - 2 -
		  sizeof(struct ib_grh);

	if (!frame->mtu || frame->len < frame->mtu)
		len += ALIGN(frame->len, 4);
	else
		len += frame->mtu;
	frame->grh.paylen = cpu_to_be16(len);
}

/* Port GUID of a LID; 0 for an unknown LID */
static __be64 softib_lid_guid(u16 lid)
{
	struct softib_switch *sw = &softib_fabric->sw;
	struct softib_port *port;
	int i;

	for (i = 1; i <= sw->nports; i++) {
		port = rcu_dereference(sw->port[i].peer);
		if (port && softib_port_has_lid(port, lid))
			return port->guids[0];
	}
	return 0;
}

/*
 * Add a GRH to a MAD for a port that requires it, as the embedded switch of an HCA with virtual
 * ports does: the RDMA core needs the address to respond.
 */
static void softib_port_give_grh(struct softib_port *port,
				 struct softib_frame *frame)
{
	struct ib_grh *grh = &frame->grh;

	frame->has_grh = true;
	grh->version_tclass_flow =
		cpu_to_be32(IB_GRH_VERSION << IB_GRH_VERSION_SHIFT);
	grh->next_hdr = IB_GRH_NEXT_HDR;
	grh->hop_limit = 0;
	grh->sgid.global.subnet_prefix = port->ibp.gid_prefix;
	grh->sgid.global.interface_id = softib_lid_guid(frame->slid);
	grh->dgid.global.subnet_prefix = port->ibp.gid_prefix;
	grh->dgid.global.interface_id = port->guids[0];
	softib_frame_set_paylen(frame);
}

static void softib_port_rx_unicast(struct softib_port *port,
				   struct softib_frame *frame)
{
	struct rvt_qp *qp;

	if (frame->dlid == SOFTIB_LID_PERMISSIVE) {
		if (!softib_frame_is_smp(frame))
			return softib_port_drop(port, SOFTIB_DROP_DLID);
	} else if (!softib_port_has_lid(port, frame->dlid)) {
		return softib_port_drop(port, SOFTIB_DROP_DLID);
	}
	if (frame->has_grh && !softib_port_has_gid(port, &frame->grh.dgid))
		return softib_port_drop(port, SOFTIB_DROP_GID);
	if (unlikely(!frame->has_grh && softib_port_needs_grh(port))) {
		if (frame->dqpn > 1)
			return softib_port_drop(port, SOFTIB_DROP_NO_GRH);
		softib_port_give_grh(port, frame);
	}
	qp = rvt_lookup_qpn(&port->dev->rdi, &port->ibp, frame->dqpn);
	if (!qp)
		return softib_port_drop(port, SOFTIB_DROP_NO_QP);
	softib_qp_rx(port, qp, frame);
}

/* Receive a frame. Context: rcu_read_lock() held, no QP lock held. */
void softib_port_rx(struct softib_port *port, struct softib_frame *frame)
{
	softib_capture_frame(frame);
	if (!softib_port_link_ok(port, frame))
		return softib_port_drop(port, SOFTIB_DROP_LINK);
	softib_port_count_rx(port, frame);
	if (!softib_frame_is_mcast(frame))
		return softib_port_rx_unicast(port, frame);
	if (!frame->has_grh)
		return softib_port_drop(port, SOFTIB_DROP_NO_GRH);
	if (!softib_port_rx_mcast(port, frame, false))
		softib_port_drop(port, SOFTIB_DROP_NO_GROUP);
}

/* Send a complete frame, after the fault knobs. Context: rcu_read_lock() held, no QP lock held. */
void softib_port_xmit(struct softib_port *port, struct softib_frame *frame)
{
	if (!softib_frame_is_mcast(frame) &&
	    frame->dlid != SOFTIB_LID_PERMISSIVE &&
	    softib_port_has_lid(port, frame->dlid)) {
		softib_port_rx(port, frame);
		return;
	}
	softib_switch_forward(port, frame);
	/*
	 * The switch never returns a frame to its ingress port. The HCA itself delivers to its own
	 * attached QPs, including the sender (IBTA 10.5.2.1); some models do not.
	 */
	if (softib_frame_is_mcast(frame) && frame->has_grh &&
	    port->dev->node->model->mc_loop)
		softib_port_rx_mcast(port, frame, true);
}

/*
 * Send a frame; sets &softib_frame.vl and the payload length of the GRH. On return the frame has
 * been delivered, dropped and counted, or delayed by a fault knob.
 *
 * Context: any, but no QP lock held.
 */
void softib_port_tx(struct softib_port *port, struct softib_frame *frame)
{
	u32 first = frame->len;

	if (frame->mtu && first > frame->mtu)
		first = frame->mtu;
	if (unlikely(!softib_port_link_ok(port, frame)))
		return softib_port_drop(port, SOFTIB_DROP_LINK);
	if (unlikely(first > READ_ONCE(port->link.mtu)))
		return softib_port_drop(port, SOFTIB_DROP_MTU);
	if (unlikely(softib_frame_is_smp(frame)))
		frame->vl = SOFTIB_VL_SMP;
	else
		frame->vl = READ_ONCE(port->sl2vl[frame->sl]);
	if (unlikely(frame->vl == SOFTIB_VL_SMP && !softib_frame_is_smp(frame)))
		return softib_port_drop(port, SOFTIB_DROP_VL);
	if (frame->has_grh)
		softib_frame_set_paylen(frame);
	softib_port_count_tx(port, frame);

	rcu_read_lock();
	if (likely(!READ_ONCE(port->armed)) || !softib_fault_frame(port, frame))
		softib_port_xmit(port, frame);
	rcu_read_unlock();
}
