/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocks have size classes: each multiple of 16 bytes up to 1 KiB, and eight classes for each power
 * of two above. The eight bytes before a block say which class it has. A free block goes into the
 * list of its class and keeps its class; new blocks are cut from the front of the unused memory.
 * Only one thread allocates.
 *
 * An area ends with its run. If blocks of it are still in use (they belong to a killed rank, or to
 * a library that never frees them), the next run gets the addresses behind it, otherwise the same
 * ones.
 */
#include "cluster/heap.h"

#include <stdlib.h>

#ifdef HEAP_OFF

void cluster_heap_begin(void)
{
}

void cluster_heap_end(void)
{
}

void cluster_heap_lend(void)
{
}

void cluster_heap_free(void *memory)
{
    free(memory);
}

#else

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/sim.h"

/* The C library offers its own by these names: NOLINTBEGIN(bugprone-reserved-identifier) */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);
/* End of the C library's names: NOLINTEND(bugprone-reserved-identifier) */

#define EXPORTED __attribute__((visibility("default"))) /* for all libraries */
#define GRAIN 16u
#define PAGE 4096u
#define SMALL 1024u /* up to here classes are multiples of GRAIN */
#define STEPS 8u /* classes for each power of two above */
#define WHOLE_PAGES (128u << 10) /* from here on, blocks begin at a page */
#define GIVE_BACK \
    (1u << 20) /* from here on, the pages of a free block are given back to the host */
#define CLASSES (SMALL / GRAIN + STEPS * 32 + 1)
#define REGION_AT \
    0x100000000000ull /* no library is mapped there, so that addresses are the same in each run */
#define REGION_BYTES \
    (8ull << 40) /* address space: enough for 131,072 runs that leave blocks behind */
#define AREA_ALIGNMENT (64ull << 20)

struct block { /* before what the caller gets */
    uint32_t class;
    uint32_t
        back; /* GRAINs between the first possible address and the address that the caller got */
};

struct free_block {
    struct free_block *next;
};

static struct {
    uintptr_t region, end; /* 0: there is none */
    uintptr_t area, unused; /* begin of the run's area; next block's header */
    uint64_t live; /* blocks of the area */
    struct free_block *free[CLASSES];
} heap;
static _Thread_local bool mine __attribute__((tls_model("local-exec")));

/* ---- classes --------------------------------------------------------------------------------- */

static inline uint32_t log2_of(uint64_t n)
{
    return 63u - (uint32_t)__builtin_clzll(n);
}

/* The class for `bytes`, and the size of its blocks; both include the header. */
static inline uint32_t class_of(uint64_t bytes, uint64_t *size)
{
    uint32_t power, step;

    if (bytes <= SMALL) {
        *size = (bytes + GRAIN - 1) / GRAIN * GRAIN;
        return (uint32_t)(*size / GRAIN);
    }
    power = log2_of(bytes - 1);
    step = (uint32_t)((bytes - 1) >> (power - 3));
    *size = (uint64_t)(step + 1) << (power - 3);
    return SMALL / GRAIN + 1 + (power - 10) * STEPS + (step - STEPS);
}

