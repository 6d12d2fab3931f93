/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory that a live process shares with a daemon: one sealed memory file of a fixed size,
 * whose pages cost nothing until they are touched. A child of the process does not have it. Any
 * thread.
 */
#ifndef JACQUARD_M0_LIVE_ARENA_H
#define JACQUARD_M0_LIVE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes it, once; all aligned memory comes from there afterwards. 0 or a negative errno. */
int m0_live_arena_begin(size_t bytes);
/* Its file and place. */
int m0_live_arena_file(uint64_t *address, uint64_t *bytes);
bool m0_live_arena_has(const void *address, size_t bytes);
/* NULL: no memory. Alignments up to 2 MiB. */
void *m0_live_arena_alloc(size_t bytes, size_t alignment);
/* False: not memory of the arena. */
bool m0_live_arena_free(void *memory);

#endif
