/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the toolbox share. */
#ifndef JACQUARD_MADELEINE_TOOLBOX_INTERNAL_H
#define JACQUARD_MADELEINE_TOOLBOX_INTERNAL_H

#include <stddef.h>

/* Zeroed memory, and memory that grows. No memory left: reported, and then the process ends, as
 * the calls of the toolbox have no way to fail. */
void *tbx_need(size_t count, size_t size);
void *tbx_grow(void *memory, size_t count, size_t size);

#endif
