/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* pipe2 */
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verdict/verdict.h"

struct child {
    pid_t pid; /* 0: free */
    int pipe;
    uint64_t run;
    GString *output;
    FILE *said; /* what its programs write; NULL: it is not kept */
};

/* ---- in the child ---------------------------------------------------------------------------- */

static void redirect(const struct child *child)
{
    int null;

    if (child->said != NULL) {
        dup2(fileno(child->said), STDOUT_FILENO);
        dup2(fileno(child->said), STDERR_FILENO);
        return;
    }
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        close(null);
    }
}

static bool write_all(int file, const char *bytes, size_t length)
{
    ssize_t put;

    for (; length != 0; bytes += put, length -= (size_t)put) {
        put = write(file, bytes, length);
        if (put < 0 && errno != EINTR)
            return false;
        put = MAX(put, 0);
    }
    return true;
}

static void child_main(const struct campaign_pool *pool, const struct child *child, uint64_t number,
                       int out)
{
    char *text;
    bool written;

    redirect(child);
    /* As a whole: json_dumpfd() makes a call of the kernel for each word. */
    text = json_dumps(pool->run(pool->arg, number), JSON_COMPACT);
    written = text != NULL && write_all(out, text, strlen(text));
    close(out);
    fflush(NULL);
    _exit(written ? 0 : 1); /* neither its own resources nor the parent's are freed */
}

/* ---- in the parent --------------------------------------------------------------------------- */

static json_t *broken(int signal, const char *format, ...) G_GNUC_PRINTF(2, 3);
static json_t *broken(int signal, const char *format, ...)
{
    va_list arguments;
    char *text;
    json_t *result;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    result = json_pack("{s:s,s:i}", "error", text, "exit", EXIT_BROKEN);
    if (signal != 0)
        json_object_set_new(result, "signal", json_integer(signal));
    g_free(text);
    return result;
}

static bool start(const struct campaign_pool *pool, struct child *child, uint64_t number)
{
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    child->said = pool->keep_output ? tmpfile() : NULL;
    child->pid = fork();
    if (child->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(ends[0]);
        child_main(pool, child, number, ends[1]);
    }
    close(ends[1]);
    if (child->pid < 0) {
        child->pid = 0;
        close(ends[0]);
        if (child->said != NULL)
            fclose(child->said);
        return false;
    }
    child->pipe = ends[0];
    child->run = number;
    child->output = g_string_new(NULL);
    return true;
}

/* A process that has ended, and its result, which is not yet read. */
struct ended {
    uint64_t run;
    GString *output;
    FILE *said;
    int status;
};

static int reap(struct child *child)
{
    int status = 0;

    close(child->pipe);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    child->pid = 0;
    return status;
}

static json_t *result_of(const struct ended *ended)
{
    json_error_t error;
    json_t *result = json_loadb(ended->output->str, ended->output->len, 0, &error);
    int status = ended->status;

    if (result != NULL && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return result;
    json_decref(result);
    if (WIFSIGNALED(status))
        return broken(WTERMSIG(status), "the run was ended by signal %d (%s)", WTERMSIG(status),
                      strsignal(WTERMSIG(status)));
    return broken(0, "the run ended with code %d without a result",
                  WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* True if the child has closed its pipe. */
static bool listen_to(struct child *child)
{
    char buffer[65536];
    ssize_t got = read(child->pipe, buffer, sizeof(buffer));

    if (got > 0)
        g_string_append_len(child->output, buffer, got);
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

static void wait_for_some(struct child *children, unsigned count)
{
    struct pollfd polled[CAMPAIGN_POOL_MAX];
    nfds_t fds = 0;
    unsigned i;

    for (i = 0; i < count; i++) {
        if (children[i].pid != 0)
            polled[fds++] = (struct pollfd){.fd = children[i].pipe, .events = POLLIN};
    }
    if (fds != 0)
        poll(polled, fds, 200);
}

/* Collects the children that have ended. Returns how many. */
static unsigned collect(const struct campaign_pool *pool, struct child *children,
                        struct ended *ended)
{
    unsigned count = 0, i;

    for (i = 0; i < pool->parallel; i++) {
        struct child *child = &children[i];
        struct pollfd polled = {.fd = child->pipe, .events = POLLIN};

        if (child->pid == 0 || poll(&polled, 1, 0) <= 0 || !listen_to(child))
            continue;
        ended[count++] = (struct ended){child->run, child->output, child->said, reap(child)};
    }
    return count;
}

static void hand_over(const struct campaign_pool *pool, const struct ended *ended)
{
    pool->done(pool->arg, ended->run, result_of(ended), ended->said);
    g_string_free(ended->output, TRUE);
    if (ended->said != NULL)
        fclose(ended->said);
}

static void kill_all(struct child *children, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        if (children[i].pid == 0)
            continue;
        kill(children[i].pid, SIGKILL);
        reap(&children[i]);
        g_string_free(children[i].output, TRUE);
        if (children[i].said != NULL)
            fclose(children[i].said);
    }
}

/* Starts runs in the free places. Returns how many have been started. */
static unsigned fill(const struct campaign_pool *pool, struct child *children)
{
    unsigned started = 0, i;
    uint64_t number;

    for (i = 0; i < pool->parallel; i++) {
        if (children[i].pid != 0)
            continue;
        if (!pool->next(pool->arg, &number))
            break;
        if (start(pool, &children[i], number))
            started++;
        else
            pool->done(pool->arg, number,
                       broken(0, "cannot start a process: %s", g_strerror(errno)), NULL);
    }
    return started;
}

bool campaign_pool_execute(const struct campaign_pool *pool)
{
    struct child *children = g_new0(struct child, pool->parallel);
    struct ended *ended = g_new0(struct ended, pool->parallel);
    unsigned running = 0, count, i;
    bool go_on = true;

    g_assert(pool->parallel >= 1 && pool->parallel <= CAMPAIGN_POOL_MAX);
    fflush(NULL);
    while (go_on) {
        running += fill(pool, children);
        if (running == 0)
            break;
        wait_for_some(children, pool->parallel);
        count = collect(pool, children, ended);
        running -= count;
        running += fill(pool, children); /* before the results are read: no processor is idle */
        for (i = 0; i < count; i++)
            hand_over(pool, &ended[i]);
        go_on = pool->tick(pool->arg);
    }
    if (!go_on)
        kill_all(children, pool->parallel);
    g_free(ended);
    g_free(children);
    return go_on;
}
