// SPDX-License-Identifier: GPL-2.0
/* Tests of the control work: its steps by events and state, locks, failures, resets of the QP */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Functions of the driver, which other suites define, too */
#define ipoib_ctl_work			ctl_ctl_work
#define ipoib_dev_down			ctl_dev_down
#define ipoib_dev_up			ctl_dev_up
#define ipoib_dev_del			ctl_dev_del
#define ipoib_dev_address_moved		ctl_dev_address_moved
#define ipoib_dev_change_address	ctl_dev_change_address
#define ipoib_dev_fit_mtu		ctl_dev_fit_mtu
#define ipoib_port_changed		ctl_port_changed
#define ipoib_port_choose_gid		ctl_port_choose_gid
#define ipoib_port_take			ctl_port_take
#define ipoib_mcast_rejoin		ctl_mcast_rejoin
#define ipoib_ud_restart		ctl_ud_restart
#define ipoib_ud_recover		ctl_ud_recover
#define ipoib_rn_set_mtu		ctl_rn_set_mtu
#define ipoib_cm_listen			ctl_cm_listen

#include "ipoib.h"

/* Locks, works, carrier and log */
#define rtnl_lock()				(ctl_fix->rtnl++)
#define rtnl_unlock()				(ctl_fix->rtnl--)
#define netdev_lock_ops(dev)			(ctl_fix->locked++)
#define netdev_unlock_ops(dev)			(ctl_fix->locked--)
#define netif_carrier_on(dev)			ctl_called('+', true, false)
#define netif_carrier_off(dev)			ctl_called('-', true, false)
#define netdev_warn(dev, format, args...)	(ctl_fix->warned++)
#define queue_delayed_work(wq, work, after)	(ctl_fix->delay = (after))
#define ipoib_ctl_post_later(priv, event, after) ctl_post_later(event, after)

/* Without a delay, or an event */
#define CTL_NONE	ULONG_MAX

/* Attributes of the port that have changed, and states of the interface */
#define CTL_CHANGED	BIT(0)	/* QP or address depend on a changed attribute */
#define CTL_GID		BIT(1)	/* another GID */
#define CTL_PKEY	BIT(2)	/* another P_Key */
#define CTL_MOVED	BIT(3)	/* the stack has set another broadcast address */
#define CTL_STOPPED	BIT(4)	/* down, by the administrator */
#define CTL_BARE	BIT(5)	/* no connected mode */
#define CTL_GONE	BIT(6)	/* unregistered */
#define CTL_GOES	BIT(7)	/* unregistered while the port is read */

#define CTL_UP		(BIT(IPOIB_FLAG_UP) | CTL_DOWN)
#define CTL_DOWN	(BIT(IPOIB_FLAG_PKEY) | BIT(IPOIB_FLAG_PORT_ACTIVE) | \
			 BIT(IPOIB_FLAG_JOINED))
#define CTL_LINK	BIT(IPOIB_CTL_LINK)
#define CTL_PORT	BIT(IPOIB_CTL_PORT)
#define CTL_RESTART	BIT(IPOIB_CTL_RESTART)
#define CTL_RECOVER	BIT(IPOIB_CTL_RECOVER)
#define CTL_DELETE	BIT(IPOIB_CTL_DELETE)

/**
 * struct ctl_row - a run of the control work
 * @flags: flags of the interface
 * @events: events
 * @port: CTL_CHANGED to CTL_GOES
 * @failures: failed runs before
 * @fails: calls that fail
 * @calls: calls in their order
 * @left: events afterwards
 * @after: failed runs afterwards; a run that fails is repeated
 * @warned: lines in the log
 */
struct ctl_row {
	unsigned long flags;
	unsigned long events;
	unsigned int port;
	unsigned int failures;
	const char *fails;
	const char *calls;
	unsigned long left;
	unsigned int after;
	unsigned int warned;
};

/**
 * struct ctl_fixture - fixture of a case
 * @priv: an interface
 * @ops: operations of its fabric
 * @dev: its net_device
 * @row: the run
 * @calls: calls in their order; '!' with wrong arguments or locks
 * @rtnl: RTNL is held
 * @locked: the lock of the net_device is held
 * @warned: lines in the log
 * @delay: delay of the queued work, or CTL_NONE
 * @later: event posted for later, or CTL_NONE
 * @later_delay: its delay
 */
struct ctl_fixture {
	struct ipoib_dev priv;
	struct ipoib_fabric_ops ops;
	struct net_device *dev;
	const struct ctl_row *row;
	char calls[32];
	int rtnl;
	int locked;
	unsigned int warned;
	unsigned long delay;
	unsigned long later;
	unsigned long later_delay;
};

/* The fixture of the running case */
static struct ctl_fixture *ctl_fix;

