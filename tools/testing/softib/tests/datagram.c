// SPDX-License-Identifier: GPL-2.0
/*
 * Contract of UD and of the switch, tested through verbs with two HCAs of the fabric:
 *
 *	datagram DEVICE DEVICE CASE
 *
 *	     one process
 *	  +--------+--------+
 *	  a                 b		PD, CQ, MR and a UD QP each
 *	DEVICE --- switch --- DEVICE
 *
 * The cases do not join groups at the SA. A group without members has no multicast
 * tree, so no copy leaves the sender's port. Prints the reason of a failure; exit
 * status 0 if the case passed.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>

#define QKEY	0x11111111
#define BUFS	16
#define BUF	8192
#define GRH	40
#define QUIET_MS	200	/* wait for absence of a completion */
#define LATE_MS		5000	/* wait for a completion */

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_port_attr port;
	union ibv_gid gid;
	unsigned char *buf;	/* BUFS receive buffers and a send buffer */
};

static struct end a, b;
static unsigned int recv_size = BUF;

#define die(...) do { printf(__VA_ARGS__); printf("\n"); exit(1); } while (0)
#define need(cond) do { if (!(cond)) die("line %d: %s", __LINE__, #cond); } \
	while (0)

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void post_recv(struct end *end, int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(end->buf + i * BUF),
		.length = recv_size,
		.lkey = end->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
	};

	need(!ibv_post_recv(end->qp, &wr, &bad));
}

static void to_rts(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	need(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static struct ibv_qp *make_qp(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq, .recv_cq = end->cq,
		.qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = BUFS, .max_recv_wr = BUFS,
			 .max_send_sge = 2, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
	};
	struct ibv_qp *qp = ibv_create_qp(end->pd, &init);

	need(qp);
	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_QKEY));
	return qp;
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
	ibv_free_device_list(list);
	need(!ibv_query_port(end->ctx, 1, &end->port));
	need(!ibv_query_gid(end->ctx, 1, 0, &end->gid));
	end->pd = ibv_alloc_pd(end->ctx);
	end->cq = ibv_create_cq(end->ctx, 4 * BUFS, NULL, NULL, 0);
	need(end->pd && end->cq);
	end->buf = calloc(BUFS + 1, BUF);
	end->mr = ibv_reg_mr(end->pd, end->buf, (BUFS + 1) * BUF,
			     IBV_ACCESS_LOCAL_WRITE);
	need(end->mr);
	end->qp = make_qp(end);
}

static void start(struct end *end)
{
	int i;

	for (i = 0; i < BUFS; i++)
		post_recv(end, i);
	to_rts(end);
}

/* Return: whether there is a completion in time. */
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

static struct ibv_ah *ah_to(struct end *from, int dlid, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = { .dlid = dlid, .port_num = 1, .sl = 3 };
	struct ibv_ah *ah;

	if (gid) {
		attr.is_global = 1;
		attr.grh.dgid = *gid;
		attr.grh.hop_limit = 7;
		attr.grh.traffic_class = 0x55;
		attr.grh.flow_label = 0x12345;
	}
	ah = ibv_create_ah(from->pd, &attr);
	need(ah);
	return ah;
}

struct dgram {
	struct ibv_ah *ah;
	unsigned int qpn, qkey, len;
	int imm;
};

static void post(struct end *end, const struct dgram *d)
{
	unsigned char *buf = end->buf + BUFS * BUF;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)buf, d->len / 3, end->mr->lkey },
		{ (uintptr_t)buf + d->len / 3, d->len - d->len / 3,
		  end->mr->lkey },
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1000, .sg_list = sge, .num_sge = 2,
		.opcode = d->imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.imm_data = htonl(d->imm),
		.wr.ud = { d->ah, d->qpn, d->qkey },
	};
	unsigned int i;

	for (i = 0; i < d->len; i++)
		buf[i] = i * 7 + d->len;
	need(!ibv_post_send(end->qp, &wr, &bad));
}

/* Post a datagram and wait for its send completion. */
static enum ibv_wc_status send_one(struct end *end, const struct dgram *d)
{
	struct ibv_wc wc;

	post(end, d);
	do
		need(poll_wc(end, &wc, LATE_MS));
	while (wc.wr_id != 1000);
	return wc.status;
}

static void expect(struct end *end, const struct dgram *d, struct ibv_wc *wc)
{
	unsigned char *data;
	unsigned int i;

	need(poll_wc(end, wc, LATE_MS));
	need(wc->status == IBV_WC_SUCCESS && wc->opcode == IBV_WC_RECV);
	need(wc->byte_len == d->len + GRH);
	data = end->buf + wc->wr_id * BUF + GRH;
	for (i = 0; i < d->len; i++)
		need(data[i] == (unsigned char)(i * 7 + d->len));
}

static void expect_none(struct end *end)
{
	struct ibv_wc wc;

	need(!poll_wc(end, &wc, QUIET_MS));
}

static struct dgram to_b(unsigned int len)
{
	return (struct dgram){ ah_to(&a, b.port.lid, NULL), b.qp->qp_num, QKEY,
			       len, 0 };
}

static void case_unicast(void)
{
	struct dgram d = to_b(100);
	struct ibv_wc wc;

	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
	need(!(wc.wc_flags & (IBV_WC_GRH | IBV_WC_WITH_IMM)));
	need(wc.slid == a.port.lid && wc.src_qp == a.qp->qp_num && wc.sl == 3);
	expect_none(&b);
}

static void case_immediate(void)
{
	struct dgram d = to_b(0);
	struct ibv_wc wc;

	d.imm = 0x1234567;
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
	need(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htonl(d.imm));
}

