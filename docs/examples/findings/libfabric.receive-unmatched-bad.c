/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A receive is posted that nobody sends to. */
#include "rdm.h"

static int program(struct rank *rank)
{
    struct rdm rdm;

    if (rdm_open(&rdm, rank) != 0)
        return -1;
    fi_recv(rdm.ep, rdm.bytes, 4096, NULL, FI_ADDR_UNSPEC, NULL);
    return rdm_close(&rdm);
}
RDM_PROGRAM(program)
