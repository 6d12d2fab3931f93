/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
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
#include "list.h"
#include "lock.h"
#include "mr.h"
#include "nic.h"
#include "nic/mem_handle.h"
#include "nosys.h"
#include "onesided.h"
#include "req.h"
#include "vc.h"

#define PAGE 4096ull
#define BASE 0x7f0000000000ull

/* ---- what the files under test call -----------------------------------------------------------
 */

#define MDHS 4096

static struct {
    bool live;
    uint64_t address, bytes;
    uint32_t flags;
} regions[MDHS];
static struct {
    bool registered;
    uint64_t address, bytes;
} calls[1 << 16]; /* in order, addresses from `origin` on */
static uint32_t call_count, live_count, registrations_max = MDHS, nic_refs;
static uint64_t origin, unmapped_from, unmapped_to;
static int watched; /* -1: nobody watches */
static struct {
    uint64_t address, bytes;
} changes[8];
static uint64_t change_count;

const char *gni_err_str[16] = {"ok"};

static void book(bool registered, uint64_t address, uint64_t bytes)
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

static struct gnip_nic nic;

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

static struct gnip_ctx ctx;
static struct gnip_auth auth;
static struct gnip_domain domain;

static int setup(void **state)
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
    gnip_list_init(&ctx.auths);
    gnip_list_init(&auth.nics);
    gnip_list_append(&ctx.auths, &auth.link);
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
static int teardown(void **state)
{
    assert_false(gnip_busy(&domain.refs));
    gnip_mr_cache_free(&domain);
    assert_int_equal(live_count, 0);
    assert_int_equal(nic_refs, 0);
    free(auth.used);
    return 0;
}

static struct gnip_mr *get(uint64_t address, uint64_t bytes, bool written)
{
    struct gnip_mr *mr = NULL;

    assert_int_equal(gnip_mr_cache_open(&domain, &auth, NULL), 0);
    assert_int_equal(gnip_mr_cache_get(&domain, &auth, (void *)address, bytes, written, &mr), 0);
    assert_true(mr->address <= address && address + bytes <= mr->address + mr->bytes);
    return mr;
}

static struct gnip_mr_counts counts(void)
{
    struct gnip_mr_counts now;

    gnip_mr_cache_counts(&domain, &now);
    assert_int_equal(now.in_use + now.stale, live_count);
    return now;
}

/* ---- sharing and keeping --------------------------------------------------------------------- */

static void gni_133_identical_and_distinct(void **state)
{
    struct gnip_mr *same[1024], *other[1024];
    uint32_t i;

    for (i = 0; i < 1024; i++) {
        same[i] = get(BASE + 100, 5000, true);
        other[i] = get(BASE + (i + 1) * 0x10000, 5000, true);
        assert_ptr_equal(same[i], same[0]);
    }
    assert_int_equal(counts().in_use, 1025);
    assert_int_equal(counts().hits, 1023);
    assert_int_equal(counts().misses, 1025);
    for (i = 0; i < 1024; i++) {
        gnip_mr_release(other[i]);
        assert_true(counts().stale <= 128);
        if (i > 0)
            gnip_mr_release(same[i]);
    }
    assert_int_equal(counts().in_use, 1);
    assert_int_equal(counts().stale, 128);
    assert_int_equal(counts().evicted, 1024 - 128);
    /* those unused for longest went */
    other[0] = get(BASE + 1024 * 0x10000, 5000, true);
    assert_int_equal(counts().misses, 1025);
    other[1] = get(BASE + 0x10000, 5000, true);
    assert_int_equal(counts().misses, 1026);
    gnip_mr_release(other[0]);
    gnip_mr_release(other[1]);
    gnip_mr_release(same[0]);
    assert_int_equal(gnip_mr_cache_flush(&domain), 0);
    assert_int_equal(live_count, 0);
}

static void gni_133_read_only_apart(void **state)
{
    struct gnip_mr *written = get(BASE, 4096, true), *read = get(BASE, 4096, false);

    assert_ptr_not_equal(written, read);
    assert_int_equal(live_count, 2);
    gnip_mr_release(read);
    gnip_mr_release(written);
    written = get(BASE, 4096, true);
    assert_int_equal(counts().stale, 1);
    gnip_mr_release(written);
}

