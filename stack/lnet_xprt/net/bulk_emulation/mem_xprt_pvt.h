/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The objects of the transport in memory. */
#ifndef M0_NET_MEM_XPRT_PVT_H
#define M0_NET_MEM_XPRT_PVT_H

#include "net/bulk_mem.h"
#include "net/net_internal.h"

struct mem_place {
    uint8_t octets[4];
    uint16_t port;
};

struct mem_desc {
    struct mem_place place;
    uint32_t qtype;
    uint64_t length; /* to be read, or the room for what is written */
    uint64_t id;
};

struct mem_fabric {
    struct m0_mutex lock;
    struct m0_list machines; /* that are started */
    unsigned domains;
};

struct mem_ep {
    struct m0_net_end_point ep;
    struct mem_place place;
    char addr[M0_NET_BULK_MEM_XEP_ADDR_LEN];
};

struct mem_tm {
    struct m0_net_transfer_mc *tm;
    struct m0_list_link link; /* of the fabric; in no list: nobody finds it */
    struct mem_place place;
    struct m0_cond work;
    struct m0_list todo; /* of struct mem_buffer */
    struct m0_thread *threads;
    size_t thread_count, left; /* left: have not ended */
    uint64_t last_id;
    bool start, stop; /* to be reported */
};

struct mem_buffer {
    struct m0_net_buffer *nb;
    struct m0_list_link link; /* in todo; in no list: waits for somebody else */
    bool ended; /* the event below is to be delivered */
    int status;
    m0_bcount_t length;
    struct m0_net_end_point *ep;
    uint64_t id; /* of the passive operation */
};

static inline struct mem_fabric *mem_fabric_of_process(void)
{
    return m0_net_root()->nr_mem;
}

static inline struct mem_tm *mem_tm_of(const struct m0_net_transfer_mc *tm)
{
    return tm->ntm_xprt_private;
}

static inline struct mem_buffer *mem_buffer_of(const struct m0_net_buffer *nb)
{
    return nb->nb_xprt_private;
}

#endif
