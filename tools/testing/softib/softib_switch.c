// SPDX-License-Identifier: GPL-2.0
/*
 * The switch: forwards a frame from its ingress port to its egress ports, only by
 * the entries that the subnet manager wrote to LFT and MFT.
 *
 * The entries are read without a lock: a frame in flight during a change takes the
 * old or the new route, as in hardware.
 */
#include "softib.h"

static void softib_swport_drop(unsigned int num, struct softib_frame *frame,
			       enum softib_drop why)
{
	softib_capture_drop(frame, why);
	atomic_inc(&softib_fabric->sw.port[num].drop[why]);
}

static bool softib_swport_link_ok(const struct softib_swport *port,
				  const struct softib_frame *frame)
{
	u8 state = READ_ONCE(port->link.state);

	if (likely(state == IB_PORT_ACTIVE))
		return true;
	return softib_frame_is_smp(frame) && state >= IB_PORT_INIT;
}

/* Send a frame out of external port @out. Context: rcu_read_lock() held, no QP lock held. */
void softib_switch_out(unsigned int out, struct softib_frame *frame)
{
	struct softib_swport *port = &softib_fabric->sw.port[out];
	struct softib_port *peer;
	u32 len = frame->len;

	if (frame->mtu && len > frame->mtu)
		len = frame->mtu;
	if (unlikely(!softib_swport_link_ok(port, frame)))
		return softib_swport_drop(out, frame, SOFTIB_DROP_LINK);
	if (unlikely(len > READ_ONCE(port->link.mtu)))
		return softib_swport_drop(out, frame, SOFTIB_DROP_MTU);
	peer = rcu_dereference(port->peer);
	if (unlikely(!peer))
		return softib_swport_drop(out, frame, SOFTIB_DROP_LINK);
	softib_port_rx(peer, frame);
}

static void softib_switch_route(unsigned int in, struct softib_frame *frame)
{
	struct softib_switch *sw = &softib_fabric->sw;
	u8 out;

	if (frame->dlid > READ_ONCE(sw->lft_top))
		return softib_swport_drop(in, frame, SOFTIB_DROP_NO_ROUTE);
	out = READ_ONCE(sw->lft[frame->dlid]);
	if (unlikely(!out))
		return softib_swsma_rx(in, frame);
	if (unlikely(out > sw->nports))
		return softib_swport_drop(in, frame, SOFTIB_DROP_NO_ROUTE);
	softib_switch_out(out, frame);
}

/* Send a unicast frame from port 0. Context: rcu_read_lock() held, no QP lock held. */
void softib_switch_unicast(struct softib_frame *frame)
{
	softib_switch_route(0, frame);
}

static void softib_switch_mcast(unsigned int in, struct softib_frame *frame)
{
	struct softib_switch *sw = &softib_fabric->sw;
	unsigned int mlid = frame->dlid - SOFTIB_LID_MCAST;
	unsigned int i, out;
	bool any = false;

	if (mlid >= SOFTIB_MFT_SIZE)
		return softib_swport_drop(in, frame, SOFTIB_DROP_NO_TREE);
	for (i = 0; i < sw->mft_words; i++) {
		unsigned long mask = READ_ONCE(sw->mft[mlid][i]);

		for_each_set_bit(out, &mask, 16) {
			any = true;
			softib_capture_frame(frame);
			if (i * 16 + out != in && i * 16 + out &&
			    i * 16 + out <= sw->nports)
				softib_switch_out(i * 16 + out, frame);
		}
	}
	if (!any)
		softib_swport_drop(in, frame, SOFTIB_DROP_NO_TREE);
}

/* Forward a frame from an HCA port. Context: rcu_read_lock() held, no QP lock held. */
void softib_switch_forward(struct softib_port *from,
			   struct softib_frame *frame)
{
	struct softib_switch *sw = &softib_fabric->sw;
	unsigned int in = from->swport;

	if (unlikely(!softib_swport_link_ok(&sw->port[in], frame)))
		return softib_swport_drop(in, frame, SOFTIB_DROP_LINK);
	if (softib_frame_is_mcast(frame))
		return softib_switch_mcast(in, frame);
	if (likely(frame->dlid != SOFTIB_LID_PERMISSIVE))
		return softib_switch_route(in, frame);
	if (softib_frame_is_smp(frame))
		return softib_swsma_rx(in, frame);
	softib_swport_drop(in, frame, SOFTIB_DROP_NO_ROUTE);
}

/* Initialise the switch, without links. */
void softib_switch_init(void)
{
	struct softib_switch *sw = &softib_fabric->sw;
	int i;

	sw->nports = softib_fabric->nnodes * softib_fabric->nports;
	sw->mft_words = sw->nports / 16 + 1;
	sw->guid = cpu_to_be64(softib_fabric->guid_base | 0xff00);
	sw->sm_lid = SOFTIB_LID_PERMISSIVE;
	sw->gid_prefix = SOFTIB_GID_PREFIX;
	memset(sw->lft, SOFTIB_NO_PORT, sizeof(sw->lft));
	for (i = 0; i <= sw->nports; i++)
		softib_link_init(&sw->port[i].link);
	sw->port[0].link.state = IB_PORT_ACTIVE;
	sw->port[0].link.phys = IB_PORT_PHYS_STATE_LINK_UP;
	sw->port[0].pkeys[0] = cpu_to_be16(IB_DEFAULT_PKEY_FULL);
	softib_trap_init_switch(&sw->trap);
}

void softib_switch_exit(void)
{
	softib_trap_stop(&softib_fabric->sw.trap);
}
