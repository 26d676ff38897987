// SPDX-License-Identifier: GPL-2.0
/*
 * What RC, UC and SRQ promise, asked of two HCAs of the fabric by verbs:
 *
 *	verbs list
 *	verbs DEVICE KNOBS DEVICE KNOBS CASE
 *
 *	     one process
 *	  +--------+--------+
 *	  a                 b		a struct end each: PD, CQs, MR, QP
 *	DEVICE --- switch --- DEVICE
 *
 * KNOBS is the debugfs directory of a device. Its fault knobs work on what the
 * device sends: a's on requests, b's on the answers to them. CASE is the index of
 * a line of the list. Says why a case failed; exit status 0 if it passed.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUF_LEN		(1 << 20)
#define DEPTH		256
#define ACCESS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* One end of a connection. */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint8_t *buf;
	uint16_t lid;
	const char *knobs;
};

/* What a case may want otherwise in its connection. */
struct want {
	enum ibv_qp_type type;
	uint32_t psn;
	int timeout;		/* 4.096 us * 2^timeout */
	int retry_cnt;
	int rnr_retry;
	int access;		/* of b */
	bool srq;		/* at b */
};

static const struct want rc_default = {
	.type = IBV_QPT_RC,
	.psn = 0x123456,
	.timeout = 8,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.access = ACCESS_ALL,
};

static struct end a, b;
static char why[256];

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static bool fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return false;
}

static void knob(const struct end *end, const char *name, unsigned int val)
{
	char path[256], text[16];
	int fd, len;

	snprintf(path, sizeof(path), "%s/%s", end->knobs, name);
	len = snprintf(text, sizeof(text), "%u", val);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, len) != len)
		die(path);
	close(fd);
}

static void knobs_off(void)
{
	static const char * const names[] = {
		"drop_next_rc", "drop_every_rc", "dup_every_rc", "delay_ms_rc"
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		knob(&a, names[i], 0);
		knob(&b, names[i], 0);
	}
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void end_open(struct end *end, const char *name, const char *knobs)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			end->ctx = ibv_open_device(list[i]);
	if (!end->ctx)
		die(name);
	ibv_free_device_list(list);
	if (ibv_query_port(end->ctx, 1, &port))
		die("query_port");
	end->lid = port.lid;
	end->knobs = knobs;
	end->pd = ibv_alloc_pd(end->ctx);
	end->send_cq = ibv_create_cq(end->ctx, 2 * DEPTH, NULL, NULL, 0);
	end->recv_cq = ibv_create_cq(end->ctx, 2 * DEPTH, NULL, NULL, 0);
	end->buf = aligned_alloc(4096, BUF_LEN);
	if (!end->pd || !end->send_cq || !end->recv_cq || !end->buf)
		die("resources");
	end->mr = ibv_reg_mr(end->pd, end->buf, BUF_LEN, ACCESS_ALL);
	if (!end->mr)
		die("reg_mr");
}

static void end_create(struct end *end, const struct want *want, bool srq)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
	};
	struct ibv_qp_init_attr attr = {
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			.max_send_sge = 2, .max_recv_sge = 2,
		},
		.qp_type = want->type,
		.sq_sig_all = 1,
	};

	if (srq) {
		end->srq = ibv_create_srq(end->pd, &srq_attr);
		if (!end->srq)
			die("create_srq");
		attr.srq = end->srq;
	}
	end->qp = ibv_create_qp(end->pd, &attr);
	if (!end->qp)
		die("create_qp");
}

static void end_to_init(struct end *end, int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access,
	};

	if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("modify to INIT");
}

static void end_to_rtr(struct end *end, const struct want *want,
		       const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_2048,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = want->psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = peer->lid, .port_num = 1 },
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (want->type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (ibv_modify_qp(end->qp, &attr, mask))
		die("modify to RTR");
}

static void end_to_rts(struct end *end, const struct want *want)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = want->psn,
		.timeout = want->timeout,
		.retry_cnt = want->retry_cnt,
		.rnr_retry = want->rnr_retry,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (want->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	if (ibv_modify_qp(end->qp, &attr, mask))
		die("modify to RTS");
}

static void end_destroy(struct end *end)
{
	struct ibv_wc wc;

	if (end->qp && ibv_destroy_qp(end->qp))
		die("destroy_qp");
	end->qp = NULL;
	if (end->srq && ibv_destroy_srq(end->srq))
		die("destroy_srq");
	end->srq = NULL;
	while (ibv_poll_cq(end->send_cq, 1, &wc) > 0 ||
	       ibv_poll_cq(end->recv_cq, 1, &wc) > 0)
		;
}

