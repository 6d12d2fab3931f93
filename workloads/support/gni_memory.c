/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory. */
#include "gni.h"

/* Whole pages: other data behind our bytes must not become writable by others. */
static void *pages_alloc(size_t bytes)
{
    size_t whole = (bytes + 4095) & ~(size_t)4095;
    void *memory = aligned_alloc(4096, whole);

    return memory != NULL ? memset(memory, 0, whole) : NULL;
}

/* `memory` when it could be registered. */
static void *region_register(struct wl_domain *domain, void *memory, size_t bytes, int with_events,
                             struct wl_region *region)
{
    gni_return_t rc = GNI_RC_ERROR_NOMEM;

    if (memory != NULL)
        rc = GNI_MemRegister(domain->nic, (uintptr_t)memory, bytes, with_events ? domain->rx : NULL,
                             GNI_MEM_READWRITE, UINT32_MAX, &region->handle);
    region->address = (uintptr_t)memory;
    if (rc == GNI_RC_SUCCESS)
        return memory;
    rank_fail(domain->rank, "cannot register %zu bytes: %s", bytes, wl_rc_name(rc));
    return NULL;
}

void *wl_region_alloc(struct wl_domain *domain, size_t bytes, int with_events,
                      struct wl_region *region)
{
    void *memory = pages_alloc(bytes);
    void *registered = region_register(domain, memory, bytes, with_events, region);

    if (registered == NULL)
        free(memory);
    return registered;
}

void *wl_region_alloc_common(struct wl_domain *domain, size_t bytes, struct wl_region *region)
{
    static struct common {
        struct common *next;
        size_t bytes;
        void *memory;
    } * all;
    struct common *common = all;

    while (common != NULL && common->bytes != bytes)
        common = common->next;
    if (common == NULL) {
        common = malloc(sizeof(*common));
        if (common == NULL)
            return region_register(domain, NULL, bytes, 0, region);
        *common = (struct common){all, bytes, pages_alloc(bytes)};
        all = common;
    }
    return region_register(domain, common->memory, bytes, 0, region);
}

void wl_region_free(struct wl_domain *domain, void *memory, struct wl_region *region)
{
    if (memory == NULL)
        return;
    GNI_MemDeregister(domain->nic, &region->handle);
    free(memory);
}

int wl_word_wait(struct wl_domain *domain, const volatile uint64_t *word, uint64_t value)
{
    while (!rank_spin_until_alarm(domain->rank, word, value))
        if (wl_domain_timed_out(domain))
            return 0;
    domain->progress_count++;
    return 1;
}
