/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parking of fibers that share memory, as threads of a process do. Random processes of one to three
 * threads poll queues, read words that their other threads write without a word to anybody, take a
 * lock, wait for each other, compute and read the clock, and some end. They must do the same things
 * at the same times whether idle polls are simulated or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/random.h"
#include "engine/sim.h"
#include "full.h"

#define PROCESSES 3
#define THREADS 3
#define STEPS 5
#define QUEUES 4
#define WORDS 3
#define MESSAGES 40000

struct process;

struct step {
    int queue;
    sim_time_t cost, gap; /* the gap is spent after an empty poll */
    int word; /* is read after the poll; -1: none */
    bool locks; /* the poll is made with the process's lock */
};

struct thread {
    struct process *process;
    struct sim_fiber *fiber;
    struct step steps[STEPS];
    int length;
    bool marks; /* its polls are told apart by marks, not by their ids */
    bool counts; /* it counts its passes, and reads the clock in each */
    bool poked;
    bool ends; /* after some of the things that it does */
    bool over;
    uint64_t seen[WORDS], event_seen, passes, hash, things;
    struct sim_random random;
};

struct process {
    struct thread threads[THREADS];
    int thread_count;
    uint32_t queues[QUEUES];
    uint64_t words[WORDS]; /* written by threads */
    uint64_t event_word; /* written by events, which wake the threads */
    uint32_t stalls; /* empty polls of queue 0 */
    bool locked;
};

struct message {
    struct sim_event event;
    struct process *to;
    int queue; /* QUEUES: it writes event_word */
};

static struct process processes[PROCESSES];
static int process_count;
static struct message messages[MESSAGES];
static int messages_used;
static sim_time_t grain;

static bool not_empty(const void *what)
{
    return *(const uint32_t *)what > 0;
}

static void arrive(struct sim_event *event)
{
    struct message *message = (struct message *)event;
    struct process *to = message->to;
    int i;

    if (message->queue < QUEUES)
        to->queues[message->queue]++;
    else
        to->event_word++;
    for (i = 0; i < to->thread_count; i++)
        if (to->threads[i].over)
            continue;
        else if (message->queue < QUEUES)
            sim_notify(to->threads[i].fiber);
        else
            sim_wake(to->threads[i].fiber);
}

static void send(struct process *to, int queue, sim_time_t at)
{
    if (messages_used == MESSAGES)
        return;
    messages[messages_used] = (struct message){{arrive}, to, queue};
    sim_event_schedule(&messages[messages_used++].event, at);
}

static uint64_t draw(struct thread *self, uint64_t below)
{
    return sim_random_below(&self->random, below);
}

static void note(struct thread *self, uint64_t what)
{
    self->hash = (self->hash ^ what ^ sim_local_time() << 8) * 0x100000001b3ull;
    self->hash = (self->hash ^ self->process->stalls) * 0x100000001b3ull;
    self->things++;
}

/* ---- the lock -------------------------------------------------------------------------------- */

static void lock(struct process *process)
{
    static const struct sim_wait wait = {.text = "the lock"};

    sim_catching_up();
    while (process->locked)
        sim_wait_until(SIM_NEVER, &wait);
    process->locked = true;
    sim_lock_begin();
}

static void unlock(struct process *process)
{
    int i;

    sim_lock_end();
    process->locked = false;
    for (i = 0; i < process->thread_count; i++)
        if (!process->threads[i].over)
            sim_wake(process->threads[i].fiber);
}

/* ---- what a thread does when it has found something ------------------------------------------ */

static void wait_for_poke(struct thread *self)
{
    static const struct sim_wait wait = {.text = "another thread, or some time"};
    sim_time_t deadline = sim_local_time() + grain * (1 + draw(self, 3000));

    while (!self->poked && sim_now() < deadline)
        sim_wait_until(deadline, &wait);
    self->poked = false;
    note(self, 1);
}

