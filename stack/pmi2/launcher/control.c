/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "control_internal.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "forward.h"
#include "status.h"

#define KILL_AFTER_MS 2000
/* After SIGTERM to pmrun; the sum is less than a second: */
#define TERM_MS 400 /* until SIGKILL */
#define FORCED_MS 250 /* until it does not wait for reports any more */
#define LAST_OUTPUT_MS 50 /* for output without a reader */
#define PROGRESS_RANKS 128 /* smaller jobs start too fast for a progress line */

/* ---- messages ----------------------------------------------------------------------
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

    if (!pmrun_control_options(control)->verbose)
        return;
    va_start(arguments, format);
    say(control, format, arguments);
    va_end(arguments);
}

void pmrun_control_show_progress(struct pmrun_control *control, const struct pmrun_root_job *job)
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

void pmrun_control_add_status(struct pmrun_control *control, struct pmrun_root_job *job, int status)
{
    job->status = job->has_status ? pmrun_status_combine(pmrun_control_options(control)->exit_rule,
                                                         job->status, status)
                                  : status;
    job->has_status = TRUE;
}

void pmrun_control_send_signal(struct pmrun_control *control, const char *job, uint32_t rank,
                               int signal)
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
        pmrun_control_send_signal(control, id, PMRUN_NO_RANK, signal);
}

static void kill_all(uv_timer_t *timer)
{
    struct pmrun_control *control = timer->data;

    pmrun_control_print_verbose(control, "processes have not ended by SIGTERM; sending SIGKILL");
    signal_all(control, SIGKILL);
}

void pmrun_control_end_jobs(struct pmrun_control *control)
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
        control->status = pmrun_status_combine(pmrun_control_options(control)->exit_rule,
                                               control->status, status);
    pmrun_control_end_jobs(control);
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

void pmrun_control_finish(struct pmrun_control *control)
{
    if (control->finished)
        return;
    control->finished = TRUE;
    if (pmrun_control_options(control)->print_exitcodes)
        say_exit_codes(control);
    uv_stop(control->config.io->loop);
}

void pmrun_control_fail(struct pmrun_control *control, int status)
{
    control->status = status;
    pmrun_control_end_jobs(control);
    if (g_hash_table_size(control->jobs) == 0)
        pmrun_control_finish(control);
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
        pmrun_control_print(control, "nodes do not report the ends of their processes; exiting");
        control->abandoned = TRUE;
        pmrun_control_finish(control);
        return;
    }
    control->forced = TRUE;
    pmrun_control_end(
        control,
        pmrun_status_code(pmrun_control_options(control)->exit_rule, SIGTERM, PMI2_RANK_RUNNING),
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

/* ---- reports of the nodes -----------------------------------------------------------
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
    origin.host = pmrun_control_host(control, origin.node);
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

static const struct pmrun_agent_events events = {pmrun_control_started, pmrun_control_ended,
                                                 output_came, input_taken, warning};

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

void pmrun_control_time_limit(uv_timer_t *timer)
{
    struct pmrun_control *control = timer->data;
    char *text = g_strdup_printf("the time limit of %g s is reached; ending all jobs",
                                 pmrun_control_options(control)->timeout);

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

void pmrun_control_handle_action(struct pmrun_control *control, const struct pmi2_action *action)
{
    switch (action->kind) {
    case PMI2_ACTION_ABORT:
        pmrun_control_aborted(control, action);
        break;
    case PMI2_ACTION_SPAWN:
        pmrun_control_spawn(control, action->spawn);
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
        control->agent = pmrun_agent_new(config->io, config->own_node,
                                         pmrun_control_host(control, config->own_node),
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
