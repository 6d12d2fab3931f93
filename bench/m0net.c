/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-m0net: m0_net over simulated LNet. 63 clients send messages to a server, which answers, and
 * reads and writes their memory: m0_ping, with its checks of all data. And 4,096 idle transfer
 * machines in one process.
 *
 * Rates are per second of processor time, and are the difference of a long and a short run, so that
 * the begin does not count. Medians of three.
 *
 * The first argument may be `live` or `simulated`: only that part.
 */
#include "bench.h"
#include "m0net_live.h"
#include "simulate.h"

#define NODES 64u
#define FEW 20u /* loops of a client */
#define MANY 420u
#define PER_LOOP 6u /* four messages and two bulk transfers */

static double seconds_of(const char *flavour, unsigned loops)
{
    return simulate("name: rate\nseed: 17\n"
                    "fabric: {name: ethernet, topology: single-switch, nodes: %u}\n"
                    "lnet: {nodes: [{name: all, nodes: 0-%u, networks: tcp(ethernet)}]}\n"
                    "jobs: [{name: peers, nodes: 0-%u, workload: m0_ping, args: {loops: %u, bytes: "
                    "4KiB, buffers: 200, flavour: %s}}]\n"
                    "expect: [{ledger: balanced}, {metric: peers.errors, equals: 0}]\n",
                    NODES, NODES - 1, NODES - 1, loops, flavour)
        .seconds;
}

/* Operations per second. */
static double rate(const char *flavour)
{
    double rates[3];
    unsigned i;

    for (i = 0; i < 3; i++) {
        double begin = seconds_of(flavour, FEW);

        rates[i] = (MANY - FEW) * (NODES - 1.0) * PER_LOOP / (seconds_of(flavour, MANY) - begin);
    }
    return bench_median(rates, 3);
}

/* What an idle transfer machine takes of the process's memory, of 4,096 in one process. */
static double idle_bytes(const char *flavour)
{
    const unsigned counts[2] = {1024, 4096};
    double bytes[2];
    unsigned i;

    for (i = 0; i < 2; i++)
        bytes[i] = simulate("name: idle\n"
                            "fabric: {name: ethernet, topology: single-switch, nodes: 2}\n"
                            "lnet: {nodes: [{name: all, nodes: 0, networks: tcp(ethernet)}]}\n"
                            "jobs: [{name: one, nodes: 0, workload: m0_machines, args: {machines: "
                            "%u, flavour: %s}}]\n"
                            "expect: [{metric: one.machines, equals: %u}]\n",
                            counts[i], flavour, counts[i])
                       .bytes;
    return (bytes[1] - bytes[0]) / (counts[1] - counts[0]);
}

static void simulated(struct bench *bench)
{
    bench_row(bench, "messages and bulk, in the kernel", rate("kernel") / 1e3, "k/s", 150);
    bench_row(bench, "messages and bulk, from user space", rate("user") / 1e3, "k/s", 150);
    bench_row(bench, "messages and bulk, in batches", rate("batched") / 1e3, "k/s", 150);
    bench_row(bench, "idle transfer machine, in the kernel", idle_bytes("kernel"), "B", 16384);
    bench_row(bench, "idle transfer machine, in user space", idle_bytes("user"), "B", 16384);
}

int main(int argc, char **argv)
{
    struct bench bench;
    bool good = true;

    bench_begin(&bench, "m0net", argc, argv);
    if (argc < 2 || strcmp(argv[1], "simulated") != 0)
        good = bench_m0net_live(&bench);
    if (good && (argc < 2 || strcmp(argv[1], "live") != 0))
        simulated(&bench);
    bench_calibrate(&bench);
    bench_end(&bench);
    return good ? 0 : 1;
}
