/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes libcfs/libcfs.h. */
#ifndef JACQUARD_LINUX_DMA_DIRECTION_H
#define JACQUARD_LINUX_DMA_DIRECTION_H
#include "libcfs/libcfs.h"
#endif