static void link_up(const struct want *want)
{
	memset(a.buf, 0, BUF_LEN);
	memset(b.buf, 0, BUF_LEN);
	end_create(&a, want, false);
	end_create(&b, want, want->srq);
	end_to_init(&a, ACCESS_ALL);
	end_to_init(&b, want->access);
	end_to_rtr(&a, want, &b);
	end_to_rtr(&b, want, &a);
	end_to_rts(&a, want);
	end_to_rts(&b, want);
}

static void link_down(void)
{
	knobs_off();
	end_destroy(&a);
	end_destroy(&b);
}

static int post_recv(struct end *end, uint64_t id, uint32_t offset,
		     uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf + offset,
		.length = len,
		.lkey = end->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (end->srq)
		return ibv_post_srq_recv(end->srq, &wr, &bad);
	return ibv_post_recv(end->qp, &wr, &bad);
}

/* A work request of a, on the same offset of both buffers. */
static struct ibv_send_wr *request(enum ibv_wr_opcode opcode, uint64_t id,
				   uint32_t offset, uint32_t len)
{
	static struct ibv_send_wr wr;
	static struct ibv_sge sge;

	sge = (struct ibv_sge) {
		.addr = (uintptr_t)a.buf + offset,
		.length = len,
		.lkey = a.mr->lkey,
	};
	wr = (struct ibv_send_wr) {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.imm_data = htobe32(id),
	};
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf + offset;
	wr.wr.rdma.rkey = b.mr->rkey;
	return &wr;
}

static int post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(a.qp, wr, &bad);
}

static int post_send(uint64_t id, uint32_t offset, uint32_t len)
{
	return post(request(IBV_WR_SEND_WITH_IMM, id, offset, len));
}

/* The next completion; false with a reason if none comes in 20 s. */
static bool next_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	double until = now() + 20;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		if (n)
			break;
		usleep(200);
	} while (now() < until);
	if (n == 1)
		return true;
	return fail("%s", n ? "poll_cq failed" : "no completion in 20 s");
}

static bool expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (!next_wc(cq, &wc))
		return false;
	if (wc.wr_id != id || wc.status != status)
		return fail("completion %d: %s, expected %d: %s",
			    (int)wc.wr_id, ibv_wc_status_str(wc.status),
			    (int)id, ibv_wc_status_str(status));
	return true;
}

/* A receive completion in all its parts. */
static bool expect_recv(uint64_t id, uint32_t len, uint32_t imm)
{
	struct ibv_wc wc;

	if (!next_wc(b.recv_cq, &wc))
		return false;
	if (wc.wr_id != id || wc.status != IBV_WC_SUCCESS)
		return fail("receive %d: %s", (int)wc.wr_id,
			    ibv_wc_status_str(wc.status));
	if (wc.byte_len != len || be32toh(wc.imm_data) != imm ||
	    !(wc.wc_flags & IBV_WC_WITH_IMM))
		return fail("receive %d: %u bytes, immediate %u, not %u, %u",
			    (int)id, wc.byte_len, be32toh(wc.imm_data), len,
			    imm);
	if (wc.slid != a.lid || wc.src_qp != a.qp->qp_num)
		return fail("receive from LID %u QP %u", wc.slid, wc.src_qp);
	return true;
}

static bool expect_nothing(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (!ibv_poll_cq(cq, 1, &wc))
		return true;
	return fail("completion %d: %s, expected none", (int)wc.wr_id,
		    ibv_wc_status_str(wc.status));
}

static void fill(uint8_t *buf, uint32_t len, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		buf[i] = seed >> 24;
	}
}

static bool same(uint32_t offset, uint32_t len)
{
	if (!memcmp(a.buf + offset, b.buf + offset, len))
		return true;
	return fail("%u bytes differ", len);
}

static const uint32_t sizes[] = {
	0, 1, 3, 255, 2047, 2048, 2049, 4096, 65535, 65536, 65537, 131072,
	300001
};
#define NSIZES	(sizeof(sizes) / sizeof(sizes[0]))

