/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The LNet transport under the header's name of the design. */
#ifndef JACQUARD_M0_NET_LNET_H
#define JACQUARD_M0_NET_LNET_H
#include "net/lnet/lnet.h"
#endif
