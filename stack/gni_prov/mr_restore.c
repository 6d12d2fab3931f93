/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Restores registrations at a NIC that was released and opened again (a domain was quiesced and
 * resumes), with the same keys if possible.
 */
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "mr.h"
#include "mr_cache.h"
#include "nic.h"

#include <stdlib.h>
#include "port/list.h"

#define INDICES 4096u /* limit of registrations in GNI */

typedef struct gnip_mr_entry node;

void gnip_mr_cache_add_region(struct gnip_mr *mr)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(mr->domain);

    gnip_lock(&cache->lock);
    port_list_append(&cache->regions, &mr->link);
    gnip_unlock(&cache->lock);
}

gnip_cold void gnip_mr_cache_remove_region(struct gnip_mr *mr)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(mr->domain);

    gnip_lock(&cache->lock);
    port_list_remove(&mr->link);
    gnip_unlock(&cache->lock);
}

static uint32_t index_of(const gni_mem_handle_t *handle)
{
    return (uint32_t)(gnip_handle_key(handle, false) >> 37) & (INDICES - 1);
}

/* All entries, sorted by the indices that GNI gave them. */
static uint32_t by_index(struct gnip_mr_cache *cache, node **sorted, uint32_t room)
{
    struct port_link *link;
    uint32_t count = 0, at;

    for (link = cache->entries.next; link != &cache->entries && count < room; link = link->next) {
        node *entry = gnip_container(link, node, all);

        for (at = count++; at > 0; at--) {
            if (index_of(&sorted[at - 1]->mr.handle) < index_of(&entry->mr.handle))
                break;
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = entry;
    }
    return count;
}

/*
 * Peers have keys, which contain the index that GNI chose. So this function registers the memory
 * until GNI gives it the same index. Registrations with other indices (placeholders) are kept until
 * the end, so that each index comes only once. When GNI has no index left, another process uses the
 * wanted one; then the entry gets the index of a placeholder.
 */
struct placeholders {
    struct gnip_mr_bank *bank[INDICES];
    gni_mem_handle_t handle[INDICES];
    uint32_t count;
};

static void drop_placeholder(struct placeholders *placeholders, uint32_t at)
{
    struct gnip_nic *nic = placeholders->bank[at]->nic;

    gnip_lock(&nic->lock);
    GNI_MemDeregister(nic->gni, &placeholders->handle[at]);
    gnip_unlock(&nic->lock);
    assert(placeholders->count > 0);
    placeholders->count--;
    placeholders->bank[at] = placeholders->bank[placeholders->count];
    placeholders->handle[at] = placeholders->handle[placeholders->count];
}

/* Ends the placeholder that has this index, if there is one. */
static void free_index(struct placeholders *placeholders, uint32_t index)
{
    uint32_t at;

    for (at = 0; at < placeholders->count; at++)
        if (index_of(&placeholders->handle[at]) == index) {
            drop_placeholder(placeholders, at);
            return;
        }
}

static gni_return_t register_as(node *entry, uint32_t index, struct placeholders *placeholders)
{
    gni_mem_handle_t *handle = &entry->mr.handle;
    bool exhausted = false;
    gni_return_t rc;

    free_index(placeholders, index);
    for (;;) {
        rc = gnip_mr_register_pages(entry->bank, entry->first, entry->end, entry->written, handle);
        if (rc == GNI_RC_ERROR_RESOURCE && placeholders->count > 0) {
            drop_placeholder(placeholders, placeholders->count - 1);
            exhausted = true;
            continue;
        }
        if (rc != GNI_RC_SUCCESS || exhausted || index_of(handle) == index ||
            placeholders->count == INDICES)
            return rc;
        placeholders->bank[placeholders->count] = entry->bank;
        placeholders->handle[placeholders->count++] = *handle;
    }
}

static int register_all(node **sorted, uint32_t count, struct placeholders *placeholders)
{
    bool failed = false; /* the memory is gone, or GNI has no resources */
    uint32_t i;

    for (i = 0; i < count; i++)
        failed |=
            register_as(sorted[i], index_of(&sorted[i]->mr.handle), placeholders) != GNI_RC_SUCCESS;
    while (placeholders->count > 0)
        drop_placeholder(placeholders, placeholders->count - 1);
    return failed ? -FI_EKEYREJECTED : 0;
}

/* Gives the application's regions the new handles. */
static int renew_regions(struct gnip_mr_cache *cache)
{
    struct port_link *link;
    int rc = 0;

    for (link = cache->regions.next; link != &cache->regions; link = link->next) {
        struct gnip_mr *mr = gnip_container(link, struct gnip_mr, link);
        uint64_t key = mr->fid.key;

        if (mr->vmdh) {
            if (gnip_mr_reserve_anew(mr) != 0)
                rc = -FI_EKEYREJECTED;
            continue;
        }
        mr->handle = mr->entry->mr.handle;
        mr->fid.key = gnip_handle_key(&mr->handle, !mr->entry->written);
        if (mr->fid.key != key)
            rc = -FI_EKEYREJECTED;
    }
    return rc;
}

int gnip_mr_cache_restore(struct gnip_domain *domain)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(domain);
    struct placeholders *placeholders;
    node **sorted;
    uint32_t count;
    int rc;

    if (cache == NULL)
        return 0;
    placeholders = calloc(1, sizeof(*placeholders));
    sorted = calloc(INDICES, sizeof(*sorted));
    rc = placeholders == NULL || sorted == NULL ? -FI_ENOMEM : 0;
    if (rc == 0) {
        gnip_lock(&cache->lock);
        count = by_index(cache, sorted, INDICES);
        rc = register_all(sorted, count, placeholders);
        if (renew_regions(cache) != 0)
            rc = -FI_EKEYREJECTED;
        gnip_unlock(&cache->lock);
    }
    free(placeholders);
    free(sorted);
    return rc;
}
