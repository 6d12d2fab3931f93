/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory under the names of libcfs, of Lustre, and of linux/slab.h, linux/gfp.h, linux/mempool.h.
 */
#ifndef JACQUARD_LIBCFS_PRIVATE_H
#define JACQUARD_LIBCFS_PRIVATE_H

#include <malloc.h>
#include <unistd.h>

#include "libcfs/libcfs.h"

/* ---- linux/gfp.h ----------------------------------------------------------------------------- */

#define __GFP_IO 0
#define __GFP_FS 0
#define __GFP_WAIT 0
#define __GFP_COMP 0
#define __GFP_ACCOUNT 0
#define __GFP_HIGH 0
#define __GFP_THISNODE 0
#define __GFP_DIRECT_RECLAIM 0
#define __GFP_KSWAPD_RECLAIM 0
#define GFP_DMA 0
#define GFP_DMA32 0
#define GFP_KERNEL_ACCOUNT 0

/* The smallest power of two of pages that has so many bytes. */
static inline int get_order(unsigned long bytes)
{
    int order = 0;

    while ((PAGE_SIZE << order) < bytes)
        order++;
    return order;
}
static inline void *libcfs_pages(unsigned long bytes, gfp_t flags)
{
    unsigned long whole = (bytes + PAGE_SIZE - 1) & PAGE_MASK;
    void *pages = aligned_alloc(PAGE_SIZE, whole > 0 ? whole : PAGE_SIZE);

    if (pages != NULL && (flags & __GFP_ZERO) != 0)
        memset(pages, 0, whole);
    return pages;
}
/* Pages in a row; the first one. */
static inline struct page *alloc_pages(gfp_t flags, unsigned order)
{
    return order == 0 ? alloc_page(flags) : (struct page *)libcfs_pages(PAGE_SIZE << order, flags);
}
static inline void __free_pages(struct page *page, unsigned order)
{
    if (order == 0)
        __free_page(page);
    else
        free(page);
}
#define alloc_pages_node(node, flags, order) ((void)(node), alloc_pages(flags, order))
#define __get_free_pages(flags, order) ((unsigned long)page_address(alloc_pages(flags, order)))
#define __get_free_page(flags) __get_free_pages(flags, 0)
#define get_zeroed_page(flags) __get_free_pages((flags) | __GFP_ZERO, 0)
static inline void free_pages(unsigned long address, unsigned order)
{
    if (address != 0)
        __free_pages((struct page *)address,
                     order); /* NOLINT(performance-no-int-to-ptr): it was a pointer */
}
#define free_page(address) free_pages(address, 0)
#define alloc_pages_exact(bytes, flags) libcfs_pages(bytes, flags)
#define free_pages_exact(memory, bytes) ((void)(bytes), free(memory))

/* ---- linux/slab.h, linux/mempool.h ----------------------------------------------------------- */

#define ksize(memory) malloc_usable_size((void *)(memory))
#define SLAB_RECLAIM_ACCOUNT 0
#define SLAB_TYPESAFE_BY_RCU 0
#define SLAB_DESTROY_BY_RCU 0
#define SLAB_MEM_SPREAD 0
#define kmem_cache_alloc_node(cache, flags, node) ((void)(node), kmem_cache_alloc(cache, flags))
#define kmem_cache_shrink(cache) ((void)(cache), 0)
#define kmem_cache_size(cache) ((unsigned)(cache)->bytes)

