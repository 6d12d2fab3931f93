/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binding.h"
#include "watchdog.h"
#include "lines.h"
#include "port.h"
#include "process.h"
#include "variables.h"

#define AT_ONCE 64 /* processes started in one turn of the loop */
#define GRACE_MS 200 /* for the ends of a dead process's streams */
#define READ_BYTES (64u << 10)
#define REST_READS 16 /* a pipe holds 1 MiB at most, unless root makes it bigger */

struct pmrun_agent {
    struct pmrun_io *io;
    const struct pmrun_agent_events *events;
    void *owner;
    char *host;
    uint32_t node;
    int own_input, null;
    gboolean paused;
    GHashTable *jobs; /* id → struct node_job */
    guint processes; /* that have not ended */
    char *read;
};

struct process;

struct node_job { /* what of a job is on this node */
    struct pmrun_agent *agent;
    char *id;
    struct pmrun_launch *launch;
    struct pmrun_variables variables; /* the same for all ranks */
    struct process *processes;
    guint count, next; /* next to be started */
    struct pmrun_binding **bindings; /* of each executable; NULL: none */
    char **files; /* of each executable */
    int *errors; /* of each executable: why it cannot be started */
    const char **steps;
    struct pmrun_port *port;
    uv_idle_t starter;
    gboolean starting, stopped, ended;
    guint users; /* handles that are open */
};

struct stream {
    uv_pipe_t pipe;
    struct process *process;
    struct pmrun_lines lines;
    gboolean open;
};

struct process {
    struct node_job *job;
    uint32_t rank, local, program;
    pid_t pid; /* 0: not started; -1: could not be */
    int status;
    gboolean exited, ended, has_input;
    int pidfd;
    uv_poll_t watch;
    uv_timer_t grace;
    struct stream streams[2];
    struct pmrun_channel *pmi;
    uv_pipe_t input;
};

/* ---- life of a job ----------------------------------------------------------------------------
 */

static void job_free(struct node_job *job)
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

static void job_release(struct node_job *job)
{
    if (--job->users == 0)
        job_free(job);
}

static void handle_closed(uv_handle_t *handle)
{
    job_release(handle->data);
}

/* The handle's data becomes the job, which lives until all are closed. */
static void close_handle(uv_handle_t *handle, struct node_job *job)
{
    handle->data = job;
    uv_close(handle, handle_closed);
}

/* ---- the end of a process ---------------------------------------------------------------------
 */

static void finish(struct process *process)
{
    struct node_job *job = process->job;
    struct pmrun_agent *agent = job->agent;
    enum pmi2_rank_state state;
    int i;

    process->ended = TRUE;
    close_handle((uv_handle_t *)&process->grace, job);
    for (i = 0; i < 2; i++) {
        struct stream *stream = &process->streams[i];

        if (!stream->open)
            continue;
        stream->open = FALSE;
        close_handle((uv_handle_t *)&stream->pipe, job);
    }
    /* What the process has left in its group goes with it; until it is reaped, its number is
     * nobody else's. */
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
    struct stream *stream = owner;
    struct process *process = stream->process;
    struct pmrun_agent *agent = process->job->agent;

    agent->events->output(agent->owner, process->job->id, process->rank,
                          (int)(stream - process->streams), bytes, length);
}

static void end_streams(struct process *process)
{
    int i;

    for (i = 0; i < 2; i++)
        pmrun_lines_end(&process->streams[i].lines, give_line, &process->streams[i]);
}

/* A process has ended when its status and the ends of its streams and of its PMI connection have
 * come: what it said last may come after its status. */
static void check(struct process *process)
{
    const struct node_job *job = process->job;
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

/* What is in the pipe by now; what others go on to write into it is nobody's. */
static void read_rest(struct stream *stream)
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
    struct process *process = timer->data;
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

static void close_input(struct process *process)
{
    if (process->has_input)
        close_handle((uv_handle_t *)&process->input, process->job);
    process->has_input = FALSE;
}

static void exited(uv_poll_t *poll, int status, int events)
{
    struct process *process = poll->data;
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
    close_handle((uv_handle_t *)poll, process->job);
    close_input(process);
    uv_timer_start(&process->grace, grace_over, GRACE_MS, 0);
    check(process);
}

static void pmi_gone(void *owner)
{
    struct process *process = owner;
    struct node_job *job = process->job;

    process->pmi = NULL;
    check(process);
    job_release(job);
}

/* ---- output and input -------------------------------------------------------------------------
 */

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct stream *stream = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(stream->process->job->agent->read, READ_BYTES);
}

