/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Metrics: named counters and HDR-style histograms (log-linear buckets, 64 per power of two: every
 * quantile is within 1.6 % of the true value, min, max, sum and count are exact). Names are dotted
 * paths such as "clients.latency"; units are part of the metric. Recording is O(1) and allocates
 * nothing.
 */
#ifndef JACQUARD_ENGINE_METRICS_H
#define JACQUARD_ENGINE_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/sim.h"

enum sim_metric_unit {
    SIM_METRIC_COUNT,
    SIM_METRIC_PS,
    SIM_METRIC_BYTES,
    SIM_METRIC_BYTES_PER_S,
    SIM_METRIC_PER_S,
    SIM_METRIC_RATIO
};

/* All zero: empty. */
struct sim_histogram {
    uint64_t count, min, max;
    unsigned __int128 sum;
    uint64_t buckets[59 * 64]; /* see histogram_index() in metrics.c */
};

void sim_histogram_record(struct sim_histogram *histogram, uint64_t value);
void sim_histogram_merge(struct sim_histogram *into, const struct sim_histogram *from);
/* The smallest value that at least q of all do not exceed; q=0 min, q=1 max, exact; 0 when empty.
 */
uint64_t sim_histogram_quantile(const struct sim_histogram *histogram, double q);
double sim_histogram_mean(const struct sim_histogram *histogram);
/* The buckets that are not empty, in order; `value` is a bucket's middle, between min and max. */
void sim_histogram_for_each(const struct sim_histogram *histogram,
                            void (*visit)(uint64_t value, uint64_t count, void *arg), void *arg);

struct sim_metric {
    char *name; /* owned by the registry */
    enum sim_metric_unit unit;
    enum { SIM_METRIC_COUNTER, SIM_METRIC_GAUGE, SIM_METRIC_HISTOGRAM } type;
    union {
        uint64_t counter;
        double gauge;
        struct sim_histogram *histogram;
    };
    struct sim_metric *next; /* order of creation */
};

/*
 * Find or create; the same name always gives the same metric. They live until sim_metrics_reset().
 * NULL when the name is taken by a metric of another type or unit.
 */
struct sim_metric *sim_metric_counter(const char *name, enum sim_metric_unit unit);
struct sim_metric *sim_metric_gauge(const char *name, enum sim_metric_unit unit);
struct sim_metric *sim_metric_histogram(const char *name, enum sim_metric_unit unit);
struct sim_metric *sim_metric_find(const char *name); /* NULL: none */
void sim_metrics_for_each(void (*visit)(const struct sim_metric *, void *arg), void *arg);

/*
 * The value that a scenario's expectation names: "jobs.latency.p99" is metric "jobs.latency", field
 * "p99". Fields of histograms: count min max mean sum p50 p90 p99 p999; a counter or gauge has no
 * field. False when there is no such metric. *unit may be NULL.
 */
bool sim_metric_value(const char *path, double *value, enum sim_metric_unit *unit);
void sim_metrics_reset(void); /* called by sim_fini */

#endif
