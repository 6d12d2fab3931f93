/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which descriptor takes a message, and how much of it. */
#include "world.h"

static char memory[16][8192];
static char data[8192];

/* A PUT of A to B, and which memory of B took it: its number, or -1. */
static int put_to(uint64_t bits, unsigned length)
{
    const struct lnet_event *event;
    unsigned before = count_of(B, LNET_EVENT_PUT);

    on(A);
    put(B, bits, data, length);
    pass(SIM_MS);
    on(B);
    if (count_of(B, LNET_EVENT_PUT) == before)
        return -1;

    event = event_of(B, LNET_EVENT_PUT, before);
    return (int)(((char *)event->md.start - memory[0]) / 8192);
}

static unsigned drops(void)
{
    return counters(B).lct_common.lcc_drop_count;
}

static struct lnet_handle_md at(struct lnet_handle_me me, int which, unsigned length, int threshold,
                                unsigned options)
{
    return attach(me, md_of(memory[which], length, threshold, options));
}

TEST(lnet_26_ignore_bits)
{
    on(B);
    at(entry(0x10, 0x0f), 0, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    assert_int_equal(put_to(0x10, 8), 0);
    assert_int_equal(put_to(0x1f, 8), 0);
    assert_int_equal(put_to(0x15, 8), 0);
    assert_int_equal(put_to(0x20, 8), -1);
    assert_int_equal(put_to(0x110, 8), -1);
    assert_int_equal(put_to(0x8000000000000010ull, 8), -1);
    assert_int_equal(drops(), 3);
}

TEST(lnet_27_ignore_bits_come_first)
{
    on(B);
    at(entry(0x10, 0), 0, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    at(entry(0, ~0ull), 1, 100, 2, LNET_MD_OP_PUT);
    assert_int_equal(put_to(0x10, 8), 1);
    assert_int_equal(put_to(0x10, 8), 1);
    assert_int_equal(put_to(0x10, 8), 0); /* the other one is exhausted */
}

TEST(lnet_28_order_of_entries)
{
    struct lnet_handle_me first, me;

    on(B);
    first = entry(7, 0);
    at(first, 0, 100, 1, LNET_MD_OP_PUT);
    at(entry(7, 0), 1, 100, 1, LNET_MD_OP_PUT);
    at(entry_at(PORTAL, 7, 0, LNET_UNLINK, LNET_INS_BEFORE), 2, 100, 1, LNET_MD_OP_PUT);
    at(entry_at(PORTAL, 7, 0, LNET_UNLINK, LNET_INS_LOCAL), 3, 100, 1, LNET_MD_OP_PUT);
    assert_int_equal(LNetMEInsert(first, anybody, 7, 0, LNET_UNLINK, LNET_INS_BEFORE, &me), 0);
    at(me, 4, 100, 1, LNET_MD_OP_PUT);
    assert_int_equal(LNetMEInsert(first, anybody, 7, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    at(me, 5, 100, 1, LNET_MD_OP_PUT);
    assert_int_equal(put_to(7, 8), 2);
    assert_int_equal(put_to(7, 8), 4);
    assert_int_equal(put_to(7, 8), 0);
    assert_int_equal(put_to(7, 8), 5);
    assert_int_equal(put_to(7, 8), 1);
    assert_int_equal(put_to(7, 8), 3);
    assert_int_equal(put_to(7, 8), -1);
}

TEST(lnet_29_skipped_entries)
{
    struct lnet_handle_md md;

    on(B);
    entry(7, 0); /* without descriptor */
    assert_int_equal(
        LNetMDAttach(entry(7, 0), md_of(memory[0], 100, 0, LNET_MD_OP_PUT), LNET_RETAIN, &md),
        0); /* exhausted from the start */
    at(entry(7, 0), 1, 100, 1, LNET_MD_OP_GET);
    at(entry(7, 0), 2, 100, 1, LNET_MD_OP_PUT);
    assert_int_equal(put_to(7, 8), 2);
    assert_int_equal(put_to(7, 8), -1);
    assert_int_equal(LNetMDUnlink(md), 0); /* an exhausted one without auto-unlink is still there */
}

TEST_IN(lnet_30_filters, .nodes = 3)
{
    struct lnet_process_id only_c = id_of(tcp(C)), pid_of_c = {LNET_NID_ANY, 99};
    struct lnet_handle_me me;

    on(B);
    assert_int_equal(LNetMEAttach(PORTAL, only_c, 7, 1, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    at(me, 0, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    assert_int_equal(LNetMEAttach(PORTAL, pid_of_c, 7, 1, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    at(me, 1, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    assert_int_equal(put_to(7, 8), -1);
    on(C);
    put(B, 7, data, 8);
    pass(SIM_MS);
    assert_ptr_equal(event_of(B, LNET_EVENT_PUT, 0)->md.start, memory[0]);
    on(B);
    at(entry(7, 1), 2, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT); /* anybody */
    assert_int_equal(put_to(7, 8), 2);
}

TEST(unique_portal_finds_by_sender)
{
    struct lnet_handle_me me;

    on(B);
    assert_int_equal(LNetMEAttach(41, id_of(tcp(C)), 7, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    at(me, 0, 100, 1, LNET_MD_OP_PUT);
    assert_int_equal(LNetMEAttach(41, id_of(tcp(A)), 7, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    at(me, 1, 100, 1, LNET_MD_OP_PUT);
    on(A);
    assert_int_equal(
        LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(tcp(B)), 41, 7, 0, 0), 0);
    pass(SIM_MS);
    assert_ptr_equal(event_of(B, LNET_EVENT_PUT, 0)->md.start, memory[1]);
}

TEST(lnet_31_too_long_is_dropped)
{
    on(B);
    post(7, memory[0], 100, 1, LNET_MD_OP_PUT);
    post(7, memory[1], 200, 1, LNET_MD_OP_PUT);
    assert_int_equal(put_to(7, 101), -1);
    assert_int_equal(drops(), 1);
    assert_int_equal(counters(B).lct_common.lcc_drop_length, 101);
    assert_string_equal(kinds(), "S");
    assert_int_equal(put_to(7, 100), 0);
}

TEST(lnet_32_truncate)
{
    on(B);
    post(7, memory[0], 100, 1, LNET_MD_OP_PUT | LNET_MD_TRUNCATE);
    assert_int_equal(put_to(7, 150), 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->mlength, 100);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->rlength, 150);
}

static struct lnet_handle_md ring(uint64_t bits, int which, unsigned length, int max_size,
                                  int threshold)
{
    struct lnet_md md = md_of(memory[which], length, threshold, LNET_MD_OP_PUT | LNET_MD_MAX_SIZE);

    md.max_size = max_size;
    return attach(entry(bits, 0), md);
}

TEST(lnet_33_max_size)
{
    on(B);
    ring(7, 0, 8192, 4096, LNET_MD_THRESH_INF);
    ring(7, 1, 8192, 8192, LNET_MD_THRESH_INF);
    assert_int_equal(put_to(7, 4097), -1);
    assert_int_equal(drops(), 1);
    assert_int_equal(put_to(7, 4096), 0);
}

TEST(lnet_34_receive_ring)
{
    struct lnet_handle_md md;

    on(B);
    md = ring(7, 0, 8192, 4096, LNET_MD_THRESH_INF);
    ring(7, 1, 8192, 4096, LNET_MD_THRESH_INF);
    assert_int_equal(put_to(7, 100), 0);
    assert_int_equal(put_to(7, 4000), 0);
    assert_int_equal(put_to(7, 50), 1);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->offset, 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->unlinked, 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 1)->offset, 100);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 1)->unlinked, 1);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 2)->offset, 0);
    assert_int_equal(LNetMDUnlink(md), -ENOENT);

    /* max_size 0: only messages without content fit, and space never exhausts it. */
    forget();
    ring(8, 2, 100, 0, LNET_MD_THRESH_INF);
    assert_int_equal(put_to(8, 1), -1);
    assert_int_equal(put_to(8, 0), 2);
    assert_int_equal(put_to(8, 0), 2);
}

TEST(lnet_35_local_offsets)
{
    unsigned i;

    for (i = 0; i < 60; i++)
        data[i] = (char)(i + 1);
    memset(memory[0], 0, 100);
    on(B);
    post(7, memory[0], 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT);
    assert_int_equal(put_to(7, 10), 0);
    assert_int_equal(put_to(7, 20), 0);
    assert_int_equal(put_to(7, 30), 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->offset, 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 1)->offset, 10);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 2)->offset, 30);
    assert_memory_equal(memory[0], data, 10);
    assert_memory_equal(memory[0] + 10, data, 20);
    assert_memory_equal(memory[0] + 30, data, 30);
    assert_int_equal(memory[0][60], 0);
}

static void put_at(unsigned offset, unsigned length)
{
    on(A);
    assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(data, length, 1), LNET_NOACK_REQ, id_of(tcp(B)),
                             PORTAL, 7, offset, 0),
                     0);
    pass(SIM_MS);
    on(B);
}

TEST(lnet_36_remote_offset)
{
    unsigned i;

    memset(memory[0], 0, 200);
    on(B);
    post(7, memory[0], 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < 3; i++) {
        memset(data, 'a' + (int)i, 100);
        put_at(40, 10);
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->offset, 40);
        assert_memory_equal(memory[0] + 40, data, 10);
        assert_int_equal(memory[0][39], 0);
        assert_int_equal(memory[0][50], 0);
    }
    put_at(100, 1); /* no room there */
    put_at(101, 1); /* beyond the end */
    put_at(UINT32_MAX, 1);
    assert_int_equal(drops(), 3);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 3);
}