static void act(struct thread *self)
{
    struct process *process = self->process;
    struct thread *other = &process->threads[draw(self, (uint64_t)process->thread_count)];

    switch (draw(self, 8)) {
    case 0:
    case 1:
        process->words[draw(self, WORDS)]++;
        break;
    case 2:
        sim_spend(grain * draw(self, 100));
        process->words[draw(self, WORDS)]++; /* ahead of the world */
        break;
    case 3:
        sim_settle();
        send(&processes[draw(self, (uint64_t)process_count)], (int)draw(self, QUEUES + 1),
             sim_now() + grain * draw(self, 300));
        break;
    case 4:
        wait_for_poke(self);
        break;
    case 5:
        sim_settle();
        sim_idle_break();
        other->poked = true;
        if (!other->over)
            sim_wake(other->fiber);
        break;
    case 6:
        if (sim_clock_read() / grain % 2 == 0)
            process->words[0]++;
        break;
    default:
        sim_sleep_until(sim_local_time() + grain * draw(self, 500));
        process->words[draw(self, WORDS)]++;
        break;
    }
    if (self->ends && draw(self, 8) == 0) {
        process->words[draw(self, WORDS)]++;
        self->over = true;
    }
}

/* Words that threads write are read as they are; what an event writes is read at the right time. */
static void read_words(struct thread *self, int word)
{
    struct process *process = self->process;

    if (word >= 0 && process->words[word] != self->seen[word]) {
        self->seen[word] = process->words[word];
        sim_idle_break();
        note(self, 2 + 16 * (uint64_t)word);
        act(self);
    }
    if (sim_is_current() && process->event_word != self->event_seen) {
        self->event_seen = process->event_word;
        sim_idle_break();
        note(self, 3);
        act(self);
    }
}

static void follow(void *arg)
{
    struct thread *self = arg;
    struct process *process = self->process;
    int at = 0;

    while (!self->over) {
        const struct step *step = &self->steps[at];
        const struct sim_wait wait = {
            .text = "queue",
            .what = &process->queues[step->queue],
            .id = (uint32_t)(step->queue + (self->marks ? 0 : QUEUES * (at + 1)))};
        bool found;

        if (step->locks)
            lock(process);
        found = sim_poll(&wait, not_empty, step->cost);
        if (found)
            process->queues[step->queue]--;
        else if (step->queue == 0)
            sim_poll_count(&process->stalls);
        if (step->locks)
            unlock(process);
        if (found) {
            note(self, 4 + 16 * (uint64_t)step->queue);
            act(self);
        } else {
            sim_spend(step->gap);
        }
        read_words(self, step->word);
        if (self->marks)
            sim_poll_mark((uint32_t)at + 1);
        at = (at + 1) % self->length;
        if (self->counts && at == 0) {
            sim_clock_read();
            if (++self->passes % 37 == 0)
                process->words[draw(self, WORDS)]++;
        }
    }
}

/* ---- random processes ------------------------------------------------------------------------ */

static void make_thread(struct thread *thread, struct sim_random *random, uint64_t seed, int number)
{
    bool uniform = sim_random_chance(random, 0.5), locks = sim_random_chance(random, 0.3);
    int i;

    thread->length = 1 + (int)sim_random_below(random, STEPS);
    thread->ends = sim_random_chance(random, 0.4);
    thread->marks = sim_random_chance(random, 0.3);
    thread->counts = sim_random_chance(random, 0.1);
    sim_random_init(&thread->random, seed, "thread", (uint64_t)number);
    for (i = 0; i < thread->length; i++)
        thread->steps[i] = (struct step){
            .queue = (int)sim_random_below(random, QUEUES),
            .cost = uniform ? 10 * grain : grain * (1 + sim_random_below(random, 9)),
            .gap =
                uniform || sim_random_chance(random, 0.5) ? 0 : grain * sim_random_below(random, 9),
            .word = (int)sim_random_below(random, WORDS + 1) - 1,
            .locks = locks && sim_random_chance(random, 0.5)};
}

