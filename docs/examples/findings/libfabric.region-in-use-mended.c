/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A memory region is closed when the write has completed. */
#include "rdm.h"

static int program(struct rank *rank)
{
    struct rdm rdm;
    struct fid_mr *source;

    if (rdm_open(&rdm, rank) != 0)
        return -1;
    fi_mr_reg(rdm.domain, rdm.bytes, MEMORY / 2, FI_WRITE, 0, 0, 0, &source, NULL);
    fi_write(rdm.ep, rdm.bytes, MEMORY / 2, fi_mr_desc(source), rdm.to_right, rdm.right.address,
             rdm.right.key, NULL);
    if (rdm_wait(&rdm, 1) != 0)
        return -1;
    fi_close(&source->fid);
    return rdm_close(&rdm);
}
RDM_PROGRAM(program)
