/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "guarded.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct guarded guarded_new(size_t bytes)
{
    struct guarded area = {.bytes = (bytes + GUARD - 1) / GUARD * GUARD};

    area.all = mmap(NULL, area.bytes + 2 * GUARD, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area.all == MAP_FAILED)
        abort();
    area.memory = area.all + GUARD;
    memset(area.all, GUARD_BYTE, GUARD);
    memset(area.memory + area.bytes, GUARD_BYTE, GUARD);
    return area;
}

bool guarded_ok(const struct guarded *area)
{
    size_t i;

    for (i = 0; i < GUARD; i++)
        if (area->all[i] != GUARD_BYTE || area->memory[area->bytes + i] != GUARD_BYTE)
            return false;
    return true;
}
