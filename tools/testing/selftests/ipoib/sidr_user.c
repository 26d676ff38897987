// SPDX-License-Identifier: GPL-2.0
/*
 * sidr_user - ask a port for the UD QP behind a service ID, as any user may
 *
 * By the RDMA CM, with an InfiniBand address: it sends a SIDR_REQ.
 *
 * usage: sidr_user GID DEST_GID SERVICE_ID
 * Prints the event that ends it, and its status.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "sidr_user: %s: %s\n", what, strerror(errno));
	exit(2);
}

static struct sockaddr_ib address(const char *gid, unsigned long long sid)
{
	struct sockaddr_ib addr = {
		.sib_family = AF_IB, .sib_pkey = htons(0xffff),
		.sib_sid = htobe64(sid), .sib_sid_mask = ~0ULL,
	};

	if (inet_pton(AF_INET6, gid, &addr.sib_addr) != 1)
		die(gid);
	return addr;
}

/* Wait for the next event. Return: whether it is the one expected, else it is printed. */
static int event_is(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	int found;

	if (rdma_get_cm_event(channel, &event))
		die("rdma_get_cm_event");
	found = event->event == type;
	if (!found)
		printf("%s %d\n", rdma_event_str(event->event), event->status);
	rdma_ack_cm_event(event);
	return found;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = { .qp_num = 1 };
	struct sockaddr_ib from, to;
	struct rdma_cm_id *id;

	if (argc != 4)
		return 2;
	from = address(argv[1], 0);
	to = address(argv[2], strtoull(argv[3], NULL, 16));
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_UDP))
		die("rdma_create_id");
	from.sib_sid_mask = 0;
	if (rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&to, 2000))
		die("rdma_resolve_addr");
	if (!event_is(channel, RDMA_CM_EVENT_ADDR_RESOLVED))
		return 1;
	if (rdma_resolve_route(id, 2000))
		die("rdma_resolve_route");
	if (!event_is(channel, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return 1;
	if (rdma_connect(id, &param))
		die("rdma_connect");
	return !event_is(channel, RDMA_CM_EVENT_ESTABLISHED);
}
