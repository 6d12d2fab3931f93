/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* glibc names them since 2.34. */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2)
#endif

#define OURS_FROM 512 /* the number of descriptors that stay open while processes are started */
#define OURS_EACH 5 /* descriptors of ours for each process, at most */
#define PARENTS_MAX 16
#define STACK_BYTES (128u << 10) /* of a parent */
#define CHILD_STACK_BYTES (32u << 10)

static struct rlimit original_limit;
static sigset_t original_mask;

void pmrun_process_prepare(void)
{
    struct rlimit limit;
    int fd;

    sigprocmask(SIG_SETMASK, NULL, &original_mask);
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd < PMRUN_PROCESS_KEY_FD);
    if (fd > PMRUN_PROCESS_KEY_FD)
        close(fd);
    close_range(PMRUN_PROCESS_PMI_FD, ~0u, CLOSE_RANGE_CLOEXEC);
    if (getrlimit(RLIMIT_NOFILE, &original_limit) != 0)
        return;
    limit = original_limit;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int pmrun_process_raise_descriptor(int fd)
{
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, OURS_FROM) : -1;

    if (high < 0) /* few are allowed: it stays where it is */
        return fd;
    close(fd);
    return high;
}

/* The kernel makes the table bigger step by step, and once it is shared by threads each step waits
 * for milliseconds (for RCU). */
void pmrun_process_reserve_descriptors(guint count)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
        last = fd >= 0
                   ? fcntl(fd, F_DUPFD_CLOEXEC, OURS_FROM + OURS_EACH * (int)MIN(count, 1u << 20))
                   : -1;

    if (last >= 0)
        close(last);
    if (fd >= 0)
        close(fd);
}

int pmrun_process_descriptor(pid_t pid)
{
    return pmrun_process_raise_descriptor((int)syscall(SYS_pidfd_open, pid, 0u));
}

/* ---- the child --------------------------------------------------------------------------------
 */

/* What the launcher catches or ignores for itself, of each: whether programs need it reset. Until
 * its exec the child runs in our memory, so no handler may be left there. */
static const int own_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                                  SIGHUP, SIGTSTP, SIGCONT, SIGCHLD, SIGPIPE, SIGTTOU};
static gboolean resets[G_N_ELEMENTS(own_signals)];

/* What was ignored before we began stays so. */
static void find_resets(void)
{
    struct sigaction now;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(own_signals); i++) {
        int signal = own_signals[i];

        resets[i] = sigaction(signal, NULL, &now) == 0 && now.sa_handler != SIG_DFL &&
                    (now.sa_handler != SIG_IGN || signal == SIGPIPE || signal == SIGTTOU);
    }
}

static void set_signals(void)
{
    struct sigaction standard;
    size_t i;

    memset(&standard, 0, sizeof(standard));
    standard.sa_handler = SIG_DFL;
    for (i = 0; i < G_N_ELEMENTS(own_signals); i++)
        if (resets[i])
            sigaction(own_signals[i], &standard, NULL);
    sigprocmask(SIG_SETMASK, &original_mask, NULL);
}

/* The table of descriptors is still ours: the child takes a copy up to the last that it needs,
 * which costs little however many there are. FALSE: errno. */
static gboolean take_descriptors(const struct pmrun_process_start *start)
{
    int last = PMRUN_PROCESS_KEY_FD;

    last = MAX(last, MAX(start->in, MAX(start->out, start->error)));
    last = MAX(last, MAX(start->pmi, start->key));
    return close_range((unsigned)last + 1, ~0u, CLOSE_RANGE_UNSHARE) == 0 ||
           unshare(CLONE_FILES) == 0;
}

static void set_descriptors(const struct pmrun_process_start *start)
{
    dup2(start->in, 0);
    dup2(start->out, 1);
    dup2(start->error, 2);
    if (start->pmi >= 0)
        dup2(start->pmi, PMRUN_PROCESS_PMI_FD);
    else
        close(PMRUN_PROCESS_PMI_FD);
    if (start->key >= 0)
        dup2(start->key, PMRUN_PROCESS_KEY_FD);
    else
        close(PMRUN_PROCESS_KEY_FD);
}

struct birth {
    struct pmrun_process_start *start;
    const char *file;
    char *const *argv;
    pid_t parent;
};

/* It runs in our memory until its exec: what it writes to `start` is the result. */
static int become(void *context)
{
    const struct birth *birth = context;
    struct pmrun_process_start *start = birth->start;

    if (!take_descriptors(start)) {
        start->failure = errno;
        return 127;
    }
    if (start->session)
        setsid();
    else
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != birth->parent)
        return 127;
    set_descriptors(start);
    setrlimit(RLIMIT_NOFILE, &original_limit);
    if (start->cpus != NULL)
        sched_setaffinity(0, start->cpus_bytes, start->cpus);
    if (start->memory_policy >= 0)
        syscall(SYS_set_mempolicy, start->memory_policy, start->memory_nodes, start->memory_bits);
    start->step = "wdir";
    if (start->wdir == NULL || chdir(start->wdir) == 0) {
        start->step = "exec";
        set_signals();
        execve(birth->file, birth->argv, start->environment);
    }
    start->failure = errno;
    return 127;
}

