/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Latency of one PUT or GET at a time from rank 0 to rank 1. `measure: completion` is the time from
 * the post until its global event has been seen; `visible` (8-byte FMA PUT only) until a CPU that
 * spins on the target's memory sees the data.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "8", "1", "64MiB", NULL, "size of each transfer"},
    {"operation", ARG_CHOICE, "put", NULL, NULL, "put|get", "direction"},
    {"unit", ARG_CHOICE, "fma", NULL, NULL, "fma|bte", "unit of the NIC"},
    {"measure", ARG_CHOICE, "completion", NULL, NULL, "completion|visible",
     "what ends the measurement"},
    {"routing", ARG_CHOICE, "adaptive", NULL, NULL, "adaptive|in_order|min_hash", "delivery mode"},
    {"iterations", ARG_COUNT, "100", "1", "100000000", NULL, "transfers"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per transfer"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct test {
    struct wl_domain domain;
    struct rank *rank;
    gni_post_type_t type;
    uint16_t dlvr_mode;
    uint64_t bytes, iterations, software;
    uint8_t *memory;
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
};

/* One operation with rank 1. 0: done; 1: it cannot succeed; -1: the run has failed. */
static int transfer(struct test *test, gni_post_type_t type, uint64_t offset, uint64_t bytes)
{
    struct wl_operation operation = {.ep = wl_domain_ep(&test->domain, 1)};

    operation.desc.type = type;
    operation.desc.dlvr_mode = test->dlvr_mode;
    operation.desc.local_addr = test->mine.address + offset;
    operation.desc.local_mem_hndl = test->mine.handle;
    operation.desc.remote_addr = test->regions[1].address + offset;
    operation.desc.remote_mem_hndl = test->regions[1].handle;
    operation.desc.length = bytes;
    return wl_operation_run(&test->domain, &operation) != 0 ? -1 : operation.failed;
}

/* From post to completion. Gives what is missing. */
static uint64_t completions(struct test *test)
{
    uint64_t i, begin;

    for (i = 0; i < test->iterations; i++) {
        begin = rank_now();
        rank_compute(test->software);
        if (transfer(test, test->type, 0, test->bytes) != 0)
            break;
        rank_record_latency(test->rank, "latency", rank_now() - begin);
        rank_progress(test->rank);
    }
    return test->iterations - i;
}

static uint64_t measure_completion(struct test *test)
{
    uint32_t me = rank_id(test->rank), from = wl_operation_is_get(test->type) ? 1 : 0;
    uint64_t missing = 0;

    if (me == from)
        wl_pattern_fill(test->memory, test->bytes, from);
    rank_barrier(test->rank);
    if (me == 0)
        missing = completions(test);
    rank_barrier(test->rank);
    if (me == 1 - from && missing == 0 && wl_pattern_differs(test->memory, test->bytes, from))
        missing = 1;
    return missing;
}

/* The time of the post is passed out of band, through host memory. */
static bool send_word(struct test *test, uint64_t number)
{
    ((uint64_t *)(void *)test->memory)[0] = number;
    rank_compute(1000 * 1000 + test->software);
    *(volatile uint64_t *)(uintptr_t)(test->regions[1].address + 8) = rank_now() - test->software;
    return transfer(test, GNI_POST_FMA_PUT, 0, 8) == 0;
}

static bool watch_word(struct test *test, uint64_t number)
{
    volatile uint64_t *word = (volatile uint64_t *)(void *)test->memory;

    if (!wl_word_wait(&test->domain, &word[0], number))
        return false;
    rank_record_latency(test->rank, "latency", rank_now() - word[1]);
    rank_progress(test->rank);
    return true;
}

/* One way: rank 0 writes, rank 1 sees it. A rank that has given up still enters the barriers. */
static uint64_t measure_visible(struct test *test)
{
    uint32_t me = rank_id(test->rank);
    uint64_t i, missing = 0;

    for (i = 1; i <= test->iterations; i++) {
        rank_barrier(test->rank);
        if (me < 2 && (missing != 0 || !(me == 0 ? send_word(test, i) : watch_word(test, i))))
            missing++;
    }
    return missing;
}

static int run(struct rank *rank)
{
    struct test test = {
        .rank = rank,
        .type = wl_operation_type_arg(rank),
        .dlvr_mode = wl_operation_mode_arg(rank),
        .bytes = rank_arg_count(rank, "bytes"),
        .iterations = rank_arg_count(rank, "iterations"),
        .software = rank_arg_ps(rank, "software"),
    };
    uint64_t missing = 0;
    int status = wl_domain_open(&test.domain, rank, 64, 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    if (wl_operation_is_get(test.type))
        test.bytes = (test.bytes + 3) / 4 * 4; /* the hardware's granularity */
    if (status == 0)
        test.memory =
            wl_region_alloc(&test.domain, test.bytes < 64 ? 64 : test.bytes, 0, &test.mine);
    if (test.memory != NULL)
        test.regions = rank_exchange(rank, &test.mine, sizeof(test.mine));
    if (test.memory == NULL || test.regions == NULL)
        status = -1;
    else if (strcmp(rank_arg_choice(rank, "measure"), "visible") == 0)
        missing = measure_visible(&test);
    else
        missing = measure_completion(&test);
    if (wl_domain_finish(&test.domain, missing) != 0)
        status = -1;
    if (test.memory != NULL)
        wl_region_free(&test.domain, test.memory, &test.mine);
    wl_domain_close(&test.domain);
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
