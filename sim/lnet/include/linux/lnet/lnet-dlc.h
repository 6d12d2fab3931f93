/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes lnet/lnet-dlc.h. */
#ifndef JACQUARD_LINUX_LNET_LNET_DLC_H
#define JACQUARD_LINUX_LNET_LNET_DLC_H
#include "lnet/lnet-dlc.h"
#endif
