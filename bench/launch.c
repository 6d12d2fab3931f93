/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wall time of whole launches by pmrun and, if it is installed, MPICH's mpiexec (mpiexec.mpich), in
 * turn. Both launch the same program, which initialises PMI, fences and finalizes. The lower bound
 * is posix_spawn of a program that does nothing, one process after the other. The second
 * measurement is the rate of pairs that 64 processes put at the same time.
 *
 * The launched program is this one, with the arguments `rank` and a task; pmrun is in the same
 * folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmi.h>

#include "bench.h"
#include "pmi2.h"

#define TURNS_MAX 15
#define PUT_RANKS 64u
#define PUT_ROUNDS 40u
#define PUT_EACH 60u /* in a round: 64 are allowed */
#define PATH_BYTES 4096

extern char **environ;

static void fail(const char *what)
{
    fprintf(stderr, "bench-launch: %s\n", what);
    exit(1);
}

/* ---- a rank -----------------------------------------------------------------------------------
 */

static int rank_pmi1(void)
{
    int spawned;

    return PMI_Init(&spawned) != PMI_SUCCESS || PMI_Barrier() != PMI_SUCCESS ||
           PMI_Finalize() != PMI_SUCCESS;
}

static int rank_pmi2(void)
{
    int spawned, size, rank, appnum;

    return PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS ||
           PMI2_KVS_Fence() != PMI2_SUCCESS || PMI2_Finalize() != PMI2_SUCCESS;
}

/* Rank 0 prints how long all have put and fenced. */
static int rank_puts(void)
{
    char key[64], value[101];
    int spawned, size, rank, appnum;
    double started;
    unsigned i, round;

    if (PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS)
        return 1;
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    if (PMI2_KVS_Fence() != PMI2_SUCCESS)
        return 1;
    started = bench_seconds();
    for (round = 0; round < PUT_ROUNDS; round++) {
        for (i = 0; i < PUT_EACH; i++) {
            snprintf(key, sizeof(key), "key-%d-%u", rank, i);
            if (PMI2_KVS_Put(key, value) != PMI2_SUCCESS)
                return 1;
        }
        if (PMI2_KVS_Fence() != PMI2_SUCCESS)
            return 1;
    }
    if (rank == 0)
        printf("%.9f\n", bench_seconds() - started);
    return PMI2_Finalize() != PMI2_SUCCESS;
}

static int rank_main(const char *what)
{
    if (strcmp(what, "pmi1") == 0)
        return rank_pmi1();
    if (strcmp(what, "pmi2") == 0)
        return rank_pmi2();
    if (strcmp(what, "puts") == 0)
        return rank_puts();
    return strcmp(what, "nothing") != 0;
}

/* ---- launches ---------------------------------------------------------------------------------
 */

static char self[PATH_BYTES], pmrun[PATH_BYTES];

static void find_programs(void)
{
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (length <= 0 || (size_t)length + sizeof("pmrun") > sizeof(pmrun))
        fail("where this program is cannot be told");
    memcpy(pmrun, self, (size_t)length);
    slash = strrchr(pmrun, '/');
    memcpy(slash + 1, "pmrun", sizeof("pmrun"));
    if (access(pmrun, X_OK) != 0)
        fail("there is no pmrun beside this program; build it, too");
}

/* -1: there is no such program. `output`: descriptor for its standard output; -1: none. */
static pid_t begin(char **arguments, int output)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int error;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1);
    error = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0 && error != ENOENT)
        fail(strerror(error));
    return error == 0 ? pid : -1;
}

/* `pid`: -1 for any. */
static void finish(pid_t pid, const char *what)
{
    int status;

    if (waitpid(pid, &status, 0) <= 0 || status != 0)
        fail(what);
}

/* Seconds; below 0: there is no such launcher. `output`: as of begin(). */
static double launch(char *launcher, unsigned ranks, char *what, int output)
{
    char number[16], rank[] = "rank", option[] = "-n";
    char *arguments[] = {launcher, option, number, self, rank, what, NULL};
    double started = bench_seconds();
    pid_t pid;

    snprintf(number, sizeof(number), "%u", ranks);
    pid = begin(arguments, output);
    if (pid < 0)
        return -1;
    finish(pid, launcher);
    return bench_seconds() - started;
}

