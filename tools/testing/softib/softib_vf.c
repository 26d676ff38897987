// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual functions: the settings that a physical function keeps for each virtual function, and a
 * bus whose devices have virtual functions. There are no HCAs of virtual functions.
 *
 * With the module parameter vfs the parent of each HCA is a device of this bus, below the
 * platform device; without it the platform device is the parent.
 */
#include <linux/device.h>
#include <linux/if_link.h>
#include <linux/slab.h>

#include "softib.h"

static struct softib_vf *softib_vf_find(struct ib_device *ibdev, int vf, u32 port, bool set)
{
	struct softib_dev *dev = ib_to_softib(ibdev);

	if (vf < 0 || vf >= SOFTIB_MAX_VFS || port < 1 || port > dev->nports)
		return ERR_PTR(-EINVAL);
	if (softib_fault_hit(set ? &dev->node->fail_vf_set : &dev->node->fail_vf_get))
		return ERR_PTR(-EIO);
	return &dev->port[port - 1].vf[vf];
}

static int softib_vf_set_link_state(struct ib_device *ibdev, int vf, u32 port, int state)
{
	struct softib_vf *to = softib_vf_find(ibdev, vf, port, true);

	if (IS_ERR(to))
		return PTR_ERR(to);
	if (state < IFLA_VF_LINK_STATE_AUTO || state > IFLA_VF_LINK_STATE_DISABLE)
		return -EINVAL;
	WRITE_ONCE(to->state, state);
	return 0;
}

/* As mlx5: all fields that InfiniBand does not have are zero, including the number. */
static int softib_vf_get_config(struct ib_device *ibdev, int vf, u32 port,
				struct ifla_vf_info *info)
{
	struct softib_vf *from = softib_vf_find(ibdev, vf, port, false);

	if (IS_ERR(from))
		return PTR_ERR(from);
	memset(info, 0, sizeof(*info));
	info->linkstate = READ_ONCE(from->state);
	return 0;
}

/* Frames are not counted: each counter has a constant, different for each function. */
static int softib_vf_get_stats(struct ib_device *ibdev, int vf, u32 port,
			       struct ifla_vf_stats *stats)
{
	struct softib_vf *from = softib_vf_find(ibdev, vf, port, false);

	if (IS_ERR(from))
		return PTR_ERR(from);
	stats->rx_packets = 1000 * (vf + 1) + 1;
	stats->tx_packets = 1000 * (vf + 1) + 2;
	stats->rx_bytes = 1000 * (vf + 1) + 3;
	stats->tx_bytes = 1000 * (vf + 1) + 4;
	stats->multicast = 1000 * (vf + 1) + 5;
	return 0;
}

static int softib_vf_set_guid(struct ib_device *ibdev, int vf, u32 port, u64 guid, int type)
{
	struct softib_vf *to = softib_vf_find(ibdev, vf, port, true);

	if (IS_ERR(to))
		return PTR_ERR(to);
	switch (type) {
	case IFLA_VF_IB_NODE_GUID:
		WRITE_ONCE(to->node_guid, guid);
		return 0;
	case IFLA_VF_IB_PORT_GUID:
		WRITE_ONCE(to->port_guid, guid);
		return 0;
	default:
		return -EINVAL;
	}
}

static int softib_vf_get_guid(struct ib_device *ibdev, int vf, u32 port,
			      struct ifla_vf_guid *node_guid, struct ifla_vf_guid *port_guid)
{
	struct softib_vf *from = softib_vf_find(ibdev, vf, port, false);

	if (IS_ERR(from))
		return PTR_ERR(from);
	node_guid->guid = READ_ONCE(from->node_guid);
	port_guid->guid = READ_ONCE(from->port_guid);
	return 0;
}

static const struct ib_device_ops softib_vf_ops = {
	.get_vf_config = softib_vf_get_config,
	.get_vf_guid = softib_vf_get_guid,
	.get_vf_stats = softib_vf_get_stats,
	.set_vf_guid = softib_vf_set_guid,
	.set_vf_link_state = softib_vf_set_link_state,
};

static int softib_bus_num_vf(struct device *device)
{
	const struct softib_node *node = dev_get_drvdata(device);

	return min_t(u32, READ_ONCE(node->vfs), SOFTIB_MAX_VFS);
}

static struct bus_type softib_bus = {
	.name = "softib",
	.num_vf = softib_bus_num_vf,
};

static void softib_bus_release(struct device *device)
{
	kfree(device);
}

/*
 * With the module parameter vfs: replace the parent of an HCA that is not registered yet by a
 * device with virtual functions. Context: the fabric's mutex held; sleeps. Return: 0 or a negative
 * errno.
 */
int softib_vf_add(struct softib_dev *dev)
{
	struct ib_device *ibdev = &dev->rdi.ibdev;
	struct device *device;
	int ret;

	if (!softib_fabric->has_vfs)
		return 0;
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return -ENOMEM;
	device_initialize(device);
	device->bus = &softib_bus;
	device->parent = ibdev->dev.parent;
	device->release = softib_bus_release;
	dev_set_drvdata(device, dev->node);
	ret = dev_set_name(device, "softib-pf%d", dev->node->index);
	if (!ret)
		ret = device_add(device);
	if (ret) {
		put_device(device);
		return ret;
	}
	dev->node->pf = device;
	ibdev->dev.parent = device;
	ib_set_device_ops(ibdev, &softib_vf_ops);
	return 0;
}

/* Reverse of softib_vf_add(), after the HCA is gone. Context: the fabric's mutex held; sleeps. */
void softib_vf_del(struct softib_node *node)
{
	if (!node->pf)
		return;
	device_unregister(node->pf);
	node->pf = NULL;
}

/* Register the bus. Return: 0 or a negative errno. */
int softib_vf_init(void)
{
	return softib_fabric->has_vfs ? bus_register(&softib_bus) : 0;
}

void softib_vf_exit(void)
{
	if (softib_fabric->has_vfs)
		bus_unregister(&softib_bus);
}
