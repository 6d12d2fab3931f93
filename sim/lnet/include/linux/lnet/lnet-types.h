/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes uapi/linux/lnet/lnet-types.h. */
#ifndef JACQUARD_LINUX_LNET_LNET_TYPES_H
#define JACQUARD_LINUX_LNET_LNET_TYPES_H
#include "uapi/linux/lnet/lnet-types.h"
#endif
