/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNetPut and LNetGet: what is accepted, what fails, what arrives. */
#include "world.h"

static char memory[LNET_MAX_PAYLOAD + 8192] __attribute__((aligned(4096)));
static char data[LNET_MAX_PAYLOAD + 8192] __attribute__((aligned(4096)));

static int put_md(struct lnet_handle_md md, struct lnet_process_id target, lnet_nid_t self)
{
    return LNetPut(self, md, LNET_NOACK_REQ, target, PORTAL, 7, 0, 0);
}

TEST(lnet_52_unusable_descriptors)
{
    struct lnet_handle_md dead = bind_md(data, 8, 1), attached, empty = bind_md(data, 8, 0);

    assert_int_equal(LNetMDUnlink(dead), 0);
    attached = post(1, memory, 8, 1, LNET_MD_OP_PUT);
    forget();
    assert_int_equal(put_md(dead, id_of(tcp(B)), LNET_NID_ANY), -ENOENT);
    assert_int_equal(put_md(attached, id_of(tcp(B)), LNET_NID_ANY), -ENOENT);
    assert_int_equal(put_md(empty, id_of(tcp(B)), LNET_NID_ANY), -ENOENT);
    assert_int_equal(LNetGet(LNET_NID_ANY, attached, id_of(tcp(B)), PORTAL, 7, 0, false), -ENOENT);
    pass(SIM_MS);
    assert_int_equal(seen_count, 0);
    assert_int_equal(LNetMDUnlink(attached), 0);
    assert_int_equal(LNetMDUnlink(empty), 0);
}

TEST(lnet_53_no_path)
{
    assert_int_equal(put_md(bind_md(data, 8, 1), id_of(gni(B)), LNET_NID_ANY), 0);
    assert_string_equal(kinds(), "S");
    assert_int_equal(seen[0].event.status, -EHOSTUNREACH);
    assert_int_equal(seen[0].event.unlinked, 1);
    assert_int_equal(put_md(bind_md(data, 8, 1), id_of(tcp(B)), tcp(C)), 0);
    assert_int_equal(seen[1].event.status, -EINVAL);
    assert_int_equal(put_md(bind_md(data, LNET_MAX_PAYLOAD + 1, 1), id_of(tcp(B)), LNET_NID_ANY),
                     0);
    assert_int_equal(seen[2].event.status, -EMSGSIZE);
    wire.send_error = -ENOMEM; /* the driver refuses at once */
    assert_int_equal(put_md(bind_md(data, 8, 1), id_of(tcp(B)), LNET_NID_ANY), 0);
    assert_int_equal(seen[3].event.status, -ENOMEM);
    assert_int_equal(counters(A).lct_common.lcc_send_count, 0);
    assert_int_equal(counters(A).lct_common.lcc_msgs_alloc, 0);
}

TEST(lnet_54_acks)
{
    on(B);
    post(7, memory, 100, 9, LNET_MD_OP_PUT);
    on(A);
    put_ack(B, 7, data, 8);
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 1);
    assert_int_equal(count_of(A, LNET_EVENT_ACK), 1);
    assert_int_equal(event_of(A, LNET_EVENT_ACK, 0)->unlinked, 1);

    forget();
    assert_int_equal(
        LNetPut(LNET_NID_ANY, bind_md(data, 8, 1), LNET_ACK_REQ, id_of(tcp(B)), PORTAL, 7, 0, 0),
        0);
    pass(SIM_MS);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->unlinked, 1);
    assert_int_equal(count_of(A, LNET_EVENT_ACK), 0);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 1);
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 1);
}

TEST(lnet_55_no_ack)
{
    on(B);
    post(7, memory, 100, 9, LNET_MD_OP_PUT | LNET_MD_ACK_DISABLE);
    post(8, memory, 100, 9, LNET_MD_OP_PUT);
    on(A);
    put_ack(B, 7, data, 8); /* disabled at the target */
    put(B, 8, data, 8); /* not asked for */
    put_ack(B, 9, data, 8); /* dropped */
    put_ack(B, 8, data, 200); /* dropped */
    pass(SIM_MS);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 4);
    assert_int_equal(count_of(A, LNET_EVENT_ACK), 0);
    assert_int_equal(count_of(B, LNET_EVENT_PUT), 2);
    assert_int_equal(counters(B).lct_common.lcc_send_count, 0);
}

