/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "agent_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watchdog.h"

#define GRACE_MS 200 /* for the ends of a dead process's streams */
#define READ_BYTES (64u << 10)
#define REST_READS 16 /* a pipe holds 1 MiB at most, unless root makes it bigger */

/* ---- life of a job ----------------------------------------------------------------------------
 */

static void job_free(struct pmrun_node_job *job)
{
    guint i;

    pmrun_variables_clear(&job->variables);
    for (i = 0; i < job->launch->programs->len; i++) {
        pmrun_binding_free(job->bindings[i]);
        g_free(job->files[i]);
    }
    for (i = 0; i < job->count; i++) {
        if (job->processes[i].streams[0].lines.begun != NULL)
            g_string_free(job->processes[i].streams[0].lines.begun, TRUE);
        if (job->processes[i].streams[1].lines.begun != NULL)
            g_string_free(job->processes[i].streams[1].lines.begun, TRUE);
    }
    g_free(job->bindings);
    g_free(job->files);
    g_free(job->errors);
    g_free((void *)job->steps);
    g_free(job->processes);
    pmrun_launch_free(job->launch);
    g_free(job->id);
    g_free(job);
}

static void job_release(struct pmrun_node_job *job)
{
    assert(job->users > 0);
    if (--job->users == 0)
        job_free(job);
}

static void handle_closed(uv_handle_t *handle)
{
    job_release(handle->data);
}

/* The handle's data becomes the job, which lives until all are closed. */
void pmrun_agent_close_handle(uv_handle_t *handle, struct pmrun_node_job *job)
{
    handle->data = job;
    uv_close(handle, handle_closed);
}

/* ---- the end of a process ---------------------------------------------------------------------
 */

static void finish(struct pmrun_process *process)
{
    struct pmrun_node_job *job = process->job;
    struct pmrun_agent *agent = job->agent;
    enum pmi2_rank_state state;
    int i;

    assert(process->exited && !process->ended && agent->processes > 0);
    process->ended = TRUE;
    pmrun_agent_close_handle((uv_handle_t *)&process->grace, job);
    for (i = 0; i < 2; i++) {
        struct pmrun_stream *stream = &process->streams[i];

        if (!stream->open)
            continue;
        stream->open = FALSE;
        pmrun_agent_close_handle((uv_handle_t *)&stream->pipe, job);
    }
    /* Kills the other processes of its group. The process id cannot be reused before the process is
     * reaped. */
    kill(-process->pid, SIGKILL);
    pmrun_watchdog_remove(process->pid);
    waitpid(process->pid, NULL, 0);
    agent->processes--;
    state = pmi2_server_rank_state(agent->io->server, job->id, process->rank);
    pmi2_server_rank_ended(agent->io->server, job->id, process->rank);
    if (process->pmi != NULL)
        pmrun_channel_close(process->pmi);
    agent->events->ended(agent->owner, job->id, process->rank, process->pid, process->status,
                         state);
}

static void give_line(void *owner, const char *bytes, gsize length)
{
    struct pmrun_stream *stream = owner;
    struct pmrun_process *process = stream->process;
    struct pmrun_agent *agent = process->job->agent;

    agent->events->output(agent->owner, process->job->id, process->rank,
                          (int)(stream - process->streams), bytes, length);
}

static void end_streams(struct pmrun_process *process)
{
    int i;

    for (i = 0; i < 2; i++)
        pmrun_lines_end(&process->streams[i].lines, give_line, &process->streams[i]);
}

/* A process has ended when its status is known and its streams and its PMI connection are closed,
 * because its last output may arrive after its status. */
static void check(struct pmrun_process *process)
{
    const struct pmrun_node_job *job = process->job;
    gboolean speaks;

    if (process->ended || !process->exited)
        return;
    speaks = job->port != NULL ? pmi2_server_rank_state(job->agent->io->server, job->id,
                                                        process->rank) == PMI2_RANK_RUNNING
                               : process->pmi != NULL;
    if (speaks || process->streams[0].open || process->streams[1].open)
        return;
    finish(process);
}

