/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads a trace and counts what is in it, for tests. */
#ifndef JACQUARD_TESTS_TRACE_READ_H
#define JACQUARD_TESTS_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/sim.h"

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
 * Reads a trace of ours (or any Perfetto trace: kinds of packets that we do not write are counted
 * and passed over); never crashes on any input and takes memory in proportion to it. False: *error
 * says what is wrong where, malloc'd (`error` may be NULL), and the summary counts
 * what stands before.
 */
bool trace_read(const char *path, struct trace_summary *summary, char **error);
bool trace_read_bytes(const uint8_t *bytes, size_t length, struct trace_summary *summary,
                      char **error);

#endif
