/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Latency of one PUT or GET at a time from rank 0 to rank 1. `measure: completion` is the time from
 * the post until its global event has been seen; `visible` (8-byte FMA PUT only) until a CPU that
 * spins on the target's memory sees the data.
 */
#include <string.h>
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
    bool visible;
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

/* From post to completion. */
static int completions(struct test *test)
{
    gni_post_descriptor_t post;
    uint64_t i, begin;
    int status;

    pattern_fill(test->domain.memory, test->bytes, rank_id(test->rank), 0);
    for (i = 0; i < test->iterations; i++) {
        post_fill(&test->domain, &post, test->type, 1, 0, 0, test->bytes);
        post.dlvr_mode = test->dlvr_mode;
        begin = rank_now();
        rank_compute(test->software);
        status = domain_transfer(&test->domain, 1, &post);
        if (status < 0)
            return -1;
        if (status == 0)
            rank_record_latency(test->rank, "latency", rank_now() - begin);
        rank_progress(test->rank);
    }
    return 0;
}

/* One way: rank 0 writes the time at which it began, rank 1 sees it. */
static int sender(struct test *test)
{
    uint64_t *word = (uint64_t *)(void *)test->domain.memory, i;
    gni_post_descriptor_t post;

    for (i = 1; i <= test->iterations; i++) {
        rank_barrier(test->rank);
        rank_compute(1000 * 1000);
        word[0] = i;
        word[1] = rank_now();
        post_fill(&test->domain, &post, GNI_POST_FMA_PUT, 1, 8, 8,
                  8); /* the time, ahead of what is measured */
        if (domain_transfer(&test->domain, 1, &post) != 0)
            return -1;
        rank_compute(test->software);
        word[1] = rank_now();
        *(volatile uint64_t *)(uintptr_t)(test->domain.peers[1].base + 8) =
            word[1]; /* out of band */
        post_fill(&test->domain, &post, GNI_POST_FMA_PUT, 1, 0, 0, 8);
        if (domain_transfer(&test->domain, 1, &post) != 0)
            return -1;
    }
    return 0;
}

static int watcher(struct test *test)
{
    volatile uint64_t *word = (volatile uint64_t *)(void *)test->domain.memory;
    uint64_t i;

    for (i = 1; i <= test->iterations; i++) {
        rank_barrier(test->rank);
        rank_spin_until(&word[0], i);
        rank_record_latency(test->rank, "latency", rank_now() - word[1]);
        rank_progress(test->rank);
    }
    return 0;
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
        .visible = strcmp(rank_arg_choice(rank, "measure"), "visible") == 0,
    };
    bool get = test.type == GNI_POST_FMA_GET || test.type == GNI_POST_RDMA_GET;
    int status = domain_open(&test.domain, rank, 0, 64, 0);

    if (get)
        test.bytes = (test.bytes + 3) / 4 * 4; /* the hardware's granularity */
    if (status == 0)
        status = domain_share(&test.domain, test.bytes < 64 ? 64 : test.bytes);
    if (status == 0 && test.visible)
        status = rank_id(rank) == 0 ? sender(&test) : rank_id(rank) == 1 ? watcher(&test) : 0;
    else if (status == 0) {
        if (get)
            pattern_fill(test.domain.memory, test.bytes, rank_id(rank), 0);
        rank_barrier(rank);
        if (rank_id(rank) == 0)
            status = completions(&test);
        rank_barrier(rank);
        /* What arrived: rank 0's bytes at rank 1 after a put, rank 1's at rank 0 after a get. */
        if (status == 0 && rank_id(rank) == (get ? 0 : 1) && test.domain.errors == 0 &&
            !pattern_check(test.domain.memory, test.bytes, get ? 1 : 0, 0))
            status = rank_fail(rank, "the %llu bytes that arrived are not those that were sent",
                               (unsigned long long)test.bytes);
    }
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
