/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A call of uGNI that only drivers of the kernel have: see the kernel's gni_mem_deregister(). */
#ifndef JACQUARD_ARIES_KERNEL_H
#define JACQUARD_ARIES_KERNEL_H

#include <gni_pub.h>

/*
 * Deregisters memory of a connection that has failed. Peers may still have transfers in flight that
 * need it: they fail, and nothing of them is written afterwards. So this is no finding, unlike
 * GNI_MemDeregister() at such a time. Returns what that returns.
 */
gni_return_t aries_kernel_mem_deregister_held(gni_nic_handle_t nic, gni_mem_handle_t *handle);

#endif
