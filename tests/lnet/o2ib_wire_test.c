/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of o2iblnd: lengths, places of fields, both byte orders, and bytes that no sender
 * writes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lnd/o2ib/wire.h"

static uint8_t packed[LNET_IB_MESSAGE_BYTES];
static struct lnet_ib_memory memory;

static struct lnet_ib_message base(enum lnet_ib_type type)
{
    struct lnet_ib_message message = {
        .type = (uint8_t)type,
        .credits = 3,
        .version = LNET_IB_VERSION,
        .source = 0x000500000a000001ull,
        .target = 0x000500000a000002ull,
        .source_stamp = 0x1122334455667788ull,
        .target_stamp = 0x99aabbccddeeff00ull,
        .cookie = 0x0102030405060708ull,
        .sink_cookie = 0x1112131415161718ull,
        .status = -61,
        .queue_depth = 8,
        .fragments_max = 256,
        .message_max = 4096,
        .memory = &memory,
    };
    uint32_t i;

    message.header.type = LNET_MSG_PUT;
    message.header.dest_nid = message.target;
    message.header.src_nid = message.source;
    memory.key = 0xcafe;
    memory.count = 3;
    for (i = 0; i < 3; i++) {
        memory.fragment[i].bytes = 100 + i;
        memory.fragment[i].address = 0x100000000ull * (i + 1);
    }
    return message;
}

static uint32_t length_of(enum lnet_ib_type type)
{
    struct lnet_ib_message message = base(type);

    return lnet_ib_pack(&message, packed);
}

static void lengths_are_those_of_the_protocol(void **state)
{
    (void)state;
    assert_int_equal(length_of(LNET_IB_NOOP), 48);
    assert_int_equal(length_of(LNET_IB_CONNREQ), 48 + 8);
    assert_int_equal(length_of(LNET_IB_CONNACK), 48 + 8);
    assert_int_equal(length_of(LNET_IB_IMMEDIATE), 48 + 72);
    assert_int_equal(length_of(LNET_IB_PUT_REQ), 48 + 72 + 8);
    assert_int_equal(length_of(LNET_IB_PUT_NAK), 48 + 12);
    assert_int_equal(length_of(LNET_IB_PUT_ACK), 48 + 16 + 8 + 3 * 12);
    assert_int_equal(length_of(LNET_IB_PUT_DONE), 48 + 12);
    assert_int_equal(length_of(LNET_IB_GET_REQ), 48 + 72 + 8 + 8 + 3 * 12);
    assert_int_equal(length_of(LNET_IB_GET_DONE), 48 + 12);
    assert_int_equal(LNET_IB_IMMEDIATE_MAX, 3976);
}

static void the_header_has_its_fields_in_place(void **state)
{
    static const uint8_t expected[48] = {0x91, 0x1b, 0xe9, 0x0b, 0x12, 0x00, 0xd3, 0x03, 60,   0,
                                         0,    0,    0,    0,    0,    0,    0x01, 0x00, 0x00, 0x0a,
                                         0x00, 0x00, 0x05, 0x00, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33,
                                         0x22, 0x11, 0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x05, 0x00,
                                         0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99};

    (void)state;
    length_of(LNET_IB_PUT_NAK);
    assert_memory_equal(packed, expected, sizeof(expected));
    lnet_ib_set_credits(packed, 200);
    assert_int_equal(packed[7], 200);
    lnet_ib_set_target_stamp(packed, 0x0807060504030201ull);
    assert_memory_equal(packed + 40, "\1\2\3\4\5\6\7\10", 8);
}

static void swap(uint8_t *at, uint32_t bytes)
{
    uint32_t i;

    for (i = 0; i < bytes / 2; i++) {
        uint8_t byte = at[i];

        at[i] = at[bytes - 1 - i];
        at[bytes - 1 - i] = byte;
    }
}

static void expect_done(const struct lnet_ib_message *got)
{
    assert_int_equal(got->type, LNET_IB_GET_DONE);
    assert_int_equal(got->credits, 3);
    assert_int_equal(got->bytes, 60);
    assert_true(got->source == 0x000500000a000001ull && got->target == 0x000500000a000002ull);
    assert_true(got->source_stamp == 0x1122334455667788ull &&
                got->target_stamp == 0x99aabbccddeeff00ull);
    assert_true(got->cookie == 0x0102030405060708ull);
    assert_int_equal(got->status, -61);
}