static bool send_sizes(void)
{
	unsigned int i;

	for (i = 0; i < NSIZES; i++) {
		fill(a.buf, sizes[i], i);
		memset(b.buf, 0, sizes[i] + 1);
		if (post_recv(&b, i, 0, BUF_LEN) || post_send(i, 0, sizes[i]))
			return fail("post");
		if (!expect(a.send_cq, i, IBV_WC_SUCCESS) ||
		    !expect_recv(i, sizes[i], i) || !same(0, sizes[i]))
			return false;
		if (b.buf[sizes[i]])
			return fail("byte behind %u written", sizes[i]);
	}
	return true;
}

static bool rdma_sizes(enum ibv_wr_opcode opcode)
{
	const bool read = opcode == IBV_WR_RDMA_READ;
	unsigned int i;

	for (i = 0; i < NSIZES; i++) {
		fill(read ? b.buf : a.buf, sizes[i], i + 100);
		memset(read ? a.buf : b.buf, 0, sizes[i] + 1);
		if (post(request(opcode, i, 0, sizes[i])))
			return fail("post");
		if (!expect(a.send_cq, i, IBV_WC_SUCCESS) ||
		    !same(0, sizes[i]))
			return false;
		if ((read ? a.buf : b.buf)[sizes[i]])
			return fail("byte behind %u written", sizes[i]);
	}
	return true;
}

static bool write_imm(void)
{
	struct ibv_send_wr *wr;

	fill(a.buf, 70000, 7);
	wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, 5, 0, 70000);
	if (post_recv(&b, 9, BUF_LEN / 2, 16) || post(wr))
		return fail("post");
	return expect(a.send_cq, 5, IBV_WC_SUCCESS) &&
	       expect_recv(9, 70000, 5) && same(0, 70000);
}

static struct ibv_send_wr *fetch_add(uint64_t id, uint64_t add)
{
	struct ibv_send_wr *wr;

	wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, id, 8 * id, 8);
	wr->wr.atomic.remote_addr = (uintptr_t)b.buf;
	wr->wr.atomic.rkey = b.mr->rkey;
	wr->wr.atomic.compare_add = add;
	return wr;
}

/* Each is done once and in order, whatever is lost on the way. */
static bool adds_exactly_once(void)
{
	volatile uint64_t *sum = (void *)b.buf;
	uint64_t *old = (void *)a.buf;
	unsigned int i, n = 100;

	*sum = 0;
	for (i = 0; i < n; i++)
		if (post(fetch_add(i, 1)))
			return fail("post %u", i);
	for (i = 0; i < n; i++) {
		if (!expect(a.send_cq, i, IBV_WC_SUCCESS))
			return false;
		if (old[i] != i)
			return fail("add %u found %llu", i,
				    (unsigned long long)old[i]);
	}
	if (*sum != n)
		return fail("the sum is %llu", (unsigned long long)*sum);
	return true;
}

static bool cmp_swap(void)
{
	volatile uint64_t *val = (void *)b.buf;
	uint64_t *old = (void *)a.buf;
	struct ibv_send_wr *wr;
	uint64_t compare;

	for (compare = 41; compare <= 42; compare++) {
		*val = 42;
		wr = fetch_add(0, compare);
		wr->opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		wr->wr.atomic.swap = 1000;
		if (post(wr))
			return fail("post");
		if (!expect(a.send_cq, 0, IBV_WC_SUCCESS))
			return false;
		if (*old != 42 || *val != (compare == 42 ? 1000 : 42))
			return fail("%llu with %llu: was %llu, is %llu", 42ULL,
				    (unsigned long long)compare,
				    (unsigned long long)*old,
				    (unsigned long long)*val);
	}
	return true;
}

/* Many messages in flight: all arrive, once, in order, undamaged. */
static bool send_many(unsigned int n, uint32_t len)
{
	unsigned int i;

	fill(a.buf, n * len, n);
	for (i = 0; i < n; i++)
		if (post_recv(&b, i, i * len, len))
			return fail("post_recv %u", i);
	for (i = 0; i < n; i++)
		if (post_send(i, i * len, len))
			return fail("post_send %u", i);
	for (i = 0; i < n; i++)
		if (!expect(a.send_cq, i, IBV_WC_SUCCESS))
			return false;
	for (i = 0; i < n; i++)
		if (!expect_recv(i, len, i))
			return false;
	return expect_nothing(b.recv_cq) && same(0, n * len);
}

static bool all_kinds(void)
{
	return send_many(100, 5000) && adds_exactly_once() &&
	       rdma_sizes(IBV_WR_RDMA_WRITE) && rdma_sizes(IBV_WR_RDMA_READ) &&
	       write_imm() && send_sizes();
}

