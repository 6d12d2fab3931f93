/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The smallest workload: ranks compute, meet and exchange, without a network. */
#include "cluster/cluster.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "10", "1", "1000000", NULL, "barriers"},
    {"compute", ARG_TIME, "1us", "0", "1s", NULL,
     "mean time that a rank computes before it arrives"},
    {NULL},
};

#define NEIGHBOURS 64u

/* Each rank publishes its number and checks those of its neighbours (in a small job, of all). */
static int exchange(struct rank *rank)
{
    uint64_t mine = 1ull << 32 | rank_id(rank);
    const uint64_t *all = rank_exchange(rank, &mine, sizeof(mine));
    uint32_t i, other;

    for (i = 0; all != NULL && i < NEIGHBOURS && i < rank_size(rank); i++) {
        other = (rank_id(rank) + i) % rank_size(rank);
        if (all[other] != (1ull << 32 | other) && all[other] != 0) /* 0: that rank is gone */
            return rank_fail(rank, "rank %u published %#llx", other,
                             (unsigned long long)all[other]);
    }
    return 0;
}

static int run(struct rank *rank)
{
    uint64_t rounds = rank_arg_count(rank, "rounds"), compute = rank_arg_ps(rank, "compute"), round,
             begin;

    for (round = 1; round <= rounds; round++) {
        rank_compute(compute != 0 ? rank_random(rank) % (2 * compute) : 0);
        begin = rank_now();
        rank_barrier(rank);
        rank_record_latency(rank, "latency", rank_now() - begin);
        rank_progress(rank);
    }
    return exchange(rank);
}

extern const struct workload cluster_barrier_workload;
const struct workload cluster_barrier_workload = {
    .name = "barrier",
    .meaning = "ranks compute and meet, then exchange, out of band, without a network",
    .metrics = "latency (ps)",
    .args = args,
    .main = run,
};
