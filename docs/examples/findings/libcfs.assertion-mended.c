/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What another node has sent is checked, and refused if it is wrong. */
#include "ring.h"
#include <libcfs/libcfs.h>

/* How many bytes of a message to take; 0: none. */
static uint32_t bytes_of(uint32_t announced)
{
    if (announced > MEMORY)
        return 0; /* the message is dropped */
    return announced;
}

static int program(struct rank *rank)
{
    uint32_t mine = rank_id(rank) == 1 ? 2 * MEMORY : 64, all[4], taken = 0;
    struct ring ring;

    if (ring_open(&ring, rank) != 0)
        return -1;
    rank_allgather(rank, &mine, all, sizeof(mine));
    if (rank_id(rank) == 2)
        taken = bytes_of(all[1]);
    rank_count(rank, "taken", taken);
    return ring_close(&ring);
}
RING_PROGRAM(program)
