/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Active time: virtual time without long stretches in which nothing happened, such as the wait for
 * a timeout of seconds. A stretch is shortened to 1/128 of the active time before it, so that
 * there are few of them, and short ones stay as they are.
 */
#include "record.h"

#include <string.h>

#define SHORTEST (1 * SIM_US)

static bool is_named(const struct sim_trace_point *point, const char *name)
{
    return strcmp(point->name, name) == 0;
}

/* Whether something happens only at its end: points of that kind are written then. */
static bool is_written_at_end(const struct sim_trace_point *point)
{
    const char *track = sim_trace_track_kind(point->track)->name;

    return point->track == SIM_TRACK_RANK || strncmp(track, "LNet", 4) == 0;
}

static void happens(struct record *record, sim_time_t from, sim_time_t to)
{
    sim_time_t shown = report_record_active(record, record->latest) / 128;
    struct record_gap gap = {.begin = record->latest + MAX(shown, SHORTEST)};

    if (from > gap.begin) {
        gap.before = record->left_out;
        gap.length = from - gap.begin;
        record->left_out += gap.length;
        g_array_append_val(record->gaps, gap);
    }
    record->latest = MAX(record->latest, to);
}

void report_record_activity(struct record *record, const struct sim_trace_point *point)
{
    sim_time_t duration = point->kind == SIM_TRACE_SLICE ? point->duration : 0;
    sim_time_t end = duration < SIM_NEVER - point->time ? point->time + duration : point->time;

    if (point->track == SIM_TRACK_RANK && (is_named(point, "idle") || is_named(point, "wait")))
        return;
    happens(record, is_written_at_end(point) ? end : point->time, end);
}

sim_time_t report_record_active(const struct record *record, sim_time_t time)
{
    guint low = 0, high = record->gaps->len, middle;
    const struct record_gap *gap;

    while (low < high) {
        middle = (low + high) / 2;
        if (g_array_index(record->gaps, struct record_gap, middle).begin < time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return time;
    gap = &g_array_index(record->gaps, struct record_gap, low - 1);
    return time < gap->begin + gap->length ? gap->begin - gap->before
                                           : time - gap->before - gap->length;
}
