/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "runner.h"

/* Values below 16 have a bucket each; above, there are 16 buckets for each power of two. */
static unsigned bucket_of(uint64_t value)
{
    unsigned power;

    if (value < 16)
        return (unsigned)value;
    power = 63 - (unsigned)__builtin_clzll(value);
    return (power - 3) * 16 + (unsigned)(value >> (power - 4) & 15);
}

static uint64_t middle_of(unsigned bucket)
{
    unsigned power = bucket / 16 + 3;

    if (bucket < 16)
        return bucket;
    return ((16ull + bucket % 16) << (power - 4)) + (1ull << (power - 4)) / 2;
}

void hw_metric_add(struct metric *metric, uint64_t value)
{
    metric->least = metric->count == 0 || value < metric->least ? value : metric->least;
    metric->most = value > metric->most ? value : metric->most;
    metric->count++;
    metric->sum += value;
    metric->buckets[bucket_of(value)]++;
}

void hw_metric_merge(struct metric *into, const struct metric *from)
{
    unsigned i;

    if (from->count == 0)
        return;
    if (into->count == 0 || from->least < into->least)
        into->least = from->least;
    if (from->most > into->most)
        into->most = from->most;
    into->count += from->count;
    into->sum += from->sum;
    for (i = 0; i < BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

uint64_t hw_metric_quantile(const struct metric *metric, double part)
{
    uint64_t wanted = (uint64_t)(part * (double)metric->count), seen = 0, value;
    unsigned i;

    for (i = 0; i < BUCKETS; i++) {
        seen += metric->buckets[i];
        if (seen > wanted)
            break;
    }
    value = i < BUCKETS ? middle_of(i) : metric->most;
    return value < metric->least ? metric->least : value > metric->most ? metric->most : value;
}
