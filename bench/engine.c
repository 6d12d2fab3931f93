/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-engine [phold | hold | fiber] [--json]
 *
 * phold: the classic (remote probability 0.25, delay = lookahead 0.1 + exponential 0.9, mean 1.0; one event per logical
 *        process) through the engine's own calls; reference: the same model, same numbers, on a plain binary
 *        heap of malloc'd events. Both must end with the same checksum.
 * hold:  ns per pop + push of the queues alone, at 1 k to 1 M pending entries and under several distributions of
 *        delays; reference: the plain heap.
 * fiber: cost of a switch, a wait and a poll.
 *
 * All is done in one thread; figures of one run can be compared with each other, not with other machines'.
 */
#include <math.h>
#include <stdbool.h>

#include "bench.h"
#include "engine/random.h"
#include "engine/sim.h"
#include "engine_rivals.h"
#include "queue.h"

static struct bench bench;

/* ---- random numbers that cost little --------------------------------------------------------- */

/*
 * An exponential variate in 16.16 fixed point, mean 1, from the bits of x: the number of leading zeros is
 * geometric and gives the integer part (in units of ln 2), a table of 1,024 steps with interpolation the rest.
 */
static uint32_t log_table[1025];

static void exponential_init(void)
{
    int i;

    for (i = 0; i <= 1024; i++)
        log_table[i] = (uint32_t)lround(-log(1.0 - i / 2048.0) * 65536.0);
}

static inline uint64_t exponential(uint64_t x)
{
    uint32_t zeros = (uint32_t)__builtin_clzll(x | 1 << 10);
    uint64_t rest = x << zeros << 1;
    uint32_t at = (uint32_t)(rest >> 54), fraction = (uint32_t)(rest >> 38) & 0xffff;
    uint32_t low = log_table[at];

    return zeros * 45426u + low + (((log_table[at + 1] - low) * fraction) >> 16);
}

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1dull;
}

/* ---- PHOLD ----------------------------------------------------------------------------------- */

#define MEAN SIM_US
#define LOOKAHEAD (MEAN / 10)
#define REMOTE 64 /* of 256 */

/* A logical process: one cache line, its event in it. */
struct process {
    struct sim_event event;
    uint64_t random;
    uint64_t handled;
    uint64_t sum;
    uint64_t unused[4];
} __attribute__((aligned(64)));

static struct process *processes;
static uint32_t process_count;
static uint64_t events_left;

static void processes_init(uint32_t count)
{
    uint32_t i;

    process_count = count;
    processes = aligned_alloc(64, count * sizeof *processes);
    for (i = 0; i < count; i++)
        processes[i] = (struct process){.random = sim_mix(i + 1) | 1};
}

/* Delay of the next event in *delay; whose it will be is returned. */
static inline struct process *phold_step(struct process *self, uint64_t now, uint64_t *delay)
{
    uint64_t x = next_random(&self->random);
    struct process *to = self;

    self->handled++;
    self->sum += now;
    *delay = LOOKAHEAD + (exponential(x) * (MEAN - LOOKAHEAD) >> 16);
    x = next_random(&self->random) >> 16;
    if ((x & 255) < REMOTE)
        to = &processes[(x >> 8) * process_count >> 40];
    return to;
}

static uint64_t phold_checksum(void)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < process_count; i++)
        sum = sim_mix(sum ^ processes[i].sum ^ processes[i].handled);
    free(processes);
    return sum;
}

/*
 * An event belongs to one process at a time; which one is hit is data of the event. Process and event are one
 * object only while nothing is remote, so the event travels: it is the event of the process that it visits.
 */
static void phold_fire(struct sim_event *event)
{
    struct process *self = sim_container_of(event, struct process, event);
    uint64_t delay;

    sim_event_schedule(&phold_step(self, sim_now(), &delay)->event, sim_now() + delay);
    if (--events_left == 0)
        sim_stop();
}

static double phold_engine(uint32_t count, uint64_t events, uint64_t *checksum)
{
    static const struct sim_options options = {.seed = 1, .fibers_max = 1};
    double start;
    uint32_t i;

    processes_init(count);
    events_left = events;
    sim_init(&options);
    for (i = 0; i < count; i++) {
        processes[i].event.fire = phold_fire;
        sim_event_schedule(&processes[i].event, exponential(next_random(&processes[i].random)) * MEAN >> 16);
    }
    start = bench_seconds();
    sim_run();
    start = bench_seconds() - start;
    sim_fini();
    *checksum = phold_checksum();
    return (double)events / start;
}

static double phold_rival(const struct rival *rival, uint32_t count, uint64_t events, uint64_t *checksum)
{
    uint64_t now, delay;
    double start;
    uint32_t i;

    processes_init(count);
    events_left = events;
    rival->init(count, MEAN);
    for (i = 0; i < count; i++)
        rival->push(exponential(next_random(&processes[i].random)) * MEAN >> 16, &processes[i]);
    start = bench_seconds();
    while (events_left-- > 0) {
        struct process *self = rival->pop(&now), *to = phold_step(self, now, &delay);

        rival->push(now + delay, to);
    }
    start = bench_seconds() - start;
    rival->fini();
    *checksum = phold_checksum();
    return (double)events / start;
}

static void phold(void)
{
    static const uint32_t counts[] = {1024, 16384, 262144};
    uint64_t ours, theirs, events;
    double rate, reference;
    char name[64];
    size_t i;

    for (i = 0; i < 3; i++) {
        events = 20000000;
        rate = phold_engine(counts[i], events, &ours) / 1e6;
        reference = phold_rival(&rival_heap, counts[i], events / 4, &theirs) / 1e6;
        phold_engine(counts[i], events / 4, &ours);
        if (ours != theirs) {
            fprintf(stderr, "bench-engine: the checksums differ\n");
            exit(1);
        }
        snprintf(name, sizeof name, "PHOLD, %u processes", counts[i]);
        bench_row(&bench, name, rate, "M events/s", reference);
    }
}
