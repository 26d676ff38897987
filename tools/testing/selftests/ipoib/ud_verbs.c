// SPDX-License-Identifier: GPL-2.0
/*
 * ud_verbs - send a message of any content from a QP of its own, by UD or UC
 *
 * The frames no IPoIB driver would send: with a reserved field that is not
 * zero, of a foreign Q_Key, too short, with and without a GRH.
 *
 * usage: ud_verbs DEVICE [option]...
 *	-l DLID		destination LID; for a group its MLID
 *	-q QPN		destination QP (0xffffff for a group)
 *	-Q QKEY		Q_Key to send with
 *	-P INDEX	P_Key table index (0)
 *	-s SL		service level (0)
 *	-g DGID		send a GRH with this DGID
 *	-x INDEX	GID table index to send from (0)
 *	-H HOPLIMIT	hop limit of the GRH (1)
 *	-T TCLASS	traffic class of the GRH (0)
 *	-U		to a QP of UC, which has a connection with this HCA; QPN is its own
 *	-d HEX		the message, IPoIB header included; "-": those of standard
 *			input, one a line
 *	-n COUNT	how often (1)
 * With the signalled completions all got, the status of the worst is the exit
 * status: 0 sent, 1 a send failed, 2 no way to send.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define BUF_LEN 8192

struct args {
	struct ibv_ah_attr ah;
	uint32_t qpn, qkey;
	int pkey_index, len, count;
	int listed, uc;
	uint8_t *data;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "ud_verbs: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int unhex(const char *s, uint8_t *buf)
{
	int n = 0;

	for (; s[0] && n < BUF_LEN; s += 2) {
		unsigned int v;

		if (!isxdigit(s[0]) || !isxdigit(s[1]) || sscanf(s, "%2x", &v) != 1) {
			errno = EINVAL;
			die("-d");
		}
		buf[n++] = v;
	}
	return n;
}

static void parse(int argc, char **argv, struct args *a)
{
	int opt;

	while ((opt = getopt(argc, argv, "l:q:Q:P:s:g:x:H:T:Ud:n:")) != -1) {
		unsigned long v = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (opt) {
		case 'l':
			a->ah.dlid = v;
			break;
		case 'q':
			a->qpn = v;
			break;
		case 'Q':
			a->qkey = v;
			break;
		case 'P':
			a->pkey_index = v;
			break;
		case 's':
			a->ah.sl = v;
			break;
		case 'x':
			a->ah.grh.sgid_index = v;
			break;
		case 'H':
			a->ah.grh.hop_limit = v;
			break;
		case 'T':
			a->ah.grh.traffic_class = v;
			break;
		case 'U':
			a->uc = 1;
			break;
		case 'n':
			a->count = v;
			break;
		case 'd':
			a->listed = !strcmp(optarg, "-");
			if (!a->listed)
				a->len = unhex(optarg, a->data);
			break;
		case 'g':
			a->ah.is_global = 1;
			if (inet_pton(AF_INET6, optarg, &a->ah.grh.dgid) != 1)
				die("-g");
			break;
		default:
			exit(2);
		}
	}
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (!strcmp(ibv_get_device_name(*list), name))
			return ibv_open_device(*list);
	errno = ENODEV;
	die(name);
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq, const struct args *a)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .sq_sig_all = 1,
		.qp_type = a->uc ? IBV_QPT_UC : IBV_QPT_UD,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = a->qkey,
		.pkey_index = a->pkey_index,
		.ah_attr = a->ah, .dest_qp_num = a->qpn, .path_mtu = IBV_MTU_2048,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		die("ibv_create_qp");
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				     (a->uc ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY)))
		die("INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | (a->uc ? IBV_QP_AV | IBV_QP_PATH_MTU |
						     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN : 0)))
		die("RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS");
	return qp;
}

static int send_one(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_sge *sge,
		    struct ibv_ah *ah, const struct args *a)
{
	struct ibv_send_wr wr = {
		.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah, .remote_qpn = a->qpn, .remote_qkey = a->qkey },
	}, *bad;
	struct ibv_wc wc;
	int n;

	if (ibv_post_send(qp, &wr, &bad))
		die("ibv_post_send");
	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	if (n < 0)
		die("ibv_poll_cq");
	return wc.status != IBV_WC_SUCCESS;
}

/* The messages of standard input, as fast as they go. */
static int send_listed(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_sge *sge,
		       struct ibv_ah *ah, struct args *a)
{
	static char line[2 * BUF_LEN + 2];
	int ret = 0;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		sge->length = unhex(line, a->data);
		ret |= send_one(qp, cq, sge, ah, a);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct args a = { .count = 1, .ah = { .port_num = 1, .grh.hop_limit = 1 } };
	struct ibv_context *ctx;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	int ret = 0;

	if (argc < 2)
		return 2;
	if (posix_memalign((void **)&a.data, 4096, BUF_LEN))
		die("memory");
	parse(argc - 1, argv + 1, &a);
	ctx = open_device(argv[1]);
	if (!ctx)
		die("ibv_open_device");
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 32, NULL, NULL, 0);
	if (!pd || !cq)
		die("ibv_create_cq");
	mr = ibv_reg_mr(pd, a.data, BUF_LEN, 0);
	if (!mr)
		die("ibv_reg_mr");
	qp = make_qp(pd, cq, &a);
	ah = ibv_create_ah(pd, &a.ah);
	if (!ah)
		die("ibv_create_ah");
	sge = (struct ibv_sge){ .addr = (uintptr_t)a.data, .length = a.len, .lkey = mr->lkey };
	if (a.listed)
		return send_listed(qp, cq, &sge, ah, &a);
	while (a.count--)
		ret |= send_one(qp, cq, &sge, ah, &a);
	return ret;
}
