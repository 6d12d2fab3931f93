/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which consumers of some releases include lnet/lnetctl.h. */
#ifndef JACQUARD_UAPI_LINUX_LNET_LNETCTL_H
#define JACQUARD_UAPI_LINUX_LNET_LNETCTL_H
#include "lnet/lnetctl.h"
#endif
