/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes libcfs/libcfs.h, beside the system's header of that name.
 */
#ifndef JACQUARD_LINUX_FS_H
#define JACQUARD_LINUX_FS_H
#include_next <linux/fs.h>
#include "libcfs/libcfs.h"
#endif
