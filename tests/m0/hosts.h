/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernels of the nodes, which both flavours need. */
#ifndef JACQUARD_TESTS_M0_HOSTS_H
#define JACQUARD_TESTS_M0_HOSTS_H

#include "net/lnet/linux_kernel/klnet_core.h"
#include "rig.h"

extern struct nlx_kcore_host hosts[WORLD_NODES];
void hosts_begin(void);
void hosts_end(void); /* nothing is left in them */

#endif
