/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Trace points of a simulation. Included by engine/trace.h. */
#ifndef JACQUARD_ENGINE_TRACE_EMIT_H
#define JACQUARD_ENGINE_TRACE_EMIT_H

#include "engine/digest.h"

/* ---- digest ---------------------------------------------------------------------------------- */

/* The same as sim_digest_name(), which the compiler computes if it knows the name. */
static inline __attribute__((always_inline)) uint64_t sim_digest_known_name(const char *name)
{
    uint64_t hash = SIM_DIGEST_NAME_SEED;
    size_t i;

#pragma GCC unroll 24
    for (i = 0; i < 24; i++)
        if (i < __builtin_strlen(name))
            hash = (hash ^ (uint8_t)name[i]) * SIM_DIGEST_NAME_PRIME;
    return hash;
}

/*
 * Feeds a point to the digest of its line. The order of a line's points counts. All but two
 * multiplications are off the chain from point to point.
 */
static inline __attribute__((always_inline)) void
sim_digest_add(enum sim_trace_kind kind, uint32_t track, uint32_t node, uint32_t index,
               const char *name, sim_time_t time, sim_time_t duration, uint64_t flow,
               uint64_t value)
{
    uint64_t text = __builtin_constant_p(__builtin_strlen(name)) && __builtin_strlen(name) <= 24
                        ? sim_digest_known_name(name)
                        : sim_digest_name(name);
    uint64_t where = (((uint64_t)track << 56 ^ (uint64_t)kind << 62 ^ (uint64_t)node << 24 ^
                       (uint64_t)index << 8) +
                      text) *
                     0xd6e8feb86659fd93ull;
    /* The analyzer loses track of a caller's argument: NOLINTNEXTLINE(clang-analyzer-core.*) */
    uint64_t what = (duration ^ (value << 32 | value >> 32)) * 0xc2b2ae3d27d4eb4full + flow;
    uint32_t line = (node + 1) * 2 + (track == SIM_TRACK_LINK); /* UINT32_MAX: no node */
    uint64_t *digest =
        sim_likely(line < sim_core.digest_lines) ? &sim_core.digests[line] : sim_digest_line(line);
    uint64_t mixed = (*digest ^ where ^ time) * 0x9e3779b97f4a7c15ull;

    *digest = (mixed ^ mixed >> 29 ^ what) * 0xbf58476d1ce4e5b9ull;
}

/* ---- points ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
sim_trace(enum sim_trace_kind kind, uint32_t track, uint32_t node, uint32_t index, const char *name,
          sim_time_t time, sim_time_t duration, uint64_t flow, uint64_t value)
{
    sim_digest_add(kind, track, node, index, name, time, duration, flow, value);
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
