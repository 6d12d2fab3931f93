/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/metrics.h"
#include "engine/random.h"

#define VALUES 20000

static int teardown(void **state)
{
    sim_metrics_reset();
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void expect_close(uint64_t got, uint64_t exact)
{
    double error = got > exact ? (double)(got - exact) : (double)(exact - got);

    if (error > 0.016 * (double)exact)
        fail_msg("%llu is not within 1.6 %% of %llu", (unsigned long long)got,
                 (unsigned long long)exact);
}

/* ---- histograms ------------------------------------------------------------------------------ */

static void empty_histogram(void **state)
{
    static struct sim_histogram histogram;

    assert_int_equal(sim_histogram_quantile(&histogram, 0.0), 0);
    assert_int_equal(sim_histogram_quantile(&histogram, 0.5), 0);
    assert_int_equal(sim_histogram_quantile(&histogram, 1.0), 0);
    assert_true(sim_histogram_mean(&histogram) == 0.0);
}

/* Each power of two, its neighbours, and the ends of the range: alone, every quantile is the value
 * itself. */
static void one_value_is_every_quantile(void **state)
{
    static const double quantiles[] = {-1.0, 0.0, 1e-9, 0.5, 0.999, 1.0, 2.0, 0.0 / 0.0};
    struct sim_histogram *histogram = malloc(sizeof *histogram);
    unsigned bit, i;
    int near;
    uint64_t value;

    for (bit = 0; bit < 64; bit++) {
        for (near = -1; near <= 1; near++) {
            value = (1ull << bit) + (uint64_t)(int64_t)near;
            memset(histogram, 0, sizeof *histogram);
            sim_histogram_record(histogram, value);
            for (i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
                assert_true(sim_histogram_quantile(histogram, quantiles[i]) == value);
            assert_true(histogram->min == value && histogram->max == value);
        }
    }
    memset(histogram, 0, sizeof *histogram);
    sim_histogram_record(histogram, UINT64_MAX);
    sim_histogram_record(histogram, UINT64_MAX);
    assert_true(histogram->sum == 2 * (unsigned __int128)UINT64_MAX);
    assert_true(sim_histogram_mean(histogram) == 0x1p64);
    free(histogram);
}

/* Two distant values around one in the middle: the clamping to [min, max] does not affect it. */
static void every_bucket_is_narrow(void **state)
{
    struct sim_histogram *histogram = malloc(sizeof *histogram);
    struct sim_random random;
    unsigned i;
    uint64_t value;

    sim_random_init(&random, 3, "buckets", 0);
    for (i = 0; i < 5000; i++) {
        value = sim_random_next(&random) >> sim_random_below(&random, 64);
        memset(histogram, 0, sizeof *histogram);
        sim_histogram_record(histogram, 0);
        sim_histogram_record(histogram, value);
        sim_histogram_record(histogram, UINT64_MAX);
        if (value < 128)
            assert_true(sim_histogram_quantile(histogram, 0.5) == value);
        expect_close(sim_histogram_quantile(histogram, 0.5), value);
    }
    free(histogram);
}

static void small_values_are_exact(void **state)
{
    static struct sim_histogram histogram;
    unsigned value;

    for (value = 1; value <= 100; value++)
        sim_histogram_record(&histogram, value);
    for (value = 1; value <= 100; value++)
        assert_int_equal(sim_histogram_quantile(&histogram, value / 100.0), value);
    assert_true(sim_histogram_mean(&histogram) == 50.5);
}

static void quantiles_follow_a_sorted_sample(void **state)
{
    static const double quantiles[] = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999};
    uint64_t *values = malloc(VALUES * sizeof *values);
    struct sim_histogram *histogram = malloc(sizeof *histogram);
    struct sim_random random;
    unsigned shape, i;

    sim_random_init(&random, 4, "sample", 0);
    for (shape = 0; shape < 3; shape++) {
        memset(histogram, 0, sizeof *histogram);
        for (i = 0; i < VALUES; i++) {
            if (shape == 0)
                values[i] = sim_random_below(&random, 10000000);
            else if (shape == 1)
                values[i] = (uint64_t)sim_random_exponential(&random, 1.5e6);
            else /* two humps, one with a long tail */
                values[i] = i % 10 != 0 ? 1200000 + sim_random_below(&random, 50000)
                                        : sim_random_next(&random) >> (20 + i % 30);
            sim_histogram_record(histogram, values[i]);
        }
        qsort(values, VALUES, sizeof *values, compare);
        for (i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
            expect_close(sim_histogram_quantile(histogram, quantiles[i]),
                         values[(unsigned)(quantiles[i] * VALUES + 0.999999) - 1]);
        assert_true(sim_histogram_quantile(histogram, 0.0) == values[0]);
        assert_true(sim_histogram_quantile(histogram, 1.0) == values[VALUES - 1]);
    }
    free(histogram);
    free(values);
}

static void merge_is_recording_into_one(void **state)
{
    static struct sim_histogram parts[3], all, sum;
    struct sim_random random;
    unsigned i;
    uint64_t value;

    sim_random_init(&random, 5, "merge", 0);
    for (i = 0; i < 3000; i++) {
        value = 1000 + sim_random_below(&random, 1u << (i % 30));
        sim_histogram_record(&parts[i % 2], value); /* the third stays empty */
        sim_histogram_record(&all, value);
    }
    for (i = 0; i < 3; i++)
        sim_histogram_merge(&sum, &parts[(i + 2) % 3]);
    assert_memory_equal(&sum, &all, sizeof sum);
}

/* ---- registry -------------------------------------------------------------------------------- */

static void same_name_same_metric(void **state)
{
    struct sim_metric *latency = sim_metric_histogram("clients.latency", SIM_METRIC_PS);
    struct sim_metric *messages = sim_metric_counter("clients.messages", SIM_METRIC_COUNT);

    assert_non_null(latency);
    assert_ptr_equal(sim_metric_histogram("clients.latency", SIM_METRIC_PS), latency);
    assert_ptr_equal(sim_metric_counter("clients.messages", SIM_METRIC_COUNT), messages);
    assert_ptr_equal(sim_metric_find("clients.latency"), latency);
    assert_null(sim_metric_find("clients.latenc"));
    assert_null(sim_metric_find("clients.latency2"));
    assert_null(sim_metric_find(""));
}

static void another_type_or_unit_is_refused(void **state)
{
    assert_non_null(sim_metric_counter("x", SIM_METRIC_COUNT));
    assert_null(sim_metric_gauge("x", SIM_METRIC_COUNT));
    assert_null(sim_metric_histogram("x", SIM_METRIC_COUNT));
    assert_null(sim_metric_counter("x", SIM_METRIC_BYTES));
}

static void check_order(const struct sim_metric *metric, void *arg)
{
    unsigned *next = arg;
    char name[16];

    snprintf(name, sizeof name, "m%u", (*next)++ * 7919 % 3000);
    assert_string_equal(metric->name, name);
}

static void listed_in_order_of_creation(void **state)
{
    char name[16];
    unsigned i, next = 0;

    for (i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "m%u", i * 7919 % 3000);
        sim_metric_counter(name, SIM_METRIC_COUNT)->counter = i;
    }
    sim_metrics_for_each(check_order, &next);
    assert_int_equal(next, 3000);
    assert_int_equal(sim_metric_find("m1")->counter, 1679); /* 1679 * 7919 % 3000 == 1 */
}

static void values_by_path(void **state)
{
    static const struct {
        const char *path;
        double value;
        enum sim_metric_unit unit;
    } expected[] = {
        {"jobs.latency.count", 1000, SIM_METRIC_COUNT},
        {"jobs.latency.min", 1, SIM_METRIC_PS},
        {"jobs.latency.max", 1000, SIM_METRIC_PS},
        {"jobs.latency.mean", 500.5, SIM_METRIC_PS},
        {"jobs.latency.sum", 500500, SIM_METRIC_PS},
        {"jobs.rate", 2.5, SIM_METRIC_PER_S},
        {"jobs.sent", 42, SIM_METRIC_BYTES},
        {"sent", 7, SIM_METRIC_COUNT},
    };
    struct sim_metric *latency = sim_metric_histogram("jobs.latency", SIM_METRIC_PS);
    enum sim_metric_unit unit;
    double value;
    unsigned i;

    for (i = 1; i <= 1000; i++)
        sim_histogram_record(latency->histogram, i);
    sim_metric_gauge("jobs.rate", SIM_METRIC_PER_S)->gauge = 2.5;
    sim_metric_counter("jobs.sent", SIM_METRIC_BYTES)->counter = 42;
    sim_metric_counter("sent", SIM_METRIC_COUNT)->counter = 7;
    for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_true(sim_metric_value(expected[i].path, &value, &unit));
        assert_true(value == expected[i].value);
        assert_int_equal(unit, expected[i].unit);
    }
    assert_true(sim_metric_value("jobs.latency.p50", &value, NULL));
    expect_close((uint64_t)value, 500);
    assert_true(sim_metric_value("jobs.latency.p90", &value, NULL));
    expect_close((uint64_t)value, 900);
    assert_true(sim_metric_value("jobs.latency.p99", &value, &unit));
    expect_close((uint64_t)value, 990);
    assert_true(sim_metric_value("jobs.latency.p999", &value, NULL));
    expect_close((uint64_t)value, 999);
}

