/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "campaign/drive.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "groups.h"
#include "pool.h"
#include "verdict/verdict.h"

#define RECORDS_MAX 1000u /* that wait to be written */
#define FIRST_FLUSH_MS 200 /* doubles with each write up to the drive's flush_ms */

struct state {
    struct campaign_drive *drive;
    uint64_t next, finished;
    GQueue retries; /* numbers of runs whose processes were killed, as pointers */
    GHashTable *attempts; /* run → how often it was killed */
    json_t *records; /* not yet written */
    int64_t flushed_us, pause_us;
    char *error;
};

/* ---- signals --------------------------------------------------------------------------------- */

static const int stops[] = {SIGINT, SIGTERM};
static struct sigaction previous[G_N_ELEMENTS(stops)];
static volatile sig_atomic_t caught;

static void note(int number)
{
    caught = number;
}

void campaign_signals_catch(void)
{
    struct sigaction action = {.sa_handler = note};
    size_t i;

    caught = 0;
    for (i = 0; i < G_N_ELEMENTS(stops); i++) {
        sigaction(stops[i], NULL, &previous[i]);
        if (previous[i].sa_handler != SIG_IGN)
            sigaction(stops[i], &action, NULL);
    }
}

void campaign_signals_restore(void)
{
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(stops); i++)
        sigaction(stops[i], &previous[i], NULL);
}

int campaign_signal(void)
{
    return caught;
}

/* ---- in the child ---------------------------------------------------------------------------- */

static double clock_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void put_text(json_t *record, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(record, key, json_stringn_nocheck(text, strlen(text)));
}

json_t *campaign_record(uint64_t number, const json_t *result, double wall_s, double cpu_s)
{
    json_int_t status = json_integer_value(json_object_get(result, "exit"));
    const json_t *metrics = json_object_get(result, "metrics");
    json_t *record =
        json_pack("{s:I,s:I,s:f,s:f,s:f}", "number", (json_int_t)number, "exit", status, "wall_s",
                  wall_s, "cpu_s", cpu_s, "finished", (double)g_get_real_time() / 1e6);
    char *text;

    put_text(record, "digest", json_string_value(json_object_get(result, "digest")));
    put_text(record, "host", g_get_host_name());
    if (json_object_get(result, "virtual_time_ps") != NULL)
        json_object_set(record, "virtual_time_ps", json_object_get(result, "virtual_time_ps"));
    if (metrics != NULL) {
        text = json_dumps(metrics, JSON_COMPACT);
        put_text(record, "metrics", text);
        free(text);
    }
    if (status != EXIT_HOLDS) {
        text = campaign_signature(result);
        put_text(record, "signature", text);
        put_text(record, "problem", campaign_problem(result));
        g_free(text);
    }
    return record;
}

static json_t *result_of(const struct campaign_run_description *description)
{
    const struct scenario_options options = {description->overrides, description->count};
    char *error = NULL;
    struct scenario *scenario = scenario_load(description->part->file, &options, &error);
    const struct cluster_options cluster = {.seed = scenario != NULL ? scenario->seed : 0};
    json_t *result = scenario != NULL ? report_run(scenario, &cluster, &error) : NULL;

    if (result == NULL)
        result = json_pack("{s:s,s:i}", "error", error, "exit", EXIT_BAD_INPUT);
    g_free(error);
    scenario_free(scenario);
    return result;
}

