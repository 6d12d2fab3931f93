/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pools of buffers. */
#include "lib/errno.h"
#include "lib/memory.h"
#include "motr/magic.h"
#include "net/net_internal.h"

/* Those of a colour are linked as the buffers of a queue are. */
M0_TL_DESCR_DEFINE(m0_net_pool, "free buffers", , struct m0_net_buffer, nb_lru, nb_magic,
                   M0_NET_BUFFER_LINK_MAGIC, M0_NET_POOL_HEAD_MAGIC);
M0_TL_DEFINE(m0_net_pool, , struct m0_net_buffer);

bool m0_net_buffer_pool_invariant(const struct m0_net_buffer_pool *pool)
{
    return pool->nbp_free <= pool->nbp_buf_nr && pool->nbp_ndom != NULL && pool->nbp_ops != NULL &&
           M0_CHECK_EX(m0_net_pool_tlist_length(&pool->nbp_lru) == pool->nbp_free);
}

int m0_net_buffer_pool_init(struct m0_net_buffer_pool *pool, struct m0_net_domain *ndom,
                            uint32_t threshold, uint32_t seg_nr, m0_bcount_t seg_size,
                            uint32_t colours, unsigned shift, bool dont_dump)
{
    uint32_t i;

    M0_PRE(pool->nbp_ops != NULL && pool->nbp_ops->nbpo_not_empty != NULL &&
           pool->nbp_ops->nbpo_below_threshold != NULL);
    M0_PRE(seg_nr <= (uint32_t)m0_net_domain_get_max_buffer_segments(ndom));
    M0_PRE(seg_size <= m0_net_domain_get_max_buffer_segment_size(ndom));
    pool->nbp_threshold = threshold;
    pool->nbp_ndom = ndom;
    pool->nbp_free = pool->nbp_buf_nr = 0;
    pool->nbp_seg_nr = seg_nr;
    pool->nbp_seg_size = seg_size;
    pool->nbp_colours_nr = colours;
    pool->nbp_align = shift;
    pool->nbp_dont_dump = dont_dump;
    pool->nbp_colours = NULL;
    if (colours > 0) {
        M0_ALLOC_ARR(pool->nbp_colours, colours);
        if (pool->nbp_colours == NULL)
            return -ENOMEM;
    }
    for (i = 0; i < colours; i++)
        m0_net_tm_tlist_init(&pool->nbp_colours[i]);
    m0_mutex_init(&pool->nbp_mutex);
    m0_net_pool_tlist_init(&pool->nbp_lru);
    return 0;
}

void m0_net_buffer_pool_lock(struct m0_net_buffer_pool *pool)
{
    m0_mutex_lock(&pool->nbp_mutex);
}

void m0_net_buffer_pool_unlock(struct m0_net_buffer_pool *pool)
{
    m0_mutex_unlock(&pool->nbp_mutex);
}

bool m0_net_buffer_pool_is_locked(const struct m0_net_buffer_pool *pool)
{
    return m0_mutex_is_locked(&pool->nbp_mutex);
}

bool m0_net_buffer_pool_is_not_locked(const struct m0_net_buffer_pool *pool)
{
    return m0_mutex_is_not_locked(&pool->nbp_mutex);
}

static struct m0_net_buffer *buffer_new(struct m0_net_buffer_pool *pool)
{
    struct m0_net_buffer *buf;

    M0_ALLOC_PTR(buf);
    if (buf == NULL)
        return NULL;
    if (m0_bufvec_alloc_aligned(&buf->nb_buffer, pool->nbp_seg_nr, pool->nbp_seg_size,
                                pool->nbp_align) != 0) {
        m0_free(buf);
        return NULL;
    }
    if (m0_net_buffer_register(buf, pool->nbp_ndom) != 0) {
        m0_bufvec_free_aligned(&buf->nb_buffer, pool->nbp_align);
        m0_free(buf);
        return NULL;
    }
    return buf;
}

static void take(struct m0_net_buffer_pool *pool, struct m0_net_buffer *buf)
{
    m0_net_pool_tlist_del(buf);
    m0_net_tm_tlist_remove(buf);
    pool->nbp_free--;
}

static void buffer_free(struct m0_net_buffer_pool *pool, struct m0_net_buffer *buf)
{
    take(pool, buf);
    m0_net_buffer_deregister(buf, pool->nbp_ndom);
    m0_bufvec_free_aligned(&buf->nb_buffer, pool->nbp_align);
    m0_free(buf);
    pool->nbp_buf_nr--;
}

int m0_net_buffer_pool_provision(struct m0_net_buffer_pool *pool, uint32_t buf_nr)
{
    struct m0_net_buffer *buf;
    uint32_t i;

    M0_PRE(m0_net_buffer_pool_is_locked(pool));
    for (i = 0; i < buf_nr && (buf = buffer_new(pool)) != NULL; i++) {
        buf->nb_pool = pool;
        pool->nbp_buf_nr++;
        port_book(PORT_BOOK_M0_POOL, 1);
        m0_net_buffer_pool_put(pool, buf, (uint32_t)M0_BUFFER_ANY_COLOUR);
    }
    return (int)i;
}

