// SPDX-License-Identifier: GPL-2.0
/*
 * rexec - run commands in the other guest of a pair
 *
 * usage: rexec serve ADDRESS PORT
 *            for ever; prints "ready"
 *        rexec call [-i] ADDRESS PORT COMMAND [ARG]...
 *            COMMAND runs there, its output and error appear here, its exit
 *            status is ours. With -i our standard input is its own. When this
 *            process ends, whatever of COMMAND's still runs is killed.
 *
 * The wire has nobody but the two guests on it: there is no authentication.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUF_LEN 65536
#define MAX_ARGS 512

/* What a message from the server carries; what a client sends is raw. */
enum { MSG_OUT = 1, MSG_ERR = 2, MSG_EXIT = 3 };

struct msg {
	uint32_t type;
	uint32_t len;
};

static char buf[BUF_LEN];

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "rexec: %s: %s\n", what, strerror(errno));
	exit(255);
}

static int put(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	for (; len; p += n, len -= n) {
		n = write(fd, p, len);
		if (n < 0)
			return -1;
	}
	return 0;
}

static int get(int fd, void *data, size_t len)
{
	char *p = data;
	ssize_t n;

	for (; len; p += n, len -= n) {
		n = read(fd, p, len);
		if (n <= 0)
			return -1;
	}
	return 0;
}

static int put_msg(int fd, uint32_t type, const void *data, uint32_t len)
{
	struct msg msg = { htonl(type), htonl(len) };

	return put(fd, &msg, sizeof(msg)) || put(fd, data, len) ? -1 : 0;
}

/*
 * The command: a length, then its words, each with a NUL behind it, the first one
 * "-i" or "-". Without input the client sends no more, and its end is the command's.
 */
static char **get_args(int sock)
{
	static char *args[MAX_ARGS + 1];
	uint32_t len;
	char *p;
	int n = 0;

	if (get(sock, &len, sizeof(len)))
		exit(1);
	len = ntohl(len);
	if (!len || len >= BUF_LEN || get(sock, buf, len))
		exit(1);
	buf[len] = 0;
	for (p = buf; p < buf + len && n < MAX_ARGS; p += strlen(p) + 1)
		args[n++] = strdup(p);
	return args;
}

static pid_t start(char **args, int in[2], int out[2], int err[2])
{
	pid_t pid;

	if (pipe(in) || pipe(out) || pipe(err))
		exit(1);
	pid = fork();
	if (pid < 0)
		exit(1);
	if (!pid) {
		setsid();
		signal(SIGPIPE, SIG_DFL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execvp(args[0], args);
		die(args[0]);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	return pid;
}

/* From a pipe to the client. Returns 0 once there is no more. */
static int relay(int fd, int sock, uint32_t type)
{
	ssize_t n = read(fd, buf, BUF_LEN);

	if (n <= 0)
		return 0;
	return put_msg(sock, type, buf, n) ? -1 : 1;
}

static void serve_one(int sock)
{
	int in[2], out[2], err[2], status, input, rc;
	char **args = get_args(sock);
	struct pollfd p[3];
	uint32_t code;
	pid_t pid;

	input = !strcmp(args[0], "-i");
	pid = start(args + 1, in, out, err);
	if (!input)
		close(in[1]);
	p[0] = (struct pollfd){ .fd = sock, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = out[0], .events = POLLIN };
	p[2] = (struct pollfd){ .fd = err[0], .events = POLLIN };
	while (p[1].fd >= 0 || p[2].fd >= 0) {
		if (poll(p, 3, -1) < 0)
			break;
		if (p[0].revents & (POLLHUP | POLLERR))
			goto gone;
		if (p[0].revents & POLLIN) {
			ssize_t n = read(sock, buf, BUF_LEN);

			if (n < 0 || (n == 0 && !input))
				goto gone;
			if (n == 0)
				close(in[1]);
			if (n == 0 || put(in[1], buf, n))
				p[0].events = 0;
		}
		for (int i = 1; i < 3; i++) {
			if (!p[i].revents)
				continue;
			rc = relay(p[i].fd, sock, i == 1 ? MSG_OUT : MSG_ERR);
			if (rc < 0)
				goto gone;
			if (!rc)
				p[i].fd = -1;
		}
	}
	if (waitpid(pid, &status, 0) == pid) {
		code = htonl(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		put_msg(sock, MSG_EXIT, &code, sizeof(code));
	}
	exit(0);
gone:
	kill(-pid, SIGTERM);
	exit(0);
}

static struct sockaddr_in address(const char *host, const char *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	if (inet_pton(AF_INET, host, &sin.sin_addr) != 1)
		die(host);
	return sin;
}

static int serve(const char *host, const char *port)
{
	struct sockaddr_in sin = address(host, port);
	int sock = socket(AF_INET, SOCK_STREAM, 0), one = 1, conn;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(sock, (struct sockaddr *)&sin, sizeof(sin)) || listen(sock, 64))
		die("bind");
	puts("ready");
	fflush(stdout);
	for (;;) {
		conn = accept(sock, NULL, NULL);
		if (conn < 0)
			continue;
		if (!fork()) {
			signal(SIGCHLD, SIG_DFL);
			close(sock);
			setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			serve_one(conn);
		}
		close(conn);
	}
}

static void send_args(int sock, char **args)
{
	uint32_t len = 0, belen;

	for (; *args; args++) {
		size_t n = strlen(*args) + 1;

		if (len + n >= BUF_LEN)
			die("too many arguments");
		memcpy(buf + len, *args, n);
		len += n;
	}
	belen = htonl(len);
	if (put(sock, &belen, sizeof(belen)) || put(sock, buf, len))
		die("send");
}

/* Input until its end, output until the exit status. */
static int converse(int sock, int input)
{
	struct pollfd p[2] = {
		{ .fd = sock, .events = POLLIN },
		{ .fd = input ? 0 : -1, .events = POLLIN },
	};
	struct msg msg;
	ssize_t n;

	for (;;) {
		if (poll(p, 2, -1) < 0)
			die("poll");
		if (p[1].revents) {
			n = read(0, buf, BUF_LEN);
			if (n > 0 && put(sock, buf, n))
				die("send");
			if (n <= 0) {
				shutdown(sock, SHUT_WR);
				p[1].fd = -1;
			}
		}
		if (!p[0].revents)
			continue;
		if (get(sock, &msg, sizeof(msg)) || ntohl(msg.len) > BUF_LEN ||
		    get(sock, buf, ntohl(msg.len)))
			die("the other guest is gone");
		if (ntohl(msg.type) == MSG_EXIT) {
			uint32_t code;

			memcpy(&code, buf, sizeof(code));
			return ntohl(code);
		}
		put(ntohl(msg.type) == MSG_OUT ? 1 : 2, buf, ntohl(msg.len));
	}
}

static int call(int argc, char **argv)
{
	int input = argc > 0 && !strcmp(argv[0], "-i"), sock, one = 1;
	struct sockaddr_in sin;

	argv += input;
	if (argc - input < 3)
		return 255;
	sin = address(argv[0], argv[1]);
	argv[1] = input ? "-i" : "-";
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(sock, (struct sockaddr *)&sin, sizeof(sin)))
		die("connect");
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	send_args(sock, argv + 1);
	return converse(sock, input);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv[2], argv[3]);
	if (argc > 4 && !strcmp(argv[1], "call"))
		return call(argc - 2, argv + 2);
	return 255;
}
