#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Models of HCAs are what their table says (softib_model.c), and mistakes with device
# addresses are found.
#
#	softib0 softib1 softib2		each of a model of its own
#	OpenSM     |     |
#	   |       |     |
#	   +----switch---+

TESTS_DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../selftests/ipoib/lib.sh
. "$TESTS_DIR/../../selftests/ipoib/lib.sh"

# shellcheck disable=SC2034 # for ktap_main
CASES=(
	"table:generic:32:32:2 V limits of generic"
	"table:mlx4:32:31:2 V limits of mlx4"
	"table:mlx5:30:31:2 V limits of mlx5"
	"table:mlx5-enh:30:31:2 V limits of mlx5 without its basic offloads"
	"table:hfi1:32:32:2 V limits of hfi1"
	"table:qib:32:32:1 V limits of qib"
	"table:mthca:29:27:1 V limits of mthca"
	"by_node V each node has its model, and further nodes have the last model"
	"unknown V an unknown model is refused, and the message has its name"
	"interrupts:generic:no V completion handlers of generic run in a work, as in rdmavt"
	"interrupts:hfi1:no V completion handlers of hfi1, whose driver uses rdmavt, run in a work"
	"interrupts:mlx4:yes V completion handlers of mlx4 run in hard interrupt context"
	"interrupts:mlx5:yes V completion handlers of mlx5 run in hard interrupt context"
	"hold V completions are held back, and reported on release"
	"latency V sends take latency_us"
	"mistake:good:0:0 DMA correct accesses are no fault, and the HCA sees synchronised data"
	"mistake:after_unmap:1:1 DMA an access after unmapping is found"
	"mistake:read:2:1 DMA a read of memory mapped for writing is found"
	"mistake:write:3:1 DMA a write to memory mapped for reading is found"
	"mistake:length:4:1 DMA an access beyond the end is found"
	"mistake:unmap_size:5:1 DMA unmapping with another size is found"
	"mistake:unmap_twice:6:1 DMA unmapping twice is found"
	"mistake:not_mapped:7:1 DMA posting an unmapped address is found"
	"mistake:no_sync:8:0 DMA data without synchronisation does not arrive"
	"leak DMA a mapping left at the removal of the HCA is found"
	"none DMA a model without device addresses reports none of these faults"
	"clean DMA traffic of the driver, removal of an HCA and unloading are no fault"
)

# The fabric of a case, with models
models()
{
	fabric_down
	HCA=$2 fabric_load "$1"
}

setup()
{
	trap fabric_down EXIT
}

table()
{
	local model=$1 attr

	models 1 "$model"
	check_eq "model" "$(knob_get 1 model)" "$model"
	attr=$(ibv_devinfo -v -d "$(ibdev 1)")
	check_eq "SGEs" "$(sed -n 's/.*max_sge:[ \t]*//p' <<< "$attr" | head -n 1)" "$2"
	check_eq "SGEs of an SRQ" "$(sed -n 's/.*max_srq_sge:[ \t]*//p' <<< "$attr")" "$3"
	check_num "vectors" "$(sed -n 's/.*num_comp_vectors:[ \t]*//p' <<< "$attr")" \
		"$([ "$4" = 1 ] && echo -eq || echo -ge)" "$4"
}

by_node()
{
	models 4 mlx5,mlx4,hfi1
	check_eq "models" "$(cat "$DEBUGFS"/softib?/model | tr '\n' ' ')" "mlx5 mlx4 hfi1 hfi1 "
}

unknown()
{
	fabric_down
	klog_mark unknown
	modprobe softib nodes=2 hca=generic,mlx9 2> /dev/null && fail "it was loaded"
	check "message" grep -q "hca=generic,mlx9: no such model" <<< "$(klog)"
}

# up MODELS: two nodes with interfaces
up()
{
	models 2 "$1"
	subnet_start
	driver_load
	nodes_up
	check "carrier" wait_carrier
	check "ping" wait_ping 1 2
}

hca_count()
{
	knob_get "$1" counters | sed -n "s/^hca\.$2 //p"
}

interrupts()
{
	up "$1"
	if [ "$2" = yes ]; then
		check_num "interrupts" "$(hca_count 1 interrupts)" -gt 0
	else
		check_eq "interrupts" "$(hca_count 1 interrupts)" 0
	fi
	check_num "doorbells" "$(hca_count 1 doorbells)" -gt 0
	check_eq "faults" "$(hca_count 1 dma_faults)" 0
}

hold()
{
	local before

	up mlx5
	knob_set 2 hold_cq 1
	before=$(hca_count 2 interrupts)
	in_node 1 ping -c 2 -i 0.2 -W 1 "$(ip4 2)" > /dev/null && fail "ping got through"
	check_eq "interrupts" "$(hca_count 2 interrupts)" "$before"
	knob_set 2 hold_cq 0
	check "ping" wait_ping 1 2
}

# Requests and answers are closer together than the latency: one that is posted
# while another waits waits as long as that one.
latency()
{
	local rtt

	up mlx5
	knob_set 1 latency_us 50000
	rtt=$(in_node 1 ping -c 20 -i 0.02 "$(ip4 2)" | sed -n 's/^rtt min[^=]*= \([0-9]*\).*/\1/p')
	knob_set 1 latency_us 0
	check_num "least round trip in ms" "$rtt" -ge 50
}

probe()
{
	echo "$2" > "$DEBUGFS/$(ibdev "$1")/dma_probe"
}

mistake()
{
	local before

	if module_gone softib || [ "$(knob_get 1 model)" != mlx5 ]; then
		up mlx5
	fi
	knob_set 1 dma_quiet 1
	before=$(hca_count 1 dma_faults)
	check "probe" probe 1 "$2"
	check_eq "faults" $(($(hca_count 1 dma_faults) - before)) "$3"
}

leak()
{
	up mlx5
	knob_set 1 dma_quiet 1
	check "probe" probe 1 9
	check_eq "faults" "$(hca_count 1 dma_faults)" 0
	hca_remove 1
	hca_add 1
	check_eq "faults" "$(hca_count 1 dma_faults)" 1
}

none()
{
	models 2 generic
	probe 1 0 2> /dev/null && fail "it was probed"
}

clean()
{
	local node

	up mlx5
	check "connected" in_node 1 sh -c 'echo connected > /sys/class/net/ib0/mode'
	check "connected" in_node 2 sh -c 'echo connected > /sys/class/net/ib0/mode'
	check "large pings" slowwait 20 ping_ok 1 "$(ip4 2)" -s 30000
	hca_remove 2
	hca_add 2
	driver_unload
	for node in 1 2; do
		hca_remove "$node"
		hca_add "$node"
		check_eq "faults of node $node" "$(hca_count "$node" dma_faults)" 0
	done
}

ktap_main "$@"
