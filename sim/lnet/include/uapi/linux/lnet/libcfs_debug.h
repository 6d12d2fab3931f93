/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes libcfs/libcfs_debug.h. */
#ifndef JACQUARD_UAPI_LINUX_LNET_LIBCFS_DEBUG_H
#define JACQUARD_UAPI_LINUX_LNET_LIBCFS_DEBUG_H
#include "libcfs/libcfs_debug.h"
#endif
