/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulated machine as a stack sees it: memory, names, descriptors, randomness, diagnosis. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cluster/port_fiber.h"

/* The port has a random stream of its own, so that a program draws the same numbers with and
 * without a stack. */
uint64_t port_random(void)
{
    struct port_process *self = port_self();
    const struct job *job = self->rank->job;
    char name[96];

    if (!self->random_ready) {
        snprintf(name, sizeof(name), "%s/port", self->rank->app->scenario->name);
        sim_random_init(&self->random, job->cluster->options.seed, name, self->rank->id);
        self->random_ready = true;
    }
    return sim_random_next(&self->random);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Thousands of ranks with a few slabs each would need more mappings than the kernel allows, so all
 * slabs lie in a few large mappings. A freed slab gives its pages back to the host, and the next
 * request of the same size gets its addresses.
 */
#define ARENA_BYTES (1ull << 38)
#define PAGE_BYTES 4096u

struct arena {
    struct arena *next;
    char *base;
    size_t bytes, used;
};

struct hole { /* in the hash table by size */
    struct hole *next;
    void *at;
};

static struct arena *arenas;
static GHashTable *holes; /* bytes → struct hole */

static struct arena *arena_new(size_t bytes)
{
    struct arena *arena;
    size_t size = MAX(ARENA_BYTES, bytes);
    void *base;

    /* Address space may be limited (ulimit -v). */
    while ((base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED) {
        if (size == bytes)
            return NULL;
        size = MAX(size / 4, bytes);
    }
    /* A rank touches few pages of its slab. Huge pages would waste 2 MiB for each. */
    madvise(base, size, MADV_NOHUGEPAGE);
    arena = g_new(struct arena, 1);
    *arena = (struct arena){.next = arenas, .base = base, .bytes = size};
    arenas = arena;
    return arena;
}

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Free slabs are kept by size alone; their alignment has to be checked here. */
static void *hole_take(size_t bytes, size_t page)
{
    struct hole **link, *hole, *first;
    void *at = NULL;

    if (holes == NULL)
        return NULL;
    first = g_hash_table_lookup(holes, GSIZE_TO_POINTER(bytes));
    for (link = &first; *link != NULL && (uintptr_t)(*link)->at % page != 0; link = &(*link)->next)
        ;
    hole = *link;
    if (hole == NULL)
        return NULL;
    *link = hole->next;
    g_hash_table_insert(holes, GSIZE_TO_POINTER(bytes), first);
    at = hole->at;
    g_free(hole);
    return at;
}

void *port_pages_alloc(size_t bytes, size_t page)
{
    struct arena *arena = arenas;
    size_t begin;
    void *at;

    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return NULL;
    page = page > PAGE_BYTES ? page : PAGE_BYTES;
    bytes = round_up(bytes, PAGE_BYTES);
    at = hole_take(bytes, page);
    if (at != NULL)
        return at;
    begin = arena != NULL ? round_up((uintptr_t)arena->base + arena->used, page) : 0;
    if (arena == NULL || begin + bytes > (uintptr_t)arena->base + arena->bytes) {
        arena = arena_new(bytes + page);
        if (arena == NULL)
            return NULL;
        begin = round_up((uintptr_t)arena->base, page);
    }
    arena->used = begin + bytes - (uintptr_t)arena->base;
    return (void *)begin;
}

int port_memory_watch(void)
{
    return 0;
}

uint64_t port_memory_watch_begin(uint64_t address, uint64_t bytes)
{
    (void)address, (void)bytes;
    return 0;
}

void port_memory_watch_end(uint64_t watch)
{
    (void)watch;
}

/* Does nothing: a simulated NIC uses addresses, and reads the memory that is there at that time. */
int port_memory_changed(uint64_t *place, uint64_t *address, uint64_t *bytes)
{
    (void)place, (void)address, (void)bytes;
    return 0;
}

void port_pages_free(void *pages, size_t bytes)
{
    struct hole *hole;

    if (pages == NULL)
        return;
    bytes = round_up(bytes, PAGE_BYTES);
    madvise(pages, bytes, MADV_DONTNEED);
    if (holes == NULL)
        holes = g_hash_table_new(NULL, NULL);
    hole = g_new(struct hole, 1);
    hole->at = pages;
    hole->next = g_hash_table_lookup(holes, GSIZE_TO_POINTER(bytes));
    g_hash_table_insert(holes, GSIZE_TO_POINTER(bytes), hole);
}

static void free_holes(void *bytes, void *first, void *unused)
{
    struct hole *hole, *next;

    for (hole = first; hole != NULL; hole = next) {
        next = hole->next;
        g_free(hole);
    }
}

void port_pages_end(void)
{
    struct arena *arena;

    if (holes != NULL) {
        g_hash_table_foreach(holes, free_holes, NULL);
        g_hash_table_destroy(holes);
        holes = NULL;
    }
    while ((arena = arenas) != NULL) {
        arenas = arena->next;
        munmap(arena->base, arena->bytes);
        g_free(arena);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

void port_host_name(char *name, size_t size)
{
    snprintf(name, size, "nid%05u", port_self()->rank->node);
}

int port_resolve(const char *host, uint32_t instance, uint32_t *nic_address)
{
    const struct cluster *cluster = port_self()->rank->job->cluster;
    const struct aries_fabric *fabric = cluster_aries(cluster);
    uint32_t node;

    (void)instance; /* "localhost" is the caller's node */
    if (fabric == NULL)
        return -ENODEV;
    if (strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0)
        node = port_self()->rank->node;
    else if (!aries_node_of_host(fabric, host, &node))
        return -ENODATA;
    if (node >= net_endpoints(cluster_net(cluster)))
        return -ENODATA;
    *nic_address = aries_nic_address(fabric, node);
    return 0;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Descriptors of the host, so that every non-blocking use of them works. The calls that block are
 * rank_poll() and a foreign program's poll(2); they wait in virtual time. */
int port_event_open(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void port_event_set(int event)
{
    uint64_t one = 1;
    ssize_t written;

    sim_settle();
    sim_idle_break();
    written = write(event, &one, sizeof(one));
    (void)written; /* the pipe is full, so it is readable */
    rank_wake(port_self()->rank);
}

void port_event_clear(int event)
{
    uint64_t count;
    ssize_t got = read(event, &count, sizeof(count));

    (void)got; /* the pipe is empty, as it shall be */
}

void port_event_close(int event)
{
    close(event);
}
