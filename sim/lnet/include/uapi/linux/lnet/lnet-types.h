/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which consumers of some releases include lnet/lib-types.h. */
#ifndef JACQUARD_UAPI_LINUX_LNET_LNET_TYPES_H
#define JACQUARD_UAPI_LINUX_LNET_LNET_TYPES_H
#include "lnet/lib-types.h"
#endif
