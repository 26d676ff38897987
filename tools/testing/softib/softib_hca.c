// SPDX-License-Identifier: GPL-2.0
/* HCAs: registration with rdmavt and ib_core; hotplug during operation of the other HCAs */
#include <linux/cpumask.h>
#include <linux/pci.h>
#include <rdma/ib_user_verbs.h>

#include "softib.h"

#define SOFTIB_MAX_WR		16384
#define SOFTIB_MAX_RD_ATOMIC	16
#define SOFTIB_RESERVED_QPN	0x20000

#define SOFTIB_UD_TYPES	(BIT(IB_QPT_UD) | BIT(IB_QPT_SMI) | BIT(IB_QPT_GSI))
#define SOFTIB_RC_UC	(BIT(IB_QPT_RC) | BIT(IB_QPT_UC))

static const struct rvt_operation_params softib_post_parms[RVT_OPERATION_MAX] = {
	[IB_WR_RDMA_WRITE] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = SOFTIB_RC_UC,
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = SOFTIB_RC_UC,
	},
	[IB_WR_RDMA_READ] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = BIT(IB_QPT_RC),
		.flags = RVT_OPERATION_ATOMIC,
	},
	[IB_WR_SEND] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = SOFTIB_UD_TYPES | SOFTIB_RC_UC,
	},
	[IB_WR_SEND_WITH_IMM] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = SOFTIB_UD_TYPES | SOFTIB_RC_UC,
	},
	[IB_WR_LSO] = {
		.length = sizeof(struct ib_ud_wr),
		.qpt_support = BIT(IB_QPT_UD),
	},
};

static const enum ib_wc_opcode softib_wc_opcode[RVT_OPERATION_MAX] = {
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_LSO] = IB_WC_LSO,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
};

/*
 * rdmavt expects a struct pci_dev, and uses only its struct device, for messages. The parent of
 * the HCA is a platform device: return a struct pci_dev around its struct device.
 */
static struct pci_dev *softib_get_pci_dev(struct rvt_dev_info *rdi)
{
	return container_of(&rdi_to_softib(rdi)->node->pdev->dev,
			    struct pci_dev, dev);
}

static int softib_check_ah(struct ib_device *ibdev, struct rdma_ah_attr *attr)
{
	struct softib_dev *dev = ib_to_softib(ibdev);

	if (rdma_ah_get_port_num(attr) > dev->nports ||
	    rdma_ah_get_sl(attr) > 15)
		return -EINVAL;
	return softib_fault_hit(&dev->node->fail_ah) ? -ENOMEM : 0;
}

static void softib_new_ah(struct ib_device *ibdev, struct rdma_ah_attr *attr,
			  struct rvt_ah *ah)
{
	struct softib_port *port;

	port = &ib_to_softib(ibdev)->port[rdma_ah_get_port_num(attr) - 1];
	ah->vl = port->sl2vl[rdma_ah_get_sl(attr)];
	ah->log_pmtu = ilog2(port->link.mtu);
}

static int softib_get_pmtu(struct rvt_dev_info *rdi, struct rvt_qp *qp,
			   struct ib_qp_attr *attr)
{
	struct softib_port *port = qp_to_softib_port(qp);

	if (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)
		return -EINVAL;
	return min_t(int, attr->path_mtu, port->link.mtu_enum);
}

static u32 softib_mtu_from_qp(struct rvt_dev_info *rdi, struct rvt_qp *qp,
			      u32 pmtu)
{
	return ib_mtu_enum_to_int(pmtu);
}

static int softib_mtu_to_path_mtu(u32 mtu)
{
	return ib_mtu_int_to_enum(mtu);
}

/* Distribute the completion works of the nodes over the CPUs. */
static int softib_comp_vect_cpu(struct rvt_dev_info *rdi, int vector)
{
	unsigned int n, cpu;

	n = (rdi_to_softib(rdi)->node->index + vector) % num_online_cpus();
	for_each_online_cpu(cpu)
		if (!n--)
			return cpu;
	return cpumask_first(cpu_online_mask);
}

static int softib_modify_device(struct ib_device *ibdev, int mask,
				struct ib_device_modify *modify)
{
	struct softib_dev *dev = ib_to_softib(ibdev);
	int i;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	spin_lock_irq(&softib_fabric->lock);
	memcpy(ibdev->node_desc, modify->node_desc, IB_DEVICE_NODE_DESC_MAX);
	spin_unlock_irq(&softib_fabric->lock);
	for (i = 0; i < dev->nports; i++)
		softib_trap_raise(&dev->port[i].trap,
				  IB_NOTICE_TRAP_NODE_DESC_CHG);
	return 0;
}

