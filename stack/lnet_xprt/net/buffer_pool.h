/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers of a domain that transfer machines share, preferably the ones they used last. */
#ifndef M0_NET_BUFFER_POOL_H
#define M0_NET_BUFFER_POOL_H

#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    M0_BUFFER_ANY_COLOUR = ~0,
    M0_NET_BUFFER_POOL_THRESHOLD = 2,
};

/* Both run with the pool's lock held. */
struct m0_net_buffer_pool_ops {
    void (*nbpo_not_empty)(struct m0_net_buffer_pool *pool); /* there is one buffer again */
    void (*nbpo_below_threshold)(struct m0_net_buffer_pool *pool); /* after each get that leaves so
                                                                      few */
};
struct m0_net_buffer_pool {
    uint32_t nbp_free;
    uint32_t nbp_threshold;
    uint32_t nbp_seg_nr;
    uint32_t nbp_buf_nr; /* in all */
    m0_bcount_t nbp_seg_size;
    struct m0_mutex nbp_mutex;
    struct m0_net_domain *nbp_ndom;
    const struct m0_net_buffer_pool_ops *nbp_ops; /* set before m0_net_buffer_pool_init() */
    uint32_t nbp_colours_nr;
    struct m0_tl *nbp_colours; /* nbp_colours_nr lists */
    unsigned nbp_align; /* the memory of a segment begins at a multiple of 1 << nbp_align */
    bool nbp_dont_dump;
    struct m0_tl nbp_lru; /* all free ones */
};

int m0_net_buffer_pool_init(struct m0_net_buffer_pool *pool, struct m0_net_domain *ndom,
                            uint32_t threshold, uint32_t seg_nr, m0_bcount_t seg_size,
                            uint32_t colours, unsigned shift, bool dont_dump);
void m0_net_buffer_pool_fini(struct m0_net_buffer_pool *pool); /* pre: all buffers are home */
void m0_net_buffer_pool_lock(struct m0_net_buffer_pool *pool);
void m0_net_buffer_pool_unlock(struct m0_net_buffer_pool *pool);
bool m0_net_buffer_pool_is_locked(const struct m0_net_buffer_pool *pool);
bool m0_net_buffer_pool_is_not_locked(const struct m0_net_buffer_pool *pool);

/* With the lock held. Adds up to buf_nr new buffers and returns how many. */
int m0_net_buffer_pool_provision(struct m0_net_buffer_pool *pool, uint32_t buf_nr);
/* NULL: the pool is empty. */
struct m0_net_buffer *m0_net_buffer_pool_get(struct m0_net_buffer_pool *pool, uint32_t colour);
void m0_net_buffer_pool_put(struct m0_net_buffer_pool *pool, struct m0_net_buffer *buf,
                            uint32_t colour);
bool m0_net_buffer_pool_prune(struct m0_net_buffer_pool *pool); /* false: at its threshold */
bool m0_net_buffer_pool_invariant(const struct m0_net_buffer_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
