/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arrays of objects, pools of memory, processors; the date. */
#include <time.h>

#include "kernel.h"
#include "libcfs_host.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The pointers behind it are what the user has. */
struct array {
    long count;
    void *objects[];
};

void cfs_array_free(void *objects)
{
    struct array *array = container_of(objects, struct array, objects);
    long i;

    for (i = 0; i < array->count; i++)
        free(array->objects[i]);
    free(array);
}

void *cfs_array_alloc(int count, unsigned size)
{
    struct array *array = calloc(1, sizeof(*array) + (size_t)count * sizeof(void *));
    int i;

    if (array == NULL)
        return NULL;
    array->count = count;
    for (i = 0; i < count; i++) {
        array->objects[i] = calloc(1, size > 0 ? size : 1);
        if (array->objects[i] == NULL) {
            cfs_array_free(array->objects);
            return NULL;
        }
    }
    return array->objects;
}

/* ---- pools ----------------------------------------------------------------------------------- */

void *libcfs_mempool_kmalloc(gfp_t flags, void *bytes)
{
    return kmalloc((size_t)(uintptr_t)bytes, flags);
}
void libcfs_mempool_kfree(void *object, void *data)
{
    (void)data;
    kfree(object);
}
void *libcfs_mempool_slab_alloc(gfp_t flags, void *cache)
{
    return kmem_cache_alloc((struct kmem_cache *)cache, flags);
}
void libcfs_mempool_slab_free(void *object, void *cache)
{
    kmem_cache_free((struct kmem_cache *)cache, object);
}

void *libcfs_mempool_page(gfp_t flags, void *order)
{
    return alloc_pages(flags, (unsigned)(uintptr_t)order);
}
void libcfs_mempool_page_free(void *page, void *order)
{
    __free_pages((struct page *)page, (unsigned)(uintptr_t)order);
}

void libcfs_mempool_end(mempool_t *pool)
{
    while (pool->curr_nr > 0)
        pool->free(pool->elements[--pool->curr_nr], pool->pool_data);
    free(pool->elements);
    pool->elements = NULL;
}

int libcfs_mempool_begin(mempool_t *pool, int count, mempool_alloc_t *make, mempool_free_t *end,
                         void *data)
{
    *pool = (mempool_t){.min_nr = count, .pool_data = data, .alloc = make, .free = end};
    pool->elements = calloc((size_t)count + 1, sizeof(void *));
    while (pool->elements != NULL && pool->curr_nr < count) {
        void *object = make(GFP_KERNEL, data);

        if (object == NULL)
            break;
        pool->elements[pool->curr_nr++] = object;
    }
    if (pool->elements != NULL && pool->curr_nr == count)
        return 0;
    libcfs_mempool_end(pool);
    return -ENOMEM;
}

/* Those that are missing come with what is freed. */
int libcfs_mempool_resize(mempool_t *pool, int count)
{
    void **elements = calloc((size_t)count + 1, sizeof(void *)), **old;
    int i, surplus;

    if (elements == NULL)
        return -ENOMEM;
    spin_lock(&pool->lock);
    surplus = pool->curr_nr > count ? pool->curr_nr - count : 0;
    old = pool->elements;
    memcpy(elements, old + surplus, (size_t)(pool->curr_nr - surplus) * sizeof(void *));
    pool->elements = elements;
    pool->curr_nr -= surplus;
    pool->min_nr = count;
    spin_unlock(&pool->lock);
    for (i = 0; i < surplus; i++)
        pool->free(old[i], pool->pool_data);
    free(old);
    while (pool->curr_nr < count) {
        void *object = pool->alloc(GFP_KERNEL, pool->pool_data);

        if (object == NULL)
            return -ENOMEM;
        libcfs_mempool_free(object, pool);
    }
    return 0;
}

void libcfs_mempool_destroy(mempool_t *pool)
{
    if (pool == NULL)
        return;
    libcfs_mempool_end(pool);
    free(pool);
}

mempool_t *libcfs_mempool_create(int count, mempool_alloc_t *make, mempool_free_t *end, void *data)
{
    mempool_t *pool = malloc(sizeof(*pool));

    if (pool != NULL && libcfs_mempool_begin(pool, count, make, end, data) != 0) {
        free(pool);
        return NULL;
    }
    return pool;
}

void *libcfs_mempool_alloc(mempool_t *pool, gfp_t flags)
{
    void *object = pool->alloc(flags, pool->pool_data);

    if (object != NULL)
        return object;
    spin_lock(&pool->lock);
    if (pool->curr_nr > 0)
        object = pool->elements[--pool->curr_nr];
    spin_unlock(&pool->lock);
    return object;
}

void libcfs_mempool_free(void *object, mempool_t *pool)
{
    bool kept = false;

    if (object == NULL)
        return;
    spin_lock(&pool->lock);
    if (pool->curr_nr < pool->min_nr) {
        pool->elements[pool->curr_nr++] = object;
        kept = true;
    }
    spin_unlock(&pool->lock);
    if (!kept)
        pool->free(object, pool->pool_data);
}

/* ---- the date -------------------------------------------------------------------------------- */

uint64_t libcfs_real_now(void)
{
    uint64_t epoch = libcfs_host_epoch();
    struct timespec now;

    if (epoch != 0)
        return epoch + port_now();
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}
