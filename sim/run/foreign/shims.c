/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions of the C library that a program must not reach: clock, sleep, exit, identity. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cray/huge_mmap.h"
#include "internal.h"
#include "cluster/cluster.h"

#define CLOCK_COST_PS (25 * SIM_NS) /* reading a clock */
#define YIELD_COST_PS (500 * SIM_NS) /* sched_yield() */

/* ---- time ------------------------------------------------------------------------------------ */

sim_time_t foreign_clock(void)
{
    sim_spend(CLOCK_COST_PS);
    sim_settle();
    return sim_clock_read();
}

/* Waits by a timer and does not charge CPU time. The timer is cancelled if the thread is killed. */
void foreign_sleep(sim_time_t ps)
{
    static const struct sim_wait wait = {.text = "sleep"};
    sim_time_t until;

    sim_settle();
    until = sim_now() + ps;
    while (sim_now() < until)
        sim_wait_until(until, &wait);
}

static sim_time_t ps_of(int64_t seconds, int64_t nanoseconds)
{
    /* A time beyond the range of the virtual clock means for ever. */
    if (seconds > 10000000)
        return 10000000 * SIM_S;
    return (sim_time_t)seconds * SIM_S + (sim_time_t)nanoseconds * SIM_NS;
}

static int shim_clock_gettime(clockid_t clock, struct timespec *to)
{
    bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    sim_time_t now = foreign_clock();

    to->tv_sec = (time_t)(now / SIM_S) + (wall ? FOREIGN_BOOTED_S : 0);
    to->tv_nsec = (long)(now % SIM_S / SIM_NS);
    return 0;
}

static int shim_gettimeofday(struct timeval *to, void *zone)
{
    sim_time_t now = foreign_clock();

    to->tv_sec = (time_t)(now / SIM_S) + FOREIGN_BOOTED_S;
    to->tv_usec = (suseconds_t)(now % SIM_S / SIM_US);
    return 0;
}

static time_t shim_time(time_t *to)
{
    time_t now = (time_t)(foreign_clock() / SIM_S) + FOREIGN_BOOTED_S;

    if (to != NULL)
        *to = now;
    return now;
}

static clock_t shim_clock(void)
{
    return (clock_t)(foreign_clock() / (SIM_S / CLOCKS_PER_SEC));
}

static int shim_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (wanted->tv_sec < 0 || wanted->tv_nsec < 0 || wanted->tv_nsec >= 1000000000) {
        errno = EINVAL;
        return -1;
    }
    foreign_sleep(ps_of(wanted->tv_sec, wanted->tv_nsec));
    if (left != NULL)
        left->tv_sec = left->tv_nsec = 0;
    return 0;
}

static int shim_clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                                struct timespec *left)
{
    sim_time_t now;
    int64_t seconds = wanted->tv_sec - (clock == CLOCK_REALTIME ? FOREIGN_BOOTED_S : 0);

    if (!(flags & TIMER_ABSTIME))
        return shim_nanosleep(wanted, left) == 0 ? 0 : EINVAL;
    now = foreign_clock();
    if (seconds >= 0 && ps_of(seconds, wanted->tv_nsec) > now)
        foreign_sleep(ps_of(seconds, wanted->tv_nsec) - now);
    return 0;
}

static int shim_usleep(useconds_t us)
{
    foreign_sleep((sim_time_t)us * SIM_US);
    return 0;
}

static unsigned shim_sleep(unsigned seconds)
{
    foreign_sleep(ps_of(seconds, 0));
    return 0;
}

static int shim_sched_yield(void)
{
    foreign_sleep(YIELD_COST_PS);
    return 0;
}

static int shim_poll(struct pollfd *descriptors, nfds_t count, int timeout_ms)
{
    return aries_poll(descriptors, count,
                      timeout_ms < 0 ? SIM_NEVER : (sim_time_t)timeout_ms * SIM_MS);
}

static nfds_t descriptors_of(int count, const fd_set *reading, const fd_set *writing,
                             struct pollfd *descriptors)
{
    nfds_t found = 0;
    int i;

    for (i = 0; i < count && i < FD_SETSIZE; i++) {
        short events = (short)((reading != NULL && FD_ISSET(i, reading) ? POLLIN : 0) |
                               (writing != NULL && FD_ISSET(i, writing) ? POLLOUT : 0));

        if (events != 0)
            descriptors[found++] = (struct pollfd){.fd = i, .events = events};
    }
    return found;
}

