/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the report page shows of a run, collected from the points of the trace while it runs. The
 * memory is bounded: points are thinned out, and times are gathered in a fixed number of intervals.
 * All times are picoseconds of virtual time.
 */
#ifndef JACQUARD_REPORT_RECORD_H
#define JACQUARD_REPORT_RECORD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include "engine/trace.h"

#define RECORD_POINTS_MAX 160000u /* kept for the listing */
#define RECORD_ARGUMENTS_MAX 15u /* of a point */
#define RECORD_INTERVALS 256u /* of active time */
#define RECORD_COUNTERS_MAX 16384u /* counters that are gathered; further ones are left out */
#define RECORD_COUNTERS_SHOWN 256u /* of them in the page: those that went farthest */
#define RECORD_FLOWS_MAX (1u << 20) /* messages; later ones are left out */
#define RECORD_NONE UINT32_MAX

struct record_argument {
    uint32_t name, text; /* numbers of strings; text RECORD_NONE: `number` is the value */
    uint64_t number;
};

struct record_point {
    uint64_t order; /* number of the point in the run */
    sim_time_t time, duration;
    uint64_t flow;
    uint32_t node, index, name;
    uint32_t arguments; /* where they begin in `arguments` */
    uint8_t argument_count, track, kind;
    bool important; /* never thinned out */
};

/* A message, by the number of its flow. */
struct record_flow {
    sim_time_t begin, end; /* end: it last arrived; 0: never */
    sim_time_t settled, lost; /* 0: not */
    uint64_t bytes;
    uint32_t name, status; /* strings */
    uint32_t from, to, through; /* nodes */
    uint32_t from_rank, to_rank; /* strings, or RECORD_NONE */
    bool failed;
};

/* A quantity over time: sums of the intervals; of counters, which keep a value until the next one,
 * the largest value of the interval, or the smallest. */
struct record_series {
    uint32_t name; /* string */
    uint32_t track, node, index; /* of a counter or link */
    bool counter;
    bool smallest;
    float last; /* value of a counter */
    float extent; /* of a counter, when the page is written: how far it went */
    uint32_t used; /* last interval with a value, + 1 */
    float value[RECORD_INTERVALS];
};

/* A stretch of time that is left out of the active time. */
struct record_gap {
    sim_time_t begin, length;
    sim_time_t before; /* left out before it */
};

struct record {
    GHashTable *string_numbers; /* text → number + 1 */
    GPtrArray *strings; /* of the texts, which belong to the table */
    GArray *points; /* of struct record_point, in order */
    GArray *arguments; /* of struct record_argument */
    GArray *flows; /* of struct record_flow; [0] is not used */
    uint64_t flows_left_out; /* points of messages that are left out */
    uint64_t seen; /* points of the run */
    uint64_t stride; /* one of so many points or messages is kept */
    GArray *gaps; /* of struct record_gap, in order */
    sim_time_t latest; /* time at which something happened, waiting excepted */
    sim_time_t left_out; /* length of all gaps */
    sim_time_t width; /* of each interval of active time; 0: nothing has happened */
    GHashTable *series_of; /* set of struct record_series, by name and track */
    GPtrArray *series; /* in the order of creation */
    uint32_t counters; /* of them */
    bool counters_left_out;
    struct sim_trace_sink sink;
};

struct record *report_record_new(void); /* its `sink` is to be passed to the run */
void report_record_free(struct record *record);
uint32_t report_record_string(struct record *record, const char *text);

/* record_time.c: notes that something happened, before it is recorded */
void report_record_activity(struct record *record, const struct sim_trace_point *point);
/* record_time.c: the active time, which counts no gaps */
sim_time_t report_record_active(const struct record *record, sim_time_t time);
/* record_flows.c: what a point says about its message */
void report_record_flow(struct record *record, const struct sim_trace_point *point,
                        const struct sim_trace_argument *arguments, size_t number);
/* record_series.c: what a point adds to quantities over time */
void report_record_series(struct record *record, const struct sim_trace_point *point,
                          const struct sim_trace_argument *arguments, size_t number);
/* record_series.c: finds or makes a quantity; track RECORD_NONE: of the whole run */
struct record_series *report_record_quantity(struct record *record, const char *name,
                                             uint32_t track, uint32_t node, uint32_t index);
guint report_record_series_hash(gconstpointer key);
gboolean report_record_series_equal(gconstpointer a, gconstpointer b);

#endif
