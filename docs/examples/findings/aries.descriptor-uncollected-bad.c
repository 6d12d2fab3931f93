/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The completion is read, but its descriptor is not collected. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, 64);
    GNI_PostRdma(ring.ep, &put);
    ring_event(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
