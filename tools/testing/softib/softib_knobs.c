// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: /sys/kernel/debug/softib
 *
 * summary            state of the fabric, human-readable
 * add, remove        write the name of a node to plug in or remove its HCA. "remove"
 *                    waits until user space has closed the HCA's verbs
 * softibK/link       "up" or "down": link of port 1; link2: link of port 2
 * softibK/counters   counters of the HCA, of each port and of its switch port, a line each
 * softibK/mcast_limit  maximum number of attached multicast groups
 * softibK/drop_next_C   drop the next N sent frames
 * softibK/drop_every_C  drop every Nth sent frame
 * softibK/dup_every_C   deliver every Nth sent frame twice
 * softibK/delay_ms_C    deliver sent frames N ms later, in order
 * softibK/drop_egress  1: drop all datagrams except MADs at the sending port, after the send.
 *                    Unlike drop_every_ud, it has no counter that sending CPUs share
 * softibK/fail_send  complete the next N UD sends in error
 * softibK/fail_recv  complete the next N UD receives in error, which moves the QP to the
 *                    error state
 * softibK/fail_ah    refuse the next N address handles, including the addresses of RC and
 *                    UC connections
 * softibK/fail_qp    refuse the next N QPs
 * softibK/fail_modify  refuse the next N ib_modify_qp(), with refuse_error
 * softibK/modify_states  target states for fail_modify: bits of IB_QPS_, 128 for a call
 *                    without IB_QP_STATE; 0: any call
 * softibK/rnr_next   treat the receive queue as empty for the next N messages on RC and UC;
 *                    on RC these are as many RNR NAKs
 * softibK/long_next  treat the receives of the next N messages on RC and UC as too short
 * softibK/silent_next  move the QPs that the next N requests on RC and UC are for to the
 *                    error state, without a NAK or an event of the QP
 * softibK/overlong_ud, overlong_rc  for the next N datagrams, or messages on RC and UC, to
 *                    kernel consumers: report a length beyond the receive
 * softibK/half_lid   begin a message, and do not end it, on each RC connection with the port
 *                    of this LID; it keeps a receive of the shared receive queue
 * softibK/end_lid    end the messages of half_lid
 * softibK/cut_next   truncate the next N single-packet messages on RC and UC to three octets
 * softibK/short_next_mad  truncate the next N MADs to QP1 to 136 octets
 * softibK/srq_sge    maximum SGEs of an SRQ receive, 0: no SRQs. An attribute of the next
 *                    HCA to be plugged in
 * softibK/mtu_cap    MTUCap of the ports, as the code of IBTA (4 is 2048); 0: the fabric's
 * softibK/csum, steering, no_mcast, grh_required  attributes of the next HCA to be plugged
 *                    in; for these and the knobs below see softib_node in softib.h
 * softibK/csum_free  1: checksums cost no time, and count as correct whatever their value
 * softibK/no_uc, refuse_flags, refuse_error, sq_bytes  refuse QPs with these properties
 * softibK/fail_attach, fail_detach, fail_srq  refuse the next N of these
 * softibK/fail_error_send  refuse the next N sends to QPs in the error state
 * softibK/fail_post_C  refuse the next N posts of sends by kernel consumers: whole lists
 * softibK/fail_post_recv  refuse the next N posts of receives to UD QPs of kernel consumers
 * softibK/fail_moderation  refuse the Nth change of the moderation of a CQ from now on
 * softibK/qp_event   write E: raise IB_EVENT_ E on the UD QPs of kernel consumers, without
 *                    any other effect
 * softibK/make_qp_ms  duration of the creation of a QP
 * softibK/last_wqe_ms, lose_last_wqe  delay or suppress IB_EVENT_QP_LAST_WQE_REACHED
 * softibK/vfs        number of virtual functions; fail_vf_set, fail_vf_get: refuse the next N
 *                    changes or queries of them. Only with the module parameter vfs
 * softibK/fail_netdev  refuse the next N accelerated net devices. Only with rdma_netdev
 * softibK/ack_times  factor of the ACK timeout of QPs
 * softibK/model      name of the model, from the module parameter
 * softibK/hold_cq    1: hold back completions of kernel consumers (only models with
 *                    interrupts), and sends and receives of accelerated net devices
 * softibK/latency_us  delay of sends, only asynchronous models
 * softibK/dma_probe  plant a fault of a device address; dma_quiet: count faults
 *                    (hca.dma_faults) without messages
 * softibK/srq_error  write 1: fail all SRQs of kernel consumers
 * softibK/cq_error   write 1: fail all CQs of kernel consumers that have an event handler;
 *                    only models with interrupts
 * softibK/fatal      write 1: fail the HCA, until it is removed
 * softibK/cq_vectors  number of CQs of kernel consumers, by completion vector
 * softibK/cq_moderation  moderation of each CQ of kernel consumers: completions and
 *                    microseconds; only models with interrupts
 *
 * C is ud (without MADs), rc (and UC) or mad (QP0 and QP1). Knobs belong to the node, not
 * to the HCA: they survive remove and add. softib_capture.c adds "capture" and
 * "capture_erf".
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "softib.h"

