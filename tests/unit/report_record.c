/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the report page keeps of a run: active time, messages, and points that are thinned out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "record.h"

enum { SENDS = 1, ARRIVES = 3 };
static const struct sim_trace_track sender = {"FMA", &sim_trace_nodes, false, NULL};
static const struct sim_trace_track receiver = {"RX", &sim_trace_nodes, false, NULL};

static void put(struct record *record, struct sim_trace_point point)
{
    record->sink.point(record->sink.arg, &point, NULL, 0);
}

static void send_message(struct record *record, uint64_t flow, sim_time_t time)
{
    put(record, (struct sim_trace_point){SIM_TRACE_SLICE, SENDS, 0, 0, "put", time, 5, flow, 8});
    put(record,
        (struct sim_trace_point){SIM_TRACE_INSTANT, ARRIVES, 4, 0, "land", time + 300, 0, flow, 8});
}

static int begin(void **state)
{
    sim_trace_track_register(SENDS, &sender);
    sim_trace_track_register(ARRIVES, &receiver);
    *state = report_record_new();
    return 0;
}

static int end(void **state)
{
    report_record_free(*state);
    return 0;
}

static void active_time_leaves_idle_time_out(void **state)
{
    struct record *record = *state;

    send_message(record, 1, 10 * SIM_NS);
    send_message(record, 2, 4000 * SIM_MS);
    send_message(record, 3, 4000 * SIM_MS + 500 * SIM_NS);
    assert_int_equal(record->gaps->len, 1);
    assert_int_equal(report_record_active(record, 10 * SIM_NS), 10 * SIM_NS);
    /* All of the gap is one point of active time. */
    assert_int_equal(report_record_active(record, 2000 * SIM_MS),
                     report_record_active(record, 4000 * SIM_MS));
    assert_in_range(report_record_active(record, 4000 * SIM_MS), 1 * SIM_US, 2 * SIM_US);
    assert_int_equal(report_record_active(record, 4000 * SIM_MS + 500 * SIM_NS),
                     report_record_active(record, 4000 * SIM_MS) + 500 * SIM_NS);
}

static void waiting_is_no_activity(void **state)
{
    struct record *record = *state;

    send_message(record, 1, 10 * SIM_NS);
    put(record, (struct sim_trace_point){SIM_TRACE_SLICE, SIM_TRACK_RANK, 0, 0, "idle", 20 * SIM_NS,
                                         900 * SIM_MS, 0, 0});
    assert_int_equal(record->latest, 10 * SIM_NS + 300);
}

static void message_has_both_ends_and_its_loss(void **state)
{
    struct record *record = *state;
    const struct record_flow *flow;

    send_message(record, 7, 1000);
    put(record, (struct sim_trace_point){SIM_TRACE_SLICE, SENDS, 2, 0, "get", 2000, 5, 9, 64});
    put(record,
        (struct sim_trace_point){SIM_TRACE_INSTANT, SIM_TRACK_FAULT, 2, 0, "lost", 2100, 0, 9, 1});
    flow = &g_array_index(record->flows, struct record_flow, 7);
    assert_int_equal(flow->from, 0);
    assert_int_equal(flow->to, 4);
    assert_int_equal(flow->begin, 1000);
    assert_int_equal(flow->end, 1300);
    assert_int_equal(flow->lost, 0);
    flow = &g_array_index(record->flows, struct record_flow, 9);
    assert_int_equal(flow->lost, 2100);
    assert_int_equal(flow->end, 0);
    assert_int_equal(flow->bytes, 64);
    assert_int_equal(g_array_index(record->flows, struct record_flow, 8).name, RECORD_NONE);
}

/* Ten times as many points as there is room for: faults and lost messages stay. */
static void memory_is_bounded_and_faults_are_kept(void **state)
{
    const uint64_t messages = RECORD_POINTS_MAX * 5;
    struct record *record = *state;
    uint64_t flow, lost = 0, faults = 0;
    guint i;

    for (flow = 1; flow <= messages; flow++) {
        if (flow % 50000 == 0)
            put(record, (struct sim_trace_point){SIM_TRACE_INSTANT, SIM_TRACK_FAULT, 0, 0, "lost",
                                                 flow * 1000, 0, flow, 1});
        send_message(record, flow, flow * 1000);
        assert_true(record->points->len <= RECORD_POINTS_MAX);
    }
    assert_int_equal(record->seen, messages * 2 + messages / 50000);
    assert_true(record->stride >= 8);
    for (i = 0; i < record->points->len; i++) {
        const struct record_point *point = &g_array_index(record->points, struct record_point, i);

        faults += point->track == SIM_TRACK_FAULT;
        lost += point->track != SIM_TRACK_FAULT && point->flow % 50000 == 0;
    }
    assert_int_equal(faults, messages / 50000);
    assert_int_equal(lost, messages / 50000 * 2);
}

/* Sums survive the joining of intervals, however long the run becomes. */
static void sums_over_time_are_exact(void **state)
{
    struct record *record = *state;
    const struct record_series *series = NULL;
    double sum = 0;
    uint64_t flow;
    guint i;

    for (flow = 1; flow <= 5000; flow++)
        send_message(record, flow, flow * flow * 100);
    for (i = 0; i < record->series->len; i++) {
        series = g_ptr_array_index(record->series, i);
        if (strcmp(g_ptr_array_index(record->strings, series->name), "bytes landed") == 0)
            break;
    }
    assert_true(i < record->series->len);
    for (i = 0; i < RECORD_INTERVALS; i++)
        sum += (double)series->value[i];
    assert_int_equal((uint64_t)sum, 5000 * 8);
    assert_in_range(series->used, RECORD_INTERVALS / 2, RECORD_INTERVALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(active_time_leaves_idle_time_out, begin, end),
        cmocka_unit_test_setup_teardown(waiting_is_no_activity, begin, end),
        cmocka_unit_test_setup_teardown(message_has_both_ends_and_its_loss, begin, end),
        cmocka_unit_test_setup_teardown(memory_is_bounded_and_faults_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(sums_over_time_are_exact, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