static bool case_rc_send(void)
{
	link_up(&rc_default);
	return send_sizes() && send_many(200, 3000);
}

static bool case_rc_write(void)
{
	link_up(&rc_default);
	return rdma_sizes(IBV_WR_RDMA_WRITE) && write_imm();
}

static bool case_rc_read(void)
{
	link_up(&rc_default);
	return rdma_sizes(IBV_WR_RDMA_READ);
}

static bool case_rc_atomic(void)
{
	link_up(&rc_default);
	return adds_exactly_once() && cmp_swap();
}

static bool case_rc_psn_wraps(void)
{
	struct want want = rc_default;

	want.psn = 0xfffffe;
	link_up(&want);
	return all_kinds();
}

static bool case_rc_lost_requests(void)
{
	link_up(&rc_default);
	knob(&a, "drop_every_rc", 3);
	return all_kinds();
}

static bool case_rc_lost_answers(void)
{
	link_up(&rc_default);
	knob(&b, "drop_every_rc", 3);
	return all_kinds();
}

/*
 * Fewer in flight than it takes to lose one: else a round of repetitions could
 * be a multiple of that, and lose the same request each time.
 */
static bool case_rc_lost_both(void)
{
	link_up(&rc_default);
	knob(&a, "drop_every_rc", 17);
	knob(&b, "drop_every_rc", 5);
	return send_many(15, 5000) && adds_exactly_once() &&
	       rdma_sizes(IBV_WR_RDMA_WRITE) && rdma_sizes(IBV_WR_RDMA_READ) &&
	       write_imm() && send_sizes() && send_many(14, 70000);
}

static bool case_rc_duplicates(void)
{
	link_up(&rc_default);
	knob(&a, "dup_every_rc", 2);
	knob(&b, "dup_every_rc", 3);
	return all_kinds();
}

/* Slower than the transport timer: requests and ghosts of them overtake. */
static bool case_rc_delay(void)
{
	struct want want = rc_default;

	want.timeout = 15;
	link_up(&want);
	knob(&a, "delay_ms_rc", 20);
	knob(&b, "delay_ms_rc", 20);
	return send_many(50, 5000) && adds_exactly_once() && write_imm();
}

static bool case_rc_retry_exceeded(void)
{
	struct want want = rc_default;
	double start;

	want.retry_cnt = 2;
	link_up(&want);
	knob(&a, "drop_next_rc", 1000000);
	start = now();
	if (post_send(1, 0, 100) || post_send(2, 0, 100))
		return fail("post");
	if (!expect(a.send_cq, 1, IBV_WC_RETRY_EXC_ERR) ||
	    !expect(a.send_cq, 2, IBV_WC_WR_FLUSH_ERR))
		return false;
	/* Three timeouts of at least 1.05 ms each. */
	if (now() - start < 0.00315)
		return fail("gave up after %.6f s", now() - start);
	return expect_nothing(b.recv_cq);
}

/* Two losses are two retries: still alive. */
static bool case_rc_retry_suffices(void)
{
	struct want want = rc_default;

	want.retry_cnt = 2;
	link_up(&want);
	knob(&a, "drop_next_rc", 2);
	if (post_recv(&b, 1, 0, 100) || post_send(1, 0, 100))
		return fail("post");
	return expect(a.send_cq, 1, IBV_WC_SUCCESS) && expect_recv(1, 100, 1);
}

