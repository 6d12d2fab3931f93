/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages: what the points of one flow say together. */
#include "record.h"

#include <string.h>

static const struct sim_trace_argument *find(const struct sim_trace_argument *arguments,
                                             size_t number, const char *name)
{
    size_t i;

    for (i = 0; i < number; i++)
        if (strcmp(arguments[i].name, name) == 0)
            return &arguments[i];
    return NULL;
}

static uint32_t text_of(struct record *record, const struct sim_trace_argument *arguments,
                        size_t number, const char *name)
{
    const struct sim_trace_argument *argument = find(arguments, number, name);

    return argument != NULL && argument->text != NULL ? report_record_string(record, argument->text)
                                                      : RECORD_NONE;
}

static struct record_flow *flow_at(struct record *record, uint64_t number)
{
    struct record_flow *flow;
    guint size = record->flows->len;

    if (number >= size) {
        g_array_set_size(record->flows, (guint)number + 1);
        for (; size <= number; size++) {
            flow = &g_array_index(record->flows, struct record_flow, size);
            flow->name = flow->status = flow->from = flow->to = flow->through = RECORD_NONE;
            flow->from_rank = flow->to_rank = RECORD_NONE;
        }
    }
    return &g_array_index(record->flows, struct record_flow, number);
}

/* A chunk of it leaves, or (LNet) it was sent as a whole. */
static void sent(struct record *record, struct record_flow *flow,
                 const struct sim_trace_point *point, const struct sim_trace_argument *arguments,
                 size_t number)
{
    const struct sim_trace_argument *to = find(arguments, number, "to node");

    if (flow->name == RECORD_NONE) {
        flow->name = report_record_string(record, point->name);
        flow->begin = point->time;
        flow->from = point->node;
        flow->from_rank = text_of(record, arguments, number, "from");
        flow->to_rank = text_of(record, arguments, number, "to");
    }
    if (to != NULL)
        flow->to = (uint32_t)to->number;
    flow->bytes += point->value;
}

/* A message of LNet, or the answer to it, which belongs to the same flow. */
static void sent_by_lnet(struct record *record, struct record_flow *flow,
                         const struct sim_trace_point *point,
                         const struct sim_trace_argument *arguments, size_t number)
{
    if (flow->name == RECORD_NONE)
        sent(record, flow, point, arguments, number);
    else
        flow->bytes = MAX(flow->bytes, point->value);
}

static void received_by_lnet(struct record_flow *flow, const struct sim_trace_point *point)
{
    sim_time_t time = point->time + point->duration;

    if (flow->end == 0) {
        flow->to = point->node;
        flow->end = time;
    } else if (point->node == flow->from) {
        flow->settled = time;
    }
}

static void arrived(struct record_flow *flow, uint32_t node, sim_time_t time)
{
    flow->to = node;
    flow->end = MAX(flow->end, time);
}

static void settled(struct record *record, struct record_flow *flow,
                    const struct sim_trace_point *point, const struct sim_trace_argument *arguments,
                    size_t number)
{
    flow->settled = point->time;
    flow->status = text_of(record, arguments, number, "status");
    flow->failed = point->value != 0;
}

void report_record_flow(struct record *record, const struct sim_trace_point *point,
                        const struct sim_trace_argument *arguments, size_t number)
{
    const struct sim_trace_track *kind = sim_trace_track_kind(point->track);
    struct record_flow *flow;

    if (point->flow >= RECORD_FLOWS_MAX)
        record->flows_left_out++;
    if (point->flow == 0 || point->flow >= RECORD_FLOWS_MAX)
        return;
    flow = flow_at(record, point->flow);
    if (point->track == SIM_TRACK_FAULT) {
        if (strcmp(point->name, "lost") == 0 && flow->lost == 0)
            flow->lost = point->time;
    } else if (strcmp(kind->name, "FMA") == 0 || strcmp(kind->name, "BTE") == 0) {
        sent(record, flow, point, arguments, number);
    } else if (strcmp(kind->name, "LNet sends") == 0) {
        sent_by_lnet(record, flow, point, arguments, number);
    } else if (strcmp(kind->name, "LNet receives") == 0) {
        received_by_lnet(flow, point);
    } else if (strcmp(kind->name, "LNet forwards") == 0) {
        flow->through = point->node;
    } else if (strcmp(kind->name, "RX") == 0) {
        if (strcmp(point->name, "complete") == 0)
            settled(record, flow, point, arguments, number);
        else if (point->node != flow->from || flow->to == point->node)
            arrived(flow, point->node, point->time);
    }
}