static void softib_get_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "1.0.0");
}

static ssize_t hw_rev_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "1\n");
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t hca_type_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "softib\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "softib\n");
}
static DEVICE_ATTR_RO(board_id);

/* Attributes for ibstat */
static struct attribute *softib_attrs[] = {
	&dev_attr_hw_rev.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	NULL,
};

static const struct attribute_group softib_attr_group = {
	.attrs = softib_attrs,
};

/* rdmavt requires an array; an empty array suffices. */
static const struct attribute_group *softib_port_groups[] = {
	NULL,
};

static const struct ib_device_ops softib_ops = {
	.owner = THIS_MODULE,
	/* The only provider of user space that works with an rdmavt device */
	.driver_id = RDMA_DRIVER_QIB,

	.device_group = &softib_attr_group,
	.disassociate_ucontext = softib_disassociate_ucontext,
	.enable_driver = softib_enable_driver,
	.get_dev_fw_str = softib_get_fw_str,
	.modify_device = softib_modify_device,
	.port_groups = softib_port_groups,
	.process_mad = softib_process_mad,

	INIT_RDMA_OBJ_SIZE(ib_cq, softib_cq, rvt.ibcq),
	INIT_RDMA_OBJ_SIZE(ib_srq, softib_srq, rvt.ibsrq),
};

/*
 * rdmavt's MAD agent is unused, as softib sends traps itself. Unregister it at once: it would
 * outlive its MAD port when the HCA moves to another network namespace.
 */
static void softib_drop_mad_agent(struct rvt_dev_info *rdi, int port_idx)
{
	struct rvt_ibport *ibp = rdi->ports[port_idx];

	ib_unregister_mad_agent(ibp->send_agent);
	ibp->send_agent = NULL;
}

static const struct rvt_driver_provided softib_driver_f = {
	.check_ah = softib_check_ah,
	.notify_new_ah = softib_new_ah,
	.get_pci_dev = softib_get_pci_dev,
	.notify_create_mad_agent = softib_drop_mad_agent,
	.comp_vect_cpu_lookup = softib_comp_vect_cpu,
	.query_port_state = softib_port_query,
	.get_guid_be = softib_port_guid,
	.shut_down_port = softib_port_shut_down,
	.cap_mask_chg = softib_port_cap_mask_chg,
	.get_pmtu_from_attr = softib_get_pmtu,
	.mtu_from_qp = softib_mtu_from_qp,
	.mtu_to_path_mtu = softib_mtu_to_path_mtu,
	.qp_priv_alloc = softib_qp_alloc,
	.qp_priv_free = softib_qp_free,
	.free_all_qps = softib_qp_free_all,
	.notify_qp_reset = softib_qp_reset,
	.notify_error_qp = softib_qp_error,
	.notify_restart_rc = softib_rc_restart,
	.flush_qp_waiters = softib_qp_flush_waiters,
	.modify_qp = softib_qp_modify,
	.stop_send_queue = softib_qp_stop,
	.quiesce_qp = softib_qp_quiesce,
	.schedule_send = softib_schedule_send,
	.schedule_send_no_lock = softib_schedule_send_no_lock,
	.do_send = softib_post_do_send,
	.setup_wqe = softib_lso_setup,
};

static void softib_hca_props(struct softib_dev *dev)
{
	struct ib_device_attr *props = &dev->rdi.dparms.props;

	props->fw_ver = 1ULL << 32;
	props->sys_image_guid = dev->rdi.ibdev.node_guid;
	props->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
		IB_DEVICE_BAD_QKEY_CNTR | IB_DEVICE_SHUTDOWN_PORT |
		IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |
		IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SRQ_RESIZE;
	if (dev->node->steering)
		props->device_cap_flags |= IB_DEVICE_MANAGED_FLOW_STEERING;
	softib_csum_caps(dev, props);
	props->page_size_cap = PAGE_SIZE;
	props->max_mr_size = ~0ULL;
	props->vendor_id = SOFTIB_VENDOR_ID;
	props->vendor_part_id = 1;
	props->max_qp = 16384;
	props->max_qp_wr = SOFTIB_MAX_WR;
	if (dev->node->model->mc_block)
		props->kernel_cap_flags |= IBK_BLOCK_MULTICAST_LOOPBACK;
	props->max_send_sge = dev->node->model->max_sge;
	props->max_recv_sge = dev->node->model->max_sge;
	props->max_sge_rd = dev->node->model->max_sge;
	props->max_cq = 32768;
	props->max_cqe = 4 * SOFTIB_MAX_WR;
	props->max_ah = INT_MAX;
	props->max_mr = 65535;
	props->max_pd = 32768;
	props->max_srq = dev->node->srq_sge ? 1024 : 0;
	props->max_srq_wr = SOFTIB_MAX_WR;
	props->max_srq_sge = min_t(u32, dev->node->srq_sge, SOFTIB_MAX_SGE);
	props->max_pkeys = SOFTIB_NPKEYS;
	props->local_ca_ack_delay = 15;
	props->max_qp_rd_atom = SOFTIB_MAX_RD_ATOMIC;
	props->max_qp_init_rd_atom = SOFTIB_MAX_RD_ATOMIC;
	props->max_mcast_grp = dev->node->no_mcast ?
			       0 : dev->node->mcast_limit;
	props->max_mcast_qp_attach = 1024;
	props->max_total_mcast_qp_attach = props->max_mcast_grp *
					   props->max_mcast_qp_attach;
}

