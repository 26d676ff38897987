/* SPDX-License-Identifier: GPL-2.0 */
/* Test suites of this module; KUnit, or the shim for kernels without it */
#ifndef IPOIB_SUITES_H
#define IPOIB_SUITES_H

#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/test.h>
#else
#include "kunit_shim.h"
#endif
#include <linux/string.h>

extern struct kunit_suite ipoib_wire_suite;
extern struct kunit_suite ipoib_ring_suite;
extern struct kunit_suite ipoib_record_suite;
extern struct kunit_suite ipoib_wc_suite;
extern struct kunit_suite ipoib_group_suite;
extern struct kunit_suite ipoib_share_suite;
extern struct kunit_suite ipoib_police_suite;
extern struct kunit_suite ipoib_admit_suite;
extern struct kunit_suite ipoib_tso_suite;
extern struct kunit_suite ipoib_header_suite;
extern struct kunit_suite ipoib_queue_suite;
extern struct kunit_suite ipoib_queue_rx_suite;
extern struct kunit_suite ipoib_queue_tx_suite;
extern struct kunit_suite ipoib_rx_suite;
extern struct kunit_suite ipoib_conn_suite;
extern struct kunit_suite ipoib_rn_suite;
extern struct kunit_suite ipoib_neigh_suite;
extern struct kunit_suite ipoib_mcast_suite;
extern struct kunit_suite ipoib_qp_suite;
extern struct kunit_suite ipoib_send_suite;
extern struct kunit_suite ipoib_roce_suite;
extern struct kunit_suite ipoib_agent_suite;
extern struct kunit_suite ipoib_sa_suite;
extern struct kunit_suite ipoib_xmit_suite;
extern struct kunit_suite ipoib_ctl_suite;
extern struct kunit_suite ipoib_arp_suite;
extern struct kunit_suite ipoib_stats_suite;
extern struct kunit_suite ipoib_main_suite;
extern struct kunit_suite ipoib_dev_suite;
extern struct kunit_suite ipoib_client_suite;
extern struct kunit_suite ipoib_ah_suite;
extern struct kunit_suite ipoib_link_suite;
extern struct kunit_suite ipoib_ethtool_suite;

/* Compare noted calls, a letter each, with @want, and clear them. */
static inline void ipoib_expect_calls(struct kunit *test, char *calls, const char *want)
{
	bool good = !strcmp(calls, want);

	if (!good)
		pr_info("calls are %s, not %s\n", calls, want);
	KUNIT_EXPECT_TRUE(test, good);
	memset(calls, 0, strlen(calls));
}

#endif /* IPOIB_SUITES_H */
