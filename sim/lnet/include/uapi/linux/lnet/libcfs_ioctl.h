/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which consumers of some releases include libcfs/libcfs_ioctl.h. */
#ifndef JACQUARD_UAPI_LINUX_LNET_LIBCFS_IOCTL_H
#define JACQUARD_UAPI_LINUX_LNET_LIBCFS_IOCTL_H
#include "libcfs/libcfs_ioctl.h"
#endif
