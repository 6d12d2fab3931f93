/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver of Aries networks. */
#ifndef JACQUARD_LNET_LND_GNI_H
#define JACQUARD_LNET_LND_GNI_H

#include "core/lnd.h"

extern const struct lnet_lnd lnet_lnd_gni;

#endif
