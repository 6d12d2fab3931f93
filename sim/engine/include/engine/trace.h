/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The trace. Every trace point feeds a rolling 64-bit digest of its node or router, whose sum
 * sim-run prints as the proof of determinism; when a trace file is open it also becomes Perfetto
 * packets: slices on tracks (node → NIC engine, queue), instants, counters, and flows that join the
 * slices of one message. Switched off, a point costs the digest step and one predictable branch: no
 * formatting, no allocation.
 *
 * What goes into a trace point must not depend on addresses, the wall clock or the host.
 */
#ifndef JACQUARD_ENGINE_TRACE_H
#define JACQUARD_ENGINE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/sim.h"

enum sim_trace_kind {
    SIM_TRACE_SLICE, /* [time, time + duration) on a track */
    SIM_TRACE_INSTANT, /* duration is 0 */
    SIM_TRACE_COUNTER, /* value on a counter track */
};

/* A kind of top-level lines of the picture, which have tracks below them: the nodes, say. */
struct sim_trace_group {
    const char *name;
    uint32_t order; /* of the groups in the picture, below 8; no two groups have the same */
    bool of_networks; /* lines have the name of their network: sim_trace_set_network_name */
};
extern const struct sim_trace_group sim_trace_nodes;

/*
 * A kind of tracks. A track is (kind, node, index), e.g. (ARIES_TRACK_BTE, node 3, channel 1);
 * `node` is the number of the top-level line. Slices of a track may overlap: they are drawn side by
 * side. Each counter name has a track of its own.
 */
struct sim_trace_point;
struct sim_trace_argument;
#define SIM_TRACE_SHOWN_MAX 3
struct sim_trace_track {
    const char *name;
    const struct sim_trace_group *group;
    bool numbered; /* index 0 is shown, too */
    /*
     * How the values of its points read: writes up to SIM_TRACE_SHOWN_MAX arguments with static
     * texts and returns their number. Called only while a trace is open. NULL: a number "value".
     */
    size_t (*show)(const struct sim_trace_point *point, struct sim_trace_argument *arguments);
};

/*
 * Kinds have numbers: trace points and the digest carry them, and the tracks of a line are in their
 * order. The engine has these; a device defines and registers its own.
 */
enum {
    SIM_TRACK_RANK = 0, /* API calls of a rank; node = node, index = rank on the node */
    SIM_TRACK_LINK = 7, /* of a network: node = router */
    SIM_TRACK_FAULT = 8, /* node = the faulted node, UINT32_MAX: none; the index is not used */
    SIM_TRACKS_MAX = 32
};

/* Before the first point of that kind, once or more often; *kind must stay valid for ever. A number
 * is of one kind. */
void sim_trace_track_register(uint32_t track, const struct sim_trace_track *kind);

struct sim_trace_point {
    enum sim_trace_kind kind;
    uint32_t track;
    uint32_t node, index;
    const char *name; /* static string, not empty: kept by pointer until the trace is closed */
    sim_time_t time, duration;
    uint64_t flow; /* 0: none; the same number joins the slices of a message */
    uint64_t value; /* bytes, status, counter value: shown as the track's kind says */
};

extern bool sim_trace_on;

/* An argument of a call: a text, or (text NULL) a number. */
struct sim_trace_argument {
    const char *name; /* copied */
    const char *text; /* copied */
    uint64_t number;
};
/*
 * Adds an argument to the next point, which must follow at once: a peer, a reason. The point's
 * value is then shown only if the track's kind says how. The texts are static. The digest does not
 * see it. No effect when no trace is open.
 */
void sim_trace_add_text(const char *name, const char *text);
void sim_trace_add_number(const char *name, uint64_t number);
/*
 * API calls of a rank, on its track. The digest does not see them. All are to be called only while
 * sim_trace_on; sim_call_begin() and sim_call_end() do. Fibers that have no rank are not followed.
 */
void sim_trace_set_caller(const struct sim_fiber *fiber, uint32_t node, uint32_t index);
/* Adds an argument to the innermost call in progress that has none from elsewhere: a static text,
 * or (NULL) a number. At most 6. */
void sim_trace_call_note(const char *name, const char *text, uint64_t number);
/* The rank was killed: its calls in progress end now, without a result but with the reason. */
void sim_trace_caller_killed(const struct sim_fiber *fiber, const char *why);

/*
 * At most one trace file is open at a time. Opening truncates the file. *error becomes a text that
 * the caller frees; `error` may be NULL. Writing goes through a buffer and goes on silently after a
 * failure (a full disk): sim_trace_close reports it, once.
 */
bool sim_trace_open(const char *path, char **error);
/*
 * The same for a process that is one of several, with a trace each: its tracks, its sequence of
 * packets and its time are such that the traces may be concatenated to one.
 */
struct sim_trace_process {
    uint32_t pid; /* never 0, and of no other one of them */
    const char *name; /* copied */
    sim_time_t origin; /* points count from here */
};
bool sim_trace_open_process(const char *path, const struct sim_trace_process *process,
                            char **error);
/*
 * A function that gets a copy of each point, with or without a trace file. What it is given is
 * valid during the call only; texts are to be copied. It must not emit points.
 */
struct sim_trace_sink {
    void (*point)(void *arg, const struct sim_trace_point *point,
                  const struct sim_trace_argument *arguments, size_t number);
    void *arg;
};
/* Before the first point; at most one at a time. sim_trace_close() ends it. */
void sim_trace_sink_begin(const struct sim_trace_sink *receiver);
const struct sim_trace_track *sim_trace_track_kind(uint32_t track); /* NULL: not registered */
/* Writes the slices that have ended and everything in the buffer, which then survives a kill of the
 * process. */
void sim_trace_flush(sim_time_t now);
/* In a forked child: the trace is its parent's. */
void sim_trace_forget(void);
/* Before the rank's first point; "clients 3", copied. No effect when no trace is open. */
void sim_trace_set_rank_name(uint32_t node, uint32_t index, const char *name);
/*
 * Before the first point of such a router: those from number `first` on belong to the network of
 * this name (copied), and are counted from 0 again. Calls go up in `first`; routers below the first
 * one are shown by their numbers alone. No effect when no trace is open.
 */
void sim_trace_set_network_name(uint32_t first, const char *name);
/* Flushes. False when something could not be written; true when none is open. */
bool sim_trace_close(char **error);
void sim_trace_write(const struct sim_trace_point *point); /* use sim_trace() */
/* The same with arguments; has_value: the point's value is one, too. */
void sim_trace_write_arguments(const struct sim_trace_point *point, bool has_value,
                               const struct sim_trace_argument *arguments, size_t number);
uint64_t sim_trace_points_written(void); /* since the last sim_trace_open */

/* sim_trace(), sim_trace_begin(), sim_trace_taken() */
#include "engine/trace_emit.h"

/* A flow number, never 0, that is unique in the simulation and depends only on the order of calls.
 */
static inline uint64_t sim_trace_flow_new(void)
{
    return ++sim_core.flows;
}

#endif
