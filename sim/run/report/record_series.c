/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Quantities over time. All of them share one division of active time into RECORD_INTERVALS
 * intervals, which are joined in pairs when the run becomes longer.
 */
#include "record.h"

#include <string.h>
#include "engine/random.h"

#define FIRST_WIDTH (16 * SIM_NS)

/* ---- intervals ------------------------------------------------------------------------------- */

static void join_pairs(struct record_series *series)
{
    uint32_t i;
    float a, b;

    for (i = 0; i < RECORD_INTERVALS / 2; i++) {
        a = series->value[2 * i];
        b = series->value[2 * i + 1];
        if (!series->smallest)
            series->value[i] = series->counter ? MAX(a, b) : a + b;
        else
            series->value[i] = 2 * i + 1 < series->used ? MIN(a, b) : a;
    }
    memset(&series->value[i], 0, sizeof(float) * (RECORD_INTERVALS - i));
    series->used = (series->used + 1) / 2;
}

/* `active` is active time; RECORD_INTERVALS: behind the last one. */
static uint32_t interval_of(const struct record *record, sim_time_t active)
{
    return record->width != 0 ? (uint32_t)MIN(active / record->width, RECORD_INTERVALS) : 0;
}

/* Makes room for this time. */
static void reach(struct record *record, sim_time_t active)
{
    guint i;

    if (record->width == 0)
        record->width = FIRST_WIDTH;
    while (interval_of(record, active) >= RECORD_INTERVALS) {
        for (i = 0; i < record->series->len; i++)
            join_pairs(g_ptr_array_index(record->series, i));
        record->width *= 2;
    }
}

static void add(struct record *record, struct record_series *series, sim_time_t time, float value)
{
    sim_time_t active = report_record_active(record, time);
    uint32_t at;

    reach(record, active);
    at = interval_of(record, active);
    series->value[at] += value;
    series->used = MAX(series->used, at + 1);
}

/* The counter has this value from now on. An interval begins with the value of the one before it.
 * Before its first value a counter is 0; one of which the smallest values are kept has had the
 * first one. */
static void step(struct record *record, struct record_series *series, sim_time_t time, float value)
{
    sim_time_t active = report_record_active(record, time);
    uint32_t at, i;

    reach(record, active);
    at = interval_of(record, active);
    if (series->used == 0)
        series->last = series->smallest ? value : 0;
    for (i = series->used; i <= at; i++)
        series->value[i] = series->last;
    series->used = MAX(series->used, at + 1);
    series->value[at] =
        series->smallest ? MIN(series->value[at], value) : MAX(series->value[at], value);
    series->last = value;
}

/* Adds the part of [time, time + duration) that lies in each interval. Intervals that do not exist
 * yet get nothing. */
static void spread(const struct record *record, struct record_series *series, sim_time_t time,
                   sim_time_t duration)
{
    sim_time_t end = duration < SIM_NEVER - time ? time + duration : SIM_NEVER, from, to;
    uint32_t at;

    time = report_record_active(record, time);
    end = MIN(report_record_active(record, end), record->width * RECORD_INTERVALS);
    for (at = interval_of(record, time); at < RECORD_INTERVALS && time < end; at++) {
        from = MAX(at * record->width, time);
        to = MIN((at + 1) * record->width, end);
        if (from >= to)
            break;
        series->value[at] += (float)(to - from);
        series->used = at + 1 > series->used ? at + 1 : series->used;
    }
}

/* ---- quantities ------------------------------------------------------------------------------ */

struct record_series *report_record_quantity(struct record *record, const char *name,
                                             uint32_t track, uint32_t node, uint32_t index)
{
    struct record_series key = {
        .name = report_record_string(record, name), .track = track, .node = node, .index = index};
    struct record_series *series = g_hash_table_lookup(record->series_of, &key);

    if (series != NULL)
        return series;
    series = g_new0(struct record_series, 1);
    series->name = key.name;
    series->track = track;
    series->node = node;
    series->index = index;
    g_ptr_array_add(record->series, series);
    g_hash_table_add(record->series_of, series);
    return series;
}

guint report_record_series_hash(gconstpointer key)
{
    const struct record_series *series = key;

    return (guint)sim_mix(((uint64_t)series->node << 32 | series->index) ^
                          ((uint64_t)series->track << 32 | series->name) * 0x9e3779b97f4a7c15ull);
}

gboolean report_record_series_equal(gconstpointer a, gconstpointer b)
{
    const struct record_series *left = a, *right = b;

    return left->name == right->name && left->track == right->track && left->node == right->node &&
           left->index == right->index;
}

static struct record_series *of_run(struct record *record, const char *name)
{
    return report_record_quantity(record, name, RECORD_NONE, 0, 0);
}

static void count(struct record *record, const char *name, sim_time_t time, float value)
{
    add(record, of_run(record, name), time, value);
}

