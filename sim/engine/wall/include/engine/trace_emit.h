/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Trace points of an ordinary process. Included by engine/trace.h. */
#ifndef JACQUARD_ENGINE_TRACE_EMIT_H
#define JACQUARD_ENGINE_TRACE_EMIT_H

/* An ordinary process does not repeat exactly, so there is no digest, and no cost when the trace is
 * off. */
#define sim_trace(kind, track, node, index, name, time, duration, flow, value)           \
    do {                                                                                 \
        if (sim_unlikely(sim_trace_on)) {                                                \
            struct sim_trace_point sim_trace_point = {kind, track,    node, index, name, \
                                                      time, duration, flow, value};      \
            sim_trace_write(&sim_trace_point);                                           \
        }                                                                                \
    } while (0)

/* The beginning of a slice, which is traced at its end; not needed without a trace. */
static inline sim_time_t sim_trace_begin(void)
{
    return sim_unlikely(sim_trace_on) ? sim_now() : 0;
}

/* How long a call took: measured. */
static inline sim_time_t sim_trace_taken(sim_time_t began, sim_time_t modelled)
{
    (void)modelled;
    return sim_now() - began;
}

#endif