/* The seed determines everything. Returns the number of events. */
static uint64_t simulate(uint64_t seed, bool no_parking)
{
    struct sim_options options = {
        .seed = seed, .time_limit = 400 * SIM_NS, .no_parking = no_parking};
    struct sim_random random;
    uint64_t events;
    int i, j;

    sim_random_init(&random, seed, "group", 0);
    sim_init(&options);
    memset(processes, 0, sizeof processes);
    messages_used = 0;
    process_count = 1 + (int)sim_random_below(&random, PROCESSES);
    grain = sim_random_chance(&random, 0.5) ? 10 : 1; /* 10: many things happen at equal times */
    for (i = 0; i < process_count; i++) {
        struct process *process = &processes[i];

        process->thread_count = 1 + (int)sim_random_below(&random, THREADS);
        for (j = 0; j < process->thread_count; j++) {
            struct thread *thread = &process->threads[j];

            thread->process = process;
            make_thread(thread, &random, seed, i * THREADS + j);
            thread->fiber =
                sim_fiber_start(follow, thread, "thread", grain * sim_random_below(&random, 9));
            if (j > 0)
                sim_fiber_share(thread->fiber, process->threads[0].fiber);
        }
    }
    for (i = 0; i < 60; i++)
        send(&processes[sim_random_below(&random, (uint64_t)process_count)],
             (int)sim_random_below(&random, QUEUES + 1),
             grain * sim_random_below(&random, 400000 / grain));
    sim_run();
    events = sim_core.events_fired;
    sim_fini();
    return events;
}

static void compare(const struct process *polled, const struct process *parked, uint64_t seed)
{
    int j;

    for (j = 0; j < polled->thread_count; j++)
        if (polled->threads[j].hash != parked->threads[j].hash ||
            polled->threads[j].things != parked->threads[j].things)
            fail_msg("seed %llu: thread %d did %llu things, not %llu", (unsigned long long)seed, j,
                     (unsigned long long)parked->threads[j].things,
                     (unsigned long long)polled->threads[j].things);
}

static void parking_of_threads_is_exact(void **state)
{
    static struct process polled[PROCESSES];
    uint64_t seed, things = 0, events = 0, events_polled = 0;
    int i, j;

    for (seed = 1; seed <= (uint64_t)test_seeds(200, 2000); seed++) {
        events_polled += simulate(seed, true);
        memcpy(polled, processes, sizeof polled);
        events += simulate(seed, false);
        for (i = 0; i < process_count; i++) {
            compare(&polled[i], &processes[i], seed);
            for (j = 0; j < polled[i].thread_count; j++)
                things += polled[i].threads[j].things;
        }
    }
    assert_true(things > 4000);
    assert_true(events < events_polled); /* some were parked */
}

/* ---- alone again ----------------------------------------------------------------------------- */

#define ARRIVALS 200

static uint32_t found;

static void take_all(void *arg)
{
    struct process *process = arg;
    int at;

    for (at = 0;; at = (at + 1) % QUEUES) {
        const struct sim_wait wait = {
            .text = "queue", .what = &process->queues[at], .id = (uint32_t)at + 1};

        if (sim_poll(&wait, not_empty, 7 * SIM_NS)) {
            process->queues[at]--;
            found++;
        }
    }
}

static void end_at_once(void *arg)
{
    (void)arg;
    sim_sleep_until(SIM_NS);
}

/* Something is due in the window of every poll, so each poll that is simulated costs a switch. */
static void tick(void *arg)
{
    (void)arg;
    for (;;)
        sim_sleep_until(sim_local_time() + 5 * SIM_NS);
}

/* How often fibers are switched while one takes ARRIVALS messages; `shares`: it had a thread. */
static uint64_t switches_of_one(bool shares)
{
    struct sim_options options = {.seed = 1, .time_limit = ARRIVALS * SIM_US};
    uint64_t switches;
    int i;

    sim_init(&options);
    memset(processes, 0, sizeof processes);
    messages_used = 0;
    found = 0;
    processes[0].thread_count = 1;
    processes[0].threads[0].fiber = sim_fiber_start(take_all, &processes[0], "one", 0);
    sim_fiber_start(tick, NULL, "ticks", 0);
    if (shares)
        sim_fiber_share(sim_fiber_start(end_at_once, NULL, "other", 0),
                        processes[0].threads[0].fiber);
    for (i = 0; i < ARRIVALS; i++)
        send(&processes[0], i % QUEUES, (sim_time_t)i * SIM_US + 500 * SIM_NS);
    sim_run();
    switches = sim_core.fiber_switches;
    sim_fini();
    assert_int_equal(found, ARRIVALS);
    return switches;
}

static void a_fiber_whose_threads_have_ended_is_parked_as_one_that_had_none(void **state)
{
    uint64_t alone = switches_of_one(false), shared = switches_of_one(true);

    (void)state;
    assert_in_range(shared, alone, alone + 40); /* once: polls until it is parked again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parking_of_threads_is_exact),
        cmocka_unit_test(a_fiber_whose_threads_have_ended_is_parked_as_one_that_had_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
