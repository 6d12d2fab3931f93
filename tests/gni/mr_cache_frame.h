/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to mr_cache_unit.c, mr_key_unit.c. */
#ifndef GNI_MR_CACHE_FRAME_H
#define GNI_MR_CACHE_FRAME_H

/*
 * Registrations, keys and credentials by themselves, on a GNI that only writes down what it was
 * asked: which registrations are shared, kept and given up, and in which order GNI sees that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "mr.h"
#include "nic.h"
#include "nic/mem_handle.h"
#include "nosys.h"
#include "onesided.h"
#include "req.h"
#include "vc.h"
#include "port/list.h"

#define PAGE 4096ull
#define BASE 0x7f0000000000ull

/* ---- what the files under test call -----------------------------------------------------------
 */

#define MDHS 4096

static __attribute__((unused)) struct {
    bool live;
    uint64_t address, bytes;
    uint32_t flags;
} regions[MDHS];

static __attribute__((unused)) struct {
    bool registered;
    uint64_t address, bytes;
} calls[1 << 16]; /* in order, addresses from `origin` on */

static __attribute__((unused)) uint32_t call_count, live_count, registrations_max = MDHS, nic_refs;

static __attribute__((unused)) uint64_t origin, unmapped_from, unmapped_to;

static __attribute__((unused)) int watched; /* -1: changes are not noted */

static __attribute__((unused)) struct {
    uint64_t address, bytes;
} changes[8];

static __attribute__((unused)) uint64_t change_count, watch_count;

const char *gni_err_str[16] = {"ok"};

static inline void book(bool registered, uint64_t address, uint64_t bytes)
{
    assert_true(call_count < sizeof(calls) / sizeof(calls[0]));
    calls[call_count].registered = registered;
    calls[call_count].address = address - origin;
    calls[call_count++].bytes = bytes;
}

gni_return_t GNI_MemRegister(gni_nic_handle_t nic, uint64_t address, uint64_t length,
                             gni_cq_handle_t cq, uint32_t flags, uint32_t index,
                             gni_mem_handle_t *handle)
{
    bool vmdh = (flags & GNI_MEM_USE_VMDH) != 0;
    uint32_t mdh = vmdh ? index : 0;
    struct aries_mem_handle fields;

    assert_true(length > 0 && cq == NULL);
    if (address < unmapped_to && address + length > unmapped_from)
        return GNI_RC_INVALID_PARAM;
    if (flags & GNI_MEM_UPDATE_REGION)
        return GNI_RC_SUCCESS;
    while (!vmdh && mdh < MDHS && regions[mdh].live)
        mdh++;
    if (live_count >= registrations_max || regions[mdh].live)
        return GNI_RC_ERROR_RESOURCE;
    regions[mdh].live = true;
    regions[mdh].address = address;
    regions[mdh].bytes = length;
    regions[mdh].flags = flags;
    live_count++;
    book(true, address, length);
    fields = (struct aries_mem_handle){
        .address = vmdh ? 0 : address & ~(PAGE - 1),
        .mdh = mdh,
        .pages = (uint32_t)(length / PAGE),
        .page_shift = 12,
        .flags = (uint8_t)((flags & GNI_MEM_READ_ONLY ? ARIES_MEM_READONLY : 0) |
                           (vmdh ? ARIES_MEM_VMDH : 0)),
    };
    *handle = aries_mem_handle_encode(&fields);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_MemDeregister(gni_nic_handle_t nic, gni_mem_handle_t *handle)
{
    uint32_t mdh = aries_mem_handle_mdh(handle);

    assert_true(regions[mdh].live);
    regions[mdh].live = false;
    live_count--;
    book(false, regions[mdh].address, regions[mdh].bytes);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_SetMddResources(gni_nic_handle_t nic, uint32_t entries)
{
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_GetPtag(uint32_t device, uint32_t cookie, uint8_t *ptag)
{
    *ptag = 99;
    return cookie == 4711 ? GNI_RC_SUCCESS : GNI_RC_NO_MATCH;
}

int port_memory_watch(void)
{
    return watched;
}

/* Watches and registrations are as many, at any time between two calls of the cache. */
uint64_t port_memory_watch_begin(uint64_t address, uint64_t bytes)
{
    assert_int_equal(address % PAGE + bytes % PAGE, 0);
    return 1 + watch_count++;
}

void port_memory_watch_end(uint64_t watch)
{
    assert_true(watch != 0 && watch_count > 0);
    watch_count--;
}

int port_memory_changed(uint64_t *place, uint64_t *address, uint64_t *bytes)
{
    if (watched < 0 || *place == change_count)
        return watched < 0 ? -1 : 0;
    *address = changes[*place].address;
    *bytes = changes[*place].bytes;
    ++*place;
    return 1;
}

void port_mutex_init(struct port_mutex *mutex)
{
    mutex->opaque[0] = 0;
}

void port_mutex_destroy(struct port_mutex *mutex)
{
    assert_int_equal(mutex->opaque[0], 0);
}

void port_mutex_lock(struct port_mutex *mutex)
{
    assert_int_equal(mutex->opaque[0]++, 0);
}

void port_mutex_unlock(struct port_mutex *mutex)
{
    assert_int_equal(--mutex->opaque[0], 0);
}

void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function, int line,
              const char *format, ...)
{
    fail_msg("%s", format);
}

int gnip_errno(gni_return_t rc)
{
    return rc == GNI_RC_SUCCESS ? 0 : rc == GNI_RC_INVALID_PARAM ? FI_EINVAL : FI_EIO;
}

static __attribute__((unused)) struct gnip_nic nic;

int gnip_nic_get(struct gnip_domain *domain, struct gnip_auth *auth, uint32_t cdm_id, bool own,
                 struct gnip_nic **found)
{
    nic_refs++;
    *found = &nic;
    return 0;
}

void gnip_nic_ref(struct gnip_nic *one)
{
    nic_refs++;
}

void gnip_nic_put(struct gnip_nic *one)
{
    assert_true(nic_refs-- > 0);
}

int gnip_no_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
    return -FI_ENOSYS;
}

int gnip_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    return -FI_ENOSYS;
}

