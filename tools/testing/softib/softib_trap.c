// SPDX-License-Identifier: GPL-2.0
/*
 * Traps to the subnet manager: 128 from the switch after a change of a link,
 * 144 from an HCA after a change of its capability mask or description.
 *
 * IBTA 13.4.9: a trap is repeated until it is repressed. A sender has at most one
 * pending trap: a further change restarts it.
 */
#include "softib.h"

#define SOFTIB_TRAP_TIMES	5
#define SOFTIB_TRAP_INTERVAL	HZ

static void softib_trap_fill(struct ib_smp *smp, u64 tid, __be16 producer,
			     __be16 num, u16 lid)
{
	struct ib_mad_notice_attr *notice = (void *)smp->data;

	memset(smp, 0, sizeof(*smp));
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_TRAP;
	smp->tid = cpu_to_be64(tid);
	smp->attr_id = IB_SMP_ATTR_NOTICE;
	notice->prod_type_lsb = producer;
	notice->trap_num = num;
	notice->issuer_lid = cpu_to_be16(lid);
}

static void softib_trap_frame(struct softib_frame *frame,
			      const struct ib_smp *smp, u16 slid, u16 dlid)
{
	softib_frame_init(frame, IB_OPCODE_UD_SEND_ONLY);
	softib_frame_linear(frame, smp, sizeof(*smp));
	frame->slid = slid;
	frame->dlid = dlid;
	frame->sl = 0;
	frame->pkey = IB_DEFAULT_PKEY_FULL;
	frame->dqpn = 0;
	frame->sqpn = 0;
	frame->qkey = 0;
	frame->psn = 0;
}

/* Take a transmission of a pending trap, and schedule the next. Return: false if none is left. */
static bool softib_trap_take(struct softib_trap *trap, u64 *tid, u8 *changes)
{
	unsigned long flags;
	bool take;

	spin_lock_irqsave(&softib_fabric->lock, flags);
	take = trap->left > 0 && !trap->stopped;
	if (take)
		trap->left--;
	*tid = trap->tid;
	*changes = trap->changes;
	if (take && trap->left)
		queue_delayed_work(softib_fabric->wq, &trap->work,
				   SOFTIB_TRAP_INTERVAL);
	spin_unlock_irqrestore(&softib_fabric->lock, flags);
	return take;
}

static bool softib_trap_sm_known(u16 sm_lid)
{
	return sm_lid && sm_lid < SOFTIB_LID_MCAST;
}

/* Trap 128, link state change, IBTA 14.2.5.1 */
static void softib_trap_switch_work(struct work_struct *work)
{
	struct softib_switch *sw = &softib_fabric->sw;
	struct ib_mad_notice_attr *notice;
	struct softib_frame frame;
	struct ib_smp smp;
	u8 changes;
	u64 tid;

	if (!softib_trap_take(&sw->trap, &tid, &changes))
		return;
	if (!softib_trap_sm_known(sw->sm_lid) || !sw->lid)
		return;
	softib_trap_fill(&smp, tid, IB_NOTICE_PROD_SWITCH, cpu_to_be16(128),
			 sw->lid);
	notice = (struct ib_mad_notice_attr *)smp.data;
	notice->generic_type = IB_NOTICE_TYPE_URGENT;
	put_unaligned_be16(sw->lid, notice->details.raw_data.details);
	softib_trap_frame(&frame, &smp, sw->lid, sw->sm_lid);
	frame.vl = SOFTIB_VL_SMP;

	rcu_read_lock();
	softib_capture_frame(&frame);
	softib_switch_unicast(&frame);
	rcu_read_unlock();
}

/* Trap 144, local change, IBTA 14.2.5.1 */
static void softib_trap_port_work(struct work_struct *work)
{
	struct softib_trap *trap = container_of(to_delayed_work(work),
						struct softib_trap, work);
	struct softib_port *port = container_of(trap, struct softib_port, trap);
	u16 sm_lid = READ_ONCE(port->ibp.sm_lid);
	struct ib_mad_notice_attr *notice;
	struct softib_frame frame;
	struct ib_smp smp;
	u8 changes;
	u64 tid;

	if (!softib_trap_take(trap, &tid, &changes))
		return;
	if (!softib_trap_sm_known(sm_lid) || !port->lid)
		return;
	softib_trap_fill(&smp, tid, IB_NOTICE_PROD_CA,
			 IB_NOTICE_TRAP_CAP_MASK_CHG, port->lid);
	notice = (struct ib_mad_notice_attr *)smp.data;
	notice->generic_type = IB_NOTICE_TYPE_INFO;
	notice->details.ntc_144.lid = cpu_to_be16(port->lid);
	notice->details.ntc_144.new_cap_mask =
		cpu_to_be32(port->ibp.port_cap_flags);
	if (changes) {
		notice->details.ntc_144.local_changes = 1;
		notice->details.ntc_144.change_flags = changes;
	}
	softib_trap_frame(&frame, &smp, port->lid, sm_lid);
	frame.sl = port->ibp.sm_sl;
	softib_port_tx(port, &frame);
}

void softib_trap_init_switch(struct softib_trap *trap)
{
	INIT_DELAYED_WORK(&trap->work, softib_trap_switch_work);
}

void softib_trap_init_port(struct softib_trap *trap)
{
	INIT_DELAYED_WORK(&trap->work, softib_trap_port_work);
}

/* Cancel the pending trap, and send no more traps. Context: sleeps. */
void softib_trap_stop(struct softib_trap *trap)
{
	spin_lock_irq(&softib_fabric->lock);
	trap->stopped = true;
	trap->left = 0;
	spin_unlock_irq(&softib_fabric->lock);
	cancel_delayed_work_sync(&trap->work);
}

/* TrapRepress of the subnet manager. @tid: transaction ID of the trap. Context: any. */
void softib_trap_repress(struct softib_trap *trap, __be64 tid)
{
	unsigned long flags;

	spin_lock_irqsave(&softib_fabric->lock, flags);
	if (be64_to_cpu(tid) == trap->tid) {
		trap->left = 0;
		trap->changes = 0;
	}
	spin_unlock_irqrestore(&softib_fabric->lock, flags);
}

/*
 * Send a trap to the subnet manager. @changes: change flags of trap 144
 * Context: any; the fabric's lock not held.
 */
void softib_trap_raise(struct softib_trap *trap, u8 changes)
{
	unsigned long flags;

	spin_lock_irqsave(&softib_fabric->lock, flags);
	if (!trap->stopped) {
		trap->tid++;
		trap->left = SOFTIB_TRAP_TIMES;
		trap->changes |= changes;
		mod_delayed_work(softib_fabric->wq, &trap->work, 0);
	}
	spin_unlock_irqrestore(&softib_fabric->lock, flags);
}
