/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Building match entries and memory descriptors. */
#include "engine/finding.h"
#include "world.h"

static char memory[8192] __attribute__((aligned(4096)));

static int me_attach(unsigned portal, struct lnet_process_id id, uint64_t ignore,
                     struct lnet_handle_me *me)
{
    return LNetMEAttach(portal, id, 0x10, ignore, LNET_RETAIN, LNET_INS_AFTER, me);
}

TEST(lnet_17_portals)
{
    struct lnet_handle_me me;

    assert_int_equal(me_attach(64, anybody, 0, &me), -EINVAL);
    assert_int_equal(me_attach(UINT32_MAX, anybody, 0, &me), -EINVAL);
    assert_int_equal(me_attach(63, anybody, 0, &me), 0);
    assert_int_equal(LNetMEAttach(63, anybody, 0, 0, LNET_RETAIN, (enum lnet_ins_pos)3, &me),
                     -EPERM);
    assert_int_equal(LNetMEUnlink(me), 0);
}

TEST(lnet_18_kind_of_portal)
{
    struct lnet_process_id one = id_of(tcp(B)), pid_any = {tcp(B), LNET_PID_ANY};
    struct lnet_handle_me me;

    assert_int_equal(me_attach(10, anybody, 0, &me), 0); /* wildcard */
    assert_int_equal(LNetMEUnlink(me), 0);
    assert_int_equal(me_attach(10, one, 0, &me), -EPERM);
    assert_int_equal(me_attach(10, one, 1, &me), 0);
    assert_int_equal(LNetMEUnlink(me), 0);

    assert_int_equal(me_attach(11, one, 0, &me), 0); /* unique */
    assert_int_equal(LNetMEUnlink(me), 0);
    assert_int_equal(me_attach(11, anybody, 0, &me), -EPERM);
    assert_int_equal(me_attach(11, pid_any, 0, &me), -EPERM);
    assert_int_equal(me_attach(11, one, 1, &me), -EPERM);
    assert_int_equal(me_attach(11, one, 0, &me), 0);
    assert_int_equal(LNetMEUnlink(me), 0);
}

TEST(lnet_19_insert)
{
    struct lnet_handle_me me, other, unique;

    assert_int_equal(me_attach(10, anybody, 0, &me), 0);
    assert_int_equal(LNetMEInsert(me, anybody, 0, 0, LNET_RETAIN, LNET_INS_LOCAL, &other), -EPERM);
    assert_int_equal(LNetMEInsert(me, anybody, 0, 0, LNET_RETAIN, LNET_INS_AFTER, &other), 0);
    assert_int_equal(LNetMEUnlink(other), 0);
    assert_int_equal(LNetMEInsert(other, anybody, 0, 0, LNET_RETAIN, LNET_INS_AFTER, &other),
                     -ENOENT);
    assert_int_equal(me_attach(11, id_of(tcp(B)), 0, &unique), 0);
    assert_int_equal(
        LNetMEInsert(unique, id_of(tcp(B)), 0, 0, LNET_RETAIN, LNET_INS_BEFORE, &other), -EPERM);
    assert_int_equal(LNetMEUnlink(me), 0);
    assert_int_equal(LNetMEUnlink(unique), 0);
}

TEST(lnet_20_unlink_twice)
{
    struct lnet_handle_me me = entry(1, 0);

    assert_int_equal(LNetMEUnlink(me), 0);
    assert_int_equal(LNetMEUnlink(me), -ENOENT);
    assert_int_equal(seen_count, 0);
}

static void refused(struct lnet_handle_me me, struct lnet_md md, int rc)
{
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDAttach(me, md, LNET_UNLINK, &handle), rc);
    /* The entry is as before: what is right can be attached to it. */
    if (rc != -ENOENT && rc != -EBUSY) {
        assert_int_equal(
            LNetMDAttach(me, md_of(memory, 8, 1, LNET_MD_OP_PUT), LNET_RETAIN, &handle), 0);
        assert_int_equal(
            LNetMDAttach(me, md_of(memory, 8, 1, LNET_MD_OP_PUT), LNET_RETAIN, &handle), -EBUSY);
        assert_int_equal(LNetMDUnlink(handle), 0);
    }
}