static void both_byte_orders_are_understood(void **state)
{
    struct lnet_ib_message got = {.memory = &memory};
    uint32_t length = length_of(LNET_IB_GET_DONE);
    static const struct {
        uint8_t at, bytes;
    } fields[] = {{0, 4},  {4, 2},  {8, 4},  {12, 4}, {16, 8},
                  {24, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 4}};
    size_t i;

    (void)state;
    assert_int_equal(lnet_ib_unpack(&got, packed, length), 0);
    expect_done(&got);
    for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        swap(packed + fields[i].at, fields[i].bytes);
    memset(&got, 0, sizeof(got));
    got.memory = &memory;
    assert_int_equal(lnet_ib_unpack(&got, packed, length), 0);
    expect_done(&got);
}

static void memory_and_payload_come_back(void **state)
{
    struct lnet_ib_memory other;
    struct lnet_ib_message got = {.memory = &other}, message = base(LNET_IB_IMMEDIATE);
    uint32_t length = length_of(LNET_IB_GET_REQ);

    (void)state;
    assert_int_equal(lnet_ib_unpack(&got, packed, length), 0);
    assert_int_equal(other.key, 0xcafe);
    assert_int_equal(other.count, 3);
    assert_int_equal(other.fragment[2].bytes, 102);
    assert_true(other.fragment[2].address == 0x300000000ull);
    assert_true(got.header.dest_nid == got.target && got.header.type == LNET_MSG_PUT);

    message.payload_bytes = message.header.payload_length = LNET_IB_IMMEDIATE_MAX;
    assert_int_equal(lnet_ib_pack(&message, packed), LNET_IB_MESSAGE_BYTES);
    assert_int_equal(lnet_ib_unpack(&got, packed, LNET_IB_MESSAGE_BYTES), 0);
    assert_int_equal(got.payload_bytes, LNET_IB_IMMEDIATE_MAX);
    assert_ptr_equal(got.payload, packed + 120);
}

static void bad_messages_are_refused(void **state)
{
    struct lnet_ib_message got = {.memory = &memory};
    uint32_t length = length_of(LNET_IB_PUT_ACK), i;
    static const uint32_t fields[] = {0, 4, 6, 8,
                                      68}; /* magic, version, type, length, number of fragments */

    (void)state;
    assert_int_equal(lnet_ib_unpack(&got, packed, length), 0);
    for (i = 0; i < length; i++)
        assert_int_equal(lnet_ib_unpack(&got, packed, i), -EPROTO);
    for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        length_of(LNET_IB_PUT_ACK);
        packed[fields[i]] ^= 0x3f;
        assert_int_equal(lnet_ib_unpack(&got, packed, length), -EPROTO);
    }
    /* A header that promises more than has come. */
    length = length_of(LNET_IB_IMMEDIATE);
    packed[48 + 28] = 1;
    assert_int_equal(lnet_ib_unpack(&got, packed, length), -EPROTO);
}

static void rejections_carry_their_reason(void **state)
{
    uint8_t reject[LNET_IB_REJECT_BYTES];
    enum lnet_ib_reject why;
    uint64_t incarnation;
    uint16_t depth;

    (void)state;
    lnet_ib_pack_reject(LNET_IB_REJECT_QUEUE_DEPTH, 77, 4, reject);
    assert_int_equal(lnet_ib_unpack_reject(reject, sizeof(reject), &why, &incarnation, &depth), 0);
    assert_int_equal(why, LNET_IB_REJECT_QUEUE_DEPTH);
    assert_int_equal(incarnation, 77);
    assert_int_equal(depth, 4);
    assert_int_equal(lnet_ib_unpack_reject(reject, 10, &why, &incarnation, &depth), -EPROTO);
    reject[0] ^= 1;
    assert_int_equal(lnet_ib_unpack_reject(reject, sizeof(reject), &why, &incarnation, &depth),
                     -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_those_of_the_protocol),
        cmocka_unit_test(the_header_has_its_fields_in_place),
        cmocka_unit_test(both_byte_orders_are_understood),
        cmocka_unit_test(memory_and_payload_come_back),
        cmocka_unit_test(bad_messages_are_refused),
        cmocka_unit_test(rejections_carry_their_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
