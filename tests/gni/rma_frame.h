/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to atomic_test.c, rma_test.c. */
#ifndef GNI_RMA_FRAME_H
#define GNI_RMA_FRAME_H

/* Reads, writes and atomics on the memory of others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fixture.h"

#define ALL_ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static __attribute__((unused)) const struct gni_how plain = {0};

static inline int entry_of(struct gni_side *side, void *context, uint64_t flags)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;

    TRY(gni_entry(side, side->tx_cq, &entry));
    EXPECT(entry.op_context == context);
    EXPECT_IS(entry.flags, flags);
    EXPECT(entry.len == 0 && entry.buf == NULL && entry.data == 0 && entry.tag == 0);
    return 0;
}

#endif
