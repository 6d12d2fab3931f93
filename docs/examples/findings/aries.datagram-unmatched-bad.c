/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A datagram goes to a neighbour that posts none. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    uint32_t mine = rank_id(rank), theirs;

    if (ring_open(&ring, rank) != 0)
        return -1;
    GNI_EpPostData(ring.ep, &mine, sizeof(mine), &theirs, sizeof(theirs));
    return ring_close(&ring);
}
RING_PROGRAM(program)