/* Note a call, which expects RTNL, and the lock of the net_device. Return: its result */
static int ctl_called(char call, bool rtnl, bool locked)
{
	unsigned int n = strlen(ctl_fix->calls);

	if (n < sizeof(ctl_fix->calls) - 1)
		ctl_fix->calls[n] = ctl_fix->rtnl == rtnl && ctl_fix->locked == locked ? call : '!';
	return ctl_fix->row->fails && strchr(ctl_fix->row->fails, call) ? -EIO : 0;
}

static void ctl_post_later(unsigned long event, unsigned long delay)
{
	ctl_fix->later = event;
	ctl_fix->later_delay = delay;
}

/* ---- functions of the driver ---- */

void ipoib_dev_down(struct ipoib_dev *priv)
{
	ctl_called('d', true, true);
	clear_bit(IPOIB_FLAG_UP, &priv->flags);
}

int ipoib_dev_up(struct ipoib_dev *priv)
{
	int err = ctl_called('u', true, true);

	if (!err)
		set_bit(IPOIB_FLAG_UP, &priv->flags);
	return err;
}

void ipoib_dev_del(struct ipoib_dev *priv, struct list_head *head)
{
	ctl_called(head ? '!' : 'D', true, false);
}

bool ipoib_dev_address_moved(const struct ipoib_dev *priv)
{
	return ctl_fix->row->port & CTL_MOVED;
}

void ipoib_dev_change_address(struct ipoib_dev *priv)
{
	ctl_called('c', true, false);
}

int ipoib_dev_fit_mtu(struct ipoib_dev *priv)
{
	return ctl_called('f', true, false);
}

bool ipoib_port_changed(const struct ipoib_dev *priv, const struct ipoib_port *port)
{
	return ctl_fix->row->port & CTL_CHANGED;
}

void ipoib_port_choose_gid(struct ipoib_dev *priv, struct ipoib_port *port)
{
	ctl_called('g', true, false);
	port->lmc = 3;
}

void ipoib_port_take(struct ipoib_dev *priv, const struct ipoib_port *port)
{
	/* As it was read, and chosen */
	ctl_called(port->lid == 7 && port->lmc == 3 ? 't' : '!', true, false);
	priv->local_gid = port->gid;
	priv->pkey = port->pkey;
}

void ipoib_mcast_rejoin(struct ipoib_dev *priv)
{
	ctl_called('r', true, false);
}

int ipoib_ud_restart(struct ipoib_dev *priv)
{
	return ctl_called('R', true, true);
}

void ipoib_ud_recover(struct ipoib_dev *priv)
{
	ctl_called('V', true, false);
}

int ipoib_rn_set_mtu(struct ipoib_dev *priv, unsigned int mtu)
{
	return ctl_called(mtu == 2044 ? 'm' : '!', true, true);
}

int ipoib_cm_listen(struct ipoib_dev *priv)
{
	return ctl_called('l', true, false);
}

static int ctl_port_read(struct ipoib_dev *priv, struct ipoib_port *port)
{
	unsigned int changes = ctl_fix->row->port;

	port->lid = 7;
	port->gid.raw[15] = changes & CTL_GID ? 2 : 1;
	port->pkey = changes & CTL_PKEY ? 0x8002 : 0x8001;
	if (changes & CTL_GOES)
		ctl_fix->dev->reg_state = NETREG_UNREGISTERING;
	return ctl_called('q', false, false);
}

#include "ipoib_ctl.c"

static int ctl_init(struct kunit *test)
{
	struct ctl_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev(0, "ipoib_ctl%d", NET_NAME_ENUM, ether_setup);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	fix->ops.port_read = ctl_port_read;
	fix->priv.fabric = &fix->ops;
	fix->priv.netdev = fix->dev;
	fix->priv.mcast_mtu = 2044;
	test->priv = fix;
	ctl_fix = fix;
	return 0;
}

static void ctl_exit(struct kunit *test)
{
	struct ctl_fixture *fix = test->priv;

	/* Never registered */
	fix->dev->reg_state = NETREG_UNINITIALIZED;
	free_netdev(fix->dev);
	kvfree(fix);
}

/* Run the work after a reset of the QP at @restarted. */
static void ctl_run(struct ctl_fixture *fix, const struct ctl_row *row, unsigned long restarted)
{
	struct ipoib_dev *priv = &fix->priv;

	fix->row = row;
	memset(fix->calls, 0, sizeof(fix->calls));
	fix->warned = 0;
	fix->delay = CTL_NONE;
	fix->later = CTL_NONE;
	fix->dev->reg_state = row->port & CTL_GONE ? NETREG_UNREGISTERING : NETREG_REGISTERED;
	fix->dev->state = row->port & CTL_STOPPED ? 0 : BIT(__LINK_STATE_START);
	priv->cm = row->port & CTL_BARE ? NULL : (void *)fix;
	priv->flags = row->flags;
	priv->ctl.events = row->events;
	priv->ctl.failures = row->failures;
	priv->ctl.restarted = restarted;
	memset(&priv->local_gid, 0, sizeof(priv->local_gid));
	priv->local_gid.raw[15] = 1;
	priv->pkey = 0x8001;
	ipoib_ctl_work(&priv->ctl.work.work);
}