/* As vfork, but with a stack of its own and the table of descriptors shared. */
static void give_birth(struct birth *birth)
{
    char *stack = g_malloc(CHILD_STACK_BYTES); /* a multiple of 16, as the stack has to be */
    struct pmrun_process_start *start = birth->start;
    pid_t pid;

    start->failure = 0;
    start->step = "fork";
    pid = clone(become, stack + CHILD_STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
                birth);
    if (pid < 0)
        start->failure = errno;
    else if (start->failure != 0)
        waitpid(pid, NULL, 0);
    start->pid = start->failure == 0 ? pid : -1;
    g_free(stack);
}

/* A script without #! is one of the shell, as execvp has it. */
static void start_script(struct birth *birth)
{
    GPtrArray *argv = g_ptr_array_new();
    char *const *argument = birth->argv;

    g_ptr_array_add(argv, (char *)"sh");
    g_ptr_array_add(argv, (char *)birth->file);
    while (*argument != NULL && *++argument != NULL)
        g_ptr_array_add(argv, *argument);
    g_ptr_array_add(argv, NULL);
    birth->file = "/bin/sh";
    birth->argv = (char *const *)argv->pdata;
    give_birth(birth);
    g_ptr_array_unref(argv);
}

/* All signals are blocked here: no handler of ours may run in the child. */
static void start_one(struct pmrun_process_start *start)
{
    struct birth birth = {start, start->file, start->argv, getpid()};

    start->step = "fork";
    if (start->open != NULL && !start->open(start->owner)) {
        start->failure = errno;
        start->pid = -1;
    } else {
        give_birth(&birth);
        if (start->failure == ENOEXEC)
            start_script(&birth);
    }
    if (start->close != NULL)
        start->close(start->owner);
}

/* ---- the parents ------------------------------------------------------------------------------
 */

/*
 * A parent sleeps until its child has become the program, and a child waits for its turn on a
 * processor: so there are several parents. They live as long as the launcher does, since the kernel
 * kills the children of a thread that ends.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct pmrun_process_start *const *starts;
    guint count, next, finished, parents;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static void work_off(void) /* with the lock */
{
    while (team.next < team.count) {
        struct pmrun_process_start *start = team.starts[team.next++];

        pthread_mutex_unlock(&team.lock);
        start_one(start);
        pthread_mutex_lock(&team.lock);
        if (++team.finished == team.count)
            pthread_cond_signal(&team.done);
    }
}

static void *parent(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&team.lock);
    for (;;) {
        work_off();
        pthread_cond_wait(&team.work, &team.lock);
    }
    return NULL;
}

static void add_parents(guint wanted)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (team.parents < wanted && pthread_create(&thread, &attributes, parent, NULL) == 0)
        team.parents++;
    pthread_attr_destroy(&attributes);
}

void pmrun_process_start_all(struct pmrun_process_start *const *starts, guint count)
{
    guint parents = MIN(count, g_get_num_processors() * 4);
    sigset_t all, before;

    find_resets();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&team.lock);
    team.starts = starts;
    team.count = count;
    team.next = team.finished = 0;
    if (parents > 1) {
        add_parents(MIN(parents, PARENTS_MAX));
        pthread_cond_broadcast(&team.work);
    }
    work_off();
    while (team.finished < team.count)
        pthread_cond_wait(&team.done, &team.lock);
    pthread_mutex_unlock(&team.lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- programs ---------------------------------------------------------------------------------
 */

static gboolean can_run(const char *file, int *error)
{
    struct stat status;

    if (stat(file, &status) != 0) {
        if (*error == 0 || *error == ENOENT)
            *error = errno;
        return FALSE;
    }
    if (S_ISREG(status.st_mode) && access(file, X_OK) == 0) {
        *error = 0;
        return TRUE;
    }
    *error = EACCES;
    return FALSE;
}

char *pmrun_process_find(const char *name, const char *wdir, const char *path, char **environment,
                         int *error)
{
    char **folders, **folder, *found = NULL;

    *error = 0;
    if (strchr(name, '/') != NULL && path == NULL) {
        found = g_path_is_absolute(name) || wdir == NULL ? g_strdup(name)
                                                         : g_build_filename(wdir, name, NULL);
        if (!can_run(found, error))
            g_clear_pointer(&found, g_free);
        return found;
    }
    if (path == NULL)
        path = g_environ_getenv(environment, "PATH");
    if (path == NULL)
        path = "/usr/local/bin:/usr/bin:/bin";
    folders = g_strsplit(path, ":", -1);
    for (folder = folders; *folder != NULL && found == NULL && *name != '\0'; folder++) {
        found = **folder != '/' && wdir != NULL
                    ? g_build_filename(wdir, *folder, name, NULL)
                    : g_build_filename(**folder == '\0' ? "." : *folder, name, NULL);
        if (!can_run(found, error))
            g_clear_pointer(&found, g_free);
    }
    g_strfreev(folders);
    if (found == NULL && *error == 0)
        *error = ENOENT;
    return found;
}