TEST(lnet_37_full_descriptor_stays)
{
    on(B);
    post(7, memory[0], 100, 3, LNET_MD_OP_PUT);
    assert_int_equal(put_to(7, 100), 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->unlinked, 0);
    assert_int_equal(put_to(7, 1), -1);
    assert_int_equal(drops(), 1);
    assert_int_equal(put_to(7, 0), 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 1)->offset, 100);
    assert_int_equal(put_to(7, 0), 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 2)->unlinked, 1);
}

TEST(lnet_38_threshold)
{
    struct lnet_handle_md md;
    unsigned i;

    on(B);
    md = post(7, memory[0], 100, 5, LNET_MD_OP_PUT);
    for (i = 0; i < 5; i++) {
        assert_int_equal(put_to(7, 8), 0);
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->unlinked, i == 4);
        assert_int_equal(event_of(B, LNET_EVENT_PUT, i)->md.threshold, 4 - i);
    }
    assert_int_equal(LNetMDUnlink(md), -ENOENT);
    assert_int_equal(put_to(7, 8), -1);
}

/* The handle dies with the last match, although the operation is still in flight. */
TEST(lnet_38_handle_dies_at_the_match)
{
    struct lnet_handle_md md;

    on(B);
    md = post(7, memory[0], 100, 2, LNET_MD_OP_GET);
    wire.hold = true;
    on(A);
    get(B, 7, data, 8);
    get(B, 7, data, 8);
    wire_release(2);
    pass(SIM_MS);
    assert_int_equal(wire.held, 2); /* the answers */
    on(B);
    assert_int_equal(LNetMDUnlink(md), -ENOENT);
    assert_int_equal(count_of(B, LNET_EVENT_GET), 0);
    wire_release_last(1);
    pass(SIM_MS);
    wire_release(1);
    pass(SIM_MS);
    assert_int_equal(event_of(B, LNET_EVENT_GET, 0)->unlinked, 0);
    assert_int_equal(event_of(B, LNET_EVENT_GET, 1)->unlinked, 1);
}

