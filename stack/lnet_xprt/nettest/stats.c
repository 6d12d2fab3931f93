/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Statistics: exact, so that the order of nodes and values does not matter. */
#include <inttypes.h>

#include "lib/arith.h"
#include "nettest/pvt.h"

__extension__ typedef unsigned __int128 wide_t;

static wide_t squares(const struct m0_nettest_moments *moments)
{
    return (wide_t)moments->squares[1] << 64 | moments->squares[0];
}

static void squares_set(struct m0_nettest_moments *moments, wide_t value)
{
    moments->squares[0] = (uint64_t)value;
    moments->squares[1] = (uint64_t)(value >> 64);
}

void m0_nettest_moments_add(struct m0_nettest_moments *moments, uint64_t value)
{
    moments->min = moments->count == 0 ? value : min_check(moments->min, value);
    moments->max = max_check(moments->max, value);
    moments->count++;
    moments->sum += value;
    squares_set(moments, squares(moments) + (wide_t)value * value);
}

static void moments_merge(struct m0_nettest_moments *all, const struct m0_nettest_moments *one)
{
    if (one->count == 0)
        return;
    all->min = all->count == 0 ? one->min : min_check(all->min, one->min);
    all->max = max_check(all->max, one->max);
    all->count += one->count;
    all->sum += one->sum;
    squares_set(all, squares(all) + squares(one));
}

uint64_t m0_nettest_average(const struct m0_nettest_moments *moments)
{
    return moments->count == 0 ? 0 : moments->sum / moments->count;
}

/* The largest integer whose square is not larger. */
static uint64_t root(wide_t value)
{
    uint64_t result = 0, bit;

    for (bit = 1ull << 63; bit > 0; bit >>= 1)
        if ((wide_t)(result | bit) * (result | bit) <= value)
            result |= bit;
    return result;
}

uint64_t m0_nettest_stddev(const struct m0_nettest_moments *moments)
{
    wide_t n = moments->count, sum = moments->sum;

    return n == 0 ? 0 : root((n * squares(moments) - sum * sum) / (n * n));
}

static void count_merge(struct m0_nettest_count *all, const struct m0_nettest_count *one)
{
    all->total += one->total;
    all->failed += one->failed;
    all->bad += one->bad;
}

void m0_nettest_stats_merge(struct m0_nettest_stats *all, const struct m0_nettest_stats *one)
{
    count_merge(&all->sent, &one->sent);
    count_merge(&all->received, &one->received);
    count_merge(&all->bulk_sent, &one->bulk_sent);
    count_merge(&all->bulk_received, &one->bulk_received);
    count_merge(&all->transfers, &one->transfers);
    all->lost += one->lost;
    all->timed_out += one->timed_out;
    moments_merge(&all->mps_sent, &one->mps_sent);
    moments_merge(&all->mps_received, &one->mps_received);
    moments_merge(&all->rtt, &one->rtt);
    if (one->time_start != 0)
        all->time_start =
            all->time_start == 0 ? one->time_start : min_check(all->time_start, one->time_start);
    all->time_finish = max_check(all->time_finish, one->time_finish);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_count(FILE *to, const char *name, const struct m0_nettest_count *count)
{
    fprintf(to, " %s_total %" PRIu64 " %s_failed %" PRIu64 " %s_bad %" PRIu64, name, count->total,
            name, count->failed, name, count->bad);
}

static void print_moments(FILE *to, const char *name, const struct m0_nettest_moments *moments)
{
    fprintf(to,
            " %s_count %" PRIu64 " %s_min %" PRIu64 " %s_max %" PRIu64 " %s_avg %" PRIu64
            " %s_stddev %" PRIu64,
            name, moments->count, name, moments->min, name, moments->max, name,
            m0_nettest_average(moments), name, m0_nettest_stddev(moments));
}

static void print_role(FILE *to, const char *role, const struct m0_nettest_stats *stats)
{
    fputs(role, to);
    print_count(to, "sent", &stats->sent);
    print_count(to, "received", &stats->received);
    print_count(to, "bulk_sent", &stats->bulk_sent);
    print_count(to, "bulk_received", &stats->bulk_received);
    print_count(to, "transfers", &stats->transfers);
    fprintf(to, " lost %" PRIu64 " timed_out %" PRIu64, stats->lost, stats->timed_out);
    print_moments(to, "mps_sent", &stats->mps_sent);
    print_moments(to, "mps_received", &stats->mps_received);
    print_moments(to, "rtt", &stats->rtt);
    fprintf(to, " time_start %" PRIu64 " time_finish %" PRIu64 "\n", stats->time_start,
            stats->time_finish);
}

void m0_nettest_print(const struct m0_nettest_result *result, FILE *to)
{
    print_role(to, "clients", &result->clients);
    print_role(to, "servers", &result->servers);
}

static uint64_t rate(uint64_t count, const struct m0_nettest_stats *stats)
{
    uint64_t time = stats->time_finish - stats->time_start;

    return time == 0 ? 0 : (uint64_t)((wide_t)count * M0_TIME_ONE_SECOND / time);
}

void m0_nettest_print_live(const struct m0_nettest_result *result, FILE *to)
{
    const struct m0_nettest_stats *stats = &result->clients;
    const struct m0_nettest_count *counts[] = {&stats->sent, &stats->received, &stats->bulk_sent,
                                               &stats->bulk_received};
    uint64_t failed = 0, bad = 0;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(counts); i++) {
        failed += counts[i]->failed;
        bad += counts[i]->bad;
    }
    fprintf(to,
            "sent %" PRIu64 " (%" PRIu64 "/s), received %" PRIu64 " (%" PRIu64
            "/s), transfers %" PRIu64 " (%" PRIu64 "/s), failed %" PRIu64 ", bad %" PRIu64
            ", lost %" PRIu64,
            stats->sent.total, rate(stats->sent.total, stats), stats->received.total,
            rate(stats->received.total, stats), stats->transfers.total,
            rate(stats->transfers.total, stats), failed, bad, stats->lost);
    if (stats->rtt.count > 0)
        fprintf(to, "; rtt %" PRIu64 "/%" PRIu64 "/%" PRIu64 " ns (min/avg/max), stddev %" PRIu64,
                stats->rtt.min, m0_nettest_average(&stats->rtt), stats->rtt.max,
                m0_nettest_stddev(&stats->rtt));
    fputc('\n', to);
}