static void ctl_check(struct kunit *test, const struct ctl_row *row)
{
	struct ctl_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->priv;
	unsigned long delay = row->after > row->failures ? ipoib_backoff_fast(row->failures) :
							   CTL_NONE;

	ipoib_expect_calls(test, fix->calls, row->calls);
	KUNIT_EXPECT_EQ(test, priv->ctl.events, row->left);
	KUNIT_EXPECT_EQ(test, priv->ctl.failures, row->after);
	KUNIT_EXPECT_EQ(test, fix->delay, delay);
	KUNIT_EXPECT_EQ(test, fix->warned, row->warned);
	KUNIT_EXPECT_EQ(test, fix->rtnl, 0);
	KUNIT_EXPECT_EQ(test, fix->locked, 0);
}

static void ctl_check_rows(struct kunit *test, const struct ctl_row *rows, unsigned int n)
{
	struct ctl_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < n; i++) {
		ctl_run(fix, &rows[i], jiffies - IPOIB_RESTART_PAUSE);
		ctl_check(test, &rows[i]);
		KUNIT_EXPECT_EQ(test, fix->later, CTL_NONE);
	}
}

static void ctl_states(struct kunit *test)
{
	static const struct ctl_row rows[] = {
		{ CTL_UP, CTL_LINK, 0, 3, NULL, "mf+l", 0, 0, 0 },
		{ CTL_UP, 0, CTL_BARE, 0, NULL, "mf+", 0, 0, 0 },
		{ CTL_UP & ~BIT(IPOIB_FLAG_PORT_ACTIVE), CTL_LINK, 0, 0, NULL, "-l", 0, 0, 0 },
		{ CTL_UP & ~BIT(IPOIB_FLAG_JOINED), CTL_LINK, 0, 0, NULL, "-l", 0, 0, 0 },
		{ CTL_DOWN, CTL_LINK, 0, 1, NULL, "-l", 0, 0, 0 },
		/* An HCA that has failed, and interfaces that go */
		{ CTL_UP | BIT(IPOIB_FLAG_DEAD), CTL_PORT | CTL_RESTART, CTL_CHANGED, 2, NULL,
		  "d", 0, 0, 0 },
		{ CTL_UP, CTL_PORT | CTL_DELETE, CTL_CHANGED, 2, NULL, "D",
		  CTL_PORT | CTL_DELETE, 2, 0 },
		{ CTL_UP, CTL_PORT | CTL_LINK, CTL_GONE, 1, NULL, "", CTL_PORT | CTL_LINK, 1, 0 },
		{ CTL_UP, CTL_PORT | CTL_LINK, CTL_GOES, 1, NULL, "q", CTL_LINK, 1, 0 },
		/* Sends that failed */
		{ CTL_UP, CTL_RECOVER, 0, 0, NULL, "Vmf+l", 0, 0, 0 },
		{ CTL_DOWN, CTL_RECOVER, 0, 0, NULL, "-l", 0, 0, 0 },
	};

	ctl_check_rows(test, rows, ARRAY_SIZE(rows));
}

static void ctl_port(struct kunit *test)
{
	static const struct ctl_row rows[] = {
		{ CTL_UP, CTL_PORT, 0, 2, NULL, "qgtrmf+l", 0, 0, 0 },
		{ CTL_UP, CTL_PORT, CTL_CHANGED, 0, NULL, "qgdturmf+l", 0, 0, 0 },
		{ CTL_UP, CTL_PORT, CTL_CHANGED | CTL_PKEY, 0, NULL, "qgdtcurmf+l", 0, 0, 0 },
		{ CTL_UP, CTL_PORT, CTL_CHANGED | CTL_MOVED, 0, NULL, "qgdtcurmf+l", 0, 0, 0 },
		/* An interface that is down, without and with a P_Key */
		{ CTL_UP & ~BIT(IPOIB_FLAG_PKEY), CTL_PORT, CTL_CHANGED, 0, NULL, "qgdtr-l",
		  0, 0, 0 },
		{ CTL_DOWN, CTL_PORT, CTL_STOPPED, 0, NULL, "qgtr-l", 0, 0, 0 },
		{ CTL_DOWN, CTL_PORT, 0, 0, NULL, "qgturmf+l", 0, 0, 0 },
	};
	static const struct ctl_row moved = {
		CTL_UP, CTL_PORT, CTL_CHANGED | CTL_GID, 0, NULL, "qgdtcurmf+l", 0, 0, 0
	};
	static const struct ctl_row stopped = {
		CTL_DOWN, CTL_PORT, CTL_GID | CTL_STOPPED, 0, NULL, "qgtcr-l", 0, 0, 0
	};
	struct ctl_fixture *fix = test->priv;

	ctl_check_rows(test, rows, ARRAY_SIZE(rows));
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_FLAG_ANNOUNCE, &fix->priv.flags));
	/* Neighbours of a running interface learn of another GID. */
	ctl_check_rows(test, &moved, 1);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_FLAG_ANNOUNCE, &fix->priv.flags));
	ctl_check_rows(test, &stopped, 1);
	KUNIT_EXPECT_FALSE(test, test_bit(IPOIB_FLAG_ANNOUNCE, &fix->priv.flags));
}

