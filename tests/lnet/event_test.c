/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fields of events, and which one is the last. */
#include "world.h"

static char memory[8192] __attribute__((aligned(4096)));
static char data[8192] __attribute__((aligned(4096)));

#define BITS 0xfedcba9876543210ull
#define HDR_DATA 0x0123456789abcdefull

static struct lnet_handle_md request;

static void put_with(enum lnet_ack_req ack, unsigned length, int threshold)
{
    on(A);
    request = bind_md(data, length, threshold);
    assert_int_equal(LNetPut(LNET_NID_ANY, request, ack, id_of(tcp(B)), PORTAL, BITS, 24, HDR_DATA),
                     0);
    pass(SIM_MS);
}

static void assert_id(struct lnet_process_id id, lnet_nid_t nid, lnet_pid_t pid)
{
    assert_int_equal(id.nid, nid);
    assert_int_equal(id.pid, pid);
}

TEST(lnet_42_put_event)
{
    struct lnet_handle_md md;
    const struct lnet_event *e;

    on(B);
    md = post(BITS, memory, 100, 3, LNET_MD_OP_PUT | LNET_MD_TRUNCATE);
    put_with(LNET_NOACK_REQ, 10, 1);
    put_with(LNET_NOACK_REQ, 95, 1);
    e = event_of(B, LNET_EVENT_PUT, 1);
    assert_id(e->target, tcp(B), 12345);
    assert_id(e->initiator, tcp(A), 12345);
    assert_id(e->source, tcp(A), 12345);
    assert_int_equal(e->sender, tcp(A));
    assert_int_equal(e->pt_index, PORTAL);
    assert_true(e->match_bits == BITS);
    assert_true(e->hdr_data == HDR_DATA);
    assert_int_equal(e->rlength, 95);
    assert_int_equal(e->mlength, 90);
    assert_int_equal(e->offset, 10);
    assert_int_equal(e->msg_type, 1);
    assert_int_equal(e->status, 0);
    assert_int_equal(e->unlinked, 0);
    assert_int_equal(e->md.threshold, 1);
    assert_int_equal(e->md.options, LNET_MD_OP_PUT | LNET_MD_TRUNCATE);
    assert_int_equal(e->md_handle.cookie, md.cookie);
    assert_int_equal(e->sequence, 0); /* of queues with a buffer only */
}

TEST(lnet_43_send_event)
{
    const struct lnet_event *e;

    on(B);
    post(BITS, memory, 100, 3, LNET_MD_OP_PUT);
    put_with(LNET_NOACK_REQ, 10, 1);
    e = event_of(A, LNET_EVENT_SEND, 0);
    assert_id(e->target, tcp(B), 12345);
    assert_id(e->initiator, LNET_NID_ANY, 12345);
    assert_id(e->source, LNET_NID_ANY, 12345);
    assert_int_equal(e->sender, LNET_NID_ANY);
    assert_int_equal(e->pt_index, PORTAL);
    assert_true(e->match_bits == BITS);
    assert_true(e->hdr_data == HDR_DATA);
    assert_int_equal(e->offset, 24);
    assert_int_equal(e->rlength, 10);
    assert_int_equal(e->mlength, 10);
    assert_int_equal(e->msg_type, LNET_MSG_PUT);
    assert_int_equal(e->md.threshold, 0);
    assert_int_equal(e->unlinked, 1);
    assert_int_equal(e->md_handle.cookie, request.cookie);
}

static void get_with(unsigned length)
{
    on(A);
    request = bind_md(data, length, 2);
    assert_int_equal(LNetGet(LNET_NID_ANY, request, id_of(tcp(B)), PORTAL, BITS, 24, false), 0);
    pass(SIM_MS);
}

