/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A rank waits in a loop without a call for bytes that its neighbour PUTs. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;
    volatile uint8_t *flag;

    if (ring_open(&ring, rank) != 0)
        return -1;
    ring.bytes[0] = 1;
    put = ring_put(&ring, MEMORY / 2, 8);
    put.type = GNI_POST_FMA_PUT;
    GNI_PostFma(ring.ep, &put);
    ring_wait(&ring);
    flag = ring.bytes + MEMORY / 2 + (rank_id(rank) == 2 ? 4096 : 0); /* a mistake of rank 2 */
    while (rank_id(rank) == 2 && *flag == 0)
        ;
    return ring_close(&ring);
}
RING_PROGRAM(program)