static void softib_hca_params(struct softib_dev *dev)
{
	struct rvt_driver_params *params = &dev->rdi.dparms;

	params->lkey_table_size = 16;
	params->qp_table_size = 1024;
	params->qpn_start = 1;
	params->qpn_inc = 1;
	/* rdmavt requires a reserved QPN; keep it far from QPNs in use. */
	params->qpn_res_start = SOFTIB_RESERVED_QPN;
	params->qpn_res_end = SOFTIB_RESERVED_QPN;
	params->sge_copy_mode = RVT_SGE_COPY_MEMCPY;
	params->psn_mask = 0xffffff;
	params->psn_shift = 8;
	params->psn_modify_mask = 0xffffff;
	params->nports = dev->nports;
	params->npkeys = SOFTIB_NPKEYS;
	params->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	if (dev->node->grh_required)
		params->core_cap_flags |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	params->max_mad_size = IB_MGMT_MAD_SIZE;
	params->max_rdma_atomic = SOFTIB_MAX_RD_ATOMIC;
	dev->rdi.post_parms = softib_post_parms;
	dev->rdi.wc_opcode = softib_wc_opcode;
	dev->rdi.driver_f = softib_driver_f;
}

static int softib_hca_set_up(struct softib_dev *dev)
{
	struct ib_device *ibdev = &dev->rdi.ibdev;
	int i, ret;

	ibdev->node_guid = cpu_to_be64(softib_node_guid(dev->node));
	ibdev->phys_port_cnt = dev->nports;
	/* HCAs have several vectors, whatever the number of CPUs. */
	ibdev->num_comp_vectors = dev->node->model->vectors ?:
				  (int)max(num_online_cpus(), 2U);
	ibdev->dev.parent = &dev->node->pdev->dev;
	snprintf(ibdev->node_desc, sizeof(ibdev->node_desc), "softib%d",
		 dev->node->index);
	ret = dev_set_name(&ibdev->dev, "softib%d", dev->node->index);
	if (ret)
		return ret;
	softib_hca_props(dev);
	softib_hca_params(dev);
	ib_set_device_ops(ibdev, &softib_ops);
	softib_rn_add(dev);
	for (i = 1; i <= dev->nports; i++) {
		ret = softib_port_init(dev, i);
		if (ret)
			goto exit_ports;
	}
	return 0;

exit_ports:
	while (--i)
		softib_port_exit(&dev->port[i - 1]);
	return ret;
}

static void softib_hca_free(struct softib_dev *dev)
{
	int i;

	for (i = 0; i < dev->nports; i++)
		softib_port_exit(&dev->port[i]);
	rvt_dealloc_device(&dev->rdi);
}

/* Add an HCA to an empty node. Context: the fabric's mutex held; sleeps. Return: 0 or an errno. */
int softib_hca_add(struct softib_node *node)
{
	struct rvt_dev_info *rdi;
	struct softib_dev *dev;
	int i, ret;

	node->pdev = platform_device_register_simple("softib", node->index,
						     NULL, 0);
	if (IS_ERR(node->pdev))
		return PTR_ERR(node->pdev);
	ret = softib_dma_init(node);
	if (ret)
		goto unregister_pdev;
	rdi = rvt_alloc_device(sizeof(*dev), softib_fabric->nports);
	if (!rdi) {
		ret = -ENOMEM;
		goto unregister_pdev;
	}
	dev = rdi_to_softib(rdi);
	dev->node = node;
	dev->nports = softib_fabric->nports;
	mutex_init(&dev->srq_mutex);
	mutex_init(&dev->cq_mutex);
	xa_init(&dev->netdevs);
	INIT_LIST_HEAD(&dev->cqs);
	INIT_LIST_HEAD(&dev->srqs);
	ret = softib_hca_set_up(dev);
	if (ret) {
		rvt_dealloc_device(rdi);
		goto unregister_pdev;
	}
	ret = softib_vf_add(dev);
	if (ret)
		goto free_hca;
	ret = rvt_register_device(rdi);
	if (ret)
		goto free_hca;
	node->dev = dev;
	softib_fault_update(node);
	for (i = 0; i < dev->nports; i++) {
		WRITE_ONCE(dev->port[i].live, true);
		softib_link_plug(&dev->port[i]);
	}
	return 0;

free_hca:
	softib_hca_free(dev);
	softib_vf_del(node);
unregister_pdev:
	softib_dma_exit(node);
	platform_device_unregister(node->pdev);
	return ret;
}

