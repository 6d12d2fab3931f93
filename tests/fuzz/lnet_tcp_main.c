/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The same without libFuzzer: streams of messages with changed bytes, of fixed seeds.
 * lnet_tcp_main [COUNT [FIRST]]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lnd.h"
#include "engine/random.h"
#include "lnd/tcp/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static struct sim_random random_stream;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)sim_random_below(&random_stream, bound);
}

static size_t add_message(uint8_t *to, bool swapped)
{
    static const uint32_t lengths[] = {0,         1, 8, 500, 4096, 5000, 1 << 20, (1 << 20) + 1,
                                       UINT32_MAX};
    struct lnet_sock_header header = {
        .type = below(5) == 0 ? LNET_SOCK_NOOP : LNET_SOCK_LNET,
        .cookies = {below(6) == 0 ? below(5) : 0, below(6) == 0 ? below(5) : 0}};
    struct lnet_hdr lnet = {.dest_nid = 0x000200000a000002ull,
                            .src_nid = 0x000200000a000001ull,
                            .dest_pid = 12345,
                            .src_pid = 12345,
                            .type = below(4)};
    size_t length = LNET_SOCK_HEADER_BYTES + LNET_WIRE_HEADER_BYTES;

    lnet_sock_header_pack(to, &header, swapped);
    if (header.type == LNET_SOCK_NOOP)
        return LNET_SOCK_HEADER_BYTES;
    if (lnet.type == LNET_MSG_PUT || lnet.type == LNET_MSG_REPLY)
        lnet.payload_length = lengths[below(9)];
    if (lnet.type == LNET_MSG_PUT) {
        lnet.msg.put.ptl_index = 40 + below(3);
        lnet.msg.put.match_bits = 1 + below(2);
        lnet.msg.put.offset = below(3) * 1000;
    } else if (lnet.type == LNET_MSG_GET) {
        lnet.msg.get.ptl_index = 40 + below(3);
        lnet.msg.get.match_bits = 1 + below(2);
        lnet.msg.get.sink_length = lengths[below(9)];
    }
    lnet_header_to_wire(&lnet, to + LNET_SOCK_HEADER_BYTES);
    if (lnet.payload_length <= 500) {
        memset(to + length, 0x5a, lnet.payload_length);
        length += lnet.payload_length;
    }
    return length;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000,
             first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, seed;
    static uint8_t bytes[8192];

    for (seed = first; seed < first + count; seed++) {
        size_t length = 1, i;

        sim_random_init(&random_stream, seed, "lnet_tcp", 0);
        bytes[0] = (uint8_t)below(256);
        if (seed % 4 != 0) {
            bytes[0] |= 4;
            for (i = below(6) + 1; i > 0; i--)
                length += add_message(bytes + length, (bytes[0] & 8) != 0);
        } else {
            for (i = below(300); i > 0; i--)
                bytes[length++] = (uint8_t)below(256);
        }
        for (i = below(3); i > 0; i--)
            bytes[1 + below((uint32_t)length)] ^= (uint8_t)(1u << below(8));
        LLVMFuzzerTestOneInput(bytes, length - below(2) * below((uint32_t)length));
    }
    printf("%llu inputs\n", (unsigned long long)count);
    return 0;
}
