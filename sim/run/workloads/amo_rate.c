/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All ranks add to one counter in the memory of rank 0 and check the sum in the end. One atomic at
 * a time per rank
 * (`window: 1`) gives the latency; a window gives the rate of the unit.
 */
#include <stdlib.h>
#include <string.h>
#include "common.h"

static const struct workload_arg args[] = {
    {"iterations", ARG_COUNT, "1000", "1", "100000000", NULL, "atomics per rank"},
    {"fetch", ARG_BOOL, "true", NULL, NULL, NULL, "return the old value"},
    {"cached", ARG_BOOL, "false", NULL, NULL, NULL, "use the cache of the atomic unit"},
    {"window", ARG_COUNT, "1", "1", "1024", NULL, "atomics in flight per rank"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per atomic"},
    {NULL},
};

static gni_fma_cmd_type_t command(struct rank *rank)
{
    bool cached = rank_arg_bool(rank, "cached");

    if (rank_arg_bool(rank, "fetch"))
        return cached ? GNI_FMA_ATOMIC2_FIADD_C : GNI_FMA_ATOMIC2_FIADD;
    return cached ? GNI_FMA_ATOMIC2_IADD_C : GNI_FMA_ATOMIC2_IADD;
}

static void prepare(struct domain *domain, gni_post_descriptor_t *post, size_t slot,
                    gni_fma_cmd_type_t amo)
{
    post_fill(domain, post, GNI_POST_AMO, 0, 8 + 8 * slot, 0, 8);
    post->amo_cmd = amo;
    post->first_operand = 1;
}

/* Returns how many were certainly done, -1 on failure. */
static int64_t add(struct rank *rank, struct domain *domain)
{
    uint64_t window = rank_arg_count(rank, "window"),
             iterations = rank_arg_count(rank, "iterations");
    uint64_t software = rank_arg_ps(rank, "software"), posted = 0, done = 0, first = rank_now(),
             begin = first;
    gni_post_descriptor_t *posts = calloc(window, sizeof(*posts)), *post;
    gni_fma_cmd_type_t amo = command(rank);
    int64_t good = 0;
    int status = 0;

    while (done < iterations && status >= 0) {
        if (posted < iterations && posted - done < window) {
            begin = rank_now();
            rank_compute(software);
            prepare(domain, &posts[posted % window], posted % window, amo);
            status = domain_post(domain, 0, &posts[posted++ % window]);
            continue;
        }
        status = domain_reap(domain, true, &post);
        done++;
        good += status == 0;
        if (window == 1)
            rank_record_latency(rank, "latency", rank_now() - begin);
        rank_progress(rank);
    }
    if (status >= 0)
        rank_record_rate(rank, "rate", iterations, rank_now() - first);
    free(posts);
    return status < 0 ? -1 : good;
}

static int verify(struct rank *rank, struct domain *domain, int64_t mine)
{
    int64_t *all = malloc(rank_size(rank) * sizeof(*all)), sum = 0, value;
    uint64_t errors = domain->errors;
    uint32_t i;
    int status = 0;

    rank_allgather(rank, &mine, all, sizeof(*all));
    for (i = 0; i < rank_size(rank); i++)
        sum += all[i];
    memcpy(&value, domain->memory, sizeof(value));
    /* An error does not mean "not done", so with errors the counter may be ahead. */
    if (rank_id(rank) == 0 && errors == 0 && value < sum)
        status = rank_fail(rank, "the counter is %lld, %lld atomics were done", (long long)value,
                           (long long)sum);
    free(all);
    return status;
}

static int run(struct rank *rank)
{
    struct domain domain;
    int64_t good = -1;
    int status = domain_open(&domain, rank, GNI_CDM_MODE_CACHED_AMO_ENABLED, 1024, 0);

    if (status == 0)
        status = domain_share(&domain, 8 + 8 * rank_arg_count(rank, "window"));
    if (status == 0) {
        rank_barrier(rank);
        good = add(rank, &domain);
        status = good < 0 ? -1 : verify(rank, &domain, good);
    }
    domain_close(&domain);
    return status;
}

static const struct workload amo_rate = {
    .name = "amo_rate",
    .meaning = "all ranks add atomically to one counter, sum verified",
    .metrics = "latency (ps), with window 1; rate (1/s), per rank",
    .args = args,
    .main = run,
};
WORKLOAD(amo_rate)
