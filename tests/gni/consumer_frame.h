/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric as MPI libraries use it: what they ask for, their calls in their order, and what they
 * do with results. Each accepts only certain results, and takes anything else for a fatal error.
 */
#ifndef GNI_CONSUMER_FRAME_H
#define GNI_CONSUMER_FRAME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <cmocka.h>
#include "fixture.h"

#define US 1000000ull /* in ps */
#define RANKS 4u
#define BASIC (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/* All three libraries repeat a call after -FI_EAGAIN, and after no other error. */
#define RETRY(cq, call)                          \
    do {                                         \
        ssize_t result_;                         \
        while ((result_ = (call)) == -FI_EAGAIN) \
            if (progress(cq) != 0)               \
                return -1;                       \
        EXPECT_IS(result_, 0);                   \
    } while (0)

/* Names by rank go out of band, as an MPI library's do. */
static inline int exchange_names(struct rank *rank, struct fid_ep *ep, char (*all)[64])
{
    char mine[64] = {0};
    size_t bytes = sizeof(mine);

    EXPECT_IS(fi_getname(&ep->fid, mine, &bytes), 0);
    EXPECT(bytes > 0 && bytes <= sizeof(mine));
    rank_allgather(rank, mine, all, sizeof(mine));
    return 0;
}

#endif
