/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The completion says that the NIC has read the buffer. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, 4096);
    GNI_PostRdma(ring.ep, &put);
    ring_wait(&ring);
    memset(ring.bytes + 128, 0xff, 8);
    return ring_close(&ring);
}
RING_PROGRAM(program)
