/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A rank from start to end, and its side of run/workload.h. */
#include "cluster/port_fiber.h"
#include "cluster/cluster.h"
#include "cluster/legacy.h"
#include "cluster/lnet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/outside.h"
#include "engine/trace.h"
#include "cluster/process_manager.h"

static void leave_gather(struct rank *rank);

/* ---- life ------------------------------------------------------------------------------------ */

/* The digest has the rank's number in its job's ranks on the node. */
static void trace_end(const struct rank *rank)
{
    struct sim_trace_point point = {.kind = SIM_TRACE_INSTANT,
                                    .track = SIM_TRACK_RANK,
                                    .node = rank->node,
                                    .index = rank->trace_index,
                                    .name = "end",
                                    .time = sim_now(),
                                    .value = (uint64_t)rank->exit_code};

    sim_digest_add(point.kind, point.track, point.node, rank->on_node, point.name, point.time, 0, 0,
                   point.value);
    sim_trace_write(&point);
}

void rank_left(struct rank *rank)
{
    struct job *job = rank->job;
    struct cluster *cluster = job->cluster;

    sim_progress();
    sim_timer_cancel(&rank->alarm);
    port_connections_end(rank);
    trace_end(rank);
    if (rank->exit_code != 0 && job->exit_code == 0)
        job->exit_code = rank->exit_code;
    rank->left_at = sim_now();
    job->ended = MAX(job->ended, sim_now());
    g_assert(job->running > 0 && cluster->ranks_running >= job->running);
    job->running--;
    cluster->ranks_running--;
    rank_gather_check(job);
    pmi_rank_left(rank);
    cluster_legacy_rank_left(rank);
    if (cluster->ranks_running == 0) {
        cluster_faults_disarm(cluster);
        cluster_lnet_end(cluster); /* routers would ping each other for ever */
        pmi_ranks_are_over(cluster);
    }
}

/* Records what a rank leaves behind that ends by itself and without a failure. */
static void check_left(struct rank *rank)
{
    if (rank->process == NULL || rank->exit_code != 0)
        return;
    port_process_ended(rank);
    aries_process_ended(rank->process);
}

static void rank_body(void *arg)
{
    struct rank *rank = arg;

    g_assert(rank->state == RANK_WAITING);
    rank->state = RANK_RUNNING;
    rank->exit_code = rank->app->workload->main(rank) & 0xff;
    sim_settle();
    if (port_process_releases(rank))
        port_process_freeze(rank);
    rank_threads_kill(rank);
    if (port_process_releases(rank))
        port_process_release(rank);
    rank->state = RANK_ENDED;
    check_left(rank);
    if (rank->process != NULL)
        aries_process_exit(rank->process);
    rank->process = NULL;
    rank_left(rank);
}

void rank_start(struct rank *rank, sim_time_t at)
{
    char name[96];

    g_assert(rank->fiber == NULL && rank->state == RANK_WAITING);
    snprintf(name, sizeof(name), "%s.%u", rank->job->name, rank->id);
    rank->fiber = sim_fiber_start(rank_body, rank, name, at);
    if (rank->fiber != NULL)
        rank_bind(rank, rank->fiber);
}

/* Nothing of the process runs any more, and the kernel has released what it had. */
static void finish_reap(struct sim_event *event)
{
    struct rank *rank = sim_container_of(event, struct rank, reap);

    if (rank->operations != NULL)
        rank->operations->end(rank);
    leave_gather(rank);
    if (rank->process != NULL)
        aries_process_exit(rank->process);
    rank->process = NULL;
    rank_left(rank);
}

static void release_body(void *arg)
{
    struct rank *rank = arg;

    port_process_release(rank);
    rank->reap.fire = finish_reap;
    sim_event_schedule(&rank->reap, sim_now());
}

/* Runs as an event of its own, because the process must live until the code that killed it has
 * returned. */
static void reap(struct sim_event *event)
{
    struct rank *rank = sim_container_of(event, struct rank, reap);
    struct sim_fiber *kernel = NULL;

    g_assert(rank->state == RANK_ENDED || rank->state == RANK_KILLED);
    if (rank_freeze(rank))
        return;
    rank_threads_kill(rank);
    if (rank->fiber != NULL)
        sim_fiber_kill(rank->fiber);
    if (rank->freezer != NULL)
        sim_fiber_kill(rank->freezer);
    if (port_process_releases(rank))
        kernel = sim_fiber_start(release_body, rank, "kernel", sim_now());
    if (kernel == NULL) {
        finish_reap(event);
        return;
    }
    rank->fiber = kernel;
    rank_bind(rank, kernel);
}

