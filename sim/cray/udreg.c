/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The entries of a cache are in one list, most recently used first. An entry matches a region that
 * it covers completely. Caches have at most some thousand entries, and a registration costs far
 * more than a search of the list.
 */
#include "udreg_pub.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "clear.h"
#include "cray/host.h"

struct region {
    udreg_entry_t entry; /* first: what users hold */
    struct region *newer, *older;
    uintptr_t begin, end;
    uint32_t users;
};

struct udreg_cache {
    udreg_cache_attr_t attributes;
    struct udreg_cache *next; /* caches of the process */
    struct region *newest, *oldest;
    uint32_t regions, accesses;
    uint64_t statistics[3];
};

/* ---- caches ---------------------------------------------------------------------------------- */

static struct udreg_cache **find(const char *name)
{
    struct udreg_cache **link = &cray_process_self()->udreg;

    while (*link != NULL &&
           strncmp((*link)->attributes.cache_name, name, UDREG_MAX_CACHENAME_LEN) != 0)
        link = &(*link)->next;
    return link;
}

udreg_return_t UDREG_CacheCreate(udreg_cache_attr_t *attributes)
{
    struct udreg_cache *cache, **link;

    if (attributes == NULL || attributes->max_entries == 0 || attributes->device_reg_func == NULL ||
        attributes->device_dereg_func == NULL)
        return UDREG_RC_INVALID_PARAM;
    link = find(attributes->cache_name);
    if (*link != NULL)
        return UDREG_RC_NO_SPACE;
    cache = calloc(1, sizeof(*cache));
    if (cache == NULL)
        return UDREG_RC_NO_SPACE;
    cache->attributes = *attributes;
    *link = cache;
    return UDREG_RC_SUCCESS;
}

udreg_return_t UDREG_CacheAccess(char *cache_name, udreg_cache_handle_t *handle)
{
    if (cache_name == NULL || handle == NULL)
        return UDREG_RC_INVALID_PARAM;
    *handle = *find(cache_name);
    if (*handle == NULL)
        return UDREG_RC_NO_MATCH;
    (*handle)->accesses++;
    return UDREG_RC_SUCCESS;
}

