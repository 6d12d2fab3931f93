/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How an agent starts the processes of a job. */
#define _GNU_SOURCE
#include "agent_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watchdog.h"

#define AT_ONCE 64 /* processes started in one turn of the loop */

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

static void adopt(struct pmrun_process *process, uv_pipe_t *pipe, int fd)
{
    uv_pipe_init(process->job->agent->io->loop, pipe, 0);
    uv_pipe_open(pipe, fd);
    process->job->users++;
}

static void adopt_pmi(struct pmrun_process *process, int fd)
{
    struct pmrun_node_job *job = process->job;
    struct pmrun_io *io = job->agent->io;

    process->pmi = pmrun_channel_new(io, pmrun_agent_pmi_closed, process);
    uv_pipe_init(io->loop, &process->pmi->at.pipe, 0);
    uv_pipe_open(&process->pmi->at.pipe, fd);
    job->users++;
    pmrun_channel_open(process->pmi, pmi2_server_client(io->server, job->id, process->rank,
                                                        PMI2_AUTH_NONE, process->pmi));
}

/* The other ends of what the process has. */
static void adopt_all(struct pmrun_process *process, int ends[5][2])
{
    struct pmrun_node_job *job = process->job;
    uv_loop_t *loop = job->agent->io->loop;
    int s;

    uv_timer_init(loop, &process->grace);
    process->grace.data = process;
    job->users++;
    uv_poll_init(loop, &process->watch, process->pidfd);
    process->watch.data = process;
    job->users++;
    uv_poll_start(&process->watch, UV_READABLE, pmrun_agent_process_exited);
    for (s = 0; s < 2; s++) {
        struct pmrun_stream *stream = &process->streams[s];

        stream->process = process;
        adopt(process, &stream->pipe, ends[s][0]);
        stream->pipe.data = stream;
        stream->open = TRUE;
        if (!job->agent->paused)
            pmrun_agent_start_reading(stream);
    }
    if (ends[2][0] >= 0)
        adopt_pmi(process, ends[2][0]);
    if (ends[3][1] >= 0) {
        process->has_input = TRUE;
        adopt(process, &process->input, ends[3][1]);
    }
}

struct birth { /* of one process */
    struct pmrun_process *process;
    int ends[5][2]; /* of output, error output, PMI, input, key: ours and its */
    struct pmrun_process_start start;
};

/* Which of the two ends the process has. */
static const int its_end[5] = {1, 1, 1, 0, 0};

/* FALSE: errno. By the thread that starts the process. */
static gboolean make_ends(void *owner)
{
    struct birth *birth = owner;
    const struct pmrun_process *process = birth->process;
    const struct pmrun_node_job *job = process->job;
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

/* Closes them before the next process is started, which would inherit them. */
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

static void prepare(struct birth *birth, struct pmrun_process *process)
{
    const struct pmrun_node_job *job = process->job;
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

/* Makes streams of our ends and closes all others. */
static void complete(struct birth *birth)
{
    struct pmrun_process *process = birth->process;
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
    struct pmrun_node_job *job = idle->data;
    struct pmrun_agent *agent = job->agent;
    struct pmrun_agent_start reports[AT_ONCE];
    struct birth births[AT_ONCE];
    struct pmrun_process_start *starts[AT_ONCE];
    guint count = 0, ready = 0, i;

    assert(job->starting && job->next <= job->count);

    for (; job->next < job->count && count < AT_ONCE; count++) {
        struct pmrun_process *process = &job->processes[job->next++];
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
        pmrun_agent_close_handle((uv_handle_t *)&job->starter, job);
    }
    agent->events->started(agent->owner, job->id, reports, count);
}

/* Checks that all programs exist before any process is started. */
static void find_programs(struct pmrun_node_job *job)
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

static void make_processes(struct pmrun_node_job *job, const struct pmi2_job_info *info)
{
    uint32_t rank, program = 0, end = info->app_size[0];
    guint count = 0;

    for (rank = 0; rank < info->size; rank++)
        count += info->node_of[rank] == job->agent->node;
    job->processes = g_new0(struct pmrun_process, count);
    for (rank = 0; rank < info->size; rank++) {
        while (rank >= end)
            end += info->app_size[++program];
        if (info->node_of[rank] != job->agent->node)
            continue;
        job->processes[job->count] = (struct pmrun_process){
            .job = job, .rank = rank, .local = job->count, .program = program, .pidfd = -1};
        job->count++;
    }
}

static void make_bindings(struct pmrun_node_job *job)
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

void pmrun_agent_start_job(struct pmrun_agent *agent, const struct pmi2_action *action)
{
    const struct pmi2_job_info *info = action->info;
    struct pmrun_launch *launch = pmrun_launch_unpack(info->launch, info->launch_bytes);
    struct pmrun_node_job *job;
    guint programs;

    if (launch == NULL || launch->programs->len != info->apps) {
        agent->events->warning(agent->owner, "a job's description is malformed");
        pmrun_launch_free(launch);
        return;
    }
    job = g_new0(struct pmrun_node_job, 1);
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
