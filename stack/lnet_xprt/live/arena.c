/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs of pages, first fit, and pages that are cut into units for smaller objects. What is known of
 * a page is outside of the arena, where a daemon cannot reach it.
 */
#define _GNU_SOURCE
#include "live/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/assert.h"
#include "lib/memory.h"
#include "port/port.h"

enum {
    PAGE = 4096,
    UNIT = 128,
    UNITS = PAGE / UNIT,
    ALIGNMENT_MAX = 2 << 20,
    RETURN_PAGES = 16, /* shorter free runs keep their memory */
};

struct about {
    uint32_t run; /* pages of the run that begins here; 0: none does */
    uint32_t units; /* of a page that is cut: the objects in use, by their first unit */
    uint32_t next; /* in the list of such pages with room: number + 1 */
    uint8_t used, cut; /* cut: units of each object; 0: it is not */
};

static struct {
    struct port_mutex lock;
    int file;
    char *base; /* NULL: there is none */
    uint32_t pages;
    uint32_t low; /* no page below is free */
    uint32_t partial[UNITS]; /* lists, by `cut` */
    struct about *about;
} arena;

static const struct m0_aligned_source source = {m0_live_arena_alloc, m0_live_arena_free};

/* ---- the file -------------------------------------------------------------------------------- */

static int make_file(size_t bytes)
{
    int file = memfd_create("m0net", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)bytes) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return file;
    rc = -errno;
    close(file);
    return rc;
}

/* At a multiple of the largest alignment. */
static int map(size_t bytes)
{
    size_t room = bytes + ALIGNMENT_MAX;
    char *all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
         *at;

    if (all == MAP_FAILED)
        return -errno;
    at = all + (-(uintptr_t)all & (ALIGNMENT_MAX - 1));
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, arena.file,
             0) == MAP_FAILED ||
        madvise(at, bytes, MADV_DONTFORK) != 0) {
        int rc = -errno;

        munmap(all, room);
        return rc;
    }
    arena.base = at;
    return 0;
}

int m0_live_arena_begin(size_t bytes)
{
    int rc;

    if (arena.base != NULL)
        return 0;
    if (bytes == 0 || bytes % PAGE != 0 || bytes / PAGE > UINT32_MAX - 1)
        return -EINVAL;
    arena.pages = (uint32_t)(bytes / PAGE);
    arena.about = port_pages_alloc(arena.pages * sizeof(arena.about[0]), 0);
    if (arena.about == NULL)
        return -ENOMEM;
    arena.file = make_file(bytes);
    rc = arena.file < 0 ? arena.file : map(bytes);
    if (rc != 0) {
        if (arena.file >= 0)
            close(arena.file);
        port_pages_free(arena.about, arena.pages * sizeof(arena.about[0]));
        return rc;
    }
    port_mutex_init(&arena.lock);
    m0_aligned_source_set(&source);
    return 0;
}

int m0_live_arena_file(uint64_t *address, uint64_t *bytes)
{
    *address = (uintptr_t)arena.base;
    *bytes = (uint64_t)arena.pages * PAGE;
    return arena.file;
}

bool m0_live_arena_has(const void *address, size_t bytes)
{
    uint64_t at = (uintptr_t)address - (uintptr_t)arena.base, size = (uint64_t)arena.pages * PAGE;

    return arena.base != NULL && at < size && bytes <= size - at;
}

/* ---- runs of pages --------------------------------------------------------------------------- */

/* The number of the first page, or that behind the last one. */
static uint32_t run_find(uint32_t count, uint32_t step)
{
    uint32_t first = (arena.low + step - 1) / step * step, i;

    while (first < arena.pages && count <= arena.pages - first) {
        for (i = 0; i < count && !arena.about[first + i].used; i++) {
        }
        if (i == count)
            return first;
        first = (first + i + step) / step * step;
    }
    return arena.pages;
}

static uint32_t run_take(uint32_t count, uint32_t step)
{
    uint32_t first = run_find(count, step), i;

    if (first == arena.pages)
        return first;
    for (i = 0; i < count; i++)
        arena.about[first + i].used = 1;
    arena.about[first].run = count;
    while (arena.low < arena.pages && arena.about[arena.low].used)
        arena.low++;
    return first;
}

static void run_free(uint32_t first)
{
    uint32_t count = arena.about[first].run, i;

    for (i = 0; i < count; i++)
        arena.about[first + i].used = 0;
    arena.about[first].run = 0;
    if (first < arena.low)
        arena.low = first;
    if (count >= RETURN_PAGES)
        madvise(arena.base + (size_t)first * PAGE, (size_t)count * PAGE, MADV_REMOVE);
}

/* ---- pages that are cut ---------------------------------------------------------------------- */

/* The first free unit at a multiple of the objects' size; UNITS: there is none. */
static uint32_t cut_find(const struct about *about)
{
    uint32_t at = 0;

    while (at < UNITS && (about->units >> at & 1) != 0)
        at += about->cut;
    return at;
}

static void *cut_take(uint32_t units)
{
    uint32_t *list = &arena.partial[units], page, at;
    struct about *about;

    if (*list == 0) {
        page = run_take(1, 1);
        if (page == arena.pages)
            return NULL;
        arena.about[page].cut = (uint8_t)units;
        arena.about[page].units = 0;
        arena.about[page].next = 0;
        *list = page + 1;
    }
    page = *list - 1;
    about = &arena.about[page];
    at = cut_find(about);
    M0_ASSERT(at < UNITS);
    about->units |= 1u << at;
    if (cut_find(about) >= UNITS)
        *list = about->next;
    return arena.base + (size_t)page * PAGE + (size_t)at * UNIT;
}

/* The page stays cut. */
static void cut_free(uint32_t page, uint32_t at)
{
    struct about *about = &arena.about[page];

    M0_ASSERT((about->units >> at & 1) != 0);
    if (cut_find(about) >= UNITS) {
        about->next = arena.partial[about->cut];
        arena.partial[about->cut] = page + 1;
    }
    about->units &= ~(1u << at);
}

/* ---- objects --------------------------------------------------------------------------------- */

void *m0_live_arena_alloc(size_t bytes, size_t alignment)
{
    size_t room = bytes > alignment ? bytes : alignment;
    void *memory = NULL;
    uint32_t page, units;

    if (alignment > ALIGNMENT_MAX || bytes > (size_t)arena.pages * PAGE)
        return NULL;
    port_mutex_lock(&arena.lock);
    if (room <= PAGE / 2) {
        for (units = 1; (size_t)units * UNIT < room; units *= 2) {
        }
        memory = cut_take(units);
    } else {
        page = run_take((uint32_t)((bytes + PAGE - 1) / PAGE),
                        alignment > PAGE ? (uint32_t)(alignment / PAGE) : 1);
        if (page != arena.pages)
            memory = arena.base + (size_t)page * PAGE;
    }
    port_mutex_unlock(&arena.lock);
    return memory;
}

bool m0_live_arena_free(void *memory)
{
    size_t offset = (uintptr_t)memory - (uintptr_t)arena.base;
    uint32_t page = (uint32_t)(offset / PAGE);

    if (!m0_live_arena_has(memory, 1))
        return false;
    port_mutex_lock(&arena.lock);
    if (arena.about[page].cut != 0) {
        cut_free(page, (uint32_t)(offset % PAGE / UNIT));
    } else {
        M0_ASSERT(arena.about[page].run != 0 && offset % PAGE == 0);
        run_free(page);
    }
    port_mutex_unlock(&arena.lock);
    return true;
}
