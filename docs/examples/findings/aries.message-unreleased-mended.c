/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The mailbox gets its room back when the message has been read. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    uint32_t number = rank_id(rank);
    void *message;

    if (ring_open(&ring, rank) != 0 || ring_mailbox(&ring) != 0)
        return -1;
    GNI_SmsgSend(ring.ep, &number, sizeof(number), NULL, 0, number);
    while (GNI_SmsgGetNext(ring.left, &message) == GNI_RC_NOT_DONE)
        ;
    memcpy(&number, message, sizeof(number));
    GNI_SmsgRelease(ring.left);
    ring_event(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