static bool case_rc_peer_gone(void)
{
	struct want want = rc_default;

	want.retry_cnt = 1;
	link_up(&want);
	if (ibv_destroy_qp(b.qp))
		return fail("destroy_qp");
	b.qp = NULL;
	if (post_send(1, 0, 100))
		return fail("post");
	return expect(a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

static bool case_rc_rnr_exceeded(void)
{
	struct want want = rc_default;

	want.rnr_retry = 0;
	link_up(&want);
	if (post_send(1, 0, 100) || post_send(2, 0, 100))
		return fail("post");
	return expect(a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR) &&
	       expect(a.send_cq, 2, IBV_WC_WR_FLUSH_ERR);
}

static bool case_rc_rnr_waits(void)
{
	link_up(&rc_default);
	fill(a.buf, 100, 1);
	if (post_send(1, 0, 100))
		return fail("post");
	usleep(50000);
	if (!expect_nothing(a.send_cq))
		return false;
	if (post_recv(&b, 4, 0, 100))
		return fail("post_recv");
	return expect(a.send_cq, 1, IBV_WC_SUCCESS) &&
	       expect_recv(4, 100, 1) && same(0, 100);
}

/* The responder fails, too: what it had posted is flushed. */
static bool bad_request(struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	if (post_recv(&b, 7, 0, 100) || post(wr))
		return fail("post");
	return expect(a.send_cq, 1, status) &&
	       expect(b.recv_cq, 7, IBV_WC_WR_FLUSH_ERR);
}

static bool case_rc_bad_rkey(void)
{
	struct ibv_send_wr *wr;

	link_up(&rc_default);
	wr = request(IBV_WR_RDMA_WRITE, 1, 0, 100);
	wr->wr.rdma.rkey ^= 0x5500;
	return bad_request(wr, IBV_WC_REM_ACCESS_ERR);
}

static bool case_rc_bad_address(void)
{
	struct ibv_send_wr *wr;

	link_up(&rc_default);
	wr = request(IBV_WR_RDMA_READ, 1, 0, 100);
	wr->wr.rdma.remote_addr += BUF_LEN - 50;
	return bad_request(wr, IBV_WC_REM_ACCESS_ERR);
}

static bool case_rc_no_access(void)
{
	struct want want = rc_default;

	want.access = IBV_ACCESS_LOCAL_WRITE;
	link_up(&want);
	return bad_request(request(IBV_WR_RDMA_WRITE, 1, 0, 100),
			   IBV_WC_REM_INV_REQ_ERR);
}

static bool case_rc_too_long(void)
{
	link_up(&rc_default);
	if (post_recv(&b, 7, 0, 100) || post_recv(&b, 8, 0, 100) ||
	    post_send(1, 0, 101))
		return fail("post");
	return expect(a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR) &&
	       expect(b.recv_cq, 7, IBV_WC_LOC_LEN_ERR) &&
	       expect(b.recv_cq, 8, IBV_WC_WR_FLUSH_ERR);
}

static bool case_rc_flush(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	link_up(&rc_default);
	knob(&a, "drop_next_rc", 1000000);
	if (post_recv(&a, 3, 0, 100) || post_send(1, 0, 100) ||
	    post_send(2, 0, 100))
		return fail("post");
	if (ibv_modify_qp(a.qp, &attr, IBV_QP_STATE))
		return fail("modify to ERR");
	return expect(a.send_cq, 1, IBV_WC_WR_FLUSH_ERR) &&
	       expect(a.send_cq, 2, IBV_WC_WR_FLUSH_ERR) &&
	       expect(a.recv_cq, 3, IBV_WC_WR_FLUSH_ERR) &&
	       !post_send(4, 0, 100) &&
	       expect(a.send_cq, 4, IBV_WC_WR_FLUSH_ERR);
}

static bool event_is(struct end *end, enum ibv_event_type type)
{
	struct pollfd pfd = { .fd = end->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	enum ibv_event_type got;

	if (poll(&pfd, 1, 20000) != 1)
		return fail("no event in 20 s");
	if (ibv_get_async_event(end->ctx, &event))
		return fail("get_async_event");
	got = event.event_type;
	ibv_ack_async_event(&event);
	if (got != type)
		return fail("event: %s", ibv_event_type_str(got));
	return true;
}

static bool case_srq(void)
{
	struct want want = rc_default;
	struct ibv_srq_attr limit = { .srq_limit = 4 };
	unsigned int i;

	want.srq = true;
	link_up(&want);
	for (i = 0; i < 8; i++)
		if (post_recv(&b, i, i * 100, 100))
			return fail("post_recv");
	if (ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT))
		return fail("modify_srq");
	for (i = 0; i < 5; i++) {
		fill(a.buf + i * 100, 100, i);
		if (post_send(i, i * 100, 100))
			return fail("post_send");
		if (!expect(a.send_cq, i, IBV_WC_SUCCESS) ||
		    !expect_recv(i, 100, i))
			return false;
	}
	return same(0, 500) && event_is(&b, IBV_EVENT_SRQ_LIMIT_REACHED);
}

static const struct want uc_default = {
	.type = IBV_QPT_UC,
	.psn = 0xfffff0,
	.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

static bool case_uc_send(void)
{
	link_up(&uc_default);
	return send_sizes() && send_many(200, 3000);
}

static bool case_uc_write(void)
{
	link_up(&uc_default);
	return rdma_sizes(IBV_WR_RDMA_WRITE) && write_imm();
}

/* The lost one is lost, and its receive buffer is for the next. */
static bool uc_lose(unsigned int skip, uint32_t len)
{
	unsigned int i;

	link_up(&uc_default);
	for (i = 0; i < 3; i++)
		if (post_recv(&b, i, i * len, len))
			return fail("post_recv");
	if (post_send(10, 0, len) ||
	    !expect(a.send_cq, 10, IBV_WC_SUCCESS) ||
	    !expect_recv(0, len, 10))
		return false;
	knob(&a, "drop_every_rc", skip);
	fill(a.buf, len, 1);
	if (post_send(11, 0, len) || !expect(a.send_cq, 11, IBV_WC_SUCCESS))
		return false;
	knob(&a, "drop_every_rc", 0);
	if (!expect_nothing(b.recv_cq))
		return false;
	fill(a.buf + len, len, 2);
	return !post_send(12, len, len) &&
	       expect(a.send_cq, 12, IBV_WC_SUCCESS) &&
	       expect_recv(1, len, 12) && same(len, len) &&
	       expect_nothing(b.recv_cq);
}

static bool case_uc_loss(void)
{
	return uc_lose(1, 3000);
}

/* Some of the frames of a message of many. */
static bool case_uc_partial_loss(void)
{
	return uc_lose(2, 300000) && (link_down(), uc_lose(3, 300000));
}

static bool case_uc_too_long(void)
{
	link_up(&uc_default);
	if (post_recv(&b, 1, 0, 100) || post_send(1, 0, 200) ||
	    !expect(a.send_cq, 1, IBV_WC_SUCCESS) ||
	    !expect_nothing(b.recv_cq) || post_send(2, 0, 100))
		return false;
	return expect(a.send_cq, 2, IBV_WC_SUCCESS) && expect_recv(1, 100, 2);
}

static const struct {
	const char *name;
	bool (*run)(void);
} cases[] = {
	{ "RC SEND: every size, in order", case_rc_send },
	{ "RC RDMA WRITE, with and without immediate", case_rc_write },
	{ "RC RDMA READ", case_rc_read },
	{ "RC atomics", case_rc_atomic },
	{ "RC: PSNs wrap", case_rc_psn_wraps },
	{ "RC: lost requests are repeated, done once", case_rc_lost_requests },
	{ "RC: lost answers are repeated, done once", case_rc_lost_answers },
	{ "RC: both lost", case_rc_lost_both },
	{ "RC: duplicates are done once", case_rc_duplicates },
	{ "RC: a slow fabric", case_rc_delay },
	{ "RC: retry_cnt losses are survived", case_rc_retry_suffices },
	{ "RC: one more is RETRY_EXC, the rest flushed", case_rc_retry_exceeded },
	{ "RC: peer gone is RETRY_EXC", case_rc_peer_gone },
	{ "RC: no buffer, rnr_retry 0: RNR_RETRY_EXC", case_rc_rnr_exceeded },
	{ "RC: no buffer, rnr_retry 7: waits", case_rc_rnr_waits },
	{ "RC: wrong R_Key is REM_ACCESS", case_rc_bad_rkey },
	{ "RC: address outside the region is REM_ACCESS", case_rc_bad_address },
	{ "RC: QP without access is REM_INV_REQ", case_rc_no_access },
	{ "RC: too long for the buffer", case_rc_too_long },
	{ "RC: to ERR flushes, and flushes what is posted later", case_rc_flush },
	{ "SRQ: receives, and the limit event", case_srq },
	{ "UC SEND: every size, in order", case_uc_send },
	{ "UC RDMA WRITE, with and without immediate", case_uc_write },
	{ "UC: a lost message leaves its buffer", case_uc_loss },
	{ "UC: a partly lost message leaves its buffer", case_uc_partial_loss },
	{ "UC: too long a message leaves the buffer", case_uc_too_long },
};
#define NCASES	(sizeof(cases) / sizeof(cases[0]))

int main(int argc, char **argv)
{
	unsigned int i;
	bool ok;

	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (i = 0; i < NCASES; i++)
			puts(cases[i].name);
		return 0;
	}
	if (argc != 6 || (i = atoi(argv[5])) >= NCASES) {
		fprintf(stderr, "usage: verbs list\n"
			"       verbs DEVICE KNOBS DEVICE KNOBS CASE\n");
		return 2;
	}
	end_open(&a, argv[1], argv[2]);
	end_open(&b, argv[3], argv[4]);
	knobs_off();
	ok = cases[i].run();
	link_down();
	if (!ok)
		printf("%s\n", why);
	return ok ? 0 : 1;
}
