/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "campaign_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "campaign/page.h"
#include "campaign/query.h"
#include "campaign/slurm.h"
#include "cluster/libfabric.h"
#include "say.h"
#include "verdict/verdict.h"

#define LOCAL_FLUSH_MS 3000
#define POLL_US 500000 /* for batches of Slurm's tasks */
#define SQUEUE_MOST_S 15.0
#define SQUEUE_FAILURES 20 /* in a row */

/* A campaign that runs. */
struct session {
    const struct campaign_options *options;
    struct campaign_plan *plan;
    struct campaign_version version;
    struct campaign_store store;
    uint8_t *done;
    struct progress progress;
};

/* ---- the end of a campaign ------------------------------------------------------------------- */

static double processor_s(void)
{
    struct rusage own, children;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
                    children.ru_stime.tv_sec) +
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
                    children.ru_stime.tv_usec) /
               1e6;
}

static int exit_of(const struct campaign_counts *counts)
{
    if (counts->done == counts->total && counts->holds == counts->total)
        return EXIT_HOLDS;
    return counts->done == counts->total && counts->refused == counts->total ? EXIT_BAD_INPUT
                                                                             : EXIT_BROKEN;
}

static int report(struct session *session)
{
    struct campaign_counts counts;
    json_t *failures = NULL, *status = NULL;
    char *error = NULL;
    GString *text;
    int code;

    if (!campaign_counts(&session->store, &counts, &error) ||
        (failures = campaign_failures_json(&session->store, session->plan->file, &error)) == NULL ||
        (status = campaign_status_json(&session->store, &error)) == NULL) {
        json_decref(failures);
        return run_refuse(error);
    }
    if (session->options->page != NULL &&
        !campaign_page_write(&session->store, session->options->page, session->plan->file,
                             session->version.program, &error)) {
        json_decref(failures);
        json_decref(status);
        return run_refuse(error);
    }
    code = exit_of(&counts);
    text = g_string_new(NULL);
    json_object_set_new(status, "running", json_false());
    if (code != EXIT_HOLDS || !session->options->quiet) {
        if (json_array_size(failures) != 0)
            campaign_failures_print(failures, text);
        campaign_status_print(status, text);
        g_string_append_printf(text, "results: %s\n", session->store.path);
    }
    json_decref(failures);
    json_decref(status);
    return run_say(text, code);
}

static int interrupted(const struct session *session, const char *how)
{
    int number = campaign_signal();

    fprintf(stderr, "%s: interrupted; the same command continues%s\n", session->plan->file, how);
    return 128 + (number != 0 ? number : 2);
}

/* ---- on this machine ------------------------------------------------------------------------- */

static bool write_records(void *arg, const json_t *records, char **error)
{
    struct session *session = arg;
    size_t added;

    return campaign_store_add(&session->store, session->plan, records, &added, error);
}

static void in_child(void *arg)
{
    struct session *session = arg;

    campaign_store_forget(&session->store);
}

/* libfabric starts once, before the processes of the runs are forked. */
static bool start_libfabric(const struct campaign_plan *plan, char **error)
{
    size_t i;

    for (i = 0; i < plan->part_count; i++)
        if (!cluster_libfabric_start_for(plan->parts[i].scenario, error))
            return false;
    return true;
}

static unsigned processes_of(const struct campaign_options *options)
{
    return options->processes != 0 ? (unsigned)options->processes
                                   : MIN(g_get_num_processors(), 256u);
}

