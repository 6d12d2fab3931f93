/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by all benchmark programs: a monotonic wall clock, and rows (name, value, unit,
 * reference, ratio) printed as a table, or as JSON with --json. `reference` is a figure taken in
 * the same run (a calibration loop, a competitor) or 0 when there is none; ratio = value /
 * reference.
 *
 * Every program also prints two figures of the machine that do not depend on our code
 * (bench_calibrate). They show whether figures of different times and machines can be compared.
 */
#ifndef JACQUARD_BENCH_H
#define JACQUARD_BENCH_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double bench_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline int bench_ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Sorts the values. */
static inline double bench_median(double *values, unsigned count)
{
    qsort(values, count, sizeof(values[0]), bench_ascending);
    return values[count / 2];
}

struct bench {
    int json, rows;
    const char *name;
};

static inline void bench_begin(struct bench *bench, const char *name, int argc, char **argv)
{
    bench->json = argc > 1 && strcmp(argv[argc - 1], "--json") == 0;
    bench->rows = 0;
    bench->name = name;
    if (bench->json)
        printf("{\"bench\": \"%s\", \"rows\": [", name);
    else
        printf("%-44s %14s %-12s %14s %8s\n", name, "value", "unit", "reference", "ratio");
}

static inline void bench_row(struct bench *bench, const char *name, double value, const char *unit,
                             double reference)
{
    double ratio = reference > 0 ? value / reference : 0;

    if (bench->json)
        printf("%s\n  {\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"reference\": %.6g, "
               "\"ratio\": %.4g}",
               bench->rows ? "," : "", name, value, unit, reference, ratio);
    else if (reference > 0)
        printf("%-44s %14.4g %-12s %14.4g %8.3g\n", name, value, unit, reference, ratio);
    else
        printf("%-44s %14.4g %-12s\n", name, value, unit);
    bench->rows++;
    fflush(stdout);
}

#define BENCH_HOLD_PENDING 1023u
#define BENCH_CHASE_LINES 65536u /* 4 MiB */

static inline uint64_t bench_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

/* Replaces the first key of a binary heap. */
static inline void bench_heap_replace(uint64_t *heap, uint32_t count, uint64_t key)
{
    uint32_t at = 0, child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

/* The hold model on a binary heap of keys that fits the first-level cache: M operations per s. */
static inline double bench_hold(void)
{
    static uint64_t heap[BENCH_HOLD_PENDING]; /* all 0: a heap */
    uint64_t random = 1, operations = 2000000, i;
    double started = 0;

    for (i = 0; i < operations; i++) {
        if (i == operations / 4)
            started = bench_seconds();
        bench_heap_replace(heap, BENCH_HOLD_PENDING, heap[0] + 1 + bench_random(&random) % 1000000);
    }
    return (double)(operations - operations / 4) / (bench_seconds() - started) / 1e6;
}

/* The time of a load whose address depends on the previous load, at random in 4 MiB: ns. */
static inline double bench_chase(void)
{
    uint32_t *order = malloc(BENCH_CHASE_LINES * sizeof(*order)), i, steps = 300000;
    char *lines = aligned_alloc(4096, BENCH_CHASE_LINES * 64u);
    void *volatile keep;
    void **at = (void **)lines;
    uint64_t random = 1;
    double seconds;

    if (order == NULL || lines == NULL)
        exit(1);
    for (i = 0; i < BENCH_CHASE_LINES; i++)
        order[i] = i;
    for (i = BENCH_CHASE_LINES - 1; i > 0; i--) { /* one cycle through all (Sattolo) */
        uint32_t other = (uint32_t)(bench_random(&random) % i), line = order[i];

        order[i] = order[other];
        order[other] = line;
    }
    for (i = 0; i < BENCH_CHASE_LINES; i++)
        *(void **)(lines + (size_t)i * 64) = lines + (size_t)order[i] * 64;
    seconds = bench_seconds();
    for (i = 0; i < steps; i++)
        at = *at;
    seconds = bench_seconds() - seconds;
    keep = at; /* the compiler must not remove the loop */
    (void)keep;
    free(order);
    free(lines);
    return seconds / steps * 1e9;
}

static inline void bench_calibrate(struct bench *bench)
{
    bench_row(bench, "this machine: hold model, 1 k pending", bench_hold(), "M/s", 0);
    bench_row(bench, "this machine: dependent load, 4 MiB", bench_chase(), "ns", 0);
}

static inline void bench_end(struct bench *bench)
{
    if (bench->json)
        printf("\n]}\n");
}

/* Whether programs are watched for the mistakes of docs/findings.md. */
static bool bench_checks;

/*
 * For ./dev bench counts, which runs one case at two lengths under an instruction counter:
 * `PROGRAM --once CASE LENGTH [--checks]` gives true, the case's name and its length.
 */
static inline bool bench_once(int argc, char **argv, const char **name, uint64_t *length)
{
    bench_checks = argc == 5 && strcmp(argv[4], "--checks") == 0;
    if (argc != 4 + bench_checks || strcmp(argv[1], "--once") != 0)
        return false;
    *name = argv[2];
    *length = strtoull(argv[3], NULL, 10);
    return true;
}

/* Prints the result of such a run: its messages, and the events and switches of the engine. */
static inline void bench_counted(uint64_t messages, uint64_t events, uint64_t switches)
{
    printf("{\"messages\": %" PRIu64 ", \"events\": %" PRIu64 ", \"switches\": %" PRIu64 "}\n",
           messages, events, switches);
}

#endif
