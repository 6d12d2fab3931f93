/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A receive that nobody sends to is cancelled. */
#include "rdm.h"

static int program(struct rank *rank)
{
    struct rdm rdm;
    struct fi_cq_err_entry error = {0};

    if (rdm_open(&rdm, rank) != 0)
        return -1;
    fi_recv(rdm.ep, rdm.bytes, 4096, NULL, FI_ADDR_UNSPEC, &rdm);
    fi_cancel(&rdm.ep->fid, &rdm);
    while (fi_cq_readerr(rdm.cq, &error, 0) == -FI_EAGAIN)
        ;
    return error.err == FI_ECANCELED ? rdm_close(&rdm) : -1;
}
RDM_PROGRAM(program)
