/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes trace points of every kind, for trace_test and trace_sample. */
#ifndef JACQUARD_TRACE_SAMPLE_H
#define JACQUARD_TRACE_SAMPLE_H

#include "engine/random.h"
#include "engine/trace.h"

enum { SAMPLE_MESSAGES = 400, SAMPLE_NODES = 6, SAMPLE_LOST = 7 };

enum {
    SAMPLE_TRACK_FMA = 1,
    SAMPLE_TRACK_BTE,
    SAMPLE_TRACK_RX,
    SAMPLE_TRACK_CQ,
    SAMPLE_TRACK_SMSG,
    SAMPLE_TRACK_DATAGRAM,
    SAMPLE_TRACK_LINK,
};

/* As devices do it. */
static inline void sample_tracks_register(void)
{
    static const struct sim_trace_group routers = {"router", 2, false};
    static const struct sim_trace_track kinds[] = {
        [SAMPLE_TRACK_FMA] = {"FMA", &sim_trace_nodes, false},
        [SAMPLE_TRACK_BTE] = {"BTE", &sim_trace_nodes, true},
        [SAMPLE_TRACK_RX] = {"RX", &sim_trace_nodes, false},
        [SAMPLE_TRACK_CQ] = {"CQ", &sim_trace_nodes, true},
        [SAMPLE_TRACK_SMSG] = {"SMSG", &sim_trace_nodes, false},
        [SAMPLE_TRACK_DATAGRAM] = {"datagram", &sim_trace_nodes, false},
        [SAMPLE_TRACK_LINK] = {"port", &routers, true},
    };
    uint32_t track;

    for (track = SAMPLE_TRACK_FMA; track <= SAMPLE_TRACK_LINK; track++)
        sim_trace_track_register(track, &kinds[track]);
}

/*
 * Messages that overlap on the BTE and RX tracks of a few nodes, cross a router port, and end in a
 * CQ event; every message but each SAMPLE_LOST-th has a flow of three slices, the lost ones a flow
 * of one.
 */
static inline void sample_points(void)
{
    struct sim_random random;
    sim_time_t at = 500, put;
    uint64_t flow, bytes, i;
    uint32_t source, target;

    sim_random_init(&random, 1, "trace_sample", 0);
    for (i = 0; i < SAMPLE_MESSAGES; i++) {
        at += sim_random_below(&random, 300 * SIM_NS);
        source = (uint32_t)sim_random_below(&random, SAMPLE_NODES);
        target = (source + 1) % SAMPLE_NODES;
        bytes = 8 + sim_random_below(&random, 4096);
        put = bytes * 400;
        flow = sim_trace_flow_new();
        sim_trace(SIM_TRACE_SLICE, SIM_TRACK_RANK, source, (uint32_t)(i % 2), "GNI_PostRdma", at,
                  90, 0, 0);
        sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_BTE, source, 1, "put", at + 100, put, flow, bytes);
        sim_trace(SIM_TRACE_COUNTER, SAMPLE_TRACK_CQ, target, 0, "depth", at, 0, 0, i % 5);
        if (i % SAMPLE_LOST == 0) {
            sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, target, 0, "drop", at + put / 2, 0, 0,
                      bytes);
            continue;
        }
        sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_LINK, source / 4, 31, "put", at + 300, put, flow,
                  bytes);
        sim_trace(SIM_TRACE_SLICE, SAMPLE_TRACK_RX, target, 0, "put", at + 900, put, flow, bytes);
        sim_trace(SIM_TRACE_INSTANT, SAMPLE_TRACK_CQ, target, 0, "event", at + 900 + put, 0, 0, 0);
    }
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, UINT32_MAX, 0, "throttle", at, 0, 0, 0);
}

#endif
