/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Starts a daemon for a path where no daemon listens. The socket is created here and handed over. A
 * process that connects from then on waits in the socket's queue, so nobody has to guess when the
 * daemon is ready.
 *
 * The host program must not notice: it gets no SIGCHLD, its wait() finds no additional child, no
 * handler of pthread_atfork runs, and none of its descriptors stays open in the daemon. So a
 * short-lived child without an exit signal starts the daemon as its own child, which init then
 * adopts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "internal.h"

extern char **environ;

#define STACK_BYTES (64u << 10)
#define SOCKET_FD 3 /* in the daemon */

struct start {
    char program[PATH_MAX];
    char *argv[12];
    char **environment;
    int socket, null;
    char *stacks;
    int error;
};

static bool runs(char *program, const char *folder, size_t folder_length, const char *below)
{
    int count =
        snprintf(program, PATH_MAX, "%.*s%s/jacquard-fabricd", (int)folder_length, folder, below);

    return count > 0 && count < PATH_MAX && access(program, X_OK) == 0;
}

static bool in_search_path(char *program)
{
    const char *at = getenv("PATH"), *end;

    for (; at != NULL && *at != 0; at = *end == 0 ? end : end + 1) {
        end = strchrnul(at, ':');
        if (end > at && runs(program, at, (size_t)(end - at), ""))
            return true;
    }
    return false;
}

/* Searches for the daemon beside the file that contains this function: in its folder, and in the
 * bin folder of its prefix (build tree, library folders of Debian and others). */
static bool find_program(char *program)
{
    static const char *const below[] = {"", "/../bin", "/../../bin", "/../../../bin"};
    const char *given = getenv("JACQUARD_FABRICD"), *slash;
    char *real;
    Dl_info here;
    size_t i;

    if (given != NULL && *given != 0)
        return snprintf(program, PATH_MAX, "%s", given) < PATH_MAX && access(program, X_OK) == 0;
    if (dladdr((void *)(uintptr_t)&shm_start_daemon, &here) != 0 &&
        (real = realpath(here.dli_fname, NULL)) != NULL) {
        slash = strrchr(real, '/');
        for (i = 0; slash != NULL && i < sizeof(below) / sizeof(below[0]); i++) {
            if (runs(program, real, (size_t)(slash - real), below[i])) {
                free(real);
                return true;
            }
        }
        free(real);
    }
    return in_search_path(program);
}

/* Copies the environment for the daemon, without LD_PRELOAD: the user preloads libraries into
 * programs, not into the daemon. */
static char **copy_environment(void)
{
    size_t count = 0, kept = 0, i;
    char **copy;

    while (environ != NULL && environ[count] != NULL)
        count++;
    copy = calloc(count + 1, sizeof(*copy));
    for (i = 0; copy != NULL && i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            copy[kept++] = environ[i];
    return copy;
}

/* ---- in memory that is shared with the parent, which waits: system calls only -----------------
 */

/* The address sanitizer does not know the stack of these functions. */
#define ON_FOREIGN_STACK __attribute__((no_sanitize_address))

ON_FOREIGN_STACK static void close_others(void)
{
    struct rlimit limit;
    int fd;

#ifdef SYS_close_range
    if (syscall(SYS_close_range, SOCKET_FD + 1u, ~0u, 0u) == 0)
        return;
#endif
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536)
        limit.rlim_cur = 65536;
    for (fd = SOCKET_FD + 1; fd < (int)limit.rlim_cur; fd++)
        close(fd);
}

ON_FOREIGN_STACK static int become_daemon(void *arg)
{
    struct start *start = arg;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;
    int number, socket, null;

    /* Signal handlers are reset first: this process shares the parent's memory, so no handler may
     * run here. */
    for (number = 1; number < NSIG; number++)
        sigaction(number, &plain, NULL);
    setsid(); /* a terminal's ^C is meant for the programs; the daemon ends when they have ended */
    /* The copies get numbers above the final ones, whatever numbers the originals have. */
    socket = fcntl(start->socket, F_DUPFD, 10);
    null = fcntl(start->null, F_DUPFD, 10);
    if (socket < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(socket, SOCKET_FD) < 0) {
        start->error = errno;
        _exit(127);
    }
    close_others();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(start->program, start->argv, start->environment);
    start->error = errno;
    _exit(127);
}

ON_FOREIGN_STACK static int fork_daemon(void *arg)
{
    struct start *start = arg;

    if (clone(become_daemon, start->stacks + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD,
              start) < 0)
        start->error = errno;
    _exit(0);
}

/* -----------------------------------------------------------------------------------------------
 */

static int spawn(struct start *start)
{
    sigset_t all, before;
    pid_t child;
    int status, state;

    start->stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (start->stacks == MAP_FAILED)
        return -errno;
    sigfillset(&all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    child = clone(fork_daemon, start->stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, start);
    if (child < 0)
        start->error = errno;
    else
        while (waitpid(child, &status, __WCLONE) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(state, NULL);
    munmap(start->stacks, 2 * STACK_BYTES);
    return -start->error;
}

int shm_start_daemon(const char *path, bool remove_folder, char *why)
{
    static char end[] = "--end-when-empty", folder[] = "--remove-folder",
                socket_option[] = "--socket-fd=3";
    struct start start = {.socket = -1, .null = -1};
    unsigned count = 0;
    bool busy;
    int error;

    if (!find_program(start.program)) {
        shm_why(why, "no jacquard-fabricd beside the library nor in PATH: install it, or set "
                     "JACQUARD_FABRICD "
                     "to its path");
        return -ENOENT;
    }
    start.argv[count++] = start.program;
    start.argv[count++] = socket_option;
    start.argv[count++] = end;
    if (remove_folder)
        start.argv[count++] = folder;
    start.argv[count++] = (char *)(uintptr_t)path;
    start.environment = copy_environment();
    if (start.environment == NULL)
        return -ENOMEM;
    start.socket = shm_listen(path, &busy, why);
    if (start.socket < 0) {
        free(start.environment);
        return busy ? 0 : start.socket; /* another process was faster */
    }
    start.null = open("/dev/null", O_RDWR | O_CLOEXEC);
    error = start.null < 0 ? -errno : spawn(&start);
    if (error != 0) {
        shm_unlisten(path);
        shm_why(why, "cannot start %s: %s", start.program, strerror(-error));
    }
    if (start.null >= 0)
        close(start.null);
    close(start.socket);
    free(start.environment);
    return error;
}
