/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device "sim:" of the user flavour, for processes in the same address space as the driver. */
#ifndef JACQUARD_M0_KLNET_LOCAL_H
#define JACQUARD_M0_KLNET_LOCAL_H

#include "net/lnet/linux_kernel/klnet_drv.h"

/*
 * From now on a domain opened by the name "sim:" belongs to the driver that `find` returns (NULL:
 * none, -ENOENT).
 */
void nlx_dd_local_set(struct nlx_dd *(*find)(void));
/* See m0_net_lnet_exit_at_driver_call(). */
void nlx_dd_local_exit_at(uint64_t number, bool after);
/* The calling process. */
void nlx_dd_local_proc(struct nlx_dd_proc *proc);

#endif
