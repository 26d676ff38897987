// SPDX-License-Identifier: GPL-2.0
/*
 * hold - hold RTNL, or a reference to an interface, until this is killed
 *
 * usage: hold rtnl|dev IF
 *
 * The kernel copies to or from a page that is not there, and that userfaultfd never
 * brings: ethtool's names of counters under RTNL, or what a packet socket sends, for
 * which it has a reference to the interface, which has to be up. "held" is printed once
 * the kernel waits for the page.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/userfaultfd.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <signal.h>

static int die(const char *what)
{
	fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
	return 2;
}

/* The child sees the fault of its parent; the file is shared, the memory is not. */
static void tell(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&pfd, 1, -1) == 1) {
		puts("held");
		fflush(stdout);
	}
	pause();
}

/* The header is on the page before @missing, the names would be on it. */
static void hold_rtnl(const char *name, char *missing)
{
	struct ethtool_gstrings *names =
		(void *)(missing - offsetof(struct ethtool_gstrings, data));
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = { .ifr_data = (void *)names };

	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	ioctl(sock, SIOCETHTOOL, &ifr);
}

static void hold_dev(const char *name, const char *missing)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_ifindex = if_nametoindex(name),
	};
	int sock = socket(AF_PACKET, SOCK_RAW, 0);

	sendto(sock, missing, 100, 0, (struct sockaddr *)&to, sizeof(to));
}

int main(int argc, char **argv)
{
	long size = sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *pages;
	int fd;

	if (argc != 3)
		return 2;
	fd = syscall(SYS_userfaultfd, O_NONBLOCK);
	pages = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || pages == MAP_FAILED)
		return die("userfaultfd");
	reg.range.start = (unsigned long)(pages + size);
	reg.range.len = size;
	if (ioctl(fd, UFFDIO_REGISTER, &reg))
		return die("register");
	switch (fork()) {
	case -1:
		return die("fork");
	case 0:
		tell(fd);
		return 0;
	}
	if (strcmp(argv[1], "dev"))
		hold_rtnl(argv[2], pages + size);
	else
		hold_dev(argv[2], pages + size);
	return die("not held");
}
