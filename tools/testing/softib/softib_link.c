// SPDX-License-Identifier: GPL-2.0
/*
 * Cables: the link between an HCA port and a switch port.
 *
 * The physical state of a link is the same for both ends; the logical state
 * (INIT, ARMED, ACTIVE) belongs to an end, and is set by the subnet manager.
 * The fabric's lock guards the softib_link of both ends, and all state that
 * decides whether the link is up.
 */
#include "softib.h"

#define SOFTIB_WIDTHS		(IB_WIDTH_1X | IB_WIDTH_4X)
#define SOFTIB_SPEEDS		7	/* 2.5, 5 and 10 Gb/s lanes */
#define SOFTIB_SPEED_ACTIVE	4	/* 10 Gb/s lanes, with the extended speed below */
#define SOFTIB_EXT_SPEEDS	3	/* FDR, EDR */
#define SOFTIB_EXT_ACTIVE	2	/* EDR */

/* Offsets in PortInfo of fields that struct ib_port_info lacks */
#define SOFTIB_PI_EXT_SPEED	62	/* LinkSpeedExtActive, ...Supported */
#define SOFTIB_PI_EXT_ENABLED	63

/*
 * Initialise an end of a link, before training. MTU and operational VLs start at the maximum of
 * both ends: OpenSM takes a link down to change them, and loses its own reply.
 */
void softib_link_init(struct softib_link *link)
{
	memset(link, 0, sizeof(*link));
	link->state = IB_PORT_DOWN;
	link->phys = IB_PORT_PHYS_STATE_POLLING;
	link->mtu = softib_fabric->mtu;
	link->mtu_enum = softib_fabric->mtu_enum;
	link->op_vls = SOFTIB_VL_CAP;
	link->width_enabled = SOFTIB_WIDTHS;
	link->width = IB_WIDTH_4X;
	link->speed_enabled = SOFTIB_SPEEDS;
	link->ext_speed_enabled = SOFTIB_EXT_SPEEDS;
}

/* Add the state of an end of a link to a PortInfo. Context: the fabric's lock held. */
void softib_link_get(const struct softib_link *link, struct ib_smp *smp)
{
	struct ib_port_info *pi = (struct ib_port_info *)smp->data;

	lockdep_assert_held(&softib_fabric->lock);
	pi->link_width_enabled = link->width_enabled;
	pi->link_width_supported = SOFTIB_WIDTHS;
	pi->link_width_active = link->width;
	pi->linkspeed_portstate = SOFTIB_SPEEDS << 4 | link->state;
	pi->portphysstate_linkdown = link->phys << 4 |
				     IB_PORT_PHYS_STATE_POLLING;
	pi->linkspeedactive_enabled = SOFTIB_SPEED_ACTIVE << 4 |
				      link->speed_enabled;
	pi->neighbormtu_mastersmsl |= link->mtu_enum << 4;
	pi->vlcap_inittype = SOFTIB_VL_CAP << 4;
	pi->vl_high_limit = link->vl_high_limit;
	pi->vl_arb_high_cap = 32;
	pi->vl_arb_low_cap = 32;
	pi->inittypereply_mtucap = softib_fabric->mtu_enum;
	pi->vlstallcnt_hoqlife = link->stall_hoq;
	pi->operationalvl_pei_peo_fpi_fpo = link->op_vls << 4 | link->enforce;
	smp->data[SOFTIB_PI_EXT_SPEED] = SOFTIB_EXT_ACTIVE << 4 |
					 SOFTIB_EXT_SPEEDS;
	smp->data[SOFTIB_PI_EXT_ENABLED] = link->ext_speed_enabled;
}

static bool softib_link_set_ok(const struct softib_link *link,
			       const struct ib_port_info *pi)
{
	u8 state = pi->linkspeed_portstate & 0xf;

	if (pi->portphysstate_linkdown >> 4 > IB_PORT_PHYS_STATE_DISABLED)
		return false;
	if (pi->neighbormtu_mastersmsl >> 4 > softib_fabric->mtu_enum)
		return false;
	if (pi->operationalvl_pei_peo_fpi_fpo >> 4 > SOFTIB_VL_CAP)
		return false;
	switch (state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return true;
	case IB_PORT_ARMED:
		return link->state == IB_PORT_INIT ||
		       link->state == IB_PORT_ARMED;
	case IB_PORT_ACTIVE:
		return link->state == IB_PORT_ARMED ||
		       link->state == IB_PORT_ACTIVE;
	default:
		return false;
	}
}

static void softib_link_keep(struct softib_link *link,
			     const struct ib_smp *smp)
{
	const struct ib_port_info *pi = (const struct ib_port_info *)smp->data;
	u8 ext = smp->data[SOFTIB_PI_EXT_ENABLED] & 0x1f;

	/* Zero is "no change", all ones is "all supported". */
	if (pi->link_width_enabled == 0xff)
		link->width_enabled = SOFTIB_WIDTHS;
	else if (pi->link_width_enabled)
		link->width_enabled = pi->link_width_enabled;
	if ((pi->linkspeedactive_enabled & 0xf) == 0xf)
		link->speed_enabled = SOFTIB_SPEEDS;
	else if (pi->linkspeedactive_enabled & 0xf)
		link->speed_enabled = pi->linkspeedactive_enabled & 0xf;
	if (ext == 0x1f)
		link->ext_speed_enabled = SOFTIB_EXT_SPEEDS;
	else if (ext)
		link->ext_speed_enabled = ext;
	link->vl_high_limit = pi->vl_high_limit;
	link->stall_hoq = pi->vlstallcnt_hoqlife;
	link->enforce = pi->operationalvl_pei_peo_fpi_fpo & 0xf;
}