static int run_here(struct session *session)
{
    struct campaign_drive drive = {.plan = session->plan,
                                   .done = session->done,
                                   .parallel = processes_of(session->options),
                                   .flush_ms = LOCAL_FLUSH_MS,
                                   .progress = &session->progress,
                                   .write = write_records,
                                   .in_child = in_child,
                                   .arg = session};
    double before = processor_s();
    enum campaign_drive_end end;
    char *error = NULL;

    if (!start_libfabric(session->plan, &error))
        return run_refuse(error);
    report_progress_begin(&session->progress, isatty(STDERR_FILENO) && !session->options->quiet);
    end = campaign_drive(&drive, &error);
    report_progress_end(&session->progress);
    if (end == CAMPAIGN_DRIVE_FAILED)
        return run_refuse(error);
    if (drive.written != 0 &&
        !campaign_store_session(&session->store, drive.parallel, processor_s() - before, &error))
        return run_refuse(error);
    return end == CAMPAIGN_DRIVE_ALL ? report(session) : interrupted(session, "");
}

/* ---- under Slurm ----------------------------------------------------------------------------- */

static bool collect(struct session *session, char **error)
{
    size_t added;

    return campaign_slurm_collect(session->plan, &session->store, &session->version,
                                  session->options->mix, &added, error) &&
           campaign_store_done(&session->store, session->done, session->plan->size, error);
}

static uint64_t count_done(const struct session *session)
{
    uint64_t count = 0, i;

    for (i = 0; i < session->plan->size; i++)
        count += session->done[i];
    return count;
}

/* Asks Slurm, at first often, later every 15 s. False: *error. *active 0: no task is left. */
static bool ask_slurm(struct session *session, uint64_t *active, char **error)
{
    static double pause_s = 0.5;
    static int64_t asked_us;
    static unsigned failures;
    char *what = NULL;

    if ((double)(g_get_monotonic_time() - asked_us) < pause_s * 1e6)
        return true;
    asked_us = g_get_monotonic_time();
    pause_s = MIN(pause_s * 1.3, SQUEUE_MOST_S);
    if (campaign_slurm_active(&session->store, active, &what)) {
        failures = 0;
        return true;
    }
    if (++failures == SQUEUE_FAILURES) { /* a controller may be restarted in between */
        *error = what;
        return false;
    }
    g_free(what);
    return true;
}

/* Until all runs have results, no task is left, or a signal comes. */
static int wait_for_slurm(struct session *session)
{
    uint64_t active = 1, done;
    char *error = NULL;
    bool ok = true;

    campaign_signals_catch();
    report_progress_begin(&session->progress, isatty(STDERR_FILENO) && !session->options->quiet);
    while ((ok = collect(session, &error)) && campaign_signal() == 0 &&
           (done = count_done(session)) < session->plan->size && active != 0) {
        report_progress_runs(&session->progress, done, session->plan->size);
        g_usleep(POLL_US);
        ok = ask_slurm(session, &active, &error);
        if (!ok)
            break;
    }
    report_progress_end(&session->progress);
    campaign_signals_restore();
    if (ok && active == 0 && campaign_signal() == 0)
        ok = collect(session, &error); /* what came between the last two looks */
    if (!ok)
        return run_refuse(error);
    done = count_done(session);
    if (done < session->plan->size && campaign_signal() != 0)
        return interrupted(session, ", and Slurm's jobs go on (scancel ends them)");
    if (done < session->plan->size) {
        fprintf(stderr,
                "%s: %" PRIu64 " runs have no result, and no task of Slurm is left: see %s; the "
                "same command submits them again\n",
                session->plan->file, session->plan->size - done, session->store.folder);
        return EXIT_BROKEN;
    }
    campaign_slurm_clear(&session->store);
    return report(session);
}

static int run_with_slurm(struct session *session)
{
    const struct campaign_options *options = session->options;
    const struct campaign_slurm slurm = {
        .chunk = (uint64_t)options->chunk,
        .processes = options->processes != 0 ? (unsigned)options->processes : 1,
        .partition = options->partition,
        .options = options->sbatch};
    uint64_t active = 0, tasks = 0;
    char *error = NULL;

    if (!collect(session, &error) || !campaign_slurm_active(&session->store, &active, &error))
        return run_refuse(error);
    if (active == 0 && !campaign_slurm_submit(&slurm, session->plan, &session->store, session->done,
                                              &tasks, &error))
        return run_refuse(error);
    if (!options->quiet)
        fprintf(stderr, "%s: %" PRIu64 " tasks %s\n", session->plan->file,
                active != 0 ? active : tasks,
                active != 0 ? "of an earlier command are in Slurm's queue" : "submitted");
    return options->no_wait ? EXIT_HOLDS : wait_for_slurm(session);
}

