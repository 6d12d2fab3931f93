/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A wildcard datagram that nobody matches is cancelled. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    uint32_t mine = rank_id(rank), theirs;
    gni_ep_handle_t anybody;

    if (ring_open(&ring, rank) != 0)
        return -1;
    GNI_EpCreate(ring.nic, ring.cq, &anybody);
    GNI_EpPostDataWId(anybody, &mine, sizeof(mine), &theirs, sizeof(theirs), 7);
    GNI_EpPostDataCancelById(anybody, 7);
    return ring_close(&ring);
}
RING_PROGRAM(program)