static const char * const softib_class_names[SOFTIB_CLASS_MAX] = {
	[SOFTIB_CLASS_UD] = "ud",
	[SOFTIB_CLASS_RC] = "rc",
	[SOFTIB_CLASS_MAD] = "mad",
};

static const char * const softib_drop_names[SOFTIB_DROP_MAX] = {
	[SOFTIB_DROP_LINK] = "link",
	[SOFTIB_DROP_NO_ROUTE] = "no_route",
	[SOFTIB_DROP_NO_TREE] = "no_tree",
	[SOFTIB_DROP_VL] = "vl",
	[SOFTIB_DROP_MTU] = "mtu",
	[SOFTIB_DROP_DLID] = "dlid",
	[SOFTIB_DROP_GID] = "gid",
	[SOFTIB_DROP_NO_GRH] = "no_grh",
	[SOFTIB_DROP_NO_GROUP] = "no_group",
	[SOFTIB_DROP_PKEY] = "pkey",
	[SOFTIB_DROP_QKEY] = "qkey",
	[SOFTIB_DROP_NO_QP] = "no_qp",
	[SOFTIB_DROP_QP_STATE] = "qp_state",
	[SOFTIB_DROP_NO_RWQE] = "no_rwqe",
	[SOFTIB_DROP_TOO_LONG] = "too_long",
	[SOFTIB_DROP_BAD_MAD] = "bad_mad",
	[SOFTIB_DROP_BAD_REQUEST] = "bad_request",
	[SOFTIB_DROP_FAULT] = "fault",
};

static const char * const softib_state_names[] = {
	[IB_PORT_NOP] = "?",
	[IB_PORT_DOWN] = "DOWN",
	[IB_PORT_INIT] = "INIT",
	[IB_PORT_ARMED] = "ARMED",
	[IB_PORT_ACTIVE] = "ACTIVE",
};

static int softib_knob_get(void *data, u64 *value)
{
	struct softib_knob *knob = data;

	*value = READ_ONCE(*knob->value);
	return 0;
}

static int softib_knob_set(void *data, u64 value)
{
	struct softib_knob *knob = data;

	if (value > U32_MAX)
		return -ERANGE;
	mutex_lock(&softib_fabric->mutex);
	WRITE_ONCE(*knob->value, value);
	softib_fault_update(knob->node);
	mutex_unlock(&softib_fabric->mutex);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_knob_fops, softib_knob_get, softib_knob_set,
			 "%llu\n");

static int softib_mcast_limit_get(void *data, u64 *value)
{
	struct softib_node *node = data;

	*value = node->mcast_limit;
	return 0;
}

/*
 * rdmavt refuses a group if the number of groups is equal to the limit: a limit below the current
 * number would have no effect.
 */
static int softib_mcast_limit_set(void *data, u64 value)
{
	struct softib_node *node = data;
	struct rvt_dev_info *rdi;

	if (value > INT_MAX)
		return -ERANGE;
	mutex_lock(&softib_fabric->mutex);
	node->mcast_limit = value;
	if (node->dev) {
		rdi = &node->dev->rdi;
		spin_lock_irq(&rdi->n_mcast_grps_lock);
		rdi->dparms.props.max_mcast_grp =
			max_t(u32, value, rdi->n_mcast_grps_allocated);
		spin_unlock_irq(&rdi->n_mcast_grps_lock);
	}
	mutex_unlock(&softib_fabric->mutex);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_mcast_limit_fops, softib_mcast_limit_get,
			 softib_mcast_limit_set, "%llu\n");

