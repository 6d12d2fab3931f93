/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Half a round trip for each length, against what was published of libfabric's own provider on XC
 * systems with Haswell and Broadwell processors (osu_latency and rdm_pingpong, 2016 to 2021): the
 * shape, within what one machine and one version differ from another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "fixture.h"

#define US 1000000.0 /* in ps */
#define ROUNDS 20

/* us; 0: not published */
static const struct point {
    size_t bytes;
    double least, most; /* what is believable */
    double published; /* the lowest of the figures for this length */
} points[] = {
    {1, 0.8, 1.8, 1.37},         {8, 0.8, 1.8, 1.66},       {64, 0.8, 1.9, 1.33},
    {1024, 1.0, 2.3, 1.61},      {4096, 1.5, 3.2, 2.46},    {8192, 2.0, 5.4, 5.32},
    {16384, 3.0, 15.5, 15.47},   {65536, 8.0, 20.6, 20.52}, {1 << 20, 90, 135, 130.71},
    {4 << 20, 380, 560, 515.15},
};
#define POINTS (sizeof(points) / sizeof(points[0]))

static double measured[POINTS];

static int turn(struct gni_side *side, uint8_t *in, const uint8_t *out, size_t bytes, bool first)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    bool sent = false, received = false;

    EXPECT_IS(fi_trecv(side->ep, in, bytes, NULL, FI_ADDR_UNSPEC, 1, 0, in), 0);
    if (first)
        EXPECT_IS(gni_again(side, fi_tsend(side->ep, out, bytes, NULL, side->peers[1 - side->id], 1,
                                           (void *)(uintptr_t)out)),
                  0);
    while (!sent || !received) {
        TRY(gni_entry(side, side->tx_cq, &entry));
        if (entry.op_context != in) {
            sent = true;
            continue;
        }
        received = true;
        if (!first)
            EXPECT_IS(
                gni_again(side, fi_tsend(side->ep, out, bytes, NULL, side->peers[1 - side->id], 1,
                                         (void *)(uintptr_t)out)),
                0);
    }
    return 0;
}

static int latency_body(struct rank *rank)
{
    uint8_t *in = calloc(1, 4 << 20), *out = calloc(1, 4 << 20);
    struct gni_how how = {.manual = true};
    struct gni_side side;
    uint64_t began = 0;
    size_t i;
    int round;

    TRY(gni_open(&side, rank, &how));
    for (i = 0; i < POINTS; i++) {
        for (round = 0; round <= ROUNDS; round++) {
            if (round == 1) /* after the first one all is registered */
                began = rank_now();
            TRY(turn(&side, in, out, points[i].bytes, side.id == 0));
        }
        if (side.id == 0)
            measured[i] = (double)(rank_now() - began) / (2 * ROUNDS) / US;
        rank_barrier(rank);
    }
    free(in);
    free(out);
    return gni_close(&side);
}

static void gni_163_published_shape(void **state)
{
    size_t i;

    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, latency_body);
    printf("%10s %12s %12s\n", "bytes", "here, us", "published");
    for (i = 0; i < POINTS; i++)
        printf("%10zu %12.2f %12.2f\n", points[i].bytes, measured[i], points[i].published);
    for (i = 0; i < POINTS; i++) {
        assert_true(measured[i] > points[i].least && measured[i] < points[i].most);
        assert_true(i == 0 || measured[i] >= measured[i - 1]);
    }
    assert_true(measured[2] < 1.2 * measured[0]); /* flat up to 64 bytes */
    /* from 1 to 4 MiB: the rate of the network, 8.1 GB/s as published */
    assert_true(3 * 1048576 / (measured[9] - measured[8]) / 1000 > 6.5);
    assert_true(3 * 1048576 / (measured[9] - measured[8]) / 1000 < 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_163_published_shape),
    };

    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
