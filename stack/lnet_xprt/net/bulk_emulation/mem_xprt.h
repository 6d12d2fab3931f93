/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How the transport in memory becomes known to m0_net: net/bulk_mem.h has it, too. */
#ifndef M0_NET_MEM_XPRT_H
#define M0_NET_MEM_XPRT_H

#include "net/bulk_mem.h"

#endif
