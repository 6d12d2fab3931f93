/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads and writes: what rma.c and rma_post.c share. */
#ifndef GNIP_RMA_H
#define GNIP_RMA_H

#include "gnip.h"
#include "req.h"

#define GNIP_BOUNCE 64 /* bytes of a bounce buffer */
/* an unaligned read up to this size fits into one, with the bytes around it */
#define GNIP_INDIRECT_MAX 60

/* A GET cannot read it directly. */
static inline bool gnip_rma_odd(uint64_t address, uint64_t bytes)
{
    return ((address | bytes) & 3) != 0;
}
int gnip_rma_issue(struct gnip_req *req); /* gnip_req.issue */

#endif
