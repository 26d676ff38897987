// SPDX-License-Identifier: GPL-2.0
/*
 * ipoib_cover.ko: which code of ib_ipoib, and of the unit tests, has run. Modules that are
 * compiled for it (vm/build --cover) call their own recorder, trace.h, at the begin of each basic
 * block, which sets the bit of the address. The bits are here, as the modules come and go:
 *
 *	ipoib_cover/ib_ipoib, ipoib_kunit	the maps, little endian
 *	ipoib_cover/clear			whatever is written clears both
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/string.h>

#include "ipoib_cover.h"

unsigned long ipoib_cover_driver[BITS_TO_LONGS(IPOIB_COVER_BITS)];
EXPORT_SYMBOL_GPL(ipoib_cover_driver);

unsigned long ipoib_cover_kunit[BITS_TO_LONGS(IPOIB_COVER_BITS)];
EXPORT_SYMBOL_GPL(ipoib_cover_kunit);

static struct debugfs_blob_wrapper cover_driver_blob = {
	.data = ipoib_cover_driver,
	.size = sizeof(ipoib_cover_driver),
};

static struct debugfs_blob_wrapper cover_kunit_blob = {
	.data = ipoib_cover_kunit,
	.size = sizeof(ipoib_cover_kunit),
};

static int cover_clear(void *data, u64 value)
{
	memset(ipoib_cover_driver, 0, sizeof(ipoib_cover_driver));
	memset(ipoib_cover_kunit, 0, sizeof(ipoib_cover_kunit));
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(cover_clear_fops, NULL, cover_clear, "%llu\n");

/* It stays: modprobe -r ib_ipoib would remove it, too. */
static int __init cover_init(void)
{
	struct dentry *dir;

	__module_get(THIS_MODULE);
	dir = debugfs_create_dir("ipoib_cover", NULL);
	debugfs_create_blob("ib_ipoib", 0400, dir, &cover_driver_blob);
	debugfs_create_blob("ipoib_kunit", 0400, dir, &cover_kunit_blob);
	debugfs_create_file_unsafe("clear", 0200, dir, NULL, &cover_clear_fops);
	return 0;
}
module_init(cover_init);

MODULE_DESCRIPTION("Which code of ib_ipoib has run");
MODULE_LICENSE("GPL");
