// SPDX-License-Identifier: GPL-2.0
/*
 * rtnl_hold - hold RTNL until this is killed
 *
 * usage: rtnl_hold IF
 *
 * ethtool's names of counters are copied to user space under RTNL. They go to a page
 * that is not there, and that userfaultfd never brings. "held" is printed once the
 * kernel waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/ethtool.h>
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
	fprintf(stderr, "rtnl_hold: %s: %s\n", what, strerror(errno));
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

int main(int argc, char **argv)
{
	long size = sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct ethtool_gstrings *names;
	struct ifreq ifr = {};
	char *pages;
	int fd, sock;

	if (argc != 2)
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
	/* The header is on the first page, the names would be on the second. */
	names = (void *)(pages + size - offsetof(struct ethtool_gstrings, data));
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", argv[1]);
	ifr.ifr_data = (void *)names;
	switch (fork()) {
	case -1:
		return die("fork");
	case 0:
		tell(fd);
		return 0;
	}
	ioctl(sock, SIOCETHTOOL, &ifr);
	return die("not held");
}
