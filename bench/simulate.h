/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processor time and memory of a run of a scenario. */
#ifndef JACQUARD_BENCH_SIMULATE_H
#define JACQUARD_BENCH_SIMULATE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct cost {
    double seconds; /* of processor time */
    double bytes; /* at most resident */
};

/* Runs the scenario in sim-run, which is beside the program. Exits if it does not hold. */
static inline struct cost simulate(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline struct cost simulate(const char *format, ...)
{
    char program[4096], file[] = "/tmp/bench-XXXXXX";
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 16);
    int fd = mkstemp(file), status = 0;
    FILE *scenario = fd < 0 ? NULL : fdopen(fd, "w");
    struct rusage usage;
    char *end;
    va_list args;
    pid_t pid;

    if (length <= 0 || scenario == NULL)
        exit(1);
    program[length] = '\0';
    end = strrchr(program, '/') + 1;
    snprintf(end, sizeof(program) - (size_t)(end - program), "sim-run");
    va_start(args, format);
    vfprintf(scenario, format, args);
    va_end(args);
    fclose(scenario);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        execl(program, program, "--quiet", file, NULL);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
        fprintf(stderr, "%s %s failed\n", program, file);
        exit(1);
    }
    unlink(file);
    return (struct cost){(double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6 +
                             (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6,
                         (double)usage.ru_maxrss * 1024};
}

#endif
