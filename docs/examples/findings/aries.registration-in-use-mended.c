/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory is deregistered when the own PUT and that of the neighbour have ended. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, MEMORY / 2);
    GNI_PostRdma(ring.ep, &put);
    ring_wait(&ring);
    rank_barrier(rank);
    if (rank_id(rank) == 0)
        GNI_MemDeregister(ring.nic, &ring.here.memory);
    return ring_close(&ring);
}
RING_PROGRAM(program)
