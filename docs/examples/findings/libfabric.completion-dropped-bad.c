/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint is closed while a write is in flight. */
#include "rdm.h"

static int program(struct rank *rank)
{
    struct rdm rdm;

    if (rdm_open(&rdm, rank) != 0)
        return -1;
    fi_write(rdm.ep, rdm.bytes, MEMORY / 2, NULL, rdm.to_right, rdm.right.address, rdm.right.key,
             NULL);
    return rdm_close(&rdm);
}
RDM_PROGRAM(program)