/* Reads what is in the pipe now. Later output of other processes that hold the pipe is dropped. */
static void read_rest(struct pmrun_stream *stream)
{
    char *bytes = stream->process->job->agent->read;
    uv_os_fd_t fd;
    ssize_t got;
    int reads;

    if (!stream->open || uv_fileno((uv_handle_t *)&stream->pipe, &fd) != 0)
        return;
    for (reads = 0; reads < REST_READS; reads++) {
        do
            got = read(fd, bytes, READ_BYTES);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            return;
        pmrun_lines_feed(&stream->lines, bytes, (gsize)got, give_line, stream);
    }
}

static void grace_over(uv_timer_t *timer)
{
    struct pmrun_process *process = timer->data;
    int i;

    if (process->ended)
        return;
    if (process->job->agent->paused) { /* it is not the process that is late */
        uv_timer_start(timer, grace_over, GRACE_MS, 0);
        return;
    }
    for (i = 0; i < 2; i++)
        read_rest(&process->streams[i]);
    end_streams(process);
    finish(process);
}

static void close_input(struct pmrun_process *process)
{
    if (process->has_input)
        pmrun_agent_close_handle((uv_handle_t *)&process->input, process->job);
    process->has_input = FALSE;
}

void pmrun_agent_process_exited(uv_poll_t *poll, int status, int events)
{
    struct pmrun_process *process = poll->data;
    siginfo_t info = {.si_pid = 0};

    (void)status;
    (void)events;
    if (waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return;
    process->status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status;
    process->exited = TRUE;
    uv_poll_stop(poll);
    close(process->pidfd);
    pmrun_agent_close_handle((uv_handle_t *)poll, process->job);
    close_input(process);
    uv_timer_start(&process->grace, grace_over, GRACE_MS, 0);
    check(process);
}

void pmrun_agent_pmi_closed(void *owner)
{
    struct pmrun_process *process = owner;
    struct pmrun_node_job *job = process->job;

    process->pmi = NULL;
    check(process);
    job_release(job);
}

/* ---- output and input -------------------------------------------------------------------------
 */

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct pmrun_stream *stream = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(stream->process->job->agent->read, READ_BYTES);
}

static void printed(uv_stream_t *pipe, ssize_t length, const uv_buf_t *buffer)
{
    struct pmrun_stream *stream = pipe->data;

    if (length > 0)
        pmrun_lines_feed(&stream->lines, buffer->base, (gsize)length, give_line, stream);
    if (length >= 0)
        return;
    pmrun_lines_end(&stream->lines, give_line, stream);
    stream->open = FALSE;
    pmrun_agent_close_handle((uv_handle_t *)pipe, stream->process->job);
    check(stream->process);
}

static void for_each_stream(struct pmrun_agent *agent, void (*visit)(struct pmrun_stream *stream))
{
    GHashTableIter at;
    gpointer value;
    guint i;
    int s;

    g_hash_table_iter_init(&at, agent->jobs);
    while (g_hash_table_iter_next(&at, NULL, &value)) {
        struct pmrun_node_job *job = value;

        for (i = 0; i < job->count; i++)
            for (s = 0; s < 2; s++)
                if (job->processes[i].streams[s].open)
                    visit(&job->processes[i].streams[s]);
    }
}

static void stop_reading(struct pmrun_stream *stream)
{
    uv_read_stop((uv_stream_t *)&stream->pipe);
}

void pmrun_agent_start_reading(struct pmrun_stream *stream)
{
    uv_read_start((uv_stream_t *)&stream->pipe, room, printed);
}

void pmrun_agent_pause(struct pmrun_agent *agent, gboolean pause)
{
    if (pause == agent->paused)
        return;
    agent->paused = pause;
    for_each_stream(agent, pause ? stop_reading : pmrun_agent_start_reading);
}

static struct pmrun_process *find(struct pmrun_agent *agent, const char *id, uint32_t rank)
{
    struct pmrun_node_job *job = g_hash_table_lookup(agent->jobs, id);
    guint low = 0, high = job != NULL ? job->count : 0;

