/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every rank PUTs to bytes of its own. */
#include "ring.h"

static int program(struct rank *rank)
{
    struct ring ring;
    gni_post_descriptor_t put;
    gni_ep_handle_t root;

    if (ring_open(&ring, rank) != 0)
        return -1;
    GNI_EpCreate(ring.nic, ring.cq, &root);
    GNI_EpBind(root, ring.all[0].nic, 0);
    put = ring_put(&ring, 0, 4096);
    put.remote_addr = ring.all[0].address + MEMORY / 2 + 4096 * rank_id(rank);
    put.remote_mem_hndl = ring.all[0].memory;
    GNI_PostRdma(root, &put);
    ring_wait(&ring);
    return ring_close(&ring);
}
RING_PROGRAM(program)
