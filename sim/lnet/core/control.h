/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of LNetCtl. */
#ifndef JACQUARD_LNET_CONTROL_H
#define JACQUARD_LNET_CONTROL_H

#include "core/internal.h"
#include "uapi/linux/lnet/lnet-dlc.h"

/* Commands that show a state; 1: it is none of them. `node` may have no instance. */
int lnet_control_show(struct lnet_node *node, unsigned command, void *argument);
/* Commands that wait for other nodes, called without the lock; 1: it is none of them. */
int lnet_control_ping(unsigned command, void *argument);

#endif
