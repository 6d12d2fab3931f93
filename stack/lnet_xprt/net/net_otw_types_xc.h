/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sources include it for the coding of the types of net_otw_types.h, which nothing here does. */
#ifndef M0_NET_NET_OTW_TYPES_XC_H
#define M0_NET_NET_OTW_TYPES_XC_H

#include "net/net_otw_types.h"

#endif
