/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/metrics.h"
#include "engine/outside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- histograms ------------------------------------------------------------------------------ */

#define SUB_BITS 6 /* 64 buckets per power of two */
#define SUB_COUNT (1u << SUB_BITS)
#define BUCKETS (sizeof((struct sim_histogram *)0)->buckets / sizeof(uint64_t))

/* Values below 64 have a bucket each, then the 58 powers of two from 2^6 to 2^63 have 64 each. */
_Static_assert(BUCKETS == (64 - SUB_BITS + 1) * SUB_COUNT, "buckets cover 64-bit values exactly");

static inline unsigned histogram_index(uint64_t value)
{
    unsigned power;

    if (value < SUB_COUNT)
        return (unsigned)value;
    power = 63 - (unsigned)__builtin_clzll(value);
    return (power - SUB_BITS + 1) * SUB_COUNT +
           (unsigned)(value >> (power - SUB_BITS) & (SUB_COUNT - 1));
}

/* The middle of a bucket: at most 1/128 away from every value in it. */
static uint64_t bucket_value(unsigned index)
{
    unsigned shift;
    uint64_t low;

    assert(index < BUCKETS);

    if (index < 2 * SUB_COUNT)
        return index;
    shift = index / SUB_COUNT - 1;
    low = (uint64_t)(SUB_COUNT + index % SUB_COUNT) << shift;
    return low + (1ull << shift) / 2;
}

static uint64_t value_within(const struct sim_histogram *histogram, unsigned index)
{
    uint64_t value = bucket_value(index);

    if (value < histogram->min)
        return histogram->min;
    return value > histogram->max ? histogram->max : value;
}

void sim_histogram_record(struct sim_histogram *histogram, uint64_t value)
{
    if (histogram->count == 0 || value < histogram->min)
        histogram->min = value;
    if (value > histogram->max)
        histogram->max = value;
    assert(histogram_index(value) < BUCKETS && histogram->min <= histogram->max);
    histogram->count++;
    histogram->sum += value;
    histogram->buckets[histogram_index(value)]++;
}

