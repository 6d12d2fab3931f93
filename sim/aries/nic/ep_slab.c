/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of endpoints; see objects.h. */
#include "nic/objects.h"

#include <assert.h>
#include <glib.h>
#include <sys/mman.h>
#include "nic/endpoint.h"

#define PAGE_BYTES 4096u
#define WINDOW_BYTES                                                            \
    (UINT64_C(1) << 24) /* distance at which the low 24 bits of a handle repeat \
                         */
#define WINDOW_PAGES (WINDOW_BYTES / PAGE_BYTES)
#define ARENA_BYTES (UINT64_C(1) << 36) /* address space for half a billion endpoints */

/* A page that no process holds. Its first word looks like that of a destroyed endpoint. */
struct aries_ep_page {
    uint32_t magic;
    struct aries_ep_page *next;
};

struct free_ep {
    uint32_t magic;
    struct gni_ep *next;
};

_Static_assert(sizeof(struct gni_ep) == 256, "16 endpoints a page, four cache lines each");

static bool arena_map(struct aries_ep_arena *arena)
{
    uint64_t bytes = ARENA_BYTES;
    char *range;
    size_t skip;

    /* Ask for less if address space is short (because of a limit or a memory checker). */
    while ((range = mmap(NULL, bytes + WINDOW_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED) {
        bytes /= 4;
        if (bytes < WINDOW_BYTES)
            return false;
    }
    skip = -(uintptr_t)range & (WINDOW_BYTES - 1);
    if (skip > 0)
        munmap(range, skip);
    if (skip < WINDOW_BYTES)
        munmap(range + skip + bytes, WINDOW_BYTES - skip);
    arena->base = range + skip;
    arena->mapped = bytes;
    return true;
}

static bool clashes(const struct aries_ep_slab *slab, uint32_t page)
{
    uint32_t i;

    for (i = 0; i < slab->pages_count; i++)
        if (slab->pages[i] % WINDOW_PAGES == page % WINDOW_PAGES)
            return true;
    return false;
}

static struct aries_ep_page *page_at(struct aries_ep_arena *arena, uint32_t page)
{
    return (struct aries_ep_page *)(arena->base + (uint64_t)page * PAGE_BYTES);
}

static uint32_t page_index(const struct aries_ep_arena *arena, const struct aries_ep_page *page)
{
    return (uint32_t)(((const char *)page - arena->base) / PAGE_BYTES);
}

static struct aries_ep_page *page_take(struct aries_ep_arena *arena,
                                       const struct aries_ep_slab *slab)
{
    struct aries_ep_page **link = &arena->free;

    for (; *link != NULL; link = &(*link)->next) {
        struct aries_ep_page *page = *link;

        if (!clashes(slab, page_index(arena, page))) {
            *link = page->next;
            return page;
        }
    }
    while (arena->next < arena->mapped / PAGE_BYTES) {
        struct aries_ep_page *page = page_at(arena, arena->next++);

        if (!clashes(slab, page_index(arena, page)))
            return page;
        page->next = arena->free;
        arena->free = page;
    }
    return NULL;
}

static void push_free(struct aries_ep_slab *slab, struct gni_ep *ep)
{
    struct free_ep *link = (struct free_ep *)ep;

    link->magic = 0;
    link->next = slab->free;
    slab->free = ep;
}

static bool slab_grow(struct aries_ep_slab *slab)
{
    struct aries_ep_arena *arena = slab->arena;
    struct aries_ep_page *page;
    unsigned count = PAGE_BYTES / sizeof(struct gni_ep);

    if (slab->pages_count == WINDOW_PAGES || (arena->base == NULL && !arena_map(arena)))
        return false;
    page = page_take(arena, slab);
    if (page == NULL)
        return false;
    if ((slab->pages_count & (slab->pages_count - 1)) == 0)
        slab->pages = g_renew(uint32_t, slab->pages, slab->pages_count * 2 + 1);
    slab->pages[slab->pages_count++] = page_index(arena, page);
    assert(slab->pages_count <= WINDOW_PAGES);
    while (count-- > 0)
        push_free(slab, (struct gni_ep *)page + count);
    return true;
}

struct aries_ep_slab *aries_ep_slab_create(struct aries_ep_arena *arena,
                                           void (*discard)(struct gni_ep *ep))
{
    struct aries_ep_slab *slab = g_new0(struct aries_ep_slab, 1);

    arena->discard = discard;
    slab->arena = arena;
    return slab;
}

struct gni_ep *aries_ep_slab_new(struct aries_ep_slab *slab)
{
    struct gni_ep *ep;

    if (slab->free == NULL && !slab_grow(slab))
        return NULL;
    ep = slab->free;
    slab->free = ((struct free_ep *)ep)->next;
    slab->used++;
    return memset(ep, 0, sizeof(*ep));
}

static void slab_free_pages(struct aries_ep_slab *slab)
{
    while (slab->pages_count > 0) {
        struct aries_ep_page *page = page_at(slab->arena, slab->pages[--slab->pages_count]);

        page->magic = 0;
        page->next = slab->arena->free;
        slab->arena->free = page;
    }
    g_free(slab->pages);
    g_free(slab);
}

sim_cold void aries_ep_slab_delete(struct aries_ep_slab *slab, struct gni_ep *ep)
{
    struct aries_ep_slab **link;

    assert(slab->used > 0);
    push_free(slab, ep);
    if (--slab->used > 0 || !slab->orphan)
        return;
    for (link = &slab->arena->orphans; *link != slab; link = &(*link)->next)
        ;
    *link = slab->next;
    slab_free_pages(slab);
}

void aries_ep_slab_abandon(struct aries_ep_slab *slab)
{
    if (slab->used == 0) {
        slab_free_pages(slab);
        return;
    }
    slab->orphan = true;
    slab->next = slab->arena->orphans;
    slab->arena->orphans = slab;
}

void aries_ep_arena_free(struct aries_ep_arena *arena)
{
    while (arena->orphans != NULL) {
        struct aries_ep_slab *slab = arena->orphans;
        uint32_t page, i;

        arena->orphans = slab->next;
        /* A free endpoint has nothing to discard. */
        for (page = 0; page < slab->pages_count; page++)
            for (i = 0; i < PAGE_BYTES / sizeof(struct gni_ep); i++)
                arena->discard((struct gni_ep *)page_at(arena, slab->pages[page]) + i);
        slab_free_pages(slab);
    }
    if (arena->base != NULL)
        munmap(arena->base, arena->mapped);
    arena->base = NULL;
}