void rank_crash(struct rank *rank, const char *why, int exit_code)
{
    if (rank->state == RANK_ENDED || rank->state == RANK_KILLED)
        return;
    rank->state = RANK_KILLED;
    rank->exit_code = exit_code;
    rank->killed = g_intern_string(why != NULL ? why : "killed");
    rank->killed_at = sim_now();
    sim_trace_caller_killed(rank->fiber, rank->killed);
    rank->job->killed++;
    rank->reap.fire = reap;
    sim_event_schedule(&rank->reap, sim_now());
}

void rank_kill(struct rank *rank, const char *why)
{
    static const struct sim_wait dead = {.text = "nothing: it was killed"};

    if (rank->state == RANK_ENDED || rank->state == RANK_KILLED)
        return;
    rank_crash(rank, why, EXIT_KILLED);
    while (rank_runs_here(rank)) /* the rank killed itself: the call does not return */
        sim_wait_until(SIM_NEVER, &dead);
}

void rank_exit(struct rank *rank, int code)
{
    static const struct sim_wait over = {.text = "nothing: it has ended"};

    sim_settle();
    if (rank->state == RANK_RUNNING) {
        rank->exit_code = code & 0xff;
        rank->state = RANK_ENDED;
        check_left(rank);
        rank->reap.fire = reap;
        sim_event_schedule(&rank->reap, sim_now());
    }
    for (;;)
        sim_wait_until(SIM_NEVER, &over);
}

void rank_bind(struct rank *rank, struct sim_fiber *fiber)
{
    if (rank->fiber != NULL && fiber != rank->fiber)
        sim_fiber_share(fiber, rank->fiber);
    sim_fiber_set_memory(fiber, 1 + rank->job->first + rank->id);
    if (cluster_aries(rank->job->cluster) != NULL) {
        aries_process_bind(rank->process, fiber);
        return;
    }
    sim_fiber_set_program(fiber, rank); /* no uGNI process knows its fibers */
}

struct rank *rank_self(void)
{
    const struct aries_process *process = aries_process_self();
    const struct sim_fiber *fiber = sim_fiber_self();

    if (process != NULL)
        return aries_process_arg(process);
    return fiber != NULL ? sim_fiber_program(fiber) : NULL;
}

/* ---- who am I -------------------------------------------------------------------------------- */

uint32_t rank_id(const struct rank *rank)
{
    return rank->id;
}

uint32_t rank_size(const struct rank *rank)
{
    return rank->job->rank_count;
}

uint32_t rank_node(const struct rank *rank)
{
    return rank->node;
}

uint32_t rank_node_of(const struct rank *rank, uint32_t other)
{
    return rank->job->ranks[other].node;
}

uint32_t rank_on_node(const struct rank *rank)
{
    return rank->on_node;
}

uint8_t rank_ptag(const struct rank *rank)
{
    return rank->job->ptag;
}

uint32_t rank_cookie(const struct rank *rank)
{
    return rank->job->cookie;
}

struct sim_ledger_book *rank_raw_book(struct rank *rank)
{
    struct sim_ledger_book *book = &rank->job->cluster->raw_book;

    if (book->name == NULL)
        sim_ledger_book_register(book, "raw");
    return book;
}

/* ---- arguments ------------------------------------------------------------------------------- */

const struct workload *rank_workload(const struct rank *rank)
{
    return rank->app->workload;
}

const struct value *rank_values(const struct rank *rank)
{
    return rank->app->values;
}

/* ---- out of band ----------------------------------------------------------------------------- */

static void describe_gather(const void *what, char *buffer, size_t size)
{
    const struct job *job = what;

    snprintf(buffer, size, " of job %s: %u of %u ranks arrived", job->name, job->gather.arrived,
             job->rank_count - job->killed);
}

static void release(struct sim_event *event)
{
    struct job *job = sim_container_of(event, struct job, gather.release);
    struct gather *gather = &job->gather;
    uint32_t i;

    g_assert(gather->releasing && gather->arrived <= job->rank_count);
    gather->generation++;
    gather->arrived = 0;
    gather->releasing = false;
    sim_progress();
    for (i = 0; i < job->rank_count; i++) {
        struct rank *rank = &job->ranks[i];
        if (rank->gathering) {
            rank->gathering = false;
            if (rank->state == RANK_RUNNING)
                sim_wake(rank->gatherer);
        }
    }
}

