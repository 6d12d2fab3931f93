/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "domain ops 3": a domain is quiesced, refuses operations, and resumes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "fixture.h"
#include "gni_pub.h"
#include "rdma/fi_ext_gni.h"

static const struct gni_how plain = {0};

#define MESSAGES 64u
#define LONG (64u << 10)

static int open_ops(struct gni_side *side, struct fi_gni_ops_dom3 **ops)
{
    struct rank *rank = side->rank;

    EXPECT_IS(fi_open_ops(&side->domain->fid, FI_GNI_DOMAIN_OPS_3, 0, (void **)ops, NULL), 0);
    return 0;
}

/* Every third message is a long one. */
static size_t length_of(uint32_t i)
{
    return i % 3 == 0 ? LONG : 8 + i;
}

static int post(struct gni_side *side, uint8_t *in, uint8_t *out, uint64_t seed)
{
    struct rank *rank = side->rank;
    uint32_t i, peer = 1 - side->id;

    for (i = 0; i < MESSAGES; i++)
        EXPECT_IS(fi_trecv(side->ep, in + i * LONG, LONG, NULL, FI_ADDR_UNSPEC, i, 0, NULL), 0);
    for (i = 0; i < MESSAGES; i++) {
        gni_fill(out + i * LONG, length_of(i), seed + i);
        EXPECT_IS(gni_again(side, fi_tsend(side->ep, out + i * LONG, length_of(i), NULL,
                                           side->peers[peer], i, NULL)),
                  0);
    }
    return 0;
}

static int collect(struct gni_side *side, const uint8_t *in, uint64_t seed)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint32_t i;

    for (i = 0; i < 2 * MESSAGES; i++)
        TRY(gni_entry(side, side->tx_cq, &entry));
    for (i = 0; i < MESSAGES; i++)
        EXPECT(gni_filled(in + i * LONG, length_of(i), seed + i));
    return 0;
}

/* What GNI has of this process: domains, queues, registrations. */
static uint64_t resources(struct rank *rank)
{
    static const gni_job_res_t kinds[] = {GNI_JOB_RES_FMA, GNI_JOB_RES_SFMA, GNI_JOB_RES_CQ,
                                          GNI_JOB_RES_MDD};
    gni_job_res_desc_t resource;
    uint64_t used = 0;
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (GNI_GetJobResInfo(0, rank_ptag(rank), kinds[i], &resource) == GNI_RC_SUCCESS)
            used += resource.used;
    return used;
}

/* The peer's memory, with the key that it sent at the beginning. */
static int write_remote(struct gni_side *side, const struct gni_memory *memory, uint64_t value)
{
    const struct gni_place *place = &memory->all[1 - side->id];
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;

    EXPECT_IS(fi_write(side->ep, &value, sizeof(value), NULL, side->peers[1 - side->id],
                       place->address, place->key, NULL),
              0);
    TRY(gni_entry(side, side->tx_cq, &entry));
    rank_barrier(rank);
    EXPECT(memcmp(memory->bytes, &value, sizeof(value)) == 0);
    return 0;
}

/* Is quiesced in the middle of traffic, three times. */
static int quiesce_body(struct rank *rank)
{
    uint8_t *in = malloc(MESSAGES * LONG), *out = malloc(MESSAGES * LONG), byte = 0;
    struct gni_memory memory, gone;
    struct fi_gni_ops_dom3 *ops;
    struct gni_side side;
    uint64_t round;

    TRY(gni_open(&side, rank, &plain));
    TRY(open_ops(&side, &ops));
    /* there is a hole below the number of the one that stays */
    TRY(gni_memory_open(&side, &gone, 4096, FI_REMOTE_WRITE));
    TRY(gni_memory_open(&side, &memory, 4096, FI_REMOTE_WRITE));
    TRY(gni_memory_close(&side, &gone));
    EXPECT_IS(ops->resume(&side.domain->fid), -FI_EOPBADSTATE);
    EXPECT_IS(ops->quiesce(&side.fabric->fid, 0), -FI_EINVAL);
    for (round = 0; round < 3; round++) {
        TRY(post(&side, in, out, round * 1000));
        EXPECT_IS(ops->quiesce(&side.domain->fid, 10000), 0);
        EXPECT_IS(ops->quiesce(&side.domain->fid, 10000), -FI_EALREADY);
        EXPECT_IS(fi_send(side.ep, &byte, 1, NULL, side.peers[1 - side.id], NULL), -FI_EAGAIN);
        EXPECT_IS(fi_recv(side.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_EAGAIN);
        EXPECT_IS(resources(rank), 0);
        rank_barrier(rank);
        EXPECT_IS(ops->resume(&side.domain->fid), 0);
        EXPECT(resources(rank) > 0);
        TRY(collect(&side, in, round * 1000));
        TRY(write_remote(&side, &memory, round));
        rank_barrier(rank);
    }
    TRY(gni_memory_close(&side, &memory));
    free(in);
    free(out);
    return gni_close(&side);
}

static void gni_155_quiesce(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, quiesce_body);
}

