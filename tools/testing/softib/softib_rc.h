/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RC and UC: what the requester (softib_rc.c) and the responder (softib_resp.c)
 * share.
 */
#ifndef SOFTIB_RC_H
#define SOFTIB_RC_H

#include "softib.h"

/*
 * A longer message travels as several frames, so that no lock is held, and no
 * interrupt off, for longer than it takes to copy this much. A multiple of
 * every path MTU, and more than the largest IPoIB packet.
 */
#define SOFTIB_RC_BURST		(64 * 1024)

/* AETH syndromes, IBTA 9.7.5.2.1: kind in the upper three bits. */
#define SOFTIB_AETH_ACK		0
#define SOFTIB_AETH_RNR		1
#define SOFTIB_AETH_NAK		3

/**
 * DOC: Fields of struct rvt_qp, and what they mean here
 *
 * requester, under s_lock:
 *   s_last		oldest work request not completed
 *   s_cur		the one to send (from) next
 *   s_psn		first PSN to send next
 *   s_last_psn		newest PSN acknowledged
 *   s_sending_hpsn	newest PSN ever sent
 *   s_retry, s_rnr_retry	tries left
 * responder, under r_lock:
 *   r_psn		PSN expected next
 *   r_state		opcode of the last request: tells whether one goes on
 *   r_len, r_rcv_len	room for the message, and how much of it is filled
 *   r_nak_state	a NAK for r_psn is out, do not send another
 */

/* Bits of softib_qp.events. */
enum {
	SOFTIB_RC_FAIL,		/* the send queue cannot go on: fail the QP */
	SOFTIB_RC_LAST_WQE,	/* tell IB_EVENT_QP_LAST_WQE_REACHED */
};

/* <, == or > 0 as PSN a is before, the same as, or after b; 24 bits count. */
static inline int softib_psn_cmp(u32 a, u32 b)
{
	return (int)((a - b) << 8);
}

/* Packets that len bytes take; a message of no bytes is a packet. */
static inline u32 softib_rc_packets(const struct rvt_qp *qp, u32 len)
{
	return len ? rvt_div_round_up_mtu((struct rvt_qp *)qp, len) : 1;
}

/* Is the opcode that of a frame after which its message goes on? */
static inline bool softib_rc_goes_on(u8 opcode)
{
	switch (opcode & ~RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_SEND_FIRST:
	case IB_OPCODE_SEND_MIDDLE:
	case IB_OPCODE_RDMA_WRITE_FIRST:
	case IB_OPCODE_RDMA_WRITE_MIDDLE:
		return true;
	default:
		return false;
	}
}

/* softib_rc.c */
void softib_qp_event(struct rvt_qp *qp, enum ib_event_type event);
void softib_rc_address(struct softib_frame *frame, struct rvt_qp *qp);

/* softib_resp.c */
void softib_rc_request(struct softib_port *port, struct rvt_qp *qp,
		       const struct softib_frame *frame);

#endif /* SOFTIB_RC_H */
