/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kinds of tracks, and the function that gets a copy of each point. */
#include "engine/trace.h"

#include <assert.h>
#include <stddef.h>

#include "trace_internal.h"

const struct sim_trace_group sim_trace_nodes = {"node", 1, false};
const struct sim_trace_group sim_trace_faults = {"faults", 0, false};
static const struct sim_trace_track rank_track = {"rank", &sim_trace_nodes, true,
                                                  sim_trace_show_rank};
static const struct sim_trace_track fault_track = {"node", &sim_trace_faults, true, NULL};

const struct sim_trace_track *sim_trace_kinds[SIM_TRACKS_MAX] = {
    [SIM_TRACK_RANK] = &rank_track,
    [SIM_TRACK_FAULT] = &fault_track,
};

void sim_trace_track_register(uint32_t track, const struct sim_trace_track *kind)
{
    assert(track < SIM_TRACKS_MAX && kind->name != NULL && kind->group != NULL);
    assert(sim_trace_kinds[track] == NULL || sim_trace_kinds[track] == kind);
    assert(kind->group->order < 8);
    sim_trace_kinds[track] = kind;
}

const struct sim_trace_track *sim_trace_track_kind(uint32_t track)
{
    return track < SIM_TRACKS_MAX ? sim_trace_kinds[track] : NULL;
}

static struct sim_trace_sink sink;

void sim_trace_sink_begin(const struct sim_trace_sink *receiver)
{
    assert(sink.point == NULL && receiver->point != NULL);
    sink = *receiver;
    sim_trace_on = true;
}

void sim_trace_sink_point(const struct sim_trace_point *point,
                          const struct sim_trace_argument *arguments, size_t number)
{
    if (sink.point != NULL)
        sink.point(sink.arg, point, arguments, number);
}

void sim_trace_sink_end(void)
{
    sink = (struct sim_trace_sink){.point = NULL};
}
