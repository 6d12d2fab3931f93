/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "control.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "forward.h"
#include "input.h"
#include "root_job.h"
#include "plan.h"
#include "signals.h"
#include "status.h"

#define KILL_AFTER_MS 2000
/* After SIGTERM to pmrun, all together less than a second: */
#define TERM_MS 400 /* until SIGKILL */
#define FORCED_MS 250 /* until it does not wait for reports any more */
#define LAST_OUTPUT_MS 50 /* for output that nobody reads */
#define PROGRESS_RANKS 128 /* smaller jobs are there before it can be read */

struct pmrun_control {
    struct pmrun_control_config config;
    struct pmrun_output *output;
    struct pmrun_agent *agent; /* NULL: pmrun serves no node */
    struct pmrun_input *input;
    struct pmrun_signals *signals;
    GHashTable *jobs; /* id → struct pmrun_root_job */
    GPtrArray *over; /* jobs that have ended, for --print-all-exitcodes */
    uv_timer_t kill, timeout;
    int status;
    unsigned interrupts;
    gboolean killing, progress, finished;
    gboolean terminated, forced, abandoned; /* see terminate() */
};

static const struct pmrun_options *options_of(const struct pmrun_control *control)
{
    return control->config.options;
}

static const char *host_of(const struct pmrun_control *control, uint32_t node)
{
    return ((const struct pmrun_host *)g_ptr_array_index(control->config.hosts, node))->name;
}

/* ---- what it says -----------------------------------------------------------------------------
 */

static void end_progress(struct pmrun_control *control)
{
    if (control->progress && write(2, "\r\033[K", 4) < 0)
        control->progress = FALSE;
    control->progress = FALSE;
}

static void say(struct pmrun_control *control, const char *format, va_list arguments)
{
    char *text = g_strdup_vprintf(format, arguments);

    end_progress(control);
    pmrun_output_message(control->output, text);
    g_free(text);
}

void pmrun_control_print(struct pmrun_control *control, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(control, format, arguments);
    va_end(arguments);
}

void pmrun_control_print_verbose(struct pmrun_control *control, const char *format, ...)
{
    va_list arguments;

    if (!options_of(control)->verbose)
        return;
    va_start(arguments, format);
    say(control, format, arguments);
    va_end(arguments);
}

static void show_progress(struct pmrun_control *control, const struct pmrun_root_job *job)
{
    char line[80];
    int length;

    if (job->size < PROGRESS_RANKS || job->spawned || !isatty(2))
        return;
    length = snprintf(line, sizeof(line), "\rpmrun: %u of %u processes started", job->reported,
                      job->size);
    control->progress = write(2, line, (size_t)length) == length;
    if (job->reported == job->size)
        end_progress(control);
}

/* ---- all jobs ---------------------------------------------------------------------------------
 */

static void take_status(struct pmrun_control *control, struct pmrun_root_job *job, int status)
{
    job->status = job->has_status
                      ? pmrun_status_combine(options_of(control)->exit_rule, job->status, status)
                      : status;
    job->has_status = TRUE;
}

static void send_signal(struct pmrun_control *control, const char *job, uint32_t rank, int signal)
{
    struct pmi2_server *server = control->config.io->server;
    GVariant *message = g_variant_ref_sink(g_variant_new(PMRUN_SIGNAL_TYPE, job, rank, signal));

    pmi2_server_send_down(server, PMI2_NO_NODE, PMRUN_MESSAGE_SIGNAL, g_variant_get_data(message),
                          g_variant_get_size(message));
    g_variant_unref(message);
    if (control->agent != NULL)
        pmrun_agent_signal(control->agent, job, rank, signal);
}

static void signal_all(struct pmrun_control *control, int signal)
{
    GHashTableIter at;
    gpointer id;

    g_hash_table_iter_init(&at, control->jobs);
    while (g_hash_table_iter_next(&at, &id, NULL))
        send_signal(control, id, PMRUN_NO_RANK, signal);
}

static void kill_all(uv_timer_t *timer)
{
    struct pmrun_control *control = timer->data;

    pmrun_control_print_verbose(control, "processes have not ended by SIGTERM; sending SIGKILL");
    signal_all(control, SIGKILL);
}