TEST(lnet_56_get_with_threshold_1)
{
    on(B);
    post(7, memory, 100, 9, LNET_MD_OP_GET);
    on(A);
    assert_int_equal(LNetGet(LNET_NID_ANY, bind_md(data, 8, 1), id_of(tcp(B)), PORTAL, 7, 0, false),
                     0);
    pass(SIM_MS);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->unlinked, 1);
    assert_int_equal(count_of(A, LNET_EVENT_REPLY), 0);
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 1);
    assert_int_equal(counters(A).lct_common.lcc_drop_length, 8);

    forget();
    post(7, memory, 100, 9, LNET_MD_OP_GET);
    assert_int_equal(
        LNetGet(LNET_NID_ANY, bind_md(data, 8, 1), id_of(LNET_NID_LO_0), PORTAL, 7, 0, false), 0);
    assert_int_equal(event_of(A, LNET_EVENT_SEND, 0)->unlinked, 1);
    assert_int_equal(count_of(A, LNET_EVENT_REPLY), 0);
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 2);
}

/* A REPLY as no LNet would send it: with more bytes than were asked for. */
static void long_reply(struct lnet_handle_md md)
{
    struct lnet_hdr header = {
        .dest_nid = tcp(A),
        .src_nid = tcp(B),
        .dest_pid = 12345,
        .src_pid = 12345,
        .type = LNET_MSG_REPLY,
        .payload_length = 100,
        .msg.reply.dst_wmd = {lnet_of(A)->interface_cookie, md.cookie},
    };

    assert_int_equal(wire_inject(tcp(A), &header, tcp(B)), 0);
}

TEST_IN(lnet_57_long_reply, .unbalanced = true)
{
    struct lnet_md md = md_of(data, 50, 5, 0);
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    long_reply(handle);
    assert_int_equal(count_of(A, LNET_EVENT_REPLY), 0);
    assert_int_equal(counters(A).lct_common.lcc_drop_count, 1);
    assert_int_equal(LNetMDUnlink(handle), 0);
    md.options = LNET_MD_TRUNCATE;
    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &handle), 0);
    long_reply(handle);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->mlength, 50);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->rlength, 100);
    assert_int_equal(LNetMDUnlink(handle), 0);
}

TEST(lnet_58_one_mebibyte)
{
    static lnet_kiov_t from[256], to[256];
    struct lnet_handle_md handle;
    struct lnet_hdr header = {
        .dest_nid = tcp(B),
        .src_nid = tcp(A),
        .dest_pid = 12345,
        .src_pid = 12345,
        .type = LNET_MSG_PUT,
        .payload_length = LNET_MAX_PAYLOAD + 1,
    };
    uint32_t i;

    for (i = 0; i < LNET_MAX_PAYLOAD; i++)
        data[i] = (char)(i * 2654435761u >> 24);
    for (i = 0; i < 256; i++) {
        from[i] = (lnet_kiov_t){virt_to_page(data + 4096 * i), 4096, 0};
        to[i] = (lnet_kiov_t){virt_to_page(memory + 4096 * (255 - i)), 4096, 0};
    }
    on(B);
    attach(entry(7, 0), md_of(to, 256, 1, LNET_MD_OP_PUT | LNET_MD_KIOV));
    on(A);
    assert_int_equal(LNetMDBind(md_of(from, 256, 1, LNET_MD_KIOV), LNET_UNLINK, &handle), 0);
    assert_int_equal(put_md(handle, id_of(tcp(B)), LNET_NID_ANY), 0);
    pass(SIM_MS);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->mlength, LNET_MAX_PAYLOAD);
    for (i = 0; i < 256; i++)
        assert_memory_equal(memory + 4096 * (255 - i), data + 4096 * i, 4096);

    assert_int_equal(wire_inject(tcp(B), &header, tcp(A)), -EPROTO);
    header.type = LNET_MSG_GET;
    header.payload_length = 1;
    assert_int_equal(wire_inject(tcp(B), &header, tcp(A)), -EPROTO);
    header.type = LNET_MSG_ACK;
    assert_int_equal(wire_inject(tcp(B), &header, tcp(A)), -EPROTO);
    header.type = LNET_MSG_HELLO;
    assert_int_equal(wire_inject(tcp(B), &header, tcp(A)), -EPROTO);
    assert_int_equal(wire.protocol_errors, 4);
}

