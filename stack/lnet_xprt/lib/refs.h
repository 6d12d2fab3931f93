/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A count of references; the last one that is put calls the object's release. */
#ifndef M0_LIB_REFS_H
#define M0_LIB_REFS_H

#include "lib/atomic.h"

struct m0_ref {
    struct m0_atomic64 ref_cnt;
    void (*release)(struct m0_ref *ref);
};

void m0_ref_init(struct m0_ref *ref, int count, void (*release)(struct m0_ref *ref));
void m0_ref_get(struct m0_ref *ref);
void m0_ref_put(struct m0_ref *ref); /* pre: a reference is left */
int64_t m0_ref_read(const struct m0_ref *ref);

#endif