static void paths_that_name_nothing(void **state)
{
    static const char *const paths[] = {"jobs.latency",
                                        "jobs.latency.",
                                        "jobs.latency.p98",
                                        "jobs.sent.count",
                                        "jobs.sent.",
                                        "latency.count",
                                        "count",
                                        ".count",
                                        "",
                                        ".",
                                        "jobs.latency.count.min"};
    double value = 17.0;
    unsigned i;

    sim_metric_histogram("jobs.latency", SIM_METRIC_PS);
    sim_metric_counter("jobs.sent", SIM_METRIC_COUNT);
    for (i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_false(sim_metric_value(paths[i], &value, NULL));
    assert_true(value == 17.0);
}

static void reset_forgets(void **state)
{
    unsigned next = 0;

    sim_metric_histogram("x", SIM_METRIC_PS);
    sim_metrics_reset();
    assert_null(sim_metric_find("x"));
    sim_metrics_for_each(check_order, &next);
    assert_int_equal(next, 0);
    assert_non_null(sim_metric_counter("x", SIM_METRIC_COUNT));
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(empty_histogram),
        TEST(one_value_is_every_quantile),
        TEST(every_bucket_is_narrow),
        TEST(small_values_are_exact),
        TEST(quantiles_follow_a_sorted_sample),
        TEST(merge_is_recording_into_one),
        TEST(same_name_same_metric),
        TEST(another_type_or_unit_is_refused),
        TEST(listed_in_order_of_creation),
        TEST(values_by_path),
        TEST(paths_that_name_nothing),
        TEST(reset_forgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