static void case_grh(void)
{
	struct dgram d = to_b(64);
	struct ibv_grh *grh;
	struct ibv_wc wc;

	d.ah = ah_to(&a, b.port.lid, &b.gid);
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
	need(wc.wc_flags & IBV_WC_GRH);
	grh = (struct ibv_grh *)(b.buf + wc.wr_id * BUF);
	need(ntohl(grh->version_tclass_flow) == 0x65512345);
	need(grh->hop_limit == 7 && grh->next_hdr == 0x1b);
	/* BTH, DETH, payload and ICRC */
	need(ntohs(grh->paylen) == 12 + 8 + 64 + 4);
	need(!memcmp(&grh->sgid, &a.gid, 16) && !memcmp(&grh->dgid, &b.gid, 16));
	/* GID of another port */
	d.ah = ah_to(&a, b.port.lid, &a.gid);
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect_none(&b);
}

static void case_qkey(void)
{
	struct dgram d = to_b(64);

	d.qkey = QKEY + 1;
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect_none(&b);
}

static void case_controlled_qkey(void)
{
	struct dgram d = to_b(64);
	struct ibv_wc wc;

	/* A Q_Key with the high bit stands for the Q_Key of the sending QP. */
	d.qkey = 0x80000000;
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
}

static void case_no_qp(void)
{
	struct dgram d = to_b(64);

	d.qpn = 0xabcde;
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect_none(&b);
}

static void case_no_route(void)
{
	struct dgram d = to_b(64);

	d.ah = ah_to(&a, 0x1234, NULL);
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect_none(&b);
}

static void case_mtu(void)
{
	unsigned int mtu = 128 << b.port.active_mtu;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE,
	};
	struct ibv_qp_init_attr init;
	struct dgram d = to_b(mtu);
	struct ibv_wc wc;

	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
	d.len = mtu + 1;
	need(send_one(&a, &d) == IBV_WC_LOC_LEN_ERR);
	need(!ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init));
	need(attr.qp_state == IBV_QPS_SQE);
	/* SQE: sends are flushed until the transition to RTS, receives continue. */
	d.len = 10;
	need(send_one(&a, &d) == IBV_WC_WR_FLUSH_ERR);
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE));
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
	expect_none(&b);
}

static void case_too_long(void)
{
	struct dgram d = to_b(1000);
	struct ibv_wc wc;

	/* The receives have 500 octets: the datagram is dropped, the next uses the receive. */
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect_none(&b);
	d.len = 500 - GRH;
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
	need(wc.wr_id == 0);
}

static void case_no_buffer(void)
{
	struct dgram d = to_b(8);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < BUFS + 3; i++)
		need(send_one(&a, &d) == IBV_WC_SUCCESS);
	for (i = 0; i < BUFS; i++)
		expect(&b, &d, &wc);
	expect_none(&b);
	post_recv(&b, 5);
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect(&b, &d, &wc);
	need(wc.wr_id == 5);
}

static void case_itself(void)
{
	struct dgram d = to_b(77);
	struct ibv_wc wc;
	int sent = 0, i;

	d.ah = ah_to(&a, a.port.lid, NULL);
	d.qpn = a.qp->qp_num;
	post(&a, &d);
	for (i = 0; i < 2; i++) {
		need(poll_wc(&a, &wc, LATE_MS));
		need(wc.status == IBV_WC_SUCCESS);
		sent += wc.wr_id == 1000;
	}
	need(sent == 1);
}

static void case_own_copy(void)
{
	union ibv_gid group = { .raw = { 0xff, 0x12, 0xa0, 0x1b, [15] = 1 } };
	struct dgram d = to_b(99);
	struct ibv_qp *other = make_qp(&a);
	int sent = 0, i;
	struct ibv_wc wc;

	/* b is attached, too, but no port has joined. */
	need(!ibv_attach_mcast(a.qp, &group, 0xc123));
	need(!ibv_attach_mcast(other, &group, 0xc123));
	need(!ibv_attach_mcast(b.qp, &group, 0xc123));
	d.ah = ah_to(&a, 0xc123, &group);
	d.qpn = 0xffffff;
	post(&a, &d);
	/* The other QP is not ready to receive: a send completion and a single copy */
	for (i = 0; i < 2; i++) {
		need(poll_wc(&a, &wc, LATE_MS));
		need(wc.status == IBV_WC_SUCCESS);
		sent += wc.wr_id == 1000;
		need(wc.wr_id == 1000 || wc.wc_flags & IBV_WC_GRH);
	}
	need(sent == 1);
	expect_none(&a);
	expect_none(&b);
	need(!ibv_detach_mcast(a.qp, &group, 0xc123));
	need(!ibv_detach_mcast(other, &group, 0xc123));
	need(!ibv_detach_mcast(b.qp, &group, 0xc123));
	need(send_one(&a, &d) == IBV_WC_SUCCESS);
	expect_none(&a);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "unicast", case_unicast },
	{ "immediate", case_immediate },
	{ "grh", case_grh },
	{ "qkey", case_qkey },
	{ "controlled_qkey", case_controlled_qkey },
	{ "no_qp", case_no_qp },
	{ "no_route", case_no_route },
	{ "mtu", case_mtu },
	{ "too_long", case_too_long },
	{ "no_buffer", case_no_buffer },
	{ "itself", case_itself },
	{ "own_copy", case_own_copy },
};

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc != 4)
		die("usage: %s DEVICE DEVICE CASE", argv[0]);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[3], cases[i].name))
			break;
	if (i == sizeof(cases) / sizeof(*cases))
		die("no case '%s'", argv[3]);
	if (!strcmp(argv[3], "too_long"))
		recv_size = 500;
	open_end(&a, argv[1]);
	open_end(&b, argv[2]);
	start(&a);
	start(&b);
	cases[i].run();
	return 0;
}
