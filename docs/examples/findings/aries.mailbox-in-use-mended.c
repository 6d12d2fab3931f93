/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The second connection has mailboxes of its own. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;

    if (ring_open(&ring, rank) != 0 || ring_mailbox(&ring) != 0)
        return -1;
    if (ring_connect_left(&ring, 2, 2) != 0)
        return -1;
    return ring_close(&ring);
}
RING_PROGRAM(program)
