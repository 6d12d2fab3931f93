/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The smallest workload: ranks compute, meet and exchange, without a network. */
#include "internal.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "10", "1", "1000000", NULL, "barriers"},
    {"compute", ARG_TIME, "1us", "0", "1s", NULL,
     "mean time that a rank computes before it arrives"},
    {NULL},
};

/* Everybody tells its number and the round; everybody must hear all of them. */
static int exchange(struct rank *rank, uint64_t *all, uint64_t round)
{
    uint64_t mine = round << 32 | rank_id(rank);
    uint32_t i;

    rank_allgather(rank, &mine, all, sizeof(mine));
    for (i = 0; i < rank_size(rank); i++) {
        if (all[i] != (round << 32 | i) && all[i] != 0) /* 0: that rank is gone */
            return rank_fail(rank, "round %u: rank %u told %#llx", (unsigned)round, i,
                             (unsigned long long)all[i]);
    }
    return 0;
}

static int run(struct rank *rank)
{
    uint64_t rounds = rank_arg_count(rank, "rounds"), compute = rank_arg_ps(rank, "compute"), round,
             begin;
    uint64_t *all = rank_alloc(rank, rank_size(rank) * sizeof(*all));
    int status = 0;

    for (round = 1; round <= rounds && status == 0; round++) {
        rank_compute(compute != 0 ? rank_random(rank) % (2 * compute) : 0);
        begin = rank_now();
        rank_barrier(rank);
        rank_record_latency(rank, "latency", rank_now() - begin);
        status = exchange(rank, all, round);
        rank_progress(rank);
    }
    return status;
}

extern const struct workload barrier_workload;
const struct workload barrier_workload = {
    .name = "barrier",
    .meaning = "ranks compute, meet and exchange out of band, without a network",
    .metrics = "latency (ps)",
    .args = args,
    .main = run,
};
