/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What every benchmark program shares: a monotonic wall clock, and rows (name, value, unit,
 * reference, ratio) printed as a table, or as JSON with --json. `reference` is a figure taken in
 * the same run (a calibration loop, a competitor) or 0 when there is none; ratio = value /
 * reference.
 */
#ifndef JACQUARD_BENCH_H
#define JACQUARD_BENCH_H

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

static inline void bench_end(struct bench *bench)
{
    if (bench->json)
        printf("\n]}\n");
}

#endif
