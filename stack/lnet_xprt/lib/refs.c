/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counts of references. */
#include "lib/refs.h"

void m0_ref_init(struct m0_ref *ref, int count, void (*release)(struct m0_ref *ref))
{
    ref->release = release;
    m0_atomic64_set(&ref->ref_cnt, count);
}

void m0_ref_get(struct m0_ref *ref)
{
    m0_atomic64_inc(&ref->ref_cnt);
}

void m0_ref_put(struct m0_ref *ref)
{
    int64_t left = m0_atomic64_sub_return(&ref->ref_cnt, 1);

    M0_PRE(left >= 0);
    if (left == 0)
        ref->release(ref);
}

int64_t m0_ref_read(const struct m0_ref *ref)
{
    return m0_atomic64_get(&ref->ref_cnt);
}
