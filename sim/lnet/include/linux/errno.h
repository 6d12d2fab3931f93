/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's own error numbers, beside the system's header of that name. */
#ifndef JACQUARD_LINUX_ERRNO_H
#define JACQUARD_LINUX_ERRNO_H
#include_next <linux/errno.h>
#include "libcfs/kernel/error.h"
#endif
