/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI_process_mapping: which node each rank is on, as `(vector,(start,nodes,size),…)`. Grammar and
 * expansion are MPICH's; see docs/internals/pmi2.md.
 */
#ifndef JACQUARD_PMI2_MAPPING_H
#define JACQUARD_PMI2_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The shortest mapping of `node_of[0..ranks)`. Returns its length without the NUL; 0 when it does
 * not fit into `size` bytes (text is empty then) or there are no ranks.
 */
size_t pmi2_mapping_write(const uint32_t *node_of, uint32_t ranks, char *text, size_t size);
/* Expands it for so many ranks. False: not a mapping, or one that never ends. */
bool pmi2_mapping_read(const char *text, uint32_t ranks, uint32_t *node_of);

#endif
