// SPDX-License-Identifier: GPL-2.0
/*
 * umad_take - take the SA's reports of a port, as a program besides IPoIB may
 *
 * usage: umad_take FILE
 *
 * FILE is the port's /dev/infiniband/umadN. Prints "ready" and stays until
 * killed.
 */
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLASS_SUBN_ADM	3
#define METHOD_REPORT	6

int main(int argc, char **argv)
{
	struct ib_user_mad_reg_req req = {
		.method_mask = { 1 << METHOD_REPORT },
		.qpn = 1,
		.mgmt_class = CLASS_SUBN_ADM,
		.mgmt_class_version = 2,
	};
	int fd;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDWR);
	if (fd < 0 || ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req)) {
		perror(argv[1]);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