/* So many objects are there when there is no memory. */
typedef void *(mempool_alloc_t)(gfp_t flags, void *data);
typedef void(mempool_free_t)(void *object, void *data);
typedef struct mempool_s {
    spinlock_t lock;
    int min_nr, curr_nr;
    void **elements;
    void *pool_data;
    mempool_alloc_t *alloc;
    mempool_free_t *free;
} mempool_t;
#pragma GCC visibility push(default)
mempool_t *libcfs_mempool_create(int count, mempool_alloc_t *make, mempool_free_t *end, void *data);
void libcfs_mempool_destroy(mempool_t *pool);
void *libcfs_mempool_alloc(mempool_t *pool, gfp_t flags); /* NULL: there is none left */
void libcfs_mempool_free(void *object, mempool_t *pool);
void *libcfs_mempool_kmalloc(gfp_t flags, void *bytes);
void libcfs_mempool_kfree(void *object, void *data);
void *libcfs_mempool_slab_alloc(gfp_t flags, void *cache);
void libcfs_mempool_slab_free(void *object, void *cache);
#pragma GCC visibility pop
#define mempool_create(count, make, end, data) libcfs_mempool_create(count, make, end, data)
#define mempool_create_kmalloc_pool(count, bytes)                              \
    libcfs_mempool_create(count, libcfs_mempool_kmalloc, libcfs_mempool_kfree, \
                          (void *)(uintptr_t)(bytes))
#define mempool_create_slab_pool(count, cache) \
    libcfs_mempool_create(count, libcfs_mempool_slab_alloc, libcfs_mempool_slab_free, cache)
#define mempool_kmalloc libcfs_mempool_kmalloc
#define mempool_kfree libcfs_mempool_kfree
#define mempool_alloc_slab libcfs_mempool_slab_alloc
#define mempool_free_slab libcfs_mempool_slab_free
#define mempool_alloc(pool, flags) libcfs_mempool_alloc(pool, flags)
#define mempool_free(object, pool) libcfs_mempool_free(object, pool)
#define mempool_destroy(pool) libcfs_mempool_destroy(pool)

/* ---- libcfs ---------------------------------------------------------------------------------- */

#define LIBCFS_VMALLOC_SIZE (2 << PAGE_SHIFT)
#define LIBCFS_ALLOC_GFP(ptr, size, flags) ((ptr) = kzalloc(size, flags))
#define CFS_ALLOC_PTR(ptr) LIBCFS_ALLOC(ptr, sizeof(*(ptr)))
#define CFS_FREE_PTR(ptr) LIBCFS_FREE(ptr, sizeof(*(ptr)))
#define CFS_ALLOC_PTR_ARRAY(ptr, count) LIBCFS_ALLOC(ptr, (count) * sizeof(*(ptr)))
#define CFS_FREE_PTR_ARRAY(ptr, count) LIBCFS_FREE(ptr, (count) * sizeof(*(ptr)))
#define cfs_cpt_malloc(table, cpt, bytes, flags) ((void)(table), (void)(cpt), kmalloc(bytes, flags))
#define cfs_cpt_vzalloc(table, cpt, bytes) ((void)(table), (void)(cpt), vzalloc(bytes))
#define cfs_cpt_vmalloc(table, cpt, bytes) ((void)(table), (void)(cpt), vmalloc(bytes))
#define cfs_mem_cache_cpt_alloc(cache, table, cpt, flags) \
    ((void)(table), (void)(cpt), kmem_cache_alloc(cache, flags))
#pragma GCC visibility push(default)
/* An array of pointers to zeroed memory of `size` bytes each; NULL: no memory. */
void *cfs_array_alloc(int count, unsigned size);
void cfs_array_free(void *objects);
#pragma GCC visibility pop
#define cfs_totalram_pages() ((unsigned long)sysconf(_SC_PHYS_PAGES))
#define NUM_CACHEPAGES cfs_totalram_pages()

/* Whether the thread frees memory for others: no thread does. */
#define memory_pressure_get() 0
#define memory_pressure_set() ((void)0)
#define memory_pressure_clr() ((void)0)
#define cfs_memory_pressure_get() 0
#define cfs_memory_pressure_set() ((void)0)
#define cfs_memory_pressure_clr() ((void)0)
static inline int cfs_memory_pressure_get_and_set(void)
{
    return 0;
}
static inline void cfs_memory_pressure_restore(int before)
{
    (void)before;
}

