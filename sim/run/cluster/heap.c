/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each rank has an arena: a small part beside those of the other ranks, which begins with the
 * arena's lists, and a large part for what does not fit there. The number of the rank determines
 * where both are, so what one rank allocates does not move the blocks of another one. The region is
 * address space only: a rank that allocates nothing has no memory here.
 *
 * Blocks have size classes: each multiple of 16 bytes up to 1 KiB, and eight classes for each power
 * of two above. The eight bytes before a block say which class it has. A free block goes into the
 * list of its class and keeps its class; new blocks are cut from the front of the unused memory.
 * Only one thread allocates.
 *
 * A rank's clock is ahead of the events that are due: whether an event that frees a block of the
 * rank has fired when the rank allocates depends on what else is due. So such a block is not given
 * to the rank before a time at which the event has fired in any case (struct returned).
 *
 * Arenas end with their run. If blocks of them are still in use (they belong to a killed rank, or
 * to a library that never frees them), the next run gets the addresses behind them, otherwise the
 * same ones.
 */
#define _GNU_SOURCE
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
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/sim.h"
#include "scenario/scenario.h"
#include "heap_classes.h"

/* The C library offers its own by these names: NOLINTBEGIN(bugprone-reserved-identifier) */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);
/* End of the C library's names: NOLINTEND(bugprone-reserved-identifier) */

#define EXPORTED __attribute__((visibility("default"))) /* for all libraries */
#define PAGE 4096u
#define WHOLE_PAGES (128u << 10) /* from here on, blocks begin at a page */
#define GIVE_BACK \
    (1u << 20) /* from here on, the pages of a free block are given back to the host */
#define REGION_AT \
    0x100000000000ull /* no library is mapped there, so that addresses are the same in each run */
#define ARENAS (RANKS_MAX + 1) /* the first one: for fibers that belong to no rank */
#define SMALL_PART                                                                \
    (9u * PAGE) /* no power of two, or the first lines of all would share a place \
                   in the caches */
#define SMALL_PARTS (8ull << 40) /* for the small parts of all runs that leave blocks behind */
#define SMALL_ALIGNMENT (64ull << 20)
/* Arena n has a large part of the octave of n + 1, all parts of which are equal: 2 TiB for the
 * first arena, 1 TiB for the next two, 32 MiB for number 65,535 and those behind it. A rank that
 * needs more gets it from the C library. */
#define OCTAVE (2ull << 40)
#define OCTAVES 18u
#define LARGE_ALIGNMENT (2ull << 20)
#define REGION_BYTES (SMALL_PARTS + OCTAVES * OCTAVE)
#define EPOCH 26 /* 2^26 ps: longer than a poll, by which a clock may be ahead or not */

struct block { /* before what the caller gets */
    uint32_t class;
    uint32_t
        back; /* GRAINs between the first possible address and the address that the caller got */
};

struct free_block {
    struct free_block *next;
};

/* Blocks of a rank that others freed in an epoch, in the order of time. */
struct returned {
    struct free_block *first, *last;
    uint64_t epoch;
};

struct arena {
    _Alignas(GRAIN) uintptr_t
        unused; /* next block's header, in the small part; 0: the rank has not allocated */
    uintptr_t large, large_end; /* the same, in the large part */
    struct returned returned[3]; /* the last epochs; [0]: and all before */
    struct free_block *free[CLASSES];
};
_Static_assert(sizeof(struct arena) < PAGE, "a rank that allocates little has one page");

static struct {
    uintptr_t region, end; /* 0: there is none */
    uintptr_t area; /* small parts of this run */
    uint32_t arenas; /* up to the last one that was used */
    uint64_t live; /* blocks of this run */
    uintptr_t glib, glib_end; /* its code */
} heap;
/* Blocks of earlier runs lie before these offsets in the large parts. */
static uint64_t left[ARENAS];
static _Thread_local bool mine __attribute__((tls_model("local-exec")));

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

/* ---- arenas ---------------------------------------------------------------------------------- */

static inline struct arena *arena_at(uint32_t number)
{
    return (struct arena *)(heap.area + (uintptr_t)number * SMALL_PART);
}

