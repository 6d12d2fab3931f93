/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pages: their contents, their references, and those of a user's memory. All memory has an address,
 * so mapping a page costs nothing and ends without a trace.
 *
 * alloc_page() gives a page with one reference. get_page() and get_user_pages() add one, also to
 * pages that alloc_page() did not give; who puts the last one frees the page.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_PAGE_H
#define JACQUARD_LIBCFS_KERNEL_PAGE_H

#include <string.h>

#include "libcfs/kernel/lock.h"
#include "libcfs/libcfs.h"

/* ---- contents -------------------------------------------------------------------------------- */

#define kmap_atomic(page) page_address(page)
#define kunmap_atomic(address) ((void)(address))
#define kmap_local_page(page) page_address(page)
#define kunmap_local(address) ((void)(address))
#define PageHighMem(page) ((void)(page), 0)
#define lowmem_page_address(page) page_address(page)

static inline void memcpy_from_page(void *to, struct page *page, size_t offset, size_t bytes)
{
    memcpy(to, (const char *)page_address(page) + offset, bytes);
}
static inline void memcpy_to_page(struct page *page, size_t offset, const void *from, size_t bytes)
{
    memcpy((char *)page_address(page) + offset, from, bytes);
}
static inline void memzero_page(struct page *page, size_t offset, size_t bytes)
{
    memset((char *)page_address(page) + offset, 0, bytes);
}
#define zero_user(page, offset, bytes) memzero_page(page, offset, bytes)
static inline void zero_user_segment(struct page *page, unsigned start, unsigned end)
{
    if (end > start)
        memzero_page(page, start, end - start);
}
/* These two are about the addresses of pages. */
static inline void clear_page(void *address)
{
    memset(address, 0, PAGE_SIZE);
}
static inline void copy_page(void *to, const void *from)
{
    memcpy(to, from, PAGE_SIZE);
}
#define clear_highpage(page) clear_page(page_address(page))
#define copy_highpage(to, from) copy_page(page_address(to), page_address(from))

/* ---- addresses and numbers ------------------------------------------------------------------- */

typedef __u64 phys_addr_t;
typedef __u64 resource_size_t;

/* The number of a page is that of its address; physical addresses are the addresses. */
#define page_to_pfn(page) ((unsigned long)page_address(page) >> PAGE_SHIFT)
#define pfn_to_page(number) virt_to_page((unsigned long)(number) << PAGE_SHIFT)
#define page_to_phys(page) ((phys_addr_t)(uintptr_t)page_address(page))
#define virt_to_phys(address) ((phys_addr_t)(uintptr_t)(address))
#define phys_to_virt(address) ((void *)(uintptr_t)(address))
#define nth_page(page, n) pfn_to_page(page_to_pfn(page) + (unsigned long)(n))
#define vmalloc_to_page(address) virt_to_page(address)
#define kmap_to_page(address) virt_to_page(address)
#define virt_to_head_page(address) virt_to_page(address)
#define PFN_UP(bytes) (((bytes) + PAGE_SIZE - 1) >> PAGE_SHIFT)
#define PFN_DOWN(bytes) ((bytes) >> PAGE_SHIFT)
#define PAGE_ALIGNED(address) (((unsigned long)(address) & ~PAGE_MASK) == 0)
/* Whether it can be the address of memory: not NULL, nor an error, nor a number of another kind. */
#define virt_addr_valid(address) libcfs_address_valid((uintptr_t)(address))
static inline bool libcfs_address_valid(uintptr_t address)
{
    return address >= PAGE_SIZE && address < (uintptr_t)1 << 47;
}

/* ---- references ------------------------------------------------------------------------------ */

#pragma GCC visibility push(default)
void libcfs_page_get(struct page *page);
int libcfs_page_count(const struct page *page);
long libcfs_user_pages(uintptr_t start, unsigned long count, struct page **pages);
#pragma GCC visibility pop

static inline void get_page(struct page *page)
{
    libcfs_page_get(page);
}
static inline void put_page(struct page *page)
{
    __free_page(page);
}
#define page_cache_get(page) get_page(page)
#define page_cache_release(page) put_page(page)
#define page_count(page) libcfs_page_count(page)
#define page_ref_count(page) libcfs_page_count(page)
static inline void release_pages(struct page **pages, int count)
{
    int i;

    for (i = 0; i < count; i++)
        put_page(pages[i]);
}

/* What is written to a page is in the memory itself: no page needs to be written back. */
#define PageReserved(page) ((void)(page), 0)
#define SetPageDirty(page) ((void)(page))
static inline int set_page_dirty(struct page *page)
{
    (void)page;
    return 0; /* it does not become dirty */
}
#define set_page_dirty_lock(page) set_page_dirty(page)
#define mark_page_accessed(page) ((void)(page))
#define flush_dcache_page(page) ((void)(page))

/* ---- a user's memory ------------------------------------------------------------------------- */

struct vm_area_struct; /* there are none */
struct mm_struct { /* of a process; NULL for a thread of the kernel */
    union {
        struct rw_semaphore mmap_sem; /* the name of old kernels */
        struct rw_semaphore mmap_lock;
    };
};
#define mmap_read_lock(mm) down_read(&(mm)->mmap_lock)
#define mmap_read_trylock(mm) (down_read_trylock(&(mm)->mmap_lock) != 0)
#define mmap_read_unlock(mm) up_read(&(mm)->mmap_lock)
#define mmap_write_lock(mm) down_write(&(mm)->mmap_lock)
#define mmap_write_trylock(mm) (down_write_trylock(&(mm)->mmap_lock) != 0)
#define mmap_write_unlock(mm) up_write(&(mm)->mmap_lock)

#define FOLL_WRITE 0x01u
#define FOLL_GET 0x04u
#define FOLL_FORCE 0x10u
/*
 * A reference of each page from `start` on, in `pages` if it is not NULL. How many pages there are:
 * fewer than `count` if the next one is no memory; if the first one is not: -EFAULT.
 */
static inline long get_user_pages(unsigned long start, unsigned long count, unsigned flags,
                                  struct page **pages, struct vm_area_struct **areas)
{
    (void)flags, (void)areas;
    return libcfs_user_pages(start, count, pages);
}
static inline int get_user_pages_fast(unsigned long start, int count, unsigned flags,
                                      struct page **pages)
{
    (void)flags;
    return (int)libcfs_user_pages(start, count > 0 ? (unsigned long)count : 0, pages);
}
#define get_user_pages_unlocked(start, count, pages, flags) \
    get_user_pages(start, count, flags, pages, NULL)

#endif