TEST(lnet_39_no_threshold)
{
    struct lnet_handle_md md;
    unsigned i;

    on(B);
    md = post(7, memory[0], 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < 1000; i++)
        assert_int_equal(put_to(7, 8), 0);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 999)->md.threshold, LNET_MD_THRESH_INF);
    assert_int_equal(LNetMDUnlink(md), 0);
}

TEST(lnet_40_unknown_portal)
{
    on(A);
    assert_int_equal(
        LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, id_of(tcp(B)), 64, 7, 0, 0), 0);
    pass(SIM_MS);
    assert_int_equal(drops(), 1);
    assert_string_equal(kinds(), "S");
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->status, 0);
}

TEST(lnet_41_get_too_long)
{
    memset(memory[0], 'x', 100);
    memset(data, 0, sizeof(data));
    on(B);
    post(7, memory[0], 100, 1, LNET_MD_OP_GET);
    on(A);
    get(B, 7, data, 101);
    pass(SIM_MS);
    assert_int_equal(drops(), 1);
    assert_string_equal(kinds(), "S");
    on(B);
    post(8, memory[0], 100, 1, LNET_MD_OP_GET | LNET_MD_TRUNCATE);
    forget();
    on(A);
    get(B, 8, data, 150);
    pass(SIM_MS);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->mlength, 100);
    assert_memory_equal(data, memory[0], 100);
    assert_int_equal(data[100], 0);
}

TEST_IN(wrong_pid, .nodes = 2)
{
    struct lnet_process_id other = {tcp(B), 99};

    on(B);
    post(7, memory[0], 100, 1, LNET_MD_OP_PUT);
    on(A);
    assert_int_equal(
        LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_NOACK_REQ, other, PORTAL, 7, 0, 0), 0);
    pass(SIM_MS);
    assert_int_equal(drops(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_26_ignore_bits),
        cmocka_unit_test(lnet_27_ignore_bits_come_first),
        cmocka_unit_test(lnet_28_order_of_entries),
        cmocka_unit_test(lnet_29_skipped_entries),
        cmocka_unit_test(lnet_30_filters),
        cmocka_unit_test(unique_portal_finds_by_sender),
        cmocka_unit_test(lnet_31_too_long_is_dropped),
        cmocka_unit_test(lnet_32_truncate),
        cmocka_unit_test(lnet_33_max_size),
        cmocka_unit_test(lnet_34_receive_ring),
        cmocka_unit_test(lnet_35_local_offsets),
        cmocka_unit_test(lnet_36_remote_offset),
        cmocka_unit_test(lnet_37_full_descriptor_stays),
        cmocka_unit_test(lnet_38_threshold),
        cmocka_unit_test(lnet_38_handle_dies_at_the_match),
        cmocka_unit_test(lnet_39_no_threshold),
        cmocka_unit_test(lnet_40_unknown_portal),
        cmocka_unit_test(lnet_41_get_too_long),
        cmocka_unit_test(wrong_pid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
