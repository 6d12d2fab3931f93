/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock, and memory: aligned, and in pools of equal blocks. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "internal.h"
#include "madeleine/toolbox.h"
#include "port/port.h"
#include "toolbox/toolbox.h"

tbx_tick_t tbx_new_event, tbx_last_event;

tbx_tick_t tbx_tick_now(void)
{
    return (tbx_tick_t){.nanoseconds = port_now()};
}

double tbx_tick2usec(long long ticks)
{
    return (double)ticks / 1000.0;
}

void *tbx_grow(void *memory, size_t count, size_t size)
{
    void *larger = count <= SIZE_MAX / size ? realloc(memory, count * size) : NULL;

    if (larger == NULL) {
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
        port_panic("the toolbox has no memory left");
    }
    return larger;
}

void *tbx_need(size_t count, size_t size)
{
    return memset(tbx_grow(NULL, count, size), 0, count * size);
}

void *tbx_aligned_malloc(size_t size, size_t align)
{
    void *memory = NULL;

    if (align < sizeof(void *))
        align = sizeof(void *);
    return posix_memalign(&memory, align, size) == 0 ? memory : NULL;
}

void tbx_aligned_free(void *memory, size_t align)
{
    (void)align;
    free(memory);
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* A piece of memory with several blocks. */
struct slab {
    struct slab *next;
    _Alignas(max_align_t) char blocks[];
};

struct unused {
    struct unused *next;
};

struct s_tbx_memory {
    struct port_mutex mutex;
    size_t length; /* of a block */
    size_t step; /* blocks of the next slab */
    struct slab *slabs;
    struct unused *unused;
};

enum { STEP_MAX = 4096 };

static void add_slab(struct s_tbx_memory *pool)
{
    struct slab *slab = tbx_need(1, sizeof(*slab) + pool->step * pool->length);

    slab->next = pool->slabs;
    pool->slabs = slab;
    for (size_t i = pool->step; i-- > 0;) {
        struct unused *block = (struct unused *)(slab->blocks + i * pool->length);

        block->next = pool->unused;
        pool->unused = block;
    }
    if (pool->step < STEP_MAX)
        pool->step *= 2;
}

void tbx_malloc_init(p_tbx_memory_t *pool, size_t block_length, long initial_blocks, ...)
{
    size_t unit = _Alignof(max_align_t);

    *pool = tbx_need(1, sizeof(**pool));
    port_mutex_init(&(*pool)->mutex);
    (*pool)->length = block_length == 0 ? unit : (block_length + unit - 1) / unit * unit;
    (*pool)->step = initial_blocks > 0 ? (size_t)initial_blocks : 1;
    add_slab(*pool);
}

void *tbx_malloc(p_tbx_memory_t pool)
{
    struct unused *block;

    port_mutex_lock(&pool->mutex);
    if (pool->unused == NULL)
        add_slab(pool);
    block = pool->unused;
    pool->unused = block->next;
    port_mutex_unlock(&pool->mutex);
    return block;
}

void tbx_free(p_tbx_memory_t pool, void *block)
{
    struct unused *unused = block;

    if (block == NULL)
        return;
    port_mutex_lock(&pool->mutex);
    unused->next = pool->unused;
    pool->unused = unused;
    port_mutex_unlock(&pool->mutex);
}

void tbx_malloc_clean(p_tbx_memory_t pool)
{
    struct slab *each, *next;

    if (pool == NULL)
        return;
    for (each = pool->slabs; each != NULL; each = next) {
        next = each->next;
        free(each);
    }
    port_mutex_destroy(&pool->mutex);
    free(pool);
}
