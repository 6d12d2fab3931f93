/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's names for byte order, beside the system's header of that name. Headers of the system
 * include it, so that programs which are no kernel code do not get the names from here. */
#ifndef JACQUARD_ASM_BYTEORDER_H
#define JACQUARD_ASM_BYTEORDER_H
#include_next <asm/byteorder.h>
#ifdef __KERNEL__
#include "libcfs/kernel/byteorder.h"
#endif
#endif