/* ---- a domain -------------------------------------------------------------------------------- */

static __attribute__((unused)) struct gnip_ctx ctx;

static __attribute__((unused)) struct gnip_auth auth;

static __attribute__((unused)) struct gnip_domain domain;

static inline int setup(void **state)
{
    memset(regions, 0, sizeof(regions));
    memset(calls, 0, sizeof(calls));
    memset(&domain, 0, sizeof(domain));
    memset(&auth, 0, sizeof(auth));
    memset(&ctx, 0, sizeof(ctx));
    call_count = live_count = nic_refs = 0;
    change_count = 0;
    registrations_max = MDHS;
    watched = 0;
    origin = unmapped_from = unmapped_to = 0;
    nic.gni = (gni_nic_handle_t)&nic; /* there is one */
    gnip_lock_init(&nic.lock, false);
    port_mutex_init(&ctx.lock);
    port_list_init(&ctx.auths);
    port_list_init(&auth.nics);
    port_list_append(&ctx.auths, &auth.link);
    ctx.node_processes = 2;
    ctx.node_rank = 1;
    ctx.user_key_limit = 192;
    ctx.prov_key_limit = 64;
    port_mutex_init(&domain.lock);
    domain.fid.fid.fclass = FI_CLASS_DOMAIN;
    domain.ctx = &ctx;
    domain.auth = &auth;
    domain.api_version = FI_VERSION(1, 17);
    domain.params.mr_lazy = 1;
    domain.params.mr_soft_limit = 4096;
    domain.params.mr_hard_limit = -1;
    domain.params.mr_stale_limit = 128;
    strcpy(domain.params.mr_cache, "internal");
    return 0;
}

/* Everything is given back. */
static inline int teardown(void **state)
{
    assert_false(gnip_busy(&domain.refs));
    gnip_mr_cache_free(&domain);
    assert_int_equal(live_count, 0);
    assert_int_equal(watch_count, 0);
    assert_int_equal(nic_refs, 0);
    free(auth.used);
    return 0;
}

static inline struct gnip_mr_counts counts(void)
{
    struct gnip_mr_counts now;

    gnip_mr_cache_counts(&domain, &now);
    assert_int_equal(now.in_use + now.stale, live_count);
    assert_int_equal(watch_count, live_count);
    return now;
}

/* ---- regions and keys -------------------------------------------------------------------------
 */

static inline int reg(uint64_t address, uint64_t bytes, uint64_t access, uint64_t key,
                      void *context, struct fid_mr **mr)
{
    return gnip_mr_reg(&domain.fid.fid, (void *)address, bytes, access, 0, key, 0, mr, context);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
