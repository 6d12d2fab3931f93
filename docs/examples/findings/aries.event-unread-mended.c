/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The target of a PUT reads its event. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0 || ring_events(&ring) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, 4096);
    put.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    GNI_PostRdma(ring.ep, &put);
    ring_wait(&ring);
    ring.cq = ring.events;
    ring_event(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
