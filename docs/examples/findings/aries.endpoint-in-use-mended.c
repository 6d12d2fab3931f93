/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint is destroyed when its PUT has ended. */
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
    GNI_EpDestroy(ring.ep);
    return ring_close(&ring);
}
RING_PROGRAM(program)