TEST(lnet_59_nothing)
{
    on(B);
    post(7, memory, 100, 9, LNET_MD_OP_PUT | LNET_MD_OP_GET);
    on(A);
    put_ack(B, 7, NULL, 0);
    get(B, 7, NULL, 0);
    pass(SIM_MS);
    assert_int_equal(event_of(B, LNET_EVENT_PUT, 0)->mlength, 0);
    assert_int_equal(event_of(B, LNET_EVENT_GET, 0)->mlength, 0);
    assert_int_equal(event_of(A, LNET_EVENT_REPLY, 0)->mlength, 0);
    assert_int_equal(event_of(A, LNET_EVENT_ACK, 0)->mlength, 0);
    assert_int_equal(count_of(A, LNET_EVENT_SEND), 2);
}

/* The header's bytes on the wire are those of section 15.4 whatever the host's order is: numbers
 * are little-endian, and hdr_data and handles are the sender's bytes. */
static void lnet_60_header_on_the_wire(void **state)
{
    static const uint8_t expected[72] = {
        0x02, 0,    0,    0x0a, 0,    0,    0x02, 0, /* dest_nid 10.0.0.2@tcp */
        0x01, 0,    0,    0x0a, 0,    0,    0x02, 0, /* src_nid */
        0x39, 0x30, 0,    0,    0x39, 0x30, 0,    0, /* PIDs */
        1,    0,    0,    0,    0x10, 0,    0,    0, /* PUT, 16 bytes */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* ack_wmd: none */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, /* match_bits */
        0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, /* hdr_data */
        0x22, 0,    0,    0,    0x44, 0x33, 0,    0, /* portal, offset */
    };
    struct lnet_hdr header = {
        .dest_nid = tcp(B),
        .src_nid = tcp(A),
        .dest_pid = 12345,
        .src_pid = 12345,
        .type = LNET_MSG_PUT,
        .payload_length = 16,
        .msg.put = {.ack_wmd = {~0ull, ~0ull},
                    .match_bits = 0xfedcba9876543210ull,
                    .hdr_data = 0x0123456789abcdefull,
                    .ptl_index = 34,
                    .offset = 0x3344},
    };
    struct lnet_hdr back;
    uint8_t wire_bytes[72];

    (void)state;
    lnet_header_to_wire(&header, wire_bytes);
    assert_memory_equal(wire_bytes, expected, 72);
    lnet_header_from_wire(&back, wire_bytes);
    assert_memory_equal(&back, &header, sizeof(header));
    memset(&header.msg, 0xee, sizeof(header.msg)); /* bytes that a type does not use are zero */
    header.type = LNET_MSG_REPLY;
    lnet_header_to_wire(&header, wire_bytes);
    assert_int_equal(wire_bytes[47], 0xee);
    assert_int_equal(wire_bytes[48], 0);
    assert_int_equal(wire_bytes[71], 0);
}

TEST(counters_of_messages)
{
    struct lnet_counters_common a, b;

    on(B);
    post(7, memory, 1000, 9, LNET_MD_OP_PUT | LNET_MD_OP_GET);
    on(A);
    put_ack(B, 7, data, 100);
    get(B, 7, data, 50);
    put(B, 7, data, 10);
    put(B, 99, data, 33); /* dropped */
    pass(SIM_MS);
    a = counters(A).lct_common;
    b = counters(B).lct_common;
    assert_int_equal(a.lcc_send_count, 4);
    assert_int_equal(a.lcc_send_length, 143);
    assert_int_equal(a.lcc_recv_count, 2); /* ACK, REPLY */
    assert_int_equal(a.lcc_recv_length, 50);
    assert_int_equal(b.lcc_recv_count, 3);
    assert_int_equal(b.lcc_recv_length, 110);
    assert_int_equal(b.lcc_send_count, 2);
    assert_int_equal(b.lcc_send_length, 50);
    assert_int_equal(b.lcc_drop_count, 1);
    assert_int_equal(b.lcc_drop_length, 33);
    assert_int_equal(a.lcc_msgs_alloc, 0);
    assert_int_equal(b.lcc_msgs_alloc, 0);
    assert_true(a.lcc_msgs_max >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_52_unusable_descriptors),
        cmocka_unit_test(lnet_53_no_path),
        cmocka_unit_test(lnet_54_acks),
        cmocka_unit_test(lnet_55_no_ack),
        cmocka_unit_test(lnet_56_get_with_threshold_1),
        cmocka_unit_test(lnet_57_long_reply),
        cmocka_unit_test(lnet_58_one_mebibyte),
        cmocka_unit_test(lnet_59_nothing),
        cmocka_unit_test(lnet_60_header_on_the_wire),
        cmocka_unit_test(counters_of_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
