/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A kernel flavour of the transport whose host is the calling process: one process on a host uses
 * LNet through it, as a file system client in the kernel does.
 */
#ifndef JACQUARD_M0_KERNEL_H
#define JACQUARD_M0_KERNEL_H

#include <stddef.h>

struct m0_net_xprt;
/* The transport; NULL: no memory. To be ended when no domain is left in the
 * process, which ends m0_net, too. */
const struct m0_net_xprt *m0_net_lnet_kernel_begin(void);
void m0_net_lnet_kernel_end(void);
/* "NID:12345:portal:TMID" of the host's first network but the loopback; tmid -1: any. 0 or a
 * negative errno. */
int m0_net_lnet_kernel_address(char *address, size_t size, unsigned portal, int tmid);

#endif
