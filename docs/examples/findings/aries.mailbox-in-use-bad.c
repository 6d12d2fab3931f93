/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A second connection uses a mailbox that serves another one. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;

    if (ring_open(&ring, rank) != 0 || ring_mailbox(&ring) != 0)
        return -1;
    if (ring_connect_left(&ring, 0, 1) != 0)
        return -1;
    return ring_close(&ring);
}
RING_PROGRAM(program)