static int shim_select(int count, fd_set *reading, fd_set *writing, fd_set *others,
                       struct timeval *timeout)
{
    struct pollfd *descriptors = calloc(FD_SETSIZE, sizeof(*descriptors));
    sim_time_t limit =
        timeout == NULL ? SIM_NEVER : ps_of(timeout->tv_sec, timeout->tv_usec * 1000);
    nfds_t watched, i;
    int ready = 0;

    if (descriptors == NULL)
        return -1;
    watched = descriptors_of(count, reading, writing, descriptors);
    if (aries_poll(descriptors, watched, limit) < 0)
        watched = 0;
    if (reading != NULL)
        FD_ZERO(reading);
    if (writing != NULL)
        FD_ZERO(writing);
    if (others != NULL)
        FD_ZERO(others);
    for (i = 0; i < watched; i++) {
        if (reading != NULL && descriptors[i].revents & (POLLIN | POLLHUP | POLLERR)) {
            FD_SET(descriptors[i].fd, reading);
            ready++;
        }
        if (writing != NULL && descriptors[i].revents & POLLOUT) {
            FD_SET(descriptors[i].fd, writing);
            ready++;
        }
    }
    free(descriptors);
    return ready;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void shim_exit(int code)
{
    foreign_exit(foreign_self(), code);
}

static void shim_quit(int code)
{
    rank_exit(foreign_self()->rank, code);
}

static void shim_abort(void)
{
    foreign_abort(foreign_self(), "called abort()");
}

static void shim_assert_fail(const char *what, const char *file, unsigned line,
                             const char *function)
{
    char text[512];

    snprintf(text, sizeof(text), "%s:%u: %s: Assertion `%s' failed", file, line, function, what);
    foreign_abort(foreign_self(), text);
}

/* atexit() of the C library's static part comes here, too. */
static int shim_cxa_atexit(void (*call)(void *arg), void *arg, void *object)
{
    struct foreign_exit_handler *handler = malloc(sizeof(*handler));
    struct foreign_process *process = foreign_self();

    if (handler == NULL)
        return -1;
    *handler = (struct foreign_exit_handler){process->exit_handlers, call, arg};
    process->exit_handlers = handler;
    return 0;
}

/* Nothing to do: foreign_exit() has called all of them, in order. */
static void shim_cxa_finalize(void *object)
{
}

static int no_processes(void)
{
    errno = ENOSYS;
    return -1;
}

static void *no_pipe(const char *command, const char *type)
{
    errno = ENOSYS;
    return NULL;
}

/* ---- who am I -------------------------------------------------------------------------------- */

static pid_t shim_getpid(void)
{
    return (pid_t)RANK_PID(foreign_self()->rank->id);
}

static pid_t shim_getppid(void)
{
    return 1;
}

/* All ranks have the same ordinary user id. */
static uid_t shim_getuid(void)
{
    return foreign_self()->rank->app->scenario->privileged ? 0 : 1000;
}

static int shim_gethostname(char *name, size_t size)
{
    if (size == 0 || snprintf(name, size, "nid%05u", foreign_self()->rank->node) >= (int)size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

static int shim_uname(struct utsname *to)
{
    memset(to, 0, sizeof(*to));
    snprintf(to->sysname, sizeof(to->sysname), "Linux");
    snprintf(to->release, sizeof(to->release), "4.12.14-cray_ari_c");
    snprintf(to->version, sizeof(to->version), "#1 SMP");
    snprintf(to->machine, sizeof(to->machine), "x86_64");
    return shim_gethostname(to->nodename, sizeof(to->nodename));
}

/* ---- state that the C library keeps once per process ----------------------------------------- */

static long shim_random(void)
{
    int32_t number;

    random_r(&foreign_self()->random, &number);
    return number;
}

static int shim_rand(void)
{
    return (int)shim_random();
}

static void shim_srandom(unsigned seed)
{
    srandom_r(seed, &foreign_self()->random);
}

static char *shim_strtok(char *text, const char *delimiters)
{
    return strtok_r(text, delimiters, &foreign_self()->strtok_next);
}

/*
 * getopt() uses the library's own variables. They are set to the rank's values before the call and
 * copied back after it. A rank parses its arguments without a break, so the hidden state of
 * getopt() is right, too.
 */
static int parse(int count, char **arguments, const char *options, const struct option *longs,
                 int *index)
{
    struct foreign_variables *mine = &foreign_self()->variables;
    int found;

    optind = mine->parsing ? *(int *)mine->at[FOREIGN_OPTIND] : 0; /* 0: start again */
    opterr = *(int *)mine->at[FOREIGN_OPTERR];
    mine->parsing = true;
    found = longs != NULL ? getopt_long(count, arguments, options, longs, index)
                          : getopt(count, arguments, options);
    *(int *)mine->at[FOREIGN_OPTIND] = optind;
    *(int *)mine->at[FOREIGN_OPTOPT] = optopt;
    *(char **)mine->at[FOREIGN_OPTARG] = optarg;
    return found;
}

static int shim_getopt(int count, char **arguments, const char *options)
{
    return parse(count, arguments, options, NULL, NULL);
}

static int shim_getopt_long(int count, char **arguments, const char *options,
                            const struct option *longs, int *index)
{
    return parse(count, arguments, options, longs, index);
}

/* All threads share one CPU of the host, so a rank cannot change its affinity. */
static int nothing(void)
{
    return 0;
}

static const struct foreign_shim *const tables[] = {foreign_shims, foreign_environment_shims,
                                                    foreign_thread_shims, foreign_lock_shims,
                                                    foreign_file_shims};

void *foreign_shim_find(const char *name)
{
    const struct foreign_shim *shim;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(tables); i++)
        for (shim = tables[i]; shim->name != NULL; shim++)
            if (strcmp(shim->name, name) == 0)
                return shim->function;
    return NULL;
}

const struct foreign_shim foreign_shims[] = {{"clock_gettime", (void *)shim_clock_gettime},
                                             {"gettimeofday", (void *)shim_gettimeofday},
                                             {"time", (void *)shim_time},
                                             {"clock", (void *)shim_clock},
                                             {"nanosleep", (void *)shim_nanosleep},
                                             {"clock_nanosleep", (void *)shim_clock_nanosleep},
                                             {"usleep", (void *)shim_usleep},
                                             {"sleep", (void *)shim_sleep},
                                             {"sched_yield", (void *)shim_sched_yield},
                                             {"pthread_yield", (void *)shim_sched_yield},
                                             {"poll", (void *)shim_poll},
                                             {"select", (void *)shim_select},
                                             {"exit", (void *)shim_exit},
                                             {"_exit", (void *)shim_quit},
                                             {"_Exit", (void *)shim_quit},
                                             {"quick_exit", (void *)shim_quit},
                                             {"abort", (void *)shim_abort},
                                             {"__assert_fail", (void *)shim_assert_fail},
                                             {"__cxa_atexit", (void *)shim_cxa_atexit},
                                             {"__cxa_finalize", (void *)shim_cxa_finalize},
                                             {"fork", (void *)no_processes},
                                             {"vfork", (void *)no_processes},
                                             {"system", (void *)no_processes},
                                             {"popen", (void *)no_pipe},
                                             {"execv", (void *)no_processes},
                                             {"execve", (void *)no_processes},
                                             {"execvp", (void *)no_processes},
                                             {"execl", (void *)no_processes},
                                             {"execlp", (void *)no_processes},
                                             {"getpid", (void *)shim_getpid},
                                             {"getppid", (void *)shim_getppid},
                                             {"gettid", (void *)shim_getpid},
                                             {"getuid", (void *)shim_getuid},
                                             {"geteuid", (void *)shim_getuid},
                                             {"gethostname", (void *)shim_gethostname},
                                             {"uname", (void *)shim_uname},
                                             {"rand", (void *)shim_rand},
                                             {"random", (void *)shim_random},
                                             {"srand", (void *)shim_srandom},
                                             {"srandom", (void *)shim_srandom},
                                             {"strtok", (void *)shim_strtok},
                                             {"getopt", (void *)shim_getopt},
                                             {"getopt_long", (void *)shim_getopt_long},
                                             {"mmap", (void *)cray_huge_mmap},
                                             {"mmap64", (void *)cray_huge_mmap},
                                             {"sched_setaffinity", (void *)nothing},
                                             {"pthread_setaffinity_np", (void *)nothing},
                                             {"pthread_setname_np", (void *)nothing},
                                             {"setpriority", (void *)nothing},
                                             {NULL, NULL}};
