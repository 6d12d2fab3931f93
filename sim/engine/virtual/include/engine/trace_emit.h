/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Trace points of a simulation. Included by engine/trace.h. */
#ifndef JACQUARD_ENGINE_TRACE_EMIT_H
#define JACQUARD_ENGINE_TRACE_EMIT_H

/*
 * The digest takes the first character of the name only: that distinguishes points well enough,
 * without reading the whole string. The order of points counts. All but two multiplications are off
 * the chain from point to point.
 */
static inline void trace(enum sim_trace_kind kind, uint32_t track, uint32_t node, uint32_t index,
                         const char *name, sim_time_t time, sim_time_t duration, uint64_t flow,
                         uint64_t value)
{
    uint64_t where =
        ((uint64_t)track << 56 ^ (uint64_t)node << 24 ^ (uint64_t)index << 8 ^ (uint8_t)name[0]) *
        0xd6e8feb86659fd93ull;
    /* The analyzer loses track of a caller's argument: NOLINTNEXTLINE(clang-analyzer-core.*) */
    uint64_t what = (duration ^ (value << 32 | value >> 32)) * 0xc2b2ae3d27d4eb4full + flow;
    uint64_t mixed = (sim_core.digest ^ where ^ time) * 0x9e3779b97f4a7c15ull;
    sim_core.digest = (mixed ^ mixed >> 29 ^ what) * 0xbf58476d1ce4e5b9ull;
    if (sim_unlikely(sim_trace_on)) {
        struct sim_trace_point point = {kind, track,    node, index, name,
                                        time, duration, flow, value};
        sim_trace_write(&point);
    }
}

/* The beginning of a slice, which is traced at its end. */
static inline sim_time_t sim_trace_begin(void)
{
    return sim_local_time();
}

/* How long a call took: as modelled. */
static inline sim_time_t sim_trace_taken(sim_time_t began, sim_time_t modelled)
{
    (void)began;
    return modelled;
}

#endif
