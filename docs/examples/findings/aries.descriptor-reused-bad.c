/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One descriptor is posted twice, and the first post is still in flight. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, 64);
    GNI_PostRdma(ring.ep, &put);
    put.remote_addr += 64;
    GNI_PostRdma(ring.ep, &put); /* the library refers to the descriptor until it is collected */
    ring_wait(&ring);
    ring_wait(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
