// SPDX-License-Identifier: GPL-2.0
/*
 * Contract of RC, UC and SRQ, tested through verbs with two HCAs of the fabric:
 *
 *	verbs list
 *	verbs DEVICE KNOBS DEVICE KNOBS CASE
 *
 *	     one process
 *	  +--------+--------+
 *	  a                 b		a struct end each: PD, CQs, MR, QP
 *	DEVICE --- switch --- DEVICE
 *
 * KNOBS is the debugfs directory of a device. Its fault knobs act on the frames that
 * the device sends: the knobs of a on requests, the knobs of b on acknowledgments.
 * CASE is the index of a line of the list. Prints the reason of a failure; exit status
 * 0 if the case passed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "verbs_end.h"

static const struct want rc_default = {
	.type = IBV_QPT_RC,
	.psn = 0x123456,
	.timeout = 8,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.access = ACCESS_ALL,
};

static const uint32_t sizes[] = {
	0, 1, 3, 255, 2047, 2048, 2049, 4096, 65535, 65536, 65537, 131072,
	300001
};

static bool send_sizes(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
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

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
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

/* Many messages in flight: all arrive once, in order and intact. */
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
	return send_many(100, 5000) && rdma_sizes(IBV_WR_RDMA_WRITE) &&
	       rdma_sizes(IBV_WR_RDMA_READ) && write_imm() && send_sizes();
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
 * Fewer messages in flight than the period of the loss: else a round of repetitions could be a
 * multiple of the period, and lose the same request each time.
 */
static bool case_rc_lost_both(void)
{
	link_up(&rc_default);
	knob(&a, "drop_every_rc", 17);
	knob(&b, "drop_every_rc", 5);
	return send_many(15, 5000) && rdma_sizes(IBV_WR_RDMA_WRITE) &&
	       rdma_sizes(IBV_WR_RDMA_READ) && write_imm() && send_sizes() &&
	       send_many(14, 70000);
}

static bool case_rc_duplicates(void)
{
	link_up(&rc_default);
	knob(&a, "dup_every_rc", 2);
	knob(&b, "dup_every_rc", 3);
	return all_kinds();
}

/* Delay beyond the transport timeout: requests and their duplicates overtake each other. */
static bool case_rc_delay(void)
{
	struct want want = rc_default;

	want.timeout = 15;
	link_up(&want);
	knob(&a, "delay_ms_rc", 20);
	knob(&b, "delay_ms_rc", 20);
	return send_many(50, 5000) && write_imm();
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
	/* Three timeouts of at least 1.05 ms each */
	if (now() - start < 0.00315)
		return fail("gave up after %.6f s", now() - start);
	return expect_nothing(b.recv_cq);
}

/* Two losses and two retries: the QP survives. */
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

/* Unsupported features: absent from the attributes, and an error if requested */
static bool case_rc_refused(void)
{
	struct ibv_qp_attr attr = {
		.path_mig_state = IBV_MIG_REARM,
		.alt_ah_attr = { .dlid = b.lid, .port_num = 1 },
		.alt_port_num = 1,
	};
	static const enum ibv_wr_opcode gone[] = {
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV
	};
	struct ibv_device_attr dev;
	unsigned int i;
	int err;

	link_up(&rc_default);
	if (ibv_query_device(a.ctx, &dev))
		return fail("query_device");
	if (dev.device_cap_flags & (IBV_DEVICE_AUTO_PATH_MIG |
				    IBV_DEVICE_MEM_MGT_EXTENSIONS) ||
	    dev.atomic_cap != IBV_ATOMIC_NONE)
		return fail("attributes: flags %x, atomics %d",
			    dev.device_cap_flags, dev.atomic_cap);
	err = ibv_modify_qp(a.qp, &attr,
			    IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
	if (err != EOPNOTSUPP)
		return fail("alternate path: %s", strerror(err));
	for (i = 0; i < ARRAY_SIZE(gone); i++) {
		err = post(request(gone[i], 1, 0, 8));
		if (err != EINVAL)
			return fail("opcode %d: %s", gone[i], strerror(err));
	}
	return true;
}

/* The responder fails, too: its posted receive is flushed. */
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

/* A thread that sends at full speed until a send fails or it is stopped */
struct sender {
	pthread_t thread;
	atomic_bool stop;
	atomic_uint sent;
};

static void *sender_run(void *arg)
{
	struct sender *sender = arg;
	unsigned int posted = 0, done = 0;
	struct ibv_wc wc;

	while (!sender->stop) {
		if (posted - done < DEPTH / 2) {
			if (post(request(IBV_WR_RDMA_WRITE, posted, 0, 20000)))
				break;
			posted++;
		}
		if (ibv_poll_cq(a.send_cq, 1, &wc) == 1) {
			if (wc.status != IBV_WC_SUCCESS)
				break;
			done++;
			sender->sent = done;
		}
	}
	return NULL;
}

static void sender_start(struct sender *sender)
{
	sender->stop = false;
	sender->sent = 0;
	pthread_create(&sender->thread, NULL, sender_run, sender);
	while (sender->sent < 20)
		sched_yield();
}

static bool sender_join(struct sender *sender)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	if (!pthread_timedjoin_np(sender->thread, NULL, &until))
		return true;
	sender->stop = true;
	pthread_join(sender->thread, NULL);
	return fail("the sender did not notice");
}