static void printed(uv_stream_t *pipe, ssize_t length, const uv_buf_t *buffer)
{
    struct stream *stream = pipe->data;

    if (length > 0)
        pmrun_lines_feed(&stream->lines, buffer->base, (gsize)length, give_line, stream);
    if (length >= 0)
        return;
    pmrun_lines_end(&stream->lines, give_line, stream);
    stream->open = FALSE;
    close_handle((uv_handle_t *)pipe, stream->process->job);
    check(stream->process);
}

static void for_each_stream(struct pmrun_agent *agent, void (*visit)(struct stream *stream))
{
    GHashTableIter at;
    gpointer value;
    guint i;
    int s;

    g_hash_table_iter_init(&at, agent->jobs);
    while (g_hash_table_iter_next(&at, NULL, &value)) {
        struct node_job *job = value;

        for (i = 0; i < job->count; i++)
            for (s = 0; s < 2; s++)
                if (job->processes[i].streams[s].open)
                    visit(&job->processes[i].streams[s]);
    }
}

static void stop_reading(struct stream *stream)
{
    uv_read_stop((uv_stream_t *)&stream->pipe);
}

static void start_reading(struct stream *stream)
{
    uv_read_start((uv_stream_t *)&stream->pipe, room, printed);
}

void pmrun_agent_pause(struct pmrun_agent *agent, gboolean pause)
{
    if (pause == agent->paused)
        return;
    agent->paused = pause;
    for_each_stream(agent, pause ? stop_reading : start_reading);
}

static struct process *find(struct pmrun_agent *agent, const char *id, uint32_t rank)
{
    struct node_job *job = g_hash_table_lookup(agent->jobs, id);
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
    struct node_job *job;
    char bytes[];
};

static void input_taken(uv_write_t *request, int status)
{
    struct pmrun_input *input = request->data;
    struct node_job *job = input->job;

    (void)status; /* who has closed its input has taken all it wants */
    job->agent->events->taken(job->agent->owner, job->id);
    g_free(input);
    job_release(job);
}

void pmrun_agent_input(struct pmrun_agent *agent, const char *id, uint32_t rank, const void *bytes,
                       gsize length)
{
    struct process *process = find(agent, id, rank);
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

/* ---- start ------------------------------------------------------------------------------------
 */

/* Both ends; -1: errno. */
static int make_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

static void close_ends(int ends[][2], int count)
{
    int i, j;

    for (i = 0; i < count; i++)
        for (j = 0; j < 2; j++)
            if (ends[i][j] >= 0)
                close(ends[i][j]);
}

static void adopt(struct process *process, uv_pipe_t *pipe, int fd)
{
    uv_pipe_init(process->job->agent->io->loop, pipe, 0);
    uv_pipe_open(pipe, fd);
    process->job->users++;
}

static void adopt_pmi(struct process *process, int fd)
{
    struct node_job *job = process->job;
    struct pmrun_io *io = job->agent->io;

    process->pmi = pmrun_channel_new(io, pmi_gone, process);
    uv_pipe_init(io->loop, &process->pmi->at.pipe, 0);
    uv_pipe_open(&process->pmi->at.pipe, fd);
    job->users++;
    pmrun_channel_open(process->pmi, pmi2_server_client(io->server, job->id, process->rank,
                                                        PMI2_AUTH_NONE, process->pmi));
}

/* The other ends of what the process has. */
static void adopt_all(struct process *process, int ends[5][2])
{
    struct node_job *job = process->job;
    uv_loop_t *loop = job->agent->io->loop;
    int s;

    uv_timer_init(loop, &process->grace);
    process->grace.data = process;
    job->users++;
    uv_poll_init(loop, &process->watch, process->pidfd);
    process->watch.data = process;
    job->users++;
    uv_poll_start(&process->watch, UV_READABLE, exited);
    for (s = 0; s < 2; s++) {
        struct stream *stream = &process->streams[s];

        stream->process = process;
        adopt(process, &stream->pipe, ends[s][0]);
        stream->pipe.data = stream;
        stream->open = TRUE;
        if (!job->agent->paused)
            start_reading(stream);
    }
    if (ends[2][0] >= 0)
        adopt_pmi(process, ends[2][0]);
    if (ends[3][1] >= 0) {
        process->has_input = TRUE;
        adopt(process, &process->input, ends[3][1]);
    }
}

struct birth { /* of one process */
    struct process *process;
    int ends[5][2]; /* of output, error output, PMI, input, key: ours and its */
    struct pmrun_process_start start;
};

/* Which of the two ends the process has. */
static const int its_end[5] = {1, 1, 1, 0, 0};

/* FALSE: errno. By the thread that starts the process. */
static gboolean make_ends(void *owner)
{
    struct birth *birth = owner;
    const struct process *process = birth->process;
    const struct node_job *job = process->job;
    struct pmrun_process_start *start = &birth->start;
    gboolean input = job->launch->stdin_rank == process->rank && job->agent->own_input < 0;
    int i;

    if (make_pipe(birth->ends[0]) != 0 || make_pipe(birth->ends[1]) != 0 ||
        (job->port == NULL &&
         socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, birth->ends[2]) != 0) ||
        (input && make_pipe(birth->ends[3]) != 0) ||
        (job->port != NULL && !pmrun_port_key(job->port, birth->ends[4])))
        return FALSE;
    for (i = 0; i < 5; i++)
        birth->ends[i][!its_end[i]] = pmrun_process_raise_descriptor(birth->ends[i][!its_end[i]]);
    start->in = job->launch->stdin_rank != process->rank ? job->agent->null
                : input                                  ? birth->ends[3][0]
                                                         : job->agent->own_input;
    start->out = birth->ends[0][1];
    start->error = birth->ends[1][1];
    start->pmi = birth->ends[2][1];
    start->key = birth->ends[4][0];
    return TRUE;
}

