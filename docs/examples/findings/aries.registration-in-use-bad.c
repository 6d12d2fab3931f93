/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source is deregistered while the NIC still reads it. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, MEMORY / 2);
    GNI_PostRdma(ring.ep, &put);
    if (rank_id(rank) == 0)
        GNI_MemDeregister(ring.nic, &ring.here.memory); /* the neighbour also writes here */
    ring_wait(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