static double fork_and_exec(unsigned processes)
{
    char rank[] = "rank", what[] = "nothing";
    char *arguments[] = {self, rank, what, NULL};
    double started = bench_seconds();
    unsigned i;

    for (i = 0; i < processes; i++)
        if (begin(arguments, -1) < 0)
            fail("a process could not be started");
    for (i = 0; i < processes; i++)
        finish(-1, "a process that does nothing failed");
    return bench_seconds() - started;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void compare(struct bench *bench, unsigned ranks, unsigned turns, const char *title,
                    char *what)
{
    static char mpiexec[] = "mpiexec.mpich";
    double ours[TURNS_MAX], theirs[TURNS_MAX];
    char name[64];
    unsigned i;

    launch(pmrun, ranks, what, -1); /* not counted: reads the programs from the disk */
    for (i = 0; i < turns; i++) {
        ours[i] = launch(pmrun, ranks, what, -1);
        theirs[i] = launch(mpiexec, ranks, what, -1);
    }
    snprintf(name, sizeof(name), "%u ranks, %s: pmrun", ranks, title);
    bench_row(bench, name, bench_median(ours, turns) * 1e3, "ms",
              theirs[0] < 0 ? 0 : bench_median(theirs, turns) * 1e3);
}

static void alone(struct bench *bench, unsigned ranks, unsigned turns)
{
    char name[64], what[] = "pmi2";
    double seconds[TURNS_MAX];
    unsigned i;

    for (i = 0; i < turns; i++)
        seconds[i] = launch(pmrun, ranks, what, -1);
    snprintf(name, sizeof(name), "%u ranks, PMI-2: pmrun", ranks);
    bench_row(bench, name, bench_median(seconds, turns) * 1e3, "ms", 0);
}

static void floor_of(struct bench *bench, unsigned processes, unsigned turns)
{
    double seconds[TURNS_MAX];
    char name[64];
    unsigned i;

    for (i = 0; i < turns; i++)
        seconds[i] = fork_and_exec(processes);
    snprintf(name, sizeof(name), "%u processes, do nothing: fork, exec", processes);
    bench_row(bench, name, bench_median(seconds, turns) * 1e3, "ms", 0);
}

static double puts_per_second(char *launcher)
{
    char text[64], what[] = "puts";
    ssize_t length;
    int ends[2];
    double seconds;

    if (pipe2(ends, O_CLOEXEC) != 0)
        fail(strerror(errno));
    seconds = launch(launcher, PUT_RANKS, what, ends[1]);
    close(ends[1]);
    length = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    if (seconds < 0)
        return 0;
    text[length > 0 ? length : 0] = '\0';
    seconds = strtod(text, NULL);
    if (seconds <= 0)
        fail("rank 0 did not say how long it took");
    return PUT_RANKS * PUT_ROUNDS * PUT_EACH / seconds;
}

static void puts_row(struct bench *bench, unsigned turns)
{
    static char mpiexec[] = "mpiexec.mpich";
    double ours[TURNS_MAX], theirs[TURNS_MAX];
    unsigned i;

    for (i = 0; i < turns; i++) {
        ours[i] = puts_per_second(pmrun);
        theirs[i] = puts_per_second(mpiexec);
    }
    bench_row(bench, "64 ranks put at once: pmrun", bench_median(ours, turns), "puts/s",
              bench_median(theirs, turns));
}

int main(int argc, char **argv)
{
    static const struct {
        unsigned ranks, turns;
    } sizes[] = {{16, 15}, {64, 11}, {192, 9}};
    char pmi1[] = "pmi1", pmi2[] = "pmi2";
    struct bench bench;
    size_t i;

    if (argc == 3 && strcmp(argv[1], "rank") == 0)
        return rank_main(argv[2]);
    find_programs();
    bench_begin(&bench, "launch", argc, argv);
    bench_calibrate(&bench);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        floor_of(&bench, sizes[i].ranks, sizes[i].turns);
        compare(&bench, sizes[i].ranks, sizes[i].turns, "PMI-2", pmi2);
        compare(&bench, sizes[i].ranks, sizes[i].turns, "PMI-1", pmi1);
    }
    floor_of(&bench, 1024, 3);
    alone(&bench, 1024, 3);
    puts_row(&bench, 3);
    bench_end(&bench);
    return 0;
}