/* NULL: there are too many. */
static struct record_series *counter_of(struct record *record, const char *name, uint32_t track,
                                        uint32_t node, uint32_t index)
{
    struct record_series key = {
        .name = report_record_string(record, name), .track = track, .node = node, .index = index};
    struct record_series *series = g_hash_table_lookup(record->series_of, &key);

    if (series != NULL)
        return series;
    if (record->counters == RECORD_COUNTERS_MAX) {
        record->counters_left_out = true;
        return NULL;
    }
    record->counters++;
    series = report_record_quantity(record, name, track, node, index);
    series->counter = true;
    /* Credits are used up when there are none. */
    series->smallest = strcmp(name, "transmit credits") == 0;
    return series;
}

static void counter(struct record *record, const struct sim_trace_point *point)
{
    struct record_series *series =
        counter_of(record, point->name, point->track, point->node, point->index);

    if (series != NULL)
        step(record, series, point->time, (float)point->value);
}

/* Credits of SMSG that one node uses for messages to another: those that it has sent and the other
 * one has not yet received. Only such messages name their node. */
static void mailbox(struct record *record, const struct sim_trace_point *point,
                    const struct sim_trace_argument *arguments, size_t number)
{
    bool sent = strcmp(point->name, "send") == 0;
    const char *wanted = sent ? "to node" : "from node";
    struct record_series *series;
    uint32_t peer;
    size_t i;

    for (i = 0; i < number; i++)
        if (strcmp(arguments[i].name, wanted) == 0)
            break;
    if (i == number)
        return;
    peer = (uint32_t)arguments[i].number;
    series = counter_of(record, "SMSG credits in use", point->track, sent ? point->node : peer,
                        sent ? peer : point->node);
    if (series != NULL)
        step(record, series, point->time, MAX(0, series->last + (sent ? 1 : -1)));
}

static void link_busy(struct record *record, const struct sim_trace_point *point)
{
    if (point->kind != SIM_TRACE_SLICE)
        return;
    reach(record, report_record_active(record, point->time + point->duration));
    spread(record,
           report_record_quantity(record, "transfer", SIM_TRACK_LINK, point->node, point->index),
           point->time, point->duration);
}

static void rank_waits(struct record *record, const struct sim_trace_point *point)
{
    if (point->kind != SIM_TRACE_SLICE ||
        (strcmp(point->name, "idle") != 0 && strcmp(point->name, "wait") != 0))
        return;
    reach(record, report_record_active(record, record->latest));
    spread(record, of_run(record, "ranks waiting"), point->time, point->duration);
}

static void of_track(struct record *record, const char *track, const struct sim_trace_point *point,
                     const struct sim_trace_argument *arguments, size_t number)
{
    float bytes = (float)point->value;

    if (strcmp(track, "FMA") == 0 || strcmp(track, "BTE") == 0) {
        if (point->kind == SIM_TRACE_SLICE)
            count(record, "bytes sent", point->time, bytes);
    } else if (strcmp(track, "RX") == 0) {
        if (strcmp(point->name, "land") == 0)
            count(record, "bytes landed", point->time, bytes);
        else if (strcmp(point->name, "complete") == 0)
            count(record, point->value == 0 ? "transfers completed" : "transfers failed",
                  point->time, 1);
    } else if (strcmp(track, "CQ") == 0) {
        count(record, strcmp(point->name, "overrun") == 0 ? "queue overruns" : "queue events",
              point->time, 1);
    } else if (strcmp(track, "SMSG") == 0) {
        count(record, strstr(point->name, "send") != NULL ? "SMSG sent" : "SMSG received",
              point->time, 1);
        mailbox(record, point, arguments, number);
    } else if (strcmp(track, "LNet sends") == 0) {
        count(record, "LNet bytes sent", point->time, bytes);
    } else if (strcmp(track, "LNet receives") == 0) {
        count(record, "LNet bytes received", point->time, bytes);
    } else if (strcmp(track, "LNet connections") == 0 || strcmp(track, "connections") == 0) {
        char name[64];

        g_snprintf(name, sizeof(name), "%s: %.40s", track, point->name);
        spread(record, of_run(record, name), point->time, point->duration);
    }
}

void report_record_series(struct record *record, const struct sim_trace_point *point,
                          const struct sim_trace_argument *arguments, size_t number)
{
    if (point->kind == SIM_TRACE_COUNTER)
        counter(record, point);
    else if (point->track == SIM_TRACK_LINK)
        link_busy(record, point);
    else if (point->track == SIM_TRACK_RANK)
        rank_waits(record, point);
    else if (point->track == SIM_TRACK_FAULT)
        count(record, "faults", point->time, 1);
    else
        of_track(record, sim_trace_track_kind(point->track)->name, point, arguments, number);
}
