/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which consumers of some releases include LNet. */
#ifndef JACQUARD_LNET_TYPES_H
#define JACQUARD_LNET_TYPES_H
#include "lnet/api.h"
#endif