/* All running ranks have arrived. Killed and ended ranks are not waited for. */
void rank_gather_check(struct job *job)
{
    struct gather *gather = &job->gather;

    if (gather->arrived == 0 || gather->releasing || gather->arrived < job->running)
        return;
    gather->releasing = true;
    gather->release.fire = release;
    sim_event_schedule(&gather->release, sim_now() + OUT_OF_BAND_PS);
}

/* A killed rank is not waited for any more. Its part of the exchange stays. */
static void leave_gather(struct rank *rank)
{
    if (rank->gathering && !rank->job->gather.releasing) {
        g_assert(rank->job->gather.arrived > 0);
        rank->job->gather.arrived--;
    }
    rank->gathering = false;
}

/* The first rank of a generation allocates the buffer for all parts. */
static void open_gather(struct rank *rank, size_t bytes, bool kept)
{
    struct job *job = rank->job;
    struct gather *gather = &job->gather;
    unsigned side = gather->generation & 1;
    size_t all = MAX(bytes * job->rank_count, 1);

    g_assert(gather->arrived == 0 && !gather->releasing);
    if (!gather->kept[side])
        g_free(gather->buffers[side]);
    sim_outside_begin();
    gather->buffers[side] = kept ? rank_alloc(rank, all) : g_malloc0(all);
    sim_outside_end();
    gather->kept[side] = kept;
    gather->bytes[side] = bytes;
    gather->filled[side] = false;
}

/*
 * Returns the parts of all ranks, in the order of ranks. They are valid until the exchange after
 * the next one; if they are kept, until the end. NULL: the ranks disagree on the size. The parts go
 * through PMI. The barrier is the harness's own and ideal, so that what is measured after it begins
 * at the same time on all ranks.
 */
static const uint8_t *meet(struct rank *rank, const void *mine, size_t bytes, bool kept)
{
    struct job *job = rank->job;
    struct gather *gather = &job->gather;
    const struct sim_wait wait = {.text = "the barrier", .describe = describe_gather, .what = job};
    uintptr_t outer = sim_call_begin("barrier");
    sim_time_t begin;
    uint64_t generation;
    unsigned side;
    bool fits;

    sim_settle();
    begin = sim_now();
    if (bytes != 0 && !pmi_publish(rank, mine, bytes, gather->generation))
        rank_fail(rank, "cannot publish %zu bytes: no process manager", bytes);
    generation = gather->generation;
    side = generation & 1;
    if (gather->arrived == 0)
        open_gather(rank, bytes, kept);
    fits = bytes == gather->bytes[side] && kept == gather->kept[side];
    if (fits && bytes != 0 && !gather->filled[side])
        pmi_collect(rank, generation, gather->buffers[side], bytes);
    gather->filled[side] = true;
    if (!fits)
        rank_fail(rank, "exchanges %zu bytes where others exchange %zu", bytes,
                  gather->bytes[side]);
    rank->gathering = true;
    rank->gatherer = sim_fiber_self();
    gather->arrived++;
    rank_gather_check(job);
    while (gather->generation == generation)
        sim_wait_until(SIM_NEVER, &wait);
    sim_trace(SIM_TRACE_SLICE, SIM_TRACK_RANK, rank->node, rank->on_node, "barrier", begin,
              sim_now() - begin, 0, bytes);
    sim_call_end(outer);
    return fits ? gather->buffers[side] : NULL;
}

void rank_barrier(struct rank *rank)
{
    meet(rank, NULL, 0, false);
}

void rank_allgather(struct rank *rank, const void *mine, void *all, size_t bytes)
{
    const uint8_t *parts = meet(rank, mine, bytes, false);

    if (parts != NULL)
        memcpy(all, parts, bytes * rank->job->rank_count);
}

