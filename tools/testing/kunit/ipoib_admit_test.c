// SPDX-License-Identifier: GPL-2.0
/* Tests of the admission of connections */
#include <linux/slab.h>

#include "ipoib_suites.h"
#include "cm/share.c"

static unsigned int admit_limit;
static unsigned int admit_full;

/* Limits of the HCA */
unsigned int ipoib_cm_limit(const struct ipoib_cm *cm)
{
	return admit_limit;
}

unsigned int ipoib_cm_rx_full(const struct ipoib_cm *cm)
{
	return admit_full;
}

/**
 * struct admit_fixture - fixture of a case
 * @cm: connected mode without connections
 * @conn: a connection for the list of closing connections
 */
struct admit_fixture {
	struct ipoib_cm cm;
	struct ipoib_conn conn;
};

static struct admit_fixture *admit_begin(struct kunit *test)
{
	struct admit_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	KUNIT_EXPECT_TRUE(test, fix);
	if (!fix)
		return NULL;
	fix->cm.up = true;
	spin_lock_init(&fix->cm.lock);
	INIT_LIST_HEAD(&fix->cm.closing);
	admit_limit = 12000;
	admit_full = 256;
	return fix;
}

static void admit_end(struct admit_fixture *fix)
{
	kvfree(fix);
}

/* Lowest port that maps to a share */
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

static void admit_pending(struct kunit *test)
{
	struct admit_fixture *fix = admit_begin(test);
	unsigned int i;

	if (!fix)
		return;
	fix->cm.up = false;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	fix->cm.up = true;
	fix->cm.srq_failed = true;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	fix->cm.srq_failed = false;
	fix->cm.shares[1].npending = 15;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), 0);
	fix->cm.shares[1].npending = 16;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, admit(fix, 2), 0);
	for (i = 0; i < 64; i++) {
		KUNIT_EXPECT_EQ(test, admit(fix, 100), 0);
		fix->cm.npending += 16;
	}
	KUNIT_EXPECT_EQ(test, admit(fix, 100), -EAGAIN);
	admit_end(fix);
}

/* Number of connections admitted on a port until the first refusal */
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

	if (!fix)
		return;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 1), 64u);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EDQUOT);
	admit_full = 16;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 2), 4u);
	admit_full = 1;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 3), 1u);
	admit_full = 256;
	fix->cm.nconns = 0;
	admit_limit = 100;
	KUNIT_EXPECT_EQ(test, admit_count(fix, 6), 50u);
	/* -EAGAIN: room is expected once closing connections are freed */
	list_add(&fix->conn.list, &fix->cm.closing);
	KUNIT_EXPECT_EQ(test, admit(fix, 6), -EAGAIN);
	KUNIT_EXPECT_EQ(test, admit(fix, 7), 0);
	admit_end(fix);
}

static void admit_all(struct kunit *test)
{
	struct admit_fixture *fix = admit_begin(test);

	if (!fix)
		return;
	admit_limit = 32;
	fix->cm.nconns = 31;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), 0);
	fix->cm.nconns = 32;
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -ENOSPC);
	list_add(&fix->conn.list, &fix->cm.closing);
	KUNIT_EXPECT_EQ(test, admit(fix, 1), -EAGAIN);
	admit_end(fix);
}

static struct kunit_case ipoib_admit_cases[] = {
	KUNIT_CASE(admit_pending),
	KUNIT_CASE(admit_share),
	KUNIT_CASE(admit_all),
	{}
};

struct kunit_suite ipoib_admit_suite = {
	.name = "ipoib_admit",
	.test_cases = ipoib_admit_cases,
};