static int run_task(const struct session *session)
{
    const char *task = g_getenv("SLURM_ARRAY_TASK_ID");
    uint64_t index = (uint64_t)session->options->task_base +
                     (task != NULL ? g_ascii_strtoull(task, NULL, 10) : 0);
    char *error = NULL;
    int status;

    if (!start_libfabric(session->plan, &error))
        return run_refuse(error);
    status = campaign_slurm_task(session->plan, &session->version, session->options->task, index,
                                 processes_of(session->options), &error);
    return error != NULL ? run_refuse(error) : status;
}

/* ---- sim-run campaign FILE ------------------------------------------------------------------- */

static enum campaign_store_mode mode_of(const struct campaign_options *options)
{
    return options->restart ? CAMPAIGN_STORE_RESTART
           : options->mix   ? CAMPAIGN_STORE_MIX
                            : CAMPAIGN_STORE_CONTINUE;
}

static int run_store(struct session *session, const char *results)
{
    char *error = NULL;
    int status;

    session->done = g_malloc0(MAX(session->plan->size, 1));
    if (!campaign_store_create(&session->store, results, session->plan, &session->version,
                               mode_of(session->options), &error)) {
        status = run_refuse(error);
    } else {
        if (session->options->restart)
            campaign_slurm_clear(&session->store);
        if (!campaign_store_done(&session->store, session->done, session->plan->size, &error) ||
            !collect(session, &error))
            status = run_refuse(error);
        else
            status = session->options->slurm ? run_with_slurm(session) : run_here(session);
    }
    campaign_store_close(&session->store);
    g_free(session->done);
    return status;
}

static int checked(const struct campaign_plan *plan)
{
    GString *text = g_string_new(NULL);

    g_string_printf(text, "%s: valid: %" PRIu64 " runs of %zu scenarios\n", plan->file, plan->size,
                    plan->part_count);
    return run_say(text, EXIT_HOLDS);
}

int campaign_session_run(const struct campaign_options *options, const char *file,
                         const char *program)
{
    struct session session = {.options = options, .store = {.lock = -1}};
    char *error = NULL, *results = NULL;
    int status;

    session.plan = campaign_plan_load(file, &error);
    if (session.plan == NULL)
        return run_refuse(error);
    if (options->check) {
        status = checked(session.plan);
    } else if (!campaign_version_find(&session.version, program, &error)) {
        status = run_refuse(error);
    } else if (options->task != NULL) {
        status = run_task(&session);
    } else {
        results = campaign_results_path(file, &error);
        status = results != NULL ? run_store(&session, results) : run_refuse(error);
    }
    g_free(results);
    g_free(session.version.digest);
    campaign_plan_free(session.plan);
    return status;
}

/* ---- for status, results and failures -------------------------------------------------------- */

void campaign_session_collect(const char *file, const char *results, const char *program)
{
    const struct campaign_options none = {0};
    struct session session = {.options = &none, .store = {.lock = -1}};
    char *error = NULL;

    if (strcmp(file, results) == 0 || !campaign_slurm_has_batches(results) ||
        campaign_store_is_written(results))
        return;
    session.plan = campaign_plan_load(file, &error);
    if (session.plan != NULL && campaign_version_find(&session.version, program, &error)) {
        session.done = g_malloc0(MAX(session.plan->size, 1));
        if (campaign_store_create(&session.store, results, session.plan, &session.version,
                                  CAMPAIGN_STORE_CONTINUE, &error))
            collect(&session, &error);
        campaign_store_close(&session.store);
        g_free(session.done);
    }
    g_free(session.version.digest);
    campaign_plan_free(session.plan);
    g_free(error);
}
