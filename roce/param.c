// SPDX-License-Identifier: GPL-2.0
/*
 * Which RoCE ports get an interface: the module parameter "roce".
 *
 * Every Ethernet adapter with RDMA has a RoCE port, and hardly anybody wants
 * IPoIB there, so nothing is selected unless root says so. The value is a list
 * of patterns for names of RDMA devices, each with a VLAN if it is not the
 * untagged link that is meant:
 *
 * roce=rxe0,mlx5_*@100
 */
#include <linux/ctype.h>
#include <linux/glob.h>
#include <linux/if_vlan.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "ipoib.h"

/* Longest value of the parameter, and most patterns in it. */
#define IPOIB_ROCE_TEXT_MAX	1024
#define IPOIB_ROCE_PATTERNS_MAX	64

/**
 * struct ipoib_roce_pattern - one element of the list
 * @name: pattern for the name of an RDMA device
 * @vid: VLAN, 0 for the untagged link
 */
struct ipoib_roce_pattern {
	char *name;
	u16 vid;
};

/**
 * struct ipoib_roce_list - a value of the parameter
 * @shown: as it was written
 * @text: the same, cut into the names of @pattern
 * @count: how many
 * @pattern: the elements
 */
struct ipoib_roce_list {
	char *shown;
	char *text;
	unsigned int count;
	struct ipoib_roce_pattern pattern[IPOIB_ROCE_PATTERNS_MAX];
};

/* Innermost: nothing is called with it held. */
static DEFINE_MUTEX(ipoib_roce_list_lock);
static struct ipoib_roce_list *ipoib_roce_list;

/* Called after each change; NULL while the module is loaded. */
static void (*ipoib_roce_changed)(void);

static void ipoib_roce_list_free(struct ipoib_roce_list *list)
{
	if (!list)
		return;
	kfree(list->text);
	kfree(list->shown);
	kfree(list);
}

static bool ipoib_roce_name_valid(const char *name)
{
	const char *c;

	for (c = name; *c; c++)
		if (!isgraph(*c))
			return false;
	return c > name && c - name < IB_DEVICE_NAME_MAX;
}

static int ipoib_roce_parse_one(struct ipoib_roce_list *list, char *word)
{
	struct ipoib_roce_pattern *pattern = &list->pattern[list->count];
	char *vid = strrchr(word, '@');

	if (list->count == IPOIB_ROCE_PATTERNS_MAX)
		return -EINVAL;
	if (vid) {
		*vid++ = '\0';
		if (kstrtou16(vid, 10, &pattern->vid) || !pattern->vid ||
		    pattern->vid >= VLAN_VID_MASK)
			return -EINVAL;
	}
	if (!ipoib_roce_name_valid(word))
		return -EINVAL;
	pattern->name = word;
	list->count++;
	return 0;
}

static int ipoib_roce_parse(struct ipoib_roce_list *list)
{
	char *rest = list->text, *word;
	int err;

	if (!*rest)
		return 0;
	while ((word = strsep(&rest, ","))) {
		err = ipoib_roce_parse_one(list, word);
		if (err)
			return err;
	}
	return 0;
}

static struct ipoib_roce_list *ipoib_roce_list_make(const char *val)
{
	struct ipoib_roce_list *list;
	int err = -ENOMEM;

	if (strlen(val) > IPOIB_ROCE_TEXT_MAX)
		return ERR_PTR(-EINVAL);
	list = kzalloc(sizeof(*list), GFP_KERNEL);
	if (!list)
		return ERR_PTR(-ENOMEM);
	list->shown = kstrdup(val, GFP_KERNEL);
	if (!list->shown)
		goto free_list;
	/* As echo writes it. */
	strim(list->shown);
	list->text = kstrdup(list->shown, GFP_KERNEL);
	if (!list->text)
		goto free_list;
	err = ipoib_roce_parse(list);
	if (err)
		goto free_list;
	return list;

free_list:
	ipoib_roce_list_free(list);
	return ERR_PTR(err);
}

static int ipoib_roce_param_set(const char *val, const struct kernel_param *kp)
{
	struct ipoib_roce_list *list;
	void (*changed)(void);

	list = ipoib_roce_list_make(val);
	if (IS_ERR(list)) {
		if (PTR_ERR(list) == -EINVAL)
			pr_err("ipoib: roce= takes names or patterns of RDMA devices, each with @VLAN if need be, separated by commas\n");
		return PTR_ERR(list);
	}
	mutex_lock(&ipoib_roce_list_lock);
	swap(list, ipoib_roce_list);
	mutex_unlock(&ipoib_roce_list_lock);
	ipoib_roce_list_free(list);
	changed = READ_ONCE(ipoib_roce_changed);
	if (changed)
		changed();
	return 0;
}

static int ipoib_roce_param_get(char *buffer, const struct kernel_param *kp)
{
	int len;

	mutex_lock(&ipoib_roce_list_lock);
	len = sysfs_emit(buffer, "%s\n",
			 ipoib_roce_list ? ipoib_roce_list->shown : "");
	mutex_unlock(&ipoib_roce_list_lock);
	return len;
}

static void ipoib_roce_param_free(void *arg)
{
	ipoib_roce_list_free(ipoib_roce_list);
	ipoib_roce_list = NULL;
}

static const struct kernel_param_ops ipoib_roce_param_ops = {
	.set = ipoib_roce_param_set,
	.get = ipoib_roce_param_get,
	.free = ipoib_roce_param_free,
};

module_param_cb(roce, &ipoib_roce_param_ops, NULL, 0644);
MODULE_PARM_DESC(roce, "RDMA devices whose RoCE ports get an interface: patterns separated by commas, each with @VLAN if need be (default: none)");

/**
 * ipoib_roce_next_vid - VLANs of a device that interfaces are wanted for
 * @ca: the device
 * @pos: 0 to begin with
 *
 * A VLAN that several patterns name is returned as often.
 *
 * Return: the next VLAN, 0 for the untagged link; -ENOENT if there is none
 */
int ipoib_roce_next_vid(struct ib_device *ca, unsigned int *pos)
{
	const struct ipoib_roce_pattern *pattern;
	int vid = -ENOENT;

	mutex_lock(&ipoib_roce_list_lock);
	while (vid < 0 && ipoib_roce_list && *pos < ipoib_roce_list->count) {
		pattern = &ipoib_roce_list->pattern[(*pos)++];
		if (glob_match(pattern->name, dev_name(&ca->dev)))
			vid = pattern->vid;
	}
	mutex_unlock(&ipoib_roce_list_lock);
	return vid;
}

/**
 * ipoib_roce_watch_param - have changes of the parameter reported
 * @changed: called after each, in process context without RTNL; NULL for none
 *
 * Context: when no HCA is known: module init, and if that fails
 */
void ipoib_roce_watch_param(void (*changed)(void))
{
	WRITE_ONCE(ipoib_roce_changed, changed);
}
