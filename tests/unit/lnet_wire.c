/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bytes of socklnd, in both byte orders, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/lnd.h"
#include "lnd/tcp/wire.h"

#define NID_A 0x000200000a000001ull /* 10.0.0.1@tcp */
#define NID_B 0x000200000a000002ull

static void assert_hex(const uint8_t *bytes, const char *hex)
{
    size_t i, length = strlen(hex) / 2;
    char text[2 * 256 + 1] = "";

    for (i = 0; i < length; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
    assert_string_equal(text, hex);
}

static void lnet_97_lengths(void **state)
{
    uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX];
    struct lnet_sock_hello hello = {.version = 3};
    uint32_t count;

    (void)state;
    for (count = 0; count <= LNET_SOCK_IPS_MAX; count++) {
        hello.ip_count = count;
        hello.version = 3;
        assert_int_equal(lnet_sock_hello_pack(wire, &hello), 56 + 4 * count);
        hello.version = 1;
        assert_int_equal(lnet_sock_hello_pack(wire, &hello), 72 + 4 * count);
    }
    assert_int_equal(LNET_SOCK_REQUEST_BYTES, 16);
    assert_int_equal(LNET_SOCK_HEADER_BYTES, 24);
    assert_int_equal(LNET_WIRE_HEADER_BYTES, 72);
    assert_int_equal(sizeof(struct lnet_hdr), 72);
}

static void requests(void **state)
{
    uint8_t wire[LNET_SOCK_REQUEST_BYTES];
    uint64_t nid = 0;

    (void)state;
    lnet_sock_request_pack(wire, NID_B, false);
    assert_hex(wire, "0071ceac010000000200000a00000200");
    assert_int_equal(lnet_sock_request_parse(wire, &nid), 0);
    assert_int_equal(nid, NID_B);
    lnet_sock_request_pack(wire, NID_B, true);
    assert_hex(wire, "acce710000000001000200000a000002");
    nid = 0;
    assert_int_equal(lnet_sock_request_parse(wire, &nid), 0);
    assert_int_equal(nid, NID_B);
    wire[7] = 2;
    assert_int_equal(lnet_sock_request_parse(wire, &nid), -EPROTONOSUPPORT);
    wire[0] = 0;
    assert_int_equal(lnet_sock_request_parse(wire, &nid), -EPROTO);
}

static const struct lnet_sock_hello sample = {
    .version = 3,
    .source_nid = NID_A,
    .target_nid = NID_B,
    .source_pid = 12345,
    .target_pid = 12346,
    .source_incarnation = 0x1122334455667788ull,
    .target_incarnation = 0x99aabbccddeeff00ull,
    .type = LNET_SOCK_BULK_OUT,
    .ip_count = 2,
    .ips = {0x0a000001, 0x0a000002},
};

/* Parses a complete HELLO as a connection does. */
static int parse(const uint8_t *wire, struct lnet_sock_hello *hello)
{
    int error = lnet_sock_hello_parse_first(wire, hello);

    if (error == 0)
        error = lnet_sock_hello_parse_fixed(wire + LNET_SOCK_HELLO_FIRST_BYTES, hello);
    if (error == 0)
        lnet_sock_hello_parse_ips(
            wire + LNET_SOCK_HELLO_FIRST_BYTES + lnet_sock_hello_fixed_bytes(hello), hello);
    return error;
}

static void assert_same(const struct lnet_sock_hello *a, const struct lnet_sock_hello *b)
{
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->source_nid, b->source_nid);
    assert_int_equal(a->source_pid, b->source_pid);
    assert_int_equal(a->target_pid, b->target_pid);
    assert_int_equal(a->source_incarnation, b->source_incarnation);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->ip_count, b->ip_count);
    assert_memory_equal(a->ips, b->ips, sizeof(a->ips));
}

static void hello_bytes(void **state)
{
    uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX];
    struct lnet_sock_hello hello = sample, parsed;

    (void)state;
    assert_int_equal(lnet_sock_hello_pack(wire, &hello), 64);
    assert_hex(wire, "6369724503000000"
                     "0100000a000002000200000a00000200"
                     "393000003a300000"
                     "887766554433221100ffeeddccbbaa99"
                     "0300000002000000"
                     "0100000a0200000a");
    assert_int_equal(parse(wire, &parsed), 0);
    assert_false(parsed.swapped);
    assert_same(&parsed, &hello);
    assert_int_equal(parsed.target_nid, NID_B);

    hello.swapped = true;
    hello.version = 2;
    assert_int_equal(lnet_sock_hello_pack(wire, &hello), 64);
    assert_hex(wire, "4572696300000002"
                     "000200000a000001000200000a000002"
                     "000030390000303a"
                     "112233445566778899aabbccddeeff00"
                     "0000000300000002"
                     "0a0000010a000002");
    assert_int_equal(parse(wire, &parsed), 0);
    assert_true(parsed.swapped);
    assert_same(&parsed, &hello);

    hello.version = 1;
    hello.swapped = false;
    assert_int_equal(lnet_sock_hello_pack(wire, &hello), 80);
    assert_hex(wire, "ed0dbcee01000000"
                     "0100000a00000200"
                     "3a30000039300000"
                     "0400000008000000"
                     "8877665544332211"
                     "03000000"
                     "00000000000000000000000000000000000000000000000000000000"
                     "0100000a0200000a");
    assert_int_equal(parse(wire, &parsed), 0);
    assert_same(&parsed, &hello);
    assert_int_equal(parsed.target_nid, 0);
}

