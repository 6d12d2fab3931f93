/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The completions of both, a receive and a send, are read. */
#include "rdm.h"

static int program(struct rank *rank)
{
    struct rdm rdm;

    if (rdm_open(&rdm, rank) != 0)
        return -1;
    fi_recv(rdm.ep, rdm.bytes, 4096, NULL, FI_ADDR_UNSPEC, NULL);
    fi_send(rdm.ep, rdm.bytes + 4096, 4096, NULL, rdm.to_right, NULL);
    if (rdm_wait(&rdm, 2) != 0)
        return -1;
    return rdm_close(&rdm);
}
RDM_PROGRAM(program)