TEST(lnet_44_get_event)
{
    const struct lnet_event *e;

    on(B);
    post(BITS, memory, 100, 3, LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
    get_with(50);
    e = event_of(B, LNET_EVENT_GET, 0);
    assert_id(e->target, tcp(B), 12345);
    assert_id(e->initiator, tcp(A), 12345);
    assert_id(e->source, tcp(A), 12345);
    assert_int_equal(e->sender, tcp(A));
    assert_int_equal(e->pt_index, PORTAL);
    assert_true(e->match_bits == BITS);
    assert_int_equal(e->mlength, 50);
    assert_int_equal(e->rlength, 0);
    assert_int_equal(e->hdr_data, 0);
    assert_int_equal(e->offset, 24);
    assert_int_equal(e->msg_type, LNET_MSG_GET);
    e = event_of(A, LNET_EVENT_SEND, 0);
    assert_int_equal(e->msg_type, LNET_MSG_GET);
    assert_int_equal(e->hdr_data, 0);
    assert_int_equal(e->mlength, 50);
    assert_int_equal(e->offset, 24);
}

TEST(lnet_45_reply_event)
{
    const struct lnet_event *e;

    on(B);
    post(BITS, memory, 100, 3, LNET_MD_OP_GET | LNET_MD_TRUNCATE);
    get_with(150);
    e = event_of(A, LNET_EVENT_REPLY, 0);
    assert_id(e->target, tcp(A), 12345);
    assert_id(e->initiator, tcp(B), 12345);
    assert_id(e->source, tcp(B), 12345);
    assert_int_equal(e->sender, tcp(B));
    assert_int_equal(e->mlength, 100);
    assert_int_equal(e->rlength, 100);
    assert_int_equal(e->offset, 0);
    assert_int_equal(e->pt_index, 0);
    assert_int_equal(e->match_bits, 0);
    assert_int_equal(e->msg_type, LNET_MSG_REPLY);
    assert_int_equal(e->unlinked, 1);
}

TEST(lnet_46_ack_event)
{
    const struct lnet_event *e;

    on(B);
    post(BITS, memory, 100, 3, LNET_MD_OP_PUT | LNET_MD_TRUNCATE);
    put_with(LNET_ACK_REQ, 150, 2);
    e = event_of(A, LNET_EVENT_ACK, 0);
    assert_id(e->target, tcp(A), 12345);
    assert_id(e->initiator, tcp(B), 12345);
    assert_id(e->source, tcp(B), 12345);
    assert_true(e->match_bits == BITS);
    assert_int_equal(e->mlength, 100);
    assert_int_equal(e->rlength, 0);
    assert_int_equal(e->offset, 0);
    assert_int_equal(e->pt_index, 0);
    assert_int_equal(e->hdr_data, 0);
    assert_int_equal(e->msg_type, LNET_MSG_ACK);
}

TEST(lnet_47_md_in_event)
{
    lnet_kiov_t pages[3] = {{virt_to_page(memory), 10, 4086},
                            {virt_to_page(memory + 4096), 4096, 0},
                            {virt_to_page(memory), 5, 0}};
    struct kvec vectors[2] = {{data, 10}, {data + 100, 20}};
    struct lnet_handle_md md;

    md = attach(entry(1, 0), md_of(pages, 3, 1, LNET_MD_OP_PUT | LNET_MD_KIOV));
    assert_int_equal(LNetMDUnlink(md), 0);
    assert_int_equal(seen[0].event.md.length, 3);
    assert_ptr_equal(seen[0].event.md.start, pages);
    md = attach(entry(1, 0), md_of(vectors, 2, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC));
    assert_int_equal(LNetMDUnlink(md), 0);
    assert_int_equal(seen[1].event.md.length, 2);
    assert_ptr_equal(seen[1].event.md.start, vectors);
    md = post(1, memory, 77, 1, LNET_MD_OP_PUT);
    assert_int_equal(LNetMDUnlink(md), 0);
    assert_int_equal(seen[2].event.md.length, 77);
    assert_ptr_equal(seen[2].event.md.start, memory);
}

TEST(lnet_48_one_unlinked)
{
    uint64_t cookies[64];
    unsigned i, j, mds = 0;

    on(B);
    for (i = 0; i < 8; i++)
        post(7, memory, 4096, 4, LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
    on(A);
    for (i = 0; i < 8; i++) {
        put_ack(B, 7, data, 8);
        get(B, 7, data, 8);
        put(B, 7, data, 8);
        put(B, 7, data, 8);
    }
    pass(SIM_MS);
    for (i = 0; i < seen_count; i++) {
        uint64_t cookie = seen[i].event.md_handle.cookie;

        if (!seen[i].event.unlinked)
            continue;
        assert_true(mds < 64);
        cookies[mds++] = cookie ^ (uint64_t)seen[i].node << 63;
        for (j = i + 1; j < seen_count; j++)
            assert_false(seen[j].node == seen[i].node && seen[j].event.md_handle.cookie == cookie);
    }
    assert_int_equal(mds, 8 + 32); /* each descriptor has one */
    for (i = 0; i < mds; i++) {
        for (j = 0; j < i; j++)
            assert_true(cookies[i] != cookies[j]);
    }
}

/* The first PUT of three is held on its way; the descriptor is unlinked when the last one ends. */
TEST(lnet_49_last_completion)
{
    struct lnet_handle_md md;
    unsigned i;

    on(A);
    md = bind_md(data, 8, 3);
    wire.hold = true;
    for (i = 0; i < 3; i++)
        assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, i, 0, i),
                         0);
    wire_release_last(2);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 2);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->unlinked, 0);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 1)->unlinked, 0);
    assert_int_equal(LNetMDUnlink(md), 0); /* bound descriptors are not unlinked before the end */
    wire_release(1);
    pass(SIM_MS);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 2)->unlinked, 1);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 2)->match_bits, 0);
}

