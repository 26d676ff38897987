// SPDX-License-Identifier: GPL-2.0
/*
 * umad_send - send MADs of any content from QP 0 or 1 of a port
 *
 * What a subnet manager does, or somebody who says to be one.
 *
 * usage: umad_send FILE LID QPN TIMEOUT_MS HEX...
 *
 * FILE is the port's /dev/infiniband/umadN; LID and QPN, 0 or 1, are the receiver's.
 * Each HEX is a MAD, in which zeros make up for what is missing of 256 octets. The
 * upper half of a request's transaction ID is the kernel's to choose. With TIMEOUT_MS
 * 0 nobody waits; otherwise the answer to each is printed in hex, and exit status 1
 * says that one was not answered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAD_LEN	256

struct umad {
	struct ib_user_mad_hdr hdr;
	uint8_t mad[MAD_LEN];
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "umad_send: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void unhex(const char *s, uint8_t *mad)
{
	unsigned int v;
	int i;

	memset(mad, 0, MAD_LEN);
	for (i = 0; i < MAD_LEN && s[2 * i]; i++) {
		if (sscanf(s + 2 * i, "%2x", &v) != 1) {
			errno = EINVAL;
			die(s);
		}
		mad[i] = v;
	}
}

static int open_agent(const char *name, int qpn, uint32_t *id)
{
	/* No class: it gets answers, and nothing else. */
	struct ib_user_mad_reg_req req = { .qpn = qpn };
	int fd = open(name, O_RDWR);

	if (fd < 0 || ioctl(fd, IB_USER_MAD_ENABLE_PKEY) ||
	    ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req))
		die(name);
	*id = req.id;
	return fd;
}

/* Return: 0 if there was an answer */
static int print_answer(int fd)
{
	struct umad answer;
	int i;

	if (read(fd, &answer, sizeof(answer)) < 0)
		die("read");
	if (answer.hdr.status)
		return 1;
	for (i = 0; i < MAD_LEN; i++)
		printf("%02x", answer.mad[i]);
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	struct umad umad = { .hdr.retries = 0 };
	int fd, i, ret = 0;

	if (argc < 6)
		return 2;
	umad.hdr.lid = htons(strtoul(argv[2], NULL, 0));
	umad.hdr.qpn = htonl(strtoul(argv[3], NULL, 0));
	umad.hdr.timeout_ms = strtoul(argv[4], NULL, 0);
	fd = open_agent(argv[1], ntohl(umad.hdr.qpn), &umad.hdr.id);
	for (i = 5; i < argc; i++) {
		unhex(argv[i], umad.mad);
		if (write(fd, &umad, sizeof(umad)) != sizeof(umad))
			die("write");
		if (umad.hdr.timeout_ms)
			ret |= print_answer(fd);
	}
	return ret;
}
