/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Workloads as programs of their own on a machine: run/workload.h over PMI, clock_gettime(2) and
 * POSIX threads. One process per rank, started by the machine's launcher.
 */
#ifndef JACQUARD_HW_RUNNER_H
#define JACQUARD_HW_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/arguments.h"

#define ARGUMENTS_MAX 64
#define METRICS_MAX 32
#define NAME_BYTES 48
#define BUCKETS 1024 /* 16 for each power of two */

/* ---- arguments (arguments.c) ----------------------------------------------------------------- */

/*
 * "4KiB", "10us", "0.5", "on", "put": what a scenario accepts. False: `problem` (of `size` bytes)
 * says what is allowed.
 */
bool hw_argument_parse(const struct workload_arg *arg, const char *text, struct value *value,
                       char *problem, size_t size);

/* ---- metrics (metrics.c) --------------------------------------------------------------------- */

enum hw_metric_kind { HW_METRIC_LATENCY, HW_METRIC_BANDWIDTH, HW_METRIC_RATE, HW_METRIC_COUNTER };

/* Without pointers, so that ranks can send it. */
struct metric {
    char name[NAME_BYTES]; /* "": none */
    enum hw_metric_kind kind;
    uint64_t count, sum, least, most;
    uint64_t buckets[BUCKETS];
};

void hw_metric_add(struct metric *metric, uint64_t value);
void hw_metric_merge(struct metric *into, const struct metric *from);
/* An estimate, within a sixteenth. */
uint64_t hw_metric_quantile(const struct metric *metric, double part);

/* ---- ranks (rank.c) -------------------------------------------------------------------------- */

struct rank {
    const struct workload *workload;
    struct value values[ARGUMENTS_MAX];
    uint32_t id, size, on_node;
    int *nodes; /* nid of each rank */
    uint8_t ptag;
    uint32_t cookie;
    uint64_t random;
    uint64_t alarm; /* ps of rank_now(); 0: none */
    struct metric *metrics; /* METRICS_MAX */
    uint64_t failures;
};

/* Joins the job. False: the standard error says what is missing. */
bool hw_rank_open(struct rank *rank, const struct workload *workload);
void hw_rank_close(struct rank *rank);
/* Zeroed memory, for free(). If there is none, the job ends. */
void *hw_allocate(size_t bytes);

#endif
