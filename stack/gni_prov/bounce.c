/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffers that belong to an endpoint: 64 bytes of registered memory, for words that a GET cannot
 * fetch to their place, and pieces as long as a message, in which a send with several buffers is
 * gathered. Both are allocated when they are first needed and kept until the EP is closed.
 */
#include "bounce.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "mr.h"
#include <stdlib.h>

#define BOUNCE 64
#define POOL 128 /* bounce buffers that are registered together */
#define POOLS_MAX 256
#define GATHERS_MAX 64

struct pool {
    uint8_t *memory;
    struct gnip_mr *mr;
    struct gnip_qlink *free; /* linked inside the free buffers */
};

struct gnip_bounces {
    struct pool pools[POOLS_MAX];
    uint32_t pool_count;
    uint32_t recent; /* a pool that may have a free one */
    uint32_t gathers_made;
    struct gnip_qlink *free_gathers;
    void *gather[GATHERS_MAX];
};

static struct gnip_bounces *bounces_of(struct gnip_ep *ep)
{
    if (ep->bounces == NULL)
        ep->bounces = calloc(1, sizeof *ep->bounces);
    return ep->bounces;
}

static struct pool *pool_add(struct gnip_ep *ep)
{
    struct gnip_bounces *bounces = ep->bounces;
    struct gnip_qlink *link;
    struct pool *pool;
    unsigned i;

    if (bounces->pool_count == POOLS_MAX)
        return NULL;
    pool = &bounces->pools[bounces->pool_count];
    pool->memory = port_pages_alloc(POOL * BOUNCE, 0);
    if (pool->memory == NULL)
        return NULL;
    if (gnip_mr_auto(ep, pool->memory, POOL * BOUNCE, true, &pool->mr) != 0) {
        port_pages_free(pool->memory, POOL * BOUNCE);
        return NULL;
    }
    pool->free = NULL;
    for (i = POOL; i-- > 0;) {
        link = (struct gnip_qlink *)(void *)(pool->memory + i * BOUNCE);
        link->next = pool->free;
        pool->free = link;
    }
    bounces->recent = bounces->pool_count++;
    return pool;
}

gnip_noinline void *gnip_bounce_get(struct gnip_ep *ep, gni_mem_handle_t *handle)
{
    struct gnip_bounces *bounces = bounces_of(ep);
    struct pool *pool = NULL;
    struct gnip_qlink *link;
    uint32_t i;

    if (bounces == NULL)
        return NULL;
    for (i = 0; i < bounces->pool_count && pool == NULL; i++)
        if (bounces->pools[(bounces->recent + i) % bounces->pool_count].free != NULL)
            pool = &bounces->pools[(bounces->recent + i) % bounces->pool_count];
    if (pool == NULL)
        pool = pool_add(ep);
    if (pool == NULL)
        return NULL;
    bounces->recent = (uint32_t)(pool - bounces->pools);
    link = pool->free;
    pool->free = link->next;
    *handle = pool->mr->handle;
    return link;
}

gnip_noinline void gnip_bounce_put(struct gnip_ep *ep, void *bounce)
{
    struct gnip_bounces *bounces = ep->bounces;
    struct gnip_qlink *link = bounce;
    struct pool *pool = bounces->pools;

    while ((uint8_t *)bounce < pool->memory || (uint8_t *)bounce >= pool->memory + POOL * BOUNCE)
        pool++;
    link->next = pool->free;
    pool->free = link;
    bounces->recent = (uint32_t)(pool - bounces->pools);
}

gnip_noinline void *gnip_gather_get(struct gnip_ep *ep)
{
    struct gnip_bounces *bounces = bounces_of(ep);
    struct gnip_qlink *link;

    if (bounces == NULL)
        return NULL;
    link = bounces->free_gathers;
    if (link != NULL) {
        bounces->free_gathers = link->next;
        return link;
    }
    if (bounces->gathers_made == GATHERS_MAX)
        return NULL;
    link = malloc(ep->nic->params.mbox_message);
    if (link != NULL)
        bounces->gather[bounces->gathers_made++] = link;
    return link;
}

gnip_noinline void gnip_gather_put(struct gnip_ep *ep, void *gather)
{
    struct gnip_qlink *link = gather;

    link->next = ep->bounces->free_gathers;
    ep->bounces->free_gathers = link;
}

void gnip_bounce_free_all(struct gnip_ep *ep)
{
    struct gnip_bounces *bounces = ep->bounces;
    uint32_t i;

    if (bounces == NULL)
        return;
    for (i = 0; i < bounces->pool_count; i++) {
        gnip_mr_release(bounces->pools[i].mr);
        port_pages_free(bounces->pools[i].memory, POOL * BOUNCE);
    }
    for (i = 0; i < bounces->gathers_made; i++)
        free(bounces->gather[i]);
    free(bounces);
    ep->bounces = NULL;
}
