/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Allocation. All memory is zeroed; NULL: no memory. */
#ifndef M0_LIB_MEMORY_H
#define M0_LIB_MEMORY_H

#include "lib/misc.h"
#include "lib/types.h"

void *m0_alloc(size_t bytes);
void m0_free(void *memory); /* NULL: no effect */
#define m0_free0(place)    \
    do {                   \
        m0_free(*(place)); \
        *(place) = NULL;   \
    } while (0)
/* At an address that is a multiple of 1 << shift; the same shift frees it. */
void *m0_alloc_aligned(size_t bytes, unsigned shift);
void m0_free_aligned(void *memory, size_t bytes, unsigned shift);
/*
 * Where aligned memory comes from instead of the C library; NULL: from there. Memory that the
 * source does not know (as_free returns false) is the C library's. For the life of the process.
 */
struct m0_aligned_source {
    void *(*as_alloc)(size_t bytes, size_t alignment); /* NULL: no memory */
    bool (*as_free)(void *memory);
};
void m0_aligned_source_set(const struct m0_aligned_source *source);
static inline bool m0_addr_is_aligned(const void *address, unsigned shift)
{
    return ((uintptr_t)address & ((1ul << shift) - 1)) == 0;
}

/* Both are the assigned pointer. A product that does not fit is no memory. */
void *m0_alloc_nr(size_t count, size_t bytes);
#define M0_ALLOC_PTR(pointer) ((pointer) = m0_alloc(sizeof(*(pointer))))
#define M0_ALLOC_ARR(pointer, count) ((pointer) = m0_alloc_nr((count), sizeof(*(pointer))))
#define M0_ALLOC_ARR_ALIGNED(pointer, count, shift) \
    ((pointer) = m0_alloc_aligned((count) * sizeof(*(pointer)), shift))

int m0_pagesize_get(void);
int m0_pageshift_get(void);

#endif
