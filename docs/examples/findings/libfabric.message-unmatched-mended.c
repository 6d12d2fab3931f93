/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A message is sent and received. */
#include "rdm.h"

static int program(struct rank *rank)
{
    struct rdm rdm;

    if (rdm_open(&rdm, rank) != 0)
        return -1;
    fi_send(rdm.ep, rdm.bytes, 64, NULL, rdm.to_right, NULL);
    fi_recv(rdm.ep, rdm.bytes + 64, 64, NULL, FI_ADDR_UNSPEC, NULL);
    if (rdm_wait(&rdm, 2) != 0)
        return -1;
    return rdm_close(&rdm);
}
RDM_PROGRAM(program)
