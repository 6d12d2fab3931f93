/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-engine [phold | hold | fiber] [--json]
 *
 * phold: the classic (remote probability 0.25, delay = lookahead 0.1 + exponential 0.9, mean 1.0;
 * one event per logical process) through the engine's own calls; reference: the same model, same
 * numbers, on a plain binary heap of malloc'd events. Both must end with the same checksum. hold:
 * ns per pop + push of the queues alone, at 1 k to 1 M pending entries and under several
 * distributions of delays; reference: the plain heap. fiber: cost of a switch, a wait and a poll.
 *
 * The program has one thread and measures its processor time, which other load on the machine
 * affects less. Figures of one run can be compared with each other, but not with those of other
 * machines.
 */
#include <math.h>
#include <stdbool.h>

#include "bench.h"
#include "engine/random.h"
#include "engine/sim.h"
#include "engine_rivals.h"
#include "queue.h"

static struct bench bench;

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- random numbers that cost little --------------------------------------------------------- */

/*
 * An exponential variate in 16.16 fixed point, mean 1, from the bits of x: the number of leading
 * zeros is geometric and gives the integer part (in units of ln 2), a table of 1,024 steps with
 * interpolation the rest.
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

/* A logical process, one cache line. The sender of a message schedules its event. */
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

/* Draws the delay of the next event; returns the logical process that receives it. */
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

static void phold_fire(struct sim_event *event)
{
    struct process *self = sim_container_of(event, struct process, event);
    uint64_t delay;
    struct process *to = phold_step(self, sim_now(), &delay);

    sim_event_schedule(&to->event, sim_now() + delay);
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
        sim_event_schedule(&processes[i].event,
                           exponential(next_random(&processes[i].random)) * MEAN >> 16);
    }
    start = cpu_seconds();
    sim_run();
    start = cpu_seconds() - start;
    sim_fini();
    *checksum = phold_checksum();
    return (double)events / start;
}

static double phold_rival(const struct rival *rival, uint32_t count, uint64_t events,
                          uint64_t *checksum)
{
    uint64_t now, delay;
    double start;
    uint32_t i;

    processes_init(count);
    events_left = events;
    rival->init(count, MEAN);
    for (i = 0; i < count; i++)
        rival->push(exponential(next_random(&processes[i].random)) * MEAN >> 16, &processes[i]);
    start = cpu_seconds();
    while (events_left-- > 0) {
        struct process *self = rival->pop(&now), *to = phold_step(self, now, &delay);

        rival->push(now + delay, to);
    }
    start = cpu_seconds() - start;
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
        reference = phold_rival(&bench_rival_heap, counts[i], events / 4, &theirs) / 1e6;
        phold_engine(counts[i], events / 4, &ours);
        if (ours != theirs) {
            fprintf(stderr, "bench-engine: the checksums differ\n");
            exit(1);
        }
        snprintf(name, sizeof name, "PHOLD, %u processes", counts[i]);
        bench_row(&bench, name, rate, "M events/s", reference);
    }
}

/* ---- hold ------------------------------------------------------------------------------------ */

static uint64_t delay_exponential(uint64_t x)
{
    return exponential(x) * MEAN >> 16;
}

static uint64_t delay_near(uint64_t x) /* nine in ten within 2 % of the mean */
{
    return exponential(x) * (x % 10 != 0 ? MEAN / 50 : 10 * MEAN) >> 16;
}

static uint64_t delay_bimodal(uint64_t x)
{
    return x & 1 ? 100 * SIM_NS + (x >> 54) : 2 * SIM_US + (x >> 54);
}

static uint64_t delay_bursts(uint64_t x) /* multiples of 100 ns: many equal times */
{
    return (1 + (x >> 60)) * 100 * SIM_NS;
}

static const struct {
    const char *name;
    uint64_t (*delay)(uint64_t x);
} distributions[] = {
    {"exponential", delay_exponential},
    {"near future", delay_near},
    {"bimodal", delay_bimodal},
    {"equal times", delay_bursts},
};

static struct sim_queue wheel;

static void wheel_init(uint64_t pending, double mean_delay)
{
    sim_queue_init(&wheel);
}

static void wheel_push(uint64_t time, void *what)
{
    sim_queue_push(&wheel, time, (uintptr_t)what);
}

static void *wheel_pop(uint64_t *time)
{
    if (!sim_queue_ready(&wheel, SIM_NEVER))
        return NULL;
    *time = wheel.head->time;
    return sim_queue_pop(&wheel);
}

static void wheel_fini(void)
{
    sim_queue_fini(&wheel);
}

static const struct rival ours = {"engine's queue", wheel_init, wheel_push, wheel_pop, wheel_fini};

/* ns per pop and push with `pending` entries; the entries' objects are read, as a simulator would.
 */
static double hold(const struct rival *rival, uint64_t (*delay)(uint64_t), uint64_t pending,
                   uint64_t *checksum)
{
    uint64_t random = 42, now = 0, i, operations = 2000000;
    uint64_t *objects = calloc(pending, 64);
    double start = 0;

    rival->init(pending, (double)MEAN);
    for (i = 0; i < pending; i++)
        rival->push(delay(next_random(&random)), &objects[i * 8]);
    for (i = 0; i < 2 * operations; i++) {
        uint64_t *object;

        if (i == operations) /* the first half warms up */
            start = cpu_seconds();
        object = rival->pop(&now);
        *object = *object * 31 + now;
        rival->push(now + delay(next_random(&random)), object);
    }
    start = cpu_seconds() - start;
    rival->fini();
    for (i = 0, *checksum = 0; i < pending; i++)
        *checksum = sim_mix(*checksum ^ objects[i * 8]);
    free(objects);
    return start / (double)operations * 1e9;
}

