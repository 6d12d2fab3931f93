/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A rank waits for the event of the PUT, with a call in the loop. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0 || ring_events(&ring) != 0)
        return -1;
    ring.bytes[0] = 1;
    put = ring_put(&ring, MEMORY / 2, 8);
    put.type = GNI_POST_FMA_PUT;
    put.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    GNI_PostFma(ring.ep, &put);
    ring_wait(&ring);
    ring.cq = ring.events;
    ring_event(&ring);
    return ring.bytes[MEMORY / 2] == 1 ? ring_close(&ring) : -1;
}
RING_PROGRAM(program)