static inline uintptr_t large_part(uint32_t number, uint64_t *bytes)
{
    uint32_t octave = log2_of(number + 1u);

    *bytes = OCTAVE >> octave;
    return heap.region + SMALL_PARTS + octave * OCTAVE + (number + 1u - (1u << octave)) * *bytes;
}

static struct arena *arena_of_fiber(void)
{
    uint32_t number = sim_fiber_memory(sim_core.fiber);
    struct arena *arena;
    uint64_t bytes;

    if (sim_unlikely(number >= ARENAS))
        number = 0;
    arena = arena_at(number);
    if (sim_likely(arena->unused != 0))
        return arena;
    arena->unused = (uintptr_t)(arena + 1) + sizeof(struct block);
    arena->large = large_part(number, &bytes);
    arena->large_end = arena->large + bytes;
    arena->large += left[number] + sizeof(struct block);
    if (heap.arenas <= number)
        heap.arenas = number + 1;
    return arena;
}
_Static_assert(sizeof(struct arena) % GRAIN == 0, "blocks are aligned");

/* The number of the arena that has a block; ARENAS: one of an earlier run. */
static uint32_t arena_of_block(uintptr_t at)
{
    uint64_t offset = at - heap.region, bytes;
    uint32_t octave, number;

    if (offset < SMALL_PARTS)
        return at < heap.area ? ARENAS : (uint32_t)((at - heap.area) / SMALL_PART);
    offset -= SMALL_PARTS;
    octave = (uint32_t)(offset / OCTAVE);
    number = (1u << octave) - 1 + (uint32_t)(offset % OCTAVE / (OCTAVE >> octave));
    return at - large_part(number, &bytes) < left[number] ? ARENAS : number;
}

static void put_free(struct arena *arena, struct free_block *free)
{
    uint32_t class = ((struct block *)free - 1)->class;

    free->next = arena->free[class];
    arena->free[class] = free;
}

static void append(struct returned *to, struct free_block *first, struct free_block *last)
{
    if (first == NULL)
        return;
    last->next = NULL;
    if (to->first == NULL)
        to->first = first;
    else
        to->last->next = first;
    to->last = last;
}

/* Somebody else frees it: an event, or another rank. */
static void put_returned(struct arena *arena, struct free_block *free)
{
    struct returned *returned = arena->returned;
    uint64_t epoch = sim_core.now >> EPOCH;

    if (returned[2].epoch != epoch) {
        append(&returned[0], returned[1].first, returned[1].last);
        returned[0].epoch = returned[1].epoch;
        returned[1] = returned[2];
        if (returned[1].epoch + 1 != epoch) {
            append(&returned[0], returned[1].first, returned[1].last);
            returned[0].epoch = returned[1].epoch;
            returned[1] = (struct returned){.epoch = epoch - 1};
        }
        returned[2] = (struct returned){.epoch = epoch};
    }
    append(&returned[2], free, free);
}

/* The rank gets what was freed two epochs before its own time, or earlier. */
static void take_returned(struct arena *arena)
{
    uint64_t epoch = sim_core.local >> EPOCH;
    struct free_block *free, *next;
    unsigned i;

    for (i = 0; i < 3 && arena->returned[i].epoch + 2 <= epoch; i++) {
        for (free = arena->returned[i].first; free != NULL; free = next) {
            next = free->next;
            put_free(arena, free);
        }
        arena->returned[i].first = NULL;
    }
}

