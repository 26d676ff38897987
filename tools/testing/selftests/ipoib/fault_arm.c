// SPDX-License-Identifier: GPL-2.0
/*
 * Orders the failure of one allocation of the kernel, or of many:
 *
 *	fault_arm DIR N|%N START END [REJECT_START REJECT_END]
 *
 * DIR is the debugfs directory of a kind of fault (failslab, fail_page_alloc).
 * The Nth allocation from now on that has a function of START to END on its
 * stack, and none of REJECT_START to REJECT_END, fails; no other does. "times" in
 * DIR is 0 when it has. With %N it is each Nth, a million of them, and "times"
 * counts down.
 *
 * The kernel fails each allocation whose running number is a multiple of
 * "interval", and the number cannot be set. So first one of this process itself
 * is made to fail with that interval: then the number is a multiple of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *dir;

static void die(const char *what)
{
	fprintf(stderr, "fault_arm: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(const char *name, const char *format, ...)
{
	char path[256], value[64];
	va_list args;
	int fd, len;

	va_start(args, format);
	len = vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, len) != len)
		die(path);
	close(fd);
}

/* An object of a slab cache and a page, or an error. */
static void allocate(void)
{
	ssize_t written;
	int fds[2];

	if (pipe(fds))
		return;
	written = write(fds[1], "x", 1);
	(void)written;
	close(fds[0]);
	close(fds[1]);
}

/* Whether "times" has come down to 0. If it cannot be opened, that was the one. */
static int used_up(const char *times)
{
	char value = '1';
	int fd = open(times, O_RDONLY);

	if (fd < 0)
		return 0;
	if (read(fd, &value, 1) != 1)
		die(times);
	close(fd);
	return value == '0';
}

static void synchronise(void)
{
	char path[256];
	int fail, n = 0;

	snprintf(path, sizeof(path), "%s/times", dir);
	fail = open("/proc/self/make-it-fail", O_WRONLY);
	if (fail < 0 || write(fail, "1", 1) != 1)
		die("make-it-fail");
	put("task-filter", "1");
	put("times", "1");
	do
		allocate();
	while (!used_up(path) && ++n < 1000000);
	if (lseek(fail, 0, SEEK_SET) || write(fail, "0", 1) != 1)
		die("make-it-fail");
	put("task-filter", "0");
}

int main(int argc, char **argv)
{
	int n, many;

	if (argc != 5 && argc != 7) {
		fprintf(stderr, "usage: fault_arm DIR N|%%N START END [REJECT_START REJECT_END]\n");
		return 2;
	}
	dir = argv[1];
	many = *argv[2] == '%';
	n = atoi(argv[2] + many);
	put("times", "0");
	put("require-start", "0");
	put("require-end", "0x%lx", ~0UL);
	put("reject-start", "0");
	put("reject-end", "0");
	put("space", "0");
	put("verbose", "%s", getenv("FAULT_VERBOSE") ?: "0");
	put("interval", "%d", n);
	put("probability", "100");
	if (n > 1 && !many)
		synchronise();
	put("require-start", "%s", argv[3]);
	put("require-end", "%s", argv[4]);
	if (argc == 7) {
		put("reject-start", "%s", argv[5]);
		put("reject-end", "%s", argv[6]);
	}
	put("times", "%d", many ? 1000000 : 1);
	return 0;
}
