/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes uapi/linux/lnet/lnetctl.h. */
#ifndef JACQUARD_LINUX_LNET_LNETCTL_H
#define JACQUARD_LINUX_LNET_LNETCTL_H
#include "uapi/linux/lnet/lnetctl.h"
#endif