TEST(lnet_21_attach_errors)
{
    static lnet_kiov_t pages[257];
    static struct kvec vectors[257];
    struct lnet_handle_me me = entry_at(PORTAL, 1, 0, LNET_RETAIN, LNET_INS_AFTER), dead;
    struct lnet_handle_eq gone;
    struct lnet_handle_md handle;
    struct lnet_md md;
    unsigned i;

    for (i = 0; i < 257; i++) {
        pages[i] = (lnet_kiov_t){virt_to_page(memory), 4096, 0};
        vectors[i] = (struct kvec){memory, 16};
    }
    refused(me, md_of(memory, 8, 1, 0), -EINVAL);
    refused(me, md_of(NULL, 8, 1, LNET_MD_OP_PUT), -EINVAL);
    refused(me, md_of(pages, 257, 1, LNET_MD_OP_PUT | LNET_MD_KIOV), -EINVAL);
    refused(me, md_of(vectors, 257, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC), -EINVAL);
    refused(me, md_of(pages, 2, 1, LNET_MD_OP_PUT | LNET_MD_KIOV | LNET_MD_IOVEC), -EINVAL);
    pages[1].kiov_offset = 1;
    refused(me, md_of(pages, 2, 1, LNET_MD_OP_PUT | LNET_MD_KIOV), -EINVAL);
    vectors[1].iov_len = 0;
    refused(me, md_of(vectors, 2, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC), -EINVAL);
    md = md_of(memory, 100, 1, LNET_MD_OP_PUT | LNET_MD_MAX_SIZE);
    md.max_size = 101;
    refused(me, md, -EINVAL);
    md.max_size = -1;
    refused(me, md, -EINVAL);
    refused(me, md_of(memory, 8, -2, LNET_MD_OP_PUT), -EINVAL);

    dead = entry(2, 0);
    assert_int_equal(LNetMEUnlink(dead), 0);
    refused(dead, md_of(memory, 8, 1, LNET_MD_OP_PUT), -ENOENT);
    assert_int_equal(LNetEQAlloc(1, NULL, &gone), 0);
    assert_int_equal(LNetEQFree(gone), 0);
    md = md_of(memory, 8, 1, LNET_MD_OP_PUT);
    md.eq_handle = gone;
    refused(me, md, -ENOENT);

    /* Zero-length pages and a zero total length are legal. */
    pages[0].kiov_len = 0;
    assert_int_equal(
        LNetMDAttach(me, md_of(pages, 1, 1, LNET_MD_OP_PUT | LNET_MD_KIOV), LNET_RETAIN, &handle),
        0);
    assert_int_equal(LNetMDUnlink(handle), 0);
    assert_int_equal(LNetMDAttach(me, md_of(NULL, 0, 0, LNET_MD_OP_PUT), LNET_RETAIN, &handle), 0);
    assert_int_equal(LNetMEUnlink(me), 0);
}

TEST(lnet_22_bind_errors)
{
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDBind(md_of(memory, 8, 1, LNET_MD_OP_PUT), LNET_UNLINK, &handle),
                     -EINVAL);
    assert_int_equal(LNetMDBind(md_of(memory, 8, 1, LNET_MD_OP_GET), LNET_UNLINK, &handle),
                     -EINVAL);
    assert_int_equal(LNetMDBind(md_of(NULL, 8, 1, 0), LNET_UNLINK, &handle), -EINVAL);
}

TEST(lnet_23_fragments_are_copied)
{
    static char sink[8192] __attribute__((aligned(4096)));
    lnet_kiov_t from[2] = {{virt_to_page(memory), 96, 4000}, {virt_to_page(memory + 4096), 104, 0}};
    struct kvec to[2] = {{sink + 10, 50}, {sink + 1000, 150}};
    struct lnet_handle_me me;
    struct lnet_handle_md handle;
    unsigned i;

    for (i = 0; i < sizeof(memory); i++)
        memory[i] = (char)(i * 7);
    memset(sink, 0, sizeof(sink));
    on(B);
    me = entry(5, 0);
    assert_int_equal(
        LNetMDAttach(me, md_of(to, 2, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC), LNET_UNLINK, &handle), 0);
    memset(to, 0xee, sizeof(to));
    on(A);
    assert_int_equal(LNetMDBind(md_of(from, 2, 1, LNET_MD_KIOV), LNET_UNLINK, &handle), 0);
    memset(from, 0xee, sizeof(from));
    assert_int_equal(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 5, 0, 0),
                     0);
    pass(SIM_MS);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->mlength, 200);
    assert_memory_equal(sink + 10, memory + 4000, 50);
    assert_memory_equal(sink + 1000, memory + 4050, 150);
}

