// SPDX-License-Identifier: GPL-2.0
/*
 * Segmentation offload: a work request with IB_WR_LSO is a TCP packet of up to 64 KB after an
 * IPoIB header. The HCA segments it. Each segment gets the header of the work request with
 * length, sequence number, flags and checksums of the segment, as with mlx4 and mlx5.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/checksum.h>

#include "softib.h"

/* Encapsulation header of IPoIB, before the packet */
#define SOFTIB_ENCAP_LEN	4

/* Enable IB_WR_LSO for a QP. Return: 0 or -ENOMEM. */
int softib_lso_alloc(struct rvt_qp *qp)
{
	struct softib_qp *priv = qp_to_softib_qp(qp);

	priv->heads = kvcalloc(qp->s_size, SOFTIB_LSO_HEAD, GFP_KERNEL);
	return priv->heads ? 0 : -ENOMEM;
}

/* Reverse of softib_lso_alloc(), for a QP that is stopped and unused */
void softib_lso_free(struct rvt_qp *qp)
{
	kvfree(qp_to_softib_qp(qp)->heads);
}

static bool softib_lso_good(const struct ib_ud_wr *wr)
{
	const struct iphdr *ip = wr->header + SOFTIB_ENCAP_LEN;
	const struct tcphdr *tcp;
	int len = SOFTIB_ENCAP_LEN + sizeof(*ip);

	if (wr->mss <= 0 || wr->hlen < len || wr->hlen > SOFTIB_LSO_HEAD ||
	    get_unaligned_be16(wr->header) != ETH_P_IP || ip->version != 4 ||
	    ip->protocol != IPPROTO_TCP)
		return false;
	len = SOFTIB_ENCAP_LEN + ip->ihl * 4;
	if (wr->hlen < len + (int)sizeof(*tcp))
		return false;
	tcp = wr->header + len;
	return wr->hlen == len + tcp->doff * 4;
}

/**
 * softib_lso_setup() - check an IB_WR_LSO work request that is being posted
 * @qp: the QP
 * @wqe: the work request; its header is copied, as the poster may reuse it after the post
 * @call_send: not changed
 *
 * Context: s_hlock held.
 * Return: 0, or -EINVAL for IB_WR_LSO that the QP does not support
 */
int softib_lso_setup(struct rvt_qp *qp, struct rvt_swqe *wqe, bool *call_send)
{
	struct ib_ud_wr *wr = &wqe->ud_wr.wr;
	u8 *head;

	if (likely(wqe->wr.opcode != IB_WR_LSO))
		return 0;
	if (!qp_to_softib_qp(qp)->heads || !softib_lso_good(wr))
		return -EINVAL;
	head = qp_to_softib_qp(qp)->heads + qp->s_head * SOFTIB_LSO_HEAD;
	memcpy(head, wr->header, wr->hlen);
	wr->header = head;
	return 0;
}

/* Fix the headers of segment @n with @len octets of payload. @left: 0 for the last segment */
static void softib_lso_fix(u8 *packet, const struct ib_ud_wr *wr, u32 n,
			   u32 len, u32 left, bool csum)
{
	struct iphdr *ip = (void *)(packet + SOFTIB_ENCAP_LEN);
	struct tcphdr *tcp = (void *)ip + ip->ihl * 4;
	u32 tcp_len = tcp->doff * 4 + len;

	ip->tot_len = htons(ip->ihl * 4 + tcp_len);
	ip->id = htons(ntohs(ip->id) + n);
	ip->check = 0;
	ip->check = ip_fast_csum(ip, ip->ihl);
	tcp->seq = htonl(ntohl(tcp->seq) + n * wr->mss);
	if (left) {
		tcp->fin = 0;
		tcp->psh = 0;
	}
	if (n)
		tcp->cwr = 0;
	/* Without checksum offload the checksum stays as it was, and is wrong. */
	if (!csum || !(wr->wr.send_flags & IB_SEND_IP_CSUM))
		return;
	tcp->check = 0;
	tcp->check = csum_tcpudp_magic(ip->saddr, ip->daddr, tcp_len,
				       IPPROTO_TCP,
				       csum_partial(tcp, tcp_len, 0));
}

/**
 * softib_lso_send() - segment a packet and send it
 * @port: sending port
 * @frame: template with addresses; its payload is the packet without header
 * @wr: the work request
 *
 * Context: any, but no QP lock held.
 * Return: status of the work request
 */
enum ib_wc_status softib_lso_send(struct softib_port *port,
				  const struct softib_frame *frame,
				  const struct ib_ud_wr *wr)
{
	u32 len, left = frame->len, n = 0;
	struct softib_frame segment;
	struct softib_payload from;
	u8 *packet;

	if (wr->hlen + wr->mss > READ_ONCE(port->link.mtu))
		return IB_WC_LOC_LEN_ERR;
	packet = kmalloc(wr->hlen + wr->mss, GFP_ATOMIC);
	if (!packet)
		return IB_WC_LOC_QP_OP_ERR;
	atomic_inc(&port->dev->lso);
	softib_payload_init(&from, frame);
	do {
		len = min_t(u32, left, wr->mss);
		left -= len;
		memcpy(packet, wr->header, wr->hlen);
		softib_payload_read(&from, packet + wr->hlen, len);
		softib_lso_fix(packet, wr, n++, len, left,
			       !READ_ONCE(port->dev->node->csum_free));
		segment = *frame;
		softib_frame_linear(&segment, packet, wr->hlen + len);
		softib_port_tx(port, &segment);
	} while (left);
	kfree(packet);
	return IB_WC_SUCCESS;
}
