/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* GNI_GetCompleted frees what the library keeps for the post. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put, *completed;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, 64);
    GNI_PostRdma(ring.ep, &put);
    GNI_GetCompleted(ring.cq, ring_event(&ring), &completed);
    return ring_close(&ring);
}
RING_PROGRAM(program)