    while (low < high) {
        guint middle = (low + high) / 2;

        if (job->processes[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return job != NULL && low < job->count && job->processes[low].rank == rank
               ? &job->processes[low]
               : NULL;
}

struct pmrun_input {
    uv_write_t request;
    struct pmrun_node_job *job;
    char bytes[];
};

static void input_taken(uv_write_t *request, int status)
{
    struct pmrun_input *input = request->data;
    struct pmrun_node_job *job = input->job;

    (void)status; /* a process that closed its input needs no more */
    job->agent->events->taken(job->agent->owner, job->id);
    g_free(input);
    job_release(job);
}

void pmrun_agent_input(struct pmrun_agent *agent, const char *id, uint32_t rank, const void *bytes,
                       gsize length)
{
    struct pmrun_process *process = find(agent, id, rank);
    struct pmrun_input *input;
    uv_buf_t buffer;

    if (process == NULL || !process->has_input) {
        agent->events->taken(agent->owner, id);
        return;
    }
    if (length == 0) {
        close_input(process);
        return;
    }
    input = g_malloc(sizeof(*input) + length);
    input->job = process->job;
    input->request.data = input;
    memcpy(input->bytes, bytes, length);
    buffer = uv_buf_init(input->bytes, (unsigned)length);
    process->job->users++;
    if (uv_write(&input->request, (uv_stream_t *)&process->input, &buffer, 1, input_taken) != 0)
        input_taken(&input->request, UV_EPIPE);
}

/* ---- signals and the end ----------------------------------------------------------------------
 */

static void signal_process(struct pmrun_process *process, int signal)
{
    if (process->pid > 0 && !process->ended)
        kill(-process->pid, signal);
}

static void signal_job(struct pmrun_node_job *job, int signal)
{
    guint i;

    if (job->starting && (signal == SIGTERM || signal == SIGKILL))
        job->stopped = TRUE;
    for (i = 0; i < job->count; i++)
        signal_process(&job->processes[i], signal);
}

void pmrun_agent_signal(struct pmrun_agent *agent, const char *id, uint32_t rank, int signal)
{
    struct pmrun_node_job *job = g_hash_table_lookup(agent->jobs, id);
    struct pmrun_process *process = rank != PMRUN_NO_RANK ? find(agent, id, rank) : NULL;

    if (rank == PMRUN_NO_RANK && job != NULL)
        signal_job(job, signal);
    else if (process != NULL)
        signal_process(process, signal);
}

static void job_end(struct pmrun_agent *agent, const char *id)
{
    struct pmrun_node_job *job = g_hash_table_lookup(agent->jobs, id);

    if (job == NULL)
        return;
    signal_job(job, SIGKILL);
    if (job->port != NULL)
        pmrun_port_close(job->port);
    g_hash_table_remove(agent->jobs, id);
    job_release(job);
}

void pmrun_agent_handle_action(struct pmrun_agent *agent, const struct pmi2_action *action)
{
    struct pmrun_process *process;

    switch (action->kind) {
    case PMI2_ACTION_JOB:
        pmrun_agent_start_job(agent, action);
        break;
    case PMI2_ACTION_JOB_END:
        job_end(agent, action->job);
        break;
    case PMI2_ACTION_KILL:
        pmrun_agent_signal(agent, action->job, action->rank, SIGKILL);
        break;
    case PMI2_ACTION_RANK_STATE:
        process = find(agent, action->job, action->rank);
        if (process != NULL && process->job->port != NULL)
            check(process);
        break;
    default:
        break;
    }
}

void pmrun_agent_kill(struct pmrun_agent *agent)
{
    GHashTableIter at;
    gpointer job;

    g_hash_table_iter_init(&at, agent->jobs);
    while (g_hash_table_iter_next(&at, NULL, &job))
        signal_job(job, SIGKILL);
}

gboolean pmrun_agent_is_idle(const struct pmrun_agent *agent)
{
    return agent->processes == 0;
}

struct pmrun_agent *pmrun_agent_new(struct pmrun_io *io, uint32_t node, const char *host,
                                    int own_input, const struct pmrun_agent_events *events,
                                    void *owner)
{
    struct pmrun_agent *agent = g_new0(struct pmrun_agent, 1);

    agent->io = io;
    agent->events = events;
    agent->owner = owner;
    agent->node = node;
    agent->host = g_strdup(host);
    agent->own_input = own_input;
    agent->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    agent->jobs = g_hash_table_new(g_str_hash, g_str_equal);
    agent->read = g_malloc(READ_BYTES);
    return agent;
}

void pmrun_agent_free(struct pmrun_agent *agent)
{
    if (agent == NULL)
        return;
    g_hash_table_unref(agent->jobs);
    close(agent->null);
    g_free(agent->read);
    g_free(agent->host);
    g_free(agent);
}
