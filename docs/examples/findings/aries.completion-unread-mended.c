/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every completion is read, and its descriptor collected. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put[24];
    int i;

    if (ring_open(&ring, rank) != 0)
        return -1;
    for (i = 0; i < 24; i++) {
        put[i] = ring_put(&ring, 1024 + 64 * i, 64);
        GNI_PostRdma(ring.ep, &put[i]);
    }
    for (i = 0; i < 24; i++)
        ring_wait(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
