/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "record.h"

#include <string.h>
#include "engine/random.h"

/* When one of N points is kept, calls that take longer than N of so many parts of the active time
 * are kept, too. */
#define LONG_CALL_PARTS 30000u

uint32_t report_record_string(struct record *record, const char *text)
{
    gpointer number = g_hash_table_lookup(record->string_numbers, text);
    char *copy;

    if (number != NULL)
        return GPOINTER_TO_UINT(number) - 1;
    copy = g_strdup(text);
    g_ptr_array_add(record->strings, copy);
    g_hash_table_insert(record->string_numbers, copy, GUINT_TO_POINTER(record->strings->len));
    return record->strings->len - 1;
}

/* ---- points ---------------------------------------------------------------------------------- */

static bool is_kept(const struct record *record, const struct record_point *point)
{
    uint64_t stride = record->stride, what = point->flow != 0 ? point->flow : point->order;
    const struct record_flow *flow;

    if (point->important)
        return true;
    if (stride == 1)
        return true;
    if (point->track == SIM_TRACK_LINK || point->kind == SIM_TRACE_COUNTER)
        stride *= 8; /* links and counters have series of their own */
    if (sim_mix(what) % stride == 0)
        return true;
    if (point->flow != 0 && point->flow < record->flows->len) {
        flow = &g_array_index(record->flows, struct record_flow, point->flow);
        return flow->lost != 0 || flow->failed;
    }
    return point->track == SIM_TRACK_RANK &&
           point->duration / stride >
               report_record_active(record, record->latest) / LONG_CALL_PARTS;
}

/* Halves the number of points, or more, until a quarter of the room is free. */
static void thin_out(struct record *record)
{
    GArray *points = record->points, *arguments;
    struct record_point *point;
    guint from, to;

    while (points->len > RECORD_POINTS_MAX / 4 * 3 && record->stride < UINT64_C(1) << 40) {
        record->stride *= 2;
        for (from = to = 0; from < points->len; from++) {
            point = &g_array_index(points, struct record_point, from);
            if (is_kept(record, point))
                g_array_index(points, struct record_point, to++) = *point;
        }
        g_array_set_size(points, to);
    }
    arguments = g_array_new(FALSE, FALSE, sizeof(struct record_argument));
    for (from = 0; from < points->len; from++) {
        point = &g_array_index(points, struct record_point, from);
        if (point->argument_count != 0)
            g_array_append_vals(
                arguments,
                &g_array_index(record->arguments, struct record_argument, point->arguments),
                point->argument_count);
        point->arguments = arguments->len - point->argument_count;
    }
    g_array_unref(record->arguments);
    record->arguments = arguments;
}

static bool is_important(const struct sim_trace_point *point)
{
    return point->track == SIM_TRACK_FAULT || strcmp(point->name, "killed") == 0 ||
           strcmp(point->name, "overrun") == 0;
}

static void keep(struct record *record, struct record_point *kept,
                 const struct sim_trace_argument *arguments, size_t number)
{
    struct record_argument argument;
    size_t i;

    kept->arguments = record->arguments->len;
    kept->argument_count = (uint8_t)MIN(number, RECORD_ARGUMENTS_MAX);
    for (i = 0; i < kept->argument_count; i++) {
        argument.name = report_record_string(record, arguments[i].name);
        argument.text = arguments[i].text != NULL ? report_record_string(record, arguments[i].text)
                                                  : RECORD_NONE;
        argument.number = arguments[i].number;
        g_array_append_val(record->arguments, argument);
    }
    g_array_append_vals(record->points, kept, 1);
    if (record->points->len == RECORD_POINTS_MAX)
        thin_out(record);
}

static void take(void *arg, const struct sim_trace_point *point,
                 const struct sim_trace_argument *arguments, size_t number)
{
    struct record *record = arg;
    struct record_point kept = {
        .order = record->seen++,
        .time = point->time,
        .duration = point->kind == SIM_TRACE_SLICE ? point->duration : 0,
        .flow = point->flow,
        .node = point->node,
        .index = point->index,
        .track = (uint8_t)point->track,
        .kind = (uint8_t)point->kind,
        .important = is_important(point),
    };

    report_record_activity(record, point);
    report_record_flow(record, point, arguments, number);
    report_record_series(record, point, arguments, number);
    if (!is_kept(record, &kept))
        return;
    kept.name = report_record_string(record, point->name);
    keep(record, &kept, arguments, number);
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct record *report_record_new(void)
{
    struct record *record = g_new0(struct record, 1);

    record->string_numbers = g_hash_table_new(g_str_hash, g_str_equal);
    record->strings = g_ptr_array_new_with_free_func(g_free);
    record->points = g_array_new(FALSE, FALSE, sizeof(struct record_point));
    record->arguments = g_array_new(FALSE, FALSE, sizeof(struct record_argument));
    record->flows = g_array_new(FALSE, TRUE, sizeof(struct record_flow));
    record->gaps = g_array_new(FALSE, FALSE, sizeof(struct record_gap));
    record->stride = 1;
    record->series_of = g_hash_table_new(report_record_series_hash, report_record_series_equal);
    record->series = g_ptr_array_new_with_free_func(g_free);
    record->sink = (struct sim_trace_sink){take, record};
    return record;
}

void report_record_free(struct record *record)
{
    if (record == NULL)
        return;
    g_hash_table_destroy(record->string_numbers);
    g_ptr_array_unref(record->strings);
    g_array_unref(record->points);
    g_array_unref(record->arguments);
    g_array_unref(record->flows);
    g_array_unref(record->gaps);
    g_hash_table_destroy(record->series_of);
    g_ptr_array_unref(record->series);
    g_free(record);
}
