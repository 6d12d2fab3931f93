/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Latency of one PUT or GET at a time from rank 0 to rank 1. `measure: completion` is the time from
 * the post until its global event has been seen; `visible` (8-byte FMA PUT only) until a CPU that
 * spins on the target's memory sees the data.
 */
#include "common.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "8", "1", "64MiB", NULL, "size of each transfer"},
    {"operation", ARG_CHOICE, "put", NULL, NULL, "put|get", "direction"},
    {"unit", ARG_CHOICE, "fma", NULL, NULL, "fma|bte", "unit of the NIC"},
    {"measure", ARG_CHOICE, "completion", NULL, NULL, "completion|visible",
     "what ends the measurement"},
    {"routing", ARG_CHOICE, "adaptive", NULL, NULL, "adaptive|in_order|min_hash", "delivery mode"},
    {"iterations", ARG_COUNT, "100", "1", "100000000", NULL, "transfers"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per transfer"},
    {NULL},
};

struct test {
    struct domain domain;
    struct rank *rank;
    gni_post_type_t type;
    uint16_t dlvr_mode;
    uint64_t bytes, iterations, software;
    uint8_t *memory;
    struct region mine;
    const struct region *regions; /* by rank */
};

static gni_post_type_t type_of(struct rank *rank)
{
    bool get = strcmp(rank_arg_choice(rank, "operation"), "get") == 0;

    if (strcmp(rank_arg_choice(rank, "unit"), "bte") == 0)
        return get ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT;
    return get ? GNI_POST_FMA_GET : GNI_POST_FMA_PUT;
}

static uint16_t mode_of(struct rank *rank)
{
    const char *routing = rank_arg_choice(rank, "routing");

    if (strcmp(routing, "in_order") == 0)
        return GNI_DLVMODE_IN_ORDER;
    return strcmp(routing, "min_hash") == 0 ? GNI_DLVMODE_MIN_HASH : GNI_DLVMODE_PERFORMANCE;
}

/* One operation with rank 1. */
static int transfer(struct test *test, gni_post_type_t type, uint64_t offset, uint64_t bytes)
{
    struct operation operation = {.ep = domain_ep(&test->domain, 1)};

    operation.desc.type = type;
    operation.desc.dlvr_mode = test->dlvr_mode;
    operation.desc.local_addr = test->mine.address + offset;
    operation.desc.local_mem_hndl = test->mine.handle;
    operation.desc.remote_addr = test->regions[1].address + offset;
    operation.desc.remote_mem_hndl = test->regions[1].handle;
    operation.desc.length = bytes;
    return operation_run(&test->domain, &operation);
}

/* From post to completion. */
static int completions(struct test *test)
{
    uint64_t i, begin;

    for (i = 0; i < test->iterations; i++) {
        begin = rank_now();
        rank_compute(test->software);
        if (transfer(test, test->type, 0, test->bytes) != 0)
            return -1;
        rank_record_latency(test->rank, "latency", rank_now() - begin);
        rank_progress(test->rank);
    }
    return 0;
}

/* One way: rank 0 writes, rank 1 sees it. The time of the post is told out of band: through host
 * memory. */
static int sender(struct test *test)
{
    uint64_t *word = (uint64_t *)(void *)test->memory, i;

    for (i = 1; i <= test->iterations; i++) {
        rank_barrier(test->rank);
        word[0] = i;
        rank_compute(1000 * 1000 + test->software);
        *(volatile uint64_t *)(uintptr_t)(test->regions[1].address + 8) =
            rank_now() - test->software;
        if (transfer(test, GNI_POST_FMA_PUT, 0, 8) != 0)
            return -1;
    }
    return 0;
}

static int watcher(struct test *test)
{
    volatile uint64_t *word = (volatile uint64_t *)(void *)test->memory;
    uint64_t i;

    for (i = 1; i <= test->iterations; i++) {
        rank_barrier(test->rank);
        rank_spin_until(&word[0], i);
        rank_record_latency(test->rank, "latency", rank_now() - word[1]);
        rank_progress(test->rank);
    }
    return 0;
}

static int measure(struct test *test)
{
    bool get = test->type == GNI_POST_FMA_GET || test->type == GNI_POST_RDMA_GET;
    uint32_t me = rank_id(test->rank), from = get ? 1 : 0;
    int status = 0;

    if (me == from)
        pattern_fill(test->memory, test->bytes, from);
    rank_barrier(test->rank);
    if (me == 0)
        status = completions(test);
    rank_barrier(test->rank);
    if (status == 0 && me == 1 - from && test->domain.errors == 0 &&
        pattern_differs(test->memory, test->bytes, from))
        status = rank_fail(test->rank, "the bytes that arrived are not those that were sent");
    return status;
}

static int run(struct rank *rank)
{
    struct test test = {
        .rank = rank,
        .type = type_of(rank),
        .dlvr_mode = mode_of(rank),
        .bytes = rank_arg_count(rank, "bytes"),
        .iterations = rank_arg_count(rank, "iterations"),
        .software = rank_arg_ps(rank, "software"),
    };
    int status = domain_open(&test.domain, rank, 64, 0);

    if (test.type == GNI_POST_FMA_GET || test.type == GNI_POST_RDMA_GET)
        test.bytes = (test.bytes + 3) / 4 * 4; /* the hardware's granularity */
    if (status == 0)
        test.memory = region_alloc(&test.domain, test.bytes < 64 ? 64 : test.bytes, 0, &test.mine);
    if (test.memory != NULL)
        test.regions = rank_exchange(rank, &test.mine, sizeof(test.mine));
    if (test.memory == NULL || test.regions == NULL)
        status = -1;
    else if (strcmp(rank_arg_choice(rank, "measure"), "visible") != 0)
        status = measure(&test);
    else if (rank_id(rank) < 2)
        status = rank_id(rank) == 0 ? sender(&test) : watcher(&test);
    rank_barrier(rank);
    if (test.memory != NULL)
        region_free(&test.domain, test.memory, &test.mine);
    domain_close(&test.domain);
    return status;
}

static const struct workload put_latency = {
    .name = "put_latency",
    .meaning = "one PUT or GET at a time between two ranks",
    .metrics = "latency (ps)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(put_latency)
