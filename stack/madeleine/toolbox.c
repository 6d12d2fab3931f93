/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clock and aligned memory for programs. */
#include <stdlib.h>

#include "madeleine/toolbox.h"
#include "port/port.h"

tbx_tick_t tbx_tick_now(void)
{
    return (tbx_tick_t){port_now()};
}

void *tbx_aligned_malloc(size_t size, size_t align)
{
    void *memory = NULL;

    if (align < sizeof(void *))
        align = sizeof(void *);
    return posix_memalign(&memory, align, size) == 0 ? memory : NULL;
}

void tbx_aligned_free(void *memory, size_t align)
{
    (void)align;
    free(memory);
}