TEST(lnet_24_unlink_idle)
{
    struct lnet_handle_md handle = post(1, memory, 100, 3, LNET_MD_OP_PUT);
    const struct lnet_event *event;

    assert_int_equal(LNetMDUnlink(handle), 0);
    assert_string_equal(kinds(), "U");
    event = &seen[0].event;
    assert_int_equal(event->status, 0);
    assert_int_equal(event->unlinked, 1);
    assert_int_equal(event->md_handle.cookie, handle.cookie);
    assert_int_equal(event->md.threshold, 3);
    assert_ptr_equal(event->md.user_ptr, memory);
    assert_int_equal(event->target.nid, 0);
    assert_int_equal(event->match_bits, 0);
    assert_int_equal(LNetMDUnlink(handle), -ENOENT);
    handle = bind_md(memory, 8, 1);
    assert_int_equal(LNetMDUnlink(handle), 0);
    assert_int_equal(LNetMDUnlink(handle), -ENOENT);
    assert_string_equal(kinds(), "UU");
}

TEST(lnet_25_entry_and_descriptor)
{
    struct lnet_handle_me me = entry(1, 0);
    struct lnet_handle_md md = attach(me, md_of(memory, 8, 1, LNET_MD_OP_PUT));

    assert_int_equal(LNetMDUnlink(md), 0);
    assert_int_equal(LNetMEUnlink(me), -ENOENT);

    me = entry_at(PORTAL, 1, 0, LNET_RETAIN, LNET_INS_AFTER);
    md = attach(me, md_of(memory, 8, 1, LNET_MD_OP_PUT));
    assert_int_equal(LNetMDUnlink(md), 0);
    md = attach(me, md_of(memory, 8, 1, LNET_MD_OP_PUT));
    forget();
    assert_int_equal(LNetMEUnlink(me), 0); /* takes its descriptor along */
    assert_string_equal(kinds(), "U");
    assert_int_equal(LNetMDUnlink(md), -ENOENT);
}

/* ---- gaps between fragments ------------------------------------------------------------------ */

static void add_gaps(const struct sim_finding_rule *rule, void *count)
{
    if (strcmp(rule->name, "lnet.fragment-gap") == 0)
        *(uint64_t *)count = rule->count;
}

static uint64_t gaps(void)
{
    uint64_t count = 0;

    sim_finding_for_each_rule(add_gaps, &count);
    return count;
}

static void bind_pages(lnet_kiov_t first, lnet_kiov_t second)
{
    lnet_kiov_t pages[2] = {first, second};
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDBind(md_of(pages, 2, 1, LNET_MD_KIOV), LNET_UNLINK, &handle), 0);
    assert_int_equal(LNetMDUnlink(handle), 0);
}

/* They are taken, and each node warns once. The first fragment may begin in a page, and the last
 * one end there. */
TEST(gaps_between_fragments_are_a_warning)
{
    struct page *page = virt_to_page(memory);

    bind_pages((lnet_kiov_t){page, 96, 4000}, (lnet_kiov_t){page, 104, 0});
    assert_int_equal(gaps(), 0);
    bind_pages((lnet_kiov_t){page, 95, 4000}, (lnet_kiov_t){page, 104, 0});
    assert_int_equal(gaps(), 1);
    bind_pages((lnet_kiov_t){page, 96, 4000}, (lnet_kiov_t){page, 104, 1});
    assert_int_equal(gaps(), 1);
    on(B);
    bind_pages((lnet_kiov_t){page, 96, 4000}, (lnet_kiov_t){page, 104, 1});
    assert_int_equal(gaps(), 2);
}

TEST_IN(gaps_without_the_strict_mode, .settings = {{"strict_fragments", "0"}, {"networks", "tcp"}})
{
    struct page *page = virt_to_page(memory);

    bind_pages((lnet_kiov_t){page, 95, 4000}, (lnet_kiov_t){page, 104, 1});
    assert_int_equal(gaps(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_17_portals),
        cmocka_unit_test(lnet_18_kind_of_portal),
        cmocka_unit_test(lnet_19_insert),
        cmocka_unit_test(lnet_20_unlink_twice),
        cmocka_unit_test(lnet_21_attach_errors),
        cmocka_unit_test(lnet_22_bind_errors),
        cmocka_unit_test(lnet_23_fragments_are_copied),
        cmocka_unit_test(lnet_24_unlink_idle),
        cmocka_unit_test(lnet_25_entry_and_descriptor),
        cmocka_unit_test(gaps_between_fragments_are_a_warning),
        cmocka_unit_test(gaps_without_the_strict_mode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
