// SPDX-License-Identifier: GPL-2.0
/*
 * Performance management: ClassPortInfo, PortCounters and
 * PortCountersExtended of HCA ports and switch ports.
 *
 * A switch port counts only its drops: its sent frames are the received frames
 * of its peer, and vice versa. A reset stores the current values as base; the
 * counters themselves never decrease.
 */
#include <rdma/ib_pma.h>

#include "softib.h"

#define SOFTIB_PMA_ALL_PORTS	0xff

/* Values of a PortCounters response */
struct softib_pma {
	struct softib_stats sum;
	u32 downed;
	u64 drops;
};

static u64 softib_pma_drops(const u64 *drop)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < SOFTIB_DROP_MAX; i++)
		sum += drop[i];
	return sum;
}

static void softib_stats_sub(struct softib_stats *from,
			     const struct softib_stats *base)
{
	const u64 *b = (const u64 *)base;
	u64 *f = (u64 *)from;
	int i;

	for (i = 0; i < sizeof(*from) / sizeof(*f); i++)
		f[i] -= b[i];
}

/* Counters of a switch port since the start, without regard to pma_base */
static void softib_pma_swport_sum(unsigned int num, struct softib_stats *sum)
{
	struct softib_swport *swport = &softib_fabric->sw.port[num];
	struct softib_port *peer;
	int i;

	memset(sum, 0, sizeof(*sum));
	rcu_read_lock();
	peer = rcu_dereference(swport->peer);
	if (peer) {
		softib_port_sum(peer, sum);
		swap(sum->tx_packets, sum->rx_packets);
		swap(sum->tx_bytes, sum->rx_bytes);
		swap(sum->tx_mcast, sum->rx_mcast);
	}
	rcu_read_unlock();
	for (i = 0; i < SOFTIB_DROP_MAX; i++)
		sum->drop[i] = atomic_read(&swport->drop[i]);
}

static void softib_pma_collect_one(struct softib_port *port, unsigned int num,
				   bool clear, struct softib_pma *pma)
{
	struct softib_stats *base, sum;
	struct softib_link *link;
	u64 *to = (u64 *)&pma->sum;
	const u64 *from = (const u64 *)&sum;
	int i;

	if (port) {
		base = &port->pma_base;
		link = &port->link;
		softib_port_sum(port, &sum);
	} else {
		base = &softib_fabric->sw.port[num].pma_base;
		link = &softib_fabric->sw.port[num].link;
		softib_pma_swport_sum(num, &sum);
	}
	if (clear) {
		*base = sum;
		link->downed = 0;
	}
	softib_stats_sub(&sum, base);
	for (i = 0; i < sizeof(sum) / sizeof(*from); i++)
		to[i] += from[i];
	pma->downed += link->downed;
}

/* Return: false for an invalid port number. */
static bool softib_pma_collect(struct softib_port *port, unsigned int select,
			       bool clear, struct softib_pma *pma)
{
	unsigned int i, n = softib_fabric->sw.nports;

	memset(pma, 0, sizeof(*pma));
	if (port) {
		if (select != port->num && select != SOFTIB_PMA_ALL_PORTS)
			return false;
		softib_pma_collect_one(port, 0, clear, pma);
	} else if (select == SOFTIB_PMA_ALL_PORTS) {
		for (i = 1; i <= n; i++)
			softib_pma_collect_one(NULL, i, clear, pma);
	} else if (select <= n) {
		softib_pma_collect_one(NULL, select, clear, pma);
	} else {
		return false;
	}
	pma->drops = softib_pma_drops(pma->sum.drop);
	return true;
}

static __be32 softib_pma_be32(u64 value)
{
	return cpu_to_be32(min_t(u64, value, U32_MAX));
}

static void softib_pma_counters(struct softib_pma *pma,
				struct ib_pma_portcounters *pc)
{
	u8 select = pc->port_select;

