/* SPDX-License-Identifier: GPL-2.0 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#define EXAMPLE_LIMIT	0x40u

#endif
