// SPDX-License-Identifier: GPL-2.0
/*
 * Refusals, losses and capabilities of an HCA under its knobs:
 *
 *	limits DEVICE CASE		cases with a single HCA
 *	limits DEVICE CASE KNOB		KNOB: debugfs file that triggers the event
 *	limits DEVICE CASE DEVICE	a datagram from the first to the second HCA
 *
 * Prints the results, which the script compares. Exit status 1 after an error that is not
 * the subject of a knob.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QKEY	0x11111111
#define GRH	40
#define BUF	4096
#define LATE_MS	5000
/* Value in the kernel; libibverbs has other values. */
#define KERNEL_WC_IP_CSUM_OK	8

#define need(cond) \
	do { \
		if (!(cond)) \
			die(__LINE__, #cond); \
	} while (0)

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	unsigned char buf[2 * BUF];
};

static struct end a, b;

static void die(int line, const char *what)
{
	printf("line %d: %s: %s\n", line, what, strerror(errno));
	exit(1);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void open_end(struct end *end, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	need(list[i]);
	end->ctx = ibv_open_device(list[i]);
	need(end->ctx);
	need(!ibv_query_port(end->ctx, 1, &end->port));
	need(!ibv_query_gid(end->ctx, 1, 0, &end->gid));
	end->pd = ibv_alloc_pd(end->ctx);
	end->cq = ibv_create_cq(end->ctx, 64, NULL, NULL, 0);
	need(end->pd && end->cq);
	end->mr = ibv_reg_mr(end->pd, end->buf, sizeof(end->buf),
			     IBV_ACCESS_LOCAL_WRITE);
	need(end->mr);
}

static struct ibv_qp *try_qp(struct end *end, enum ibv_qp_type type,
			     unsigned int wr, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq, .recv_cq = end->cq, .srq = srq,
		.qp_type = type, .sq_sig_all = 1,
		.cap = { .max_send_wr = wr, .max_recv_wr = 16,
			 .max_send_sge = 2, .max_recv_sge = 1 },
	};

	errno = 0;
	return ibv_create_qp(end->pd, &init);
}

static const char *made(const void *object)
{
	return object ? "made" : strerrorname_np(errno);
}

static struct ibv_qp *ud_qp(struct end *end, int rts)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
	};
	struct ibv_qp *qp = try_qp(end, IBV_QPT_UD, 16, NULL);

	need(qp);
	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_QKEY));
	if (!rts)
		return qp;
	attr.qp_state = IBV_QPS_RTR;
	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return qp;
}

static void post_recv(struct end *end, struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, BUF, end->mr->lkey };
	struct ibv_recv_wr *bad, wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1,
	};

	need(!ibv_post_recv(qp, &wr, &bad));
}

static int poll_wc(struct end *end, struct ibv_wc *wc, int ms)
{
	long until = now_ms() + ms;
	int n;

	do {
		n = ibv_poll_cq(end->cq, 1, wc);
		need(n >= 0);
	} while (!n && now_ms() < until);
	return n;
}

static void case_types(const char *arg)
{
	(void)arg;
	printf("UC %s, ", made(try_qp(&a, IBV_QPT_UC, 16, NULL)));
	printf("RC %s, ", made(try_qp(&a, IBV_QPT_RC, 16, NULL)));
	printf("UD %s\n", made(try_qp(&a, IBV_QPT_UD, 16, NULL)));
}

/* 128 octets each: 64 octets and two SGEs of 16, in units of 64 */
static void case_sizes(const char *arg)
{
	(void)arg;
	printf("64 %s, ", made(try_qp(&a, IBV_QPT_UD, 64, NULL)));
	printf("65 %s\n", made(try_qp(&a, IBV_QPT_UD, 65, NULL)));
}

static void case_mcast(const char *arg)
{
	union ibv_gid group = { .raw = { 0xff, 0x12, 0xa0, 0x1b, [15] = 1 } };
	struct ibv_qp *qp = ud_qp(&a, 1);
	int i;

	(void)arg;
	for (i = 0; i < 2; i++)
		printf("attach %d, ", ibv_attach_mcast(qp, &group, 0xc123));
	for (i = 0; i < 2; i++)
		printf("detach %d%s", ibv_detach_mcast(qp, &group, 0xc123),
		       i ? "\n" : ", ");
}

static struct ibv_srq *try_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 16, 1, 0 } };

	errno = 0;
	return ibv_create_srq(a.pd, &init);
}

static void case_srq(const char *arg)
{
	(void)arg;
	printf("first %s, ", made(try_srq()));
	printf("second %s\n", made(try_srq()));
}

/* Return: type of the next event, -1 after a timeout. */
static int next_event(int ms, struct ibv_qp **qp)
{
	struct pollfd fd = { .fd = a.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, ms) != 1)
		return -1;
	need(!ibv_get_async_event(a.ctx, &event));
	ibv_ack_async_event(&event);
	if (qp)
		*qp = event.element.qp;
	return event.event_type;
}

static struct ibv_qp *errored_qp(struct ibv_srq *srq)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};
	struct ibv_qp *qp = try_qp(&a, IBV_QPT_RC, 16, srq);

	need(qp);
	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_ERR;
	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	return qp;
}

/* The first of two QPs to raise IB_EVENT_QP_LAST_WQE_REACHED, and whether after 1 s or before */
static void case_last_wqe(const char *arg)
{
	struct ibv_srq *srq = try_srq();
	struct ibv_qp *first, *told;
	long start = now_ms();

	(void)arg;
	need(srq);
	first = errored_qp(srq);
	errored_qp(srq);
	need(next_event(LATE_MS, &told) == IBV_EVENT_QP_LAST_WQE_REACHED);
	printf("%s %s\n", told == first ? "first" : "second",
	       now_ms() - start >= 1000 ? "late" : "soon");
}