/* So that the next processes need not be rid of them. */
static void close_its_ends(void *owner)
{
    struct birth *birth = owner;
    int i;

    for (i = 0; i < 5; i++) {
        int *end = &birth->ends[i][its_end[i]];

        if (*end >= 0)
            close(*end);
        *end = -1;
    }
}

static void prepare(struct birth *birth, struct process *process)
{
    const struct node_job *job = process->job;
    const struct pmrun_program *program =
        g_ptr_array_index(job->launch->programs, process->program);

    birth->process = process;
    memset(birth->ends, -1, sizeof(birth->ends));
    birth->start = (struct pmrun_process_start){
        .file = job->files[process->program],
        .argv = program->argv,
        .wdir = program->wdir,
        .environment = (char *const *)pmrun_variables_of_rank(&job->variables, process->program,
                                                              process->rank, process->local),
        .session = TRUE,
        .memory_policy = -1,
        .open = make_ends,
        .close = close_its_ends,
        .owner = birth,
    };
    pmrun_binding_apply(job->bindings[process->program], process->local, &birth->start);
}

/* Our ends become streams; all others are closed. */
static void complete(struct birth *birth)
{
    struct process *process = birth->process;
    struct pmrun_process_start *start = &birth->start;

    g_free((void *)start->environment);
    if (start->cpus != NULL)
        CPU_FREE(start->cpus);
    if (start->pid > 0) {
        pmrun_watchdog_add(start->pid);
        process->pidfd = pmrun_process_descriptor(start->pid);
        if (process->pidfd < 0) {
            start->failure = errno;
            kill(-start->pid, SIGKILL);
            waitpid(start->pid, NULL, 0);
            pmrun_watchdog_remove(start->pid);
            start->pid = -1;
        }
    }
    process->pid = start->pid;
    if (start->pid > 0) {
        adopt_all(process, birth->ends);
        process->job->agent->processes++;
        birth->ends[0][0] = birth->ends[1][0] = birth->ends[2][0] = birth->ends[3][1] = -1;
    }
    close_ends(birth->ends, 5);
}

static void start_some(uv_idle_t *idle)
{
    struct node_job *job = idle->data;
    struct pmrun_agent *agent = job->agent;
    struct pmrun_agent_start reports[AT_ONCE];
    struct birth births[AT_ONCE];
    struct pmrun_process_start *starts[AT_ONCE];
    guint count = 0, ready = 0, i;

    for (; job->next < job->count && count < AT_ONCE; count++) {
        struct process *process = &job->processes[job->next++];
        int error = job->errors[process->program];

        reports[count] = (struct pmrun_agent_start){process->rank, process->pid = -1,
                                                    error != 0 ? error : ECANCELED,
                                                    job->steps[process->program]};
        births[count].process = NULL;
        if (error != 0 || job->stopped)
            continue;
        prepare(&births[count], process);
        starts[ready++] = &births[count].start;
    }
    if (ready > 0)
        pmrun_process_start_all(starts, ready);
    for (i = 0; i < count; i++) {
        if (births[i].process == NULL)
            continue;
        complete(&births[i]);
        reports[i] = (struct pmrun_agent_start){births[i].process->rank, births[i].start.pid,
                                                births[i].start.failure, births[i].start.step};
    }
    if (job->next == job->count) {
        job->starting = FALSE;
        close_handle((uv_handle_t *)&job->starter, job);
    }
    agent->events->started(agent->owner, job->id, reports, count);
}

