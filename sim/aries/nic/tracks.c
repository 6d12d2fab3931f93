/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nic/tracks.h"

void aries_tracks_register(void)
{
    static const struct sim_trace_track kinds[] = {
        [ARIES_TRACK_FMA] = {"FMA", &sim_trace_nodes, false},
        [ARIES_TRACK_BTE] = {"BTE", &sim_trace_nodes, true},
        [ARIES_TRACK_RX] = {"RX", &sim_trace_nodes, false},
        [ARIES_TRACK_CQ] = {"CQ", &sim_trace_nodes, true},
        [ARIES_TRACK_SMSG] = {"SMSG", &sim_trace_nodes, false},
        [ARIES_TRACK_DATAGRAM] = {"datagram", &sim_trace_nodes, false},
    };
    uint32_t track;

    for (track = ARIES_TRACK_FMA; track <= ARIES_TRACK_DATAGRAM; track++)
        sim_trace_track_register(track, &kinds[track]);
}