static void hold_all(void)
{
    static const uint64_t pending[] = {1024, 16384, 131072, 1048576};
    static const struct rival *const rivals[] = {&ours, &bench_rival_heap4, &bench_rival_calendar};
    size_t i, j, k;
    char name[96];

    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++) {
            uint64_t expected, checksum;
            double reference =
                hold(&bench_rival_heap, distributions[i].delay, pending[j], &expected);

            /* Equal times and gaps make the calendar's lists long: 20 µs per event and worse. */
            for (k = 0; k < (i < 2 ? 3 : 2); k++) {
                double ns = hold(rivals[k], distributions[i].delay, pending[j], &checksum);

                if (checksum != expected) {
                    fprintf(stderr, "bench-engine: %s is out of order\n", rivals[k]->name);
                    exit(1);
                }
                snprintf(name, sizeof name, "%s, %llu: %s", distributions[i].name,
                         (unsigned long long)pending[j], rivals[k]->name);
                bench_row(&bench, name, ns, "ns", reference);
            }
        }
}

/* Timers of which 15 in 16 are cancelled before they are due: the price of arm and cancel, or arm
 * and fire. */
static void timers(void)
{
    static const uint64_t pending[] = {1024, 16384, 131072, 1048576};
    static const uint64_t operations = 3000000;
    uint64_t i, time = 0, random = 7;
    char name[64];
    size_t j;

    for (j = 0; j < 4; j++) {
        struct sim_timer *all = calloc(pending[j], sizeof *all);
        double start = 0;

        sim_queue_init(&wheel);
        for (i = 0; i < operations + pending[j]; i++) {
            struct sim_timer *timer = &all[i % pending[j]];

            if (i == pending[j])
                start = cpu_seconds();
            if (timer->entry != NULL && i % 16 != 0)
                sim_queue_timer_cancel(&wheel, timer);
            else if (i >= pending[j] && sim_queue_ready(&wheel, SIM_NEVER)) {
                time = wheel.head->time;
                sim_queue_pop(&wheel);
            }
            if (timer->entry == NULL)
                sim_queue_timer_arm(&wheel, timer, time + delay_exponential(next_random(&random)));
        }
        start = cpu_seconds() - start;
        sim_queue_fini(&wheel);
        free(all);
        snprintf(name, sizeof name, "timers mostly cancelled, %llu",
                 (unsigned long long)pending[j]);
        bench_row(&bench, name, start / (double)operations * 1e9, "ns", 0);
    }
}

/* ---- fibers ---------------------------------------------------------------------------------- */

#define SWITCHES 5000000
static struct sim_fiber *partners[2];
static uint64_t turns;
static bool full;

static void partner(void *arg)
{
    static const struct sim_wait wait = {.text = "partner"};
    struct sim_fiber **other = arg;

    while (turns++ < SWITCHES) {
        sim_wake(*other);
        sim_wait_until(SIM_NEVER, &wait);
    }
    sim_stop();
}

static bool is_full(const void *what)
{
    return full;
}

static struct sim_event background;

static void fill(struct sim_event *event)
{
    full = true;
    sim_wake(partners[0]);
}

static void poller(void *arg)
{
    static const struct sim_wait wait = {.text = "queue"};

    for (turns = 0; turns < SWITCHES; turns++) {
        sim_event_schedule(&background, sim_now() + SIM_US);
        while (!sim_poll(&wait, is_full, 100 * SIM_NS))
            ;
        full = false;
    }
}

static void spender(void *arg)
{
    for (turns = 0; turns < SWITCHES; turns++) {
        sim_spend(10);
        sim_settle();
    }
}

static double fibers(int count, void (*main)(void *))
{
    static const struct sim_options options = {.seed = 1};
    double start;
    int i;

    sim_init(&options);
    turns = 0;
    background.fire = fill;
    for (i = 0; i < count; i++)
        partners[i] = sim_fiber_start(main, &partners[!i], "fiber", 0);
    start = cpu_seconds();
    sim_run();
    start = cpu_seconds() - start;
    sim_fini();
    return start * 1e9 / SWITCHES;
}

/* The bare switch: what jump_fcontext costs here, there and back. */
struct transfer {
    void *context, *data;
};
struct transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *top, size_t bytes, void (*entry)(struct transfer));

static void bounce(struct transfer from)
{
    for (;;)
        from = jump_fcontext(from.context, NULL);
}

static double bare_switch(void)
{
    static char stack[16384] __attribute__((aligned(16)));
    struct transfer there = {make_fcontext(stack + sizeof stack, sizeof stack, bounce), NULL};
    double start = cpu_seconds();
    int i;

    for (i = 0; i < SWITCHES; i++)
        there = jump_fcontext(there.context, NULL);
    return (cpu_seconds() - start) * 1e9 / SWITCHES / 2;
}

static void fiber_all(void)
{
    bench_row(&bench, "fiber switch", bare_switch(), "ns", 0);
    bench_row(&bench, "wake another fiber and wait (event + switch)", fibers(2, partner), "ns", 0);
    bench_row(&bench, "spend and settle, nothing due", fibers(1, spender), "ns", 0);
    bench_row(&bench, "poll until something arrives (parked)", fibers(1, poller), "ns", 0);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 && argv[1][0] != '-' ? argv[1] : "";

    exponential_init();
    bench_begin(&bench, "engine", argc, argv);
    bench_calibrate(&bench);
    if (*only == '\0' || strcmp(only, "phold") == 0)
        phold();
    if (*only == '\0' || strcmp(only, "fiber") == 0)
        fiber_all();
    if (*only == '\0' || strcmp(only, "hold") == 0) {
        hold_all();
        timers();
    }
    bench_end(&bench);
    return 0;
}
