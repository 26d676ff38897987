// SPDX-License-Identifier: GPL-2.0
/*
 * raw_frame - send and receive IPoIB frames through AF_PACKET sockets
 *
 * usage: raw_frame send IF LLADDR ETHERTYPE HEX [COUNT]
 *            SOCK_DGRAM: the driver's header ops build the IPoIB header
 *        raw_frame vnet IF LLADDR ETHERTYPE HEX OCTETS SEGMENT [COUNT]
 *            GSO packets by PACKET_VNET_HDR: HEX are its headers of IP and TCP,
 *            whose lengths and checksums are filled in, OCTETS those of its payload,
 *            SEGMENT those of a segment
 *        raw_frame sum IF LLADDR START
 *            a frame whose checksum begins with octet START of it: by PACKET_VNET_HDR, or by
 *            AF_XDP where the kernel takes none from there that begins in a header
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <linux/virtio_net.h>

#define LLADDR_LEN 20
/* What the driver's headers have: the address, EtherType and two octets reserved. */
#define HEADER_LEN (LLADDR_LEN + 4)

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

static void put16(uint8_t *to, unsigned int value)
{
	to[0] = value >> 8;
	to[1] = value;
}

/* The folded sum of 16-bit words, which checksums are the complement of */
static unsigned int sum16(const uint8_t *p, int n, unsigned int sum)
{
	for (; n > 0; n -= 2, p += 2)
		sum += p[0] << 8 | p[1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Fill in what depends on lengths. Return: where the TCP header starts, or -1 */
static int finish_headers(uint8_t *ip, int head, int len)
{
	int l4 = ip[0] >> 4 == 4 ? (ip[0] & 15) * 4 : 40;

	if (ip[0] >> 4 == 6 && ip[6] == IPPROTO_DSTOPTS)
		l4 += ip[41] * 8 + 8;
	if (head < l4 + 20)
		return -1;
	if (ip[0] >> 4 == 4) {
		put16(ip + 2, len);
		put16(ip + 10, ~sum16(ip, l4, 0));
		put16(ip + l4 + 16, sum16(ip + 12, 8, IPPROTO_TCP + len - l4));
	} else {
		put16(ip + 4, len - 40);
		put16(ip + l4 + 16, sum16(ip + 8, 32, IPPROTO_TCP + len - l4));
	}
	return l4;
}

static int do_vnet(char **argv, int argc)
{
	int count = argc > 6 ? atoi(argv[6]) : 1;
	static uint8_t data[sizeof(struct virtio_net_hdr) + HEADER_LEN + 65536];
	uint16_t proto = htons(strtoul(argv[2], NULL, 0));
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = proto };
	struct virtio_net_hdr *vnet = (void *)data;
	/* No other type takes GSO packets. */
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	uint8_t *header = (uint8_t *)(vnet + 1);
	uint8_t *ip = header + HEADER_LEN;
	int payload = atoi(argv[4]), i, l4, on = 1;
	int head = unhex(argv[3], ip, 256);
	ssize_t len = ip + head + payload - data;

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)))
		return die("socket");
	to.sll_ifindex = if_nametoindex(argv[0]);
	errno = EINVAL;
	if (!to.sll_ifindex || head < 0 || payload < 0 || len > (ssize_t)sizeof(data) ||
	    unhex(argv[1], header, LLADDR_LEN) != LLADDR_LEN)
		return die("arguments");
	memcpy(header + LLADDR_LEN, &proto, sizeof(proto));
	l4 = finish_headers(ip, head, head + payload);
	if (l4 < 0)
		return die("headers");
	for (i = 0; i < payload; i++)
		ip[head + i] = i % 251;
	vnet->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	vnet->gso_type = ip[0] >> 4 == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6;
	/* CWR */
	if (ip[l4 + 13] & 0x80)
		vnet->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	vnet->hdr_len = HEADER_LEN + head;
	vnet->gso_size = atoi(argv[5]);
	vnet->csum_start = HEADER_LEN + l4;
	vnet->csum_offset = 16;
	while (count--)
		if (sendto(fd, data, len, 0, (struct sockaddr *)&to, sizeof(to)) != len)
			return die("sendto");
	return 0;
}

