/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-machine [RANKS] [--json]: the largest machine that Aries allows, 241 groups of 384 nodes,
 * in one process, with a rank and its whole uGNI state on each node (or on the first RANKS nodes).
 * The ranks start through PMI and run natural rings, dissemination barriers, or all-reduces by the
 * collective engines. Processor time and memory of each run, start included.
 */
#include <stdlib.h>

#include "bench.h"
#include "simulate.h"

#define NODES 92544ul

static const struct {
    const char *name, *workload;
} runs[] = {
    {"natural ring", "mpi_pattern, args: {pattern: natural_ring, iterations: 5, warmup: 1}"},
    {"dissemination barrier", "mpi_pattern, args: {pattern: barrier, iterations: 3, warmup: 1}"},
    {"all-reduce", "ce_barrier, args: {operation: allreduce, radix: 16, iterations: 10}"},
};

int main(int argc, char **argv)
{
    unsigned long ranks = argc > 1 && argv[1][0] != '-' ? strtoul(argv[1], NULL, 10) : NODES;
    struct bench bench;
    struct cost cost;
    char name[96];
    size_t i;

    if (ranks < 2 || ranks > NODES) {
        fprintf(stderr, "usage: bench-machine [RANKS] [--json], with 2 to %lu ranks\n", NODES);
        return 2;
    }
    bench_begin(&bench, "machine", argc, argv);
    for (i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        cost =
            simulate("name: whole-machine\n"
                     "fabric: {groups: 241, chassis: 6, slots: 16, cables: 1, profile: xc40_hsw}\n"
                     "jobs: [{name: machine, nodes: 0-%lu, workload: %s}]\n",
                     ranks - 1, runs[i].workload);
        snprintf(name, sizeof(name), "%s of %lu ranks, processor time", runs[i].name, ranks);
        bench_row(&bench, name, cost.seconds, "s", 0);
        snprintf(name, sizeof(name), "%s of %lu ranks, memory of a rank", runs[i].name, ranks);
        bench_row(&bench, name, cost.bytes / (double)ranks / 1024, "KiB", 0);
    }
    bench_calibrate(&bench);
    bench_end(&bench);
    return 0;
}