void sim_histogram_merge(struct sim_histogram *into, const struct sim_histogram *from)
{
    unsigned i;

    if (from->count == 0)
        return;
    assert(from->min <= from->max && into != from);
    if (into->count == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum += from->sum;
    for (i = 0; i < BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

/* How many values lie at or below the quantile: ceil(q * count), the product's rounding error
 * forgiven. */
static uint64_t quantile_rank(double q, uint64_t count)
{
    double exact = q * (double)count;
    uint64_t rank;

    assert(q > 0.0 && q < 1.0 && count > 0);
    exact -= exact * 0x1.0p-50;
    rank = (uint64_t)exact;
    if ((double)rank < exact)
        rank++;
    return rank < 1 ? 1 : rank > count ? count : rank;
}

uint64_t sim_histogram_quantile(const struct sim_histogram *histogram, double q)
{
    uint64_t rank, seen = 0;
    unsigned i;

    if (histogram->count == 0)
        return 0;
    if (!(q > 0.0)) /* not a number, too */
        return histogram->min;
    if (q >= 1.0)
        return histogram->max;
    rank = quantile_rank(q, histogram->count);
    for (i = histogram_index(histogram->min); i < BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank)
            break;
    }
    return i < BUCKETS ? value_within(histogram, i) : histogram->max;
}

void sim_histogram_for_each(const struct sim_histogram *histogram,
                            void (*visit)(uint64_t value, uint64_t count, void *arg), void *arg)
{
    unsigned i;

    for (i = 0; i < BUCKETS; i++)
        if (histogram->buckets[i] != 0)
            visit(value_within(histogram, i), histogram->buckets[i], arg);
}

double sim_histogram_mean(const struct sim_histogram *histogram)
{
    return histogram->count == 0 ? 0.0 : (double)histogram->sum / (double)histogram->count;
}

/* ---- registry ----------------------------------------------------------------------------------
 *
 * A metric is its own node in a table of chains. The engine depends on the C library only, so it
 * does not use GLib's table, which would also copy the part of a path before each look-up.
 * Recording does not look anything up.
 */

#define CHAINS 1024u

struct node {
    struct sim_metric metric; /* first: a metric is its node */
    struct node *chain;
};

static struct {
    struct sim_metric *first, *last;
    struct node *chains[CHAINS];
} metrics;

/* FNV-1a. For lookups only: nothing is listed in the order of the chains. */
static unsigned chain_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    size_t i;

    for (i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return hash % CHAINS;
}

static struct sim_metric *find(const char *name, size_t length)
{
    struct node *node = metrics.chains[chain_of(name, length)];

    for (; node != NULL; node = node->chain)
        if (strncmp(node->metric.name, name, length) == 0 && node->metric.name[length] == '\0')
            return &node->metric;
    return NULL;
}

static void *allocate(size_t bytes)
{
    void *memory;

    sim_outside_begin(); /* ranks share them */
    memory = calloc(1, bytes);
    sim_outside_end();
    if (memory == NULL)
        abort();
    return memory;
}

static struct sim_metric *find_or_create(const char *name, enum sim_metric_unit unit, int type)
{
    size_t length = strlen(name);
    struct sim_metric *metric = find(name, length);
    struct node *node, **chain;

    if (metric != NULL)
        return (int)metric->type == type && metric->unit == unit ? metric : NULL;
    node = allocate(sizeof *node);
    chain = &metrics.chains[chain_of(name, length)];
    node->chain = *chain;
    *chain = node;
    metric = &node->metric;
    metric->name = memcpy(allocate(length + 1), name, length);
    assert(type == SIM_METRIC_COUNTER || type == SIM_METRIC_GAUGE || type == SIM_METRIC_HISTOGRAM);
    metric->unit = unit;
    metric->type = type;
    if (type == SIM_METRIC_HISTOGRAM)
        metric->histogram = allocate(sizeof *metric->histogram);
    if (metrics.last != NULL)
        metrics.last->next = metric;
    else
        metrics.first = metric;
    metrics.last = metric;
    return metric;
}

struct sim_metric *sim_metric_counter(const char *name, enum sim_metric_unit unit)
{
    return find_or_create(name, unit, SIM_METRIC_COUNTER);
}

struct sim_metric *sim_metric_gauge(const char *name, enum sim_metric_unit unit)
{
    return find_or_create(name, unit, SIM_METRIC_GAUGE);
}

struct sim_metric *sim_metric_histogram(const char *name, enum sim_metric_unit unit)
{
    return find_or_create(name, unit, SIM_METRIC_HISTOGRAM);
}

struct sim_metric *sim_metric_find(const char *name)
{
    return find(name, strlen(name));
}

void sim_metrics_for_each(void (*visit)(const struct sim_metric *, void *arg), void *arg)
{
    const struct sim_metric *metric;

    for (metric = metrics.first; metric != NULL; metric = metric->next)
        visit(metric, arg);
}

static bool histogram_field(const struct sim_histogram *histogram, const char *field, double *value)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = {{"min", 0.0},  {"p50", 0.5},    {"p90", 0.9},
                     {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}};
    unsigned i;

    for (i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        if (strcmp(field, quantiles[i].name) == 0) {
            *value = (double)sim_histogram_quantile(histogram, quantiles[i].q);
            return true;
        }
    }
    if (strcmp(field, "count") == 0)
        *value = (double)histogram->count;
    else if (strcmp(field, "mean") == 0)
        *value = sim_histogram_mean(histogram);
    else if (strcmp(field, "sum") == 0)
        *value = (double)histogram->sum;
    else
        return false;
    return true;
}

bool sim_metric_value(const char *path, double *value, enum sim_metric_unit *unit)
{
    const struct sim_metric *metric = sim_metric_find(path);
    const char *field = strrchr(path, '.');

    if (metric != NULL && metric->type != SIM_METRIC_HISTOGRAM) {
        *value = metric->type == SIM_METRIC_COUNTER ? (double)metric->counter : metric->gauge;
        if (unit != NULL)
            *unit = metric->unit;
        return true;
    }
    if (field == NULL)
        return false;
    metric = find(path, (size_t)(field - path));
    field++;
    if (metric == NULL || metric->type != SIM_METRIC_HISTOGRAM ||
        !histogram_field(metric->histogram, field, value))
        return false;
    if (unit != NULL)
        *unit = strcmp(field, "count") == 0 ? SIM_METRIC_COUNT : metric->unit;
    return true;
}

void sim_metrics_reset(void)
{
    struct sim_metric *metric, *next;

    for (metric = metrics.first; metric != NULL; metric = next) {
        next = metric->next;
        if (metric->type == SIM_METRIC_HISTOGRAM)
            free(metric->histogram);
        free(metric->name);
        free(sim_container_of(metric, struct node, metric));
    }
    memset(&metrics, 0, sizeof metrics);
}