static u32 softib_hca_mrs(struct rvt_dev_info *rdi)
{
	struct rvt_lkey_table *keys = &rdi->lkey_table;
	u32 i, n = 0;

	spin_lock_irq(&keys->lock);
	for (i = 0; i < keys->max; i++)
		if (rcu_access_pointer(keys->table[i]))
			n++;
	spin_unlock_irq(&keys->lock);
	return n;
}

static u32 softib_port_attached(struct softib_port *port)
{
	struct rb_node *node;
	u32 n = 0;

	spin_lock_irq(&port->ibp.lock);
	for (node = rb_first(&port->ibp.mcast_tree); node; node = rb_next(node))
		n += rb_entry(node, struct rvt_mcast, rb_node)->n_attached;
	spin_unlock_irq(&port->ibp.lock);
	return n;
}

/**
 * softib_hca_objects() - list the objects of an HCA
 * @dev: the HCA
 * @text: buffer for the list
 * @size: its length
 *
 * Includes objects of the kernel's MAD layer, some for each port, and its address handle of the
 * subnet manager.
 *
 * Context: the fabric's mutex held.
 * Return: whether there are any.
 */
bool softib_hca_objects(struct softib_dev *dev, char *text, size_t size)
{
	struct rvt_dev_info *rdi = &dev->rdi;
	u32 mrs = softib_hca_mrs(rdi), attached = 0;
	int i;

	for (i = 0; i < dev->nports; i++)
		attached += softib_port_attached(&dev->port[i]);
	snprintf(text, size,
		 "%u PDs, %u CQs, %u QPs, %u SRQs, %u MRs, %u AHs, %u attached",
		 rdi->n_pds_allocated, rdi->n_cqs_allocated,
		 rdi->n_qps_allocated, rdi->n_srqs_allocated, mrs,
		 rdi->n_ahs_allocated, attached);
	return rdi->n_pds_allocated || rdi->n_cqs_allocated ||
	       rdi->n_qps_allocated || rdi->n_srqs_allocated || mrs ||
	       rdi->n_ahs_allocated || attached;
}

/* All clients of ib_core have removed the HCA: the objects that are left are leaked. */
static void softib_hca_audit(struct softib_dev *dev)
{
	char text[128];

	if (softib_hca_objects(dev, text, sizeof(text)))
		pr_warn("softib%d: leaked: %s\n", dev->node->index, text);
}

/*
 * rdmavt frees its QP table right after the unregistration from ib_core, but clients still use the
 * port while ib_core removes them. So unregister the device from ib_core first, then unplug the
 * ports; the second ib_unregister_device(), by rdmavt, has no effect.
 */
static void softib_hca_unregister(struct softib_dev *dev)
{
	int i;

	for (i = 0; i < dev->nports; i++) {
		WRITE_ONCE(dev->port[i].live, false);
		WRITE_ONCE(dev->port[i].leaving, true);
	}
	/* After this no event is being dispatched. */
	synchronize_rcu_expedited();
	ib_unregister_device(&dev->rdi.ibdev);
	softib_hca_audit(dev);
	for (i = 0; i < dev->nports; i++) {
		softib_trap_stop(&dev->port[i].trap);
		softib_link_unplug(&dev->port[i]);
	}
	rvt_unregister_device(&dev->rdi);
}

/* Remove an HCA from its node. Context: the fabric's mutex held; sleeps. */
void softib_hca_del(struct softib_node *node)
{
	struct softib_dev *dev = node->dev;

	node->dev = NULL;
	softib_hca_unregister(dev);
	softib_hca_free(dev);
	softib_vf_del(node);
	softib_dma_exit(node);
	platform_device_unregister(node->pdev);
}
