// SPDX-License-Identifier: GPL-2.0
/* Ports of HCAs: set-up, attributes, events, counters */
#include "softib.h"

#define SOFTIB_PORT_CAPS \
	(IB_PORT_TRAP_SUP | IB_PORT_SL_MAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP | \
	 IB_PORT_EXTENDED_SPEEDS_SUP | \
	 IB_PORT_CLIENT_REG_SUP | IB_PORT_OTHER_LOCAL_CHANGES_SUP)

/* Initialise a port of an HCA that is not registered yet. Return: 0 or a negative errno. */
int softib_port_init(struct softib_dev *dev, int num)
{
	struct softib_port *port = &dev->port[num - 1];
	struct softib_node *node = dev->node;
	int i;

	port->stats = alloc_percpu(struct softib_stats);
	if (!port->stats)
		return -ENOMEM;
	port->dev = dev;
	port->num = num;
	port->swport = node->index * softib_fabric->nports + num;
	softib_link_init(&port->link);
	for (i = 0; i < 16; i++)
		port->sl2vl[i] = i % 8;
	port->pkeys[0] = IB_DEFAULT_PKEY_FULL;
	port->guids[0] = cpu_to_be64(softib_node_guid(node) + num);
	spin_lock_init(&port->ibp.lock);
	port->ibp.gid_prefix = SOFTIB_GID_PREFIX;
	port->ibp.port_cap_flags = SOFTIB_PORT_CAPS;
	port->ibp.sm_lid = SOFTIB_LID_PERMISSIVE;
	port->ibp.subnet_timeout = 18;
	softib_trap_init_port(&port->trap);
	rvt_init_port(&dev->rdi, &port->ibp, num - 1, port->pkeys);
	return 0;
}

/* Reverse of softib_port_init(), for an unplugged port */
void softib_port_exit(struct softib_port *port)
{
	free_percpu(port->stats);
}

/* Dispatch an event of a port, unless the HCA is being removed. Context: any. */
void softib_port_event(struct softib_port *port, enum ib_event_type event)
{
	struct ib_event ev = {
		.device = &port->dev->rdi.ibdev,
		.element.port_num = port->num,
		.event = event,
	};

	rcu_read_lock();
	if (READ_ONCE(port->live))
		ib_dispatch_event(&ev);
	rcu_read_unlock();
}

/* rvt_driver_provided.query_port_state: returns 0, or -EIO for an HCA that has failed */
int softib_port_query(struct rvt_dev_info *rdi, u32 port_num,
		      struct ib_port_attr *props)
{
	struct softib_port *port = &rdi_to_softib(rdi)->port[port_num - 1];

	if (READ_ONCE(port->dev->fatal))
		return -EIO;
	props->lid = READ_ONCE(port->lid);
	props->lmc = port->lmc;
	props->state = READ_ONCE(port->link.state);
	props->phys_state = port->link.phys;
	props->gid_tbl_len = SOFTIB_NGUIDS;
	props->active_width = port->link.width;
	props->active_speed = IB_SPEED_EDR;
	props->max_vl_num = SOFTIB_VL_CAP;
	props->max_mtu = softib_fabric->mtu_enum;
	props->active_mtu = port->link.mtu_enum;
	return 0;
}

/* rvt_driver_provided.get_guid_be: returns 0, or -EINVAL for an invalid index */
int softib_port_guid(struct rvt_dev_info *rdi, struct rvt_ibport *rvp,
		     int index, __be64 *guid)
{
	struct softib_port *port = container_of(rvp, struct softib_port, ibp);

	if (index < 0 || index >= SOFTIB_NGUIDS)
		return -EINVAL;
	*guid = port->guids[index];
	return 0;
}

/* rvt_driver_provided.shut_down_port */
int softib_port_shut_down(struct rvt_dev_info *rdi, u32 port_num)
{
	softib_link_train(&rdi_to_softib(rdi)->port[port_num - 1], true);
	return 0;
}

/* rvt_driver_provided.cap_mask_chg: trap 144 */
void softib_port_cap_mask_chg(struct rvt_dev_info *rdi, u32 port_num)
{
	struct softib_port *port = &rdi_to_softib(rdi)->port[port_num - 1];

	softib_trap_raise(&port->trap, 0);
}

/* Return: index of the first P_Key of the port that matches the P_Key of a frame, or -ENOENT. */
int softib_port_find_pkey(const struct softib_port *port, u16 pkey)
{
	int i;

	for (i = 0; i < SOFTIB_NPKEYS; i++)
		if (softib_pkey_ok(softib_port_pkey(port, i), pkey))
			return i;
	return -ENOENT;
}

/* Sum of the per-CPU counters of a port */
void softib_port_sum(const struct softib_port *port, struct softib_stats *sum)
{
	u64 *to = (u64 *)sum;
	int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const u64 *from = (u64 *)per_cpu_ptr(port->stats, cpu);

		for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += READ_ONCE(from[i]);
	}
}
