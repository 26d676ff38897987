// SPDX-License-Identifier: GPL-2.0
/*
 * Frames: addressing from an address handle, size on the wire, and access to
 * the payload.
 *
 * A multicast frame has many readers, so the payload is never consumed through
 * the frame: each reader advances its own struct softib_payload.
 */
#include "softib.h"

/* LRH, BTH, ICRC and VCRC of every packet */
#define SOFTIB_BASE_LEN		(8 + 12 + 4 + 2)

/*
 * Initialise a frame, except the fields of extension headers that the opcode requires: these are
 * up to the caller, and so are addresses, see softib_frame_route().
 */
void softib_frame_init(struct softib_frame *frame, u8 opcode)
{
	frame->vl = 0;
	frame->opcode = opcode;
	frame->has_grh = false;
	frame->se = false;
	frame->ackreq = false;
	frame->captured = false;
	frame->mtu = 0;
	frame->len = 0;
	frame->data = NULL;
	frame->ss.num_sge = 0;
}

static void softib_frame_set_grh(struct softib_frame *frame,
				 const struct softib_port *port,
				 const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *route = rdma_ah_read_grh(attr);
	unsigned int index = route->sgid_index;
	struct ib_grh *grh = &frame->grh;

	if (index >= SOFTIB_NGUIDS)
		index = 0;
	frame->has_grh = true;
	grh->version_tclass_flow =
		cpu_to_be32(IB_GRH_VERSION << IB_GRH_VERSION_SHIFT |
			    route->traffic_class << IB_GRH_TCLASS_SHIFT |
			    (route->flow_label & IB_GRH_FLOW_MASK));
	grh->paylen = 0;
	grh->next_hdr = IB_GRH_NEXT_HDR;
	grh->hop_limit = route->hop_limit;
	grh->sgid.global.subnet_prefix = port->ibp.gid_prefix;
	grh->sgid.global.interface_id = port->guids[index];
	grh->dgid = route->dgid;
}

/**
 * softib_frame_route() - set LRH and GRH from an address
 * @frame: the frame
 * @port: sending port
 * @attr: destination
 *
 * softib_port_tx() sets the payload length of the GRH, once the frame is complete.
 */
void softib_frame_route(struct softib_frame *frame, struct softib_port *port,
			const struct rdma_ah_attr *attr)
{
	u8 bits = rdma_ah_get_path_bits(attr) & (BIT(READ_ONCE(port->lmc)) - 1);

	frame->dlid = rdma_ah_get_dlid(attr);
	frame->sl = rdma_ah_get_sl(attr) & 0xf;
	if (unlikely(frame->dlid == SOFTIB_LID_PERMISSIVE))
		frame->slid = SOFTIB_LID_PERMISSIVE;
	else
		frame->slid = READ_ONCE(port->lid) | bits;
	if (rdma_ah_get_ah_flags(attr) & IB_AH_GRH)
		softib_frame_set_grh(frame, port, attr);
}

/* Set a linear payload. */
void softib_frame_linear(struct softib_frame *frame, const void *data, u32 len)
{
	frame->data = data;
	frame->len = len;
}

static u32 softib_frame_ext_len(u8 opcode)
{
	switch (opcode) {
	case IB_OPCODE_UD_SEND_ONLY:
		return 8;
	case IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE:
		return 8 + 4;
	}
	switch (opcode & ~RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_RDMA_WRITE_FIRST:
	case IB_OPCODE_RDMA_WRITE_ONLY:
	case IB_OPCODE_RDMA_READ_REQUEST:
		return 16;
	case IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		return 16 + 4;
	case IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE:
	case IB_OPCODE_RDMA_READ_RESPONSE_ONLY:
	case IB_OPCODE_ACKNOWLEDGE:
		return 4;
	default:
		return 0;
	}
}

/*
 * Length of header and trailer of the first packet of a frame: all octets from LRH to VCRC except
 * the payload. Later packets have other headers; the counters ignore the difference.
 */
u32 softib_frame_header_len(const struct softib_frame *frame)
{
	return SOFTIB_BASE_LEN + softib_frame_ext_len(frame->opcode) +
	       (frame->has_grh ? sizeof(struct ib_grh) : 0);
}

/* Start to read the payload of a frame. */
void softib_payload_init(struct softib_payload *from,
			 const struct softib_frame *frame)
{
	from->data = frame->data;
	from->len = frame->len;
	if (!frame->data)
		from->ss = frame->ss;
}

/* Length of a contiguous piece of the payload at the reader's position, at most @len */
static u32 softib_payload_piece(struct softib_payload *from, u32 len,
				const void **data)
{
	if (from->data) {
		*data = from->data;
		return len;
	}
	len = rvt_get_sge_length(&from->ss.sge, len);
	*data = softib_dma_va(from->ss.sge.vaddr, len, false);
	return len;
}

static void softib_payload_advance(struct softib_payload *from, u32 len)
{
	from->len -= len;
	if (from->data)
		from->data += len;
	else
		rvt_update_sge(&from->ss, len, false);
}

/* Skip payload. @len: at most the octets left */
void softib_payload_skip(struct softib_payload *from, u32 len)
{
	rcu_read_lock();
	while (len) {
		const void *data;
		u32 piece = softib_payload_piece(from, len, &data);

		softib_payload_advance(from, piece);
		len -= piece;
	}
	rcu_read_unlock();
}

/* Copy payload to memory. @len: at most the octets left */
void softib_payload_read(struct softib_payload *from, void *to, u32 len)
{
	rcu_read_lock();
	while (len) {
		const void *data;
		u32 piece = softib_payload_piece(from, len, &data);

		memcpy(to, data, piece);
		softib_payload_advance(from, piece);
		to += piece;
		len -= piece;
	}
	rcu_read_unlock();
}

/**
 * softib_sge_write() - copy to the memory of a work request
 * @to: position in the scatter list of the work request
 * @data: source
 * @len: octets, at most the octets left in @to
 * @release: drop references to MRs as they fill up
 *
 * Context: the lock that guards @to held.
 */
void softib_sge_write(struct rvt_sge_state *to, const void *data, u32 len,
		      bool release)
{
	u32 piece;

	rcu_read_lock();
	while (len) {
		piece = rvt_get_sge_length(&to->sge, len);
		memcpy(softib_dma_va(to->sge.vaddr, piece, true), data, piece);
		rvt_update_sge(to, piece, release);
		data += piece;
		len -= piece;
	}
	rcu_read_unlock();
}

/**
 * softib_payload_to_sge() - copy payload to a receive
 * @from: the reader's position
 * @to: position in the receive; MR references are dropped as they fill up
 * @len: octets, at most the octets left in @from and in @to
 *
 * Context: the lock that guards @to held, usually r_lock.
 */
void softib_payload_to_sge(struct softib_payload *from,
			   struct rvt_sge_state *to, u32 len)
{
	rcu_read_lock();
	while (len) {
		const void *data;
		u32 piece = softib_payload_piece(from, len, &data);

		softib_sge_write(to, data, piece, true);
		softib_payload_advance(from, piece);
		len -= piece;
	}
	rcu_read_unlock();
}
