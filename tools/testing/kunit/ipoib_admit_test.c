// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of which connections are admitted, and which make room.
 */
#include <linux/slab.h>

#include "ipoib_suites.h"
#include "cm/share.c"

#define ADMIT_CONNS	70

static unsigned int admit_limit;
static unsigned int admit_full;

/* The limits of an HCA. */
unsigned int ipoib_cm_limit(const struct ipoib_cm *cm)
{
	return admit_limit;
}

unsigned int ipoib_cm_rx_full(const struct ipoib_cm *cm)
{
	return admit_full;
}

/* It is freed at some other time. */
void ipoib_conn_close_for(struct ipoib_conn *conn, const char *why, enum ipoib_stat stat)
{
	struct ipoib_cm_share *share = ipoib_cm_share(conn->cm, conn->port);

	list_del_init(&conn->list);
	list_del_init(&conn->share_list);
	conn->state = IPOIB_CONN_CLOSING;
	share->nconns--;
	share->nclosing++;
}

/**
 * struct admit_fixture - what a case starts with
 * @cm: connected mode without connections
 * @conns: for admit_establish()
 * @n: how many of them are in use
 */
struct admit_fixture {
	struct ipoib_cm cm;
	struct ipoib_conn conns[ADMIT_CONNS];
	unsigned int n;
};

static struct admit_fixture *admit_begin(struct kunit *test)
{
	struct admit_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	KUNIT_EXPECT_TRUE(test, fix);
	if (!fix)
		return NULL;
	fix->cm.up = true;
	spin_lock_init(&fix->cm.lock);
	INIT_LIST_HEAD(&fix->cm.conns);
	for (i = 0; i < IPOIB_CM_SHARES; i++)
		INIT_LIST_HEAD(&fix->cm.shares[i].conns);
	ipoib_cm_max_port = 0;
	admit_limit = 12000;
	admit_full = 256;
	return fix;
}

static void admit_end(struct admit_fixture *fix)
{
	ipoib_cm_max_port = 0;
	kvfree(fix);
}

/* The first port that has this share. */
static u64 admit_port(struct ipoib_cm *cm, unsigned int share)
{
	u64 port = 1;

	while (ipoib_cm_share(cm, port) != &cm->shares[share])
		port++;
	return port;
}

static int admit(struct admit_fixture *fix, unsigned int share)
{
	u64 port = admit_port(&fix->cm, share);
	int err;

	spin_lock_bh(&fix->cm.lock);
	err = ipoib_cm_admit(&fix->cm, port);
	spin_unlock_bh(&fix->cm.lock);
	return err;
}

/* One more of a port that was last used so many seconds ago. */
static struct ipoib_conn *admit_establish(struct admit_fixture *fix,
					  unsigned int share,
					  unsigned int idle)
{
	struct ipoib_conn *conn = &fix->conns[fix->n++ % ADMIT_CONNS];

	conn->cm = &fix->cm;
	conn->port = admit_port(&fix->cm, share);
	conn->state = IPOIB_CONN_ESTABLISHED;
	conn->used = jiffies - idle * HZ;
	list_add_tail(&conn->list, &fix->cm.conns);
	list_add_tail(&conn->share_list, &fix->cm.shares[share].conns);
	fix->cm.shares[share].nconns++;
	fix->cm.nconns++;
	return conn;
}

static void admit_pending(struct kunit *test)
{
	struct admit_fixture *fix = admit_begin(test);
	unsigned int i;

	if (!fix)
		return;
	fix->cm.up = false;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	fix->cm.up = true;
	set_bit(IPOIB_CM_SRQ_FAILED, &fix->cm.flags);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	clear_bit(IPOIB_CM_SRQ_FAILED, &fix->cm.flags);
	fix->cm.shares[1].npending = 15;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), 0);
	fix->cm.shares[1].npending = 16;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, admit(fix, 2), 0);
	ipoib_cm_max_port = 17;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	ipoib_cm_max_port = 0;
	for (i = 0; i < 64; i++) {
		KUNIT_EXPECT_EQ(test, admit(fix, 100), 0);
		fix->cm.npending += 16;
	}
	KUNIT_EXPECT_EQ(test, admit(fix, 100), -EAGAIN);
	admit_end(fix);
}

/* How many a port gets, if all are in use. */
static unsigned int admit_count(struct admit_fixture *fix, unsigned int share)
{
	unsigned int n;

	for (n = 0; n <= 1000 && !admit(fix, share); n++) {
		fix->cm.shares[share].nconns++;
		fix->cm.nconns++;
	}
	return n;
}

