/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What modules beside LNet, such as lnet_selftest, take from inside of it. */
#ifndef JACQUARD_LNET_LIB_LNET_H
#define JACQUARD_LNET_LIB_LNET_H

#include "libcfs/libcfs.h"
#include "libcfs/libcfs_ioctl.h"
#include "lnet/api.h"
#include "lnet/lnet-dlc.h"

#pragma GCC visibility push(default)
/* The counters of the node, since the start or the last reset; also from callbacks. */
void lnet_counters_get(struct lnet_counters *counters);
void lnet_counters_get_common(struct lnet_counters_common *common);
void lnet_counters_reset(void);
#pragma GCC visibility pop

#endif