static void end_jobs(struct pmrun_control *control)
{
    GHashTableIter at;
    gpointer job;

    g_hash_table_iter_init(&at, control->jobs);
    while (g_hash_table_iter_next(&at, NULL, &job))
        ((struct pmrun_root_job *)job)->ending = TRUE;
    if (control->killing)
        return;
    control->killing = TRUE;
    signal_all(control, SIGTERM);
    signal_all(control, SIGCONT); /* the stopped ones shall see it, too */
    if (!control->terminated) /* else they have less time */
        uv_timer_start(&control->kill, kill_all, KILL_AFTER_MS, KILL_AFTER_MS);
}

void pmrun_control_end(struct pmrun_control *control, int status, const char *why)
{
    if (why != NULL)
        pmrun_control_print(control, "%s", why);
    if (!control->killing)
        control->status =
            pmrun_status_combine(options_of(control)->exit_rule, control->status, status);
    end_jobs(control);
}

static void say_exit_codes(struct pmrun_control *control)
{
    guint i;

    for (i = 0; i < control->over->len; i++) {
        const struct pmrun_root_job *job = g_ptr_array_index(control->over, i);
        char *text = pmrun_status_list(job->statuses, job->size);

        pmrun_control_print(control, "job %s: ranks %s", job->id, text);
        g_free(text);
    }
}

static void finish(struct pmrun_control *control)
{
    if (control->finished)
        return;
    control->finished = TRUE;
    if (options_of(control)->print_exitcodes)
        say_exit_codes(control);
    uv_stop(control->config.io->loop);
}

void pmrun_control_fail(struct pmrun_control *control, int status)
{
    control->status = status;
    end_jobs(control);
    if (g_hash_table_size(control->jobs) == 0)
        finish(control);
}

/*
 * SIGTERM to pmrun: passed on; after TERM_MS what is left is killed; after FORCED_MS pmrun ends
 * without the reports of nodes that do not answer. They kill their processes when they see the
 * connection break.
 */
static void term_over(uv_timer_t *timer)
{
    struct pmrun_control *control = timer->data;

    if (control->forced) {
        pmrun_control_print(control, "nodes do not say that their processes have ended; leaving");
        control->abandoned = TRUE;
        finish(control);
        return;
    }
    control->forced = TRUE;
    pmrun_control_end(control,
                      pmrun_status_code(options_of(control)->exit_rule, SIGTERM, PMI2_RANK_RUNNING),
                      "processes have not ended by SIGTERM; sending SIGKILL");
    signal_all(control, SIGKILL);
}

static void terminate(struct pmrun_control *control)
{
    signal_all(control, SIGTERM);
    signal_all(control, SIGCONT);
    if (control->terminated)
        return;
    control->terminated = TRUE;
    uv_timer_start(&control->kill, term_over, TERM_MS, FORCED_MS);
}

/* ---- the ends of ranks and jobs ---------------------------------------------------------------
 */

static void answer_spawn(struct pmrun_control *control, struct pmrun_root_job *job)
{
    static const char missing[] = "program_not_started";
    uint64_t spawn = job->spawn;

    if (spawn == 0 || job->reported < job->size || (job->failed != 0 && job->ended < job->started))
        return;
    job->spawn = 0;
    pmi2_server_spawn_done(control->config.io->server, spawn, job->failed != 0 ? NULL : job->id,
                           job->failed != 0 ? job->errors : NULL,
                           job->failed != 0 ? missing : NULL);
}

static void check_job(struct pmrun_control *control, struct pmrun_root_job *job)
{
    answer_spawn(control, job);
    if (job->reported < job->size || job->ended < job->started)
        return;
    pmrun_control_print_verbose(control, "job %s has ended", job->id);
    if (!(job->spawned && job->failed != 0)) /* its spawner was told */
        control->status =
            pmrun_status_combine(options_of(control)->exit_rule, control->status, job->status);
    g_hash_table_steal(control->jobs, job->id);
    g_ptr_array_add(control->over, job);
    pmrun_names_job_end(control->config.names, job->id);
    pmi2_server_job_end(control->config.io->server, job->id);
    if (g_hash_table_size(control->jobs) == 0)
        finish(control);
}

