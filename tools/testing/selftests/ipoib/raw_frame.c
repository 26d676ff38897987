// SPDX-License-Identifier: GPL-2.0
/*
 * raw_frame - send and receive IPoIB frames through AF_PACKET sockets
 *
 * usage: raw_frame send IF LLADDR ETHERTYPE HEX [COUNT]
 *            SOCK_DGRAM: the driver's header ops build the IPoIB header
 *        raw_frame recv IF ETHERTYPE COUNT TIMEOUT_MS
 *            print "ready", then one line per frame with what the driver said
 *            about it; exit 0 once COUNT frames came, 1 at the deadline
 *
 * LLADDR is a 20-octet address, with or without colons. An ETHERTYPE of 3
 * (ETH_P_ALL) receives all of them.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/if_packet.h>

#define LLADDR_LEN 20

/* sockaddr_ll has room for 8 octets of address; the kernel takes longer ones */
struct lladdr {
	struct sockaddr_ll ll;
	uint8_t more[LLADDR_LEN - 8];
};

static int die(const char *what)
{
	fprintf(stderr, "raw_frame: %s: %s\n", what, strerror(errno));
	return 2;
}

static int unhex(const char *s, uint8_t *buf, int max)
{
	int n = 0;

	while (*s) {
		char octet[3] = "";

		if (*s == ':') {
			s++;
			continue;
		}
		if (n == max || !isxdigit(s[0]) || !isxdigit(s[1]))
			return -1;
		memcpy(octet, s, 2);
		buf[n++] = strtoul(octet, NULL, 16);
		s += 2;
	}
	return n;
}

static void put_hex(const char *key, const uint8_t *p, int n)
{
	printf(" %s=", key);
	while (n-- > 0)
		printf("%02x", *p++);
}

static int do_send(char **argv, int argc)
{
	struct lladdr to = { .ll = { .sll_family = AF_PACKET, .sll_halen = LLADDR_LEN } };
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	int count = argc > 4 ? atoi(argv[4]) : 1;
	static uint8_t data[8192];
	int len;

	if (fd < 0)
		return die("socket");
	to.ll.sll_ifindex = if_nametoindex(argv[0]);
	to.ll.sll_protocol = htons(strtoul(argv[2], NULL, 0));
	len = unhex(argv[3], data, sizeof(data));
	if (!to.ll.sll_ifindex || len < 0 ||
	    unhex(argv[1], to.ll.sll_addr, LLADDR_LEN) != LLADDR_LEN) {
		errno = EINVAL;
		return die("arguments");
	}
	while (count--)
		if (sendto(fd, data, len, 0, (struct sockaddr *)&to,
			   offsetof(struct sockaddr_ll, sll_addr) + LLADDR_LEN) != len)
			return die("sendto");
	return 0;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int do_recv(char **argv)
{
	int proto = htons(strtoul(argv[1], NULL, 0));
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_protocol = proto };
	long end = now_ms() + atol(argv[3]);
	int count = atoi(argv[2]);
	struct lladdr from;
	static uint8_t data[8192];

	ll.sll_ifindex = if_nametoindex(argv[0]);
	if (fd < 0 || !ll.sll_ifindex || bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
		return die("bind");
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (count) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		socklen_t alen = sizeof(from);
		long left = end - now_ms();
		int n;

		if (left <= 0 || poll(&pfd, 1, left) <= 0)
			return 1;
		n = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &alen);
		if (n < 0)
			return die("recvfrom");
		if (from.ll.sll_pkttype == PACKET_OUTGOING)
			continue;
		printf("proto=%04x pkttype=%u hatype=%u halen=%u len=%d",
		       ntohs(from.ll.sll_protocol), from.ll.sll_pkttype,
		       from.ll.sll_hatype, from.ll.sll_halen, n);
		put_hex("addr", from.ll.sll_addr, from.ll.sll_halen);
		put_hex("data", data, n > 512 ? 512 : n);
		putchar('\n');
		count--;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 6 && !strcmp(argv[1], "send"))
		return do_send(argv + 2, argc - 2);
	if (argc == 6 && !strcmp(argv[1], "recv"))
		return do_recv(argv + 2);
	fputs("usage: raw_frame send IF LLADDR ETHERTYPE HEX [COUNT]\n"
	      "       raw_frame recv IF ETHERTYPE COUNT TIMEOUT_MS\n", stderr);
	return 2;
}
