/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which consumers of some releases include lnet/api.h. */
#ifndef JACQUARD_LNET_LIB_LNET_H
#define JACQUARD_LNET_LIB_LNET_H
#include "lnet/api.h"
#endif
