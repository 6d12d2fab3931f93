/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A rank writes to memory of its own. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;

    if (ring_open(&ring, rank) != 0)
        return -1;
    if (rank_id(rank) == 2)
        ring.bytes[0] = 1;
    return ring_close(&ring);
}
RING_PROGRAM(program)