/* Of the front of the unused memory; 0: it is used up. */
static uintptr_t cut(struct arena *arena, uint64_t size)
{
    uintptr_t at = arena->unused;

    if (size <= (uintptr_t)arena + SMALL_PART - at) {
        arena->unused = at + size;
        return at;
    }
    at = arena->large;
    if (size >= WHOLE_PAGES)
        at = (at + PAGE - sizeof(struct block) - 1) / PAGE * PAGE + sizeof(struct block);
    if (at > arena->large_end || size > arena->large_end - at)
        return 0;
    arena->large = at + size;
    return at;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

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

/* `zeroed`: so many bytes at its end are known to be 0. NULL: the arena is used up. */
static void *block_new(size_t bytes, uint64_t *zeroed)
{
    struct arena *arena = arena_of_fiber();
    uint64_t size;
    uint32_t class;
    struct block *block;
    struct free_block *free;

    if (bytes > OCTAVE)
        return NULL;
    class = class_of(bytes + sizeof(*block), &size);
    if (size >= WHOLE_PAGES)
        class = class_of(bytes + 2 * sizeof(*block), &size);
    assert(class < CLASSES && size_of(class) == size);
    if (sim_unlikely(arena->returned[0].first != NULL || arena->returned[1].first != NULL ||
                     arena->returned[2].first != NULL))
        take_returned(arena);
    *zeroed = 0;
    free = arena->free[class];
    if (free != NULL) {
        arena->free[class] = free->next;
        if (size >= GIVE_BACK)
            *zeroed = size - PAGE;
        block = block_of(free);
    } else {
        block = (struct block *)cut(arena, size);
        if (block == NULL)
            return NULL;
        *zeroed = size;
        block->class = class;
    }
    block->back = 0;
    heap.live++;
    return block + 1;
}

static void block_free(void *memory)
{
    struct block *block = block_of(memory);
    uint32_t class = block->class, number;
    uint64_t size = size_of(class);
    struct free_block *free =
        (struct free_block *)((uintptr_t)memory - (uint64_t)block->back * GRAIN);

    assert(is_ours(memory) && class < CLASSES);
    if (!mine)
        return; /* freed by a thread that the simulation does not know: the block is lost */
    if (size >= GIVE_BACK)
        madvise((void *)(((uintptr_t)free + PAGE) / PAGE * PAGE), size - PAGE, MADV_DONTNEED);
    number = arena_of_block((uintptr_t)free);
    if (number == ARENAS)
        return;
    assert(heap.live > 0 && number < heap.arenas);
    block_of(free)->class = class;
    if (sim_core.fiber != NULL && sim_fiber_memory(sim_core.fiber) == number)
        put_free(arena_at(number), free);
    else
        put_returned(arena_at(number), free);
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

/* Where GLib's code is. */
static int find_glib(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    int i;

    (void)bytes, (void)arg;
    if (strstr(info->dlpi_name, "/libglib-2.0.so") == NULL)
        return 0;
    for (i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            heap.glib = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            heap.glib_end = heap.glib + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}

/* False: a thousand runs of the most ranks, or more smaller ones, have left blocks behind. */
static bool has_room(void)
{
    return heap.region != 0 &&
           heap.area + (uint64_t)ARENAS * SMALL_PART <= heap.region + SMALL_PARTS;
}

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
        heap.area = (heap.region + SMALL_ALIGNMENT - 1) / SMALL_ALIGNMENT * SMALL_ALIGNMENT;
        dl_iterate_phdr(find_glib, NULL);
    }
    mine = has_room();
}

/* What a run has used of the large parts: given back, or not used again. */
static void end_large_parts(void)
{
    uint32_t number;
    uint64_t bytes;

    for (number = 0; number < heap.arenas; number++) {
        const struct arena *arena = arena_at(number);
        uintptr_t begin = large_part(number, &bytes), from = begin + left[number];

        if (arena->unused == 0 || arena->large == from + sizeof(struct block))
            continue;
        if (heap.live == 0)
            madvise((void *)from, arena->large - from, MADV_DONTNEED);
        else
            left[number] =
                (arena->large - begin + LARGE_ALIGNMENT - 1) / LARGE_ALIGNMENT * LARGE_ALIGNMENT;
    }
}

void cluster_heap_end(void)
{
    uintptr_t used = (uintptr_t)heap.arenas * SMALL_PART;

    if (!mine)
        return;
    end_large_parts();
    if (heap.live == 0)
        madvise((void *)heap.area, used, MADV_DONTNEED);
    else
        heap.area += (used + SMALL_ALIGNMENT - 1) / SMALL_ALIGNMENT * SMALL_ALIGNMENT;
    heap.live = 0;
    heap.arenas = 0;
}

void cluster_heap_lend(void)
{
    mine = has_room();
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
    /* GLib divides such memory between all who ask for little. */
    bool shared = (uintptr_t)__builtin_return_address(0) - heap.glib < heap.glib_end - heap.glib;

    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    sim_core.outside += shared;
    got = memalign(alignment, bytes);
    sim_core.outside -= shared;
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