/* Which programs there are is known before any process is started. */
static void find_programs(struct node_job *job)
{
    gboolean missing = FALSE;
    guint i;

    for (i = 0; i < job->launch->programs->len; i++) {
        const struct pmrun_program *program = g_ptr_array_index(job->launch->programs, i);

        if (program->wdir != NULL && access(program->wdir, X_OK) != 0) {
            job->errors[i] = errno;
            job->steps[i] = "wdir";
        } else {
            job->files[i] = pmrun_process_find(program->argv[0], program->wdir, program->path,
                                               program->environment, &job->errors[i]);
            job->steps[i] = "program";
        }
        missing |= job->errors[i] != 0;
    }
    job->stopped = missing; /* none of the others is started */
}

static void make_processes(struct node_job *job, const struct pmi2_job_info *info)
{
    uint32_t rank, program = 0, end = info->app_size[0];
    guint count = 0;

    for (rank = 0; rank < info->size; rank++)
        count += info->node_of[rank] == job->agent->node;
    job->processes = g_new0(struct process, count);
    for (rank = 0; rank < info->size; rank++) {
        while (rank >= end)
            end += info->app_size[++program];
        if (info->node_of[rank] != job->agent->node)
            continue;
        job->processes[job->count] = (struct process){
            .job = job, .rank = rank, .local = job->count, .program = program, .pidfd = -1};
        job->count++;
    }
}

static void make_bindings(struct node_job *job)
{
    guint i;

    for (i = 0; i < job->launch->programs->len; i++) {
        const struct pmrun_program *program = g_ptr_array_index(job->launch->programs, i);
        GError *error = NULL;

        job->bindings[i] =
            pmrun_binding_new(pmrun_launch_binding(job->launch, program, job->agent->node),
                              program->map_by, program->membind, &error);
        if (error == NULL)
            continue;
        job->agent->events->warning(job->agent->owner, error->message);
        g_error_free(error);
    }
}

static void job_new(struct pmrun_agent *agent, const struct pmi2_action *action)
{
    const struct pmi2_job_info *info = action->info;
    struct pmrun_launch *launch = pmrun_launch_unpack(info->launch, info->launch_bytes);
    struct node_job *job;
    guint programs;

    if (launch == NULL || launch->programs->len != info->apps) {
        agent->events->warning(agent->owner, "a job's description is malformed");
        pmrun_launch_free(launch);
        return;
    }
    job = g_new0(struct node_job, 1);
    job->agent = agent;
    job->id = g_strdup(action->job);
    job->launch = launch;
    programs = launch->programs->len;
    job->bindings = g_new0(struct pmrun_binding *, programs);
    job->files = g_new0(char *, programs);
    job->errors = g_new0(int, programs);
    job->steps = g_new0(const char *, programs);
    make_processes(job, info);
    pmrun_process_reserve_descriptors(job->count);
    find_programs(job);
    if (!job->stopped)
        make_bindings(job);
    if (launch->port != PMRUN_LAUNCH_NO_PORT)
        job->port = pmrun_port_new(agent->io, job->id, launch->port);
    pmrun_variables_init(&job->variables, launch, info, agent->node, job->count, agent->host,
                         job->port != NULL ? pmrun_port_name(job->port) : NULL);
    g_hash_table_insert(agent->jobs, job->id, job);
    uv_idle_init(agent->io->loop, &job->starter);
    job->starter.data = job;
    job->starting = TRUE;
    job->users = 2; /* the starter, and that the job is known */
    uv_idle_start(&job->starter, start_some);
}

/* ---- signals and the end ----------------------------------------------------------------------
 */

static void signal_process(struct process *process, int signal)
{
    if (process->pid > 0 && !process->ended)
        kill(-process->pid, signal);
}

static void signal_job(struct node_job *job, int signal)
{
    guint i;

    if (job->starting && (signal == SIGTERM || signal == SIGKILL))
        job->stopped = TRUE;
    for (i = 0; i < job->count; i++)
        signal_process(&job->processes[i], signal);
}

void pmrun_agent_signal(struct pmrun_agent *agent, const char *id, uint32_t rank, int signal)
{
    struct node_job *job = g_hash_table_lookup(agent->jobs, id);
    struct process *process = rank != PMRUN_NO_RANK ? find(agent, id, rank) : NULL;

    if (rank == PMRUN_NO_RANK && job != NULL)
        signal_job(job, signal);
    else if (process != NULL)
        signal_process(process, signal);
}

static void job_end(struct pmrun_agent *agent, const char *id)
{
    struct node_job *job = g_hash_table_lookup(agent->jobs, id);

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
    struct process *process;

    switch (action->kind) {
    case PMI2_ACTION_JOB:
        job_new(agent, action);
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
