/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The trace. Every trace point feeds a rolling 64-bit digest (the proof of determinism that sim-run
 * prints); when a trace file is open it also becomes Perfetto packets: slices on tracks (node → NIC
 * engine, queue), instants, counters, and flows that join the slices of one message. Switched off,
 * a point costs the digest step and one predictable branch: no formatting, no allocation.
 *
 * What goes into a trace point must not depend on addresses, the wall clock or the host.
 */
#ifndef JACQUARD_ENGINE_TRACE_H
#define JACQUARD_ENGINE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/sim.h"

enum trace_kind {
    TRACE_SLICE, /* [time, time + duration) on a track */
    TRACE_INSTANT, /* duration is 0 */
    TRACE_COUNTER, /* value on a counter track */
};

/*
 * What a track shows; a track is (what, node, index), e.g. (TRACE_BTE, node 3, channel 1). Slices
 * of a track may overlap: they are drawn side by side. Each counter name has a track of its own.
 */
enum trace_track {
    TRACE_RANK, /* API calls of a rank; node = node, index = rank on the node */
    TRACE_FMA,
    TRACE_BTE,
    TRACE_RX, /* receive side of the NIC */
    TRACE_CQ,
    TRACE_SMSG,
    TRACE_DATAGRAM,
    TRACE_LINK, /* node = router, index = port */
    TRACE_FAULT, /* node = the node that is struck, UINT32_MAX: none; index plays no part */
    TRACE_TRACKS
};

struct trace_point {
    enum trace_kind kind;
    enum trace_track track;
    uint32_t node, index;
    const char *name; /* static string, not empty: kept by pointer until the trace is closed */
    sim_time_t time, duration;
    uint64_t flow; /* 0: none; the same number joins the slices of a message */
    uint64_t value; /* bytes, status, counter value: shown as argument "value" */
};

extern bool trace_on;

/*
 * At most one trace is open at a time. Opening truncates the file. *error becomes a text that the
 * caller frees; `error` may be NULL. Writing goes through a buffer and goes on silently after a
 * failure (a full disk): trace_close tells, once and for all.
 */
bool trace_open(const char *path, char **error);
/*
 * The same for a process that is one of several, with a trace each: its tracks, its sequence of
 * packets and its time are such that the traces may be concatenated to one.
 */
struct trace_process {
    uint32_t pid; /* never 0, and of no other one of them */
    const char *name; /* copied */
    sim_time_t origin; /* points count from here */
};
bool trace_open_of(const char *path, const struct trace_process *process, char **error);
/* Ends what has ended and writes what there is: so much stays when the process is killed. */
void trace_flush(sim_time_t now);
/* In a forked child: the trace is its parent's. */
void trace_forget(void);
/* Before the rank's first point; "clients 3", copied. No effect when no trace is open. */
void trace_set_rank_name(uint32_t node, uint32_t index, const char *name);
/*
 * Before the first point of such a router: those from number `first` on belong to the network of
 * this name (copied), and are counted from 0 again. Calls go up in `first`; routers below the first
 * one are shown by their numbers alone. No effect when no trace is open.
 */
void trace_set_network_name(uint32_t first, const char *name);
/* Flushes. False when something could not be written; true when none is open. */
bool trace_close(char **error);
void trace_write(const struct trace_point *point); /* use trace() */
uint64_t trace_points_written(void); /* since the last trace_open */

#ifdef SIM_WALL
/* Nothing is repeated exactly in a plain process: there is no digest, and no cost when off. */
#define trace(kind, track, node, index, name, time, duration, flow, value)       \
    do {                                                                         \
        if (sim_unlikely(trace_on)) {                                            \
            struct trace_point trace_point = {kind, track,    node, index, name, \
                                              time, duration, flow, value};      \
            trace_write(&trace_point);                                           \
        }                                                                        \
    } while (0)
#else
/*
 * The digest takes the first character of the name only: enough to tell points apart, and no string
 * walk. The order of points counts. All but two multiplications are off the chain from point to
 * point.
 */
static inline void trace(enum trace_kind kind, enum trace_track track, uint32_t node,
                         uint32_t index, const char *name, sim_time_t time, sim_time_t duration,
                         uint64_t flow, uint64_t value)
{
    uint64_t where =
        ((uint64_t)track << 56 ^ (uint64_t)node << 24 ^ (uint64_t)index << 8 ^ (uint8_t)name[0]) *
        0xd6e8feb86659fd93ull;
    /* The analyzer loses track of a caller's argument: NOLINTNEXTLINE(clang-analyzer-core.*) */
    uint64_t what = (duration ^ (value << 32 | value >> 32)) * 0xc2b2ae3d27d4eb4full + flow;
    uint64_t mixed = (sim_core.digest ^ where ^ time) * 0x9e3779b97f4a7c15ull;
    sim_core.digest = (mixed ^ mixed >> 29 ^ what) * 0xbf58476d1ce4e5b9ull;
    if (sim_unlikely(trace_on)) {
        struct trace_point point = {kind, track, node, index, name, time, duration, flow, value};
        trace_write(&point);
    }
}
#endif

/* When something begins that is told at its end; in a plain process nobody asks without a trace. */
static inline sim_time_t trace_begin(void)
{
#ifdef SIM_WALL
    return sim_unlikely(trace_on) ? sim_now() : 0;
#else
    return sim_local_time();
#endif
}

/* What a call took since then: measured in a plain process, else as `modelled`. */
static inline sim_time_t trace_taken(sim_time_t began, sim_time_t modelled)
{
#ifdef SIM_WALL
    (void)modelled;
    return sim_now() - began;
#else
    (void)began;
    return modelled;
#endif
}

/* A flow number, never 0, that is unique in the simulation and depends only on the order of calls.
 */
static inline uint64_t trace_flow_new(void)
{
    return ++sim_core.flows;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct trace_summary {
    uint64_t packets;
    uint64_t tracks; /* described, the root not counted */
    uint64_t slices, instants, counters;
    uint64_t flows; /* distinct flow ids */
    uint64_t unknown_tracks; /* events on tracks that are described nowhere; tracks below such */
    uint64_t unknown_names; /* events whose interned name was not there yet */
    uint64_t unbalanced_slices; /* ends without a begin, begins without an end */
    uint64_t single_ended_flows; /* flow ids on one event only: of a message that was lost, say */
    uint64_t out_of_order; /* events whose time stamp goes back on their track */
    sim_time_t first, last; /* time stamps of events; ns resolution */
};

/*
 * Parses a trace of ours (or any Perfetto trace: kinds of packets that we do not write are counted
 * and passed over); never crashes on any input and takes memory in proportion to it. False: *error
 * says what is wrong where, malloc'd (`error` may be NULL), and the summary tells of what stands
 * before.
 */
bool trace_read(const char *path, struct trace_summary *summary, char **error);
bool trace_read_bytes(const uint8_t *bytes, size_t length, struct trace_summary *summary,
                      char **error);

#endif
