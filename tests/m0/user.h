/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The drivers of the nodes, in tests of the user flavour. */
#ifndef JACQUARD_TESTS_M0_USER_H
#define JACQUARD_TESTS_M0_USER_H

#include "hosts.h"
#include "net/lnet/linux_kernel/klnet_drv.h"

extern struct nlx_dd *drivers[WORLD_NODES];
void driver_is_unused(unsigned node); /* nothing is open, pinned or mapped */

#endif
