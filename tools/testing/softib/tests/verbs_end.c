// SPDX-License-Identifier: GPL-2.0
/*
 * Two ends of a connection: set-up, teardown, posts, and checks of completions. An
 * error of the set-up ends the program; a failed check leaves its reason in "why".
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "verbs_end.h"

struct end a, b;
char why[256];

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

bool fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return false;
}

void knob(const struct end *end, const char *name, unsigned int val)
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

void knobs_off(void)
{
	static const char * const names[] = {
		"drop_next_rc", "drop_every_rc", "dup_every_rc", "delay_ms_rc"
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		knob(&a, names[i], 0);
		knob(&b, names[i], 0);
	}
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

void end_open(struct end *end, const char *name, const char *knobs)
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

void link_up(const struct want *want)
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

void link_down(void)
{
	knobs_off();
	end_destroy(&a);
	end_destroy(&b);
}

int post_recv(struct end *end, uint64_t id, uint32_t offset, uint32_t len)
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

/* A work request of a, at the same offset of both buffers */
struct ibv_send_wr *request(enum ibv_wr_opcode opcode, uint64_t id,
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

int post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(a.qp, wr, &bad);
}

int post_send(uint64_t id, uint32_t offset, uint32_t len)
{
	return post(request(IBV_WR_SEND_WITH_IMM, id, offset, len));
}

/* Get the next completion; false with a reason after 20 s. */
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

bool expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
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

/* Check all fields of a receive completion. */
bool expect_recv(uint64_t id, uint32_t len, uint32_t imm)
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

bool expect_nothing(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (!ibv_poll_cq(cq, 1, &wc))
		return true;
	return fail("completion %d: %s, expected none", (int)wc.wr_id,
		    ibv_wc_status_str(wc.status));
}

void fill(uint8_t *buf, uint32_t len, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		buf[i] = seed >> 24;
	}
}

bool same(uint32_t offset, uint32_t len)
{
	if (!memcmp(a.buf + offset, b.buf + offset, len))
		return true;
	return fail("%u bytes differ", len);
}
