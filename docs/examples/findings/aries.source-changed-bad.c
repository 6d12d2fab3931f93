/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The buffer is written again while the NIC may still read it. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, 4096);
    GNI_PostRdma(ring.ep, &put);
    memset(ring.bytes + 128, 0xff, 8); /* too early */
    ring_wait(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
