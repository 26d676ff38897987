/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before each file of rdmavt where it is compiled for another machine than x86, whose
 * cache it asks for its size and whose copies around the cache it uses.
 */
#define boot_cpu_data		rdmavt_cpu_data
#define copy_to_nontemporal	memcpy

static const struct {
	unsigned int x86_cache_size;
} rdmavt_cpu_data __maybe_unused = { 1024 };