static void gni_133_merging(void **state)
{
    struct gnip_mr *left = get(BASE, 2 * PAGE, true), *right, *all, *inside;

    right = get(BASE + 4 * PAGE, 2 * PAGE, true);
    all = get(BASE + PAGE, 4 * PAGE, true); /* overlaps both: one region, which replaces them */
    assert_int_equal(all->address, BASE);
    assert_int_equal(all->bytes, 6 * PAGE);
    inside = get(BASE, 10, true);
    assert_ptr_equal(inside, all);
    assert_int_equal(counts().in_use, 3);
    gnip_mr_release(left); /* not kept: it is covered */
    gnip_mr_release(right);
    assert_int_equal(counts().in_use, 1);
    assert_int_equal(counts().stale, 0);
    gnip_mr_release(inside);
    gnip_mr_release(all);
    assert_int_equal(counts().stale, 1);
}

/* A buffer that grows by adjacent pieces: what is registered in all stays in proportion. */
static void gni_133_growing(void **state)
{
    uint64_t bytes = 0;
    uint32_t i;

    for (i = 0; i < 1000; i++)
        gnip_mr_release(get(BASE + i * 2 * PAGE, 2 * PAGE, true));
    for (i = 0; i < call_count; i++)
        bytes += calls[i].registered ? calls[i].bytes : 0;
    assert_true(bytes <= 2 * 1000 * 2 * PAGE);
}

/* A part that is not in use any more may be unmapped. */
static void gni_133_neighbour_is_gone(void **state)
{
    struct gnip_mr *mr;

    gnip_mr_release(get(BASE, 4 * PAGE, true));
    unmapped_from = BASE;
    unmapped_to = BASE + 4 * PAGE;
    mr = get(BASE + 4 * PAGE, 4 * PAGE, true);
    assert_int_equal(mr->address, BASE + 4 * PAGE);
    gnip_mr_release(mr);
}

static void gni_133_limits(void **state)
{
    struct gnip_mr *mr[5];

    domain.params.mr_hard_limit = 4;
    for (int i = 0; i < 4; i++)
        mr[i] = get(BASE + i * 0x10000ull, PAGE, true);
    assert_int_equal(
        gnip_mr_cache_get(&domain, &auth, (void *)(BASE + 0x80000), PAGE, true, &mr[4]),
        -FI_ENOSPC);
    gnip_mr_release(mr[0]);
    mr[0] = get(BASE + 0x80000, PAGE, true); /* takes the place of the unused one */
    assert_int_equal(counts().evicted, 1);
    domain.params.mr_hard_limit = -1;
    registrations_max = 4;
    assert_int_equal(
        gnip_mr_cache_get(&domain, &auth, (void *)(BASE + 0x90000), PAGE, true, &mr[4]),
        -FI_EAGAIN);
    gnip_mr_release(mr[1]);
    mr[1] = get(BASE + 0x90000, PAGE, true);
    for (int i = 0; i < 4; i++)
        gnip_mr_release(mr[i]);
    assert_int_equal(gnip_mr_cache_get(&domain, &auth, (void *)BASE, 0, true, &mr[4]), -FI_EINVAL);
    assert_int_equal(gnip_mr_cache_get(&domain, &auth, (void *)-PAGE, PAGE, true, &mr[4]),
                     -FI_EINVAL);
}

static void gni_133_no_cache(void **state)
{
    struct gnip_mr *one, *two;

    strcpy(domain.params.mr_cache, "none");
    one = get(BASE, PAGE, true);
    two = get(BASE, PAGE, true);
    assert_int_equal(live_count, 2);
    gnip_mr_release(one);
    gnip_mr_release(two);
    assert_int_equal(live_count, 0);
}

/* ---- memory that changes ----------------------------------------------------------------------
 */

static void change(uint64_t address, uint64_t bytes)
{
    changes[change_count].address = address;
    changes[change_count++].bytes = bytes;
}

static void gni_134_changed_memory(void **state)
{
    struct gnip_mr *mr, *again;

    gnip_mr_release(get(BASE, 4 * PAGE, true));
    change(BASE + PAGE, 10);
    mr = get(BASE, 4 * PAGE, true);
    assert_int_equal(counts().hits, 0);
    assert_int_equal(counts().invalidated, 1);
    /* in use: whoever has it keeps it, others do not get it any more */
    change(BASE, 4 * PAGE);
    again = get(BASE, 4 * PAGE, true);
    assert_ptr_not_equal(mr, again);
    gnip_mr_release(mr);
    assert_int_equal(live_count, 1);
    gnip_mr_release(again);
    assert_int_equal(counts().stale, 1);
    change(BASE + 4 * PAGE, PAGE); /* next to it */
    again = get(BASE, PAGE, true);
    assert_int_equal(counts().hits, 1);
    gnip_mr_release(again);
}

