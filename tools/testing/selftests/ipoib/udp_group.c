// SPDX-License-Identifier: GPL-2.0
/*
 * udp_group - join IP multicast groups and move counted UDP datagrams
 *
 * usage: udp_group join IF GROUP...
 *            join each group on IF, print "ready", stay until killed
 *        udp_group churn IF GROUP
 *            join and leave GROUP on IF over and over, until killed
 *        udp_group recv IF ADDR PORT COUNT TIMEOUT_MS [gap]
 *            bind ADDR (joined on IF if it is multicast) and PORT, print "ready"
 *            and then the number of datagrams got; 0 if COUNT came, else 1. With
 *            "gap" also how many in a row did not come, at most, of those numbered
 *            from 0 to COUNT - 1, and SIGTERM ends it as the timeout does. A datagram
 *            of MARKER_SIZE octets, which comes after all others, ends it and does not count
 *        udp_group send IF ADDR PORT SIZE COUNT [INTERVAL_US]
 *            send COUNT datagrams of SIZE octets; broadcast allowed
 *
 * ADDR is IPv4 or IPv6; a datagram starts with its number in network order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A number and nothing else */
#define MARKER_SIZE 4

union addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int die(const char *what)
{
	fprintf(stderr, "udp_group: %s: %s\n", what, strerror(errno));
	exit(2);
}

static socklen_t parse(const char *s, int port, unsigned int ifindex, union addr *a)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, s, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		return sizeof(a->v4);
	}
	if (inet_pton(AF_INET6, s, &a->v6.sin6_addr) != 1)
		die(s);
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(port);
	if (IN6_IS_ADDR_LINKLOCAL(&a->v6.sin6_addr) || IN6_IS_ADDR_MULTICAST(&a->v6.sin6_addr))
		a->v6.sin6_scope_id = ifindex;
	return sizeof(a->v6);
}

static int is_group(const union addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return IN_MULTICAST(ntohl(a->v4.sin_addr.s_addr));
	return IN6_IS_ADDR_MULTICAST(&a->v6.sin6_addr);
}

static void join(int fd, const union addr *a, unsigned int ifindex)
{
	struct ip_mreqn m4 = { .imr_ifindex = ifindex };
	struct ipv6_mreq m6 = { .ipv6mr_interface = ifindex };
	int ret;

	if (a->sa.sa_family == AF_INET) {
		m4.imr_multiaddr = a->v4.sin_addr;
		ret = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4, sizeof(m4));
	} else {
		m6.ipv6mr_multiaddr = a->v6.sin6_addr;
		ret = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &m6, sizeof(m6));
	}
	if (ret)
		die("join");
}

static __attribute__((noreturn)) void do_join(int n, char **argv, unsigned int ifindex)
{
	union addr a;

	while (n--) {
		parse(*argv++, 0, ifindex, &a);
		join(socket(a.sa.sa_family, SOCK_DGRAM, 0), &a, ifindex);
	}
	puts("ready");
	for (;;)
		pause();
}

static __attribute__((noreturn)) void do_churn(const char *group, unsigned int ifindex)
{
	union addr a;
	int fd;

	parse(group, 0, ifindex, &a);
	for (;;) {
		fd = socket(a.sa.sa_family, SOCK_DGRAM, 0);
		join(fd, &a, ifindex);
		close(fd);
	}
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void nothing(int signal)
{
	(void)signal;
}

/* The longest gap, now that number no has come where *next was due */
static int longest_gap(int gap, int *next, int no)
{
	int missing = no - *next;

	if (missing >= 0)
		*next = no + 1;
	return missing > gap ? missing : gap;
}

static int number(const char *buf)
{
	uint32_t no;

	memcpy(&no, buf, sizeof(no));
	return ntohl(no);
}

static int do_recv(char **argv, unsigned int ifindex)
{
	int want = atoi(argv[2]), got = 0, one = 1, room = 8 << 20, fd;
	long end = now_ms() + atol(argv[3]);
	int gap = 0, next = 0;
	struct sigaction ends = { .sa_handler = nothing };
	char buf[65536];
	union addr a;
	socklen_t len = parse(argv[0], atoi(argv[1]), ifindex, &a);

	fd = socket(a.sa.sa_family, SOCK_DGRAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(fd, &a.sa, len))
		die("bind");
	if (is_group(&a))
		join(fd, &a, ifindex);
	if (argv[4])
		sigaction(SIGTERM, &ends, NULL);
	puts("ready");
	while (got < want) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		long left = end - now_ms();

		ssize_t size;

		if (left <= 0 || poll(&pfd, 1, left) <= 0)
			break;
		size = recv(fd, buf, sizeof(buf), 0);
		if (size < 0)
			continue;
		if (size == MARKER_SIZE)
			break;
		got++;
		if (argv[4])
			gap = longest_gap(gap, &next, number(buf));
	}
	if (argv[4])
		printf("%d %d\n", got, longest_gap(gap, &next, want));
	else
		printf("%d\n", got);
	return got < want;
}

static int do_send(int argc, char **argv, unsigned int ifindex)
{
	int size = atoi(argv[2]), count = atoi(argv[3]), gap = argc > 4 ? atoi(argv[4]) : 0;
	struct ip_mreqn out = { .imr_ifindex = ifindex };
	static char buf[65536];
	int one = 1, hops = 4, i, fd;
	union addr a;
	socklen_t len = parse(argv[0], atoi(argv[1]), ifindex, &a);

	fd = socket(a.sa.sa_family, SOCK_DGRAM, 0);
	/* Enough to be routed. */
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof(hops));
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops));
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, argv[-1], strlen(argv[-1])))
		die("bind to device");
	if (a.sa.sa_family == AF_INET && is_group(&a))
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof(out));
	for (i = 0; i < count; i++) {
		uint32_t no = htonl(i);

		memcpy(buf, &no, sizeof(no));
		if (sendto(fd, buf, size, 0, &a.sa, len) != size)
			die("sendto");
		if (gap)
			usleep(gap);
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int ifindex = argc > 2 ? if_nametoindex(argv[2]) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 3 && ifindex && !strcmp(argv[1], "join"))
		do_join(argc - 3, argv + 3, ifindex);
	if (argc == 4 && ifindex && !strcmp(argv[1], "churn"))
		do_churn(argv[3], ifindex);
	if ((argc == 7 || (argc == 8 && !strcmp(argv[7], "gap"))) && ifindex &&
	    !strcmp(argv[1], "recv"))
		return do_recv(argv + 3, ifindex);
	if (argc >= 7 && ifindex && !strcmp(argv[1], "send"))
		return do_send(argc - 3, argv + 3, ifindex);
	fputs("usage: udp_group join|churn|recv|send IF ...\n", stderr);
	return 2;
}