static void hello_refused(void **state)
{
    uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX];
    struct lnet_sock_hello parsed;

    (void)state;
    lnet_sock_hello_pack(wire, &sample);
    wire[4] = 4;
    assert_int_equal(parse(wire, &parsed), -EPROTONOSUPPORT);
    wire[4] = 3;
    wire[52] = 17; /* addresses */
    assert_int_equal(parse(wire, &parsed), -EPROTO);
    wire[52] = 2;
    wire[48] = 4; /* type */
    assert_int_equal(parse(wire, &parsed), -EPROTO);
    memset(wire + 48, 0xff, 4);
    assert_int_equal(parse(wire, &parsed), 0);
    assert_int_equal(parsed.type, LNET_SOCK_NONE);
    wire[0] = 0;
    assert_int_equal(parse(wire, &parsed), -EPROTO);

    parsed = sample;
    parsed.version = 1;
    lnet_sock_hello_pack(wire, &parsed);
    wire[28] = 6; /* not a multiple of 4 */
    assert_int_equal(parse(wire, &parsed), -EPROTO);
    wire[28] = 68; /* 17 addresses */
    assert_int_equal(parse(wire, &parsed), -EPROTO);
    wire[28] = 8;
    wire[24] = 1; /* not a HELLO */
    assert_int_equal(parse(wire, &parsed), -EPROTO);
    wire[24] = 4;
    wire[4] = 2; /* major version */
    assert_int_equal(parse(wire, &parsed), -EPROTONOSUPPORT);
}

static void types_are_inverted(void **state)
{
    (void)state;
    assert_int_equal(lnet_sock_type_invert(LNET_SOCK_ANY), LNET_SOCK_ANY);
    assert_int_equal(lnet_sock_type_invert(LNET_SOCK_CONTROL), LNET_SOCK_CONTROL);
    assert_int_equal(lnet_sock_type_invert(LNET_SOCK_BULK_IN), LNET_SOCK_BULK_OUT);
    assert_int_equal(lnet_sock_type_invert(LNET_SOCK_BULK_OUT), LNET_SOCK_BULK_IN);
    assert_int_equal(lnet_sock_type_invert(LNET_SOCK_NONE), LNET_SOCK_NONE);
}

/* The frame of the reference: a PUT of 16 bytes to portal 34. */
static void lnet_96_frame_of_a_put(void **state)
{
    struct lnet_sock_header header = {.type = LNET_SOCK_LNET};
    struct lnet_hdr lnet = {.dest_nid = NID_B,
                            .src_nid = NID_A,
                            .dest_pid = 12345,
                            .src_pid = 12345,
                            .type = LNET_MSG_PUT,
                            .payload_length = 16};
    uint8_t wire[LNET_SOCK_HEADER_BYTES + LNET_WIRE_HEADER_BYTES];
    struct lnet_hdr parsed;

    (void)state;
    memset(&lnet.msg.put.ack_wmd, 0xff, sizeof(lnet.msg.put.ack_wmd));
    lnet.msg.put.match_bits = 0x0102030405060708ull;
    lnet.msg.put.hdr_data = 0x1112131415161718ull;
    lnet.msg.put.ptl_index = 34;
    lnet.msg.put.offset = 5;
    lnet_sock_header_pack(wire, &header, false);
    lnet_header_to_wire(&lnet, wire + LNET_SOCK_HEADER_BYTES);
    assert_hex(wire, "c100000000000000"
                     "00000000000000000000000000000000"
                     "0200000a000002000100000a00000200"
                     "39300000393000000100000010000000"
                     "ffffffffffffffffffffffffffffffff"
                     "08070605040302011817161514131211"
                     "2200000005000000");
    lnet_header_from_wire(&parsed, wire + LNET_SOCK_HEADER_BYTES);
    assert_memory_equal(&parsed, &lnet, sizeof(lnet));
}

static void headers(void **state)
{
    struct lnet_sock_header header = {
        LNET_SOCK_NOOP, 0xa1a2a3a4, {0x0102030405060708ull, LNET_SOCK_KEEPALIVE_COOKIE}};
    struct lnet_sock_header parsed;
    uint8_t wire[LNET_SOCK_HEADER_BYTES];

    (void)state;
    lnet_sock_header_pack(wire, &header, false);
    assert_hex(wire, "c0000000a4a3a2a108070605040302010100000000000000");
    assert_int_equal(lnet_sock_header_parse(wire, false, &parsed), 0);
    assert_memory_equal(&parsed, &header, sizeof(header));
    assert_int_equal(lnet_sock_header_parse(wire, true, &parsed), -EPROTO);
    lnet_sock_header_pack(wire, &header, true);
    assert_hex(wire, "000000c0a1a2a3a401020304050607080000000000000001");
    assert_int_equal(lnet_sock_header_parse(wire, true, &parsed), 0);
    assert_memory_equal(&parsed, &header, sizeof(header));
    wire[3] = 0xc2;
    assert_int_equal(lnet_sock_header_parse(wire, true, &parsed), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_97_lengths),
        cmocka_unit_test(requests),
        cmocka_unit_test(hello_bytes),
        cmocka_unit_test(hello_refused),
        cmocka_unit_test(types_are_inverted),
        cmocka_unit_test(headers),
        cmocka_unit_test(lnet_96_frame_of_a_put),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
