/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For `build --without-cm`: the kernel that the driver is compiled for has connected
 * mode in its configuration.
 */
#undef CONFIG_INFINIBAND_IPOIB_CM
#undef CONFIG_INFINIBAND_IPOIB_DEBUG
