/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends and receives between connected endpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fixture.h"

static const struct gni_how plain = {0};

/* Rank 0 sends to all others, or to itself when it is alone, a message of each size. */
static const size_t sizes[] = {0,     1,     64,    65,    4095,  16351,   16352,   16353,
                               16383, 16384, 16385, 65537, 99999, 1 << 20, 4 << 20, (4 << 20) + 3};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static int send_sizes(struct gni_side *side, bool tagged)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint32_t peer;
    size_t i;
    uint8_t *bytes;

    for (peer = 1; peer < side->size; peer++) {
        for (i = 0; i < SIZES; i++) {
            bytes = malloc(sizes[i] + 1);
            gni_fill(bytes, sizes[i], i + 100 * peer);
            if (tagged)
                EXPECT_IS(gni_again(side, fi_tsend(side->ep, bytes, sizes[i], NULL,
                                                   side->peers[peer], i, (void *)&sizes[i])),
                          0);
            else
                EXPECT_IS(gni_again(side, fi_send(side->ep, bytes, sizes[i], NULL,
                                                  side->peers[peer], (void *)&sizes[i])),
                          0);
            TRY(gni_entry(side, side->tx_cq, &entry));
            EXPECT(entry.op_context == &sizes[i]);
            EXPECT_IS(entry.flags, FI_SEND | (tagged ? FI_MSG | FI_TAGGED : FI_MSG));
            EXPECT_IS(entry.len, 0);
            EXPECT(entry.buf == NULL);
            free(bytes);
        }
    }
    return 0;
}

static int receive_sizes(struct gni_side *side, bool tagged)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    fi_addr_t source;
    size_t i;
    uint8_t *bytes;

    for (i = 0; i < SIZES; i++) {
        bytes = malloc(sizes[i] + 1);
        bytes[sizes[i]] = 0x77;
        if (tagged)
            EXPECT_IS(gni_again(side, fi_trecv(side->ep, bytes, sizes[i], NULL, FI_ADDR_UNSPEC, i,
                                               0, bytes)),
                      0);
        else
            EXPECT_IS(
                gni_again(side, fi_recv(side->ep, bytes, sizes[i], NULL, FI_ADDR_UNSPEC, bytes)),
                0);
        TRY(gni_entry_from(side, side->rx_cq, &entry, &source));
        EXPECT(entry.op_context == bytes);
        EXPECT_IS(entry.flags, FI_RECV | FI_MSG | (tagged ? FI_TAGGED : 0));
        EXPECT_IS(entry.len, sizes[i]);
        EXPECT_IS(entry.tag, tagged ? i : 0);
        EXPECT_IS(source, side->peers[0]);
        EXPECT(gni_filled(bytes, sizes[i], i + 100 * side->id));
        EXPECT(bytes[sizes[i]] == 0x77);
        free(bytes);
    }
    return 0;
}

static int sizes_body(struct rank *rank, bool tagged)
{
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    TRY(side.id == 0 ? send_sizes(&side, tagged) : receive_sizes(&side, tagged));
    rank_barrier(rank);
    return gni_close(&side);
}

static int untagged_sizes(struct rank *rank)
{
    return sizes_body(rank, false);
}

static int tagged_sizes(struct rank *rank)
{
    return sizes_body(rank, true);
}

static void gni_59_sizes(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, untagged_sizes);
    gni_run(&(struct gni_machine){.ranks = 4, .per_node = 2}, tagged_sizes);
}

/* To itself: one mailbox, one VC. */
static int self_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t out = 42, in = 0;
    int i, sent = 0, received = 0;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_trecv(side.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 7, 0, &in), 0);
    EXPECT_IS(fi_tsend(side.ep, &out, sizeof(out), NULL, side.peers[0], 7, &out), 0);
    for (i = 0; i < 2; i++) {
        TRY(gni_entry(&side, side.rx_cq, &entry));
        sent += entry.op_context == &out;
        received += entry.op_context == &in;
    }
    EXPECT(sent == 1 && received == 1 && in == 42);
    return gni_close(&side);
}

static void gni_58_self(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, self_body);
}

static int inject_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_how how = {.counters = true};
    struct gni_side side;
    uint8_t bytes[65];
    int i;

    TRY(gni_open(&side, rank, &how));
    for (i = 0; i < 100; i++) {
        if (side.id == 0) {
            memset(bytes, i, sizeof(bytes));
            EXPECT_IS(fi_inject(side.ep, bytes, 65, side.peers[1]), -FI_EINVAL);
            EXPECT_IS(gni_again(&side, fi_inject(side.ep, bytes, 64, side.peers[1])), 0);
            memset(bytes, 0xff, sizeof(bytes));
        } else {
            EXPECT_IS(fi_recv(side.ep, bytes, 64, NULL, FI_ADDR_UNSPEC, NULL), 0);
            TRY(gni_entry(&side, side.rx_cq, &entry));
            EXPECT_IS(entry.len, 64);
            EXPECT(bytes[0] == i && bytes[63] == i);
        }
    }
    if (side.id == 0) {
        TRY(gni_count(&side, side.cntr[SENDS], 100));
        TRY(gni_silence(&side, side.tx_cq, 100));
    }
    rank_barrier(rank);
    return gni_close(&side);
}

static void gni_60_inject(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, inject_body);
}

static int unexpected_body(struct rank *rank)
{
    enum { COUNT = 1000 };
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    fi_addr_t source;
    uint64_t number, i, next = 0;

    TRY(gni_open(&side, rank, &(struct gni_how){.tx_size = 2000, .rx_size = 2000}));
    for (i = 0; side.id == 0 && i < COUNT; i++) {
        number = i;
        if (i % 2 == 0)
            EXPECT_IS(gni_again(&side, fi_inject(side.ep, &number, sizeof(number), side.peers[1])),
                      0);
        else
            EXPECT_IS(
                gni_again(&side, fi_tinject(side.ep, &number, sizeof(number), side.peers[1], i)),
                0);
    }
    rank_barrier(rank);
    for (i = 0; side.id == 1 && i < COUNT; i++) {
        if (i < COUNT / 2)
            EXPECT_IS(fi_recv(side.ep, &number, sizeof(number), NULL, FI_ADDR_UNSPEC, &number), 0);
        else
            EXPECT_IS(fi_trecv(side.ep, &number, sizeof(number), NULL, FI_ADDR_UNSPEC, 0,
                               UINT64_MAX, &number),
                      0);
        TRY(gni_entry_from(&side, side.rx_cq, &entry, &source));
        next = i < COUNT / 2 ? 2 * i : 2 * (i - COUNT / 2) + 1;
        EXPECT_IS(number, next);
        EXPECT_IS(source, side.peers[0]);
    }
    rank_barrier(rank);
    return gni_close(&side);
}

static void gni_65_unexpected(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, unexpected_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_58_self),
        cmocka_unit_test(gni_59_sizes),
        cmocka_unit_test(gni_60_inject),
        cmocka_unit_test(gni_65_unexpected),
    };

    return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