static void started(void *owner, const char *id, const struct pmrun_agent_start *starts,
                    guint count)
{
    struct pmrun_control *control = owner;
    struct pmrun_root_job *job = g_hash_table_lookup(control->jobs, id);
    guint i;

    if (job == NULL)
        return;
    for (i = 0; i < count; i++) {
        const struct pmrun_agent_start *start = &starts[i];
        uint32_t rank = start->rank;

        if (rank >= job->size || job->pids[rank] != 0)
            continue;
        job->pids[rank] = start->pid;
        job->reported++;
        if (start->pid > 0) {
            job->started++;
            pmrun_input_begin(control->input, id, rank);
            pmrun_control_print_verbose(control, "rank %u of job %s: pid %d on %s", rank, id,
                                        (int)start->pid, host_of(control, job->node_of[rank]));
            continue;
        }
        job->is_over[rank] = TRUE;
        job->errors[rank] = start->error;
        if (job->failed != 0 || start->error == ECANCELED)
            continue;
        job->failed = start->error;
        pmrun_control_print(control, "cannot start %s (rank %u of job %s, on %s)%s: %s",
                            pmrun_root_job_program(job, rank), rank, id,
                            host_of(control, job->node_of[rank]),
                            strcmp(start->step, "wdir") == 0   ? ", working directory"
                            : strcmp(start->step, "fork") == 0 ? ", resources"
                                                               : "",
                            g_strerror(start->error));
        take_status(control, job,
                    pmrun_status_not_started(options_of(control)->exit_rule, start->error));
        job->ending = TRUE;
        send_signal(control, id, PMRUN_NO_RANK, SIGKILL);
    }
    show_progress(control, job);
    check_job(control, job);
}

static void bad_end(struct pmrun_control *control, struct pmrun_root_job *job, uint32_t rank,
                    int status, enum pmrun_end end)
{
    gboolean keep = options_of(control)->keep_survivors;
    char *text = pmrun_status_text(status);

    pmrun_control_print(control, "rank %u (pid %d, node %s) %s%s; %s job %s", rank,
                        (int)job->pids[rank], host_of(control, job->node_of[rank]),
                        end == PMRUN_END_SIGNAL ? text
                        : status == 0           ? "exited"
                                                : "ended with ",
                        end == PMRUN_END_SIGNAL ? ""
                        : status == 0           ? " without having finalized PMI"
                                                : text,
                        keep ? "the others go on in" : "ending", job->id);
    g_free(text);
    if (keep)
        send_signal(control, job->id, PMRUN_NO_RANK, SIGUSR1);
    else
        end_jobs(control);
}

static void ended(void *owner, const char *id, uint32_t rank, pid_t pid, int status,
                  enum pmi2_rank_state state)
{
    struct pmrun_control *control = owner;
    struct pmrun_root_job *job = g_hash_table_lookup(control->jobs, id);
    enum pmrun_end end = pmrun_status_end(status, state);

    if (job == NULL || rank >= job->size || job->pids[rank] != pid || job->is_over[rank])
        return;
    job->is_over[rank] = TRUE;
    job->statuses[rank] = status;
    job->ended++;
    pmrun_control_print_verbose(control, "rank %u of job %s (pid %d) has ended", rank, id,
                                (int)pid);
    if (!job->ending) {
        take_status(control, job, pmrun_status_code(options_of(control)->exit_rule, status, state));
        if (end != PMRUN_END_NORMAL)
            bad_end(control, job, rank, status, end);
    }
    check_job(control, job);
}

static void aborted(struct pmrun_control *control, const struct pmi2_action *action)
{
    struct pmrun_root_job *job = g_hash_table_lookup(control->jobs, action->job);
    uint32_t rank = action->rank;

    if (job == NULL || job->ending)
        return;
    if (rank >= job->size || action->code < 0) { /* what becomes of its process decides */
        pmrun_control_print_verbose(control, "job %s: rank %d: %s", job->id, (int)rank,
                                    action->text);
        return;
    }
    pmrun_control_print(control, "rank %u (pid %d, node %s) aborted job %s%s%s", rank,
                        (int)job->pids[rank], host_of(control, job->node_of[rank]), job->id,
                        *action->text != '\0' ? ": " : "", action->text);
    take_status(control, job, action->code);
    end_jobs(control);
}