static void gni_134_nobody_watches(void **state)
{
    watched = -1;
    gnip_mr_release(get(BASE, 4 * PAGE, true));
    assert_int_equal(live_count, 0);
    gnip_mr_release(get(BASE, 4 * PAGE, true));
    assert_int_equal(counts().misses, 2);
}

/* ---- against chance ---------------------------------------------------------------------------
 */

static uint64_t random_state;

static uint64_t chance(uint64_t below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (random_state >> 33) % below;
}

static void play(uint64_t seed, uint64_t from)
{
    struct {
        struct gnip_mr *mr;
        uint64_t address, bytes;
        bool written;
    } held[64] = {{0}};

    random_state = seed;
    origin = from;
    domain.params.mr_stale_limit = 16;
    for (int i = 0; i < 20000; i++) {
        uint32_t at = (uint32_t)chance(64);

        if (held[at].mr != NULL) {
            gni_mem_handle_t *handle = &held[at].mr->handle;
            uint32_t mdh = aries_mem_handle_mdh(handle);

            assert_true(regions[mdh].live && regions[mdh].address <= held[at].address &&
                        regions[mdh].address + regions[mdh].bytes >=
                            held[at].address + held[at].bytes);
            assert_int_equal(regions[mdh].flags & GNI_MEM_READ_ONLY, !held[at].written);
            gnip_mr_release(held[at].mr);
            held[at].mr = NULL;
            continue;
        }
        held[at].address = from + chance(chance(2) == 0 ? 400 : 8000) * 1000;
        held[at].bytes = 1 + chance(chance(4) == 0 ? 60000 : 3000);
        held[at].written = chance(3) != 0;
        held[at].mr = get(held[at].address, held[at].bytes, held[at].written);
        counts();
    }
    for (int i = 0; i < 64; i++)
        if (held[i].mr != NULL)
            gnip_mr_release(held[i].mr);
    gnip_mr_cache_free(&domain);
    assert_int_equal(live_count, 0);
}

static void gni_133_by_chance(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        call_count = 0;
        play(seed, BASE);
    }
}

/* What GNI sees is the same wherever the memory lies. */
static void gni_152_anywhere(void **state)
{
    static uint8_t first[sizeof(calls)];
    uint32_t count;

    play(7, BASE);
    memcpy(first, calls, sizeof(calls));
    count = call_count;
    memset(calls, 0, sizeof(calls));
    call_count = 0;
    play(7, BASE + 0x123456000);
    assert_int_equal(count, call_count);
    assert_memory_equal(first, calls, sizeof(calls));
}

/* ---- regions and keys -------------------------------------------------------------------------
 */

static int reg(uint64_t address, uint64_t bytes, uint64_t access, uint64_t key, void *context,
               struct fid_mr **mr)
{
    return gnip_mr_reg(&domain.fid.fid, (void *)address, bytes, access, 0, key, 0, mr, context);
}

static void gni_137_same_region_twice(void **state)
{
    struct fid_mr *one, *two, *read;
    int context[2];

    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_WRITE, 5, &context[0], &one), 0);
    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_WRITE, 5, &context[1], &two), 0);
    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_READ, 5, NULL, &read), 0);
    assert_ptr_not_equal(one, two);
    assert_ptr_equal(one->fid.context, &context[0]);
    assert_ptr_equal(two->fid.context, &context[1]);
    assert_ptr_equal(fi_mr_desc(one), one);
    assert_true(gnip_busy(&domain.refs));
    assert_int_equal(live_count, 2);
    assert_int_equal(fi_close(&one->fid), 0);
    assert_int_equal(counts().in_use, 2);
    assert_int_equal(fi_close(&two->fid), 0);
    assert_int_equal(counts().in_use, 1);
    assert_int_equal(fi_close(&read->fid), 0);
    /* Peers have had their keys. */
    assert_int_equal(counts().stale, 0);
    assert_int_equal(live_count, 0);
    assert_int_equal(reg(BASE + 10, 100, FI_RECV, 5, NULL, &one), 0);
    assert_int_equal(fi_close(&one->fid), 0);
    assert_int_equal(counts().stale, 1);
    /* What was kept and is shared with such a region is not kept afterwards. */
    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_WRITE, 5, NULL, &one), 0);
    assert_int_equal(live_count, 1);
    assert_int_equal(fi_close(&one->fid), 0);
    assert_int_equal(live_count, 0);
}

