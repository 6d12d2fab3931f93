/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * udreg: a cache of memory registrations. The user supplies two functions that register and
 * deregister memory; the cache calls them as rarely as possible.
 *
 * With UDREG_CC_MODE_USE_LAZY_DEREG an unused region stays registered until its entry is needed
 * (the least recently used first) or UDREG_Evict() is called. Without it, a region is deregistered
 * when its last user unregisters it. A cache has at most max_entries entries.
 *
 * Caches belong to the calling process. They do not detect that memory was unmapped while it is
 * registered: that needs Cray's kernel module.
 */
#ifndef JACQUARD_UDREG_PUB_H
#define JACQUARD_UDREG_PUB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define UDREG_MAX_CACHENAME_LEN 64
/* A register function returns this value on failure. */
#define UDREG_DEVICE_REG_FAILED ((void *)-1)

typedef enum udreg_return {
    UDREG_RC_SUCCESS = 0,
    UDREG_RC_INVALID_PARAM,
    UDREG_RC_ERROR_NO_DEVICE, /* the register function failed */
    UDREG_RC_NO_SPACE, /* every entry is in use, no memory, or a second cache of one name */
    UDREG_RC_NO_MATCH /* no such cache, nothing to evict */
} udreg_return_t;

#define UDREG_CC_MODE_USE_LARGE_PAGES 0x1 /* regions are rounded to 2 MiB instead of 4 KiB */
#define UDREG_CC_MODE_USE_LAZY_DEREG 0x2
#define UDREG_CC_MODE_USE_KERNEL_CACHE 0x4 /* accepted, no effect */
#define UDREG_CC_MODE_USE_EVICT_W_UNREG 0x8 /* a full cache evicts on UDREG_Unregister */

typedef struct udreg_cache_attr {
    char cache_name[UDREG_MAX_CACHENAME_LEN];
    uint32_t max_entries; /* at least 1 */
    uint32_t modes; /* UDREG_CC_MODE_ */
    int debug_mode, debug_rank; /* accepted */
    void *reg_context, *dreg_context, *destructor_context;
    void *(*device_reg_func)(void *addr, uint64_t len, void *reg_context);
    uint32_t (*device_dereg_func)(void *device_data, void *dreg_context); /* 0: done */
    void (*destructor_callback)(
        void *destructor_context); /* called when the cache is released; may be NULL */
} udreg_cache_attr_t;

typedef struct udreg_cache *udreg_cache_handle_t;

typedef struct udreg_entry {
    void *device_data; /* what the register function returned */
} udreg_entry_t;

typedef enum udreg_cache_stat {
    UDREG_STAT_CACHE_HIT,
    UDREG_STAT_CACHE_MISS,
    UDREG_STAT_CACHE_EVICTED
} udreg_cache_stat_t;

udreg_return_t UDREG_CacheCreate(udreg_cache_attr_t *attributes);
udreg_return_t UDREG_CacheAccess(char *cache_name, udreg_cache_handle_t *handle);
/* One for each access. */
udreg_return_t UDREG_CacheRelease(udreg_cache_handle_t handle);
/* Deregisters everything. INVALID_PARAM while regions are in use. */
udreg_return_t UDREG_CacheDestroy(udreg_cache_handle_t handle);

/* The entry covers at least [addr, addr+len); it is in use until UDREG_Unregister. */
udreg_return_t UDREG_Register(udreg_cache_handle_t handle, void *addr, uint64_t len,
                              udreg_entry_t **entry);
udreg_return_t UDREG_Unregister(udreg_cache_handle_t handle, udreg_entry_t *entry);
udreg_return_t UDREG_DecrRefcount(udreg_cache_handle_t handle, udreg_entry_t *entry); /* the same */
/* Deregisters the region that has been unused for the longest time. NO_MATCH: all are in use. */
udreg_return_t UDREG_Evict(udreg_cache_handle_t handle);
udreg_return_t UDREG_GetStat(udreg_cache_handle_t handle, udreg_cache_stat_t which,
                             uint64_t *value);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
