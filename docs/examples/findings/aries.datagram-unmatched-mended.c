/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Both neighbours post a datagram to each other. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    uint32_t mine = rank_id(rank), theirs[2], address, id;
    gni_post_state_t state;

    if (ring_open(&ring, rank) != 0 || ring_left(&ring) != 0)
        return -1;
    GNI_EpPostData(ring.ep, &mine, sizeof(mine), &theirs[0], sizeof(theirs[0]));
    GNI_EpPostData(ring.left, &mine, sizeof(mine), &theirs[1], sizeof(theirs[1]));
    GNI_EpPostDataWait(ring.ep, UINT32_MAX, &state, &address, &id);
    GNI_EpPostDataWait(ring.left, UINT32_MAX, &state, &address, &id);
    return ring_close(&ring);
}
RING_PROGRAM(program)