udreg_return_t UDREG_CacheRelease(udreg_cache_handle_t handle)
{
    if (handle == NULL || handle->accesses == 0)
        return UDREG_RC_INVALID_PARAM;
    handle->accesses--;
    return UDREG_RC_SUCCESS;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void take_out(struct udreg_cache *cache, struct region *region)
{
    assert(cache->regions > 0 && (region->newer != NULL || cache->newest == region) &&
           (region->older != NULL || cache->oldest == region));
    *(region->newer != NULL ? &region->newer->older : &cache->newest) = region->older;
    *(region->older != NULL ? &region->older->newer : &cache->oldest) = region->newer;
    cache->regions--;
}

static void put_first(struct udreg_cache *cache, struct region *region)
{
    assert(cache->regions < cache->attributes.max_entries);
    region->newer = NULL;
    region->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = region;
    cache->newest = region;
    cache->regions++;
}

static void drop(struct udreg_cache *cache, struct region *region)
{
    assert(region->users == 0);
    take_out(cache, region);
    if (region->entry.device_data != NULL)
        cache->attributes.device_dereg_func(region->entry.device_data,
                                            cache->attributes.dreg_context);
    free(region);
}

udreg_return_t UDREG_Evict(udreg_cache_handle_t handle)
{
    struct region *region;

    if (handle == NULL)
        return UDREG_RC_INVALID_PARAM;
    for (region = handle->oldest; region != NULL && region->users != 0; region = region->newer)
        ;
    if (region == NULL)
        return UDREG_RC_NO_MATCH;
    handle->statistics[UDREG_STAT_CACHE_EVICTED]++;
    drop(handle, region);
    return UDREG_RC_SUCCESS;
}

udreg_return_t UDREG_CacheDestroy(udreg_cache_handle_t handle)
{
    struct udreg_cache **link;
    struct region *region;

    if (handle == NULL || *(link = find(handle->attributes.cache_name)) != handle)
        return UDREG_RC_INVALID_PARAM;
    for (region = handle->newest; region != NULL; region = region->older)
        if (region->users != 0)
            return UDREG_RC_INVALID_PARAM;
    while (handle->newest != NULL)
        drop(handle, handle->newest);
    *link = handle->next;
    if (handle->attributes.destructor_callback != NULL)
        handle->attributes.destructor_callback(handle->attributes.destructor_context);
    free(handle);
    return UDREG_RC_SUCCESS;
}

void cray_udreg_caches_free(struct udreg_cache *first)
{
    struct udreg_cache *cache;
    struct region *region;

    while ((cache = first) != NULL) {
        first = cache->next;
        while ((region = cache->newest) != NULL) {
            take_out(cache, region);
            free(region);
        }
        free(cache);
    }
}

/* ---- regions --------------------------------------------------------------------------------- */

static struct region *create(struct udreg_cache *cache, uintptr_t begin, uintptr_t end,
                             udreg_return_t *status)
{
    struct region *region;
    void *data;

    *status = UDREG_RC_NO_SPACE;
    if (cache->regions == cache->attributes.max_entries && UDREG_Evict(cache) != UDREG_RC_SUCCESS)
        return NULL;
    region = calloc(1, sizeof(*region));
    if (region == NULL)
        return NULL;
    data = cache->attributes.device_reg_func((void *)begin, end - begin,
                                             cache->attributes.reg_context);
    if (data == UDREG_DEVICE_REG_FAILED) {
        free(region);
        *status = UDREG_RC_ERROR_NO_DEVICE;
        return NULL;
    }
    region->entry.device_data = data;
    region->begin = begin;
    region->end = end;
    put_first(cache, region);
    return region;
}

udreg_return_t UDREG_Register(udreg_cache_handle_t handle, void *addr, uint64_t len,
                              udreg_entry_t **entry)
{
    uintptr_t page, begin, end;
    struct region *region;
    udreg_return_t status;

    if (handle == NULL || entry == NULL || len == 0)
        return UDREG_RC_INVALID_PARAM;
    page = handle->attributes.modes & UDREG_CC_MODE_USE_LARGE_PAGES ? 2u << 20 : 4096;
    begin = (uintptr_t)addr & ~(page - 1);
    end = ((uintptr_t)addr + len + page - 1) & ~(page - 1);
    for (region = handle->newest; region != NULL; region = region->older)
        if (region->begin <= begin && region->end >= end)
            break;
    if (region != NULL) {
        handle->statistics[UDREG_STAT_CACHE_HIT]++;
        take_out(handle, region);
        put_first(handle, region);
    } else {
        handle->statistics[UDREG_STAT_CACHE_MISS]++;
        region = create(handle, begin, end, &status);
        if (region == NULL)
            return status;
    }
    region->users++;
    *entry = &region->entry;
    return UDREG_RC_SUCCESS;
}

udreg_return_t UDREG_Unregister(udreg_cache_handle_t handle, udreg_entry_t *entry)
{
    struct region *region = (struct region *)entry;
    bool lazy;

    if (handle == NULL || entry == NULL || region->users == 0)
        return UDREG_RC_INVALID_PARAM;
    lazy = handle->attributes.modes & UDREG_CC_MODE_USE_LAZY_DEREG;
    region->users--;
    if (region->users == 0 && !lazy)
        drop(handle, region);
    else if ((handle->attributes.modes & UDREG_CC_MODE_USE_EVICT_W_UNREG) &&
             handle->regions == handle->attributes.max_entries)
        UDREG_Evict(handle);
    return UDREG_RC_SUCCESS;
}

udreg_return_t UDREG_DecrRefcount(udreg_cache_handle_t handle, udreg_entry_t *entry)
{
    return UDREG_Unregister(handle, entry);
}

udreg_return_t UDREG_GetStat(udreg_cache_handle_t handle, udreg_cache_stat_t which, uint64_t *value)
{
    if (handle == NULL || value == NULL || (unsigned)which > UDREG_STAT_CACHE_EVICTED)
        return UDREG_RC_INVALID_PARAM;
    *value = handle->statistics[which];
    return UDREG_RC_SUCCESS;
}