/**
 * softib_link_set() - apply the PortInfo of a Set to an end of a link
 * @link: the end
 * @smp: the PortInfo
 * @retrain: set to true if the caller must call softib_link_train()
 *
 * Context: the fabric's lock held.
 * Return: false, without any change, if a value is invalid.
 */
bool softib_link_set(struct softib_link *link, const struct ib_smp *smp,
		     bool *retrain)
{
	const struct ib_port_info *pi = (const struct ib_port_info *)smp->data;
	u8 phys = pi->portphysstate_linkdown >> 4;
	u8 state = pi->linkspeed_portstate & 0xf;
	u8 vls = pi->operationalvl_pei_peo_fpi_fpo >> 4;
	u8 mtu = pi->neighbormtu_mastersmsl >> 4;

	lockdep_assert_held(&softib_fabric->lock);
	if (!softib_link_set_ok(link, pi))
		return false;
	softib_link_keep(link, smp);
	if (mtu) {
		link->mtu_enum = mtu;
		WRITE_ONCE(link->mtu, ib_mtu_enum_to_int(mtu));
	}
	if (vls)
		link->op_vls = vls;
	if (state == IB_PORT_ARMED || state == IB_PORT_ACTIVE)
		WRITE_ONCE(link->state, state);
	if (phys == IB_PORT_PHYS_STATE_DISABLED)
		link->disabled = true;
	else if (phys)
		link->disabled = false;
	*retrain = state == IB_PORT_DOWN || phys;
	return true;
}

/* Use all lanes if both ends have these enabled. */
static void softib_link_set_width(struct softib_link *link, struct softib_link *far)
{
	u8 both = link->width_enabled & far->width_enabled;

	link->width = both & IB_WIDTH_4X ? IB_WIDTH_4X : IB_WIDTH_1X;
	far->width = link->width;
}

static void softib_link_set_state(struct softib_link *link, bool up)
{
	if (link->state != IB_PORT_DOWN)
		link->downed++;
	WRITE_ONCE(link->state, up ? IB_PORT_INIT : IB_PORT_DOWN);
	if (up)
		link->phys = IB_PORT_PHYS_STATE_LINK_UP;
	else if (link->disabled)
		link->phys = IB_PORT_PHYS_STATE_DISABLED;
	else
		link->phys = IB_PORT_PHYS_STATE_POLLING;
}

/**
 * softib_link_train() - set the state of a link from the state of its ends
 * @port: the HCA's end
 * @bounce: take the link down first, even if it comes up again
 *
 * Training takes no time: a subnet manager that takes a link down still gets
 * its reply over this link.
 *
 * Context: any; the fabric's lock not held; the caller keeps @port alive.
 */
void softib_link_train(struct softib_port *port, bool bounce)
{
	struct softib_switch *sw = &softib_fabric->sw;
	struct softib_link *far = &sw->port[port->swport].link;
	unsigned long flags;
	bool up, change;
	u8 was;

	spin_lock_irqsave(&softib_fabric->lock, flags);
	up = port->plugged && !port->link.disabled && !far->disabled &&
	     !port->dev->node->link_off[port->num - 1];
	was = port->link.state;
	change = bounce || up != (was != IB_PORT_DOWN);
	if (change) {
		softib_link_set_width(&port->link, far);
		softib_link_set_state(&port->link, up);
		softib_link_set_state(far, up);
		sw->state_change = true;
	}
	spin_unlock_irqrestore(&softib_fabric->lock, flags);

	if (!change)
		return;
	if (was == IB_PORT_ACTIVE)
		softib_port_event(port, IB_EVENT_PORT_ERR);
	softib_trap_raise(&sw->trap, 0);
}

/* Connect a registered port to its switch port. Context: the fabric's mutex held. */
void softib_link_plug(struct softib_port *port)
{
	struct softib_swport *far = &softib_fabric->sw.port[port->swport];

	spin_lock_irq(&softib_fabric->lock);
	softib_link_init(&far->link);
	port->plugged = true;
	spin_unlock_irq(&softib_fabric->lock);
	rcu_assign_pointer(far->peer, port);
	softib_link_train(port, false);
}

/*
 * Disconnect a port from the switch. On return no frame reaches the port any more, and frames of
 * the port are in flight only from its own QPs. Context: the fabric's mutex held; sleeps.
 */
void softib_link_unplug(struct softib_port *port)
{
	struct softib_swport *far = &softib_fabric->sw.port[port->swport];

	spin_lock_irq(&softib_fabric->lock);
	port->plugged = false;
	spin_unlock_irq(&softib_fabric->lock);
	softib_link_train(port, false);
	RCU_INIT_POINTER(far->peer, NULL);
	synchronize_rcu_expedited();
}