void pmrun_control_lost(struct pmrun_control *control, uint32_t first, uint32_t last)
{
    GHashTableIter at;
    gpointer value;
    GPtrArray *jobs = g_ptr_array_new();
    guint i;
    uint32_t rank;

    pmrun_control_print(control, "the connection to node %s%s%s is lost; ending all jobs",
                        host_of(control, first),
                        last > first + 1 ? " and those behind it up to " : "",
                        last > first + 1 ? host_of(control, last - 1) : "");
    pmrun_control_end(control, 255, NULL);
    g_hash_table_iter_init(&at, control->jobs);
    while (g_hash_table_iter_next(&at, NULL, &value))
        g_ptr_array_add(jobs, value);
    for (i = 0; i < jobs->len; i++) {
        struct pmrun_root_job *job = g_ptr_array_index(jobs, i);

        for (rank = 0; rank < job->size; rank++) {
            if (job->node_of[rank] < first || job->node_of[rank] >= last || job->is_over[rank])
                continue;
            job->is_over[rank] = TRUE;
            if (job->pids[rank] == 0) {
                job->reported++;
                job->pids[rank] = -1;
                job->errors[rank] = EHOSTDOWN;
                job->failed = job->failed != 0 ? job->failed : EHOSTDOWN;
            } else {
                job->ended++;
                job->statuses[rank] = SIGKILL;
            }
        }
        check_job(control, job);
    }
    g_ptr_array_unref(jobs);
}

/* ---- what the nodes tell ----------------------------------------------------------------------
 */

static void output_came(void *owner, const char *id, uint32_t rank, int stream, const char *bytes,
                        gsize length)
{
    struct pmrun_control *control = owner;
    const struct pmrun_root_job *job = g_hash_table_lookup(control->jobs, id);
    struct pmrun_output_origin origin = {.job = id, .rank = rank};

    if (job == NULL || rank >= job->size || stream < 0 || stream > 1)
        return;
    origin.node = job->node_of[rank];
    origin.host = host_of(control, origin.node);
    end_progress(control);
    pmrun_output_write(control->output, &origin, stream, bytes, length,
                       job->size > 1 || g_hash_table_size(control->jobs) > 1);
}

static void input_taken(void *owner, const char *job)
{
    struct pmrun_control *control = owner;

    (void)job;
    pmrun_input_resume(control->input);
}

static void warning(void *owner, const char *text)
{
    pmrun_control_print(owner, "%s", text);
}

static const struct pmrun_agent_events events = {started, ended, output_came, input_taken, warning};

static void message(struct pmrun_control *control, const struct pmi2_action *action)
{
    GVariant *nodes;
    guint32 first, last;

    if (action->message == PMRUN_MESSAGE_LOST) {
        nodes = pmrun_message_read(PMRUN_LOST_TYPE, action->bytes, action->length);
        if (nodes == NULL)
            return;
        g_variant_get(nodes, PMRUN_LOST_TYPE, &first, &last);
        g_variant_unref(nodes);
        if (first < last && last <= control->config.hosts->len)
            pmrun_control_lost(control, first, last);
        return;
    }
    pmrun_forward_deliver(action->message, action->bytes, action->length, &events, control);
}

static void output_waits(void *owner, gboolean waits)
{
    struct pmrun_control *control = owner;
    GVariant *text = g_variant_ref_sink(g_variant_new(PMRUN_PAUSE_TYPE, waits));

    pmi2_server_send_down(control->config.io->server, PMI2_NO_NODE, PMRUN_MESSAGE_PAUSE,
                          g_variant_get_data(text), g_variant_get_size(text));
    g_variant_unref(text);
    if (control->agent != NULL)
        pmrun_agent_pause(control->agent, waits);
}

static void output_broken(void *owner)
{
    pmrun_control_end(owner, SIGPIPE, NULL); /* as a process whose reader has gone ends */
}

/* ---- signals and time -------------------------------------------------------------------------
 */

static void on_timeout(uv_timer_t *timer)
{
    struct pmrun_control *control = timer->data;
    char *text = g_strdup_printf("the time limit of %g s is reached; ending all jobs",
                                 options_of(control)->timeout);

    pmrun_control_end(control, 255, text);
    g_free(text);
}

static void on_signal(void *owner, int signal)
{
    struct pmrun_control *control = owner;

    if (g_hash_table_size(control->jobs) == 0 && signal != SIGTSTP && signal != SIGCONT) {
        pmrun_control_fail(control, signal); /* hosts are still being connected */
        return;
    }
    if (signal == SIGINT && ++control->interrupts > 1) {
        pmrun_control_end(control, 255, "interrupted again; ending all jobs");
        return;
    }
    if (signal == SIGTERM) {
        terminate(control);
        return;
    }
    if (signal == SIGINT)
        pmrun_control_print(control, "interrupt sent to all processes; once more to end them");
    if (signal == SIGTSTP) {
        signal_all(control, SIGSTOP);
        raise(SIGSTOP);
        signal_all(control, SIGCONT);
        pmrun_input_resume(control->input);
        return;
    }
    signal_all(control, signal);
}

