/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A message is sent to a rank that receives none. */
#include "rdm.h"

static int program(struct rank *rank)
{
    struct rdm rdm;

    if (rdm_open(&rdm, rank) != 0)
        return -1;
    fi_send(rdm.ep, rdm.bytes, 64, NULL, rdm.to_right, NULL);
    if (rdm_wait(&rdm, 1) != 0)
        return -1;
    rank_barrier(rank);
    fi_cq_read(rdm.cq, NULL, 0); /* makes progress: the message arrives */
    return rdm_close(&rdm);
}
RDM_PROGRAM(program)
