/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Allocation: the C library's. */
#include <stdlib.h>
#include <unistd.h>

#include "lib/arith.h"
#include "lib/finject.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "lib/vec.h"

bool m0_is_zeroed(const void *memory, size_t bytes)
{
    const uint8_t *at = memory, *end = at + bytes;

    while (at < end && *at == 0)
        at++;
    return at == end;
}

void *m0_alloc(size_t bytes)
{
    return M0_FI_ENABLED("fail_allocation") ? NULL : calloc(1, bytes);
}

void *m0_alloc_nr(size_t count, size_t bytes)
{
    size_t size;

    return __builtin_mul_overflow(count, bytes, &size) ? NULL : m0_alloc(size);
}

void m0_free(void *memory)
{
    free(memory);
}

static const struct m0_aligned_source *aligned_source;

void m0_aligned_source_set(const struct m0_aligned_source *source)
{
    aligned_source = source;
}

void *m0_alloc_aligned(size_t bytes, unsigned shift)
{
    size_t alignment = (size_t)1 << shift;
    void *memory;

    if (M0_FI_ENABLED("fail_allocation"))
        return NULL;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    if (aligned_source != NULL)
        memory = aligned_source->as_alloc(bytes, alignment);
    else if (posix_memalign(&memory, alignment, bytes) != 0)
        memory = NULL;
    if (memory == NULL)
        return NULL;
    memset(memory, 0, bytes);
    return memory;
}

void m0_free_aligned(void *memory, size_t bytes, unsigned shift)
{
    (void)bytes;
    M0_PRE(m0_addr_is_aligned(memory, shift));
    if (aligned_source == NULL || !aligned_source->as_free(memory))
        free(memory);
}

int m0_pagesize_get(void)
{
    return M0_SEG_SIZE;
}

int m0_pageshift_get(void)
{
    return M0_SEG_SHIFT;
}

/* Knuth's constants of a linear congruential generator. */
uint64_t m0_rnd64(uint64_t *state)
{
    return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

uint64_t m0_rnd(uint64_t max, uint64_t *state)
{
    M0_PRE(max > 0);
    return (uint64_t)((unsigned __int128)m0_rnd64(state) * max >> 64);
}
