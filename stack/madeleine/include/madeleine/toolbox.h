/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The toolbox that programs of the time use: clock, memory, messages, lists, tables, texts. */
#ifndef JACQUARD_MADELEINE_TOOLBOX_H
#define JACQUARD_MADELEINE_TOOLBOX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "toolbox/clock.h"
#include "toolbox/list.h"
#include "toolbox/macros.h"
#include "toolbox/pack.h"
#include "toolbox/table.h"
#include "toolbox/text.h"
#include "toolbox/types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Memory of `size` bytes at a multiple of `align`, a power of two; NULL: no memory is left. */
void *tbx_aligned_malloc(size_t size, size_t align);
void tbx_aligned_free(void *memory, size_t align);

/*
 * A pool of blocks of equal length. A block is aligned as malloc does it. Any thread may call. The
 * versions after 2000 have a further argument, a name. Cleaning frees all blocks and the pool.
 */
void tbx_malloc_init(p_tbx_memory_t *pool, size_t block_length, long initial_blocks, ...);
void *tbx_malloc(p_tbx_memory_t pool);
void tbx_free(p_tbx_memory_t pool, void *block);
void tbx_malloc_clean(p_tbx_memory_t pool);

/* Reports MAD_EINVAL with this text, as a failure of the library is reported. */
void tbx_failure(const char *text, const char *file, int line);
void tbx_failure_format(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