/* ---- start ------------------------------------------------------------------------------------
 */

static void give_input(void *owner, const char *job, uint32_t rank, const void *bytes, gsize length)
{
    struct pmrun_control *control = owner;
    struct pmrun_root_job *of = g_hash_table_lookup(control->jobs, job);
    GVariant *text;

    if (of == NULL)
        return;
    if (control->agent != NULL && of->node_of[rank] == control->config.own_node) {
        pmrun_agent_input(control->agent, job, rank, bytes, length);
        return;
    }
    text = g_variant_ref_sink(g_variant_new(
        "(su@ay)", job, rank, g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, length, 1)));
    pmi2_server_send_down(control->config.io->server, of->node_of[rank], PMRUN_MESSAGE_INPUT,
                          g_variant_get_data(text), g_variant_get_size(text));
    g_variant_unref(text);
}

/* Takes `launch`. NULL: it cannot be; said already if it is the first. */
static struct pmrun_root_job *add_job(struct pmrun_control *control, struct pmrun_launch *launch,
                                      struct pmi2_job_info *info)
{
    GBytes *bytes = pmrun_launch_pack(launch);
    GPtrArray *names = g_ptr_array_new();
    struct pmrun_root_job *job = NULL;
    const char *id;
    guint i;

    info->launch = g_bytes_get_data(bytes, &info->launch_bytes);
    for (i = 0; i < launch->programs->len; i++)
        g_ptr_array_add(names,
                        ((struct pmrun_program *)g_ptr_array_index(launch->programs, i))->argv[0]);
    g_ptr_array_add(names, NULL);
    id = pmi2_server_job_add(control->config.io->server, info);
    if (id != NULL) {
        job = pmrun_root_job_new(info, (char **)names->pdata);
        job->id = g_strdup(id);
        g_hash_table_insert(control->jobs, job->id, job);
    }
    g_ptr_array_unref(names);
    g_bytes_unref(bytes);
    pmrun_launch_free(launch);
    return job;
}

static int64_t universe_of(const struct pmrun_control *control, uint32_t size)
{
    int64_t universe = options_of(control)->universe;

    if (universe == PMRUN_UNIVERSE_SLOTS)
        return MAX((int64_t)pmrun_hosts_slots(control->config.hosts), (int64_t)size);
    return universe < 0 ? -1 : universe;
}

gboolean pmrun_control_start(struct pmrun_control *control)
{
    const struct pmrun_options *options = options_of(control);
    struct pmrun_launch_plan plan;
    struct pmi2_job_info info = {0};
    struct pmrun_root_job *job;

    if (!pmrun_plan_command_line(&plan, options, control->config.hosts, control->config.libraries))
        return FALSE;
    info.size = plan.size;
    info.node_of = plan.node_of;
    info.app_size = plan.app_size;
    info.apps = plan.launch->programs->len;
    info.universe = universe_of(control, plan.size);
    if (options->stdin_rank != UINT32_MAX && options->stdin_rank >= plan.size)
        pmrun_control_print(control,
                            "-stdin %u: there are ranks 0 to %u only; nobody gets the input",
                            options->stdin_rank, plan.size - 1);
    job = add_job(control, plan.launch, &info);
    plan.launch = NULL;
    pmrun_plan_clear(&plan);
    if (job == NULL) {
        pmrun_control_print(control, "the job is too big");
        return FALSE;
    }
    if (control->config.own_input < 0 && options->stdin_rank < job->size)
        control->input = pmrun_input_new(control->config.io->loop, job->id, options->stdin_rank,
                                         give_input, control);
    if (options->timeout > 0)
        uv_timer_start(&control->timeout, on_timeout, (uint64_t)(options->timeout * 1000), 0);
    pmrun_control_print_verbose(control, "job %s: %u processes on %u hosts", job->id, job->size,
                                control->config.hosts->len);
    return TRUE;
}

