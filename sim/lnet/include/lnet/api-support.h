/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which kernel code includes lnet/api.h. */
#ifndef JACQUARD_LNET_API_SUPPORT_H
#define JACQUARD_LNET_API_SUPPORT_H
#include "lnet/api.h"
#endif