	memset(pc, 0, sizeof(*pc));
	pc->port_select = select;
	pc->counter_select = cpu_to_be16(0xffff);
	pc->link_downed_counter = min_t(u32, pma->downed, 0xff);
	pc->port_xmit_discards = cpu_to_be16(min_t(u64, pma->drops, 0xffff));
	/* In units of four octets */
	pc->port_xmit_data = softib_pma_be32(pma->sum.tx_bytes / 4);
	pc->port_rcv_data = softib_pma_be32(pma->sum.rx_bytes / 4);
	pc->port_xmit_packets = softib_pma_be32(pma->sum.tx_packets);
	pc->port_rcv_packets = softib_pma_be32(pma->sum.rx_packets);
}

static void softib_pma_counters_ext(struct softib_pma *pma,
				    struct ib_pma_portcounters_ext *pc)
{
	const struct softib_stats *sum = &pma->sum;
	u8 select = pc->port_select;

	memset(pc, 0, sizeof(*pc));
	pc->port_select = select;
	pc->counter_select = cpu_to_be16(0xff);
	pc->port_xmit_data = cpu_to_be64(sum->tx_bytes / 4);
	pc->port_rcv_data = cpu_to_be64(sum->rx_bytes / 4);
	pc->port_xmit_packets = cpu_to_be64(sum->tx_packets);
	pc->port_rcv_packets = cpu_to_be64(sum->rx_packets);
	pc->port_unicast_xmit_packets =
		cpu_to_be64(sum->tx_packets - sum->tx_mcast);
	pc->port_unicast_rcv_packets =
		cpu_to_be64(sum->rx_packets - sum->rx_mcast);
	pc->port_multicast_xmit_packets = cpu_to_be64(sum->tx_mcast);
	pc->port_multicast_rcv_packets = cpu_to_be64(sum->rx_mcast);
}

static void softib_pma_class_info(struct ib_pma_mad *mad)
{
	struct ib_class_port_info *cpi = (struct ib_class_port_info *)mad->data;

	memset(mad->data, 0, sizeof(mad->data));
	cpi->base_version = IB_MGMT_BASE_VERSION;
	cpi->class_version = 1;
	cpi->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT |
			       IB_PMA_CLASS_CAP_EXT_WIDTH;
	ib_set_cpi_resp_time(cpi, 18);
}

static u16 softib_pma_attr(struct softib_port *port, struct ib_pma_mad *mad)
{
	bool set = mad->mad_hdr.method == IB_MGMT_METHOD_SET;
	struct softib_pma pma;

	switch (mad->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		if (set)
			break;
		softib_pma_class_info(mad);
		return 0;
	case IB_PMA_PORT_COUNTERS:
	case IB_PMA_PORT_COUNTERS_EXT:
		/* PortSelect is the second octet of both attributes. */
		if (!softib_pma_collect(port, mad->data[1], set, &pma))
			return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
		if (mad->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS)
			softib_pma_counters(&pma, (void *)mad->data);
		else
			softib_pma_counters_ext(&pma, (void *)mad->data);
		return 0;
	}
	return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
}

/**
 * softib_pma_reply() - answer a performance management MAD
 * @port: the HCA port, NULL for the switch
 * @mad: the request; replaced by the response
 *
 * Context: any, no lock held.
 * Return: false if there is no response.
 */
bool softib_pma_reply(struct softib_port *port, struct ib_mad *mad)
{
	struct ib_mad_hdr *hdr = &mad->mad_hdr;
	u16 status;

	if (hdr->method != IB_MGMT_METHOD_GET &&
	    hdr->method != IB_MGMT_METHOD_SET)
		return false;
	if (hdr->class_version != 1)
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	else
		status = softib_pma_attr(port, (struct ib_pma_mad *)mad);
	hdr->method = IB_MGMT_METHOD_GET_RESP;
	hdr->status = cpu_to_be16(status);
	return true;
}