/* A long message without a receive: quiescing fails, and everything continues. */
static int no_quiesce_body(struct rank *rank)
{
    uint8_t *bytes = calloc(1, LONG);
    struct fi_cq_tagged_entry entry;
    struct fi_gni_ops_dom3 *ops;
    struct gni_side side;
    uint64_t began;

    TRY(gni_open(&side, rank, &plain));
    TRY(open_ops(&side, &ops));
    if (side.id == 0) {
        EXPECT_IS(fi_send(side.ep, bytes, LONG, NULL, side.peers[1], NULL), 0);
        began = rank_now();
        EXPECT_IS(ops->quiesce(&side.domain->fid, 20), -FI_ETIMEDOUT);
        EXPECT(rank_now() - began >= 20000000000 && rank_now() - began < 30000000000);
    }
    rank_barrier(rank);
    if (side.id == 1)
        EXPECT_IS(fi_recv(side.ep, bytes, LONG, NULL, FI_ADDR_UNSPEC, NULL), 0);
    TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT_IS(ops->quiesce(&side.domain->fid, 1000), 0);
    EXPECT_IS(ops->resume(&side.domain->fid), 0);
    rank_barrier(rank);
    free(bytes);
    return gni_close(&side);
}

static void gni_155_no_quiesce(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, no_quiesce_body);
}

#define STREAM 400u

/* One rank is quiesced while the other one sends and does not know. */
static int one_side(struct rank *rank, bool manual, uint64_t remaining_ps)
{
    const struct gni_how how = {.manual = manual, .cq_size = 2 * STREAM};
    uint64_t *numbers = calloc(STREAM, sizeof(*numbers)), i;
    struct fi_cq_tagged_entry entry;
    struct fi_gni_ops_dom3 *ops;
    struct gni_side side;

    TRY(gni_open(&side, rank, &how));
    TRY(open_ops(&side, &ops));
    for (i = 0; side.id == 0 && i < STREAM; i++)
        EXPECT_IS(fi_recv(side.ep, &numbers[i], 8, NULL, FI_ADDR_UNSPEC, &numbers[i]), 0);
    rank_barrier(rank);
    for (i = 0; side.id == 1 && i < STREAM; i++) {
        numbers[i] = i;
        EXPECT_IS(gni_again(&side, fi_send(side.ep, &numbers[i], 8, NULL, side.peers[0], NULL)), 0);
        rank_compute(1000000);
    }
    if (side.id == 0) {
        for (i = 0; i < 50; i++)
            TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(ops->quiesce(&side.domain->fid, 1000), 0);
        EXPECT_IS(resources(rank), 0);
        rank_compute(remaining_ps);
        EXPECT_IS(ops->resume(&side.domain->fid), 0);
    }
    for (i = side.id == 0 ? 50 : 0; i < STREAM; i++)
        TRY(gni_entry(&side, side.tx_cq, &entry));
    for (i = 0; i < STREAM; i++)
        EXPECT_IS(numbers[i], i);
    /* without automatic progress it must poll until the other one is ready */
    if (side.id == 0)
        EXPECT_IS(gni_again(&side, fi_send(side.ep, &i, 8, NULL, side.peers[1], NULL)), 0);
    else
        EXPECT_IS(fi_recv(side.ep, &i, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
    TRY(gni_entry(&side, side.tx_cq, &entry));
    rank_barrier(rank);
    free(numbers);
    return gni_close(&side);
}

static int one_side_body(struct rank *rank)
{
    TRY(one_side(rank, false, 100000000));
    TRY(one_side(rank, false, 5000000000));
    return one_side(rank, true, 100000000);
}

static void gni_155_one_side(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 4; seed++)
        gni_run(&(struct gni_machine){.ranks = 2, .seed = seed}, one_side_body);
}

/* All to all, with several endpoints' connections, and both kinds of progress. */
static int many(struct rank *rank, bool manual)
{
    const struct gni_how how = {.manual = manual};
    struct fi_cq_tagged_entry entry;
    struct fi_gni_ops_dom3 *ops;
    struct gni_side side;
    uint32_t in[32], i, round;

    TRY(gni_open(&side, rank, &how));
    TRY(open_ops(&side, &ops));
    for (round = 0; round < 3; round++) {
        for (i = 0; i < side.size; i++)
            EXPECT_IS(fi_trecv(side.ep, &in[i], 4, NULL, FI_ADDR_UNSPEC, i, 0, NULL), 0);
        for (i = 0; i < side.size; i++)
            EXPECT_IS(gni_again(&side,
                                fi_tsend(side.ep, &side.id, 4, NULL, side.peers[i], side.id, NULL)),
                      0);
        for (i = 0; i < round * side.size; i++) /* more and more of it is over */
            TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(ops->quiesce(&side.domain->fid, 1000), 0);
        rank_barrier(rank);
        EXPECT_IS(ops->resume(&side.domain->fid), 0);
        for (; i < 2 * side.size; i++)
            TRY(gni_entry(&side, side.tx_cq, &entry));
        for (i = 0; i < side.size; i++)
            EXPECT_IS(in[i], i);
    }
    rank_barrier(rank);
    return gni_close(&side);
}

static int many_body(struct rank *rank)
{
    TRY(many(rank, false));
    return many(rank, true);
}

static void gni_155_many(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 4; seed++)
        gni_run(&(struct gni_machine){.ranks = 8, .seed = seed}, many_body);
    gni_run(&(struct gni_machine){.ranks = 8, .per_node = 4}, many_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_155_quiesce),
        cmocka_unit_test(gni_155_no_quiesce),
        cmocka_unit_test(gni_155_one_side),
        cmocka_unit_test(gni_155_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