static void write_knob(const char *file)
{
	int fd = open(file, O_WRONLY);

	need(fd >= 0 && write(fd, "1\n", 2) == 2);
	close(fd);
}

static void case_fatal(const char *knob)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, 8, a.mr->lkey };
	struct ibv_qp *qp = ud_qp(&a, 1);
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	struct ibv_ah_attr to = { .dlid = a.port.lid, .port_num = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc = {};

	wr.wr.ud.ah = ibv_create_ah(a.pd, &to);
	need(wr.wr.ud.ah);
	post_recv(&a, qp);
	write_knob(knob);
	printf("event %d, ", next_event(LATE_MS, NULL));
	need(poll_wc(&a, &wc, LATE_MS));
	printf("receive %s, ", ibv_wc_status_str(wc.status));
	printf("post %s, ", strerrorname_np(ibv_post_send(qp, &wr, &bad)));
	printf("QP %s, ", made(try_qp(&a, IBV_QPT_UD, 16, NULL)));
	printf("to error %d, ", ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	printf("destroy %d\n", ibv_destroy_qp(qp));
}

static uint16_t csum(const void *data, unsigned int len, uint32_t sum)
{
	const unsigned char *p = data;
	unsigned int i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

#define UDP_LEN	(8 + 33)
#define IP_LEN	(20 + UDP_LEN)

static uint32_t pseudo(const unsigned char *ip)
{
	return csum(ip + 12, 8, 17 + UDP_LEN);
}

/* The UDP checksum is the sum of the pseudo header, as the stack leaves it. */
static void fill(unsigned char *frame)
{
	static const unsigned char head[] = {
		0x08, 0, 0, 0,
		0x45, 0, 0, IP_LEN, 0, 0, 0, 0, 64, 17, 0, 0,
		10, 9, 0, 1, 10, 9, 0, 2,
		0x12, 0x34, 0x56, 0x78, 0, UDP_LEN,
	};
	unsigned char *ip = frame + 4;
	uint16_t sum;
	int i;

	for (i = 0; i < 4 + IP_LEN; i++)
		frame[i] = i * 7;
	memcpy(frame, head, sizeof(head));
	sum = ~csum(ip, 20, 0);
	ip[10] = sum >> 8;
	ip[11] = sum;
	sum = pseudo(ip);
	ip[26] = sum >> 8;
	ip[27] = sum;
}

static void send_one(struct ibv_qp *from, struct ibv_qp *to, int grh, int flags)
{
	struct ibv_ah_attr attr = { .dlid = b.port.lid, .port_num = 1 };
	struct ibv_sge sge = { (uintptr_t)a.buf, 4 + IP_LEN, a.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .send_flags = flags,
		.opcode = IBV_WR_SEND,
		.wr.ud = { NULL, to->qp_num, QKEY },
	};
	struct ibv_wc wc;

	attr.is_global = grh;
	attr.grh.dgid = b.gid;
	wr.wr.ud.ah = ibv_create_ah(a.pd, &attr);
	need(wr.wr.ud.ah);
	need(!ibv_post_send(from, &wr, &bad));
	need(poll_wc(&a, &wc, LATE_MS) && wc.status == IBV_WC_SUCCESS);
}

/* A datagram with IBV_SEND_IP_CSUM, and a datagram without: sent checksum, and receive flags */
static void case_csum(const char *arg)
{
	unsigned char *ip = b.buf + GRH + 4;
	struct ibv_qp *from, *to;
	struct ibv_wc wc;
	int i;

	open_end(&b, arg);
	from = ud_qp(&a, 1);
	to = ud_qp(&b, 1);
	for (i = 0; i < 2; i++) {
		fill(a.buf);
		post_recv(&b, to);
		send_one(from, to, 0, i ? 0 : IBV_SEND_IP_CSUM);
		need(poll_wc(&b, &wc, LATE_MS));
		need(wc.byte_len == GRH + 4 + IP_LEN);
		printf("%s, %s%s",
		       csum(ip + 20, UDP_LEN, pseudo(ip)) == 0xffff ?
		       "right" : "wrong",
		       wc.wc_flags & KERNEL_WC_IP_CSUM_OK ?
		       "checked" : "not checked", i ? "\n" : "; ");
		/* The memory of the sender is unchanged. */
		need(csum(a.buf + 4 + 20, UDP_LEN, pseudo(a.buf + 4)) != 0xffff);
	}
}

/* A datagram without a GRH, then a datagram with a GRH: print the first that arrives. */
static void case_grh(const char *arg)
{
	struct ibv_qp *from, *to;
	struct ibv_wc wc;

	open_end(&b, arg);
	from = ud_qp(&a, 1);
	to = ud_qp(&b, 1);
	post_recv(&b, to);
	send_one(from, to, 0, 0);
	send_one(from, to, 1, 0);
	need(poll_wc(&b, &wc, LATE_MS));
	printf("%s\n", wc.wc_flags & IBV_WC_GRH ? "with" : "without");
}

static const struct {
	const char *name;
	void (*run)(const char *arg);
} cases[] = {
	{ "types", case_types },
	{ "sizes", case_sizes },
	{ "mcast", case_mcast },
	{ "srq", case_srq },
	{ "last_wqe", case_last_wqe },
	{ "fatal", case_fatal },
	{ "csum", case_csum },
	{ "grh", case_grh },
};

int main(int argc, char **argv)
{
	unsigned int i;

	need(argc >= 3);
	open_end(&a, argv[1]);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[2]))
			continue;
		cases[i].run(argv[3]);
		return 0;
	}
	return 1;
}