static inline size_t cfs_size_round4(int size)
{
    return ((size_t)size + 3) & ~(size_t)3;
}
static inline size_t cfs_size_round(int size)
{
    return ((size_t)size + 7) & ~(size_t)7;
}
static inline size_t cfs_size_round16(int size)
{
    return ((size_t)size + 15) & ~(size_t)15;
}
static inline size_t cfs_size_round32(int size)
{
    return ((size_t)size + 31) & ~(size_t)31;
}
static inline size_t cfs_size_round0(int size) /* of a text with its end */
{
    return size == 0 ? 0 : cfs_size_round(size + 1);
}
static inline size_t cfs_round_strlen(char *text)
{
    return cfs_size_round((int)strlen(text) + 1);
}

/* ---- Lustre ---------------------------------------------------------------------------------- */

#define OBD_ALLOC(ptr, size) LIBCFS_ALLOC(ptr, size)
#define OBD_ALLOC_GFP(ptr, size, flags) LIBCFS_ALLOC_GFP(ptr, size, flags)
#define OBD_ALLOC_WAIT(ptr, size) LIBCFS_ALLOC(ptr, size)
#define OBD_ALLOC_PTR(ptr) OBD_ALLOC(ptr, sizeof(*(ptr)))
#define OBD_ALLOC_PTR_WAIT(ptr) OBD_ALLOC_PTR(ptr)
#define OBD_ALLOC_LARGE(ptr, size) LIBCFS_ALLOC(ptr, size)
#define OBD_VMALLOC(ptr, size) LIBCFS_ALLOC(ptr, size)
#define OBD_CPT_ALLOC(ptr, table, cpt, size) LIBCFS_CPT_ALLOC(ptr, table, cpt, size)
#define OBD_CPT_ALLOC_GFP(ptr, table, cpt, size, flags) \
    LIBCFS_CPT_ALLOC_GFP(ptr, table, cpt, size, flags)
#define OBD_CPT_ALLOC_PTR(ptr, table, cpt) LIBCFS_CPT_ALLOC(ptr, table, cpt, sizeof(*(ptr)))
#define OBD_CPT_ALLOC_LARGE(ptr, table, cpt, size) LIBCFS_CPT_ALLOC(ptr, table, cpt, size)
/* The pointer is of no use afterwards. */
#define LIBCFS_POISON ((void *)0x5a5a5a5a5a5a5a5aUL)
#define OBD_FREE(ptr, size)    \
    do {                       \
        (void)(size);          \
        kfree(ptr);            \
        (ptr) = LIBCFS_POISON; \
    } while (0)
#define OBD_FREE_PTR(ptr) OBD_FREE(ptr, sizeof(*(ptr)))
#define OBD_FREE_LARGE(ptr, size) OBD_FREE(ptr, size)
#define OBD_VFREE(ptr, size) OBD_FREE(ptr, size)
#define OBD_SLAB_ALLOC_GFP(ptr, cache, size, flags) \
    ((void)(size), (ptr) = kmem_cache_alloc(cache, (flags) | __GFP_ZERO))
#define OBD_SLAB_ALLOC(ptr, cache, size) OBD_SLAB_ALLOC_GFP(ptr, cache, size, GFP_NOFS)
#define OBD_SLAB_ALLOC_PTR(ptr, cache) OBD_SLAB_ALLOC(ptr, cache, sizeof(*(ptr)))
#define OBD_SLAB_ALLOC_PTR_GFP(ptr, cache, flags) \
    OBD_SLAB_ALLOC_GFP(ptr, cache, sizeof(*(ptr)), flags)
#define OBD_SLAB_FREE(ptr, cache, size) \
    do {                                \
        (void)(size);                   \
        kmem_cache_free(cache, ptr);    \
        (ptr) = LIBCFS_POISON;          \
    } while (0)
#define OBD_SLAB_FREE_PTR(ptr, cache) OBD_SLAB_FREE(ptr, cache, sizeof(*(ptr)))

#endif