static int softib_zero_get(void *data, u64 *value)
{
	*value = 0;
	return 0;
}

/* Fail objects of an HCA, if there is an HCA. */
static int softib_kill(struct softib_node *node, u64 value,
		       void (*die)(struct softib_dev *dev))
{
	int ret = 0;

	if (value != 1)
		return -EINVAL;
	mutex_lock(&softib_fabric->mutex);
	if (node->dev)
		die(node->dev);
	else
		ret = -ENODEV;
	mutex_unlock(&softib_fabric->mutex);
	return ret;
}

static int softib_srq_error_set(void *data, u64 value)
{
	return softib_kill(data, value, softib_srqs_die);
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_srq_error_fops, softib_zero_get,
			 softib_srq_error_set, "%llu\n");

static int softib_cq_error_set(void *data, u64 value)
{
	return softib_kill(data, value, softib_cqs_die);
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_cq_error_fops, softib_zero_get,
			 softib_cq_error_set, "%llu\n");

static int softib_qp_event_set(void *data, u64 value)
{
	struct softib_node *node = data;
	int ret = 0;

	if (value > IB_EVENT_WQ_FATAL)
		return -EINVAL;
	mutex_lock(&softib_fabric->mutex);
	if (node->dev)
		softib_qps_report(node->dev, value);
	else
		ret = -ENODEV;
	mutex_unlock(&softib_fabric->mutex);
	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_qp_event_fops, softib_zero_get,
			 softib_qp_event_set, "%llu\n");

static int softib_fatal_set(void *data, u64 value)
{
	return softib_kill(data, value, softib_hca_die);
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_fatal_fops, softib_zero_get, softib_fatal_set,
			 "%llu\n");

static int softib_hold_get(void *data, u64 *value)
{
	*value = ((struct softib_node *)data)->hold_cq;
	return 0;
}

static int softib_hold_set(void *data, u64 value)
{
	struct softib_node *node = data;

	mutex_lock(&softib_fabric->mutex);
	WRITE_ONCE(node->hold_cq, !!value);
	if (node->dev && !value) {
		softib_cq_release(node->dev);
		softib_rn_release(node->dev);
	}
	mutex_unlock(&softib_fabric->mutex);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_hold_fops, softib_hold_get, softib_hold_set,
			 "%llu\n");

static int softib_probe_set(void *data, u64 value)
{
	struct softib_node *node = data;
	int ret = -ENODEV;

	mutex_lock(&softib_fabric->mutex);
	if (node->dev)
		ret = softib_dma_probe(node, value);
	mutex_unlock(&softib_fabric->mutex);
	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_probe_fops, NULL, softib_probe_set, "%llu\n");

