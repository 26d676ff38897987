// SPDX-License-Identifier: GPL-2.0
/*
 * softib: a software InfiniBand fabric for tests. Module parameters, init and
 * exit. For the design see softib.h.
 */
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "softib.h"

static int nodes = 2;
module_param(nodes, int, 0444);
MODULE_PARM_DESC(nodes, "number of HCAs, 1 to 64 (2)");

static int ports = 1;
module_param(ports, int, 0444);
MODULE_PARM_DESC(ports, "ports of each HCA, 1 or 2 (1)");

static int mtu = 4096;
module_param(mtu, int, 0444);
MODULE_PARM_DESC(mtu, "MTU of all links, 256 to 4096 (4096)");

static ulong guid_base = 0x0250530000000000UL;
module_param(guid_base, ulong, 0444);
MODULE_PARM_DESC(guid_base, "upper 40 bits of all GUIDs");

static char *hca = "generic";
module_param(hca, charp, 0444);
MODULE_PARM_DESC(hca, "models of the HCAs, by node; the last for all others (generic)");

static int vfs;
module_param(vfs, int, 0444);
MODULE_PARM_DESC(vfs, "virtual functions of each HCA, 0 to 8 (0)");

static char *rdma_netdev = "none";
module_param(rdma_netdev, charp, 0444);
MODULE_PARM_DESC(rdma_netdev, "net devices of the HCAs' own: none, hfi1 or mlx5, by node; the last for all others (none)");

struct softib_fabric *softib_fabric;

static int __init softib_check_params(void)
{
	int i;

	if (nodes < 1 || nodes > SOFTIB_MAX_NODES) {
		pr_err("softib: nodes is 1 to %d\n", SOFTIB_MAX_NODES);
		return -EINVAL;
	}
	if (ports < 1 || ports > SOFTIB_MAX_PORTS) {
		pr_err("softib: ports is 1 or 2\n");
		return -EINVAL;
	}
	if (vfs < 0 || vfs > SOFTIB_MAX_VFS) {
		pr_err("softib: vfs is 0 to %d\n", SOFTIB_MAX_VFS);
		return -EINVAL;
	}
	if (mtu != ib_mtu_enum_to_int(ib_mtu_int_to_enum(mtu))) {
		pr_err("softib: mtu is 256, 512, 1024, 2048 or 4096\n");
		return -EINVAL;
	}
	for (i = 0; i < nodes; i++) {
		if (!softib_model_select(hca, i)) {
			pr_err("softib: hca=%s: no such model\n", hca);
			return -EINVAL;
		}
		if (softib_rn_select(rdma_netdev, i) < 0) {
			pr_err("softib: rdma_netdev is none, hfi1 or mlx5\n");
			return -EINVAL;
		}
	}
	return 0;
}

static struct softib_fabric *__init softib_fabric_alloc(void)
{
	struct softib_fabric *fabric = vzalloc(sizeof(*fabric));
	int i;

	if (!fabric)
		return NULL;
	mutex_init(&fabric->mutex);
	spin_lock_init(&fabric->lock);
	fabric->nnodes = nodes;
	fabric->nports = ports;
	fabric->mtu = mtu;
	fabric->mtu_enum = ib_mtu_int_to_enum(mtu);
	fabric->guid_base = guid_base & ~0xffffffUL;
	fabric->has_vfs = vfs;
	for (i = 0; i < nodes; i++) {
		fabric->node[i].index = i;
		fabric->node[i].mcast_limit = SOFTIB_MAX_MCAST_GRP;
		fabric->node[i].vfs = vfs;
		fabric->node[i].model = softib_model_select(hca, i);
		fabric->node[i].rn = softib_rn_select(rdma_netdev, i);
		softib_model_knobs(&fabric->node[i]);
	}
	return fabric;
}

static void softib_del_nodes(void)
{
	int i;

	mutex_lock(&softib_fabric->mutex);
	for (i = softib_fabric->nnodes - 1; i >= 0; i--)
		if (softib_fabric->node[i].dev)
			softib_hca_del(&softib_fabric->node[i]);
	mutex_unlock(&softib_fabric->mutex);
}

static int __init softib_add_nodes(void)
{
	int i, ret = 0;

	mutex_lock(&softib_fabric->mutex);
	for (i = 0; i < softib_fabric->nnodes && !ret; i++)
		ret = softib_hca_add(&softib_fabric->node[i]);
	mutex_unlock(&softib_fabric->mutex);
	if (ret)
		softib_del_nodes();
	return ret;
}

static int __init softib_init(void)
{
	int ret;

	ret = softib_check_params();
	if (ret)
		return ret;
	softib_fabric = softib_fabric_alloc();
	if (!softib_fabric)
		return -ENOMEM;
	softib_fabric->wq = alloc_workqueue("softib", WQ_HIGHPRI | WQ_PERCPU,
					    0);
	if (!softib_fabric->wq) {
		ret = -ENOMEM;
		goto free_fabric;
	}
	softib_fabric->engine = alloc_workqueue("softib_engine",
						WQ_HIGHPRI | WQ_UNBOUND, 0);
	if (!softib_fabric->engine) {
		ret = -ENOMEM;
		goto destroy_wq;
	}
	ret = softib_vf_init();
	if (ret)
		goto destroy_engine;
	softib_fault_init();
	softib_switch_init();
	softib_knobs_init();
	softib_capture_init(softib_fabric->dir);
	ret = softib_add_nodes();
	if (ret)
		goto remove_knobs;
	pr_info("softib: %d nodes of %d ports, MTU %d\n", nodes, ports, mtu);
	return 0;

remove_knobs:
	softib_knobs_exit();
	softib_switch_exit();
	softib_fault_exit();
	softib_vf_exit();
destroy_engine:
	destroy_workqueue(softib_fabric->engine);
destroy_wq:
	destroy_workqueue(softib_fabric->wq);
free_fabric:
	vfree(softib_fabric);
	return ret;
}

static void __exit softib_exit(void)
{
	/* First the files: a write to "add" must not add a node again. */
	softib_knobs_exit();
	softib_del_nodes();
	softib_switch_exit();
	softib_fault_exit();
	softib_vf_exit();
	destroy_workqueue(softib_fabric->engine);
	destroy_workqueue(softib_fabric->wq);
	/* kfree_rcu() of mappings calls no function of this module: no rcu_barrier() needed. */
	vfree(softib_fabric);
}

module_init(softib_init);
module_exit(softib_exit);

MODULE_DESCRIPTION("Software InfiniBand fabric for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