static void admit_share(struct kunit *test)
{
	struct admit_fixture *fix = admit_begin(test);
	struct ipoib_conn *old;

	if (!fix)
		return;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 1), 64u);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EDQUOT);
	admit_full = 16;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 2), 4u);
	admit_full = 1;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 3), 1u);
	admit_full = 256;
	ipoib_cm_max_port = 7;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 4), 7u);
	ipoib_cm_max_port = 1000;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 9), 64u);
	ipoib_cm_max_port = 0;
	fix->cm.nconns = 0;
	admit_limit = 100;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 5), 50u);
	/* as many again may be closing, but no more than one in addition */
	fix->cm.shares[6].nclosing = 50;
	KUNIT_EXPECT_EQ(test, admit(fix, 6), 0);
	fix->cm.shares[6].nclosing = 51;
	KUNIT_EXPECT_EQ(test, admit(fix, 6), -EAGAIN);
	/* the one that has not been used for longest makes room, if that is 5 s */
	ipoib_cm_max_port = 3;
	admit_establish(fix, 7, 6);
	old = admit_establish(fix, 7, 8);
	admit_establish(fix, 7, 7);
	KUNIT_EXPECT_EQ(test, admit(fix, 7), 0);
	KUNIT_EXPECT_EQ(test, old->state, IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, fix->cm.shares[7].nconns, 2u);
	ipoib_cm_max_port = 1;
	admit_establish(fix, 8, 4);
	KUNIT_EXPECT_EQ(test, admit(fix, 8), -EDQUOT);
	KUNIT_EXPECT_EQ(test, fix->cm.shares[8].nconns, 1u);
	admit_end(fix);
}

static void admit_all(struct kunit *test)
{
	struct admit_fixture *fix = admit_begin(test);
	struct ipoib_conn *first, *second;
	unsigned int i;

	if (!fix)
		return;
	admit_limit = 32;
	/* one of its own, before those of others that were used less recently */
	first = admit_establish(fix, 1, 6);
	for (i = 1; i < 32; i++)
		admit_establish(fix, 2, 9);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), 0);
	KUNIT_EXPECT_EQ(test, first->state, IPOIB_CONN_CLOSING);
	/* then of the port that has most */
	first = list_first_entry(&fix->cm.shares[2].conns, struct ipoib_conn,
				 share_list);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), 0);
	KUNIT_EXPECT_EQ(test, first->state, IPOIB_CONN_CLOSING);
	/* in all 1/16 and one more than the limit while others close */
	fix->cm.nconns = 34;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), 0);
	fix->cm.nconns = 35;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	admit_end(fix);

	/* in use: only of a port with twice as many */
	fix = admit_begin(test);
	if (!fix)
		return;
	admit_limit = 4;
	ipoib_cm_max_port = 4;
	admit_establish(fix, 1, 0);
	admit_establish(fix, 3, 0);
	second = admit_establish(fix, 2, 1);
	first = admit_establish(fix, 2, 2);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, admit(fix, 4), 0);
	KUNIT_EXPECT_EQ(test, first->state, IPOIB_CONN_CLOSING);
	KUNIT_EXPECT_EQ(test, second->state, IPOIB_CONN_ESTABLISHED);
	admit_end(fix);
}

static void admit_moved(struct kunit *test)
{
	struct admit_fixture *fix = admit_begin(test);
	struct ipoib_cm_share *shares;
	struct ipoib_conn *conn;

	if (!fix)
		return;
	shares = fix->cm.shares;
	conn = admit_establish(fix, 1, 0);
	conn->state = IPOIB_CONN_PENDING;
	shares[1].npending = 16;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	spin_lock_bh(&fix->cm.lock);
	ipoib_cm_share_move(conn, admit_port(&fix->cm, 2));
	spin_unlock_bh(&fix->cm.lock);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), 0);
	KUNIT_EXPECT_EQ(test, shares[1].nconns, 0u);
	KUNIT_EXPECT_EQ(test, shares[2].nconns, 1u);
	KUNIT_EXPECT_EQ(test, shares[2].npending, 1u);
	KUNIT_EXPECT_PTR_EQ(test, ipoib_cm_share(&fix->cm, conn->port), &shares[2]);
	admit_end(fix);
}

static struct kunit_case ipoib_admit_cases[] = {
	KUNIT_CASE(admit_pending),
	KUNIT_CASE(admit_share),
	KUNIT_CASE(admit_all),
	KUNIT_CASE(admit_moved),
	{}
};

struct kunit_suite ipoib_admit_suite = {
	.name = "ipoib_admit",
	.test_cases = ipoib_admit_cases,
};
