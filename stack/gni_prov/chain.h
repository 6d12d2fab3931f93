/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Chained transactions: gni_pub.h has them from release 0x5d on. With -DBACKEND=real CMake compiles
 * a probe and defines GNIP_NO_CHAINS when they are missing. Then GNIP_CHAINS is 0, each transaction
 * is posted by itself, and nobody calls gnip_chain_post.
 */
#ifndef JACQUARD_GNIP_CHAIN_H
#define JACQUARD_GNIP_CHAIN_H

#include <stdint.h>
#include "gni_pub.h"

#ifndef GNIP_NO_CHAINS
#define GNIP_CHAINS 1
typedef gni_ct_get_post_descriptor_t gnip_chained_get;
#else
#define GNIP_CHAINS 0
typedef struct gnip_chained_get { /* with the fields that it has in 0x5d */
    void *next_descr;
    gni_ep_handle_t ep_hndl;
    uint64_t length, remote_addr;
    gni_mem_handle_t remote_mem_hndl;
    uint64_t local_addr;
    gni_mem_handle_t local_mem_hndl;
} gnip_chained_get;
#endif

static inline gni_return_t gnip_chain_post(gni_ep_handle_t ep, gni_post_descriptor_t *head)
{
#if GNIP_CHAINS
    return GNI_CtPostFma(ep, head);
#else
    (void)ep;
    (void)head;
    return GNI_RC_ILLEGAL_OP;
#endif
}

#endif
