/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport in memory: what its files share. */
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

int m0_mem_dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom);
void m0_mem_dom_fini(struct m0_net_domain *dom);
m0_bcount_t m0_mem_max_buffer_size(const struct m0_net_domain *dom);
m0_bcount_t m0_mem_max_segment_size(const struct m0_net_domain *dom);
int32_t m0_mem_max_segments(const struct m0_net_domain *dom);
m0_bcount_t m0_mem_max_desc_size(const struct m0_net_domain *dom);
int m0_mem_buf_register(struct m0_net_buffer *nb);
void m0_mem_buf_deregister(struct m0_net_buffer *nb);
int m0_mem_end_point_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm,
                            const char *addr);
/* 0 or -EINVAL. */
int m0_mem_place_parse(struct mem_place *place, const char *text);
bool m0_mem_same(const struct mem_place *a, const struct mem_place *b);
/* One more reference; NULL: no memory. With ntm_mutex. */
struct m0_net_end_point *m0_mem_ep_at(struct m0_net_transfer_mc *tm, const struct mem_place *place);

#endif