static void unlink_busy(void)
{
    struct lnet_handle_md md;

    on(A);
    wire.hold = true;
    md = bind_md(data, 8, 1);
    assert_int_equal(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0), 0);
    assert_int_equal(LNetMDUnlink(md), 0);
    assert_int_equal(LNetMDUnlink(md), -ENOENT);
    assert_int_equal(seen_count, 0);
    wire_release(1);
    pass(SIM_MS);
    assert_string_equal(kinds(), "S");
    assert_int_equal(seen[0].event.unlinked, 1);
}

TEST(lnet_50_unlink_busy)
{
    unlink_busy();
    assert_int_equal(seen[0].event.status, -ETIMEDOUT);
    /* An error stays what it is. */
    forget();
    wire.fail = 1;
    wire.fail_status = -EIO;
    wire.fail_health = LNET_MSG_STATUS_LOCAL_ERROR;
    unlink_busy();
    assert_int_equal(seen[0].event.status, -EIO);
}

TEST_IN(lnet_50_old_behaviour, .settings = {{"abort_status", "0"}})
{
    unlink_busy();
    assert_int_equal(seen[0].event.status, 0);
}

TEST(lnet_51_without_queue)
{
    struct lnet_md md = {.start = data, .length = 8, .threshold = 1};
    struct lnet_handle_md handle;

    LNetInvalidateEQHandle(&md.eq_handle);
    on(A);
    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    assert_int_equal(LNetMDUnlink(handle), 0);
    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    assert_int_equal(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0),
                     0);
    pass(SIM_MS);
    assert_int_equal(seen_count, 0);
    assert_int_equal(LNetMDUnlink(handle), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_42_put_event),     cmocka_unit_test(lnet_43_send_event),
        cmocka_unit_test(lnet_44_get_event),     cmocka_unit_test(lnet_45_reply_event),
        cmocka_unit_test(lnet_46_ack_event),     cmocka_unit_test(lnet_47_md_in_event),
        cmocka_unit_test(lnet_48_one_unlinked),  cmocka_unit_test(lnet_49_last_completion),
        cmocka_unit_test(lnet_50_unlink_busy),   cmocka_unit_test(lnet_50_old_behaviour),
        cmocka_unit_test(lnet_51_without_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
