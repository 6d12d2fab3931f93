/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes uapi/linux/lnet/libcfs_ioctl.h. */
#ifndef JACQUARD_LINUX_LNET_LIBCFS_IOCTL_H
#define JACQUARD_LINUX_LNET_LIBCFS_IOCTL_H
#include "uapi/linux/lnet/libcfs_ioctl.h"
#endif