/* A failure is repeated by its kind: an unread port, or one that was not applied, is read again. */
static void ctl_failures(struct kunit *test)
{
	static const struct ctl_row rows[] = {
		{ CTL_UP, CTL_PORT, 0, 0, "q", "qmf+l", CTL_PORT, 1, 1 },
		{ CTL_UP, CTL_PORT, 0, 3, "q", "qmf+l", CTL_PORT, 4, 0 },
		{ CTL_UP, CTL_PORT, CTL_CHANGED, 0, "u", "qgdtur-l", CTL_PORT, 1, 0 },
		{ CTL_UP, CTL_LINK, 0, 0, "m", "mf+l", 0, 1, 1 },
		{ CTL_UP, CTL_LINK, 0, 0, "f", "mf+l", 0, 1, 1 },
		{ CTL_UP, CTL_LINK, 0, 1, "mf", "mf+l", 0, 2, 0 },
		{ CTL_UP, CTL_LINK, 0, 0, "l", "mf+l", 0, 1, 0 },
		{ CTL_UP, CTL_RESTART, 0, 0, "Ru", "Rdu-l", CTL_PORT, 1, 0 },
		{ CTL_UP, CTL_PORT | CTL_RESTART, CTL_CHANGED, 0, "u", "qgdtur-l", CTL_PORT, 1, 0 },
	};

	ctl_check_rows(test, rows, ARRAY_SIZE(rows));
}

static void ctl_restarts(struct kunit *test)
{
	static const struct ctl_row rows[] = {
		{ CTL_UP, CTL_RESTART, 0, 0, NULL, "Rmf+l", 0, 0, 0 },
		{ CTL_UP, CTL_RESTART | CTL_RECOVER, 0, 0, NULL, "Rmf+l", 0, 0, 0 },
		{ CTL_UP, CTL_RESTART, 0, 0, "R", "Rdumf+l", 0, 0, 0 },
		{ CTL_UP, CTL_RESTART, CTL_MOVED, 0, NULL, "dcumf+l", 0, 0, 0 },
	};
	static const struct ctl_row down = {
		CTL_DOWN, CTL_RESTART, CTL_MOVED, 0, NULL, "-l", 0, 0, 0
	};
	static const struct ctl_row paused = {
		CTL_UP, CTL_RESTART, CTL_MOVED, 0, NULL, "mf+l", 0, 0, 0
	};
	const unsigned long rest = IPOIB_RESTART_PAUSE - IPOIB_RESTART_PAUSE / 2;
	struct ctl_fixture *fix = test->priv;
	unsigned long begin, took;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin = jiffies;
		ctl_check_rows(test, &rows[i], 1);
		KUNIT_EXPECT_TRUE(test, time_in_range(fix->priv.ctl.restarted, begin, jiffies));
	}
	ctl_check_rows(test, &down, 1);
	/* Another reset waits until the pause has passed; again if the guest stood still. */
	for (i = 0; i < 10; i++) {
		begin = jiffies;
		ctl_run(fix, &paused, begin - IPOIB_RESTART_PAUSE / 2);
		took = jiffies - begin;
		if (took < rest)
			break;
	}
	ctl_check(test, &paused);
	KUNIT_EXPECT_EQ(test, fix->priv.ctl.restarted, begin - IPOIB_RESTART_PAUSE / 2);
	KUNIT_EXPECT_EQ(test, fix->later, (unsigned long)IPOIB_CTL_RESTART);
	KUNIT_EXPECT_TRUE(test, fix->later_delay <= rest && fix->later_delay + took >= rest);
}

static struct kunit_case ipoib_ctl_cases[] = {
	KUNIT_CASE(ctl_states),
	KUNIT_CASE(ctl_port),
	KUNIT_CASE(ctl_failures),
	KUNIT_CASE(ctl_restarts),
	{}
};

struct kunit_suite ipoib_ctl_suite = {
	.name = "ipoib_ctl",
	.init = ctl_init,
	.exit = ctl_exit,
	.test_cases = ipoib_ctl_cases,
};
