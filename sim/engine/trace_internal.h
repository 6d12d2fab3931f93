/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parts of the trace's writer. Memory that cannot be had aborts, as everywhere in the
 * engine.
 */
#ifndef JACQUARD_ENGINE_TRACE_INTERNAL_H
#define JACQUARD_ENGINE_TRACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/sim.h"
#include "engine/trace.h"

/* ---- map: two words to one ------------------------------------------------------------------- */

/* All zero: empty. Never iterated, so keys may be anything. */
struct sim_trace_map {
    struct sim_trace_map_slot *slots;
    size_t mask, used;
};

/* The value's place, 0 when the key is new; valid until the next call. */
uint64_t *sim_trace_map_at(struct sim_trace_map *map, uint64_t a, uint64_t b);
void sim_trace_map_free(struct sim_trace_map *map);

/* An array of `count` elements of `size` bytes, grown by doubling; new elements are zero. */
void *sim_trace_grow(void *array, size_t count, size_t size);

/* ---- arguments ------------------------------------------------------------------------------- */

/*
 * Writes the arguments of a point, at most SIM_TRACE_ARGUMENTS_MAX: its value, as its kind shows
 * it, those that were added, then the given ones. Returns their number. Forgets the added ones.
 */
#define SIM_TRACE_ARGUMENTS_MAX 16
size_t sim_trace_arguments(const struct sim_trace_point *point, const struct sim_trace_track *kind,
                           bool has_value, const struct sim_trace_argument *given, size_t number,
                           struct sim_trace_argument *arguments);
/* Of the tracks of ranks. */
size_t sim_trace_show_rank(const struct sim_trace_point *point,
                           struct sim_trace_argument *arguments);

/* ---- kinds and sink -------------------------------------------------------------------------- */

extern const struct sim_trace_group sim_trace_faults;
extern const struct sim_trace_track *sim_trace_kinds[SIM_TRACKS_MAX];
void sim_trace_sink_point(const struct sim_trace_point *point,
                          const struct sim_trace_argument *arguments, size_t number);
void sim_trace_sink_end(void);

/* ---- calls ----------------------------------------------------------------------------------- */

/* Whether the call in progress takes the point for its own slice, which is written at its end. */
bool sim_trace_call_takes(const struct sim_trace_point *point);
void sim_trace_calls_end(void); /* writes what is not yet written */
void sim_trace_calls_free(void);

/* ---- lanes: overlapping slices side by side -------------------------------------------------- */

struct sim_trace_lane {
    uint64_t uuid;
    sim_time_t last; /* of the last packet written */
    sim_time_t end; /* of the slice whose end is still to be written */
    bool open; /* there is such a slice */
};

/*
 * The lanes of a track. A lane is free from its `end` or `last` on, whichever is later; `free_from`
 * is the minimum tree over that, so that the lowest free lane is found in logarithmic time.
 */
struct sim_trace_lanes {
    struct sim_trace_lane *lane;
    sim_time_t *free_from; /* [1] is the root, leaves start at [capacity] */
    uint32_t count, capacity;
};

/* The lowest lane that is free at `time`; it may be the one behind the last: *lane has no uuid
 * then. */
uint32_t sim_trace_lanes_find(struct sim_trace_lanes *lanes, sim_time_t time);
void sim_trace_lanes_update(struct sim_trace_lanes *lanes,
                            uint32_t index); /* after a change of last, end or open */
void sim_trace_lanes_free(struct sim_trace_lanes *lanes);

/* ---- file ------------------------------------------------------------------------------------ */

struct sim_trace_file {
    char *path;
    uint8_t *buffer;
    size_t used, capacity;
    int fd;
    int error; /* errno of the first failure; nothing is written after it */
};

bool sim_trace_file_open(struct sim_trace_file *file, const char *path); /* false: errno */
uint8_t *sim_trace_file_reserve(struct sim_trace_file *file,
                                size_t bytes); /* the caller adds what it wrote to `used` */
size_t sim_trace_put_varint(uint8_t *at, size_t value); /* up to 10 bytes; returns how many */
void sim_trace_file_flush(struct sim_trace_file *file);
int sim_trace_file_close(struct sim_trace_file *file); /* 0, or errno of the first failure; frees */
int sim_trace_file_forget(
    struct sim_trace_file *file); /* the same without what was not yet written */

#endif
