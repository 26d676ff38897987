/* SPDX-License-Identifier: GPL-2.0 */
/* An end of a connection, and operations on both ends: see verbs_end.c. */
#ifndef VERBS_END_H
#define VERBS_END_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define BUF_LEN		1048576
#define DEPTH		256
#define ACCESS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ)

/* An end of a connection */
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

/* Properties of a connection */
struct want {
	enum ibv_qp_type type;
	uint32_t psn;
	int timeout;		/* 4.096 us * 2^timeout */
	int retry_cnt;
	int rnr_retry;
	int access;		/* of b */
	bool srq;		/* at b */
};

extern struct end a, b;
extern char why[256];

bool fail(const char *fmt, ...);
void knob(const struct end *end, const char *name, unsigned int val);
void knobs_off(void);
double now(void);
void end_open(struct end *end, const char *name, const char *knobs);
void link_up(const struct want *want);
void link_down(void);
int post_recv(struct end *end, uint64_t id, uint32_t offset, uint32_t len);
struct ibv_send_wr *request(enum ibv_wr_opcode opcode, uint64_t id,
			    uint32_t offset, uint32_t len);
int post(struct ibv_send_wr *wr);
int post_send(uint64_t id, uint32_t offset, uint32_t len);
bool expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status);
bool expect_recv(uint64_t id, uint32_t len, uint32_t imm);
bool expect_nothing(struct ibv_cq *cq);
void fill(uint8_t *buf, uint32_t len, uint32_t seed);
bool same(uint32_t offset, uint32_t len);

#endif /* VERBS_END_H */
