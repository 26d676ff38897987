/* SPDX-License-Identifier: GPL-2.0 */
/* RC and UC: interface between requester (softib_rc.c) and responder (softib_resp.c) */
#ifndef SOFTIB_RC_H
#define SOFTIB_RC_H

#include "softib.h"

/*
 * Longer messages travel as several frames, which bounds the time with locks held and interrupts
 * off to a copy of this size. A multiple of every path MTU, and more than the largest IPoIB packet.
 */
#define SOFTIB_RC_BURST		(64 * 1024)

/* AETH syndromes, IBTA 9.7.5.2.1: the upper three bits */
#define SOFTIB_AETH_ACK		0
#define SOFTIB_AETH_RNR		1
#define SOFTIB_AETH_NAK		3

/**
 * DOC: Meaning of fields of struct rvt_qp
 *
 * requester, under s_lock:
 *   s_last		oldest work request not completed
 *   s_cur		next work request to send (from)
 *   s_psn		first PSN to send next
 *   s_last_psn		newest PSN acknowledged
 *   s_sending_hpsn	newest PSN ever sent
 *   s_retry, s_rnr_retry	tries left
 * responder, under r_lock:
 *   r_psn		PSN expected next
 *   r_state		opcode of the last request: is a message in progress?
 *   r_len, r_rcv_len	size of the receive, and octets of it in use
 *   r_nak_state	a NAK for r_psn was sent, do not send another
 */

/* Bits of softib_qp.events. */
enum {
	SOFTIB_RC_FAIL,		/* fatal error of the send queue: fail the QP */
	SOFTIB_RC_LAST_WQE,	/* raise IB_EVENT_QP_LAST_WQE_REACHED */
};

/* Compare PSNs modulo 2^24: < 0 if a is before b, 0 if equal, > 0 if after. */
static inline int softib_psn_cmp(u32 a, u32 b)
{
	return (int)((a - b) << 8);
}

/* Number of packets of a message; an empty message is a packet. */
static inline u32 softib_rc_packets(const struct rvt_qp *qp, u32 len)
{
	return len ? rvt_div_round_up_mtu((struct rvt_qp *)qp, len) : 1;
}

/* A frame with this opcode is not the last of its message. */
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
