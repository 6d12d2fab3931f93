/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel of the calling process's host, for m0_net over LNet. All processes on a host share it:
 * those of the user flavour by a driver, and at most one that is itself part of the kernel, as a
 * file system client is. What a process leaves behind, the kernel releases.
 */
#ifndef JACQUARD_M0_KERNEL_H
#define JACQUARD_M0_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct m0_net_domain;
struct m0_net_xprt;

enum m0_lnet_flavour { M0_LNET_KERNEL_FLAVOUR, M0_LNET_USER_FLAVOUR };
/* The transport; NULL: no memory. To be ended when no domain is left in the process, which ends
 * m0_net, too. */
const struct m0_net_xprt *m0_net_lnet_begin(enum m0_lnet_flavour flavour);
void m0_net_lnet_end(void);
/* "NID:12345:portal:TMID" of the host's first network but the loopback; tmid -1: any. 0 or a
 * negative errno. */
int m0_net_lnet_address(const struct m0_net_xprt *xprt, char *address, size_t size, unsigned portal,
                        int tmid);
/* Operations of callbacks go to the kernel together; before a machine starts in the domain. */
void m0_net_lnet_submit_in_batches(struct m0_net_domain *dom);
/* How often a machine that starts later in the domain looks for buffers whose timeout is over. */
void m0_net_lnet_timeout_interval(struct m0_net_domain *dom, uint64_t ns);
/*
 * The calling process exits, with status 0, in its driver call with this number, counted from now
 * on and from 1: before the driver begins it, or after it has ended it. For tests of what a process
 * leaves there. Number 0: it does not.
 */
void m0_net_lnet_exit_at_driver_call(uint64_t number, bool after);
/* Calls of the host's driver so far, by all processes. */
uint64_t m0_net_lnet_driver_calls(void);

#endif