/* From some moment on nobody watches: what was kept may be gone by now. */
static void gni_134_watching_ends(void **state)
{
    struct fid_mr *mr;

    assert_int_equal(reg(BASE, 100, FI_RECV, 5, NULL, &mr), 0);
    assert_int_equal(fi_close(&mr->fid), 0);
    assert_int_equal(counts().stale, 1);
    watched = -1;
    assert_int_equal(reg(BASE, 100, FI_RECV, 5, NULL, &mr), 0);
    assert_int_equal(counts().hits, 0);
    assert_int_equal(counts().stale, 0);
    assert_int_equal(fi_close(&mr->fid), 0);
    assert_int_equal(live_count, 0);
}

/* Closed while an operation uses it. */
static void gni_137_closed_in_use(void **state)
{
    struct fid_mr *mr;

    domain.params.mr_lazy = 0;
    assert_int_equal(reg(BASE, 100, FI_READ, 0, NULL, &mr), 0);
    gnip_mr_use(fi_mr_desc(mr));
    gnip_mr_use(fi_mr_desc(mr));
    assert_int_equal(fi_close(&mr->fid), 0);
    assert_int_equal(live_count, 1);
    gnip_mr_release((struct gnip_mr *)mr);
    assert_int_equal(live_count, 1);
    gnip_mr_release((struct gnip_mr *)mr);
    assert_int_equal(live_count, 0);
}

static void gni_132_keys(void **state)
{
    static const uint64_t places[] = {BASE, 0x1000, 0xffffffff80000000ull};
    struct gnip_vc vc = {.peer_key_offset = 96};
    struct aries_mem_handle fields, made;
    gni_mem_handle_t handle;
    uint64_t key;

    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        fields = (struct aries_mem_handle){.address = places[i],
                                           .mdh = 4095 - i,
                                           .pages = 7,
                                           .page_shift = 12,
                                           .flags = i == 1 ? ARIES_MEM_READONLY : 0};
        handle = aries_mem_handle_encode(&fields);
        key = gnip_handle_key(&handle, i == 1);
        assert_true(key != 0 && key >> 52 == 0);
        gnip_key_handle(&vc, key, &handle);
        assert_true(aries_mem_handle_check(&handle));
        aries_mem_handle_decode(&handle, &made);
        assert_true(made.address == fields.address && made.mdh == fields.mdh &&
                    made.flags == fields.flags && made.pages == ARIES_MEM_PAGES_MAX);
    }
    gnip_key_handle(&vc, 5, &handle); /* one that an application chose */
    assert_true(aries_mem_handle_check(&handle));
    aries_mem_handle_decode(&handle, &made);
    assert_true(made.address == 0 && made.mdh == 101 && made.flags == ARIES_MEM_VMDH);
}

static void gni_136_chosen_keys(void **state)
{
    struct fid_mr *mr[2], *other;
    struct iovec iov = {(void *)(BASE + PAGE), 100};

    domain.vmdh = true;
    assert_int_equal(gnip_auth_use(&ctx, &auth, true), 0);
    assert_int_equal(gnip_auth_use(&ctx, &auth, false), -FI_EINVAL);
    assert_int_equal(auth.partition, 96);
    assert_int_equal(auth.offset, 96);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 96, NULL, &other), -FI_EKEYREJECTED);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 95, NULL, &mr[0]), 0);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 95, NULL, &other), -FI_ENOKEY);
    assert_int_equal(reg(BASE + 1, PAGE, FI_REMOTE_READ, 3, NULL, &other), -FI_EINVAL);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 3, NULL, &mr[1]), 0);
    assert_int_equal(fi_mr_key(mr[1]), 3);
    assert_true(regions[96 + 3].live && (regions[96 + 3].flags & GNI_MEM_READ_ONLY));
    assert_int_equal(fi_mr_refresh(mr[1], &iov, 1, 0), 0);
    iov.iov_len = PAGE + 1;
    assert_int_equal(fi_mr_refresh(mr[1], &iov, 1, 0), -FI_EINVAL);
    assert_int_equal(fi_close(&mr[0]->fid), 0);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 95, NULL, &mr[0]), 0);
    assert_int_equal(fi_close(&mr[0]->fid), 0);
    assert_int_equal(fi_close(&mr[1]->fid), 0);
    assert_int_equal(live_count, 0);
}

