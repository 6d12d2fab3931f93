/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A queue is destroyed when its post has ended. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;
    gni_cq_handle_t own;

    if (ring_open(&ring, rank) != 0)
        return -1;
    GNI_CqCreate(ring.nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &own);
    put = ring_put(&ring, MEMORY / 2, MEMORY / 2);
    put.src_cq_hndl = own;
    GNI_PostRdma(ring.ep, &put);
    ring.cq = own;
    ring_wait(&ring);
    GNI_CqDestroy(own);
    return ring_close(&ring);
}
RING_PROGRAM(program)
