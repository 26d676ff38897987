# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What a test cannot do without. Where something of it is missing the whole file is
# skipped, as kselftest has it: "1..0 # SKIP reason", exit status 4, and nothing was done.
#
# The tests unload ib_ipoib, change sysctls of the initial network namespace and load
# modules that are made for tests. They do so in a guest of tools/testing/vm, elsewhere
# only where IPOIB_TEST_HOST=yes says that this machine is there to be tested.

# programs_of FILE: what it starts, beside what all do
programs_of()
{
	echo dmesg ip modprobe ping setsid sysctl timeout
	case $FABRIC in
	softib) [ "$1" = unit ] || echo opensm saquery ;;
	rxe | pair) echo bridge rdma tc tcpdump ;;
	esac
	[ "$1" = unit ] || [ -x "$LIB_DIR/ibdump" ] || echo cc
	case $1 in capture | frame_headers | hca_limits | multicast_send | offloads | roce | segments) echo tshark ;; esac
	case $1 in
	bench-guest | connected_faults | connected_life | connected_mtu | \
		connected_rc | connected_stock | connected_uc | hca_limits | iperf | napi | partitions | races | rdma_cm | \
		ref_connected | roce_two_hosts | unload) echo iperf3 ;;
	esac
	case $1 in
	bench-guest | capture | connected_faults | connected_hostile | connected_many | connected_rc | connected_stock | \
		frame_headers | hca_errors | ipoib_top | multicast_ip | napi | offloads | partitions | rdma_cm | roce | segments | send_queue | roce_connected | roce_limits | vf) echo python3 ;;
	esac
	case $1 in connected_many | connected_stock | lladdr | rdma_netns | roce_link) echo rdma ;; esac
	case $1 in
	connected_* | hca_errors | hca_limits | lladdr | multicast_* | napi | offloads | partitions | ports | races | segments | send_queue | \
		set_address | statistics) echo ethtool ;;
	esac
	case $1 in ref_connected | connected_rc | connected_uc) echo arping ;; esac
	case $1 in
	capture) echo cc ibv_rc_pingpong perfquery smpquery ;;
	daemons) echo chronyd dbus-daemon dnsmasq ib_acme ifup netplan nmcli nsenter radvd udevadm ;;
	multicast_ip) echo avahi-daemon dnsmasq socat ;;
	partitions) echo rping setpriv ;;
	rdma_netns) echo rping ;;
	rdma_cm) echo rping ucmatose udaddy ;;
	bonding | datagram_faults) echo nsenter ;;
	security) echo nsenter setpriv unshare ;;
	vf) echo nsenter unshare ;;
	hca) echo ibv_devinfo ;;
	napi) echo ps ;;
	trace) echo perf ;;
	ipoib_top) echo script setpriv ;;
	subnet) echo ibnetdiscover ibstat ibv_devinfo perfquery smpquery ;;
	switch) echo cc ;;
	verbs) echo cc ib_send_bw ibv_rc_pingpong ;;
	esac
}

# modules_of FILE: which modprobe has to find
modules_of()
{
	if [ "$1" = unit ]; then
		echo ipoib_kunit
		return
	fi
	echo ib_ipoib ib_uverbs
	case $FABRIC in
	softib) echo softib ib_umad ;;
	rxe | pair) echo rdma_rxe ;;
	esac
	case $1 in
	bonding) echo bonding ;;
	rdma_netns) echo rdma_rxe rdma_ucm ;;
	esac
}

is_guest()
{
	[ -x /vm/guest ]
}

# missing_need FILE: prints what it is, and fails if there is none
missing_need()
{
	local word

	if [ "$(id -u)" -ne 0 ]; then
		echo "not root"
	elif ! is_guest && [ "${IPOIB_TEST_HOST:-}" != yes ]; then
		echo "not in a guest of tools/testing/vm; IPOIB_TEST_HOST=yes tests this machine itself"
	elif [ "$FABRIC" = pair ] && [ -z "${IPOIB_NODE:-}" ]; then
		echo "two guests are needed: tools/testing/vm/pair"
	else
		for word in $(programs_of "$1"); do
			command -v "$word" > /dev/null || { echo "no $word"; return; }
		done
		for word in $(modules_of "$1"); do
			[ -d "/sys/module/$word" ] || modprobe -qn "$word" ||
				{ echo "no module $word"; return; }
		done
		return 1
	fi
}
