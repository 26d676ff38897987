#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# HCAs that refuse, lose or claim what others do not, as the knobs of a node say, do
# exactly that and no more. Asked by verbs of user space, in limits.c; what only the
# kernel's users can ask for is selftests/ipoib/hca_limits.sh's matter: flags of a QP, and a
# detach that fails, of which user space's verbs leak the QP.
#
#	          limits.c
#	           |     |
#	softib0 softib1 softib2		node 2 has the knobs
#	OpenSM     |     |
#	   |       |     |
#	   +----switch---+

TESTS_DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
# shellcheck source=../../selftests/ipoib/lib.sh
. "$TESTS_DIR/../../selftests/ipoib/lib.sh"

# shellcheck disable=SC2034 # for ktap_main
CASES=(
	"as_usual V no object is refused without knobs"
	"no_uc V no_uc refuses UC QPs"
	"sq_bytes V sq_bytes limits a send queue, refuse_error names the error"
	"mcast V fail_attach refuses the next N attachments, no_mcast all"
	"fail_srq V fail_srq refuses the next N shared receive queues"
	"make_qp V make_qp_ms is the duration of the creation of a QP"
	"last_wqe V last_wqe_ms delays LAST_WQE_REACHED, lose_last_wqe suppresses it"
	"csum V csum 2 computes and verifies checksums of any QP; 1 of QPs with the flag only; 3 of no QP"
	"grh V grh_required drops unicast without a GRH, and counts it"
	"fatal V fatal: the event, flushes, errors, and removal of the HCA"
)

setup()
{
	trap fabric_down EXIT
	fabric_load 3
	opensm_start
	cc -O1 -Wall -D_GNU_SOURCE -o "$TESTDIR/limits" "$TESTS_DIR/limits.c" \
		-libverbs || ktap_bail "cannot compile limits.c"
}

# ask CASE [ARG]: of node 2
ask()
{
	timeout 60 "$TESTDIR/limits" "$(ibdev 2)" "$@" 2>&1
}

# limits WHAT WANT CASE [ARG]
limits()
{
	check_eq "$1" "$(ask "${@:3}")" "$2"
}

# replug NODE KNOB=VALUE...: a new HCA that is so
replug()
{
	local node=$1 word

	hca_remove "$node"
	for word in "${@:2}"; do
		knob_set "$node" "${word%=*}" "${word#*=}"
	done
	hca_add "$node"
	slowwait 30 port_is_active "$node" || fail "node $node is not active"
}

as_usual()
{
	limits "types" "UC made, RC made, UD made" types
	limits "sizes" "64 made, 65 made" sizes
	limits "groups" "attach 0, attach 0, detach 0, detach 22" mcast
	limits "SRQs" "first made, second made" srq
	limits "events" "first soon" last_wqe
}

no_uc()
{
	knob_set 2 no_uc 1
	limits "types" "UC EOPNOTSUPP, RC made, UD made" types
	knob_set 2 no_uc 0
}

sq_bytes()
{
	knob_set 2 sq_bytes $((64 * 128))
	limits "sizes" "64 made, 65 ENOMEM" sizes
	knob_set 2 refuse_error 22
	limits "sizes" "64 made, 65 EINVAL" sizes
	knob_set 2 refuse_error 0
	knob_set 2 sq_bytes 0
}

mcast()
{
	knob_set 2 fail_attach 1
	limits "one" "attach 12, attach 0, detach 0, detach 22" mcast
	replug 2 no_mcast=1
	limits "no groups" "attach 95, attach 95, detach 95, detach 95" mcast
	replug 2 no_mcast=0
	limits "groups" "attach 0, attach 0, detach 0, detach 22" mcast
}

fail_srq()
{
	knob_set 2 fail_srq 1
	limits "SRQs" "first ENOMEM, second made" srq
}

make_qp()
{
	local start

	knob_set 2 make_qp_ms 300
	start=$(now_ms)
	limits "types" "UC made, RC made, UD made" types
	check_num "milliseconds" $(($(now_ms) - start)) -ge 900
	knob_set 2 make_qp_ms 0
}

last_wqe()
{
	knob_set 2 lose_last_wqe 1
	limits "lost" "second soon" last_wqe
	knob_set 2 last_wqe_ms 1000
	# Both QPs at the same time, in any order
	check "held back" grep -q ' late$' <<< "$(ask last_wqe)"
	knob_set 2 last_wqe_ms 0
}

csum()
{
	local mode want=(
		"wrong, not checked; wrong, not checked"
		"wrong, not checked; wrong, not checked"
		"right, checked; wrong, not checked"
		"wrong, not checked; wrong, not checked"
	)

	replug 3 csum=2
	for mode in 1 2 3 0; do
		replug 2 csum=$mode
		limits "from mode $mode" "${want[mode]}" csum "$(ibdev 3)"
	done
	replug 3 csum=0
}

grh()
{
	local before

	limits "as usual" "without" grh "$(ibdev 3)"
	replug 3 grh_required=1
	before=$(drops 3 no_grh)
	limits "required" "with" grh "$(ibdev 3)"
	check_eq "counted" $(($(drops 3 no_grh) - before)) 1
	replug 3 grh_required=0
}

fatal()
{
	local begin

	# IBV_EVENT_DEVICE_FATAL
	limits "it dies" \
		"event 8, receive Work Request Flushed Error, post EIO, QP EIO, to error 0, destroy 0" \
		fatal "$DEBUGFS/$(ibdev 2)/fatal"
	begin=$(now_ms)
	hca_remove 2
	check_num "time to pull it out" $(($(now_ms) - begin)) -lt 20000
	hca_add 2
	slowwait 30 port_is_active 2 || fail "the next one is not active"
	limits "the next one" "UC made, RC made, UD made" types
}

ktap_main "$@"