static void spawn(struct pmrun_control *control, const struct pmi2_spawn *spawn)
{
    struct pmi2_server *server = control->config.io->server;
    struct pmrun_launch_plan plan;
    struct pmi2_job_info info = {0};
    struct pmrun_root_job *job = NULL;
    const char *reason = "no_memory";
    uint64_t id = spawn->id;

    if (control->killing) {
        pmi2_server_spawn_done(server, id, NULL, NULL, "the_job_is_ending");
        return;
    }
    if (pmrun_plan_spawn(&plan, spawn, options_of(control), control->config.hosts,
                         control->config.libraries, &reason)) {
        info.size = plan.size;
        info.node_of = plan.node_of;
        info.app_size = plan.app_size;
        info.apps = plan.launch->programs->len;
        info.universe = universe_of(control, plan.size);
        info.spawner = spawn->spawner;
        info.preput = spawn->preput;
        info.preput_count = spawn->preput_count;
        pmrun_control_print_verbose(control, "rank %u of job %s spawns %u processes", spawn->rank,
                                    spawn->spawner, spawn->processes);
        job = add_job(control, plan.launch, &info);
        plan.launch = NULL;
        pmrun_plan_clear(&plan);
    }
    if (job == NULL) {
        pmi2_server_spawn_done(server, id, NULL, NULL, reason);
        return;
    }
    job->spawned = TRUE;
    job->spawn = id;
}

void pmrun_control_handle_action(struct pmrun_control *control, const struct pmi2_action *action)
{
    switch (action->kind) {
    case PMI2_ACTION_ABORT:
        aborted(control, action);
        break;
    case PMI2_ACTION_SPAWN:
        spawn(control, action->spawn);
        break;
    case PMI2_ACTION_NAME:
        pmrun_names_request(control->config.names, action->name);
        break;
    case PMI2_ACTION_MESSAGE:
        message(control, action);
        break;
    case PMI2_ACTION_TREE_LOST:
        pmrun_control_lost(control, action->node, action->last_node);
        break;
    case PMI2_ACTION_LOG:
        pmrun_control_print_verbose(control, "%s", action->text);
        break;
    case PMI2_ACTION_KILL:
        if (*action->text != '\0')
            pmrun_control_print(control, "rank %u of job %s aborted by itself: %s", action->rank,
                                action->job, action->text);
        /* fallthrough */
    default:
        if (control->agent != NULL)
            pmrun_agent_handle_action(control->agent, action);
    }
}

int pmrun_control_status(const struct pmrun_control *control)
{
    return control->status;
}

struct pmrun_control *pmrun_control_new(const struct pmrun_control_config *config)
{
    struct pmrun_control *control = g_new0(struct pmrun_control, 1);
    const struct pmrun_options *options = config->options;
    struct pmrun_output_patterns patterns = {options->prefix_pattern, options->outfile_pattern,
                                             options->errfile_pattern};

    control->config = *config;
    control->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, pmrun_root_job_free);
    control->over = g_ptr_array_new_with_free_func(pmrun_root_job_free);
    control->output =
        pmrun_output_new(config->io->loop, &patterns, output_waits, output_broken, control);
    uv_timer_init(config->io->loop, &control->kill);
    uv_timer_init(config->io->loop, &control->timeout);
    control->kill.data = control->timeout.data = control;
    if (config->own_node != PMI2_NO_NODE)
        control->agent =
            pmrun_agent_new(config->io, config->own_node, host_of(control, config->own_node),
                            config->own_input, &events, control);
    control->signals = pmrun_signals_new(config->io->loop, on_signal, control);
    return control;
}

gboolean pmrun_control_is_terminated(const struct pmrun_control *control)
{
    return control->terminated;
}

gboolean pmrun_control_is_abandoned(const struct pmrun_control *control)
{
    return control->abandoned;
}

void pmrun_control_flush(struct pmrun_control *control)
{
    pmrun_output_finish(control->output, control->terminated ? LAST_OUTPUT_MS : -1);
}

void pmrun_control_close(struct pmrun_control *control)
{
    assert(control->finished);
    if (control->agent != NULL)
        pmrun_agent_kill(control->agent);
    pmrun_signals_close(control->signals);
    pmrun_input_close(control->input);
    uv_close((uv_handle_t *)&control->kill, NULL);
    uv_close((uv_handle_t *)&control->timeout, NULL);
    pmrun_output_close(control->output, control->terminated ? LAST_OUTPUT_MS : -1);
}

void pmrun_control_free(struct pmrun_control *control)
{
    pmrun_output_free(control->output);
    pmrun_agent_free(control->agent);
    g_free(control->signals);
    g_free(control->input);
    g_hash_table_unref(control->jobs);
    g_ptr_array_unref(control->over);
    g_free(control);
}
