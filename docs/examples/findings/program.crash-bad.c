/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A rank writes to address 0. */
#include <stddef.h>
#include "ring.h"

static int *volatile nowhere = NULL;

static int program(struct rank *rank)
{
    struct ring ring;

    if (ring_open(&ring, rank) != 0)
        return -1;
    if (rank_id(rank) == 2)
        *nowhere = 1;
    return ring_close(&ring);
}
RING_PROGRAM(program)
