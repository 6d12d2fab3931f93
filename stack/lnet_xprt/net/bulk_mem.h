/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport in memory, between the domains of a process. An address is "dottedIP:port". */
#ifndef M0_NET_BULK_MEM_H
#define M0_NET_BULK_MEM_H

#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct m0_net_xprt m0_net_bulk_mem_xprt;
/* Make the transport known to m0_net, if it is not yet. 0. */
int m0_mem_xprt_init(void);
void m0_mem_xprt_fini(void); /* the opposite; no effect if it is not known */
enum { M0_NET_BULK_MEM_XEP_ADDR_LEN = 36 };

/* Threads that deliver a machine's events; 1 at first. pre: INITIALIZED */
void m0_net_bulk_mem_tm_set_num_threads(struct m0_net_transfer_mc *tm, size_t num);
size_t m0_net_bulk_mem_tm_get_num_threads(const struct m0_net_transfer_mc *tm);

#ifdef __cplusplus
}
#endif

#endif