static inline uint64_t size_of(uint32_t class)
{
    uint32_t above = class - (SMALL / GRAIN + 1);

    if (class <= SMALL / GRAIN)
        return (uint64_t) class * GRAIN;
    return (uint64_t)(above % STEPS + STEPS + 1) << (above / STEPS + 10 - 3);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static inline struct block *block_of(void *memory)
{
    return (struct block *)memory - 1;
}

static inline bool is_ours(const void *memory)
{
    return (uintptr_t)memory - heap.region < heap.end - heap.region;
}

static inline bool wanted(void)
{
    return mine && sim_core.fiber != NULL && sim_core.outside == 0;
}

/*
 * The bytes that a caller may use. Blocks of whole pages start eight bytes before the caller's
 * address. Their last eight bytes lie in the first page of the next block and are not used.
 */
static inline uint64_t room_of(void *memory)
{
    const struct block *block = block_of(memory);
    uint64_t size = size_of(block->class);

    return size - sizeof(*block) - (size >= WHOLE_PAGES ? sizeof(*block) : 0) -
           (uint64_t)block->back * GRAIN;
}

/* `zeroed`: so many bytes at its end are known to be 0. NULL: the region is used up. */
static void *block_new(size_t bytes, uint64_t *zeroed)
{
    uint64_t size;
    uint32_t class;
    struct block *block;
    struct free_block *free;
    uintptr_t at;

    if (bytes > heap.end - heap.region)
        return NULL;
    class = class_of(bytes + sizeof(*block), &size);
    if (size >= WHOLE_PAGES)
        class = class_of(bytes + 2 * sizeof(*block), &size);
    assert(class < CLASSES && size_of(class) == size);
    *zeroed = 0;
    free = heap.free[class];
    if (free != NULL) {
        heap.free[class] = free->next;
        if (size >= GIVE_BACK)
            *zeroed = size - PAGE;
        block = block_of(free);
    } else {
        at = heap.unused;
        if (size >= WHOLE_PAGES)
            at = (at + PAGE - sizeof(*block) - 1) / PAGE * PAGE + sizeof(*block);
        if (at > heap.end || size > heap.end - at)
            return NULL;
        heap.unused = at + size;
        *zeroed = size;
        block = (struct block *)at;
        block->class = class;
    }
    block->back = 0;
    heap.live++;
    return block + 1;
}

static void block_free(void *memory)
{
    struct block *block = block_of(memory);
    uint32_t class = block->class;
    uint64_t size = size_of(class);
    struct free_block *free =
        (struct free_block *)((uintptr_t)memory - (uint64_t)block->back * GRAIN);

    assert(is_ours(memory) && class < CLASSES);
    if (!mine)
        return; /* freed by a thread that the simulation does not know: the block is lost */
    if (size >= GIVE_BACK)
        madvise((void *)(((uintptr_t)free + PAGE) / PAGE * PAGE), size - PAGE, MADV_DONTNEED);
    if ((uintptr_t)free < heap.area)
        return; /* of an earlier run */
    assert(heap.live > 0);
    block_of(free)->class = class;
    free->next = heap.free[class];
    heap.free[class] = free;
    heap.live--;
}

static void *block_aligned(size_t alignment, size_t bytes)
{
    uint64_t zeroed;
    void *memory;
    uintptr_t at;
    struct block *block;

    if (alignment <= GRAIN)
        return block_new(bytes, &zeroed);
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    memory = block_new(bytes + alignment, &zeroed);
    if (memory == NULL)
        return NULL;
    at = ((uintptr_t)memory + alignment - 1) & ~((uintptr_t)alignment - 1);
    block = block_of((void *)at);
    block->class = block_of(memory)->class;
    block->back = (uint32_t)((at - (uintptr_t)memory) / GRAIN);
    return (void *)at;
}

/* ---- runs ------------------------------------------------------------------------------------ */

void cluster_heap_begin(void)
{
    void *region;

    if (heap.region == 0) {
        region = mmap((void *)REGION_AT, REGION_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED)
            return; /* the host refuses to map the area: use its own allocator */
        madvise(region, REGION_BYTES, MADV_NOHUGEPAGE);
        heap.region = (uintptr_t)region;
        heap.end = heap.region + REGION_BYTES;
        heap.area = (heap.region + AREA_ALIGNMENT - 1) / AREA_ALIGNMENT * AREA_ALIGNMENT;
        heap.unused = heap.area + sizeof(struct block);
    }
    mine = true;
}

void cluster_heap_end(void)
{
    uintptr_t used = heap.unused - heap.area;

    if (!mine)
        return;
    if (heap.live == 0)
        madvise((void *)heap.area, used, MADV_DONTNEED);
    else
        heap.area += (used + AREA_ALIGNMENT - 1) / AREA_ALIGNMENT * AREA_ALIGNMENT;
    heap.unused = heap.area + sizeof(struct block);
    heap.live = 0;
    memset(heap.free, 0, sizeof heap.free);
}

void cluster_heap_lend(void)
{
    mine = heap.region != 0;
}

/* ---- what the C library has, too ------------------------------------------------------------- */

static void *checked(void *memory)
{
    if (memory == NULL)
        errno = ENOMEM;
    return memory;
}

EXPORTED void *malloc(size_t bytes)
{
    uint64_t zeroed;
    void *memory;

    if (wanted() && (memory = block_new(bytes, &zeroed)) != NULL)
        return memory;
    return __libc_malloc(bytes);
}

void cluster_heap_free(void *memory)
{
    if (is_ours(memory))
        block_free(memory);
    else
        __libc_free(memory);
}

EXPORTED __attribute__((weak)) void free(void *memory)
{
    cluster_heap_free(memory);
}

EXPORTED void *calloc(size_t count, size_t each)
{
    uint64_t zeroed, room, bytes;
    void *memory;

    if (!wanted() || __builtin_mul_overflow(count, each, &bytes) ||
        (memory = block_new(bytes, &zeroed)) == NULL)
        return __libc_calloc(count, each);
    room = room_of(memory);
    if (zeroed < room)
        memset(memory, 0, zeroed == 0 || bytes < room - zeroed ? bytes : room - zeroed);
    return memory;
}

EXPORTED void *realloc(void *old, size_t bytes)
{
    uint64_t room;
    void *memory;

    if (old == NULL)
        return malloc(bytes);
    if (!is_ours(old))
        return __libc_realloc(old, bytes);
    if (bytes == 0) {
        block_free(old);
        return NULL;
    }
    room = room_of(old);
    if (bytes <= room && bytes >= room / 2)
        return old;
    memory = malloc(bytes);
    if (memory == NULL)
        return NULL;
    memcpy(memory, old, room < bytes ? room : bytes);
    block_free(old);
    return memory;
}

EXPORTED void *memalign(size_t alignment, size_t bytes)
{
    void *memory;

    if (!wanted() || alignment == 0 || (alignment & (alignment - 1)) != 0 ||
        (memory = block_aligned(alignment, bytes)) == NULL)
        return __libc_memalign(alignment, bytes);
    return memory;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        errno = EINVAL;
        return NULL;
    }
    return memalign(alignment, bytes);
}

EXPORTED int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    int before = errno;
    void *got;

    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    got = memalign(alignment, bytes);
    errno = before;
    if (got == NULL)
        return ENOMEM;
    *memory = got;
    return 0;
}

EXPORTED size_t malloc_usable_size(void *memory)
{
    static size_t (*theirs)(void *);

    if (memory == NULL)
        return 0;
    if (is_ours(memory))
        return room_of(memory);
    if (theirs == NULL)
        *(void **)&theirs = dlsym(RTLD_NEXT, "malloc_usable_size");
    return theirs != NULL ? theirs(memory) : 0;
}

EXPORTED void *valloc(size_t bytes)
{
    return memalign(PAGE, bytes);
}

EXPORTED void *pvalloc(size_t bytes)
{
    return bytes > SIZE_MAX - PAGE ? checked(NULL)
                                   : memalign(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
}

#endif
