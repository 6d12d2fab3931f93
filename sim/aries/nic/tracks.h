/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tracks of a NIC in the trace. */
#ifndef JACQUARD_ARIES_TRACKS_H
#define JACQUARD_ARIES_TRACKS_H

#include "engine/trace.h"

/* Of a NIC: node = node. 7 is the network's. */
enum aries_track {
    ARIES_TRACK_FMA = 1,
    ARIES_TRACK_BTE = 2, /* index = channel */
    ARIES_TRACK_RX = 3, /* receive side of the NIC */
    ARIES_TRACK_CQ = 4, /* index = queue */
    ARIES_TRACK_SMSG = 5,
    ARIES_TRACK_DATAGRAM = 6,
};

void aries_tracks_register(void);

#endif