static int destroy_peer(void)
{
	int ret = ibv_destroy_qp(b.qp);

	b.qp = NULL;
	return ret;
}

static int set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static int fail_peer(void)
{
	return set_state(b.qp, IBV_QPS_ERR);
}

static int reset_peer(void)
{
	return set_state(b.qp, IBV_QPS_RESET);
}

static int fail_self(void)
{
	return set_state(a.qp, IBV_QPS_ERR);
}

static int reset_self(void)
{
	return set_state(a.qp, IBV_QPS_RESET);
}

/* @silent: the sender gets no completion in error */
static bool under_load(int (*act)(void), bool silent)
{
	struct want want = rc_default;
	struct sender sender;
	unsigned int i;

	want.retry_cnt = 1;
	for (i = 0; i < 20; i++) {
		link_up(&want);
		sender_start(&sender);
		if (act()) {
			sender.stop = true;
			sender_join(&sender);
			return fail("round %u: %s", i, strerror(errno));
		}
		if (silent)
			sender.stop = true;
		if (!sender_join(&sender))
			return false;
		link_down();
	}
	link_up(&rc_default);
	return true;
}

static bool case_load_destroy_peer(void)
{
	return under_load(destroy_peer, false);
}

static bool case_load_fail_peer(void)
{
	return under_load(fail_peer, false);
}

static bool case_load_reset_peer(void)
{
	return under_load(reset_peer, false);
}

static bool case_load_fail_self(void)
{
	return under_load(fail_self, false);
}

static bool case_load_reset_self(void)
{
	return under_load(reset_self, true);
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

/* The lost message does not arrive, and its receive is for the next message. */
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

/* Loss of a part of the frames of a long message */
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
	{ "RC: what the HCA has not is refused", case_rc_refused },
	{ "RC: wrong R_Key is REM_ACCESS", case_rc_bad_rkey },
	{ "RC: address outside the region is REM_ACCESS", case_rc_bad_address },
	{ "RC: QP without access is REM_INV_REQ", case_rc_no_access },
	{ "RC: too long for the buffer", case_rc_too_long },
	{ "RC: to ERR flushes, and flushes what is posted later", case_rc_flush },
	{ "RC: peer's QP destroyed under load", case_load_destroy_peer },
	{ "RC: peer's QP to ERR under load", case_load_fail_peer },
	{ "RC: peer's QP to RESET under load", case_load_reset_peer },
	{ "RC: own QP to ERR under load", case_load_fail_self },
	{ "RC: own QP to RESET under load", case_load_reset_self },
	{ "SRQ: receives, and the limit event", case_srq },
	{ "UC SEND: every size, in order", case_uc_send },
	{ "UC RDMA WRITE, with and without immediate", case_uc_write },
	{ "UC: a lost message leaves its buffer", case_uc_loss },
	{ "UC: a partly lost message leaves its buffer", case_uc_partial_loss },
	{ "UC: too long a message leaves the buffer", case_uc_too_long },
};

int main(int argc, char **argv)
{
	unsigned int i = argc == 6 ? atoi(argv[5]) : ~0;
	bool ok;

	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (i = 0; i < ARRAY_SIZE(cases); i++)
			puts(cases[i].name);
		return 0;
	}
	if (i >= ARRAY_SIZE(cases)) {
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