/* Of linux/if_xdp.h since 6.8, or 6.11 */
#ifndef XDP_TX_METADATA
#define XDP_TX_METADATA 2
#define XDP_TXMD_FLAGS_CHECKSUM 2
#endif
#ifndef XDP_UMEM_TX_METADATA_LEN
#define XDP_UMEM_TX_METADATA_LEN 4
#endif

struct umem {
	uint64_t addr, len;
	uint32_t chunk_size, headroom, flags, tx_metadata_len;
};

struct tx_metadata {
	uint64_t flags;
	uint16_t csum_start, csum_offset;
	uint32_t pad[3];
};

#define CHUNK 4096
#define XSK_RING 64

/* In copy mode, which any device has */
static int xsk_send(int ifindex, const uint8_t *frame, int len, int start)
{
	struct sockaddr_xdp to = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_COPY,
		.sxdp_ifindex = ifindex,
	};
	struct umem umem = {
		.len = 16 * CHUNK,
		.chunk_size = CHUNK,
		.flags = XDP_UMEM_TX_METADATA_LEN,
		.tx_metadata_len = sizeof(struct tx_metadata),
	};
	int fd = socket(AF_XDP, SOCK_RAW, 0), ring = XSK_RING;
	struct tx_metadata *meta;
	struct xdp_mmap_offsets at;
	socklen_t atlen = sizeof(at);
	struct xdp_desc *desc;
	uint8_t *area, *tx;

	if (fd < 0)
		return die("AF_XDP");
	area = mmap(NULL, umem.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	umem.addr = (uintptr_t)area;
	if (area == MAP_FAILED ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &ring, sizeof(ring)) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &ring, sizeof(ring)) ||
	    setsockopt(fd, SOL_XDP, XDP_TX_RING, &ring, sizeof(ring)) ||
	    getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &atlen))
		return die("rings");
	tx = mmap(NULL, at.tx.desc + XSK_RING * sizeof(*desc), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, fd, XDP_PGOFF_TX_RING);
	if (tx == MAP_FAILED || bind(fd, (struct sockaddr *)&to, sizeof(to)))
		return die("bind");
	meta = (struct tx_metadata *)area;
	meta->flags = XDP_TXMD_FLAGS_CHECKSUM;
	meta->csum_start = start;
	memcpy(meta + 1, frame, len);
	desc = (struct xdp_desc *)(tx + at.tx.desc);
	desc->addr = sizeof(*meta);
	desc->len = len;
	desc->options = XDP_TX_METADATA;
	__atomic_store_n((uint32_t *)(tx + at.tx.producer), 1, __ATOMIC_RELEASE);
	if (sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0)
		return die("sendto, AF_XDP");
	return 0;
}

static int do_sum(char **argv)
{
	struct {
		struct virtio_net_hdr vnet;
		uint8_t frame[HEADER_LEN + 64];
	} __attribute__((packed)) data = { .vnet.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), on = 1;
	struct sockaddr_ll to = { .sll_family = AF_PACKET };

	to.sll_ifindex = if_nametoindex(argv[0]);
	/* An EtherType for experiments, which no stack takes */
	put16(data.frame + LLADDR_LEN, 0x88b5);
	memcpy(&to.sll_protocol, data.frame + LLADDR_LEN, sizeof(to.sll_protocol));
	data.vnet.csum_start = atoi(argv[2]);
	errno = EINVAL;
	if (!to.sll_ifindex || unhex(argv[1], data.frame, LLADDR_LEN) != LLADDR_LEN)
		return die("arguments");
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)))
		return die("socket");
	if (sendto(fd, &data, sizeof(data), 0, (struct sockaddr *)&to, sizeof(to)) > 0)
		return 0;
	if (errno != EINVAL)
		return die("sendto");
	return xsk_send(to.sll_ifindex, data.frame, sizeof(data.frame), data.vnet.csum_start);
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
	if (argc >= 8 && !strcmp(argv[1], "vnet"))
		return do_vnet(argv + 2, argc - 2);
	if (argc == 5 && !strcmp(argv[1], "sum"))
		return do_sum(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "recv"))
		return do_recv(argv + 2);
	fputs("usage: raw_frame send IF LLADDR ETHERTYPE HEX [COUNT]\n"
	      "       raw_frame vnet IF LLADDR ETHERTYPE HEX OCTETS SEGMENT [COUNT]\n"
	      "       raw_frame sum IF LLADDR START\n"
	      "       raw_frame recv IF ETHERTYPE COUNT TIMEOUT_MS\n", stderr);
	return 2;
}