const void *rank_exchange(struct rank *rank, const void *mine, size_t bytes)
{
    return meet(rank, mine, bytes, true);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

uint64_t rank_now(void)
{
    return sim_clock_read();
}

uint64_t rank_stamp(void)
{
    sim_idle_break(); /* the rank may have been parked and wake up late */
    return sim_local_time();
}

bool rank_delivered_bytes(const struct rank *rank, uint64_t *bytes)
{
    const struct aries_fabric *aries = cluster_aries(rank->job->cluster);

    *bytes = aries != NULL ? aries_delivered_bytes(aries, rank->node) : 0;
    return aries != NULL;
}

bool rank_has_faults(const struct rank *rank)
{
    return rank->job->cluster->scenario->faults.count > 0;
}

void rank_compute(uint64_t ps)
{
    sim_spend(ps);
}

struct spin {
    const volatile uint64_t *word;
    uint64_t value;
    const struct rank *rank; /* the rank's alarm ends the wait, too; NULL: only the alarm does */
};

static bool word_is_there(const void *arg)
{
    const struct spin *spin = arg;

    return *spin->word == spin->value || (spin->rank != NULL && spin->rank->rang);
}

void rank_spin_until(const volatile uint64_t *word, uint64_t value)
{
    struct spin spin = {word, value, NULL};

    aries_spin(word_is_there, &spin);
}

bool rank_spin_until_alarm(struct rank *rank, const volatile uint64_t *word, uint64_t value)
{
    struct spin spin = {word, value, rank};

    aries_spin(word_is_there, &spin);
    return *word == value;
}

uint64_t rank_random(struct rank *rank)
{
    sim_fiber_prefetch_add(NULL, &rank->random, sizeof(rank->random));
    return sim_random_next(&rank->random);
}

static void alarm_rings(struct sim_event *event)
{
    struct rank *rank = sim_container_of(event, struct rank, alarm.event);

    rank->rang = true;
    rank_wake(rank);
}

void rank_alarm(struct rank *rank, uint64_t ps)
{
    sim_idle_break();
    sim_settle();
    rank->rang = false;
    rank->alarm.event.fire = alarm_rings;
    if (ps == 0)
        sim_timer_cancel(&rank->alarm);
    else
        sim_timer_arm(&rank->alarm, sim_now() + ps);
}

bool rank_alarm_rang(const struct rank *rank)
{
    /* A rank whose clock is behind was woken by the alarm at a later time. */
    return sim_is_current() && rank->rang;
}

/* ---- what it measured ------------------------------------------------------------------------ */

static struct sim_metric *create_metric(const struct app *app, const char *name,
                                        enum sim_metric_unit unit, bool counter)
{
    char full[160];

    snprintf(full, sizeof(full), "%s.%s", app->scenario->name, name);
    return counter ? sim_metric_counter(full, unit) : sim_metric_histogram(full, unit);
}

static struct sim_metric *find_metric(struct rank *rank, const char *name,
                                      enum sim_metric_unit unit, bool counter)
{
    struct app *app = rank->app;
    struct sim_metric *metric;
    size_t i;

    for (i = 0; i < app->metric_count; i++) {
        if (app->metrics[i].name == name)
            return app->metrics[i].metric;
    }
    metric = create_metric(app, name, unit, counter);
    if (app->metric_count < G_N_ELEMENTS(app->metrics))
        app->metrics[app->metric_count++] = (struct job_metric){name, metric};
    return metric;
}

static void record(struct rank *rank, const char *name, enum sim_metric_unit unit, uint64_t value)
{
    struct sim_metric *metric = find_metric(rank, name, unit, false);

    if (metric->type == SIM_METRIC_HISTOGRAM)
        sim_histogram_record(metric->histogram, value);
    else
        rank_fail(rank, "metric %s is a counter and a histogram", name);
}

static uint64_t per_second(uint64_t amount, uint64_t ps)
{
    unsigned __int128 rate = (unsigned __int128)amount * SIM_S / MAX(ps, 1u);

    return rate > INT64_MAX ? INT64_MAX : (uint64_t)rate;
}

void rank_record_latency(struct rank *rank, const char *metric, uint64_t ps)
{
    record(rank, metric, SIM_METRIC_PS, ps);
}

void rank_record_bandwidth(struct rank *rank, const char *metric, uint64_t bytes, uint64_t ps)
{
    record(rank, metric, SIM_METRIC_BYTES_PER_S, per_second(bytes, ps));
}

void rank_record_rate(struct rank *rank, const char *metric, uint64_t operations, uint64_t ps)
{
    record(rank, metric, SIM_METRIC_PER_S, per_second(operations, ps));
}

void rank_count(struct rank *rank, const char *metric, uint64_t add)
{
    struct sim_metric *found = find_metric(rank, metric, SIM_METRIC_COUNT, true);

    if (found->type == SIM_METRIC_COUNTER)
        found->counter += add;
    else
        rank_fail(rank, "metric %s is a counter and a histogram", metric);
}

void rank_progress(struct rank *rank)
{
    rank->job->progress++;
    sim_progress();
}

int rank_fail(struct rank *rank, const char *format, ...)
{
    struct job *job = rank->job;
    va_list arguments;
    char *text;

    if (job->failure_count++ < FAILURE_TEXTS_MAX) {
        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        job->failures[job->failure_count - 1] = g_strdup_printf("rank %u: %s", rank->id, text);
        job->failed[job->failure_count - 1].rank = rank->id;
        job->failed[job->failure_count - 1].at = sim_local_time();
        g_free(text);
    }
    return -1;
}
