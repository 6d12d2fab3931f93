/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-ranks [COUNT …] [--json]: the cost of an idle rank. COUNT fibers (100,000) poll an empty
 * queue. When all are parked the run ends, and the program reads its memory from /proc/self/statm.
 * Then it wakes all fibers in turn, three times, to measure a switch between so many.
 */
#include <stdbool.h>
#include <unistd.h>

#include "bench.h"
#include "engine/sim.h"

#define ROUNDS 3

static struct sim_fiber **ranks;
static uint32_t count, next, wakes_left;

static double resident(void)
{
    unsigned long total, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu %lu", &total, &pages) != 2) {
        fprintf(stderr, "bench-ranks: cannot read /proc/self/statm\n");
        exit(1);
    }
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static bool never(const void *what)
{
    return false;
}

static void idle(void *arg)
{
    const struct sim_wait wait = {.text = "a message", .what = arg};

    while (!sim_poll(&wait, never, 100 * SIM_NS))
        ;
}

/* Wakes one rank after the other, in an order that hardware prefetchers cannot predict. */
static void wake_next(struct sim_event *event)
{
    next = (uint32_t)(((uint64_t)next * 40503 + 12345) % count);
    sim_wake(ranks[next]);
    if (--wakes_left > 0)
        sim_event_schedule(event, sim_now() + 10 * SIM_US);
}

static void measure(struct bench *bench)
{
    struct sim_options options = {.seed = 1, .fibers_max = count};
    struct sim_event waker = {wake_next};
    double before, started, parked, start, switches;
    char name[64];
    uint32_t i;

    ranks = calloc(count, sizeof *ranks);
    memset(ranks, 1, count * sizeof *ranks);
    before = resident();
    start = bench_seconds();
    sim_init(&options);
    for (i = 0; i < count; i++) {
        snprintf(name, sizeof name, "rank %u", i);
        ranks[i] = sim_fiber_start(idle, NULL, name, 0);
    }
    started = bench_seconds() - start;
    start = bench_seconds();
    if (sim_run() != SIM_DEADLOCK)
        exit(1);
    parked = bench_seconds() - start;

    snprintf(name, sizeof name, "%u idle ranks: resident per rank", count);
    bench_row(bench, name, (resident() - before) / count, "bytes", 24576);
    snprintf(name, sizeof name, "%u idle ranks: start", count);
    bench_row(bench, name, started / count * 1e9, "ns", 0);
    snprintf(name, sizeof name, "%u idle ranks: first run until parked", count);
    bench_row(bench, name, parked / count * 1e9, "ns", 0);

    wakes_left = ROUNDS * count;
    switches = (double)sim_core.fiber_switches;
    sim_event_schedule(&waker, sim_now());
    start = bench_seconds();
    sim_run();
    start = bench_seconds() - start;
    snprintf(name, sizeof name, "%u idle ranks: wake and park one", count);
    bench_row(bench, name, start / (ROUNDS * count) * 1e9, "ns", 0);
    snprintf(name, sizeof name, "%u idle ranks: switches per wake", count);
    bench_row(bench, name, ((double)sim_core.fiber_switches - switches) / (ROUNDS * count), "", 0);
    sim_fini();
    free(ranks);
}

int main(int argc, char **argv)
{
    struct bench bench;
    bool given = false;
    int i;

    bench_begin(&bench, "ranks", argc, argv);
    bench_calibrate(&bench);
    for (i = 1; i < argc; i++) {
        count = (uint32_t)strtoul(argv[i], NULL, 10);
        if (count > 0) {
            given = true;
            measure(&bench);
        }
    }
    if (!given) {
        count = 100000;
        measure(&bench);
    }
    bench_end(&bench);
    return 0;
}