static void gni_136_keys_of_the_provider(void **state)
{
    struct fid_mr *mr;

    assert_int_equal(reg(BASE, 100, FI_SEND, 12345678, NULL, &mr), 0);
    assert_true(fi_mr_key(mr) != 12345678);
    assert_int_equal(fi_mr_refresh(mr, NULL, 0, 0), -FI_EINVAL);
    assert_int_equal(fi_control(&mr->fid, FI_GETWAIT, NULL), -FI_EOPNOTSUPP);
    assert_int_equal(fi_close(&mr->fid), 0);
}

static void gni_131_refused(void **state)
{
    struct iovec iov[2] = {{(void *)BASE, 10}, {(void *)BASE, 10}};
    struct fi_gni_auth_key key = {.type = GNIX_AKT_RAW, .raw = {.protection_key = 4711}};
    struct fi_mr_attr attr = {.mr_iov = iov, .iov_count = 1, .access = FI_SEND};
    struct fid wrong = {.fclass = FI_CLASS_EP};
    struct gnip_link *link;
    struct fid_mr *mr;

    assert_int_equal(gnip_mr_reg(&domain.fid.fid, iov, 8, FI_SEND, 0, 0, 1, &mr, NULL),
                     -FI_EBADFLAGS);
    assert_int_equal(gnip_mr_reg(&domain.fid.fid, iov, 8, FI_SEND, 8, 0, 0, &mr, NULL), -FI_EINVAL);
    assert_int_equal(reg(0, 8, FI_SEND, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(0, UINT64_MAX, FI_SEND, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(BASE, UINT64_MAX, FI_SEND, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(BASE, 8, 0, 0, NULL, &mr), 0); /* no access is a kind of it, too */
    assert_int_equal(fi_close(&mr->fid), 0);
    assert_int_equal(reg(BASE, 8, FI_SEND | FI_MULTI_RECV, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(BASE, 8, FI_SEND, 0, NULL, NULL), -FI_EINVAL);
    assert_int_equal(gnip_mr_reg(&wrong, iov, 8, FI_SEND, 0, 0, 0, &mr, NULL), -FI_EINVAL);
    assert_int_equal(gnip_mr_ops.regv(&domain.fid.fid, iov, 2, FI_SEND, 0, 0, 0, &mr, NULL),
                     -FI_EOPNOTSUPP);
    assert_int_equal(gnip_mr_ops.regv(&domain.fid.fid, iov, 0, FI_SEND, 0, 0, 0, &mr, NULL),
                     -FI_EINVAL);
    assert_int_equal(gnip_mr_ops.regv(&domain.fid.fid, NULL, 1, FI_SEND, 0, 0, 0, &mr, NULL),
                     -FI_EINVAL);
    /* credentials of its own */
    attr.auth_key = (uint8_t *)&key;
    attr.auth_key_size = 7;
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    attr.auth_key_size = sizeof(key);
    domain.api_version = FI_VERSION(1, 4);
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    domain.api_version = FI_VERSION(1, 17);
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), 0);
    assert_int_equal(((struct gnip_mr *)mr)->auth->ptag, 99);
    assert_int_equal(fi_close(&mr->fid), 0);
    key.raw.protection_key = 1;
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    key.type = 1;
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    gnip_mr_cache_free(&domain);
    gnip_list_remove(&auth.link);
    while ((link = gnip_list_pop(&ctx.auths)) != NULL) {
        struct gnip_auth *own = gnip_container(link, struct gnip_auth, link);

        free(own->used);
        free(own);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gni_131_refused),
        TEST(gni_132_keys),
        TEST(gni_133_identical_and_distinct),
        TEST(gni_133_read_only_apart),
        TEST(gni_133_merging),
        TEST(gni_133_growing),
        TEST(gni_133_neighbour_is_gone),
        TEST(gni_133_limits),
        TEST(gni_133_no_cache),
        TEST(gni_133_by_chance),
        TEST(gni_134_changed_memory),
        TEST(gni_134_nobody_watches),
        TEST(gni_136_chosen_keys),
        TEST(gni_136_keys_of_the_provider),
        TEST(gni_137_same_region_twice),
        TEST(gni_134_watching_ends),
        TEST(gni_137_closed_in_use),
        TEST(gni_152_anywhere),
    };

    return cmocka_run_group_tests_name("registrations", tests, NULL, NULL);
}