static int softib_model_show(struct seq_file *seq, void *unused)
{
	struct softib_node *node = seq->private;

	seq_printf(seq, "%s\n", node->model->name);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(softib_model);

static int softib_vectors_show(struct seq_file *seq, void *unused)
{
	struct softib_node *node = seq->private;
	int i;

	mutex_lock(&softib_fabric->mutex);
	for (i = 0; node->dev && i < SOFTIB_VECTORS_SHOWN &&
	     i < node->dev->rdi.ibdev.num_comp_vectors; i++)
		seq_printf(seq, "%d %d\n", i,
			   atomic_read(&node->dev->vector_cqs[i]));
	mutex_unlock(&softib_fabric->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(softib_vectors);

static int softib_moderation_show(struct seq_file *seq, void *unused)
{
	struct softib_node *node = seq->private;

	mutex_lock(&softib_fabric->mutex);
	if (node->dev)
		softib_cq_show(node->dev, seq);
	mutex_unlock(&softib_fabric->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(softib_moderation);

static int softib_halves(struct softib_node *node, u64 value,
			 void (*what)(struct softib_dev *dev, u16 lid))
{
	if (value > U16_MAX)
		return -ERANGE;
	mutex_lock(&softib_fabric->mutex);
	if (node->dev)
		what(node->dev, value);
	mutex_unlock(&softib_fabric->mutex);
	return 0;
}

static int softib_half_lid_set(void *data, u64 value)
{
	return softib_halves(data, value, softib_resp_half);
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_half_lid_fops, NULL, softib_half_lid_set,
			 "%llu\n");

static int softib_end_lid_set(void *data, u64 value)
{
	return softib_halves(data, value, softib_resp_end_halves);
}
DEFINE_DEBUGFS_ATTRIBUTE(softib_end_lid_fops, NULL, softib_end_lid_set,
			 "%llu\n");

/* Copy a word from user space. Return: 0 or a negative errno. */
static int softib_read_word(char *word, size_t size, const char __user *buf,
			    size_t count)
{
	if (!count || count >= size)
		return -EINVAL;
	if (copy_from_user(word, buf, count))
		return -EFAULT;
	word[count] = '\0';
	strim(word);
	return 0;
}

static ssize_t softib_link_read(struct file *file, char __user *buf,
				size_t count, loff_t *pos)
{
	bool *off = file->private_data;
	const char *word = READ_ONCE(*off) ? "down\n" : "up\n";

	return simple_read_from_buffer(buf, count, pos, word, strlen(word));
}

static void softib_link_switch(bool *off, bool value)
{
	struct softib_node *node;
	int i, num;

	/* The file refers to the flag only: search its node. */
	for (i = 0; i < softib_fabric->nnodes; i++) {
		node = &softib_fabric->node[i];
		if (off >= node->link_off &&
		    off < node->link_off + SOFTIB_MAX_PORTS)
			break;
	}
	num = off - node->link_off;
	mutex_lock(&softib_fabric->mutex);
	spin_lock_irq(&softib_fabric->lock);
	*off = value;
	spin_unlock_irq(&softib_fabric->lock);
	if (node->dev)
		softib_link_train(&node->dev->port[num], false);
	mutex_unlock(&softib_fabric->mutex);
}

static ssize_t softib_link_write(struct file *file, const char __user *buf,
				 size_t count, loff_t *pos)
{
	char word[8];
	int ret;

	ret = softib_read_word(word, sizeof(word), buf, count);
	if (ret)
		return ret;
	if (!strcmp(word, "down"))
		softib_link_switch(file->private_data, true);
	else if (!strcmp(word, "up"))
		softib_link_switch(file->private_data, false);
	else
		return -EINVAL;
	return count;
}

static const struct file_operations softib_link_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = softib_link_read,
	.write = softib_link_write,
	.llseek = default_llseek,
};

/* Add or remove the HCA of the node whose name is written. */
static ssize_t softib_plug_write(const char __user *buf, size_t count, bool in)
{
	struct softib_node *node;
	char word[16];
	int ret, index;

	ret = softib_read_word(word, sizeof(word), buf, count);
	if (ret)
		return ret;
	if (sscanf(word, "softib%d", &index) != 1 || index < 0 ||
	    index >= softib_fabric->nnodes)
		return -EINVAL;
	node = &softib_fabric->node[index];
	mutex_lock(&softib_fabric->mutex);
	if (in == !!node->dev)
		ret = in ? -EEXIST : -ENODEV;
	else if (in)
		ret = softib_hca_add(node);
	else
		softib_hca_del(node);
	mutex_unlock(&softib_fabric->mutex);
	return ret ?: count;
}

static ssize_t softib_add_write(struct file *file, const char __user *buf,
				size_t count, loff_t *pos)
{
	return softib_plug_write(buf, count, true);
}

static ssize_t softib_remove_write(struct file *file, const char __user *buf,
				   size_t count, loff_t *pos)
{
	return softib_plug_write(buf, count, false);
}

static const struct file_operations softib_add_fops = {
	.owner = THIS_MODULE,
	.write = softib_add_write,
};

static const struct file_operations softib_remove_fops = {
	.owner = THIS_MODULE,
	.write = softib_remove_write,
};

/* Show used rates only, by their code: IBTA 15.2.5.16.1. */
static void softib_show_rates(struct seq_file *seq, struct softib_port *port,
			      const char *kind, const u64 *count)
{
	int rate;

	for (rate = 0; rate < SOFTIB_RATE_MAX; rate++)
		if (count[rate])
			seq_printf(seq, "port%d.tx_rate.%s.%d %llu\n",
				   port->num, kind, rate, count[rate]);
}

static void softib_show_port(struct seq_file *seq, struct softib_port *port)
{
	struct softib_swport *far = &softib_fabric->sw.port[port->swport];
	struct softib_stats sum;
	int i;

	softib_port_sum(port, &sum);
	seq_printf(seq, "port%d.tx_packets %llu\n", port->num, sum.tx_packets);
	seq_printf(seq, "port%d.tx_bytes %llu\n", port->num, sum.tx_bytes);
	seq_printf(seq, "port%d.tx_mcast %llu\n", port->num, sum.tx_mcast);
	seq_printf(seq, "port%d.rx_packets %llu\n", port->num, sum.rx_packets);
	seq_printf(seq, "port%d.rx_bytes %llu\n", port->num, sum.rx_bytes);
	seq_printf(seq, "port%d.rx_mcast %llu\n", port->num, sum.rx_mcast);
	softib_show_rates(seq, port, "unicast", sum.tx_rate[0]);
	softib_show_rates(seq, port, "multicast", sum.tx_rate[1]);
	for (i = 0; i < SOFTIB_DROP_MAX; i++)
		seq_printf(seq, "port%d.drop.%s %llu\n", port->num,
			   softib_drop_names[i], sum.drop[i]);
	for (i = 0; i < SOFTIB_DROP_MAX; i++)
		seq_printf(seq, "port%d.switch_drop.%s %d\n", port->num,
			   softib_drop_names[i], atomic_read(&far->drop[i]));
}

static void softib_show_hca(struct seq_file *seq, struct softib_node *node)
{
	struct softib_dev *dev = node->dev;

	seq_printf(seq, "hca.lso %d\n", atomic_read(&dev->lso));
	seq_printf(seq, "hca.interrupts %d\n", atomic_read(&dev->interrupts));
	seq_printf(seq, "hca.doorbells %d\n", atomic_read(&dev->doorbells));
	seq_printf(seq, "hca.netdev_sends %d\n", atomic_read(&dev->netdev_sends));
	seq_printf(seq, "hca.netdev_doorbells %d\n", atomic_read(&dev->netdev_doorbells));
	seq_printf(seq, "hca.netdev_mtus %d\n", atomic_read(&dev->netdev_mtus));
	seq_printf(seq, "hca.dma_faults %u\n", softib_dma_faults(node));
}

static int softib_counters_show(struct seq_file *seq, void *unused)
{
	struct softib_node *node = seq->private;
	int i;

	mutex_lock(&softib_fabric->mutex);
	if (node->dev)
		softib_show_hca(seq, node);
	for (i = 0; node->dev && i < node->dev->nports; i++)
		softib_show_port(seq, &node->dev->port[i]);
	mutex_unlock(&softib_fabric->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(softib_counters);

static u64 softib_drop_sum(const struct softib_stats *sum)
{
	u64 drops = 0;
	int i;

	for (i = 0; i < SOFTIB_DROP_MAX; i++)
		drops += sum->drop[i];
	return drops;
}

static void softib_summary_objects(struct seq_file *seq,
				   struct softib_dev *dev)
{
	char text[128];

	softib_hca_objects(dev, text, sizeof(text));
	seq_printf(seq, "softib%d: %s\n", dev->node->index, text);
}

static void softib_summary_node(struct seq_file *seq,
				const struct softib_node *node)
{
	struct softib_dev *dev = node->dev;
	struct softib_stats sum;
	int i;

	if (!dev) {
		seq_printf(seq, "softib%d: removed\n", node->index);
		return;
	}
	for (i = 0; i < dev->nports; i++) {
		struct softib_port *port = &dev->port[i];

		softib_port_sum(port, &sum);
		seq_printf(seq,
			   "softib%d/%d: switch port %d guid %016llx lid %d %s, %d QPs, %d groups, tx %llu rx %llu dropped %llu\n",
			   node->index, port->num, port->swport,
			   be64_to_cpu(port->guids[0]), port->lid,
			   softib_state_names[port->link.state],
			   dev->rdi.n_qps_allocated,
			   dev->rdi.n_mcast_grps_allocated,
			   sum.tx_packets, sum.rx_packets,
			   softib_drop_sum(&sum));
	}
	softib_summary_objects(seq, dev);
}

static void softib_summary_switch(struct seq_file *seq)
{
	struct softib_switch *sw = &softib_fabric->sw;
	u64 drops = 0;
	int i, j, mlids = 0;

	for (i = 0; i <= sw->nports; i++)
		for (j = 0; j < SOFTIB_DROP_MAX; j++)
			drops += atomic_read(&sw->port[i].drop[j]);
	for (i = 0; i < SOFTIB_MFT_SIZE; i++)
		if (memchr_inv(sw->mft[i], 0, sizeof(sw->mft[i])))
			mlids++;
	seq_printf(seq,
		   "switch: %d ports guid %016llx lid %d, sm lid %d, %d multicast LIDs, dropped %llu\n",
		   sw->nports, be64_to_cpu(sw->guid), sw->lid, sw->sm_lid,
		   mlids, drops);
}

static int softib_summary_show(struct seq_file *seq, void *unused)
{
	int i;

	mutex_lock(&softib_fabric->mutex);
	softib_summary_switch(seq);
	for (i = 0; i < softib_fabric->nnodes; i++)
		softib_summary_node(seq, &softib_fabric->node[i]);
	mutex_unlock(&softib_fabric->mutex);
	softib_capture_show(seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(softib_summary);

static void softib_knob_add(struct softib_node *node, int index,
			    const char *name, u32 *value)
{
	struct softib_knob *knob = &node->knob[index];

	knob->node = node;
	knob->value = value;
	debugfs_create_file_unsafe(name, 0600, node->dir, knob,
				   &softib_knob_fops);
}

static void softib_knobs_class(struct softib_node *node, int class)
{
	struct softib_fault *fault = &node->fault[class];
	const char *suffix = softib_class_names[class];
	char name[32];

	snprintf(name, sizeof(name), "drop_next_%s", suffix);
	softib_knob_add(node, class * 4, name, &fault->drop_next);
	snprintf(name, sizeof(name), "drop_every_%s", suffix);
	softib_knob_add(node, class * 4 + 1, name, &fault->drop_every);
	snprintf(name, sizeof(name), "dup_every_%s", suffix);
	softib_knob_add(node, class * 4 + 2, name, &fault->dup_every);
	snprintf(name, sizeof(name), "delay_ms_%s", suffix);
	softib_knob_add(node, class * 4 + 3, name, &fault->delay_ms);
}

/* Attributes of the HCA. Frames do not depend on them, so they arm no port. */
static void softib_knobs_verbs(struct softib_node *node)
{
	const struct {
		const char *name;
		u32 *value;
	} knobs[] = {
		{ "csum", &node->csum },
		{ "csum_free", &node->csum_free },
		{ "steering", &node->steering },
		{ "no_mcast", &node->no_mcast },
		{ "grh_required", &node->grh_required },
		{ "no_uc", &node->no_uc },
		{ "refuse_flags", &node->refuse_flags },
		{ "refuse_error", &node->refuse_error },
		{ "sq_bytes", &node->sq_bytes },
		{ "silent_next", &node->silent_next },
		{ "overlong_ud", &node->overlong_ud },
		{ "overlong_rc", &node->overlong_rc },
		{ "fail_attach", &node->fail_attach },
		{ "fail_detach", &node->fail_detach },
		{ "fail_srq", &node->fail_srq },
		{ "make_qp_ms", &node->make_qp_ms },
		{ "last_wqe_ms", &node->last_wqe_ms },
		{ "lose_last_wqe", &node->lose_last_wqe },
		{ "fail_error_send", &node->fail_error_send },
		{ "fail_post_ud", &node->fail_post[SOFTIB_CLASS_UD] },
		{ "fail_post_rc", &node->fail_post[SOFTIB_CLASS_RC] },
		{ "fail_post_mad", &node->fail_post[SOFTIB_CLASS_MAD] },
		{ "fail_post_recv", &node->fail_post_recv },
		{ "fail_moderation", &node->fail_moderation },
		{ "modify_states", &node->modify_states },
		{ "ack_times", &node->ack_times },
		{ "latency_us", &node->latency_us },
		{ "dma_quiet", &node->dma_quiet },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		debugfs_create_u32(knobs[i].name, 0600, node->dir,
				   knobs[i].value);
	if (softib_fabric->has_vfs) {
		debugfs_create_u32("vfs", 0600, node->dir, &node->vfs);
		debugfs_create_u32("fail_vf_set", 0600, node->dir, &node->fail_vf_set);
		debugfs_create_u32("fail_vf_get", 0600, node->dir, &node->fail_vf_get);
	}
	if (node->rn != SOFTIB_RN_NONE)
		debugfs_create_u32("fail_netdev", 0600, node->dir, &node->fail_netdev);
	debugfs_create_file_unsafe("srq_error", 0200, node->dir, node,
				   &softib_srq_error_fops);
	debugfs_create_file_unsafe("cq_error", 0200, node->dir, node,
				   &softib_cq_error_fops);
	debugfs_create_file_unsafe("qp_event", 0200, node->dir, node,
				   &softib_qp_event_fops);
	debugfs_create_file_unsafe("fatal", 0200, node->dir, node,
				   &softib_fatal_fops);
	debugfs_create_file_unsafe("hold_cq", 0600, node->dir, node,
				   &softib_hold_fops);
	debugfs_create_file_unsafe("dma_probe", 0200, node->dir, node,
				   &softib_probe_fops);
	debugfs_create_file("model", 0400, node->dir, node,
			    &softib_model_fops);
	debugfs_create_file("cq_vectors", 0400, node->dir, node,
			    &softib_vectors_fops);
	debugfs_create_file("cq_moderation", 0400, node->dir, node,
			    &softib_moderation_fops);
}

static void softib_knobs_node(struct softib_node *node)
{
	int last = SOFTIB_CLASS_MAX * 4;
	char name[16];
	int i;

	snprintf(name, sizeof(name), "softib%d", node->index);
	node->dir = debugfs_create_dir(name, softib_fabric->dir);
	for (i = 0; i < SOFTIB_CLASS_MAX; i++)
		softib_knobs_class(node, i);
	softib_knob_add(node, last, "fail_send", &node->fail_send);
	softib_knob_add(node, last + 1, "fail_ah", &node->fail_ah);
	softib_knob_add(node, last + 2, "fail_qp", &node->fail_qp);
	softib_knob_add(node, last + 3, "fail_modify", &node->fail_modify);
	softib_knob_add(node, last + 4, "srq_sge", &node->srq_sge);
	softib_knob_add(node, last + 5, "rnr_next", &node->rnr_next);
	softib_knob_add(node, last + 6, "long_next", &node->long_next);
	softib_knob_add(node, last + 7, "cut_next", &node->cut_next);
	softib_knob_add(node, last + 8, "mtu_cap", &node->mtu_cap);
	softib_knob_add(node, last + 9, "short_next_mad",
			&node->short_next_mad);
	softib_knobs_verbs(node);
	softib_knob_add(node, last + 10, "fail_recv", &node->fail_recv);
	softib_knob_add(node, last + 11, "drop_egress", &node->drop_egress);
	debugfs_create_file_unsafe("mcast_limit", 0600, node->dir, node,
				   &softib_mcast_limit_fops);
	debugfs_create_file_unsafe("half_lid", 0200, node->dir, node,
				   &softib_half_lid_fops);
	debugfs_create_file_unsafe("end_lid", 0200, node->dir, node,
				   &softib_end_lid_fops);
	debugfs_create_file("counters", 0400, node->dir, node,
			    &softib_counters_fops);
	debugfs_create_file("link", 0600, node->dir, &node->link_off[0],
			    &softib_link_fops);
	if (softib_fabric->nports > 1)
		debugfs_create_file("link2", 0600, node->dir,
				    &node->link_off[1], &softib_link_fops);
}

void softib_knobs_init(void)
{
	int i;

	softib_fabric->dir = debugfs_create_dir("softib", NULL);
	debugfs_create_file("summary", 0400, softib_fabric->dir, NULL,
			    &softib_summary_fops);
	debugfs_create_file("add", 0200, softib_fabric->dir, NULL,
			    &softib_add_fops);
	debugfs_create_file("remove", 0200, softib_fabric->dir, NULL,
			    &softib_remove_fops);
	for (i = 0; i < softib_fabric->nnodes; i++)
		softib_knobs_node(&softib_fabric->node[i]);
}

/* Remove the debugfs files, and wait until none of their operations runs. */
void softib_knobs_exit(void)
{
	debugfs_remove_recursive(softib_fabric->dir);
}