static json_t *run(void *arg, uint64_t number)
{
    const struct state *state = arg;
    const struct campaign_drive *drive = state->drive;
    double wall = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    struct campaign_run_description description;
    json_t *result, *record;

    campaign_signals_restore();
    if (drive->in_child != NULL)
        drive->in_child(drive->arg);
    campaign_plan_describe(drive->plan, number, &description);
    result = result_of(&description);
    record = campaign_record(number, result, clock_s(CLOCK_MONOTONIC) - wall,
                             clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    json_decref(result);
    return record;
}

/* ---- in the parent --------------------------------------------------------------------------- */

static bool next(void *arg, uint64_t *number)
{
    struct state *state = arg;
    const struct campaign_drive *drive = state->drive;

    if (!g_queue_is_empty(&state->retries)) {
        *number = GPOINTER_TO_SIZE(g_queue_pop_head(&state->retries));
        return true;
    }
    while (state->next < drive->plan->size && drive->done[state->next])
        state->next++;
    if (state->next == drive->plan->size)
        return false;
    *number = state->next++;
    return true;
}

/* Whether a process was killed from outside, and the run shall be tried again: a kernel short of
 * memory does that, and people do. */
static bool try_again(struct state *state, uint64_t number, const json_t *result)
{
    json_int_t by = json_integer_value(json_object_get(result, "signal"));
    gpointer key = GSIZE_TO_POINTER(number);
    size_t attempts;

    if (by != SIGKILL && by != SIGTERM && by != SIGINT)
        return false;
    attempts = GPOINTER_TO_SIZE(g_hash_table_lookup(state->attempts, key)) + 1;
    g_hash_table_insert(state->attempts, key, GSIZE_TO_POINTER(attempts));
    if (attempts == CAMPAIGN_ATTEMPTS)
        return false;
    g_queue_push_tail(&state->retries, key);
    return true;
}

static void done(void *arg, uint64_t number, json_t *result, FILE *output)
{
    struct state *state = arg;
    json_t *record = result;

    if (json_integer_value(json_object_get(result, "exit")) > 128) { /* interrupted: no verdict */
        json_object_set_new(result, "signal", json_integer(SIGINT));
        json_object_set_new(result, "exit", json_integer(EXIT_BROKEN));
        json_object_set_new(result, "error", json_string("the run was interrupted"));
    }
    if (try_again(state, number, result)) {
        json_decref(result);
        return;
    }
    if (json_object_get(result, "number") == NULL || json_object_get(result, "signal") != NULL) {
        record = campaign_record(number, result, 0, 0);
        json_decref(result);
    }
    json_array_append_new(state->records, record);
    state->drive->done[number] = 1;
    state->finished++;
}

static bool flush(struct state *state)
{
    struct campaign_drive *drive = state->drive;
    size_t count = json_array_size(state->records);

    state->flushed_us = g_get_monotonic_time();
    state->pause_us = MIN(2 * state->pause_us, (int64_t)drive->flush_ms * 1000);
    if (count == 0)
        return true;
    if (!drive->write(drive->arg, state->records, &state->error))
        return false;
    drive->written += count;
    json_array_clear(state->records);
    return true;
}

static bool tick(void *arg)
{
    struct state *state = arg;
    struct campaign_drive *drive = state->drive;

    if (caught != 0)
        return false;
    if (drive->progress != NULL)
        report_progress_runs(drive->progress, state->finished, drive->plan->size);
    if (json_array_size(state->records) < RECORDS_MAX &&
        g_get_monotonic_time() - state->flushed_us < state->pause_us)
        return true;
    return flush(state);
}

enum campaign_drive_end campaign_drive(struct campaign_drive *drive, char **error)
{
    struct state state = {.drive = drive,
                          .attempts = g_hash_table_new(NULL, NULL),
                          .records = json_array(),
                          .flushed_us = g_get_monotonic_time(),
                          .pause_us = FIRST_FLUSH_MS * 1000};
    const struct campaign_pool pool = {.parallel = drive->parallel,
                                       .arg = &state,
                                       .next = next,
                                       .run = run,
                                       .done = done,
                                       .tick = tick};
    bool all;
    uint64_t i;

    g_queue_init(&state.retries);
    for (i = 0; i < drive->plan->size; i++)
        state.finished += drive->done[i];
    campaign_signals_catch();
    all = campaign_pool_execute(&pool);
    if (state.error == NULL)
        flush(&state);
    campaign_signals_restore();
    g_queue_clear(&state.retries);
    g_hash_table_destroy(state.attempts);
    json_decref(state.records);
    if (state.error != NULL) {
        *error = state.error;
        return CAMPAIGN_DRIVE_FAILED;
    }
    return all ? CAMPAIGN_DRIVE_ALL : CAMPAIGN_DRIVE_INTERRUPTED;
}
