/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes lnet/lnetst.h. */
#ifndef JACQUARD_UAPI_LINUX_LNET_LNETST_H
#define JACQUARD_UAPI_LINUX_LNET_LNETST_H
#include "lnet/lnetst.h"
#endif