void m0_net_buffer_pool_fini(struct m0_net_buffer_pool *pool)
{
    struct m0_net_buffer *buf;
    uint32_t i;

    M0_PRE(m0_net_buffer_pool_is_not_locked(pool));
    m0_net_buffer_pool_lock(pool);
    M0_PRE(pool->nbp_free == pool->nbp_buf_nr);
    while ((buf = m0_net_pool_tlist_head(&pool->nbp_lru)) != NULL)
        buffer_free(pool, buf);
    m0_net_pool_tlist_fini(&pool->nbp_lru);
    for (i = 0; i < pool->nbp_colours_nr; i++)
        m0_net_tm_tlist_fini(&pool->nbp_colours[i]);
    m0_free0(&pool->nbp_colours);
    m0_net_buffer_pool_unlock(pool);
    m0_mutex_fini(&pool->nbp_mutex);
}

/* The one that came back last with this colour, else one without a colour that lies longest, else
 * the one that lies longest. */
static struct m0_net_buffer *choose(struct m0_net_buffer_pool *pool, uint32_t colour)
{
    struct m0_net_buffer *buf = NULL;

    if (colour != (uint32_t)M0_BUFFER_ANY_COLOUR)
        buf = m0_net_tm_tlist_head(&pool->nbp_colours[colour]);
    if (buf == NULL)
        buf = m0_tl_find(m0_net_pool, it, &pool->nbp_lru, !m0_net_tm_tlink_is_in(it));
    return buf != NULL ? buf : m0_net_pool_tlist_head(&pool->nbp_lru);
}

struct m0_net_buffer *m0_net_buffer_pool_get(struct m0_net_buffer_pool *pool, uint32_t colour)
{
    struct m0_net_buffer *buf;

    M0_PRE(m0_net_buffer_pool_is_locked(pool));
    M0_PRE(m0_net_buffer_pool_invariant(pool));
    M0_PRE(colour == (uint32_t)M0_BUFFER_ANY_COLOUR || colour < pool->nbp_colours_nr);
    buf = choose(pool, colour);
    if (buf == NULL)
        return NULL;
    take(pool, buf);
    buf->nb_pool = pool;
    port_book(PORT_BOOK_M0_POOL, 1);
    if (pool->nbp_free < pool->nbp_threshold)
        pool->nbp_ops->nbpo_below_threshold(pool);
    return buf;
}

void m0_net__buffer_pool_put(struct m0_net_buffer_pool *pool, struct m0_net_buffer *buf,
                             uint32_t colour, bool announce)
{
    M0_PRE(m0_net_buffer_pool_is_locked(pool));
    M0_PRE(m0_net_buffer_pool_invariant(pool));
    M0_PRE(buf->nb_ep == NULL);
    M0_PRE(buf->nb_flags == M0_NET_BUF_REGISTERED);
    M0_PRE(buf->nb_dom == pool->nbp_ndom);
    M0_PRE(buf->nb_pool == pool);
    M0_PRE(colour == (uint32_t)M0_BUFFER_ANY_COLOUR || colour < pool->nbp_colours_nr);
    M0_PRE(!m0_net_pool_tlink_is_in(buf));
    if (colour != (uint32_t)M0_BUFFER_ANY_COLOUR)
        m0_net_tm_tlist_add(&pool->nbp_colours[colour], buf);
    m0_net_pool_tlist_add_tail(&pool->nbp_lru, buf);
    pool->nbp_free++;
    port_book(PORT_BOOK_M0_POOL, -1);
    if (pool->nbp_free == 1 && announce)
        pool->nbp_ops->nbpo_not_empty(pool);
}

void m0_net_buffer_pool_put(struct m0_net_buffer_pool *pool, struct m0_net_buffer *buf,
                            uint32_t colour)
{
    m0_net__buffer_pool_put(pool, buf, colour, true);
}

void m0_net__buffer_pool_return(struct m0_net_transfer_mc *tm, struct m0_net_buffer *buf)
{
    struct m0_net_buffer_pool *pool = buf->nb_pool;
    uint32_t colour = tm->ntm_pool_colour;

    m0_net_buffer_pool_lock(pool);
    m0_net_buffer_pool_put(pool, buf, colour);
    m0_net_buffer_pool_unlock(pool);
}

bool m0_net_buffer_pool_prune(struct m0_net_buffer_pool *pool)
{
    M0_PRE(m0_net_buffer_pool_is_locked(pool));
    if (pool->nbp_free <= pool->nbp_threshold)
        return false;
    buffer_free(pool, m0_net_pool_tlist_head(&pool->nbp_lru));
    return true;
}
