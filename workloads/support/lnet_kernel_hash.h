/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hash tables of libcfs, for workload lnet_kernel. */
#ifndef SUPPORT_LNET_KERNEL_HASH_H
#define SUPPORT_LNET_KERNEL_HASH_H

/* Adds so many objects to a table that grows and shrinks, and takes them out in several orders.
 * Returns the line of the first condition that does not hold; 0: all do. */
int wl_kernel_hash(int count);

#endif
