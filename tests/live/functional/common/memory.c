/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that the provider or the other side accesses. */
#include "internal.h"

#include <sys/mman.h>

#define PAGE 4096u

struct memory memory_new(struct side *side, size_t size, uint64_t access)
{
    static uint64_t key = 1;
    struct memory memory = {.size = size};
    const uint64_t remote = FI_REMOTE_READ | FI_REMOTE_WRITE;

    memory.bytes = mmap(NULL, (size + PAGE) & ~(size_t)(PAGE - 1), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(memory.bytes != MAP_FAILED);
    if ((access & remote) || (side->info->domain_attr->mr_mode & FI_MR_LOCAL)) {
        CHECK(fi_mr_reg(side->domain, memory.bytes, size, access, 0, key++, 0, &memory.mr, NULL));
        memory.desc = fi_mr_desc(memory.mr);
    }
    return memory;
}

void memory_free(struct memory *memory)
{
    if (memory->mr != NULL)
        CHECK(fi_close(&memory->mr->fid));
    munmap(memory->bytes, (memory->size + PAGE) & ~(size_t)(PAGE - 1));
}

struct window memory_window(struct side *side, const struct memory *memory)
{
    struct window window = {.key = fi_mr_key(memory->mr)};

    if (side->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ||
        side->info->domain_attr->mr_mode == FI_MR_BASIC)
        window.address = (uint64_t)(uintptr_t)memory->bytes;
    return window;
}

struct window exchange_windows(struct side *side, const struct memory *mine)
{
    struct window here = memory_window(side, mine), there;

    side_exchange(side, &here, &there, sizeof(here));
    return there;
}

static uint8_t pattern(size_t at, uint64_t seed)
{
    return (uint8_t)(at * 131 + (at >> 8) * 7 + seed * 29 + 1);
}

void fill(void *bytes, size_t size, uint64_t seed)
{
    uint8_t *to = bytes;
    size_t i;

    for (i = 0; i < size; i++)
        to[i] = pattern(i, seed);
}

void verify(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *from = bytes;
    size_t i;

    for (i = 0; i < size; i++)
        if (from[i] != pattern(i, seed))
            fail("byte %zu of %zu is %#x, expected %#x (seed %llu)", i, size, from[i],
                 pattern(i, seed), (unsigned long long)seed);
}

void verify_same(const void *bytes, size_t size, uint8_t value)
{
    const uint8_t *from = bytes;
    size_t i;

    for (i = 0; i < size; i++)
        if (from[i] != value)
            fail("byte %zu of %zu is %#x, expected %#x", i, size, from[i], value);
}
