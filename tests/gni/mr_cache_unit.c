/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registrations, keys and credentials by themselves, on a GNI that only writes down what it was
 * asked: which registrations are shared, kept and given up, and in which order GNI sees that.
 */
#include "mr_cache_frame.h"

static struct gnip_mr *get(uint64_t address, uint64_t bytes, bool written)
{
    struct gnip_mr *mr = NULL;

    assert_int_equal(gnip_mr_cache_open(&domain, &auth, NULL), 0);
    assert_int_equal(gnip_mr_cache_get(&domain, &auth, (void *)address, bytes, written, &mr), 0);
    assert_true(mr->address <= address && address + bytes <= mr->address + mr->bytes);
    return mr;
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
    /* in use: its users keep it, but new ones do not get it any more */
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

/* From some moment on, changes are not noted: what was kept may be gone. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        TEST(gni_134_watching_ends),
        TEST(gni_152_anywhere),
    };

    return cmocka_run_group_tests_name("registrations", tests, NULL, NULL);
}
