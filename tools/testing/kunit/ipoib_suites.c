// SPDX-License-Identifier: GPL-2.0
/* Module init: runs the suites. */
#include <linux/module.h>

#include "ipoib_suites.h"

MODULE_DESCRIPTION("Unit tests of ib_ipoib");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");

kunit_test_suites(&ipoib_wire_suite, &ipoib_ring_suite, &ipoib_record_suite, &ipoib_wc_suite,
		  &ipoib_group_suite, &ipoib_share_suite, &ipoib_police_suite, &ipoib_admit_suite,
		  &ipoib_tso_suite, &ipoib_header_suite, &ipoib_queue_suite,
		  &ipoib_queue_rx_suite, &ipoib_queue_tx_suite, &ipoib_rx_suite,
		  &ipoib_conn_suite, &ipoib_rn_suite, &ipoib_neigh_suite, &ipoib_mcast_suite,
		  &ipoib_qp_suite, &ipoib_send_suite, &ipoib_roce_suite, &ipoib_agent_suite,
		  &ipoib_sa_suite, &ipoib_xmit_suite, &ipoib_ctl_suite, &ipoib_arp_suite,
		  &ipoib_stats_suite, &ipoib_main_suite, &ipoib_dev_suite, &ipoib_client_suite,
		  &ipoib_ah_suite, &ipoib_link_suite, &ipoib_ethtool_suite);
